"""All methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passivo.errors import MethodError, nearest
from passivo.method.base import Method
from passivo.method.bounce import ExactBounce
from passivo.method.closed_loop import ClosedLoopAVF
from passivo.method.constrained import ConstrainedGradient, ConstrainedSplitting
from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.exact_hold import ExactHold
from passivo.method.one_stage import AVF, ExplicitEuler, ImplicitEuler, ImplicitMidpoint, SymplecticEuler
from passivo.method.runge_kutta import RK4, Heun
from passivo.method.told import Told

ALL = (
    ExplicitEuler, SymplecticEuler, ImplicitEuler, Heun, RK4, ImplicitMidpoint, AVF, ClosedLoopAVF,
    EnergyConsistent, ExactHold, ExactBounce, ConstrainedSplitting, ConstrainedGradient,
)  # fmt: skip
METHODS: dict[str, type[Method]] = {cls.__name__: cls for cls in ALL}
SPECIAL = (ExactBounce, ConstrainedSplitting, ConstrainedGradient)  # each steps one kind of thing
GENERAL = {name: cls for name, cls in METHODS.items() if cls not in SPECIAL}


def suited(model: Any) -> list[Method]:
    """All methods for a model that is not of a special kind; for one with constraints those that keep them."""
    chosen = (
        GENERAL.values() if not getattr(model, "constraints", None) else [cls for cls in ALL if cls.keeps_constraints]
    )
    return [cls() for cls in chosen]


class Foreign(Method):
    """A method of somebody's own, named in a saved run: it can be shown, not stepped."""

    def describe(self) -> dict[str, Any]:
        return {"kind": type(self).__name__}

    def for_model(self, model: Any) -> Any:
        self.write()

    def write(self, *_: Any) -> Any:
        name = type(self).__name__
        raise MethodError(
            f"{name} is not one of Passivo's methods and cannot be repeated here; {nearest(name, METHODS)}"
        )


def method_from(description: Mapping[str, Any]) -> Method:
    """The method that `describe()` described."""
    options = dict(description)
    name = options.pop("kind")
    if name == Told.__name__:  # nobody chooses it: it comes with a device
        return Told()
    if name not in METHODS:
        return type(name, (Foreign,), {})()
    return METHODS[name](**{key: tuple(value) if isinstance(value, list) else value for key, value in options.items()})
