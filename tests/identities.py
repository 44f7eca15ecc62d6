"""What the identities of spec 2.9 are made of: energies, matrices and mean gradients of a random case."""

import numpy as np

import passivo as pv
from passivo.model.expression import EXTENDED, evaluate
from strategies import Case


def compiled(case: Case, method=None, **options):
    start = dict(zip(case.system.states, case.x))
    return pv.compile(case.system, method or pv.AVF(), case.h, start=start, engine="python", **options)


def energy(case: Case, x) -> np.longdouble:
    values = {name: np.longdouble(value) for name, value in zip(case.system.states, x)}
    return evaluate(case.system.energy, values, EXTENDED)


def matrices(case: Case, x):
    values = dict(zip(case.system.states, x))
    read = lambda rows: np.array([[evaluate(e, values) for e in row] for row in rows], dtype=float)  # noqa: E731
    system = case.system
    G = np.hstack([read(p.matrix) for p in system.ports.values()]) if system.ports else np.zeros((len(x), 0))
    return read(system.structure), read(system.loss), G


def numerical_gradient(case: Case, x):
    """Central differences in extended precision."""
    step = np.longdouble(1e-6)
    unit = np.eye(len(x), dtype=np.longdouble) * step
    return np.array([(energy(case, x + e) - energy(case, x - e)) / (2 * step) for e in unit], dtype=float)


def mean_gradient(part, x, X):
    """ḡ(x, X) from the generated leaves."""
    module, m = part.module, part.memory.copy()
    n = module.STATES
    m[module.STATE : module.STATE + n] = x
    m[module.STEP : module.STEP + n] = X - x
    m[module.LEVEL] = module.LEVELS - 1
    if module.AVERAGES:
        module.average(m)
    module.gather(m, part.dt)
    return m[module.GRADIENT : module.GRADIENT + n].copy()


def certificate_gap(part, case: Case) -> float:
    """|balance defect − ḡ'F − (ΔH − ḡ·d)|, F the generated residual, for unknowns that solve nothing."""
    module, m, n = part.module, part.memory.copy(), len(case.x)
    m[module.USED : module.USED + len(case.u)] = case.u
    m[module.LEVEL] = module.LEVELS - 1
    m[module.UNKNOWN : module.UNKNOWN + module.UNKNOWNS] = 0.1 * case.rng.uniform(-1, 1, module.UNKNOWNS)
    module.assess(m, case.h)
    d = m[module.STEP : module.STEP + n].copy()
    F = np.zeros(n)
    F[list(module.SOLVED[: module.SOLVED_COUNT])] = m[module.RESIDUAL : module.RESIDUAL + module.SOLVED_COUNT]
    module.gather(m, case.h)
    module.weigh(m, case.h)
    g = m[module.GRADIENT : module.GRADIENT + n]
    change = float(energy(case, case.x + d) - energy(case, case.x))
    defect = change - m[module.WORK : module.WORK + module.WIDTH].sum() + m[module.LOST]
    return abs(defect - g @ F - (change - g @ d))
