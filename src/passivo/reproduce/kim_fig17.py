"""The hand of three fingers, and how tendons run in each of them (spec 4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_grasp import ACTIVE, FINGERS, JOINTS, OURS, PASSIVE, hand, start
from passivo.run.draw import COLOURS, figure
from passivo.run.render import Canvas
from passivo.run.scene import Scene
from passivo.run.simulate import simulate
from passivo.world.world import World

PARAMS = {"tendon": 1e6, "step": 1e-3, "until": 2e-3}
VIEW = (-60.0, -8.0)
LENGTHS = (50.0, 35.0, 22.0)  # mm, of the links
WIDE, APART = 2.2, 0.6  # arms are drawn so much wider than they are; mm between tendons that run together
TOLD = {
    "flexor": "active: winds up all joints",
    "lever": "active: moves the base alone",
    "link": "couples knuckle and end",
    "back_link": "couples them the other way round",
    "extensor": "spring that opens all joints",
    "tip_extensor": "spring that opens the outer two",
}


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    world = hand(p)
    run = simulate(world, PassiveMidpoint(), p["step"], p["until"], start=start(), engine="python")
    with figure(9.6, 5.2) as picture:
        left, right = picture.subfigures(1, 2, width_ratios=(1.0, 1.25))
        axis = left.subplots()
        axis.imshow(Canvas(Scene(run), 560, 620, view=VIEW).picture(0.0), interpolation="antialiased")
        axis.set_axis_off()
        axis.set_title("three fingers over a ball on its post")
        _route(right.subplots(), world)
        told = "A hand wound up by tendons: three joints, two active and four passive tendons in each finger"
        headline(picture, told)
    arms = {f"{name} arm [mm]": np.array(_arms(world, name)) for name in (*ACTIVE, *PASSIVE)}
    return Outcome(picture, {"joint": np.arange(1.0, 4.0), **arms}, tuple(_statements(world)), OURS + NOTE)


def _arms(world: World, name: str) -> list[float]:
    """Moment arms of a tendon of the first finger at its joints, mm; positive where it closes."""
    cord = world.tendons[f"{FINGERS[0]}_{name}"]
    slopes = dict(zip(cord.joints, cord.slopes))
    return [-1e3 * slopes.get(f"{FINGERS[0]}_{joint}", 0.0) for joint in JOINTS]


def _route(axis: Any, world: World) -> None:
    """One finger from its side, straight: links, joints, and each tendon at its arms."""
    from matplotlib.patches import Circle, FancyBboxPatch

    places = np.concatenate([[0.0], np.cumsum(LENGTHS)])
    for x, length in zip(places, LENGTHS):
        box = FancyBboxPatch((x + 4, -9), length - 8, 18, boxstyle="round,rounding_size=4", color="0.93", zorder=0)
        axis.add_patch(box)
    for x, joint in zip(places, JOINTS):
        for size in sorted({abs(arm) for name in TOLD for arm in (_arms(world, name)[JOINTS.index(joint)],)} - {0.0}):
            axis.add_patch(Circle((x, 0.0), WIDE * size, fill=False, color="0.75", linewidth=0.8, zorder=1))
        axis.plot([x], [0.0], "o", color="0.3", markersize=5, zorder=2)
        axis.annotate(joint, (x, 0.0), (x, 37.0), ha="center", color="0.3")
    for i, (name, told) in enumerate(TOLD.items()):
        arms = _arms(world, name)
        last = max(j for j, arm in enumerate(arms) if arm)
        first = min(j for j, arm in enumerate(arms) if arm) if name.endswith("link") else 0
        x = [places[first] - 24.0, *places[first : last + 1], places[last] + 0.6 * LENGTHS[last]]
        drawn = [-WIDE * arm + APART * (i - 2.5) for arm in arms[first : last + 1]]
        y = [drawn[0], *drawn, drawn[-1]]
        style = "-" if name in ACTIVE else "--"
        axis.plot(x, y, style, color=COLOURS[i], linewidth=1.8, label=f"{told}", zorder=3)
        axis.plot([x[-1]], [y[-1]], "s", color=COLOURS[i], markersize=4.5, zorder=3)
    axis.set_aspect("equal")
    axis.set_xlim(-30, places[-1] + 8)
    axis.set_ylim(-44, 44)
    axis.set_axis_off()
    axis.set_title("routing in a finger, seen from its side")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, frameon=False, fontsize=8)


def _statements(world: World) -> list[Statement]:
    found = [Statement("fingers", float(len(FINGERS)), "3", True)]
    for finger in FINGERS:
        joints = sum(name.startswith(f"{finger}_") for name in world.joints)
        cords = [cord for cord in world.tendons.values() if cord.name.startswith(f"{finger}_")]
        active = sum(bool(cord.command) for cord in cords)
        found += [
            Statement(f"finger {finger}: joints", float(joints), "3", joints == 3),
            Statement(f"finger {finger}: active tendons", float(active), "2", active == 2),
            Statement(f"finger {finger}: passive tendons", float(len(cords) - active), "4", len(cords) - active == 4),
        ]
    return found


NOTE = (
    f"In the drawing moment arms are {WIDE:g} times as wide as they are, and what closes the finger runs below. The "
    "palm hangs on an anchor by an SE(3) spring; palm and fingers are one mechanism of 15 degrees of freedom."
)

FIGURE = Figure(
    name="kim-fig17",
    title="The hand of three fingers, and the routing of its tendons",
    source=f"{PAPER}, Fig. 17",
    make=make,
    params=PARAMS,
)
