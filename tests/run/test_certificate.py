"""The certificate of spec 2.1: the energy a step creates is ḡ'F + (ΔH − ḡ·d), however well its equation was solved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import passivo as pv
from passivo.run.certificate import created
from strategies import build
from verify.methods import general_methods

CERTIFIED = {title: method for title, method in general_methods().items() if method.certifies}
LOSSY = {title: method for title, method in CERTIFIED.items() if "Composition" not in title and "Kahan" not in title}
PARTICULAR = ("Symplectic", "SAV", "PassiveMidpoint")  # not every system has what they need
BRAKE = {"torque": pv.Feedback("-0.05*atan(y)")}


def swing(method, **options):
    options = {"start": {"q": 2.0}, "inputs": {"torque": "sin(t)"}, "engine": "python", **options}
    return pv.simulate(pv.library.pendulum(b=0.1), method, options.pop("step", 0.1), 3.0, **options)


def assert_whole(found, size=1.0):
    assert abs(found.defect - found.residual - found.gap).max() <= 1e-14 * size


@pytest.mark.parametrize("method", [method for title, method in LOSSY.items() if not title.startswith(PARTICULAR)])
@settings(max_examples=6, deadline=None)
@given(st.integers(0, 30), st.integers(1, 5))
def test_the_identity_over_random_systems(method, seed, n):
    case = build(seed, n)
    part = pv.compile(case.system, method, case.h, start=dict(zip(case.system.states, case.x)), engine="python")
    part._section("PROOF", 1)[:] = 1.0
    for _ in range(3):
        part.step(case.u)
        _, residual, gap = part._section("PROOF", 3)
        scale = 1 + abs(part.stored) + part._section("SCALE", 1)[0]
        assert abs(created(part.module, part.memory) - residual - gap) <= 1e-14 * scale


@pytest.mark.parametrize("method", CERTIFIED.values(), ids=list(CERTIFIED))
def test_every_certified_method(method):
    """Energy-exact methods leave rounding in both terms, others the gap of their gradient."""
    if isinstance(method, pv.Kahan):
        run = pv.simulate(pv.library.oscillator(b=0.3), method, 1e-3, 0.05, start={"q": 0.1}, engine="python")
    elif isinstance(method, pv.Composition):
        run = pv.simulate(pv.library.pendulum(), method, 0.1, 3.0, start={"q": 2.0}, engine="python")
    elif "exact" in str(method):
        run = pv.simulate(pv.library.rigid_body(), method, 0.1, 3.0, start={"w1": 1.0}, engine="python")
    else:
        run = swing(method)
    found = run.certificate
    assert_whole(found, 1 + float(run.ledger["stored"].max()))
    assert abs(found.residual).max() <= 1e-13
    if "energy" in method.preserves:
        assert abs(found.gap).max() <= 1e-13
    booked = run.ledger["created"].sel(part="total").values
    assert np.cumsum(found.defect.values) == pytest.approx(np.diff(booked).cumsum(), abs=1e-13)


@pytest.mark.parametrize("method", [pv.AVF(), pv.Gonzalez(), pv.Collocation(2)], ids=lambda m: type(m).__name__)
def test_a_careless_solver_is_found_out_and_the_sum_still_holds(method, monkeypatch):
    """Newton's predictor taken for the solution: the defect is large, and it is the power of the residual."""
    part = pv.compile(pv.library.pendulum(b=0.1), method, 0.3, start={"q": 2.0}, laws=BRAKE, engine="python")
    part._section("PROOF", 1)[:] = 1.0
    monkeypatch.setattr(part.module, "chord", lambda m, h: True)
    largest = 0.0
    for _ in range(20):
        part.step([0.0])
        _, residual, gap = part._section("PROOF", 3)
        defect = created(part.module, part.memory)
        assert abs(defect - residual - gap) <= 1e-14 * (1 + abs(part.stored))
        largest = max(largest, abs(residual))
    assert largest > 1e-8


def test_steps_in_pieces_and_steps_that_follow_their_error():
    run = swing(pv.AVF(), step=pv.Adaptive(1e-4), inputs=BRAKE)
    assert len(run.certificate.time) == run.steps
    assert_whole(run.certificate)
    model, method = pv.library.pendulum(b=0.1), pv.Collocation(3)
    cut = pv.simulate(model, method, 6.0, 120.0, start={"q": 2.0}, inputs={"torque": "sin(t)"}, engine="python")
    assert cut.cut_steps > 0
    assert_whole(cut.certificate, 1 + float(cut.ledger["stored"].max()))


def test_machine_code_gives_the_same(tmp_path):
    run = swing(pv.AVF(), engine="numba", record_every=7)
    assert len(run.certificate.time) == run.steps == 30
    assert_whole(run.certificate)
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr").certificate
    assert all(np.array_equal(again[name], run.certificate[name]) for name in again)
    assert again.defect.attrs["units"] == "J"


def test_an_audit_checks_it(monkeypatch):
    """A loss that is weighed wrongly is not what the certificate says."""
    from passivo.method import one_stage

    honest = one_stage.row_outputs
    run = swing(pv.AVF())
    assert run.audit().ok
    monkeypatch.setattr("passivo.kernel.cache.load", _fresh)
    monkeypatch.setattr(one_stage, "row_outputs", lambda row, r, at, w, put: honest(row, r, at, 1.0001 * w, put))
    wrong = swing(pv.AVF())
    findings = wrong.audit().findings
    assert any("not what its certificate says" in finding for finding in findings)


def _fresh(key, write):
    import types

    module = types.ModuleType("fresh")
    exec(compile(write(), "fresh", "exec"), module.__dict__)
    return module


def test_what_has_no_certificate():
    with pytest.raises(pv.MethodError, match="RK4 solves no equation"):
        _ = swing(pv.RK4()).certificate
    with pytest.raises(pv.InputError, match="record_every=1"):
        _ = swing(pv.AVF(), step=pv.Adaptive(1e-3), record_every=2).certificate


def test_a_law_whose_energy_is_unknown_has_none_and_its_audit_passes(tmp_path):
    """As a virtual wall behind a clamp."""
    from passivo.scenario.scenario import Scenario

    changes = [(("run", "until"), 0.1, "--until 0.1")]
    run = Scenario.load("wall", changes).simulate(engine="python")
    run.save(tmp_path / "wall.zarr")
    found = pv.audit(tmp_path / "wall.zarr")
    assert found.ok and not found.findings
    with pytest.raises(pv.MethodError, match="nothing is known of the energy of the law 'wall'"):
        _ = run.runs["wall"].certificate
