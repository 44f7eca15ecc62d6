"""Algorithms 1 and 2 (spec 1.2, 1.3): the ledger identity in every branch, level sets, periods, faults, books."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import passivo as pv
from passivo.method.energy_consistent import PROJECTIONS, UPDATES
from strategies import linear

K, M, T = 5000.0, 0.2, 1e-3
OMEGA = (K / M) ** 0.5
CHOICES = list(itertools.product(PROJECTIONS, ("euler", "heun", "rk4"), ("euler", "symmetric")))


def compiled(model, method, step, x=None, **options):
    start = None if x is None else dict(zip(model.states, x))
    return pv.compile(model, method, step, start=start, engine="python", **options)


def debt(part):
    """HBK of every book."""
    count = max(1, part.module.BOOK_COUNT)
    return part._section("BOOKS", 2 * count).reshape(count, 2).sum(axis=1)


def check_ledger(part, Q, J, R, G, T, steps, inputs):
    """`H − HBK − H0 − Σ dH = 0` with H, y, dH in numpy, over all steps; returns the largest H."""
    H = lambda x: x @ Q @ x / 2  # noqa: E731
    first, total, largest, moved = H(part.state), 0.0, H(part.state), 0.0
    for u in itertools.islice(inputs, steps):
        g = Q @ part.state
        y = G.T @ g
        part.step(u)
        dH = T * (y @ u - g @ R @ g)
        assert part.mean_output == pytest.approx(y, rel=1e-12, abs=1e-13)
        assert part.work == pytest.approx(T * y * u, rel=1e-12, abs=1e-14)
        assert part.lost == pytest.approx(T * g @ R @ g, rel=1e-11, abs=1e-14)
        total, moved = total + dH, moved + abs(dH)
        largest = max(largest, H(part.state), debt(part).max())
        assert abs(H(part.state) - debt(part).sum() - first - total) <= 1e-12 * (largest + moved)
    return largest


@given(st.integers(0, 3), st.integers(2, 6), st.sampled_from(CHOICES), st.integers(0, 2**20))
def test_the_ledger_identity_in_every_branch(seed, n, choice, run):
    """Random inputs, steps from tame to wild, starts at rest and away from it."""
    model, Q, J, R, G = linear(seed, n)
    projection, predictor, fault = choice
    rng = np.random.default_rng(run)
    T = float(10 ** rng.uniform(-2, 0.5))
    x = rng.uniform(-1, 1, n) * rng.choice([0.0, 0.05, 1.0])
    method = pv.EnergyConsistent(projection, predictor, alpha=rng.choice([0.0, 0.2, 1.0]), fault=fault)
    part = compiled(model, method, T, x)
    check_ledger(part, Q, J, R, G, T, 25, (rng.normal(size=2) * rng.choice([0.0, 1.0, 5.0]) for _ in itertools.count()))
    assert part.verdict.kind != "none" and abs(part.verdict.unnoticed) <= 1e3 * part.verdict.roundoff


@given(st.integers(0, 2), st.integers(2, 5), st.sampled_from(["radial", "bisection"]), st.integers(0, 2**20))
def test_the_ledger_identity_with_a_book_for_each_state(seed, n, projection, run):
    model, Q, J, R, G = linear(seed, n, separable=True)
    rng = np.random.default_rng(run)
    T = float(10 ** rng.uniform(-2, 0))
    part = compiled(model, pv.EnergyConsistent(projection, books="each"), T, rng.uniform(-1, 1, n))
    check_ledger(part, Q, J, R, G, T, 25, (rng.normal(size=2) for _ in itertools.count()))
    assert len(debt(part)) == n


@pytest.mark.parametrize("update", UPDATES[1:])
def test_the_strategies_that_fail_keep_the_books_too(update):
    model, Q, J, R, G = linear(1, 3)
    rng = np.random.default_rng(0)
    part = compiled(model, pv.EnergyConsistent(update=update), 0.05, rng.uniform(-1, 1, 3))
    check_ledger(part, Q, J, R, G, 0.05, 60, (rng.normal(size=2) for _ in itertools.count()))


@pytest.mark.parametrize("update", UPDATES[1:])
def test_without_loss_or_input_both_stay_where_they_are(update):
    """J, examples 4 and 5: along x' the only point of the level set is the old state, and along its field line too."""
    part = compiled(pv.library.oscillator(K, M), pv.EnergyConsistent(update=update), T, [0.2, 0.0])
    for _ in range(10):
        part.step([0.0])
    assert part.state == pytest.approx([0.2, 0.0], abs=1e-12)
    damped = compiled(pv.library.oscillator(K, M, b=1.0), pv.EnergyConsistent(update=update), T, [0.2, 0.1])
    for _ in range(5):
        damped.step([0.0])
    if update == "along_field_line":  # the energy falls, but nothing swings
        assert damped.state[0] / damped.state[1] == pytest.approx(2.0, rel=1e-9)
    else:  # no point of the line has less energy
        assert damped.faults["unreached"] > 0


