"""Passive midpoint integration (spec 4.1): `(2M/h + B + (h/2) K) v̂ = 2Mv/h − Kx + f`, `x⁺ = x + h v̂`, `v⁺ = 2v̂ − v`.

Where masses depend on positions: `moving_masses.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError, nearest, quoted
from passivo.method import moving_masses
from passivo.method.base import Laws
from passivo.method.one_stage import OneStage
from passivo.method.strokes import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from passivo.kernel.slopes import Ends
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form

WORLD_MIDPOINT = 0  # as `world/table.py` numbers its schemes
SOLVERS = ("sweeps", "lemke", "interior")  # as `world/core.py` has them
MOST_DIRECTIONS = 32


@dataclass(frozen=True)
class PassiveMidpoint(OneStage):
    """Passive midpoint integration (spec 4): every force acts on the mean velocity of the step v̂ = (v⁺ + v)/2, so that
    `ΔH = h f·v̂ − h v̂'B v̂` for every step, even a varying one.

    For worlds, `Linear` and `Mechanical`. In these what is not quadratic in a potential acts by the slope of its change
    where it depends on one combination of positions, and else as `V' + V'' d/2 + c d` with the one number c that makes
    it do the work that V stores. A mass matrix that depends on positions is taken
    where the last two steps foretell the middle of the step, losses and ports with it (spec 4.6).

    order    of a world, or where masses depend on positions: 2 takes them in the foretold middle of the step, 1 (the
             paper) at its start
    resolve  of a world: 0 makes joints for the turn that the last steps foretell and leaves a small leak, which the
             ledger shows; 1 solves them once more with the turn just found; 2 until nothing moves, and leaves none.
             Where bodies touch, the leak of 0 and 1 is taken out of the motion again (`run.contacts.debit`)
    contact  of a world: "sweeps" solves contacts one after the other until they agree, the fast way for any number;
             "lemke" and "interior" solve them all at once to rounding, at most 32 that touch, and refuse a step whose
             impulses do not fulfil the law of contact: references for small scenes. "lemke" pivots, friction in a
             pyramid of `directions`; "interior" descends inside the circular cone, as the sweeps have it
    """

    order: int = 2  # type: ignore[misc]
    resolve: int = 0
    contact: str = "sweeps"
    directions: int = 8

    preserves: ClassVar = ("energy", "quadratic energy")
    applies: ClassVar = "positions, momenta"
    symmetric: ClassVar = False
    needs_energy: ClassVar = True

    def __post_init__(self) -> None:
        for option, known in (("order", (1, 2)), ("resolve", (0, 1, 2))):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int) or value not in known:
                raise MethodError(f"PassiveMidpoint's {option} is {' or '.join(map(str, known))}, not {value!r}")
        if self.contact not in SOLVERS:
            raise MethodError(
                f"PassiveMidpoint's contact is {', '.join(map(repr, SOLVERS))}, not {quoted(self.contact)}; "
                + nearest(str(self.contact), SOLVERS)
            )
        k = self.directions
        if isinstance(k, bool) or not isinstance(k, int) or k % 2 or not 4 <= k <= MOST_DIRECTIONS:
            raise MethodError(
                f"PassiveMidpoint's directions are an even number from 4 to {MOST_DIRECTIONS}, not {quoted(k)}"
            )
        if k != 8 and self.contact != "lemke":
            raise MethodError(
                f"directions={k} are those of Lemke's pyramid; say contact='lemke', or leave directions out"
            )

    def world_options(self) -> dict[str, int]:
        exact = self.resolve == 2
        return {
            "SCHEME": WORLD_MIDPOINT,
            "PREDICTS": int(self.order == 2),
            "RESOLVES": 0 if exact else self.resolve,
            "EXACT_JOINTS": int(exact),
            "SOLVER": SOLVERS.index(self.contact),
            "DIRECTIONS": self.directions if self.contact == "lemke" else 0,
        }

    def form_of(self, model: Any) -> Form:
        check_masses(model)
        return model.form

    def kernels_for(self, form: Form) -> tuple[Callable, ...]:
        return moving_masses.KERNELS if masses_move(form) else self.kernels

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        from passivo.kernel.slopes import Ends

        if not masses_move(form):
            return super().write(source, layout, form, laws)
        k = len(form.states) // 2
        at_rest = form.energy.xreplace(dict.fromkeys(form.states[k:], 0))
        force = mean_slopes(at_rest, Ends.of(form.states[:k]))
        numbers = moving_masses.write(source, layout, form, laws, force)
        return {**numbers, **tables(self.strokes), "PREDICTS": int(self.order == 2)}

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.m

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        return mean_slopes(form.energy, ends), {}, 1


def mean_slopes(energy: Any, ends: Ends) -> list[Any]:
    """ḡ with ḡ·d = ΔE exactly: at the midpoint where E is quadratic, the slope of its change where it depends
    on one combination of states, along which there is no other; for the rest E' + E'' d/2 of its start, and c d."""
    import sympy as sp

    from passivo.kernel.average import single, split, terms
    from passivo.kernel.slopes import ratio, slopes

    states = ends.states
    plain, curved = split(energy, states)
    mean = [ends.at(sp.diff(plain, x), ends.m) for x in states]
    rest: Any = sp.Integer(0)
    for term in terms(curved, states):
        if single(term, states):
            for i, slope in slopes(term, ends).items():
                mean[i] += slope
        else:
            rest += term
    moving = [i for i, x in enumerate(states) if x in rest.free_symbols]
    if moving:
        by = [sp.diff(rest, x) for x in states]
        turned = [sp.Add(*(sp.diff(by[i], states[j]) * ends.d[j] for j in moving)) / 2 for i in moving]
        bent = {i: ends.at(by[i] + turn, ends.a) for i, turn in zip(moving, turned)}
        missed = sp.Add(*((slope - bent[i]) * ends.d[i] for i, slope in slopes(rest, ends).items()))
        c = ratio(missed, sp.Add(sp.Float(1e-300), *(ends.d[i] ** 2 for i in moving)))
        for i in moving:
            mean[i] += bent[i] + c * ends.d[i]
    return mean


