"""What a reproduced figure is, and where they are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import InputError, nearest

Advance = Callable[[str, int, int], None]  # what is being done, how much is done, how much in all


@dataclass(frozen=True)
class Statement:
    """A number of the paper beside the one found here; `holds` is None where there is nothing to hold it against."""

    text: str
    found: float
    expected: str = ""
    holds: bool | None = None

    @classmethod
    def near(cls, text: str, found: float, expected: float, within: float) -> Statement:
        """`found` must lie within `within` of `expected`."""
        return cls(text, float(found), f"{expected:g} ± {within:g}", bool(abs(found - expected) <= within))


@dataclass(frozen=True)
class Outcome:
    """A picture, the columns drawn in it, the statements, and what differs from the paper."""

    picture: Any
    data: Mapping[str, np.ndarray]
    statements: tuple[Statement, ...]
    note: str = ""

    @property
    def holds(self) -> bool:
        return all(statement.holds is not False for statement in self.statements)


@dataclass(frozen=True)
class Figure:
    """One figure of a paper. `make(params, advance)` computes it.

    Statements about the paper's own numbers are made only where no parameter was changed.
    """

    name: str
    title: str
    source: str
    make: Callable[[Mapping[str, float], Advance], Outcome]
    params: Mapping[str, float] = field(default_factory=dict)

    def reproduce(self, changes: Mapping[str, float] | None = None, advance: Advance = lambda *_: None) -> Outcome:
        for name in changes or {}:
            if name not in self.params:
                raise InputError(f"{self.name} has no parameter {name!r}; {nearest(name, self.params)}")
        return self.make({**self.params, **(changes or {})}, advance)


@lru_cache(maxsize=1)
def figures() -> dict[str, Figure]:
    """All figures by name: every module of this room that defines `FIGURE`."""
    here = __package__ or ""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    chosen = sorted((name for name in names if "_fig" in name), key=_place)
    modules = [importlib.import_module(f"{here}.{name}") for name in chosen]
    return {module.FIGURE.name: module.FIGURE for module in modules}


def _place(name: str) -> tuple[str, int]:
    """Papers by name, figures by number."""
    paper, _, number = name.partition("_fig")
    return paper, int(number)


def figure(name: str) -> Figure:
    if name not in figures():
        raise InputError(f"there is no figure {name!r}; {nearest(name, figures())}")
    return figures()[name]
