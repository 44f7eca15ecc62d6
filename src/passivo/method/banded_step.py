"""One step of `M x'' + B x' + K x = P f` with matrices as data (spec 4.1). Kernels; places are those of
`banded_table.py`.

    (2M/h + B + (h/2) K) v̂ = 2Mv/h − Kx + f,   x⁺ = x + h v̂,   v⁺ = 2v̂ − v,   ΔH = h f·v̂ − h v̂'Bv̂.

K is D'ED where the system states it so: then energies come from small strains Dx, not from large places, and what the
factors of the band leave of the equation is solved once more. Symplectic and implicit Euler are the same equation with
other shares of the step.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.kernel.tick import NOT_FINITE, OK, UNCONVERGED
    from passivo.method.banded import (
        band_sizes,
        band_times,
        dot,
        factorise,
        pull,
        pull_sizes,
        solve_band,
        strain,
    )
    from passivo.method.banded_table import *

SOLUTIONS = 2  # the second takes away what the first left by rounding
MADE = 6  # numbers that the factors hang on


def shares(t, h):
    """How much of the momentum, of the stretch over the step and of the damping is taken at its end."""
    if t[SCHEME] == MIDPOINT:
        return 2.0 / h, 0.5 * h, 1.0
    if t[SCHEME] == IMPLICIT:
        return 1.0 / h, h, 1.0
    return 1.0 / h, 0.0, 0.0


def vector(t, which):
    """Where a vector begins."""
    return t[AT_SOLVED] + which * t[ROOM]


def add_band(m, t, factor, matrix, band):
    """Add a matrix to the one that is factorised."""
    n, at, size = t[COORDINATES], t[AT_FACTORS], t[BAND] + 1
    for k in range(band + 1):
        for i in range(n - k):
            m[at + size * i + k] += factor * m[matrix + k * n + i]


def known_factors(m, t, h):
    """Whether there are factors for this step and these parameters."""
    known = m[t[AT_MADE]] == h
    for k in range(1, MADE):
        known = known and m[t[AT_MADE] + k] == m[t[AT_PARAM] + k - 1]
    return known


def make_factors(m, t, h):
    """Factorise; False where the matrix of the step is not positive definite."""
    made, p, (momentum, stretch, late) = t[AT_MADE], t[AT_PARAM], shares(t, h)
    for k in range((t[COORDINATES] + t[BAND]) * (t[BAND] + 1)):
        m[t[AT_FACTORS] + k] = 0.0
    add_band(m, t, (momentum + late * m[p + MASS_DAMPING]) * m[p + MASS], t[AT_MASS], t[MASS_BAND])
    add_band(m, t, (stretch + late * m[p + STIFFNESS_DAMPING]) * m[p + STIFFNESS], t[AT_STIFF], t[STIFF_BAND])
    add_band(m, t, late * m[p + DAMPING], t[AT_DAMPING], t[DAMPING_BAND])
    m[made] = 0.0
    if not factorise(m, t[AT_FACTORS], t[COORDINATES], t[BAND]):
        return False
    m[made] = h
    for k in range(1, MADE):
        m[made + k] = m[p + k - 1]
    return True


def push(m, t):
    """FORCE: P u."""
    force = vector(t, FORCE)
    for i in range(t[COORDINATES]):
        m[force + i] = 0.0
    for j in range(t[TAPPED]):
        for k in range(t[INPUTS]):
            place = j * t[INPUTS] + k
            m[force + t[t[TAP_TABLE] + place]] += m[t[AT_TAPS] + place] * m[t[AT_USED] + k]


def felt(m, t, k, x):
    """Component k of P'x."""
    y = 0.0
    for j in range(t[TAPPED]):
        place = j * t[INPUTS] + k
        y += m[t[AT_TAPS] + place] * m[x + t[t[TAP_TABLE] + place]]
    return y


def felt_sizes(m, t, k, x):
    """The sizes of the terms of component k of P'x."""
    y = 0.0
    for j in range(t[TAPPED]):
        place = j * t[INPUTS] + k
        y += abs(m[t[AT_TAPS] + place] * m[x + t[t[TAP_TABLE] + place]])
    return y


