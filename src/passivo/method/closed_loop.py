"""The average vector field of the closed loop: `X − x = h ∫ f(x + τ(X − x)) dτ`, f with its feedback put in (spec 2.8).

The "AVF" curve of Celledoni's figures. With J, R, G constant and no feedback its states are those of AVF.
Work and loss are averages of the same kind, and the mean of a product is not the product of the means: the
balance is exact only where J and G are constant and no loss or feedback acts. Otherwise its energy error
is of order h², even if H is quadratic; a constant R creates `h ∫ (g − ḡ)'R (g − ḡ) dτ >= 0` in every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.kernel import newton
from passivo.method.base import Laws, Method, refuse_relations
from passivo.method.one_stage import advance

if TYPE_CHECKING:
    from passivo.kernel.provided import *  # noqa: F403
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form


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
    kernels: ClassVar = (*newton.KERNELS, advance, weigh)

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        import sympy as sp

        from passivo.kernel.equation import Equation, write_equation
        from passivo.kernel.leaves import gradient_at, input_slots
        from passivo.kernel.slopes import Ends

        refuse_relations(self, laws)
        ends, h = Ends.of(form.states), sp.Symbol("h#", real=True)
        gradient = gradient_at(form, form.states)
        put = lambda f: f.xreplace(dict(laws.feedback)).xreplace(gradient)  # noqa: E731
        means = {sp.Symbol(f"mean#{i}", real=True): put(f) for i, f in enumerate(form.flow)}
        equation = Equation(ends=ends, h=h, increments=[h * s for s in means], through={}, averages=means, nodes=8)
        slots = {**layout.slots("STATE", ends.a), **layout.slots("STEP", ends.d), **input_slots(form, layout)}
        constants = write_equation(source, layout, equation, slots)

        at = layout.sections
        tau, weight = sp.Symbol("tau#", real=True), sp.Symbol("weight#", real=True)
        point = dict(zip(form.states, (a + tau * d for a, d in zip(ends.a, ends.d))))
        slots.update({h: "h", tau: "tau", weight: "weight"})
        outputs = [(f"m[{at['GRADIENT'] + i}] +=", weight * g) for i, g in enumerate(gradient.values())]
        used = []
        for k, (y, u) in enumerate(zip(form.output, form.inputs)):
            outputs.append((f"m[{at['WORK'] + k}] +=", h * weight * put(y * u)))
            outputs.append((f"m[{at['MEAN'] + k}] +=", h * weight * put(y)))
            if u in laws.feedback:
                used.append((f"m[{at['USED'] + k}]", put(laws.feedback[u])))
        for r, row in enumerate(form.rows):
            outputs.append((f"m[{at['LOST'] + r}] +=", h * weight * put(row.lost)))
            outputs.append((f"m[{at['RECEIVED'] + r}] +=", h * weight * put(row.received)))
        source.leaf("weigh_node", "m, h, tau, weight", slots, outputs, point)
        middle = dict(zip(form.states, (a + d / 2 for a, d in zip(ends.a, ends.d))))
        source.leaf("gather", "m, h", slots, used, middle, note="The feedback at the middle of the step, for the record.")
        return constants
