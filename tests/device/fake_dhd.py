"""`forcedimension_core` as far as the driver calls it, around a small mass; it remembers calls and fails on request."""

from __future__ import annotations

from enum import IntEnum
from types import ModuleType, SimpleNamespace


class Kinds(IntEnum):
    OMEGA3 = 33
    OMEGA7_LEFT = 37
    LAMBDA7_RIGHT = 108
    FALCON = 60
    CUSTOM = 91


class ForceOffCause(IntEnum):
    VELOCITY = 2
    DEADMAN = 6


class Status(SimpleNamespace):
    def __init__(self):
        super().__init__(connected=0, power=0, error=0, reset=0, force=0, forceoffcause=0)


class Robot:
    """The device itself: 0.2 kg that move by 1 ms at every fresh position; its SDK is `modules`."""

    def __init__(self, kind=Kinds.OMEGA3, count=1, serials=(7,)):
        self.kind, self.count, self.serials = kind, count, serials
        self.place, self.speed, self.force = [0.0] * 3, [0.0] * 3, [0.0] * 3
        self.calls, self.failing, self.error = [], {}, "no error"
        self.on = self.moving = False
        self.now = 50.0  # s
        self.status = {"connected": 1, "power": 1}
        self.answers = {}  # instead of 0
        self.mask, self.gap, self.frame = 0, 0.02, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        self.initialized = True
        self.modules = self._modules()

    def called(self, name):
        return [call[1:] for call in self.calls if call[0] == name]

    def _do(self, name, *values):
        self.calls.append((name, *values))
        if name in self.failing:
            self.error = self.failing[name]
            return -1
        return self.answers.get(name, 0)

    def _modules(self):
        robot = self

        def errorGetLastStr() -> str:
            return robot.error

        def getDeviceCount() -> int:
            return robot.count

        def getAvailableCount() -> int:
            return robot._do("getAvailableCount") or robot.count

        def openSerial(serial: int) -> int:
            found = robot._do("openSerial", serial)
            if serial not in robot.serials:
                robot.error = "no device found"
                return -1
            return found

        def getSerialNumber(ID: int = -1) -> int:
            return robot.serials[ID]

        def getSystemType(ID: int = -1):
            return Kinds(robot.kind)

        def getSystemName(ID: int = -1):
            return "something new"

        def hasWrist(ID: int = -1) -> bool:
            return robot.kind in (Kinds.OMEGA7_LEFT, Kinds.LAMBDA7_RIGHT)

        def hasGripper(ID: int = -1) -> bool:
            return hasWrist(ID)

        def close(ID: int = -1) -> int:
            robot.on = False
            return robot._do("close", ID)

        def enableForce(enable: bool, ID: int = -1) -> int:
            answer = robot._do("enableForce", enable, ID)
            if answer >= 0:
                robot.on = enable
                robot.force = [0.0] * 3
            return answer

        def setGravityCompensation(enable: bool, ID: int = -1) -> int:
            return robot._do("setGravityCompensation", enable, ID)

        def setBrakes(enable: bool, ID: int = -1) -> int:
            return robot._do("setBrakes", enable, ID)

        def getPosition(out, ID: int = -1) -> int:
            answer = robot._do("getPosition", ID)
            if answer == 0:
                robot.now += 1e-3
                for k in range(3):
                    robot.speed[k] += 1e-3 * robot.force[k] / 0.2 * robot.on
                    robot.place[k] += 1e-3 * robot.speed[k]
            out[:] = robot.place
            return answer

        def getLinearVelocity(out, ID: int = -1) -> int:
            out[:] = robot.speed
            return robot._do("getLinearVelocity", ID)

        def getOrientationFrame(out, ID: int = -1) -> int:
            for i in range(3):
                out[i][:] = robot.frame[i]
            return robot._do("getOrientationFrame", ID)

        def getGripperGap(out, ID: int = -1) -> int:
            out.value = robot.gap
            return robot._do("getGripperGap", ID)

        def getButtonMask(ID: int = -1) -> int:
            return robot.mask

        def getStatus(out, ID: int = -1) -> int:
            vars(out).update({"force": int(robot.on), **robot.status})
            return robot._do("getStatus", ID)

        def setForce(f, ID: int = -1) -> int:
            answer = robot._do("setForce", tuple(f), ID)
            if answer >= 0:
                robot.force = list(f)
            return answer

        def enableExpertMode() -> int:
            return robot._do("enableExpertMode")

        def setWatchdog(duration: int, ID: int = -1) -> int:
            return robot._do("setWatchdog", duration, ID)

        def open() -> int:
            return robot._do("open") if robot.count else robot._none()

        def openID(ID: int) -> int:
            robot._do("openID", ID)
            return ID if robot.count > ID else robot._none()

        def isInitialized(ID: int = -1) -> bool:
            return robot.initialized

        def isSupported(ID: int = -1) -> bool:
            return robot.kind != Kinds.CUSTOM

        def autoInit(ID: int = -1) -> int:
            answer = robot._do("autoInit", ID)
            robot.moving, robot.initialized = True, answer >= 0
            return answer

        def stop(force_on: bool, ID: int = -1) -> int:
            robot.moving = False
            return robot._do("stop", force_on, ID)

        here = dict(locals())
        of = lambda name, *functions: _module(name, {f: here[f] for f in functions})  # noqa: E731
        expert = of("forcedimension_core.dhd.expert", "enableExpertMode", "setWatchdog")
        dhd = of(
            "forcedimension_core.dhd", "errorGetLastStr", "getDeviceCount", "getAvailableCount", "openSerial",
            "getSerialNumber", "getSystemType", "getSystemName", "hasWrist", "hasGripper", "close", "enableForce",
            "setGravityCompensation", "setBrakes", "getPosition", "getLinearVelocity", "getOrientationFrame",
            "getGripperGap", "getButtonMask", "getStatus", "setForce",
        )  # fmt: skip
        dhd.expert = expert
        drd = of(
            "forcedimension_core.drd", "open", "openID", "close", "isInitialized", "isSupported", "autoInit", "stop"
        )
        constants = _module("forcedimension_core.constants", {"ForceOffCause": ForceOffCause})
        containers = _module("forcedimension_core.containers", {"Status": Status})
        core = _module(
            "forcedimension_core", {"dhd": dhd, "drd": drd, "constants": constants, "containers": containers}
        )
        return {module.__name__: module for module in (core, dhd, expert, drd, constants, containers)}

    def _none(self):
        self.error = "no device found"
        return -1


def _module(name, contents):
    module = ModuleType(name)
    vars(module).update(contents)
    return module
