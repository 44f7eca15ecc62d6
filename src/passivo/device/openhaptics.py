"""`OpenHaptics`: the Touch devices of 3D Systems (and their ancestors, the Phantoms), through OpenHaptics.

The library's scheduler calls back a thousand times a second: it owns the clock. A call publishes the newest state,
waits for the force that answers it, at most half a period, and hands that to the motors; so a force acts from the
reading it answers. Where no answer comes the last force stands, and after `watchdog` seconds none acts.
"""

from __future__ import annotations

import contextlib
import io
import threading
import time
from ctypes import CFUNCTYPE, POINTER, c_void_p
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from passivo.device.device import Device
from passivo.device.state import DeviceInfo, DeviceState, Flags
from passivo.device.vendor import load, quaternion
from passivo.errors import DeviceError, InputError, quoted

PACKAGE = "pyOpenHaptics"
LIBRARY = "install OpenHaptics and the Touch device driver of 3D Systems (support.3dsystems.com)"
MM = 1e-3
FIRST_STATE = 2.0  # s to wait for it
STATUS_EVERY = 100  # readings: whether it is calibrated
ANSWER_SHARE = 0.5  # of a period in which an answer is waited for
NO_FORCE = (0.0, 0.0, 0.0)
UNSURE = 0.7  # of that inertia: it differs between directions, and the clamp needs the least
SENTENCES = {
    "HD_INVALID_ENUM": "the library does not know a value it was asked for",
    "HD_INVALID_VALUE": "a value is out of its range",
    "HD_INVALID_OPERATION": "this cannot be done now",
    "HD_BAD_HANDLE": "the device is not open",
    "HD_WARM_MOTORS": "the motors are too warm",
    "HD_EXCEED_MAX_FORCE": "the force is beyond what the device can give",
    "HD_EXCEEDED_MAX_FORCE_IMPULSE": "the force changed too fast",
    "HD_EXCEEDED_MAX_VELOCITY": "the handle moves too fast",
    "HD_FORCE_ERROR": "forces cannot be given",
    "HD_DEVICE_FAULT": "the device reports a fault of its own",
    "HD_DEVICE_ALREADY_INITIATED": "the device is open already",
    "HD_COMM_ERROR": "the device does not answer any more; check its cable",
    "HD_COMM_CONFIG_ERROR": "the connection is not set up; run the vendor's setup program",
    "HD_TIMER_ERROR": "the scheduler has no timer",
    "HD_INVALID_LICENSE": "the licence of OpenHaptics is not valid",
}
TRIFLES = ("HD_EXCEED_MAX_FORCE", "HD_EXCEEDED_MAX_FORCE_IMPULSE", "HD_EXCEEDED_MAX_VELOCITY")  # one force is left out


@dataclass(frozen=True)
class Model:
    """What the library does not tell: the mass at the tip (kg) and the step of the encoders (m)."""

    mass: float
    encoder: float


# No source at hand: inertia at the tip and nominal resolution as the data sheets are remembered (Touch, once Omni:
# 45 g, 450 dpi; Touch X, once Desktop: 45 g, 1100 dpi), not checked on a device. Unknown models: lighter and coarser.
MODELS = {
    "omni": Model(UNSURE * 0.045, 0.0254 / 450),
    "touch x": Model(UNSURE * 0.045, 0.0254 / 1100),
    "desktop": Model(UNSURE * 0.045, 0.0254 / 1100),
    "touch": Model(UNSURE * 0.045, 0.0254 / 450),
}
UNKNOWN = Model(0.02, 1e-4)


