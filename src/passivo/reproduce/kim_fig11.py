"""Peg in hole: the contact force at each fingertip, in its own axes (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import at_most, headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_hands import FINGERS, LEFT, LINKS, OURS, PARAMS, RIGHT, fingertip_force, task, times
from passivo.run.draw import COLOURS, figure
from passivo.run.run import Run

G = 9.81
LINES = {"x, across": COLOURS[1], "y, along": COLOURS[2], "z, normal": COLOURS[0]}
PRESSED = 1.0  # N from which the cone is looked at


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = task(p, advance)
    forces = {(hand, finger): fingertip_force(run, hand, finger) for hand in (RIGHT, LEFT) for finger in FINGERS}
    with figure(9.6, 5.6) as picture:
        axes = picture.subplots(2, len(FINGERS), sharex=True, sharey="row")
        for axis, ((hand, finger), force) in zip(axes.ravel(), forces.items()):
            for (name, colour), values in zip(LINES.items(), force.T):
                axis.plot(run.time, values, color=colour, linewidth=1.2, label=name)
            axis.set_title(f"{hand} hand, {finger}")
        for axis in axes[:, 0]:
            axis.set_ylabel("force [N]")
        for axis in axes[-1]:
            axis.set_xlabel("time [s]")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
        headline(picture, "Contact forces at the fingertips, in the axes of each")

    known = dict(p) == PARAMS
    data = {"t [s]": run.time}
    for (hand, finger), force in forces.items():
        data |= {f"{hand} {finger} {axis} [N]": force[:, i] for i, axis in enumerate("xyz")}
    return Outcome(picture, data, tuple(_statements(run, p, forces, known)), OURS + NOTE)


def _statements(
    run: Run, p: Mapping[str, float], forces: Mapping[tuple[str, str], np.ndarray], known: bool
) -> list[Statement]:
    at = times()
    rows = lambda a, b: slice(*(min(round(at[name] / p["step"]), run.steps) for name in (a, b)))  # noqa: E731
    pulls = -min(float(force[:, 2].min()) for force in forces.values())
    statements = [at_most("largest pull of a fingertip along its normal [N]", pulls, 1e-6, known)]
    for hand, other in ((RIGHT, 0.6), (LEFT, p["friction"])):
        mu = float(np.sqrt(p["finger_friction"] * other))
        steep = 0.0
        for (name, _), force in forces.items():
            pressed = force[force[:, 2] > PRESSED]
            if name == hand and len(pressed):
                steep = max(steep, float((np.hypot(pressed[:, 0], pressed[:, 1]) / pressed[:, 2]).max()))
        text = f"{hand} hand: steepest force, tangential over normal"
        statements.append(at_most(text, steep, round(1.02 * mu, 4), known))
    carried = rows("across", "down")
    for hand, load in ((RIGHT, p["peg"]), (LEFT, p["block"])):
        weight = _weight(run, hand, carried)
        text = f"{hand} hand: what weighs on its fingertips while it carries, mean [N]"
        statements.append(Statement.near(text, weight, load * G, 0.01 * load * G) if known else Statement(text, weight))
        thumb, index, little = (float(forces[hand, finger][carried, 2].mean()) if run.steps > carried.start else 0.0
                                for finger in FINGERS)  # fmt: skip
        text = f"{hand} hand: normal force of the thumb over that of both fingers"
        ratio = thumb / (index + little) if index + little > 0.0 else 0.0
        statements.append(Statement.near(text, ratio, 1.0, 0.05) if known else Statement(text, ratio))
    weight = _weight(run, LEFT, rows("away", "end"))
    both = (p["peg"] + p["block"]) * G
    text = "left hand: what weighs on its fingertips once the peg is in the block [N]"
    statements.append(Statement.near(text, weight, both, 0.02 * both) if known else Statement(text, weight))
    gone = max(float(np.abs(forces[RIGHT, finger][rows("away", "end")]).max(initial=0.0)) for finger in FINGERS)
    statements.append(at_most("right hand: largest force once it has let go [N]", gone, 1e-9, known))
    return statements


def _weight(run: Run, hand: str, rows: slice) -> float:
    """The mean downward force on the fingertips of a hand."""
    names = [f"{hand}_{finger}_{LINKS[-1][0]}.contact_force" for finger in FINGERS]
    down = -sum(np.nan_to_num(run[name].values[rows, 2]) for name in names)
    return float(np.mean(down)) if np.size(down) else 0.0


NOTE = (
    "As in the paper, z is the normal of what a fingertip touches, out of it: a fingertip is pushed and never pulled. "
    "The y axis goes along the last link to its end. Every step is drawn: the bands are what stiff joints alternate by "
    "from one step to the next. The force is recorded of every body as its contact_force, in the axes of the world."
)

FIGURE = Figure(
    name="kim-fig11",
    title="Peg in hole: the contact force at each fingertip, in its own axes",
    source=f"{PAPER}, Fig. 11",
    make=make,
    params=PARAMS,
)
