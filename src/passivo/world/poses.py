"""Turns of bodies in a step (spec 4.2, 4.4). Kernels; `table.py` says how a world lies in `m` and `t`.

A step turns a body from R to R exp(S(θ)), θ = h ŵ in its own axes. `exp(S(θ)) − I = E S(θ)` with `E = a I + b S(θ)`, so
that the way of a point r of the body is exactly `−R E S(r) θ`.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.table import *

SMALL_ANGLE = 0.01


def bend(angle):
    """a = sin t / t and b = (1 − cos t) / t²."""
    t2 = angle * angle
    if angle < SMALL_ANGLE:
        a = 1.0 - t2 / 6.0 * (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0))
        b = 0.5 - t2 / 24.0 * (1.0 - t2 / 30.0 * (1.0 - t2 / 56.0))
    else:
        half = sin(0.5 * angle)
        a = sin(angle) / angle
        b = 2.0 * half * half / t2
    return a, b


def turn(m, q, r):
    """The rotation matrix at `r` of the unit quaternion at `q`."""
    w, x, y, z = m[q], m[q + 1], m[q + 2], m[q + 3]
    m[r] = 1.0 - 2.0 * (y * y + z * z)
    m[r + 1] = 2.0 * (x * y - w * z)
    m[r + 2] = 2.0 * (x * z + w * y)
    m[r + 3] = 2.0 * (x * y + w * z)
    m[r + 4] = 1.0 - 2.0 * (x * x + z * z)
    m[r + 5] = 2.0 * (y * z - w * x)
    m[r + 6] = 2.0 * (x * z - w * y)
    m[r + 7] = 2.0 * (y * z + w * x)
    m[r + 8] = 1.0 - 2.0 * (x * x + y * y)


def spin_on(m, old, new, x, y, z):
    """The quaternion at `new` is that at `old` turned by θ = (x, y, z) in the axes of the body."""
    half = 0.5 * sqrt(x * x + y * y + z * z)
    c = cos(half)
    s, _ = bend(half)
    x, y, z = 0.5 * s * x, 0.5 * s * y, 0.5 * s * z
    a, b, d, e = m[old], m[old + 1], m[old + 2], m[old + 3]
    p = a * c - b * x - d * y - e * z
    i = a * x + b * c + d * z - e * y
    j = a * y - b * z + d * c + e * x
    k = a * z + b * y - d * x + e * c
    size = 1.0 / sqrt(p * p + i * i + j * j + k * k)
    m[new] = p * size
    m[new + 1] = i * size
    m[new + 2] = j * size
    m[new + 3] = k * size


def frames(m, t, state, slot):
    """Rotation matrices of all carriers at `slot` of their frames, from the state that begins at `state`."""
    for c in range(t[CARRIERS]):
        at = t[CARRIER_TABLE] + c * C_SIZE
        turn(m, state + t[at + C_STATE] + Q, t[AT_FRAMES] + c * F_SIZE + slot)


def twist(m, t, h):
    """The mean turns R E, and the turns at the end, of a step in which every carrier moves by F_HAT."""
    for c in range(t[CARRIERS]):
        at = t[AT_FRAMES] + c * F_SIZE
        x, y, z = h * m[at + F_HAT + 3], h * m[at + F_HAT + 4], h * m[at + F_HAT + 5]
        a, b = bend(sqrt(x * x + y * y + z * z))
        for i in range(3):
            row = at + F_TURN + 3 * i
            r0, r1, r2 = m[row], m[row + 1], m[row + 2]
            e0 = a * r0 + b * (r1 * z - r2 * y)
            e1 = a * r1 + b * (r2 * x - r0 * z)
            e2 = a * r2 + b * (r0 * y - r1 * x)
            row = at + F_BENT + 3 * i
            m[row] = e0
            m[row + 1] = e1
            m[row + 2] = e2
            row = at + F_NEXT + 3 * i
            m[row] = r0 + (e1 * z - e2 * y)
            m[row + 1] = r1 + (e2 * x - e0 * z)
            m[row + 2] = r2 + (e0 * y - e1 * x)


def inertia(m, j, x, y, z):
    """J w, from the inertia at `j`."""
    return (
        m[j] * x + m[j + 3] * y + m[j + 4] * z,
        m[j + 3] * x + m[j + 1] * y + m[j + 5] * z,
        m[j + 4] * x + m[j + 5] * y + m[j + 2] * z,
    )


INLINE = (bend, turn, spin_on, inertia)
KERNELS = (frames, twist)
