"""`sweep`: every run is that of `simulate`, bit for bit; what is swept and kept is checked before work starts."""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import passivo as pv
from passivo.sweep.prepared import CHUNK
from passivo.sweep.sweep import Sweep
from strategies import build

VERDICT = ("passive", "bounded", "bias", "removed", "unnoticed", "roundoff")
LEDGER = ("stored", "work", "lost", "edited", "created", "booked")


def oscillator(**params):
    return pv.library.oscillator(**{"k": 4.0, "m": 1.0, "b": 0.1, **params})


def sweep(model=None, method=None, **options):
    settings = {"step": 0.01, "until": 1.0, "start": {"q": 0.2}, "over": {"k": [4.0]}, "keep": ["q"]}
    return pv.sweep(model or oscillator(), method or pv.AVF(), **{**settings, "engine": "python", **options})


def two_rates(slow=2e-3, through=None, method=None, k=400.0):
    net = pv.Network()
    spring = net.add("spring", pv.library.spring(k=k), method or pv.AVF(), step=1e-3)
    mass = net.add("mass", pv.library.mass(m=0.2), method or pv.AVF(), step=slow)
    net.connect(spring["end"], mass["force"], through=through or pv.PassiveSampleHold(), name="link")
    return net


def sweep_network(net=None, **options):
    settings = {"until": 0.05, "start": {"spring.q": 0.2}, "over": {"spring.k": [400.0]}, "keep": ["spring.q"]}
    return pv.sweep(net or two_rates(), **{**settings, "engine": "python", **options})


def same(a, b):
    """Equal bit for bit; NaN is NaN."""
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")


# -- every run is that of simulate ----------------------------------------------------------------------------------


def test_the_line_of_the_design_runs():
    q, p, k, m, b = pv.symbols("q p k m b")
    model = pv.System(
        states=[q, p],
        energy=k * q**2 / 2 + p**2 / (2 * m),
        structure=[[0, 1], [-1, 0]],
        loss=[[0, 0], [0, b]],
        ports={"force": pv.effort([0, 1])},
        params={"k": 5000.0, "m": 0.2, "b": 0.0},
    )
    over = {"k": [1e3, 1e4], "start.q": [0.1, 0.2]}
    result = pv.sweep(model, pv.AVF(), step=1e-3, until=2.0, over=over, keep=["q", "verdict"], on="cpu")
    assert dict(result.sizes) == {"k": 2, "start.q": 2} and (result.verdict == "exact").all()
    run = pv.simulate(model.with_params(k=1e4), pv.AVF(), step=1e-3, until=2.0, start={"q": 0.2})
    assert float(result.q.sel({"k": 1e4, "start.q": 0.2})) == run["q"].values[-1]


def test_all_that_is_kept_of_a_model_is_that_of_simulate():
    over = {"start.q": [0.1, -0.3, 0.2], "k": [1.0, 9.0], "step": [0.01, 0.025], "method": [pv.AVF(), pv.RK4()]}
    inputs = {"force": lambda t: 0.3 * pv.sin(2 * t)}
    hows = [pv.Reduce("q", how, since=0.4) for how in ("mean", "abs mean", "rms", "min", "max", "last")]
    names = ["q", "p", "force", "oscillator.created", "verdict", "oscillator.verdict", "reason", *LEDGER, *VERDICT]
    reductions = [*hows, pv.Reduce("force", "max", name="largest force"), pv.Reduce("lost", "mean")]
    result = sweep(over=over, keep=[*names, *reductions], start={"p": 0.5}, inputs=inputs)
    assert list(result.sizes) == list(over) and list(result.coords) == list(over)
    assert list(result.data_vars) == [*names, *(r.title for r in reductions)]
    for q, k, step, method in product(*over.values()):
        run = pv.simulate(
            oscillator(k=k), method, step=step, until=1.0, start={"q": q, "p": 0.5}, inputs=inputs, engine="python"
        )
        one = result.sel({"start.q": q, "k": k, "step": step, "method": type(method).__name__})
        for name in ("q", "p", "force"):
            assert one[name].item() == run[name].values[-1]
        for name in LEDGER:
            assert one[name].item() == run.ledger[name].sel(part="total").values[-1]
        assert one["oscillator.created"].item() == one["created"].item()
        for name in VERDICT:
            assert one[name].item() == getattr(run.verdict, name)
        assert one["verdict"].item() == one["oscillator.verdict"].item() == run.verdict.kind
        assert one["reason"].item() == ""
        late = run["q"].values[run.time >= 0.4 - 1e-9]
        assert one["mean(q)"].item() == late.mean() and one["abs mean(q)"].item() == np.abs(late).mean()
        assert one["rms(q)"].item() == np.sqrt((late * late).mean())
        assert (one["min(q)"].item(), one["max(q)"].item()) == (late.min(), late.max())
        assert one["last(q)"].item() == one["q"].item()
        assert one["largest force"].item() == run["force"].values[1:].max()
        assert one["mean(lost)"].item() == run.ledger["lost"].sel(part="total").values.mean()


