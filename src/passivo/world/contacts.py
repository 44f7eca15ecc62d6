"""Impulses at contacts with Coulomb friction, solved on the velocities of the step V̂ (spec 4.5). Kernels.

For each contact, u its velocity (normal, two tangents) and p its impulse,

    0 <= p_n  ⊥  u_n + c >= 0,    p_t = −mu p_n u_t / |u_t|,  or u_t = 0 and |p_t| <= mu p_n

with c = (1 − e)/2 times the speed of closing, and c = gap/h for what does not touch yet. The work of contacts is then
−Σ (mu p_n |u_t| + p_n c): never above 0. They are solved one after the other, forth and back, from the impulses of the
last step; after each such pair of sweeps the last three are combined to look ahead. What sweeps leave unsolved could do
work: the guard lets at most as much of it pass as stands in the tank.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.tick import OK
    from passivo.world.assemblies import member_of
    from passivo.world.blocks import divide, respond
    from passivo.world.collide import into_cone, touch_size
    from passivo.world.firm import MOST_STEPS, seek
    from passivo.world.table import *

MOST_SWEEPS = 20  # there and back
EACH = 3  # of these, what presses is solved together once
SETTLED = 5e-8  # m/s
STEADY = 1e-2
SLIDES = 3  # passes for the direction of a slide
YIELDING = 1e-9  # of D more: joints may leave no way at all in a direction. It takes energy, never gives any


def lay_columns(m, t, h):
    """How V̂ answers the impulse of each contact that touches. The factors of the step are there."""
    for k in range(int(m[t[AT_TALLY] + N_TOUCHES])):
        at = t[AT_TOUCHES] + k * touch_size(t)
        m[at + K_LAID] = 0.0
        if m[at + K_ARMED] > 0.0:
            lay_column(m, t, h, at)


def lay_column(m, t, h, at):
    """Columns of W C', and D = C W C', of one contact."""
    a, b = int(m[at + K_A]), int(m[at + K_B])
    together = a >= 0 and b >= 0 and t[t[COMPONENT_TABLE] + 2 * a] == t[t[COMPONENT_TABLE] + 2 * b]
    m[at + K_LAID], m[at + K_OTHER] = 1.0, -1.0 if together else m[at + K_B]
    for i in range(9):
        m[at + K_D + i] = 0.0
    for side in range(2):
        c, jacobian = (a, at + K_JA) if side == 0 else (b, at + K_JB)
        column = at + K_COLUMNS + side * COLUMN * t[SPAN]
        if c < 0 or (side == 1 and together):
            continue
        for i in range(3):
            vector = column + 6 * i
            if t[t[COMPONENT_TABLE] + 2 * c + 1] == 1 and member_of(t, c) < 0:  # a body by itself
                for n in range(6):
                    m[vector + n] = m[jacobian + 6 * i + n] / h
                divide(m, t[AT_BLOCKS] + 36 * c, vector)
                add_yield(m, at + K_D + i, jacobian, vector)
                continue
            vectors = room(t, V_ANSWER)
            clear(m, t, c, vectors)
            put(m, vectors + 6 * c, jacobian + 6 * i, h)
            if together:
                put(m, vectors + 6 * b, at + K_JB + 6 * i, h)
            respond(m, t, c, vectors)
            keep(m, t, c, vectors, vector)
            add_yield(m, at + K_D + i, jacobian, vectors + 6 * c)
            if together:
                add_yield(m, at + K_D + i, at + K_JB, vectors + 6 * b)
    if (a >= 0 and member_of(t, a) >= 0) or (b >= 0 and member_of(t, b) >= 0):
        size = YIELDING * (m[at + K_D] + m[at + K_D + 4] + m[at + K_D + 8])
        for i in range(3):
            m[at + K_D + 4 * i] += size
    invert(m, at + K_D, at + K_INVERSE)
    x, y, z = m[at + K_D + 4], m[at + K_D + 8], 0.5 * (m[at + K_D + 5] + m[at + K_D + 7])
    m[at + K_LAMBDA] = 0.5 * (x + y) + sqrt(0.25 * (x - y) * (x - y) + z * z)


def add_yield(m, d, jacobian, vector):
    """To a column of D: how fast the contact gives way with the velocity of a body."""
    for j in range(3):
        m[d + 3 * j] += along_body(m, jacobian + 6 * j, vector)


def along_body(m, row, vector):
    """A row of a jacobian times six numbers."""
    size = 0.0
    for n in range(6):
        size += m[row + n] * m[vector + n]
    return size


def put(m, vector, row, h):
    for n in range(6):
        m[vector + n] += m[row + n] / h


def clear(m, t, c, vectors):
    """0 for all bodies that hang together with c."""
    first, count = t[t[COMPONENT_TABLE] + 2 * c], t[t[COMPONENT_TABLE] + 2 * c + 1]
    for i in range(count):
        for n in range(6):
            m[vectors + 6 * t[first + 2 * i + 1] + n] = 0.0


def keep(m, t, c, vectors, column):
    """A column from the answer of the bodies that hang together with c."""
    first, count = t[t[COMPONENT_TABLE] + 2 * c], t[t[COMPONENT_TABLE] + 2 * c + 1]
    for i in range(count):
        for n in range(6):
            m[column + COLUMN * i + n] = m[vectors + 6 * t[first + 2 * i + 1] + n]


def invert(m, a, b):
    """The inverse of a 3 × 3 matrix."""
    x = m[a + 4] * m[a + 8] - m[a + 5] * m[a + 7]
    y = m[a + 5] * m[a + 6] - m[a + 3] * m[a + 8]
    z = m[a + 3] * m[a + 7] - m[a + 4] * m[a + 6]
    share = 1.0 / (m[a] * x + m[a + 1] * y + m[a + 2] * z)
    m[b], m[b + 3], m[b + 6] = x * share, y * share, z * share
    m[b + 1] = (m[a + 2] * m[a + 7] - m[a + 1] * m[a + 8]) * share
    m[b + 4] = (m[a] * m[a + 8] - m[a + 2] * m[a + 6]) * share
    m[b + 7] = (m[a + 1] * m[a + 6] - m[a] * m[a + 7]) * share
    m[b + 2] = (m[a + 1] * m[a + 5] - m[a + 2] * m[a + 4]) * share
    m[b + 5] = (m[a + 2] * m[a + 3] - m[a] * m[a + 5]) * share
    m[b + 8] = (m[a] * m[a + 4] - m[a + 1] * m[a + 3]) * share


def answer(m, t, at, vectors, x, y, z):
    """The velocities at `vectors` answer an impulse (x, y, z) of a contact."""
    for side in range(2):
        c = int(m[at + (K_A if side == 0 else K_OTHER)])
        if c < 0:
            continue
        first, count = t[t[COMPONENT_TABLE] + 2 * c], t[t[COMPONENT_TABLE] + 2 * c + 1]
        column = at + K_COLUMNS + side * COLUMN * t[SPAN]
        for i in range(count):
            add_columns(m, vectors + 6 * t[first + 2 * i + 1], column + COLUMN * i, x, y, z)


def add_columns(m, v, k, x, y, z):
    """Six numbers more by three columns of six. All are read before the first is written, so that they go together."""
    p = m[v] + (m[k] * x + m[k + 6] * y + m[k + 12] * z)
    q = m[v + 1] + (m[k + 1] * x + m[k + 7] * y + m[k + 13] * z)
    r = m[v + 2] + (m[k + 2] * x + m[k + 8] * y + m[k + 14] * z)
    u = m[v + 3] + (m[k + 3] * x + m[k + 9] * y + m[k + 15] * z)
    w = m[v + 4] + (m[k + 4] * x + m[k + 10] * y + m[k + 16] * z)
    o = m[v + 5] + (m[k + 5] * x + m[k + 11] * y + m[k + 17] * z)
    m[v], m[v + 1], m[v + 2], m[v + 3], m[v + 4], m[v + 5] = p, q, r, u, w, o


def slip(m, at, vectors, i):
    """Component i of u, from the velocities at `vectors`."""
    u = 0.0
    if m[at + K_A] >= 0.0:
        u += along_body(m, at + K_JA + 6 * i, vectors + 6 * int(m[at + K_A]))
    if m[at + K_B] >= 0.0:
        u += along_body(m, at + K_JB + 6 * i, vectors + 6 * int(m[at + K_B]))
    return u


def visit(m, t, h, at):
    """Solve one contact, all others as they are. Returns by how much this moved it, in m/s."""
    vectors = t[AT_RIGHT]
    u, v, w = slip(m, at, vectors, 0), 0.0, 0.0
    if m[at + K_ARMED] == 0.0:
        if u + m[at + K_GAP] / h >= 0.0:
            return 0.0
        m[at + K_ARMED] = 1.0  # it closes within this step: now, and by the law of impact
        lay_column(m, t, h, at)
    v, w = slip(m, at, vectors, 1), slip(m, at, vectors, 2)
    a, b, c = m[at + K_P], m[at + K_P + 1], m[at + K_P + 2]
    d, inverse = at + K_D, at + K_INVERSE
    u += m[at + K_BOUNCE] - m[d] * a - m[d + 1] * b - m[d + 2] * c
    v -= m[d + 3] * a + m[d + 4] * b + m[d + 5] * c
    w -= m[d + 6] * a + m[d + 7] * b + m[d + 8] * c
    x, y, z, sticks = 0.0, 0.0, 0.0, 0.0
    if u < 0.0:
        mu = m[at + K_MU] * m[at + K_RUBS]
        x = -(m[inverse] * u + m[inverse + 1] * v + m[inverse + 2] * w)
        y = -(m[inverse + 3] * u + m[inverse + 4] * v + m[inverse + 5] * w)
        z = -(m[inverse + 6] * u + m[inverse + 7] * v + m[inverse + 8] * w)
        if x > 0.0 and y * y + z * z <= mu * mu * x * x:
            sticks = 1.0
        else:
            x, y, z = slide(m, at, mu, u, v, w, y, z)
    m[at + K_P], m[at + K_P + 1], m[at + K_P + 2], m[at + K_STICKS] = x, y, z, sticks
    a, b, c = x - a, y - b, z - c
    if a == 0.0 and b == 0.0 and c == 0.0:
        return 0.0
    answer(m, t, at, vectors, a, b, c)
    return max(abs(a) * m[d], max(abs(b) * m[d + 4], abs(c) * m[d + 8]))


def slide(m, at, mu, u, v, w, y, z):
    """Of a contact that slides: friction against the slip that comes out. (y, z): that of one that sticks."""
    d = at + K_D
    if mu == 0.0:
        return -u / m[d], 0.0, 0.0
    e, f = m[at + K_P + 1], m[at + K_P + 2]
    size = sqrt(e * e + f * f)
    if size == 0.0:
        e, f = -v, -w
        size = sqrt(e * e + f * f)
    if size == 0.0:
        return -u / m[d], 0.0, 0.0
    e, f = e / size, f / size
    for k in range(2 * SLIDES):
        normal = m[d] + mu * (m[d + 1] * e + m[d + 2] * f)
        if normal <= 0.0:
            break
        x = -u / normal
        across = v + x * (m[d + 3] + mu * (m[d + 4] * e + m[d + 5] * f))
        along = w + x * (m[d + 6] + mu * (m[d + 7] * e + m[d + 8] * f))
        with_it = across * e + along * f > 0.0
        if k >= SLIDES and not with_it:
            break
        if k == SLIDES - 1 and with_it:  # friction along the slip reproduces itself, but it is none: the other way
            e, f = -e, -f
            continue
        p = mu * x * e - across / m[at + K_LAMBDA]
        q = mu * x * f - along / m[at + K_LAMBDA]
        size = sqrt(p * p + q * q)
        if size > 0.0:
            e, f = p / size, q / size
    normal = m[d] + mu * (m[d + 1] * e + m[d + 2] * f)
    if normal <= 0.0:  # it jams: as if it stuck, and the guard decides
        size = sqrt(y * y + z * z)
        if size > 0.0:
            e, f = y / size, z / size
        normal = max(m[d] + mu * (m[d + 1] * e + m[d + 2] * f), 1e-3 * m[d])
    x = -u / normal
    return x, mu * x * e, mu * x * f


def sweep(m, t, h, count):
    """All contacts forth and back. Returns the largest move."""
    moved = 0.0
    for k in range(count):
        moved = max(moved, visit(m, t, h, t[AT_TOUCHES] + k * touch_size(t)))
    for k in range(count - 1, -1, -1):
        moved = max(moved, visit(m, t, h, t[AT_TOUCHES] + k * touch_size(t)))
    return moved


def touch(m, t, h):
    """Impulses, and V̂ with them; before it stands in RIGHT without them, and its factors in BLOCKS. OK, or why not."""
    rights, free = t[AT_RIGHT], t[AT_FREE]
    count = int(m[t[AT_TALLY] + N_TOUCHES])
    for i in range(6 * t[BODIES]):
        m[free + i] = m[rights + i]
    lay_columns(m, t, h)
    status = impulses(m, t, h, count)
    if status == OK:
        answer_all(m, t, count)  # once more from the start: what rounding left of so many answers is gone
        guard(m, t, False)
    return status


def impulses(m, t, h, count):
    """Sweeps until nothing moves; the guard has what they leave. The exact solvers have an `impulses` in its place.

    A contact that is new rubs from the second pair of sweeps on. Otherwise the first to be visited would carry all of
    the weight and be held by friction, and that would stay as a tension between the corners of a face, near the edge of
    their cones, where sweeps settle slowly.

    Sweeps soon know which contacts press and which slide, but how a tower shares its weight out settles slowly. So
    between them all that press or stick are solved together (`firm.py`); what leaves its cone by that goes back.

    Impulses that move nothing may wander on at a constant speed: where each corner of a face has a c of its own, no
    motion fits all of them. Then V̂ is as good as it gets.
    """
    tally, good, before = t[AT_TALLY], True, 0.0
    answer_all(m, t, count)
    for s in range(MOST_SWEEPS):
        fresh = 0.0
        for k in range(count):
            fresh = max(fresh, 1.0 - m[t[AT_TOUCHES] + k * touch_size(t) + K_RUBS])
        for i in range(6 * t[BODIES]):
            m[room(t, V_ENDS) + i] = m[t[AT_RIGHT] + i]
        moved = sweep(m, t, h, count)
        m[tally + N_SWEEPS] += 2.0
        if fresh > 0.0:
            for k in range(count):
                m[t[AT_TOUCHES] + k * touch_size(t) + K_RUBS] = 1.0
            continue
        wanders = s > EACH and abs(moved - before) <= STEADY * moved and way_of(m, t) <= STEADY * moved
        m[tally + N_SETTLED] = 1.0 if moved <= SETTLED else 0.0
        if moved <= SETTLED or wanders or s == MOST_SWEEPS - 1:
            break
        if good and s % EACH == EACH - 1:
            good = together(m, t, count)
        before = moved
    return OK


def way_of(m, t):
    """How far the last two sweeps moved V̂, in m/s at the outside of the body that went farthest."""
    most = 0.0
    for c in range(t[BODIES]):
        v, start = t[AT_RIGHT] + 6 * c, room(t, V_ENDS) + 6 * c
        for n in range(6):
            way = abs(m[v + n] - m[start + n])
            most = max(most, way if n < 3 else m[t[AT_REACH] + c] * way)
    return most


def together(m, t, count):
    """One solution for all contacts that press, as if they went on doing so, and for the slip of those that stick. It
    is taken back where it leads away from a solution: then other contacts press. Whether it was good."""
    v, before, height = t[AT_RIGHT], room(t, V_ENDS), height_of(m, t, count)
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        presses = m[at + K_P] > 0.0
        m[at + K_FIRM] = 1.0 if presses else 0.0
        m[at + K_FIRM + 1] = 1.0 if presses and m[at + K_STICKS] > 0.0 else 0.0
        for i in range(3):
            c = m[at + K_BOUNCE] if i == 0 else 0.0
            m[at + K_LEFT + i] = -(slip(m, at, v, i) + c) if m[at + K_FIRM + min(i, 1)] > 0.0 else 0.0
    seek(m, t, count, room(t, V_ANSWER), MOST_STEPS)
    for i in range(6 * t[BODIES]):
        m[before + i] = m[v + i]
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_FIRM] == 0.0:
            continue
        for i in range(3):
            m[at + K_SOFT + i] = m[at + K_P + i]
            m[at + K_P + i] += m[at + K_SOUGHT + i]
        into_cone(m, at)
        x, y, z = m[at + K_P], m[at + K_P + 1], m[at + K_P + 2]
        answer(m, t, at, v, x - m[at + K_SOFT], y - m[at + K_SOFT + 1], z - m[at + K_SOFT + 2])
    if height_of(m, t, count) <= height:
        return True
    for i in range(6 * t[BODIES]):
        m[v + i] = m[before + i]
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_FIRM] > 0.0:
            for i in range(3):
                m[at + K_P + i] = m[at + K_SOFT + i]
    return False


def height_of(m, t, count):
    """What sweeps lower: half of the energy of the impulses, and what they do against V̂ without them and against c."""
    height = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] > 0.0:
            height += m[at + K_P] * m[at + K_BOUNCE]
            for i in range(3):
                height += 0.5 * m[at + K_P + i] * (slip(m, at, t[AT_RIGHT], i) + slip(m, at, t[AT_FREE], i))
    return height


def room(t, which):
    """Where a vector of 6 numbers for each body stands."""
    return t[AT_FREE] + which * 6 * t[BODIES]


def answer_all(m, t, count):
    """V̂ from its value without contacts and all impulses."""
    for i in range(6 * t[BODIES]):
        m[t[AT_RIGHT] + i] = m[t[AT_FREE] + i]
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] > 0.0:
            answer(m, t, at, t[AT_RIGHT], m[at + K_P], m[at + K_P + 1], m[at + K_P + 2])


def work_of(m, at, vectors):
    """Joules that a contact brings into the motion, at the velocities at `vectors`."""
    work = 0.0
    if m[at + K_P] == 0.0:
        return work
    for i in range(3):
        work += m[at + K_P + i] * slip(m, at, vectors, i)
    return work


def guard(m, t, least):
    """No more work than the tank can pay: else impulses that hang together shrink until they do none, or to nothing
    where `least`. Whether they shrank."""
    count, total, size = int(m[t[AT_TALLY] + N_TOUCHES]), 0.0, 0.0
    tank = m[t[AT_STATE] + t[TANK_STATE]]
    for k in range(count):
        work = work_of(m, t[AT_TOUCHES] + k * touch_size(t), t[AT_RIGHT])
        total += work
        size += abs(work)
    if total <= tank or total <= tank + 4.0 * EPSILON * (size + rounding(m, t, count)):
        return False
    m[t[AT_TALLY] + N_GUARDED] = 1.0
    label(m, t, count)
    labels, free, rights = t[AT_LABELS], t[AT_FREE], t[AT_RIGHT]
    for c in range(t[BODIES]):
        if m[labels + c] != float(c):
            continue
        work, lin = 0.0, 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            if label_of(m, t, at) == c:
                work += work_of(m, at, rights)
                lin += work_of(m, at, free)
        if work <= 0.0:
            continue
        share = -lin / (work - lin) if lin < 0.0 and not least else 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            if label_of(m, t, at) == c:
                for i in range(3):
                    m[at + K_P + i] *= share
        for b in range(t[BODIES]):
            if m[labels + b] == float(c):
                for n in range(6):
                    m[rights + 6 * b + n] = m[free + 6 * b + n] + share * (m[rights + 6 * b + n] - m[free + 6 * b + n])
    return True


def rounding(m, t, count):
    """Sum of the sizes of the terms of p·u, in V̂ and in what it was made from: what the work of contacts loses where
    they cancel."""
    size = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for i in range(3):
            if m[at + K_P + i] != 0.0:
                size += abs(m[at + K_P + i]) * (terms(m, t, at, t[AT_RIGHT], i) + terms(m, t, at, t[AT_FREE], i))
    return size


def terms(m, t, at, vectors, i):
    """Sum of the sizes of the terms of component i of u, at the velocities at `vectors`."""
    size = 0.0
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0:
            row = at + (K_JA if side == 0 else K_JB) + 6 * i
            for n in range(6):
                size += abs(m[row + n] * m[vectors + 6 * c + n])
    return size


def label(m, t, count):
    """Islands: each body is labelled by the first that it hangs together with, by ties or contacts."""
    labels = t[AT_LABELS]
    for c in range(t[BODIES]):
        m[labels + c] = float(first_of(t, c))
    changed = True
    while changed:
        changed = False
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            if m[at + K_P] > 0.0 and m[at + K_A] >= 0.0 and m[at + K_B] >= 0.0:
                p, q = m[labels + int(m[at + K_A])], m[labels + int(m[at + K_B])]
                if p != q:
                    changed = True
                    for c in range(t[BODIES]):
                        if m[labels + c] == max(p, q):
                            m[labels + c] = min(p, q)


def first_of(t, c):
    """The first in the order of all bodies that ties hang together with c."""
    return t[t[t[COMPONENT_TABLE] + 2 * c] + 1]


def label_of(m, t, at):
    c = int(m[at + K_A]) if m[at + K_A] >= 0.0 else int(m[at + K_B])
    return int(m[t[AT_LABELS] + c])


def press(m, t, h):
    """Impulses that stand as forces on the right hand sides."""
    for k in range(int(m[t[AT_TALLY] + N_TOUCHES])):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for side in range(2):
            c, jacobian = int(m[at + K_A + side]), at + (K_JA if side == 0 else K_JB)
            if c >= 0 and m[at + K_P] > 0.0:
                for i in range(3):
                    force = m[at + K_P + i] / h
                    for n in range(6):
                        m[t[AT_RIGHT] + 6 * c + n] += m[jacobian + 6 * i + n] * force


INLINE = (along_body, add_yield, put, slip, add_columns, first_of, room)
KERNELS = (
    clear, keep, invert, answer, lay_column, lay_columns, slide, visit, sweep, answer_all,
    way_of, height_of, together, impulses, work_of, terms,
    rounding, label, label_of, guard, touch, press,
)  # fmt: skip
