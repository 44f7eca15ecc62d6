"""Accounts: sums that lose nothing, biases and windows against brute force, the excess rule."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passivo.ledger import accounts as A
from passivo.ledger.verdict import judge

EPSILON = 2.0**-52
KERNELS = (A.add, A.exceed, A.enter, A.remember, A.book)


def kernels(**constants):
    """The kernels with the names they are given in a generated module."""
    names = {**vars(A), "EPSILON": EPSILON, "KEEPS_BOOK": False, **constants}
    for kernel in KERNELS:
        names[kernel.__name__] = type(kernel)(kernel.__code__, names)
    return SimpleNamespace(**{kernel.__name__: names[kernel.__name__] for kernel in KERNELS})


def account(half=1):
    m = np.zeros(A.ACCOUNT_SIZE)
    m[A.A_MARK] = half
    return m


def booked(created, scale=0.0, book=None, half=1, lost=0.0):
    """An account after steps 1, 2, ... that created `created` each."""
    kernel, m = kernels(KEEPS_BOOK=book is not None), account(half)
    for k, value in enumerate(created, 1):
        kernel.enter(m, 0, value, 0.0, lost, 0.0 if book is None else book[k - 1], scale, float(k))
        kernel.remember(m, 0, k)
    return m


def verdict(m, **options):
    return judge(m, 0, ("part",), **options)


def test_sums_are_as_good_as_fsum():
    """10^5 entries over 24 orders of magnitude."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(100_000) * 10.0 ** rng.uniform(-16, 8, 100_000)
    m = [0.0, 0.0]
    for value in values.tolist():
        A.add(m, 0, value)
    exact = math.fsum(values.tolist())
    assert abs(m[0] + m[1] - exact) <= 2 * EPSILON * abs(exact) + 1e-15 * abs(values).max() * EPSILON
    assert abs(math.fsum(values.tolist()) - values.cumsum()[-1]) > 100 * abs(m[0] + m[1] - exact)


def test_tiny_entries_are_not_lost_beside_a_large_one():
    m = [0.0, 0.0]
    for value in [1e16, *[1.0] * 1000, -1e16]:
        A.add(m, 0, value)
    assert m[0] + m[1] == 1000.0


def brute_force(series):
    """Largest C(i) − C(j), j <= i, and its window; C(0) = 0."""
    C = np.concatenate([[0.0], np.cumsum(series)])
    gains = [(C[i] - C[j], j, i) for i in range(len(C)) for j in range(i + 1)]
    return max(gains, key=lambda gain: gain[0])


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60))
def test_bias_and_removed_against_brute_force(series):
    m = booked([float(value) for value in series])
    bias, *_ = brute_force(series)
    removed = brute_force([-value for value in series])[0]
    result = verdict(m)
    assert result.bias == bias and result.removed == removed
    C = np.concatenate([[0.0], np.cumsum(series)])
    if bias > 0:
        j, i = (int(t) for t in result.window)
        assert j < i and C[i] - C[j] == bias
    assert float(m[A.A_CREATED] + m[A.A_CREATED + 1]) == C[-1]


@given(st.integers(0, 2**20))
def test_bias_of_random_reals(seed):
    series = np.random.default_rng(seed).standard_normal(80)
    assert verdict(booked(series)).bias == pytest.approx(brute_force(series)[0], rel=1e-12)


def test_an_earlier_loss_hides_no_later_gain_nor_the_reverse():
    assert verdict(booked([-5.0, 3.0])).bias == 3.0
    assert verdict(booked([3.0, -5.0])).bias == 3.0
    assert verdict(booked([-5.0, 3.0])).kind == verdict(booked([3.0, -5.0])).kind == "active"


