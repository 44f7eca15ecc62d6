"""What bodies of a world touch: planes, fixed shapes, pairs; the methods of `World` that say so, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.world import bonds
from passivo.world.beams import WorldBeam
from passivo.world.names import GRAVITY
from passivo.world.parts import ORIGIN, UP, Body, Bond, Fixed, Geom, Link, Pair, Plane
from passivo.world.rotation import checked_quaternion, checked_vector
from passivo.world.shapes import HeightField, Shape

TANK_LIFT = 1e-4  # metres
ROOM_OF_GEOM = 40  # contacts: boxes that are packed tightly have 29 each
ROOM_OF_CELLS = 0.5  # ... and what lies on a height field half of the cells below it,
MOST_ROOM_OF_CELLS = 8192  # at most as many


class Touching:
    """Surfaces, and how they meet."""

    contact: bool | None
    room: int | None
    bodies: dict[str, Body]
    beams: dict[str, WorldBeam]
    planes: dict[str, Plane]
    fixed: dict[str, Fixed]
    pairs: dict[tuple[str, str], Pair]
    bonds: dict[str, Bond]
    params: dict[str, float]

    if TYPE_CHECKING:

        def _new_name(self, name: str) -> str: ...

    # -- what stands, and pairs ---------------------------------------------------------------------------------------

    def add_plane(
        self,
        name: str | None = None,
        *,
        normal: Any = (0.0, 0.0, 1.0),
        at: Any = ORIGIN,
        friction: float = 0.0,
        restitution: float = 0.0,
    ) -> Plane:
        """A plane through `at` that bodies touch from the side of its normal, and that never moves."""
        name = self._new_name(name or f"plane{len(self.planes) or ''}")
        way = checked_vector(normal, f"the normal of {name!r}")
        if not any(way):
            raise ModelError(f"the normal of {name!r} must have a length, not be {way}")
        place, surface = (
            checked_vector(at, f"the place of {name!r}"),
            bonds.checked_surface(friction, restitution, name),
        )
        self.planes[name] = plane = Plane(name, way, place, *surface)
        return plane

    def add_fixed(
        self,
        name: str,
        shape: Shape | Sequence[Shape],
        *,
        position: Any = ORIGIN,
        orientation: Any = UP,
        friction: float = 0.0,
        restitution: float = 0.0,
    ) -> Fixed:
        """Shapes that never move: a `HeightField`, or boxes and the like as walls and obstacles."""
        name = self._new_name(name)
        shapes = shapes_of(shape, name)
        if not shapes:
            raise ModelError(f"{name!r} needs a shape: say pv.Box(0.2, 0.2, 0.2) or pv.HeightField(heights, x=2, y=2)")
        pose = (
            checked_vector(position, f"the position of {name!r}"),
            checked_quaternion(orientation, f"the orientation of {name!r}"),
        )
        surface = bonds.checked_surface(friction, restitution, name)
        self.fixed[name] = fixed = Fixed(name, *pose, shapes, *surface)
        return fixed

    def set_pair(
        self,
        a: Any,
        b: Any,
        *,
        friction: float | None = None,
        restitution: float | None = None,
        collide: bool | None = None,
    ) -> None:
        """What holds between two of its bodies, planes and fixed things, in place of the rule for all. What is left out
        stays as it is.

            world.set_pair(box, floor, friction=0.05)
            world.set_pair("finger", "palm", collide=False)

        collide   False: they pass through each other. True: they touch, though a joint joins them
        """
        first, second = (self._surfaced(one) for one in (a, b))
        what = f"{first!r} and {second!r}"
        if first == second:
            raise ModelError(f"a pair is of two things, not {first!r} twice")
        if first not in self.bodies and second not in self.bodies:
            raise ModelError(f"neither of {what} moves, so that they do not touch; a pair has at least one body")
        if collide is not None and not isinstance(collide, bool):
            raise ModelError(f"collide of {what} must be True or False, not {quoted(collide)}")
        if friction is None and restitution is None and collide is None:
            raise ModelError(f"say something of {what}: friction=, restitution= or collide=")
        mu, e = bonds.checked_surface(friction or 0.0, restitution or 0.0, f"{first} and {second}")
        key = (min(first, second), max(first, second))
        known = self.pairs.get(key)
        self.pairs[key] = Pair(
            *key,
            mu if friction is not None else known and known.friction,
            e if restitution is not None else known and known.restitution,
            collide if collide is not None else known and known.collide,
        )

    def _surfaced(self, thing: Any) -> str:
        """The name of a body, a plane or something fixed of this world."""
        own = {**self.bodies, **self.planes, **self.fixed}
        name = thing if isinstance(thing, str) else getattr(thing, "name", None)
        if name not in own or not (isinstance(thing, str) or own[name] is thing):
            raise ModelError(
                "a pair is of what this world's add_body(...), add_plane(...) or add_fixed(...) returned, or of their "
                f"names, not {quoted(thing)}"
            )
        return str(name)

    # -- what follows -------------------------------------------------------------------------------------------------

    @property
    def touches(self) -> bool:  # type: ignore[override]
        """Whether it has contacts: shapes that may meet a plane, something fixed or each other."""
        shaped, still = sum(bool(body.shapes) for body in self.bodies.values()), bool(self.planes or self.fixed)
        wanted = still if self.contact is None else self.contact
        return wanted and (shaped > 1 or (shaped == 1 and still))

    @property
    def geoms(self) -> list[Geom]:
        """Of planes, of what is fixed, then of all bodies. A height field has two, which help to find its contacts."""
        planes = [Geom(name, "", plane.friction, plane.restitution) for name, plane in self.planes.items()]
        fixed = [
            Geom(name, "", thing.friction, thing.restitution)
            for name, thing in self.fixed.items()
            for shape in thing.shapes
            for _ in range(2 if isinstance(shape, HeightField) else 1)
        ]
        bodies = [
            Geom(name, name, body.friction, body.restitution) for name, body in self.bodies.items() for _ in body.shapes
        ]
        return planes + fixed + bodies

    @property
    def fields(self) -> list[tuple[Fixed, HeightField]]:
        """All height fields and what they belong to."""
        return [
            (thing, shape) for thing in self.fixed.values() for shape in thing.shapes if isinstance(shape, HeightField)
        ]

    @property
    def apart(self) -> list[tuple[str, str]]:
        """Pairs that do not touch: bodies or links that a joint joins, and what `set_pair` says so of."""
        ties = [tie for bond in self.bonds.values() if bond.row == "joints" for tie in bond.ties]
        joined = {(min(tie.a, tie.b), max(tie.a, tie.b)): False for tie in ties if tie.b in self.bodies}
        links = (body for body in self.bodies.values() if isinstance(body, Link))
        joined |= {_pair(link.name, link.parent): False for link in links if link.parent is not None}
        told = {key: pair.collide for key, pair in self.pairs.items() if pair.collide is not None}
        along = [
            body for body in self.bodies.values() if not body.massive
        ]  # points of one beam do not touch each other
        bent = {
            (min(a.name, b.name), max(a.name, b.name)): False
            for a, b in combinations(along, 2)
            if getattr(a, "beam", a) == getattr(b, "beam", b)
        }
        return [key for key, collide in {**bent, **joined, **told}.items() if not collide]

    @property
    def told_pairs(self) -> list[tuple[str, str, float, float]]:
        """Pairs with a friction or restitution of their own, and both of these."""
        found = []
        surfaces = {**self.planes, **self.fixed, **self.bodies}
        for (a, b), pair in self.pairs.items():
            if pair.friction is None and pair.restitution is None:
                continue
            one, other = surfaces[a], surfaces[b]
            mu = sqrt(one.friction * other.friction) if pair.friction is None else pair.friction
            e = max(one.restitution, other.restitution) if pair.restitution is None else pair.restitution
            found.append((a, b, mu, e))
        return found

    @property
    def most_contacts(self) -> int:
        """For how many contacts at a time there is room."""
        return self.room or 16 + ROOM_OF_GEOM * len(self.geoms) + self._room_on_fields

    @property
    def _room_on_fields(self) -> int:
        cells = 0.0
        for _, field in self.fields:
            (dx, dy), (rows, columns) = field.cell, field.grid.shape
            for shape in (shape for body in self.bodies.values() for shape in body.shapes):
                wide = 1.4 * shape.reach  # the side of the square in a circle
                cells += min(wide / dx + 1.0, columns - 1.0) * min(wide / dy + 1.0, rows - 1.0)
        return min(int(ROOM_OF_CELLS * cells), MOST_ROOM_OF_CELLS)

    @property
    def usual_tank(self) -> float:
        """Joules that lift all bodies by 0.1 mm."""
        weight = float(np.linalg.norm([self.params[name] for name in GRAVITY]))
        heavy = [*(name for name, body in self.bodies.items() if body.massive), *self.beams]
        return TANK_LIFT * weight * sum(self.params[f"{name}.mass"] for name in heavy)

    def _touching(self) -> list[Any]:
        """What of its contacts shapes code."""
        pairs = [[a, b] for a, b, *_ in self.told_pairs]
        fields = [field.grid.shape for _, field in self.fields]
        return [self.most_contacts, [[geom.owner, geom.body] for geom in self.geoms], pairs, fields]


def checked_room(count: Any) -> int | None:
    """For how many contacts there is room."""
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ModelError(f"most_contacts must be a whole number > 0, not {quoted(count)}")
    return count


def _pair(a: str, b: str) -> tuple[str, str]:
    return min(a, b), max(a, b)


def shapes_of(shape: Any, name: str) -> tuple[Shape, ...]:
    """The shapes of a thing: one, several, or none."""
    shapes = () if shape is None else (shape,) if isinstance(shape, Shape) else shape
    if not isinstance(shapes, list | tuple) or not all(isinstance(each, Shape) for each in shapes):
        raise ModelError(
            f"the shape of {name!r} must be one such as pv.Box(0.2, 0.2, 0.2), or a list of them, not {quoted(shape)}"
        )
    return tuple(shapes)
