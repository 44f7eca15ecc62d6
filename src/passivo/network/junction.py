"""What a junction is: how two ports that step at their own rates exchange signals, and what it books.

A junction receives, at each end, minus the work of the part's port there (design section 4). It knows nothing of a part
but its output, the input it holds, the work it really took in and the integral of its output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar

from passivo.errors import InputError

if TYPE_CHECKING:
    from passivo.method.base import Method
    from passivo.model.system import Model
    from passivo.provided import *


@dataclass(frozen=True)
class Side:
    """One end of a link: the port of a part. `period` is the part's step in ticks of the network."""

    port: str
    kind: str
    width: int
    period: int
    method: Method
    model: Model
    opaque: bool = False  # nothing is known of the energy behind it
    coupled: bool = False  # the port is the far end of a coupling's spring

    @property
    def sign(self) -> int:
        """What the other side's output is multiplied by on its way in: the flow passes, the effort changes sign."""
        return 1 if self.kind == "flow" else -1


@dataclass(frozen=True)
class Link:
    """Two ports joined through a junction; which end was named first makes no difference."""

    name: str
    effort: Side
    flow: Side
    tick: float  # seconds

    @property
    def period(self) -> int:
        """Ticks between two exchanges."""
        return lcm(self.effort.period, self.flow.period)

    @property
    def seconds(self) -> float:
        """Seconds between two exchanges."""
        return self.period * self.tick

    @property
    def fast(self) -> Side:
        """The side with the shorter step; at equal steps the flow side, but with a coupling the device."""
        return self.effort if self.effort.period < self.flow.period + self.flow.coupled else self.flow

    @property
    def slow(self) -> Side:
        return self.flow if self.fast is self.effort else self.effort

    @property
    def width(self) -> int:
        return self.effort.width

    @property
    def opaque(self) -> bool:
        """Whether one side is opaque: then the verdict is about the other side's port."""
        return self.effort.opaque or self.flow.opaque


@dataclass(frozen=True)
class Junction:
    """Base of all junctions: a frozen dataclass of options whose kernels the generated module calls.

    exchange  at the start of a link's period, all outputs fresh: set the inputs of both sides
    turn      between the steps of the two sides, where `slow_steps_first` or `slow_steps_last` says so
    account   at the end of the period, with the joules the junction received: fill LINK_CHANGE, LINK_LOST, LINK_BOOKED

    keeps_book       it keeps a memory of what it created
    allowance_share  of the largest honest energy that may be created and still be called booked
    allowance        joules that may be created and still be called booked
    """

    keeps_book: ClassVar[bool] = False
    allowance_share: ClassVar[float] = 0.0
    allowance: ClassVar[Any] = 0.0
    kernels: ClassVar[tuple[Callable, ...]] = ()
    senses: ClassVar[Any] = False  # it reads a device through a sensor, which has a ledger row of its own
    samples: ClassVar[bool] = False  # it has a sensor that a program may see its device through
    follows_model: ClassVar[Any] = False  # `setup` takes something from the model of the effort side
    guards: ClassVar[bool] = False  # it guards the effort side's port: the verdict is about that, whatever is behind
    couples: ClassVar[bool] = False  # it joins two effort ports by a spring that steps with one of them
    flow_first: ClassVar[bool] = False  # `ahead` gives the flow side its input, whatever it answers
    halves: ClassVar[bool] = False  # the two directions are independent: to_effort and to_flow instead of exchange

    def describe(self) -> dict[str, Any]:
        return {"junction": type(self).__name__, **asdict(self)}

    def shape(self, link: Link) -> dict[str, Any]:
        """What of the description shapes the code; values that are set up in the memory may be left out."""
        return self.describe()

    def check(self, link: Link) -> None:
        """Raise where the junction does not fit the two ports."""

    def slow_steps_first(self, link: Link) -> bool:
        """Whether the slow side steps at the start of the link's period."""
        return False

    def slow_steps_last(self, link: Link) -> bool:
        """Whether `turn` sets the slow side's input after the fast side has stepped."""
        return False

    def sections(self, link: Link) -> Mapping[str, int]:
        """Memory of the junction: name -> size."""
        return {}

    def recorded(self) -> Mapping[str, str]:
        """Name for the record -> section."""
        return {}

    def numbers(self, link: Link) -> dict[str, Any]:
        """Constants that the kernels need besides those of the link."""
        return {}

    def setup(self, link: Link) -> Mapping[str, Any]:
        """Section -> values to start with."""
        return {}


def whole_ratio(link: Link, name: str) -> int:
    """Slow period over fast period, which must be whole."""
    slow, fast = link.slow, link.fast
    if slow.period % fast.period:
        raise InputError(
            f"{name} on {link.name!r} needs a whole ratio of steps, but {slow.port} and {fast.port} step as "
            f"{slow.period}:{fast.period}; change a step, or put a part with a step that divides both between them"
        )
    return slow.period // fast.period


