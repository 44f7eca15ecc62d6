"""`Sim`: a simulated device in a simulated hand; its physics are compiled, and run against the true clock in a loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from passivo.device import driver
from passivo.device.device import Device
from passivo.device.driver import Driver, read_size, sources
from passivo.device.state import DeviceInfo, DeviceState, Flags
from passivo.errors import DeviceError, InputError, nearest, quoted
from passivo.kernel import cache
from passivo.method.generate import Engine, part_piece, shared_piece, traced
from passivo.method.one_stage import AVF
from passivo.model.feedback import Feedback
from passivo.model.ports import effort
from passivo.model.symbols import functions
from passivo.model.system import System
from passivo.network.sampling import LONGEST_DELAY, seeded, uniform
from passivo.run.operators import Operator, push

if TYPE_CHECKING:
    from passivo.device.driver import *
    from passivo.kernel.clock import wait_until
    from passivo.kernel.module import Piece
    from passivo.provided import *

Pace = Literal["client", "device"]
TAPE_LENGTH = 60.0  # seconds of a hand's force that changes, outside of a loop; its last value stands then
FINEST = 1e-4  # s, the longest step of the physics
STICTION = 1e-3  # m/s: below this speed friction grows with the speed

# the memory of the simulation besides that of its physics
SIM_TIME = 0  # host time up to which the handle was moved
SIM_BEGAN = 1
SIM_SEQUENCE = 2
SIM_WRITTEN = 3  # when the force was written that is held
SIM_RANDOM = 4
SIM_ABSORBED = 5  # energy the port really received, and the least of it
SIM_LEAST = 6
SIM_WATCHDOG = 7  # 0: none
SIM_LONGEST = 8  # step of the physics
SIM_ENCODER = 9
SIM_JITTER = 10
SIM_DROPPED = 11
SIM_TAPE = 12  # where the hand's force begins on the tape, how many values there are, how many a second
SIM_TAPE_COUNT = 13
SIM_TAPE_RATE = 14
SIM_FAULTS = 15  # number of faults
SIM_FAILED = 16  # the physics could not be stepped
SIM_DUE = 17  # when the device has its next reading, where it paces, and the time between two
SIM_PERIOD = 18
SIM_HEAD = 19

MOST_FAULTS = 64
KINDS = ("nan", "infinite", "frozen", "backwards", "stall", "unplug", "jump")
FAULT_NAN = 1
FAULT_INFINITE = 2
FAULT_FROZEN = 3
FAULT_BACKWARDS = 4
FAULT_STALL = 5
FAULT_UNPLUG = 6
FAULT_JUMP = 7


def hear(m, box, tape, now):
    """Move the handle up to `now` and read its sensors into READ; returns the time: a stalled device answers late."""
    if m[SIM + SIM_SEQUENCE] == 0.0:
        m[SIM + SIM_TIME] = now
        m[SIM + SIM_BEGAN] = now
    fault = FINE
    for i in range(int(m[SIM + SIM_FAULTS])):
        at = now - m[SIM + SIM_BEGAN]
        if m[FAULT_LIST + 3 * i + 1] <= at and at < m[FAULT_LIST + 3 * i + 2]:
            fault = int(m[FAULT_LIST + 3 * i])
            if fault == FAULT_STALL:
                now = m[SIM + SIM_BEGAN] + m[FAULT_LIST + 3 * i + 2]
    travel(m, tape, now)
    if fault == FAULT_FROZEN:
        return now
    m[SIM + SIM_SEQUENCE] += 1.0
    m[READ + R_SEQUENCE] = m[SIM + SIM_SEQUENCE]
    m[READ + R_HOST] = now
    m[READ + R_TIME] = now - m[SIM + SIM_BEGAN]
    m[READ + R_FLAGS] = float(FLAG_UNPLUGGED) if fault == FAULT_UNPLUG else 0.0
    if m[SIM + SIM_FAILED] == 1.0:
        m[READ + R_FLAGS] = float(FLAG_ERROR)
    if fault == FAULT_BACKWARDS:
        m[READ + R_TIME] = -m[READ + R_TIME]
    lost = m[SIM + SIM_DROPPED] > 0.0 and uniform(m, SIM + SIM_RANDOM) < m[SIM + SIM_DROPPED]
    slot = int(m[SIM + SIM_SEQUENCE]) % (SIM_DELAY + 1)
    for k in range(AXES):
        seen = m[STATE + k]
        if m[SIM + SIM_JITTER] > 0.0:
            seen += (2.0 * uniform(m, SIM + SIM_RANDOM) - 1.0) * m[SIM + SIM_JITTER] * m[OUTPUT + k]
        if m[SIM + SIM_ENCODER] > 0.0:
            seen = m[SIM + SIM_ENCODER] * float(round(seen / m[SIM + SIM_ENCODER]))
        if m[SIM + SIM_SEQUENCE] == 1.0:  # nothing came before: the line holds the first place
            for i in range(SIM_DELAY + 1):
                m[LINE + (SIM_DELAY + 1) * k + i] = seen
        m[LINE + (SIM_DELAY + 1) * k + slot] = seen
        seen = m[LINE + (SIM_DELAY + 1) * k + (slot + 1) % (SIM_DELAY + 1)]
        if fault == FAULT_NAN:
            seen = inf
            seen -= inf
        elif fault == FAULT_INFINITE:
            seen = inf
        elif fault == FAULT_JUMP:
            seen += 1.0
        if not lost:
            m[READ + R_POSITION + k] = seen
    if lost:  # the last reading comes again
        m[READ + R_SEQUENCE] -= 1.0
    return now


def await_reading(m, box, patience, deadline, spec):
    """Until there is a reading by the device's own clock; one that nobody waited for is lost."""
    m[SIM + SIM_DUE] = max(m[SIM + SIM_DUE], m[SIM + SIM_TIME]) + m[SIM + SIM_PERIOD]
    return wait_until(m[SIM + SIM_DUE], 0.0, spec)


