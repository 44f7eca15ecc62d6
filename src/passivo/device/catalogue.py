"""`pv.devices`: every driver by name; each loads when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from passivo.errors import DeviceError, InputError, nearest, quoted

if TYPE_CHECKING:
    from passivo.device.device import Device

DRIVERS = {
    "Sim": "passivo.device.sim",
    "Replay": "passivo.device.replay",
    "Mouse": "passivo.device.mouse",
    "Haply": "passivo.device.haply",
    "DHD": "passivo.device.dhd",
    "OpenHaptics": "passivo.device.openhaptics",
}


def __getattr__(name: str) -> type[Device]:
    if name not in DRIVERS:
        raise AttributeError(f"there is no device driver {name!r}; choose from {', '.join(DRIVERS)}")
    return getattr(import_module(DRIVERS[name]), name)


def by_name(name: str) -> type[Device]:
    """The driver that the command line calls `name`, such as "sim" or "haply"."""
    classes = {key.lower(): key for key in DRIVERS}
    if name.lower() not in classes:
        raise InputError(f"there is no device {quoted(name)}; {nearest(name, classes)}")
    try:
        return __getattr__(classes[name.lower()])
    except ImportError as error:
        raise DeviceError(f"the driver {name!r} cannot be loaded: {error}") from error


def __dir__() -> list[str]:
    return sorted(DRIVERS)
