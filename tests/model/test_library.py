"""Every ready-made system: textbook equations, skew J, R >= 0, a description, exact steps by AVF."""

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

from passivo.errors import InputError, ModelError
from passivo.method.one_stage import AVF
from passivo.method.part import compile
from passivo.model import library
from passivo.model.describe import model_from
from passivo.model.feedback import read
from passivo.model.mechanical import Mechanical

# name -> (x, u, parameters) -> x', written as in a textbook
EQUATIONS = {
    "mass": lambda x, u, c: [u[0]],
    "spring": lambda x, u, c: [u[0]],
    "unilateral_spring": lambda x, u, c: [u[0]],
    "damper": lambda x, u, c: [],
    "oscillator": lambda x, u, c: [x[1] / c["m"], -c["k"] * x[0] - c["b"] * x[1] / c["m"] + u[0]],
    "device": lambda x, u, c: [x[1] / c["m"], -c["b"] * x[1] / c["m"] + u[0] + u[1]],
    "bouncing_mass": lambda x, u, c: [x[1] / c["m"], -c["m"] * c["g"] + u[0]],
    "pendulum": lambda x, u, c: [
        x[1] / (c["m"] * c["l"] ** 2),
        -c["m"] * c["g"] * c["l"] * np.sin(x[0]) - c["b"] * x[1] / (c["m"] * c["l"] ** 2) + u[0],
    ],
    "duffing": lambda x, u, c: [
        x[1] / c["m"],
        -c["alpha"] * x[0] - c["beta"] * x[0] ** 3 - c["b"] * x[1] / c["m"] + u[0],
    ],
    "rigid_body": lambda x, u, c: _euler(x, u, c),
    "controlled_rigid_body": lambda x, u, c: [
        *_euler(x[:3], u[:3] + u[3:6], c),
        *(_spin(x[:3], x[3:]) + u[6:]),
    ],
    "microphone": lambda x, u, c: [
        x[1] / c["m"],
        -(x[0] - c["qbar"]) - x[2] ** 2 / 2 - c["c"] * x[1] / c["m"] + u[0],
        -x[0] * x[2] / c["R"] + u[0] / c["R"],
    ],
    "lc_circuit": lambda x, u, c: [x[1] / c["L"], -x[0] / c["C"] - c["R"] * x[1] / c["L"] + u[0]],
    "dc_motor": lambda x, u, c: [
        -c["R"] * x[0] / c["L"] - c["K"] * x[1] / c["I"] + u[0],
        c["K"] * x[0] / c["L"] - c["b"] * x[1] / c["I"] + u[1],
    ],
    "toda_chain": lambda x, u, c: [
        *x[3:],
        np.exp(x[2] - x[0]) - np.exp(x[0] - x[1]) + u[0],
        np.exp(x[0] - x[1]) - np.exp(x[1] - x[2]),
        np.exp(x[1] - x[2]) - np.exp(x[2] - x[0]),
    ],
    "heavy_top": lambda x, u, c: _top(x, u, c),
    "kepler": lambda x, u, c: [*x[2:], *(-c["mu"] * x[:2] / np.hypot(*x[:2]) ** 3 + u)],
}
# name -> (x, u, parameters) -> output at the ports
OUTPUTS = {
    "mass": lambda x, u, c: [x[0] / c["m"]],
    "spring": lambda x, u, c: [c["k"] * x[0]],
    "unilateral_spring": lambda x, u, c: [c["k"] * x[0]],
    "damper": lambda x, u, c: [c["b"] * u[0]],
    "device": lambda x, u, c: [x[1] / c["m"]] * 2,
    "bouncing_mass": lambda x, u, c: [x[1] / c["m"]],
    "rigid_body": lambda x, u, c: x,
    "controlled_rigid_body": lambda x, u, c: [*x[:3], *x],
    "microphone": lambda x, u, c: [x[1] / c["m"] + x[0] * x[2] / c["R"]],
    "lc_circuit": lambda x, u, c: [x[1] / c["L"]],
    "dc_motor": lambda x, u, c: [x[0] / c["L"], x[1] / c["I"]],
    "heavy_top": lambda x, u, c: x[:3] / [c["I1"], c["I2"], c["I3"]],
    "kepler": lambda x, u, c: x[2:],
}
# every parameter away from its default, so that none can be mistaken for another
UNUSUAL = {
    "mass": {"m": 0.3},
    "spring": {"k": 7.0},
    "unilateral_spring": {"k": 7.0},
    "damper": {"b": 0.4},
    "oscillator": {"k": 3.0, "m": 0.7, "b": 0.2},
    "device": {"m": 0.3, "b": 0.7},
    "bouncing_mass": {"m": 0.3, "g": 1.6},
    "pendulum": {"m": 0.6, "l": 1.3, "g": 9.81, "b": 0.2},
    "duffing": {"alpha": -1.2, "beta": 0.8, "m": 1.7, "b": 0.3},
    "rigid_body": {"I1": 0.5, "I2": 1.1, "I3": 1.4},
    "controlled_rigid_body": {"I1": 0.5, "I2": 1.1, "I3": 1.4},
    "microphone": {"m": 2.0, "c": 0.3, "R": 5.0, "qbar": 2.0},
    "lc_circuit": {"L": 0.5, "C": 0.2, "R": 0.1},
    "dc_motor": {"L": 0.3, "R": 0.9, "I": 0.4, "b": 0.2, "K": 0.6},
    "toda_chain": {},
    "heavy_top": {"I1": 0.5, "I2": 0.7, "I3": 0.9, "m": 1.4, "l": 0.3, "g": 1.6},
    "kepler": {"mu": 1.7},
}
START = {
    "kepler": {"x": 1.0, "py": 1.1},
    "controlled_rigid_body": {"q0": 1.0, "w1": 0.4},
    "microphone": {"q": 2.0},
    "heavy_top": {"n2": 0.6, "n3": 0.8, "L3": 0.5},
}
STEP = {"lc_circuit": 2e-5, "dc_motor": 1e-3, "oscillator": 1e-3, "kepler": 0.02}
SYSTEMS = sorted(EQUATIONS)


