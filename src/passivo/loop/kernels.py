"""The loop as kernels, pasted into the module of its network: one tick, one device's reading, and the loop itself.

A tick: wait for the deadline, read the devices, let every part whose period ends step by the time that really went by,
let the junctions decide the forces of the periods that begin, write them.
"""

from __future__ import annotations

from math import inf, isfinite, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.device.driver import *
    from passivo.kernel.atomics import load_acquire, store_release
    from passivo.kernel.clock import monotonic, wait_until
    from passivo.network.clamp import CLAMP_LONGEST, CLAMP_NEED
    from passivo.network.guard import (
        ALL_WELL,
        BRIEFEST,
        DEVICE_FAULT,
        FASTEST,
        NETWORK_FAILED,
        NO_HAND,
        TOLD_TO_STOP,
        UNPLUGGED,
    )  # fmt: skip
    from passivo.provided import *
    from passivo.record.ring import push

# places in `book`, what Python and the loop tell each other
B_PERIOD = 0  # seconds between two ticks
B_LENGTH = 1  # seconds after which the loop stops by itself
B_REAL = 2  # 1: against the clock; 0: simulated time, as fast as it goes
B_SPIN = 3  # seconds before a deadline in which the clock is watched
B_STOP = 4  # set by Python: stop
B_TICKS = 5
B_MISSED = 6  # deadlines that went by unused
B_LATEST = 7  # the largest lateness, s
B_BUSY = 8  # seconds of computing, and the most in one tick
B_BUSIEST = 9
B_FAILED = 10  # 1: a part of the network could not step
B_BEGAN = 11  # the time of the first tick
B_NOW = 12
B_LATENESS = 13  # of the last tick
B_ELAPSED = 14
B_PATIENCE = 15  # seconds beyond its time that a reading is waited for
B_LATE = 16  # the period of a part beside the loop that was not ready for this tick, or 0
B_SIZE = 17

NEARLY = 1e-6  # of a period: a deadline that is so near is over, so that every tick takes some time
IDLE = 5e-5  # seconds between two looks of a thread that waits for an order

# the histogram of lateness: bin k holds what is below LEAST * STEP**(k + 1)
BIN_COUNT = 400
BIN_LEAST = 1e-7
BIN_STEP = 1.05


LEAP = 10.0  # times the greatest speed: no handle moves like that, the reading is wrong


# -- one device ------------------------------------------------------------------------------------------------------


def accept(m):
    """Take a reading over if it is a new one and makes sense; otherwise the handle stays where it was, GONE."""
    flags = int(m[READ + R_FLAGS])
    alarm = float(ALL_WELL)
    if flags & FLAG_UNPLUGGED:
        alarm = float(UNPLUGGED)
    elif flags & FLAGS_FAULTY:
        alarm = float(DEVICE_FAULT)
    elif flags & FLAG_OVER:
        alarm = float(TOLD_TO_STOP)
    elif (flags & FLAG_NO_HAND) or (int(m[DEAD_MAN]) & int(m[READ + R_BUTTONS])) != int(m[DEAD_MAN]):
        alarm = float(NO_HAND)
    m[GUARD_ALARM] = max(alarm, m[STOP_ALARM]) if alarm != NO_HAND or m[STOP_ALARM] == 0.0 else m[STOP_ALARM]
    good = True
    if flags & FLAG_UNPLUGGED or not m[READ + R_SEQUENCE] > m[LAST_SEQUENCE]:
        good = False
        m[REFUSED_OLD] += 1.0
    elif m[READ + R_TIME] <= m[LAST_TIME]:  # false where the device has no clock: NaN
        good = False
        m[REFUSED_TIME] += 1.0
    else:
        for k in range(CHOSEN_COUNT):
            good = good and isfinite(m[READ + R_POSITION + CHOSEN[k]])
        if not good:
            m[REFUSED_VALUE] += 1.0
        elif not plausible(m):
            good = False
            m[REFUSED_PLACE] += 1.0
    if isfinite(m[READ + R_SEQUENCE]):
        m[LAST_SEQUENCE] = max(m[LAST_SEQUENCE], m[READ + R_SEQUENCE])
    if isfinite(m[READ + R_TIME]):
        m[LAST_TIME] = max(m[LAST_TIME], m[READ + R_TIME])
    m[GUARD_GONE] = 0.0 if good else 1.0
    if good:
        m[LAST_HOST] = m[READ + R_HOST]
    for k in range(CHOSEN_COUNT):
        m[TOLD + k] = m[READ + R_POSITION + CHOSEN[k]] if good else m[HANDLE_STATE + k]


