"""`Safety`: the limits of a loop, checked against the device. What is left out comes from what is known of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import hypot, inf
from typing import Any

from passivo.device.device import Device
from passivo.errors import InputError
from passivo.network.direct import Direct
from passivo.network.guard import Guard
from passivo.network.ledger_clamp import LedgerClamp
from passivo.network.network import Connection

FULL_FORCE_IN = 5e-3  # seconds in which a force may grow from 0 to the largest one
DRAG_SHARE = 0.2  # of mass × rate: damping that a sampled handle surely bears
ROUNDING = 1e-12  # a force is so much smaller than its limit, however it is rounded
HOLD = 1.5  # periods: no force is held longer where a device has no watchdog


@dataclass(frozen=True)
class Safety:
    """What stands between a program and a hand. SI units.

    max_force  largest norm of the force; at most the device's
    slew       largest change of the force, N/s (default: the largest force in 5 ms)
    ramp       seconds over which a force fades in that is wanted from the very start; one that grows from 0 needs none
    max_speed  speed of the handle beyond which it is damped (default: the device's)
    patience   seconds without a good reading, or without a force that is a number, after which it is damped
    linger     seconds of damping before no force acts any more
    drag       the damping, N s/m (default: 0.2 mass/step of the program, at most the device's)
    dead_man   the button that must be held for forces to act, from 0; the device's own presence sensor always counts
    clamp      False leaves out the energy ledger clamp. The report and every recording say so
    """

    max_force: float | None = None
    slew: float | None = None
    ramp: float = 0.2
    max_speed: float | None = None
    patience: float = 0.02
    linger: float = 0.1
    drag: float | None = None
    dead_man: int | None = None
    clamp: bool = True

    def __post_init__(self) -> None:
        for name in ("max_force", "slew", "ramp", "max_speed", "patience", "linger", "drag"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0.0 < value < inf):
                raise InputError(f"safety: {name} must be a number > 0, not {value!r}")
        if self.dead_man is not None and (not isinstance(self.dead_man, int) or isinstance(self.dead_man, bool)):
            raise InputError(f"safety: dead_man is the number of a button, from 0, not {self.dead_man!r}")
        if not isinstance(self.clamp, bool):
            raise InputError(f"safety: clamp is True or False, not {self.clamp!r}")

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    def guard(self, device: Device, connection: Connection) -> Guard:
        """Everything between one connection and its device."""
        info, through = device.info, connection.through
        if self.max_force is not None and self.max_force > info.max_force:
            raise InputError(
                f"safety: max_force {self.max_force:g} N is above what {info.model} can hold ({info.max_force:g} N); "
                "say at most that"
            )
        if self.max_speed is not None and self.max_speed > info.max_speed:
            raise InputError(
                f"safety: max_speed {self.max_speed:g} m/s is above the {info.max_speed:g} m/s of {info.model}"
            )
        if self.drag is not None and info.max_damping and self.drag > info.max_damping:
            raise InputError(
                f"safety: drag {self.drag:g} N s/m is above the {info.max_damping:g} N s/m of {info.model}"
            )
        if self.dead_man is not None and not 0 <= self.dead_man < info.buttons:
            raise InputError(f"safety: {info.model} has {info.buttons} buttons; there is no button {self.dead_man!r}")
        if not isinstance(through, LedgerClamp | Direct):
            raise InputError(
                f"a device is touched through pv.LedgerClamp(), not {type(through).__name__}, at {connection.name!r}; "
                "put the other junction between the parts behind it"
            )
        options = through if isinstance(through, LedgerClamp) else device.clamp_options
        if options.limit is not None and max(_all(options.limit)) > info.max_force:
            raise InputError(
                f"the limit of {connection.name!r} is above what {info.model} can hold ({info.max_force:g} N); "
                "say at most that, or leave it out"
            )
        most = (info.max_force if self.max_force is None else self.max_force) * (1.0 - ROUNDING)
        period, rest = float(connection.flow.member.step), 1.0 / info.rate
        usual = min(DRAG_SHARE * info.mass / max(period, rest), info.max_damping or inf)
        more = {
            "slew": most / FULL_FORCE_IN if self.slew is None else self.slew,
            "most": most,
            "ramp": self.ramp,
            "fastest": info.max_speed if self.max_speed is None else self.max_speed,
            "patience": self.patience,
            "linger": self.linger,
            "drag": usual if self.drag is None else self.drag,
            "clamps": self.clamp,
            "keeps": device.keeps_force,
        }
        holds = {"longest": HOLD * period, "watchdog": False}
        if info.watchdog is not None:  # it is fed at every reading, also where the program is slower
            holds = {"longest": max(period - rest, 0.0) + info.watchdog, "watchdog": True}
        limits = [min(value, most) for value in _all(most if options.limit is None else options.limit)]
        share = min(most / hypot(*limits), 1.0)  # one limit for each axis bounds no norm
        limits = tuple(share * value for value in limits)
        options = replace(options, limit=limits if isinstance(options.limit, tuple) else limits[0])
        return device.guard(Guard, options, **more, holds=holds)


def _all(value: Any) -> tuple[float, ...]:
    return tuple(value) if isinstance(value, tuple) else (float(value),)
