"""Mechanisms: where the limbs of a tree of joints are, and how they move with the rates of the joints. Kernels.

A limb is a joint and what it carries. In a step with rates û the limb l with its parent p turns by θ_l in its own axes,
`exp θ_l = exp(G'θ_p) exp(h û a)`, G the turn between both at the start; as quaternions (c, k θ), k = sin(|θ|/2)/|θ|,

    k_l θ_l = c_j k_p G'θ_p + c_p k_j h û a + k_p k_j G'θ_p × h û a,     ΔR r = R E (θ × r) as in `poses.py`.

Everything here is linear in (θ_p, û) but for the last term, in which û is taken as it is: what stands before θ_p and û
are columns with V̂ = Σ columns · û exactly, without a difference of two large numbers. Half of the way on they are those
of the middle of the step, to second order.
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.poses import spin_on, turn
    from passivo.world.table import *


def place_limbs(m, t, a, state, reach):
    """Where the limbs are `reach` seconds after a state, at the rates RATE; and their coordinates."""
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        at, u = t[limb + L_AT], t[a + A_RATE] + t[limb + L_FIRST]
        advance_coordinates(m, t, limb, at + P_COORDINATES, state + t[limb + L_COORDINATES], u, reach)
        place_limb(m, t, limb)


def advance_coordinates(m, t, limb, new, old, u, reach):
    """Coordinates of a joint at `new` from those at `old`."""
    kind = t[limb + L_KIND]
    if kind <= RAIL:
        m[new] = m[old] + reach * m[u]
        return
    if kind == FREE:
        for k in range(3):
            m[new + k] = m[old + k] + reach * m[u + k]
        new, old, u = new + 3, old + 3, u + 3
    if reach == 0.0:
        for k in range(4):
            m[new + k] = m[old + k]
    else:
        spin_on(m, old, new, reach * m[u], reach * m[u + 1], reach * m[u + 2])


def multiply(m, one, other, to):
    """The quaternion at `to` of the turn at `other` in axes turned by that at `one`."""
    a, b, c, d = m[one], m[one + 1], m[one + 2], m[one + 3]
    w, x, y, z = m[other], m[other + 1], m[other + 2], m[other + 3]
    m[to] = a * w - b * x - c * y - d * z
    m[to + 1] = a * x + b * w + c * z - d * y
    m[to + 2] = a * y - b * z + c * w + d * x
    m[to + 3] = a * z + b * y - c * x + d * w


def place_limb(m, t, limb):
    """Place and turn of a limb from its coordinates and its parent."""
    at, figures, kind, parent = t[limb + L_AT], t[limb + L_FIGURES], t[limb + L_KIND], t[limb + L_PARENT]
    if kind == FREE:
        for k in range(7):
            m[at + P_X + k] = m[at + P_COORDINATES + k]
        turn(m, at + P_Q, at + P_TURN)
        for k in range(3):
            m[at + P_PIN + k] = m[at + P_X + k]
        return
    for k in range(4):
        m[at + P_Q + k] = m[figures + REST + k]
    if parent >= 0:
        multiply(m, t[parent + L_AT] + P_Q, figures + REST, at + P_Q)
    if kind == HINGE:
        half = 0.5 * m[at + P_COORDINATES]
        s, scratch = sin(half), at + P_TURN
        m[scratch], m[scratch + 1] = cos(half), s * m[figures + AXIS]
        m[scratch + 2], m[scratch + 3] = s * m[figures + AXIS + 1], s * m[figures + AXIS + 2]
        multiply(m, at + P_Q, scratch, at + P_Q)
    elif kind == BALL:
        multiply(m, at + P_Q, at + P_COORDINATES, at + P_Q)
    turn(m, at + P_Q, at + P_TURN)
    way = m[at + P_COORDINATES] if kind == RAIL else 0.0
    for i in range(3):
        pin, row = m[figures + PIN + i], at + P_TURN + 3 * i
        if parent >= 0:
            x = t[parent + L_AT] + P_TURN + 3 * i
            pin = m[x] * m[figures + PIN] + m[x + 1] * m[figures + PIN + 1] + m[x + 2] * m[figures + PIN + 2]
            pin += m[t[parent + L_AT] + P_X + i]
        m[at + P_PIN + i] = pin
        m[at + P_X + i] = pin + (
            m[row] * (way * m[figures + AXIS] - m[figures + OWN_PIN])
            + m[row + 1] * (way * m[figures + AXIS + 1] - m[figures + OWN_PIN + 1])
            + m[row + 2] * (way * m[figures + AXIS + 2] - m[figures + OWN_PIN + 2])
        )


def rate_limbs(m, t, a, rates):
    """Velocities of the limbs where they are, for the rates at `rates`."""
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        at, figures, kind = t[limb + L_AT], t[limb + L_FIGURES], t[limb + L_KIND]
        u, parent = rates + t[limb + L_FIRST], t[limb + L_PARENT]
        if kind == FREE:
            for i in range(3):
                row = at + P_TURN + 3 * i
                m[at + P_V + i], m[at + P_SPEED + i] = m[u + i], m[u + i]
                m[at + P_W + i] = m[row] * m[u + 3] + m[row + 1] * m[u + 4] + m[row + 2] * m[u + 5]
            continue
        p, q, r = m[figures + AXIS], m[figures + AXIS + 1], m[figures + AXIS + 2]
        if kind == BALL:
            p, q, r = m[u], m[u + 1], m[u + 2]
        else:
            p, q, r = m[u] * p, m[u] * q, m[u] * r
        for i in range(3):
            row = at + P_TURN + 3 * i
            own = m[row] * p + m[row + 1] * q + m[row + 2] * r
            m[at + P_W + i] = own if kind != RAIL else 0.0
            m[at + P_V + i] = own if kind == RAIL else 0.0
            m[at + P_SPEED + i] = 0.0
        if parent >= 0:
            base = t[parent + L_AT]
            for i in range(3):
                m[at + P_W + i] += m[base + P_W + i]
                m[at + P_SPEED + i] = m[base + P_V + i]
            add_cross(m, at + P_SPEED, base + P_W, at + P_PIN, base + P_X)
        for i in range(3):
            m[at + P_V + i] += m[at + P_SPEED + i]
        add_cross(m, at + P_V, at + P_W, at + P_X, at + P_PIN)


def add_cross(m, to, w, place, origin):
    """The vector at `to` more by w × (place − origin)."""
    x, y, z = m[place] - m[origin], m[place + 1] - m[origin + 1], m[place + 2] - m[origin + 2]
    m[to] += m[w + 1] * z - m[w + 2] * y
    m[to + 1] += m[w + 2] * x - m[w] * z
    m[to + 2] += m[w] * y - m[w + 1] * x


def start_limbs(m, t, a):
    """Keep the turns at the start of the step, where the limbs are now."""
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        at, parent = t[limb + L_AT], t[limb + L_PARENT]
        for i in range(9):
            m[at + P_START + i] = m[at + P_TURN + i]
        for i in range(3):
            for j in range(3):
                back = m[at + P_TURN + 3 * j + i]
                if parent >= 0:
                    base = t[parent + L_AT] + P_TURN
                    back = (
                        m[at + P_TURN + i] * m[base + j]
                        + m[at + P_TURN + 3 + i] * m[base + 3 + j]
                        + m[at + P_TURN + 6 + i] * m[base + 6 + j]
                    )
                m[at + P_BACK + 3 * i + j] = back


def swing(m, t, h):
    """Twists and columns of all members of assemblies, from their RATE."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_PART_COUNT]):
            swing_limb(m, t, h, t[a + A_PARTS] + i * L_SIZE, t[a + A_RATE])


