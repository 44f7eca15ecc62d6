"""What may stand in a scenario file, as pydantic models; from them come the checks and the JSON schema for editors.

`python -m passivo.scenario.schema` prints that schema; `scenario.schema.json` beside this file is a copy of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from passivo.errors import nearest, quoted
from passivo.method.base import Method
from passivo.method.catalogue import METHODS
from passivo.model import library
from passivo.model.expression import evaluate, is_condition, names, size, to_text
from passivo.model.ports import Port, effort, flow
from passivo.model.system import Model
from passivo.network.catalogue import JUNCTIONS
from passivo.network.junction import Junction
from passivo.scenario.reader import shortened

MOST_PARTICLES = 100  # any whole number a library system takes; a chain of 100 is derived in half a minute
MOST_NAMES = 200  # states, coordinates, parts
MOST_NODES = 2000  # numbers, names and operations of one formula: several pages
MOST_NOISE = 1e100  # squares of it can still be summed
FORMATS = ("png", "svg", "pdf", "zarr", "csv")


_ABSENT: Any = None  # a key that may be left out, but not be null


class Section(BaseModel):
    """A mapping with known keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise PydanticCustomError("mapping", "must be keys with values, not {given}", {"given": shortened(data)})
        for key in data:
            if key not in cls.model_fields:
                what = f"there is no key {shortened(key)} here; {nearest(str(key), cls.model_fields)}"
                raise PydanticCustomError("unknown", "{what}", {"what": what, "key": key})
        return data


# -- values -----------------------------------------------------------------------------------------------------------


def _formula(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a number or a formula such as k*q**2/2, not {shortened(value)}")
    return _short(to_text(value))


def _short(text: str) -> str:
    if (nodes := size(text)) > MOST_NODES:
        raise ValueError(f"{quoted(text)} has {nodes} numbers, names and operations; at most {MOST_NODES} are allowed")
    return text


def _number(value: Any) -> Any:
    """Numbers may be written as formulas without names: 2*pi."""
    if isinstance(value, str):
        if re.fullmatch(r"[-+]?\.(inf|nan)", value, re.IGNORECASE):  # as YAML writes them
            raise ValueError(f"must be a finite number, not {shortened(value)}")
        text = _short(to_text(value))
        if is_condition(text):
            raise ValueError(f"must be a number, not the condition {quoted(text)}")
        if unknown := sorted(names(text)):
            raise ValueError(f"must be a number, not {shortened(value)} ({shortened(unknown[0])} has no value here)")
        return float(evaluate(text, {}))
    return value


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


def _method(value: Any) -> Method:
    return _chosen(value, METHODS, "method", "AVF, or {name: SymplecticEuler, variant: q}")


def _junction(value: Any) -> Junction:
    return _chosen(value, JUNCTIONS, "junction", "Direct, or {name: LedgerClamp, mass: 0.1}")


def _chosen(value: Any, kinds: Mapping[str, Any], what: str, example: str) -> Any:
    """A method or junction by its name, or by its name and options."""
    options = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise ValueError(f"must be a name such as {example}, not {shortened(value)}")
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
        return _method(value)
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


@dataclasses.dataclass(frozen=True)
class Described:
    """As `WithJsonSchema`, but worked out only where the schema is asked for: a run needs none."""

    schema: Callable[[], dict[str, Any]]

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Any]:
        return self.schema()


FORMULA = {"type": ["string", "number"], "description": "a number, or a formula: + - * / ** and sin, cos, exp, ..."}
Formula = Annotated[str, BeforeValidator(_formula), WithJsonSchema(FORMULA)]
NUMBER = {"type": ["number", "string"], "description": "a number; 2*pi and the like are computed"}
Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False), WithJsonSchema(NUMBER)]
Positive = Annotated[Number, Field(gt=0), WithJsonSchema({**NUMBER, "exclusiveMinimum": 0})]


def _some(items: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1}


def _listed(value: Any) -> Any:
    """A single value stands for a list of one."""
    return value if isinstance(value, list) else [value]


