"""Shapes of bodies: what a body looks like, and the inertia that follows from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, fields
from functools import cached_property
from inspect import signature
from math import hypot, inf, isfinite, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError, nearest
from passivo.world.hull import Hull, check_faces, checked_points, hull_of, mass_of
from passivo.world.mesh_file import read_mesh
from passivo.world.rotation import checked_quaternion, checked_vector, matrix_of

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
PLACED = ("position", "orientation")  # what all shapes take besides their sizes
MOST_HEIGHTS = 1_000_000


class Called(type):
    """Shapes that are called with too few or too many sizes say which ones they take."""

    if not TYPE_CHECKING:

        def __call__(cls, *sizes, **options):
            try:
                signature(cls.__init__).bind(None, *sizes, **options)
            except TypeError as error:
                known = [option.name for option in fields(cls) if option.name not in PLACED]
                raise ModelError(
                    f"a {cls.__name__} takes {', '.join(known)}, and by name position= and orientation=, as in "
                    f"pv.{cls.__name__}({', '.join(known)}): {error}"
                ) from None
            return super().__call__(*sizes, **options)


def _length(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise ModelError(f"{what} must be a length > 0 in metres, not {value!r}")
    return float(value)


@dataclass(frozen=True, kw_only=True)
class Shape(metaclass=Called):
    """Base of all shapes. `position` and `orientation` (w x y z) place it in the axes of its body.

    volume   cubic metres
    moments  principal moments of inertia about its own centre of mass, for each kilogram
    reach    how far it reaches from its own origin
    half_thickness  half of what it measures where it is thinnest
    """

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        self._check_lengths()
        name = type(self).__name__
        object.__setattr__(self, "position", checked_vector(self.position, f"the position of a {name}"))
        object.__setattr__(self, "orientation", checked_quaternion(self.orientation, f"the orientation of a {name}"))

    def _check_lengths(self) -> None:
        name = type(self).__name__
        for option in fields(self):
            if option.name in PLACED:
                continue
            object.__setattr__(self, option.name, _length(getattr(self, option.name), f"{name}'s {option.name}"))

    @property
    @abstractmethod
    def volume(self) -> float: ...

    @property
    @abstractmethod
    def moments(self) -> Vector: ...

    @property
    @abstractmethod
    def reach(self) -> float: ...

    @property
    @abstractmethod
    def half_thickness(self) -> float: ...

    @property
    def centre(self) -> np.ndarray:
        """Its centre of mass, in its own axes."""
        return np.zeros(3)

    @property
    def inertia(self) -> np.ndarray:
        """3 × 3, about its centre of mass in its own axes, for each kilogram."""
        return np.diag(self.moments)

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

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def half_thickness(self) -> float:
        return self.radius


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

    @property
    def reach(self) -> float:
        return 0.5 * sqrt(self.x**2 + self.y**2 + self.z**2)

    @property
    def half_thickness(self) -> float:
        return 0.5 * min(self.x, self.y, self.z)


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

    @property
    def reach(self) -> float:
        return hypot(self.radius, self.length / 2.0)

    @property
    def half_thickness(self) -> float:
        return min(self.radius, self.length / 2.0)


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

    @property
    def reach(self) -> float:
        return self.radius + self.length / 2.0

    @property
    def half_thickness(self) -> float:
        return self.radius


@dataclass(frozen=True, repr=False)
class ConvexMesh(Shape):
    """The convex hull of points (x, y, z) in metres; `points` are its corners then, and others are left out.

        pv.ConvexMesh([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)], centred=True)
        pv.ConvexMesh.from_file("link.stl", scale=1e-3, centred=True)

    faces    rows of numbers of points, corners anticlockwise as seen from outside. They are checked: a surface that
             is not closed, not turned the same way everywhere or not convex is refused
    hull     take the hull of the points whatever the faces are. What is hollow or bent gets its hollows filled:
             where that matters, build a body of several convex shapes
    centred  move the mesh so that its centre of mass is at its origin, as a body wants that has no other shape
    """

    points: Any  # rows x, y, z; a tuple of tuples once it is made
    faces: InitVar[Any] = None
    hull: InitVar[bool] = False
    centred: InitVar[bool] = False

    def __post_init__(self, faces: Any, hull: bool, centred: bool) -> None:  # type: ignore[override]
        points = checked_points(self.points)
        if faces is not None and not hull:
            check_faces(points, faces)
        corners = hull_of(points).corners
        object.__setattr__(self, "points", tuple(map(tuple, corners.tolist())))
        if centred:
            object.__setattr__(self, "points", tuple(map(tuple, (corners - self.centre).tolist())))
            for found in ("polyhedron", "_mass"):  # of where it was
                vars(self).pop(found)
        super().__post_init__()

    @classmethod
    def from_file(
        cls,
        path: Any,
        *,
        scale: float = 1.0,
        hull: bool = False,
        centred: bool = False,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Quaternion = (1.0, 0.0, 0.0, 0.0),
    ) -> ConvexMesh:
        """The mesh of an .obj or .stl file; `scale` makes metres of its numbers (1e-3 where it has millimetres)."""
        if isinstance(scale, bool) or not isinstance(scale, int | float) or not (isfinite(scale) and scale > 0):
            raise ModelError(f"the scale of a mesh must be a number > 0 such as 1e-3, not {scale!r}")
        points, faces = read_mesh(path)
        try:
            return cls(scale * points, faces, hull, centred, position=position, orientation=orientation)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None

    def _check_lengths(self) -> None:
        """It has none besides its points."""

    @cached_property
    def polyhedron(self) -> Hull:
        return hull_of(np.array(self.points))

    @cached_property
    def _mass(self) -> tuple[float, np.ndarray, np.ndarray]:
        return mass_of(self.polyhedron.corners, self.polyhedron.faces)

    @property
    def volume(self) -> float:
        return self._mass[0]

    @property
    def centre(self) -> np.ndarray:
        return self._mass[1]

    @property
    def inertia(self) -> np.ndarray:
        return self._mass[2]

    @property
    def moments(self) -> Vector:
        x, y, z = np.linalg.eigvalsh(self.inertia).tolist()
        return (x, y, z)

    @property
    def reach(self) -> float:
        return float(np.linalg.norm(self.points, axis=1).max())

    @cached_property
    def half_thickness(self) -> float:  # type: ignore[override]
        """Between a face and the corner that is farthest behind it."""
        corners, planes = self.polyhedron.corners, self.polyhedron.planes
        return 0.5 * min(float(d - (corners @ (x, y, z)).min()) for x, y, z, d in planes.tolist())

    def __repr__(self) -> str:
        return f"ConvexMesh({len(self.points)} corners, position={self.position}, orientation={self.orientation})"


@dataclass(frozen=True, repr=False)
class HeightField(Shape):
    """Ground of heights over a grid, in metres: `heights[i][j]` is where z lies at the i-th place along y and the j-th
    along x, as `np.meshgrid(xs, ys)` has them. The grid is `x` by `y` metres wide and centred on its origin.

        world.add_fixed("hills", pv.HeightField(0.05 * np.random.default_rng(0).random((20, 30)), x=3.0, y=2.0))

    Each cell is two triangles, which share the diagonal from its first corner to the opposite one. It is solid down to
    `base` metres below its lowest point. It stands still: `world.add_fixed` takes it, a body does not.
    """

    heights: Any  # rows of numbers; a tuple of tuples once it is made
    x: float
    y: float
    base: float = 1.0

    def _check_lengths(self) -> None:
        try:
            grid = np.array(self.heights, dtype=float)
        except (TypeError, ValueError):
            grid = np.empty(0)
        if grid.ndim != 2 or min(grid.shape) < 2 or np.asarray(self.heights).dtype.kind not in "iuf":
            raise ModelError(
                "the heights of a HeightField must be rows of numbers in metres, two rows and two columns or more, as "
                f"in pv.HeightField([[0, 0.1], [0, 0.2]], x=1.0, y=1.0); these have the shape {np.shape(grid)}"
            )
        if grid.size > MOST_HEIGHTS:
            raise ModelError(f"a HeightField takes at most {MOST_HEIGHTS} heights, not {grid.size}; use a coarser grid")
        if not np.isfinite(grid).all():
            i, j = np.argwhere(~np.isfinite(grid))[0].tolist()
            raise ModelError(f"the heights of a HeightField must be finite, but heights[{i}][{j}] is {grid[i, j]}")
        rows: Any = grid.tolist()
        object.__setattr__(self, "heights", tuple(map(tuple, rows)))
        for name in ("x", "y", "base"):
            object.__setattr__(self, name, _length(getattr(self, name), f"HeightField's {name}"))

    @cached_property
    def grid(self) -> np.ndarray:
        """The heights, rows along y and columns along x."""
        return np.array(self.heights)

    @property
    def cell(self) -> tuple[float, float]:
        """How wide a cell is along x and along y."""
        rows, columns = self.grid.shape
        return self.x / (columns - 1), self.y / (rows - 1)

    @property
    def floor(self) -> float:
        """Where it ends below."""
        return float(self.grid.min()) - self.base

    def height(self, x: Any, y: Any) -> np.ndarray:
        """Where its surface is at places in its own axes; NaN beyond its edge."""
        return self._triangle(x, y)[0]

    def normal(self, x: Any, y: Any) -> np.ndarray:
        """The unit normals of its triangles at places in its own axes, one after the other in the last direction."""
        _, along, across = self._triangle(x, y)
        ways = np.stack([-along, -across, np.ones_like(along)], axis=-1)
        return ways / np.linalg.norm(ways, axis=-1, keepdims=True)

    def _triangle(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Height at places, and slopes along x and y of the triangles there."""
        (dx, dy), (rows, columns) = self.cell, self.grid.shape
        u, v = (np.asarray(x) + self.x / 2) / dx, (np.asarray(y) + self.y / 2) / dy
        inside = (u >= 0) & (u <= columns - 1) & (v >= 0) & (v <= rows - 1)
        j = np.clip(np.nan_to_num(u), 0, columns - 2).astype(int)
        i = np.clip(np.nan_to_num(v), 0, rows - 2).astype(int)
        p, q, g = u - j, v - i, self.grid
        a, b, c, d = g[i, j], g[i, j + 1], g[i + 1, j + 1], g[i + 1, j]
        along, across = np.where(p >= q, b - a, c - d), np.where(p >= q, c - b, d - a)
        return np.where(inside, a + p * along + q * across, np.nan), along / dx, across / dy

    @property
    def volume(self) -> float:
        """Of the prisms below its triangles."""
        g = self.grid - self.floor
        sides = 2 * (g[:-1, :-1] + g[1:, 1:]) + g[:-1, 1:] + g[1:, :-1]
        return float(sides.sum()) * self.cell[0] * self.cell[1] / 6.0

    @property
    def moments(self) -> Vector:
        raise ModelError("a HeightField stands still and has no inertia; give it to world.add_fixed(...)")

    @property
    def reach(self) -> float:
        return hypot(self.x / 2, self.y / 2, max(float(self.grid.max()), -self.floor))

    @property
    def half_thickness(self) -> float:
        return inf  # what is in it goes up again, however thin it is

    def __repr__(self) -> str:
        rows, columns = self.grid.shape
        return f"HeightField({rows} × {columns} heights, x={self.x:g}, y={self.y:g}, base={self.base:g})"


