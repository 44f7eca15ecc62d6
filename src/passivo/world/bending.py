"""Beams in a step of a world (spec 4.1, 4.7). Kernels; `table.py` says how they lie there.

A beam is the linear system of `method/banded_step.py`, stepped by the same kernels. The rest of the world sees only its
points: members of an assembly (`assemblies.py`) whose velocity is V̂ = E v, v their deflections and turns (as far as the
ends of the beam leave them free), E constant. With A = 2M/h + B + (h/2) K, a step without forces at the points gives
them the velocities g = P A⁻¹ b; forces λ there change them by P A⁻¹ P' λ. So the assembly has S = (P A⁻¹ P')⁻¹ and S g
as its own, and once the world is solved, λ = S (v − g) and the beam moves by A⁻¹ (b + P'λ).
A, A⁻¹ P' and S hang on the step size and the parameters alone and are kept; a step is one solution of the band.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.foreign_plain import after
    from passivo.kernel.tick import OK, UNCONVERGED
    from passivo.method.banded_step import banded_difference as beam_banded_difference
    from passivo.method.banded_step import banded_energy as beam_banded_energy
    from passivo.method.banded_step import book_step as beam_book_step
    from passivo.method.banded_step import brake as beam_brake
    from passivo.method.banded_step import felt as beam_felt
    from passivo.method.banded_step import felt_sizes as beam_felt_sizes
    from passivo.method.banded_step import known_factors as beam_known_factors
    from passivo.method.banded_step import load as beam_load
    from passivo.method.banded_step import make_factors as beam_make_factors
    from passivo.method.banded_step import move as beam_move
    from passivo.method.banded_step import push as beam_push
    from passivo.method.banded_step import solve as beam_solve
    from passivo.method.banded_step import weigh_rounding as beam_weigh_rounding
    from passivo.world.poses import spin_on
    from passivo.world.table import *


def entry_of(t, k):
    """Where the k-th beam stands in the table."""
    return t[BEAM_TABLE] + k * E_SIZE


def begin_beams(m, t, h):
    """Each beam as if nothing held its points: HAT, and their velocities g. OK, or UNCONVERGED."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        own, rows, used = after(t, t[e + E_TABLE]), t[e + E_ROWS], t[e + E_USED]
        ready_beam(m, t, e)
        known = beam_known_factors(m, own, h)
        if not known and not (beam_make_factors(m, own, h) and lay_answers(m, t, e, h)):
            return UNCONVERGED
        for i in range(rows):
            m[used + i] = 0.0
        m[used + rows] = weight(m, t, e)
        beam_load(m, own, h)
        beam_solve(m, own, h)
        for i in range(rows):
            m[t[e + E_LOOSE] + i] = beam_felt(m, own, i, t[e + E_HAT])
        for i in range(rows):
            m[t[e + E_IMPEDANCE] + rows * rows + i] = pressed(m, t, e, i, t[e + E_LOOSE])
    return OK


def ready_beam(m, t, e):
    """Its parameters, where its kernels look for them."""
    p, own = t[AT_PARAM] + t[e + E_PARAM], t[e + E_OWN]
    m[own], m[own + 1], m[own + 2] = m[p], m[p + 1], 0.0
    m[own + 3], m[own + 4] = m[p + 2], m[p + 3]


def weight(m, t, e):
    """The force of gravity across a beam."""
    g, up = t[AT_PARAM], t[e + E_FIGURES] + 7
    return m[g + t[e + E_PARAM]] * (m[g] * m[up] + m[g + 1] * m[up + 1] + m[g + 2] * m[up + 2])


def lay_answers(m, t, e, h):
    """A⁻¹ P', column by column, and S. False where S does not exist."""
    own, rows, n = after(t, t[e + E_TABLE]), t[e + E_ROWS], t[e + E_COORDINATES]
    used, answers, s = t[e + E_USED], t[e + E_ANSWERS], t[e + E_IMPEDANCE]
    m[used + rows] = 0.0
    for j in range(rows):
        for i in range(rows):
            m[used + i] = 1.0 if i == j else 0.0
        beam_push(m, own)
        for i in range(n):
            m[t[e + E_RIGHT] + i] = m[t[e + E_FORCE] + i]
        beam_solve(m, own, h)
        for i in range(n):
            m[answers + j * n + i] = m[t[e + E_HAT] + i]
        for i in range(rows):
            m[s + i * rows + j] = beam_felt(m, own, i, t[e + E_HAT])
    return invert_in_place(m, s, rows)


