"""What is swept: names and their values, checked one by one before any run begins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from passivo.errors import InputError, nearest, quoted
from passivo.method.base import Method
from passivo.method.part import seconds
from passivo.model.system import Model
from passivo.network.junction import Junction
from passivo.network.network import Network
from passivo.run.compare import option_title

What = Literal["param", "start", "step", "method", "through"]


@dataclass(frozen=True)
class Axis:
    """One swept name.

    owner  the part or connection it belongs to; "" where a model is alone
    key    the name of a parameter or state there
    """

    name: str
    what: What
    owner: str
    key: str
    unit: str
    values: tuple[Any, ...]

    @property
    def labels(self) -> np.ndarray:
        """The values as coordinates: numbers, or methods and junctions by their names."""
        if self.what in ("method", "through"):
            return np.array([option_title(v, [w for w in self.values if type(w) is type(v)]) for v in self.values])
        return np.array(self.values, dtype=float)

    @property
    def shapes(self) -> bool:
        """Whether its values ask for a run prepared anew, not only for other numbers in the memory."""
        return self.what in ("step", "method", "through")


def read_over(over: Any, subject: Model | Network) -> list[Axis]:
    """The axes that `over` names."""
    if not isinstance(over, Mapping) or not over:
        raise InputError(f"over maps what is swept to its values, as in {{'k': [1e3, 1e4]}}, not {quoted(over)}")
    known = _network_names(subject) if isinstance(subject, Network) else _model_names(subject)
    axes = []
    for given, values in over.items():
        name = str(given)
        if name not in known:
            raise InputError(f"there is no {quoted(name)} to sweep; {nearest(name, known)}")
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise InputError(f"over gives {name!r} as {quoted(values)}; expected a list of values")
        what, owner, key, unit = known[name]
        checked = tuple(_value(name, what, value) for value in values)
        if not checked:
            raise InputError(f"over gives no values for {name!r}; give one at least")
        axes.append(Axis(name, what, owner, key, unit, checked))
    return axes


Known = dict[str, tuple[What, str, str, str]]  # name -> what, owner, key, unit


def _model_names(model: Model, owner: str = "") -> Known:
    """A parameter goes before a setting of the same name."""
    prefix = f"{owner}." if owner else ""
    known: Known = {f"{prefix}step": ("step", owner, "", "s"), f"{prefix}method": ("method", owner, "", "")}
    known.update({f"start.{prefix}{name}": ("start", owner, name, model.unit(name)) for name in model.states})
    known.update({f"{prefix}{name}": ("param", owner, name, model.unit(name)) for name in model.params})
    return known


def _network_names(net: Network) -> Known:
    known: Known = {f"{c.name}.through": ("through", c.name, "", "") for c in net.connections}
    for key, member in net.members.items():
        known |= _model_names(member.model, key)
    return known


def _value(name: str, what: What, value: Any) -> Any:
    expected = {"method": Method, "through": Junction}.get(what)
    if expected is not None:
        if isinstance(value, expected):
            return value
        hint = f"; write {value.__name__}() with parentheses" if isinstance(value, type) else ""
        raise InputError(f"over gives {name!r} the value {quoted(value)}, expected a {expected.__name__.lower()}{hint}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"over gives {name!r} the value {quoted(value)}; expected a finite number")
    if what == "step":
        seconds(number, name)
        return float(f"{number:.12g}")  # 9*1e-3 is meant as 0.009, whatever its last digit
    return number
