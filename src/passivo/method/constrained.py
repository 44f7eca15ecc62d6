"""Methods for models with constraints (spec 3): `0 = g(r)`, `p' = ... − G(r)'λ`, and the multipliers λ they record.

Two maps keep g, and differ in what else they keep:

    ConstrainedSplitting  symplectic; also the rate f = G ∂H/∂p of g is 0 after every step
    ConstrainedGradient   exact balance for every input, loss and feedback; f is 0 in the middle of a step only

A start has to keep g and f. `ready` measures both whenever a state or parameter was set by hand, and finds the nearest
state that does, nearest in the metric of the kinetic energy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError
from passivo.kernel import newton
from passivo.method.base import Laws, Method, refuse_relations
from passivo.method.one_stage import AVF, write_weigh
from passivo.method.strokes import ONE, advance, finish, stroke, tables

if TYPE_CHECKING:
    from math import inf

    from passivo.kernel.slopes import Ends
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *

AT_REST = 4.0  # |g| in units of its rounding: nothing is left to correct
NEARLY = 32.0  # ... where further corrections change nothing: still rounding
FOLD = 0.2  # det(G1 W G0') against det(G0 W G0'): below it the multipliers are about to lose their root
MOST_CORRECTIONS = 25
RETURN = 1.0 / 64.0  # of what rounding left in g, taken back by a step: all at once would shake p by ε r m/h


# -- shared kernels --------------------------------------------------------------------------------------------------


def brace(m):
    """Solve BRACE x = PULL in place, partial pivoting; gives the determinant of BRACE, 0 where it is singular."""
    determinant = 1.0
    for c in range(BARS):
        best = c
        size = abs(m[BRACE + c * BARS + c])
        for r in range(c + 1, BARS):
            other = abs(m[BRACE + r * BARS + c])
            if other > size:
                best = r
                size = other
        if not 0.0 < size < inf:
            return 0.0
        if best != c:
            determinant = -determinant
            swap = m[PULL + c]
            m[PULL + c] = m[PULL + best]
            m[PULL + best] = swap
            for j in range(c, BARS):
                swap = m[BRACE + c * BARS + j]
                m[BRACE + c * BARS + j] = m[BRACE + best * BARS + j]
                m[BRACE + best * BARS + j] = swap
        pivot = m[BRACE + c * BARS + c]
        determinant *= pivot
        for r in range(c + 1, BARS):
            share = m[BRACE + r * BARS + c] / pivot
            m[PULL + r] -= share * m[PULL + c]
            for j in range(c + 1, BARS):
                m[BRACE + r * BARS + j] -= share * m[BRACE + c * BARS + j]
    for back in range(BARS):
        c = BARS - 1 - back
        for j in range(c + 1, BARS):
            m[PULL + c] -= m[BRACE + c * BARS + j] * m[PULL + j]
        m[PULL + c] /= m[BRACE + c * BARS + c]
    return determinant


def off(m, at):
    """The largest of the gaps from `at` on, in units of their rounding; their sizes stand behind them."""
    largest = 0.0
    for j in range(BARS):
        part = abs(m[at + j])
        if part > 0.0:
            size = EPSILON * m[at + BARS + j]
            part = part / size if size > 0.0 else inf
        if not part <= largest:
            largest = part
    return largest


def ready(m):
    """ASIDE: g and f at STATE; ASTRAY: the largest of each in units of its rounding; NEAREST: the state next to it that
    keeps both."""
    for i in range(STATES):
        m[NEAREST + i] = m[STATE + i]
    lapse(m)
    m[ASTRAY] = off(m, LAPSE)
    m[ASTRAY + 1] = off(m, LAPSE + 2 * BARS)
    for j in range(BARS):
        m[ASIDE + j] = m[LAPSE + j]
        m[ASIDE + BARS + j] = m[LAPSE + 2 * BARS + j]
    for _ in range(MOST_CORRECTIONS):
        if off(m, LAPSE) <= AT_REST:
            break
        for j in range(BARS):
            m[PULL + j] = m[LAPSE + j]
        stiffen(m)
        if brace(m) == 0.0:
            break
        back_r(m)
        lapse(m)
    for _ in range(MOST_CORRECTIONS):  # also where nothing but rounding is left of p: that shrinks to 0
        if off(m, LAPSE + 2 * BARS) <= AT_REST:
            break
        for j in range(BARS):
            m[PULL + j] = m[LAPSE + 2 * BARS + j]
        stiffen(m)
        if brace(m) == 0.0:
            break
        back_p(m)
        lapse(m)


def write_constraints(source: Source, layout: Layout, form: Form) -> dict[str, Any]:
    """The leaves of `ready`: `lapse`, `stiffen`, `back_r`, `back_p` at NEAREST; sections and numbers."""
    import sympy as sp

    k, half = len(form.constraints), len(form.states) // 2
    for name, size in (
        ("BRACE", k * k),
        ("PULL", k),
        ("LAPSE", 4 * k),
        ("ASIDE", 2 * k),
        ("ASTRAY", 2),
        ("NEAREST", 2 * half),
    ):
        layout.take(name, size)
    at = layout.sections
    here = Kinetics.of(form, form.states)
    slots = layout.slots("NEAREST", form.states)
    pull = [sp.Symbol(f"pull#{j}", real=True) for j in range(k)]
    pulled = {**slots, **layout.slots("PULL", pull)}
    stiffness = here.G * here.W * here.G.T
    # a motion is none where its energy is rounding twice over: at rest momenta are all noise
    height = sp.Add(*(sp.Abs(x * sp.diff(form.energy, x)) for x in form.states[:half]))
    rates = [size + sp.sqrt(2 * stiffness[j, j] * height) for j, size in enumerate(sizes(form, here.f))]
    gaps = [*here.g, *sizes(form, here.g), *here.f, *rates]
    source.leaf("lapse", "m", slots, [(f"m[{at['LAPSE'] + j}]", gap) for j, gap in enumerate(gaps)], guarded=True)
    source.leaf("stiffen", "m", slots, here.into(at["BRACE"], stiffness), guarded=True)
    force = here.G.T * sp.Matrix(pull)
    for name, first, moves in (("back_r", 0, here.W * force), ("back_p", half, force)):
        outputs = [(f"m[{at['NEAREST'] + first + i}] -=", move) for i, move in enumerate(moves)]
        source.leaf(name, "m", pulled, outputs, guarded=True)
    return {"BARS": k}


@dataclass(frozen=True)
class Kinetics:
    """g, G = ∂g/∂r, the velocity v = ∂H/∂p, W = ∂²H/∂p² and f = G v at a state."""

    g: list[Any]
    G: Any
    v: Any
    W: Any

    @classmethod
    def of(cls, form: Form, state: tuple[Any, ...]) -> Kinetics:
        import sympy as sp

        half = len(form.states) // 2
        r, p = form.states[:half], form.states[half:]
        here = dict(zip(form.states, state))
        put = lambda f: f.xreplace(here)  # noqa: E731
        g = list(form.constraints.values())
        v = [sp.diff(form.energy, x) for x in p]
        return cls(
            g=[put(row) for row in g],
            G=sp.Matrix([[put(sp.diff(row, x)) for x in r] for row in g]),
            v=sp.Matrix([put(row) for row in v]),
            W=sp.Matrix([[put(sp.diff(row, x)) for x in p] for row in v]),
        )

    @property
    def f(self) -> list[Any]:
        return list(self.G * self.v)

    @staticmethod
    def into(start: int, matrix: Any) -> list[tuple[str, Any]]:
        return [(f"m[{start + i}]", entry) for i, entry in enumerate(matrix)]


def sizes(form: Form, rows: list[Any]) -> list[Any]:
    """The scale at which formulas of the states round: their terms without signs."""
    import sympy as sp

    from passivo.kernel.equation import Equation, sizes_of
    from passivo.kernel.path import Path
    from passivo.kernel.slopes import Ends

    path = Path.straight(Ends.of(form.states))
    return sizes_of(Equation(path, sp.Symbol("h#", real=True), [], {}), rows)


def multipliers(form: Form) -> tuple[Any, ...]:
    import sympy as sp

    return tuple(sp.Symbol(f"λ#{name}", real=True) for name in form.constraints)


def record(form: Form, layout: Layout, strength: Any, place: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Outputs of `gather`: the multipliers of the step, and what rounding on the constraints is worth in joules."""
    import sympy as sp

    h, at = sp.Symbol("h#", real=True), layout.sections
    there = dict(zip(form.states, place))
    here = Kinetics.of(form, form.states)
    scales = sizes(form, here.g)
    stiffness = (here.G * here.W * here.G.T).diagonal()
    rounding = [sp.Abs(s) * size for s, size in zip(strength, scales)]
    outputs = [(f"m[{at['RECORDED'] + j}] +=", h * s) for j, s in enumerate(strength)]
    noise = [(2 * size / (h * h * stiff)).xreplace(there) for size, stiff in zip(scales, stiffness)]
    outputs += [(f"m[{at['RECORDED_NOISE'] + j}]", value) for j, value in enumerate(noise)]
    return [*outputs, (f"m[{at['SCALE']}] +=", sp.Add(*rounding).xreplace(there))]


