"""`Loop`: a network against the clock, one compiled function on its own thread; Python only starts and ends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from passivo.errors import InputError, nearest
from passivo.loop import kernels as K
from passivo.loop.generate import columns, live_of, may_step_beside, seats
from passivo.loop.report import LoopReport
from passivo.loop.safety import Safety
from passivo.loop.session import Session
from passivo.method.generate import Engine
from passivo.network.compiled import CompiledNetwork, compile_network
from passivo.network.network import Network
from passivo.record.columns import Columns

Clock = Literal["real", "simulated"]


class Loop:
    """Runs a network with devices in real time.

        report = pv.Loop(net).run(seconds=10)

    safety  limits and ramps; see `Safety`
    start   states to begin with, by "part.name"
    inputs  what drives free ports and signals, by "part.name": numbers, or functions of t and arrays for a run of
            stated length
    clock   "real", or "simulated": no waiting, the same ticks with the same numbers every time
    lates   with the simulated clock: seconds by which ticks come late, in turn
    beside  slow parts that are stepped on threads of their own, between their ticks, by name (default: those whose
            step takes more than a quarter of a tick). Such a part gets the true length of its periods one period late,
            and where it is not ready in time its period is prolonged; the device's ticks never wait for it
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
        beside: Sequence[str] | None = None,
        engine: Engine = "numba",
    ):
        if not isinstance(net, Network):
            raise InputError(f"a loop runs a pv.Network, not {net!r}")
        if safety is not None and not isinstance(safety, Safety):
            raise InputError(f"safety is a pv.Safety(...), not {safety!r}")
        for what, given in (("start", start), ("inputs", inputs)):
            if given is not None and not isinstance(given, Mapping):
                raise InputError(f"{what} is given by name, as in {{'part.name': 0.2}}, not {given!r}")
        if clock not in get_args(Clock):
            raise InputError(f"the clock is 'real' or 'simulated', not {clock!r}")
        self.safety, self.clock, self.engine = safety or Safety(), clock, engine
        self.start, self.inputs = dict(start or {}), dict(inputs or {})
        try:
            self.lates = np.array(lates, dtype=float, ndmin=1)
        except (TypeError, ValueError):
            self.lates = np.zeros(0)
        if self.lates.ndim != 1 or not len(self.lates) or not ((self.lates >= 0.0) & (self.lates < inf)).all():
            raise InputError(f"lates are seconds >= 0, at least one, not {lates!r}")
        places = seats(net)
        if not places:
            raise InputError(
                "the network has no device: connect one, as in net.connect(device['handle'], wall['end'], "
                "through=pv.LedgerClamp()); without a device use pv.simulate"
            )
        guards = {seat.connection.name: self.safety.guard(seat.device, seat.connection) for seat in places}
        self.plain, self.net = net, net.rebuilt(through=guards)
        self.places = seats(self.net)
        self.net.check()
        if clock == "simulated" and any(seat.driver.boxed for seat in self.places):
            raise InputError("only simulated devices keep simulated time; say clock='real'")
        self.network: CompiledNetwork = compile_network(
            self.net, self.start, engine=engine, live=live_of(self.net, self.places)
        )
        self.module = self.network.module
        self.book = np.zeros(K.B_SIZE)
        self.row = np.zeros(0)  # the last tick, as `columns` says; the loop writes it while it is read
        self.may_step_beside = may_step_beside(self.net)
        if beside is not None and (isinstance(beside, str) or not isinstance(beside, Sequence)):
            raise InputError(f"beside names parts, as in ['object'], not {beside!r}")
        self.beside = beside if beside is None else tuple(beside)
        self.running = False
        for name in self.beside or ():
            if name not in self.may_step_beside:
                raise InputError(
                    f"{name!r} cannot step beside the loop; {nearest(name, self.may_step_beside)} (parts with a longer "
                    "step than the loop's, that step at the end of their period: PassiveSampleHold(order='published'))"
                )

    @property
    def period(self) -> float:
        """Seconds between two ticks."""
        return float(self.net.tick)

    @property
    def columns(self) -> Columns:
        """What a row of the record holds."""
        return columns(self.places, self.network.rows)

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
        if self.running:
            raise InputError("this loop is running already; make another one, with devices of its own")
        self.running = True
        try:
            return Session(self, ticks, inf if seconds is None else float(seconds)).go(record)
        finally:
            self.running = False
