"""From a description back to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passivo.errors import ModelError
from passivo.model.monolithic import Monolithic
from passivo.model.system import Model, System


def model_from(description: Mapping[str, Any]) -> Model:
    """The model that `describe()` described."""
    match description["kind"]:
        case "System":
            return System.from_description(description)
        case "Monolithic":
            parts = {key: model_from(part) for key, part in description["parts"].items()}
            return Monolithic(parts, description["connections"], name=description["name"])
    raise ModelError(f"a model of kind {description['kind']!r} is not known")
