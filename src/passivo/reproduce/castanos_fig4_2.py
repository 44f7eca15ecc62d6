"""A double pendulum under sampled damping `u = −0.3 y`, implicit and explicit (spec 3.5), and the step of spec 3.6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passivo.errors import InputError
from passivo.method.constrained import ConstrainedGradient, ConstrainedSplitting
from passivo.method.part import compile
from passivo.method.runge_kutta import RK4
from passivo.model import library
from passivo.model.constrained import Constrained
from passivo.model.feedback import Feedback
from passivo.model.mechanical import Mechanical
from passivo.model.ports import effort
from passivo.reproduce.common import at_most, engine_for, headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import COLOURS, DASHED, figure, legend
from passivo.run.inputs import Held
from passivo.run.run import Run
from passivo.run.simulate import simulate

PARAMS = {
    "la": 0.6, "lb": 0.3, "ma": 0.2, "mb": 0.6, "g": 9.81, "damping": 0.3, "q1": 0.0, "q2": 0.0, "until": 10.0,
    "substeps": 20.0,
}  # fmt: skip
SAMPLED = (10, 20, 30, 50)  # ms
SOLVED = (30, 100, 150)
PAPER = 30  # up to here the paper finds H monotone


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    whole(p, "substeps")
    if p["until"] < 2 * max(SOLVED) * 1e-3:
        raise InputError(f"until must be at least {2 * max(SOLVED) * 1e-3:g} s, not {p['until']:g}")
    model = library.double_pendulum(**{name: p[name] for name in ("la", "lb", "ma", "mb", "g")})
    start = dict(zip(model.positions, place(p)))
    law = [f"-{p['damping']!r}*y{i}" for i in range(2)]

    def run_of(method: Any, ms: int, u: Any, what: str) -> Run:
        steps, told = p["until"] * 1e3 / ms, progress_of(advance, what)
        return simulate(model, method, ms / 1e3, p["until"], start=start, inputs={"joints": u},
                        engine=engine_for(steps), progress=told)  # fmt: skip

    held = Held(lambda t, y: -p["damping"] * y)
    sampled = {ms: run_of(ConstrainedSplitting(), ms, held, f"sampled, {ms} ms") for ms in SAMPLED}
    solved = {ms: run_of(ConstrainedGradient(), ms, Feedback(law), f"in the step, {ms} ms") for ms in SOLVED}
    explicit = {ms: explicit_of(p, ms, advance) for ms in (10, 20)}
    stored = {ms: run.arrays["ledger"][:, -1, 0] for ms, run in sampled.items()}
    balanced = {ms: run.arrays["ledger"][:, -1, 0] for ms, run in solved.items()}

    with figure(8.0, 7.4) as picture:
        above, middle, below = picture.subplots(3, 1, sharex=True)
        for colour, (ms, heights) in zip((0, 5, 2, 1), stored.items()):
            above.plot(sampled[ms].time, heights, color=COLOURS[colour], linewidth=1.1, label=f"{ms} ms")
        dashed = {"color": "black", "linestyle": DASHED, "linewidth": 1.0}
        above.plot(sampled[10].time, explicit[10], **dashed, label="explicit, 10 ms")
        for colour, (ms, heights) in zip((0, 5), explicit.items()):
            gap = 1e3 * (stored[ms] - heights)
            middle.plot(sampled[ms].time, gap, color=COLOURS[colour], linewidth=1.1, label=f"{ms} ms")
        for colour, (ms, heights) in zip((2, 4, 3), balanced.items()):
            dots = {"marker": "."} if ms > PAPER else {}
            below.plot(solved[ms].time, heights, color=COLOURS[colour], linewidth=1.1, label=f"{ms} ms", **dots)
        above.set_ylabel("H, damping\nsampled [J]")
        middle.set_ylabel("implicit − explicit,\nsampled alike [mJ]")
        below.set_ylabel("H, damping solved\nin the step [J]")
        for axis in (above, middle, below):
            legend(axis)
        below.set_xlabel("time [s]")
        headline(picture, f"Double pendulum with u = −{p['damping']:g} y: energy H at several steps")

    gaps = max(worst(run, p)[0] for run in sampled.values())
    rates = max(worst(run, p)[1] for run in sampled.values())
    apart = {ms: float(np.abs(stored[ms] - explicit[ms]).max()) for ms in explicit}
    limit = 2e3 / (p["damping"] * stiffest(p)) if p["damping"] > 0 else np.inf
    known = dict(p) == PARAMS
    statements = [
        at_most("largest |g| of all implicit runs [m²]", gaps, 5e-15),
        at_most("largest |f| of all implicit runs [m²/s]", rates, 1e-14, known),
        *(
            at_most(f"sampled, {ms} ms: largest rise of H in a step [J]", np.diff(stored[ms]).max(), 0.0, known)
            for ms in SAMPLED
            if ms <= PAPER
        ),
        Statement("sampled, 50 ms: largest rise of H in a step [J]", float(np.diff(stored[50]).max())),
        Statement(f"sampled damping ends at 2/({p['damping']:g} λmax(M̂⁻¹)) [ms]", float(limit)),
        Statement("implicit against explicit, 20 ms: largest gap of H [J]", apart[20]),
        Statement("implicit against explicit, 10 ms: largest gap of H [J]", apart[10]),
    ]
    if known:
        statements += [
            Statement.near("order at which that gap shrinks", float(np.log2(apart[20] / apart[10])), 2.0, 0.25),
            Statement.near("H(0) − H(10 s), 30 ms, against the depth of the rest [J]", stored[30][0] - stored[30][-1],
                           depth(p), 0.1),
        ]  # fmt: skip
        statements += printed_push(model, p, start)
    statements += [
        at_most(
            f"in the step, {ms} ms: largest rise of H in a step [J]",
            np.diff(balanced[ms]).max(),
            1e-13,
            p["damping"] >= 0,
        )
        for ms in SOLVED
    ]
    note = (
        "The paper gives neither the start nor the steps it draws: here the pendulum starts at rest, stretched out to "
        "the side (gravity acts along −y, q counts from +x, it hangs at q = (−π/2, 0)). H falls in every step up to "
        "30 ms and the series converge, as the paper says; sampled damping of this size must fail near the limit given "
        "above, whatever the method. Printed wrong: the second term of (2.29) is m_b r^by; and the φ_u of the last "
        "example misses the reaction of torque 2 on mass a, which (3.9) has: with it the error shrinks with the step, "
        "as printed it does not. Tensions are 2 l λ, not the multipliers λ; and the DAE is of index 3. With the "
        "damping solved in the step (ConstrainedGradient, not in the paper) H falls at every step tried."
    )
    data: dict[str, np.ndarray] = {}
    for ms, run in sampled.items():
        data |= {f"t of {ms} ms [s]": run.time, f"H sampled, {ms} ms [J]": stored[ms]}
    data |= {f"H explicit, {ms} ms [J]": heights for ms, heights in explicit.items()}
    for ms, run in solved.items():
        data |= {f"t in the step, {ms} ms [s]": run.time, f"H in the step, {ms} ms [J]": balanced[ms]}
    for bar, length in (("upper", p["la"]), ("lower", p["lb"])):
        data[f"tension of the {bar} bar, 10 ms [N]"] = 2 * length * sampled[10][bar].values
    return Outcome(picture, data, tuple(statements), note)


def place(p: Mapping[str, float]) -> list[float]:
    """Positions of the angles at the start."""
    x, y = p["la"] * np.cos(p["q1"]), p["la"] * np.sin(p["q1"])
    angle = p["q1"] + p["q2"]
    return [float(x), float(y), float(x + p["lb"] * np.cos(angle)), float(y + p["lb"] * np.sin(angle))]


def worst(run: Run, p: Mapping[str, float]) -> tuple[float, float]:
    """The largest |g| and |f| of a run."""
    ax, ay, bx, by, pax, pay, pbx, pby = run.arrays["states"].T
    dx, dy = bx - ax, by - ay
    vx, vy = pbx / p["mb"] - pax / p["ma"], pby / p["mb"] - pay / p["ma"]
    g = (ax**2 + ay**2 - p["la"] ** 2, dx**2 + dy**2 - p["lb"] ** 2)
    f = (2 * (ax * pax + ay * pay) / p["ma"], 2 * (dx * vx + dy * vy))
    return float(np.abs(g).max()), float(np.abs(f).max())


def inertia(p: Mapping[str, float], cosine: Any) -> tuple[Any, Any, Any]:
    """M̂ of (2.34): its entries 11, 12 and 22."""
    la, lb, ma, mb = (p[name] for name in ("la", "lb", "ma", "mb"))
    return (ma + mb) * la**2 + mb * lb**2 + 2 * mb * la * lb * cosine, mb * lb**2 + mb * la * lb * cosine, mb * lb**2


def stiffest(p: Mapping[str, float]) -> float:
    """The largest eigenvalue of M̂⁻¹ over all angles."""
    found = []
    for cosine in np.linspace(-1.0, 1.0, 401):
        a, b, c = inertia(p, cosine)
        found.append(1.0 / np.linalg.eigvalsh([[a, b], [b, c]])[0])
    return float(max(found))


def depth(p: Mapping[str, float]) -> float:
    """H at rest at the start over H hanging."""
    _, ay, _, by = place(p)
    return p["g"] * (p["ma"] * (ay + p["la"]) + p["mb"] * (by + p["la"] + p["lb"]))


def explicit_of(p: Mapping[str, float], ms: int, advance: Advance) -> np.ndarray:
    """H of the explicit model (2.37) under the same sampled damping, by RK4 in substeps of the sample."""
    mass = [
        ["(ma + mb)*la**2 + mb*lb**2 + 2*mb*la*lb*cos(q2)", "mb*lb**2 + mb*la*lb*cos(q2)"],
        ["mb*lb**2 + mb*la*lb*cos(q2)", "mb*lb**2"],
    ]
    potential = "g*((ma + mb)*la*sin(q1) + mb*lb*sin(q1 + q2))"
    values = {name: p[name] for name in ("la", "lb", "ma", "mb", "g")}
    model = Mechanical(["q1", "q2"], mass, potential, ports={"joints": effort([[1, 0], [0, 1]])}, params=values)
    count, pieces = round(p["until"] * 1e3 / ms), int(p["substeps"])
    part = compile(model, RK4(), ms / 1e3 / pieces, start={"q1": p["q1"], "q2": p["q2"]},
                   engine=engine_for(count * pieces))  # fmt: skip
    heights = [part.stored]
    for k in range(count):
        u = -p["damping"] * part.output
        for _ in range(pieces):
            part.step(u)
        heights.append(part.stored)
        if k % 50 == 0:
            advance(f"explicit, {ms} ms", k, count)
    return np.array(heights)


def printed_push(model: Constrained, p: Mapping[str, float], start: Mapping[str, float]) -> list[Statement]:
    """The same torques held for 0.4 s, by the φ_u of (3.9) and by the printed one: errors of the positions."""
    data = model.describe()
    kind, width, rows = data["ports"]["joints"]
    rows = [[rows[0][0], "ay/la**2"], [rows[1][0], "-ax/la**2"], *rows[2:]]
    printed = Constrained.from_description(data | {"ports": {"joints": [kind, width, rows]}})
    until, torques = 0.4, [0.4, -0.3]

    def end(which: Constrained, steps: int) -> np.ndarray:
        part = compile(which, ConstrainedSplitting(), until / steps, start=start, engine="python")
        for _ in range(steps):
            part.step(torques)
        return part.state[:4].copy()

    exact = end(model, 1280)
    found = {(which, n): float(np.abs(end(which, n) - exact).max()) for which in (model, printed) for n in (80, 160)}
    right, wrong = ([found[which, n] for n in (80, 160)] for which in (model, printed))
    return [
        Statement.near(
            "held torques, φ_u of (3.9): error at half the step over error", right[1] / right[0], 0.25, 0.03
        ),
        Statement("held torques, φ_u as printed: error of the positions [m]", wrong[1]),
        Statement.near(
            "held torques, φ_u as printed: error at half the step over error", wrong[1] / wrong[0], 1.0, 0.02
        ),
    ]


FIGURE = Figure(
    name="castanos-fig4.2",
    title="Energy of a double pendulum under sampled damping, with constraints and in angles",
    source="Castaños, Michalska, Gromov, Hayward, Implicit port-Hamiltonian systems, Fig. 4.2",
    make=make,
    params=PARAMS,
)
