"""Moment arms of tendons: metres, or formulas of the joints they span, from which the way of the tendon follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.model.expression import Arithmetic, evaluate, names, symbolic, to_text
from passivo.world import routes as R

CHECKS = 5  # random places at which arms are held against the way that was found for them
AGREE = 1e-9
FUNCTIONS = {"sqrt": R.ROOT, "sin": R.SINE, "cos": R.COSINE, "exp": R.POWER_OF_E}


@dataclass
class Nodes:
    """A formula as `routes.trace` reads it: three whole numbers for each node, and figures."""

    table: list[tuple[int, int, int]] = field(default_factory=list)
    figures: list[float] = field(default_factory=list)

    def add(self, what: int, first: int, second: int = 0) -> Node:
        entry = (what, first, second)
        if entry not in self.table:
            self.table.append(entry)
        return Node(self, self.table.index(entry))

    def node(self, value: Any) -> Node:
        if isinstance(value, Node):
            return value
        if value not in self.figures:
            self.figures.append(value)
        return self.add(R.NUMBER, self.figures.index(value))


@dataclass(frozen=True)
class Node:
    """One value of a formula that depends on joints, with the operations that make others of it."""

    nodes: Nodes
    at: int

    def _make(self, what: int, first: Any, second: Any) -> Node:
        return self.nodes.add(what, self.nodes.node(first).at, self.nodes.node(second).at)

    def __add__(self, other: Any) -> Node:
        return self._make(R.PLUS, self, other)

    def __radd__(self, other: Any) -> Node:
        return self._make(R.PLUS, other, self)

    def __sub__(self, other: Any) -> Node:
        return self._make(R.MINUS, self, other)

    def __rsub__(self, other: Any) -> Node:
        return self._make(R.MINUS, other, self)

    def __mul__(self, other: Any) -> Node:
        return self._make(R.TIMES, self, other)

    def __rmul__(self, other: Any) -> Node:
        return self._make(R.TIMES, other, self)

    def __truediv__(self, other: Any) -> Node:
        return self._make(R.OVER, self, other)

    def __rtruediv__(self, other: Any) -> Node:
        return self._make(R.OVER, other, self)

    def __neg__(self) -> Node:
        return self._make(R.MINUS, 0.0, self)


def nodes_of(text: str, joints: tuple[str, ...]) -> Nodes:
    """The nodes of a formula of these joints; its value is the last one."""
    nodes = Nodes()

    def function(name: str, what: int) -> Callable:
        return lambda u: nodes.add(what, u.at) if isinstance(u, Node) else getattr(math, name)(u)

    functions = {name: function(name, what) for name, what in FUNCTIONS.items()}
    values = {name: nodes.add(R.COORDINATE, i) for i, name in enumerate(joints)}
    way = evaluate(text, values, Arithmetic(float, functions, {"pi": math.pi, "E": math.e}, _power))
    nodes.table.append((R.PLUS, way.at, nodes.node(0.0).at))
    return nodes


def _power(base: Any, exponent: Any) -> Any:
    """Whole powers by multiplication, halves by roots."""
    if isinstance(exponent, Node) or (isinstance(base, Node) and 2 * exponent != int(2 * exponent)):
        raise KeyError("a power that is no number of halves")
    if not isinstance(base, Node):
        return base**exponent
    if exponent < 0:
        return 1.0 / _power(base, -exponent)
    if exponent != int(exponent):
        base, exponent = base.nodes.add(R.ROOT, base.at), 2 * exponent
    result = base
    for _ in range(int(exponent) - 1):
        result = result * base
    return result


# -- from arms to the way -------------------------------------------------------------------------------------------


def checked_arms(given: Any, what: str) -> tuple[dict[str, float], str]:
    """Arms that are numbers, in metres by joint; or no arms and the formula of the way Σ ∫ arm dq."""
    if not isinstance(given, Mapping) or not given:
        raise ModelError(
            f"{what} needs the arms at its joints: say arms={{'elbow': 0.02}}, in metres; positive where a pull turns "
            f"the joint forwards; not {quoted(given)}"
        )
    arms = {str(joint): value for joint, value in given.items()}
    texts = {joint: to_text(value) for joint, value in arms.items()}
    if not any(names(text) for text in texts.values()):
        values = {joint: float(evaluate(text, {})) for joint, text in texts.items()}
        for joint, value in values.items():
            if not np.isfinite(value):
                raise ModelError(f"the arm of {what} at {joint!r} must be finite, in metres, not {value:g}")
        if not any(values.values()):
            raise ModelError(f"all arms of {what} are 0: it moves nothing")
        return values, ""
    for joint, text in texts.items():
        for name in sorted(names(text) - set(arms)):
            raise ModelError(
                f"the arm of {what} at {joint!r} depends on {name!r}, at which it has no arm; "
                f"it spans {', '.join(map(repr, arms))}"
            )
    return dict.fromkeys(arms, 0.0), _way(texts, what)


def _way(texts: Mapping[str, str], what: str) -> str:
    """A formula whose slopes are the arms: 0 where all joints are, as the slack of a tendon counts from there."""
    import sympy as sp
    from sympy.integrals.manualintegrate import manualintegrate

    symbols = {joint: sp.Symbol(joint, real=True) for joint in texts}
    arms = {joint: sp.expand(evaluate(text, symbols, symbolic())) for joint, text in texts.items()}
    way: Any = sp.Integer(0)
    rest = dict(arms)
    for joint, x in symbols.items():  # from the origin along one coordinate after the other
        part = manualintegrate(rest[joint], x)
        if part.has(sp.Integral) or part.has(sp.Piecewise):
            raise ModelError(
                f"the way of {what} does not follow from its arm at {joint!r}, {quoted(texts[joint])}: there is no "
                "formula for the integral; write it as a sum of powers, sin and cos"
            )
        way += part
        rest = {other: sp.expand(arm - sp.diff(part, symbols[other])) for other, arm in rest.items()}
    if not way.free_symbols:
        raise ModelError(f"all arms of {what} are 0: it moves nothing")
    start = way.subs(dict.fromkeys(symbols.values(), 0))
    text = to_text(way - start if start.is_finite else way)
    _check_functions(text, what)
    rng = np.random.default_rng(0)
    for _ in range(CHECKS):
        place = {joint: sp.Float(float(value)) for joint, value in zip(texts, rng.uniform(0.1, 0.9, len(texts)))}
        at: Any = {symbols[joint]: value for joint, value in place.items()}
        for joint in texts:
            wanted, found = float(arms[joint].subs(at)), float(sp.diff(way, symbols[joint]).subs(at))
            if abs(wanted - found) > AGREE * (abs(wanted) + 1e-3):
                raise ModelError(
                    f"no tendon has the arms of {what}: that at {joint!r} does not change with the other joints as "
                    "their arms change with it (∂arm_i/∂q_j = ∂arm_j/∂q_i)"
                )
    return text


def _check_functions(text: str, what: str) -> None:
    """Raise where the way holds what no node is."""
    try:
        nodes_of(text, tuple(sorted(names(text))))
    except KeyError:
        raise ModelError(
            f"the way of {what} is {quoted(text)}; arms may be made of + - * /, powers and {', '.join(FUNCTIONS)}"
        ) from None
