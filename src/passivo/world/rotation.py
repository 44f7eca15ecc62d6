"""Vectors, quaternions (w x y z) and rotation matrices, as a description needs them: checked, and slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from passivo.errors import ModelError, quoted

UNIT = 1e-6  # how far the length of a quaternion may be from 1


def checked_vector(value: Any, what: str) -> tuple[float, float, float]:
    """Three finite numbers."""
    x, y, z = _numbers(value, 3, what, "three numbers such as (0, 0, 0.1)")
    return x, y, z


def vector(values: Iterable[Any]) -> tuple[float, float, float]:
    """Three numbers as plain ones."""
    x, y, z = (float(value) for value in values)
    return x, y, z


def checked_direction(value: Any, what: str) -> tuple[float, float, float]:
    """A vector of length 1 along the given one."""
    given = checked_vector(value, what)
    size = float(np.linalg.norm(given))
    if size == 0.0:
        raise ModelError(f"{what} must not be 0; give a direction such as (0, 0, 1)")
    x, y, z = (entry / size for entry in given)
    return x, y, z


def checked_quaternion(value: Any, what: str) -> tuple[float, float, float, float]:
    """A unit quaternion w x y z."""
    given = _numbers(value, 4, what, "a unit quaternion (w, x, y, z) such as (1, 0, 0, 0)")
    size = float(np.linalg.norm(given))
    if abs(size - 1.0) > UNIT:
        near = ", ".join(f"{entry / size:.9g}" for entry in given) if size > 0.0 else "1, 0, 0, 0"
        raise ModelError(
            f"{what} must be a unit quaternion (w, x, y, z), and {quoted(value)} has length {size:.6g}; give ({near})"
        )
    w, x, y, z = (entry / size for entry in given)
    return w, x, y, z


def numbers_of(value: Any) -> np.ndarray:
    """An array of numbers; an empty one of what is none, such as text that looks like them."""
    try:
        return np.empty(0) if np.asarray(value).dtype.kind in "US" else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)


def _numbers(value: Any, count: int, what: str, expected: str) -> tuple[float, ...]:
    numbers = numbers_of(value)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ModelError(f"{what} must be {expected}, not {quoted(value)}")
    return tuple(numbers.tolist())


def matrix_of(quaternion: Any) -> np.ndarray:
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of(axis: Any, angle: float) -> tuple[float, float, float, float]:
    """The turn by `angle` about `axis`."""
    unit = checked_direction(axis, "the axis of a turn")
    s = float(np.sin(0.5 * angle))
    return float(np.cos(0.5 * angle)), s * unit[0], s * unit[1], s * unit[2]


def product(a: Any, b: Any) -> tuple[float, float, float, float]:
    """The turn b, in axes that are turned by a."""
    w, x, y, z = (float(entry) for entry in a)
    p, q, r, s = (float(entry) for entry in b)
    return (
        w * p - x * q - y * r - z * s,
        w * q + x * p + y * s - z * r,
        w * r - x * s + y * p + z * q,
        w * s + x * r - y * q + z * p,
    )
