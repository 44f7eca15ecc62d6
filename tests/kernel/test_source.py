"""Formulas to source: exact numbers, powers as products, hoisted constants, names that cannot clash."""

import math
import re

import numpy as np
import pytest
import sympy as sp

import passivo as pv
from passivo.kernel import functions
from passivo.kernel.source import Layout, Source, _Printer, _unique

x, y, k = sp.symbols("x y k", real=True)
SCOPE = {name: getattr(math, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "atan2", "tanh", "asinh")}
SCOPE |= {kernel.__name__: kernel for kernel in functions.KERNELS}


def printed(formula):
    return _Printer({x: "x_", y: "y_", k: "k_"}).doprint(formula)


def value(formula, **values):
    return eval(printed(formula), {**SCOPE, **{f"{name}_": v for name, v in values.items()}})


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (x**1, "x_"), (x**2, "(x_*x_)"), (x**4, "(x_*x_*x_*x_)"), (x**5, "(x_**5)"), (1 / x, "1.0/(x_)"),
        (x**-2, "1.0/(x_*x_)"), (sp.sqrt(x), "sqrt(x_)"), (1 / sp.sqrt(x), "1.0/sqrt(x_)"),
        (sp.Integer(3), "3.0"),
        (sp.Rational(1, 2), "0.5"), (sp.Rational(1, 3), repr(1 / 3)), (sp.pi, repr(math.pi)),
        (sp.E, repr(math.e)),
        (sp.Float(0.1, 17), "0.1"), (sp.Float(5e-324, 17), "5e-324"), (sp.Integer(-1), "-1.0"),
        (sp.Integer(0), "0.0"),
        (sp.Max(x, y), "max(x_, y_)"), (sp.Min(x, 0), "min(0.0, x_)"), (sp.Abs(x), "abs(x_)"),
        (sp.sign(x), "sign(x_)"),
        (sp.Heaviside(x), "heaviside(x_)"), (sp.DiracDelta(x), "0.0"), (sp.exp(x), "exp(x_)"),
        (x > y, "x_ > y_"),
        (sp.atan2(x, y), "atan2(x_, y_)"), (pv.cbrt(x), "cbrt(x_)"),
    ],
    ids=str,
)  # fmt: skip
def test_printing(formula, text):
    assert printed(formula) == text


@pytest.mark.parametrize(
    "formula",
    [
        (x + y) ** 3, (x + y) ** -3, x ** sp.Rational(3, 2), x ** sp.Rational(-5, 2),
        (x + y) ** sp.Rational(7, 2),
        x ** sp.Float(0.3), x ** (-y), (x * y) ** sp.Rational(1, 3), 2**x, 1 / (x + y), -(x**2), (-x) ** 3,
        x / (y / (x + 1)),
        (x**2) ** y, (x + 1) ** sp.Rational(-1, 2) / y, x - (y - x) ** 2, sp.exp(-(x**2)) ** 2,
        -x * (x + y) ** -1,
    ],
    ids=str,
)  # fmt: skip
def test_printed_powers_keep_their_value(formula):
    for a, b in ((0.7, 1.3), (2.5, 0.4)):
        assert value(formula, x=a, y=b) == pytest.approx(float(formula.subs({x: a, y: b})), rel=1e-14)


def test_doubles_keep_every_digit():
    rng = np.random.default_rng(0)
    for number in [*rng.uniform(-1, 1, 50), 0.1 + 0.2, 1e-300, 1.7976931348623157e308, 2.0**-1074]:
        assert float(printed(sp.Float(float(number), 17))) == float(number)


def leaf(outputs, definitions=None, params=(), bindings=None, returns=None):
    """A leaf and `prepare`, executed on a memory; gives (source, run)."""
    layout = Layout()
    layout.take("IN", 8)
    layout.take("PARAM", 8)
    layout.take("OUT", 8)
    source = Source(layout, layout.slots("PARAM", params))
    source.leaf("f", "m, h", bindings or layout.slots("IN", (x, y)), outputs, definitions, returns=returns)
    source.finish()
    scope = dict(SCOPE)
    for text in source.functions:
        exec(text, scope)

    def run(inputs, values=(), h=0.0):
        m = [0.0] * layout.size
        m[: len(inputs)] = inputs
        m[8 : 8 + len(values)] = values
        scope["prepare"](m)
        return scope["f"](m, h), m

    return source, run


def test_parts_that_depend_on_parameters_alone_are_computed_once():
    a, b = sp.symbols("a b", real=True)
    source, run = leaf([("m[16]", sp.sin(a) * x + sp.sqrt(a + b) * x * y + a * b)], params=(a, b))
    text = source.functions[0]
    assert "sin" not in text and "sqrt" not in text
    assert "sin" in source.functions[-1] and "sqrt" in source.functions[-1]
    expected = math.sin(0.3) * 2 + math.sqrt(0.3 + 0.5) * 6 + 0.15
    assert run([2.0, 3.0], [0.3, 0.5])[1][16] == pytest.approx(expected, rel=1e-15)
    assert run([2.0, 3.0], [1.3, 0.5])[1][16] != pytest.approx(expected)


