"""Passive midpoint integration (spec 4.1): `(2M/h + B + (h/2) K) v̂ = 2Mv/h − Kx + f`, `x⁺ = x + h v̂`, `v⁺ = 2v̂ − v`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError, nearest, quoted
from passivo.method.one_stage import OneStage

if TYPE_CHECKING:
    from passivo.kernel.slopes import Ends
    from passivo.model.form import Form

WORLD_MIDPOINT = 0  # as `world/table.py` numbers its schemes
SOLVERS = ("sweeps", "lemke", "interior")  # as `world/core.py` has them
MOST_DIRECTIONS = 32


@dataclass(frozen=True)
class PassiveMidpoint(OneStage):
    """Passive midpoint integration (spec 4): every force acts on the mean velocity of the step v̂ = (v⁺ + v)/2, so that
    `ΔH = h f·v̂ − h v̂'B v̂` for every step, even a varying one.

    For worlds, and for `Linear` and `Mechanical` with a constant mass matrix. There a potential V that is not quadratic
    acts as `V' + V'' d/2 + c d` with the one number c that makes it do the work that V stores.

    order    of a world: 2 extrapolates the moment of momentum to the middle of the step, 1 (the paper) does not
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
    applies: ClassVar = "constant masses"
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

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.m

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        """The gradient at the midpoint where H is quadratic; what is beyond that in V from its start."""
        import sympy as sp

        from passivo.kernel.average import split
        from passivo.kernel.leaves import gradient_at
        from passivo.kernel.slopes import ratio, slopes

        plain, curved = split(form.energy, form.states)
        mean = [ends.at(sp.diff(plain, x), ends.m) for x in form.states]
        moving = [i for i, x in enumerate(form.states) if x in curved.free_symbols]
        if not moving:
            return list(gradient_at(form, ends.m).values()), {}, 1
        bent = {
            i: ends.at(
                sp.diff(curved, form.states[i])
                + sp.Add(*(sp.diff(curved, form.states[i], form.states[j]) * ends.d[j] for j in moving)) / 2,
                ends.a,
            )
            for i in moving
        }
        gaps = {i: s - bent[i] for i, s in slopes(curved, ends).items()}
        if len(moving) == 1:  # along a line there is one discrete gradient only
            (i,) = moving
            mean[i] += bent[i] + gaps[i]
            return mean, {}, 1
        c = ratio(
            sp.Add(*(gap * ends.d[i] for i, gap in gaps.items())),
            sp.Add(sp.Float(1e-300), *(ends.d[i] ** 2 for i in moving)),
        )
        for i in moving:
            mean[i] += bent[i] + c * ends.d[i]
        return mean, {}, 1


def check_masses(model: Any) -> None:
    """Raise unless it has positions and momenta, and a mass matrix that depends on neither."""
    import sympy as sp

    form, k = model.form, len(model.positions)
    refused = f"PassiveMidpoint steps worlds and mechanical systems with a constant mass matrix; {model.name!r} "
    if not form.states:
        return  # nothing moves: the feedthrough is booked
    if not k or 2 * k != len(form.states) or form.rows[1:]:
        raise MethodError(
            refused + "is not of positions and momenta alone. Describe it by pv.Mechanical, or take pv.AVF()"
        )
    p = form.states[k:]
    canonical = form.structure == sp.Matrix(2 * k, 2 * k, lambda i, j: int(j == i + k) - int(i == j + k))
    slopes = [sp.diff(form.energy, x) for x in p]
    masses = [sp.diff(s, x) for s in slopes for x in form.states]
    if not canonical or tuple(s.name for s in form.states[:k]) != tuple(model.positions):
        raise MethodError(refused + "couples its states otherwise than as positions and momenta. Take pv.AVF()")
    if any(mass.free_symbols & set(form.states) for mass in masses):
        raise MethodError(
            refused + "has a mass matrix that depends on its state. Take pv.AVF(), which is exact for it too"
        )
