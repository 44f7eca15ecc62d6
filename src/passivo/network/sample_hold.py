"""`PassiveSampleHold`: a slow and a fast part exchange samples without creating energy unnoticed (spec 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError, nearest
from passivo.network.junction import Junction, Link, whole_ratio

if TYPE_CHECKING:
    from passivo.provided import *


def exchange(m):
    """The slow side gets the fast output, corrected towards a vanishing energy error by a bounded power."""
    if m[LINK_COUNT] == 0.0:
        for k in range(LINK_WIDTH):
            m[SENT + k] = SLOW_SIGN * m[FAST_OUTPUT + k]
    room = 0.0
    for k in range(LINK_WIDTH):
        m[READ + k] = SLOW_SIGN * m[FAST_OUTPUT + k]
        m[ROOM + k] = 2.0 * abs(m[READ + k] - m[SENT + k]) * abs(m[SLOW_OUTPUT + k])
        room += m[ROOM + k]
    power = min(room, abs(m[ERROR]) / m[LINK_PERIOD])
    m[POWER] = power if m[ERROR] > 0.0 else -power
    for k in range(LINK_WIDTH):
        value = m[READ + k]
        if m[ROOM + k] > 0.0:
            value += m[POWER] * (m[ROOM + k] / room) / m[SLOW_OUTPUT + k]
        if PRINTED_BOUND:  # (J) eq. 17: no further from the last value sent than the value read is
            reach = abs(m[READ + k] - m[SENT + k])
            value = min(max(value, m[SENT + k] - reach), m[SENT + k] + reach)
        m[SENT + k] = value
        give(m, SLOW_INPUT + k, SLOW_STRIDE, SLOW_STAGES, value)
        if not STAGGERED:
            give(m, FAST_INPUT + k, FAST_STRIDE, FAST_STAGES, FAST_SIGN * m[SLOW_OUTPUT + k])


def turn(m):
    """Staggered: the fast side holds the new output of the slow side."""
    for k in range(LINK_WIDTH):
        give(m, FAST_INPUT + k, FAST_STRIDE, FAST_STAGES, FAST_SIGN * m[SLOW_OUTPUT + k])


def account(m, work):
    """HE grows by the joules received; a debt of the junction is what it created."""
    m[ERROR] += work
    m[LINK_BOOKED] = -work


@dataclass(frozen=True)
class PassiveSampleHold(Junction):
    """Passive sample and hold (spec 1.4): a slow and a fast part exchange samples, the energy error is kept and repaid.

    order  "published": both hold outputs of the same instant. "staggered": the slow part steps first and the fast part
           holds its new output; far better for methods whose work is not `T y(k)'u`, at one slow period of latency in
           real time. Default: published where both methods work with the output at the start of a step.
    bound  "clip": the correction changes the value sent by at most twice its change. "printed": the paper's eq. 17,
           strictly; it makes the energy error a thousand times larger.
    """

    order: str = ""
    bound: str = "clip"

    keeps_book: ClassVar = True
    allowance_share: ClassVar = 0.1
    kernels: ClassVar = (exchange, turn, account)

    def __post_init__(self) -> None:
        for name, choices in (("order", ("", "published", "staggered")), ("bound", ("clip", "printed"))):
            given = getattr(self, name)
            if given not in choices:
                hint = nearest(str(given), [choice for choice in choices if choice])
                raise InputError(f"PassiveSampleHold has no {name} {given!r}; {hint}")

    def check(self, link: Link) -> None:
        whole_ratio(link, "PassiveSampleHold")

    def slow_steps_first(self, link: Link) -> bool:
        sampled = link.fast.method.works_at_start and link.slow.method.works_at_start
        return self.order == "staggered" or (not self.order and not sampled)

    def sections(self, link: Link) -> Mapping[str, int]:
        return {"ERROR": 1, "POWER": 1, "READ": link.width, "SENT": link.width, "ROOM": link.width}

    def recorded(self) -> Mapping[str, str]:
        return {"error": "ERROR", "power": "POWER", "read": "READ", "sent": "SENT"}

    def numbers(self, link: Link) -> dict[str, Any]:
        return {"STAGGERED": self.slow_steps_first(link), "PRINTED_BOUND": self.bound == "printed"}
