"""Beams in a world: what bends, where it lies, and its points, on which everything else hangs."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.model.banded import Matrices, Row, digest
from passivo.model.beam import Beam
from passivo.model.system import number
from passivo.world import bonds
from passivo.world.parts import ORIGIN, Body
from passivo.world.rotation import checked_vector, matrix_of
from passivo.world.shapes import Quaternion, Shape, Vector

if TYPE_CHECKING:
    from passivo.world.world import World

BEAM_PARAMETERS = ("mass", "bending", "mass_damping", "stiffness_damping")
APART = 1e-6  # by how much the motions of points must differ, as a share of their size


@dataclass(frozen=True, eq=False)
class BeamPoint(Body):
    """A place of a beam: a body without a mass of its own, which moves and turns as the beam does there.

    Its axes: x along the beam, z the way that it bends.
    """

    beam: str = ""
    place: float = 0.0  # metres from the first node

    @property
    def massive(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class WorldBeam:
    """A beam of a world: `bar.node(20)` and `bar.at(0.3)` are points of it that springs, joints, ports and shapes can
    be given to. Mass (kg), bending stiffness E I (N m²) and dampings are parameters: "bar.mass", "bar.bending" ..."""

    name: str
    length: float
    elements: int
    ends: tuple[str, str]
    position: Vector  # of its first node
    along: Vector
    up: Vector
    section: tuple[float, float]  # width and height of a full rectangle that bends as it does, for pictures
    world: World

    # -- points -------------------------------------------------------------------------------------------------------

    def node(
        self,
        node: int,
        name: str | None = None,
        *,
        shape: Shape | Sequence[Shape] | None = None,
        friction: float = 0.0,
        restitution: float = 0.0,
    ) -> BeamPoint:
        """The point at a node; with a `shape` it touches other things. It is called "bar_20" unless named."""
        place = self.unit.place(node, None)
        return self._point(place, name, f"{self.name}_{node}", shape, friction, restitution)

    def at(
        self,
        place: float,
        name: str | None = None,
        *,
        shape: Shape | Sequence[Shape] | None = None,
        friction: float = 0.0,
        restitution: float = 0.0,
    ) -> BeamPoint:
        """The point `place` metres from the first node, as `node`."""
        metres = self.unit.place(None, place)
        usual = f"{self.name}_at_{metres:g}".replace(".", "_").replace("-", "_").replace("+", "")
        return self._point(metres, name, usual, shape, friction, restitution)

    def _point(
        self, place: float, name: str | None, usual: str, shape: Any, friction: float, restitution: float
    ) -> BeamPoint:
        from passivo.world.touching import shapes_of

        for known in self.points(self.world):
            if abs(known.place - place) <= 1e-9 * self.length:
                if shape is None and name in (None, known.name):
                    return known
                raise ModelError(
                    f"{self.name!r} has the point {known.name!r} at {place:g} m already; give its shape and its name "
                    "where it is first asked for"
                )
        name = self.world._new_name(name or usual)
        shapes = shapes_of(shape, name)
        surface = bonds.checked_surface(friction, restitution, name)
        x, y, z = (float(value) for value in np.array(self.position) + place * np.array(self.along))
        point = BeamPoint(name, (x, y, z), self.orientation, ORIGIN, ORIGIN, shapes, *surface, self.name, place)
        self.world.bodies[name] = point
        return point

    def within(self, world: World) -> WorldBeam:
        """The same beam in a copy of its world: its points and parameters are those there."""
        twin = copy.copy(self)  # what is known of its matrices stays known
        object.__setattr__(twin, "world", world)
        return twin

    def points(self, world: World) -> list[BeamPoint]:
        return [body for body in world.bodies.values() if isinstance(body, BeamPoint) and body.beam == self.name]

    # -- what the step needs ------------------------------------------------------------------------------------------

    @cached_property
    def unit(self) -> Beam:
        """The same beam with a mass of 1 kg and a bending stiffness of 1 N m²: parameters multiply both."""
        return Beam(
            self.length, self.elements, young=1.0, density=1.0, area=1.0 / self.length, moment=1.0, ends=self.ends,
            along=self.along, up=self.up, origin=self.position, name=self.name,
        )  # fmt: skip

    @property
    def matrices(self) -> Matrices:
        return self.unit.matrices

    @property
    def orientation(self) -> Quaternion:
        """Of its axes: x along, z up."""
        x, z = np.array(self.along), np.array(self.up)
        return quaternion_from(np.column_stack([x, np.cross(z, x), z]))

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{state}" for state in self.unit.states)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """ "bar.deflection" and the like: of all nodes together."""
        return {
            f"{self.name}.{group}": tuple(f"{self.name}.{state}" for state in self.unit.groups[group])
            for group in ("deflection", "turn", "deflection_rate", "turn_rate")
        }

    def rows_of(self, point: BeamPoint) -> list[tuple[Row, tuple[float, ...]]]:
        """What moves a point: for its deflection and its turn the shares of the coordinates, and the six numbers that
        a rate of 1 gives its velocity (axes of the world) and its rate (its own axes). None of what the ends hold."""
        ways = ((*self.up, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, -1.0, 0.0))
        shares = (self.unit.shape(point.place), self.unit.slope(point.place))
        sizes = (1.0, 1.0 / self.length)
        return [
            (self.unit._row(share), way)
            for share, way, size in zip(shares, ways, sizes)
            if np.abs(share).max(initial=0.0) > 1e-12 * size
        ]

    def taps(self, world: World) -> list[Row]:
        """Of all unknowns of its points, and last of its weight, how the coordinates move them."""
        rows = [row for point in self.points(world) for row, _ in self.rows_of(point)]
        return [*rows, self.unit._row(self.unit.evenly)]

    def check(self, world: World) -> None:
        """Raise where its points cannot move independently of each other."""
        points = self.points(world)
        rows = []
        for point in points:
            for (places, values), way in self.rows_of(point):
                row = np.zeros(len(self.unit.coordinates))
                row[list(places)] = values
                rows.append(row if any(way[:3]) else row * self.length / self.elements)
        if rows:
            size = np.linalg.svd(np.array(rows), compute_uv=False)
            if len(size) < len(rows) or size[-1] < APART * size[0]:
                raise ModelError(
                    f"{self.name!r} has {len(points)} points, too many or too near each other for its {self.elements} "
                    "elements: at most two lie in one element. Take more elements, or nodes"
                )

    def middle(self) -> np.ndarray:
        """The middle of its line at rest."""
        return np.array(self.position) + 0.5 * self.length * np.array(self.along)

    def figures(self, world: World) -> list[float]:
        """In the order of `lay.py`."""
        numbers = [*self.orientation, *self.middle().tolist(), *self.up]
        for point in self.points(world):
            numbers += [*point.position, *(x for _, way in self.rows_of(point) for x in way)]
        for _, values in self.matrices.figures(self.taps(world), ()):
            numbers += values.ravel().tolist()
        return numbers

    def skeleton(self, world: World) -> list[Any]:
        """What of it shapes code."""
        matrices, taps = self.matrices, self.taps(world)
        points = [[point.name, len(self.rows_of(point))] for point in self.points(world)]
        return [points, digest(matrices.lists(taps, ()), matrices.shape)]

    def size_of_matrices(self, world: World) -> int:
        """Of the last of its figures."""
        return sum(values.size for _, values in self.matrices.figures(self.taps(world), ()))

    def bent(self, forces: Mapping[int, float]) -> dict[str, float]:
        """The state at rest under forces across it, in N by node: a start for runs."""
        bending = self.world.params[f"{self.name}.bending"]
        scaled = {node: number(force, "a force") / bending for node, force in forces.items()}
        return {f"{self.name}.{state}": value for state, value in self.unit.bent(scaled).items()}

    def line(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Where points of its line are, (places, 3) in world axes, from the values of its coordinates."""
        w = np.array([self.unit.shape(place) for place in places]) @ values
        along, up = np.array(self.along), np.array(self.up)
        return np.array(self.position) + places[:, None] * along + w[:, None] * up

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name, "length": self.length, "elements": self.elements, "ends": list(self.ends),
            "position": list(self.position), "along": list(self.along), "up": list(self.up),
            "section": list(self.section),
        }  # fmt: skip

    @classmethod
    def from_description(cls, data: Mapping[str, Any], world: World) -> WorldBeam:
        given: Any = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
        return cls(**given, world=world)

    def __repr__(self) -> str:
        return f"WorldBeam({self.name!r}, {self.length:g} m, {self.elements} elements, {' - '.join(self.ends)})"


