"""What a world is made of, as plain description: bodies, anchors, points of them, ports, springs and joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.world.joints import Joint, joint_from
from passivo.world.rotation import checked_vector, matrix_of, numbers_of
from passivo.world.shapes import Quaternion, Shape, Vector, inertia_of, shape_from

KINDS = ("point", "direction", "slide", "length", "spin")  # of ties, in the order of `table.py`
ORIGIN = (0.0, 0.0, 0.0)
UP = (1.0, 0.0, 0.0, 0.0)
ROUND = 1e-9  # of an inertia: what is rounding in it
READERS = {"shapes": shape_from, "joints": joint_from}  # of what is described within a description


class Described:
    """A dataclass that is told as plain data, and made again from it."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]

    def describe(self) -> dict[str, Any]:
        told = {option.name: getattr(self, option.name) for option in fields(self)}
        for name, value in told.items():
            if isinstance(value, tuple):
                told[name] = [one.describe() if hasattr(one, "describe") else one for one in value]
        return told

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> Self:
        given: dict[str, Any] = dict(data)
        for name, value in given.items():
            if isinstance(value, list):
                given[name] = tuple(READERS[name](one) if isinstance(one, Mapping) else one for one in value)
        return cls(**given)


@dataclass(frozen=True)
class Point:
    """A place on a body or an anchor, in its own axes; on the world itself where `carrier` is None."""

    carrier: Carrier | None
    at: Vector

    @property
    def place(self) -> np.ndarray:
        """Where it is at the start, in world axes."""
        return np.array(self.at) if self.carrier is None else self.carrier.outside(self.at)

    @property
    def name(self) -> str:
        return "the world" if self.carrier is None else repr(self.carrier.name)


@dataclass(frozen=True, eq=False)
class Carrier(Described):
    """What has a pose: a body or an anchor. `position` and `orientation` (w x y z) are those at the start."""

    name: str
    position: Vector
    orientation: Quaternion

    def point(self, x: float, y: float, z: float) -> Point:
        """The point at these coordinates in its own axes."""
        return Point(self, checked_vector((x, y, z), f"a point of {self.name!r}"))

    def here(self, x: float, y: float, z: float) -> Point:
        """Its point that is at this place of the world at the start."""
        place = np.array(checked_vector((x, y, z), f"a place on {self.name!r}"))
        return self.point(*(matrix_of(self.orientation).T @ (place - self.position)))

    def outside(self, at: Vector) -> np.ndarray:
        """A point of its own in world axes, at the start."""
        return np.array(self.position) + matrix_of(self.orientation) @ np.array(at)


@dataclass(frozen=True, eq=False)
class Body(Carrier):
    """A rigid body; its axes have their origin in the centre of mass. Mass, inertia and drag are parameters."""

    velocity: Vector
    angular_velocity: Vector  # in its own axes
    shapes: tuple[Shape, ...] = ()
    friction: float = 0.0
    restitution: float = 0.0

    @property
    def massive(self) -> bool:
        """Whether it has a mass of its own; a point of a beam has none."""
        return True


@dataclass(frozen=True, eq=False)
class Link(Body):
    """A body that moves by the coordinates of its joints. They lead from its `parent` (None: the world) outwards."""

    parent: str | None = None
    joints: tuple[Joint, ...] = ()


@dataclass(frozen=True, eq=False)
class Anchor(Carrier):
    """A place that is moved from outside, by the velocity that its port of the same name takes; `turns`: a rate too."""

    turns: bool = False

    @property
    def width(self) -> int:
        return 6 if self.turns else 3


@dataclass(frozen=True)
class Plane(Described):
    """What fills the half space behind `at`, against its normal. It never moves."""

    name: str
    normal: Vector
    at: Vector
    friction: float
    restitution: float


@dataclass(frozen=True, eq=False)
class Fixed(Carrier):
    """Shapes that never move: ground, walls, obstacles."""

    shapes: tuple[Shape, ...]
    friction: float
    restitution: float