# -- ConstrainedSplitting --------------------------------------------------------------------------------------------


def solve(m, h):
    """STEP of one step: ν from g(r1) = 0, then μ from f(r1, p1) = 0; UNCONVERGED beyond the fold of the roots."""
    m[ITERATION] = 0.0
    m[DEFECT] = inf
    for j in range(BARS):
        m[NU + j] = 0.0
        m[MU + j] = 0.0
        m[PULL + j] = 0.0
    gauge(m)
    whole = brace(m)
    if not whole > 0.0:
        return UNCONVERGED
    last = inf
    found = False
    for _ in range(MOST_CORRECTIONS):
        fly(m, h)
        m[ITERATION] += 1.0
        gap = off(m, MISSED)
        if gap <= AT_REST or (gap <= NEARLY and gap > 0.5 * last):
            found = True
            break
        if not gap < inf:
            break
        last = gap
        for j in range(BARS):
            m[PULL + j] = m[MISSED + j]
        bend(m)
        if brace(m) == 0.0:
            break
        for j in range(BARS):
            m[NU + j] += m[PULL + j] * (2.0 / (h * h))
    m[DEFECT] = 0.0
    for j in range(BARS):
        m[DEFECT] = max(m[DEFECT], abs(m[MISSED + j]))
        m[PULL + j] = 0.0
    if not found:
        return UNCONVERGED
    bend(m)
    if not brace(m) > FOLD * whole:
        return UNCONVERGED
    last = inf
    for _ in range(MOST_CORRECTIONS):
        close(m)
        gap = off(m, MISSED)
        for j in range(BARS):
            m[DEFECT] = max(m[DEFECT], abs(m[MISSED + j]))
        if gap <= AT_REST or (gap <= NEARLY and gap > 0.5 * last):
            return OK
        if not gap < inf:
            return UNCONVERGED
        last = gap
        for j in range(BARS):
            m[PULL + j] = m[MISSED + j]
        if brace(m) == 0.0:
            return UNCONVERGED
        lay(m)
        for j in range(BARS):
            m[MU + j] += m[PULL + j] * (2.0 / h)
    return UNCONVERGED


