"""Passive midpoint where masses depend on positions (spec 4.6): the balance, the step of the spec, order, laws."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import passivo as pv
from passivo.errors import MethodError
from passivo.ledger import accounts as A

EPSILON = 2.0**-52
ARM = {"a": 2.0, "b": 0.5, "c": 0.6, "weight": 9.81}
LAW = {
    "M": [["a + 2*b*cos(q2)", "c + b*cos(q2)"], ["c + b*cos(q2)", "c"]],
    "V": "weight*(1.5*sin(q1) + 0.5*sin(q1 + q2))",
}


def arm(loss=None, potential=LAW["V"], **params):
    """A two-link arm, relative angles: torques at both joints, and a port whose direction turns."""
    ports = {"joints": pv.effort(np.eye(2)), "tip": pv.effort([["cos(q1 + q2)"], ["sin(q2)"]])}
    return pv.Mechanical(["q1", "q2"], LAW["M"], potential, loss, ports, {**ARM, **params}, name="arm")


@cache
def random_model(seed, n, lossless=False):
    """M = M0 + a part that turns with the positions, positive definite everywhere; V of any kind; B and P that move."""
    rng = np.random.default_rng([seed, n])
    q = [f"q{i}" for i in range(1, n + 1)]
    root = rng.uniform(-1, 1, (n, n))
    mass = (root @ root.T + n * np.eye(n)).round(6)
    rows = [[f"({mass[i, j]})*k" for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            term = f" + {rng.uniform(-0.6, 0.6):.4f}*cos({q[int(rng.integers(n))]} - {rng.uniform(0.3, 1):.3f}*{q[i]})"
            rows[i][j] += term
            rows[j][i] += term
        rows[i][i] += f" + {rng.uniform(0.1, 1):.4f}*{q[int(rng.integers(n))]}**2"
    V = f"2*{q[0]}**2 + cosh({q[-1]}/2) + k*cos({q[0]} - {q[-1]}) + {q[-1]}**4/8"
    v = rng.uniform(-0.7, 0.7, n).round(3)
    B = [[f"({v[i] * v[j]:.6f})*(1 + {q[0]}**2)" for j in range(n)] for i in range(n)]
    P = [[f"{rng.uniform(-1, 1):.4f}", f"{rng.uniform(-1, 1):.4f}*sin({q[int(rng.integers(n))]})"] for _ in range(n)]
    return pv.Mechanical(q, rows, V, None if lossless else B, {"f": pv.effort(P)}, {"k": 1.0})


def compiled(model, order=2, step=1e-2, engine="python", **options):
    return pv.compile(model, pv.PassiveMidpoint(order=order), step, engine=engine, **options)


def gain(part):
    """Joules the last step created, and what rounding in it may be worth."""
    left = part._section("CHANGE", 1)[0] - part.work.sum() + part.lost
    return abs(left), 16 * EPSILON * (part._section("SCALE", 1)[0] + np.abs(part.work).sum() + part.lost)


# -- the balance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "n", "order"), [(0, 1, 2), (1, 2, 1), (1, 2, 2), (2, 2, 2), (3, 3, 2)])
def test_every_step_balances_whatever_its_size(seed, n, order):
    """ΔH = h u'y − h v̂'B v̂ with y = P(q*)'v̂, at steps from 1 ms to 0.2 s and random inputs."""
    model, rng = random_model(seed, n), np.random.default_rng(seed)
    part = compiled(model, order, start=dict(zip(model.states, rng.uniform(-1, 1, 2 * n))))
    for _ in range(40):
        part.step(rng.standard_normal(2), dt=float(10 ** rng.uniform(-3, -0.7)))
        created, rounding = gain(part)
        assert created <= rounding
    assert part.verdict.kind == "exact" and part.lost > 0


def test_an_arm_drifts_by_less_than_1e_11_in_10_s():
    """No loss, no input, gravity: spec 4.10."""
    for order in (1, 2):
        part = compiled(arm(), order, step=5e-3, start={"q1": 0.6, "q2": 0.9, "p1": 1.0, "p2": -0.4})
        first = part.stored
        for _ in range(2000):
            part.step()
        assert abs(part.stored - first) < 1e-11 * 20
        assert part.verdict.kind == "exact"


