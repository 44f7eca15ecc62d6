"""Each stage between a program and the hand, one at a time and in order; simulated time, plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from device.test_replay import network, readings, written
from loop.scenes import law, wall
from passivo.network.guard import DAMPING, LATCHED, RUNNING

OPEN = {"slew": 1e6, "ramp": 1e-3}  # stages that let everything through


def sim(**options):
    return pv.devices.Sim(**{"engine": "python", "operator": pv.operators.push(5.0), "start": -5e-3, **options})


def run(net, seconds=0.3, **safety):
    return pv.Loop(net, safety=pv.Safety(**safety), clock="simulated", engine="python").run(seconds=seconds)


def wanted(report, seconds=0.3):
    """What would leave for the clamp, while the program is heard."""
    return report.rows["device.wanted"][: round(seconds / 1e-3)]


def test_a_force_that_jumps_is_slowed_down():
    with sim() as device:
        report = run(law(device, "1.5*(1 + tanh(1e6*depth))"), slew=100.0, clamp=False)
    change = np.abs(np.diff(wanted(report)[:, 0]))
    assert change.max() == pytest.approx(0.1, rel=1e-9) and report.interventions["device"]["slew limit"] > 10
    with sim() as device:
        report = run(law(device, "1.5*(1 + tanh(1e6*depth))"), **OPEN, clamp=False)
    assert np.abs(np.diff(wanted(report)[:, 0])).max() > 2.9


def test_the_norm_is_limited_and_the_direction_kept():
    with sim(degrees_of_freedom=2, start=0.0) as device:
        net = pv.Network()
        model = pv.Rendering({"end": pv.flow(width=2)}, {"end": ["30 + 0*x", "40 + 0*y"]}, signals=["x", "y"])
        part = net.add("wind", model, step=1e-3)
        net.connect(device["handle"], part["end"], through=pv.LedgerClamp(), name="touch")
        report = run(net, max_force=6.0, **OPEN, clamp=False)
    np.testing.assert_allclose(wanted(report)[5:], [[-3.6, -4.8]] * len(wanted(report)[5:]), rtol=1e-9)
    assert report.interventions["device"]["force limit"] > 100


def test_a_force_from_the_very_start_fades_in():
    with sim() as device:
        report = run(law(device, "3 + 0*depth"), slew=1e6, ramp=0.1, clamp=False)
    pushed = -wanted(report)[:, 0]
    np.testing.assert_allclose(pushed, 3.0 * np.minimum(np.arange(300) / 100.0, 1.0), atol=1e-9)
    assert report.interventions["device"]["start ramp"] == 100


def test_a_force_that_grows_from_nothing_needs_no_ramp():
    with sim() as device:
        report = run(wall(device, 1e3), slew=1e6, ramp=0.3, clamp=False)
    depth = np.maximum(report.rows["device.position"][:300, 0], 0.0)
    np.testing.assert_allclose(-wanted(report)[:, 0], 1e3 * depth, rtol=1e-12)
    assert report.interventions["device"]["start ramp"] == 0


def test_the_clamp_is_last_and_knows_the_force_that_acts():
    """A wall that pushes along: limited and slowed down by the stages before, it still gets no energy out."""
    for clamp in (True, False):
        with sim() as device:
            report = run(law(device, "-2e4*depth"), slew=500.0, max_force=10.0, clamp=clamp)
            least = device.least_energy
        assert report.interventions["device"]["slew limit"] > 0
        assert (least >= -1e-4) == clamp and (report.passive or not clamp)
    assert least < -0.1


def test_it_is_switched_off_by_name_alone_and_every_recording_says_so(tmp_path):
    with pytest.raises(pv.InputError, match="max_force"):
        pv.Safety(False)  # not by its name: a force limit, and none at that
    for clamp in (True, False):
        path = tmp_path / f"{clamp}.zarr"
        with sim() as device:
            loop = pv.Loop(wall(device), safety=pv.Safety(clamp=clamp), clock="simulated", engine="python")
            report = loop.run(0.1, record=path)
        assert ("switched off" in str(report)) != clamp
        assert pv.read_recording(path).header["safety"]["clamp"] is clamp


def test_without_the_hand_at_its_switch_it_is_damped_then_off_and_then_starts_gently(tmp_path):
    rows = readings(600)
    rows["pen.position"][:, 0] = 1e-3 + 1e-4 * np.sin(0.05 * np.arange(600))
    rows["pen.buttons"][:] = 1.0
    rows["pen.buttons"][100:400] = 0.0
    with pv.devices.Replay(written(tmp_path / "pen.zarr", rows), axes="x") as device:
        safety = pv.Safety(dead_man=0, linger=0.05, ramp=0.1, slew=1e6, clamp=False)
        report = pv.Loop(network(device), safety=safety, clock="simulated", engine="python").run(0.55)
    mode, force = report.rows["device.mode"][:, 0], report.rows["device.force"][:, 0]
    assert (mode[:100] == RUNNING).all() and (mode[100:149] == DAMPING).all()
    assert (mode[152:400] == LATCHED).all() and not force[152:400].any()
    assert (mode[400:550] == RUNNING).all() and not report.stopped
    share = -force[400:500] / (500.0 * report.rows["device.position"][400:500, 0])
    np.testing.assert_allclose(share, np.arange(100) / 100.0, atol=1e-9)  # of what the wall wants
