"""Beam, rigid box and device: two kinds of coordinates in one world, held through a virtual coupling (spec 4.8)."""

from __future__ import annotations

from collections.abc import Mapping

from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_touch import PARAMS, balance, ours, task
from passivo.run.draw import COLOURS, figure, legend
from passivo.run.render import Canvas
from passivo.run.scene import Scene

VIEW = (-75.0, 8.0)
SHOWN = {"at rest": 0.0, "pulled down": 0.85, "let up": 1.13, "it swings": 2.62}


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = task(p, advance)
    inner = run.part("beam")
    rows = {name: run.ledger.stored.sel(part=f"beam.{name}").values for name in ("kinetic", "beams", "springs")}
    time, times, tip = run.ledger.time.values, inner["bar.w1"].time.values, inner["bar.deflection"].values[:, -1]
    with figure(9.6, 7.6) as picture:
        above, below = picture.subfigures(2, 1, height_ratios=(1.5, 1.0))
        canvas = Canvas(Scene(run), 1000, 560, view=VIEW)
        for axis, (told, moment) in zip(above.subplots(2, 2).ravel(), SHOWN.items()):
            at = min(moment, p["until"])
            axis.imshow(canvas.picture(at)[130:-60, 160:-80], interpolation="antialiased")
            axis.set_axis_off()
            axis.set_title(f"{told}, t = {at:.3g} s")
        axis = below.subplots()
        names = {"kinetic": "motion of beam and box", "beams": "bending of the beam", "springs": "spring and coupling"}
        for i, (name, label) in enumerate(names.items()):
            axis.plot(time, 1e3 * rows[name], color=COLOURS[i], linewidth=1.2, label=label)
        axis.set_xlabel("time [s]")
        axis.set_ylabel("energy [mJ]")
        axis.set_ylim(bottom=0.0)
        legend(axis)
        headline(picture, f"A beam and a rigid box in the hand: world at {1e-3 / p['step']:g} kHz, "
                 f"device at {1e-3 / p['device']:g} kHz")  # fmt: skip
    data = {"t [s]": time} | {f"{name} [J]": values for name, values in rows.items()}
    data |= {"t of the beam [s]": times, "tip [m]": tip, "box z [m]": inner["box.position"].values[:, 2]}
    return Outcome(picture, data, tuple(balance(run, p)), ours(p) + NOTE)


NOTE = "The green ball is the handle, the small frame the fingers. The energies below are ours."

FIGURE = Figure(
    name="kim-fig15",
    title="A beam (coordinates of its nodes) and a rigid box (a pose) in one world, held through a virtual coupling",
    source=f"{PAPER}, Fig. 15",
    make=make,
    params=PARAMS,
)