def test_all_that_is_kept_of_a_network_is_that_of_simulate():
    over = {
        "mass.step": [2e-3, 5e-3],
        "spring.k": [100.0, 400.0],
        "start.mass.p": [0.0, 0.1],
        "link.through": [pv.PassiveSampleHold(), pv.PassiveSampleHold(order="published"), pv.Direct()],
    }
    names = ["spring.q", "mass.p", "mass.force", "verdict", "link.verdict", "mass.bias", "link.created", "mass.stored"]
    names += [*LEDGER, *VERDICT]
    reductions = [pv.Reduce("spring.q", "rms", since=0.02), pv.Reduce("link.created"), pv.Reduce("stored", "max")]
    result = sweep_network(over=over, keep=[*names, *reductions])
    labels = ["PassiveSampleHold(order='')", "PassiveSampleHold(order='published')", "Direct"]
    assert list(result.sizes) == list(over) and result["link.through"].values.tolist() == labels
    for slow, k, p, through in product(*over.values()):
        net = two_rates(slow, through, k=k)
        run = pv.simulate(net, until=0.05, start={"spring.q": 0.2, "mass.p": p}, engine="python")
        label = labels[over["link.through"].index(through)]
        one = result.sel({"mass.step": slow, "spring.k": k, "start.mass.p": p, "link.through": label})
        for name in ("spring.q", "mass.p", "mass.force"):
            assert one[name].item() == run[name].values[-1]
        for name in LEDGER:
            assert one[name].item() == run.ledger[name].sel(part="total").values[-1]
        assert one["link.created"].item() == run.ledger["created"].sel(part="link").values[-1]
        assert one["mass.stored"].item() == run.ledger["stored"].sel(part="mass").values[-1]
        assert one["verdict"].item() == run.verdict.kind and one["link.verdict"].item() == run.part("link").verdict.kind
        assert one["mass.bias"].item() == run.verdict.parts["mass"].bias
        for name in VERDICT:
            assert one[name].item() == getattr(run.verdict, name)
        late = run["spring.q"].values[run["spring.q"].time >= 0.02 - 1e-9]
        assert one["rms(spring.q)"].item() == np.sqrt((late * late).mean())
        assert one["mean(link.created)"].item() == run.part("link").ledger["created"].values.mean()
        assert one["max(stored)"].item() == run.ledger["stored"].sel(part="total").values.max()


def test_the_error_of_a_junction_is_reduced_at_its_own_exchanges():
    reductions = [pv.Reduce("link.error", "mean", since=0.025), pv.Reduce("link.power", "min")]
    result = sweep_network(over={"mass.step": [2e-3, 3e-3, 5e-3]}, keep=reductions)
    assert result["mean(link.error)"].attrs["units"] == "J" and result["mass.step"].attrs["units"] == "s"
    for slow in (2e-3, 3e-3, 5e-3):
        run = pv.simulate(two_rates(slow), until=0.05, start={"spring.q": 0.2}, engine="python")
        error, one = run.part("link")["error"], result.sel({"mass.step": slow})
        assert one["mean(link.error)"].item() == error.values[error.time >= 0.025 - 1e-9].mean()
        assert one["min(link.power)"].item() == run.part("link")["power"].values.min()


def test_machine_code_gives_the_runs_of_simulate():
    over = {"mass.step": [2e-3, 7e-3], "mass.m": [0.1, 0.8], "start.spring.q": [0.1, 0.2]}
    keep = ["spring.q", "verdict", "bias", pv.Reduce("link.error", "max"), pv.Reduce("link.error", "mean")]
    result = sweep_network(over=over, keep=keep, engine="numba", until=100.0)
    run = pv.simulate(two_rates(7e-3).with_params(**{"mass.m": 0.8}), until=100.0, start={"spring.q": 0.2})
    one, error = result.isel({"mass.step": 1, "mass.m": 1, "start.spring.q": 1}), run.part("link")["error"].values
    assert one["spring.q"].item() == run["spring.q"].values[-1] and one["bias"].item() == run.verdict.bias
    assert one["verdict"].item() == run.verdict.kind
    assert one["max(link.error)"].item() == error.max()
    assert one["mean(link.error)"].item() == pytest.approx(error.mean(), rel=1e-13)  # summed in blocks