def plausible(m):
    """Whether the handle can have come there from where it was: not many times faster than it may go."""
    if not isfinite(m[LAST_HOST]):
        return True
    total = 0.0
    for k in range(CHOSEN_COUNT):
        gap = m[READ + R_POSITION + CHOSEN[k]] - m[HANDLE_STATE + k]
        total += gap * gap
    far = LEAP * m[GUARD_SAFETY + FASTEST] * max(m[READ + R_HOST] - m[LAST_HOST], m[GUARD_SAFETY + BRIEFEST])
    return total <= far * far


def place_handle(m):
    """The first reading: where the handle begins. Whether it could be used."""
    for k in range(CHOSEN_COUNT):
        m[HANDLE_STATE + k] = m[TOLD + k]
        m[GUARD_MEASURED + k] = m[TOLD + k]
    return m[GUARD_GONE] == 0.0 and m[GUARD_ALARM] != UNPLUGGED


def reckon(m, elapsed):
    """Before a tick is stepped: where the device dropped the force before its end, the work counts at worst."""
    m[TOLD + CHOSEN_COUNT] = 0.0
    if HAS_WATCHDOG and m[GUARD_ELAPSED] + elapsed > m[GUARD_CLAMP + CLAMP_LONGEST]:
        m[TOLD + CHOSEN_COUNT] = 1.0
        m[TOLD + CHOSEN_COUNT + 1] = max(m[GUARD_CLAMP + CLAMP_NEED], 0.0)
    if m[GUARD_OWED] > 0.0:
        m[TOLD + CHOSEN_COUNT] = 1.0
        m[TOLD + CHOSEN_COUNT + 1] = m[GUARD_OWED]
        m[GUARD_OWED] = 0.0
    m[AT_WORST] = m[TOLD + CHOSEN_COUNT]


def order(m):
    """SAY: what the handle shall feel, over all axes."""
    for k in range(AXES_COUNT):
        m[SAY + k] = 0.0
    for k in range(CHOSEN_COUNT):
        m[SAY + CHOSEN[k]] = -m[GUARD_HELD + k]


DEVICE_KERNELS = (plausible, accept, place_handle, reckon, order)


# -- the whole ---------------------------------------------------------------------------------------------------------


def pulse(m, w, table, out, elapsed, late):
    """All that a tick computes, from its readings to its forces; `elapsed` < 0: the first one, nothing went by.

    `late` is the period of a part that is stepped beside the loop and not ready yet, or 0. A part that could not step
    makes the network DEAD: it is no longer heard, and the handles are damped.
    """
    if elapsed >= 0.0:
        if late > 0.0:
            postpone_all(m, late)
        reckon_all(m, elapsed)
        stretch(m, elapsed)
        regain_all(m, w)
        end(m, out)
        m[TICK] += 1.0
    if m[DEAD] != 0.0:
        alarm_all(m, float(NETWORK_FAILED))
    begin(m, table, out)
    lend_all(m, w)


def tally(bins, lateness):
    """Count a lateness."""
    place = 0
    if lateness > BIN_LEAST:
        place = min(int(log(lateness / BIN_LEAST) / log(BIN_STEP)), BIN_COUNT - 1)
    bins[place] += 1


