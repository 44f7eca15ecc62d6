"""Saved runs come back whole, can be repeated, and an audit tells a true ledger from an altered one."""

import json

import numpy as np
import pytest
import zarr

import passivo as pv
from passivo.run.save import content_hash, read


def make(method=None, every=1, model=None, **options):
    settings = {"step": 0.01, "until": 2.0, "start": {"q": 2.0}, "engine": "python", **options}
    return pv.simulate(model or pv.library.pendulum(b=0.1), method or pv.AVF(), record_every=every, **settings)


def same(a, b):
    return all(np.array_equal(a.arrays[name], b.arrays[name], equal_nan=True) for name in a.arrays)


@pytest.mark.parametrize(
    "torque",
    [
        0.3,
        lambda t: pv.sin(t),
        lambda t: 1.0 if t < 1 else 0.0,
        pv.Held(lambda t, y: -y),
        pv.Feedback(lambda y: -y),
    ],
)
def test_a_run_comes_back_whole_and_can_be_repeated(tmp_path, torque):
    run = make(inputs={"torque": torque})
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert same(run, again) and again.verdict == run.verdict
    assert again.model.describe() == run.model.describe() and again.method == run.method
    facts, _, _ = read(tmp_path / "run.zarr")
    assert {"model", "method", "params", "inputs", "seed", "versions", "start", "step"} <= facts.keys()
    report = pv.audit(tmp_path / "run.zarr")
    assert report.ok and report.verdict.kind == run.verdict.kind and report.checked == 200


@pytest.mark.parametrize(
    "method",
    [pv.ExplicitEuler(), pv.SymplecticEuler(), pv.ImplicitEuler(), pv.Heun(), pv.RK4(), pv.ClosedLoopAVF()],
    ids=str,
)
def test_every_method_passes_its_audit(method):
    run = make(method, until=0.5)
    report = run.audit()
    assert report.ok, str(report)
    assert report.verdict.bias == pytest.approx(run.verdict.bias, rel=1e-9, abs=run.verdict.roundoff)


def test_composed_runs_pass_too(tmp_path):
    parts = {
        "spring": pv.library.spring(k=4.0),
        "mass": pv.library.mass(ports=("a", "b")),
        "damper": pv.library.damper(b=0.3),
    }
    model = pv.Monolithic(parts, [("spring.end", "mass.a"), ("mass.b", "damper.end")])
    run = make(model=model, start={"spring.q": 1.0})
    run.save(tmp_path / "run.zarr")
    assert pv.audit(tmp_path / "run.zarr").ok
    assert run.verdict.kind == "exact" and float(run.ledger.lost.sel(part="damper")[-1]) > 0


def alter(path, name, index, change, rehash):
    """Change one number of a saved run, and its hash too if asked."""
    group = zarr.open_group(path, mode="r+")
    values = group[name][...]
    values[index] = change(values[index])
    group[name][...] = values
    if rehash:
        facts, arrays, _ = read(path)
        group.attrs["hash"] = content_hash(facts, arrays)


@pytest.mark.parametrize("rehash", [False, True])
@pytest.mark.parametrize(
    ("name", "index", "change"),
    [
        ("states", (57, 0), lambda v: v * (1 + 1e-9)),
        ("states", (120, 1), lambda v: v * (1 + 1e-9)),
        ("states", (200, 0), lambda v: v * (1 + 1e-9)),
        ("ledger", (57, 0, 4), lambda v: v + 1e-9),
        ("ledger", (80, 0, 1), lambda v: v + 1e-9),
        ("ledger", (90, 0, 0), lambda v: v + 1e-9),
    ],
)
def test_one_altered_number_is_caught(tmp_path, name, index, change, rehash):
    make(inputs={"torque": 0.3}).save(tmp_path / "run.zarr")
    alter(tmp_path / "run.zarr", name, index, change, rehash)
    report = pv.audit(tmp_path / "run.zarr")
    assert not report.ok and "FAILED" in str(report)
    if not rehash:
        assert "hash" in report.findings[0]
    if rehash:
        assert any(f"{0.01 * index[0]:.6g}" in finding for finding in report.findings)


def test_a_false_account_changes_the_verdict_and_is_caught(tmp_path):
    """Accounts that claim a passive run although its states say otherwise."""
    run = make(pv.ExplicitEuler())
    run.save(tmp_path / "run.zarr")
    assert run.verdict.kind == "active"
    group = zarr.open_group(tmp_path / "run.zarr", mode="r+")
    group["accounts"][...] = np.zeros_like(run.arrays["accounts"])
    report = pv.audit(tmp_path / "run.zarr")
    assert any("recomputed verdict is 'active'" in finding for finding in report.findings)


