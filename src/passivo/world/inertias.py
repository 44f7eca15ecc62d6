"""Mechanisms in a step (spec 4.6): inertia in joint coordinates, what turns motion, and what is foretold. Kernels.

With M(q) = L L', ν = L'u of the rates u of the joints, kinetic energy ½ ν'ν, and the unknowns û, the mean rates,

    (2M/h + L Q L' + ...) û = 2 L ν/h + ...,    ν⁺ = 2 L'û − ν,

L and Q at the foretold middle of the step; Q = slt(Y) − slt(Y)', Y = L⁻¹ C L⁻ᵀ, C the Coriolis matrix with Ṁ = C + C'.
Q is skew, so that the energy comes out exactly, and Q ν is what turns ν at the rates that were foretold. The velocity
of a free limb stands first, in world axes: its rows of Q are 0, and the momentum of the whole is kept exactly too.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.advance import shares
    from passivo.world.table import *
    from passivo.world.trees import advance_coordinates, place_limb, place_limbs, rate_limbs, start_limbs


def lay_axes(m, t, a):
    """Axis, place and their changes of each unknown, where the limbs are and as they move."""
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        at, figures, kind = t[limb + L_AT], t[limb + L_FIGURES], t[limb + L_KIND]
        for n in range(t[limb + L_WIDTH]):
            axis = row_of(t, a, M_AXES) + AXIS_SIZE * (t[limb + L_FIRST] + n)
            for i in range(3):
                row = at + P_TURN + 3 * i
                if kind <= RAIL:
                    m[axis + 1 + i] = (
                        m[row] * m[figures + AXIS]
                        + m[row + 1] * m[figures + AXIS + 1]
                        + m[row + 2] * m[figures + AXIS + 2]
                    )
                elif kind == FREE and n < 3:
                    m[axis + 1 + i] = 1.0 if n == i else 0.0
                else:
                    m[axis + 1 + i] = m[row + n % 3]
                m[axis + 7 + i] = m[at + P_PIN + i]
                m[axis + 10 + i] = m[at + P_SPEED + i]
            shifts = kind == RAIL or (kind == FREE and n < 3)
            m[axis] = 0.0 if shifts else 1.0
            w, x, y, z = at + P_W, m[axis + 1], m[axis + 2], m[axis + 3]
            still = 0.0 if kind == FREE and n < 3 else 1.0
            m[axis + 4] = still * (m[w + 1] * z - m[w + 2] * y)
            m[axis + 5] = still * (m[w + 2] * x - m[w] * z)
            m[axis + 6] = still * (m[w] * y - m[w + 1] * x)


def row_of(t, a, which):
    """Where what an assembly keeps for each unknown begins."""
    n = t[a + A_WIDTH]
    return t[a + A_ROOM] + 3 * n * n + which * n


def lay_masses(m, t, a, turns):
    """MASS of a mechanism where its limbs are; where it `turns` the Coriolis matrix, for their velocities."""
    n = t[a + A_WIDTH]
    mass = t[a + A_ROOM]
    turning = mass + n * n
    for i in range(n * n):
        m[mass + i] = 0.0
        if turns:
            m[turning + i] = 0.0
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        if t[limb + L_PARAM] >= 0:
            for i in range(t[limb + L_WIDTH]):
                m[mass + (n + 1) * (t[limb + L_FIRST] + i)] += m[t[AT_PARAM] + t[limb + L_PARAM] + JOINT_INERTIA]
        if t[limb + L_BODY] >= 0:
            lay_columns_of_limb(m, t, a, limb, turns)
            add_masses(m, t, a, limb, turns)
    for i in range(n):
        for j in range(i):
            m[mass + n * j + i] = m[mass + n * i + j]


def lay_columns_of_limb(m, t, a, limb, turns):
    """For each unknown that moves a limb: velocity v, its change, axis z, moment I z, and what I ω changes by."""
    at, p = t[limb + L_AT], t[AT_PARAM] + t[t[CARRIER_TABLE] + t[limb + L_BODY] * C_SIZE + C_PARAM]
    # the inertia in world axes
    r = at + P_TURN
    xx, yy, zz = p + INERTIA, p + INERTIA + 1, p + INERTIA + 2
    xy, xz, yz = p + INERTIA + 3, p + INERTIA + 4, p + INERTIA + 5
    a0 = m[r] * m[xx] + m[r + 1] * m[xy] + m[r + 2] * m[xz]
    a1 = m[r] * m[xy] + m[r + 1] * m[yy] + m[r + 2] * m[yz]
    a2 = m[r] * m[xz] + m[r + 1] * m[yz] + m[r + 2] * m[zz]
    b0 = m[r + 3] * m[xx] + m[r + 4] * m[xy] + m[r + 5] * m[xz]
    b1 = m[r + 3] * m[xy] + m[r + 4] * m[yy] + m[r + 5] * m[yz]
    b2 = m[r + 3] * m[xz] + m[r + 4] * m[yz] + m[r + 5] * m[zz]
    c0 = m[r + 6] * m[xx] + m[r + 7] * m[xy] + m[r + 8] * m[xz]
    c1 = m[r + 6] * m[xy] + m[r + 7] * m[yy] + m[r + 8] * m[yz]
    c2 = m[r + 6] * m[xz] + m[r + 7] * m[yz] + m[r + 8] * m[zz]
    ixx = a0 * m[r] + a1 * m[r + 1] + a2 * m[r + 2]
    ixy = a0 * m[r + 3] + a1 * m[r + 4] + a2 * m[r + 5]
    ixz = a0 * m[r + 6] + a1 * m[r + 7] + a2 * m[r + 8]
    iyy = b0 * m[r + 3] + b1 * m[r + 4] + b2 * m[r + 5]
    iyz = b0 * m[r + 6] + b1 * m[r + 7] + b2 * m[r + 8]
    izz = c0 * m[r + 6] + c1 * m[r + 7] + c2 * m[r + 8]
    e, f, g = m[at + P_W], m[at + P_W + 1], m[at + P_W + 2]
    hx, hy, hz = ixx * e + ixy * f + ixz * g, ixy * e + iyy * f + iyz * g, ixz * e + iyz * f + izz * g
    for n in range(t[limb + L_COUNT]):
        axis = row_of(t, a, M_AXES) + AXIS_SIZE * t[t[limb + L_PATH] + n]
        to = row_of(t, a, M_COLUMNS) + COLUMN_SIZE * n
        x, y, z = m[axis + 1], m[axis + 2], m[axis + 3]
        u, v, w = m[axis + 4], m[axis + 5], m[axis + 6]
        if m[axis] == 0.0:
            for i in range(9):
                m[to + 6 + i] = 0.0
            m[to], m[to + 1], m[to + 2], m[to + 3], m[to + 4], m[to + 5] = x, y, z, u, v, w
            continue
        p0, p1, p2 = m[at + P_X] - m[axis + 7], m[at + P_X + 1] - m[axis + 8], m[at + P_X + 2] - m[axis + 9]
        m[to], m[to + 1], m[to + 2] = y * p2 - z * p1, z * p0 - x * p2, x * p1 - y * p0
        m[to + 6], m[to + 7], m[to + 8] = x, y, z
        m[to + 9] = ixx * x + ixy * y + ixz * z
        m[to + 10] = ixy * x + iyy * y + iyz * z
        m[to + 11] = ixz * x + iyz * y + izz * z
        if not turns:
            continue
        q0, q1, q2 = m[at + P_V] - m[axis + 10], m[at + P_V + 1] - m[axis + 11], m[at + P_V + 2] - m[axis + 12]
        m[to + 3] = (v * p2 - w * p1) + (y * q2 - z * q1)
        m[to + 4] = (w * p0 - u * p2) + (z * q0 - x * q2)
        m[to + 5] = (u * p1 - v * p0) + (x * q1 - y * q0)
        # I (ż − ω × z) − (I ω) × z
        u, v, w = u - (f * z - g * y), v - (g * x - e * z), w - (e * y - f * x)
        m[to + 12] = ixx * u + ixy * v + ixz * w - (hy * z - hz * y)
        m[to + 13] = ixy * u + iyy * v + iyz * w - (hz * x - hx * z)
        m[to + 14] = ixz * u + iyz * v + izz * w - (hx * y - hy * x)


def add_masses(m, t, a, limb, turns):
    """What the body of a limb adds to MASS, below its diagonal, and to the Coriolis matrix."""
    n, path, columns = t[a + A_WIDTH], t[limb + L_PATH], row_of(t, a, M_COLUMNS)
    mass = m[t[AT_PARAM] + t[t[CARRIER_TABLE] + t[limb + L_BODY] * C_SIZE + C_PARAM] + MASS]
    for i in range(t[limb + L_COUNT]):
        one, row = columns + COLUMN_SIZE * i, t[a + A_ROOM] + n * t[path + i]
        x, y, z = mass * m[one], mass * m[one + 1], mass * m[one + 2]
        p, q, r = m[one + 6], m[one + 7], m[one + 8]
        for j in range(i + 1):
            o = columns + COLUMN_SIZE * j
            m[row + t[path + j]] += (
                x * m[o] + y * m[o + 1] + z * m[o + 2] + (p * m[o + 9] + q * m[o + 10] + r * m[o + 11])
            )
        if turns:
            row += n * n
            for j in range(t[limb + L_COUNT]):
                o = columns + COLUMN_SIZE * j
                m[row + t[path + j]] += (
                    x * m[o + 3] + y * m[o + 4] + z * m[o + 5] + (p * m[o + 12] + q * m[o + 13] + r * m[o + 14])
                )


def decompose(m, t, a):
    """MASS = L L' in place, below its diagonal; False where it is not positive."""
    n, root = t[a + A_WIDTH], t[a + A_ROOM]
    for j in range(n):
        size = m[root + (n + 1) * j]
        for k in range(j):
            size -= m[root + n * j + k] * m[root + n * j + k]
        if not size > 0.0:
            return False
        size = sqrt(size)
        m[root + (n + 1) * j] = size
        for i in range(j + 1, n):
            entry = m[root + n * i + j]
            for k in range(j):
                entry -= m[root + n * i + k] * m[root + n * j + k]
            m[root + n * i + j] = entry / size
    return True


