"""Peg in hole: two hands of ten bodies each, a peg, a block with a hole, and the motion that their anchors are led by.

In the axes of a hand its fingers hang along −z from the palm; the thumb is on the side of −x, index and little
finger on that of +x, and all hinges turn about y. Each hand is led by four anchors through SE(3) springs: at the palm
and at the last link of each finger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.reproduce.common import progress_of
from passivo.reproduce.figure import Advance
from passivo.run.run import Run
from passivo.run.simulate import simulate
from passivo.world.parts import Anchor, Body
from passivo.world.shapes import Box, Capsule
from passivo.world.world import World

PARAMS = {
    "peg": 0.1, "block": 0.3, "gap": 0.5e-3, "squeeze": 6e-3, "hold": 16e-3, "finger_friction": 1.0, "friction": 0.3,
    "palm_stiffness": 3000.0, "tip_stiffness": 600.0, "joint_stiffness": 1e6, "yaw": 30.0, "lift": 0.09, "raise": 0.015,
    "step": 1e-3, "until": 5.4,
}  # fmt: skip
PALM = (0.11, 0.06, 0.02)  # m
PALM_MASS = 0.3
LINKS = (("proximal", 0.045, 0.025), ("middle", 0.035, 0.015), ("distal", 0.030, 0.010))  # metres, kilograms
RADIUS, APART = 0.008, 0.01  # m of a link; m between the two points of a hinge
BASE, ACROSS = 0.04, 0.011  # m from the middle of the palm to the first joints, along x and along y
REACH = 0.08  # m from the palm's centre down to the last joints
FINGERS = {"thumb": (-1.0, 0.0), "index": (1.0, ACROSS), "little": (1.0, -ACROSS)}  # side, and place along y
BALLS = ("thumb", "little")  # whose first joint is one point; the others are two
PEG = (0.04, 0.04, 0.09)  # m
BLOCK, FLOOR = (0.1, 0.07, 0.06), 0.012  # m; what is left under the hole
WIDE = 0.012  # m between each finger and what it will grip, at the start
ASIDE = 0.16  # m from the block to the peg at the start
SETTLE, CLOSE, UP, ACROSS_TIME, DOWN, OPEN, AWAY = 0.2, 0.6, 0.8, 1.2, 0.9, 0.5, 0.5  # s that each part of it takes
RIGHT, LEFT = "right", "left"


@dataclass(frozen=True)
class Grip:
    """A hand: the pose of its palm at the start, and how far from its middle its last links are then."""

    name: str
    place: np.ndarray
    turn: np.ndarray
    half: float  # of what it grips, m
    squeeze: float  # by how much its anchors go into it

    @property
    def open(self) -> float:
        return self.half + RADIUS + WIDE

    @property
    def shut(self) -> float:
        return self.half + RADIUS - self.squeeze


def grips(p: Mapping[str, float]) -> tuple[Grip, Grip]:
    """The right hand over the peg, and the left beside the block, its fingers along x and its hinges upright."""
    yaw = np.radians(p["yaw"])
    about_z = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    down = np.array([ASIDE, 0.0, PEG[2] - 0.005 + REACH])
    beside = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])  # z of the hand is −x, its x is y
    away = np.array([-0.042 - REACH, 0.0, BLOCK[2] / 2])
    return (
        Grip(RIGHT, down, about_z, PEG[0] / 2, p["squeeze"]),
        Grip(LEFT, away, beside, BLOCK[1] / 2, p["hold"]),
    )


def bends(side: float, y: float, open_: float) -> list[np.ndarray]:
    """The joints of a finger from the palm on, and its end, in the axes of the hand: knuckles point outwards."""
    base, last = np.array([side * BASE, y, -PALM[2] / 2]), np.array([side * open_, y, -REACH])
    way = last - base
    long, (first, second) = float(np.linalg.norm(way)), (LINKS[0][1], LINKS[1][1])
    along = (long**2 + first**2 - second**2) / (2 * long)
    out = np.sqrt(first**2 - along**2)
    normal = np.array([-way[2], 0.0, way[0]]) / long
    normal *= np.sign(normal[0]) * side
    return [base, base + along * way / long + out * normal, last, last - (0.0, 0.0, LINKS[2][1])]


def add_hand(world: World, grip: Grip, p: Mapping[str, float]) -> None:
    """Ten bodies, sixteen point constraints, four anchors."""
    name, turn, place = grip.name, grip.turn, grip.place
    palm = world.add_body(
        f"{name}_palm",
        Box(*PALM),
        PALM_MASS,
        position=place,
        orientation=quaternion(turn),
        friction=p["finger_friction"],
    )
    lead(world, palm, 20.0, p["palm_stiffness"], 60.0, 0.3)
    for finger, (side, y) in FINGERS.items():
        before: Body = palm
        joints = bends(side, y, grip.open)
        axis = turn @ np.array([0.0, 1.0, 0.0])
        for k, (link, length, mass) in enumerate(LINKS):
            along = (joints[k + 1] - joints[k]) / length
            across = np.array([0.0, -side, 0.0])
            frame = np.stack([across, along, np.cross(across, along)], axis=1)  # z points out of what it presses on
            body = world.add_body(
                f"{name}_{finger}_{link}",
                Capsule(RADIUS, length - 2 * RADIUS, orientation=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)),
                mass,
                position=place + turn @ (joints[k] + joints[k + 1]) / 2,
                orientation=quaternion(turn @ frame),
                friction=p["finger_friction"],
            )
            at, joint = place + turn @ joints[k], f"{body.name}_joint"
            if k == 0 and finger in BALLS:
                world.add_ball(joint, body, before, at=at, stiffness=p["joint_stiffness"])
            else:
                world.add_hinge(joint, body, before, axis, at=at, span=APART, stiffness=2 * p["joint_stiffness"])
            before = body
        firm = 2.0 if finger == "thumb" else 1.0  # it stands against both of the others
        lead(world, before, 0.5, firm * p["tip_stiffness"], firm * 3.0, 0.003)


def lead(world: World, body: Body, turning: float, stiffness: float, damping: float, turn_damping: float) -> None:
    """An anchor where a body is, and the SE(3) spring between the two."""
    anchor: Anchor = world.add_anchor(f"{body.name}_lead", body.position, body.orientation, turns=True)
    world.add_pose_spring(f"{body.name}_spring", body, anchor, stiffness, turning, damping, turn_damping)


def scene(p: Mapping[str, float]) -> World:
    world = World()
    world.add_plane("table", friction=0.6)
    for grip in grips(p):
        add_hand(world, grip, p)
    turn = quaternion(grips(p)[0].turn)
    world.add_body("peg", Box(*PEG), p["peg"], position=(ASIDE, 0.0, PEG[2] / 2), orientation=turn,
                   friction=0.6)  # fmt: skip
    world.add_body("block", hollow(p["gap"]), p["block"], position=(0.0, 0.0, middle(p["gap"])), friction=p["friction"])
    return world


def hollow(gap: float) -> list[Box]:
    """A block with a hole for the peg, of a floor and four walls; its axes begin in its centre of mass."""
    x, y, z = BLOCK
    u, v = PEG[0] + 2 * gap, PEG[1] + 2 * gap
    high, centre = z - FLOOR, middle(gap)
    wall = FLOOR + high / 2 - centre
    boxes = [Box(x, y, FLOOR, position=(0.0, 0.0, FLOOR / 2 - centre))]
    boxes += [Box((x - u) / 2, y, high, position=(side * (x + u) / 4, 0.0, wall)) for side in (-1.0, 1.0)]
    boxes += [Box(u, (y - v) / 2, high, position=(0.0, side * (y + v) / 4, wall)) for side in (-1.0, 1.0)]
    return boxes


def middle(gap: float) -> float:
    """How high the centre of mass of the block is."""
    x, y, z = BLOCK
    hole = (PEG[0] + 2 * gap) * (PEG[1] + 2 * gap) * (z - FLOOR)
    whole = x * y * z
    return (whole * z / 2 - hole * (FLOOR + z) / 2) / (whole - hole)


def quaternion(turn: np.ndarray) -> tuple[float, ...]:
    from scipy.spatial.transform import Rotation

    return tuple(float(q) for q in Rotation.from_matrix(turn).as_quat(scalar_first=True))


# -- the motion -----------------------------------------------------------------------------------------------------


def ease(time: np.ndarray, start: float, lasts: float) -> np.ndarray:
    """From 0 to 1, without a jump of velocity or acceleration."""
    s = np.clip((time - start) / lasts, 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def times() -> dict[str, float]:
    """When each part of the task begins, and its end."""
    names = ("close", "up", "across", "down", "open", "away", "end")
    lengths = (SETTLE, CLOSE + 0.2, UP, ACROSS_TIME, DOWN + 0.2, OPEN, AWAY + 0.3)
    return dict(zip(names, np.cumsum(lengths).tolist()))


def led(p: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Velocity and rate of every anchor in each step (steps, 6), in the axes of the world."""
    at, h = times(), p["step"]
    time = h * np.arange(round(p["until"] / h) + 1)
    closing, opening = ease(time, at["close"], CLOSE), ease(time, at["open"], OPEN)
    lifting, carrying = ease(time, at["up"], UP), ease(time, at["across"], ACROSS_TIME)
    sinking, leaving = ease(time, at["down"], DOWN), ease(time, at["away"], AWAY)
    right, left = grips(p)
    deep = p["lift"] - p["raise"] - FLOOR
    zero = np.zeros_like(time)
    paths = {
        RIGHT: (
            np.stack([-ASIDE * carrying, zero, p["lift"] * lifting - deep * sinking + 0.08 * leaving], axis=1),
            -np.radians(p["yaw"]) * carrying,
            closing - opening,
        ),
        LEFT: (np.stack([zero, zero, p["raise"] * lifting], axis=1), zero, closing),
    }
    inputs: dict[str, np.ndarray] = {}
    for grip in (right, left):
        way, yaw, shut = paths[grip.name]
        rate = np.zeros((len(time) - 1, 3))
        rate[:, 2] = np.diff(yaw) / h
        inputs[f"{grip.name}_palm_lead"] = np.hstack([np.diff(way, axis=0) / h, rate])
        for finger, (side, y) in FINGERS.items():
            *_, last, end = bends(side, y, grip.open)
            offset = np.tile((last + end) / 2, (len(time), 1))
            offset[:, 0] -= side * (grip.open - grip.shut) * shut
            offset = offset @ grip.turn.T
            c, s = np.cos(yaw), np.sin(yaw)
            turned = np.stack(
                [c * offset[:, 0] - s * offset[:, 1], s * offset[:, 0] + c * offset[:, 1], offset[:, 2]], axis=1
            )
            name = f"{grip.name}_{finger}_{LINKS[-1][0]}_lead"
            inputs[name] = np.hstack([np.diff(way + turned, axis=0) / h, rate])
    return inputs


