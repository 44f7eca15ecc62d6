"""Mechanical systems: the Legendre form against Lagrange's equations, Linear against a written-out system."""

import numpy as np
import pytest
import sympy as sp

from passivo.errors import ModelError
from passivo.model.mechanical import Linear, Mechanical
from passivo.model.ports import effort, flow
from passivo.model.system import System

a1, a2 = sp.symbols("a1 a2", real=True)
m1, m2, l1, l2, g = sp.symbols("m1 m2 l1 l2 g", real=True)
VALUES = {"m1": 1.0, "m2": 0.7, "l1": 0.9, "l2": 1.1, "g": 9.81}


def kinetic_and_potential():
    """The double pendulum from the positions of its two masses."""
    t = sp.Symbol("t")
    angles = [sp.Function("a1")(t), sp.Function("a2")(t)]
    x1, y1 = l1 * sp.sin(angles[0]), -l1 * sp.cos(angles[0])
    x2, y2 = x1 + l2 * sp.sin(angles[1]), y1 - l2 * sp.cos(angles[1])
    kinetic = m1 * (x1.diff(t) ** 2 + y1.diff(t) ** 2) / 2 + m2 * (x2.diff(t) ** 2 + y2.diff(t) ** 2) / 2
    rates = sp.symbols("r1 r2", real=True)
    kinetic = kinetic.subs({angle.diff(t): rate for angle, rate in zip(angles, rates)})
    plain = dict(zip(angles, (a1, a2)))
    potential = m1 * g * (y1 + l1) + m2 * g * (y2 + l1 + l2)
    return sp.simplify(kinetic.subs(plain)), potential.subs(plain), rates


def double_pendulum():
    kinetic, potential, rates = kinetic_and_potential()
    mass = sp.hessian(kinetic, rates).applyfunc(sp.simplify)
    return Mechanical([a1, a2], mass, potential, ports={"torque": effort([[1, 0], [0, 1]])}, params=VALUES)


def at(form, expression, state):
    """The value of a formula of `form` at a state, with the parameters of the double pendulum."""
    names = {symbol: VALUES.get(symbol.name, state.get(symbol.name)) for symbol in expression.free_symbols}
    return float(expression.subs(names))


def test_double_pendulum_mass_matrix():
    model = double_pendulum()
    assert model.states == ("a1", "a2", "p_a1", "p_a2")
    assert model.positions == ("a1", "a2")
    mass = sp.Matrix(2, 2, [sp.sympify(text) for row in model.mass for text in row])
    plain = {sp.Symbol(name): value for name, value in {**VALUES, "a1": 0.4, "a2": -1.3}.items()}
    coupling = 0.7 * 0.9 * 1.1 * np.cos(0.4 + 1.3)
    expected = [[(1.0 + 0.7) * 0.81, coupling], [coupling, 0.7 * 1.21]]
    assert np.array(mass.subs(plain), dtype=float) == pytest.approx(np.array(expected))


def test_double_pendulum_obeys_lagrange():
    """p = M r, and (J ∇H) against p' = ∂L/∂a, at random states."""
    kinetic, potential, rates = kinetic_and_potential()
    form = double_pendulum().form
    gradient = dict(zip(form.gradient, [form.energy.diff(x) for x in form.states]))
    rng = np.random.default_rng(3)
    for _ in range(5):
        angles, speeds = rng.normal(size=2), rng.normal(size=2)
        numbers = {**VALUES, "a1": angles[0], "a2": angles[1], "r1": speeds[0], "r2": speeds[1]}
        number = lambda f, n=numbers: float(f.subs({s: n[s.name] for s in f.free_symbols}))  # noqa: E731
        momenta = [number(kinetic.diff(rate)) for rate in rates]
        state = {"a1": angles[0], "a2": angles[1], "p_a1": momenta[0], "p_a2": momenta[1]}
        field = [at(form, f.subs(dict.fromkeys(form.inputs, 0)).subs(gradient), state) for f in form.flow]
        forces = [number((kinetic - potential).diff(angle)) for angle in (a1, a2)]
        assert field == pytest.approx([*speeds, *forces], rel=1e-10, abs=1e-10)
        assert at(form, form.energy, state) == pytest.approx(number(kinetic + potential))


def test_legendre_form_of_one_coordinate():
    model = Mechanical("q", "m*(1 + q**2)", "k*q**2/2", loss="b", ports={"force": effort([1])},
                       params={"m": 2.0, "k": 3.0, "b": 0.5})  # fmt: skip
    q, p, m, k, b = sp.symbols("q p m k b", real=True)
    form = model.form
    assert sp.simplify(form.energy - (p**2 / (2 * m * (1 + q**2)) + k * q**2 / 2)) == 0
    assert form.structure == sp.Matrix([[0, 1], [-1, 0]])
    assert form.loss == sp.diag(0, b)
    assert form.ports == sp.Matrix([0, 1])
    assert form.output == [form.gradient[1]]


