"""What a step costs by every method, with its ledger, on one chain of masses and springs with 2, 4, 8 and 12 states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import passivo as pv
from bench.measure import Row, fastest
from bench.models import STEP, chain, drive
from passivo.method.base import Method
from passivo.method.catalogue import GENERAL
from passivo.method.part import CompiledPart

MASSES = (1, 2, 4, 6)
STEPS = 5_000
REPEATS = 15
NEVER = 1 << 40
FEW = (pv.Collocation,)  # methods that are measured with each number of stages


def measure() -> list[Row]:
    return [row for masses in MASSES for row in costs(masses)]


def methods() -> list[Method]:
    return [each for cls in GENERAL.values() for each in ([cls(s) for s in (1, 2, 3)] if cls in FEW else [cls()])]


def costs(masses: int) -> list[Row]:
    """Every method under the same drive, on springs with a fourth power; on linear springs where it takes no others."""
    start, found, refused = {"q1": 0.5, f"p{masses}": 1.0}, [], []
    for method in methods():
        for springs in ("d + d³", "linear"):
            try:
                part = pv.compile(chain(masses, springs != "linear", b=0.0), method, STEP, start=start)
            except pv.MethodError as reason:
                last = reason
                continue
            found.append((part, springs))
            break
        else:
            refused.append(Row(f"n = {2 * masses}, {method}", None, note=f"not measured: {last}"))
    seconds = fastest(*(task(part) for part, _ in found), repeats=REPEATS)
    rows = []
    for (part, springs), took in zip(found, seconds):
        iterations = f", {part.iterations:.2f} Newton iterations" if part.iterations else ""
        note = f"springs {springs}{iterations}"
        rows.append(Row(f"n = {2 * masses}, {part.method}", took / STEPS, note=note))
    return rows + refused


def task(part: CompiledPart) -> Callable[[], None]:
    module, begin = part.module, part.memory.copy()
    given = np.tile(drive(STEPS)[:, None], module.STAGES)
    out = np.zeros((1, module.REPORT_SIZE))

    def again() -> None:
        part.memory[:] = begin
        assert module.run(part.memory, STEP, given, out, STEPS, NEVER) == STEPS, "a step failed"

    return again
