"""Height fields, fixed shapes and pairs: what bodies stand on that is no plane, and what holds between two of them."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.errors import InputError, ModelError, StepError
from passivo.world.describe import model_from
from passivo.world.rotation import matrix_of

pytest.importorskip("mujoco", reason="the extra `world` is not installed")

G = 9.81
XS = np.linspace(-1, 1, 21)
X, Y = np.meshgrid(XS, XS)
BOWL = pv.HeightField(1.0 * (X**2 + Y**2), x=2, y=2)
HILLS = pv.HeightField(0.06 * np.random.default_rng(1).random((21, 21)), x=2, y=2)
STONE = pv.ConvexMesh(0.1 * np.random.default_rng(1).standard_normal((12, 3)), centred=True)
TUMBLE = {"orientation": (0.8, 0.36, 0.48, 0), "velocity": (0.5, 0.1, 0), "angular_velocity": (1, 2, 3)}


def run_of(world, until=0.3, step=1e-3, **more):
    return pv.simulate(world, pv.PassiveMidpoint(), step=step, until=until, engine="python", **more)


def over(ground, shape, friction=0.5, restitution=0.0, at=(0, 0, 0), turn=(1, 0, 0, 0), **body):
    """A body of 1 kg over a height field, or a plane where there is none."""
    world = pv.World()
    if ground is None:
        world.add_plane("ground", friction=friction)
    else:
        world.add_fixed("ground", ground, position=at, orientation=turn, friction=friction)
    world.add_body("body", shape, 1.0, friction=friction, restitution=restitution, **body)
    return world


def depths(run, field, corners):
    """How far the corners of a body are below the surface, straight down, at each row."""
    deepest = []
    for place, turn in zip(run["body.position"].values, run["body.orientation"].values):
        at = place + corners @ matrix_of(turn).T
        deepest.append(np.nanmax(np.append(field.height(at[:, 0], at[:, 1]) - at[:, 2], -np.inf)))
    return np.array(deepest)


# -- the shape --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_heights_are_those_of_the_triangles_and_the_volume_is_their_mean(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 9, 2)
    grid = rng.standard_normal((rows, columns))
    x, y, base = rng.uniform(0.5, 3, 3)
    field = pv.HeightField(grid, x=x, y=y, base=base)
    xs, ys = np.linspace(-x / 2, x / 2, columns), np.linspace(-y / 2, y / 2, rows)
    assert np.allclose(field.height(*np.meshgrid(xs, ys)), grid, atol=1e-12)
    j, i = rng.integers(0, columns - 1), rng.integers(0, rows - 1)
    share = rng.dirichlet(np.ones(3))
    for middle in ((i, j + 1), (i + 1, j)):
        corners = np.array([(xs[n], ys[k], grid[k, n]) for k, n in ((i, j), middle, (i + 1, j + 1))])
        place = share @ corners
        assert field.height(place[0], place[1]) == pytest.approx(place[2], abs=1e-12)
    assert np.isnan(field.height(x, 0)) and np.isnan(field.height(0, -y))
    fine = [(np.arange(600) + 0.5) / 600 * size - size / 2 for size in (x, y)]
    mean = field.height(*np.meshgrid(*fine)).mean() - field.floor
    assert field.volume == pytest.approx(x * y * mean, rel=1e-4) and field.floor == pytest.approx(grid.min() - base)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heights": [[0, 1]]}, "two rows and two columns or more"),
        ({"heights": [0, 1, 2]}, r"have the shape \(3,\)"),
        ({"heights": [[0, 1], [0]]}, "rows of numbers"),
        ({"heights": [["0", "1"], ["0", "1"]]}, "rows of numbers"),
        ({"heights": [[True, False], [True, True]]}, "rows of numbers"),
        ({"heights": [[0, 1], [np.nan, 0]]}, r"finite, but heights\[1\]\[0\] is nan"),
        ({"heights": [[0, 1], [0, np.inf]]}, r"heights\[1\]\[1\] is inf"),
        ({"heights": np.zeros((1001, 1001))}, "at most 1000000 heights"),
        ({"x": 0.0}, "HeightField's x must be a length > 0"),
        ({"y": -1.0}, "HeightField's y"),
        ({"base": 0.0}, "HeightField's base"),
        ({"x": True}, "HeightField's x"),
    ],
)
def test_what_is_no_height_field_is_refused(options, message):
    with pytest.raises(ModelError, match=message):
        pv.HeightField(**{"heights": [[0, 0.1], [0, 0.2]], "x": 1.0, "y": 1.0, **options})


def test_a_height_field_stands_still():
    world = pv.World()
    with pytest.raises(ModelError, match=r"world\.add_fixed"):
        world.add_body("hills", HILLS, 1.0)
    with pytest.raises(ModelError, match="'hills' needs a shape"):
        world.add_fixed("hills", [])
    with pytest.raises(ModelError, match="the shape of 'hills' must be one"):
        world.add_fixed("hills", 3)
    with pytest.raises(ModelError, match="friction of 'hills' must be >= 0"):
        world.add_fixed("hills", HILLS, friction=-0.1)
    with pytest.raises(ModelError, match="restitution of 'hills' must lie between 0 and 1"):
        world.add_fixed("hills", HILLS, restitution=1.1)


# -- contact ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [pv.Box(0.2, 0.2, 0.2), pv.Sphere(0.1), pv.Cylinder(0.1, 0.2), pv.Capsule(0.1, 0.2)], ids=type
)
def test_flat_ground_of_cells_is_like_a_plane(shape):
    """Edges between cells are not felt: the same contacts to rounding, wherever the grid lies."""
    start = {"position": (0.013, 0.02, 0.21), **TUMBLE}
    plane = run_of(over(None, shape, **start), 0.25)
    cells = run_of(over(pv.HeightField(np.zeros((5, 7)), x=1.2, y=1.2), shape, at=(0.1, 0.03, 0), **start), 0.25)
    assert abs(plane["body.position"].values - cells["body.position"].values).max() < 2e-7
    assert cells.verdict.kind == "exact" and float(np.nanmax(cells["contacts.number"])) >= 1


def test_a_ball_comes_to_rest_in_a_bowl():
    """Without rolling friction it rocks; a drag takes that away."""
    world = over(BOWL, pv.Sphere(0.1), position=(0.3, 0.1, 0.3))
    world.params |= {"body.drag": 10.0}
    run = run_of(world, 2.4, step=4e-3)
    assert run.verdict.kind == "exact" and np.abs(run["body.velocity"].values[-1]).max() < 0.02
    x, y, z = run["body.position"].values[-1]
    assert np.hypot(x, y) < 0.08 and z == pytest.approx(0.1, abs=0.01)
    corners = 0.1 * np.random.default_rng(0).standard_normal((200, 3))
    corners *= 0.1 / np.linalg.norm(corners, axis=1)[:, None]
    assert depths(run, BOWL, corners).max() < 5e-4


@pytest.mark.parametrize("shape", [pv.Box(0.2, 0.16, 0.12), STONE], ids=["box", "stone"])
def test_what_drops_on_hills_creates_nothing_and_does_not_sink_in(shape):
    run = run_of(over(HILLS, shape, 0.6, 0.2, position=(0.213, 0.12, 0.3), **TUMBLE), 0.4, step=2e-3)
    assert run.verdict.kind == "exact" and float(abs(run.ledger.created).max()) < 1e-12
    half = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]) / 2
    corners = half * [shape.x, shape.y, shape.z] if isinstance(shape, pv.Box) else np.array(shape.points)
    assert depths(run, HILLS, corners)[0] < -0.02 and depths(run, HILLS, corners).max() < 1e-3
    assert float(np.nanmax(run["contacts.number"])) >= 1


def test_a_box_lies_over_a_peak_and_a_ridge_and_ground_may_be_turned():
    """No corner of the box touches: the field's own corner, and its edges, hold it."""
    peak, ridge = np.zeros((5, 5)), np.zeros((4, 4))
    peak[2, 2], ridge[1:3, :] = 0.05, 0.05
    run = run_of(
        over(peak_field := pv.HeightField(peak, x=0.4, y=0.4), pv.Box(0.3, 0.3, 0.1), position=(0, 0, 0.1)), 0.02
    )
    assert run["body.position"].values[-1, 2] == pytest.approx(0.1, abs=1e-6) and peak_field.height(0, 0) == 0.05
    for field in (pv.HeightField(ridge, x=0.3, y=0.3), pv.HeightField(ridge.T, x=0.3, y=0.3)):
        for shape in (
            pv.Box(0.28, 0.28, 0.1),
            pv.ConvexMesh(0.14 * np.array([(a, b, c / 2.8) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])),
        ):
            run = run_of(over(field, shape, position=(0, 0, 0.1)), 0.03)
            assert np.abs(run["body.position"].values[-1] - (0, 0, 0.1)).max() < 1e-4 and run.verdict.kind == "exact"
    a = np.radians(20)
    slope = pv.HeightField(np.zeros((4, 4)), x=1.0, y=1.0)
    down = np.array([np.cos(a), 0, -np.sin(a)])
    turn = (np.cos(a / 2), 0, np.sin(a / 2), 0)
    normal = np.array([np.sin(a), 0, np.cos(a)])
    run = run_of(over(slope, pv.Sphere(0.1), 0.6, turn=turn, position=0.1 * normal - 0.2 * down), 0.3)
    assert (run["body.position"].values[-1] - run["body.position"].values[0]) @ down == pytest.approx(
        5 / 14 * G * np.sin(a) * 0.09, rel=2e-3
    )


