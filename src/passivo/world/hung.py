"""Links that hang on each other by joints: the method of `World` that adds them, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.world import bonds, table
from passivo.world.joints import Free, Joint, checked_joints, kind_of
from passivo.world.parts import ORIGIN, UP, Body, Link, checked_inertia
from passivo.world.rotation import checked_quaternion, checked_vector, matrix_of, product, vector
from passivo.world.shapes import Quaternion, Shape, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence


class Limb(NamedTuple):
    """A joint and what it carries, as `trees.py` steps it.

    parent    its number among the limbs of the mechanism, −1 for the world
    body      what hangs on it; "" where the next joint of the same link follows
    unknowns  of the mechanism, that move it: those of its parent, then its own
    pin, own_pin  the place of the joint in the axes of the parent and in its own
    rest      its orientation in the axes of the parent, where the joint is at 0
    """

    joint: Joint
    parent: int
    body: str
    unknowns: tuple[int, ...]
    pin: Vector
    own_pin: Vector
    axis: Vector
    rest: Quaternion

    @property
    def figures(self) -> list[float]:
        return [*self.pin, *self.own_pin, *self.axis, *self.rest]

    @property
    def first(self) -> int:
        """Its own first unknown."""
        return self.unknowns[-self.joint.width]


class Hung:
    """Mechanisms: links, and the joints between them."""

    bodies: dict[str, Body]
    params: dict[str, float]

    if TYPE_CHECKING:

        def _new_name(self, name: str) -> str: ...

    def add_link(
        self,
        name: str,
        parent: Link | None,
        joints: Joint | Sequence[Joint],
        shape: Shape | Sequence[Shape] | None = None,
        mass: float | None = None,
        *,
        inertia: Any = None,
        position: Any = ORIGIN,
        orientation: Any = UP,
        velocity: Any = ORIGIN,
        angular_velocity: Any = ORIGIN,
        friction: float = 0.0,
        restitution: float = 0.0,
        drag: float = 0.0,
        spin_drag: float = 0.0,
    ) -> Link:
        """A rigid link that moves by the coordinates of its joints, which never give way (spec 4.6); all else is as in
        `add_body`, and ties, ports and contacts take it as a body.

            upper = world.add_link("upper", None, pv.Hinge("shoulder", axis=(0, 1, 0), at=(0, 0, 1)),
                                   pv.Capsule(0.03, 0.3), mass=1.0, position=(0, 0, 0.85))
            lower = world.add_link("lower", upper, pv.Hinge("elbow", axis=(0, 1, 0), at=(0, 0, 0.7)), ...)
            run["elbow.angle"];  run["elbow.rate"]

        parent    another link, or None for the world
        joints    between the parent and it, from the parent outwards: `Hinge`, `Slider`, `Ball`; `Free` where it floats
        velocity, angular_velocity  of a free one at the start; the others start with start={"elbow.rate": 1.0}
        """
        if parent is not None and (not isinstance(parent, Link) or self.bodies.get(parent.name) is not parent):
            raise ModelError(
                f"link {name!r} hangs on a link that this world's add_link(...) returned, or on None, the world; not "
                f"{quoted(parent)}. What a body carries is tied to it: world.add_hinge(...)"
            )
        made = checked_joints(joints, name, parent and parent.name)
        name = self._new_name(name)
        names = [self._new_name(joint.name) for joint in made]
        if len({name, *names}) < len(names) + 1:
            raise ModelError(f"link {name!r} and its joints need a name each, not {', '.join([name, *names])}")
        free = isinstance(made[0], Free)
        speeds = (
            checked_vector(velocity, f"the velocity of link {name!r}"),
            checked_vector(angular_velocity, f"the angular velocity of link {name!r}"),
        )
        if not free and any(map(any, speeds)):
            raise ModelError(
                f"link {name!r} moves by its joints; say how fast in start={{'{names[-1]}."
                f"{next(iter(made[-1].rates))}': ...}}, not by a velocity"
            )
        shapes, amounts, surface = self._weighed(
            name, "link", shape, mass, inertia, (drag, spin_drag), friction, restitution
        )
        link = Link(
            name,
            checked_vector(position, f"the position of link {name!r}"),
            checked_quaternion(orientation, f"the orientation of link {name!r}"),
            *speeds,
            shapes,
            *surface,
            parent.name if parent else None,
            made,
        )
        self.bodies[name] = link
        self.params |= amounts
        for joint in made:
            self.params |= joint.params
        return link

    # -- what follows -------------------------------------------------------------------------------------------------

    @property
    def links(self) -> dict[str, Link]:
        return {name: body for name, body in self.bodies.items() if isinstance(body, Link)}

    @property
    def joints(self) -> dict[str, Joint]:
        """All joints of links, by name."""
        return {joint.name: joint for link in self.links.values() for joint in link.joints}

    @property
    def mechanisms(self) -> list[list[Limb]]:
        """The limbs of each mechanism, parents before children: of all that hangs together by joints, the world left
        out."""
        roots: dict[str, list[Limb]] = {}
        where: dict[str, tuple[str, int]] = {}  # the mechanism and the limb of each link
        for link in self.links.values():
            root, at = (link.name, -1) if link.parent is None else where[link.parent]
            limbs = roots.setdefault(root, [])
            for joint in link.joints:
                limbs.append(self._limb(link, joint, limbs, at))
                at = len(limbs) - 1
            where[link.name] = root, at
        return list(roots.values())

    def _limb(self, link: Link, joint: Joint, limbs: list[Limb], parent: int) -> Limb:
        """A joint of a link; that of its last one has the link's own axes, those before have axes at their place."""
        last = joint is link.joints[-1]
        at = getattr(joint, "at", None)
        place = np.array(link.position if at is None else at)
        if isinstance(joint, Free):
            return Limb(joint, -1, link.name, tuple(range(6)), ORIGIN, ORIGIN, ORIGIN, UP)
        centre = np.array(link.position) if last else place
        base, frame = self._origin(limbs, parent)
        axes, own = matrix_of(frame), matrix_of(link.orientation)
        w, x, y, z = frame
        before = limbs[parent].unknowns if parent >= 0 else ()
        count = sum(limb.joint.width for limb in limbs)
        return Limb(
            joint,
            parent,
            link.name if last else "",
            (*before, *range(count, count + joint.width)),
            vector(axes.T @ (place - base)),
            vector(own.T @ (place - centre)),
            vector(own.T @ np.array(getattr(joint, "axis", ORIGIN))),
            product((w, -x, -y, -z), link.orientation),
        )

    def _origin(self, limbs: list[Limb], number: int) -> tuple[np.ndarray, Quaternion]:
        """The origin and the axes of a limb at the start."""
        if number < 0:
            return np.zeros(3), UP
        limb = limbs[number]
        if limb.body:
            return np.array(self.bodies[limb.body].position), self.bodies[limb.body].orientation
        base, frame = self._origin(limbs, limb.parent)
        return base + matrix_of(frame) @ np.array(limb.pin), product(frame, limb.rest)

    @property
    def hung(self) -> tuple[str, ...]:
        """Links whose poses follow from joints: all but those that are free."""
        return tuple(name for name, link in self.links.items() if not isinstance(link.joints[0], Free))

    def _weighed(
        self, name: str, what: str, shape: Any, mass: Any, inertia: Any, drags: Any, friction: Any, restitution: Any
    ) -> tuple[tuple[Shape, ...], dict[str, float], tuple[float, float]]:
        """Shapes, parameters and surface of a body or a link, checked."""
        from passivo.model.system import number
        from passivo.world.names import BODY_PARAMETERS
        from passivo.world.shapes import HeightField
        from passivo.world.touching import shapes_of

        shapes = shapes_of(shape, name)
        if any(isinstance(each, HeightField) for each in shapes):
            raise ModelError(
                f"{what} {name!r} cannot have a HeightField, which stands still; give it to world.add_fixed(...), and "
                f"the {what} a ConvexMesh"
            )
        if mass is None:
            raise ModelError(f"{what} {name!r} needs a mass: say mass=1.0, in kg")
        weight = number(mass, f"the mass of {what} {name!r}")
        if not weight > 0.0:
            still = (
                "what never moves is an anchor" if what == "body" else "two joints at one place are joints of one link"
            )
            raise ModelError(f"the mass of {what} {name!r} must be > 0 kg, not {weight:g}; {still}")
        moments = checked_inertia(inertia, weight, shapes, name)
        drag, spin_drag = drags
        damping = bonds.amount(drag, f"the drag of {name!r}"), bonds.amount(spin_drag, f"the spin drag of {name!r}")
        surface = bonds.checked_surface(friction, restitution, name)
        params = {f"{name}.{p}": v for p, v in zip(BODY_PARAMETERS, (weight, *moments, *damping))}
        return shapes, params, surface

    def _start_of(self, joint: Joint) -> list[float]:
        """Coordinates and rates of a joint at the start, with those of steps before."""
        coordinates = [1.0, 0.0, 0.0, 0.0] if kind_of(joint) == table.BALL else [0.0] * len(joint.coordinates)
        kept = 3 if joint.rates else 2
        return [*coordinates, *[0.0] * (kept * joint.width)]
