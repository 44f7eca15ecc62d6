"""`passivo devices`: which drivers there are, and which of them can be used here."""

from __future__ import annotations

from importlib import import_module

from passivo.cli.app import PASSIVE, Json, command
from passivo.cli.show import console, print_json, printable, say, table
from passivo.errors import PassivoError


@command("""
    passivo devices
    passivo devices --json
""")
def devices(json: Json = False) -> int:
    """List the device drivers, and what each found here.

    What is missing is said. Nothing is opened and no force acts.
    """
    from passivo.device.catalogue import DRIVERS

    found = {name: look(name, module) for name, module in DRIVERS.items()}
    if json:
        print_json({name: {"usable": usable, "sentence": why} for name, (usable, why) in found.items()})
        return PASSIVE
    grid = table("driver", "here", "", left=("driver", "here", ""))
    for name, (usable, why) in found.items():
        grid.add_row(name, "yes" if usable else "no", printable(why), style="" if usable else "dim")
    console().print(grid)
    say("", "Use one: with pv.devices.Sim() as device: ...        How: docs/devices.md")
    return PASSIVE


def look(name: str, module: str) -> tuple[bool, str]:
    """Whether a driver can be used, and why not; whatever a vendor's library does wrong is said, not raised."""
    try:
        return getattr(import_module(module), name).probe()
    except PassivoError as error:
        return False, str(error)
    except Exception as error:
        return False, f"its driver cannot be loaded: {str(error) or type(error).__name__}"