def _euler(w, torque, c):
    inertia = np.array([c["I1"], c["I2"], c["I3"]])
    return (np.cross(inertia * w, w) + torque) / inertia


def _top(x, torque, c):
    momentum, upwards = x[:3], x[3:]
    w = momentum / [c["I1"], c["I2"], c["I3"]]
    weight = c["m"] * c["g"] * c["l"] * np.array([0.0, 0.0, 1.0])
    return [*(np.cross(momentum, w) + np.cross(upwards, weight) + torque), *np.cross(upwards, w)]


def _spin(w, q):
    """Half the quaternion product q ∘ (0, ω), scalar first: ω in body axes."""
    return 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])


def numbers(model, expressions, x, u):
    """Values of formulas of the model's form at a state and an input."""
    form = model.form
    gradient = dict(zip(form.gradient, [form.energy.diff(s) for s in form.states]))
    symbols = [*form.states, *form.inputs, *form.params]
    function = sp.lambdify(symbols, [sp.sympify(e).xreplace(gradient) for e in expressions], "numpy")
    return np.array(function(*x, *u, *model.params.values()), dtype=float)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def random_point(model, rng):
    return np.abs(rng.normal(size=len(model.states))) + 0.1, rng.normal(size=model.width)


def test_every_function_is_tested():
    """Laws that are no systems, and systems with constraints, have tests of their own."""
    linkages = {"double_pendulum", "pendulum_chain", "four_bar", "squeezer"}
    assert set(library.__all__) == {*SYSTEMS, *linkages, "rigid_body_control", "wall"}


