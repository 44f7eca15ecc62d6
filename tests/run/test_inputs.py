"""Inputs of every kind reach the stages they belong to."""

import math

import numpy as np
import pytest

import passivo as pv


def drive(force, method=None, model=None, **options):
    settings = {"step": 0.1, "until": 2.0, "start": {"q": 0.2}, "engine": "python", **options}
    return pv.simulate(
        model or pv.library.oscillator(k=4.0, m=1.0), method or pv.AVF(), inputs={"force": force}, **settings
    )


@pytest.mark.parametrize(
    ("method", "share"), [(pv.AVF(), 0.5), (pv.ExplicitEuler(), 0.0), (pv.ImplicitEuler(), 1.0)], ids=str
)
def test_a_function_is_read_at_the_stage_time(method, share):
    traced = drive(lambda t: pv.sin(3 * t), method)
    times = (np.arange(20) + share) * 0.1
    assert traced["force"].values[1:] == pytest.approx(np.sin(3 * times), abs=1e-15)
    table = drive(np.sin(3 * times), method)
    assert (table["q"].values == traced["q"].values).all()


def test_every_stage_of_a_runge_kutta_method_reads_its_own_time():
    """x' = f(t) by RK4 is Simpson's rule."""
    mass = pv.library.mass(m=1.0)
    run = pv.simulate(mass, pv.RK4(), step=0.5, until=1.0, inputs={"force": lambda t: t**4}, engine="python")
    simpson = sum(0.5 / 6 * (a**4 + 4 * (a + 0.25) ** 4 + (a + 0.5) ** 4) for a in (0.0, 0.5))
    assert run["p"].values[-1] == pytest.approx(simpson, rel=1e-14)


def test_functions_that_cannot_be_traced_are_called():
    steps = lambda t: 1.0 if t < 1.0 else 0.0  # noqa: E731
    plain = lambda t: math.sin(3 * t)  # noqa: E731
    assert drive(steps).drive["force"]["kind"] == "table"
    assert drive(plain)["q"].values == pytest.approx(drive(lambda t: pv.sin(3 * t))["q"].values, abs=1e-13)
    assert drive(lambda t: pv.sin(3 * t)).drive["force"] == {"kind": "formula", "texts": ["sin(3 * t)"]}
    assert drive("sin(3*t)").drive["force"]["kind"] == "formula"


def test_wide_ports_take_vectors_arrays_and_functions():
    kepler = pv.library.kepler()
    start = {"x": 1.0, "py": 1.0}

    def go(thrust):
        return pv.simulate(
            kepler, pv.AVF(), step=0.1, until=1.0, start=start, inputs={"thrust": thrust}, engine="python"
        )

    constant, table, function = go([0.1, -0.2]), go(np.tile([0.1, -0.2], (10, 1))), go(lambda t: [0.1, -0.2])
    assert (constant.arrays["states"] == table.arrays["states"]).all()
    assert (constant.arrays["states"] == function.arrays["states"]).all()
    assert constant["thrust"].dims == ("time", "component") and constant.work["thrust"].shape == (11, 2)


def test_held_samples_the_output_and_holds():
    seen = []

    def damp(t, y):
        seen.append((t, y))
        return -0.5 * y

    run = drive(pv.Held(damp))
    assert [t for t, _ in seen] == pytest.approx(0.1 * np.arange(20))
    assert [y for _, y in seen] == pytest.approx(run.outputs["force"].values[:-1])
    assert run["force"].values[1:] == pytest.approx(-0.5 * run.outputs["force"].values[:-1])
    assert run.verdict.kind == "exact"  # the input is outside; the step stays exact


@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.ClosedLoopAVF()], ids=str)
def test_feedback_is_solved_inside_the_step(method):
    part = pv.compile(
        pv.library.pendulum(), method, 0.5, start={"q": 2.8, "p": 1.4},
        laws={"torque": pv.Feedback(lambda y: -0.05 * pv.atan(y))}, engine="python",
    )  # fmt: skip
    before = part.stored
    part.step([0.0])
    assert part.work[0] < 0
    if isinstance(method, pv.AVF):
        u = part.memory[part.module.USED]
        assert u == pytest.approx(-0.05 * math.atan(part.mean_output[0]), rel=1e-14)
        assert part.stored - before == pytest.approx(part.work[0], rel=1e-13)


def test_settled_turns_of_the_controlled_pendulum():
    """Spec 2.8: at h = 0.5 and gain 0.05 the pendulum settles after 3 turns (both AVF), 4 (midpoint), 6 (Heun)."""
    turns = {}
    for method in (pv.AVF(), pv.ClosedLoopAVF(), pv.ImplicitMidpoint(), pv.Heun()):
        law = pv.Feedback(lambda y: -0.05 * pv.atan(y))
        run = pv.simulate(
            pv.library.pendulum(), method, step=0.5, until=300,
            start={"q": 2.8, "p": 1.4}, inputs={"torque": law}, engine="python",
        )  # fmt: skip
        turns[type(method).__name__] = round(run["q"].values[-1] / (2 * np.pi))
    assert turns == {"AVF": 3, "ClosedLoopAVF": 3, "ImplicitMidpoint": 4, "Heun": 6}


def test_signals_carry_no_power():
    lossy = pv.System(
        ["p"], "p**2/2", loss=[["valve**2"]], ports={"force": pv.effort([1])}, signals=["valve"], name="lossy"
    )  # fmt: skip
    run = pv.simulate(
        lossy, pv.AVF(), step=0.1, until=1.0, start={"p": 1.0}, inputs={"valve": lambda t: t}, engine="python"
    )
    assert run["valve"].values[1:] == pytest.approx(0.1 * np.arange(10) + 0.05)
    assert run.verdict.kind == "exact" and float(run.ledger.lost[-1, 0]) > 0
    with pytest.raises(pv.InputError, match="signal"):
        pv.simulate(lossy, pv.AVF(), step=0.1, until=1.0, inputs={"valve": pv.Feedback(lambda y: y)}, engine="python")


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (pv.Feedback(lambda y: math.sin(y)), r"pv\.sin"),
        (pv.Feedback(lambda y: [y, y]), "2 values for a port 1 wide"),
        (pv.Feedback("z + 1"), "only"),
        (lambda t: [1.0, 2.0], "2 values for a width of 1"),
        (lambda t: "no", "not a number"),
        (np.zeros((20, 2)), "shape"),
    ],
)
def test_inputs_that_cannot_be_used(force, message):
    with pytest.raises(pv.PassivoError, match=message):
        drive(force)


def test_a_function_with_a_memory_or_a_branch_is_called_at_every_step():
    rng = np.random.default_rng(1)
    noise = drive(lambda t: rng.normal())["force"].values[1:]
    assert len(set(noise)) == 20
    kick = drive(lambda t: 1.0 if t == 0.55 else 0.0, method=pv.AVF())["force"].values[1:]
    assert kick.sum() <= 1.0 and set(kick) <= {0.0, 1.0}
    first = drive(lambda t: 5.0 if t == 0 else 1.0, method=pv.ExplicitEuler())["force"].values[1:]
    assert first[0] == 5.0 and set(first[1:]) == {1.0}


def test_none_is_not_a_number():
    with pytest.raises(pv.InputError, match="expected a number"):
        drive(None)
