"""What joints with a foretold turn leak is taken out of the motion again where bodies touch (spec 4.5, "debit")."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.world import table as T

pytest.importorskip("mujoco", reason="the extra `world` is not installed")


def mechanism(seed, stiffness=1e6, hung=False):
    """Three links that tumble onto a plane, in the air or hanging on the world."""
    rng = np.random.default_rng(seed)
    world = pv.World()
    world.add_plane(friction=0.5)
    last = None
    for i in range(3):
        body = world.add_body(
            f"b{i}", pv.Capsule(0.02, 0.1), 0.1, position=(0.1 * i, 0, 0.06), orientation=(0.5, 0.5, 0.5, 0.5),
            velocity=(0.3 * rng.standard_normal(), 0.3 * rng.standard_normal(), -1.0), friction=0.5, restitution=0.3,
        )  # fmt: skip
        if last is not None or hung:
            end = world if last is None else last
            world.add_hinge(
                f"j{i}", body, end, rng.standard_normal(3), at=(0.1 * i - 0.05, 0, 0.06), stiffness=stiffness
            )
        last = body
    return world


def created(world, method, until=0.1):
    """Joules that the most creative step made, and the run."""
    run = pv.simulate(world, method, step=1e-3, until=until, engine="python")
    return np.diff(run.ledger.created.sel(part="total").values).max(), run


@pytest.mark.parametrize("stiffness", (1e6, 1e8))
@pytest.mark.parametrize("hung", (False, True))
@pytest.mark.parametrize("seed", range(2))
def test_joints_leak_nothing_where_bodies_touch(seed, hung, stiffness):
    """Impacts too, whose turns nothing foretold."""
    world = mechanism(seed, stiffness, hung)
    most, run = created(world, pv.PassiveMidpoint())
    assert run.contacts.number.max() > 0
    assert run.verdict.kind in ("exact", "passive"), run.verdict
    assert most < 1e-13
    for row in ("kinetic", "joints"):
        assert np.abs(np.diff(run.ledger.created.sel(part=row).values)).max() < 1e-12


def test_it_is_the_debit_that_does_it():
    """The same flight, as a world in which shapes may touch and as one in which they may not."""
    runs = []
    for contact, resolve in ((True, 0), (False, 0), (False, 2)):
        world = mechanism(1)
        del world.planes["plane"]
        world.contact = contact
        runs.append(created(world, pv.PassiveMidpoint(resolve=resolve)))
    (with_debit, run), (without, leaky), (_, right) = runs
    assert with_debit < 1e-14 and run.verdict.kind == "exact"
    assert without > 1e-6 and leaky.verdict.kind == "active"
    assert run.contacts.debit.max() > 1e-6
    places = [each["b1.position"].values for each in (run, leaky, right)]
    off, leaky_off = (np.abs(place - places[2]).max() for place in places[:2])
    assert 0.0 < off < 2.0 * leaky_off  # it takes energy, not accuracy


def test_where_the_motion_holds_too_little_the_tank_pays():
    """A leak put by hand into a mechanism at rest: the tank loses it, joints have it; what it lacks stays unpaid."""
    world = mechanism(0)
    part = pv.compile(world, pv.PassiveMidpoint(), 1e-3, engine="python")
    module, m, t = part.module, part.memory, part.module.TABLE
    core = module.world_advance.__globals__
    row, repair_row = t[t[T.TIE_TABLE] + T.T_ROW], t[T.REPAIR_ROW]
    motion = slice(t[T.AT_NEXT], t[T.AT_NEXT] + t[T.STATE_COUNT])
    for held, leak, pays in ((2e-4, 1e-4, True), (5e-5, 1e-4, False), (2e-4, -1e-4, False)):
        m[motion] = 0.0
        m[t[T.AT_NEXT] + t[T.TANK_STATE]] = held
        m[t[T.AT_RECEIVED] : t[T.AT_RECEIVED] + t[T.ROW_COUNT]] = 0.0
        core["settle_leak"](m, t, 0, row, leak)
        assert m[t[T.AT_NEXT] + t[T.TANK_STATE]] == (held - leak if pays else held)
        assert m[t[T.AT_RECEIVED] + row] == (leak if pays else 0.0)
        assert m[t[T.AT_RECEIVED] + repair_row] == (-leak if pays else 0.0)
