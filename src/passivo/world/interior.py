"""An interior-point method for the contacts of a step, friction in the circular cone (spec 4.5). Kernels.

Of each contact, with the slack w = G p + q and γ that stands for the speed along the surface,

    p_n w_n = τ,    mu p_n γ + p_t·w_t = 2τ,    mu p_n w_t + γ p_t = 0

with p_n, w_n > 0 and (mu p_n, p_t), (γ, w_t) inside the cone |y| < x, is Coulomb's law where τ = 0: friction opposes
the slip of the step. It is no cone complementarity of (p_n, p_t) and (w_n, w_t), by which what slides would lift off so
far that friction loses nothing. Newton's method follows τ down, first foretelling how far it gets. The problem is not
monotone, so it may come to a halt on the way: then it starts elsewhere, and `exact.residual` has the last word.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.exact import E_GRAM, E_MU, E_P, E_Q, E_U, SOLVED, exact_part, exact_size, residual, scatter
    from passivo.world.table import *

MOST_TOUCHES = 32  # contacts
SOFT = (
    1e-6  # of D_nn, in Newton's slope alone: redundant contacts leave it regular. Less of it, and as much of τ, where
)
SOFTENING = 0.01  # impulses have a long way to go among contacts that no motion fits
SOFTEST = 1e-13
FIRMEST = 1e-6  # the same in the steps that refine, first
SOFTER = 0.01
FIRMS = 3
ITERATIONS = 50
STARTS = 8
NUDGE = 1e-4  # of the largest velocity
SETTLES = 1e-4  # of SOLVED: then it has arrived
SHORT = 0.1  # after steps shorter than this it first goes back to the middle, where the way is free
MIDDLE = 0.8
BOUND = 0.99  # share of the way to the border
REFINES = 20  # steps of Newton's method for the law itself, with each of these
LEAST_SHARE = 1e-6  # by which a step may lower τ
FAR = 1e9

# beside the problem, per contact: p, w, γ; a step of p and γ, and of w, twice; what w misses; a right hand side, pivots
I_P = 0
I_W = 3
I_GAMMA = 6
I_STEP = 7
I_FIRST = 14
I_MISS = 21
I_RIGHT = 24
I_ORDER = 28
I_Q = 32
I_BEST = 33
I_SIZE = 36


def solver_size(n, k):
    """Numbers that it needs beside the problem of n contacts."""
    return n * I_SIZE + 16 * n * n


def inner(t, n, what):
    """Where a part of its numbers begins."""
    return t[AT_EXACT] + exact_size(n) + n * what


def solve_exact(m, t, n, enough):
    """Impulses of the problem. Returns the number of iterations.

    Of starts after the first the problem is a little another one, in which a motion of its own at each contact makes
    clear which of them bear nothing; from its solution that of the problem itself is near, or another try is made.
    """
    q, kept, p, best_p = exact_part(t, n, E_Q), inner(t, n, I_Q), exact_part(t, n, E_P), inner(t, n, I_BEST)
    for i in range(n):
        m[kept + i] = m[q + 3 * i]
    done, best = 0, -1.0
    for s in range(STARTS):
        for i in range(n):
            m[q + 3 * i] += nudge(s, i)
        done += descend(m, t, n, 1.0 if s % 3 == 0 else (10.0 if s % 3 == 1 else 0.1))
        for i in range(n):
            m[q + 3 * i] = m[kept + i]
        done += refine(m, t, n)
        now = residual(m, t, n)
        if best < 0.0 or now < best:
            best = now
            for i in range(3 * n):
                m[best_p + i] = m[p + i]
        if best <= enough:
            break
    for i in range(3 * n):
        m[p + i] = m[best_p + i]
    return done


def nudge(s, i):
    """How much faster a contact opens in a start: nothing in the first, then up to NUDGE, without a pattern."""
    return 0.0 if s == 0 else NUDGE * scatter(s, i)


def descend(m, t, n, out):
    """From a start that lies so far inside. Returns the number of iterations."""
    place_inside(m, t, n, out)
    last, before = 1.0, FAR
    for done in range(ITERATIONS):
        miss(m, t, n)
        snap(m, t, n)
        now = residual(m, t, n)
        if now <= SETTLES * SOLVED or (now <= 0.1 * SOLVED and now >= 0.5 * before) or not isfinite(now):
            return done
        before = now
        tau = middle(m, t, n, I_FIRST, 0.0)
        soft = min(SOFT, max(SOFTEST, tau * SOFTENING))
        lay_slope(m, t, n, soft)
        factor_slope(m, t, n)
        lay_right(m, t, n, 0.0, 0.0)
        find_step(m, t, n, I_FIRST, soft)
        reach = min(1.0, way(m, t, n, I_FIRST))
        share = (middle(m, t, n, I_FIRST, reach) / tau) ** 3
        share = max(MIDDLE if last < SHORT else LEAST_SHARE, min(1.0, share))
        lay_right(m, t, n, share * tau, 1.0 if reach > SHORT else 0.0)
        find_step(m, t, n, I_STEP, soft)
        last = min(1.0, BOUND * way(m, t, n, I_STEP))
        for i in range(3 * n):
            m[inner(t, n, I_P) + i] += last * m[inner(t, n, I_STEP) + i]
            m[inner(t, n, I_W) + i] += last * m[inner(t, n, I_STEP + 4) + i]
        for i in range(n):
            m[inner(t, n, I_GAMMA) + i] += last * m[inner(t, n, I_STEP + 3) + i]
    miss(m, t, n)
    snap(m, t, n)
    return ITERATIONS


def refine(m, t, n):
    """Newton's method for the law itself, p = the projection of p − u into the cone of mu p_n, from the end of the way.

    Where a contact has neither impulse nor slack, or sticks with all that friction can hold, the products of the way
    go down with τ, and what is sought only with its root: there this ends what that cannot. And where no motion fits
    all contacts, impulses move the farther in a step the less of D_nn is added: several are tried. Returns the number
    of iterations; the best impulses stay.
    """
    p, kept = exact_part(t, n, E_P), inner(t, n, I_P)
    first = kept + 3 * n  # the slacks are not needed any more
    best, firm, done = residual(m, t, n), FIRMEST, 0
    for i in range(3 * n):
        m[kept + i] = m[first + i] = m[p + i]
    for _ in range(FIRMS):
        now = best
        for _ in range(REFINES):
            if best <= 0.01 * SOLVED or not isfinite(now):
                break
            lay_kinks(m, t, n, firm)
            factor_slope(m, t, n)
            find_step(m, t, n, I_STEP, 0.0)
            for i in range(n):
                for r in range(3):
                    m[p + 3 * i + r] += m[inner(t, n, I_STEP) + 3 * i + r]
                into_own_cone(m, p + 3 * i, m[exact_part(t, n, E_MU) + i])
            done += 1
            now = residual(m, t, n)
            if now < best:
                best = now
                for i in range(3 * n):
                    m[kept + i] = m[p + i]
        for i in range(3 * n):
            m[p + i] = m[first + i]
        residual(m, t, n)  # u again
        firm *= SOFTER
    for i in range(3 * n):
        m[p + i] = m[kept + i]
    return done


def into_own_cone(m, p, mu):
    """No pull, and no more along the surface than friction holds."""
    m[p] = max(0.0, m[p])
    size = sqrt(m[p + 1] * m[p + 1] + m[p + 2] * m[p + 2])
    if size > mu * m[p]:
        m[p + 1] *= mu * m[p] / size
        m[p + 2] *= mu * m[p] / size


def lay_kinks(m, t, n, firm):
    """The matrix and right hand side of that step: whether each contact is open, sticks or slides where it stands now.
    u is what `residual` left."""
    g, matrix, wide, right = exact_part(t, n, E_GRAM), inner(t, n, I_SIZE), 4 * n, inner(t, n, I_RIGHT)
    for i in range(wide * wide):
        m[matrix + i] = 0.0
    for i in range(n):
        p, u, mu, k = exact_part(t, n, E_P) + 3 * i, exact_part(t, n, E_U) + 3 * i, m[exact_part(t, n, E_MU) + i], 3 * i
        m[matrix + (wide + 1) * (3 * n + i)], m[right + 3 * n + i] = 1.0, 0.0  # γ has no part in it
        y, z = m[p + 1] - m[u + 1], m[p + 2] - m[u + 2]
        size, most = sqrt(y * y + z * z), mu * m[p]
        closed, slides = m[p] > m[u], size > most
        for r in range(3):
            row = matrix + wide * (k + r)
            if not closed or (r > 0 and slides and most == 0.0):
                m[row + k + r], m[right + k + r] = 1.0, -m[p + r]
                continue
            if r == 0 or not slides:
                for j in range(3 * n):
                    m[row + j] = m[g + 3 * n * (k + r) + j]
                m[row + k + r] += firm
                m[right + k + r] = -m[u + r]
                continue
            m[row + k + r] = 1.0
            along = y / size if r == 1 else z / size
            m[row + k] -= mu * along
            m[right + k + r] = most * along - m[p + r]
            for s in range(1, 3):  # how the way of friction turns with p_t − u_t
                turned = most / size * ((1.0 if r == s else 0.0) - along * (y if s == 1 else z) / size)
                m[row + k + s] -= turned
                for j in range(3 * n):
                    m[row + j] += turned * m[g + 3 * n * (k + s) + j]


def place_inside(m, t, n, out):
    """p along the normals, slacks that are those of it where they can be, and all of it inside."""
    p, w, missed = inner(t, n, I_P), inner(t, n, I_W), inner(t, n, I_MISS)
    for i in range(3 * n):
        m[p + i] = out if i % 3 == 0 else 0.0
        m[w + i] = 0.0
    miss(m, t, n)
    for i in range(n):
        y, z = m[missed + 3 * i + 1], m[missed + 3 * i + 2]
        m[w + 3 * i], m[w + 3 * i + 1], m[w + 3 * i + 2] = max(m[missed + 3 * i], out), y, z
        m[inner(t, n, I_GAMMA) + i] = sqrt(y * y + z * z) + out


def miss(m, t, n):
    """G p + q − w."""
    g, q = exact_part(t, n, E_GRAM), exact_part(t, n, E_Q)
    p, w, missed = inner(t, n, I_P), inner(t, n, I_W), inner(t, n, I_MISS)
    for i in range(3 * n):
        m[missed + i] = m[q + i] - m[w + i]
        for j in range(3 * n):
            m[missed + i] += m[g + 3 * n * i + j] * m[p + j]


def snap(m, t, n):
    """The impulses as they will be at the end of the way: none where there is more slack than impulse."""
    target, p, w = exact_part(t, n, E_P), inner(t, n, I_P), inner(t, n, I_W)
    for i in range(3 * n):
        k = 3 * (i // 3)
        m[target + i] = m[p + i] if m[p + k] >= m[w + k] else 0.0


def middle(m, t, n, step, share):
    """The mean of all products, that is τ, a share of a step ahead."""
    total, terms = 0.0, 0
    for i in range(n):
        p, w, gamma = inner(t, n, I_P) + 3 * i, inner(t, n, I_W) + 3 * i, inner(t, n, I_GAMMA) + i
        dp, dw, ahead = inner(t, n, step) + 3 * i, inner(t, n, step + 4) + 3 * i, inner(t, n, step + 3) + i
        mu, normal = m[exact_part(t, n, E_MU) + i], m[p] + share * m[dp]
        total += normal * (m[w] + share * m[dw])
        terms += 1
        if mu > 0.0:
            along = mu * normal * (m[gamma] + share * m[ahead])
            for r in range(1, 3):
                along += (m[p + r] + share * m[dp + r]) * (m[w + r] + share * m[dw + r])
            total += 0.5 * along
            terms += 1
    return total / terms


def lay_slope(m, t, n, soft):
    """Newton's matrix: of each contact the rows of p_n w_n and mu p_n w_t + γ p_t; last those of mu p_n γ + p_t·w_t."""
    g, matrix, wide = exact_part(t, n, E_GRAM), inner(t, n, I_SIZE), 4 * n
    for i in range(wide * wide):
        m[matrix + i] = 0.0
    for i in range(n):
        p, w, mu = inner(t, n, I_P) + 3 * i, inner(t, n, I_W) + 3 * i, m[exact_part(t, n, E_MU) + i]
        gamma, k = m[inner(t, n, I_GAMMA) + i], 3 * i
        row, last = matrix + wide * k, matrix + wide * (3 * n + i)
        for j in range(3 * n):
            m[row + j] = m[p] * softened(m, g, n, k, j, soft)
        m[row + k] += m[w]
        if mu == 0.0:
            m[row + wide + k + 1], m[row + 2 * wide + k + 2], m[last + 3 * n + i] = 1.0, 1.0, 1.0
            continue
        for r in range(1, 3):
            row += wide
            for j in range(3 * n):
                slope = softened(m, g, n, k + r, j, soft)
                m[row + j] = mu * m[p] * slope
                m[last + j] += m[p + r] * slope
            m[row + k] += mu * m[w + r]
            m[row + k + r] += gamma
            m[row + 3 * n + i] = m[p + r]
            m[last + k + r] += m[w + r]
        m[last + k] += mu * gamma
        m[last + 3 * n + i] = mu * m[p]


