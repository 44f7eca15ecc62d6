"""Solving the equation of a step (spec 2.7): chord Newton, full Newton, damped Newton. Kernels.

Unit-free: a correction δ counts against |x| + |Δx| of its own state. A solve ends when δ is below 1e-13 of that and one
more correction has been made, or when it stagnates at the rounding of the equation's own terms. Anything else is a
failure, and the caller halves the step.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.provided import *

CONVERGED = 1e-13
NEGLIGIBLE = 1e-17
CONTRACTION = 0.3
ROUNDING = 32.0 * 2.0**-52
STEEP = 1e-4  # beyond it a residual is no rounding, even where the equation amplifies that by 1e9
ITERATIONS = 25
DAMPED_ITERATIONS = 60


def average(m):
    """All averages, by the Gauss rule of the present level."""
    for i in range(AVERAGES):
        m[AVERAGE + i] = 0.0
    level = int(m[LEVEL])
    for q in range(LEVEL_START[level], LEVEL_START[level + 1]):
        sample(m, q)


def average_slopes(m):
    """Their slopes by the increments, by the same rule."""
    for i in range(AVERAGE_SLOPES):
        m[AVERAGE_SLOPE + i] = 0.0
    level = int(m[LEVEL])
    for q in range(LEVEL_START[level], LEVEL_START[level + 1]):
        sample_slopes(m, q)


def assess(m, h):
    """Increments and residual at the present unknowns."""
    expand(m, h)
    if AVERAGES > 0:
        average(m)
    residual(m, h)


def derive(m, h):
    """MATRIX at the unknowns that were evaluated last."""
    if AVERAGES > 0:
        average_slopes(m)
    jacobian(m, h)


def factor(m):
    """LU of MATRIX in place, partial pivoting, row swaps in PIVOT; False if singular."""
    for c in range(UNKNOWNS):
        best = c
        size = abs(m[MATRIX + c * UNKNOWNS + c])
        for r in range(c + 1, UNKNOWNS):
            other = abs(m[MATRIX + r * UNKNOWNS + c])
            if other > size:
                best = r
                size = other
        if not 0.0 < size < inf:
            return False
        m[PIVOT + c] = float(best)
        if best != c:
            for j in range(UNKNOWNS):
                swap = m[MATRIX + c * UNKNOWNS + j]
                m[MATRIX + c * UNKNOWNS + j] = m[MATRIX + best * UNKNOWNS + j]
                m[MATRIX + best * UNKNOWNS + j] = swap
        inverse = 1.0 / m[MATRIX + c * UNKNOWNS + c]
        m[MATRIX + c * UNKNOWNS + c] = inverse
        for r in range(c + 1, UNKNOWNS):
            ratio_ = m[MATRIX + r * UNKNOWNS + c] * inverse
            m[MATRIX + r * UNKNOWNS + c] = ratio_
            for j in range(c + 1, UNKNOWNS):
                m[MATRIX + r * UNKNOWNS + j] -= ratio_ * m[MATRIX + c * UNKNOWNS + j]
    return True


def correct(m):
    """CORRECTION = MATRIX⁻¹ RESIDUAL, with the factors of `factor`."""
    for i in range(UNKNOWNS):
        m[CORRECTION + i] = m[RESIDUAL + i]
    for i in range(UNKNOWNS):
        p = int(m[PIVOT + i])
        if p != i:
            swap = m[CORRECTION + i]
            m[CORRECTION + i] = m[CORRECTION + p]
            m[CORRECTION + p] = swap
        for j in range(i):
            m[CORRECTION + i] -= m[MATRIX + i * UNKNOWNS + j] * m[CORRECTION + j]
    for back in range(UNKNOWNS):
        i = UNKNOWNS - 1 - back
        for j in range(i + 1, UNKNOWNS):
            m[CORRECTION + i] -= m[MATRIX + i * UNKNOWNS + j] * m[CORRECTION + j]
        m[CORRECTION + i] *= m[MATRIX + i * UNKNOWNS + i]


def relative(m):
    """The largest correction, each against |x| + |Δx| of its own unknown: inf where one leaves 0, NaN where a
    correction is no finite number."""
    largest = 0.0
    for i in range(UNKNOWNS):
        size = abs(m[UNKNOWN + i])
        if i < SOLVED_COUNT:
            size += abs(m[STATE + SOLVED[i]])
        delta = abs(m[CORRECTION + i])
        if not delta < inf:
            return nan
        if delta > 0.0:
            part = delta / size if size > 0.0 else inf
            if not part <= largest:
                largest = part
    return largest


def apply(m, share):
    for i in range(UNKNOWNS):
        m[UNKNOWN + i] -= share * m[CORRECTION + i]


def at_rounding(m, h):
    """Whether the residual is no more than rounding of the terms it is summed from; its size, not that of the
    correction, is compared: these have other units, and a steep equation would take anything for rounding."""
    magnitude(m, h)
    for i in range(UNKNOWNS):
        if not (abs(m[RESIDUAL + i]) <= ROUNDING * m[MAGNITUDE + i] and m[MAGNITUDE + i] < inf):
            return False
    return True


def settled(m, h):
    """Whether the residual is small too: where the equation is steep, a small correction alone proves nothing."""
    small = SOLVED_COUNT == UNKNOWNS
    for i in range(SOLVED_COUNT):
        size = abs(m[STATE + SOLVED[i]]) + abs(m[UNKNOWN + i])
        if not abs(m[RESIDUAL + i]) <= STEEP * size:
            small = False
    if small:
        return True
    magnitude(m, h)
    for i in range(UNKNOWNS):
        if not abs(m[RESIDUAL + i]) <= STEEP * m[MAGNITUDE + i] < inf:
            return False
    return True


def chord(m, h):
    """Newton whose matrix is kept while corrections shrink by 0.3 or better; True if converged.

    An unknown that leaves 0 has no size to shrink against: the next correction counts as the first one again. Where
    springs are slack at rest, each correction moves the next unknown down the chain, and so on to its end.
    """
    fresh = False
    last = inf
    polish = False
    stalls = 0
    for _ in range(ITERATIONS + UNKNOWNS):
        assess(m, h)
        m[ITERATION] += 1.0
        refactored = not fresh
        if not fresh:
            derive(m, h)
            if not factor(m):
                return False
            fresh = True
        correct(m)
        size = relative(m)
        if size != size:
            return False
        if size == inf:
            rounding = at_rounding(m, h)
            apply(m, 1.0)
            if rounding:
                return True
            fresh = False
            polish = False
            last = inf
            continue
        apply(m, 1.0)
        if polish and settled(m, h):
            return True
        contraction = size / last if 0.0 < last < inf else 1.0
        if size <= CONVERGED:
            if size * contraction <= NEGLIGIBLE and settled(m, h):
                return True
            polish = True
        elif last < inf and contraction > CONTRACTION:
            if refactored and contraction > 0.9:
                stalls += 1
                if at_rounding(m, h):
                    return True
                if stalls > 2:
                    return False
            fresh = False
        last = size
    return False


def damped(m, h):
    """Full Newton that shortens a step until the next correction would be smaller; True if converged."""
    for _ in range(DAMPED_ITERATIONS):
        assess(m, h)
        m[ITERATION] += 1.0
        derive(m, h)
        if not factor(m):
            return False
        correct(m)
        size = relative(m)
        if size <= CONVERGED or (size < 1e300 and at_rounding(m, h)):
            apply(m, 1.0)
            assess(m, h)
            correct(m)
            if not relative(m) <= 1e3 * CONVERGED and not at_rounding(m, h):
                return False
            apply(m, 1.0)
            return settled(m, h)
        for i in range(UNKNOWNS):
            m[TRIAL + i] = m[UNKNOWN + i]
            m[DIRECTION + i] = m[CORRECTION + i]
        share = 1.0
        accepted = False
        while share > 1e-4:
            for i in range(UNKNOWNS):
                m[UNKNOWN + i] = m[TRIAL + i] - share * m[DIRECTION + i]
            assess(m, h)
            correct(m)
            if relative(m) <= (1.0 - 0.25 * share) * size:  # both inf: another unknown leaves 0
                accepted = True
                break
            share *= 0.5
        if not accepted:
            return False
    return False


def predict(m, h):
    """Explicit Euler for the solved states."""
    for i in range(UNKNOWNS):
        m[UNKNOWN + i] = 0.0
    assess(m, h)
    for i in range(SOLVED_COUNT):
        m[UNKNOWN + i] = -m[RESIDUAL + i]


def enough_nodes(m, h):
    """Whether |Σ ḡ_j·d_j − ΔH| is rounding (spec 2.2), or no longer shrinks with more nodes and is next to rounding."""
    expand(m, h)
    average(m)
    gather(m, h)
    gap = 0.0
    size = 0.0
    for i in range(STATES):
        m[NEXT + i] = m[STATE + i] + m[STEP + i]
        for s in range(PATH_STAGES):
            d = m[INCREMENTS + s * STATES + i]
            g = m[GRADIENTS + s * STATES + i]
            gap += g * d
            size += (PATH_WEIGHTS[s] * abs(m[STATE + i]) + abs(d)) * abs(g)
    difference(m)
    for r in range(ROWS):
        gap -= m[DIFFERENCE + r]
    last = m[GAP]
    m[GAP] = abs(gap)
    return abs(gap) <= 4.0 * EPSILON * size or (abs(gap) > 0.5 * last and abs(gap) <= CONVERGED * size)


def solve(m, h):
    """Find the increments of one step of size h; OK or UNCONVERGED."""
    m[ITERATION] = 0.0
    m[LEVEL] = 0.0
    m[GAP] = inf
    if UNKNOWNS == 0:
        expand(m, h)
        return OK
    predict(m, h)
    while True:
        if not chord(m, h):
            for i in range(UNKNOWNS):
                m[UNKNOWN + i] = 0.0
            if not damped(m, h):
                largest = 0.0
                for i in range(UNKNOWNS):
                    if not abs(m[RESIDUAL + i]) <= largest:
                        largest = abs(m[RESIDUAL + i])
                m[DEFECT] = largest
                return UNCONVERGED
        if not ADAPTIVE or enough_nodes(m, h):
            break
        if m[LEVEL] + 1.0 >= LEVELS:
            m[DEFECT] = inf
            return UNCONVERGED
        m[LEVEL] += 1.0
    expand(m, h)
    if AVERAGES > 0 and not ADAPTIVE:
        average(m)
    return OK


KERNELS = (
    average,
    average_slopes,
    assess,
    derive,
    factor,
    correct,
    relative,
    apply,
    at_rounding,
    settled,
    chord,
    damped,
    predict,
    enough_nodes,
    solve,
)
