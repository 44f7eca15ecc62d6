"""The schedule of a network as source text: which part steps, which junction acts, at which tick.

Periods are numbers in the memory, so that networks that differ only in their steps share their code.

A tick: parts whose period ends there step, fastest first, with their held inputs; junctions book; then, for the
periods that begin, outputs are read and junctions set inputs. A part that steps early does so at the start of its
period, slowest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passivo.errors import InputError

if TYPE_CHECKING:
    from passivo.network.junction import Side
    from passivo.network.network import Network, Sight
    from passivo.provided import *

# -- kernels of a part in a network ---------------------------------------------------------------------------------


def fetch(m, table):
    """The outside inputs of the period that begins; a period that took longer skips those of the time gone by."""
    m[FEED] = min(m[FEED] + m[FEED + 1] * m[PIECES], m[FEED + 2])
    at = int(m[FEED])
    for k in range(FREE_COUNT):
        m[INPUT + FREE[k]] = table[at + FREE[k]]


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
        if IS_FREE[k] and not IS_OPAQUE:
            m[ALL_WORK] += m[WORK + k]
    if KEEPS_BOOK:
        m[TOTAL + A_FAULTS] += m[FAULTS + ACCOUNTS_COUNT - 1]


def record(m, out):
    """Every EVERY-th step, append the report to the record."""
    if wanted(m, WAIT, EVERY):
        report(m)
        append(m, out, CURSOR, REPORT, REPORT_SIZE)


def jump(m, row, energy):
    """Energy that a coupling brought into a row by moving its spring between two steps."""
    time = m[TIME] + m[TIME + 1]
    enter(m, ACCOUNTS + row * ACCOUNT_SIZE, energy, energy, 0.0, 0.0, abs(energy), time)
    if ROWS > 1:
        enter(m, ACCOUNTS + ROWS * ACCOUNT_SIZE, energy, energy, 0.0, 0.0, abs(energy), time)
    m[ALL_CHANGE] += energy
    m[ALL_SCALE] += abs(energy)


PART_KERNELS = (fetch, expose, share, record, jump)

# -- kernels of a link and of the whole --------------------------------------------------------------------------------


def wanted(m, wait, every):
    """Whether this row is one that is kept: every m[every]-th."""
    m[wait] -= 1.0
    if m[wait] > 0.0:
        return False
    m[wait] = m[every]
    return True


def append(m, out, cursor, row, size):
    """Copy a report to the end of its record."""
    at = int(m[cursor])
    for k in range(size):
        out[at + k] = m[row + k]
    m[cursor] += size


def link_record(m, out):
    if wanted(m, LINK_WAIT, LINK_EVERY):
        link_report(m)
        append(m, out, LINK_CURSOR, LINK_REPORT, LINK_REPORT_SIZE)


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


def total_record(m, out):
    if wanted(m, TOTAL_WAIT, TOTAL_EVERY):
        total_report(m)
        append(m, out, TOTAL_CURSOR, TOTAL_REPORT, TOTAL_REPORT_SIZE)


def elapse(m, phase):
    """One tick more of a period; whether it ends here. m[phase] counts its ticks, m[phase + 1] is their number."""
    m[phase] += 1.0
    if m[phase] < m[phase + 1]:
        return False
    m[phase] = 0.0
    return True


def run(m, table, out, ticks):
    """`ticks` ticks of the whole network; returns how many were done. STATUS and FAILED say what went wrong where."""
    for k in range(ticks):
        if not begin(m, table, out) or not end(m, out):
            return k
        m[TICK] += 1.0
    return ticks


TOTAL_KERNELS = (elapse, total_book, total_record)

# -- kernels of a network against the clock ----------------------------------------------------------------------------

LONGEST_PIECE = 1.5  # steps: what lasted longer is stepped in pieces
MOST_PIECES = 1000.0


def stride(m):
    """A step by the time that went by; one that was taken beside the loop is only taken over."""
    if m[BESIDE] == 1.0:
        return int(m[BESIDE_STATUS])
    return tick(m, m[DT])


def lend(m, w):
    """The part as it is, into the memory of a thread that steps it meanwhile, by the time its last period took."""
    for k in range(BEGIN, FINISH):
        w[k] = m[k]
    w[BESIDE_STEP] = min(m[BESIDE_STEP], LONGEST_PIECE * m[NOMINAL])


def toil(w):
    """The step of that thread."""
    w[BESIDE_STATUS] = float(tick(w, w[BESIDE_STEP]))


def regain(m, w):
    """The part after the step that was taken beside the loop."""
    for k in range(BEGIN, FINISH):
        m[k] = w[k]
    m[BESIDE_STATUS] = w[BESIDE_STATUS]
    m[BESIDE_STEP] = m[DT] * m[PIECES]
    m[DT] = w[BESIDE_STEP]


BESIDE_KERNELS = (stride, lend, toil, regain)


def postpone(m, phase, period, ticks):
    """A part of this period is not ready: all that are as slow or slower wait for so many ticks more.

    Phases are whole numbers, and 0 where a period begins; a half keeps a postponed one from passing 0 again.
    """
    if m[phase + 1] >= period:
        m[phase] -= ticks - (0.5 if m[phase] == float(int(m[phase])) else 0.0)


def lengthen(m, phase, span, dt, pieces, nominal, elapsed):
    """A tick took `elapsed` seconds; where a period ends with it, that is how long the period lasted.

    A part that has a `nominal` step makes up for a long one in several steps of equal length.
    """
    m[span] += elapsed
    if m[phase] + 1.0 < m[phase + 1]:
        return
    count = 1.0
    if nominal > 0.0 and m[span] > LONGEST_PIECE * nominal:
        count = min(float(int(m[span] / nominal + 0.5)), MOST_PIECES)
    m[pieces] = count
    m[dt] = m[span] / count
    m[span] = 0.0


LIVE_KERNELS = (lengthen, postpone)

# -- the order of things --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Prefixes of everything in a network, and the order in which parts step."""

    parts: Mapping[str, str]  # part -> prefix
    links: Mapping[str, str]  # connection -> prefix
    early: tuple[str, ...]  # at the start of their period, slowest first
    late: tuple[str, ...]  # at the end of their period, fastest first

    @classmethod
    def of(cls, net: Network) -> Plan:
        early, last, periods = set(), set(), net.periods
        for connection, link in zip(net.connections, net.links):
            part = _part(link.slow.port)
            early |= {part} if connection.through.slow_steps_first(link) else set()
            last |= {part} if connection.through.slow_steps_last(link) else set()
        if early & last:
            raise InputError(
                f"part {min(early & last)!r} cannot step first for one junction and last for another: "
                "join it through PassiveSampleHold(order='published'), or through MeanHold, at all its slow ends"
            )
        links = list(zip(net.connections, net.links))
        first = [(link.slow, link.fast) for c, link in links if c.through.slow_steps_first(link)]
        after = [(link.fast, link.slow) for c, link in links if c.through.slow_steps_last(link)]
        order = list(periods)
        _refuse_early_sights(net, early)
        return cls(
            {key: f"p{i}_" for i, key in enumerate(net.members)},
            {c.name: f"j{i}_" for i, c in enumerate(net.connections)},
            _stepping([key for key in sorted(order, key=lambda key: -periods[key]) if key in early], first),
            _stepping([key for key in sorted(order, key=lambda key: periods[key]) if key not in early], after),
        )


