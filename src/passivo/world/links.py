"""A scene as plain description: links in trees, their joints and surfaces, whatever file they came from.

Readers make a `Scene`, `checked` refuses what no machine can have, `rigid` makes one link of what is fixed together.
Coordinates of joints count from the pose of the file: there all are 0.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passivo.errors import ModelError, ScenarioError, nearest
from passivo.world.parts import ORIGIN, Plane, check_moments
from passivo.world.rotation import matrix_of, product, vector
from passivo.world.shapes import Quaternion, Shape, Vector

UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
KINDS = ("hinge", "slide", "ball", "free")
Matrix = tuple[Vector, Vector, Vector]
NOTHING: Matrix = (ORIGIN, ORIGIN, ORIGIN)
Pose = tuple[np.ndarray, Quaternion]


@dataclass(frozen=True)
class Surface:
    """A shape of a link, placed in the link's axes, and what it is like to touch. `link` names the one it belongs to
    where that stands still."""

    shape: Shape
    friction: float = 0.0
    restitution: float = 0.0
    link: str = ""


@dataclass(frozen=True)
class Joint:
    """How a link moves against its parent, from the pose of the file; axis and anchor in the axes of the link.

    range      of the coordinate, rad or m; of a ball the largest angle stands second
    stiffness  N m/rad or N/m of a spring that is slack at the coordinate `reference`
    damping    N m s or N s/m
    armature   kg m² or kg that the coordinate carries besides the links: the rotor behind a gear
    friction   N m or N of dry friction
    stop_stiffness, stop_damping  at the ends of its range; None: as worlds have them
    place      where the file says so: each error begins with it
    """

    name: str
    kind: str
    axis: Vector = (0.0, 0.0, 1.0)
    anchor: Vector = ORIGIN
    range: tuple[float, float] | None = None
    stiffness: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    reference: float = 0.0
    place: str = ""
    stop_stiffness: float | None = None
    stop_damping: float | None = None


@dataclass(frozen=True)
class Link:
    """A rigid link with axes of its own, placed in those of its parent (None: the world); fixed to it without joints.

    centre   of mass, in the axes of the link; `inertia` about it, kg m² in the same axes
    joints   the first one is nearest to the parent
    velocity, angular_velocity  of a free link at the start; the rate in its own axes
    """

    name: str
    parent: str | None = None
    position: Vector = ORIGIN
    orientation: Quaternion = UPRIGHT
    joints: tuple[Joint, ...] = ()
    mass: float = 0.0
    centre: Vector = ORIGIN
    inertia: Matrix = NOTHING
    surfaces: tuple[Surface, ...] = ()
    velocity: Vector = ORIGIN
    angular_velocity: Vector = ORIGIN
    place: str = ""


@dataclass(frozen=True)
class Closure:
    """What holds two links together besides the tree: a "ball" or a "weld" `at` a place of the world in the pose of
    the file. One of the two is None where it is the world."""

    name: str
    kind: str
    a: str | None
    b: str | None
    at: Vector = ORIGIN
    place: str = ""


@dataclass(frozen=True)
class Strand:
    """A tendon over the joints of `arms`; the others are the arguments of `World.add_tendon`, `drive` a mass, a
    stiffness and a damping."""

    name: str
    arms: Mapping[str, float | str]
    stiffness: float | None = None
    damping: float = 0.0
    slack: float = 0.0
    pretension: float = 0.0
    command: str | None = None
    gain: float = 1.0
    drive: tuple[float, float, float] | None = None
    force: bool = False
    place: str = ""


@dataclass(frozen=True)
class Lead:
    """An anchor where a link is at the start, that leads it by an SE(3) spring."""

    name: str
    link: str
    stiffness: float
    damping: float
    turn_stiffness: float
    turn_damping: float
    place: str = ""


@dataclass(frozen=True)
class Unsupported:
    """What a file asks for and a world does not do: of one kind, by name, and what is done instead."""

    kind: str
    names: tuple[str, ...]
    instead: str = ""

    def __str__(self) -> str:
        told = f"{self.kind}: {', '.join(self.names)}"
        return f"{told} ({self.instead})" if self.instead else told


class SceneWarning(UserWarning):
    """Not all that stands in a scene file is simulated as it says; `unsupported` lists it."""

    def __init__(self, source: str, unsupported: Sequence[Unsupported]):
        self.source, self.unsupported = source, tuple(unsupported)
        super().__init__(f"{source}: not simulated as it says: {'; '.join(map(str, unsupported))}")


@dataclass(frozen=True)
class Scene:
    """Links, parents before children, and what is around them.

    fixed     surfaces that never move, in the axes of the world
    excluded  pairs of links that never touch
    strands   tendons; `commands` pull at them, `leads` are anchors
    contact   whether shapes touch; None: where there is a plane
    apart     whether its links are one robot whose shapes may overlap: what stands still does not touch the links that
              hang on it, and what overlaps at the start does not touch
    step      seconds that the file proposes; `about` one line for people
    """

    name: str
    source: str
    links: tuple[Link, ...]
    gravity: Vector = (0.0, 0.0, -9.81)
    planes: tuple[Plane, ...] = ()
    fixed: tuple[Surface, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    closures: tuple[Closure, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    contact: bool | None = None
    apart: bool = False
    step: float | None = None
    about: str = ""
    strands: tuple[Strand, ...] = ()
    commands: tuple[str, ...] = ()
    leads: tuple[Lead, ...] = ()

    @property
    def roots(self) -> dict[str, str]:
        """The link at the root of each one's tree."""
        found: dict[str, str] = {}
        for link in self.links:
            found[link.name] = link.name if link.parent is None else found[link.parent]
        return found

    @property
    def poses(self) -> dict[str, Pose]:
        """Place and orientation of each link in the world, as the file has it."""
        found: dict[str | None, Pose] = {None: (np.zeros(3), UPRIGHT)}
        for link in self.links:
            found[link.name] = within(found[link.parent], link.position, link.orientation)
        return {name: pose for name, pose in found.items() if name is not None}