@pytest.mark.parametrize(
    ("projection", "tolerance"), [("radial", 1e-13), ("euclidean", 1e-12), ("bisection", 1e-8), ("fieldline", 1e-12)]
)
@pytest.mark.parametrize("n", [2, 4, 6])
def test_the_level_set_is_reached(projection, tolerance, n):
    """H(x1) = H(x) + dH where there is no fault and the book is empty."""
    model, Q, _, R, G = linear(2, n)
    rng = np.random.default_rng(n)
    part = compiled(model, pv.EnergyConsistent(projection, alpha=0.0), 0.05)
    met = 0
    for _ in range(40):
        x, u = rng.uniform(-1, 1, n), rng.normal(size=2)
        part.place(dict(zip(model.states, x)))
        g, before = Q @ x, part.faults
        part.step(u)
        if part.faults == before:
            new = x @ g / 2 + 0.05 * (G.T @ g @ u - g @ R @ g)
            assert part.state @ Q @ part.state / 2 == pytest.approx(new, rel=tolerance)
            met += 1
    assert met >= 30


def test_the_ways_onto_the_level_set():
    """radial: x̄ scaled; Euclidean: exp(Q s) x̄; the field line by integration is the same line as in closed form."""
    from scipy.linalg import expm, logm

    model, Q, J, R, G = linear(0, 3)
    x, u = np.array([0.8, -0.5, 0.3]), np.array([0.7, -0.4])
    ahead = x + 0.3 * ((J - R) @ Q @ x + G @ u)
    ends = {}
    for projection in PROJECTIONS:
        part = compiled(model, pv.EnergyConsistent(projection), 0.3, x)
        part.step(u)
        ends[projection] = part.state.copy()
    assert ends["radial"] / ahead == pytest.approx(np.full(3, (ends["radial"] / ahead)[0]), rel=1e-13)
    values, vectors = np.linalg.eigh(Q)
    logs = np.log((vectors.T @ ends["euclidean"]) / (vectors.T @ ahead)) / values
    assert logs == pytest.approx(np.full(3, logs[0]), rel=1e-9) and logm(expm(Q)) == pytest.approx(Q)
    assert ends["bisection"] == pytest.approx(ends["euclidean"], rel=1e-8)
    assert ends["fieldline"] == pytest.approx(ends["euclidean"], rel=1e-5)
    assert ends["radial"] != pytest.approx(ends["euclidean"], rel=1e-5)


@pytest.mark.parametrize(("projection", "n"), [*itertools.product(PROJECTIONS[:2], (2, 3, 5))])
def test_a_lossless_system_keeps_its_energy(projection, n):
    model, *_ = linear(3, n, lossless=True)
    part = compiled(model, pv.EnergyConsistent(projection), 0.05, np.ones(n))
    first = part.stored
    for _ in range(200):
        part.step([0.0, 0.0])
    assert part.stored == pytest.approx(first, rel=1e-11) and abs(debt(part)[0]) <= 1e-11 * first
    assert part.verdict.kind == "exact" and not any(part.faults.values())


