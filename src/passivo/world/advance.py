"""One step of a world: gather, solve, move (spec 4.1, 4.2, 4.4). Kernels; `table.py` says how a world lies in memory.

Unknown is, for each body, the velocity of the step V̂ = (v̂, ŵ): v̂ in world axes, ŵ in the axes of the body. A step moves
the body by x + h v̂ and R exp(h ŵ); its own velocity becomes V⁺ = 2V̂ − V. With the ties of `ties.py`

    (2M/h + Gyro + B + (h/2) J'KJ) V̂ = 2MV/h − J'KΨ + F,   Gyro ŵ = −(J w*) × ŵ,

w* extrapolated to the middle of the step. Mechanisms move by the rates of their joints (`assemblies.py`). Symplectic
and implicit Euler are the same gathering with other shares.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.tick import NOT_FINITE, OK, UNCONVERGED
    from passivo.world.assemblies import begin_pass, burdened, follow, hurry
    from passivo.world.bending import begin_beams, bend_beams, book_beams, place_points
    from passivo.world.blocks import eliminate
    from passivo.world.books import book_bodies, book_ports, book_ties, tell_ties, world_difference
    from passivo.world.collide import expect, find_contacts, outran, remember_contacts
    from passivo.world.contacts import guard, press, touch
    from passivo.world.cords import book_cords, gather_cords, lay_cords, move_cords, settle_cords, tell_cords
    from passivo.world.debit import debit
    from passivo.world.hold import hold
    from passivo.world.inertias import (
        arrive_assemblies,
        begin_assemblies,
        lay_own,
        move_assemblies,
        ready_assemblies,
    )
    from passivo.world.joint_books import book_joints
    from passivo.world.poses import frames, inertia, spin_on, twist
    from passivo.world.repair import book_contacts, repair, steps_of, tell_contacts, tell_noise
    from passivo.world.table import *
    from passivo.world.ties import add_bend, add_block, add_end, lay_ties, measure, present_rate, rate, slope
    from passivo.world.trees import swing

MOST_PASSES = 100
TOUCHING_PASSES = 3  # after these impulses stay, and only what ties pull comes to rest
SHRINKS = 4  # after which impulses that would do work are given up
CLOSE = 1e-15  # of V̂, from one pass to the next
NEAR = 1e-16  # the same in metres and radians of a step
SEARCHES = 4  # for contacts
ENOUGH = 3.0  # steps that foretell the turn of the next one
SURPRISE = 1e-3  # radians by which the turn may be another than foretold before joints are made anew
ROUGH = 1e4  # by how much coarser both may be where rounding lets it come no closer


def begin(m, t, h):
    """The frames at the start, and what the last steps say of this one.

    Joints are made for the turn h (S + (h + h₁ + h₂)/2 A), S the mean rate of the last two steps and A how it changed;
    at constant h that is h (5ŵ₁ + 2ŵ₂ − 3ŵ₃)/4. It is of second order, and in S cancels what stiff joints make V̂
    alternate by: Ψ alternates too, and a turn that does so would feed it. With h ŵ₁ leaks are up to 25 times larger.
    """
    frames(m, t, t[AT_STATE], F_TURN)
    last = m[t[AT_STATE]]
    ahead = h / last if t[PREDICTS] and last > 0.0 else 0.0
    reach = 0.5 * (h + last + m[t[AT_STATE] + STEP_BEFORE])  # from the middle of the last two steps to that of this one
    for c in range(t[BODIES]):
        entry, at = t[CARRIER_TABLE] + c * C_SIZE, t[AT_FRAMES] + c * F_SIZE
        s = t[AT_STATE] + t[entry + C_STATE]
        for k in range(3):
            m[at + F_HAT + k] = m[s + U + k] if t[SCHEME] == MIDPOINT else 0.0
            m[at + F_HAT + 3 + k] = m[s + S + k] + reach * m[s + A + k] if t[SCHEME] == MIDPOINT else 0.0
        if t[entry + C_PARAM] < 0:
            continue
        # w − ŵ of the last step is half of what w changed in it
        x = m[s + W] + ahead * (m[s + W] - m[s + U + 3])
        y = m[s + W + 1] + ahead * (m[s + W + 1] - m[s + U + 4])
        z = m[s + W + 2] + ahead * (m[s + W + 2] - m[s + U + 5])
        x, y, z = inertia(m, t[AT_PARAM] + t[entry + C_PARAM] + INERTIA, x, y, z)
        m[at + F_SPIN], m[at + F_SPIN + 1], m[at + F_SPIN + 2] = x, y, z
    for c in range(t[BODIES], t[CARRIERS]):
        lead(m, t, c)
    if t[MECHANISMS] > 0:
        if not begin_assemblies(m, t, h):
            return UNCONVERGED
        swing(m, t, h)
        take_twists(m, t)
    return OK


def take_twists(m, t):
    """V̂ of the members of assemblies, as their unknowns make them move."""
    for k in range(t[MECHANISMS]):
        a = t[ASSEMBLY_TABLE] + k * A_SIZE
        for i in range(t[a + A_PART_COUNT]):
            limb = t[a + A_PARTS] + i * L_SIZE
            if t[limb + L_BODY] >= 0:
                hat = t[AT_FRAMES] + t[limb + L_BODY] * F_SIZE + F_HAT
                for n in range(6):
                    m[hat + n] = m[t[limb + L_AT] + P_HAT + n]


def lead(m, t, c):
    """V̂ of an anchor, from its inputs."""
    entry, at = t[CARRIER_TABLE] + c * C_SIZE, t[AT_FRAMES] + c * F_SIZE
    u = t[AT_USED] + t[entry + C_INPUT]
    for k in range(3):
        m[at + F_HAT + k] = m[u + k]
        m[at + F_HAT + 3 + k] = 0.0
    if t[entry + C_WIDTH] == 6:
        for k in range(3):
            m[at + F_HAT + 3 + k] = (
                m[at + F_TURN + k] * m[u + 3] + m[at + F_TURN + 3 + k] * m[u + 4] + m[at + F_TURN + 6 + k] * m[u + 5]
            )


def shares(t, h):
    """How much of the momentum, of the stretch over the step and of the velocity is taken at its end."""
    if t[SCHEME] == MIDPOINT:
        return 2.0 / h, 0.5 * h, 1.0
    if t[SCHEME] == IMPLICIT:
        return 1.0 / h, h, 1.0
    return 1.0 / h, 0.0, 0.0


def gather_bodies(m, t, h):
    """Blocks and right hand sides of the bodies alone: inertia, gyroscopic moment, drag, gravity. Of members of
    assemblies the inertia is theirs."""
    momentum, _, late = shares(t, h)
    early = 1.0 - late
    for k in range(t[BLOCKS]):
        m[t[AT_BLOCKS] + k] = 0.0
    for c in range(t[BODIES]):
        entry, at = t[CARRIER_TABLE] + c * C_SIZE, t[AT_FRAMES] + c * F_SIZE
        s, p = t[AT_STATE] + t[entry + C_STATE], t[AT_PARAM] + t[entry + C_PARAM]
        block, right = t[AT_BLOCKS] + 36 * c, t[AT_RIGHT] + 6 * c
        if t[entry + C_PARAM] < 0:  # a point of a beam
            for i in range(6):
                m[right + i] = 0.0
            continue
        mass, drag, spin_drag, j = m[p + MASS], m[p + DRAG], m[p + SPIN_DRAG], p + INERTIA
        if t[entry + C_MEMBER] >= 0:
            for i in range(3):
                m[block + 7 * i], m[block + 7 * i + 21] = late * drag, late * spin_drag
                m[right + i] = mass * m[t[AT_PARAM] + i] - early * drag * m[s + V + i]
                m[right + 3 + i] = -early * spin_drag * m[s + W + i]
            continue
        for i in range(3):
            m[block + 7 * i] = momentum * mass + late * drag
            m[right + i] = (momentum * mass - early * drag) * m[s + V + i] + mass * m[t[AT_PARAM] + i]
        x, y, z = m[at + F_SPIN], m[at + F_SPIN + 1], m[at + F_SPIN + 2]
        m[block + 21] = momentum * m[j] + late * spin_drag
        m[block + 28] = momentum * m[j + 1] + late * spin_drag
        m[block + 35] = momentum * m[j + 2] + late * spin_drag
        m[block + 22] = momentum * m[j + 3] + late * z
        m[block + 27] = momentum * m[j + 3] - late * z
        m[block + 23] = momentum * m[j + 4] - late * y
        m[block + 33] = momentum * m[j + 4] + late * y
        m[block + 29] = momentum * m[j + 5] + late * x
        m[block + 34] = momentum * m[j + 5] - late * x
        p, q, r = m[s + W], m[s + W + 1], m[s + W + 2]
        u, v, w = inertia(m, j, p, q, r)
        m[right + 3] = momentum * u - early * (spin_drag * p + q * z - r * y)
        m[right + 4] = momentum * v - early * (spin_drag * q + r * x - p * z)
        m[right + 5] = momentum * w - early * (spin_drag * r + p * y - q * x)


def push(m, t):
    """Forces and moments at the ports."""
    for k in range(t[TAPS]):
        tap = t[TAP_TABLE] + TAP_SIZE * k
        c, point, u = t[tap], t[tap + 1], t[AT_USED] + t[tap + 2]
        right, bent = t[AT_RIGHT] + 6 * c, t[AT_FRAMES] + c * F_SIZE + F_BENT
        for i in range(3):
            m[right + i] += m[u + i]
            x, y, z = m[bent + i], m[bent + 3 + i], m[bent + 6 + i]
            force = x * m[u] + y * m[u + 1] + z * m[u + 2]  # in the mean axes of the body
            m[right + 3 + (i + 1) % 3] += m[point + (i + 2) % 3] * force
            m[right + 3 + (i + 2) % 3] -= m[point + (i + 1) % 3] * force
            if t[tap + 3] == 6:
                m[right + 3 + i] += x * m[u + 3] + y * m[u + 4] + z * m[u + 5]


def gather_ties(m, t, h, follows):
    """What the ties add: J' κ J to the blocks, forces to the right hand sides.

    Where the jacobian `follows` the turn, which it is made anew for in every pass, it is Newton's step: forces change
    with V̂ by κ D instead of κ J, and their moments with the turn.
    """
    _, stretch, late = shares(t, h)
    for k in range(t[TIES]):
        tie, at = t[TIE_TABLE] + k * T_SIZE, t[AT_ROWS] + k * R_SIZE
        a, b = t[tie + T_A], t[tie + T_B]
        kappa, force, ahead, behind = at + R_KAPPA, at + R_FORCE, at + R_A, at + R_B
        newton = follows and t[tie + T_EXACT]
        for i in range(9):
            m[kappa + i] = late * m[at + R_C + i]
        for i in range(3):
            m[kappa + 4 * i] += stretch * m[at + R_K]
            m[force + i] = -m[at + R_K] * m[at + R_PSI + i]
            if late == 0.0:
                for j in range(3):
                    m[force + i] -= m[at + R_C + 3 * i + j] * present_rate(m, t, tie, at, j)
        if newton:
            ahead = at + R_SLOPE_A
            slope(m, t, tie, at, 0, h)
            push_back(m, at, rate(m, t, tie, at, 0), rate(m, t, tie, at, 1), rate(m, t, tie, at, 2))
            add_bend(m, t, tie, at, 0, h, t[AT_BLOCKS] + 36 * a, t[AT_RIGHT] + 6 * a)
            if 0 <= b < t[BODIES]:
                behind = at + R_SLOPE_B
                slope(m, t, tie, at, 1, h)
                add_bend(m, t, tie, at, 1, h, t[AT_BLOCKS] + 36 * b, t[AT_RIGHT] + 6 * b)
                give_back(m, t, at, behind, b)
            give_back(m, t, at, ahead, a)
        elif b >= t[BODIES]:  # an anchor, whose velocity is given, pushes with it
            hat = t[AT_FRAMES] + b * F_SIZE + F_HAT
            push_back(m, at, along_hat(m, behind, hat), along_hat(m, behind + 6, hat), along_hat(m, behind + 12, hat))
        add_end(m, t[AT_RIGHT] + 6 * a, at + R_A, force)
        add_block(m, t[AT_BLOCKS] + 36 * a, at + R_A, kappa, ahead)
        if t[tie + T_AB] >= 0:
            add_end(m, t[AT_RIGHT] + 6 * b, at + R_B, force)
            add_block(m, t[AT_BLOCKS] + 36 * b, at + R_B, kappa, behind)
            add_block(m, t[AT_BLOCKS] + 36 * t[tie + T_AB], at + R_A, kappa, behind)
            add_block(m, t[AT_BLOCKS] + 36 * t[tie + T_BA], at + R_B, kappa, ahead)


def along_hat(m, row, hat):
    """A row of a jacobian times V̂."""
    v = 0.0
    for n in range(6):
        v += m[row + n] * m[hat + n]
    return v


def push_back(m, at, x, y, z):
    """The force less κ times a rate."""
    kappa = at + R_KAPPA
    for i in range(3):
        m[at + R_FORCE + i] -= m[kappa + 3 * i] * x + m[kappa + 3 * i + 1] * y + m[kappa + 3 * i + 2] * z


def give_back(m, t, at, jacobian, c):
    """The force and κ times what a slope makes of the V̂ of a body."""
    hat = t[AT_FRAMES] + c * F_SIZE + F_HAT
    x, y, z = along_hat(m, jacobian, hat), along_hat(m, jacobian + 6, hat), along_hat(m, jacobian + 12, hat)
    push_back(m, at, -x, -y, -z)


def settle(m, t, h):
    """Take V̂ over from the solution; returns by how much it moved, in units of what is close enough."""
    moved, size = 0.0, 0.0
    for c in range(t[BODIES]):
        hat, right = t[AT_FRAMES] + c * F_SIZE + F_HAT, t[AT_RIGHT] + 6 * c
        for k in range(6):
            moved = max(moved, abs(m[right + k] - m[hat + k]))
            size = max(size, abs(m[right + k]))
            m[hat + k] = m[right + k]
    return moved / max(CLOSE * size, NEAR / h)


def surprise(m, t):
    """By how much the rate of a body is at most another than the one that its ties were made for."""
    most = 0.0
    for c in range(t[BODIES]):
        hat, right = t[AT_FRAMES] + c * F_SIZE + F_HAT, t[AT_RIGHT] + 6 * c
        for k in range(3, 6):
            most = max(most, abs(m[right + k] - m[hat + k]))
    return most


def solve(m, t, h):
    """V̂ of the step: with jacobians made for the turn foretold, RESOLVES times again with those of the turn just found
    (once if it was a surprise: an impact), and until nothing moves for ties that ask for the turn that really comes."""
    before, resolves = 0.0, t[RESOLVES]
    if t[TIES] > 0 and t[SCHEME] == MIDPOINT and m[t[AT_STATE] + KNOWN] < ENOUGH:  # nothing foretells the turn yet
        resolves = max(resolves, 1)
    newton, follows = t[ITERATES] > 0, t[ITERATES] > 0 or (t[CORDS] > 0 and t[SCHEME] != SYMPLECTIC)
    fresh = t[MECHANISMS] > 0 and t[PREDICTS] > 0 and t[SCHEME] == MIDPOINT and m[t[AT_STATE] + KNOWN] < 2.0
    if fresh:  # nothing foretells where inertia is made
        resolves = max(resolves, 1)
    touching = t[CONTACTS] > 0 and m[t[AT_TALLY] + N_TOUCHES] > 0.0
    for k in range(t[TIES]):
        at = t[AT_ROWS] + k * R_SIZE
        measure(m, t, t[TIE_TABLE] + k * T_SIZE, t[AT_STATE], F_TURN, at + R_PSI)
    lay_cords(m, t)
    known, shrunk = 0, 0
    for p in range(MOST_PASSES):
        begin_pass(m, t)
        twist(m, t, h)
        lay_ties(m, t, h, p > resolves)
        gather_bodies(m, t, h)
        push(m, t)
        gather_ties(m, t, h, newton and p > resolves)
        gather_cords(m, t, h)
        if t[MECHANISMS] > 0:
            if p == 0 and t[SCHEME] == MIDPOINT:
                follows = follows or touching or burdened(m, t)
            if p == 1 and fresh and not lay_inertias(m, t, h):
                return UNCONVERGED
        if touching and p >= TOUCHING_PASSES:
            press(m, t, h)
        if not eliminate(m, t):
            if not newton or p <= resolves:
                return UNCONVERGED
            newton = False  # pushed together so hard that they buckle: the plain way may still settle
            continue
        status = touch(m, t, h) if touching and p < TOUCHING_PASSES else OK
        if status != OK:
            return status
        if t[MECHANISMS] > 0 and touching and p < TOUCHING_PASSES:
            follow(m, t, h)
        if p == resolves == 0 and t[CONTACTS] > 0 and t[TIES] > 0 and h * surprise(m, t) > SURPRISE:
            resolves = 1
        moved = max(settle(m, t, h), settle_cords(m, t) / (NEAR / h))
        m[t[AT_PASSES]] = p + 1.0
        if not isfinite(moved):
            return NOT_FINITE
        rests = moved <= 1.0 or (moved <= ROUGH and moved > 0.5 * before) or (p >= resolves and not follows)
        if rests and touching and p >= TOUCHING_PASSES and guard(m, t, shrunk >= SHRINKS):
            shrunk, known, rests = shrunk + 1, 0, False  # other ways of mechanisms than those that the guard saw before
        if t[MECHANISMS] > 0:
            known = hurry(m, t, known) if p > TOUCHING_PASSES and not rests else 0
            swing(m, t, h)
            take_twists(m, t)
        if rests:
            return OK
        before = moved
    return UNCONVERGED


def lay_inertias(m, t, h):
    """Inertia of all mechanisms anew, at the rates that were found."""
    for k in range(t[MECHANISMS]):
        if not lay_own(m, t, t[ASSEMBLY_TABLE] + k * A_SIZE, h):
            return False
    return True


def move(m, t, h):
    """NEXT from V̂."""
    last, before = m[t[AT_STATE]], m[t[AT_STATE] + STEP_BEFORE]
    known = m[t[AT_STATE] + KNOWN]
    m[t[AT_NEXT]], m[t[AT_NEXT] + STEP_BEFORE], m[t[AT_NEXT] + KNOWN] = h, last, min(known + 1.0, ENOUGH)
    apart = 2.0 / (h + before) if known + 1.0 >= ENOUGH else 0.0
    for c in range(t[CARRIERS]):
        s, hat = t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE], t[AT_FRAMES] + c * F_SIZE + F_HAT
        old, new = t[AT_STATE] + s, t[AT_NEXT] + s
        for k in range(3):
            m[new + k] = m[old + k] + h * m[hat + k]
        spin_on(m, old + Q, new + Q, h * m[hat + 3], h * m[hat + 4], h * m[hat + 5])
        if c < t[BODIES]:
            for k in range(6):
                m[new + U + k] = m[hat + k]
                m[new + V + k] = 2.0 * m[hat + k] - m[old + V + k] if t[SCHEME] == MIDPOINT else m[hat + k]
            for k in range(3):
                m[new + S + k] = (h * m[hat + 3 + k] + last * m[old + U + 3 + k]) / (h + last)
                m[new + A + k] = apart * (m[new + S + k] - m[old + S + k])
    if t[MECHANISMS] > 0:
        move_assemblies(m, t, h)
    move_cords(m, t, h)
    place_points(m, t, t[AT_NEXT])


def world_ready(m, t):
    """Before the first step the velocities of the last one are the present ones; members of assemblies are where their
    coordinates say."""
    ready_assemblies(m, t)
    place_points(m, t, t[AT_STATE])
    for c in range(t[BODIES]):
        s = t[AT_STATE] + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
        if m[t[AT_STATE]] == 0.0:
            for k in range(6):
                m[s + U + k] = m[s + V + k]
            for k in range(3):
                m[s + S + k], m[s + A + k] = m[s + W + k], 0.0
    if t[CONTACTS]:
        m[t[AT_TALLY] + N_PAST] = 0.0


def world_advance(m, t, h):
    """One step of a world, booked into WORK, MEAN, LOST, RECEIVED, CHANGE and SCALE."""
    for k in range(t[INPUTS]):
        m[t[AT_USED] + k] = m[t[AT_INPUT] + k]
    for search in range(SEARCHES):  # again where one is pushed or hit so that it goes farther than contacts were sought
        status = begin(m, t, h)
        if status == OK:
            status = begin_beams(m, t, h)
        if status == OK and t[CONTACTS]:
            if search == 0:
                expect(m, t, h)
            status = find_contacts(m, t, h)
        if status == OK:
            status = solve(m, t, h)
        if status != OK or t[CONTACTS] == 0 or not outran(m, t, h):
            break
    m[t[AT_PASSES] + 1] += m[t[AT_PASSES]]
    if status != OK:
        return status
    bend_beams(m, t, h)
    move(m, t, h)
    if t[CONTACTS]:
        m[t[AT_NEXT] + t[TANK_STATE]] = m[t[AT_STATE] + t[TANK_STATE]]
        if m[t[AT_TALLY] + N_TOUCHES] > 0.0:
            if t[SCHEME] == MIDPOINT:
                hold(m, t, h)
            book_contacts(m, t, h)
        if t[SCHEME] == MIDPOINT:
            debit(m, t, h)
        if m[t[AT_TALLY] + N_TOUCHES] > 0.0:
            repair(m, t, h)
        remember_contacts(m, t)
        tell_contacts(m, t, h)
    if not arrive_assemblies(m, t):
        return UNCONVERGED
    steps_of(m, t)
    for i in range(t[STATE_COUNT]):
        if not isfinite(m[t[AT_NEXT] + i]):
            return NOT_FINITE
    book_bodies(m, t, h)
    book_ports(m, t, h)
    book_ties(m, t, h)
    book_joints(m, t, h)
    book_cords(m, t, h)
    world_difference(m, t)
    book_beams(m, t, h)
    tell_ties(m, t, h)
    tell_cords(m, t, h)
    if t[CONTACTS] and m[t[AT_PROOF]] > 0.0:
        tell_noise(m, t, h)
    for r in range(t[ROW_COUNT]):
        m[t[AT_CHANGE] + r] += m[t[AT_DIFFERENCE] + r]
        if not isfinite(m[t[AT_CHANGE] + r] + m[t[AT_SCALE] + r]):
            return NOT_FINITE
    for i in range(t[STATE_COUNT]):
        m[t[AT_STATE] + i] = m[t[AT_NEXT] + i]
    return OK


INLINE = (lead, shares)
KERNELS = (
    take_twists, begin, gather_bodies, push, along_hat, push_back, give_back, gather_ties, settle, surprise,
    lay_inertias, solve, move,
)  # fmt: skip
ENTRIES = (world_ready, world_advance)
