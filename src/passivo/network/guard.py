"""`Guard`: the way out to a device, everything that stands between a program's force and the motors.

    finite check → slew limit → norm limit → start ramp → port ledger clamp → latch → device

The clamp comes last: a slew limit may hold a force up, and the clamp must know the force that is really applied. Where
something is wrong the program is no longer heard: the handle is damped (through the clamp), and after a while let go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError
from passivo.model.handle import Handle
from passivo.network import clamp as K
from passivo.network import ledger_clamp, sampling
from passivo.network.junction import Link
from passivo.network.ledger_clamp import LedgerClamp

if TYPE_CHECKING:
    from passivo.network.clamp import (
        CLAMP_BEYOND,
        CLAMP_FORCE,
        CLAMP_HEAD,
        CLAMP_LIMITED,
        CLAMP_LONGEST,
        CLAMP_NEED,
        CLAMP_OVERDRAWN,
        CLAMP_OVERLONG,
        CLAMP_POSITION,
        CLAMP_WANTED,
        clamp_gap,
        clamp_tick,
    )  # fmt: skip
    from passivo.provided import *

# what the guard does
RUNNING = 0
DAMPING = 1
LATCHED = 2  # no force any more

# why it no longer listens to the program
ALL_WELL = 0
TOLD_TO_STOP = 1
NO_READING = 2
TOO_FAST = 3
NO_HAND = 4  # the dead-man switch is not held: the only reason that may pass
BAD_FORCES = 5
NETWORK_FAILED = 6
DEVICE_FAULT = 7
UNPLUGGED = 8

# places in SAFETY
SLEW = 0
MOST = 1
RAMP = 2
FASTEST = 3
PATIENCE = 4
LINGER = 5
DRAG = 6
BRIEFEST = 7
SAFETY_SIZE = 8

# places in COUNTS
COUNT_LOST = 0  # ticks without a good reading
COUNT_BAD = 1  # forces that were no numbers
COUNT_SLEWED = 2
COUNT_LIMITED = 3
COUNT_RAMPED = 4
COUNT_DAMPED = 5  # ticks of damping instead of the program's force
COUNT_LATCHED = 6
COUNT_RELEASED = 7  # forces dropped because no reading came
COUNTS_SIZE = 8


def measure(m):
    """What is known of the handle is what it was told."""
    for k in range(LINK_WIDTH):
        m[INCREMENT + k] = m[EFFORT_STATE + k] - m[MEASURED + k]
        m[MEASURED + k] = m[EFFORT_STATE + k]


def exchange(m):
    """The device gets as much of the program's effort as all stages let through, where there is a new reading."""
    if m[LINK_COUNT] > 0.0:
        m[ELAPSED] += m[LINK_PERIOD]
        m[AGE] += m[LINK_PERIOD]
    if m[GONE] > 0.0:
        m[SILENCE] += m[LINK_PERIOD]
        m[COUNTS + COUNT_LOST] += 1.0
    else:
        m[SILENCE] = 0.0
    decide(m)
    sections = CLAMP + CLAMP_HEAD
    if m[GONE] == 0.0:
        shape_wanted(m)
        for k in range(LINK_WIDTH):
            m[sections + CLAMP_POSITION * LINK_WIDTH + k] = m[MEASURED + k]
            m[sections + CLAMP_WANTED * LINK_WIDTH + k] = m[WANTED + k]
        if CLAMPS:
            clamp_tick(m, CLAMP, m[ELAPSED] if m[ELAPSED] > 0.0 else m[LINK_PERIOD])
        m[ELAPSED] = 0.0
        m[LIMITED] = m[CLAMP + CLAMP_LIMITED]
        m[BROKEN] = m[CLAMP + CLAMP_OVERDRAWN] + m[CLAMP + CLAMP_BEYOND] + m[CLAMP + CLAMP_OVERLONG]
        for k in range(LINK_WIDTH):
            oppose(m, k, m[sections + CLAMP_FORCE * LINK_WIDTH + k] if CLAMPS else m[WANTED + k])
    elif not KEEPS and (m[MODE] != RUNNING or m[ELAPSED] + m[LINK_PERIOD] > m[CLAMP + CLAMP_LONGEST]):
        release(m)