def test_interconnected_lossless_systems_keep_what_is_not_owed():
    """Σ H − Σ HBK is constant, although each book lends and takes."""
    model, *_ = linear(3, 4, separable=True, lossless=True)
    part = compiled(model, pv.EnergyConsistent(books="each"), 0.05, np.ones(4))
    first, owed = part.stored, 0.0
    for _ in range(300):
        part.step([0.0, 0.0])
        assert part.stored - debt(part).sum() == pytest.approx(first, rel=1e-11)
        owed = max(owed, abs(debt(part)).max())
    assert owed > 1e-3 * first and part.faults["leap"] > 0


def periods(run):
    q = run["q"].values
    k = np.nonzero((q[:-1] < 0) & (q[1:] >= 0))[0]
    return np.diff(k + q[k] / (q[k] - q[k + 1])) * run.step


def swing(method, until, b=0.0):
    return pv.simulate(pv.library.oscillator(K, M, b), method, T, until, start={"q": 0.2}, engine="python")


@pytest.mark.parametrize("steps_per_radian", [3.0, 6.3, 40.0])
def test_radial_rotation_per_step(steps_per_radian):
    """Lossless: every step turns by atan(ωT), so the period is 2πT/atan(ωT)."""
    step = 1 / (OMEGA * steps_per_radian)
    part = compiled(pv.library.oscillator(K, M), pv.EnergyConsistent(), step, [0.2, 0.0])
    for _ in range(30):
        before = np.arctan2(part.state[1] / M**0.5, part.state[0] * K**0.5)
        part.step([0.0])
        turned = before - np.arctan2(part.state[1] / M**0.5, part.state[0] * K**0.5)
        assert turned % (2 * np.pi) == pytest.approx(np.arctan(OMEGA * step), rel=1e-6)


def test_the_periods_of_figure_9():
    """40.07 and 42.0 ms as one system; as two the first four swings take 44.4 ms each, and they differ by faults."""
    assert periods(swing(pv.EnergyConsistent(), 1.0)).mean() == pytest.approx(
        2 * np.pi * T / np.arctan(OMEGA * T), 1e-4
    )
    assert periods(swing(pv.EnergyConsistent(), 1.0)).mean() * 1e3 == pytest.approx(40.07, abs=0.1)
    assert periods(swing(pv.EnergyConsistent("euclidean"), 1.0)).mean() * 1e3 == pytest.approx(42.0, abs=0.1)
    both = swing(pv.EnergyConsistent(alpha=0.1, books="each"), 0.25)
    assert periods(both)[:4].mean() * 1e3 == pytest.approx(44.4, abs=0.1)
    assert both.faults["leap"] > 0 and both.verdict.kind == "booked"


def test_forward_euler_grows_as_figure_3_says():
    run = swing(pv.ExplicitEuler(), 0.1)
    stored = run.ledger.stored.values[:, 0]
    assert stored / stored[0] == pytest.approx((1 + (OMEGA * T) ** 2) ** np.arange(101), rel=1e-12)
    assert stored[-1] / stored[0] == pytest.approx(11.81, abs=0.005)


# -- faults -----------------------------------------------------------------------------------------------------------


def test_stiff_damping_leaps_in_every_step_and_is_called_active():
    """bT/m = 2.05: the known limit of the Euler quadrature, counted and not hidden."""
    run = swing(pv.EnergyConsistent(), 0.5, b=410.0)
    assert run.verdict.kind == "active" and run.faults["leap"] > 200
    assert run.ledger.faults.values[-1, 0] == sum(run.faults.values())
    assert abs(run.verdict.unnoticed) <= 1e-9 * run.verdict.bias  # active, but not unnoticed


def test_a_symmetric_leap_keeps_the_energy_and_books_what_should_have_gone():
    part = compiled(pv.library.oscillator(K, M, b=410.0), pv.EnergyConsistent(fault="symmetric"), T, [0.0, 0.1])
    for _ in range(5):
        before, x = part.stored, part.state.copy()
        part.step([0.0])
        assert part.state.tolist() == (-x).tolist() and part.stored == before
    assert part.faults["leap"] == 5 and debt(part)[0] == pytest.approx(5 * T * 410.0 * (0.1 / M) ** 2)


