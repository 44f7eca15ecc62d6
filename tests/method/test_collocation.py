"""The identities of spec 2.4 and 2.9 for collocation with one, two and three stages, over random passive systems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.optimize import brentq

import passivo as pv
from passivo.kernel.path import Path, ways
from passivo.kernel.slopes import gauss
from passivo.model.expression import EXTENDED, evaluate
from strategies import Case, build

STAGES = [1, 2, 3]
each = pytest.mark.parametrize("stages", STAGES)
MICROPHONE = {"q": 2.0, "p": 1.0, "Q": 1.5}


def cases(quadratic=False, largest=8):
    """A system of each size: deriving one takes seconds, here for three numbers of stages."""
    choose = lambda n, run: build(n % 6, n, quadratic, run)  # noqa: E731
    return st.builds(choose, st.integers(1, largest), st.integers(0, 2**20))


def compiled(case: Case, stages: int, method=None, **options):
    start = dict(zip(case.system.states, case.x))
    return pv.compile(case.system, method or pv.Collocation(stages), case.h, start=start, engine="python", **options)


def energy(case: Case, x) -> np.longdouble:
    values = {name: np.longdouble(value) for name, value in zip(case.system.states, x)}
    return evaluate(case.system.energy, values, EXTENDED)


def basis(stages):
    """Nodes, weights, Lagrange polynomials and their integrals from 0."""
    c, b = gauss(stages)
    lagrange = [Polynomial(np.polynomial.polynomial.polyfromroots(np.delete(c, j))) for j in range(stages)]
    lagrange = [p / p(c[j]) for j, p in enumerate(lagrange)]
    return c, b, lagrange, [p.integ() for p in lagrange]


def root(equation, size):
    """A root near 0, to the last digit: Newton's method with differences for derivatives."""
    x = np.zeros(size)
    for _ in range(12):
        here, unit = equation(x), 1e-7 * np.eye(size)
        x = x - np.linalg.solve(np.stack([(equation(x + e) - here) / 1e-7 for e in unit], axis=1), here)
    return x


def gauss_collocation(field, x, h, stages):
    """One step of Gauss collocation: an independent method for quadratic energies."""
    c, _, _, integrals = basis(stages)
    a = np.array([[p(t) for p in integrals] for t in c])
    n = len(x)

    def equation(flat):
        K = flat.reshape(stages, n)
        return np.concatenate([K[j] - field(x + h * a[j] @ K, c[j]) for j in range(stages)])

    K = root(equation, stages * n).reshape(stages, n)
    return x + h * np.array([p(1.0) for p in integrals]) @ K


@each
def test_weights_are_positive_and_the_path_is_that_of_the_lagrange_polynomials(stages):
    c, b, lagrange, integrals = basis(stages)
    assert (b > 0).all() and pv.Collocation(stages).nodes == pytest.approx(c)
    path = Path.collocation((), stages)
    assert [float(path.numbers.get(w, 1.0)) for w in path.weights] == pytest.approx(b, rel=1e-15)
    points = np.linspace(0, 1, 7)
    whole, rate = ways(stages, points)
    for j in range(stages):
        assert whole[:, j].astype(float) == pytest.approx(integrals[j](points) / b[j], abs=1e-14)
        assert rate[:, j].astype(float) == pytest.approx(lagrange[j](points) / b[j], abs=1e-13)


@each
@given(case=cases(largest=6))
@settings(max_examples=24)
def test_balance_of_a_step(stages, case):
    part = compiled(case, stages)
    before = energy(case, part.state)
    part.step(case.u)
    change = energy(case, part.state) - before
    assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
    assert part.lost >= 0
    assert part.verdict.kind == "exact"


@each
@given(case=cases(largest=4))
@settings(max_examples=2)
def test_balance_over_a_thousand_steps(stages, case):
    part = compiled(case, stages)
    before, total = energy(case, part.state), np.longdouble(0)
    for k in range(1000):
        part.step(case.u * np.sin(0.1 * k), dt=case.h * (1 + 0.5 * np.cos(k)))
        total += part.work.sum() - part.lost
    assert abs(energy(case, part.state) - before - total) <= 1e-12 * (1 + abs(before))
    assert part.verdict.kind == "exact"


