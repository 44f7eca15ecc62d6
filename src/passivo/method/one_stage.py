"""Methods with one stage: `X − x = h [(J − R)(z) ḡ + G(z) u]`, output `ỹ = G(z)'ḡ`, work `h ỹ'u`, loss `h ḡ'R ḡ`.

They differ in two choices only: the mean gradient ḡ, and the place z where J, R and G are taken.

    ExplicitEuler      ḡ = ∇H(x)                     z = x
    ImplicitEuler      ḡ = ∇H(X)                     z = X
    SymplecticEuler    ḡ = ∇H at old q, new p        z the same (variant "p"; "q": new q, old p)
    ImplicitMidpoint   ḡ = ∇H(m), m = (x + X)/2      z = m
    AVF                ḡ = ∫ ∇H(x + τ(X − x)) dτ     z = m   (spec 2.1, 2.2)

Whatever ḡ is, `ΔH − h ỹ'u + h ḡ'Rḡ = ΔH − ḡ·(X − x)`: the energy created is the defect of ḡ as a discrete gradient.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError, nearest
from passivo.kernel import newton
from passivo.method.base import Laws, Method
from passivo.method.strokes import ONE, advance, finish, stroke, tables

if TYPE_CHECKING:
    from passivo.kernel.path import Path
    from passivo.kernel.slopes import Ends
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form, Row

WORLD_SYMPLECTIC, WORLD_IMPLICIT = 1, 2  # as `world/table.py` numbers its schemes


@dataclass(frozen=True)
class OneStage(Method):
    """Base of the methods in this file."""

    strokes: ClassVar = ONE
    certifies: ClassVar = True
    kernels: ClassVar = (*newton.KERNELS, finish, stroke, advance)

    @abstractmethod
    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        """z, one symbol per state."""

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        """ḡ, the averages in it, and how many Gauss nodes these need (None: as many as the energy gap asks for)."""
        from passivo.kernel.leaves import gradient_at

        return list(gradient_at(form, self.place(form, ends)).values()), {}, 1

    def kept(self, layout: Layout, form: Form) -> dict[Any, str]:
        """Symbols of the method's own in z and ḡ, and where it keeps their values."""
        return {}

    def flow(self, form: Form) -> list[Any]:
        """x' in states, gradient symbols and inputs: the field that is stepped."""
        return form.flow

    def gathered(self, form: Form, ends: Ends, layout: Layout) -> list[tuple[str, Any]]:
        """What `gather` shall store besides: (target, formula in the symbols of `ends` and h#)."""
        return []

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        from passivo.kernel.path import Path
        from passivo.kernel.slopes import Ends

        ends = Ends.of(form.states)
        mean, averages, nodes = self.gradient(form, ends)
        place = self.place(form, ends)
        own, more = self.kept(layout, form), self.gathered(form, ends, layout)
        path, flow = Path.straight(ends), self.flow(form)
        numbers = write_stages(source, layout, form, laws, flow, path, [place], [mean], averages, nodes, own, more)
        return {**numbers, **tables(self.strokes)}


