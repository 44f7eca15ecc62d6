"""Links in the coordinates of their joints (spec 4.6)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.world import joints
from passivo.world.links import Joint, Link, Pose, Unsupported, within
from passivo.world.rotation import matrix_of
from passivo.world.scene.names import free_name

if TYPE_CHECKING:
    from passivo.world.world import World


def hang(
    world: World, link: Link, pose: Pose, options: dict[str, Any], velocity: np.ndarray, taken: Collection[str]
) -> list[Unsupported]:
    """Add a link with its joints to the world; gives what these cannot do. `taken` are names that are to come."""
    if link.joints[0].kind == "free":
        options = {**options, "velocity": velocity, "angular_velocity": link.angular_velocity}
    made: list[joints.Joint] = []
    for joint in link.joints:
        name = free_name(world, joint.name, {*taken, *(one.name for one in made)})
        made.append(_joint(joint, name, pose))
    parent = None if link.parent is None else world.links[link.parent]
    world.add_link(link.name, parent, made, **options)
    return [one for joint in link.joints for one in _dropped(joint)]


def _joint(joint: Joint, name: str, pose: Pose) -> joints.Joint:
    """A joint, in world axes."""
    moves = {"damping": joint.damping, "inertia": joint.armature}
    spring = {"stiffness": joint.stiffness, "reference": joint.reference}
    axis: Any = matrix_of(pose[1]) @ np.array(joint.axis)
    at: Any = within(pose, joint.anchor, pose[1])[0]
    match joint.kind:
        case "hinge":
            return joints.Hinge(name, axis=axis, at=at, **moves, **spring)
        case "slide":
            return joints.Slider(name, axis=axis, **moves, **spring)
        case "ball":
            return joints.Ball(name, at=at, **moves)
    return joints.Free(name)


def _dropped(joint: Joint) -> list[Unsupported]:
    """What joints of links do not have."""
    asked = {
        "joint range": (joint.range is not None, "links move beyond it"),
        "dry friction": (joint.friction > 0.0, "left out"),
        "joint spring": (joint.kind == "ball" and joint.stiffness > 0.0, "left out of a ball"),
        "armature": (joint.kind == "free" and joint.armature > 0.0, "left out of what floats"),
        "joint damping": (joint.kind == "free" and joint.damping > 0.0, "left out of what floats"),
    }
    return [Unsupported(kind, (joint.name,), instead) for kind, (wanted, instead) in asked.items() if wanted]
