"""Whether a model can start where a scenario says: within its domain, with a finite energy, and on its constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from passivo.errors import PassivoError, quoted


def _nearest(model: Any, state: Mapping[str, float]) -> str:
    from passivo.method.part import consistent

    try:
        near = consistent(model, state)
    except PassivoError as error:
        return str(error)
    return "the nearest state that does is {" + ", ".join(f"{name}: {value!r}" for name, value in near.items()) + "}"


def bad_starts(model: Any, state: Mapping[str, float], prefix: str = "") -> Iterator[tuple[list[str], str]]:
    """For each part that cannot start in `state`: the states that matter, and a sentence."""
    import numpy as np

    from passivo.model.constrained import Constrained
    from passivo.model.expression import evaluate, names
    from passivo.model.monolithic import Monolithic
    from passivo.model.system import System
    from passivo.network.network import Network

    inner = model.parts if isinstance(model, Monolithic) else {}
    if isinstance(model, Network):
        inner = {key: member.model for key, member in model.members.items()}
    for key, part in inner.items():
        yield from bad_starts(part, state, f"{prefix}{key}.")
    if not isinstance(model, System):
        return
    # np.float64: 1/0 must be inf, not an exception
    values = {name: np.float64(state[prefix + name]) for name in model.states}
    scope = {**{name: np.float64(value) for name, value in model.params.items()}, **values}

    def told(text: str) -> tuple[list[str], str]:
        used = [name for name in model.states if name in names(text)]
        shown = ", ".join(f"{prefix}{name} = {values[name]:g}" for name in used[:4])
        return [prefix + name for name in used], shown

    if model.domain is not None and not evaluate(model.domain, scope):
        used, shown = told(model.domain)
        yield used, f"{shown} is outside the domain {quoted(model.domain)}; choose another start"
    elif not np.isfinite(energy := evaluate(model.energy, scope)):
        used, shown = told(model.energy)
        yield used, f"the energy is {energy} at {shown}; choose another start"
    elif isinstance(model, Constrained):
        place = np.array([values[name] for name in model.positions])
        for (title, text), gap in zip(model.constraints.items(), model.gaps(place, model.params)):
            if not abs(gap) <= 1e-12 * float(np.abs(model.slopes(place, model.params)).sum() * np.abs(place).max()):
                used, shown = told(text)
                near = _nearest(model, {name: state[prefix + name] for name in model.states})
                yield used, f"{shown} does not keep the constraint {title}, {quoted(text)} is {gap:g}; {near}"
