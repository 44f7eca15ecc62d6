"""`simulate`: ends where it should, records what it should, and answers bad input before it works."""

from itertools import pairwise

import numpy as np
import pytest

import passivo as pv


def simulate(model=None, method=None, **options):
    settings = {"step": 0.01, "until": 1.0, "start": {"q": 0.2}, "engine": "python", **options}
    return pv.simulate(model or pv.library.oscillator(k=4.0, m=1.0), method or pv.AVF(), **settings)


def test_a_run_ends_at_the_last_tick():
    assert simulate(step=0.1, until=0.3).steps == 3  # in binary 0.3/0.1 is below 3
    assert simulate(step=0.1, until=0.39).steps == 3
    run = simulate(step=1e-3, until=0.007)
    assert run["q"].sizes["time"] == 8 and run.time[-1] == 0.007


def test_record_every_thins_rows_but_books_every_step():
    full, thin = simulate(until=1.03), simulate(until=1.03, record_every=10)
    assert thin.time.tolist() == [*(0.01 * np.arange(0, 101, 10)).tolist(), 1.03]
    at = [*range(0, 101, 10), 103]
    assert (thin["q"].values == full["q"].values[at]).all()
    assert (thin.arrays["ledger"] == full.arrays["ledger"][at]).all()
    assert thin.verdict == full.verdict


def test_ledger_is_a_dataset_with_a_total():
    run = simulate()
    assert set(run.ledger.data_vars) == {"stored", "work", "lost", "edited", "created", "booked", "faults"}
    assert dict(run.ledger.sizes) == {"time": 101, "part": 2}
    assert list(run.ledger.part.values) == ["oscillator", "total"]
    assert run.part("oscillator").verdict.kind == "exact"
    assert run.engine == "python" and "exact" in repr(run)


def test_labelled_arrays_carry_units(tmp_path):
    run = simulate()
    run.save(tmp_path / "run.zarr")
    for each in (run, pv.load(tmp_path / "run.zarr")):
        found = (each["q"], each["p"], each["force"], each.inputs["force"], each.outputs["force"], each.work["force"])
        assert [array.attrs["units"] for array in found] == ["m", "kg m/s", "N", "N", "m/s", "J"]
        assert each.part("oscillator")["q"].attrs["units"] == "m"
        assert each["q"].time.attrs["units"] == each.ledger.time.attrs["units"] == "s"
        units = {name: column.attrs["units"] for name, column in each.ledger.data_vars.items()}
        assert units.pop("faults") == "1" and set(units.values()) == {"J"}
    bare = simulate(pv.System(["q", "p"], "q**2/2 + p**2/2", [[0, 1], [-1, 0]]))
    assert "units" not in bare["q"].attrs


def test_a_run_lists_what_it_gives_by_name():
    run = simulate(inputs={"force": 1.0})
    assert list(run) == list(run.keys()) == ["q", "p", "force"] and "q" in run and "x" not in run
    world = pv.World()
    world.add_plane()
    world.add_link("a", None, pv.Ball("b", at=(0, 0, 1)), pv.Sphere(0.1), 1.0, position=(0, 0, 0.7))
    run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=3e-3, engine="python")
    assert {"a.position", "a.position.x", "b.turn", "contacts.depth"} <= set(run)
    assert all(len(run[name]) == 4 for name in run)
    net = pv.Network()
    net.add("one", pv.library.oscillator(), pv.AVF(), step=0.01)
    run = pv.simulate(net, until=0.05, engine="python")
    assert list(run) == ["one.q", "one.p", "one.force"] and "one" not in run and all(run[name].size for name in run)


