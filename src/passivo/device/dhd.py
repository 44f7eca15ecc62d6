"""`DHD`: the delta, omega, sigma and lambda devices of Force Dimension, and the Novint Falcon, through their SDK."""

from __future__ import annotations

import time
from ctypes import c_double
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from passivo.device.device import Device
from passivo.device.state import DeviceInfo, DeviceState, Flags
from passivo.device.vendor import load, quaternion
from passivo.errors import DeviceError, InputError, quoted

PACKAGE = "forcedimension-core"
LIBRARY = (
    "install the Force Dimension SDK (3.16 or newer, forcedimension.com/software/sdk) and name its folder in the "
    "environment variable FDSDK"
)
STATUS_EVERY = 10  # readings: the status is a message of its own
BEAT = 125e-6  # s: the watchdog is set in such steps
LONGEST_WATCHDOG = 255 * BEAT
DEFAULT_SPEED = 2.0  # m/s


@dataclass(frozen=True)
class Model:
    """What is known of a device by its type. SI units; 0 is unknown.

    radius  of the workspace, a ball around the middle
    mass    lower bound of the mass felt at the handle
    """

    name: str
    force: float
    mass: float
    encoder: float
    radius: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    buttons: int = 1


# Forces, stiffness, damping and radius: the table of devices in CHAI3D's driver for this SDK (sigma.3 is not in it and
# taken as sigma.7). Lambda is not in it either: the least force of its relatives, the rest unknown.
# Encoder: no source at hand. As the brochures are remembered (delta.3 0.02 mm, omega below 0.01 mm, Falcon 400 dpi);
# check yours: too coarse costs force, too fine costs the guarantee.
# Mass: no source at all. Guesses on the safe side: too small a mass costs force, too large a one the guarantee. Measure
# yours with `pv.identify` and say info={"mass": ...}.
_OMEGA: Any = {"force": 12.0, "mass": 0.1, "encoder": 1e-5, "radius": 0.075, "stiffness": 5000.0, "damping": 30.0}
_SIGMA: Any = {"force": 12.0, "mass": 0.1, "encoder": 1e-5, "radius": 0.075, "stiffness": 4000.0, "damping": 30.0}
_LAMBDA: Any = {"force": 12.0, "mass": 0.1, "encoder": 1e-5}
MODELS: dict[str, Model] = {
    "DELTA3": Model("delta.3", 20.0, 0.1, 2e-5, 0.15, 5000.0, 30.0),
    "OMEGA3": Model("omega.3", **_OMEGA),
    "OMEGA6_RIGHT": Model("omega.6", **_OMEGA),
    "OMEGA6_LEFT": Model("omega.6 left", **_OMEGA),
    "OMEGA7_RIGHT": Model("omega.7", **_OMEGA),
    "OMEGA7_LEFT": Model("omega.7 left", **_OMEGA),
    "SIGMA3": Model("sigma.3", **_SIGMA),
    "SIGMA7_RIGHT": Model("sigma.7", **_SIGMA),
    "SIGMA7_LEFT": Model("sigma.7 left", **_SIGMA),
    "LAMBDA3": Model("lambda.3", **_LAMBDA),
    "LAMBDA7_RIGHT": Model("lambda.7", **_LAMBDA),
    "LAMBDA7_LEFT": Model("lambda.7 left", **_LAMBDA),
    "FALCON": Model("Falcon", 8.0, 0.05, 0.0254 / 400, 0.04, 3000.0, 20.0, buttons=4),
}
UNKNOWN = Model("", 8.0, 0.05, 0.0254 / 400)  # the weakest, lightest and coarsest of them


