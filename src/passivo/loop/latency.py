"""`latency`: how late the ticks of a compiled loop begin on this machine, idle or with every core busy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from os import PathLike
from typing import Any

import numpy as np

from passivo.device.sim import Sim
from passivo.errors import InputError
from passivo.loop.loop import Clock, Loop
from passivo.loop.report import LoopReport
from passivo.method.generate import Engine
from passivo.model import library
from passivo.network.ledger_clamp import LedgerClamp
from passivo.network.network import Network
from passivo.run import operators

FASTEST = 50_000.0  # Hz
# ends by itself where its parent is gone, however that ended
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**5):\n        pass"
EDGES = tuple(f * 10.0**k for k in range(-6, 1) for f in (1, 2, 5))  # s, of the bars that are shown


@dataclass(frozen=True)
class Latency:
    """What was measured: `report` of a loop at `rate` Hz, beside `busy` processes."""

    rate: float
    busy: int
    report: LoopReport

    @property
    def bars(self) -> list[tuple[float, float, int]]:
        """(from, to, ticks): lateness in bins of 1, 2, 5 times a power of ten, without empty ones at both ends."""
        late = self.report.lateness
        middle = late.edges / np.sqrt(late.edges[1] / late.edges[0])
        if len(used := np.flatnonzero(late.counts)):
            middle[used[-1]] = late.largest
        place = np.searchsorted(EDGES, middle)
        counts = [int(late.counts[place == k].sum()) for k in range(len(EDGES) + 1)]
        filled = [k for k, count in enumerate(counts) if count] or [0]
        ends = (0.0, *EDGES, float("inf"))
        return [(ends[k], ends[k + 1], counts[k]) for k in range(filled[0], filled[-1] + 1)]

    def data(self) -> dict[str, Any]:
        """Plain data, SI units."""
        report, late = self.report, self.report.lateness
        return {
            "rate": self.rate,
            "busy_processes": self.busy,
            "seconds": report.seconds,
            "ticks": report.ticks,
            "lateness": {"p50": late.p50, "p99": late.p99, "p99.9": late.p999, "max": late.largest},
            "missed": report.missed,
            "computing": {"mean": report.busy, "max": report.busiest},
            "stolen": report.stolen,
            "histogram": [list(bar) for bar in self.bars],
            "setup": list(report.setup),
            "stopped": report.stopped,
        }

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Draw the histogram; see `loop/picture.py`."""
        from passivo.loop.picture import plot_latency

        return plot_latency(self, path)


def latency(
    rate: float = 1000.0,
    seconds: float = 30.0,
    load: bool = False,
    *,
    watch: Callable[[Loop], AbstractContextManager] | None = None,
    clock: Clock = "real",
    engine: Engine = "numba",
) -> Latency:
    """Run a loop with a simulated device before a wall and tell how late its ticks were.

    rate     ticks per second
    load     beside one busy process for each core
    watch    a context around the run, such as a progress bar: called with the loop
    """
    if not isinstance(rate, int | float) or not 1.0 <= rate <= FASTEST:
        raise InputError(f"the rate is a number of ticks per second from 1 to {FASTEST:g}, not {rate!r}")
    if not isinstance(seconds, int | float) or not 0.0 < seconds < inf:
        raise InputError(f"seconds must be a positive number, not {seconds!r}")
    net = Network()
    wall = net.add("wall", library.wall(k=1e3), step=Fraction(1) / Fraction(repr(float(rate))))  # type: ignore[arg-type]
    with Sim(rate=rate, operator=operators.push(1.0), start=-5e-3, engine=engine) as device:
        net.connect(device["handle"], wall["end"], LedgerClamp(), "touch")
        net.observe(device["position"], wall["depth"])
        loop = Loop(net, clock=clock, engine=engine)
        count = cores() if load else 0
        with busy(count), nullcontext() if watch is None else watch(loop):
            report = loop.run(seconds)
    return Latency(float(rate), count, report)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def busy(count: int) -> Iterator[list[subprocess.Popen]]:
    """A context with so many processes that do nothing but compute; they end with it, whatever happens."""
    running: list[subprocess.Popen] = []
    try:
        for _ in range(count):  # a session of their own: Ctrl-C is for us
            running.append(subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True))
        yield running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()
