"""Springs and joints, made of ties (spec 4.3, 4.4). A joint is a set of stiff springs between points that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.model.system import number
from passivo.world.parts import ORIGIN, Body, Bond, Carrier, Point, Tie
from passivo.world.rotation import checked_direction, checked_quaternion, matrix_of, numbers_of, vector

MEET = 1e-6  # metres that the points of a joint may be apart at the start
STIFF = 1e6  # N/m of a joint, unless told otherwise
ROUGHEST = 1e6  # friction: squares of what is much larger overflow, and contacts let bodies through
SPAN = 0.1  # m between the points that hold an axis


def spring(name: str, a: Point, b: Point, stiffness: float, damping: float, length: float) -> Bond:
    """A linear spring of a length at rest, with a damper along it; at length 0 both act in all directions."""
    params = amounts(name, stiffness=stiffness, damping=damping)
    rest = amount(length, f"the length of {name!r}")
    kind, more = ("point", ()) if rest == 0.0 else ("length", (rest,))
    ordered(name, a, b)
    if rest > 0.0 and not np.linalg.norm(b.place - a.place) > 0.0:
        raise ModelError(
            f"both ends of {name!r} are at the same place at the start, so that its length of {rest:g} m has no "
            "direction; place them apart, or leave the length out"
        )
    return Bond(name, "spring", "springs", (tie(kind, a, b, name, more),), params)


def turn_spring(name: str, a: Carrier | None, b: Carrier | None, stiffness: Any, damping: float, rest: Any) -> Bond:
    """An SO(3) spring, φ = tr(G (I − Re)); `stiffness` in N m/rad, one or three about the axes of b."""
    largest, shares = moments(stiffness, f"the stiffness of {name!r}")
    params = amounts(name, stiffness=largest, damping=damping)
    ties = (*turned(name, a, b, rest, shares, "stiffness"), spin(name, a, b, "damping"))
    return Bond(name, "turn spring", "springs", ties, params)


def pose_spring(
    name: str, a: Point, b: Point, stiffness: float, damping: float, turning: Any, turn_damping: float, rest: Any
) -> Bond:
    """An SE(3) spring: a linear one of length 0 between two points, and an SO(3) spring between their carriers."""
    largest, shares = moments(turning, f"the turning stiffness of {name!r}")
    params = amounts(name, stiffness=stiffness, damping=damping, turning=largest, turn_damping=turn_damping)
    ones = (tie("point", a, b, name), *turned(name, a.carrier, b.carrier, rest, shares, "turning"))
    return Bond(name, "pose spring", "springs", (*ones, spin(name, a.carrier, b.carrier, "turn_damping")), params)


def coupling(name: str, a: Point, b: Point, k: float, turning: float | None) -> Bond:
    """The spring of a virtual coupling; a turning one has a stiffness of its own for that."""
    params = {f"{name}.k": amount(k, f"the stiffness of {name!r}")}
    ties = [replace(tie("point", a, b, name), stiffness=f"{name}.k", damping="")]
    if turning is not None:
        largest, shares = moments(turning, f"the turning stiffness of {name!r}")
        params[f"{name}.turning"] = largest
        ties += turned(name, a.carrier, b.carrier, None, shares, "turning")
    return Bond(name, "coupling", "springs", tuple(ties), params)


def ball(name: str, points: Sequence[Point], stiffness: float, damping: float) -> Bond:
    """Points that meet: for n of them every two pull at each other with 2/n of the stiffness, so that the energy is
    `k Σ |x_i − mean|²`, for two points `k/2 |x_1 − x_2|²`."""
    if len(points) < 2:
        raise ModelError(f"joint {name!r} needs two points or more, as in add_ball({name!r}, a.point(0, 0, 1), ...)")
    params = amounts(name, stiffness=stiffness, damping=damping)
    pairs = [tie("point", a, b, name, share=2.0 / len(points)) for a, b in met(name, points)]
    return Bond(name, "ball", "joints", tuple(pairs), params)


def hinge(name: str, a: Point, b: Point, axis: Any, span: float, stiffness: float, damping: float) -> Bond:
    """Two points on an axis, which is given in world axes at the start."""
    met(name, (a, b))
    half = 0.5 * length_of(span, name) * np.array(checked_direction(axis, f"the axis of joint {name!r}"))
    params = amounts(name, stiffness=stiffness, damping=damping)
    ties = tuple(tie("point", moved(a, side * half), moved(b, side * half), name, share=0.5) for side in (-1.0, 1.0))
    return Bond(name, "hinge", "joints", ties, params)


def universal(name: str, a: Point, b: Point, axes: Any, span: float, stiffness: float, damping: float) -> Bond:
    """A point, and two axes that stay at right angles: the first turns with b, the second with a; both are given in
    world axes at the start."""
    met(name, (a, b))
    try:
        first, second = (np.array(checked_direction(axis, f"an axis of joint {name!r}")) for axis in axes)
    except (TypeError, ValueError):
        raise ModelError(f"joint {name!r} takes two axes, as in axes=((1, 0, 0), (0, 1, 0))") from None
    if abs(first @ second) > 1e-9:
        raise ModelError(f"the axes of joint {name!r} must be at right angles; their cosine is {first @ second:.6g}")
    one, other = ordered(name, a, b)
    ours, theirs = (second, first) if one is a else (first, second)
    params = amounts(name, stiffness=stiffness, damping=damping)
    more = (*(rotation(other.carrier).T @ theirs), *(0.0,) * 6)
    lever = moved(one, length_of(span, name) * ours)
    ties = (tie("point", a, b, name), tie("slide", lever, other, name, tuple(float(x) for x in more)))
    return Bond(name, "universal", "joints", ties, params)


def elliptic(name: str, a: Point, b: Point, axes: Any, radii: Any, stiffness: float, damping: float) -> Bond:
    """Four points on the half axes of an ellipse: it holds the middle, and yields to turns about each axis the more the
    nearer the points of the other lie."""
    met(name, (a, b))
    try:
        (first, second), (r, s) = axes, radii
    except (TypeError, ValueError):
        raise ModelError(
            f"joint {name!r} takes two axes and two radii, as in axes=((1,0,0), (0,1,0)), radii=(.02, .01)"
        ) from None
    u, v = (np.array(checked_direction(axis, f"an axis of joint {name!r}")) for axis in (first, second))
    if abs(u @ v) > 1e-9:
        raise ModelError(f"the axes of joint {name!r} must be at right angles; their cosine is {u @ v:.6g}")
    reaches = (length_of(r, name) * u, -length_of(r, name) * u, length_of(s, name) * v, -length_of(s, name) * v)
    params = amounts(name, stiffness=stiffness, damping=damping)
    ties = tuple(tie("point", moved(a, reach), moved(b, reach), name, share=0.25) for reach in reaches)
    return Bond(name, "elliptic", "joints", ties, params)


def weld(name: str, a: Point, b: Point, span: float, stiffness: float, damping: float) -> Bond:
    """A point and a pose."""
    met(name, (a, b))
    params = amounts(name, stiffness=stiffness, damping=damping)
    share = length_of(span, name) ** 2
    ties = (tie("point", a, b, name), *turned(name, a.carrier, b.carrier, None, (share / 2,) * 3, "stiffness"))
    return Bond(name, "weld", "joints", (*ties, spin(name, a.carrier, b.carrier, "damping", share)), params)


def prismatic(name: str, a: Point, b: Point, axis: Any, span: float, stiffness: float, damping: float) -> Bond:
    """A pose, and two directions in which the points may not part; the axis is given in world axes at the start."""
    met(name, (a, b))
    one, other = ordered(name, a, b)
    params = amounts(name, stiffness=stiffness, damping=damping)
    direction = np.array(checked_direction(axis, f"the axis of joint {name!r}"))
    across = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
    across /= np.linalg.norm(across)
    frame = rotation(other.carrier).T
    more = (*(frame @ across), *(frame @ np.cross(direction, across)), 0.0, 0.0, 0.0)
    share = length_of(span, name) ** 2
    ties = (
        tie("slide", one, other, name, tuple(float(x) for x in more)),
        *turned(name, a.carrier, b.carrier, None, (share / 2,) * 3, "stiffness"),
        spin(name, a.carrier, b.carrier, "damping", share),
    )
    return Bond(name, "prismatic", "joints", ties, params)


# -- ties -----------------------------------------------------------------------------------------------------------


def ordered(name: str, a: Point, b: Point) -> tuple[Point, Point]:
    """The two points, that of a body first."""
    for point in (a, b):
        if not isinstance(point, Point):
            raise ModelError(
                f"{name!r} takes points such as body.point(0, 0, 0.1), anchor.point(0, 0, 0) or world.point(0, 0, 1), "
                f"not {quoted(point)}"
            )
    if a.carrier is b.carrier:
        raise ModelError(f"both points of {name!r} are on {a.name}; they must be on two different things")
    if not isinstance(a.carrier, Body):
        a, b = b, a
    if not isinstance(a.carrier, Body):
        raise ModelError(f"{name!r} joins {a.name} and {b.name}; at least one of them must be a body")
    return a, b


def tie(kind: str, a: Point, b: Point, name: str, more: tuple[float, ...] = (), share: float = 1.0) -> Tie:
    """A tie between two points, with the stiffness and the damping of `name`."""
    a, b = ordered(name, a, b)
    assert a.carrier is not None
    other = None if b.carrier is None else b.carrier.name
    return Tie(kind, a.carrier.name, other, a.at, b.at, more, f"{name}.stiffness", f"{name}.damping", share)


def turned(
    name: str, a: Carrier | None, b: Carrier | None, rest: Any, shares: Sequence[float], stiffness: str
) -> list[Tie]:
    """Three directions that pull at each other: Σ g_j/2 |Ra ra_j − Rb rb_j|² = tr(G (I − Rd' Rb' Ra)), ra_j = Rd' rb_j.

    `rest` is the orientation of a in the axes of b in which all is slack; by default that of the start. Stiffnesses are
    those about the axes of b, also where it is a that is no body.
    """
    turn = rotation(b).T @ rotation(a)
    if rest is not None:
        turn = matrix_of(checked_quaternion(rest, f"the rest of {name!r}"))
    ties = [
        tie("direction", Point(a, vector(axis)), Point(b, vector(unit)), name, share=share)
        for axis, unit, share in zip(turn, np.eye(3), shares)
        if share != 0.0
    ]
    return [replace(each, stiffness=f"{name}.{stiffness}", damping="") for each in ties]


def spin(name: str, a: Carrier | None, b: Carrier | None, damping: str, share: float = 1.0) -> Tie:
    """A damper between two rates."""
    found = tie("spin", Point(a, ORIGIN), Point(b, ORIGIN), name, share=share)
    return replace(found, stiffness="", damping=f"{name}.{damping}")


# -- checks ---------------------------------------------------------------------------------------------------------


def met(name: str, points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """All pairs of points that must meet at the start."""
    pairs = list(combinations(points, 2))
    for a, b in pairs:
        ordered(name, a, b)
        gap = b.place - a.place
        if np.linalg.norm(gap) > MEET:
            way, place = (", ".join(f"{x:.6g}" for x in values) for values in (gap, a.place))
            raise ModelError(
                f"the points of joint {name!r} do not meet at the start: that on {b.name} is ({way}) m away from "
                f"that on {a.name}. Place the bodies so that they meet, or name a common place: body.here({place})"
            )
    return pairs


def moved(point: Point, way: np.ndarray) -> Point:
    """The point of the same carrier that is so far away at the start, in world axes."""
    return Point(point.carrier, vector(np.array(point.at) + rotation(point.carrier).T @ way))


def rotation(carrier: Carrier | None) -> np.ndarray:
    return np.eye(3) if carrier is None else matrix_of(carrier.orientation)


def amount(value: Any, what: str) -> float:
    """A number >= 0."""
    if isinstance(value, bool | np.bool_):
        raise ModelError(f"{what} must be a number >= 0, not {value}")
    result = number(value, what)
    if result < 0.0:
        raise ModelError(f"{what} must be >= 0, not {result:g}")
    return result


def checked_surface(friction: Any, restitution: Any, name: str) -> tuple[float, float]:
    """Friction from 0 to ROUGHEST and restitution from 0 to 1."""
    bounce = amount(restitution, f"the restitution of {name!r}")
    if bounce > 1.0:
        raise ModelError(f"the restitution of {name!r} must lie between 0 and 1, not {bounce:g}")
    mu = amount(friction, f"the friction of {name!r}")
    if mu > ROUGHEST:
        raise ModelError(
            f"the friction of {name!r} must be at most {ROUGHEST:g}, not {mu:g}; with 10 nothing slides that stands on "
            "a slope of 84 degrees"
        )
    return mu, bounce


def length_of(value: Any, name: str) -> float:
    result = number(value, f"a length of joint {name!r}")
    if not result > 0.0:
        raise ModelError(f"a span or radius of joint {name!r} must be > 0 metres, not {result:g}")
    return result


def amounts(name: str, **given: Any) -> dict[str, float]:
    """Parameters of a bond, checked."""
    return {
        f"{name}.{what}": amount(value, f"the {what.replace('_', ' ')} of {name!r}") for what, value in given.items()
    }


def moments(value: Any, what: str) -> tuple[float, tuple[float, float, float]]:
    """The largest of three stiffnesses κ about axes, and G/κ of the SO(3) spring that has them: κ_j = tr(G) − G_j."""
    given = numbers_of(value)
    if given.shape not in ((), (1,), (3,)):
        raise ModelError(f"{what} must be one number or three, in N m/rad, not {quoted(value)}")
    about = np.broadcast_to(given, 3)
    if not np.isfinite(about).all() or about.min() < 0.0:
        raise ModelError(f"{what} must be >= 0, not {quoted(value)}")
    largest = float(about.max())
    if largest == 0.0:
        return 0.0, (0.5, 0.5, 0.5)
    g = 0.5 * about.sum() - about
    if g.min() < -1e-12 * largest:
        raise ModelError(
            f"{what} belongs to no SO(3) spring: {largest:g} about one axis exceeds the sum about the two others"
        )
    x, y, z = (max(float(entry), 0.0) / largest for entry in g)
    return largest, (x, y, z)