def test_a_deadlock_is_left_by_the_predictor_and_paid_back():
    part = compiled(pv.library.mass(m=2.0), pv.EnergyConsistent(), 0.1)
    part.step([3.0])
    assert part.state == pytest.approx([0.3]) and part.faults["deadlock"] == 1
    assert debt(part)[0] == pytest.approx(0.3**2 / 4) and part.work == pytest.approx([0.0])
    for _ in range(60):
        part.step([0.5])
    assert 0.0 <= debt(part)[0] < 1e-6 and part.faults == {"deadlock": 1, "leap": 0, "no direction": 0, "unreached": 0}


@pytest.mark.parametrize("credit", [True, False])
def test_credit(credit):
    """A spring pushed hard through its minimum removes energy; with credit it is given back."""
    part = compiled(pv.library.spring(k=10.0), pv.EnergyConsistent(credit=credit), 0.1, [1.0])
    part.memory[part.module.BOOKS] = -1.0
    part.step([0.0])
    assert part.stored == pytest.approx(5.2 if credit else 5.0) and debt(part)[0] == pytest.approx(
        -0.8 if credit else -1
    )


BOUNDED = pv.System(["x"], "c*x**2/(1 + x**2)", ports={"rate": pv.flow([1])}, params={"c": 1.0}, minimum={"x": 0.0})


def test_no_direction():
    """The predictor exactly on the minimum while 0.72 J should be left: taken, booked, counted."""
    part = compiled(BOUNDED, pv.EnergyConsistent(), 0.5, [3.0])
    part.step([-6.0])  # g = 0.06
    assert part.state[0] == 0.0 and part.faults["no direction"] == 1
    assert debt(part)[0] == pytest.approx(-(0.9 - 0.18), rel=1e-12)


def test_an_energy_that_is_never_reached():
    """H < 1 everywhere, and Hnew = 1.08: the predictor is taken, booked, counted."""
    part = compiled(BOUNDED, pv.EnergyConsistent(), 0.5, [3.0])
    part.step([6.0])
    assert part.state[0] == pytest.approx(6.0) and part.faults["unreached"] == 1
    assert debt(part)[0] == pytest.approx(36 / 37 - 1.08, rel=1e-12)


def test_a_system_at_rest_stays_there_without_faults():
    for method in (pv.EnergyConsistent(), pv.EnergyConsistent("euclidean"), pv.EnergyConsistent(books="each")):
        part = compiled(pv.library.oscillator(K, M, b=1.0), method, T)
        for _ in range(5):
            part.step([0.0])
        assert part.state.tolist() == [0.0, 0.0] and not any(part.faults.values()) and part.verdict.kind == "exact"


def test_states_outside_the_energy_are_not_projected():
    """A free mass: its position is no part of the energy, and moves as the predictor says."""
    model = pv.Mechanical(["q"], mass=2.0, ports={"force": pv.effort([1])}, minimum={"q": 0.0})
    for projection in PROJECTIONS:
        part = compiled(model, pv.EnergyConsistent(projection), 0.1, [5.0, 4.0])
        part.step([1.0])
        assert part.state[0] == pytest.approx(5.2, rel=1e-14)
        assert part.state[1] == pytest.approx((16 + 4 * 0.1 * 2.0) ** 0.5, rel=1e-8)


