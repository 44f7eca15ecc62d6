"""Height fields in pictures: where lines meet them, and how they look there; see `render.py`."""

from __future__ import annotations

import numpy as np

from passivo.world.shapes import HeightField

MOST = 400  # places on a line that are looked at
HALVINGS = 12
SIDE = 1e-3  # of the size: how far below the surface a point of a side wall is

Vector3 = tuple[np.ndarray, np.ndarray, np.ndarray]


def meet(field: HeightField, p: Vector3, d: Vector3) -> np.ndarray:
    """How far along d the lines through p first meet a height field; infinite where they do not."""
    x, y, z, a, b, c = (np.broadcast_to(v, np.broadcast(*p, *d).shape).astype(float) for v in (*p, *d))
    near, far = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    for place, way, low, high in (
        (x, a, -field.x / 2, field.x / 2), (y, b, -field.y / 2, field.y / 2), (z, c, field.floor, field.grid.max()),
    ):  # fmt: skip
        pace = np.where(np.abs(way) < 1e-12, 1e-12, way)
        one, other = (low - place) / pace, (high - place) / pace
        near, far = np.maximum(near, np.minimum(one, other)), np.minimum(far, np.maximum(one, other))
    result = np.full(x.shape, np.inf)
    alive = np.flatnonzero(near < far)
    x, y, z, a, b, c, near, far = (v.ravel()[alive] for v in (x, y, z, a, b, c, near, far))
    count = min(2 * sum(field.grid.shape), MOST)
    last, going, flat = near.copy(), np.arange(len(alive)), result.ravel()
    for k in range(count + 1):
        now = near[going] + (k / count + (1e-9 if k == 0 else -1e-9 if k == count else 0.0)) * (far - near)[going]
        below = _below(field, x[going] + now * a[going], y[going] + now * b[going], z[going] + now * c[going])
        hit = going[below]
        low, high = last[hit], now[below]
        for _ in range(HALVINGS if k else 0):
            middle = 0.5 * (low + high)
            inside = _below(field, x[hit] + middle * a[hit], y[hit] + middle * b[hit], z[hit] + middle * c[hit])
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        flat[alive[hit]] = high
        last[going] = now
        going = going[~below]
        if not len(going):
            break
    return flat.reshape(result.shape).astype(np.float32)


def _below(field: HeightField, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return z <= field.height(x, y)


def surface(field: HeightField, q: list[np.ndarray], pixel: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Normals at points of the surface or of the sides, and a tone: lines of the grid a little darker."""
    x, y, z = (np.asarray(v, float) for v in q)
    x, y = np.clip(x, -field.x / 2, field.x / 2), np.clip(y, -field.y / 2, field.y / 2)
    normal = field.normal(x, y)
    size = SIDE * max(field.x, field.y)
    gaps = np.stack([field.x / 2 - np.abs(x), field.y / 2 - np.abs(y)])
    side = (z < field.height(x, y) - size) & (gaps.min(axis=0) < size)
    along = gaps[0] < gaps[1]
    wall = np.stack([np.where(along, np.sign(x), 0.0), np.where(along, 0.0, np.sign(y)), np.zeros_like(x)], axis=-1)
    normal = np.where(side[..., None], wall, normal).astype(np.float32)
    tone = np.zeros(x.shape, np.float32)
    for place, whole, cell in ((x, field.x, field.cell[0]), (y, field.y, field.cell[1])):
        off = np.abs((place + whole / 2 + cell / 2) % cell - cell / 2)
        tone = np.where((off < 0.7 * pixel) & ~side & (cell > 6 * pixel), np.float32(-0.1), tone)
    return [normal[..., k] for k in range(3)], tone