def test_stiff_springs_on_light_links_are_exact_too():
    """A tip of a thousandth of the base, springs that swing 4 to 100 rad in a step, steps with several solutions."""
    V = "k/2*(q1**2 + sin(q2)**2/2)"
    model = pv.Mechanical(["q1", "q2"], LAW["M"], V, params={"a": 2.0, "b": 0.5, "c": 0.6, "k": 1e4})
    for tip, k, h in ((1.0, 1e4, 3e-2), (1e-3, 1e4, 1e-2), (1e-6, 1e4, 3e-2)):
        part = compiled(model, step=h, start={"q1": 0.6, "q2": 0.9, "p1": 1.0, "p2": -0.4 * tip})
        part.set(a=2.0 + tip, b=0.5 * tip, c=0.6 * tip, k=k)
        for _ in range(300):
            part.step()
        assert part.verdict.kind == "exact"


# -- the step of the spec ---------------------------------------------------------------------------------------------


def christoffel(mass, q, u, step=1e-5):
    """C with Ṁ = C + C' along u, by differences."""
    n = len(q)
    d = [(mass(q + step * e) - mass(q - step * e)) / (2 * step) for e in np.eye(n)]
    C = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            C[i, j] = sum((d[k][i, j] + d[j][i, k] - d[i][j, k]) * u[k] for k in range(n)) / 2
    return C


def arm_mass(q):
    a, b, c = ARM["a"], ARM["b"], ARM["c"]
    side = c + b * np.cos(q[1])
    return np.array([[a + 2 * b * np.cos(q[1]), side], [side, c]])


def spec_step(q, p, star, half, f, h, K, B):
    """Spec 4.6 as it is written, in ν̂: gives v̂, q⁺, p⁺ and Q."""
    T, place = h, q + half * star
    L, old = np.linalg.cholesky(arm_mass(place)), np.linalg.cholesky(arm_mass(q))
    inverse = np.linalg.inv(L)
    Y = inverse @ christoffel(arm_mass, place, star) @ inverse.T
    Q = np.tril(Y, -1) - np.tril(Y, -1).T
    nu = np.linalg.solve(old, p)
    A = 2 * np.eye(2) / T + Q + inverse @ (B + T / 2 * K) @ inverse.T
    mean = np.linalg.solve(A, 2 * nu / T - inverse @ (K @ q) + inverse @ f)
    v = inverse.T @ mean
    end = q + T * v
    return v, end, np.linalg.cholesky(arm_mass(end)) @ (2 * mean - nu), Q


@pytest.mark.parametrize("order", [1, 2])
def test_one_step_is_that_of_the_spec(order):
    """With a quadratic potential, at varying steps: L and Q where the predictor of 4.7 leads; the first two steps are
    solved twice."""
    K, B = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([[0.5, 0.1], [0.1, 0.3]])
    model = pv.Mechanical(
        ["q1", "q2"], LAW["M"], "2*q1**2 + q1*q2 + 1.5*q2**2", B, {"f": pv.effort(np.eye(2))}, dict(ARM)
    )
    q, p = np.array([0.7, -0.5]), np.array([0.4, 0.9])
    part = compiled(model, order, start=dict(zip(model.states, (*q, *p))))
    rng, means, spans = np.random.default_rng(1), [], []
    for k in range(8):
        h, f = float(rng.uniform(1e-3, 0.1)), rng.standard_normal(2)
        star, half = np.linalg.solve(arm_mass(q), p), h / 2
        if order == 1:
            half = 0.0
        elif k < 2:
            star = spec_step(q, p, star, half, f, h, K, B)[0]
        else:
            star = means[-1] + (h + spans[-1]) / (spans[-1] + spans[-2]) * (means[-1] - means[-2])
        if k == 1 and order == 2:  # its first solution starts from the velocity at its beginning
            star = spec_step(q, p, np.linalg.solve(arm_mass(q), p), half, f, h, K, B)[0]
        v, q, p, Q = spec_step(q, p, star, half, f, h, K, B)
        part.step(f, dt=h)
        means.append(v)
        spans.append(h)
        turn = part._section("TURNING", 4).reshape(2, 2)
        assert (turn == -turn.T).all()
        assert np.allclose(turn, Q, rtol=1e-8, atol=1e-10)
        assert np.allclose(part._section("GRADIENT", 4)[2:], v, rtol=1e-8, atol=1e-10)
        assert np.allclose(part.state, (*q, *p), rtol=1e-8, atol=1e-10)
        assert part.lost == pytest.approx(h * v @ B @ v, rel=1e-7)
        assert part.work.sum() == pytest.approx(h * f @ v, rel=1e-7)


