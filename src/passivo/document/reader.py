"""YAML to plain data with line numbers. No tags, no merge keys, one document; bounded in size, depth and count.

YAML is read event by event, so that a limit is met before anything is built. Decimal numbers are numbers, `1e4` too;
`on`, `12:30` and `0x10` are text.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from passivo.errors import ScenarioError, quoted

MAX_BYTES = 2**20
MAX_DEPTH = 24
MAX_VALUES = 50_000  # aliases count as often as they are used

_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_PLAIN = re.compile(r"[\w.-]{1,40}", re.ASCII)
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass
class Document:
    """Plain data, and where each value of it stands.

    `marks` gives for each mapping and list (by identity) the lines of its entries; `given` names values that came from
    elsewhere, such as the command line, by their path.
    """

    source: str
    data: Any
    marks: dict[int, dict[Any, int]] = field(default_factory=dict)
    given: dict[tuple, str] = field(default_factory=dict)

    def where(self, path: Sequence[Any]) -> str:
        """The file and line, or the option, from which the value at `path` (or the nearest above it) came."""
        for end in range(len(path), 0, -1):
            if tuple(path[:end]) in self.given:
                return self.given[tuple(path[:end])]
        value, line = self.data, 1
        for key in path:
            line = self.marks.get(id(value), {}).get(key, line)
            if key not in entries(value):
                break
            value = value[key]
        return f"{self.source}:{line}" if self.marks else self.source

    def named(self, path: Sequence[Any]) -> str:
        """File, line and the name of a place."""
        name = ".".join(map(word, path))
        return f"{self.where(path)}: {name}" if name else self.where(path)

    def place(self, path: Sequence[Any], what: str) -> str:
        """A sentence about a place."""
        return f"{self.named(path)}: {what}"

    def put(self, path: Sequence[str], value: Any, origin: str) -> None:
        """Set the value at `path`, which `origin` asked for."""
        self.data = place = self._copy(self.data)  # copies: an alias may stand for the same mapping elsewhere
        for depth, key in enumerate(path[:-1], 1):
            inner = place.get(key)
            if inner is not None and not isinstance(inner, dict):
                name = ".".join(map(word, path[:depth]))
                raise ScenarioError(
                    f"{self.where(path[:depth])}: {name}: must be keys with values, not {shortened(inner)}"
                )
            place[key] = self._copy(inner)
            place = place[key]
        place[path[-1]] = value
        self.given[tuple(path)] = _brief(origin)

    def _copy(self, mapping: Any) -> dict[str, Any]:
        twin = dict(mapping) if isinstance(mapping, dict) else {}
        self.marks[id(twin)] = self.marks.get(id(mapping), {})
        return twin


def entries(item: Any) -> Container[Any]:
    """The keys of a mapping, the indices of a list; nothing for anything else."""
    return item if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()


def read_file(path: Path) -> Document:
    """The document in a file."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(raw) > MAX_BYTES:
        raise ScenarioError(f"{path}: longer than {MAX_BYTES // 2**20} MiB; a scenario is a page or two of YAML")
    try:
        return read(raw.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}:{line}: not UTF-8 text; is this a YAML file?") from None


def read(text: str, source: str, lines: bool = True) -> Document:
    """The document in a text; `source` is what errors call it, with or without lines."""
    builder = _Builder(source, lines)
    try:
        for event in _events(text):
            builder.take(event)
    except _yaml_error() as error:
        builder.fail(*_trouble(error, text, lines))
    return Document(source, builder.result, builder.marks)


def value(text: str, source: str) -> Any:
    """A single value such as an option gives: `1e4`, `0.5*sin(41*t)`, `{feedback: -0.05*atan(y)}`."""
    return read(text, _brief(source), lines=False).data


def _events(text: str) -> Iterator[Any]:
    import yaml

    # libyaml where it is built in: ten times as fast, and the same events
    return yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _yaml_error() -> type[Exception]:
    import yaml

    return yaml.YAMLError


_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what YAML counts as the end of a line
_LAYOUT = ("could not find expected ':'", "mapping values are not allowed", "did not find expected")


def _trouble(error: Any, text: str, layout: bool) -> tuple[int | None, str]:
    """The line and the sentence of an error of the YAML library."""
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read")
    marks = [getattr(error, "problem_mark", None), getattr(error, "context_mark", None)]
    if what.startswith(_LAYOUT[0]):
        marks.reverse()  # the problem is noticed a line after the one that lacks the colon
    lines = [*_BREAK.split(text), ""]
    places = [mark.line for mark in marks if mark is not None]
    place = next((place for place in places if lines[place].strip()), places[0] if places else None)
    if place is None:
        return None, f"not YAML: {what}"
    line = lines[place]
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return place + 1, "not YAML: indent with spaces, not tabs"
    hint = "; check the indentation, and write key: value" if layout and what.startswith(_LAYOUT) else ""
    return place + 1, f"not YAML in {shortened(line.strip())}: {what}{hint}"


