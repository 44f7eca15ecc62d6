"""Rows from a real-time thread to one that may wait: a ring without locks, one producer, one consumer.

The producer never waits: where the ring is full, the row is dropped and counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from passivo.errors import InputError
from passivo.kernel.atomics import load_acquire, store_release

WRITTEN, TAKEN, DROPPED = 0, 1, 2  # places in `marks`


def push(data, marks, row, width):
    """Append the first `width` numbers of `row`, or count it as dropped. A kernel: compile it, or paste its source."""
    written = load_acquire(marks, 0)
    if written - load_acquire(marks, 1) == data.shape[0]:
        store_release(marks, 2, load_acquire(marks, 2) + 1)
        return
    place = written % data.shape[0]
    for i in range(width):
        data[place, i] = row[i]
    store_release(marks, 0, written + 1)


@njit(nogil=True, cache=True)
def _waiting(marks: Any) -> int:
    return load_acquire(marks, WRITTEN) - load_acquire(marks, TAKEN)


@njit(nogil=True, cache=True)
def _mark(marks: Any, place: int) -> int:
    return load_acquire(marks, place)


@njit(nogil=True, cache=True)
def _drain(data: Any, marks: Any, rows: Any) -> None:
    """The oldest rows into `rows`, as many as fit; they must be there."""
    taken = load_acquire(marks, TAKEN)
    for k in range(rows.shape[0]):
        place = (taken + k) % data.shape[0]
        for i in range(rows.shape[1]):
            rows[k, i] = data[place, i]
    store_release(marks, TAKEN, taken + rows.shape[0])


class Ring:
    """`capacity` rows of `width` numbers.

    data   (capacity, width), row k of all at k % capacity
    marks  rows written so far, rows taken so far, rows dropped because the ring was full
    """

    def __init__(self, width: int, capacity: int):
        if width < 1 or capacity < 1:
            raise InputError(f"a ring needs a width and a capacity of at least 1, not {width} and {capacity}")
        self.width, self.capacity = int(width), int(capacity)
        self.data = np.zeros((self.capacity, self.width))
        self.marks = np.zeros(3, dtype=np.int64)
        self.take()  # compiled before anything waits for it
        _ = self.dropped

    def take(self) -> np.ndarray:
        """A copy of the rows not yet taken, oldest first; one thread only may take."""
        rows = np.empty((_waiting(self.marks), self.width))
        _drain(self.data, self.marks, rows)
        return rows

    def __len__(self) -> int:
        """Rows that wait to be taken."""
        return int(_waiting(self.marks))

    @property
    def dropped(self) -> int:
        return int(_mark(self.marks, DROPPED))
