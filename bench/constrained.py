"""One step of models with constraints, with ledger and multipliers, by both methods that keep them."""

from __future__ import annotations

from time import thread_time

import numpy as np

import passivo as pv
from bench.measure import Row, fastest

STEPS = 20_000
REPEATS = 15
STEP = 1e-3
NEVER = 1 << 40
TARGET = 2e-6  # seconds, of a double pendulum by ConstrainedSplitting
CASES = (
    (pv.library.double_pendulum, {"ax": 0.6, "ay": 0.0, "bx": 0.9, "by": 0.0}),
    (pv.library.four_bar, {"ay": 0.1, "bx": 0.4, "by": 0.4}),
    (lambda: pv.library.pendulum_chain(1), {"x1": 0.2, "y1": 0.0}),
    (lambda: pv.library.pendulum_chain(3), {"x1": 0.2, "y1": 0.0, "x2": 0.2, "y2": -0.2, "x3": 0.2, "y3": -0.4}),
)


def measure() -> list[Row]:
    rows = []
    for make, start in CASES:
        for method in (pv.ConstrainedSplitting(), pv.ConstrainedGradient()):
            part = pv.compile(make(), method, STEP, start=start)
            table, out = np.zeros((1, part.model.width)), np.zeros((1, part.module.REPORT_SIZE))

            def run(part=part, table=table, out=out) -> None:
                assert part.module.run(part.memory, STEP, table, out, STEPS, NEVER) == STEPS

            run()
            (taken,) = fastest(run, repeats=REPEATS, clock=thread_time)
            name = type(method).__name__
            aimed = TARGET if part.model.name == "double_pendulum" and name == "ConstrainedSplitting" else None
            note = f"{part.iterations:.2f} iterations per step of {STEP:g} s"
            what = f"{part.model.name}, n = {len(part.model.states)}, by {name}"
            rows.append(Row(what, taken / STEPS, target=aimed, note=note))
    return rows
