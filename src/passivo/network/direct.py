"""`Direct`: each side holds the other's output; nothing is corrected and nothing is booked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from passivo.network.junction import Junction, account

if TYPE_CHECKING:
    from passivo.provided import *


def to_effort(m):
    for k in range(LINK_WIDTH):
        give(m, EFFORT_INPUT + k, EFFORT_STRIDE, EFFORT_STAGES, -m[FLOW_OUTPUT + k])


def to_flow(m):
    for k in range(LINK_WIDTH):
        give(m, FLOW_INPUT + k, FLOW_STRIDE, FLOW_STAGES, m[EFFORT_OUTPUT + k])


@dataclass(frozen=True)
class Direct(Junction):
    """Plain sample and hold at the common ticks of both sides: what most engines do, and it creates energy."""

    halves: ClassVar = True
    kernels: ClassVar = (to_effort, to_flow, account)
