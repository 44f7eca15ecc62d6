"""`PassivityController`: the time-domain passivity observer and controller, as a baseline (spec 1.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError, nearest
from passivo.network import sampling
from passivo.network.junction import Link
from passivo.network.sampling import SampledJunction

if TYPE_CHECKING:
    from passivo.provided import *

KINDS = ("classic", "exact", "capped", "none")


def exchange(m):
    """The program's effort goes to the device, damped where the observed energy is negative."""
    moved = 0.0
    for k in range(LINK_WIDTH):
        m[SENT + k] = m[INCREMENT + k] / m[LINK_PERIOD]
        moved += m[SENT + k] * m[SENT + k]
        if CLASSIC:  # the hold ahead of it is not seen
            m[ERROR] += m[FLOW_OUTPUT + k] * m[INCREMENT + k]
        else:
            m[ERROR] += m[HELD + k] * m[INCREMENT + k]
    m[DAMPING] = 0.0
    if DAMPS and m[ERROR] < 0.0 and moved > 0.0:
        m[DAMPING] = -m[ERROR] / (m[LINK_PERIOD] * moved)
        if MOST_DAMPING > 0.0:
            m[DAMPING] = min(m[DAMPING], MOST_DAMPING / m[LINK_PERIOD])
        if CLASSIC:
            m[ERROR] += m[DAMPING] * m[LINK_PERIOD] * moved
    for k in range(LINK_WIDTH):
        oppose(m, k, m[FLOW_OUTPUT + k] + m[DAMPING] * m[SENT + k])


def account(m, work):
    """It damps what it sees; it keeps no book of what it does not."""
    sense(m)


@dataclass(frozen=True)
class PassivityController(SampledJunction):
    """Observe the energy at a device's port and damp when it becomes negative.

    kind  "classic": sums f(k) v(k) T with the velocity of the last period; blind to the energy of the hold.
          "exact": sums f(k−1) (q(k) − q(k−1)), the true energy of the hold; its damping is unlimited and may explode.
          "capped": the same with the damping limited to mass/T
          "none": observes as "exact" does and never damps: plain sample and hold, as most programs do
    mass  of the device, for "capped"
    """

    kind: str = "classic"
    mass: float = 0.0

    flow_first: ClassVar = True
    kernels: ClassVar = (*sampling.KERNELS, sampling.ahead, exchange, account)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in KINDS:
            raise InputError(f"PassivityController has no kind {self.kind!r}; {nearest(str(self.kind), KINDS)}")
        given = isinstance(self.mass, int | float) and isfinite(self.mass) and self.mass > 0
        if self.kind == "capped" and not given:
            raise InputError(f"PassivityController(kind='capped') needs the device's mass > 0, not {self.mass!r}")

    def sections(self, link: Link) -> Mapping[str, int]:
        return {"ERROR": 1, "DAMPING": 1, "SENT": link.width, **super().sections(link)}

    def recorded(self) -> Mapping[str, str]:
        return {"observed": "ERROR", "damping": "DAMPING", "sent": "SENT", **super().recorded()}

    def numbers(self, link: Link) -> dict[str, Any]:
        most = float(self.mass) if self.kind == "capped" else 0.0
        observer = {"CLASSIC": self.kind == "classic", "DAMPS": self.kind != "none", "MOST_DAMPING": most}
        return {**super().numbers(link), **observer}
