"""Passive midpoint on systems of formulas (spec 4.1): the balance, four integrators compared, other potentials."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import passivo as pv
from passivo.errors import MethodError


def random_linear(seed, n=3):
    rng = np.random.default_rng(seed)
    square = lambda: rng.standard_normal((n, n))  # noqa: E731
    A, B, C = square(), square(), square()
    M, K, D = A @ A.T + 0.5 * np.eye(n), 50 * B @ B.T, 0.3 * C @ C.T
    ports = {"f": pv.effort(np.eye(n))}
    return (M, K, D), pv.Linear(M, K, D, ports=ports)


@pytest.mark.parametrize("seed", range(5))
def test_one_step_is_the_linear_system_of_the_spec(seed):
    """(2M/T + B + (T/2) K) v̂ = 2Mv/T − Kx + f; x⁺ = x + T v̂; v⁺ = 2v̂ − v; ΔH = T f·v̂ − T v̂'B v̂ to 1e-11."""
    (M, K, B), model = random_linear(seed)
    rng = np.random.default_rng(100 + seed)
    n = len(M)
    x, v = rng.standard_normal(n), rng.standard_normal(n)
    start = dict(zip(model.states, (*x, *(M @ v))))
    part = pv.compile(model, pv.PassiveMidpoint(), 1e-2, start=start, engine="python")
    for _ in range(10):
        T, f = float(rng.uniform(1e-3, 0.2)), rng.standard_normal(n)
        before = part.stored
        mean = np.linalg.solve(2 * M / T + B + T / 2 * K, 2 * M @ v / T - K @ x + f)
        x, v = x + T * mean, 2 * mean - v
        part.step(f, dt=T)
        assert np.allclose(part.state[:n], x, rtol=1e-9, atol=1e-11)
        assert np.allclose(np.linalg.solve(M, part.state[n:]), v, rtol=1e-9, atol=1e-10)
        balance = part.stored - before - T * f @ mean + T * mean @ B @ mean
        assert abs(balance) < 1e-11 * (part.stored + before)
        assert part.lost == pytest.approx(T * mean @ B @ mean, rel=1e-9)
        assert part.work.sum() == pytest.approx(T * f @ mean, rel=1e-9, abs=1e-14)
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize("seed", range(3))
def test_what_four_integrators_do_to_the_energy_of_a_mass_on_a_spring(seed):
    """ΔH of explicit Euler T f v + m dv²/2 + k dx²/2; implicit T f v⁺ − m dv²/2 − k dx²/2; symplectic
    T f v⁺ − m dv²/2 + k dx²/2; passive midpoint T f v̂ (the paper's section 2.3)."""
    rng = np.random.default_rng(seed)
    m, k, T = 0.7, 30.0, 0.05
    model = pv.Linear([[m]], [[k]], ports={"f": pv.effort([1])})
    signs = {pv.ExplicitEuler(): (1, 1), pv.ImplicitEuler(): (-1, -1), pv.SymplecticEuler(): (-1, 1)}
    for method in (*signs, pv.PassiveMidpoint()):
        part = pv.compile(model, method, T, start={"x1": 0.3, "p1": 0.2}, engine="python")
        for _ in range(8):
            f = float(rng.standard_normal())
            (x, p), before = part.state.copy(), part.stored
            part.step(f)
            dx, dv = part.state[0] - x, (part.state[1] - p) / m
            old, new = p / m, part.state[1] / m
            speed = {(1, 1): old, (-1, -1): new, (-1, 1): new, None: (old + new) / 2}[signs.get(method)]
            a, b = signs.get(method, (0, 0))
            expected = T * f * speed + a * m * dv**2 / 2 + b * k * dx**2 / 2
            assert part.stored - before == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_symplectic_euler_ends_at_two_over_the_step():
    """It is stable only for T sqrt(k/m) < 2, passive midpoint always."""
    for ratio, stable in ((1.9, True), (2.1, False)):
        k = (ratio / 1e-2) ** 2
        model = pv.Linear([[1.0]], [[k]])
        grown = []
        for method in (pv.SymplecticEuler(), pv.PassiveMidpoint()):
            part = pv.compile(model, method, 1e-2, start={"x1": 1e-3}, engine="python")
            before = part.stored
            for _ in range(200):
                part.step()
            grown.append(part.stored / before)
        assert (grown[0] < 1e3) == stable
        assert grown[1] == pytest.approx(1.0, rel=1e-10)


def test_other_potentials_are_exact_too():
    """With the one number that makes the force do the work that V stores: two coordinates, and one."""
    pair = pv.Mechanical(
        ["q1", "q2"], [[1, 0.2], [0.2, 2]], "q1**4 + cos(q1 - 2*q2) + 3*q2**2", [[0.1, 0], [0, 0]],
        ports={"f": pv.effort([1, 0])},
    )  # fmt: skip
    pendulum = pv.Mechanical(["q"], "m", "-9.81*m*cos(q)", params={"m": 0.5})
    for model, inputs in ((pair, {"f": lambda t: pv.sin(3 * t)}), (pendulum, None)):
        start = {model.states[0]: 1.2, model.states[-1]: 0.4}
        run = pv.simulate(model, pv.PassiveMidpoint(), step=0.05, until=5, start=start, inputs=inputs, engine="python")
        assert run.verdict.kind == "exact"


def test_order_2_on_a_potential_that_is_not_quadratic():
    model = pv.Mechanical(["q1", "q2"], [[1, 0], [0, 2]], "q1**4 + cos(q1 - 2*q2) + 3*q2**2")
    start = {"q1": 0.7, "q2": -0.3}
    ends = [
        np.array([run[name].values[-1] for name in model.states])
        for h in (0.02, 0.01, 0.005, 0.0025)
        for run in [pv.simulate(model, pv.PassiveMidpoint(), step=h, until=1.0, start=start, engine="python")]
    ]
    gaps = [np.linalg.norm(a - b) for a, b in pairwise(ends)]
    assert np.log2(gaps[0] / gaps[1]) > 1.9 and np.log2(gaps[1] / gaps[2]) > 1.9


def test_it_refuses_systems_without_masses():
    with pytest.raises(MethodError, match="is not of positions and momenta alone"):
        pv.compile(pv.library.rigid_body(), pv.PassiveMidpoint(), 1e-3, engine="python")


def test_saved_and_audited(tmp_path):
    _, model = random_linear(1)
    run = pv.simulate(model, pv.PassiveMidpoint(), step=1e-2, until=0.2, start={"x1": 0.1}, engine="python")
    run.save(tmp_path / "run.zarr")
    assert pv.load(tmp_path / "run.zarr").audit().ok
