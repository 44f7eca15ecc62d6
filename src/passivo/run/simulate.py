"""`simulate`: a model, a method, a step, a duration; every step booked, every n-th recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from passivo.errors import InputError, StepError
from passivo.method.base import Method
from passivo.method.generate import Engine
from passivo.method.part import CompiledPart, compile, seconds
from passivo.model.system import Model
from passivo.run.inputs import Inputs
from passivo.run.run import Run

CHUNK = 16384  # steps per call of the compiled loop: bounds the memory of tabulated inputs
RECORD_LIMIT = 4 * 2**30  # bytes of recorded rows


def simulate(
    model: Model,
    method: Method | None = None,
    step: float = 1e-3,
    until: float = 1.0,
    *,
    start: Mapping[Any, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    record_every: int = 1,
    allowance: float | None = None,
    engine: Engine = "numba",
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Step `model` by `method` from 0 until the last tick <= `until`; gives a `Run`.

    start         state name -> value; the others start at the model's minimum, or at 0
    inputs        port or signal name -> number, array, function of t, Noise, Feedback, Relation or Held; default 0
    record_every  keep every n-th row (the last one always); all steps are booked in the ledger
    allowance     joules a method with a book of its own may create and still be "booked"; default: the method's share
    engine        "numba" (machine code) or "python" (the same source as plain Python)
    progress      called now and then with (steps done, steps in all)

    A step that fails raises a `StepError`; its `run` holds what was computed until then, with verdict "none".
    """
    steps, every = whole_steps(step, until), checked_every(record_every)
    drive = Inputs(model, inputs, steps) if isinstance(model, Model) else None
    laws = drive.laws if drive else None
    part = compile(model, method, step, start=start, laws=laws, allowance=allowance, engine=engine)
    assert drive is not None
    part.half_at(steps // 2)
    return Recorder(part, drive, steps, every, progress).go()


def whole_steps(step: Any, until: Any) -> int:
    """How many steps of `step` seconds fit into `until` seconds, one at least."""
    size, duration = seconds(step, "step"), seconds(until, "until")
    steps = int(duration / size * (1 + Fraction(1, 10**12)))  # 60*0.03 is meant as 1.8, whatever its last digit
    if steps < 1:
        raise InputError(f"until = {until} s is shorter than one step of {step} s; nothing to simulate")
    return steps


def checked_every(record_every: Any) -> int:
    if not isinstance(record_every, int | np.integer) or record_every < 1:
        raise InputError(f"record_every must be a whole number >= 1, not {record_every!r}")
    return int(record_every)


def stage_times(part: CompiledPart, first: int, count: int) -> np.ndarray:
    """When the inputs of `count` steps are read, in seconds: (count, stages)."""
    return (np.arange(first, first + count)[:, None] + np.array(part.method.nodes)) * part.dt


class Recorder:
    """Steps a part and keeps every n-th row."""

    def __init__(self, part: CompiledPart, inputs: Inputs, steps: int, every: int, progress: Callable | None):
        self.part, self.inputs, self.steps, self.every, self.progress = part, inputs, steps, every, progress
        rows = steps // every + 1 + (steps % every > 0)
        if rows * part.module.REPORT_SIZE * 8 > RECORD_LIMIT:
            need = rows * part.module.REPORT_SIZE * 8 / 2**30
            thin = -(-rows * part.module.REPORT_SIZE * 8 // RECORD_LIMIT) * every
            raise InputError(f"recording {rows} rows would take {need:.1f} GiB; say record_every={thin} or more")
        self.out = np.empty((rows, part.module.REPORT_SIZE))
        self.first = part.state.copy()

    def go(self) -> Run:
        part, stopped = self.part, ""
        self._keep(0)
        done = 0
        try:
            while done < self.steps:
                done = self._chunk(done)
        except StepError as error:
            stopped = str(error)
            error.run = self._finish(stopped)
            raise
        except BaseException as error:
            why = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__
            error.run = self._finish(f"stopped by {why}")  # type: ignore[attr-defined]
            raise
        if self.steps % self.every:
            self._keep(len(self.out) - 1)
        return Run(part, self.inputs, self.out, self.every, self.steps, self.first, self.steps)

    def _chunk(self, done: int) -> int:
        part, inputs = self.part, self.inputs
        count = min(1 if inputs.sampled else CHUNK, self.steps - done)
        times = stage_times(part, done, count)
        for source in inputs.sampled:
            at = inputs.offsets[source.name]
            source.time = done * part.dt
            source.output = part.output[at : at + source.width]
        table = inputs.rows(done, times)
        rows = self.out[done // self.every + 1 :]
        with np.errstate(all="ignore"):
            taken = part.module.run(part.memory, part.dt, table, rows, count, self.every)
        if taken < count:
            raise part.failure(int(part.memory[part.module.STATUS]))
        if self.progress is not None:
            self.progress(done + count, self.steps)
        return done + count

    def _keep(self, row: int) -> None:
        self.part._refresh()
        self.out[row] = self.part._section("REPORT", self.part.module.REPORT_SIZE)

    def _finish(self, why: str) -> Run:
        """The run as far as it came, marked."""
        done = self.part.steps
        full = done // self.every + 1
        if done % self.every:
            self._keep(full)
            full += 1
        return Run(self.part, self.inputs, self.out[:full].copy(), self.every, done, self.first, self.steps, why)