@given(st.integers(0, 2**20))
def test_excess_rule(seed):
    """excess = max(0, excess + created − r), against the largest r so far; the same for −created."""
    rng = np.random.default_rng(seed)
    scale = 1.0 / (16 * EPSILON)  # r = 1 J
    created = rng.uniform(-2, 2, 50) * rng.choice([0.3, 1.0])
    rise = fall = highest = lowest = 0.0
    for value in created:
        rise, fall = max(0.0, rise + value - 1.0), max(0.0, fall - value - 1.0)
        highest, lowest = max(highest, rise), max(lowest, fall)
    m = booked(created, scale)
    assert [m[A.A_RISE], m[A.A_FALL], m[A.A_ROUNDOFF]] == pytest.approx([rise, fall, 1.0])
    beyond = [value if value > 1.0 else 0.0 for value in (highest, lowest)]
    assert [m[A.A_ROSE], m[A.A_FELL]] == pytest.approx(beyond)
    kind = "active" if highest > 1.0 else "passive" if lowest > 1.0 else "exact"
    assert verdict(m).kind == kind


def test_rounding_never_adds_up_but_a_leak_does():
    """Entries within r stay exact for ever; a constant leak a little above r is found."""
    scale = 1.0 / (16 * EPSILON)
    assert verdict(booked([0.9] * 10_000, scale)).kind == "exact"
    assert verdict(booked([1.01] * 10_000, scale)).kind == "active"
    assert verdict(booked([-1.01] * 10_000, scale)).kind == "passive"


def test_the_largest_roundoff_is_kept():
    kernel, m = kernels(), account()
    for k, scale in enumerate((1.0, 5.0, 2.0), 1):
        kernel.enter(m, 0, 0.0, 0.0, 0.0, 0.0, scale, float(k))
    assert m[A.A_ROUNDOFF] == 16 * EPSILON * 5.0


def test_created_is_change_less_work_plus_loss():
    kernel, m = kernels(), account()
    kernel.enter(m, 0, 5.0, 2.0, 0.5, 0.0, 1.0, 1.0)
    columns = [m[at] + m[at + 1] for at in (A.A_WORK, A.A_LOST, A.A_CREATED)]
    assert columns == [2.0, 0.5, 3.5]


def test_a_negative_loss_is_counted_as_created():
    """A loss of −1 J that the state really gained: not a loss, but energy created."""
    kernel, m = kernels(), account()
    kernel.enter(m, 0, 1.0, 0.0, -1.0, 0.0, 1.0, 1.0)
    assert m[A.A_LOST] == 0.0 and m[A.A_CREATED] == 1.0
    assert verdict(m).kind == "active" and verdict(m).bias == 1.0


def test_half_of_the_run_is_remembered():
    """`bounded`: the bias at half of the run, or at a power of two where its length is not known."""
    half = booked([1.0] * 5 + [-1.0, 1.0] * 5 + [-5.0], half=8)
    assert verdict(half).bounded and half[A.A_FIRST] == 5.0
    assert not verdict(booked([1.0] * 16, half=8)).bounded
    unknown = booked([3.0, -3.0] * 40)
    assert verdict(unknown).bounded
    assert not verdict(booked([0.1] * 100)).bounded


def module(rows, width, row_of_input, keeps_book=False):
    """`book` for several rows on a memory of its own."""
    at, names = 0, {}
    sizes = {
        "TIME": 2,
        "COUNT": 1,
        "RECEIVED": rows,
        "SCALE": rows,
        "WORK": width,
        "LOST": rows,
        "CHANGE": rows,
    }
    sizes |= {"FAULTS": rows + 1, "BOOKED": rows, "PORT_WORK": 2 * width, "ACCOUNTS": (rows + 1) * A.ACCOUNT_SIZE}
    for name, size in sizes.items():
        names[name], at = at, at + size
    names |= {"ROWS": rows, "WIDTH": width, "ROW_OF_INPUT": row_of_input, "KEEPS_BOOK": keeps_book}
    names["ACCOUNTS_COUNT"] = rows + 1 if rows > 1 else 1
    m = np.zeros(at)
    m[names["ACCOUNTS"] + A.A_MARK :: A.ACCOUNT_SIZE] = 1.0
    return SimpleNamespace(**names), kernels(**names), m


