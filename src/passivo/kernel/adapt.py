"""Steps whose size follows their error: each pair of steps is compared with one step of twice the size. Kernels.

The pair is kept, and booked like any two steps; the whole step only measures. So the balance of the method stays as it
is, with feedback, loss and books, whatever the method. A pair whose error is too large is taken back as if it had never
been tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.provided import *

# places in `pace`
P_NEXT = 0  # seconds of the next pair
P_LEAST = 1  # seconds of a pair below which the tolerance counts as out of reach
P_MOST = 2
P_UNTIL = 3  # when the run ends
P_TOLERANCE = 4  # of the error of a pair, as a share of the size of each state
P_ORDER = 5  # of the method
P_REFUSED = 6  # pairs taken back so far
P_SIZE = 7

SAFETY_SHARE = 0.9  # of the size that would just do
SHRINK = 0.2
GROW = 4.0
AT_END = 1e-12  # of the duration: nothing is left to step
OUT_OF_REACH = 5  # a status beside those of `tick`


def left_of(m, pace):
    """Seconds left."""
    left = pace[P_UNTIL] - (m[TIME] + m[TIME + 1])
    return left if left > AT_END * pace[P_UNTIL] else 0.0


def proposed(m, pace):
    """The size of the next pair; what is left of the run is shared out, so that no splinter remains."""
    left = left_of(m, pace)
    if left <= pace[P_NEXT]:
        return left
    return pace[P_NEXT] if left >= 2.0 * pace[P_NEXT] else 0.5 * left


def feed(m, table, row):
    for j in range(STAGES * (WIDTH + SIGNALS)):
        m[INPUT + j] = table[row, j]


def size_of(m, reach, i):
    """Against what the error of a state counts: the largest that any state of its kind has been, now included."""
    size = reach[i]
    for j in range(STATES):
        if reach[STATES + j] == reach[STATES + i]:
            size = max(size, reach[j], abs(m[STATE + j]))
    return size


def adapt(m, whole, kept, reach, pace, table, out, sizes, rows, every):
    """One pair of steps with the inputs `table`: of the whole step, of its first half, of its second.

    `reach` holds the largest each state has been, and then the kind of each by number. Returns the rows kept so far;
    STATUS says how it went. Where the pair was taken back, time stands still and `pace` proposes a smaller one.
    """
    h = proposed(m, pace)
    for i in range(SIZE):
        kept[i] = m[i]
        whole[i] = m[i]
    feed(whole, table, 0)
    status = step(whole, h)
    at = rows
    for half in range(2):
        if status == OK:
            feed(m, table, 1 + half)
            status = step(m, 0.5 * h)
        if status == OK and m[COUNT] % every == 0.0:
            report(m)
            for j in range(REPORT_SIZE):
                out[at, j] = m[REPORT + j]
            sizes[at] = 0.5 * h
            at += 1
    error = 0.0
    for i in range(STATES):
        size = size_of(m, reach, i)
        if size > 0.0:
            error = max(error, abs(whole[STATE + i] - m[STATE + i]) / size)
    error /= 2.0 ** pace[P_ORDER] - 1.0
    room = GROW
    if status != OK:
        room = SHRINK
    elif error > 0.0:
        room = min(GROW, max(SHRINK, SAFETY_SHARE * (pace[P_TOLERANCE] / error) ** (1.0 / (pace[P_ORDER] + 1.0))))
    if status == OK and error <= pace[P_TOLERANCE]:
        for i in range(STATES):
            reach[i] = max(reach[i], abs(m[STATE + i]))
        pace[P_NEXT] = min(pace[P_MOST], max(room * h, pace[P_NEXT] if h < pace[P_NEXT] else 0.0))
        m[STATUS] = float(OK)
        return at
    for i in range(SIZE):
        m[i] = kept[i]
    pace[P_REFUSED] += 1.0
    pace[P_NEXT] = min(room, SAFETY_SHARE) * h
    if pace[P_NEXT] < pace[P_LEAST]:
        m[STATUS] = float(status if status != OK else OUT_OF_REACH)
    return rows


def adapt_all(m, whole, kept, reach, pace, table, out, sizes, every):
    """Pairs with held inputs until the end, a failure, or until `out` is full. Returns the rows kept."""
    rows = 0
    m[STATUS] = float(OK)
    while rows + 2 <= out.shape[0] and left_of(m, pace) > 0.0 and m[STATUS] == OK:
        rows = adapt(m, whole, kept, reach, pace, table, out, sizes, rows, every)
    return rows


ENTRIES = (left_of, proposed, feed, size_of, adapt, adapt_all)
