"""Ties: everything elastic or damped in a world (spec 4.3, 4.4). Kernels.

A tie has up to three rows Ψ and a jacobian J that gives their exact change in a step, `ΔΨ = h J V̂`, if the turn θ = h ŵ
that J was made for is the one that comes. The mean force `−k (Ψ + ΔΨ/2)` then does exactly the work that it stores.
Springs are ties, an SO(3) spring is three directions that pull at each other, joints are stiff ties.
"""

from __future__ import annotations

from math import sin, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.poses import bend
    from passivo.world.table import *


def reach(m, t, tie, state, slot, i):
    """Component i of xa + Ra ra − xb − Rb rb; of a direction without the positions."""
    a, b, points = t[tie + T_A], t[tie + T_B], t[tie + T_FIGURES]
    row = t[AT_FRAMES] + a * F_SIZE + slot + 3 * i
    psi = m[row] * m[points] + m[row + 1] * m[points + 1] + m[row + 2] * m[points + 2]
    if b < 0:
        psi -= m[points + 3 + i]
    else:
        row = t[AT_FRAMES] + b * F_SIZE + slot + 3 * i
        psi -= m[row] * m[points + 3] + m[row + 1] * m[points + 4] + m[row + 2] * m[points + 5]
    if t[tie + T_KIND] != DIRECTION:
        way = m[state + t[t[CARRIER_TABLE] + a * C_SIZE + C_STATE] + i]
        if b >= 0:
            way -= m[state + t[t[CARRIER_TABLE] + b * C_SIZE + C_STATE] + i]
        psi += way
    return psi


def along(m, t, tie, slot, j, i):
    """Component i of direction j of a slide, in world axes."""
    b, n = t[tie + T_B], t[tie + T_FIGURES] + 6 + 3 * j
    if b < 0:
        return m[n + i]
    row = t[AT_FRAMES] + b * F_SIZE + slot + 3 * i
    return m[row] * m[n] + m[row + 1] * m[n + 1] + m[row + 2] * m[n + 2]


def measure(m, t, tie, state, slot, out):
    """Ψ of a tie."""
    if t[tie + T_KIND] == SPIN:
        m[out], m[out + 1], m[out + 2] = 0.0, 0.0, 0.0
        return
    x = reach(m, t, tie, state, slot, 0)
    y = reach(m, t, tie, state, slot, 1)
    z = reach(m, t, tie, state, slot, 2)
    if t[tie + T_KIND] != SLIDE:
        m[out], m[out + 1], m[out + 2] = x, y, z
        return
    for j in range(3):
        m[out + j] = (
            along(m, t, tie, slot, j, 0) * x + along(m, t, tie, slot, j, 1) * y + along(m, t, tie, slot, j, 2) * z
        )


def length(m, at):
    return sqrt(m[at] * m[at] + m[at + 1] * m[at + 1] + m[at + 2] * m[at + 2])


def lever(m, bent, point, at, sign):
    """Three columns of a jacobian: sign · (−R E S(r))."""
    x, y, z = m[point], m[point + 1], m[point + 2]
    for i in range(3):
        r0, r1, r2 = m[bent + 3 * i], m[bent + 3 * i + 1], m[bent + 3 * i + 2]
        m[at + 6 * i + 3] = sign * (r2 * y - r1 * z)
        m[at + 6 * i + 4] = sign * (r0 * z - r2 * x)
        m[at + 6 * i + 5] = sign * (r1 * x - r0 * y)


def lay_jacobian(m, t, tie, at):
    """J of a tie, for the turns that `twist` has laid out; of a slide that of its point."""
    kind, a, b, points = t[tie + T_KIND], t[tie + T_A], t[tie + T_B], t[tie + T_FIGURES]
    for k in range(18):
        m[at + R_A + k] = 0.0
        m[at + R_B + k] = 0.0
    bent, other = t[AT_FRAMES] + a * F_SIZE + F_BENT, t[AT_FRAMES] + b * F_SIZE + F_BENT
    if kind == SPIN:
        for i in range(3):
            for j in range(3):
                m[at + R_A + 6 * i + 3 + j] = m[bent + 3 * i + j]
                if b >= 0:
                    m[at + R_B + 6 * i + 3 + j] = -m[other + 3 * i + j]
        return
    if kind != DIRECTION:
        for i in range(3):
            m[at + R_A + 7 * i] = 1.0
            m[at + R_B + 7 * i] = -1.0
    lever(m, bent, points, at + R_A, 1.0)
    if b >= 0:
        lever(m, other, points + 3, at + R_B, -1.0)


