"""ExactHold: the held step against SciPy's matrix exponential, its loss, the ledger identity of its sampled port."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import passivo as pv
from strategies import linear

K, M, T = 5000.0, 0.2, 1e-3


def compiled(model, method, step, x=None, **options):
    start = None if x is None else dict(zip(model.states, x))
    return pv.compile(model, method, step, start=start, engine="python", **options)


def debt(part):
    """HBK."""
    return part._section("BOOKS", 2).sum()


def exact(Q, J, R, G, x, u, h, pieces=32):
    """State after h under a held input, ∫y dt and ∫g'Rg dt, by expm and the Gauss rule of 16 nodes on every piece."""
    n = len(x)
    M = np.zeros((n + 1, n + 1))
    M[:n, :n], M[:n, n] = (J - R) @ Q, G @ u
    nodes, weights = np.polynomial.legendre.leggauss(16)
    inside, across = [expm(M * h / pieces * (1 + c) / 2) for c in nodes], expm(M * h / pieces)
    at, means, lost = np.array([*x, 1.0]), np.zeros(len(u)), 0.0
    for _ in range(pieces):
        for weight, matrix in zip(weights * h / pieces / 2, inside):
            g = Q @ (matrix @ at)[:n]
            means, lost = means + weight * (G.T @ g), lost + weight * (g @ R @ g)
        at = across @ at
    return at[:n], means, lost


@given(st.integers(0, 3), st.integers(2, 6), st.integers(0, 2**20))
def test_the_true_port_against_scipy(seed, n, run):
    model, Q, J, R, G = linear(seed, n)
    rng = np.random.default_rng(run)
    h, x, u = float(10 ** rng.uniform(-3, 0.7)), rng.uniform(-1, 1, n), rng.normal(size=2)
    part = compiled(model, pv.ExactHold("true"), h, x)
    part.step(u)
    state, means, lost = exact(Q, J, R, G, x, u, h)
    assert part.state == pytest.approx(state, rel=1e-11, abs=1e-12)
    assert part.work == pytest.approx(means * u, rel=1e-10, abs=1e-12)
    assert part.mean_output == pytest.approx(means / h, rel=1e-10, abs=1e-12)
    assert part.lost == pytest.approx(lost, rel=1e-10, abs=1e-12)
    for _ in range(20):
        part.step(rng.normal(size=2))
    assert part.verdict.kind == "exact" and not any(part.faults.values())


@given(st.integers(0, 3), st.integers(2, 6), st.integers(0, 2**20))
def test_the_ledger_identity_of_the_sampled_port(seed, n, run):
    """H − HBK − H0 − Σ (T y(k)'u − lost) = 0, with the exact loss; only the port's mismatch is corrected."""
    model, Q, _, _, G = linear(seed, n)
    rng = np.random.default_rng(run)
    h, x = float(10 ** rng.uniform(-2, 0.5)), rng.uniform(-1, 1, n) * rng.choice([0.0, 1.0])
    part = compiled(model, pv.ExactHold(), h, x)
    first, total, moved = x @ Q @ x / 2, 0.0, 0.0
    for _ in range(20):
        u, y = rng.normal(size=2), G.T @ Q @ part.state
        part.step(u)
        assert part.work == pytest.approx(h * y * u, rel=1e-12, abs=1e-13)
        dH = h * y @ u - part.lost
        total, moved = total + dH, moved + abs(dH) + part.lost
        H = part.state @ Q @ part.state / 2
        assert abs(H - debt(part) - first - total) <= 1e-12 * (first + moved + H)


@pytest.mark.parametrize("b", [0.0, 10.0, 410.0, 1e4])
def test_exact_decay_without_faults(b):
    """b = 410 is where EnergyConsistent leaps in every step; the exact hold does not care, nor at bT/m = 50."""
    run = pv.simulate(
        pv.library.oscillator(K, M, b), pv.ExactHold(), T, 0.2, start={"q": 0.2, "p": 1.0}, engine="python"
    )  # fmt: skip
    A = np.array([[0.0, 1 / M], [-K, -b / M]])
    states = np.array([expm(A * t) @ [0.2, 1.0] for t in run.time])
    assert run.arrays["states"] == pytest.approx(states, rel=1e-9, abs=1e-12 * abs(states).max())
    assert not any(run.faults.values()) and run.verdict.kind == "exact"


def test_the_exact_period():
    run = pv.simulate(pv.library.oscillator(K, M), pv.ExactHold(), T, 1.0, start={"q": 0.2}, engine="python")
    assert run["q"].values == pytest.approx(0.2 * np.cos((K / M) ** 0.5 * run.time), abs=1e-12)


