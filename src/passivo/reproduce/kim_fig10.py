"""Peg in hole: two hands of ten bodies each grip, carry and insert by friction, and nothing is created (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import at_most, headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_hands import (
    BLOCK,
    FLOOR,
    LEFT,
    OURS,
    PARAMS,
    PEG,
    RIGHT,
    middle,
    scene,
    seen_from,
    task,
    times,
    turns,
)
from passivo.run.draw import COLOURS, figure, legend
from passivo.run.render import Canvas
from passivo.run.run import Run
from passivo.run.scene import Scene

VIEW = (-60.0, 20.0)
SHOWN = ("start", "up", "across", "down", "open", "end")
TITLES = ("open", "both grip", "lifted", "over the hole", "in the hole", "let go")


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = task(p, advance)
    at = {"start": 0.0, **times()}
    total = run.ledger.sel(part="total")
    stored, lost = total.stored.values - total.stored.values[0], total.lost.values
    work, created = total.work.values, total.created.values
    with figure(9.6, 8.2) as picture:
        above, below = picture.subfigures(2, 1, height_ratios=(2.0, 1.0))
        canvas = Canvas(Scene(run), 520, 430, view=VIEW)
        for axis, name, told in zip(above.subplots(2, 3).ravel(), SHOWN, TITLES):
            moment = min(at[name], p["until"])
            axis.imshow(canvas.picture(moment), interpolation="antialiased")
            axis.set_axis_off()
            axis.set_title(f"{told}, t = {moment:.2g} s")
        axis = below.subplots()
        for i, (name, values) in enumerate(
            {"work of the anchors": work, "stored, from the start on": stored, "lost": lost}.items()
        ):
            axis.plot(run.time, values, color=COLOURS[i], label=name)
        axis.set_xlabel("time [s]")
        axis.set_ylabel("energy [J]")
        legend(axis)
        headline(picture, f"Peg in hole by two hands of 10 bodies, T = {1e3 * p['step']:g} ms")

    known = dict(p) == PARAMS
    data = {"t [s]": run.time, "work [J]": work, "stored [J]": stored, "lost [J]": lost, "created [J]": created}
    for body in ("peg", "block"):
        data |= {f"{body} {axis} [m]": run[f"{body}.position"].values[:, i] for i, axis in enumerate("xyz")}
    statements = (*_made_of(), *_balance(run, created, known), *_where(run, p, known))
    return Outcome(picture, data, statements, OURS + NOTE)


def _made_of() -> list[Statement]:
    found = []
    world = scene(PARAMS)
    for hand in (RIGHT, LEFT):
        bodies = sum(name.startswith(hand) for name in world.bodies)
        joints = [bond for bond in world.bonds.values() if bond.row == "joints" and bond.name.startswith(hand)]
        points = sum(tie.kind == "point" for bond in joints for tie in bond.ties)
        found.append(Statement(f"{hand} hand: bodies m", float(bodies), "10", bodies == 10))
        found.append(Statement(f"{hand} hand: point constraints l", float(points), "16", points == 16))
    return found


def _balance(run: Run, created: np.ndarray, known: bool) -> list[Statement]:
    gaps = [i for i, name in enumerate(run.recorded) if name.endswith("_joint.gap")]
    total = run.ledger.sel(part="total")
    return [
        Statement("work of the anchors [J]", float(total.work[-1])),
        at_most("largest |energy created| so far, beyond that work [J]", np.abs(created).max(), 1e-11),
        Statement("verdict: exact", float(run.verdict.kind == "exact"), "1", run.verdict.kind == "exact"),
        Statement("lost to friction, impacts and damping [J]", float(total.lost[-1])),
        Statement("steps with contact in which the guard acted", float(np.nansum(run["contacts.guard"].values))),
        at_most("deepest overlap [m]", float(np.nanmax(run["contacts.depth"].values)), 1e-4, known),
        at_most("largest gap of a joint [m]", float(np.nanmax(run.arrays["recorded"][:, gaps])), 1e-4, known),
    ]


def _where(run: Run, p: Mapping[str, float], known: bool) -> list[Statement]:
    """Where peg and block end up, and how far they slip in the hands that carry them."""
    at = times()
    rim = BLOCK[2] - middle(p["gap"])
    place = seen_from(run, "block", "peg")
    deep = rim - (place[-1, 2] - PEG[2] / 2)
    lean = np.degrees(
        np.arccos(np.clip(np.einsum("ki,ki->k", turns(run, "peg")[:, :, 2], turns(run, "block")[:, :, 2]), -1, 1))
    )
    first, last = (min(round(at[name] / p["step"]), run.steps) for name in ("across", "down"))
    statements = [
        _paper(
            "highest lift of the peg [m]",
            float(run["peg.position"].values[:, 2].max() - PEG[2] / 2),
            "> 0.08",
            0.08,
            known,
        ),
        _paper(
            "lift of the block at the end [m]",
            float(run["block.position"].values[-1, 2] - middle(p["gap"])),
            "> 0.01",
            0.01,
            known,
        ),
    ]
    for hand, body in ((RIGHT, "peg"), (LEFT, "block")):
        held = seen_from(run, f"{hand}_palm", body)[first : last + 1]
        slipped = float(np.linalg.norm(held - held[0], axis=1).max())
        statements.append(
            at_most(f"{body} against the palm of the {hand} hand while it is carried, most [m]", slipped, 1e-3, known)
        )
    whole = BLOCK[2] - FLOOR
    text = "depth of the peg in the hole at the end [m]"
    statements.append(Statement.near(text, deep, whole, 1e-3) if known else Statement(text, float(deep)))
    statements.append(
        at_most(
            "the peg against the middle of the hole at the end [m]", float(np.abs(place[-1, :2]).max()), 2e-3, known
        )
    )
    statements.append(at_most("the peg against the axis of the hole at the end [degrees]", float(lean[-1]), 2.0, known))
    return statements


def _paper(text: str, found: float, than: str, least: float, known: bool) -> Statement:
    return Statement(text, found, than if known else "", bool(found > least) if known else None)


NOTE = (
    "The work of the anchors is booked at their ports, and beyond it nothing is created: joints are solved until "
    "nothing moves, which makes them exact. With the default, one solution a step, they create some 1e-7 J on the way, "
    "which the ledger shows in its row of joints."
)

FIGURE = Figure(
    name="kim-fig10",
    title="Peg in hole: two hands of ten bodies each grip, carry and insert by friction",
    source=f"{PAPER}, Fig. 10",
    make=make,
    params=PARAMS,
)
