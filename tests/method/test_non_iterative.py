"""Kahan and SAV: one linear solve per step, each against its own formula; what they keep, create and refuse."""

import numpy as np
import pytest
import sympy as sp

import passivo as pv
from strategies import linear

BOTH = [pv.Kahan(), pv.SAV()]
name_of = lambda method: type(method).__name__  # noqa: E731
CANONICAL = [[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]]
HENON = pv.System(
    ["q1", "q2", "p1", "p2"], "(p1**2 + p2**2 + q1**2 + q2**2)/2 + q1**2*q2 - q2**3/3", CANONICAL,
    [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, "b", 0], [0, 0, 0, 0]], ports={"push": pv.effort([0, 0, 1, "1/2"])},
    params={"b": 0.0}, minimum=dict.fromkeys(["q1", "q2", "p1", "p2"], 0.0), name="henon",
)  # fmt: skip
START = {"q1": 0.2, "q2": -0.1, "p2": 0.3}


def part_of(model, method, h=0.1, start=START, **options):
    return pv.compile(model, method, h, start=start, engine="python", **options)


def functions(model):
    """Energy, gradient and Hessian as functions of the states."""
    form = model.form
    values = dict(zip(form.params, model.params.values()))
    H = form.energy.subs(values)
    gradient = [sp.diff(H, x) for x in form.states]
    make = lambda f: sp.lambdify([form.states], f, "numpy")  # noqa: E731
    return (
        make(H),
        make(gradient),
        make(sp.hessian(H, form.states)),
        np.array((form.structure - form.loss).subs(values), dtype=float),
    )


def test_kahan_is_the_polarised_field():
    """`X − x = h (2 f(m) − f(x)/2 − f(X)/2)`, with its loss and a held input; one factorisation, no iteration."""
    model = HENON.with_params(b=0.3)
    _, gradient, _, B = functions(model)
    part, G = part_of(model, pv.Kahan()), np.array([0, 0, 1, 0.5])
    for _ in range(20):
        x = part.state.copy()
        part.step([0.4])
        X = part.state.copy()
        f = lambda z: B @ gradient(z) + 0.4 * G  # noqa: E731
        assert np.abs(X - x - 0.1 * (2 * f((x + X) / 2) - f(x) / 2 - f(X) / 2)).max() < 1e-15
        g = 2 * np.array(gradient((x + X) / 2)) - np.array(gradient(x)) / 2 - np.array(gradient(X)) / 2
        assert part.lost == pytest.approx(0.1 * 0.3 * g[2] ** 2, rel=1e-12)
        assert part.work[0] == pytest.approx(0.1 * 0.4 * G @ g, rel=1e-12)
    assert part.iterations == 1


def test_kahan_keeps_another_energy():
    """`H + h/3 ∇H'(1 − h/2 f')⁻¹ f` of a closed lossless system; H itself swings, and is booked."""
    energy, gradient, hessian, B = functions(HENON)
    part, h = part_of(HENON, pv.Kahan(), 0.2), 0.2

    def kept(x):
        g = np.array(gradient(x))
        return energy(x) + h / 3 * g @ np.linalg.solve(np.eye(4) - h / 2 * B @ np.array(hessian(x)), B @ g)

    first, true = kept(part.state), energy(part.state)
    values = []
    for _ in range(500):
        part.step()
        values.append((kept(part.state) - first, energy(part.state) - true))
    assert np.abs(np.array(values)[:, 0]).max() < 1e-14 < 1e-4 < np.abs(np.array(values)[:, 1]).max()
    assert part.verdict.kind == "active"
    created = part.verdict.bias
    assert created == pytest.approx(np.ptp(np.array(values)[:, 1]), rel=0.5)


REMEMBERS = pv.Rendering({"end": pv.flow()}, {"end": "z"}, memory={"z": "end - z**3"}, name="remembers")
PENDULUM = pv.library.pendulum(b=0.2)


def test_sav_balances_the_energy_with_its_variable():
    """Δ(Q + r²) = work − lost to roundoff with inputs, loss and R of another form; H itself is created and booked."""
    model = pv.System(
        ["q", "p"], "p**2/2 + q**2/4 + 1 - cos(q) + q**4/8", [[0, 1], [-1, 0]], [[0, 0], [0, "(1 + q**2)/5"]],
        ports={"force": pv.effort([0, "1 + q/3"])}, minimum={"q": 0.0, "p": 0.0},
    )  # fmt: skip
    part = part_of(model, pv.SAV(shift=0.5), 0.2, {"q": 1.2, "p": 0.4})
    root = part._section("ROOT", 1)
    bent = lambda q: 1 - np.cos(q) + q**4 / 8  # noqa: E731
    assert root[0] == pytest.approx(np.sqrt(bent(1.2) + 0.5), rel=1e-15)
    modified = lambda: part.state[1] ** 2 / 2 + part.state[0] ** 2 / 4 + root[0] ** 2  # noqa: E731
    created = 0.0
    for k in range(300):
        before, stored = modified(), part.stored
        part.step([np.sin(0.3 * k)])
        assert abs(modified() - before - part.work[0] + part.lost) < 2e-15 * (1 + before) and part.lost >= 0
        created += part.stored - stored - part.work[0] + part.lost
    assert part.iterations <= 1 and part.verdict.kind == "active"
    row = part.verdict
    assert abs(created) <= max(row.bias, row.removed) + 1e-12 and max(row.bias, row.removed) > 1e-5


