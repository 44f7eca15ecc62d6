"""A scene as pixels, by NumPy alone: every solid is met by the rays of the pixels it may cover, in one go.

Rays meet shapes exactly (of meshes with very many faces: the most telling ones), so bodies that reach into each other,
as at joints, are drawn as they are. Light comes from above, and shadows fall straight down on the ground. All is drawn
twice as fine as shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import cos, hypot, radians, sin, tan

import numpy as np

from passivo.run import relief
from passivo.run.scene import Scene, Solid, Stroke, Surface
from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, HeightField, Shape, Sphere

FINE = 2  # pixels that are computed in each direction for one that is shown
VIEW = 28.0  # degrees from the lower to the upper edge of the picture
MARGIN = 0.08  # of the picture, on each side
ELEVATION = 18.0
ASIDE = 28.0  # degrees by which the eye stands beside the broad side
BACK = np.array([[252, 253, 254], [226, 232, 238]], dtype=np.float32)  # top and bottom
GROUND, LINE = np.array([236, 238, 240], dtype=np.float32), np.array([196, 202, 208], dtype=np.float32)
PLANE, PLANE_LINE = np.array([221, 224, 228], dtype=np.float32), np.array([168, 176, 184], dtype=np.float32)
STEEP = 0.14  # by how much a wall is darker than a floor
BEHIND = 0.5  # of the lines of a plane that is seen from behind, through itself
SHADOW = 0.28
SEEN = 3.0  # pixels; a body that reaches less far from its centre is marked by a dot
MOST_PLANES = 300  # of a mesh
SHARP = 0.93  # cosine of the angle between faces whose edge is drawn
SEEN_THROUGH = 0.38  # of a stroke behind a solid

Vector3 = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Window:
    """A part of the fine picture: rows `top` to `bottom`, columns `left` to `right`."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def empty(self) -> bool:
        return self.bottom <= self.top or self.right <= self.left

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)

    def joined(self, other: Window) -> Window:
        return Window(
            min(self.top, other.top), max(self.bottom, other.bottom),
            min(self.left, other.left), max(self.right, other.right),
        )  # fmt: skip