@pytest.mark.parametrize("port", ["true", "sampled"])
@pytest.mark.parametrize("turn", [1e-3, 0.3, 10.0, 100.0])
def test_lossless_for_any_step(port, turn):
    part = compiled(pv.library.oscillator(K, M), pv.ExactHold(port), turn / (K / M) ** 0.5, [0.2, 0.0])
    for _ in range(300):
        part.step([0.0])
    assert part.verdict.kind == "exact" and part.stored == pytest.approx(100.0, rel=1e-11)


FALLING = pv.Mechanical(
    ["q"], mass="m", potential="m*g*q", ports={"force": pv.effort([1])}, params={"m": 2.0, "g": 9.81}, name="falling"
)  # fmt: skip


def test_a_mass_without_a_spring_in_gravity():
    """H = p²/2m + m g q: singular, with a linear term, without a minimum."""
    run = pv.simulate(
        FALLING, pv.ExactHold("true"), 0.1, 5.0, start={"q": 1.0, "p": 3.0}, inputs={"force": 0.5}, engine="python"
    )  # fmt: skip
    fall = 1 + 1.5 * run.time - (9.81 - 0.25) * run.time**2 / 2
    assert run["q"].values == pytest.approx(fall, rel=1e-12, abs=1e-12) and run.verdict.kind == "exact"
    assert run.work["force"].values == pytest.approx(0.5 * (fall - 1), rel=1e-11, abs=1e-12)


def test_free_mass():
    part = compiled(pv.library.mass(m=0.5), pv.ExactHold("true"), 0.1, [1.0])
    part.step([2.0])
    assert part.state == pytest.approx([1.2]) and part.work == pytest.approx([2.0 * (0.2 + 2.0 * 0.01)])


def test_a_hanging_mass_with_a_sampled_port():
    """Quadratic and linear terms: heights are above the rest position."""
    hanging = pv.Mechanical(
        ["q"], mass="m", potential="k*q**2/2 + m*g*q", loss="b", ports={"force": pv.effort([1])},
        params={"m": 2.0, "g": 9.81, "k": 40.0, "b": 1.0}, minimum={"q": "-m*g/k"},
    )  # fmt: skip
    part = compiled(hanging, pv.ExactHold(), 0.05, [0.3, 0.0])
    first, total = part.stored, 0.0
    for k in range(100):
        part.step([np.sin(k)])
        total += part.work[0] - part.lost
        assert part.stored - debt(part) - first == pytest.approx(total, abs=1e-11)
    assert part.verdict.passive


def test_matrices_follow_step_and_parameters():
    """A changed dt and a changed parameter give the same step as a part that was made with them."""
    part = compiled(pv.library.oscillator(40.0, 1.0, b=0.5), pv.ExactHold("true"), 0.1, [1.0, 0.0])
    part.step([1.0])
    for change in ({"dt": 0.03}, {"k": 90.0}, {"dt": 0.1}):
        x = part.state.copy()
        dt = change.pop("dt", None) or 0.1
        if change:
            part.set(**change)
        fresh = compiled(pv.library.oscillator(part.params["k"], 1.0, b=0.5), pv.ExactHold("true"), dt, x)
        part.step([0.7], dt)
        fresh.step([0.7])
        assert part.state.tolist() == fresh.state.tolist() and part.lost == fresh.lost


def test_matrices_are_kept_while_nothing_changes(monkeypatch):
    part = compiled(pv.library.oscillator(), pv.ExactHold(), T, [0.2, 0.0])
    made = []
    hold = part.module.hold
    monkeypatch.setattr(part.module, "hold", lambda m, h: made.append(h) or hold(m, h))
    for dt in (None, None, 2 * T, 2 * T, None):
        part.step([0.0], dt)
    part.set(k=100.0)
    part.step([0.0])
    part.step([0.0])
    assert made == [T, 2 * T, T, T]


def test_a_composition_has_an_exact_ledger_in_every_row():
    parts = {
        "spring": pv.library.spring(k=3.0),
        "mass": pv.library.mass(m=2.0, ports=("a", "b", "out")),
        "damper": pv.library.damper(b=0.7),
    }
    model = pv.Monolithic(parts, [("spring.end", "mass.a", "link"), ("damper.end", "mass.b", "brake")])
    inputs = {"mass.out": lambda t: 0.3 * pv.sin(1.3 * t)}
    run = pv.simulate(
        model, pv.ExactHold("true"), 0.2, 20.0, start={"spring.q": 1.0}, inputs=inputs, engine="python"
    )  # fmt: skip
    assert run.verdict.kind == "exact" and {part.kind for part in run.verdict.parts.values()} == {"exact"}
    sampled = pv.simulate(model, pv.ExactHold(), 0.2, 20.0, start={"spring.q": 1.0}, inputs=inputs, engine="python")
    assert sampled.verdict.passive and float(sampled.ledger.lost.sel(part="damper")[-1]) > 0.1


