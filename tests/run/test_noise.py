"""`Noise`: the seed is all of it; however a run is cut, stored or repeated, the numbers are the same."""

import json

import numpy as np
import pytest

import passivo as pv
from passivo.run import simulate as simulate_module
from passivo.run.inputs import BLOCK, Inputs, rebuild


def drive(noise, **options):
    settings = {"step": 0.1, "until": 20.0, "start": {"q": 0.2}, "engine": "python", **options}
    return pv.simulate(pv.library.oscillator(k=4.0, m=1.0), pv.AVF(), inputs={"force": noise}, **settings)


def table(model, given, first, count, stages=1):
    return Inputs(model, given, 10**6).rows(first, np.zeros((count, stages)))


def test_the_seed_is_all_of_it():
    force = drive(pv.Noise(0.5, seed=3))["force"].values[1:]
    assert (force == drive(pv.Noise(0.5, seed=3))["force"].values[1:]).all()
    assert not (force == drive(pv.Noise(0.5, seed=4))["force"].values[1:]).any()
    assert len(set(force)) == 200


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_the_numbers_do_not_depend_on_the_chunks(monkeypatch, chunk):
    whole = drive(pv.Noise(0.5))
    monkeypatch.setattr(simulate_module, "CHUNK", chunk)
    assert (drive(pv.Noise(0.5)).arrays["states"] == whole.arrays["states"]).all()


def test_any_step_can_be_drawn_at_any_time():
    model, given = pv.library.kepler(), {"thrust": pv.Noise([0.1, 2.0], seed=9)}
    whole = table(model, given, 0, 3 * BLOCK)
    for first, count in ((0, 1), (BLOCK - 1, 2), (BLOCK, BLOCK), (5000, 6000), (3 * BLOCK - 1, 1)):
        assert (table(model, given, first, count) == whole[first : first + count]).all()
    assert whole.mean(axis=0) == pytest.approx([0, 0], abs=0.08)
    assert whole.std(axis=0) == pytest.approx([0.1, 2.0], rel=0.03)
    assert abs(np.corrcoef(whole.T)[0, 1]) < 0.04
    stages = table(model, given, 0, 5, stages=4).reshape(5, 4, 2)
    assert (stages == whole[:5, None, :]).all()  # held over the step


def test_ports_with_the_same_seed_differ():
    motor = pv.library.dc_motor()
    rows = table(motor, dict.fromkeys(motor.ports, pv.Noise(1.0, seed=1)), 0, 1000)
    assert not (rows[:, 0] == rows[:, 1]).any() and abs(np.corrcoef(rows.T)[0, 1]) < 0.1


@pytest.mark.parametrize("every", [1, 7])
def test_saved_runs_pass_their_audit(tmp_path, every):
    run = drive(pv.Noise(0.5, seed=2), record_every=every)
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert again.drive["force"] == {"kind": "noise", "size": [0.5], "seed": 2} and not again.tables
    report = pv.audit(tmp_path / "run.zarr")
    assert report.ok, str(report)


def test_the_description_is_plain_and_comes_back():
    model = pv.library.kepler()
    given = {"thrust": pv.Noise([0.1, 2.0], seed=2**70)}
    described = json.loads(json.dumps(Inputs(model, given, 10).describe()))
    again = rebuild(described, {})
    assert (table(model, again, 0, 50) == table(model, given, 0, 50)).all()


def test_a_finer_step_holds_the_same_numbers():
    model = pv.library.kepler()
    for given in ({"thrust": pv.Noise([0.1, 2.0])}, {"thrust": np.random.default_rng(0).normal(size=(10**4, 2))}):
        drive = Inputs(model, given, 10**4)
        fine = drive.refined(8).rows(8 * 4090 + 3, np.zeros((100, 4)))
        coarse = drive.rows(4090, np.zeros((13, 4)))
        assert (fine == np.repeat(coarse, 8, axis=0)[3:103]).all()


@pytest.mark.parametrize(
    ("size", "seed", "message"),
    [
        (-1.0, 0, "finite and >= 0"),
        (float("nan"), 0, "finite and >= 0"),
        (float("inf"), 0, "finite and >= 0"),
        ([[1.0]], 0, "finite and >= 0"),
        (None, 0, "a number, or one per component"),
        ("loud", 0, "a number, or one per component"),
        ([1.0, 2.0], 0, "2 values for a width of 1"),
        (1.0, -1, "whole number >= 0"),
        (1.0, 1.5, "whole number >= 0"),
        (1.0, True, "whole number >= 0"),
        (1.0, None, "whole number >= 0"),
    ],
)
def test_sizes_and_seeds_are_checked(size, seed, message):
    with pytest.raises(pv.InputError, match=message):
        drive(pv.Noise(size, seed))
