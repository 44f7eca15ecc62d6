"""Scene files: what MuJoCo makes of a file is the oracle for what a world is made of."""

import warnings
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import passivo as pv
from passivo.errors import ModelError, ScenarioError
from passivo.world.links import SceneWarning, checked, rigid
from passivo.world.read import scene_of
from passivo.world.rotation import matrix_of
from passivo.world.scene.plain import text_of
from world.scenes import random_inertia, random_turn

ARM = Path(__file__).parents[2] / "examples" / "scenes" / "arm.urdf"


def told(numbers):
    return " ".join(repr(float(x)) for x in numbers)


def world_of(path, *args, **options):
    """The world of a file, without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)
        return pv.World.from_file(path, *args, **options)


def write(folder, text, name="scene.xml"):
    path = folder / name
    path.write_text(text)
    return path


def random_geom(rng):
    sizes = {"sphere": 1, "box": 3, "capsule": 2, "cylinder": 2}
    kind = list(sizes)[rng.integers(4)]
    size = rng.uniform(0.02, 0.1, sizes[kind])
    pose = f'pos="{told(0.1 * rng.standard_normal(3))}" quat="{told(random_turn(rng))}"'
    return f'<geom type="{kind}" size="{told(size)}" {pose} density="{rng.uniform(300, 3000)}"/>'


def random_inertial(rng):
    mass = rng.uniform(0.1, 3.0)
    inertia = random_inertia(rng, mass)
    full = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return f'<inertial pos="{told(0.1 * rng.standard_normal(3))}" mass="{mass}" fullinertia="{told(full)}"/>'


def random_tree(rng, bodies=8):
    """MJCF with bodies that hang on each other in any way, some of them fixed to what carries them."""
    children = {i: [] for i in range(-1, bodies)}
    for i in range(bodies):
        children[int(rng.integers(-1, i)) if i else -1].append(i)
    kinds = ["hinge", "slide", "ball", "none"]

    def text(i, top):
        joints = [*kinds, "free"] if top else kinds
        kind = joints[rng.integers(len(joints))] if i else "hinge"
        axis, at = told(rng.standard_normal(3)), told(0.1 * rng.standard_normal(3))
        joint = {
            "free": "<freejoint/>",
            "none": "",
            "ball": f'<joint type="ball" pos="{at}"/>',
        }.get(kind, f'<joint type="{kind}" axis="{axis}" pos="{at}"/>')
        inside = random_geom(rng) + (random_geom(rng) if rng.random() < 0.5 else random_inertial(rng))
        inner = "".join(text(j, False) for j in children[i])
        pose = f'pos="{told(rng.standard_normal(3))}" quat="{told(random_turn(rng))}"'
        return f'<body name="b{i}" {pose}>{joint}{inside}{inner}</body>'

    return "".join(text(i, True) for i in children[-1])


def mjcf(bodies, more="", head=""):
    return (
        f'<mujoco model="m"><compiler angle="radian"/><option gravity="0.1 -0.3 -9"/>{head}'
        f"<worldbody>{bodies}</worldbody>{more}</mujoco>"
    )


def inertia_of(world, name):
    xx, yy, zz, xy, xz, yz = (world.params[f"{name}.inertia_{s}"] for s in ("xx", "yy", "zz", "xy", "xz", "yz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def same_bodies(world, model):
    """Masses, inertias and poses equal those of a compiled model in which fixed bodies are fused."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    moving = [i for i in range(1, model.nbody) if model.body_weldid[i] == i]
    assert [model.body(i).name for i in moving] == list(world.bodies)
    for i in moving:
        name = model.body(i).name
        body = world.bodies[name]
        assert world.params[f"{name}.mass"] == pytest.approx(model.body_mass[i], rel=1e-12)
        assert np.allclose(body.position, data.xipos[i], atol=1e-12)
        assert np.allclose(matrix_of(body.orientation), data.xmat[i].reshape(3, 3), atol=1e-12)
        principal = data.ximat[i].reshape(3, 3)
        expected = principal @ np.diag(model.body_inertia[i]) @ principal.T  # in world axes
        turn = matrix_of(body.orientation)
        found = turn @ inertia_of(world, name) @ turn.T
        assert np.allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(8))
