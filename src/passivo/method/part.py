"""A system with a method, compiled: the `Part` that everything else steps, connects, runs and shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import ModuleType
from typing import Any, Protocol, get_args, runtime_checkable

import numpy as np

from passivo.errors import (
    ConvergenceError,
    DomainError,
    InputError,
    MethodError,
    ModelError,
    NonFiniteError,
    StepError,
    nearest,
)
from passivo.kernel import tick
from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict, judge
from passivo.method.base import Method
from passivo.method.generate import Engine, generate
from passivo.method.one_stage import ExplicitEuler, ImplicitMidpoint
from passivo.model.feedback import Law
from passivo.model.system import Model

SHOWN = 12  # states in a message
CONSISTENT = 64.0  # |g| and |f| of a state, in units of their rounding


@runtime_checkable
class Part(Protocol):
    """The contract of every stepping thing (design section 3).

    After `step`: `work` in joules per port component, the integral the method itself used; `lost` >= 0; `stored`;
    `output` at the present state, ready for the next exchange; `mean_output`, the conjugate of the held input.
    """

    def step(self, u: Any = ..., dt: float | None = ...) -> int: ...
    @property
    def work(self) -> np.ndarray: ...
    @property
    def lost(self) -> float: ...
    @property
    def stored(self) -> float: ...
    @property
    def output(self) -> np.ndarray: ...
    @property
    def mean_output(self) -> np.ndarray: ...


class CompiledPart:
    """A model and a method in one flat memory, stepped by machine code. Made by `pv.compile`.

    `step(u, dt)` takes about a microsecond; `u` holds one number per port component (signals after them) and is held
    over the step. Views such as `state` and `work` show the memory itself: copy what has to last.
    """

    def __init__(
        self,
        model: Model,
        method: Method,
        step: float,
        module: ModuleType,
        engine: Engine,
        laws: Mapping[str, Any],
        memory: np.ndarray | None = None,
    ):
        self.model, self.method, self.engine = model, method, engine
        self.laws = dict(laws)
        self.module = module
        self.dt = step
        self.memory = np.zeros(module.SIZE) if memory is None else memory  # in a network all parts share one
        self.params = dict(model.params)
        self._bind()
        self._section("PARAM", len(self.params))[:] = list(self.params.values())
        if len(model.figures):
            self._section("FIGURES", len(model.figures))[:] = model.figures
        self.house = model.house(self.memory, module)
        if (first := model.initial) is not None:
            self.state[:] = [first[name] for name in model.states]
        self.half_at(1)
        self.allowance: float | None = None
        self._refresh()
        self._measure()

    def _bind(self) -> None:
        """Views into the memory, and the compiled functions."""
        module, n, w = self.module, self.module.STATES, self.module.WIDTH
        self.state = self._section("STATE", n)
        self.inputs = self._section("INPUT", module.STAGES * (w + module.SIGNALS))
        self.work = self._section("WORK", w)
        self.mean_output = self._section("MEAN", w)
        # plain Python gives NaN and inf as machine code does: without a warning
        quiet = np.errstate(all="ignore") if self.engine == "python" else lambda function: function
        self._tick: Callable = quiet(module.step)
        self._peek: Callable = quiet(module.look)
        self._single = module.STAGES * (w + module.SIGNALS) == 1

    def _section(self, name: str, size: int) -> np.ndarray:
        start = getattr(self.module, name)
        return self.memory[start : start + size]

    def _look(self) -> None:
        self._peek(self.memory)

    def _refresh(self) -> None:
        with np.errstate(all="ignore"):
            self.module.refresh(self.memory)

    @property
    def height(self) -> float:
        """Joules above the minimum when states were last set by hand; all that is stored where none is stated."""
        return float(self._section("HEIGHT", self.module.ROWS).sum())

    def _measure(self) -> None:
        """Heights less C, after the state or the parameters were set by hand."""
        heights = self._section("HEIGHT", self.module.ROWS)
        levels = [*heights, heights.sum()] if self.module.ROWS > 1 else heights
        for row, height in enumerate(levels):
            account = self._account(row)
            account[A.A_LEVEL] = height - (account[A.A_CREATED] + account[A.A_CREATED + 1])
            account[A.A_PEAK] = account[A.A_LEVEL] if self.steps == 0 else max(account[A.A_PEAK], account[A.A_LEVEL])

    def _account(self, row: int) -> np.ndarray:
        at = self.module.ACCOUNTS + row * A.ACCOUNT_SIZE
        return self.memory[at : at + A.ACCOUNT_SIZE]

    def half_at(self, count: int) -> None:
        """Remember the bias at step `count` and at its doublings, to tell later whether it still grew."""
        for row in range(self.module.ACCOUNTS_COUNT):
            self._account(row)[A.A_MARK] = float(max(count, 1))

    # -- stepping ---------------------------------------------------------------------------------------------------

    def step(self, u: Any = None, dt: float | None = None) -> int:
        """One step with `u` held; returns 0, or raises a `StepError` and leaves the state as it was."""
        if u is not None:
            self._set_input(u)
        status = self._tick(self.memory, self.dt if dt is None else _positive(dt))
        if status:
            raise self.failure(status)
        return status

    def _set_input(self, u: Any) -> None:
        if self._single:
            kind = type(u)  # the fast way: unions in isinstance cost a tenth of a step
            if kind is list or kind is tuple:
                one = u[0] if len(u) == 1 else None
            else:
                one = u if kind is not np.ndarray else u[0] if u.shape == (1,) else None
            if isinstance(one, (float, int)):
                self.inputs[0] = one
                return
        each = self.module.WIDTH + self.module.SIGNALS
        try:
            values = np.atleast_1d(np.asarray(u, dtype=float))
        except (TypeError, ValueError):
            raise InputError(f"step takes numbers ({', '.join(self.input_names) or 'none'}), not {u!r}") from None
        if values.shape != (each,):
            raise InputError(
                f"step takes {each} input values ({', '.join(self.input_names) or 'none'}), got shape {values.shape}"
            )
        self.inputs.reshape(self.module.STAGES, each)[:] = values

    def failure(self, status: int) -> StepError:
        """The error that a status stands for, with time, state and residual."""
        time, state = self.time, dict(zip(self.model.states, self.state.tolist()))
        where = f"at t = {time:.9g} s, in the state {_numbers(state)}"
        match status:
            case tick.UNCONVERGED:
                residual = float(self.memory[self.module.DEFECT])
                message = f"the step of {type(self.method).__name__} {self._unsolved(residual, where)}"
                return ConvergenceError(message, time=time, state=state, residual=residual)
            case tick.OUTSIDE:
                known = filter(None, (getattr(self.model, "domain", None), self.method.domain))
                domain = " or ".join(known) or "of the model"
                message = f"the next step leaves the domain {domain}, {where}. Take a smaller step, or another start"
                return DomainError(message, time=time, state=state)
            case tick.BAD_INPUT:
                bad = np.nonzero(~np.isfinite(self.inputs))[0] % len(self.input_names)
                names = ", ".join(self.input_names[i] for i in dict.fromkeys(bad.tolist()))
                message = f"the input {names} is NaN or infinite, {where}. Check what drives it"
            case tick.CROWDED:
                return StepError(f"{self.model.told_crowd(self.house)}; {where}", time=time, state=state)
            case tick.OVERCROWDED:
                message = f"more contacts than {self.method} solves, {where}. Take contact='sweeps', or fewer bodies"
                return ConvergenceError(message, time=time, state=state)
            case tick.UNSOLVED:
                residual = float(self.memory[self.module.DEFECT])
                message = (
                    f"{self.method} found no impulses that fulfil the law of contact, {where} (residual {residual:.3g} "
                    "of the largest velocity). Take contact='sweeps', or the other exact solver"
                )
                return ConvergenceError(message, time=time, state=state, residual=residual)
            case _:
                message = f"the next state or its energy is NaN or infinite, {where}. Take a smaller step"
        return NonFiniteError(message, time=time, state=state)

    def _unsolved(self, residual: float, where: str) -> str:
        if self.model.steps_apart:
            return f"does not come to rest on a motion, {where}. Take a smaller step, or softer springs"
        return (
            f"has no solution that Newton's method could find, down to a thousandth of the step, {where} "
            f"(residual {residual:.3g}). Take a smaller step, or check the feedback"
        )

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def input_names(self) -> list[str]:
        names = [
            name if port.width == 1 else f"{name}[{i}]"
            for name, port in self.model.ports.items()
            for i in range(port.width)
        ]
        return names + list(self.model.signals)

    @property
    def time(self) -> float:
        return float(self.memory[self.module.TIME] + self.memory[self.module.TIME + 1])

    @property
    def steps(self) -> int:
        return int(self.memory[self.module.COUNT])

    @property
    def lost(self) -> float:
        """Joules lost in the last step."""
        return float(self._section("LOST", self.module.ROWS).sum())

    @property
    def stored(self) -> float:
        """Joules stored at the present state."""
        self._look()
        return float(self._section("ENERGY", self.module.ROWS).sum())

    @property
    def output(self) -> np.ndarray:
        """Output at the present state, one number per port component."""
        self._look()
        return self._section("OUTPUT", self.module.WIDTH)

    @property
    def iterations(self) -> float:
        """Newton iterations per step so far."""
        return float(self.memory[self.module.ITERATIONS_ALL]) / max(self.steps, 1)

    @property
    def cut_steps(self) -> int:
        """Steps so far that were taken in halves, quarters ... because the whole one could not be solved."""
        return int(self.memory[self.module.CUTS])

    @property
    def verdict(self) -> Verdict:
        names, share = self.module.ROW_NAMES, self.method.allowance_share
        return judge(self.memory, self.module.ACCOUNTS, names, self.allowance, share=share)

    @property
    def faults(self) -> dict[str, int]:
        """How often the method met each kind of fault so far, by name."""
        counts = self._section("COUNTERS", len(self.method.counters))
        return {name: int(count) for name, count in zip(self.method.counters, counts)}

    def report_last(self) -> None:
        """Let the next report show what the last step recorded, not the mean since the report before."""
        count = self.module.RECORDED_COUNT
        self._section("RECORDED_SHOWN", count)[:] = self._section("RECORDED", count)
        self._section("RECORDED_SUM", count)[:] = 0.0
        self._section("RECORDED_TIME", 1)[:] = 0.0

    # -- changing by hand -------------------------------------------------------------------------------------------

    def set(self, **params: float) -> None:
        """Change parameters; the energy this adds or takes is booked as `edited`."""
        values = self.model.changed({**self.params, **params})
        before, kept = self._energies(), (self.params, self.state.copy())
        self._put(values)
        if self.model.constraints:
            try:
                self._follow_constraints()
            except InputError:
                self._put(kept[0])
                self.state[:] = kept[1]
                self._refresh()
                raise
        self._edit(before)

    def _put(self, values: dict[str, float]) -> None:
        self._section("PARAM", len(values))[:] = list(values.values())
        self.params = values

    def _follow_constraints(self) -> None:
        """Where other parameters moved the constraints away from the state, it goes to the nearest that keeps them."""
        self._refresh()
        if not self._section("ASTRAY", 1)[0] <= CONSISTENT:
            self.state[:] = list(_nearest(self).values())

    def place(self, state: Mapping[str, float]) -> None:
        """Move the state by hand; the energy this adds or takes is booked as `edited`, and a new window opens."""
        given = checked_state(self.model, state)
        values, kept, before = self.model.placed(given), self.state.copy(), self._energies()
        for name, value in values.items():
            self.state[self.model.states.index(name)] = value
        self._refresh()
        try:
            _check_state(self, "the state", "place it elsewhere")
            _settle(self, given, "where they are placed")
        except InputError:
            self.state[:] = kept
            self._refresh()
            raise
        self._edit(before)
        for row in range(self.module.ACCOUNTS_COUNT):
            account = self._account(row)
            here = account[A.A_CREATED] + account[A.A_CREATED + 1], self.time
            account[A.A_LOW : A.A_LOW + 2] = account[A.A_HIGH : A.A_HIGH + 2] = here

    def _energies(self) -> np.ndarray:
        self._refresh()
        return self._section("ENERGY", self.module.ROWS).copy()

    def _edit(self, before: np.ndarray) -> None:
        change = self._energies() - before
        rows = [*change, change.sum()] if self.module.ROWS > 1 else change
        for row, value in enumerate(rows):
            A.add(self.memory, self.module.ACCOUNTS + row * A.ACCOUNT_SIZE + A.A_EDITED, float(value))
        self._refresh()
        self._measure()

    def copy(self, memory: np.ndarray | None = None) -> CompiledPart:
        """An independent part in the same state, ledger included; `memory` may be a copy that was made already."""
        twin = object.__new__(CompiledPart)
        twin.__dict__.update(self.__dict__)
        twin.params, twin.memory = dict(self.params), self.memory.copy() if memory is None else memory
        twin.house = self.model.house(twin.memory, self.module)
        twin._bind()
        return twin

    def __repr__(self) -> str:
        return f"<part {self.model.name}: {type(self.method).__name__}, step {self.dt:g} s, t = {self.time:g} s>"


def _positive(dt: Any) -> float:
    """dt as a plain float: any other type of number would be compiled anew."""
    try:
        size = float(dt)
    except (TypeError, ValueError):
        size = math.nan
    if not 0.0 < size < math.inf:
        raise InputError(f"dt must be a positive number of seconds, not {dt!r}")
    return size


def _numbers(state: Mapping[str, float]) -> str:
    told = [f"{name} = {value:.6g}" for name, value in state.items()]
    return ", ".join(told if len(told) <= SHOWN else [*told[:SHOWN], f"and {len(told) - SHOWN} more"])


def checked_state(model: Model, state: Mapping[Any, float]) -> dict[str, float]:
    if not isinstance(state, Mapping):
        raise InputError(f"states are given by name, as in {{'q': 0.2}}, not {state!r}")
    result = {}
    for key, value in _apart(model, state).items():
        if key not in model.states:
            known = [*model.vectors, *model.states]
            raise InputError(f"there is no state {key!r} to start; {nearest(key, known)}")
        try:
            result[key] = float(value)
        except (TypeError, ValueError):
            raise InputError(f"the start of {key!r} must be a number, not {value!r}") from None
        if not math.isfinite(result[key]):
            raise InputError(f"the start of {key!r} must be finite, not {value!r}")
    return result


def _apart(model: Model, state: Mapping[Any, Any]) -> dict[str, Any]:
    """Vectors as their components."""
    result = {}
    for key, value in state.items():
        parts = [part for part in model.vectors.get(str(key), ()) if part in model.states]
        if not parts:
            result[str(key)] = value
            continue
        if np.shape(value) != (len(parts),):
            raise InputError(f"the start of {str(key)!r} must be {len(parts)} numbers, not {value!r}")
        result |= dict(zip(parts, value))
    return result


def seconds(value: Any, what: str) -> Fraction:
    """A duration as the rational its decimal notation says: 1e-3 is exactly 1/1000."""
    try:
        result = Fraction(repr(float(value))) if not isinstance(value, Fraction) else value
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a positive number of seconds, not {value!r}") from None
    if result <= 0:
        raise InputError(f"{what} must be a positive number of seconds, not {value!r}")
    return result


def checked_method(model: Model, method: Any) -> Method:
    """The method with what it takes from the model filled in; a model without states needs none, nor does a law."""
    if method is None and not model.states:
        method = ImplicitMidpoint()  # nothing to advance: any method books the feedthrough
    elif method is None and model.opaque:
        method = ExplicitEuler()  # as programs do
    if not isinstance(method, Method):
        hint = (
            f"write {method.__name__}() with parentheses" if isinstance(method, type) else "give one such as pv.AVF()"
        )
        raise MethodError(f"expected a method, got {method!r}; {hint}")
    if model.opaque and model.states and method.needs_energy:
        raise MethodError(
            f"{type(method).__name__} steps by the energy, and nothing is known of that of the law {model.name!r}; "
            "leave the method out, or take RK4"
        )
    if model.constraints and not method.keeps_constraints:
        raise MethodError(
            f"{type(method).__name__} knows nothing of constraints, and {model.name!r} has some "
            f"({', '.join(model.constraints)}); take ConstrainedSplitting or ConstrainedGradient"
        )
    if model.steps_apart:
        method.world_options()
    if method.keeps_constraints and not model.constraints:
        raise MethodError(
            f"{type(method).__name__} steps models with constraints, and {model.name!r} has none; take AVF or another"
        )
    return method.for_model(model)


def compile(
    model: Model,
    method: Method | None = None,
    step: float = 1e-3,
    *,
    start: Mapping[Any, float] | None = None,
    laws: Mapping[str, Law] | None = None,
    allowance: float | None = None,
    engine: Engine = "numba",
) -> CompiledPart:
    """Compile a model and a method into a part with the given default step.

    start      state name -> value; the others start at the model's minimum, or at 0
    laws       port name -> Feedback or Relation, solved inside the step
    allowance  joules that a method with a book of its own may create and still be called "booked"; default: the
               method's share of the largest energy above the minimum
    engine     "numba" (machine code), "python" (the same source as plain Python: slow, nothing to compile)
    """
    if not isinstance(model, Model):
        raise ModelError(f"expected a System, got {model!r}")
    if engine not in get_args(Engine):
        raise InputError(f"there is no engine {engine!r}; {nearest(str(engine), get_args(Engine))}")
    size = float(seconds(step, "step"))
    method, model = checked_method(model, method), model.snapshot()
    checked_state(model, start or {})
    part = CompiledPart(model, method, size, generate(model, method, laws or {}, engine), engine, laws or {})
    part.allowance = checked_allowance(allowance)
    place_start(part, start or {})
    return part


def place_start(part: CompiledPart, start: Mapping[Any, float]) -> None:
    """Put a part into its first state."""
    places = {name: i for i, name in enumerate(part.model.states)}
    given = checked_state(part.model, start)
    for name, value in part.model.placed(given).items():
        part.state[places[name]] = value
    part._refresh()
    _check_state(part, "the start", "give another start=")
    _settle(part, given, "at the start")
    part._measure()


def checked_allowance(value: Any) -> float | None:
    if value is None:
        return None
    try:
        joules = float(value)
    except (TypeError, ValueError):
        joules = math.nan
    if not 0.0 <= joules < math.inf:
        raise InputError(f"allowance must be a number of joules >= 0, not {value!r}; leave it out for the method's own")
    return joules


def consistent(model: Model, start: Mapping[Any, float]) -> dict[str, float]:
    """The state next to `start` that keeps the constraints of the model and their rates, whole: a `start` for runs.

    Nearest in the metric of the kinetic energy. States that `start` does not name are at the model's minimum, or at 0.
    """
    from passivo.method.constrained import ConstrainedGradient

    if not getattr(model, "constraints", None):
        raise ModelError(f"only a pv.Constrained can be started inconsistently, {model!r} has no constraints")
    method = ConstrainedGradient()
    part = CompiledPart(model, method, 1.0, generate(model, method, {}, "python"), "python", {})
    for name, value in checked_state(model, start).items():
        part.state[model.states.index(name)] = value
    part._refresh()
    return _nearest(part)


def _nearest(part: CompiledPart) -> dict[str, float]:
    """The consistent state next to the present one, checked."""
    twin = part.copy()
    twin.state[:] = twin._section("NEAREST", twin.module.STATES)
    twin._refresh()
    if not (twin._section("ASTRAY", 2) <= CONSISTENT).all():
        given = _numbers(dict(zip(part.model.states, part.state.tolist())))
        raise InputError(
            f"no state that keeps the constraints ({', '.join(part.model.constraints)}) was found near {given}; "
            "begin closer to one"
        )
    return dict(zip(part.model.states, twin.state.tolist()))


def _check_constraints(part: CompiledPart, what: str) -> None:
    """Raise where the state does not keep the constraints, or where these are dependent."""
    model, count = part.model, len(part.model.constraints)
    state = dict(zip(model.states, part.state.tolist()))
    model.check_start(state, part.params, what)  # pyright: ignore[reportAttributeAccessIssue]
    if (part._section("ASTRAY", 2) <= CONSISTENT).all():
        return
    gaps, rates = part._section("ASIDE", 2 * count).reshape(2, count)
    told = [f"{name} is off by {gap:.3g}, its rate by {f:.3g}" for name, gap, f in zip(model.constraints, gaps, rates)]
    try:
        near = f"the nearest state that does, as pv.consistent(model, start) gives it: {_numbers(_nearest(part))}"
    except InputError as error:
        near = str(error)
    raise InputError(f"{what} ({_numbers(state)}) does not keep the constraints: {'; '.join(told)}; {near}")


def _check_state(part: CompiledPart, what: str, remedy: str) -> None:
    module = part.module
    part._section("NEXT", module.STATES)[:] = part.state
    with np.errstate(all="ignore"):
        inside = not module.HAS_DOMAIN or bool(getattr(module.inside, "py_func", module.inside)(part.memory))
    state = _numbers(dict(zip(part.model.states, part.state.tolist())))
    if not inside:
        raise InputError(f"{what} ({state}) lies outside the domain {getattr(part.model, 'domain', '')}; {remedy}")
    if not np.isfinite(part._section("ENERGY", module.ROWS)).all():
        raise InputError(f"the energy at {what} ({state}) is not finite; {remedy}")
    if part.model.constraints:
        _check_constraints(part, what)


def _settle(part: CompiledPart, given: Mapping[str, float], where: str) -> None:
    """Put what follows from a state; where all of a run is given, that goes on as it was."""
    if given and len(given) == len(part.model.states):
        return
    more = part.model.settled(part.house, part.state, part.params, where)
    for name, value in more.items():
        if name not in given:
            place = part.model.states.index(name)
            part.state[place] = max(value, part.state[place])
    if more:
        part._refresh()
