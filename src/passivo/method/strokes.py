"""Methods that step by strokes: a step is a fixed list of them, each a share of its size with an inner step of its own.

A method with one stage is one stroke. A composition has several, some perhaps negative; a structure splitting one for
each visit to a part. Stroke k is h · COEFFICIENTS[k] long, of the kind KINDS[k], and reads the inputs of stage k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from passivo.provided import *

SMALLEST_SHARE = 1.0 / 1024.0
MOST_STROKES = 999  # their tables are constants of the machine code
Stroke = tuple[float, int]  # share of the step, and kind
ONE: tuple[Stroke, ...] = ((1.0, 0),)


def finish(m, h):
    """A solved stroke is weighed and committed; where it was asked for, what its balance rests on is added to PROOF."""
    gather(m, h)
    weigh(m, h)
    if m[PROOF] == 1.0:
        prove(m, h)
    status = commit(m)
    if m[PROOF] == 1.0:
        for r in range(ROWS):
            m[PROOF + 2] += m[DIFFERENCE + r]
    return status


def stroke(m, kind, h):
    """One stroke of size h: solved, weighed, committed. One that is not solved leaves the state where it was."""
    status = solve(m, h)
    m[ITERATIONS_ALL] += m[ITERATION]
    if status != OK:
        return status
    return finish(m, h)


def advance(m, h):
    """The strokes of a step; where the equation of one cannot be solved, two halves of it, and so on: each keeps the
    balance (spec 2.7)."""
    cut = False
    for k in range(STROKES):
        for i in range(WIDTH + SIGNALS):
            m[USED + i] = m[INPUT + k * (WIDTH + SIGNALS) + i]
        lost = 0.0
        if BACK_COUNTER >= 0:
            for r in range(ROWS):
                lost += m[LOST + r]
        share = 1.0
        done = 0.0
        while done < 1.0:
            status = stroke(m, KINDS[k], share * COEFFICIENTS[k] * h)
            if status == OK:
                done += share
            elif status == UNCONVERGED and share > SMALLEST_SHARE:
                share *= 0.5
            else:
                return status
        if share < 1.0:
            cut = True
        if BACK_COUNTER >= 0:
            for r in range(ROWS):
                lost -= m[LOST + r]
            if lost > 0.0:  # a stroke backwards gave back what a loss had taken
                m[COUNTERS + BACK_COUNTER] += 1.0
    if cut:
        m[CUTS] += 1.0
    return OK


def tables(strokes: Sequence[Stroke], counter: int = -1) -> dict[str, Any]:
    """The constants `advance` needs; `counter`: which one counts the strokes with a negative loss, -1 for none."""
    return {
        "BACK_COUNTER": counter,
        "STROKES": len(strokes),
        "COEFFICIENTS": tuple(float(share) for share, _ in strokes),
        "KINDS": tuple(kind for _, kind in strokes),
    }