def test_bodies_of_mjcf_are_those_of_mujoco(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = write(tmp_path, mjcf(random_tree(rng)))
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = True
    model = spec.compile()
    world = world_of(path, "maximal", contact=False)
    same_bodies(world, model)
    same_bodies(world_of(path, contact=False), model)
    assert [world.params[f"gravity_{x}"] for x in "xyz"] == [0.1, -0.3, -9.0]
    ties = {"hinge": 1, "prismatic": 1, "ball": 1}
    kinds = [{0: None, 1: "ball", 2: "prismatic", 3: "hinge"}[k] for k in model.jnt_type.tolist()]
    assert [bond.what for bond in world.bonds.values() if bond.what in ties] == [k for k in kinds if k]


def test_shapes_stand_where_mujoco_has_them(tmp_path):
    rng = np.random.default_rng(3)
    path = write(tmp_path, mjcf(random_tree(rng)))
    world = world_of(path, contact=False)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    moving = [g for g in range(model.ngeom) if model.body_weldid[model.geom_bodyid[g]] != 0]
    places = np.array([
        body.outside(shape.position) for body in world.bodies.values() for shape in body.shapes
    ])  # fmt: skip
    assert len(places) == len(moving)
    for g in moving:
        assert np.abs(places - data.geom_xpos[g]).max(axis=1).min() < 1e-12


ARMS = """<body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
  <body name="b" pos=".4 0 0"><joint name="jb" type="{kind}" axis="0 .6 .8"/>
    <geom type="capsule" fromto="0 0 0 .3 .1 0" size=".02"/>
    <body name="c" pos=".3 .1 0"><joint type="slide" axis="1 .2 0" stiffness="80" damping=".3"/>
      <geom type="box" size=".1 .02 .03"/></body></body></body>"""


@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_a_falling_arm_follows_mujoco(kind, tmp_path):
    path = write(tmp_path, mjcf(ARMS.format(kind=kind)))
    world = world_of(path, "maximal", contact=False, stiffness=1e8)
    run = pv.simulate(world, pv.PassiveMidpoint(resolve=2), step=3e-3, until=0.12, engine="python")
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1200)
    mujoco.mj_kinematics(model, data)
    start = mujoco.MjData(model)
    mujoco.mj_kinematics(model, start)
    for name in "abc":
        found, at = run[f"{name}.position"].values[-1], model.body(name).id
        moved = np.linalg.norm(data.xipos[at] - start.xipos[at])
        assert np.linalg.norm(found - data.xipos[at]) < 2e-4 * moved
    assert run.verdict.kind == "exact"


def test_the_arm_is_read_as_mujoco_reads_it():
    spec = mujoco.MjSpec.from_file(str(ARM))
    spec.compiler.fusestatic = True
    same_bodies(world_of(ARM, contact=False), spec.compile())
    world = world_of(ARM, "maximal", contact=False)
    same_bodies(world, spec.compile())
    assert [bond.what for name, bond in world.bonds.items() if "spring" not in name] == ["hinge"] * 7
    told_of = {one.kind: one.names for one in world.unsupported}
    assert len(told_of["effort limit"]) == 7 and len(told_of["joint range"]) == 7


def test_axes_of_a_urdf_are_those_of_mujoco():
    model = mujoco.MjModel.from_xml_path(str(ARM))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = rigid(scene_of(ARM))
    for link, axis, anchor in zip(bodies.links, data.xaxis, data.xanchor):
        place, turn = bodies.poses[link.name]
        assert np.allclose(matrix_of(turn) @ link.joints[0].axis, axis, atol=1e-12)
        assert np.allclose(place, anchor, atol=1e-12)


