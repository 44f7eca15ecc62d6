"""The law of scalar springs, spec 4.7: exact, monotone, and never asked beforehand whether it is taut."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passivo.world.taut import draw, taut_stretch, taut_way

EPSILON = 2.0**-52
sizes = st.floats(-1.0, 1.0).filter(lambda x: x == 0.0 or abs(x) > 1e-100)
ways = st.one_of(sizes, st.floats(-1e-12, 1e-12).filter(lambda x: x == 0.0 or abs(x) > 1e-100))


def stored(e, both):
    """U/k, without rounding."""
    return Fraction(1, 2) * (e if both else max(e, Fraction(0))) ** 2


@given(sizes, ways, st.booleans())
def test_the_tension_does_the_work_that_is_stored(e, d, both):
    """F d = ΔU to rounding of the tension, however small the way."""
    tension, _ = draw(e, d, both)
    gain = stored(Fraction(e) + Fraction(d), both) - stored(Fraction(e), both)
    assert abs(Fraction(tension) * Fraction(d) - gain) <= 4 * EPSILON * (abs(e) + abs(d)) * abs(d)


@given(sizes, ways, st.booleans())
def test_the_slope_is_that_of_the_tension_and_bounded(e, d, both):
    _, slope = draw(e, d, both)
    assert 0.0 <= slope <= 0.5
    step = 1e-6 * max(abs(e), abs(d), 1e-9)
    (low, _), (high, _) = draw(e, d - step, both), draw(e, d + step, both)
    if (e > 0.0) == (d + e > 2 * step) and abs(e) > step:  # no kink within
        assert abs((high - low) / (2 * step) - slope) < 1e-4
    assert high >= low - EPSILON * (abs(e) + abs(d))


@given(sizes, sizes, sizes)
def test_it_never_pushes_and_grows_with_the_way(e, one, other):
    low, high = sorted((one, other))
    (first, _), (second, _) = draw(e, low, False), draw(e, high, False)
    assert 0.0 <= first <= second * (1 + 4 * EPSILON)
    assert taut_way(e, low, False) <= taut_way(e, high, False)


@given(sizes, ways)
def test_taut_shares(e, d):
    """The share of the way in which it is taut, and with it the table of spec 4.7."""
    new, way, (tension, slope) = e + d, taut_way(e, d, False), draw(e, d, False)
    assert way == pytest.approx(taut_stretch(new, False) - taut_stretch(e, False), abs=2 * EPSILON * (abs(e) + abs(d)))
    if e > 0.0 and new > 0.0:
        assert (tension, slope, way) == (e + 0.5 * d, 0.5, d)
    elif e <= 0.0 and new <= 0.0:
        assert (tension, slope, way) == (0.0, 0.0, 0.0)
    else:
        share = way / d
        assert 0.0 <= share <= 1.0
        assert tension == pytest.approx(0.5 * share * max(e, new), rel=1e-12)
        expected = share**2 / 2 if e > 0.0 else (1 - (e / d) ** 2) / 2
        assert slope == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_newton_settles_and_freezing_whether_it_is_taut_does_not(seed):
    """One coordinate between two stops of 10^6 N/m: Newton's method with these slopes finds the step; a spring that
    stays what it was at the start of the step creates joules."""
    rng = np.random.default_rng(seed)
    mass, k, h = 0.02, 1e6, 1e-3
    created = frozen = 0.0
    q, v = float(rng.uniform(-0.01, 0.01)), float(rng.uniform(1.0, 2.0))
    for _ in range(300):
        rows = ((-0.012 + q, 1.0), (-0.012 - q, -1.0))  # stretch at the start, and its sign
        d, moved, tension = h * v, 1.0, 0.0
        for _ in range(40):
            laws = [(s, *draw(e, s * d, False)) for e, s in rows]
            tension = k * sum(s * f for s, f, _ in laws)
            slope = k * sum(g for *_, g in laws)
            moved = (2 * mass / h**2 * d - 2 * mass / h * v + tension) / (2 * mass / h**2 + slope)
            d -= moved
            if abs(moved) <= 1e-16:
                break
        assert abs(moved) <= 1e-15
        new = 2 * d / h - v
        gain = sum(k / 2 * (max(e + s * d, 0.0) ** 2 - max(e, 0.0) ** 2) for e, s in rows)
        created = max(created, abs(mass / 2 * (new**2 - v**2) + gain))
        stiff = sum(k for e, s in rows if e > 0.0)
        step = (2 * mass / h * v - k * sum(s * e for e, s in rows if e > 0.0)) / (2 * mass / h**2 + stiff / 2)
        wrong = sum(k / 2 * (max(e + s * step, 0.0) ** 2 - max(e, 0.0) ** 2) for e, s in rows)
        frozen = max(frozen, mass / 2 * ((2 * step / h - v) ** 2 - v**2) + wrong)
        q, v = q + d, new
    assert created < 1e-14
    assert frozen > 0.1
