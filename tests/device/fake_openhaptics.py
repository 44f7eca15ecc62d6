"""`pyOpenHaptics` as far as the driver calls it, around a small mass; tests turn its scheduler by hand."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace

CODES = {
    "HD_SUCCESS": 0x0000, "HD_INVALID_ENUM": 0x0100, "HD_INVALID_VALUE": 0x0101, "HD_INVALID_OPERATION": 0x0103,
    "HD_BAD_HANDLE": 0x0104, "HD_WARM_MOTORS": 0x0200, "HD_EXCEED_MAX_FORCE": 0x0201,
    "HD_EXCEEDED_MAX_FORCE_IMPULSE": 0x0202, "HD_EXCEEDED_MAX_VELOCITY": 0x0203, "HD_FORCE_ERROR": 0x0204,
    "HD_DEVICE_FAULT": 0x0300, "HD_DEVICE_ALREADY_INITIATED": 0x0301, "HD_COMM_ERROR": 0x0302,
    "HD_COMM_CONFIG_ERROR": 0x0303, "HD_TIMER_ERROR": 0x0304, "HD_INVALID_LICENSE": 0x0600,
    "HD_INVALID_HANDLE": 0xFFFFFFFF, "HD_CALLBACK_DONE": 0, "HD_CALLBACK_CONTINUE": 1,
    "HD_CURRENT_VELOCITY": 0x2051, "HD_USABLE_WORKSPACE_DIMENSIONS": 0x2551, "HD_CALIBRATION_STYLE": 0x2555,
    "HD_UPDATE_RATE": 0x2600, "HD_NOMINAL_MAX_STIFFNESS": 0x2602, "HD_NOMINAL_MAX_DAMPING": 0x2609,
    "HD_NOMINAL_MAX_CONTINUOUS_FORCE": 0x2604, "HD_FORCE_OUTPUT": 0x4000, "HD_CALIBRATION_OK": 0x5000,
    "HD_CALIBRATION_ENCODER_RESET": 1, "HD_CALIBRATION_AUTO": 2, "HD_CALIBRATION_INKWELL": 4,
}  # fmt: skip
TYPES = {
    "HDint": ctypes.c_int,
    "HDdouble": ctypes.c_double,
    "HDCallbackCode": ctypes.c_uint,
    "hduVector3Dd": ctypes.c_double * 3,
}


class Touch:
    """The device itself: 0.05 kg that move by 1 ms at every turn of the scheduler; its library is `modules`."""

    def __init__(self, model="Touch", there=True, clock=None):
        self.model, self.there, self.rate, self.clock = model, there, 1000, clock or SimpleNamespace(now=0.0)
        self.place, self.speed, self.force = [0.0] * 3, [0.0] * 3, [0.0] * 3  # m, m/s, N
        self.output = self.running = False
        self.callback, self.buttons, self.errors, self.calls = None, 0, [], []
        self.calibrated, self.docked = True, True
        self.frame = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]  # columns
        self.failing = {}
        self.modules = self._modules()

    def turn(self, count=1):
        """So many calls of the scheduler; what the last one answered."""
        answer = None
        for _ in range(count):
            self.clock.now += 1e-3
            answer = self.callback(None)
            for k in range(3):
                self.speed[k] += 1e-3 * (self.force[k] if self.output else 0.0) / 0.05
                self.place[k] += 1e-3 * self.speed[k]
        return answer

    def _note(self, name, *values):
        self.calls.append((name, *values))
        if name in self.failing:
            raise self.failing[name]

    def _modules(self):
        touch = self

        def init_device(name: str = "Default Device") -> int:
            touch._note("init_device", name)
            print("a line of chatter")
            return 3 if touch.there else CODES["HD_INVALID_HANDLE"]

        def get_model() -> str:
            return touch.model

        def get_buttons() -> int:
            return touch.buttons

        def get_transform():
            touch._note("get_transform")
            matrix = ((ctypes.c_double * 4) * 4)()
            for j in range(3):
                matrix[j][:3] = touch.frame[j]
                matrix[3][j] = 1e3 * touch.place[j]
            return matrix

        def set_force(feedback) -> None:
            touch._note("set_force", tuple(feedback))
            touch.force = list(feedback)

        def close_device(id: int):
            touch._note("close_device", id)
            touch.output = False

        def start_scheduler() -> None:
            touch._note("start_scheduler")
            touch.running = True
            touch.turn()

        def stop_scheduler() -> None:
            touch._note("stop_scheduler")
            touch.running = False

        def enable_force() -> None:
            touch._note("enable_force")
            print("Force feedback enabled!")
            touch.output = True

        def begin_frame(id: int) -> None:
            touch._note("begin_frame", id)

        def end_frame(id: int) -> None:
            touch._note("end_frame", id)

        def _get_error():
            return SimpleNamespace(errorCode=touch.errors.pop(0) if touch.errors else 0)

        def _get_doublev(code: int, dtype):
            data = dtype()
            numbers = {
                CODES["HD_CURRENT_VELOCITY"]: [1e3 * v for v in touch.speed],
                CODES["HD_USABLE_WORKSPACE_DIMENSIONS"]: [-80.0, -60.0, -35.0, 80.0, 60.0, 35.0],
                CODES["HD_NOMINAL_MAX_STIFFNESS"]: 0.5,
                CODES["HD_NOMINAL_MAX_DAMPING"]: 0.002,
                CODES["HD_NOMINAL_MAX_CONTINUOUS_FORCE"]: 0.88,
            }[code]
            if isinstance(numbers, list):
                data[:] = numbers
            else:
                data.value = numbers
            return data

        def _get_integerv(code: int, dtype):
            return dtype({CODES["HD_UPDATE_RATE"]: touch.rate, CODES["HD_CALIBRATION_STYLE"]: 4}[code])

        def hdAsyncSheduler(callback):
            touch.callback = callback

        def hdDisable(what):
            touch._note("hdDisable", what)
            touch.output = False

        def hdCheckCalibration():
            return CODES["HD_CALIBRATION_OK"] if touch.calibrated else 0x5002

        def hdUpdateCalibration(style):
            touch._note("hdUpdateCalibration", style)
            touch.calibrated = touch.docked

        functions = (
            init_device, get_model, get_buttons, get_transform, set_force, close_device, start_scheduler,
            stop_scheduler, enable_force, begin_frame, end_frame, _get_error, _get_doublev, _get_integerv,
        )  # fmt: skip
        hd = ModuleType("pyOpenHaptics.hd")
        vars(hd).update({**CODES, **TYPES, **{function.__name__: function for function in functions}})
        hd._lib_hd = SimpleNamespace(
            hdDisable=hdDisable, hdCheckCalibration=hdCheckCalibration, hdUpdateCalibration=hdUpdateCalibration
        )
        callbacks = ModuleType("pyOpenHaptics.hd_callback")
        callbacks.hdAsyncSheduler = hdAsyncSheduler
        package = ModuleType("pyOpenHaptics")
        package.hd, package.hd_callback = hd, callbacks
        return {module.__name__: module for module in (package, hd, callbacks)}
