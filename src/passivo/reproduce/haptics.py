"""What the figures of the two papers on energy-consistent simulation share: systems, networks, references, titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from passivo.method.base import Method
from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.part import seconds
from passivo.model import library
from passivo.model.symbols import functions
from passivo.network.network import Network
from passivo.network.sample_hold import PassiveSampleHold
from passivo.reproduce.common import constancy, engine_for
from passivo.reproduce.figure import Statement
from passivo.run.draw import COLOURS, DASHED
from passivo.run.network_run import NetworkRun
from passivo.run.run import Run
from passivo.run.simulate import simulate

JOURNAL = "Borghesan, energy-consistent simulation of haptic systems"
CONFERENCE = "Borghesan, Macchelli, Melchiorri, Simulation issues in haptics"


# -- mass and spring --------------------------------------------------------------------------------------------------


def oscillation(
    p: Mapping[str, float], method: Method, start: Mapping[str, float], progress: Callable[[int, int], None]
) -> Run:
    """Mass, spring and damper (k, m, b) by `method` in steps of `step` until `until`."""
    model = library.oscillator(k=p["k"], m=p["m"], b=p.get("b", 0.0))
    engine = engine_for(p["until"] / p["step"])
    return simulate(model, method, p["step"], p["until"], start=start, engine=engine, progress=progress)


def reference(p: Mapping[str, float], start: tuple[float, float], times: np.ndarray) -> np.ndarray:
    """Positions and momenta (2, times) of the same system by SciPy, with a step that varies (DOP853, 1e-11)."""
    from scipy.integrate import solve_ivp

    k, m, b = p["k"], p["m"], p.get("b", 0.0)
    field = lambda _, x: (x[1] / m, -k * x[0] - b * x[1] / m)  # noqa: E731
    scale = np.hypot(np.sqrt(k) * start[0], start[1] / np.sqrt(m))
    accuracy = {"rtol": 1e-11, "atol": 1e-13 * np.array([scale / np.sqrt(k), scale * np.sqrt(m)])}
    return solve_ivp(field, (0.0, times[-1]), start, "DOP853", times, **accuracy).y


def swings(time: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Seconds between passages through 0 upwards, each found by a straight line between two samples."""
    k = np.nonzero((position[:-1] < 0) & (position[1:] >= 0))[0]
    share = position[k] / (position[k] - position[k + 1])
    return np.diff(time[k] + share * (time[k + 1] - time[k]))


def period(time: np.ndarray, position: np.ndarray, count: int | None = None) -> float:
    """The mean of the first `count` swings, or of all; NaN where there is no whole one."""
    found = swings(time, position)[:count]
    return float(found.mean()) if len(found) else np.nan


def multirate(p: Mapping[str, float], alpha: float, k: float, m: float, ratio: int) -> Network:
    """A spring that steps every `fast` seconds and a mass that steps `ratio` times slower."""
    net, method = Network(), EnergyConsistent(alpha=alpha, beta=p["beta"])
    spring = net.add("spring", library.spring(k=k), method, step=p["fast"])
    mass = net.add("mass", library.mass(m=m), method, step=float(seconds(p["fast"], "fast") * ratio))
    net.connect(spring["end"], mass["force"], through=PassiveSampleHold(), name="link")
    return net


def nothing_unbooked(text: str, run: NetworkRun) -> Statement:
    """H + HE − HBK of a network is what it was: the ledger calls that stored − booked."""
    ledger = run.arrays["ledger"][:, -1]
    return constancy(text, ledger[:, 0] - ledger[:, 5], 1e-11 * ledger[0, 0])


Series = tuple[np.ndarray, np.ndarray]


def forces(run: NetworkRun, shown: float) -> tuple[Series, Series]:
    """Times and forces of a `multirate` run up to `shown`: uf, what the spring gives, and us, what the mass takes."""
    spring, link = run.runs["spring"], run.links["link"]
    few, some = spring.time <= shown, link.time[:-1] <= shown
    sent = link["sent"].values[1:]  # a value stands at the end of its period
    uf = -spring.arrays["outputs"][:, 0]  # with the sign it has on the mass
    return (spring.time[few], uf[few]), (link.time[:-1][some], sent[some])


def draw_forces(axis: Any, run: NetworkRun, shown: float) -> None:
    (fast, uf), (slow, us) = forces(run, shown)
    axis.plot(fast, uf, color=COLOURS[1], linestyle=DASHED, linewidth=1.1, label="uf, force of the spring")
    axis.step(slow, us, where="post", color=COLOURS[0], label="us, force on the mass")
    axis.set_ylabel("force [N]")


# -- hands ------------------------------------------------------------------------------------------------------------


def guided(p: Mapping[str, float], damping: float) -> Callable[[Any], Any]:
    """The force of a hand whose spring (`stiffness`) and damper are guided along `path_middle` − `path_reach` cos."""
    turn = 2 * np.pi * p["path_frequency"]

    def force(t: Any) -> Any:
        pull = p["stiffness"] * (p["path_middle"] - p["path_reach"] * functions["cos"](turn * t))
        return pull + damping * p["path_reach"] * turn * functions["sin"](turn * t)

    return force
