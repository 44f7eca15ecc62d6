"""The messages of Haply's Inverse service as plain data: what it is told, what it says, and what to make of it.

Documented (docs.haply.co, service 3.0 to 3.5): JSON over a WebSocket. On connection the service lists all devices with
`config`, `state` and `status`; after that every message of the client gets exactly one reply with `state` and `status`
of all devices. A command counts for one message; a device that gets none any more goes idle. Lists of devices were
objects by id in 3.0, and forces went under `values` before they went under `vector`: both are understood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

from passivo.device.state import Flags
from passivo.errors import quoted

GRIPS = ("wireless_verse_grip", "custom_verse_grip", "verse_grip")  # in this order, where several are there
HOT = ("overheat", "thermal", "temperature")  # no such event is documented; one would be named like that


class Garbled(Exception):
    """A message that is of no use; the sentence says why."""


def push(device: str, force: Sequence[float], key: str) -> dict[str, Any]:
    """Let the cursor feel a force, N."""
    return _command(device, "set_cursor_force", {key: dict(zip("xyz", force))})


def ask(device: str) -> dict[str, Any]:
    """No force; only a state is wanted."""
    return _command(device, "probe_position", {})


def _command(device: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"inverse3": [{"device_id": device, "commands": {name: content}}]}


def devices(message: Any, family: str) -> dict[str, Mapping[str, Any]]:
    """The devices of one family that a message lists, by id."""
    if not isinstance(message, Mapping):
        raise Garbled(f"it is no JSON object but {quoted(message, 40)}")
    listed = message.get(family)
    if isinstance(listed, Mapping):
        return {str(key): value for key, value in listed.items() if isinstance(value, Mapping)}
    if listed is None or not isinstance(listed, list):
        return {}
    return {str(one["device_id"]): one for one in listed if isinstance(one, Mapping) and "device_id" in one}


def section(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = entry.get(name)
    return found if isinstance(found, Mapping) else {}


def numbers(value: Any, names: str) -> tuple[float, ...]:
    """{"x": 1, ...} as finite numbers; none at all where one of them is missing or no number."""
    if not isinstance(value, Mapping):
        return ()
    found = [value.get(name) for name in names]
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and isfinite(v) for v in found):
        return ()
    return tuple(float(v) for v in found)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Report:
    """What a reply says of one device and of its grip."""

    position: tuple[float, ...]
    velocity: tuple[float, ...]
    orientation: tuple[float, ...]
    applied: tuple[float, ...]
    buttons: int
    flags: Flags
    stamp: Any  # the service's own mark of the state, where it gives one


def report(message: Any, device: str, grip: str, names: Sequence[str]) -> Report:
    """A reply; `names` are those of the buttons, lowest bit first."""
    listed = devices(message, "inverse3")
    if not listed:
        raise Garbled("it lists no Inverse3")
    if device not in listed:
        return Report((), (), (), (), 0, Flags.UNPLUGGED, None)
    state, status = section(listed[device], "state"), section(listed[device], "status")
    position = numbers(state.get("cursor_position"), "xyz")
    if not position:
        raise Garbled(f"cursor_position is {quoted(state.get('cursor_position'), 60)}, not three finite numbers")
    held = grips(message).get(grip, {})
    return Report(
        position=position,
        velocity=numbers(state.get("cursor_velocity"), "xyz"),
        orientation=turned(section(held, "state").get("orientation")),
        applied=numbers(state.get("current_cursor_force"), "xyz"),
        buttons=sum(1 << i for i, name in enumerate(names) if pressed(held).get(name) is True),
        flags=condition(status),
        stamp=state.get("timestamp", message.get("timestamp")),
    )


def condition(status: Mapping[str, Any]) -> Flags:
    """`status` as flags; what it does not say is taken to be well."""
    flags = Flags.FINE
    if status.get("calibrated") is False:
        flags |= Flags.UNCALIBRATED
    if status.get("power_supply") is False or status.get("ready") is False:
        flags |= Flags.FORCES_OFF
    if status.get("error") not in (None, False, 0, "", "none"):
        flags |= Flags.ERROR
    return flags


def grips(message: Any) -> dict[str, Mapping[str, Any]]:
    """All grips, the best known kind first."""
    return {key: entry for family in GRIPS for key, entry in devices(message, family).items()}


def pressed(grip: Mapping[str, Any]) -> Mapping[str, Any]:
    """The buttons of a grip: several by name, or the one of the wired grip."""
    state = section(grip, "state")
    return section(state, "buttons") or {"button": state.get("button")}


def turned(value: Any) -> tuple[float, ...]:
    """An orientation as a unit quaternion w x y z; nothing where it is none."""
    found = numbers(value, "wxyz")
    size = sqrt(sum(v * v for v in found))
    return tuple(v / size for v in found) if 0.5 < size < 2.0 else ()


def news(message: Any, device: str) -> tuple[Flags, Flags, str]:
    """An event as flags that it sets, flags that it clears, and a sentence; all empty where it is of no concern."""
    nothing = (Flags.FINE, Flags.FINE, "")
    if not isinstance(message, Mapping) or not isinstance(message.get("name"), str):
        return nothing
    name, data, level = message["name"], section(message, "data"), message.get("level")
    if str(data.get("device_id", device)) != device:
        return nothing
    told = message.get("message")
    sentence = f"{name}: {told}" if isinstance(told, str) and told else name
    if name == "device-disconnected":
        return Flags.UNPLUGGED, Flags.FINE, sentence
    if any(word in name or word in str(data.get("safety_type")) for word in HOT):
        return Flags.OVERHEATED, Flags.FINE, sentence
    if data.get("safety_type") == "ebrake_triggered":
        return Flags.FORCES_OFF, Flags.FINE, sentence
    if data.get("safety_type") == "ebrake_released":
        return Flags.FINE, Flags.FORCES_OFF, sentence
    if level in ("critical", "panic"):
        return Flags.ERROR, Flags.FINE, sentence
    return (Flags.FINE, Flags.FINE, sentence) if level in ("warning", "error") else nothing
