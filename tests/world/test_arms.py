"""Moment arms that depend on joints: the way follows from them, and its slopes over a step are exact."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.kernel.module import Piece, assemble, numbers_of
from passivo.model.expression import EXTENDED, evaluate
from passivo.world import poses, routes, table
from passivo.world.arms import checked_arms, nodes_of

EPSILON = 2.0**-52
WAYS = [
    "0.02*a + 0.01*b",
    "0.03*sin(a) - 0.02*cos(a + 2*b)",
    "0.02*a**3 - 0.01*a*b**2 + 0.05*b",
    "sqrt(0.01 + 0.004*cos(b) + 0.002*a**2)",
    "0.1*exp(-a/2)/(2 + sin(b)) + b**2.5",
    "1/(3 + a)**2 + 2**0.5*b",
]


@pytest.fixture(scope="module")
def kernels():
    piece = Piece(numbers_of(table, poses, routes), (), (*poses.INLINE, *routes.INLINE))
    space: dict = {}
    exec(assemble("nodes", "python", [piece], routes.KERNELS), space)
    return space


def traced(kernels, text, place, way):
    """The way of a formula over a step, its slopes, and its value at the start."""
    nodes = nodes_of(text, ("a", "b"))
    flat = [number for node in nodes.table for number in node]
    m = np.array([*place, *way, *nodes.figures, *np.zeros(5 * len(nodes.table))])
    at = 4 + len(nodes.figures)
    kernels["trace"](m, flat, 0, len(nodes.table), 2, at, 4, 0, 2)
    last = at + 5 * (len(nodes.table) - 1)
    return m[last + routes.NODE_WAY], m[last + routes.NODE_SLOPES :], m[last]


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-8, 1e-14])
@pytest.mark.parametrize("text", WAYS)
def test_slopes_give_the_way_however_small_the_step(kernels, text, size):
    rng = np.random.default_rng(len(text))
    for _ in range(5):
        place = rng.uniform(0.2, 1.0, 2)
        way = size * (rng.uniform(0.2, 1.0, 2) - place)
        moved, slopes, start = traced(kernels, text, place, way)
        ends = [dict(zip("ab", np.longdouble(place) + f * np.longdouble(way))) for f in (0, 1)]
        old, new = (evaluate(text, end, EXTENDED) for end in ends)
        rounding = np.finfo(np.longdouble).eps * 4
        assert abs(float(old) - start) <= 8 * EPSILON
        assert abs(moved - slopes @ way) <= 8 * EPSILON * np.abs(slopes) @ np.abs(way)
        assert abs(np.longdouble(moved) - (new - old)) <= 8 * EPSILON * np.abs(way).sum() + rounding
        _, there, _ = traced(kernels, text, place + way / 2, 0 * way)
        assert np.abs(slopes - there).max() <= size**2 + 8 * EPSILON


@pytest.mark.parametrize("text", WAYS)
def test_slopes_are_of_second_order(kernels, text):
    """Against the derivative in the middle of the step."""
    place, way = np.array([0.4, 0.7]), np.array([0.3, -0.2])
    errors = []
    for size in (0.1, 0.05):
        _, slopes, _ = traced(kernels, text, place - size / 2 * way, size * way)
        _, there, _ = traced(kernels, text, place, 0 * way)
        errors.append(np.abs(slopes - there).max())
    assert errors[1] < 0.3 * errors[0] + 1e-15


def test_the_way_has_the_arms_it_was_made_of():
    a, b = pv.symbols("a b")
    numbers, way = checked_arms({"a": "0.02 + 0.01*cos(a)", "b": 0.03}, "tendon 'x'")
    assert numbers == {"a": 0.0, "b": 0.0}
    here, there = ({"a": x, "b": 0.1} for x in (0.3, 0.4))
    expected = 0.02 * 0.1 + 0.01 * (np.sin(0.4) - np.sin(0.3))
    assert evaluate(way, there) - evaluate(way, here) == pytest.approx(expected, rel=1e-12)
    _, way = checked_arms({"a": 0.01 * b * a, "b": 0.005 * a**2}, "tendon 'x'")
    assert evaluate(way, {"a": 0.5, "b": 2.0}) == pytest.approx(0.005 * 0.25 * 2.0)
    assert checked_arms({"a": 0.02, "b": "-1/100"}, "tendon 'x'") == ({"a": 0.02, "b": -0.01}, "")


@pytest.mark.parametrize("arm", ["0.01*sin(a)", "0.01*exp(a)", "0.01/(2 + a)**2", "0.02*cos(a)", "0.01*sqrt(1 + a)"])
def test_the_way_is_0_where_all_joints_are(arm):
    """So `slack` is what hangs through there, whatever constant an integral comes with."""
    _, way = checked_arms({"a": arm, "b": "0.01*cos(b)"}, "tendon 'x'")
    assert evaluate(way, {"a": 0.0, "b": 0.0}) == pytest.approx(0.0, abs=1e-17)


@pytest.mark.parametrize(
    "arms, told",
    [
        ({}, "needs the arms"),
        (0.02, "needs the arms"),
        ({"a": float("nan")}, "finite"),
        ({"a": 0.0}, "moves nothing"),
        ({"a": "a - a"}, "moves nothing"),
        ({"a": "2**a"}, "may be made of"),
        ({"a": "0.02*c"}, "depends on 'c'"),
        ({"a": "0.01*b", "b": "0.02*a"}, "no tendon has the arms"),
        ({"a": "exp(-a**2)*sin(a)"}, "no formula for the integral"),
        ({"a": "tan(a)"}, "may be made of"),
    ],
)
def test_arms_that_no_tendon_has(arms, told):
    with pytest.raises(pv.PassivoError, match=told):
        checked_arms(arms, "tendon 'x'")