def travel(m, tape, now):
    """Step the physics up to `now`, with the force that is held until the watchdog drops it, and the hand's force."""
    while m[SIM + SIM_TIME] < now:
        dt = min(now - m[SIM + SIM_TIME], m[SIM + SIM_LONGEST])
        held = 1.0
        if m[SIM + SIM_WATCHDOG] > 0.0:
            left = m[SIM + SIM_WRITTEN] + m[SIM + SIM_WATCHDOG] - m[SIM + SIM_TIME]
            if left <= 1e-9:
                held = 0.0
            else:
                dt = min(dt, left)
        for k in range(AXES):
            m[INPUT + k] = held * m[PUSH + k]
        place = (m[SIM + SIM_TIME] - m[SIM + SIM_BEGAN]) * m[SIM + SIM_TAPE_RATE]
        m[INPUT + AXES] = tape[int(m[SIM + SIM_TAPE]) + min(int(place + 1e-6), int(m[SIM + SIM_TAPE_COUNT]) - 1)]
        if tick(m, dt) != OK:
            m[SIM + SIM_FAILED] = 1.0
            m[SIM + SIM_TIME] = now
            return
        for k in range(AXES):
            m[SIM + SIM_ABSORBED] -= m[WORK + k]
        m[SIM + SIM_LEAST] = min(m[SIM + SIM_LEAST], m[SIM + SIM_ABSORBED])
        if m[SIM + SIM_TIME] + dt >= now:
            m[SIM + SIM_TIME] = now
        else:
            m[SIM + SIM_TIME] += dt
    for k in range(WIDTH + SIGNALS):
        m[USED + k] = m[INPUT + k]
    output(m)


def arrange(m):
    """After the parameters were set."""
    prepare(m)
    ready(m)
    output(m)


def say(m, box, now):
    """Hold the force in SAY from now on."""
    for k in range(AXES):
        m[PUSH + k] = m[SAY + k]
    m[SIM + SIM_WRITTEN] = now


def sim_hear(m, box, tape, now):
    """`hear`, called from Python."""
    return hear(m, box, tape, now)


def sim_say(m, box, now):
    """`say`, called from Python."""
    say(m, box, now)