def test_a_body_deep_in_the_ground_is_refused_and_crowds_are_too():
    with pytest.raises(InputError, match=r"'ground' and 'body' overlap by 0\.1 m at the start"):
        run_of(over(pv.HeightField(np.zeros((5, 5)), x=1, y=1), pv.Sphere(0.1), position=(0.03, 0.01, 0)))
    with pytest.raises(InputError, match=r"'ground' and 'body' overlap by 0\.443"):
        run_of(over(BOWL, pv.Box(0.2, 0.2, 0.2), position=(0.5, 0.5, 0.0)))
    low = over(pv.HeightField(np.zeros((5, 5)), x=1, y=1, base=0.1), pv.Sphere(0.1), position=(0, 0, -0.3))
    assert run_of(low, 0.01).verdict.kind == "exact"  # below its base there is nothing
    world = pv.World(most_contacts=3)
    world.add_fixed("ground", pv.HeightField(np.zeros((5, 5)), x=1, y=1))
    world.add_body("body", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0, 0, 0.1))
    with pytest.raises(StepError, match="more contacts than there is room for"):
        run_of(world)


def test_a_run_on_a_height_field_is_saved_audited_and_copied(tmp_path):
    world = over(HILLS, pv.Sphere(0.1), position=(0.2, 0.1, 0.17))
    world.add_fixed("wall", [pv.Box(0.1, 2, 1)], position=(1.1, 0, 0), friction=0.2)
    run = run_of(world, 0.1)
    assert run.audit().ok
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert again.model.fixed["ground"].shapes == world.fixed["ground"].shapes and again.audit().ok
    twin = run_of(model_from(world.snapshot().describe()), 0.1)
    assert np.array_equal(run["body.position"].values, twin["body.position"].values)


