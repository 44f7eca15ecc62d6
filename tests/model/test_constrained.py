"""`Constrained`: what is checked when it is built, its description, the linkages of the library, and coordinates."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import passivo as pv
from passivo.errors import InputError, ModelError
from passivo.model.describe import model_from
from passivo.model.expression import evaluate

ROD = {
    "positions": ["x", "y"],
    "momenta": ["px", "py"],
    "energy": "(px**2 + py**2)/(2*m) + m*g*y",
    "constraints": {"rod": "x**2 + y**2 - l**2"},
    "params": {"m": 0.5, "g": 9.81, "l": 0.4},
}
ANGLES = {
    "ax": "la*cos(q1)",
    "ay": "la*sin(q1)",
    "bx": "la*cos(q1) + lb*cos(q1 + q2)",
    "by": "la*sin(q1) + lb*sin(q1 + q2)",
}


def rod(**changes):
    return pv.Constrained(**{**ROD, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"constraints": {}}, "at least one.*without any, take pv.System"),
        ({"constraints": ["x**2"]}, "must map names to formulas"),
        ({"constraints": {"rod": "x**2 + y**2 - l**2", "wall": "x"}}, "leave 2 positions no freedom"),
        ({"constraints": {"rod": "x*px"}}, "'rod' depends on the momentum 'px'; only positions"),
        ({"constraints": {"rod": "x - q"}}, "'rod' uses 'q', which is neither"),
        ({"constraints": {"rod": "l - 0.4"}}, "depends on no position"),
        ({"constraints": {"x": "x**2 + y**2 - l**2"}}, "'x' stands in positions and in constraints"),
        ({"constraints": {"m": "x**2 + y**2 - l**2"}}, "'m' stands in parameters and in constraints"),
        ({"constraints": {"rod": "x**2 + y**2 > l**2"}}, "must be a number, not the condition"),
        ({"constraints": {"rod": "x**2 + y**2 + l**2"}}, "no state was found that keeps the constraints"),
        ({"constraints": {"rod": "(x - l)**2"}}, "'rod'.* has no slope wherever it holds"),
        ({"momenta": ["px"]}, "2 positions need 2 momenta"),
        ({"ports": {"push": pv.effort([1])}}, "1 rows for 2 coordinates"),
        ({"ports": {"push": pv.flow([1, 0])}}, "must be a pv.effort"),
        ({"loss": [[-1, 0], [0, 1]]}, "the loss is negative"),
        ({"loss": [[1]]}, "the loss is 1 × 1, expected 2 × 2"),
        ({"params": {"m": 0.5, "g": 9.81, "l": "long"}}, "parameter 'l' must be a number"),
        ({"units": {"bar": "N"}}, "a unit is given for 'bar'"),
    ],
)
def test_mistakes_are_told_when_it_is_built(changes, message):
    with pytest.raises(ModelError, match=message):
        rod(**changes)


def test_redundant_constraints_are_named():
    places, momenta = ["x", "y", "z", "w"], ["px", "py", "pz", "pw"]
    energy = "px**2 + py**2 + pz**2 + pw**2"
    rows = {"first": "x**2 + y**2 - 1", "other": "z - x", "second": "2*x**2 + 2*y**2 - 2"}
    with pytest.raises(ModelError, match="the constraints first, second are not independent wherever they hold"):
        pv.Constrained(places, momenta, energy, rows)
    rows["second"] = "x + y + z + w"
    pv.Constrained(places, momenta, energy, rows)


def test_parameters_that_contradict_the_constraints_are_refused():
    model = pv.library.four_bar()
    with pytest.raises(ModelError, match="do they contradict each other"):
        model.with_params(base=2.0)


def test_description_and_form():
    model = rod(
        loss=[["b", 0], [0, "b"]],
        ports={"push": pv.effort([["1", "0"], ["0", "x"]])},
        params={**ROD["params"], "b": 0.1},
        minimum={"y": "-l"},
        limits=["l > 0"],
        units={"rod": "N/m", "x": "m", "push": ("N", "m/s")},
    )
    twin = model_from(model.describe())
    assert isinstance(twin, pv.Constrained) and twin.describe() == model.describe()
    assert twin.form == model.form and twin.unit("rod") == "N/m"
    assert model.minimum == {"x": 0.0, "y": -0.4, "px": 0.0, "py": 0.0}
    x, y = model.form.states[:2]
    (row,) = model.form.constraints.values()
    assert [sp.diff(row, c) for c in (x, y)] == [2 * x, 2 * y]  # with the factor 2
    assert model.with_params(l=0.5).params["l"] == 0.5
    with pytest.raises(ModelError, match="needs l > 0"):
        model.with_params(l=-1.0)


def test_building_a_linkage_needs_no_sympy():
    code = "import sys, passivo as pv; pv.library.squeezer(); print('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


# -- linkages of the library -------------------------------------------------------------------------------------------

STARTS = {
    "double_pendulum": {"ax": 0.5, "bx": 0.6, "by": 0.2},
    "pendulum_chain": {"x1": 0.1, "x2": 0.3, "x3": 0.4, "y3": -0.4},
    "four_bar": {"ay": 0.1, "bx": 0.4, "by": 0.4, "pax": -0.2},
    "squeezer": {"ay": 0.1, "bx": 0.4, "by": 0.4, "cx": -0.4, "cy": 0.4, "pax": -0.5},
}


@pytest.mark.parametrize("name", STARTS)
def test_linkages_run_and_balance(name):
    model = getattr(pv.library, name)()
    start = pv.consistent(model, STARTS[name])
    splitting = pv.simulate(model, pv.ConstrainedSplitting(), 1e-3, 0.2, start=start, engine="python")
    gradient = pv.simulate(model, pv.ConstrainedGradient(), 1e-3, 0.2, start=start, engine="python")
    assert gradient.verdict.kind == "exact" and gradient.audit().ok
    assert splitting.verdict.bias < 1e-2 * abs(splitting.ledger.stored.values).max() + 1e-3
    half = len(model.positions)
    near, far = (run.arrays["states"][-1, :half] for run in (splitting, gradient))
    assert np.abs(near - far).max() < 1e-3 and np.abs(near - splitting.arrays["states"][0, :half]).max() > 1e-2
    for run in (splitting, gradient):
        for state in run.arrays["states"]:
            value = {**model.params, **dict(zip(model.states, state))}
            assert all(abs(evaluate(g, value)) <= 5e-15 for g in model.constraints.values())
    if model.minimum is not None:
        hanging = pv.simulate(model, pv.ConstrainedSplitting(), 0.01, 0.1, engine="python")
        assert np.ptp(hanging.arrays["states"], axis=0).max() < 1e-15


def test_linkages_with_other_parameters():
    assert len(pv.library.pendulum_chain(5).constraints) == 5
    assert pv.library.squeezer(b=0.3).params["b"] == 0.3
    for bad in (0, 1.5, True):
        with pytest.raises(ModelError, match="whole number"):
            pv.library.pendulum_chain(bad)
    lossy = pv.library.squeezer(b=2.0)
    start = pv.consistent(lossy, STARTS["squeezer"])
    run = pv.simulate(lossy, pv.ConstrainedGradient(), 5e-3, 0.5, start=start, engine="python")
    assert run.verdict.kind == "exact" and run.ledger.lost[-1, 0] > 0.01


def test_on_a_compact_manifold_the_energy_is_bounded_below():
    """Prop. 3.1: here even its least value is known, and stated."""
    for name in ("double_pendulum", "pendulum_chain"):
        model = getattr(pv.library, name)()
        places = model._places(model.params)
        still = dict.fromkeys(model.momenta, 0.0)
        heights = evaluate(model.energy, {**model.params, **still, **dict(zip(model.positions, places.T))})
        lowest = evaluate(model.energy, {**model.params, **(model.minimum or {})})
        assert heights.min() >= lowest - 1e-12 and len(places) >= 8


# -- coordinates -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embedding():
    return pv.Embedding(pv.library.double_pendulum(), ["q1", "q2"], ANGLES)


def test_double_pendulum_in_angles_is_that_of_the_paper(embedding):
    """M̂ is (2.34), Û = I, the potential (2.35), and g(i(q)) = 0 for all q."""
    la, lb, ma, mb, g, q1, q2 = sp.symbols("la lb ma mb g q1 q2", real=True)
    outer = mb * lb**2 + mb * la * lb * sp.cos(q2)
    whole = (ma + mb) * la**2 + mb * lb**2 + 2 * mb * la * lb * sp.cos(q2)
    printed = sp.Matrix([[whole, outer], [outer, mb * lb**2]])
    assert (embedding.mass - printed).applyfunc(sp.expand) == sp.zeros(2, 2)
    assert embedding.ports["joints"].matrix == (("1", "0"), ("0", "1"))
    for row in embedding.model.form.constraints.values():
        assert sp.simplify(row.xreplace(embedding._map)) == 0
    height = g * ((ma + mb) * la * sp.sin(q1) + mb * lb * sp.sin(q1 + q2))
    form = embedding.explicit.form
    assert sp.expand(form.energy.subs(dict.fromkeys(form.states[2:], 0)) - height) == 0
    assert isinstance(embedding.explicit, pv.Mechanical)


def test_states_go_there_and_back(embedding):
    """i*'p∘ = identity: p = M i* M̂⁻¹ p̂ and p̂ = i*'p; energies and outputs are equal."""
    model, rng = embedding.model, np.random.default_rng(2)
    for _ in range(20):
        y = dict(zip(("q1", "q2", "p1", "p2"), rng.uniform(-1.5, 1.5, 4)))
        x = embedding.lift(y)
        assert embedding.project(x, near={"q1": y["q1"], "q2": y["q2"]}) == pytest.approx(y, abs=1e-13)
        part = pv.compile(model, pv.ConstrainedGradient(), 0.1, start=x, engine="python")
        twin = pv.compile(embedding.explicit, pv.AVF(), 0.1, start=y, engine="python")
        assert part.stored == pytest.approx(twin.stored, rel=1e-12)
        assert part.output == pytest.approx(twin.output, abs=1e-10)
    assert embedding.project(embedding.lift({"q1": 1.2}))["p1"] == 0.0


def test_both_models_move_alike(embedding):
    start, u = {"q1": 0.3, "q2": -0.5, "p1": 0.1, "p2": -0.05}, [0.4, -0.3]
    options = {"inputs": {"joints": u}, "engine": "python"}
    twin = pv.simulate(embedding.explicit, pv.RK4(), 1e-3, 0.2, start=start, **options)
    for method in (pv.ConstrainedSplitting(), pv.ConstrainedGradient()):
        run = pv.simulate(embedding.model, method, 1e-3, 0.2, start=embedding.lift(start), **options)
        end = embedding.project({name: float(run[name][-1]) for name in embedding.model.states}, near=start)
        assert [end[name] for name in start] == pytest.approx(twin.arrays["states"][-1], abs=3e-5)
        assert float(run.work["joints"][-1].sum()) == pytest.approx(float(twin.work["joints"][-1].sum()), abs=1e-5)


def test_kinetic_energies_that_are_not_quadratic():
    """On a circle: `sqrt(1 + p²)` has a formula in p̂; `cosh(px) + ...` has none, but Newton's method finds states."""
    circle = {"circle": "x**2 + y**2 - 1"}
    places = {"x": "cos(q)", "y": "sin(q)"}
    fast = pv.Constrained(
        ["x", "y"],
        ["px", "py"],
        "sqrt(1 + px**2 + py**2) + y",
        circle,
        {"push": pv.effort([0, 1])},
        [[0.1, 0], [0, 0.1]],
    )
    explicit = pv.Embedding(fast, ["q"], places).explicit
    q, p = explicit.form.states
    assert sp.simplify(explicit.form.energy - sp.sqrt(1 + p**2) - sp.sin(q)) == 0
    assert explicit.ports["push"].matrix == (("0",), ("cos(q)",)) and explicit.loss[1][1] == "0.1"
    odd = pv.Constrained(["x", "y"], ["px", "py"], "cosh(px) + px**2/2 + py**2/2 + y", circle)
    embedding = pv.Embedding(odd, ["q"], places)
    with pytest.raises(ModelError, match="not quadratic, and no formula is known"):
        _ = embedding.explicit
    y = {"q": 0.4, "p": 2.0}
    x = embedding.lift(y)
    assert embedding.project(x) == pytest.approx(y, abs=1e-13)
    for method in (pv.ConstrainedSplitting(), pv.ConstrainedGradient()):
        run = pv.simulate(odd, method, 0.01, 0.5, start=x, engine="python")
        assert np.abs(run["x"].values ** 2 + run["y"].values ** 2 - 1).max() <= 5e-15


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": pv.library.pendulum()}, "leads into a pv.Constrained"),
        ({"coordinates": ["q", "w"]}, "2 positions and 1 constraints, so 1 coordinates, not 2"),
        ({"coordinates": ["m"]}, "'m' stands in coordinates and in parameters"),
        ({"momenta": ["a", "b"]}, "1 coordinates need 1 momenta"),
        ({"positions": {"x": "l*cos(q)"}}, "no formula for y"),
        ({"positions": {"x": "l*cos(q)", "z": "0"}}, "has no position 'z'"),
        ({"positions": {"x": "l*cos(q)", "y": "l*sin(w)"}}, "the formula of y uses 'w'"),
        ({"positions": {"x": "l*cos(q)", "y": "2*l*sin(q)"}}, "does not keep the constraint 'rod'.*which is not 0"),
        ({"positions": {"x": "l", "y": "0*q"}}, "dependent columns"),
    ],
)
def test_embeddings_that_do_not_fit(changes, message):
    given = {"model": rod(), "coordinates": ["q"], "positions": {"x": "l*cos(q)", "y": "l*sin(q)"}}
    with pytest.raises(ModelError, match=message):
        pv.Embedding(**{**given, **changes})


def test_states_without_coordinates_are_refused(embedding):
    with pytest.raises(InputError, match="no coordinates q1, q2 were found"):
        embedding.project({"ax": 3.0})
    with pytest.raises(InputError, match="there is no 'q3' here"):
        embedding.lift({"q3": 1.0})