class Geom(NamedTuple):
    """What MuJoCo has one geom for. `owner` is whose surface it has, `body` what it moves with, "" where it stands."""

    owner: str
    body: str
    friction: float
    restitution: float


@dataclass(frozen=True)
class Pair(Described):
    """What is said of two surfaces that meet: None where the rule for all holds."""

    a: str
    b: str
    friction: float | None
    restitution: float | None
    collide: bool | None


@dataclass(frozen=True)
class Tap(Described):
    """A port at a point of a body: takes a force in world axes, and a torque where it takes a whole `wrench`."""

    name: str
    body: str
    at: Vector
    wrench: bool

    @property
    def width(self) -> int:
        return 6 if self.wrench else 3


@dataclass(frozen=True)
class Tie(Described):
    """What `ties.py` steps: `a` is a body, `b` another, an anchor, or None for the world.

    at_a, at_b  points (or unit directions) in their axes
    more        the length, or the three directions of a slide one after the other, in the axes of b
    stiffness, damping  names of parameters, "" for none; `share` multiplies both
    """

    kind: str
    a: str
    b: str | None
    at_a: Vector
    at_b: Vector
    more: tuple[float, ...] = ()
    stiffness: str = ""
    damping: str = ""
    share: float = 1.0

    @property
    def skeleton(self) -> list[Any]:
        """What of it shapes code: all but its figures."""
        return [self.kind, self.a, self.b, self.stiffness, self.damping, len(self.more)]


@dataclass(frozen=True)
class Bond:
    """A spring or a joint: ties under one name, with parameters "name.stiffness" and the like.

    row  of the ledger: "springs" or "joints"
    """

    name: str
    what: str
    row: str
    ties: tuple[Tie, ...]
    params: Mapping[str, float] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        ties = [tie.describe() for tie in self.ties]
        return {"name": self.name, "what": self.what, "row": self.row, "ties": ties, "params": list(self.params)}

    @classmethod
    def from_description(cls, data: Mapping[str, Any], params: Mapping[str, float]) -> Bond:
        ties = tuple(Tie.from_description(tie) for tie in data["ties"])
        return cls(data["name"], data["what"], data["row"], ties, {name: params[name] for name in data["params"]})


def checked_inertia(given: Any, mass: float, shapes: tuple[Shape, ...], name: str) -> tuple[float, ...]:
    """xx, yy, zz, xy, xz, yz of an inertia that a body can have; from the shapes where none is given."""
    if given is None and not shapes:
        raise ModelError(f"body {name!r} needs a shape or an inertia: say shape=pv.Box(...) or inertia=(xx, yy, zz)")
    what = f"the inertia of body {name!r}"
    matrix = inertia_of(shapes, mass) if given is None else numbers_of(given)
    if matrix.shape == (3,):
        matrix = np.diag(matrix)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ModelError(f"{what} must be three moments (xx, yy, zz) or a 3 × 3 matrix in kg m², not {quoted(given)}")
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=ROUND * np.abs(matrix).max()):
        raise ModelError(f"{what} is not symmetric; entries (i, j) and (j, i) must be equal")
    values = tuple(float(matrix[i]) for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    check_moments(values, what)
    return values


def check_moments(inertia: tuple[float, ...], what: str) -> None:
    """Raise unless the principal moments are positive and each is at most the sum of the two others."""
    xx, yy, zz, xy, xz, yz = inertia
    moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    told = ", ".join(f"{value:.6g}" for value in moments)
    if not moments[0] > 0.0:
        raise ModelError(f"{what} must be positive, but its principal moments are {told} kg m²")
    if moments[2] > (1.0 + ROUND) * (moments[0] + moments[1]):
        raise ModelError(
            f"{what} belongs to no body: of its principal moments {told} kg m² the largest exceeds the sum of the "
            "other two; check units and axes, or give a shape and leave the inertia out"
        )
