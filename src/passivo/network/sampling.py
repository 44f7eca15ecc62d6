"""The sampled port: a device's position as a program sees it, through an encoder, late, with jitter and gaps.

Junctions that read a device inherit these options. Positions are integrals of the device's output; what the program
knows is MEASURED, and INCREMENT since the last sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from passivo.errors import InputError
from passivo.network.junction import Junction, Link, whole_ratio

if TYPE_CHECKING:
    from passivo.provided import *

LONGEST_DELAY = 1000  # samples


def uniform(m, at):
    """A number in [0, 1) from a generator of 32 bits kept in m[at], in arithmetic that is exact on doubles."""
    x = 1664525.0 * m[at] + 1013904223.0
    x -= 4294967296.0 * float(int(x / 4294967296.0))
    m[at] = x
    return x / 4294967296.0


def measure(m):
    """Move PLACE by what the device really moved; MEASURED and INCREMENT are what is seen of it."""
    for k in range(LINK_WIDTH):
        m[PLACE + k] += m[EFFORT_MOVED + k]
    lost = DROPPED > 0.0 and uniform(m, RANDOM) < DROPPED
    m[GONE] = 1.0 if lost else 0.0
    slot = int(m[LINK_COUNT]) % (DELAY + 1)
    for k in range(LINK_WIDTH):
        seen = m[PLACE + k]
        if JITTER > 0.0:  # the sample was taken early or late, at the mean velocity of the last period
            seen += (2.0 * uniform(m, RANDOM) - 1.0) * JITTER * m[EFFORT_MOVED + k]
        if ENCODER[k] > 0.0:
            seen = ENCODER[k] * float(round(seen / ENCODER[k]))
        m[LINE + (DELAY + 1) * k + slot] = seen
        if DELAY > 0:
            late = int(m[LINK_COUNT]) - DELAY
            seen = m[LINE + (DELAY + 1) * k + late % (DELAY + 1)] if late >= 0 else 0.0
        if lost:
            seen = m[MEASURED + k]
        m[INCREMENT + k] = seen - m[MEASURED + k]
        m[MEASURED + k] = seen


def ahead(m):
    """The program gets the velocity that was seen, before it is asked for its effort."""
    for k in range(LINK_WIDTH):
        give(m, FLOW_INPUT + k, FLOW_STRIDE, FLOW_STAGES, m[INCREMENT + k] / m[LINK_PERIOD])


def oppose(m, k, effort):
    """The device holds an effort against its motion until the next sample."""
    m[TURN + k] = abs(effort - m[HELD + k])
    m[HELD + k] = effort
    give(m, EFFORT_INPUT + k, EFFORT_STRIDE, EFFORT_STAGES, -effort)


def sense(m):
    """`measure`, and the energy by which what is seen differs from what the device did, with its bound (spec 1.5)."""
    measure(m)
    if SENSES:
        for k in range(LINK_WIDTH):
            m[LINK_ASIDE] += m[EFFORT_TAKEN + k] + m[HELD + k] * m[INCREMENT + k]
            m[LINK_SLACK] += 0.5 * ENCODER[k] * m[TURN + k]
            m[LINK_REST] += ENCODER[k] * abs(m[HELD + k])
            m[BOUND] += 0.5 * ENCODER[k] * m[TURN + k]


@dataclass(frozen=True)
class SampledJunction(Junction):
    """Base of junctions between a continuous device (effort port) and a program (flow port).

    encoder  resolution of the device's position, in its unit, or one per component; 0 for an ideal one
    delay    whole samples by which positions arrive late
    jitter   of the instant of sampling, as a share of the period
    dropped  share of samples that are lost: the last position is seen again
    seed     of jitter and losses
    """

    encoder: float | Sequence[float] = 0.0
    delay: int = 0
    jitter: float = 0.0
    dropped: float = 0.0
    seed: int = 0

    samples: ClassVar = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.encoder, np.ndarray | list):
            object.__setattr__(self, "encoder", tuple(np.asarray(self.encoder).tolist()))
        steps = [("encoder", step) for step in self.resolutions()]
        for option, value in (*steps, ("jitter", self.jitter), ("dropped", self.dropped)):
            if not isinstance(value, int | float) or not (isfinite(value) and value >= 0):
                raise InputError(f"{name}'s {option} must be a number >= 0, not {value!r}")
        if self.dropped >= 1 or self.jitter > 1:
            raise InputError(f"{name}'s dropped must be below 1 and jitter at most 1: they are shares")
        if not isinstance(self.delay, int) or not 0 <= self.delay <= LONGEST_DELAY:
            raise InputError(
                f"{name}'s delay is a whole number of samples from 0 to {LONGEST_DELAY}, not {self.delay!r}"
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"{name}'s seed must be a whole number >= 0, not {self.seed!r}")

    def resolutions(self, width: int = 1) -> tuple[Any, ...]:
        """The encoder's step of each component."""
        return tuple(self.encoder) if isinstance(self.encoder, tuple) else (self.encoder,) * width

    @property
    def senses(self) -> bool:
        return bool(any(self.resolutions()) or self.delay or self.jitter or self.dropped)

    def check(self, link: Link) -> None:
        name = type(self).__name__
        whole_ratio(link, name)
        if link.effort.period > link.flow.period:
            raise InputError(
                f"{name} on {link.name!r} samples the device {link.effort.port} for {link.flow.port}, which must not "
                "step faster than the device; give the device the smaller step"
            )
        if isinstance(self.encoder, tuple) and len(self.encoder) != link.width:
            raise InputError(
                f"{name} on {link.name!r} has {len(self.encoder)} encoder steps for a port {link.width} wide"
            )

    def sections(self, link: Link) -> Mapping[str, int]:
        own = dict.fromkeys(("MEASURED", "HELD", "INCREMENT", "PLACE", "TURN"), link.width)
        return {**own, "BOUND": 1, "GONE": 1, "LINE": link.width * (self.delay + 1), "RANDOM": 1}

    def recorded(self) -> Mapping[str, str]:
        return {"position": "MEASURED", "effort": "HELD", "encoder bound": "BOUND"}

    def numbers(self, link: Link) -> dict[str, Any]:
        return {
            "SENSES": self.senses,
            "ENCODER": tuple(map(float, self.resolutions(link.width))),
            "DELAY": self.delay,
            "JITTER": float(self.jitter),
            "DROPPED": float(self.dropped),
        }

    def setup(self, link: Link) -> Mapping[str, Any]:
        return {"RANDOM": seeded(self.seed)}


def seeded(seed: int) -> float:
    """The first state of `uniform`."""
    return float((seed * 2654435761 + 12345) % 2**32)


KERNELS = (uniform, measure, sense, oppose)
