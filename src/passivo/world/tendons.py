"""Tendons, what pulls at them, and stops of joints: description, and the methods of `World` that add them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError, nearest, quoted
from passivo.model.expression import EXTENDED, FLOAT, evaluate
from passivo.model.ports import Port
from passivo.model.system import number
from passivo.world import bonds
from passivo.world.arms import checked_arms
from passivo.world.parts import Described

if TYPE_CHECKING:
    from passivo.world.hung import Limb
    from passivo.world.joints import Joint

Column = Callable[[str], np.ndarray]
AHEAD = (0.0, 1.0, 2.0, 4.0)  # steps in which an arm may end
DRIVE = ("drive_mass", "drive_stiffness", "drive_damping")


@dataclass(frozen=True)
class Drive:
    """What winds up a tendon: a mass in kg that a spring (N/m) draws to where the command is, and a damper (N s/m)
    brakes. Without that spring a stiff tendon would answer a jump of the command by any force."""

    mass: float
    stiffness: float
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class Command:
    """A length that is given from outside, by the velocity that its port of the same name takes; the port gives the
    force of all tendons that it pulls at."""

    name: str


@dataclass(frozen=True)
class Cord(Described):
    """What `cords.py` steps: the stretch e = sign · rest + Σ slopes · joints (or less the formula `way`) + what pulls.

    stiffness, damping, rest, gain  names of parameters, "" for none
    drive    whether it hangs on a drive, whose parameters are "name.drive_mass" and so on
    force    whether its tension is given at a port
    stop     whether it is one of the two stops of a joint
    """

    name: str
    row: str
    joints: tuple[str, ...]
    slopes: tuple[float, ...]
    way: str = ""
    sign: int = -1
    stiffness: str = ""
    damping: str = ""
    rest: str = ""
    command: str = ""
    gain: str = ""
    drive: bool = False
    force: bool = False
    stop: bool = False

    def stretch(self, params: Mapping[str, float], column: Column, coordinate: Callable[[str], str]) -> np.ndarray:
        """At each of some states, whose columns are given by name; as wide as their numbers are."""
        joints = {joint: column(coordinate(joint)) for joint in self.joints}
        e: Any = 0.0
        if self.way:
            wide = next(iter(joints.values())).dtype == np.longdouble
            e = -evaluate(self.way, joints, EXTENDED if wide else FLOAT)
        else:
            for joint, slope in zip(self.joints, self.slopes):
                e = e + slope * joints[joint]
        e = e + self.sign * params.get(self.rest, 0.0)
        if self.drive:
            return e + column(f"{self.name}.drive")
        return e + params[self.gain] * column(f"{self.command}.length") if self.command else e

    @property
    def skeleton(self) -> list[Any]:
        """What of it shapes code: all but its figures."""
        told = self.describe()
        del told["slopes"]
        return list(told.values())


def stops_of(joint: str) -> tuple[Cord, Cord]:
    """The two stops of a joint: springs that are taut beyond its range."""
    below, above = f"{joint}.low", f"{joint}.high"
    named = {"stiffness": f"{joint}.stop_stiffness", "damping": f"{joint}.stop_damping", "stop": True}
    return (
        Cord(joint, "stops", (joint,), (-1.0,), sign=1, rest=below, **named),
        Cord(joint, "stops", (joint,), (1.0,), sign=-1, rest=above, **named),
    )


class Strung:
    """Tendons over the joints of a mechanism."""

    tendons: dict[str, Cord]
    commands: dict[str, Command]
    ports: dict[str, Port]
    params: dict[str, float]

    if TYPE_CHECKING:

        def _new_name(self, name: str) -> str: ...

        @property
        def joints(self) -> dict[str, Joint]: ...

        @property
        def mechanisms(self) -> list[list[Limb]]: ...

    @property
    def cords(self) -> list[Cord]:
        """All tendons, and the stops of joints that have a range."""
        ranged = [name for name, joint in self.joints.items() if getattr(joint, "range", None) is not None]
        return [*self.tendons.values(), *(cord for name in ranged for cord in stops_of(name))]

    def coordinate_of(self, joint: str) -> str:
        """The state that is the angle of a hinge, or the way of a slider."""
        return f"{joint}.{next(iter(self.joints[joint].coordinates))}"

    def _single_joints(self) -> dict[str, int]:
        """Hinges and sliders, and the number of the mechanism of each."""
        found = enumerate(self.mechanisms)
        return {limb.joint.name: i for i, limbs in found for limb in limbs if limb.joint.width == 1}

    def add_command(self, name: str) -> Command:
        """A length in m that tendons are pulled by, 0 at the start. Its port of the same name takes its velocity and
        gives the force with which they pull back: a device, or a written motion, commands a grip by it."""
        name = self._new_name(name)
        self.commands[name] = command = Command(name)
        self.ports[name] = Port("flow", 1, ())
        return command

    def add_tendon(
        self,
        name: str,
        arms: Mapping[str, Any],
        stiffness: float | None = None,
        damping: float = 0.0,
        *,
        slack: float = 0.0,
        pretension: float = 0.0,
        command: Command | None = None,
        gain: float = 1.0,
        drive: Drive | None = None,
        force: bool = False,
    ) -> None:
        """A tendon over hinges or sliders of one mechanism: it pulls where it is stretched, and never pushes.

            world.add_tendon("extensor", {"knuckle": -0.006, "tip": -0.004}, stiffness=200.0, pretension=6.0)
            world.add_tendon("flexor", {"knuckle": 0.0075}, 1e6, command=grip, drive=pv.Drive(0.05, 3500.0))
            world.add_tendon("muscle", {"knuckle": "0.01 + 0.002*cos(knuckle)"}, force=True)

        arms        metres, the moment that a tension of 1 N makes; or formulas of the joints it spans
        stiffness   N/m; `damping` N s/m acts while it is taut
        slack       m that it hangs through where all joints are at 0; or its tension there, `pretension` in N
        command     pulls at it: by `gain` times its length, through a `drive` that yields
        force       its port of the same name takes the tension (N; below 0 counts as 0), gives how fast it is taken up
        """
        name, what = self._new_name(name), f"tendon {name!r}"
        slopes, way = checked_arms(arms, what)
        self._check_joints(tuple(slopes), what)
        turned = tuple(-arm for arm in slopes.values())  # a pull takes up what it turns
        if force:
            given = {"stiffness": stiffness, "damping": damping, "slack": slack, "pretension": pretension}
            for key, value in {**given, "command": command, "gain": gain != 1.0, "drive": drive}.items():
                if value:
                    raise ModelError(f"{what} pulls with the force at its port, and takes no {key}; leave it out")
            self.tendons[name] = Cord(name, "tendons", tuple(slopes), turned, way, force=True)
            self.ports[name] = Port("effort", 1, ())
            return
        if stiffness is None:
            raise ModelError(f"{what} needs a stiffness in N/m, or force=True to be pulled by a force")
        params = bonds.amounts(name, stiffness=stiffness, damping=damping)
        if not params[f"{name}.stiffness"] > 0.0:
            raise ModelError(f"the stiffness of {name!r} must be > 0 N/m, not {stiffness:g}")
        rest, tension = (
            bonds.amount(slack, f"the slack of {name!r}"),
            bonds.amount(pretension, f"the pretension of {name!r}"),
        )
        if rest and tension:
            raise ModelError(f"{what} hangs slack or pulls at the start, not both: give slack= or pretension=")
        params[f"{name}.slack"] = rest - tension / params[f"{name}.stiffness"]
        pulled = self._pulled(name, command, gain, drive, params)
        named = {key: f"{name}.{key}" for key in ("stiffness", "damping")}
        self.tendons[name] = Cord(name, "tendons", tuple(slopes), turned, way, rest=f"{name}.slack", **named, **pulled)
        self.params |= params

    def _pulled(
        self, name: str, command: Command | None, gain: float, drive: Drive | None, params: dict[str, float]
    ) -> dict[str, Any]:
        """What pulls at a tendon, its parameters added to `params`."""
        if command is None:
            if drive is not None or gain != 1.0:
                raise ModelError(
                    f"tendon {name!r} has a drive or a gain, and no command that it follows; give command="
                )
            return {}
        if not isinstance(command, Command) or self.commands.get(command.name) is not command:
            raise ModelError(
                f"the command of tendon {name!r} is what this world's add_command(...) returned, not {quoted(command)}"
            )
        params[f"{name}.gain"] = number(gain, f"the gain of {name!r}")
        if drive is not None:
            if not isinstance(drive, Drive):
                raise ModelError(f"the drive of tendon {name!r} is a pv.Drive(mass, stiffness), not {quoted(drive)}")
            params |= bonds.amounts(name, **dict(zip(DRIVE, (drive.mass, drive.stiffness, drive.damping))))
            if not drive.mass > 0.0:
                raise ModelError(f"the drive of tendon {name!r} needs a mass > 0 kg, not {drive.mass:g}")
        return {"command": command.name, "gain": f"{name}.gain", "drive": drive is not None}

    def hint(self, state: Mapping[str, float], step: float) -> str:
        """Names a tendon whose arms are formulas that end where its joints are about to be."""
        for cord in (cord for cord in self.tendons.values() if cord.way):
            for ahead in AHEAD:
                places = {}
                for name in cord.joints:
                    joint = self.joints[name]
                    coordinate, rate = (f"{name}.{next(iter(what))}" for what in (joint.coordinates, joint.rates))
                    places[name] = np.float64(state[coordinate] + ahead * step * state[rate])
                with np.errstate(all="ignore"):
                    way = evaluate(cord.way, places, FLOAT)
                if not np.isfinite(way):
                    told = ", ".join(f"{name} = {value:g}" for name, value in places.items())
                    return (
                        f"The arms of tendon {cord.name!r} have no value at {told}, where its joints are about to be: "
                        "write formulas that go on there, or give the joints a range"
                    )
        return ""

    def _check_cords(self, params: Mapping[str, float]) -> None:
        """Raise where a parameter of a cord is one that no passive cord has."""
        for cord in self.cords:
            drive = [f"{cord.name}.{what}" for what in DRIVE] if cord.drive else []
            for name in (cord.stiffness, cord.damping, *drive):
                if name:
                    bonds.amount(params[name], f"the parameter {name!r}")
            if cord.drive and not params[drive[0]] > 0.0:
                raise ModelError(f"the drive of tendon {cord.name!r} needs a mass > 0 kg, not {params[drive[0]]:g}")
            if cord.stop and not params[f"{cord.name}.low"] < params[f"{cord.name}.high"]:
                low, high = params[f"{cord.name}.low"], params[f"{cord.name}.high"]
                raise ModelError(
                    f"the range of joint {cord.name!r} from {low:g} to {high:g} is empty; low is below high"
                )

    def _check_joints(self, joints: tuple[str, ...], what: str) -> None:
        """Raise unless a tendon can span these: hinges and sliders of one mechanism."""
        single, known = self._single_joints(), self.joints
        roots = {single[joint] for joint in joints if joint in single}
        for joint in joints:
            if joint in single:
                continue
            if joint in known:
                raise ModelError(
                    f"{what} spans {joint!r}, which moves in more than one way; a tendon spans hinges and sliders"
                )
            own = [name for name, root in single.items() if root in roots]
            told = f"the finger it spans has {', '.join(map(repr, own))}" if own else nearest(joint, single)
            raise ModelError(f"{what} spans {joint!r}, and there is no such joint; {told}")
        if len(roots) > 1:
            raise ModelError(
                f"{what} spans joints of {len(roots)} mechanisms: {', '.join(map(repr, joints))}. Hang them on one "
                "palm (a link with a free joint), or give each a tendon of its own and one command"
            )
