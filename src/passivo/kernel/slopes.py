"""Difference calculus: f(b) − f(a) written so that nothing cancels, however close a and b are.

Every node of a formula is carried as its two values and its slopes s, with `f(b) − f(a) = Σ s_i d_i`, d = b − a.
A constant added to an energy disappears, and `Σ s_i d_i` is accurate to rounding of its own size. For a formula in
one state (or in one linear combination of states) the slope is the average vector field gradient, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import sympy as sp

from passivo.errors import ExpressionError
from passivo.model.special import cbrt

root: Any = cbrt  # SymPy's stubs take an applied function for a class


def _scalar(name: str, *slopes: Any) -> Any:
    """A SymPy function printed under `name`; slopes[i](args) is its derivative by argument i."""

    def fdiff(self, argindex=1):
        if argindex > len(slopes):
            return sp.Integer(0)
        return slopes[argindex - 1](*self.args)

    return type(name, (sp.Function,), {"fdiff": fdiff, "_eval_is_real": lambda self: True})


sinc_slope, sinhc_slope = _scalar("sinc_slope"), _scalar("sinhc_slope")
tanhc_slope, atanhc_slope, atanc_slope = _scalar("tanhc_slope"), _scalar("atanhc_slope"), _scalar("atanc_slope")
sinc = _scalar("sinc", lambda x: sinc_slope(x))
sinhc = _scalar("sinhc", lambda x: sinhc_slope(x))
tanhc = _scalar("tanhc", lambda x: tanhc_slope(x))
atanhc = _scalar("atanhc", lambda x: atanhc_slope(x))
atanc = _scalar("atanc", lambda x, b: atanc_slope(x, b), lambda x, b: -1 / (x**2 + b**2))
power_slope_end = _scalar("power_slope_end")
power_slope = _scalar("power_slope", lambda x, y, a: power_slope_end(y, x, a), lambda x, y, a: power_slope_end(x, y, a))
ratio = _scalar("ratio", lambda n, d: ratio(1, d), lambda n, d: -ratio(n, d) * ratio(1, d))


@dataclass(frozen=True)
class Ends:
    """The two ends of a step for each state: old a, new b, midpoint m, increment d."""

    states: tuple[Any, ...]
    a: tuple[Any, ...]
    b: tuple[Any, ...]
    m: tuple[Any, ...]
    d: tuple[Any, ...]

    @classmethod
    def of(cls, states: tuple[Any, ...]) -> Ends:
        make = lambda tag: tuple(sp.Symbol(f"{s.name}'{tag}", real=True) for s in states)  # noqa: E731
        return cls(states, make("old"), make("new"), make("mid"), make("step"))

    @property
    def definitions(self) -> dict[Any, Any]:
        """b = a + d and m = a + d/2."""
        new = {b: a + d for a, b, d in zip(self.a, self.b, self.d)}
        return new | {m: a + d / 2 for a, m, d in zip(self.a, self.m, self.d)}

    def at(self, expression: Any, which: tuple[Any, ...]) -> Any:
        return expression.xreplace(dict(zip(self.states, which)))


@dataclass(frozen=True)
class Node:
    old: Any
    new: Any
    mid: Any  # (old + new)/2, exactly
    slopes: dict[int, Any]

    def change(self, ends: Ends) -> Any:
        return sp.Add(*(slope * ends.d[i] for i, slope in self.slopes.items()))


def slopes(expression: Any, ends: Ends) -> dict[int, Any]:
    """Slopes s_i of a formula: f(b) − f(a) = Σ s_i d_i."""
    return _visit(sp.sympify(expression), ends, {}).slopes


def difference(expression: Any, ends: Ends) -> Any:
    """f(b) − f(a), free of cancellation."""
    return _visit(sp.sympify(expression), ends, {}).change(ends)


def _visit(f: Any, ends: Ends, memo: dict[Any, Node]) -> Node:
    if f in memo:
        return memo[f]
    inside = f.free_symbols.intersection(ends.states)
    if not inside:
        node = Node(f, f, f, {})
    elif f.is_Symbol:
        i = ends.states.index(f)
        node = Node(ends.a[i], ends.b[i], ends.m[i], {i: sp.Integer(1)})
    elif f.is_Add:
        node = _sum(f, [_visit(arg, ends, memo) for arg in f.args])
    elif f.is_Mul:
        node = _product([_visit(arg, ends, memo) for arg in f.args])
    elif f.is_Pow:
        node = _power(f, ends, memo)
    elif isinstance(f, sp.Max | sp.Min):
        node = _visit(_largest(f), ends, memo)
    elif isinstance(f, sp.atan2):
        raise ExpressionError("an energy cannot contain atan2(): it jumps by a full turn at its cut; use atan(y/x)")
    else:
        node = _function(f, _visit(f.args[0], ends, memo), ends)
    memo[f] = node
    return node


def _sum(f: Any, nodes: list[Node]) -> Node:
    total: dict[int, Any] = {}
    for node in nodes:
        for i, slope in node.slopes.items():
            total[i] = total.get(i, 0) + slope
    pick = lambda name: f.func(*(getattr(node, name) for node in nodes))  # noqa: E731
    return Node(pick("old"), pick("new"), pick("mid"), total)


def _product(nodes: list[Node]) -> Node:
    constant = sp.Mul(*(node.old for node in nodes if not node.slopes))
    result: Node | None = None
    for node in (node for node in nodes if node.slopes):
        if result is None:
            result = node
            continue
        # Δ(fg) = Δf (g0 + g1)/2 + (f0 + f1)/2 Δg
        keys = result.slopes.keys() | node.slopes.keys()
        mixed = {i: result.slopes.get(i, 0) * node.mid + result.mid * node.slopes.get(i, 0) for i in sorted(keys)}
        old, new = result.old * node.old, result.new * node.new
        result = Node(old, new, (old + new) / 2, mixed)
    assert result is not None
    scaled = {i: constant * slope for i, slope in result.slopes.items()}
    return Node(constant * result.old, constant * result.new, constant * result.mid, scaled)


def _power(f: Any, ends: Ends, memo: dict[Any, Node]) -> Node:
    base, exponent = f.args
    known = {*ends.states, *ends.a, *ends.b}
    if exponent.free_symbols - known and base.free_symbols.intersection(ends.states):
        raise ExpressionError(f"the exponent in {f} is a parameter; write it as a number: its value decides the sign")
    if exponent.free_symbols.intersection(ends.states):
        return _visit(sp.exp(exponent * sp.log(base), evaluate=False), ends, memo)
    if exponent.is_Integer and exponent > 0:
        node, n = _visit(base, ends, memo), int(exponent)
        half = node.change(ends) / 2
        factor = sp.Add(*(comb(n, k) * node.mid ** (n - k) * half ** (k - 1) for k in range(1, n + 1, 2)))
        return _chained(f, node, factor)
    if exponent.is_Integer:
        node = _visit(base, ends, memo) if exponent == -1 else _power(base ** (-exponent), ends, memo)
        return _chained(f, node, -1 / (node.old * node.new), node.old**-1, node.new**-1)
    if exponent == sp.Rational(1, 2):
        node = _visit(base, ends, memo)
        return _chained(f, node, ratio(1, sp.sqrt(node.old) + sp.sqrt(node.new)))
    if exponent.is_Number and exponent > 0:
        node = _visit(base, ends, memo)
        return _chained(f, node, power_slope(node.old, node.new, exponent))
    if exponent.is_Number:
        node = _power(base ** (-exponent), ends, memo)
        return _chained(f, node, -1 / (node.old * node.new), node.old**-1, node.new**-1)
    return _visit(sp.exp(exponent * sp.log(base), evaluate=False), ends, memo)


def _chained(f: Any, node: Node, factor: Any, old: Any = None, new: Any = None) -> Node:
    old = f.func(node.old, *f.args[1:]) if old is None else old
    new = f.func(node.new, *f.args[1:]) if new is None else new
    return Node(old, new, (old + new) / 2, {i: factor * slope for i, slope in node.slopes.items()})


def _function(f: Any, node: Node, ends: Ends) -> Node:
    change, old, new, mid = node.change(ends), node.old, node.new, node.mid
    match f:
        case sp.sin():
            factor = sp.cos(mid) * sinc(change / 2)
        case sp.cos():
            factor = -sp.sin(mid) * sinc(change / 2)
        case sp.tan():
            factor = sinc(change) / (sp.cos(old) * sp.cos(new))
        case sp.exp():
            factor = sp.exp(mid) * sinhc(change / 2)
        case sp.log():
            factor = atanhc(change / (old + new)) * 2 / (old + new)
        case sp.sinh():
            factor = sp.cosh(mid) * sinhc(change / 2)
        case sp.cosh():
            factor = sp.sinh(mid) * sinhc(change / 2)
        case sp.tanh():
            factor = tanhc(change) * (1 - sp.tanh(old) * sp.tanh(new))
        case sp.atan():
            factor = atanc(change, 1 + old * new)
        case sp.Abs():
            factor = ratio(old + new, sp.Abs(old) + sp.Abs(new))
        case cbrt():
            a, b = root(old), root(new)
            factor = ratio(1, a**2 + a * b + b**2)
        case sp.asinh():
            roots = sp.sqrt(1 + old**2) + sp.sqrt(1 + new**2)
            factor = atanhc(change / roots) * 2 / roots
        case sp.asin() | sp.acos():
            roots = sp.sqrt((1 - old) * (1 + old)) + sp.sqrt((1 - new) * (1 + new))
            factor = (2 if isinstance(f, sp.asin) else -2) * atanc(change, roots)
        case sp.sign():
            factor = ratio(sp.sign(new) - sp.sign(old), change)
        case _:
            raise ExpressionError(f"an energy cannot contain {f.func.__name__}(): its change over a step is not known")
    return _chained(f, node, factor)


def _largest(f: Any) -> Any:
    """Max and Min by |x|: their slopes then need no case distinction."""
    sign = 1 if isinstance(f, sp.Max) else -1
    arguments: tuple[Any, ...] = f.args
    first, *rest = arguments
    for other in rest:
        first = (first + other + sign * sp.Abs(first - other)) / 2
    return first


def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss–Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2
