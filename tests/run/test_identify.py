"""Devices told from their motion: known values come back, within what the windows and the encoder allow."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import passivo as pv
from passivo.run import identify
from passivo.run.identify import Motion, encoder_step, estimate, motion

STEPS, H = 3000, 1e-3


def shaking(size: float = 4.0, seed: int = 0) -> np.ndarray:
    """A force of four sines, slow and fast."""
    t, phases = np.arange(STEPS) * H, np.random.default_rng(seed).uniform(0, 6, 4)
    return size * sum(np.sin(2 * np.pi * f * t + p) for f, p in zip((0.7, 2.3, 5.1, 11.0), phases)) / 2


@cache
def shaken(friction: float, seed: int = 0, m: float = 0.15, b: float = 2.0) -> pv.Run:
    """A device shaken at its handle, with friction solved inside its steps."""
    law = {"hand": pv.Feedback(f"-{friction}*tanh(y/1e-3)")} if friction else {}
    inputs = {"handle": shaking(seed=seed), **law}
    return pv.simulate(pv.library.device(m, b), pv.AVF(), step=H, until=STEPS * H, inputs=inputs, engine="python")


def rounded(seen: Motion, grain: float) -> Motion:
    return Motion(seen.step, grain * np.round(seen.positions / grain), seen.forces) if grain else seen


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("grain", [0.0, 1e-6, 1e-4])
def test_known_devices_come_back(friction, grain):
    """Within six standard errors and a thousandth of the force: windows overlap, and the best of six widths is taken.

    At speeds of 0.6 to 0.9 m/s an encoder of 0.1 mm is worth a tenth of a millimetre in a motion of decimetres.
    """
    found = estimate(rounded(motion(shaken(friction)), grain))
    for estimated, value, size in (
        (found.mass, 0.15, 0.15),
        (found.damping, 2.0, 2.0),
        (found.friction, friction, 1.5),
    ):
        assert abs(estimated.value - value) <= 6 * estimated.error + 1e-9
        assert 6 * estimated.error <= (0.02 if grain > 1e-5 else 1e-3) * size
    assert found.encoder == pytest.approx(grain, rel=1e-9) and found.explained > 0.9999


@given(st.integers(0, 10**6), st.floats(0.02, 2.0), st.floats(0.1, 10.0), st.sampled_from([0.0, 1e-6, 5e-5]))
def test_any_device_moved_exactly(seed, m, b, grain):
    """Held forces, motion in closed form: estimates off by (b h/m)²/12 of the damping's force, and by the encoder."""
    rng = np.random.default_rng(seed)
    force = rng.uniform(-4, 4, 60).repeat(50)
    v, x, decay = 0.0, [0.0], np.exp(-b * H / m)
    for f in force:
        end = f / b + (v - f / b) * decay
        x.append(x[-1] + (f * H - m * (end - v)) / b)
        v = end
    found = estimate(rounded(Motion(H, np.array(x), force), grain))
    for estimated, value in ((found.mass, m), (found.damping, b), (found.friction, 0.0)):
        assert abs(estimated.value - value) <= 7 * estimated.error + 1e-9


def test_rounding_does_not_make_the_mass_smaller(monkeypatch):
    """In windows of 13 ms an encoder of 0.2 mm takes 3 % off the mass, unless its known share is taken off."""

    def off() -> float:
        seen = [rounded(motion(shaken(0.0, seed)), 2e-4) for seed in range(8)]
        return float(np.mean([identify._fitted(one, 6, 2e-4).mass.value / 0.15 - 1 for one in seen]))

    assert abs(off()) < 3e-3
    monkeypatch.setattr(identify, "_rounding", lambda *_: np.zeros((3, 3)))
    assert off() < -0.02


def test_the_encoder_shows_in_a_network():
    """Positions are those that the sampled port measured, late ones moved back; the device steps twice in a sample."""
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.3, b=1.0), pv.ExactHold(port="true"), step=H / 2)
    wall = net.add("wall", pv.library.wall(k=0.0), step=H)
    net.connect(device["handle"], wall["end"], pv.PassivityController(kind="none", encoder=2e-5, delay=2), "touch")
    net.observe(device["q"], wall["depth"], through="touch")
    inputs = {"device.hand": shaking().repeat(2)}
    found = pv.identify(pv.simulate(net, until=STEPS * H, inputs=inputs, engine="python"))
    assert found.encoder == pytest.approx(2e-5, rel=1e-9)
    assert found.mass.value == pytest.approx(0.3, rel=1e-3) and found.damping.value == pytest.approx(1.0, rel=5e-3)
    assert abs(found.friction.value) < 5e-3