def softened(m, g, n, i, j, soft):
    return m[g + 3 * n * i + j] + (soft if i == j else 0.0)


def lay_right(m, t, n, tau, bent):
    """What the products lack to τ, less `bent` times what the step that foretells bends them by."""
    right = inner(t, n, I_RIGHT)
    for i in range(n):
        p, w, mu = inner(t, n, I_P) + 3 * i, inner(t, n, I_W) + 3 * i, m[exact_part(t, n, E_MU) + i]
        dp, dw, missed = inner(t, n, I_FIRST) + 3 * i, inner(t, n, I_FIRST + 4) + 3 * i, inner(t, n, I_MISS) + 3 * i
        gamma, ahead, last = m[inner(t, n, I_GAMMA) + i], m[inner(t, n, I_FIRST + 3) + i], 0.0
        row = right + 3 * i
        m[row] = tau - m[p] * (m[w] + m[missed]) - (bent * m[dp] * m[dw] if bent > 0.0 else 0.0)
        for r in range(1, 3):
            if mu == 0.0:
                m[row + r] = -m[p + r]
                continue
            m[row + r] = -mu * m[p] * (m[w + r] + m[missed + r]) - gamma * m[p + r]
            last -= m[p + r] * (m[w + r] + m[missed + r])
            if bent > 0.0:
                m[row + r] -= bent * (mu * m[dp] * m[dw + r] + ahead * m[dp + r])
                last -= bent * m[dp + r] * m[dw + r]
        if mu > 0.0:
            last += 2.0 * tau - mu * m[p] * gamma - (bent * mu * m[dp] * ahead if bent > 0.0 else 0.0)
        m[right + 3 * n + i] = last