def test_composed_models_and_starts_at_the_minimum():
    model = pv.Monolithic(
        {"spring": pv.library.spring(k=10.0), "mass": pv.library.mass(m=1.0)}, [("spring.end", "mass.force", "joint")]
    )
    over = {"spring.k": [1.0, 10.0], "start.mass.p": [0.0, 2.0]}
    keep = ["spring.q", "mass.stored", "joint.created", "mass.verdict", "stored"]
    result = sweep(model, over=over, keep=keep, start={"spring.q": 1.0})
    run = pv.simulate(
        model.with_params(**{"spring.k": 1.0}), pv.AVF(), step=0.01, until=1.0,
        start={"spring.q": 1.0, "mass.p": 2.0}, engine="python",
    )  # fmt: skip
    one = result.isel({"spring.k": 0, "start.mass.p": 1})
    assert one["spring.q"].item() == run["spring.q"].values[-1]
    for part, name in (("mass", "stored"), ("joint", "created")):
        assert one[f"{part}.{name}"].item() == run.ledger[name].sel(part=part).values[-1]
    assert one["mass.verdict"].item() == run.verdict.parts["mass"].kind
    # the minimum of a microphone depends on a parameter, and a run without a start begins there
    microphone = pv.library.microphone()
    name = next(
        name for name in microphone.params if microphone.with_params(**{name: 1.7}).minimum != microphone.minimum
    )
    result = sweep(microphone, over={name: [1.2, 1.7]}, keep=["q"], start=None, step=0.1)
    for value in (1.2, 1.7):
        run = pv.simulate(microphone.with_params(**{name: value}), pv.AVF(), step=0.1, until=1.0, engine="python")
        assert result["q"].sel({name: value}).item() == run["q"].values[-1]


def test_long_runs_are_reduced_in_blocks():
    """A recorded run of several blocks, and an input that is tabulated block by block."""
    steps = 2 * CHUNK + 77
    options = {"step": 1e-3, "until": steps * 1e-3, "inputs": {"force": "sin(3*t)"}}
    since = (CHUNK + 5) * 1e-3
    keep = ["q", pv.Reduce("q", "max", since=since), pv.Reduce("q", "mean", since=since), pv.Reduce("p", "min")]
    result = sweep(over={"k": [4.0, 5.0]}, keep=keep, engine="numba", **options)
    run = pv.simulate(oscillator(k=5.0), pv.AVF(), start={"q": 0.2}, **options)
    one, late = result.sel(k=5.0), run["q"].values[CHUNK + 5 :]
    assert run.steps == steps and one["q"].item() == run["q"].values[-1]
    assert one["max(q)"].item() == late.max() and one["min(p)"].item() == run["p"].values.min()
    assert one["mean(q)"].item() == pytest.approx(late.mean(), rel=1e-12, abs=1e-15)


def test_noise_and_called_functions_give_the_runs_of_simulate():
    calls = []

    def pulse(t):
        calls.append(t)
        return 1.0 if t < 0.3 else -1.0

    drives = [pv.Noise(2.0, seed=7), pulse, pv.Held(lambda t, y: -0.3 * y), pv.Feedback(lambda y: -(y**3))]
    for drive in drives:
        result = sweep(over={"k": [3.0, 4.0, 5.0]}, keep=["q", "work"], inputs={"force": drive}, until=0.5)
        run = pv.simulate(
            oscillator(k=5.0),
            pv.AVF(),
            step=0.01,
            until=0.5,
            start={"q": 0.2},
            inputs={"force": drive},
            engine="python",
        )
        assert result["q"].sel(k=5.0).item() == run["q"].values[-1]
        assert result["work"].sel(k=5.0).item() == run.ledger["work"].sel(part="total").values[-1]


