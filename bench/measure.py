"""Minimum of repeats, ratios within one run, and the table they go into."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_UNITS = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))}


@dataclass
class Row:
    """One line of the table. A target is on the ratio where there is a rival, else on Passivo itself."""

    what: str
    passivo: float | None
    rival: float | None = None
    unit: str = "s"
    target: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.passivo / self.rival if self.passivo is not None and self.rival else None

    @property
    def met(self) -> bool | None:
        value = self.ratio if self.rival is not None else self.passivo
        return None if self.target is None or value is None else value <= self.target

    def cells(self) -> list[str]:
        target = (
            "" if self.target is None else f"≤ {self.target:g}" if self.rival else f"≤ {show(self.target, self.unit)}"
        )
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        met = {True: "yes", False: "MISSED", None: ""}[self.met]
        return [
            self.what,
            show(self.passivo, self.unit),
            show(self.rival, self.unit),
            ratio,
            target,
            met,
            self.note,
        ]

    def data(self) -> dict:
        return {**vars(self), "ratio": self.ratio, "met": self.met}


def show(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    for size, name in _UNITS.get(unit, ()):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value:.4g} {unit}"


def fastest(*tasks: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Seconds of each task, the least of all repeats; tasks take turns: a busy machine hits them alike.

    Where all work is done by this thread, `clock=time.thread_time` leaves out what others take of the processor.
    """
    best = [float("inf")] * len(tasks)
    for _ in range(repeats):
        for i, task in enumerate(tasks):
            begin = clock()
            task()
            best[i] = min(best[i], clock() - begin)
    return best
