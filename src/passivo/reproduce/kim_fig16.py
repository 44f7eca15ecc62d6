"""What the hand feels of the beam through box and coupling, along the vertical (spec 4.8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_beam import heard
from passivo.reproduce.kim_touch import PARAMS, STROKES, balance, ours, task
from passivo.run.draw import COLOURS, figure, legend


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = task(p, advance)
    force = run.links["coupling"]["force"]
    time, z = force.time.values, -force.values[:, 2]
    inner, outer = run.part("beam"), run.part("device")
    times, tip = inner["bar.w1"].time.values, inner["bar.deflection"].values[:, -1]
    handle = outer["handle.position"].values[:, 2]
    with figure(8.6, 6.0) as picture:
        above, below = picture.subplots(2, sharex=True, height_ratios=(1.3, 1.0))
        above.plot(time, z, color=COLOURS[0], linewidth=0.9)
        above.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        above.set_ylabel("force on the device,\nupwards [N]")
        below.plot(times, 1e3 * tip, color=COLOURS[1], linewidth=0.9, label="end of the beam")
        below.plot(
            outer["handle.position"].time.values,
            1e3 * (handle - handle[0]),
            color=COLOURS[2],
            linewidth=1.4,
            label="device",
        )
        below.set_xlabel("time [s]")
        below.set_ylabel("upwards from rest [mm]")
        legend(below)
        headline(picture, "What a hand feels of an undamped beam, through a rigid box and a virtual coupling")
    data = {"t [s]": time, "force on the device [N]": z}
    statements = [
        *balance(run, p),
        Statement("largest force on the device [N]", float(np.nanmax(np.abs(z)))),
        Statement("pull while the beam is held down, t = 0.9 s [N]", float(z[np.searchsorted(time, 0.9) - 1])),
    ]
    if p["until"] > STROKES[-1][0] + 1.0:
        late = times > STROKES[-1][0] + STROKES[-1][1]
        statements.append(
            Statement("mean period of the beam after it was let go [ms]", 1e3 * heard(times[late], tip[late]))
        )
    return Outcome(picture, data, tuple(statements), ours(p))


FIGURE = Figure(
    name="kim-fig16",
    title="Force feedback from the beam, through a rigid box and a virtual coupling, along the vertical",
    source=f"{PAPER}, Fig. 16",
    make=make,
    params=PARAMS,
)
