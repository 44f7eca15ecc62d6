"""The identities of spec 2.9 for Gonzalez and Itoh–Abe over random passive systems, and compositions (spec 2.3)."""

from functools import cache

import numpy as np
import pytest

import passivo as pv
from identities import certificate_gap, compiled, energy, matrices, mean_gradient, numerical_gradient
from passivo.model.expression import evaluate
from strategies import build

METHODS = [pv.Gonzalez(), pv.ItohAbe(), pv.SymmetrisedItohAbe()]
SYMMETRIC = [pv.Gonzalez(), pv.SymmetrisedItohAbe()]
ALL = [pv.AVF(), *METHODS]
name_of = lambda method: type(method).__name__  # noqa: E731
every_size = pytest.mark.parametrize("n", range(1, 9))
every_method = pytest.mark.parametrize("method", METHODS, ids=name_of)


def some(n, count=10, quadratic=False):
    """A random system of n states with that many states, inputs and steps."""
    return [build(n % 6, n, quadratic, run) for run in range(count)]


@every_size
@every_method
def test_mean_gradient_is_a_discrete_gradient(method, n):
    for case in some(n):
        part, scale = compiled(case, method), 1 + abs(energy(case, case.x))
        for size in (1.0, 1e-3, 1e-7, 1e-12):
            X = case.x + size * case.rng.uniform(-1, 1, n)
            g = mean_gradient(part, case.x, X)
            change = energy(case, X) - energy(case, case.x)
            assert abs(g @ (X - case.x).astype(np.longdouble) - change) <= 5e-15 * scale
            if method in SYMMETRIC:
                assert np.abs(g - mean_gradient(part, X, case.x)).max() <= 5e-15 * scale
        assert np.abs(mean_gradient(part, case.x, case.x) - numerical_gradient(case, case.x)).max() < 1e-8


def test_itoh_and_abe_depends_on_the_direction():
    case = some(4)[0]
    part = compiled(case, pv.ItohAbe())
    assert np.abs(mean_gradient(part, case.x, case.x + 0.3) - mean_gradient(part, case.x + 0.3, case.x)).max() > 1e-3


@every_size
@every_method
def test_certificate_holds_for_any_increment(method, n):
    for case in some(n):
        assert certificate_gap(compiled(case, method), case) <= 1e-14 * (1 + abs(float(energy(case, case.x))))


@every_size
@every_method
def test_balance_of_a_step_that_solves_its_equation(method, n):
    for case in some(n):
        part = compiled(case, method)
        before = energy(case, part.state)
        part.step(case.u)
        change = energy(case, part.state) - before
        assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
        assert part.lost >= 0 and part.verdict.kind == "exact"
        X = part.state.copy()
        J, R, G = matrices(case, (case.x + X) / 2)
        g = mean_gradient(part, case.x, X)
        F = X - case.x - case.h * ((J - R) @ g + G @ case.u)
        assert np.abs(F).max() <= 1e-14 * (1 + np.abs(case.x).max() + np.abs(X).max())
        assert np.allclose(part.mean_output, G.T @ g, atol=1e-13)


@pytest.mark.parametrize("n", [2, 5])
@every_method
def test_balance_over_a_thousand_steps(method, n):
    case = some(n, 1)[0]
    part = compiled(case, method)
    before, total = energy(case, part.state), np.longdouble(0)
    for k in range(1000):
        part.step(case.u * np.sin(0.1 * k), dt=case.h * (1 + 0.5 * np.cos(k)))
        total += part.work.sum() - part.lost
    assert abs(energy(case, part.state) - before - total) <= 1e-12 * (1 + abs(before))
    assert part.verdict.kind == "exact" and part.iterations <= 6


@pytest.mark.parametrize("n", [1, 3, 6])
def test_quadratic_energy_gives_implicit_midpoint(n):
    for case in some(n, 5, quadratic=True):
        parts = [compiled(case, method) for method in (pv.ImplicitMidpoint(), pv.AVF(), *SYMMETRIC)]
        for part in parts:
            part.step(case.u)
        for part in parts[1:]:
            assert np.abs(part.state - parts[0].state).max() <= 1e-14 * (1 + np.abs(parts[0].state).max())


