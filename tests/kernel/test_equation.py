"""The equation of a step: what stays unknown after tearing, and its Jacobian against finite differences."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import passivo as pv
from passivo.kernel.equation import Equation
from passivo.kernel.path import Path
from passivo.kernel.slopes import Ends
from strategies import cases

STAGES = (pv.Collocation(1), pv.Collocation(2), pv.Collocation(3))
ONE = (pv.AVF(), pv.Gonzalez(), pv.ItohAbe(), pv.ImplicitMidpoint(), pv.ImplicitEuler(), pv.ClosedLoopAVF())
METHODS = (*ONE, *STAGES)
name_of = lambda method: type(method).__name__ + str(getattr(method, "stages", ""))  # noqa: E731


def unknowns(model, method, **options):
    return pv.compile(model, method, 1e-3, engine="python", **options).module.UNKNOWNS


COUPLED = pv.System(
    ["q", "p"], "p**2*(1 + q**2)/2 + q**2/2", [[0, 1], [-1, 0]], positions=["q"], name="coupled"
)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "method", "count"),
    [
        (pv.library.duffing(), pv.AVF(), 1),
        (pv.library.oscillator(), pv.AVF(), 1),
        (pv.library.oscillator(), pv.ImplicitMidpoint(), 1),
        (pv.library.pendulum(), pv.AVF(), 1),
        (pv.library.toda_chain(3), pv.AVF(), 3),
        (pv.library.duffing(), pv.ExplicitEuler(), 0),
        (pv.library.rigid_body(), pv.ExplicitEuler(), 0),
        (COUPLED, pv.SymplecticEuler(), 1),
        (COUPLED, pv.SymplecticEuler("q"), 1),
        (COUPLED, pv.AVF(), 2),
        (pv.library.mass(), pv.AVF(), 0),
        (pv.library.spring(), pv.ImplicitEuler(), 0),
        (pv.library.damper(), pv.AVF(), 0),
        (pv.library.toda_chain(3), pv.Collocation(3), 9),
        (pv.library.pendulum(), pv.Collocation(2), 2),
        (pv.library.rigid_body(), pv.Collocation(2), 4),
        (pv.library.mass(), pv.Collocation(3), 0),
        (pv.library.damper(), pv.Collocation(3), 0),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_unknowns_left_after_tearing(model, method, count):
    assert unknowns(model, method) == count


@pytest.mark.parametrize("variant", ["p", "q"])
def test_separable_symplectic_euler_without_loss_is_explicit(variant):
    pendulum = pv.System(["q", "p"], "p**2/2 - cos(q)", [[0, 1], [-1, 0]], positions=["q"])
    assert unknowns(pendulum, pv.SymplecticEuler(variant)) == 0


def test_a_relation_adds_its_input():
    law = pv.Relation(lambda y, u: y + 8 * u**3)
    assert unknowns(pv.library.oscillator(), pv.AVF(), laws={"force": law}) == 2
    assert unknowns(pv.library.damper(), pv.AVF(), laws={"end": law}) == 1


def test_explicit_rows_are_evaluated_in_order():
    """A chain x1 <- x0, x2 <- x1, ... whatever the order of the rows."""
    states = sp.symbols("x0:4", real=True)
    ends, h = Ends.of(states), sp.Symbol("h#", real=True)
    rows = [h * ends.b[1], h * ends.b[2], h * ends.b[3], h * ends.a[0]]
    solved, explicit = Equation(Path.straight(ends), h, rows, {}).tear()
    assert solved == [] and explicit == [3, 2, 1, 0]
    rows[3] = h * ends.b[0]
    solved, explicit = Equation(Path.straight(ends), h, rows, {}).tear()
    assert len(solved) == 1 and len(explicit) == 3


def matrix_and_differences(part, rng, size):
    """The generated Jacobian, and central differences of residual(expand(z)) in extended precision."""
    module, k = part.module, part.module.UNKNOWNS
    m = part.memory.astype(np.longdouble)
    h = np.longdouble(part.dt)
    if module.AVERAGES:
        m[module.LEVEL] = module.LEVELS - 1
    z = size * rng.uniform(-1, 1, k)

    def residual(z):
        m[module.UNKNOWN : module.UNKNOWN + k] = z
        module.assess(m, h)
        return m[module.RESIDUAL : module.RESIDUAL + k].copy()

    residual(z)
    module.derive(m, h)
    matrix = m[module.MATRIX : module.MATRIX + k * k].reshape(k, k).copy()
    step = np.longdouble(1e-6)
    unit = np.eye(k, dtype=np.longdouble) * step
    numeric = np.stack([(residual(z + e) - residual(z - e)) / (2 * step) for e in unit], axis=1) if k else matrix
    return matrix, numeric


def compiled(case, method, **options):
    part = pv.compile(
        case.system, method, case.h, start=dict(zip(case.system.states, case.x)), engine="python", **options
    )
    part._set_input(case.u)
    part._section("USED", len(case.u))[:] = case.u
    return part


def check(part, rng, size):
    matrix, numeric = matrix_and_differences(part, rng, size)
    if matrix.size:
        assert np.abs(matrix - numeric).max() <= 1e-8 * (1 + np.abs(numeric).max())


@pytest.mark.parametrize("method", METHODS, ids=name_of)
@settings(max_examples=8)
@given(case=cases(largest=3), size=st.sampled_from([1.0, 1e-2, 0.0]))
def test_jacobian_of_random_systems(method, case, size):
    check(compiled(case, method), case.rng, size)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
@pytest.mark.parametrize("kind", [pv.Feedback, pv.Relation])
@settings(max_examples=4)
@given(case=cases(largest=3))
def test_jacobian_with_feedback_and_relations(method, kind, case):
    ports = {name: port.width for name, port in case.system.ports.items()}
    if not ports:
        return
    name, width = next(iter(ports.items()))
    one = (lambda y: -pv.atan(3 * y)) if kind is pv.Feedback else (lambda y, u: y + 8 * u**3 + u)
    law = kind(one if width == 1 else lambda *args: [one(*values) for values in zip(*args)])
    check(compiled(case, method, laws={name: law}), case.rng, 0.3)


@pytest.mark.parametrize("method", [*METHODS, pv.SymplecticEuler()], ids=name_of)
@pytest.mark.parametrize(
    ("model", "start"),
    [
        (pv.library.duffing(b=0.3), {"q": 0.4, "p": 0.2}),
        (pv.library.microphone(), {"q": 2.0, "p": 1.0, "Q": 1.5}),
        (COUPLED, {"q": 0.4, "p": 0.2}),
        (pv.library.kepler(), {"qx": 1.0, "py": 0.5}),
    ],
    ids=["duffing", "microphone", "coupled", "kepler"],
)
def test_jacobian_of_the_library(model, start, method):
    known = {name: value for name, value in start.items() if name in model.states}
    if len(known) < len(start):
        known = dict(zip(model.states, (1.0, 0.1, 0.2, 0.9)))
    check(pv.compile(model, method, 0.1, start=known, engine="python"), np.random.default_rng(1), 0.1)


def test_adaptive_averages_grow_until_the_gap_is_rounding():
    """No closed form covers this term: few nodes for a small step, more for a large one, both exact."""
    model = pv.System(["x", "y"], "sqrt(1 + x**2 + y**4) + exp(x*y/3)", [[0, 1], [-1, 0]])
    levels = []
    for h in (1e-3, 1.5):
        part = pv.compile(model, pv.AVF(), h, start={"x": 1.0, "y": 0.5}, engine="python")
        part.step()
        assert part.module.ADAPTIVE and part.verdict.kind == "exact"
        levels.append(part.memory[part.module.LEVEL])
    assert levels[0] < levels[1]
