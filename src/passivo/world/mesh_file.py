"""Points and faces of OBJ and STL files. A file is believed nothing: sizes, numbers and indices are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.world.hull import MOST_POINTS

MOST_BYTES = 1 << 28
STL_HEAD, STL_FACE = 84, 50  # bytes
SAME = 1e-7  # of its size: corners of faces in STL files that are so near are one point


def read_mesh(path: Any) -> tuple[np.ndarray, list[list[int]]]:
    """Points (n, 3), and faces as numbers of points."""
    try:
        file = Path(path)
        size = file.stat().st_size if file.is_file() else -1
        if size < 0:
            raise ModelError(f"there is no file {str(file)!r}; a mesh is read from an .obj or .stl file")
        if size > MOST_BYTES:
            raise ModelError(f"{str(file)!r} has {size} bytes; a mesh of at most {MOST_BYTES} is read: simplify it")
        data = file.read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise ModelError(f"the mesh {quoted(str(path))} cannot be read: {error}") from None
    match file.suffix.lower():
        case ".obj":
            return _obj(data.decode("utf-8", "replace"), str(file))
        case ".stl":
            return _stl(data, str(file))
    raise ModelError(f"{str(file)!r} is no .obj or .stl file; export the mesh as one of these")


def _obj(text: str, file: str) -> tuple[np.ndarray, list[list[int]]]:
    """Lines `v x y z` and `f a b c ...`, where a may be a/b/c, and counts from the end if it is below 0."""
    points: list[list[float]] = []
    faces: list[list[int]] = []
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        words = line.split("#")[0].split()
        if not words or words[0] not in ("v", "f"):
            continue
        try:
            if words[0] == "v":
                points.append([float(word) for word in words[1:4]])
                good = len(words) >= 4
            else:
                given = [int(word.split("/")[0]) for word in words[1:]]
                faces.append([i - 1 if i > 0 else len(points) + i for i in given])
                good = len(given) >= 3 and all(given)
        except ValueError:
            good = False
        if not good:
            raise ModelError(
                f"{file}, line {number}: expected three numbers after v, or three or more of points after f, "
                f"not {quoted(line.strip())}"
            )
        if max(len(points), len(faces)) > MOST_POINTS:
            raise ModelError(f"{file} has more than {MOST_POINTS} points or faces; simplify the mesh")
    if not points or not faces:
        raise ModelError(f"{file} has {len(points)} points and {len(faces)} faces: it holds no mesh")
    return np.array(points), faces


def _stl(data: bytes, file: str) -> tuple[np.ndarray, list[list[int]]]:
    """Triangles, each with three corners of its own: corners at one place become one point."""
    count = int.from_bytes(data[80:84], "little") if len(data) >= STL_HEAD else -1
    if len(data) == STL_HEAD + STL_FACE * count and count > 0:
        rows = np.frombuffer(data, np.uint8, offset=STL_HEAD).reshape(count, STL_FACE)[:, 12:48]
        with np.errstate(invalid="ignore"):
            corners = np.frombuffer(rows.tobytes(), "<f4").astype(float).reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid":
        corners = _stl_text(data.decode("utf-8", "replace"), file)
    else:
        told = f"of {count} triangles" if count >= 0 else "of a binary STL"
        raise ModelError(
            f"{file} has {len(data)} bytes, and its head is not that of a text nor {told}: it is cut or no STL"
        )
    if len(corners) > 3 * MOST_POINTS:
        raise ModelError(f"{file} has {len(corners) // 3} triangles; at most {MOST_POINTS} are read: simplify the mesh")
    if not np.isfinite(corners).all():
        raise ModelError(f"{file} has corners that are NaN or infinite")
    size = float(np.ptp(corners, axis=0).max()) or 1.0
    _, first, which = np.unique(np.round(corners / (SAME * size)), axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1, 3)
    sound = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return corners[first], faces[sound].tolist()


def _stl_text(text: str, file: str) -> np.ndarray:
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].lower() != "vertex":
            continue
        try:
            rows.append([float(x) for x in words[1:]])
        except ValueError:
            rows.append([])
        if len(rows[-1]) != 3:
            raise ModelError(f"{file}, line {number}: expected three numbers after vertex, not {quoted(line.strip())}")
    if not rows or len(rows) % 3:
        raise ModelError(f"{file} has {len(rows)} corners of triangles: not three for each, so it is cut or no STL")
    return np.array(rows)
