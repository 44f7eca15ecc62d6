"""The driver of the Touch, against a library of a few lines whose scheduler the tests turn by hand."""

from __future__ import annotations

import ctypes
import inspect
import json
import subprocess
import sys
import threading
from math import sqrt

import pytest

import passivo as pv
from device.fake_openhaptics import CODES, TYPES, Touch
from passivo.device import openhaptics as driver
from passivo.device.state import Answer, Flags, Life


class Clock:
    """In place of `time`: a millisecond for each turn of the scheduler, and next to nothing for each look at it."""

    now = 50.0

    def monotonic(self):
        self.now += 1e-6
        return self.now


@pytest.fixture
def plugged(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(driver, "time", clock)

    def plug(*args, **options):
        touch = Touch(*args, clock=clock, **options)
        for name, module in touch.modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return touch

    return plug


def pressed(device, touch, ticks=60):
    """A hand pushes the stylus along x at 0.2 m/s against 0.5 N; the client answers every turn of the scheduler."""
    for _ in range(ticks):
        touch.speed = [0.2, 0.0, 0.0]
        touch.turn()
        device.wait_tick()
        device.write([-0.5, 0.0, 0.0])
    touch.speed = [0.2, 0.0, 0.0]


def test_opening_and_reading_do_not_energise(plugged, capfd):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        assert ("start_scheduler",) in touch.calls
        for _ in range(5):
            touch.turn()
            device.wait_tick()
            assert device.write([0.5, 0.0, 0.0]) is Answer.DISABLED
        assert not touch.output
        assert touch.force == [0.0, 0.0, 0.0]
    assert [call[0] for call in touch.calls if "force" in call[0] and "set" not in call[0]] == []
    assert touch.calls[-2:] == [("stop_scheduler",), ("close_device", 3)]
    assert capfd.readouterr() == ("", "")


def test_what_is_known_of_a_device(plugged):
    plugged()
    with pv.devices.OpenHaptics() as device:
        info = device.info
        assert (info.model, info.max_force, info.rate, info.owns_clock) == ("Touch", 0.88, 1000.0, True)
        assert sum(info.workspace, ()) == pytest.approx((-0.08, 0.08, -0.06, 0.06, -0.035, 0.035))
        assert (info.max_stiffness, info.max_damping) == pytest.approx((500.0, 2.0))
        assert info.watchdog == pytest.approx(3e-3)
        assert 0.02 < info.mass < 0.045
    plugged("something else")
    with pv.devices.OpenHaptics(info={"mass": 0.05}) as device:
        assert (device.info.mass, device.info.encoder) == (0.05, driver.UNKNOWN.encoder)


def test_a_reading(plugged):
    touch = plugged()
    touch.place, touch.speed, touch.buttons = [0.01, 0.02, 0.03], [0.1, 0.0, 0.0], 2
    touch.frame = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]  # a quarter around z
    with pv.devices.OpenHaptics() as device:
        state = device.read()
        assert state.position == pytest.approx((0.01, 0.02, 0.03))
        assert state.velocity == pytest.approx((0.1, 0.0, 0.0))
        assert state.orientation == pytest.approx((sqrt(0.5), 0.0, 0.0, sqrt(0.5)))
        assert state.buttons == 2
        assert device.read().sequence == state.sequence  # the scheduler did not turn
        touch.turn()
        assert device.wait_tick().sequence == state.sequence + 1
        with pytest.raises(pv.DeviceError, match=r"gave no reading within 1e-05 s"):
            device.wait_tick(timeout=1e-5)


