"""Discrete gradients beside AVF (spec 2.1, 2.2): any ḡ with `ḡ·(X − x) = H(X) − H(x)` keeps the balance exactly.

    Gonzalez             ḡ = ∇H(m) + α d, m the midpoint, d = X − x
    ItohAbe              ḡ_i = slope of H along coordinate i, the coordinates before it new, those after it old
    SymmetrisedItohAbe   the mean of that and of the same with new and old exchanged

J, R and G are taken at m. Energies are never subtracted: every change is slopes times increments (`kernel/slopes.py`),
so that the balance and Newton's method are as good where a step hardly moves the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.method.one_stage import OneStage

if TYPE_CHECKING:
    from passivo.kernel.slopes import Ends
    from passivo.model.form import Form

NOTHING = 1e-300  # added to |d|²: nothing beside any step whose gap could be told from 0, and α is 0 at d = 0


@dataclass(frozen=True)
class DiscreteGradient(OneStage):
    """Base of the methods in this file."""

    preserves: ClassVar = ("energy", "quadratic energy", "convex passivity")

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.m


@dataclass(frozen=True)
class Gonzalez(DiscreteGradient):
    """Gonzalez' gradient: `ḡ = ∇H(m) + α d`, `α = (ΔH − ∇H(m)·d)/|d|²`, with an α of its own for each part of a
    composition (spec 2.2). `|d|²` adds squares of all states of a part, whatever their units: the error depends on
    these, the balance does not."""

    order: ClassVar = 2
    symmetric: ClassVar = True

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        from passivo.kernel.leaves import gradient_at

        mean = list(gradient_at(form, ends.m).values())
        for row in form.rows:
            for i, correction in corrections(row.energy, ends).items():
                mean[i] += correction
        return mean, {}, 1


def corrections(energy: Any, ends: Ends) -> dict[int, Any]:
    """What has to be added to the gradient at the midpoint: `α d_i`, for the states that the energy depends on.

    ΔH = Σ s_i d_i gives `α = Σ (s_i − ∂_iH(m)) d_i/|d|²`, to which a quadratic term adds nothing.
    """
    import sympy as sp

    from passivo.kernel.average import split
    from passivo.kernel.slopes import ratio, slopes

    curved = split(energy, ends.states)[1]
    excess = {i: s - ends.at(sp.diff(curved, ends.states[i]), ends.m) for i, s in slopes(curved, ends).items()}
    moving = [i for i, x in enumerate(ends.states) if x in energy.free_symbols]
    if len(moving) < 2 or not excess:  # along a line there is one discrete gradient only
        return excess
    gap = sp.Add(*(e * ends.d[i] for i, e in excess.items()))
    alpha = ratio(gap, sp.Add(NOTHING, *(ends.d[i] ** 2 for i in moving)))
    return {i: alpha * ends.d[i] for i in moving}


@dataclass(frozen=True)
class ItohAbe(DiscreteGradient):
    """Itoh and Abe's gradient: `ḡ_i = (H(X_1 .. X_i, x_i+1 ..) − H(X_1 .. X_i−1, x_i ..))/(X_i − x_i)`, one coordinate
    after the other in the order of the states; of order 2 where the energy is a sum over single states (spec 2.2)."""

    order: ClassVar = 1

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        return coordinate_slopes(form.energy, ends, ends.b, ends.a), {}, 1


@dataclass(frozen=True)
class SymmetrisedItohAbe(DiscreteGradient):
    """The mean of Itoh and Abe's gradient and of the same with the old and the new state exchanged (spec 2.2)."""

    order: ClassVar = 2
    symmetric: ClassVar = True

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        there = coordinate_slopes(form.energy, ends, ends.b, ends.a)
        back = coordinate_slopes(form.energy, ends, ends.a, ends.b)
        return [(f + g) / 2 for f, g in zip(there, back)], {}, 1


def coordinate_slopes(energy: Any, ends: Ends, before: tuple[Any, ...], after: tuple[Any, ...]) -> list[Any]:
    """The slope along each coordinate with the coordinates `before` it and `after` it put in."""
    import sympy as sp

    from passivo.kernel.slopes import slopes

    result = []
    for i, x in enumerate(ends.states):
        others = dict(zip(ends.states, (*before[:i], x, *after[i + 1 :])))
        result.append(slopes(energy.xreplace(others), ends).get(i, sp.Integer(0)))
    return result
