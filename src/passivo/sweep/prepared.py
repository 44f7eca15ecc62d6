"""A run made ready: everything but parameters and start is in a memory that each run copies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

from passivo.errors import InputError, StepError
from passivo.ledger.verdict import Verdict
from passivo.method.base import Method
from passivo.method.generate import Engine, generate
from passivo.method.part import CompiledPart, checked_method, place_start, seconds
from passivo.model.system import Model
from passivo.network.compiled import CompiledNetwork, place_network, split, unplaced_network
from passivo.network.network import Network
from passivo.run.ahead import load
from passivo.run.inputs import Inputs, feed, network_inputs
from passivo.run.network_run import feed_network
from passivo.run.record import whole_steps
from passivo.sweep.keep import Judged, Kept, Last, Reduced, Tally, read_keep
from passivo.sweep.streams import Stream, network_streams, part_stream

CHUNK = 16384  # ticks per call of the compiled loop, where rows are recorded or inputs tabulated
LONG_CHUNK = 1 << 18  # ... where neither is the case
NEVER = 1 << 62
NOWHERE = np.empty((2, 1))  # where no row is recorded


@dataclass(frozen=True)
class Point:
    """A model with its parameters, checked, and the state it starts in where nothing else is said."""

    model: Model
    lowest: np.ndarray

    @property
    def params(self) -> dict[str, float]:
        return self.model.params

    @classmethod
    def of(cls, part: CompiledPart, changes: Mapping[str, float]) -> Point:
        changed = part.model.with_params(**changes)
        part.method.for_model(changed)
        lowest = changed.initial or {}
        return cls(changed, np.array([lowest.get(name, 0.0) for name in changed.states]))

    def enter(self, part: CompiledPart) -> None:
        part.params = self.params
        part._section("PARAM", len(self.params))[:] = list(self.params.values())
        part.state[:] = self.lowest


class Stopped(Exception):
    """A run was given up, because the sweep is."""


class Prepared(ABC):
    """A run of `ticks` ticks; `run` may be called from several threads at once.

    machine  a CompiledPart or CompiledNetwork, copied by each run and never stepped itself
    drives   the inputs of each part; a model alone is the part ""
    kept     what `keep` named
    scratch  how many numbers a run needs to record into
    """

    def __init__(
        self, machine: Any, drives: Mapping[str, Inputs], ticks: int, streams: Sequence[Stream], keep: Any, rows: Any
    ):
        self.machine, self.drives, self.ticks = machine, dict(drives), ticks
        self.kept: list[Kept] = read_keep(keep, streams, [row for row in rows if row != "total"], ticks)
        wanted = [kept.stream for kept in self.kept if isinstance(kept, Reduced)]
        self.recorded = [stream for stream in streams if stream in wanted]
        self.constant = all(drive.constant for drive in self.drives.values())
        chunk = LONG_CHUNK if self.constant and not self.recorded else CHUNK
        self.chunk = min(1 if any(drive.sampled for drive in self.drives.values()) else chunk, ticks)
        self.regions = [0]  # where the rows of each recorded stream begin, and the end
        for stream in self.recorded:
            self.regions.append(self.regions[-1] + (self.chunk // stream.period + 2) * stream.size)
        self.scratch = max(self.regions[-1], 1)
        self.reductions = [(k, self.recorded.index(k.stream)) for k in self.kept if isinstance(k, Reduced)]
        self.table = self.feed(machine, self.drives, 0, 1) if self.constant else np.zeros(1)  # the same for all ticks

    @property
    def alone(self) -> bool:
        """Whether no other run may go beside it: functions of the user are called as it goes on."""
        return any(drive.called for drive in self.drives.values())

    @abstractmethod
    def load(self) -> None:
        """Compile, or fetch from the cache on disk."""

    @abstractmethod
    def place(self, points: Mapping[str, Point], starts: Mapping[str, Mapping[str, float]]) -> Any:
        """A machine of its own in its first state."""

    @abstractmethod
    def feed(self, machine: Any, drives: Mapping[str, Inputs], done: int, count: int) -> np.ndarray:
        """The inputs of the next `count` ticks."""

    @property
    @abstractmethod
    def parts(self) -> dict[str, CompiledPart]:
        """The parts of the machine by name; a model alone is the part ""."""

    @abstractmethod
    def advance(self, machine: Any, table: np.ndarray, out: np.ndarray, before: int, count: int) -> list[int]:
        """`count` ticks. `before` rows stand at the head of each region of `out`; returns how many stand there then."""

    @abstractmethod
    def refresh(self, machine: Any) -> None:
        """Reports at the present state."""

    def run(
        self,
        points: Mapping[str, Point],
        starts: Mapping[str, Mapping[str, float]],
        scratch: np.ndarray,
        stopping: Callable[[], bool],
    ) -> list[Any]:
        """The kept values of one run: not a number, and no verdict, where it cannot begin or come to its end."""
        try:
            machine = self.place(points, starts)
        except InputError as error:  # outside the domain, or of infinite energy
            return self.failed(str(error))
        try:
            tallies = self._go(machine, scratch, stopping)
        except StepError as error:
            return self.failed(str(error))
        self.refresh(machine)
        judged = any(isinstance(kept, Judged) for kept in self.kept)
        verdict = machine.verdict if judged else None
        return [self._value(kept, machine.memory, verdict, tallies) for kept in self.kept]

    def _go(self, machine: Any, scratch: np.ndarray, stopping: Callable[[], bool]) -> dict[str, Tally]:
        """All ticks of a run."""
        tallies = {kept.name: Tally(kept) for kept, _ in self.reductions}
        drives = self.drives if self.constant else {key: drive.fresh() for key, drive in self.drives.items()}
        for stream, at in zip(self.recorded, self.regions):  # the start is a row too
            scratch[at : at + stream.size] = machine.memory[stream.report : stream.report + stream.size]
        done, before = 0, 1
        while done < self.ticks:
            if stopping():
                raise Stopped
            count = min(self.chunk, self.ticks - done)
            table = self.table if self.constant else self.feed(machine, drives, done, count)
            found = self.advance(machine, table, scratch, before, count)
            blocks = [
                scratch[at : at + rows * stream.size].reshape(rows, stream.size)
                for stream, at, rows in zip(self.recorded, self.regions, found)
            ]
            for kept, number in self.reductions:
                tallies[kept.name].take(blocks[number])
            done, before = done + count, 0
        return tallies

    def _value(self, kept: Kept, memory: np.ndarray, verdict: Verdict | None, tallies: Mapping[str, Tally]) -> Any:
        if isinstance(kept, Last):
            return memory[kept.stream.report + kept.column.at]
        if isinstance(kept, Judged):
            assert verdict is not None
            return kept.read(verdict)
        return tallies[kept.name].value

    def failed(self, reason: str) -> list[Any]:
        """What stands for a run without an end."""
        verdict = Verdict("none", bias=nan, removed=nan, unnoticed=nan, roundoff=nan, reason=reason)
        return [kept.read(verdict) if isinstance(kept, Judged) else nan for kept in self.kept]


class PreparedModel(Prepared):
    def __init__(
        self, model: Model, method: Method | None, step: Any, until: Any, inputs: Any, keep: Any, engine: Engine
    ):
        steps, size = whole_steps(step, until), seconds(step, "step")
        drive, chosen = Inputs(model, inputs, steps), checked_method(model, method)
        module = generate(model, chosen, drive.laws, engine)
        part = CompiledPart(model, chosen, float(size), module, engine, drive.laws)
        part.half_at(steps // 2)
        super().__init__(part, {"": drive}, steps, part_stream(part, size), keep, module.ROW_NAMES)

    @property
    def parts(self) -> dict[str, CompiledPart]:
        return {"": self.machine}

    def load(self) -> None:
        load(self.machine)
        self.refresh(self.machine)

    def place(self, points: Mapping[str, Point], starts: Mapping[str, Mapping[str, float]]) -> CompiledPart:
        part = self.machine.copy()
        points[""].enter(part)
        place_start(part, starts[""])
        return part

    def feed(self, machine: CompiledPart, drives: Mapping[str, Inputs], done: int, count: int) -> np.ndarray:
        return feed(machine, drives[""], done, count)

    def advance(self, machine: CompiledPart, table: np.ndarray, out: np.ndarray, before: int, count: int) -> list[int]:
        size, rows = machine.module.REPORT_SIZE, before + count if self.recorded else 1
        record = out[: rows * size].reshape(rows, size) if self.recorded else NOWHERE
        with np.errstate(all="ignore"):
            every = 1 if self.recorded else NEVER
            taken = machine.module.run(machine.memory, machine.dt, table, record[before:], count, every)
        if taken < count:
            raise machine.failure(int(machine.memory[machine.module.STATUS]))
        return [rows]

    def refresh(self, machine: CompiledPart) -> None:
        machine.report_last()
        machine._refresh()


class PreparedNetwork(Prepared):
    def __init__(self, net: Network, until: Any, inputs: Any, keep: Any, engine: Engine):
        net.check()
        self.periods = net.periods
        ticks = whole_steps(net.tick * net.common, until, "the time after which all parts have met") * net.common
        given = split(net, inputs or {}, "port or signal", [*net.ports, *net.signals])
        drives = network_inputs(net, given, {key: ticks // period for key, period in self.periods.items()})
        laws = {f"{key}.{port}": law for key, drive in drives.items() for port, law in drive.laws.items()}
        network = unplaced_network(net, laws, engine)
        network.half_at(ticks // 2)
        streams = network_streams(network)
        super().__init__(network, drives, ticks, streams, keep, network.rows)
        for stream in streams:
            network.memory[stream.wait] = network.memory[stream.every] = 1.0 if stream in self.recorded else inf

    @property
    def parts(self) -> dict[str, CompiledPart]:
        return self.machine.parts

    def load(self) -> None:
        self.machine.module.run(self.machine.memory, self.table, np.empty(1), 0)
        self.refresh(self.machine)

    def place(self, points: Mapping[str, Point], starts: Mapping[str, Mapping[str, float]]) -> CompiledNetwork:
        network = self.machine.copy()
        for key, point in points.items():
            point.enter(network.parts[key])
        network.set_up({key: point.model for key, point in points.items()})
        place_network(network, starts)
        return network

    def feed(self, machine: CompiledNetwork, drives: Mapping[str, Inputs], done: int, count: int) -> np.ndarray:
        return feed_network(machine, drives, self.periods, done, count)

    def advance(
        self, machine: CompiledNetwork, table: np.ndarray, out: np.ndarray, before: int, count: int
    ) -> list[int]:
        for stream, at in zip(self.recorded, self.regions):
            machine.memory[stream.cursor] = at + before * stream.size
        machine.run(count, table, out)
        return [
            (int(machine.memory[stream.cursor]) - at) // stream.size for stream, at in zip(self.recorded, self.regions)
        ]

    def refresh(self, machine: CompiledNetwork) -> None:
        for part in machine.parts.values():
            part.report_last()
        machine.refresh()