def raise_rates(m, t, a, rates, to):
    """ν = L'u."""
    n, root = t[a + A_WIDTH], t[a + A_ROOM]
    for i in range(n):
        value = 0.0
        for k in range(i, n):
            value += m[root + n * k + i] * m[rates + k]
        m[to + i] = value


def lower_rates(m, t, a, nu):
    """u from ν = L'u, in place."""
    n, root = t[a + A_WIDTH], t[a + A_ROOM]
    for i in range(n - 1, -1, -1):
        value = m[nu + i]
        for k in range(i + 1, n):
            value -= m[root + n * k + i] * m[nu + k]
        m[nu + i] = value / m[root + (n + 1) * i]


def turn_skew(m, t, a):
    """TURNING = L Q L' from the Coriolis matrix that stands there."""
    n, root = t[a + A_WIDTH], t[a + A_ROOM]
    y, q = root + n * n, root + 2 * n * n
    for j in range(n):  # L⁻¹ C
        for i in range(n):
            value = m[y + n * i + j]
            for k in range(i):
                value -= m[root + n * i + k] * m[y + n * k + j]
            m[y + n * i + j] = value / m[root + (n + 1) * i]
    for i in range(n):  # times L⁻ᵀ, as far as it lies below the diagonal
        m[q + (n + 1) * i] = 0.0
        for j in range(i):
            value = m[y + n * i + j]
            for k in range(j):
                value -= m[y + n * i + k] * m[root + n * j + k]
            value /= m[root + (n + 1) * j]
            m[y + n * i + j] = value
            m[q + n * i + j], m[q + n * j + i] = value, -value
    for i in range(n):  # L Q
        for j in range(n):
            value = 0.0
            for k in range(i + 1):
                value += m[root + n * i + k] * m[q + n * k + j]
            m[y + n * i + j] = value
    for i in range(n):
        m[q + (n + 1) * i] = 0.0
        for j in range(i):
            value = 0.0
            for k in range(j + 1):
                value += m[y + n * i + k] * m[root + n * j + k]
            m[q + n * i + j], m[q + n * j + i] = value, -value
    for i in range(n * n):
        m[y + i] = m[q + i]


