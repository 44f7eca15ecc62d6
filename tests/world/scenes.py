"""Worlds that the tests share: random ones, chains, loops."""

from __future__ import annotations

import numpy as np

import passivo as pv
from passivo.world.rotation import matrix_of


def random_turn(rng):
    turn = rng.standard_normal(4)
    return tuple(turn / np.linalg.norm(turn))


def random_inertia(rng, mass):
    """Of a random cloud of points: a symmetric 3 × 3 matrix that keeps the triangle inequality."""
    points = 0.2 * rng.standard_normal((6, 3))
    return mass / 6 * sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points)


def random_bodies(world, rng, count, speed=1.0):
    bodies = []
    for i in range(count):
        mass = float(10.0 ** rng.uniform(-1, 1))
        bodies.append(
            world.add_body(
                f"b{i}",
                mass=mass,
                inertia=random_inertia(rng, mass),
                position=rng.standard_normal(3),
                orientation=random_turn(rng),
                velocity=speed * rng.standard_normal(3),
                angular_velocity=3 * speed * rng.standard_normal(3),
            )
        )
    return bodies


def point_of(rng, body):
    return body.point(*(0.3 * rng.standard_normal(3)))


def random_world(seed, bodies=3, joints=True):
    """A world with some of everything; joints hang three bodies on each other in a loop."""
    rng = np.random.default_rng(seed)
    world = pv.World(gravity=3 * rng.standard_normal(3))
    a, b, c = random_bodies(world, rng, 3)
    hand = world.add_anchor("hand", position=rng.standard_normal(3), orientation=random_turn(rng), turns=True)
    rail = world.add_anchor("rail", position=rng.standard_normal(3))
    world.add_port("tip", a, at=0.2 * rng.standard_normal(3))
    world.add_port("grip", c, at=0.2 * rng.standard_normal(3), wrench=True)
    world.add_spring("line", point_of(rng, a), point_of(rng, b), 40.0, 0.3, length=0.4)
    world.add_spring("pull", point_of(rng, b), point_of(rng, rail), 60.0, 0.2)
    world.add_spring("rope", point_of(rng, c), world.point(0, 0, 1), 20.0, 0.1, length=0.7)
    world.add_turn_spring("twist", a, c, (3.0, 4.0, 5.0), 0.02, rest=random_turn(rng))
    world.add_pose_spring("hold", point_of(rng, b), point_of(rng, hand), 30.0, 2.0, 0.1, 0.01)
    if joints:
        place = rng.standard_normal(3)
        world.add_hinge("hinge", a, b, rng.standard_normal(3), at=place, stiffness=1e4, damping=0.5)
        world.add_ball("ball", a, b, c, at=rng.standard_normal(3), stiffness=1e4, damping=0.2)
        world.add_prismatic("slide", c, rail, rng.standard_normal(3), at=place, stiffness=1e3, damping=0.1)
        world.add_weld("weld", a, hand, at=place, stiffness=1e3, damping=0.1)
        axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        world.add_elliptic("knuckle", b, c, axes[:2], (0.05, 0.02), at=place, stiffness=1e4, damping=0.3)
    world.params |= {"b0.drag": 0.2, "b1.spin_drag": 0.03}
    return world


def drive(rng, part):
    """Random inputs of about 1 N, 1 N m, 1 m/s and 1 rad/s."""
    return rng.standard_normal(part.inputs.size)


def chain(seed, links=10, K=1e8, hinges=6, gravity=(0, 0, 0), mass=0.1, pace=0.3,
          box=(0.1, 0.02, 0.03), span=0.02):  # fmt: skip
    """Links that hang on the world in a random shape, in motion: `hinges` of the joints hold an axis by two
    points, the others one point each. For 10 links and 6 hinges these are 16 points. At pace 0.3 each link turns by
    some 2 rad/s against the one before, so that the last ones reach 5 rad/s and 1 m/s."""
    rng = np.random.default_rng(seed)
    world = pv.World(gravity=gravity)
    axes = set(np.linspace(1, links - 1, hinges).round().astype(int)) if hinges else set()
    last, place = None, np.zeros(3)
    speed, rate = np.zeros(3), np.zeros(3)
    for i in range(links):
        turn = random_turn(rng)
        frame = matrix_of(turn)
        way = frame @ np.array([box[0] / 2, 0, 0])
        axis = np.linalg.qr(rng.standard_normal((3, 3)))[0][0]
        own = pace * (6.0 * rng.standard_normal() * axis if i in axes else 4.0 * rng.standard_normal(3))
        rate = rate + own
        middle = place + way
        body = world.add_body(
            f"b{i}",
            pv.Box(*box),
            mass,
            position=middle,
            orientation=turn,
            velocity=speed + np.cross(rate, way),
            angular_velocity=frame.T @ rate,
        )
        if i in axes:
            world.add_hinge(f"j{i}", body, last, axis, at=place, span=span, stiffness=2 * K)
        else:
            world.add_ball(f"j{i}", body, world if last is None else last, at=place, stiffness=K)
        speed, place, last = speed + np.cross(rate, 2 * way), place + 2 * way, body
    return world


def four_bar(K=1e6):
    """A closed loop: three links and the world, joined by four hinges about y; the crank turns."""
    corners = [np.array(p, dtype=float) for p in ((0, 0, 0), (0, 0, 0.2), (0.5, 0, 0.4), (0.4, 0, 0))]
    world = pv.World()
    rate = np.array([0.0, 5.0, 0.0])
    crank_end = np.cross(rate, corners[1] - corners[0])
    # the rate of the rocker follows from both ends of the coupler keeping their distance
    coupler, rocker = corners[2] - corners[1], corners[2] - corners[3]
    side = np.cross([0, 1, 0], rocker)
    turn = (coupler @ crank_end) / (coupler @ side)
    coupler_rate = np.cross(coupler, turn * side - crank_end) / (coupler @ coupler)
    speeds = [rate, coupler_rate, np.array([0, turn, 0])]
    bodies = []
    for i, (a, b, w) in enumerate(zip(corners, (*corners[1:],), speeds)):
        way = b - a
        anchor, at = (corners[3], np.zeros(3)) if i == 2 else (a, np.zeros(3) if i == 0 else crank_end)
        middle = (a + b) / 2
        angle = np.arctan2(-way[2], way[0])
        bodies.append(
            world.add_body(
                f"bar{i}",
                pv.Box(float(np.linalg.norm(way)), 0.02, 0.02),
                0.3,
                position=middle,
                orientation=(np.cos(angle / 2), 0, np.sin(angle / 2), 0),
                velocity=at + np.cross(w, middle - anchor),
                angular_velocity=w,
            )
        )
    for i, (a, b) in enumerate(zip((world, *bodies), (*bodies, world))):
        world.add_hinge(f"pin{i}", a, b, (0, 1, 0), at=corners[i], stiffness=K)
    return world
