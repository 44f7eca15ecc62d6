"""Tendons, drives, commands and stops of joints on mechanisms: exact in every row of the ledger, whatever slackens."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.world import cord_table as D
from passivo.world import table as T
from passivo.world.start import StartWarning
from world.mechanisms import random_start, random_tree
from world.test_identities import compiled, created

# random starts, in stops or not
pytestmark = pytest.mark.filterwarnings("ignore::passivo.world.start.StartWarning")


def strung_tree(seed, formulas=True):
    """A random tree under gravity with stops, and tendons of every kind, some slack, some taut, stiff and soft."""
    rng = np.random.default_rng(seed)
    gravity = 3 * rng.standard_normal(3)
    ranges = {"range": (-0.4, 0.3), "stop_stiffness": 200.0, "stop_damping": 0.3}
    world = random_tree(seed, links=4, kinds=("hinge", "slide"), free=seed % 2 == 1, gravity=gravity)
    for link in list(world.links.values()):
        for joint in link.joints:
            if hasattr(joint, "range") and rng.random() < 0.7:
                for name, value in ranges.items():
                    object.__setattr__(joint, name, value)
                world.params |= joint.params
    names = [name for name, joint in world.joints.items() if joint.width == 1]
    arms = lambda count: {str(n): 0.05 * rng.standard_normal() for n in rng.permutation(names)[:count]}  # noqa: E731
    grip = world.add_command("grip")
    world.add_tendon("soft", arms(3), 300.0, 0.4, pretension=1.0)
    world.add_tendon("stiff", arms(2), 1e6, slack=1e-3)
    world.add_tendon("damped", arms(2), 1e5, 5.0, slack=5e-4)
    world.add_tendon("wound", arms(3), 1e6, 0.5, slack=1e-3, command=grip, gain=0.5, drive=pv.Drive(0.05, 3500.0, 2.0))
    world.add_tendon("drawn", arms(2), 2e4, 0.5, slack=2e-3, command=grip, gain=-0.7)
    world.add_tendon("pull", arms(2), force=True)
    if formulas:
        one, other = (str(n) for n in rng.permutation(names)[:2])
        world.add_tendon("bent", {one: f"0.03 + 0.02*cos({one})"}, 1e5, 0.2, pretension=3.0)
        both = f"0.03*cos({one} + 0.5*{other})"
        world.add_tendon("crossed", {one: both, other: f"0.5*{both}"}, 1e4, slack=1e-3, command=grip)
        world.add_tendon("muscle", {one: f"0.02 - 0.01*{one}**2"}, force=True)
    return world


def pulls(rng, part):
    """Random inputs: commands of some cm/s, tensions of some N, a few below 0."""
    u = rng.standard_normal(part.inputs.size)
    u[0] *= 0.1
    return 3 * u


@pytest.mark.parametrize("seed", range(8))
def test_every_row_balances_in_every_step(seed):
    """Also where tendons slacken and tighten within the step; at varying steps, random tensions and commands."""
    world = strung_tree(seed)
    part = compiled(world, start=random_start(world, seed))
    rng = np.random.default_rng(seed)
    places = cords_in(part, world)
    cases = set()
    for k in range(40):
        part.step(pulls(rng, part), dt=2e-3 * (1 + 0.5 * np.sin(k)))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all()
        assert abs(gain.sum()) <= 2e-13 * (abs(part.stored) + abs(part.work).sum() + 100)
        cases |= {(bool(part.memory[at + D.D_E] > 0), bool(part.memory[at + D.D_NEW] > 0)) for at in places}
    assert part.verdict.kind == "exact"
    assert part.lost > 0
    assert {(True, True), (False, False), (True, False)} <= cases


def cords_in(part, world):
    """Where the cords of a world lie in the memory."""
    table = part.module.TABLE
    first = table[T.CORD_TABLE]
    return [int(table[first + k * D.D_SIZE + D.D_MEMORY]) for k in range(len(world.cords))]


@pytest.mark.parametrize("seed", range(4))
def test_the_ledger_stores_what_numpy_says(seed):
    world = strung_tree(seed)
    part = compiled(world, start=random_start(world, seed))
    rng = np.random.default_rng(seed)
    for _ in range(5):
        part.step(pulls(rng, part))
    part._look()
    found = world.row_energies(part.params, part.state[None, :].astype(np.longdouble))[0]
    stored = part._section("ENERGY", part.module.ROWS)
    assert np.abs(found - stored).max() < 1e-12 * np.abs(found).max()


def finger(**tendon):
    """Two links that hang down, and a tendon over both joints."""
    world = pv.World(gravity=(0, 0, -9.81))
    upper = world.add_link("upper", None, pv.Hinge("base", axis=(0, 1, 0), at=(0, 0, 0)), pv.Capsule(0.01, 0.1), 0.05,
                           position=(0, 0, -0.05))  # fmt: skip
    world.add_link("lower", upper, pv.Hinge("tip", axis=(0, 1, 0), at=(0, 0, -0.1)), pv.Capsule(0.01, 0.08), 0.03,
                   position=(0, 0, -0.14))  # fmt: skip
    if tendon:
        world.add_tendon("flexor", **{"arms": {"base": 0.01, "tip": 0.008}, **tendon})
    return world


@pytest.mark.parametrize("seed", range(3))
def test_parameters_changed_while_it_runs_are_booked_as_edited(seed):
    world = strung_tree(seed)
    part = compiled(world, start=random_start(world, seed))
    rng = np.random.default_rng(seed)
    names = ["soft.stiffness", "soft.slack", "wound.gain", "wound.drive_stiffness", "wound.drive_mass", "drawn.slack"]
    names += [name for name in part.params if name.endswith((".high", ".stop_stiffness"))]
    edits = 0
    for k in range(25):
        if k % 3 == 2:
            name = names[k // 3 % len(names)]
            before, value = part.stored, part.params[name]
            part.set(**{name: value * float(rng.uniform(0.5, 1.5))})
            edits += part.stored != before
        part.step(pulls(rng, part))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all()
    assert part.verdict.kind == "exact"
    assert edits > 3


def test_a_hanging_weight_is_held_by_the_tension_that_statics_want():
    """m g r = arm · tension; and a slack tendon holds nothing."""
    world = finger(stiffness=1e4, damping=50.0, pretension=20.0)
    world.params |= {"base.damping": 0.005, "tip.damping": 0.005}
    run = pv.simulate(world, pv.PassiveMidpoint(), step=4e-3, until=2.0, engine="python")
    assert run.verdict.kind == "exact"
    q, r = float(run["base.angle"][-1]), float(run["tip.angle"][-1])
    tension, stretch = float(run["flexor.tension"][-1]), float(run["flexor.stretch"][-1])
    assert tension == pytest.approx(1e4 * stretch, rel=1e-3)
    assert stretch == pytest.approx(20.0 / 1e4 - 0.01 * q - 0.008 * r, abs=1e-12)
    outer = 0.03 * 9.81 * 0.04 * np.sin(q + r)
    assert 0.008 * tension == pytest.approx(outer, rel=1e-2)
    assert 0.01 * tension == pytest.approx(outer + (0.05 * 0.05 + 0.03 * 0.1) * 9.81 * np.sin(q), rel=1e-2)
    assert float(run["flexor.slack_share"][-1]) == 0.0
    loose = pv.simulate(finger(stiffness=1e4, slack=0.01), pv.PassiveMidpoint(), 2e-3, 0.05, engine="python")
    assert (loose["flexor.tension"][1:] == 0.0).all() and (loose["flexor.slack_share"][1:] == 1.0).all()


def test_slack_counts_from_where_all_joints_are_at_0():
    world = finger(stiffness=1e4, slack=1e-3, arms={"base": "0.01*sin(base)", "tip": "0.008*exp(tip)"})
    world.params["gravity_z"] = 0.0
    part = compiled(world)
    part.step()
    told = dict(zip(world.recorded, part._section("RECORDED", len(world.recorded))))
    assert told["flexor.stretch"] == pytest.approx(-1e-3, abs=1e-15)
    assert (told["flexor.tension"], told["flexor.slack_share"]) == (0.0, 1.0)


def test_a_force_at_its_port_is_its_tension_and_never_pushes():
    world = finger(force=True, arms={"base": 0.01, "tip": "0.008*cos(tip)"})
    part = compiled(world, step=1e-3)
    for u in (3.0, 5.0, -4.0):
        before = part.state.copy()
        part.step([u])
        way = dict(zip(world.states, part.state - before))
        taken = 0.01 * way["base.angle"]
        taken += 0.008 * (np.sin(part_state(part, "tip.angle")) - np.sin(before[world.states.index("tip.angle")]))
        assert part.work[0] == pytest.approx(max(u, 0.0) * taken, rel=1e-9, abs=1e-18)
    assert part.verdict.kind == "exact"
    rates = {name: part_state(part, name) for name in ("base.rate", "tip.rate", "tip.angle")}
    speed = 0.01 * rates["base.rate"] + 0.008 * np.cos(rates["tip.angle"]) * rates["tip.rate"]
    assert part.output[0] == pytest.approx(speed, rel=1e-12)


def part_state(part, name):
    return float(part.state[part.model.states.index(name)])


@pytest.mark.parametrize("drive", [None, pv.Drive(0.05, 2000.0, 1.0)])
def test_a_command_feels_the_force_of_what_it_pulls(drive):
    """Its port's work is what the finger, the tendon and the drive have more, whatever is lost."""
    world = finger()
    grip = world.add_command("grip")
    world.add_tendon("flexor", {"base": 0.01, "tip": 0.008}, 1e4, 2.0, command=grip, gain=0.5, drive=drive)
    part = compiled(world, step=1e-3)
    start = part.stored
    done = lost = 0.0
    for k in range(150):
        part.step([0.05 * np.sin(0.02 * k)])
        done, lost = done + part.work[0], lost + part.lost
    assert part.verdict.kind == "exact"
    assert done == pytest.approx(part.stored - start + lost, rel=1e-10)
    assert done > 1e-4
    state = dict(zip(world.states, part.state))
    if drive is None:
        stretch = 0.5 * state["grip.length"] - 0.01 * state["base.angle"] - 0.008 * state["tip.angle"]
        speed = 0.5 * 0.05 * np.sin(0.02 * 149) - 0.01 * state["base.rate"] - 0.008 * state["tip.rate"]
        assert part.output[0] == pytest.approx(0.5 * (1e4 * stretch + 2.0 * speed), rel=1e-9)
    else:
        lag = 0.5 * state["grip.length"] - state["flexor.drive"]
        assert part.output[0] == pytest.approx(0.5 * 2000.0 * lag, rel=1e-9)