def load(m, t, h):
    """The right hand side: momentum, the pull of the strains, forces of ports, and where it acts early the damping."""
    n, p, (momentum, _, late) = t[COORDINATES], t[AT_PARAM], shares(t, h)
    v = t[AT_STATE] + n
    right, force, carried, sigma = vector(t, RIGHT), vector(t, FORCE), vector(t, MOMENTUM), vector(t, SIGMA)
    band_times(m, t[AT_MASS], n, t[MASS_BAND], m[p + MASS], v, carried)
    strain(m, t, t[AT_STATE], vector(t, STRAIN), vector(t, STRAIN_ROUGH))
    band_times(m, t[AT_ELASTIC], t[STRAINS], t[ELASTIC_BAND], m[p + STIFFNESS], vector(t, STRAIN), sigma)
    pulls = vector(t, PULLS)
    pull(m, t, sigma, pulls)
    push(m, t)
    for i in range(n):
        m[right + i] = (momentum * m[carried + i] - m[pulls + i]) + m[force + i]
    if late == 0.0:
        mass, drag, brakes = vector(t, MASS_HAT), vector(t, DRAG_HAT), vector(t, BRAKES)
        heavy, stiff = m[p + MASS_DAMPING], m[p + STIFFNESS_DAMPING]
        brake(m, t, v, mass, drag, vector(t, RATE))
        for i in range(n):
            m[right + i] -= heavy * m[mass + i] + m[drag + i] + stiff * m[brakes + i]


def brake(m, t, v, mass, drag, rate):
    """M v, B v, D v, E D v and D'E D v."""
    n, p = t[COORDINATES], t[AT_PARAM]
    band_times(m, t[AT_MASS], n, t[MASS_BAND], m[p + MASS], v, mass)
    if t[DAMPING_BAND] >= 0:
        band_times(m, t[AT_DAMPING], n, t[DAMPING_BAND], m[p + DAMPING], v, drag)
    strain(m, t, v, rate, vector(t, STRAINED_ROUGH))
    band_times(m, t[AT_ELASTIC], t[STRAINS], t[ELASTIC_BAND], m[p + STIFFNESS], rate, vector(t, TAU))
    pull(m, t, vector(t, TAU), vector(t, BRAKES))


def solve(m, t, h):
    """v̂, and with it what `brake` says of it."""
    n, p, (momentum, stretch, late) = t[COORDINATES], t[AT_PARAM], shares(t, h)
    hat, rest, right = vector(t, HAT), vector(t, REST), vector(t, RIGHT)
    mass, drag, brakes = vector(t, MASS_HAT), vector(t, DRAG_HAT), vector(t, BRAKES)
    heavy, stiff = momentum + late * m[p + MASS_DAMPING], stretch + late * m[p + STIFFNESS_DAMPING]
    for i in range(n):
        m[hat + i] = 0.0
        m[rest + i] = m[right + i]
    for i in range(n, n + t[BAND]):  # a step that failed may have left NaN there
        m[rest + i] = 0.0
    for k in range(SOLUTIONS):
        solve_band(m, t[AT_FACTORS], n, t[BAND], rest)
        for i in range(n):
            m[hat + i] += m[rest + i]
        brake(m, t, hat, mass, drag, vector(t, RATE))
        if k + 1 < SOLUTIONS:
            for i in range(n):
                m[rest + i] = (m[right + i] - heavy * m[mass + i]) - (late * m[drag + i] + stiff * m[brakes + i])


def move(m, t, h):
    """NEXT from v̂, and STEP: what was really added."""
    n, hat = t[COORDINATES], vector(t, HAT)
    x, new, step = t[AT_STATE], t[AT_NEXT], t[AT_STEP]
    last = 1.0 if t[SCHEME] == MIDPOINT else 0.0
    for i in range(n):
        m[new + i] = m[x + i] + h * m[hat + i]
    for i in range(n):
        m[new + n + i] = (1.0 + last) * m[hat + i] - last * m[x + n + i]
    for i in range(2 * n):
        m[step + i] = m[new + i] - m[x + i]