@each
@given(case=cases(largest=4))
@settings(max_examples=8)
def test_inputs_of_its_own_at_every_stage(stages, case):
    """The balance holds whatever the stages are given, and `work` is that of the mean of y_j u_j."""
    part = compiled(case, stages)
    before = energy(case, part.state)
    part.inputs[:] = case.rng.uniform(-1, 1, len(part.inputs))
    part.step()
    change = energy(case, part.state) - before
    assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))
    _, b = gauss(stages)
    used = part._section("USED", case.system.width)
    assert used == pytest.approx(b @ part.inputs.reshape(stages, -1), abs=1e-15)


@given(case=cases())
@settings(max_examples=12)
def test_one_stage_is_the_average_vector_field(case):
    one, average = compiled(case, 1), compiled(case, 1, pv.AVF())
    for _ in range(3):
        one.step(case.u)
        average.step(case.u)
    assert np.abs(one.state - average.state).max() <= 1e-14 * (1 + np.abs(average.state).max())
    assert one.work == pytest.approx(average.work, abs=1e-14) and one.lost == pytest.approx(average.lost, abs=1e-14)


@each
@given(case=cases(quadratic=True, largest=4))
@settings(max_examples=6)
def test_quadratic_energy_gives_gauss_collocation(stages, case):
    part = compiled(case, stages)
    x, system = part.state.copy(), case.system
    read = lambda rows, x: np.array(  # noqa: E731
        [[evaluate(e, dict(zip(system.states, x))) for e in row] for row in rows], dtype=float
    )
    unit = np.eye(len(x))
    Q = np.array([[energy(case, a + b) - energy(case, a) - energy(case, b) for a in unit] for b in unit], dtype=float)

    def field(z, _):
        G = [read(port.matrix, z) for port in system.ports.values()]
        driven = np.hstack(G) @ case.u if G else 0.0
        return (read(system.structure, z) - read(system.loss, z)) @ Q @ z + driven

    expected = gauss_collocation(field, x, case.h, stages)
    part.step(case.u)
    assert np.abs(part.state - expected).max() <= 1e-13 * (1 + np.abs(x).max())


@each
def test_against_an_independent_solver(stages):
    """The equations of spec 2.4 for the pendulum, with many nodes, inputs read at the stages."""
    x, h, b = np.array([2.0, 0.5]), 0.4, 0.3
    c, weights, lagrange, integrals = basis(stages)
    tau, w = gauss(20)
    u = np.sin(3 * c * h)

    def equation(flat):
        K = flat.reshape(stages, 2)
        X = x + h * sum(np.outer(p(tau), k) for p, k in zip(integrals, K))
        slope = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
        g = [(w * lagrange[j](tau) / weights[j]) @ slope for j in range(stages)]
        return np.concatenate([K[j] - [g[j][1], -g[j][0] - b * g[j][1] + u[j]] for j in range(stages)])

    K = root(equation, 2 * stages).reshape(stages, 2)
    part = pv.compile(
        pv.library.pendulum(b=b), pv.Collocation(stages), h, start={"q": x[0], "p": x[1]}, engine="python"
    )
    part.inputs[:] = u
    part.step()
    assert part.state == pytest.approx(x + h * weights @ K, abs=1e-13)


VARYING = pv.System(
    ["a", "b", "c"],
    "cosh(a)/2 + b**4/4 + b**2 + c**2*(2 + sin(a))/2",
    [["0", "1 + b**2/4", "sin(c)"], ["-1 - b**2/4", "0", "cos(a)"], ["-sin(c)", "-cos(a)", "0"]],
    [["0.1*(1 + c**2)", "0", "0"], ["0", "0", "0"], ["0", "0", "0.2"]],
    ports={"port": pv.effort([["cos(b)"], ["0.5"], ["a"]])},
    name="varying",
)