def test_arms_that_depend_on_joints_are_of_second_order():
    def end(step):
        world = finger(stiffness=50.0, pretension=5.0, arms={"base": "0.05 + 0.03*cos(base)", "tip": "0.04 - 0.02*tip"})
        run = pv.simulate(world, pv.PassiveMidpoint(), step, 0.4, start={"base.rate": 3.0}, engine="python")
        return np.array([float(run[name][-1]) for name in ("base.angle", "tip.angle")])

    coarse, middle, fine = (end(step) for step in (8e-3, 4e-3, 2e-3))
    order = np.log2(np.abs(coarse - middle).max() / np.abs(middle - fine).max())
    assert 1.9 < order < 2.2


@pytest.mark.parametrize("stiffness", [20.0, 1e4, 1e7])
def test_a_stop_without_damping_gives_back_what_it_took(stiffness):
    """A pendulum between two stops: exact at every stiffness, and never far beyond them."""
    world = pv.World(gravity=(0, 0, -9.81))
    hinge = pv.Hinge(
        "swing", axis=(0, 1, 0), at=(0, 0, 0), range=(-0.3, 0.5), stop_stiffness=stiffness, stop_damping=0.0
    )
    world.add_link("bob", None, hinge, pv.Sphere(0.02), mass=0.2, position=(0, 0, -0.3))
    run = pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 1.0, start={"swing.rate": 4.0}, engine="python")
    assert run.verdict.kind == "exact"
    angle = run["swing.angle"].values
    beyond = max(angle.max() - 0.5, -0.3 - angle.min())
    assert 0.0 < beyond <= 4.0 * max(np.sqrt(0.0181 / stiffness), 1e-3)
    moment = run["swing.stop"].values[1:]
    assert moment.min() < 0.0 < moment.max()
    assert ((moment <= 0.0) | (angle[:-1] < 0.1)).all()


