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
    from passivo.world.collide import touch_size
    from passivo.world.table import *

MOST_SWEEPS = 20  # there and back
MOST_CHANGED = 200  # the same where bodies hang together and what they touch changes: impacts settle slowly there
SETTLED = 1e-8  # m/s
SLIDES = 3  # passes for the direction of a slide
YIELDING = 1e-9  # of D more: joints may leave no way at all in a direction. It takes energy, never gives any
FARTHER = 4.0  # how much longer (squared) a way of the sweeps may get before what is known of them is forgotten


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
            vectors = t[AT_FREE] + 6 * t[BODIES]
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
    for _ in range(SLIDES):
        normal = m[d] + mu * (m[d + 1] * e + m[d + 2] * f)
        if normal <= 0.0:
            break
        x = -u / normal
        across = v + x * (m[d + 3] + mu * (m[d + 4] * e + m[d + 5] * f))
        along = w + x * (m[d + 6] + mu * (m[d + 7] * e + m[d + 8] * f))
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
        guard(m, t, count)
    return status


def impulses(m, t, h, count):
    """Sweeps until nothing moves; the guard has what they leave. The exact solvers have an `impulses` in its place.

    A contact that is new rubs from the second pair of sweeps on. Otherwise the first to be visited would carry all of
    the weight and be held by friction, and that would stay as a tension between the corners of a face, near the edge of
    their cones, where sweeps settle slowly.
    """
    tally = t[AT_TALLY]
    answer_all(m, t, count)
    known, before = 0, 0.0
    most = MOST_CHANGED if t[SPAN] > 1 and is_changed(m, t, count) else MOST_SWEEPS
    for s in range(most):
        fresh = 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            fresh = max(fresh, 1.0 - m[at + K_RUBS])
            for i in range(3):
                m[at + K_TO + i] = m[at + K_P + i]
        moved = sweep(m, t, h, count)
        m[tally + N_SWEEPS] += 2.0
        if fresh > 0.0:
            for k in range(count):
                m[t[AT_TOUCHES] + k * touch_size(t) + K_RUBS] = 1.0
            continue
        if moved <= SETTLED or s == most - 1:
            break
        known, before = look_ahead(m, t, count, known, before)
    return OK


def is_changed(m, t, count):
    """Whether other contacts touch than those that pressed in the last step."""
    known = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        known += m[at + K_RUBS]
        if m[at + K_ARMED] > 0.0 and m[at + K_RUBS] == 0.0:
            return True
    return known != m[t[AT_TALLY] + N_PAST]


def answer_all(m, t, count):
    """V̂ from its value without contacts and all impulses."""
    for i in range(6 * t[BODIES]):
        m[t[AT_RIGHT] + i] = m[t[AT_FREE] + i]
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] > 0.0:
            answer(m, t, at, t[AT_RIGHT], m[at + K_P], m[at + K_P + 1], m[at + K_P + 2])


def look_ahead(m, t, count, known, before):
    """Where the sweeps lead to, from their last three ways (Anderson's acceleration): what combination of them is
    shortest, in the measure of D, and where it starts. Impulses and V̂ are combined alike, so nothing is answered anew.

    known   how many changes from one pair of sweeps to the next are known
    before  the size of the way of the pair before
    Returns both for the next time.
    """
    now, a, b, c, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for i in range(3):
            way, weight = m[at + K_P + i] - m[at + K_TO + i], m[at + K_D + 4 * i]
            x, y = way - m[at + K_WENT + i], m[at + K_SHORTER + i]
            now += weight * way * way
            a += weight * x * x
            b += weight * x * y
            c += weight * y * y
            e += weight * x * way
            f += weight * y * way
    if now > FARTHER * before:
        known = 0
    one, two = 0.0, 0.0
    if known > 1 and a * c - b * b > 1e-9 * a * c:
        one, two = (e * c - f * b) / (a * c - b * b), (f * a - e * b) / (a * c - b * b)
    elif known > 0 and a > 0.0:
        one = e / a
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for i in range(3):
            way, reached = m[at + K_P + i] - m[at + K_TO + i], m[at + K_P + i]
            last, older = reached - m[at + K_REACHED + i], m[at + K_FURTHER + i]
            m[at + K_SHORTER + i] = way - m[at + K_WENT + i]
            m[at + K_FURTHER + i], m[at + K_REACHED + i], m[at + K_WENT + i] = last, reached, way
            m[at + K_P + i] = reached - one * last - two * older
    v, reached, further = t[AT_RIGHT], t[AT_FREE] + 12 * t[BODIES], t[AT_FREE] + 18 * t[BODIES]
    for i in range(6 * t[BODIES]):
        x, last, older = m[v + i], m[v + i] - m[reached + i], m[further + i]
        m[further + i], m[reached + i] = last, x
        m[v + i] = x - one * last - two * older
    return known + 1, now


def work_of(m, at, vectors):
    """Joules that a contact brings into the motion, at the velocities at `vectors`."""
    work = 0.0
    if m[at + K_P] == 0.0:
        return work
    for i in range(3):
        work += m[at + K_P + i] * slip(m, at, vectors, i)
    return work


def guard(m, t, count):
    """No more work than the tank can pay: else impulses that hang together shrink until they do none."""
    total, size, tank = 0.0, 0.0, m[t[AT_STATE] + t[TANK_STATE]]
    for k in range(count):
        work = work_of(m, t[AT_TOUCHES] + k * touch_size(t), t[AT_RIGHT])
        total += work
        size += abs(work)
    if total <= tank or total <= tank + 4.0 * EPSILON * (size + rounding(m, t, count)):
        return
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
        share = -lin / (work - lin) if lin < 0.0 else 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            if label_of(m, t, at) == c:
                for i in range(3):
                    m[at + K_P + i] *= share
        for b in range(t[BODIES]):
            if m[labels + b] == float(c):
                for n in range(6):
                    m[rights + 6 * b + n] = m[free + 6 * b + n] + share * (m[rights + 6 * b + n] - m[free + 6 * b + n])


def rounding(m, t, count):
    """Sum of the sizes of the terms of p·u: what the work of contacts loses where they cancel."""
    size = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for i in range(3):
            if m[at + K_P + i] != 0.0:
                size += abs(m[at + K_P + i]) * terms(m, t, at, i)
    return size


def terms(m, t, at, i):
    """Sum of the sizes of the terms of component i of u."""
    size = 0.0
    for side in range(2):
        c = int(m[at + K_A + side])
        if c >= 0:
            row = at + (K_JA if side == 0 else K_JB) + 6 * i
            for n in range(6):
                size += abs(m[row + n] * m[t[AT_RIGHT] + 6 * c + n])
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


INLINE = (along_body, add_yield, put, slip, add_columns, first_of)
KERNELS = (
    clear, keep, invert, answer, lay_column, lay_columns, slide, visit, sweep, answer_all, look_ahead,
    is_changed, impulses, work_of, terms,
    rounding, label, label_of, guard, touch, press,
)  # fmt: skip
