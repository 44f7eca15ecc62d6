"""What the figures of the falling box share: the box, its runs, and what holds in flight and in contact (spec 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from passivo.method.base import Method
from passivo.method.one_stage import SymplecticEuler
from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.reproduce.common import at_most, progress_of
from passivo.reproduce.figure import Advance, Statement
from passivo.run.draw import COLOURS, legend
from passivo.run.run import Run
from passivo.run.simulate import simulate
from passivo.world.shapes import Box
from passivo.world.world import World

METHODS: dict[str, Method] = {"passive midpoint": PassiveMidpoint(), "symplectic Euler": SymplecticEuler()}
BOX = (0.3, 0.2, 0.15)  # m
PARAMS = {"height": 0.5, "mass": 1.0, "friction": 0.3, "wx": 1.0, "wy": 2.0, "wz": 0.5, "step": 1e-3}
TURN = (0.9, 0.2, 0.3, 0.1)  # of the slanting pose, w x y z, before it is made of length 1
G = 9.81


@dataclass(frozen=True)
class Fall:
    """A run, the height of the centre, and the energy: of the motion and of the tank, in joules above those of a box
    that lies on the floor. `touching`: whether it pressed in the step that ends there."""

    run: Run
    height: np.ndarray
    energy: np.ndarray
    touching: np.ndarray

    @property
    def time(self) -> np.ndarray:
        return self.run.time

    @property
    def flight(self) -> float:
        """The largest change of energy in a step of flight, as a share of the energy at the start."""
        return self._most(np.abs(np.diff(self.energy))[~self.touching[1:]])

    @property
    def gain(self) -> float:
        """The largest gain of a step with contact, as such a share."""
        return self._most(np.diff(self.energy)[self.touching[1:]])

    def _most(self, changes: np.ndarray) -> float:
        return float(changes.max(initial=0.0) / self.energy[0])

    @property
    def left(self) -> np.ndarray:
        """The share of the energy that is left."""
        return self.energy / self.energy[0]

    @property
    def first(self) -> int:
        """The row at which it first touched, the last one if it never did."""
        rows = np.flatnonzero(self.touching)
        return int(rows[0]) if len(rows) else len(self.time) - 1

    def rows(self, seconds: float) -> int:
        """The row so long after it first touched."""
        return min(self.first + round(seconds / self.run.step), len(self.time) - 1)

    @property
    def after(self) -> int:
        """The row at which it first flew again, the last one if it never did."""
        rows = np.flatnonzero(~self.touching[self.first :])
        return self.first + int(rows[0]) if len(rows) else len(self.time) - 1

    @property
    def rebound(self) -> float:
        """The highest place of the centre after the first contact, over that at the start."""
        return float(self.height[self.first :].max() / self.height[0])


def falling(p: Mapping[str, float], restitution: float, flat: bool = False) -> World:
    world = World()
    world.add_plane(friction=p["friction"])
    turn = (1.0, 0.0, 0.0, 0.0) if flat else tuple(float(q) for q in np.array(TURN) / np.linalg.norm(TURN))
    rates = (0.0, 0.0, 0.0) if flat else (p["wx"], p["wy"], p["wz"])
    world.add_body(
        "box", Box(*BOX), p["mass"], position=(0.0, 0.0, p["height"]), orientation=turn, angular_velocity=rates,
        friction=p["friction"], restitution=restitution,
    )  # fmt: skip
    return world


def fall(p: Mapping[str, float], restitution: float, method: str, advance: Advance, flat: bool = False) -> Fall:
    told = progress_of(advance, f"{method}, restitution {restitution:g}")
    run = simulate(falling(p, restitution, flat), METHODS[method], p["step"], p["until"], progress=told)
    energy = run.arrays["ledger"][:, -1, 0] - p["mass"] * G * min(BOX) / 2
    touching = np.nan_to_num(run["contacts.number"].values) > 0
    return Fall(run, run["box.position"].values[:, 2], energy, touching)


def ours(p: Mapping[str, float], flat: bool = False) -> str:
    """What the text leaves open, in words."""
    x, y, z = (1e3 * edge for edge in BOX)
    pose = "lying flat in the air, without a spin" if flat else "in a slanting pose, with a spin"
    return (
        f"The text gives no dimensions; ours are a box of {x:g} × {y:g} × {z:g} mm and {p['mass']:g} kg with friction "
        f"{p['friction']:g}, let go {pose}, its centre {p['height']:g} m above the floor. "
    )


def profiles(picture: Any, falls: Mapping[str, Fall]) -> None:
    """Energy and height of several falls, one above the other."""
    above, below = picture.subplots(2, sharex=True)
    for i, (name, it) in enumerate(falls.items()):
        look = {"color": COLOURS[i], "linewidth": 1.4}
        above.plot(it.time, it.energy, label=name, **look)
        below.plot(it.time, it.height, **look)
    above.set_ylabel("energy [J]")
    below.set_ylabel("height of the centre [m]")
    below.set_xlabel("time [s]")
    above.set_ylim(bottom=0.0)
    below.set_ylim(bottom=0.0)
    legend(above)


def columns(falls: Mapping[str, Fall]) -> dict[str, np.ndarray]:
    first = next(iter(falls.values()))
    data = {"t [s]": first.time}
    for name, it in falls.items():
        data |= {f"{name}: energy [J]": it.energy, f"{name}: height [m]": it.height}
    return data


def kept(name: str, it: Fall) -> list[Statement]:
    """What holds at any parameters: constant in flight, never rising in contact."""
    return [
        at_most(f"{name}: largest change of energy in a step of flight, of that at the start", it.flight, 1e-13),
        at_most(f"{name}: largest gain of energy in a step with contact, of that at the start", it.gain, 1e-13),
    ]


def beyond(text: str, found: float, than: str, holds: bool, known: bool) -> Statement:
    """A statement of the paper, held against our numbers only with our own parameters."""
    return Statement(text, float(found), than if known else "", bool(holds) if known else None)
