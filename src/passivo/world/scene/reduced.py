"""Links in the coordinates of their joints (spec 4.6)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.world import joints as kinds
from passivo.world.links import Joint, Link, Pose, Unsupported, within
from passivo.world.rotation import matrix_of
from passivo.world.scene.names import free_name, renamed

if TYPE_CHECKING:
    from passivo.world.world import World


def hang(
    world: World, link: Link, pose: Pose, options: dict[str, Any], velocity: np.ndarray, taken: Collection[str]
) -> list[Unsupported]:
    """Add a link with its joints to the world; gives what these cannot do."""
    joints, dropped = [], []
    for joint in link.joints:
        name = free_name(world, joint.name, [*taken, *(one.name for one in joints)])
        joints.append(_joint(joint, name, pose))
        dropped += [*_dropped(joint), *([renamed(joint.name, name)] if name != joint.name else [])]
        if joint.kind == "free":
            options = {**options, "velocity": velocity, "angular_velocity": link.angular_velocity}
    parent = None if link.parent is None else world.links[link.parent]
    world.add_link(link.name, parent, joints, **options)
    return dropped


def _joint(joint: Joint, name: str, pose: Pose) -> kinds.Joint:
    """A joint in world axes."""
    own: dict[str, Any] = {"damping": joint.damping, "inertia": joint.armature}
    axis = tuple(matrix_of(pose[1]) @ np.array(joint.axis))
    at = tuple(within(pose, joint.anchor, pose[1])[0])
    single = {
        "axis": axis,
        "stiffness": joint.stiffness,
        "reference": joint.reference if joint.stiffness else 0.0,
        "range": joint.range,
        "stop_stiffness": joint.stop_stiffness,
        "stop_damping": joint.stop_damping,
    }
    match joint.kind:
        case "hinge":
            return kinds.Hinge(name, **own, at=at, **single)
        case "slide":
            return kinds.Slider(name, **own, **single)
        case "ball":
            return kinds.Ball(name, **own, at=at)
    return kinds.Free(name)


def _dropped(joint: Joint) -> list[Unsupported]:
    """What joints of links cannot do."""
    ball = joint.kind == "ball"
    asked = {
        "joint range": ball and joint.range is not None,
        "joint spring": ball and joint.stiffness > 0.0,
        "dry friction": joint.friction > 0.0,
        "armature": joint.kind == "free" and joint.armature > 0.0,
        "joint damping": joint.kind == "free" and joint.damping > 0.0,
    }
    return [Unsupported(kind, (joint.name,), "left out") for kind, wanted in asked.items() if wanted]
