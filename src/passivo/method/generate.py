"""From a model and a method to a generated module: the one place where everything meets that shapes machine code."""

from __future__ import annotations

import inspect
import sys
import uuid
from abc import ABC
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from passivo.errors import InputError, nearest
from passivo.kernel import adapt, cache, tick
from passivo.ledger import accounts as A
from passivo.method import banded_lay
from passivo.method.base import Method, laws_of
from passivo.model.feedback import Feedback, Law
from passivo.model.sparse import SparseLinear
from passivo.model.system import Model

if TYPE_CHECKING:
    from passivo.kernel.module import Piece

Engine = Literal["numba", "python", "cuda"]


def traced(model: Model, laws: Mapping[str, Law]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Laws as kind and formulas, ports checked."""
    result = {}
    for port, law in laws.items():
        if port not in model.ports:
            raise InputError(f"there is no port {port!r}; {nearest(port, model.ports)}")
        kind = "Feedback" if isinstance(law, Feedback) else "Relation"
        result[port] = (kind, law.formulas(model.ports[port].width))
    return result


def generate(model: Model, method: Method, laws: Mapping[str, Law], engine: Engine) -> ModuleType:
    """The generated module of a model and a method. A hit in the cache needs no SymPy."""
    formulas = traced(model, laws)
    return cache.load(_key(model, method, formulas, engine), lambda: source_text(model, method, formulas, engine))


def missing(model: Model, method: Method, laws: Mapping[str, Law], engine: Engine) -> bool:
    """Whether the module is not in the cache yet and can be generated from the descriptions alone."""
    key = _key(model, method, traced(model, laws), engine)
    return not key[-1] and not cache.known(key)


def _key(model: Model, method: Method, formulas: Mapping[str, tuple[str, tuple[str, ...]]], engine: Engine) -> list:
    """Everything that shapes the code; last the sources of what is not Passivo's own."""
    description = without_values(model.describe())
    texts = {port: [kind, *parts] for port, (kind, parts) in formulas.items()}
    return ["part", description, method.describe(), texts, engine, foreign_sources(model, method)]


def foreign_sources(model: Model, method: Method) -> list[str]:
    """The sources of what shapes the code and is not Passivo's own."""
    methods = [thing for each in method.nested() for thing in (*type(each).__mro__, *each.kernels)]
    return foreign_texts(*_classes(model), *methods)


def foreign_texts(*things: Any) -> list[str]:
    return [text for thing in things for text in _foreign(thing)]


def _classes(model: Model) -> list[type]:
    """The classes of a model and of all its parts."""
    parts = getattr(model, "parts", {})
    return [*type(model).__mro__, *(cls for part in parts.values() for cls in _classes(part))]


def _foreign(thing: Any) -> list[str]:
    """The source of a class or kernel outside Passivo: an edit of a user's own method must not find the old code."""
    if thing in (object, ABC) or thing.__module__.startswith("passivo."):
        return []
    try:
        return [inspect.getsource(thing)]
    except (OSError, TypeError):  # typed in by hand: never found again
        return [uuid.uuid4().hex]


def without_values(description: dict[str, Any]) -> dict[str, Any]:
    """What shapes the code: parameter names, not their values, and no units."""
    result = dict(description)
    if "params" in result:
        result["params"] = list(result["params"])
    if "parts" in result:
        result["parts"] = {key: without_values(part) for key, part in result["parts"].items()}
    result.pop("units", None)
    result.pop("start", None)
    return result


def source_text(
    model: Model, method: Method, formulas: Mapping[str, tuple[str, tuple[str, ...]]], engine: Engine
) -> str:
    """Derive, generate, assemble: everything that needs SymPy."""
    from passivo.kernel import module

    piece = part_piece(model, method, formulas, engine)
    sizes = module.Piece(module.numbers_of(adapt), (), ())
    entries = tick.ENTRIES if engine == "cuda" else (*tick.ENTRIES, *adapt.ENTRIES)
    return module.assemble(piece.numbers["TITLE"], engine, [shared_piece(), sizes, piece], entries)


def shared_piece() -> Piece:
    """Functions and numbers that are the same for every model and method."""
    from passivo.kernel import functions, module

    return module.Piece(module.numbers_of(A, tick), (), (*functions.KERNELS, A.add, A.exceed, A.show, A.remember))


def part_piece(
    model: Model, method: Method, formulas: Mapping[str, tuple[str, tuple[str, ...]]], engine: Engine, base: int = 0
) -> Piece:
    """A model with a method, its memory from `base` to SIZE."""
    if isinstance(model, SparseLinear):
        return banded_lay.piece_of(model, method, formulas, base, engine)
    if model.steps_apart:
        return model.piece(method, formulas, base, engine)
    from passivo.kernel import module
    from passivo.kernel.leaves import constants, lay_out, write_model
    from passivo.kernel.source import Source

    form, stages = method.form_of(model), len(method.nodes)
    offsets, at = {}, 0
    for name, port in model.ports.items():
        offsets[name] = (at, port.width)
        at += port.width
    laws = laws_of(form, offsets, formulas)
    recorded = len(method.recorded(model))
    layout = lay_out(form, stages, base, recorded)
    layout.take("COUNTERS", len(method.counters))
    source = Source(layout, layout.slots("PARAM", form.params))
    write_model(source, layout, form, laws.feedback)
    numbers: dict[str, Any] = {"TITLE": f"{model.name} by {type(method).__name__}", **constants(form, stages, recorded)}
    numbers.update(method.write(source, layout, form, laws))
    source.finish()
    own = method.kernels_for(form)
    if not any(kernel.__name__ == "ready" for kernel in own):
        source.functions.append("def ready(m):\n    pass")
    if not any(function.startswith("def prove(") for function in source.functions):
        source.functions.append("def prove(m, h):\n    pass")
    sections = {name: start for name, start in layout.sections.items() if not name.startswith("CONSTANT_")}
    numbers.update(sections)
    numbers.update(SIZE=layout.size, KEEPS_BOOK=method.keeps_book)
    fixed = module.numbers_of(*dict.fromkeys(sys.modules[kernel.__module__] for kernel in own))
    assert not fixed.keys() & numbers.keys(), f"a kernel file redefines {fixed.keys() & numbers.keys()}"
    numbers.update(fixed)
    return module.Piece(numbers, source.functions, (A.enter, A.book, *tick.KERNELS, *own))
