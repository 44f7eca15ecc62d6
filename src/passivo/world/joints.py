"""Joints of mechanisms: what a link may do against what it hangs on. Its coordinates are states of the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from passivo.errors import ModelError, nearest, quoted
from passivo.model.system import checked_name, number
from passivo.world.rotation import checked_direction, checked_vector
from passivo.world.shapes import Vector

PARAMETERS = ("damping", "inertia", "stiffness", "reference")  # of a joint, in the order of `table.py`
STOP_PARAMETERS = ("low", "high", "stop_stiffness", "stop_damping")  # where it has a range
STOP = 1e3, 1e5  # N m/rad of a hinge, N/m of a slider, unless told otherwise
STOP_TIME = 0.01  # s: the damping of a stop, for its stiffness


@dataclass(frozen=True)
class Joint:
    """A joint, named as the angle or the way that it has. Coordinates count from the pose that the link is given with.

    damping    N m s/rad, or N s/m
    inertia    kg m², or kg, that moves with the joint besides the links, such as the rotor of a motor behind its gear
    """

    name: str
    damping: float = 0.0
    inertia: float = 0.0

    width: ClassVar = 1
    coordinates: ClassVar[Mapping[str, str]] = {"angle": ""}
    rates: ClassVar[Mapping[str, str]] = {"rate": ""}

    def checked(self) -> Joint:
        """The same joint, its numbers as they are needed."""
        values = {option.name: self._checked(option.name) for option in fields(self)}
        return type(self)(**values)

    def _checked(self, option: str) -> Any:
        value, what = getattr(self, option), f"the {option} of joint {self.name!r}"
        match option:
            case "name":
                return checked_name(value, "the name of a joint")
            case "axis":
                return checked_direction(value, what)
            case "at":
                return None if value is None else checked_vector(value, what)
            case "reference":
                return number(value, what)
            case "range":
                return None if value is None else checked_range(value, self.name)
            case "stop_stiffness" | "stop_damping" if value is None:
                return None
        size = number(value, what)
        if not size >= 0.0:
            raise ModelError(f"{what} must be >= 0, not {size:g}; below 0 it would create energy")
        return size

    @property
    def params(self) -> dict[str, float]:
        own = {f"{self.name}.{what}": getattr(self, what) for what in PARAMETERS if hasattr(self, what)}
        return own | self._stops()

    def _stops(self) -> dict[str, float]:
        """Parameters of its stops, where it has a range."""
        if not isinstance(self, Hinge | Slider) or self.range is None:
            return {}
        stiffness = STOP[isinstance(self, Slider)] if self.stop_stiffness is None else self.stop_stiffness
        damping = STOP_TIME * stiffness if self.stop_damping is None else self.stop_damping
        return {f"{self.name}.{what}": value for what, value in zip(STOP_PARAMETERS, (*self.range, stiffness, damping))}

    def describe(self) -> dict[str, Any]:
        told = {option.name: getattr(self, option.name) for option in fields(self)}
        return {"kind": type(self).__name__} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in told.items()
        }


@dataclass(frozen=True)
class Hinge(Joint):
    """A turn about an axis through a point, both in world axes at the start; without a point through the link's centre
    of mass. States "name.angle" (rad) and "name.rate".

    stiffness  N m/rad of a spring that is slack at the angle `reference`
    range      rad, (lowest, highest): beyond it a stop pushes back, with `stop_stiffness` N m/rad and `stop_damping`
               N m s/rad
    """

    axis: Vector = (0.0, 0.0, 1.0)
    at: Vector | None = None
    stiffness: float = 0.0
    reference: float = 0.0
    range: tuple[float, float] | None = None
    stop_stiffness: float | None = None
    stop_damping: float | None = None


@dataclass(frozen=True)
class Slider(Joint):
    """A way along an axis, given in world axes at the start. States "name.way" (m) and "name.speed".

    stiffness  N/m of a spring that is slack at the way `reference`
    range      m, (lowest, highest): beyond it a stop pushes back, with `stop_stiffness` N/m and `stop_damping` N s/m
    """

    axis: Vector = (0.0, 0.0, 1.0)
    stiffness: float = 0.0
    reference: float = 0.0
    range: tuple[float, float] | None = None
    stop_stiffness: float | None = None
    stop_damping: float | None = None

    coordinates: ClassVar = {"way": ""}
    rates: ClassVar = {"speed": ""}


@dataclass(frozen=True)
class Ball(Joint):
    """Any turn about a point, given in world axes at the start. States "name.turn", a quaternion, and "name.rate", in
    the axes of the link."""

    at: Vector | None = None

    width: ClassVar = 3
    coordinates: ClassVar = {"turn": "wxyz"}
    rates: ClassVar = {"rate": "xyz"}


@dataclass(frozen=True)
class Free(Joint):
    """None: the link floats, and others hang on it. Its pose and its velocities are states of the link itself."""

    width: ClassVar = 6
    coordinates: ClassVar = {}
    rates: ClassVar = {}

    def checked(self) -> Joint:
        if self.damping != 0.0 or self.inertia != 0.0:
            raise ModelError(
                f"joint {self.name!r} is free: a drag and a mass are the link's, in add_link(..., drag=...)"
            )
        return super().checked()

    @property
    def params(self) -> dict[str, float]:
        return {}


def checked_range(given: Any, name: str) -> tuple[float, float]:
    """Two numbers in order."""
    try:
        low, high = (number(value, f"an end of the range of joint {name!r}") for value in given)
    except (TypeError, ValueError):
        raise ModelError(f"the range of joint {name!r} is (lowest, highest), not {quoted(given)}") from None
    if not low < high:
        raise ModelError(
            f"the range of joint {name!r} from {low:g} to {high:g} is empty; the lower end stands first, below the "
            "upper one"
        )
    return low, high


KINDS: tuple[type[Joint], ...] = (Hinge, Slider, Ball, Free)  # in the order of `table.py`


def kind_of(joint: Joint) -> int:
    return KINDS.index(type(joint))


def joint_from(data: Mapping[str, Any]) -> Joint:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    kind = values.pop("kind")
    names = {each.__name__: each for each in KINDS}
    if kind not in names:
        raise ModelError(f"there is no joint {quoted(kind)}; {nearest(str(kind), names)}")
    return names[kind](**values)


def checked_joints(joints: Any, link: str, parent: str | None) -> tuple[Joint, ...]:
    """The joints between a link and its parent, from the parent outwards."""
    given = (joints,) if isinstance(joints, Joint) else joints
    if not isinstance(given, Sequence) or not given or not all(type(joint) in KINDS for joint in given):
        raise ModelError(
            f'link {link!r} hangs by one joint or a list of them, such as pv.Hinge("elbow", axis=(0, 1, 0), at=...), '
            f"not by {quoted(joints)}"
        )
    made = tuple(joint.checked() for joint in given)
    free = [joint for joint in made if isinstance(joint, Free)]
    if free and (parent is not None or len(made) > 1):
        raise ModelError(
            f"link {link!r} is free and has {'a parent' if parent is not None else 'other joints'}; a free link hangs "
            "on the world by that joint alone: add_link(name, None, pv.Free(...))"
        )
    return made
