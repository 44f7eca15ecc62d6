"""`Told`: the step of a real thing, which is not computed but measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError
from passivo.method.base import Laws, Method, refuse_relations
from passivo.model.handle import Handle

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *


def advance(m, h):
    """Go where the signals say; the held force did F·Δx, and that much more energy is stored.

    Where the device dropped the force before the end, what it did is not known: it counts at worst.
    """
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    received = 0.0
    for k in range(WIDTH):
        move = m[INPUT + WIDTH + k] - m[STATE + k]
        work = m[INPUT + k] * move
        if m[INPUT + 2 * WIDTH] > 0.0:
            work = m[INPUT + 2 * WIDTH + 1] if k == 0 else 0.0
        m[STEP + k] = move
        m[STEP + WIDTH + k] = move / h - m[STATE + WIDTH + k]
        m[WORK + k] += work
        m[MEAN + k] += move
        received += work
    m[STEP + 2 * WIDTH] = received
    m[GRADIENT + 2 * WIDTH] = 1.0
    return commit(m)


@dataclass(frozen=True)
class Told(Method):
    """A `Handle` is where its sensors say it is: nothing is computed, the work of a hold is F·Δx exactly."""

    order: ClassVar = 1
    preserves: ClassVar = ("energy",)
    applies: ClassVar = "the handle of a device"
    nodes: ClassVar = (1.0,)
    kernels: ClassVar = (advance,)

    def for_model(self, model: Model) -> Told:
        if not isinstance(model, Handle):
            raise MethodError(f"Told steps the handle of a device, not {model.name!r}; take pv.AVF()")
        return self

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        refuse_relations(self, laws)
        return {}
