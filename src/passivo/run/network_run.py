"""Runs of networks: the record of every part and junction at its own ticks, and the ledger at the common ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, StepError, nearest
from passivo.ledger.verdict import Verdict
from passivo.method.generate import Engine
from passivo.network.compiled import CompiledLink, CompiledNetwork, compile_network, judged, split
from passivo.network.network import Network
from passivo.run.inputs import Inputs, feed, network_inputs
from passivo.run.pictured import Pictured
from passivo.run.record import checked_every, checked_room, whole_steps
from passivo.run.run import COLUMNS, UNITS, PartView, Run, ledger_dataset, series

if TYPE_CHECKING:
    import xarray as xr

CHUNK = 16384  # ticks per call of the compiled loop: bounds the memory of tabulated inputs
SEEN_UNITS = {"error": "J", "power": "W"}  # of what junctions show


class LinkRun:
    """The record of a junction: `run.part("link")["error"]`, `.ledger`, `.verdict`, at the link's own exchanges."""

    def __init__(self, name: str, widths: Mapping[str, int], time: np.ndarray, seen: np.ndarray, ledger: np.ndarray):
        self.name, self.widths, self.time = name, dict(widths), time
        self.arrays = {"time": time, "seen": seen, "ledger": ledger}
        self.verdict = Verdict("none")

    @classmethod
    def of(cls, link: CompiledLink, rows: np.ndarray, time: np.ndarray) -> LinkRun:
        sizes = link.connection.through.sections(link.link)
        widths = {name: sizes[section] for name, section in link.connection.through.recorded().items()}
        count = sum(widths.values())
        return cls(link.connection.name, widths, time, rows[:, 1 : 1 + count], rows[:, 1 + count :])

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self.widths:
            raise InputError(f"the junction {self.name!r} has no {name!r}; {nearest(name, self.widths)}")
        names = list(self.widths)
        at = sum(self.widths[other] for other in names[: names.index(name)])
        values = self.arrays["seen"][:, at : at + self.widths[name]]
        unit = SEEN_UNITS.get(name, "")
        return series(name, values[:, 0] if self.widths[name] == 1 else values, unit, self.time)

    @property
    def ledger(self) -> xr.Dataset:
        return ledger_dataset(self.arrays["ledger"][:, None, : len(COLUMNS)], [self.name], self.time).sel(
            part=self.name
        )


class NetworkRun(Pictured):
    """A run of a network.

    `run["spring.q"]` with its own time; `run.ledger` at the common ticks, with a row for each part, each connection and
    the total; `run.part("mass")` and `run.part("link")` at their own ticks; `run.work["mass.force"]`; `run.verdict`.
    `runs` holds the whole run of each part, `links` what each junction recorded.
    """

    def __init__(
        self,
        net: Network,
        runs: Mapping[str, Run],
        links: Mapping[str, LinkRun],
        *,
        rows: tuple[str, ...],
        time: np.ndarray,
        ledger: np.ndarray,
        accounts: np.ndarray,
        engine: str,
        record_every: int,
        ticks: int,
        planned: int,
        allowance: float | None = None,
        stopped: str = "",
    ):
        self.allowance = allowance
        self.net, self.runs, self.links = net, dict(runs), dict(links)
        self.rows, self.engine, self.record_every = rows, engine, record_every
        self.ticks, self.planned, self.stopped = ticks, planned, stopped
        self.arrays = {"time": time, "ledger": ledger, "accounts": accounts}
        for name, link in self.links.items():
            link.verdict = self.verdict.parts[name]

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def time(self) -> np.ndarray:
        """The common ticks that were kept."""
        return self.arrays["time"]

    @property
    def step(self) -> float:
        """Seconds between two common ticks."""
        return self.net.common * float(self.net.tick)

    @property
    def steps(self) -> int:
        """Common ticks."""
        return self.ticks // self.net.common

    def _find(self, name: str) -> tuple[Any, str]:
        part, _, inner = str(name).partition(".")
        if part not in self.runs or not inner:
            raise InputError(f"the run has no {name!r}; {nearest(str(name), [*self.net.states, *self.parts])}")
        return self.runs[part], inner

    def __getitem__(self, name: str) -> xr.DataArray:
        run, inner = self._find(name)
        return run[inner].rename(name)

    def keys(self) -> tuple[str, ...]:
        """What it gives by name."""
        return tuple(f"{part}.{name}" for part, run in self.runs.items() for name in run)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    @property
    def work(self) -> _Joined:
        """Joules received through each port so far."""
        return _Joined(self, "work")

    @property
    def outputs(self) -> _Joined:
        return _Joined(self, "outputs")

    @property
    def inputs(self) -> _Joined:
        return _Joined(self, "inputs")

    @property
    def parts(self) -> list[str]:
        """Names of all rows of the ledger but the total."""
        return [name for name in self.rows if name != "total"]

    def part(self, name: str) -> PartView | LinkRun:
        """A part or a connection at its own ticks."""
        if name in self.links:
            return self.links[name]
        if name in self.runs:
            run = self.runs[name]
            return PartView(run, name if name in run.parts else "total")
        raise InputError(
            f"the run has no part {name!r} with ticks of its own; {nearest(name, [*self.runs, *self.links])} "
            "(all rows of the ledger are in run.ledger and run.verdict.parts)"
        )

    @cached_property
    def ledger(self) -> xr.Dataset:
        """Dimensions (time, part) at the common ticks; all columns but `stored` are cumulative, in joules."""
        return ledger_dataset(self.arrays["ledger"], self.parts, self.time)

    @cached_property
    def verdict(self) -> Verdict:
        return self.judged(self.arrays["accounts"])

    def judged(self, accounts: np.ndarray) -> Verdict:
        """The verdict on accounts, under the allowance of this run."""
        return judged(self.net, accounts, self.rows, self.allowance, self.stopped)

    @property
    def faults(self) -> dict[str, int]:
        """How often each part met each kind of fault, by "part.kind"."""
        return {f"{key}.{name}": count for key, run in self.runs.items() for name, count in run.faults.items()}

    # -- doing ------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike) -> None:
        """Write everything needed to look at, audit and repeat the run, in Zarr."""
        from passivo.run.save import save

        save(self, path)

    def audit(self) -> Any:
        """Recompute the run without the compiled kernels; see `passivo.audit`."""
        from passivo.run.audit import audit

        return audit(self)

    def columns(self) -> dict[str, np.ndarray]:
        """All recorded series by name and unit; each part has its own time."""
        result: dict[str, np.ndarray] = {}
        for key, run in self.runs.items():
            own = run.columns()
            result |= {f"{key}: {name}": values for name, values in own.items() if not name.endswith("[J]")}
        result["t [s]"] = self.time
        return result | {f"{name} [{UNITS[name]}]": self.arrays["ledger"][:, -1, i] for i, name in enumerate(COLUMNS)}

    def write_csv(self, path: str | PathLike) -> None:
        """The recorded series as a table of text; to be read, not loaded back."""
        from passivo.run.save import write_columns

        write_columns(path, self.columns())

    @property
    def headline(self) -> str:
        """What was run, in one line."""
        names = {key: f" by {type(run.method).__name__}" if run.model.states else "" for key, run in self.runs.items()}
        parts = [f"{key}{names[key]} every {run.step:g} s" for key, run in self.runs.items()]
        more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
        return f"{self.net.name}: {', '.join(parts[:3])}{more}; {self.ticks * float(self.net.tick):g} s"

    def __repr__(self) -> str:
        return f"<run of {self.headline}; {self.verdict}>"


