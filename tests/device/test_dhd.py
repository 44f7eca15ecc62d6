"""The driver of Force Dimension devices, against an SDK of a few lines; and that SDK against the real one's names."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from math import isnan, sqrt
from types import SimpleNamespace

import numpy as np
import pytest

import passivo as pv
from device.fake_dhd import ForceOffCause, Kinds, Robot
from passivo.device import dhd as driver
from passivo.device.state import Answer, Flags, Life
from passivo.device.vendor import quaternion


@pytest.fixture
def plugged(monkeypatch):
    """Plugs a device in: its SDK is what `import forcedimension_core` then finds."""

    def plug(*args, **options):
        robot = Robot(*args, **options)
        monkeypatch.setattr(driver, "time", SimpleNamespace(monotonic=lambda: robot.now))
        for name, module in robot.modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return robot

    return plug


def pressed(device, robot, ticks=60):
    """A hand pushes the handle along x at 0.2 m/s against 1 N."""
    for _ in range(ticks):
        robot.speed = [0.2, 0.0, 0.0]
        device.read()
        device.write([-1.0, 0.0, 0.0])
    robot.speed = [0.2, 0.0, 0.0]
    return device.read()


# -- life --------------------------------------------------------------------------------------------------------------


def test_opening_and_reading_do_not_energise(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        assert robot.called("enableForce") == [(False, 0)]
        for _ in range(30):
            device.read()
            assert device.write([1.0, 0.0, 0.0]) is Answer.DISABLED
    assert not robot.on
    assert robot.called("setForce") == []  # even a zero would carry the handle's weight
    assert robot.calls[-1] == ("close", 0)


def test_what_is_known_of_a_device(plugged):
    plugged()
    with pv.devices.DHD() as device:
        info = device.info
        assert (info.model, info.axes, info.max_force, info.serial) == ("omega.3", ("x", "y", "z"), 12.0, "7")
        assert info.workspace == ((-0.075, 0.075),) * 3
        assert (info.has_orientation, info.has_gripper, info.owns_clock, info.watchdog) == (False, False, False, None)
    with pv.devices.DHD(info={"mass": 0.25}) as device:
        assert device.info.mass == 0.25


@pytest.mark.parametrize(("kind", "name"), [(Kinds.CUSTOM, "something new"), (999, "something new")])
def test_a_type_nobody_knows_gets_the_weakest_limits(plugged, kind, name):
    plugged(kind)
    with pv.devices.DHD() as device:
        assert device.info.model == name
        assert device.info.max_force == min(model.force for model in driver.MODELS.values())
        assert device.info.mass == min(model.mass for model in driver.MODELS.values())


def test_finding_one_of_several(plugged):
    robot = plugged(count=2, serials=(7, 8))
    with pv.devices.DHD(index=1) as device:
        assert (robot.called("openID"), device.info.serial) == ([(1,)], "8")
    with pytest.raises(pv.DeviceError, match="device number 5 could be opened: no device found"):
        pv.devices.DHD(index=5).open()
    with pytest.raises(pv.DeviceError, match="with serial number 9 could be opened: no device found; is it plugged"):
        pv.devices.DHD(serial=9).open()
    robot.answers["openSerial"] = 1
    with pv.devices.DHD(serial=8) as device:
        assert device.info.serial == "8"


def test_no_device(plugged):
    plugged(count=0)
    device = pv.devices.DHD()
    with pytest.raises(pv.DeviceError, match="no Force Dimension device could be opened: no device found"):
        device.open()
    assert device.status.life is Life.CLOSED
    assert driver.DHD.probe() == (False, "no device is plugged in")


def test_what_a_probe_finds(plugged):
    robot = plugged(count=2)
    assert driver.DHD.probe() == (True, "2 devices plugged in")
    robot.failing["getAvailableCount"] = "in use"
    assert driver.DHD.probe() == (False, "2 devices plugged in, in use by another program")
    assert not robot.called("open")


def test_settings(plugged):
    robot = plugged()
    with pv.devices.DHD(gravity=False, brakes=False, watchdog=0.0101) as device:
        assert robot.called("setGravityCompensation") == [(False, 0)]
        assert robot.called("setBrakes") == [(False, 0)]
        assert robot.called("setWatchdog") == [(81, 0)]
        assert device.info.watchdog == pytest.approx(0.010125)
        device.enable_forces()
        device.stop()
        assert robot.called("setBrakes") == [(False, 0)] * 2


def test_an_opening_that_fails_halfway_closes(plugged):
    robot = plugged()
    robot.failing["setGravityCompensation"] = "not available"
    with pytest.raises(pv.DeviceError, match="cannot set gravity compensation: not available"):
        pv.devices.DHD().open()
    assert robot.calls[-1] == ("close", 0)


@pytest.mark.parametrize(
    "options",
    [{"index": -1}, {"serial": "7"}, {"index": 0, "serial": 7}, {"rate": 5000.0}, {"watchdog": 0.05}, {"watchdog": 0}],
)
def test_options_that_cannot_be(options):
    with pytest.raises(pv.InputError, match="DHD"):
        pv.devices.DHD(**options)


# -- reading -----------------------------------------------------------------------------------------------------------


def test_a_reading(plugged):
    robot = plugged(Kinds.OMEGA7_LEFT)
    robot.mask, robot.speed = 0b11, [0.1, 0.2, 0.3]
    turned = sqrt(0.5)
    robot.frame = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]  # a quarter around z
    with pv.devices.DHD() as device:
        state = device.read()
        assert state.position == pytest.approx((1e-4, 2e-4, 3e-4))
        assert state.velocity == (0.1, 0.2, 0.3)
        assert state.orientation == pytest.approx((turned, 0.0, 0.0, turned))
        assert state.gripper == 0.02
        assert state.buttons == 1  # it has one
        assert isnan(state.device_time)
        assert device.read().sequence == state.sequence + 1


def test_what_a_device_does_not_have(plugged):
    robot = plugged()
    robot.failing["getLinearVelocity"] = "timeout"  # until there were two readings
    with pv.devices.DHD() as device:
        state = device.read()
        assert (state.orientation, state.velocity) == ((), ())
        assert isnan(state.gripper)
        del robot.failing["getLinearVelocity"]
        assert device.read().velocity == (0.0, 0.0, 0.0)


def test_the_same_reading_again_has_the_same_number(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        number = device.read().sequence
        robot.answers["getPosition"] = 1  # TIMEGUARD
        assert [device.read().sequence for _ in range(3)] == [number] * 3
        robot.answers.clear()
        assert device.read().sequence == number + 1


@pytest.mark.parametrize(
    ("status", "enabled", "flags"),
    [
        ({}, True, Flags.FINE),
        ({"reset": 1}, False, Flags.UNCALIBRATED),
        ({"error": 1}, False, Flags.ERROR),
        ({"power": 0}, False, Flags.FORCES_OFF),
        ({"force": 0}, False, Flags.FINE),
        ({"force": 0, "forceoffcause": int(ForceOffCause.VELOCITY)}, True, Flags.FORCES_OFF),
        ({"force": 0, "forceoffcause": int(ForceOffCause.DEADMAN)}, True, Flags.NO_HAND),
    ],
)
def test_flags(plugged, status, enabled, flags):
    robot = plugged()
    with pv.devices.DHD() as device:
        if enabled:
            device.enable_forces()
        robot.status.update(status)
        assert device.read().flags == flags


def test_flags_are_found_within_some_readings(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        device.read()
        robot.status["error"] = 1
        found = [device.read().flags for _ in range(driver.STATUS_EVERY)]
        assert found[-1] == Flags.ERROR


@pytest.mark.parametrize("seed", range(8))
def test_quaternions(seed):
    w, x, y, z = q = np.random.default_rng(seed).normal(size=4) * ([1, 1, 1, 1] if seed < 4 else [1e-9, 1, 1, 1])
    w, x, y, z = q = q / np.linalg.norm(q)
    matrix = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    np.testing.assert_allclose(quaternion(matrix), q if w >= 0 else -q, atol=1e-9)


# -- forces ------------------------------------------------------------------------------------------------------------


def test_a_force_moves_the_handle(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        device.enable_forces()
        assert robot.on
        pressed(device, robot)
        assert device.write([-1.0, 0.0, 0.0]) is Answer.OK
        assert robot.force == pytest.approx([-1.0, 0.0, 0.0])
        before = robot.speed[0]
        state = device.read()
        assert robot.speed[0] == pytest.approx(before - 1e-3 / 0.2)
        assert state.applied == pytest.approx((-1.0, 0.0, 0.0))
    assert robot.called("setForce")[-1] == ((0.0, 0.0, 0.0), 0)
    assert not robot.on


def test_a_saturated_motor_is_no_error(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        device.enable_forces()
        robot.answers["setForce"] = 2  # MOTOR_SATURATED
        pressed(device, robot, ticks=3)


def test_unplugged_while_it_runs(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        device.enable_forces()
        pressed(device, robot)
        for name in ("getPosition", "setForce", "enableForce", "getStatus"):
            robot.failing[name] = "communication error"
        with pytest.raises(pv.DeviceError, match=r"omega.3 cannot say where it is: communication error"):
            device.read()
        assert device.status.life is Life.LOST
        assert robot.called("enableForce")[-1] == (False, 0)  # tried all the same
    assert robot.calls[-1] == ("close", 0)


def test_a_status_that_says_unplugged(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        robot.status["connected"] = 0
        with pytest.raises(pv.DeviceError, match="unplugged"):
            device.read()


def test_a_write_that_fails(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        device.enable_forces()
        pressed(device, robot)
        robot.failing["setForce"] = "communication error"
        with pytest.raises(pv.DeviceError, match="cannot take a force: communication error"):
            device.write([-1.0, 0.0, 0.0])
        assert not robot.on
        assert device.status.life is Life.LOST


def test_forces_that_cannot_be_switched_on(plugged):
    robot = plugged()
    with pv.devices.DHD() as device:
        robot.failing["enableForce"] = "device not ready"
        with pytest.raises(pv.DeviceError, match="cannot switch its forces on: device not ready"):
            device.enable_forces()
        assert device.status.life is Life.OPEN


# -- calibration -------------------------------------------------------------------------------------------------------


def test_calibration_leaves_no_force(plugged):
    robot = plugged()
    robot.initialized = False
    with pv.devices.DHD() as device:
        device.calibrate()
        assert robot.initialized
        assert not robot.moving
        assert robot.called("stop") == [(False, 0)]
        device.calibrate()
        assert len(robot.called("autoInit")) == 1  # once is enough


def test_a_calibration_that_fails(plugged):
    robot = plugged()
    robot.initialized = False
    robot.failing["autoInit"] = "timeout"
    with pv.devices.DHD() as device:
        with pytest.raises(pv.DeviceError, match="cannot calibrate itself: timeout"):
            device.calibrate()
        assert not robot.moving


def test_devices_that_need_a_hand(plugged):
    robot = plugged(Kinds.FALCON)
    robot.initialized = False
    with pv.devices.DHD() as device:
        with pytest.raises(pv.DeviceError, match="until its light stops blinking"):
            device.calibrate()
        assert robot.called("autoInit") == []


# -- the library -------------------------------------------------------------------------------------------------------


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "forcedimension_core", None)
    with pytest.raises(pv.DeviceError, match=r"forcedimension-core is missing; pip install 'passivo\[dhd\]'"):
        pv.devices.DHD().open()


NAMES = """
import inspect, json, os
os.environ["__fdsdkpy_unittest__"] = "True"  # the package then takes a stand-in for the SDK
import forcedimension_core as core
told = {}
for name in NAMES:
    thing = core
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    told[name] = list(inspect.signature(thing).parameters)
fields = [field[0] for field in core.containers.Status._fields_]
print(json.dumps([told, fields, [kind.name for kind in core.constants.DeviceType], int(core.constants.TIMEGUARD)]))
"""


def test_the_fake_has_the_names_of_the_real_package():
    modules = Robot().modules
    mine = {
        f"{key}.{name}": list(inspect.signature(value).parameters)
        for key, module in modules.items()
        for name, value in vars(module).items()
        if inspect.isfunction(value)
    }
    script = f"NAMES = {list(mine)!r}\n{NAMES}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    told, fields, kinds, guard = json.loads(done.stdout)
    assert told == {**mine, "forcedimension_core.dhd.getAvailableCount": []}
    assert {"connected", "power", "error", "reset", "force", "forceoffcause"} <= set(fields)
    assert set(driver.MODELS) <= set(kinds)
    assert guard == 1


def test_without_the_sdk_the_real_package_is_a_sentence():
    script = "import passivo as pv; print(pv.devices.DHD.probe())"
    nothing = {**os.environ, "__fdsdkpy_unittest_runtime__": "True"}  # the package then finds no SDK
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=nothing)
    assert "install the Force Dimension SDK" in done.stdout
    assert done.stderr == ""
