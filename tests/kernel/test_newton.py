"""Solving a step: stiff and strongly nonlinear equations, halving, failures that leave no trace, LU."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import passivo as pv
from passivo.kernel import newton

NO_SOLUTION = pv.Relation(lambda y, u: u**2 + 1)


def compiled(model, method=None, step=0.1, **options):
    return pv.compile(model, method or pv.AVF(), step, engine="python", **options)


@pytest.mark.parametrize("stiffness", [1e2, 1e6, 1e12])
@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.ImplicitEuler()], ids=str)
def test_stiff_steps_converge_at_once(stiffness, method):
    """A linear equation needs one correction and its confirmation, however stiff."""
    part = compiled(pv.library.oscillator(k=stiffness, b=1.0), method, start={"q": 0.2, "p": 0.1})
    first = part.stored
    for _ in range(20):
        part.step([1.0])
    assert part.iterations <= 4
    if isinstance(method, pv.ImplicitEuler):
        assert part.verdict.kind == "passive"
    else:  # q turns its sign at every step: the energy rounds at its own size
        assert max(part.verdict.bias, part.verdict.removed) <= 1e-13 * first


def test_a_driven_system_comes_to_rest():
    """Spring and force cancel to rounding, the momentum goes to 0: it has no size to converge against."""
    for method in (pv.AVF(), pv.ImplicitEuler(), pv.ClosedLoopAVF()):
        part = compiled(pv.library.duffing(alpha=1e6, beta=10.0, b=300.0), method, step=0.01, start={"q": 0.1})
        for _ in range(600):
            part.step([1.0])
        assert part.state[0] == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("step", [0.01, 0.3, 3.0])
def test_strongly_nonlinear_steps_keep_the_balance(step):
    """Large steps of a hard Duffing oscillator, a driven pendulum and a Toda chain."""
    duffing = compiled(pv.library.duffing(alpha=-1.0, beta=100.0), step=step, start={"q": 1.0, "p": 3.0})
    pendulum = compiled(pv.library.pendulum(), step=step, start={"q": 2.8, "p": 1.4})
    toda = compiled(pv.library.toda_chain(3), step=min(step, 3.0), start={"q1": 2.0, "p2": -1.5})
    for part in (duffing, pendulum, toda):
        for k in range(20):
            part.step([np.cos(k)])
        assert part.verdict.kind == "exact", part


def test_a_large_correction_is_not_taken_for_rounding():
    """Far from its solution a steep equation has terms of 1e21; small against those is not converged."""
    part = compiled(pv.library.duffing(alpha=-1.0, beta=100.0), step=30.0, start={"q": 1.0, "p": 3.0})
    for k in range(20):
        before = part.stored
        part.step([np.cos(k)])
        assert part.stored - before == pytest.approx(part.work[0], rel=1e-10, abs=1e-10)


STEEP = pv.System(["q", "p"], "p**2/2 + cosh(6*q)", [[0, 1], [-1, 0]], ports={"force": pv.effort([0, 1])})


def test_a_step_that_needs_halving_keeps_the_balance():
    """Where no solution is found the step is cut in two; time, work and loss are those of the whole step."""
    cut = 0
    for p in (1.0, 3.0, 5.0):
        part = compiled(STEEP, step=8.0, start={"p": p})
        with Stubborn(part.module, np.inf) as watched:
            for _ in range(3):
                before = part.stored
                part.step([0.1])
                assert part.stored - before == pytest.approx(part.work.sum(), abs=1e-12 * before)
        cut += min(watched.sizes) < 8.0
        assert part.time == 24.0 and part.steps == 3
        assert part.verdict.kind == "exact"
    assert cut


class Stubborn:
    """Wraps `solve` so that steps above a size fail."""

    def __init__(self, module, largest):
        self.module, self.solve, self.largest, self.sizes = module, module.solve, largest, []

    def __call__(self, m, h):
        self.sizes.append(h)
        return 1 if h > self.largest else self.solve(m, h)

    def __enter__(self):
        self.module.solve = self
        return self

    def __exit__(self, *_):
        self.module.solve = self.solve


def test_halves_make_up_the_whole_step():
    part, fine = (compiled(pv.library.duffing(b=0.2), step=h, start={"q": 1.5}) for h in (0.4, 0.1))
    with Stubborn(part.module, 0.15) as stubborn:
        part.step([0.3])
    assert stubborn.sizes == [0.4, 0.2, 0.1, 0.1, 0.1, 0.1]
    work = lost = mean = 0.0
    for _ in range(4):
        fine.step([0.3])
        work, lost, mean = work + fine.work[0], lost + fine.lost, mean + fine.mean_output[0] / 4
    assert part.state.tolist() == fine.state.tolist()
    assert [part.work[0], part.lost, part.mean_output[0]] == pytest.approx([work, lost, mean], rel=1e-14)
    assert part.steps == 1 and part.verdict.kind == "exact"


def test_a_step_is_halved_ten_times_and_no_further():
    part = compiled(pv.library.duffing(), step=1.0, start={"q": 1.5})
    with Stubborn(part.module, 0.0) as stubborn, pytest.raises(pv.ConvergenceError):
        part.step([0.0])
    assert min(stubborn.sizes) == 1.0 / 1024


def test_a_failure_after_some_halves_undoes_them():
    """The state, the ledger and the step's work are as if the step had never been tried."""
    part = compiled(pv.library.duffing(b=0.2), step=1.0, start={"q": 1.5})
    part.step([0.3])
    state, verdict, time = part.state.tolist(), part.verdict, part.time
    solve, calls = part.module.solve, []

    def sometimes(m, h):
        calls.append(h)
        return 1 if h > 0.25 or len(calls) > 5 else solve(m, h)

    part.module.solve = sometimes
    try:
        with pytest.raises(pv.ConvergenceError):
            part.step([0.3])
    finally:
        part.module.solve = solve
    assert calls.count(0.25) >= 3
    assert part.state.tolist() == state and part.verdict == verdict and part.time == time
    assert part.work.tolist() == [0.0] and part.lost == 0.0 and part.mean_output.tolist() == [0.0]