@each
@pytest.mark.parametrize(
    ("model", "start"),
    [(pv.library.pendulum(b=0.1), {"q": 2.0, "p": 0.3}), (VARYING, {"a": 0.8, "b": -0.3, "c": 0.5})],
    ids=["pendulum", "varying"],
)
def test_order(stages, model, start):
    """Measured under an input that changes within the step, against steps fine enough to be exact."""
    until, port = 1.0, next(iter(model.ports))

    def end(method, steps):
        drive = {port: lambda t: 0.5 * pv.sin(3 * t)}
        run = pv.simulate(model, method, step=until / steps, until=until, start=start, inputs=drive, engine="python")
        assert run.verdict.kind == "exact"
        return run.arrays["states"][-1]

    exact = end(pv.Collocation(3), 64)
    counts = {1: (64, 128), 2: (16, 32), 3: (6, 12)}[stages]
    errors = [np.linalg.norm(end(pv.Collocation(stages), count) - exact) for count in counts]
    assert abs(np.log2(errors[0] / errors[1]) - pv.Collocation(stages).order) <= 0.1


@each
@given(case=cases(largest=4))
@settings(max_examples=8)
def test_damping_feedback_never_adds_energy(stages, case):
    if not case.system.ports:
        return
    name = next(iter(case.system.ports))
    width = case.system.ports[name].width
    law = pv.Feedback(lambda y: -pv.atan(3 * y) if width == 1 else [-pv.atan(3 * v) for v in y])
    part = compiled(case, stages, laws={name: law})
    for _ in range(3):
        before = energy(case, part.state)
        part.step(np.zeros(case.system.width))
        change = energy(case, part.state) - before
        assert change <= 1e-13 * (1 + abs(before))
        assert abs(change - part.work.sum() + part.lost) <= 1e-13 * (1 + abs(before))


@each
@pytest.mark.parametrize("model", [pv.library.pendulum(b=0.1), pv.library.microphone()], ids=lambda model: model.name)
def test_relation_at_every_stage(stages, model):
    """ρ(y_j, u_j) = 0 with an input and an output of its own at every stage; the work is the sum over them."""
    start = {name: value for name, value in MICROPHONE.items() if name in model.states}
    port = next(iter(model.ports))
    law = pv.Relation(lambda y, u: y + 8 * u**3 + 0.1 * u)
    part = pv.compile(model, pv.Collocation(stages), 0.1, start=start, laws={port: law}, engine="python")
    module, weights = part.module, gauss(stages)[1]
    for _ in range(20):
        part.step()
        at = module.UNKNOWN + module.SOLVED_COUNT
        u = part.memory[at : at + stages]
        y = -8 * u**3 - 0.1 * u
        assert part.work[0] == pytest.approx(0.1 * weights @ (y * u), rel=1e-11, abs=1e-16) and part.work[0] <= 0
        assert part.mean_output[0] == pytest.approx(weights @ y, rel=1e-11, abs=1e-15)
        assert part._section("USED", 1)[0] == pytest.approx(weights @ u, rel=1e-13)
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize("stages", [2, 3])
def test_relation_and_feedback_agree(stages):
    laws = [pv.Feedback(lambda y: -0.4 * pv.atan(2 * y)), pv.Relation(lambda y, u: u + 0.4 * pv.atan(2 * y))]
    parts = [
        pv.compile(
            pv.library.pendulum(),
            pv.Collocation(stages),
            0.2,
            start={"q": 2.0},
            laws={"torque": law},
            engine="python",
        )
        for law in laws
    ]
    for _ in range(10):
        for part in parts:
            part.step()
        assert parts[0].state == pytest.approx(parts[1].state, abs=1e-13)
        assert parts[0].work == pytest.approx(parts[1].work, rel=1e-11)


@each
def test_small_increments(stages):
    """1e-9 from rest: differences of energy do not drown, and Newton needs few iterations (spec 2.2)."""
    part = pv.compile(pv.library.pendulum(), pv.Collocation(stages), 0.1, start={"q": 1e-9}, engine="python")
    stored = part.stored
    for _ in range(200):
        part.step()
    assert part.verdict.kind == "exact" and part.iterations <= 4
    assert abs(part.state @ part.state / 2 - 0.5e-18) <= 1e-12 * 0.5e-18 and stored <= 1e-17


