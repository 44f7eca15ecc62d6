"""What there is to see of the beams of a world: bars of short straight pieces along the bent line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from passivo.world.shapes import Box, Shape, Sphere

if TYPE_CHECKING:
    from passivo.run.run import Run
    from passivo.world.beams import WorldBeam

PIECES = 24  # at most


class Bent:
    """One beam and its recorded motion."""

    def __init__(self, beam: WorldBeam, run: Run):
        columns = {name: i for i, name in enumerate(run.model.states)}
        self.beam, self.time = beam, run.time
        self.rows = run.arrays["states"][:, [columns[f"{beam.name}.{name}"] for name in beam.unit.coordinates]]
        self.places = np.linspace(0.0, beam.length, min(PIECES, max(8, 2 * beam.elements)) + 1)
        width, self.height = beam.section
        self.width = min(width, beam.length / 4)  # of a round or hollow section only its stiffness is known
        self.reach = 0.5 * float(np.hypot(self.width, self.height))

    def line(self, time: float) -> np.ndarray:
        """Points of the line between two rows."""
        late = int(np.clip(np.searchsorted(self.time, time), 1, max(len(self.time) - 1, 1)))
        early, late = late - 1, min(late, len(self.time) - 1)
        span = self.time[late] - self.time[early]
        share = float(np.clip((time - self.time[early]) / span, 0.0, 1.0)) if span > 0 else 0.0
        return self.beam.line((1.0 - share) * self.rows[early] + share * self.rows[late], self.places)

    def spread(self, rows: np.ndarray) -> np.ndarray:
        """All points of the line in these rows of the run."""
        return np.concatenate([self.beam.line(self.rows[row], self.places) for row in rows])

    def holds(self) -> Iterator[tuple[Shape, np.ndarray, np.ndarray]]:
        """What holds its ends: a block where it is clamped, a ball where it is pinned."""
        x, z = np.array(self.beam.along), np.array(self.beam.up)
        turn = np.column_stack([x, np.cross(z, x), z])
        for end, place, outwards in zip(self.beam.ends, (0.0, self.beam.length), (-x, x)):
            at, size = np.array(self.beam.position) + place * x, max(6.0 * self.height, 0.04 * self.beam.length)
            if end == "clamped":
                yield Box(0.5 * size, 1.5 * max(self.width, size), size), turn, at + 0.25 * size * outwards
            elif end == "pinned":
                yield Sphere(0.3 * size), turn, at

    def pieces(self, time: float) -> Iterator[tuple[Box, np.ndarray, np.ndarray]]:
        """A box for each piece, its axes and its place."""
        line, across = self.line(time), np.cross(self.beam.up, self.beam.along)
        for a, b in pairwise(line):
            way = b - a
            length = float(np.linalg.norm(way))
            x = way / length
            turn = np.column_stack([x, across, np.cross(x, across)])
            yield Box(length * 1.002, self.width, self.height), turn, 0.5 * (a + b)
