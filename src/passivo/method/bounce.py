"""`ExactBounce`: a mass in free flight over a rigid floor, with exact flight and exact impact times.

`q' = v`, `m v' = u − w` with the weight w and the input u held, q >= 0. Between impacts the path is a parabola; at an
impact v becomes −e v, and (1 − e²) m v²/2 is lost. Impacts that come ever faster end in rest (their energy is lost).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError
from passivo.method.base import Laws, Method, refuse_relations

if TYPE_CHECKING:
    from math import inf, sqrt

    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *

MOST_IMPACTS = 1000  # in one step, after which the mass is at rest
BRIEFEST = 1e-6  # of a step: a shorter hop is none


def advance(m, h):
    """Flights and impacts until the end of the step."""
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    flight(m)
    q = m[STATE + PLACE_STATE]
    v = m[STATE + MOMENTUM_STATE] * m[MOBILITY]
    a = m[PUSH]
    rest = h
    lost = 0.0
    for impact in range(MOST_IMPACTS):
        if q <= 0.0 and v == 0.0 and a < 0.0:  # at rest, carried by the floor
            a = 0.0
            break
        time = fall(q, v, a)
        if time >= rest:
            break
        speed = v + a * time  # at the floor, downwards
        v = -RESTITUTION * speed
        lost += 0.5 * (1.0 - RESTITUTION * RESTITUTION) * speed * speed / m[MOBILITY]
        q = 0.0
        rest -= time
        if a < 0.0 and (-2.0 * v / a < BRIEFEST * h or impact == MOST_IMPACTS - 1):
            lost += 0.5 * v * v / m[MOBILITY]
            v = 0.0
            a = 0.0
            break
    q = max(q + rest * (v + 0.5 * a * rest), 0.0)
    v += a * rest
    m[STEP + PLACE_STATE] = q - m[STATE + PLACE_STATE]
    m[STEP + MOMENTUM_STATE] = v / m[MOBILITY] - m[STATE + MOMENTUM_STATE]
    for i in range(STATES):
        m[NEXT + i] = m[STATE + i] + m[STEP + i]
    end_gradient(m)
    for i in range(STATES):
        m[GRADIENT + i] = m[END_GRADIENT + i]
    for k in range(WIDTH):
        m[MEAN + k] += REACH[k] * m[STEP + PLACE_STATE]
        m[WORK + k] += REACH[k] * m[STEP + PLACE_STATE] * m[USED + k]
    m[LOST] += lost
    return commit(m)


def fall(q, v, a):
    """When a parabola from q >= 0 reaches the floor from above; inf where it does not."""
    if q <= 0.0 and v < 0.0:
        return 0.0
    inside = v * v - 2.0 * a * q
    if a < 0.0:
        return -(v + sqrt(inside)) / a
    if v >= 0.0 or inside < 0.0:
        return inf
    return 2.0 * q / (-v + sqrt(inside))


@dataclass(frozen=True)
class ExactBounce(Method):
    """Exact flight under held forces, and exact impacts on a rigid floor at q = 0.

    restitution  speed after an impact over speed before, from 0 to 1
    """

    restitution: float = 1.0

    order: ClassVar = 2  # in the instants of inputs that vary; exact where they are held
    preserves: ClassVar = ("energy",)
    applies: ClassVar = "a mass over a floor"
    adds: ClassVar = "a floor"
    nodes: ClassVar = (0.0,)
    kernels: ClassVar = (fall, advance)
    needs_energy: ClassVar = True

    def for_model(self, model: Model) -> Method:
        if not isinstance(self.restitution, int | float) or not 0.0 <= self.restitution <= 1.0:
            raise MethodError(f"ExactBounce's restitution is a number from 0 to 1, not {self.restitution!r}")
        if len(model.states) != 2 or len(model.positions) != 1:
            raise MethodError(f"ExactBounce steps one mass with one position, not {model.name!r}; see bouncing_mass")
        return self

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        import sympy as sp

        from passivo.kernel.leaves import gradient_at, input_slots

        refuse_relations(self, laws)
        if laws.feedback:
            raise MethodError("ExactBounce holds its inputs; give a Held function instead of a Feedback")
        h, rate = form.energy, form.flow
        q, p = form.states if sp.diff(h, form.states[0], 2) == 0 else form.states[::-1]
        weight, mobility = sp.diff(h, q), sp.diff(h, p, 2)
        place, momentum = form.states.index(q), form.states.index(p)
        slopes = gradient_at(form, form.states)
        v = slopes[form.gradient[momentum]]
        flat = {q, p} & (weight.free_symbols | mobility.free_symbols)
        motion = sp.simplify(rate[place].xreplace(slopes) - v) == 0 and v.subs(p, 0) == 0
        force = rate[momentum].xreplace(slopes) + weight
        reach = [sp.diff(force, u) for u in form.inputs]
        plain = (
            all(c in (-1, 0, 1) for c in reach)
            and sp.expand(force - sum(c * u for c, u in zip(reach, form.inputs))) == 0
        )
        if flat or not motion or not plain or len(form.rows) > 1:
            raise MethodError(
                "ExactBounce steps `q' = p/m`, `p' = u − w` with H = p²/(2 m) + w q, without loss; "
                "see passivo.library.bouncing_mass"
            )
        for name in ("MOBILITY", "PUSH"):
            layout.take(name, 1)
        at = layout.sections
        outputs = [(f"m[{at['MOBILITY']}]", mobility), (f"m[{at['PUSH']}]", (force - weight) * mobility)]
        source.leaf("flight", "m", input_slots(form, layout), outputs, note="Mobility 1/m and acceleration.")
        return {
            "PLACE_STATE": place,
            "MOMENTUM_STATE": momentum,
            "RESTITUTION": float(self.restitution),
            "REACH": tuple(float(c) for c in reach) or (0.0,),
        }
