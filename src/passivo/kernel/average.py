"""The mean gradient `∫ ∇H(x + τ d) dτ`: closed forms where they exist, Gauss nodes for the rest (spec 2.2)."""

from __future__ import annotations

from typing import Any

import sympy as sp

from passivo.kernel.slopes import Ends, slopes


def mean_gradient(energy: Any, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
    """(ḡ, averages, nodes): ḡ_i as formulas, in which `averages` stand for means that Gauss nodes have to find.

    Quadratic terms take the midpoint; terms in one linear combination s of states take the slope of f(s); what is left
    is averaged, with a fixed number of nodes where it is polynomial, else with as many as its energy gap asks for.
    """
    total: list[Any] = [sp.Integer(0)] * len(ends.states)
    rest: list[Any] = []
    degree: int | None = 0
    for term in terms(energy, ends.states):
        power = _degree(term, ends.states)
        if power is not None and power <= 2:
            pieces = {i: ends.at(sp.diff(term, x), ends.m) for i, x in enumerate(ends.states) if x in term.free_symbols}
        elif _single(term, ends.states):
            pieces = slopes(term, ends)
        else:
            rest.append(term)
            degree = None if power is None or degree is None else max(degree, power)
            continue
        for i, piece in pieces.items():
            total[i] += piece
    averages: dict[Any, Any] = {}
    for i, x in enumerate(ends.states):
        integrand = sp.diff(sp.Add(*rest), x)
        if integrand != 0:
            symbol = sp.Symbol(f"mean#{i}", real=True)
            averages[symbol] = integrand
            total[i] += symbol
    return total, averages, None if degree is None else max(1, (degree + 1) // 2)


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


def _single(term: Any, states: tuple[Any, ...]) -> bool:
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
