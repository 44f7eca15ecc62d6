"""A heavy object touched through a stiff virtual coupling (spec 1.9): collisions, a press, and the books of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.exact_hold import ExactHold
from passivo.method.part import seconds
from passivo.model import library
from passivo.model.ports import flow
from passivo.model.system import System
from passivo.network.network import Network
from passivo.network.sample_hold import PassiveSampleHold
from passivo.network.sampler import PassiveSampler
from passivo.reproduce.common import at_most, engine_for, headline, progress_of, whole
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.haptics import JOURNAL, guided
from passivo.run import operators
from passivo.run.draw import COLOURS, DASHED, figure, legend
from passivo.run.network_run import NetworkRun
from passivo.run.simulate import simulate

PARAMS = {
    "object_m": 10.0, "object_k": 100.0, "object_b": 1.0, "coupling": 10e3, "m": 0.15, "b": 2.0, "encoder": 1e-6,
    "step": 1e-3, "ratio": 1.0, "alpha": 0.2, "beta": 0.9, "hand_mass": 0.2, "stiffness": 400.0, "damping": 30.0,
    "path_middle": 15e-3, "path_reach": 60e-3, "path_frequency": 0.3, "until": 8.0,
}  # fmt: skip


def unilateral_coupling(k: float) -> System:
    """A spring between a device ("end") and an object ("far") that only pushes them apart; q is its compression."""
    return System(
        states=["q"],
        energy="k*q**2/2",
        ports={"end": flow([1]), "far": flow([-1])},
        params={"k": k},
        signals=["depth"],
        minimum={"q": 0.0},
        limits=["k >= 0"],
        units={"q": "m", "k": "N/m", "depth": "m", "end": ("m/s", "N"), "far": ("m/s", "N")},
        name="unilateral_coupling",
    )


def meet(p: Mapping[str, float], advance: Advance) -> NetworkRun:
    """A hand goes to the object, presses it and lets go of it again."""
    hand = operators.hand(p["stiffness"], p["damping"], p["hand_mass"], 0.0, guided(p, p["damping"]))
    net = Network()
    device = hand.hold(net, "device", p["m"], p["b"], ExactHold(port="true"), p["step"])
    method = EnergyConsistent(alpha=p["alpha"], beta=p["beta"], release="depth")
    coupling = net.add("coupling", unilateral_coupling(p["coupling"]), method, step=p["step"])
    model = library.oscillator(k=p["object_k"], m=p["object_m"], b=p["object_b"])
    slow = float(seconds(p["step"], "step") * whole(p, "ratio"))
    thing = net.add("object", model, replace(method, release=""), step=slow)
    net.connect(device["handle"], coupling["end"], through=PassiveSampler(encoder=p["encoder"]), name="touch")
    net.connect(coupling["far"], thing["force"], through=PassiveSampleHold(), name="link")
    net.observe(device["q"], coupling["depth"], resolution=p["encoder"])
    net.observe(thing["q"], coupling["depth"], scale=-1.0, add=True)
    return simulate(
        net,
        until=p["until"],
        start={"device.q": p["path_middle"] - p["path_reach"]},
        inputs=hand.inputs("device"),
        engine=engine_for(p["until"] / p["step"]),
        progress=progress_of(advance, "hand, coupling and object"),
    )


def load_cell(run: NetworkRun, p: Mapping[str, float]) -> np.ndarray:
    """The mean force of the hand on the device in every period: what moves the slider and what it holds against."""
    place, momentum = run["device.q"].values, run["device.p"].values * p["m"] / (p["m"] + p["hand_mass"])
    held = run.links["touch"]["effort"].values[1:]
    return np.diff(momentum) / p["step"] + p["b"] * np.diff(place) / p["step"] + held


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = meet(p, advance)
    fast, slow = run["device.q"].time.values, run["object.q"].time.values
    place, thing, force = run["device.q"].values, run["object.q"].values, p["coupling"] * run["coupling.q"].values
    cell = load_cell(run, p)
    ledger, parts = run.ledger, ["coupling", "object"]
    stored = ledger.stored.sel(part=parts).sum("part").values
    books = ledger.booked.sel(part=[*parts, "touch", "link"]).sum("part").values

    with figure(8.0, 8.6) as picture:
        above, middle, below, last = picture.subplots(4, 1, sharex=True)
        above.plot(fast, 1e3 * place, color=COLOURS[0], label="device")
        above.plot(slow, 1e3 * thing, color=COLOURS[1], linestyle=DASHED, label="object")
        above.set_ylabel("place [mm]")
        middle.plot(fast[1:], cell, color=COLOURS[0], linewidth=0.9, label="load cell")
        middle.plot(fast, force, color=COLOURS[1], linewidth=0.9, label="coupling")
        middle.set_ylabel("force [N]")
        below.plot(run.time, 1e3 * stored, color=COLOURS[0], label="stored in coupling and object")
        below.set_ylabel("energy [mJ]")
        last.plot(run.time, 1e3 * books, color=COLOURS[1], linewidth=1.0, label="energy error: Σ HBK − Σ HE")
        last.set_ylabel("energy [mJ]")
        last.set_xlabel("time [s]")
        for axis in (above, middle, below, last):
            legend(axis)
        case = f"{p['object_m']:g} kg on {p['object_k']:g} N/m and {p['object_b']:g} N s/m"
        headline(picture, f"An object of {case}, through {p['coupling']:g} N/m")

    total, seen = ledger.sel(part="total"), [name for name in run.parts if name == "touch.sensor"]
    unknown = total.created.values - total.booked.values - ledger.created.sel(part=seen).sum("part").values
    known, owed = dict(p) == PARAMS, float(np.abs(books).max() / stored.max())
    statements = [
        at_most("energy that neither books nor encoder account for [J]", np.abs(unknown).max(), 1e-11),
        at_most("largest energy error / largest stored energy", owed, 0.01, known),
        Statement("largest energy error [J]", float(np.abs(books).max())),
        Statement("energy error at the end [J]", float(books[-1])),
        *collisions(run, force, p),
    ]
    note = (
        "The paper measured on a machine with a hand that is not described; here a hand on a spring and a damper is "
        "guided to the object and back, and the device is the mass and damper that the paper's compensation leaves "
        "(see borghesan-fig15 for friction and observer). The paper does not say whether the coupling only pushes; it "
        "tells of collisions, so it does here: a unilateral spring, released where the encoder sees the device leave "
        "the object. One rate as in the paper; --set ratio=5 lets the object step slower, through a passive sample and "
        f"hold. The load cell is the hand's mean force over each period. The ledger says: {run.verdict}."
    )
    data = {
        "t [s]": fast, "place of the device [m]": place, "coupling [N]": force, "load cell, mean until t [N]": cell,
        "t of the object [s]": slow, "place of the object [m]": thing, "t of the energies [s]": run.time,
        "stored [J]": stored, "error [J]": books,
    }  # fmt: skip
    return Outcome(picture, data, tuple(statements), note)


def collisions(run: NetworkRun, force: np.ndarray, p: Mapping[str, float]) -> list[Statement]:
    """The first collision: its force, beside that of two free masses which meet at the same speed."""
    contacts = np.nonzero((force[:-1] == 0) & (force[1:] > 0))[0]
    if len(contacts) == 0:
        return [Statement("collisions", 0.0)]
    first, held = contacts[0], p["m"] + p["hand_mass"]
    speed = run["device.p"].values[first] / held
    light = held * p["object_m"] / (held + p["object_m"])
    soon = int(0.05 / p["step"])
    return [
        Statement("collisions", float(len(contacts))),
        Statement("first collision: largest force within 50 ms [N]", float(force[first : first + soon].max())),
        Statement("the same of two free masses, v √(k m) [N]", float(abs(speed) * np.sqrt(p["coupling"] * light))),
    ]


FIGURE = Figure(
    name="borghesan-fig16",
    title="A heavy object touched through a stiff virtual coupling",
    source=f"{JOURNAL}, Fig. 16",
    make=make,
    params=PARAMS,
)
