"""Impulses of many contacts at once that bring their velocities to rest: conjugate gradients. Kernels.

Of each contact it is told (K_FIRM) whether its velocity along the normal, and whether its slip, has to change by
K_LEFT. Y answers impulses, C gives the velocities of contacts: C Y λ = K_LEFT is solved for λ (K_SOUGHT). C Y is
symmetric, but not definite: four corners of a face share what three could hold, and conjugate gradients leave such
parts of λ as they were. A contact is softened by its own answer to its own impulse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.collide import touch_size
    from passivo.world.contacts import answer, slip
    from passivo.world.table import *

MOST_STEPS = 60
STIFF = 1e-9  # of what contacts yield by themselves
MOST_LEFT = 1e-3  # of what there was
QUIET = 1e-8  # m/s that are left, and slip over the step that is none


def seek(m, t, count, way, most):
    """λ at K_SOUGHT, in `most` steps at most; `way` is room for an answer. False where nothing is to be sought."""
    largest, before = 0.0, 0.0
    for k in range(count):
        at = t[AT_TOUCHES] + k * touch_size(t)
        for i in range(3):
            m[at + K_SOUGHT + i], m[at + K_ALONG + i] = 0.0, 0.0
            largest = max(largest, abs(m[at + K_LEFT + i]))
    if largest <= QUIET:
        return False
    enough = max(QUIET, MOST_LEFT * largest)
    for _ in range(most):
        now = 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            soften(m, at)
            for i in range(3):
                now += m[at + K_LEFT + i] * m[at + K_SOFT + i]
        turn = now / before if before > 0.0 else 0.0
        for n in range(6 * t[BODIES]):
            m[way + n] = 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            if is_firm(m, at):
                for i in range(3):
                    m[at + K_ALONG + i] = m[at + K_SOFT + i] + turn * m[at + K_ALONG + i]
                answer(m, t, at, way, m[at + K_ALONG], m[at + K_ALONG + 1], m[at + K_ALONG + 2])
        curve, size = 0.0, 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            for i in range(3):
                m[at + K_SOFT + i] = slip(m, at, way, i) if m[at + K_FIRM + min(i, 1)] > 0.0 else 0.0
                curve += m[at + K_ALONG + i] * m[at + K_SOFT + i]
                size += m[at + K_ALONG + i] * m[at + K_D + 4 * i] * m[at + K_ALONG + i]
        if not curve > STIFF * size:  # impulses that move nothing: what is left, no motion can bring to rest
            break
        largest = 0.0
        for k in range(count):
            at = t[AT_TOUCHES] + k * touch_size(t)
            for i in range(3):
                m[at + K_SOUGHT + i] += now / curve * m[at + K_ALONG + i]
                m[at + K_LEFT + i] -= now / curve * m[at + K_SOFT + i]
                largest = max(largest, abs(m[at + K_LEFT + i]))
        if largest <= enough:
            break
        before = now
    return True


def is_firm(m, at):
    return m[at + K_FIRM] > 0.0 or m[at + K_FIRM + 1] > 0.0


def soften(m, at):
    """K_SOFT: what is left at a contact times the inverse of its own answer, as far as it is firm."""
    x, y, z = m[at + K_LEFT], m[at + K_LEFT + 1], m[at + K_LEFT + 2]
    d = at + K_INVERSE
    if m[at + K_FIRM] > 0.0 and m[at + K_FIRM + 1] > 0.0:
        m[at + K_SOFT] = m[d] * x + m[d + 1] * y + m[d + 2] * z
        m[at + K_SOFT + 1] = m[d + 3] * x + m[d + 4] * y + m[d + 5] * z
        m[at + K_SOFT + 2] = m[d + 6] * x + m[d + 7] * y + m[d + 8] * z
    else:
        m[at + K_SOFT] = x / m[at + K_D] if m[at + K_FIRM] > 0.0 else 0.0
        m[at + K_SOFT + 1] = y / m[at + K_D + 4] if m[at + K_FIRM + 1] > 0.0 else 0.0
        m[at + K_SOFT + 2] = z / m[at + K_D + 8] if m[at + K_FIRM + 1] > 0.0 else 0.0


INLINE = (is_firm, soften)
KERNELS = (seek,)
