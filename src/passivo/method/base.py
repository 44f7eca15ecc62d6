"""What a method is: a small frozen dataclass that states its order and what it preserves, and writes its leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import MethodError

if TYPE_CHECKING:
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model


@dataclass(frozen=True)
class Method(ABC):
    """Base of all methods.

    order      measured by `make verify`; where an option decides it, a property of the method
    preserves  what holds step by step, and is measured too:
               "energy"            created is 0 for every energy, structure, loss, input and step
               "quadratic energy"  the same where the energy is quadratic
               "convex passivity"  created <= 0 where the energy is convex
               "symplectic"        the flow of a closed lossless canonical system is symplectic
               "constraints"       they hold to rounding after every step
               "rates"             so do their rates, ∂H/∂p·∂g/∂r = 0
               "booked energy"     whatever a step creates stands in the method's own book
    applies    the systems it takes, in a few words; `for_model` and `write` refuse the others
    nodes      where in the step the inputs are read, as shares of it
    counters   names of the faults it counts; a section of the memory holds the counts, `part.faults` shows them
    allowance_share  of the largest (height above the minimum − created), which it may create and still be "booked"
    works_at_start  the work of a step is h y'u with the output y at its start
    needs_energy    it steps by the energy, and not laws of which none is known
    domain          in words, where it can step at all; empty: wherever the model can
    strokes         (share of the step, kind) of each stroke, for methods that step by these (`method/strokes.py`)
    certifies       a step can say what its balance rests on: `run.certificate`
    symmetric       a step of −h undoes a step of h; with strokes and order 2, a `Composition` can be made of it
    composes        the highest order that a `Composition` of it can have
    keeps_constraints  it steps models with constraints (spec 3), and no others
    adds            in words, what it steps that the model does not state: no other method solves the same problem
    """

    order: ClassVar[int]
    preserves: ClassVar[tuple[str, ...]] = ()
    applies: ClassVar[str] = "every system"
    nodes: ClassVar[tuple[float, ...]] = (0.5,)
    kernels: ClassVar[tuple[Callable, ...]] = ()
    keeps_book: ClassVar[bool] = False
    works_at_start: ClassVar[Any] = False
    needs_energy: ClassVar[bool] = False
    domain: ClassVar[str] = ""
    adds: ClassVar[str] = ""
    keeps_constraints: ClassVar[bool] = False
    counters: ClassVar[tuple[str, ...]] = ()
    allowance_share: ClassVar[float] = 0.0
    strokes: ClassVar[Any] = ()
    symmetric: ClassVar[bool] = False
    composes: ClassVar[int] = 6
    certifies: ClassVar[bool] = False

    def describe(self) -> dict[str, Any]:
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        told = {key: value.describe() if isinstance(value, Method) else value for key, value in options.items()}
        return {"kind": type(self).__name__, **told}

    def nested(self) -> list[Method]:
        """The method and all methods it is made of."""
        inner = [value for option in fields(self) if isinstance(value := getattr(self, option.name), Method)]
        return [self, *(each for method in inner for each in method.nested())]

    def for_model(self, model: Model) -> Method:
        """The method with everything filled in that it takes from the model; raises where it does not apply."""
        return self

    def form_of(self, model: Model) -> Form:
        """The form that code is generated from: the model's own, unless the method has to fill something in."""
        return model.form

    def recorded(self, model: Model) -> tuple[str, ...]:
        """Quantities of its own that a run records, each a mean over the step, or over the steps
        between two rows that are kept; RECORDED holds their integrals."""
        return model.recorded

    def world_options(self) -> dict[str, int]:
        """How it steps a world, as the table of one has it (`world/table.py`)."""
        raise MethodError(
            f"{type(self).__name__} steps systems of formulas, not worlds; take pv.PassiveMidpoint(), "
            "or SymplecticEuler() or ImplicitEuler() to compare with"
        )

    def kernels_for(self, form: Form) -> tuple[Callable, ...]:
        """The kernels of a module: `kernels`, and those that depend on options or on the energy."""
        return self.kernels

    @abstractmethod
    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        """Write the method's leaves; return the constants its kernels need."""


@dataclass(frozen=True)
class Laws:
    """Feedback and relations of a form's inputs, as SymPy formulas in its gradient symbols.

    feedback   input symbol -> formula
    unknown    input symbols that are unknowns of the step
    relations  their equations ρ(y, u) = 0
    relate     the same equations with other outputs y put in, such as means over a step
    """

    feedback: Mapping[Any, Any]
    unknown: tuple[Any, ...]
    relations: tuple[Any, ...]
    relate: Callable[[Sequence[Any]], list[Any]]

    def put(self, formula: Any, values: Mapping[Any, Any]) -> Any:
        """A formula with the feedback and then `values` put in."""
        return formula.xreplace(dict(self.feedback)).xreplace(dict(values))

    def used(
        self, form: Form, layout: Layout, values: Mapping[Any, Any], section: str = "USED", skip: int = 0
    ) -> list[tuple[str, Any]]:
        """Where the inputs that follow from these laws are kept, `skip` numbers into a section, and what they are."""
        start = layout.sections[section] + skip
        ruled = {*self.feedback, *self.unknown}
        found = [(k, self.feedback.get(u, u)) for k, u in enumerate(form.inputs) if u in ruled]
        return [(f"m[{start + k}]", self.put(value, values)) for k, value in found]

    def slots(self, layout: Layout, constants: Mapping[str, Any]) -> dict[Any, str]:
        """Where the unknown inputs live: after the solved states."""
        start = layout.sections["UNKNOWN"] + constants["SOLVED_COUNT"]
        return {symbol: f"m[{start + i}]" for i, symbol in enumerate(self.unknown)}


def laws_of(form: Form, ports: Mapping[str, tuple[int, int]], given: Mapping[str, tuple[str, tuple[str, ...]]]) -> Laws:
    """Read traced laws; `ports` gives offset and width of each port, `given` kind and formulas for some of them."""
    from passivo.model.feedback import read

    feedback: dict[Any, Any] = {}
    implicit: list[tuple[str, tuple[str, ...], int, int]] = []
    for port, (kind, texts) in given.items():
        offset, width = ports[port]
        u, y = form.inputs[offset : offset + width], form.output[offset : offset + width]
        values = read(texts, y, u)
        if kind == "Feedback" and not any(value.free_symbols & set(form.inputs) for value in values):
            feedback.update(zip(u, values))
        else:  # feedback over a port with feedthrough is a relation too: its output depends on the input
            implicit.append((kind, texts, offset, width))
    unknown = tuple(u for _, _, at, width in implicit for u in form.inputs[at : at + width])

    def relate(output: Sequence[Any]) -> list[Any]:
        rows: list[Any] = []
        for kind, texts, at, width in implicit:
            u = form.inputs[at : at + width]
            values = read(texts, output[at : at + width], u)
            rows += values if kind == "Relation" else [a - b for a, b in zip(u, values)]
        return rows

    return Laws(feedback, unknown, tuple(relate(form.output)), relate)


def refuse_relations(method: Method, laws: Laws) -> None:
    if laws.unknown:
        raise MethodError(
            f"{type(method).__name__} has no equation to solve a Relation in; "
            "use AVF, ImplicitMidpoint or another implicit method"
        )
