"""Feedback, relations, stages and signals, each method against an independent computation."""

import numpy as np
import pytest
from scipy.optimize import fsolve

import passivo as pv
from passivo.method.catalogue import GENERAL
from passivo.model.expression import evaluate
from strategies import build

IMPLICIT = [
    pv.AVF(),
    pv.Gonzalez(),
    pv.SymmetrisedItohAbe(),
    pv.ClosedLoopAVF(),
    pv.ImplicitMidpoint(),
    pv.ImplicitEuler(),
]
EVERY = [cls() for cls in GENERAL.values() if cls is not pv.Composition]  # that one refuses what loses power
SPECIAL = pv.ExactHold | pv.Kahan | pv.PassiveMidpoint
GENERAL = [method for method in EVERY if not isinstance(method, SPECIAL)]  # those need a special model
name_of = lambda method: type(method).__name__ + getattr(method, "variant", "")  # noqa: E731
MICROPHONE = pv.Relation(lambda y, u: y + 8 * u**3)


def compiled(model, method, step, **options):
    return pv.compile(model, method, step, engine="python", **options)


def used(part):
    """The inputs that the last step used."""
    return part._section("USED", part.module.WIDTH).copy()


@pytest.mark.parametrize("method", [m for m in GENERAL if not isinstance(m, pv.SAV)], ids=name_of)
def test_feedback(method):
    """u = −atan(3y): between the means for methods with one stage, at every stage for the others."""
    law = pv.Feedback(lambda y: -pv.atan(3 * y))
    part = compiled(pv.library.pendulum(), method, 0.1, start={"q": 2.0, "p": 0.5}, laws={"torque": law})
    for _ in range(10):
        part.step()
        y, u = part.mean_output[0], used(part)[0]
        if isinstance(method, pv.ClosedLoopAVF) or len(method.nodes) > 1:
            continue
        assert u == pytest.approx(-np.arctan(3 * y), rel=1e-12)
        assert part.work[0] == pytest.approx(0.1 * y * u, rel=1e-12)
    assert part.work[0] < 0


def test_feedback_of_the_closed_loop_average_is_averaged_with_the_field():
    """Work = h ∫ y φ(y) dτ along the straight line; y = p here."""
    law = pv.Feedback(lambda y: -pv.atan(3 * y))
    part = compiled(pv.library.pendulum(), pv.ClosedLoopAVF(), 0.3, start={"q": 2.0, "p": 0.5}, laws={"torque": law})
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for _ in range(3):
        x = part.state.copy()
        part.step()
        p = x[1] + (nodes + 1) / 2 * (part.state[1] - x[1])
        assert part.work[0] == pytest.approx(0.3 * weights / 2 @ (-np.arctan(3 * p) * p), rel=1e-9)
        assert part.mean_output[0] == pytest.approx((x[1] + part.state[1]) / 2, rel=1e-12)


@pytest.mark.parametrize("method", [pv.Heun(), pv.RK4()], ids=name_of)
def test_feedback_at_the_stages_of_runge_kutta(method):
    """Feedback at every stage is the closed-loop field: the same steps as with the law in the loss."""
    damped = compiled(pv.library.pendulum(b=0.4), method, 0.1, start={"q": 2.0})
    fed = compiled(
        pv.library.pendulum(), method, 0.1, start={"q": 2.0}, laws={"torque": pv.Feedback(lambda y: -0.4 * y)}
    )
    for _ in range(10):
        damped.step([0.0])
        fed.step()
        assert fed.state == pytest.approx(damped.state, rel=1e-13, abs=1e-14)
        assert -fed.work[0] == pytest.approx(damped.lost, rel=1e-12)


