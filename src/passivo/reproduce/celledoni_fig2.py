"""A pendulum with a weak brake, steps of half a second: which methods count its turns rightly (spec 2.8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.celledoni import LINES, METHODS, PAPER, PENDULUM, label, swinging, true_swing
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import figure, legend

PRINTED_GAIN = 0.01
TURNS = {"exact": 3, "AVF": 3, "ClosedLoopAVF": 3, "ImplicitMidpoint": 4, "Heun": 6}


def turns(angle: float) -> float:
    return float(np.rint(angle / (2 * np.pi)))


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    runs = swinging(p, advance)
    time = runs["AVF"].time
    exact = true_swing(p, time)[0]
    fine = np.linspace(0.0, p["shown"], 1001)
    shown = time <= p["shown"]

    with figure(8.0, 4.4) as picture:
        axis = picture.subplots()
        axis.plot(fine, true_swing(p, fine)[0] / (2 * np.pi), color="black", linewidth=2.2, alpha=0.45, label="exact")
        for name, run in runs.items():
            colour, style = LINES[name]
            angle = run.arrays["states"][shown, 0] / (2 * np.pi)
            axis.plot(time[shown], angle, color=colour, linestyle=style, label=label(name))
        axis.set_xlabel("time [s]")
        axis.set_ylabel("angle [turns]")
        legend(axis)
        headline(picture, f"A braked pendulum: gain {p['gain']:g}, steps of {p['step']:g} s")

    settled = {"exact": turns(exact[-1])} | {name: turns(run.arrays["states"][-1, 0]) for name, run in runs.items()}
    known = dict(p) == PENDULUM
    statements = [
        Statement.near(f"settled turns, {name}", settled[name], expected, 0.0)
        if known
        else Statement(f"settled turns, {name}", settled[name])
        for name, expected in TURNS.items()
    ]
    still = [abs(run.arrays["states"][-1, 1]) for run in runs.values()]
    statements.append(
        Statement("largest |p| at the end: all have settled", max(still), "<= 0.01" if known else "",
                  bool(max(still) <= 1e-2) if known else None)
    )  # fmt: skip
    weak = swinging(p, advance, PRINTED_GAIN)
    counts = {"exact": turns(true_swing(p, time, PRINTED_GAIN)[0, -1])}
    counts |= {name: turns(run.arrays["states"][-1, 0]) for name, run in weak.items()}
    statements += [Statement(f"settled turns with the printed gain, {name}", count) for name, count in counts.items()]
    note = (
        "The printed gain of 0.01 contradicts the axis of the paper's figure 3, which shows inputs up to 0.06; 0.05 "
        "gives its axis and its turns (with 0.01 Heun turns for ever). What the paper calls AVF is the average vector "
        "field of the closed loop, and what it calls AVFPHS is AVF here. Both methods that the paper calls wrong are "
        f"wrong here, by one and by three turns. Runs of {p['until']:g} s were taken, until all had settled; the "
        f"picture shows {p['shown']:g} s."
    )
    data = {"t [s]": time, "exact [rad]": exact}
    data |= {f"{name} [rad]": runs[name].arrays["states"][:, 0] for name in METHODS}
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="celledoni-fig2",
    title="A pendulum with a weak brake: which methods count its turns rightly",
    source=f"{PAPER}, Fig. 2",
    make=make,
    params=PENDULUM,
)
