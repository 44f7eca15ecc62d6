"""A palm and three fingers of three links: 10 bodies held by 16 points, as a world and as two models of MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

import passivo as pv
from bench.mjcf import body, mjcf, told
from passivo.world.rotation import matrix_of

PALM = np.array([0.0, 0.0, 0.3])
SPIN = np.array([0.0, 0.0, 2.0])  # rad/s of the whole hand at the start
APART = 0.02  # metres between the two points of a hinge
UP = (1.0, 0.0, 0.0, 0.0)
HEART = '<freejoint/><geom type="cylinder" size="0.045 0.01" mass="0.4"/>'


@dataclass(frozen=True)
class Link:
    """A capsule along its z axis that meets the link before in a hinge, or in a ball."""

    name: str
    before: str
    ball: bool
    axis: np.ndarray
    at: np.ndarray  # where they meet
    middle: np.ndarray
    turn: tuple[float, ...]
    length: float
    mass: float

    @property
    def points(self) -> list[np.ndarray]:
        return [self.at] if self.ball else [self.at + side * APART / 2 * self.axis for side in (-1, 1)]

    @property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Its velocity, and its rate in its own axes."""
        return np.cross(SPIN, self.middle), self.inside(SPIN)

    def inside(self, vector: np.ndarray) -> np.ndarray:
        return matrix_of(self.turn).T @ vector

    @property
    def geom(self) -> str:
        return f'<geom type="capsule" size="0.008 {self.length / 2}" mass="{self.mass}"/>'

    @property
    def joint(self) -> str:
        kind = 'type="ball"' if self.ball else f'type="hinge" axis="{told(self.inside(self.axis))}"'
        return f'<joint {kind} pos="0 0 {-self.length / 2}"/>'


def fingers() -> list[list[Link]]:
    """All joints are hinges, of two points each, but the last ones of two fingers: that makes 16."""
    result = []
    for finger in range(3):
        angle = np.radians(90 + 120 * finger)
        way, axis = np.array([np.cos(angle), np.sin(angle), 0]), np.array([-np.sin(angle), np.cos(angle), 0])
        turn = (float(np.cos(np.pi / 4)), *(float(x) for x in np.sin(np.pi / 4) * axis))  # brings z into the way
        before, at, links = "palm", PALM + 0.041 * way, []
        for k, (length, mass) in enumerate(((0.05, 0.03), (0.035, 0.02), (0.028, 0.012))):
            name, middle = f"f{finger}l{k}", at + length / 2 * way
            links.append(Link(name, before, k == 2 and finger < 2, axis, at, middle, turn, length, mass))
            before, at = name, at + length * way
        result.append(links)
    return result


def world() -> pv.World:
    hand = pv.World()
    hand.add_body("palm", pv.Cylinder(0.045, 0.02), 0.4, position=PALM, angular_velocity=SPIN)
    for link in chain(*fingers()):
        velocity, rate = link.start
        pose = {"position": link.middle, "orientation": link.turn, "velocity": velocity, "angular_velocity": rate}
        one = hand.add_body(link.name, pv.Capsule(0.008, link.length), link.mass, **pose)
        before, name = hand.bodies[link.before], f"{link.name}_joint"
        if link.ball:
            hand.add_ball(name, one, before, at=link.at, stiffness=1e6)
        else:
            hand.add_hinge(name, one, before, link.axis, at=link.at, span=APART, stiffness=1e6)
    return hand


def tree(step: float) -> str:
    """For MuJoCo, as a palm with a tree of hinges and balls: 19 degrees of freedom."""
    text, still = HEART, 0
    for links in fingers():
        inside = ""
        for k in (2, 1, 0):
            link = links[k]
            # the links of a finger point the same way: in the axes of the one before only z differs
            place = (0, 0, (link.length + links[k - 1].length) / 2) if k else link.middle - PALM
            inside = body(link.name, place, UP if k else link.turn, link.joint + link.geom + inside)
            still += 3 if link.ball else 1
        text += inside
    return mjcf(body("palm", PALM, UP, text), step, (0, 0, 0, *SPIN, *(0,) * still))


def points(step: float) -> str:
    """For MuJoCo, as free bodies: 60 degrees of freedom, and a `connect` constraint for each point."""
    text, ties, velocities = body("palm", PALM, UP, HEART), "", [0, 0, 0, *SPIN]
    for link in chain(*fingers()):
        text += body(link.name, link.middle, link.turn, "<freejoint/>" + link.geom)
        velocities += [x for vector in link.start for x in vector]
        for point in link.points:
            anchor = told(link.inside(point - link.middle))
            ties += f'<connect body1="{link.name}" body2="{link.before}" anchor="{anchor}"/>'
    return mjcf(text, step, velocities, more=f"<equality>{ties}</equality>")
