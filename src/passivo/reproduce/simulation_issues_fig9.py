"""Energy of a fast spring and a slow mass, and what the passive sample and hold between them owes (spec 1.9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce import simulation_issues_fig8
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import CONFERENCE, nothing_unbooked
from passivo.reproduce.simulation_issues_fig8 import case, run_of
from passivo.run.draw import COLOURS, GREY, bounds, figure, legend

PARAMS = {name: value for name, value in simulation_issues_fig8.PARAMS.items() if not name.startswith("zoom")}


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = run_of(p, advance)
    spring, mass, link = run.runs["spring"], run.runs["mass"], run.links["link"]
    ratio = int(p["ratio"])
    kinetic = mass.arrays["ledger"][:, -1, 0]
    held = np.repeat(kinetic, ratio)[: len(spring.time)]  # the mass as it last stepped
    fast = spring.arrays["ledger"][:, -1, 0] + held
    slow, error = fast[::ratio], link["error"].values

    with figure(8.0, 5.6) as picture:
        above, below = picture.subplots(2, 1, sharex=True)
        rows, low, high = bounds(fast, ratio, 1200)
        above.fill_between(spring.time[rows], low, high, color=GREY, alpha=0.4, linewidth=0, label="every Tf")
        above.plot(mass.time, slow, color=COLOURS[0], linewidth=0.9, label="every Ts")
        above.axhline(fast[0], color=COLOURS[2], linewidth=0.8, label="exact")
        above.set_ylabel("kinetic + potential\nenergy [J]")
        below.plot(link.time, error, color=COLOURS[1], linewidth=0.9)
        below.set_ylabel("energy error HE [J]")
        below.set_xlabel("time [s]")
        legend(above)
        headline(picture, f"Energy beside a passive sample and hold: {case(p)}")

    statements = [
        nothing_unbooked("change of H + HE − HBK [J]", run),
        Statement("largest |H / H(0) − 1|, every Tf", float(np.abs(fast / fast[0] - 1).max())),
        Statement("largest |H / H(0) − 1|, every Ts", float(np.abs(slow / fast[0] - 1).max())),
    ]
    if dict(p) == PARAMS:
        half = len(slow) // 2
        early, late = (float(np.abs(part).max()) for part in (error[:half], error[half:]))
        mean = float(slow[half:].mean())
        statements += [
            Statement.near("mean H of the second half, every Ts [J]", mean, 1.0, 0.1),
            Statement("largest |HE| of the second half over that of the first", late / early, "<= 1.1",
                      late <= 1.1 * early),
        ]  # fmt: skip
    note = (
        "The paper shows the two curves without numbers and names the second a power; here it is the energy HE in "
        "joules. Between two slow samples the spring moves on while the mass waits: the grey band. It says that every "
        "correction brings the energy near 1 J."
    )
    data = {
        "t [s]": spring.time,
        "H every Tf [J]": fast,
        "t of Ts [s]": mass.time,
        "H every Ts [J]": slow,
        "HE [J]": error,
    }
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="simulation-issues-fig9",
    title="Energy of a fast spring and a slow mass, and what the sample and hold between them owes",
    source=f"{CONFERENCE}, Fig. 9",
    make=make,
    params=PARAMS,
)
