"""What the figures of the paper on passive midpoint integration share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from passivo.method.base import Method
from passivo.method.one_stage import ExplicitEuler, ImplicitEuler, SymplecticEuler
from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.model import library
from passivo.reproduce.common import at_most, engine_for, headline, progress_of
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import COLOURS, DASHED, DOTTED, decades, figure, legend
from passivo.run.run import Run
from passivo.run.simulate import simulate

PAPER = "Kim, Lee, Lee and Lee, haptic rendering and interactive simulation using passive midpoint integration"
METHODS: dict[str, Method] = {
    "explicit Euler": ExplicitEuler(),
    "symplectic Euler": SymplecticEuler(),
    "implicit Euler": ImplicitEuler(),
    "passive midpoint": PassiveMidpoint(),
}
LINES = {name: (COLOURS[i], style) for i, (name, style) in enumerate(zip(METHODS, (DOTTED, DASHED, "-", "-")))}
Identity = Callable[..., np.ndarray]
# what a step changes the energy by, beyond the work of the force (spec 4.1), and the velocity that the force acts along
IDENTITIES: dict[str, tuple[Identity, Identity]] = {
    "explicit Euler": (lambda m, k, dv, dx: (m * dv**2 + k * dx**2) / 2, lambda old, new: old),
    "symplectic Euler": (lambda m, k, dv, dx: (-m * dv**2 + k * dx**2) / 2, lambda old, new: new),
    "implicit Euler": (lambda m, k, dv, dx: (-m * dv**2 - k * dx**2) / 2, lambda old, new: new),
    "passive midpoint": (lambda m, k, dv, dx: 0.0 * dx, lambda old, new: (old + new) / 2),
}


def gap(run: Run, name: str, p: Mapping[str, float]) -> float:
    """The largest amount by which a step misses the identity of its method, against the energies of that step."""
    x, v = run.arrays["states"].T.astype(np.longdouble) / np.array([[1.0], [p["m"]]])
    rest, acting = IDENTITIES[name]
    energy = (p["m"] * v**2 + p["k"] * x**2) / 2
    work = p["step"] * p["force"] * acting(v[:-1], v[1:])
    missed = np.diff(energy) - work - rest(p["m"], p["k"], np.diff(v), np.diff(x))
    return float((np.abs(missed) / (energy[:-1] + energy[1:] + np.abs(work))).max())


def exact(p: Mapping[str, float], time: np.ndarray) -> np.ndarray:
    """Where the mass truly is."""
    rest, beat = p["force"] / p["k"], np.sqrt(p["k"] / p["m"])
    return rest + (p["x0"] - rest) * np.cos(beat * time) + p["v0"] / beat * np.sin(beat * time)


def make(p: Mapping[str, float], advance: Advance, known: bool, note: str) -> Outcome:
    """A mass on a spring by four methods: where it is, and its energy as a multiple of that at the start."""
    runs = {}
    for name, method in METHODS.items():
        runs[name] = simulate(
            library.oscillator(k=p["k"], m=p["m"]),
            method,
            p["step"],
            p["until"],
            start={"q": p["x0"], "p": p["m"] * p["v0"]},
            inputs={"force": p["force"]},
            engine=engine_for(p["until"] / p["step"]),
            progress=progress_of(advance, name),
        )
    time = runs["passive midpoint"].time
    energy = {name: run.arrays["ledger"][:, -1, 0] for name, run in runs.items()}
    ratio = {name: values / values[0] for name, values in energy.items()}
    beat = p["step"] * np.sqrt(p["k"] / p["m"])
    most = 2.5 * max(abs(p["x0"]), abs(p["v0"]) * np.sqrt(p["m"] / p["k"]))

    with figure(8.6, 5.6) as picture:
        places, energies = picture.subplots(2, sharex=True)
        fine = np.linspace(0.0, time[-1], 2000)
        places.plot(fine, exact(p, fine), color="black", linewidth=2.4, alpha=0.3, label="exact")
        for name, run in runs.items():
            colour, style = LINES[name]
            look = {"color": colour, "linestyle": style, "linewidth": 2.0 if name == "passive midpoint" else 1.3}
            x = run.arrays["states"][:, 0]
            out = np.flatnonzero(np.abs(x) > most)  # what has left the picture does not come back into it
            until = out[0] + 1 if len(out) else len(x)
            places.plot(time[:until], x[:until], **look, label=name)
            energies.semilogy(time, ratio[name], **look)
        places.set_ylim(-most, most)
        places.set_ylabel("position [m]")
        energies.set_ylim(1e-3, 1e3)
        decades(energies.yaxis, 1e-3, 1e3)
        energies.set_ylabel("energy / energy at the start\n(logarithmic)")
        energies.set_xlabel("time [s]")
        legend(places)
        headline(
            picture,
            f"m = {p['m']:g} kg, k = {p['k']:g} N/m, T = {p['step']:g} s: "
            f"T √(k/m) = {beat:.3g}, where symplectic Euler needs less than 2",
        )

    end = {name: float(values[-1]) for name, values in ratio.items()}
    stable = beat < 2
    swings = float(ratio["symplectic Euler"].max())
    statements = [
        *(at_most(f"{name}: largest miss of its identity in a step, relative", gap(run, name, p), 1e-12)
          for name, run in runs.items()),
        Statement("T √(k/m)", beat),
        _is("explicit Euler diverges: energy at the end / start", end["explicit Euler"], "> 10",
            end["explicit Euler"] > 10, known),
        _is("implicit Euler comes to rest: energy at the end / start", end["implicit Euler"], "< 0.1",
            end["implicit Euler"] < 0.1, known),
        _is("symplectic Euler: largest energy / start", swings, "< 2" if stable else "> 10",
            swings < 2 if stable else swings > 10, known),
    ]  # fmt: skip
    if p["force"] == 0.0:
        most_off = float(np.abs(ratio["passive midpoint"] - 1.0).max())
        statements.append(at_most("passive midpoint: largest |energy / start − 1|", most_off, 1e-11))
    data = {"t [s]": time}
    for name, run in runs.items():
        data |= {f"{name} x [m]": run.arrays["states"][:, 0], f"{name} energy [J]": energy[name]}
    return Outcome(picture, data, tuple(statements), note)


def _is(text: str, found: float, expected: str, holds: bool, known: bool) -> Statement:
    """A statement of the paper, which is held against our numbers only with our own parameters."""
    return Statement(text, found, expected if known else "", bool(holds) if known else None)


def swinging(number: int, title: str, params: Mapping[str, float], note: str) -> Figure:
    """Figure 1 or 2: they differ in the mass."""
    return Figure(
        name=f"kim-fig{number}",
        title=title,
        source=f"{PAPER}, Fig. {number}",
        make=lambda p, advance: make(p, advance, dict(p) == dict(params), note),
        params=params,
    )
