"""Names of a file as names of a world: letters, digits and _, each once."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from passivo.errors import ModelError
from passivo.model.system import checked_name
from passivo.world.links import Unsupported

if TYPE_CHECKING:
    from passivo.world.world import World

TAKEN = ("gravity", "total", "tank", "contacts", "contact_tank", "last_step", "step_before", "known_steps")


class Names:
    """Makes plain names and remembers them; `changed` lists what was taken already."""

    def __init__(self) -> None:
        self.used: set[str] = set(TAKEN)
        self.changed: list[Unsupported] = []

    def new(self, given: str, otherwise: str) -> str:
        """A plain name like the given one; one like `otherwise` where there is none."""
        name = plain(given or otherwise)
        count, first = 2, name
        while name in self.used:
            name, count = f"{first}_{count}", count + 1
        self.used.add(name)
        if given and name != first:
            self.changed.append(renamed(given, name))
        return name


def renamed(given: str, name: str) -> Unsupported:
    """What is told of a thing whose name another one has already."""
    return Unsupported("name that is taken", (given,), f"here it is {name}")


def plain(given: str) -> str:
    name = re.sub(r"\W", "_", given.strip())
    if not name[:1].isidentifier() or name.startswith("__"):
        name = f"n_{name.lstrip('_')}" if name.startswith("__") else f"n{name}"
    try:
        return checked_name(name, "")
    except ModelError:
        return f"{name}_"


def free_name(world: World, name: str, taken: Collection[str]) -> str:
    """A name that the world does not have yet, nor those that are to come."""
    used, count = {*world.members, *taken}, 2
    chosen = f"{name}_joint" if name in used else name
    while chosen in used:
        chosen, count = f"{name}_{count}", count + 1
    return chosen