@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.ClosedLoopAVF(), pv.ImplicitEuler()], ids=str)
def test_an_equation_without_solution_is_an_error(method):
    part = compiled(pv.library.pendulum(), method, start={"q": 1.0, "p": 0.5}, laws={"torque": NO_SOLUTION})
    with pytest.raises(pv.ConvergenceError, match="no solution") as caught:
        part.step()
    error = caught.value
    assert error.time == 0.0 and error.state == {"q": 1.0, "p": 0.5} and error.residual >= 1.0
    assert part.state.tolist() == [1.0, 0.5] and part.steps == 0 and part.time == 0.0
    assert "q = 1" in str(error) and "residual" in str(error)


def test_a_run_that_fails_keeps_what_it_has():
    wall = pv.Relation(lambda y, u: u**2 - 0.5 - y)  # no real u once y < -0.5
    with pytest.raises(pv.ConvergenceError) as caught:
        pv.simulate(
            pv.library.pendulum(),
            pv.AVF(),
            step=0.05,
            until=10,
            start={"q": 1.5},
            inputs={"torque": wall},
            engine="python",
        )
    error = caught.value
    assert error.time > 0 and len(error.run["q"]) == round(error.time / 0.05) + 1
    assert error.run.verdict.kind == "none" and "no solution" in str(error.run.verdict)
    assert error.state["q"] == float(error.run["q"][-1])


@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.ImplicitEuler(), pv.ClosedLoopAVF()], ids=str)
def test_a_component_that_stays_zero_converges(method):
    """Two oscillators, one at rest: its correction is 0 of 0 (the rule has no units and no floor)."""
    model = pv.System(
        ["q", "p", "r", "s"], "q**2/2 + q**4/4 + p**2/2 + r**2/2 + r**4/4 + s**2/2",
        [[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]],
    )  # fmt: skip
    part = compiled(model, method, start={"q": 1.0})
    for _ in range(20):
        part.step()
    assert part.state[2:].tolist() == [0.0, 0.0] and part.iterations < 7
    rest = compiled(model, method)
    rest.step()
    assert rest.state.tolist() == [0.0] * 4


