"""An undamped mass on a spring by energy-consistent steps, as one system and as two (spec 1.9): their periods."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.energy_consistent import EnergyConsistent
from passivo.reproduce.common import constancy, headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import JOURNAL, oscillation, period, reference, swings
from passivo.run.draw import COLOURS, DASHED, figure, legend

PARAMS = {
    "k": 5000.0, "m": 0.2, "q0": 0.2, "step": 1e-3, "until": 1.0, "shown": 0.25, "alpha": 0.1, "beta": 0.9,
    "swings": 4.0,
}  # fmt: skip


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    methods = {
        "radial": EnergyConsistent(alpha=p["alpha"], beta=p["beta"]),
        "Euclidean": EnergyConsistent("euclidean", alpha=p["alpha"], beta=p["beta"]),
        "two systems": EnergyConsistent(alpha=p["alpha"], beta=p["beta"], books="each"),
    }
    runs = {
        name: oscillation(p, method, {"q": p["q0"]}, progress_of(advance, name)) for name, method in methods.items()
    }
    time = runs["radial"].time
    exact = reference(p, (p["q0"], 0.0), time)[0]
    position = {name: run.arrays["states"][:, 0] for name, run in runs.items()}
    shown = time <= p["shown"]

    with figure(8.0, 5.4) as picture:
        above, below = picture.subplots(2, 1, sharex=True)
        for axis, names in ((above, ("radial", "Euclidean")), (below, ("two systems",))):
            axis.plot(
                time[shown] * 1e3, exact[shown], color="black", linestyle=DASHED, linewidth=1.0, label="reference"
            )
            for name in names:
                colour = COLOURS[list(runs).index(name)]
                label = name if len(names) == 1 else f"one system, {name}"
                axis.plot(time[shown] * 1e3, position[name][shown], ".-", color=colour, linewidth=0.9, label=label)
            axis.set_ylabel("position [m]")
            legend(axis)
        below.set_xlabel("time [ms]")
        headline(picture, f"Undamped: k = {p['k']:g} N/m, m = {p['m']:g} kg, T = {p['step']:g} s")

    omega, h, count = np.sqrt(p["k"] / p["m"]), p["step"], whole(p, "swings")
    mean = {name: 1e3 * period(time, x) for name, x in position.items()}
    ours = {
        "exact": 2e3 * np.pi / omega,
        "the reference": 1e3 * period(time, exact),
        "one system, radial": mean["radial"],
        "one system, Euclidean": mean["Euclidean"],
        f"two systems, mean of the first {count} swings": 1e3 * period(time, position["two systems"], count),
    }
    expected = (39.738, 39.738, 40.07, 42.0, 44.4)
    statements = []
    for (name, found), value in zip(ours.items(), expected):
        text, within = f"period of {name} [ms]", 1e-3 if name == "exact" else 0.1
        statements.append(
            Statement.near(text, found, value, within) if dict(p) == PARAMS else Statement(text, float(found))
        )
    closed = 2 * np.pi * h / np.arctan(omega * h)
    if np.isfinite(mean["radial"]):
        text = "radial period over its closed form 2πT / atan(ωT)"
        statements.append(Statement.near(text, mean["radial"] / (closed * 1e3), 1.0, 1e-3))
    last = runs["two systems"].arrays["ledger"][:, -1]
    leaps = runs["two systems"].faults["leap"]
    statements += [
        constancy("one system: change of H [J]", runs["radial"].arrays["ledger"][:, -1, 0], 1e-11 * last[0, 0]),
        constancy("two systems: change of H − HBK [J]", last[:, 0] - last[:, 5], 1e-11 * last[0, 0]),
        Statement("two systems: energy leaps", float(leaps), "> 0", leaps > 0),
        Statement("one system: energy leaps", float(runs["radial"].faults["leap"]), "0",
                  runs["radial"].faults["leap"] == 0),
    ]  # fmt: skip
    each = ", ".join(f"{swing * 1e3:.1f}" for swing in swings(time, position["two systems"])[:6])
    note = (
        "The paper gives no periods and no alpha. It moves along Euclidean field lines, which depend on the units of "
        "the states; the ray of the energy is nearer to the truth. As two systems the swings differ from each other, "
        f"because an energy leap marks each passage through 0: {each} ms. With the mean of all of "
        f"{p['until']:g} s it is {mean['two systems']:.2f} ms."
    )
    data = {"t [s]": time, "reference [m]": exact} | {f"{name} [m]": x for name, x in position.items()}
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="borghesan-fig9",
    title="An undamped mass on a spring as one energy-consistent system and as two",
    source=f"{JOURNAL}, Fig. 9",
    make=make,
    params=PARAMS,
)