def _stepping(parts: list[str], sides: Iterable[tuple[Side, Side]]) -> tuple[str, ...]:
    """The parts in an order in which the first of each two sides comes before the second; else as they are."""
    pairs = [(_part(one.port), _part(other.port)) for one, other in sides]
    before = {key: {a for a, b in pairs if b == key and a in parts and a != key} for key in parts}
    done: list[str] = []
    while len(done) < len(parts):
        ready = next((key for key in parts if key not in done and before[key] <= set(done)), None)
        if ready is None:
            left = [key for key in parts if key not in done]
            raise InputError(
                f"the parts {', '.join(left)} have equal steps and each would have to step before the next: a ring; "
                "give one of them another step, or compose them with pv.Monolithic"
            )
        done.append(ready)
    return tuple(done)


def _refuse_early_sights(net: Network, early: set[str]) -> None:
    """A part that steps first is ahead of its time until its period is over."""
    for signal, shown in net.observed.items():
        for sight in shown:
            source, target = sight.source.member, net.members[_part(signal)]
            if source.name in early and target.step < source.step and not sight.through:
                raise InputError(
                    f"'{signal}' would show {source.name!r} before its time: {source.name!r} steps first for "
                    f"its junction, every {float(source.step):g} s; observe it from a part that is not faster, or take "
                    "order='published'"
                )


