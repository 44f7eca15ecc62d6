"""An adversary for the port ledger clamp: environments, operators, bad timing, and the true energy at every instant.

The handle is a mass under piecewise constant forces, so its path is a parabola in every piece and the least energy
inside a hold is found exactly. Kernels like those of the clamp: pasted into one module and compiled.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from math import sqrt

import numpy as np

from passivo.kernel.cache import load
from passivo.kernel.module import Piece, assemble, numbers_of
from passivo.network import clamp as K
from passivo.network.clamp import *
from passivo.network.ledger_clamp import LedgerClamp, setup

# environments; what they want depends on the measured positions alone
WALL, SLOW_WALL, DELAYED_WALL, SPRING, DAMPER, FRICTION, NOISE = range(7)
DELAY = 10
# operators: the table as it is, or times the direction of the velocity or of the force
TABLE, ALONG_VELOCITY, ALONG_FORCE = range(3)
# what `attack` tells
LEAST, ENERGY, SCALE, REACH, FORCE_SQUARED, ERROR_SQUARED, TOLD = range(7)


def wish(m, at, kind, value, tick, elapsed, past, noise):
    """WANTED of one tick from POSITION; `past` keeps the last DELAY positions, the newest last."""
    w = int(m[at + CLAMP_WIDTH])
    position = at + CLAMP_HEAD + CLAMP_POSITION * w
    wanted = at + CLAMP_HEAD + CLAMP_WANTED * w
    speed = 0.0
    for i in range(w):
        speed += (m[position + i] - past[DELAY - 1, i]) * (m[position + i] - past[DELAY - 1, i])
    speed = sqrt(speed) / elapsed
    for i in range(w):
        x = m[position + i]
        v = (x - past[DELAY - 1, i]) / elapsed
        if kind == DELAYED_WALL:
            x = past[0, i]
        force = value * x
        if kind <= DELAYED_WALL and x < 0.0:
            force = 0.0
        if kind == DAMPER:
            force = value * v
        if kind == FRICTION:
            force = value * v / speed if speed > 0.0 else 0.0
        if kind == NOISE:
            force = value * noise[tick, i]
        if kind != SLOW_WALL or tick % DELAY == 0:
            m[wanted + i] = force
    for k in range(DELAY - 1):
        for i in range(w):
            past[k, i] = past[k + 1, i]
    for i in range(w):
        past[DELAY - 1, i] = m[position + i]


def operate(m, at, react, row, v, held, hand):
    """The operator's force in one piece: a row of the table, or its first number times the bound along a direction."""
    w = int(m[at + CLAMP_WIDTH])
    matrices = at + CLAMP_HEAD + CLAMP_SECTIONS * w
    for i in range(w):
        hand[i] = row[i]
    if react == TABLE:
        return
    # the acceleration R'⁻¹ y lies along R'v where y does; the W-norm of f = R y is |y|
    total = 0.0
    for i in range(w):
        part = 0.0
        for j in range(w):
            if react == ALONG_VELOCITY:
                part += m[matrices + CLAMP_ROOT * w * w + j * w + i] * v[j]
            else:
                part += m[matrices + CLAMP_INVERSE * w * w + i * w + j] * held[j]
        m[matrices + CLAMP_SCRATCH * w * w + i] = part
        total += part * part
    if total == 0.0:
        m[matrices + CLAMP_SCRATCH * w * w] = 1.0
        total = 1.0
    size = row[0] * m[at + CLAMP_BOUND] / sqrt(total)
    for i in range(w):
        part = 0.0
        for j in range(w):
            part += m[matrices + CLAMP_ROOT * w * w + i * w + j] * m[matrices + CLAMP_SCRATCH * w * w + j]
        hand[i] = size * part


def drift(x, v, held, hand, inverse, dt, told):
    """The mass moves for dt under constant forces; energy at the end, and the least on the way."""
    w = x.shape[0]
    pull = 0.0
    curve = 0.0
    for i in range(w):
        a = 0.0
        for j in range(w):
            a += inverse[i, j] * (hand[j] - held[j])
        pull += held[i] * v[i]
        curve += held[i] * a
    if pull < 0.0 and curve > 0.0:
        turn = -pull / curve
        if turn < dt:
            dip = told[ENERGY] + turn * (pull + 0.5 * turn * curve)
            if dip < told[LEAST]:
                told[LEAST] = dip
    work = 0.0
    for i in range(w):
        a = 0.0
        for j in range(w):
            a += inverse[i, j] * (hand[j] - held[j])
        old = x[i]
        x[i] = old + dt * (v[i] + 0.5 * dt * a)
        work += held[i] * (x[i] - old)  # the positions as they are rounded
        told[SCALE] += abs(held[i] * (x[i] - old))
        if abs(held[i] * x[i]) > told[REACH]:
            told[REACH] = abs(held[i] * x[i])
        v[i] += dt * a
    told[ENERGY] += work
    if told[ENERGY] < told[LEAST]:
        told[LEAST] = told[ENERGY]


