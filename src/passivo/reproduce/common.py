"""What the figures of all papers share: progress, titles, and statements with a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from passivo.errors import InputError
from passivo.method.generate import Engine
from passivo.reproduce.figure import Advance, Statement

FEW_STEPS = 30_000  # are sooner done as plain Python than compiled


def engine_for(steps: float) -> Engine:
    return "python" if steps <= FEW_STEPS else "numba"


def progress_of(advance: Advance, what: str) -> Callable[[int, int], None]:
    return lambda done, total: advance(what, done, total)


def headline(picture: Any, text: str) -> None:
    picture.suptitle(text, x=0.01, ha="left", fontsize=10, fontweight="bold")


def whole(params: Mapping[str, float], name: str, least: int = 1) -> int:
    """A parameter that counts something."""
    if params[name] != int(params[name]) or params[name] < least:
        raise InputError(f"{name} must be a whole number >= {least}, not {params[name]:g}")
    return int(params[name])


def at_most(text: str, found: float, most: float, known: bool = True) -> Statement:
    """`found` must not exceed `most`; where parameters were changed it is only found."""
    return (
        Statement(text, float(found), f"<= {most:g}", bool(found <= most)) if known else Statement(text, float(found))
    )


def constancy(text: str, series: np.ndarray, within: float) -> Statement:
    """A sum of energies that should not change: its largest distance from its start, in joules."""
    return at_most(text, float(np.abs(series - series[0]).max()), within)
