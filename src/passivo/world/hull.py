"""Convex polyhedra: the hull of points, its volume, centre and inertia, and whether faces close it."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from passivo.errors import ModelError, quoted

MOST_POINTS = 1_000_000  # that are given, and as many faces
MOST_CORNERS = 10_000  # of a hull
FLAT = 1e-5  # thickness over size: what is thinner has no inside in single precision, in which contacts are found
CONVEX = 1e-5  # of the hull's volume: what rounding of a file may take off it
HULL = "say hull=True to take the convex hull of its points"


class Hull(NamedTuple):
    """Corners (n, 3); triangles (m, 3) as numbers of corners, anticlockwise from outside; planes (m, 4): n·x <= d."""

    corners: np.ndarray
    faces: np.ndarray
    planes: np.ndarray


def checked_points(points: Any) -> np.ndarray:
    try:
        table = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or table.shape[1:] != (3,):
        raise ModelError(f"the points of a ConvexMesh must be rows (x, y, z) in metres, not {quoted(points)}")
    if len(table) > MOST_POINTS:
        raise ModelError(f"a ConvexMesh takes at most {MOST_POINTS} points, not {len(table)}; simplify the mesh")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise ModelError(f"point {bad[0]} of a ConvexMesh is {tuple(table[bad[0]].tolist())}; all must be finite")
    return table + 0.0  # no −0


def hull_of(points: np.ndarray) -> Hull:
    """The convex hull; its corners are those of the points that it needs, in their order."""
    from scipy.spatial import ConvexHull, QhullError

    middle, size = _extent(points)
    try:
        found = ConvexHull((points - middle) / size)
    except (QhullError, ValueError):
        raise ModelError(_flat(len(points))) from None
    if 2.0 * found.volume < FLAT * found.area:
        raise ModelError(_flat(len(points)))
    kept = np.sort(found.vertices)
    if len(kept) > MOST_CORNERS:
        raise ModelError(f"the hull of this ConvexMesh has {len(kept)} corners; simplify it to {MOST_CORNERS}")
    renumbered = np.zeros(len(points), dtype=int)
    renumbered[kept] = np.arange(len(kept))
    faces, corners = renumbered[found.simplices], points[kept]
    a, b, c = ((corners[faces[:, k]] - middle) / size for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0.0
    faces[inwards] = faces[inwards][:, [0, 2, 1]]
    normals = found.equations[:, :3]
    offsets = normals @ middle - size * found.equations[:, 3]
    return Hull(corners, faces, np.column_stack([normals, offsets]))


def mass_of(corners: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre of mass, and inertia about it for each kilogram, of a closed surface: sums over tetrahedra.

    With corners a, b, c seen from a point inside, each has the volume det/6, and ∫ x x' = det/120 (s s' + aa' + bb' +
    cc'), s = a + b + c.
    """
    middle, size = _extent(corners)
    a, b, c = ((corners[faces[:, k]] - middle) / size for k in range(3))
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume, s = float(six.sum()) / 6.0, a + b + c
    if volume == 0.0:
        return 0.0, middle, np.zeros((3, 3))
    centre = six @ s / (24.0 * volume)
    second = sum(np.einsum("i,ij,ik->jk", six, v, v) for v in (s, a, b, c)) / (120.0 * volume)
    second = second - np.outer(centre, centre)
    return volume * size**3, middle + size * centre, size**2 * (np.trace(second) * np.eye(3) - second)


def check_faces(points: np.ndarray, faces: Any) -> None:
    """Raise unless the faces are a closed surface, all turned the same way, and it is convex."""
    triangles = _triangles(faces, len(points))
    edges = Counter(zip(triangles.ravel().tolist(), np.roll(triangles, -1, axis=1).ravel().tolist()))
    twice = next((edge for edge, count in edges.items() if count > 1), None)
    if twice is not None:
        raise ModelError(
            f"faces of this ConvexMesh are not turned the same way, or more than two meet, at the edge between points "
            f"{twice[0]} and {twice[1]}; list the corners of every face anticlockwise as seen from outside, or {HULL}"
        )
    alone = [edge for edge in edges if edge[::-1] not in edges]
    if alone:
        raise ModelError(
            f"this ConvexMesh is not closed: {len(alone)} of its edges belong to one face only, such as that between "
            f"points {alone[0][0]} and {alone[0][1]}; add faces, join points that are there twice, or {HULL}"
        )
    hull = hull_of(points)
    whole, own = mass_of(hull.corners, hull.faces)[0], abs(mass_of(points, triangles)[0])
    if abs(whole - own) > CONVEX * whole:
        raise ModelError(
            f"this ConvexMesh is not convex: its faces enclose {own:.6g} m³, and its convex hull {whole:.6g} m³; "
            f"{HULL}, or build the body of several convex shapes: shape=[...]"
        )


def _triangles(faces: Any, count: int) -> np.ndarray:
    """Faces of three or more corners as triangles."""
    rows: list[tuple[int, int, int]] = []
    try:
        if len(faces) > MOST_POINTS:
            raise ModelError(f"a ConvexMesh takes at most {MOST_POINTS} faces, not {len(faces)}; simplify the mesh")
        for k, face in enumerate(faces):
            corners = [int(i) for i in face if int(i) == i and not isinstance(i, bool)]
            if len(corners) != len(face) or len(set(corners)) != len(corners) or len(corners) < 3:
                raise ModelError(
                    f"face {k} of a ConvexMesh must have three or more different corners, not {quoted(face)}"
                )
            outside = [i for i in corners if not 0 <= i < count]
            if outside:
                raise ModelError(f"face {k} of a ConvexMesh names point {outside[0]}; they go from 0 to {count - 1}")
            rows += [(corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)]
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"the faces of a ConvexMesh must be rows of numbers of points such as (0, 1, 2), not {quoted(faces)}"
        ) from None
    if not rows:
        raise ModelError("the faces of a ConvexMesh are empty; leave them out to take the convex hull of its points")
    return np.array(rows)


def _extent(points: np.ndarray) -> tuple[np.ndarray, float]:
    """The middle of the box around points, and its longest edge."""
    low, high = points.min(axis=0), points.max(axis=0)
    return low + (high - low) / 2, float((high - low).max()) or 1.0


def _flat(count: int) -> str:
    return (
        f"the {count} points of a ConvexMesh enclose no volume: it takes at least four that do not lie in one plane; "
        "give a plate its thickness"
    )
