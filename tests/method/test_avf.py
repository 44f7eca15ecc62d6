"""The identities of spec 2.9 for AVF, over random passive systems, in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad_vec
from scipy.optimize import fsolve

import passivo as pv
from identities import certificate_gap, compiled, energy, matrices, mean_gradient, numerical_gradient
from passivo.kernel.slopes import gauss
from strategies import build, cases


@given(cases(), st.sampled_from([1.0, 1e-3, 1e-7, 1e-12]))
def test_mean_gradient_is_a_discrete_gradient(case, size):
    part = compiled(case)
    X = case.x + size * case.rng.uniform(-1, 1, len(case.x))
    g, back = mean_gradient(part, case.x, X), mean_gradient(part, X, case.x)
    change = energy(case, X) - energy(case, case.x)
    scale = 1 + abs(energy(case, case.x))
    assert abs(g @ (X - case.x).astype(np.longdouble) - change) <= 5e-15 * scale
    assert np.abs(g - back).max() <= 5e-15 * scale
    assert np.abs(mean_gradient(part, case.x, case.x) - numerical_gradient(case, case.x)).max() < 1e-8


@given(cases(largest=4))
@settings(max_examples=15)
def test_mean_gradient_is_the_average(case):
    part = compiled(case)
    X = case.x + case.rng.uniform(-1, 1, len(case.x))
    nodes, weights = gauss(24)
    average = sum(w * numerical_gradient(case, case.x + t * (X - case.x)) for t, w in zip(nodes, weights))
    assert np.abs(mean_gradient(part, case.x, X) - average).max() < 1e-8


@given(cases())
def test_balance_of_a_step(case):
    part = compiled(case)
    before = energy(case, part.state)
    part.step(case.u)
    change = energy(case, part.state) - before
    assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
    assert part.lost >= 0
    assert part.verdict.kind == "exact"


@given(cases(largest=5))
@settings(max_examples=4)
def test_balance_over_a_thousand_steps(case):
    part = compiled(case)
    before, total = energy(case, part.state), np.longdouble(0)
    for k in range(1000):
        part.step(case.u * np.sin(0.1 * k), dt=case.h * (1 + 0.5 * np.cos(k)))
        total += part.work.sum() - part.lost
    assert abs(energy(case, part.state) - before - total) <= 1e-12 * (1 + abs(before))
    assert part.verdict.kind == "exact"


@given(cases())
def test_certificate_holds_for_any_increment(case):
    assert certificate_gap(compiled(case), case) <= 1e-14 * (1 + abs(float(energy(case, case.x))))


@given(cases())
def test_step_solves_its_equation(case):
    part = compiled(case)
    part.step(case.u)
    X = part.state.copy()
    J, R, G = matrices(case, (case.x + X) / 2)
    F = X - case.x - case.h * ((J - R) @ mean_gradient(part, case.x, X) + G @ case.u)
    assert np.abs(F).max() <= 1e-14 * (1 + np.abs(case.x).max() + np.abs(X).max())
    assert np.allclose(part.mean_output, G.T @ mean_gradient(part, case.x, X), atol=1e-13)


@given(cases(largest=4))
def test_damping_feedback_never_adds_energy(case):
    if not case.system.ports:
        return
    name = next(iter(case.system.ports))
    width = case.system.ports[name].width
    law = pv.Feedback(lambda y: -pv.atan(3 * y) if width == 1 else [-pv.atan(3 * v) for v in y])
    part = compiled(case, laws={name: law})
    for _ in range(5):
        before = energy(case, part.state)
        part.step(np.zeros(case.system.width))
        assert energy(case, part.state) - before <= 1e-13 * (1 + abs(before))


@given(cases(quadratic=True, largest=5))
@settings(max_examples=15)
def test_quadratic_energy_gives_implicit_midpoint(case):
    average, middle = compiled(case), compiled(case, pv.ImplicitMidpoint())
    average.step(case.u)
    middle.step(case.u)
    assert np.abs(average.state - middle.state).max() <= 1e-14 * (1 + np.abs(middle.state).max())
    assert middle.verdict.kind == "exact"


@pytest.mark.parametrize("seed", range(6))
def test_against_an_independent_solver(seed):
    """The AVF equation solved by SciPy with adaptive quadrature of numerical gradients."""
    case = build(seed, 3)
    part = compiled(case)
    part.step(case.u)

    def equation(d):
        g = quad_vec(lambda t: numerical_gradient(case, case.x + t * d), 0, 1, epsabs=1e-12)[0]
        J, R, G = matrices(case, case.x + d / 2)
        return d - case.h * ((J - R) @ g + G @ case.u)

    d = fsolve(equation, part.state - case.x + 1e-3, xtol=1e-12)
    assert np.abs(part.state - case.x - d).max() < 1e-8