Name = Annotated[str, Field(min_length=1, max_length=100)]
Matrix = list[list[Formula]]
Square = Annotated[
    Matrix,
    BeforeValidator(lambda value: value if isinstance(value, list) else [[value]]),
    WithJsonSchema({"anyOf": [FORMULA, _some(_some(FORMULA))]}),
]
_ENTRIES = {
    "anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_NAMES}, _some({"type": ["string", "number", "array"]})]
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
MethodSpec = Annotated[Any, BeforeValidator(_method), Described(lambda: _choices(METHODS))]
JunctionSpec = Annotated[Any, BeforeValidator(_junction), Described(lambda: _choices(JUNCTIONS))]


# -- systems ----------------------------------------------------------------------------------------------------------


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


def _tag(name: str) -> Tag:
    """The tag of a choice: pydantic puts it into locations, so it must not look like a key of a file."""
    return Tag(f"<{name}>")


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


def _mistyped(value: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Refuse the first key that looks like a known one."""
    for key in value:
        if (hint := nearest(str(key), keys)).startswith("did you mean"):
            what = f"there is no key {shortened(key)} here; {hint}"
            raise PydanticCustomError("unknown", "{what}", {"what": what, "key": key})


def _unclear(value: Any) -> Any:
    keys = ("library", *_KEYS)
    _mistyped(value, keys)
    raise ValueError(f"a system needs one of the keys {', '.join(keys)}; {shortened(dict(value))} has none of them")


_KEYS = {
    "parts": "composition", "coordinates": "mechanical", "constraints": "constrained", "states": "expressions",
    "energy": "expressions",
}  # fmt: skip
_NEVER = WithJsonSchema({"not": {}})
SystemSpec = Annotated[
    Union[
        Annotated[Any, BeforeValidator(_library_name), WithJsonSchema({"enum": list(LIBRARY)}), _tag("short")],
        Annotated[Expressions, _tag("expressions")],
        Annotated[MechanicalSystem, _tag("mechanical")],
        Annotated[ConstrainedSystem, _tag("constrained")],
        Annotated[Composition, _tag("composition")],
        *(Annotated[model, _tag(name)] for name, model in _LIBRARY_MODELS.items()),
        Annotated[Any, BeforeValidator(_unknown_library), _NEVER, _tag("unknown")],
        Annotated[Any, BeforeValidator(_unclear), _NEVER, _tag("unclear")],
    ],
    Discriminator(_kind_of_system),
]
Composition.model_rebuild()


class PartSpec(Section):
    """A part of a network: a system with a method and a step of its own."""

    system: SystemSpec = Field(description="the name of a library system, or a system in formulas, or parts")
    method: MethodSpec = Field(_ABSENT, description="a method, by name; a system without states needs none")
    step: Positive = Field(description="seconds")


class ConnectionSpec(Section):
    """An effort port and a flow port, and what stands between them."""

    between: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(description="[spring.end, mass.force]")
    through: JunctionSpec = Field(default_factory=JUNCTIONS["Direct"], description="a junction, by name")
    name: Name = Field(_ABSENT, description="names its row of the ledger")


class SightSpec(Section):
    """What a signal shows: scale * value + offset."""

    of: Name = Field(description="a state or a port one wide, as in device.q")
    scale: Number = Field(1.0, description="the value is multiplied by it")
    offset: Number = Field(0.0, description="and this is added")
    resolution: Annotated[Number, Field(ge=0)] = Field(0.0, description="the value is seen in whole multiples of it")
    through: Name = Field(_ABSENT, description="a connection that samples a device: the value as its sensor sees it")


def _sight(value: Any) -> Any:
    """`wall.depth: device.q` is short for `wall.depth: {of: device.q}`."""
    return {"of": value} if isinstance(value, str) else value


Sight = Annotated[
    SightSpec,
    BeforeValidator(_sight),
    Described(lambda: {"anyOf": [{"type": "string", "minLength": 1}, SightSpec.model_json_schema()]}),
]


class NetworkSpec(Section):
    """Parts that step at their own rates, joined through junctions, as `pv.Network`."""

    parts: dict[Name, PartSpec] = Field(description="name: a part", min_length=1, max_length=MOST_NAMES)
    connections: list[ConnectionSpec] = Field([], description="which ports meet, and through what")
    observe: dict[Name, Sight] = Field({}, description="signal: the state or port it shows, as in wall.depth: device.q")


# -- inputs, run, outputs ---------------------------------------------------------------------------------------------

FormulaOrList = Annotated[
    list[Formula],
    Field(min_length=1),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [FORMULA, _some(FORMULA)]}),
]


_SIZE = {**NUMBER, "minimum": 0, "maximum": MOST_NOISE}
Sizes = Annotated[
    list[Annotated[Number, Field(ge=0, le=MOST_NOISE)]],
    Field(min_length=1),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_SIZE, _some(_SIZE)]}),
]


class FeedbackInput(Section):
    """u = φ(y), solved inside the step with the port's own output."""

    feedback: FormulaOrList = Field(description="a formula of y; for a wide port a list of formulas of y0, y1, ...")


class RelationInput(Section):
    """ρ(y, u) = 0, solved inside the step with u as a further unknown."""

    relation: FormulaOrList = Field(description="a formula of y and u; for a wide port a list, of y0, u0, ...")


class NoiseInput(Section):
    """Gaussian noise, a new value in every step; `run.seed` makes it repeatable."""

    noise: Sizes = Field(description="standard deviation; for a wide port one number, or a list")

    @model_validator(mode="before")
    @classmethod
    def _no_seed(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "seed" in data:
            what = "one seed serves all noise; the seed is run.seed"
            raise PydanticCustomError("unknown", "{what}", {"what": what, "key": "seed"})
        return data


def _kind_of_input(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "<formula>"
    found = [key for key in _LAWS if key in value]
    return f"<{found[0]}>" if len(found) == 1 else "<undecided>"


def _undecided(value: Any) -> Any:
    if not any(key in _LAWS for key in value):
        _mistyped(value, _LAWS)
    raise ValueError(f"must have exactly one of the keys {', '.join(_LAWS)}, not {shortened(dict(value))}")


_LAWS = ("feedback", "relation", "noise")
InputSpec = Annotated[
    Annotated[FormulaOrList, _tag("formula")]
    | Annotated[FeedbackInput, _tag("feedback")]
    | Annotated[RelationInput, _tag("relation")]
    | Annotated[NoiseInput, _tag("noise")]
    | Annotated[Any, BeforeValidator(_undecided), _NEVER, _tag("undecided")],
    Discriminator(_kind_of_input),
]


class AdaptiveStep(Section):
    """Steps that follow their error: two at a time are compared with one of twice the size."""

    tolerance: Positive = Field(description="of the error, as a share of each state's size")
    first: Positive | None = Field(None, description="seconds of the first two steps")
    least: Positive | None = Field(None, description="seconds of two steps below which the run stops")
    most: Positive | None = Field(None, description="seconds of two steps at most")
    sizes: dict[Name, Positive] = Field({}, description="state: the size against which its error counts")


StepSpec = Annotated[
    Annotated[Positive, _tag("seconds")] | Annotated[AdaptiveStep, _tag("adaptive")],
    Discriminator(lambda value: "<adaptive>" if isinstance(value, Mapping | AdaptiveStep) else "<seconds>"),
]


class RunSpec(Section):
    """How long, in which steps."""

    step: StepSpec = Field(
        _ABSENT, description="seconds, or {tolerance: 1e-6}; the parts of a network have steps of their own"
    )
    until: Positive = Field(description="seconds")
    record_every: int = Field(1, ge=1, description="keep every n-th row; all steps are booked")
    seed: int = Field(0, ge=0, description="of everything random")


class OutputSpec(Section):
    """What is written."""

    folder: Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$")] = Field(
        "out", description="below the folder where the command runs"
    )
    formats: list[Literal[FORMATS]] = Field(  # pyright: ignore[reportInvalidTypeForm]
        ["png", "zarr"], description="png, svg and pdf are pictures; zarr can be loaded and audited", max_length=8
    )


_KINDS_OF_FILES: list[Any] = [  # a system, or a network whose parts have methods and steps of their own
    {"required": ["system"], "not": {"required": ["network"]}, "properties": {"run": {"required": ["step"]}}},
    {
        "required": ["network"],
        "not": {"anyOf": [{"required": ["system"]}, {"required": ["method"]}]},
        "properties": {"run": {"not": {"required": ["step"]}}},
    },
]


class ScenarioFile(Section):
    """A scenario: a system and a method, or a network; what drives it, how long, and what is written."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _KINDS_OF_FILES})

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")] | None = Field(
        None, description="names the files that are written; default: the file's name"
    )
    about: Annotated[str, Field(max_length=2000)] = Field("", description="one line for people")
    system: SystemSpec = Field(_ABSENT, description="the name of a library system, or a system in formulas, or parts")
    network: NetworkSpec = Field(_ABSENT, description="instead of a system: parts with their own rates, joined")
    method: MethodSpec = Field(_ABSENT, description="a method, by name; default AVF")
    params: dict[Name, Number] = Field({}, description="parameter values that replace those of the system")
    start: dict[Name, Number] = Field({}, description="state: value; the others start at the least energy, or at 0")
    inputs: dict[Name, InputSpec] = Field({}, description="port: number, formula of t, feedback, relation or noise")
    run: RunSpec
    outputs: OutputSpec = Field(default_factory=lambda: OutputSpec.model_validate({}))

    @model_validator(mode="before")
    @classmethod
    def _one_of_two(cls, data: Any) -> Any:
        """A system with a step, or a network whose parts have theirs."""
        if not isinstance(data, Mapping):
            return data
        run = data.get("run")
        if "network" not in data:
            if "system" not in data and not set(data) - cls.model_fields.keys():
                raise PydanticCustomError("missing", "is missing", {"key": "system"})
            if isinstance(run, Mapping) and "step" not in run and not set(run) - RunSpec.model_fields.keys():
                raise PydanticCustomError("missing", "is missing", {"key": ("run", "step")})
        else:
            for path, given in (("system", data), ("method", data), ("step", run)):
                if isinstance(given, Mapping) and path in given:
                    what = "a network's parts have systems, methods and steps of their own; take this out"
                    key = ("run", "step") if path == "step" else path
                    raise PydanticCustomError("unknown", "{what}", {"what": what, "key": key})
        return data


# -- what went wrong, in words ----------------------------------------------------------------------------------------

_PATTERNS = {
    "name": "must begin with a letter and hold only letters, digits, - and _, 64 at most",
    "folder": "must be a folder below the present one, such as out/today (for any other use --out)",
}
_WORDS = {
    "dict_type": "must be keys with values",
    "list_type": "must be a list",
    "tuple_type": "must be a list of names",
    "string_type": "must be text",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "finite_number": "must be a finite number",
}


def explain(error: Mapping[str, Any]) -> str:
    """One pydantic error as the second half of a sentence."""
    given = shortened(error["input"])
    match error["type"]:
        case "missing":
            return "is missing"
        case "literal_error":
            choices = re.findall(r"'([^']*)'", error["ctx"]["expected"])
            return f"{given} is not known; {nearest(str(error['input']), choices)}"
        case "greater_than" | "greater_than_equal" | "less_than_equal":
            sign = {"greater_than": ">", "greater_than_equal": ">=", "less_than_equal": "<="}[error["type"]]
            bound = next(error["ctx"][key] for key in ("gt", "ge", "le") if key in error["ctx"])
            return f"must be {sign} {bound:g}, not {given}"
        case "too_short" | "too_long":
            least, most, found = (error["ctx"].get(key) for key in ("min_length", "max_length", "actual_length"))
            return f"must have at {'least' if least else 'most'} {least or most} entries, not {found}"
        case "string_too_short" | "string_too_long":
            return (
                f"must be a text of at most {error['ctx'].get('max_length', 100)} characters and not empty, not {given}"
            )
        case "string_pattern_mismatch":
            return f"{_PATTERNS.get(str(error['loc'][-1]), 'has characters that are not allowed')}, not {given}"
        case kind if kind in _WORDS:
            return f"{_WORDS[kind]}, not {given}"
        case "value_error":
            return str(error["ctx"]["error"])
    return error["msg"]


def schema() -> dict[str, Any]:
    """The JSON schema of a scenario file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ScenarioFile.model_json_schema(),
        "title": "Passivo scenario",
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
