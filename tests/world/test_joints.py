"""Joints as stiff point springs (spec 4.4): what chains, loops and fast motion cost in energy and in gaps."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from world.scenes import chain, four_bar

SEEDS = range(5)
SMOOTH_RATES = 19  # where those of a body stand within its 25 states, and after them how they change
RATES = 10


def leaked(run):
    """The most energy that was created or removed in any window, against the energy at the start."""
    return max(run.verdict.bias, run.verdict.removed) / run.ledger.stored.values[0, -1]


def gap(run):
    return max(float(run[name].max()) for name in run.recorded if name.endswith(".gap"))


@pytest.mark.parametrize("K", [1e4, 1e6, 1e8])
def test_chains_leak_little_and_the_less_they_are_solved_again(K):
    """Spec 4.10: below 1e-3 of the energy with the turn of the last step, below 5e-5 when solved once more, five seeds,
    10 links and 16 points, 1 ms, 1 s; and nothing at all when solved until nothing moves."""
    for resolve, most in ((0, 1e-3), (1, 5e-5), (2, 1e-9)):
        for seed in SEEDS:
            run = pv.simulate(chain(seed, K=K), pv.PassiveMidpoint(resolve=resolve), step=1e-3, until=1.0)
            assert leaked(run) < most, (seed, resolve)
            assert gap(run) < 60.0 / K + 1e-5
            assert run.verdict.kind == "exact" if resolve == 2 else resolve == 1 or run.verdict.kind == "active"


def stepped_with(turn, world, steps=1000):
    """A chain whose joints take θ = T · `turn`(end rates), not the rates of the steps before: its part after these
    steps, the energy it had at the start, and what it lost. None where it explodes."""
    part = pv.compile(world, pv.PassiveMidpoint(order=1), 1e-3)
    own = 3 + 25 * np.arange(10)[:, None] + np.arange(3)
    before, lost = part.stored, 0.0
    for _ in range(steps):
        part.state[own + SMOOTH_RATES], part.state[own + SMOOTH_RATES + 3] = turn(part.state[own + RATES]), 0.0
        if part.module.step(part.memory, 1e-3):
            return None
        lost += part.lost
    return part, before, lost


def worst(turn, world):
    """The most energy that such a chain creates or removes in any window, against the energy at the start."""
    stepped = stepped_with(turn, world)
    return max(stepped[0].verdict.bias, stepped[0].verdict.removed) / stepped[1] if stepped else np.inf


def test_turns_from_end_velocities_diverge():
    """Negative (spec 4.4): the end velocities carry a part that alternates, and at K = 1e8 it explodes."""
    assert min(worst(lambda w: w, chain(seed)) for seed in SEEDS) > 1e3


def test_the_papers_action_leaks():
    """Negative: without curvature, θ = 0, the same chains create or lose percents."""
    assert all(0.01 < worst(np.zeros_like, chain(seed)) < 10 for seed in SEEDS)


def test_the_leaks_of_the_spec():
    """Spec 4.4: where the paper's action creates 15 % of the energy and more, the default leaks less than 4e-4 and one
    more solution less than 3e-6. What tells the three apart is K T²/m, by which the paper's leak grows and the others
    hardly do, and T ω: light links of 2 g, that turn by some 2 rad/s against each other and start as their joints let
    them. Ours are ten times below both."""
    for seed in SEEDS:
        world = chain(seed, mass=0.002, box=(0.05, 0.02, 0.02), span=0.04)
        assert worst(np.zeros_like, world) > 0.15
        for resolve, most in ((0, 4e-5), (1, 3e-7)):
            run = pv.simulate(world, pv.PassiveMidpoint(resolve=resolve), step=1e-3, until=1.0)
            assert leaked(run) < most, (seed, resolve)


def test_damping_hides_no_leak():
    """Damping as a cure only masks the leak of the paper's action: what is stored stays the same, and the ledger still
    shows what was created and damped away."""
    world = chain(1)
    damped = world.with_params(**{name: 1e5 for name in world.params if name.endswith(".damping")})
    part, before, lost = stepped_with(np.zeros_like, damped, steps=500)
    assert part.verdict.kind == "active"
    created = part.verdict.bias
    assert created > 0.01 * before
    assert abs(part.stored - before) < 0.01 * created
    assert lost == pytest.approx(created, rel=0.01)


def test_a_four_bar_keeps_its_loop_closed():
    world = four_bar()
    run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=2.0)
    assert gap(run) < 1e-3
    assert leaked(run) < 2e-3
    # the crank stays in the plane of the loop
    assert abs(run["bar0.position"].sel(component="y")).max() < 1e-6
    exact = pv.simulate(world, pv.PassiveMidpoint(resolve=2), step=1e-3, until=2.0)
    assert exact.verdict.kind == "exact"


def test_fifty_links_swing():
    world = chain(0, links=50, K=1e6, hinges=0, gravity=(0, 0, -9.81), pace=0.0)
    run = pv.simulate(world, pv.PassiveMidpoint(resolve=2), step=1e-3, until=0.5)
    assert run.verdict.kind == "exact"
    assert gap(run) < 1e-3


def test_a_heavy_end_on_a_light_chain_falls_and_is_caught():
    """Mass ratio 1 : 1000: 10 kg on links of 10 g snap taut, and the links whip with some 100 rad/s. Turns taken from
    the last step fail here; solved until nothing moves, nothing is created."""
    world = chain(0, links=5, K=1e6, hinges=0, gravity=(0, 0, -9.81), pace=0.0, mass=0.01)
    world = world.with_params(**{"b4.mass": 10.0})
    run = pv.simulate(world, pv.PassiveMidpoint(resolve=2), step=1e-3, until=0.5)
    assert run.verdict.kind == "exact"
    assert gap(run) < 5e-3
    assert pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=0.5).verdict.bias > 1e3


# -- what each joint lets go ------------------------------------------------------------------------------------------


def pair(**first):
    world = pv.World(gravity=(0, 0, 0))
    a = world.add_body("a", pv.Box(0.2, 0.1, 0.1), 1.0, position=(-0.1, 0, 0), **first)
    b = world.add_body("b", pv.Box(0.2, 0.1, 0.1), 2.0, position=(0.1, 0, 0), angular_velocity=(1, 2, 3))
    return world, a, b


def stepped(world, until=0.5):
    return pv.simulate(world, pv.PassiveMidpoint(), step=2e-3, until=until, engine="python")


def relative_turn(run):
    """Orientation of a seen from b at every row."""
    from passivo.world.rotation import matrix_of

    turns = [[matrix_of(q) for q in run[f"{name}.orientation"].values] for name in "ab"]
    return np.array([rb.T @ ra for ra, rb in zip(*turns)])


def test_a_hinge_turns_about_its_axis_alone():
    world, a, b = pair()
    world.add_hinge("j", a, b, (0, 1, 0), at=(0, 0, 0), stiffness=1e8)
    turn = relative_turn(stepped(world))
    assert np.abs(turn[:, 1, 1] - 1).max() < 1e-5
    assert np.abs(turn[:, 0, 0] - 1).max() > 0.1


def test_a_ball_turns_freely():
    world, a, b = pair()
    world.add_ball("j", a, b, at=(0, 0, 0), stiffness=1e8)
    run = stepped(world)
    assert run["j.gap"].max() < 2e-5
    assert np.abs(np.diagonal(relative_turn(run), axis1=1, axis2=2) - 1).max(axis=0).min() > 0.01


def test_a_prismatic_joint_slides_along_its_axis_alone():
    world, a, b = pair(velocity=(0.5, 0, 0))
    world.add_prismatic("j", a, b, (1, 0, 0), at=(0, 0, 0), stiffness=1e6)
    run = stepped(world)
    assert np.abs(relative_turn(run) - np.eye(3)).max() < 5e-3
    from passivo.world.rotation import matrix_of

    way = run["a.position"].values - run["b.position"].values
    along = np.array([matrix_of(q).T @ d for q, d in zip(run["b.orientation"].values, way)])
    assert np.abs(along[:, 1:]).max() < 2e-3
    assert np.ptp(along[:, 0]) > 0.05


def test_a_weld_holds():
    world, a, b = pair()
    world.add_weld("j", a, b, at=(0, 0, 0), stiffness=1e6)
    run = stepped(world)
    assert np.abs(relative_turn(run) - np.eye(3)).max() < 5e-3


def test_an_elliptic_joint_is_stiffer_about_the_axis_whose_points_are_near():
    """Its points on x yield k r²/2 about y, those on y k s²/2 about x."""
    turns = []
    for axis in ((1, 0, 0), (0, 1, 0)):
        world = pv.World(gravity=(0, 0, 0))
        a = world.add_body("a", pv.Sphere(0.1), 1.0)
        world.add_elliptic("j", a, world, ((1, 0, 0), (0, 1, 0)), (0.05, 0.01), at=(0, 0, 0), stiffness=1e4)
        world.add_port("push", a, wrench=True)
        world = world.with_params(**{"a.spin_drag": 0.3, "a.drag": 30.0})
        run = pv.simulate(
            world,
            pv.PassiveMidpoint(),
            step=1e-2,
            until=3.0,
            engine="python",
            inputs={"push": (0, 0, 0, *(0.02 * np.array(axis)))},
        )
        turns.append(2 * np.linalg.norm(run["a.orientation"].values[-1, 1:]))
    assert turns[0] == pytest.approx(0.02 / (1e4 / 2 * 0.01**2), rel=0.05)
    assert turns[1] == pytest.approx(0.02 / (1e4 / 2 * 0.05**2), rel=0.05)


def test_a_point_shared_by_three_bodies_pulls_each_to_their_mean():
    """k Σ |x_i − mean|²: a quarter circle of each of three bodies about the place."""
    world = pv.World(gravity=(0, 0, 0))
    bodies = [world.add_body(f"b{i}", pv.Sphere(0.1), 1.0) for i in range(3)]
    world.add_ball("j", *bodies, at=(0, 0, 0), stiffness=100.0)
    start = {"b0.position": (0.3, 0, 0), "b1.position": (0, 0.3, 0), "b2.position": (0, 0, 0)}
    part = pv.compile(world, pv.PassiveMidpoint(), 1e-3, start=start, engine="python")
    places = np.array(list(start.values()))
    assert part.stored == pytest.approx(100 * ((places - places.mean(axis=0)) ** 2).sum(), rel=1e-12)
