"""Energy-consistent stepping (spec 1.1–1.3): a predictor, then the point of its field line that has the right energy.

`dH = T (y'u − g'R g)` at x(k) says what the energy should become: `Hnew = H(x) + dH`. A predictor says where the state
goes, and the state is moved from there to the level set `H = Hnew`, less a share of what the book holds. Where that
cannot be (a fault) the predictor is taken as it is. One rule books every branch: `HBK += H(x1) − Hnew`, with the energy
really reached: `H − HBK − H0 − Σ dH = 0` always.

Faults, each counted:

    deadlock      H(x) is next to nothing beside H(x̄): no energy can flow into a system at rest, for y = 0 there
    leap          Hnew is below the minimum
    no direction  the predictor sits on the minimum, and the energy should not be 0
    unreached     the energy does not grow so far on the line through the predictor

Limits: with a damper b on a mass m the Euler quadrature of the loss makes a leap in every step from `bT/m = 1/2`, and
diverges from 2 (`ExactHold` does neither). Parts with a book each create about 2–4 (ωT)² H0 and run away where alpha is
below (ωT)².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError, nearest
from passivo.method import level_set
from passivo.method.base import Laws, Method, refuse_relations
from passivo.method.one_stage import ExplicitEuler, write_weigh
from passivo.method.runge_kutta import RK4, Heun, RungeKutta

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *

DEADLOCK = 1
LEAP = 2
NO_DIRECTION = 3
UNREACHED = 4
COUNTERS_OF_FAULTS = ("deadlock", "leap", "no direction", "unreached")

PREDICTORS: dict[str, type[RungeKutta]] = {cls.__name__.lower(): cls for cls in (Heun, RK4)}
PROJECTIONS = ("radial", "euclidean", "bisection", "fieldline")
UPDATES = ("project", "along_flow", "along_field_line")


def advance(m, h):
    """One step of Algorithm 1."""
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    for i in range(STATES):
        m[POINT + i] = m[STATE + i]
    stage(m)
    weigh(m, h)
    owe(m, h)
    predict(m, h)
    settle(m)
    status = commit(m)
    if status == OK:
        keep(m)
    return status


def owe(m, h):
    """DUE of every book: T (y'u − g'R g), or T g_i x_i' where each state has a book of its own."""
    if BOOK_COUNT == 1:
        due = 0.0
        for k in range(WIDTH):
            due += m[WORK + k]
        for r in range(ROWS):
            due += m[RECEIVED + r] - m[LOST + r]
        m[DUE] = due
    else:
        for i in range(BOOK_COUNT):
            m[DUE + i] = h * m[GRADIENT + i] * m[SLOPE + i]


def predict(m, h):
    """STEP of the predictor: its first stage is done, the others hold the input."""
    for i in range(STATES):
        m[SLOPES + i] = m[SLOPE + i]
        m[STEP + i] = h * STAGE_WEIGHTS[0] * m[SLOPE + i]
    for s in range(1, PREDICTOR_STAGES):
        for i in range(STATES):
            x = m[STATE + i]
            for j in range(s):
                x += h * TABLEAU[s * PREDICTOR_STAGES + j] * m[SLOPES + j * STATES + i]
            m[POINT + i] = x
        held_stage(m)
        for i in range(STATES):
            m[SLOPES + s * STATES + i] = m[SLOPE + i]
            m[STEP + i] += h * STAGE_WEIGHTS[s] * m[SLOPE + i]


def expected(m, b):
    """Hnew of a book, as a height."""
    return m[OLD + b] + m[DUE + b]


def settle(m):
    """From the STEP of the predictor to that of the method, book by book; FAULT says what was in the way."""
    origin(m)
    for i in range(STATES):
        m[OFFSET + i] = m[STATE + i] - m[ORIGIN + i]
    above(m)
    for b in range(BOOK_COUNT):
        m[OLD + b] = m[ABOVE + b]
    for i in range(STATES):
        m[AHEAD + i] = m[OFFSET + i] + m[STEP + i]
        m[LANDED + i] = m[AHEAD + i]
        m[OFFSET + i] = m[AHEAD + i]
    above(m)
    for b in range(BOOK_COUNT):
        m[NEAR + b] = m[ABOVE + b]
    for b in range(BOOK_COUNT):
        fault = decide(m, b)
        m[FAULT + b] = float(fault)
        if fault == 0 or (SYMMETRIC and fault == LEAP):
            for i in range(STATES):
                if BOOK_OF_STATE[i] == b:
                    m[STEP + i] = m[LANDED + i] - (m[STATE + i] - m[ORIGIN + i])
    if RELEASE >= 0:  # Algorithm 2: a spring that only pushes
        below = m[STATE] + m[STEP] < m[ORIGIN]
        if below or m[USED + WIDTH + RELEASE] <= 0.0:
            m[STEP] = m[ORIGIN] - m[STATE]
            if m[FAULT] == DEADLOCK:  # the predictor was not taken: nothing was created
                m[FAULT] = 0.0


