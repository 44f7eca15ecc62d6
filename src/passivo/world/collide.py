"""Where bodies touch: poses into MuJoCo, its collision calls, its contacts read in place (spec 4.5). Kernels.

MuJoCo's C functions are called by address; `bridge.py` finds those and says where its contacts lie. Contacts are found
ahead: as far away as bodies may come in the step. A contact is known again from step to step by its two geoms and its
place on the body, and starts from the impulse it had.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.foreign_plain import call_two, doubles_at, integers_at
    from passivo.kernel.tick import CROWDED, OK
    from passivo.world.fields import add_fields
    from passivo.world.surfaces import surface_of
    from passivo.world.table import *

AHEAD = 1.5  # margin of geoms, in ways of their bodies in a step
LEAST_MARGIN = 1e-4
TWINS = 1e-6  # metres between contacts that are one
NO_GAP = 1e-6  # metres that are none: no motion closes four corners of a face that are a little apart each
SAME_PLACE = 5e-3  # by how much a contact may move on its body and be known again
SHARE_OF_SLOW = 2.0  # speeds below this many times what gravity brings in a step do not bounce


def expect(m, t, h):
    """As fast as bodies may go in the step that begins, at their outside: by their velocities, and as they fall."""
    g = t[AT_PARAM]
    fall = h * sqrt(m[g] * m[g] + m[g + 1] * m[g + 1] + m[g + 2] * m[g + 2])
    for c in range(t[BODIES]):
        s = t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
        m[t[AT_SPEEDS] + c] = outside(m, s + V, m[t[AT_REACH] + c]) + fall


def outside(m, v, reach):
    """The speed of the outside of a body."""
    line = m[v] * m[v] + m[v + 1] * m[v + 1] + m[v + 2] * m[v + 2]
    turn = m[v + 3] * m[v + 3] + m[v + 4] * m[v + 4] + m[v + 5] * m[v + 5]
    return sqrt(line) + reach * sqrt(turn)


def outran(m, t, h):
    """Whether a body moves farther in this step than contacts were looked for. It is then expected to."""
    found = False
    for c in range(t[BODIES]):
        speed = outside(m, t[AT_FRAMES] + c * F_SIZE + F_HAT, m[t[AT_REACH] + c])
        if h * speed > AHEAD * h * m[t[AT_SPEEDS] + c] + LEAST_MARGIN:
            m[t[AT_SPEEDS] + c] = speed
            found = True
    return found


def find_contacts(m, t, h):
    """The contacts of the step that begins, with the impulses they had. OK or CROWDED."""
    tally, bridge = t[AT_TALLY], t[AT_BRIDGE]
    for k in range(2, N_SIZE):
        m[tally + k] = 0.0
    for k in range(int(m[tally + N_PAST])):
        m[t[AT_PAST] + k * PAST_SIZE + 8] = 1.0
    place_bodies(m, t, h)
    model, data = int(m[bridge + B_MODEL]), int(m[bridge + B_DATA])
    dropped = integers_at(int(m[bridge + B_DROPPED]))
    before = dropped[0]
    call_two(int(m[bridge + B_KINEMATICS]), model, data)
    call_two(int(m[bridge + B_COLLISION]), model, data)
    count = integers_at(int(m[bridge + B_COUNT]))[0]
    if count > t[CONTACTS] or dropped[0] != before:
        return CROWDED
    found = doubles_at(int(m[bridge + B_CONTACTS]))
    pairs = integers_at(int(m[bridge + B_CONTACTS]))
    stride = int(m[bridge + B_STRIDE])
    kept = 0
    for k in range(count):
        at, one = t[AT_TOUCHES] + kept * touch_size(t), k * stride
        first, second = pairs[2 * one + int(m[bridge + B_PAIR])], pairs[2 * one + int(m[bridge + B_PAIR]) + 1]
        place = one + int(m[bridge + B_POS])
        m[at + K_FIRST], m[at + K_SECOND] = float(first), float(second)
        for i in range(3):
            m[at + K_PLACE + i] = found[place + i]
        if k > 0 and is_twin(m, t, kept):
            continue
        m[at + K_GAP] = found[one + int(m[bridge + B_DIST])]
        for i in range(9):
            m[at + K_FRAME + i] = found[one + int(m[bridge + B_FRAME]) + i]
        lay_contact(m, t, h, at, found[place], found[place + 1], found[place + 2])
        kept += 1
    count = add_fields(m, t, h, kept)
    if count < 0:
        return CROWDED
    m[tally + N_TOUCHES] = float(count)
    return OK


def is_twin(m, t, k):
    """Whether the k-th contact is where another of its two geoms is: edges that nearly fall on each other cross twice
    at a corner."""
    at = t[AT_TOUCHES] + k * touch_size(t)
    for i in range(k - 1, -1, -1):
        other = t[AT_TOUCHES] + i * touch_size(t)
        if m[other + K_FIRST] != m[at + K_FIRST] or m[other + K_SECOND] != m[at + K_SECOND]:
            return False
        far = 0.0
        for j in range(3):
            far = max(far, abs(m[other + K_PLACE + j] - m[at + K_PLACE + j]))
        if far <= TWINS:
            return True
    return False


def touch_size(t):
    return K_COLUMNS + 2 * COLUMN * t[SPAN]


def place_bodies(m, t, h):
    """Poses and margins into MuJoCo."""
    bridge = t[AT_BRIDGE]
    poses = doubles_at(int(m[bridge + B_QPOS]))
    margins = doubles_at(int(m[bridge + B_MARGINS]))
    wide = doubles_at(int(m[bridge + B_BODY_MARGINS]))
    for c in range(t[BODIES]):
        s = t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
        for k in range(7):
            poses[7 * c + k] = m[s + k]
        wide[1 + c] = m[bridge + B_SHARE] * (AHEAD * h * m[t[AT_SPEEDS] + c] + LEAST_MARGIN)
    for k in range(t[GEOMS]):
        body = t[t[GEOM_TABLE] + k]
        margins[k] = wide[1 + body] if body >= 0 else 0.0


def lay_contact(m, t, h, at, x, y, z):
    """Bodies, jacobians, law and first impulse of a contact at a place."""
    first, second = int(m[at + K_FIRST]), int(m[at + K_SECOND])
    a, b = t[t[GEOM_TABLE] + first], t[t[GEOM_TABLE] + second]
    m[at + K_A], m[at + K_B] = float(a), float(b)
    m[at + K_ARMED] = 1.0 if m[at + K_GAP] <= 0.0 else 0.0
    m[at + K_STICKS], m[at + K_RUBS] = 0.0, 0.0
    closing = 0.0
    for side in range(2):
        c, jacobian = (a, at + K_JA) if side == 0 else (b, at + K_JB)
        sign = 2.0 * side - 1.0
        if c < 0:
            for i in range(18):
                m[jacobian + i] = 0.0
            continue
        turn, s = t[AT_FRAMES] + c * F_SIZE + F_TURN, t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
        p, q, r = x - m[s], y - m[s + 1], z - m[s + 2]
        for j in range(3):  # its place in the axes of the body: of b, where that is one
            if side == 1 or b < 0:
                m[at + K_LOCAL + j] = m[turn + j] * p + m[turn + 3 + j] * q + m[turn + 6 + j] * r
        for i in range(3):
            u, v, w = m[at + K_FRAME + 3 * i], m[at + K_FRAME + 3 * i + 1], m[at + K_FRAME + 3 * i + 2]
            row = jacobian + 6 * i
            m[row], m[row + 1], m[row + 2] = sign * u, sign * v, sign * w
            u, v, w = q * w - r * v, r * u - p * w, p * v - q * u
            for j in range(3):
                m[row + 3 + j] = sign * (m[turn + j] * u + m[turn + 3 + j] * v + m[turn + 6 + j] * w)
        for j in range(6):
            closing -= m[jacobian + j] * m[s + V + j]
    m[at + K_BENDS] = 1.0 if on_beam(t, a) or on_beam(t, b) else 0.0
    lay_law(m, t, h, at, closing)


def lay_law(m, t, h, at, closing):
    """The law of impact of a contact that closes at a speed: its c, and what it is held to at the end of the step.

    Its motion in the step ends at the surface at the latest, so that nothing sinks in, however fast: c is what brings e
    by itself, or gap/h where that is less. What V⁺ has too much then, `hold` takes out, and friction is that of what is
    left of the impulse.
    """
    g = t[AT_PARAM]
    m[at + K_MU], bounce = surface_of(m, t, int(m[at + K_FIRST]), int(m[at + K_SECOND]))
    fall = h * sqrt(m[g] * m[g] + m[g + 1] * m[g + 1] + m[g + 2] * m[g + 2])
    if bounce < 1.0 and closing < SHARE_OF_SLOW * fall:
        bounce = 0.0
    met, room = recall(m, t, at), m[at + K_GAP] / h if m[at + K_GAP] > NO_GAP else 0.0
    if met:
        m[at + K_ARMED], m[at + K_RUBS] = 1.0, 1.0
    closing = max(0.0, closing)
    m[at + K_BOUNCE], m[at + K_RESTS], m[at + K_AFTER] = 0.0, 1.0 if bounce == 0.0 else 0.0, 0.0
    if t[SCHEME] != MIDPOINT:  # what is solved with velocities at the end of the step collides plastically
        m[at + K_BOUNCE] = room if met else 0.0
        return
    loses = 0.5 * (1.0 - bounce) * closing
    if m[at + K_BENDS] > 0.0:
        m[at + K_BOUNCE] = max(loses, 0.5 * room) if met and bounce == 0.0 else loses
        return
    m[at + K_BOUNCE] = room if met and bounce == 0.0 else min(loses, room)  # what rests closes its gap
    if loses > m[at + K_BOUNCE]:
        m[at + K_AFTER] = bounce * closing
        m[at + K_MU] *= (closing + 0.5 * fall - loses) / (closing + 0.5 * fall - m[at + K_BOUNCE])


def on_beam(t, c):
    """Whether a body hangs together with a beam, whose motion is not its points'."""
    if t[BEAMS] == 0 or c < 0:
        return False
    first, count = t[t[COMPONENT_TABLE] + 2 * c], t[t[COMPONENT_TABLE] + 2 * c + 1]
    for i in range(count):
        if t[t[CARRIER_TABLE] + t[first + 2 * i + 1] * C_SIZE + C_PARAM] < 0:
            return True
    return False