def test_sav_by_hand():
    """One step of a pendulum from its formulas."""
    h, x = 0.3, np.array([1.0, 0.5])
    part = part_of(PENDULUM, pv.SAV(), h, {"q": 1.0, "p": 0.5})
    part.step([0.4])
    z = x + h / 2 * np.array([x[1], -np.sin(x[0]) - 0.2 * x[1] + 0.4])
    b = np.sin(z[0]) / np.sqrt(2 - np.cos(z[0]))
    r = np.sqrt(2 - np.cos(x[0]))
    # d = h (p + d_p/2,  −(r + b d_q/4) b − 0.2 (p + d_p/2) + 0.4)
    A = np.array([[1, -h / 2], [h * b * b / 4, 1 + 0.1 * h]])
    d = np.linalg.solve(A, h * np.array([x[1], -r * b - 0.2 * x[1] + 0.4]))
    assert part.state == pytest.approx(x + d, rel=1e-14)
    assert part._section("ROOT", 1)[0] == pytest.approx(r + b * d[0] / 2, rel=1e-14)


@pytest.mark.parametrize("method", BOTH, ids=name_of)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_quadratic_energies_are_kept(method, n):
    model = linear(1, n)[0]
    parts = [pv.compile(model, way, 0.2, start={"x0": 0.7}, engine="python") for way in (method, pv.ImplicitMidpoint())]
    for k in range(50):
        for part in parts:
            part.step([np.sin(k), 0.3])
        assert np.abs(parts[0].state - parts[1].state).max() < 1e-14 * (1 + np.abs(parts[1].state).max()) * (k + 2)
    assert parts[0].verdict.kind == "exact" and parts[0].iterations <= 1


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_order_two(method):
    def end(way, steps):
        part = part_of(HENON.with_params(b=0.2), way, 3 / steps)
        for _ in range(steps):
            part.step([0.1])
        return part.state.copy()

    exact = end(pv.RK4(), 600)
    errors = [np.linalg.norm(end(method, steps) - exact) for steps in (60, 120, 240)]
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_compositions_and_linear_feedback(method):
    """A row for each part, u = −0.4 y solved with the step; the mean output and the input are one pair."""
    law = {"one.push": pv.Feedback(lambda y: -0.4 * y)}
    pair = pv.Monolithic({"one": HENON, "two": HENON})
    part = part_of(pair, method, start={"one.q1": 0.2, "one.p2": 0.3, "two.q1": 0.1}, laws=law)
    alone = part_of(HENON, method, start={"q1": 0.1})
    for _ in range(50):
        part.step()
        alone.step()
        assert part.work[0] == pytest.approx(-0.4 * 0.1 * part.mean_output[0] ** 2, rel=1e-12, abs=1e-30)
        assert part.state[4:] == pytest.approx(alone.state, rel=1e-13, abs=1e-15)
    assert part.iterations == 1


def test_sav_starts_anew_where_it_is_placed():
    """r stands for the state it was set to; a step that fails leaves it as it was."""
    part = part_of(PENDULUM, pv.SAV(), 0.1, {"q": 1.0})
    root = part._section("ROOT", 1)
    for _ in range(10):
        part.step()
    part.place({"q": 0.5, "p": 0.0})
    assert root[0] == pytest.approx(np.sqrt(2 - np.cos(0.5)), rel=1e-15)
    part.set(g=4.0)
    assert root[0] == pytest.approx(np.sqrt(1 + 4 * (1 - np.cos(0.5))), rel=1e-15)
    kept = root[0]
    with pytest.raises(pv.NonFiniteError):
        part.step([np.nan])
    assert root[0] == kept


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_machine_code_takes_the_same_steps(method):
    parts = [pv.compile(HENON, method, 0.1, start=START, engine=engine) for engine in ("python", "numba")]
    for _ in range(20):
        for part in parts:
            part.step([0.1])
    assert np.abs(parts[0].state - parts[1].state).max() < 1e-14 and parts[1].iterations == 1


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_runs_can_be_audited(method):
    run = pv.simulate(
        HENON, method, step=0.1, until=5.0, start=START, inputs={"push": lambda t: 0.1 * pv.sin(t)}, engine="python"
    )
    assert pv.audit(run).ok, pv.audit(run)


@pytest.mark.parametrize(
    ("model", "method", "words"),
    [
        (PENDULUM, pv.Kahan(), "polynomial of degree 3"),
        (pv.library.duffing(), pv.Kahan(), "polynomial of degree 3"),
        (pv.System(["q", "p"], "q**2 + p**2", [[0, "1 + q"], ["-1 - q", 0]]), pv.Kahan(), "structure depends on 'q'"),
        (pv.library.kepler(), pv.SAV(), "minimum"),
        (PENDULUM, pv.SAV(shift=0.0), "shift"),
        (PENDULUM, pv.SAV(shift="much"), "shift"),
        (REMEMBERS, pv.Kahan(), "nothing is known"),
        (REMEMBERS, pv.SAV(), "nothing is known"),
    ],
    ids=str,
)
def test_what_does_not_apply_is_refused(model, method, words):
    with pytest.raises(pv.MethodError, match=words):
        pv.compile(model, method, 0.1, engine="python")


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_laws_that_would_need_an_iteration_are_refused(method):
    for law, words in (
        (pv.Feedback(lambda y: -pv.atan(y)), "not linear"),
        (pv.Relation(lambda y, u: y + u), "Relation"),
    ):
        with pytest.raises(pv.MethodError, match=words):
            part_of(HENON, method, laws={"push": law})


def test_sav_says_where_it_cannot_step():
    """E falls below −shift: beyond the saddle of this energy."""
    part = part_of(HENON, pv.SAV(shift=1e-3), start={"q2": 1.5})
    with pytest.raises(pv.DomainError, match=r"E \+ shift is positive"):
        part.step()
