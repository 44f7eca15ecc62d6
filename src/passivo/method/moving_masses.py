"""Passive midpoint where masses move with the position (spec 4.6): H = ½ p'W(q)p + V(q), W = M⁻¹.

W = K K' with K upper triangular, so that L = K⁻ᵀ is the Cholesky factor of M, ν = L'q' = K'p and ½ν'ν is the kinetic
energy. With L and Q at the place q* that the last steps foretell, and the velocity v̂ = d/h of the step:

    (2 L L'/h + L Q L' + B) v̂ + V̄' = 2 L ν/h + P u,   q⁺ = q + h v̂,   ν⁺ = 2 L'v̂ − ν,   p⁺ = L⁺ν⁺

Q = slt(Y) − slt(Y)', Y = L⁻¹C L⁻ᵀ with the Coriolis matrix C. Below the diagonal `Q_ij = −½ (N_ij + Z_ij − Z_ji)` with
N = K⁻¹ (Σ ∂_kW u_k) K⁻ᵀ and Z = K⁻¹ (∂(Wp)/∂q) K. As Q is skew and V̄'d = ΔV, `ΔH = h u'P'v̂ − h v̂'B v̂` exactly.

From M the Coriolis matrix would be simpler to write, but the ledger weighs p by W: rounding of M W would be booked.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

from passivo.kernel import newton
from passivo.method.strokes import advance, finish

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.method.base import Laws
    from passivo.model.form import Form
    from passivo.provided import *

FEW = 3.0  # iterations; where there were more, the last digits are worth a matrix of their own
MOST_POLISHES = 4


def decompose(m):
    """ROOT = K with W = K K', K upper triangular, of W at POINT; False where W is not positive definite."""
    spread(m)
    for back in range(HALF):
        j = HALF - 1 - back
        size = m[ROOT + j * HALF + j]
        for k in range(j + 1, HALF):
            size -= m[ROOT + j * HALF + k] ** 2
        if not 0.0 < size < inf:
            return False
        size = sqrt(size)
        m[ROOT + j * HALF + j] = size
        for i in range(j):
            entry = m[ROOT + i * HALF + j]
            for k in range(j + 1, HALF):
                entry -= m[ROOT + i * HALF + k] * m[ROOT + j * HALF + k]
            m[ROOT + i * HALF + j] = entry / size
            m[ROOT + j * HALF + i] = 0.0
    return True


def upward(m, at, stride):
    """Solve K x = y in place."""
    for back in range(HALF):
        i = HALF - 1 - back
        value = m[at + i * stride]
        for j in range(i + 1, HALF):
            value -= m[ROOT + i * HALF + j] * m[at + j * stride]
        m[at + i * stride] = value / m[ROOT + i * HALF + i]


def downward(m, at, stride):
    """Solve K'x = y in place."""
    for i in range(HALF):
        value = m[at + i * stride]
        for j in range(i):
            value -= m[ROOT + j * HALF + i] * m[at + j * stride]
        m[at + i * stride] = value / m[ROOT + i * HALF + i]


def embark(m):
    """NU = K'p at STATE, and GUESS = W p: the velocity there; False where there are no masses."""
    for i in range(HALF):
        m[POINT + i] = m[STATE + i]
    if not decompose(m):
        return False
    for i in range(HALF):
        value = 0.0
        for j in range(i + 1):
            value += m[ROOT + j * HALF + i] * m[STATE + HALF + j]
        m[NU + i] = value
    for i in range(HALF):
        value = 0.0
        for j in range(i, HALF):
            value += m[ROOT + i * HALF + j] * m[NU + j]
        m[GUESS + i] = value
    return True


def foretell(m, h):
    """GUESS: what v̂ will be, from those of the last two steps (spec 4.7), where there are two."""
    if PREDICTS and m[KNOWN] == 2.0:
        share = (h + m[SPAN]) / (m[SPAN] + m[SPAN + 1])
        for i in range(HALF):
            m[GUESS + i] = m[LATEST + i] + share * (m[LATEST + i] - m[EARLIER + i])