def decide(m, b):
    """Move LANDED of one book onto its level set, or say which fault keeps the predictor."""
    old = m[OLD + b]
    ahead = m[NEAR + b]
    new = expected(m, b)
    if ahead > 0.0 and old <= DEADLOCK_ABS + DEADLOCK_REL * ahead:
        return DEADLOCK
    if new < 0.0:
        if SYMMETRIC:
            for i in range(STATES):
                if BOOK_OF_STATE[i] == b:
                    m[LANDED + i] = m[ORIGIN + i] - m[STATE + i]
        return LEAP
    debt = m[BOOKS + 2 * b] + m[BOOKS + 2 * b + 1]
    back = 0.0
    if debt > 0.0:
        back = min(ALPHA * debt, BETA * new)
    elif CREDIT:
        back = ALPHA * debt
    target = new - back
    if FROM_OLD:
        for i in range(STATES):
            if BOOK_OF_STATE[i] == b:
                m[AHEAD + i] = m[STATE + i] - m[ORIGIN + i]
                m[LANDED + i] = m[AHEAD + i]
        ahead = old
    if ahead == target:
        return 0
    if not ahead > 0.0:
        return NO_DIRECTION if new > 0.0 else 0
    if target == 0.0:
        for i in range(STATES):
            if BOOK_OF_STATE[i] == b and IN_ENERGY[i] == 1:
                m[LANDED + i] = 0.0
        return 0
    return 0 if land(m, b, target, ahead) else UNREACHED


def keep(m):
    """Rule 5, in every branch: HBK += H(x1) − Hnew; and count the faults."""
    for r in range(ROWS):
        m[BOOKED + r] = 0.0
    if BOOK_COUNT > 1:
        gain(m)
        for i in range(BOOK_COUNT):
            entry = m[GAIN + i] - m[DUE + i]
            add(m, BOOKS + 2 * i, entry)
            m[BOOKED + ROW_OF_STATE[i]] += entry
    else:
        total = 0.0
        for r in range(ROWS):
            due = m[RECEIVED + r] - m[LOST + r]
            for k in range(WIDTH):
                if ROW_OF_INPUT[k] == r:
                    due += m[WORK + k]
            m[BOOKED + r] = m[DIFFERENCE + r] - due
            total += m[BOOKED + r]
        add(m, BOOKS, total)
    for b in range(BOOK_COUNT):
        fault = int(m[FAULT + b])
        if fault > 0:
            m[COUNTERS + fault - 1] += 1.0
            m[FAULTS + ACCOUNTS_COUNT - 1] += 1.0
            if ROWS > 1:
                for r in range(ROWS):
                    if ROW_OF_BOOK[b * ROWS + r] == 1:
                        m[FAULTS + r] += 1.0


