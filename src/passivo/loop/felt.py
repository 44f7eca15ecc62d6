"""`Felt`: what a hand felt in a loop, over time and in a few numbers."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from passivo.loop.report import LoopReport
from passivo.network.guard import RUNNING


class Felt:
    """One axis of one device in a `report`, over its rows, and a summary of their second half. SI units.

    Rows in which safety damped the handle, as at the end of every run, count in no mean.

    name    of the device
    axis    which of the device's axes
    offset  what is added to its positions
    """

    surface: float | None = None  # where a wall begins, if one is known
    caption = "recorded"

    def __init__(self, report: LoopReport, name: str, axis: int = 0, offset: float = 0.0):
        self.report, self.name, self.axis, self.offset = report, name, axis, offset

    @cached_property
    def time(self) -> np.ndarray:
        time = self.report.rows["time"][:, 0]
        return time - time[0]

    @cached_property
    def position(self) -> np.ndarray:
        """Of the handle along the axis."""
        return self.report.rows[f"{self.name}.position"][:, self.axis] + self.offset

    @cached_property
    def force(self) -> np.ndarray:
        """What the handle felt, of each tick until the next."""
        return self.report.rows[f"{self.name}.force"][:, 0]

    @cached_property
    def energy(self) -> np.ndarray:
        """Joules that the port had absorbed from the device."""
        return -self.report.rows[f"ledger.{self.name}.work"][:, 0]

    @cached_property
    def heard(self) -> np.ndarray:
        """The rows in which the program was heard."""
        return np.flatnonzero(self.report.rows[f"{self.name}.mode"][:, 0] == RUNNING)

    @property
    def late_half(self) -> np.ndarray:
        """The rows that the summary takes: the second half of those in which the program was heard."""
        return self.heard[len(self.heard) // 2 :]

    @property
    def ended(self) -> int:
        """The first row of the end, in which safety damped the handle and then let go, as after every run."""
        return int(self.heard[-1]) + 1 if len(self.heard) else len(self.time)

    def mean(self, values: np.ndarray) -> float:
        return float(values[self.late_half].mean()) if len(self.late_half) else float("nan")

    @property
    def lines(self) -> list[str]:
        """The summary in sentences."""
        late = self.late_half
        if not len(late):
            return ["Nothing was felt: safety never let the program be heard."]
        span = f"Second half ({self.time[late[0]]:.1f} to {self.time[late[-1]]:.1f} s)"
        place, force = 1e3 * self.mean(self.position), self.mean(self.force)
        return [f"{span}: mean position {place:.3g} mm, mean force {force:.3g} N."]

    def data(self) -> dict[str, Any]:
        """The summary as plain data, SI units."""
        late = self.late_half
        return {
            "span": [float(self.time[i]) for i in (late[0], late[-1])] if len(late) else [],
            "mean_position": self.mean(self.position),
            "mean_force": self.mean(self.force),
            "largest_force": float(np.abs(self.force).max(initial=0.0)),
            "port_energy": float(self.energy[-1]) if len(self.energy) else 0.0,
            "least_port_energy": float(self.energy.min(initial=0.0)) + 0.0,
        }

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Draw it; see `loop/picture.py`."""
        from passivo.loop.picture import plot_felt

        return plot_felt(self, path)

    def __str__(self) -> str:
        return "\n".join([*self.lines, str(self.report)])
