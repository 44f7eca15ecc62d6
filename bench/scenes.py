"""Scenes of contacts as MJCF: one file for both engines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bench.mjcf import told

FRICTION = 0.5
FINGERS = 5  # of each hand, of two links


def mjcf(bodies: str, step: float, friction: float = FRICTION, floor: bool = True) -> str:
    """A model with contacts, and with its energy."""
    plane = '<geom type="plane" size="0 0 1"/>' if floor else ""
    return f"""<mujoco><compiler angle="radian"/><option timestep="{step}"><flag energy="enable"/></option>
    <size memory="64M"/><default><geom friction="{friction}"/></default>
    <worldbody>{plane}{bodies}</worldbody></mujoco>"""


def boxes(places: Iterable[Any]) -> str:
    """Cubes of 0.2 m and 1 kg, the first one called b0."""
    return "".join(
        f'<body name="b{i}" pos="{told(place)}"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
        for i, place in enumerate(places)
    )


def stack(count: int) -> np.ndarray:
    return np.array([(0, 0, 0.1 + 0.2 * i) for i in range(count)])


def heap(count: int) -> np.ndarray:
    """Boxes in layers of 5 × 5, shifted against each other."""
    rng = np.random.default_rng(0)
    grid = np.array([(i % 5, i // 5 % 5, i // 25) for i in range(count)], dtype=float)
    return grid * (0.25, 0.25, 0.3) + (0, 0, 0.2) + 0.03 * rng.uniform(-1, 1, (count, 3))


def hands() -> str:
    """Two hands of a palm and five fingers of two links, 22 bodies, that close on a cylinder in the air and hold it.
    Springs push the palms together and bend the fingers."""
    held = (
        '<body name="held" pos="0 0 .5" quat="0.7071067811865476 0 0.7071067811865476 0"><freejoint/>'
        '<geom type="cylinder" size=".05 .05" mass=".1"/></body>'
    )
    return held + hand(1, 0.0) + hand(-1, np.pi / FINGERS)


def hand(side: int, turn: float) -> str:
    """A hand beside the cylinder, on the side of +x or −x."""
    fingers = "".join(finger(side, i, turn + 2 * np.pi * i / FINGERS) for i in range(FINGERS))
    return (
        f'<body name="palm{side + 1}" pos="{told((0.062 * side, 0, 0.5))}">'
        f'<joint type="slide" axis="{told((-side, 0, 0))}" stiffness="200" springref="0.05" damping="4"/>'
        f'<geom type="box" size=".01 .045 .045" mass=".2"/>{fingers}</body>'
    )


def finger(side: int, number: int, angle: float) -> str:
    """Two links along the cylinder that bend inwards."""
    root = (0.0, 0.065 * np.cos(angle), 0.065 * np.sin(angle))
    joint = (
        f'<joint axis="{told((0.0, -side * np.sin(angle), side * np.cos(angle)))}" stiffness=".2" springref=".4" '
        'damping=".002"/>'
    )

    def link(k: int, at: Any, length: float, mass: float, inside: str) -> str:
        tip = told((-side * length, 0, 0))
        geom = f'<geom type="capsule" fromto="0 0 0 {tip}" size=".008" mass="{mass}"/>'
        return f'<body name="f{side + 1}{number}{k}" pos="{told(at)}">{joint}{geom}{inside}</body>'

    return link(0, root, 0.035, 0.02, link(1, (-side * 0.035, 0, 0), 0.03, 0.015, ""))
