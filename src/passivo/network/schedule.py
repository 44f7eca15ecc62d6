"""The schedule of a network as source text: which part steps, which junction acts, at which tick.

A tick: parts whose period ends there step, fastest first, with their held inputs; junctions book; then, for the
periods that begin, outputs are read and junctions set inputs. A part that steps early does so at the start of its
period, slowest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

from passivo.errors import InputError

if TYPE_CHECKING:
    from passivo.network.network import Network
    from passivo.provided import *

# -- kernels of a part in a network ---------------------------------------------------------------------------------


def fetch(m, table):
    """The outside inputs of the period that begins."""
    at = int(m[FEED])
    for k in range(FREE_COUNT):
        m[INPUT + FREE[k]] = table[at + FREE[k]]
    m[FEED] += m[FEED + 1]


def expose(m):
    """The output at the present state and with the inputs of the period that begins."""
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    output(m)


def share(m):
    """What a step did, for the junctions at its ports and for the books of the whole network."""
    for r in range(ROWS):
        m[ALL_CHANGE] += m[CHANGE + r]
        m[ALL_LOST] += max(m[LOST + r], 0.0)
        m[ALL_BOOKED] += m[BOOKED + r]
        m[ALL_SCALE] += m[SCALE + r] + abs(m[LOST + r])
    for k in range(WIDTH):
        size = abs(m[WORK + k])
        m[TAKEN + k] += m[WORK + k]
        m[TAKEN_SIZE + k] += size
        m[MOVED + k] += m[DT] * m[MEAN + k]
        m[ALL_SCALE] += size
        if IS_FREE[k]:
            m[ALL_WORK] += m[WORK + k]


def keep(m, out):
    """Every EVERY-th step, append the report to the record."""
    m[WAIT] -= 1.0
    if m[WAIT] <= 0.0:
        m[WAIT] = m[EVERY]
        report(m)
        at = int(m[CURSOR])
        for k in range(REPORT_SIZE):
            out[at + k] = m[REPORT + k]
        m[CURSOR] += REPORT_SIZE


PART_KERNELS = (fetch, expose, share, keep)

# -- kernels of a link and of the whole: `keep` with other names ----------------------------------------------------


def link_keep(m, out):
    m[LINK_WAIT] -= 1.0
    if m[LINK_WAIT] <= 0.0:
        m[LINK_WAIT] = m[LINK_EVERY]
        link_report(m)
        at = int(m[LINK_CURSOR])
        for k in range(LINK_REPORT_SIZE):
            out[at + k] = m[LINK_REPORT + k]
        m[LINK_CURSOR] += LINK_REPORT_SIZE


def total_book(m):
    """At a common tick: book what happened since the last one into the total."""
    m[TOTAL_COUNT] += 1.0
    add(m, TOTAL_TIME, m[COMMON_PERIOD])
    time = m[TOTAL_TIME] + m[TOTAL_TIME + 1]
    enter(m, TOTAL, m[ALL_CHANGE], m[ALL_WORK], m[ALL_LOST], m[ALL_BOOKED], m[ALL_SCALE], time)
    remember(m, TOTAL, m[TOTAL_COUNT])
    m[ALL_CHANGE] = 0.0
    m[ALL_WORK] = 0.0
    m[ALL_LOST] = 0.0
    m[ALL_BOOKED] = 0.0
    m[ALL_SCALE] = 0.0


def total_keep(m, out):
    m[TOTAL_WAIT] -= 1.0
    if m[TOTAL_WAIT] <= 0.0:
        m[TOTAL_WAIT] = m[TOTAL_EVERY]
        total_report(m)
        at = int(m[TOTAL_CURSOR])
        for k in range(TOTAL_REPORT_SIZE):
            out[at + k] = m[TOTAL_REPORT + k]
        m[TOTAL_CURSOR] += TOTAL_REPORT_SIZE


TOTAL_KERNELS = (total_book, total_keep)


def run(m, table, out, ticks):
    """`ticks` ticks of the whole network; returns how many were done. STATUS and FAILED say what went wrong where."""
    t = int(m[TICK])
    for k in range(ticks):
        if not begin(m, t, table, out):
            return k
        t += 1
        if not end(m, t, out):
            return k
        m[TICK] = float(t)
    return ticks


# -- the order of things --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Names, periods and prefixes of everything in a network, in the order of the description."""

    periods: Mapping[str, int]
    parts: Mapping[str, str]  # part -> prefix
    links: Mapping[str, str]  # connection -> prefix
    early: frozenset[str]

    @classmethod
    def of(cls, net: Network) -> Plan:
        early, last = set(), set()
        for connection, link in zip(net.connections, net.links):
            part = link.slow.port.split(".", 1)[0]
            early |= {part} if connection.through.slow_steps_first(link) else set()
            last |= {part} if connection.through.slow_steps_last(link) else set()
        if early & last:
            part = min(early & last)
            raise InputError(
                f"part {part!r} cannot step first for one junction and last for another: "
                "join it through PassiveSampleHold(order='published'), or through MeanHold, at all its slow ends"
            )
        parts = {key: f"p{i}_" for i, key in enumerate(net.members)}
        links = {c.name: f"j{i}_" for i, c in enumerate(net.connections)}
        return cls(net.periods, parts, links, frozenset(early))


