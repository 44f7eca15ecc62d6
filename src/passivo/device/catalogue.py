"""`pv.devices`: every driver by name; each loads when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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


def __dir__() -> list[str]:
    return sorted(DRIVERS)
