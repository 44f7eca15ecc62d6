"""What a world stores, by NumPy and the description alone: what an audit holds the ledger against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.world.form import rows_of
from passivo.world.names import BODY_PARAMETERS, BODY_VECTORS, GRAVITY, vectors_of
from passivo.world.tendons import DRIVE

if TYPE_CHECKING:
    from passivo.world.parts import Tie
    from passivo.world.world import World


def row_energies(world: World, params: Mapping[str, float], states: np.ndarray) -> np.ndarray:
    """Joules of every row of the ledger at each of the states (rows of the array), as wide as their numbers are."""
    columns = {name: i for i, name in enumerate(world.states)}
    vectors = world.vectors
    read: Callable[[str], np.ndarray] = lambda name: states[:, [columns[part] for part in vectors[name]]]  # noqa: E731
    rows = dict.fromkeys(rows_of(world), np.zeros(len(states), states.dtype))
    gravity = np.array([params[name] for name in GRAVITY], states.dtype)
    free = [name for name, body in world.bodies.items() if body.massive]
    for name in free:
        mass, xx, yy, zz, xy, xz, yz, *_ = (params[f"{name}.{what}"] for what in BODY_PARAMETERS)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], states.dtype)
        v, w = read(f"{name}.velocity"), read(f"{name}.angular_velocity")
        rows["kinetic"] = rows["kinetic"] + (mass * (v * v).sum(axis=1) + (w * (w @ inertia)).sum(axis=1)) / 2
        rows["gravity"] = rows["gravity"] - mass * (read(f"{name}.position") @ gravity)
    for name, joint in world.joints.items():
        for rate in joint.rates:
            own = [columns[part] for part in vectors.get(f"{name}.{rate}", (f"{name}.{rate}",))]
            rows["kinetic"] = rows["kinetic"] + params[f"{name}.inertia"] * (states[:, own] ** 2).sum(axis=1) / 2
        if hasattr(joint, "stiffness"):
            way = states[:, columns[f"{name}.{next(iter(joint.coordinates))}"]] - params[f"{name}.reference"]
            rows["springs"] = rows["springs"] + params[f"{name}.stiffness"] * way**2 / 2
    for beam in world.beams.values():
        own = states[:, [columns[state] for state in beam.states]]
        mass, bending = params[f"{beam.name}.mass"], params[f"{beam.name}.bending"]
        moving, bent = beam.matrices.energies(own).T
        places, shares = beam.matrices.placed(beam.taps(world)[-1:])
        lift = (own[:, places[:, 0]] * shares[:, 0]).sum(axis=1)
        height = float(beam.middle() @ gravity) + lift * (np.array(beam.up) @ gravity)
        rows["kinetic"] = rows["kinetic"] + mass * moving
        rows["beams"] = rows["beams"] + bending * bent
        rows["gravity"] = rows["gravity"] - mass * height
    if world.touches:
        rows["repair"] = states[:, columns["tank"]]
    for bond in world.bonds.values():
        for tie in bond.ties:
            if tie.stiffness:
                stretch = _stretch(tie, read)
                energy = params[tie.stiffness] * tie.share * stretch**2 / 2
                rows[bond.row] = rows[bond.row] + energy
    for cord in world.cords:
        column: Callable[[str], np.ndarray] = lambda name: states[:, columns[name]]  # noqa: E731
        stretch = cord.stretch(params, column, world.coordinate_of)
        taut = np.maximum(stretch, 0.0)
        rows[cord.row] = rows[cord.row] + params.get(cord.stiffness, 0.0) * taut**2 / 2
        if cord.drive:
            mass, stiffness, _ = (params[f"{cord.name}.{what}"] for what in DRIVE)
            lag = column(f"{cord.name}.drive") - params[cord.gain] * column(f"{cord.command}.length")
            rows[cord.row] = rows[cord.row] + stiffness * lag**2 / 2
            rows["kinetic"] = rows["kinetic"] + mass * column(f"{cord.name}.drive_speed") ** 2 / 2
    return np.column_stack(list(rows.values()))


def roughness(world: World, params: Mapping[str, float], states: np.ndarray, step: float) -> np.ndarray:
    """By how much each state may be off after a step, in units of rounding: joints and gaps of contacts find velocities
    from places, which are known to rounding of the way from the origin of the world, accelerations from rates; the tank
    takes what bodies lose, and lifts them."""
    columns, vectors = {name: i for i, name in enumerate(world.states)}, world.vectors
    places = [columns[part] for name in (*world.bodies, *world.anchors) for part in vectors[f"{name}.position"]]
    arms = [abs(x) for bond in world.bonds.values() for tie in bond.ties for x in (*tie.at_a, *tie.at_b)]
    far = float(np.abs(states[:, places]).max(initial=0.0)) + max(arms, default=0.0)
    result, radii = np.zeros(len(world.states)), [1.0]
    beams = {point.name: beam.length / beam.elements for beam in world.beams.values() for point in beam.points(world)}
    for beam in world.beams.values():
        own = [columns[state] for state in beam.states]
        factors = params[f"{beam.name}.mass"], params[f"{beam.name}.bending"]
        rough = beam.matrices.roughness(states[:, own], step, *factors)
        if world.bonds or world.touches:
            n = beam.matrices.size
            rough[:n] += far * beam.elements / min(beam.length, 1.0)
            rough[n:] += far * beam.elements / (step * min(beam.length, 1.0))
        result[own] = rough
    weight, joules = np.linalg.norm([params[name] for name in GRAVITY]), 0.0
    for name in world.bodies:
        own = {what: [columns[part] for part in vectors[f"{name}.{what}"]] for what in BODY_VECTORS}
        if world.bonds or world.touches:
            radius = beams[name] if name in beams else _radius(params, name)
            radii.append(radius)
            for what in ("velocity", "mean_velocity"):
                result[own[what]] = far / step
            for what in ("angular_velocity", "mean_angular_velocity", "smooth_angular_velocity"):
                result[own[what]] = far / (step * radius)
        # a difference of rates over a step
        rate = (
            np.abs(states[:, own["smooth_angular_velocity"]]).max(initial=0.0) + result[own["angular_velocity"]].max()
        )
        result[own["smooth_angular_acceleration"]] = 2.0 * rate / step
        speed = np.linalg.norm(states[:, own["velocity"]], axis=1).max(initial=0.0) + weight * step
        joules += params.get(f"{name}.mass", 0.0) * (speed * speed + weight * far)
    for beam in world.beams.values():
        speed = np.abs(states[:, [columns[state] for state in beam.groups[f"{beam.name}.deflection_rate"]]]).max(
            initial=0.0
        )
        joules += params[f"{beam.name}.mass"] * ((speed + weight * step) ** 2 + weight * far)
    if world.touches:
        result[columns["tank"]] = joules
    # joints turn by what places are known to, over the smallest lever that moves them
    levers = [abs(slope) for cord in world.cords for slope in cord.slopes if slope]
    lever = min([*radii, *levers])
    for name, joint in world.joints.items():
        for what in vectors_of(joint):
            own = [columns[part] for part in vectors.get(f"{name}.{what}", (f"{name}.{what}",))]
            result[own] = far / lever if what in joint.coordinates else far / (lever * step)
    for cord in world.cords:
        if cord.drive:
            places = states[:, [columns[f"{cord.name}.drive"], columns[f"{cord.command}.length"]]]
            result[columns[f"{cord.name}.drive_speed"]] = np.abs(places).max(initial=0.0) / step
    return result


def _radius(params: Mapping[str, float], name: str) -> float:
    """Of gyration."""
    mass, *moments = (params[f"{name}.{what}"] for what in BODY_PARAMETERS[:4])
    return float(np.sqrt(sum(moments) / (2.0 * mass)))


def _stretch(tie: Tie, read: Callable[[str], np.ndarray]) -> np.ndarray:
    """How far a tie is from rest, at each state."""
    gap = _place(tie, tie.a, tie.at_a, read) - _place(tie, tie.b, tie.at_b, read)
    if tie.kind == "length":
        return _size(gap) - tie.more[0]
    if tie.kind == "slide":
        ways = [tie.more[i : i + 3] for i in (0, 3, 6)]
        return _size(np.column_stack([(_turned(tie.b, way, read) * gap).sum(axis=1) for way in ways]))
    return _size(gap)


def _place(tie: Tie, carrier: str | None, at: Any, read: Callable[[str], np.ndarray]) -> np.ndarray:
    """A point of a carrier in world axes; of a direction tie only the direction."""
    place = _turned(carrier, at, read)
    return place if carrier is None or tie.kind == "direction" else place + read(f"{carrier}.position")


def _turned(carrier: str | None, vector: Any, read: Callable[[str], np.ndarray]) -> np.ndarray:
    """A vector of a carrier in world axes: v + 2w (u × v) + 2u × (u × v) for its quaternion (w, u)."""
    if carrier is None:
        return np.array(vector)[None, :]
    turn = read(f"{carrier}.orientation")
    w, u = turn[:, :1], turn[:, 1:]
    v = np.broadcast_to(np.array(vector, turn.dtype), u.shape)
    across = np.cross(u, v)
    return v + 2 * w * across + 2 * np.cross(u, across)


def _size(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt((vectors * vectors).sum(axis=1))
