"""A driver as the compiled loop sees it: a piece of its module that fills READ and takes SAY.

`hear(m, box, tape, now)` fills READ and returns the time it is then; `say(m, box, now)` lets the device feel SAY. `box`
is the memory shared with a driver in Python, `tape` what is known beforehand. Vectors go over all axes of the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from passivo.kernel.module import Piece

# places in READ
R_TIME = 0  # by the device's clock; NaN where it has none
R_HOST = 1  # by ours
R_SEQUENCE = 2
R_FLAGS = 3
R_BUTTONS = 4
R_GRIPPER = 5
R_ORIENTATION = 6  # w x y z
R_POSITION = 10  # one for each axis; velocities after them


def read_size(axes: int) -> int:
    return R_POSITION + 2 * axes


def sources(*modules: ModuleType) -> list[str]:
    """The texts of files whose kernels shape generated code, for its key."""
    return [Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules]


@dataclass(frozen=True)
class Driver:
    """What a device brings into the module of a loop.

    key    plain data: all that shapes the code
    piece  (layout, numbers) -> Piece: with `numbers` (the places of READ and SAY) it takes further places in the layout
    fill   (memory, number, tape_at, seconds) -> tape: sets up the memory; `number(name)` finds the places
    boxed  it is driven from Python, through the box
    """

    key: Any
    piece: Callable[[Any, Mapping[str, Any]], Piece]
    fill: Callable[[np.ndarray, Callable[[str], int], int, float], np.ndarray]
    boxed: bool = False
