"""`Mouse`: a device that only points. Its position is told from outside, by a page, a script or a test."""

from __future__ import annotations

import itertools
import threading
import time
from math import isfinite, nan
from typing import Any

from passivo.device.device import Device
from passivo.device.state import DeviceInfo, DeviceState
from passivo.errors import InputError, quoted

BUTTONS = 8
FASTEST = 1e3  # m/s: a pointer that is told 60 times a second leaps from place to place, and nothing may come of it


class Mouse(Device):
    """A pointer without motors, in a network like any other device.

        with pv.devices.Mouse() as mouse:
            mouse.move(0.01, -0.02, buttons=1)        # metres; from any thread, as often as one likes

    Every reading shows the place that was told last, whatever the rate of either side: nothing is smoothed. Forces are
    computed, limited, booked and recorded as for a device with motors; `mouse.force` is the newest one, for a page to
    show. The ledger of the clamp sees a handle that leaps: `pv.Safety(clamp=False)` shows forces as the program wants
    them.

    degrees_of_freedom  2 (x, y) or 3 (x, y, z)
    rate                readings per second
    max_force           largest force that is shown, N
    mass                of a handle such as the one that is imitated, kg: it decides what the clamp lets through
    """

    driver = "mouse"

    def __init__(
        self,
        *,
        degrees_of_freedom: int = 2,
        rate: float = 1000.0,
        max_force: float = 10.0,
        mass: float = 0.1,
        **options: Any,
    ):
        super().__init__(**options)
        if degrees_of_freedom not in (2, 3):
            raise InputError(f"a Mouse has 2 or 3 degrees of freedom, not {quoted(degrees_of_freedom)}")
        for what, value in {"rate": rate, "max_force": max_force, "mass": mass}.items():
            if not isinstance(value, int | float) or not (isfinite(value) and value > 0.0):
                raise InputError(f"Mouse's {what} must be a number > 0, not {quoted(value)}")
        self.dof, self.rate, self.max_force, self.mass = degrees_of_freedom, float(rate), float(max_force), float(mass)
        self._lock = threading.Lock()
        self._told: tuple[tuple[float, ...], int] = ((0.0,) * self.dof, 0)
        self._force = (0.0,) * self.dof
        self._count = itertools.count(1)

    def move(self, x: float, y: float, z: float | None = None, *, buttons: int = 0) -> None:
        """Where the pointer is from now on, in m, and which buttons are held, one bit each."""
        place = (x, y) if z is None else (x, y, z)
        if len(place) != self.dof:
            raise InputError(f"{self.name} has the axes {', '.join('xyz'[: self.dof])}; move it by {self.dof} numbers")
        if not all(isinstance(value, int | float) and isfinite(value) for value in place):
            raise InputError(f"a Mouse moves to finite numbers of metres, not {quoted(place)}")
        if not (isinstance(buttons, int) and 0 <= buttons < 1 << BUTTONS):
            raise InputError(f"buttons are bits of a whole number below {1 << BUTTONS}, not {quoted(buttons)}")
        with self._lock:
            self._told = (tuple(float(value) for value in place), int(buttons))

    @property
    def force(self) -> tuple[float, ...]:
        """What the handle would feel now, N; zero where no loop runs."""
        return self._force

    def _open(self) -> DeviceInfo:
        return DeviceInfo(
            model="mouse",
            driver=self.driver,
            axes=tuple("xyz"[: self.dof]),
            max_force=self.max_force,
            mass=self.mass,
            rate=self.rate,
            max_speed=FASTEST,
            gives_force=False,
            buttons=BUTTONS,
        )

    def _read(self) -> DeviceState:
        with self._lock:
            place, buttons = self._told
        return DeviceState(nan, time.monotonic(), next(self._count), place, buttons=buttons, applied=self._force)

    def _write(self, force: tuple[float, ...]) -> None:
        self._force = force

    @classmethod
    def probe(cls) -> tuple[bool, str]:
        return True, "always there; it points and cannot push"
