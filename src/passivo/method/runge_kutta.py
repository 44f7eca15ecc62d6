"""Explicit Runge–Kutta methods: work and loss are the quadrature over their own stages (design section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.method.base import Laws, Method, refuse_relations
from passivo.method.one_stage import write_weigh

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.provided import *


def advance(m, h):
    """STAGES evaluations; STEP = h Σ b_i k_i, GRADIENT = Σ b_i g_i."""
    for i in range(STATES):
        m[STEP + i] = 0.0
        m[MEAN_GRADIENT + i] = 0.0
    for s in range(STAGES):
        for k in range(WIDTH + SIGNALS):
            m[USED + k] = m[INPUT + s * (WIDTH + SIGNALS) + k]
        for i in range(STATES):
            x = m[STATE + i]
            for j in range(s):
                x += h * TABLEAU[s * STAGES + j] * m[SLOPES + j * STATES + i]
            m[POINT + i] = x
        stage(m)
        weigh(m, h * STAGE_WEIGHTS[s])
        for i in range(STATES):
            m[SLOPES + s * STATES + i] = m[SLOPE + i]
            m[STEP + i] += h * STAGE_WEIGHTS[s] * m[SLOPE + i]
            m[MEAN_GRADIENT + i] += STAGE_WEIGHTS[s] * m[GRADIENT + i]
    for i in range(STATES):
        m[GRADIENT + i] = m[MEAN_GRADIENT + i]
    return commit(m)


@dataclass(frozen=True)
class RungeKutta(Method):
    """Base: `tableau` is the strictly lower triangle a_ij, `weights` b_i, `nodes` c_i."""

    tableau: ClassVar[tuple[tuple[float, ...], ...]]
    weights: ClassVar[tuple[float, ...]]
    applies: ClassVar = "all but a Relation"
    kernels: ClassVar = (advance,)

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        from passivo.kernel.leaves import gradient_at, input_slots

        refuse_relations(self, laws)
        n, s = len(form.states), len(self.nodes)
        for name, size in (("POINT", n), ("SLOPE", n), ("SLOPES", n * s), ("MEAN_GRADIENT", n)):
            layout.take(name, size)
        at = layout.sections
        gradient = gradient_at(form, form.states)
        slots = {**layout.slots("POINT", form.states), **input_slots(form, layout)}
        outputs = [(f"m[{at['GRADIENT'] + i}]", g) for i, g in enumerate(gradient.values())]
        outputs += [(f"m[{at['SLOPE'] + i}]", laws.put(f, gradient)) for i, f in enumerate(form.flow)]
        outputs += laws.used(form, layout, gradient)
        source.leaf("stage", "m", slots, outputs, note="Gradient and slope at POINT.")
        write_weigh(source, layout, form, slots, {}, {})
        flat = tuple(row[j] if j < len(row) else 0.0 for row in self.tableau for j in range(s))
        return {"TABLEAU": flat, "STAGE_WEIGHTS": self.weights}


@dataclass(frozen=True)
class Heun(RungeKutta):
    """Heun's method (improved Euler), two stages."""

    order: ClassVar = 2
    nodes: ClassVar = (0.0, 1.0)
    tableau: ClassVar = ((), (1.0,))
    weights: ClassVar = (0.5, 0.5)


@dataclass(frozen=True)
class RK4(RungeKutta):
    """The classical Runge–Kutta method, four stages."""

    order: ClassVar = 4
    nodes: ClassVar = (0.0, 0.5, 0.5, 1.0)
    tableau: ClassVar = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
    weights: ClassVar = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
