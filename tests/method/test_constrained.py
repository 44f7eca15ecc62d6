"""Spec 3.3 to 3.7: what the two methods for constraints keep, how they converge, and where they must give up.

`psi` is the map of spec 3.3 written once more with NumPy, with any inner map; `reference` the equations with their
multipliers solved for, integrated by SciPy.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import passivo as pv
from passivo.errors import ConvergenceError, InputError, MethodError
from passivo.model.expression import EXTENDED, evaluate
from passivo.run.certificate import created

SPLITTING, GRADIENT = pv.ConstrainedSplitting(), pv.ConstrainedGradient()
BOTH = [SPLITTING, GRADIENT]
LA, LB, MA, MB, G = 0.6, 0.3, 0.2, 0.6, 9.81
MASS = np.array([MA, MA, MB, MB])
WEIGHT = G * np.array([0.0, MA, 0.0, MB])


def name_of(method):
    return type(method).__name__


# -- the double pendulum, written out --------------------------------------------------------------------------------


def place(q, rates=(0.0, 0.0)):
    """(r, p) of the angles q and their rates."""
    (a, t), (da, dt) = (q[0], q[0] + q[1]), (rates[0], rates[0] + rates[1])
    r = np.array([LA * np.cos(a), LA * np.sin(a), LA * np.cos(a) + LB * np.cos(t), LA * np.sin(a) + LB * np.sin(t)])
    va = LA * da * np.array([-np.sin(a), np.cos(a)])
    v = np.concatenate([va, va + LB * dt * np.array([-np.sin(t), np.cos(t)])])
    return np.concatenate([r, MASS * v])


def start_of(q=(0.3, -0.5), rates=(2.0, -3.0)):
    return dict(zip(pv.library.double_pendulum().states, place(q, rates).tolist()))


def gaps(r):
    return np.array([r[0] ** 2 + r[1] ** 2 - LA**2, (r[2] - r[0]) ** 2 + (r[3] - r[1]) ** 2 - LB**2])


def jacobian(r):
    dx, dy = r[2] - r[0], r[3] - r[1]
    return 2 * np.array([[r[0], r[1], 0, 0], [-dx, -dy, dx, dy]])


def ports(r, printed=False):
    """U of (3.8) and (3.9); as printed in the last example, torque 2 has no reaction on mass a through bar b."""
    dx, dy = r[2] - r[0], r[3] - r[1]
    first = np.array([-r[1], r[0], 0, 0]) / LA**2
    second = np.array([0 if printed else dy, 0 if printed else -dx, -dy, dx]) / LB**2
    return np.stack([first, second - first], axis=1)


def energy(x):
    return (x[4:] ** 2 / (2 * MASS)).sum() + WEIGHT @ x[:4]


def rate(x, u):
    """x' and λ: `(G M⁻¹ G') λ = Ġ v + G M⁻¹ (U u − ∇V)`."""
    r, v = x[:4], x[4:] / MASS
    jac = jacobian(r)
    turning = np.array([2 * v[:2] @ v[:2], 2 * (v[2:] - v[:2]) @ (v[2:] - v[:2])])
    force = ports(r) @ u - WEIGHT
    strength = np.linalg.solve(jac / MASS @ jac.T, turning + jac / MASS @ force)
    return np.concatenate([v, force - jac.T @ strength]), strength


def reference(x, u, t):
    """States at times t, with u a function of the state (or held)."""
    law = u if callable(u) else lambda _: np.asarray(u)
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    return solve_ivp(lambda _, y: rate(y, law(y))[0], (0, t[-1]), x, t_eval=t, **options).y.T


def output(x):
    return ports(x[:4]).T @ (x[4:] / MASS)


def fly(r, p, t):
    """The exact flow of H without constraints."""
    return r + t * p / MASS - t**2 / 2 * WEIGHT / MASS, p - t * WEIGHT


def strang(r, p, h, push):
    r, p = fly(r, p, h / 2)
    return fly(r, p + h * push(r), h / 2)


def lie(r, p, h, push):
    """Order 1 only: all of the push at the start."""
    return fly(r, p + h * push(r), h)


def psi(x, h, push, inner=strang):
    """Spec 3.3, steps 1 to 4; gives the new state and (ν + μ)/2."""
    r, p = x[:4], x[4:]

    def landed(nu):
        return inner(r, p - h / 2 * jacobian(r).T @ nu, h, push)

    nu = rate(x, np.zeros(2))[1]
    for _ in range(30):
        r1, pushed = landed(nu)
        nu = nu + np.linalg.solve(h**2 / 2 * jacobian(r1) / MASS @ jacobian(r).T, gaps(r1))
    jac = jacobian(r1)
    mu = np.linalg.solve(jac / MASS @ jac.T, jac @ (pushed / MASS)) * 2 / h
    return np.concatenate([r1, pushed - h / 2 * jac.T @ mu]), (nu + mu) / 2


def compiled(method, step, x=None, engine="python", **options):
    start = start_of() if x is None else dict(zip(pv.library.double_pendulum().states, map(float, x)))
    return pv.compile(pv.library.double_pendulum(), method, step, start=start, engine=engine, **options)


def orders(errors):
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


# -- what holds in every step ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_constraints_hold_at_every_step(method):
    part, rng = compiled(method, 0.01), np.random.default_rng(0)
    for _ in range(400):
        part.step(rng.uniform(-2, 2, 2), dt=0.01 * rng.uniform(0.2, 1.5))
        x = part.state
        assert np.abs(gaps(x[:4])).max() <= 5e-15
        if method is SPLITTING:
            assert np.abs(jacobian(x[:4]) @ (x[4:] / MASS)).max() <= 1e-14
    assert part.cut_steps == 0


def test_the_step_is_that_of_the_spec():
    x, u = place((0.3, -0.5), (2.0, -3.0)), np.array([0.4, -0.7])
    part = compiled(SPLITTING, 0.01, x)
    for _ in range(20):
        want, strength = psi(np.array(part.state), 0.01, lambda r: ports(r) @ u)
        part.step(u)
        assert np.abs(part.state - want).max() < 1e-12
        assert part._section("RECORDED", 2) == pytest.approx(strength, rel=1e-8)


@pytest.mark.parametrize("method", BOTH, ids=name_of)
@pytest.mark.parametrize("h", [0.02, 1e-3])
def test_a_step_back_undoes_a_step(method, h):
    part, rng = compiled(method, h), np.random.default_rng(1)
    for _ in range(20):
        u, before = rng.uniform(-2, 2, 2), part.state.copy()
        part.step(u)
        part.inputs[:] = u
        assert part.module.tick(part.memory, -h) == 0
        assert np.abs(part.state - before).max() <= 1e-13
        part.step(u)


def angles(x):
    """(q, p̂) of a state: p̂ = i*'p."""
    a, t = np.arctan2(x[1], x[0]), np.arctan2(x[3] - x[1], x[2] - x[0])
    return np.concatenate([[a, t - a], tangent(a, t).T @ x[4:]])


def tangent(a, t):
    ia = LA * np.array([-np.sin(a), np.cos(a)])
    ib = LB * np.array([-np.sin(t), np.cos(t)])
    return np.stack([np.concatenate([ia, ia + ib]), np.concatenate([[0, 0], ib])], axis=1)


def lifted(y):
    """(r, p) of (q, p̂): p = M i* M̂⁻¹ p̂."""
    a, t = y[0], y[0] + y[1]
    down = tangent(a, t)
    inertia = down.T @ (MASS[:, None] * down)
    return np.concatenate([place(y[:2])[:4], MASS * (down @ np.linalg.solve(inertia, y[2:]))])


def symplectic_defect(step, x, size=1e-3):
    """|A'ĴA − Ĵ| of a step in the coordinates (q, p̂), A by differences of fourth order."""
    y, columns = angles(x), []
    for e in np.eye(4) * size:
        f = [angles(step(lifted(y + s * e))) for s in (1, -1, 2, -2)]
        columns.append((8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * size))
    A = np.array(columns).T
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    return np.abs(A.T @ J @ A - J).max()


def stepped(method, h, u):
    part = compiled(method, h)

    def step(x):
        part.state[:] = x
        part.step(u(x))
        return part.state.copy()

    return step


def test_the_splitting_is_symplectic_without_inputs_and_not_with_them():
    x = place((0.3, -0.5), (2.0, -3.0))
    assert symplectic_defect(stepped(SPLITTING, 0.01, lambda _: [0.0, 0.0]), x) <= 1e-10
    # a held torque has a potential u q on the constraints, but not where φ_u acts, in the middle of a flight
    assert symplectic_defect(stepped(SPLITTING, 0.01, lambda _: [1.0, -1.0]), x) > 1e-5
    assert symplectic_defect(stepped(SPLITTING, 0.01, lambda x: -0.3 * output(x)), x) > 0.1
    assert symplectic_defect(stepped(GRADIENT, 0.01, lambda _: [0.0, 0.0]), x) > 1e-8


def test_shaping_the_potential_keeps_the_flow_symplectic():
    """Remark 6 of the paper: u_l U^l = −∂Va/∂r leaves the map symplectic; a force of positions with a curl does not."""
    x, h, k = place((0.3, -0.5), (2.0, -3.0)), 0.01, 4.0
    shape = lambda r: -k * np.array([r[0] - 0.3, 0, 0, r[3]])  # noqa: E731
    assert symplectic_defect(lambda x: psi(x, h, shape)[0], x) <= 1e-9
    assert symplectic_defect(lambda x: psi(x, h, lambda r: k * np.array([-r[1], 0, r[0], 0]))[0], x) > 1e-4
    model = pv.library.double_pendulum()
    data = model.describe()
    shaped = pv.Constrained.from_description(data | {"energy": data["energy"] + f" + {k}*((ax - 0.3)**2 + by**2)/2"})
    part = pv.compile(shaped, SPLITTING, h, start=start_of(), engine="python")
    assert symplectic_defect(lambda x: _one(part, x), x) <= 1e-10


def _one(part, x):
    part.state[:] = x
    part.step([0.0, 0.0])
    return part.state.copy()


# -- orders ----------------------------------------------------------------------------------------------------------


def run_to(method, steps, until, x, u):
    part = compiled(method, until / steps, x)
    for _ in range(steps):
        part.step(u(part.state) if callable(u) else u)
    return part


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_order_2_against_the_model_with_held_inputs(method):
    x, u, until = place((0.3, -0.5), (1.0, -1.0)), np.array([0.4, -0.3]), 0.4
    end = angles(reference(x, u, [until])[-1])  # what lies on the constraints: of p the part along them
    errors = [np.abs(angles(run_to(method, n, until, x, u).state) - end).max() for n in (20, 40, 80)]
    assert orders(errors) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_multipliers_are_found_at_order_2(method):
    """Of the splitting in every step; of the gradient as the mean of two, for they alternate."""
    x, u, until = place((0.3, -0.5), (1.0, -1.0)), np.array([0.4, -0.3]), 0.3
    errors = []
    for n in (80, 160, 320):
        run = simulated(method, until / n, until, x, [*u])
        found = run.arrays["recorded"][1:]
        t = run.time[1:] - until / n / 2
        if method is GRADIENT:
            found, t = (found[1:] + found[:-1]) / 2, run.time[1:-1]
        exact = np.array([rate(y, u)[1] for y in reference(x, u, t)])
        errors.append(np.abs(found - exact).max())
    assert orders(errors) == pytest.approx(2, abs=0.15)


def simulated(method, step, until, x, u, **options):
    start = dict(zip(pv.library.double_pendulum().states, map(float, x)))
    inputs = {"joints": u}
    options = {"engine": "python", **options}
    return pv.simulate(pv.library.double_pendulum(), method, step, until, start=start, inputs=inputs, **options)


def test_against_continuous_feedback_sampling_is_of_order_1_and_feedback_in_the_step_of_order_2():
    x, until = place((0.3, -0.5), (1.0, -1.0)), 0.4
    end = angles(reference(x, lambda y: -0.3 * output(y), [until])[-1])
    law = pv.Feedback(lambda y: [-0.3 * y[0], -0.3 * y[1]])
    for method, u, order in ((SPLITTING, pv.Held(lambda t, y: -0.3 * y), 1), (GRADIENT, law, 2)):
        errors = [
            np.abs(angles(simulated(method, until / n, until, x, u).arrays["states"][-1]) - end).max()
            for n in (40, 80, 160)
        ]
        assert orders(errors) == pytest.approx(order, abs=0.15)


def test_the_order_is_the_lower_one_of_the_inner_map_and_2():
    """Theorem 4.5 (1): an inner map of order 1 makes a method of order 1, which still keeps the constraints."""
    x, u, until = place((0.3, -0.5), (1.0, -1.0)), np.array([0.4, -0.3]), 0.2
    end = reference(x, u, [until])[-1]
    for inner, order in ((lie, 1), (strang, 2)):
        errors = []
        for n in (10, 20, 40):
            y = x
            for _ in range(n):
                y, _strength = psi(y, until / n, lambda r: ports(r) @ u, inner)
            assert np.abs(gaps(y[:4])).max() < 1e-12 and np.abs(jacobian(y[:4]) @ (y[4:] / MASS)).max() < 1e-12
            errors.append(np.abs(y - end).max())
        assert orders(errors) == pytest.approx(order, abs=0.15)


def test_the_printed_push_does_not_converge():
    """The φ_u that the paper prints in its final example misses the reaction of torque 2 on mass a (spec 3.4)."""
    x, u, until = place((0.3, -0.5), (1.0, -1.0)), np.array([0.4, -0.3]), 0.4
    end = reference(x, u, [until])[-1]
    data = pv.library.double_pendulum().describe()
    (kind, width, rows) = data["ports"]["joints"]
    rows = [[rows[0][0], "ay/la**2"], [rows[1][0], "-ax/la**2"], *rows[2:]]
    printed = pv.Constrained.from_description(data | {"ports": {"joints": [kind, width, rows]}})
    value = {**printed.params, **dict(zip(printed.states, x))}
    assert [[evaluate(e, value) for e in row] for row in rows] == pytest.approx(ports(x[:4], printed=True))
    errors = []
    for n in (40, 80, 160):
        part = pv.compile(printed, SPLITTING, until / n, start=dict(zip(printed.states, x.tolist())), engine="python")
        for _ in range(n):
            part.step(u)
        errors.append(np.abs(part.state - end).max())
    assert min(errors) > 0.1 and np.abs(orders(errors)).max() < 0.05


# -- compositions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "order"), [("yoshida4", 4), ("suzuki4", 4), ("yoshida6", 6)])
@pytest.mark.parametrize("base", BOTH, ids=name_of)
def test_compositions_have_the_order_they_state(base, scheme, order):
    """The same u in all strokes. Of ConstrainedGradient order 4 at most: across the constraints p is reflected."""
    method = pv.Composition(base, scheme)
    assert method.order == min(order, base.composes)
    x, u, until = place((0.3, -0.5), (1.0, -1.0)), np.array([0.4, -0.3]), 0.4
    end = angles(reference(x, u, [until])[-1])
    parts = [run_to(method, n, until, x, u) for n in (20, 40)]
    errors = [np.abs(angles(part.state) - end).max() for part in parts]
    assert orders(errors) == pytest.approx(method.order, abs=0.1)
    for part in parts:
        assert np.abs(gaps(part.state[:4])).max() <= 5e-15
        assert base is GRADIENT or np.abs(jacobian(part.state[:4]) @ (part.state[4:] / MASS)).max() <= 1e-14
        assert part.verdict.kind == "exact" or base is SPLITTING


def test_suzuki_is_nearer_than_yoshida_of_the_same_order():
    x, u, until = place((0.3, -0.5), (1.0, -1.0)), np.array([0.4, -0.3]), 0.4
    end = angles(reference(x, u, [until])[-1])
    far, near = (
        np.abs(angles(run_to(pv.Composition(SPLITTING, scheme), 20, until, x, u).state) - end).max()
        for scheme in ("yoshida4", "suzuki4")
    )
    assert near < far / 20


@pytest.mark.parametrize("scheme", ["yoshida4", "suzuki4", "yoshida6"])
def test_compositions_of_the_splitting_are_symmetric_and_symplectic(scheme):
    method, x = pv.Composition(SPLITTING, scheme), place((0.3, -0.5), (2.0, -3.0))
    assert symplectic_defect(stepped(method, 0.01, lambda _: [0.0, 0.0]), x) <= 1e-10
    part, rng = compiled(method, 0.01), np.random.default_rng(1)
    for _ in range(10):
        u, before = rng.uniform(-2, 2, 2), part.state.copy()
        part.step(u)
        part.inputs.reshape(-1, 2)[:] = u
        assert part.module.tick(part.memory, -0.01) == 0
        assert np.abs(part.state - before).max() <= 1e-13
        part.step(u)


@pytest.mark.parametrize("base", BOTH, ids=name_of)
def test_compositions_record_multipliers_and_keep_the_ledger(base):
    """A linkage with more constraints than inputs: the mean multiplier of a step is that of its strokes."""
    model, start = pv.library.four_bar(), {"ay": 0.1, "bx": 0.4, "by": 0.4}
    options = {"start": start, "inputs": {"crank": 0.02}, "engine": "python"}
    fine = pv.simulate(model, SPLITTING, 1e-4, 0.1, **options)
    run = pv.simulate(model, pv.Composition(base), 5e-3, 0.1, **options)
    assert run.verdict.kind == "exact" if base is GRADIENT else run.verdict.bias < 1e-8
    assert float(run.work["crank"][-1].sum()) == pytest.approx(float(fine.work["crank"][-1].sum()), rel=1e-4)
    for bar in model.constraints:
        means = fine[bar].values[1:].reshape(20, 50).mean(axis=1)
        within = 1e-3 if base is SPLITTING else 0.1  # those of the gradient alternate from stroke to stroke
        assert np.abs(run[bar].values[1:] - means).max() <= within * np.abs(means).max()
    assert run.audit().ok


def test_compositions_with_constraints_refuse_loss_and_feedback():
    with pytest.raises(MethodError, match=r"goes back in time .* loses power; take Collocation"):
        pv.compile(pv.library.squeezer(b=0.1), pv.Composition(GRADIENT), 0.01, engine="python")
    law = {"joints": pv.Feedback(lambda y: [-y[0], -y[1]])}
    with pytest.raises(MethodError, match="where a feedback acts"):
        compiled(pv.Composition(GRADIENT), 0.01, laws=law)


# -- energy ----------------------------------------------------------------------------------------------------------


def test_energy_and_output_of_the_splitting_are_off_by_h_squared():
    """Theorem 4.5 (3): H̃ − H and ỹ − y are O(h²); without inputs H̃ is kept, so that H swings and does not drift."""
    swings, outputs, x = [], [], place((-1.5, 0.6))
    for h in (0.02, 0.01, 0.005):
        part = compiled(SPLITTING, h, x)
        heights = []
        for _ in range(round(4 / h)):
            part.step([0.0, 0.0])
            heights.append(energy(part.state))
        swings.append(np.ptp(heights))
        half = len(heights) // 2
        assert np.ptp(heights[half:]) < 1.2 * np.ptp(heights[:half])
        y = place((0.3, -0.5), (2.0, -3.0))
        first = compiled(SPLITTING, h / 4, y)
        first.step([0.4, -0.3])
        nodes, weights = np.polynomial.legendre.leggauss(6)
        states = reference(y, np.array([0.4, -0.3]), (nodes + 1) * h / 8)
        outputs.append(np.abs(first.mean_output - sum(w / 2 * output(z) for w, z in zip(weights, states))).max())
    assert orders(swings) == pytest.approx(2, abs=0.15) and orders(outputs) == pytest.approx(2, abs=0.15)


def test_the_ledger_shows_what_sampled_damping_creates():
    """A step of the splitting is not passive: the defect is of order h³, in the ledger, and the same as by hand."""
    x, created = place((0.3, -0.5), (2.0, -3.0)), []
    for h in (0.02, 0.01, 0.005):
        part = compiled(SPLITTING, h, x)
        u = -0.3 * output(x)
        part.step(u)
        defect = energy(part.state) - energy(x) - part.work.sum()
        assert part._account(0)[6] == pytest.approx(defect, abs=1e-14)
        assert part.mean_output * h @ u == pytest.approx(part.work.sum(), rel=1e-12)
        created.append(abs(defect))
    assert orders(created) == pytest.approx(3, abs=0.3)


def damped(method, step, u, until=10.0):
    return simulated(method, step, until, place((0.0, 0.0)), u, engine="python")


def test_sampled_damping_is_monotone_up_to_30_ms():
    """Fig. 4.2: `u = −0.3 y` sampled; at 50 ms the energy rises at times."""
    rises = lambda h: np.diff(damped(SPLITTING, h, pv.Held(lambda t, y: -0.3 * y)).ledger.stored[:, 0].values).max()  # noqa: E731
    assert rises(0.03) <= 0.0
    assert rises(0.05) > 0.1


@pytest.mark.parametrize("h", [0.03, 0.1, 0.15])
def test_damping_in_the_step_is_monotone_at_every_step(h):
    run = damped(GRADIENT, h, pv.Feedback(lambda y: [-0.3 * y[0], -0.3 * y[1]]))
    stored = run.ledger.stored[:, 0].values
    assert np.diff(stored).max() <= 1e-13 and stored[-1] - stored[0] < -5.0
    assert run.verdict.kind == "exact"
    assert max(np.abs(gaps(x[:4])).max() for x in run.arrays["states"]) <= 5e-15
    supplied = run.work["joints"].sum("component").values
    assert np.abs(np.diff(stored) - np.diff(supplied)).max() < 1e-13


def test_damping_as_a_relation_is_the_same():
    x = place((0.3, -0.5), (2.0, -3.0))
    law = pv.Feedback(lambda y: [-0.3 * y[0], -0.3 * y[1]])
    relation = pv.Relation(lambda y, u: [u[0] + 0.3 * y[0], u[1] + 0.3 * y[1]])
    a, b = (simulated(GRADIENT, 0.02, 0.4, x, u).arrays["states"][-1] for u in (law, relation))
    assert np.abs(a - b).max() < 1e-10


# -- random systems --------------------------------------------------------------------------------------------------

SYSTEMS = {}


def random_system(seed):
    """Four positions, two curved constraints, a full mass matrix, an energy, losses and ports that depend on r."""
    if seed not in SYSTEMS:
        rng = np.random.default_rng(seed)
        root = rng.uniform(-0.5, 0.5, (4, 4))
        inverse = np.round(root @ root.T + np.eye(4), 4)
        r, p = [f"r{i}" for i in range(4)], [f"p{i}" for i in range(4)]
        c = np.round(rng.uniform(0.3, 1.0, 8), 3)
        kinetic = " + ".join(f"({inverse[i, j] / 2:.5f})*p{i}*p{j}" for i in range(4) for j in range(4))
        field = rng.choice(["cosh(r0)", "r0**4/4 + r1*r2", "log(2 + r1**2)", "sqrt(1 + r0**2 + r2**2)"])
        SYSTEMS[seed] = pv.Constrained(
            r,
            p,
            f"{kinetic} + {field} + {c[0]}*r3**2",
            {
                "shell": f"{c[1]}*r0**2 + {c[2]}*r1**2 + {c[3]}*r2**2 - 1",
                "sheet": f"r3 - {c[4]}*sin(r0) - {c[5]}*r1*r2",
            },
            ports={"push": pv.effort([["1", "0"], ["r1", "0"], ["0", "cos(r2)"], ["0", "1"]])},
            loss=[["0.1 + r0**2/5" if i == j else "0" for j in range(4)] for i in range(4)],
        )
    model, rng = SYSTEMS[seed], np.random.default_rng([seed, 1])
    start = pv.consistent(model, dict(zip(model.states, rng.uniform(-1, 1, 8))))
    return model, start


def exactly(model, x):
    values = {**model.params, **{name: np.longdouble(v) for name, v in zip(model.states, x)}}
    return evaluate(model.energy, values, EXTENDED)


@given(st.integers(0, 2), st.integers(0, 2**20))
@settings(max_examples=12)
def test_balance_of_a_step_of_the_gradient_is_exact(seed, run):
    model, start = random_system(seed)
    rng = np.random.default_rng(run)
    part = pv.compile(model, GRADIENT, 10 ** rng.uniform(-4, -1), start=start, engine="python")
    for _ in range(10):
        before = exactly(model, part.state)
        part.step(rng.uniform(-2, 2, 2))
        assert abs(exactly(model, part.state) - before - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
        assert part.lost >= 0
        place = dict(zip(model.states, part.state))
        assert all(abs(evaluate(g, place)) <= 5e-15 for g in model.constraints.values())
    assert part.verdict.kind == "exact"


def test_balance_over_a_thousand_steps_of_any_size():
    model, start = random_system(1)
    part = pv.compile(model, GRADIENT, 0.02, start=start, engine="python")
    before, total = exactly(model, part.state), np.longdouble(0)
    for k in range(1000):
        part.step([np.sin(0.1 * k), 0.5], dt=0.02 * (1 + 0.5 * np.cos(k)))
        total += part.work.sum() - part.lost
    assert abs(exactly(model, part.state) - before - total) <= 1e-12 * (1 + abs(before))
    assert part.verdict.kind == "exact" and part.iterations <= 6


def test_the_certificate_holds_however_well_the_step_is_solved(monkeypatch):
    """What constraint forces do counts as left by the solver: the defect is ḡ'F + (ΔH − ḡ·d) also where Ḡ Δr ≠ 0."""
    model, start = random_system(0)
    found = {}
    for corrections in (0, 1, 2, None):
        part = pv.compile(model, GRADIENT, 0.05, start=start, engine="python")
        part._section("PROOF", 1)[:] = 1.0
        if corrections is not None:
            monkeypatch.setattr(part.module, "chord", careless(part.module, corrections))
        found[corrections] = 0.0
        for k in range(10):
            part.step([np.sin(k), 0.3])
            _, residual, gap = part._section("PROOF", 3)
            scale = 1 + abs(part.stored) + part._section("SCALE", 1)[0]
            assert abs(created(part.module, part.memory) - residual - gap) <= 1e-14 * scale
            found[corrections] = max(found[corrections], abs(residual))
        monkeypatch.undo()
    assert found[None] < 1e-13 < 1e-12 < found[2] < found[1] < found[0]


def careless(module, corrections):
    """A solver that stops after so many Newton corrections and takes what it has for the solution."""

    def chord(m, h):
        for _ in range(corrections):
            module.assess(m, h)
            module.derive(m, h)
            module.factor(m)
            module.correct(m)
            module.apply(m, 1.0)
        return True

    return chord


def test_the_discrete_jacobian_fits_the_increment():
    """Ḡ Δr = Δg: the constraints do no work, so that h λ'Ḡ is what is missing in the momenta's increment."""
    model, start = random_system(0)
    part = pv.compile(model, GRADIENT, 0.05, start=start, engine="python")
    before = part.state.copy()
    part.step([0.0, 0.0])
    module, m = part.module, part.memory
    step = part.state - before
    mean = m[module.GRADIENT : module.GRADIENT + 8]
    assert step[:4] == pytest.approx(0.05 * mean[4:], rel=1e-12)
    loss = 0.1 + (before[0] + step[0] / 2) ** 2 / 5
    force = (step[4:] / 0.05) + mean[:4] + loss * mean[4:]
    assert abs(force @ step[:4]) < 1e-13 and np.abs(force).max() > 1e-2


def test_a_pendulum_on_a_bar_next_to_rest():
    """1e-9 rad, 10^5 steps of machine code: at most 4 iterations, and the balance is rounding on the bar, which is
    far above what so small a motion has in energy: ε |λ| l² is 1e-16 J, the motion 1e-18 J."""
    model = pv.library.pendulum_chain(1)
    start = pv.consistent(model, {"x1": 2e-10, "y1": -0.2})
    for method, step in (*product(BOTH, (1e-3, 1e-2)), (GRADIENT, 0.1)):
        run = pv.simulate(model, method, step, 1e5 * step, start=start, record_every=1000)
        assert run.steps == 100_000 and run.iterations <= 4
        assert np.abs(run["x1"].values).max() <= 1.01e-9
        assert max(run.verdict.bias, run.verdict.removed) <= 1e-15


def test_convex_kinetic_energies():
    """A particle at the speed limit on a sphere: T = sqrt(1 + p²), no quadratic form."""
    model = pv.Constrained(
        ["x", "y", "z"],
        ["px", "py", "pz"],
        "sqrt(1 + px**2 + py**2 + pz**2) + z",
        {"sphere": "x**2 + y**2 + z**2 - 1"},
        ports={"push": pv.effort([1, 0, 0])},
    )
    start = pv.consistent(model, {"x": 1.0, "py": 1.5, "pz": -0.5, "px": 0.3})
    for method, kind in ((SPLITTING, {"active", "passive", "exact"}), (GRADIENT, {"exact"})):
        run = pv.simulate(model, method, 0.02, 2.0, start=start, inputs={"push": 0.1}, engine="python")
        x, y, z, px, py, pz = run.arrays["states"].T
        speed = np.sqrt(1 + px**2 + py**2 + pz**2)
        assert np.abs(x**2 + y**2 + z**2 - 1).max() <= 5e-15
        assert np.abs((x * px + y * py + z * pz) / speed).max() <= (1e-14 if method is SPLITTING else 1e-2)
        assert run.verdict.kind in kind and run.verdict.bias < 1e-3
        assert run.audit().ok


# -- where there is no step ------------------------------------------------------------------------------------------


def test_beyond_the_fold_a_step_is_cut_or_refused():
    """A turn of about a radian per step has no multipliers; in smaller pieces it has."""
    part = compiled(SPLITTING, 0.1, place((0.0, 0.0), (12.0, 0.0)))
    for _ in range(30):
        part.step([0.0, 0.0])
        assert np.abs(gaps(part.state[:4])).max() <= 5e-15
        assert np.abs(jacobian(part.state[:4]) @ (part.state[4:] / MASS)).max() <= 2e-14
    assert part.cut_steps > 10
    before = part.state.copy()
    with pytest.raises(ConvergenceError, match="no solution"):
        part.step([0.0, 1e7])
    assert (part.state == before).all()


def test_cut_steps_hold_the_input_and_keep_the_balance_of_the_ledger():
    part = compiled(GRADIENT, 0.3, place((0.0, 0.0), (25.0, -40.0)))
    before = energy(part.state)
    for _ in range(10):
        part.step([0.2, -0.1])
    assert energy(part.state) - before == pytest.approx(part.memory[part.module.ACCOUNTS], abs=1e-11)
    assert part.verdict.kind == "exact"


def test_a_start_off_the_constraints_is_an_error_with_an_offer():
    model = pv.library.double_pendulum()
    with pytest.raises(
        InputError, match=r"upper is off by 0\.0121.*pv\.consistent\(model, start\) gives it: ax = 0\.6"
    ):
        pv.simulate(model, SPLITTING, start={"ax": 0.61, "ay": 0.0, "bx": 0.9, "by": 0.0}, engine="python")
    with pytest.raises(InputError, match=r"upper is off by 0, its rate by 6"):
        pv.simulate(model, SPLITTING, start=start_of((0, 0), (0, 0)) | {"pax": 1.0}, engine="python")
    mended = pv.consistent(model, {"ax": 0.61, "ay": 0.05, "bx": 0.9, "by": -0.1, "pax": 1.0, "pby": 0.2})
    run = pv.simulate(model, SPLITTING, 0.01, 0.1, start=mended, engine="python")
    assert run.start == mended and run.audit().ok
    with pytest.raises(InputError, match="no state that keeps the constraints"):
        pv.consistent(model, {"ax": 0.0, "ay": 0.0, "bx": 0.0, "by": 0.0})


def test_the_nearest_state_is_nearest_by_kinetic_energy():
    """Momenta lose just their share across the constraints: G W (p − p̄) = 0 and p̄ lies along them."""
    model, x = pv.library.double_pendulum(), place((0.3, -0.5))
    p = np.array([0.3, -0.2, 0.5, 0.1])
    found = pv.consistent(model, dict(zip(model.states, [*x[:4], *p])))
    near, jac = np.array([found[name] for name in model.momenta]), jacobian(x[:4])
    strength = np.linalg.lstsq(jac.T, p - near, rcond=None)[0]
    assert jac.T @ strength == pytest.approx(p - near, abs=1e-14)
    assert jac @ (near / MASS) == pytest.approx(np.zeros(2), abs=1e-14)


def test_a_parameter_that_moves_the_constraints_moves_the_state_and_is_booked():
    for method in BOTH:
        part = compiled(method, 0.005)
        for _ in range(20):
            part.step([0.1, 0.0])
        before, state = part.stored, part.state.copy()
        part.set(la=0.65)
        r = part.state
        assert abs(r[0] ** 2 + r[1] ** 2 - 0.65**2) < 1e-15 and np.abs(r - state).max() > 0.01
        assert part._account(0)[4] == pytest.approx(part.stored - before, abs=1e-15)
        near = pv.consistent(part.model.with_params(la=0.65), {"ax": 0.65, "ay": 0.05, "bx": 0.9, "by": 0.1})
        before, edited = part.stored, part._account(0)[4]
        part.place(near)  # what the offer gives is entered as edited, too
        assert part._account(0)[4] - edited == pytest.approx(part.stored - before, abs=1e-15) != 0.0
        part.step([0.1, 0.0])
        state = part.state.copy()
        part.set(g=1.0)  # the constraints stay where they are, and so does the state
        assert (part.state == state).all()
        with pytest.raises(InputError, match="does not keep the constraints"):
            part.place({"ax": 1.0})
        assert (part.state == state).all()


def test_a_stretched_linkage_cannot_start():
    """Crank and coupler in line with the base: the bars' forces are not determined there."""
    model = pv.library.four_bar(crank=0.1, coupler=0.4, rocker=0.1, base=0.4)  # a parallelogram, flat
    flat = {"ax": 0.1, "ay": 0.0, "bx": 0.5, "by": 0.0}
    with pytest.raises(pv.ModelError, match="not independent at the start"):
        pv.simulate(model, SPLITTING, start=flat, engine="python")


# -- which methods take which models ---------------------------------------------------------------------------------


def test_other_methods_refuse_constraints_and_name_those_that_keep_them():
    from passivo.method.catalogue import GENERAL

    model = pv.library.double_pendulum()
    for cls in GENERAL.values():
        with pytest.raises(MethodError, match=r"upper, lower.*take ConstrainedSplitting or ConstrainedGradient"):
            pv.compile(model, cls())
    for method in BOTH:
        with pytest.raises(MethodError, match="has none"):
            pv.compile(pv.library.pendulum(), method)
    with pytest.raises(pv.ModelError, match="Monolithic does not keep"):
        pv.Monolithic({"a": model})


def test_what_the_splitting_does_not_take():
    model = pv.library.double_pendulum()
    with pytest.raises(MethodError, match=r"pv\.Held"):
        pv.simulate(model, SPLITTING, inputs={"joints": pv.Feedback(lambda y: [-y[0], -y[1]])})
    with pytest.raises(MethodError, match="no equation to solve a Relation in"):
        pv.simulate(model, SPLITTING, inputs={"joints": pv.Relation(lambda y, u: [y[0] + u[0], u[1]])})
    with pytest.raises(MethodError, match="takes no loss"):
        pv.compile(pv.library.squeezer(b=0.1), SPLITTING)
    mixed = pv.Constrained(["x", "y"], ["px", "py"], "(px**2 + py**2)/(2*(1 + x**2))", {"line": "x + y"})
    with pytest.raises(MethodError, match="mixes positions and momenta"):
        pv.compile(mixed, SPLITTING)
    assert (
        pv.simulate(mixed, GRADIENT, 0.1, 1.0, start={"px": 1.0, "py": -1.0}, engine="python").verdict.kind == "exact"
    )


# -- what is recorded ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH, ids=name_of)
def test_multipliers_are_recorded_saved_and_audited(method, tmp_path):
    x = place((0.3, -0.5), (2.0, -3.0))
    run = simulated(method, 0.01, 0.3, x, [0.4, -0.3])
    assert run["upper"].attrs["units"] == "N/m" and np.isnan(run["upper"][0]) and run["upper"].shape == (31,)
    assert run["lower"][1] == pytest.approx(rate(x, np.array([0.4, -0.3]))[1][1], rel=0.1)
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert np.array_equal(again["upper"], run["upper"], equal_nan=True)
    assert again.model.describe() == run.model.describe()
    assert run.audit().ok and pv.audit(tmp_path / "run.zarr").ok
    assert "upper [N/m]" in run.columns()
    again.arrays["recorded"][7, 0] *= 1.001
    assert any("recorded upper" in finding for finding in again.audit().findings)
    thin = simulated(method, 0.01, 0.3, x, [0.4, -0.3], record_every=7)
    assert float(thin["upper"][1]) == pytest.approx(float(run["upper"][1:8].mean()), rel=1e-12) and thin.audit().ok


def test_a_hanging_chain_carries_its_weight():
    """Tension 2 l λ of bar i: the weight of all masses below."""
    model = pv.library.pendulum_chain(4)
    for method in BOTH:
        run = pv.simulate(model, method, 0.01, 0.05, engine="python")
        for i in range(1, 5):
            tension = 2 * 0.2 * run[f"bar{i}"].values[1:]
            assert tension == pytest.approx(np.full(5, (5 - i) * 0.1 * 9.81), rel=1e-9)


def test_they_are_compared_with_each_other():
    start = {"x1": 0.2, "y1": 0.0}
    found = pv.compare(pv.library.pendulum_chain(1), step=0.01, until=0.3, start=start, engine="python")
    assert [entry.title for entry in found.entries] == ["ConstrainedSplitting", "ConstrainedGradient"]
    assert found.reference.accuracy < 1e-9 and all(1e-5 < entry.error < 1e-2 for entry in found.entries)


def test_in_machine_code_and_in_a_network():
    """A pendulum pulled by a spring that steps for itself; and the compiled step is that of plain Python."""
    net = pv.Network()
    chain = net.add("chain", pv.library.pendulum_chain(1), GRADIENT, step=1e-3)
    spring = net.add("spring", pv.System(
        ["e0", "e1"], "20*(e0**2 + e1**2)", ports={"end": pv.flow([[1, 0], [0, 1]])}, minimum={"e0": 0.0},
    ), pv.AVF(), step=1e-3)  # fmt: skip
    net.connect(chain["end"], spring["end"], through=pv.Direct(), name="link")
    run = pv.simulate(net, until=0.2, start={"spring.e0": 0.02}, engine="python")
    assert run["chain.bar1"].shape == (201,) and run.part("chain").verdict.kind == "exact"
    assert run.audit().ok
    table = pv.sweep(pv.library.pendulum_chain(1), GRADIENT, 0.01, 0.05, over={"m": [0.1, 0.2]}, keep=["bar1"])
    assert table["bar1"][1] == pytest.approx(2 * float(table["bar1"][0]), rel=1e-9)
    model, swung = pv.library.pendulum_chain(1), {"x1": 0.2, "y1": 0.0}
    part, plain = (pv.compile(model, SPLITTING, 0.01, start=swung, engine=engine) for engine in ("numba", "python"))
    for _ in range(50):
        part.step([0.4, -0.3])
        plain.step([0.4, -0.3])
    assert part.state == pytest.approx(plain.state, abs=1e-12) and part.iterations == plain.iterations
