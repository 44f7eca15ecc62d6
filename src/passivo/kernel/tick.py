"""What every stepping thing does around its method: check the input, advance, book, report. Kernels."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.provided import *

OK = 0
UNCONVERGED = 1
OUTSIDE = 2
NOT_FINITE = 3
BAD_INPUT = 4
CROWDED = 5  # more contacts than there is room for
OVERCROWDED = 6  # more than an exact solver takes
UNSOLVED = 7  # impulses at contacts that do not fulfil their conditions


def commit(m):
    """Move the state by STEP and add up, row by row, the change of stored energy and the scale of its rounding."""
    for i in range(STATES):
        old = m[STATE + i]
        new = old + m[STEP + i]
        if not isfinite(new):
            return NOT_FINITE
        m[NEXT + i] = new
        m[STEP + i] = new - old  # what was really added, so that the booked change is that of the stored states
    if HAS_DOMAIN and not inside(m):
        return OUTSIDE
    difference(m)
    # the new state is rounded, and the energy feels that by the gradient there, however small the mean gradient is
    end_gradient(m)
    for i in range(STATES):
        steepness = max(abs(m[GRADIENT + i]), abs(m[END_GRADIENT + i]))
        m[SCALE + ROW_OF_STATE[i]] += (abs(m[STATE + i]) + abs(m[STEP + i])) * steepness
    for r in range(ROWS):
        m[CHANGE + r] += m[DIFFERENCE + r]
        if not isfinite(m[CHANGE + r] + m[SCALE + r]):  # the scale overflows before the sums of the ledger do
            return NOT_FINITE
    for i in range(STATES):
        m[STATE + i] = m[NEXT + i]
    return OK


def tick(m, h):
    """One step of size h with the inputs in INPUT: advance and book, or leave the state as it was."""
    for k in range(WIDTH):
        m[WORK + k] = 0.0
        m[MEAN + k] = 0.0
    for k in range(RECORDED_COUNT):
        m[RECORDED + k] = 0.0
        m[RECORDED_NOISE + k] = 0.0
    m[PROOF + 1] = 0.0
    m[PROOF + 2] = 0.0
    for r in range(ROWS):
        m[LOST + r] = 0.0
        m[RECEIVED + r] = 0.0
        m[CHANGE + r] = 0.0
        m[SCALE + r] = 0.0
    if KEEPS_BOOK:
        for r in range(ACCOUNTS_COUNT):
            m[FAULTS + r] = 0.0
    for k in range(STAGES * (WIDTH + SIGNALS)):
        if not isfinite(m[INPUT + k]):
            return BAD_INPUT
    for i in range(STATES):
        m[START + i] = m[STATE + i]
    status = advance(m, h)
    if status != OK:  # substeps may have been taken: undo them
        for i in range(STATES):
            m[STATE + i] = m[START + i]
        for k in range(WIDTH):
            m[WORK + k] = 0.0
            m[MEAN + k] = 0.0
        for r in range(ROWS):
            m[LOST + r] = 0.0
        return status
    for k in range(WIDTH):
        m[MEAN + k] /= h
    if RECORDED_COUNT > 0:
        m[RECORDED_TIME] += h
    for k in range(RECORDED_COUNT):
        m[RECORDED_SUM + k] += m[RECORDED + k]
        m[RECORDED + k] /= h
    book(m, h)
    return OK


def show_rows(m, at):
    """The columns of every account, from `at` on; the energy stored in all of them."""
    energy(m)
    whole = 0.0
    for r in range(ROWS):
        whole += m[ENERGY + r]
        show(m, ACCOUNTS + r * ACCOUNT_SIZE, at + r * LEDGER_COLUMNS, m[ENERGY + r])
    if ROWS > 1:
        show(m, ACCOUNTS + ROWS * ACCOUNT_SIZE, at + ROWS * LEDGER_COLUMNS, whole)
    return whole


def report(m):
    """Fill REPORT: time, the states that are kept, inputs, outputs, work per port component, the columns of each
    account, and what the method itself records: its mean over the steps since the last report."""
    output(m)
    at = REPORT
    m[at] = m[TIME] + m[TIME + 1]
    at += 1
    for i in range(KEPT_COUNT):
        m[at + i] = m[STATE + i] if KEEPS_ALL else m[STATE + KEPT[i]]
    at += KEPT_COUNT
    for k in range(WIDTH + SIGNALS):
        m[at + k] = m[USED + k]
    at += WIDTH + SIGNALS
    for k in range(WIDTH):
        m[at + k] = m[OUTPUT + k]
        m[at + WIDTH + k] = m[PORT_WORK + 2 * k] + m[PORT_WORK + 2 * k + 1]
    show_rows(m, at + 2 * WIDTH)
    at += 2 * WIDTH + ACCOUNTS_COUNT * LEDGER_COLUMNS
    if RECORDED_COUNT > 0 and m[RECORDED_TIME] > 0.0:
        for k in range(RECORDED_COUNT):
            m[RECORDED_SHOWN + k] = m[RECORDED_SUM + k] / m[RECORDED_TIME]
            m[RECORDED_SUM + k] = 0.0
        m[RECORDED_TIME] = 0.0
    for k in range(RECORDED_COUNT):
        m[at + k] = m[RECORDED_SHOWN + k]


def look(m):
    """Energies and output at the present state."""
    energy(m)
    output(m)


def refresh(m):
    """After a change of parameters or state by hand: constants, heights, energies, output, report."""
    prepare(m)
    ready(m)
    heights(m)
    report(m)


def step(m, h):
    """`tick`, to be called from Python."""
    return tick(m, h)


def run(m, h, table, out, steps, every):
    """`steps` ticks; row k of `table` holds the inputs of step k (one row: the same for all). Returns the steps done.

    Rows of `out` are filled at every `every`-th step of the run as a whole; STATUS says how it ended.
    """
    held = table.shape[0] == 1
    wait = every - int(m[COUNT]) % every  # counted down: no division per step
    at = 0
    for k in range(steps):
        row = 0 if held else k
        for j in range(STAGES * (WIDTH + SIGNALS)):
            m[INPUT + j] = table[row, j]
        status = tick(m, h)
        m[STATUS] = float(status)
        if status != OK:
            return k
        wait -= 1
        if wait == 0:
            report(m)
            for j in range(REPORT_SIZE):
                out[at, j] = m[REPORT + j]
            at += 1
            wait = every
    return steps


KERNELS = (commit, tick, show_rows, report)
ENTRIES = (look, refresh, step, run)
