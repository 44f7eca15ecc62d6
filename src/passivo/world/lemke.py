"""Lemke's method for the contacts of a step, friction by a pyramid of k directions (spec 4.5). Kernels.

    0 <= p_n  ⊥  u_n >= 0,    0 <= β  ⊥  D u_t + E γ >= 0,    0 <= γ  ⊥  mu p_n − E'β >= 0,    p_t = D'β

The matrix is copositive, so that with the lexicographic rule, by which no basis comes twice, it ends at a solution
(Stewart and Trinkle); rounding can still lead it astray, which `exact.residual` finds out. Four contacts under a box
are redundant: REGULAR on the diagonal decides what each bears. By itself that is passive, u·p = −REGULAR p·p less; the
solution is then improved with the matrix as it is, and the basis found again around it where that does not suffice.
"""

from __future__ import annotations

from math import cos, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.exact import E_GRAM, E_MU, E_P, E_Q, PI, SOLVED, exact_part, exact_size, residual, scatter
    from passivo.world.table import *

MOST_TOUCHES = 32  # contacts
REGULAR = 1e-6  # of D_nn
ROUNDS = 4  # times that a basis is looked for around the last one
STARTS = 8  # ... and from the beginning, along another way
POLISHES = 3
PIVOTS = 12  # at most, for each unknown
SMALL = 1e-8  # pivots below this are none
TIED = 1e-9  # ratios that differ by less are equal


def solver_size(n, k):
    """Numbers that it needs beside the problem of n contacts."""
    wide = n * (2 + k)
    return 7 * wide + 2 + wide * (wide + 2) + 3 * n + 1


def solve_exact(m, t, n, enough):
    """Impulses of the problem: the best that were met on all ways. Returns the number of pivots."""
    p, kept = exact_part(t, n, E_P), best_at(t, n)
    m[kept + 3 * n] = -1.0
    pivots = 0
    for s in range(STARTS):
        pivots += search(m, t, n, s)
        if m[kept + 3 * n] <= enough:
            break
    for i in range(3 * n):
        m[p + i] = m[kept + i]
    return pivots


def search(m, t, n, s):
    """Along one way: what z0 is multiplied with differs from row to row, and from way to way. Returns the number of
    pivots."""
    wide, shift, z, _, _, _, _ = places(t, n)
    for i in range(wide):
        m[shift + i] = 0.0
    pivots = 0
    for _ in range(ROUNDS):
        fill(m, t, n, s)
        pivots += pivot_on(m, t, n)
        read_solution(m, t, n)
        for left in range(POLISHES, -1, -1):
            if keep_best(m, t, n) <= 0.1 * SOLVED:
                return pivots
            # of a redundant basis polishing makes something else: every other way does not go on from that
            if left == (POLISHES if s % 2 == 0 else 0):
                for i in range(n + n * t[DIRECTIONS]):
                    m[shift + i] = m[z + i]
            if left > 0:
                polish(m, t, n)
                read_solution(m, t, n)
    return pivots


def best_at(t, n):
    """Where the best impulses so far are kept, and behind them by how much they miss the law."""
    return t[AT_EXACT] + exact_size(n) + solver_size(n, t[DIRECTIONS]) - 3 * n - 1


def keep_best(m, t, n):
    """Keep the present solution if it is the best. By how much it misses the law."""
    p, kept = exact_part(t, n, E_P), best_at(t, n)
    sum_up(m, t, n)
    now = residual(m, t, n)
    if m[kept + 3 * n] < 0.0 or now < m[kept + 3 * n]:
        m[kept + 3 * n] = now
        for i in range(3 * n):
            m[kept + i] = m[p + i]
    return now


def places(t, n):
    """Where the shift, z, w, the variables of rows, of columns, the places of variables and the matrix begin."""
    wide = n * (2 + t[DIRECTIONS])
    shift = t[AT_EXACT] + exact_size(n)
    return wide, shift, shift + wide, shift + 2 * wide, shift + 3 * wide, shift + 4 * wide, shift + 5 * wide + 1


def matrix_at(t, n):
    wide = n * (2 + t[DIRECTIONS])
    return t[AT_EXACT] + exact_size(n) + 7 * wide + 2