def test_what_a_file_asks_for_in_vain_is_listed_by_name(tmp_path):
    text = mjcf(
        '<geom name="table" type="box" size="1 1 .1" pos="0 0 -1"/>'
        '<body name="a"><joint name="j" armature=".1" frictionloss=".2" range="-1 1"/>'
        '<geom name="g" size=".1" condim="6"/>'
        '<site name="s"/><site name="t" pos="1 0 0"/></body>'
        '<body name="b" pos="1 0 0"><joint name="k" stiffness="2"/>'
        '<geom name="e" type="ellipsoid" size=".1 .1 .2"/></body>',
        '<tendon><spatial name="rope"><site site="s"/><geom geom="g"/><site site="t"/></spatial></tendon>'
        '<actuator><motor name="push" joint="j"/></actuator><sensor><jointpos name="seen" joint="j"/></sensor>'
        '<equality><joint name="geared" joint1="j" joint2="k"/></equality>',
    )
    path = write(tmp_path, text)
    with pytest.warns(SceneWarning, match="tendon: rope") as caught:
        world = pv.World.from_file(path, "maximal")
    listed = {one.kind: one.names for one in world.unsupported}
    assert listed["tendon"] == ("rope",) and listed["actuator"] == ("push",) and listed["sensor"] == ("seen",)
    assert listed["equality joint"] == ("geared",) and listed["ellipsoid for contacts"] == ("e",)
    assert listed["armature"] == ("j",) and listed["dry friction"] == ("j",) and listed["joint range"] == ("j",)
    assert listed["rolling and spinning friction"] == ("g",) and listed["spring of an angle"] == ("k",)
    assert ("fixed shape" in listed) != hasattr(world, "add_fixed")
    assert caught[0].message.unsupported == world.unsupported


def test_loops_exclusions_and_universal_joints(tmp_path):
    text = mjcf(
        '<body name="a" pos="0 0 1"><joint axis="1 0 0"/><joint axis="0 1 0"/><geom size=".1"/></body>'
        '<body name="b" pos=".5 0 1"><freejoint/><geom size=".1"/></body>'
        '<body name="c" pos="2 0 1"><joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 1 1"/>'
        '<geom size=".1"/></body>',
        '<equality><connect name="pin" body1="a" body2="b" anchor=".2 0 0"/>'
        '<weld name="glue" body1="b" body2="c"/></equality>'
        '<contact><exclude body1="a" body2="c"/></contact>',
    )
    world = world_of(write(tmp_path, text), "maximal")
    whats = {name: bond.what for name, bond in world.bonds.items()}
    assert whats == {"a_hinge": "universal", "c_hinge": "ball", "pin": "ball", "glue": "weld"}
    if hasattr(world, "set_pair"):
        assert not world.pairs["a", "c"].collide
    else:
        assert [one.names for one in world.unsupported if one.kind == "exclusion"] == [("a and c",)]


@pytest.mark.parametrize("coordinates", ["maximal", "generalised"])
def test_what_stands_still_can_be_excluded(tmp_path, coordinates):
    """All shapes of the base, and those of a bracket that is fixed to it; not the table, of which nothing is said."""
    text = mjcf(
        '<geom type="box" size="1 1 .1" pos="0 0 -.3"/>'
        '<body name="base"><geom type="box" size=".1 .1 .1"/><geom type="box" size=".1 .1 .05" pos="0 0 .05"/>'
        '<body name="bracket" pos="0 0 .2"><geom size=".1"/></body>'
        '<body name="arm" pos="0 0 .1"><joint axis="0 1 0"/><geom type="box" size=".05 .05 .2"/></body></body>',
        '<contact><exclude body1="base" body2="arm"/><exclude body1="arm" body2="bracket"/></contact>',
    )
    world = world_of(write(tmp_path, text), coordinates)
    assert len(world.fixed) == 4
    apart = {other for pair in world.apart for other in pair} - {"arm"}
    table = next(name for name, thing in world.fixed.items() if getattr(thing.shapes[0], "x", 0.0) == 2.0)
    assert apart == set(world.fixed) - {table}
    pv.compile(world, pv.PassiveMidpoint(), 1e-3, engine="python").step()


