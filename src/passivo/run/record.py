"""How long a run is and how much of it is kept."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from passivo.errors import InputError, RecordError
from passivo.method.part import seconds

RECORD_LIMIT = 4 * 2**30  # bytes of recorded rows


def whole_steps(step: Any, until: Any, what: str = "one step") -> int:
    """How many steps of `step` seconds fit into `until` seconds, one at least."""
    size, duration = seconds(step, "step"), seconds(until, "until")
    steps = int(duration / size * (1 + Fraction(1, 10**12)))  # 60*0.03 is meant as 1.8, whatever its last digit
    if steps < 1:
        raise InputError(f"until = {until} s is shorter than {what} of {float(size):g} s; nothing to simulate")
    return steps


def checked_room(numbers: int, every: int) -> None:
    """Refuse to record so many numbers: as many as there are in every `every`-th row."""
    if numbers * 8 > RECORD_LIMIT:
        thin = -(-numbers * 8 // RECORD_LIMIT) * every
        raise RecordError(f"with record_every={every} the recorded rows would take {numbers * 8 / 2**30:.1f} GiB", thin)


def checked_every(record_every: Any) -> int:
    if not isinstance(record_every, int | np.integer) or record_every < 1:
        raise InputError(f"record_every must be a whole number >= 1, not {record_every!r}")
    return int(record_every)
