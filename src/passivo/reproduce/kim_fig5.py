"""A box falls on a floor under two integrators: one lets it bounce, the other does not (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping

from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_box import METHODS, PARAMS, beyond, columns, fall, kept, ours
from passivo.run.draw import figure
from passivo.run.render import Canvas
from passivo.run.scene import Scene

LAWS = {**PARAMS, "restitution": 1.0, "until": 1.2}
SHOWN = (0.0, 0.2, 0.3, 0.4, 0.6, 0.9)  # of 1.2 s
VIEW = (25.0, 12.0)


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    falls = {name: fall(p, p["restitution"], name, advance) for name in METHODS}
    moments = [share * p["until"] / LAWS["until"] for share in SHOWN]
    with figure(9.6, 3.9) as picture:
        axes = picture.subplots(2, len(SHOWN) // 2).ravel()
        canvas = Canvas(Scene(*(it.run for it in falls.values())), 480, 300, view=VIEW)
        for axis, moment in zip(axes, moments):
            axis.imshow(canvas.picture(moment), interpolation="antialiased")
            axis.set_axis_off()
            axis.set_title(f"t = {moment:.2g} s")
        blue, orange = falls
        laws = f"restitution {p['restitution']:g}, friction {p['friction']:g}"
        headline(picture, f"The same box by {blue} (blue) and {orange} (orange), {laws}")

    known = dict(p) == LAWS
    free, stopped = falls.values()
    stays = stopped.height[stopped.first] / stopped.height[0]
    statements = [
        beyond("passive midpoint bounces: highest centre after the first contact, of that at the start", free.rebound,
               "> 0.7", free.rebound > 0.7, known),
        beyond("symplectic Euler does not: the same", stopped.rebound, f"<= {stays:.4g}, its height at first contact",
               stopped.rebound <= stays * (1 + 1e-9), known),
        *kept("passive midpoint", free),
    ]  # fmt: skip
    return Outcome(picture, columns(falls), tuple(statements), ours(p) + NOTE)


NOTE = (
    "The white and the black box of the paper are the blue and the orange one here. Both integrators solve the same "
    "contacts with the same sweeps: in passive midpoint integration on the mean velocity of the step, which turns the "
    "velocity around; in symplectic Euler on that at its end, which can only stop it, whatever the restitution."
)

FIGURE = Figure(
    name="kim-fig5",
    title="A falling box: it bounces under passive midpoint integration, and not under symplectic Euler",
    source=f"{PAPER}, Fig. 5",
    make=make,
    params=LAWS,
)
