"""A rigid body under control: what the controller takes and what the body stores add up (spec 2.8, steps of 0.5 s)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.one_stage import AVF
from passivo.model import library
from passivo.model.library.bodies import KINEMATICS
from passivo.reproduce.celledoni import PAPER, stored
from passivo.reproduce.common import at_most, headline, progress_of
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import COLOURS, figure, legend
from passivo.run.run import Run
from passivo.run.simulate import simulate

PARAMS = {"step": 0.5, "until": 15.0, "w1": 0.4, "w2": 0.6, "w3": -0.5}


def spun(p: Mapping[str, float], kinematics: str, advance: Advance) -> Run:
    return simulate(
        library.controlled_rigid_body(kinematics),  # type: ignore[arg-type]
        AVF(),
        p["step"],
        p["until"],
        start={**{name: p[name] for name in ("w1", "w2", "w3")}, "q0": 1.0},
        inputs={"control": library.rigid_body_control()},
        engine="python",
        progress=progress_of(advance, f"{kinematics} kinematics"),
    )


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    runs = {name: spun(p, name, advance) for name in KINEMATICS}
    change = {name: stored(run) - stored(run)[0] for name, run in runs.items()}
    given = {name: -run.arrays["work"].sum(axis=1) for name, run in runs.items()}

    with figure(8.0, 5.4) as picture:
        above, below = picture.subplots(2, 2, sharex=True, height_ratios=(2, 1))
        for axis, rest, (name, run) in zip(above, below, runs.items()):
            axis.plot(run.time, given[name], "o-", color=COLOURS[1], label="taken by the controller")
            axis.plot(run.time, change[name], "s-", color=COLOURS[0], label="H(t) − H(0)")
            axis.set_title(f"{name} kinematics", loc="right", color="#444444")
            rest.plot(run.time, change[name] + given[name], ".-", color=COLOURS[2])
            rest.set_xlabel("time [s]")
        above[0].set_ylabel("energy [J]")
        below[0].set_ylabel("sum [J]")
        legend(above[0])
        headline(picture, f"A body slowed by control: AVF with steps of {p['step']:g} s")

    statements, known = [], dict(p) == PARAMS
    for name, run in runs.items():
        size = 1.0 + float(np.abs(stored(run)).max())
        q = run.arrays["states"][:, 3:]
        statements += [
            at_most(f"{name} kinematics: largest |sum| of both energies [J]", np.abs(change[name] + given[name]).max(),
                    1e-13 * size),
            at_most(f"{name} kinematics: change of |q|²", np.abs((q**2).sum(axis=1) - 1.0).max(), 1e-12),
            Statement(f"{name} kinematics: largest rise of H in one step [J]", float(np.diff(stored(run)).max()),
                      "> 0" if known else "", bool(np.diff(stored(run)).max() > 0) if known else None),
        ]  # fmt: skip
    note = (
        "The paper gives no start; ours is ω = (0.4, 0.6, −0.5) rad/s and the attitude of the reference axes. Its "
        "statement, that the two energies cancel to rounding, holds. Its structure −I⁻¹ω^ is not skew; I⁻¹(Iω)^I⁻¹ is, "
        "with the same field. Its equation of q turns only three of four components: that is no motion of an attitude "
        "(right); the true one is beside it. Its control is not passive, because of the term with Kp: H may rise, as "
        "it does here, and the controller gives that energy."
    )
    data = {"t [s]": runs["true"].time}
    for name in runs:
        data |= {f"H − H(0), {name} [J]": change[name], f"taken, {name} [J]": given[name]}
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="celledoni-fig1",
    title="A rigid body under control: external and stored energy add up to zero",
    source=f"{PAPER}, Fig. 1",
    make=make,
    params=PARAMS,
)