def invert_in_place(m, s, n):
    """The inverse of a positive definite matrix, symmetric to the last bit. False where a pivot is not positive."""
    for k in range(n):
        pivot = m[s + k * n + k]
        if not pivot > 0.0:
            return False
        m[s + k * n + k] = 1.0
        for j in range(n):
            m[s + k * n + j] /= pivot
        for i in range(n):
            if i != k:
                left = m[s + i * n + k]
                m[s + i * n + k] = 0.0
                for j in range(n):
                    m[s + i * n + j] -= left * m[s + k * n + j]
    for i in range(n):
        for j in range(i):
            both = 0.5 * (m[s + i * n + j] + m[s + j * n + i])
            m[s + i * n + j], m[s + j * n + i] = both, both
    return True


def along_way(m, way, vector):
    size = 0.0
    for i in range(6):
        size += m[way + i] * m[vector + i]
    return size


# -- the beam after the solution --------------------------------------------------------------------------------------


def collect(m, t, e, vectors, stride, out):
    """What six numbers at each point say in its unknowns, one after the other."""
    for i in range(t[e + E_POINTS]):
        point = t[e + E_POINT_TABLE] + O_SIZE * i
        for j in range(t[point + O_ROWS]):
            m[out + t[point + O_ROW] + j] = along_way(
                m, t[point + O_WAYS] + 6 * j, vectors + stride * t[point + O_BODY]
            )


def pressed(m, t, e, i, v):
    """Row i of S times the numbers at v."""
    rows = t[e + E_ROWS]
    total, s = 0.0, t[e + E_IMPEDANCE] + i * rows
    for j in range(rows):
        total += m[s + j] * m[v + j]
    return total


def bend_beams(m, t, h):
    """HAT of each beam with the forces at its points, and V̂ of these as the beam has them."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        own, rows, n, used, hat = (
            after(t, t[e + E_TABLE]), t[e + E_ROWS], t[e + E_COORDINATES], t[e + E_USED], t[e + E_HAT],
        )  # fmt: skip
        apart = t[e + E_APART]
        collect(m, t, e, t[AT_FRAMES] + F_HAT, F_SIZE, apart)
        for i in range(rows):
            m[apart + i] -= m[t[e + E_LOOSE] + i]
        for i in range(rows):
            m[used + i] = pressed(m, t, e, i, apart)
        for j in range(rows):
            answer, force = t[e + E_ANSWERS] + j * n, m[used + j]
            for i in range(n):
                m[hat + i] += m[answer + i] * force
        beam_push(m, own)
        beam_brake(m, own, hat, t[e + E_MASS_HAT], t[e + E_DRAG_HAT], t[e + E_RATE])
        beam_move(m, own, h)
        for i in range(t[e + E_POINTS]):
            point = t[e + E_POINT_TABLE] + O_SIZE * i
            c = t[point + O_BODY]
            speed, right = t[AT_FRAMES] + c * F_SIZE + F_HAT, t[AT_RIGHT] + 6 * c
            take_twist(m, t, own, point, hat, speed)
            for j in range(6):
                m[right + j] = m[speed + j]


def take_twist(m, t, own, point, x, out):
    """E v of a point, from rates of the coordinates at x."""
    for j in range(6):
        m[out + j] = 0.0
    for i in range(t[point + O_ROWS]):
        v = beam_felt(m, own, t[point + O_ROW] + i, x)
        for j in range(6):
            m[out + j] += v * m[t[point + O_WAYS] + 6 * i + j]


def place_points(m, t, state):
    """Poses and velocities of all points, from the coordinates of their beams in the state at `state`."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        own, x, n = after(t, t[e + E_TABLE]), state + t[e + E_STATE], t[e + E_COORDINATES]
        for i in range(t[e + E_POINTS]):
            point = t[e + E_POINT_TABLE] + O_SIZE * i
            c = t[point + O_BODY]
            s = state + t[t[CARRIER_TABLE] + c * C_SIZE + C_STATE]
            take_twist(m, t, own, point, x, s + V)
            for j in range(3):
                m[s + X + j] = m[t[point + O_REST] + j] + m[s + V + j]
            spin_on(m, t[e + E_FIGURES], s + Q, m[s + W], m[s + W + 1], m[s + W + 2])
            take_twist(m, t, own, point, x + n, s + V)