def test_stops_have_damping_unless_told_otherwise():
    world = pv.World(gravity=(0, 0, -9.81))
    hinge = pv.Hinge("swing", axis=(0, 1, 0), at=(0, 0, 0), range=(-0.3, 0.5))
    world.add_link("bob", None, hinge, pv.Sphere(0.02), 0.2, position=(0, 0, -0.3))
    world.add_link("rod", None, pv.Slider("slide", axis=(0, 0, 1), range=(0.1, 0.5)), pv.Sphere(0.02), 0.2,
                   position=(1, 0, 0))  # fmt: skip
    assert (world.params["swing.stop_stiffness"], world.params["swing.stop_damping"]) == (1e3, 10.0)
    assert (world.params["slide.stop_stiffness"], world.params["slide.stop_damping"]) == (1e5, 1e3)
    assert (world.unit("swing.stop"), world.unit("slide.stop")) == ("N m", "N")
    with pytest.warns(StartWarning, match="'slide' starts at 0 m"):
        run = pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 0.6, start={"swing.rate": 4.0}, engine="python")
    assert run.verdict.kind == "exact"
    assert float(run.ledger.lost.sel(part="total")[-1]) > 0.05
    assert float(run["slide.way"][-1]) == pytest.approx(0.1 - 0.2 * 9.81 / 1e5, abs=1e-6)


