"""From a scene to a world: bodies held by stiff joints, or links that move by the coordinates of their joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError, ScenarioError, nearest, quoted
from passivo.world.links import UPRIGHT, Closure, Lead, Link, Scene, Strand, Unsupported, moved, rigid, within
from passivo.world.rotation import matrix_of
from passivo.world.scene.maximal import join
from passivo.world.scene.names import free_name
from passivo.world.scene.overlaps import overlapping
from passivo.world.scene.reduced import hang
from passivo.world.tendons import Command, Drive

if TYPE_CHECKING:
    from passivo.world.world import World

CHOICES = ("maximal", "generalised")


def world_of(scene: Scene, coordinates: Any, contact: bool | None, stiffness: float, span: float) -> World:
    """The world of a scene."""
    return _Builder(rigid(scene), coordinates, contact, {"stiffness": stiffness, "span": span}).world


class _Builder:
    """Makes a world; what it cannot make is listed."""

    def __init__(self, scene: Scene, coordinates: Any, contact: bool | None, how: Mapping[str, float]):
        from passivo.world.world import World

        self.scene, self.poses, self.how = scene, scene.poses, how
        self.unsupported = list(scene.unsupported)
        self.still: dict[str, list[str]] = {}
        self.world = World(scene.gravity, scene.name, contact=scene.contact if contact is None else contact)
        chosen = _chosen(scene, coordinates)
        for plane in scene.planes:
            surface = {"friction": plane.friction, "restitution": plane.restitution}
            self.world.add_plane(plane.name, normal=plane.normal, at=plane.at, **surface)
        self.fix()
        for link in scene.links:
            try:
                self.add(link, chosen[scene.roots[link.name]])
            except ScenarioError:
                raise
            except ModelError as error:
                raise ScenarioError(f"{link.place or scene.source}: {error}") from None
        for one in scene.closures:
            self.close(one)
        for lead in scene.leads:
            self.lead(lead)
        commands = {name: self.world.add_command(name) for name in scene.commands}
        for strand in scene.strands:
            self.string(strand, commands)
        still = self.still if scene.apart else ()
        hung = [link.name for link in scene.links if link.parent is None and link.joints[0].kind != "free"]
        for a, b in (*scene.excluded, *((a, b) for a in hung for b in still)):
            self.exclude(a, b)
        if scene.apart:
            self.part()
        self.world.unsupported = grouped(self.unsupported)

    def add(self, link: Link, coordinates: str) -> None:
        """The body of a link, and its joints."""
        pose = self.poses[link.name]
        friction, restitution = self.surface(link)
        options: dict[str, Any] = {
            "shape": [moved(one.shape, (-np.array(link.centre), UPRIGHT)) for one in link.surfaces],
            "mass": link.mass,
            "inertia": link.inertia,
            "position": within(pose, link.centre, UPRIGHT)[0],
            "orientation": pose[1],
            "friction": friction,
            "restitution": restitution,
        }
        # the velocity of a link is that of its own origin
        velocity = np.array(link.velocity) + matrix_of(pose[1]) @ np.cross(link.angular_velocity, link.centre)
        names = {one.name for one in self.scene.links}
        alone = link.joints[0].kind == "free" and all(one.parent != link.name for one in self.scene.links)
        if coordinates == "generalised" and not alone:  # what floats alone is a body in any case
            self.unsupported += hang(self.world, link, pose, options, velocity, names)
            return
        self.world.add_body(link.name, **options, velocity=velocity, angular_velocity=link.angular_velocity)
        self.unsupported += join(self.world, link, pose, self.how, names)

    def surface(self, link: Link) -> tuple[float, float]:
        """Friction and restitution of a body: one for all its shapes."""
        kinds = {(one.friction, one.restitution) for one in link.surfaces}
        if len(kinds) > 1:
            instead = "all shapes of a body have the largest friction and restitution of them"
            self.drop("friction of single shapes", link.name, instead)
        return max((f for f, _ in kinds), default=0.0), max((r for _, r in kinds), default=0.0)

    def fix(self) -> None:
        """What stands still; keeps under which names each link of it is in the world."""
        for i, one in enumerate(self.scene.fixed):
            surface = {"friction": one.friction, "restitution": one.restitution}
            name = f"{self.scene.name}_fixed{i + 1}"
            self.world.add_fixed(name, one.shape, **surface)
            self.still.setdefault(one.link, []).append(name)

    def exclude(self, a: str, b: str) -> None:
        """Two links, or a link and what stands still, never touch."""
        for one in [a] if a in self.world.bodies else self.still.get(a, []):
            for other in [b] if b in self.world.bodies else self.still.get(b, []):
                self.world.set_pair(one, other, collide=False)

    def part(self) -> None:
        """Of one robot, what overlaps at the start never touches: its file has no way to say so."""
        for a, b in overlapping(self.world):
            self.world.set_pair(a, b, collide=False)
            self.drop("contact of links", f"{a} and {b}", "they overlap at the start, and never touch")

    def close(self, one: Closure) -> None:
        ends = [self.world if name is None else self.world.bodies[name] for name in (one.a, one.b)]
        add = self.world.add_ball if one.kind == "ball" else self.world.add_weld
        try:
            add(free_name(self.world, one.name, ()), *ends, at=one.at, stiffness=self.how["stiffness"])
        except ModelError as error:
            raise ScenarioError(f"{one.place or self.scene.source}: {error}") from None

    def lead(self, one: Lead) -> None:
        """An anchor where a body is, and the SE(3) spring between the two."""
        body = self.world.bodies[one.link]
        anchor = self.world.add_anchor(one.name, body.position, body.orientation, turns=True)
        name = free_name(self.world, f"{one.name}_spring", ())
        self.world.add_pose_spring(name, body, anchor, one.stiffness, one.turn_stiffness, one.damping, one.turn_damping)

    def string(self, one: Strand, commands: Mapping[str, Command]) -> None:
        """A tendon, where its joints have coordinates."""
        given = {joint.name for link in self.scene.links for joint in link.joints}
        known = set(self.world.joints)
        if any(joint in given - known for joint in one.arms):
            self.drop("tendon", one.name, 'left out between bodies; say coordinates="generalised"')
            return
        drive = None if one.drive is None else Drive(*one.drive)
        command = None if one.command is None else commands[one.command]
        options = {"slack": one.slack, "pretension": one.pretension, "gain": one.gain, "force": one.force}
        try:
            self.world.add_tendon(
                one.name, one.arms, one.stiffness, one.damping, command=command, drive=drive, **options
            )
        except ModelError as error:
            raise ScenarioError(f"{one.place or self.scene.source}: {error}") from None

    def drop(self, kind: str, name: str, instead: str) -> None:
        self.unsupported.append(Unsupported(kind, (name,), instead))


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
            raise ModelError(f"coordinates are of whole trees, and {quoted(name)} is not the root of one; {mend}")
    return {name: str(given.get(name, "generalised")) for name in roots}


def grouped(found: list[Unsupported]) -> tuple[Unsupported, ...]:
    """All of one kind together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in found:
        groups.setdefault((one.kind, one.instead), []).extend(one.names)
    return tuple(Unsupported(kind, tuple(dict.fromkeys(names)), instead) for (kind, instead), names in groups.items())
