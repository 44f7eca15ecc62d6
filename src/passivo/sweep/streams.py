"""Where the series of a run stand: each part, each junction and the whole have a report that grows at its own ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from passivo.method.part import CompiledPart
from passivo.network.compiled import CompiledLink, CompiledNetwork
from passivo.run.network_run import SEEN_UNITS
from passivo.run.run import COLUMNS


@dataclass(frozen=True)
class Column:
    """One series: its place in the report, and the first row that has a value."""

    at: int
    unit: str = ""
    first: int = 0


@dataclass(frozen=True)
class Stream:
    """A report: where it stands in the memory, how large it is, its series, and how often a row comes.

    wait, every, cursor  where a network counts and places the rows; a single part has none of these
    """

    seconds: Fraction
    period: int  # ticks from row to row
    report: int
    size: int
    columns: dict[str, Column]
    wait: int = -1
    every: int = -1
    cursor: int = -1


def part_stream(part: CompiledPart, step: Fraction) -> list[Stream]:
    """The stream of a part that runs alone."""
    rows = [f"{row}." for row in part.module.ROW_NAMES]
    columns = {**_ledger([*rows[:-1], ""], _ledger_at(part)), **_signals(part, "")}
    if len(rows) == 1:  # its only row is also the total
        columns = {**_ledger(rows, _ledger_at(part)), **columns}
    return [Stream(step, 1, part.module.REPORT, part.module.REPORT_SIZE, columns)]


def network_streams(network: CompiledNetwork) -> list[Stream]:
    """The streams of all parts, all junctions and the whole."""
    net, module, periods = network.net, network.module, network.net.periods
    streams = []
    for key, part in network.parts.items():
        view = part.module
        rows = [*(f"{key}.{row}." for row in view.ROW_NAMES[:-1]), f"{key}."]
        columns = {**_ledger(rows, _ledger_at(part)), **_signals(part, f"{key}.")}
        places = (view.WAIT, view.EVERY, view.CURSOR)
        step = net.members[key].step
        streams.append(Stream(step, periods[key], view.REPORT, view.REPORT_SIZE, columns, *places))
    for link in network.links.values():
        period = link.link.period
        report, size, *places = (
            link.number(f"LINK_{what}") for what in ("REPORT", "REPORT_SIZE", "WAIT", "EVERY", "CURSOR")
        )
        streams.append(Stream(period * net.tick, period, report, size, _link_columns(link), *places))
    at = 1 + (len(network.rows) - 1) * len(COLUMNS)
    places = (module.TOTAL_WAIT, module.TOTAL_EVERY, module.TOTAL_CURSOR)
    total = Stream(net.common * net.tick, net.common, module.TOTAL_REPORT, module.TOTAL_REPORT_SIZE, {}, *places)
    total.columns.update(_ledger([""], at))
    return [*streams, total]


def _signals(part: CompiledPart, prefix: str) -> dict[str, Column]:
    """States, inputs and what the method records; the latter two stand at the end of their step, the first row has
    none."""
    model, module = part.model, part.module
    n = module.KEPT_COUNT
    states = {f"{prefix}{name}": Column(1 + i, model.unit(name)) for i, name in enumerate(model.kept)}
    names = part.input_names
    inputs = {
        f"{prefix}{name}": Column(1 + n + k, model.unit(name.split("[")[0]), first=1) for k, name in enumerate(names)
    }
    last = module.REPORT_SIZE - module.RECORDED_COUNT
    own = part.method.recorded(model)
    recorded = {f"{prefix}{name}": Column(last + k, model.unit(name), first=1) for k, name in enumerate(own)}
    return {**inputs, **recorded, **states}


def _ledger_at(part: CompiledPart) -> int:
    module = part.module
    return 1 + module.KEPT_COUNT + 3 * module.WIDTH + module.SIGNALS


def _ledger(rows: Sequence[str], at: int) -> dict[str, Column]:
    """The ledger columns of consecutive rows from `at` on; the names of a row begin with its prefix."""
    return {
        f"{prefix}{column}": Column(at + r * len(COLUMNS) + c, "J")
        for r, prefix in enumerate(rows)
        for c, column in enumerate(COLUMNS)
    }


def _link_columns(link: CompiledLink) -> dict[str, Column]:
    name, through = link.connection.name, link.connection.through
    sizes, at, columns = through.sections(link.link), 1, {}
    for shown, section in through.recorded().items():
        for i in range(sizes[section]):
            number = "" if sizes[section] == 1 else f"[{i}]"
            columns[f"{name}.{shown}{number}"] = Column(at, SEEN_UNITS.get(shown, ""))
            at += 1
    return {**_ledger([f"{row}." for row in link.rows], at), **columns}