def test_a_force_acts_at_the_reading_it_answers(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        device.enable_forces()
        assert touch.output
        pressed(device, touch)
        device._period = 20.0  # patience enough for any machine

        def answer():
            device.wait_tick()
            device.write([-0.5, 0.0, 0.0])

        touch.force = [0.0, 0.0, 0.0]
        client = threading.Thread(target=answer)
        client.start()
        touch.turn()
        client.join()
        assert touch.force[0] < -0.4  # already at the end of that turn; the clamp damps as well
        assert touch.force == device._standing.tolist()
        frames = [call[0] for call in touch.calls[-4:]]
        assert frames == ["begin_frame", "get_transform", "set_force", "end_frame"]


def test_the_watchdog_drops_the_force_of_a_silent_client(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics(watchdog=4e-3) as device:
        device.enable_forces()
        pressed(device, touch)
        acting = []
        for _ in range(6):
            touch.turn()
            acting.append(touch.force[0])
        assert [force < 0.0 for force in acting] == [True] * 4 + [False] * 2
        assert acting[-1] == 0.0
        device.wait_tick()
        device.write([-0.5, 0.0, 0.0])
        touch.turn()
        assert touch.force[0] <= 0.0


def test_stopping_switches_the_motors_off(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        device.enable_forces()
        pressed(device, touch)
        device.stop()
        assert not touch.output
        assert touch.calls[-1] == ("hdDisable", CODES["HD_FORCE_OUTPUT"])
        touch.turn()
        assert touch.force == [0.0, 0.0, 0.0]
        assert device.status.life is Life.STOPPED


def test_no_device(plugged):
    touch = plugged(there=False)
    touch.errors = [CODES["HD_COMM_CONFIG_ERROR"]]
    with pytest.raises(pv.DeviceError, match=r"'Left' could not be opened: the connection is not set up.*by this name"):
        pv.devices.OpenHaptics(device="Left").open()
    assert ("close_device", 3) not in touch.calls


def test_a_scheduler_that_never_calls(plugged, monkeypatch):
    touch = plugged()
    monkeypatch.setattr(touch.modules["pyOpenHaptics.hd"], "start_scheduler", lambda: None)
    monkeypatch.setattr(driver, "FIRST_STATE", 1e-5)
    with pytest.raises(pv.DeviceError, match="gave no reading"):
        pv.devices.OpenHaptics().open()
    assert touch.calls[-2:] == [("stop_scheduler",), ("close_device", 3)]


def test_unplugged_while_it_runs(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        device.enable_forces()
        pressed(device, touch)
        touch.errors = [CODES["HD_COMM_ERROR"]]
        assert touch.turn() == CODES["HD_CALLBACK_DONE"]
        assert touch.force == [0.0, 0.0, 0.0]
        with pytest.raises(pv.DeviceError, match="does not answer any more; check its cable"):
            device.wait_tick()
        assert device.status.life is Life.LOST
        assert not touch.output


@pytest.mark.parametrize("what", ["get_transform", "set_force", "begin_frame", "end_frame"])
def test_a_library_that_raises(plugged, what):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        device.enable_forces()
        pressed(device, touch)
        touch.failing[what] = OSError("the wire is cut")
        assert touch.turn() == CODES["HD_CALLBACK_DONE"]
        with pytest.raises(pv.DeviceError, match="the wire is cut"):
            device.wait_tick()
        assert not touch.output


def test_a_write_after_a_failure(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        device.enable_forces()
        pressed(device, touch)
        touch.turn()
        device.wait_tick()
        touch.errors = [0x0999]
        touch.turn()
        with pytest.raises(pv.DeviceError, match="error 0x0999"):
            device.write([-0.5, 0.0, 0.0])
        assert not touch.output


def test_warm_motors_and_trifles(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        touch.errors = [CODES["HD_EXCEEDED_MAX_FORCE_IMPULSE"], CODES["HD_WARM_MOTORS"]]
        assert touch.turn(2) == CODES["HD_CALLBACK_CONTINUE"]
        assert device.wait_tick().flags == Flags.OVERHEATED
        touch.turn()
        assert device.wait_tick().flags == Flags.FINE


def test_calibration(plugged):
    touch = plugged()
    touch.calibrated = touch.docked = False
    with pv.devices.OpenHaptics() as device:
        assert device.read().flags == Flags.UNCALIBRATED
        with pytest.raises(pv.DeviceError, match="put the stylus into the inkwell"):
            device.calibrate()
        touch.docked = True
        device.calibrate()
        touch.turn()
        assert device.wait_tick().flags == Flags.FINE


def test_forces_that_cannot_be_switched_on(plugged):
    touch = plugged()
    with pv.devices.OpenHaptics() as device:
        touch.errors = [CODES["HD_FORCE_ERROR"]]
        with pytest.raises(pv.DeviceError, match="cannot switch its forces on: forces cannot be given"):
            device.enable_forces()
        assert device.status.life is Life.OPEN


@pytest.mark.parametrize("options", [{"watchdog": 0.0}, {"watchdog": 1.0}, {"device": ""}])
def test_options_that_cannot_be(options):
    with pytest.raises(pv.InputError, match=r"OpenHaptics|Touch"):
        pv.devices.OpenHaptics(**options)


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyOpenHaptics", None)
    monkeypatch.delitem(sys.modules, "pyOpenHaptics.hd", raising=False)
    why = "the Python package pyOpenHaptics is missing; pip install 'passivo[openhaptics]'"
    assert driver.OpenHaptics.probe() == (False, why)
    with pytest.raises(pv.DeviceError, match="is missing"):
        pv.devices.OpenHaptics().open()


NAMES = """
import ctypes, inspect, json
from unittest.mock import MagicMock
real = ctypes.CDLL
ctypes.CDLL = lambda name, *rest, **more: MagicMock() if name in ("libHD.so", "HD.dll") else real(name, *rest, **more)
from pyOpenHaptics import hd, hd_callback
told = {name: list(inspect.signature(getattr(hd, name)).parameters) for name in FUNCTIONS}
told["hdAsyncSheduler"] = list(inspect.signature(hd_callback.hdAsyncSheduler).parameters)
hd._lib_hd.hdDisable
sizes = {name: ctypes.sizeof(getattr(hd, name)) for name in TYPES}
print(json.dumps([told, {name: getattr(hd, name) for name in CODES}, sizes]))
"""


def test_the_fake_has_the_names_of_the_real_package():
    modules = Touch().modules
    functions = {
        name: list(inspect.signature(value).parameters)
        for module in (modules["pyOpenHaptics.hd"], modules["pyOpenHaptics.hd_callback"])
        for name, value in vars(module).items()
        if inspect.isfunction(value)
    }
    wanted = [name for name in functions if name != "hdAsyncSheduler"]
    script = f"FUNCTIONS, CODES, TYPES = {wanted!r}, {list(CODES)!r}, {list(TYPES)!r}\n{NAMES}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [functions, CODES, {name: ctypes.sizeof(kind) for name, kind in TYPES.items()}]


def test_without_the_vendors_library_the_real_package_is_a_sentence():
    script = "import ctypes, passivo as pv\n" + (
        "def none(name, *rest, **more): raise OSError(name)\n"
        "driver = pv.devices.OpenHaptics\nctypes.CDLL = none\nprint(driver.probe())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "install OpenHaptics and the Touch device driver" in done.stdout
