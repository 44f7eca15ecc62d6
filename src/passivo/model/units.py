"""Units of a model's quantities: text for axes and tables. Nothing is computed from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from passivo.errors import ModelError, nearest, quoted

Unit = str | tuple[str, str]  # of a port: what it takes, what it gives
LONGEST = 40


def checked_units(given: Mapping[Any, Any] | None, plain: Collection[str], ports: Collection[str]) -> dict[str, Unit]:
    """Units by name: one text for each `plain` name (state, signal, parameter), a pair for each port."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(
            f"units must map names to units, as in {{'q': 'm', 'force': ('N', 'm/s')}}, not {quoted(given)}"
        )
    result: dict[str, Unit] = {}
    for key, value in given.items():
        name = str(key)
        if name in ports:
            if not isinstance(value, list | tuple) or len(value) != 2:
                raise ModelError(
                    f"the unit of port {quoted(name)} must be a pair, what it takes and what it gives, "
                    f"such as ('N', 'm/s'), not {quoted(value)}"
                )
            takes, gives = (_text(unit, f"port {quoted(name)}") for unit in value)
            result[name] = (takes, gives)
        elif name in plain:
            result[name] = _text(value, quoted(name))
        else:
            known = nearest(name, [*plain, *ports])
            raise ModelError(
                f"a unit is given for {quoted(name)}, which is no state, signal, parameter or port; {known}"
            )
    return result


def _text(unit: Any, what: str) -> str:
    if not isinstance(unit, str):
        raise ModelError(f"the unit of {what} must be text such as 'm/s', not {quoted(unit)}")
    if not 0 < len(unit) <= LONGEST or not unit.isprintable():
        raise ModelError(
            f"the unit of {what} must be 1 to {LONGEST} printable characters "
            f"('1' where there is none), not {quoted(unit)}"
        )
    return unit
