"""`compare`: the same problem by several methods; what each gets wrong, what it creates, and what a step costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from passivo.errors import InputError, MethodError, StepError
from passivo.method.base import Method
from passivo.method.catalogue import suited
from passivo.method.generate import Engine
from passivo.model.system import Model
from passivo.run.ahead import Ahead, load
from passivo.run.inputs import stage_times
from passivo.run.record import checked_every, whole_steps
from passivo.run.reference import EXPLICIT, Problem, Reference, find
from passivo.run.run import Run
from passivo.run.simulate import Recorder

ROWS = 2000  # recorded rows, about, unless the user says otherwise
TIMED = 1024  # steps that are timed
REPEATS, LEAST = 5, 0.02  # times, and seconds, they are repeated at least
UNITS = 1000  # of progress per task
DOUBT = 3.0  # times the accuracy of the reference: a smaller error says nothing


@dataclass(frozen=True)
class Entry:
    """One method.

    title   its name, with the options in which methods of the same class differ
    run     None where the method does not apply; as far as it came where a step failed
    error   largest deviation of a state from the reference, as a share of that state's largest value, over the
            recorded times the run reached (`passivo.run.reference` says how a state that stays 0 is weighed); None
            without a step or without a reference
    cost    seconds per step of the compiled loop, at its fastest; None without a step
    reason  why the method does not apply or stopped early; else empty
    """

    title: str
    method: Method
    run: Run | None
    error: float | None
    cost: float | None
    reason: str = ""

    @property
    def kind(self) -> str:
        """How it ended, in the words of tables and pictures."""
        title = self.run.verdict.title if self.run else "does not apply"
        return "stopped" if title == "none" else title

    @property
    def created(self) -> float:
        """Joules: the most that the numerics made in any stretch of time; 0 where that is nothing but roundoff."""
        return self._beyond_roundoff("bias", ("exact", "passive"))

    @property
    def removed(self) -> float:
        """The same for what they took away."""
        return self._beyond_roundoff("removed", ("exact",))

    def _beyond_roundoff(self, what: str, without: tuple[str, ...]) -> float:
        run: Any = self.run
        value = getattr(run.verdict, what)
        tiny = run.verdict.kind != "none" and value <= run.verdict.roundoff * run.steps**0.5
        return 0.0 if tiny or run.verdict.kind in without else value

    def data(self) -> dict[str, Any]:
        verdict = self.run.verdict if self.run else None
        return {
            "title": self.title,
            "order": self.method.order,
            "preserves": list(self.method.preserves),
            "error": _plain(self.error),
            "bias": _plain(verdict and verdict.bias),
            "removed": _plain(verdict and verdict.removed),
            "verdict": verdict and {"kind": verdict.kind, "sentence": verdict.sentence, "bounded": verdict.bounded},
            "cost": self.cost,
            "iterations": self.run and self.run.iterations,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Comparison:
    """The entries of all methods, and the reference their errors are measured against."""

    model: Model
    step: float
    until: float
    reference: Reference
    entries: tuple[Entry, ...]
    interrupted: bool = False

    @property
    def steps(self) -> int:
        return round(self.until / self.step)

    @property
    def passive(self) -> bool:
        """Whether all runs are passive."""
        return all(entry.run.verdict.passive for entry in self.entries if entry.run)

    def told(self, entry: Entry) -> bool:
        """Whether the reference is good enough for the error of `entry` to mean something."""
        return entry.error is not None and entry.error >= DOUBT * self.reference.accuracy

    def plot(self, path: str | PathLike | None = None) -> Any:
        """The methods in one picture; written to `path` (png, pdf, svg) or returned as a figure."""
        from passivo.run.plot_comparison import plot_comparison

        return plot_comparison(self, path)

    def data(self) -> dict[str, Any]:
        """Everything but the time series, as plain data for JSON; what is not finite is None."""
        return {
            "model": self.model.name,
            "step": self.step,
            "until": self.until,
            "accuracy": _plain(self.reference.accuracy),
            "passive": self.passive,
            "interrupted": self.interrupted,
            "methods": [entry.data() for entry in self.entries],
        }


def compare(
    model: Model,
    methods: Sequence[Method] | None = None,
    step: float = 1e-3,
    until: float = 1.0,
    *,
    start: Mapping[Any, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    record_every: int | None = None,
    engine: Engine = "numba",
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Simulate `model` by each of `methods` and compare the runs with a reference; gives a `Comparison`.

    methods       such as [pv.AVF(), pv.RK4()]; default: all that suit the model, as they come
    start         state name -> value; the others start at the model's minimum, or at 0
    inputs        port or signal name -> number, array, function of t, Noise, Feedback or Relation; default 0
    record_every  keep every n-th row (the last one always); default: about 2000 rows
    engine        "numba" (machine code) or "python" (the same source as plain Python)
    progress      called with (what is being done, work done, work in all), the work in units of its own

    A method that does not apply has an entry without a run; one that fails on the way keeps what it computed. An
    interruption raises `KeyboardInterrupt` whose `comparison` holds the runs that were finished, errors and perhaps
    costs missing.
    """
    chosen = _titled(suited(model) if methods is None else methods)
    if isinstance(model, Model) and not model.states:
        raise InputError(f"{model.name!r} has no states: all methods agree, and there is nothing to compare")
    steps = whole_steps(step, until)
    every = -(-steps // ROWS) if record_every is None else checked_every(record_every)
    problem = Problem(model, step, steps, every, start, inputs, engine)
    tell = _Progress(progress, 2 * len(chosen) + 1)
    entries: list[Entry] = []
    nothing = Reference(problem.time, np.full((len(problem.time), len(model.states)), np.nan), math.nan)

    def result(reference: Reference, interrupted: bool = False) -> Comparison:
        measured = tuple(replace(entry, error=reference.error(entry.run)) for entry in entries)
        return Comparison(model, float(step), steps * float(step), reference, measured, interrupted)

    try:
        with problem.ahead([*chosen.values()]) as ahead:
            for title, method in chosen.items():
                entries.append(_entry(problem, title, method, ahead, tell))
            tell("reference")
            ahead.wait(EXPLICIT)
        # only now: a second process that compiles would slow them down
        entries[:] = [replace(entry, cost=_cost(problem, entry)) for entry in entries]
        runs = [entry.run for entry in entries if entry.run]
        reference = find(problem, runs, lambda share: tell("reference", share)) if runs else nothing
        tell.next("reference")
    except KeyboardInterrupt as error:
        error.comparison = result(nothing, True)  # type: ignore[attr-defined]
        raise
    return result(reference)


class _Progress:
    """Tells the user how far a list of tasks has come."""

    def __init__(self, progress: Callable[[str, int, int], None] | None, tasks: int):
        self.progress, self.tasks, self.done, self.most = progress, tasks, 0, 0

    def __call__(self, what: str, share: float = 0.0) -> None:
        """The share of the present task that is done."""
        self.most = max(self.most, int((self.done + share) * UNITS))
        if self.progress is not None:
            self.progress(what, self.most, self.tasks * UNITS)

    def next(self, what: str) -> None:
        """The present task is done."""
        self.done += 1
        self(what)


def _titled(methods: Sequence[Method]) -> dict[str, Method]:
    """Title -> method; a title has the options in which methods of the same class differ."""
    if isinstance(methods, str | Method) or not isinstance(methods, Sequence):
        raise MethodError(f"compare takes a list of methods, as in [pv.AVF(), pv.RK4()], not {methods!r}")
    if not methods:
        raise MethodError("compare takes at least one method, as in [pv.AVF()]; leave methods out for all of them")
    for method in methods:
        if not isinstance(method, Method):
            hint = f"; write {method.__name__}() with parentheses" if isinstance(method, type) else ""
            raise MethodError(f"expected a method such as pv.AVF(), got {method!r}{hint}")
        if list(methods).count(method) > 1:
            raise MethodError(f"{method!r} is given twice; give each method once")
    return {option_title(method, [m for m in methods if type(m) is type(method)]): method for method in methods}


def option_title(chosen: Any, alike: Sequence[Any]) -> str:
    """A method or junction by its class, and the options in which those of the same class differ."""
    own = {option.name: getattr(chosen, option.name) for option in fields(chosen)}
    options = [
        f"{name}={value!r}" for name, value in own.items() if any(getattr(other, name) != value for other in alike)
    ]
    return type(chosen).__name__ + (f"({', '.join(options)})" if options else "")


def _entry(problem: Problem, title: str, method: Method, ahead: Ahead, tell: _Progress) -> Entry:
    """One method: compiled and run."""
    tell(f"compiling {title}")
    ahead.wait(method)
    try:
        if method.adds:
            raise MethodError(f"{title} adds {method.adds} to the model, of which no other method knows; run it alone")
        part = problem.part(method)
        load(part)
    except MethodError as error:
        tell.done += 1
        tell.next(f"compiling {title}")
        return Entry(title, method, None, None, None, str(error))
    tell.next(title)
    reason = ""
    try:
        show = lambda done, total: tell(title, done / total)  # noqa: E731
        run = Recorder(part, problem.drive(), problem.steps, problem.every, show).go()
    except StepError as error:
        run, reason = error.run, str(error)
    tell.next(title)
    return Entry(title, method, run, None, None, reason)


def _cost(problem: Problem, entry: Entry) -> float | None:
    """Seconds per step of the loop from the start, the least of several repeats, less those of a call without steps."""
    if entry.run is None or entry.run.steps == 0:
        return None
    part = problem.part(entry.method)
    count = min(problem.steps, TIMED)
    table = problem.drive(parts=1).rows(0, stage_times(part, 0, count))
    out = np.empty((count // problem.every + 1, part.module.REPORT_SIZE))
    memory = part.memory.copy()

    def time(steps: int) -> tuple[float, int]:
        memory[:] = part.memory
        begin = perf_counter()
        taken = part.module.run(memory, part.dt, table, out, steps, problem.every)
        return perf_counter() - begin, taken

    with np.errstate(all="ignore"):
        spent, taken = time(count)
        empty, least = time(0)[0], spent
        repeats = 1
        while repeats < REPEATS or spent < LEAST:
            empty, once = min(empty, time(0)[0]), time(count)[0]
            least, spent, repeats = min(least, once), spent + once, repeats + 1
    return (least - empty) / taken if least > empty else None


def _plain(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
