"""`PassiveSampler`: the passive continuous-discrete connector of spec 1.5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, pi
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError
from passivo.network import sampling
from passivo.network.junction import Link
from passivo.network.sampling import SampledJunction

if TYPE_CHECKING:
    from passivo.provided import *

HIGHEST = 0.8  # corner frequency times period, in radians, at which the filter still damps


def exchange(m):
    """The program gets the velocity, corrected towards a vanishing energy error; the device gets the program's effort.

    One error for each component: each actuated degree of freedom has a connector of its own.
    """
    for k in range(LINK_WIDTH):
        effort = m[FLOW_OUTPUT + k]
        velocity = m[INCREMENT + k] / m[LINK_PERIOD]
        if FILTER > 0.0:  # critically damped state-variable filter; LAG is how far it stays behind the position
            m[LAG + k] += m[INCREMENT + k]
            m[RATE + k] += m[LINK_PERIOD] * FILTER * (FILTER * m[LAG + k] - 2.0 * m[RATE + k])
            m[LAG + k] -= m[LINK_PERIOD] * m[RATE + k]
            velocity = m[RATE + k]
        room = abs(effort) * (abs(velocity - m[VELOCITY + k]) + abs(velocity - m[SENT + k]))
        power = min(room, abs(m[ERROR + k]) / m[LINK_PERIOD])
        m[POWER + k] = power if m[ERROR + k] > 0.0 else -power
        m[VELOCITY + k] = velocity
        m[SENT + k] = velocity + m[POWER + k] / effort if effort != 0.0 else velocity
        oppose(m, k, effort)
        give(m, FLOW_INPUT + k, FLOW_STRIDE, FLOW_STAGES, m[SENT + k])


def account(m, work):
    """HE grows by what the device is seen to have given, less what the program took in."""
    sense(m)
    for k in range(LINK_WIDTH):
        received = m[HELD + k] * m[INCREMENT + k] - m[FLOW_TAKEN + k]
        m[ERROR + k] += received
        m[LINK_BOOKED] -= received


@dataclass(frozen=True)
class PassiveSampler(SampledJunction):
    """Passive continuous-discrete connector (spec 1.5) between a device (effort port) and a program (flow port).

    The device holds the program's effort over the period; the program gets the device's velocity with a bounded
    correction that repays the energy error of the hold.

    filter  corner frequency in Hz of a state-variable filter for the velocity; 0: backward difference
    """

    filter: float = 0.0

    keeps_book: ClassVar = True
    allowance_share: ClassVar = 0.1
    kernels: ClassVar = (*sampling.KERNELS, exchange, account)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.filter, int | float) or not (isfinite(self.filter) and self.filter >= 0):
            raise InputError(f"PassiveSampler's filter is a frequency in Hz, 0 for none, not {self.filter!r}")

    def sections(self, link: Link) -> Mapping[str, int]:
        own = dict.fromkeys(("ERROR", "POWER", "VELOCITY", "SENT", "RATE", "LAG"), link.width)
        return {**own, **super().sections(link)}

    def recorded(self) -> Mapping[str, str]:
        own = {"error": "ERROR", "power": "POWER", "read": "VELOCITY", "sent": "SENT"}
        return {**own, **super().recorded()}

    def numbers(self, link: Link) -> dict[str, Any]:
        return {**super().numbers(link), "FILTER": 2.0 * pi * self.filter}

    def setup(self, link: Link) -> Mapping[str, Any]:
        if 2.0 * pi * self.filter * link.seconds > HIGHEST:
            most = HIGHEST / (2.0 * pi * link.seconds)
            raise InputError(
                f"PassiveSampler's filter of {self.filter:g} Hz is too fast for samples every {link.seconds:g} s; "
                f"at most {most:.4g} Hz"
            )
        return super().setup(link)