def texts(net: Network, plan: Plan, live: bool = False) -> list[str]:
    """`begin`, `end` and the reports of the whole network; `live`, also what it takes to run against the clock."""
    links = {c.name: (c, link) for c, link in zip(net.connections, net.links)}
    slow_ends: dict[str, list[str]] = {key: [] for key in plan.parts}  # the links that turn when a part steps
    for name, (connection, link) in links.items():
        if connection.through.slow_steps_first(link) or connection.through.slow_steps_last(link):
            slow_ends[_part(link.slow.port)].append(plan.links[name])

    step = lambda key: _step(plan, key, live, net.members[key].device is not None)  # noqa: E731
    recorded = lambda line: [] if live else [line]  # noqa: E731
    begin = _Body("begin(m, table, out)")
    for prefix in plan.parts.values():
        begin.when(starts(prefix), [f"{prefix}fetch(m, table)"])
    for condition, lines in _exchanges(net, plan, links):
        begin.when(condition, lines)
    for name, (connection, link) in links.items():
        if connection.through.couples:
            device, prefix = plan.parts[_part(link.effort.port)], plan.links[name]
            begin.when(f"{starts(device)} and m[{prefix}PHASE] != 0.0", [f"{prefix}track(m)"])
    for key in plan.early:
        prefix = plan.parts[key]
        begin.when(starts(prefix), [*step(key), f"{prefix}expose(m)"])
        for link in slow_ends[key]:
            begin.when(starts(link), [f"{link}turn(m)"])

    end = _Body("end(m, out)")
    end.lines += [f"    {prefix}due = elapse(m, {prefix}PHASE)" for prefix in clocks(plan)]
    for key in plan.late:
        for link in slow_ends[key]:
            end.when(f"{link}due", [f"{link}turn(m)"])
        end.when(f"{plan.parts[key]}due", step(key))
    for name, (connection, link) in links.items():
        prefix = plan.links[name]
        if connection.through.couples:
            part = _part(link.flow.port)
            model, home = net.members[part].model, plan.parts[part]
            row = [row.name for row in model.form.rows].index(model.coupling(name)[2])
            gain = f"{home}shift(m, {prefix}ELONGATION, {prefix}EFFORT_MOVED, {prefix}LINK_WIDTH)"
            moves = f"{prefix}carry(m, {gain})" if model.steps_apart else f"{prefix}move(m)"
            end.when(f"{prefix}due", [moves, f"{home}jump(m, {row}, m[{prefix}JUMP])"])
        end.when(f"{prefix}due", [f"{prefix}settle(m)", *recorded(f"{prefix}link_record(m, out)")])
    end.when("COMMON_due", ["total_book(m)", *recorded("total_record(m, out)")])
    return [begin.text, end.text, _report(plan), *([_stretch(plan)] if live else [])]


def starts(prefix: str) -> str:
    """The condition that a period begins."""
    return f"m[{prefix}PHASE] == 0.0"


def _part(port: str) -> str:
    return port.split(".", 1)[0]


class _Body:
    """A function that returns whether all went well, written line by line."""

    def __init__(self, head: str):
        self.lines = [f"def {head}:"]
        self.condition = ""

    def when(self, condition: str, lines: Iterable[str]) -> None:
        """Lines that run under a condition; lines under the same one stay together."""
        if condition != self.condition:
            self.lines.append(f"    if {condition}:")
        self.lines += [f"        {line}" for line in lines]
        self.condition = condition

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, "    return True"])


def _step(plan: Plan, key: str, live: bool, real: bool) -> list[str]:
    """One step of a part. `live`, a part that cannot step makes the network DEAD: only `real` handles go on."""
    prefix, number = plan.parts[key], list(plan.parts).index(key)
    failed = ["m[STATUS] = float(status)", f"m[FAILED] = {number}.0"]
    if not live:
        lines = [f"status = {prefix}tick(m, m[{prefix}DT])", "if status != OK:", *_deeper(*failed, "return False")]
        return [*lines, f"{prefix}share(m)", f"{prefix}record(m, out)"]
    if real:
        return [f"{prefix}tick(m, m[{prefix}DT])", f"{prefix}share(m)"]
    piece = [f"status = {prefix}stride(m)", "if status != OK:", *_deeper(*failed, "m[DEAD] = 1.0", "break")]
    count = f"1 if m[{prefix}BESIDE] == 1.0 else int(m[{prefix}PIECES])"
    pieces = [f"for _ in range({count}):", *_deeper(*piece, f"{prefix}share(m)")]
    return ["if m[DEAD] == 0.0:", *_deeper(*pieces)]