@dataclass(frozen=True)
class EnergyConsistent(Method):
    """Energy-consistent stepping: a predictor, corrected to the energy it should have, and a book of what it cannot.

    projection    the way from the predictor to its level set. "radial": the ray from the minimum, closed form where the
                  energy is quadratic. "euclidean": the line of steepest ascent, which depends on the states' units.
                  "bisection": the same by `halvings` halvings (the ray, where the energy is not quadratic).
                  "fieldline": the same by integration, for any energy
    predictor     "euler", "heun", "rk4" or such a method; all its stages hold the input
    alpha, beta   a step gives back alpha of the book, and beta of the energy it has at the most
    fault         what a leap takes: "euler", the predictor, or "symmetric", the point opposite
    deadlock_abs, deadlock_rel  a deadlock: H(x) <= abs + rel H(x̄), heights above the minimum
    credit        whether energy the method took away is given back as well
    books         "one" for the system, or one for "each" state: an interconnection of one-state systems
    update        "project"; "along_flow" and "along_field_line" are the two strategies that fail, to be seen failing:
                  along x', and along the field line through the old state
    halvings      of "bisection"
    release       the signal of a unilateral spring (one state): it lets go where the signal is <= 0

    The energy needs one minimum; a model that states none is taken to have it at 0 if the gradient vanishes there.
    """

    projection: str = "radial"
    predictor: str = "euler"
    alpha: float = 0.2
    beta: float = 0.9
    fault: str = "euler"
    deadlock_abs: float = 0.0
    deadlock_rel: float = 1e-4
    credit: bool = True
    books: str = "one"
    update: str = "project"
    halvings: int = 40
    release: str = ""

    order: ClassVar = 1
    preserves: ClassVar = ("booked energy",)
    applies: ClassVar = "one energy minimum"
    nodes: ClassVar = (0.0,)
    kernels: ClassVar[tuple[Callable, ...]] = (advance, owe, predict, expected, settle, decide, keep)
    keeps_book: ClassVar = True
    works_at_start: ClassVar = True
    counters: ClassVar = COUNTERS_OF_FAULTS
    allowance_share: ClassVar = 0.1
    needs_energy: ClassVar = True

    def __post_init__(self) -> None:
        given: Any = self.predictor
        name = type(given).__name__ if isinstance(given, Method) else str(given)
        short = "euler" if name.lower() in ("euler", ExplicitEuler.__name__.lower()) else name.lower()
        object.__setattr__(self, "predictor", short)

    def for_model(self, model: Model) -> Method:
        if model.states and model.minimum is None:
            grounded(self, model)
        check_choice(self, "projection", PROJECTIONS)
        check_choice(self, "predictor", ("euler", *PREDICTORS))
        check_choice(self, "fault", ("euler", "symmetric"))
        check_choice(self, "books", ("one", "each"))
        check_choice(self, "update", UPDATES)
        check_shares(self)
        if not isinstance(self.halvings, int) or not 1 <= self.halvings <= 200:
            raise MethodError(f"EnergyConsistent's halvings must be a whole number of 1 to 200, not {self.halvings!r}")
        if self.release and self.release not in model.signals:
            known = nearest(self.release, model.signals)
            raise MethodError(
                f"EnergyConsistent's release names {self.release!r}, no signal of {model.name!r}; {known}"
            )
        if self.release and len(model.states) != 1:
            raise MethodError(
                f"EnergyConsistent's release is for systems with one state, {model.name!r} has {len(model.states)}; "
                "make the spring a part of its own"
            )
        return self

    def form_of(self, model: Model) -> Form:
        return grounded(self, model)

    def kernels_for(self, form: Form) -> tuple[Callable, ...]:
        return (*self.kernels, *level_set.WAYS[self._way(form)])

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        refuse_relations(self, laws)
        tableau, weights = self._stages()
        write_stages(source, layout, form, laws, len(weights))
        each = self._each(form)
        energies = separated(self, form) if each else [form.energy]
        numbers = write_books(source, layout, form, energies)
        write_way(source, layout, form, self._way(form))
        if each:
            write_gain(source, layout, form, energies)
        else:
            source.functions.append("def gain(m):\n    pass")
        return {
            **numbers,
            **give_back(self),
            "TABLEAU": tuple(row[j] if j < len(row) else 0.0 for row in tableau for j in range(len(tableau))),
            "STAGE_WEIGHTS": weights,
            "PREDICTOR_STAGES": len(weights),
            "SYMMETRIC": self.fault == "symmetric",
            "FROM_OLD": self.update == "along_field_line",
            "HALVINGS": self.halvings,
            "RELEASE": [s.name for s in form.signals].index(self.release) if self.release else -1,
        }

    def _each(self, form: Form) -> bool:
        return self.books == "each" and len(form.states) > 1

    def _stages(self) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
        if self.predictor == "euler":
            return ((),), (1.0,)
        method = PREDICTORS[self.predictor]
        return method.tableau, method.weights

    def _way(self, form: Form) -> str:
        """Which way of `level_set` the options and the energy ask for; with one state all of them are one line."""
        if self.update == "along_flow":
            return "along_flow"
        quadratic = is_quadratic(self, form)
        if self._each(form) or len(form.states) < 2 or self.projection == "radial":
            return "ray_halved" if self.projection == "bisection" else "radial" if quadratic else "ray"
        if self.projection == "fieldline" or (self.projection == "euclidean" and not quadratic):
            return "field_line"
        return {"euclidean": "euclidean", "bisection": "euclidean_halved" if quadratic else "ray_halved"}[
            self.projection
        ]


# -- what the options and the energy have to be -----------------------------------------------------------------------