def test_rows_add_up_to_the_total():
    """Two parts and a connection: inner power cancels in the total, outer ports count once."""
    at, kernel, m = module(3, 2, (0, 1))
    rng = np.random.default_rng(5)
    total = np.zeros(3)
    port = np.zeros(2)
    for _ in range(20):
        inner, work, change, lost = rng.normal(), rng.normal(size=2), rng.normal(size=3), rng.uniform(size=3)
        m[at.RECEIVED : at.RECEIVED + 3] = [inner, -inner, 0.0]
        m[at.WORK : at.WORK + 2] = work
        m[at.CHANGE : at.CHANGE + 3] = change
        m[at.LOST : at.LOST + 3] = lost
        kernel.book(m, 0.25)
        total += [work.sum(), lost.sum(), change.sum() - work.sum() + lost.sum()]
        port += work
    last = at.ACCOUNTS + 3 * A.ACCOUNT_SIZE
    found = [m[last + column] + m[last + column + 1] for column in (A.A_WORK, A.A_LOST, A.A_CREATED)]
    assert found == pytest.approx(total, rel=1e-12)
    assert [
        m[at.PORT_WORK] + m[at.PORT_WORK + 1],
        m[at.PORT_WORK + 2] + m[at.PORT_WORK + 3],
    ] == pytest.approx(port)
    assert m[at.TIME] + m[at.TIME + 1] == 5.0 and m[at.COUNT] == 20.0


def test_time_does_not_drift():
    at, kernel, m = module(1, 0, (0,))
    for _ in range(100_000):
        kernel.book(m, 0.1)
    assert m[at.TIME] + m[at.TIME + 1] == pytest.approx(math.fsum([0.1] * 100_000), rel=1e-16)


def test_a_book_of_its_own():
    """What a method books itself is no surprise: unnoticed is the rest."""
    m = booked([1.0, -0.5, 2.0], book=[1.0, -0.5, 2.0])
    assert m[A.A_BOOKED] + m[A.A_BOOKED + 1] == 2.5 and m[A.A_UNNOTICED] == 0.0
    assert verdict(m).unnoticed == 0.0
    m = booked([1.0, 1.0], book=[1.0, 0.25])
    assert m[A.A_UNNOTICED] == 0.75 and verdict(m).unnoticed == 0.75
    assert booked([1.0, 1.0])[A.A_BOOKED] == 0.0


def test_faults_are_counted_for_each_row_and_the_total():
    """A fault of a book that spans two rows is one fault of the total."""
    at, kernel, m = module(2, 0, (0,), keeps_book=True)
    for faults in ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
        m[at.FAULTS : at.FAULTS + 3] = faults
        kernel.book(m, 0.1)
    assert m[at.ACCOUNTS + A.A_FAULTS :: A.ACCOUNT_SIZE].tolist() == [2.0, 1.0, 2.0]


@given(st.integers(0, 2**20))
def test_the_peak_is_the_largest_height_less_what_was_created(seed):
    """height − C, formed from work and loss alone: what the numerics created does not raise it."""
    rng = np.random.default_rng(seed)
    kernel, m, height, created, peak = kernels(), account(), 3.0, 0.0, 3.0
    m[A.A_LEVEL] = m[A.A_PEAK] = height
    for k, (change, work, lost) in enumerate(zip(rng.normal(size=30), rng.normal(size=30), rng.uniform(size=30))):
        kernel.enter(m, 0, change, work, lost, 0.0, 1.0, float(k))
        height, created = height + change, created + change - work + lost
        peak = max(peak, height - created)
    assert [m[A.A_LEVEL], m[A.A_PEAK]] == pytest.approx([height - created, peak], rel=1e-12)