@dataclass(frozen=True)
class ConstrainedSplitting(Method):
    """Symmetric splitting between two kicks of the constraints (spec 3.3), for H = T(p) + V(r), without loss:

        p⁻ = p − (h/2) G(r)'ν,   φ_H(h/2): fly,   φ_u: p += h U(r_mid) u,   φ_H(h/2),   p1 = p⁺ − (h/2) G(r1)'μ

    with ν from g(r1) = 0 and μ from f(r1, p1) = 0. Flights are Störmer–Verlet steps, which are exact where the force is
    constant. Inputs are held: a force that follows the velocity is sampled (`pv.Held`), and the ledger shows what that
    creates, of the order h³ in a step. Recorded multipliers are (ν + μ)/2.
    """

    order: ClassVar = 2
    preserves: ClassVar = ("symplectic", "constraints", "rates")
    applies: ClassVar = "constraints"
    kernels: ClassVar = (brace, off, ready, solve, finish, stroke, advance)
    strokes: ClassVar = ONE
    symmetric: ClassVar = True
    keeps_constraints: ClassVar = True

    def recorded(self, model: Model) -> tuple[str, ...]:
        return tuple(model.constraints)

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        import sympy as sp

        from passivo.kernel.leaves import input_slots
        from passivo.kernel.slopes import Ends

        refuse_relations(self, laws)
        if laws.feedback:
            raise MethodError(
                "ConstrainedSplitting holds its inputs over a step; give pv.Held(function of t and y) instead of a "
                "Feedback, or take ConstrainedGradient, which solves it in the step"
            )
        check_separable(form)
        numbers = write_constraints(source, layout, form)
        k, half = len(form.constraints), len(form.states) // 2
        sections = ("POINT", 2 * half), ("NU", k), ("MU", k), ("MISSED", 2 * k), ("KICKS", half)
        for name, size in sections:
            layout.take(name, size)
        at = layout.sections
        ends, h = Ends.of(form.states), sp.Symbol("h#", real=True)
        nu, mu, pull = (tuple(sp.Symbol(f"{c}#{j}", real=True) for j in range(k)) for c in ("ν", "μ", "pull"))
        old, new = Kinetics.of(form, ends.a), Kinetics.of(form, ends.b)
        slots = {**layout.slots("STATE", ends.a), **layout.slots("STEP", ends.d), **input_slots(form, layout), h: "h"}
        slots.update({**layout.slots("NU", nu), **layout.slots("MU", mu), **layout.slots("PULL", pull)})

        middle, steps, kicks, defined = flown(form, ends, h, nu)
        outputs = [(f"m[{at['POINT'] + i}]", x) for i, x in enumerate(middle)]
        outputs += [(f"m[{at['STEP'] + i}]", d) for i, d in enumerate(steps)]
        landed = dict(zip(ends.b, (a + d for a, d in zip(ends.a, steps))))
        reach = [row.xreplace(landed) for row in (*new.g, *at_end(form, ends, list(form.constraints.values())))]
        outputs += [(f"m[{at['MISSED'] + j}]", row) for j, row in enumerate(reach)]
        outputs += [(f"m[{at['KICKS'] + i}]", size) for i, size in enumerate(kicks)]
        note = "POINT in the middle, STEP but for μ, MISSED: g(r1), KICKS: what momenta are summed from."
        source.leaf("fly", "m, h", slots, outputs, defined, note=note)

        end = {b: ends.definitions[b] for b in ends.b}
        source.leaf("gauge", "m", slots, old.into(at["BRACE"], old.G * old.W * old.G.T), guarded=True)
        source.leaf("bend", "m", slots, old.into(at["BRACE"], new.G * new.W * old.G.T), end, guarded=True)
        summed = [sp.Symbol(f"kicks#{i}", real=True) for i in range(half)]
        slots.update(layout.slots("KICKS", summed))
        at_rest = dict(zip(ends.b[half:], summed))
        rates = [*new.f, *(f.xreplace(at_rest) for f in at_end(form, ends, Kinetics.of(form, form.states).f))]
        outputs = [(f"m[{at['MISSED'] + j}]", row) for j, row in enumerate(rates)]
        outputs += new.into(at["BRACE"], new.G * new.W * new.G.T)
        source.leaf("close", "m", slots, outputs, end, note="MISSED: f at the end, and BRACE for it.", guarded=True)
        kick = new.G.T * sp.Matrix(pull)
        outputs = [(f"m[{at['STEP'] + half + i}] -=", move) for i, move in enumerate(kick)]
        source.leaf("lay", "m", slots, outputs, end, guarded=True)

        strength = [(a + b) / 2 for a, b in zip(nu, mu)]
        force = [sp.diff(form.energy, x).xreplace(dict(zip(form.states, middle[:half]))) for x in form.states[:half]]
        mean = [*force, *(d / h for d in ends.d[:half])]
        outputs = [(f"m[{at['GRADIENT'] + i}]", g) for i, g in enumerate(mean)]
        point = {m: f"m[{at['POINT'] + i}]" for i, m in enumerate(middle[:half])}
        outputs += record(form, layout, strength, ends.b)
        source.leaf("gather", "m, h", {**slots, **point}, outputs, end, note="Mean gradient and multipliers.")
        write_weigh(source, layout, form, layout.slots("POINT", form.states), {}, {})
        return {**numbers, **tables(self.strokes)}


