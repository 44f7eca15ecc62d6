"""Steps that follow their error: the balance stays exact, the error obeys, nothing of a refused pair remains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import passivo as pv
import strategies
from passivo.kernel import adapt as K
from passivo.run.save import content_hash, read
from verify.methods import all_methods

BRAKE = {"torque": pv.Feedback("-0.05*atan(y)")}


def swing(method=None, tolerance=1e-6, until=5.0, **options):
    options = {"start": {"q": 2.8}, "inputs": BRAKE, "engine": "python", **options}
    step = options.pop("step", pv.Adaptive(tolerance))
    return pv.simulate(pv.library.pendulum(b=0.1), method or pv.AVF(), step=step, until=until, **options)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 40), st.integers(1, 5))
def test_the_balance_is_exact_whatever_the_steps(seed, n):
    case = strategies.build(seed, n)
    start = dict(zip(case.system.states, case.x))
    inputs = {name: [0.3] * port.width if port.width > 1 else 0.3 for name, port in case.system.ports.items()}
    run = pv.simulate(case.system, pv.AVF(), pv.Adaptive(1e-4), 1.0, start=start, inputs=inputs, engine="python")
    assert run.verdict.kind in ("exact", "passive"), run.verdict
    ledger = run.ledger.sel(part="total")
    balance = ledger.stored - ledger.stored[0] - ledger.work + ledger.lost
    assert abs(balance).max() <= 1e-12 * (1 + abs(ledger.stored).max())


KEEPERS = {
    title: method
    for title, method in all_methods().items()
    if "energy" in method.preserves and "Composition" not in title and "suzuki" not in title and "exact" not in title
}


@pytest.mark.parametrize("method", KEEPERS.values(), ids=list(KEEPERS))
def test_every_method_that_keeps_the_energy_keeps_it_with_feedback_and_loss(method):
    if method.keeps_constraints:
        law = {"joints": pv.Feedback(lambda y: [-0.1 * y[0], -0.1 * pv.atan(y[1])])}
        start, model = {"ax": 0.6, "ay": 0.0, "bx": 0.9, "by": 0.0}, pv.library.double_pendulum()
        run = pv.simulate(model, method, pv.Adaptive(1e-3), 1.0, start=start, inputs=law, engine="python")
    else:
        run = swing(method, 1e-3, until=3.0)
    stored = run.ledger.stored[:, 0].values
    assert run.verdict.kind == "exact" and run.sizes.max() > 1.5 * run.sizes.min()
    assert np.diff(stored).max() <= 1e-13 and stored[-1] < stored[0] - 1e-3


def test_what_starts_from_rest_counts_against_its_kind():
    """The far end of a chain first moves with a high power of t: for itself it would be wrong at every size of step."""
    run = pv.simulate(pv.library.toda_chain(4), pv.AVF(), pv.Adaptive(1e-4), 2.0, start={"q1": 0.5}, engine="python")
    assert run.verdict.kind == "exact" and run.steps < 200


def test_a_row_for_every_step_and_the_end_is_met():
    run = swing()
    assert run.steps == len(run.sizes) == len(run.time) - 1
    assert run.time[-1] == pytest.approx(5.0, abs=1e-14)
    assert np.allclose(np.diff(run.time), run.sizes, rtol=0, atol=1e-14)
    assert (run.sizes[0::2] == run.sizes[1::2]).all()  # pairs
    assert run.sizes.max() > 3 * run.sizes.min()
    assert "steps of 0." in run.headline and " to " in run.headline


@pytest.mark.parametrize("method", [pv.AVF(), pv.RK4()])
def test_the_error_follows_the_tolerance(method):
    exact = swing(pv.RK4(), step=2.5e-3).arrays["states"][-1]
    ends = [swing(method, tolerance).arrays["states"][-1] for tolerance in (1e-4, 1e-6)]
    errors = [np.linalg.norm(end - exact) for end in ends]
    assert errors[0] < 1e-1 and errors[1] < errors[0] / 8  # a share of the tolerance to the power p/(p + 1)


def test_pairs_that_were_taken_back_leave_no_trace():
    """A much too large first pair is refused; the run is then the same as if the smaller one had come first."""
    first = 2.0
    eager = swing(step=pv.Adaptive(1e-6, first=first))
    modest = swing(step=pv.Adaptive(1e-6, first=2 * eager.sizes[0]))
    assert 2 * eager.sizes[0] < first
    for name in ("time", "states", "work", "ledger", "accounts"):
        assert np.array_equal(eager.arrays[name], modest.arrays[name])


def test_each_step_is_one_of_the_part():
    """The same sizes, taken one by one by hand, give the same numbers to the last bit."""
    run = swing(until=1.0)
    part = pv.compile(run.model, run.method, 1.0, start={"q": 2.8}, laws=BRAKE, engine="python")
    for k, size in enumerate(run.sizes):
        part.step([0.0], dt=size)
        assert np.array_equal(part.state, run.arrays["states"][k + 1])
    assert part.verdict.bias == run.verdict.bias


def test_machine_code_and_plain_python_agree():
    compiled, plain = swing(engine="numba"), swing()
    assert compiled.steps == plain.steps
    assert np.allclose(compiled.arrays["states"], plain.arrays["states"], rtol=1e-9, atol=1e-9)


def test_inputs_are_read_at_the_times_of_the_steps():
    formula = swing(pv.RK4(), inputs={"torque": pv.sin})
    called = swing(pv.RK4(), inputs={"torque": lambda t: float(np.sin(float(t)))})
    exact = swing(pv.RK4(), step=2.5e-3, inputs={"torque": pv.sin})["q"].values[-1]
    assert abs(formula["q"].values[-1] - exact) < 1e-4
    assert np.allclose(formula["q"].values, called["q"].values, rtol=1e-12)
    kept = formula["torque"].values[1:]  # the last stage of RK4 stands at the end of the step
    assert np.allclose(kept, np.sin(formula.time[1:]), atol=1e-12)


def test_every_nth_row_and_the_last():
    run, thin = swing(), swing(record_every=3)
    rows = np.unique([*range(0, run.steps + 1, 3), run.steps])
    assert np.array_equal(thin.arrays["states"], run.arrays["states"][rows])
    assert np.array_equal(thin.time, run.time[rows]) and not len(thin.sizes)
    assert np.array_equal(thin.arrays["accounts"], run.arrays["accounts"])


@pytest.mark.parametrize("every", [1, 4])
def test_saved_runs_are_audited(tmp_path, every):
    run = swing(until=2.0, record_every=every, inputs={"torque": "sin(3*t)"})
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert again.pace == run.pace and np.array_equal(again.sizes, run.sizes)
    assert pv.audit(tmp_path / "run.zarr").ok


def test_an_altered_size_is_found(tmp_path):
    import zarr

    run = swing(until=1.0)
    run.save(tmp_path / "run.zarr")
    group = zarr.open_group(tmp_path / "run.zarr", mode="a")
    sizes = group["sizes"][...]
    sizes[4] *= 1 + 1e-6
    group["sizes"][...] = sizes
    facts, arrays, _ = read(tmp_path / "run.zarr")
    group.attrs.put({"passivo": facts, "hash": content_hash(facts, arrays)})
    assert not pv.audit(tmp_path / "run.zarr").ok


def test_a_tolerance_out_of_reach_ends_the_run_and_keeps_it():
    """Where the field jumps, no step is small enough."""
    model = pv.System(["x"], "x**2/2", loss=[["1 + 1e6*Max(0, sign(0.5 - x))"]], name="cliff")
    with pytest.raises(pv.ConvergenceError, match="larger tolerance") as caught:
        pv.simulate(model, pv.RK4(), pv.Adaptive(1e-6, least=1e-3), 5.0, start={"x": 1.0}, engine="python")
    run = caught.value.run
    assert run.steps > 0 and run.verdict.kind == "none" and 0.5 < run["x"].values[-1] < 0.6


def test_states_may_have_sizes_of_their_own():
    coarse, fine = swing(), swing(step=pv.Adaptive(1e-6, sizes={"q": 100.0, "p": 100.0}))
    assert fine.steps < coarse.steps


def test_a_pair_costs_no_more_than_three_steps():
    run, counted = swing(until=1.0), []
    part = pv.compile(run.model, run.method, 1.0, start={"q": 2.8}, laws=BRAKE, engine="python")
    pace, reach = run.pace.pace(1.0, 2), run.pace.reach(run.model, part.state)
    scratch = [np.empty_like(part.memory) for _ in range(2)]
    out, sizes = np.empty((2, part.module.REPORT_SIZE)), np.empty(2)
    table = np.zeros((3, 1))
    step = part.module.step
    part.module.step = lambda m, h: counted.append(h) or step(m, h)
    try:
        assert part.module.adapt(part.memory, *scratch, reach, pace, table, out, sizes, 0, 1) == 2
    finally:
        part.module.step = step
    assert counted == [1e-3, 0.5e-3, 0.5e-3] and pace[K.P_NEXT] > 1e-3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tolerance": 0.0}, "between 0 and 1"),
        ({"tolerance": "small"}, "between 0 and 1"),
        ({"first": -1.0}, "first of Adaptive is a positive"),
        ({"most": float("inf")}, "most of Adaptive"),
        ({"sizes": [1.0]}, "given by state"),
        ({"sizes": {"q": 0.0}}, "size of 'q'"),
    ],
)
def test_bad_options(options, sentence):
    with pytest.raises(pv.InputError, match=sentence):
        pv.Adaptive(**options)


def test_bad_uses():
    with pytest.raises(pv.InputError, match="no state"):
        swing(step=pv.Adaptive(sizes={"z": 1.0}))
    with pytest.raises(pv.InputError, match="least <= first <= most"):
        swing(step=pv.Adaptive(first=1e-3, least=1e-2))
    for value in (np.zeros(5), pv.Noise(1.0), pv.Held(lambda t, y: -y)):
        with pytest.raises(pv.InputError, match="not known beforehand"):
            swing(inputs={"torque": value})
