"""What the figures of the beam that is touched share: beam, box, coupling, device and hand (spec 4.8, 4.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import pi

import numpy as np

from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.model.beam import Beam
from passivo.network.coupling import VirtualCoupling
from passivo.network.network import Network
from passivo.reproduce import kim_beam
from passivo.reproduce.common import at_most, engine_for, progress_of, whole
from passivo.reproduce.figure import Advance, Statement
from passivo.run.network_run import NetworkRun
from passivo.run.simulate import simulate
from passivo.world.shapes import Box, Sphere
from passivo.world.world import World

PARAMS = {
    **{name: value for name, value in kim_beam.PARAMS.items() if name not in ("force", "step", "until")},
    "box": 0.08, "mass": 0.1, "spring": 500.0, "coupling": 1000.0, "handle": 0.15, "drag": 1.0, "hand": 300.0,
    "damper": 1.0, "step": 1e-3, "device": 2.5e-4, "until": 4.0,
}  # fmt: skip
STROKES = ((0.3, 0.4, -0.08), (1.0, 0.2, 0.08), (2.0, 0.3, -0.08), (2.5, 0.06, 0.08))  # from s, for s, by m
WORK_PER_ELEMENT = 40  # what a step of one costs, in steps of a small system


def touched(p: Mapping[str, float]) -> Network:
    """The beam with a box on a spring at its end, in the hand of who holds the device."""
    section, side = (p["width"], p["height"]), p["box"]
    beam = Beam(
        p["length"], whole(p, "elements"), young=p["young"], density=p["density"], section=section, origin=(0, 0, 0)
    )
    world = World(gravity=(0, 0, 0), name="beam")
    tip = world.add_beam("bar", beam).node(beam.elements)
    box = world.add_body("box", Box(side, side, side / 4), p["mass"], position=(p["length"], 0, -0.6 * side))
    world.add_spring("spring", tip, box, p["spring"], length=0.6 * side)
    world.add_port("grip", box)

    held = World(gravity=(0, 0, 0), name="device")
    handle = held.add_body("handle", Sphere(0.3 * side), p["handle"], position=box.position, drag=p["drag"])
    held.add_spring("hand", handle, held.add_anchor("fingers", position=box.position), p["hand"], p["damper"])
    held.add_port("grip", handle)

    net = Network()
    inner = net.add("beam", world, PassiveMidpoint(), step=p["step"])
    outer = net.add("device", held, PassiveMidpoint(), step=p["device"])
    net.connect(outer["grip"], inner["grip"], through=VirtualCoupling(k=p["coupling"]), name="coupling")
    return net


def stroke(t: float) -> tuple[float, float, float]:
    """The velocity of the fingers: down slowly, up faster, and again."""
    up = sum(
        way * pi / (2 * span) * np.sin(pi * (t - start) / span)
        for start, span, way in STROKES
        if start <= t <= start + span
    )
    return 0.0, 0.0, float(up)


def told(advance: Advance) -> Callable[[int, int], None]:
    return progress_of(advance, "beam, box and device")


@lru_cache(maxsize=2)
def _task(items: tuple[tuple[str, float], ...]) -> NetworkRun:
    p = dict(items)
    steps = p["until"] / p["step"] * whole(p, "elements") * WORK_PER_ELEMENT
    return simulate(touched(p), until=p["until"], inputs={"device.fingers": stroke}, engine=engine_for(steps))


def task(p: Mapping[str, float], advance: Advance) -> NetworkRun:
    """The same run for both figures."""
    told(advance)(0, 1)
    run = _task(tuple(p.items()))
    told(advance)(1, 1)
    return run


def balance(run: NetworkRun, p: Mapping[str, float]) -> list[Statement]:
    """What holds at any parameters, and what needs enough damping at the device."""
    rows = {name: run.ledger.sel(part=name) for name in ("total", "coupling", "device", "beam")}
    total = rows["total"]
    out = total.stored.values - total.stored.values[0] - total.work.values
    known = dict(p) == PARAMS
    needed = p["coupling"] * p["device"] / 2
    parts = run.verdict.parts
    return [
        Statement("world of beam and box: verdict exact", float(parts["beam"].kind == "exact"), "1",
                  parts["beam"].kind == "exact"),
        Statement("world of the device: verdict exact", float(parts["device"].kind == "exact"), "1",
                  parts["device"].kind == "exact"),
        Statement("created by the coupling (K Δx²/2 per sample), all of it known to it [mJ]",
                  1e3 * float(rows["coupling"].created[-1])),
        at_most("of it unnoticed [J]", abs(run.verdict.unnoticed), 1e-12),
        Statement("K T/2, which the damping of the device covers [N s/m]", needed, f"<= {p['drag']:g}" if known else "",
                  needed <= p["drag"] if known else None),
        at_most("the whole: stored, less the start and the work of the fingers, most [J]", float(out.max()), 1e-12,
                needed <= p["drag"]),
        Statement("work of the fingers [mJ]", 1e3 * float(total.work[-1])),
    ]  # fmt: skip


def ours(p: Mapping[str, float]) -> str:
    return (
        "The paper's text lost its dimensions, and it has a person at an Omega 3. Ours: the beam of Fig. 12, a square "
        f"box of {1e3 * p['box']:g} mm and {1e3 * p['mass']:g} g on a spring of {p['spring']:g} N/m at its end, a "
        f"coupling of {p['coupling']:g} N/m, a handle of {1e3 * p['handle']:g} g with {p['drag']:g} N s/m, and fingers "
        f"of {p['hand']:g} N/m and {p['damper']:g} N s/m that hold it and go down slowly and up fast, twice. Beam and "
        f"box step every {1e3 * p['step']:g} ms, the device every {1e3 * p['device']:g} ms. "
    )
