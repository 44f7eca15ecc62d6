"""The measure of lateness; nothing here depends on how late this machine is."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

import passivo as pv
from passivo.loop.latency import Latency, busy, latency


@pytest.fixture(scope="module")
def found():
    return latency(1000.0, 0.2, clock="simulated", engine="python")


def test_every_tick_is_in_a_bar(found):
    assert sum(count for *_, count in found.bars) == found.report.ticks
    assert found.bars[0][0] == 0.0 and found.busy == 0


def test_bars_follow_each_other(found):
    counts = np.zeros_like(found.report.lateness.counts)
    counts[[10, 120, 200]] = [3, 2, 1]
    late = type(found.report.lateness)(counts, 2e-3)
    bars = Latency(1e3, 0, type(found.report)(**{**vars(found.report), "lateness": late})).bars
    assert [count for *_, count in bars if count] == [3, 2, 1]
    assert all(a[1] == b[0] for a, b in itertools.pairwise(bars))
    assert bars[-1][0] < 2e-3 <= bars[-1][1]


def test_the_run_is_watched():
    seen = []

    @contextlib.contextmanager
    def watch(loop):
        seen.append(loop)
        yield

    latency(2000.0, 0.05, watch=watch, clock="simulated", engine="python")
    assert seen[0].period == 5e-4 and seen[0].row.size > 0


def test_busy_processes_end_whatever_happens():
    with pytest.raises(KeyboardInterrupt), busy(2) as running:
        assert [process.poll() for process in running] == [None, None]
        raise KeyboardInterrupt
    assert all(process.returncode is not None for process in running)


@pytest.mark.parametrize("rate", [0.0, 1e6, float("nan"), "fast"])
def test_rates_that_cannot_be(rate):
    with pytest.raises(pv.InputError, match="the rate is a number of ticks per second"):
        latency(rate)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), "long"])
def test_lengths_that_cannot_be(seconds):
    with pytest.raises(pv.InputError, match="seconds must be a positive number"):
        latency(seconds=seconds, watch=lambda loop: pytest.fail("begun"))


def test_the_histogram_is_drawn(found, tmp_path):
    for kind in ("png", "svg"):
        found.plot(tmp_path / f"latency.{kind}")
        assert (tmp_path / f"latency.{kind}").stat().st_size > 5_000
