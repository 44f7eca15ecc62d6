"""The beams of a world in its table and its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from passivo.method import banded_lay
from passivo.method import banded_step as B
from passivo.method import banded_table as BT
from passivo.world import table as T
from passivo.world.beams import BEAM_PARAMETERS

if TYPE_CHECKING:
    from passivo.world.beams import WorldBeam
    from passivo.world.order import Elimination
    from passivo.world.world import World


class _Room:
    """Places of what a beam keeps in the memory, one after the other."""

    def __init__(self, start: int):
        self.start = self.at = start

    def take(self, count: int) -> int:
        self.at += count
        return self.at - count


def _memory(world: World, beam: WorldBeam, start: int) -> tuple[dict[str, int], dict[str, int], int]:
    """Places that the world knows (E_...), places of the beam's own table, and how many numbers that is."""
    room, data = _Room(start), beam.matrices
    rows, n = len(beam.taps(world)) - 1, data.size
    own = {
        "OWN": room.take(B.MADE - 1), "USED": room.take(rows + 1), "MEAN": room.take(rows + 1),
        "WORK": room.take(rows + 1), "JOULES": room.take(T.E_JOULES_SIZE), "IMPEDANCE": room.take(rows * rows),
        "LOOSE": room.take(rows), "APART": room.take(rows), "ANSWERS": room.take(rows * n),
    }  # fmt: skip
    joules = own["JOULES"]
    places = {
        "AT_PARAM": own["OWN"], "AT_INPUT": own["USED"], "AT_USED": own["USED"], "AT_OUTPUT": own["APART"],
        "AT_MEAN": own["MEAN"], "AT_WORK": own["WORK"], "AT_LOST": joules + T.E_LOST,
        "AT_RECEIVED": joules + T.E_RECEIVED, "AT_CHANGE": joules + T.E_CHANGE,
        "AT_DIFFERENCE": joules + T.E_DIFFERENCE, "AT_SCALE": joules + T.E_SCALE, "AT_ENERGY": joules + T.E_ENERGY,
        "AT_HEIGHT": joules + T.E_HEIGHT, "AT_RECORDED": own["APART"], "AT_NOISE": own["APART"],
        "AT_FACTORS": room.take((n + data.band) * (data.band + 1)), "AT_MADE": room.take(B.MADE),
        "AT_SOLVED": room.take(BT.VECTORS * banded_lay.room_of(data)),
    }  # fmt: skip
    for name in ("HAT", "RIGHT", "FORCE", "MASS_HAT", "DRAG_HAT", "RATE"):
        own[name] = places["AT_SOLVED"] + getattr(BT, name) * banded_lay.room_of(data)
    return own, places, room.at - start


def beam_room(world: World, beam: WorldBeam) -> int:
    """Numbers in the memory."""
    return _memory(world, beam, 0)[2]


def lay_beams(
    world: World,
    header: dict[str, int],
    table: list[int],
    figures: Any,
    rooms: Sequence[int],
    carriers: Mapping[str, int],
    plan: Elimination,
    tied: Sequence[tuple[int, int]],
    rows: Sequence[str],
    scheme: int,
) -> None:
    """Write what `bending.py` reads. Entries of points follow those of their beam as members of the world."""
    params = {name: i for i, name in enumerate(world.params)}
    header |= {"BEAMS": len(world.beams), "BEAM_TABLE": len(table)}
    if not world.beams:
        return
    header["BEAM_ROW"] = rows.index("beams")
    entries = len(table)
    table += [0] * (T.E_SIZE * len(world.beams))
    state = len(world.states) - sum(len(beam.states) for beam in world.beams.values()) - int(world.touches)
    followers = set()
    for k, (beam, start) in enumerate(zip(world.beams.values(), rooms)):
        own, places, _ = _memory(world, beam, start)
        points, taps, n = beam.points(world), beam.taps(world), beam.matrices.size
        entry = {name: own[name] for name in own}
        entry |= {"STATE": state, "COORDINATES": n, "ROWS": len(taps) - 1, "POINTS": len(points)}
        entry |= {"PARAM": params[f"{beam.name}.{BEAM_PARAMETERS[0]}"], "FIGURES": figures.skip(4 + 3 + 3)}
        laid, first = [], 0
        for point in points:
            c, count = carriers[point.name], len(beam.rows_of(point))
            followers.add(c)
            rest, ways = figures.skip(3), figures.skip(6 * count)
            table[header["CARRIER_TABLE"] + c * T.C_SIZE + T.C_MEMBER] = len(table)
            table += [c, ways, count, -1]
            laid.append([c, first, count, rest, len(table)])
            first += count
            table += [plan.blocks[c, carriers[other.name]] for other in points]
        entry["POINT_TABLE"] = len(table)
        table += [number for point in laid for number in point]
        for name in ("STATE", "NEXT", "STEP"):
            places[f"AT_{name}"] = header[f"AT_{name}"] + state
        entry["TABLE"] = len(table)
        data = beam.matrices
        size = sum(values.size for _, values in data.figures(taps, ()))
        table += banded_lay.table_of(data, taps, (), places, figures.skip(size), scheme)
        for name, value in entry.items():
            table[entries + k * T.E_SIZE + getattr(T, f"E_{name}")] = value
        state += len(beam.states)
    folds = [(plan.blocks[c, c], c, c) for c in sorted(followers)]
    for a, b in dict.fromkeys((min(pair), max(pair)) for pair in tied):
        if a in followers or b in followers:
            for i, j in ((a, b), (b, a)):
                folds.append((plan.blocks[i, j], i if i in followers else -1, j if j in followers else -1))
    header |= {"FOLDS": len(folds), "FOLD_TABLE": len(table)}
    table += [number for fold in folds for number in fold]
