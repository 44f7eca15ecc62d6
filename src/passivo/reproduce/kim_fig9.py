"""A two-link arm: exact in energy but not symplectic, against symplectic but not exact in energy (spec 4.6, 4.9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.base import Method
from passivo.method.one_stage import ImplicitMidpoint, SymplecticEuler
from passivo.method.part import CompiledPart, compile
from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.model.mechanical import Mechanical
from passivo.reproduce.common import at_most, engine_for, headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.run.draw import COLOURS, DASHED, DOTTED, decades, figure, legend
from passivo.run.run import Run
from passivo.run.simulate import simulate

PARAMS = {
    "m1": 1.0, "m2": 1.0, "l1": 0.3, "l2": 0.3, "g": 9.81, "q1": -0.9, "q2": 0.7, "p1": 0.2, "p2": 0.0,
    "wide": 0.1, "high": 0.05, "points": 24, "step": 5e-3, "until": 10.0,
    "followed": 1.0,
}  # fmt: skip
METHODS: dict[str, Method] = {
    "passive midpoint": PassiveMidpoint(),
    "passive midpoint, order 1": PassiveMidpoint(order=1),
    "symplectic Euler": SymplecticEuler(),
    "implicit midpoint": ImplicitMidpoint(),
}
LINES = dict(zip(METHODS, zip(COLOURS, ("-", DASHED, "-", DOTTED))))
STATES = ("q1", "q2", "p1", "p2")
OMEGA = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
APART = 1e-7  # how far the starts beside the start are off it
VISIBLE, LEAST = 1e-6, 1e-17  # what is no rounding; the lower end of the axes
Found = Mapping[str, np.ndarray]


def arm(p: Mapping[str, float]) -> Mechanical:
    """Two uniform rods in gravity; q1 from the horizontal, q2 between the rods."""
    side = "(m2*l2**2/3 + m2*l1*l2/2*cos(q2))"
    return Mechanical(
        ["q1", "q2"],
        [["(m1/3 + m2)*l1**2 + m2*l2**2/3 + m2*l1*l2*cos(q2)", side], [side, "m2*l2**2/3"]],
        "g*((m1/2 + m2)*l1*sin(q1) + m2*l2/2*sin(q1 + q2))",
        params={name: p[name] for name in ("m1", "m2", "l1", "l2", "g")},
        name="arm",
    )


def followed(part: CompiledPart, start: np.ndarray, steps: int) -> np.ndarray:
    """The states at every step from a start, in the precision of the start."""
    twin = part.copy(part.memory.astype(start.dtype))
    twin.place(dict(zip(STATES, start)))
    twin.state[:] = start  # `place` knows doubles alone
    states = np.empty((steps + 1, 4), start.dtype)
    states[0] = start
    for k in range(steps):
        twin.step(dt=part.dt)
        states[k + 1] = twin.state
    return states


def defects(part: CompiledPart, start: np.ndarray, steps: int) -> np.ndarray:
    """The largest entry of D'ΩD − Ω at every step, D the derivative of the states there by the start."""
    around = [start.astype(np.longdouble) + sign * APART * e for e in np.eye(4) for sign in (1, -1)]
    ends = [followed(part, each, steps) for each in around]
    D = np.stack([(ends[2 * i] - ends[2 * i + 1]) / (2 * APART) for i in range(4)], axis=2)
    return np.abs(D.transpose(0, 2, 1) @ OMEGA @ D - OMEGA).max(axis=(1, 2)).astype(float)


