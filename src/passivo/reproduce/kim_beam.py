"""What the figures of the flexible beam share: the beam, its runs, and what it stores (spec 4.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passivo.method.base import Method
from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.model.beam import Beam
from passivo.reproduce.common import at_most, engine_for, progress_of, whole
from passivo.reproduce.figure import Advance, Statement
from passivo.run.draw import COLOURS
from passivo.run.run import Run
from passivo.run.simulate import simulate

PARAMS = {
    "length": 0.5, "width": 0.02, "height": 0.003, "young": 70e9, "density": 2700.0, "elements": 20.0, "force": 2.0,
    "step": 1e-3, "until": 5.0,
}  # fmt: skip
ROWS = ("kinetic", "potential", "total")
WORK_PER_ELEMENT = 20  # what a step of one costs, in steps of a small system


def clamped(p: Mapping[str, float]) -> Beam:
    """Clamped at one end, free at the other."""
    section = (p["width"], p["height"])
    elements = whole(p, "elements")
    return Beam(p["length"], elements, young=p["young"], density=p["density"], section=section)


def bent(beam: Beam, p: Mapping[str, float]) -> dict[str, float]:
    """Bent at rest by a force at the tip, then let go."""
    return beam.bent({beam.elements: p["force"]})


def swing(beam: Beam, p: Mapping[str, float], method: Method, until: float, advance: Advance) -> Run:
    told = progress_of(advance, type(method).__name__)
    engine = engine_for(until / p["step"] * beam.elements * WORK_PER_ELEMENT)
    return simulate(beam, method, p["step"], until, start=bent(beam, p), engine=engine, progress=told)


def stored(run: Run) -> dict[str, np.ndarray]:
    """Kinetic, potential and total energy, in joules."""
    return dict(zip(ROWS, run.arrays["ledger"][:, :, 0].T))


def period(beam: Beam) -> float:
    """Of the first mode."""
    return float(2 * np.pi / beam.modes(1)[0][0])


def heard(time: np.ndarray, w: np.ndarray) -> float:
    """The mean period of a deflection, from where it falls through 0."""
    rows = np.flatnonzero((w[:-1] > 0) & (w[1:] <= 0))
    times = time[rows] + (time[rows + 1] - time[rows]) * w[rows] / (w[rows] - w[rows + 1])
    return float(np.diff(times).mean()) if len(times) > 1 else np.nan


def profile(axis: Any, time: np.ndarray, energies: Mapping[str, np.ndarray]) -> None:
    """Kinetic, potential and total energy over time."""
    for i, (name, values) in enumerate(energies.items()):
        width = 2.0 if name == "total" else 1.1
        axis.plot(1e3 * time, 1e3 * values, color=COLOURS[i], linewidth=width, label=name)
    axis.set_xlabel("time [ms]")
    axis.set_ylabel("energy [mJ]")
    axis.set_ylim(bottom=0.0)


def drift(run: Run) -> Statement:
    """What holds at any parameters: the energy of the start stays."""
    total = stored(run)["total"]
    text = f"passive midpoint, {run.steps} steps: largest |energy / start − 1|"
    return at_most(text, float(np.abs(total / total[0] - 1).max()), 1e-9)


def midpoint(beam: Beam, p: Mapping[str, float], advance: Advance) -> Run:
    return swing(beam, p, PassiveMidpoint(), p["until"], advance)


def columns(run: Run) -> dict[str, np.ndarray]:
    return {"t [s]": run.time} | {f"{name} energy [J]": values for name, values in stored(run).items()}


def ours(p: Mapping[str, float], beam: Beam) -> str:
    """What the text leaves open, in words."""
    tip = bent(beam, p)[f"w{beam.elements}"]
    return (
        f"The dimensions of the paper's aluminium beam are lost from its text; ours is {1e3 * p['length']:g} × "
        f"{1e3 * p['width']:g} × {1e3 * p['height']:g} mm in {beam.elements} elements, {p['young'] / 1e9:g} GPa and "
        f"{p['density']:g} kg/m³, clamped at one end, let go after {p['force']:g} N at the other had bent it by "
        f"{1e3 * tip:.3g} mm. Its slowest mode has {1 / period(beam):.3g} Hz; T = {1e3 * p['step']:g} ms as in the "
        "paper. "
    )
