"""Limits on parameters that passivity alone does not set: nothing in J or R forbids a negative mass."""

from __future__ import annotations

from typing import Any

from passivo.errors import ModelError
from passivo.model.system import number


def positive(**values: Any) -> None:
    """Raise unless every value is a number > 0."""
    for name, value in values.items():
        if not number(value, f"parameter {name!r}") > 0:
            raise ModelError(f"{name} must be positive, not {value!r}; give {name} > 0")


def not_negative(**values: Any) -> None:
    """Raise unless every value is a number >= 0."""
    for name, value in values.items():
        if not number(value, f"parameter {name!r}") >= 0:
            raise ModelError(f"{name} must not be negative, got {value!r}; give {name} >= 0")