def recall(m, t, at):
    """The impulse of the last step, in the present axes of the contact and in its cone; whether there was one."""
    best, nearest, met = -1, SAME_PLACE * SAME_PLACE, False
    count, start = int(m[t[AT_TALLY] + N_PAST]), int(m[t[AT_TALLY] + N_FOUND])
    for i in range(count):  # those of two geoms follow one another, and pairs mostly come in the order of the last step
        k = start + i if start + i < count else start + i - count
        past = t[AT_PAST] + k * PAST_SIZE
        if m[past] != m[at + K_FIRST] or m[past + 1] != m[at + K_SECOND]:
            if met:
                break
            continue
        if not met:
            met = True
            m[t[AT_TALLY] + N_FOUND] = float(k)
        x, y, z = m[past + 2] - m[at + K_LOCAL], m[past + 3] - m[at + K_LOCAL + 1], m[past + 4] - m[at + K_LOCAL + 2]
        way = x * x + y * y + z * z
        if way < nearest and m[past + 8] > 0.0:
            best, nearest = past, way
    for i in range(3):
        m[at + K_P + i] = 0.0
    if best < 0:
        return False
    m[best + 8] = 0.0  # it is known again once
    for i in range(3):
        row = at + K_FRAME + 3 * i
        m[at + K_P + i] = m[row] * m[best + 5] + m[row + 1] * m[best + 6] + m[row + 2] * m[best + 7]
    into_cone(m, at)
    return True


