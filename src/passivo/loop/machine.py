"""What the operating system allows a thread that must be on time: real-time priority, locked memory, exact timers."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PRIORITY = 80
SLACK = 1  # ns
PR_SET_TIMERSLACK = 29
LOCK_PRESENT = 1  # MCL_CURRENT


@contextmanager
def on_time(sentences: list[str]) -> Iterator[None]:
    """Make the calling thread as punctual as it may be; what was refused is told in a plain sentence."""
    if not sys.platform.startswith("linux"):
        sentences.append("This system knows no absolute deadlines for sleeping; ticks may come late.")
        yield
        return
    sentences.append(_priority())
    sentences.append(_timers())
    locked, sentence = _lock()
    sentences.append(sentence)
    sentences[:] = [sentence for sentence in sentences if sentence]
    try:
        yield
    finally:
        if locked:
            _libc().munlockall()
        _ordinary()


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _priority() -> str:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        return ""
    except OSError:
        return (
            "Real-time priority (SCHED_FIFO) was refused, so other programs may delay ticks; "
            "allow it with 'ulimit -r 80' or in /etc/security/limits.conf (rtprio)."
        )


def _ordinary() -> None:
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _timers() -> str:
    if _libc().prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(SLACK), 0, 0, 0) != 0:
        return "The slack of timers could not be lowered; ticks may come up to 50 µs later."
    return ""


def _lock() -> tuple[bool, str]:
    if _libc().mlockall(LOCK_PRESENT) == 0:
        return True, ""
    return False, (
        "Memory could not be locked (mlockall), so a page fault may delay a tick; allow it with 'ulimit -l unlimited'."
    )


def stolen_seconds() -> float:
    """CPU seconds that the host of this virtual machine has taken so far; NaN where that is not known."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            fields = file.readline().split()
        return int(fields[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return float("nan")