def release(m):
    """No reading, and no force any more: the device would drop it, or safety does. What it did counts at worst."""
    if m[CLAMP + CLAMP_NEED] > 0.0:
        m[OWED] = m[CLAMP + CLAMP_NEED]
    clamp_gap(m, CLAMP)
    m[COUNTS + COUNT_RELEASED] += 1.0
    for k in range(LINK_WIDTH):
        m[SHAPED + k] = 0.0
        oppose(m, k, 0.0)


def decide(m):
    """MODE: whether the program is heard, the handle damped, or let go."""
    if m[MODE] == RUNNING:
        reason = m[ALARM]
        if reason == ALL_WELL and m[SILENCE] > m[SAFETY + PATIENCE]:
            reason = NO_READING
        if reason == ALL_WELL and m[DEAF] > m[SAFETY + PATIENCE]:
            reason = BAD_FORCES
        if reason == ALL_WELL and speed(m) > m[SAFETY + FASTEST]:
            reason = TOO_FAST
        if reason != ALL_WELL:
            m[MODE] = DAMPING
            m[REASON] = reason
            m[AGE] = 0.0
    elif m[REASON] == NO_HAND and m[ALARM] == ALL_WELL:  # the hand is back: start again, gently
        m[MODE] = RUNNING
        m[REASON] = ALL_WELL
        m[RAMPED] = 0.0
        for k in range(LINK_WIDTH):
            m[SHAPED + k] = 0.0
    elif m[MODE] == DAMPING and m[AGE] >= m[SAFETY + LINGER]:
        m[MODE] = LATCHED
    if m[MODE] != RUNNING and m[REASON] == NO_HAND and m[ALARM] != ALL_WELL:
        m[REASON] = m[ALARM]


def speed(m):
    """Of the handle, over the last hold; a hold shorter than BRIEFEST tells nothing but rounding and noise."""
    total = 0.0
    for k in range(LINK_WIDTH):
        total += m[INCREMENT + k] * m[INCREMENT + k]
    return sqrt(total) / max(m[ELAPSED], m[SAFETY + BRIEFEST])


def shape_wanted(m):
    """WANTED: the program's force, finite, without jumps, within the limit and faded in; or damping; or none."""
    period = m[LINK_PERIOD]
    if m[MODE] == RUNNING:
        finite = True
        for k in range(LINK_WIDTH):
            finite = finite and isfinite(m[FLOW_OUTPUT + k])
        m[DEAF] = 0.0 if finite else m[DEAF] + period
        if not finite:
            m[COUNTS + COUNT_BAD] += 1.0
        change = 0.0
        for k in range(LINK_WIDTH):
            m[WANTED + k] = m[FLOW_OUTPUT + k] if finite else 0.0
            change += (m[WANTED + k] - m[SHAPED + k]) * (m[WANTED + k] - m[SHAPED + k])
        allowed = m[SAFETY + SLEW] * period
        if change > allowed * allowed:
            m[COUNTS + COUNT_SLEWED] += 1.0
            share = allowed / sqrt(change)
            for k in range(LINK_WIDTH):
                m[WANTED + k] = m[SHAPED + k] + share * (m[WANTED + k] - m[SHAPED + k])
        if not within(m):
            m[COUNTS + COUNT_LIMITED] += 1.0
        wants = False
        for k in range(LINK_WIDTH):
            m[SHAPED + k] = m[WANTED + k]
            wants = wants or m[WANTED + k] != 0.0
        if not wants:
            m[RAMPED] = 1.0
        if m[RAMPED] < 1.0:
            m[COUNTS + COUNT_RAMPED] += 1.0
            for k in range(LINK_WIDTH):
                m[WANTED + k] *= m[RAMPED]
            m[RAMPED] = min(m[RAMPED] + period / m[SAFETY + RAMP], 1.0)
    elif m[MODE] == DAMPING:
        m[COUNTS + COUNT_DAMPED] += 1.0
        hold = max(m[ELAPSED], m[SAFETY + BRIEFEST])
        for k in range(LINK_WIDTH):
            m[WANTED + k] = m[SAFETY + DRAG] * m[INCREMENT + k] / hold
        within(m)
    else:
        m[COUNTS + COUNT_LATCHED] += 1.0
        for k in range(LINK_WIDTH):
            m[WANTED + k] = 0.0


