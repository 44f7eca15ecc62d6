"""Who holds the device: simulated hands for tests and for the measure of walls.

An operator is a device in a hand: `operator.hold(net, "device", mass, damping, method, step)` adds the part, and
`operator.inputs("device")` is what drives its port "hand" in `simulate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passivo.errors import InputError, StepError
from passivo.method.generate import Engine
from passivo.model.feedback import Law
from passivo.model.ports import effort
from passivo.model.system import System
from passivo.network.compiled import compile_network
from passivo.network.network import Member, Network
from passivo.run.inputs import network_inputs
from passivo.run.network_run import NetworkRecorder
from passivo.run.record import whole_steps

SIGNALS = 18  # forces that an adversary tries first


@dataclass(frozen=True)
class Operator:
    """A device in a hand of `mass`, `stiffness` and `damping` that wants to be at `target`, pushed by `force`.

    The hand moves with the device; its spring and damper hold it to the target. `force` is a number, a function of t or
    an array over steps, besides.
    """

    mass: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    target: float = 0.0
    force: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("mass", "stiffness", "damping"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0.0 <= value < np.inf:
                raise InputError(f"the {name} of a hand must be a number >= 0, not {value!r}")

    @property
    def params(self) -> dict[str, float]:
        """The parameters of the hand in the system `device`; every operator has the same ones."""
        return {"mh": self.mass, "bh": self.damping, "kh": self.stiffness, "qh": self.target}

    def device(self, mass: float, damping: float, ports: Sequence[str] = ("handle", "hand")) -> System:
        """The device and the hand as one system; `ports` all act on the handle."""
        if not mass > 0:
            raise InputError(f"a device needs a mass > 0, not {mass!r}")
        return System(
            states=["q", "p"],
            energy="p**2/(2*(m + mh)) + kh*(q - qh)**2/2",
            structure=[[0, 1], [-1, 0]],
            loss=[[0, 0], [0, "b + bh"]],
            ports={name: effort([0, 1]) for name in ports},
            params={"m": mass, "b": damping, **self.params},
            minimum={"q": "qh", "p": 0.0},
            positions=["q"],
            limits=["m > 0", "b >= 0", "mh >= 0", "bh >= 0", "kh >= 0"],
            units={"q": "m", "p": "kg m/s", "m": "kg", "b": "N s/m", **dict.fromkeys(ports, ("N", "m/s"))},
            name="device",
        )

    def hold(self, net: Network, name: str, mass: float, damping: float, method: Any, step: float) -> Member:
        """Add the device in this hand to a network; its ports are "handle" and "hand"."""
        return net.add(name, self.device(mass, damping), method, step=step)

    def inputs(self, name: str) -> dict[str, Any]:
        """What drives the port "hand" of the part `name`."""
        return {f"{name}.hand": self.force}


def push(force: Any) -> Operator:
    """A force source: a number, a function of t, or an array over steps."""
    return Operator(force=force)


def hand(
    stiffness: float = 400.0, damping: float = 10.0, mass: float = 0.2, target: float = 0.0, force: Any = 0.0
) -> Operator:
    """A hand of the given impedance that wants to be at `target` (m)."""
    return Operator(mass, stiffness, damping, target, force)


def recorded(
    times: Sequence[float],
    positions: Sequence[float],
    stiffness: float = 400.0,
    damping: float = 10.0,
    mass: float = 0.2,
) -> Operator:
    """A hand that follows a recorded trajectory: its spring and damper pull towards the path, linear between points."""
    t, x = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
    if t.ndim != 1 or t.shape != x.shape or len(t) < 2 or not (np.diff(t) > 0).all() or not np.isfinite(x).all():
        raise InputError("a recorded trajectory needs as many positions as times, at least two, with growing times")
    speed = np.diff(x) / np.diff(t)

    def force(now: float) -> float:
        k = int(np.clip(np.searchsorted(t, now, side="right") - 1, 0, len(speed) - 1))
        rate = speed[k] if t[0] <= now < t[-1] else 0.0
        return stiffness * float(np.interp(now, t, x)) + damping * float(rate)

    return Operator(mass, stiffness, damping, 0.0, force)


@dataclass(frozen=True)
class Attack:
    """The worst force sequence that was found: `energy` is the least energy the port had received, in joules."""

    energy: float
    force: np.ndarray
    signal: str


def signals(steps: int, step: float, bound: float, seed: int = 0) -> dict[str, np.ndarray]:
    """Eighteen forces within a bound: pushes, pulls, releases, sines, square waves, steps at random; by name."""
    t, rng = np.arange(steps) * step, np.random.default_rng(seed)
    wave = lambda f: np.sin(2 * np.pi * f * t)  # noqa: E731
    found = {
        "push": np.ones(steps),
        "half push": np.full(steps, 0.5),
        "push and release": np.where(t < t[-1] / 2, 1.0, 0.0),
        "push and pull": np.where(t < t[-1] / 2, 1.0, -1.0),
        "ramp": np.linspace(0.0, 1.0, steps),
        "taps": np.where((t % 0.1) < 0.02, 1.0, 0.2),
        **{f"sine of {f:g} Hz": wave(f) for f in (2.0, 8.0, 30.0, 120.0)},
        **{f"square of {f:g} Hz": np.sign(wave(f) + 1e-12) for f in (5.0, 20.0, 80.0, 250.0)},
        **{f"steps of {n} at random": rng.choice([-1.0, 1.0], -(-steps // n)).repeat(n)[:steps] for n in (3, 20)},
        "noise": rng.uniform(-1.0, 1.0, steps),
        "push with noise": 0.5 + 0.5 * rng.uniform(-1.0, 1.0, steps),
    }
    return {name: bound * np.clip(force, -1.0, 1.0) for name, force in found.items()}


def adversary(
    net: Network,
    bound: float,
    *,
    hand: str = "device.hand",
    port: str = "device.handle",
    until: float = 0.5,
    start: Mapping[str, float] | None = None,
    laws: Mapping[str, Law] | None = None,
    rounds: int = 200,
    seed: int = 0,
    engine: Engine = "numba",
    progress: Callable[[int, int], None] | None = None,
) -> Attack:
    """Search for the force at `hand`, at most `bound` newtons, that draws the most energy out of the port `port`.

    First the eighteen `signals`, then a hill climb from the worst of them over the instants at which a force between
    −bound and bound switches. The same seed gives the same attack. `laws` are solved inside the steps of other ports.
    """
    if not bound > 0:
        raise InputError(f"the bound of an adversary must be > 0, not {bound!r}")
    network = compile_network(net, start, laws, engine=engine)
    ticks = whole_steps(net.tick * net.common, until) * net.common
    kept, key, tries = network.memory.copy(), hand.split(".", 1)[0], 0
    steps, rng = ticks // net.periods[key], np.random.default_rng(seed)

    def energy(force: np.ndarray) -> float:
        nonlocal tries
        tries += 1
        if progress is not None:
            progress(tries, rounds + SIGNALS)
        network.memory[:] = kept
        given = {key: {hand.split(".", 1)[1]: force}}
        drives = network_inputs(net, given, {name: ticks // period for name, period in net.periods.items()})
        try:
            run = NetworkRecorder(network, drives, ticks, 1, None).go()
        except StepError as error:
            run = error.run
        return float(-run.work[port].values.max())

    tried = {
        name: (energy(force), force)
        for name, force in signals(steps, float(net.members[key].step), bound, seed).items()
    }
    signal = min(tried, key=lambda name: tried[name][0])
    least, worst = tried[signal]
    for _ in range(rounds):
        force = worst.copy()
        first, length = int(rng.integers(steps)), int(rng.geometric(1 / 20))
        force[first : first + length] = bound * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
        if (found := energy(force)) < least:
            least, worst, signal = found, force, "search"
    return Attack(least, worst, signal)