def test_a_universal_joint_keeps_its_axes_at_right_angles():
    world = pv.World()
    body = world.add_body("a", pv.Box(0.1, 0.2, 0.3), 1.0, velocity=(-0.2, 0.4, 0), angular_velocity=(2, 1, 0))
    world.add_universal("u", body, world, ((1, 0, 0), (0, 1, 0)), at=(0, 0, 0.2), stiffness=1e8)
    run = pv.simulate(world, pv.PassiveMidpoint(resolve=2), step=2e-3, until=0.12, engine="python")
    for turn in run["a.orientation"].values[::10]:
        assert abs(matrix_of(turn)[0, 1]) < 2e-5  # x of the world on y of the body
    assert abs(run["a.orientation"].values[-1, 0]) < 0.995


def test_masks_keep_bodies_apart(tmp_path):
    text = mjcf(
        '<body name="a"><freejoint/><geom size=".1" contype="1" conaffinity="0"/></body>'
        '<body name="b" pos="1 0 0"><freejoint/><geom size=".1" contype="1" conaffinity="0"/></body>'
        '<body name="c" pos="2 0 0"><freejoint/><geom size=".1"/><geom size=".2" contype="0" conaffinity="0"/></body>'
    )
    scene = scene_of(write(tmp_path, text))
    assert scene.excluded == (("b", "a"),) and len(scene.links[2].surfaces) == 1


def test_coordinates_are_chosen_for_trees(tmp_path):
    path = write(tmp_path, mjcf(ARMS.format(kind="hinge")))
    with pytest.raises(ModelError, match="it hangs on 'a': name that"):
        world_of(path, {"b": "generalised"})
    with pytest.raises(ModelError, match="'maximal' or 'generalised', not 'reduced'"):
        world_of(path, "reduced")
    assert list(world_of(path, {"a": "generalised"}).links) == ["a", "b", "c"] == list(world_of(path).links)
    assert not world_of(path, "maximal").links and not world_of(path, {"a": "maximal"}).links


def test_a_file_as_it_is_creates_nothing(tmp_path):
    """A pendulum as stiff ties lets joules in and out, in a run without any option."""
    path = write(tmp_path, mjcf('<body name="a"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'))
    for coordinates, kind in (("maximal", "active"), (None, "exact")):
        world = world_of(path, coordinates) if coordinates else world_of(path)
        assert pv.simulate(world, pv.PassiveMidpoint(), step=2e-3, until=0.02, engine="python").verdict.kind == kind


@pytest.mark.parametrize("coordinates", ["maximal", "generalised"])
def test_shapes_of_a_robot_that_overlap_at_the_start_never_touch(tmp_path, coordinates):
    """A link and its child's child, which no URDF can exclude; each pair is listed."""
    cylinder = (
        '<collision><origin xyz="0 0 .05"/><geometry><cylinder radius=".06" length=".14"/></geometry></collision>'
    )
    inertial = LINK.format("{}").split(">", 1)[1].replace("</link>\n", "")
    links = ['<link name="base"/>\n', *(f'<link name="l{i}">{inertial}{cylinder}</link>\n' for i in range(4))]
    axis = '<origin xyz="0 0 .05"/><axis xyz="0 1 0"/>'
    joints = [JOINT.format(f"j{i}", "continuous", f"l{i - 1}" if i else "base", f"l{i}", axis) for i in range(4)]
    path = write(tmp_path, robot(*links, *joints), "scene.urdf")
    with pytest.warns(SceneWarning, match="contact of links: l0 and l2, l1 and l3"):
        world = pv.World.from_file(path, coordinates)
    assert {("l0", "l2"), ("l1", "l3")} < set(world.apart) and ("l0", "l3") not in world.apart
    pv.compile(world, pv.PassiveMidpoint(), 1e-3, engine="python").step()


def test_joints_that_cannot_tell_their_rates_apart_are_named(tmp_path):
    joints = '<joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="z" axis="1 0 0"/>'
    path = write(tmp_path, mjcf(f'<body>{joints}<geom type="box" size=".1 .2 .3" pos="0 0 .2"/></body>'))
    with pytest.warns(SceneWarning, match=r"scene.xml: .*MuJoCo warns: Inertia matrix is too close to singular"):
        world = pv.World.from_file(path)
    with pytest.raises(ModelError, match="the joints 'x', 'z' can move against each other at the start"):
        pv.compile(world, pv.PassiveMidpoint(), 1e-3, engine="python")
    pv.compile(world, pv.PassiveMidpoint(), 1e-3, start={"y.angle": 0.3}, engine="python").step()