def test_a_cord_that_hangs_slack_hides_nothing():
    """However long its way: it stores nothing, and rounding of its stretch is worth nothing."""
    runs = []
    for slack in (None, 0.5):
        world = pv.World(gravity=(0, 0, 0))
        world.add_link("arm", None, pv.Hinge("j", axis=(0, 1, 0), at=(0, 0, 0)), pv.Sphere(0.05), 1.0,
                       position=(0, 0, -0.2))  # fmt: skip
        if slack:
            world.add_tendon("loose", {"j": "0.001*exp(3*j)"}, 1e3, 1.0, slack=slack)
        runs.append(pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 0.2, start={"j.angle": 6.0, "j.rate": 20.0},
                                engine="python"))  # fmt: skip
    assert runs[1]["loose.stretch"].values[-1] < -1e8
    assert runs[1].verdict.roundoff == runs[0].verdict.roundoff


def test_arms_that_end_are_named_where_no_step_can_be_taken():
    world = pv.World()
    world.add_link("arm", None, pv.Hinge("j", axis=(0, 1, 0), at=(0, 0, 0)), pv.Sphere(0.05), 1.0,
                   position=(0, 0, -0.2))  # fmt: skip
    world.add_tendon("root", {"j": "0.01*sqrt(j)"}, 1e3)
    start = {"j.angle": 0.02, "j.rate": -1.0}
    with pytest.raises(pv.StepError, match="The arms of tendon 'root' have no value at j = -") as caught:
        pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 0.1, start=start, engine="python")
    assert caught.value.run.steps > 5
    net = pv.Network()
    net.add("arm", world, pv.PassiveMidpoint(), step=1e-3)
    with pytest.raises(pv.StepError, match=r"^part arm: .* The arms of tendon 'root'"):
        pv.simulate(net, until=0.1, start={f"arm.{name}": value for name, value in start.items()}, engine="python")


def test_runs_are_saved_and_audited(tmp_path):
    world = strung_tree(2)
    part = compiled(world)
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal((12, 1)) for name in world.ports}
    run = pv.simulate(world, pv.PassiveMidpoint(), 2e-3, 0.024, start=random_start(world, 2), inputs=inputs,
                      engine="python")  # fmt: skip
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert again.model.describe() == run.model.describe()
    audit = again.audit()
    assert audit.ok, audit
    assert part.model.names.unit("wound.drive_speed") == "m/s"
    assert run["stiff.tension"].attrs["units"] == "N"


