"""How stiff a wall can be rendered: the Z-width of a device, by scheme and in the hands of operators (spec 1.9).

A device starts at rest `approach` metres before a wall, an operator presses it against the wall and holds it there.
The wall is rendered where, in the last quarter of the run,

    quiet      the rms speed is at most 5 mm/s, and the rms of the force about its mean at most 5 % of the static force
    in place   the mean depth is 0.5 to 2 times the static one, (F + k_h q_h)/(k + k_h)

and the stiffness that is told is the largest up to which every wall of a grid is rendered. 5 % is below the least
change of a force that people notice, about 7 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite, log10
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, StepError, nearest, quoted
from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.exact_hold import ExactHold
from passivo.method.generate import Engine
from passivo.method.one_stage import AVF
from passivo.model.feedback import Feedback, Law
from passivo.model.library.mechanics import unilateral_spring
from passivo.model.ports import flow
from passivo.model.rendering import Rendering
from passivo.network.compiled import compile_network
from passivo.network.junction import Junction
from passivo.network.ledger_clamp import LedgerClamp
from passivo.network.network import Network
from passivo.network.passivity_controller import PassivityController
from passivo.network.sampler import PassiveSampler
from passivo.run.operators import Attack, Operator, adversary, hand, push
from passivo.run.record import whole_steps

if TYPE_CHECKING:
    import xarray as xr

SPEED = 5e-3  # m/s, rms
RIPPLE = 0.05  # rms of the force as a share of the static force
WILD = 100.0  # m/s, rms: beyond, a wall does not vibrate but explode
SHALLOW, DEEP = 0.5, 2.0  # depth as a share of the static one
PER_DECADE, MAP_PER_DECADE = 10, 6  # walls of a grid
MAP_DAMPINGS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # N s/m
MAP_PIECES = 20  # a map takes as long as so many searches for the stiffest wall
CLOSE = 1.02  # ratio of a wall that is not rendered to one that is, at which the search between them ends
LONGEST = 10**7  # samples of one touch
GAP = 5  # periods after which the watchdog of a device that loses samples cuts the force
RUBBING = 1e-3  # m/s, the speed at which friction is fully there
RUB_STEPS = 4  # steps of a device with friction in a sample

Advance = Callable[[str, float, float], None]  # what comes now, how much is done, how much in all


@dataclass(frozen=True)
class DeviceModel:
    """A haptic device of one degree of freedom and the sensor it is read through, in SI units.

    mass      felt at the handle, > 0
    damping   of the device itself
    friction  Coulomb friction: a force against the motion
    encoder   step of the position sensor; 0 for an ideal one
    delay     whole samples by which positions come late
    jitter    of the instant of sampling, as a share of the period
    dropped   share of the samples that are lost
    """

    mass: float
    damping: float = 2.0
    friction: float = 0.0
    encoder: float = 1e-6
    delay: int = 0
    jitter: float = 0.0
    dropped: float = 0.0

    def __post_init__(self) -> None:
        if not _is_number(self.mass) or not self.mass > 0:
            raise InputError(f"a device needs a mass > 0 (kg), not {self.mass!r}")
        for name in ("damping", "friction"):
            value = getattr(self, name)
            if not _is_number(value) or not value >= 0:
                raise InputError(f"the {name} of a device must be a number >= 0, not {value!r}")
        PassivityController(**self.sensor(0))  # checks the others

    def sensor(self, seed: int) -> dict[str, Any]:
        """The options of a sampled junction."""
        return {name: getattr(self, name) for name in ("encoder", "delay", "jitter", "dropped")} | {"seed": seed}


@dataclass(frozen=True)
class Scheme:
    """A way to render a wall: the junction at the device's port, and what is behind it.

    `spring`: an energy-consistent spring, which has no damping; else the law of the wall at the sampled position.
    """

    about: str
    junction: Callable[[DeviceModel, float, int], Junction]  # of device, rate and seed
    spring: bool = False


def _controlled(kind: str) -> Callable[[DeviceModel, float, int], Junction]:
    return lambda device, rate, seed: PassivityController(kind=kind, mass=device.mass, **device.sensor(seed))


def _sampled(device: DeviceModel, rate: float, seed: int) -> Junction:
    return PassiveSampler(**device.sensor(seed))


def _clamped(device: DeviceModel, rate: float, seed: int) -> Junction:
    """The defaults are for a hand of 20 N and damping; friction acts too, and where samples are lost forces last."""
    bound = LedgerClamp.hand
    assert isinstance(bound, float)
    lossy: dict[str, Any] = {"longest": GAP / rate, "watchdog": True} if device.dropped else {}
    return LedgerClamp(mass=device.mass, hand=bound + device.friction, **lossy, **device.sensor(seed))


SCHEMES = {
    "plain": Scheme("the law at the sampled position, held: what most programs do", _controlled("none")),
    "pcdc": Scheme("PassiveSampler and an energy-consistent spring", _sampled, spring=True),
    "popc": Scheme("PassivityController, classic", _controlled("classic")),
    "popc-exact": Scheme("PassivityController with the exact energy of the hold", _controlled("exact")),
    "popc-capped": Scheme("the same with its damping limited to mass/T", _controlled("capped")),
    "clamp": Scheme("LedgerClamp with the recommended values", _clamped),
}
USUAL = ("plain", "pcdc", "popc", "clamp")


def usual_operators() -> dict[str, Operator]:
    """A force of 5 N, and hands of 0.2 kg and 400 N/m with damping 2, 10 and 30 N s/m that push with it."""
    hands = {f"hand {damping:g}": hand(damping=damping, force=5.0) for damping in (2.0, 10.0, 30.0)}
    return {"push 5 N": push(5.0), **hands}


# -- what was found ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Touch:
    """One wall, touched once. `depth` is the mean depth by the static one, `ripple` by the static force."""

    stiffness: float
    damping: float
    speed: float
    ripple: float
    depth: float

    @property
    def quiet(self) -> bool:
        return self.speed <= SPEED and self.ripple <= RIPPLE

    @property
    def rendered(self) -> bool:
        return self.quiet and SHALLOW <= self.depth <= DEEP

    @property
    def fault(self) -> str:
        """Why the wall is not rendered, in a word."""
        if self.rendered:
            return ""
        if not self.speed < WILD:
            return "explodes"
        return "vibrates" if not self.quiet else "sinks" if self.depth > DEEP else "repels"


@dataclass(frozen=True)
class Reach:
    """The stiffest wall that a scheme renders for an operator, all softer ones included.

    stiffness  N/m; 0 where not even the softest wall of the grid is rendered
    beyond     the first wall that is not; None where the whole grid is rendered
    touches    all walls that were tried, from soft to stiff
    """

    stiffness: float
    beyond: Touch | None
    touches: tuple[Touch, ...]


@dataclass(frozen=True)
class ZMap:
    """How many operators find each wall rendered: scheme -> (damping, stiffness); −1 where it does not apply."""

    stiffnesses: np.ndarray
    dampings: np.ndarray
    rendered: Mapping[str, np.ndarray]
    operators: tuple[str, ...]
    limit: np.ndarray  # Colgate's limit of the device for each damping

    def plot(self, path: str | PathLike | None = None) -> Any:
        """One picture for each scheme over stiffness and damping; written to `path`, and returned."""
        from passivo.run.plot_zwidth import plot_map

        return plot_map(self, path)

    def columns(self) -> dict[str, np.ndarray]:
        """The map as a table: one row for each wall."""
        stiffness, damping = np.meshgrid(self.stiffnesses, self.dampings)
        walls = {"stiffness [N/m]": stiffness.ravel(), "damping [N s/m]": damping.ravel()}
        return walls | {f"{scheme} [operators]": counts.ravel() for scheme, counts in self.rendered.items()}


@dataclass(frozen=True)
class ZWidth:
    """What was measured: `reaches[scheme, operator]`, `attacks[scheme]`, `map`, and the limits of theory.

    `stiffness` is a labelled table in N/m. `interrupted` says that it ended early; what was measured is there.
    """

    device: DeviceModel
    rate: float
    operators: Mapping[str, Operator]
    range: tuple[float, float]  # of the grid, N/m
    wall: float  # that the adversary attacks
    bound: float
    reaches: dict[tuple[str, str], Reach] = field(default_factory=dict)
    attacks: dict[str, Attack] = field(default_factory=dict)
    map: ZMap | None = None
    interrupted: bool = False

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(scheme for scheme, _ in self.reaches), *self.attacks]))

    @property
    def stiffness(self) -> xr.DataArray:
        """N/m by scheme and operator; NaN where it was not measured."""
        import xarray as xr

        rows = [
            [getattr(self.reaches.get((scheme, operator)), "stiffness", np.nan) for operator in self.operators]
            for scheme in self.schemes
        ]
        coords = {"scheme": list(self.schemes), "operator": list(self.operators)}
        return xr.DataArray(rows, coords, ("scheme", "operator"), "stiffness", {"units": "N/m"})

    def limit(self, operator: str | None = None, delay: int = 0) -> float:
        """2b/T, or with samples that come late 2b/((1 + 2 delay) T) in N/m; b with the operator's damping.

        Without an operator it is Colgate's limit: up to it the plain wall is passive in any hand.
        """
        damping = self.device.damping + (self.operators[operator].damping if operator is not None else 0.0)
        return 2.0 * damping * self.rate / (1 + 2 * delay)

    def data(self) -> dict[str, Any]:
        """Everything in plain data."""
        reaches = [
            {
                "scheme": scheme,
                "operator": operator,
                "stiffness": reach.stiffness,
                "beyond": None if reach.beyond is None else {**vars(reach.beyond), "fault": reach.beyond.fault},
                "touches": [vars(touch) for touch in reach.touches],
            }
            for (scheme, operator), reach in self.reaches.items()
        ]
        return {
            "device": vars(self.device),
            "rate": self.rate,
            "range": list(self.range),
            "criterion": {"speed": SPEED, "ripple": RIPPLE, "depth": [SHALLOW, DEEP]},
            "operators": {name: vars(operator) for name, operator in self.operators.items()},
            "limits": {
                name: {"2b/T": self.limit(name), "2b/3T": self.limit(name, 1)} for name in (None, *self.operators)
            },
            "reaches": reaches,
            "adversary": {
                "bound": self.bound,
                "wall": self.wall,
                "energy": {scheme: attack.energy for scheme, attack in self.attacks.items()},
                "signal": {scheme: attack.signal for scheme, attack in self.attacks.items()},
            },
            "map": self.map and {key: values.tolist() for key, values in self.map.columns().items()},
            "interrupted": self.interrupted,
        }

    def columns(self) -> dict[str, np.ndarray]:
        """All walls that were tried as a table: one row for each."""
        rows = [(*key, touch) for key, reach in self.reaches.items() for touch in reach.touches]
        return {
            "scheme": np.array([scheme for scheme, _, _ in rows]),
            "operator": np.array([operator for _, operator, _ in rows]),
            "stiffness [N/m]": np.array([touch.stiffness for *_, touch in rows]),
            "rms speed [m/s]": np.array([touch.speed for *_, touch in rows]),
            "ripple by static force [1]": np.array([touch.ripple for *_, touch in rows]),
            "depth by static depth [1]": np.array([touch.depth for *_, touch in rows]),
            "fault": np.array([touch.fault for *_, touch in rows]),
        }

    def plot(self, path: str | PathLike | None = None) -> Any:
        """What each scheme reaches and loses; written to `path` (png, pdf, svg), and returned."""
        from passivo.run.plot_zwidth import plot

        return plot(self, path)


# -- the bench --------------------------------------------------------------------------------------------------------


class Bench:
    """One scheme before a wall, compiled once; walls and operators are parameters in its memory."""

    def __init__(
        self,
        device: DeviceModel,
        rate: float,
        scheme: str,
        *,
        approach: float = 5e-3,
        seconds: float = 5.0,
        seed: int = 0,
        engine: Engine = "numba",
    ):
        self.device, self.scheme = device, SCHEMES[scheme]
        self.net = network(device, rate, scheme, seed)
        self.laws = laws(device)
        self.network = compile_network(self.net, {"device.q": -approach}, self.laws, engine)
        self.ticks = whole_steps(self.net.tick * self.net.common, seconds) * self.net.common
        if self.ticks > LONGEST:
            raise InputError(f"{seconds:g} s at {rate:g} Hz are more than {LONGEST} samples; take fewer seconds")
        self.kept = self.network.memory.copy()
        self.view = self.network.parts["device"].module

    def touch(self, operator: Operator, stiffness: float, damping: float = 0.0) -> Touch:
        """Press against a wall for the whole run and measure its last quarter."""
        network, static = self.network, pressed(operator, stiffness)
        network.memory[:] = self.kept
        network.parts["device"].set(**operator.params)
        network.parts["wall"].set(k=stiffness, **({} if self.scheme.spring else {"b": damping}))
        try:
            rows = self._last_quarter(operator.force)
        except StepError:
            rows = np.full((1, 4), np.nan)
        with np.errstate(all="ignore"):
            speed = float(np.sqrt(np.mean(np.square(rows[:, 3]))))
            ripple = float(np.std(rows[:, 2]) / (stiffness * static))
        if not isfinite(speed + ripple):
            return Touch(stiffness, damping, np.inf, np.inf, np.nan)
        return Touch(stiffness, damping, speed, ripple, float(np.mean(rows[:, 0]) / static))

    def _last_quarter(self, force: float) -> np.ndarray:
        """Position, momentum, force at the handle and velocity at the device's steps."""
        memory, view = self.network.memory, self.view
        steps = self.ticks // self.net.periods["device"]
        rows = max(steps // 4, 1)
        out = np.empty(rows * view.REPORT_SIZE)
        for wait in self._waits():
            memory[wait] = np.inf
        memory[view.WAIT], memory[view.EVERY], memory[view.CURSOR] = steps - rows + 1, 1.0, 0.0
        table = np.zeros(1 + view.STAGES * (view.WIDTH + view.SIGNALS))
        table[2 :: view.WIDTH] = force  # the port "hand"; nothing else comes from outside
        memory[view.FEED : view.FEED + 3] = 1.0, 0.0, 1.0
        self.network.run(self.ticks, table, out)
        first, width = 1 + view.KEPT_COUNT, view.WIDTH
        picked = [1, 2, first, first + width]
        return out.reshape(rows, view.REPORT_SIZE)[:, picked]

    def _waits(self) -> list[int]:
        """Where everything that could be recorded counts down."""
        links = [link.number("LINK_WAIT") for link in self.network.links.values()]
        return [*(part.module.WAIT for part in self.network.parts.values()), *links, self.network.module.TOTAL_WAIT]


def network(device: DeviceModel, rate: float, scheme: str, seed: int = 0, stiffness: float = 1e3) -> Network:
    """The device before a wall; ports "handle" and "hand" of the part "device"."""
    chosen, step = SCHEMES[scheme], 1 / Fraction(repr(float(rate)))
    net = Network("zwidth")
    ports = ("handle", "hand", "rub") if device.friction else ("handle", "hand")
    method = AVF() if device.friction else ExactHold(port="true")
    part = net.add(
        "device",
        push(0.0).device(device.mass, device.damping, ports),
        method,
        step=step / RUB_STEPS if device.friction else step,  # type: ignore[arg-type]
    )
    if chosen.spring:
        method = EnergyConsistent(release="depth")
        wall = net.add("wall", unilateral_spring(k=stiffness), method, step=step)  # type: ignore[arg-type]
    else:
        wall = net.add("wall", wall_law(stiffness), step=step)  # type: ignore[arg-type]
    net.connect(part["handle"], wall["end"], chosen.junction(device, rate, seed), "touch")
    net.observe(part["q"], wall["depth"], through="touch")
    if not chosen.spring:
        net.observe(part["handle"], wall["speed"], through="touch")
    return net


def wall_law(k: float, b: float = 0.0) -> Rendering:
    """A wall as `library.wall`, whose speed is what the sensor saw since the last sample."""
    return Rendering(
        {"end": flow()},
        {"end": "Max(k*depth + b*speed, 0)*(1 + sign(depth))/2"},
        {"k": k, "b": b},
        signals=["depth", "speed"],
        limits=["k >= 0", "b >= 0"],
        units={"k": "N/m", "b": "N s/m", "depth": "m", "speed": "m/s", "end": ("m/s", "N")},
        name="wall",
    )


def laws(device: DeviceModel) -> dict[str, Law]:
    """The friction of the device, solved inside its steps."""
    if not device.friction:
        return {}
    return {"device.rub": Feedback(f"-{device.friction!r}*tanh(y/{RUBBING!r})")}


def pressed(operator: Operator, stiffness: float) -> float:
    """How deep the operator is in the wall at rest."""
    return (operator.force + operator.stiffness * operator.target) / (stiffness + operator.stiffness)


# -- the measure ------------------------------------------------------------------------------------------------------


def zwidth(
    device: DeviceModel,
    rate: float = 1000.0,
    schemes: Sequence[str] = USUAL,
    operators: Mapping[str, Operator] | None = None,
    *,
    stiffness: tuple[float, float] = (100.0, 2e5),
    approach: float = 5e-3,
    seconds: float = 5.0,
    bound: float = 20.0,
    wall: float = 2e4,
    map: bool = False,
    seed: int = 0,
    rounds: int = 200,
    engine: Engine = "numba",
    progress: Advance | None = None,
) -> ZWidth:
    """Measure the stiffest wall that each scheme renders for each operator; what "rendered" means says the module.

    device     what is held
    rate       samples per second
    schemes    names out of `SCHEMES`
    operators  name -> operator that presses on the wall with a constant force; default: `usual_operators()`
    stiffness  softest and stiffest wall of the grid, N/m
    approach   metres before the wall at which the device starts, at rest
    seconds    length of a touch
    bound      newtons of the adversary that draws energy out of the port; 0 for none
    wall       stiffness of the wall that it attacks
    map        also measure walls with damping
    seed       of the adversary, of jitter and of lost samples
    rounds     of the adversary's search
    """
    found, chosen = _checked(device, rate, schemes, operators, stiffness, approach, seconds, bound, wall)
    told = Count(progress, len(chosen) * (1 + len(found.operators) + (bound > 0) + MAP_PIECES * map))
    maps = {}
    try:
        for name in chosen:
            told(f"compiling {name}")
            bench = Bench(device, rate, name, approach=approach, seconds=seconds, seed=seed, engine=engine)
            for title, operator in found.operators.items():
                told(f"{name}, {title}")
                found.reaches[name, title] = reach(bench, operator, stiffness, told)
            if bound > 0:
                told(f"{name}, adversary")
                found.attacks[name] = _attack(device, rate, name, bound, wall, seed, rounds, engine, told)
            if map:
                told(f"{name}, map", MAP_PIECES)
                maps[name] = _map(bench, found, told)
        told("done")
    except KeyboardInterrupt as error:
        error.found = _with(found, maps, True)  # type: ignore[attr-defined]
        raise
    return _with(found, maps, False)


class Count:
    """Tells how far the measure is: `count("name")` begins the next of `total` pieces, or one as long as several.

    `part` goes on within it.
    """

    def __init__(self, progress: Advance | None, total: int):
        self.progress, self.total, self.done, self.pieces, self.what = progress, total, 0, 0, ""

    def __call__(self, what: str, pieces: int = 1) -> None:
        self.done, self.pieces, self.what = self.done + self.pieces, pieces, what
        self.part(0.0)

    def part(self, share: float) -> None:
        if self.progress is not None:
            self.progress(self.what, self.done + share * self.pieces, self.total)


def _with(found: ZWidth, maps: Mapping[str, np.ndarray], interrupted: bool) -> ZWidth:
    measured = None
    if maps:
        limit = np.maximum(2.0 * (found.device.damping - np.array(MAP_DAMPINGS)) * found.rate, 0.0)
        walls = grid(*found.range, MAP_PER_DECADE)
        measured = ZMap(walls, np.array(MAP_DAMPINGS), maps, tuple(found.operators), limit)
    return ZWidth(**{**vars(found), "map": measured, "interrupted": interrupted})


def _checked(
    device: Any, rate: Any, schemes: Any, operators: Any, stiffness: Any, approach: Any, seconds: Any, *attack: Any
) -> tuple[ZWidth, list[str]]:
    """An empty result for what is to be measured, and the schemes."""
    if not isinstance(device, DeviceModel):
        raise InputError(f"device takes pv.DeviceModel(mass=0.15, damping=2.0), not {quoted(device)}")
    if not _is_number(rate) or not rate > 0:
        raise InputError(f"the rate must be > 0 (samples per second), not {rate!r}")
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    for name in names:
        if name not in SCHEMES:
            raise InputError(f"there is no scheme {quoted(name)}; {nearest(str(name), SCHEMES)}")
    hands = usual_operators() if operators is None else dict(operators)
    for name, operator in hands.items():
        if not isinstance(operator, Operator) or not _is_number(operator.force):
            raise InputError(f"the operator {name!r} must push with a constant force, as pv.operators.push(5.0) does")
        if not pressed(operator, 1.0) > 0:
            raise InputError(f"the operator {name!r} does not press on the wall: give it a force or target > 0")
    soft, stiff = stiffness
    if not (_is_number(soft) and _is_number(stiff) and 0 < soft < stiff):
        raise InputError(f"stiffness is the softest and the stiffest wall, 0 < softest < stiffest, not {stiffness!r}")
    bound, wall = attack
    numbers = {"approach": approach, "bound": bound, "wall": wall}
    for name, value in numbers.items():
        if not _is_number(value) or value < 0:
            raise InputError(f"{name} must be a number >= 0, not {value!r}")
    if not _is_number(seconds) or not seconds * rate >= 100:
        raise InputError(f"a touch must last 100 samples or more, not {seconds!r} s at {rate:g} Hz")
    if not names or not hands:
        raise InputError("nothing to measure: give at least one scheme and one operator")
    empty = ZWidth(device, float(rate), hands, (float(soft), float(stiff)), float(wall), float(bound))
    return empty, list(dict.fromkeys(names))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and isfinite(value)


def grid(soft: float, stiff: float, per_decade: int) -> np.ndarray:
    """Walls from soft to stiff, evenly on a logarithmic scale."""
    return np.geomspace(soft, stiff, int(np.ceil(per_decade * log10(stiff / soft))) + 1)


def reach(bench: Bench, operator: Operator, stiffness: tuple[float, float], told: Count | None = None) -> Reach:
    """Stiffer and stiffer walls until one is not rendered, then the stiffest between it and the last that was."""
    touches: list[Touch] = []
    walls = grid(*stiffness, PER_DECADE)
    for i, k in enumerate(walls):
        if told is not None:
            told.part(i / len(walls))
        touches.append(bench.touch(operator, float(k)))
        if not touches[-1].rendered:
            break
    else:
        return Reach(float(walls[-1]), None, tuple(touches))
    beyond, last = touches[-1], touches[-2].stiffness if len(touches) > 1 else 0.0
    while last and beyond.stiffness > CLOSE * last:
        touches.append(bench.touch(operator, float(np.sqrt(last * beyond.stiffness))))
        if touches[-1].rendered:
            last = touches[-1].stiffness
        else:
            beyond = touches[-1]
    return Reach(last, beyond, tuple(sorted(touches, key=lambda touch: touch.stiffness)))


def _attack(
    device: DeviceModel,
    rate: float,
    scheme: str,
    bound: float,
    wall: float,
    seed: int,
    rounds: int,
    engine: Engine,
    told: Count,
) -> Attack:
    """The worst force for a device at the surface of a wall."""
    net = network(device, rate, scheme, seed, wall)
    return adversary(
        net,
        bound,
        start={"device.q": 0.0},
        laws=laws(device),
        rounds=rounds,
        seed=seed,
        engine=engine,
        progress=lambda done, total: told.part(done / total),
    )


def _map(bench: Bench, found: ZWidth, told: Count) -> np.ndarray:
    """How many operators find each wall with damping rendered."""
    walls = grid(*found.range, MAP_PER_DECADE)
    counts = np.full((len(MAP_DAMPINGS), len(walls)), -1)
    dampings = MAP_DAMPINGS[:1] if bench.scheme.spring else MAP_DAMPINGS
    for i, b in enumerate(dampings):
        for j, k in enumerate(walls):
            told.part((i + j / len(walls)) / len(dampings))
            hands = found.operators.values()
            counts[i, j] = sum(bench.touch(operator, float(k), b).rendered for operator in hands)
    return counts
