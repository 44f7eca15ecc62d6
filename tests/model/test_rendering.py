"""Rendering laws: formulas at ports, with and without a memory."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.model.describe import model_from


def low_pass(rate: float = 20.0) -> pv.Rendering:
    """The force follows a depth through a filter of first order."""
    return pv.Rendering(
        {"end": pv.flow()},
        {"end": "k*z + b*end"},
        {"k": 300.0, "b": 0.2, "w": rate},
        signals=["depth"],
        memory={"z": "w*(depth - z)"},
        units={"z": "m"},
    )


def filtered(law: pv.Rendering, method=None, engine="python"):
    inputs = {"depth": lambda t: 0.01 * pv.sin(9 * t), "end": lambda t: 0.09 * pv.cos(9 * t)}
    return pv.simulate(law, method, 1e-3, 0.5, inputs=inputs, engine=engine)


def test_a_memory_is_stepped_as_programs_do():
    """Explicit Euler, with the signals at the start of each step, and the output at the present memory."""
    run, z = filtered(low_pass()), 0.0
    for k, found in enumerate(run["z"].values):
        assert found == pytest.approx(z, rel=1e-12, abs=1e-15)
        z += 1e-3 * 20.0 * (0.01 * np.sin(9e-3 * k) - z)
    speed = 0.09 * np.cos(9e-3 * np.arange(500))
    work = np.cumsum(1e-3 * speed * (300.0 * run["z"].values[:-1] + 0.2 * speed))
    assert run.work["end"].values[1:] == pytest.approx(work, rel=1e-12)
    assert run["z"].attrs["units"] == "m"


def test_other_methods_step_it_more_finely():
    """The exact answer of the filter to a sine, after its own time."""
    exact = 0.01 * 20.0 / np.hypot(20.0, 9.0)
    for method, within in ((None, 1e-2), (pv.RK4(), 1e-6), (pv.ImplicitMidpoint(), 1e-4)):
        run = filtered(low_pass(), method)
        late = run["z"].time.values > 0.4
        t = run["z"].time.values[late]
        expected = exact * np.sin(9 * t - np.arctan(9.0 / 20.0))
        assert np.abs(run["z"].values[late] - expected).max() / exact < within + 1.2 * np.exp(-20.0 * 0.4)


def test_it_is_described_saved_and_audited(tmp_path):
    law = low_pass()
    assert model_from(law.describe()).describe() == law.describe()
    assert law.with_params(w=5.0).params["w"] == 5.0 and law.minimum == {"z": 0.0}
    run = filtered(law)
    run.save(tmp_path / "run.zarr")
    assert pv.audit(tmp_path / "run.zarr").ok
    with pytest.raises(pv.PassivoError, match="nothing is known of the energy of the law"):
        run.certificate  # noqa: B018
    again = pv.load(tmp_path / "run.zarr")
    assert np.array_equal(again["z"], run["z"]) and again.verdict.kind == run.verdict.kind == "exact"


def test_in_a_network_it_sees_states_and_starts_where_it_is_told():
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.1, b=0.5), pv.AVF(), step=5e-4)
    law = net.add("law", low_pass(), step=1e-3)
    net.connect(device["handle"], law["end"], name="touch")
    net.observe(device["q"], law["depth"], resolution=1e-4)
    start = {"device.q": 0.01, "law.z": 0.01}
    run = pv.simulate(net, until=0.1, start=start, engine="python")
    z, q = run["law.z"].values, run["device.q"].values[::2]
    assert np.diff(z) == pytest.approx(1e-3 * 20.0 * (1e-4 * np.round(q[:-1] / 1e-4) - z[:-1]), rel=1e-12, abs=1e-18)
    assert run.inputs["device.handle"].values[1] == pytest.approx(-3.0) and run.audit().ok


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: pv.Rendering({"end": pv.flow()}, {"end": "z"}, memory={"z": "v"}), "the rate of 'z' uses 'v'"),
        (lambda: pv.Rendering({"end": pv.flow()}, {"end": "y"}, memory={"z": "end"}), "the law of 'end' uses 'y'"),
        (lambda: pv.Rendering({"z": pv.flow()}, {"z": "0"}, memory={"z": "1"}), "'z' stands in states and in ports"),
        (lambda: pv.Rendering({"end": pv.flow()}, {"end": "0"}, memory={"z": "z > 0"}), "not the condition"),
        (lambda: filtered(low_pass(), pv.EnergyConsistent()), "steps by the energy, and nothing is known"),
        (lambda: filtered(low_pass(), pv.ExactHold()), "leave the method out"),
    ],
)
def test_mistakes_are_named(make, says):
    with pytest.raises(pv.PassivoError, match=says):
        make()