# -- kernels every junction uses ------------------------------------------------------------------------------------


def give(m, at, stride, stages, value):
    """Hold `value` at an input, at every stage of the method that reads it."""
    for s in range(stages):
        m[at + s * stride] = value


def settle(m):
    """End of a link's period: the junction received minus what the two parts took in.

    `account` may put aside what its sensor made of that, with a bound: a row of its own (LINK_ROWS is 2).
    """
    work = 0.0
    size = 0.0
    for k in range(LINK_WIDTH):
        work -= m[EFFORT_TAKEN + k] + m[FLOW_TAKEN + k]
        size += m[EFFORT_SIZE + k] + m[FLOW_SIZE + k]
    for k in range(LINK_ENTRIES):
        m[LINK_CHANGE + k] = 0.0
    account(m, work)
    if OPAQUE:
        work = watch(m, work)
    size += abs(m[LINK_CHANGE]) + abs(m[LINK_LOST])
    m[LINK_COUNT] += 1.0
    add(m, LINK_TIME, m[LINK_PERIOD])
    time = m[LINK_TIME] + m[LINK_TIME + 1]
    aside = m[LINK_ASIDE] if LINK_ROWS > 1 else 0.0
    enter(m, LINK_ACCOUNT, m[LINK_CHANGE], work + aside, m[LINK_LOST], m[LINK_BOOKED], size, time)
    remember(m, LINK_ACCOUNT, m[LINK_COUNT])
    if LINK_ROWS > 1:
        slack = m[LINK_SLACK] / (16.0 * EPSILON)
        at = LINK_ACCOUNT + ACCOUNT_SIZE
        m[at + A_ROUNDOFF] = max(m[at + A_ROUNDOFF], m[LINK_REST])
        enter(m, at, 0.0, -aside, 0.0, 0.0, size + slack, time)
        remember(m, at, m[LINK_COUNT])
        m[TOTAL + A_ROUNDOFF] = max(m[TOTAL + A_ROUNDOFF], m[LINK_REST])
        m[ALL_SCALE] += slack
    m[LINK_STORED] += m[LINK_CHANGE]
    m[ALL_CHANGE] += m[LINK_CHANGE]
    m[ALL_LOST] += max(m[LINK_LOST], 0.0)
    m[ALL_BOOKED] += m[LINK_BOOKED]
    m[ALL_SCALE] += size
    for k in range(LINK_WIDTH):
        m[EFFORT_TAKEN + k] = 0.0
        m[FLOW_TAKEN + k] = 0.0
        m[EFFORT_SIZE + k] = 0.0
        m[FLOW_SIZE + k] = 0.0


def watch(m, work):
    """At a guarded port, or in front of an opaque side: what counts is the energy given to it beyond all it gave.

    The junction and what is behind it store what they received (a known side its own share); what they gave beyond
    that they created. What an opaque side took in is no energy: it is left out. Returns the work for the ledger.
    """
    hidden = 0.0
    for k in range(LINK_WIDTH):
        hidden += m[OPAQUE_TAKEN + k]
    received = work + hidden
    add(m, LINK_RECEIVED, received)
    beyond = max(-(m[LINK_RECEIVED] + m[LINK_RECEIVED + 1]) - m[LINK_BEYOND], 0.0)
    m[LINK_BEYOND] += beyond
    m[LINK_CHANGE] = received + beyond if SIDE_IS_OPAQUE else received + beyond - hidden
    m[LINK_LOST] = 0.0
    m[LINK_BOOKED] = beyond if KEEPS_BOOK else 0.0
    return received if SIDE_IS_OPAQUE else work


def opened(m):
    """After the exchange: the integrals of the outputs begin anew."""
    for k in range(LINK_WIDTH):
        m[EFFORT_MOVED + k] = 0.0
        m[FLOW_MOVED + k] = 0.0


def account(m, work):
    """Nothing is stored, lost or booked."""
    m[LINK_BOOKED] = 0.0


def link_report(m):
    """LINK_REPORT: time, what the junction shows, and its ledger columns."""
    at = LINK_REPORT
    m[at] = m[LINK_TIME] + m[LINK_TIME + 1]
    for k in range(SEEN_COUNT):
        m[at + 1 + k] = m[SEEN + k]
    show_link(m, at + 1 + SEEN_COUNT)


def show_link(m, at):
    """The columns of a link's accounts."""
    show(m, LINK_ACCOUNT, at, m[LINK_STORED])
    if LINK_ROWS > 1:
        show(m, LINK_ACCOUNT + ACCOUNT_SIZE, at + LEDGER_COLUMNS, 0.0)


KERNELS = (watch, opened, settle, show_link, link_report)
