"""From a scene to a world: bodies held by stiff joints, or mechanisms in the coordinates of their joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError, ScenarioError, nearest, quoted
from passivo.world.links import Closure, Joint, Link, Pose, Scene, Unsupported, moved, rigid, within
from passivo.world.parts import Body
from passivo.world.rotation import matrix_of, product, quaternion_of

if TYPE_CHECKING:
    from passivo.world.world import World

CHOICES = ("maximal", "generalised")
SQUARE = 1e-9  # cosine of axes at right angles
ONE = 1e-9  # metres between anchors that are one place


def world_of(scene: Scene, coordinates: Any, contact: bool | None, stiffness: float, span: float) -> World:
    """The world of a scene."""
    from passivo.world.world import World

    bodies = rigid(scene)
    chosen = _chosen(bodies, coordinates)
    world = World(bodies.gravity, bodies.name, contact=bodies.contact if contact is None else contact)
    world.file_step = bodies.step
    for plane in bodies.planes:
        world.add_plane(plane.name, normal=plane.normal, at=plane.at, friction=plane.friction,
                        restitution=plane.restitution)  # fmt: skip
    build = _Maximal(world, bodies, stiffness, span)
    generalised = tuple(link for link in bodies.links if chosen[bodies.roots[link.name]] == "generalised")
    if generalised:
        if not hasattr(world, "add_mechanism"):
            names = ", ".join(link.name for link in generalised if link.parent is None)
            raise ModelError(
                f"{scene.source}: {names} asks for generalised coordinates, which worlds do not have yet; "
                'say coordinates="maximal"'
            )
        world.add_mechanism(generalised)  # type: ignore[attr-defined]
    for link in bodies.links:
        if link not in generalised:
            build.add(link)
    for one in bodies.closures:
        build.close(one)
    for a, b in bodies.excluded:
        if a in world.bodies and b in world.bodies:
            world.exclude(world.bodies[a], world.bodies[b])
    world.unsupported = grouped([*bodies.unsupported, *build.unsupported, *_fixed(bodies)])
    return world


def _chosen(scene: Scene, coordinates: Any) -> dict[str, str]:
    """The coordinates of each tree, by the name of its root."""
    roots = [link.name for link in scene.links if link.parent is None]
    given = coordinates if isinstance(coordinates, Mapping) else dict.fromkeys(roots, coordinates)
    for name, choice in given.items():
        if choice not in CHOICES:
            raise ModelError(f"coordinates are {' or '.join(map(repr, CHOICES))}, not {quoted(choice)}")
        if name not in roots:
            inner = scene.roots.get(str(name))
            mend = f"it hangs on {inner!r}: name that" if inner else nearest(str(name), roots)
            raise ModelError(
                f"coordinates are chosen for whole trees, and {quoted(name)} is not the root of one; {mend}"
            )
    return {name: str(given.get(name, "maximal")) for name in roots}


def _fixed(scene: Scene) -> list[Unsupported]:
    names = tuple(type(surface.shape).__name__ for surface in scene.fixed)
    return [Unsupported("fixed shape", names, "only planes stand still; nothing touches these")] if names else []


def grouped(found: list[Unsupported]) -> tuple[Unsupported, ...]:
    """All of one kind together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in found:
        groups.setdefault((one.kind, one.instead), []).extend(one.names)
    return tuple(Unsupported(kind, tuple(dict.fromkeys(names)), instead) for (kind, instead), names in groups.items())