def attack(m, at, guarded, skew, cut, kind, value, react, pieces, res, x, v, inverse, table, taus, noise, told):
    """`len(taus)` ticks, tick k followed by taus[k] seconds; `cut`: the watchdog's time, or inf."""
    w = x.shape[0]
    sections = at + CLAMP_HEAD
    past = np.zeros((DELAY, w))
    held = np.zeros(w)
    hand = np.zeros(w)
    age = 0.0
    for k in range(taus.shape[0]):
        elapsed = taus[k - 1] if k > 0 else taus[0]
        for i in range(w):
            measured = x[i]
            if res > 0.0:
                measured = float(int(abs(x[i]) / res + 0.5)) * res
                if x[i] < 0.0:
                    measured = -measured
            m[sections + CLAMP_POSITION * w + i] = measured
        wish(m, at, kind, value, k, elapsed, past, noise)
        if guarded:
            clamp_tick(m, at, elapsed)
        else:
            for i in range(w):
                m[sections + CLAMP_FORCE * w + i] = m[sections + CLAMP_WANTED * w + i]
        for i in range(w):
            gap = m[sections + CLAMP_FORCE * w + i] - m[sections + CLAMP_WANTED * w + i]
            told[ERROR_SQUARED] += gap * gap
            told[FORCE_SQUARED] += m[sections + CLAMP_WANTED * w + i] * m[sections + CLAMP_WANTED * w + i]
        done = 0.0
        written = False
        piece = 0
        operate(m, at, react, table[k * pieces], v, held, hand)
        while piece < pieces:
            if not written and done >= skew:
                written = True
                age = 0.0
                for i in range(w):
                    held[i] = m[sections + CLAMP_FORCE * w + i]
            if age >= cut:
                for i in range(w):
                    held[i] = 0.0
            end = taus[k] * (piece + 1) / pieces
            last = True
            if not written and skew < end:
                end = skew
                last = False
            dt = end - done
            if age < cut and age + dt > cut:
                dt = cut - age
                last = False
                age = cut
            else:
                age += dt
            drift(x, v, held, hand, inverse, dt, told)
            done = end if age != cut else done + dt
            if last:
                piece += 1
                done = end
                if piece < pieces:
                    operate(m, at, react, table[k * pieces + piece], v, held, hand)
    return 0


KERNELS = (*K.KERNELS, wish, operate, drift)
NAMES = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}


@cache
def module(engine: str = "numba", change: tuple[str, str] = ("", "")):
    """The clamp's kernels and the adversary's in one generated module; `change`: a text in it, and another instead."""
    texts = [inspect.getsource(kernel) for kernel in (*KERNELS, attack)]
    numbers = {**numbers_of(K), **NAMES}

    def text() -> str:
        written = assemble("The clamp under attack", engine, [Piece(numbers, [], KERNELS)], [attack, tick_many])
        assert change[0] in written
        return "import numpy as np\n" + (written.replace(*change) if change[0] else written)

    return load(["attack", engine, numbers, texts, inspect.getsource(tick_many), change], text)


def tick_many(m, at, positions, wanted, times, forces):
    """A whole record through the clamp."""
    w = int(m[at + CLAMP_WIDTH])
    for k in range(times.shape[0]):
        for i in range(w):
            m[at + CLAMP_HEAD + CLAMP_POSITION * w + i] = positions[k, i]
            m[at + CLAMP_HEAD + CLAMP_WANTED * w + i] = wanted[k, i]
        clamp_tick(m, at, times[k])
        for i in range(w):
            forces[k, i] = m[at + CLAMP_HEAD + CLAMP_FORCE * w + i]


