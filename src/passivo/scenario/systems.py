"""The systems of a scenario file: from the library, in formulas, or joined from parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_origin, get_type_hints

from pydantic import BeforeValidator, Discriminator, Field, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from passivo.document.reader import shortened
from passivo.document.values import (
    ABSENT,
    MOST_NAMES,
    NEVER,
    Formula,
    Matrix,
    Name,
    Number,
    Positive,
    Section,
    Square,
    refuse_mistyped,
    some,
    tag,
)
from passivo.errors import nearest
from passivo.model import library
from passivo.model.ports import Port, effort, flow
from passivo.model.system import Model

COORDINATES = ("generalised", "maximal")
MOST_PARTICLES = 100  # any whole number a library system takes; a chain of 100 is derived in half a minute


def _port(value: Any) -> Port:
    example = "{effort: [0, 1]} or {flow: [1, 0]}, one entry per state"
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in ("effort", "flow"):
        raise ValueError(f"must be {example}, not {shortened(value)}")
    ((kind, matrix),) = value.items()
    make = effort if kind == "effort" else flow
    if isinstance(matrix, int) and not isinstance(matrix, bool):
        if matrix > MOST_NAMES:
            raise ValueError(f"must be at most {MOST_NAMES} wide, not {matrix}")
        return make(width=matrix)
    if not isinstance(matrix, list) or not matrix or any(isinstance(row, dict) for row in matrix):
        raise ValueError(f"must be {example} (or a width, for a system without states), not {shortened(matrix)}")
    return make(matrix)


_ENTRIES = {
    "anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_NAMES}, some({"type": ["string", "number", "array"]})]
}
PortSpec = Annotated[
    Any,
    BeforeValidator(_port),
    WithJsonSchema(
        {
            "type": "object",
            "description": "takes an effort (force, voltage) and gives the flow, or the other way round",
            "properties": {"effort": _ENTRIES, "flow": _ENTRIES},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        }
    ),
]
UNITS = "name: unit of a state or parameter; port: [unit it takes, unit it gives]"
_TEXT = {"type": "string", "minLength": 1, "maxLength": 40}
_UNIT = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}]}


def _unit(value: Any) -> Any:
    pair = isinstance(value, list) and len(value) == 2
    if not all(isinstance(text, str) for text in (value if pair else [value])):
        example = "text such as m/s ('1' in quotes where there is none), or for a port a pair of texts such as [N, m/s]"
        raise ValueError(f"must be {example}, not {shortened(value)}")
    return value


Units = dict[Name, Annotated[Any, BeforeValidator(_unit), WithJsonSchema(_UNIT)]]


class Expressions(Section):
    """A port-Hamiltonian system in formulas: x' = (J − R) ∇H + G u, as `pv.System`."""

    states: list[Name] = Field(description="names of the states", max_length=MOST_NAMES)
    energy: Formula = Field(description="H in joules, a formula of states and params")
    structure: Matrix | None = Field(None, description="J, skew; rows of formulas")
    loss: Matrix | None = Field(None, description="R, symmetric and >= 0")
    ports: dict[Name, PortSpec] = Field({}, description="name: {effort: column} or {flow: column}")
    params: dict[Name, Number] = Field({}, description="name: value")
    signals: list[Name] = Field([], description="inputs without power")
    feedthrough: Matrix | None = Field(None, description="D over all port components; its symmetric part >= 0")
    minimum: dict[Name, Formula] | None = Field(None, description="the state of least energy; also the default start")
    domain: Formula | None = Field(None, description="a condition such as q > 0")
    positions: list[Name] = Field([], description="the states that are positions, for SymplecticEuler")
    limits: list[Formula] = Field([], description="conditions on params, such as m > 0")
    units: Units = Field({}, description=UNITS)


class MechanicalSystem(Section):
    """A mechanical system: coordinates, a mass matrix and a potential, as `pv.Mechanical`."""

    coordinates: list[Name] = Field(description="names of the coordinates", min_length=1, max_length=MOST_NAMES)
    mass: Square = Field(description="M(q), symmetric and positive definite; a formula where there is one coordinate")
    potential: Formula = Field("0", description="V(q) in joules")
    loss: Square | None = Field(None, description="B(q), symmetric and >= 0, acts on velocities")
    ports: dict[Name, PortSpec] = Field({}, description="name: {effort: column}, one entry per coordinate")
    params: dict[Name, Number] = Field({}, description="name: value")
    momenta: list[Name] | None = Field(None, description="names of the momenta; default q -> p, q1 -> p1")
    minimum: dict[Name, Formula] | None = Field(None, description="the state of least energy; also the default start")
    domain: Formula | None = Field(None, description="a condition such as q > 0")
    limits: list[Formula] = Field([], description="conditions on params, such as l > 0")
    units: Units = Field({}, description=UNITS)


class ConstrainedSystem(Section):
    """A mechanical system with constraints between its positions, as `pv.Constrained`."""

    positions: list[Name] = Field(description="names of the positions", min_length=2, max_length=MOST_NAMES)
    momenta: list[Name] = Field(description="names of the momenta, one per position", max_length=MOST_NAMES)
    energy: Formula = Field(description="H in joules, a formula of positions, momenta and params")
    constraints: dict[Name, Formula] = Field(description="name: a formula of the positions that stays 0", min_length=1)
    ports: dict[Name, PortSpec] = Field({}, description="name: {effort: column}, one entry per position")
    loss: Matrix | None = Field(None, description="B, symmetric and >= 0, acts on velocities")
    params: dict[Name, Number] = Field({}, description="name: value")
    minimum: dict[Name, Formula] | None = Field(None, description="the state of least energy; also the default start")
    domain: Formula | None = Field(None, description="a condition such as x > 0")
    limits: list[Formula] = Field([], description="conditions on params, such as l > 0")
    units: Units = Field({}, description=UNITS)