class _Maximal:
    """Bodies in the world's own coordinates, and ties between them."""

    def __init__(self, world: World, scene: Scene, stiffness: float, span: float):
        self.world, self.source, self.poses = world, scene.source, scene.poses
        self.how: dict[str, Any] = {"stiffness": stiffness, "span": span}
        self.unsupported: list[Unsupported] = []
        self.centres = {link.name: link.centre for link in scene.links}

    def add(self, link: Link) -> None:
        """The body of a link, and its joints."""
        pose = self.poses[link.name]
        centred = (-np.array(link.centre), (1.0, 0.0, 0.0, 0.0))
        friction, restitution = self.surface(link)
        # the velocity of a link is that of its own origin
        swept = matrix_of(pose[1]) @ np.cross(link.angular_velocity, link.centre)
        try:
            self.world.add_body(
                link.name,
                [moved(one.shape, centred) for one in link.surfaces],
                link.mass,
                inertia=link.inertia,
                position=within(pose, link.centre, pose[1])[0],
                orientation=pose[1],
                velocity=np.array(link.velocity) + swept,
                angular_velocity=link.angular_velocity,
                friction=friction,
                restitution=restitution,
            )
            self.join(link, pose)
        except ModelError as error:
            raise ScenarioError(f"{link.place or self.source}: {error}") from None

    def surface(self, link: Link) -> tuple[float, float]:
        """Friction and restitution of a body: one for all its shapes."""
        kinds = {(one.friction, one.restitution) for one in link.surfaces}
        if len(kinds) > 1:
            instead = "all shapes of a body have the largest friction and restitution of them"
            self.unsupported.append(Unsupported("friction of single shapes", (link.name,), instead))
        return max((f for f, _ in kinds), default=0.0), max((r for _, r in kinds), default=0.0)

    def join(self, link: Link, pose: Pose) -> None:
        body = self.world.bodies[link.name]
        other = None if link.parent is None else self.world.bodies[link.parent]
        kinds = [joint.kind for joint in link.joints]
        if kinds == ["free"]:
            return
        first = link.joints[0]
        name = self.free_name(first.name)
        ends = body, self.world if other is None else other
        at = within(pose, first.anchor, pose[1])[0]
        axes = [matrix_of(pose[1]) @ np.array(joint.axis) for joint in link.joints]
        together = self.meet(link.joints)
        match kinds:
            case ["hinge"]:
                self.world.add_hinge(name, *ends, axes[0], at=at, **self.how)
            case ["slide"]:
                self.world.add_prismatic(name, *ends, axes[0], at=at, **self.how)
            case ["ball"]:
                self.world.add_ball(name, *ends, at=at, stiffness=self.how["stiffness"])
            case ["hinge", "hinge"] if together and abs(_cosine(*axes)) < SQUARE:
                self.world.add_universal(name, *ends, axes, at=at, **self.how)
            case ["hinge", "hinge", "hinge"] if together and abs(np.linalg.det(axes)) > SQUARE:
                self.world.add_ball(name, *ends, at=at, stiffness=self.how["stiffness"])
            case _:
                raise ModelError(
                    f"link {link.name!r} moves by {', '.join(kinds)}; between two bodies there are one hinge, slide or "
                    "ball, two hinges at right angles or three hinges through one point. Put a link with a mass "
                    'between the joints, or say coordinates="generalised"'
                )
        for joint in link.joints:
            self.drop(joint, several=len(kinds) > 1)
        if len(kinds) == 1:
            self.spring(first, axes[0], at, body, other)

    def drop(self, joint: Joint, several: bool) -> None:
        """List what bodies and ties cannot do."""
        dropped = {
            "joint range": (joint.range is not None, "bodies move beyond it"),
            "armature": (joint.armature > 0.0, "left out between bodies"),
            "dry friction": (joint.friction > 0.0, "left out"),
            "joint spring": (several and joint.stiffness > 0.0, "left out of a joint of several axes"),
            "joint damping": (several and joint.damping > 0.0, "left out of a joint of several axes"),
        }
        for kind, (asked, instead) in dropped.items():
            if asked:
                self.unsupported.append(Unsupported(kind, (joint.name,), instead))

    def spring(self, joint: Joint, axis: np.ndarray, at: np.ndarray, body: Body, other: Body | None) -> None:
        """The spring and the damper of a joint, as a spring of its own."""
        if joint.stiffness == 0.0 and joint.damping == 0.0:
            return
        name = self.free_name(f"{joint.name}_spring")
        if joint.kind == "slide":
            x, y, z = at + joint.reference * axis / np.linalg.norm(axis)
            far = self.world.point(x, y, z) if other is None else other.here(x, y, z)
            self.world.add_spring(name, body.here(*at), far, joint.stiffness, joint.damping)
            return
        w, x, y, z = (1.0, 0.0, 0.0, 0.0) if other is None else other.orientation
        turn = product((w, -x, -y, -z), product(quaternion_of(axis, joint.reference), body.orientation))
        if joint.stiffness > 0.0:
            instead = "of energy k (1 − cos) between bodies: the same near its rest, weaker far from it"
            self.unsupported.append(Unsupported("spring of an angle", (joint.name,), instead))
        far = self.world if other is None else other
        self.world.add_turn_spring(name, body, far, joint.stiffness, joint.damping, rest=turn)

    def close(self, one: Closure) -> None:
        names = [name for name in (one.a, one.b) if name is not None]
        if any(name not in self.world.bodies for name in names):
            self.unsupported.append(Unsupported("closed loop", (one.name,), "its links are no bodies of the world"))
            return
        ends = [self.world if name is None else self.world.bodies[name] for name in (one.a, one.b)]
        add = self.world.add_ball if one.kind == "ball" else self.world.add_weld
        add(self.free_name(one.name), *ends, at=one.at, stiffness=self.how["stiffness"])

    def free_name(self, name: str) -> str:
        """A name that the world does not have yet."""
        taken, count = {*self.world.members, *self.centres}, 2
        chosen = f"{name}_joint" if name in taken else name
        while chosen in taken:
            chosen, count = f"{name}_{count}", count + 1
        return chosen

    @staticmethod
    def meet(joints: tuple[Joint, ...]) -> bool:
        """Whether all anchors are one place."""
        anchors = np.array([joint.anchor for joint in joints])
        return bool(np.ptp(anchors, axis=0).max() < ONE)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
