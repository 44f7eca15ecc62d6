"""Assemblies: bodies that move by unknowns of their own, as mechanisms do by the rates of their joints. Kernels.

All that acts on a member of an assembly (ties, ports, contacts, drag, gravity) sees a body with a twist V̂, as
everywhere: it adds to the 6 × 6 blocks and to the right hand sides, 6 for each body. What an assembly says besides, in
the table and in the memory (`table.py`: A_, G_):

    n           its unknowns û, the rates of the step
    members     for each of its bodies columns with V̂ = Σ columns · û exactly, if û is what comes out. They are made
                anew in every pass, from the û found in the one before, or never, where they do not depend on it
    own         an n × n matrix and n numbers: its inertia, springs and dampers that act on û directly

`condense` makes `own + Σ J' B J` of the blocks; assemblies are then nodes of the elimination beside free bodies, and
behind it `spread_out` gives their members V̂ = J û. So `respond`, and contacts with it, know nothing of assemblies. What
is left to the kind of assembly, called from `advance.py`: what `begin` foretells and takes as own; `swing`, the twists
and columns from û; `move`, its state at the end of the step; and its books.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.blocks import respond
    from passivo.world.collide import touch_size
    from passivo.world.contacts import room
    from passivo.world.cords import add_cords
    from passivo.world.inertias import row_of
    from passivo.world.table import *


def condense(m, t):
    """Blocks and right hand sides of assemblies, from their own and from those of their members."""
    for k in range(t[ASSEMBLIES]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        n, block = t[a + A_WIDTH], t[AT_BLOCKS] + t[a + A_BLOCK]
        for i in range(n * n):
            m[block + i] = m[t[a + A_OWN] + i]
        draw_in(m, t, a, t[AT_RIGHT])
        for i in range(n):
            m[t[a + A_ANSWER] + i] += m[t[a + A_OWN] + n * n + i]
    add_cords(m, t)
    for k in range(t[LINKED]):
        condense_block(m, t, t[LINKED_TABLE] + k * LINKED_SIZE)


def condense_block(m, t, linked):
    """Ja' B Jb of a block; J of a free body is 1."""
    block, target, width = t[AT_BLOCKS] + t[linked + 2], t[AT_BLOCKS] + t[linked + 3], t[linked + 4]
    one, other = member_of(t, t[linked]), member_of(t, t[linked + 1])
    rows, columns = t[one + G_COUNT] if one >= 0 else 6, t[other + G_COUNT] if other >= 0 else 6
    if one == other and is_bare(m, block):
        return
    for j in range(columns):
        u, v, w, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if other >= 0:
            column = t[other + G_COLUMNS] + 6 * j
            for k in range(6):
                share = m[column + k]
                u += m[block + k] * share
                v += m[block + 6 + k] * share
                w += m[block + 12 + k] * share
                x += m[block + 18 + k] * share
                y += m[block + 24 + k] * share
                z += m[block + 30 + k] * share
        else:
            u, v, w = m[block + j], m[block + 6 + j], m[block + 12 + j]
            x, y, z = m[block + 18 + j], m[block + 24 + j], m[block + 30 + j]
        to = target + (t[t[other + G_UNKNOWNS] + j] if other >= 0 else j)
        if one >= 0:
            for i in range(rows):
                c = t[one + G_COLUMNS] + 6 * i
                m[to + width * t[t[one + G_UNKNOWNS] + i]] += (
                    m[c] * u + m[c + 1] * v + m[c + 2] * w + m[c + 3] * x + m[c + 4] * y + m[c + 5] * z
                )
        else:
            m[to] += u
            m[to + width] += v
            m[to + 2 * width] += w
            m[to + 3 * width] += x
            m[to + 4 * width] += y
            m[to + 5 * width] += z


def is_bare(m, block):
    """Whether nothing stands in the block of a body."""
    size = 0.0
    for k in range(36):
        size += abs(m[block + k])
    return size == 0.0


def member_of(t, c):
    return t[t[CARRIER_TABLE] + c * C_SIZE + C_MEMBER]


def draw_in(m, t, a, vector):
    """ANSWER = Σ J' of the right hand sides of the members at `vector`."""
    for i in range(t[a + A_WIDTH]):
        m[t[a + A_ANSWER] + i] = 0.0
    for k in range(t[a + A_COUNT]):
        member = t[a + A_MEMBERS] + k * G_SIZE
        v = vector + 6 * t[member + G_BODY]
        for i in range(t[member + G_COUNT]):
            c = t[member + G_COLUMNS] + 6 * i
            m[t[a + A_ANSWER] + t[t[member + G_UNKNOWNS] + i]] += (
                m[c] * m[v]
                + m[c + 1] * m[v + 1]
                + m[c + 2] * m[v + 2]
                + m[c + 3] * m[v + 3]
                + m[c + 4] * m[v + 4]
                + m[c + 5] * m[v + 5]
            )


