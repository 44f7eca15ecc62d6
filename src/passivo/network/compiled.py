"""A network compiled: all parts, junctions and the schedule in one flat module and one flat memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from passivo.errors import InputError, StepError, nearest
from passivo.kernel import cache
from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict, judge
from passivo.method.generate import (
    Engine,
    foreign_sources,
    foreign_texts,
    part_piece,
    shared_piece,
    traced,
    without_values,
)
from passivo.method.part import CompiledPart, checked_allowance, place_start
from passivo.model.coupled import Coupled
from passivo.model.feedback import Law
from passivo.network import junction, schedule
from passivo.network.junction import Link, side_numbers
from passivo.network.network import Connection, Network
from passivo.network.schedule import Plan, offset_of

if TYPE_CHECKING:
    from passivo.kernel.module import Piece

Formulas = Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]]  # part -> port -> law


class View:
    """The names of one part in the module of a network; a part of one ledger row goes by its own name."""

    def __init__(self, module: ModuleType, prefix: str, key: str):
        self.module, self.prefix = module, prefix
        inner = getattr(module, prefix + "ROW_NAMES")
        self.ROW_NAMES = inner if len(inner) > 1 else (key,)
        self.look, self.refresh = module.look, module.refresh

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, self.prefix + name)

    def step(self, *_: Any) -> int:
        raise InputError("a part of a network does not step alone; step the network")


class CompiledLink:
    """A junction in the memory of its network: what it shows, and its ledger row."""

    def __init__(self, connection: Connection, link: Link, module: ModuleType, prefix: str, memory: np.ndarray):
        self.connection, self.link, self.module, self.prefix, self.memory = connection, link, module, prefix, memory

    def number(self, name: str) -> Any:
        return getattr(self.module, self.prefix + name)

    def section(self, name: str) -> np.ndarray:
        start = self.number(name)
        sizes = self.connection.through.sections(self.link)
        return self.memory[start : start + sizes.get(name, 1)]

    def copy(self, memory: np.ndarray) -> CompiledLink:
        """The same junction in a copy of the memory."""
        return CompiledLink(self.connection, self.link, self.module, self.prefix, memory)

    @property
    def accounts(self) -> np.ndarray:
        start = self.number("LINK_ACCOUNT")
        return self.memory[start : start + len(self.rows) * A.ACCOUNT_SIZE]

    @property
    def rows(self) -> tuple[str, ...]:
        """Its ledger rows: the connection, and its sensor where it has one."""
        return row_names(self.connection, self.link)


class CompiledNetwork:
    """All parts of a network in one memory; `parts` and `links` are views of it. Made by `pv.compile`."""

    def __init__(self, net: Network, module: ModuleType, engine: Engine, laws: Mapping[str, Mapping[str, Law]]):
        self.net, self.module, self.engine = net, module, engine
        self.allowance: float | None = None
        self.plan = Plan.of(net)
        self.memory = np.zeros(module.SIZE)
        self.parts: dict[str, CompiledPart] = {}
        for key, member in net.members.items():
            view: Any = View(module, self.plan.parts[key], key)
            part = CompiledPart(
                member.model, member.method, float(member.step), view, engine, laws.get(key, {}), self.memory
            )
            self._set(view.DT, part.dt)
            self._set(view.PHASE + 1, net.periods[key])
            self.parts[key] = part
        self.links = {
            c.name: CompiledLink(c, link, module, self.plan.links[c.name], self.memory)
            for c, link in zip(net.connections, net.links)
        }
        for link in self.links.values():
            self._set(link.number("LINK_PERIOD"), link.link.seconds)
            self._set(link.number("PHASE") + 1, link.link.period)
            for section, values in link.connection.through.setup(link.link).items():
                link.section(section)[:] = values
        self._set(module.COMMON_PERIOD, net.common * float(net.tick))
        self._set(module.COMMON_PHASE + 1, net.common)
        self.half_at(1)
        self.refresh()

    def _set(self, at: int, value: float) -> None:
        self.memory[at] = value

    def refresh(self) -> None:
        with np.errstate(all="ignore"):
            self.module.refresh(self.memory)

    def half_at(self, ticks: int) -> None:
        """Remember every bias at about half of a run of 2 × `ticks` ticks, to tell whether it still grew."""
        periods = self.net.periods
        for key, part in self.parts.items():
            part.half_at(ticks // periods[key])
        for link in self.links.values():
            link.accounts[A.A_MARK :: A.ACCOUNT_SIZE] = float(max(ticks // link.link.period, 1))
        self._set(self.module.TOTAL + A.A_MARK, float(max(ticks // self.net.common, 1)))

    def run(self, ticks: int, table: np.ndarray, out: np.ndarray) -> None:
        """Step the whole network; raises a `StepError` that names the part."""
        with np.errstate(all="ignore"):
            done = self.module.run(self.memory, table, out, ticks)
        if done < ticks:
            raise self.failure()

    def failure(self) -> StepError:
        key = list(self.parts)[int(self.memory[self.module.FAILED])]
        error = self.parts[key].failure(int(self.memory[self.module.STATUS]))
        message = f"part {key}: {error.args[0]}"
        state = {f"{key}.{name}": value for name, value in error.state.items()}
        return type(error)(message, time=error.time, state=state, residual=error.residual)

    @property
    def ticks(self) -> int:
        return int(self.memory[self.module.TICK])

    @property
    def time(self) -> float:
        return self.ticks * float(self.net.tick)

    @property
    def accounts(self) -> np.ndarray:
        """The accounts of all rows, the total last."""
        blocks = [
            part._section("ACCOUNTS", part.module.ACCOUNTS_COUNT * A.ACCOUNT_SIZE) for part in self.parts.values()
        ]
        total = self.memory[self.module.TOTAL : self.module.TOTAL + A.ACCOUNT_SIZE]
        return np.concatenate([*blocks, *(link.accounts for link in self.links.values()), total])

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of all ledger rows: parts, rows inside of composed parts as "part.row", connections, the total."""
        inner = {key: part.module.ROW_NAMES[:-1] for key, part in self.parts.items()}
        parts = [row for key, names in inner.items() for row in (*(f"{key}.{name}" for name in names), key)]
        return (*parts, *(row for link in self.links.values() for row in link.rows), "total")

    @property
    def verdict(self) -> Verdict:
        return judged(self.net, self.accounts, self.rows, self.allowance)

    def measure(self) -> None:
        """The height of the whole, from which its allowance follows, after states were set by hand."""
        total = self.memory[self.module.TOTAL : self.module.TOTAL + A.ACCOUNT_SIZE]
        height = sum(part.height for part in self.parts.values())
        total[A.A_LEVEL] = height - (total[A.A_CREATED] + total[A.A_CREATED + 1])
        total[A.A_PEAK] = max(total[A.A_PEAK], total[A.A_LEVEL])

    def copy(self) -> CompiledNetwork:
        """An independent network in the same state, ledger included."""
        twin = object.__new__(CompiledNetwork)
        twin.__dict__.update(self.__dict__)
        twin.memory = self.memory.copy()
        twin.parts = {key: part.copy(twin.memory) for key, part in self.parts.items()}
        twin.links = {name: link.copy(twin.memory) for name, link in self.links.items()}
        return twin

    def __repr__(self) -> str:
        return f"<network {self.net.name}: {', '.join(self.parts)}; t = {self.time:g} s>"