def write_stages(
    source: Source,
    layout: Layout,
    form: Form,
    laws: Laws,
    flow: Sequence[Any],
    path: Path,
    places: Sequence[tuple[Any, ...]],
    gradients: Sequence[Sequence[Any]],
    averages: Mapping[Any, tuple[int, Any]],
    nodes: int | None,
    own: Mapping[Any, str] | None = None,
    more: Sequence[tuple[str, Any]] = (),
) -> dict[str, Any]:
    """The equation of a step, `d_j = h b_j x'` at the place of every stage j with its mean gradient and its inputs.

    `own` are symbols of the method's own and where it keeps their values, `more` is what `gather` stores besides.

    One stage keeps increments, gradient and inputs where every method has them: in STEP, GRADIENT and USED. Several
    have sections of their own and find the inputs in INPUT; STEP is their sum, GRADIENT and USED are their means.
    """
    import sympy as sp

    from passivo.kernel.equation import Equation, write_equation

    h, n, s, each = sp.Symbol("h#", real=True), len(form.states), path.stages, len(form.inputs + form.signals)
    at, alone = layout.sections, path.stages == 1
    sections = ("STEP", "GRADIENT", "USED") if alone else ("INCREMENTS", "GRADIENTS", "STAGE_USED")
    if not alone:
        for name, size in zip(sections, (s * n, s * n, s * each)):
            layout.take(name, size)
    steps, means, kept = (at[name] for name in sections)
    slots = {**layout.slots("STATE", path.a), **layout.slots(sections[0], path.d), **(own or {})}
    slots.update({symbol: repr(value) for symbol, value in path.numbers.items()})
    through: dict[Any, Any] = {}
    stages: list[tuple[Any, dict[Any, Any]]] = []  # weight and symbols of every stage
    unknown: list[Any] = []
    for j, (place, mean) in enumerate(zip(places, gradients)):
        gradient, inputs = path.tagged(form.gradient, j), path.tagged(form.inputs + form.signals, j)
        through.update(zip(gradient, mean))
        here = dict(zip((*form.states, *form.gradient, *form.inputs, *form.signals), (*place, *gradient, *inputs)))
        others = [u for u in laws.unknown if u not in here]  # unknowns that are no inputs, such as multipliers
        here.update(zip(others, path.tagged(others, j)))
        stages.append((path.weights[j] * h, here))
        unknown += [here[u] for u in laws.unknown]
        given = kept if alone else at["INPUT"]
        slots.update({u: f"m[{given + j * each + k}]" for k, u in enumerate(inputs)})
    equation = Equation(
        path=path,
        h=h,
        increments=[weight * laws.put(f, here) for weight, here in stages for f in flow],
        through=through,
        unknown_inputs=unknown,
        relations=[laws.put(f, here) for _, here in stages for f in laws.relations],
        averages=averages,
        nodes=nodes,
    )
    constants = write_equation(source, layout, equation, slots)

    slots.update(layout.slots("AVERAGE", averages))
    start = at["UNKNOWN"] + constants["SOLVED_COUNT"]
    slots.update({u: f"m[{start + i}]" for i, u in enumerate(unknown)})
    defined = {**path.definitions, **through}
    outputs = [(f"m[{means + i}]", g) for i, g in enumerate(through)]
    for j, (_, here) in enumerate(stages):
        outputs += laws.used(form, layout, here, sections[2], j * each)
    if not alone:
        outputs += mean_outputs(form, laws, path, stages, at)
    outputs += more
    source.leaf("gather", "m, h", {**slots, h: "h"}, outputs, defined, note="Mean gradient and inputs of the step.")
    slots.update({g: f"m[{means + i}]" for i, g in enumerate(through)})
    ruled = {*laws.feedback, *laws.unknown}
    for j, (_, here) in enumerate(stages):
        slots.update({here[u]: f"m[{kept + j * each + k}]" for k, u in enumerate(form.inputs) if u in ruled})
    write_weighs(source, layout, form, slots, stages, path.definitions)
    write_proof(source, form, slots, path, stages, [laws.put(f, here) for _, here in stages for f in form.flow], at)
    return {**constants, "INCREMENTS": steps, "GRADIENTS": means}


def write_proof(
    source: Source,
    form: Form,
    slots: Any,
    path: Path,
    stages: Sequence[tuple[Any, dict[Any, Any]]],
    rates: Sequence[Any],
    at: Mapping[str, int],
) -> None:
    """`prove`: Σ ḡ_j·F_j, F the residual of the step's equation, and −Σ ḡ_j·d_j, to which the change of H belongs.

    Whatever the solver left, the energy a step creates is `Σ ḡ_j·F_j + (ΔH − Σ ḡ_j·d_j)` (spec 2.1). F is that of the
    model's own field: what constraint forces do counts as left by the solver, for solved ones do no work.
    """
    import sympy as sp

    means = [here[g] for _, here in stages for g in form.gradient]
    weights = [weight for weight, _ in stages for _ in form.gradient]
    left = sp.Add(*(g * (d - weight * f) for g, d, weight, f in zip(means, path.d, weights, rates)))
    taken = sp.Add(*(g * d for g, d in zip(means, path.d)))
    outputs = [(f"m[{at['PROOF'] + 1}] +=", left), (f"m[{at['PROOF'] + 2}] -=", taken)]
    slots = {**slots, sp.Symbol("h#", real=True): "h"}
    source.leaf("prove", "m, h", slots, outputs, path.definitions)


def mean_outputs(
    form: Form, laws: Laws, path: Path, stages: Sequence[tuple[Any, dict[Any, Any]]], at: Mapping[str, int]
) -> list[tuple[str, Any]]:
    """STEP, GRADIENT and USED of several stages. An input that is held comes out as it is: the differences are 0."""
    import sympy as sp

    n, weights = len(form.states), path.weights
    outputs = [(f"m[{at['STEP'] + i}]", sp.Add(*path.d[i::n])) for i in range(n)]
    for i, g in enumerate(form.gradient):
        mean = sp.Add(*(b * here[g] for b, (_, here) in zip(weights, stages)))
        outputs.append((f"m[{at['GRADIENT'] + i}]", mean))
    for k, u in enumerate((*form.inputs, *form.signals)):
        first, *others = (laws.put(u, here) for _, here in stages)
        spread = sp.Add(*(b * (other - first) for b, other in zip(weights[1:], others)))
        outputs.append((f"m[{at['USED'] + k}]", first + spread))
    return outputs


def write_weigh(source: Source, layout: Layout, form: Form, slots: Any, place: Any, defined: Any) -> None:
    """`weigh`: work, mean output, loss and inner power of a stage, from its gradient and inputs."""
    import sympy as sp

    from passivo.kernel.leaves import input_slots

    slots = {**slots, **layout.slots("GRADIENT", form.gradient), **input_slots(form, layout)}
    write_weighs(source, layout, form, slots, [(sp.Symbol("h#", real=True), place)], defined)