# -- what comes out -------------------------------------------------------------------------------------------------


def task(p: Mapping[str, float], advance: Advance) -> Run:
    """The whole task. Joints are solved until nothing moves, so that the balance is exact."""
    world, told = scene(p), progress_of(advance, "peg in hole")
    return simulate(world, PassiveMidpoint(resolve=2), p["step"], p["until"], inputs=led(p), progress=told)


def turns(run: Run, body: str) -> np.ndarray:
    """Orientations as matrices (rows, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(run[f"{body}.orientation"].values, scalar_first=True).as_matrix()


def seen_from(run: Run, body: str, other: str) -> np.ndarray:
    """Where the centre of `other` is in the axes of `body` (rows, 3)."""
    away = run[f"{other}.position"].values - run[f"{body}.position"].values
    return np.einsum("kji,kj->ki", turns(run, body), away)


def fingertip_force(run: Run, hand: str, finger: str) -> np.ndarray:
    """The force of contacts on a fingertip in its own axes (rows, 3): across it, along it, out of what it touches."""
    tip = f"{hand}_{finger}_{LINKS[-1][0]}"
    force = np.nan_to_num(run[f"{tip}.contact_force"].values)
    return np.einsum("kji,kj->ki", turns(run, tip), force)


OURS = (
    "The text gives neither dimensions nor numbers. Ours: palms of 110 × 60 × 20 mm and 0.3 kg; thumb, index and "
    "little finger of three links each, 45, 35 and 30 mm long, 16 mm thick, 25, 15 and 10 g; of nine joints of a hand "
    "seven are hinges of two points and two are single points, sixteen in all. Each hand is led by four anchors, at "
    "the palm and the three last links, through SE(3) springs. A peg of 40 × 40 × 90 mm, a block of 100 × 70 × 60 mm "
    "with a hole 48 mm deep made of five boxes. In the paper people lead the hands; here a written path does. The "
    "right hand lifts the peg off the table, turns and carries it, puts it into the hole and lets go; the left one "
    "meanwhile holds the block in the air. "
)