class DHD(Device):
    """A Force Dimension device, or a Novint Falcon. Translations x, y, z in m and N, along the device's own axes.

        with pv.devices.DHD() as device:
            device.calibrate()                  # where `device.read().flags` says UNCALIBRATED: it moves by itself!

    index     which device, where several are plugged in, from 0
    serial    the device with this serial number instead
    gravity   let the SDK carry the handle's own weight, with every force that is written. That force is not in the
              ledger: it comes from a potential and gives back on the way down what it gave on the way up
    brakes    short-circuit the motors where forces are off (the SDK's BRAKE mode): the handle then moves as in honey
              and cannot fall. False: it is free
    watchdog  seconds after which the controller drops a force by itself, at most 0.0318, in steps of 125 µs; None: as
              the device is set. When it has struck, forces must be enabled again: a loop ends there
    rate      readings per second; up to 4000 over USB

    Orientation (of devices with a wrist) and the gap of the gripper are reported; torques and gripper forces are 0.
    Masses are guesses on the safe side: measure yours (`pv.identify`) and say info={"mass": 0.2}.
    """

    driver = "dhd"

    def __init__(
        self,
        *,
        index: int | None = None,
        serial: int | None = None,
        gravity: bool = True,
        brakes: bool = True,
        watchdog: float | None = None,
        rate: float = 1000.0,
        **options: Any,
    ):
        super().__init__(**options)
        for what, value in {"index": index, "serial": serial}.items():
            if value is not None and (not isinstance(value, int) or value < 0):
                raise InputError(f"DHD's {what} is a whole number from 0, not {quoted(value)}")
        if index is not None and serial is not None:
            raise InputError("DHD takes an index or a serial number, not both")
        if not isinstance(rate, int | float) or not 0.0 < rate <= 4000.0:
            raise InputError(f"DHD's rate is a number up to 4000 Hz, not {quoted(rate)}")
        if watchdog is not None and not (isinstance(watchdog, int | float) and BEAT <= watchdog <= LONGEST_WATCHDOG):
            raise InputError(f"DHD's watchdog is from {BEAT:g} to {LONGEST_WATCHDOG:g} s, not {quoted(watchdog)}")
        self.index, self.serial, self.gravity, self.brakes, self.rate = index, serial, gravity, brakes, float(rate)
        self.watchdog = None if watchdog is None else round(watchdog / BEAT) * BEAT
        self._id = -1
        self._on = False
        self._model, self._wrist, self._gripper = UNKNOWN, False, False
        self._flags, self._count, self._stale = Flags.FINE, 0, True
        self._applied = (0.0, 0.0, 0.0)

    # -- life -------------------------------------------------------------------------------------------------------

    def _open(self) -> DeviceInfo:
        self._core = load("forcedimension_core", PACKAGE, "dhd", LIBRARY)
        self._dhd, self._drd = self._core.dhd, self._core.drd
        if self.serial is not None:
            found, what = self._dhd.openSerial(self.serial), f"with serial number {self.serial}"
        elif self.index is not None:  # through the robotic SDK, which can calibrate and knows no serial numbers
            found, what = self._drd.openID(self.index), f"number {self.index}"
        else:
            found, what = self._drd.open(), ""
        if found < 0:
            raise DeviceError(
                f"no Force Dimension device {what}".rstrip() + f" could be opened: {self._sentence()}; is it plugged "
                "in and switched on, and may you use it (udev rules of the SDK)?"
            )
        self._id, self._on, self._stale = found, False, True
        try:
            return self._prepared()
        except BaseException:
            self._close()
            raise

    def _prepared(self) -> DeviceInfo:
        """Settings that move nothing, and what is known of the device."""
        dhd, at = self._dhd, self._id
        self._do(dhd.enableForce(False, at), "switch its forces off")
        self._do(dhd.setGravityCompensation(self.gravity, at), "set gravity compensation")
        if not self.brakes:
            self._do(dhd.setBrakes(False, at), "release its brakes")
        if self.watchdog is not None:
            self._do(dhd.expert.enableExpertMode(), "enter expert mode")
            self._do(dhd.expert.setWatchdog(round(self.watchdog / BEAT), at), "set its watchdog")
        try:
            kind = dhd.getSystemType(at).name
        except ValueError:  # a type the package does not know
            kind = ""
        model = self._model = MODELS.get(kind, UNKNOWN)
        self._wrist, self._gripper = bool(dhd.hasWrist(at)), bool(dhd.hasGripper(at))
        serial = dhd.getSerialNumber(at)
        return DeviceInfo(
            model=model.name or dhd.getSystemName(at) or "Force Dimension device",
            driver=self.driver,
            axes=("x", "y", "z"),
            max_force=model.force,
            mass=model.mass,
            rate=self.rate,
            workspace=((-model.radius, model.radius),) * 3 if model.radius else (),
            max_stiffness=model.stiffness,
            max_damping=model.damping,
            max_speed=DEFAULT_SPEED,
            encoder=model.encoder,
            watchdog=self.watchdog,
            buttons=model.buttons,
            has_orientation=self._wrist,
            has_gripper=self._gripper,
            serial="" if serial < 0 else str(serial),
        )

    def _close(self) -> None:
        at, self._id, self._on = self._id, -1, False
        if at >= 0:
            (self._drd if self.serial is None else self._dhd).close(at)

    def _enable(self, on: bool) -> None:
        self._on = False
        self._do(self._dhd.enableForce(on, self._id), f"switch its forces {'on' if on else 'off'}")
        if not on and not self.brakes:  # forces off means brakes on, unless they are released
            self._do(self._dhd.setBrakes(False, self._id), "release its brakes")
        self._on, self._applied, self._stale = on, (0.0, 0.0, 0.0), True

    def _calibrate(self) -> None:
        """By itself where the device can (its motors move it to its stops); otherwise the hand must do it."""
        drd, at = self._drd, self._id
        if self.serial is not None and drd.openID(at) != at:
            raise DeviceError(f"{self.info.model} can be calibrated only where it is opened by its index: DHD(index=0)")
        if drd.isInitialized(at):
            return
        if not drd.isSupported(at) or self._model.name == "Falcon":
            raise DeviceError(
                f"{self.info.model} cannot calibrate itself: move the handle into its rest position, or once all the "
                "way out and in, until its light stops blinking"
            )
        try:
            self._do(drd.autoInit(at), "calibrate itself")
        finally:
            drd.stop(False, at)  # no regulation and no force, whatever came of it
            self._stale = True

    # -- reading and writing ----------------------------------------------------------------------------------------

    def _read(self) -> DeviceState:
        dhd, at = self._dhd, self._id
        place, speed = [nan] * 3, [nan] * 3
        fresh = self._do(dhd.getPosition(place, at), "say where it is")
        now = time.monotonic()
        if fresh == 0:  # otherwise the SDK found the last reading young enough (its TimeGuard): the same again
            self._count += 1
        if self._stale or self._count % STATUS_EVERY == 0:
            self._flags, self._stale = self._status(), False
        known = dhd.getLinearVelocity(speed, at) >= 0  # it needs some readings before it can tell
        buttons = dhd.getButtonMask(at) & ((1 << self._model.buttons) - 1)
        return DeviceState(
            device_time=nan,
            host_time=now,
            sequence=self._count,
            position=tuple(place),
            velocity=tuple(speed) if known and all(map(isfinite, speed)) else (),
            orientation=self._orientation(),
            gripper=self._gap(),
            buttons=buttons,
            applied=self._applied,
            flags=self._flags,
        )

    def _orientation(self) -> tuple[float, ...]:
        if not self._wrist:
            return ()
        frame = [[0.0] * 3 for _ in range(3)]
        self._do(self._dhd.getOrientationFrame(frame, self._id), "say how it is turned")
        return quaternion(frame)

    def _gap(self) -> float:
        if not self._gripper:
            return nan
        gap = c_double(nan)
        self._do(self._dhd.getGripperGap(gap, self._id), "say how far its gripper is open")
        return gap.value

    def _status(self) -> Flags:
        status = self._core.containers.Status()
        self._do(self._dhd.getStatus(status, self._id), "tell its status")
        flags = Flags.FINE
        if not status.connected:
            flags |= Flags.UNPLUGGED
        if status.error:
            flags |= Flags.ERROR
        if not status.power:
            flags |= Flags.FORCES_OFF
        if status.reset:
            flags |= Flags.UNCALIBRATED
        if self._on and not status.force:
            let_go = status.forceoffcause == self._core.constants.ForceOffCause.DEADMAN
            flags |= Flags.NO_HAND if let_go else Flags.FORCES_OFF
        return flags

    def _write(self, force: tuple[float, ...]) -> None:
        if not self._on:  # to write a force, even 0, would let the SDK carry the handle's weight
            return
        self._do(self._dhd.setForce(force, self._id), "take a force")
        self._applied = force

    def _do(self, answer: int, what: str) -> int:
        """What a call of the SDK answered; below 0 it failed, and knows why."""
        if answer < 0:
            raise DeviceError(f"{self._model.name or 'the Force Dimension device'} cannot {what}: {self._sentence()}")
        return answer

    def _sentence(self) -> str:
        return self._dhd.errorGetLastStr() or "the SDK does not say why"

    @classmethod
    def probe(cls) -> tuple[bool, str]:
        try:
            core = load("forcedimension_core", PACKAGE, "dhd", LIBRARY)
        except DeviceError as error:
            return False, str(error)
        count = core.dhd.getDeviceCount()
        if count < 1:
            return False, "no device is plugged in"
        free = core.dhd.getAvailableCount()
        devices = f"{count} device{'s' if count > 1 else ''} plugged in"
        return free > 0, devices if free > 0 else f"{devices}, in use by another program"
