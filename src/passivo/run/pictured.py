"""What runs of every kind can be asked for as pictures. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any


class Pictured:
    """Base of runs: `plot` for all of them, `snapshots` and `film` where worlds move."""

    def plot(self, path: str | PathLike | None = None) -> Any:
        """States, ports, junctions and the ledger in one picture; written to `path` (png, pdf, svg), and returned."""
        from passivo.run.plot import plot

        return plot(self, path)  # type: ignore[arg-type]

    def snapshots(
        self,
        path: str | PathLike,
        times: Any = None,
        *,
        size: tuple[int, int] = (620, 430),
        view: tuple[float, float] | None = None,
        ledger: bool = True,
    ) -> None:
        """The worlds at some `times` (6 by default) side by side in one .png, each `size` pixels wide and high.

        `view` is the direction to the eye: azimuth and elevation in degrees. Beside them stands the `ledger`.
        """
        from passivo.run.film import snapshots

        snapshots(self, path, times, size, view, ledger)  # type: ignore[arg-type]

    def film(
        self,
        path: str | PathLike,
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        size: tuple[int, int] = (1280, 720),
        view: tuple[float, float] | None = None,
        ledger: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """The worlds in motion: a .gif, or an .mp4 (pip install passivo[video]). No screen is needed.

        At a `speed` of 0.1 it is slow motion. `view` is the direction to the eye: azimuth and elevation in degrees.
        Beside the scene stands the `ledger`. `progress` is told how many frames are done, and of how many.
        """
        from passivo.run.film import film

        film(self, path, fps, speed, size, view, ledger, progress)  # type: ignore[arg-type]
