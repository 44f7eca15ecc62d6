"""Two methods that solve one linear system per step and never iterate (spec 2.10). Neither keeps the energy itself.

    Kahan  ḡ = ∇H(x) + ½ ∇²H(x) d: the field is quadratic, and its products are polarised between x and X
    SAV    H = Q + E, Q of second degree at most; √(E + shift) becomes a variable r of its own, and E's gradient b r

Both are equations of `one_stage.py`, linear in d: what a step creates is `ΔH − ḡ·d`, and the ledger shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError
from passivo.kernel import newton
from passivo.method.base import Laws, Method, refuse_relations
from passivo.method.energy_consistent import grounded
from passivo.method.exact_hold import check_polynomial
from passivo.method.one_stage import OneStage
from passivo.method.strokes import advance as take_strokes
from passivo.method.strokes import finish, stroke

if TYPE_CHECKING:
    from passivo.kernel.slopes import Ends
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *


def solve(m, h):
    """The linear system of a step: its residual at d = 0, its matrix, and its residual again as a check."""
    for i in range(UNKNOWNS):
        m[UNKNOWN + i] = 0.0
    assess(m, h)
    m[ITERATION] = 1.0 if UNKNOWNS > 0 else 0.0
    if UNKNOWNS > 0:
        jacobian(m, h)
        m[DEFECT] = m[RESIDUAL]
        if not factor(m):
            return UNCONVERGED
        correct(m)
        apply(m, 1.0)
        assess(m, h)
        if not settled(m, h):
            return UNCONVERGED
    return OK


LINEAR = (newton.average, newton.assess, newton.factor, newton.correct, newton.apply, newton.settled, solve)


def ready(m):
    """State or parameters were set: r is what it stands for."""
    roots(m)


def advance(m, h):
    """Where the step aims, the slope there, the linear system, and the new r."""
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    half_step(m, h)
    tilt(m)
    for i in range(STATES):
        if not isfinite(m[TILT + i] + m[ROOT + ROW_OF_STATE[i]]):
            return OUTSIDE
    status = solve(m, h)
    m[ITERATIONS_ALL] += m[ITERATION]
    if status != OK:
        return status
    status = finish(m, h)
    if status == OK:
        for i in range(STATES):
            m[ROOT + ROW_OF_STATE[i]] += 0.5 * m[TILT + i] * m[STEP + i]
    return status


@dataclass(frozen=True)
class Kahan(OneStage):
    """Kahan's method, one linear system per step: `ḡ = ∇H(x) + ½ ∇²H(x) (X − x)`, for energies of third degree at most
    and constant matrices (spec 2.10). It does not keep H, and the ledger shows what it creates; a closed system keeps
    `H + h/3 ∇H'(1 − h/2 f')⁻¹ f` instead. Where the energy is quadratic it is the implicit midpoint, and exact."""

    order: ClassVar = 2
    preserves: ClassVar = ("quadratic energy",)
    applies: ClassVar = "quadratic fields"
    symmetric: ClassVar = True
    kernels: ClassVar = (*LINEAR, finish, stroke, take_strokes)
    needs_energy: ClassVar = True

    def form_of(self, model: Model) -> Form:
        check_polynomial(self, model.form, 3, "quadratic fields", "a polynomial of degree 3", model.form.states)
        return model.form

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.m

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        import sympy as sp

        slopes = [sp.diff(form.energy, x) for x in form.states]
        bends = [[sp.diff(g, x) for x in form.states] for g in slopes]
        half = lambda row: sp.Add(*(bend * d for bend, d in zip(row, ends.d))) / 2  # noqa: E731
        return [ends.at(g + half(row), ends.a) for g, row in zip(slopes, bends)], {}, 1

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        refuse_bent(self, form, laws)
        return super().write(source, layout, form, laws)


@dataclass(frozen=True)
class SAV(OneStage):
    """Scalar auxiliary variable, one linear system per step (spec 2.10). What of the energy is not quadratic, E above
    its value at the minimum, enters by a variable `r = √(E + shift)` of its own, one for each part of a composition:

        ḡ = ∇Q(m) + (r + b·d/4) b,   b = ∇E(z)/√(E(z) + shift)
        r' = r + b·d/2,              z = x + h/2 f(x)

    and J, R, G are taken at z. `Q + r²` balances exactly; H does not, and the ledger shows what is created. Where the
    energy is quadratic it is exact.

    shift  joules added under the root, > 0: E + shift must stay positive
    """

    shift: float = 1.0

    order: ClassVar = 2
    preserves: ClassVar = ("quadratic energy",)
    applies: ClassVar = "one energy minimum"
    kernels: ClassVar = (*LINEAR, finish, ready, advance)
    needs_energy: ClassVar = True
    domain: ClassVar = "where SAV's E + shift is positive"

    def for_model(self, model: Model) -> Method:
        if not isinstance(self.shift, int | float) or not 0.0 < self.shift < float("inf"):
            raise MethodError(f"SAV's shift must be a number of joules > 0, not {self.shift!r}")
        if model.states and model.minimum is None:
            grounded(self, model)
        return self

    def form_of(self, model: Model) -> Form:
        return grounded(self, model)

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return own("aim", form)

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        import sympy as sp

        from passivo.kernel.average import split

        mean: list[Any] = [sp.Integer(0)] * len(form.states)
        tilts = own("tilt", form)
        for row, root in zip(form.rows, auxiliary(form)):
            plain, curved = split(row.energy, form.states)
            moving = [i for i, x in enumerate(form.states) if x in curved.free_symbols]
            middle = root + sp.Add(*(tilts[i] * ends.d[i] for i in moving)) / 4
            for i in row.states:
                mean[i] += ends.at(sp.diff(plain, form.states[i]), ends.m) + (middle * tilts[i] if i in moving else 0)
        return mean, {}, 1

    def kept(self, layout: Layout, form: Form) -> dict[Any, str]:
        slots = {**layout.slots("POINT", own("aim", form)), **layout.slots("TILT", own("tilt", form))}
        return {**slots, **layout.slots("ROOT", auxiliary(form))}

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        import sympy as sp

        from passivo.kernel.average import split
        from passivo.kernel.leaves import from_minimum, gradient_at, input_slots

        refuse_bent(self, form, laws)
        n, at, h = len(form.states), layout.sections, sp.Symbol("h#", real=True)
        for name, size in (("POINT", n), ("TILT", n), ("ROOT", len(form.rows))):
            layout.take(name, size)
        slots = {**layout.slots("STATE", form.states), **input_slots(form, layout), h: "h"}
        here = gradient_at(form, form.states)
        ahead = [x + h * laws.put(f, here) / 2 for x, f in zip(form.states, form.flow)]
        outputs = [(f"m[{at['POINT'] + i}]", z) for i, z in enumerate(ahead)]
        source.leaf("half_step", "m, h", slots, outputs, note="POINT: an explicit half step.")

        curves = [split(row.energy, form.states)[1] for row in form.rows]
        heights, defined = from_minimum(form, curves)
        roots = [sp.sqrt(height + sp.Float(self.shift)) for height in heights]
        tilts = [
            (f"m[{at['TILT'] + i}]", sp.diff(curves[r], form.states[i]) / roots[r])
            for r, row in enumerate(form.rows)
            for i in row.states
        ]
        note = "TILT: the slope of √(E + shift) at POINT, twice."
        source.leaf("tilt", "m", layout.slots("POINT", form.states), tilts, defined, note=note)
        outputs = [(f"m[{at['ROOT'] + r}]", root) for r, root in enumerate(roots)]
        source.leaf("roots", "m", slots, outputs, defined, note="ROOT: √(E + shift) at STATE.")
        return super().write(source, layout, form, laws)


def own(tag: str, form: Form) -> tuple[Any, ...]:
    """A symbol for each state."""
    import sympy as sp

    return tuple(sp.Symbol(f"{x.name}'{tag}", real=True) for x in form.states)


def auxiliary(form: Form) -> tuple[Any, ...]:
    """The variable r of each part."""
    import sympy as sp

    return tuple(sp.Symbol(f"root#{r}", real=True) for r in range(len(form.rows)))


def refuse_bent(method: Method, form: Form, laws: Laws) -> None:
    """One linear system is solved: laws inside it have to be linear."""
    refuse_relations(method, laws)
    known = set(form.gradient)
    for law in laws.feedback.values():
        if any(law.diff(g).free_symbols & known for g in known):
            raise MethodError(
                f"{type(method).__name__} solves one linear system per step, and this Feedback is not linear in the "
                "output; take AVF or another implicit method"
            )
