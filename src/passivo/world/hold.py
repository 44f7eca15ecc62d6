"""What contacts hold at the end of a step (spec 4.5, step 6). Kernels.

V⁺ = 2V̂ − V keeps a part that changes sign from step to step: at contacts that stick V̂ has no slip, and at those that
rest none along the normal, but V⁺ has that of V turned round. What contacts hold is taken out, all of it at once
(`firm.py`): V⁺ + Y λ, Y the answer of bodies, ties and joints to impulses, so that slips are 0 and velocities along
normals are 0 or what the law of impact has. Sweeps would leave the long waves in a tower, and these come back as noise
in every step. The kinetic energy of the whole says how far to go along Y λ: it can only fall, whatever is left
unsolved. What rests has then the same impulses in every step, and the sweeps begin with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.assemblies import push_members, respond_all, spread_out
    from passivo.world.collide import touch_size
    from passivo.world.contacts import answer, room, slip, terms
    from passivo.world.firm import MOST_STEPS, QUIET, is_firm, seek
    from passivo.world.inertias import lower_rates, raise_rates, row_of
    from passivo.world.poses import inertia
    from passivo.world.repair import invert_inertia, is_alone, tell_push
    from passivo.world.table import *

SLOWER = 1e-6  # m/s
FEW_STEPS = 8  # of conjugate gradients, in the middle of an impact that the sweeps did not solve


def hold(m, t, h):
    """Take out of the velocities at the end of the step what contacts do not let pass; its joules are lost there."""
    count = int(m[t[AT_TALLY] + N_TOUCHES])
    ends, way = room(t, V_ENDS), room(t, V_ANSWER)
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_STICKS] == 0.0 and m[at + K_P] > 0.0:  # at the edge of its cone, but it does not move
            stands = abs(slip(m, at, t[AT_RIGHT], 1)) + abs(slip(m, at, t[AT_RIGHT], 2)) <= QUIET
            m[at + K_STICKS] = 1.0 if stands else 0.0
    read_ends(m, t, ends)
    if not find_pushes(m, t, count, ends, way):
        return
    answer_pushes(m, t, h, count, way)
    lin, quad = energy_along(m, t, ends, way)
    if lin >= 0.0 or quad <= 0.0:
        return
    share = min(1.0, -lin / quad)
    go(m, t, way, share)
    book_held(m, t, count, share, -share * (lin + 0.5 * share * quad))


def read_ends(m, t, ends):
    """The velocities at the end of the step: of mechanisms those of their joints."""
    for c in range(t[BODIES]):
        s = t[AT_NEXT] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE] + V
        for n in range(6):
            m[ends + 6 * c + n] = m[s + n]
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[t[a + A_ANSWER] + i] = m[row_of(t, a, M_NU) + i]
        lower_rates(m, t, a, t[a + A_ANSWER])
        spread_out(m, t, a, ends)


def find_pushes(m, t, count, ends, way):
    """λ at K_SOUGHT, so that what is held stands still; False where nothing is to be held."""
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        holds = m[at + K_P] > 0.0 and m[at + K_BENDS] == 0.0
        speed, after = slip(m, at, ends, 0), m[at + K_AFTER]
        rests = m[at + K_RESTS] > 0.0 or (after > 0.0 and speed > after - SLOWER)  # another impact may leave it slower
        m[at + K_FIRM] = 1.0 if holds and rests else 0.0
        m[at + K_FIRM + 1] = 1.0 if holds and m[at + K_STICKS] > 0.0 else 0.0
        m[at + K_LEFT] = after - speed if m[at + K_FIRM] > 0.0 else 0.0
        for i in range(1, 3):
            m[at + K_LEFT + i] = -slip(m, at, ends, i) if m[at + K_FIRM + 1] > 0.0 else 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if is_firm(m, at):
            lay_pushes(m, t, at)
    return seek(m, t, count, way, MOST_STEPS if m[t[AT_TALLY] + N_SETTLED] > 0.0 else FEW_STEPS)


def lay_pushes(m, t, at):
    """Columns of what is by itself, as an impulse moves it: in a step also what turns and brakes it answered."""
    inverse = room(t, VECTORS) + 9
    for side in range(2):
        c = int(m[at + K_A + side])
        if c < 0 or not is_alone(t, c):
            continue
        share = 0.5 / invert_inertia(m, t, c, inverse)
        for i in range(3):
            row, column = at + (K_JA if side == 0 else K_JB) + 6 * i, at + K_COLUMNS + side * COLUMN * t[SPAN] + 6 * i
            for k in range(3):
                j = inverse + 3 * k
                m[column + k] = share * m[row + k]
                m[column + 3 + k] = 0.5 * (m[j] * m[row + 3] + m[j + 1] * m[row + 4] + m[j + 2] * m[row + 5])


def answer_pushes(m, t, h, count, way):
    """How λ moves bodies, at `way`, and the unknowns of mechanisms, as ν at M_RATE."""
    if t[MECHANISMS] > 0:
        for n in range(6 * t[BODIES]):
            m[way + n] = 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            push_members(m, t, at, way, m[at + K_SOUGHT] / h, m[at + K_SOUGHT + 1] / h, m[at + K_SOUGHT + 2] / h)
        respond_all(m, t, way)
        for k in range(t[MECHANISMS]):
            a = t[ASSEMBLY_TABLE] + k * A_SIZE
            raise_rates(m, t, a, t[a + A_ANSWER], row_of(t, a, M_RATE))
    for n in range(6 * t[BODIES]):
        m[way + n] = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if is_firm(m, at):
            answer(m, t, at, way, m[at + K_SOUGHT], m[at + K_SOUGHT + 1], m[at + K_SOUGHT + 2])


def energy_along(m, t, ends, way):
    """How the kinetic energy changes along the way: by its first and its second power."""
    lin, quad = 0.0, 0.0
    for c in range(t[BODIES]):
        entry = t[CARRIER_TABLE] + c * C_SIZE
        if t[entry + C_MEMBER] >= 0 or t[entry + C_PARAM] < 0:
            continue
        p, v, d = t[AT_PARAM] + t[entry + C_PARAM], ends + 6 * c, way + 6 * c
        mass = m[p + MASS]
        x, y, z = inertia(m, p + INERTIA, m[d + 3], m[d + 4], m[d + 5])
        lin += mass * (m[v] * m[d] + m[v + 1] * m[d + 1] + m[v + 2] * m[d + 2])
        lin += m[v + 3] * x + m[v + 4] * y + m[v + 5] * z
        quad += mass * (m[d] * m[d] + m[d + 1] * m[d + 1] + m[d + 2] * m[d + 2])
        quad += m[d + 3] * x + m[d + 4] * y + m[d + 5] * z
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        nu, change = row_of(t, a, M_NU), row_of(t, a, M_RATE)
        for i in range(t[a + A_WIDTH]):
            lin += m[nu + i] * m[change + i]
            quad += m[change + i] * m[change + i]
    return lin, quad


def go(m, t, way, share):
    """Velocities at the end of the step, a share of the way on."""
    for c in range(t[BODIES]):
        entry = t[CARRIER_TABLE] + c * C_SIZE
        if t[entry + C_PARAM] >= 0:
            for n in range(6):
                m[t[AT_NEXT] + t[entry + C_STATE] + V + n] += share * m[way + 6 * c + n]
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[row_of(t, a, M_NU) + i] += share * m[row_of(t, a, M_RATE) + i]


def book_held(m, t, count, share, joules):
    """Joules to impact and friction, by what their directions took; impulses to what is recorded. V̂ answers an impulse
    with half of what V⁺ does."""
    normal, tangential = 0.0, 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] <= 0.0:
            continue
        x, y, z = 0.5 * share * m[at + K_SOUGHT], 0.5 * share * m[at + K_SOUGHT + 1], 0.5 * share * m[at + K_SOUGHT + 2]
        tell_push(m, t, at, x, y, z)
        normal += abs(x * slip(m, at, room(t, V_ENDS), 0))
        tangential += abs(y * slip(m, at, room(t, V_ENDS), 1))
        tangential += abs(z * slip(m, at, room(t, V_ENDS), 2))
        for i in range(3):
            size = abs(x if i == 0 else (y if i == 1 else z))
            m[t[AT_SCALE] + KINETIC] += size * terms(m, t, at, room(t, V_ENDS), i)
    part = joules * normal / (normal + tangential) if normal + tangential > 0.0 else joules
    m[t[AT_TALLY] + N_IMPACT] += part
    m[t[AT_TALLY] + N_FRICTION] += joules - part


INLINE = ()
KERNELS = (
    read_ends, lay_pushes, find_pushes, answer_pushes, energy_along, go, book_held, hold,
)  # fmt: skip