def test_momenta_are_named_after_coordinates():
    assert Mechanical(["q"], 1).states == ("q", "p")
    assert Mechanical(["q1", "q2"], [[1, 0], [0, 1]]).states == ("q1", "q2", "p1", "p2")
    assert Mechanical("angle", 1).states == ("angle", "p_angle")
    assert Mechanical("angle", 1, momenta=["spin"]).states == ("angle", "spin")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"q": ["q"], "mass": "cos(q)"}, "not positive definite"),
        ({"q": ["q"], "mass": 0}, "not positive definite"),
        ({"q": ["q"], "mass": "m", "params": {"m": -1.0}}, "not positive definite"),
        ({"q": ["q1", "q2"], "mass": [[1, 2], [2, 1]]}, "not positive definite"),
        ({"q": ["q1", "q2"], "mass": [[1, 1], [1, 1]]}, "not positive definite"),
        ({"q": ["q1", "q2"], "mass": [[2, "q1"], [0, 2]]}, "mass matrix is not symmetric"),
        ({"q": ["q1", "q2"], "mass": [[1]]}, "1 × 1, expected 2 × 2"),
        ({"q": ["q"], "mass": "m"}, "the mass matrix uses 'm'"),
        ({"q": ["q"], "mass": 1, "potential": "k*q"}, "the potential uses 'k', .* add it to params, or choose from q$"),
        ({"q": ["q"], "mass": 1, "loss": "b"}, "the loss uses 'b'"),
        ({"q": ["q"], "mass": 1, "potential": "q > 0"}, "the potential must be a number, not the condition 'q > 0'"),
        ({"q": ["q"], "mass": 1, "params": 5}, "params must map"),
        ({"q": ["q"], "mass": "1 + p**2"}, "mass matrix depends on the momentum 'p'"),
        ({"q": ["q"], "mass": 1, "potential": "p*q"}, "potential depends on the momentum 'p'"),
        ({"q": [], "mass": 1}, "at least one of each"),
        ({"q": ["q"], "mass": 1, "momenta": ["p1", "p2"]}, "1 coordinates need 1 momenta"),
        ({"q": ["q"], "mass": 1, "loss": -1}, "loss is negative"),
        ({"q": ["q"], "mass": 1, "ports": {"f": flow([1])}}, "must be a pv.effort"),
        ({"q": ["q"], "mass": 1, "ports": {"f": effort([1, 0])}}, "2 rows for 1 coordinates"),
    ],
)
def test_mistakes_are_named(arguments, says):
    with pytest.raises(ModelError, match=says):
        Mechanical(**arguments)


def test_a_change_of_parameters_keeps_the_mass_positive():
    model = Mechanical("q", "m", params={"m": 1.0})
    assert model.with_params(m=2.0).params == {"m": 2.0}
    with pytest.raises(ModelError, match="not positive definite"):
        model.with_params(m=-2.0)


def test_linear_equals_a_written_out_system():
    M, K, B = [[2.0, 0.5], [0.5, 1.0]], [[30.0, -10.0], [-10.0, 20.0]], [[0.3, -0.1], [-0.1, 0.2]]
    linear = Linear(M, K, B, ports={"force": effort([0, 1])})
    inverse = np.linalg.inv(M)
    written = System(
        states=["x1", "x2", "p1", "p2"],
        energy=f"({inverse[0, 0]!r})*p1**2/2 + ({inverse[0, 1]!r})*p1*p2 + ({inverse[1, 1]!r})*p2**2/2"
        " + 15*x1**2 - 10*x1*x2 + 10*x2**2".replace("np.float64", ""),
        structure=np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]]),
        loss=np.block([[np.zeros((2, 2)), np.zeros((2, 2))], [np.zeros((2, 2)), np.array(B)]]),
        ports={"force": effort([0, 0, 0, 1])},
    )
    assert linear.states == written.states
    assert linear.minimum == dict.fromkeys(linear.states, 0.0)
    one, two = linear.form, written.form
    assert one.flow == two.flow
    assert one.output == two.output
    hessians = [np.array(sp.hessian(form.energy, form.states), dtype=float) for form in (one, two)]
    assert hessians[0] == pytest.approx(hessians[1], rel=1e-14)


def test_linear_names_and_minimum():
    free = Linear(2.0, 0.0, coordinates=["angle"])
    assert free.states == ("angle", "p_angle")
    assert free.minimum is not None
    assert Linear(1.0, -1.0).minimum is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"M": np.eye(2), "K": [[1, -1], [0, 1]]}, "K is not symmetric"),
        ({"M": np.eye(2), "K": [[1]]}, "must be equal"),
        ({"M": [[1, 0], [0]], "K": [[1]]}, "matrix of numbers"),
        ({"M": [[np.nan]], "K": [[1]]}, "finite numbers"),
        ({"M": [[1, 2, 3]], "K": [[1]]}, "square"),
        ({"M": [[1, 1], [1, 1]], "K": np.eye(2)}, "not positive definite"),
        ({"M": 1, "K": 1, "B": -1}, "loss is negative"),
        ({"M": 1, "K": 1, "coordinates": ["a", "b"]}, "2 coordinates are named, but M is 1 × 1"),
    ],
)
def test_linear_mistakes_are_named(arguments, says):
    with pytest.raises(ModelError, match=says):
        Linear(**arguments)
