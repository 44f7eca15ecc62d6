"""What joints leaked in a step, taken out of the motion of their mechanism (spec 4.5). Kernels.

Joints that are made for a foretold turn store a little more or less than they took from the motion. As soon as the new
pose is known so is the difference ε, mechanism by mechanism: its velocities, less that of its centre of mass, shrink by
√(1 − ε/E), E their energy. Where they hold too little the tank pays; what it cannot pay the ledger shows.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.books import gained, pull
    from passivo.world.contacts import first_of
    from passivo.world.poses import frames, inertia
    from passivo.world.table import *
    from passivo.world.ties import measure, rate

MOST_LEAK = 0.1  # share of the energy of a mechanism that a step may take from it, or give it


def debit(m, t, h):
    """Find what joints leaked, for each mechanism, and settle it."""
    leaks, row = t[AT_LABELS], -1
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        if t[tie + T_EXACT]:
            continue
        if row < 0:
            row = t[tie + T_ROW]
            frames(m, t, t[AT_NEXT], F_NEXT)
            for c in range(t[BODIES]):
                m[leaks + c] = 0.0
        measure(m, t, tie, t[AT_NEXT], F_NEXT, at + R_NEW)
        leak = gained(m, t, tie, at)
        for i in range(3):
            v = rate(m, t, tie, at, i)
            leak += h * v * pull(m, at, i, 0.5 * h * v)
        m[leaks + first_of(t, t[tie + T_A])] += leak
    if row >= 0:
        for c in range(t[BODIES]):
            if m[leaks + c] != 0.0:
                settle_leak(m, t, c, row, m[leaks + c])


def settle_leak(m, t, c, row, leak):
    """Take a leak out of the motion of all bodies that hang together with c, or out of the tank."""
    first, count = t[t[COMPONENT_TABLE] + 2 * c], t[t[COMPONENT_TABLE] + 2 * c + 1]
    mass, x, y, z, twice = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        at, p = speed_of(t, first + 2 * i), figures_of(t, first + 2 * i)
        mass += m[p + MASS]
        x += m[p + MASS] * m[at]
        y += m[p + MASS] * m[at + 1]
        z += m[p + MASS] * m[at + 2]
    x, y, z = x / mass, y / mass, z / mass
    for i in range(count):
        at, p = speed_of(t, first + 2 * i), figures_of(t, first + 2 * i)
        u, v, w = m[at] - x, m[at + 1] - y, m[at + 2] - z
        twice += m[p + MASS] * (u * u + v * v + w * w)
        u, v, w = inertia(m, p + INERTIA, m[at + 3], m[at + 4], m[at + 5])
        twice += m[at + 3] * u + m[at + 4] * v + m[at + 5] * w
    tank = t[AT_NEXT] + t[TANK_STATE]
    if 2.0 * abs(leak) <= MOST_LEAK * twice:
        share = sqrt(1.0 - 2.0 * leak / twice)
        for i in range(count):
            at = speed_of(t, first + 2 * i)
            m[at], m[at + 1], m[at + 2] = (
                x + share * (m[at] - x),
                y + share * (m[at + 1] - y),
                z + share * (m[at + 2] - z),
            )
            for k in range(3, 6):
                m[at + k] *= share
        m[t[AT_RECEIVED] + KINETIC] -= leak
    elif 0.0 < leak <= m[tank]:
        m[t[AT_RECEIVED] + t[REPAIR_ROW]] -= leak
        m[t[AT_SCALE] + t[REPAIR_ROW]] += m[tank] + leak
        m[tank] -= leak
    else:
        return
    m[t[AT_RECEIVED] + row] += leak
    m[t[AT_TALLY] + N_DEBIT] += abs(leak)


def speed_of(t, entry):
    """Where the velocity at the end of the step stands, for the body of an entry of the table of components."""
    return t[AT_NEXT] + t[t[CARRIER_TABLE] + t[entry + 1] * C_SIZE + C_STATE] + V


def figures_of(t, entry):
    """Where its parameters stand."""
    return t[AT_PARAM] + t[t[CARRIER_TABLE] + t[entry + 1] * C_SIZE + C_PARAM]


INLINE = (speed_of, figures_of)
KERNELS = (settle_leak, debit)
