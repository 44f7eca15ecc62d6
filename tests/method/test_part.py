"""The contract of a part: what it reports after a step, what it refuses; it equals a run bit for bit."""

import numpy as np
import pytest

import passivo as pv
from passivo.ledger import accounts as A
from passivo.method.catalogue import GENERAL, method_from

NOT_HERE = (pv.ExactHold, pv.Kahan, pv.Composition)  # nothing is linear or quadratic here, and all loses power
EVERY = [cls() for cls in GENERAL.values() if cls not in NOT_HERE] + [pv.SymplecticEuler("q")]
name_of = lambda method: type(method).__name__ + getattr(method, "variant", "")  # noqa: E731
every_method = pytest.mark.parametrize("method", EVERY, ids=name_of)
K, M, B, H = 30.0, 0.5, 0.8, 0.05


def compiled(method=None, model=None, step=H, start=None, engine="python", **options):
    start = {"q": 0.7, "p": -0.3} if start is None else start
    return pv.compile(model or duffing(), method or pv.AVF(), step, start=start, engine=engine, **options)


def duffing(**params):
    return pv.library.duffing(**{"alpha": K, "beta": 4.0, "m": M, "b": B, **params})


def energy(x, alpha=K, beta=4.0):
    q, p = x
    return p**2 / (2 * M) + alpha * q**2 / 2 + beta * q**4 / 4


def gradient(x):
    q, p = x
    return np.array([K * q + 4.0 * q**3, p / M])


def field(x, u):
    g = gradient(x)
    return np.array([g[1], -g[0] - B * g[1] + u])


def collocated(count, x, u):
    """The mean gradients of the stages of spec 2.4, by fixed-point iteration."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    tau = (nodes + 1) / 2
    c, b = (lambda t, w: ((t + 1) / 2, w / 2))(*np.polynomial.legendre.leggauss(count))
    lagrange = [np.poly1d(np.poly(np.delete(c, j))) for j in range(count)]
    lagrange = [p / p(c[j]) for j, p in enumerate(lagrange)]
    means = [gradient(x)] * count
    for _ in range(80):
        slopes = [np.array([g[1], -g[0] - B * g[1] + u]) for g in means]
        path = [x + H * sum(p.integ()(t) * k for p, k in zip(lagrange, slopes)) for t in tau]
        means = [
            sum(w / 2 * p(t) / share * gradient(z) for w, t, z in zip(weights, tau, path))
            for p, share in zip(lagrange, b)
        ]
    return list(zip(b, means))


def stages(method, x, X, u):
    """The gradients a method uses in a step from x to X, with their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    along = [gradient(x + (t + 1) / 2 * (X - x)) for t in nodes]
    match type(method).__name__:
        case "ExplicitEuler" | "EnergyConsistent":
            return [(1.0, gradient(x))]
        case "ImplicitEuler":
            return [(1.0, gradient(X))]
        case "SymplecticEuler":
            return [(1.0, gradient([x[0], X[1]] if method.variant == "p" else [X[0], x[1]]))]
        case "ImplicitMidpoint":
            return [(1.0, gradient((x + X) / 2))]
        case "Gonzalez":
            middle, d = gradient((x + X) / 2), X - x
            return [(1.0, middle + (energy(X) - energy(x) - middle @ d) / (d @ d) * d)]
        case "AVF" | "ItohAbe" | "SymmetrisedItohAbe" | "StructureSplitting" | "PassiveMidpoint":  # a sum over states
            return [(1.0, sum(w / 2 * g for w, g in zip(weights, along)))]
        case "ClosedLoopAVF":
            return [(w / 2, g) for w, g in zip(weights, along)]
        case "Collocation":
            return collocated(method.stages, x, u)
        case "Heun":
            return [(0.5, gradient(x)), (0.5, gradient(x + H * field(x, u)))]
    k1 = field(x, u)
    k2 = field(x + H / 2 * k1, u)
    k3 = field(x + H / 2 * k2, u)
    points = [x, x + H / 2 * k1, x + H / 2 * k2, x + H * k3]
    return [(w, gradient(z)) for w, z in zip((1 / 6, 1 / 3, 1 / 3, 1 / 6), points)]


