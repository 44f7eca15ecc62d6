"""The accounts of a ledger row, as kernels: plain functions whose free names the generated module provides.

Each row owns ACCOUNT_SIZE numbers of the memory `m`. Sums are pairs (value, error) kept by the two-sum, so
10^8 small entries lose nothing. `created` of a step is `Δstored − work − edited + lost`; its roundoff is
`r = 16 ε (Σ (|x| + |Δx|) |g| + Σ |work| + lost)`, |g| the larger of the mean gradient of the step and the gradient at
its end, and only what exceeds r counts towards `rise` and `fall`. The largest height above the minimum less C
sets the allowance of methods that lend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.provided import *

# offsets inside one account
A_WORK = 0
A_LOST = 2
A_EDITED = 4
A_CREATED = 6
A_BOOKED = 8
A_RISE = 10  # excess of created beyond roundoff, now
A_FALL = 11  # the same for -created
A_UNNOTICED = 12  # the same for created - booked
A_ROUNDOFF = 13  # the largest r so far
A_LOW = 14  # least C so far and its time
A_HIGH = 16
A_BIAS = 18  # largest C(i) - C(j), and the window
A_REMOVED = 21
A_MARK = 24  # step at which the bias is next remembered
A_FIRST = 25  # bias at about half of the run: A_FIRST <= half
A_NEXT = 26
A_ROSE = 27  # the largest of each excess beyond the largest r of its time: later steps cannot undo it
A_FELL = 28
A_MISSED = 29
A_FAULTS = 30  # steps of the method's own kind of failure, counted
A_LEVEL = 31  # height above the minimum less C, now
A_PEAK = 32  # ... and the largest so far
ACCOUNT_SIZE = 33
SUMS = 5  # the pairs at the head: work, lost, edited, created, booked
LEDGER_COLUMNS = 7  # of a report: stored, the sums, and the faults


def add(m, at, value):
    """m[at] += value, the rounding error kept in m[at + 1]."""
    total = m[at]
    new = total + value
    part = new - total
    m[at + 1] += (total - (new - part)) + (value - part)
    m[at] = new


def exceed(m, at, excess, largest, value):
    """Add to a running excess, never below 0, and keep its largest value beyond the largest roundoff so far."""
    now = max(0.0, m[at + excess] + value)
    m[at + excess] = now
    if now > m[at + A_ROUNDOFF] and now > m[at + largest]:
        m[at + largest] = now


def enter(m, at, change, work, lost, booked, scale, time):
    """Book one step into the account that begins at `at`; `time` is the end of the step."""
    kept = lost if lost > 0.0 else 0.0  # a negative loss is no loss: it shows up as created
    created = change - work + kept
    roundoff = 16.0 * EPSILON * scale
    add(m, at + A_WORK, work)
    add(m, at + A_LOST, kept)
    add(m, at + A_CREATED, created)
    if roundoff > m[at + A_ROUNDOFF]:
        m[at + A_ROUNDOFF] = roundoff
    if KEEPS_BOOK:
        add(m, at + A_BOOKED, booked)
        exceed(m, at, A_UNNOTICED, A_MISSED, created - booked - roundoff)
    exceed(m, at, A_RISE, A_ROSE, created - roundoff)
    if not KEEPS_BOOK:
        m[at + A_MISSED] = m[at + A_ROSE]
    exceed(m, at, A_FALL, A_FELL, -created - roundoff)
    m[at + A_LEVEL] += work - kept  # the change less what was created
    if m[at + A_LEVEL] > m[at + A_PEAK]:
        m[at + A_PEAK] = m[at + A_LEVEL]

    total = m[at + A_CREATED] + m[at + A_CREATED + 1]
    if total - m[at + A_LOW] > m[at + A_BIAS]:
        m[at + A_BIAS] = total - m[at + A_LOW]
        m[at + A_BIAS + 1] = m[at + A_LOW + 1]
        m[at + A_BIAS + 2] = time
    if m[at + A_HIGH] - total > m[at + A_REMOVED]:
        m[at + A_REMOVED] = m[at + A_HIGH] - total
        m[at + A_REMOVED + 1] = m[at + A_HIGH + 1]
        m[at + A_REMOVED + 2] = time
    if total < m[at + A_LOW]:
        m[at + A_LOW] = total
        m[at + A_LOW + 1] = time
    if total > m[at + A_HIGH]:
        m[at + A_HIGH] = total
        m[at + A_HIGH + 1] = time


def show(m, account, at, stored):
    """The columns of an account for a report that begins at `at`."""
    m[at] = stored
    for column in range(SUMS):
        m[at + 1 + column] = m[account + 2 * column] + m[account + 2 * column + 1]
    m[at + 1 + SUMS] = m[account + A_FAULTS]


def remember(m, at, count):
    """At marked steps (half of a run of known length, else powers of two) remember the bias found so far."""
    if count >= m[at + A_MARK]:
        m[at + A_FIRST] = m[at + A_NEXT]
        m[at + A_NEXT] = m[at + A_BIAS]
        m[at + A_MARK] = 2.0 * m[at + A_MARK]


def book(m, h):
    """Book the step just taken into every row, and into the total where there is more than one row."""
    add(m, TIME, h)
    m[COUNT] += 1.0
    time = m[TIME] + m[TIME + 1]
    all_change = 0.0
    all_work = 0.0
    all_lost = 0.0
    all_booked = 0.0
    all_scale = 0.0
    for r in range(ROWS):
        work = m[RECEIVED + r]
        size = m[SCALE + r]  # of the state and of the powers received, whose sum may be far smaller
        for k in range(WIDTH):
            if ROW_OF_INPUT[k] == r:
                work += m[WORK + k]
                size += abs(m[WORK + k])
        lost = m[LOST + r]
        size += abs(lost)
        enter(m, ACCOUNTS + r * ACCOUNT_SIZE, m[CHANGE + r], work, lost, m[BOOKED + r], size, time)
        remember(m, ACCOUNTS + r * ACCOUNT_SIZE, m[COUNT])
        if ROWS > 1:
            all_change += m[CHANGE + r]
            all_work += work
            all_lost += lost if lost > 0.0 else 0.0
            all_booked += m[BOOKED + r]
            all_scale += size
    if ROWS > 1:
        enter(m, ACCOUNTS + ROWS * ACCOUNT_SIZE, all_change, all_work, all_lost, all_booked, all_scale, time)
        remember(m, ACCOUNTS + ROWS * ACCOUNT_SIZE, m[COUNT])
    if KEEPS_BOOK:
        for r in range(ACCOUNTS_COUNT):
            m[ACCOUNTS + r * ACCOUNT_SIZE + A_FAULTS] += m[FAULTS + r]
    for k in range(WIDTH):
        add(m, PORT_WORK + 2 * k, m[WORK + k])