class OpenHaptics(Device):
    """A 3D Systems Touch or Touch X, or a Phantom. x to the right, y up, z to the user; m and N.

    device    its name in the vendor's setup program
    watchdog  seconds without an answer after which no force acts, in whole ticks. It is kept by the callback, which
              needs Python's lock: a program that holds that lock for long (a C extension) holds the callback up too

    The largest force is the one the device can hold for long, by its own account; for short pushes more can be allowed
    with info={"max_force": 3.3}, and the motors then grow warm. The mass felt at the tip is a guess on the safe
    side; measure yours with `pv.identify` and say info={"mass": 0.05}. Where `read().flags` says UNCALIBRATED, put the
    stylus into the inkwell and call `calibrate()`.
    """

    driver = "openhaptics"

    def __init__(self, *, device: str = "Default Device", watchdog: float = 3e-3, **options: Any):
        super().__init__(**options)
        if not isinstance(device, str) or not device:
            raise InputError(f"a Touch is found by its name in the setup program, not by {quoted(device)}")
        if not isinstance(watchdog, int | float) or not 1e-3 <= watchdog <= 0.1:
            raise InputError(f"OpenHaptics' watchdog is from 0.001 to 0.1 s, not {quoted(watchdog)}")
        self.device, self.watchdog = device, float(watchdog)
        self._hd: Any = None
        self._id: int | None = None
        self._change = threading.Condition()
        self._state: DeviceState | None = None
        self._force, self._given, self._answered, self._left = NO_FORCE, 0, 0, 0
        self._on, self._over, self._problem = False, False, ""
        self._uncalibrated = self._warm = Flags.FINE
        self._ticks, self._period = 3, 1e-3

    # -- life -------------------------------------------------------------------------------------------------------

    def _open(self) -> DeviceInfo:
        hd = self._hd = load("pyOpenHaptics.hd", PACKAGE, "openhaptics", LIBRARY)
        callbacks = load("pyOpenHaptics.hd_callback", PACKAGE, "openhaptics", LIBRARY)
        with _quiet():
            found = hd.init_device(self.device)
        if found is None or found in (hd.HD_INVALID_HANDLE, hd.HD_BAD_HANDLE):
            raise DeviceError(
                f"{self.device!r} could not be opened: {self._error() or 'the library does not say why'}; is it "
                "plugged in, and does the vendor's setup program know it by this name?"
            )
        self._id = found
        try:
            info = self._described()
            self._state, self._problem, self._over, self._on = None, "", False, False
            self._force, self._given, self._answered, self._left, self._warm = NO_FORCE, 0, 0, 0, Flags.FINE
            self._call = CFUNCTYPE(hd.HDCallbackCode, POINTER(c_void_p))(self._tick)  # kept: the library calls it
            callbacks.hdAsyncSheduler(self._call)
            hd.start_scheduler()
            self._next(0, FIRST_STATE)
        except BaseException:
            self._close()
            raise
        return info

    def _described(self) -> DeviceInfo:
        hd = self._hd
        name = hd.get_model() or "Touch"
        model = next((known for part, known in MODELS.items() if part in name.lower()), UNKNOWN)
        number = lambda code: float(hd._get_doublev(code, hd.HDdouble).value)  # noqa: E731
        most = number(hd.HD_NOMINAL_MAX_CONTINUOUS_FORCE)
        if not (isfinite(most) and most > 0.0):
            most = 0.8
        rate = float(hd._get_integerv(hd.HD_UPDATE_RATE, hd.HDint).value)
        rate = rate if 100.0 <= rate <= 10000.0 else 1000.0
        box = [MM * value for value in hd._get_doublev(hd.HD_USABLE_WORKSPACE_DIMENSIONS, hd.HDdouble * 6)]
        self._period, self._ticks = 1.0 / rate, max(round(self.watchdog * rate), 1)
        sane = all(map(isfinite, box)) and all(box[k] < box[k + 3] for k in range(3))
        return DeviceInfo(
            model=name,
            driver=self.driver,
            axes=("x", "y", "z"),
            max_force=most,
            mass=model.mass,
            rate=rate,
            workspace=tuple((box[k], box[k + 3]) for k in range(3)) if sane else (),
            max_stiffness=max(number(hd.HD_NOMINAL_MAX_STIFFNESS), 0.0) / MM,
            max_damping=max(number(hd.HD_NOMINAL_MAX_DAMPING), 0.0) / MM,
            max_speed=2.0,
            encoder=model.encoder,
            owns_clock=True,
            watchdog=self._ticks * self._period,
            buttons=2,
            has_orientation=True,
        )

    def _close(self) -> None:
        with self._change:
            self._over, self._on = True, False
            self._change.notify_all()
        found, self._id = self._id, None
        if found is None:
            return
        with _quiet():
            for act in (self._hd.stop_scheduler, lambda: self._hd.close_device(found)):
                with contextlib.suppress(Exception):
                    act()

    def _enable(self, on: bool) -> None:
        with self._change:
            self._on, self._force, self._left = False, NO_FORCE, 0
        if self._id is None:
            return
        with _quiet():
            if on:
                self._hd.enable_force()
            else:
                self._hd._lib_hd.hdDisable(self._hd.HD_FORCE_OUTPUT)  # the package has no name for it
        problem = self._error() if on else ""
        if problem:
            raise DeviceError(f"{self.name} cannot switch its forces on: {problem}")
        with self._change:
            self._on = on

    def _calibrate(self) -> None:
        hd = self._hd
        style = hd._get_integerv(hd.HD_CALIBRATION_STYLE, hd.HDint).value
        for one in (hd.HD_CALIBRATION_INKWELL, hd.HD_CALIBRATION_AUTO, hd.HD_CALIBRATION_ENCODER_RESET):
            if style & one:
                hd._lib_hd.hdUpdateCalibration(one)
                break
        problem = self._error()
        if problem or hd._lib_hd.hdCheckCalibration() != hd.HD_CALIBRATION_OK:
            raise DeviceError(
                f"{self.info.model} is not calibrated{': ' + problem if problem else ''}; put the stylus into the "
                "inkwell (without one: hold the arm in its rest position) and calibrate again"
            )
        self._uncalibrated = Flags.FINE

    # -- the scheduler's thread -------------------------------------------------------------------------------------

    def _tick(self, _: Any) -> int:
        """One call of the scheduler. Whatever is wrong is told to the client; no force acts then."""
        hd = self._hd
        try:
            frame = self._id
            hd.begin_frame(frame)
            try:
                state = self._sensed()
                hd.set_force(list(self._exchange(state)))
            finally:
                hd.end_frame(frame)
            self._judge()
        except Exception as error:
            self._fail(str(error) or type(error).__name__)
        return hd.HD_CALLBACK_DONE if self._over or self._problem else hd.HD_CALLBACK_CONTINUE

    def _sensed(self) -> DeviceState:
        hd, last = self._hd, self._state
        matrix = hd.get_transform()  # column by column, the place in the last one, mm
        speed = hd._get_doublev(hd.HD_CURRENT_VELOCITY, hd.hduVector3Dd)
        if last is None or last.sequence % STATUS_EVERY == 0:
            fine = hd._lib_hd.hdCheckCalibration() == hd.HD_CALIBRATION_OK
            self._uncalibrated = Flags.FINE if fine else Flags.UNCALIBRATED
        return DeviceState(
            device_time=nan,
            host_time=time.monotonic(),
            sequence=1 if last is None else last.sequence + 1,
            position=tuple(MM * matrix[3][k] for k in range(3)),
            velocity=tuple(MM * value for value in speed),
            orientation=quaternion([[matrix[j][i] for j in range(3)] for i in range(3)]),
            buttons=int(hd.get_buttons()) & 3,
            applied=self._force,
            flags=self._uncalibrated | self._warm,
        )

    def _exchange(self, state: DeviceState) -> tuple[float, ...]:
        """Publish a state and take the force that answers it, if it comes in time; else the last one, for a while."""
        deadline = state.host_time + ANSWER_SHARE * self._period
        with self._change:
            self._state = state
            self._change.notify_all()
            while self._on and not self._over and self._answered < state.sequence:
                left = deadline - time.monotonic()
                if left <= 0.0 or not self._change.wait(left):
                    break
            if self._left <= 0 or not self._on:
                self._force = NO_FORCE
            self._left -= 1
            return self._force

    def _judge(self) -> None:
        """What the library has to complain about: trifles pass, warm motors are a flag, anything else is the end."""
        self._warm = Flags.FINE
        for _ in range(8):
            name = self._error_name()
            if not name:
                return
            if name == "HD_WARM_MOTORS":
                self._warm = Flags.OVERHEATED
            elif name not in TRIFLES:
                self._fail(SENTENCES.get(name, name))

    def _fail(self, why: str) -> None:
        """No force any more, and the client is told at its next reading."""
        hd = self._hd
        with self._change:
            self._problem, self._on, self._force = self._problem or why, False, NO_FORCE
            self._change.notify_all()
        with contextlib.suppress(Exception):
            hd.begin_frame(self._id)
            hd.set_force(list(NO_FORCE))
            hd.end_frame(self._id)

    def _error_name(self) -> str:
        code = int(self._hd._get_error().errorCode)
        if code == self._hd.HD_SUCCESS:
            return ""
        return next((name for name in SENTENCES if getattr(self._hd, name) == code), f"error 0x{code:04x}")

    def _error(self) -> str:
        name = self._error_name()
        return SENTENCES.get(name, name)

    # -- the client -------------------------------------------------------------------------------------------------

    def _next(self, after: int, timeout: float) -> DeviceState:
        """The first state after one that is known."""
        end = time.monotonic() + timeout
        with self._change:
            while True:
                if self._problem:
                    raise DeviceError(f"{self.name}: {self._problem}")
                if self._state is not None and self._state.sequence > after:
                    self._given = self._state.sequence
                    return self._state
                left = end - time.monotonic()
                if left <= 0.0:
                    raise DeviceError(f"{self.name} gave no reading within {timeout:g} s; is it still plugged in?")
                self._change.wait(left)

    def _wait(self, timeout: float) -> DeviceState:
        return self._next(self._given, timeout)

    def _read(self) -> DeviceState:
        return self._next(0, 0.0)

    def _write(self, force: tuple[float, ...]) -> None:
        with self._change:
            if self._problem:
                raise DeviceError(f"{self.name}: {self._problem}")
            self._force, self._left, self._answered = force, self._ticks, self._given
            self._change.notify_all()

    @classmethod
    def probe(cls) -> tuple[bool, str]:
        try:
            load("pyOpenHaptics.hd", PACKAGE, "openhaptics", LIBRARY)
        except DeviceError as error:
            return False, str(error)
        return True, "the library is there; a device shows when it is opened"


def _quiet() -> contextlib.redirect_stdout[io.StringIO]:
    """The package prints what it does."""
    return contextlib.redirect_stdout(io.StringIO())
