"""The same beam by passive midpoint, implicit Euler, which loses its energy, and symplectic Euler, which blows up
(spec 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.errors import StepError
from passivo.method.one_stage import ImplicitEuler, SymplecticEuler
from passivo.method.part import compile
from passivo.model.beam import Beam
from passivo.reproduce.common import at_most, headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_beam import PARAMS, bent, clamped, columns, drift, midpoint, ours, profile, stored, swing
from passivo.run.draw import COLOURS, DASHED, decades, figure, legend

LAWS = {**PARAMS, "until": 0.6}
HALF = 0.4  # s, by which half is lost
MOST = 1e30  # times the energy of the start: enough of a blow-up


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    beam = clamped(p)
    run = swing(beam, p, ImplicitEuler(), p["until"], advance)
    energies = stored(run)
    left = energies["total"] / energies["total"][0]
    kept = midpoint(beam, p, advance)
    total = stored(kept)["total"]
    burst = blow_up(beam, p)
    half = np.flatnonzero(left <= 0.5)
    with figure(8.6, 5.6) as picture:
        above, below = picture.subplots(2, height_ratios=(1.6, 1))
        profile(above, run.time, energies)
        above.plot(1e3 * kept.time, 1e3 * total, color="black", linestyle=DASHED, label="total, by passive midpoint")
        if len(half):
            above.axvline(1e3 * run.time[half[0]], color="black", linewidth=0.8, alpha=0.5)
            above.annotate(f"half is lost, {1e3 * run.time[half[0]]:.0f} ms", (1e3 * run.time[half[0]], 0.9),
                           (4, 0), ("data", "axes fraction"), "offset points")  # fmt: skip
        above.set_ylabel("implicit Euler\nenergy [mJ]")
        legend(above)
        lines = {"symplectic Euler": burst, "implicit Euler": left, "passive midpoint": total / total[0]}
        looks = ({"color": COLOURS[3]}, {"color": COLOURS[2]}, {"color": "black", "linestyle": DASHED})
        for (name, values), look in zip(lines.items(), looks):
            below.semilogy(values[: len(burst)], marker="o", label=name, **look)
        decades(below.yaxis, 1.0, float(burst.max()) * 10)
        below.set_xticks(range(len(burst)))
        below.set_xlabel("the first steps")
        below.set_ylabel("energy / start")
        legend(below)
        headline(picture, f"The same beam by three integrators, T = {1e3 * p['step']:g} ms")
    known = dict(p) == LAWS
    when = float(run.time[half[0]]) if len(half) else np.inf
    fastest = float(beam.modes(len(beam.free))[0][-1])
    grown = bool(burst[-1] > 1e6)
    statements = [
        drift(kept),
        at_most("implicit Euler: seconds until half of the energy is lost", when, HALF, known),
        Statement("implicit Euler: share left at the end", float(left[-1])),
        at_most("implicit Euler: largest gain of energy in a step, of that at the start",
                float(np.diff(left).max()), 1e-12),
        Statement("symplectic Euler: energy / start at the end", float(burst[-1]), "> 1e+06" if known else "",
                  grown if known else None),
        Statement("symplectic Euler: steps until then", float(len(burst) - 1)),
        Statement("T ω of the fastest mode, where symplectic Euler needs less than 2", p["step"] * fastest),
    ]  # fmt: skip
    data = columns(run)
    grows = np.full(len(run.time), np.nan)
    grows[: len(burst)] = burst
    data |= {"symplectic Euler: energy / start": grows, "passive midpoint: energy / start": total / total[0]}
    return Outcome(picture, data, tuple(statements), ours(p, beam) + NOTE)


def blow_up(beam: Beam, p: Mapping[str, float]) -> np.ndarray:
    """The energy over that of the start after each step of symplectic Euler, as far as it can be told."""
    part = compile(beam, SymplecticEuler(), p["step"], start=bent(beam, p), engine="python")
    energy = [part.stored]
    for _ in range(int(p["until"] / p["step"])):
        try:
            part.step()
        except StepError:
            break
        energy.append(part.stored)
        if not energy[-1] < MOST * energy[0]:
            break
    return np.array(energy) / energy[0]


NOTE = "The paper shows implicit Euler here, passive midpoint in Fig. 13, and says symplectic Euler in words."

FIGURE = Figure(
    name="kim-fig14",
    title="The same beam by passive midpoint, by implicit Euler, which loses its energy, and by symplectic Euler, "
    "which blows up",
    source=f"{PAPER}, Fig. 14",
    make=make,
    params=LAWS,
)
