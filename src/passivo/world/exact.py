"""Impulses at contacts from an exact solver, in place of the sweeps of `contacts.py` (spec 4.5). Kernels.

All contacts that touch are one dense problem: u = G p + q for every contact, with c in q, and

    0 <= p_n  ⊥  u_n >= 0,    |p_t| <= mu p_n,    mu p_n γ + p_t·u_t = 0,    γ = max over directions d of −d·u_t

with all directions of the circle (`interior.py`), or the few of a pyramid (`lemke.py`). It is solved in units in which
D_nn and the largest q are 1. Whatever a solver says of its success, what it found is put into these conditions by
`residual`, and a step whose impulses do not fulfil them is refused.
"""

from __future__ import annotations

from math import cos, isfinite, pi, sin, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.tick import OK, OVERCROWDED, UNSOLVED
    from passivo.world.collide import touch_size
    from passivo.world.contacts import answer, answer_all, lay_column, room, slip
    from passivo.world.table import *

    def solve_exact(m, t, n, enough): ...


SOLVED = 1e-9  # of the largest velocity: what a solution may miss its conditions by
FLOOR = 1e-8  # m/s that it may miss them by: of what rests the largest velocity is g h/2, and c, which no motion fits
# at all corners of a face, is known to less
LOOSEST = 1e-3  # of the largest velocity, however small that is
PI = pi

# of the problem in the memory: per contact its place, its friction, its unit; q, p, u; then G, then room for the solver
E_PLACE = 0
E_MU = 1
E_UNIT = 2
E_Q = 3
E_P = 6
E_U = 9
E_GRAM = 12


def exact_size(n):
    """Numbers that the problem of n contacts takes."""
    return n * E_GRAM + 9 * n * n


def exact_part(t, n, what):
    """Where a part of the problem of n contacts begins."""
    return t[AT_EXACT] + n * what


def impulses(m, t, h, count):
    """Impulses of all contacts. What closes a gap in this step is added, and all solved again. OK, or why not."""
    tally = t[AT_TALLY]
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for i in range(3):
            m[at + K_P + i] = 0.0
        m[at + K_STICKS] = 0.0
    answer_all(m, t, count)
    while True:
        n = list_contacts(m, t, h, count)
        if n > t[MOST_EXACT]:
            return OVERCROWDED
        if n == 0:
            return OK
        fastest = lay_problem(m, t, n)
        if fastest > 0.0:
            enough = allowed(m, t, n, fastest)
            m[tally + N_SWEEPS] += solve_exact(m, t, n, enough)
            m[tally + N_SETTLED] = 1.0
            wrong = residual(m, t, n)
            m[t[AT_DEFECT]] = wrong
            if not isfinite(wrong) or wrong > enough:
                return UNSOLVED
        take_over(m, t, n, fastest)
        answer_all(m, t, count)
        if not closing(m, t, h, count):
            return OK


def closing(m, t, h, count):
    """Whether a contact that does not count yet would pass its gap; all such count from now on."""
    found = False
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_ARMED] == 0.0 and slip(m, at, t[AT_RIGHT], 0) + m[at + K_GAP] / h < 0.0:
            m[at + K_ARMED] = 1.0
            lay_column(m, t, h, at)
            found = True
    return found


def list_contacts(m, t, h, count):
    """The contacts that count, listed in the problem; how many."""
    closing(m, t, h, count)
    n = 0
    for k in range(count):
        if m[t[AT_TOUCHES] + k * touch_size(t) + K_ARMED] > 0.0:
            n += 1
    if n > t[MOST_EXACT]:
        return n
    i, place = 0, exact_part(t, n, E_PLACE)
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        if m[at + K_ARMED] > 0.0:
            m[place + i] = float(at)
            i += 1
    return n


