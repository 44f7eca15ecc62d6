"""`Touch`: a scenario against the clock, with a real device (or a `Sim`) in place of the part that stands for it.

scenario = pv.Scenario.load("wall")
with StandIn.of(scenario).sim() as device:
    felt = Touch(scenario, device).run(seconds=10)
    print(felt)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.device.device import Device
from passivo.errors import InputError, quoted
from passivo.loop.felt import Felt
from passivo.loop.loop import Clock, Loop
from passivo.loop.report import LoopReport
from passivo.loop.safety import Safety
from passivo.method.generate import Engine
from passivo.model import library
from passivo.model.expression import evaluate
from passivo.model.rendering import Rendering
from passivo.network.direct import Direct
from passivo.network.ledger_clamp import LedgerClamp
from passivo.network.network import Connection, Member, Network, Sight
from passivo.run import operators
from passivo.scenario.scenario import Scenario

if TYPE_CHECKING:
    from passivo.device.sim import Sim

PORT, HAND, PLACE, MOMENTUM = "handle", "hand", "q", "p"  # of the library's `device`
USUAL_AXIS = "z"  # of a device with several


@dataclass(frozen=True)
class StandIn:
    """The part of a scenario that stands for the device: the one whose model is the library's `device`."""

    scenario: Scenario
    member: Member
    connection: Connection  # at its handle

    @classmethod
    def of(cls, scenario: Scenario) -> StandIn:
        """Find it; raise where there is none, or more than one, or where it cannot be replaced."""
        net = scenario.model
        if not isinstance(net, Network):
            raise InputError(
                f"{scenario.name} is one system, and nothing in it stands for a device; touch takes a network with a "
                "part 'system: {library: device}', such as the scenarios wall and object"
            )
        found = [member for member in net.members.values() if _is_device(member)]
        if not found:
            raise InputError(
                f"no part of {scenario.name} stands for the device ({', '.join(net.members)}); make the handle a part "
                "with 'system: {library: device}', connected at its port handle through a LedgerClamp"
            )
        if len(found) > 1:
            names = " and ".join(member.name for member in found)
            raise InputError(f"{names} of {scenario.name} all stand for a device; touch takes a scenario with one")
        return cls(scenario, found[0], _held(scenario, net, found[0]))

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def clamp(self) -> LedgerClamp:
        """The clamp in front of it, without what belongs to the simulated sensor."""
        through = self.connection.through
        given = through if isinstance(through, LedgerClamp) else LedgerClamp()
        return replace(given, encoder=0.0, delay=0, jitter=0.0, dropped=0.0)

    @property
    def start(self) -> float:
        """Where its handle begins, m."""
        lowest: Any = self.member.model.minimum
        return float(self.scenario.start.get(f"{self.name}.{PLACE}", lowest[PLACE]))

    @property
    def push(self) -> Any:
        """What the hand does in the scenario: newtons, or a function of t."""
        given = self.scenario.inputs.get(f"{self.name}.{HAND}", 0.0)
        if isinstance(given, str):
            return lambda t: float(evaluate(given, {"t": float(t)}))
        if not isinstance(given, int | float):
            raise InputError(f"a touch takes {self.name}.{HAND} as a number or a formula of t, not {quoted(given)}")
        return float(given)

    def sim(self, seed: int = 0, engine: Engine = "numba") -> Sim:
        """A simulated device with the numbers of the scenario: its mass, damping, encoder, step, start and hand."""
        from passivo.device.sim import Sim

        if self.scenario.start.get(f"{self.name}.{MOMENTUM}"):
            raise InputError(f"a simulated device starts at rest; take {self.name}.{MOMENTUM} out of the start")
        params, through = self.member.model.params, self.connection.through
        senses: dict[str, Any] = {"encoder": 0.0}
        if isinstance(through, LedgerClamp):
            (encoder,) = through.resolutions()
            senses = {"encoder": encoder, "delay": through.delay, "jitter": through.jitter, "dropped": through.dropped}
        rate = Fraction(1) / self.member.step
        return Sim(
            mass=params["m"], damping=params["b"], operator=operators.push(self.push), start=self.start,
            rate=float(rate), seed=seed, name=self.name, engine=engine, **senses,
        )  # fmt: skip


def _is_device(member: Member) -> bool:
    model, usual = member.base, library.device()
    return set(model.params) == set(usual.params) and model.with_params(**usual.params).describe() == usual.describe()


def _held(scenario: Scenario, net: Network, member: Member) -> Connection:
    """The connection at the handle; nothing else may be joined to the part."""
    found = {port: c for c in net.connections for port in (PORT, HAND) if f"{member.name}.{port}" in c.named}
    if HAND in found:
        raise InputError(
            f"{found[HAND].name!r} joins {member.name}.{HAND} to a part of {scenario.name}, but a hand is there now; "
            f"drive it by 'inputs: {{{member.name}.{HAND}: ...}}' instead"
        )
    if PORT not in found:
        raise InputError(
            f"{member.name}.{PORT} of {scenario.name} is connected to nothing, so there is nothing to touch; connect "
            "it through a LedgerClamp"
        )
    if not isinstance(found[PORT].through, LedgerClamp | Direct):
        raise InputError(
            f"a device is touched through a LedgerClamp, not {type(found[PORT].through).__name__}, at "
            f"{found[PORT].name!r}; put the other junction between the parts behind it"
        )
    return found[PORT]


