"""The mean gradients `∫ v_j' ∇H(X) dτ`: closed forms where they exist, Gauss nodes for the rest (spec 2.2, 2.4)."""

from __future__ import annotations

from typing import Any

import sympy as sp

from passivo.kernel.path import Path
from passivo.kernel.slopes import slopes


def mean_gradients(energy: Any, path: Path) -> tuple[list[list[Any]], dict[Any, tuple[int, Any]], int | None]:
    """(ḡ, averages, nodes): ḡ_j for every stage, as formulas in which `averages` stand for means by Gauss nodes.

    Quadratic terms take the place of the stage. On the straight line terms in one linear combination s of states take
    the slope of f(s). What is left is averaged, with a fixed number of nodes where it is polynomial, else with as many
    as its energy gap asks for.
    """
    totals: list[list[Any]] = [[sp.Integer(0)] * len(path.states) for _ in path.nodes]
    rest: list[Any] = []
    degree: int | None = 0
    for term in terms(energy, path.states):
        power = _degree(term, path.states)
        if power is not None and power <= 2:
            moving = [(i, sp.diff(term, x)) for i, x in enumerate(path.states) if x in term.free_symbols]
            pieces = [{i: path.at(slope, node) for i, slope in moving} for node in path.nodes]
        elif path.ends is not None and single(term, path.states):
            pieces = [slopes(term, path.ends)]
        else:
            rest.append(term)
            degree = None if power is None or degree is None else max(degree, power)
            continue
        for total, stage in zip(totals, pieces):
            for i, piece in stage.items():
                total[i] += piece
    averages: dict[Any, tuple[int, Any]] = {}
    for i, x in enumerate(path.states):
        integrand = sp.diff(sp.Add(*rest), x)
        if integrand != 0:
            for j, total in enumerate(totals):
                (symbol,) = path.tagged([sp.Symbol(f"mean#{i}", real=True)], j)
                averages[symbol] = j, integrand
                total[i] += symbol
    return totals, averages, None if degree is None else max(1, (path.stages * degree + 1) // 2)


def terms(energy: Any, states: tuple[Any, ...]) -> list[Any]:
    """Summands of an energy; factors without states are multiplied into a sum, constants are dropped."""
    result: list[Any] = []
    for term in sp.Add.make_args(energy):
        if not term.free_symbols.intersection(states):
            continue
        fixed, moving = term.as_independent(*states, as_Add=False)
        if moving.is_Add:
            result += terms(sp.Add(*(fixed * part for part in moving.args)), states)
        else:
            result.append(term)
    return result


def split(energy: Any, states: tuple[Any, ...]) -> tuple[Any, Any]:
    """An energy as (its terms of second degree at most, the others); constants are dropped."""
    found = [(term, (_degree(term, states) or 3) > 2) for term in terms(energy, states)]
    return sp.Add(*(term for term, bent in found if not bent)), sp.Add(*(term for term, bent in found if bent))


def _degree(term: Any, states: tuple[Any, ...]) -> int | None:
    """Total degree in the states, None if not polynomial."""
    if not term.is_polynomial(*states):
        return None
    return sp.Poly(term, *states).total_degree()


def single(term: Any, states: tuple[Any, ...]) -> bool:
    """Whether the states enter through one and the same linear combination only."""
    found: set[Any] = set()

    def visit(f: Any) -> None:
        inside = f.free_symbols.intersection(states)
        if not inside:
            return
        if f.is_polynomial(*inside) and sp.Poly(f, *inside).total_degree() == 1:
            poly = sp.Poly(f, *sorted(inside, key=lambda s: s.name))
            lead = poly.LC()
            found.add(tuple((s, sp.cancel(poly.coeff_monomial(s) / lead)) for s in poly.gens))
            return
        for arg in f.args:
            visit(arg)

    visit(term)
    return len(found) == 1