def test_start_defaults_to_the_minimum_or_zero():
    assert simulate(start=None)["q"].values[0] == 0.0
    microphone = pv.library.microphone()
    run = pv.simulate(microphone, pv.AVF(), step=0.01, until=0.05, engine="python")
    assert run["q"].values[0] == microphone.minimum["q"] == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": {"qq": 1.0}}, "no state 'qq'.*did you mean 'q'"),
        ({"start": {"q": float("nan")}}, "must be finite"),
        ({"start": {"q": "here"}}, "must be a number"),
        ({"step": 0.0}, "step must be a positive"),
        ({"step": -1e-3}, "step must be a positive"),
        ({"step": float("inf")}, "step must be a positive"),
        ({"step": "fast"}, "step must be a positive"),
        ({"until": 0.005}, "shorter than one step"),
        ({"until": -1.0}, "until must be a positive"),
        ({"record_every": 0}, "record_every"),
        ({"record_every": 1.5}, "record_every"),
        ({"inputs": {"froce": 1.0}}, "no port or signal 'froce'.*did you mean 'force'"),
        ({"inputs": {"force": np.zeros(7)}}, r"shape \(7,\); expected .*\(100,\)"),
        ({"inputs": {"force": "__import__('os')"}}, "not a known function|not allowed"),
        ({"inputs": {"force": {"a": 1}}}, "expected a number, an array"),
    ],
)
def test_bad_input_is_answered_before_work_starts(options, message):
    with pytest.raises(pv.PassivoError, match=message):
        simulate(**options)


def test_methods_and_models_are_checked():
    with pytest.raises(pv.MethodError, match=r"write AVF\(\) with parentheses"):
        simulate(method=pv.AVF)
    with pytest.raises(pv.MethodError, match="positions"):
        system = pv.System(["q", "p"], "q**2/2 + p**2/2", [[0, 1], [-1, 0]])
        pv.simulate(system, pv.SymplecticEuler(), step=0.1, until=1.0)
    with pytest.raises(pv.ModelError, match="expected a System"):
        pv.simulate("oscillator", pv.AVF(), step=0.1, until=1.0)


def test_too_many_rows_are_refused_with_the_number_to_use():
    with pytest.raises(pv.InputError, match=r"record_every=\d+ or more"):
        simulate(step=1e-6, until=1e4)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_bad_input_in_mid_run_keeps_what_was_computed(bad):
    force = np.zeros(100)
    force[40] = bad
    with pytest.raises(pv.NonFiniteError, match="NaN or infinite") as caught:
        simulate(inputs={"force": force})
    run = caught.value.run
    assert run.steps == 40 and run["q"].sizes["time"] == 41
    assert run.verdict.kind == "none" and not run.verdict.passive and "NaN or infinite" in str(run.verdict)
    assert (run["q"].values == simulate(until=0.4)["q"].values).all()
    assert caught.value.time == pytest.approx(0.4) and set(caught.value.state) == {"q", "p"}


def test_a_stopped_run_can_be_saved_and_says_so(tmp_path):
    with pytest.raises(pv.StepError) as caught:
        simulate(inputs={"force": lambda t: float("nan") if t > 0.3 else 1.0}, record_every=7)
    caught.value.run.save(tmp_path / "part.zarr")
    again = pv.load(tmp_path / "part.zarr")
    assert again.stopped and again.verdict.kind == "none" and again.steps == caught.value.run.steps == 30
    assert again.time[-1] == pytest.approx(0.30)


def test_leaving_the_domain_is_an_error_not_a_nan():
    with pytest.raises(pv.DomainError, match="domain q > 0") as caught:
        pv.simulate(
            pv.library.microphone(),
            pv.ExplicitEuler(),
            step=1.0,
            until=50,
            start={"q": 0.5, "p": -9.0},
            engine="python",
        )
    assert caught.value.state["q"] > 0 and caught.value.run.verdict.kind == "none"
    with pytest.raises(pv.InputError, match="outside the domain"):
        pv.simulate(pv.library.microphone(), pv.AVF(), step=0.1, until=1.0, start={"q": -1.0}, engine="python")


