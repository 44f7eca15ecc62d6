"""The verdict is right: closed forms, energy zero, units, permutations, long runs (issue of the ledger's meaning)."""

import numpy as np
import pytest

import passivo as pv

K, M, Q0, STEP = 5000.0, 0.2, 0.2, 1e-3


def oscillator(k=K, m=M, extra="0", swapped=False):
    states = ["p", "q"] if swapped else ["q", "p"]
    sign = -1 if swapped else 1
    return pv.System(
        states,
        f"k*q**2/2 + p**2/(2*m) + {extra}",
        [[0, sign], [-sign, 0]],
        ports={"force": pv.effort([1, 0] if swapped else [0, 1])},
        params={"k": k, "m": m},
        positions=["q"],
        name="oscillator",
    )


def run_of(method, until=2.0, start=Q0, step=STEP, model=None, **options):
    return pv.simulate(model or oscillator(), method, step=step, until=until, start={"q": start}, **options)


@pytest.fixture(scope="module")
def runs():
    methods = (pv.AVF(), pv.ImplicitMidpoint(), pv.ExplicitEuler(), pv.ImplicitEuler(), pv.SymplecticEuler())
    return {type(method).__name__: run_of(method, inputs={"force": lambda t: 3 * pv.sin(50 * t)}) for method in methods}


def test_kinds():
    assert run_of(pv.AVF()).verdict.kind == "exact"
    assert run_of(pv.ImplicitMidpoint()).verdict.kind == "exact"
    assert run_of(pv.ImplicitEuler()).verdict.kind == "passive"
    verdict = run_of(pv.SymplecticEuler()).verdict
    assert verdict.kind == "active" and verdict.bounded
    assert str(verdict) == "active but bounded: part oscillator lends up to 15.91 J and takes it back"


def test_explicit_euler_creates_the_joules_of_its_growth():
    """H grows as (1 + ω²T²)^n (spec 1.8), and all of it is created."""
    for steps in (100, 2000):
        run = run_of(pv.ExplicitEuler(), until=steps * STEP)
        growth = (1 + K / M * STEP**2) ** steps
        assert run.ledger.stored.sel(part="total").values[-1] == pytest.approx(100.0 * growth, rel=1e-11)
        assert run.verdict.kind == "active" and not run.verdict.bounded
        assert run.verdict.bias == pytest.approx(100.0 * (growth - 1), rel=1e-11)
        assert run.verdict.window == pytest.approx((0.0, steps * STEP))
    short = run_of(pv.ExplicitEuler(), until=0.1).verdict
    assert str(short) == "active: created 1081 J in part oscillator between t = 0 and 0.1 s"


@pytest.mark.parametrize(
    ("method", "dv_part", "dx_part"),
    [
        ("ExplicitEuler", 1, 1),
        ("ImplicitEuler", -1, -1),
        ("SymplecticEuler", -1, 1),
        ("AVF", 0, 0),
        ("ImplicitMidpoint", 0, 0),
    ],
)
def test_created_equals_the_closed_forms(runs, method, dv_part, dx_part):
    """Per step, spec 4.1: ± m dv²/2 ± k dx²/2 beside the work the method itself used."""
    run = runs[method]
    dx, dv = np.diff(run["q"].values), np.diff(run["p"].values) / M
    expected = dv_part * M * dv**2 / 2 + dx_part * K * dx**2 / 2
    created = np.diff(run.ledger.created.sel(part="total").values)
    size = np.maximum(np.abs(run.ledger.stored.sel(part="total").values[1:]), M * dv**2 / 2 + K * dx**2 / 2)
    # the recorded column is cumulative and rounds at its own size
    rounding = 4 * 2.2e-16 * np.abs(run.ledger.created.sel(part="total").values[1:])
    assert (np.abs(created - expected) <= 1e-13 * size + rounding).all()


def test_created_per_step_is_exact_to_1e13_of_itself():
    """The same, step by step from the part's own account, relative to the created energy itself."""
    for method, sign in ((pv.ExplicitEuler(), 1), (pv.ImplicitEuler(), -1)):
        part = pv.compile(oscillator(), method, STEP, start={"q": Q0})
        for _ in range(200):
            q, p = part.state
            part.step([0.0])
            dq, dp = part.state[0] - q, part.state[1] - p
            change = part.memory[part.module.CHANGE]
            created = change - part.work[0] + part.lost
            assert created == pytest.approx(sign * (dp**2 / (2 * M) + K * dq**2 / 2), rel=1e-13)


