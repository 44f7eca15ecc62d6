"""Mechanisms in worlds: beside each other, beside bodies, in loops, in contact, in files, changed while they run."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from world.mechanisms import busy_tree, random_start, random_tree
from world.scenes import drive, random_turn
from world.test_identities import compiled, created
from world.test_trees import vector

UPRIGHT = (0.5**0.5, 0, 0.5**0.5, 0)  # z of a link along x of the world


def pendulum(world=None, name="", at=(0, 0, 1), links=2, friction=0.5, mass=1.0, y=0.0):
    """Links in a row along x, each 0.4 m long, hinged about y."""
    world = world or pv.World()
    parent = None
    x, _, z = at
    for i in range(links):
        hinge = pv.Hinge(f"{name}hinge{i}", axis=(0, 1, 0), at=(x + 0.4 * i, y, z))
        parent = world.add_link(f"{name}link{i}", parent, hinge, pv.Box(0.08, 0.08, 0.36), mass,
                                position=(x + 0.4 * i + 0.2, y, z), orientation=UPRIGHT, friction=friction)  # fmt: skip
    return world


def steps(part, count, rng=None):
    """Steps with every row balanced in each."""
    for _ in range(count):
        part.step(drive(rng, part) if rng else None)
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all(), (gain, rounding)
    assert part.verdict.kind == "exact"


# -- several, and closed loops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_two_trees_and_a_body_tied_to_each_other_balance(seed):
    rng = np.random.default_rng(seed)
    world = random_tree(seed, links=3, gravity=(0, 0, -9.81))
    random_tree(seed + 50, links=3, world=world, name="o", free=True)
    body = world.add_body("loose", pv.Sphere(0.1), 0.5, position=(1, 1, 1))
    world.add_spring("one", world.links["l2"].point(0.1, 0, 0), world.links["ol2"].point(0, 0.1, 0), 50.0, 0.2)
    world.add_spring("two", world.links["ol1"].point(0.1, 0, 0), body.point(0, 0, 0.1), 80.0, 0.1, length=0.3)
    world.add_turn_spring("three", world.links["l1"], world.links["ol2"], 2.0, rest=random_turn(rng))
    steps(compiled(world, start=random_start(world, seed)), 12)


@pytest.mark.parametrize("K", [1e4, 1e8])
def test_a_loop_that_a_stiff_point_closes_is_exact_without_damping(K):
    """Three links in a row, the last one held to the world: the spring yields by its force alone."""
    world = pendulum(links=3, at=(0, 0, 1))
    last = world.links["link2"]
    world.add_hinge("loop", last, world, (0, 1, 0), at=(1.2, 0, 1), stiffness=K)
    part = compiled(world, step=1e-3, start={"hinge0.rate": 0.0})
    steps(part, 60)
    end = vector(part, "link2.position") + 0.2 * np.array(
        [np.cos(a := sum(vector(part, f"hinge{i}.angle")[0] for i in range(3))), 0, -np.sin(a)]
    )
    assert np.linalg.norm(end - [1.2, 0, 1]) < 200 / K + 1e-12


def test_links_and_stiff_joints_between_bodies_go_together():
    """A chain of bodies in joints of 1e6 N/m at the end of a mechanism: exact, as all that hangs on one is iterated."""
    world = pendulum(links=2)
    one = world.add_body("one", pv.Box(0.1, 0.1, 0.3), 0.5, position=(0.95, 0, 1))
    two = world.add_body("two", pv.Box(0.1, 0.1, 0.3), 0.5, position=(1.25, 0, 1))
    world.add_hinge("a", world.links["link1"], one, (0, 1, 0), at=(0.8, 0, 1), stiffness=1e6)
    world.add_ball("b", one, two, at=(1.1, 0, 1), stiffness=1e6)
    steps(compiled(world, step=1e-3), 40)


# -- contact ----------------------------------------------------------------------------------------------------------


def test_a_mechanism_falls_on_the_ground_and_on_a_box():
    world = pendulum(at=(0, 0, 0.5))
    world.add_plane(friction=0.5)
    world.add_body("box", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0.7, 0, 0.1), friction=0.5)
    part = compiled(world, step=2e-3)
    stored = [part.stored]
    for _ in range(200):
        part.step()
        stored.append(part.stored)
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all()
    assert part.verdict.kind == "exact" and max(np.diff(stored)) < 1e-12
    run = dict(zip(part.model.recorded, part._section("RECORDED", len(part.model.recorded))))
    assert stored[-1] < 0.9 * stored[0] and run["contacts.depth"] < 2e-3


def test_two_fingers_of_links_hold_a_box_by_friction():
    """Springs in the joints press two plates against a box of 0.2 kg: it stays where it is, and nothing is created."""
    world = pv.World()
    for side in (-1.0, 1.0):
        name = "left" if side < 0 else "right"
        slider = pv.Slider(f"{name}_way", axis=(-side, 0, 0), stiffness=200.0, reference=0.05, damping=5.0)
        world.add_link(name, None, slider, pv.Box(0.02, 0.1, 0.1), 0.2, position=(side * 0.061, 0, 0), friction=0.8)
    world.contact = True
    world.add_body("box", pv.Box(0.1, 0.06, 0.06), 0.2, friction=0.8)
    part = compiled(world, step=4e-3)
    for _ in range(60):
        part.step()
    assert part.verdict.passive
    height = vector(part, "box.position")[2]
    for _ in range(30):
        part.step()
    assert abs(vector(part, "box.position")[2] - height) < 1e-5  # held
    assert part.verdict.kind == "exact"


def test_neighbours_do_not_touch_unless_told():
    world = pendulum()
    assert ("link0", "link1") in world.apart
    world.set_pair("link0", "link1", collide=True)
    assert ("link0", "link1") not in world.apart


# -- anchors, couplings, files ----------------------------------------------------------------------------------------


def test_an_anchor_drives_a_link_and_its_work_is_booked():
    world = pendulum()
    hand = world.add_anchor("hand", position=(0.8, 0, 1))
    world.add_spring("pull", world.links["link1"].here(0.8, 0, 1), hand, 500.0, 2.0)
    part = compiled(world, step=1e-3)
    for _ in range(40):
        part.step([0.0, 0.0, 0.3])
    assert part.verdict.kind == "exact" and part.work.sum() != 0.0


def test_a_virtual_coupling_holds_a_link():
    """A mass pulls at a link through a spring of 500 N/m, at 1 and 2 ms: passive, and the link follows."""
    world = pendulum(links=1)
    world.add_port("tip", world.links["link0"], at=(0, 0, 0.2))
    net = pv.Network()
    arm = net.add("arm", world, pv.PassiveMidpoint(), step=2e-3)
    mass = pv.World(gravity=(0, 0, 0))
    mass.add_port("hold", mass.add_body("ball", pv.Sphere(0.05), 1.0, position=(0.4, 0, 1), velocity=(0, 0, 0.5)))
    ball = net.add("ball", mass, pv.PassiveMidpoint(), step=1e-3)
    net.connect(arm["tip"], ball["hold"], through=pv.VirtualCoupling(k=500.0), name="link")
    run = pv.simulate(net, until=0.1, engine="python")
    assert run.verdict.passive, run.verdict
    assert abs(run["arm.hinge0.angle"].values).max() > 1e-3


def test_a_run_is_saved_read_audited_and_gone_on_with(tmp_path):
    """Steps are repeated in extended precision from the stored states, with books of their own."""
    world = busy_tree(2, free=True)
    start = random_start(world, 2)
    run = pv.simulate(world, pv.PassiveMidpoint(), step=2e-3, until=0.02, start=start, engine="python",
                      inputs={"tip": (0.3, 0.1, -0.2)})  # fmt: skip
    run.save(tmp_path / "tree.zarr")
    again = pv.load(tmp_path / "tree.zarr")
    audit = again.audit()
    assert audit.findings == [] and audit.verdict.kind == "exact"
    name = "j1"
    what = next(iter(world.joints[name].coordinates))
    assert np.array_equal(run[f"{name}.{what}"].values, again[f"{name}.{what}"].values)
    twin = type(world).from_description(world.snapshot().describe())
    assert twin.describe() == world.snapshot().describe()
    half = pv.simulate(world, pv.PassiveMidpoint(), step=2e-3, until=0.01, start=start, engine="python",
                       inputs={"tip": (0.3, 0.1, -0.2)})  # fmt: skip
    rest = pv.compile(world, pv.PassiveMidpoint(), 2e-3, engine="python",
                      start=dict(zip(world.states, half.arrays["states"][-1])))  # fmt: skip
    inputs = np.zeros(rest.inputs.size)
    at = list(world.ports).index("tip")
    first = sum(port.width for port in list(world.ports.values())[:at])
    inputs[first : first + 3] = 0.3, 0.1, -0.2
    for _ in range(5):
        rest.step(inputs)
    seen = [world.states.index(each) for each in world.names.seen]  # quaternions that are put are made 1 long again
    assert np.abs(rest.state - run.arrays["states"][-1])[seen].max() < 1e-11


# -- changed while it runs --------------------------------------------------------------------------------------------


def test_masses_and_springs_change_while_it_runs():
    """What that is worth is booked as edited, and the motion goes on exactly."""
    world = pendulum(links=3)
    part = compiled(world, step=1e-3)
    steps(part, 10)
    before = part.stored
    part.set(**{"link2.mass": 2.0, "hinge1.stiffness": 5.0, "hinge0.inertia": 0.3, "hinge2.damping": 0.1})
    edited = part.stored - before
    assert abs(edited) > 0.1
    steps(part, 10)
    assert part.lost > 0
    before = part.stored
    part.place({"hinge1.angle": 0.7, "hinge0.rate": 2.0})
    assert vector(part, "link2.velocity")[2] != 0.0 and part.stored != before
    steps(part, 10)


def test_sweeps_share_nothing_and_agree_with_single_runs():
    world = pendulum(links=2)
    options = {"step": 2e-3, "until": 0.02}
    result = pv.sweep(world, pv.PassiveMidpoint(), over={"link1.mass": [0.5, 2.0]}, keep=["hinge0.angle", "verdict"],
                      engine="python", **options)  # fmt: skip
    for i, mass in enumerate((0.5, 2.0)):
        run = pv.simulate(world.with_params(**{"link1.mass": mass}), pv.PassiveMidpoint(), engine="python", **options)
        assert float(result["hinge0.angle"][i]) == run["hinge0.angle"].values[-1]


# -- mistakes ---------------------------------------------------------------------------------------------------------


def link(world, parent=None, joints=None, **options):
    joints = joints if joints is not None else pv.Hinge("elbow")
    return world.add_link("upper", parent, joints, **{"mass": 1.0, "shape": pv.Sphere(0.1), **options})


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mass": 0.0}, "the mass of link 'upper' must be > 0 kg, not 0"),
        ({"mass": None}, "link 'upper' needs a mass"),
        ({"joints": []}, "hangs by one joint or a list of them"),
        ({"joints": pv.Hinge("elbow", axis=(0, 0, 0))}, "the axis of joint 'elbow' must not be 0"),
        ({"joints": pv.Hinge("elbow", stiffness=-1.0)}, "the stiffness of joint 'elbow' must be >= 0, not -1"),
        ({"joints": pv.Hinge("upper")}, "joints need a name each|already has"),
        ({"joints": [pv.Hinge("a"), pv.Free("b")]}, "is free and has other joints"),
        ({"velocity": (1, 0, 0)}, "say how fast in start={'elbow.rate': ...}"),
        ({"parent": "shoulder"}, "hangs on a link that this world's add_link"),
        ({"joints": pv.Free("f", damping=1.0)}, "a drag and a mass are the link's"),
    ],
)
def test_links_that_cannot_be_are_told_with_the_fix(options, match):
    with pytest.raises(pv.ModelError, match=match):
        link(pv.World(), **options)


def test_a_body_is_no_parent_and_poses_of_links_are_not_put():
    world = pv.World()
    body = world.add_body("body", pv.Sphere(0.1), 1.0)
    with pytest.raises(pv.ModelError, match=r"tied to it: world.add_hinge\(...\)"):
        link(world, body)
    link(world)
    with pytest.raises(pv.InputError, match=r"follows from joints; put their coordinates, such as 'elbow.angle'"):
        compiled(world, start={"upper.position": (0, 0, 1)})