def coefficient(m, t, n, i, j):
    """Of the matrix of the complementarity problem as it is. Unknowns: p_n of all, β of all, γ of all."""
    k, g, friction = t[DIRECTIONS], exact_part(t, n, E_GRAM), exact_part(t, n, E_MU)
    last = n + n * k
    if j >= last:
        return 1.0 if n <= i < last and (i - n) // k == j - last else 0.0
    if i >= last:
        if j < n:
            return m[friction + j] if j == i - last else 0.0
        return -1.0 if (j - n) // k == i - last else 0.0
    a, b = i if i < n else (i - n) // k, j if j < n else (j - n) // k
    x, y, z = turned_into(t, n, i)
    p, q, r = turned_into(t, n, j)
    row = g + 9 * n * a + 3 * b
    return (
        x * (m[row] * p + m[row + 1] * q + m[row + 2] * r)
        + y * (m[row + 3 * n] * p + m[row + 3 * n + 1] * q + m[row + 3 * n + 2] * r)
        + z * (m[row + 6 * n] * p + m[row + 6 * n + 1] * q + m[row + 6 * n + 2] * r)
    )


def turned_into(t, n, i):
    """The direction that p_n or β stands for: normal, two tangents."""
    if i < n:
        return 1.0, 0.0, 0.0
    angle = 2.0 * PI * ((i - n) % t[DIRECTIONS]) / t[DIRECTIONS]
    return 0.0, cos(angle), sin(angle)


