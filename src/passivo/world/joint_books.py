"""What joints of mechanisms did in a step, in joules: their springs, dampers and own inertia. Kernels.

The kinetic energy of a mechanism is that of its bodies, and of what turns with a joint itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.advance import shares
    from passivo.world.inertias import joint_stiffness
    from passivo.world.table import *


def book_joints(m, t, h):
    """What dampers lose and springs take in, and what rounding of both may be worth."""
    _, stretch, late = shares(t, h)
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        n, rates, own = t[a + A_WIDTH], t[a + A_RATE], t[a + A_OWN]
        for i in range(n):  # û is known to the rounding of the terms of its equations
            for j in range(n):
                m[t[AT_SCALE] + KINETIC] += h * abs(m[rates + i] * m[own + n * i + j] * m[rates + j])
        for i in range(t[a + A_PART_COUNT]):
            limb = t[a + A_PARTS] + i * L_SIZE
            if t[limb + L_PARAM] < 0:
                continue
            p, stiffness = t[AT_PARAM] + t[limb + L_PARAM], joint_stiffness(m, t, limb)
            for j in range(t[limb + L_WIDTH]):
                u, s = m[t[a + A_RATE] + t[limb + L_FIRST] + j], t[limb + L_RATES] + j
                rate, change = m[t[AT_STATE] + s], m[t[AT_STEP] + s]
                lost = h * m[p + JOINT_DAMPING] * u * (late * u + (1.0 - late) * rate)
                m[t[AT_LOST]] += lost
                m[t[AT_SCALE] + KINETIC] += abs(lost) + m[p + JOINT_INERTIA] * (abs(rate) + abs(change)) * (
                    abs(u) + abs(change)
                )
                if stiffness > 0.0:
                    place = m[t[AT_STATE] + t[limb + L_COORDINATES]]
                    reached = abs(place) + abs(m[p + JOINT_REFERENCE]) + abs(h * u)
                    force = -stiffness * (place - m[p + JOINT_REFERENCE] + stretch * u)
                    m[t[AT_RECEIVED] + KINETIC] += h * force * u
                    m[t[AT_RECEIVED] + t[SPRING_ROW]] -= h * force * u
                    m[t[AT_SCALE] + KINETIC] += h * abs(force * u)
                    m[t[AT_SCALE] + t[SPRING_ROW]] += (abs(force) + EPSILON * stiffness * reached) * reached


def differ_joints(m, t):
    """To DIFFERENCE what joints store, from STATE to NEXT over STEP."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_PART_COUNT]):
            limb = t[a + A_PARTS] + i * L_SIZE
            if t[limb + L_PARAM] < 0:
                continue
            p, stiffness = t[AT_PARAM] + t[limb + L_PARAM], joint_stiffness(m, t, limb)
            for j in range(t[limb + L_WIDTH]):
                s = t[limb + L_RATES] + j
                twice = m[p + JOINT_INERTIA] * (m[t[AT_STATE] + s] + m[t[AT_NEXT] + s]) * m[t[AT_STEP] + s]
                m[t[AT_DIFFERENCE] + KINETIC] += 0.5 * twice
            if stiffness > 0.0:
                s = t[limb + L_COORDINATES]
                mean = 0.5 * (m[t[AT_STATE] + s] + m[t[AT_NEXT] + s]) - m[p + JOINT_REFERENCE]
                m[t[AT_DIFFERENCE] + t[SPRING_ROW]] += stiffness * mean * m[t[AT_STEP] + s]


def store_joints(m, t):
    """To ENERGY what joints store at STATE."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_PART_COUNT]):
            limb = t[a + A_PARTS] + i * L_SIZE
            if t[limb + L_PARAM] < 0:
                continue
            p, stiffness = t[AT_PARAM] + t[limb + L_PARAM], joint_stiffness(m, t, limb)
            for j in range(t[limb + L_WIDTH]):
                rate = m[t[AT_STATE] + t[limb + L_RATES] + j]
                m[t[AT_ENERGY] + KINETIC] += 0.5 * m[p + JOINT_INERTIA] * rate * rate
            if stiffness > 0.0:
                way = m[t[AT_STATE] + t[limb + L_COORDINATES]] - m[p + JOINT_REFERENCE]
                m[t[AT_ENERGY] + t[SPRING_ROW]] += 0.5 * stiffness * way * way


INLINE = ()
KERNELS = (book_joints, differ_joints, store_joints)
