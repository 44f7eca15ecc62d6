"""What contacts hold at the end of a step, and how far bodies may go in one: nothing sinks in or passes through."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv

pytest.importorskip("mujoco", reason="the extra `world` is not installed")


def run_of(world, step, until, **more):
    return pv.simulate(world, pv.PassiveMidpoint(), step=step, until=until, engine="python", **more)


def leaned(angle):
    return (np.cos(angle), 0.0, np.sin(angle), 0.0)


@pytest.mark.parametrize("step", [1e-3, 5e-3])
@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_an_impact_ends_at_the_surface_and_parts_as_fast_as_its_law_has_it(step, restitution):
    """V̂ reaches the surface and no further; what V⁺ has beyond e v is taken out, and what friction had for it."""
    for height in np.linspace(0.21, 0.33, 7):
        world = pv.World()
        world.add_plane(friction=0.2)
        world.add_body(
            "b",
            pv.Sphere(0.1),
            1.0,
            position=(0, 0, height),
            velocity=(5, 0, -2),
            friction=0.2,
            restitution=restitution,
        )
        run = run_of(world, step, 0.1)
        depth, velocity = float(np.nanmax(run["contacts.depth"])), run["b.velocity"].values
        assert depth < 1e-12 and run["b.position"].values[:, 2].min() > 0.1 - 1e-12
        hit = int(np.argmax(run["contacts.number"].values > 0))
        before = velocity[hit - 1]
        assert velocity[hit, 2] == pytest.approx(-restitution * before[2], abs=1e-9)
        normal = velocity[hit, 2] - before[2] + 9.81 * step  # it slides: friction is mu times this impulse
        assert before[0] - velocity[hit, 0] == pytest.approx(0.2 * normal, rel=1e-3)
        assert run.verdict.kind == "exact"


def test_a_thin_coin_stays_on_a_thin_table():
    world = pv.World()
    world.add_fixed("table", pv.Box(1, 1, 0.004), position=(0, 0, -0.002), friction=0.3)
    world.add_body("coin", pv.Cylinder(0.012, 0.002), 5e-3, position=(0, 0, 0.5), friction=0.3)
    run = run_of(world, 5e-3, 0.6)
    assert run["coin.position"].values[-1, 2] == pytest.approx(1e-3, abs=1e-6)
    assert run.verdict.kind == "exact"


def test_a_tower_that_stands_is_still_and_known():
    """Nothing is left of V⁺ but what is quiet, and the sweeps begin with impulses that fit."""
    world = pv.World()
    world.add_plane(friction=0.5)
    for i in range(5):
        world.add_body(f"b{i}", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0.003 * i, 0, 0.1 + 0.2 * i), friction=0.5)
    run = run_of(world, 1e-3, 0.06)
    speeds = [np.abs(run[f"b{i}.velocity"].values[30:]).max() for i in range(5)]
    assert max(speeds) < 1e-6 and np.median(run["contacts.sweeps"].values[30:]) <= 4


def test_links_that_grip_do_not_swing_to_and_fro_from_step_to_step():
    """The slip of what sticks is taken out of the rates of joints too: it would change its sign in every step."""
    world = pv.World(contact=True)
    for side in (-1.0, 1.0):
        name = "left" if side < 0 else "right"
        slider = pv.Slider(f"{name}_way", axis=(-side, 0, 0), stiffness=200.0, reference=0.05, damping=5.0)
        world.add_link(name, None, slider, pv.Box(0.02, 0.1, 0.1), 0.2, position=(side * 0.061, 0, 0), friction=0.8)
    world.add_body("box", pv.Box(0.1, 0.1, 0.1), 0.2, friction=0.8)
    part = pv.compile(world, pv.PassiveMidpoint(), 1e-3)
    speeds = [i for i, name in enumerate(world.states) if ".velocity." in name or ".angular_velocity." in name]
    for _ in range(500):
        part.step()
    before = part.state[speeds].copy()
    part.step()
    assert np.abs(part.state[speeds] - before).max() < 1e-5 and part.verdict.kind == "exact"
    assert abs(part.state[world.states.index("box.position.z")]) < 2e-3


def test_what_is_pushed_or_hit_meets_what_is_in_its_way():
    """Contacts are looked for as far away as bodies really go: pushed or hit they may be faster than they were."""
    world = pv.World(gravity=(0, 0, 0))
    world.add_fixed("plate", pv.Box(1, 1, 0.002), position=(0, 0, -0.001))
    ball = world.add_body("b", pv.Sphere(0.01), 0.01, position=(0, 0, 0.0102))
    world.add_port("p", ball)
    run = run_of(world, 1e-3, 0.05, inputs={"p": (0, 0, -200.0)})
    assert run["b.position"].values[:, 2].min() > 0.01 - 1e-9 and run.verdict.kind == "exact"

    world = pv.World(gravity=(0, 0, 0))
    world.add_fixed("plate", pv.Box(1, 1, 0.01), position=(0, 0, -0.005))
    cube = world.add_body("b", pv.Box(0.02, 0.02, 0.02), 0.05, position=(0, 0, 0.011))
    world.add_spring("s", cube, world.point(0, 0, -0.5), stiffness=100.0)
    run = run_of(world, 5e-3, 0.05)
    assert run["b.position"].values[:, 2].min() > 0.01 - 1e-9 and run.verdict.kind == "exact"

    world = pv.World(gravity=(0, 0, 0))
    world.add_fixed("wall", pv.Box(0.002, 2, 2), position=(0.002, 0, 0), restitution=1.0)
    world.add_body("light", pv.Sphere(0.01), 1.0, position=(-0.01, 0, 0), restitution=1.0)
    world.add_body("heavy", pv.Sphere(0.01), 10.0, position=(-0.23, 0, 0), velocity=(3, 0, 0), restitution=1.0)
    run = run_of(world, 5e-3, 0.1)
    assert run["light.position"].values[:, 0].max() < -0.009 + 1e-9 and run.verdict.kind == "exact"


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_light_links_under_heavy_ones_hit_the_ground_and_nothing_is_created(joint, restitution):
    """Impulses stay while the ways of links come to rest: the guard looks once more at what they do then, and passes
    that go to and fro by more than they were off are led to rest."""
    rng = np.random.default_rng(7)
    for light in (0.05, 0.33):
        angle, spin = rng.uniform(-0.2, 0.2), rng.uniform(-4, 4, 3)
        world = pv.World()
        world.add_plane(friction=0.5)
        bounces = {"friction": 0.5, "restitution": restitution}
        rod = world.add_link(
            "rod", None, pv.Free("root"), pv.Capsule(0.03, 0.15), light, position=(0, 0, 0.5),
            orientation=leaned(angle), angular_velocity=spin, **bounces,
        )  # fmt: skip
        at = (0.1, 0, 0.5)
        kind = pv.Hinge("j", axis=(0, 1, 0), at=at) if joint == "hinge" else pv.Ball("j", at=at)
        world.add_link("ball", rod, kind, pv.Sphere(0.06), 2.8, position=(0.25, 0, 0.6), **bounces)
        run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=0.6)
        assert run.verdict.kind == "exact" and float(np.nanmax(run["contacts.number"])) >= 1