class Camera:
    """An eye that has the whole run in view; `x` and `y` of a pixel are the slopes of its ray to the line of sight."""

    def __init__(self, scene: Scene, width: int, height: int, view: tuple[float, float] | None):
        self.width, self.height = FINE * width, FINE * height
        azimuth, elevation = (_broad_side(scene) + ASIDE, ELEVATION) if view is None else view
        a, e = radians(azimuth), radians(elevation)
        east, north = level(scene.up)
        towards = cos(e) * (cos(a) * east + sin(a) * north) + sin(e) * scene.up
        self.ahead = -towards
        self.right = cos(a) * north - sin(a) * east
        self.above = np.cross(self.right, self.ahead)
        self.axes = np.array([self.right, self.above, self.ahead])
        self.slope = tan(radians(VIEW / 2)) / (self.height / 2)  # of one pixel
        self.eye = self._placed(scene)
        self.x = ((np.arange(self.width, dtype=np.float32) + 0.5 - self.width / 2) * self.slope).astype(np.float32)
        self.y = (-(np.arange(self.height, dtype=np.float32) + 0.5 - self.height / 2) * self.slope).astype(np.float32)

    def _placed(self, scene: Scene) -> np.ndarray:
        """The nearest place from which every ball of the scene lies within the margins."""
        centres = scene.centres @ self.axes.T
        eye, depths = np.zeros(3), []
        for k, half in ((0, self.width / 2), (1, self.height / 2)):
            reach = self.slope * half * (1.0 - 2 * MARGIN)
            room = scene.radii * hypot(1.0, reach)
            one = float((centres[:, k] + room - reach * centres[:, 2]).max())
            other = float((-centres[:, k] + room - reach * centres[:, 2]).max())
            eye[k] = (one - other) / 2
            depths.append(-(one + other) / (2 * reach))
        nearest = float((centres[:, 2] - scene.radii).min()) - 0.2 * scene.unit
        eye[2] = min(*depths, nearest)
        return eye @ self.axes

    def seen(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column, row and depth of points (n, 3), in fine pixels and metres."""
        x, y, depth = ((points - self.eye) @ self.axes.T).T
        depth = np.maximum(depth, 1e-9)
        return x / depth / self.slope + self.width / 2, self.height / 2 - y / depth / self.slope, depth

    def window(self, points: np.ndarray, margin: float = 1.0) -> Window:
        """The part of the picture that holds all of these points, on even pixels."""
        column, row = self.seen(points)[:2]
        low = lambda v: max(int(np.floor(v.min() - margin)) // FINE * FINE, 0)  # noqa: E731
        high = lambda v, most: min(-(-int(np.ceil(v.max() + margin)) // FINE) * FINE, most)  # noqa: E731
        return Window(low(row), high(row, self.height), low(column), high(column, self.width))

    def around(self, centre: np.ndarray, radius: float) -> Window:
        """The part of the picture that holds a ball."""
        depth = float((centre - self.eye) @ self.ahead)
        if depth <= radius:
            return Window(0, self.height, 0, self.width)
        return self.window(centre[None], 1.0 + 1.15 * radius / (depth - radius) / self.slope)


class Canvas:
    """Draws a scene from one camera: the ground once, all that moves for every picture."""

    def __init__(self, scene: Scene, width: int, height: int, view: tuple[float, float] | None = None):
        self.scene, self.camera = scene, Camera(scene, width, height, view)
        self.light = unit(scene.up + 0.45 * self.camera.right - 0.5 * self.camera.ahead)
        self.grid = spacing(scene.size)
        middle = float(((scene.centres - self.camera.eye) @ self.camera.ahead).mean())
        self.least = SEEN * FINE * self.camera.slope * middle
        self._lay_ground()
        self._lay_fixed()
        self.still = _coarse(self.back)
        self.shape = (self.camera.height, self.camera.width)

    def picture(self, time: float) -> np.ndarray:
        """The scene at a moment: (height, width, 3) in bytes."""
        solids = list(self.scene.solids(time))
        strokes = list(self.scene.strokes(time, -self.camera.ahead, self.least))
        windows = [self.camera.around(solid.place, solid.reach) for solid in solids]
        shades = [self._under(solid) for solid in solids]
        inked = [self.camera.window(stroke.points, 2 + 2 * FINE * stroke.width) for stroke in strokes]
        busy = [window for window in (*windows, *shades, *inked) if not window.empty]
        result = self.still.copy()
        if not busy:
            return result
        whole = busy[0]
        for window in busy[1:]:
            whole = whole.joined(window)
        self.colour = self.back[whole.slices].copy()
        self.depth = self.hidden[whole.slices].copy()
        self.origin = whole
        self.dark = np.zeros(self.depth.shape, bool)
        for solid, window in zip(solids, shades):
            self._shade(solid, window)
        self.colour *= 1.0 - (SHADOW * self.fade[whole.slices] * self.dark)[..., None]
        for solid, window in zip(solids, windows):
            self._solid(solid, window)
        self._ink(strokes)
        rows, columns = (slice(s.start // FINE, s.stop // FINE) for s in whole.slices)
        result[rows, columns] = _coarse(self.colour)
        return result

    # -- the ground ---------------------------------------------------------------------------------------------------

    def _lay_ground(self) -> None:
        """The back, the ground and the planes of worlds, and for every pixel how far it is to the nearest of these."""
        camera, scene = self.camera, self.scene
        share = np.linspace(0.0, 1.0, camera.height, dtype=np.float32)[:, None, None]
        self.back = np.broadcast_to((1 - share) * BACK[0] + share * BACK[1], (camera.height, camera.width, 3)).copy()
        self.far = np.full(self.back.shape[:2], np.inf, np.float32)
        self.hidden, self.fade = self.far.copy(), np.zeros_like(self.far)
        laid = [self._lay(surface) for surface in scene.surfaces]
        order = np.argsort([-far for far, *_ in laid], axis=0)  # the farthest first
        for rank in order:
            for k, (_, cover, colour) in enumerate(laid):
                self.back += np.where(rank == k, cover, np.float32(0))[..., None] * (colour - self.back)
        for surface, (far, cover, _) in zip(scene.surfaces, laid):
            if camera.eye @ surface.normal > surface.height:
                nearer = (far < self.far) & (cover > 0)
                self.far[nearer], self.fade[nearer] = far[nearer], cover[nearer]
                hides = nearer & (cover > 0.5) if surface.real else np.zeros_like(nearer)
                self.hidden[hides] = far[hides]

    def _lay_fixed(self) -> None:
        """What never moves, over the ground: drawn once, and shadows fall on it."""
        self.colour, self.depth = self.back, self.hidden
        self.origin = Window(0, self.camera.height, 0, self.camera.width)
        self.standing = list(self.scene.fixed())
        for solid in self.standing:
            self._solid(solid, self.camera.around(solid.place, solid.reach))
        if self.standing:
            nearer = self.hidden < self.far
            self.far[nearer], self.fade[nearer] = self.hidden[nearer], 1.0

    def _lay(self, surface: Surface) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every pixel how far a plane is, how much it covers of what lies behind, and its colour."""
        camera, scene, normal = self.camera, self.scene, surface.normal
        x, y = camera.x[None, :], camera.y[:, None]
        over = float(camera.eye @ normal) - surface.height
        foot = camera.eye - over * normal
        east, north = level(normal)
        middle = (scene.centres.min(axis=0) + scene.centres.max(axis=0)) / 2 - foot
        rise = self._along(normal, x, y)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.where(rise * np.sign(over) < -1e-6, -over / rise, np.inf).astype(np.float32)
            u, v = far * self._along(east, x, y), far * self._along(north, x, y)
            away = np.hypot(u - middle @ east, v - middle @ north) / (0.75 * scene.size + 2 * self.grid)
            cover = np.nan_to_num(np.clip(1.6 - 1.6 * away, 0.0, 1.0)).astype(np.float32)
            wide = 0.9 * FINE * camera.slope * far  # of a line of the grid, in metres, and wider where it lies flat
            lines = np.zeros_like(far)
            for place, start in ((u, foot @ east), (v, foot @ north)):
                off = np.abs((place + start + self.grid / 2) % self.grid - self.grid / 2)
                steep = np.abs(np.gradient(place, axis=0)) + np.abs(np.gradient(place, axis=1))
                lines = np.maximum(lines, np.clip(1.5 - off / np.maximum(0.5 * wide, 0.75 * steep), 0.0, 1.0))
            lines = np.nan_to_num(lines)
        face, line = (PLANE, PLANE_LINE) if surface.real else (GROUND, LINE)
        tone = np.float32(1.0 - STEEP * np.linalg.norm(np.cross(normal, scene.up)))
        colour = tone * (face + lines[..., None] * (line - face))
        return far, (cover if over > 0.0 else BEHIND * lines * cover), colour

    def _along(self, axis: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The component of every ray along an axis."""
        a, b, c = (float(v) for v in self.camera.axes @ axis)
        return np.float32(c) + np.float32(a) * x + np.float32(b) * y

    def _under(self, solid: Solid) -> Window:
        """The part of the picture in which the shadows of a solid lie."""
        up = self.scene.up
        east, north = level(up)
        corners = np.array([i * east + j * north for i in (-1, 1) for j in (-1, 1)])
        points = solid.place + solid.reach * corners
        whole = Window(0, 0, 0, 0)
        falls = [surface.under(points, up) for surface in self.scene.surfaces]
        for thing in self.standing:  # from where it may begin to where it ends
            falls += [points @ up - thing.place @ up + side * thing.reach for side in (-1.0, 1.0)]
        for fall in falls:
            if not fall.max() < np.inf or fall.max() < -solid.reach:
                continue
            shadow = points - np.maximum(fall, 0.0)[:, None] * up
            if ((shadow - self.camera.eye) @ self.camera.ahead).min() > 0.0:
                one = self.camera.window(shadow)
                whole = one if whole.empty else whole if one.empty else whole.joined(one)
        return whole

    def _shade(self, solid: Solid, window: Window) -> None:
        """Mark the pixels of the ground and of planes that see the solid straight above them."""
        if window.empty:
            return
        rows, columns = window.slices
        frame = solid.turn.T @ self.camera.axes.T
        start, far = solid.turn.T @ (self.camera.eye - solid.place), self.far[window.slices]
        x, y = self.camera.x[None, columns], self.camera.y[rows, None]
        with np.errstate(all="ignore"):
            points: Vector3 = tuple(  # type: ignore[assignment]
                np.float32(start[k])
                + far * (np.float32(frame[k, 2]) + np.float32(frame[k, 0]) * x + np.float32(frame[k, 1]) * y)
                for k in range(3)
            )
            upwards: Vector3 = tuple(np.float32(v) for v in solid.turn.T @ self.scene.up)  # type: ignore[assignment]
            height = meet(solid.shape, points, upwards)
            hit = np.isfinite(height) & (height > -1e-3 * solid.reach)
        self.dark[self._inside(window)] |= hit

    def _inside(self, window: Window) -> tuple[slice, slice]:
        """A part of the picture within that which is drawn anew."""
        top, left = self.origin.top, self.origin.left
        return slice(window.top - top, window.bottom - top), slice(window.left - left, window.right - left)

    # -- solids -------------------------------------------------------------------------------------------------------

    def _solid(self, solid: Solid, window: Window) -> None:
        """Meet a solid with the rays of a part of the picture, and colour those that meet nothing nearer."""
        if window.empty:
            return
        camera, frame = self.camera, solid.turn.T @ self.camera.axes.T  # from the axes of the camera to those of it
        x, y = camera.x[None, window.left : window.right], camera.y[window.top : window.bottom, None]
        depth = float((solid.place - camera.eye) @ camera.ahead)
        # rays begin where they cross the plane through its centre: small numbers, so single precision will do
        start = solid.turn.T @ (camera.eye - solid.place) + depth * frame[:, 2]
        single = np.float32
        rays: Vector3 = tuple(  # type: ignore[assignment]
            single(frame[k, 2]) + single(frame[k, 0]) * x + single(frame[k, 1]) * y for k in range(3)
        )
        points: Vector3 = tuple(  # type: ignore[assignment]
            single(start[k]) + single(depth * frame[k, 0]) * x + single(depth * frame[k, 1]) * y for k in range(3)
        )
        with np.errstate(all="ignore"):
            beyond = meet(solid.shape, points, rays)
        part = self._inside(window)
        seen = depth + beyond < self.depth[part]
        if not seen.any():
            return
        t = beyond[seen]
        q = [points[k][seen] + t * rays[k][seen] for k in range(3)]
        normal, tone = surface(solid.shape, q, FINE * camera.slope * depth)
        light = solid.turn.T @ self.light
        bright = 0.62 + 0.38 * sum(normal[k] * single(light[k]) for k in range(3))
        size = np.sqrt(sum(rays[k][seen] ** 2 for k in range(3)))
        facing = -sum(normal[k] * rays[k][seen] for k in range(3)) / size
        bright *= 0.72 + 0.28 * np.clip(facing / 0.4, 0.0, 1.0)  # a darker rim, so that each stands out from the next
        colour = np.array(solid.colour, np.float32) * bright[:, None]
        colour = np.where(tone[:, None] > 0, colour + tone[:, None] * (255 * bright[:, None] - colour),
                          colour * (1 + tone[:, None]))  # fmt: skip
        self.colour[part][seen] = np.minimum(colour, 255)
        self.depth[part][seen] = depth + t

    # -- strokes ------------------------------------------------------------------------------------------------------

    def _ink(self, strokes: list[Stroke]) -> None:
        """Strokes and dots; what lies behind a solid shines through."""
        spots = [self._spots(stroke) for stroke in strokes]
        if not spots:
            return
        column, row, depth, colour = (np.concatenate([spot[k] for spot in spots]) for k in range(4))
        column, row = column - self.origin.left, row - self.origin.top
        height, width = self.colour.shape[:2]
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        pixel, depth, colour = (row * width + column)[inside], depth[inside], colour[inside]
        hidden = depth > 1.002 * self.depth.ravel()[pixel]
        order = np.lexsort((-depth, ~hidden))  # where several fall on a pixel, the last one counts
        pixel, hidden, colour = pixel[order], hidden[order], colour[order]
        weight = np.zeros(height * width, np.float32)
        ink = np.zeros((height * width, 3), np.float32)
        weight[pixel], ink[pixel] = np.where(hidden, SEEN_THROUGH, 1.0), colour
        where = np.flatnonzero(weight)
        flat = self.colour.reshape(-1, 3)
        flat[where] += weight[where, None] * (ink[where] - flat[where])

    def _spots(self, stroke: Stroke) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All pixels that a stroke covers: (column, row, depth, colour), some of them several times."""
        column, row, depth = self.camera.seen(stroke.points)
        reach = 2.0 * max(self.camera.width, self.camera.height)
        column, row = (np.clip(v, -reach, 2 * reach) for v in (column, row))
        if not stroke.dots:
            count = np.ceil(np.hypot(np.diff(column), np.diff(row))).astype(int) + 1
            first = np.repeat(np.arange(len(count)), count)
            share = (np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)) / np.repeat(count, count)
            column, row, depth = (v[first] + share * np.diff(v)[first] for v in (column, row, depth))
        radius = FINE * stroke.width * (1.0 if stroke.dots else 0.5)
        i, j = _disc(radius)
        column = (np.floor(column).astype(int)[:, None] + i).ravel()
        row = (np.floor(row).astype(int)[:, None] + j).ravel()
        colour = np.broadcast_to(np.array(stroke.colour, np.float32), (len(column), 3))
        return column, row, np.repeat(depth, len(i)), colour


# -- geometry ---------------------------------------------------------------------------------------------------------


def meet(shape: Shape, p: Vector3, d: Vector3) -> np.ndarray:
    """How far along d the lines through p first meet a shape about the origin; infinite where they do not."""
    match shape:
        case Sphere():
            return _ball(shape.radius, p, d)[0]
        case Box():
            near, far = _slab(shape.x / 2, p[0], d[0])
            for k, edge in ((1, shape.y), (2, shape.z)):
                one, other = _slab(edge / 2, p[k], d[k])
                near, far = np.maximum(near, one), np.minimum(far, other)
            return np.where(near <= far, near, np.inf)
        case Cylinder():
            near, far = _tube(shape.radius, p, d)
            one, other = _slab(shape.length / 2, p[2], d[2])
            near, far = np.maximum(near, one), np.minimum(far, other)
            return np.where(near <= far, near, np.inf)
        case Capsule():
            half = np.float32(shape.length / 2)
            near, _ = _tube(shape.radius, p, d)
            best = np.where(np.abs(p[2] + near * d[2]) <= half, near, np.inf)
            for side in (-half, half):
                best = np.minimum(best, _ball(shape.radius, (p[0], p[1], p[2] - side), d)[0])
            return best
        case ConvexMesh():
            return _between(planes_of(shape), p, d)
        case HeightField():
            return relief.meet(shape, p, d)
    raise TypeError(type(shape).__name__)


def _ball(radius: float, p: Vector3, d: Vector3) -> tuple[np.ndarray, np.ndarray]:
    a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    b = p[0] * d[0] + p[1] * d[1] + p[2] * d[2]
    c = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - np.float32(radius**2)
    return _roots(a, b, c)


def _tube(radius: float, p: Vector3, d: Vector3) -> tuple[np.ndarray, np.ndarray]:
    """An endless cylinder along z."""
    a = d[0] * d[0] + d[1] * d[1] + np.float32(1e-20)
    return _roots(a, p[0] * d[0] + p[1] * d[1], p[0] * p[0] + p[1] * p[1] - np.float32(radius**2))


def _roots(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest = b * b - a * c
    root, inside = np.sqrt(np.maximum(rest, 0)), rest >= 0
    return np.where(inside, (-b - root) / a, np.inf), np.where(inside, (-b + root) / a, -np.inf)


def _slab(half: float, p: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where lines are between two planes."""
    inverse = np.float32(1) / np.where(np.abs(d) < 1e-12, np.float32(1e-12), d)
    one, other = (-np.float32(half) - p) * inverse, (np.float32(half) - p) * inverse
    return np.minimum(one, other), np.maximum(one, other)


def _between(planes: np.ndarray, p: Vector3, d: Vector3) -> np.ndarray:
    """Where lines come in behind all of these planes."""
    near, far = np.float32(-np.inf), np.float32(np.inf)
    for a, b, c, offset in planes.astype(np.float32):
        room, pace = offset - a * p[0] - b * p[1] - c * p[2], a * d[0] + b * d[1] + c * d[2]
        at = room / np.where(np.abs(pace) < 1e-12, np.float32(1e-12), pace)
        near, far = np.where(pace < 0, np.maximum(near, at), near), np.where(pace < 0, far, np.minimum(far, at))
    return np.where(near <= far, near, np.inf)


@lru_cache(maxsize=64)
def planes_of(mesh: ConvexMesh) -> np.ndarray:
    """The planes of a mesh, each once; for very many of them planes that touch it all around."""
    planes = np.unique(np.round(mesh.polyhedron.planes / [1, 1, 1, mesh.reach], 6), axis=0) * [1, 1, 1, mesh.reach]
    if len(planes) <= MOST_PLANES:
        return planes
    k = np.arange(MOST_PLANES) + 0.5  # ways spread evenly over the sphere
    z, turn = 1.0 - 2.0 * k / MOST_PLANES, k * np.pi * (1.0 + np.sqrt(5.0))
    ways = np.column_stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])
    return np.column_stack([ways, (ways @ mesh.polyhedron.corners.T).max(axis=1)])


def _facets(planes: np.ndarray, q: list[np.ndarray], pixel: float) -> tuple[list[np.ndarray], np.ndarray]:
    """The face on which each point lies, and whether it is near a sharp edge."""
    planes = planes.astype(np.float32)
    best = np.full(q[0].shape, -np.inf, np.float32)
    second, first, other = best.copy(), np.zeros(best.shape, int), np.zeros(best.shape, int)
    for k, (a, b, c, offset) in enumerate(planes):
        out = a * q[0] + b * q[1] + c * q[2] - offset
        wins, next_one = out > best, out > second
        other = np.where(wins, first, np.where(next_one, k, other))
        second = np.where(wins, best, np.where(next_one, out, second))
        first, best = np.where(wins, k, first), np.where(wins, out, best)
    normal = planes[first, :3]
    sharp = (normal * planes[other, :3]).sum(axis=1) < SHARP
    # `second` falls off an edge by the sine of the angle there
    slope = np.sqrt(np.maximum(1.0 - (normal * planes[other, :3]).sum(axis=1) ** 2, 1e-6))
    edge = sharp & (best - second < 0.7 * pixel * slope)
    return [normal[:, k] for k in range(3)], np.where(edge, np.float32(-0.45), np.float32(0))


def surface(shape: Shape, q: list[np.ndarray], pixel: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Normals at points of the surface, and a tone: lighter fields that show how a round one turns, darker edges."""
    match shape:
        case Sphere():
            return [v / np.float32(shape.radius) for v in q], _fields(q[0] * q[1] * q[2])
        case Box():
            halves = [np.float32(edge / 2) for edge in (shape.x, shape.y, shape.z)]
            inward = np.stack([half - np.abs(v) for half, v in zip(halves, q)])  # how far from each pair of faces
            face = inward.argmin(axis=0)
            normal = [np.where(face == k, np.sign(q[k]), np.float32(0)) for k in range(3)]
            least, most = np.minimum(inward[0], inward[1]), np.maximum(inward[0], inward[1])
            edge = np.maximum(least, np.minimum(most, inward[2]))  # the second smallest: near two faces at once
            return normal, np.where(edge < 0.7 * pixel, np.float32(-0.45), np.float32(0))
        case Cylinder():
            half, radius = np.float32(shape.length / 2), np.float32(shape.radius)
            across = np.hypot(q[0], q[1])
            end = (half - np.abs(q[2])) < (radius - across)
            flat = np.where(end, np.float32(0), 1 / np.maximum(across, np.float32(1e-30)))
            tone = _fields(q[0] * q[1])
            rim = np.maximum(half - np.abs(q[2]), radius - across) < 0.7 * pixel
            return [q[0] * flat, q[1] * flat, np.where(end, np.sign(q[2]), 0)], np.where(rim, np.float32(-0.4), tone)
        case Capsule():
            half, radius = np.float32(shape.length / 2), np.float32(shape.radius)
            return [q[0] / radius, q[1] / radius, (q[2] - np.clip(q[2], -half, half)) / radius], _fields(q[0] * q[1])
        case ConvexMesh():
            return _facets(planes_of(shape), q, pixel)
        case HeightField():
            return relief.surface(shape, q, pixel)
    raise TypeError(type(shape).__name__)


def _fields(sign: np.ndarray) -> np.ndarray:
    return np.where(sign > 0, np.float32(0.28), np.float32(0))


def _disc(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Pixels of a disc, as offsets."""
    reach = int(np.ceil(radius))
    side = np.arange(-reach, reach + 1)
    i, j = np.repeat(side, len(side)), np.tile(side, len(side))
    inside = i * i + j * j <= radius * radius
    return i[inside], j[inside]


def _coarse(fine: np.ndarray) -> np.ndarray:
    """The mean of every group of fine pixels, in bytes."""
    rows, columns = fine.shape[0] // FINE, fine.shape[1] // FINE
    mean = sum(fine[i::FINE, j::FINE] for i in range(FINE) for j in range(FINE)) / FINE**2
    return np.clip(mean + 0.5, 0, 255).astype(np.uint8).reshape(rows, columns, 3)


def level(up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two directions at right angles to `up`: x and y where it is z."""
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    east = unit(first - (first @ up) * up)
    return east, np.cross(up, east)


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def spacing(size: float) -> float:
    """Metres between lines of the ground: 1, 2 or 5 times a power of ten."""
    rough = size / 8.0
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= rough * (1 - 1e-9)))


def _broad_side(scene: Scene) -> float:
    """The azimuth, in degrees, from which the scene is broadest; −90 (from −y) where it is as broad from everywhere."""
    east, north = level(scene.up)
    flat = np.column_stack([scene.centres @ east, scene.centres @ north])
    flat = flat - flat.mean(axis=0)
    values, vectors = np.linalg.eigh(flat.T @ flat)
    if values[1] < 3.0 * values[0] or values[1] < 1e-6 * scene.size**2:
        return -90.0
    broad = vectors[:, 1]
    angle = float(np.degrees(np.arctan2(-broad[0], broad[1])))  # at right angles to it
    return angle if angle <= 0.0 else angle - 180.0