def swing_limb(m, t, h, limb, rates):
    """Twist and columns of a limb, those of its parent being there."""
    at, figures, kind, parent = t[limb + L_AT], t[limb + L_FIGURES], t[limb + L_KIND], t[limb + L_PARENT]
    u, columns, first = rates + t[limb + L_FIRST], t[limb + L_COLUMNS], t[limb + L_COUNT] - t[limb + L_WIDTH]
    base = t[parent + L_AT] if parent >= 0 else 0
    x, y, z = 0.0, 0.0, 0.0  # the turn of the joint
    if kind == HINGE:
        x, y, z = h * m[u] * m[figures + AXIS], h * m[u] * m[figures + AXIS + 1], h * m[u] * m[figures + AXIS + 2]
    elif kind == BALL:
        x, y, z = h * m[u], h * m[u + 1], h * m[u + 2]
    elif kind == FREE:
        x, y, z = h * m[u + 3], h * m[u + 4], h * m[u + 5]
    angle = sqrt(x * x + y * y + z * z)
    cosine, sine = cos(0.5 * angle), sin(0.5 * angle)
    share = sine / angle if angle > 0.0 else 0.5
    base_cosine, base_share, p, q, r = 1.0, 0.5, 0.0, 0.0, 0.0
    if parent >= 0:
        base_cosine, base_share = m[base + P_COSINE], m[base + P_SHARE]
        p, q, r = back_turned(m, at, h * m[base + P_HAT + 3], h * m[base + P_HAT + 4], h * m[base + P_HAT + 5])
    w = cosine * base_cosine - share * base_share * (p * x + q * y + r * z)
    x, y, z = share * x, share * y, share * z
    p, q, r = base_share * p, base_share * q, base_share * r
    e = cosine * p + base_cosine * x + (q * z - r * y)
    f = cosine * q + base_cosine * y + (r * x - p * z)
    g = cosine * r + base_cosine * z + (p * y - q * x)
    sine = sqrt(e * e + f * f + g * g)
    own_share = 0.5 * sine / atan2(sine, w) if sine > 0.0 else 0.5
    e, f, g = e / own_share, f / own_share, g / own_share
    m[at + P_COSINE], m[at + P_SHARE] = w, own_share
    m[at + P_HAT + 3], m[at + P_HAT + 4], m[at + P_HAT + 5] = e / h, f / h, g / h
    bend_limb(m, at, 2.0 * own_share * w, 2.0 * own_share * own_share, e, f, g)
    ratio = base_share / own_share
    for n in range(first):  # what the motion of the parent makes of it
        to, column = columns + 6 * n, t[parent + L_COLUMNS] + 6 * n
        p, q, r = back_turned(m, at, m[column + 3], m[column + 4], m[column + 5])
        m[to], m[to + 1], m[to + 2] = m[column], m[column + 1], m[column + 2]
        m[to + 3] = ratio * (cosine * p - (y * r - z * q))
        m[to + 4] = ratio * (cosine * q - (z * p - x * r))
        m[to + 5] = ratio * (cosine * r - (x * q - y * p))
    for n in range(first, t[limb + L_COUNT]):
        to = columns + 6 * n
        for i in range(6):
            m[to + i] = 0.0
    own, ratio = columns + 6 * first, base_cosine * share / own_share
    if kind == HINGE:
        for i in range(3):
            m[own + 3 + i] = ratio * m[figures + AXIS + i]
    elif kind == BALL:
        for i in range(3):
            m[own + 7 * i + 3] = ratio
    elif kind == FREE:
        for i in range(6):
            m[own + 7 * i] = 1.0
        for i in range(6):
            m[at + P_HAT + i] = m[u + i]
        return
    shift_limb(m, t, h, limb, m[u] if kind == RAIL else 0.0)
    for i in range(3):
        m[at + P_HAT + i] = 0.0
    for n in range(t[limb + L_COUNT]):
        speed = m[rates + t[t[limb + L_PATH] + n]]
        for i in range(3):
            m[at + P_HAT + i] += m[columns + 6 * n + i] * speed


