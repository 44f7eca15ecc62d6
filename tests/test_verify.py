"""The verification harness catches methods that claim too much, and lets honest ones pass."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import passivo as pv
from passivo.method.catalogue import GENERAL, METHODS
from passivo.method.one_stage import ExplicitEuler, ImplicitMidpoint
from verify.claims import check_method, check_power
from verify.measure import Result, balance, drift, measure, order, symplectic_defect
from verify.methods import all_methods, reason_against
from verify.problems import PROBLEMS

SOME = {name: PROBLEMS[name] for name in ("oscillator", "pendulum", "rigid_body")}


@dataclass(frozen=True)
class ClaimsEnergy(ExplicitEuler):
    preserves: ClassVar = ("energy", "convex passivity", "symplectic")


@dataclass(frozen=True)
class ClaimsOrderTwo(ExplicitEuler):
    order: ClassVar = 2


@dataclass(frozen=True)
class ClaimsTheUnknown(ImplicitMidpoint):
    preserves: ClassVar = ("angular momentum",)


def failed(method, problems=SOME):
    results = {name: measure(method, problem) for name, problem in problems.items()}
    return {(f.problem, f.claim) for f in check_method("toy", method, problems, results)}


@pytest.mark.parametrize(
    "name",
    [
        "ExplicitEuler",
        "RK4",
        "AVF",
        "Gonzalez",
        "ItohAbe",
        "SAV",
        "ImplicitMidpoint",
        "ImplicitEuler",
        "EnergyConsistent",
    ],
)
def test_honest_methods_pass(name):
    assert failed(GENERAL[name]()) == set()


def test_wrong_claims_on_energy_are_caught():
    found = failed(ClaimsEnergy())
    assert {(name, "'energy'") for name in SOME} <= found
    assert {(name, "'convex passivity'") for name in ("oscillator", "rigid_body")} <= found
    assert {(name, "'symplectic'") for name in ("oscillator", "pendulum")} <= found


def test_a_book_that_is_not_kept_is_caught():
    @dataclass(frozen=True)
    class Careless(ExplicitEuler):
        preserves: ClassVar = ("booked energy",)

    assert failed(Careless()) == {(name, "'booked energy'") for name in SOME}


def test_midpoint_does_not_keep_every_energy():
    @dataclass(frozen=True)
    class Proud(ImplicitMidpoint):
        preserves: ClassVar = ("energy", "quadratic energy")

    assert failed(Proud()) == {("pendulum", "'energy'")}


def test_a_wrong_order_is_caught():
    assert failed(ClaimsOrderTwo()) == {(name, "order 2") for name in SOME}


def test_a_claim_nobody_measures_is_caught():
    assert ("", "'angular momentum'") in failed(ClaimsTheUnknown())
    assert ("", "'symplectic'") in failed(ImplicitMidpoint(), {"rigid_body": PROBLEMS["rigid_body"]})


def test_a_blind_measurement_is_caught():
    """If explicit Euler looked symplectic and passive, something would be wrong with the harness."""
    honest = measure(pv.AVF(), PROBLEMS["oscillator"])
    blind = Result(order=honest.order, balances=honest.balances, symplectic=0.0)
    assert len(check_power(PROBLEMS, {"ExplicitEuler": {"oscillator": blind}})) == 2
    seen = measure(pv.ExplicitEuler(), PROBLEMS["oscillator"])
    assert check_power(PROBLEMS, {"ExplicitEuler": {"oscillator": seen}}) == []


def test_numbers():
    pendulum = PROBLEMS["pendulum"]
    found = order(pv.RK4(), pendulum)
    assert found is not None and found.measured == pytest.approx(4, abs=0.05)
    assert symplectic_defect(pv.SymplecticEuler("q"), pendulum) < 1e-9
    assert balance(pv.AVF(), pendulum, 0.5).roundoffs < 1
    kept = drift(pv.AVF(), pendulum, steps=200)
    grown = drift(pv.ExplicitEuler(), pendulum, steps=200)
    assert kept.kind == "exact" and kept.largest < 1e-13
    assert grown.kind == "active" and grown.trend > 0.1


LINKAGE = {"double_pendulum": PROBLEMS["double_pendulum"]}


@pytest.mark.parametrize("method", [pv.ConstrainedSplitting(), pv.ConstrainedGradient()], ids=str)
def test_honest_methods_with_constraints_pass(method):
    assert failed(method, LINKAGE) == set()


def test_wrong_claims_on_constraints_are_caught():
    @dataclass(frozen=True)
    class Proud(pv.ConstrainedGradient):
        preserves: ClassVar = ("energy", "symplectic", "constraints", "rates")

    @dataclass(frozen=True)
    class Modest(pv.ConstrainedSplitting):
        preserves: ClassVar = ("energy",)

    assert failed(Proud(), LINKAGE) == {("double_pendulum", "'symplectic'"), ("double_pendulum", "'rates'")}
    assert failed(Modest(), LINKAGE) == {("double_pendulum", "'energy'")}


@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.constrained])
def test_linkages_are_those_of_the_library(name):
    """Constraints and their slopes, written twice."""
    from passivo.model.expression import evaluate

    problem, rng = PROBLEMS[name], np.random.default_rng(0)
    assert problem.bars is not None
    r, model = rng.uniform(-1, 1, len(problem.model.positions)), problem.model
    value = {**model.params, **dict(zip(model.positions, r))}
    found = problem.bars.gaps(r)
    assert found == pytest.approx([evaluate(g, value) for g in model.constraints.values()], abs=1e-14)
    steps = 1e-6 * np.eye(len(r))
    slopes = np.array([(problem.bars.gaps(r + e) - problem.bars.gaps(r - e)) / 2e-6 for e in steps]).T
    assert problem.bars.slopes(r) == pytest.approx(slopes, abs=1e-8)


def test_every_method_and_every_system_is_covered():
    assert {type(method).__name__ for method in all_methods().values()} == set(METHODS) - {"ExactBounce"}
    systems = {problem.model.name for problem in PROBLEMS.values()}
    # a law has no energy, and nothing but ExactBounce steps over a floor
    special = {"rigid_body_control", "wall", "bouncing_mass"}
    assert set(pv.library.__all__) - special <= systems
    for title, method in all_methods().items():
        enough = 4 if method.keeps_constraints else 6
        assert sum(not reason_against(method, problem) for problem in PROBLEMS.values()) >= enough, title


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_stated_facts_are_true(name):
    """A quadratic energy with a minimum is convex; where a closed version is stated it loses nothing."""
    problem = PROBLEMS[name]
    assert problem.convex or not problem.quadratic
    assert problem.drift is None or problem.lossless
