"""From a network to a generated module: pieces of parts and junctions under prefixed names, and the schedule."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passivo.errors import MethodError
from passivo.ledger import accounts as A
from passivo.method.generate import (
    Engine,
    foreign_sources,
    foreign_texts,
    part_piece,
    shared_piece,
    without_values,
)
from passivo.network import junction, schedule
from passivo.network.junction import Link
from passivo.network.network import Connection, Network
from passivo.network.schedule import Plan, offset_of

if TYPE_CHECKING:
    from passivo.kernel.module import Piece

Formulas = Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]]  # part -> port -> law


@dataclass(frozen=True)
class Live:
    """What a loop adds to the module of a network: the text of imports, pieces, and entries that are called from it."""

    header: str
    pieces: Callable[..., Sequence[Piece]]  # of (layout, parts, links): they take their places in the layout
    entries: Sequence[Callable | str]
    key: Any  # plain data: all that shapes these


def key_of(net: Network, formulas: Formulas, engine: Engine, live: Live | None = None) -> list:
    plan = Plan.of(net)
    observed = {signal: [sight.describe() for sight in shown] for signal, shown in net.observed.items()}
    parts = [[without_values(member.model.describe()), member.method.describe()] for member in net.members.values()]
    things = [text for m in net.members.values() for text in foreign_sources(m.model, m.method)]
    for c in net.connections:
        things += foreign_texts(*type(c.through).__mro__, *c.through.kernels)
    laws = {key: {port: [kind, *texts] for port, (kind, texts) in given.items()} for key, given in formulas.items()}
    joints = [
        [c.name, str(c.effort), str(c.flow), link.fast.kind, c.through.shape(link)]
        for c, link in zip(net.connections, net.links)
    ]
    order = [list(plan.parts), plan.early, plan.late]
    return ["network", parts, joints, order, observed, laws, engine, things, *([live.key] if live else [])]


def source_text(net: Network, formulas: Formulas, engine: Engine, live: Live | None = None) -> str:
    """Derive, generate, assemble: everything that needs SymPy."""
    from passivo.kernel import module
    from passivo.kernel.source import Layout

    plan = Plan.of(net)
    layout = Layout()
    for name in ("TICK", "STATUS", "FAILED", "DEAD", "ALL_CHANGE", "ALL_WORK", "ALL_LOST", "ALL_BOOKED", "ALL_SCALE"):
        layout.take(name, 1)
    for name in (
        "COMMON_PERIOD",
        "COMMON_SPAN",
        "COMMON_PIECES",
        "TOTAL_COUNT",
        "TOTAL_WAIT",
        "TOTAL_EVERY",
        "TOTAL_CURSOR",
    ):
        layout.take(name, 1)
    layout.take("COMMON_PHASE", 2)
    layout.take("TOTAL_TIME", 2)
    layout.take("TOTAL", A.ACCOUNT_SIZE)
    pieces: dict[str, Piece] = {}
    for key in plan.parts:
        pieces[key] = _part(net, key, formulas[key], layout, engine, live is not None)
    joints = [_link(connection, link, pieces, layout) for connection, link in zip(net.connections, net.links)]
    rows = sum(piece.numbers["ACCOUNTS_COUNT"] for piece in pieces.values())
    rows += sum(piece.numbers["LINK_ROWS"] for piece in joints) + 1
    size = 1 + rows * A.LEDGER_COLUMNS
    layout.take("TOTAL_REPORT", size)
    more = live.pieces(layout, pieces, dict(zip(plan.links, joints))) if live else ()
    own = [m.method.keeps_book for m in net.members.values()] + [c.through.keeps_book for c in net.connections]
    numbers = {**layout.sections, "SIZE": layout.size, "TOTAL_REPORT_SIZE": size, "KEEPS_BOOK": any(own)}
    numbers["EPSILON"] = 2.0**-52
    head = module.Piece(numbers, (), (A.enter, junction.give, schedule.wanted, schedule.append))
    shared = shared_piece()
    assert not any(shared.numbers.keys() & piece.numbers.keys() for piece in (*pieces.values(), *joints))
    body = [piece.prefixed(plan.parts[key]) for key, piece in pieces.items()]
    body += [piece.prefixed(prefix) for piece, prefix in zip(joints, plan.links.values())]
    kernels, entries = schedule.TOTAL_KERNELS, [*schedule.entries(plan), schedule.run]
    if live is None:
        tail = module.Piece({}, schedule.texts(net, plan), kernels)
        return module.assemble(net.name, engine, [shared, head, *body, tail], entries)
    limits = {name: getattr(schedule, name) for name in ("LONGEST_PIECE", "MOST_PIECES")}
    tail = module.Piece(limits, schedule.texts(net, plan, live=True), (*kernels, *schedule.LIVE_KERNELS))
    return module.assemble(net.name, engine, [shared, head, *body, tail, *more], [*entries, *live.entries], live.header)


def _part(net: Network, key: str, laws: Mapping[str, Any], layout: Any, engine: Engine, live: bool) -> Piece:
    """A part with what it needs in a network."""
    from passivo.kernel.module import Piece

    member = net.members[key]
    begin = layout.size
    try:
        piece = part_piece(member.model, member.method, laws, engine, begin)
    except MethodError as error:
        raise MethodError(error.what, key) from None
    numbers = {**piece.numbers, "BEGIN": begin, "FINISH": piece.numbers["SIZE"]}
    model, width, stages = member.model, numbers["WIDTH"], numbers["STAGES"]
    free = [f"{key}.{port}" in net.ports for port, p in model.ports.items() for _ in range(p.width)]
    driven = free + [f"{key}.{signal}" in net.signals for signal in model.signals]
    outside = tuple(s * len(driven) + k for s in range(stages) for k, is_free in enumerate(driven) if is_free)
    layout.size = numbers["SIZE"]
    numbers.update(placed(layout, {"DT": 1, "PHASE": 2, "FEED": 3, "WAIT": 1, "EVERY": 1, "CURSOR": 1}))
    numbers.update(placed(layout, {"SPAN": 1, "PIECES": 1, "NOMINAL": 1, "BESIDE": 1}))
    numbers.update(placed(layout, {"BESIDE_STATUS": 1, "BESIDE_STEP": 1}))
    numbers.update(placed(layout, {"TAKEN": width, "TAKEN_SIZE": width, "MOVED": width}))
    numbers.update(FREE=outside or (0,), FREE_COUNT=len(outside), IS_FREE=tuple(free) or (False,))
    beside = schedule.BESIDE_KERNELS if live and member.device is None else ()
    return Piece(numbers, piece.leaves, (*piece.kernels, *schedule.PART_KERNELS, *beside), piece.header)


def row_names(connection: Connection, link: Link) -> tuple[str, ...]:
    """Ledger rows of a connection: itself, and its sensor where that is told apart."""
    name = connection.name
    return (
        (name, f"{name}.sensor")
        if connection.through.senses and not link.opaque and not connection.through.guards
        else (name,)
    )


def placed(layout: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """Places for sections of a piece of its own."""
    places = {}
    for name, size in sizes.items():
        places[name] = layout.size
        layout.size += size
    return places


def _link(connection: Connection, link: Link, parts: Mapping[str, Piece], layout: Any) -> Piece:
    """A junction between two parts."""
    from passivo.kernel.module import Piece, numbers_of

    through = connection.through
    numbers: dict[str, Any] = {"LINK_WIDTH": link.width, "KEEPS_BOOK": through.keeps_book, "EPSILON": 2.0**-52}
    sizes, seen = through.sections(link), through.recorded()
    ordered = [*seen.values(), *(name for name in sizes if name not in seen.values())]
    numbers.update(SEEN=layout.size, SEEN_COUNT=sum(sizes[name] for name in seen.values()))
    rows = len(row_names(connection, link))
    report = 1 + numbers["SEEN_COUNT"] + rows * A.LEDGER_COLUMNS
    entries = ("CHANGE", "LOST", "BOOKED", "ASIDE", "SLACK", "REST")  # of a period, each begins at 0
    singles = (*entries, "STORED", "BEYOND", "COUNT", "PERIOD", "SPAN", "PIECES", "WAIT", "EVERY", "CURSOR")
    numbers.update(placed(layout, {name: sizes[name] for name in ordered}))
    numbers.update(placed(layout, {f"LINK_{name}": 1 for name in singles}))
    numbers.update(
        placed(
            layout,
            {
                "PHASE": 2,
                "LINK_RECEIVED": 2,
                "LINK_TIME": 2,
                "LINK_ACCOUNT": rows * A.ACCOUNT_SIZE,
                "LINK_REPORT": report,
            },
        )
    )
    numbers.update(LINK_REPORT_SIZE=report, LINK_ROWS=rows, LINK_ENTRIES=len(entries))
    names = {"EFFORT": link.effort, "FLOW": link.flow, "FAST": link.fast, "SLOW": link.slow}
    for name, side in names.items():
        end = connection.effort if side is link.effort else connection.flow
        piece = parts[end.member.name].numbers
        at = offset_of(end.member.model, end.name)
        places = {
            what: piece[section] + at
            for what, section in (
                ("OUTPUT", "OUTPUT"), ("INPUT", "INPUT"), ("TAKEN", "TAKEN"), ("SIZE", "TAKEN_SIZE"), ("MOVED", "MOVED")
            )
        }  # fmt: skip
        numbers.update({f"{name}_{what}": place for what, place in places.items()})
        numbers.update({f"{name}_STRIDE": piece["WIDTH"] + piece["SIGNALS"], f"{name}_STAGES": piece["STAGES"]})
        numbers.update({f"{name}_DT": piece["DT"], f"{name}_STATE": piece["STATE"], f"{name}_SIGN": side.sign})
    if through.couples:
        piece, model = parts[connection.flow.member.name].numbers, connection.flow.member.model
        moved, stiffnesses, _ = model.coupling(link.name)
        numbers["STIFFNESS"] = tuple(piece["PARAM"] + list(model.params).index(name) for name in stiffnesses)
        numbers["ELONGATION"] = piece["STATE"] + model.states.index(moved)
    hidden = "EFFORT_TAKEN" if link.effort.opaque else "FLOW_TAKEN"
    numbers.update(OPAQUE=link.opaque or through.guards, SIDE_IS_OPAQUE=link.opaque, OPAQUE_TAKEN=numbers[hidden])
    numbers.update(through.numbers(link))
    numbers.update(numbers_of(*dict.fromkeys(sys.modules[kernel.__module__] for kernel in through.kernels)))
    return Piece(numbers, (), (A.enter, *junction.KERNELS, *through.kernels, schedule.link_record))