@pytest.mark.parametrize(("seed", "n"), [(1, 2), (3, 3)])
def test_q_is_exactly_skew_and_gives_the_coriolis_force(seed, n):
    """With M = L L' and ν = L'q': `L Qν = C q' + L̇ν − Ṁ q'`, which makes M q'' + C q' = 0 of ν' + Qν = 0."""
    model = random_model(seed, n)
    rng = np.random.default_rng(seed)
    part = compiled(model, 2, start=dict(zip(model.states, rng.uniform(-1, 1, 2 * n))))

    def mass(x):
        memory = part.memory.copy()
        memory[part.module.POINT : part.module.POINT + n] = x
        part.module.spread(memory)
        return np.linalg.inv(memory[part.module.ROOT : part.module.ROOT + n * n].reshape(n, n))

    part.step([0.0, 0.0])
    Q = part._section("TURNING", n * n).reshape(n, n)
    assert (Q == -Q.T).all() and Q.any()
    q, speed, small = part._section("PLACE", n).copy(), part._section("GUESS", n).copy(), 1e-5
    L = np.linalg.cholesky(mass(q))
    assert np.allclose(L, part._section("LEVER", n * n).reshape(n, n), rtol=1e-12)
    rate = (np.linalg.cholesky(mass(q + small * speed)) - np.linalg.cholesky(mass(q - small * speed))) / (2 * small)
    nu = L.T @ speed
    force = christoffel(mass, q, speed) @ speed
    moved = mass(q + small * speed) - mass(q - small * speed)
    assert np.allclose(L @ Q @ nu, -(moved / (2 * small) @ speed - force - rate @ nu), rtol=1e-6, atol=1e-8)


# -- accuracy ---------------------------------------------------------------------------------------------------------


