"""Difference calculus: f(b) − f(a) without cancellation, against 60 digits."""

import math
from functools import cache

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from passivo.errors import ExpressionError
from passivo.kernel import functions
from passivo.kernel.slopes import Ends, difference, gauss, slopes
from passivo.kernel.source import Layout, Source
from passivo.model.expression import evaluate, symbolic

NAMES = ("x", "y", "z")
STATES = tuple(sp.Symbol(name, real=True) for name in NAMES)
ENDS = Ends.of(STATES)
SIZES = (1.0, 1e-2, 1e-4, 1e-7, 1e-10, 1e-14)

# {0} and {1} stand for inner formulas; every function of the parser, kept inside its domain
SHAPES = (
    "sin({0})", "cos({0})", "tan(({0})/4)", "asin(sin({0})/2)", "acos(cos({0})/3)", "atan({0})", "sinh({0})",
    "cosh({0})", "tanh({0})", "asinh({0})", "exp({0})", "log(2 + ({0})**2)", "sqrt(1 + ({0})**2)",
    "cbrt(3 + sin({0}))",
    "(3 + sin({0}))**2.2", "(4 + sin({0}))**(-1.5)", "Abs(4 + sin({0}))", "({0})**3", "({0})**4", "1/(2 + cos({0}))",
    "(2 + ({0})**2)**-1.5",
    "(2 + ({0})**2)**1.5", "(2 + ({0})**2)**0.7", "(2 + cos({0}))**sin({1})", "({0})*({1})", "({0}) - ({1})",
    "Max({0}, {0} + 2 + sin({1}))", "Min({0}, {0} + 2 + sin({1}))", "3.7*({0})", "pi*({0}) + 1",
)  # fmt: skip
INNER = ("x", "y", "z", "x - y", "x*z", "y + 2*z", "x**2", "sin(y)", "x*y*z")
MATH = {name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh")}
MATH |= {name: getattr(math, name) for name in ("tanh", "asinh", "atanh", "exp", "log", "sqrt")}
SCOPE = MATH | {kernel.__name__: kernel for kernel in functions.KERNELS}


def read(text):
    return sp.sympify(evaluate(text, dict(zip(NAMES, STATES)), symbolic()))


def written(formula, arguments):
    """A formula as the generated function it becomes, arguments in one sequence."""
    source = Source(Layout(), {})
    source.leaf("f", "m", {s: f"m[{i}]" for i, s in enumerate(arguments)}, [], ENDS.definitions, returns=formula)
    scope = dict(SCOPE)
    exec(source.functions[0], scope)
    return scope["f"]


@cache
def leaves(text):
    """(difference, slopes, gradient in high precision, value in high precision) of a formula."""
    f, arguments = read(text), (*ENDS.a, *ENDS.d)
    change = written(difference(f, ENDS), arguments)
    parts = slopes(f, ENDS)
    each = [written(parts.get(i, sp.Integer(0)), arguments) for i in range(3)]
    exact = {
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "sign": mpmath.sign,
        "Heaviside": lambda x, _=0: (mpmath.sign(x) + 1) / 2,
    }
    value = sp.lambdify(STATES, f, [exact, "mpmath"])
    gradient = sp.lambdify(STATES, [sp.diff(f, s) for s in STATES], [exact, "mpmath"])
    return change, each, gradient, value


def precise(function, x):
    with mpmath.workdps(60):
        return function(*(mpmath.mpf(float(v)) for v in x))


def exact_change(text, a, b):
    value = leaves(text)[3]
    with mpmath.workdps(60):
        return value(*map(mpmath.mpf, map(float, b))) - value(*map(mpmath.mpf, map(float, a)))


def scale(text, a, b):
    """The largest |∂f/∂x_i| about the step: the size that slopes may round at."""
    rng = np.random.default_rng(0)
    points = [a, b, *(a + rng.uniform(-1, 1, 3) * (0.3 + np.abs(b - a)) for _ in range(4))]
    return np.max([[abs(float(g)) for g in precise(leaves(text)[2], p)] for p in points], axis=0)


FORMULAS = st.builds(
    lambda shape, outer, i, j, k: outer.format(shape.format(i, j), k) + " + 1000000",
    st.sampled_from(SHAPES), st.sampled_from(("{0}", *SHAPES)), *[st.sampled_from(INNER)] * 3,
)  # fmt: skip


@given(FORMULAS, st.integers(0, 2**20))
@settings(max_examples=150)
def test_difference_is_accurate_at_every_size_of_step(text, seed):
    """Relative to Σ |slope · d|, whatever d is; a direct subtraction would round at ε |f|."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, 3)
    for size in SIZES:
        d = size * rng.uniform(-1, 1, 3)
        change = leaves(text)[0]([*a, *d])
        with mpmath.workdps(60):
            end = [mpmath.mpf(float(x)) + mpmath.mpf(float(s)) for x, s in zip(a, d)]
            exact = leaves(text)[3](*end) - leaves(text)[3](*(mpmath.mpf(float(x)) for x in a))
            gap = abs(float(mpmath.mpf(float(change)) - exact))
        # b = a + d rounds inside the leaf: that moves each slope by ε times the curvature, hence the scale
        assert gap <= 2e-14 * np.abs(d) @ scale(text, a, a + d), (text, size)


@pytest.mark.parametrize("text", SHAPES)
def test_every_function_by_itself(text):
    rng = np.random.default_rng(3)
    text = text.format("x", "y")
    for size in SIZES:
        for _ in range(5):
            a = rng.uniform(-1, 1, 3)
            d = size * rng.uniform(0.3, 1, 3) * rng.choice([-1, 1], 3)
            b = a + d
            d = b - a
            gap = abs(leaves(text)[0]([*a, *d]) - float(exact_change(text, a, b)))
            assert gap <= 1e-14 * np.abs(d) @ scale(text, a, b)


def test_subtraction_would_lose_all_digits():
    """What the calculus is for: at d = 1e-14 the plain difference of 1e6 + 1 − cos(x) holds no digit."""
    text, a, d = "1000000 + 1 - cos(x)", np.array([0.7, 0, 0]), np.array([2.0**-47, 0, 0])
    exact = float(exact_change(text, a, a + d))
    plain = (1e6 + 1 - math.cos(0.7 + 2.0**-47)) - (1e6 + 1 - math.cos(0.7))
    assert plain == 0.0 and exact != 0.0
    assert leaves(text)[0]([*a, *d]) == pytest.approx(exact, rel=1e-15)


@given(FORMULAS, st.integers(0, 2**20))
@settings(max_examples=40)
def test_slopes_are_the_gradient_where_nothing_moves(text, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, 3)
    gradient = precise(leaves(text)[2], x)
    for slope, exact, size in zip(leaves(text)[1], gradient, scale(text, x, x)):
        assert abs(slope([*x, 0, 0, 0]) - float(exact)) <= 1e-14 * size


@given(FORMULAS, st.integers(0, 2**20), st.sampled_from(SIZES))
@settings(max_examples=40)
def test_back_and_forth_differ_by_the_sign_alone(text, seed, size):
    rng = np.random.default_rng(seed)
    a = np.round(rng.uniform(-1, 1, 3) * 2**20) / 2**20  # so that b − a is exact
    d = np.maximum(np.round(size * rng.uniform(-1, 1, 3) * 2.0**50), 1) * 2.0**-50
    b = a + d
    there, back = leaves(text)[0]([*a, *d]), leaves(text)[0]([*b, *-d])
    assert abs(there + back) <= 2e-14 * np.abs(d) @ scale(text, a, b)


def test_constants_vanish():
    assert difference(read("sin(x)*y + 1000000"), ENDS) == difference(read("sin(x)*y"), ENDS)
    assert difference(sp.Integer(7), ENDS) == 0 and slopes(sp.Symbol("k", real=True), ENDS) == {}


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("Abs(x)", -0.25, 0.5), ("Abs(x)", 0.25, -0.5), ("Abs(x)", 0.0, 0.5), ("Abs(x)", -0.5, 0.0),
        ("Abs(x)", -1, 1),
        ("Max(0, x)", -0.25, 0.5), ("Max(0, x)", -0.5, -0.25), ("Max(0, x)", 0.5, 2.0),
        ("Max(0, x)**2", 0.5, -2.0),
        ("Min(1, x)", 0.5, 2.0), ("Min(1, x, 2*x)", -0.5, 2.0), ("Max(-x, x/2, 1)", -2.0, 8.0),
        ("cbrt(x)", -8.0, 27.0),
        ("cbrt(x)", -1.0, 1.0), ("cbrt(x)", 0.0, 8.0), ("sign(x)", -0.5, 2.0), ("sign(x)", 0.5, 2.0),
        ("sign(x)", 0.0, 2.0), ("x*sign(x)", -0.5, 2.0), ("Abs(x)**3", -0.5, 2.0), ("atan(x)", -100.0, 100.0),
        ("Max(x, 0)**2.5", -1.0, 2.0), ("Max(x, 0)**1.5", -1.0, -0.5), ("asin(x)", -1.0, 1.0),
        ("acos(x)", 0.25, 1.0),
        ("asinh(x)", -2.0, 3.0), ("asinh(x)", -1e6, -1e4), ("tanh(x)", -300.0, 400.0), ("x**0.5", 0.0, 4.0),
    ],
)  # fmt: skip
def test_across_kinks_and_far_apart(text, a, b):
    """Max, Min, Abs, sign and roots through their kinks; large steps."""
    change = leaves(text)[0]([a, 0, 0, b - a, 0, 0])
    assert change == pytest.approx(float(exact_change(text, [a, 0, 0], [b, 0, 0])), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("text", ["Abs(x)", "Max(0, x)", "Min(0, x)", "cbrt(x)", "sign(x)", "Max(0, x)**2"])
def test_nothing_moves_at_a_kink(text):
    """At rest on a kink the difference is 0, not NaN."""
    assert leaves(text)[0]([0.0] * 6) == 0.0


def test_what_has_no_single_value_is_refused():
    """atan2 jumps by a full turn at its cut; a parameter in an exponent decides whether q may be negative."""
    for text in ("atan2(x, y)", "x**y"):
        with pytest.raises(ExpressionError):
            ends = Ends.of((sp.Symbol("x", real=True),))
            difference(evaluate(text, {"x": ends.states[0], "y": sp.Symbol("y", real=True)}, symbolic()), ends)


def test_a_function_without_a_rule_is_refused():
    with pytest.raises(ExpressionError, match="erf"):
        difference(sp.erf(STATES[0]), ENDS)


def test_parameters_stay_symbols():
    k = sp.Symbol("k", real=True)
    assert sp.simplify(difference(k * STATES[0] ** 2 / 2, ENDS) - k * ENDS.m[0] * ENDS.d[0]) == 0


@pytest.mark.parametrize("count", [1, 2, 8])
def test_gauss_rule_is_exact_for_polynomials(count):
    nodes, weights = gauss(count)
    for power in range(2 * count):
        assert weights @ nodes**power == pytest.approx(1 / (power + 1), rel=1e-13)


ARGUMENTS = [10.0**k for k in range(-12, 1)] + [
    0.04,
    0.0499,
    0.049999999,
    0.05,
    0.0500001,
    0.06,
    0.3,
    0.9,
    2.0,
    5.0,
]
QUOTIENTS = {
    "sinc": lambda x: mpmath.sin(x) / x,
    "sinhc": lambda x: mpmath.sinh(x) / x,
    "tanhc": lambda x: mpmath.tanh(x) / x,
    "atanhc": lambda x: mpmath.atanh(x) / x,
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_and_their_derivatives(name):
    """sin(x)/x and its kin to rounding; the derivatives cancel just above the switch and keep 10 digits."""
    function, slope, exact = getattr(functions, name), getattr(functions, f"{name}_slope"), QUOTIENTS[name]
    assert function(0.0) == 1.0 and slope(0.0) == 0.0
    for x in ARGUMENTS:
        if name == "atanhc" and x >= 1:
            continue
        for value in (x, -x):
            with mpmath.workdps(60):
                expected = float(exact(mpmath.mpf(value)))
                derivative = float(mpmath.diff(exact, mpmath.mpf(value), h=mpmath.mpf(10) ** -25 * x))
            assert function(value) == pytest.approx(expected, rel=5e-16)
            assert slope(value) == pytest.approx(derivative, rel=1e-10)


@pytest.mark.parametrize("b", [1.0, 0.01, 40.0, -0.5, -9999.0])
def test_quotient_of_the_angle(b):
    def exact(x):
        return mpmath.atan2(x, b) / x

    for x in [*ARGUMENTS, 200.0]:
        for value in (x, -x):
            with mpmath.workdps(60):
                expected = float(exact(mpmath.mpf(value)))
                derivative = float(mpmath.diff(exact, mpmath.mpf(value), h=mpmath.mpf(10) ** -25 * x))
            assert functions.atanc(value, b) == pytest.approx(expected, rel=5e-16)
            assert functions.atanc_slope(value, b) == pytest.approx(derivative, rel=2e-10)
    if b > 0:
        assert functions.atanc(0.0, b) == 1 / b and functions.atanc_slope(0.0, b) == 0.0


def test_switch_functions():
    assert [functions.ratio(1.0, 0.0), functions.ratio(0.0, 0.0), functions.ratio(3.0, 2.0)] == [
        0.0,
        0.0,
        1.5,
    ]
    assert [functions.heaviside(x) for x in (-1.0, 0.0, 1.0)] == [0.0, 0.5, 1.0]
    assert [functions.sign(x) for x in (-2.0, 0.0, 3.0)] == [-1.0, 0.0, 1.0]
    for x in (-27.0, -1e-300, 0.0, 2.0, 1e300):
        assert functions.cbrt(x) == pytest.approx(np.cbrt(x), rel=1e-15)
