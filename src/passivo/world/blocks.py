"""The linear system of a step: 6 × 6 blocks, one for each free body and each two that are tied; assemblies have blocks
of their own size (`assemblies.py`). Kernels.

These nodes are eliminated one after the other in the order of the table (`order.py`): in a tree from the leaves to the
root, so that nothing fills in and the time grows with the number of bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.assemblies import condense, draw_in, keep_rates, spread_out
    from passivo.world.table import *

BESIDE = 5  # of an entry of the order, where its neighbours begin
BESIDE_SIZE = 4


def factor(m, a):
    """LU of a 6 × 6 block in place, with 1/pivot for each pivot. False where one is not positive; the symmetric part of
    the block is, so nothing is exchanged."""
    for k in range(6):
        pivot = m[a + 7 * k]
        if not pivot > 0.0:
            return False
        share = 1.0 / pivot
        m[a + 7 * k] = share
        for i in range(k + 1, 6):
            left = m[a + 6 * i + k] * share
            m[a + 6 * i + k] = left
            for j in range(k + 1, 6):
                m[a + 6 * i + j] -= left * m[a + 6 * k + j]
    return True


def divide(m, a, b):
    """Solve with the factors at `a` for the vector at `b`."""
    for i in range(1, 6):
        for k in range(i):
            m[b + i] -= m[a + 6 * i + k] * m[b + k]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            m[b + i] -= m[a + 6 * i + k] * m[b + k]
        m[b + i] *= m[a + 7 * i]


def divide_block(m, a, b):
    """Solve with the factors at `a` for the six columns of the block at `b`."""
    for i in range(1, 6):
        for k in range(i):
            left = m[a + 6 * i + k]
            for j in range(6):
                m[b + 6 * i + j] -= left * m[b + 6 * k + j]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            right = m[a + 6 * i + k]
            for j in range(6):
                m[b + 6 * i + j] -= right * m[b + 6 * k + j]
        share = m[a + 7 * i]
        for j in range(6):
            m[b + 6 * i + j] *= share


def take(m, left, right, target):
    """The vector at `target` less a block times the vector at `right`."""
    for i in range(6):
        total = m[target + i]
        for k in range(6):
            total -= m[left + 6 * i + k] * m[right + k]
        m[target + i] = total


def take_block(m, left, right, target):
    """The block at `target` less the product of two."""
    for i in range(6):
        for k in range(6):
            share = m[left + 6 * i + k]
            for j in range(6):
                m[target + 6 * i + j] -= share * m[right + 6 * k + j]


def factor_wide(m, a, n):
    """LU of an n × n block, as `factor`."""
    for k in range(n):
        pivot = m[a + (n + 1) * k]
        if not pivot > 0.0:
            return False
        share = 1.0 / pivot
        m[a + (n + 1) * k] = share
        for i in range(k + 1, n):
            left = m[a + n * i + k] * share
            m[a + n * i + k] = left
            for j in range(k + 1, n):
                m[a + n * i + j] -= left * m[a + n * k + j]
    return True


def divide_wide(m, a, n, b, columns):
    """Solve with the n × n factors at `a` for the columns of the block at `b`."""
    for i in range(1, n):
        for k in range(i):
            left = m[a + n * i + k]
            for j in range(columns):
                m[b + columns * i + j] -= left * m[b + columns * k + j]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right = m[a + n * i + k]
            for j in range(columns):
                m[b + columns * i + j] -= right * m[b + columns * k + j]
        share = m[a + (n + 1) * i]
        for j in range(columns):
            m[b + columns * i + j] *= share


def take_wide(m, left, rows, middle, right, columns, target):
    """The block (rows × columns) at `target` less the product of two."""
    for i in range(rows):
        for k in range(middle):
            share = m[left + middle * i + k]
            for j in range(columns):
                m[target + columns * i + j] -= share * m[right + columns * k + j]


def side_of(rights, code):
    """Where the right hand side of a node stands: of a body among all bodies, of an assembly at a place of its own."""
    return rights + code if code >= 0 else -code


def forward(m, t, k, rights):
    """Take the k-th node of the order out of the right hand sides."""
    at, blocks = t[t[ORDER_TABLE] + k], t[AT_BLOCKS]
    size, y, near = t[at + 1], side_of(rights, t[at + 2]), at + BESIDE
    if size == 6:
        divide(m, blocks + t[at], y)
    else:
        divide_wide(m, blocks + t[at], size, y, 1)
    for i in range(t[at + 4]):
        one = near + BESIDE_SIZE * i
        if size == 6 and t[one] == 6:
            take(m, blocks + t[one + 2], y, side_of(rights, t[one + 1]))
        else:
            take_wide(m, blocks + t[one + 2], t[one], size, y, 1, side_of(rights, t[one + 1]))


def backward(m, t, k, rights):
    """The solution of the k-th node from those that were left after it."""
    at, blocks = t[t[ORDER_TABLE] + k], t[AT_BLOCKS]
    size, y, near = t[at + 1], side_of(rights, t[at + 2]), at + BESIDE
    for i in range(t[at + 4]):
        one = near + BESIDE_SIZE * i
        if size == 6 and t[one] == 6:
            take(m, blocks + t[one + 3], side_of(rights, t[one + 1]), y)
        else:
            take_wide(m, blocks + t[one + 3], size, t[one], side_of(rights, t[one + 1]), 1, y)


def eliminate(m, t):
    """Solve for V̂ of all bodies: the solution replaces the right hand side. False where a pivot is not positive.

    An entry of the order: block of node p, its size, where its right hand side stands, its assembly, number n of
    neighbours left; for each its size, where its right hand side stands, blocks (it, p) and (p, it); then the blocks of
    all pairs of them.
    """
    blocks, rights = t[AT_BLOCKS], t[AT_RIGHT]
    if t[ASSEMBLIES] > 0:
        condense(m, t)
    for k in range(t[NODES]):
        at = t[t[ORDER_TABLE] + k]
        a, size, n, near = blocks + t[at], t[at + 1], t[at + 4], at + BESIDE
        if not (factor(m, a) if size == 6 else factor_wide(m, a, size)):
            return False
        for j in range(n):
            one = near + BESIDE_SIZE * j
            if size == 6 and t[one] == 6:
                divide_block(m, a, blocks + t[one + 3])
            else:
                divide_wide(m, a, size, blocks + t[one + 3], t[one])
        for i in range(n):
            one = near + BESIDE_SIZE * i
            for j in range(n):
                other, target = near + BESIDE_SIZE * j, blocks + t[near + BESIDE_SIZE * n + n * i + j]
                if size == 6 and t[one] == 6 and t[other] == 6:
                    take_block(m, blocks + t[one + 2], blocks + t[other + 3], target)
                else:
                    take_wide(m, blocks + t[one + 2], t[one], size, blocks + t[other + 3], t[other], target)
        forward(m, t, k, rights)
    for k in range(t[NODES] - 1, -1, -1):
        backward(m, t, k, rights)
    if t[ASSEMBLIES] > 0:
        for k in range(t[ASSEMBLIES]):
            spread_out(m, t, t[ASSEMBLY_TABLE] + k * A_SIZE, rights)
        keep_rates(m, t)
    return True


def respond(m, t, c, vector):
    """Solve once more for the bodies that hang together with c, for the right hand sides at `vector`."""
    first, count = t[t[RESPOND_TABLE] + 2 * c], t[t[RESPOND_TABLE] + 2 * c + 1]
    if t[ASSEMBLIES] > 0:
        for i in range(count):
            assembly = t[t[t[ORDER_TABLE] + t[first + i]] + 3]
            if assembly >= 0:
                draw_in(m, t, assembly, vector)
    for i in range(count):
        forward(m, t, t[first + i], vector)
    for i in range(count - 1, -1, -1):
        backward(m, t, t[first + i], vector)
    if t[ASSEMBLIES] > 0:
        for i in range(count):
            assembly = t[t[t[ORDER_TABLE] + t[first + i]] + 3]
            if assembly >= 0:
                spread_out(m, t, assembly, vector)


INLINE = (factor, divide, divide_block, take, take_block, side_of)
KERNELS = (factor_wide, divide_wide, take_wide, forward, backward, eliminate, respond)