@pytest.mark.parametrize("name", SYSTEMS)
class TestEverySystem:
    def test_name_and_documentation(self, name):
        function = getattr(library, name)
        assert function().name == name
        assert "Port" in function.__doc__ or "ports" in function.__doc__
        assert "default" in function.__doc__

    def test_field_and_output(self, name, rng):
        for model in (getattr(library, name)(), getattr(library, name)(**UNUSUAL[name])):
            for _ in range(3):
                x, u = random_point(model, rng)
                expected = EQUATIONS[name](x, u, model.params)
                assert numbers(model, model.form.flow, x, u) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)
                if name in OUTPUTS:
                    expected = OUTPUTS[name](x, u, model.params)
                    assert numbers(model, model.form.output, x, u) == pytest.approx(np.array(expected), rel=1e-12)

    def test_structure_and_loss(self, name, rng):
        model = getattr(library, name)(**UNUSUAL[name])
        form, n = model.form, len(model.states)
        assert (form.structure + form.structure.T).expand() == sp.zeros(n, n)
        assert form.loss == form.loss.T
        x, u = random_point(model, rng)
        loss = numbers(model, list(form.loss), x, u).reshape(n, n)
        assert n == 0 or np.linalg.eigvalsh(loss).min() >= 0

    def test_minimum(self, name, rng):
        model = getattr(library, name)()
        if model.minimum is None:
            assert name in ("kepler", "controlled_rigid_body", "damper", "bouncing_mass", "heavy_top")
            return
        least = numbers(model, [model.form.energy], model.minimum.values(), [0.0] * model.width)
        for _ in range(20):
            x, u = random_point(model, rng)
            assert numbers(model, [model.form.energy], x, u) >= least

    def test_description_reads_back(self, name):
        model = getattr(library, name)(**UNUSUAL[name])
        again = model_from(model.describe())
        assert again.describe() == model.describe()
        assert again.form == model.form

    def test_avf_is_exact(self, name, rng):
        model = getattr(library, name)()
        part = compile(model, AVF(), STEP.get(name, 0.05), start=START.get(name), engine="python")
        for _ in range(8):
            part.step(rng.normal(size=model.width + len(model.signals)))
        assert part.verdict.kind == "exact"
        assert part.steps == 8


def test_building_needs_no_sympy():
    code = (
        "import sys; from passivo.model import library as L\n"
        "models = [getattr(L, name)() for name in L.__all__]\n"
        "assert len(models) == 23 and 'sympy' not in sys.modules, 'sympy was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_unilateral_spring_may_be_pressed_from_the_other_side():
    ahead, below = library.unilateral_spring(k=7.0), library.unilateral_spring(k=7.0, side=-1)
    for what in ("flow", "output"):
        values = [numbers(model, getattr(model.form, what), [0.3], [0.2]) for model in (ahead, below)]
        assert values[0] == -values[1] != 0


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("unilateral_spring", {"side": 2}, "side of a unilateral spring is 1 or -1"),
        ("mass", {"m": 0.0}, "mass needs m > 0, but m = 0"),
        ("mass", {"m": "heavy"}, "'m' must be a number"),
        ("mass", {"m": np.nan}, "finite"),
        ("mass", {"ports": ("a", "a")}, "different names"),
        ("mass", {"ports": ("p",)}, "'p' stands in states and in ports"),
        ("spring", {"k": -1.0}, "needs k >= 0, but k = -1"),
        ("damper", {"b": -1.0}, "feedthrough is negative"),
        ("oscillator", {"m": -1.0}, "positive inertia"),
        ("oscillator", {"k": -1.0}, "needs k >= 0, but k = -1"),
        ("oscillator", {"b": -1.0}, "loss is negative"),
        ("pendulum", {"l": -1.0}, "needs l > 0"),
        ("pendulum", {"g": -1.0}, "needs g >= 0, but g = -1"),
        ("pendulum", {"m": 0.0}, "positive inertia"),
        ("duffing", {"m": 0.0}, "positive inertia"),
        ("duffing", {"alpha": None}, "alpha must be a number"),
        ("rigid_body", {"I2": 0.0}, "needs I2 > 0"),
        ("controlled_rigid_body", {"kinematics": "false"}, "'true' or 'printed', not 'false'"),
        ("controlled_rigid_body", {"I3": -1.0}, "needs I3 > 0"),
        ("microphone", {"R": 0.0}, "needs R > 0"),
        ("microphone", {"c": -1.0}, "loss is negative"),
        ("lc_circuit", {"C": 0.0}, "needs C > 0"),
        ("lc_circuit", {"R": -1.0}, "loss is negative"),
        ("dc_motor", {"I": -1.0}, "needs I > 0"),
        ("toda_chain", {"n": 1}, "n >= 2"),
        ("toda_chain", {"n": 2.0}, "whole number"),
        ("toda_chain", {"ends": "fixed"}, "'periodic' or 'free'"),
        ("kepler", {"mu": 0.0}, "needs mu > 0"),
        ("rigid_body_control", {"Kd": [1, 2]}, r"Kd must hold finite numbers in the shape \(3,\)"),
        ("rigid_body_control", {"Kp": "strong"}, "Kp must hold numbers"),
    ],
)
def test_impossible_parameters(name, arguments, says):
    with pytest.raises(ModelError, match=says):
        getattr(library, name)(**arguments)


