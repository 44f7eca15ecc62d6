"""Hands, recorded trajectories and the adversary."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv


def held(operator: pv.operators.Operator, until: float = 1.0, start: float = 0.0):
    net = pv.Network()
    operator.hold(net, "device", mass=0.15, damping=2.0, method=pv.ExactHold(port="true"), step=1e-3)
    return pv.simulate(net, until=until, start={"device.q": start}, inputs=operator.inputs("device"), engine="python")


def test_a_push_is_a_force():
    run = held(pv.operators.push(5.0))
    v, t = 5.0 / 2.0, run["device.q"].time.values
    expected = v * (t - 0.075 * (1 - np.exp(-t / 0.075)))
    assert np.allclose(run["device.q"].values, expected, atol=1e-12)
    assert run.verdict.kind == "exact"


def test_a_hand_goes_to_its_target():
    run = held(pv.operators.hand(stiffness=400.0, damping=30.0, mass=0.2, target=0.01), 3.0)
    assert run["device.q"].values[-1] == pytest.approx(0.01, rel=1e-6)
    assert run.verdict.kind == "exact"
    model = pv.operators.hand().device(0.15, 2.0)
    assert model.params == {"m": 0.15, "b": 2.0, "mh": 0.2, "bh": 10.0, "kh": 400.0, "qh": 0.0}


def test_a_recorded_trajectory_is_followed():
    t = np.linspace(0.0, 2.0, 21)
    run = held(pv.operators.recorded(t, 0.01 * t, stiffness=2000.0, damping=20.0), 2.0)
    late = 2.0 * 0.01 / 2000.0 + 0.01 * 0.5e-3  # the device's own damping, and a force held from the start of a step
    assert run["device.q"].values[-1] == pytest.approx(0.02 - late, rel=1e-6)


def test_signals_keep_their_bound_and_differ():
    found = pv.operators.signals(500, 1e-3, 20.0, seed=3)
    assert len(found) == 18 and all(np.abs(force).max() <= 20.0 for force in found.values())
    assert all(force.shape == (500,) for force in found.values())
    assert len({force.tobytes() for force in found.values()}) == 18


def wall(through) -> pv.Network:
    net = pv.Network()
    device = pv.operators.push(0.0).hold(net, "device", 0.15, 0.0, pv.AVF(), 1e-3)
    law = net.add("wall", pv.library.wall(k=20e3), step=1e-3)
    net.connect(device["handle"], law["end"], through, "touch")
    net.observe(device["q"], law["depth"])
    return net


def test_the_adversary_draws_energy_out_of_a_held_wall_and_none_out_of_the_clamp():
    options = {"bound": 20.0, "until": 0.1, "start": {"device.q": -1e-3}, "rounds": 15, "engine": "python"}
    plain = pv.operators.adversary(wall(pv.Direct()), **options)
    assert plain.energy < -0.1 and np.abs(plain.force).max() <= 20.0
    clamped = pv.operators.adversary(wall(pv.LedgerClamp()), **options)
    assert -1e-4 <= clamped.energy <= 0.0
    again = pv.operators.adversary(wall(pv.LedgerClamp()), **options)
    assert again.energy == clamped.energy and np.array_equal(again.force, clamped.force)


def test_what_is_no_operator():
    with pytest.raises(pv.InputError, match="mass of a hand must be a number >= 0"):
        pv.operators.hand(mass=-1.0)
    with pytest.raises(pv.InputError, match="a device needs a mass > 0"):
        pv.operators.push(1.0).device(0.0, 1.0)
    with pytest.raises(pv.InputError, match="as many positions as times"):
        pv.operators.recorded([0.0, 0.0], [1.0, 2.0])
    with pytest.raises(pv.InputError, match="bound of an adversary"):
        pv.operators.adversary(wall(pv.Direct()), 0.0)