def change(m, t):
    """DIFFERENCE of both rows from STATE to NEXT over STEP; D x stands in STRAIN already."""
    n, p, v, r = t[COORDINATES], t[AT_PARAM], t[AT_STATE] + t[COORDINATES], t[STRAINS]
    spare, mean, quickened = vector(t, SPARE), vector(t, SPARE_TOO), t[AT_STEP] + n
    band_times(m, t[AT_MASS], n, t[MASS_BAND], m[p + MASS], quickened, spare)
    for i in range(n):
        m[mean + i] = m[v + i] + 0.5 * m[quickened + i]
    m[t[AT_DIFFERENCE] + KINETIC] = dot(m, n, mean, spare)
    strained, now = vector(t, STRAINED), vector(t, STRAIN)
    strain(m, t, t[AT_STEP], strained, vector(t, STRAINED_ROUGH))
    band_times(m, t[AT_ELASTIC], r, t[ELASTIC_BAND], m[p + STIFFNESS], strained, spare)
    for k in range(r):
        m[mean + k] = m[now + k] + 0.5 * m[strained + k]
    m[t[AT_DIFFERENCE] + ELASTIC] = dot(m, r, mean, spare)


def banded_difference(m, t):
    strain(m, t, t[AT_STATE], vector(t, STRAIN), vector(t, STRAIN_ROUGH))
    change(m, t)


def book_step(m, t, h):
    """Work at the ports, loss, and what passes from the motion into the strains."""
    n, r, p, (_, stretch, late) = t[COORDINATES], t[STRAINS], t[AT_PARAM], shares(t, h)
    hat, rate = vector(t, HAT), vector(t, RATE)
    lost = m[p + MASS_DAMPING] * dot(m, n, hat, vector(t, MASS_HAT))
    if t[DAMPING_BAND] >= 0:
        lost += dot(m, n, hat, vector(t, DRAG_HAT))
    lost += m[p + STIFFNESS_DAMPING] * dot(m, r, rate, vector(t, TAU))
    if late == 0.0:  # damping that acted with the velocity of the start
        v = t[AT_STATE] + n
        lost = m[p + MASS_DAMPING] * dot(m, n, v, vector(t, MASS_HAT))
        if t[DAMPING_BAND] >= 0:
            lost += dot(m, n, v, vector(t, DRAG_HAT))
        strain(m, t, v, vector(t, SPARE), vector(t, SPARE_TOO))
        lost += m[p + STIFFNESS_DAMPING] * dot(m, r, vector(t, SPARE), vector(t, TAU))
    m[t[AT_LOST]] += h * lost
    into = h * (dot(m, r, rate, vector(t, SIGMA)) + stretch * dot(m, r, rate, vector(t, TAU)))
    m[t[AT_RECEIVED] + KINETIC] -= into
    m[t[AT_RECEIVED] + ELASTIC] += into
    for k in range(t[INPUTS]):
        y = felt(m, t, k, hat)
        m[t[AT_MEAN] + k] += h * y
        m[t[AT_WORK] + k] += h * m[t[AT_USED] + k] * y


def weigh_rounding(m, t, h):
    """SCALE: the sizes of all terms that the joules of both rows, and the equation that they rest on, are made of."""
    n, r, p, (_, stretch, _) = t[COORDINATES], t[STRAINS], t[AT_PARAM], shares(t, h)
    hat, x, step, spare, other = vector(t, HAT), t[AT_STATE], t[AT_STEP], vector(t, SPARE), vector(t, SPARE_TOO)
    whole = 0.0
    for i in range(n):
        m[spare + i] = abs(m[x + n + i]) + abs(m[hat + i])
    band_sizes(m, t[AT_MASS], n, t[MASS_BAND], m[p + MASS], spare, other)
    for i in range(n):
        m[spare + i] = 2.0 * (abs(m[x + n + i]) + abs(m[step + n + i]) + abs(m[hat + i]))
    whole += dot(m, n, spare, other)
    if t[DAMPING_BAND] >= 0:
        for i in range(n):
            m[spare + i] = abs(m[hat + i]) + abs(m[x + n + i])
        band_sizes(m, t[AT_DAMPING], n, t[DAMPING_BAND], h * m[p + DAMPING], spare, other)
        whole += dot(m, n, spare, other)
    sigma, tau, stiff = vector(t, SIGMA), vector(t, TAU), stretch + m[p + STIFFNESS_DAMPING]
    for k in range(r):
        m[spare + k] = h * (abs(m[sigma + k]) + stiff * abs(m[tau + k]))
    pull_sizes(m, t, spare, other)
    for i in range(n):
        m[spare + i] = abs(m[hat + i])
    whole += dot(m, n, spare, other)
    force = vector(t, FORCE)
    for i in range(n):
        m[spare + i] = abs(m[hat + i]) * h
        m[other + i] = abs(m[force + i])
    m[t[AT_SCALE] + KINETIC] += whole + dot(m, n, spare, other)

    pulls, brakes = vector(t, PULLS), vector(t, BRAKES)
    for i in range(n):
        m[spare + i] = abs(m[x + i]) + abs(m[step + i])
        m[other + i] = abs(m[pulls + i] + stretch * m[brakes + i])
    whole = dot(m, n, spare, other)
    now, strained, rough = vector(t, STRAIN), vector(t, STRAINED), vector(t, STRAIN_ROUGH)
    for k in range(r):
        m[spare + k] = abs(m[strained + k])
    band_sizes(m, t[AT_ELASTIC], r, t[ELASTIC_BAND], m[p + STIFFNESS], spare, other)
    for k in range(r):
        m[spare + k] = abs(m[now + k]) + abs(m[strained + k]) + m[rough + k]
    whole += dot(m, r, spare, other)
    for k in range(r):
        m[spare + k] = abs(m[sigma + k] + stretch * m[tau + k])
    m[t[AT_SCALE] + ELASTIC] += whole + 2.0 * dot(m, r, spare, vector(t, STRAINED_ROUGH))


