"""Explicit Euler spirals out: an undamped oscillator in its phase plane, and the energy it gains (spec 1.9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.one_stage import ExplicitEuler
from passivo.model import library
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import JOURNAL
from passivo.run.draw import COLOURS, figure, legend
from passivo.run.simulate import simulate

PARAMS = {"k": 5000.0, "m": 0.2, "q0": 0.2, "step": 1e-3, "steps": 100.0}


def make(params: Mapping[str, float], advance: Advance) -> Outcome:
    k, m, q0, step = (params[name] for name in ("k", "m", "q0", "step"))
    model = library.oscillator(k=k, m=m)
    run = simulate(
        model,
        ExplicitEuler(),
        step,
        step * int(params["steps"]),
        start={"q": q0},
        progress=lambda done, total: advance("explicit Euler", done, total),
    )
    q, p = run.arrays["states"].T
    stored = run.arrays["ledger"][:, -1, 0]
    angle = np.linspace(0.0, 2 * np.pi, 400)
    exact_q, exact_p = q0 * np.cos(angle), q0 * np.sqrt(k * m) * np.sin(angle)

    with figure(8.0, 4.0) as picture:
        plane, energy = picture.subplots(1, 2)
        plane.plot(exact_q, exact_p, color=COLOURS[2], label="exact: one level of energy")
        plane.plot(q, p, ".-", color=COLOURS[1], linewidth=0.6, markersize=3, label="explicit Euler")
        plane.margins(0.06)
        plane.set_xlabel("q [m]")
        plane.set_ylabel("p [kg m/s]")
        energy.plot(run.time, np.ones_like(run.time), color=COLOURS[2], label="exact")
        energy.plot(run.time, stored / stored[0], color=COLOURS[1], label="explicit Euler")
        energy.set_xlabel("time [s]")
        energy.set_ylabel("H / H(0) [1]")
        legend(plane)
        legend(energy)
        title = f"Explicit Euler spirals out: k = {k:g} N/m, m = {m:g} kg, step {step:g} s"
        picture.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")

    growth = (1 + step**2 * k / m) ** int(params["steps"])  # |1 + iωh|² per step, in closed form
    ratio = stored[-1] / stored[0]
    statements = [Statement.near("H(end) / H(0), against its closed form", ratio / growth, 1.0, 1e-12)]
    if dict(params) == PARAMS:
        statements.append(Statement.near("H(100) / H(0)", ratio, 11.8137, 1e-3))
    note = f"The paper shows the spiral; the ledger says: {run.verdict}."
    data = {"t [s]": run.time, "q [m]": q, "p [kg m/s]": p, "H [J]": stored}
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="borghesan-fig3",
    title="Explicit Euler spirals out of the phase plane",
    source=f"{JOURNAL}, Fig. 3",
    make=make,
    params=PARAMS,
)
