"""What drivers of vendors' libraries share: loading them on use, and rotations."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from importlib import import_module
from math import sqrt
from types import ModuleType

from passivo.errors import DeviceError


def load(module: str, package: str, extra: str, library: str) -> ModuleType:
    """A vendor's module; where it or the library behind it is missing, a sentence that says how to get it."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # what it says there is said better by the error
            import_module(module.partition(".")[0])
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise DeviceError(f"{package} cannot be used: {error}; pip install 'passivo[{extra}]'") from error
        raise DeviceError(f"the Python package {package} is missing; pip install 'passivo[{extra}]'") from error
    except (ImportError, OSError, NameError) as error:  # NameError: the package does not know this system
        raise DeviceError(f"{package} is installed, but not the vendor's library behind it: {library}") from error


def quaternion(r: Sequence[Sequence[float]]) -> tuple[float, float, float, float]:
    """w x y z of a rotation matrix; the largest component is found first, so nothing is divided by next to nothing."""
    squares = (
        1.0 + r[0][0] + r[1][1] + r[2][2],
        1.0 + r[0][0] - r[1][1] - r[2][2],
        1.0 - r[0][0] + r[1][1] - r[2][2],
        1.0 - r[0][0] - r[1][1] + r[2][2],
    )
    a, b, c = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    d, e, f = r[1][0] + r[0][1], r[0][2] + r[2][0], r[2][1] + r[1][2]
    rows = ((squares[0], a, b, c), (a, squares[1], d, e), (b, d, squares[2], f), (c, e, f, squares[3]))
    w, x, y, z = rows[squares.index(max(squares))]
    size = sqrt(w * w + x * x + y * y + z * z) or 1.0
    if w < 0.0:
        size = -size
    return w / size, x / size, y / size, z / size