@pytest.mark.parametrize("method", IMPLICIT, ids=name_of)
@pytest.mark.parametrize("model", [pv.library.pendulum(b=0.1), pv.library.microphone()], ids=lambda model: model.name)
def test_relation(method, model):
    """ρ(ȳ, v) = 0 holds between the mean output and the input used, and the work is h ȳ v."""
    start = {"q": 2.0, "p": 1.0} | ({"Q": 1.5} if "Q" in model.states else {})
    port = next(iter(model.ports))
    law = pv.Relation(lambda y, u: y + 8 * u**3 + 0.1 * u)
    part = compiled(model, method, 0.1, start=start, laws={port: law})
    for _ in range(20):
        part.step()
        y, u = part.mean_output[0], used(part)[0]
        assert abs(y + 8 * u**3 + 0.1 * u) <= 1e-13 * (abs(y) + 1)
        assert part.work[0] == pytest.approx(0.1 * y * u, rel=1e-12) and part.work[0] <= 0
    if "energy" in method.preserves:
        assert part.verdict.kind == "exact"


@pytest.mark.parametrize("method", [m for m in IMPLICIT if not isinstance(m, pv.ClosedLoopAVF)], ids=name_of)
def test_laws_over_several_wide_ports(method):
    """A Feedback that couples the components of a port 2 wide beside a Relation over another: both hold in the step,
    and the matrix of Newton's method is the slope of its equation."""
    model = pv.System(
        ["a", "b", "c"], "a**4/4 + b**2/2 + cosh(c) + a*b/4",
        [[0, "1 + c", 0], ["-1 - c", 0, 1], [0, -1, 0]],
        ports={"one": pv.effort([[1, 0], ["a/2", 1], [0, "cos(b)"]]), "two": pv.flow([[0, 1], [1, "c/3"], ["1/2", 0]])},
    )  # fmt: skip
    laws = {
        "one": pv.Feedback(lambda y: [-pv.atan(y[0] + y[1] / 2), -pv.atan(y[0] / 2 + y[1]) - y[1] ** 3]),
        "two": pv.Relation(lambda y, u: [y[0] + u[0] + u[0] ** 3 + u[1] / 4, y[1] + u[1] + u[0] / 4]),
    }
    part = compiled(model, method, 0.2, start={"a": 1.0, "b": -0.6, "c": 0.8}, laws=laws)
    for _ in range(20):
        part.step()
        (a, b, c, d), (p, q, r, s) = part.mean_output, used(part)
        assert [p, q] == pytest.approx([-np.arctan(a + b / 2), -np.arctan(a / 2 + b) - b**3], rel=1e-11, abs=1e-13)
        assert [c + r + r**3 + s / 4, d + s + r / 4] == pytest.approx([0.0, 0.0], abs=1e-12)
        assert part.work == pytest.approx(0.2 * np.array([a * p, b * q, c * r, d * s]), rel=1e-10, abs=1e-15)
    assert part.work.sum() < 0
    module, m, n = part.module, part.memory.copy(), part.module.UNKNOWNS

    def residual(unknown):
        m[module.UNKNOWN : module.UNKNOWN + n] = unknown
        module.assess(m, 0.2)
        return m[module.RESIDUAL : module.RESIDUAL + n].copy()

    at = np.random.default_rng(0).uniform(-0.5, 0.5, n)
    slopes = np.stack([(residual(at + e) - residual(at - e)) / 2e-6 for e in 1e-6 * np.eye(n)], axis=1)
    residual(at)
    module.derive(m, 0.2)
    assert m[module.MATRIX : module.MATRIX + n * n].reshape(n, n) == pytest.approx(slopes, abs=1e-7)
    if "energy" in method.preserves:
        assert part.verdict.kind == "exact"


@pytest.mark.parametrize("method", [pv.AVF(), pv.ImplicitMidpoint(), pv.ImplicitEuler()], ids=name_of)
def test_relation_and_feedback_agree(method):
    """The same law in both forms; with one stage both act between the means."""
    parts = [
        compiled(pv.library.pendulum(), method, 0.2, start={"q": 2.0}, laws={"torque": law})
        for law in (pv.Feedback(lambda y: -pv.tanh(y)), pv.Relation(lambda y, u: u + pv.tanh(y)))
    ]
    for _ in range(10):
        for part in parts:
            part.step()
        assert parts[0].state == pytest.approx(parts[1].state, rel=1e-12, abs=1e-13)