def test_names_that_are_taken_are_listed(tmp_path):
    path = write(tmp_path, mjcf('<body name="a"><joint name="a"/><geom name="a" size=".1"/></body>'))
    for coordinates in ("maximal", "generalised"):
        (one,) = (one for one in world_of(path, coordinates).unsupported if "name" in one.kind)
        assert str(one) == "name that is taken: a (here it is a_2)"
    body = BODY + "    joint: {kind: hinge, name: a}\n"
    (one,) = world_of(write(tmp_path, body, "scene.yaml")).unsupported
    assert str(one) == "name that is taken: a (here it is a_joint)"


def test_a_planar_joint_is_two_ways_and_a_turn(tmp_path):
    axis = '<origin xyz="0 0 1" rpy="0.3 0 0"/><axis xyz="0 .6 .8"/>'
    text = robot(LINK.format("a"), LINK.format("b"), JOINT.format("j", "planar", "a", "b", axis))
    world = world_of(write(tmp_path, text, "scene.urdf"))
    assert [type(joint).__name__ for joint in world.joints.values()] == ["Slider", "Slider", "Hinge"]
    x, y, turn = (np.array(joint.axis) for joint in world.joints.values())
    assert np.allclose([x @ y, x @ turn, y @ turn], 0.0) and np.allclose(np.cross(x, y), turn)
    assert list(world.joints) == ["j_x", "j_y", "j"]
    pv.compile(world, pv.PassiveMidpoint(), 1e-3, start={"j_x.way": 0.2, "j.rate": 3.0}, engine="python").step()


def test_ground_of_mjcf_is_a_height_field(tmp_path):
    field = '<asset><hfield name="h" nrow="3" ncol="4" size="2 1 .5 .1" elevation="0 0 0 0 0 2 1 0 0 0 0 0"/></asset>'
    path = write(tmp_path, mjcf('<geom type="hfield" hfield="h" pos="0 0 .3"/><body pos="0 0 2"><freejoint/>'
                                '<geom size=".1"/></body>', head=field))  # fmt: skip
    world = world_of(path)
    ((_, shape),) = world.fields
    assert (shape.x, shape.y, shape.base, shape.position) == (4.0, 2.0, 0.1, (0.0, 0.0, 0.3))
    model = mujoco.MjModel.from_xml_path(str(path))
    data, found, group = mujoco.MjData(model), np.zeros(1, np.int32), None
    mujoco.mj_forward(model, data)
    for x, y in ((-1.2, 0.1), (0.4, -0.3), (-0.66, 0.02)):
        down = mujoco.mj_ray(model, data, np.array([x, y, 1.5]), np.array([0.0, 0, -1]), group, 1, -1, found)
        height = 1.5 - down - 0.3
        assert shape.height(x, y) == pytest.approx(height, abs=0.02)  # cells are cut along the other diagonal


# -- YAML -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_scene_goes_to_yaml_and_back(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = write(tmp_path, mjcf(random_tree(rng) + '<geom name="floor" type="plane" size="0 0 1"/>'))
    first = scene_of(path)
    again = scene_of(write(tmp_path, text_of(first), "scene.yaml"))
    assert len(leaves(first.links)) > 100
    one, other = leaves(first.links), leaves(again.links)
    assert [x for x in one if not isinstance(x, float)] == [x for x in other if not isinstance(x, float)]
    numbers = ([x for x in values if isinstance(x, float)] for values in (one, other))
    assert np.allclose(*numbers, rtol=1e-14, atol=1e-15)
    assert (first.name, first.gravity, first.planes, first.step) == (
        again.name,
        again.gravity,
        again.planes,
        again.step,
    )