def compile_network(
    net: Network,
    start: Mapping[Any, float] | None = None,
    laws: Mapping[str, Law] | None = None,
    engine: Engine = "numba",
    allowance: float | None = None,
) -> CompiledNetwork:
    """Compile a network; `start` and `laws` name states and ports as "part.name"."""
    starts = split(net, start or {}, "state", net.states)
    network = unplaced_network(net, laws, engine)
    network.allowance = checked_allowance(allowance)
    place_network(network, starts)
    return network


def unplaced_network(net: Network, laws: Mapping[str, Law] | None = None, engine: Engine = "numba") -> CompiledNetwork:
    """A compiled network that was not put into its first state yet."""
    if engine not in get_args(Engine):
        raise InputError(f"there is no engine {engine!r}; {nearest(str(engine), get_args(Engine))}")
    net.check()
    by_part = split(net, laws or {}, "port", net.ports)
    formulas = {key: traced(net.members[key].model, given) for key, given in by_part.items()}
    module = cache.load(_key(net, formulas, engine), lambda: source_text(net, formulas, engine))
    return CompiledNetwork(net, module, engine, by_part)


def place_network(network: CompiledNetwork, starts: Mapping[str, Mapping[str, float]]) -> None:
    """Put every part of a network into its first state."""
    for key, values in starts.items():
        place_start(network.parts[key], values)
    network.refresh()
    network.measure()


