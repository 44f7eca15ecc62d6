"""A network compiled: all parts, junctions and the schedule in one flat module and one flat memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, get_args

import numpy as np

from passivo.errors import InputError, StepError, nearest
from passivo.kernel import cache
from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict, judge
from passivo.method.generate import Engine, traced
from passivo.method.part import CompiledPart, checked_allowance, place_start
from passivo.model.feedback import Law
from passivo.model.handle import Handle
from passivo.model.system import Model
from passivo.network.generate import Live, key_of, row_names, source_text
from passivo.network.junction import Link
from passivo.network.network import Connection, Network
from passivo.network.schedule import Plan


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

    def set_up(self, link: Link) -> None:
        """What the junction starts with."""
        for section, values in self.connection.through.setup(link).items():
            self.section(section)[:] = values

    @property
    def accounts(self) -> np.ndarray:
        start = self.number("LINK_ACCOUNT")
        return self.memory[start : start + len(self.rows) * A.ACCOUNT_SIZE]

    @property
    def rows(self) -> tuple[str, ...]:
        """Its ledger rows: the connection, and its sensor where it has one."""
        return row_names(self.connection, self.link)


class CompiledNetwork:
    """All parts of a network in one memory; `parts` and `links` are views of it. Made by `compile_network`."""

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
            self._set(view.NOMINAL, part.dt if member.device is None else 0.0)  # what is measured has no pieces
            self._set(view.PIECES, 1.0)
            self._set(view.PHASE + 1, net.periods[key])
            self.parts[key] = part
        self.links = {
            c.name: CompiledLink(c, link, module, self.plan.links[c.name], self.memory)
            for c, link in zip(net.connections, net.links)
        }
        for link in self.links.values():
            self._set(link.number("LINK_PERIOD"), link.link.seconds)
            self._set(link.number("PHASE") + 1, link.link.period)
            link.set_up(link.link)
        self._set(module.COMMON_PERIOD, net.common * float(net.tick))
        self._set(module.COMMON_PHASE + 1, net.common)
        self.half_at(1)
        self.refresh()

    def _set(self, at: int, value: float) -> None:
        self.memory[at] = value

    def refresh(self) -> None:
        with np.errstate(all="ignore"):
            self.module.refresh(self.memory)

    def set_up(self, models: Mapping[str, Model]) -> None:
        """Junctions anew that take something from a model whose parameters were changed."""
        for link in self.links.values():
            if link.connection.through.follows_model:
                name = link.connection.effort.member.name
                effort = replace(link.link.effort, model=models[name])
                link.set_up(replace(link.link, effort=effort))

    def set(self, params: Mapping[str, float]) -> None:
        """Change parameters ("part.name"); the energy this adds or takes is booked as `edited`, in the total too."""
        for key, given in split(self.net, params, "parameter", self.net.params).items():
            if given:
                part = self.parts[key]
                before = part.stored
                part.set(**given)
                A.add(self.memory, self.module.TOTAL + A.A_EDITED, part.stored - before)
        self.set_up({key: part.model.with_params(**part.params) for key, part in self.parts.items()})
        self.refresh()
        self.measure()

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
        part = self.parts[key]
        error = part.failure(int(self.memory[self.module.STATUS]))
        error = error.with_hint(part.model.hint(error.state, part.dt))
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
    live: Live | None = None,
) -> CompiledNetwork:
    """Compile a network; `start` and `laws` name states and ports as "part.name"; `live` is what a loop adds."""
    starts = split(net, start or {}, "state", [*net.states, *net.vectors])
    network = unplaced_network(net, laws, engine, live)
    network.allowance = checked_allowance(allowance)
    place_network(network, starts)
    return network


def unplaced_network(
    net: Network, laws: Mapping[str, Law] | None = None, engine: Engine = "numba", live: Live | None = None
) -> CompiledNetwork:
    """A compiled network that was not put into its first state yet."""
    if engine not in get_args(Engine):
        raise InputError(f"there is no engine {engine!r}; {nearest(str(engine), get_args(Engine))}")
    devices = [key for key, member in net.members.items() if member.device is not None]
    if devices and live is None:
        raise InputError(
            f"{devices[0]!r} is a device, which only a loop can move: pv.Loop(net).run(seconds=10); without a device "
            "take pv.library.device() as a part"
        )
    net.check()
    by_part = split(net, laws or {}, "port", net.ports)
    formulas = {key: traced(net.members[key].model, given) for key, given in by_part.items()}
    module = cache.load(key_of(net, formulas, engine, live), lambda: source_text(net, formulas, engine, live))
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

    A junction may create its share of the largest height of the whole; a clamp its credit. A real handle stores what it
    receives, which is less than nothing where a hand pushes: beside one, the whole is at least its highest other part.
    """
    whole = float(accounts[-A.ACCOUNT_SIZE + A.A_PEAK])
    handles = {key for key, member in net.members.items() if isinstance(member.base, Handle)}
    if handles:
        owners = [row.split(".", 1)[0] for row in rows[:-1]]
        others = [i for i, key in enumerate(owners) if key in net.members and key not in handles]
        whole = max([whole, *(float(accounts[i * A.ACCOUNT_SIZE + A.A_PEAK]) for i in others)])
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