def area(loop: np.ndarray) -> np.ndarray:
    """∮ p·dq of loops (points, times, states), which are smooth: the slope along them by their Fourier series."""
    count = len(loop)
    waves = np.fft.fftfreq(count, 1 / count)
    if count % 2 == 0:
        waves[count // 2] = 0.0
    slope = np.fft.ifft(1j * waves[:, None, None] * np.fft.fft(loop[..., :2], axis=0), axis=0).real
    return (loop[..., 2:] * slope).sum(axis=(0, 2)) * 2 * np.pi / count


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    model, count = arm(p), whole(p, "points", 4)
    start = np.array([p[name] for name in STATES])
    angle = 2 * np.pi * np.arange(count) / count
    circle = start + np.outer(np.cos(angle), [p["wide"], 0, 0, 0]) - np.outer(np.sin(angle), [0, 0, p["high"], 0])
    steps = round(p["followed"] / p["step"])
    runs: dict[str, Run] = {}
    areas, apart = {}, {}
    for number, (name, method) in enumerate(METHODS.items()):
        runs[name] = simulate(
            model, method, p["step"], p["until"], start=dict(zip(STATES, start)),
            engine=engine_for(p["until"] / p["step"]), progress=progress_of(advance, name),
        )  # fmt: skip
        part = compile(model, method, p["step"], engine="python")
        areas[name] = area(np.stack([followed(part, each, steps) for each in circle]))
        advance("loops of starts", number + 1, len(METHODS))
        apart[name] = defects(part, start, steps)
    energy = {name: run.arrays["ledger"][:, -1, 0] for name, run in runs.items()}
    size = most_kinetic(runs["passive midpoint"], p)
    off = {name: np.abs(values - values[0]) / size for name, values in energy.items()}
    lost = {name: np.abs(values / values[0] - 1.0) for name, values in areas.items()}
    time, short = runs["passive midpoint"].time, p["step"] * np.arange(steps + 1)

    with figure(8.6, 7.4) as picture:
        above, middle, below = picture.subplots(3)
        for name, (colour, style) in LINES.items():
            look = {"color": colour, "linestyle": style}
            above.semilogy(time, np.maximum(np.maximum.accumulate(off[name]), LEAST), **look, label=name)
            middle.semilogy(short, np.maximum(lost[name], LEAST), **look)
            below.semilogy(short, np.maximum(apart[name], LEAST), **look)
        for axis, text in (
            (above, "energy off by\n[of the kinetic]"),
            (middle, "area of a loop off\n[of that at the start]"),
            (below, "largest entry\nof D'ΩD − Ω"),
        ):
            axis.set_ylim(LEAST, 10.0)
            decades(axis.yaxis, LEAST, 10.0)
            axis.set_ylabel(text + "\n(logarithmic)")
        below.set_xlabel("time [s]")
        legend(above)
        headline(picture, f"A two-link arm in steps of {1e3 * p['step']:g} ms: what keeps energy, and what keeps area")

    return Outcome(picture, columns(time, short, energy, areas, apart), statements(p, off, lost, apart), note(p))


def most_kinetic(run: Run, p: Mapping[str, float]) -> float:
    """The largest kinetic energy of a run in joules: what is stored, less the potential."""
    q1, q2 = run.arrays["states"].T[:2]
    weight = (p["m1"] / 2 + p["m2"]) * p["l1"] * np.sin(q1) + p["m2"] * p["l2"] / 2 * np.sin(q1 + q2)
    return float((run.arrays["ledger"][:, -1, 0] - p["g"] * weight).max())


def statements(p: Mapping[str, float], off: Found, lost: Found, apart: Found) -> tuple[Statement, ...]:
    """Passive midpoint keeps the energy to rounding and nothing else, symplectic methods all but the energy."""
    known = dict(p) == PARAMS
    found = []
    for name in METHODS:
        exact = name.startswith("passive")
        for what, values in (("energy", off), ("area of the loop", lost), ("D'ΩD − Ω", apart)):
            value = float(values[name].max())
            if exact == (what == "energy"):
                found.append(at_most(f"{name}: {what}, off by", value, 1e-12 if exact else 1e-9, known))
                continue
            holds = value > VISIBLE if known else None
            found.append(Statement(f"{name}: {what}, off by", value, f"> {VISIBLE:g}" if known else "", holds))
    return tuple(found)


def columns(time: np.ndarray, short: np.ndarray, energy: Found, areas: Found, apart: Found) -> dict[str, np.ndarray]:
    data = {"t [s]": time, "t of the loops [s]": short}
    for name in METHODS:
        data |= {f"{name} energy [J]": energy[name], f"{name} area [J s]": areas[name], f"{name} D'ΩD − Ω": apart[name]}
    return data


def note(p: Mapping[str, float]) -> str:
    return (
        f"The text gives no figures of the arm; ours are two uniform rods of {p['l1']:g} and {p['l2']:g} m and "
        f"{p['m1']:g} and {p['m2']:g} kg that swing in gravity. A map is symplectic if it keeps ∮ p·dq of every loop "
        "of starts, or D'ΩD = Ω for its derivative D. Both are measured over the whole way from the start, for passive "
        "midpoint of order 2 remembers two steps, and a single one is no map of (q, p): the area by the Fourier series "
        f"of a loop of {p['points']:g} starts, D by differences of {APART:g} in extended precision, which leave 1e-10. "
        "Passive midpoint keeps the energy to rounding, and area only as well as its order has it: order 1, the "
        "paper's, loses percents in a second. Symplectic Euler and implicit midpoint keep area to rounding, and their "
        "energies swing by the order of the step and of its square."
    )


FIGURE = Figure(
    name="kim-fig9",
    title="A two-link arm: exact in energy but not symplectic, and the other way round",
    source=f"{PAPER}, Fig. 9",
    make=make,
    params=PARAMS,
)