@pytest.mark.parametrize(
    "options, told",
    [
        ({"arms": {"elbow": 0.01}}, "there is no such joint"),
        ({"arms": {"base": 0.01, "tip": 0.01, "end": 0.01}}, "the finger it spans has 'base', 'tip'"),
        ({"arms": {"base": 0.01, "ball": 0.01}}, "more than one way"),
        ({"arms": {"base": 0.01, "other": 0.01}}, "joints of 2 mechanisms"),
        ({"stiffness": -5.0}, "must be >= 0"),
        ({"stiffness": 0.0}, "must be > 0"),
        ({"stiffness": None}, "needs a stiffness"),
        ({"damping": -1.0}, "must be >= 0"),
        ({"slack": 0.1, "pretension": 2.0}, "not both"),
        ({"gain": 2.0}, "no command"),
        ({"drive": pv.Drive(0.1, 10.0)}, "no command"),
        ({"command": "grip"}, r"add_command\(...\) returned"),
        ({"force": True}, "takes no stiffness"),
        ({"force": True, "stiffness": None, "gain": 2.0}, "takes no gain"),
    ],
)
def test_tendons_that_cannot_be(options, told):
    world = finger()
    world.add_link("far", None, pv.Hinge("other", axis=(0, 1, 0)), pv.Sphere(0.1), 1.0, position=(1, 0, 0))
    world.add_link("loose", world.links["lower"], pv.Ball("ball", at=(0, 0, -0.2)), pv.Sphere(0.1), 1.0,
                   position=(0, 0, -0.3))  # fmt: skip
    with pytest.raises(pv.ModelError, match=told):
        world.add_tendon("flexor", **{"arms": {"base": 0.01}, "stiffness": 100.0, **options})
    assert "flexor" not in world.tendons


@pytest.mark.parametrize("drive, told", [(pv.Drive(0.0, 10.0), "mass > 0"), (pv.Drive(1.0, -1.0), "must be >= 0")])
def test_drives_that_cannot_be(drive, told):
    world = finger()
    with pytest.raises(pv.ModelError, match=told):
        world.add_tendon("flexor", {"base": 0.01}, 100.0, command=world.add_command("grip"), drive=drive)


@pytest.mark.parametrize("given, told", [((0.5, 0.1), "is empty"), (0.5, "lowest, highest"), ((0.1, "a"), "range")])
def test_ranges_that_cannot_be(given, told):
    with pytest.raises(pv.ModelError, match=told):
        pv.World().add_link("bob", None, pv.Hinge("swing", range=given), pv.Sphere(0.1), 1.0)


def test_a_device_commands_a_tendon_and_feels_it():
    """In a network, at a fourth of the world's step: the world creates nothing, the junction repays what it lends."""
    world = finger()
    world.params["gravity_z"] = 0.0
    grip = world.add_command("grip")
    world.add_tendon("flexor", {"base": 0.01, "tip": 0.008}, 1e5, 1.0, command=grip, drive=pv.Drive(0.05, 3500.0, 5.0))
    net = pv.Network()
    hand = net.add("hand", world, pv.PassiveMidpoint(), step=2e-3)
    device = net.add("device", pv.library.device(m=0.15, b=2.0), pv.ExactHold(port="true"), step=5e-4)
    net.connect(device["handle"], hand["grip"], through=pv.PassiveSampleHold(), name="link")
    run = pv.simulate(net, until=0.3, inputs={"device.hand": 0.5}, engine="python")
    assert run.verdict.passive
    assert run.runs["hand"].verdict.kind == "exact"
    way, length = float(run["device.q"][-1]), float(run["hand.grip.length"][-1])
    assert way > 1e-3
    assert length == pytest.approx(way, rel=0.1)
    assert float(run["hand.flexor.tension"].max()) > 0.1


def test_a_finger_a_beam_and_a_body_in_one_world():
    """Tendons, bending, springs and contact, one ledger: exact."""
    world = finger()
    world.add_tendon("flexor", {"base": 0.01, "tip": "0.008*cos(tip)"}, 1e5, 1.0, pretension=20.0)
    shape = pv.Beam(0.3, 4, young=70e9, density=2700.0, section=(0.02, 0.002), origin=(-0.1, 0, -0.3))
    bar = world.add_beam("bar", shape)
    load = world.add_body("load", pv.Box(0.04, 0.04, 0.04), 0.1, position=(0.2, 0, -0.2))
    world.add_spring("line", load, bar.node(4), 200.0, 0.1)
    world.add_spring("cord", world.links["lower"].point(0, 0, -0.04), load.point(-0.02, 0, 0), 100.0, 0.1, length=0.1)
    world.add_plane("floor", at=(0, 0, -0.4), friction=0.4)
    part = compiled(world, step=1e-3)
    for k in range(60):
        part.step(np.zeros(0), dt=1e-3 * (1 + 0.5 * np.sin(k)))
    assert part.verdict.kind == "exact"