def check_choice(method: Method, option: str, choices: tuple[str, ...]) -> None:
    given = getattr(method, option)
    if given not in choices:
        raise MethodError(f"{type(method).__name__}'s {option} cannot be {given!r}; {nearest(str(given), choices)}")


def check_shares(method: Any) -> None:
    for option, most in (("alpha", 1.0), ("beta", 1.0), ("deadlock_abs", inf), ("deadlock_rel", 1.0)):
        value = getattr(method, option)
        if not isinstance(value, int | float) or not 0.0 <= value <= most or value == inf:
            limit = f"from 0 to {most:g}" if most < inf else "of joules >= 0"
            raise MethodError(f"{type(method).__name__}'s {option} must be a number {limit}, not {value!r}")


def grounded(method: Method, model: Model) -> Form:
    """The form with a minimum: the stated one, or 0 where the gradient vanishes there and no direction leads down."""
    import numpy as np
    import sympy as sp

    form = model.form
    if form.minimum is not None:
        return form
    zero = dict.fromkeys(form.states, sp.Integer(0))
    slopes = [sp.diff(form.energy, x) for x in form.states]
    if all(sp.simplify(g.subs(zero)) == 0 for g in slopes):
        values = dict(zip(form.params, model.params.values()))
        bends = sp.Matrix([[sp.diff(g, x) for x in form.states] for g in slopes]).subs(zero).subs(values)
        matrix = np.array(bends.tolist(), dtype=float)
        if np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] >= -1e-12 * np.abs(matrix).max():
            return replace(form, minimum=tuple(zero.values()))
    raise MethodError(
        f"{type(method).__name__} steps over heights above a minimum of the energy, and {model.name!r} states none; "
        f"give it minimum={{{form.states[0].name!r}: ...}}, or take AVF, which needs none"
    )


def is_quadratic(method: Method, form: Form) -> bool:
    """Whether the energy is a quadratic form about its minimum; raises where the stated minimum cannot be one."""
    import sympy as sp

    if not form.states:
        return True
    if not form.energy.is_polynomial(*form.states) or sp.Poly(form.energy, *form.states).total_degree() > 2:
        return False
    lowest = dict(zip(form.states, form.minimum or ()))
    for x in form.states:
        slope = sp.simplify(sp.diff(form.energy, x).subs(lowest, simultaneous=True))
        if slope != 0:
            raise MethodError(
                f"{type(method).__name__} needs the minimum of the energy, but at the stated one its slope by "
                f"{x.name!r} is {slope}; correct minimum="
            )
    return True


def separated(method: Method, form: Form) -> list[Any]:
    """H_i(x_i) of every state; raises where the energy is no sum of them."""
    import sympy as sp

    for i, x in enumerate(form.states):
        for y in form.states[:i]:
            if sp.simplify(sp.diff(form.energy, x, y)) != 0:
                raise MethodError(
                    f"{type(method).__name__} with books='each' needs an energy that is a sum over single states, but "
                    f"{y.name!r} and {x.name!r} stand in one term; take books='one'"
                )
    lowest = dict(zip(form.states, form.minimum or ()))
    rest = lambda x: {y: value for y, value in lowest.items() if y != x}  # noqa: E731
    return [form.energy.subs(rest(x), simultaneous=True) for x in form.states]


# -- leaves -----------------------------------------------------------------------------------------------------------


def write_stages(source: Source, layout: Layout, form: Form, laws: Laws, stages: int) -> None:
    """`stage` at x(k), laws included; `weigh`; and `held_stage`, the slope at POINT with the inputs of x(k)."""
    from passivo.kernel.leaves import gradient_at, input_slots

    n, at = len(form.states), layout.sections
    for name, size in (("POINT", n), ("SLOPE", n), ("SLOPES", n * stages)):
        layout.take(name, size)
    gradient = gradient_at(form, form.states)
    slots = {**layout.slots("POINT", form.states), **input_slots(form, layout)}
    outputs = [(f"m[{at['GRADIENT'] + i}]", g) for i, g in enumerate(gradient.values())]
    outputs += [(f"m[{at['SLOPE'] + i}]", laws.put(f, gradient)) for i, f in enumerate(form.flow)]
    outputs += laws.used(form, layout, gradient)
    source.leaf("stage", "m", slots, outputs, note="Gradient, slope and inputs at POINT.")
    write_weigh(source, layout, form, slots, {}, {})
    held = [(f"m[{at['SLOPE'] + i}]", f.xreplace(gradient)) for i, f in enumerate(form.flow)]
    source.leaf("held_stage", "m", slots, held if stages > 1 else [], note="Slope at POINT, the inputs held.")