def test_networks_with_inputs_of_their_own_give_the_runs_of_simulate():
    net = pv.Network()
    net.add("fast", pv.library.oscillator(k=4.0, m=1.0), pv.RK4(), step=1e-2)
    net.add("slow", pv.library.oscillator(k=9.0, m=1.0), pv.AVF(), step=3e-2)
    for drive in ("cos(2*t)", pv.Noise(1.0, seed=2), pv.Held(lambda t, y: t - y)):
        inputs = {"fast.force": drive, "slow.force": 0.5}
        over, keep = (
            {"start.slow.q": [0.0, 0.1], "fast.k": [3.0, 4.0]},
            ["fast.q", "slow.q", pv.Reduce("fast.p", "max")],
        )
        result = pv.sweep(net, until=1.0, over=over, keep=keep, inputs=inputs, engine="python")
        run = pv.simulate(net, until=1.0, start={"slow.q": 0.1}, inputs=inputs, engine="python")
        one = result.sel({"start.slow.q": 0.1, "fast.k": 4.0})
        assert one["fast.q"].item() == run["fast.q"].values[-1] and one["slow.q"].item() == run["slow.q"].values[-1]
        assert one["max(fast.p)"].item() == run["fast.p"].values.max()


@pytest.mark.parametrize("seed", [0, 1])
def test_random_systems_give_the_runs_of_simulate(seed):
    case = build(seed, 3)
    starts = dict(zip(case.system.states, case.x.tolist()))
    inputs = {name: case.rng.uniform(-1, 1, (10, port.width)) for name, port in case.system.ports.items()}
    options = {"step": 0.05, "until": 0.5, "inputs": inputs, "engine": "python"}
    values = [-0.5, 0.25, starts["x1"]]
    result = pv.sweep(
        case.system, pv.AVF(), over={"start.x1": values}, keep=["x0", "x1", "x2", *LEDGER], start=starts, **options
    )
    for value in values:
        run = pv.simulate(case.system, pv.AVF(), start={**starts, "x1": value}, **options)
        one = result.sel({"start.x1": value})
        assert all(one[name].item() == run[name].values[-1] for name in ("x0", "x1", "x2"))
        assert all(one[name].item() == run.ledger[name].sel(part="total").values[-1] for name in LEDGER)


# -- threads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_results_do_not_depend_on_the_number_of_threads(engine):
    over = {"k": np.linspace(1.0, 50.0, 7), "step": [0.01, 0.02], "start.q": [0.1, 0.2, 0.4]}
    keep = ["q", "verdict", "bias", pv.Reduce("p", "rms")]
    given = {"force": pv.Noise(0.1, seed=3)}
    whole = Sweep.of(oscillator(), pv.AVF(), None, 1.0, over, keep, None, given, engine)
    results = [whole.go(threads, None) for threads in (1, 2, 5, 1)]
    for other in results[1:]:
        assert all(same(results[0][name], other[name]) for name in results[0].data_vars)