class _Joined(Mapping):
    """`work`, `outputs` or `inputs` of all parts, by "part.port"."""

    def __init__(self, run: NetworkRun, field: str):
        self._run, self._field = run, field

    def __getitem__(self, name: str) -> xr.DataArray:
        part, _, port = str(name).partition(".")
        if name not in list(self):
            raise KeyError(f"{name!r}; {nearest(str(name), list(self))}")
        return getattr(self._run.runs[part], self._field)[port].rename(name)

    def __iter__(self):
        return (f"{key}.{port}" for key, run in self._run.runs.items() for port in getattr(run, self._field))

    def __len__(self) -> int:
        return sum(1 for _ in self)


# -- recording ------------------------------------------------------------------------------------------------------


def simulate_network(
    net: Network,
    until: float,
    start: Mapping[Any, float] | None,
    inputs: Mapping[str, Any] | None,
    record_every: int,
    allowance: float | None,
    engine: Engine,
    progress: Callable[[int, int], None] | None,
) -> NetworkRun:
    """`simulate` for a network: from 0 until the last common tick <= `until`."""
    every = checked_every(record_every)
    net.check()
    rounds = whole_steps(net.tick * net.common, until, "the time after which all parts have met")
    ticks = rounds * net.common
    given = split(net, inputs or {}, "port or signal", [*net.ports, *net.signals])
    drives = network_inputs(net, given, {key: ticks // period for key, period in net.periods.items()})
    laws = {f"{key}.{port}": law for key, drive in drives.items() for port, law in drive.laws.items()}
    network = compile_network(net, start, laws, engine, allowance)
    network.half_at(ticks // 2)
    return NetworkRecorder(network, drives, ticks, every, progress).go()


def feed_network(
    network: CompiledNetwork, drives: Mapping[str, Inputs], periods: Mapping[str, int], done: int, count: int
) -> np.ndarray:
    """The outside inputs of the next `count` ticks, part after part; the memory is told where each finds its own."""
    blocks, at = [np.zeros(1)], 1
    for key, drive in drives.items():
        part, period = network.parts[key], periods[key]
        first, last = -(-done // period), -(-(done + count) // period)
        if first == last:
            continue
        rows = feed(part, drive, first, last - first)
        stride = rows.shape[1] if len(rows) > 1 else 0
        place = part.module.FEED
        network.memory[place : place + 3] = at - stride, stride, at + stride * (len(rows) - 1)
        blocks.append(rows.reshape(-1))
        at += rows.size
    return np.concatenate(blocks)


@dataclass
class Stream:
    """One record that grows in the common buffer: rows of `size` numbers from `offset` on."""

    offset: int
    rows: int
    size: int
    steps: Callable[[], int]  # taken so far
    report: int
    wait: int
    every: int
    cursor: int


class NetworkRecorder:
    """Steps a network and keeps every n-th row of each part, each junction and the whole."""

    def __init__(self, network: CompiledNetwork, drives: Mapping[str, Inputs], ticks: int, every: int, progress: Any):
        self.network, self.drives, self.ticks, self.every, self.progress = network, drives, ticks, every, progress
        self.streams: dict[str, Stream] = {}
        self.periods = network.net.periods
        self.size = 0
        memory, module, periods = network.memory, network.module, self.periods
        for key, part in network.parts.items():
            view = part.module
            places = (view.REPORT, view.WAIT, view.EVERY, view.CURSOR)
            self._stream(key, periods[key], view.REPORT_SIZE, lambda part=part: part.steps, places)
        for name, link in network.links.items():
            count = link.number("LINK_COUNT")
            places = tuple(link.number(f"LINK_{what}") for what in ("REPORT", "WAIT", "EVERY", "CURSOR"))
            taken = lambda count=count: int(memory[count])  # noqa: E731
            self._stream(name, link.link.period, link.number("LINK_REPORT_SIZE"), taken, places)
        places = (module.TOTAL_REPORT, module.TOTAL_WAIT, module.TOTAL_EVERY, module.TOTAL_CURSOR)
        rounds = lambda: int(memory[module.TOTAL_COUNT])  # noqa: E731
        self._stream("total", network.net.common, module.TOTAL_REPORT_SIZE, rounds, places)
        checked_room(self.size, every)
        self.out = np.empty(self.size)
        self.first = {key: part.state.copy() for key, part in network.parts.items()}

    def _stream(self, name: str, period: int, size: int, steps: Callable[[], int], places: tuple[int, ...]) -> None:
        count = -(-self.ticks // period)  # a part that steps first may be one step ahead where a run was cut
        rows = count // self.every + 1 + (count % self.every > 0)
        self.streams[name] = Stream(self.size, rows, size, steps, *places)
        self.size += rows * size

    def go(self) -> NetworkRun:
        memory = self.network.memory
        self.network.refresh()
        for stream in self.streams.values():
            self._write(stream, 0)
            memory[stream.wait] = memory[stream.every] = self.every
            memory[stream.cursor] = stream.offset + stream.size
        done = 0
        try:
            while done < self.ticks:
                done = self._chunk(done)
        except StepError as error:
            error.run = self._finish(str(error))
            raise
        except BaseException as error:
            why = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__
            error.run = self._finish(f"stopped by {why}")  # type: ignore[attr-defined]
            raise
        return self._finish("")

    def _chunk(self, done: int) -> int:
        held = any(drive.sampled for drive in self.drives.values())
        count = min(1 if held else CHUNK, self.ticks - done)
        table = feed_network(self.network, self.drives, self.periods, done, count)
        self.network.run(count, table, self.out)
        if self.progress is not None:
            self.progress(done + count, self.ticks)
        return done + count

    def _write(self, stream: Stream, row: int) -> None:
        start = stream.offset + row * stream.size
        self.out[start : start + stream.size] = self.network.memory[stream.report : stream.report + stream.size]

    def _record(self, name: str) -> np.ndarray:
        """The rows of a stream so far, the present one added where it is not a multiple of `every`."""
        stream = self.streams[name]
        done = stream.steps()
        full = done // self.every + 1
        if done % self.every:
            self._write(stream, full)
            full += 1
        return self.out[stream.offset : stream.offset + full * stream.size].reshape(full, stream.size).copy()

    def _time(self, name: str, rows: int, step: float) -> np.ndarray:
        return np.minimum(np.arange(rows) * self.every, self.streams[name].steps()) * step

    def _finish(self, why: str) -> NetworkRun:
        network, net = self.network, self.network.net
        network.refresh()
        runs, links, tick = {}, {}, float(net.tick)
        for key, part in network.parts.items():
            planned = self.ticks // self.periods[key]
            rows = self._record(key)
            runs[key] = Run(part, self.drives[key], rows, self.every, part.steps, self.first[key], planned, why)
        for name, link in network.links.items():
            rows = self._record(name)
            links[name] = LinkRun.of(link, rows, self._time(name, len(rows), link.link.seconds))
        rows = self._record("total")
        return NetworkRun(
            net,
            runs,
            links,
            rows=network.rows,
            time=self._time("total", len(rows), net.common * tick),
            ledger=rows[:, 1:].reshape(len(rows), -1, len(COLUMNS)),
            accounts=network.accounts,
            engine=network.engine,
            record_every=self.every,
            ticks=network.ticks,
            planned=self.ticks,
            allowance=network.allowance,
            stopped=why,
        )
