"""A document checked against a pydantic model; whatever is wrong is told with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from passivo.document.reader import Document, entries
from passivo.document.values import explain
from passivo.errors import ScenarioError

MOST_SHOWN = 8
Kind = TypeVar("Kind", bound=BaseModel)


def checked(document: Document, kind: type[Kind]) -> Kind:
    """What the document holds, if nothing is wrong with it."""
    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        found = error.errors()
    lines = []
    for problem in found[:MOST_SHOWN]:
        key = problem.get("ctx", {}).get("key")
        if problem["type"] == "missing" and key is None:
            key = problem["loc"][-1]
        keys = key if isinstance(key, tuple) else () if key is None else (key,)
        path = [*_path(document, problem["loc"]), *keys]
        lines.append(document.place(path, explain(problem)))
    if len(found) > MOST_SHOWN:
        lines.append(f"... and {len(found) - MOST_SHOWN} more")
    raise ScenarioError("\n".join(lines))


def _path(document: Document, location: Sequence[Any]) -> list[Any]:
    """Pydantic's location without the names it gives to choices: only what stands in the document."""
    path, value = [], document.data
    for key in location:
        if key in entries(value):
            path.append(key)
            value = value[key]
    return path
