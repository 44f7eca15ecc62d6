"""Explicit Euler in the phase plane: every step leaves the level of energy it stood on (spec 1.9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.one_stage import ExplicitEuler
from passivo.reproduce.common import headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import CONFERENCE, oscillation
from passivo.run.draw import COLOURS, figure, legend

PARAMS = {"k": 0.5, "m": 1.0, "q0": 1.0, "p0": 0.0, "step": 0.2, "steps": 45.0}


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    k, m, step, steps = p["k"], p["m"], p["step"], whole(p, "steps", 2)
    timed = {**p, "until": step * (steps + 0.5)}
    start = {"q": p["q0"], "p": p["p0"]}
    run = oscillation(timed, ExplicitEuler(), start, progress_of(advance, "explicit Euler"))
    q, momentum = run.arrays["states"].T
    stored = run.arrays["ledger"][:, -1, 0]
    angle = np.linspace(0.0, 2 * np.pi, 400)
    size = np.sqrt(2 * stored[0])

    with figure(6.4, 6.0) as picture:
        axis = picture.subplots()
        axis.plot(size / np.sqrt(k) * np.cos(angle), size * np.sqrt(m) * np.sin(angle), color=COLOURS[2],
                  label="exact: one level of energy")  # fmt: skip
        axis.quiver(q[:-1], momentum[:-1], np.diff(q), np.diff(momentum), angles="xy", scale_units="xy", scale=1,
                    width=0.004, headwidth=4.5, color=COLOURS[1], label="steps of explicit Euler")  # fmt: skip
        axis.plot(q[0], momentum[0], "o", color="black", markersize=5, label="start")
        axis.set_xlim(*_around(q))
        axis.set_ylim(*_around(momentum))
        axis.set_xlabel("q [m]")
        axis.set_ylabel("p [kg m/s]")
        legend(axis)
        headline(picture, f"Explicit Euler: k = {k:g} N/m, m = {m:g} kg, T = {step:g} s")

    growth = (1 + step**2 * k / m) ** np.arange(steps + 1)
    gap = float(np.abs(stored / stored[0] / growth - 1).max())
    statements = [
        Statement.near("H(k) / H(0) over (1 + T² k/m)^k, largest distance from 1", gap, 0.0, 1e-12),
        Statement(f"H({steps}) / H(0)", float(stored[-1] / stored[0]), "> 1", bool(stored[-1] > stored[0])),
    ]
    note = (
        "As in the paper, which does not say how many steps it draws. Every step multiplies the energy by "
        f"1 + T² k/m = {growth[1]:.6g}; the ledger says: {run.verdict}."
    )
    data = {"t [s]": run.time, "q [m]": q, "p [kg m/s]": momentum, "H [J]": stored}
    return Outcome(picture, data, tuple(statements), note)


def _around(values: np.ndarray) -> tuple[float, float]:
    room = 0.08 * float(np.ptp(values))
    return float(values.min()) - room, float(values.max()) + room


FIGURE = Figure(
    name="simulation-issues-fig2",
    title="Explicit Euler leaves its level of energy with every step",
    source=f"{CONFERENCE}, Fig. 2",
    make=make,
    params=PARAMS,
)
