"""The linear system of a step: 6 × 6 blocks, one for each body and each two that are tied. Kernels.

Bodies are eliminated one after the other in the order of the table (`order.py`): in a tree from the leaves to the root,
so that nothing fills in and the time grows with the number of bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.bending import fold, fold_points, unfold, unfold_points
    from passivo.world.table import *


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


def forward(m, t, k, rights):
    """Take the k-th body of the order out of the right hand sides."""
    at = t[t[ORDER_TABLE] + k]
    y = rights + 6 * t[at]
    divide(m, t[AT_BLOCKS] + 36 * t[at], y)
    for i in range(t[at + 1]):
        take(m, t[AT_BLOCKS] + 36 * t[at + 3 + 3 * i], y, rights + 6 * t[at + 2 + 3 * i])


def backward(m, t, k, rights):
    """The solution of the k-th body from those that were left after it."""
    at = t[t[ORDER_TABLE] + k]
    for j in range(t[at + 1]):
        take(m, t[AT_BLOCKS] + 36 * t[at + 4 + 3 * j], rights + 6 * t[at + 2 + 3 * j], rights + 6 * t[at])


def eliminate(m, t):
    """Solve for V̂ of all bodies: the solution replaces the right hand side. False where a pivot is not positive.

    An entry of the order: body p, number n of neighbours left; for each its number, blocks (it, p) and (p, it); then
    the blocks of all pairs of them.
    """
    blocks, rights = t[AT_BLOCKS], t[AT_RIGHT]
    fold_points(m, t)
    for k in range(t[BODIES]):
        at = t[t[ORDER_TABLE] + k]
        a, n = blocks + 36 * t[at], t[at + 1]
        if not factor(m, a):
            return False
        for j in range(n):
            divide_block(m, a, blocks + 36 * t[at + 4 + 3 * j])
        for i in range(n):
            left = blocks + 36 * t[at + 3 + 3 * i]
            for j in range(n):
                take_block(m, left, blocks + 36 * t[at + 4 + 3 * j], blocks + 36 * t[at + 2 + 3 * n + n * i + j])
        forward(m, t, k, rights)
    for k in range(t[BODIES] - 1, -1, -1):
        backward(m, t, k, rights)
    unfold_points(m, t)
    return True


def respond(m, t, c, vector):
    """Solve once more for the bodies that hang together with c, for the right hand sides at `vector`."""
    first, count = t[t[COMPONENT_TABLE] + 2 * c], t[t[COMPONENT_TABLE] + 2 * c + 1]
    for i in range(count):
        if member_of(t, t[first + 2 * i + 1]) >= 0:
            fold(m, t, t[first + 2 * i + 1], vector + 6 * t[first + 2 * i + 1])
    for i in range(count):
        forward(m, t, t[first + 2 * i], vector)
    for i in range(count - 1, -1, -1):
        backward(m, t, t[first + 2 * i], vector)
    for i in range(count):
        if member_of(t, t[first + 2 * i + 1]) >= 0:
            unfold(m, t, t[first + 2 * i + 1], vector + 6 * t[first + 2 * i + 1])


def member_of(t, c):
    """Of a body that is no free one, where it stands in the table."""
    return t[t[CARRIER_TABLE] + c * C_SIZE + C_MEMBER]


INLINE = (member_of, factor, divide, divide_block, take, take_block)
KERNELS = (forward, backward, eliminate, respond)