@pytest.mark.parametrize("method", [m for m in EVERY if not isinstance(m, pv.SAV)], ids=lambda m: type(m).__name__)
def test_what_a_part_reports_after_a_step(method):
    """Step, work, loss and mean output by the method's own stages, in numpy; SAV has its own test."""
    part, u = compiled(method), 1.7
    assert isinstance(part, pv.Part)
    for _ in range(4):
        x = part.state.copy()
        assert part.step([u]) == 0
        used = stages(method, x, part.state, u)
        mean = sum(w * g[1] for w, g in used)
        slope = sum(w * np.array([g[1], -g[0] - B * g[1] + u]) for w, g in used)
        if not isinstance(method, pv.EnergyConsistent):  # which moves on to a level set
            assert part.state - x == pytest.approx(H * slope, rel=1e-11, abs=1e-14)
        assert part.work == pytest.approx([H * mean * u], rel=1e-11)
        assert part.mean_output == pytest.approx([mean], rel=1e-11)
        assert part.lost == pytest.approx(H * sum(w * B * g[1] ** 2 for w, g in used), rel=1e-11)
        assert part.stored == pytest.approx(energy(part.state), rel=1e-14)
        assert part.output == pytest.approx([part.state[1] / M], rel=1e-15)
        assert part.lost >= 0
    assert part.steps == 4 and part.time == pytest.approx(4 * H, rel=1e-15)


@every_method
def test_a_changed_step(method):
    """`dt` counts for one step; the default stays."""
    part, other = compiled(method), compiled(method, step=0.02)
    part.step([1.0], dt=0.02)
    other.step([1.0])
    assert part.state.tolist() == other.state.tolist() and part.work.tolist() == other.work.tolist()
    part.step([1.0])
    assert part.time == pytest.approx(0.07) and part.dt == H


