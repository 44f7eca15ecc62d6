"""A stiff virtual wall on a device with friction, its compensation and a load cell, and in many hands (spec 1.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.exact_hold import ExactHold
from passivo.method.one_stage import ImplicitMidpoint
from passivo.method.part import seconds
from passivo.model import library
from passivo.model.ports import effort, flow
from passivo.model.rendering import Rendering
from passivo.model.system import System
from passivo.network.network import Member, Network
from passivo.network.sampler import PassiveSampler
from passivo.reproduce.common import at_most, engine_for, headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import JOURNAL, guided
from passivo.run import operators
from passivo.run.draw import COLOURS, DASHED, decades, figure, legend
from passivo.run.network_run import NetworkRun
from passivo.run.simulate import simulate

PARAMS = {
    # device and wall, as in the paper
    "k": 20e3, "m": 0.15, "b": 2.0, "encoder": 1e-6, "step": 1e-3, "alpha": 0.2, "beta": 0.9,
    # operators that push from rest, a little outside of the wall
    "push": 5.0, "hand_mass": 0.2, "stiffness": 500.0, "stiffness_low": 300.0, "damping": 2.0, "damping_medium": 10.0,
    "damping_high": 30.0, "start": -1e-3, "until": 3.0,
    # the slider, its load cell, the observer, and the path of the hand that visits the wall
    "viscous": 5.0, "coulomb": 1.5, "slip": 2e-3, "cell": 2e5, "cell_damping": 20.0, "observer": 200.0,
    "velocity_filter": 600.0, "substeps": 4.0, "path_middle": 4e-3, "path_reach": 6e-3, "path_frequency": 1.0,
    "visits": 3.0,
}  # fmt: skip
STATES = ["q", "p", "e", "ph", "s"]


# -- the device -------------------------------------------------------------------------------------------------------


def slider(p: Mapping[str, float]) -> System:
    """A slider with friction, a load cell, and the handle in a hand.

    States: place q and momentum p of the slider, deformation e of the load cell, momentum ph of handle and hand, and s,
    how far the hand is from where its spring rests. Friction is b v + fc v/√(v² + v0²): Coulomb's, smooth within v0.
    """
    rubbing = "b + fc/sqrt((p/m)**2 + v0**2)"
    return System(
        states=STATES,
        energy="p**2/(2*m) + kc*e**2/2 + ph**2/(2*mh) + kh*s**2/2",
        structure=[[0, 1, 0, 0, 0], [-1, 0, 1, 0, 0], [0, -1, 0, 1, 0], [0, 0, -1, 0, -1], [0, 0, 0, 1, 0]],
        loss=[[0] * 5, [0, f"{rubbing} + bc", 0, "-bc", 0], [0] * 5, [0, "-bc", 0, "bh + bc", 0], [0] * 5],
        ports={
            "handle": effort([0, 1, 0, 0, 0]),
            "motor": effort([0, 1, 0, 0, 0]),
            "hand": effort([0, 0, 0, 1, 0]),
        },
        params={
            "m": p["m"], "b": p["viscous"], "fc": p["coulomb"], "v0": p["slip"], "kc": p["cell"],
            "bc": p["cell_damping"], "mh": p["hand_mass"], "kh": p["stiffness"], "bh": p["damping_high"],
        },
        minimum=dict.fromkeys(STATES, 0.0),
        name="slider",
    )  # fmt: skip


def observer(p: Mapping[str, float]) -> Rendering:
    """A momentum observer: r = K (m v − ∫ (pull − press − b v) dt) follows every force but those it knows.

    It knows what the hand pulls (load cell), what the wall presses, and a damping b that shall remain; v is the place
    through the filter w s/(s + w). The motor gives −r.
    """
    speed = "w*(x - z)"
    return Rendering(
        {"end": flow()},
        {"end": f"K*(m*{speed} - s)"},
        {"m": p["m"], "b": p["b"], "K": p["observer"], "w": p["velocity_filter"]},
        signals=["x", "pull", "press"],
        memory={"z": speed, "s": f"pull - press - b*{speed}"},
        name="observer",
    )


def touch(net: Network, device: Member, p: Mapping[str, float], k: float) -> Member:
    """The wall, joined to the device through the connector; its release sees the place through the encoder."""
    method = EnergyConsistent(alpha=p["alpha"], beta=p["beta"], release="depth")
    wall = net.add("wall", library.unilateral_spring(k=k), method, step=p["step"])
    net.connect(device["handle"], wall["end"], through=PassiveSampler(encoder=p["encoder"]), name="touch")
    net.observe(device["q"], wall["depth"], resolution=p["encoder"])
    return wall


def visit(p: Mapping[str, float], what: str, advance: Advance) -> NetworkRun:
    """A hand that goes into the wall and out again, on the modelled device."""
    net = Network()
    device = net.add("device", slider(p), ImplicitMidpoint(), step=seconds(p["step"], "step") / whole(p, "substeps"))  # type: ignore[arg-type]
    wall = touch(net, device, p, p["k"])
    motor = net.add("observer", observer(p), step=p["step"])
    net.connect(device["motor"], motor["end"], name="motor")
    net.observe(device["q"], motor["x"], resolution=p["encoder"])
    net.observe(device["e"], motor["pull"], scale=p["cell"])
    net.observe(wall["q"], motor["press"], scale=p["k"])
    until, at = whole(p, "visits") / p["path_frequency"], p["path_middle"] - p["path_reach"]
    return simulate(
        net,
        until=until,
        start={"device.q": at, "device.s": at, "observer.z": at},
        inputs={"device.hand": guided(p, p["damping_high"])},
        engine=engine_for(until * p["substeps"] / p["step"]),
        progress=progress_of(advance, what),
    )


def press(p: Mapping[str, float], who: operators.Operator, k: float, what: str, advance: Advance) -> NetworkRun:
    """An operator who pushes from rest, on a device that is mass and damper."""
    net = Network()
    touch(net, who.hold(net, "device", p["m"], p["b"], ExactHold(port="true"), p["step"]), p, k)
    return simulate(
        net,
        until=p["until"],
        start={"device.q": p["start"]},
        inputs=who.inputs("device"),
        engine=engine_for(p["until"] / p["step"]),
        progress=progress_of(advance, what),
    )


# -- what is read off -------------------------------------------------------------------------------------------------


def generated(run: NetworkRun) -> np.ndarray:
    """HBK − HE over time, in joules."""
    return run.ledger.booked.sel(part="wall").values - run.links["touch"]["error"].values


def unrest(run: NetworkRun) -> float:
    """How much the force of the wall changes in the second half, over its mean."""
    force = run["wall.q"].values
    late = force[len(force) // 2 :]
    return float(np.ptp(late) / late.mean()) if late.any() else np.inf


def sunk(run: NetworkRun, since: float, until: float) -> float:
    """Mean place of the device in a span of time, in mm."""
    place = run["device.q"]
    within = place.values[(place.time.values >= since) & (place.time.values < until)]
    return 1e3 * float(within.mean()) if len(within) else np.nan


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    plain = {**p, "observer": 0.0}
    visits = {
        "compensated": visit(p, "with compensation", advance),
        "uncompensated": visit(plain, "without compensation", advance),
        "ideal": visit({**plain, "viscous": p["b"], "coulomb": 0.0}, "mass and damper", advance),
    }
    hands = {
        (k, d): operators.hand(k, d, p["hand_mass"], 0.0, p["push"])
        for k in (p["stiffness"], p["stiffness_low"])
        for d in (p["damping"], p["damping_medium"], p["damping_high"])
    }
    pressed: dict[Any, NetworkRun] = {
        key: press(p, who, p["k"], f"hand {key[0]:g}, {key[1]:g}", advance) for key, who in hands.items()
    }
    source, limit = operators.push(p["push"]), 2 * p["b"] / (3 * p["step"])
    pressed["force source"] = press(p, source, p["k"], "force source", advance)
    soft = {share: press(p, source, share * limit, f"wall {share * limit:g}", advance) for share in (1.0, 2.0)}

    with figure(10.0, 7.4) as picture:
        axes = picture.subplots(2, 2)
        draw_visit(axes, visits["compensated"], p)
        draw_presses(axes[1, 1], pressed, p)
        case = f"device {p['m']:g} kg, {p['b']:g} N s/m, T = {p['step']:g} s"
        headline(picture, f"Virtual wall of {p['k']:g} N/m: {case}")
    return Outcome(
        picture,
        columns(visits, pressed, p),
        (*device_statements(visits, p), *wall_statements(pressed, soft, p)),
        note(pressed, p),
    )


def device_statements(visits: Mapping[str, NetworkRun], p: Mapping[str, float]) -> list[Statement]:
    """Of the visits: what the wall stores and owes, and what the compensation is worth."""
    run, ideal = visits["compensated"], visits["ideal"]["device.q"].values
    stored, error = run.ledger.stored.sel(part="wall").values, generated(run)
    free = float(stored[1:][run.runs["wall"]["depth"].values[1:] <= 0].max(initial=0.0))
    away = {name: np.abs(one["device.q"].values - ideal).mean() for name, one in visits.items()}
    share, owed = float(away["compensated"] / away["uncompensated"]), float(error.max() / stored.max())
    text = "mean distance from an ideal mass and damper, compensated over not"
    known = dict(p) == PARAMS
    return [
        Statement("energy in the wall while nothing touches it [J]", free, "0", free == 0.0),
        at_most("largest energy error / largest energy in the wall", owed, 0.1, known),
        Statement("energy error at the end [J]", float(error[-1])),
        at_most(text, share, 0.5, known),
        Statement("energy that the compensation gave to the device [J]", float(run.work["device.motor"].values[-1])),
    ]


def wall_statements(
    pressed: Mapping[Any, NetworkRun], soft: Mapping[float, NetworkRun], p: Mapping[str, float]
) -> list[Statement]:
    """Of the pushes: how far each operator sinks in, whether the force settles, and whether the energy is bounded."""
    known, weak = dict(p) == PARAMS, (p["stiffness"], p["damping"])
    static, moment = 1e3 * p["push"] / (p["k"] + p["stiffness"]), sunk(pressed[weak], 0.5, 1.0)
    texts = ("static penetration [mm]", f"{named(weak)}: mean penetration of 0.5 to 1 s [mm]")
    if known:
        statements = [Statement.near(texts[0], static, 0.244, 5e-4), Statement.near(texts[1], moment, 4.8, 0.5)]
    else:
        statements = [Statement(text, found) for text, found in zip(texts, (static, moment))]
    for key, run in pressed.items():
        made = generated(run)
        half = len(made) // 2
        growth = float(made[half:].max() / made[:half].max())
        statements += [
            Statement(f"{named(key)}: place at the end [mm]", sunk(run, p["until"] - 0.05, np.inf)),
            Statement(f"{named(key)}: change of force / mean force, second half", unrest(run)),
            at_most(f"{named(key)}: generated energy, largest of the second half over the first", growth, 1.1, known),
        ]
    for share, run in soft.items():
        found, k = unrest(run), share * 2 * p["b"] / (3 * p["step"])
        text = f"force source, wall of {share:g} · 2b/(3T) = {k:.0f} N/m: change of force / mean force"
        settled = at_most(text, found, 0.1, known)
        statements.append(settled if share == 1 or not known else Statement(text, found, "> 0.5", found > 0.5))
    return statements


def named(key: Any) -> str:
    return key if isinstance(key, str) else f"hand of {key[0]:g} N/m and {key[1]:g} N s/m"


def note(pressed: Mapping[Any, NetworkRun], p: Mapping[str, float]) -> str:
    weak, strong = (pressed[p["stiffness"], p[name]] for name in ("damping", "damping_high"))
    times = [t for t in (0.5, 1.0, 2.0, 3.0) if t <= p["until"]]
    sinks = ", ".join(f"{sunk(weak, t - 0.05, t + 0.05):.1f} mm after {t:g} s" for t in times)
    last = sunk(strong, p["until"] - 0.05, np.inf)
    return (
        "The paper measured on a machine; this is a model of it, and the paper tells nothing of its friction, observer "
        "or hand. Modelled: a slider with viscous and Coulomb friction, an encoder, a load cell (a stiff spring "
        "between slider and handle), and an observer of the momentum, sampled with the wall, whose estimate the motor "
        f"cancels, so that {p['m']:g} kg and {p['b']:g} N s/m remain. The hand of the visits is well damped. The "
        "compensation is active by design: it gives back what friction takes, and the ledger says so. What the paper "
        "does not show: under weakly damped operators the wall stays bounded in energy but melts. The hand of "
        f"{p['damping']:g} N s/m sinks {sinks}, towards {1e3 * p['push'] / p['stiffness']:.3g} mm where its own spring "
        f"carries all; static would be {1e3 * p['push'] / (p['k'] + p['stiffness']):.3f} mm. In the hand of "
        f"{p['damping_high']:g} N s/m the force is right but the place is off: {last:.3g} mm, "
        "because what was corrected in the velocity is lost in the place. The connector renders faithfully up to about "
        "2b/(3T) with all damping counted, and no longer at twice that."
    )


# -- picture and data -------------------------------------------------------------------------------------------------


def draw_visit(axes: Any, run: NetworkRun, p: Mapping[str, float]) -> None:
    place, force, energy = axes[0, 0], axes[0, 1], axes[1, 0]
    device, wall = run["device.q"], run["wall.q"]
    place.axhline(0.0, color="#888888", linewidth=0.8)
    place.plot(device.time, 1e3 * device.values, color=COLOURS[0], label="place of the device")
    place.plot(wall.time, 1e3 * wall.values, color=COLOURS[1], linewidth=1.0, label="compression of the spring")
    place.set_ylabel("place, compression [mm]")
    force.plot(device.time, p["cell"] * run["device.e"].values, color=COLOURS[0], linewidth=1.0, label="load cell")
    force.plot(wall.time, p["k"] * wall.values, color=COLOURS[1], linewidth=1.0, label="spring")
    friction = run.outputs["observer.end"]
    force.plot(friction.time[1:], friction.values[1:], color=COLOURS[2], linewidth=0.9, label="friction, estimated")
    force.set_ylabel("force [N]")
    stored = 1e3 * run.ledger.stored.sel(part="wall").values
    energy.plot(run.time, stored, color=COLOURS[0], label="stored in the spring")
    energy.plot(run.time, 1e3 * generated(run), color=COLOURS[1], linewidth=1.0, label="error: HBK − HE")
    energy.set_ylabel("energy [mJ]")
    for axis in (place, force, energy):
        axis.set_xlabel("time [s]")
        legend(axis)


def draw_presses(axis: Any, pressed: Mapping[Any, NetworkRun], p: Mapping[str, float]) -> None:
    static = 1e3 * p["push"] / (p["k"] + p["stiffness"])
    axis.axhline(static, color="black", linewidth=1.0, linestyle=DASHED, label="static")
    shown = {"force source": "force source"}
    shown |= {key: f"hand of {key[1]:g} N s/m" for key in pressed if key[0] == p["stiffness"]}
    for colour, (key, name) in zip((COLOURS[7], *COLOURS), shown.items()):
        place = pressed[key]["device.q"]
        above = np.where(place.values > 1e-5, 1e3 * place.values, np.nan)
        axis.plot(place.time, above, color=colour, linewidth=1.0, label=name)
    axis.set_yscale("log")
    decades(axis.yaxis, *axis.get_ylim())
    axis.set_ylabel(f"penetration under {p['push']:g} N [mm]")
    axis.set_xlabel("time [s]")
    legend(axis)


def columns(
    visits: Mapping[str, NetworkRun], pressed: Mapping[Any, NetworkRun], p: Mapping[str, float]
) -> dict[str, np.ndarray]:
    run = visits["compensated"]
    data = {"t of the device [s]": run["device.q"].time.values}
    data |= {f"place, {name} [m]": one["device.q"].values for name, one in visits.items()}
    data |= {"load cell [N]": p["cell"] * run["device.e"].values, "t [s]": run.time}
    data |= {"compression [m]": run["wall.q"].values, "spring [N]": p["k"] * run["wall.q"].values}
    data |= {"friction, estimated [N]": run.outputs["observer.end"].values[1:]}
    data |= {"stored in the spring [J]": run.ledger.stored.sel(part="wall").values, "error [J]": generated(run)}
    data |= {"t of pushes [s]": pressed["force source"].time}
    return data | {f"place, {named(key)} [m]": one["device.q"].values for key, one in pressed.items()}


FIGURE = Figure(
    name="borghesan-fig15",
    title="A stiff virtual wall on a device with friction, its compensation and a load cell, in hands of all kinds",
    source=f"{JOURNAL}, Fig. 15",
    make=make,
    params=PARAMS,
)