def texts(net: Network, plan: Plan) -> list[str]:
    """`begin`, `end` and the reports of the whole network."""
    links = {c.name: (c, link) for c, link in zip(net.connections, net.links)}
    begin, end = _Body("begin(m, t, table, out)"), _Body("end(m, t, out)")
    for key, prefix in plan.parts.items():
        begin.at(plan.periods[key], [f"{prefix}fetch(m, table)"])
    for period, lines in _exchanges(net, plan, links):
        begin.at(period, lines)
    slowest_first = sorted(plan.early, key=lambda key: (-plan.periods[key], key))
    for key in slowest_first:
        begin.at(plan.periods[key], [*_step(plan, key), f"{plan.parts[key]}expose(m)"])
        for connection, link in links.values():
            if _part(link.slow.port) == key and connection.through.slow_steps_first(link):
                begin.at(link.period, [f"{plan.links[link.name]}turn(m)"])
    fastest_first = sorted((key for key in plan.parts if key not in plan.early), key=lambda key: plan.periods[key])
    for key in fastest_first:
        for connection, link in links.values():
            if _part(link.slow.port) == key and connection.through.slow_steps_last(link):
                end.at(link.period, [f"{plan.links[link.name]}turn(m)"])
        end.at(plan.periods[key], _step(plan, key))
    for name, (_, link) in links.items():
        end.at(link.period, [f"{plan.links[name]}settle(m)", f"{plan.links[name]}link_keep(m, out)"])
    end.at(net.common, ["total_book(m)", "total_keep(m, out)"])
    return [begin.text, end.text, *_reports(plan)]


def _part(port: str) -> str:
    return port.split(".", 1)[0]


class _Body:
    """A function that returns whether all went well, written line by line."""

    def __init__(self, head: str):
        self.lines = [f"def {head}:"]
        self.period = 1

    def at(self, period: int, lines: Iterable[str]) -> None:
        """Lines that run at every `period`-th tick."""
        if period == 1:
            self.lines += [f"    {line}" for line in lines]
        else:
            if period != self.period:
                self.lines.append(f"    if t % {period} == 0:")
            self.lines += [f"        {line}" for line in lines]
        self.period = period

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, "    return True"])


def _step(plan: Plan, key: str) -> list[str]:
    prefix, number = plan.parts[key], list(plan.parts).index(key)
    return [
        f"status = {prefix}tick(m, m[{prefix}DT])",
        "if status != OK:",
        "    m[STATUS] = float(status)",
        f"    m[FAILED] = {number}.0",
        "    return False",
        f"{prefix}share(m)",
        f"{prefix}keep(m, out)",
    ]


def _reports(plan: Plan) -> list[str]:
    report = ["def total_report(m):", "    m[TOTAL_REPORT] = m[TOTAL_TIME] + m[TOTAL_TIME + 1]"]
    report += ["    at = TOTAL_REPORT + 1", "    whole = 0.0"]
    for prefix in plan.parts.values():
        report += [f"    whole += {prefix}show_rows(m, at)", f"    at += {prefix}ACCOUNTS_COUNT * LEDGER_COLUMNS"]
    for prefix in plan.links.values():
        report += [f"    whole += m[{prefix}LINK_STORED]"]
        report += [f"    {prefix}show_link(m, at)", f"    at += {prefix}LINK_ROWS * LEDGER_COLUMNS"]
    report += ["    show(m, TOTAL, at, whole)"]
    return ["\n".join(report)]


def entries(plan: Plan) -> list[str]:
    """`look` and `refresh` of the whole network, to be called from outside."""
    look = ["def look(m):", '    """Energies and outputs at the present state."""']
    refresh = ["def refresh(m):", '    """After a change by hand: constants, energies, outputs, reports."""']
    for prefix in plan.parts.values():
        look += [f"    {prefix}energy(m)", f"    {prefix}output(m)"]
        refresh += [f"    {prefix}prepare(m)", f"    {prefix}report(m)"]
    refresh += [*(f"    {prefix}link_report(m)" for prefix in plan.links.values()), "    total_report(m)"]
    return ["\n".join(look), "\n".join(refresh)]


