"""All methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passivo.errors import MethodError, nearest
from passivo.method.base import Method
from passivo.method.bounce import ExactBounce
from passivo.method.closed_loop import ClosedLoopAVF
from passivo.method.collocation import Collocation
from passivo.method.composition import Composition
from passivo.method.constrained import ConstrainedGradient, ConstrainedSplitting
from passivo.method.discrete_gradient import Gonzalez, ItohAbe, SymmetrisedItohAbe
from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.exact_hold import ExactHold
from passivo.method.non_iterative import SAV, Kahan
from passivo.method.one_stage import AVF, ExplicitEuler, ImplicitEuler, ImplicitMidpoint, SymplecticEuler
from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.method.runge_kutta import RK4, Heun
from passivo.method.splitting import StructureSplitting
from passivo.method.told import Told

ALL = (
    ExplicitEuler, SymplecticEuler, ImplicitEuler, Heun, RK4, ImplicitMidpoint, AVF, ClosedLoopAVF,
    Collocation, Gonzalez, ItohAbe, SymmetrisedItohAbe, StructureSplitting, Composition, Kahan, SAV,
    PassiveMidpoint, EnergyConsistent, ExactHold, ExactBounce, ConstrainedSplitting, ConstrainedGradient,
)  # fmt: skip
METHODS: dict[str, type[Method]] = {cls.__name__: cls for cls in ALL}
SPECIAL = (ExactBounce, ConstrainedSplitting, ConstrainedGradient, PassiveMidpoint)  # each steps one kind of thing
GENERAL = {name: cls for name, cls in METHODS.items() if cls not in SPECIAL}


def suited(model: Any) -> list[Method]:
    """All methods for a model that is not of a special kind; for one with constraints those that keep them."""
    if getattr(model, "constraints", None):
        return [method for method in (cls() for cls in ALL) if method.keeps_constraints]  # of some the options decide
    if getattr(model, "steps_apart", False):
        return [PassiveMidpoint(), PassiveMidpoint(resolve=2), SymplecticEuler(), ImplicitEuler()]
    return [cls() for cls in GENERAL.values()]


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


def is_known(method: Method) -> bool:
    """Whether a method, and all it is made of, can be made again from `describe()`."""
    return all(METHODS.get(type(each).__name__) is type(each) for each in method.nested())


def method_from(description: Mapping[str, Any]) -> Method:
    """The method that `describe()` described."""
    options = dict(description)
    name = options.pop("kind")
    if name == Told.__name__:  # nobody chooses it: it comes with a device
        return Told()
    if name not in METHODS:
        return type(name, (Foreign,), {})()
    return METHODS[name](**{key: _option(value) for key, value in options.items()})


def _option(value: Any) -> Any:
    if isinstance(value, Mapping):
        return method_from(value)
    return tuple(map(_option, value)) if isinstance(value, list | tuple) else value
