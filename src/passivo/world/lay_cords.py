"""Cords into the table, the memory and the figures of a world (`lay.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from passivo.world import cord_table as D
from passivo.world import routes
from passivo.world.arms import nodes_of

if TYPE_CHECKING:
    from passivo.world.tendons import Cord


def figures_of(cord: Cord) -> list[float]:
    """Of a cord with arms that are numbers these, else the numbers in its formula."""
    return nodes_of(cord.way, cord.joints).figures if cord.way else list(cord.slopes)


def room_for(cord: Cord) -> int:
    """Numbers that a cord takes in the memory."""
    n = len(cord.joints)
    nodes = len(nodes_of(cord.way, cord.joints).table) if cord.way else 0
    return D.D_OWN + 3 * n + nodes * (routes.NODE_SLOPES + n)


def cord_entries(
    cords: Sequence[Cord],
    start: int,
    memory: int,
    skip: Callable[[int], int],
    places: Mapping[str, tuple[int, int, int, int]],
    numbers: Mapping[str, Mapping[str, int]],
) -> list[int]:
    """The entries of all cords, then their joints and nodes; the table begins at `start`, the memory at `memory`.

    skip     where so many figures begin
    places   of each joint: its coordinate and its rate within the state, its unknown, the entry of its mechanism
    numbers  where names stand: "states", "params", "inputs", "rows", and "told" within what is recorded
    """
    entries: list[int] = []
    more: list[int] = []
    behind = start + D.D_SIZE * len(cords)
    find = lambda kind, name: numbers[kind].get(name, -1)  # noqa: E731
    told = dict(numbers["told"])
    for cord in cords:
        entry = [0] * D.D_SIZE
        entry[D.D_STIFFNESS], entry[D.D_DAMPING] = find("params", cord.stiffness), find("params", cord.damping)
        entry[D.D_REST], entry[D.D_SIGN] = find("params", cord.rest), cord.sign
        entry[D.D_ROW], entry[D.D_ASSEMBLY] = numbers["rows"][cord.row], places[cord.joints[0]][3]
        entry[D.D_COUNT], entry[D.D_TERMS] = len(cord.joints), behind + len(more)
        more += [number for joint in cord.joints for number in places[joint][:3]]
        entry[D.D_FIGURES] = skip(len(figures_of(cord)))
        entry[D.D_NODES] = -1
        if cord.way:
            nodes = nodes_of(cord.way, cord.joints).table
            entry[D.D_NODES], entry[D.D_NODE_COUNT] = behind + len(more), len(nodes)
            more += [number for node in nodes for number in node]
        entry[D.D_DRIVE] = find("states", f"{cord.name}.drive") if cord.drive else -1
        entry[D.D_DRIVE_PARAM] = find("params", f"{cord.name}.drive_mass")
        entry[D.D_COMMAND] = find("states", f"{cord.command}.length")
        entry[D.D_COMMAND_INPUT], entry[D.D_GAIN] = find("inputs", cord.command), find("params", cord.gain)
        entry[D.D_FORCE] = find("inputs", cord.name) if cord.force else -1
        entry[D.D_STOP], entry[D.D_TOLD], entry[D.D_MEMORY] = int(cord.stop), told[cord.name], memory
        memory += room_for(cord)
        entries += entry
    return entries + more