def see(m, t, h):
    """What is looked at, at the end of the step; times h, as all that is recorded."""
    for k in range(t[SIGHTS]):
        for j in range(t[SEEN]):
            place = j * t[SIGHTS] + k
            term = m[t[AT_SIGHTS] + place] * m[t[AT_NEXT] + t[t[SIGHT_TABLE] + place]]
            m[t[AT_RECORDED] + k] += h * term
            m[t[AT_NOISE] + k] += abs(term)


def banded_advance(m, t, h):
    """One step, booked into WORK, MEAN, LOST, RECEIVED, CHANGE and SCALE."""
    for k in range(t[INPUTS]):
        m[t[AT_USED] + k] = m[t[AT_INPUT] + k]
    if not known_factors(m, t, h) and not make_factors(m, t, h):
        return UNCONVERGED
    load(m, t, h)
    solve(m, t, h)
    move(m, t, h)
    book_step(m, t, h)
    change(m, t)
    weigh_rounding(m, t, h)
    for r in range(2):
        m[t[AT_CHANGE] + r] += m[t[AT_DIFFERENCE] + r]
        if not isfinite(m[t[AT_CHANGE] + r] + m[t[AT_SCALE] + r]):
            return NOT_FINITE
    see(m, t, h)
    x, new, n = t[AT_STATE], t[AT_NEXT], t[COORDINATES]
    for i in range(2 * n):
        m[x + i] = m[new + i]
    return OK


def banded_energy(m, t):
    """ENERGY of both rows at STATE."""
    n, p, v, spare = t[COORDINATES], t[AT_PARAM], t[AT_STATE] + t[COORDINATES], vector(t, SPARE)
    band_times(m, t[AT_MASS], n, t[MASS_BAND], m[p + MASS], v, spare)
    m[t[AT_ENERGY] + KINETIC] = 0.5 * dot(m, n, v, spare)
    strain(m, t, t[AT_STATE], vector(t, STRAIN), vector(t, STRAIN_ROUGH))
    band_times(m, t[AT_ELASTIC], t[STRAINS], t[ELASTIC_BAND], m[p + STIFFNESS], vector(t, STRAIN), spare)
    m[t[AT_ENERGY] + ELASTIC] = 0.5 * dot(m, t[STRAINS], vector(t, STRAIN), spare)


def banded_heights(m, t):
    """The least energy is 0."""
    banded_energy(m, t)
    m[t[AT_HEIGHT] + KINETIC] = m[t[AT_ENERGY] + KINETIC]
    m[t[AT_HEIGHT] + ELASTIC] = m[t[AT_ENERGY] + ELASTIC]


def banded_output(m, t):
    """P'v."""
    for k in range(t[INPUTS]):
        m[t[AT_OUTPUT] + k] = felt(m, t, k, t[AT_STATE] + t[COORDINATES])


INLINE = (shares, vector, felt, felt_sizes)
KERNELS = (
    add_band,
    known_factors,
    make_factors,
    push,
    brake,
    load,
    solve,
    move,
    change,
    book_step,
    weigh_rounding,
    see,
)
ENTRIES = (banded_energy, banded_advance, banded_difference, banded_heights, banded_output)