def at_end(form: Form, ends: Ends, rows: list[Any]) -> list[Any]:
    """The sizes of formulas of the states, at the end of the step."""
    return [ends.at(size, ends.b) for size in sizes(form, rows)]


def flown(
    form: Form, ends: Ends, h: Any, nu: tuple[Any, ...]
) -> tuple[list[Any], list[Any], list[Any], dict[Any, Any]]:
    """State in the middle, increments without μ, sizes that momenta are summed from; and definitions of the symbols."""
    import sympy as sp

    half = len(form.states) // 2
    r, p = form.states[:half], form.states[half:]
    speed = [sp.diff(form.energy, x) for x in p]
    slope = [sp.diff(form.energy, x) for x in r]
    G = Kinetics.of(form, ends.a).G
    defined: dict[Any, Any] = {}

    def named(tag: str, values: list[Any]) -> list[Any]:
        symbols = [sp.Symbol(f"{tag}#{i}", real=True) for i in range(half)]
        defined.update(zip(symbols, values))
        return symbols

    pushed = list(form.ports[half:, :] * sp.Matrix(form.inputs)) if form.inputs else [sp.Integer(0)] * half
    force = lambda where: [f.xreplace(dict(zip(r, where))) for f in slope]  # noqa: E731
    drift = lambda impulse: [f.xreplace(dict(zip(p, impulse))) for f in speed]  # noqa: E731
    kick = list(G.T * sp.Matrix(nu))
    r0, p0 = ends.a[:half], ends.a[half:]
    first = named("kick", [-h / 4 * f - h / 2 * c for f, c in zip(force(r0), kick)])
    before = named("v-", drift([a + d for a, d in zip(p0, first)]))
    middle = named("middle", [a + h / 2 * v for a, v in zip(r0, before)])
    pushes = [u.xreplace(dict(zip(r, middle))) for u in pushed]
    second = named("push", [d - h / 2 * f + h * u for d, f, u in zip(first, force(middle), pushes)])
    after = named("v+", drift([a + d for a, d in zip(p0, second)]))
    move = named("move", [h / 2 * (v + w) for v, w in zip(before, after)])
    last = named("last", [d - h / 4 * f for d, f in zip(second, force([a + d for a, d in zip(r0, move)]))])
    half_way = [a + d - h / 4 * f for a, d, f in zip(p0, first, force(middle))]
    ended = force([a + d for a, d in zip(r0, move)])
    sums = zip(p0, force(r0), kick, force(middle), pushes, ended)
    kicks = [sp.Add(*(sp.Abs(x) for x in (p, h / 4 * a, h / 2 * c, h / 2 * f, h * u, h / 4 * b)))
             for p, a, c, f, u, b in sums]  # fmt: skip
    return [*middle, *half_way], [*move, *last], kicks, defined


