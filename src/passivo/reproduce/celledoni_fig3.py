"""The input of the braked pendulum by each method (spec 2.8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.celledoni import LINES, METHODS, PAPER, PENDULUM, label, swinging, true_swing
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import figure, legend

AXIS = 0.06  # N m, the paper's own


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    runs = swinging(p, advance)
    time = runs["AVF"].time
    shown = time <= p["shown"]
    fine = np.linspace(0.0, p["shown"], 1001)
    true_input = lambda t: -p["gain"] * np.arctan(true_swing(p, t)[1])  # noqa: E731
    # an input acts over its step: it is drawn at the middle, where the mean speed of a smooth motion is found
    middle = np.concatenate([[np.nan], (time[1:] + time[:-1]) / 2])
    inputs = {name: run.arrays["inputs"][:, 0] for name, run in runs.items()}

    with figure(8.0, 4.4) as picture:
        axis = picture.subplots()
        axis.plot(fine, true_input(fine), color="black", linewidth=2.2, alpha=0.45, label="exact")
        for name, values in inputs.items():
            colour, style = LINES[name]
            where = time if name == "Heun" else middle  # Heun's last stage stands at the end of the step
            axis.plot(where[shown], values[shown], color=colour, linestyle=style, label=label(name))
        axis.set_xlabel("time [s]")
        axis.set_ylabel("input torque [N m]")
        legend(axis)
        headline(picture, f"What brakes the pendulum: gain {p['gain']:g}, steps of {p['step']:g} s")

    early = shown & (time <= 15.0) & (time > 0.0)
    exact = true_input(middle[1:])
    off = {name: float(np.sqrt(np.mean((values[early] - exact[early[1:]]) ** 2))) for name, values in inputs.items()}
    largest = max(float(np.nanmax(np.abs(values))) for values in inputs.values())
    known = dict(p) == PENDULUM
    right, wrong = max(off["AVF"], off["ClosedLoopAVF"]), min(off["ImplicitMidpoint"], off["Heun"])
    statements = [
        Statement("largest |input| [N m]", largest, f"<= {AXIS}, above half of it" if known else "",
                  bool(AXIS / 2 < largest <= AXIS) if known else None),
        Statement("largest |input| with the printed gain of 0.01, at most [N m]", 0.01 * np.pi / 2),
        *(Statement(f"root mean square error of the first 15 s, {name} [N m]", value) for name, value in off.items()),
        Statement("worse of both AVF / better of the others", right / wrong, "< 1" if known else "",
                  bool(right < wrong) if known else None),
    ]  # fmt: skip
    note = (
        "With the printed gain of 0.01 no input could exceed 0.016 N m; the paper's axis ends at 0.06, and 0.05 fits. "
        "The paper finds the inputs of implicit midpoint and improved Euler qualitatively wrong, and so they are once "
        "these methods have missed the last turn."
    )
    data = {"t [s]": middle[1:], "exact [N m]": exact}
    return Outcome(picture, data | {f"{name} [N m]": inputs[name][1:] for name in METHODS}, tuple(statements), note)


FIGURE = Figure(
    name="celledoni-fig3",
    title="A pendulum with a weak brake: its input",
    source=f"{PAPER}, Fig. 3",
    make=make,
    params=PENDULUM,
)
