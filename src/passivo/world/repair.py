"""After the impulses of a step: what sticks stands still, the joules are booked, penetration is repaired (spec 4.5).
Kernels.

The velocities at the end of a step keep a part that changes sign from step to step; where a contact sticks or rests it
is taken out, by impulses that can only lower the kinetic energy. What rests then has the same impulses in every step,
and the sweeps begin with them. What contacts lose fills the tank up to its cap; penetration is repaired by
displacements, whose joules (weights that are lifted, springs that are stretched) come out of the tank.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.assemblies import member_of, push_members, respond_all
    from passivo.world.bending import shift_beams
    from passivo.world.books import world_difference
    from passivo.world.collide import touch_size
    from passivo.world.contacts import add_columns, along_body, answer, invert, lay_column, slip, terms
    from passivo.world.inertias import place_repaired
    from passivo.world.poses import spin_on
    from passivo.world.table import *

HOLDS = 10  # sweeps that take velocities out of what is held
QUIET = 1e-8  # m/s that are left, and slip over the step that is none
REPAIRS = 8
MENDED = 0.2  # of the depth, in a step
RESERVE = 0.01  # share of the tank's cap that repair leaves to what the sweeps do not solve
SLACK = 1e-7  # metres of depth that are left alone


def free_ends(m, t, at):
    """Whether no tie hangs on the bodies of a contact, and no joint."""
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0 and (t[t[COMPONENT_TABLE] + 2 * c + 1] > 1 or member_of(t, c) >= 0):
            return False
    return True


def hold(m, t):
    """Take out of the velocities at the end of the step what contacts do not let pass: the slip of what sticks, and the
    normal velocity of what rests. Its joules are lost at contacts."""
    count, laid = int(m[t[AT_TALLY] + N_TOUCHES]), False
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        m[at + K_STILL] = 0.0
        if m[at + K_STICKS] == 0.0 and m[at + K_P] > 0.0:  # at the edge of its cone, but it does not move
            stands = abs(slip(m, at, t[AT_RIGHT], 1)) + abs(slip(m, at, t[AT_RIGHT], 2)) <= QUIET
            m[at + K_STICKS] = 1.0 if stands else 0.0
    for s in range(HOLDS):
        moved = 0.0
        for i in range(count):
            at = t[AT_TOUCHES] + (i if s % 2 == 0 else count - 1 - i) * touch_size(t)
            if m[at + K_P] <= 0.0 or (m[at + K_STICKS] == 0.0 and m[at + K_RESTS] == 0.0) or not free_ends(m, t, at):
                continue
            u = last_slip(m, t, at, 0) if m[at + K_RESTS] > 0.0 else 0.0
            v = last_slip(m, t, at, 1) if m[at + K_STICKS] > 0.0 else 0.0
            w = last_slip(m, t, at, 2) if m[at + K_STICKS] > 0.0 else 0.0
            size = max(abs(u), max(abs(v), abs(w)))
            if size <= QUIET:
                continue
            moved = max(moved, size)
            if not laid:
                laid = True
                invert_inertias(m, t)
            if m[at + K_STILL] == 0.0:
                lay_still(m, t, at)
            hold_one(m, t, at, u, v, w)
        if moved == 0.0:
            break


def invert_inertias(m, t):
    scratch = t[AT_FREE] + 6 * t[BODIES]
    for c in range(t[BODIES]):
        if t[t[CARRIER_TABLE] + c * C_SIZE + C_PARAM] < 0:
            continue
        j = t[AT_PARAM] + t[t[CARRIER_TABLE] + c * C_SIZE + C_PARAM] + INERTIA
        m[scratch], m[scratch + 4], m[scratch + 8] = m[j], m[j + 1], m[j + 2]
        m[scratch + 1], m[scratch + 2], m[scratch + 5] = m[j + 3], m[j + 4], m[j + 5]
        m[scratch + 3], m[scratch + 6], m[scratch + 7] = m[j + 3], m[j + 4], m[j + 5]
        invert(m, scratch, t[AT_FRAMES] + c * F_SIZE + F_INVERSE)


def last_slip(m, t, at, i):
    """Component i of the velocity of a contact at the end of the step."""
    u = 0.0
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0:
            speed = t[AT_NEXT] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE] + V
            u += along_body(m, at + (K_JA if side == 0 else K_JB) + 6 * i, speed)
    return u


def mass_of(m, t, c):
    return m[t[AT_PARAM] + t[t[CARRIER_TABLE] + c * C_SIZE + C_PARAM] + MASS]


def lay_still(m, t, at):
    """How free bodies answer an impulse by mass alone, times their mass: what is left says only how they are shaped.

    Behind it stands the inverse of how u answers, for the directions that are held, and how the normal one answers
    where all masses are 1.
    """
    m[at + K_STILL], m[at + K_CALM_NORMAL] = 1.0, 0.0
    d = t[AT_FREE] + 6 * t[BODIES]
    for i in range(9):
        m[d + i] = 0.0
    for side in range(2):
        c = int(m[at + K_A + side])
        if c < 0:
            continue
        mass, jacobian = mass_of(m, t, c), at + (K_JA if side == 0 else K_JB)
        inverse = t[AT_FRAMES] + c * F_SIZE + F_INVERSE
        for i in range(3):
            row, column = jacobian + 6 * i, at + K_CALM + 18 * side + 6 * i
            for k in range(3):
                m[column + k] = m[row + k]
                m[column + 3 + k] = mass * (
                    m[inverse + 3 * k] * m[row + 3]
                    + m[inverse + 3 * k + 1] * m[row + 4]
                    + m[inverse + 3 * k + 2] * m[row + 5]
                )
            for j in range(3):
                m[d + 3 * j + i] += along_body(m, jacobian + 6 * j, column) / mass
        m[at + K_CALM_NORMAL] += along_body(m, jacobian, at + K_CALM + 18 * side)
    for i in range(3):
        if m[at + (K_RESTS if i == 0 else K_STICKS)] == 0.0:
            for j in range(3):
                m[d + 3 * i + j], m[d + 3 * j + i] = 0.0, 0.0
            m[d + 4 * i] = 1.0
    invert(m, d, at + K_CALM_INVERSE)


def hold_one(m, t, at, u, v, w):
    """Take these velocities out of one contact."""
    d = at + K_CALM_INVERSE
    x = -(m[d] * u + m[d + 1] * v + m[d + 2] * w)
    y = -(m[d + 3] * u + m[d + 4] * v + m[d + 5] * w)
    z = -(m[d + 6] * u + m[d + 7] * v + m[d + 8] * w)
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0:
            speed, share = t[AT_NEXT] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE] + V, 1.0 / mass_of(m, t, c)
            add_columns(m, speed, at + K_CALM + 18 * side, share * x, share * y, share * z)
    tell_push(m, t, at, x, y, z)
    m[t[AT_TALLY] + (N_FRICTION if m[at + K_STICKS] > 0.0 else N_IMPACT)] -= 0.5 * (x * u + y * v + z * w)
    for i in range(3):
        m[t[AT_SCALE] + KINETIC] += abs(x if i == 0 else (y if i == 1 else z)) * terms(m, t, at, i)


def book_contacts(m, t, h):
    """Joules of contacts: out of the motion, into the tank, and what it cannot hold is lost."""
    tally, received, lost, scale = t[AT_TALLY], t[AT_RECEIVED], t[AT_LOST], t[AT_SCALE]
    impact, friction = m[tally + N_IMPACT], m[tally + N_FRICTION]  # of what was held
    for k in range(int(m[tally + N_TOUCHES])):
        at = t[AT_TOUCHES] + k * touch_size(t)
        m[tally + N_DEPTH] = max(m[tally + N_DEPTH], -m[at + K_GAP])
        if m[at + K_P] <= 0.0:
            continue
        for i in range(3):
            m[at + K_U + i] = slip(m, at, t[AT_RIGHT], i)
            m[scale + KINETIC] += abs(m[at + K_P + i]) * terms(m, t, at, i)
        v, w = m[at + K_U + 1], m[at + K_U + 2]
        impact -= m[at + K_P] * m[at + K_U]
        friction -= m[at + K_P + 1] * v + m[at + K_P + 2] * w
        tell_push(m, t, at, m[at + K_P], m[at + K_P + 1], m[at + K_P + 2])
        m[tally + N_LIVE] += 1.0
        m[tally + N_FORCE] += m[at + K_P] / h
        m[tally + N_SLIP] = max(m[tally + N_SLIP], sqrt(v * v + w * w))
    whole = impact + friction
    m[tally + N_IMPACT], m[tally + N_FRICTION] = impact, friction
    m[received + KINETIC] -= whole
    tank = m[t[AT_STATE] + t[TANK_STATE]]
    filled = whole
    if whole > 0.0:
        filled = min(whole, max(0.0, m[t[AT_PARAM] + t[TANK_PARAM]] - tank))
        spilled = whole - filled
        part = spilled * impact / whole if impact > 0.0 and friction > 0.0 else (spilled if impact > 0.0 else 0.0)
        m[received + t[IMPACT_ROW]] += part
        m[lost + t[IMPACT_ROW]] += part
        m[received + t[FRICTION_ROW]] += spilled - part
        m[lost + t[FRICTION_ROW]] += spilled - part
    m[received + t[REPAIR_ROW]] += filled
    m[t[AT_NEXT] + t[TANK_STATE]] = max(0.0, tank + filled)
    m[scale + t[REPAIR_ROW]] += tank + abs(impact) + abs(friction)


def repair(m, t, h):
    """Part bodies that overlap at the end of the step, as far as the tank can pay."""
    count = int(m[t[AT_TALLY] + N_TOUCHES])
    if not plan_repair(m, t, h, count):
        return
    tank = t[AT_NEXT] + t[TANK_STATE]
    steps_of(m, t)
    world_difference(m, t)
    for r in range(t[ROW_COUNT]):
        m[t[AT_ENERGY] + r] = m[t[AT_DIFFERENCE] + r]
    share = 1.0
    spare = max(0.0, m[tank] - RESERVE * m[t[AT_PARAM] + t[TANK_PARAM]])
    cost = repaired(m, t, h, share)
    if cost > spare:
        share = spare / cost
        cost = repaired(m, t, h, share)
    if cost > spare * (1.0 + 4.0 * EPSILON):
        repaired(m, t, h, 0.0)
        return
    for r in range(t[ROW_COUNT]):
        if r != KINETIC and r != t[REPAIR_ROW]:
            m[t[AT_RECEIVED] + r] += m[t[AT_DIFFERENCE] + r] - m[t[AT_ENERGY] + r]
            m[t[AT_SCALE] + r] += abs(m[t[AT_DIFFERENCE] + r]) + abs(m[t[AT_ENERGY] + r])
    # what sinks fills the tank, and what it cannot hold is lost
    spilled = max(0.0, m[tank] - cost - max(m[tank], m[t[AT_PARAM] + t[TANK_PARAM]]))
    m[t[AT_RECEIVED] + t[REPAIR_ROW]] -= cost
    m[t[AT_LOST] + t[REPAIR_ROW]] += spilled
    m[t[AT_SCALE] + t[REPAIR_ROW]] += m[tank] + abs(cost)
    m[tank] = max(0.0, m[tank] - cost - spilled)
    m[t[AT_TALLY] + N_REPAIR] = cost


def plan_repair(m, t, h, count):
    """Displacements that part what overlaps, in FREE; False where nothing does."""
    way, needed = t[AT_FREE], False
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        depth = -(m[at + K_GAP] + h * slip(m, at, t[AT_RIGHT], 0))
        m[at + K_WAY] = MENDED * depth if depth > 0.0 else depth
        m[at + K_TO] = 0.0
        needed = needed or depth > SLACK
    if not needed:
        return False
    for i in range(6 * t[BODIES]):
        m[way + i] = 0.0
    invert_inertias(m, t)
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if free_ends(m, t, at):
            if m[at + K_STILL] == 0.0:
                lay_still(m, t, at)
        elif m[at + K_LAID] == 0.0:
            lay_column(m, t, h, at)
    for s in range(REPAIRS):
        for i in range(count):
            at = t[AT_TOUCHES] + (i if s % 2 == 0 else count - 1 - i) * touch_size(t)
            yields = m[at + K_CALM_NORMAL] if free_ends(m, t, at) else m[at + K_D]
            size = max(0.0, m[at + K_TO] + (m[at + K_WAY] - slip(m, at, way, 0)) / yields)
            if size != m[at + K_TO]:
                part(m, t, at, way, size - m[at + K_TO])
                m[at + K_TO] = size
    if t[ASSEMBLIES] > 0:
        answer_repair(m, t, h, count)
    return True


def answer_repair(m, t, h, count):
    """WAY of assemblies: how far what parts bodies moves their unknowns."""
    vector = t[AT_FREE] + 6 * t[BODIES]
    for i in range(6 * t[BODIES]):
        m[vector + i] = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_TO] > 0.0 and not free_ends(m, t, at):
            push_members(m, t, at, vector, m[at + K_TO] / h, 0.0, 0.0)
    respond_all(m, t, vector)
    for k in range(t[ASSEMBLIES]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[t[a + A_WAY] + i] = m[t[a + A_ANSWER] + i]


def part(m, t, at, way, size):
    """Displace the bodies of a contact along its normal. Free ones as if all were equally heavy: of a heavy body on a
    light one both then move alike, and few sweeps are enough. Others as they answer impulses: stiff springs are hardly
    stretched."""
    if not free_ends(m, t, at):
        answer(m, t, at, way, size, 0.0, 0.0)
        return
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0:
            for n in range(6):
                m[way + 6 * c + n] += m[at + K_CALM + 18 * side + n] * size


def repaired(m, t, h, share):
    """NEXT and DIFFERENCE with a share of the displacements; returns the joules that they cost."""
    for c in range(t[BODIES]):
        s, way = t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE], t[AT_FREE] + 6 * c
        hat, old, new = t[AT_FRAMES] + c * F_SIZE + F_HAT, t[AT_STATE] + s, t[AT_NEXT] + s
        for k in range(3):
            m[new + k] = m[old + k] + h * m[hat + k] + share * m[way + k]
        spin_on(m, old + Q, new + Q, h * m[hat + 3], h * m[hat + 4], h * m[hat + 5])
        if share > 0.0:
            spin_on(m, new + Q, new + Q, share * m[way + 3], share * m[way + 4], share * m[way + 5])
    if t[MECHANISMS] > 0:
        place_repaired(m, t, h, share)
    shift_beams(m, t, h, share)
    steps_of(m, t)
    world_difference(m, t)
    cost = 0.0
    for r in range(t[ROW_COUNT]):
        if r != KINETIC and r != t[REPAIR_ROW]:
            cost += m[t[AT_DIFFERENCE] + r] - m[t[AT_ENERGY] + r]
    return cost


def steps_of(m, t):
    for i in range(t[STATE_COUNT]):
        m[t[AT_STEP] + i] = m[t[AT_NEXT] + i] - m[t[AT_STATE] + i]


def tell_push(m, t, at, x, y, z):
    """An impulse of a contact into the records of its bodies: force in world axes and torque in their own, times h."""
    for side in range(2):
        c, jacobian = int(m[at + K_A + side]), at + (K_JA if side == 0 else K_JB)
        if c >= 0:
            told = t[AT_RECORDED] + t[TOLD_WRENCHES] + 6 * c
            for n in range(6):
                m[told + n] += m[jacobian + n] * x + m[jacobian + 6 + n] * y + m[jacobian + 12 + n] * z


def tell_contacts(m, t, h):
    """What a run records of contacts, in the order of `names.py`; each times h, for the mean over the step."""
    tally, told = t[AT_TALLY], t[AT_RECORDED] + t[TOLD_CONTACTS]
    m[told] += h * m[tally + N_LIVE]
    m[told + 1] += h * m[tally + N_DEPTH]
    m[told + 2] += h * m[tally + N_SLIP]
    m[told + 3] += h * m[tally + N_FORCE]
    m[told + 4] += h * m[tally + N_SWEEPS]
    m[told + 5] += h * m[tally + N_GUARDED]
    m[told + 6] += h * m[tally + N_IMPACT]
    m[told + 7] += h * m[tally + N_FRICTION]
    m[told + 8] += h * m[tally + N_REPAIR]
    m[told + 9] += h * m[tally + N_DEBIT]


def tell_noise(m, t, h):
    """What rounding is worth in these records, for an audit. Positions are known to that of the farthest: so are gaps,
    and over the step slips, and impulses are what answers a slip. Joules are known to rounding of the rows."""
    noise, far, joules = t[AT_NOISE] + t[TOLD_CONTACTS], 0.0, 0.0
    for c in range(t[BODIES]):
        s, size = t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE], m[t[AT_REACH] + c]
        for k in range(3):
            size += abs(m[s + k])
        far = max(far, size)
    for r in range(t[ROW_COUNT]):
        joules += m[t[AT_SCALE] + r]
    m[noise + 1] += far
    m[noise + 2] += far / h
    for i in range(6, 10):
        m[noise + i] += joules
    for k in range(int(m[t[AT_TALLY] + N_TOUCHES])):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] <= 0.0:
            continue
        for i in range(3):
            force = (abs(m[at + K_P + i]) + far / (h * m[at + K_D + 4 * i])) / h
            if i == 0:
                m[noise + 3] += force
            for side in range(2):
                c, row = int(m[at + K_A + side]), at + (K_JA if side == 0 else K_JB) + 6 * i
                if c >= 0:
                    for n in range(6):
                        m[t[AT_NOISE] + t[TOLD_WRENCHES] + 6 * c + n] += abs(m[row + n]) * force


INLINE = (free_ends, mass_of, steps_of)
KERNELS = (
    invert_inertias, last_slip, lay_still, tell_push, hold_one, hold, book_contacts, part, answer_repair,
    plan_repair, repaired,
    repair, tell_noise, tell_contacts,
)  # fmt: skip