def within(m):
    """Shrink WANTED to the norm limit; whether it was within."""
    size = 0.0
    for k in range(LINK_WIDTH):
        size += m[WANTED + k] * m[WANTED + k]
    if size <= m[SAFETY + MOST] * m[SAFETY + MOST]:
        return True
    share = m[SAFETY + MOST] / sqrt(size)
    for k in range(LINK_WIDTH):
        m[WANTED + k] *= share
    return False


@dataclass(frozen=True)
class Guard(LedgerClamp):
    """A `LedgerClamp` with the other stages of safety before it. The loop puts it in front of every device.

    slew      largest change of the force, N/s
    most      largest norm of the force, N
    ramp      seconds over which a force fades in that is wanted from the very start; one that grows from 0 needs none
    fastest   speed of the handle beyond which it is damped, m/s
    patience  seconds without a good reading, or without a force that is a number, after which it is damped
    linger    seconds of damping before no force acts any more
    drag      the damping, N s/m
    clamps    False leaves the ledger clamp out: forces are limited, energy is not
    keeps     the device can be told nothing before it gives its next reading: until then the force stays
    """

    slew: float = 4000.0
    most: float = 20.0
    ramp: float = 0.2
    fastest: float = 5.0
    patience: float = 0.02
    linger: float = 0.1
    drag: float = 5.0
    clamps: bool = True
    keeps: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("slew", "most", "ramp", "fastest", "patience", "linger", "drag"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0.0 < value < inf:
                raise InputError(f"the guard's {name} must be a number > 0, not {value!r}")

    def check(self, link: Link) -> None:
        super().check(link)
        if not isinstance(link.effort.model, Handle):
            raise InputError(f"a Guard stands in front of a device; {link.effort.port} is none: take pv.LedgerClamp()")

    def shape(self, link: Link) -> dict[str, Any]:
        return {"junction": "Guard", **self.numbers(link)}

    def sections(self, link: Link) -> Mapping[str, int]:
        single = ("MODE", "REASON", "AGE", "SILENCE", "DEAF", "ALARM", "RAMPED", "OWED")
        wide = dict.fromkeys(("SHAPED", "WANTED"), link.width)
        own = {**dict.fromkeys(single, 1), **wide, "SAFETY": SAFETY_SIZE, "COUNTS": COUNTS_SIZE}
        return {**super().sections(link), **own}

    def recorded(self) -> Mapping[str, str]:
        return {**super().recorded(), "mode": "MODE", "wanted": "WANTED"}

    def numbers(self, link: Link) -> dict[str, Any]:
        return {**super().numbers(link), "CLAMPS": self.clamps, "KEEPS": self.keeps}

    def setup(self, link: Link) -> Mapping[str, Any]:
        safety = [self.slew, self.most, self.ramp, self.fastest, self.patience, self.linger, self.drag]
        return {**super().setup(link), "SAFETY": [*safety, 0.2 * link.seconds]}

    kernels: ClassVar = (
        sampling.uniform, measure, sampling.sense, sampling.oppose, sampling.ahead, *K.KERNELS,
        speed, within, shape_wanted, decide, release, exchange, ledger_clamp.account,
    )  # fmt: skip
