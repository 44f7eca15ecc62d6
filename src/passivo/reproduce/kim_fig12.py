"""Snapshots of a beam that swings without damping (spec 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_beam import PARAMS, clamped, drift, heard, midpoint, ours, period
from passivo.run.draw import figure, legend, ramp

SHOWN = 7  # moments of half a swing
FINE = 121  # points along the beam


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    beam = clamped(p)
    run = midpoint(beam, p, advance)
    once = period(beam)
    rows = np.minimum(np.round(np.linspace(0, once / 2, SHOWN) / p["step"]).astype(int), run.steps)
    along = np.linspace(0, beam.length, FINE)
    shapes = np.array([beam.shape(place) for place in along])
    places = run.arrays["states"][:, : len(beam.free)]
    data = {"x [m]": along}
    with figure(8.6, 4.6) as picture:
        axis = picture.subplots()
        for row, colour in zip(rows, ramp(SHOWN)):
            w = shapes @ places[row]
            data[f"w at {run.time[row]:.4g} s [m]"] = w
            axis.plot(1e3 * along, 1e3 * w, color=colour, linewidth=2.2, label=f"{1e3 * run.time[row]:.3g} ms")
        axis.set_xlabel("along the beam [mm]")
        axis.set_ylabel("deflection [mm]")
        legend(axis)
        headline(picture, "An undamped beam, let go, half a swing: passive midpoint, T = "
                 f"{1e3 * p['step']:g} ms")  # fmt: skip
    # a midpoint step turns a mode by 2 atan(ωT/2), not by ωT
    late = p["step"] * np.pi / np.arctan(np.pi * p["step"] / once)
    statements = [drift(run), Statement("period of the slowest mode [ms]", 1e3 * once)]
    found = 1e3 * heard(run.time, places[:, -2])
    if dict(p) == PARAMS:
        statements.append(Statement.near("mean period of the tip [ms]", found, round(1e3 * late, 3), 0.2))
    return Outcome(picture, data, tuple(statements), ours(p, beam) + NOTE)


NOTE = "The paper shows rendered pictures; these are the bent lines of the same kind of run."

FIGURE = Figure(
    name="kim-fig12",
    title="Snapshots of an undamped beam that swings, by passive midpoint integration",
    source=f"{PAPER}, Fig. 12",
    make=make,
    params=PARAMS,
)
