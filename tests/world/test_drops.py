"""Seeded random drops onto a plane: nothing is created, nothing falls through, and what must come to rest does."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv

pytest.importorskip("mujoco", reason="the extra `world` is not installed")

BODIES = 3  # in every drop, so that all share one compiled module


def drop(seed):
    """Boxes, capsules or a stack that falls; friction and restitution from 0 to 1, steps from 0.5 to 5 ms."""
    rng = np.random.default_rng(seed)
    friction, restitution = rng.uniform(0, 1, 2)
    step = float(10 ** rng.uniform(np.log10(5e-4), np.log10(5e-3)))
    world = pv.World()
    world.add_plane(friction=friction)
    for i in range(BODIES):
        turn = rng.standard_normal(4)
        pose = {
            "position": (*rng.uniform(-0.2, 0.2, 2), 0.35 + 0.5 * i),
            "orientation": tuple(turn / np.linalg.norm(turn)),
            "velocity": rng.uniform(-1, 1, 3),
            "angular_velocity": rng.uniform(-5, 5, 3),
        }
        shape = pv.Box(*rng.uniform(0.1, 0.3, 3))
        if seed % 3 == 1:
            shape = pv.Capsule(rng.uniform(0.04, 0.1), rng.uniform(0.1, 0.3))
        elif seed % 3 == 2:
            shape, pose = pv.Box(0.2, 0.2, 0.2), {"position": (0, 0, 0.11 + 0.21 * i)}
        world.add_body(f"b{i}", shape, float(rng.uniform(0.2, 5)), friction=friction, restitution=restitution, **pose)
    return world, step, friction, restitution


def fallen(seed, until=10.0):
    """What a drop did, as numbers that can be judged."""
    world, step, friction, restitution = drop(seed)
    run = pv.simulate(world, pv.PassiveMidpoint(), step=step, until=until, record_every=5)
    start = float(run.ledger.stored.sel(part=["kinetic", "gravity"])[0].sum())
    kinetic = run.ledger.stored.sel(part="kinetic").values
    touching = run.contacts.number.values > 0
    return {
        "run": run,
        "created": float(run.ledger.created.sel(part="total").max()) / start,
        "kinetic": float(kinetic[-1]) / start,
        "lowest": min(float(run[f"b{i}.position.z"].min()) for i in range(BODIES)),
        "guarded": float((run.contacts.guard.values > 0).sum()) / max(1, touching.sum()),
        "rests": restitution <= 0.5 and friction >= 0.3 and seed % 3 != 1,  # a capsule may roll on for ever
    }


@pytest.mark.parametrize("seed", [2, 6, 9, 10, 21])
def test_a_drop_creates_nothing_and_comes_to_rest(seed):
    found = fallen(seed)
    assert found["run"].verdict.kind == "exact" and found["run"].stopped == ""
    assert found["created"] <= 1e-12
    assert found["lowest"] > 0.03
    assert found["guarded"] < 0.01
    assert not found["rests"] or found["kinetic"] < 1e-6


def test_a_drop_by_steps_of_varying_size_creates_nothing():
    world, *_ = drop(9)
    part = pv.compile(world, pv.PassiveMidpoint(), 1e-3)
    rng, start = np.random.default_rng(0), part.stored
    for h in 10 ** rng.uniform(np.log10(5e-4), np.log10(5e-3), 1500):
        part.step(dt=float(h))
    assert part.verdict.kind == "exact" and part.stored <= start
