"""The simulated device: options, its two clocks, its faults in a loop of one's own, and its physics."""

from __future__ import annotations

import time

import numpy as np
import pytest

import passivo as pv
from loop.scenes import wall
from passivo.device.state import Answer, Life


def sim(**options):
    return pv.devices.Sim(**{"engine": "python", **options})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mass": 0.0}, "mass must be a number > 0"),
        ({"damping": -1.0}, "damping must be a number >= 0"),
        ({"encoder": float("nan")}, "encoder must be a number >= 0"),
        ({"watchdog": 0.0}, "watchdog must be a number > 0"),
        ({"delay": 0.5}, "delay is a whole number of samples"),
        ({"dropped": 1.0}, "dropped is below 1"),
        ({"seed": -1}, "seed is a whole number"),
        ({"pace": "hand"}, "'client' or 'device', not 'hand'"),
        ({"degrees_of_freedom": 4}, "1, 2 or 3 degrees of freedom"),
        ({"operator": 5.0}, r"pv\.operators\.push\(5\.0\), not 5\.0"),
        ({"start": "here"}, "start is a finite number"),
        ({"engine": "c"}, "no engine 'c'"),
        ({"faults": [("nan",)]}, "faults are as in"),
        ({"faults": [("nap", 0.1)]}, "no fault 'nap'; did you mean 'nan'"),
        ({"faults": [("nan", 0.2, 0.1)]}, "from begin to a later end"),
        ({"faults": [("stall", 0.2)]}, "from begin to a later end"),
    ],
)
def test_options_that_cannot_be(options, why):
    with pytest.raises(pv.InputError, match=why):
        sim(**options)


def test_a_device_that_owns_the_clock_paces_a_loop():
    """Its clock is slow by half: no tick can be there before its reading is, however early its deadline."""
    with sim(rate=100.0, pace="device", drift=-0.5) as device:
        report = pv.Loop(wall(device, 100.0), engine="python").run(seconds=0.5)
        assert device.info.owns_clock
    assert not report.stopped and 5 < report.ticks < 40
    assert report.rows["elapsed"][1:].min() > 0.0199


def test_two_devices_that_own_the_clock_are_refused():
    with sim(pace="device") as one, sim(pace="device", name="other") as two:
        net = wall(one)
        part = net.add("floor", pv.library.wall(), step=1e-3)
        net.connect(two["handle"], part["end"], through=pv.LedgerClamp(), name="under")
        net.observe(two["position"], part["depth"])
        with pytest.raises(pv.InputError, match="device and other both own the clock"):
            pv.Loop(net, engine="python")


def test_alone_it_gives_readings_at_its_own_pace():
    with sim(rate=100.0, pace="device", drift=-0.5) as device:
        begun = time.monotonic()
        numbers = [device.wait_tick().sequence for _ in range(5)]
        assert numbers == [1, 2, 3, 4, 5] and time.monotonic() - begun >= 4 * 0.02 - 1e-6
    with sim(rate=0.01, pace="device") as device:
        device.wait_tick()
        with pytest.raises(pv.DeviceError, match=r"no reading within 0\.001 s"):
            device.wait_tick(timeout=1e-3)


def fall(device, times, force=0.0):
    """Readings at given times after the first, with a held force."""
    device._state(100.0)
    device._memory[device._module.SAY] = force
    device._module.sim_say(device._memory, device._box, 100.0)
    return [device._state(100.0 + t) for t in times]


def test_the_handle_moves_as_its_equation_says():
    with sim(mass=0.2, damping=1.5, encoder=0.0, operator=pv.operators.push(3.0)) as device:
        (state,) = fall(device, [0.1], force=-1.0)
    lag = 0.2 / 1.5
    exact = 2.0 / 1.5 * (0.1 - lag * (1.0 - np.exp(-0.1 / lag)))
    assert state.position[0] == pytest.approx(exact, rel=1e-6)
    assert state.applied == (-1.0,)
    assert device.true_energy == pytest.approx(state.position[0], rel=1e-12)  # −F Δx, and it went forward


def test_dry_friction_holds_what_pushes_less():
    for push, moves in ((0.5, False), (3.0, True)):
        with sim(friction=1.0, encoder=0.0, operator=pv.operators.push(push)) as device:
            (state,) = fall(device, [0.2])
        assert (state.position[0] > 1e-3) == moves


def test_encoder_and_delay():
    with sim(encoder=1e-4, delay=2, operator=pv.operators.push(5.0)) as device:
        seen = [state.position[0] for state in fall(device, np.arange(1, 40) * 1e-3)]
    with sim(encoder=0.0, operator=pv.operators.push(5.0)) as device:
        true = [state.position[0] for state in fall(device, np.arange(1, 40) * 1e-3)]
    np.testing.assert_allclose(np.round(np.array(seen) / 1e-4) * 1e-4, seen, atol=1e-12)
    assert np.abs(np.array(seen[2:]) - true[:-2]).max() <= 0.5e-4 + 1e-12


def test_a_watchdog_drops_the_force():
    with sim(watchdog=5e-3, encoder=0.0, damping=0.0, mass=1.0) as device:
        (state,) = fall(device, [0.1], force=1.0)
    assert state.position[0] == pytest.approx(0.5 * 5e-3**2 + 5e-3 * 0.095, rel=1e-9)


@pytest.mark.parametrize("kind", ["nan", "infinite", "jump", "frozen", "backwards"])
def test_a_fault_in_a_loop_of_ones_own_leaves_no_force_that_is_none(kind):
    with sim(operator=pv.operators.push(5.0), max_force=8.0, faults=[(kind, 0.02, 0.04)]) as device:
        device.enable_forces()
        for k in range(80):
            device._last = device._state(100.0 + 1e-3 * k)
            assert device.write([-2e4 * max(k - 10, 0) * 1e-4]) in set(Answer)
            push = device._memory[device._module.PUSH]
            assert np.isfinite(push) and abs(push) <= 8.0


def test_unplugged_it_is_lost():
    with sim(faults=[("unplug", 0.0)]) as device:
        device.enable_forces()
        with pytest.raises(pv.DeviceError, match="was unplugged"):
            device.read()
        assert device.status.life is Life.LOST