class _Builder:
    """Plain data from YAML events, without recursion."""

    def __init__(self, source: str, lines: bool):
        self.source, self.lines = source, lines
        self.result: Any = None
        self.marks: dict[int, dict[Any, int]] = {}
        self.count = 0
        self.documents = 0
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        self.open: list[_Open] = []

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if getattr(event, "tag", None) not in (None, "!"):
            self.fail(line, f"the tag {shortened(event.tag)} is not allowed; write plain values")
        match kind:
            case "DocumentStartEvent":
                self.documents += 1
                if self.documents > 1:
                    self.fail(line, "a second document begins; one file holds one scenario")
            case "ScalarEvent":
                self.add(event.value if event.style else _scalar(event.value), line, event.anchor)
            case "AliasEvent":
                self.alias(event.anchor, line)
            case "MappingStartEvent" | "SequenceStartEvent":
                self.check_depth(1, line)
                self.open.append(_Open({} if kind[0] == "M" else [], line, event.anchor, self.count))
            case "MappingEndEvent" | "SequenceEndEvent":
                done = self.open.pop()
                self.marks[id(done.value)] = done.lines
                self.add(done.value, done.line, done.anchor, self.count - done.before, done.height + 1)

    def check_depth(self, height: int, line: int) -> None:
        if len(self.open) + height > MAX_DEPTH:
            self.fail(line, f"nested more than {MAX_DEPTH} deep")

    def alias(self, name: str, line: int) -> None:
        if name not in self.anchors:
            self.fail(line, f"the alias *{word(name)} has no anchor before it (or stands inside its own anchor)")
        found, size, height = self.anchors[name]
        self.check_depth(height, line)
        self.count += size
        self.add(found, line, None, height=height)

    def add(self, item: Any, line: int, anchor: str | None, size: int = 0, height: int = 0) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            self.fail(line, f"more than {MAX_VALUES} values; a scenario is a page or two of YAML")
        if anchor:
            self.anchors[anchor] = (item, size, height)
        if not self.open:
            self.result = item
            return
        place = self.open[-1]
        place.height = max(place.height, height)
        if isinstance(place.value, list):
            place.lines[len(place.value)] = line
            place.value.append(item)
        elif place.key is None:
            place.key = (self.key(item, line),)
            if place.key[0] in place.value:
                first = f" (first in line {place.lines[place.key[0]]})" if self.lines else ""
                self.fail(line, f"the key {shortened(place.key[0])} stands here twice{first}; take one away")
            place.lines[place.key[0]] = line
        else:
            place.value[place.key[0]] = item
            place.key = None

    def key(self, item: Any, line: int) -> str:
        if isinstance(item, dict | list):
            self.fail(line, "a key must be a name, not a list or a mapping")
        return "null" if item is None else str(item).lower() if isinstance(item, bool) else str(item)

    def fail(self, line: int | None, what: str) -> NoReturn:
        place = f"{self.source}:{line}" if self.lines and line is not None else self.source
        raise ScenarioError(f"{place}: {what}") from None


@dataclass
class _Open:
    """A mapping or list that is being read; `key` holds a key that waits for its value, `height` is how deep the
    values inside are nested."""

    value: Any
    line: int
    anchor: str | None
    before: int
    lines: dict[Any, int] = field(default_factory=dict)
    key: tuple[str] | None = None
    height: int = 0


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def _brief(origin: str, most: int = 100) -> str:
    return origin if len(origin) <= most else f"{origin[: most - 3]}..."


def word(key: Any) -> str:
    """A key as an error names it; one that might steer a terminal is quoted."""
    return str(key) if _PLAIN.fullmatch(str(key)) else shortened(key)


def shortened(item: Any, most: int = 60) -> str:
    """A value of a document as an error quotes it: of mappings and lists only the outline."""
    match item:
        case dict():
            text = "{" + ", ".join(f"{word(key)}: ..." for key in list(item)[:9]) + "}"
        case list():
            text = "[" + ", ".join(["..."] * min(len(item), 3)) + "]"
        case _:
            return quoted(item, most)
    return text if len(text) <= most else f"{text[: most - 3]}..."
