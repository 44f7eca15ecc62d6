"""Sparse matrices in the flat memory: products, an LDL' factorisation of a band, its solution. Kernels.

Long loops run over rows, not over the entries of one row, so that the compiler takes several rows at a time. What is
past the end of a vector is 0, and so is what a band has past the end of its matrix: no loop asks where that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.method.banded_table import *


def band_times(m, at, n, band, factor, x, y):
    """y = factor A x, for a symmetric A."""
    for i in range(n):
        m[y + i] = m[at + i] * (factor * m[x + i])
    for k in range(1, band + 1):
        row = at + k * n
        for i in range(n - k):
            m[y + i] += m[row + i] * (factor * m[x + i + k])
        for i in range(n - k):
            m[y + i + k] += m[row + i] * (factor * m[x + i])


def band_sizes(m, at, n, band, factor, x, y):
    """y = factor |A| x."""
    for i in range(n):
        m[y + i] = abs(m[at + i]) * (factor * m[x + i])
    for k in range(1, band + 1):
        row = at + k * n
        for i in range(n - k):
            m[y + i] += abs(m[row + i]) * (factor * m[x + i + k])
        for i in range(n - k):
            m[y + i + k] += abs(m[row + i]) * (factor * m[x + i])


def rows_times(m, t, at, table, rows, longest, x, y):
    """y = D x, entries of each row in their order: of a difference of neighbours nothing is lost by rounding."""
    for k in range(rows):
        m[y + k] = m[at + k] * m[x + t[table + k]]
    for j in range(1, longest):
        first = j * rows
        for k in range(rows):
            m[y + k] += m[at + first + k] * m[x + t[table + first + k]]


def strain(m, t, x, y, rough):
    """y = D x, and in `rough` the sizes of all sums and products in it that are rounded."""
    rows, at, table, rounds = t[STRAINS], t[AT_STRETCH], t[STRETCH_TABLE], t[AT_ROUNDS]
    if t[STRETCHED] == 0:
        for k in range(rows):
            m[y + k] = m[x + k]
            m[rough + k] = 0.0
        return
    for k in range(rows):
        term = m[at + k] * m[x + t[table + k]]
        m[y + k] = term
        m[rough + k] = m[rounds + k] * abs(term)
    for j in range(1, t[STRETCHED]):
        first = j * rows
        for k in range(rows):
            term = m[at + first + k] * m[x + t[table + first + k]]
            whole = m[y + k] + term
            m[y + k] = whole
            m[rough + k] += m[rounds + first + k] * abs(term) + abs(whole)


def pull(m, t, s, y):
    """y = D's."""
    if t[PULLED] == 0:
        for i in range(t[COORDINATES]):
            m[y + i] = m[s + i]
    else:
        rows_times(m, t, t[AT_PULL], t[PULL_TABLE], t[COORDINATES], t[PULLED], s, y)


def pull_sizes(m, t, s, y):
    """y = |D'| s."""
    n, at, table = t[COORDINATES], t[AT_PULL], t[PULL_TABLE]
    for i in range(n):
        m[y + i] = m[s + i] if t[PULLED] == 0 else 0.0
    for j in range(t[PULLED]):
        first = j * n
        for i in range(n):
            m[y + i] += abs(m[at + first + i]) * m[s + t[table + first + i]]


def dot(m, n, x, y):
    """x'y, by four sums that do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        a += m[x + i] * m[y + i]
        b += m[x + i + 1] * m[y + i + 1]
        c += m[x + i + 2] * m[y + i + 2]
        d += m[x + i + 3] * m[y + i + 3]
    for i in range(whole, n):
        a += m[x + i] * m[y + i]
    return (a + c) + (b + d)


def factorise(m, at, n, band):
    """LDL' in place of a band whose column i begins at (band + 1) i: 1/D in the first entry, L below. False where the
    matrix is not positive definite."""
    size = band + 1
    for i in range(n):
        column = at + size * i
        pivot = m[column]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / pivot
        for k in range(1, size):
            share = m[column + k] * inverse
            if share != 0.0:
                target = column + size * k - k
                for j in range(k, size):
                    m[target + j] -= share * m[column + j]
        for k in range(1, size):
            m[column + k] *= inverse
        m[column] = inverse
    return True


def solve_band(m, at, n, band, x):
    """x becomes A⁻¹x."""
    size = band + 1
    if band == 3:  # of beams and of chains of springs
        solve_narrow(m, at, n, x)
        return
    for i in range(n):
        column, value = at + size * i, m[x + i]
        for k in range(1, size):
            m[x + i + k] -= m[column + k] * value
    for i in range(n - 1, -1, -1):
        column = at + size * i
        a, b = m[x + i] * m[column], 0.0
        for k in range(1, band, 2):
            a -= m[column + k] * m[x + i + k]
            b -= m[column + k + 1] * m[x + i + k + 1]
        if band % 2:
            a -= m[column + band] * m[x + i + band]
        m[x + i] = a + b


def solve_narrow(m, at, n, x):
    """The same for three diagonals below the main one, what passes from row to row in registers."""
    a, b, c = m[x], m[x + 1], m[x + 2]
    for i in range(n):
        column = at + 4 * i
        m[x + i] = a
        a, b, c = b - m[column + 1] * a, c - m[column + 2] * a, m[x + i + 3] - m[column + 3] * a
    a, b, c = 0.0, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        column = at + 4 * i
        rest = (m[x + i] * m[column] - m[column + 3] * c) - m[column + 2] * b
        a, b, c = rest - m[column + 1] * a, a, b
        m[x + i] = a


KERNELS = (
    band_times, band_sizes, rows_times, strain, pull, pull_sizes, dot, factorise, solve_narrow, solve_band,
)  # fmt: skip
