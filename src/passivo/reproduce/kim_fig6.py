"""Energy and height of a box that falls and bounces: constant in flight, never rising in contact (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import at_most, headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_box import PARAMS, Fall, beyond, columns, fall, kept, ours
from passivo.run.draw import COLOURS, figure, legend

LAWS = {**PARAMS, "restitution": 1.0, "until": 5.0}


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    rough = fall(p, p["restitution"], "passive midpoint", advance)
    smooth = fall({**p, "friction": 0.0}, p["restitution"], "passive midpoint", advance)
    falls = {"with friction": rough, "without friction": smooth}
    with figure(8.6, 5.6) as picture:
        above, below = picture.subplots(2, sharex=True)
        for i, (name, it) in enumerate(falls.items()):
            look = {"color": COLOURS[i], "linewidth": 1.4}
            above.plot(it.time, it.energy, label=name, **look)
            touched = np.where(it.touching, it.energy, np.nan)
            above.plot(it.time, touched, ".", color=COLOURS[i], markersize=4)
        below.plot(rough.time, rough.height, color=COLOURS[0], linewidth=1.4)
        above.plot([], [], ".", color="black", markersize=4, label="in contact")
        above.set_ylabel("energy [J]")
        below.set_ylabel("height of the centre [m],\nwith friction")
        below.set_xlabel("time [s]")
        above.set_ylim(bottom=0.0)
        below.set_ylim(bottom=0.0)
        legend(above)
        headline(picture, f"Elastic impacts, friction {p['friction']:g} and 0, T = {1e3 * p['step']:g} ms")

    known = dict(p) == LAWS
    lost = float(1.0 - rough.left[-1])
    elastic = p["restitution"] == 1.0
    statements = [
        *kept("with friction", rough),
        beyond("with friction: share of the energy lost by the end", lost, "> 0.3", lost > 0.3, known),
        Statement("with friction: times that it came down", float(_bounces(rough))),
        Statement("with friction: largest share that one time in contact lost", _largest(rough)),
        *kept("without friction", smooth),
    ]
    if elastic:
        off = float(np.abs(smooth.left - 1.0).max())
        statements.append(at_most("without friction: largest |energy / start − 1|", off, 1e-11))
    return Outcome(picture, columns(falls), tuple(statements), ours(p) + NOTE)


def _bounces(it: Fall) -> int:
    return int((it.touching[1:] & ~it.touching[:-1]).sum())


def _largest(it: Fall) -> float:
    """The largest loss between two flights, as a share of the energy at the start."""
    away = np.flatnonzero(~it.touching)
    return float(-np.diff(it.left[away]).min(initial=0.0))


NOTE = (
    "The energy is that of the ledger: of the motion, and of the tank that losses of contacts fill (at most 1 mJ) and "
    "that pays where the box is lifted out of the floor by micrometres. In flight it is constant and in contact it "
    "falls, by slip along the surface alone: with friction 0 the same elastic impacts lose nothing at all."
)

FIGURE = Figure(
    name="kim-fig6",
    title="A falling box: its energy is constant in flight and never rises in contact",
    source=f"{PAPER}, Fig. 6",
    make=make,
    params=LAWS,
)
