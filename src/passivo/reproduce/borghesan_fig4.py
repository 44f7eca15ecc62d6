"""One state: the two states that have the energy of the next step, and the one that is taken (spec 1.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.part import compile
from passivo.model import library
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import JOURNAL
from passivo.run.draw import COLOURS, DASHED, GREY, figure, legend

PARAMS = {"k": 400.0, "q0": 0.1, "velocity": -0.5, "step": 0.05}


def make(params: Mapping[str, float], advance: Advance) -> Outcome:
    k, q0, v, step = (params[name] for name in ("k", "q0", "velocity", "step"))
    part = compile(library.spring(k=k), EnergyConsistent(), step, start={"q": q0}, engine="python")
    old = part.stored
    new = old + step * part.output[0] * v
    part.step([v])
    taken, predictor = float(part.state[0]), q0 + step * v
    energy = lambda q: k * np.square(q) / 2  # noqa: E731
    q = np.linspace(-1.25, 1.25, 401) * max(abs(q0), abs(taken), abs(predictor))

    with figure(7.0, 4.4) as picture:
        axis = picture.subplots()
        axis.plot(q, energy(q), color=COLOURS[0], label="H(x)")
        for level, name in ((old, "H(k)"), (new, "H(k+1)")):
            axis.axhline(level, color=GREY, linewidth=0.8, linestyle=DASHED)
            axis.text(q[-1], level, f" {name}", va="center", color="#444444", fontsize=8, clip_on=False)
        axis.plot([q0, predictor], [old, energy(predictor)], ":", color=COLOURS[1], linewidth=1.2, zorder=3)
        axis.plot(q0, old, "o", color="black", markersize=6, label="x(k)")
        axis.plot(predictor, energy(predictor), "s", color=COLOURS[1], markersize=6, label="predictor x(k) + T x'(k)")
        axis.plot(taken, energy(taken), "o", color=COLOURS[2], markersize=7, label="x1, taken")
        axis.plot(
            -taken, energy(taken), "o", color=COLOURS[2], markersize=7, fillstyle="none", label="x2, the other one"
        )
        axis.set_xlabel("spring's extension x [m]")
        axis.set_ylabel("energy [J]")
        axis.margins(x=0.0)
        legend(axis)
        headline(picture, f"Two states have the energy of the next step: k = {k:g} N/m, T = {step:g} s")

    nearer = abs(taken - q0) <= abs(-taken - q0)
    statements = [Statement("energy booked in the step [J]", float(part._section("BOOKS", 2).sum()))]
    if new >= 0:
        statements += [
            Statement.near("H(x1) / H(k+1)", energy(taken) / new, 1.0, 1e-13),
            Statement("x1 is nearer to x(k) than x2: |x1 − x(k)| / |x2 − x(k)|",
                      abs(taken - q0) / abs(-taken - q0), "<= 1", bool(nearer)),
        ]  # fmt: skip
    note = (
        "The paper's figure is a sketch without numbers; the values here are our own. The paper takes the nearer of "
        "two states, we the one on the side of the predictor: they are the same where there is no fault. The predictor "
        f"alone would be {energy(predictor) - new:.4g} J off."
    )
    data = {
        "x [m]": q, "H(x) [J]": energy(q), "x(k), predictor, x1, x2 [m]": np.array([q0, predictor, taken, -taken]),
        "H of these [J]": energy(np.array([q0, predictor, taken, -taken])), "H(k), H(k+1) [J]": np.array([old, new]),
    }  # fmt: skip
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="borghesan-fig4",
    title="The step of a system with one state: which of two states is taken",
    source=f"{JOURNAL}, Fig. 4",
    make=make,
    params=PARAMS,
)