def test_friction_that_was_held_is_known_to_no_port(tmp_path):
    """Sampled sign friction at the hand: only the force at the handle is known."""
    inputs = {"handle": shaking(), "hand": pv.Held(lambda t, v: -0.4 * np.sign(v))}
    device = pv.library.device(m=0.15, b=2.0)
    run = pv.simulate(device, pv.ExactHold(port="true"), H, STEPS * H, inputs=inputs, engine="python")
    run.save(tmp_path / "run.zarr")
    found = pv.identify(tmp_path / "run.zarr", ports=["handle"])
    # a force that is held for one sample after the motion turned is a sample late: 1 ms of some 100 between turns
    assert found.friction.value == pytest.approx(0.4, rel=0.02)
    assert found.mass.value == pytest.approx(0.15, rel=0.01) and found.damping.value == pytest.approx(2.0, rel=0.01)
    assert pv.identify(run).friction.value == pytest.approx(0.0, abs=1e-4)  # with all forces known there is none


def test_what_is_found_can_be_held(tmp_path):
    found = pv.identify(shaken(0.3))
    device = found.device(encoder=1e-6, delay=1)
    assert device == pv.DeviceModel(found.mass.value, found.damping.value, found.friction.value, 1e-6, 1)
    frictionless = pv.identify(shaken(0.0)).device()
    assert frictionless.friction >= 0.0 and frictionless.encoder == 0.0


def test_a_spring_is_not_taken_for_a_device():
    inputs = {"force": shaking()}
    run = pv.simulate(pv.library.oscillator(k=200.0, m=0.15, b=2.0), pv.AVF(), H, 3.0, inputs=inputs, engine="python")
    assert pv.identify(run).explained < 0.99


@pytest.mark.parametrize("step", [1e-6, 3.7e-5, 1e-3])
def test_the_encoder_step_is_the_common_measure(step):
    rng = np.random.default_rng(1)
    counts = rng.integers(2, 40, 300).cumsum()
    assert encoder_step(0.123 + step * counts) == pytest.approx(step, rel=1e-9)
    assert encoder_step(step * 6 * np.arange(9)) == pytest.approx(6 * step)
    assert encoder_step(rng.uniform(0, 1, 300).cumsum()) == 0.0 and encoder_step(np.zeros(9)) == 0.0


def test_what_cannot_be_identified_is_named(tmp_path):
    still = pv.simulate(pv.library.device(), pv.AVF(), H, 1.0, engine="python")
    with pytest.raises(pv.InputError, match="does not tell mass, damping and friction apart"):
        pv.identify(still)
    short = pv.simulate(pv.library.device(), pv.AVF(), H, 0.02, inputs={"hand": 1.0}, engine="python")
    with pytest.raises(pv.InputError, match="record a longer one"):
        pv.identify(short)
    mass = pv.simulate(pv.library.mass(), pv.AVF(), H, 0.02, engine="python")
    with pytest.raises(pv.InputError, match="has no positions"):
        pv.identify(mass)
    thin = pv.simulate(pv.library.device(), pv.AVF(), H, 0.02, record_every=2, engine="python")
    with pytest.raises(pv.InputError, match="record_every=1"):
        pv.identify(thin)
    with pytest.raises(pv.InputError, match="no port 'handel' that takes a force; did you mean 'handle'"):
        pv.identify(shaken(0.0), ports=["handel"])
    with pytest.raises(pv.FileError, match="not a saved run"):
        pv.identify(tmp_path)
    net = pv.Network()
    for name in ("one", "two"):
        net.add(name, pv.library.device(), pv.AVF(), step=H)
    run = pv.simulate(net, until=0.01, engine="python")
    with pytest.raises(pv.InputError, match=r"2 parts with a position and a force \(one, two\)"):
        pv.identify(run)
    with pytest.raises(pv.InputError, match="no device 'three'"):
        pv.identify(run, "three")
