"""`LedgerClamp`: the port ledger clamp of spec 1.7 with readable options, and as an object for a loop of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from passivo.errors import InputError, nearest, quoted
from passivo.model.expression import evaluate, names
from passivo.model.system import System
from passivo.network import clamp as K
from passivo.network import sampling
from passivo.network.junction import Link, Side
from passivo.network.sampling import SampledJunction

if TYPE_CHECKING:
    from passivo.network.clamp import *
    from passivo.provided import *

Mode = Literal["project", "scale"]
Numbers = float | Sequence[float]


def include() -> Path:
    """The folder of the C header `passivo_clamp.h`: the same clamp for a loop in C or C++."""
    return Path(__file__).parent / "include"


def exchange(m):
    """The device gets as much of the program's effort as the ledger can pay for."""
    if m[LINK_COUNT] > 0.0:
        m[ELAPSED] += m[LINK_PERIOD]
    sections = CLAMP + CLAMP_HEAD
    for k in range(LINK_WIDTH):
        m[sections + CLAMP_POSITION * LINK_WIDTH + k] = m[MEASURED + k]
        m[sections + CLAMP_WANTED * LINK_WIDTH + k] = m[FLOW_OUTPUT + k]
    if m[GONE] == 0.0:
        clamp_tick(m, CLAMP, m[ELAPSED] if m[ELAPSED] > 0.0 else m[LINK_PERIOD])
        m[ELAPSED] = 0.0
        m[LIMITED] = m[CLAMP + CLAMP_LIMITED]
        m[BROKEN] = m[CLAMP + CLAMP_OVERDRAWN] + m[CLAMP + CLAMP_BEYOND] + m[CLAMP + CLAMP_OVERLONG]
        for k in range(LINK_WIDTH):
            oppose(m, k, m[sections + CLAMP_FORCE * LINK_WIDTH + k])
    elif WATCHDOG and m[ELAPSED] >= m[CLAMP + CLAMP_LONGEST]:  # no sample: the force stands until the watchdog cuts it
        for k in range(LINK_WIDTH):
            oppose(m, k, 0.0)


def account(m, work):
    """What is booked is the energy beyond all the device gave, at most the credit."""
    sense(m)