def write_weighs(
    source: Source, layout: Layout, form: Form, slots: Any, stages: Sequence[tuple[Any, Any]], defined: Any
) -> None:
    """The same for several stages of given weight, each with symbols of its own."""
    import sympy as sp

    at, outputs = layout.sections, []
    for weight, here in stages:
        for k, (y, u) in enumerate(zip(form.output, form.inputs)):
            outputs.append((f"m[{at['WORK'] + k}] +=", weight * y.xreplace(here) * u.xreplace(here)))
            outputs.append((f"m[{at['MEAN'] + k}] +=", weight * y.xreplace(here)))
        for r, row in enumerate(form.rows):
            outputs += row_outputs(row, r, at, weight, lambda f, here=here: f.xreplace(here))
    source.leaf("weigh", "m, h", {**slots, sp.Symbol("h#", real=True): "h"}, outputs, defined)


def row_outputs(row: Row, r: int, at: Mapping[str, int], weight: Any, put: Callable) -> list[tuple[str, Any]]:
    """What a stage of the given weight adds to a ledger row: loss, power from inside the model, and its rounding."""
    import sympy as sp

    powers = [put(power) for power in row.received]
    received = sp.Add(*powers)
    outputs = [(f"m[{at['LOST'] + r}] +=", weight * put(row.lost))] if row.lost != 0 else []
    if received != 0:
        outputs.append((f"m[{at['RECEIVED'] + r}] +=", weight * received))
        outputs.append((f"m[{at['SCALE'] + r}] +=", weight * sp.Add(*map(sp.Abs, powers))))
    return outputs


@dataclass(frozen=True)
class ExplicitEuler(OneStage):
    """Explicit Euler: creates `½ d'∇²H d` per step, for ever."""

    order: ClassVar = 1
    nodes: ClassVar = (0.0,)
    works_at_start: ClassVar = True

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.a


@dataclass(frozen=True)
class ImplicitEuler(OneStage):
    """Implicit Euler: never creates energy where H is convex, and removes `½ d'∇²H d` per step."""

    order: ClassVar = 1
    preserves: ClassVar = ("convex passivity",)
    nodes: ClassVar = (1.0,)

    def world_options(self) -> dict[str, int]:
        return {"SCHEME": WORLD_IMPLICIT, "PREDICTS": 0, "RESOLVES": 0}

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.b


@dataclass(frozen=True)
class ImplicitMidpoint(OneStage):
    """Implicit midpoint: symplectic, and exact in energy where H is quadratic."""

    order: ClassVar = 2
    preserves: ClassVar = ("quadratic energy", "symplectic")
    symmetric: ClassVar = True

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.m


@dataclass(frozen=True)
class SymplecticEuler(OneStage):
    """Symplectic Euler. Variant "p" takes the new momenta and the old positions, "q" the other way round.

    The positions are those the model declares, unless named here. Implicit only where the energy couples q and p.
    """

    variant: str = "p"
    positions: tuple[str, ...] = ()

    order: ClassVar = 1
    preserves: ClassVar = ("symplectic",)
    applies: ClassVar = "positions, momenta"
    nodes: ClassVar = (0.0,)

    def for_model(self, model: Any) -> SymplecticEuler:
        if self.variant not in ("p", "q"):
            raise MethodError(f"SymplecticEuler's variant is 'p' or 'q', not {self.variant!r}")
        if model.steps_apart:
            if self.variant == "q" or self.positions:
                raise MethodError("a world is stepped by SymplecticEuler() alone: new velocities, then new positions")
            return self
        chosen = tuple(self.positions) or model.positions
        if not chosen or len(chosen) == len(model.states):
            raise MethodError(
                f"SymplecticEuler must know which states of {model.name!r} are positions: "
                "say SymplecticEuler(positions=('q',)), or give the System positions=['q']"
            )
        for name in chosen:
            if name not in model.states:
                raise MethodError(f"SymplecticEuler's position {name!r} is no state; {nearest(name, model.states)}")
        return replace(self, positions=chosen)

    def world_options(self) -> dict[str, int]:
        return {"SCHEME": WORLD_SYMPLECTIC, "PREDICTS": 0, "RESOLVES": 0}

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        fresh = self.variant == "q"
        return tuple(
            ends.b[i] if (state.name in self.positions) == fresh else ends.a[i] for i, state in enumerate(form.states)
        )


@dataclass(frozen=True)
class AVF(OneStage):
    """Average vector field, port-Hamiltonian form (spec 2.1): `ΔH = h ỹ'u − h ḡ'R ḡ` exactly, for every h."""

    order: ClassVar = 2
    preserves: ClassVar = ("energy", "quadratic energy", "convex passivity")
    symmetric: ClassVar = True

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return ends.m

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        from passivo.kernel.average import mean_gradients
        from passivo.kernel.path import Path

        means, averages, nodes = mean_gradients(form.energy, Path.straight(ends))
        return means[0], averages, nodes