def begin_assemblies(m, t, h):
    """Where mechanisms are at the start, ν there, and the rates that are foretold."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        rates, nu = t[a + A_RATE], row_of(t, a, M_NU)
        for i in range(t[a + A_WIDTH]):
            m[rates + i] = 0.0
        place_limbs(m, t, a, t[AT_STATE], 0.0)
        start_limbs(m, t, a)
        lay_axes(m, t, a)
        lay_masses(m, t, a, False)
        if not decompose(m, t, a):
            return False
        read_rates(m, t, a, rates)
        raise_rates(m, t, a, rates, nu)
        foretell(m, t, a, h)
        if not lay_own(m, t, a, h):
            return False
        if t[SCHEME] != MIDPOINT:  # forces act along the way at the start
            for i in range(t[a + A_WIDTH]):
                m[rates + i] = 0.0
    return True


def read_rates(m, t, a, to):
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        for i in range(t[limb + L_WIDTH]):
            m[to + t[limb + L_FIRST] + i] = m[t[AT_STATE] + t[limb + L_RATES] + i]


def foretell(m, t, a, h):
    """RATE: those of the middle of the step, from the last two steps (spec 4.7) or the last one; else as they are."""
    known, last, before = m[t[AT_STATE] + KNOWN], m[t[AT_STATE]], m[t[AT_STATE] + STEP_BEFORE]
    if t[PREDICTS] == 0 or known < 1.0 or t[SCHEME] != MIDPOINT:
        return
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        for i in range(t[limb + L_WIDTH]):
            rate, mean = t[a + A_RATE] + t[limb + L_FIRST] + i, m[t[AT_STATE] + t[limb + L_MEANS] + i]
            if known < 2.0:
                m[rate] += h / last * (m[rate] - mean)
            else:
                m[rate] = mean + (h + last) / (last + before) * (mean - m[t[AT_STATE] + t[limb + L_EARLIER] + i])


def lay_own(m, t, a, h):
    """The own matrix and right hand side of a mechanism, its inertia made half a step on at the rates RATE."""
    momentum, stretch, late = shares(t, h)
    n, own, rates = t[a + A_WIDTH], t[a + A_OWN], t[a + A_RATE]
    mass, turning, right = t[a + A_ROOM], t[a + A_ROOM] + n * n, t[a + A_OWN] + n * n
    midpoint = t[SCHEME] == MIDPOINT
    if midpoint and t[PREDICTS]:
        place_limbs(m, t, a, t[AT_STATE], 0.5 * h)
    else:
        place_limbs(m, t, a, t[AT_STATE], 0.0)
    rate_limbs(m, t, a, rates)
    lay_axes(m, t, a)
    lay_masses(m, t, a, True)
    for i in range(n * n):
        m[own + i] = momentum * m[mass + i]
    if midpoint:
        if not decompose(m, t, a):
            return False
        turn_skew(m, t, a)
        nu = row_of(t, a, M_NU)
        for i in range(n):
            value = 0.0
            for j in range(i + 1):
                value += m[mass + n * i + j] * m[nu + j]
            m[right + i] = momentum * value
    else:
        for i in range(n):
            value = 0.0
            for j in range(n):
                value += (momentum * m[mass + n * i + j] - (1.0 - late) * m[turning + n * i + j]) * m[rates + j]
            m[right + i] = value
    for i in range(n * n):
        m[own + i] += late * m[turning + i]
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        if t[limb + L_PARAM] < 0:
            continue
        p = t[AT_PARAM] + t[limb + L_PARAM]
        stiffness = joint_stiffness(m, t, limb)
        for i in range(t[limb + L_WIDTH]):
            j, rate = t[limb + L_FIRST] + i, m[t[AT_STATE] + t[limb + L_RATES] + i]
            m[own + (n + 1) * j] += late * m[p + JOINT_DAMPING] + stretch * stiffness
            m[right + j] -= (1.0 - late) * m[p + JOINT_DAMPING] * rate
            if stiffness > 0.0:
                stretched = m[t[AT_STATE] + t[limb + L_COORDINATES]] - m[p + JOINT_REFERENCE]
                m[right + j] -= stiffness * stretched
    return True


def joint_stiffness(m, t, limb):
    """Stiffness of the spring of a joint; those of several unknowns have none."""
    if t[limb + L_PARAM] < 0 or t[limb + L_KIND] > RAIL:
        return 0.0
    return m[t[AT_PARAM] + t[limb + L_PARAM] + JOINT_STIFFNESS]


def move_assemblies(m, t, h):
    """Poses at the end of the step, and ν there."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        nu, rates = row_of(t, a, M_NU), t[a + A_RATE]
        if t[SCHEME] == MIDPOINT:
            twice = row_of(t, a, M_RATE)
            raise_rates(m, t, a, rates, twice)
            for i in range(t[a + A_WIDTH]):
                m[nu + i] = 2.0 * m[twice + i] - m[nu + i]
        for i in range(t[a + A_PART_COUNT]):
            limb = t[a + A_PARTS] + i * L_SIZE
            for j in range(t[limb + L_WIDTH]):
                mean = t[limb + L_MEANS] + j
                m[t[AT_NEXT] + t[limb + L_EARLIER] + j] = m[t[AT_STATE] + mean]
                m[t[AT_NEXT] + mean] = m[rates + t[limb + L_FIRST] + j]
        place_limbs(m, t, a, t[AT_STATE], h)
        write_poses(m, t, a, t[AT_NEXT])