def both(method, engine, steps=30):
    """(run, part) of the same driven motion."""
    values = np.cos(np.arange(steps))
    run = pv.simulate(
        duffing(), method, step=H, until=steps * H, start={"q": 0.7}, inputs={"force": values}, engine=engine
    )  # fmt: skip
    part = compiled(method, start={"q": 0.7}, engine=engine)
    part.half_at(steps // 2)
    states = [part.state.copy()]
    for value in values:
        part.step([value])
        states.append(part.state.copy())
    return run, part, np.array(states)


def check_equal(run, part, states):
    assert (run.arrays["states"] == states).all()
    assert run.verdict == part.verdict
    part._refresh()
    assert run.arrays["ledger"][-1, 0].tolist() == part._section("REPORT", part.module.REPORT_SIZE)[-7:].tolist()


@every_method
def test_a_loop_of_steps_is_a_run(method):
    check_equal(*both(method, "python"))


@pytest.mark.parametrize("method", [pv.AVF(), pv.RK4()], ids=["AVF", "RK4"])
def test_a_compiled_loop_is_a_compiled_run(method):
    run, part, states = both(method, "numba")
    check_equal(run, part, states)
    plain = both(method, "python")[2]
    assert np.abs(states - plain).max() < 1e-13


@every_method
def test_a_run_cut_in_two_is_one_run(method):
    """A copy takes state and memory: sums, errors of sums, biases and all."""
    whole = compiled(method)
    first = compiled(method)
    for k in range(10):
        whole.step([np.sin(k)])
        first.step([np.sin(k)])
    second = first.copy()
    before = first.memory.copy()
    for k in range(10, 20):
        whole.step([np.sin(k)])
        second.step([np.sin(k)])
    assert whole.memory.tolist() == second.memory.tolist()
    assert first.memory.tolist() == before.tolist()


def test_a_copy_is_independent():
    part = compiled()
    twin = part.copy()
    twin.step([3.0])
    twin.set(alpha=1.0)
    assert part.steps == 0 and part.params["alpha"] == K and part.state.tolist() == [0.7, -0.3]
    assert twin.params["alpha"] == 1.0 and not np.shares_memory(part.memory, twin.memory)
    part.step([1.0])
    assert part.inputs[0] == 1.0 and twin.inputs[0] == 3.0


def account(part, offset, row=0):
    at = part.module.ACCOUNTS + row * A.ACCOUNT_SIZE + offset
    return part.memory[at] + part.memory[at + 1]


def test_parameters_changed_by_hand_are_booked_as_edited():
    part = compiled()
    for _ in range(5):
        part.step([1.0])
    created, verdict, x = account(part, A.A_CREATED), part.verdict, part.state.copy()
    part.set(alpha=100.0, beta=1.0)
    expected = energy(x, 100.0, 1.0) - energy(x)
    assert account(part, A.A_EDITED) == pytest.approx(expected, rel=1e-13)
    assert account(part, A.A_CREATED) == created and part.verdict == verdict
    assert part.params["alpha"] == 100.0 and part.state.tolist() == x.tolist()
    assert part.stored == pytest.approx(energy(x, 100.0, 1.0), rel=1e-14)
    for _ in range(5):
        part.step([1.0])
    assert part.verdict.kind == "exact"
    balance = (
        part.stored
        - energy([0.7, -0.3])
        - account(part, A.A_WORK)
        + account(part, A.A_LOST)
        - account(part, A.A_EDITED)
    )
    assert abs(balance) < 1e-12
    fresh = compiled(model=duffing(alpha=100.0, beta=1.0), start=dict(zip("qp", x)))
    for _ in range(5):
        fresh.step([1.0])
    assert fresh.state.tolist() == part.state.tolist()


def test_edits_of_a_composition_go_to_the_part_and_the_total():
    parts = {"spring": pv.library.spring(k=400.0), "mass": pv.library.mass(m=0.2)}
    model = pv.Monolithic(parts, [("spring.end", "mass.force", "link")])
    part = pv.compile(model, pv.AVF(), 1e-3, start={"spring.q": 0.2}, engine="python")
    part.set(**{"spring.k": 500.0})
    assert [account(part, A.A_EDITED, row) for row in range(4)] == pytest.approx([2.0, 0.0, 0.0, 2.0])
    part.place({"mass.p": 0.4})
    assert [account(part, A.A_EDITED, row) for row in range(4)] == pytest.approx([2.0, 0.4, 0.0, 2.4])
    part.step()
    assert part.verdict.kind == "exact"


@pytest.mark.parametrize(
    "bad", [{"alfa": 1.0}, {"b": -1.0}, {"alpha": np.nan}, {"alpha": "x"}, {"alpha": 1.0, "b": -1.0}]
)
def test_a_bad_parameter_is_refused_and_nothing_changes(bad):
    part = compiled()
    part.step([1.0])
    before, params = part.memory.copy(), dict(part.params)
    with pytest.raises(pv.ModelError):
        part.set(**bad)
    assert part.memory.tolist() == before.tolist() and part.params == params


def test_a_state_moved_by_hand_is_booked_as_edited():
    part = compiled()
    part.step([1.0])
    before, verdict = part.stored, part.verdict
    part.place({"q": 0.1})
    assert part.state[0] == 0.1
    assert account(part, A.A_EDITED) == pytest.approx(part.stored - before, rel=1e-12)
    assert part.verdict == verdict


@pytest.mark.parametrize("bad", [{"x": 1.0}, {"q": np.nan}, {"q": None}, {"q": 0.5, "p": np.inf}])
def test_a_bad_place_is_refused_and_nothing_changes(bad):
    part = compiled()
    before = part.memory.copy()
    with pytest.raises(pv.InputError):
        part.place(bad)
    assert part.memory.tolist() == before.tolist()


def test_a_place_outside_the_domain_is_refused_and_nothing_changes():
    part = pv.compile(pv.library.microphone(), pv.AVF(), 0.1, start={"q": 2.0}, engine="python")
    before = part.memory.copy()
    with pytest.raises(pv.InputError, match="domain"):
        part.place({"q": -1.0})
    assert part.state.tolist() == before[part.module.STATE : part.module.STATE + 3].tolist()
    assert account(part, A.A_EDITED) == 0.0
    part.step([0.0])
    assert part.verdict.kind == "exact"


WIDE = pv.System(
    ["x", "y"], "x**2/2 + y**2/2", ports={"a": pv.effort([[1, 0], [0, 1]]), "b": pv.effort([1, 1])},
    signals=["s"],
)  # fmt: skip


@pytest.mark.parametrize("u", [[], [1.0, 2.0], [[1.0]], np.ones((1, 2)), "abc", ["x"], {}, np.zeros(0)], ids=str)
def test_wrong_inputs_are_refused(u):
    part = compiled()
    part.step([0.25])
    state = part.state.tolist()
    with pytest.raises(pv.InputError):
        part.step(u)
    assert part.state.tolist() == state and part.inputs.tolist() == [0.25] and part.steps == 1


@pytest.mark.parametrize("u", [0.5, [0.5], (0.5,), np.array(0.5), np.array([0.5]), np.float64(0.5), np.float32(0.5)])
def test_a_single_input_may_be_given_in_many_ways(u):
    part, other = compiled(), compiled()
    part.step(u)
    other.step([0.5])
    assert part.state.tolist() == other.state.tolist()


@pytest.mark.parametrize("method", [pv.AVF(), pv.RK4()], ids=["AVF", "RK4"])
def test_wide_ports_and_signals(method):
    part = pv.compile(WIDE, method, 0.1, engine="python")
    part.step([1.0, 2.0, 3.0, 7.0])
    assert part.input_names == ["a[0]", "a[1]", "b", "s"]
    assert part.state == pytest.approx([0.4, 0.5]) and part.work.size == 3
    with pytest.raises(pv.InputError, match=r"4 input values \(a\[0\], a\[1\], b, s\)"):
        part.step([1.0])
    part.step()  # the inputs stay
    assert part.state == pytest.approx([0.8, 1.0])


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_dt_is_refused(dt):
    part = compiled()
    with pytest.raises(pv.InputError, match="dt"):
        part.step([1.0], dt=dt)
    assert part.steps == 0


@every_method
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_input_that_is_not_finite_leaves_the_state(method, value):
    part = compiled(method)
    part.step([1.0])
    state, time, verdict = part.state.tolist(), part.time, part.verdict
    with pytest.raises(pv.NonFiniteError, match="input") as caught:
        part.step([value])
    assert caught.value.state == dict(zip("qp", state)) and caught.value.time == time
    assert part.state.tolist() == state and part.verdict == verdict and part.steps == 1
    part.step([1.0])
    assert part.steps == 2


@pytest.mark.parametrize("method", [m for m in EVERY if not isinstance(m, pv.PassiveMidpoint)], ids=name_of)
def test_leaving_the_domain_is_an_error(method):
    part = pv.compile(pv.library.microphone(), method, 0.5, start={"q": 0.2, "p": -8.0}, engine="python")
    with pytest.raises(pv.DomainError, match="q > 0") as caught:
        part.step([0.0])
    assert caught.value.state["q"] == 0.2 and part.state.tolist() == [0.2, -8.0, 0.0] and part.steps == 0


def test_a_state_that_overflows_is_an_error():
    part = compiled(pv.ExplicitEuler(), model=duffing(beta=1e5), step=10.0, start={"q": 1e3})
    with pytest.raises(pv.NonFiniteError, match="next state"):
        for _ in range(20):
            part.step([0.0])
    assert np.isfinite(part.state).all()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"method": pv.AVF}, pv.MethodError), ({"method": None}, pv.MethodError),
        ({"step": 0.0}, pv.InputError),
        ({"step": -1e-3}, pv.InputError), ({"step": "x"}, pv.InputError), ({"step": np.nan}, pv.InputError),
        ({"start": {"z": 1.0}}, pv.InputError), ({"start": {"q": np.nan}}, pv.InputError),
        ({"laws": {"f": pv.Feedback("-y0")}}, pv.InputError), ({"model": "duffing"}, pv.ModelError),
    ],
)  # fmt: skip
def test_what_compile_refuses(arguments, error):
    given = {"model": duffing(), "method": pv.AVF(), "step": 0.1, "engine": "python", **arguments}
    with pytest.raises(error):
        pv.compile(given.pop("model"), given.pop("method"), given.pop("step"), **given)


@every_method
def test_methods_describe_themselves(method):
    assert method_from(method.describe()) == method
    assert method.order in (1, 2, 4, 6)
