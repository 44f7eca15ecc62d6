"""The clock of the loop, for machine code: seconds of CLOCK_MONOTONIC (as `time.monotonic`), and waiting for them.

`spec` is an array of two int64, scratch for the C library's `timespec`.
"""

from __future__ import annotations

import sys

from numba import njit, types

MONOTONIC = 6 if sys.platform == "darwin" else 1
ABSOLUTE = 1  # TIMER_ABSTIME
_POINTER = types.CPointer(types.int64)
_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, _POINTER))
_nanosleep = types.ExternalFunction("nanosleep", types.int32(_POINTER, _POINTER))
HAS_DEADLINES = sys.platform.startswith("linux")

if HAS_DEADLINES:
    _sleep_until = types.ExternalFunction("clock_nanosleep", types.int32(types.int32, types.int32, _POINTER, _POINTER))

    @njit(nogil=True, cache=True)
    def sleep_until(when, spec):
        """Sleep up to an absolute time."""
        spec[0] = int(when)
        spec[1] = int((when - float(spec[0])) * 1e9)
        _sleep_until(MONOTONIC, ABSOLUTE, spec.ctypes, spec.ctypes)

else:  # no absolute sleep: a relative one, which may be late by what happens in between

    @njit(nogil=True, cache=True)
    def sleep_until(when, spec):
        """Sleep up to an absolute time."""
        left = when - monotonic(spec)
        if left > 0.0:
            spec[0] = int(left)
            spec[1] = int((left - float(spec[0])) * 1e9)
            _nanosleep(spec.ctypes, spec.ctypes)


@njit(nogil=True, cache=True)
def monotonic(spec):
    """Seconds of the monotonic clock."""
    _gettime(MONOTONIC, spec.ctypes)
    return float(spec[0]) + 1e-9 * float(spec[1])


@njit(nogil=True, cache=True)
def wait_until(when, spin, spec):
    """Sleep until `spin` seconds before, then look at the clock until it is time. Returns the time it is."""
    now = monotonic(spec)
    if when - now > spin:
        sleep_until(when - spin, spec)
        now = monotonic(spec)
    while now < when:
        now = monotonic(spec)
    return now