def survey(m, h):
    """PLACE where GUESS leads in half a step, L, Q, INERTIA = L L', TWIST = L Q L' and CARRIED = L ν there."""
    reach = 0.5 * h if PREDICTS else 0.0
    for i in range(HALF):
        m[POINT + i] = m[STATE + i] + reach * m[GUESS + i]
        m[PLACE + i] = m[POINT + i]
    if not decompose(m):
        return False
    for i in range(HALF):
        m[PLACE + HALF + i] = m[GUESS + i]
        for j in range(HALF):
            m[LEVER + i * HALF + j] = 1.0 if i == j else 0.0
    upward(m, PLACE + HALF, 1)
    downward(m, PLACE + HALF, 1)
    for j in range(HALF):
        downward(m, LEVER + j, HALF)
    vary(m)
    for j in range(HALF):  # N and Z, in place
        upward(m, SWAY + j, HALF)
        upward(m, SHEAR + j, HALF)
    for i in range(HALF):
        upward(m, SWAY + i * HALF, 1)
        for back in range(HALF):
            j = HALF - 1 - back
            value = 0.0
            for k in range(j + 1):
                value += m[SHEAR + i * HALF + k] * m[ROOT + k * HALF + j]
            m[SHEAR + i * HALF + j] = value
    for i in range(HALF):
        m[TURNING + i * HALF + i] = 0.0
        for j in range(i):
            turn = m[SHEAR + i * HALF + j] - m[SHEAR + j * HALF + i]
            turn = -0.5 * (m[SWAY + i * HALF + j] + turn)
            m[TURNING + i * HALF + j] = turn
            m[TURNING + j * HALF + i] = -turn
    for i in range(HALF):  # SWAY = L Q
        for j in range(HALF):
            value = 0.0
            for k in range(i + 1):
                value += m[LEVER + i * HALF + k] * m[TURNING + k * HALF + j]
            m[SWAY + i * HALF + j] = value
    for i in range(HALF):
        value = 0.0
        for k in range(i + 1):
            value += m[LEVER + i * HALF + k] * m[NU + k]
        m[CARRIED + i] = value
        m[TWIST + i * HALF + i] = 0.0
        for j in range(i + 1):
            mass = 0.0
            turn = 0.0
            for k in range(j + 1):
                mass += m[LEVER + i * HALF + k] * m[LEVER + j * HALF + k]
                turn += m[SWAY + i * HALF + k] * m[LEVER + j * HALF + k]
            m[INERTIA + i * HALF + j] = mass
            m[INERTIA + j * HALF + i] = mass
            if j < i:
                m[TWIST + i * HALF + j] = turn
                m[TWIST + j * HALF + i] = -turn
    return True


def predict(m, h):
    """What Newton's method starts from."""
    for i in range(UNKNOWNS):
        m[UNKNOWN + i] = h * m[GUESS + SOLVED[i]] if i < SOLVED_COUNT else 0.0


def arrive(m, h):
    """STEP of the momenta, `p⁺ = L⁺(2 L'v̂ − ν)`; False where there are no masses at the end."""
    for i in range(HALF):
        m[POINT + i] = m[STATE + i] + m[STEP + i]
    if not decompose(m):
        return False
    for i in range(HALF):
        value = 0.0
        for k in range(i, HALF):
            value += m[LEVER + k * HALF + i] * m[STEP + k]
        m[STEP + HALF + i] = 2.0 * value / h - m[NU + i]
    downward(m, STEP + HALF, 1)
    for i in range(HALF):
        m[STEP + HALF + i] -= m[STATE + HALF + i]
    return True


def polish(m, h):
    """Newton's method to the last digit: with the matrix of an earlier iteration a third of the last correction is
    left, and where springs are stiff that is worth more than rounding."""
    for _ in range(MOST_POLISHES):
        assess(m, h)
        derive(m, h)
        m[ITERATION] += 1.0
        if not factor(m):
            return UNCONVERGED
        correct(m)
        size = relative(m)
        apply(m, 1.0)
        if size <= CONVERGED:
            expand(m, h)
            return OK
    return UNCONVERGED


def attempt(m, h):
    """One solution of a step from GUESS, or UNCONVERGED."""
    m[DEFECT] = inf
    if not survey(m, h):
        return UNCONVERGED
    status = solve(m, h)
    if status == OK and m[ITERATION] > FEW:
        status = polish(m, h)
    m[ITERATIONS_ALL] += m[ITERATION]
    return status


def stroke(m, kind, h):
    """One step of size h. Until two steps are known, it is solved twice: the second time with the v̂ of the first."""
    m[DEFECT] = inf
    status = UNCONVERGED
    if embark(m):
        foretell(m, h)
        status = attempt(m, h)
        if PREDICTS and m[KNOWN] < 2.0 and status == OK:
            for i in range(HALF):
                m[GUESS + i] = m[STEP + i] / h
            status = attempt(m, h)
        if status == OK and not arrive(m, h):
            status = UNCONVERGED
    if status == OK:
        status = finish(m, h)
    if status != OK:
        m[KNOWN] = 0.0
        return status
    for i in range(HALF):
        m[EARLIER + i] = m[LATEST + i]
        m[LATEST + i] = m[STEP + i] / h
    m[SPAN + 1] = m[SPAN]
    m[SPAN] = h
    m[KNOWN] = min(m[KNOWN] + 1.0, 2.0)
    return OK


def ready(m):
    """State or parameters were set: the last steps foretell nothing."""
    m[KNOWN] = 0.0


NEWTON = tuple(kernel for kernel in newton.KERNELS if kernel is not newton.predict)
KERNELS = (
    *NEWTON, decompose, upward, downward, embark, foretell, survey, predict, arrive, polish, attempt,
    finish, stroke, advance, ready,
)  # fmt: skip


