"""Slow parts on threads of their own: the same numbers as in the loop, one period late, and no tick waits for them."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import passivo as pv
from loop.scenes import balance, spring_and_mass
from passivo.loop.generate import may_step_beside
from passivo.loop.kernels import B_TICKS
from passivo.network.guard import LATCHED


def sim(**options):
    given = {"engine": "python", "operator": pv.operators.push(2.0), "rate": 1000.0}
    return pv.devices.Sim(**{**given, **options})


def loop(device, times=5, **options):
    return pv.Loop(spring_and_mass(device, times), engine="python", **options)


def test_only_slow_parts_that_step_at_the_end_of_their_period_may():
    with sim() as device:
        assert may_step_beside(loop(device).net) == ["mass"]
        assert may_step_beside(pv.Loop(spring_and_mass(device, order="staggered"), engine="python").net) == []
        with pytest.raises(pv.InputError, match="'spring' cannot step beside the loop"):
            loop(device, beside=["spring"])


def test_with_simulated_time_it_changes_nothing():
    """Ticks on time: the true length of a period is the nominal one, so one period late it is the same."""

    def rows(**options):
        with sim() as device:
            report = loop(device, clock="simulated", **options).run(seconds=0.2)
            return np.hstack(list(report.rows.values()))

    inside, beside = rows(), rows(beside=["mass"])
    assert inside.shape == beside.shape
    np.testing.assert_allclose(beside, inside, rtol=1e-12, atol=1e-15)


def test_the_balance_holds_when_ticks_come_late():
    with sim() as device:
        made = loop(device, clock="simulated", beside=["mass"], lates=[0.0, 0.0, 4e-4, 0.0, 2.3e-3])
        report = made.run(seconds=0.3)
    assert np.abs(balance(report)).max() <= 1e-12
    assert report.passive
    steps = report.network.parts["mass"]
    assert steps.time < report.seconds + 1e-9  # it never runs ahead


def test_a_part_that_is_not_ready_prolongs_its_period_and_no_tick_waits(monkeypatch, tmp_path):
    """The part's step takes 30 ticks, its period is 5; the loop ends after so many steps, however fast it is."""
    monkeypatch.setattr("passivo.device.sim.FINEST", 2e-3)  # plain Python keeps up with the clock
    with sim(rate=500.0) as device:
        made = loop(device, beside=["mass"])
        real, orders = made.module.toil_part, itertools.count()
        mode = made.columns.place("device.mode").start

        def slow(w, i):
            begun = made.book[B_TICKS]
            while made.running and made.row.any() and made.row[mode] != LATCHED and made.book[B_TICKS] < begun + 30:
                time.sleep(1e-3)
            if made.row.any() and next(orders) == 14:
                made.stop()
            real(w, i)

        monkeypatch.setattr(made.module, "toil_part", slow)
        report = made.run(record=tmp_path / "slow.mcap")
        monkeypatch.undo()
    postponed = report.rows["postponed"][:, 0]
    assert (postponed > 0.0).sum() > 10
    assert set(np.unique(postponed)) <= {0.0, 5.0}
    steps = report.network.parts["mass"].steps
    assert 14 <= steps <= 18
    assert report.ticks > 20 * steps
    assert any("thread of its own" in sentence for sentence in report.setup)
    assert np.abs(balance(report)).max() <= 1e-12
    audit = pv.audit(tmp_path / "slow.mcap")
    assert audit.ok, audit.findings


def test_a_part_that_fails_beside_the_loop_ends_it(monkeypatch):
    monkeypatch.setattr("passivo.device.sim.FINEST", 2e-3)
    with sim(rate=500.0) as device:
        made = loop(device, beside=["mass"])
        real, calls = made.module.toil_part, []

        def failing(w, i):
            real(w, i)
            calls.append(i)
            if len(calls) > 8:
                w[made.network.parts["mass"].module.BESIDE_STATUS] = 1.0

        monkeypatch.setattr(made.module, "toil_part", failing)
        report = made.run(seconds=60.0)
    assert "could not step" in report.stopped and report.verdict.kind == "none"
    assert report.seconds < 60.0