def test_a_linear_law_is_one_law_for_the_closed_loop_average():
    """u = −0.3y with y linear: the mean of the law is the law of the mean, and both forms agree."""
    parts = [
        compiled(pv.library.pendulum(), pv.ClosedLoopAVF(), 0.2, start={"q": 2.0}, laws={"torque": law})
        for law in (pv.Feedback(lambda y: -0.3 * y), pv.Relation(lambda y, u: u + 0.3 * y))
    ]
    for _ in range(10):
        for part in parts:
            part.step()
        assert parts[0].state == pytest.approx(parts[1].state, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("method", [pv.ExplicitEuler(), pv.Heun(), pv.RK4()], ids=name_of)
def test_relations_need_an_equation(method):
    law = {"torque": pv.Relation(lambda y, u: y + u)}
    if isinstance(method, pv.ExplicitEuler):  # one stage: solved for the input alone
        part = compiled(pv.library.pendulum(), method, 0.1, start={"p": 1.0}, laws=law)
        part.step()
        assert used(part)[0] == pytest.approx(-1.0, rel=1e-14)
    else:
        with pytest.raises(pv.MethodError, match="Relation"):
            compiled(pv.library.pendulum(), method, 0.1, laws=law)


@pytest.mark.parametrize("method", [pv.AVF(), pv.Gonzalez(), pv.ClosedLoopAVF(), pv.ImplicitMidpoint()], ids=name_of)
def test_microphone_with_cube_root_feedback(method, monkeypatch):
    """u = −½ cbrt(y) as y + 8u³ = 0: infinitely steep as u(y), harmless as a relation (spec 2.6)."""
    rng = np.random.default_rng(4)
    part = compiled(pv.library.microphone(), method, 0.1, start={"q": 2.0}, laws={"voltage": MICROPHONE})
    finished = whole = 0
    sizes: list[float] = []
    solve = part.module.solve
    monkeypatch.setattr(part.module, "solve", lambda m, h: sizes.append(h) or solve(m, h))
    for _ in range(30):
        trial = part.copy()
        trial.place(dict(zip("qpQ", rng.uniform([0.5, -2, -2], [4, 2, 2]))))
        try:
            for _ in range(40):
                sizes.clear()
                trial.step()
                assert trial.work[0] <= 0
                if sizes == [0.1]:  # a step cut in two has an input of its own in each half
                    y, u = trial.mean_output[0], used(trial)[0]
                    assert abs(y + 8 * u**3) <= 1e-12 * (abs(y) + 1e-3)
                    whole += 1
        except pv.DomainError:
            continue
        finished += 1
        if "energy" in method.preserves:
            assert trial.verdict.kind == "exact"
    assert finished >= 25 and whole >= 0.95 * 40 * finished


def test_feedback_over_feedthrough_becomes_a_relation():
    """A damper's output depends on its input: u = 1 − y with y = b u gives u = 1/(1 + b)."""
    part = compiled(pv.library.damper(b=3.0), None, 0.5, laws={"end": pv.Feedback(lambda y: 1 - y)})
    part.step()
    assert used(part)[0] == pytest.approx(0.25) and part.lost == pytest.approx(0.5 * 3 * 0.25**2)
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize("method", [None, *EVERY], ids=lambda method: "none" if method is None else name_of(method))
def test_a_part_without_states(method):
    """A damper needs no method; any that is given books the same loss."""
    if isinstance(method, pv.SymplecticEuler):
        return
    part = compiled(pv.library.damper(b=2.0), method, 0.1)
    part.step([3.0])
    assert part.mean_output == pytest.approx([6.0]) and part.work == pytest.approx([1.8])
    assert part.lost == pytest.approx(1.8) and part.stored == 0.0 and part.verdict.kind == "exact"


CLUTCH = pv.System(
    ["q", "p"], "p**2/2 + q**4/4 + q**2/2", [[0, 1], [-1, 0]], [[0, 0], [0, "0.1 + grip**2"]],
    ports={"force": pv.effort([0, "1 + gain*q"])}, signals=["grip", "gain"], positions=["q"],
)  # fmt: skip


@pytest.mark.parametrize("method", GENERAL, ids=name_of)
def test_signals_modulate_loss_and_ports(method):
    """Signals carry no power: they change what is lost and supplied, not the balance."""
    part = compiled(CLUTCH, method, 0.001, start={"q": 1.0, "p": 0.5})
    for grip, gain in ((0.0, 0.0), (2.0, 0.5), (0.5, -0.5)):
        x = part.state.copy()
        part.step([0.7, grip, gain])
        mid = (x + part.state) / 2
        assert part.lost == pytest.approx(0.001 * (0.1 + grip**2) * mid[1] ** 2, rel=0.02)
        assert part.work[0] == pytest.approx(0.001 * 0.7 * (1 + gain * mid[0]) * mid[1], rel=0.02)
    if "energy" in method.preserves:
        for k in range(50):
            part.step([np.sin(k), np.cos(k), 0.1 * k])
        assert part.verdict.kind == "exact"


def test_signals_in_a_run():
    run = pv.simulate(
        CLUTCH, pv.AVF(), step=0.02, until=1, start={"q": 1.0}, engine="python",
        inputs={"force": 1.0, "grip": lambda t: pv.sin(5 * t), "gain": 0.3},
    )  # fmt: skip
    assert run.verdict.kind == "exact"
    assert run["grip"].values[1:] == pytest.approx(np.sin(5 * (run.time[1:] - 0.01)))


@pytest.mark.parametrize("method", [pv.Heun(), pv.RK4()], ids=name_of)
def test_runge_kutta_reads_inputs_at_its_stages(method):
    """work = h Σ b_i y_i u(t + c_i h), lost = h Σ b_i R y_i², by hand."""
    h, b = 0.1, 0.3
    u = lambda t: np.sin(3 * t)  # noqa: E731
    run = pv.simulate(
        pv.library.pendulum(b=b), method, step=h, until=1, start={"q": 1.0, "p": 0.2},
        inputs={"torque": lambda t: pv.sin(3 * t)}, engine="python",
    )  # fmt: skip
    x, work, lost = np.array([1.0, 0.2]), 0.0, 0.0
    for k in range(10):
        slopes = []
        gained = used_up = 0.0
        for c, row, weight in zip(method.nodes, method.tableau, method.weights):
            z = x + h * sum((a * s for a, s in zip(row, slopes)), np.zeros(2))
            force = u((k + c) * h)
            slopes.append(np.array([z[1], -np.sin(z[0]) - b * z[1] + force]))
            gained += h * weight * z[1] * force
            used_up += h * weight * b * z[1] ** 2
        x = x + h * sum(w * s for w, s in zip(method.weights, slopes))
        work, lost = work + gained, lost + used_up
        assert [run["q"][k + 1], run["p"][k + 1]] == pytest.approx(x, rel=1e-13)
        row = run.ledger.isel(time=k + 1).sel(part="total")
        assert [float(row.work), float(row.lost)] == pytest.approx([work, lost], rel=1e-12)


COUPLED = pv.System(
    ["q", "p"], "p**2*(1 + q**2)/2 + q**4/4 + cos(q)", [[0, 1], [-1, 0]], [[0, 0], [0, 0.2]],
    ports={"force": pv.effort([0, 1])}, positions=["q"],
)  # fmt: skip


@pytest.mark.parametrize("variant", ["p", "q"])
def test_symplectic_euler_of_a_coupled_energy(variant):
    """Against SciPy: ∇H at (old q, new p), or at (new q, old p)."""
    part = compiled(COUPLED, pv.SymplecticEuler(variant), 0.1, start={"q": 0.8, "p": 0.6})
    for _ in range(10):
        x = part.state.copy()
        part.step([0.4])

        def gradient(X, x=x):
            q, p = (x[0], X[1]) if variant == "p" else (X[0], x[1])
            return p**2 * q + q**3 - np.sin(q), p * (1 + q**2)

        def equation(X, x=x):
            a, b = gradient(X)
            return [X[0] - x[0] - 0.1 * b, X[1] - x[1] - 0.1 * (-a - 0.2 * b + 0.4)]

        assert part.state == pytest.approx(fsolve(equation, x, xtol=1e-10), rel=1e-9)
        v = gradient(part.state)[1]
        assert part.work[0] == pytest.approx(0.1 * 0.4 * v, rel=1e-12)
        assert part.lost == pytest.approx(0.1 * 0.2 * v**2, rel=1e-12)


@pytest.mark.parametrize("variant", ["p", "q"])
def test_symplectic_euler_keeps_the_area(variant):
    """det ∂X/∂x = 1 for a closed lossless system, by finite differences."""
    model = pv.System(["q", "p"], "p**2*(1 + q**2)/2 + q**4/4", [[0, 1], [-1, 0]], positions=["q"])
    part = compiled(model, pv.SymplecticEuler(variant), 0.2)

    def step(x):
        trial = part.copy()
        trial.state[:] = x
        trial.step()
        return trial.state.copy()

    x, e = np.array([0.5, 0.7]), 1e-5
    columns = [(step(x + e * d) - step(x - e * d)) / (2 * e) for d in np.eye(2)]
    assert np.linalg.det(np.array(columns)) == pytest.approx(1.0, abs=1e-8)


def test_what_symplectic_euler_refuses():
    plain = pv.System(["q", "p"], "p**2/2 + q**2/2", [[0, 1], [-1, 0]])
    for method in (
        pv.SymplecticEuler(),
        pv.SymplecticEuler("x", ("q",)),
        pv.SymplecticEuler(positions=("x",)),
    ):
        with pytest.raises(pv.MethodError):
            compiled(plain, method, 0.1)
    assert compiled(plain, pv.SymplecticEuler(positions=("q",)), 0.1).module.UNKNOWNS == 0


@pytest.mark.parametrize("seed", range(4))
def test_closed_loop_average_against_scipy(seed):
    """X − x = h ∫ f(x + τ(X − x)) dτ with a numerical gradient; work and loss are the same averages."""
    case = build(seed, 3)
    system = case.system
    part = compiled(system, pv.ClosedLoopAVF(), case.h, start=dict(zip(system.states, case.x)))
    part.step(case.u)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    nodes, weights = (nodes + 1) / 2, weights / 2

    def pieces(x):
        at = lambda z: evaluate(system.energy, dict(zip(system.states, z)))  # noqa: E731
        e = 1e-5 * np.eye(3)
        g = np.array([(8 * (at(x + d) - at(x - d)) - at(x + 2 * d) + at(x - 2 * d)) / 12e-5 for d in e])
        values = dict(zip(system.states, x))
        read = lambda rows: np.array([[evaluate(text, values) for text in row] for row in rows], dtype=float)  # noqa: E731
        G = np.hstack([read(p.matrix) for p in system.ports.values()]) if system.ports else np.zeros((3, 0))
        return g, read(system.structure), read(system.loss), G

    def along(d):
        return [(w, *pieces(case.x + t * d)) for t, w in zip(nodes, weights)]

    def equation(d):
        return d - case.h * sum(w * ((J - R) @ g + G @ case.u) for w, g, J, R, G in along(d))

    d = fsolve(equation, part.state - case.x + 1e-3, xtol=1e-12)
    assert part.state - case.x == pytest.approx(d, abs=1e-8)
    assert part.lost == pytest.approx(case.h * sum(w * g @ R @ g for w, g, J, R, G in along(d)), abs=1e-8)
    y = sum((w * G.T @ g for w, g, J, R, G in along(d)), np.zeros(system.width))
    assert part.mean_output == pytest.approx(y, abs=1e-8)
    assert part.work == pytest.approx(case.h * y * case.u, abs=1e-8)


def test_closed_loop_average_of_a_field_without_states():
    """x' = u with H = x⁴: the field is constant, the output is not; its mean is still exact."""
    part = compiled(pv.System(["x"], "x**4/4", ports={"rate": pv.flow([1])}), pv.ClosedLoopAVF(), 0.5, start={"x": 1.0})
    part.step([2.0])
    assert part.state == pytest.approx([2.0]) and part.work == pytest.approx([15 / 4], rel=1e-14)
    assert part.verdict.kind == "exact"