def write(source: Source, layout: Layout, form: Form, laws: Laws, force: Sequence[Any]) -> dict[str, Any]:
    """The leaves of these kernels; `force` is V̄' in the symbols of the ends of a step."""
    import sympy as sp

    from passivo.kernel.equation import Equation, write_equation
    from passivo.kernel.leaves import input_slots
    from passivo.kernel.path import Path
    from passivo.kernel.slopes import Ends
    from passivo.method.one_stage import write_proof, write_weighs

    n = len(form.states) // 2
    for name, size in (
        ("POINT", n), ("PLACE", 2 * n), ("GUESS", n), ("LATEST", n), ("EARLIER", n), ("SPAN", 2), ("KNOWN", 1),
        ("NU", n), ("CARRIED", n), ("ROOT", n * n), ("LEVER", n * n), ("SWAY", n * n), ("SHEAR", n * n),
        ("TURNING", n * n), ("INERTIA", n * n), ("TWIST", n * n),
    ):  # fmt: skip
        layout.take(name, size)
    at, h = layout.sections, sp.Symbol("h#", real=True)
    _write_masses(source, layout, form)

    whole, ends = Ends.of(form.states), Ends.of(form.states[:n])
    path, d = Path.straight(ends), ends.d
    own: Any = lambda name, *size: sp.Matrix(*size, lambda i, j: sp.Symbol(f"{name}#{i}#{j}", real=True))  # noqa: E731
    mass, twist, carried = own("mass", n, n), own("twist", n, n), own("carried", n, 1)
    place = tuple(sp.Symbol(f"{x.name}'place", real=True) for x in form.states)
    here = dict(zip((*form.states, *form.gradient, *form.inputs), (*place, *form.gradient, *form.inputs)))
    through = dict(zip(form.gradient, (*force, *(step / h for step in d))))
    pushes = [laws.put(f, here) for f in form.flow[n:]]
    increments = [
        (h * carried[i] + h**2 / 2 * pushes[i]) / mass[i, i]
        - sp.Add(*((mass[i, j] + h / 2 * twist[i, j]) / mass[i, i] * d[j] for j in range(n) if j != i))
        for i in range(n)
    ]
    slots = {
        **layout.slots("STATE", whole.a), **layout.slots("STEP", whole.d), **layout.slots("PLACE", place),
        **layout.slots("INERTIA", mass), **layout.slots("TWIST", twist), **layout.slots("CARRIED", carried),
        **input_slots(form, layout),
    }  # fmt: skip
    equation = Equation(
        path, h, increments, through, list(laws.unknown), [laws.put(f, here) for f in laws.relations], nodes=1
    )
    constants = write_equation(source, layout, equation, slots)

    slots.update(laws.slots(layout, constants))
    speed = sp.Matrix([step / h for step in d])
    gained = 2 * (mass * speed - carried)  # L (ν⁺ − ν)
    turned = twist * speed
    bent = [force[i] + turned[i] + (gained[i] - whole.d[n + i]) / h for i in range(n)]
    means = [*bent, *speed]
    outputs = [(f"m[{at['GRADIENT'] + i}]", g) for i, g in enumerate(means)]
    outputs += laws.used(form, layout, here)
    defined = {**path.definitions, **through}
    note = "Mean gradient and inputs of the step."
    source.leaf("gather", "m, h", {**slots, h: "h"}, outputs, defined, note=note)
    slots.update({**layout.slots("GRADIENT", form.gradient), **input_slots(form, layout)})
    stages = [(h, here)]
    write_weighs(source, layout, form, slots, stages, {})
    rates = [laws.put(f, here) for f in form.flow]
    write_proof(source, form, slots, Path.straight(whole), stages, rates, at)
    return {**constants, "INCREMENTS": at["STEP"], "GRADIENTS": at["GRADIENT"], "HALF": n}


def _write_masses(source: Source, layout: Layout, form: Form) -> None:
    """`spread`: W at POINT into ROOT; `vary`: at PLACE, SWAY = Σ ∂W/∂q_k GUESS_k and SHEAR = ∂(W p)/∂q."""
    import sympy as sp

    n, at = len(form.states) // 2, layout.sections
    q, p = form.states[:n], form.states[n:]
    W = inverse_mass(form)
    into = lambda name, matrix: [(f"m[{at[name] + i}]", entry) for i, entry in enumerate(matrix)]  # noqa: E731
    source.leaf("spread", "m", layout.slots("POINT", q), into("ROOT", W))
    guess = [sp.Symbol(f"guess#{i}", real=True) for i in range(n)]
    sway = sp.Add(*(W.diff(x) * u for x, u in zip(q, guess)))
    shear = (W * sp.Matrix(p)).jacobian(q)
    slots = {**layout.slots("PLACE", form.states), **layout.slots("GUESS", guess)}
    source.leaf("vary", "m", slots, [*into("SWAY", sway), *into("SHEAR", shear)])


def inverse_mass(form: Form) -> Any:
    """W = ∂²H/∂p²."""
    import sympy as sp

    p = form.states[len(form.states) // 2 :]
    return sp.Matrix(len(p), len(p), lambda i, j: sp.diff(form.energy, p[max(i, j)], p[min(i, j)]))
