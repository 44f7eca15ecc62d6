"""`DelayLine`: a port over a network with delay, kept passive by wave variables.

With the impedance b, an end that takes the effort F and gives the flow v turns the wave s that comes in into
`F = −√(2b) s − b v` and sends `s + √(2b) v`; an end that takes the flow w and gives the effort f turns r into
`w = (√(2b) r − f)/b` and sends `√(2/b) f − r`. The power taken in at an end is `½ in² − ½ out²`. A held input breaks
that, so the size of what is sent follows from the work that the end really took in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isfinite, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError
from passivo.network.junction import Junction, Link
from passivo.network.sampling import seeded, uniform

if TYPE_CHECKING:
    from passivo.provided import *

LONGEST_LINE = 100_000  # exchanges


def arrive(m, line, k):
    """The wave that arrives at this exchange: all packets that are due, as one of their energy; 0 where none is."""
    now = int(m[LINK_COUNT])
    energy = 0.0
    total = 0.0
    for late in range(DELAY, DELAY + VARYING + 1):
        sent = now - 1 - late
        if sent >= 0:
            at = line + 2 * (k * LINE_LENGTH + sent % LINE_LENGTH)
            if 0.0 < m[at] <= float(now):
                energy += m[at + 1] * m[at + 1]
                total += m[at + 1]
                m[at] = 0.0
    return sqrt(energy) if total >= 0.0 else -sqrt(energy)


def exchange(m):
    """Each end gets what the wave that comes in and its own output ask for."""
    root = sqrt(2.0 * IMPEDANCE)
    for k in range(LINK_WIDTH):
        s = arrive(m, LEFTWARD, k)
        r = arrive(m, RIGHTWARD, k)
        m[CAME + 2 * k] = s
        m[CAME + 2 * k + 1] = r
        give(m, EFFORT_INPUT + k, EFFORT_STRIDE, EFFORT_STAGES, -root * s - IMPEDANCE * m[EFFORT_OUTPUT + k])
        give(m, FLOW_INPUT + k, FLOW_STRIDE, FLOW_STAGES, (root * r - m[FLOW_OUTPUT + k]) / IMPEDANCE)


def depart(m, line, k, end, work, wave):
    """Send a wave of the sign of `wave` with the energy that came in at an end and was not taken there.

    What was taken beyond it is a debt, paid by what is sent later. Returns the change of stored energy.
    """
    period = m[LINK_PERIOD]
    came = 0.5 * period * m[CAME + end] * m[CAME + end]
    rest = came - work - m[DEBT + end]
    m[DEBT + end] = max(-rest, 0.0)
    rest = max(rest, 0.0)
    late = DELAY
    if VARYING > 0:
        late += int(uniform(m, RANDOM) * (VARYING + 1))
    now = int(m[LINK_COUNT])
    at = line + 2 * (k * LINE_LENGTH + now % LINE_LENGTH)
    size = sqrt(2.0 * rest / period)
    m[at] = float(now + 1 + late)
    m[at + 1] = size if wave >= 0.0 else -size
    return rest - came


def account(m, work):
    """The waves on their way are stored; the debt is what the line created."""
    root = sqrt(2.0 * IMPEDANCE)
    debt = 0.0
    for k in range(LINK_WIDTH):
        debt -= m[DEBT + 2 * k] + m[DEBT + 2 * k + 1]
        wave = m[CAME + 2 * k] + root * m[EFFORT_MOVED + k] / m[LINK_PERIOD]
        m[LINK_CHANGE] += depart(m, RIGHTWARD, k, 2 * k, m[EFFORT_TAKEN + k], wave)
        wave = root * m[FLOW_MOVED + k] / (IMPEDANCE * m[LINK_PERIOD]) - m[CAME + 2 * k + 1]
        m[LINK_CHANGE] += depart(m, LEFTWARD, k, 2 * k + 1, m[FLOW_TAKEN + k], wave)
        debt += m[DEBT + 2 * k] + m[DEBT + 2 * k + 1]
    m[LINK_BOOKED] = debt


@dataclass(frozen=True)
class DelayLine(Junction):
    """A connection over a network: what one end sends reaches the other later; the waves on their way are stored.

    delay      seconds between sending and arriving, rounded up to whole exchanges; one exchange always passes
    varying    further seconds by which a packet may be late, at random; packets may overtake each other
    impedance  of the waves, effort over flow: to fast motion the line feels like a damper of this size
    seed       of the varying delay

    Take methods whose work follows the mean output, such as AVF or ExactHold(port="true"): with those that work with
    the output at the start of a step (EnergyConsistent) the debts grow, and the ledger says so.
    """

    delay: float = 0.0
    varying: float = 0.0
    impedance: float = 1.0
    seed: int = 0

    keeps_book: ClassVar = True
    allowance_share: ClassVar = 0.1
    kernels: ClassVar = (uniform, arrive, exchange, depart, account)

    def __post_init__(self) -> None:
        for name, least in (("delay", 0.0), ("varying", 0.0), ("impedance", 5e-324)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not (isfinite(value) and value >= least):
                what = "> 0" if least else ">= 0"
                raise InputError(f"DelayLine's {name} must be a number {what}, not {value!r}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"DelayLine's seed must be a whole number >= 0, not {self.seed!r}")

    def check(self, link: Link) -> None:
        if sum(self.late(link)) > LONGEST_LINE:
            raise InputError(
                f"a DelayLine of {self.delay + self.varying:g} s holds more than {LONGEST_LINE} exchanges of "
                f"{link.seconds:g} s; shorten the delay, or exchange less often"
            )

    def late(self, link: Link) -> tuple[int, int]:
        """Delay and varying delay in exchanges."""
        late, varying = (ceil(round(time / link.seconds, 9)) for time in (self.delay, self.varying))
        return late, varying

    def shape(self, link: Link) -> dict[str, Any]:
        return {"junction": "DelayLine", **self.numbers(link)}

    def sections(self, link: Link) -> Mapping[str, int]:
        line = 2 * link.width * (sum(self.late(link)) + 1)
        return {"CAME": 2 * link.width, "DEBT": 2 * link.width, "RANDOM": 1, "LEFTWARD": line, "RIGHTWARD": line}

    def recorded(self) -> Mapping[str, str]:
        return {"waves": "CAME", "debt": "DEBT"}

    def numbers(self, link: Link) -> dict[str, Any]:
        late, varying = self.late(link)
        return {
            "DELAY": late,
            "VARYING": varying,
            "LINE_LENGTH": late + varying + 1,
            "IMPEDANCE": float(self.impedance),
        }

    def setup(self, link: Link) -> Mapping[str, Any]:
        return {"RANDOM": seeded(self.seed)}
