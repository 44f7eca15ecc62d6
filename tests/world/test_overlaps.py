"""What overlaps where bodies are put: refused where it is deep, wherever that is said; parted where it is not."""

import numpy as np
import pytest

import passivo as pv
from passivo.errors import InputError

G = 9.81
LYING = (0.5**0.5, 0.5**0.5, 0, 0)


def world_of(shape, z, **options):
    world = pv.World()
    world.add_plane(friction=0.5)
    world.add_body("body", shape, 1.0, position=(0, 0, z), friction=0.5, **options)
    return world


def compiled(world, **options):
    return pv.compile(world, pv.PassiveMidpoint(), 1e-3, engine="python", **options)


def run_of(world, until=0.1, **options):
    return pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=until, engine="python", **options)


@pytest.mark.parametrize(
    ("shape", "z", "turn"),
    [
        (pv.Capsule(0.02, 2.0), -0.15, LYING),  # less than a fifth of how far they reach, but wholly below the ground
        (pv.Box(1.0, 1.0, 0.002), -0.1, (1, 0, 0, 0)),
        (pv.Cylinder(0.3, 0.01), -0.02, (1, 0, 0, 0)),
        (
            pv.ConvexMesh(0.01 * np.array(np.meshgrid(*[[-1, 1]] * 3)).T.reshape(-1, 3) * (50, 50, 1)),
            -0.08,
            (1, 0, 0, 0),
        ),
        (pv.Sphere(0.1), -0.3, (1, 0, 0, 0)),
    ],
)
def test_what_lies_below_the_ground_is_refused_however_far_it_reaches(shape, z, turn):
    with pytest.raises(InputError, match=r"'plane' and 'body' overlap by .* at the start"):
        compiled(world_of(shape, z, orientation=turn))


def test_a_thin_wall_counts_as_thin():
    world = pv.World(gravity=(0, 0, 0))
    world.add_fixed("wall", pv.Box(0.002, 1, 1))
    world.add_body("ball", pv.Sphere(0.1), 1.0, position=(0.1005, 0, 0))
    with pytest.raises(InputError, match=r"more than the 0\.0002 m"):
        compiled(world)


def test_the_state_that_is_placed_counts_not_that_of_the_description():
    world, below = world_of(pv.Box(0.2, 0.2, 0.2), 0.3), {"body.position.z": -0.5}
    with pytest.raises(InputError, match=r"'plane' and 'body' overlap by 0\.6 m at the start"):
        run_of(world, start=below)
    part = compiled(world)
    for _ in range(3):
        part.step()
    state, accounts = part.state.copy(), part._account(0).copy()
    with pytest.raises(InputError, match=r"overlap by 0\.6 m where they are placed"):
        part.place(below)
    assert np.array_equal(part.state, state) and np.array_equal(part._account(0), accounts)
    deep = world_of(pv.Box(0.2, 0.2, 0.2), -0.5)
    assert run_of(deep, 0.01, start={"body.position.z": 0.3}).verdict.kind == "exact"
    net = pv.Network()
    net.add("box", world, pv.PassiveMidpoint(), step=1e-3)
    with pytest.raises(InputError, match="overlap"):
        pv.simulate(net, until=0.01, start={"box.body.position.z": -0.5}, engine="python")


def test_a_run_goes_on_from_a_state_it_was_in():
    """However deep its bodies were pressed into each other then."""
    part = compiled(world_of(pv.Box(0.2, 0.2, 0.2), 0.3))
    state = dict(zip(part.model.states, part.state.tolist())) | {"body.position.z": 0.05}
    part.place(state)
    assert part.state[part.model.states.index("tank")] == 0.0


def test_what_parting_costs_stands_in_the_tank():
    run = run_of(world_of(pv.Box(0.2, 0.2, 0.2), 0.085))
    tank = run["tank"].values
    assert tank[0] == pytest.approx(G * 0.015, rel=1e-6)
    assert run["body.position.z"].values[-1] == pytest.approx(0.1, abs=2e-6) and run.verdict.kind == "exact"
    assert tank[-1] < 2e-5  # it was spent on that
    given = run_of(world_of(pv.Box(0.2, 0.2, 0.2), 0.085), 0.005, start={"tank": 0.0})
    assert given["tank"].values[0] == 0.0
    part = compiled(world_of(pv.Box(0.2, 0.2, 0.2), 0.3))
    part.place({"body.position.z": 0.09})
    assert part.state[-1] == pytest.approx(G * 0.01)
    for _ in range(60):
        part.step()
    assert dict(zip(part.model.states, part.state))["body.position.z"] == pytest.approx(0.1, abs=2e-6)


def test_what_stands_on_others_is_lifted_as_far_as_they_are():
    world = pv.World()
    world.add_plane(friction=0.5)
    for i in range(3):
        world.add_body(f"b{i}", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0, 0, 0.09 + 0.19 * i), friction=0.5)
    world.add_body("beside", pv.Box(0.2, 0.2, 0.2), 1.0, position=(1, 0, 0.1))
    run = run_of(world, 0.15)
    assert run["tank"].values[0] == pytest.approx(G * (0.01 + 0.02 + 0.03), rel=1e-6)
    assert [run[f"b{i}.position.z"].values[-1] for i in range(3)] == pytest.approx([0.1, 0.3, 0.5], abs=5e-6)
    assert run.verdict.kind == "exact"


def test_what_is_jointed_is_lifted_together():
    world = pv.World()
    world.add_plane()
    low = world.add_body("low", pv.Sphere(0.1), 1.0, position=(0, 0, 0.09))
    high = world.add_body("high", mass=2.0, inertia=(1, 1, 1), position=(0, 0, 0.5))
    world.add_ball("joint", low, high, at=(0, 0, 0.3))
    part = compiled(world)
    assert part.state[-1] == pytest.approx(3 * G * 0.01, rel=1e-6)


def test_on_height_fields_too():
    world = pv.World()
    world.add_fixed("ground", pv.HeightField(np.zeros((6, 6)), x=2, y=2))
    world.add_body("body", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0, 0, 0.09))
    run = run_of(world)
    assert run["tank"].values[0] == pytest.approx(G * 0.01, rel=1e-6)
    assert run["body.position.z"].values[-1] == pytest.approx(0.1, abs=2e-6)