def judged(
    net: Network, accounts: np.ndarray, rows: tuple[str, ...], allowance: float | None = None, stopped: str = ""
) -> Verdict:
    """The verdict on the accounts of a network, each row with the allowance of its method or junction.

    A junction may create its share of the largest height of the whole; a clamp its credit.
    """
    whole = float(accounts[-A.ACCOUNT_SIZE + A.A_PEAK])
    links = {c.name: c.through for c in net.connections}
    shares = {key: member.method.allowance_share for key, member in net.members.items()}
    fixed: list[float | None] = []
    for row in rows[:-1]:
        through = links.get(row)
        fixed.append(None if through is None else max(through.allowance, through.allowance_share * whole))
    lent = [*shares.values(), *(through.allowance_share for through in links.values())]
    fixed.append(sum(through.allowance for through in links.values()) + max(lent, default=0.0) * whole)
    part_share = [shares.get(row.split(".", 1)[0], 0.0) for row in rows]
    return judge(accounts, 0, rows, fixed if allowance is None else allowance, stopped, share=part_share)


def split(net: Network, given: Mapping[Any, Any], what: str, known: Any) -> dict[str, dict[str, Any]]:
    """{"part.name": value} as {part: {name: value}}."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what}s are given by name, as in {{'part.name': 0.2}}, not {given!r}")
    result: dict[str, dict[str, Any]] = {key: {} for key in net.members}
    for name, value in given.items():
        if str(name) not in known:
            raise InputError(f"the network has no free {what} {str(name)!r}; {nearest(str(name), known)}")
        part, _, inner = str(name).partition(".")
        result[part][inner] = value
    return result


def _key(net: Network, formulas: Formulas, engine: Engine) -> list:
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
    return ["network", parts, joints, order, observed, laws, engine, things]


def source_text(net: Network, formulas: Formulas, engine: Engine) -> str:
    """Derive, generate, assemble: everything that needs SymPy."""
    from passivo.kernel import module
    from passivo.kernel.source import Layout

    plan = Plan.of(net)
    layout = Layout()
    for name in ("TICK", "STATUS", "FAILED", "ALL_CHANGE", "ALL_WORK", "ALL_LOST", "ALL_BOOKED", "ALL_SCALE"):
        layout.take(name, 1)
    for name in ("COMMON_PERIOD", "TOTAL_COUNT", "TOTAL_WAIT", "TOTAL_EVERY", "TOTAL_CURSOR"):
        layout.take(name, 1)
    layout.take("COMMON_PHASE", 2)
    layout.take("TOTAL_TIME", 2)
    layout.take("TOTAL", A.ACCOUNT_SIZE)
    pieces: dict[str, Piece] = {}
    for key in plan.parts:
        pieces[key] = _part(net, key, formulas[key], layout)
    joints = [_link(connection, link, pieces, layout) for connection, link in zip(net.connections, net.links)]
    rows = sum(piece.numbers["ACCOUNTS_COUNT"] for piece in pieces.values())
    rows += sum(piece.numbers["LINK_ROWS"] for piece in joints) + 1
    size = 1 + rows * A.LEDGER_COLUMNS
    layout.take("TOTAL_REPORT", size)
    own = [m.method.keeps_book for m in net.members.values()] + [c.through.keeps_book for c in net.connections]
    numbers = {**layout.sections, "SIZE": layout.size, "TOTAL_REPORT_SIZE": size, "KEEPS_BOOK": any(own)}
    numbers["EPSILON"] = 2.0**-52
    head = module.Piece(numbers, (), (A.enter, junction.give))
    shared = shared_piece()
    assert not any(shared.numbers.keys() & piece.numbers.keys() for piece in (*pieces.values(), *joints))
    body = [piece.prefixed(plan.parts[key]) for key, piece in pieces.items()]
    body += [piece.prefixed(prefix) for piece, prefix in zip(joints, plan.links.values())]
    tail = module.Piece({}, schedule.texts(net, plan), schedule.TOTAL_KERNELS)
    return module.assemble(net.name, engine, [shared, head, *body, tail], [*schedule.entries(plan), schedule.run])


def _part(net: Network, key: str, laws: Mapping[str, Any], layout: Any) -> Piece:
    """A part with what it needs in a network."""
    from passivo.kernel.module import Piece

    member = net.members[key]
    piece = part_piece(member.model, member.method, laws, layout.size)
    numbers = dict(piece.numbers)
    model, width, stages = member.model, numbers["WIDTH"], numbers["STAGES"]
    free = [f"{key}.{port}" in net.ports for port, p in model.ports.items() for _ in range(p.width)]
    driven = free + [f"{key}.{signal}" in net.signals for signal in model.signals]
    outside = tuple(s * len(driven) + k for s in range(stages) for k, is_free in enumerate(driven) if is_free)
    layout.size = numbers["SIZE"]
    numbers.update(_placed(layout, {"DT": 1, "PHASE": 2, "FEED": 2, "WAIT": 1, "EVERY": 1, "CURSOR": 1}))
    numbers.update(_placed(layout, {"TAKEN": width, "TAKEN_SIZE": width, "MOVED": width}))
    numbers.update(FREE=outside or (0,), FREE_COUNT=len(outside), IS_FREE=tuple(free) or (False,))
    return Piece(numbers, piece.leaves, (*piece.kernels, *schedule.PART_KERNELS))


def row_names(connection: Connection, link: Link) -> tuple[str, ...]:
    """Ledger rows of a connection: itself, and its sensor where that is told apart."""
    name = connection.name
    return (
        (name, f"{name}.sensor")
        if connection.through.senses and not link.opaque and not connection.through.guards
        else (name,)
    )


def _placed(layout: Any, sizes: Mapping[str, int]) -> dict[str, int]:
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
    singles = (*entries, "STORED", "BEYOND", "COUNT", "PERIOD", "WAIT", "EVERY", "CURSOR")
    numbers.update(_placed(layout, {name: sizes[name] for name in ordered}))
    numbers.update(_placed(layout, {f"LINK_{name}": 1 for name in singles}))
    numbers.update(
        _placed(
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
        numbers.update(side_numbers(name, side, places))
        numbers.update({f"{name}_STRIDE": piece["WIDTH"] + piece["SIGNALS"], f"{name}_STAGES": piece["STAGES"]})
        numbers[f"{name}_DT"] = piece["DT"]
    if through.couples:
        piece, model = parts[connection.flow.member.name].numbers, connection.flow.member.model
        assert isinstance(model, Coupled)
        numbers["STIFFNESS"] = piece["PARAM"] + list(model.params).index(f"{link.name}.k")
        numbers["ELONGATION"] = piece["STATE"] + model.states.index(model.elongations_of(link.name)[0])
    hidden = "EFFORT_TAKEN" if link.effort.opaque else "FLOW_TAKEN"
    numbers.update(OPAQUE=link.opaque or through.guards, OPAQUE_TAKEN=numbers[hidden])
    numbers.update(through.numbers(link))
    numbers.update(numbers_of(*dict.fromkeys(sys.modules[kernel.__module__] for kernel in through.kernels)))
    return Piece(numbers, (), (A.enter, *junction.KERNELS, *through.kernels, schedule.link_record))
