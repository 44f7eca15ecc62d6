"""`Network`: parts with methods and steps of their own, joined through junctions. Description, checked as it grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, isfinite, lcm
from types import MappingProxyType
from typing import Any

from passivo.errors import InputError, ModelError, nearest, quoted
from passivo.method.base import Method
from passivo.method.catalogue import method_from
from passivo.method.part import checked_method, seconds
from passivo.model.expression import RESERVED
from passivo.model.ports import Port
from passivo.model.system import Model, checked_name
from passivo.network.catalogue import junction_from
from passivo.network.direct import Direct
from passivo.network.junction import Junction, Link, Side
from passivo.world.describe import model_from

LONGEST_PERIOD = 10**6  # ticks after which all parts must have met


@dataclass(frozen=True)
class End:
    """A port, signal or state of a member: what `connect` and `observe` take."""

    member: Member
    name: str

    def __str__(self) -> str:
        return f"{self.member.name}.{self.name}"


@dataclass(eq=False)
class Member:
    """A part of a network: `member["force"]` is its port (or signal, or state).

    `model` is the `base` that was added, with the springs of couplings at its ports. The handle of a real device, which
    knows its own method and step, carries that `device`, and joins a network when it is first connected or observed.
    """

    name: str
    base: Model
    method: Method
    step: Fraction
    device: Any = None

    def __post_init__(self) -> None:
        self.model = self.base

    def __getitem__(self, name: str) -> End:
        known = [*self.model.ports, *self.model.signals, *self.model.states]
        if str(name) not in known:
            raise InputError(f"part {self.name!r} has no port, signal or state {quoted(name)}; {nearest(name, known)}")
        return End(self, str(name))


@dataclass(frozen=True)
class Connection:
    """Two ports and what joins them; `named` are the ports as they were given, which a coupling changes."""

    name: str
    effort: End
    flow: End
    through: Junction
    named: tuple[str, str]


@dataclass(frozen=True)
class Sight:
    """What a signal shows of an end: `scale * value + offset`; the value is seen to `resolution`, if that is not 0."""

    source: End
    scale: float = 1.0
    offset: float = 0.0
    resolution: float = 0.0
    through: str = ""

    def describe(self) -> list[Any]:
        options = ("scale", "offset", "resolution", "through")
        return [str(self.source), {name: getattr(self, name) for name in options}]


class Network:
    """Parts that step at their own rates and exchange power through junctions, signals through `observe`.

        net = pv.Network()
        spring = net.add("spring", pv.library.spring(k=400.0), pv.AVF(), step=1e-3)
        mass = net.add("mass", pv.library.mass(m=0.2), pv.AVF(), step=2e-3)
        net.connect(spring["end"], mass["force"], through=pv.PassiveSampleHold(), name="link")
        run = pv.simulate(net, until=60.0, start={"spring.q": 0.2})

    States, parameters, ports that are not connected and signals that nothing is observed by are called "part.name".
    """

    def __init__(self, name: str = "network"):
        self.name = checked_name(name, "the network's name")
        self.members: dict[str, Member] = {}
        self.connections: list[Connection] = []
        self.observed: dict[str, tuple[Sight, ...]] = {}  # signal "part.name" -> what it shows the sum of

    # -- building ---------------------------------------------------------------------------------------------------

    def add(self, name: str, model: Model, method: Method | None = None, *, step: float) -> Member:
        """A new part; a model without states needs no method."""
        name = self._new_name(name)
        if not isinstance(model, Model):
            raise ModelError(f"part {name!r} must be a System, not {quoted(model)}")
        chosen = checked_method(model, method)
        self.members[name] = Member(name, model.snapshot(), chosen, seconds(step, f"the step of part {name!r}"))
        return self.members[name]

    def _new_name(self, name: str) -> str:
        name = checked_name(name, "the part's name")
        if name in self._titles:
            raise InputError(f"the network already has a part or connection {name!r}; choose another name")
        return name

    def connect(self, a: End, b: End, through: Junction | None = None, name: str | None = None) -> None:
        """Join an effort port and a flow port of equal width; the order of the two makes no difference."""
        junction = Direct() if through is None else through
        if not isinstance(junction, Junction):
            hint = f"write {junction.__name__}()" if isinstance(junction, type) else "such as pv.PassiveSampleHold()"
            raise InputError(f"through takes a junction, not {quoted(junction)}; {hint}")
        ends = [self._end(end, "connect") for end in (a, b)]
        for end in ends:
            if end.name not in end.member.model.ports:
                raise InputError(
                    f"{str(end)!r} is no port; {nearest(end.name, end.member.model.ports)} (observe joins signals)"
                )
            if any(end in (link.effort, link.flow) for link in self.connections) or a == b:
                raise InputError(f"port {str(end)!r} is connected twice; give the part a second port for it")
        ports = [end.member.model.ports[end.name] for end in ends]
        couples = junction.couples and ports[0].kind == ports[1].kind == "effort"
        if junction.couples and not couples:
            raise InputError(
                f"a VirtualCoupling is a spring between two effort ports, but '{a}' and '{b}' are not both"
            )
        if ports[0].kind == ports[1].kind and not couples:
            kind, between = ports[0].kind, "spring" if ports[0].kind == "effort" else "mass"
            raise InputError(
                f"'{a}' and '{b}' are both {kind} ports; a connection joins an effort port and a flow port: "
                f"put a {between} between them, or compose the parts with pv.Monolithic"
            )
        if ports[0].width != ports[1].width:
            raise InputError(f"'{a}' is {ports[0].width} wide and '{b}' is {ports[1].width} wide; widths must be equal")
        if couples:  # the device is the faster one, or the one that was added first
            order = list(self.members)
            effort, flow = sorted(ends, key=lambda end: (end.member.step, order.index(end.member.name)))
        else:
            effort, flow = ends if ports[0].kind == "effort" else ends[::-1]
        title = f"{flow}-{effort}" if name is None else checked_name(name, "the connection's name")
        if title in self._titles or title in RESERVED or not title:
            raise InputError(f"the connection's name {quoted(title)} is taken, reserved or empty; choose another")
        if couples and title in (*flow.member.model.ports, *flow.member.model.signals, *flow.member.model.states):
            raise InputError(f"part {flow.member.name!r} has a {title!r} already; give the coupling another name")
        named, before = (str(effort), str(flow)), flow.member.model
        if couples:
            flow.member.model = before.coupled(flow.name, title, junction.k, junction.turning)  # type: ignore[attr-defined]
            flow = End(flow.member, title)
        connection = Connection(title, effort, flow, junction, named)
        try:
            junction.check(_link(connection, _common([effort.member.step, flow.member.step])))
        except InputError:
            flow.member.model = before
            raise
        self.connections.append(connection)

    def observe(
        self,
        source: End,
        signal: End,
        *,
        scale: float = 1.0,
        offset: float = 0.0,
        resolution: float = 0.0,
        through: str = "",
        add: bool = False,
    ) -> None:
        """Let a signal show a state of another part (or, by the name of a port one wide, its output); no power.

        scale, offset  the signal is scale * value + offset
        resolution     the value is seen in whole multiples of it, as through an encoder; 0: as it is
        through        the name of a connection that samples a device: the value is the device's position (by the name
                       of the port: its velocity) as the sensor sees it, with encoder, delay, jitter and losses
        add            add it to what the signal already shows, as for the distance of two positions
        """
        source, signal = self._end(source, "observe"), self._end(signal, "observe")
        if signal.name not in signal.member.model.signals:
            raise InputError(f"'{signal}' is no signal; {nearest(signal.name, signal.member.model.signals)}")
        if source.name in source.member.model.signals:
            raise InputError(f"'{source}' is a signal itself; observe a state or a port of {source.member.name!r}")
        if source.name in source.member.model.ports and source.member.model.ports[source.name].width != 1:
            raise InputError(f"port '{source}' is wide; observe a state instead")
        for name, value in (("scale", scale), ("offset", offset), ("resolution", resolution)):
            if not isinstance(value, int | float) or not isfinite(value) or (name == "resolution" and value < 0):
                raise InputError(f"observe's {name} must be a finite number, not {value!r}")
        shown = self.observed.get(str(signal), ())
        if shown and not add:
            raise InputError(f"signal '{signal}' already shows '{shown[0].source}'; say add=True to show their sum")
        if through:
            self._check_sensor(source, signal, through)
        sight = Sight(source, float(scale), float(offset), float(resolution), through)
        self.observed[str(signal)] = (*shown, sight)

    def _show(self, signal: str, described: Sequence[Sequence[Any]]) -> None:
        for source, options in described:
            self.observe(self.end(source), self.end(signal), **options, add=True)

    def _check_sensor(self, source: End, signal: End, through: str) -> None:
        """A program sees its own device, one wide, through the junction between them."""
        found = {connection.name: connection for connection in self.connections}
        if through not in found:
            raise InputError(f"there is no connection {quoted(through)} to see through; {nearest(str(through), found)}")
        link = found[through]
        if not link.through.samples:
            raise InputError(f"{through!r} is a {type(link.through).__name__}, which has no sensor; leave out through=")
        if source.member is not link.effort.member or signal.member is not link.flow.member:
            raise InputError(
                f"through {through!r} the part {link.flow.member.name!r} sees {link.effort.member.name!r}, "
                f"but '{signal}' would show '{source}'"
            )
        if source.member.model.ports[link.effort.name].width != 1:
            raise InputError(f"'{link.effort}' is wide; seen through a sensor it must be one wide")
        if source.name not in (link.effort.name, *source.member.model.positions):
            known = [link.effort.name, *source.member.model.positions]
            raise InputError(f"the sensor of {through!r} does not see {source.name!r}; {nearest(source.name, known)}")

    def _end(self, end: Any, verb: str) -> End:
        if not isinstance(end, End):
            raise InputError(f"{verb} takes ends such as part['force'], not {quoted(end)}")
        if self.members.get(end.member.name) is end.member:
            return end
        if end.member.device is None:
            raise InputError(f"'{end}' belongs to another network; use a part that this one's add(...) returned")
        self.members[self._new_name(end.member.name)] = end.member
        return end

    @property
    def _titles(self) -> list[str]:
        return [*self.members, *(connection.name for connection in self.connections)]

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def ports(self) -> dict[str, Port]:
        """The external ports: those that are not connected."""
        joined = {str(end) for link in self.connections for end in (link.effort, link.flow)}
        every = {f"{key}.{p}": port for key, member in self.members.items() for p, port in member.model.ports.items()}
        return {name: port for name, port in every.items() if name not in joined}

    @property
    def signals(self) -> list[str]:
        """The signals that show nothing yet: they are driven from outside."""
        every = [f"{key}.{signal}" for key, member in self.members.items() for signal in member.model.signals]
        return [name for name in every if name not in self.observed]

    @property
    def states(self) -> list[str]:
        return [f"{key}.{state}" for key, member in self.members.items() for state in member.model.states]

    @property
    def vectors(self) -> list[str]:
        """Names for several states together."""
        return [f"{key}.{vector}" for key, member in self.members.items() for vector in member.model.vectors]

    @property
    def params(self) -> dict[str, float]:
        return {f"{key}.{p}": value for key, member in self.members.items() for p, value in member.model.params.items()}

    @property
    def minimum(self) -> dict[str, float]:
        """Where the parts start unless told otherwise."""
        lowest = {key: member.model.initial or {} for key, member in self.members.items()}
        return {f"{key}.{name}": value for key, values in lowest.items() for name, value in values.items()}

    @property
    def tick(self) -> Fraction:
        """The longest time of which all steps are whole multiples, in seconds."""
        steps = [member.step for member in self.members.values()]
        if not steps:
            raise InputError("the network has no parts; add one with net.add(name, model, method, step=...)")
        return _common(steps)

    @property
    def periods(self) -> dict[str, int]:
        """The step of each part in ticks."""
        return {key: int(member.step / self.tick) for key, member in self.members.items()}

    @property
    def common(self) -> int:
        """Ticks after which all parts have met again."""
        return lcm(*self.periods.values())

    @property
    def links(self) -> list[Link]:
        return [_link(c, self.tick) for c in self.connections]

    def check(self) -> None:
        """Raise unless the rates meet in time."""
        if self.common > LONGEST_PERIOD:
            steps = ", ".join(f"{key} {float(member.step):g} s" for key, member in self.members.items())
            raise InputError(
                f"the parts meet only every {self.common} ticks of {float(self.tick):g} s ({steps}), "
                f"more than {LONGEST_PERIOD}; choose steps with small whole ratios"
            )

    def with_params(self, **params: float) -> Network:
        """The same network with other parameter values ("part.name"), checked."""
        changes: dict[str, dict[str, float]] = {}
        for name, value in params.items():
            if name not in self.params:
                raise ModelError(f"the network has no parameter {quoted(name)}; {nearest(name, self.params)}")
            part, _, inner = name.partition(".")
            changes.setdefault(part, {})[inner] = value
        models, through = {}, {}
        couplings = {c.name: c for c in self.connections if c.through.couples}
        for key, given in changes.items():
            for link, connection in couplings.items():
                own = {what: given.pop(f"{link}.{what}") for what in ("k", "turning") if f"{link}.{what}" in given}
                if own:
                    through[link] = replace(connection.through, **own)
            models[key] = self.members[key].base.with_params(**given)
        return self.rebuilt(models, through=through)

    def rebuilt(
        self,
        models: Mapping[str, Model] = MappingProxyType({}),
        methods: Mapping[str, Method] = MappingProxyType({}),
        steps: Mapping[str, float] = MappingProxyType({}),
        through: Mapping[str, Junction] = MappingProxyType({}),
    ) -> Network:
        """The same network with other models, methods, steps (by part) or junctions (by connection) in it."""
        twin = Network(self.name)
        for key, member in self.members.items():
            model, method, step = models.get(key, member.base), methods.get(key, member.method), steps.get(key)
            twin.add(key, model, method, step=member.step if step is None else step)  # type: ignore[arg-type]
            twin.members[key].device = member.device
        for c in self.connections:
            ends = (twin.end(name) for name in c.named)
            twin.connect(*ends, through=through.get(c.name, c.through), name=c.name)
        for signal, shown in self.observed.items():
            twin._show(signal, [sight.describe() for sight in shown])
        return twin

    def end(self, name: str) -> End:
        """The end called "part.name"."""
        part, _, inner = name.partition(".")
        if part not in self.members:
            raise InputError(f"the network has no part {quoted(part)}; {nearest(part, self.members)}")
        return self.members[part][inner]

    def describe(self) -> dict[str, Any]:
        """Everything the network is, as plain data."""
        return {
            "kind": "Network",
            "name": self.name,
            "parts": {
                key: {"model": member.base.describe(), "method": member.method.describe(), "step": str(member.step)}
                for key, member in self.members.items()
            },
            "connections": [[c.name, *c.named, c.through.describe()] for c in self.connections],
            "observed": {signal: [sight.describe() for sight in shown] for signal, shown in self.observed.items()},
        }

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> Network:
        """The network that `describe()` described."""
        net = cls(data["name"])
        for key, part in data["parts"].items():
            method = method_from(part["method"])
            net.add(key, model_from(part["model"]), method, step=Fraction(part["step"]))  # type: ignore[arg-type]
        for name, one, other, through in data["connections"]:
            net.connect(net.end(one), net.end(other), junction_from(through), name)
        for signal, shown in data["observed"].items():
            net._show(signal, shown)
        return net

    def __repr__(self) -> str:
        joined = [f"{c.flow} - {type(c.through).__name__} - {c.effort}" for c in self.connections]
        return f"Network({self.name!r}, parts={list(self.members)}, connections={joined})"


def _common(steps: list[Fraction]) -> Fraction:
    """The greatest common divisor of fractions."""
    bottom = lcm(*(s.denominator for s in steps))
    return Fraction(gcd(*(int(s * bottom) for s in steps)), bottom)


def _link(connection: Connection, tick: Fraction) -> Link:
    """What a junction may know of a connection."""
    sides = [
        Side(
            port=str(end),
            kind=port.kind,
            width=port.width,
            period=int(end.member.step / tick),
            method=end.member.method,
            model=end.member.model,
            opaque=end.member.model.opaque,
            coupled=connection.through.couples and end is connection.flow,
        )
        for end in (connection.effort, connection.flow)
        for port in (end.member.model.ports[end.name],)
    ]
    return Link(connection.name, sides[0], sides[1], float(tick))