def _deeper(*lines: str) -> list[str]:
    return [f"    {line}" for line in lines]


def _stretch(plan: Plan) -> str:
    """`stretch`: a tick took so many seconds; tell all whose period ends with it."""
    lines = ["def stretch(m, elapsed):"]
    for p in plan.parts.values():
        lines.append(f"    lengthen(m, {p}PHASE, {p}SPAN, {p}DT, {p}PIECES, m[{p}NOMINAL], elapsed)")
    for p in plan.links.values():
        lines.append(f"    lengthen(m, {p}PHASE, {p}LINK_SPAN, {p}LINK_PERIOD, {p}LINK_PIECES, 0.0, elapsed)")
    lines.append("    lengthen(m, COMMON_PHASE, COMMON_SPAN, COMMON_PERIOD, COMMON_PIECES, 0.0, elapsed)")
    return "\n".join(lines)


def clocks(plan: Plan) -> list[str]:
    """Prefixes of everything that has a period."""
    return [*plan.parts.values(), *plan.links.values(), "COMMON_"]


def _report(plan: Plan) -> str:
    report = ["def total_report(m):", "    m[TOTAL_REPORT] = m[TOTAL_TIME] + m[TOTAL_TIME + 1]"]
    report += ["    at = TOTAL_REPORT + 1", "    whole = 0.0"]
    for prefix in plan.parts.values():
        report += [f"    whole += {prefix}show_rows(m, at)", f"    at += {prefix}ACCOUNTS_COUNT * LEDGER_COLUMNS"]
    for prefix in plan.links.values():
        report += [f"    whole += m[{prefix}LINK_STORED]"]
        report += [f"    {prefix}show_link(m, at)", f"    at += {prefix}LINK_ROWS * LEDGER_COLUMNS"]
    report += ["    show(m, TOTAL, at, whole)"]
    return "\n".join(report)


def entries(plan: Plan) -> list[str]:
    """`look` and `refresh` of the whole network, to be called from outside."""
    look = ["def look(m):", '    """Energies and outputs at the present state."""']
    refresh = ["def refresh(m):", '    """After a change by hand: constants, energies, outputs, reports."""']
    for prefix in plan.parts.values():
        look += [f"    {prefix}energy(m)", f"    {prefix}output(m)"]
        refresh += [f"    {prefix}{what}(m)" for what in ("prepare", "ready", "heights", "report")]
    refresh += [*(f"    {prefix}link_report(m)" for prefix in plan.links.values()), "    total_report(m)"]
    return ["\n".join(look), "\n".join(refresh)]


# -- who needs whose output first -----------------------------------------------------------------------------------