def within(pose: Pose, position: Any, orientation: Any) -> Pose:
    """The pose in the world of what is placed in these axes."""
    place, turn = pose
    return place + matrix_of(turn) @ np.array(position), product(turn, orientation)


def moved(shape: Shape, pose: Pose) -> Shape:
    """A shape whose axes are placed in others."""
    place, turn = within(pose, shape.position, shape.orientation)
    twin = copy.copy(shape)  # what is known of a mesh stays known
    object.__setattr__(twin, "position", vector(place))
    object.__setattr__(twin, "orientation", turn)
    return twin


def matrix(values: Any) -> Matrix:
    """Symmetric to the last bit."""
    x, y, z = (vector(row) for row in 0.5 * (np.asarray(values) + np.asarray(values).T))
    return x, y, z


# -- checks ---------------------------------------------------------------------------------------------------------


def checked(scene: Scene) -> Scene:
    """The scene with parents before children, if nothing in it is impossible."""
    links = ordered(scene)
    for link in links:
        for joint in link.joints:
            check_joint(joint)
    known = {link.name for link in links}
    for name in (name for pair in scene.excluded for name in pair):
        if name not in known:
            raise ScenarioError(f"{scene.source}: an exclusion names {name!r}; {nearest(name, known)}")
    return replace(scene, links=links)


def ordered(scene: Scene) -> tuple[Link, ...]:
    """Links with parents before children."""
    children: dict[str | None, list[Link]] = {}
    known: dict[str, Link] = {}
    for link in scene.links:
        if link.name in known:
            first = f" (first at {known[link.name].place})" if known[link.name].place else ""
            raise ScenarioError(
                f"{link.place}: there is another link {link.name!r}{first}; give each a name of its own"
            )
        known[link.name] = link
        children.setdefault(link.parent, []).append(link)
    for link in scene.links:
        if link.parent is not None and link.parent not in known:
            raise ScenarioError(
                f"{link.place}: the parent of {link.name!r} is {link.parent!r}, which is not there; "
                f"{nearest(link.parent, known)}"
            )
    found: list[Link] = []
    waiting = list(reversed(children.get(None, [])))
    while waiting:
        link = waiting.pop()
        found.append(link)
        waiting += reversed(children.get(link.name, []))
    if len(found) < len(known):
        reached = set(_names(found))
        link = next(link for link in scene.links if link.name not in reached)
        raise ScenarioError(
            f"{link.place}: {' -> '.join(_around(link, known))} is a closed loop of parents; a tree has none. "
            "Take one joint out, and hold the loop together with a ball in the world: world.add_ball(...)"
        )
    return tuple(found)


def _around(link: Link, known: dict[str, Link]) -> list[str]:
    """The names of a loop of parents that the parents of a link lead to."""
    path: list[str] = []
    while link.name not in path:
        path.append(link.name)
        assert link.parent is not None
        link = known[link.parent]
    return [*path[path.index(link.name) :], link.name][::-1]


def _names(links: Iterable[Link]) -> list[str]:
    return [link.name for link in links]


