"""The reference that methods are compared with: the same equations in finer and finer steps, and how far to trust it.

RK4 with an 8th of the step, a 16th, and so on, until neighbours agree and come closer as smooth solutions do. Where
RK4 does not apply (a `Relation`) or does not settle (a stiff system), a symmetric implicit method: its error has even
powers of the step only, so that each doubling takes one more of them out (Richardson's extrapolation). Where an input
may jump inside a step, no order above the first is trusted.

An error is the largest deviation of a state over the recorded times, as a share of that state's largest value in the
reference. A state that stays 0 (or at rounding: 1e-13 of the largest state) is weighed by the largest of all states;
where all of them stay 0 the deviation itself counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from passivo.errors import MethodError, ModelError, StepError
from passivo.method.base import Method
from passivo.method.constrained import ConstrainedGradient
from passivo.method.generate import Engine
from passivo.method.one_stage import AVF, ImplicitMidpoint
from passivo.method.part import CompiledPart, checked_state, compile, seconds
from passivo.method.runge_kutta import RK4
from passivo.model.system import Model
from passivo.run.ahead import Ahead
from passivo.run.inputs import Function, Inputs
from passivo.run.run import Run
from passivo.run.simulate import Recorder

EXPLICIT = RK4()
FIRST = 8  # parts of a step in the first reference
MOST_STEPS = {"numba": 20_000_000, "python": 200_000}  # seconds of work, by either engine
MOST_CALLS = 2_000_000  # steps where an input is a Python function
SHARE = 1e-3  # of the smallest error: a reference this accurate is fine enough
ROUGH_SHARE = 0.1  # the same where an input jumps: each digit would cost ten times the work
ROUNDING = 1e-12  # no reference has to be more accurate than this
ROUGH = 1e-6  # gaps below it that no longer shrink are rounding
POOR = 1e-2  # an explicit reference no better than this has not settled


@dataclass(frozen=True)
class Reference:
    """States at the recorded times of the runs, NaN where the solution itself cannot go on.

    time      seconds
    states    (time, state)
    accuracy  estimated error of the reference itself, in the measure of `error`; infinite where none was found, NaN
              where none was looked for
    """

    time: np.ndarray = field(repr=False)
    states: np.ndarray = field(repr=False)
    accuracy: float

    @property
    def found(self) -> bool:
        return math.isfinite(self.accuracy)

    def error(self, run: Run | None) -> float | None:
        """The error of a run as far as it came; None without a step or a reference."""
        if run is None or run.steps == 0 or not self.found:
            return None
        return _apart(on_ticks(run), self.states)


class Problem:
    """What all methods are given: a model, a step, a duration, a start and inputs; everything but the start's energy
    and domain is checked here, before anything is compiled."""

    def __init__(
        self,
        model: Model,
        step: Any,
        steps: int,
        every: int,
        start: Mapping[Any, float] | None,
        inputs: Mapping[str, Any] | None,
        engine: Engine,
    ):
        if not isinstance(model, Model):
            raise ModelError(f"expected a System, got {model!r}")
        self.model, self.step, self.steps, self.every = model, seconds(step, "step"), steps, every
        self.engine: Engine = engine
        self.start, self.inputs = checked_state(model, start or {}), inputs
        self.laws = self.drive().laws
        self.drive(parts=2)  # inputs that have no finer step say so

    @property
    def time(self) -> np.ndarray:
        """The recorded times."""
        ticks = np.arange(0, self.steps + self.every, self.every)
        return np.minimum(ticks, self.steps) * float(self.step)

    @property
    def most_steps(self) -> int:
        called = any(isinstance(source, Function) for source in self.drive().sources)
        limit = MOST_STEPS.get(self.engine, MOST_STEPS["numba"])
        return min(limit, MOST_CALLS) if called else limit

    def drive(self, parts: int | None = None) -> Inputs:
        """The inputs of one run, or of one that takes each step in `parts`."""
        drive = Inputs(self.model, self.inputs, self.steps)
        return drive if parts is None else drive.refined(parts)

    def part(self, method: Method, parts: int = 1) -> CompiledPart:
        step: Any = self.step / Fraction(parts)
        part = compile(self.model, method, step, start=self.start, laws=self.laws, engine=self.engine)
        part.half_at(self.steps * parts // 2)
        return part

    def ahead(self, methods: list[Method]) -> Ahead:
        """Compile `methods`, and what the reference needs, on two cores."""
        needed = [*methods, *([] if EXPLICIT in methods else [EXPLICIT])]
        return Ahead(self.model, needed if self.engine == "numba" else [], self.start, self.laws)

    def fine(self, method: Method, parts: int, progress: Callable | None) -> Run:
        """The run with each step taken in `parts`, as far as it comes, recorded at the same times."""
        part, drive = self.part(method, parts), self.drive(parts)
        try:
            return Recorder(part, drive, self.steps * parts, self.every * parts, progress).go()
        except StepError as error:
            return error.run


def on_ticks(run: Run) -> np.ndarray:
    """The recorded states without the last row of a run that stopped between two recorded times."""
    states = run.arrays["states"]
    return states if run.steps == run.planned else states[: run.steps // run.record_every + 1]


def find(problem: Problem, runs: Sequence[Run], tell: Callable[[float], None]) -> Reference:
    """A reference fine enough for the best of `runs`, or the best to be had within the limit of work.

    `tell` is called with the share of the work done.
    """
    methods = [run.method for run in runs]
    usual = ConstrainedGradient() if problem.model.constraints else ImplicitMidpoint()
    implicit = next((m for m in methods if isinstance(m, ImplicitMidpoint | AVF)), usual)
    best = Reference(problem.time, np.full((len(problem.time), len(problem.model.states)), np.nan), math.inf)
    for k, (method, powers) in enumerate(((EXPLICIT, ()), (implicit, (2, 4, 6)))):
        try:
            found = _refine(problem, method, powers, runs, lambda share, k=k: tell((k + share) / 2))
        except MethodError:
            continue
        best = found if found.accuracy <= best.accuracy else best
        if best.accuracy <= POOR:
            break
    return best


def _refine(
    problem: Problem, method: Method, powers: Sequence[int], runs: Sequence[Run], tell: Callable[[float], None]
) -> Reference:
    """Halve the step of `method` until neighbours agree well enough; `powers` of the step are extrapolated away."""
    limit, spent, jumps = problem.most_steps, 0, any(source.jumps for source in problem.drive().sources)
    parts = 1 if jumps else FIRST
    while parts > 1 and 7 * parts * problem.steps > limit:  # there must be three to compare
        parts //= 2
    row: list[np.ndarray] = []
    gaps: list[float] = [math.inf]
    while True:
        before = spent
        run = problem.fine(method, parts, lambda done, _: tell(min(1.0, (before + done) / limit)))  # noqa: B023
        spent += parts * problem.steps  # also where the run broke off: this must end
        last, row = row, _extrapolated(on_ticks(run), row, powers)
        gaps.append(_gap(row[0], last[0] if last else None))
        if jumps:
            states, accuracy = row[0], _first_order(gaps)
        elif _regular(gaps, method.order):
            states, accuracy = row[-1], _gap(row[-1], last[-1]) / (1.0 if powers else 2.0**method.order - 1.0)
        else:
            states, accuracy = row[0], max(filter(math.isfinite, gaps[-3:]), default=math.inf)
        reference = Reference(problem.time, _filled(states, len(problem.time)), accuracy)
        rounding = gaps[-1] < ROUGH and gaps[-2] < 1.5 * gaps[-1]  # finer steps no longer help
        over = bool(last) and spent + 2 * parts * problem.steps > limit
        enough = (rounding and not jumps) or reference.accuracy <= _wanted(
            reference, runs, ROUGH_SHARE if jumps else SHARE
        )
        if over or (enough and math.isfinite(gaps[-2])):
            return reference
        parts *= 2


def _first_order(gaps: Sequence[float]) -> float:
    """What may be left where an input jumps inside a step: half of it at each halving of the step, and no better.

    Neighbours then agree or differ by chance, to the last digit even, and both may be wrong: the worst of all counts.
    """
    known = [gap for gap in gaps if math.isfinite(gap)]
    return max((gap / 2.0**k for k, gap in enumerate(reversed(known))), default=math.inf)


def _regular(gaps: Sequence[float], order: int) -> bool:
    """Whether the last three gaps shrink as smooth solutions make them; if not, nothing is known but the gaps."""
    ratios = [a / b for a, b in pairwise(gaps[-3:])]
    return len(ratios) == 2 and all(0.6 < ratio / 2.0**order < 1.6 for ratio in ratios)


def _extrapolated(states: np.ndarray, row: Sequence[np.ndarray], powers: Sequence[int]) -> list[np.ndarray]:
    """The next row of Richardson's table: each entry takes one more power of the step out of the error."""
    result = [states]
    if row and len(row[0]) == len(states):
        for power, coarse in zip(powers, row):
            result.append(result[-1] + (result[-1] - coarse) / (2.0**power - 1.0))
    return result


