"""Several junctions on one part: a device, a fast spring beside it, a slow object behind; and walls that only push."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv


def local_model(method, ratio: int, until: float = 1.0):
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.15, b=5.0), pv.ExactHold(port="true"), step=1e-3)
    local = net.add("local", pv.library.spring(k=2e3, ports=("near", "far")), method, step=1e-3)
    thing = net.add("object", pv.library.oscillator(k=100.0, m=10.0, b=20.0), method, step=ratio * 1e-3)
    net.connect(device["handle"], local["near"], through=pv.PassiveSampler(), name="touch")
    net.connect(thing["force"], local["far"], through=pv.PassiveSampleHold(), name="model")
    return pv.simulate(net, until=until, inputs={"device.hand": 5.0}, engine="python")


@pytest.mark.parametrize("method", [pv.EnergyConsistent(), pv.AVF()])
def test_every_joule_of_a_local_model_is_booked(method):
    run = local_model(method, 10)
    total = run.ledger.sel(part="total")
    errors = [run.part("touch")["error"].values[::10], run.part("model")["error"].values]
    books = run.ledger.booked.sel(part=["local", "object"]).sum("part").values
    whole = total.stored - total.work + total.lost + sum(errors) - books
    assert np.abs(whole).max() < 1e-11 * float(total.work.max())
    assert run.verdict.kind in ("booked", "active") and abs(run.verdict.unnoticed) < 1e-14


def test_an_object_behind_a_local_model_goes_where_it_is_pushed():
    run = local_model(pv.EnergyConsistent(), 10, until=6.0)
    assert run["object.q"].values[-1] == pytest.approx(0.05, rel=0.02)
    assert run.verdict.kind == "booked"


def test_a_sampler_a_unilateral_spring_and_an_exact_plant_keep_their_energy():
    """Mechanical + H + HE − HBK is constant (spec 1.8, 1e-11): a mass thrown against a wall, without any loss."""
    net = pv.Network()
    mass = net.add("mass", pv.library.device(m=0.2, b=0.0), pv.ExactHold(port="true"), step=1e-3)
    wall = net.add("wall", pv.library.unilateral_spring(k=5e3), pv.EnergyConsistent(release="depth"), step=1e-3)
    net.connect(mass["handle"], wall["end"], pv.PassiveSampler(), "touch")
    net.observe(mass["q"], wall["depth"])
    run = pv.simulate(net, until=0.4, start={"mass.q": -0.02, "mass.p": 0.2}, engine="python")
    total = run.ledger.sel(part="total")
    whole = total.stored + run.part("touch")["error"].values - run.ledger.booked.sel(part="wall")
    assert np.abs(whole - whole[0]).max() < 1e-11 * float(total.stored[0])
    assert run["mass.q"].values.max() > 1e-3 and run["mass.p"].values[-1] < -0.05  # it went in, and out again
    assert run["wall.q"].values[-1] == 0.0
