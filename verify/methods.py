"""Every method of the catalogue, in all its variants, and where each applies."""

from __future__ import annotations

from passivo.errors import MethodError
from passivo.method.base import Method
from passivo.method.catalogue import GENERAL
from passivo.method.collocation import Collocation
from passivo.method.composition import SCHEMES, Composition
from passivo.method.constrained import ConstrainedGradient, ConstrainedSplitting
from passivo.method.energy_consistent import EnergyConsistent
from passivo.method.exact_hold import ExactHold, check_linear
from passivo.method.non_iterative import SAV, Kahan
from passivo.method.one_stage import ImplicitMidpoint, SymplecticEuler
from passivo.method.passive_midpoint import PassiveMidpoint, check_masses
from passivo.method.runge_kutta import RungeKutta
from passivo.method.splitting import StructureSplitting
from passivo.model.feedback import Relation
from verify.problems import Problem

# methods that one default object does not show; all others are taken as they come
VARIANTS: dict[str, dict[str, Method]] = {
    "SymplecticEuler": {
        "SymplecticEuler p": SymplecticEuler("p"),
        "SymplecticEuler q": SymplecticEuler("q"),
    },
    "StructureSplitting": {
        "StructureSplitting": StructureSplitting(),
        "StructureSplitting exact": StructureSplitting(substep="exact"),
    },
    "Composition": {
        **{f"Composition {scheme}": Composition(scheme=scheme) for scheme in SCHEMES},
        "Composition midpoint": Composition(ImplicitMidpoint()),
    },
    "Collocation": {f"Collocation {stages}": Collocation(stages) for stages in (1, 2, 3)},
}
NO_MINIMUM = ("kepler", "heavy_top")


# methods for models with constraints
CONSTRAINED: dict[str, Method] = {
    "ConstrainedSplitting": ConstrainedSplitting(),
    **{f"ConstrainedSplitting {scheme}": Composition(ConstrainedSplitting(), scheme) for scheme in SCHEMES},
    "ConstrainedGradient": ConstrainedGradient(),
    "ConstrainedGradient suzuki4": Composition(ConstrainedGradient()),
}


def general_methods() -> dict[str, Method]:
    """Title -> method, of those for models without constraints."""
    result: dict[str, Method] = {}
    for name, cls in GENERAL.items():
        result.update(VARIANTS[name] if name in VARIANTS else {name: cls()})
    return result


def all_methods() -> dict[str, Method]:
    """Title -> method."""
    return {**general_methods(), **CONSTRAINED}


def reason_against(method: Method, problem: Problem) -> str:
    """Why a method does not apply to a problem, empty where it does; Passivo must refuse just these."""
    if method.keeps_constraints != problem.constrained:
        return "constraints" if problem.constrained else "no constraints"
    if any(isinstance(each, ConstrainedSplitting) for each in method.nested()) and (
        problem.model.lossy or problem.laws
    ):
        return "inputs are held, and nothing is lost"
    if isinstance(method, SymplecticEuler):
        positions = method.positions or problem.model.positions
        if not 0 < len(positions) < len(problem.model.states):
            return "positions and momenta are not told apart"
    if isinstance(method, EnergyConsistent | ExactHold | SAV) and problem.name in NO_MINIMUM:
        return "the energy has no minimum at a known place"
    if isinstance(method, ExactHold):
        try:
            check_linear(method, problem.model.form)
        except MethodError:
            return "not linear"
    if isinstance(method, PassiveMidpoint):
        try:
            check_masses(problem.model)
        except MethodError:
            return "no positions and momenta with a kinetic energy ½ p'W(q)p"
    if isinstance(method, Kahan):
        try:
            method.form_of(problem.model)
        except MethodError:
            return "no quadratic field"
    if isinstance(method, Kahan | SAV) and problem.laws:
        return "one linear system cannot hold a law that is not linear"
    if isinstance(method, Composition) and method.backwards and (problem.model.lossy or problem.laws):
        return "strokes backwards where power is lost or a feedback acts"
    if isinstance(method, StructureSplitting):
        try:
            method.for_model(problem.model).form_of(problem.model)
        except MethodError:
            return "a part that does not turn"
    unsolved = any(isinstance(law, Relation) for law in problem.laws.values())
    if unsolved and isinstance(method, RungeKutta | EnergyConsistent | ExactHold):
        return "no equation to solve a Relation in"
    return ""
