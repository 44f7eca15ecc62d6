"""From a world and a method to a piece of a generated module: the table, the figures, and places in the memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.kernel import tick
from passivo.ledger import accounts as A
from passivo.world import table as T
from passivo.world.core import SOLVERS, imports
from passivo.world.lay_assemblies import Laid, Nodes, spread
from passivo.world.lay_beams import lay_beams
from passivo.world.lay_cords import cord_entries, room_for
from passivo.world.names import BODY_PARAMETERS, CONTACT_RECORDS, CONTACT_ROWS, GRAVITY, TANK, records_of
from passivo.world.parts import KINDS

if TYPE_CHECKING:
    from passivo.kernel.module import Piece
    from passivo.kernel.source import Layout
    from passivo.method.base import Method
    from passivo.world.world import World

SECTIONS = {  # of the header of the table, and of the memory
    "AT_STATE": "STATE", "AT_NEXT": "NEXT", "AT_STEP": "STEP", "AT_PARAM": "PARAM", "AT_INPUT": "INPUT",
    "AT_USED": "USED", "AT_OUTPUT": "OUTPUT", "AT_MEAN": "MEAN", "AT_WORK": "WORK", "AT_LOST": "LOST",
    "AT_RECEIVED": "RECEIVED", "AT_CHANGE": "CHANGE", "AT_DIFFERENCE": "DIFFERENCE", "AT_SCALE": "SCALE",
    "AT_ENERGY": "ENERGY", "AT_HEIGHT": "HEIGHT", "AT_PASSES": "ITERATION", "AT_FRAMES": "FRAMES",
    "AT_ROWS": "TIE_ROWS", "AT_BLOCKS": "BLOCKS_OF_BODIES", "AT_RIGHT": "RIGHT_SIDE",
    "AT_RECORDED": "RECORDED", "AT_NOISE": "RECORDED_NOISE", "AT_PROOF": "PROOF", "AT_TOUCHES": "TOUCHES",
    "AT_PAST": "PAST", "AT_TALLY": "TALLY", "AT_FREE": "FREE", "AT_LABELS": "LABELS", "AT_SPEEDS": "SPEEDS",
    "AT_EXACT": "EXACT", "AT_DEFECT": "DEFECT",
}  # fmt: skip
LEAVES = """
def advance(m, h):
    return world_advance(m, TABLE, h)

def difference(m):
    world_difference(m, TABLE)

def energy(m):
    world_energy(m, TABLE)

def heights(m):
    world_heights(m, TABLE)

def output(m):
    world_output(m, TABLE)

def prepare(m):
    pass

def ready(m):
    world_ready(m, TABLE)

def prove(m, h):
    pass

def shift(m, place, way, width):
    return world_shift(m, TABLE, place, way, width)
