"""Drivers in Python behind a compiled loop: a box of numbers that both can reach, without locks.

Readings and forces go in lockstep: the n-th reading is published, the loop answers it, and that force acts until the
next reading. So every force is held between two known positions, which is what the energy ledger needs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.device import driver
from passivo.device.driver import Driver, read_size, sources

if TYPE_CHECKING:
    from passivo.device.device import Device
    from passivo.device.driver import *
    from passivo.kernel.atomics import load_acquire, store_release
    from passivo.kernel.clock import monotonic, wait_until
    from passivo.kernel.module import Piece
    from passivo.provided import *

# places in a device's part of the box
BOX_PUBLISHED = 0  # readings so far
BOX_ANSWERED = 1  # the reading that the force answers
BOX_HEAD = 2  # then two readings in turn, then two forces in turn

NAP = 2e-5  # seconds between two looks into the box


def box_size(axes: int) -> int:
    return BOX_HEAD + 2 * read_size(axes) + 2 * axes


def hear(m, box, tape, now):
    """The newest reading."""
    at = int(m[BOX])
    m[HEARD] = load_acquire(box, at + BOX_PUBLISHED)
    slot = at + BOX_HEAD + (int(m[HEARD]) % 2) * BOXED_SIZE
    for k in range(BOXED_SIZE):
        m[READ + k] = box[slot + k]
    return now


def say(m, box, now):
    """The force that answers the reading."""
    at = int(m[BOX])
    slot = at + BOX_HEAD + 2 * BOXED_SIZE + (int(m[HEARD]) % 2) * BOXED_AXES
    for k in range(BOXED_AXES):
        box[slot + k] = m[SAY + k]
    store_release(box, at + BOX_ANSWERED, m[HEARD])


def arrange(m):
    """Nothing to set up."""
    m[HEARD] = 0.0


def await_reading(m, box, patience, deadline, spec):
    """Until there is a new reading, but not much beyond the deadline."""
    now = monotonic(spec)
    while load_acquire(box, int(m[BOX]) + BOX_PUBLISHED) == m[HEARD] and now < deadline + patience:
        now = wait_until(now + NAP, 0.0, spec)
    return now


def boxed_driver(device: Device) -> Driver:
    """The driver of a device whose `_read` and `_write` are Python."""
    axes = device.info.degrees_of_freedom

    def piece(layout: Any, numbers: Mapping[str, Any]) -> Piece:
        from passivo.kernel.module import Piece, numbers_of

        own = {**numbers_of(sys.modules[__name__], driver), "BOXED_SIZE": read_size(axes), "BOXED_AXES": axes}
        own["HEARD"] = layout.size
        layout.size += 1
        return Piece({**own, **numbers}, (), (hear, say, arrange, await_reading))

    nothing = lambda memory, number, tape_at, seconds: np.zeros(0)  # noqa: E731
    return Driver(["boxed", axes, sources(sys.modules[__name__], driver)], piece, nothing, boxed=True)
