"""Kinetic, potential and total energy of an undamped beam by passive midpoint integration (spec 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_beam import PARAMS, clamped, columns, drift, midpoint, ours, period, profile, stored
from passivo.run.draw import COLOURS, figure, legend, ten

SWINGS = 4.0  # in the upper picture


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    beam = clamped(p)
    run = midpoint(beam, p, advance)
    energies = stored(run)
    total = energies["total"]
    first = run.time <= SWINGS * period(beam)
    with figure(8.6, 5.6) as picture:
        above, below = picture.subplots(2, height_ratios=(2.2, 1))
        profile(above, run.time[first], {name: values[first] for name, values in energies.items()})
        legend(above)
        below.plot(run.time, 1e15 * (total / total[0] - 1), color=COLOURS[2], linewidth=0.8)
        below.set_xlabel("time [s]")
        below.set_ylabel(f"total / start − 1\n[{ten(-15)}]")
        headline(picture, f"An undamped beam by passive midpoint, T = {1e3 * p['step']:g} ms: what it stores")
    statements = [
        drift(run),
        Statement("energy [mJ]", 1e3 * float(total[0])),
        Statement("least share of the potential energy", float((energies["potential"] / total).min())),
        Statement("its largest share", float((energies["potential"] / total).max())),
        Statement("joules created so far, largest, as a share", float(np.abs(run.arrays["ledger"][:, -1, 4]).max()
                                                                  / total[0])),
    ]  # fmt: skip
    return Outcome(picture, columns(run), tuple(statements), ours(p, beam) + NOTE)


NOTE = "The lower picture, of the whole run, is ours."

FIGURE = Figure(
    name="kim-fig13",
    title="Energy of an undamped beam by passive midpoint integration: it stays",
    source=f"{PAPER}, Fig. 13",
    make=make,
    params=PARAMS,
)