def spread_out(m, t, a, vector):
    """The members at `vector` move by J times ANSWER."""
    for k in range(t[a + A_COUNT]):
        member = t[a + A_MEMBERS] + k * G_SIZE
        v = vector + 6 * t[member + G_BODY]
        for n in range(6):
            m[v + n] = 0.0
        for i in range(t[member + G_COUNT]):
            c, share = t[member + G_COLUMNS] + 6 * i, m[t[a + A_ANSWER] + t[t[member + G_UNKNOWNS] + i]]
            for n in range(6):
                m[v + n] += m[c + n] * share


def keep_rates(m, t):
    """RATE = ANSWER: what was found for all."""
    for k in range(t[ASSEMBLIES]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[t[a + A_RATE] + i] = m[t[a + A_ANSWER] + i]


def begin_pass(m, t):
    """The unknowns of mechanisms that a pass begins with."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[row_of(t, a, M_FROM) + i] = m[t[a + A_RATE] + i]


def hurry(m, t, known):
    """RATE to begin the next pass with: where passes lead to, by the last three (Anderson's acceleration). A light limb
    that a large impulse turns goes to and fro by more than it was off, and would never come to rest by itself.

    known   how many changes from pass to pass are known; returned for the next time
    """
    a, b, c, e, f = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(t[MECHANISMS]):
        one = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[one + A_WIDTH]):
            way = m[t[one + A_RATE] + i] - m[row_of(t, one, M_FROM) + i]
            x, y = way - m[row_of(t, one, M_OFF) + i], m[row_of(t, one, M_OFF_LESS) + i]
            a += x * x
            b += x * y
            c += y * y
            e += x * way
            f += y * way
    first, second = 0.0, 0.0
    if known > 1 and a * c - b * b > 1e-9 * a * c:
        first, second = (e * c - f * b) / (a * c - b * b), (f * a - e * b) / (a * c - b * b)
    elif known > 0 and a > 0.0:
        first = e / a
    for k in range(t[MECHANISMS]):
        one = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[one + A_WIDTH]):
            came, off, rate = row_of(t, one, M_CAME) + i, row_of(t, one, M_OFF) + i, t[one + A_RATE] + i
            on, less = row_of(t, one, M_CAME_ON) + i, row_of(t, one, M_OFF_LESS) + i
            last, way, older = m[rate], m[rate] - m[row_of(t, one, M_FROM) + i], m[on]
            m[on], m[less], m[rate] = last - m[came], way - m[off], last - first * (last - m[came]) - second * older
            m[came], m[off] = last, way
    return known + 1


def burdened(m, t):
    """Whether anything acts on a member of a mechanism: what it does follows the turn, and has to come to rest with
    it."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_COUNT]):
            c = t[t[a + A_MEMBERS] + i * G_SIZE + G_BODY]
            for n in range(6):
                if m[t[AT_RIGHT] + 6 * c + n] != 0.0:
                    return True
            if not is_bare(m, t[AT_BLOCKS] + 36 * c):
                return True
    return False


def follow(m, t, h):
    """RATE with the answer of assemblies to the impulses of contacts, as V̂ of their members has it already."""
    vector, count = room(t, V_ANSWER), int(m[t[AT_TALLY] + N_TOUCHES])
    for i in range(6 * t[BODIES]):
        m[vector + i] = 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_P] > 0.0:
            push_members(m, t, at, vector, m[at + K_P] / h, m[at + K_P + 1] / h, m[at + K_P + 2] / h)
    respond_all(m, t, vector)
    for k in range(t[ASSEMBLIES]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_WIDTH]):
            m[t[a + A_RATE] + i] += m[t[a + A_ANSWER] + i]


def respond_all(m, t, vector):
    """`respond` of all assemblies, and of what hangs together with them: each is solved once."""
    for k in range(t[ASSEMBLIES]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        c = t[t[a + A_MEMBERS] + G_BODY]
        if first_assembly(t, c) == a:
            respond(m, t, c, vector)


def push_members(m, t, at, vector, x, y, z):
    """The right hand sides at `vector` with an impulse of a contact."""
    for side in range(2):
        c, jacobian = int(m[at + K_A + side]), at + (K_JA if side == 0 else K_JB)
        if c >= 0:
            for n in range(6):
                m[vector + 6 * c + n] += m[jacobian + n] * x + m[jacobian + 6 + n] * y + m[jacobian + 12 + n] * z


def first_assembly(t, c):
    """The first assembly, in the order of elimination, of those that hang together with c."""
    first = t[t[RESPOND_TABLE] + 2 * c]
    for i in range(t[t[RESPOND_TABLE] + 2 * c + 1]):
        assembly = t[t[t[ORDER_TABLE] + t[first + i]] + 3]
        if assembly >= 0:
            return assembly
    return -1


INLINE = (member_of,)
KERNELS = (
    is_bare, condense_block, draw_in, condense, spread_out, keep_rates, begin_pass, hurry, burdened,
    push_members, first_assembly, respond_all, follow,
)  # fmt: skip
