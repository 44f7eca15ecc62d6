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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError, nearest
from passivo.kernel import newton
from passivo.method.base import Laws, Method
from passivo.method.strokes import ONE, advance, stroke, tables

if TYPE_CHECKING:
    from passivo.kernel.slopes import Ends
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form, Row


@dataclass(frozen=True)
class OneStage(Method):
    """Base of the methods in this file."""

    strokes: ClassVar = ONE
    kernels: ClassVar = (*newton.KERNELS, stroke, advance)

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
        import sympy as sp

        from passivo.kernel.equation import Equation, write_equation
        from passivo.kernel.leaves import input_slots
        from passivo.kernel.slopes import Ends

        ends, h = Ends.of(form.states), sp.Symbol("h#", real=True)
        mean, averages, nodes = self.gradient(form, ends)
        place = dict(zip(form.states, self.place(form, ends)))
        equation = Equation(
            ends=ends,
            h=h,
            increments=[h * laws.put(f, place) for f in self.flow(form)],
            through=dict(zip(form.gradient, mean)),
            unknown_inputs=laws.unknown,
            relations=[laws.put(f, place) for f in laws.relations],
            averages=averages,
            nodes=nodes,
        )
        at = layout.sections
        slots = {**layout.slots("STATE", ends.a), **layout.slots("STEP", ends.d), **input_slots(form, layout)}
        slots.update(self.kept(layout, form))
        constants = write_equation(source, layout, equation, slots)

        slots.update({**layout.slots("AVERAGE", averages), **laws.slots(layout, constants), h: "h"})
        defined = {**ends.definitions, **equation.through}
        outputs = [(f"m[{at['GRADIENT'] + i}]", g) for i, g in enumerate(form.gradient)]
        outputs += [*laws.used(form, layout, place), *self.gathered(form, ends, layout)]
        source.leaf("gather", "m, h", slots, outputs, defined, note="Mean gradient and inputs of the step.")
        write_weigh(source, layout, form, slots, place, ends.definitions)
        return {**constants, **tables(self.strokes)}


def write_weigh(source: Source, layout: Layout, form: Form, slots: Any, place: Any, defined: Any) -> None:
    """`weigh`: work, mean output, loss and inner power of a stage, from its gradient and inputs."""
    import sympy as sp

    from passivo.kernel.leaves import input_slots

    h, at = sp.Symbol("h#", real=True), layout.sections
    slots = {**slots, **layout.slots("GRADIENT", form.gradient), **input_slots(form, layout), h: "h"}
    outputs = []
    for k, (y, u) in enumerate(zip(form.output, form.inputs)):
        outputs.append((f"m[{at['WORK'] + k}] +=", h * y.xreplace(place) * u))
        outputs.append((f"m[{at['MEAN'] + k}] +=", h * y.xreplace(place)))
    for r, row in enumerate(form.rows):
        outputs += row_outputs(row, r, at, h, lambda f: f.xreplace(place))
    source.leaf("weigh", "m, h", slots, outputs, defined)


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
    applies: ClassVar = "positions and momenta"
    nodes: ClassVar = (0.0,)

    def for_model(self, model: Any) -> SymplecticEuler:
        if self.variant not in ("p", "q"):
            raise MethodError(f"SymplecticEuler's variant is 'p' or 'q', not {self.variant!r}")
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
        from passivo.kernel.average import mean_gradient

        return mean_gradient(form.energy, ends)
