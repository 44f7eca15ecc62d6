"""`VirtualCoupling`: a spring between a device and an object that steps with it inside (spec 4.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError
from passivo.network.junction import Junction, Link, whole_ratio

if TYPE_CHECKING:
    from passivo.provided import *


def exchange(m):
    """While the object steps, the far end of the spring stands still."""
    for k in range(LINK_WIDTH):
        give(m, FLOW_INPUT + k, FLOW_STRIDE, FLOW_STAGES, 0.0)


def turn(m):
    """The device holds the force of the spring after the object's step."""
    for k in range(LINK_WIDTH):
        m[SENT + k] = m[FLOW_OUTPUT + k]
        give(m, EFFORT_INPUT + k, EFFORT_STRIDE, EFFORT_STAGES, -m[SENT + k])


def track(m):
    """Between two steps of the object the device feels the spring at its own fresh position."""
    for k in range(LINK_WIDTH):
        force = m[SENT + k] + m[STIFFNESS[k]] * m[EFFORT_MOVED + k]
        give(m, EFFORT_INPUT + k, EFFORT_STRIDE, EFFORT_STAGES, -force)


def move(m):
    """Move the far end of the spring to where the device is now; JUMP is the energy this brings into the spring."""
    m[JUMP] = 0.0
    for k in range(LINK_WIDTH):
        way = m[EFFORT_MOVED + k]
        gain = (m[SENT + k] + 0.5 * m[STIFFNESS[k]] * way) * way
        m[ELONGATION + k] += way
        m[FLOW_TAKEN + k] += gain
        m[FLOW_SIZE + k] += abs(gain)
        m[JUMP] += gain


def carry(m, gain):
    """The same where the object itself moves that end, and says what energy this brought."""
    m[JUMP] = gain
    m[FLOW_TAKEN] += gain
    m[FLOW_SIZE] += abs(gain)


def account(m, work):
    """Every sample of the device creates k Δx²/2, and the junction knows it."""
    m[LINK_BOOKED] = -work


@dataclass(frozen=True)
class VirtualCoupling(Junction):
    """A spring between the ports of a device and of an object, both of which take a force (spec 4.8).

    The spring is solved inside the object's step, at the device's sampled position; the device feels it at each of its
    own samples. It creates exactly `k Δx²/2` per sample of the device, so the whole is passive where the device's
    damping is at least k T/2; beyond that put a LedgerClamp in front of the device. The device is the side with the
    shorter step; at equal steps the part that was added first.

    Between two ports of worlds that take wrenches it turns too: it is six wide.

    k        stiffness in N/m, > 0
    turning  stiffness in N m/rad of a coupling six wide
    """

    k: float = 1000.0
    turning: float = 1.0

    keeps_book: ClassVar = True
    allowance_share: ClassVar = 0.1
    kernels: ClassVar = (exchange, turn, track, move, carry, account)
    couples: ClassVar = True

    def __post_init__(self) -> None:
        for what, value in (("stiffness k", self.k), ("stiffness turning", self.turning)):
            if not isinstance(value, int | float) or not (isfinite(value) and value > 0):
                raise InputError(f"VirtualCoupling's {what} must be a number > 0, not {value!r}")

    def check(self, link: Link) -> None:
        whole_ratio(link, "VirtualCoupling")

    def slow_steps_first(self, link: Link) -> bool:
        return True

    def shape(self, link: Link) -> dict[str, Any]:
        return {"junction": "VirtualCoupling"}

    def sections(self, link: Link) -> Mapping[str, int]:
        return {"SENT": link.width, "JUMP": 1}

    def recorded(self) -> Mapping[str, str]:
        return {"force": "SENT"}