# -- fixed shapes and pairs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [(1, 0, 0, 0), (np.sqrt(0.5), 0, 0, np.sqrt(0.5))])
def test_a_fixed_shape_turns_back_what_meets_it(turn):
    world = pv.World(gravity=(0, 0, 0))
    world.add_fixed("wall", pv.Box(0.2, 1, 1, position=(0.05, 0, 0)), position=(0.6, 0.6, 0), orientation=turn)
    way = np.array([1.0, 0, 0]) if turn[0] == 1 else np.array([0, 1.0, 0])
    start = np.array([0.6, 0.6, 0]) - 0.25 * way
    world.add_body("ball", pv.Sphere(0.1), 1.0, velocity=2 * way, position=start, restitution=1.0)
    run = run_of(world, 0.2)
    assert np.allclose(run["ball.velocity"].values[-1], -2 * way, atol=1e-12)
    assert ((run["ball.position"].values - start) @ way).max() == pytest.approx(
        0.1, abs=3e-3
    )  # 0.25 + 0.05 − 0.1 − 0.1


def sliding(**pair):
    """Two boxes that slide over a floor, side by side."""
    world = pv.World()
    floor = world.add_plane("floor", friction=0.5)
    for name, y in (("a", 0.0), ("b", 0.3)):
        world.add_body(name, pv.Box(0.2, 0.2, 0.1), 1.0, position=(0, y, 0.05), velocity=(1, 0, 0), friction=0.5)
    if pair:
        world.set_pair(world.bodies["a"], floor, **pair)
    return world


