"""Friction and restitution of two surfaces that touch: the rule of all, and what is said of single pairs. Kernels."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.table import *


def surface_of(m, t, first, second):
    """Friction and restitution between two geoms."""
    if t[PAIRS] > 0:
        owners = t[GEOM_TABLE] + t[GEOMS]
        a, b = t[owners + first], t[owners + second]
        for i in range(t[PAIRS]):
            pair = t[PAIR_TABLE] + 2 * i
            if (t[pair] == a and t[pair + 1] == b) or (t[pair] == b and t[pair + 1] == a):
                return m[t[AT_PAIRS] + 2 * i], m[t[AT_PAIRS] + 2 * i + 1]
    one, other = t[AT_SURFACES] + 2 * first, t[AT_SURFACES] + 2 * second
    return sqrt(m[one] * m[other]), max(m[one + 1], m[other + 1])


INLINE = ()
KERNELS = (surface_of,)
