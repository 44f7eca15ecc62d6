"""Joints between bodies in the world's own coordinates: stiff ties, and springs of their own (spec 4.4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError
from passivo.world.links import Joint, Link, Pose, Unsupported, within
from passivo.world.rotation import matrix_of, product, quaternion_of
from passivo.world.scene.names import free_name, renamed

if TYPE_CHECKING:
    from passivo.world.world import World

SQUARE = 1e-9  # cosine of axes at right angles
ONE = 1e-9  # metres between anchors that are one place


def join(world: World, link: Link, pose: Pose, how: Mapping[str, float], taken: Collection[str]) -> list[Unsupported]:
    """Tie the body of a link to its parent as its joints say; gives what ties cannot do."""
    kinds = [joint.kind for joint in link.joints]
    if kinds == ["free"]:
        return []
    body, other = world.bodies[link.name], None if link.parent is None else world.bodies[link.parent]
    ends = body, world if other is None else other
    name = free_name(world, link.joints[0].name, taken)
    at = within(pose, link.joints[0].anchor, pose[1])[0]
    axes = [matrix_of(pose[1]) @ np.array(joint.axis) for joint in link.joints]
    anchors = np.array([joint.anchor for joint in link.joints])
    together = bool(np.ptp(anchors, axis=0).max() < ONE)
    match kinds:
        case ["hinge"]:
            world.add_hinge(name, *ends, axes[0], at=at, **how)
        case ["slide"]:
            world.add_prismatic(name, *ends, axes[0], at=at, **how)
        case ["ball"]:
            world.add_ball(name, *ends, at=at, stiffness=how["stiffness"])
        case ["hinge", "hinge"] if together and abs(_cosine(*axes)) < SQUARE:
            world.add_universal(name, *ends, axes, at=at, **how)
        case ["hinge", "hinge", "hinge"] if together and abs(np.linalg.det(axes)) > SQUARE:
            world.add_ball(name, *ends, at=at, stiffness=how["stiffness"])
        case _:
            raise ModelError(
                f"link {link.name!r} moves by {', '.join(kinds)}; between two bodies there are one hinge, slide or "
                "ball, two hinges at right angles or three hinges through one point. Put a link with a mass "
                'between the joints, or say coordinates="generalised"'
            )
    dropped = [one for joint in link.joints for one in _dropped(joint, several=len(kinds) > 1)]
    dropped += [renamed(link.joints[0].name, name)] if name != link.joints[0].name else []
    if len(kinds) == 1 and (link.joints[0].stiffness > 0.0 or link.joints[0].damping > 0.0):
        _spring(world, link.joints[0], axes[0], at, ends, taken)
    return dropped


def _dropped(joint: Joint, several: bool) -> list[Unsupported]:
    """What bodies and ties cannot do."""
    angle = joint.kind != "slide" and joint.stiffness > 0.0 and not several
    asked = {
        "joint range": (joint.range is not None, "bodies move beyond it"),
        "armature": (joint.armature > 0.0, "left out between bodies"),
        "dry friction": (joint.friction > 0.0, "left out"),
        "joint spring": (several and joint.stiffness > 0.0, "left out of a joint of several axes"),
        "joint damping": (several and joint.damping > 0.0, "left out of a joint of several axes"),
        "spring of an angle": (angle, "of energy k (1 − cos) between bodies: the same near its rest, weaker far away"),
    }
    return [Unsupported(kind, (joint.name,), instead) for kind, (wanted, instead) in asked.items() if wanted]


def _spring(
    world: World, joint: Joint, axis: np.ndarray, at: np.ndarray, ends: tuple[Any, Any], taken: Collection[str]
) -> None:
    """The spring and the damper of a joint, as a spring of its own."""
    name, (body, far) = free_name(world, f"{joint.name}_spring", taken), ends
    if joint.kind == "slide":
        x, y, z = at + joint.reference * axis / np.linalg.norm(axis)
        place = world.point(x, y, z) if far is world else far.here(x, y, z)
        world.add_spring(name, body.here(*at), place, joint.stiffness, joint.damping)
        return
    w, x, y, z = (1.0, 0.0, 0.0, 0.0) if far is world else far.orientation
    turn = body.orientation
    if joint.reference != 0.0:
        turn = product(quaternion_of(axis, joint.reference), turn)
    world.add_turn_spring(name, body, far, joint.stiffness, joint.damping, rest=product((w, -x, -y, -z), turn))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