class Touch:
    """A scenario with `device` (which is open) where its stand-in was.

    safety  limits of the loop, see `Safety`

    A real device is wherever its hand holds it: what the scenario shows of the stand-in's position counts from there,
    so that it begins where the scenario starts. `Touch.offset` is what is added to the device's positions, in m.
    """

    def __init__(
        self,
        scenario: Scenario,
        device: Device,
        safety: Safety | None = None,
        *,
        clock: Clock = "real",
        engine: Engine = "numba",
    ):
        self.scenario, self.device, self.stand_in = scenario, device, StandIn.of(scenario)
        self.simulated = device.driver == "sim"
        if device.wanted_axes is None and len(device.info.axes) > 1:
            device.wanted_axes = USUAL_AXIS if USUAL_AXIS in device.info.axes else device.info.axes[:1]
        if len(device.axes) != 1:
            raise InputError(f"{scenario.name} has one axis, not {len(device.axes)}; choose one of {device.info.model}")
        self.offset = 0.0 if self.simulated else self.stand_in.start - self._here()
        self.net = self._network()
        own = f"{self.stand_in.name}."
        others = lambda given: {key: value for key, value in given.items() if not key.startswith(own)}  # noqa: E731
        self.loop = Loop(
            self.net, safety=safety, start=others(scenario.start), inputs=others(scenario.inputs), clock=clock,
            engine=engine,
        )  # fmt: skip

    def _here(self) -> float:
        state = self.device.wait_tick() if self.device.info.owns_clock else self.device.read()
        return float(state.position[self.device.indices[0]])

    def _network(self) -> Network:
        """The scenario's network around the device."""
        whole, stand_in = self.scenario.model, self.stand_in
        assert isinstance(whole, Network)
        net = Network(whole.name)
        for key, member in whole.members.items():
            if member is not stand_in.member:
                net.add(key, member.base, member.method, step=member.step)  # type: ignore[arg-type]
        end = lambda name: self._end(net, name)  # noqa: E731
        for c in whole.connections:
            one, other = (end(name) for name in c.named)
            net.connect(one, other, self._clamp() if c is stand_in.connection else c.through, c.name)
        for signal, shown in whole.observed.items():
            for sight in shown:
                net.observe(end(str(sight.source)), net.end(signal), **self._options(sight), add=True)
        return net

    def _end(self, net: Network, name: str) -> Any:
        part, _, inner = name.partition(".")
        if part != self.stand_in.name:
            return net.end(name)
        if inner == MOMENTUM:
            raise InputError(f"a device tells where it is, not its momentum; observe {part}.{PLACE}, not {name}")
        return self.device["position" if inner == PLACE else inner]

    def _clamp(self) -> LedgerClamp:
        """The scenario's clamp; of a real device, mass and encoder are known better than there."""
        return self.stand_in.clamp if self.simulated else replace(self.stand_in.clamp, mass=None)

    def _options(self, sight: Sight) -> dict[str, Any]:
        """What is shown of a device is what its sensor sees: there is nothing to look through."""
        options: dict[str, Any] = {name: getattr(sight, name) for name in ("scale", "offset", "resolution", "through")}
        if sight.source.member is self.stand_in.member:
            options["through"] = ""
            if sight.source.name == PLACE:
                options["offset"] += sight.scale * self.offset
        return options

    @property
    def wall(self) -> Rendering | None:
        """The wall at the handle, if it is the library's and of known stiffness."""
        model = self.stand_in.connection.flow.member.model
        if isinstance(model, Rendering) and model.signals == ("depth",) and model.law == library.wall().law:
            return model
        return None

    def run(self, seconds: float | None = None, record: str | PathLike | None = None) -> Touched:
        """Against the clock for so many seconds, or until Ctrl-C."""
        return Touched(self, self.loop.run(seconds, record))


class Touched(Felt):
    """What was felt in a `touch`; where a wall stands at the handle, also how deep in it."""

    def __init__(self, touch: Touch, report: LoopReport):
        super().__init__(report, touch.stand_in.name, touch.device.indices[0], touch.offset)
        self.touch = touch

    @property
    def surface(self) -> float | None:
        """Where the wall begins, as a position."""
        if self.touch.wall is None:
            return None
        near, far = self.position[0], self.depth[0]
        shown = self._shown
        scale = sum(s.scale for s in shown) if shown else 1.0
        return float(near - far / scale) if scale else 0.0

    @property
    def caption(self) -> str:
        device = self.touch.device
        return f"{self.touch.scenario.name} · {device.info.model}, axis {device.axes[0]}"

    @property
    def penetration(self) -> float | None:
        """Mean depth in the wall, where there is one."""
        return self.mean(np.maximum(self.depth, 0.0)) if self.touch.wall is not None else None

    @cached_property
    def depth(self) -> np.ndarray:
        """The handle's position as the wall sees it."""
        place = self.position - self.touch.offset
        return sum((s.scale * place + s.offset for s in self._shown), np.zeros_like(self.time))

    @property
    def _shown(self) -> tuple[Sight, ...]:
        wall = self.touch.stand_in.connection.flow.member.name
        return self.touch.net.observed.get(f"{wall}.depth", ())

    @property
    def static(self) -> float | None:
        """How deep a spring of the wall's stiffness is pressed by the mean force."""
        wall = self.touch.wall
        return abs(self.mean(self.force)) / wall.params["k"] if wall is not None and wall.params["k"] else None

    @property
    def lines(self) -> list[str]:
        lines = super().lines
        if len(self.late_half) and self.penetration is not None and self.static:
            deep, still = 1e3 * self.penetration, 1e3 * self.static
            told = f"{deep / still:.2f} times the static one (mean force/k = {still:.3g} mm)"
            lines.append(f"Mean penetration {deep:.3g} mm, {told}.")
        return lines

    def data(self) -> dict[str, Any]:
        return {**super().data(), "mean_penetration": self.penetration, "static_penetration": self.static}