def place_repaired(m, t, h, share):
    """Poses at the end of the step, moved on by a share of WAY."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        place_limbs(m, t, a, t[AT_STATE], h)
        for i in range(t[a + A_PART_COUNT]):
            limb = t[a + A_PARTS] + i * L_SIZE
            coordinates = t[limb + L_AT] + P_COORDINATES
            advance_coordinates(m, t, limb, coordinates, coordinates, t[a + A_WAY] + t[limb + L_FIRST], share)
            place_limb(m, t, limb)
        write_poses(m, t, a, t[AT_NEXT])


def write_poses(m, t, a, state):
    """Coordinates and poses of the members into a state."""
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        at, kind = t[limb + L_AT], t[limb + L_KIND]
        if kind != FREE:
            for i in range(4 if kind == BALL else 1):
                m[state + t[limb + L_COORDINATES] + i] = m[at + P_COORDINATES + i]
        if t[limb + L_BODY] >= 0:
            s = state + t[t[CARRIER_TABLE] + t[limb + L_BODY] * C_SIZE + C_STATE]
            for i in range(7):
                m[s + X + i] = m[at + P_X + i]


def arrive_assemblies(m, t):
    """Rates and velocities at the end of the step, where the poses of NEXT are. False where masses are not positive."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        nu = row_of(t, a, M_NU)
        if t[SCHEME] == MIDPOINT:
            lay_axes(m, t, a)
            lay_masses(m, t, a, False)
            if not decompose(m, t, a):
                return False
            lower_rates(m, t, a, nu)
        else:
            for i in range(t[a + A_WIDTH]):
                m[nu + i] = m[t[a + A_RATE] + i]
        write_velocities(m, t, a, t[AT_NEXT], nu)
    return True