@every_method
def test_a_state_in_an_exponent(method):
    """Along one coordinate the other ones are constants, also where a power hides them."""
    model = pv.System(["x", "y"], "(2 + cos(x))**sin(y) + x**2 + y**2", [[0, 1], [-1, 0]])
    part = pv.compile(model, method, 0.3, start={"x": 1.0}, engine="python")
    for _ in range(30):
        part.step()
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize(("method", "order"), [*zip(METHODS, (2, 1, 2))], ids=[*map(name_of, METHODS)])
def test_orders_on_the_microphone(method, order):
    """Its energy couples q and Q: there Itoh and Abe's gradient is of order 1."""
    start = {"q": 2.0, "p": 1.0, "Q": 1.5}

    def end(method, steps):
        part = pv.compile(pv.library.microphone(), method, 2 / steps, start=start, engine="python")
        for _ in range(steps):
            part.step([0.3])
        return part.state.copy()

    exact = end(pv.RK4(), 800)
    errors = [np.linalg.norm(end(method, steps) - exact) for steps in (80, 160, 320)]
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.1)


# -- small increments (spec 2.2) ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*ALL, pv.Collocation(2), pv.Collocation(3)], ids=str)
def test_a_pendulum_next_to_rest(method):
    """1e-9 rad, 10^5 steps of machine code: the balance is roundoff, and Newton takes no more iterations than usual."""
    run = pv.simulate(
        pv.library.pendulum(), method, step=0.1, until=1e4, start={"q": 1e-9}, record_every=100_000
    )  # fmt: skip
    assert run.verdict.kind == "exact" and run.steps == 100_000
    assert run.iterations <= 4
    assert max(run.verdict.bias, run.verdict.removed) <= 1e-12 * 0.5e-18  # of what it has; observed 5e-14
    assert run["q"].values[-1] ** 2 + run["p"].values[-1] ** 2 == pytest.approx(1e-18, rel=1e-12)


@every_method
@pytest.mark.parametrize("size", [1e-50, 1e-80, 1e-140, 1e-155, 1e-200, 0.0])
def test_increments_of_any_size(method, size):
    """|d|² underflows, and so does what it is divided by."""
    part = pv.compile(pv.library.pendulum(), method, 0.1, start={"q": size}, engine="python")
    for _ in range(20):
        part.step()
    assert part.iterations <= 4 and part.cut_steps == 0 and part.verdict.kind == "exact"
    assert abs(part.state[0]) <= 1.01 * size


@every_method
def test_coming_to_rest_under_a_load(method):
    """The force of the spring is large and the increments vanish: differences of slopes are mere rounding there."""
    energy = "p**2/2 + sqrt(1 + q**2) + cosh(0.3*q) + log(2 + q**2)"
    model = pv.System(["q", "p"], energy, [[0, 1], [-1, 0]], [[0, 0], [0, 1]], ports={"force": pv.effort([0, 1])})
    part = pv.compile(model, method, 0.1, start={"q": 0.5}, engine="python")
    for _ in range(1500):
        part.step([0.7])
    assert abs(part.output[0]) < 1e-14 and part.iterations <= 4 and part.cut_steps == 0
    assert part.verdict.kind == "exact"


# -- compositions (spec 2.3) -------------------------------------------------------------------------------------------


@cache
def sides():
    """Two systems whose matrices depend on their states, to be joined at ports two wide."""
    first = pv.System(
        ["a", "b", "c"], "a**4/4 + b**2 + c**2/2 + a*b*c/4 + cos(a - c)",
        [[0, "1 + c", 0], ["-1 - c", 0, 1], [0, -1, 0]],
        ports={"end": pv.effort([[1, 0], ["a/2", 1], [0, "cos(b)"]])},
    )  # fmt: skip
    second = pv.System(
        ["q", "p"], "p**2*(1 + q**2)/2 + q**2/2 + cosh(q)", [[0, 1], [-1, 0]],
        ports={"end": pv.flow([["1", "q/3"], [0, "1/2"]])},
    )  # fmt: skip
    return first, second, pv.Monolithic({"one": first, "two": second}, [("one.end", "two.end")])


START = {"one.a": 0.7, "one.b": -0.4, "one.c": 0.5, "two.q": 0.6, "two.p": -0.8}


def joint(method, step=0.05):
    return pv.compile(sides()[2], method, step, start=START, engine="python")


def matrix(rows, states, x):
    return np.array([[float(evaluate(text, dict(zip(states, x)))) for text in row] for row in rows])


