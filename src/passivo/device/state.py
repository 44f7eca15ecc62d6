"""What a device is, what it reports and what it answers: plain data, shared by drivers, loop and recorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import IntFlag, StrEnum
from typing import Any

from passivo.errors import InputError, quoted


class Answer(StrEnum):
    """What `write` did with a force."""

    OK = "ok"  # it acts as it was given
    SATURATED = "saturated"  # it was larger than the device can give: cut to that
    CLAMPED = "clamped"  # the energy ledger could not pay for it: made smaller
    DISABLED = "disabled"  # forces are not enabled: none acts
    LATE = "late"  # it came after the watchdog had dropped the last one


class Flags(IntFlag):
    """What is the matter with a reading."""

    FINE = 0
    UNCALIBRATED = 1
    NO_HAND = 2  # the presence sensor or dead-man switch is not held
    OVERHEATED = 4
    FORCES_OFF = 8  # the device itself has switched its forces off
    ERROR = 16  # the device reports a fault of its own
    UNPLUGGED = 32
    OVER = 64  # nothing will come any more: a recording was played to its end


@dataclass(frozen=True)
class DeviceInfo:
    """What is known of a device before it is touched. SI units; lengths and forces, or angles and torques.

    axes           names of its degrees of freedom, in order
    workspace      lowest and highest position of each axis; empty where unknown
    max_force      largest norm of the force it can hold, N; every limit in a loop is at most this
    max_stiffness  largest stiffness it was built for, N/m; 0 where unknown
    max_damping    largest damping it was built for, N s/m; 0 where unknown
    max_speed      fastest motion that is still sane, m/s: beyond, the loop goes over to damping
    mass           lower bound of the mass felt at the handle, kg
    damping        physical damping of the handle, N s/m
    encoder        step of the position sensors, m; 0 where positions are exact
    rate           states per second
    owns_clock     the device tells when a state is there; otherwise the client asks when it wants
    watchdog       seconds after which the device drops a force by itself; None if it never does
    skew           seconds from the instant of a position to that at which the force that answers it begins to act,
                   where a device must wait for its next message; the clamp counts with it
    gives_force    it can push; a mouse cannot
    buttons        number of buttons
    has_orientation, has_gripper  what else it reports
    """

    model: str
    driver: str
    axes: tuple[str, ...]
    max_force: float
    mass: float
    rate: float
    workspace: tuple[tuple[float, float], ...] = ()
    max_stiffness: float = 0.0
    max_damping: float = 0.0
    max_speed: float = 5.0
    damping: float = 0.0
    encoder: float = 0.0
    owns_clock: bool = False
    watchdog: float | None = None
    skew: float = 0.0
    gives_force: bool = True
    buttons: int = 0
    has_orientation: bool = False
    has_gripper: bool = False
    serial: str = ""

    @property
    def degrees_of_freedom(self) -> int:
        return len(self.axes)

    def describe(self) -> dict[str, Any]:
        """As plain data, for the header of a recording."""
        plain = asdict(self)
        return {**plain, "axes": list(self.axes), "workspace": [list(span) for span in self.workspace]}

    @classmethod
    def from_description(cls, description: Any) -> DeviceInfo:
        """What `describe` gave, also out of a file: whatever does not fit is told."""
        names = {field.name: field for field in fields(cls)}
        if not isinstance(description, Mapping) or not set(description) <= set(names):
            raise InputError(f"a device is described by {', '.join(names)}, not by {quoted(description)}")
        try:
            facts = {name: _fact(str(names[name].type), value) for name, value in description.items()}
            return cls(**facts)
        except (TypeError, ValueError) as error:
            raise InputError(f"{quoted(description)} does not describe a device: {error}") from error


def _fact(kind: str, value: Any) -> Any:
    """A value out of a file as the field of this type holds it."""
    if kind == "tuple[str, ...]":
        return tuple(str(name) for name in value)
    if kind.startswith("tuple"):
        return tuple((float(low), float(high)) for low, high in value)
    wanted: Any = {"str": str, "bool": bool, "int": int}.get(kind, int | float)
    if value is None and "None" in kind:
        return None
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise TypeError(f"{quoted(value)} is no {kind}")
    if kind.startswith("float"):
        number: Any = value
        return float(number)
    return value


@dataclass(frozen=True, slots=True)
class DeviceState:
    """One reading. Vectors have one number for each of the device's axes.

    device_time  seconds by the device's own clock, NaN where it has none
    host_time    seconds of `time.monotonic` when the reading arrived
    sequence     counts readings; the same number again is the same reading again
    velocity     as the device reports it; empty where it does not
    orientation  unit quaternion w x y z; empty where it reports none
    gripper      opening in m or rad; NaN where there is none
    buttons      one bit each
    applied      the force that was commanded when the reading was made, N
    measured     by a force sensor, N; empty where there is none
    """

    device_time: float
    host_time: float
    sequence: int
    position: tuple[float, ...]
    velocity: tuple[float, ...] = ()
    orientation: tuple[float, ...] = ()
    gripper: float = float("nan")
    buttons: int = 0
    applied: tuple[float, ...] = ()
    measured: tuple[float, ...] = ()
    flags: Flags = Flags.FINE


class Life(StrEnum):
    """Where a device stands. It never energises before `enable_forces`."""

    CLOSED = "closed"
    OPEN = "open"
    ENABLED = "enabled"
    STOPPED = "stopped"  # by `stop` or by a fault: `enable_forces` starts again
    LOST = "lost"  # it no longer answers: `close` and `open` again


@dataclass(frozen=True)
class Status:
    """`device.status`: where it stands, and a sentence that says why."""

    life: Life
    sentence: str

    def __str__(self) -> str:
        return f"{self.life}: {self.sentence}" if self.sentence else str(self.life)
