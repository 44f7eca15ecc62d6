"""What a world says of itself to those that lay out memory and order parts: names and rows, no formulas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from passivo.model.form import Form, Row
from passivo.world.names import CONTACT_ROWS

if TYPE_CHECKING:
    from passivo.world.world import World


@dataclass(frozen=True)
class WorldForm(Form):
    """A form without formulas: a world is stepped by kernels of its own."""

    at_once: frozenset[Any] = field(default_factory=frozenset)

    @property
    def answered(self) -> frozenset[Any]:
        return self.at_once


def form_of(world: World) -> WorldForm:
    inputs = tuple(f"{name}[{i}]" for name, port in world.ports.items() for i in range(port.width))
    damped = {
        tie.b
        for bond in world.bonds.values()
        for tie in bond.ties
        if tie.b in world.anchors and world.params.get(tie.damping, 0.0) > 0.0
    }
    for cord in world.tendons.values():
        if world.params.get(f"{cord.name}.drive_damping" if cord.drive else cord.damping, 0.0) > 0.0:
            damped.add(cord.command)
    at_once = {f"{name}[{i}]" for name in damped if name for i in range(world.ports[name].width)}
    names = rows_of(world)
    everything = tuple(range(len(world.states)))
    return WorldForm(
        states=world.states,
        gradient=(),
        inputs=inputs,
        signals=(),
        params=tuple(world.params),
        structure=None,
        loss=None,
        ports=None,
        readout=None,
        feedthrough=None,
        rows=tuple(Row(name, everything if i == 0 else (), None, None, ()) for i, name in enumerate(names)),
        input_rows=(0,) * len(inputs),
        domain=None,
        minimum=None,
        at_once=frozenset(at_once),
    )


def rows_of(world: World) -> tuple[str, ...]:
    """The rows of a world's ledger: springs, joints, beams and those of contacts only where it has some."""
    bound = dict.fromkeys(bond.row for bond in world.bonds.values())
    if any("stiffness" in part for joint in world.joints.values() for part in joint.params):
        bound["springs"] = None
    bound |= dict.fromkeys(cord.row for cord in world.cords)
    contacts = CONTACT_ROWS if world.touches else ()
    beams = ("beams",) if world.beams else ()
    return (
        "kinetic",
        "gravity",
        *(row for row in ("springs", "joints", "tendons", "stops") if row in bound),
        *beams,
        *contacts,
    )
