"""One step of the hand that tendons wind up (`passivo run hand`), with contact and the whole ledger: while it closes on
its ball, and while it holds it. Where several tendons are stiff a step takes more passes, so each stiffness has a row.

MuJoCo does not stand beside it: the springs of its tendons act with the lengths at the start of a step, and one of
1e6 N/m over two links (0.02 and 0.01 kg, arms of 7 mm) bursts within 3 to 8 steps of 1 ms with each of its integrators;
one of 1e5 N/m mostly stands. It would hold such a tendon by a limit, which is stable, but no spring of this stiffness.
"""

from __future__ import annotations

from time import thread_time

import numpy as np

import passivo as pv
from bench.measure import Row, fastest
from passivo.reproduce.kim_grasp import PARAMS, hand, motion, start

REPEATS = 7
NEVER = 1 << 40
TARGET = 200e-6  # seconds per step
HELD = 1000  # steps


def measure() -> list[Row]:
    return [row for stiffness in (1e4, 1e6) for row in _rows(stiffness)]


def _rows(stiffness: float) -> list[Row]:
    p = {**PARAMS, "tendon": stiffness, "until": 1.8}
    h = p["step"]
    part = pv.compile(hand(p), pv.PassiveMidpoint(), h, start=start())
    table = np.zeros((round(p["until"] / h), part.inputs.size))
    given, at = motion(p), 0
    for name, port in part.model.ports.items():
        rows = given.get(name, np.zeros(len(table)))
        table[:, at : at + port.width] = rows.reshape(len(rows), -1)
        at += port.width
    out, begun = np.zeros((1, part.module.REPORT_SIZE)), part.memory.copy()

    def close() -> None:
        part.memory[:] = begun
        assert part.module.run(part.memory, h, table, out, len(table), NEVER) == len(table)

    close()
    closed, first = part.memory.copy(), part.iterations

    def hold() -> None:
        part.memory[:] = closed
        assert part.module.run(part.memory, h, np.zeros((1, table.shape[1])), out, HELD, NEVER) == HELD

    hold()
    closing, holding = fastest(close, hold, repeats=REPEATS, clock=thread_time)
    name, note = f"hand with tendons of {stiffness:g} N/m", f"{first:.1f} solutions per step as it closes"
    return [
        Row(f"{name}, closing on a ball", closing / len(table), target=TARGET, note=note),
        Row(f"{name}, holding it", holding / HELD, target=TARGET, note="six contacts and more"),
    ]