def test_equal_constants_share_a_slot():
    a = sp.Symbol("a", real=True)
    source, _ = leaf([("m[16]", sp.sin(a) * x), ("m[17]", sp.sin(a) * y)], params=(a,))
    assert len([name for name in source.layout.sections if name.startswith("CONSTANT_")]) == 1
    assert source.functions[-1].count("sin") == 1


def test_definitions_come_before_their_use_and_only_where_needed():
    """Written in any order, each once; unused ones not at all."""
    p, q, r, unused = sp.symbols("p q r unused", real=True)
    definitions = {p: q + r, unused: sp.tan(x), r: q * x, q: sp.sin(x)}
    source, run = leaf([("m[16]", p * r)], definitions)
    text = source.functions[0]
    assert "tan" not in text and text.count("sin(") == 1
    lines = text.splitlines()
    order = [next(i for i, line in enumerate(lines) if line.startswith(f"    {name}_ =")) for name in ("q", "r")]
    assert order == sorted(order)
    s = math.sin(0.4)
    assert run([0.4, 0.0])[1][16] == pytest.approx((s + s * 0.4) * s * 0.4, rel=1e-15)


def test_everything_is_loaded_before_the_first_store():
    """A leaf may write over its own inputs."""
    source, run = leaf([("m[0]", y + 1), ("m[1]", x + 2)])
    assert run([10.0, 20.0])[1][:2] == [21.0, 12.0]
    lines = source.functions[0].splitlines()[1:]
    stores = [i for i, line in enumerate(lines) if re.match(r"    m\[", line)]
    loads = [i for i, line in enumerate(lines) if re.search(r"= m\[", line)]
    assert max(loads) < min(stores)


def test_adding_targets_and_return_values():
    _, run = leaf([("m[16] +=", x), ("m[16] +=", y)], returns=x * y)
    result, m = run([2.0, 3.0])
    assert result == 6.0 and m[16] == 5.0
    _, run = leaf([])
    assert run([])[0] is None


def test_names_that_look_like_the_generators_own():
    """States called m, h, t, tau, sin_ or with dots become locals of their own."""
    names = [
        "m",
        "h",
        "t",
        "tau",
        "weight",
        "a.b",
        "a_b",
        "a__b",
        "k#0",
        "#0",
        "∇q",
        "q'old",
        "abs",
        "range",
        "lambda",
    ]
    symbols = [sp.Symbol(name, real=True) for name in names]
    layout = Layout()
    layout.take("IN", len(names))
    layout.take("OUT", 1)
    source = Source(layout, {})
    h = sp.Symbol("h#", real=True)
    bindings = {**layout.slots("IN", symbols), h: "h"}
    total = sum((i + 1) * symbol for i, symbol in enumerate(symbols)) * h + sp.sin(symbols[0]) * 0
    source.leaf("f", "m, h", bindings, [(f"m[{len(names)}]", total)])
    scope = dict(SCOPE)
    exec(source.functions[0], scope)
    m = [float(10**-i) for i in range(len(names))] + [0.0]
    scope["f"](m, 2.0)
    assert m[-1] == pytest.approx(2 * sum((i + 1) * 10.0**-i for i in range(len(names))), rel=1e-14)


def test_unique_names():
    taken: list[str] = []
    for name in ("a.b", "a_b", "a'b", "a b"):
        taken.append(_unique(name, taken))
    assert len(set(taken)) == 4 and all(name.isidentifier() and name.endswith("_") for name in taken)


@pytest.mark.parametrize(
    "names", [("m", "h"), ("t", "tau"), ("step", "k"), ("n", "i"), ("weight", "tick"), ("x_", "x__")]
)
def test_models_may_use_any_names(names):
    """The same system under other names gives the same numbers."""
    q, p = names

    def part(q, p, stiffness):
        model = pv.System([q, p], f"{stiffness}*{q}**4/4 + {p}**2/2", [[0, 1], [-1, 0]], params={stiffness: 2.0})
        return pv.compile(model, pv.AVF(), 0.1, start={q: 1.0}, engine="python")

    plain, renamed = part("q", "p", "c"), part(q, p, "m" if "m" not in names else "memory")
    for _ in range(3):
        plain.step()
        renamed.step()
    assert renamed.state.tolist() == plain.state.tolist()


def test_names_with_dots():
    """States of a composition are called part.state."""
    parts = {"a": pv.library.spring(k=400.0), "a_b": pv.library.mass(m=0.2)}
    model = pv.Monolithic(parts, [("a.end", "a_b.force", "link")])
    part = pv.compile(model, pv.AVF(), 1e-3, start={"a.q": 0.2}, engine="python")
    part.step()
    assert part.verdict.kind == "exact" and part.model.states == ("a.q", "a_b.p")
    assert part.state[1] < 0
