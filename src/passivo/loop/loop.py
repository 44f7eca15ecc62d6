"""`Loop`: a network against the clock, one compiled function on its own thread; Python only starts and ends it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from passivo.device.boxed import box_size
from passivo.errors import DeviceError, InputError
from passivo.ledger.verdict import Verdict
from passivo.loop import kernels as K
from passivo.loop.generate import Seat, columns, live_of, seats
from passivo.loop.machine import on_time, stolen_seconds
from passivo.loop.pump import Pump
from passivo.loop.report import Lateness, LoopReport
from passivo.loop.ring import Ring
from passivo.loop.safety import Safety
from passivo.method.generate import Engine
from passivo.network import guard as G
from passivo.network.clamp import CLAMP_CUT, CLAMP_DAMPED, CLAMP_LIMITED, CLAMP_OVERLONG, CLAMP_REFUSED
from passivo.network.compiled import CompiledNetwork, compile_network, split
from passivo.network.network import Network
from passivo.run.inputs import network_inputs
from passivo.run.network_run import feed_network
from passivo.run.run import ledger_dataset

Clock = Literal["real", "simulated"]
SPIN = 60e-6  # seconds before a deadline in which the clock is watched instead of slept
KEPT = 1 << 16  # rows that are kept without a recorder: the last ones
LONGEST_TABLE = 10**7  # numbers of inputs that change with time
REASONS = {
    G.TOLD_TO_STOP: "told to stop",
    G.NO_READING: "no good reading came in time",
    G.TOO_FAST: "the handle moved faster than allowed",
    G.NO_HAND: "the dead-man switch was not held",
    G.BAD_FORCES: "the network gave forces that are no numbers",
    G.NETWORK_FAILED: "a part of the network could not step",
    G.DEVICE_FAULT: "the device reported a fault",
    G.UNPLUGGED: "the device was unplugged",
}


class Loop:
    """Runs a network with devices in real time.

        report = pv.Loop(net).run(seconds=10)

    safety  limits and ramps; see `Safety`
    start   states to begin with, by "part.name"
    inputs  what drives free ports and signals, by "part.name": numbers, or functions of t and arrays for a run of
            stated length
    clock   "real", or "simulated": no waiting, the same ticks with the same numbers every time
    lates   with the simulated clock: seconds by which ticks come late, in turn
    """

    def __init__(
        self,
        net: Network,
        *,
        safety: Safety | None = None,
        start: Mapping[str, float] | None = None,
        inputs: Mapping[str, Any] | None = None,
        clock: Clock = "real",
        lates: Sequence[float] = (0.0,),
        engine: Engine = "numba",
    ):
        if not isinstance(net, Network):
            raise InputError(f"a loop runs a pv.Network, not {net!r}")
        if clock not in get_args(Clock):
            raise InputError(f"the clock is 'real' or 'simulated', not {clock!r}")
        self.safety, self.clock, self.engine = safety or Safety(), clock, engine
        self.start, self.inputs = dict(start or {}), dict(inputs or {})
        self.lates = np.atleast_1d(np.asarray(lates, dtype=float))
        if not len(self.lates) or not (self.lates >= 0.0).all() or not np.isfinite(self.lates).all():
            raise InputError("lates are seconds >= 0, at least one")
        places = seats(net)
        if not places:
            raise InputError(
                "the network has no device: connect one, as in net.connect(device['handle'], wall['end'], "
                "through=pv.LedgerClamp()); without a device use pv.simulate"
            )
        guards = {seat.connection.name: self.safety.guard(seat.device, seat.connection) for seat in places}
        self.net = net.rebuilt(through=guards)
        self.places = seats(self.net)
        self.net.check()
        if clock == "simulated" and any(seat.driver.boxed for seat in self.places):
            raise InputError("only simulated devices keep simulated time; say clock='real'")
        self.network: CompiledNetwork = compile_network(
            self.net, self.start, engine=engine, live=live_of(self.net, self.places)
        )
        self.module = self.network.module
        self.book = np.zeros(K.B_SIZE)
        self.ring: Ring | None = None
        self.row = np.zeros(0)  # the last tick, as `columns` says; the loop writes it while it is read

    @property
    def period(self) -> float:
        """Seconds between two ticks."""
        return float(self.net.tick)

    @property
    def columns(self) -> dict[str, tuple[int, str]]:
        """What a row of the record holds: name -> width and unit."""
        return columns(self.net, self.places, self.network.rows)

    def stop(self) -> None:
        """End the run, from any thread: damping, then no force."""
        self.book[K.B_STOP] = 1.0

    # -- running ----------------------------------------------------------------------------------------------------

    def run(self, seconds: float | None = None, record: str | PathLike | None = None) -> LoopReport:
        """Run for so many seconds, or until Ctrl-C or `stop()`.

        record  a file for every tick: .mcap for robot tools, .zarr for analysis
        """
        if seconds is not None and not (isinstance(seconds, int | float) and 0.0 < seconds < inf):
            raise InputError(f"seconds must be a positive number, not {seconds!r}; leave it out to run until Ctrl-C")
        if seconds is None and self.clock == "simulated":
            raise InputError("with the simulated clock say how long: run(seconds=10)")
        ticks = inf if seconds is None else max(round(seconds / self.period), 1)
        session = Session(self, ticks, inf if seconds is None else float(seconds))
        return session.go(record)


class Session:
    """One run of a loop: memory, threads, and what is left of them at the end."""

    def __init__(self, loop: Loop, ticks: float, seconds: float):
        self.loop, self.ticks, self.seconds = loop, ticks, seconds
        self.network = loop.network.copy()
        self.memory, self.module = self.network.memory, self.network.module
        self.book, self.setup = loop.book, []
        self.book[:] = 0.0
        paced = any(seat.device.info.owns_clock and seat.driver.boxed for seat in loop.places)
        told = {
            K.B_PERIOD: loop.period, K.B_LIMIT: ticks, K.B_REAL: loop.clock == "real", K.B_SPIN: SPIN,
            K.B_PATIENCE: loop.safety.patience / 2.0, K.B_PACED: paced,
        }  # fmt: skip
        for place, value in told.items():
            self.book[place] = value
        self.bins = np.zeros(K.BIN_COUNT, dtype=np.int64)
        self.ring = Ring(self.module.ROW_WIDTH, KEPT)
        loop.row = self.row = np.zeros(self.module.ROW_WIDTH)
        self.spec, self.out = np.zeros(2, dtype=np.int64), np.zeros(1)
        self.box = np.zeros(1 + sum(box_size(seat.axes) for seat in loop.places))
        self.tape, self.table = self._tape(), self._table()
        self._quiet()
        self.module.arrange_all(self.memory)
        if np.isfinite(ticks):
            self.network.half_at(int(ticks) // 2)
        self.failure: BaseException | None = None
        self.over = threading.Event()

    def number(self, seat: Seat, name: str) -> int:
        return getattr(self.module, seat.prefix + name)

    def _tape(self) -> np.ndarray:
        """What the drivers know beforehand, and where each finds its own."""
        tapes, at, boxes = [np.zeros(1)], 1, 1
        length = self.seconds + 10.0 if isfinite(self.seconds) else 600.0
        for seat in self.loop.places:
            tape = seat.driver.fill(self.memory, lambda name, seat=seat: self.number(seat, name), at, length)
            at += len(tape)
            tapes.append(tape)
            self.memory[self.number(seat, "BOX")] = boxes
            boxes += box_size(seat.axes)
            dead_man = self.loop.safety.dead_man
            self.memory[self.number(seat, "DEAD_MAN")] = 0.0 if dead_man is None else float(1 << dead_man)
            for name in ("LAST_SEQUENCE", "LAST_TIME", "LAST_HOST"):
                self.memory[self.number(seat, name)] = -inf
            seat.device.seated(self.memory, lambda name, seat=seat: self.number(seat, name))
        return np.concatenate(tapes)

    def _table(self) -> np.ndarray:
        """The outside inputs of all ticks; where they do not change, of one."""
        net, loop = self.loop.net, self.loop
        told = {f"{seat.part}.{signal}" for seat in loop.places for signal in net.members[seat.part].model.signals}
        free = [name for name in (*net.ports, *net.signals) if name not in told]
        for name in loop.inputs:
            if name in told:
                raise InputError(f"{name!r} is told by the device; leave it out of inputs")
        given = split(net, loop.inputs, "port or signal", free)
        count = int(self.ticks) + 1 if np.isfinite(self.ticks) else 1
        steps = {key: -(-count // period) for key, period in net.periods.items()}
        drives = network_inputs(net, given, steps)
        if any(drive.laws or drive.sampled for drive in drives.values()):
            raise InputError("a loop takes numbers, arrays and functions of t as inputs; put a law into a part")
        constant = all(drive.constant for drive in drives.values())
        if not constant and not np.isfinite(self.ticks):
            raise InputError("inputs that change with time need a run of stated length: run(seconds=...)")
        if not constant and count > LONGEST_TABLE:
            raise InputError(f"inputs that change with time fill {count} rows, more than {LONGEST_TABLE}; run shorter")
        return feed_network(self.network, drives, net.periods, 0, 1 if constant else count)

    def _quiet(self) -> None:
        """No records but the ring: parts, junctions and the total keep none."""
        for part in self.network.parts.values():
            self.memory[part.module.WAIT] = inf
        for link in self.network.links.values():
            self.memory[link.number("LINK_WAIT")] = inf
        self.memory[self.module.TOTAL_WAIT] = inf
        self.network.refresh()

    def go(self, record: str | PathLike | None) -> LoopReport:
        real, stolen = self.loop.clock == "real", stolen_seconds()
        pumps = [Pump(seat.device, self.box, int(self.memory[self.number(seat, "BOX")])) for seat in self._boxed()]
        try:
            for seat in self.loop.places:
                if seat.device.info.gives_force:
                    seat.device.enable_forces()
            for pump in pumps:
                pump.start()
            self._compiled()
            thread = threading.Thread(target=self._thread, args=(real,), name="passivo loop")
            thread.start()
            self._attend(thread)
        finally:
            for pump in pumps:
                pump.finish()
            for seat in self.loop.places:
                seat.device.stop("the loop ended")
        if self.failure is not None:
            raise self.failure
        return self._report(stolen_seconds() - stolen)

    def _boxed(self) -> list[Seat]:
        return [seat for seat in self.loop.places if seat.driver.boxed]

    def _compiled(self) -> None:
        """Compile before the clock starts: the same calls on copies, with no tick to do."""
        book = self.book.copy()
        book[[K.B_LIMIT, K.B_REAL, K.B_STOP]] = [0.0, 0.0, 1.0]
        ring, memory, box = Ring(self.ring.width, 2), self.memory.copy(), self.box.copy()
        for seat in self.loop.places:
            link = self.network.links[seat.connection.name]
            memory[link.number("MODE")] = G.LATCHED
        tail = (ring.data, ring.marks, self.row.copy(), self.spec)
        self.module.first(memory, box, self.tape, self.table, self.out, book, *tail)
        self.module.live(memory, box, self.tape, self.table, self.out, book, self.loop.lates, self.bins.copy(), *tail)

    def _thread(self, real: bool) -> None:
        try:
            if real:
                with on_time(self.setup):
                    self._live()
            else:
                self._live()
        except BaseException as error:
            self.failure = error
        finally:
            self.over.set()

    def _live(self) -> None:
        tail = (self.ring.data, self.ring.marks, self.row, self.spec)
        shared = (self.memory, self.box, self.tape, self.table, self.out, self.book)
        if not self.module.first(*shared, *tail):
            raise DeviceError(f"the first reading could not be used: {self._bad_start()}")
        self.module.live(*shared, self.loop.lates, self.bins, *tail)

    def _bad_start(self) -> str:
        for seat in self.loop.places:
            read = self.number(seat, "READ")
            if self.memory[getattr(self.module, self.network.plan.links[seat.connection.name] + "GONE")]:
                return f"{seat.part} reported {self.memory[read + 10 : read + 10 + seat.axes].tolist()}"
        return "a device says that it is unplugged"

    def _attend(self, thread: threading.Thread) -> None:
        """Wait for the end; Ctrl-C asks for it. Not by `join`: interrupted, Python 3.11 takes the thread for ended."""
        while True:
            try:
                if self.over.wait(0.1):
                    break
            except KeyboardInterrupt:
                self.loop.stop()
        thread.join()

    # -- the end ----------------------------------------------------------------------------------------------------

    def _report(self, stolen: float) -> LoopReport:
        loop, book = self.loop, self.book
        ticks = int(book[K.B_TICKS])
        stopped = self._why()
        rows = self.ring.take()
        names, at, spans = loop.columns, 0, {}
        for name, (width, _) in names.items():
            spans[name] = slice(at, at + width)
            at += width
        verdict = Verdict("none", reason=stopped) if book[K.B_FAILED] else self.network.verdict
        self.network.module.refresh(self.memory)
        module, rows_of = self.module, self.network.rows
        report = self.memory[module.TOTAL_REPORT + 1 : module.TOTAL_REPORT + module.TOTAL_REPORT_SIZE]
        ledger = ledger_dataset(
            report.reshape(1, len(rows_of), -1), [*rows_of[:-1]], np.array([book[K.B_NOW] - book[K.B_BEGAN]])
        )
        return LoopReport(
            ticks=ticks,
            seconds=float(book[K.B_NOW] - book[K.B_BEGAN]),
            period=loop.period,
            lateness=Lateness(self.bins, float(book[K.B_LATEST])),
            missed=int(book[K.B_MISSED]),
            stolen=stolen,
            busy=float(book[K.B_BUSY]) / max(ticks, 1),
            busiest=float(book[K.B_BUSIEST]),
            interventions={seat.part: self._interventions(seat) for seat in loop.places},
            verdict=verdict,
            ports={seat.part: self.network.verdict.parts[seat.connection.name] for seat in loop.places},
            ledger=ledger.isel(time=0),
            positions={seat.part: rows[:, spans[f"{seat.part}.position"]] for seat in loop.places},
            forces={seat.part: rows[:, spans[f"{seat.part}.force"]] for seat in loop.places},
            stopped=stopped,
            setup=tuple(self.setup),
            safety=loop.safety,
            network=self.network,
            rows={name: rows[:, span] for name, span in spans.items()},
        )

    def _why(self) -> str:
        """Why the loop ended before its time, by device."""
        found = []
        for seat in self.loop.places:
            reason = int(self.memory[self.network.links[seat.connection.name].number("REASON")])
            early = reason not in (G.ALL_WELL, G.TOLD_TO_STOP)
            if early or (self.book[K.B_STOP] and reason == G.TOLD_TO_STOP):
                found.append(f"{seat.part}: {REASONS[reason]}")
        if self.book[K.B_FAILED]:
            found.append(str(self.network.failure()))
        return "; ".join(found)

    def _interventions(self, seat: Seat) -> dict[str, int]:
        link = self.network.links[seat.connection.name]
        counts, clamp = link.section("COUNTS"), link.section("CLAMP")
        refused = {
            name: self.memory[self.number(seat, f"REFUSED_{name}")] for name in ("OLD", "TIME", "VALUE", "PLACE")
        }
        found = {
            "reading is old": refused["OLD"],
            "clock went backwards": refused["TIME"],
            "reading is no number": refused["VALUE"],
            "reading cannot be": refused["PLACE"],
            "force is no number": counts[G.COUNT_BAD],
            "slew limit": counts[G.COUNT_SLEWED],
            "force limit": counts[G.COUNT_LIMITED],
            "start ramp": counts[G.COUNT_RAMPED],
            "ledger clamp": clamp[CLAMP_LIMITED],
            "damping of the clamp": clamp[CLAMP_DAMPED],
            "watchdog": clamp[CLAMP_CUT],
            "held too long": clamp[CLAMP_OVERLONG],
            "force dropped, no reading": counts[G.COUNT_RELEASED],
            "clamp refused": clamp[CLAMP_REFUSED],
        }
        if int(link.section("REASON")[0]) != G.TOLD_TO_STOP:  # the end of every run is damped
            found |= {"damped": counts[G.COUNT_DAMPED], "off": counts[G.COUNT_LATCHED]}
        return {name: int(count) for name, count in found.items()}