# -- who needs whose output first -----------------------------------------------------------------------------------


def _exchanges(net: Network, plan: Plan, links: Mapping[str, Any]) -> list[tuple[int, list[str]]]:
    """Outputs, signals and exchanges in an order in which each finds what it reads.

    A part with feedthrough answers at once: its inputs come before its output.
    """
    actions: dict[Any, tuple[int, list[str], list[Any]]] = {}  # action -> period, lines, what must come before
    readers: dict[str, list[int]] = {key: [] for key in plan.parts}
    for signal, source in net.observed.items():
        target = _part(signal)
        actions["observe", signal] = _observation(net, plan, signal, source)
        if source.name in source.member.model.ports:
            readers[source.member.name].append(plan.periods[target])
    for name, (connection, link) in links.items():
        prefix, period = plan.links[name], link.period
        ends = {"effort": _part(link.effort.port), "flow": _part(link.flow.port)}
        for part in ends.values():
            readers[part].append(period)
        if connection.through.halves:
            for side, other in (("effort", "flow"), ("flow", "effort")):
                actions["give", name, side] = (period, [f"{prefix}to_{side}(m)"], [("expose", ends[other])])
        else:
            needs = [("expose", part) for part in ends.values()]
            actions["exchange", name] = (period, [f"{prefix}exchange(m)"], needs)
    for key, prefix in plan.parts.items():
        if readers[key]:
            needs = _answers(net, key, links) + [("observe", signal) for signal in net.observed if _part(signal) == key]
            actions["expose", key] = (gcd(*readers[key]), [f"{prefix}expose(m)"], needs)
    ordered = [actions[action][:2] for action in _sorted(actions)]
    return ordered + [(link.period, [f"{plan.links[name]}opened(m)"]) for name, (_, link) in links.items()]


def _observation(net: Network, plan: Plan, signal: str, source: Any) -> tuple[int, list[str], list[Any]]:
    target, _, name = signal.partition(".")
    model, prefix, home = net.members[target].model, plan.parts[target], plan.parts[source.member.name]
    place = model.width + model.signals.index(name)
    giver = source.member.model
    if source.name in giver.states:
        value, needs = f"m[{home}STATE + {giver.states.index(source.name)}]", []
    else:
        value, needs = f"m[{home}OUTPUT + {offset_of(giver, source.name)}]", [("expose", source.member.name)]
    each = model.width + len(model.signals)
    line = f"give(m, {prefix}INPUT + {place}, {each}, {prefix}STAGES, {value})"
    return plan.periods[target], [line], needs


def offset_of(model: Any, port: str) -> int:
    """The first component of a port among all of them."""
    names = list(model.ports)
    return sum(model.ports[name].width for name in names[: names.index(port)])


def _answers(net: Network, key: str, links: Mapping[str, Any]) -> list[Any]:
    """The inputs of a part on which its output depends at once."""
    model = net.members[key].model
    feedthrough = model.form.feedthrough
    found = []
    for name, (connection, link) in links.items():
        for side in ("effort", "flow"):
            part, port = getattr(link, side).port.split(".", 1)
            if part != key:
                continue
            at = offset_of(model, port)
            if all(entry == 0 for entry in feedthrough[:, at : at + link.width]):
                continue
            if not connection.through.halves:
                raise InputError(
                    f"{key}.{port} answers its input at once (feedthrough) and cannot be joined through "
                    f"{type(connection.through).__name__}; join it through Direct, or compose it with pv.Monolithic"
                )
            found.append(("give", name, side))
    return found


def _sorted(actions: Mapping[Any, tuple[int, list[str], Sequence[Any]]]) -> list[Any]:
    done: list[Any] = []
    waiting = dict(actions)
    while waiting:
        ready = [a for a, (_, _, needs) in waiting.items() if not any(need in waiting for need in needs)]
        if not ready:
            raise InputError(_loop(waiting))
        done += ready
        for action in ready:
            del waiting[action]
    return done


def _loop(waiting: Mapping[Any, tuple[int, list[str], Sequence[Any]]]) -> str:
    """The sentence that names a loop of parts that all answer at once."""
    action, path = next(iter(waiting)), []
    while action not in path:
        path.append(action)
        action = next(need for need in waiting[action][2] if need in waiting)
    cycle = path[path.index(action) :]
    parts = [a[1] for a in cycle if a[0] == "expose"]
    through = [a[1] for a in cycle if a[0] != "expose"]
    return (
        f"the parts {' and '.join(parts)} answer each other at once through {', '.join(through)}: "
        "a loop that needs an algebraic solve; compose them into one part with pv.Monolithic"
    )