def test_a_part_without_states():
    part = compiled(pv.library.damper(b=2.0), pv.ExactHold("true"), 0.1)
    part.step([3.0])
    assert part.lost == pytest.approx(1.8) and part.work == pytest.approx([1.8]) and part.verdict.kind == "exact"


@pytest.mark.parametrize("port", ["true", "sampled"])
def test_saved_loaded_and_audited(port, tmp_path):
    run = pv.simulate(
        pv.library.oscillator(K, M, 2.0), pv.ExactHold(port), T, 0.1, start={"q": 0.02},
        inputs={"force": lambda t: 30 * pv.sin(130 * t)}, engine="python",
    )  # fmt: skip
    run.save(tmp_path / "run.zarr")
    assert pv.load(tmp_path / "run.zarr").verdict == run.verdict
    report = pv.audit(tmp_path / "run.zarr")
    assert report.ok, str(report)


def test_a_run_cut_in_two_is_one_run():
    whole, first = (compiled(pv.library.oscillator(K, M, 2.0), pv.ExactHold(), T, [0.05, 0.0]) for _ in range(2))
    for k in range(40):
        whole.step([np.sin(k)])
        if k < 20:
            first.step([np.sin(k)])
    second = first.copy()
    for k in range(20, 40):
        second.step([np.sin(k)])
    assert whole.memory.tolist() == second.memory.tolist()


def test_machine_code_and_plain_python_agree():
    model, *_ = linear(0, 3)
    runs = [
        pv.simulate(
            model, pv.ExactHold(), 0.1, 5.0, start={"x0": 1.0}, engine=engine,
            inputs={"a": lambda t: pv.sin(t), "b": 0.3},
        )
        for engine in ("numba", "python")
    ]  # fmt: skip
    assert runs[0].arrays["states"] == pytest.approx(runs[1].arrays["states"], rel=1e-11, abs=1e-13)
    assert runs[0].faults == runs[1].faults and runs[0].verdict.kind == runs[1].verdict.kind


VARYING = pv.System(["q", "p"], "q**2 + p**2", [[0, "1 + q"], ["-1 - q", 0]], minimum={"q": 0.0})
CLUTCH = pv.System(["q"], "q**2/2", loss=[["grip**2"]], signals=["grip"], minimum={"q": 0.0})


@pytest.mark.parametrize(
    ("options", "model", "says"),
    [
        ({}, pv.library.pendulum(), "energy is not quadratic; take EnergyConsistent or AVF"),
        ({}, VARYING, "structure depends on 'q'"),
        ({}, CLUTCH, "loss depends on 'grip'"),
        ({"port": "tru"}, None, "did you mean 'true'"),
        ({"alpha": 2.0}, None, "alpha"),
        ({}, FALLING, "give it minimum="),
    ],
    ids=str,
)
def test_what_it_refuses(options, model, says):
    with pytest.raises(pv.MethodError, match=says):
        compiled(model or pv.library.oscillator(), pv.ExactHold(**options), T)


def test_feedback_is_held():
    """u = −2 y(k), held over the step: the exact solution under that force."""
    law = {"force": pv.Feedback(lambda y: -2 * y)}
    part = compiled(pv.library.oscillator(4.0, 1.0), pv.ExactHold("true"), 0.3, [1.0, 0.5], laws=law)
    held = compiled(pv.library.oscillator(4.0, 1.0), pv.ExactHold("true"), 0.3, [1.0, 0.5])
    part.step()
    held.step([-1.0])
    assert part.state.tolist() == held.state.tolist()
    with pytest.raises(pv.MethodError, match="Relation"):
        compiled(pv.library.oscillator(), pv.ExactHold(), T, laws={"force": pv.Relation(lambda y, u: y + u)})


def test_the_book_is_paid_back_while_there_is_energy():
    """A debt fades by alpha in every step; a system without energy cannot pay."""
    part = compiled(pv.library.oscillator(K, M, 2.0), pv.ExactHold(), T, [0.2, 0.0])
    part.memory[part.module.BOOKS] = 5.0
    for k in range(1, 31):
        part.step([0.0])
        assert debt(part) == pytest.approx(5.0 * 0.8**k, abs=1e-11)
    poor = compiled(pv.library.oscillator(K, M, 2.0), pv.ExactHold(), T)
    for u in np.random.default_rng(1).normal(size=50) * 30:
        poor.step([u])
    assert poor.faults["deadlock"] >= 1 and debt(poor) > 0 and poor.verdict.kind == "active"