def leaves(thing):
    """All that stands in dataclasses and tuples, but places in files."""
    if is_dataclass(thing):
        given = {field.name: getattr(thing, field.name) for field in fields(thing) if field.name != "place"}
        return [type(thing).__name__] + [leaf for value in given.values() for leaf in leaves(value)]
    return [leaf for value in thing for leaf in leaves(value)] if isinstance(thing, tuple) else [thing]


LED = "anchors:\n  hand: {body: b, stiffness: 9, damping: 1, turn_stiffness: 1, turn_damping: 1}\n"
BODY = "bodies:\n  a:\n    mass: 1\n    shapes: [{sphere: 0.1}]\n"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (BODY + "    joint: {kind: hinge, stiffness: -5}\n", "scene.yaml:5", "bodies.a.joint.stiffness: must be >= 0"),
        (BODY + "    joint: {kind: hing}\n", "scene.yaml:5", "did you mean 'hinge'"),
        (BODY + "    joint: {kind: hinge, range: [1, -1]}\n", "scene.yaml:5", "its range from 1 to -1 is empty"),
        (BODY + "    joint: {kind: hinge, axis: [0, 0, 0]}\n", "scene.yaml:5", "the axis must have a length"),
        (BODY + "    parent: b\n", "scene.yaml:5", "there is no body 'b'; choose from a"),
        (BODY + "    parent: a\n    joint: {kind: ball}\n", "scene.yaml:2", "a -> a is a closed loop"),
        ("bodies:\n  a:\n    shapes: [{sphere: 0.1}]\n", "scene.yaml:2", "moves and has a mass of 0 kg"),
        ("bodies:\n  a:\n    mass: 1\n", "scene.yaml:2", "needs shapes or an inertia"),
        ("bodies:\n  a:\n    mass: 1\n    shapes: [{ball: 1}]\n", "scene.yaml:4", "there is no key 'ball'"),
        ("bodies:\n  a:\n    mass: 1\n    shapes: [{mesh: no.stl}]\n", "scene.yaml:4", "there is no file"),
        ("bodies:\n  a b:\n    mass: 1\n", "scene.yaml:2", "say a_b"),
        (BODY + "    inertia: [1, 1, 9]\n", "scene.yaml:2", "belongs to no body"),
        (BODY + "loops: {l: {between: [a, a], at: [0, 0, 0]}}\n", "scene.yaml:5", "holds 'a' together with itself"),
        (BODY + "    parent: world\n    velocity: [1, 0, 0]\n", "scene.yaml:6", "only free bodies have a velocity"),
        (BODY + "  b: {parent: a, mass: 1, shapes: [{sphere: 0.1}]}\n" + LED, "scene.yaml:7", "'a'; lead 'a' instead"),
        (BODY + "  b: {parent: world, shapes: [{sphere: 0.1}]}\n" + LED, "scene.yaml:7", "which is fixed to the world"),
    ],
)
def test_mistakes_in_yaml_are_told_with_their_line(text, where, what, tmp_path):
    path = write(tmp_path, text, "scene.yaml")
    with pytest.raises(ScenarioError) as caught:
        world_of(path)
    assert f"{where}:" in str(caught.value) and what in str(caught.value)


# -- mistakes in XML --------------------------------------------------------------------------------------------------

LINK = (
    '<link name="{}"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>\n'
)
JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>{}</joint>\n'


