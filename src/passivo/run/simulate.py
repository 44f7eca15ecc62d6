"""`simulate`: a model, a method, a step, a duration; every step booked, every n-th recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np

from passivo.errors import InputError, StepError
from passivo.method.base import Method
from passivo.method.generate import Engine
from passivo.method.part import CompiledPart, compile
from passivo.model.system import Model
from passivo.network.network import Network
from passivo.run.adaptive import Adaptive, AdaptiveRecorder, checked_drive
from passivo.run.inputs import Inputs, feed
from passivo.run.network_run import NetworkRun, simulate_network
from passivo.run.record import checked_every, checked_room, whole_steps
from passivo.run.run import Run

CHUNK = 16384  # steps per call of the compiled loop: bounds the memory of tabulated inputs


@overload
def simulate(
    model: Network,
    method: None = None,
    step: None = None,
    until: float = 1.0,
    *,
    start: Mapping[Any, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    record_every: int = 1,
    allowance: float | None = None,
    engine: Engine = "numba",
    progress: Callable[[int, int], None] | None = None,
) -> NetworkRun: ...
@overload
def simulate(
    model: Model,
    method: Method | None = None,
    step: float | Adaptive | None = None,
    until: float = 1.0,
    *,
    start: Mapping[Any, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    record_every: int = 1,
    allowance: float | None = None,
    engine: Engine = "numba",
    progress: Callable[[int, int], None] | None = None,
) -> Run: ...
def simulate(
    model: Model | Network,
    method: Method | None = None,
    step: float | Adaptive | None = None,
    until: float = 1.0,
    *,
    start: Mapping[Any, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    record_every: int = 1,
    allowance: float | None = None,
    engine: Engine = "numba",
    progress: Callable[[int, int], None] | None = None,
) -> Run | NetworkRun:
    """Step `model` by `method` from 0 until the last tick <= `until`; gives a `Run`.

    A `Network` states methods and steps itself; it gives a `NetworkRun`, and names are "part.name".

    step          seconds, default 1e-3; or `Adaptive(tolerance)`: a step that follows its error, ending at `until`
    start         state name -> value; the others start at the model's minimum, or at 0
    inputs        port or signal name -> number, array, function of t, Noise, Feedback, Relation or Held; default 0
    record_every  keep every n-th row (the last one always); all steps are booked in the ledger. What steps record,
                  such as forces of contacts and joints, is the mean over those since the row before
    allowance     joules a method with a book of its own may create and still be "booked"; default: the method's share
    engine        "numba" (machine code) or "python" (the same source as plain Python)
    progress      called now and then with (steps done, steps in all)

    A step that fails raises a `StepError`; its `run` holds what was computed until then, with verdict "none".
    """
    if isinstance(model, Network):
        if method is not None or step is not None:
            raise InputError("a network's parts have methods and steps of their own; give them in net.add(...)")
        return simulate_network(model, until, start, inputs, record_every, allowance, engine, progress)
    pace = step if isinstance(step, Adaptive) else None
    if pace is not None and isinstance(model, Model) and model.steps_apart:
        raise InputError(f"{model.name!r} takes steps of one size here; give step= in seconds")
    size: Any = (1e-3 if step is None else step) if pace is None else until
    steps, every = whole_steps(size, until), checked_every(record_every)
    drive = None
    if isinstance(model, Model):
        drive = Inputs(model, inputs, steps) if pace is None else checked_drive(model, inputs)
    laws = drive.laws if drive else None
    part = compile(model, method, size, start=start, laws=laws, allowance=allowance, engine=engine)
    assert drive is not None
    if pace is not None:
        return AdaptiveRecorder(part, drive, pace, float(until), every, progress).go()
    part.half_at(steps // 2)
    return Recorder(part, drive, steps, every, progress).go()


class Recorder:
    """Steps a part and keeps every n-th row."""

    def __init__(self, part: CompiledPart, inputs: Inputs, steps: int, every: int, progress: Callable | None):
        self.part, self.inputs, self.steps, self.every, self.progress = part, inputs, steps, every, progress
        rows = steps // every + 1 + (steps % every > 0)
        checked_room(rows * part.module.REPORT_SIZE, every)
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
        part = self.part
        count = min(1 if self.inputs.sampled else CHUNK, self.steps - done)
        table = feed(part, self.inputs, done, count)
        rows = self.out[done // self.every + 1 :]
        with np.errstate(all="ignore"):
            taken = part.module.run(part.memory, part.dt, table, rows, count, self.every)
        if taken < count:
            error = part.failure(int(part.memory[part.module.STATUS]))
            raise error.with_hint(part.model.hint(error.state, part.dt))
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