def shift_limb(m, t, h, limb, speed):
    """Columns of the velocity: Δx = Δx_p + ΔR_p c − ΔR r, c the joint in the axes of the parent, r in its own. On rails
    c moves: Δ(R_p c) is the mean of R_p times Δc, and ΔR_p times the mean of c."""
    at, figures, parent, columns = t[limb + L_AT], t[limb + L_FIGURES], t[limb + L_PARENT], t[limb + L_COLUMNS]
    base, first = t[parent + L_AT] if parent >= 0 else 0, t[limb + L_COUNT] - t[limb + L_WIDTH]
    c, d, e = m[figures + PIN], m[figures + PIN + 1], m[figures + PIN + 2]
    if t[limb + L_KIND] == RAIL:
        p, q, r = m[figures + AXIS], m[figures + AXIS + 1], m[figures + AXIS + 2]
        back = at + P_BACK
        x = m[back] * p + m[back + 3] * q + m[back + 6] * r  # the rail in the axes of the parent
        y = m[back + 1] * p + m[back + 4] * q + m[back + 7] * r
        z = m[back + 2] * p + m[back + 5] * q + m[back + 8] * r
        way = m[t[AT_STATE] + t[limb + L_COORDINATES]] + 0.5 * h * speed
        c, d, e = c + way * x, d + way * y, e + way * z
        to = columns + 6 * first
        if parent >= 0:
            w = base + P_HAT + 3
            u, v, o = m[w + 1] * z - m[w + 2] * y, m[w + 2] * x - m[w] * z, m[w] * y - m[w + 1] * x
            for i in range(3):
                row, bent = base + P_START + 3 * i, base + P_BENT + 3 * i
                m[to + i] = m[row] * x + m[row + 1] * y + m[row + 2] * z
                m[to + i] += 0.5 * h * (m[bent] * u + m[bent + 1] * v + m[bent + 2] * o)
        else:
            m[to], m[to + 1], m[to + 2] = x, y, z
    for n in range(first):
        add_lever(m, base + P_BENT, t[parent + L_COLUMNS] + 6 * n + 3, c, d, e, columns + 6 * n)
    c, d, e = -m[figures + OWN_PIN], -m[figures + OWN_PIN + 1], -m[figures + OWN_PIN + 2]
    for n in range(t[limb + L_COUNT]):
        add_lever(m, at + P_BENT, columns + 6 * n + 3, c, d, e, columns + 6 * n)


