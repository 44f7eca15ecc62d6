"""The exact step of a linear system under a held input (spec 1.2, ECX): `z' = M z`, z = (x, u, 1).

`exp(M h)` moves the state, `∫ exp(M t) dt` gives the means of the outputs, and every power that is a quadratic form
z'W z (loss, power through inner connections) is integrated exactly: `S = ∫ exp(M't) W exp(M t) dt`. All three come from
Taylor series over h/2^s and s doublings,

    E ← 2E + E E,    P ← 2P + E P,    S ← S + (I + E)'S (I + E),        exp(M h) = I + E,

which only ever adds losses, so nothing cancels. States are balanced by powers of two before, which is exact. The
matrices are kept in the memory until the step or a parameter changes; a step then takes matrix-vector products only.

The loss is not formed from the balance: what is created in a step is a true check, and it is rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError
from passivo.method import level_set
from passivo.method.base import Laws, Method, refuse_relations
from passivo.method.energy_consistent import (
    COUNTERS_OF_FAULTS,
    check_choice,
    check_shares,
    decide,
    give_back,
    grounded,
    is_quadratic,
    keep,
    settle,
    write_books,
    write_way,
)

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *

TERMS = 28  # of the series: 2^28/29! is far below extended precision
BALANCINGS = 20


def ready(m):
    """Parameters were set: the matrices are not known."""
    m[HELD_STEP] = 0.0


def balance(m, h):
    """BALANCE: powers of two by which the rows and columns of M become alike; M and the forms are scaled by them."""
    for i in range(WHOLE):
        m[BALANCE + i] = 1.0
    for _ in range(BALANCINGS):
        done = True
        for i in range(STATES):
            column = 0.0
            row = 0.0
            for j in range(STATES):
                if j != i:
                    column += abs(m[GENERATOR + j * WHOLE + i])
                    row += abs(m[GENERATOR + i * WHOLE + j])
            if column > 0.0 and row > 0.0:
                factor = 1.0
                whole = column + row
                while 4.0 * column <= row:
                    factor *= 2.0
                    column *= 2.0
                    row *= 0.5
                while column >= 4.0 * row:
                    factor *= 0.5
                    column *= 0.5
                    row *= 2.0
                if column + row < 0.95 * whole:
                    done = False
                    rescale(m, i, factor)
        if done:
            break
    size = 0.0
    for i in range(STATES):
        size = max(size, column_sum(m, i))
    for i in range(STATES, WHOLE):  # inputs may have any unit: they must not count
        factor = 1.0
        while column_sum(m, i) * factor > max(size, 0.5 / h):
            factor *= 0.5
        rescale(m, i, factor)
    for f in range(FORM_COUNT):
        for i in range(WHOLE):
            for j in range(WHOLE):
                m[POWER + (f * WHOLE + i) * WHOLE + j] *= m[BALANCE + i] * m[BALANCE + j]


def rescale(m, i, factor):
    m[BALANCE + i] *= factor
    for j in range(WHOLE):
        m[GENERATOR + j * WHOLE + i] *= factor
    for j in range(WHOLE):
        m[GENERATOR + i * WHOLE + j] /= factor


def column_sum(m, i):
    total = 0.0
    for j in range(WHOLE):
        total += abs(m[GENERATOR + j * WHOLE + i])
    return total


def multiply(m, left, right, to):
    """The product of two matrices of the whole size."""
    for i in range(WHOLE):
        for j in range(WHOLE):
            total = 0.0
            for k in range(WHOLE):
                total += m[left + i * WHOLE + k] * m[right + k * WHOLE + j]
            m[to + i * WHOLE + j] = total


def expand_motion(m, h):
    """FLOW = exp(M h) − I and INTEGRAL = ∫ exp(M t) dt by their series; POWERED holds M^k h^k/k!."""
    for i in range(WHOLE):
        for j in range(WHOLE):
            at = i * WHOLE + j
            m[POWERED + at] = 1.0 if i == j else 0.0
            m[FLOW + at] = 0.0
            m[INTEGRAL + at] = h * m[POWERED + at]
    for k in range(1, TERMS):
        multiply(m, POWERED, GENERATOR, SCRATCH)
        for at in range(WHOLE * WHOLE):
            m[POWERED + at] = m[SCRATCH + at] * h / k
            m[FLOW + at] += m[POWERED + at]
            m[INTEGRAL + at] += m[POWERED + at] * h / (k + 1)


def expand_form(m, h, form):
    """∫ exp(M't) W exp(M t) dt by its series, in the place of W; POWERED holds its terms."""
    for at in range(WHOLE * WHOLE):
        m[POWERED + at] = m[form + at] * h
        m[form + at] = m[POWERED + at]
    for k in range(1, TERMS):
        multiply(m, POWERED, GENERATOR, SCRATCH)
        for i in range(WHOLE):
            for j in range(WHOLE):
                entry = m[SCRATCH + i * WHOLE + j] + m[SCRATCH + j * WHOLE + i]
                m[POWERED + i * WHOLE + j] = entry * h / (k + 1)
                m[form + i * WHOLE + j] += m[POWERED + i * WHOLE + j]


def double(m):
    """All integrals over twice the time."""
    for f in range(FORM_COUNT):
        form = POWER + f * WHOLE * WHOLE
        multiply(m, form, FLOW, SCRATCH)  # S E
        for i in range(WHOLE):
            for j in range(WHOLE):
                total = 0.0
                for k in range(WHOLE):
                    total += m[FLOW + k * WHOLE + i] * m[SCRATCH + k * WHOLE + j]
                both = m[SCRATCH + i * WHOLE + j] + m[SCRATCH + j * WHOLE + i]
                m[POWERED + i * WHOLE + j] = 2.0 * m[form + i * WHOLE + j] + both + total
        for at in range(WHOLE * WHOLE):
            m[form + at] = m[POWERED + at]
    multiply(m, FLOW, INTEGRAL, SCRATCH)
    for at in range(WHOLE * WHOLE):
        m[INTEGRAL + at] = 2.0 * m[INTEGRAL + at] + m[SCRATCH + at]
    multiply(m, FLOW, FLOW, SCRATCH)
    for at in range(WHOLE * WHOLE):
        m[FLOW + at] = 2.0 * m[FLOW + at] + m[SCRATCH + at]


def hold(m, h):
    """All matrices of a step of size h."""
    for at in range(WHOLE * WHOLE):
        m[GENERATOR + at] = 0.0
    for at in range(FORM_COUNT * WHOLE * WHOLE):
        m[POWER + at] = 0.0
    for at in range(WIDTH * WHOLE):
        m[READOUT + at] = 0.0
    linear(m)
    balance(m, h)
    size = 0.0
    for i in range(WHOLE):
        size = max(size, column_sum(m, i))
    piece = h
    doublings = 0
    while size * piece > 1.0:
        piece *= 0.5
        doublings += 1
    for f in range(FORM_COUNT):
        expand_form(m, piece, POWER + f * WHOLE * WHOLE)
    expand_motion(m, piece)
    for _ in range(doublings):
        double(m)
    for i in range(WHOLE):
        for j in range(WHOLE):
            ratio_ = m[BALANCE + i] / m[BALANCE + j]
            m[FLOW + i * WHOLE + j] *= ratio_
            m[INTEGRAL + i * WHOLE + j] *= ratio_
            for f in range(FORM_COUNT):
                m[POWER + (f * WHOLE + i) * WHOLE + j] /= m[BALANCE + i] * m[BALANCE + j]
    for k in range(WIDTH):
        for j in range(WHOLE):
            total = 0.0
            for i in range(WHOLE):
                total += m[READOUT + k * WHOLE + i] * m[INTEGRAL + i * WHOLE + j]
            m[MEANS + k * WHOLE + j] = total
    m[HELD_STEP] = h


def advance(m, h):
    """One step: state, means and powers from the kept matrices, then the correction on the level set."""
    if m[HELD_STEP] != h:
        hold(m, h)
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    present(m)
    for i in range(STATES):
        m[ALL + i] = m[STATE + i]
    for k in range(WIDTH):
        m[ALL + STATES + k] = m[USED + k]
    m[ALL + WHOLE - 1] = 1.0
    for i in range(STATES):
        total = 0.0
        for j in range(WHOLE):
            total += m[FLOW + i * WHOLE + j] * m[ALL + j]
        m[STEP + i] = total
    mismatch = 0.0
    for k in range(WIDTH):
        total = 0.0
        size = 0.0
        for j in range(WHOLE):
            term = m[MEANS + k * WHOLE + j] * m[ALL + j]
            total += term
            size += abs(term)
        u = m[USED + k]
        m[MEAN + k] = total if TRUE_PORT else h * m[NOW + k]
        m[WORK + k] = m[MEAN + k] * u
        m[SCALE + ROW_OF_INPUT[k]] += size * abs(u)
        mismatch += (total - h * m[NOW + k]) * u
    for f in range(FORM_COUNT):
        total = 0.0
        size = 0.0
        for i in range(WHOLE):
            for j in range(WHOLE):
                term = m[ALL + i] * m[POWER + (f * WHOLE + i) * WHOLE + j] * m[ALL + j]
                total += term
                size += abs(term)
        m[FORM_TARGET[f]] += total
        m[SCALE + FORM_ROW[f]] += size
    if not TRUE_PORT:
        m[DUE] = mismatch
        settle(m)
    status = commit(m)
    if status == OK and not TRUE_PORT:
        keep(m)
    return status


def expected(m, b):
    """Hnew: the predictor's energy is exact but for the mismatch of the port."""
    return m[NEAR + b] - m[DUE]


@dataclass(frozen=True)
class ExactHold(Method):
    """The exact step of a linear system under a held input, with its exact loss: exact period, exact decay, no faults
    however strong the damping is.

    port          "sampled": the work is T y(k)'u, as a sampled connection sees it; the mismatch with the exact
                  `u'∫y dt` is corrected on the level set (radially) and booked as EnergyConsistent does.
                  "true": the work is `u'∫y dt`, nothing is corrected, and nothing is created
    alpha, beta, deadlock_abs, deadlock_rel, credit   as in EnergyConsistent, for port="sampled"

    Energies may be quadratic plus linear (gravity), and need a minimum only for port="sampled".
    """

    port: str = "sampled"
    alpha: float = 0.2
    beta: float = 0.9
    deadlock_abs: float = 0.0
    deadlock_rel: float = 1e-4
    credit: bool = True

    order: ClassVar = 1
    preserves: ClassVar = ("booked energy",)
    applies: ClassVar = "linear systems"
    nodes: ClassVar = (0.0,)
    kernels: ClassVar[tuple[Callable, ...]] = (
        ready, balance, rescale, column_sum, multiply, expand_motion, expand_form, double, hold, advance,
    )  # fmt: skip
    keeps_book: ClassVar = True
    counters: ClassVar = COUNTERS_OF_FAULTS
    allowance_share: ClassVar = 0.1
    needs_energy: ClassVar = True

    @property
    def works_at_start(self) -> bool:  # type: ignore[override]
        return self.port == "sampled"

    def for_model(self, model: Model) -> Method:
        check_choice(self, "port", ("sampled", "true"))
        check_shares(self)
        if self.port == "sampled" and model.states and model.minimum is None:
            grounded(self, model)
        return self

    def form_of(self, model: Model) -> Form:
        check_linear(self, model.form)
        return grounded(self, model) if self.port == "sampled" else model.form

    def kernels_for(self, form: Form) -> tuple[Callable, ...]:
        if self.port == "true":
            return self.kernels
        return (*self.kernels, expected, settle, decide, keep, *level_set.WAYS["radial"])

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        refuse_relations(self, laws)
        numbers = {**write_linear(source, layout, form, laws), "TRUE_PORT": self.port == "true"}
        if self.port == "true":  # nothing to correct, nothing to book
            layout.take("DUE", 1)
            source.functions += [f"def {name}(m):\n    pass" for name in ("settle", "keep")]
            return numbers
        is_quadratic(self, form)  # about the minimum that is stated
        numbers.update(write_books(source, layout, form, [form.energy]), **give_back(self))
        write_way(source, layout, form, "radial")
        source.functions.append("def gain(m):\n    pass")
        return {**numbers, "SYMMETRIC": False, "FROM_OLD": False, "RELEASE": -1}


def check_linear(method: Method, form: Form) -> None:
    """Constant J, R, G, D and an energy of second degree at most."""
    check_polynomial(method, form, 2, "linear systems", "quadratic", (*form.states, *form.signals))


def check_polynomial(
    method: Method, form: Form, degree: int, systems: str, shape: str, changing: tuple[Any, ...]
) -> None:
    """J, R, G, D free of what is `changing`, and an energy of a degree at most; else the method is refused in words."""
    import sympy as sp

    for what in ("structure", "loss", "ports", "readout", "feedthrough"):
        if found := sorted(s.name for s in getattr(form, what).free_symbols.intersection(changing)):
            raise MethodError(
                f"{type(method).__name__} steps {systems}, but the {what} depends on {found[0]!r}; "
                "take EnergyConsistent or AVF"
            )
    energy = form.energy
    polynomial = energy.is_polynomial(*form.states)
    if form.states and (not polynomial or sp.Poly(energy, *form.states).total_degree() > degree):
        raise MethodError(
            f"{type(method).__name__} steps {systems}, but this energy is not {shape}; take EnergyConsistent or AVF"
        )


def write_linear(source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
    """`linear`: the matrices of z' = M z, of outputs and powers; `present`: gradient, inputs and outputs at x(k)."""
    import sympy as sp

    from passivo.kernel.leaves import gradient_at, input_slots

    n, w = len(form.states), len(form.inputs)
    whole, at = n + w + 1, layout.sections
    one = sp.Symbol("one#", real=True)
    z = (*form.states, *form.inputs, one)
    gradient = gradient_at(form, form.states)
    put = lambda f, degree: homogeneous(f.xreplace(gradient), z, degree)  # noqa: E731
    forms = []
    for r, row in enumerate(form.rows):
        for section, power in (("LOST", row.lost), ("RECEIVED", sp.Add(*row.received))):
            matrix = sp.hessian(put(power, 2), z) / 2
            if not matrix.is_zero_matrix:
                forms.append((at[section] + r, r, matrix))
    square = whole * whole
    for name, size in (
        ("HELD_STEP", 1), ("ALL", whole), ("NOW", w), ("BALANCE", whole), ("GENERATOR", square), ("READOUT", w * whole),
        ("POWER", len(forms) * square), ("FLOW", square), ("INTEGRAL", square), ("MEANS", w * whole),
        ("POWERED", square), ("SCRATCH", square),
    ):  # fmt: skip
        layout.take(name, size)
    flow = [sp.diff(put(f, 1), s) for f in form.flow for s in z]
    outputs = [(f"m[{at['GENERATOR'] + k}]", entry) for k, entry in enumerate(flow) if entry != 0]
    read = [sp.diff(put(f, 1), s) for f in form.output for s in z]
    outputs += [(f"m[{at['READOUT'] + k}]", entry) for k, entry in enumerate(read) if entry != 0]
    for f, (_, _, matrix) in enumerate(forms):
        entries = [(f"m[{at['POWER'] + f * square + k}]", entry) for k, entry in enumerate(matrix) if entry != 0]
        outputs += entries
    source.leaf("linear", "m", {}, outputs, note="The matrices of the linear system, entries that are not 0.")

    slots = {**layout.slots("STATE", form.states), **input_slots(form, layout)}
    here = [(f"m[{at['GRADIENT'] + i}]", g) for i, g in enumerate(gradient.values())]
    here += laws.used(form, layout, gradient)
    here += [(f"m[{at['NOW'] + k}]", laws.put(y, gradient)) for k, y in enumerate(form.output)]
    source.leaf("present", "m", slots, here, note="Gradient, inputs and outputs at the present state.")
    return {
        "WHOLE": whole,
        "FORM_COUNT": len(forms),
        "FORM_TARGET": tuple(target for target, _, _ in forms) or (0,),
        "FORM_ROW": tuple(row for _, row, _ in forms) or (0,),
    }


def homogeneous(formula: Any, z: tuple[Any, ...], degree: int) -> Any:
    """A polynomial in the states and inputs made homogeneous by the last symbol, which stands for 1."""
    import sympy as sp

    *rest, one = z
    if not rest:
        return formula * one**degree
    terms = sp.Poly(formula, *rest).terms()
    return sp.Add(
        *(c * sp.prod(s**p for s, p in zip(rest, powers)) * one ** (degree - sum(powers)) for powers, c in terms)
    )