def check_separable(form: Form) -> None:
    """H = T(p) + V(r), no loss."""
    import sympy as sp

    half = len(form.states) // 2
    mixed = any(sp.simplify(sp.diff(form.energy, r, p)) != 0 for r in form.states[:half] for p in form.states[half:])
    if mixed:
        raise MethodError(
            "ConstrainedSplitting flies by H = T(p) + V(r), and this energy mixes positions and momenta; "
            "take ConstrainedGradient"
        )
    if not form.loss.is_zero_matrix:
        raise MethodError("ConstrainedSplitting takes no loss; take ConstrainedGradient, which books it exactly")


# -- ConstrainedGradient ---------------------------------------------------------------------------------------------


def predict(m, h):
    """No increments and no multipliers: the first correction finds both together, to first order. Explicit Euler would
    fall across the bars, and to come back to next to nothing takes iterations next to rest."""
    for i in range(UNKNOWNS):
        m[UNKNOWN + i] = 0.0


NEWTON = tuple(kernel for kernel in newton.KERNELS if kernel is not newton.predict)


@dataclass(frozen=True)
class ConstrainedGradient(AVF):
    """Discrete gradient with constraints (spec 3.6): `Δr = h ∂̄H/∂p`, `Δp = h (−∂̄H/∂r − Ḡ'λ − B ∂̄H/∂p + U(r_m) u)`,
    `g(r1) = 0`, with Ḡ a discrete Jacobian, `Ḡ Δr = Δg`: the constraints do no work, and
    `ΔH = h ỹ'u − lost` exactly, ỹ = U(r_m)'Δr/h, for every step. Feedback is solved in the step, with ỹ.

    g(r1) = 0 is solved as `Ḡ Δr = 0`, which has no rounding of r in it, less a small share of what rounding left in g.
    The recorded λ is that of the step. The rate f is 0 in its middle; at its ends it is of the order h², with a sign
    that changes from step to step. Therefore a Composition of it has order 4 at most.
    """

    order: ClassVar = 2
    preserves: ClassVar = ("energy", "constraints")
    applies: ClassVar = "constraints"
    composes: ClassVar = 4  # across the constraints a step turns p round: it is near a reflection, not the identity
    kernels: ClassVar = (*NEWTON, predict, brace, off, ready, finish, stroke, advance)
    keeps_constraints: ClassVar = True

    def recorded(self, model: Model) -> tuple[str, ...]:
        return tuple(model.constraints)

    def flow(self, form: Form) -> list[Any]:
        import sympy as sp

        from passivo.kernel.slopes import Ends, slopes

        ends, half = Ends.of(form.states), len(form.states) // 2
        force = [sp.Integer(0)] * half
        for strength, g in zip(multipliers(form), form.constraints.values()):
            for i, slope in slopes(g, ends).items():
                force[i] += strength * slope
        return [f - push for f, push in zip(form.flow, [*[sp.Integer(0)] * half, *force])]

    def gathered(self, form: Form, ends: Ends, layout: Layout) -> list[tuple[str, Any]]:
        return record(form, layout, multipliers(form), ends.b)

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        import sympy as sp

        from passivo.kernel.slopes import Ends, slopes

        numbers = write_constraints(source, layout, form)
        ends = Ends.of(form.states)
        rows = tuple(
            sp.Add(*(slope * ends.d[i] for i, slope in slopes(g, ends).items())) + RETURN * ends.at(g, ends.a)
            for g in form.constraints.values()
        )
        bound = replace(laws, unknown=(*laws.unknown, *multipliers(form)), relations=(*laws.relations, *rows))
        return {**numbers, **super().write(source, layout, form, bound)}