# -- energies that are not quadratic ----------------------------------------------------------------------------------


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize(
    ("model", "start"),
    [
        (pv.library.pendulum(b=0.05), {"q": 1.5, "p": 0.4}),
        (pv.library.duffing(b=0.1), {"q": 1.2, "p": -0.5}),
        (pv.library.microphone(), {"q": 3.5, "p": 0.2, "Q": 0.3}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_any_energy_with_one_minimum(model, start, projection):
    """The identity, and Hnew reached where there was no fault and the book is empty."""
    part = pv.compile(model, pv.EnergyConsistent(projection), 0.05, start=start, engine="python")
    first, total, moved = part.stored, 0.0, 0.0
    for k in range(80):
        before, faults, owed = part.stored, part.faults, debt(part)[0]
        part.step([0.2 * np.sin(k)])
        dH = part.work.sum() - part.lost
        total, moved = total + dH, moved + abs(dH)
        assert abs(part.stored - debt(part)[0] - first - total) <= 1e-12 * (first + moved)
        if part.faults == faults and abs(owed) < 1e-14:
            assert part.stored == pytest.approx(before + dH, rel=1e-8 if projection == "bisection" else 1e-12)
    assert part.verdict.passive and part.faults["unreached"] == 0


def test_a_pendulum_swings_within_its_well():
    """Lossless for 200 swings: the energy stands still, whatever the step."""
    for step in (0.02, 0.3):
        part = compiled(pv.library.pendulum(), pv.EnergyConsistent(), step, [2.0, 0.3])
        first = part.stored
        for _ in range(200):
            part.step([0.0])
        assert part.stored == pytest.approx(first, rel=1e-11) and part.verdict.kind == "exact"


def test_a_book_for_each_state_of_an_energy_that_is_not_quadratic():
    part = compiled(pv.library.duffing(), pv.EnergyConsistent(books="each"), 0.05, [1.2, 0.3])
    first = part.stored
    for _ in range(200):
        part.step([0.0])
    assert part.stored - debt(part).sum() == pytest.approx(first, rel=1e-11) and abs(debt(part)).max() > 0


# -- minimum and heights ----------------------------------------------------------------------------------------------


def test_a_constant_added_to_the_energy_changes_nothing():
    """Heights are formed as differences: states, books, allowance and verdict are the same to the last bit."""
    plain, raised = (
        pv.System(
            ["q", "p"], f"{c} + q**2/2 + p**2/2 + q**4", [[0, 1], [-1, 0]], [[0, 0], [0, 3.0]], minimum={"q": 0.0}
        )
        for c in (0, 1e6)
    )
    parts = [compiled(model, pv.EnergyConsistent(), 0.3, [1e-3, 2e-3]) for model in (plain, raised)]
    for _ in range(50):
        for part in parts:
            part.step()
    assert parts[0].state.tolist() == parts[1].state.tolist() and debt(parts[0]) == debt(parts[1])
    assert parts[0].verdict == parts[1].verdict and parts[0].verdict.allowance > 0


def test_the_minimum_follows_the_parameters_while_running():
    """A hanging mass: the rest position −m g/k moves when k does, and the step knows it."""
    hanging = pv.Mechanical(
        ["q"], mass="m", potential="k*q**2/2 + m*g*q", ports={"force": pv.effort([1])},
        params={"m": 2.0, "g": 9.81, "k": 40.0}, minimum={"q": "-m*g/k"},
    )  # fmt: skip
    part = compiled(hanging, pv.EnergyConsistent(), 0.02, [0.1, 0.0])
    part.step([0.0])
    part.set(k=80.0)
    before = part.stored
    for _ in range(100):
        part.step([0.0])
    assert part.stored == pytest.approx(before, rel=1e-11)
    again = compiled(hanging.with_params(k=80.0), pv.EnergyConsistent(), 0.02)
    assert again.state == pytest.approx([-2 * 9.81 / 80, 0.0])
    again.step([0.0])
    assert again.state == pytest.approx([-2 * 9.81 / 80, 0.0]) and not any(again.faults.values())
    other = pv.Mechanical(
        ["q"], mass="m", potential="k*q**2/2 + m*g*q", ports={"force": pv.effort([1])},
        params={"m": 2.0, "g": 9.81, "k": 40.0}, minimum={"q": "-1.0*m*g/k"},
    )  # fmt: skip
    assert compiled(other, pv.EnergyConsistent(), 0.02).module is not part.module  # the formula shapes the code


def test_a_composition_has_the_minima_of_its_parts():
    parts = {"spring": pv.library.spring(k=400.0), "mass": pv.library.mass(m=0.2)}
    model = pv.Monolithic(parts, [("spring.end", "mass.force", "link")])
    assert [str(value) for value in model.form.minimum] == ["0", "0"]
    shifted = pv.System(
        ["x"], "k*(x - r)**2/2", params={"k": 2.0, "r": 0.5}, minimum={"x": "r"}, ports={"v": pv.flow([1])}
    )
    both = pv.Monolithic({"a": shifted, "b": shifted})
    assert [str(value) for value in both.form.minimum] == ["a.r", "b.r"]
    part = pv.compile(model, pv.EnergyConsistent(), 1e-3, start={"spring.q": 0.2}, engine="python")
    for _ in range(100):
        part.step()
    assert part.verdict.kind == "exact" and part.stored == pytest.approx(8.0, rel=1e-11)


def test_faults_of_a_composition_go_to_the_row_of_their_book():
    parts = {"spring": pv.library.spring(k=400.0), "mass": pv.library.mass(m=0.2)}
    model = pv.Monolithic(parts, [("spring.end", "mass.force", "link")])
    run = pv.simulate(
        model, pv.EnergyConsistent(books="each"), 1e-3, 0.5, start={"spring.q": 0.2}, engine="python"
    )  # fmt: skip
    last = run.ledger.faults.isel(time=-1)
    assert float(last.sel(part="link")) == 0 and float(last.sel(part="spring")) > 0 and float(last.sel(part="mass")) > 0
    assert float(last.sel(part="spring")) + float(last.sel(part="mass")) == float(last.sel(part="total"))
    assert sum(run.faults.values()) == float(last.sel(part="total"))
    for name in ("spring", "mass", "total"):
        row = run.ledger.sel(part=name).isel(time=-1)
        assert float(row.booked) == pytest.approx(float(row.created), abs=1e-12)


# -- the unilateral spring (spec 1.3) ---------------------------------------------------------------------------------


def test_a_unilateral_spring_lets_go():
    part = compiled(pv.library.unilateral_spring(k=1000.0), pv.EnergyConsistent(release="depth"), T, [0.01])
    part.step([1.0, 0.011])
    assert part.state[0] == pytest.approx((1e-4 + 2 * T * 0.01) ** 0.5)
    booked = debt(part)[0]
    height = part.stored
    part.step([-1.0, -0.001])  # out of contact: q = 0, and the energy thrown away is booked once, with the old Hnew
    assert part.state[0] == 0.0 and debt(part)[0] - booked == pytest.approx(
        -(height - T * 1000.0 * 0.0109545), rel=1e-4
    )
    part.step([-1.0, 0.001])  # x1 < 0
    assert part.state[0] == 0.0
    before = part.faults
    for _ in range(5):
        part.step([0.5, -0.001])  # moving freely, out of contact: no fault
    assert part.state[0] == 0.0 and part.faults == before
    part.step([0.5, 0.001])
    assert part.state[0] == pytest.approx(0.5 * T) and part.faults["deadlock"] == before["deadlock"] + 1


def test_a_bouncing_ball_on_a_unilateral_spring():
    """A ball of 0.39 J, its motion exact under the held force: H − HBK − Σ work is constant through every contact."""
    part = compiled(pv.library.unilateral_spring(k=5000.0), pv.EnergyConsistent(release="depth"), T)
    depth, speed, supplied, contacts = -0.2, 0.0, 0.0, 0
    for _ in range(2000):
        force = part.output[0]
        acceleration = 9.81 - force / 0.2
        part.step([speed, depth])
        supplied += part.work[0]
        contacts += part.stored > 0
        depth, speed = depth + T * speed + T**2 * acceleration / 2, speed + T * acceleration
        assert abs(part.stored - debt(part)[0] - supplied) <= 1e-11
    assert contacts > 20


# -- in a run ---------------------------------------------------------------------------------------------------------


def drive(method, engine="python", model=None, every=1, **options):
    model = model or pv.library.oscillator(K, M, b=2.0)
    inputs = {"force": lambda t: 30 * pv.sin(130 * t)}
    settings = {"start": {"q": 0.05}, "inputs": inputs, "record_every": every, "engine": engine, **options}
    return pv.simulate(model, method, T, 0.2, **settings)


METHODS = [
    pv.EnergyConsistent(),
    pv.EnergyConsistent("euclidean", "rk4"),
    pv.EnergyConsistent("fieldline"),
    pv.EnergyConsistent("bisection", books="each"),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.projection}-{m.books}")
def test_saved_loaded_and_audited(method, tmp_path):
    """The book is no part of the state: the audit carries its own."""
    run = drive(method, allowance=2.0)
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert again.faults == run.faults and again.method == method and again.verdict == run.verdict
    assert again.allowance == 2.0 and again.verdict.allowance == 2.0
    report = pv.audit(tmp_path / "run.zarr")
    assert report.ok and report.verdict.kind == run.verdict.kind, str(report)
    thin = drive(method, every=20)
    assert thin.audit().ok and thin.faults == run.faults


def test_an_audit_finds_a_false_count(tmp_path):
    run = drive(pv.EnergyConsistent(books="each"))
    run.faults["leap"] += 1
    assert any("'leap'" in finding for finding in run.audit().findings)
    run = drive(pv.EnergyConsistent(books="each"))
    run.arrays["ledger"][50:, 0, 6] += 1
    assert any("faults of oscillator" in finding for finding in run.audit().findings)
    run = drive(pv.EnergyConsistent(books="each"))
    run.arrays["ledger"][50:, 0, 5] += 1e-9
    assert any("booked of oscillator" in finding for finding in run.audit().findings)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.projection}-{m.books}")
def test_a_run_cut_in_two_is_one_run(method):
    whole, first = (compiled(pv.library.oscillator(K, M, b=2.0), method, T, [0.05, 0.0]) for _ in range(2))
    for k in range(40):
        whole.step([np.sin(k)])
        if k < 20:
            first.step([np.sin(k)])
    second = first.copy()
    for k in range(20, 40):
        second.step([np.sin(k)])
    assert whole.memory.tolist() == second.memory.tolist()


def test_a_failed_step_books_nothing():
    model = pv.System(
        ["q"], "(q - 1)**2/2", ports={"rate": pv.flow([1])}, minimum={"q": 1.0}, domain="q > 0", name="edge"
    )  # fmt: skip
    part = compiled(model, pv.EnergyConsistent(), 0.1, [0.5])
    part.step([-0.5])
    before, faults, owed = part.state.copy(), part.faults, debt(part).copy()
    with pytest.raises(pv.DomainError):
        part.step([-30.0])
    assert part.state == before and part.faults == faults and debt(part) == owed


def test_feedback_is_taken_at_the_start_of_the_step_and_held():
    law = {"force": pv.Feedback(lambda y: -2 * y)}
    part = compiled(pv.library.oscillator(4.0, 1.0), pv.EnergyConsistent(predictor="rk4"), 0.1, [1.0, 0.5], laws=law)
    part.step()
    assert part.work[0] == pytest.approx(0.1 * -2 * 0.5**2) and part.mean_output[0] == pytest.approx(0.5)
    held = compiled(pv.library.oscillator(4.0, 1.0), pv.EnergyConsistent(predictor="rk4"), 0.1, [1.0, 0.5])
    held.step([-1.0])
    assert held.state == pytest.approx(part.state, rel=1e-14)


@pytest.mark.parametrize(("predictor", "order"), [("euler", 1), ("rk4", 1)])
def test_order(predictor, order):
    """The held input and the balance at x(k) make it first order, whatever the predictor is."""
    errors = []
    exact = drive(pv.ExactHold("true"), model=pv.library.oscillator(40.0, 1.0, b=0.5), inputs={"force": 1.0}).arrays[
        "states"
    ][-1]
    for parts in (1, 2, 4, 8):
        part = compiled(
            pv.library.oscillator(40.0, 1.0, b=0.5), pv.EnergyConsistent(predictor=predictor), T / parts, [0.05, 0]
        )
        for _ in range(200 * parts):
            part.step([1.0])
        errors.append(np.linalg.norm(part.state - exact))
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("method", [pv.EnergyConsistent("euclidean", "heun"), METHODS[3]], ids=lambda m: m.projection)
def test_machine_code_and_plain_python_agree(method):
    one, two = drive(method, "numba"), drive(method)
    assert one.faults == two.faults and one.verdict.kind == two.verdict.kind
    assert one.arrays["states"] == pytest.approx(two.arrays["states"], rel=1e-9, abs=1e-12)


# -- options ----------------------------------------------------------------------------------------------------------


def test_predictors_by_name_and_by_method():
    assert pv.EnergyConsistent(predictor="RK4") == pv.EnergyConsistent(predictor=pv.RK4())  # type: ignore[arg-type]
    assert pv.EnergyConsistent(predictor=pv.ExplicitEuler()) == pv.EnergyConsistent()  # type: ignore[arg-type]
    assert pv.EnergyConsistent(predictor="ExplicitEuler") == pv.EnergyConsistent(predictor="Euler")


DOUBLE_WELL = pv.library.duffing(alpha=-1.0)
COUPLED = pv.System(["q", "p"], "q**2 + q*p/2 + p**2", [[0, 1], [-1, 0]])
TILTED = pv.System(["q"], "q**2/2 + q", ports={"v": pv.flow([1])})


@pytest.mark.parametrize(
    ("options", "model", "says"),
    [
        ({"projection": "radia"}, None, "did you mean 'radial'"),
        ({"predictor": "rk5"}, None, "did you mean 'rk4'"),
        ({"predictor": pv.AVF()}, None, "predictor cannot be 'avf'"),
        ({"fault": "none"}, None, "choose from euler, symmetric"),
        ({"books": "two"}, None, "choose from one, each"),
        ({"update": "along"}, None, "update cannot be 'along'"),
        ({"alpha": 1.5}, None, "alpha must be a number from 0 to 1"),
        ({"alpha": "much"}, None, "alpha must be a number"),
        ({"beta": -0.1}, None, "beta"),
        ({"deadlock_abs": float("inf")}, None, "joules >= 0"),
        ({"deadlock_rel": float("nan")}, None, "deadlock_rel"),
        ({"halvings": 0}, None, "halvings"),
        ({"release": "depth"}, None, "no signal of 'oscillator'"),
        ({"release": "grip"}, "clutch", "one state"),
        ({"books": "each"}, COUPLED, "'q' and 'p' stand in one term; take books='one'"),
        ({}, DOUBLE_WELL, "give it minimum="),
        ({}, TILTED, "give it minimum="),
        ({}, pv.library.kepler(), "give it minimum="),
        ({}, "tilted", "its slope by 'q' is 1"),
    ],
    ids=str,
)
def test_bad_options_and_systems(options, model, says):
    if model == "clutch":
        model = pv.System(["q", "p"], "q**2 + p**2", [[0, 1], [-1, 0]], [[0, 0], [0, "grip**2"]], signals=["grip"])
    if model == "tilted":
        model = pv.System(["q"], "q**2/2 + q", ports={"v": pv.flow([1])}, minimum={"q": 0.0})
    with pytest.raises(pv.MethodError, match=says):
        compiled(model or pv.library.oscillator(), pv.EnergyConsistent(**options), T)


def test_relations_are_refused():
    with pytest.raises(pv.MethodError, match="Relation"):
        compiled(pv.library.oscillator(), pv.EnergyConsistent(), T, laws={"force": pv.Relation(lambda y, u: y + u)})


@pytest.mark.parametrize("bad", [-1.0, float("nan"), "much"])
def test_a_bad_allowance(bad):
    with pytest.raises(pv.InputError, match="joules"):
        drive(pv.EnergyConsistent(), allowance=bad)


def test_the_allowance_decides_between_booked_and_active():
    lent = drive(pv.EnergyConsistent(books="each"))
    assert lent.verdict.kind == "booked" and lent.verdict.allowance > lent.verdict.bias
    assert drive(pv.EnergyConsistent(books="each"), allowance=0.5 * lent.verdict.bias).verdict.kind == "active"
    assert drive(pv.AVF(), allowance=0.5).verdict.allowance == 0.5 and drive(pv.AVF()).verdict.allowance == 0.0


def test_the_allowance_after_a_change_by_hand():
    """The peak counts from the new height where the state or a parameter is set."""
    part = compiled(pv.library.oscillator(K, M), pv.EnergyConsistent(), T, [0.2, 0.0])
    assert part.verdict.allowance == pytest.approx(10.0)
    part.set(k=2 * K)
    assert part.verdict.allowance == pytest.approx(20.0)
    part.step([0.0])
    part.place({"q": 0.4})
    assert part.verdict.allowance == pytest.approx(0.1 * part.stored, rel=1e-9)
    part.place({"q": 0.0, "p": 0.0})
    assert part.verdict.allowance == pytest.approx(80.0, rel=0.2)
