"""Symbols write formulas: their text means what Python's operators mean, and SymPy understands them."""

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import passivo as pv
from passivo.model.expression import evaluate, to_text

x, y, z = pv.symbols("x y z")
VALUES = {"x": 0.7, "y": -1.3, "z": 2.1}


def _grow(children):
    two = st.tuples(children, children)
    return st.one_of(
        two.map(lambda p: (p[0][0] + p[1][0], p[0][1] + p[1][1])),
        two.map(lambda p: (p[0][0] - p[1][0], p[0][1] - p[1][1])),
        two.map(lambda p: (p[0][0] * p[1][0], p[0][1] * p[1][1])),
        two.map(lambda p: (p[0][0] / (3 + abs(p[1][0])), p[0][1] / (3 + abs(p[1][1])))),
        children.map(lambda p: (-p[0], -p[1])),
        children.map(lambda p: (p[0] ** 2, p[1] ** 2)),
        children.map(lambda p: (pv.sin(p[0]), np.sin(p[1]))),
        children.map(lambda p: (2.5 - p[0], 2.5 - p[1])),
        children.map(lambda p: (-2 * p[0], -2 * p[1])),
    )


atoms = st.sampled_from([(x, 0.7), (y, -1.3), (z, 2.1)])


@given(st.recursive(atoms, _grow, max_leaves=12))
def test_text_means_what_the_operators_mean(pair):
    formula, value = pair
    assert evaluate(to_text(formula), VALUES) == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_powers_and_signs():
    for formula, value in (
        ((-x) ** 2, 0.49),
        (-(x**2), -0.49),
        (2 ** (x * z), 2**1.47),
        (x ** (y**2), 0.7**1.69),
        ((-2) ** 2 * x, 2.8),
    ):
        assert evaluate(to_text(formula), VALUES) == pytest.approx(value)
    assert to_text(pv.symbols("k") * x**2 / 2) == "k * x ** 2 / 2"


def test_symbols_are_names():
    assert pv.symbols("q") == pv.symbols("q") and hash(x) == hash(pv.symbols("x"))
    assert [str(s) for s in pv.symbols("a, b:2 c")] == ["a", "b0", "b1", "c"]
    with pytest.raises(pv.ModelError, match="not a name"):
        pv.symbols("2x")


def test_sympy_understands_them_and_the_other_way_round():
    assert sp.diff(x**2 * y, x) == 2 * sp.Symbol("x", real=True) * sp.Symbol("y", real=True)
    mixed = x + sp.Symbol("x", real=True)
    assert mixed == 2 * sp.Symbol("x", real=True)
    assert to_text(sp.sin(x)) == "sin(x)"


def test_a_condition_cannot_steer_an_if():
    with pytest.raises(TypeError, match="cannot steer"):
        bool(x > 0)
    with pytest.raises(TypeError, match=r"pv\.sin"):
        import math

        math.sin(x)


def test_a_model_in_symbols_needs_no_sympy():
    code = """
import sys, passivo as pv
q, p, k = pv.symbols("q p k")
energy, ports = k*q**2/2 + p**2/2, {"force": pv.effort([0, 1])}
pv.System([q, p], energy, [[0, 1], [-1, 0]], ports=ports, params={k: 1.0}, domain=q < 5)
assert pv.Feedback(lambda y: -pv.atan(y)).formulas(1) == ("-atan(y0)",)
assert "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
