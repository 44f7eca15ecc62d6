"""The values of a scenario file: sections with known keys, names, numbers, formulas; and what is wrong, in words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Tag, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from passivo.document.reader import shortened
from passivo.errors import nearest, quoted
from passivo.model.expression import evaluate, is_condition, names, size, to_text

MOST_NAMES = 200  # states, coordinates, parts
MOST_NODES = 2000  # numbers, names and operations of one formula: several pages

ABSENT: Any = None  # a key that may be left out, but not be null


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


def some(items: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1}


def listed(value: Any) -> Any:
    """A single value stands for a list of one."""
    return value if isinstance(value, list) else [value]


Name = Annotated[str, Field(min_length=1, max_length=100)]
Matrix = list[list[Formula]]
Square = Annotated[
    Matrix,
    BeforeValidator(lambda value: value if isinstance(value, list) else [[value]]),
    WithJsonSchema({"anyOf": [FORMULA, some(some(FORMULA))]}),
]


def tag(name: str) -> Tag:
    """The tag of a choice: pydantic puts it into locations, so it must not look like a key of a file."""
    return Tag(f"<{name}>")


def refuse_mistyped(value: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Refuse the first key that looks like a known one."""
    for key in value:
        if (hint := nearest(str(key), keys)).startswith("did you mean"):
            what = f"there is no key {shortened(key)} here; {hint}"
            raise PydanticCustomError("unknown", "{what}", {"what": what, "key": key})


NEVER = WithJsonSchema({"not": {}})


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
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
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