def lean(m, t, tie, at, h):
    """J of a slide from that of its point d: Ψ_j = n_j·d changes by n_mid·Δd + Δn_j·d_mid."""
    b, points = t[tie + T_B], t[tie + T_FIGURES]
    d = at + R_FORCE  # d in the middle of the step, as far as that is known
    for i in range(3):
        m[d + i] = reach(m, t, tie, t[AT_STATE], F_TURN, i) + 0.5 * h * rate(m, t, tie, at, i)
    for side in range(2):
        if side == 1 and b < 0:
            break
        jacobian = at + R_A + 18 * side
        for k in range(6):
            x, y, z = m[jacobian + k], m[jacobian + 6 + k], m[jacobian + 12 + k]
            for j in range(3):
                m[jacobian + 6 * j + k] = (
                    0.5 * (along(m, t, tie, F_TURN, j, 0) + along(m, t, tie, F_NEXT, j, 0)) * x
                    + 0.5 * (along(m, t, tie, F_TURN, j, 1) + along(m, t, tie, F_NEXT, j, 1)) * y
                    + 0.5 * (along(m, t, tie, F_TURN, j, 2) + along(m, t, tie, F_NEXT, j, 2)) * z
                )
    if b >= 0:
        bent = t[AT_FRAMES] + b * F_SIZE + F_BENT
        # d in the mean axes of b: Δn·d = (−R E S(n) h ŵ)·d = h ŵ·(n × (RE)'d)
        x = m[bent] * m[d] + m[bent + 3] * m[d + 1] + m[bent + 6] * m[d + 2]
        y = m[bent + 1] * m[d] + m[bent + 4] * m[d + 1] + m[bent + 7] * m[d + 2]
        z = m[bent + 2] * m[d] + m[bent + 5] * m[d + 1] + m[bent + 8] * m[d + 2]
        for j in range(3):
            n = points + 6 + 3 * j
            m[at + R_B + 6 * j + 3] += m[n + 1] * z - m[n + 2] * y
            m[at + R_B + 6 * j + 4] += m[n + 2] * x - m[n] * z
            m[at + R_B + 6 * j + 5] += m[n] * y - m[n + 1] * x


def rate(m, t, tie, at, i):
    """Component i of J V̂."""
    v = 0.0
    for side in range(2):
        if t[tie + T_A + side] >= 0:
            hat, jacobian = t[AT_FRAMES] + t[tie + T_A + side] * F_SIZE + F_HAT, at + R_A + 18 * side + 6 * i
            for k in range(6):
                v += m[jacobian + k] * m[hat + k]
    return v


def present_rate(m, t, tie, at, i):
    """Component i of J V, with the velocities at the start of the step; anchors have those of the step."""
    v = 0.0
    for side in range(2):
        c, jacobian = t[tie + T_A + side], at + R_A + 18 * side + 6 * i
        if c >= 0:
            speed = t[AT_FRAMES] + c * F_SIZE + F_HAT
            if c < t[BODIES]:
                speed = t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE] + V
            for k in range(6):
                v += m[jacobian + k] * m[speed + k]
    return v


def effort(m, t, tie, at, i):
    """Sum of the sizes of the terms of component i of J V̂: what it loses where they cancel."""
    size = 0.0
    for side in range(2):
        if t[tie + T_A + side] >= 0:
            hat, jacobian = t[AT_FRAMES] + t[tie + T_A + side] * F_SIZE + F_HAT, at + R_A + 18 * side + 6 * i
            for k in range(6):
                size += abs(m[jacobian + k] * m[hat + k])
    return size


def extent(m, t, tie):
    """Sum of the sizes of what Ψ is the difference of."""
    size = 0.0
    if t[tie + T_KIND] == SPIN:
        return size
    for k in range(6):
        size += abs(m[t[tie + T_FIGURES] + k])
    for side in range(2):
        c = t[tie + T_A + side]
        if c >= 0 and t[tie + T_KIND] != DIRECTION:
            s = t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
            size += abs(m[s]) + abs(m[s + 1]) + abs(m[s + 2])
    return size


def strength(m, t, tie, which):
    """Stiffness or damping of a tie, its share of that of its spring or joint."""
    return m[t[AT_PARAM] + t[tie + which]] * m[t[tie + T_SHARE]] if t[tie + which] >= 0 else 0.0


def stiffen(m, t, tie, at, h):
    """Stiffness and damping of a tie; of a length the secant ones over the step, as far as it is known."""
    k, c = strength(m, t, tie, T_STIFFNESS), strength(m, t, tie, T_DAMPING)
    if t[tie + T_KIND] != LENGTH:
        m[at + R_K] = k
        for i in range(9):
            m[at + R_C + i] = 0.0
        for i in range(3):
            m[at + R_C + 4 * i] = c
        return
    x, y, z = m[at + R_PSI], m[at + R_PSI + 1], m[at + R_PSI + 2]
    u = x + h * rate(m, t, tie, at, 0)
    v = y + h * rate(m, t, tie, at, 1)
    w = z + h * rate(m, t, tie, at, 2)
    lengths = sqrt(x * x + y * y + z * z) + sqrt(u * u + v * v + w * w)
    m[at + R_K] = k * (1.0 - 2.0 * m[t[tie + T_FIGURES] + 6] / lengths)
    x, y, z = x + u, y + v, z + w
    c /= x * x + y * y + z * z
    at += R_C
    m[at], m[at + 1], m[at + 2] = c * x * x, c * x * y, c * x * z
    m[at + 3], m[at + 4], m[at + 5] = c * y * x, c * y * y, c * y * z
    m[at + 6], m[at + 7], m[at + 8] = c * z * x, c * z * y, c * z * z