def test_thinned_runs_are_replayed_bit_for_bit(tmp_path):
    run = make(every=20, inputs={"torque": lambda t: pv.sin(t)})
    run.save(tmp_path / "run.zarr")
    report = pv.audit(tmp_path / "run.zarr")
    assert report.ok and "bit for bit" in report.how
    alter(tmp_path / "run.zarr", "states", (5, 0), lambda v: np.nextafter(v, 9), rehash=True)
    report = pv.audit(tmp_path / "run.zarr")
    assert not report.ok and "t = 1 s" in str(report)


def test_files_are_replaced_only_when_they_are_runs(tmp_path):
    run = make(until=0.1)
    run.save(tmp_path / "a" / "run.zarr")
    run.save(tmp_path / "a" / "run.zarr")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "keep.txt").write_text("mine")
    with pytest.raises(pv.FileError, match="not a saved run"):
        run.save(tmp_path / "notes")
    assert (tmp_path / "notes" / "keep.txt").read_text() == "mine"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["run.zarr"]


def test_broken_files_are_named(tmp_path):
    with pytest.raises(pv.FileError, match="not a saved run"):
        pv.load(tmp_path / "nothing.zarr")
    run = make(until=0.1)
    run.save(tmp_path / "run.zarr")
    facts = json.loads((tmp_path / "run.zarr" / "zarr.json").read_text())
    facts["attributes"]["passivo"]["format"] = 99
    (tmp_path / "run.zarr" / "zarr.json").write_text(json.dumps(facts))
    with pytest.raises(pv.FileError, match="format 99"):
        pv.load(tmp_path / "run.zarr")


def test_a_damper_loses_all_it_is_given():
    damper = pv.simulate(pv.library.damper(), step=0.1, until=1.0, inputs={"end": 1.0}, engine="python")
    assert damper.verdict.kind == "exact" and float(damper.ledger.lost[-1, 0]) == pytest.approx(1.0)


@pytest.mark.parametrize("every", [1, 20])
@pytest.mark.parametrize(
    ("name", "index"),
    [("time", (4,)), ("inputs", (4, 0)), ("outputs", (4, 0)), ("work", (4, 0)), ("ledger", (4, 0, 3)),
     ("ledger", (4, 0, 5)), ("states", (4, 1)), ("accounts", (18,)), ("accounts", (6,))],
)  # fmt: skip
def test_nothing_in_a_file_escapes(tmp_path, name, index, every):
    """Each array of a run, altered by one part in a million (or a microjoule) with its hash repaired."""
    run = make(pv.ImplicitMidpoint(), every=every, inputs={"torque": lambda t: 0.3 * pv.cos(t)})
    run.save(tmp_path / "run.zarr")
    assert pv.audit(tmp_path / "run.zarr").ok
    alter(tmp_path / "run.zarr", name, index, lambda v: v * (1 + 1e-6) + 1e-6, rehash=True)
    assert not pv.audit(tmp_path / "run.zarr").ok


def test_an_offset_of_the_energy_does_not_disturb_an_audit():
    raised = pv.System(["q", "p"], "1000 + q**2/2 + p**2/2", [[0, 1], [-1, 0]], [[0, 0], [0, 0.1]])
    run = make(model=raised, start={"q": 1e-5})
    assert run.verdict.kind == "exact" and run.audit().ok


def test_stopped_runs_are_audited_as_far_as_they_came():
    for every in (1, 20):
        with pytest.raises(pv.StepError) as caught:
            make(every=every, inputs={"torque": lambda t: float("nan") if t > 1.0 else 0.1})
        report = caught.value.run.audit()
        assert report.ok and report.verdict.kind == "none", str(report)
    with pytest.raises(pv.StepError) as caught:
        make(inputs={"torque": lambda t: float("nan")})
    assert caught.value.run.audit().checked == 0


@pytest.mark.parametrize("every", [1, 20])
@pytest.mark.parametrize("energy", ["q**2/2 + p**2/2", "q**4 + p**2/2", "cosh(q) + p**2/2"])
def test_a_run_that_overflows_ends_while_its_ledger_is_finite(energy, every):
    """The step that leaves the range of numbers is not taken; what is kept is booked and stands an audit."""
    model = pv.System(["q", "p"], energy, [[0, 1], [-1, 0]])
    with pytest.raises(pv.NonFiniteError, match="its energy is NaN or infinite") as caught:
        make(pv.ExplicitEuler(), every=every, model=model, start={"q": 1.0}, step=0.5, until=10000.0)
    run = caught.value.run
    assert run.steps > 5 and np.isfinite(run.arrays["ledger"]).all() and np.isfinite(run.arrays["accounts"]).all()
    assert run.audit().ok, str(run.audit())


def test_a_run_by_a_method_of_ones_own_can_be_kept(tmp_path):
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Mine(pv.AVF):
        pass

    run = make(Mine(), until=0.1)
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert same(run, again) and type(again.method).__name__ == "Mine"
    with pytest.raises(pv.MethodError, match="not one of Passivo's"):
        again.audit()