def shift_beams(m, t, h, share):
    """NEXT of the beams with a share of what a repair displaces their points by, which stands in FREE."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        rows, n, apart = t[e + E_ROWS], t[e + E_COORDINATES], t[e + E_APART]
        old, new, hat = t[AT_STATE] + t[e + E_STATE], t[AT_NEXT] + t[e + E_STATE], t[e + E_HAT]
        collect(m, t, e, t[AT_FREE], 6, apart)
        for i in range(n):
            m[new + i] = m[old + i] + h * m[hat + i]
        for j in range(rows):
            force = share * pressed(m, t, e, j, apart)
            for i in range(n):
                m[new + i] += m[t[e + E_ANSWERS] + j * n + i] * force
    place_points(m, t, t[AT_NEXT])


# -- joules -----------------------------------------------------------------------------------------------------------


def difference_beams(m, t):
    """DIFFERENCE of the rows of motion, gravity and beams."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        own, step, rows = after(t, t[e + E_TABLE]), t[AT_STEP] + t[e + E_STATE], t[e + E_ROWS]
        ready_beam(m, t, e)
        beam_banded_difference(m, own)
        m[t[AT_DIFFERENCE] + KINETIC] += m[t[e + E_JOULES] + E_DIFFERENCE]
        m[t[AT_DIFFERENCE] + t[BEAM_ROW]] += m[t[e + E_JOULES] + E_DIFFERENCE + 1]
        m[t[AT_DIFFERENCE] + GRAVITY] -= weight(m, t, e) * beam_felt(m, own, rows, step)


def book_beams(m, t, h):
    """Loss, gravity, what passes between motion and bending, and what rounding of it may be worth; after
    `world_difference`, which leaves the strains of the step."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        own, rows, joules, used = after(t, t[e + E_TABLE]), t[e + E_ROWS], t[e + E_JOULES], t[e + E_USED]
        for i in range(E_CLEARED):
            m[joules + i] = 0.0
        for i in range(2 * (rows + 1)):
            m[t[e + E_MEAN] + i] = 0.0
        beam_book_step(m, own, h)
        beam_weigh_rounding(m, own, h)
        m[t[AT_LOST]] += m[joules + E_LOST]
        work = m[t[e + E_WORK] + rows]
        m[t[AT_RECEIVED] + KINETIC] += m[joules + E_RECEIVED] + work
        m[t[AT_RECEIVED] + t[BEAM_ROW]] += m[joules + E_RECEIVED + 1]
        m[t[AT_RECEIVED] + GRAVITY] -= work
        for i in range(rows):  # λ is known to the rounding of what it is the difference of
            size, s = 0.0, t[e + E_IMPEDANCE] + i * rows
            for j in range(rows):
                size += abs(m[s + j]) * (abs(m[t[e + E_MEAN] + j]) + h * abs(m[t[e + E_LOOSE] + j]))
            m[t[AT_SCALE] + KINETIC] += size * abs(m[t[e + E_MEAN] + i]) / h
        m[t[AT_SCALE] + KINETIC] += m[joules + E_SCALE] + abs(work)
        m[t[AT_SCALE] + t[BEAM_ROW]] += m[joules + E_SCALE + 1]
        way = beam_felt_sizes(m, own, rows, t[AT_STATE] + t[e + E_STATE])
        way += beam_felt_sizes(m, own, rows, t[AT_STEP] + t[e + E_STATE])
        m[t[AT_SCALE] + GRAVITY] += abs(m[used + rows]) * way


def energy_beams(m, t):
    """ENERGY of the rows of motion, gravity and beams at STATE."""
    for k in range(t[BEAMS]):
        e = entry_of(t, k)
        own, middle = after(t, t[e + E_TABLE]), t[e + E_FIGURES] + 4
        g, mass = t[AT_PARAM], m[t[AT_PARAM] + t[e + E_PARAM]]
        ready_beam(m, t, e)
        beam_banded_energy(m, own)
        m[t[AT_ENERGY] + KINETIC] += m[t[e + E_JOULES] + E_ENERGY]
        m[t[AT_ENERGY] + t[BEAM_ROW]] += m[t[e + E_JOULES] + E_ENERGY + 1]
        m[t[AT_ENERGY] + GRAVITY] -= weight(m, t, e) * beam_felt(m, own, t[e + E_ROWS], t[AT_STATE] + t[e + E_STATE])
        for i in range(3):
            m[t[AT_ENERGY] + GRAVITY] -= mass * m[g + i] * m[middle + i]


INLINE = (entry_of, along_way)
KERNELS = (
    ready_beam, weight, invert_in_place, lay_answers, pressed, collect, take_twist, place_points, begin_beams,
    bend_beams, shift_beams, difference_beams, book_beams, energy_beams,
)  # fmt: skip