def factor_slope(m, t, n):
    """LU of the matrix in place, rows exchanged for the largest pivot."""
    matrix, order, wide = inner(t, n, I_SIZE), inner(t, n, I_ORDER), 4 * n
    for k in range(wide):
        best = k
        for i in range(k + 1, wide):
            if abs(m[matrix + wide * i + k]) > abs(m[matrix + wide * best + k]):
                best = i
        m[order + k] = float(best)
        if best != k:
            for j in range(wide):
                a, b = matrix + wide * k + j, matrix + wide * best + j
                m[a], m[b] = m[b], m[a]
        for i in range(k + 1, wide):
            left = m[matrix + wide * i + k] / m[matrix + wide * k + k]
            m[matrix + wide * i + k] = left
            if left != 0.0:
                for j in range(k + 1, wide):
                    m[matrix + wide * i + j] -= left * m[matrix + wide * k + j]


def find_step(m, t, n, step, soft):
    """A step of p and γ from the right hand side, and of w."""
    matrix, order, wide = inner(t, n, I_SIZE), inner(t, n, I_ORDER), 4 * n
    g, x, right = exact_part(t, n, E_GRAM), inner(t, n, step), inner(t, n, I_RIGHT)
    for i in range(wide):
        m[x + i] = m[right + i]
    for k in range(wide):
        best = int(m[order + k])
        m[x + k], m[x + best] = m[x + best], m[x + k]
    for i in range(wide):
        for k in range(i):
            m[x + i] -= m[matrix + wide * i + k] * m[x + k]
    for i in range(wide - 1, -1, -1):
        for k in range(i + 1, wide):
            m[x + i] -= m[matrix + wide * i + k] * m[x + k]
        m[x + i] /= m[matrix + wide * i + i]
    for i in range(3 * n):
        slack = m[inner(t, n, I_MISS) + i]
        for j in range(3 * n):
            slack += softened(m, g, n, i, j, soft) * m[x + j]
        m[x + wide + i] = slack