@pytest.mark.parametrize("friction", [0.0, 0.2, 0.8])
def test_a_pair_has_its_own_friction_and_others_the_rule_for_all(friction):
    run = run_of(sliding(friction=friction), 0.1)
    for name, mu in (("a", friction), ("b", 0.5)):
        assert 1 - run[f"{name}.velocity"].values[-1, 0] == pytest.approx(mu * G * 0.1, rel=2e-3, abs=1e-9)
    assert run.verdict.kind == "exact" and run.audit().ok


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_pair_has_its_own_restitution_on_planes_and_fields(restitution):
    world = pv.World(gravity=(0, 0, 0))
    world.add_plane("floor", restitution=0.7)
    world.add_fixed("field", pv.HeightField(np.zeros((2, 2)), x=1, y=1), position=(5, 0, 1), restitution=0.7)
    for name, x, z in (("a", 0.0, 0.12), ("b", 1.0, 0.12), ("c", 5.1, 1.12)):
        world.add_body(name, pv.Sphere(0.1), 1.0, position=(x, 0, z), velocity=(0, 0, -1))
    world.set_pair("a", "floor", restitution=restitution)
    world.set_pair("field", "c", restitution=restitution)
    run = run_of(world, 0.05)
    for name, e in (("a", restitution), ("b", 0.7), ("c", restitution)):
        assert run[f"{name}.velocity"].values[-1, 2] == pytest.approx(e, abs=1e-12)


def test_a_pair_may_pass_through_each_other_and_what_a_joint_joins_may_touch():
    world = sliding(collide=False)
    world.add_fixed("hill", pv.HeightField(0.2 + np.zeros((3, 3)), x=4, y=4))
    for name in "ab":
        world.set_pair(name, "hill", collide=False)
    run = run_of(world, 0.1)
    assert run["a.position"].values[-1, 2] == pytest.approx(0.05 - G * 0.005, rel=1e-9)
    assert run["b.position"].values[-1, 2] == pytest.approx(0.05, abs=1e-6)
    world = pv.World(gravity=(0, 0, 0), contact=True)
    a, b = (world.add_body(name, pv.Sphere(0.1), 1.0, position=(x, 0, 0)) for name, x in (("a", 0), ("b", 0.15)))
    world.add_ball("joint", a, b, at=(0.075, 0, 0))
    assert run_of(world, 0.005).verdict.kind == "exact"  # they overlap, and nobody minds
    world.set_pair(a, b, collide=True)
    with pytest.raises(InputError, match=r"'a' and 'b' overlap by 0\.05"):
        run_of(world)


def test_pairs_that_make_no_sense_are_refused():
    world = sliding()
    wall = world.add_fixed("wall", pv.Box(1, 1, 1), position=(9, 0, 0))
    other = sliding()
    for pair, options, message in (
        (("a", "a"), {"friction": 0.1}, "not 'a' twice"),
        (("a", "x"), {"friction": 0.1}, "not 'x'"),
        (("a", other.bodies["b"]), {"friction": 0.1}, "this world's"),
        (("floor", wall), {"friction": 0.1}, "neither of 'floor' and 'wall' moves"),
        (("a", "b"), {}, "say something of 'a' and 'b'"),
        (("a", "b"), {"friction": -0.1}, "friction of 'a and b' must be >= 0"),
        (("a", "b"), {"friction": np.nan}, "friction of 'a and b'"),
        (("a", "b"), {"restitution": 1.1}, "between 0 and 1"),
        (("a", "b"), {"collide": 0}, "must be True or False"),
    ):
        with pytest.raises(ModelError, match=message):
            world.set_pair(*pair, **options)