@dataclass(frozen=True)
class LedgerClamp(SampledJunction):
    """Stands between a device and any simulator, at any rate, late, delayed or active: no energy comes out of it.

    The energy absorbed at the port never falls below −credit, at any instant, as long as the assumptions hold: `mass`,
    `hand`, `encoder` and `longest` are true. Forces F oppose the motion; the device feels −F. SI units throughout.

    mass            lower bound of the mass felt at the handle: a number, or a w × w matrix (symmetric, positive); in a
                    network by default that of the device's model at its port
    hand            bound of everything else that acts on the handle: hand, friction, damping times the greatest speed.
                    A number bounds the Euclidean norm, one number per component each component (mixed units need
                    that); several wide it becomes the largest √(f'M⁻¹f) such an f can have
    encoder         steps of the position sensors, a number or one per component; 0 says that positions are exact
    longest         no force is held longer than this (default: the period); without a watchdog the longest tick
    watchdog        whether the hardware drops the force by itself `longest` seconds after it was written. Say True only
                    if it does
    skew            the force is written this long after the position was sampled; needs `limit`
    limit           the largest force, as a number or one per component like `hand`; none by default
    credit          energy lent at the start, E0; also the only energy that can ever be lost
    floor           the ledger may always save up this much, E_floor
    stiffness       and the energy of a spring this stiff pressed with the last force, K_fl; several wide the spring
                    acts on the mean of the mass diagonal, ω² = stiffness/mean
    damping         largest damping added where energy lacks, α_max in N s/m (default 0.67 mass/period); several wide
                    damping is proportional to the mass, and `damping` belongs to the mean of its diagonal
    reserve         how many times the energy needed to hold the wanted force the ledger should have, κ
    device_damping  damping the handle surely has, in N s/m: `share` of what it burns is credited, and the guarantee
                    then holds for the hand's port instead of the clamp's
    mode            several wide: "project" onto the nearest allowed force in the mass metric, or "scale" the wanted one

    Holding a force F needs F(T²(F + hand)/mass + encoder) joules. Keep the encoder below about 0.01 T² hand/mass, or
    raise `hand`. Keep the ledger where the actuators hold: joint torques and joint angles, not Cartesian ones.
    The price is force: 1–2 % of it is missing at walls of 1–3 kN/m, 6–9 % at 20 and 13–28 % at 60; slow and delayed
    environments stay passive but lose much of it.

    In a network, `encoder`, `delay`, `jitter`, `dropped` and `seed` are those of the sampled port; where positions come
    late the assumptions do not hold. It records how often the force was limited so far, and how often an assumption was
    surely broken (`run.part("touch")["violations"]`): by an operator beyond `hand`, a hold beyond `longest`.
    """

    mass: float | Sequence[Sequence[float]] | None = None
    hand: Numbers = 22.0
    longest: float | None = None
    watchdog: bool = False
    skew: float = 0.0
    limit: Numbers | None = None
    credit: float = 1e-4
    floor: float = 5e-3
    stiffness: float = 500.0
    damping: float | None = None
    reserve: float = 2.0
    device_damping: Numbers = 0.0
    share: float = 0.8
    mode: Mode = "project"

    keeps_book: ClassVar = True
    guards: ClassVar = True
    flow_first: ClassVar = True
    kernels: ClassVar = (*sampling.KERNELS, *K.KERNELS, sampling.ahead, exchange, account)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mass is not None:
            object.__setattr__(self, "mass", _mass(self.mass))
        for name in ("hand", "device_damping"):
            object.__setattr__(self, name, _each(name, getattr(self, name)))
        for name in ("skew", "credit", "floor", "reserve", "share"):
            object.__setattr__(self, name, _number(name, getattr(self, name), least=0.0))
        object.__setattr__(self, "stiffness", _number("stiffness", self.stiffness, above=0.0))
        for name in ("longest", "damping"):
            if getattr(self, name) is not None:
                bound = {"above": 0.0} if name == "longest" else {"least": 0.0}
                object.__setattr__(self, name, _number(name, getattr(self, name), **bound))
        if self.limit is not None:
            object.__setattr__(self, "limit", _each("limit", self.limit, above=0.0))
        elif self.skew > 0.0:
            raise InputError("an output skew moves the handle unseen by at most limit/mass: give limit= beside skew=")
        if self.share > 1.0:
            raise InputError(f"share is a part of the damping's loss, at most 1, not {self.share:g}")
        if self.mode not in get_args(Mode):
            raise InputError(f"there is no mode {quoted(self.mode)}; {nearest(str(self.mode), get_args(Mode))}")

    @property
    def allowance(self) -> float:  # type: ignore[override]
        return self.credit

    @property
    def follows_model(self) -> bool:  # type: ignore[override]
        return self.mass is None

    def shape(self, link: Link) -> dict[str, Any]:
        return {"junction": "LedgerClamp", **self.numbers(link)}

    def sections(self, link: Link) -> Mapping[str, int]:
        return {"LIMITED": 1, "BROKEN": 1, **super().sections(link), "ELAPSED": 1, "CLAMP": size(link.width)}

    def recorded(self) -> Mapping[str, str]:
        return {"limited": "LIMITED", "violations": "BROKEN", **super().recorded()}

    def numbers(self, link: Link) -> dict[str, Any]:
        return {**super().numbers(link), "WATCHDOG": self.watchdog}

    def setup(self, link: Link) -> Mapping[str, Any]:
        options = self if self.mass is not None else replace(self, mass=port_mass(link.effort))
        return {**super().setup(link), "CLAMP": setup(options, link.width, link.seconds)}

    def alone(self, width: int = 1, period: float = 1e-3) -> Clamp:
        """The clamp as an object, to be called last before each force is written."""
        return Clamp(self, width, period)


