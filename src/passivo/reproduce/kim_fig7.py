"""A falling box under elastic and plastic laws of contact, and under symplectic Euler (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping

from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_box import PARAMS, beyond, columns, fall, kept, ours, profiles
from passivo.run.draw import figure

LAWS = {**PARAMS, "until": 2.0}
SOON = 0.01  # s; how long it touches at first hangs on rounding where it slides off
FALLS = {
    "passive midpoint, elastic": ("passive midpoint", 1.0),
    "passive midpoint, plastic": ("passive midpoint", 0.0),
    "symplectic Euler, elastic": ("symplectic Euler", 1.0),
}


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    falls = {name: fall(p, restitution, method, advance) for name, (method, restitution) in FALLS.items()}
    with figure(8.6, 5.6) as picture:
        profiles(picture, falls)
        headline(picture, f"The same box under three laws of contact, friction {p['friction']:g}")

    known = dict(p) == LAWS
    elastic, plastic, euler = falls.values()
    soon = {name: float(it.left[it.rows(SOON)]) for name, it in falls.items()}
    statements: list[Statement] = []
    for name in list(FALLS)[:2]:
        statements += kept(name, falls[name])
    drifts = euler.flight
    statements += [
        Statement("symplectic Euler: largest change of energy in a step of flight, of that at the start", drifts),
        beyond("symplectic Euler: largest gain in a step with contact, of that at the start", euler.gain, "<= 1e-11",
               euler.gain <= 1e-11, known),
        beyond("elastic: highest centre after the first contact, of that at the start", elastic.rebound, "> 0.7",
               elastic.rebound > 0.7, known),
        beyond("plastic: the same", plastic.rebound, "< 0.6", plastic.rebound < 0.6, known),
        beyond("symplectic Euler, elastic by its parameters: the same", euler.rebound, "< 0.6", euler.rebound < 0.6,
               known),
        *(Statement(f"{name}: share of the energy left {SOON:g} s after it first touched", left)
          for name, left in soon.items()),
    ]  # fmt: skip
    return Outcome(picture, columns(falls), tuple(statements), ours(p) + NOTE)


NOTE = (
    "The caption of this figure is missing from our text of the paper; by the words around it, it sets elastic against "
    "plastic contact. Plastic comes out of c = |v_n|/2 in 0 <= p_n ⊥ u_n + c >= 0 with u_n the mean velocity of the "
    "step, elastic out of c = 0, without a model of restitution. Symplectic Euler, with the same solver and an elastic "
    "box, collides plastically; in flight its energy drifts by (m g² T²)/2 a step, which the ledger shows."
)

FIGURE = Figure(
    name="kim-fig7",
    title="A falling box: elastic against plastic contact, and symplectic Euler",
    source=f"{PAPER}, Fig. 7",
    make=make,
    params=LAWS,
)