def check_joint(joint: Joint) -> None:
    """Raise unless the joint is of a known kind, passive and has a range to move in."""
    where = f"{joint.place}: joint {joint.name!r}"
    if joint.kind not in KINDS:
        raise ScenarioError(f"{where} is a {joint.kind!r}; {nearest(joint.kind, KINDS)}")
    for what, why in (
        ("stiffness", "a spring that pushes away from its rest is not passive"),
        ("damping", "a damper that pushes along makes energy"),
        ("armature", "an inertia below 0 is none"),
        ("friction", "friction that pushes along makes energy"),
    ):
        value = getattr(joint, what)
        if not (np.isfinite(value) and value >= 0.0):
            raise ScenarioError(f"{where}: {what} must be >= 0, not {value:g}; {why}")
    if joint.kind in ("hinge", "slide") and not np.linalg.norm(joint.axis) > 0.0:
        raise ScenarioError(f"{where}: the axis must have a length, as (0, 0, 1) has")
    if joint.range is not None and not joint.range[0] < joint.range[1]:
        low, high = joint.range
        raise ScenarioError(
            f"{where}: its range from {low:g} to {high:g} is empty; the lower end must be below the upper one. What "
            "never moves is fixed to its parent"
        )


def check_mass(link: Link) -> None:
    """Raise unless a link that moves has a mass and an inertia."""
    where = f"{link.place}: link {link.name!r}"
    if not (np.isfinite(link.mass) and link.mass > 0.0):
        raise ScenarioError(
            f"{where} moves and has a mass of {link.mass:g} kg; give it (or what is fixed to it) a mass > 0 and an "
            "inertia, or fix it to its parent"
        )
    entries = link.inertia
    values = tuple(entries[i][j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    try:
        check_moments(values, f"the inertia of {link.name!r}")
    except ModelError as error:
        raise ScenarioError(f"{link.place}: {error}") from None


# -- what is fixed together -------------------------------------------------------------------------------------------


def rigid(scene: Scene) -> Scene:
    """The scene without links that are fixed to others: masses and surfaces go to what carries them, and exclusions
    are of these; links that stand still keep their names there, and on their surfaces."""
    carriers: dict[str | None, tuple[str | None, Pose]] = {None: (None, (np.zeros(3), UPRIGHT))}
    groups: dict[str, list[tuple[Link, Pose]]] = {}
    kept: list[Link] = []
    fixed = list(scene.fixed)
    for link in scene.links:
        carrier, pose = carriers[link.parent]
        place, turn = within(pose, link.position, link.orientation)
        if link.joints:
            kept.append(replace(link, parent=carrier, position=vector(place), orientation=turn))
            carriers[link.name] = link.name, (np.zeros(3), UPRIGHT)
            groups[link.name] = [(link, carriers[link.name][1])]
        elif carrier is None:
            carriers[link.name] = (None, (place, turn))
            fixed += [replace(one, shape=moved(one.shape, (place, turn)), link=link.name) for one in link.surfaces]
        else:
            carriers[link.name] = (carrier, (place, turn))
            groups[carrier].append((link, (place, turn)))
    links = tuple(_joined(link, groups[link.name]) for link in kept)
    for link in links:
        check_mass(link)
        if link.parent is not None and any(joint.kind == "free" for joint in link.joints):
            raise ScenarioError(
                f"{link.place}: {link.name!r} is free, and hangs on {link.parent!r}; hang it on the world"
            )
    moving = {link.name for link in links}
    pairs = ((carriers[a][0] or a, carriers[b][0] or b) for a, b in scene.excluded)
    excluded = tuple((a, b) for a, b in pairs if a != b and moving & {a, b})
    for lead in scene.leads:
        if lead.link not in moving:
            what = carriers[lead.link][0]
            raise ScenarioError(
                f"{lead.place}: {lead.name!r} leads {lead.link!r}, which is fixed to "
                + (f"{what!r}; lead {what!r} instead" if what else "the world, and does not move")
            )
    held = (replace(one, a=carriers[one.a][0], b=carriers[one.b][0]) for one in scene.closures)
    closures = tuple(one for one in held if one.a != one.b)
    return replace(scene, links=links, fixed=tuple(fixed), excluded=excluded, closures=closures)


def _joined(link: Link, group: list[tuple[Link, Pose]]) -> Link:
    """One link of several that are fixed together, in the axes of the first."""
    if len(group) == 1:
        return link
    mass = sum(one.mass for one, _ in group)
    centres = [within(pose, one.centre, UPRIGHT)[0] for one, pose in group]
    centre = sum((one.mass * c for (one, _), c in zip(group, centres)), np.zeros(3)) / (mass or 1.0)
    inertia = np.zeros((3, 3))
    for (one, (_, turn)), place in zip(group, centres):
        r, frame = place - centre, matrix_of(turn)
        inertia += frame @ np.array(one.inertia) @ frame.T + one.mass * (r @ r * np.eye(3) - np.outer(r, r))
    surfaces = tuple(replace(s, shape=moved(s.shape, pose)) for one, pose in group for s in one.surfaces)
    return replace(link, mass=mass, centre=vector(centre), inertia=matrix(inertia), surfaces=surfaces)
