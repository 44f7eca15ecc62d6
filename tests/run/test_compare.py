"""`compare`: errors against a reference that is right by other means, refusals and failures as entries, fair costs."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import passivo as pv
from passivo.method.catalogue import GENERAL, suited
from passivo.run import reference as reference_module


def pendulum(methods=None, **options):
    settings = {"step": 0.1, "until": 4.0, "start": {"q": 2.0, "p": 0.3}, "engine": "python", **options}
    return pv.compare(pv.library.pendulum(b=0.1), methods, **settings)


def errors(comparison):
    return {entry.title: entry.error for entry in comparison.entries}


def solved(slope, start, time):
    answer = solve_ivp(slope, (0.0, time[-1]), start, method="DOP853", rtol=1e-12, atol=1e-14, t_eval=time)
    return answer.y.T


# -- the reference -----------------------------------------------------------------------------------------------------


def test_the_reference_agrees_with_an_independent_solver():
    found = pendulum([pv.AVF(), pv.RK4()]).reference
    exact = solved(lambda t, x: [x[1], -math.sin(x[0]) - 0.1 * x[1]], [2.0, 0.3], found.time)
    off = (np.abs(found.states - exact) / np.abs(exact).max(axis=0)).max()
    assert off < 1e-8 and off <= 2 * found.accuracy + 1e-11


def test_the_reference_agrees_with_the_closed_form():
    k, m, step = 4.0, 1.0, 0.1
    oscillator = pv.library.oscillator(k=k, m=m)
    given = pv.compare(oscillator, [pv.RK4(), pv.AVF()], step, 10.0, start={"q": 0.2}, engine="python")
    exact = np.column_stack([0.2 * np.cos(2 * given.reference.time), -0.4 * np.sin(2 * given.reference.time)])
    off = np.abs(given.reference.states - exact).max(axis=0) / [0.2, 0.4]
    assert off.max() <= 2 * given.reference.accuracy
    for entry in given.entries:
        mine = (np.abs(entry.run.arrays["states"] - exact) / [0.2, 0.4]).max()
        assert entry.error == pytest.approx(mine, rel=0.01)
    assert given.reference.accuracy <= 1e-3 * min(errors(given).values())


def test_a_relation_has_an_implicit_reference():
    law = pv.Relation(lambda y, u: u + u**3 + 0.4 * y)
    given = pendulum([pv.AVF(), pv.RK4()], until=2.0, inputs={"torque": law})

    def slope(t, x):
        u = min(np.roots([1.0, 0.0, 1.0, 0.4 * x[1]]), key=lambda root: abs(root.imag)).real
        return [x[1], -math.sin(x[0]) - 0.1 * x[1] + u]

    exact = solved(slope, [2.0, 0.3], given.reference.time)
    off = (np.abs(given.reference.states - exact) / np.abs(exact).max(axis=0)).max()
    assert off <= 2 * given.reference.accuracy + 1e-9 and off < 1e-5
    avf, rk4 = given.entries
    assert avf.run.verdict.kind == "exact" and avf.error > 0
    assert rk4.run is None and rk4.error is None and rk4.cost is None and "Relation" in rk4.reason


def test_a_stiff_reference_is_not_silently_wrong():
    """At 12.5 times its limit of stability the first explicit reference explodes; the finest one is right."""
    mass = pv.library.oscillator(k=1.0, m=1.0, b=4000.0)
    given = pv.compare(mass, [pv.ImplicitEuler()], 0.05, 0.5, start={"p": 1.0}, engine="python")
    q, p = given.reference.states.T
    exact = solved(lambda t, x: [x[1], -x[0] - 4000.0 * x[1]], [0.0, 1.0], given.reference.time)
    off = max(np.abs(q - exact[:, 0]).max() / exact[:, 0].max(), np.abs(p - exact[:, 1]).max())
    assert off <= 2 * given.reference.accuracy + 1e-9 and given.reference.accuracy < 1e-3


def test_where_the_reference_itself_ends_nothing_is_compared():
    force = np.zeros(20)
    force[10] = math.nan
    given = pv.compare(
        pv.library.mass(), [pv.AVF()], 0.1, 2.0, start={"p": 1.0}, inputs={"force": force}, engine="python"
    )
    assert given.entries[0].run.steps == 10 and given.entries[0].reason
    assert np.isnan(given.reference.states[11:]).all() and np.isfinite(given.reference.states[:11]).all()
    assert given.entries[0].error < 1e-12


def test_a_reference_within_its_budget_tells_its_accuracy(monkeypatch):
    monkeypatch.setitem(reference_module.MOST_STEPS, "python", 300)
    given = pendulum([pv.RK4()], until=10.0)
    exact = solved(lambda t, x: [x[1], -math.sin(x[0]) - 0.1 * x[1]], [2.0, 0.3], given.reference.time)
    off = (np.abs(given.reference.states - exact) / np.abs(exact).max(axis=0)).max()
    assert 1e-12 < off <= 2 * given.reference.accuracy


@pytest.mark.parametrize("jump", [0.5**0.5, 0.2**0.5, 0.9, 1.23456, 1 / 3])
def test_a_jump_in_an_input_is_told_by_the_accuracy(jump, monkeypatch):
    monkeypatch.setitem(reference_module.MOST_STEPS, "python", 5000)
    force = lambda t: 1.0 if t < jump else 0.0  # noqa: E731
    given = pv.compare(pv.library.mass(), [pv.AVF()], 0.1, 2.0, inputs={"force": force}, engine="python")
    off = abs(given.reference.states[-1, 0] - jump) / jump
    assert 0 < off <= 2 * given.reference.accuracy


def test_a_state_that_stays_zero_is_weighed_by_the_others():
    kepler = pv.library.kepler()
    given = pv.compare(kepler, [pv.AVF()], 0.05, 0.5, start={"x": 1.0, "px": 0.1}, engine="python")
    assert (given.reference.states[:, 1] == 0).all() and 0 < given.entries[0].error < 0.1
    still = pv.compare(pv.library.mass(), [pv.AVF()], 0.1, 1.0, engine="python")
    assert still.entries[0].error == 0.0


# -- orders ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "ratio"), [(pv.AVF(), 4), (pv.RK4(), 16), (pv.ExplicitEuler(), 2)], ids=str)
def test_halving_the_step_shows_the_order(method, ratio):
    coarse, fine = (pendulum([method], step=step, until=2.0).entries[0].error for step in (0.02, 0.01))
    assert coarse / fine == pytest.approx(ratio, rel=0.06)


def test_held_inputs_are_the_same_signal_for_the_reference():
    table = np.random.default_rng(3).normal(size=20)
    coarse = pendulum([pv.AVF()], step=0.1, until=2.0, inputs={"torque": table}).entries[0].error
    fine = pendulum([pv.AVF()], step=0.05, until=2.0, inputs={"torque": np.repeat(table, 2)}).entries[0].error
    assert coarse / fine == pytest.approx(4, rel=0.1)


def test_noise_is_the_same_signal_for_the_reference():
    noisy = pendulum([pv.AVF(), pv.RK4()], step=0.05, until=2.0, inputs={"torque": pv.Noise(1.0, seed=5)})
    table = noisy.entries[0].run["torque"].values[1:]
    held = pendulum([pv.AVF(), pv.RK4()], step=0.05, until=2.0, inputs={"torque": table})
    assert errors(noisy) == errors(held) and (noisy.reference.states == held.reference.states).all()
    assert noisy.entries[1].error < 1e-4  # as if there were no jumps: they fall between steps


# -- entries -----------------------------------------------------------------------------------------------------------


def test_all_methods_with_their_verdicts():
    oscillator = pv.library.oscillator(k=4.0, m=1.0)
    given = pv.compare(oscillator, step=0.1, until=20.0, start={"q": 0.2}, engine="python")
    assert [entry.title for entry in given.entries] == list(GENERAL)
    kinds = {entry.title: entry.run.verdict.kind for entry in given.entries}
    assert kinds == {
        "ExplicitEuler": "active", "SymplecticEuler": "active", "ImplicitEuler": "passive", "Heun": "active",
        "RK4": "passive", "ImplicitMidpoint": "exact", "AVF": "exact", "ClosedLoopAVF": "exact",
        "Gonzalez": "exact", "ItohAbe": "exact", "SymmetrisedItohAbe": "exact", "Kahan": "exact", "SAV": "exact",
        "StructureSplitting": "exact", "Composition": "exact",
        "Collocation": "exact", "PassiveMidpoint": "exact",
        "EnergyConsistent": "exact", "ExactHold": "exact",
    }  # fmt: skip
    assert given.entries[1].run.verdict.bounded and not given.passive and not given.interrupted
    assert pv.compare(oscillator, [pv.AVF()], 0.1, 2.0, engine="python").passive
    best = sorted(errors(given), key=errors(given).__getitem__)
    assert best[:4] == ["ExactHold", "Composition", "Collocation", "RK4"]  # the first is exact here
    assert all(entry.cost > 1e-7 for entry in given.entries)
    told = json.loads(json.dumps(given.data(), allow_nan=False))
    avf = told["methods"][6]
    assert avf["title"] == "AVF" and avf["order"] == 2 and "energy" in avf["preserves"]
    assert avf["verdict"]["kind"] == "exact" and avf["error"] == given.entries[6].error and avf["iterations"] >= 1


def test_models_of_a_special_kind_are_compared_by_what_steps_them():
    double = pv.library.double_pendulum()
    assert [type(method) for method in suited(double)] == [pv.ConstrainedSplitting, pv.ConstrainedGradient]
    ball = pv.library.bouncing_mass()
    given = pv.compare(ball, [pv.AVF(), pv.ExactBounce()], 0.1, 1.0, start={"q": 0.2}, engine="python")
    assert given.entries[0].kind == "exact" and given.entries[1].kind == "does not apply"
    assert "adds a floor to the model" in given.entries[1].reason


def test_created_and_removed_are_nothing_where_they_are_roundoff():
    oscillator = pv.library.oscillator(k=4.0, m=1.0)
    methods = [pv.AVF(), pv.ImplicitEuler(), pv.ExplicitEuler()]
    avf, implicit, explicit = pv.compare(oscillator, methods, 0.1, 5.0, start={"q": 0.2}, engine="python").entries
    assert avf.run.verdict.bias > 0 and avf.created == avf.removed == 0
    assert implicit.created == 0 and implicit.removed == implicit.run.verdict.removed > 0
    assert explicit.created == explicit.run.verdict.bias > 0 and explicit.removed == 0


def test_titles_tell_methods_of_the_same_class_apart():
    given = pendulum([pv.SymplecticEuler(), pv.AVF(), pv.SymplecticEuler("q")], until=0.3)
    assert [e.title for e in given.entries] == ["SymplecticEuler(variant='p')", "AVF", "SymplecticEuler(variant='q')"]


def test_a_method_that_does_not_apply_is_an_entry_with_its_reason():
    system = pv.System(["q", "p"], "q**2/2 + p**2/2", [[0, 1], [-1, 0]])
    given = pv.compare(system, step=0.1, until=1.0, start={"q": 1.0}, engine="python")
    refused = {entry.title: entry.reason for entry in given.entries if entry.run is None}
    assert [*refused] == ["SymplecticEuler", "PassiveMidpoint"] and all("positions" in why for why in refused.values())
    assert all(not entry.reason for entry in given.entries if entry.run is not None)


def test_a_run_that_fails_keeps_what_it_reached():
    microphone = pv.library.microphone()
    given = pv.compare(
        microphone, [pv.ExplicitEuler(), pv.AVF()], 0.5, 20.0, start={"q": 0.5, "p": -2.0}, engine="python",
        record_every=3,
    )  # fmt: skip
    stopped, whole = given.entries
    assert stopped.run.steps == 23 and "domain" in stopped.reason and stopped.run.verdict.kind == "none"
    rows = stopped.run.steps // 3 + 1
    off = np.abs(stopped.run.arrays["states"][:rows] - given.reference.states[:rows])
    largest = np.abs(given.reference.states).max(axis=0)
    assert stopped.error == pytest.approx((off / np.where(largest > 0, largest, largest.max())).max())
    assert whole.error is not None and whole.run.steps == 40 and not given.passive
    assert json.dumps(given.data(), allow_nan=False)


def test_a_run_that_fails_at_once_has_no_error_and_no_cost():
    law = pv.Feedback(lambda y: 3 + y**2)
    given = pv.compare(
        pv.library.mass(m=1.0), [pv.AVF()], 2000.0, 20000.0, inputs={"force": law}, engine="python",
    )  # fmt: skip
    assert given.entries[0].run.steps == 0 and given.entries[0].error is None and given.entries[0].cost is None


def test_runs_and_reference_are_recorded_at_the_same_ticks():
    given = pendulum([pv.AVF(), pv.Heun()], until=4.1, record_every=7)
    assert given.reference.time.tolist() == given.entries[0].run.time.tolist() == given.entries[1].run.time.tolist()
    assert given.reference.states.shape == (7, 2)
    many = pv.compare(pv.library.mass(), [pv.AVF()], 1e-3, 2.401, start={"p": 1.0}, engine="python")
    assert many.entries[0].run.record_every == 2 and len(many.reference.time) == 1202


@pytest.mark.parametrize(
    ("methods", "options", "error", "message"),
    [
        (None, {"start": {"qq": 1.0}}, pv.InputError, "did you mean 'q'"),
        (None, {"inputs": {"torqe": 1.0}}, pv.InputError, "did you mean 'torque'"),
        (None, {"inputs": {"torque": np.zeros(3)}}, pv.InputError, "shape"),
        (None, {"inputs": {"torque": pv.Held(lambda t, y: -y)}}, pv.InputError, "Held.*Feedback"),
        (None, {"inputs": {"torque": pv.Feedback("z")}}, pv.InputError, "only"),
        (None, {"step": -1.0}, pv.InputError, "step"),
        (None, {"until": 0.01}, pv.InputError, "shorter"),
        (None, {"record_every": 0}, pv.InputError, "record_every"),
        (None, {"engine": "numbaa"}, pv.InputError, "did you mean 'numba'"),
        ([], {}, pv.MethodError, "at least one"),
        (pv.AVF(), {}, pv.MethodError, "a list of methods"),
        ([pv.AVF], {}, pv.MethodError, "parentheses"),
        (["AVF"], {}, pv.MethodError, "expected a method"),
        ([pv.AVF(), pv.AVF()], {}, pv.MethodError, "twice"),
    ],
)
def test_a_mistake_that_concerns_all_is_answered_at_once(methods, options, error, message):
    with pytest.raises(error, match=message):
        pendulum(methods, **options)


def test_what_is_no_model_is_refused():
    with pytest.raises(pv.ModelError, match="expected a System"):
        pv.compare("pendulum", step=0.1, until=1.0)


# -- progress and interruption -----------------------------------------------------------------------------------------


def test_progress_rises_to_its_total():
    told = []
    pendulum([pv.AVF(), pv.RK4()], progress=lambda *what: told.append(what))
    sentences, done, totals = zip(*told)
    assert {"compiling AVF", "AVF", "compiling RK4", "RK4", "reference"} == set(sentences)
    assert list(done) == sorted(done) and set(totals) == {done[-1]} and done[0] == 0


@pytest.mark.parametrize(("word", "finished"), [("compiling RK4", 1), ("reference", 2)])
def test_an_interrupt_keeps_what_is_finished(word, finished):
    def stop(what, done, total):
        if what == word:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        pendulum([pv.AVF(), pv.RK4()], progress=stop)
    kept = caught.value.comparison
    assert kept.interrupted and len(kept.entries) == finished and kept.entries[0].run.steps == 40
    assert math.isnan(kept.reference.accuracy) and errors(kept)["AVF"] is None
    assert kept.reference.states.shape == (41, 2) and json.dumps(kept.data(), allow_nan=False)


# -- machine code ------------------------------------------------------------------------------------------------------


def test_machine_code_gives_the_same_and_its_cost_per_step():
    plain, fast = pendulum([pv.AVF(), pv.RK4()]), pendulum([pv.AVF(), pv.RK4()], engine="numba")
    for a, b in zip(plain.entries, fast.entries):
        assert b.error == pytest.approx(a.error, rel=1e-6)
        assert 1e-9 < b.cost < 1e-5 < a.cost


def test_a_model_without_states_is_refused():
    with pytest.raises(pv.InputError, match="has no states"):
        pv.compare(pv.library.damper())
