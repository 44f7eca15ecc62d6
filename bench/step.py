"""One AVF step with its ledger against hand-written C, in nanoseconds and in instructions."""

from __future__ import annotations

from time import thread_time

import numpy as np

import passivo as pv
from bench import count, native
from bench.measure import Row, fastest
from bench.models import MODELS, STARTS, STEP, drive

STEPS = 20_000
REPEATS = 60
NEVER = 1 << 40
AGREEMENT = 1e-12
KINDS = ((), ("-DWITHOUT_LEDGER",), ("-ffp-contract=fast",))  # the target is against the first
# the rival counts at its fastest: -O3 alone packs neighbours of the ledger into vectors, and is slower for it
SETTINGS = ((), ("-fno-tree-slp-vectorize",), ("-fno-tree-slp-vectorize", "-fno-if-conversion"))


class Compiled:
    """Passivo's part behind the same `run(step, given)` as the rivals."""

    def __init__(self, model: str):
        self.part = pv.compile(MODELS[model](), pv.AVF(), STEP, start=STARTS[model])
        self.memory, self.module = self.part.memory, self.part.module
        self.out = np.zeros((1, self.module.REPORT_SIZE))

    def run(self, step: float, given: np.ndarray) -> int:
        return self.module.run(self.memory, step, given.reshape(-1, 1), self.out, len(given), NEVER)

    @property
    def found(self) -> np.ndarray:
        """State, work and loss so far, Newton iterations."""
        row = self.memory[self.module.ACCOUNTS :]
        sums = [row[at] + row[at + 1] for at in (self.module.A_WORK, self.module.A_LOST)]
        return np.array([*self.part.state, *sums, self.memory[self.module.ITERATIONS_ALL]])


def rivals(model: str, cpu: str = "native") -> list:
    """Passivo, then the kinds of C, each in all settings; all at the same start."""
    params, start = MODELS[model]().params, STARTS[model]
    kinds = [(*kind, *setting) for kind in KINDS for setting in SETTINGS]
    return [Compiled(model), *(native.Part(model, params, start, *kind, cpu=cpu) for kind in kinds)]


def best(figures: list[float]) -> list[float]:
    """Of the figures of all rivals: Passivo, then the best of each kind of C."""
    n = len(SETTINGS)
    return [figures[0], *(min(figures[1 + n * k : 1 + n * (k + 1)]) for k in range(len(KINDS)))]


def measure() -> list[Row]:
    rows = []
    for model in MODELS:
        rows += times(model) + instructions(model)
    return rows


def times(model: str) -> list[Row]:
    try:
        parts = rivals(model)
    except native.Missing as reason:
        return [Row(f"{model}, AVF step", None, note=f"not measured: {reason}")]
    given = drive(STEPS)
    starts = [part.memory.copy() for part in parts]

    def again(part, start):
        part.memory[:] = start
        assert part.run(STEP, given) == STEPS, f"{model}: a step failed"

    tasks = [lambda part=part, start=start: again(part, start) for part, start in zip(parts, starts)]
    taken = fastest(*tasks, repeats=REPEATS, clock=thread_time)
    ours, booked, bare, fused = best([seconds / STEPS for seconds in taken])
    states = [part.found[:2] for part in parts]
    apart = max(float(np.abs(state - states[0]).max()) for state in states)
    booked_apart = max(float(np.abs(part.found - parts[0].found).max()) for part in parts[: 1 + len(SETTINGS)])
    if not max(apart, booked_apart) <= AGREEMENT:
        note = f"not compared: the rival ends {apart:.1e} away, its books {booked_apart:.1e}"
        return [Row(f"{model}, AVF step", ours, note=note)]
    note = f"{parts[0].part.iterations:.2f} Newton iterations; end states {apart:.0e} apart"
    return [
        Row(f"{model}, AVF step, C with ledger", ours, booked, target=1.2, note=note),
        Row(
            f"{model}, AVF step, C without ledger",
            ours,
            bare,
            note="for information: the rival books nothing",
        ),
        Row(
            f"{model}, AVF step, C with ledger, fused multiply-add",
            ours,
            fused,
            note="for information: other rounding",
        ),
    ]


def instructions(model: str) -> list[Row]:
    unit = "instructions"
    try:
        ours, booked, bare, fused = best(count.per_step(model, 1 + len(KINDS) * len(SETTINGS)))
    except native.Missing as reason:
        return [Row(f"{model}, AVF step", None, unit=unit, note=f"not measured: {reason}")]
    return [
        Row(f"{model}, AVF step, C with ledger", ours, booked, unit=unit, note="x86-64-v3, callgrind"),
        Row(f"{model}, AVF step, C without ledger", ours, bare, unit=unit, note="x86-64-v3, callgrind"),
        Row(
            f"{model}, AVF step, C with ledger, fused multiply-add",
            ours,
            fused,
            unit=unit,
            note="x86-64-v3, callgrind",
        ),
    ]
