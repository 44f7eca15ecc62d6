"""Shapes of bodies: what a body looks like, and the inertia that follows from it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from math import isfinite, pi
from typing import Any

import numpy as np

from passivo.errors import ModelError, nearest
from passivo.world.rotation import checked_quaternion, checked_vector, matrix_of

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Base of all shapes. `position` and `orientation` (w x y z) place it in the axes of its body.

    volume   cubic metres
    moments  principal moments of inertia about its own centre, for each kilogram
    """

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        name = type(self).__name__
        for option in fields(self):
            if option.name in ("position", "orientation"):
                continue
            value = getattr(self, option.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
                raise ModelError(f"{name}'s {option.name} must be a length > 0 in metres, not {value!r}")
            object.__setattr__(self, option.name, float(value))
        object.__setattr__(self, "position", checked_vector(self.position, f"the position of a {name}"))
        object.__setattr__(self, "orientation", checked_quaternion(self.orientation, f"the orientation of a {name}"))

    @property
    @abstractmethod
    def volume(self) -> float: ...

    @property
    @abstractmethod
    def moments(self) -> Vector: ...

    def describe(self) -> dict[str, Any]:
        told = {option.name: getattr(self, option.name) for option in fields(self)}
        return {"shape": type(self).__name__} | {k: list(v) if isinstance(v, tuple) else v for k, v in told.items()}


@dataclass(frozen=True)
class Sphere(Shape):
    radius: float

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * pi * self.radius**3

    @property
    def moments(self) -> Vector:
        one = 0.4 * self.radius**2
        return (one, one, one)


@dataclass(frozen=True)
class Box(Shape):
    """Full edge lengths."""

    x: float
    y: float
    z: float

    @property
    def volume(self) -> float:
        return self.x * self.y * self.z

    @property
    def moments(self) -> Vector:
        xx, yy, zz = self.x**2 / 12.0, self.y**2 / 12.0, self.z**2 / 12.0
        return (yy + zz, zz + xx, xx + yy)


@dataclass(frozen=True)
class Cylinder(Shape):
    """Along its z axis, `length` from end to end."""

    radius: float
    length: float

    @property
    def volume(self) -> float:
        return pi * self.radius**2 * self.length

    @property
    def moments(self) -> Vector:
        across = self.radius**2 / 4.0 + self.length**2 / 12.0
        return (across, across, self.radius**2 / 2.0)


@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder along z with half spheres at its ends; `length` is that of the cylinder."""

    radius: float
    length: float

    @property
    def _round(self) -> float:
        """The share of the volume that the two half spheres have."""
        ball = 4.0 / 3.0 * self.radius
        return ball / (ball + self.length)

    @property
    def volume(self) -> float:
        return pi * self.radius**2 * self.length + 4.0 / 3.0 * pi * self.radius**3

    @property
    def moments(self) -> Vector:
        r, half, ball = self.radius, self.length / 2.0, self._round
        tube = 1.0 - ball
        # a half sphere: its centre of mass lies 3r/8 beyond the end of the cylinder
        end = 0.4 * r**2 + half**2 + 0.75 * half * r
        across = tube * (r**2 / 4.0 + self.length**2 / 12.0) + ball * end
        return (across, across, tube * r**2 / 2.0 + ball * 0.4 * r**2)


SHAPES: dict[str, type[Shape]] = {cls.__name__: cls for cls in (Sphere, Box, Cylinder, Capsule)}


def shape_from(description: dict[str, Any]) -> Shape:
    """The shape that `describe()` described."""
    options = dict(description)
    name = options.pop("shape", None)
    if name not in SHAPES:
        raise ModelError(f"there is no shape {name!r}; {nearest(str(name), SHAPES)}")
    return SHAPES[name](**{key: tuple(v) if isinstance(v, list) else v for key, v in options.items()})


def inertia_of(shapes: tuple[Shape, ...], mass: float) -> np.ndarray:
    """The 3 × 3 inertia about the origin of a body of equal density everywhere; its centre of mass must lie there."""
    whole = sum(shape.volume for shape in shapes)
    total, middle, reach = np.zeros((3, 3)), np.zeros(3), 0.0
    for shape in shapes:
        share, place = mass * shape.volume / whole, np.array(shape.position)
        turn = matrix_of(shape.orientation)
        total += share * (turn @ np.diag(shape.moments) @ turn.T + place @ place * np.eye(3) - np.outer(place, place))
        middle += share / mass * place
        reach = max(reach, float(np.abs(place).max()), shape.volume ** (1.0 / 3.0))
    if np.abs(middle).max() > 1e-9 * reach:
        told = ", ".join(f"{x:.6g}" for x in middle)
        raise ModelError(
            f"the centre of mass of the shapes is at ({told}) in the axes of the body, and must be its origin; "
            "move the shapes by as much the other way, or state the inertia"
        )
    return total