def lay_problem(m, t, n):
    """G, q and mu of the contacts listed, in their units; returns the largest q, by which q is divided."""
    g, vector = exact_part(t, n, E_GRAM), room(t, V_ANSWER)
    place, unit, q = exact_part(t, n, E_PLACE), exact_part(t, n, E_UNIT), exact_part(t, n, E_Q)
    for j in range(n):
        at = int(m[place + j])
        m[exact_part(t, n, E_MU) + j] = m[at + K_MU]
        for d in range(3):
            for i in range(6 * t[BODIES]):
                m[vector + i] = 0.0
            answer(m, t, at, vector, 1.0 if d == 0 else 0.0, 1.0 if d == 1 else 0.0, 1.0 if d == 2 else 0.0)
            for i in range(n):
                for r in range(3):
                    m[g + (3 * i + r) * 3 * n + 3 * j + d] = slip(m, int(m[place + i]), vector, r)
        m[unit + j] = 1.0 / sqrt(m[g + (3 * j) * 3 * n + 3 * j])
    fastest = 0.0
    for i in range(n):
        at = int(m[place + i])
        for r in range(3):
            u = slip(m, at, t[AT_FREE], r) + (m[at + K_BOUNCE] if r == 0 else 0.0)
            m[q + 3 * i + r] = u * m[unit + i]
            fastest = max(fastest, abs(m[q + 3 * i + r]))
            m[exact_part(t, n, E_P) + 3 * i + r] = 0.0
            for j in range(3 * n):
                m[g + (3 * i + r) * 3 * n + j] *= m[unit + i] * m[unit + j // 3]
    if fastest > 0.0:
        for i in range(3 * n):
            m[q + i] /= fastest
    return fastest


def allowed(m, t, n, fastest):
    """What a solution may miss its conditions by, in the unit of velocities."""
    unit = m[exact_part(t, n, E_UNIT)]
    for i in range(1, n):
        unit = min(unit, m[exact_part(t, n, E_UNIT) + i])
    return max(SOLVED, min(LOOSEST, FLOOR * unit / fastest))


def take_over(m, t, n, fastest):
    """The impulses of the solution into the contacts."""
    p, mu = exact_part(t, n, E_P), exact_part(t, n, E_MU)
    for i in range(n):
        at = int(m[exact_part(t, n, E_PLACE) + i])
        for r in range(3):
            m[at + K_P + r] = fastest * m[exact_part(t, n, E_UNIT) + i] * m[p + 3 * i + r]
        slack = m[mu + i] * m[p + 3 * i] - pull_of(m, t, p + 3 * i)
        m[at + K_STICKS] = 1.0 if slack > slip_of(m, t, exact_part(t, n, E_U) + 3 * i) else 0.0


def slip_of(m, t, u):
    """γ: the speed along the surface, of a pyramid that against its fastest direction."""
    k = t[DIRECTIONS]
    if k == 0:
        return sqrt(m[u + 1] * m[u + 1] + m[u + 2] * m[u + 2])
    most = 0.0
    for j in range(k):
        angle = 2.0 * PI * j / k
        most = max(most, -cos(angle) * m[u + 1] - sin(angle) * m[u + 2])
    return most


def pull_of(m, t, p):
    """How much of mu p_n an impulse along the surface needs: its length, of a pyramid that in its directions."""
    k = t[DIRECTIONS]
    if k == 0:
        return sqrt(m[p + 1] * m[p + 1] + m[p + 2] * m[p + 2])
    most = 0.0
    for j in range(k):
        angle = 2.0 * PI * (j + 0.5) / k
        most = max(most, (cos(angle) * m[p + 1] + sin(angle) * m[p + 2]) / cos(PI / k))
    return most


def residual(m, t, n):
    """By how much the impulses miss their conditions, in the unit of velocities; u from p anew.

    A condition "this or that is 0" is missed by the smaller one, in units in which D_nn is 1.
    """
    g, q = exact_part(t, n, E_GRAM), exact_part(t, n, E_Q)
    p, u = exact_part(t, n, E_P), exact_part(t, n, E_U)
    for i in range(3 * n):
        m[u + i] = m[q + i]
        for j in range(3 * n):
            m[u + i] += m[g + 3 * n * i + j] * m[p + j]
    worst = 0.0
    for i in range(n):
        x, y, z = p + 3 * i, p + 3 * i + 1, p + 3 * i + 2
        held = m[exact_part(t, n, E_MU) + i] * m[x]
        speed = slip_of(m, t, u + 3 * i)
        gap = abs(held * speed + m[y] * m[u + 3 * i + 1] + m[z] * m[u + 3 * i + 2])
        worst = max(worst, abs(min(m[x], m[u + 3 * i])), pull_of(m, t, x) - held)
        if gap > 0.0:
            worst = max(worst, gap / max(held, speed))
        if not isfinite(gap + m[x] + m[u + 3 * i]):
            return gap + m[x] + m[u + 3 * i]
    return worst


def scatter(s, i):
    """A number from 0 to 1 for each place i of a try s, without a pattern."""
    return (43758.5453 * sin(12.9898 * (i + 1) + 78.233 * s)) % 1.0


INLINE = (exact_size, exact_part)
KERNELS = (scatter, closing, list_contacts, allowed, slip_of, pull_of, residual, lay_problem, take_over, impulses)
