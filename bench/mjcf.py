"""MuJoCo's models as text, with a start of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def mjcf(bodies: str, step: float, velocities: Iterable[float] = (), gravity: float = -9.81, more: str = "") -> str:
    """A model without contacts that keyframe 0 starts with these velocities, at rest without any."""
    given = f'qvel="{told(velocities)}"' if velocities else ""
    return f"""<mujoco><option timestep="{step}" integrator="Euler" gravity="0 0 {gravity}">
    <flag contact="disable"/></option><worldbody>{bodies}</worldbody>{more}
    <keyframe><key {given}/></keyframe></mujoco>"""


def body(name: str, place: Any, turn: Any, inside: str) -> str:
    return f'<body name="{name}" pos="{told(place)}" quat="{told(turn)}">{inside}</body>'


def told(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in numbers)
