"""What there is to see of a run of worlds: solids, strokes and dots at any time of it. No pixels; see `render.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from passivo.errors import InputError, quoted
from passivo.run.bent import Bent
from passivo.run.draw import COLOURS
from passivo.run.run import Run
from passivo.world.beams import BeamPoint
from passivo.world.joints import Ball, Free, Hinge
from passivo.world.names import GRAVITY
from passivo.world.rotation import matrix_of
from passivo.world.shapes import HeightField, Shape
from passivo.world.world import World

if TYPE_CHECKING:
    from passivo.run.network_run import NetworkRun
    from passivo.world.hung import Limb
    from passivo.world.parts import Bond, Tie

INK = (34, 34, 34)
SOFT = (110, 110, 110)
STONE = (206, 210, 214)  # what never moves
FORCE = (213, 94, 0)
AXES = ((213, 94, 0), (0, 158, 115), (0, 114, 178))
THIN, THICK = 1.3, 2.6  # of strokes, in pixels
SMALL, LARGE = 2.6, 4.2  # radii of dots, in pixels
TURNS, COIL = 9, 0.022  # windings of a spring, and its radius as a share of the scene's size
ARROW = 0.15  # the longest one, as a share of that size
FIT = 400  # instants of a run by which the camera is placed
KNOWN, FARTHEST = 1e-12, 1e12  # metres
FLAT = 0.3  # cosine between its normal and upwards: a plane that is steeper gets no shadows
DEEP = 10.0  # times the size of all that moves: a plane that is farther below it is not held in the picture


@dataclass(frozen=True)
class Solid:
    """A shape at a moment: `turn` and `place` bring its own axes into those of the world."""

    shape: Shape
    turn: np.ndarray
    place: np.ndarray
    colour: tuple[int, int, int]

    @property
    def reach(self) -> float:
        return self.shape.reach


@dataclass(frozen=True)
class Stroke:
    """A line through points (n, 3), or a dot at each of them; `width` (of dots the radius) is in pixels."""

    points: np.ndarray
    colour: tuple[int, int, int]
    width: float = THIN
    dots: bool = False


@dataclass(frozen=True)
class Surface:
    """An endless plane; `height` is that of its points along the normal, which is of length 1. Planes of a world are
    `real`; where it has none that faces upwards there is a ground that only shows how high things are."""

    normal: np.ndarray
    height: float
    real: bool

    def under(self, points: np.ndarray, up: np.ndarray) -> np.ndarray:
        """How far points are above it, straight down; infinite where it is too steep."""
        steep = float(self.normal @ up)
        return (points @ self.normal - self.height) / steep if steep > FLAT else np.full(len(points), np.inf)


class Place:
    """Poses of all carriers of one world at one moment."""

    def __init__(self, names: Mapping[str, int], positions: np.ndarray, turns: np.ndarray):
        self.names, self.positions, self.turns = names, positions, turns

    def turned(self, carrier: str | None, vector: np.ndarray) -> np.ndarray:
        return vector if carrier is None else self.turns[self.names[carrier]] @ vector

    def outside(self, carrier: str | None, point: np.ndarray) -> np.ndarray:
        """A point of a carrier in the axes of the world; several, where `point` is a table of them."""
        if carrier is None:
            return point
        k = self.names[carrier]
        return self.positions[k] + point @ self.turns[k].T

    def ends(self, tie: Tie) -> tuple[np.ndarray, np.ndarray]:
        return self.outside(tie.a, np.array(tie.at_a)), self.outside(tie.b, np.array(tie.at_b))


class Moving:
    """One world and its recorded motion."""

    def __init__(self, world: World, run: Run, first: int):
        self.world, self.run, self.time = world, run, run.time
        self.carriers = [*world.bodies, *world.anchors]
        self.names = {name: i for i, name in enumerate(self.carriers)}
        columns = {name: i for i, name in enumerate(world.states)}
        states, vectors = run.arrays["states"], world.vectors
        take = lambda what, width: states[:, [  # noqa: E731
            columns[part] for name in self.carriers for part in vectors[f"{name}.{what}"]
        ]].reshape(len(states), -1 if self.carriers else 0, width)  # fmt: skip
        self.positions, self.turns = take("position", 3), take("orientation", 4)
        self.beams = [Bent(beam, run) for beam in world.beams.values()]
        seen = [*(name for name, body in world.bodies.items() if body.massive), *world.beams]
        self.colours = {name: colour_of(first + i) for i, name in enumerate(seen)}
        points = {name: body.beam for name, body in world.bodies.items() if isinstance(body, BeamPoint)}
        self.tints = self.colours | {name: self.colours[beam] for name, beam in points.items()}
        self.sizes = {name: self._size(name) for name in world.bodies}
        pushes = [np.nan_to_num(self._pushes(name)) for name in world.taps]
        self.strongest = max((float(np.abs(push).max()) for push in pushes), default=0.0)

    def _size(self, name: str) -> float:
        """How far a body reaches from its centre of mass; without shapes, by its inertia."""
        shapes = self.world.bodies[name].shapes
        if shapes:
            return max(float(np.linalg.norm(shape.position)) + shape.reach for shape in shapes)
        if not self.world.bodies[name].massive:
            return 0.0
        params = self.run.params
        moments = sum(params[f"{name}.inertia_{axis}"] for axis in ("xx", "yy", "zz"))
        return sqrt(1.5 * moments / params[f"{name}.mass"])

    def _pushes(self, name: str) -> np.ndarray:
        """Forces at a port, as they were recorded (rows, 3)."""
        ports = self.world.ports
        at = sum(ports[other].width for other in list(ports)[: list(ports).index(name)])
        return self.run.arrays["inputs"][:, at : at + 3]

    def at(self, time: float) -> Place:
        """Poses between two rows: straight on, and turned by the shorter way."""
        late = int(np.clip(np.searchsorted(self.time, time), 1, max(len(self.time) - 1, 1)))
        early = late - 1
        late = min(late, len(self.time) - 1)
        span = self.time[late] - self.time[early]
        share = float(np.clip((time - self.time[early]) / span, 0.0, 1.0)) if span > 0 else 0.0
        positions = (1.0 - share) * self.positions[early] + share * self.positions[late]
        a, b = self.turns[early], self.turns[late]
        side = np.where((a * b).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        turns = (1.0 - share) * a + share * side * b
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        return Place(self.names, positions, np.array([matrix_of(turn) for turn in turns]).reshape(-1, 3, 3))

    def push_at(self, name: str, time: float) -> np.ndarray:
        """The force at a port: that of the step which the moment lies in."""
        rows = self._pushes(name)
        k = int(np.clip(np.searchsorted(self.time, time), 1, max(len(rows) - 1, 1)))
        return np.nan_to_num(rows[min(k, len(rows) - 1)])


def colour_of(k: int) -> tuple[int, int, int]:
    """The k-th colour of the house, a little lighter than for lines."""
    text = COLOURS[k % len(COLOURS)]
    red, green, blue = (round(0.85 * int(text[i : i + 2], 16) + 0.15 * 255) for i in (1, 3, 5))
    return red, green, blue


class Scene:
    """All worlds of one run or several in one space."""

    def __init__(self, *runs: Run | NetworkRun):
        parts = [part for run in runs for part in ([run] if isinstance(run, Run) else run.runs.values())]
        self.moving: list[Moving] = []
        for part in parts:
            if isinstance(part.model, World):
                self.moving.append(Moving(part.model, part, sum(len(m.colours) for m in self.moving)))
        if not self.moving:
            raise InputError(
                f"pictures of motion are drawn of worlds, and there is none in this run of "
                f"{quoted(getattr(getattr(runs[0], 'model', None), 'name', 'a network'))}; draw it with run.plot(...)"
            )
        self.up = self._up()
        self.centres, self.radii = self._spread()
        low, high = (self.centres - self.radii[:, None]).min(axis=0), (self.centres + self.radii[:, None]).max(axis=0)
        self.size = float(np.linalg.norm(high - low)) or 1.0
        if not self.size < FARTHEST:
            raise InputError(
                f"what moves in this run spreads over {self.size:.3g} m, and a picture that holds it would show "
                "nothing; simulate it for a shorter time, or in smaller steps"
            )
        self.largest = float(self.radii.max()) or 1.0
        self.unit = min(self.size, 12.0 * self.largest)  # what signs are measured by
        self.floor = self._floor()
        self.surfaces = self._surfaces()
        self.strongest = max(moving.strongest for moving in self.moving)
        self._keep_in_view()

    @property
    def legend(self) -> list[tuple[str, tuple[int, int, int]]]:
        """Names of bodies and their colours."""
        return [item for moving in self.moving for item in moving.colours.items()]

    def _up(self) -> np.ndarray:
        """Against gravity; z where there is none."""
        gravity = np.array([self.moving[0].run.params[name] for name in GRAVITY])
        size = float(np.linalg.norm(gravity))
        return -gravity / size if size > KNOWN else np.array([0.0, 0.0, 1.0])

    def _spread(self) -> tuple[np.ndarray, np.ndarray]:
        """Balls (centres, radii) that hold everything during the whole run."""
        centres, radii = [], []
        for moving in self.moving:
            pick = np.unique(np.linspace(0, len(moving.time) - 1, FIT).astype(int))
            for name, k in moving.names.items():
                centres.append(moving.positions[pick, k])
                radii.append(np.full(len(pick), moving.sizes.get(name, 0.0)))
            for beam in moving.beams:
                centres.append(beam.spread(pick))
                radii.append(np.full(len(centres[-1]), beam.reach))
            fixed = [tie.at_b for bond in moving.world.bonds.values() for tie in bond.ties if tie.b is None
                     and tie.kind in ("point", "length", "slide")]  # fmt: skip
            for thing in moving.world.fixed.values():
                for shape in thing.shapes:
                    points, reach = np.zeros((1, 3)), shape.reach
                    if isinstance(shape, HeightField):  # wide and flat: by its corners
                        low, high = shape.floor, float(shape.grid.max())
                        sides = (-shape.x / 2, shape.x / 2), (-shape.y / 2, shape.y / 2), (low, high)
                        points, reach = np.array(list(product(*sides))), 0.0
                    points = np.array(shape.position) + points @ matrix_of(shape.orientation).T
                    centres.append(np.array(thing.position) + points @ matrix_of(thing.orientation).T)
                    radii.append(np.full(len(points), reach))
            if fixed:
                centres.append(np.array(fixed))
                radii.append(np.zeros(len(fixed)))
        return np.concatenate(centres), np.concatenate(radii)

    def _floor(self) -> float:
        """The height of the ground: 0 where everything is above it and not far, else below everything."""
        lowest = float((self.centres @ self.up - self.radii).min())
        return 0.0 if -KNOWN <= lowest <= 0.7 * self.size else lowest - 0.02 * self.unit

    def _surfaces(self) -> list[Surface]:
        """The planes of all worlds, and the ground where none of them faces upwards."""
        planes = [plane for moving in self.moving for plane in moving.world.planes.values()]
        normals = [np.array(plane.normal) / np.linalg.norm(plane.normal) for plane in planes]
        found = [Surface(normal, float(normal @ plane.at), True) for normal, plane in zip(normals, planes)]
        if not any(surface.normal @ self.up > FLAT for surface in found):
            found.append(Surface(self.up, self.floor, False))
        return found

    def _keep_in_view(self) -> None:
        """The shadows belong into the picture too, and arrows where there are some."""
        falls = np.array([surface.under(self.centres, self.up) for surface in self.surfaces])
        fall = np.where(falls > -self.radii, falls, np.inf).min(axis=0)
        below = self.centres - np.where(fall < DEEP * self.size, fall, 0.0)[:, None] * self.up
        arrows = ARROW * self.unit if self.strongest > 0.0 else 0.0
        self.centres = np.concatenate([self.centres, below])
        self.radii = np.concatenate([np.maximum(self.radii, arrows), 0.5 * self.radii])

    # -- at a moment --------------------------------------------------------------------------------------------------

    def solids(self, time: float) -> Iterator[Solid]:
        for moving in self.moving:
            place = moving.at(time)
            for name, body in moving.world.bodies.items():
                turn = place.turns[moving.names[name]]
                for shape in body.shapes:
                    yield Solid(
                        shape,
                        turn @ matrix_of(shape.orientation),
                        place.outside(name, np.array(shape.position)),
                        moving.tints[name],
                    )
            for beam in moving.beams:
                for box, turn, middle in beam.pieces(time):
                    yield Solid(box, turn, middle, moving.colours[beam.beam.name])

    def fixed(self) -> Iterator[Solid]:
        """What never moves, besides planes."""
        for moving in self.moving:
            for thing in moving.world.fixed.values():
                turn = matrix_of(thing.orientation)
                for shape in thing.shapes:
                    place = thing.outside(shape.position)
                    yield Solid(shape, turn @ matrix_of(shape.orientation), place, STONE)
            for beam in moving.beams:
                for shape, turn, place in beam.holds():
                    yield Solid(shape, turn, place, STONE)

    def strokes(self, time: float, towards: np.ndarray, least: float) -> Iterator[Stroke]:
        """Signs for what has no shape, or is smaller than `least` metres; `towards` is the direction to the eye."""
        for moving in self.moving:
            place = moving.at(time)
            for name, body in moving.world.bodies.items():
                if not body.massive and not body.shapes:
                    continue
                if not body.shapes:
                    yield from self._axes(place, name, moving.sizes[name])
                if not body.shapes or moving.sizes[name] < least:
                    yield Stroke(place.outside(name, np.zeros(3))[None], moving.tints[name], LARGE, dots=True)
            for name in moving.world.anchors:
                yield from self._anchor(place, name)
            for bond in moving.world.bonds.values():
                yield from self._bond(place, bond, moving.sizes)
                if bond.row == "joints":
                    yield from self._arms(place, bond, moving.sizes)
            for limbs in moving.world.mechanisms:
                for limb in limbs:
                    parent = limbs[limb.parent].body if limb.parent >= 0 else ""
                    yield from self._joint(place, limb, parent, moving.sizes)
            for name, tap in moving.world.taps.items():
                point = place.outside(tap.body, np.array(tap.at))
                yield Stroke(point[None], FORCE, SMALL, dots=True)
                if self.strongest > 0.0:
                    way = ARROW * self.unit / self.strongest * moving.push_at(name, time)
                    yield from _arrow(point, way, towards, 0.2 * ARROW * self.unit)

    def _axes(self, place: Place, name: str, size: float) -> Iterator[Stroke]:
        for axis, tint in zip(np.eye(3), AXES):
            yield Stroke(place.outside(name, np.array([np.zeros(3), size * axis])), tint, THICK)

    def _anchor(self, place: Place, name: str) -> Iterator[Stroke]:
        """A small frame, as of a handle."""
        s = 0.035 * self.unit
        ring = s * np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [1, 0, 0]], dtype=float)
        for plane in (ring, ring[:, [2, 0, 1]], ring[:, [1, 2, 0]]):
            yield Stroke(place.outside(name, plane), INK, THIN)

    def _bond(self, place: Place, bond: Bond, sizes: Mapping[str, float]) -> Iterator[Stroke]:
        points = [place.ends(tie) for tie in bond.ties if tie.kind in ("point", "length", "slide")]
        centre = place.outside(bond.ties[0].a, np.zeros(3))
        match bond.what:
            case "spring" | "pose spring":
                a, b = points[0]
                yield Stroke(_coil(a, b, self.up, COIL * self.unit), INK, THIN)
                yield Stroke(np.array([a, b]), INK, SMALL, dots=True)
                if bond.what == "pose spring":
                    yield self._spiral(place, bond, b, sizes)
            case "turn spring":
                yield self._spiral(place, bond, centre, sizes)
            case "hinge":
                axis = np.array([a for a, _ in points])
                yield Stroke(axis, INK, THICK)
                yield Stroke(axis, INK, SMALL, dots=True)
            case "prismatic":
                yield from self._rail(place, bond, *points[0])
            case "elliptic":
                first, opposite, second, other = (a for a, _ in points)
                u, v, middle = (first - opposite) / 2, (second - other) / 2, (first + opposite) / 2
                angle = np.linspace(0.0, 2 * np.pi, 33)[:, None]
                yield Stroke(middle + np.cos(angle) * u + np.sin(angle) * v, INK, THIN)
            case "weld":
                yield Stroke(points[0][0][None], SOFT, LARGE, dots=True)
            case _:
                yield Stroke(np.array([a for a, _ in points]), INK, LARGE, dots=True)

    def _joint(self, place: Place, limb: Limb, parent: str, sizes: Mapping[str, float]) -> Iterator[Stroke]:
        """The axis or the point of a joint of links, and lines to it from links that do not reach it."""
        if not limb.body or isinstance(limb.joint, Free):
            return
        pin = np.array(limb.own_pin)
        if isinstance(limb.joint, Hinge):
            half = 0.04 * self.unit * np.array(limb.axis)
            yield Stroke(place.outside(limb.body, np.array([pin - half, pin + half])), INK, THICK)
        elif isinstance(limb.joint, Ball):
            yield Stroke(place.outside(limb.body, pin)[None], INK, LARGE, dots=True)
        else:
            half = 0.06 * self.unit * np.array(limb.axis)
            yield Stroke(place.outside(limb.body, np.array([-half, half])), SOFT, THICK)
        for body, end in ((limb.body, pin), (parent, np.array(limb.pin))):
            if body and np.linalg.norm(end) > 1.02 * sizes[body]:
                yield Stroke(place.outside(body, np.array([np.zeros(3), end])), SOFT, THIN)

    def _arms(self, place: Place, bond: Bond, sizes: Mapping[str, float]) -> Iterator[Stroke]:
        """Lines from bodies to the middle of a joint that lies outside of them."""
        points: dict[str, list[np.ndarray]] = {}
        for tie in bond.ties:
            if tie.kind == "point":
                for carrier, at in ((tie.a, tie.at_a), (tie.b or "", tie.at_b)):
                    points.setdefault(carrier, []).append(np.array(at))
        for carrier in points.keys() & sizes.keys():
            middle = np.mean(points[carrier], axis=0)
            if np.linalg.norm(middle) > 1.02 * sizes[carrier]:
                yield Stroke(place.outside(carrier, np.array([np.zeros(3), middle])), SOFT, THIN)

    def _spiral(self, place: Place, bond: Bond, centre: np.ndarray, sizes: Mapping[str, float]) -> Stroke:
        """Of what resists turning."""
        angle = np.linspace(0.0, 5 * np.pi, 61)[:, None]
        tie = next((tie for tie in bond.ties if tie.kind == "direction"), bond.ties[0])
        u, v = (place.turned(tie.b, np.eye(3)[k]) for k in (0, 1))
        grown = (
            min(0.06 * self.unit, *(0.8 * sizes.get(end or "", np.inf) for end in (tie.a, tie.b))) * angle / angle[-1]
        )
        return Stroke(centre + grown * (np.cos(angle) * u + np.sin(angle) * v), INK, THIN)

    def _rail(self, place: Place, bond: Bond, a: np.ndarray, b: np.ndarray) -> Iterator[Stroke]:
        tie = next(tie for tie in bond.ties if tie.kind == "slide")
        axis = place.turned(tie.b, np.cross(tie.more[0:3], tie.more[3:6]))
        along, more = float((a - b) @ axis), 0.06 * self.unit
        yield Stroke(b + np.outer([min(along, 0.0) - more, max(along, 0.0) + more], axis), SOFT, THICK)
        yield Stroke(a[None], INK, LARGE, dots=True)


def _coil(a: np.ndarray, b: np.ndarray, up: np.ndarray, radius: float) -> np.ndarray:
    """A winding line from a to b, with straight ends."""
    way = b - a
    length = float(np.linalg.norm(way))
    if length < KNOWN:
        return np.array([a, b])
    along = way / length
    side = np.cross(along, up)
    if np.linalg.norm(side) < 0.1:
        side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side /= np.linalg.norm(side)
    turn = np.linspace(0.0, 1.0, 24 * TURNS + 1)
    angle, inner = 2 * np.pi * TURNS * turn[:, None], (0.12 + 0.76 * turn)[:, None]
    swell = min(radius, 0.3 * length) * np.minimum(1.0, 12 * np.minimum(turn, 1 - turn))[:, None]
    coil = a + inner * way + swell * (np.cos(angle) * side + np.sin(angle) * np.cross(along, side))
    return np.vstack([a, coil, b])


def _arrow(point: np.ndarray, way: np.ndarray, towards: np.ndarray, head: float) -> Iterator[Stroke]:
    """An arrow from a point; it has a head where it is long enough."""
    length = float(np.linalg.norm(way))
    if length < 1e-3 * head:
        return
    along, tip = way / length, point + way
    yield Stroke(np.array([point, tip]), FORCE, THICK)
    side = np.cross(along, towards)
    if (size := float(np.linalg.norm(side))) > 1e-3:
        head = min(head, 0.6 * length)
        barb = 0.45 * head / size * side
        yield Stroke(np.array([tip - head * along + barb, tip, tip - head * along - barb]), FORCE, THICK)
