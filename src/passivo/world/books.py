"""What a step of a world did, in joules: work, loss, changes of stored energy, and what rounding may be worth. Kernels.

Rows of the ledger: kinetic, gravity, springs, joints, and of contacts impact, friction, repair, which stores what
stands in the tank (`repair.py`). What passes between them stands in RECEIVED and cancels in the total; everything lost
but at contacts, and the work at all ports, is booked where the motion is, in the kinetic row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.advance import lead, shares
    from passivo.world.bending import difference_beams, energy_beams
    from passivo.world.cords import difference_of_cords, energy_of_cords, output_of_cords
    from passivo.world.joint_books import differ_joints, store_joints
    from passivo.world.poses import frames, inertia, spin_on, turn, twist
    from passivo.world.table import *
    from passivo.world.ties import (
        add_end,
        effort,
        extent,
        lay_jacobian,
        lean,
        length,
        measure,
        present_rate,
        rate,
        stiffen,
        strength,
    )


def book_bodies(m, t, h):
    """Drag, gravity, and what rounding of the motion may be worth."""
    _, _, late = shares(t, h)
    for c in range(t[BODIES]):
        entry, hat = t[CARRIER_TABLE] + c * C_SIZE, t[AT_FRAMES] + c * F_SIZE + F_HAT
        s, p = t[AT_STATE] + t[entry + C_STATE], t[AT_PARAM] + t[entry + C_PARAM]
        step = t[AT_STEP] + t[entry + C_STATE]
        if t[entry + C_PARAM] < 0:
            continue
        mass, drag, spin_drag = m[p + MASS], m[p + DRAG], m[p + SPIN_DRAG]
        spin = 0.0
        x, y, z = inertia(m, p + INERTIA, m[hat + 3], m[hat + 4], m[hat + 5])
        u, v, w = inertia(m, p + INERTIA, m[step + W], m[step + W + 1], m[step + W + 2])
        moment = abs(x) + abs(y) + abs(z) + abs(u) + abs(v) + abs(w)
        for k in range(3):
            weight = mass * m[t[AT_PARAM] + k]
            work = h * weight * m[hat + k]
            m[t[AT_RECEIVED] + KINETIC] += work
            m[t[AT_RECEIVED] + GRAVITY] -= work
            m[t[AT_LOST]] += h * drag * m[hat + k] * (late * m[hat + k] + (1.0 - late) * m[s + V + k])
            m[t[AT_LOST]] += h * spin_drag * m[hat + 3 + k] * (late * m[hat + 3 + k] + (1.0 - late) * m[s + W + k])
            spin += abs(m[s + W + k]) + abs(m[step + W + k])
            speed, change = abs(m[s + V + k]), abs(m[step + V + k])
            m[t[AT_SCALE] + KINETIC] += (speed + change) * mass * (abs(m[hat + k]) + change) + abs(work)
            m[t[AT_SCALE] + GRAVITY] += (abs(m[s + k]) + abs(m[step + k])) * abs(weight)
        m[t[AT_SCALE] + KINETIC] += spin * moment


def deliver(m, t, h, k, y):
    """The mean output y of port component k, and its work."""
    m[t[AT_MEAN] + k] += h * y
    m[t[AT_WORK] + k] += h * m[t[AT_USED] + k] * y


def book_ports(m, t, h):
    """Work at the ports of bodies: h u·y, with the mean velocity y that the force acts along."""
    for k in range(t[TAPS]):
        tap = t[TAP_TABLE] + TAP_SIZE * k
        at, point, u = t[AT_FRAMES] + t[tap] * F_SIZE, t[tap + 1], t[tap + 2]
        p, q, r = m[at + F_HAT + 3], m[at + F_HAT + 4], m[at + F_HAT + 5]
        x = q * m[point + 2] - r * m[point + 1]
        y = r * m[point] - p * m[point + 2]
        z = p * m[point + 1] - q * m[point]
        for i in range(3):
            row = at + F_BENT + 3 * i
            deliver(m, t, h, u + i, m[at + F_HAT + i] + m[row] * x + m[row + 1] * y + m[row + 2] * z)
            if t[tap + 3] == 6:
                deliver(m, t, h, u + 3 + i, m[row] * p + m[row + 1] * q + m[row + 2] * r)


def book_ties(m, t, h):
    """What ties take in and lose, and what anchors do through them."""
    _, stretch, late = shares(t, h)
    for c in range(t[BODIES], t[CARRIERS]):
        for k in range(6):
            m[t[AT_FRAMES] + c * F_SIZE + F_PULL + k] = 0.0
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        row, force, reached = t[tie + T_ROW], at + R_FORCE, extent(m, t, tie)
        for i in range(3):
            v = rate(m, t, tie, at, i)
            elastic = pull(m, at, i, stretch * v)
            damping = 0.0
            for j in range(3):
                speed = rate(m, t, tie, at, j) if late > 0.0 else present_rate(m, t, tie, at, j)
                damping -= m[at + R_C + 3 * i + j] * speed
            m[force + i] = elastic + damping
            m[t[AT_RECEIVED] + KINETIC] += h * elastic * v
            m[t[AT_RECEIVED] + row] -= h * elastic * v
            m[t[AT_LOST]] -= h * damping * v
            terms = effort(m, t, tie, at, i)
            # V̂ is known to the rounding of the terms that the stiffness multiplies in the equation of the step,
            # Ψ to that of the places it is the difference of
            stiff = abs(m[at + R_K])
            m[t[AT_SCALE] + KINETIC] += h * (stiff * (abs(m[at + R_PSI + i]) + stretch * terms) + abs(damping)) * terms
            way = reached + h * terms
            m[t[AT_SCALE] + row] += (abs(elastic) + EPSILON * stiff * way) * way
        if t[tie + T_B] >= t[BODIES]:
            add_end(m, t[AT_FRAMES] + t[tie + T_B] * F_SIZE + F_PULL, at + R_B, force)
    for c in range(t[BODIES], t[CARRIERS]):
        entry, at = t[CARRIER_TABLE] + c * C_SIZE, t[AT_FRAMES] + c * F_SIZE
        for i in range(3):
            deliver(m, t, h, t[entry + C_INPUT] + i, -m[at + F_PULL + i])
            if t[entry + C_WIDTH] == 6:
                deliver(m, t, h, t[entry + C_INPUT] + 3 + i, -outward(m, at, i))


def pull(m, at, i, way):
    """The mean elastic force of row i of a tie, if `way` is half of what Ψ changes by."""
    return -m[at + R_K] * (m[at + R_PSI + i] + way)


def outward(m, at, i):
    """Component i, in world axes, of the moment that pulls at an anchor."""
    row, moment = at + F_TURN + 3 * i, at + F_PULL + 3
    return m[row] * m[moment] + m[row + 1] * m[moment + 1] + m[row + 2] * m[moment + 2]


def tell_ties(m, t, h):
    """What a run records of springs and joints: the largest |Ψ| at the end of the step, and the mean force on the first
    body, in world axes; each times h, for the mean over the step."""
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        told = t[AT_RECORDED] + t[tie + T_TOLD]
        noise = t[AT_NOISE] + t[tie + T_TOLD]
        reached = extent(m, t, tie)
        # what rounding of Ψ is worth: in the force, and in the velocity that joints make of it
        known = (strength(m, t, tie, T_STIFFNESS) + strength(m, t, tie, T_DAMPING) / h) * reached
        if t[tie + T_KIND] != DIRECTION and t[tie + T_KIND] != SPIN:
            m[told] = max(m[told], h * length(m, at + R_NEW))
            m[noise] += reached
        for i in range(3):
            for j in range(3):
                m[told + 1 + j] += h * m[at + R_A + 6 * i + j] * m[at + R_FORCE + i]
                m[noise + 1 + j] += known


def world_difference(m, t):
    """DIFFERENCE of every row from STATE to NEXT over STEP, term by term."""
    for r in range(t[ROW_COUNT]):
        m[t[AT_DIFFERENCE] + r] = 0.0
    for c in range(t[BODIES]):
        entry = t[CARRIER_TABLE] + c * C_SIZE
        s, p = t[entry + C_STATE], t[AT_PARAM] + t[entry + C_PARAM]
        if t[entry + C_PARAM] < 0:
            continue
        old, new, step = t[AT_STATE] + s, t[AT_NEXT] + s, t[AT_STEP] + s
        x, y, z = inertia(m, p + INERTIA, m[step + W], m[step + W + 1], m[step + W + 2])
        twice = (
            (m[old + W] + m[new + W]) * x
            + (m[old + W + 1] + m[new + W + 1]) * y
            + (m[old + W + 2] + m[new + W + 2]) * z
        )
        for k in range(3):
            twice += m[p + MASS] * (m[old + V + k] + m[new + V + k]) * m[step + V + k]
            m[t[AT_DIFFERENCE] + GRAVITY] -= m[p + MASS] * m[t[AT_PARAM] + k] * m[step + k]
        m[t[AT_DIFFERENCE] + KINETIC] += 0.5 * twice
    difference_beams(m, t)
    differ_joints(m, t)
    difference_of_cords(m, t)
    if t[CONTACTS]:
        m[t[AT_DIFFERENCE] + t[REPAIR_ROW]] = m[t[AT_STEP] + t[TANK_STATE]]
    frames(m, t, t[AT_STATE], F_TURN)
    frames(m, t, t[AT_NEXT], F_NEXT)
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        measure(m, t, tie, t[AT_STATE], F_TURN, at + R_PSI)
        measure(m, t, tie, t[AT_NEXT], F_NEXT, at + R_NEW)
        m[t[AT_DIFFERENCE] + t[tie + T_ROW]] += gained(m, t, tie, at)


def gained(m, t, tie, at):
    """Joules that a tie stores more at its new Ψ than at the old one."""
    old, new, gain = at + R_PSI, at + R_NEW, 0.0
    for i in range(3):
        gain += 0.5 * (m[new + i] + m[old + i]) * (m[new + i] - m[old + i])
    if t[tie + T_KIND] == LENGTH:
        gain -= 2.0 * m[t[tie + T_FIGURES] + 6] * gain / (length(m, old) + length(m, new))
    return strength(m, t, tie, T_STIFFNESS) * gain


def world_shift(m, t, place, way, width):
    """Move an anchor, whose position is at `place`, by the way and (six wide) the turn at `way`, in world axes. Returns
    the joules that this brings into its springs."""
    for i in range(t[STATE_COUNT]):
        m[t[AT_NEXT] + i] = m[t[AT_STATE] + i]
    at = t[AT_NEXT] + place - t[AT_STATE]
    for k in range(3):
        m[at + k] += m[way + k]
    if width == 6:
        turn(m, place + Q, t[AT_FRAMES])
        x, y, z = m[way + 3], m[way + 4], m[way + 5]
        frame = t[AT_FRAMES]
        spin_on(
            m,
            place + Q,
            at + Q,
            m[frame] * x + m[frame + 3] * y + m[frame + 6] * z,
            m[frame + 1] * x + m[frame + 4] * y + m[frame + 7] * z,
            m[frame + 2] * x + m[frame + 5] * y + m[frame + 8] * z,
        )
    for i in range(t[STATE_COUNT]):
        m[t[AT_STEP] + i] = m[t[AT_NEXT] + i] - m[t[AT_STATE] + i]
    world_difference(m, t)
    gain = 0.0
    for r in range(t[ROW_COUNT]):
        gain += m[t[AT_DIFFERENCE] + r]
    for i in range(t[STATE_COUNT]):
        m[t[AT_STATE] + i] = m[t[AT_NEXT] + i]
    return gain


def world_energy(m, t):
    """ENERGY of every row at STATE."""
    for r in range(t[ROW_COUNT]):
        m[t[AT_ENERGY] + r] = 0.0
    for c in range(t[BODIES]):
        entry = t[CARRIER_TABLE] + c * C_SIZE
        s, p = t[AT_STATE] + t[entry + C_STATE], t[AT_PARAM] + t[entry + C_PARAM]
        if t[entry + C_PARAM] < 0:
            continue
        x, y, z = inertia(m, p + INERTIA, m[s + W], m[s + W + 1], m[s + W + 2])
        twice = m[s + W] * x + m[s + W + 1] * y + m[s + W + 2] * z
        for k in range(3):
            twice += m[p + MASS] * m[s + V + k] * m[s + V + k]
            m[t[AT_ENERGY] + GRAVITY] -= m[p + MASS] * m[t[AT_PARAM] + k] * m[s + k]
        m[t[AT_ENERGY] + KINETIC] += 0.5 * twice
    energy_beams(m, t)
    store_joints(m, t)
    energy_of_cords(m, t)
    if t[CONTACTS]:
        m[t[AT_ENERGY] + t[REPAIR_ROW]] = m[t[AT_STATE] + t[TANK_STATE]]
    frames(m, t, t[AT_STATE], F_TURN)
    for k in range(t[TIES]):
        tie, psi = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE + R_PSI
        measure(m, t, tie, t[AT_STATE], F_TURN, psi)
        size = length(m, psi)
        if t[tie + T_KIND] == LENGTH:
            size -= m[t[tie + T_FIGURES] + 6]
        m[t[AT_ENERGY] + t[tie + T_ROW]] += 0.5 * strength(m, t, tie, T_STIFFNESS) * size * size


def world_heights(m, t):
    """HEIGHT of every row: no minimum is known, so all it stores."""
    world_energy(m, t)
    for r in range(t[ROW_COUNT]):
        m[t[AT_HEIGHT] + r] = m[t[AT_ENERGY] + r]


def world_output(m, t):
    """OUTPUT at STATE: velocities of the points of ports, forces on anchors."""
    frames(m, t, t[AT_STATE], F_TURN)
    for k in range(t[TAPS]):
        tap = t[TAP_TABLE] + TAP_SIZE * k
        at, point, y = t[AT_FRAMES] + t[tap] * F_SIZE, t[tap + 1], t[AT_OUTPUT] + t[tap + 2]
        s = t[AT_STATE] + t[t[CARRIER_TABLE] + t[tap] * C_SIZE + C_STATE]
        p, q, r = m[s + W], m[s + W + 1], m[s + W + 2]
        u = q * m[point + 2] - r * m[point + 1]
        v = r * m[point] - p * m[point + 2]
        w = p * m[point + 1] - q * m[point]
        for i in range(3):
            row = at + F_TURN + 3 * i
            m[y + i] = m[s + V + i] + m[row] * u + m[row + 1] * v + m[row + 2] * w
            if t[tap + 3] == 6:
                m[y + 3 + i] = m[row] * p + m[row + 1] * q + m[row + 2] * r
    output_of_cords(m, t)
    if t[CARRIERS] > t[BODIES]:
        pull_anchors(m, t)


def pull_anchors(m, t):
    """Forces on anchors at the present pose, velocities and inputs."""
    for c in range(t[BODIES]):
        hat, s = t[AT_FRAMES] + c * F_SIZE + F_HAT, t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
        for k in range(6):
            m[hat + k] = m[s + V + k]
    for c in range(t[BODIES], t[CARRIERS]):
        lead(m, t, c)
        for k in range(6):
            m[t[AT_FRAMES] + c * F_SIZE + F_PULL + k] = 0.0
    twist(m, t, 0.0)
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        if t[tie + T_B] < t[BODIES]:
            continue
        measure(m, t, tie, t[AT_STATE], F_TURN, at + R_PSI)
        lay_jacobian(m, t, tie, at)
        if t[tie + T_KIND] == SLIDE:
            lean(m, t, tie, at, 0.0)
        stiffen(m, t, tie, at, 0.0)
        for i in range(3):
            m[at + R_FORCE + i] = -m[at + R_K] * m[at + R_PSI + i]
            for j in range(3):
                m[at + R_FORCE + i] -= m[at + R_C + 3 * i + j] * rate(m, t, tie, at, j)
        add_end(m, t[AT_FRAMES] + t[tie + T_B] * F_SIZE + F_PULL, at + R_B, at + R_FORCE)
    for c in range(t[BODIES], t[CARRIERS]):
        entry, at = t[CARRIER_TABLE] + c * C_SIZE, t[AT_FRAMES] + c * F_SIZE
        y = t[AT_OUTPUT] + t[entry + C_INPUT]
        for i in range(3):
            m[y + i] = -m[at + F_PULL + i]
            if t[entry + C_WIDTH] == 6:
                m[y + 3 + i] = -outward(m, at, i)


INLINE = (deliver, outward, pull, gained)
KERNELS = (book_bodies, book_ports, book_ties, tell_ties, pull_anchors)
ENTRIES = (world_difference, world_shift, world_energy, world_heights, world_output)