def truth(until, start):
    """The arm by SciPy from Newton's law: M v' = −C v − V'."""

    def field(_, x):
        q, v = x[:2], x[2:]
        force = ARM["weight"] * np.array([1.5 * np.cos(q[0]) + 0.5 * np.cos(q.sum()), 0.5 * np.cos(q.sum())])
        s = ARM["b"] * np.sin(q[1])
        coriolis = np.array([-s * (2 * v[0] * v[1] + v[1] ** 2), s * v[0] ** 2])
        return np.concatenate([v, np.linalg.solve(arm_mass(q), -force - coriolis)])

    q, p = np.array(start[:2]), np.array(start[2:])
    first = np.concatenate([q, np.linalg.solve(arm_mass(q), p)])
    x = solve_ivp(field, (0, until), first, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return np.concatenate([x[:2], arm_mass(x[:2]) @ x[2:]])


@pytest.mark.parametrize(("order", "varying"), [(2, False), (2, True), (1, False)])
def test_order_against_an_accurate_reference(order, varying):
    start, until = (0.6, 0.9, 1.0, -0.4), 0.8
    true, errors = truth(until, start), []
    for steps in (160, 320, 640):
        part = compiled(arm(), order, start=dict(zip(arm().states, start)))
        sizes = np.ones(steps) + varying * 0.6 * np.sin(np.arange(steps))
        for h in until * sizes / sizes.sum():
            part.step(dt=h)
        errors.append(np.linalg.norm(part.state - true))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    if order == 1:
        assert (slopes > 0.8).all() and (slopes < 1.5).all()
    elif varying:  # sizes that swing do not halve one by one: the mean over both halvings counts
        assert slopes.mean() > 1.9
    else:
        assert (slopes > 1.9).all()


# -- what is changed by hand, laws, engines, files --------------------------------------------------------------------


def test_parameters_changed_while_it_runs_are_booked_as_edited():
    part = compiled(arm([[0.1, 0], [0, 0.2]]), start={"q1": 0.4, "p1": 1.0})
    edited = 0.0
    for k in range(60):
        part.step([0.3, -0.2, 0.5], dt=1e-2 * (1 + 0.5 * np.sin(k)))
        created, rounding = gain(part)
        assert created <= rounding
        if k % 20 == 10:
            before = part.stored
            part.set(a=2.0 + 0.02 * k, weight=9.81 - 0.1 * k)
            edited += part.stored - before
    assert abs(edited) > 0.1 and part._account(0)[A.A_EDITED] == pytest.approx(edited, rel=1e-12)
    assert part.verdict.kind == "exact"


def test_laws_hold_in_the_step():
    laws = {
        "joints": pv.Feedback(lambda y: [-pv.atan(3 * y[0] + y[1]), -pv.tanh(y[1])]),
        "tip": pv.Relation(lambda y, u: y + u + 4 * u**3),
    }
    part = compiled(arm(), step=2e-2, start={"q1": 0.6, "p1": 2.0, "p2": -1.0}, laws=laws)
    for _ in range(30):
        part.step()
        (a, b, y), (f, g, u) = part.mean_output, part._section("USED", 3)
        assert [f, g] == pytest.approx([-np.arctan(3 * a + b), -np.tanh(b)], rel=1e-11, abs=1e-13)
        assert abs(y + u + 4 * u**3) < 1e-12
        created, rounding = gain(part)
        assert created <= rounding
    assert part.verdict.kind == "exact"


def test_machine_code_is_plain_python():
    model = pv.Mechanical(["q1", "q2"], LAW["M"], "q1**4", None, {"f": pv.effort([0, 1])}, dict(ARM))
    parts = [compiled(model, engine=engine, start={"q1": 0.4, "p1": 1.0}) for engine in ("python", "numba")]
    for k in range(50):
        for part in parts:
            part.step([np.sin(k)], dt=1e-2 * (1 + 0.5 * np.sin(k)))
    assert parts[0].state == pytest.approx(parts[1].state, rel=1e-12, abs=1e-13)
    assert parts[1].verdict.kind == "exact"


def test_a_copy_takes_the_foretelling_with_it_and_a_start_by_hand_forgets_it():
    part = compiled(arm(), start={"q1": 0.4, "p1": 1.0})
    for _ in range(5):
        part.step()
    twin = part.copy()
    for each in (part, twin):
        each.step()
    assert (part.state == twin.state).all()
    fresh = compiled(arm(), start=dict(zip(arm().states, part.state)))
    part.place({"q1": part.state[0]})
    for each in (part, fresh):
        each.step()
    assert (part.state == fresh.state).all()


def test_saved_and_audited(tmp_path):
    run = pv.simulate(
        arm([[0.1, 0], [0, 0]]), pv.PassiveMidpoint(), step=1e-2, until=0.3, start={"q1": 0.4, "p1": 1.0},
        inputs={"joints": lambda t: (pv.sin(3 * t), 0.1)}, engine="python",
    )  # fmt: skip
    run.save(tmp_path / "run.zarr")
    assert pv.load(tmp_path / "run.zarr").audit().ok


def test_a_mass_matrix_that_ends_is_refused_by_the_step():
    """1 − q² > 0 ends at q = 1: steps towards it are cut, and the last one says so."""
    model = pv.Mechanical(["q"], "1 - q**2", domain="q**2 < 1")
    part = compiled(model, step=0.1, start={"q": 0.5, "p": 0.6})
    with pytest.raises(pv.StepError):
        for _ in range(200):
            part.step()
            assert part.state[0] < 1.0


def test_it_refuses_what_has_another_kinetic_energy():
    canonical = [[0, 1], [-1, 0]]
    for energy, sentence in (
        ("p**4/(1 + q**2)", "another kinetic energy"),
        ("p**2/(2 + q**2) + q*p", "another kinetic energy"),
    ):
        model = pv.System(["q", "p"], energy, canonical, positions=["q"])
        with pytest.raises(MethodError, match=sentence):
            compiled(model)
    leaky = pv.System(["q", "p"], "p**2/(2 + q**2) + q**2", canonical, [[1, 0], [0, 0]], positions=["q"])
    with pytest.raises(MethodError, match="move positions, not momenta"):
        compiled(leaky)
