"""From plain data back to a model of any kind, worlds included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passivo.errors import ModelError
from passivo.model import describe
from passivo.model.system import Model
from passivo.world.world import World


def model_from(description: Mapping[str, Any]) -> Model:
    """The model that `describe()` described."""
    if not isinstance(description, Mapping) or description.get("kind") != "World":
        return describe.model_from(description)
    try:
        return World.from_description(description)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"the description of a World cannot be read: {error}") from None