def setup(options: LedgerClamp, width: int = 1, period: float = 1e-3) -> np.ndarray:
    """The block of the memory of one clamp, ready for its first tick."""
    if not (isinstance(width, int | np.integer) and 1 <= width <= K.CLAMP_WIDEST):
        raise InputError(f"a clamp is 1 to {K.CLAMP_WIDEST} wide, not {quoted(width)}")
    width, period = int(width), _number("period", period, above=0.0)
    if options.mass is None:
        raise InputError("a clamp needs a lower bound of the mass felt at the handle: LedgerClamp(mass=0.1)")
    mass = np.asarray(options.mass, dtype=float)
    mass = mass * np.eye(width) if mass.ndim == 0 else mass
    if mass.shape != (width, width):
        raise InputError(f"the mass is {mass.shape[0]} × {mass.shape[1]}, but the port {width} wide")
    numbers = {
        K.CLAMP_WIDTH: width,
        K.CLAMP_LONGEST: period if options.longest is None else options.longest,
        K.CLAMP_WATCHDOG: options.watchdog,
        K.CLAMP_PROJECT: options.mode == "project",
        K.CLAMP_CREDIT: options.credit,
        K.CLAMP_FLOOR: options.floor,
        K.CLAMP_STIFFNESS: options.stiffness,
        K.CLAMP_DAMPING: -1.0 if options.damping is None else options.damping,
        K.CLAMP_RESERVE: options.reserve,
        K.CLAMP_SKEW: options.skew,
        K.CLAMP_SHARE: options.share,
        K.CLAMP_HAND_EACH: isinstance(options.hand, tuple),
        K.CLAMP_LIMIT_EACH: isinstance(options.limit, tuple),
        K.CLAMP_PERIOD: period,
    }
    sections = {
        K.CLAMP_RES: ("encoder", options.encoder),
        K.CLAMP_DRAG: ("device_damping", options.device_damping),
        K.CLAMP_HAND: ("hand", options.hand),
        K.CLAMP_LIMIT: ("limit", 0.0 if options.limit is None else options.limit),
    }
    block = np.zeros(size(width))
    for at, value in numbers.items():
        block[at] = float(value)
    for section, (name, value) in sections.items():
        start = K.CLAMP_HEAD + section * width
        block[start : start + width] = _spread(name, value, width)
    start = K.CLAMP_HEAD + K.CLAMP_SECTIONS * width
    block[start : start + width * width] = mass.ravel()
    failed = K.clamp_begin(block, 0)
    if failed:
        raise InputError(f"the mass must be positive definite; its leading {failed} × {failed} block is not")
    return block


def size(width: int) -> int:
    """Numbers in the block of a clamp."""
    return K.CLAMP_HEAD + K.CLAMP_SECTIONS * width + K.CLAMP_MATRICES * width * width


def port_mass(side: Side) -> Any:
    """The mass felt at a port whose model is linear: (G'∇²H G)⁻¹."""
    model, port = side.model, side.port.split(".", 1)[1]
    if not isinstance(model, System):
        raise InputError(f"the mass felt at {side.port} is not known; say LedgerClamp(mass=...)")
    n, zero = len(model.states), dict.fromkeys(model.states, 0.0)
    energy = lambda *places: float(  # noqa: E731
        evaluate(model.energy, {**model.params, **zero, **{model.states[i]: places.count(i) for i in places}})
    )
    hessian = np.array([[energy(i, j) - energy(i) - energy(j) + energy() for j in range(n)] for i in range(n)])
    larger = np.array(
        [[energy(i, i, j, j) - energy(i, i) - energy(j, j) + energy() for j in range(n)] for i in range(n)]
    )
    steady = np.allclose(larger, 4.0 * hessian, rtol=1e-9, atol=1e-12 * np.abs(hessian).max(initial=0.0))
    if not steady or any(names(entry) & set(model.states) for row in model.ports[port].matrix for entry in row):
        raise InputError(
            f"the mass felt at {side.port} depends on the state; say its least value: LedgerClamp(mass=...)"
        )
    matrix = [[float(evaluate(entry, {**model.params, **zero})) for entry in row] for row in model.ports[port].matrix]
    inverse = np.array(matrix).T @ hessian @ np.array(matrix)
    try:
        mass = np.linalg.inv(inverse)
    except np.linalg.LinAlgError:
        raise InputError(f"no mass is felt at {side.port}; a clamp needs a device with one, or mass=...") from None
    return float(mass[0, 0]) if mass.size == 1 else (mass + mass.T) / 2


