"""Methods and junctions of a scenario file: by name, or by name and options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from passivo.document.reader import shortened
from passivo.document.values import Described, explain
from passivo.errors import ScenarioError, nearest
from passivo.method.base import Method
from passivo.method.catalogue import METHODS
from passivo.network.catalogue import JUNCTIONS
from passivo.network.junction import Junction


def method_of(value: Any) -> Method:
    return _chosen(value, METHODS, "method", "AVF, or {name: SymplecticEuler, variant: q}")


def methods_of(values: Sequence[Any], place: str) -> list[Method]:
    """Methods as an option lists them; one that is named twice counts once."""
    if not values:
        raise ScenarioError(f"{place} takes all, or names such as AVF,RK4")
    try:
        return list(dict.fromkeys(map(method_of, values)))
    except (ValueError, PydanticCustomError) as error:
        raise ScenarioError(f"{place}: {error}") from None


def junction_of(value: Any) -> Junction:
    return _chosen(value, JUNCTIONS, "junction", "Direct, or {name: LedgerClamp, mass: 0.1}")


def _chosen(value: Any, kinds: Mapping[str, Any], what: str, example: str) -> Any:
    """A method or junction by its name, or by its name and options."""
    options = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ValueError(f"must be a name such as {example}, not {shortened(value)}")
    if "(" in name:
        raise ValueError(f"there is no {what} {shortened(name)}; options stand beside the name, as in {example}")
    if name not in kinds:
        raise ValueError(f"there is no {what} {shortened(name)}; {nearest(name, kinds)}")
    kind = kinds[name]
    known = [option.name for option in dataclasses.fields(kind) if option.init]
    for key in options:
        if key not in known:
            choice = nearest(str(key), known) if known else "it has none"
            raise ValueError(f"{name} has no option {shortened(key)}; {choice}")
    options = {key: _inner(key, value) if key in _methods_in(kind) else value for key, value in options.items()}
    try:
        return TypeAdapter(kind).validate_python(options)
    except ValidationError as error:
        first = error.errors()[0]
        place = f"{name}'s option {first['loc'][0]!r}: " if first["loc"] else ""
        raise ValueError(f"{place}{explain(first)}") from None


def _methods_in(kind: type) -> list[str]:
    """The options of a method that are methods themselves."""
    return [option.name for option in dataclasses.fields(kind) if option.type in ("Method", Method)]


def _inner(key: str, value: Any) -> Method:
    """The method in an option of another; whatever is wrong with it has its own place."""
    try:
        return method_of(value)
    except PydanticCustomError as error:
        what, inner = str(error), (error.context or {})["key"]
    except ValueError as error:
        what, inner = str(error), ()
    raise PydanticCustomError("unknown", "{what}", {"what": what, "key": (key, *inner)})


def _choices(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of a choice by name, or by name and options."""
    shapes = []
    for name, kind in kinds.items():
        shape = TypeAdapter(kind).json_schema()
        inner = {key: {"type": ["string", "object"], "description": "a method"} for key in _methods_in(kind)}
        properties = {"name": {"const": name}, **shape.get("properties", {}), **inner}
        about = inspect.getdoc(kind) or name
        shapes.append(
            {"type": "object", "description": about, "properties": properties, "required": ["name"],
             "additionalProperties": False}
        )  # fmt: skip
    return {"anyOf": [{"enum": list(kinds)}, *shapes]}


MethodSpec = Annotated[Any, BeforeValidator(method_of), Described(lambda: _choices(METHODS))]
JunctionSpec = Annotated[Any, BeforeValidator(junction_of), Described(lambda: _choices(JUNCTIONS))]
