"""Sparse linear systems (spec 4.1): the step, the balance, three schemes, the band, runs, audits and bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import passivo as pv
from passivo.errors import InputError, MethodError, ModelError
from passivo.model.describe import model_from

SCHEMES = {pv.PassiveMidpoint(): (2, 0.5, 1), pv.ImplicitEuler(): (1, 1, 1), pv.SymplecticEuler(): (1, 0, 0)}


def random_linear(seed, n=7, strains=False, damped=True):
    """M, K, B, P, and the system: some coordinates far apart are joined, so that the order changes."""
    rng = np.random.default_rng(seed)
    square = lambda: np.tril(rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.3)) + np.eye(n)  # noqa: E731
    A, B, C = square(), square(), square()
    M, D, P = A @ A.T + 0.3 * np.eye(n), 0.3 * C @ C.T * damped, rng.standard_normal((n, 3))
    rest = rng.standard_normal((n + 2, n)) * (rng.random((n + 2, n)) < 0.4)
    E = np.diag(rng.uniform(10, 50, n + 2))
    K = rest.T @ E @ rest if strains else 50 * B @ B.T
    ports = {"f": pv.effort(sp.csr_array(P[:, :2])), "g": pv.effort(P[:, 2])}
    stiffness = (sp.csr_array(rest), sp.csr_array(E)) if strains else sp.csr_array(K)
    rayleigh = (0.2, 0.01) if damped else (0.0, 0.0)
    model = pv.Linear(sp.csr_array(M), stiffness, sp.csr_array(D) if damped else None, ports, rayleigh=rayleigh)
    return (M, K, D + rayleigh[0] * M + rayleigh[1] * K, P), model


def start_of(model, x, v):
    return dict(zip((*model.coordinates, *model.rates), (*x, *v)))


@pytest.mark.parametrize("strains", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", SCHEMES, ids=lambda method: type(method).__name__)
def test_one_step_is_the_linear_system_of_the_spec(method, seed, strains):
    """(c M + late B + stretch K) v̂ = c M v − K x − early B v + f; of passive midpoint ΔH = T f·v̂ − T v̂'B v̂ to 1e-11,
    of the others what spec 4.1 says beside; at steps that change."""
    (M, K, B, P), model = random_linear(seed, strains=strains)
    rng = np.random.default_rng(100 + seed)
    n = len(M)
    x, v = rng.standard_normal(n), rng.standard_normal(n)
    part = pv.compile(model, method, 1e-2, start=start_of(model, x, v), engine="python")
    c, share, late = SCHEMES[method]
    order = list(model.matrices.order)
    for T in (0.05, 0.05, *rng.uniform(1e-3, 0.1, 6)):
        u, T = rng.standard_normal(3), float(T)
        f, before = P @ u, part.stored
        A = c * M / T + late * B + share * T * K
        hat = np.linalg.solve(A, c * M @ v / T - K @ x - (1 - late) * B @ v + f)
        new = 2 * hat - v if c == 2 else hat
        dx, dv, lost = T * hat, new - v, T * hat @ B @ (hat if late else v)
        x, v = x + dx, new
        part.step(u, dt=T)
        assert np.allclose(part.state[:n], x[order], rtol=1e-9, atol=1e-11)
        assert np.allclose(part.state[n:], v[order], rtol=1e-9, atol=1e-10)
        assert np.allclose(part.work, T * u * (P.T @ hat), rtol=1e-9, atol=1e-12)
        assert np.allclose(part.output, P.T @ v, rtol=1e-9, atol=1e-10)
        assert part.lost == pytest.approx(lost, rel=1e-9, abs=1e-12)
        beside = {2: 0.0, 1: -dv @ M @ dv / 2 + (dx @ K @ dx / 2) * (-1 if share else 1)}[c]
        balance = part.stored - before - T * f @ hat + lost - beside
        assert abs(balance) < 1e-11 * (part.stored + before)
    assert part.stored == pytest.approx(v @ M @ v / 2 + x @ K @ x / 2, rel=1e-9)
    assert c == 1 or part.verdict.kind == "exact"


def chain(n, reach=1):
    """Springs between neighbours up to `reach` apart, numbered at random."""
    rng = np.random.default_rng(n)
    K = sum(sp.diags_array([-np.ones(n - k)] * 2, offsets=[k, -k]) for k in range(1, reach + 1))
    K = K + sp.diags_array(1.0 + 2.0 * reach * np.ones(n))
    mix = rng.permutation(n)
    return sp.csr_array(sp.eye_array(n)), sp.csr_array(1e4 * K)[mix][:, mix]


@pytest.mark.parametrize("reach", [1, 4, 7])
def test_coordinates_are_ordered_so_that_the_band_is_narrow(reach):
    M, K = chain(30, reach)
    model = pv.Linear(M, K)
    i, j = K.nonzero()
    assert abs(i - j).max() > 20 > 2 * reach + 2 >= len(model.matrices.stiff) - 1
    x = np.random.default_rng(0).standard_normal(30)
    run = pv.simulate(model, pv.PassiveMidpoint(), 1e-2, 0.05, start={"x": x}, engine="python")
    assert np.array_equal(run["x"].values[0], x) and run["v"].shape == (6, 30)
    assert np.array_equal(run["x"].values[:, 3], run["x4"].values)
    assert run.verdict.kind == "exact"


def test_rows_of_the_ledger_and_changes_by_hand():
    (_, K, _, _), model = random_linear(1, damped=False)
    part = pv.compile(model, pv.PassiveMidpoint(), 1e-2, start={"x1": 0.3}, engine="python")
    part.step([1.0, 0.0, 0.0])
    state, before = part.state.copy(), part.stored
    part.set(stiffness=2.0, mass_damping=0.5)
    order = list(model.matrices.order)
    x = np.empty(len(order))
    x[order] = state[: len(order)]
    assert part.stored - before == pytest.approx(x @ K @ x / 2)
    twin = part.copy()
    for each in (part, twin):
        each.step([1.0, 0.0, 0.0])
    assert np.array_equal(part.state, twin.state) and part.lost > 0
    fresh = pv.compile(model.with_params(stiffness=2.0, mass_damping=0.5), pv.PassiveMidpoint(), 1e-2, engine="python")
    fresh.state[:] = state
    fresh.step([1.0, 0.0, 0.0])
    assert np.array_equal(part.state, fresh.state)
    assert part.verdict.kind == "exact" and list(part.module.ROW_NAMES) == ["kinetic", "elastic", "total"]
    with pytest.raises(ModelError, match="'stiffness' of 'linear' must be >= 0"):
        part.set(stiffness=-1.0)


@pytest.mark.parametrize("keep", [None, ("x3", "v1")])
def test_saved_loaded_and_audited(tmp_path, keep):
    (M, K, B, P), _ = random_linear(2)
    model = pv.Linear(sp.csr_array(M), sp.csr_array(K), sp.csr_array(B), {"f": pv.effort(P)}, keep=keep)
    inputs = {"f": (1.0, 0.0, -1.0)}
    run = pv.simulate(model, pv.PassiveMidpoint(), 1e-2, 0.2, start={"x1": 0.1}, inputs=inputs, engine="python")
    assert run.arrays["states"].shape[1] == (14 if keep is None else 2)
    assert set(run.work) == {"f"} and run["x3"].shape == (21,)
    run.save(tmp_path / "run.zarr")
    loaded = pv.load(tmp_path / "run.zarr")
    assert loaded["x3"].equals(run["x3"])
    audit = loaded.audit()
    assert audit.ok, audit
    assert ("bit for bit" in audit.how) == (keep is not None)
    if keep is None:
        loaded.arrays["states"][5, 2] += 1e-6
        assert not loaded.audit().ok
    else:
        with pytest.raises(InputError, match="no 'x1'"):
            run["x1"]


def test_a_step_that_failed_leaves_nothing_behind():
    """Also where the band is wide: what its kernels find behind the last coordinate is 0 again."""
    n = 30
    sides = np.random.default_rng(0).uniform(1, 2, (n, n))
    joined = np.triu(np.tril(sides + sides.T, 6), -6)
    model = pv.Linear(
        sp.csr_array(np.eye(n)), sp.csr_array(20 * n * np.eye(n) - joined), ports={"f": pv.effort(np.eye(n, 1))}
    )
    assert model.matrices.band > 3
    one, other = (pv.compile(model, pv.PassiveMidpoint(), 1e-2, engine="python") for _ in range(2))
    for part in (one, other):
        part.step([1.0])
    with pytest.raises(pv.StepError):
        for _ in range(3):
            one.step([1e308])
    for part in (one, other):
        part.step([1.0])
    assert (one.state == other.state).all()


def test_a_description_gives_the_same_system():
    _, model = random_linear(3, strains=True)
    for twin in (model_from(model.describe()), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.describe() == model.describe() and np.array_equal(twin.figures, model.figures)


def test_machine_code_steps_as_plain_python_does():
    _, model = random_linear(4, n=9, strains=True)
    runs = [
        pv.simulate(
            model, pv.PassiveMidpoint(), 1e-2, 0.3, start={"x1": 0.3, "v2": 1.0}, inputs={"g": 2.0}, engine=engine
        )
        for engine in ("python", "numba")
    ]
    assert np.allclose(runs[0].arrays["states"], runs[1].arrays["states"], rtol=1e-9, atol=1e-12)
    assert [run.verdict.kind for run in runs] == ["exact", "exact"]


def test_in_a_network_behind_a_sample_and_hold(tmp_path):
    M, K = chain(6)
    net = pv.Network()
    part = net.add("chain", pv.Linear(M, K, ports={"end": pv.effort(np.eye(6)[0])}), pv.PassiveMidpoint(), step=2e-3)
    spring = net.add("spring", pv.library.spring(k=300.0), pv.AVF(), step=1e-3)
    net.connect(spring["end"], part["end"], through=pv.PassiveSampleHold(), name="link")
    run = pv.simulate(net, until=0.1, start={"chain.x": np.ones(6) * 0.01}, engine="python")
    assert run.verdict.kind == "booked" and run.verdict.parts["chain.elastic"].kind == "exact"
    run.save(tmp_path / "run.zarr")
    audit = pv.load(tmp_path / "run.zarr").audit()
    assert audit.ok, audit


EYE = sp.csr_array(np.eye(3))
BAD = [
    ({"K": -EYE}, "the stiffness K has -1 on its diagonal in row 1: a negative stiffness"),
    ({"K": sp.csr_array([[1, 2, 0], [2, 1, 0], [0, 0, 1.0]])}, "the stiffness K has a negative eigenvalue"),
    ({"K": (EYE, -EYE)}, "the stress matrix E has -1 on its diagonal"),
    ({"M": 0 * EYE}, "the mass matrix M has 0 on its diagonal"),
    ({"M": sp.csr_array([[1, 2, 0], [2, 1, 0], [0, 0, 1.0]])}, "the mass matrix M is not positive definite"),
    ({"B": -EYE}, "the damping B has -1"),
    ({"K": sp.csr_array(np.eye(4))}, "the stiffness K is 4 × 4, M is 3 × 3"),
    ({"K": sp.csr_array(np.triu(np.ones((3, 3))))}, "the stiffness K is not symmetric"),
    ({"K": (EYE, sp.csr_array(np.eye(4)))}, "D is 3 × 3, E is 4 × 4"),
    ({"K": np.nan * EYE}, "not finite"),
    ({"rayleigh": (-1.0, 0.0)}, "'mass_damping' of 'linear' must be >= 0"),
    ({"keep": ("x9",)}, "keep names 'x9'"),
    ({"ports": {"f": pv.effort([1, 0])}}, "port 'f' has 2 rows for 3 coordinates"),
    ({"ports": {"f": pv.flow([1, 0, 0])}}, "must be a pv.effort"),
    ({"coordinates": ("a", "b")}, "2 coordinates are named"),
]


@pytest.mark.parametrize("change, sentence", BAD)
def test_systems_that_cannot_be(change, sentence):
    with pytest.raises(ModelError, match=sentence.replace("(", r"\(")):
        pv.Linear(**{"M": EYE, "K": EYE, **change})


def test_what_does_not_go_with_matrices_says_so():
    model = pv.Linear(EYE, EYE, ports={"f": pv.effort([1, 0, 0])})
    with pytest.raises(MethodError, match=r"take pv\.PassiveMidpoint"):
        pv.compile(model, pv.AVF(), engine="python")
    with pytest.raises(ModelError, match="takes no Feedback"):
        pv.simulate(model, pv.PassiveMidpoint(), inputs={"f": pv.Feedback(lambda y: -y)}, engine="python")
    with pytest.raises(ModelError, match="put a body between"):
        model.coupled("f", "link", 10.0, 1.0)
