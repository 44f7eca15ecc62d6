"""What the figures of the paper on passivity-consistent discretisation share: its systems, methods and references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from passivo.method.base import Method
from passivo.method.closed_loop import ClosedLoopAVF
from passivo.method.one_stage import AVF, ImplicitMidpoint
from passivo.method.runge_kutta import Heun
from passivo.model import library
from passivo.model.feedback import Feedback
from passivo.reproduce.common import engine_for, progress_of
from passivo.reproduce.figure import Advance
from passivo.run.draw import COLOURS, DASHED, DOTTED
from passivo.run.run import Run
from passivo.run.simulate import simulate

PAPER = "Celledoni and Høiseth, energy-preserving discretisation of port-Hamiltonian systems"
METHODS: dict[str, Method] = {
    "AVF": AVF(),
    "ClosedLoopAVF": ClosedLoopAVF(),
    "ImplicitMidpoint": ImplicitMidpoint(),
    "Heun": Heun(),
}
PRINTED = {"AVF": "AVFPHS", "ClosedLoopAVF": "AVF", "ImplicitMidpoint": "IM", "Heun": "IE"}  # names in the paper
LINES = {name: (COLOURS[i], style) for i, (name, style) in enumerate(zip(METHODS, ("-", DASHED, "-", DOTTED)))}
PENDULUM = {"gain": 0.05, "step": 0.5, "q0": 2.8, "p0": 1.4, "shown": 50.0, "until": 500.0}


def solved(field: Callable, start: Any, times: np.ndarray, accuracy: float = 1e-12) -> np.ndarray:
    """States (state, times) of x' = field(t, x) by SciPy, with a step that varies (DOP853)."""
    from scipy.integrate import solve_ivp

    return solve_ivp(field, (0.0, times[-1]), start, "DOP853", times, rtol=accuracy, atol=accuracy / 100).y


# -- the pendulum of figures 2 to 4 -----------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _swinging(items: tuple[tuple[str, float], ...], gain: float, advance: Advance) -> dict[str, Run]:
    p, model = dict(items), library.pendulum()
    given: dict[str, Any] = {
        "start": {"q": p["q0"], "p": p["p0"]},
        "inputs": {"torque": Feedback(f"-({gain!r})*atan(y)")},
        "engine": engine_for(p["until"] / p["step"]),
    }
    return {
        name: simulate(model, method, p["step"], p["until"], progress=progress_of(advance, name), **given)
        for name, method in METHODS.items()
    }


def swinging(p: Mapping[str, float], advance: Advance, gain: float | None = None) -> dict[str, Run]:
    """The pendulum under u = −gain atan(y), by every method; figures that follow each other share the runs."""
    return _swinging(tuple(sorted(p.items())), p["gain"] if gain is None else gain, advance)


def true_swing(p: Mapping[str, float], times: np.ndarray, gain: float | None = None) -> np.ndarray:
    """q and p of the same pendulum (2, times)."""
    strength = p["gain"] if gain is None else gain
    field = lambda _, x: (x[1], -np.sin(x[0]) - strength * np.arctan(x[1]))  # noqa: E731
    return solved(field, (p["q0"], p["p0"]), times)


def stored(run: Run) -> np.ndarray:
    """The stored energy of a run."""
    return run.arrays["ledger"][:, -1, 0]


def label(name: str) -> str:
    """A method's name, and what the paper calls it."""
    return f"{name} ({PRINTED[name]})"