def test_mass_with_several_ports():
    model = library.mass(m=2.0, ports=("left", "right"))
    assert list(model.ports) == ["left", "right"]
    assert list(library.mass(ports="push").ports) == ["push"]
    g, (left, right) = model.form.gradient, model.form.inputs
    assert model.form.flow == [left + right]
    assert model.form.output == [g[0], g[0]]


def test_default_pendulum_is_the_one_of_the_literature():
    q, p = sp.symbols("q p", real=True)
    form = library.pendulum().form
    energy = form.energy.subs({s: library.pendulum().params[s.name] for s in form.params})
    assert sp.simplify(energy - (p**2 / 2 + 1 - sp.cos(q))) == 0
    assert isinstance(library.pendulum(), Mechanical)


def test_a_minimum_follows_the_parameters():
    assert library.microphone().with_params(qbar=5.0).minimum == {"q": 5.0, "p": 0.0, "Q": 0.0}


def test_limits_hold_when_a_parameter_changes():
    with pytest.raises(ModelError, match="mass needs m > 0, but m = -1"):
        library.mass().with_params(m=-1.0)
    part = compile(library.lc_circuit(), AVF(), 1e-6, engine="python")
    with pytest.raises(ModelError, match="needs C > 0"):
        part.set(C=-1e-6)


def test_a_changed_copy_is_still_checked():
    lighter = library.oscillator().with_params(m=0.1)
    with pytest.raises(ModelError, match="mass matrix"):
        lighter.with_params(m=-1.0)


def test_duffing_states_a_minimum_only_where_it_is_one():
    assert library.duffing().minimum == {"q": 0.0, "p": 0.0}
    assert library.duffing(alpha=-1.0).minimum is None
    assert library.duffing(beta=-1.0).minimum is None


def test_free_rigid_body_keeps_energy_and_nearly_its_momentum():
    body = library.rigid_body()
    part = compile(body, AVF(), 0.01, start={"w1": 0.3, "w2": 1.0, "w3": -0.4}, engine="python")
    inertia = np.array([1.0, 2.0, 3.0])
    energy, momentum = part.stored, np.linalg.norm(inertia * part.state)
    for _ in range(100):
        part.step([0.0, 0.0, 0.0])
    assert part.stored == pytest.approx(energy, rel=1e-14)
    assert np.linalg.norm(inertia * part.state) == pytest.approx(momentum, rel=1e-4)


def test_printed_and_true_kinematics_differ():
    w, q = np.array([0.3, -0.5, 0.8]), np.array([0.5, -0.5, 0.1, 0.7])
    rates = {}
    for kinematics in ("true", "printed"):
        model = library.controlled_rigid_body(kinematics)
        rates[kinematics] = numbers(model, model.form.flow, [*w, *q], np.zeros(model.width))[3:]
        assert rates[kinematics] @ q == pytest.approx(0.0, abs=1e-15)
    assert rates["true"] == pytest.approx(_spin(w, q))
    assert rates["printed"] == pytest.approx([0.0, *np.cross(w, q[1:])])
    assert np.abs(rates["true"] - rates["printed"]).max() > 0.1


@pytest.mark.parametrize("kinematics", ["true", "printed"])
def test_controlled_rigid_body_exchanges_energy_exactly(kinematics):
    """Energy change = work of the control, −h Σ ḡω'I⁻¹(Kd ḡω + Kp ḡq); with Kp = 0 it only falls."""
    body = library.controlled_rigid_body(kinematics)
    start = {"w1": 1.0, "w2": -0.5, "w3": 0.7, "q0": 0.6, "q1": 0.8}
    for law, passive in (
        (library.rigid_body_control(), False),
        (library.rigid_body_control(Kp=np.zeros((3, 4))), True),
    ):
        part = compile(body, AVF(), 0.1, start=start, laws={"control": law}, engine="python")
        before, supplied = part.stored, 0.0
        for _ in range(15):
            part.step()
            supplied += part.work.sum()
            assert part.work[3 + 3 :] == pytest.approx(0.0)
            assert not passive or part.work.sum() <= 0
        assert part.stored - before == pytest.approx(supplied, abs=1e-14)
        assert part.verdict.kind == "exact"
        assert np.linalg.norm(part.state[3:]) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("h", [0.01, 0.3])
