"""The base of all drivers, with the smallest driver there can be."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

import passivo as pv
from passivo.device.device import Device
from passivo.device.state import Answer, DeviceInfo, DeviceState, Flags, Life

INFO = DeviceInfo(model="Stand", driver="stand", axes=("x", "y", "z"), max_force=5.0, mass=0.1, rate=1000.0)


class Stand(Device):
    """A handle that stays where the test puts it; it remembers every call, and may be told to fail."""

    driver = "stand"

    def __init__(self, told: DeviceInfo = INFO, **options):
        super().__init__(**options)
        self.told, self.calls, self.force = told, [], None
        self.place, self.flags, self.failing = (0.0, 0.0, 0.0), Flags.FINE, ()
        self.clock, self.count = 100.0, itertools.count()

    def note(self, what, *values):
        self.calls.append((what, *values))
        if what in self.failing:
            raise pv.DeviceError(f"{what} failed")

    def _open(self):
        self.note("open")
        return self.told

    def _close(self):
        self.note("close")

    def _enable(self, on):
        self.note("on" if on else "off")

    def _read(self):
        self.note("read")
        self.clock += 1e-3
        return DeviceState(nan, self.clock, next(self.count), self.place, flags=self.flags)

    def _write(self, force):
        self.force = force
        self.note("write", force)

    def _calibrate(self):
        self.note("calibrate")


def called(device):
    return [call[0] for call in device.calls]


def pressed(device, depth=2e-4, ticks=40):
    """The hand pushes in against 1 N until the ledger can pay for much."""
    for _ in range(ticks):
        device.place = tuple(np.add(device.place, (depth, 0.0, 0.0)))
        device.read()
        device.write([-1.0, 0.0, 0.0])
    device.read()
    return device


def test_a_life():
    device = Stand()
    assert device.status.life is Life.CLOSED
    with pytest.raises(pv.DeviceError, match="not open yet"):
        _ = device.info
    with pytest.raises(pv.DeviceError, match=r"call open\(\) first"):
        device.read()
    assert device.open() is device
    assert str(device.status) == "open: no force acts yet"
    with pytest.raises(pv.DeviceError, match="already open"):
        device.open()
    device.calibrate()
    device.enable_forces()
    assert device.status.life is Life.ENABLED
    with pytest.raises(pv.DeviceError, match="while forces are enabled"):
        device.calibrate()
    device.enable_forces(False)
    assert str(device.status) == "stopped: stopped"
    device.enable_forces()
    device.close()
    device.close()
    assert device.status.life is Life.CLOSED
    assert called(device)[-3:] == ["write", "off", "close"]
    device.open()
    assert device.status.life is Life.OPEN


def test_opening_and_reading_never_energise():
    with Stand() as device:
        for _ in range(3):
            device.read()
            assert device.write([1.0, 0.0, 0.0]) is Answer.DISABLED
        assert called(device) == ["open", "read", "read", "read"]
    assert "on" not in called(device)
    assert device.force == (0.0, 0.0, 0.0)


def test_the_context_closes_whatever_happens():
    with pytest.raises(KeyError), Stand() as device:
        device.enable_forces()
        raise KeyError
    assert device.status.life is Life.CLOSED
    assert called(device)[-3:] == ["write", "off", "close"]
    with device.open() as same:
        assert same is device
    assert device.status.life is Life.CLOSED


def test_a_write_needs_a_reading():
    with Stand() as device:
        device.enable_forces()
        with pytest.raises(pv.DeviceError, match="read the device before"):
            device.write([0.0, 0.0, 0.0])


def test_the_first_force_waits_for_an_increment():
    with Stand() as device:
        device.enable_forces()
        device.read()
        assert device.write([-1.0, 0.0, 0.0]) is Answer.CLAMPED
        assert device.force == (0.0, 0.0, 0.0)


def test_a_force_that_was_paid_for_acts_as_given():
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        assert device.write([-1.0, 0.5, 0.0]) is Answer.OK
        np.testing.assert_allclose(device.force, (-1.0, 0.5, 0.0))


def test_a_force_beyond_the_device_is_cut_along_its_direction():
    with Stand() as device:
        device.enable_forces()
        pressed(device, depth=1e-3, ticks=60)
        assert device.write([-30.0, 40.0, 0.0]) is Answer.SATURATED
        np.testing.assert_allclose(device.force, (-3.0, 4.0, 0.0))


def test_a_force_nobody_paid_for_is_clamped():
    with Stand() as device:
        device.enable_forces()
        for _ in range(5):
            device.read()
            assert device.write([5.0, 0.0, 0.0]) is Answer.CLAMPED
            assert 0.0 <= device.force[0] < 1.0


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_no_number_is_no_force(bad):
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        assert device.write([bad, 0.0, 0.0]) is Answer.CLAMPED
        assert device.force == (0.0, 0.0, 0.0)


def test_a_place_that_is_no_number_gives_no_force():
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        device.place = (nan, 0.0, 0.0)
        device.read()
        assert device.write([-1.0, 0.0, 0.0]) is Answer.CLAMPED
        assert device.force == (0.0, 0.0, 0.0)


def test_a_force_after_the_watchdog_is_late():
    with Stand(replace(INFO, watchdog=2e-3)) as device:
        device.enable_forces()
        pressed(device)
        device.clock += 0.01
        device.read()
        assert device.write([-1.0, 0.0, 0.0]) is Answer.LATE


def test_without_a_new_reading_the_force_stands():
    with Stand() as device:
        device.enable_forces()
        pressed(device).write([-1.0, 0.0, 0.0])
        ledger = device._clamp.energy
        assert device.write([-2.0, 0.0, 0.0]) is Answer.CLAMPED
        assert device.write([-1.0, 0.0, 0.0]) is Answer.OK
        np.testing.assert_allclose(device.force, (-1.0, 0.0, 0.0))
        assert device._clamp.energy == ledger


@pytest.mark.parametrize("force", [[1.0], [1.0] * 4, 1.0, "push", None, [[1.0, 2.0, 3.0]]])
def test_a_force_has_one_number_for_each_axis(force):
    with Stand() as device, pytest.raises(pv.InputError, match=r"has 3 numbers \(x, y, z\)"):
        device.write(force)


def test_the_callers_force_is_left_alone():
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        mine = np.array([-300.0, nan, 0.0])
        device.write(mine)
        np.testing.assert_array_equal(mine, [-300.0, nan, 0.0])


def test_axes_in_use():
    with Stand(axes="zx") as device:
        assert device.axes == ("z", "x")
        assert device.indices == (2, 0)
        assert device.spread([1.0, 2.0]) == (2.0, 0.0, 1.0)
        device.enable_forces()
        for k in range(40):
            device.place = (0.0, 7.0, 2e-4 * k)
            device.read()
            answer = device.write([-1.0, 0.0])
        assert answer is Answer.OK
        np.testing.assert_allclose(device.force, (0.0, 0.0, -1.0))
    with Stand(axes=["y"]) as device:
        device.enable_forces()
        device.read()
        device.write(1.0)


@pytest.mark.parametrize(("axes", "why"), [("w", "no axis 'w'"), ("xx", "each axis once"), ("", "each axis once")])
def test_axes_that_are_not_there(axes, why):
    device = Stand(axes=axes)
    with pytest.raises(pv.InputError, match=why):
        device.open()
    assert device.status.life is Life.CLOSED
    assert called(device)[-1] == "close"


@pytest.mark.parametrize("failing", ["write", "off"])
def test_stop_never_raises_and_tries_everything(failing):
    device = Stand().open()
    device.enable_forces()
    device.failing = (failing,)
    device.stop("the roof fell in")
    assert called(device)[-2:] == ["write", "off"]
    assert str(device.status) == f"lost: the roof fell in; and it could not be told to stop: {failing} failed"
    device.stop()
    device.close()
    assert device.status.life is Life.CLOSED


def test_stop_before_and_after_all():
    device = Stand()
    device.stop()
    assert device.status.life is Life.CLOSED
    assert device.calls == []


def test_unplugged():
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        device.flags = Flags.UNPLUGGED
        with pytest.raises(pv.DeviceError, match="was unplugged"):
            device.read()
        assert str(device.status) == "lost: device was unplugged"
        assert called(device)[-2:] == ["write", "off"]
        assert device.force == (0.0, 0.0, 0.0)
        assert device.write([1.0, 0.0, 0.0]) is Answer.DISABLED
        for act in (device.read, device.wait_tick, device.enable_forces, device.calibrate):
            with pytest.raises(pv.DeviceError, match=r"is lost .* open it again"):
                act()
    device.flags = Flags.FINE
    device.open()
    assert device.read().flags == Flags.FINE
    assert device.write([1.0, 0.0, 0.0]) is Answer.DISABLED


def test_a_reading_that_fails_stops_the_motors():
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        device.failing = ("read",)
        with pytest.raises(pv.DeviceError, match="read failed"):
            device.wait_tick()
        assert device.status.life is Life.LOST
        assert called(device)[-2:] == ["write", "off"]


def test_a_write_that_fails_stops_the_motors():
    with Stand() as device:
        device.enable_forces()
        pressed(device)
        device.failing = ("write",)
        with pytest.raises(pv.DeviceError, match="write failed"):
            device.write([-1.0, 0.0, 0.0])
        assert device.status.life is Life.LOST
        assert called(device)[-1] == "off"


@pytest.mark.parametrize(
    ("what", "sentence"), [("read", "device could not be read: the bus"), ("write", "could not be told its force: the")]
)
def test_whatever_a_driver_raises_stops_the_motors(what, sentence, monkeypatch):
    """A driver of one's own may raise anything; whoever holds the handle must not be left with the last force."""

    def broken(*_):
        raise OSError("the bus is gone")

    with Stand() as device:
        device.enable_forces()
        pressed(device)
        monkeypatch.setattr(device, f"_{what}", broken)
        with pytest.raises(pv.DeviceError, match=sentence):
            device.read() if what == "read" else device.write([-1.0, 0.0, 0.0])
        assert device.status.life is Life.LOST
        assert called(device)[-1] == "off"