def lay_ties(m, t, h, again):
    """Jacobians, stiffness and damping of the ties; the second time and after only of those that ask for it."""
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        if again and not t[tie + T_EXACT]:
            continue
        lay_jacobian(m, t, tie, at)
        if t[tie + T_KIND] == SLIDE:
            lean(m, t, tie, at, h)
        stiffen(m, t, tie, at, h)


def slope(m, t, tie, at, side, h):
    """∂(J V̂)/∂V̂ of one end, where J follows the turn: −R exp(θ) S(r) Jr(θ), Jr the right jacobian of the exponential.

    A slide, a length and an anchor keep J.
    """
    jacobian, out, kind, c = at + R_A + 18 * side, at + R_SLOPE_A + 18 * side, t[tie + T_KIND], t[tie + T_A + side]
    for k in range(18):
        m[out + k] = m[jacobian + k]
    if c >= t[BODIES] or (kind != POINT and kind != DIRECTION):
        return
    frame = t[AT_FRAMES] + c * F_SIZE
    lever(m, frame + F_NEXT, t[tie + T_FIGURES] + 3 * side, out, 1.0 - 2.0 * side)
    x, y, z = h * m[frame + F_HAT + 3], h * m[frame + F_HAT + 4], h * m[frame + F_HAT + 5]
    angle = sqrt(x * x + y * y + z * z)
    b = bend(angle)[1]
    e = (angle - sin(angle)) / (angle * angle * angle) if angle > 0.1 else (1.0 - angle * angle / 20.0) / 6.0
    for i in range(3):
        row = out + 6 * i + 3
        p, q, r = m[row], m[row + 1], m[row + 2]
        u, v, w = q * z - r * y, r * x - p * z, p * y - q * x
        m[row] = p - b * u + e * (v * z - w * y)
        m[row + 1] = q - b * v + e * (w * x - u * z)
        m[row + 2] = r - b * w + e * (u * y - v * x)


def add_bend(m, t, tie, at, side, h, block, right):
    """What the moment of a force changes with the turn: G θ, G = S(r) (b S(l) − l θ'/3) to first order, l the force in
    the axes of the body. Without it heavy loads on light bodies would not settle."""
    kind, c = t[tie + T_KIND], t[tie + T_A + side]
    if kind != POINT and kind != DIRECTION:
        return
    frame, point, force = t[AT_FRAMES] + c * F_SIZE, t[tie + T_FIGURES] + 3 * side, at + R_FORCE
    sign = 1.0 - 2.0 * side
    x, y, z = h * m[frame + F_HAT + 3], h * m[frame + F_HAT + 4], h * m[frame + F_HAT + 5]
    b = bend(sqrt(x * x + y * y + z * z))[1]
    f, g, k = m[force], m[force + 1], m[force + 2]
    p = m[frame] * f + m[frame + 3] * g + m[frame + 6] * k
    q = m[frame + 1] * f + m[frame + 4] * g + m[frame + 7] * k
    r = m[frame + 2] * f + m[frame + 5] * g + m[frame + 8] * k
    rx, ry, rz = sign * m[point], sign * m[point + 1], sign * m[point + 2]
    for j in range(3):
        turn = x if j == 0 else (y if j == 1 else z)
        # column j of b S(l) − l θ'/3
        u = (0.0 if j == 0 else (-b * r if j == 1 else b * q)) - p * turn / 3.0
        v = (b * r if j == 0 else (0.0 if j == 1 else -b * p)) - q * turn / 3.0
        w = (-b * q if j == 0 else (b * p if j == 1 else 0.0)) - r * turn / 3.0
        u, v, w = ry * w - rz * v, rz * u - rx * w, rx * v - ry * u
        m[block + 21 + j] -= h * u
        m[block + 27 + j] -= h * v
        m[block + 33 + j] -= h * w
        m[right + 3] -= u * turn
        m[right + 4] -= v * turn
        m[right + 5] -= w * turn


def add_end(m, right, jacobian, force):
    """right += J' force."""
    x, y, z = m[force], m[force + 1], m[force + 2]
    for k in range(6):
        m[right + k] += m[jacobian + k] * x + m[jacobian + 6 + k] * y + m[jacobian + 12 + k] * z


def add_block(m, block, left, kappa, right):
    """block += L' κ R."""
    for j in range(6):
        x, y, z = m[right + j], m[right + 6 + j], m[right + 12 + j]
        u = m[kappa] * x + m[kappa + 1] * y + m[kappa + 2] * z
        v = m[kappa + 3] * x + m[kappa + 4] * y + m[kappa + 5] * z
        w = m[kappa + 6] * x + m[kappa + 7] * y + m[kappa + 8] * z
        for i in range(6):
            m[block + 6 * i + j] += m[left + i] * u + m[left + 6 + i] * v + m[left + 12 + i] * w


INLINE = (reach, along, length, strength, lever, rate, present_rate, effort, extent, add_end, add_block)
KERNELS = (slope, add_bend, measure, lay_jacobian, lean, stiffen, lay_ties)