def _coordinates(value: Any) -> Any:
    for choice in value.values() if isinstance(value, Mapping) else [value]:
        if choice not in COORDINATES:
            mend = f"{nearest(str(choice), COORDINATES)}; or say it of a tree by its root, as in {{torso: maximal}}"
            raise ValueError(f"{shortened(choice)} is not known; {mend}")
    return value


_KIND = {"enum": list(COORDINATES)}
Coordinates = Annotated[
    Any,
    BeforeValidator(_coordinates),
    WithJsonSchema({"anyOf": [_KIND, {"type": "object", "additionalProperties": _KIND}]}),
]


class SceneSystem(Section):
    """A world out of a scene file, as `pv.World.from_file`."""

    scene: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="an .xml (MJCF), .urdf or .yaml file; its path counts from the scenario's folder; scenes/hand.yaml "
        "comes with Passivo"
    )
    coordinates: Coordinates = Field(
        "generalised", description="generalised or maximal: of all, or of trees by the names of their roots"
    )
    contact: bool | None = Field(None, description="whether shapes touch; default: as the file says")
    stiffness: Positive = Field(ABSENT, description="N/m of the joints between bodies")


class Composition(Section):
    """Systems joined port to port and stepped as one, as `pv.Monolithic`."""

    parts: dict[Name, SystemSpec] = Field(description="name: a system", min_length=1, max_length=MOST_NAMES)
    connections: list[Annotated[list[Name], Field(min_length=2, max_length=3)]] = Field(
        [], description="[spring.end, mass.force] or with a name for the connection as third"
    )


class LibrarySystem(Section):
    """A ready-made system; the other keys are its parameters."""

    library: str


def _library_makers() -> dict[str, Callable[..., Model]]:
    makers = {name: getattr(library, name) for name in library.__all__}
    return {name: make for name, make in makers.items() if issubclass(get_type_hints(make)["return"], Model)}


def _library_model(name: str, make: Callable) -> type[Section]:
    """Keys, types and defaults of a library system, from the function that makes it."""
    fields: dict[str, Any] = {"library": (Literal[name], Field(description=inspect.cleandoc(make.__doc__ or name)))}
    hints = get_type_hints(make)
    for key, parameter in inspect.signature(make).parameters.items():
        kind = hints[key]
        if kind is float:
            kind = Number
        elif kind is int:
            kind = Annotated[int, Field(le=MOST_PARTICLES)]
        elif get_origin(kind) is Sequence or "Sequence" in str(kind):
            kind = Annotated[list[Name], Field(max_length=MOST_NAMES)]
        default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        fields[key] = (kind, default)
    return create_model(f"library_{name}", __base__=LibrarySystem, **fields)


LIBRARY = _library_makers()
_LIBRARY_MODELS = {name: _library_model(name, make) for name, make in LIBRARY.items()}


def _library_name(value: Any) -> Any:
    """`system: oscillator` is short for `system: {library: oscillator}`."""
    if not isinstance(value, str):
        raise ValueError(f"must be the name of a library system or a mapping, not {shortened(value)}")
    if value not in LIBRARY:
        raise ValueError(f"the library has no system {shortened(value)}; {nearest(value, LIBRARY)}")
    return _LIBRARY_MODELS[value].model_validate({"library": value})


def _kind_of_system(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "<short>"
    if "library" in value:
        known = isinstance(value["library"], str) and value["library"] in LIBRARY
        return f"<{value['library']}>" if known else "<unknown>"
    return next((f"<{kind}>" for key, kind in _KEYS.items() if key in value), "<unclear>")


def _unknown_library(value: Any) -> Any:
    given = value["library"]
    what = f"the library has no system {shortened(given)}; {nearest(str(given), LIBRARY)}"
    raise PydanticCustomError("unknown", "{what}", {"what": what, "key": "library"})


def _unclear(value: Any) -> Any:
    keys = ("library", *_KEYS)
    refuse_mistyped(value, keys)
    raise ValueError(f"a system needs one of the keys {', '.join(keys)}; {shortened(dict(value))} has none of them")


_KEYS = {
    "scene": "scene", "parts": "composition", "coordinates": "mechanical", "constraints": "constrained",
    "states": "expressions", "energy": "expressions",
}  # fmt: skip
SystemSpec = Annotated[
    Union[
        Annotated[Any, BeforeValidator(_library_name), WithJsonSchema({"enum": list(LIBRARY)}), tag("short")],
        Annotated[Expressions, tag("expressions")],
        Annotated[MechanicalSystem, tag("mechanical")],
        Annotated[ConstrainedSystem, tag("constrained")],
        Annotated[Composition, tag("composition")],
        Annotated[SceneSystem, tag("scene")],
        *(Annotated[model, tag(name)] for name, model in _LIBRARY_MODELS.items()),
        Annotated[Any, BeforeValidator(_unknown_library), NEVER, tag("unknown")],
        Annotated[Any, BeforeValidator(_unclear), NEVER, tag("unclear")],
    ],
    Discriminator(_kind_of_system),
]
Composition.model_rebuild()