def test_a_heavy_top_turns_by_cayley_steps(h, rng):
    """Casimirs, attitude and balance stay at rounding for any step; each step is R' = R cay(h ω) (spec 2.10)."""
    top = library.heavy_top(I1=0.8, attitude=True)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    start = {f"{row}{i + 1}": turn[k, i] for k, row in enumerate("abn") for i in range(3)}
    part = compile(top, AVF(), h, start={**start, "L1": 0.7, "L2": -0.4, "L3": 3.0}, engine="python")
    energy, spin = part.stored, part.state[:3] @ part.state[9:]
    inertia, hat = np.array([0.8, 1.0, 0.5]), lambda v: np.cross(v, np.eye(3)).T
    for _ in range(200):
        before = part.state.copy()
        part.step([0.0, 0.0, 0.0])
        w = hat((before[:3] + part.state[:3]) / 2 / inertia) * h / 2
        cayley = (np.eye(3) - w) @ np.linalg.inv(np.eye(3) + w)
        assert part.state[3:].reshape(3, 3) == pytest.approx(before[3:].reshape(3, 3) @ cayley.T, abs=1e-14)
    rows = part.state[3:].reshape(3, 3)
    assert rows @ rows.T == pytest.approx(np.eye(3), abs=1e-13)
    assert part.state[:3] @ part.state[9:] == pytest.approx(spin, abs=1e-13)
    assert part.stored == pytest.approx(energy, abs=1e-13 * (1 + abs(energy)))
    for _ in range(50):
        part.step(rng.normal(size=3))
    assert part.verdict.kind == "exact" and rows @ rows.T == pytest.approx(np.eye(3), abs=1e-13)


def test_control_law_is_the_one_it_says():
    formulas = library.rigid_body_control().formulas(7)
    y = [sp.Symbol(f"y{i}", real=True) for i in range(7)]
    torque = sp.Matrix(read(formulas, y, []))
    Kp = sp.Matrix([[3, 0, 0, 1], [0, 5, 0, 1], [0, 0, 6, 1]])
    expected = -sp.diag(3, 4, 5) * sp.diag(1, 2, 3) * sp.Matrix(y[:3]) - Kp * sp.Matrix(y[3:])
    assert all(abs(c) < 1e-15 for entry in torque[:3, :] - expected for c in sp.Poly(entry, *y).coeffs())
    assert list(torque[3:]) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "start"), [("kepler", {}), ("controlled_rigid_body", {"w1": 1.0}), ("microphone", {"q": -1.0})]
)
def test_a_start_outside_the_domain_is_refused(name, start):
    with pytest.raises(InputError, match=r"outside the domain.*give another start="):
        compile(getattr(library, name)(), AVF(), 0.1, start=start, engine="python")


def test_toda_chain_ends():
    free = library.toda_chain(4, ends="free")
    assert free.minimum is None
    assert free.energy.count("exp") == 3
    assert library.toda_chain(4).energy.count("exp") == 4
    assert library.toda_chain(200).energy.count("exp") == 200  # a sum of 400 terms is not too deep
    part = compile(library.toda_chain(2), AVF(), 0.1, start={"q1": 0.4, "p2": 0.3}, engine="python")
    for _ in range(10):
        part.step([0.0])
    assert part.state[2:].sum() == pytest.approx(0.3, abs=1e-14)


def test_kepler_circle():
    part = compile(library.kepler(), AVF(), 2 * np.pi / 200, start={"x": 1.0, "py": 1.0}, engine="python")
    for _ in range(50):
        part.step([0.0, 0.0])
    assert part.state == pytest.approx([0.0, 1.0, -1.0, 0.0], abs=2e-3)