class Clamp:
    """One clamp at work, in plain Python. Made by `LedgerClamp(...).alone()`.

        guard = pv.LedgerClamp(mass=0.1, encoder=1e-6).alone(period=1e-3)
        while True:
            force = guard.tick(position, wanted, elapsed)    # what may be written; the device feels -force

    `tick` never raises over a value: an exception would leave the last force on the motors. A position or time that is
    no number (NaN, infinite, None) gives force 0 and a restart of the samples, a wanted force that is none counts as
    0; `refused` counts both.
    """

    def __init__(self, options: LedgerClamp, width: int, period: float):
        self.options, self.width, self.period = options, int(width), float(period)
        self._start: list[float] = setup(options, width, period).tolist()
        self.memory = list(self._start)
        self._force = K.CLAMP_HEAD + K.CLAMP_FORCE * self.width

    def tick(self, position: Any, wanted: Any, elapsed: float | None = None) -> Any:
        """The force to write now: a number, or an array where the port is several wide.

        position  as measured now
        wanted    the force the environment wants to oppose to the motion
        elapsed   true time since the last tick (default: the period)
        """
        memory, w = self.memory, self.width
        if w == 1:
            memory[K.CLAMP_HEAD + K.CLAMP_POSITION] = _single(position, "position")
            memory[K.CLAMP_HEAD + K.CLAMP_WANTED] = _single(wanted, "wanted")
        else:
            start = K.CLAMP_HEAD + K.CLAMP_POSITION * w
            memory[start : start + w] = self._several(position, "position")
            start = K.CLAMP_HEAD + K.CLAMP_WANTED * w
            memory[start : start + w] = self._several(wanted, "wanted")
        K.clamp_tick(memory, 0, self.period if elapsed is None else _single(elapsed, "elapsed"))
        return memory[self._force] if w == 1 else np.array(memory[self._force : self._force + w])

    def _several(self, values: Any, what: str) -> list[float]:
        if values is None:
            return [math.nan] * self.width
        try:
            array = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{what} must be {self.width} numbers, not {quoted(values)}") from None
        if array.shape != (self.width,):
            raise InputError(f"{what} must be {self.width} numbers, got shape {array.shape}")
        return array.tolist()

    def reset(self) -> None:
        """Back to the start: the ledger at its credit, no sample, nothing counted."""
        self.memory[:] = self._start

    @property
    def energy(self) -> float:
        """Joules absorbed at the port so far, as measured; where a force was cut or refused, at worst."""
        return self.memory[K.CLAMP_ABSORBED]

    @property
    def available(self) -> float:
        """Joules that may be given out now: a lower bound of credit + absorbed, less what was not banked."""
        return self.memory[K.CLAMP_AVAILABLE]

    @property
    def least(self) -> float:
        """The least `energy` at any tick so far."""
        return self.memory[K.CLAMP_LEAST]

    @property
    def debt(self) -> float:
        """Joules by which the port was overdrawn and which are not yet paid back; 0 while the assumptions hold."""
        return self.memory[K.CLAMP_DEBT]

    @property
    def ticks(self) -> int:
        return int(self.memory[K.CLAMP_TICKS])

    @property
    def limited(self) -> int:
        """Ticks in which the force was not the wanted one because the ledger could not pay for it."""
        return int(self.memory[K.CLAMP_LIMITED])

    @property
    def damped(self) -> int:
        """Ticks in which damping was added to the wanted force."""
        return int(self.memory[K.CLAMP_DAMPED])

    @property
    def cut(self) -> int:
        """Ticks that came after the watchdog."""
        return int(self.memory[K.CLAMP_CUT])

    @property
    def refused(self) -> int:
        """Ticks whose position, wanted force or time was no number."""
        return int(self.memory[K.CLAMP_REFUSED])

    @property
    def violations(self) -> int:
        """Times an assumption was surely broken: overdrawn ledger, handle beyond its bounds, hold longer than Θ."""
        return int(sum(self.memory[i] for i in (K.CLAMP_OVERDRAWN, K.CLAMP_BEYOND, K.CLAMP_OVERLONG)))

    def report(self) -> str:
        """What happened so far, in sentences; the first says whether the guarantee held."""
        m, longest = self.memory, self.memory[K.CLAMP_LONGEST]
        held = f"never gave out more than {abs(self.least):.3g} J (credit {self.options.credit:.3g} J)"
        lines = [f"{self.ticks} ticks: the port absorbed {self.energy:.4g} J and {held}."]
        lines.append(f"The force was limited in {self.limited} ticks, damping added in {self.damped}.")
        if self.cut:
            lines.append(f"The watchdog had cut the force before {self.cut} ticks.")
        if self.refused:
            lines.append(f"{self.refused} ticks had a position, force or time that is no number and were refused.")
        if m[K.CLAMP_BEYOND]:
            lines.append(
                f"The operator went beyond the bound in {int(m[K.CLAMP_BEYOND])} ticks (the handle accelerated up to "
                f"{m[K.CLAMP_STRESS]:.3g} times as much as hand= and mass= allow): the guarantee does not hold; raise "
                "hand= or lower mass=."
            )
        if m[K.CLAMP_OVERDRAWN]:
            lines.append(
                f"The ledger was overdrawn in {int(m[K.CLAMP_OVERDRAWN])} ticks, {self.debt:.3g} J are still owed: "
                "operator, mass, encoder or timing were beyond their bounds."
            )
        if m[K.CLAMP_OVERLONG]:
            lines.append(
                f"{int(m[K.CLAMP_OVERLONG])} forces were held longer than {longest:g} s: raise longest=, or let a "
                "watchdog cut them."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<clamp {self.width} wide, {self.ticks} ticks, {self.energy:.4g} J absorbed, {self.limited} limited>"


def _single(value: Any, what: str) -> float:
    if type(value) is float:
        return value
    try:
        (number,) = np.asarray(value, dtype=float).ravel().tolist()
    except (TypeError, ValueError):
        raise InputError(f"{what} must be one number, not {quoted(value)}") from None
    return number


def _number(name: str, value: Any, least: float = -math.inf, above: float = -math.inf) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (least <= number < K.CLAMP_HUGE and above < number):
        bound = f"greater than {above:g}" if above > -math.inf else f"{least:g} or more"
        raise InputError(f"{name} must be a number, {bound}, not {quoted(value)}")
    return number


def _each(name: str, value: Any, above: float = -math.inf) -> float | tuple[float, ...]:
    """One number, or one per component."""
    if isinstance(value, np.ndarray | list | tuple):
        return tuple(_number(f"each of {name}", one, 0.0, above) for one in value)
    return _number(name, value, 0.0, above)


def _spread(name: str, value: Any, width: int) -> Any:
    if isinstance(value, tuple) and len(value) != width:
        raise InputError(f"{name} has {len(value)} numbers, but the port is {width} wide")
    return value


def _mass(value: Any) -> float | tuple[tuple[float, ...], ...]:
    """A positive number, or the rows of a symmetric matrix; whether it is positive definite is seen at set-up."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"mass must be a number or a square matrix, not {quoted(value)}") from None
    if array.ndim == 0:
        return _number("mass", array, above=0.0)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"mass must be a number or a square matrix, not of shape {array.shape}")
    if not np.isfinite(array).all() or np.abs(array - array.T).max(initial=0.0) > 1e-12 * np.abs(array).max(
        initial=0.0
    ):
        raise InputError("the mass matrix must be symmetric and finite")
    return tuple(tuple(row) for row in ((array + array.T) / 2.0).tolist())
