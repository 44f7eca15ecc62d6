"""What binds the bodies of a world: the methods of `World` that add springs and joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from passivo.errors import ModelError, quoted
from passivo.world import bonds
from passivo.world.bonds import SPAN, STIFF
from passivo.world.parts import ORIGIN, Anchor, Body, Bond, Carrier, Point
from passivo.world.rotation import checked_vector


class Bound:
    """Bodies and anchors, and the springs and joints between them."""

    bodies: dict[str, Body]
    anchors: dict[str, Anchor]
    bonds: dict[str, Bond]
    params: dict[str, float]

    if TYPE_CHECKING:

        def _new_name(self, name: str) -> str: ...

        def point(self, x: float, y: float, z: float) -> Point: ...

    # -- springs ------------------------------------------------------------------------------------------------------

    def add_spring(
        self, name: str, a: Any, b: Any, stiffness: float, damping: float = 0.0, length: float = 0.0
    ) -> None:
        """A linear spring between two points (`body.point(...)`, `world.point(...)`; a body alone: its centre of mass),
        with a damper beside it. With a `length` at rest it acts along its line only; at 0 in all directions."""
        self._bind(bonds.spring(self._new_name(name), self._end(a), self._end(b), stiffness, damping, length))

    def add_turn_spring(
        self, name: str, a: Any, b: Any, stiffness: Any, damping: float = 0.0, rest: Any = None
    ) -> None:
        """An SO(3) spring between two orientations (spec 4.3), N m/rad in all directions or about the three axes of b.

        `rest` is the orientation of a in the axes of b in which it is slack: by default that of the start."""
        ends = self._end(a).carrier, self._end(b).carrier
        self._bind(bonds.turn_spring(self._new_name(name), *ends, stiffness, damping, rest))

    def add_pose_spring(
        self,
        name: str,
        a: Any,
        b: Any,
        stiffness: float,
        turn_stiffness: Any,
        damping: float = 0.0,
        turn_damping: float = 0.0,
        rest: Any = None,
    ) -> None:
        """An SE(3) spring: it draws two points together and turns a into the orientation `rest` in the axes of b."""
        ends = self._end(a), self._end(b)
        self._bind(
            bonds.pose_spring(self._new_name(name), *ends, stiffness, damping, turn_stiffness, turn_damping, rest)
        )

    # -- joints -------------------------------------------------------------------------------------------------------

    def add_ball(self, name: str, *ends: Any, at: Any = None, stiffness: float = STIFF, damping: float = 0.0) -> None:
        """Points of two or more bodies that stay together. Ends are points, or bodies that meet `at` a place of the
        world at the start. `stiffness` in N/m."""
        self._bind(bonds.ball(self._new_name(name), self._ends(name, ends, at), stiffness, damping))

    def add_hinge(
        self,
        name: str,
        a: Any,
        b: Any,
        axis: Any,
        *,
        at: Any = None,
        span: float = SPAN,
        stiffness: float = STIFF,
        damping: float = 0.0,
    ) -> None:
        """Two points that meet, `span` metres apart on the `axis` (in the axes of the world at the start)."""
        first, second = self._ends(name, (a, b), at)
        self._bind(bonds.hinge(self._new_name(name), first, second, axis, span, stiffness, damping))

    def add_prismatic(
        self,
        name: str,
        a: Any,
        b: Any,
        axis: Any,
        *,
        at: Any = None,
        span: float = SPAN,
        stiffness: float = STIFF,
        damping: float = 0.0,
    ) -> None:
        """Slides along the `axis` and does not turn; `span² stiffness` N m/rad hold the orientation."""
        first, second = self._ends(name, (a, b), at)
        self._bind(bonds.prismatic(self._new_name(name), first, second, axis, span, stiffness, damping))

    def add_universal(
        self,
        name: str,
        a: Any,
        b: Any,
        axes: Any,
        *,
        at: Any = None,
        span: float = SPAN,
        stiffness: float = STIFF,
        damping: float = 0.0,
    ) -> None:
        """Two axes at right angles through one point: the first turns with b, the second with a."""
        first, second = self._ends(name, (a, b), at)
        self._bind(bonds.universal(self._new_name(name), first, second, axes, span, stiffness, damping))

    def add_elliptic(
        self,
        name: str,
        a: Any,
        b: Any,
        axes: Any,
        radii: Any,
        *,
        at: Any = None,
        stiffness: float = STIFF,
        damping: float = 0.0,
    ) -> None:
        """Four points that meet at the ends of two half axes: as a joint of cartilage it yields to turns, the more
        about an axis the nearer the points of the other lie."""
        first, second = self._ends(name, (a, b), at)
        self._bind(bonds.elliptic(self._new_name(name), first, second, axes, radii, stiffness, damping))

    def add_weld(
        self,
        name: str,
        a: Any,
        b: Any,
        *,
        at: Any = None,
        span: float = SPAN,
        stiffness: float = STIFF,
        damping: float = 0.0,
    ) -> None:
        """Two bodies that stay as they are to each other; `span² stiffness` N m/rad hold the orientation."""
        first, second = self._ends(name, (a, b), at)
        self._bind(bonds.weld(self._new_name(name), first, second, span, stiffness, damping))

    # -- ends ---------------------------------------------------------------------------------------------------------

    def _end(self, end: Any) -> Point:
        """A point from a point, a body or an anchor (its origin), or the world (its origin)."""
        if end is self:
            end = Point(None, ORIGIN)
        point = Point(end, ORIGIN) if isinstance(end, Carrier) else end
        if not isinstance(point, Point):
            raise ModelError(
                "an end of a spring or joint is a point such as body.point(0, 0, 0.1), a body, an anchor or the world, "
                f"not {quoted(end)}"
            )
        carrier = point.carrier
        if carrier is not None and {**self.bodies, **self.anchors}.get(carrier.name) is not carrier:
            raise ModelError(f"{carrier.name!r} belongs to another world; use what this world's add_body(...) returned")
        return point

    def _ends(self, name: str, ends: Sequence[Any], at: Any) -> list[Point]:
        """The points of a joint; bodies meet `at` a place of the world."""
        if at is None:
            return [self._end(end) for end in ends]
        x, y, z = checked_vector(at, f"the place of joint {name!r}")
        for end in ends:
            if isinstance(end, Point):
                raise ModelError(f"joint {name!r} has at= and a point; give two bodies and at=, or two points")
        carriers = [self._end(end).carrier for end in ends]
        return [self.point(x, y, z) if carrier is None else carrier.here(x, y, z) for carrier in carriers]

    def _bind(self, bond: Bond) -> None:
        self.bonds[bond.name] = bond
        self.params |= bond.params