@pytest.mark.parametrize("method", ALL, ids=name_of)
def test_monolithic_is_the_converged_exchange(method):
    """Both sides stepped by themselves, efforts and flows exchanged until they no longer change."""
    whole = joint(method)
    parts = [
        pv.compile(model, method, 0.05, start=dict(zip(model.states, list(START.values())[at:])), engine="python")
        for model, at in zip(sides(), (0, 3))
    ]
    for _ in range(5):
        whole.step()
        effort, change = np.zeros(2), 1.0
        for _ in range(100):
            one, two = (part.copy() for part in parts)
            one.step(effort)
            two.step(one.mean_output)
            change, effort = np.abs(effort + two.mean_output).max(), -two.mean_output.copy()
            if change < 1e-16:
                break
        assert change < 1e-15
        parts = [one, two]
        both = np.concatenate([one.state, two.state])
        assert np.abs(both - whole.state).max() <= 1e-14 * (1 + np.abs(both).max())
        assert one.verdict.kind == two.verdict.kind == whole.verdict.kind == "exact"


@pytest.mark.parametrize("method", ALL, ids=name_of)
def test_increments_and_mean_gradients_are_in_the_dirac_structure(method):
    """(Δx/h, ḡ) = (C ḡ, ḡ) with `C = [[B, −G Gc'], [Gc G', Bc]]` skew at the midpoints, built from the two sides."""
    h, part = 0.05, joint(method)
    for _ in range(5):
        x = part.state.copy()
        part.step()
        X = part.state.copy()
        m, blocks = (x + X) / 2, []
        for model, at in zip(sides(), (slice(0, 3), slice(3, 5))):
            blocks.append([matrix(rows, model.states, m[at]) for rows in (model.structure, model.ports["end"].matrix)])
        (B, G), (Bc, Gc) = blocks
        C = np.block([[B, -G @ Gc.T], [Gc @ G.T, Bc]])
        e, f = mean_gradient(part, x, X), (X - x) / h
        assert np.abs(C + C.T).max() == 0 and np.abs(f - C @ e).max() <= 1e-14 / h
        assert abs(e @ f) <= 1e-14 / h
        for other in np.eye(5):  # <e, f'> + <e', f> = 0 for all of the structure, which has 5 dimensions
            assert abs(e @ C @ other + other @ f) <= 1e-14 / h


def test_each_part_has_a_correction_of_its_own():
    """One α for all would let the sides change each other's gradients; a row per part keeps them apart."""
    energies = ["a**4/4 + b**2/2", "c**4/4 + d**2/2 + cos(c)"]
    alone = [pv.System(s, e, [[0, 1], [-1, 0]]) for s, e in zip((["a", "b"], ["c", "d"]), energies)]
    J = [[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]]
    apart = pv.Monolithic({"one": alone[0], "two": alone[1]})
    fused = pv.System(["a", "b", "c", "d"], " + ".join(energies), J)
    ends = []
    for model, names in ((apart, ("one.a", "two.c")), (fused, ("a", "c"))):
        part = pv.compile(model, pv.Gonzalez(), 0.3, start=dict(zip(names, (1.0, -0.8))), engine="python")
        for _ in range(20):
            part.step()
        ends.append(part.state.copy())
        assert part.verdict.kind == "exact"
    single = pv.compile(alone[0], pv.Gonzalez(), 0.3, start={"a": 1.0}, engine="python")
    for _ in range(20):
        single.step()
    assert np.abs(ends[0][:2] - single.state).max() < 1e-13 and np.abs(ends[1][:2] - single.state).max() > 1e-4


@every_method
def test_states_without_energy_do_not_count(method):
    """The position of a free particle: however far it moves, the correction of the others is the same."""
    model = pv.System(["x", "p", "r"], "sqrt(1 + p**2) + cosh(r) + p*r**2/4", [[0, 1, 0], [-1, 0, 1], [0, -1, 0]])
    same = pv.System(["p", "r"], "sqrt(1 + p**2) + cosh(r) + p*r**2/4", [[0, 1], [-1, 0]])
    parts = [pv.compile(m, method, 0.3, start={"p": 2.0, "r": 0.5}, engine="python") for m in (model, same)]
    for _ in range(20):
        for part in parts:
            part.step()
    assert np.abs(parts[0].state[1:] - parts[1].state).max() < 1e-13
