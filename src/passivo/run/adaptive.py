"""Runs whose step follows its error: `pv.simulate(model, method, step=pv.Adaptive(1e-6), until=10)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ConvergenceError, InputError, StepError, nearest
from passivo.kernel import adapt as K
from passivo.run.inputs import Held, Inputs, Noise
from passivo.run.record import checked_room
from passivo.run.run import Run

if TYPE_CHECKING:
    from passivo.method.part import CompiledPart
    from passivo.model.system import Model

PIECE = 4096  # rows recorded at once
SMALLEST = 1e-12  # of the duration, a pair of steps
FIRST = 1e-3


@dataclass(frozen=True)
class Adaptive:
    """A step that follows its error: two steps at a time are compared with one of twice the size.

    tolerance  of the error of such a pair, as a share of the size of each state
    first      seconds of the first pair; default a thousandth of the run
    least      seconds of a pair below which a run stops, because the tolerance is out of reach
    most       seconds of the largest pair
    sizes      state -> the size against which its error counts; default: the largest that it, or another state of the
               same unit, has had so far; with constraints also another position, or another momentum

    The pair is what the run keeps: whatever a method keeps with a fixed step it keeps here, and every step is booked.
    That it is compared costs half as much again. Works for every method, with feedback, loss and functions of t.
    """

    tolerance: float = 1e-6
    first: float | None = None
    least: float | None = None
    most: float | None = None
    sizes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _number(self.tolerance) or not 0.0 < self.tolerance < 1.0:
            raise InputError(f"the tolerance of Adaptive lies between 0 and 1, not {self.tolerance!r}; take 1e-6")
        for name in ("first", "least", "most"):
            value = getattr(self, name)
            if value is not None and not (_number(value) and 0.0 < value < math.inf):
                raise InputError(f"{name} of Adaptive is a positive number of seconds, not {value!r}")
        if not isinstance(self.sizes, Mapping):
            raise InputError(f"sizes of Adaptive are given by state, as in {{'q': 0.1}}, not {self.sizes!r}")
        object.__setattr__(self, "sizes", {str(name): value for name, value in self.sizes.items()})
        for name, value in self.sizes.items():
            if not (_number(value) and 0.0 < value < math.inf):
                raise InputError(f"the size of {name!r} in Adaptive is a positive number, not {value!r}")

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    def pace(self, until: float, order: int) -> np.ndarray:
        """What the kernels go by, for a run of `until` seconds."""
        most = min(self.most or math.inf, until)
        pace = np.zeros(K.P_SIZE)
        pace[K.P_NEXT] = min(self.first or FIRST * until, most)
        pace[K.P_LEAST] = self.least or SMALLEST * until
        pace[[K.P_MOST, K.P_UNTIL, K.P_TOLERANCE, K.P_ORDER]] = most, until, self.tolerance, order
        if not pace[K.P_LEAST] <= pace[K.P_NEXT]:
            raise InputError(
                f"Adaptive needs least <= first <= most, but they are {pace[K.P_LEAST]:g}, {pace[K.P_NEXT]:g} and "
                f"{most:g} s in a run of {until:g} s"
            )
        return pace

    def reach(self, model: Model, state: Sequence[float] | np.ndarray) -> np.ndarray:
        """The size of each state at the start, and then its kind: states of one unit start from rest together."""
        for name in self.sizes:
            if name not in model.states:
                raise InputError(f"sizes of Adaptive name {name!r}, which is no state; {nearest(name, model.states)}")
        sizes = [max(self.sizes.get(name, 0.0), abs(x)) for name, x in zip(model.states, state)]
        kinds, found = dict[Any, int](), list[float]()
        for name in model.states:
            kind: Any = name
            if name not in self.sizes:
                kind = (name in model.positions,) if model.constraints else (model.unit(name) or name,)
            kinds.setdefault(kind, len(kinds))
            found.append(float(kinds[kind]))
        return np.array([*sizes, *found])


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def checked_drive(model: Model, given: Mapping[str, Any] | None) -> Inputs:
    """Inputs that are known at any time: one value per step means nothing where steps are not known beforehand."""
    for name, value in given.items() if isinstance(given, Mapping) else ():
        width = model.ports[str(name)].width if str(name) in model.ports else 1
        table = isinstance(value, np.ndarray | list) and np.shape(value) not in ((), (width,))
        if table or isinstance(value, Held | Noise):
            raise InputError(
                f"the input {str(name)!r} has one value per step, and an Adaptive step is not known beforehand; "
                "give a number, a function of t, a Feedback or a Relation, or take a fixed step"
            )
    return Inputs(model, given, 1).fresh()


class AdaptiveRecorder:
    """Steps a part by pairs whose size follows their error, and keeps every n-th row."""

    def __init__(
        self,
        part: CompiledPart,
        inputs: Inputs,
        step: Adaptive,
        until: float,
        every: int,
        progress: Callable[[int, int], None] | None,
    ):
        self.part, self.inputs, self.step, self.until, self.every = part, inputs, step, until, every
        self.progress = progress
        self.pace = step.pace(until, part.method.order)
        self.reach = step.reach(part.model, part.state)
        self.whole, self.kept = np.empty_like(part.memory), np.empty_like(part.memory)
        self.rows: list[np.ndarray] = []
        self.sizes: list[np.ndarray] = []
        self.first = part.state.copy()

    def go(self) -> Run:
        part = self.part
        part._refresh()
        self.rows.append(part._section("REPORT", part.module.REPORT_SIZE).copy()[None])
        advance = self._held if self.inputs.constant else self._driven
        try:
            while part.module.left_of(part.memory, self.pace) > 0.0:
                with np.errstate(all="ignore"):
                    advance()
                if status := int(part.memory[part.module.STATUS]):
                    raise self._failure(status)
                checked_room(sum(map(len, self.rows)) * part.module.REPORT_SIZE, self.every)
                if self.progress is not None:
                    self.progress(int(1000 * min(part.time / self.until, 1.0)), 1000)
        except StepError as error:
            error.run = self._finish(str(error))
            raise
        except BaseException as error:
            why = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__
            error.run = self._finish(f"stopped by {why}")  # type: ignore[attr-defined]
            raise
        return self._finish("")

    def _room(self) -> tuple[np.ndarray, np.ndarray]:
        return np.empty((PIECE, self.part.module.REPORT_SIZE)), np.empty(PIECE)

    def _keep(self, out: np.ndarray, sizes: np.ndarray, count: int) -> None:
        self.rows.append(out[:count].copy())
        self.sizes.append(sizes[:count].copy())

    def _held(self) -> None:
        """Many pairs with the same inputs, in one call."""
        part, (out, sizes) = self.part, self._room()
        table = np.repeat(self.inputs.rows(0, np.zeros((1, part.module.STAGES))), 3, axis=0)
        scratch = (self.whole, self.kept, self.reach, self.pace)
        self._keep(out, sizes, part.module.adapt_all(part.memory, *scratch, table, out, sizes, self.every))

    def _driven(self) -> None:
        """Pair by pair, the inputs read at the times of the pair at hand."""
        part, (out, sizes) = self.part, self._room()
        nodes, count, rows = np.array(part.method.nodes), part.steps, 0
        while rows + 2 <= PIECE and part.module.left_of(part.memory, self.pace) > 0.0:
            h = part.module.proposed(part.memory, self.pace)
            begins, sizes_of = np.array([0.0, 0.0, 0.5 * h]), np.array([h, 0.5 * h, 0.5 * h])
            table = self.inputs.rows(count, part.time + begins[:, None] + sizes_of[:, None] * nodes)
            table = np.repeat(table, 3, axis=0) if len(table) == 1 else table
            scratch = (self.whole, self.kept, self.reach, self.pace)
            rows = part.module.adapt(part.memory, *scratch, table, out, sizes, rows, self.every)
            if part.memory[part.module.STATUS]:
                break
        self._keep(out, sizes, rows)

    def _failure(self, status: int) -> StepError:
        part, size = self.part, float(self.pace[K.P_NEXT])
        if status != K.OUT_OF_REACH:
            return part.failure(status)
        state = dict(zip(part.model.states, part.state.tolist()))
        return ConvergenceError(
            f"the error of {type(part.method).__name__} stays above {self.step.tolerance:g} of the states down to "
            f"steps of {0.5 * size:.3g} s, at t = {part.time:.9g} s. Take a larger tolerance, or say the size of the "
            "states: Adaptive(sizes={...})",
            time=part.time,
            state=state,
        )

    def _finish(self, why: str) -> Run:
        part = self.part
        if part.steps % self.every:  # the last row always counts
            part._refresh()
            self.rows.append(part._section("REPORT", part.module.REPORT_SIZE).copy()[None])
        rows = np.concatenate(self.rows)
        sizes = np.concatenate(self.sizes) if self.every == 1 and self.sizes else np.empty(0)
        return Run(
            part, self.inputs, rows, self.every, part.steps, self.first, 0, why, pace=self.step, sizes=sizes,
            until=self.until,
        )  # fmt: skip
