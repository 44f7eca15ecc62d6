"""Links in the coordinates of their joints (spec 4.6)."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError
from passivo.world.links import Joint, Link, Pose, Unsupported, within
from passivo.world.rotation import matrix_of

if TYPE_CHECKING:
    from passivo.world.world import World

NAMES = {"hinge": "Hinge", "slide": "Slider", "ball": "Ball"}


def hang(world: World, link: Link, pose: Pose, options: dict[str, Any], velocity: np.ndarray) -> list[Unsupported]:
    """Add a link with its joints to the world; gives what these cannot do."""
    if not hasattr(world, "add_link"):
        raise ModelError(
            f'{link.name} asks for generalised coordinates, which worlds do not have yet; say coordinates="maximal"'
        )
    kinds = import_module("passivo.world.joints")
    joints, dropped = [], []
    for joint in link.joints:
        if joint.kind == "free":
            joints += kinds.free(joint.name, velocity=velocity, rate=link.angular_velocity)
            continue
        made, lost = _joint(getattr(kinds, NAMES[joint.kind]), joint, pose)
        joints.append(made)
        dropped += lost
    parent = None if link.parent is None else world.bodies[link.parent]
    world.add_link(link.name, parent, joints, **options)  # type: ignore[attr-defined]
    return dropped


def _joint(kind: Any, joint: Joint, pose: Pose) -> tuple[Any, list[Unsupported]]:
    """A joint in world axes, and what of it this kind has no field for."""
    known = {field.name for field in fields(kind)}
    wanted = {
        "inertia": joint.armature,
        "damping": joint.damping,
        "stiffness": joint.stiffness,
        "reference": joint.reference if joint.stiffness else 0.0,
        "range": joint.range,
        "friction": joint.friction,
    }
    given: dict[str, Any] = {name: value for name, value in wanted.items() if name in known and value}
    if "axis" in known:
        given["axis"] = matrix_of(pose[1]) @ np.array(joint.axis)
    if "at" in known:
        given["at"] = within(pose, joint.anchor, pose[1])[0]
    told = {"stiffness": "joint spring", "range": "joint range", "friction": "dry friction"}
    lost = [Unsupported(told[name], (joint.name,), "left out") for name in told if wanted[name] and name not in known]
    return kind(joint.name, **given), lost