def write_books(source: Source, layout: Layout, form: Form, energies: list[Any]) -> dict[str, Any]:
    """`origin`, the minimum, and `above`, the heights at OFFSET: one book for each of the energies."""
    from passivo.kernel.leaves import lowest_ends
    from passivo.kernel.slopes import Ends, difference

    n, count, at = len(form.states), len(energies) if form.states else 0, layout.sections
    for name in ("ORIGIN", "OFFSET", "AHEAD", "LANDED"):
        layout.take(name, n)
    for name in ("ABOVE", "OLD", "NEAR", "DUE", "GAIN", "FAULT"):
        layout.take(name, max(count, 1))
    layout.take("BOOKS", 2 * max(count, 1))
    minimum = [(f"m[{at['ORIGIN'] + i}]", value) for i, value in enumerate(form.minimum or ())]
    source.leaf("origin", "m", {}, minimum, note="ORIGIN: the state of least energy.")
    ends = Ends.of(form.states)
    heights = [(f"m[{at['ABOVE'] + b}]", difference(energies[b], ends)) for b in range(count)]
    note = "Heights above the minimum at OFFSET from it."
    source.leaf("above", "m", layout.slots("OFFSET", ends.d), heights, lowest_ends(form, ends), note=note)
    book_of = tuple(range(n)) if count > 1 else (0,) * n
    row_of = {i: r for r, row in enumerate(form.rows) for i in row.states}
    owned = [{row_of[i] for i in range(n) if book_of[i] == b} for b in range(max(count, 1))]
    return {
        "BOOK_COUNT": count,
        "BOOK_OF_STATE": book_of or (0,),
        "ROW_OF_BOOK": tuple(int(r in rows) for rows in owned for r in range(len(form.rows))),
        "IN_ENERGY": tuple(int(x in form.energy.free_symbols) for x in form.states) or (0,),
    }


def give_back(method: Any) -> dict[str, Any]:
    """The constants by which faults are told and the book is paid back."""
    return {
        "ALPHA": float(method.alpha),
        "BETA": float(method.beta),
        "CREDIT": bool(method.credit),
        "DEADLOCK_ABS": float(method.deadlock_abs),
        "DEADLOCK_REL": float(method.deadlock_rel),
    }


def write_way(source: Source, layout: Layout, form: Form, way: str) -> None:
    """`land`, the way chosen, and the leaves it needs: `uphill`, the gradient at OFFSET, or `curvature`, its matrix."""
    import sympy as sp

    from passivo.kernel.leaves import gradient_at, lowest_ends
    from passivo.kernel.slopes import Ends

    n, at = len(form.states), layout.sections
    source.functions.append(f"def land(m, b, target, ahead):\n    return {way}(m, b, target, ahead)")
    if way == "radial":
        return
    if way.startswith("euclidean"):
        for name, size in (("CURVATURE", n * n), ("VECTORS", n * n), ("VALUES", n), ("COORDINATES", n), ("BRACKET", 3)):
            layout.take(name, size)
        bends = sp.hessian(form.energy, form.states)
        entries = [(f"m[{at['CURVATURE'] + n * i + j}]", bends[i, j]) for i in range(n) for j in range(n)]
        source.leaf("curvature", "m", {}, entries, note="The matrix of the quadratic energy.")
        return
    for name, size in (("BASE", n), ("DIRECTION", n), ("UPHILL", n), ("TRAIL", n), ("PACE", 4 * n)):
        layout.take(name, size)
    ends = Ends.of(form.states)
    slopes = [(f"m[{at['UPHILL'] + i}]", g) for i, g in enumerate(gradient_at(form, ends.b).values())]
    slots = layout.slots("OFFSET", ends.d)
    source.leaf("uphill", "m", slots, slopes, lowest_ends(form, ends), note="Gradient at OFFSET from the minimum.")


def write_gain(source: Source, layout: Layout, form: Form, energies: list[Any]) -> None:
    """`gain`: what each book's energy changed by in the step."""
    from passivo.kernel.slopes import Ends, difference

    ends, at = Ends.of(form.states), layout.sections
    slots = {**layout.slots("START", ends.a), **layout.slots("NEXT", ends.b), **layout.slots("STEP", ends.d)}
    changes = [(f"m[{at['GAIN'] + b}]", difference(energy, ends)) for b, energy in enumerate(energies)]
    middle = {m: ends.definitions[m] for m in ends.m}
    source.leaf("gain", "m", slots, changes, middle, note="Change of each book's energy.")