def test_motors_are_not_switched_on_behind_a_clamp_that_cannot_be_built():
    with Stand(clamp=pv.LedgerClamp(mass=[[1.0, 0.0], [0.0, 1.0]])) as device:
        with pytest.raises(pv.InputError, match="3 wide"):
            device.enable_forces()
        assert "on" not in called(device)
        assert device.status.life is Life.OPEN


def test_a_device_that_cannot_push():
    with Stand(replace(INFO, gives_force=False)) as device:
        with pytest.raises(pv.DeviceError, match="cannot push"):
            device.enable_forces()
        assert "on" not in called(device)


def test_facts_of_ones_own():
    with Stand(info={"mass": 0.2, "max_force": 3.0}) as device:
        assert (device.info.mass, device.info.max_force, device.info.rate) == (0.2, 3.0, 1000.0)
        assert device.guard(pv.LedgerClamp).limit == 3.0
    with pytest.raises(pv.InputError, match="did you mean 'mass'"):
        Stand(info={"mas": 0.2})
    with pytest.raises(pv.InputError, match="no 'axes' that could be set"):
        Stand(info={"axes": ("x",)})
    for bad in (0.0, -1.0, nan, inf, "heavy"):
        with pytest.raises(pv.InputError, match="positive number"):
            Stand(info={"mass": bad})


def test_the_clamp_takes_what_it_lacks_from_the_device():
    info = replace(INFO, encoder=1e-5, watchdog=4e-3)
    with Stand(info, clamp=pv.LedgerClamp(hand=10.0, limit=2.0)) as device:
        guard = device.guard(pv.LedgerClamp)
        assert (guard.mass, guard.encoder, guard.hand, guard.limit) == (0.1, 1e-5, 10.0, 2.0)
        assert (guard.longest, guard.watchdog) == (4e-3, True)


def test_a_client_that_paces_waits_for_the_next_tick():
    with Stand(replace(INFO, rate=200.0)) as device:
        numbers = [device.wait_tick().sequence for _ in range(5)]
    assert numbers == [0, 1, 2, 3, 4]