def add_lever(m, bent, w, x, y, z, to):
    """Three numbers more by R E (w × r)."""
    u, v, o = m[w + 1] * z - m[w + 2] * y, m[w + 2] * x - m[w] * z, m[w] * y - m[w + 1] * x
    for i in range(3):
        m[to + i] += m[bent + 3 * i] * u + m[bent + 3 * i + 1] * v + m[bent + 3 * i + 2] * o


def back_turned(m, at, x, y, z):
    """A vector in the axes of the parent, in those of the limb at the start."""
    b = at + P_BACK
    return (
        m[b] * x + m[b + 1] * y + m[b + 2] * z,
        m[b + 3] * x + m[b + 4] * y + m[b + 5] * z,
        m[b + 6] * x + m[b + 7] * y + m[b + 8] * z,
    )


def bend_limb(m, at, a, b, x, y, z):
    """The mean turn R (a I + b S(θ)) of the step."""
    for i in range(3):
        row, to = at + P_START + 3 * i, at + P_BENT + 3 * i
        r0, r1, r2 = m[row], m[row + 1], m[row + 2]
        m[to] = a * r0 + b * (r1 * z - r2 * y)
        m[to + 1] = a * r1 + b * (r2 * x - r0 * z)
        m[to + 2] = a * r2 + b * (r0 * y - r1 * x)


INLINE = (multiply, add_cross, add_lever, back_turned, bend_limb)
KERNELS = (advance_coordinates, place_limb, place_limbs, rate_limbs, start_limbs, shift_limb, swing_limb, swing)
