"""Reference problems with constraints: linkages of bars, their equations and constraints written out once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

EPSILON = 2.0**-52


@dataclass(frozen=True)
class Bars:
    """Point masses in a plane, joined by bars: `0 = |a − b|² − l²` each, states (r, p).

    masses  of the points
    bars    (a, b, length): a a point by its number, b another one or a fixed place (x, y)
    force   (r, v, u) -> force on all points
    """

    masses: Sequence[float]
    bars: Sequence[tuple[int, Any, float]]
    force: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    @property
    def weight(self) -> np.ndarray:
        """The mass of each coordinate."""
        return np.repeat(np.asarray(self.masses, dtype=float), 2)

    def _ends(self, values: np.ndarray, fixed: bool) -> list[np.ndarray]:
        """Difference of both ends of each bar, of places or (`fixed` ends at rest) of velocities."""
        points = values.reshape(-1, 2)
        other = lambda b: points[b] if isinstance(b, int) else np.array(b) if fixed else np.zeros(2)  # noqa: E731
        return [points[a] - other(b) for a, b, _ in self.bars]

    def gaps(self, r: np.ndarray) -> np.ndarray:
        return np.array([d @ d - length**2 for d, (_, _, length) in zip(self._ends(r, True), self.bars)])

    def slopes(self, r: np.ndarray) -> np.ndarray:
        """G = ∂g/∂r."""
        rows = np.zeros((len(self.bars), len(r)))
        for row, d, (a, b, _) in zip(rows, self._ends(r, True), self.bars):
            row[2 * a : 2 * a + 2] = 2 * d
            if isinstance(b, int):
                row[2 * b : 2 * b + 2] = -2 * d
        return rows

    def field(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """`r' = v`, `p' = F − G'λ` with `G M⁻¹ G'λ = Ġ v + G M⁻¹ F`."""
        r, p = np.split(np.asarray(x, dtype=float), 2)
        v, G = p / self.weight, self.slopes(r)
        F = self.force(r, v, u)
        turning = np.array([2 * d @ d for d in self._ends(v, False)])
        return np.concatenate([v, F - G.T @ np.linalg.solve(G / self.weight @ G.T, turning + G @ (F / self.weight))])

    def along(self, x: np.ndarray) -> np.ndarray:
        """The state without the share of its momenta across the bars, which no motion shows."""
        r, p = np.split(x, 2)
        G = self.slopes(r)
        across = np.linalg.solve(G / self.weight @ G.T, G @ (p / self.weight))
        return np.concatenate([r, p - G.T @ across])

    def slack(self, states: np.ndarray) -> tuple[float, float]:
        """The largest |g| and |G v| over all states, in units of the rounding of their terms."""
        half = len(self.weight)
        places, speeds = states[:, :half], states[:, half:] / self.weight
        slopes = [self.slopes(r) for r in places]
        g = max(np.abs(self.gaps(r) / (np.abs(G) @ np.abs(r))).max() for r, G in zip(places, slopes))
        f = max(np.abs(G @ v).max() for v, G in zip(speeds, slopes))
        scale = max((np.abs(G) @ np.abs(v)).max() for v, G in zip(speeds, slopes))
        return float(g / EPSILON), float(f / scale / EPSILON)


def double_pendulum(la: float = 0.6, lb: float = 0.3, ma: float = 0.2, mb: float = 0.6, g: float = 9.81) -> Bars:
    def force(r: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        (ax, ay), (dx, dy) = r[:2], r[2:] - r[:2]
        upper = (u[0] - u[1]) / la**2 * np.array([-ay, ax])  # a torque is a pair of forces at the ends of a bar
        lower = u[1] / lb**2 * np.array([-dy, dx])
        return np.concatenate([upper - lower, lower]) - g * np.array([0.0, ma, 0.0, mb])

    return Bars((ma, mb), ((0, (0.0, 0.0), la), (1, 0, lb)), force)


def double_pendulum_rates(x: np.ndarray) -> np.ndarray:
    """What its port gives: the rates of the upper angle and of that between the bars."""
    turn = lambda d, v: (d[0] * v[1] - d[1] * v[0]) / (d @ d)  # noqa: E731
    va, vb = x[4:6] / 0.2, x[6:8] / 0.6
    upper = turn(x[:2], va)
    return np.array([upper, turn(x[2:4] - x[:2], vb - va) - upper])


def chain(n: int = 3, length: float = 0.2, m: float = 0.1, g: float = 9.81) -> Bars:
    def force(r: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.tile([0.0, -m * g], n) + np.concatenate([np.zeros(2 * n - 2), u])

    bars = [(i, i - 1 if i else (0.0, 0.0), length) for i in range(n)]
    return Bars((m,) * n, bars, force)


def four_bar(m: float = 0.1, g: float = 9.81) -> Bars:
    def force(r: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.tile([0.0, -m * g], 2) + np.array([-r[1], r[0], 0.0, 0.0]) * u[0] / 0.1**2

    return Bars((m, m), ((0, (0.0, 0.0), 0.1), (1, 0, 0.5), (1, (0.4, 0.0), 0.4)), force)


def squeezer(b: float = 0.0, k: float = 500.0, rest: float = 0.7, m: float = 0.1) -> Bars:
    def force(r: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        apart = r[2:4] - r[4:6]
        length = np.sqrt(apart @ apart)
        pull = k * (length - rest) * apart / length
        crank = np.array([-r[1], r[0]]) * u[0] / 0.1**2
        return np.concatenate([crank, -pull, pull]) - b * np.concatenate([np.zeros(2), v[2:]])

    bars = [(0, (0.0, 0.0), 0.1)]
    for point, side in ((1, 0.4), (2, -0.4)):
        bars += [(point, 0, 0.5), (point, (side, 0.0), 0.4)]
    return Bars((m,) * 3, bars, force)
