"""A box that falls flat on a floor, with restitutions from 0 to 1 (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from passivo.reproduce.common import at_most, headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_box import BOX, PARAMS, Fall, columns, fall, kept, ours, profiles
from passivo.run.draw import figure

LAWS = {name: value for name, value in PARAMS.items() if name[0] != "w"} | {"until": 2.0}
RESTITUTIONS = (1.0, 0.75, 0.5, 0.25, 0.0)


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    falls = {f"restitution {e:g}": fall(p, e, "passive midpoint", advance, flat=True) for e in RESTITUTIONS}
    with figure(8.6, 5.6) as picture:
        profiles(picture, falls)
        headline(picture, f"A box falls flat from {p['height']:g} m, T = {1e3 * p['step']:g} ms")

    statements: list[Statement] = []
    for e, (name, it) in zip(RESTITUTIONS, falls.items()):
        found = speeds(it)
        statements.append(Statement.near(f"{name}: speed after the first impact over that before", found, e, 1e-6))
        statements += kept(name, it)
    bounced = falls["restitution 0.5"]
    tall = float(bounced.height[bounced.after :].max() - BOX[2] / 2) / (p["height"] - BOX[2] / 2)
    statements.append(
        Statement.near("restitution 0.5: height of the first bounce over that of the fall", tall, 0.25, 0.01)
    )
    ends = [float(it.left[it.after]) for it in falls.values()]
    statements += [
        at_most(
            "largest step by which a lower restitution leaves more energy",
            max(less - more for more, less in pairwise(ends)),
            0.0,
        )
    ]
    return Outcome(picture, columns(falls), tuple(statements), ours(p, flat=True) + NOTE)


def speeds(it: Fall) -> float:
    """How fast it leaves the first impact, over how fast it came, in the step before and the step after it."""
    v = it.run["box.velocity"].values[:, 2]
    return float(-v[it.first] / v[it.first - 1])


NOTE = (
    "The caption of this figure is missing from our text of the paper; by the words around it, it shows what lies "
    "between elastic and plastic contact. With c = (1 − e)/2 |v_n| the speed comes back as e times itself, at any step "
    "and for any e from 0 to 1; the part e² of the energy stays. An impact slower than 2 g T does not bounce, so that "
    "what has come down comes to rest."
)

FIGURE = Figure(
    name="kim-fig8",
    title="A falling box: restitutions between elastic and plastic",
    source=f"{PAPER}, Fig. 8",
    make=make,
    params=LAWS,
)
