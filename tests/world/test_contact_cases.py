"""Contact where the answer is known: at 1 ms within 0.2 %, at rest within 1 µm, and nothing gained (spec 4.5)."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from world.scenes import random_turn

pytest.importorskip("mujoco", reason="the extra `world` is not installed")

G = 9.81
STEP = 1e-3
CLOSE = 2e-3


def on_plane(shape, friction=0.0, restitution=0.0, slope=0.0, speed=0.0, height=0.0):
    """A body of 1 kg on a plane that falls towards x, with a speed down it; its axes are those of the plane."""
    down, up = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
    half = shape.radius if isinstance(shape, pv.Sphere) else shape.z / 2
    world = pv.World()
    world.add_plane(normal=up, friction=friction)
    world.add_body(
        "body", shape, 1.0, position=(half + height) * up, velocity=speed * down,
        orientation=(np.cos(slope / 2), 0, np.sin(slope / 2), 0), friction=friction, restitution=restitution,
    )  # fmt: skip
    return world, down


def run_of(world, until, step=STEP, **more):
    return pv.simulate(world, pv.PassiveMidpoint(), step=step, until=until, **more)


def along(run, down, what="position"):
    values = run[f"body.{what}"].values @ down
    return values - values[0] if what == "position" else values


@pytest.mark.parametrize(("speed", "friction"), [(0.5, 0.3), (2.0, 0.5), (3.0, 0.9)])
def test_a_block_slides_as_far_and_as_long_as_friction_lets_it(speed, friction):
    world, x = on_plane(pv.Box(0.3, 0.2, 0.1), friction, speed=speed)
    lasts = speed / (friction * G)
    run = run_of(world, 1.5 * lasts)
    assert along(run, x)[-1] == pytest.approx(speed**2 / (2 * friction * G), rel=CLOSE)
    moving = along(run, x, "velocity") > 1e-6 * speed
    assert moving.sum() * STEP == pytest.approx(
        lasts, abs=CLOSE * lasts + 2 * STEP
    )  # it stops within a step, and rests
    lost = float(run.ledger.lost.sel(part="friction")[-1] + run.ledger.stored.sel(part="repair")[-1])
    assert lost == pytest.approx(speed**2 / 2, rel=CLOSE) and run.verdict.kind == "exact"


@pytest.mark.parametrize(("degrees", "friction"), [(15, 0.1), (25, 0.3), (40, 0.5)])
def test_a_block_slips_down_an_incline(degrees, friction):
    a = np.radians(degrees)
    world, down = on_plane(pv.Box(0.3, 0.2, 0.06), friction, slope=a)
    run = run_of(world, 1.0)
    rate = G * (np.sin(a) - friction * np.cos(a))
    assert along(run, down)[-1] == pytest.approx(rate / 2, rel=CLOSE)
    assert along(run, down, "velocity")[-1] == pytest.approx(rate, rel=CLOSE)


@pytest.mark.parametrize(("degrees", "friction"), [(5, 0.1), (25, 0.48), (40, 0.85)])
def test_a_block_that_must_stick_creeps_less_than_a_micrometre_in_ten_seconds(degrees, friction):
    world, _ = on_plane(pv.Box(0.3, 0.2, 0.06), friction, slope=np.radians(degrees))
    run = run_of(world, 10.0, record_every=100)
    assert np.abs(run["body.position"].values - run["body.position"].values[0]).max() < 1e-6
    assert np.abs(run["body.orientation"].values - run["body.orientation"].values[0]).max() < 1e-6


@pytest.mark.parametrize(("speed", "friction", "radius"), [(0.5, 0.2, 0.1), (2.0, 0.1, 0.05), (3.0, 0.8, 0.2)])
def test_a_ball_that_slips_rolls_with_five_sevenths_of_its_speed(speed, friction, radius):
    world, x = on_plane(pv.Sphere(radius), friction, speed=speed)
    lasts = 2 * speed / (7 * friction * G)
    run = run_of(world, 2 * lasts)
    v, w = along(run, x, "velocity"), run["body.angular_velocity"].values[:, 1]
    assert v[-1] == pytest.approx(5 / 7 * speed, rel=CLOSE) and w[-1] == pytest.approx(
        5 / 7 * speed / radius, rel=CLOSE
    )
    slipping = v - radius * w > 1e-6 * speed
    assert slipping.sum() * STEP == pytest.approx(lasts, abs=CLOSE * lasts + STEP)
    way = speed * lasts - friction * G * lasts**2 / 2 + 5 / 7 * speed * (run.time[-1] - lasts)
    assert along(run, x)[-1] == pytest.approx(way, rel=CLOSE)


@pytest.mark.parametrize(("degrees", "friction"), [(15, 0.5), (30, 0.3)])
def test_a_ball_rolls_down_an_incline_by_five_sevenths(degrees, friction):
    a = np.radians(degrees)
    world, down = on_plane(pv.Sphere(0.1), friction, slope=a)
    run = run_of(world, 1.0)
    assert along(run, down)[-1] == pytest.approx(5 / 14 * G * np.sin(a), rel=CLOSE)
    assert along(run, down, "velocity")[-1] == pytest.approx(5 / 7 * G * np.sin(a), rel=CLOSE)


def test_an_elastic_ball_dropped_for_twenty_seconds_keeps_its_energy():
    world, _ = on_plane(pv.Sphere(0.1), restitution=1.0, height=0.5)
    run = run_of(world, 20.0)
    height = run["body.position"].values[:, 2] - 0.1
    energy = run.ledger.stored.sel(part="kinetic").values + G * height
    assert np.abs(energy / energy[0] - 1).max() < 1e-10
    bounces = np.diff(np.sign(run["body.velocity"].values[:, 2])) > 0
    assert bounces.sum() == pytest.approx(20 / (2 * np.sqrt(2 * 0.5 / G)), abs=1)
    assert height.min() > -1e-9 and height[-2000:].max() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("step", [5e-4, 1e-3, 5e-3])
@pytest.mark.parametrize("seed", range(6))
def test_two_cubes_thrown_at_each_other_gain_nothing(seed, step):
    rng = np.random.default_rng(seed)
    world = pv.World(gravity=(0, 0, 0), contact=True)
    friction, restitution = rng.uniform(0, 1), (1.0, rng.uniform(0, 1))[seed % 2]
    for name, side in (("a", -1.0), ("b", 1.0)):
        world.add_body(
            name, pv.Box(0.2, 0.2, 0.2), float(10 ** rng.uniform(-1, 1)),
            position=(0.25 * side, *rng.uniform(-0.05, 0.05, 2)),
            orientation=random_turn(rng), velocity=(-rng.uniform(1, 3) * side, 0, 0),
            angular_velocity=rng.uniform(-5, 5, 3), friction=friction, restitution=restitution,
        )  # fmt: skip
    run = run_of(world, 0.4, step)
    masses = [world.params[f"{name}.mass"] for name in "ab"]
    speeds = [run[f"{name}.velocity"].values for name in "ab"]
    energy = run.ledger.stored.sel(part="kinetic").values
    assert float(run.contacts.number.max()) >= 1
    assert np.diff(energy).max() < 1e-13 * energy[0] and run.verdict.kind == "exact"
    assert np.ptp(masses[0] * speeds[0] + masses[1] * speeds[1], axis=0).max() < 1e-12 * masses[0] * 10
    assert np.allclose(run["a.contact_force"].values[1:], -run["b.contact_force"].values[1:], atol=1e-9)
    if step == 1e-3:  # the force that is recorded is what moves each of them
        push = np.diff(speeds[0], axis=0) / step
        assert np.allclose(masses[0] * push, run["a.contact_force"].values[1:], rtol=1e-9, atol=1e-9)


def leaning(friction, sides):
    """Cards that lean by 20°, their upper edges in the plane x = 0, which is a wall where there is only one."""
    lean, height, thick = np.radians(20.0), 0.1, 0.004
    world = pv.World()
    world.add_plane("floor", friction=friction)
    if len(sides) == 1:
        world.add_plane("wall", normal=(-1, 0, 0), friction=friction)
    reach = height / 2 * np.sin(lean) + thick / 2 * np.cos(lean)  # from the centre to the edge that leans
    lift = height / 2 * np.cos(lean) + thick / 2 * np.sin(lean)
    for side in sides:
        turn = (np.cos(lean / 2), 0, side * np.sin(lean / 2), 0)
        card = pv.Box(thick, 0.06, height)
        world.add_body(
            f"card{side > 0:d}", card, 0.01, position=(-side * reach, 0, lift), orientation=turn, friction=friction
        )
    return world


@pytest.mark.parametrize(
    ("sides", "friction", "holds"),
    # a thin card needs 2 mu/(1 − mu²) = tan 20° at a wall: 0.177. Two need tan(20°)/2 = 0.182 at the floor, and as
    # MuJoCo takes the face of one of them for the normal between parallel edges, tan 20° = 0.364 against each other
    [((1,), 0.25, True), ((1,), 0.12, False), ((1, -1), 0.4, True), ((1, -1), 0.12, False)],
)
def test_cards_lean_on_a_wall_and_on_each_other_where_friction_can_hold_them(sides, friction, holds):
    run = run_of(leaning(friction, sides), 0.5)
    cards = [run[f"card{side > 0:d}.position"].values for side in sides]
    moved = max(np.abs(places - places[0]).max() for places in cards)
    assert run.verdict.kind == "exact"
    assert moved < 1e-8 if holds else moved > 0.01


def test_a_tower_of_ten_stands_for_a_minute():
    world = pv.World()
    world.add_plane(friction=0.5)
    for i in range(10):
        world.add_body(f"b{i}", pv.Box(0.1, 0.1, 0.1), 1.0, position=(0, 0, 0.05 + 0.1 * i), friction=0.5)
    run = pv.simulate(world, pv.PassiveMidpoint(), step=STEP, until=60.0, record_every=100)
    places = np.stack([run[f"{name}.position"].values for name in world.bodies])
    assert run.verdict.passive and np.abs(places - places[:, :1]).max() < 1e-3
