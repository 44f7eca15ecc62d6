"""A bouncing mass: exact flight, exact impact times, every joule accounted for."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv


def drop(restitution: float, until: float, step: float = 1e-3, engine="python", **options):
    method = pv.ExactBounce(restitution)
    start = {"q": 0.2, **options.pop("start", {})}
    return pv.simulate(pv.library.bouncing_mass(), method, step, until, start=start, engine=engine, **options)


def test_an_elastic_ball_keeps_its_energy_and_its_period():
    """From 0.2 m: impacts at t0, 3 t0, 5 t0 ... with t0 = sqrt(2 h/g), whatever the step."""
    for step in (1e-3, 0.0173, 0.5):
        run = drop(1.0, 20.0, step)
        assert run.verdict.kind == "exact"
        t0, t = np.sqrt(0.4 / 9.81), run.time
        since = (t + t0) % (2 * t0) - t0
        assert np.abs(run["q"].values - (0.2 - 9.81 * since**2 / 2)).max() < 1e-11
    assert drop(1.0, 2.0, engine="numba").verdict.kind == "exact"


def test_impacts_lose_what_restitution_says_and_end_in_rest():
    run = drop(0.5, 3.0)
    lost = run.ledger.lost.sel(part="total").values
    energy = 0.2 * 9.81 * 0.2
    levels = energy * (1 - 0.25 ** np.arange(5))
    assert all(np.isclose(lost, level, rtol=1e-12).any() for level in levels)
    end = 3 * np.sqrt(0.4 / 9.81)  # t0 (1 + e)/(1 − e)
    assert run["q"].values[run.time > end + 1e-3].max() == 0.0
    assert run["p"].values[-1] == 0.0 and lost[-1] == pytest.approx(energy, rel=1e-12)
    assert run.verdict.kind == "exact"


def test_a_held_force_lifts_it_off_again():
    force = np.where(np.arange(2000) < 1000, 0.0, 3.0)
    run = drop(0.0, 2.0, inputs={"force": force})
    t = run.time[1000:] - 1.0
    assert np.allclose(run["q"].values[1000:], (3.0 / 0.2 - 9.81) * t**2 / 2, atol=1e-12)
    assert run.work["force"].values[-1] == pytest.approx(3.0 * run["q"].values[-1], rel=1e-12)
    assert run.verdict.kind == "exact"


def test_a_force_downwards_and_a_start_on_the_floor():
    run = drop(0.8, 1.0, start={"q": 0.0, "p": -0.3}, inputs={"force": -2.0})
    assert run["q"].values.min() >= 0.0 and run.verdict.kind == "exact"
    assert run["p"].values[1] == pytest.approx(0.8 * 0.3 - 1e-3 * (2.0 + 0.2 * 9.81), rel=1e-12)


def test_what_it_does_not_step():
    with pytest.raises(pv.MethodError, match="restitution is a number from 0 to 1"):
        drop(1.5, 1.0)
    with pytest.raises(pv.MethodError, match="without loss; see passivo"):
        pv.simulate(pv.library.device(), pv.ExactBounce(), engine="python")
    with pytest.raises(pv.MethodError, match="one mass with one position"):
        pv.simulate(pv.library.mass(), pv.ExactBounce(), engine="python")
    with pytest.raises(pv.MethodError, match="give a Held function"):
        drop(1.0, 1.0, inputs={"force": pv.Feedback("-y")})
