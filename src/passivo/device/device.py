"""`Device`: the one interface of all haptic devices, simulated or real.

    with pv.devices.Sim() as device:              # opened; no force acts yet
        device.enable_forces()
        while True:
            state = device.wait_tick()            # or device.read()
            answer = device.write([-k * state.position[0]])

Every force that `write` lets through has passed a finite check, the device's force limit and a port ledger clamp, in
this order. A loop (`pv.Loop`) does the same in machine code. Forces are what the handle feels, along its axes, in N.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np

from passivo.device.boxed import boxed_driver
from passivo.device.driver import Driver
from passivo.device.state import Answer, DeviceInfo, DeviceState, Flags, Life, Status
from passivo.errors import DeviceError, InputError, nearest, quoted
from passivo.method.told import Told
from passivo.model.handle import Handle
from passivo.network.ledger_clamp import Clamp, LedgerClamp
from passivo.network.network import End, Member


class Device(ABC):
    """Base of all drivers. A driver writes `_open`, `_close`, `_read` and `_write`, and others where it needs them.

    axes   the axes to be used, as "z" or "xy" or a sequence of names; the others get no force. Default: all
    name   of the part in a network
    clamp  options of the ledger clamp in front of the motors; what it leaves out comes from `info`
    info   facts that are known better than the driver knows them, as {"mass": 0.12}
    """

    driver: ClassVar[str]  # its name on the command line
    keeps_force: bool = True  # it can be told nothing before its next reading: until then the last force stays

    def __init__(
        self,
        *,
        axes: str | Sequence[str] | None = None,
        name: str = "device",
        clamp: Any = None,
        info: Mapping[str, Any] | None = None,
    ):
        self.name, self.wanted_axes, self.facts = name, axes, checked(info or {})
        self.clamp_options: LedgerClamp = LedgerClamp() if clamp is None else clamp
        self._info: DeviceInfo | None = None
        self._life, self._why = Life.CLOSED, ""
        self._member: Any = None
        self._clamp: Clamp | None = None
        self._last: DeviceState | None = None
        self._guarded_at, self._guarded = 0.0, -1  # host time and number of the reading at the clamp's last tick
        self._standing: np.ndarray = np.zeros(0)  # what the handle feels since then
        self._deadline = 0.0

    # -- to be written by a driver ----------------------------------------------------------------------------------

    @abstractmethod
    def _open(self) -> DeviceInfo:
        """Find the device, without energising it; raise `DeviceError` with the fix where that fails."""

    @abstractmethod
    def _read(self) -> DeviceState:
        """The present state; raise `DeviceError` where the device does not answer."""

    @abstractmethod
    def _write(self, force: tuple[float, ...]) -> None:
        """Let the motors push; one number for each axis of `info`, all finite and within the limits."""

    def _close(self) -> None:  # noqa: B027
        """Give the device free; must not raise."""

    def _enable(self, on: bool) -> None:  # noqa: B027
        """Switch the motors on or off, where the device can; off must be tried whatever happened before."""

    def _calibrate(self) -> None:  # noqa: B027
        """Find the zero of the sensors, where that is needed."""

    def _wait(self, timeout: float) -> DeviceState:
        """The next state of a device that owns the clock; raise `DeviceError` after `timeout` seconds without one."""
        raise NotImplementedError

    @classmethod
    def probe(cls) -> tuple[bool, str]:
        """Whether such a device can be used here, and a sentence: what was found or what is missing. No force acts."""
        return True, "always there"

    # -- life -------------------------------------------------------------------------------------------------------

    @property
    def info(self) -> DeviceInfo:
        if self._info is None:
            raise DeviceError(f"{self.name} is not open yet; call open(), or write 'with ... as device:'")
        return self._info

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes in use."""
        names = self.info.axes
        if self.wanted_axes is None:
            return names
        chosen = tuple(self.wanted_axes)
        for axis in chosen:
            if axis not in names:
                raise InputError(f"{self.info.model} has no axis {axis!r}; {nearest(axis, names)}")
        if not chosen or len(set(chosen)) < len(chosen):
            raise InputError(f"axes must name each axis once, not {self.wanted_axes!r}; choose from {', '.join(names)}")
        return chosen

    @property
    def indices(self) -> tuple[int, ...]:
        """The places of the axes in use among all of the device's."""
        return tuple(self.info.axes.index(axis) for axis in self.axes)

    @property
    def status(self) -> Status:
        return Status(self._life, self._why)

    def open(self) -> Self:
        """Find the device. No force acts before `enable_forces`."""
        if self._life is not Life.CLOSED:
            raise DeviceError(f"{self.name} is already open; close it first")
        self._info = renamed(self._open(), **self.facts)
        self._last = self._clamp = None
        self._life, self._why = Life.OPEN, "no force acts yet"
        try:
            _ = self.axes
        except InputError:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Forces off, and give the device free; may be called at any time."""
        if self._life is Life.CLOSED:
            return
        self.stop()
        try:
            self._close()
        finally:
            self._life, self._why = Life.CLOSED, ""

    def __enter__(self) -> Self:
        return self.open() if self._life is Life.CLOSED else self

    def __exit__(self, *_: object) -> None:
        self.close()

    def calibrate(self) -> None:
        """Find the zero of the sensors, where the device needs that; forces must be off."""
        self._must_be_open("calibrate")
        if self._life is Life.ENABLED:
            raise DeviceError(f"{self.name} cannot be calibrated while forces are enabled; call stop() first")
        self._calibrate()

    def enable_forces(self, on: bool = True) -> None:
        """Let forces act from the next `write` on; the ledger of the clamp starts anew."""
        self._must_be_open("enable forces")
        if not on:
            self.stop()
            return
        if not self.info.gives_force:
            raise DeviceError(f"{self.info.model} cannot push; it only reports where it is")
        self._clamp = self.guard(LedgerClamp).alone(len(self.axes), 1.0 / self.info.rate)
        self._last, self._guarded, self._standing = None, -1, np.zeros(len(self.axes))
        self._enable(True)
        self._life, self._why = Life.ENABLED, ""

    def stop(self, why: str = "stopped") -> None:
        """No force from now on. Never raises: it is what is called when all else failed."""
        if self._life in (Life.CLOSED, Life.LOST):
            return
        problem = self._off()
        self._life, self._why = Life.STOPPED, why
        if problem:
            self._life, self._why = Life.LOST, f"{why}; and it could not be told to stop: {problem}"

    def _off(self) -> str:
        """Force zero and motors off, both tried whatever happens; what went wrong, or nothing."""
        problems = []
        for act in (lambda: self._write((0.0,) * self.info.degrees_of_freedom), lambda: self._enable(False)):
            try:
                act()
            except Exception as error:
                problems.append(str(error) or type(error).__name__)
        return "; ".join(dict.fromkeys(problems))

    def must_be_free(self) -> None:
        """Raise unless a loop may take it: it is open, and nobody else lets it push."""
        self._must_be_open("be run in a loop")
        if self._life is Life.ENABLED:
            raise DeviceError(f"{self.name} is in use already: its forces are enabled; call stop() first")

    def _must_be_open(self, what: str) -> None:
        if self._life is Life.CLOSED:
            raise DeviceError(f"{self.name} is closed: it cannot {what}; call open() first")
        if self._life is Life.LOST:
            raise DeviceError(f"{self.name} is lost ({self._why}); close it, plug it in and open it again")

    # -- reading and writing ----------------------------------------------------------------------------------------

    def read(self) -> DeviceState:
        """The present state."""
        self._must_be_open("be read")
        return self._noted(self._read)

    def wait_tick(self, timeout: float = 1.0) -> DeviceState:
        """The next state: when the device has one, or where the client paces, at the next tick of `info.rate`."""
        self._must_be_open("be waited for")
        if self.info.owns_clock:
            return self._noted(lambda: self._wait(timeout))
        period, now = 1.0 / self.info.rate, time.monotonic()
        self._deadline = max(self._deadline + period, now) if self._deadline else now
        time.sleep(self._deadline - now)
        return self.read()

    def _noted(self, take: Callable[[], DeviceState]) -> DeviceState:
        """A reading, unless the device is lost: then it is told to stop, whether or not it still listens."""
        try:
            state = take()
            if state.flags & Flags.UNPLUGGED:
                raise DeviceError(f"{self.name} was unplugged")
        except Exception as error:
            self._off()
            self._life, self._why = Life.LOST, str(error) or type(error).__name__
            if isinstance(error, DeviceError):
                raise
            raise DeviceError(f"{self.name} could not be read: {self._why}") from error
        self._last = state
        return state

    def write(self, force: Sequence[float] | float) -> Answer:
        """Let the handle feel a force (N, one number for each axis in use) until the next one, and say what was done.

        It answers the last `read`: the clamp takes the position from there, so read before every write. Where no new
        reading came since the last write, the force of that write stands.
        """
        wanted = self.vector(force)
        if self._life is not Life.ENABLED or self._clamp is None:
            return Answer.DISABLED
        if self._last is None:
            raise DeviceError("read the device before the first write: the clamp must know where the handle is")
        size = float(np.linalg.norm(wanted))
        finite, saturated = isfinite(size), size > self.info.max_force
        if not finite:
            wanted[:] = 0.0
        elif saturated:
            wanted *= self.info.max_force / size
        cut = self._guard(self._last, wanted)
        try:
            self._write(self.spread(self._standing))
        except Exception as error:
            why = str(error) or type(error).__name__
            self.stop(why)
            if isinstance(error, DeviceError):
                raise
            raise DeviceError(f"{self.name} could not be told its force: {why}") from error
        if cut:
            return Answer.LATE
        if not (finite and np.allclose(self._standing, wanted, rtol=1e-9, atol=1e-12)):
            return Answer.CLAMPED
        return Answer.SATURATED if saturated else Answer.OK

    def vector(self, force: Sequence[float] | float) -> np.ndarray:
        """A force as one number for each axis in use, the caller's own untouched."""
        try:
            wanted = np.array(force, dtype=float, ndmin=1)
        except (TypeError, ValueError):
            wanted = np.zeros(0)
        if wanted.shape != (len(self.axes),):
            numbers = f"{len(self.axes)} numbers ({', '.join(self.axes)})"
            raise InputError(f"a force on {self.name} has {numbers}, not {quoted(force)}")
        return wanted

    def _guard(self, state: DeviceState, wanted: np.ndarray) -> bool:
        """As much of the wanted force as the clamp lets through, into `_standing`; whether the watchdog was faster."""
        clamp = self._clamp
        assert clamp is not None
        if state.sequence == self._guarded:
            return False
        elapsed = state.host_time - self._guarded_at if clamp.ticks else 1.0 / self.info.rate
        position, cuts = np.array([state.position[i] for i in self.indices]), clamp.cut
        self._standing = -np.atleast_1d(clamp.tick(_one(position), _one(-wanted), elapsed))
        self._guarded_at, self._guarded = state.host_time, state.sequence
        return clamp.cut > cuts

    def spread(self, force: Sequence[float] | np.ndarray) -> tuple[float, ...]:
        """A force over the axes in use as one over all axes."""
        result = [0.0] * self.info.degrees_of_freedom
        for i, value in zip(self.indices, force):
            result[i] = float(value)
        return tuple(result)

    def guard(
        self,
        kind: type[LedgerClamp],
        options: LedgerClamp | None = None,
        holds: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Any:
        """A clamp with what was given, and the rest from what is known of the device; `holds`: how long forces last."""
        given, info = self.clamp_options if options is None else options, self.info
        known: dict[str, Any] = {field.name: getattr(given, field.name) for field in fields(given)}
        if given.mass is None:
            known["mass"] = info.mass
        if not given.encoder:
            known["encoder"] = info.encoder
        if given.limit is None:
            known["limit"] = info.max_force
        if not given.skew:
            known["skew"] = info.skew
        if holds is None and info.watchdog is not None:
            holds = {"longest": info.watchdog, "watchdog": True}
        if given.longest is None and holds is not None:
            known.update(holds)
        return kind(**known, **more)

    # -- as a part of a network -------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> End:
        """The port "handle", or a state such as "position", for `connect` and `observe` of a network."""
        if self._member is None or self._member.base.axes != self.axes:
            self._member = Member(self.name, Handle(self.axes, self.name), Told(), self.step, device=self)
        return self._member[name]

    def seated(self, memory: np.ndarray, number: Callable[[str], int]) -> None:  # noqa: B027
        """A loop has begun to run it, in this memory; `number` finds its places."""

    def driver_piece(self) -> Driver:
        """What the device brings into a compiled loop; here: a box that its `_wait` or `_read` and `_write` serve."""
        return boxed_driver(self)

    @property
    def step(self) -> Fraction:
        """Seconds between two states."""
        return Fraction(1) / Fraction(repr(float(self.info.rate)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.status}>"


def _one(values: np.ndarray) -> Any:
    return values if len(values) > 1 else float(values[0])


FIXED = ("driver", "axes", "owns_clock")  # facts that belong to the driver's code
POSITIVE = ("max_force", "mass", "rate", "max_speed")


def checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about a device as a user gave them."""
    names = [field.name for field in fields(DeviceInfo) if field.name not in FIXED]
    for name, value in facts.items():
        if name not in names:
            raise InputError(f"info has no {name!r} that could be set; {nearest(name, names)}")
        if name in POSITIVE and not (isinstance(value, int | float) and 0.0 < value < float("inf")):
            raise InputError(f"{name} of a device is a positive number, not {quoted(value)}")
        if name == "skew" and not (isinstance(value, int | float) and 0.0 <= value < float("inf")):
            raise InputError(f"skew of a device is seconds >= 0, not {quoted(value)}")
    return dict(facts)


def renamed(info: DeviceInfo, **changes: Any) -> DeviceInfo:
    """The same device with other facts, as a user may know them better."""
    return replace(info, **changes)