def beam_of(world: World, name: str, beam: Any) -> tuple[WorldBeam, dict[str, float]]:
    """What a world keeps of a `pv.Beam`, and its parameters."""
    if not isinstance(beam, Beam):
        raise ModelError(
            f"the beam {name!r} is described by a pv.Beam, as in world.add_beam({name!r}, pv.Beam(0.5, 20, "
            f"young=70e9, density=2700.0, section=(0.02, 0.003))), not {quoted(beam)}"
        )
    if beam.ports or beam.sights:
        names = ", ".join(map(repr, (*beam.ports, *beam.sights)))
        raise ModelError(
            f"the beam {name!r} brings {names}; in a world ports sit on points of it: "
            'bar = world.add_beam(...); world.add_port("tip", bar.node(20)), and what points do is recorded'
        )
    height = float(np.sqrt(12 * beam.moment / beam.area))
    origin, along, up = (checked_vector(way, f"an axis of beam {name!r}") for way in (beam.origin, beam.along, beam.up))
    section = (beam.area / height, height)
    kept = WorldBeam(name, beam.length, beam.elements, beam.ends, origin, along, up, section, world)
    values = (
        beam.density * beam.area * beam.length * beam.params["mass"],
        beam.young * beam.moment * beam.params["stiffness"],
        beam.params["mass_damping"],
        beam.params["stiffness_damping"],
    )
    return kept, {f"{name}.{what}": value for what, value in zip(BEAM_PARAMETERS, values)}


def quaternion_from(turn: np.ndarray) -> Quaternion:
    """The unit quaternion of a rotation matrix, by its largest component."""
    xx, yy, zz = np.diag(turn)
    squares = np.array([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz])
    k = int(squares.argmax())
    x, y, z = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
    a, b, c = turn[1, 0] + turn[0, 1], turn[0, 2] + turn[2, 0], turn[2, 1] + turn[1, 2]
    row = ((squares[0], x, y, z), (x, squares[1], a, b), (y, a, squares[2], c), (z, b, c, squares[3]))[k]
    unit = np.array(row) / np.linalg.norm(row)
    w, x, y, z = (float(value) for value in (unit if unit[0] >= 0 else -unit))
    assert np.abs(matrix_of((w, x, y, z)) - turn).max() < 1e-12
    return w, x, y, z
