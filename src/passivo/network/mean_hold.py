"""`MeanHold`: the slow part gets the exact mean of the fast output, at the end of its period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from passivo.errors import InputError
from passivo.network.junction import Junction, Link, account, whole_ratio

if TYPE_CHECKING:
    from passivo.provided import *


def exchange(m):
    """The fast side holds the slow output."""
    for k in range(LINK_WIDTH):
        give(m, FAST_INPUT + k, FAST_STRIDE, FAST_STAGES, FAST_SIGN * m[SLOW_OUTPUT + k])


def turn(m):
    """The slow side steps with the mean of the fast output over the period that ends."""
    for k in range(LINK_WIDTH):
        m[SENT + k] = SLOW_SIGN * m[FAST_MOVED + k] / m[LINK_PERIOD]
        give(m, SLOW_INPUT + k, SLOW_STRIDE, SLOW_STAGES, m[SENT + k])


@dataclass(frozen=True)
class MeanHold(Junction):
    """The slow part steps at the end of its period with the exact mean of the fast output: no energy error at all.

    Exact where the slow part's work is `T y(k)'u` (EnergyConsistent, ExactHold, ExplicitEuler); refused elsewhere,
    where it explodes (spec 1.4).
    """

    kernels: ClassVar = (exchange, turn, account)

    def check(self, link: Link) -> None:
        whole_ratio(link, "MeanHold")
        if not link.slow.method.works_at_start:
            raise InputError(
                f"MeanHold on {link.name!r} needs a slow part whose work is taken with the output at the start of a "
                f"step, but {link.slow.port} is stepped by {type(link.slow.method).__name__}; "
                "use EnergyConsistent there, or join through PassiveSampleHold"
            )

    def slow_steps_last(self, link: Link) -> bool:
        return True

    def sections(self, link: Link) -> Mapping[str, int]:
        return {"SENT": link.width}

    def recorded(self) -> Mapping[str, str]:
        return {"sent": "SENT"}
