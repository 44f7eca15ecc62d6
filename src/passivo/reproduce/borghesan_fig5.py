"""Ways to the next level of energy for a mass on a spring: along x', along the field line, and both in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.part import compile
from passivo.model import library
from passivo.reproduce.common import headline
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import JOURNAL
from passivo.run.draw import COLOURS, DASHED, figure

PARAMS = {"k": 2.0, "m": 1.0, "b": 0.5, "q0": 1.0, "angle": 0.7, "step": 0.35}
WAYS = {"along_flow": "along x'", "along_field_line": "along the field line", "project": "x', then the field line"}


@dataclass(frozen=True)
class Step:
    """One step from `start` by each way: where it went and whether it reached the energy asked for."""

    start: np.ndarray
    old: float
    new: float
    predictor: np.ndarray
    ends: Mapping[str, np.ndarray]
    reached: Mapping[str, bool]
    short: Mapping[str, float]  # energy found less the energy asked for


def taken(p: Mapping[str, float], b: float, angle: float) -> Step:
    k, m, h = p["k"], p["m"], p["step"]
    model = library.oscillator(k=k, m=m, b=b)
    start = p["q0"] * np.array([np.cos(angle), -np.sqrt(k * m) * np.sin(angle)])
    q, v = start[0], start[1] / m
    energy = lambda x: k * x[0] ** 2 / 2 + x[1] ** 2 / (2 * m)  # noqa: E731
    new = energy(start) - h * b * v**2
    ends, reached, short = {}, {}, {}
    for way in WAYS:
        method = EnergyConsistent("euclidean", update=way)
        part = compile(model, method, h, start=dict(zip("qp", start)), engine="python")
        part.step([0.0])
        ends[way] = part.state.copy()
        reached[way], short[way] = not any(part.faults.values()), energy(part.state) - new
    predictor = start + h * np.array([v, -k * q - b * v])
    return Step(start, energy(start), new, predictor, ends, reached, short)


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    lossless, lossy = taken(p, 0.0, 0.0), taken(p, p["b"], p["angle"])
    with figure(9.0, 4.6) as picture:
        axes = picture.subplots(1, 2)
        draw(axes[0], p, lossless, "(a) no loss: the level stays")
        draw(axes[1], p, lossy, f"(b) with a damper, b = {p['b']:g} N s/m")
        handles, labels = axes[1].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
        headline(picture, f"Ways to the next energy: k = {p['k']:g} N/m, m = {p['m']:g} kg, T = {p['step']:g} s")

    stuck = {way: float(np.abs(lossless.ends[way] - lossless.start).max()) for way in WAYS}
    moved = float(np.abs(lossless.ends["project"] - lossless.start).max())
    statements = [
        Statement("(a) moved along the field line [m, kg m/s]", stuck["along_field_line"], "0",
                  stuck["along_field_line"] == 0.0),
        Statement("(a) moved along x' alone [m, kg m/s]", stuck["along_flow"], "0", stuck["along_flow"] == 0.0),
        Statement("(a) moved by both in turn [m, kg m/s]", moved, "> 0", moved > 0),
        Statement.near("(a) H(1) / H(0) by both in turn", 1 + lossless.short["project"] / lossless.new, 1.0, 1e-12),
    ]  # fmt: skip
    if lossy.new > 0:
        statements += [
            Statement("(b) energy above the next level along x', whose line misses it [J]", lossy.short["along_flow"],
                      "> 0, unreached", lossy.short["along_flow"] > 0 and not lossy.reached["along_flow"]),
            Statement.near("(b) H(1) over the energy asked for, by both in turn",
                           1 + lossy.short["project"] / lossy.new, 1.0, 1e-12),
        ]  # fmt: skip
    note = (
        "The paper's figure is a sketch. Field lines depend on the units of the states: with the paper's k = 5000 N/m "
        "and m = 0.2 kg they are all but parallel to the q axis in SI units, so it is drawn with k m = 2, as the "
        "conference paper says of its own figure. The paper lets energy leave in (b) from a state at rest; there an "
        "Euler step loses nothing (y = p/m = 0), so (b) starts elsewhere on the same level."
    )
    if p["b"] == 0 or np.sin(p["angle"]) == 0:
        note += " With this b and angle (b) loses nothing, and is (a)."
    names = ["start", "predictor", *WAYS]
    data: dict[str, np.ndarray] = {}
    for part, step in (("(a)", lossless), ("(b)", lossy)):
        points = np.array([step.start, step.predictor, *step.ends.values()])
        data |= {f"{part} q of {', '.join(names)} [m]": points[:, 0], f"{part} p of the same [kg m/s]": points[:, 1]}
        data[f"{part} H(0), H(1) [J]"] = np.array([step.old, step.new])
    return Outcome(picture, data, tuple(statements), note)


def draw(axis: Any, p: Mapping[str, float], step: Step, title: str) -> None:
    k, m = p["k"], p["m"]
    turn = np.linspace(0.0, 2 * np.pi, 400)
    for level, name, style in ((step.old, "level I0 of x(0)", "-"), (step.new, "level I1 of x(1)", DASHED)):
        if level > 0 and (name.endswith("x(0)") or step.new < step.old):
            size = np.sqrt(2 * level)
            axis.plot(size / np.sqrt(k) * np.cos(turn), size * np.sqrt(m) * np.sin(turn),
                      color="#888888", linewidth=1.0, linestyle=style, label=name)  # fmt: skip
    ahead = step.predictor + (step.predictor - step.start) * 0.6
    behind = step.start - (step.predictor - step.start) * 0.6
    axis.plot([behind[0], ahead[0]], [behind[1], ahead[1]], ":", color=COLOURS[1], label="line along x'")
    for x, style in ((step.start, {"label": "field lines"}), (step.predictor, {})):
        s = np.linspace(-0.6, 0.35, 100) / max(k, 1 / m)
        axis.plot(x[0] * np.exp(k * s), x[1] * np.exp(s / m), color=COLOURS[5], linewidth=0.9, **style)
    axis.plot(*step.start, "o", color="black", markersize=6, label="x(0)")
    axis.plot(*step.predictor, "s", color=COLOURS[1], markersize=6, label="predictor x(0) + T x'")
    axis.plot(*step.ends["along_field_line"], "D", color=COLOURS[3], markersize=6, fillstyle="none",
              markeredgewidth=1.4, label="x(1) along the field line")  # fmt: skip
    axis.plot(*step.ends["project"], "o", color=COLOURS[2], markersize=7, label="x(1) as proposed")
    span = np.array([1 / np.sqrt(k), np.sqrt(m)]) * np.sqrt(2 * step.old)
    axis.set_xlim(-0.15 * span[0], 1.3 * span[0])
    axis.set_ylim(-1.3 * span[1], 0.3 * span[1])
    if 1 / 3 < span[1] / span[0] < 3:
        axis.set_aspect("equal")  # field lines meet levels at right angles
    axis.set_xlabel("q [m]")
    axis.set_ylabel("p [kg m/s]")
    axis.set_title(title)


FIGURE = Figure(
    name="borghesan-fig5",
    title="Ways to the next level of energy for a mass on a spring",
    source=f"{JOURNAL}, Fig. 5",
    make=make,
    params=PARAMS,
)