@dataclass
class Case:
    """One environment, clamp and clock, attacked by `run` with one operator after the other."""

    options: LedgerClamp
    kind: int
    value: float
    width: int = 1
    period: float = 1e-3
    ticks: int = 600
    pieces: int = 2
    late: float = 0.0  # share of ticks that come late, by up to 5 periods
    lost: float = 0.0  # share of ticks that do not come at all
    heavier: float = 0.0  # true mass beyond the bound, as a share of it
    seed: int = 0
    taus: np.ndarray = field(init=False)

    def __post_init__(self):
        rng = np.random.default_rng([self.seed, 1])
        taus = np.full(self.ticks, self.period)
        taus[rng.random(self.ticks) < self.lost] *= 2.0
        who = rng.random(self.ticks) < self.late
        taus[who] += rng.uniform(0.0, 5.0, who.sum()) * self.period
        self.taus = taus
        self.noise = rng.standard_normal((self.ticks, self.width)) * rng.choice([0.1, 1.0, 10.0], (self.ticks, 1))
        self.block = setup(self.options, self.width, self.period)
        mass = np.asarray(self.options.mass, dtype=float) * (
            np.eye(self.width) if np.ndim(self.options.mass) == 0 else 1
        )
        more = rng.standard_normal((self.width, self.width))
        more = self.heavier * np.trace(mass) * more @ more.T / self.width**2
        self.inverse = np.ascontiguousarray(np.linalg.inv(mass + more))

    def run(self, operator, guarded=True, by=None):
        """Told numbers, and the block after the run; `by`: another module than the compiled one."""
        react, table = operator
        encoder = self.options.encoder
        assert not isinstance(encoder, tuple)
        block, told = self.block.copy(), np.zeros(TOLD)
        x, v = np.zeros(self.width), np.zeros(self.width)
        longest = self.options.longest if self.options.longest is not None else self.period
        cut = longest if self.options.watchdog else np.inf
        (by or module()).attack(
            block, 0, guarded, self.options.skew, cut, self.kind, self.value, react, self.pieces, float(encoder), x, v,
            self.inverse, table, self.taus, self.noise, told,
        )  # fmt: skip
        return told, block

    def operators(self):
        """18 signals as (reaction, table), each within the bound of the operator at every instant."""
        rows, w = self.ticks * self.pieces, self.width
        t = np.repeat(np.cumsum(self.taus) - self.taus, self.pieces)
        t += np.tile(np.arange(self.pieces) / self.pieces, self.ticks) * np.repeat(self.taus, self.pieces)
        rng = np.random.default_rng([self.seed, 2])
        full = float(np.min(self.options.hand))
        axis = np.abs(rng.standard_normal(w)) + 0.1
        axis /= np.linalg.norm(axis)
        square = lambda f: np.where(np.sin(2 * np.pi * f * t + 0.1) >= 0.0, 1.0, -1.0)  # noqa: E731
        spins = np.array([rng.standard_normal(w) for _ in range(rows)])
        spins /= np.linalg.norm(spins, axis=1, keepdims=True)
        flips = np.where(np.cumsum(rng.random(rows) < 0.05) % 2 == 0, 1.0, -1.0)
        signals = [
            np.full(rows, 5.0 / 22.0),
            np.ones(rows),
            *(np.sin(2 * np.pi * f * t) for f in (1.0, 8.0, 60.0)),
            *(square(f) for f in (3.0, 20.0, 125.0, 500.0)),
            np.where(square(4.0) > 0.0, 0.5, -0.2),  # pushes and releases
            np.where(t % 0.05 < 0.03, 1.0, -1.0),
            np.sin(2 * np.pi * (2.0 + 100.0 * t) * t),
            flips,
        ]
        tables = [(TABLE, full * signal[:, None] * axis) for signal in signals]
        tables.append((TABLE, full * spins))
        reactions = [(ALONG_VELOCITY, 1.0), (ALONG_VELOCITY, -1.0), (ALONG_FORCE, 1.0), (ALONG_FORCE, -1.0)]
        for k, (react, sign) in enumerate(reactions):
            table = np.zeros((rows, w))
            table[:, 0] = sign * (np.where(square(2.0 + 7.0 * k) > 0.0, 1.0, -0.9))
            tables.append((react, table))
        return [(react, np.ascontiguousarray(table)) for react, table in tables]


def in_play(told):
    """The energies that rounding goes by: all work that was done either way, and force times position."""
    return told[SCALE] + told[REACH]


def worst(case, guarded=True):
    """Least energy, how far it is below −credit in shares of the energies in play, and the blocks of all operators."""
    least, breach, blocks = 0.0, -np.inf, []
    for operator in case.operators():
        told, block = case.run(operator, guarded)
        least = min(least, told[LEAST])
        below = -case.options.credit - told[LEAST]
        breach = max(breach, below / (1e-30 + case.options.credit + in_play(told)))
        blocks.append(block)
    return least, breach, blocks


def climb(case, rounds=300, seed=0):
    """Random hill climbing over the switch times of a bang-bang operator; the least energy it found."""
    rng = np.random.default_rng([seed, 3])
    rows = case.ticks * case.pieces
    full = float(np.min(case.options.hand))
    axis = np.ones(case.width) / np.sqrt(case.width)
    signs = np.where(np.cumsum(rng.random(rows) < 0.1) % 2 == 0, 1.0, -1.0)
    best, found = np.inf, None
    for _ in range(rounds):
        trial = signs.copy()
        if found is not None:
            start, length = rng.integers(rows), rng.integers(1, 1 + rows // rng.choice([4, 20, 100]))
            trial[start : start + length] *= -1.0
        told, _ = case.run((TABLE, np.ascontiguousarray(full * trial[:, None] * axis)))
        if told[LEAST] <= best:
            best, found, signs = told[LEAST], told, trial
    assert found is not None
    return best, in_play(found)
