"""All junctions by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passivo.errors import InputError, nearest
from passivo.network.coupling import VirtualCoupling
from passivo.network.delay_line import DelayLine
from passivo.network.direct import Direct
from passivo.network.junction import Junction
from passivo.network.ledger_clamp import LedgerClamp
from passivo.network.mean_hold import MeanHold
from passivo.network.passivity_controller import PassivityController
from passivo.network.sample_hold import PassiveSampleHold
from passivo.network.sampler import PassiveSampler

JUNCTIONS: dict[str, type[Junction]] = {
    cls.__name__: cls
    for cls in (
        Direct,
        PassiveSampleHold,
        MeanHold,
        PassiveSampler,
        PassivityController,
        LedgerClamp,
        VirtualCoupling,
        DelayLine,
    )
}


def junction_from(description: Mapping[str, Any]) -> Junction:
    """The junction that `describe()` described."""
    options = dict(description)
    name = options.pop("junction")
    if name not in JUNCTIONS:
        raise InputError(f"{name!r} is not one of Passivo's junctions; {nearest(name, JUNCTIONS)}")
    return JUNCTIONS[name](
        **{key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    )