def masses_move(form: Form) -> bool:
    """Whether the masses of positions and momenta depend on the positions."""
    return bool(form.states) and bool(moving_masses.inverse_mass(form).free_symbols & set(form.states))


def check_masses(model: Any) -> None:
    """Raise unless it has positions and momenta, and a kinetic energy ½ p'W(q)p."""
    import sympy as sp

    form, k = model.form, len(model.positions)
    refused = f"PassiveMidpoint steps worlds and mechanical systems; {model.name!r} "
    if not form.states:
        return  # nothing moves: the feedthrough is booked
    if not k or 2 * k != len(form.states) or form.rows[1:]:
        raise MethodError(
            refused + "is not of positions and momenta alone. Describe it by pv.Mechanical, or take pv.AVF()"
        )
    q, p = form.states[:k], form.states[k:]
    canonical = form.structure == sp.Matrix(2 * k, 2 * k, lambda i, j: int(j == i + k) - int(i == j + k))
    if not canonical or tuple(s.name for s in q) != tuple(model.positions):
        raise MethodError(refused + "couples its states otherwise than as positions and momenta. Take pv.AVF()")
    slopes = [sp.diff(form.energy, x) for x in p]
    masses = {s for slope in slopes for x in form.states for s in sp.diff(slope, x).free_symbols}
    if not masses & set(form.states):
        return
    at_rest = dict.fromkeys(p, 0)
    if moving_masses.inverse_mass(form).free_symbols & set(p) or any(s.xreplace(at_rest) != 0 for s in slopes):
        raise MethodError(refused + "has another kinetic energy than p'W(q)p/2. Take pv.AVF()")
    if any(form.loss[:k, :]) or any(form.ports[:k, :]) or any(form.readout[:, :k]):
        raise MethodError(refused + "has losses or ports that move positions, not momenta. Take pv.AVF()")
