"""The way of a step from its increments: `X(τ) = a + Σ_k d_k v_k(τ)`, places on it, averages along it (spec 2.4).

With the Lagrange polynomials ℓ_k of the Gauss nodes c_k and their weights b_k: `d_k = h b_k K_k` and `v_k' = ℓ_k/b_k`.
Then X(1) = a + Σ d_k, stage j averages with `∫ v_j' f(X) dτ`, and whatever the energy is,
`Σ_j ḡ_j·d_j = ∫ ∇H(X)·X' dτ = ΔH`. One stage is the straight line, v = τ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from passivo.kernel.slopes import Ends


@dataclass(frozen=True)
class Path:
    """The increments of a step, stage after stage, and the places that follow from them.

    With several stages a symbol that belongs to stage j carries @j in its name: the rows of one stage become those of
    another by exchanging the two, and are derived once.

    a        the old state
    d        s·n increments: stage k moves state i by d[k·n + i]
    places   symbol -> (i, shares): the place a_i + Σ_k shares[k] d[k·n + i]
    nodes    X(c_j) for every stage, a place for each state
    weights  b_j
    numbers  the values of the shares and weights of several stages, for which the formulas have symbols
    ends     the two ends of a straight line, None for a path of several stages
    """

    states: tuple[Any, ...]
    a: tuple[Any, ...]
    d: tuple[Any, ...]
    places: dict[Any, tuple[int, tuple[Any, ...]]]
    nodes: tuple[tuple[Any, ...], ...]
    weights: tuple[Any, ...]
    numbers: dict[Any, float]
    ends: Ends | None = None

    @classmethod
    def straight(cls, ends: Ends) -> Path:
        """From a to b = a + d, by way of m."""
        places: dict[Any, tuple[int, tuple[Any, ...]]] = {b: (i, (sp.Integer(1),)) for i, b in enumerate(ends.b)}
        places.update({m: (i, (sp.Rational(1, 2),)) for i, m in enumerate(ends.m)})
        return cls(ends.states, ends.a, ends.d, places, (ends.m,), (sp.Integer(1),), {}, ends)

    @classmethod
    def collocation(cls, states: tuple[Any, ...], stages: int) -> Path:
        """By way of the Gauss nodes."""
        ends = Ends.of(states)
        if stages == 1:
            return cls.straight(ends)
        shares, rates = ways(stages, (1 + _nodes(stages)) / 2)
        make = lambda tag, j: tuple(sp.Symbol(f"{s.name}'{tag}@{j}", real=True) for s in states)  # noqa: E731
        nodes = tuple(make("at", j) for j in range(stages))
        d = tuple(symbol for k in range(stages) for symbol in make("step", k))
        count = range(stages)
        reach = [[sp.Symbol(f"reach@{j}@{k}", real=True) for k in count] for j in count]
        places = {z: (i, tuple(reach[j])) for j, node in enumerate(nodes) for i, z in enumerate(node)}
        weights = tuple(sp.Symbol(f"share@{j}", real=True) for j in count)
        numbers = {reach[j][k]: float(shares[j, k]) for j in count for k in count}
        numbers.update({b: float(1 / rates[j, j]) for j, b in enumerate(weights)})
        return cls(states, ends.a, d, places, nodes, weights, numbers)

    @property
    def stages(self) -> int:
        return len(self.nodes)

    @property
    def definitions(self) -> dict[Any, Any]:
        """Every place from old state and increments."""
        return {
            place: self.a[i] + sp.Add(*(share * self.d[j] for j, share in self.reach(place).items()))
            for place, (i, _) in self.places.items()
        }

    @property
    def moving(self) -> set[Any]:
        return {*self.d, *self.places}

    def reach(self, place: Any) -> dict[int, Any]:
        """Increment -> its share in a place."""
        i, shares = self.places[place]
        return {k * len(self.states) + i: share for k, share in enumerate(shares)}

    def through(self, j: int) -> list[Any]:
        """The places that move with increment j."""
        return [place for place, (i, _) in self.places.items() if i == j % len(self.states)]

    def moved_with(self, formula: Any) -> list[int]:
        """The increments that move a formula in the states."""
        n = len(self.states)
        return [j for j in range(len(self.d)) if self.states[j % n] in formula.free_symbols]

    def tagged(self, symbols: Sequence[Any], j: int) -> tuple[Any, ...]:
        """Symbols of stage j, in place of those that all stages share; the only stage needs no others."""
        return tuple(symbols if self.stages == 1 else (sp.Symbol(f"{x.name}@{j}", real=True) for x in symbols))

    def exchanged(self, symbol: Any, j: int) -> Any:
        """The symbol that stands in the rows of stage j where `symbol` stands in those of stage 0."""
        other = {"@0": f"@{j}", f"@{j}": "@0"}
        name = re.sub(r"@\d", lambda match: other.get(match[0], match[0]), symbol.name)
        return symbol if name == symbol.name else sp.Symbol(name, real=True)

    def at(self, expression: Any, which: Sequence[Any]) -> Any:
        return expression.xreplace(dict(zip(self.states, which)))


def ways(stages: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v_k and v_k' at some points, a row for each point: rounded once, or energies would not add up to rounding.

    In Legendre polynomials P of σ = 2τ − 1: `v_k' = Σ_m (2m + 1) P_m(σ_k) P_m(σ)`, and from 0 to τ the integral of P_m
    is `(P_{m+1} − P_{m−1})/(4m + 2)`.
    """
    sigma = 2 * np.asarray(points, dtype=np.longdouble) - 1
    at_nodes, here = _legendre(stages + 1, _nodes(stages)), _legendre(stages + 1, sigma)
    whole, rate = [], []
    for k in range(stages):
        slope, way = here[0] * at_nodes[0][k], (sigma + 1) / 2
        for m in range(1, stages):
            slope = slope + (2 * m + 1) * at_nodes[m][k] * here[m]
            way = way + at_nodes[m][k] * (here[m + 1] - here[m - 1]) / 2
        whole.append(way)
        rate.append(slope)
    return np.array(whole).T, np.array(rate).T


def _nodes(stages: int) -> np.ndarray:
    """The Gauss nodes on [−1, 1], by Newton's method to the last digit of the longer format."""
    x = np.polynomial.legendre.leggauss(stages)[0].astype(np.longdouble)
    for _ in range(2):
        values = _legendre(stages, x)
        x = x - values[stages] * (x**2 - 1) / (stages * (x * values[stages] - values[stages - 1]))
    return x


def _legendre(count: int, x: np.ndarray) -> list[np.ndarray]:
    """P_0 … P_count at x."""
    values = [np.ones_like(x), x]
    for m in range(1, count):
        values.append(((2 * m + 1) * x * values[m] - m * values[m - 1]) / (m + 1))
    return values