def _gap(states: np.ndarray, before: np.ndarray | None) -> float:
    """How far two neighbours are apart; infinite where one broke off: that they agree until then says little."""
    if before is None or len(before) != len(states) or len(states) < 2:
        return math.inf
    return max(_apart(before, states), float(np.finfo(float).eps))


def _wanted(reference: Reference, runs: Sequence[Run], share: float) -> float:
    errors = [error for run in runs if (error := reference.error(run)) is not None]
    return max(ROUNDING, share * min(errors, default=0.0))


def _filled(states: np.ndarray, rows: int) -> np.ndarray:
    return np.vstack([states, np.full((rows - len(states), states.shape[1]), np.nan)])


def _apart(found: np.ndarray, reference: np.ndarray) -> float:
    """The largest deviation of `found`, over the rows that both have."""
    known = reference[: np.argmin(np.append(np.isfinite(reference).all(axis=1), False))]
    rows = min(len(found), len(known))
    largest = np.abs(known).max(axis=0, initial=0.0)
    most = float(largest.max(initial=0.0)) or 1.0
    with np.errstate(all="ignore"):
        shares = np.abs(found[:rows] - known[:rows]) / np.where(largest > 1e-13 * most, largest, most)
    return float(np.nan_to_num(shares, nan=math.inf, posinf=math.inf).max(initial=0.0))
