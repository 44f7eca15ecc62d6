"""The error in the energy of the braked pendulum by each method (spec 2.8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.celledoni import LINES, METHODS, PAPER, PENDULUM, label, stored, swinging, true_swing
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import decades, figure, legend


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    runs = swinging(p, advance)
    time = runs["AVF"].time
    shown = time <= p["shown"]
    q, momentum = true_swing(p, time)
    exact = momentum**2 / 2 + 1 - np.cos(q)
    error = {name: np.abs(stored(run) - exact) for name, run in runs.items()}

    with figure(8.0, 4.4) as picture:
        axis = picture.subplots()
        for name, values in error.items():
            colour, style = LINES[name]
            kept = shown & (time > 0.0)
            axis.semilogy(time[kept], values[kept], color=colour, linestyle=style, label=label(name))
        decades(axis.yaxis, *axis.get_ylim())
        axis.set_xlabel("time [s]")
        axis.set_ylabel("|H − exact H| [J]")
        legend(axis)
        headline(picture, f"Error in the energy: gain {p['gain']:g}, steps of {p['step']:g} s")

    mean = {name: float(values[shown].mean()) for name, values in error.items()}
    created = {name: abs(float(run.arrays["ledger"][-1, -1, 4])) for name, run in runs.items()}
    known = dict(p) == PENDULUM
    ratio = max(mean["AVF"], mean["ClosedLoopAVF"]) / min(mean["ImplicitMidpoint"], mean["Heun"])
    statements = [
        *(Statement(f"mean error of {p['shown']:g} s, {name} [J]", value) for name, value in mean.items()),
        Statement("worse of both AVF / better of the others", ratio, "< 1" if known else "",
                  bool(ratio < 1) if known else None),
        Statement("energy created by AVF in the whole run [J]", created["AVF"], "<= 1e-12", created["AVF"] <= 1e-12),
        *(Statement(f"energy created or removed by {name} [J]", created[name]) for name in METHODS if name != "AVF"),
    ]  # fmt: skip
    note = (
        "As in the paper both AVF methods err less in the energy than implicit midpoint and improved Euler. An error "
        "in the energy is not energy out of nowhere: AVF books every joule that the brake takes and creates none; it "
        "errs because it brakes at slightly other times. The ledger of the other three shows what they create or lose."
    )
    data = {"t [s]": time, "exact H [J]": exact}
    return Outcome(picture, data | {f"error, {name} [J]": error[name] for name in METHODS}, tuple(statements), note)


FIGURE = Figure(
    name="celledoni-fig4",
    title="A pendulum with a weak brake: the error in its energy",
    source=f"{PAPER}, Fig. 4",
    make=make,
    params=PENDULUM,
)