"""


def piece_of(world: World, method: Method, base: int, engine: str) -> Piece:
    """The piece of a world, its memory from `base` to SIZE."""
    from passivo.kernel.leaves import constants, lay_out
    from passivo.kernel.module import Piece

    form, recorded = world.form, len(world.recorded)
    layout = lay_out(form, 1, base, recorded)
    layout.take("COUNTERS", len(method.counters))
    bodies, ties = list(world.bodies), [(bond, tie) for bond in world.bonds.values() for tie in bond.ties]
    carriers = {name: i for i, name in enumerate([*bodies, *world.anchors])}
    pairs = [(carriers[tie.a], carriers[tie.b]) for _, tie in ties if tie.b in world.bodies]
    nodes = Nodes(world, carriers, pairs)
    layout.take("FRAMES", len(carriers) * T.F_SIZE)
    layout.take("TIE_ROWS", len(ties) * T.R_SIZE)
    layout.take("BLOCKS_OF_BODIES", nodes.size)
    layout.take("RIGHT_SIDE", 6 * len(bodies))
    groups, room = nodes.groups, world.most_contacts if world.touches else 0
    span = max(map(len, groups), default=1)
    layout.take("TOUCHES", room * (T.K_COLUMNS + 2 * T.COLUMN * span))
    layout.take("PAST", room * T.PAST_SIZE)
    layout.take("TALLY", T.N_SIZE)
    layout.take("FREE", T.VECTORS * 6 * len(bodies) + T.SPARE)
    layout.take("LABELS", len(bodies))
    layout.take("SPEEDS", len(bodies))
    options = method.world_options()
    chosen = options.pop("SOLVER", 0)
    solver = list(SOLVERS)[chosen if room else 0]
    exact_joints = options.pop("EXACT_JOINTS", 0) == 1
    most, size = _exact_room(solver, room, options)
    layout.take("EXACT", size)
    figures = _Figures(layout.take("FIGURES", len(world.figures)))

    header = dict.fromkeys(_header_names(), 0)
    header |= {name: layout.sections[section] for name, section in SECTIONS.items()}
    header |= {"BODIES": len(bodies), "CARRIERS": len(carriers), "TIES": len(ties), "TAPS": len(world.taps)}
    header |= {"INPUTS": world.width, "ROW_COUNT": len(form.rows), "BLOCKS": nodes.size, "NODES": len(nodes.width)}
    header |= {"STATE_COUNT": len(world.states), "MOST_EXACT": most, **options}
    table = [0] * T.HEADER
    inputs = _offsets(world)
    params = {name: i for i, name in enumerate(world.params)}

    header["CARRIER_TABLE"] = len(table)
    for i, name in enumerate(carriers):
        anchor = world.anchors.get(name)
        state = T.BODIES_FROM + T.BODY_STATES * min(i, len(bodies)) + T.ANCHOR_STATES * max(i - len(bodies), 0)
        if anchor is None:
            table += [state, params.get(f"{name}.{BODY_PARAMETERS[0]}", -1), -1, 0, -1]
        else:
            table += [state, -1, inputs[name], anchor.width, -1]
    header["TIE_TABLE"] = len(table)
    rows = [row.name for row in form.rows]
    told = {name: 4 * i for i, name in enumerate(world.bonds)}  # as `Names.recorded` has them
    exact = exact_joints and any(any(tap.at) for tap in world.taps.values())  # the way of such a port turns with it
    for bond, tie in ties:
        a, b = carriers[tie.a], carriers.get(tie.b, -1) if tie.b is not None else -1
        both = 0 <= b < len(bodies)
        turns = bond.row == "springs" or exact_joints or a in nodes.assembled
        exact |= turns
        table += [
            KINDS.index(tie.kind), a, b, params.get(tie.stiffness, -1), params.get(tie.damping, -1),
            figures.skip(1), figures.skip(6 + len(tie.more)), int(turns), rows.index(bond.row),
            nodes.twist[a, b] if both else -1, nodes.twist[b, a] if both else -1, told[bond.name],
        ]  # fmt: skip
    header["ITERATES"] = int(exact and options["SCHEME"] == T.MIDPOINT)
    header["TAP_TABLE"] = len(table)
    for tap in world.taps.values():
        table += [carriers[tap.body], figures.skip(3), inputs[tap.name], tap.width]
    laid = Laid(world, nodes, carriers, table, partial(_room, layout), figures.skip)
    header |= {"ASSEMBLIES": len(laid.entries), "ASSEMBLY_TABLE": laid.start, "MECHANISMS": len(nodes.mechanisms)}
    for body, entry in laid.members.items():
        table[header["CARRIER_TABLE"] + T.C_SIZE * body + T.C_MEMBER] = entry
    header |= {"LINKED": len(nodes.linked), "LINKED_TABLE": len(table)}
    table += laid.linked(nodes)
    lay_beams(world, header, table, laid.beams, options["SCHEME"])
    header["BEAM_ROW"] = rows.index("beams") if "beams" in rows else 0
    header |= _lay_cords(world, table, layout, laid, figures, rows, inputs)
    header["SPRING_ROW"] = rows.index("springs") if "springs" in rows else 0
    header["ORDER_TABLE"] = len(table)
    table += nodes.plan.table(len(table), laid.about(nodes), lambda i, j: nodes.places[i, j])
    header["RESPOND_TABLE"] = len(table)
    table += spread(nodes.node_groups, len(table))
    if world.touches:
        geoms = world.geoms
        header |= {"CONTACTS": room, "GEOMS": len(geoms), "SPAN": span, "TOLD_CONTACTS": 4 * len(world.bonds)}
        header |= {"TOLD_WRENCHES": 4 * len(world.bonds) + len(CONTACT_RECORDS)}
        header |= {"AT_BRIDGE": figures.skip(T.B_SIZE), "AT_SURFACES": figures.skip(2 * len(geoms))}
        header |= {"AT_REACH": figures.skip(len(bodies)), "TANK_STATE": len(world.states) - 1}
        header |= {"TANK_PARAM": params[TANK], **{f"{row.upper()}_ROW": rows.index(row) for row in CONTACT_ROWS}}
        pairs, fields = world.told_pairs, world.fields
        header |= {"PAIRS": len(pairs), "FIELDS": len(fields), "AT_PAIRS": figures.skip(2 * len(pairs))}
        header["AT_CALLS"] = figures.skip(T.C_CALLS * len(fields) * len(geoms))
        header["GEOM_TABLE"] = len(table)
        owners = {name: i for i, name in enumerate(dict.fromkeys(geom.owner for geom in geoms))}
        table += [carriers.get(geom.body, -1) for geom in geoms] + [owners[geom.owner] for geom in geoms]
        header["PAIR_TABLE"] = len(table)
        table += [owners.get(name, -1) for a, b, *_ in pairs for name in (a, b)]
        header["FIELD_TABLE"] = len(table)
        table += [figures.skip(T.H_HEIGHTS + field.grid.size) for _, field in fields]
        header["COMPONENT_TABLE"] = len(table)
        table += spread(groups, len(table))
    for name, value in header.items():
        table[getattr(T, name)] = int(value)
    assert tuple(params)[:3] == GRAVITY

    numbers: dict[str, Any] = {"TITLE": f"{world.name} by {type(method).__name__}", **constants(form, 1, recorded)}
    numbers |= layout.sections
    numbers.update(SIZE=layout.size, KEEPS_BOOK=method.keeps_book)
    numbers["TABLE"] = np.array(table, dtype=np.int64)
    # what a step by increments of the states would need
    leaves = ["def inside(m):\n    return True", "def end_gradient(m):\n    pass", *_leaves()]
    return Piece(numbers, leaves, (A.enter, A.book, *tick.KERNELS), imports(engine, solver))


def _lay_cords(
    world: World,
    table: list[int],
    layout: Layout,
    laid: Laid,
    figures: _Figures,
    rows: list[str],
    inputs: dict[str, int],
) -> dict[str, int]:
    """Cords and commands into the table; what the header says of them."""
    cords, states = world.cords, {name: i for i, name in enumerate(world.states)}
    memory = _room(layout, sum(map(room_for, cords)))
    recorded = list(world.recorded)
    told = {cord.name: recorded.index(f"{cord.name}.{records_of(cord)[0]}") for cord in cords}
    numbers = {"states": states, "params": {name: i for i, name in enumerate(world.params)}}
    numbers |= {"inputs": inputs, "rows": {name: i for i, name in enumerate(rows)}, "told": told}
    start = len(table)
    table += cord_entries(cords, start, memory, figures.skip, laid.places, numbers)
    commands = len(table)
    table += [number for name in world.commands for number in (states[f"{name}.length"], inputs[name])]
    return {
        "CORDS": len(cords), "CORD_TABLE": start, "COMMANDS": len(world.commands), "COMMAND_TABLE": commands
    }  # fmt: skip


def _exact_room(solver: str, room: int, options: dict[str, int]) -> tuple[int, int]:
    """For how many contacts an exact solver gets room, and how many numbers that is."""
    if not SOLVERS[solver]:
        return 0, 0
    exact, file = SOLVERS[solver]
    most = min(room, file.MOST_TOUCHES)
    return most, exact.exact_size(most) + file.solver_size(most, options["DIRECTIONS"])


class _Figures:
    """Where the figures of a world are, one after the other as `World.figures` has them."""

    def __init__(self, start: int):
        self.at = start

    def skip(self, count: int) -> int:
        """Where these begin."""
        self.at += count
        return self.at - count


def _room(layout: Layout, size: int) -> int:
    """Where these numbers of assemblies stand in the memory."""
    layout.size += size
    return layout.size - size


def _header_names() -> list[str]:
    """The names of the header of the table: those before HEADER, in order."""
    return [name for name, value in vars(T).items() if name.isupper()][: T.HEADER]


def _leaves() -> list[str]:
    return ["def " + text.rstrip() for text in LEAVES.split("\ndef ")[1:]]


def _offsets(world: World) -> dict[str, int]:
    """The first input of each port."""
    result, at = {}, 0
    for name, port in world.ports.items():
        result[name] = at
        at += port.width
    return result