def robot(*parts):
    return '<robot name="r">\n' + "".join(parts) + "</robot>\n"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (robot(LINK.format("a"), LINK.format("b"), JOINT.format("j", "continuous", "a", "c", "")), 4,
         "joint 'j': its <child link=...> is 'c', which is not there; "),
        (robot(*(LINK.format(x) for x in "abc"), JOINT.format("j", "continuous", "a", "b", ""),
               JOINT.format("k", "continuous", "a", "c", ""), JOINT.format("l", "continuous", "b", "c", "")), 7,
         "link 'c' is already moved by joint 'k'"),
        (robot(LINK.format("a"), LINK.format("b"), LINK.format("c"), JOINT.format("j", "continuous", "b", "c", ""),
               JOINT.format("k", "continuous", "c", "b", "")), 3, "is a closed loop of parents"),
        (robot(LINK.format("a"), '<link name="b"/>\n', JOINT.format("j", "continuous", "a", "b", "")), 3,
         "link 'b' moves and has a mass of 0 kg; give it"),
        (robot(LINK.format("a"), '<link name="b"><inertial><mass value="-1"/></inertial></link>\n',
               JOINT.format("j", "continuous", "a", "b", "")), 3, "must be >= 0 kg, not -1"),
        (robot(LINK.format("a"), LINK.format("b"), JOINT.format("j", "revolute", "a", "b", "")), 4,
         "is revolute and has no <limit>"),
        (robot(*(LINK.format(x) for x in "abc"), JOINT.format("j", "continuous", "a", "b", ""),
               JOINT.format("j", "continuous", "b", "c", "")), 6, "there is another joint 'j' at"),
        (robot(LINK.format("a"), LINK.format("b"),
               JOINT.format("j", "continuous", "a", "b", '\n<dynamics damping="-1"/>')), 4,
         "damping must be >= 0, not -1"),
        (robot(LINK.format("a"), LINK.format("b")), 1, "have no parent; join all but one"),
        (robot(LINK.format("a"), LINK.format("a")), 3, "there is another link 'a'"),
        (robot('<link name="a"><collision><geometry>\n<mesh filename="no.stl"/></geometry></collision></link>\n'), 3,
         "there is no mesh"),
        (robot('<link name="a"><collision><geometry>\n<box size="1 2"/></geometry></collision></link>\n'), 3,
         "<box size=...> must be 3 numbers, not '1 2'"),
        (robot(LINK.format("a"), "<xacro:arm/>\n").replace("<robot", '<robot xmlns:xacro="x"'), 3, "this is xacro"),
        ("<robot>\n<link>\n</robot>", 3, "not XML"),
        ("<!DOCTYPE r>\n<robot/>", 1, "takes no <!DOCTYPE"),
        ("<sdf/>", 1, "begins with <sdf>"),
    ],
)  # fmt: skip
def test_mistakes_in_urdf_are_told_with_their_line(text, line, what, tmp_path):
    path = write(tmp_path, text, "scene.urdf")
    with pytest.raises(ScenarioError) as caught:
        world_of(path)
    assert f"scene.urdf:{line}:" in str(caught.value) and what in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (mjcf('\n<body name="a">\n<joint name="j" stiffness="-1"/><geom size=".1"/></body>'), 3,
         "joint 'j': stiffness must be >= 0, not -1"),
        (mjcf('\n<body name="a">\n<joint/></body>'), 2, "'a': a body that moves has no mass; give it"),
        (mjcf("", head='\n<asset><mesh name="m" file="no.stl"/></asset>'), 2, "there is no mesh"),
        (mjcf('\n<body><joint/><geom size=".1" foo="1"/></body>'), 2, "unrecognized attribute: 'foo'"),
        (mjcf('\n<body><joint/><joint axis="1 1 1"/><geom size=".1"/></body>'), 2, "moves by hinge, hinge"),
        (mjcf('<body name="a"><joint/><geom size=".1"/></body>\n<body name="a"><joint/><geom size=".1"/></body>'), 2,
         "repeated name 'a' in body"),
    ],
)  # fmt: skip
def test_mistakes_in_mjcf_are_told_with_their_line(text, line, what, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(ScenarioError) as caught:
        world_of(path, "maximal")
    assert what in str(caught.value) and f"scene.xml:{line}:" in str(caught.value)
    assert str(caught.value).count("scene.xml") == 1 and "Error" not in str(caught.value)


def test_files_that_are_none():
    with pytest.raises(ScenarioError, match="there is no file 'nowhere"):
        world_of("nowhere.xml")
    with pytest.raises(ScenarioError, match="is no scene file"):
        world_of(__file__)


def test_checked_scenes_have_parents_first():
    scene = scene_of(ARM)
    assert checked(replace(scene, links=scene.links[::-1])).links == scene.links