def test_a_step_without_solution_carries_time_state_and_residual():
    """u = 3 + y² pumps more than any step can take: the equation has no real solution."""
    mass = pv.library.mass(m=1.0)
    with pytest.raises(pv.ConvergenceError) as caught:
        pv.simulate(
            mass,
            pv.AVF(),
            step=2000.0,
            until=20000.0,
            inputs={"force": pv.Feedback(lambda y: 3 + y**2)},
            engine="python",
        )
    error = caught.value
    assert error.residual is not None and error.residual > 0 and error.state == {"p": 0.0} and error.time == 0.0
    assert error.run.steps == 0 and error.run.verdict.kind == "none"


def test_progress_is_told():
    seen = []
    simulate(step=1e-3, until=20.0, engine="numba", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (20000, 20000) and len(seen) > 1


def test_an_interrupt_keeps_what_was_computed():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(step=1e-3, until=20.0, engine="numba", progress=stop)
    assert caught.value.run.steps == 16384 and "stopped by Ctrl-C" in caught.value.run.stopped


def test_a_multiple_of_the_step_is_a_whole_number_of_steps():
    for count in range(1, 200):
        assert simulate(step=0.03, until=count * 0.03, record_every=10**6).steps == count


def test_errors_travel_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(pv.ConvergenceError("no", time=1.0, state={"q": 2.0}, residual=3.0)))
    assert isinstance(error, pv.ConvergenceError) and (error.time, error.state, error.residual) == (
        1.0,
        {"q": 2.0},
        3.0,
    )


def test_engines_and_starts_are_checked():
    with pytest.raises(pv.InputError, match=r"no engine 'numbaa'.*did you mean 'numba'"):
        simulate(engine="numbaa")
    with pytest.raises(pv.InputError, match="by name"):
        simulate(start=[1.0, 2.0])
    with pytest.raises(pv.InputError, match="by port"):
        simulate(inputs=[1.0])


def ball_that_bounces():
    world = pv.World()
    world.add_plane(restitution=0.8)
    world.add_body("ball", pv.Sphere(0.1), 1.0, position=(0, 0, 0.105), restitution=0.8)
    return world


@pytest.mark.parametrize("every", [7, 50])
def test_kept_rows_hold_the_means_of_all_steps_between_them(every):
    """Impacts last a step: rows of single steps would miss most of them."""
    options = {"method": pv.PassiveMidpoint(), "step": 1e-3, "until": 0.13, "engine": "python"}
    whole, thin = (pv.simulate(ball_that_bounces(), record_every=n, **options) for n in (1, every))
    edges = [*range(0, 130, every), 130]
    for name in ("contacts.number", "contacts.force", "contacts.impact", "ball.contact_force"):
        steps = whole[name].values[1:]
        means = [steps[a:b].mean(axis=0) for a, b in pairwise(edges)]
        assert np.allclose(thin[name].values[1:], means, rtol=1e-12, atol=1e-15)
    assert whole["contacts.impact"].values[1:].sum() > 1e-3 and thin.audit().ok


def test_kept_rows_of_a_network_hold_means_and_a_sweep_keeps_the_last_step():
    options = {"until": 0.1, "engine": "python"}
    net = pv.Network()
    net.add("world", ball_that_bounces(), pv.PassiveMidpoint(), step=1e-3)
    whole, thin = (pv.simulate(net, record_every=n, **options) for n in (1, 8))
    steps = whole["world.contacts.force"].values[1:]
    edges = [*range(0, 100, 8), 100]
    means = [steps[a:b].mean() for a, b in pairwise(edges)]
    assert steps.sum() > 1.0 and np.allclose(thin["world.contacts.force"].values[1:], means, rtol=1e-12)
    heavy = ball_that_bounces()
    heavy.add_body("rests", pv.Sphere(0.1), 1.0, position=(1, 0, 0.1))
    alone = pv.simulate(heavy, pv.PassiveMidpoint(), step=1e-3, until=0.1, engine="python")
    found = pv.sweep(
        heavy, pv.PassiveMidpoint(), step=1e-3, until=0.1, over={"ball.mass": [1.0]}, keep=["contacts.force"],
        engine="python",
    )  # fmt: skip
    assert float(found["contacts.force"][0]) == alone["contacts.force"].values[-1] > 0.0
