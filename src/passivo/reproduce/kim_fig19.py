"""What the device feels of the grasp: one commanded degree of freedom, its force fed back (spec 4.7)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.exact_hold import ExactHold
from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.network.network import Network
from passivo.network.sample_hold import PassiveSampleHold
from passivo.reproduce.common import at_most, headline, progress_of
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.reproduce.kim import PAPER
from passivo.reproduce.kim_grasp import FINGERS, JOINTS, OURS, hand, start
from passivo.reproduce.kim_hands import ease
from passivo.run.draw import COLOURS, figure, legend
from passivo.run.network_run import NetworkRun
from passivo.run.operators import Operator
from passivo.run.simulate import simulate
from passivo.world.world import World

PARAMS = {
    "tendon": 1e6, "open": -0.02, "shut": 0.042, "mass": 0.15, "damping": 2.0, "hand_mass": 0.4, "hand_damping": 5.0,
    "hand_stiffness": 300.0, "step": 1e-3, "device_step": 2.5e-4, "until": 4.0,
}  # fmt: skip
STYLES = ("-", "--", ":")  # of fingers that press alike
LINKS = ("proximal", "middle", "distal")
STRONGEST = 12.0  # N, of the paper's device
CLOSE, CLOSING, LET_GO, OPENING = 0.3, 1.2, 2.6, 0.9


def wanted(time: np.ndarray, p: Mapping[str, float]) -> np.ndarray:
    """Where the person wants the handle, m."""
    shut = ease(time, CLOSE, CLOSING) - ease(time, LET_GO, OPENING)
    return (p["shut"] - p["open"]) * shut


def touched(p: Mapping[str, float], advance: Advance) -> NetworkRun:
    """Device and hand in a network: the handle's way is the command."""
    net = Network()
    grip = net.add("hand", hand(p), PassiveMidpoint(), step=p["step"])
    person = Operator(p["hand_mass"], p["hand_stiffness"], p["hand_damping"])
    device = net.add("device", person.device(p["mass"], p["damping"]), ExactHold(port="true"), step=p["device_step"])
    net.connect(device["handle"], grip["grip"], through=PassiveSampleHold(), name="link")
    time = p["device_step"] * np.arange(round(p["until"] / p["device_step"]))
    push = p["hand_stiffness"] * wanted(time + 0.5 * p["device_step"], p)
    begun = {f"hand.{name}": value for name, value in start().items()}
    told = progress_of(advance, "device and hand")
    return simulate(net, until=p["until"], start=begun, inputs={"device.hand": push}, progress=told)


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    run = touched(p, advance)
    world, device = run.runs["hand"], run.runs["device"]
    way, time = device["q"].values, device.time
    force = felt(run)
    with figure(9.6, 6.4) as picture:
        axes = picture.subplots(3, 1, sharex=True)
        axes[0].plot(time, 1e3 * wanted(time, p), "--", color="0.6", label="where the person wants the handle")
        axes[0].plot(time, 1e3 * way, color=COLOURS[0], label="where it is: the command")
        axes[0].set_ylabel("way [mm]")
        axes[1].plot(world.time, force, color=COLOURS[1], label="force fed back to the device")
        axes[1].set_ylabel("force [N]")
        for i, finger in enumerate(FINGERS):
            forces = [np.nan_to_num(world[f"{finger}_{link}.contact_force"].values) for link in LINKS]
            pressed = sum(np.linalg.norm(force, axis=1) for force in forces)
            axes[2].plot(world.time, pressed, STYLES[i], color=COLOURS[2 + i], label=f"contacts of finger {finger}")
        axes[2].set_ylabel("force [N]")
        axes[2].set_xlabel("time [s]")
        for axis in axes:
            legend(axis)
        headline(picture, "One degree of freedom of a device closes the hand, and feels the grasp")
    data = {"t [s]": world.time, "force [N]": force, "command [m]": world["grip.length"].values}
    data |= {f"one {joint} [rad]": world[f"one_{joint}.angle"].values for joint in JOINTS}
    return Outcome(picture, data, tuple(_statements(run, force, p, dict(p) == PARAMS)), OURS + NOTE)


def felt(run: NetworkRun) -> np.ndarray:
    """The force with which the hand pulls the device back."""
    world = run.runs["hand"]
    assert isinstance(world.model, World)
    params = world.model.params
    gains = {cord.name: params[cord.gain] for cord in world.model.tendons.values() if cord.drive}
    z = world["grip.length"].values
    total = np.zeros(len(z))
    for name, gain in gains.items():
        total += gain * params[f"{name}.drive_stiffness"] * (gain * z - world[f"{name}.drive"].values)
    return total


def _statements(run: NetworkRun, force: np.ndarray, p: Mapping[str, float], known: bool) -> list[Statement]:
    whole, world = run.verdict, run.runs["hand"]
    passive = whole.kind in ("exact", "passive", "booked")
    exact = world.verdict.kind in ("exact", "passive")
    rows = slice(round(1.8 / p["step"]), round(2.5 / p["step"]))
    held = float(np.mean(force[rows])) if len(force) > rows.start else 0.0
    touching = float(np.nanmax(world["contacts.number"].values))
    return [
        Statement("verdict of the whole: passive", float(passive), "1", passive),
        Statement("verdict of the hand: no energy created", float(exact), "1", exact),
        Statement("force fed back while it holds, mean [N]", held),
        at_most(
            "largest force fed back [N], of 12 that an Omega 3 gives", float(np.abs(force).max()), STRONGEST, known
        ),
        Statement("contacts at a time, most", touching, ">= 3" if known else "", touching >= 3 if known else None),
        Statement("largest energy created in the whole [J]", float(whole.bias)),
    ]


NOTE = (
    "A simulated device of 0.15 kg at 4 kHz, held by a simulated person (0.4 kg, 300 N/m, 5 N s/m), stands in the "
    "place of the Omega 3; the hand steps at 1 kHz. The command is the way of the handle; the drives of the tendons "
    "yield to it, as a virtual coupling does."
)

FIGURE = Figure(
    name="kim-fig19",
    title="What a device feels of the grasp that it commands",
    source=f"{PAPER}, Fig. 19",
    make=make,
    params=PARAMS,
)