def sim_arrange(m):
    """`arrange`, called from Python."""
    arrange(m)


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong on purpose, from `begin` to `end` (seconds after the first reading).

    nan, infinite, jump  positions that are no numbers, or off by a metre
    frozen               the same reading again and again
    backwards            the device's clock runs backwards
    stall                a reading that takes until `end`
    unplug               the device says that it was unplugged
    """

    kind: str
    begin: float
    end: float = inf

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"there is no fault {self.kind!r}; {nearest(str(self.kind), KINDS)}")
        if not 0.0 <= self.begin < self.end or (self.kind == "stall" and not isfinite(self.end)):
            raise InputError(f"a fault lasts from begin to a later end, not from {self.begin!r} to {self.end!r}")


def checked_start(start: Any, axes: int) -> tuple[float, ...]:
    try:
        places = np.broadcast_to(np.asarray(start, dtype=float), (axes,))
    except (TypeError, ValueError):
        places = np.full(axes, np.nan)
    if not np.isfinite(places).all():
        raise InputError(f"Sim's start is a finite number, or one for each of its {axes} axes, not {start!r}")
    return tuple(places.tolist())


class Sim(Device):
    """A simulated device: a mass with damping and friction in the hand of an operator, seen through an encoder.

    mass, damping  of the handle, kg and N s/m
    friction       dry friction, N
    encoder        step of the position sensor, m; 0: exact
    delay          whole samples by which positions arrive late
    jitter         of the instant of sampling, as a share of the period
    dropped        share of readings that are lost
    operator       who holds it: `pv.operators.push(5.0)`, `.hand(...)`, `.recorded(...)`; acts along the first axis
    start          position at the beginning, m, a number or one for each axis
    rate           readings per second
    pace           "client": it is read whenever the client wants; "device": it says when a reading is there
    drift          by which share its clock is fast, where it paces
    watchdog       seconds after which it drops a force by itself, for a guarantee that also holds while the program is
                   stuck, at the price of fidelity; None: never
    max_force      N; larger forces are cut
    faults         what goes wrong on purpose: `[("nan", 0.5, 0.51), ("unplug", 2.0)]`, see `Fault`
    seed           of jitter and losses

    `true_energy` is what the port really absorbed, in joules, `least_energy` the least of it: not known of a real one.
    """

    driver: ClassVar = "sim"
    keeps_force = False

    def __init__(
        self,
        *,
        mass: float = 0.15,
        damping: float = 2.0,
        friction: float = 0.0,
        encoder: float = 1e-6,
        delay: int = 0,
        jitter: float = 0.0,
        dropped: float = 0.0,
        operator: Operator | None = None,
        start: float | Sequence[float] = 0.0,
        rate: float = 1000.0,
        pace: Pace = "client",
        drift: float = 0.0,
        watchdog: float | None = None,
        max_force: float = 30.0,
        faults: Sequence[Fault | Sequence[Any]] = (),
        seed: int = 0,
        degrees_of_freedom: int = 1,
        axes: str | Sequence[str] | None = None,
        name: str = "device",
        clamp: Any = None,
        engine: Engine = "numba",
    ):
        super().__init__(axes=axes, name=name, clamp=clamp)
        positive: dict[str, Any] = {"mass": mass, "rate": rate, "max_force": max_force}
        if watchdog is not None:
            positive["watchdog"] = watchdog
        for what, value in {**positive, "damping": damping, "friction": friction, "encoder": encoder}.items():
            if not isinstance(value, int | float) or not 0.0 <= value < inf or (what in positive and value == 0.0):
                bound = "> 0" if what in positive else ">= 0"
                raise InputError(f"Sim's {what} must be a number {bound}, not {value!r}")
        if not isinstance(delay, int) or not 0 <= delay <= LONGEST_DELAY:
            raise InputError(f"Sim's delay is a whole number of samples from 0 to {LONGEST_DELAY}, not {delay!r}")
        shares = {"dropped": dropped, "jitter": jitter, "drift": drift}
        if not all(isinstance(value, int | float) for value in shares.values()) or not (
            0.0 <= dropped < 1.0 and 0.0 <= jitter <= 1.0 and -0.5 <= drift <= 0.5
        ):
            raise InputError(f"Sim's dropped is below 1, jitter at most 1 and drift at most 0.5: shares, not {shares}")
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise InputError(f"Sim's seed is a whole number from 0, not {seed!r}")
        if pace not in get_args(Pace):
            raise InputError(f"Sim's pace is 'client' or 'device', not {pace!r}")
        if engine not in get_args(Engine):
            raise InputError(f"there is no engine {quoted(engine)}; {nearest(str(engine), get_args(Engine))}")
        if degrees_of_freedom not in (1, 2, 3):
            raise InputError(f"a Sim has 1, 2 or 3 degrees of freedom, not {degrees_of_freedom!r}")
        if operator is not None and not isinstance(operator, Operator):
            raise InputError(f"Sim's operator is one such as pv.operators.push(5.0), not {operator!r}")
        try:
            self.faults = tuple(fault if isinstance(fault, Fault) else Fault(*fault) for fault in faults)
        except TypeError:
            raise InputError(f"faults are as in [('nan', 0.5, 0.51)], not {faults!r}") from None
        if len(self.faults) > MOST_FAULTS:
            raise InputError(f"a Sim takes at most {MOST_FAULTS} faults, not {len(self.faults)}")
        self.mass, self.damping, self.friction, self.encoder = float(mass), float(damping), float(friction), encoder
        self.delay, self.jitter, self.dropped, self.seed = delay, jitter, dropped, seed
        self.operator = push(0.0) if operator is None else operator
        self.watchdog = watchdog
        self.pace, self.drift, self.rate, self.max_force, self.engine = pace, drift, float(rate), max_force, engine
        self.dof, self._period = degrees_of_freedom, 1.0 / (self.rate * (1.0 + drift))  # s, by its own clock
        self.start = checked_start(start, self.dof)
        self._seat: tuple[np.ndarray, int] | None = None  # memory of the loop that runs it, and where
        self._due = 0.0

    # -- the physics --------------------------------------------------------------------------------------------------

    @property
    def body(self) -> System:
        """Handle and hand as one system; "rub" is where friction acts."""
        n, letters = self.dof, [str(i) for i in range(self.dof)]
        states = [f"q{i}" for i in letters] + [f"p{i}" for i in letters]
        spring = ["kh*(q0 - qh)**2/2", *(f"kh*q{i}**2/2" for i in letters[1:])]
        zeros = [[0] * n for _ in range(n)]
        unit = [[int(i == j) for j in range(n)] for i in range(n)]
        block = lambda a, b, c, d: [x + y for x, y in zip(a, b)] + [x + y for x, y in zip(c, d)]  # noqa: E731
        minus = [[-entry for entry in row] for row in unit]
        drag = [["b + bh" if entry else 0 for entry in row] for row in unit]
        ports = {"handle": effort(zeros + unit), "hand": effort([0] * n + [1] + [0] * (n - 1))}
        if self.friction:
            ports["rub"] = effort(zeros + unit)
        return System(
            states=states,
            energy=" + ".join([*(f"p{i}**2/(2*(m + mh))" for i in letters), *spring]),
            structure=block(zeros, unit, minus, zeros),
            loss=block(zeros, zeros, zeros, drag),
            ports=ports,
            params={"m": self.mass, "b": self.damping, **self.operator.params},
            minimum={**dict.fromkeys(states, 0.0), "q0": "qh"},
            positions=states[:n],
            name="handle",
        )

    @property
    def laws(self) -> dict[str, Feedback]:
        if not self.friction:
            return {}
        size, tanh = self.friction, functions["tanh"]
        rub = lambda v: -size * tanh(v / STICTION)  # noqa: E731
        return {"rub": Feedback(rub if self.dof == 1 else lambda y: [rub(v) for v in y])}

    def tape(self, seconds: float) -> tuple[np.ndarray, float]:
        """The hand's force for so many seconds, and the values per second."""
        force: Any = self.operator.force
        if callable(force):
            times = (np.arange(max(int(seconds * self.rate), 1)) + 0.5) / self.rate
            values = np.array([force(t) for t in times], dtype=float)
        else:
            values = np.atleast_1d(np.asarray(force, dtype=float))
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise InputError(
                "the operator's force must be finite: a number, a function of t, or an array over readings"
            )
        return values, self.rate

    # -- in a loop ----------------------------------------------------------------------------------------------------

    def driver_piece(self) -> Driver:
        formulas = traced(self.body, self.laws)
        key = ["sim", self.dof, self.delay, self.pace, sorted(formulas.items()), sources(sys.modules[__name__], driver)]
        return Driver(key, lambda layout, extra: self._piece(formulas, layout, extra), self._fill)

    def _piece(self, formulas: Mapping[str, Any], layout: Any, numbers: Mapping[str, Any]) -> Piece:
        from passivo.kernel.module import Piece, numbers_of

        body = part_piece(self.body, AVF(), formulas, "python", layout.size)  # formulas are the same for all engines
        layout.size = body.numbers["SIZE"]
        sizes = {"SIM": SIM_HEAD, "PUSH": self.dof, "LINE": self.dof * (self.delay + 1), "FAULT_LIST": 3 * MOST_FAULTS}
        places: dict[str, Any] = {}
        for name, size in sizes.items():
            places[name] = layout.size
            layout.size += size
        own = numbers_of(sys.modules[__name__], driver)
        more = {
            "AXES": self.dof,
            "SIM_DELAY": self.delay,
            "FLAG_UNPLUGGED": int(Flags.UNPLUGGED),
            "FLAG_ERROR": int(Flags.ERROR),
            "FINE": 0,
        }
        return Piece(
            {**body.numbers, **own, **places, **more, **numbers},
            body.leaves,
            (*body.kernels, uniform, travel, hear, arrange, say, *([await_reading] if self.pace == "device" else [])),
        )

    def seated(self, memory: np.ndarray, number: Callable[[str], int]) -> None:
        self._seat = (memory, number("SIM"))

    def _fill(self, memory: np.ndarray, number: Any, tape_at: int, seconds: float) -> np.ndarray:
        """Set up the simulation in a memory; `number` finds its places. Returns its tape, which begins at `tape_at`."""
        sim = number("SIM")
        values, rate = self.tape(seconds)
        memory[number("PARAM") : number("PARAM") + 6] = [*self.body.params.values()]
        memory[number("STATE") : number("STATE") + self.dof] = self.start
        head = {
            SIM_RANDOM: seeded(self.seed), SIM_WATCHDOG: self.watchdog or 0.0,
            SIM_LONGEST: min(FINEST, 1.0 / self.rate), SIM_PERIOD: self._period,
            SIM_ENCODER: self.encoder, SIM_JITTER: self.jitter / self.rate, SIM_DROPPED: self.dropped,
            SIM_TAPE: tape_at, SIM_TAPE_COUNT: len(values), SIM_TAPE_RATE: rate, SIM_FAULTS: len(self.faults),
        }  # fmt: skip
        for place, value in head.items():
            memory[sim + place] = value
        for i, fault in enumerate(self.faults):
            at = number("FAULT_LIST") + 3 * i
            memory[at : at + 3] = [KINDS.index(fault.kind) + 1, fault.begin, fault.end]
        return values

    # -- alone --------------------------------------------------------------------------------------------------------

    def _open(self) -> DeviceInfo:
        self._seat = None
        self._alone()
        return DeviceInfo(
            model="simulated handle",
            driver=self.driver,
            axes=tuple("xyz"[: self.dof]),
            max_force=self.max_force,
            mass=self.mass,
            rate=self.rate,
            damping=self.damping,
            encoder=self.encoder,
            max_stiffness=2.0 * self.damping * self.rate,
            owns_clock=self.pace == "device",
            watchdog=self.watchdog,
        )

    def _alone(self) -> None:
        """The simulation in a module of its own, for a loop in Python."""
        from passivo.kernel import module
        from passivo.kernel.source import Layout

        piece = self.driver_piece()

        def text() -> str:
            layout = Layout()
            numbers = {"READ": layout.take("READ", read_size(self.dof)), "SAY": layout.take("SAY", self.dof)}
            body = piece.piece(layout, numbers)
            whole = module.Piece({**body.numbers, "SIZE": layout.size}, body.leaves, body.kernels)
            return module.assemble("a simulated device", self.engine, [shared_piece(), whole], ENTRIES)

        self._module = cache.load(["sim alone", piece.key, self.engine], text)
        self._memory = np.zeros(self._module.SIZE)
        self._tape = piece.fill(self._memory, lambda name: getattr(self._module, name), 0, TAPE_LENGTH)
        self._box = np.zeros(1)
        self._module.sim_arrange(self._memory)

    def _read(self) -> DeviceState:
        return self._state(time.monotonic())

    def _wait(self, timeout: float) -> DeviceState:
        now = time.monotonic()
        due = max(self._due + self._period, now) if self._due else now
        if due - now > timeout:
            raise DeviceError(f"{self.name} gave no reading within {timeout:g} s; its rate is {self.rate:g} Hz")
        self._due = due
        time.sleep(due - now)
        return self._state(time.monotonic())

    def _state(self, now: float) -> DeviceState:
        m, at, n = self._memory, self._module.READ, self.dof
        self._module.sim_hear(m, self._box, self._tape, now)
        read = m[at : at + read_size(n)].tolist()
        return DeviceState(
            device_time=read[driver.R_TIME],
            host_time=now,
            sequence=int(read[driver.R_SEQUENCE]),
            position=tuple(read[driver.R_POSITION : driver.R_POSITION + n]),
            applied=tuple(m[self._module.PUSH : self._module.PUSH + n].tolist()),
            flags=Flags(int(read[driver.R_FLAGS])),
        )

    def _write(self, force: tuple[float, ...]) -> None:
        self._memory[self._module.SAY : self._module.SAY + self.dof] = force
        self._module.sim_say(self._memory, self._box, time.monotonic())

    @property
    def true_energy(self) -> float:
        """Joules that the port really absorbed so far."""
        return float(self._true(SIM_ABSORBED))

    @property
    def least_energy(self) -> float:
        """The least `true_energy` so far: minus the most that ever came out."""
        return float(self._true(SIM_LEAST))

    def _true(self, place: int) -> float:
        memory, at = self._seat if self._seat is not None else (self._memory, self._module.SIM)
        return memory[at + place]


ENTRIES = (sim_hear, sim_say, sim_arrange)
