"""XML to plain elements with line numbers. No document types and no entities; bounded in size, depth and count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from passivo.errors import ScenarioError

MAX_BYTES = 2**24
MAX_DEPTH = 200
MAX_ELEMENTS = 200_000


@dataclass
class Element:
    """An element with its line in `source`."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.source}:{self.line}"

    def get(self, tag: str) -> Element | None:
        """The first child of this tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """It and all that is inside, in the order of the file."""
        waiting: list[Element] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def read_xml(path: Path) -> Element:
    """The outermost element of a file."""
    from xml.parsers import expat

    source = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{source}: cannot be read: {error.strerror or error}") from None
    if len(raw) > MAX_BYTES:
        raise ScenarioError(f"{source}: longer than {MAX_BYTES // 2**20} MiB; is this a scene file?")
    parser = expat.ParserCreate()
    top = Element("", {}, 1, source)
    path_to = [top]
    count = 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if len(path_to) > MAX_DEPTH or count > MAX_ELEMENTS:
            raise ScenarioError(f"{source}:{line}: more than {MAX_DEPTH} deep or {MAX_ELEMENTS} elements")
        element = Element(tag, attributes, line, source)
        path_to[-1].children.append(element)
        path_to.append(element)

    def end(_: str) -> None:
        path_to.pop()

    def refuse(*_: object) -> None:
        raise ScenarioError(f"{source}:{parser.CurrentLineNumber}: takes no <!DOCTYPE ...>; take that line out")

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = begin, end, refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ScenarioError(f"{source}:{error.lineno}: not XML: {expat.errors.messages[error.code]}") from None
    return top.children[0]