def _exchanges(net: Network, plan: Plan, links: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Outputs, signals and exchanges, each with its condition, in an order in which each finds what it reads.

    A part with feedthrough answers at once: its inputs come before its output.
    """
    actions: dict[Any, Action] = {}
    readers: dict[str, list[str]] = {key: [] for key in plan.parts}  # when the output of a part is read
    for signal, shown in net.observed.items():
        actions["observe", signal] = _observation(net, plan, signal, shown)
        for sight in shown:
            if sight.source.name in sight.source.member.model.ports:
                readers[sight.source.member.name].append(starts(plan.parts[_part(signal)]))
    for name, (connection, link) in links.items():
        prefix, when = plan.links[name], starts(plan.links[name])
        ends = {"effort": _part(link.effort.port), "flow": _part(link.flow.port)}
        for part in ends.values():
            readers[part].append(when)
        if connection.through.halves:
            for side, other in (("effort", "flow"), ("flow", "effort")):
                actions["give", name, side] = Action(when, [f"{prefix}to_{side}(m)"], [("expose", ends[other])])
        else:
            needs: list[Any] = [("expose", part) for part in ends.values()]
            if connection.through.flow_first:
                actions["give", name, "flow"] = Action(when, [f"{prefix}ahead(m)"], [])
                needs.append(("give", name, "flow"))
            actions["exchange", name] = Action(when, [f"{prefix}exchange(m)"], needs)
    for key, prefix in plan.parts.items():
        if readers[key]:
            needs = _answers(net, key, links) + [("observe", signal) for signal in net.observed if _part(signal) == key]
            when = " or ".join(dict.fromkeys(readers[key]))
            actions["expose", key] = Action(when, [f"{prefix}expose(m)"], needs)
    ordered = [(actions[action].when, actions[action].lines) for action in _sorted(actions)]
    return ordered + [(starts(prefix), [f"{prefix}opened(m)"]) for prefix in plan.links.values()]


@dataclass(frozen=True)
class Action:
    """Lines of the exchange, when they run, and the actions that must come before."""

    when: str
    lines: list[str]
    needs: list[Any]


def _observation(net: Network, plan: Plan, signal: str, shown: Iterable[Sight]) -> Action:
    """Give a signal the sum of what it shows."""
    target, _, name = signal.partition(".")
    model, prefix = net.members[target].model, plan.parts[target]
    needs, terms = [], []
    for sight in shown:
        giver, home = sight.source.member.model, plan.parts[sight.source.member.name]
        if sight.through:
            port = next(c.effort.name for c in net.connections if c.name == sight.through)
            value = _sensed(plan.links[sight.through], home, giver, port, sight.source.name)
        elif sight.source.name in giver.states:
            value = f"m[{home}STATE + {giver.states.index(sight.source.name)}]"
        else:
            value = f"m[{home}OUTPUT + {offset_of(giver, sight.source.name)}]"
            needs.append(("expose", sight.source.member.name))
        if sight.resolution:
            value = f"{sight.resolution!r} * float(round({value} / {sight.resolution!r}))"
        scaled = f"{sight.scale!r} * {value}" if sight.scale != 1.0 else value
        terms.append(f"{scaled} + {sight.offset!r}" if sight.offset else scaled)
    each, place = model.width + len(model.signals), model.width + model.signals.index(name)
    line = f"give(m, {prefix}INPUT + {place}, {each}, {prefix}STAGES, {' + '.join(terms)})"
    return Action(starts(prefix), [line], needs)


def _sensed(link: str, home: str, giver: Any, port: str, name: str) -> str:
    """What the sensor of a link sees: the mean velocity since the last sample, or the position.

    A sensor counts from where the device began: the state is moved by as much as the sensor is off.
    """
    if name in giver.ports:
        return f"m[{link}INCREMENT] / m[{link}LINK_PERIOD]"
    form = giver.form
    rate, seen = form.flow[giver.states.index(name)], form.output[offset_of(giver, port)]
    if (rate - seen).expand() != 0:
        raise InputError(f"the sensor at port {port!r} does not see {name!r}, whose rate is not that port's output")
    return f"m[{home}STATE + {giver.states.index(name)}] + (m[{link}MEASURED] - m[{link}PLACE])"


def offset_of(model: Any, port: str) -> int:
    """The first component of a port among all of them."""
    names = list(model.ports)
    return sum(model.ports[name].width for name in names[: names.index(port)])


def _answers(net: Network, key: str, links: Mapping[str, Any]) -> list[Any]:
    """The inputs of a part on which its output depends at once."""
    model = net.members[key].model
    direct = model.form.answered
    found = []
    for name, (connection, link) in links.items():
        for side in ("effort", "flow"):
            part, port = getattr(link, side).port.split(".", 1)
            if part != key:
                continue
            at = offset_of(model, port)
            if not direct & set(model.form.inputs[at : at + link.width]):
                continue
            if not connection.through.halves and not (connection.through.flow_first and side == "flow"):
                raise InputError(
                    f"{key}.{port} answers its input at once (feedthrough) and cannot be joined through "
                    f"{type(connection.through).__name__}; join it through Direct, or compose it with pv.Monolithic"
                )
            found.append(("give", name, side))
    return found


def _sorted(actions: Mapping[Any, Action]) -> list[Any]:
    done: list[Any] = []
    waiting = dict(actions)
    while waiting:
        ready = [key for key, action in waiting.items() if not any(need in waiting for need in action.needs)]
        if not ready:
            raise InputError(_loop(waiting))
        done += ready
        for action in ready:
            del waiting[action]
    return done


def _loop(waiting: Mapping[Any, Action]) -> str:
    """The sentence that names a loop of parts that all answer at once."""
    action, path = next(iter(waiting)), []
    while action not in path:
        path.append(action)
        action = next(need for need in waiting[action].needs if need in waiting)
    cycle = path[path.index(action) :]
    parts = [a[1] for a in cycle if a[0] == "expose"]
    through = [a[1] for a in cycle if a[0] != "expose"]
    return (
        f"the parts {' and '.join(parts)} answer each other at once through {', '.join(through)}: "
        "a loop that needs an algebraic solve; compose them into one part with pv.Monolithic"
    )