def into_cone(m, at):
    """Impulses along the surface that friction can hold."""
    m[at + K_P] = max(0.0, m[at + K_P])
    most = m[at + K_MU] * m[at + K_P]
    size = sqrt(m[at + K_P + 1] * m[at + K_P + 1] + m[at + K_P + 2] * m[at + K_P + 2])
    if size > most:
        m[at + K_P + 1] *= most / size
        m[at + K_P + 2] *= most / size


def remember_contacts(m, t):
    """What the next step needs of the contacts of this one."""
    count, kept = int(m[t[AT_TALLY] + N_TOUCHES]), 0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] <= 0.0:
            continue
        past = t[AT_PAST] + kept * PAST_SIZE
        m[past], m[past + 1], m[past + 8] = m[at + K_FIRST], m[at + K_SECOND], 1.0
        for i in range(3):
            m[past + 2 + i] = m[at + K_LOCAL + i]
            m[past + 5 + i] = (
                m[at + K_FRAME + i] * m[at + K_P]
                + m[at + K_FRAME + 3 + i] * m[at + K_P + 1]
                + m[at + K_FRAME + 6 + i] * m[at + K_P + 2]
            )
        kept += 1
    m[t[AT_TALLY] + N_PAST] = float(kept)


INLINE = (touch_size, into_cone, outside)
KERNELS = (
    expect, outran, is_twin, place_bodies, recall, on_beam, lay_law, lay_contact, find_contacts, remember_contacts,
)  # fmt: skip
