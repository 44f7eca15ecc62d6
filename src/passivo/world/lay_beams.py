"""The beams of a world in its table and its memory, as `bending.py` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from passivo.method import banded_lay
from passivo.method import banded_step as B
from passivo.method import banded_table as BT
from passivo.world import table as T
from passivo.world.beams import BEAM_PARAMETERS

if TYPE_CHECKING:
    from passivo.world.beams import WorldBeam
    from passivo.world.world import World

BEAM_FIGURES = 4 + 3 + 3  # orientation, middle, the way that it bends


@dataclass
class PlacesOfBeam:
    """Where a beam lies.

    figures   the first ones; those of its points follow, then those of its matrices
    own       its matrix and right hand side as an assembly
    points    entries of the table of points
    memory    what else it keeps
    """

    beam: WorldBeam
    figures: int
    own: int
    points: list[int] = field(default_factory=list)
    matrices: int = 0
    memory: int = 0

    def room(self, world: World) -> int:
        """Numbers at `memory`."""
        return self.spread(world)[2]

    def spread(self, world: World) -> tuple[dict[str, int], dict[str, int], int]:
        """Places that the world knows (E_...), places of the beam's own table, and how many numbers that is."""
        data, at = self.beam.matrices, self.memory
        rows, n = len(self.beam.taps(world)) - 1, data.size

        def take(count: int) -> int:
            nonlocal at
            at += count
            return at - count

        known = {
            "OWN": take(B.MADE - 1), "USED": take(rows + 1), "MEAN": take(rows + 1), "WORK": take(rows + 1),
            "JOULES": take(T.E_JOULES_SIZE), "LOOSE": take(rows), "APART": take(rows + 1), "ANSWERS": take(rows * n),
        }  # fmt: skip
        joules, spare = known["JOULES"], known["APART"]
        places = {
            "AT_PARAM": known["OWN"], "AT_INPUT": known["USED"], "AT_USED": known["USED"], "AT_OUTPUT": spare,
            "AT_MEAN": known["MEAN"], "AT_WORK": known["WORK"], "AT_LOST": joules + T.E_LOST,
            "AT_RECEIVED": joules + T.E_RECEIVED, "AT_CHANGE": joules + T.E_CHANGE,
            "AT_DIFFERENCE": joules + T.E_DIFFERENCE, "AT_SCALE": joules + T.E_SCALE,
            "AT_ENERGY": joules + T.E_ENERGY, "AT_HEIGHT": joules + T.E_HEIGHT, "AT_RECORDED": spare,
            "AT_NOISE": spare, "AT_FACTORS": take((n + data.band) * (data.band + 1)), "AT_MADE": take(B.MADE),
            "AT_SOLVED": take(BT.VECTORS * banded_lay.room_of(data)),
        }  # fmt: skip
        for name in ("HAT", "RIGHT", "FORCE", "MASS_HAT", "DRAG_HAT", "RATE"):
            known[name] = places["AT_SOLVED"] + getattr(BT, name) * banded_lay.room_of(data)
        return known, places, at - self.memory


def lay_beams(
    world: World, header: dict[str, int], table: list[int], beams: Sequence[PlacesOfBeam], scheme: int
) -> None:
    """Write the entries of beams, of their points, and their own tables."""
    params = {name: i for i, name in enumerate(world.params)}
    header |= {"BEAMS": len(beams), "BEAM_TABLE": len(table)}
    entries = len(table)
    table += [0] * (T.E_SIZE * len(beams))
    state = len(world.states) - sum(len(beam.states) for beam in world.beams.values()) - int(world.touches)
    for k, laid in enumerate(beams):
        beam, (known, places, _) = laid.beam, laid.spread(world)
        taps, data = beam.taps(world), beam.matrices
        known |= {"STATE": state, "COORDINATES": data.size, "ROWS": len(taps) - 1, "IMPEDANCE": laid.own}
        known |= {"PARAM": params[f"{beam.name}.{BEAM_PARAMETERS[0]}"], "FIGURES": laid.figures}
        known |= {"POINTS": len(laid.points) // T.O_SIZE, "POINT_TABLE": len(table)}
        table += laid.points
        for name in ("STATE", "NEXT", "STEP"):
            places[f"AT_{name}"] = header[f"AT_{name}"] + state
        known["TABLE"] = len(table)
        table += banded_lay.table_of(data, taps, (), places, laid.matrices, scheme)
        for name, value in known.items():
            table[entries + k * T.E_SIZE + getattr(T, f"E_{name}")] = value
        state += len(beam.states)