def test_progress_counts_runs():
    seen = []
    sweep(over={"k": np.linspace(1, 9, 23)}, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (23, 23) and seen == sorted(set(seen))


def test_an_interrupt_keeps_what_was_computed():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        sweep(over={"k": np.linspace(1, 9, 500)}, keep=["q", "verdict"], progress=stop)
    result = caught.value.result
    done = np.isfinite(result["q"].values)
    assert 0 < done.sum() < 500 and "stopped by Ctrl-C after" in result.attrs["stopped"]
    assert (result["verdict"].values[~done] == "none").all() and (result["verdict"].values[done] != "none").all()


def test_an_interrupt_does_not_wait_for_the_end_of_a_run():
    """A run of 10^13 steps is under way when the first, a short one, is told."""

    def stop(done, total):
        raise KeyboardInterrupt

    over = {"step": [1.0, 1e-6]}
    with pytest.raises(KeyboardInterrupt) as caught:
        sweep(over=over, keep=["q"], until=1e7, engine="numba", progress=stop)
    assert np.isfinite(caught.value.result["q"].values).tolist() == [True, False]


def test_a_fault_of_a_function_ends_the_sweep():
    def fails(t):
        if t > 0.5:
            raise ZeroDivisionError("no force today")
        return 1.0

    with pytest.raises(ZeroDivisionError, match="no force today") as caught:
        sweep(over={"k": [1.0, 2.0]}, inputs={"force": fails})
    assert "stopped by ZeroDivisionError" in caught.value.result.attrs["stopped"]


# -- runs that fail -------------------------------------------------------------------------------------------------


def test_a_failed_run_is_not_a_number_and_does_not_stop_the_others():
    microphone = pv.library.microphone()
    keep = ["q", "verdict", "passive", "bias", "reason", "stored", pv.Reduce("q", "max")]
    over = {"start.q": [0.5, 3.0, -1.0], "start.p": [-9.0, 0.0]}
    result = sweep(microphone, pv.ExplicitEuler(), step=1.0, until=20.0, start=None, over=over, keep=keep)
    fine = result.sel({"start.q": 3.0, "start.p": 0.0})
    assert np.isfinite(fine["q"]) and fine["verdict"].item() != "none" and fine["reason"].item() == ""
    outside, left = (result.sel({"start.q": q, "start.p": -9.0}) for q in (-1.0, 0.5))
    for bad in (outside, left):
        assert bad["verdict"].item() == "none" and not bad["passive"]
        assert all(np.isnan(bad[name]) for name in ("q", "bias", "stored", "max(q)"))
    assert "outside the domain" in outside["reason"].item() and "leaves the domain" in left["reason"].item()


def test_a_step_without_solution_is_a_failed_run():
    """u = 3 + y² pumps more than any large step can take."""
    inputs = {"force": pv.Feedback(lambda y: 3 + y**2)}
    options = {"start": None, "until": 2000.0, "keep": ["p", "verdict", "reason"], "inputs": inputs}
    result = sweep(pv.library.mass(m=1.0), over={"step": [2000.0, 100.0], "start.p": [0.0, 1.0]}, **options)
    assert (result["verdict"] == "none").all() and np.isnan(result["p"]).all()
    assert all("could find" in reason for reason in result["reason"].values.flat)


def test_a_run_that_grows_without_bound_is_told_without_a_warning():
    """Explicit Euler with ωh = 10 grows tenfold with every step: squares overflow long before energies do."""
    keep = ["verdict", pv.Reduce("stored", "rms"), pv.Reduce("stored", "mean")]
    result = sweep(oscillator(k=1.0, b=0.0), pv.ExplicitEuler(), over={"step": [10.0]}, until=1000.0, keep=keep)
    assert result["verdict"].item() == "active"
    assert result["rms(stored)"].item() == np.inf and 1e150 < result["mean(stored)"].item() < 1e300


def test_a_bad_input_in_mid_run_is_a_failed_run():
    force = np.zeros(100)
    force[40] = np.nan
    result = sweep(inputs={"force": force}, keep=["q", "verdict", "reason"])
    assert np.isnan(result["q"]).all() and result["verdict"].item() == "none"
    assert "NaN or infinite" in result["reason"].item()


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "gpu"}, "cannot run on 'gpu'.*cpu"),
        ({"engine": "cuda"}, "no engine 'cuda'"),
        ({"over": {}}, "over maps what is swept"),
        ({"over": ["k"]}, "over maps what is swept"),
        ({"over": {"kk": [1.0]}}, "no 'kk' to sweep; did you mean 'k'"),
        ({"over": {"start.qq": [1.0]}}, "no 'start.qq' to sweep; did you mean 'start.q'"),
        ({"over": {"k": 3.0}}, "'k' as 3.0; expected a list"),
        ({"over": {"k": "34"}}, "'k' as '34'; expected a list"),
        ({"over": {"k": []}}, "no values for 'k'"),
        ({"over": {"k": [1.0, float("nan")]}}, "'k' the value nan; expected a finite number"),
        ({"over": {"k": [1.0, "stiff"]}}, "'k' the value 'stiff'"),
        ({"over": {"start.q": [float("inf")]}}, "'start.q' the value inf"),
        ({"over": {"m": [1.0, -2.0]}}, r"with m = -2\.0: the mass matrix is not positive"),
        ({"over": {"b": [0.0, -0.5]}}, r"with b = -0\.5: .*"),
        ({"over": {"step": [0.01, 0.0]}}, "step must be a positive"),
        ({"over": {"step": [0.01, 5.0]}}, r"with step = 5\.0: until = 1.0 s is shorter"),
        ({"over": {"method": [pv.AVF]}}, r"expected a method; write AVF\(\) with parentheses"),
        ({"over": {"method": ["AVF"]}}, "the value 'AVF', expected a method"),
        ({"keep": []}, "keep is empty"),
        ({"keep": "q"}, "keep takes a list"),
        ({"keep": ["qq"]}, "no 'qq' to keep; did you mean 'q'"),
        ({"keep": ["verdicts"]}, "did you mean 'verdict'"),
        ({"keep": [3]}, "keep takes names"),
        ({"keep": ["q", "q"]}, "'q' twice"),
        ({"keep": [pv.Reduce("qq")]}, "no series 'qq' to reduce; did you mean 'q'"),
        ({"keep": [pv.Reduce("q", since=2.0)]}, r"mean\(q\): since = 2 s lies after the end of the run at 1 s"),
        ({"keep": [pv.Reduce("q"), pv.Reduce("q", since=0.5)]}, "twice"),
        ({"start": {"qq": 1.0}}, "no state 'qq'"),
        ({"start": {"q": float("nan")}}, "must be finite"),
        ({"inputs": {"froce": 1.0}}, "no port or signal 'froce'"),
        ({"until": -1.0}, "until must be a positive"),
        ({"over": {"step": [0.01, 0.02]}, "inputs": {"force": np.zeros(100)}}, r"with step = 0\.02: .*shape \(100,\)"),
        ({"over": {"k": range(1, 10**4), "start.q": range(10**6)}}, "more than 100000000; sweep fewer"),
    ],
)
def test_bad_input_is_answered_before_work_starts(options, message):
    def told(done, total):
        raise AssertionError("a run was made")

    with pytest.raises(pv.PassivoError, match=message):
        sweep(progress=told, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": pv.AVF()}, "parts have methods and steps of their own"),
        ({"over": {"k": [1.0]}}, "no 'k' to sweep"),
        ({"over": {"mass.step": [2e-3, 2.5e-3]}}, r"with mass\.step = 0\.0025: .*whole ratio"),
        ({"over": {"mass.m": [0.2, 0.0]}}, r"with mass\.m = 0\.0: .*needs m > 0"),
        ({"over": {"link.through": ["PassiveSampleHold"]}}, "expected a junction"),
        (
            {"over": {"link.through": [pv.PassiveSampleHold(), pv.Direct()]}, "keep": ["link.error"]},
            "Direct.*'link.error'",
        ),
        ({"keep": ["link.eror"]}, "did you mean 'link.error'"),
        ({"start": {"q": 1.0}}, "no free state 'q'"),
    ],
)
def test_bad_input_of_a_network_is_answered_before_work_starts(options, message):
    with pytest.raises(pv.PassivoError, match=message):
        sweep_network(**options)


