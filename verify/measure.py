"""The measurements: order, energy balance, long-time drift, symplecticity; `claims.py` judges them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import passivo as pv
from passivo.method.base import Method
from passivo.run.run import Run
from verify.problems import SHORT, Problem, canonical_matrix

KINDS = ("exact", "passive", "booked", "active", "none")  # from best to worst
BALANCE_STEPS = 300
LARGE = 4  # balances are measured with the problem's step and with this many times it
ROUNDING = 1e-12  # an error below this says nothing about the order
SETTLED = 0.05


@dataclass(frozen=True)
class Order:
    """Errors at the horizon; `measured` is the last slope between them, NaN where there are too few for one."""

    steps: tuple[int, ...]
    errors: tuple[float, ...]

    @property
    def slopes(self) -> tuple[float, ...]:
        return tuple(math.log2(a / b) for a, b in zip(self.errors, self.errors[1:]))

    @property
    def measured(self) -> float:
        return self.slopes[-1] if self.slopes else math.nan


@dataclass(frozen=True)
class Balance:
    """The ledger of a driven run. Energies are divided by `turnover`, the energy that moved in the run.

    kind      the worst verdict among the total and the parts
    worst     the created energy of the step where its size was largest, signed
    roundoffs the same size in units of the largest roundoff of a step
    unnoticed created less booked, in the same units; a sum over all steps
    """

    step: float
    kind: str
    worst: float
    roundoffs: float
    bias: float
    removed: float
    iterations: float
    unnoticed: float = math.inf
    stopped: str = ""


@dataclass(frozen=True)
class Drift:
    """A long closed lossless run. Energies are divided by the energy above the minimum at the start.

    largest   the most energy created or removed in any window of time
    trend     mean energy of the last fifth of the run less that of the first fifth
    unnoticed created less booked, in units of the largest roundoff of a step; a sum over all steps
    """

    step: float
    steps: int
    kind: str
    largest: float
    trend: float
    unnoticed: float = math.inf
    stopped: str = ""


@dataclass(frozen=True)
class Result:
    """All that was measured of one method on one problem; None where it does not apply."""

    order: Order | None = None
    balances: tuple[Balance, ...] = ()
    symplectic: float | None = None
    drift: Drift | None = None
    slack: tuple[float, float] | None = None  # of constraints and of their rates, in units of rounding


def measure(method: Method, problem: Problem) -> Result:
    """Everything but the long run."""
    return Result(
        order=order(method, problem),
        balances=tuple(balance(method, problem, problem.step * factor) for factor in (1, LARGE)),
        symplectic=symplectic_defect(method, problem) if problem.canonical else None,
        slack=slack(method, problem) if problem.constrained else None,
    )


def reference(problem: Problem) -> np.ndarray:
    """The state at the horizon by DOP853, from the hand-written equations."""
    from scipy.integrate import solve_ivp

    start = [0.0] * len(problem.model.states)
    if problem.model.minimum is not None:
        start = [problem.model.minimum[name] for name in problem.model.states]
    start = [problem.start.get(name, value) for name, value in zip(problem.model.states, start)]
    solution = solve_ivp(problem.slope, (0.0, problem.horizon), start, method="DOP853", rtol=1e-13, atol=1e-15)
    return solution.y[:, -1]


def order(method: Method, problem: Problem, first: int | None = None, last: int = 4096) -> Order | None:
    """Halve the step three times or more, until the slope settles or the errors are rounding."""
    if not problem.model.states:
        return None
    exact = reference(problem)
    count = first or max(8, 128 >> method.order)
    counts: list[int] = []
    errors: list[float] = []
    while count <= last:
        step = Fraction(problem.horizon) / count
        run = _run(method, problem, step, count)
        end = run.arrays["states"][-1]
        error = float(np.linalg.norm((problem.bars.along(end) if problem.bars else end) - exact))
        if run.stopped:
            error = math.inf
        if error < ROUNDING * (1 + np.linalg.norm(exact)):
            break
        counts.append(count)
        errors.append(error)
        found = Order(tuple(counts), tuple(errors))
        if len(errors) >= 4 and abs(found.slopes[-1] - found.slopes[-2]) < SETTLED:
            break
        count *= 2
    return Order(tuple(counts), tuple(errors))


def slack(method: Method, problem: Problem) -> tuple[float, float]:
    """How well a driven run keeps constraints and their rates, with the larger of both steps of the balances."""
    assert problem.bars is not None
    run = _run(method, problem, Fraction(repr(LARGE * problem.step)), BALANCE_STEPS)
    return problem.bars.slack(run.arrays["states"]) if not run.stopped else (math.inf, math.inf)


def balance(method: Method, problem: Problem, step: float) -> Balance:
    run = _run(method, problem, Fraction(repr(step)), BALANCE_STEPS)
    total = run.arrays["ledger"][:, -1]
    created = np.diff(total[:, 4])
    moved = np.ptp(total[:, 0]) + np.abs(total[:, 1]).max() + total[-1, 2]
    worst = created[np.argmax(np.abs(created))] if len(created) else math.nan
    verdict = run.verdict
    return Balance(
        step=step,
        kind=max((verdict.kind, *(part.kind for part in verdict.parts.values())), key=KINDS.index),
        worst=_share(worst, moved),
        roundoffs=_share(abs(worst), verdict.roundoff),
        bias=_share(verdict.bias, moved),
        removed=_share(verdict.removed, moved),
        iterations=run.iterations,
        unnoticed=_share(abs(verdict.unnoticed), verdict.roundoff),
        stopped=run.stopped,
    )


def drift(method: Method, problem: Problem, steps: int | None = None) -> Drift:
    """The closed run of a problem; up to SHORT steps plain Python takes less time than compiling."""
    assert problem.drift is not None
    model, step, planned = problem.drift
    steps = steps or planned
    engine = "numba" if steps > SHORT else "python"
    every = max(1, steps // 10_000)
    try:
        run = pv.simulate(
            model, method, step, Fraction(repr(step)) * steps,
            start=problem.start, record_every=every, engine=engine,  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
    except pv.StepError as error:
        run = error.run
    stored = run.arrays["ledger"][:, -1, 0]
    lowest = 0.0
    if model.minimum is not None:
        lowest = pv.compile(model, method, step, start=model.minimum, engine="python").stored
    scale = abs(stored[0] - lowest)
    fifth = max(1, len(stored) // 5)
    verdict = run.verdict
    with np.errstate(all="ignore"):
        # weights that rise and fall smoothly: of a swing that is cut off anywhere, next to nothing is left
        weights = np.hanning(fifth + 2)[1:-1]
        trend = float(np.average(stored[-fifth:] - stored[:fifth], weights=weights)) / scale
    return Drift(
        step=step,
        steps=run.steps,
        kind=verdict.kind,
        largest=max(verdict.bias, verdict.removed) / scale,
        trend=trend,
        unnoticed=_share(abs(verdict.unnoticed), verdict.roundoff),
        stopped=run.stopped,
    )


def symplectic_defect(method: Method, problem: Problem, places: int = 3) -> float:
    """The largest entry of A'ΩA − Ω at a few places, A the Jacobian of one large step, with constraints in coordinates
    of their own."""
    part = pv.compile(problem.quiet, method, LARGE * problem.step, start=problem.start, engine="python")
    inside, outside = _coordinates(problem)
    start, random = inside(part.state.copy()), np.random.default_rng(0)
    omega = canonical_matrix(len(start) // 2)
    worst = 0.0
    for place in range(places):
        here = start + (0.1 * random.normal(size=len(start)) if place else 0.0)
        try:
            jacobian = _jacobian(lambda x: inside(_stepped(part, outside(x))), here)
        except pv.StepError:
            return math.inf
        worst = max(worst, float(np.abs(jacobian.T @ omega @ jacobian - omega).max()))
    return worst


def _coordinates(problem: Problem) -> tuple[Callable, Callable]:
    """To and from the coordinates a map is looked at in: those of the chart, or the states themselves."""
    chart = problem.chart
    if chart is None:
        return np.copy, np.copy
    names, near = (*chart.coordinates, *chart.momenta), dict[str, float]()

    def inside(x: np.ndarray) -> np.ndarray:
        found = chart.project(dict(zip(chart.model.states, x)), near=near)
        near.update(found)  # the same turn of every angle
        return np.array([found[name] for name in names])

    def outside(y: np.ndarray) -> np.ndarray:
        return np.array(list(chart.lift(dict(zip(names, y))).values()))

    return inside, outside


def _stepped(part: Any, x: np.ndarray) -> np.ndarray:
    part.state[:] = x
    part.step(np.zeros(part.module.WIDTH))
    return part.state.copy()


def _jacobian(step: Callable, here: np.ndarray) -> np.ndarray:
    """∂X/∂x of a map, by central differences."""
    columns = []
    for i in range(len(here)):
        reach = np.zeros(len(here))
        reach[i] = 1e-5 * (1 + abs(here[i]))
        columns.append((step(here + reach) - step(here - reach)) / (2 * reach[i]))
    return np.column_stack(columns)


def _run(method: Method, problem: Problem, step: Fraction, steps: int) -> Run:
    """A short driven run in plain Python: quicker than compiling."""
    try:
        return pv.simulate(
            problem.model, method, step, step * steps,
            start=problem.start, inputs=problem.inputs(), engine="python",
        )  # fmt: skip
    except pv.StepError as error:
        return error.run


def _share(value: float, whole: float) -> float:
    return float(value / whole) if whole > 0 else 0.0