@pytest.mark.parametrize("stages", [2, 3])
def test_a_step_without_solution_is_halved_with_the_inputs_of_its_stages(stages):
    """A step of nearly a period: every piece takes the inputs of all stages, and the balance is that of the whole."""
    part = pv.compile(pv.library.pendulum(b=0.1), pv.Collocation(stages), 6.0, start={"q": 2.0}, engine="python")
    part.inputs[:] = u = np.linspace(0.1, 0.3, stages)
    for _ in range(20):
        part.step()
    assert part.cut_steps > 0 and part.verdict.kind == "exact"
    assert part._section("USED", 1)[0] == pytest.approx(gauss(stages)[1] @ u)


def test_polynomial_energies_take_a_fixed_number_of_nodes_and_others_as_many_as_they_need():
    for stages, nodes in ((1, 2), (2, 4), (3, 6)):
        model = pv.System(["x", "y"], "x**2*y**2/2 + x**2/2 + y**2/2", [[0, 1], [-1, 0]])
        part = pv.compile(model, pv.Collocation(stages), 0.3, start={"x": 1.0, "y": 0.5}, engine="python")
        part.step()
        assert not part.module.ADAPTIVE and part.module.LEVEL_START[1:] == (nodes,) and part.verdict.kind == "exact"
    levels = []
    for h in (1e-3, 1.5):
        part = pv.compile(pv.library.pendulum(), pv.Collocation(3), h, start={"q": 2.0}, engine="python")
        part.step()
        assert part.module.ADAPTIVE and part.verdict.kind == "exact"
        levels.append(part.memory[part.module.LEVEL])
    assert levels[0] < levels[1]


def test_period_of_the_simple_pendulum():
    """IFToMM: 1 kg, 1 m, g = 9.81 m/s², from horizontal rest; a quarter is over when it passes the lowest point."""
    part = pv.compile(
        pv.library.pendulum(m=1.0, l=1.0, g=9.81), pv.Collocation(3), 0.01, start={"q": np.pi / 2}, engine="python"
    )
    while part.state[0] > 0.0:
        before = part.copy()
        part.step()

    def place(dt):
        probe = before.copy()
        probe.step(dt=dt)
        return probe.state[0]

    quarter = before.time + brentq(place, 1e-6, 0.01, xtol=1e-14)
    assert 4 * quarter == pytest.approx(2.367841947576, abs=1e-9)
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize("stages", [2, 3])
def test_saved_runs_pass_the_audit_and_a_cut_run_goes_on_bit_for_bit(stages, tmp_path):
    model, method, start = pv.library.pendulum(b=0.1), pv.Collocation(stages), {"q": 2.0}
    options = {"step": 0.1, "start": start, "engine": "python", "inputs": {"torque": lambda t: 0.5 * pv.sin(3 * t)}}
    run = pv.simulate(model, method, until=2.0, **options)
    run.save(tmp_path / "run.zarr")
    assert pv.audit(tmp_path / "run.zarr").ok and run.verdict.kind == "exact"
    assert pv.load(tmp_path / "run.zarr").method == method

    whole, part = (pv.compile(model, method, 0.1, start=start, engine="python") for _ in range(2))
    for _ in range(20):
        whole.step([0.3])
    for _ in range(7):
        part.step([0.3])
    twin = part.copy()
    for _ in range(13):
        twin.step([0.3])
    assert (twin.state == whole.state).all() and twin.verdict == whole.verdict


@pytest.mark.parametrize("stages", [0, 4, 2.5, "two", True])
def test_other_numbers_of_stages_are_refused(stages):
    with pytest.raises(pv.MethodError, match=r"Collocation takes 1, 2 or 3 stages, .* not "):
        pv.compile(pv.library.pendulum(), pv.Collocation(stages), 0.1, engine="python")


def test_states_its_order():
    assert [pv.Collocation(s).order for s in STAGES] == [2, 4, 6] and pv.Collocation() == pv.Collocation(stages=2)
