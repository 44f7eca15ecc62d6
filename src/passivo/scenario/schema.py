"""What may stand in a scenario file, as pydantic models; from them come the checks and the JSON schema for editors.

`python -m passivo.scenario.schema` prints that schema; `scenario.schema.json` beside this file is a copy of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from passivo.document.reader import shortened
from passivo.document.values import (
    ABSENT,
    FORMULA,
    MOST_NAMES,
    NEVER,
    NUMBER,
    Described,
    Formula,
    Name,
    Number,
    Positive,
    Section,
    listed,
    refuse_mistyped,
    some,
    tag,
)
from passivo.network.catalogue import JUNCTIONS
from passivo.scenario.choices import JunctionSpec, MethodSpec
from passivo.scenario.systems import SystemSpec

MOST_NOISE = 1e100  # squares of it can still be summed
FORMATS = ("png", "svg", "pdf", "zarr", "csv")


class PartSpec(Section):
    """A part of a network: a system with a method and a step of its own."""

    system: SystemSpec = Field(description="the name of a library system, or a system in formulas, or parts")
    method: MethodSpec = Field(ABSENT, description="a method, by name; a system without states needs none")
    step: Positive = Field(description="seconds")


class ConnectionSpec(Section):
    """An effort port and a flow port, and what stands between them."""

    between: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(description="[spring.end, mass.force]")
    through: JunctionSpec = Field(default_factory=JUNCTIONS["Direct"], description="a junction, by name")
    name: Name = Field(ABSENT, description="names its row of the ledger")


class SightSpec(Section):
    """What a signal shows: scale * value + offset."""

    of: Name = Field(description="a state or a port one wide, as in device.q")
    scale: Number = Field(1.0, description="the value is multiplied by it")
    offset: Number = Field(0.0, description="and this is added")
    resolution: Annotated[Number, Field(ge=0)] = Field(0.0, description="the value is seen in whole multiples of it")
    through: Name = Field(ABSENT, description="a connection that samples a device: the value as its sensor sees it")


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
    BeforeValidator(listed),
    WithJsonSchema({"anyOf": [FORMULA, some(FORMULA)]}),
]


_SIZE = {**NUMBER, "minimum": 0, "maximum": MOST_NOISE}
Sizes = Annotated[
    list[Annotated[Number, Field(ge=0, le=MOST_NOISE)]],
    Field(min_length=1),
    BeforeValidator(listed),
    WithJsonSchema({"anyOf": [_SIZE, some(_SIZE)]}),
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
        refuse_mistyped(value, _LAWS)
    raise ValueError(f"must have exactly one of the keys {', '.join(_LAWS)}, not {shortened(dict(value))}")


_LAWS = ("feedback", "relation", "noise")
InputSpec = Annotated[
    Annotated[FormulaOrList, tag("formula")]
    | Annotated[FeedbackInput, tag("feedback")]
    | Annotated[RelationInput, tag("relation")]
    | Annotated[NoiseInput, tag("noise")]
    | Annotated[Any, BeforeValidator(_undecided), NEVER, tag("undecided")],
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
    Annotated[Positive, tag("seconds")] | Annotated[AdaptiveStep, tag("adaptive")],
    Discriminator(lambda value: "<adaptive>" if isinstance(value, Mapping | AdaptiveStep) else "<seconds>"),
]


class RunSpec(Section):
    """How long, in which steps."""

    step: StepSpec = Field(
        ABSENT, description="seconds, or {tolerance: 1e-6}; the parts of a network have steps of their own"
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
    system: SystemSpec = Field(ABSENT, description="the name of a library system, or a system in formulas, or parts")
    network: NetworkSpec = Field(ABSENT, description="instead of a system: parts with their own rates, joined")
    method: MethodSpec = Field(ABSENT, description="a method, by name; default AVF")
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


def schema() -> dict[str, Any]:
    """The JSON schema of a scenario file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ScenarioFile.model_json_schema(),
        "title": "Passivo scenario",
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
