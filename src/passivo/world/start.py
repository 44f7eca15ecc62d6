"""What is looked at where a world starts: whether all joints move some mass, and whether one starts in its stop."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError
from passivo.world.joints import Ball, Free, Hinge, Slider
from passivo.world.names import BODY_PARAMETERS
from passivo.world.parts import UP
from passivo.world.rotation import matrix_of, product, quaternion_of

if TYPE_CHECKING:
    from passivo.world.hung import Limb
    from passivo.world.world import World

SINGULAR = 32 * 2.0**-52  # for each unknown, of masses that are scaled to 1
SHARE = 1e-3  # of the largest rate: joints that move less have no part in it
OUTSIDE = 1e-12  # rad or m beyond a range that are rounding
MOST_NAMED = 6


class StartWarning(UserWarning):
    """Joints start beyond their ranges; `joules` says what the stop of each then holds."""

    def __init__(self, sentences: Sequence[str], joules: Mapping[str, float]):
        self.joules = dict(joules)
        super().__init__("; ".join(sentences))


def look_at_start(world: World, state: Mapping[str, float]) -> None:
    """Raise where joints move nothing, warn where stops are pressed, in a state of the whole world."""
    for limbs in world.mechanisms:
        _check_masses(world, limbs, state)
    sentences, joules = [], {}
    for name, joint in world.joints.items():
        if not isinstance(joint, Hinge | Slider) or joint.range is None:
            continue
        coordinate, unit = next(iter(joint.coordinates)), "rad" if isinstance(joint, Hinge) else "m"
        at, low, high = state[f"{name}.{coordinate}"], world.params[f"{name}.low"], world.params[f"{name}.high"]
        beyond = max(low - at, at - high)
        if beyond > OUTSIDE:
            joules[name] = world.params[f"{name}.stop_stiffness"] * beyond**2 / 2
            sentences.append(
                f"joint {name!r} starts at {at:g} {unit}, outside its range from {low:g} to {high:g}: its stop holds "
                f"{joules[name]:.3g} J, which throw it out. Start inside, as with "
                f"start={{'{name}.{coordinate}': {(low + high) / 2:g}}}"
            )
    if sentences:
        more = len(sentences) - MOST_NAMED
        told = [*sentences[:MOST_NAMED], f"and {more} more"] if more > 0 else sentences
        warnings.warn(StartWarning(told, joules), stacklevel=_depth())


def _depth() -> int:
    """Which of the calls that led here is the first that is not our own: a warning names its line."""
    level, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("passivo."):
        level, frame = level + 1, frame.f_back
    return level + 1


def _check_masses(world: World, limbs: list[Limb], state: Mapping[str, float]) -> None:
    """Raise where some motion of the joints moves no mass: no step could tell how fast it is."""
    masses = masses_of(world, limbs, state)
    sizes = np.sqrt(np.diag(masses))
    owners = [limb.joint for limb in limbs for _ in range(limb.joint.width)]  # in the order of the unknowns
    idle = np.flatnonzero(~(sizes > 0.0))
    if len(idle):
        raise ModelError(f"joint {owners[idle[0]].name!r} moves no mass; give it an inertia, or leave it out")
    values, ways = np.linalg.eigh(masses / np.outer(sizes, sizes))
    if values[0] > SINGULAR * len(sizes):
        return
    rates = np.abs(ways[:, 0])
    names = list(dict.fromkeys(owner.name for owner, rate in zip(owners, rates) if rate > SHARE * rates.max()))
    told = ", ".join(map(repr, names[:MOST_NAMED])) + (" and more" if len(names) > MOST_NAMED else "")
    raise ModelError(
        f"the joints {told} can move against each other at the start so that no mass moves, and no step can tell how "
        "fast they do. Leave one of them out, turn its axis, give one an inertia (that of a rotor behind a gear, "
        "armature in files), or start where their axes differ"
    )


def masses_of(world: World, limbs: list[Limb], state: Mapping[str, float]) -> np.ndarray:
    """The mass matrix of a mechanism in a state, kg, kg m and kg m²; the unknowns of a free limb in world axes."""
    params, vectors = world.params, world.vectors
    read = lambda name: np.array([state[part] for part in vectors.get(name, (name,))])  # noqa: E731
    count = sum(limb.joint.width for limb in limbs)
    masses, poses = np.zeros((count, count)), []
    axes, pins, turns = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count, bool)
    for limb in limbs:
        own = list(limb.unknowns[len(limb.unknowns) - limb.joint.width :])
        place, turn = _pose(limb, poses, read)
        poses.append((place, turn))
        frame = matrix_of(turn)
        match limb.joint:
            case Free():
                axes[own] = np.vstack([np.eye(3), np.eye(3)])
                turns[own[3:]] = True
            case Ball():
                axes[own], turns[own] = frame.T, True
            case _:
                axes[own], turns[own] = frame @ np.array(limb.axis), isinstance(limb.joint, Hinge)
        pins[own] = place + frame @ np.array(limb.own_pin)
        masses[own, own] += params.get(f"{limb.joint.name}.inertia", 0.0)
        if limb.body:
            path = list(limb.unknowns)
            swept = np.where(turns[path, None], np.cross(axes[path], place - pins[path]), axes[path])
            turned = np.where(turns[path, None], axes[path], 0.0) @ frame
            mass, xx, yy, zz, xy, xz, yz = (params[f"{limb.body}.{what}"] for what in BODY_PARAMETERS[:7])
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            masses[np.ix_(path, path)] += mass * swept @ swept.T + turned @ inertia @ turned.T
    return masses


def _pose(limb: Limb, poses: list[Any], read: Any) -> tuple[np.ndarray, Any]:
    """Place and orientation of a limb, from its coordinates and its parent's pose."""
    joint = limb.joint
    if isinstance(joint, Free):
        return read(f"{limb.body}.position"), tuple(read(f"{limb.body}.orientation"))
    base, frame = poses[limb.parent] if limb.parent >= 0 else (np.zeros(3), UP)
    turn, way = product(frame, limb.rest), np.zeros(3)
    at = read(f"{joint.name}.{next(iter(joint.coordinates))}")
    if isinstance(joint, Hinge):
        turn = product(turn, quaternion_of(np.array(limb.axis), float(at[0])))
    elif isinstance(joint, Ball):
        turn = product(turn, tuple(at.tolist()))
    else:
        way = float(at[0]) * np.array(limb.axis)
    return base + matrix_of(frame) @ np.array(limb.pin) + matrix_of(turn) @ (way - np.array(limb.own_pin)), turn