@pytest.mark.parametrize("power", [4, 6])
@pytest.mark.parametrize("start", [{"p0": 1.0}, {"q0": 0.1}, {"q3": 1e-40}], ids=str)
@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.ImplicitEuler()], ids=str)
def test_a_chain_that_is_slack_at_rest_passes_a_motion_on(method, start, power):
    """Springs without a linear part: each correction wakes one mass more, whose first motion has nothing to shrink
    against; the last ones move by 1e-200."""
    q = [f"q{i}" for i in range(7)]
    potential = " + ".join(f"1000*({a} - {b})**{power}/{power}" for a, b in pairwise(q))
    chain = pv.Mechanical(q, mass=np.eye(7).tolist(), potential=potential)
    part = compiled(chain, method, step=0.05, start=start)
    for k in range(30):
        before = part.state.copy()
        part.step()
        if k in (0, 1, 29) and isinstance(method, pv.ImplicitMidpoint):
            force = 1000 * np.diff((before[:7] + part.state[:7]) / 2) ** (power - 1)
            pushed = 0.05 * (np.append(force, 0) - np.insert(force, 0, 0))
            assert (part.state - before)[7:] == pytest.approx(pushed, rel=1e-9, abs=1e-12 * abs(before).max())
            still = before[7:] == 0  # here nothing is lost in the difference
            assert part.state[7:][still] == pytest.approx(pushed[still], rel=1e-9, abs=1e-300)
    assert part.cut_steps == 0 and part.iterations <= 15
    if isinstance(method, pv.AVF):
        assert part.verdict.kind == "exact"


