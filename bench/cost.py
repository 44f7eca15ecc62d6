"""What a step costs by every method, with its ledger, on one chain of masses and springs with 2, 4, 8 and 12 states."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import thread_time

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
STAGED = (pv.Collocation,)  # methods that are measured with each number of stages
# a method takes the first chain that it does not refuse
CHAINS = {"d + d³, damped": (True, 0.1), "d + d³, no damping": (True, 0.0), "d, damped": (False, 0.1)}


def measure() -> list[Row]:
    """Each chain in a process of its own: what was compiled would stay, 50 MB for each method and chain."""
    rows = []
    for masses in MASSES:
        with ProcessPoolExecutor(1, get_context("spawn")) as one:
            rows += one.submit(costs, masses).result()
    return rows


def methods() -> list[Method]:
    return [each for cls in GENERAL.values() for each in ([cls(s) for s in (1, 2, 3)] if cls in STAGED else [cls()])]


def title(method: Method) -> str:
    stages = f"({method.stages})" if isinstance(method, STAGED) else ""
    return type(method).__name__ + stages


def costs(masses: int) -> list[Row]:
    """Every method under the same drive."""
    start, found, refused = {"q1": 0.5, f"p{masses}": 1.0}, [], []
    for method in methods():
        for springs, (bent, b) in CHAINS.items():
            try:
                part = pv.compile(chain(masses, bent, b), method, STEP, start=start)
            except pv.MethodError as reason:
                last = reason
                continue
            found.append((part, springs))
            break
        else:
            refused.append(Row(f"n = {2 * masses}, {title(method)}", None, note=f"not measured: {last}"))
    seconds = fastest(*(task(part) for part, _ in found), repeats=REPEATS, clock=thread_time)
    rows = []
    for (part, springs), took in zip(found, seconds):
        iterations = f", {part.iterations:.2f} Newton iterations" if part.iterations else ""
        note = f"springs {springs}{iterations}"
        rows.append(Row(f"n = {2 * masses}, {title(part.method)}", took / STEPS, note=note))
    return rows + refused


def task(part: CompiledPart) -> Callable[[], None]:
    module, begin = part.module, part.memory.copy()
    given = np.tile(drive(STEPS)[:, None], module.STAGES)
    out = np.zeros((1, module.REPORT_SIZE))

    def again() -> None:
        part.memory[:] = begin
        assert module.run(part.memory, STEP, given, out, STEPS, NEVER) == STEPS, f"a step of {part.method} failed"

    return again