def test_models_and_reductions_are_checked():
    with pytest.raises(pv.ModelError, match="expected a System or a Network"):
        pv.sweep("oscillator", pv.AVF(), over={"k": [1.0]}, keep=["q"])
    with pytest.raises(pv.InputError, match="no how 'median'"):
        pv.Reduce("q", "median")
    for since in (-1.0, float("inf"), "late"):
        with pytest.raises(pv.InputError, match="since must be a number of seconds"):
            pv.Reduce("q", since=since)


# -- how it is done -------------------------------------------------------------------------------------------------


def test_steps_of_a_network_share_one_module():
    over = {"mass.step": [n * 1e-3 for n in range(2, 13)]}
    whole = Sweep.of(two_rates(), None, None, 0.1, over, ["spring.q"], None, None, "python")
    assert len({id(one.machine.module) for one in whole.prepared.values()}) == 1 and len(whole.prepared) == 11
    assert whole.axes[0].labels[7] == 0.009  # 9*1e-3 is not


def test_parameters_are_set_without_sympy():
    """A structure that only SymPy can prove skew is proved once, not for every value of a parameter."""
    code = """
import sys, passivo as pv
model = pv.System(["q", "p"], "k*q**2/2 + p**2/2", [[0, "1 + q**2"], ["-(q**2 + 1)", 0]], params={"k": 1.0})
from passivo.model import system
before = system._proved.cache_info().misses
pv.sweep(model, pv.AVF(), step=0.1, until=0.5, over={"k": [1.0, 2.0, 3.0]}, keep=["q"], engine="python")
assert before > 0 and system._proved.cache_info().misses == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_what_is_kept_is_recorded():
    whole = Sweep.of(two_rates(), None, None, 1e3, {"spring.k": [1.0]}, ["spring.q"], None, None, "python")
    assert next(iter(whole.prepared.values())).scratch == 1
    whole = Sweep.of(oscillator(), pv.AVF(), 1e-6, 1e4, {"k": [1.0]}, [pv.Reduce("q")], None, None, "python")
    one = next(iter(whole.prepared.values()))
    assert one.ticks == 10**10 and one.scratch * 8 < 2**23


def test_the_room_does_not_hide_the_function():
    code = "import passivo.sweep.keep, passivo as pv; pv.Reduce; r = pv.sweep(pv.library.oscillator(), pv.AVF(), "
    code += "over={'k': [1.0]}, keep=['q'], engine='python', until=0.01); assert r.q.size == 1"
    subprocess.run([sys.executable, "-c", code], check=True)
