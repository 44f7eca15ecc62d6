"""From plain data back to a model: the inverse of `Model.describe`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passivo.errors import ModelError, nearest
from passivo.model.constrained import Constrained
from passivo.model.coupled import Coupled
from passivo.model.handle import Handle
from passivo.model.monolithic import Monolithic
from passivo.model.rendering import Rendering
from passivo.model.sparse import SparseLinear
from passivo.model.system import Model, System

KINDS = ("System", "Constrained", "Monolithic", "Rendering", "Coupled", "Handle", "SparseLinear")


def model_from(description: Mapping[str, Any]) -> Model:
    """The model that `describe()` described, of one of the KINDS.

    `Mechanical` and `Linear` describe themselves as their Legendre form and come back as a `System`.
    """
    kind = description.get("kind") if isinstance(description, Mapping) else None
    try:
        if kind == "System":
            return System.from_description(description)
        if kind == "Constrained":
            return Constrained.from_description(description)
        if kind == "Rendering":
            return Rendering.from_description(description)
        if kind == "SparseLinear":
            return SparseLinear.from_description(description)
        if kind == "Handle":
            return Handle(description["axes"], description["name"])
        if kind == "Coupled":
            (k,) = description["params"].values()
            return Coupled(model_from(description["parts"]["inner"]), description["port"], k, description["name"])
        if kind == "Monolithic":
            parts = {key: model_from(part) for key, part in description["parts"].items()}
            return Monolithic(parts, description["connections"], name=description["name"])
    except KeyError as error:
        raise ModelError(f"the description of a {kind} lacks {error}; give what describe() returns") from None
    except TypeError as error:
        raise ModelError(f"the description of a {kind} cannot be read: {error}") from None
    raise ModelError(f"a description has a 'kind', not {kind!r}; {nearest(str(kind), KINDS)}")
