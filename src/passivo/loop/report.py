"""`LoopReport`: what happened in a loop, as numbers and as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.ledger.verdict import Verdict
from passivo.loop import kernels as K

if TYPE_CHECKING:
    import xarray as xr

    from passivo.loop.safety import Safety


@dataclass(frozen=True)
class Lateness:
    """How late ticks began, in seconds; from a histogram with steps of 5 %."""

    counts: np.ndarray
    largest: float

    @property
    def edges(self) -> np.ndarray:
        """The upper end of each bin."""
        return K.BIN_LEAST * K.BIN_STEP ** np.arange(1, len(self.counts) + 1)

    def quantile(self, share: float) -> float:
        """The lateness that `share` of all ticks did not exceed."""
        total = int(self.counts.sum())
        if not total:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), share * total))
        return float(min(self.edges[min(place, len(self.counts) - 1)], self.largest))

    @property
    def p50(self) -> float:
        return self.quantile(0.5)

    @property
    def p99(self) -> float:
        return self.quantile(0.99)

    @property
    def p999(self) -> float:
        return self.quantile(0.999)

    def __str__(self) -> str:
        names = {"p50": self.p50, "p99": self.p99, "p99.9": self.p999, "max": self.largest}
        return ", ".join(f"{name} {1e6 * value:.0f} µs" for name, value in names.items())


@dataclass(frozen=True)
class LoopReport:
    """The end of a loop: `print(report)` tells it in sentences.

    ticks          executed
    seconds        from the first to the last
    lateness       how late they began
    missed         deadlines that went by without a tick
    stolen         CPU seconds that the machine's host took from it in that time, all cores together; NaN if not known
    busy           seconds of computing per tick, and `busiest` the most; NaN where that was not measured
    interventions  device -> kind -> how often safety stepped in
    verdict        of the whole network
    ports          device -> verdict on its port
    ledger         cumulative joules by row at the end: (part, column)
    stopped        why it ended early; empty if it did not
    setup          sentences about the clock and the scheduler
    rows           the last ticks, at most 65536: (ticks, width) by column, see `Loop.columns`
    """

    ticks: int
    seconds: float
    period: float
    lateness: Lateness
    missed: int
    stolen: float
    busy: float
    busiest: float
    interventions: Mapping[str, Mapping[str, int]]
    verdict: Verdict
    ports: Mapping[str, Verdict]
    ledger: xr.Dataset
    stopped: str
    setup: tuple[str, ...]
    safety: Safety
    rows: Mapping[str, np.ndarray] = field(repr=False)
    recording: str = ""
    network: Any = field(default=None, repr=False)

    @property
    def passive(self) -> bool:
        """Whether no device got more energy than its ledger allows."""
        return all(port.passive for port in self.ports.values())

    @property
    def leading(self) -> Verdict:
        """The verdict that leads: that on the device's port, of several the first that is not passive."""
        if self.verdict.kind == "none":
            return self.verdict
        ports = list(self.ports.values())
        return next((port for port in ports if not port.passive), ports[0])

    def __str__(self) -> str:
        lines = [f"{self.ticks} ticks of {self.period:g} s in {self.seconds:.3f} s, {self.missed} deadlines missed."]
        lines.append(f"Lateness: {self.lateness}.")
        if isfinite(self.busy):
            lines.append(f"Computing: {1e6 * self.busy:.1f} µs per tick, at most {1e6 * self.busiest:.1f} µs.")
        if self.stolen > 0.0:
            lines.append(f"The host of this machine took {self.stolen:.2f} s of CPU time meanwhile.")
        for device, kinds in self.interventions.items():
            told = ", ".join(f"{kind} {count}" for kind, count in kinds.items() if count)
            lines.append(f"Safety at {device}: {told or 'never stepped in'}.")
        if not self.safety.clamp:
            lines.append("The energy ledger clamp was switched off by safety=Safety(clamp=False).")
        if self.stopped:
            lines.append(f"Stopped early: {self.stopped}.")
        for device, verdict in self.ports.items():
            lines.append(f"Port of {device}: {verdict}")
        lines.append(f"Whole network: {self.verdict}")
        lines += [*self.setup, *([self.recording] if self.recording else [])]
        return "\n".join(lines)
