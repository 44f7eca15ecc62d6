"""The average vector field of the closed loop: `X − x = h ∫ f(x + τ(X − x)) dτ`, f with its feedback put in (spec 2.8).

The "AVF" curve of Celledoni's figures. With J, R, G constant and no feedback its states are those of AVF. Work
and loss are averages of the same kind, and the mean of a product is not the product of the means: the balance is
exact only where J and G are constant and neither loss nor feedback acts. Otherwise its energy error is of order
h², even if H is quadratic; with a constant R it creates `h ∫ (g − ḡ)'R (g − ḡ) dτ >= 0` in every step.

A Feedback is a function of the state and is averaged with the field. A Relation has no such function: its input v is
held over the step, one more unknown, and `ρ(ȳ, v) = 0` binds it to the mean output ȳ: the port's work is `h ȳ'v`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.kernel import newton
from passivo.method.base import Laws, Method
from passivo.method.one_stage import row_outputs
from passivo.method.strokes import ONE, advance, finish, stroke, tables

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.provided import *


def weigh(m, h):
    """Work, loss and mean gradient as averages along the straight line of the step."""
    for i in range(STATES):
        m[GRADIENT + i] = 0.0
    for q in range(LEVEL_START[1]):
        weigh_node(m, h, NODES[q], WEIGHTS[q])


@dataclass(frozen=True)
class ClosedLoopAVF(Method):
    """Average vector field of the closed-loop field, by 8 Gauss nodes."""

    order: ClassVar = 2
    symmetric: ClassVar = True
    strokes: ClassVar = ONE
    kernels: ClassVar = (*newton.KERNELS, finish, stroke, advance, weigh)

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        import sympy as sp

        from passivo.kernel.equation import Equation, write_equation
        from passivo.kernel.leaves import gradient_at, input_slots
        from passivo.kernel.path import Path
        from passivo.kernel.slopes import Ends

        ends, h = Ends.of(form.states), sp.Symbol("h#", real=True)
        gradient = gradient_at(form, form.states)
        put = lambda f: laws.put(f, gradient)  # noqa: E731
        means: dict[Any, tuple[int, Any]] = {}

        def mean(f: Any) -> Any:
            """A symbol for the mean of a formula over the step."""
            symbol = sp.Symbol(f"mean#{len(means)}", real=True)
            means[symbol] = 0, f
            return symbol

        def linear(f: Any) -> Any:
            """The mean of a formula that is linear in the unknown inputs, these kept outside of it."""
            f = put(f)
            rest = f.xreplace(dict.fromkeys(laws.unknown, sp.Integer(0)))
            factors = [sp.diff(f, v) for v in laws.unknown]
            moving = [c if not c.free_symbols & set(form.states) else mean(c) for c in factors]
            return (mean(rest) if form.states else rest) + sp.Add(*(c * v for c, v in zip(moving, laws.unknown)))

        increments = [h * linear(f) for f in form.flow]
        relations = laws.relate([linear(y) for y in form.output]) if laws.unknown else []
        equation = Equation(Path.straight(ends), h, increments, {}, laws.unknown, relations, means, nodes=8)
        slots = {**layout.slots("STATE", ends.a), **layout.slots("STEP", ends.d), **input_slots(form, layout)}
        constants = write_equation(source, layout, equation, slots)

        at = layout.sections
        tau, weight = sp.Symbol("tau#", real=True), sp.Symbol("weight#", real=True)
        point = dict(zip(form.states, (a + tau * d for a, d in zip(ends.a, ends.d))))
        slots.update({h: "h", tau: "tau", weight: "weight"})
        outputs = [(f"m[{at['GRADIENT'] + i}] +=", weight * g) for i, g in enumerate(gradient.values())]
        for k, (y, u) in enumerate(zip(form.output, form.inputs)):
            outputs.append((f"m[{at['WORK'] + k}] +=", h * weight * put(y * u)))
            outputs.append((f"m[{at['MEAN'] + k}] +=", h * weight * put(y)))
        for r, row in enumerate(form.rows):
            outputs += row_outputs(row, r, at, h * weight, put)
        source.leaf("weigh_node", "m, h, tau, weight", slots, outputs, point)
        middle = dict(zip(form.states, (a + d / 2 for a, d in zip(ends.a, ends.d))))
        note = "The inputs of the step; feedback at its middle, for the record."
        slots.update(laws.slots(layout, constants))
        source.leaf("gather", "m, h", slots, laws.used(form, layout, gradient), middle, note=note)
        return {**constants, **tables(self.strokes), "INCREMENTS": at["STEP"], "GRADIENTS": at["GRADIENT"]}
