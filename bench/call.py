"""One step called from Python: what a loop of one's own pays."""

from __future__ import annotations

import passivo as pv
from bench.measure import Row, fastest
from bench.models import MODELS, STARTS, STEP

CALLS = 5_000
REPEATS = 30


def measure() -> list[Row]:
    rows = []
    for model, make in MODELS.items():
        part = pv.compile(make(), pv.AVF(), STEP, start=STARTS[model])
        start = part.memory.copy()

        def calls(part=part, start=start, step=part.step, given=(0.3,)):
            part.memory[:] = start
            for _ in range(CALLS):
                step(given)

        (seconds,) = fastest(calls, repeats=REPEATS)
        rows.append(Row(f"{model}, part.step(u) from Python", seconds / CALLS, target=1.5e-6))
    return rows