def write_velocities(m, t, a, state, rates):
    """Rates of the joints, and velocities of the members with them."""
    rate_limbs(m, t, a, rates)
    for k in range(t[a + A_PART_COUNT]):
        limb = t[a + A_PARTS] + k * L_SIZE
        at = t[limb + L_AT]
        for i in range(t[limb + L_WIDTH]):
            m[state + t[limb + L_RATES] + i] = m[rates + t[limb + L_FIRST] + i]
        if t[limb + L_BODY] >= 0 and t[limb + L_KIND] != FREE:
            s = state + t[t[CARRIER_TABLE] + t[limb + L_BODY] * C_SIZE + C_STATE]
            for i in range(3):
                m[s + V + i] = m[at + P_V + i]
                m[s + W + i] = (
                    m[at + P_TURN + i] * m[at + P_W]
                    + m[at + P_TURN + 3 + i] * m[at + P_W + 1]
                    + m[at + P_TURN + 6 + i] * m[at + P_W + 2]
                )


def ready_assemblies(m, t):
    """Poses and velocities of the members as the joints say, after the state was set by hand."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[t[a + A_RATE] + i] = 0.0
        place_limbs(m, t, a, t[AT_STATE], 0.0)
        write_poses(m, t, a, t[AT_STATE])
        read_rates(m, t, a, t[a + A_RATE])
        write_velocities(m, t, a, t[AT_STATE], t[a + A_RATE])
        if m[t[AT_STATE]] == 0.0:
            for i in range(t[a + A_PART_COUNT]):
                limb = t[a + A_PARTS] + i * L_SIZE
                for j in range(t[limb + L_WIDTH]):
                    rate = m[t[AT_STATE] + t[limb + L_RATES] + j]
                    m[t[AT_STATE] + t[limb + L_MEANS] + j] = rate
                    m[t[AT_STATE] + t[limb + L_EARLIER] + j] = rate


INLINE = (row_of, joint_stiffness)
KERNELS = (
    lay_axes, lay_columns_of_limb, add_masses, lay_masses, decompose, raise_rates, lower_rates, turn_skew, read_rates,
    foretell, lay_own, begin_assemblies, place_repaired, write_poses, move_assemblies, write_velocities,
    arrive_assemblies, ready_assemblies,
)  # fmt: skip
