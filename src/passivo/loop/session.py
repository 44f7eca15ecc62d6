"""`Session`: one run of a loop: its memory, its threads, and what is left of them at the end."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import inf, isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.device.boxed import box_size
from passivo.errors import DeviceError, InputError
from passivo.ledger.verdict import Verdict
from passivo.loop import kernels as K
from passivo.loop.generate import Seat
from passivo.loop.machine import on_time, stolen_seconds
from passivo.loop.pump import Pump
from passivo.loop.report import Lateness, LoopReport
from passivo.network import guard as G
from passivo.network.clamp import CLAMP_CUT, CLAMP_DAMPED, CLAMP_LIMITED, CLAMP_OVERLONG, CLAMP_REFUSED
from passivo.network.compiled import split
from passivo.record.recorder import Recorder
from passivo.record.ring import Ring
from passivo.run.inputs import network_inputs
from passivo.run.network_run import feed_network
from passivo.run.run import ledger_dataset

if TYPE_CHECKING:
    from passivo.loop.loop import Loop

SPIN = 60e-6  # seconds before a deadline in which the clock is watched instead of slept
WAITING = 1 << 16  # rows that find a place while nobody takes them
KEPT = 1 << 16  # rows that a report shows: the last ones
LONGEST_TABLE = 10**7  # numbers of inputs that change with time
RELIVED = 1 << 10  # rows between two signs of progress
COARSE = 0.1  # of T² hand/mass: the step of an encoder beyond which a handle sinks (0.01 is fine, spec 1.7)
GLANCE = 0.05  # seconds between two looks at a running loop
SLOW_SHARE = 0.25  # of a tick: a slow part whose step takes longer is stepped beside the loop
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


class Keeper:
    """The last rows of all that came."""

    def __init__(self) -> None:
        self.blocks: deque[np.ndarray] = deque()
        self.count = 0

    def add(self, rows: np.ndarray) -> None:
        if len(rows):
            self.blocks.append(rows)
            self.count += len(rows)
        while self.count - len(self.blocks[0]) >= KEPT if self.blocks else False:
            self.count -= len(self.blocks.popleft())

    def rows(self, width: int) -> np.ndarray:
        return np.concatenate([np.zeros((0, width)), *self.blocks])[-KEPT:]


def coarse(seat: Seat) -> list[str]:
    """A sentence where positions are too coarse for the rate: the clamp counts every step of the encoder at worst."""
    through: Any = seat.connection.through
    if not through.clamps or isinstance(through.mass, tuple) or isinstance(through.hand, tuple):
        return []
    period = float(seat.connection.flow.member.step)
    fine, step = COARSE * period**2 * through.hand / through.mass, max(through.resolutions())
    if step <= fine:
        return []
    return [
        f"{seat.part} measures in steps of {step:.1g} m, too coarse for {1.0 / period:g} Hz and {through.mass:g} kg: "
        "the clamp will let it sink into stiff walls. Lower the rate."
    ]


class Session:
    """One run of a loop for so many ticks."""

    def __init__(self, loop: Loop, ticks: float, seconds: float):
        self.loop, self.ticks, self.seconds = loop, ticks, seconds
        self.network = loop.network.copy()
        self.memory, self.module = self.network.memory, self.network.module
        self.book, self.setup = loop.book, [sentence for seat in loop.places for sentence in coarse(seat)]
        self.book[:] = 0.0
        told = {
            K.B_PERIOD: loop.period, K.B_LENGTH: (ticks - 0.5) * loop.period, K.B_REAL: loop.clock == "real",
            K.B_SPIN: SPIN, K.B_PATIENCE: loop.safety.patience / 2.0,
        }  # fmt: skip
        for place, value in told.items():
            self.book[place] = value
        self.bins = np.zeros(K.BIN_COUNT, dtype=np.int64)
        self.ring, self.keeper = Ring(self.module.ROW_WIDTH, WAITING), Keeper()
        loop.row = self.row = np.zeros(self.module.ROW_WIDTH)
        self.spec, self.out = np.zeros(2, dtype=np.int64), np.zeros(1)
        self.box = np.zeros(1 + sum(box_size(seat.axes) for seat in loop.places))
        self.orders = np.zeros(1 + 2 * len(loop.may_step_beside))
        self.tape, self.table = self._tape(), self._table()
        self.network.refresh()
        self.module.arrange_all(self.memory)
        if isfinite(ticks):
            self.network.half_at(int(ticks) // 2)
        self.aside = self.memory.copy()  # where parts are stepped beside the loop
        self.failure: BaseException | None = None
        self.failures: dict[str, str] = {}  # of drivers in Python, in their own words
        self.ready, self.begin, self.served = threading.Event(), threading.Event(), False
        self.over = threading.Event()

    def number(self, seat: Seat, name: str) -> int:
        return getattr(self.module, seat.prefix + name)

    # -- before -----------------------------------------------------------------------------------------------------

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
        count = int(self.ticks) + 1 if isfinite(self.ticks) else 1
        steps = {key: -(-count // period) for key, period in net.periods.items()}
        drives = network_inputs(net, given, steps)
        if any(drive.laws or drive.sampled for drive in drives.values()):
            raise InputError("a loop takes numbers, arrays and functions of t as inputs; put a law into a part")
        constant = all(drive.constant for drive in drives.values())
        if not constant and not isfinite(self.ticks):
            raise InputError("inputs that change with time need a run of stated length: run(seconds=...)")
        if not constant and count > LONGEST_TABLE:
            raise InputError(f"inputs that change with time fill {count} rows, more than {LONGEST_TABLE}; run shorter")
        self.drives = drives
        return feed_network(self.network, drives, net.periods, 0, 1 if constant else count)

    def _compile(self) -> None:
        """Compile before the clock starts: the same call on copies, with no tick to do."""
        book = self.book.copy()
        book[[K.B_LENGTH, K.B_REAL, K.B_STOP]] = [0.0, 0.0, 1.0]
        ring, memory = Ring(self.ring.width, 2), self.memory.copy()
        for seat in self.loop.places:
            link = self.network.links[seat.connection.name]
            memory[[link.number("MODE"), link.number("REASON")]] = G.LATCHED, G.TOLD_TO_STOP
        shared = (memory, self.aside.copy(), self.box.copy(), self.tape, self.table, self.out, book)
        last = (self.bins.copy(), ring.data, ring.marks, self.row.copy(), self.spec)
        with np.errstate(all="ignore"):
            self.module.live(*shared, self.orders.copy(), self.loop.lates, *last)

    def _set_aside(self) -> list[int]:
        """The slow parts that are stepped beside the loop: those that were named, else those that take too long."""
        loop, chosen = self.loop, []
        if loop.clock == "simulated" and not loop.beside:
            return []
        for i, key in enumerate(loop.may_step_beside):
            view = self.network.parts[key].module
            self.memory[view.BESIDE_STEP] = self.memory[view.NOMINAL]
            spent = self._time_of_a_step(i)
            if key in loop.beside if loop.beside is not None else spent > SLOW_SHARE * loop.period:
                self.memory[view.BESIDE] = 1.0
                chosen.append(i)
                self.setup.append(
                    f"{key} steps on a thread of its own beside the loop: a step takes {1e3 * spent:.3g} ms, a tick "
                    f"{1e3 * loop.period:g} ms."
                )
        return chosen

    def _time_of_a_step(self, i: int) -> float:
        times = []
        for _ in range(3):
            scratch = self.memory.copy()
            begun = time.perf_counter()
            self.module.toil_one(scratch, i)
            times.append(time.perf_counter() - begun)
        return min(times)

    # -- running ----------------------------------------------------------------------------------------------------

    def go(self, record: str | PathLike | None) -> LoopReport:
        loop, stolen, recorder = self.loop, stolen_seconds(), None
        for seat in loop.places:
            seat.device.must_be_free()
        pumps = {seat.part: self._pump(seat) for seat in loop.places if seat.driver.boxed}
        with ExitStack() as stack:
            beside = self._set_aside()
            self._compile()
            if record is not None:
                recorder = Recorder(record, loop.columns, self.header(), self.ring, watch=self.keeper.add)
                stack.enter_context(recorder)
            for seat in loop.places:
                stack.callback(seat.device.stop, "the loop ended")
                if seat.device.info.gives_force:
                    seat.device.enable_forces()
            if loop.clock == "real":
                self._helpers(beside, stack)
            thread = threading.Thread(target=self._thread, name="passivo loop")
            thread.start()
            stack.callback(self._leave)
            self.ready.wait()
            for part, pump in pumps.items():  # only now, so that the first readings are fresh
                stack.callback(self._finish, part, pump)
                pump.greet()
            for pump in pumps.values():
                pump.start()
            self.served = True
            self.begin.set()
            self._attend(thread, None if recorder else self.keeper)
        if self.failure is not None:
            raise self.failure
        if recorder is None:
            self.keeper.add(self.ring.take())
        return self._report(stolen_seconds() - stolen, "" if recorder is None else recorder.sentence)

    def _pump(self, seat: Seat) -> Pump:
        guard: Any = seat.connection.through
        return Pump(seat.device, self.box, int(self.memory[self.number(seat, "BOX")]), guard)

    def _leave(self) -> None:
        """Whatever happened here, the loop's thread does not stay behind."""
        if not self.over.is_set():
            self.loop.stop()
        self.begin.set()
        self.over.wait()

    def _finish(self, part: str, pump: Pump) -> None:
        pump.finish()
        self.failures[part] = pump.failure

    def _helpers(self, beside: list[int], stack: ExitStack) -> None:
        """Threads for the parts that are stepped beside the loop."""
        threads: list[threading.Thread] = []

        def end() -> None:
            self.orders[0] = 1.0
            for thread in threads:
                thread.join()

        stack.callback(end)
        for i in beside:
            self.module.labour(self.aside, np.ones(1), i, self.spec)  # compiled; told that it is over
            work = lambda i=i: self.module.labour(self.aside, self.orders, i, np.zeros(2, dtype=np.int64))  # noqa: E731
            thread = threading.Thread(target=work, name=f"passivo {self.loop.may_step_beside[i]}", daemon=True)
            thread.start()
            threads.append(thread)

    def _thread(self) -> None:
        try:
            with ExitStack() as stack:
                stack.enter_context(np.errstate(all="ignore"))
                if self.loop.clock == "real":
                    stack.enter_context(on_time(self.setup))
                self._live()
        except BaseException as error:
            self.failure = error
        finally:
            self.ready.set()
            self.over.set()

    def _live(self) -> None:
        self.ready.set()
        self.begin.wait()
        if not self.served:
            return
        shared = (self.memory, self.aside, self.box, self.tape, self.table, self.out, self.book, self.orders)
        last = (self.bins, self.ring.data, self.ring.marks, self.row, self.spec)
        if not self.module.live(*shared, self.loop.lates, *last):
            raise DeviceError(f"the first reading could not be used: {self._bad_start()}")

    def _bad_start(self) -> str:
        for seat in self.loop.places:
            read = self.number(seat, "READ")
            if self.memory[getattr(self.module, self.network.plan.links[seat.connection.name] + "GONE")]:
                return f"{seat.part} reported {self.memory[read + 10 : read + 10 + seat.axes].tolist()}"
        return "a device says that it is unplugged"

    def _attend(self, thread: threading.Thread, keeper: Keeper | None) -> None:
        """Wait for the end, and keep the last rows where no recorder does; Ctrl-C asks for the end.

        Not by `join`: interrupted, Python 3.11 takes the thread for ended.
        """
        over = False
        while not over:
            try:
                over = self.over.wait(GLANCE)
                if keeper is not None:
                    keeper.add(self.ring.take())
            except KeyboardInterrupt:
                self.loop.stop()
        thread.join()

    def relived(
        self, rows: np.ndarray, beside: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> tuple[LoopReport, np.ndarray]:
        """Recorded ticks once more, from their readings and true times: the report, and the rows they give now."""
        for key in beside:
            view = self.network.parts[key].module
            self.memory[[view.BESIDE, view.BESIDE_STEP]] = 1.0, self.memory[view.NOMINAL]
        again, book, rows = np.zeros_like(rows), self.book, np.ascontiguousarray(rows)
        column = lambda name: rows[:, self.loop.columns.place(name).start]  # noqa: E731
        for begin in range(0, len(rows), RELIVED):
            end = min(begin + RELIVED, len(rows))
            with np.errstate(all="ignore"):
                self.module.relive(self.memory, self.aside, self.table, self.out, rows, again, book, begin, end)
            if progress is not None:
                progress(end, len(rows))
        ticks, late, missed = len(rows) - 1, column("lateness"), column("missed")[-1]
        book[[K.B_TICKS, K.B_BEGAN, K.B_NOW]] = ticks, column("time")[0], column("time")[-1]
        book[[K.B_LATEST, K.B_MISSED, K.B_BUSY, K.B_BUSIEST]] = late.max(), missed, np.nan, np.nan
        book[K.B_FAILED] = self.memory[self.module.DEAD]
        for lateness in late[1:]:
            K.tally(self.bins, lateness)
        self.keeper.add(again)
        return self._report(np.nan, ""), again

    # -- the end ----------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What a recording says of the loop: everything that is needed to repeat it."""
        loop = self.loop
        return {
            "network": loop.plain.describe(),
            "start": {str(name): float(value) for name, value in loop.start.items()},
            "inputs": {key: drive.describe() for key, drive in self.drives.items()},
            "tables": {
                key: {name: values.tolist() for name, values in drive.tables().items()}
                for key, drive in self.drives.items()
            },
            "safety": loop.safety.describe(),
            "devices": {seat.part: seat.device.info.describe() for seat in loop.places},
            "axes": {seat.part: list(seat.device.axes) for seat in loop.places},
            "keeps": {seat.part: seat.device.keeps_force for seat in loop.places},
            "clamps": {seat.part: seat.device.clamp_options.describe() for seat in loop.places},
            "ticks": int(self.ticks) if isfinite(self.ticks) else None,
            "beside": [key for i, key in enumerate(loop.may_step_beside) if self._is_beside(key)],
            "clock": loop.clock,
        }

    def _is_beside(self, key: str) -> bool:
        return bool(self.memory[self.network.parts[key].module.BESIDE])

    def _report(self, stolen: float, recording: str) -> LoopReport:
        loop, book = self.loop, self.book
        ticks = int(book[K.B_TICKS])
        stopped = self._why()
        rows, places = self.keeper.rows(self.ring.width), loop.columns.places
        self.network.refresh()
        whole = self.network.verdict
        verdict = Verdict("none", reason=stopped) if book[K.B_FAILED] else whole
        names = self.network.rows
        seconds = float(book[K.B_NOW] - book[K.B_BEGAN])
        report = self.memory[self.module.TOTAL_REPORT + 1 : self.module.TOTAL_REPORT + self.module.TOTAL_REPORT_SIZE]
        ledger = ledger_dataset(report.reshape(1, len(names), -1), [*names[:-1]], np.array([seconds]))
        return LoopReport(
            ticks=ticks,
            seconds=seconds,
            period=loop.period,
            lateness=Lateness(self.bins, float(book[K.B_LATEST])),
            missed=int(book[K.B_MISSED]),
            stolen=stolen,
            busy=float(book[K.B_BUSY]) / max(ticks, 1),
            busiest=float(book[K.B_BUSIEST]),
            interventions={seat.part: self._interventions(seat) for seat in loop.places},
            verdict=verdict,
            ports={seat.part: self._port(seat, whole.parts[seat.connection.name]) for seat in loop.places},
            ledger=ledger.isel(time=0),
            rows={name: rows[:, place] for name, place in places.items()},
            stopped=stopped,
            setup=tuple(self.setup),
            safety=loop.safety,
            recording=recording,
            network=self.network,
        )

    def _port(self, seat: Seat, verdict: Verdict) -> Verdict:
        """The verdict on a device's port; there is none where the device was lost under a force nobody could end."""
        link = self.network.links[seat.connection.name]
        left = float(np.linalg.norm(link.section("HELD")))
        if not seat.device.keeps_force or left == 0.0:
            return verdict
        return Verdict(
            "none", reason=f"the device was lost under a force of {left:.3g} N, and what that did is not known"
        )

    def _why(self) -> str:
        """Why the loop ended before its time, by device."""
        found = []
        for seat in self.loop.places:
            reason = int(self.memory[self.network.links[seat.connection.name].number("REASON")])
            early = reason not in (G.ALL_WELL, G.TOLD_TO_STOP)
            if early or (self.book[K.B_STOP] and reason == G.TOLD_TO_STOP):
                words = self.failures.get(seat.part, "") if reason == G.UNPLUGGED else ""
                found.append(f"{seat.part}: {words or REASONS[reason]}")
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