@pytest.mark.parametrize("states", [5, 8])
def test_a_motion_that_wakes_state_after_state(states):
    """Quartic energies, each state moved by the gradients of its neighbours only."""
    x = [f"x{i}" for i in range(states)]
    J = np.eye(states, k=1) - np.eye(states, k=-1)
    part = compiled(pv.System(x, " + ".join(f"{s}**4" for s in x), J.tolist()), start={"x0": 1.0})
    for _ in range(50):
        part.step()
    assert part.verdict.kind == "exact" and part.cut_steps == 0 and part.iterations <= 15
    alone = compiled(part.model, start={"x0": 1.0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone.module, "chord", lambda m, h: False)  # damped steps wake them too
        for _ in range(50):
            alone.step()
    assert alone.cut_steps == 0 and alone.state == pytest.approx(part.state, rel=1e-9)


def test_a_free_direction_that_cancels_to_zero():
    """Forces of equal springs cancel: rounding of the terms decides, not the size of the state."""
    model = pv.System(
        ["q", "p"], "p**2/2 + cosh(q - 1) + cosh(q + 1) + q**4", [[0, 1], [-1, 0]],
    )  # fmt: skip
    part = compiled(model, start={"q": 0.0})
    for _ in range(50):
        part.step()
    assert np.abs(part.state).max() < 1e-15 and part.verdict.kind == "exact"


@pytest.mark.parametrize("amplitude", [1e-9, 1e-100, 1e-200])
def test_a_pendulum_near_rest_balances_in_few_iterations(amplitude):
    part = compiled(pv.library.pendulum(), step=0.1, start={"q": amplitude})
    for _ in range(300):
        part.step([0.0])
    assert part.iterations <= 3.0
    assert part.verdict.kind == "exact"
    q, p = part.state / amplitude
    assert (q**2 + p**2) == pytest.approx(1.0, rel=1e-12)  # not part.stored: 1 − cos q is 0 in double precision


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_stopping_does_not_depend_on_units(scale):
    """The same Duffing oscillator in other units takes the same iterations to the same relative state."""
    part = compiled(pv.library.duffing(beta=1 / scale**2), step=0.5, start={"q": scale, "p": 0.5 * scale})
    plain = compiled(pv.library.duffing(), step=0.5, start={"q": 1.0, "p": 0.5})
    for _ in range(20):
        part.step([0.0])
        plain.step([0.0])
    assert part.iterations == pytest.approx(plain.iterations, abs=0.3)
    assert (part.state / scale).tolist() == pytest.approx(plain.state.tolist(), rel=1e-12)


def kernels(k):
    """`factor` and `correct` for k unknowns, on a memory of their own."""
    scope = {"UNKNOWNS": k, "MATRIX": 0, "PIVOT": k * k, "RESIDUAL": k * k + k, "CORRECTION": k * k + 2 * k}
    return scope, {**vars(newton), **scope}


def bound(function, names):
    return type(function)(function.__code__, names)


@given(st.integers(1, 12), st.integers(0, 2**20))
def test_lu_with_pivoting(k, seed):
    """Against numpy, with rows of very different size and zeros on the diagonal."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k, k)) * 10.0 ** rng.uniform(-6, 6, (k, 1))
    np.fill_diagonal(A, A.diagonal() * rng.integers(0, 2, k))
    if k == 1:
        A[0, 0] = rng.standard_normal()
    if np.linalg.cond(A / np.abs(A).max(axis=1, keepdims=True)) > 1e6:
        return
    b = A @ rng.standard_normal(k)
    at, names = kernels(k)
    m = np.zeros(k * k + 3 * k)
    m[: k * k] = A.ravel()
    m[at["RESIDUAL"] : at["RESIDUAL"] + k] = b
    assert bound(newton.factor, names)(m)
    bound(newton.correct, names)(m)
    x = m[at["CORRECTION"] :]
    assert np.abs(A @ x - b).max() <= 1e-11 * (np.abs(A) @ np.abs(x) + np.abs(b)).max()
    assert x == pytest.approx(np.linalg.solve(A, b), rel=1e-6, abs=1e-6 * np.abs(x).max())


@pytest.mark.parametrize(
    "matrix", [[[0.0]], [[1.0, 2.0], [2.0, 4.0]], [[np.nan, 1.0], [1.0, np.nan]], np.zeros((3, 3))]
)
def test_singular_matrices_are_found(matrix):
    A = np.array(matrix)
    k = len(A)
    _, names = kernels(k)
    m = np.zeros(k * k + 3 * k)
    m[: k * k] = A.ravel()
    assert not bound(newton.factor, names)(m)


def test_an_infinitely_steep_law_is_never_accepted_unsolved():
    """u = −2 cbrt(y) has an infinite slope at y = 0, where the Euler predictor lands: no correction, no solution."""
    law = pv.Feedback(lambda y: -2 * pv.cbrt(y))
    part = pv.compile(pv.library.mass(), pv.AVF(), 1.0, start={"p": 1.0}, laws={"force": law}, engine="python")
    part.step([0.0])
    assert part.cut_steps == 0  # a cut step would hold the law in each half only
    assert part.memory[part.module.USED] == pytest.approx(-2 * np.cbrt(part.mean_output[0]), rel=1e-12)
    assert part.state[0] == pytest.approx(1 - 2 * np.cbrt(part.mean_output[0]), rel=1e-12)


@pytest.mark.parametrize("power", [1.5, 2.0, 2.2, 2.5])
@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.RK4()], ids=str)
def test_contact_laws_close_and_open(method, power):
    """Hertz contact k Max(q, 0)^a: touched, left, and away from it."""
    hertz = pv.System(["q", "p"], f"50*Max(q, 0)**{power} + p**2/2", [[0, 1], [-1, 0]], name="hertz")
    run = pv.simulate(hertz, method, step=1e-2, until=2.0, start={"q": -0.1, "p": 0.5}, engine="python")
    q = run["q"].values
    assert q.max() > 0.01 and q[-1] < -0.1 and np.isfinite(run.arrays["ledger"]).all()
    if isinstance(method, pv.AVF):
        assert run.verdict.kind == "exact" and run["p"].values[-1] == pytest.approx(-0.5, rel=1e-12)


@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.RK4()], ids=str)
def test_kinks_can_be_stepped(method):
    friction = pv.Feedback(lambda y: -0.1 * pv.sign(y))
    run = pv.simulate(
        pv.library.oscillator(k=1.0, m=1.0), method, step=0.01, until=0.5, start={"p": 1.0}, inputs={"force": friction},
        engine="python",
    )  # fmt: skip
    assert float(run.work["force"][-1]) < -0.03
    valley = pv.System(["q", "p"], "10*Abs(q) + p**2/2", [[0, 1], [-1, 0]])
    assert pv.simulate(valley, method, step=0.01, until=0.05, start={"q": 1.0}, engine="python").steps == 5
