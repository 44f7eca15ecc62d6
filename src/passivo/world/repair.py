"""After the impulses of a step: their joules are booked, penetration is repaired (spec 4.5). Kernels.

What contacts lose fills the tank up to its cap; penetration is repaired by displacements, whose joules (weights that
are lifted, springs that are stretched) come out of the tank.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.assemblies import member_of, push_members, respond_all
    from passivo.world.bending import shift_beams
    from passivo.world.books import world_difference
    from passivo.world.collide import touch_size
    from passivo.world.contacts import along_body, answer, invert, lay_column, room, slip, terms
    from passivo.world.inertias import place_repaired
    from passivo.world.poses import spin_on
    from passivo.world.table import *

REPAIRS = 8
PAYS = 0.999  # of what there is to pay with: the cost is not linear, and known to rounding
MENDED = 0.2  # of the depth, in a step
RESERVE = 0.01  # share of the tank's cap that repair leaves to what the sweeps do not solve
SLACK = 1e-7  # metres of depth that are left alone


def is_alone(t, c):
    """Whether no tie hangs on a body, and no joint."""
    return t[t[COMPONENT_TABLE] + 2 * c + 1] == 1 and member_of(t, c) < 0


def free_ends(m, t, at):
    """Whether the bodies of a contact are by themselves."""
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0 and not is_alone(t, c):
            return False
    return True


def lay_still(m, t, at):
    """How free bodies give way to a push along the normal if all masses were 1: what is left says only how they are
    shaped."""
    m[at + K_CALM_NORMAL] = 0.0
    inverse = room(t, VECTORS) + 9
    for side in range(2):
        c = int(m[at + K_A + side])
        if c < 0:
            continue
        mass = invert_inertia(m, t, c, inverse)
        row, column = at + (K_JA if side == 0 else K_JB), at + K_CALM + 6 * side
        for k in range(3):
            i = inverse + 3 * k
            m[column + k] = m[row + k]
            m[column + 3 + k] = mass * (m[i] * m[row + 3] + m[i + 1] * m[row + 4] + m[i + 2] * m[row + 5])
        m[at + K_CALM_NORMAL] += along_body(m, row, column)


def invert_inertia(m, t, c, inverse):
    """The inverse inertia of a body, behind room for nine numbers. Returns its mass."""
    p, whole = t[AT_PARAM] + t[t[CARRIER_TABLE] + c * C_SIZE + C_PARAM], inverse - 9
    j = p + INERTIA
    m[whole], m[whole + 4], m[whole + 8] = m[j], m[j + 1], m[j + 2]
    m[whole + 1], m[whole + 2], m[whole + 5] = m[j + 3], m[j + 4], m[j + 5]
    m[whole + 3], m[whole + 6], m[whole + 7] = m[j + 3], m[j + 4], m[j + 5]
    invert(m, whole, inverse)
    return m[p + MASS]


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
            m[scale + KINETIC] += abs(m[at + K_P + i]) * terms(m, t, at, t[AT_RIGHT], i)
        v, w = m[at + K_U + 1], m[at + K_U + 2]
        impact -= m[at + K_P] * m[at + K_U]
        friction -= m[at + K_P + 1] * v + m[at + K_P + 2] * w
        tell_push(m, t, at, m[at + K_P], m[at + K_P + 1], m[at + K_P + 2])
        m[tally + N_LIVE] += 1.0
        m[tally + N_FORCE] += m[at + K_P] / h
        m[tally + N_SLIP] = max(m[tally + N_SLIP], sqrt(v * v + w * w))
    m[tally + N_IMPACT], m[tally + N_FRICTION] = impact, friction
    tank = m[t[AT_STATE] + t[TANK_STATE]]
    whole = max(impact + friction, -tank)  # what rounding took out of an empty tank, motion has made
    m[received + KINETIC] -= whole
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
        share = PAYS * spare / cost
        cost = repaired(m, t, h, share)
    if cost > m[tank]:  # the reserve is more than rounding, which must not decide here
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
        m[at + K_REPAIR] = 0.0
        needed = needed or depth > SLACK
    if not needed:
        return False
    for i in range(6 * t[BODIES]):
        m[way + i] = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if free_ends(m, t, at):
            lay_still(m, t, at)
        elif m[at + K_LAID] == 0.0:
            lay_column(m, t, h, at)
    for s in range(REPAIRS):
        for i in range(count):
            at = t[AT_TOUCHES] + (i if s % 2 == 0 else count - 1 - i) * touch_size(t)
            yields = m[at + K_CALM_NORMAL] if free_ends(m, t, at) else m[at + K_D]
            size = max(0.0, m[at + K_REPAIR] + (m[at + K_WAY] - slip(m, at, way, 0)) / yields)
            if size != m[at + K_REPAIR]:
                part(m, t, at, way, size - m[at + K_REPAIR])
                m[at + K_REPAIR] = size
    if t[ASSEMBLIES] > 0:
        answer_repair(m, t, h, count)
    return True


def answer_repair(m, t, h, count):
    """WAY of assemblies: how far what parts bodies moves their unknowns."""
    pushed = room(t, V_ANSWER)
    for i in range(6 * t[BODIES]):
        m[pushed + i] = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_REPAIR] > 0.0 and not free_ends(m, t, at):
            push_members(m, t, at, pushed, m[at + K_REPAIR] / h, 0.0, 0.0)
    respond_all(m, t, pushed)
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
                m[way + 6 * c + n] += m[at + K_CALM + 6 * side + n] * size


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


INLINE = (is_alone, free_ends, steps_of)
KERNELS = (
    invert_inertia, lay_still, tell_push, book_contacts, part, answer_repair,
    plan_repair, repaired,
    repair, tell_noise, tell_contacts,
)  # fmt: skip
