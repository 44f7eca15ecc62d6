"""The loop as machine code: the same bits as plain Python, no allocation, no need of the interpreter's lock."""

from __future__ import annotations

import ctypes
import sys
import threading
import time

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import passivo as pv
from loop.scenes import wall
from passivo.loop.kernels import B_TICKS


def sim(**options):
    return pv.devices.Sim(**{"operator": pv.operators.push(5.0), "start": -5e-3, **options})


def test_machine_code_and_plain_python_agree_to_the_last_bit():
    def rows(engine):
        faults = [("nan", 0.05, 0.053), ("frozen", 0.1, 0.102), ("stall", 0.15, 0.16)]
        with sim(seed=5, jitter=0.2, dropped=0.02, faults=faults, engine=engine) as device:
            lates = [0.0, 0.0, 3e-4, 0.0, 0.0, 1.7e-3]
            report = pv.Loop(wall(device), clock="simulated", engine=engine, lates=lates).run(seconds=0.25)
            return report.rows

    one, other = rows("python"), rows("numba")
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_million_ticks_at_10_khz_allocate_nothing():
    with sim(rate=10e3, encoder=1e-7) as device:
        loop = pv.Loop(wall(device), clock="simulated")
        loop.run(seconds=0.01)  # compiled
        _nrt_python.memsys_enable_stats()
        before = rtsys.get_allocation_stats()
        report = loop.run(seconds=100.0)
        after = rtsys.get_allocation_stats()
        least = device.least_energy
    assert report.ticks >= 10**6
    assert after.alloc - before.alloc < 10**4  # arrays that Python hands over as it looks on; none of a tick's
    assert report.passive and least >= -1e-4
    settled = report.rows["device.position"][: len(report.rows["tick"]) // 2, 0]
    assert 0.5 < settled.mean() / (5.0 / 20e3) < 2.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs the C library's usleep")
def test_who_holds_the_interpreters_lock_for_2_s_holds_no_tick_up():
    """Were the lock needed, every second tick would be missing. 100 Hz: other programs delay a tick by milliseconds,
    and no deadline is missed by that; `python -m bench loop` shows the same at 1 kHz.
    """
    lock = ctypes.PyDLL(None).usleep  # PyDLL: the lock is kept during the call

    def ticks(held):
        with sim(rate=100.0) as device:
            loop = pv.Loop(wall(device, 500.0))
            seen = []

            def hold():
                while loop.book[B_TICKS] < 50:  # the clock runs: what is compiled before takes however long it takes
                    time.sleep(0.01)
                seen.append(loop.book[B_TICKS])
                (lock if held else lambda microseconds: time.sleep(1e-6 * microseconds))(2_000_000)
                seen.append(loop.book[B_TICKS])

            other = threading.Thread(target=hold)
            other.start()
            report = loop.run(seconds=4.0)
            other.join()
        assert seen[0] < seen[1] < report.ticks  # it was held while the loop ran
        return report.ticks

    assert any(abs(ticks(held=True) / ticks(held=False) - 1.0) <= 0.02 for _ in range(3))