def constant(m, t, n, i):
    """Of the row i of the problem: q along its direction."""
    k = t[DIRECTIONS]
    if i >= n + n * k:
        return 0.0
    x, y, z = turned_into(t, n, i)
    at = exact_part(t, n, E_Q) + 3 * (i if i < n else (i - n) // k)
    return x * m[at] + y * m[at + 1] + z * m[at + 2]


def cover(s, i):
    """What z0 is multiplied with in row i: 1 along the first way, else between 1 and 2, without a pattern."""
    return 1.0 if s == 0 else 1.0 + scatter(s, i)


def fill(m, t, n, s):
    """The dictionary w = q + M z + cover z0, regularised around the shift."""
    wide, shift, _, _, rows, columns, where = places(t, n)
    matrix = matrix_at(t, n)
    for i in range(wide):
        row = matrix + i * (wide + 2)
        for j in range(wide):
            m[row + j] = coefficient(m, t, n, i, j)
        m[row + wide] = cover(s, i)
        m[row + wide + 1] = constant(m, t, n, i)
        if i < n + n * t[DIRECTIONS]:
            m[row + i] += REGULAR
            m[row + wide + 1] -= REGULAR * m[shift + i]
        m[rows + i], m[where + i] = float(i), float(i)  # w_i is basic in row i
        m[columns + i], m[where + wide + i] = float(wide + i), float(-1 - i)  # z_i is 0, in column i
    m[columns + wide], m[where + 2 * wide] = float(2 * wide), float(-1 - wide)  # z0


def pivot_on(m, t, n):
    """Lemke's pivots until z0 has left, or none is left. Returns their number."""
    wide, _, _, _, rows, columns, where = places(t, n)
    matrix = matrix_at(t, n)
    row, least = -1, 0.0
    for i in range(wide):
        level = m[matrix + i * (wide + 2) + wide + 1] / m[matrix + i * (wide + 2) + wide]
        if level <= least:
            row, least = i, level
    if least >= 0.0:
        return 0
    column = wide
    for pivots in range(PIVOTS * wide):
        left = int(m[rows + row])
        pivot(m, matrix, wide, row, column)
        came = int(m[columns + column])
        m[rows + row], m[columns + column] = float(came), float(left)
        m[where + came], m[where + left] = float(row), float(-1 - column)
        if left == 2 * wide:
            return pivots + 1
        column = -1 - int(m[where + (left + wide if left < wide else left - wide)])
        row = leaving(m, matrix, wide, rows, where, column)
        if row < 0:
            return pivots + 1
    return PIVOTS * wide


def pivot(m, matrix, wide, row, column):
    """Exchange a basic variable for one that was 0."""
    pivoted, width = matrix + row * (wide + 2), wide + 2
    share = 1.0 / m[pivoted + column]
    for j in range(width):
        m[pivoted + j] *= -share
    m[pivoted + column] = share
    for i in range(wide):
        size = m[matrix + i * width + column]
        if i == row or size == 0.0:
            continue
        for j in range(width):
            if j != column:
                m[matrix + i * width + j] += size * m[pivoted + j]
        m[matrix + i * width + column] = size * share


def leaving(m, matrix, wide, rows, where, column):
    """The row whose variable falls to 0 first; of several z0, else the first by the lexicographic rule. −1 for none."""
    width = wide + 2
    least = -1.0
    for i in range(wide):
        slope = m[matrix + i * width + column]
        if slope < -SMALL:
            ratio = max(0.0, m[matrix + i * width + wide + 1]) / -slope
            if least < 0.0 or ratio < least:
                least = ratio
    if least < 0.0:
        return -1
    best = -1
    for i in range(wide):
        slope = m[matrix + i * width + column]
        if slope >= -SMALL or max(0.0, m[matrix + i * width + wide + 1]) / -slope > least + TIED * (1.0 + least):
            continue
        if m[rows + i] == 2.0 * wide:
            return i
        if best < 0 or comes_before(m, matrix, wide, where, i, best, column):
            best = i
    return best


def comes_before(m, matrix, wide, where, a, b, column):
    """Whether row a leaves before row b when q_j is larger by the j-th power of something small."""
    for j in range(wide):
        x = inverse(m, matrix, wide, where, a, j) / -m[matrix + a * (wide + 2) + column]
        y = inverse(m, matrix, wide, where, b, j) / -m[matrix + b * (wide + 2) + column]
        if abs(x - y) > TIED * (abs(x) + abs(y)):
            return x < y
    return False


def inverse(m, matrix, wide, where, i, j):
    """How the variable of row i answers q_j."""
    at = int(m[where + j])
    if at >= 0:
        return 1.0 if at == i else 0.0
    return -m[matrix + i * (wide + 2) - 1 - at]


def read_solution(m, t, n):
    """z and w from the rows."""
    wide, _, z, w, rows, _, _ = places(t, n)
    matrix = matrix_at(t, n)
    for i in range(2 * wide):
        m[z + i] = 0.0
    for i in range(wide):
        what = int(m[rows + i])
        value = m[matrix + i * (wide + 2) + wide + 1]
        if what < wide:
            m[w + what] = value
        elif what < 2 * wide:
            m[z + what - wide] = value


def polish(m, t, n):
    """The same basis with the matrix as it is: basic variables answer by what is missing in each row."""
    wide, _, z, w, _, _, where = places(t, n)
    matrix = matrix_at(t, n)
    for j in range(wide):
        missing = constant(m, t, n, j) - m[w + j]
        for i in range(wide):
            if m[z + i] != 0.0:
                missing += coefficient(m, t, n, j, i) * m[z + i]
        for i in range(wide):
            m[matrix + i * (wide + 2) + wide + 1] += inverse(m, matrix, wide, where, i, j) * missing


def sum_up(m, t, n):
    """Impulses from z; what is below 0 by rounding is 0."""
    _, _, z, _, _, _, _ = places(t, n)
    p = exact_part(t, n, E_P)
    for i in range(3 * n):
        m[p + i] = 0.0
    for i in range(n + n * t[DIRECTIONS]):
        if m[z + i] > 0.0:
            a, b, c = turned_into(t, n, i)
            at = p + 3 * (i if i < n else (i - n) // t[DIRECTIONS])
            m[at] += a * m[z + i]
            m[at + 1] += b * m[z + i]
            m[at + 2] += c * m[z + i]


INLINE = (solver_size, best_at, places, matrix_at, turned_into)
KERNELS = (
    inverse, coefficient, constant, fill, pivot, comes_before, leaving, pivot_on, read_solution, polish, sum_up,
    cover, keep_best, search, solve_exact,
)  # fmt: skip