def test_work_is_the_integral_the_method_used(runs):
    for name, run in runs.items():
        p, f = run["p"].values, run["force"].values[1:]
        v = p / M
        used = {"ExplicitEuler": v[:-1], "ImplicitEuler": v[1:], "SymplecticEuler": v[1:]}.get(
            name, (v[1:] + v[:-1]) / 2
        )
        assert np.diff(run.work["force"].values) == pytest.approx(STEP * f * used, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("method", [pv.AVF(), pv.ExplicitEuler(), pv.ImplicitEuler(), pv.SymplecticEuler()], ids=str)
def test_verdict_ignores_the_zero_of_energy(method):
    plain, raised = run_of(method, until=0.3).verdict, run_of(method, until=0.3, model=oscillator(extra="1000")).verdict
    assert raised == plain


@pytest.mark.parametrize("method", [pv.AVF(), pv.ExplicitEuler(), pv.ImplicitEuler(), pv.SymplecticEuler()], ids=str)
def test_verdict_scales_with_the_units(method):
    """Millimetres and grams: energies in g mm²/s² are 1e9 times the joules."""
    si = run_of(method, until=0.3).verdict
    small = run_of(method, until=0.3, start=Q0 * 1e3, model=oscillator(k=K * 1e3, m=M * 1e3)).verdict
    assert small.kind == si.kind and small.bounded == si.bounded
    if si.kind in ("active", "passive"):
        assert small.bias == pytest.approx(1e9 * si.bias, rel=1e-12, abs=1e9 * si.roundoff)
        assert small.removed == pytest.approx(1e9 * si.removed, rel=1e-12, abs=1e9 * si.roundoff)


@pytest.mark.parametrize("method", [pv.AVF(), pv.ExplicitEuler(), pv.ImplicitEuler(), pv.SymplecticEuler()], ids=str)
def test_verdict_ignores_the_order_of_states(method):
    plain, swapped = (
        run_of(method, until=0.3).verdict,
        run_of(method, until=0.3, model=oscillator(swapped=True)).verdict,
    )
    assert swapped.kind == plain.kind
    assert swapped.bias == pytest.approx(plain.bias, rel=1e-12, abs=plain.roundoff)
    assert swapped.removed == pytest.approx(plain.removed, rel=1e-12, abs=plain.roundoff)


def test_a_run_that_starts_at_zero_energy_and_loses_is_not_active():
    """A pendulum from the horizontal, H measured from there: H starts at 0 and falls."""
    falling = pv.System(
        ["q", "p"], "p**2/2 - cos(q)", [[0, 1], [-1, 0]], [[0, 0], [0, 0.3]], positions=["q"], name="falling"
    )  # fmt: skip
    run = pv.simulate(falling, pv.AVF(), step=0.05, until=10, start={"q": np.pi / 2})
    stored = run.ledger.stored.sel(part="total").values
    assert abs(stored[0]) < 1e-15 and stored[-1] < -0.5
    assert run.verdict.kind == "exact"
    assert (
        pv.simulate(falling, pv.ImplicitEuler(), step=0.05, until=10, start={"q": np.pi / 2}).verdict.kind == "passive"
    )


def test_midpoint_is_exact_after_1e8_steps():
    run = run_of(pv.ImplicitMidpoint(), until=1e5, record_every=10**6)
    assert run.steps == 10**8 and len(run.time) == 101
    assert run.verdict.kind == "exact"


def test_a_pendulum_that_turns_over_1e5_times_is_exact():
    run = pv.simulate(pv.library.pendulum(), pv.AVF(), step=0.1, until=320_000, start={"p": 2.5}, record_every=10**4)
    assert run["q"].values[-1] / (2 * np.pi) > 1e5
    assert run.verdict.kind == "exact"


def test_a_constant_leak_is_not_called_bounded():
    """Bounded means that the bias stopped growing, not that both halves are alike."""
    assert not run_of(pv.ExplicitEuler(), until=0.1).verdict.bounded
    growing = pv.simulate(pv.library.mass(), pv.ExplicitEuler(), step=0.1, until=100, inputs={"force": 1.0})
    assert growing.verdict.kind == "active" and not growing.verdict.bounded


def test_a_later_loss_does_not_hide_an_earlier_gain():
    """Symplectic Euler lends energy and takes it back: at whatever step a run ends, once it has lent it is active."""
    part = pv.compile(oscillator(), pv.SymplecticEuler(), STEP, start={"q": Q0}, engine="python")
    lent = False
    for _ in range(100):
        part.step([0.0])
        lent = lent or part.verdict.bias > 1e-9
        assert (part.verdict.kind == "active") == lent
    assert lent


@pytest.mark.parametrize("turn", [0.1, 2.2, 30.0, 223.0])
def test_exact_methods_stay_exact_however_large_the_step(turn):
    """With ωh large the mean gradient of a step almost vanishes while its end is steep: the roundoff has to know both.

    With the mean gradient alone (design section 4) the run at ωh = 223 was called active.
    """
    step = turn / np.sqrt(K / M)
    run = run_of(
        pv.AVF(), step=step, until=2000.5 * step, engine="python", inputs={"force": lambda t: 3 * pv.sin(50 * t)}
    )
    assert run.verdict.kind == "exact" and run.cut_steps == 0


def test_bounded_but_never_returned_is_said_so():
    verdict = pv.Verdict("active", bias=2.0, removed=0.1, bounded=True, part="mass", window=(0.0, 1.0))
    assert str(verdict) == "active: created 2 J in part mass between t = 0 and 1 s, hardly any of it in the second half"