def way(m, t, n, step):
    """How many of these steps lead to the border."""
    far = FAR
    for i in range(n):
        p, w, gamma = inner(t, n, I_P) + 3 * i, inner(t, n, I_W) + 3 * i, m[inner(t, n, I_GAMMA) + i]
        dp, dw, ahead = inner(t, n, step) + 3 * i, inner(t, n, step + 4) + 3 * i, m[inner(t, n, step + 3) + i]
        mu = m[exact_part(t, n, E_MU) + i]
        if m[dp] < 0.0:
            far = min(far, -m[p] / m[dp])
        if m[dw] < 0.0:
            far = min(far, -m[w] / m[dw])
        if mu > 0.0:
            far = min(far, way_in_cone(mu * m[p], m[p + 1], m[p + 2], mu * m[dp], m[dp + 1], m[dp + 2]))
            far = min(far, way_in_cone(gamma, m[w + 1], m[w + 2], ahead, m[dw + 1], m[dw + 2]))
    return far


def way_in_cone(x, y, z, a, b, c):
    """The least share > 0 of (a, b, c) that leads from (x, y, z) to where |(y, z)| = x."""
    square, mixed = a * a - b * b - c * c, x * a - y * b - z * c
    length = sqrt(y * y + z * z)
    inside = (x - length) * (x + length)
    root = mixed * mixed - square * inside
    if square < 0.0 or (mixed < 0.0 and root >= 0.0):
        below = sqrt(max(0.0, root)) - mixed
        if below > 0.0 and inside > 0.0:
            return inside / below
    return FAR


INLINE = (inner, softened)
KERNELS = (
    place_inside, miss, snap, middle, lay_slope, lay_right, factor_slope, find_step, way_in_cone, way, descend,
    nudge, into_own_cone, lay_kinks, refine, solve_exact,
)  # fmt: skip