SHAPES: dict[str, type[Shape]] = {
    cls.__name__: cls for cls in (Sphere, Box, Cylinder, Capsule, ConvexMesh, HeightField)
}


def shape_from(description: dict[str, Any]) -> Shape:
    """The shape that `describe()` described."""
    options = dict(description)
    name = options.pop("shape", None)
    if name not in SHAPES:
        raise ModelError(f"there is no shape {name!r}; {nearest(str(name), SHAPES)}")
    return SHAPES[name](**{key: tuple(v) if isinstance(v, list) else v for key, v in options.items()})


def mass_of_shapes(shapes: Sequence[Shape], mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Centre of mass, and 3 × 3 inertia about it, of shapes of equal density everywhere."""
    whole = sum(shape.volume for shape in shapes)
    inertia, centre = np.zeros((3, 3)), np.zeros(3)
    for shape in shapes:
        share, turn = mass * shape.volume / whole, matrix_of(shape.orientation)
        place = np.array(shape.position) + turn @ shape.centre
        inertia += share * (turn @ shape.inertia @ turn.T + _spread(place))
        centre += share / mass * place
    return centre, inertia - mass * _spread(centre)


def _spread(place: np.ndarray) -> np.ndarray:
    """The inertia of a kilogram at a place, about the origin."""
    return place @ place * np.eye(3) - np.outer(place, place)


def inertia_of(shapes: tuple[Shape, ...], mass: float) -> np.ndarray:
    """The 3 × 3 inertia about the origin of a body of equal density everywhere; its centre of mass must lie there."""
    middle, inertia = mass_of_shapes(shapes, mass)
    reach = max(max(float(np.abs(shape.position).max()), shape.volume ** (1.0 / 3.0)) for shape in shapes)
    if np.abs(middle).max() > 1e-9 * reach:
        told = ", ".join(f"{x:.6g}" for x in middle)
        centred = "say centred=True" if len(shapes) == 1 and isinstance(shapes[0], ConvexMesh) else "state the inertia"
        raise ModelError(
            f"the centre of mass of the shapes is at ({told}) in the axes of the body, and must be its origin; "
            f"move the shapes by as much the other way, or {centred}"
        )
    return inertia