def live(m, w, box, tape, table, out, book, orders, lates, bins, data, marks, row, spec):
    """Ticks until the limit or until told to stop, then damping, then no force. 0 where the first reading is useless.

    Work for other threads is in `orders`; with simulated time it is done here.
    """
    real = book[B_REAL] == 1.0
    period = book[B_PERIOD]
    now = monotonic(spec) if real else book[B_BEGAN]
    greet(m, box, tape, now)
    if not place_all(m):
        return 0.0
    begun = now
    if real:
        now = made(m, -inf, now)
    book[B_BEGAN] = now
    deadline = now
    done = now
    elapsed = 0.0
    first = True
    while True:
        if not first:
            if now - book[B_BEGAN] >= book[B_LENGTH] or load_acquire(book, B_STOP) != 0.0:
                alarm_all(m, float(TOLD_TO_STOP))
            if all_latched(m):
                break
            if paced(m):
                deadline = now
            missed = float(int(max(done - deadline, 0.0) / period + NEARLY))
            book[B_MISSED] += missed
            deadline += (missed + 1.0) * period  # what is over is not made up for: the next step is longer
            last = now
            if real:
                now = await_tick(m, box, book, deadline, spec)
            else:
                now = max(deadline, now) + lates[int(book[B_TICKS]) % lates.shape[0]]
            book[B_LATENESS] = max(now - deadline, 0.0)
            tally(bins, book[B_LATENESS])
            book[B_LATEST] = max(book[B_LATEST], book[B_LATENESS])
            begun = now
            now = listen(m, box, tape, now)
            if real and now > begun:
                now = wait_until(now, book[B_SPIN], spec)
            begun = now
            if real:
                now = made(m, last, now)
            elapsed = now - last
            book[B_TICKS] += 1.0
            book[B_LATE] = unready(m, orders) if real else 0.0
        pulse(m, w, table, out, -1.0 if first else elapsed, book[B_LATE])
        speak(m, box, now)
        if real:
            order_all(m, orders)
        else:
            toil_all(m, w)
        first = False
        book[B_NOW] = now
        book[B_ELAPSED] = elapsed
        note(m, book, row)
        while (
            not real
            and load_acquire(marks, 0) - load_acquire(marks, 1) == data.shape[0]
            and load_acquire(book, B_STOP) == 0.0
        ):
            wait_until(monotonic(spec) + IDLE, 0.0, spec)  # simulated time can wait for whoever takes the rows
        push(data, marks, row, ROW_WIDTH)
        done = now
        if real:
            done = monotonic(spec)
            book[B_BUSY] += done - begun
            book[B_BUSIEST] = max(book[B_BUSIEST], done - begun)
    hush(m, box, now)
    book[B_FAILED] = m[DEAD]
    return 1.0


def relive(m, w, table, out, rows, again, book, begin_at, end_at):
    """Repeat recorded ticks from their readings and their true times, into `again`."""
    for i in range(begin_at, end_at):
        recall(m, rows, i)
        if i == 0:
            place_all(m)
        pulse(m, w, table, out, -1.0 if i == 0 else rows[i, ROW_ELAPSED], rows[i, ROW_LATE])
        toil_all(m, w)
        note(m, book, again[i])
        for k in range(LEADING_COUNT):
            again[i, k] = rows[i, k]


def labour(w, orders, i, spec):
    """The thread that steps part i beside the loop, whenever there is an order."""
    while load_acquire(orders, 0) == 0.0:
        if load_acquire(orders, 2 * i + 1) > load_acquire(orders, 2 * i + 2):
            toil_one(w, i)
            store_release(orders, 2 * i + 2, load_acquire(orders, 2 * i + 1))
        else:
            wait_until(monotonic(spec) + IDLE, 0.0, spec)


def toil_one(w, i):
    """One step of part i, which stands in `w`."""
    toil_part(w, i)


KERNELS = (pulse, tally)
ENTRIES = (live, relive, toil_one, labour)
