"""What a passive sample and hold reads and sends between a fast spring and a slow mass (spec 1.9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.reproduce.common import headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import CONFERENCE, draw_forces, forces, multirate, nothing_unbooked, period
from passivo.run.draw import figure, legend
from passivo.run.network_run import NetworkRun
from passivo.run.simulate import simulate

PARAMS = {
    "k": 1.0, "m": 2.0, "q0": 0.0, "v0": 1.0, "fast": 1e-3, "ratio": 50.0, "alpha": 0.2, "beta": 0.9, "until": 60.0,
    "zoom": 2.0, "zoom_width": 1.0,
}  # fmt: skip


def run_of(p: Mapping[str, float], advance: Advance) -> NetworkRun:
    """The network that Figs. 8 and 9 look at."""
    net = multirate(p, p["alpha"], p["k"], p["m"], whole(p, "ratio", 2))
    start = {"spring.q": p["q0"], "mass.p": p["m"] * p["v0"]}
    return simulate(net, until=p["until"], start=start, progress=progress_of(advance, "spring and mass"))


def case(p: Mapping[str, float]) -> str:
    slow = p["fast"] * p["ratio"]
    return f"k = {p['k']:g} N/m, m = {p['m']:g} kg, Tf = {p['fast']:g} s, Ts = {slow:g} s"


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = run_of(p, advance)
    (fast, uf), (slow, us) = forces(run, p["until"])
    left, right = p["zoom"], p["zoom"] + p["zoom_width"]

    with figure(8.0, 5.8) as picture:
        whole_, part = picture.subplots(2, 1)
        for axis in (whole_, part):
            draw_forces(axis, run, p["until"])
            axis.set_xlabel("time [s]")
        inside = uf[(fast >= left) & (fast <= right)]
        part.set_xlim(left, right)
        if len(inside):
            room = 0.1 * float(np.ptp(inside)) + 1e-9
            part.set_ylim(inside.min() - room, inside.max() + room)
        whole_.axvspan(left, right, color="#dddddd", zorder=0)
        part.set_title("the shaded second" if p["zoom_width"] == 1.0 else "the shaded part", loc="right")
        legend(whole_)
        headline(picture, f"Passive sample and hold: {case(p)}")

    amplitude = np.sqrt(p["k"] * (p["k"] * p["q0"] ** 2 + p["m"] * p["v0"] ** 2))
    late = np.abs(uf[fast > p["until"] / 2]).max()
    gap = np.abs(us - np.interp(slow, fast, uf)).max() / amplitude
    statements = [
        nothing_unbooked("change of H + HE − HBK [J]", run),
        Statement("largest |us − uf| at the samples / exact amplitude", float(gap)),
        Statement("period of uf [s]", period(fast, uf)),
        Statement("exact period [s]", 2 * np.pi * np.sqrt(p["m"] / p["k"])),
    ]
    if dict(p) == PARAMS:
        statements.insert(
            0, Statement.near("largest |uf| of the second half / exact amplitude", late / amplitude, 1.0, 0.1)
        )
    note = (
        "The paper states that the system is marginally stable and gives no numbers, and no alpha; with 0.2 the "
        "amplitude neither grows nor decays. The paper's PSH keeps power over a period, ours energy: the same but for "
        "a factor Ts."
    )
    data = {"t [s]": fast, "uf [N]": uf, "t of us [s]": slow, "us [N]": us}
    return Outcome(picture, data, tuple(statements), note)


FIGURE = Figure(
    name="simulation-issues-fig8",
    title="What a passive sample and hold reads and sends between a fast spring and a slow mass",
    source=f"{CONFERENCE}, Fig. 8",
    make=make,
    params=PARAMS,
)
