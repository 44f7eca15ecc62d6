"""The drivers of vendors' libraries in a real-time loop, against stand-ins of the libraries."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

import passivo as pv
from device.fake_dhd import Robot
from device.fake_openhaptics import Touch
from loop.scenes import wall
from passivo.device.state import Life
from passivo.loop.kernels import B_TICKS

RATE = 200.0  # Hz: plain Python keeps up
HASTY = {"max_speed": 1000.0}  # m/s: a stand-in moves by its own calls, whatever the clock says
SAFETY = pv.Safety(max_force=0.5, patience=2.0)  # a busy machine is no fault


def touched(device, **more):
    loop = pv.Loop(wall(device, 500.0), safety=SAFETY, engine="python")
    report = loop.run(seconds=0.5, **more)
    force = report.rows["device.force"]
    assert np.isfinite(force).all() and np.abs(force).max() <= 0.5
    assert force[-1, 0] == 0.0
    return report


def later(loop, act):
    """What happens once the loop is under way."""

    def wait():
        while loop.book[B_TICKS] < 20:
            time.sleep(0.01)
        act()

    threading.Thread(target=wait, daemon=True).start()


@pytest.fixture
def robot(monkeypatch):
    robot = Robot()
    for name, module in robot.modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return robot


@pytest.fixture
def touch(monkeypatch):
    """A Touch whose scheduler runs by itself while it is started."""
    touch = Touch()
    touch.rate = int(RATE)
    for name, module in touch.modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    hd, over = touch.modules["pyOpenHaptics.hd"], threading.Event()

    def schedule():
        while not over.wait(1.0 / RATE) and touch.turn() == hd.HD_CALLBACK_CONTINUE:
            pass

    thread, stop = threading.Thread(target=schedule, daemon=True), hd.stop_scheduler
    start = hd.start_scheduler
    monkeypatch.setattr(hd, "start_scheduler", lambda: (start(), thread.start()))
    monkeypatch.setattr(hd, "stop_scheduler", lambda: (over.set(), thread.join(), stop()))
    return touch


def test_a_device_that_the_client_paces(robot):
    with pv.devices.DHD(axes="x", rate=RATE, info=HASTY) as device:
        robot.speed[0] = 0.2  # out of the hand, into the wall
        report = touched(device)
        assert not report.stopped and report.ticks > 20
        assert device.status.life is Life.STOPPED and not robot.on
        forces = np.array([call[0] for call in robot.called("setForce")])
    assert (forces[:, 0] < 0.0).any() and not forces[:, 1:].any() and np.abs(forces).max() <= 0.5
    enabled = [call[0] for call in robot.called("enableForce")]
    assert enabled[0] is False and enabled[-1] is False and True in enabled


def test_a_device_that_the_client_paces_is_unplugged(robot):
    with pv.devices.DHD(axes="x", rate=RATE, info=HASTY) as device:
        loop = pv.Loop(wall(device), safety=SAFETY, engine="python")
        later(loop, lambda: robot.failing.update(getPosition="the cable came off"))
        report = loop.run(seconds=60.0)
        assert "the cable came off" in report.stopped and report.seconds < 60.0
        assert not robot.on


def test_a_device_that_owns_the_clock(touch):
    with pv.devices.OpenHaptics(axes="x", watchdog=0.1, info=HASTY) as device:
        touch.speed[0] = 0.2
        report = touched(device)
        assert not report.stopped and report.ticks > 20
        assert device.status.life is Life.STOPPED and not touch.output
    forces = np.array([call[1] for call in touch.calls if call[0] == "set_force"])
    assert (forces[:, 0] < 0.0).any() and not forces[:, 1:].any() and np.abs(forces).max() <= 0.5


def test_a_library_that_fails_ends_the_loop_with_its_words(touch):
    with pv.devices.OpenHaptics(axes="x", info=HASTY) as device:
        loop = pv.Loop(wall(device), safety=SAFETY, engine="python")
        later(loop, lambda: touch.failing.update(get_transform=OSError("the port is gone")))
        report = loop.run(seconds=60.0)
        assert "the port is gone" in report.stopped and report.seconds < 60.0
    assert touch.force == [0.0, 0.0, 0.0]
