"""What the states, parameters and records of a world are called, in the order of `table.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passivo.world.beams import WorldBeam
    from passivo.world.joints import Joint
    from passivo.world.tendons import Cord

GRAVITY = ("gravity_x", "gravity_y", "gravity_z")
STEPS = ("last_step", "step_before", "known_steps")  # sizes, and how many of the last three steps are known
BODY_PARAMETERS = (
    "mass", "inertia_xx", "inertia_yy", "inertia_zz", "inertia_xy", "inertia_xz", "inertia_yz", "drag", "spin_drag",
)  # fmt: skip
SEEN = ("position", "orientation", "velocity", "angular_velocity")  # the others are what a body keeps of its last steps
BODY_VECTORS = {
    "position": "xyz",
    "orientation": "wxyz",
    "velocity": "xyz",
    "angular_velocity": "xyz",
    "mean_velocity": "xyz",  # of the last step
    "mean_angular_velocity": "xyz",
    "smooth_angular_velocity": "xyz",  # of the last two steps together, and how it changes
    "smooth_angular_acceleration": "xyz",
}
EARLIER = ("mean", "earlier")  # rates of joints in the last step, and in the one before
ANCHOR_VECTORS = {"position": "xyz", "orientation": "wxyz"}
BOND_RECORDS = {"gap": "", "force": "xyz"}
BODY_RECORDS = {"contact_force": "xyz", "contact_torque": "xyz"}  # where there are contacts
TENDON_RECORDS = ("tension", "stretch", "slack_share")
STOP_RECORDS = ("stop",)
DRIVE_STATES = ("drive", "drive_speed")
CONTACT_ROWS = ("impact", "friction", "repair")  # of the ledger
TANK = "contact_tank"  # the parameter: joules at most in the tank
CONTACT_RECORDS = ("number", "depth", "slip", "force", "sweeps", "guard", "impact", "friction", "repair", "debit")
UNITS = {
    "tank": "J",
    "depth": "m",
    "slip": "m/s",
    "impact": "J",
    "friction": "J",
    "repair": "J",
    "debit": "J",
    "position": "m",
    "orientation": "1",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "mean_velocity": "m/s",
    "mean_angular_velocity": "rad/s",
    "smooth_angular_velocity": "rad/s",
    "smooth_angular_acceleration": "rad/s²",
    "angle": "rad",
    "rate": "rad/s",
    "way": "m",
    "speed": "m/s",
    "turn": "1",
    "gap": "m",
    "force": "N",
    "contact_force": "N",
    "contact_torque": "N m",
    "length": "m",
    "drive": "m",
    "drive_speed": "m/s",
    "tension": "N",
    "stretch": "m",
    "slack_share": "1",
    "mass": "kg",
    "drag": "N s/m",
    "spin_drag": "N m s",
    "bending": "N m²",
    "mass_damping": "1/s",
    "stiffness_damping": "s",
}


@dataclass(frozen=True)
class Names:
    """Names in a world of these bodies, anchors and bonds."""

    bodies: tuple[str, ...]
    anchors: tuple[str, ...]
    bonds: tuple[str, ...]
    touches: bool = False  # whether there are contacts
    joints: tuple[Joint, ...] = ()
    hung: tuple[str, ...] = ()  # bodies whose poses follow from the coordinates of joints or of beams
    commands: tuple[str, ...] = ()
    cords: tuple[Cord, ...] = ()
    beams: tuple[WorldBeam, ...] = ()

    @cached_property
    def vectors(self) -> Mapping[str, tuple[str, ...]]:
        """ "box.position" -> its components "box.position.x" and so on; the forces of bonds and contacts too."""
        groups = [(self.bodies, BODY_VECTORS), (self.anchors, ANCHOR_VECTORS), (self.bonds, {"force": "xyz"})]
        groups += [(self.bodies, BODY_RECORDS)] if self.touches else []
        groups += [((joint.name,), vectors_of(joint)) for joint in self.joints]
        bent = {group: states for beam in self.beams for group, states in beam.groups.items()}
        return bent | {
            f"{name}.{vector}": tuple(f"{name}.{vector}.{axis}" for axis in axes)
            for names, vectors in groups
            for name in names
            for vector, axes in vectors.items()
            if axes
        }

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Of all; last, where there are contacts, the joules in their tank."""
        groups = [f"{body}.{vector}" for body in self.bodies for vector in BODY_VECTORS]
        groups += [f"{anchor}.{vector}" for anchor in self.anchors for vector in ANCHOR_VECTORS]
        groups += [f"{joint.name}.{vector}" for joint in self.joints for vector in vectors_of(joint)]
        groups += [f"{command}.length" for command in self.commands]
        groups += [f"{cord.name}.{what}" for cord in self.cords if cord.drive for what in DRIVE_STATES]
        tank = ("tank",) if self.touches else ()
        bent = (state for beam in self.beams for state in beam.states)
        return (*STEPS, *(part for group in groups for part in self.vectors.get(group, (group,))), *bent, *tank)

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """The states that have a meaning without a method: poses and velocities."""
        free = [name for name in self.bodies if name not in self.hung]
        groups = [f"{name}.{vector}" for name in (*free, *self.anchors) for vector in SEEN]
        seen = [part for group in groups for part in self.vectors.get(group, ())]
        for joint in self.joints:
            for vector in (*joint.coordinates, *joint.rates):
                seen += self.vectors.get(f"{joint.name}.{vector}", (f"{joint.name}.{vector}",))
        seen += [f"{command}.length" for command in self.commands]
        seen += [f"{cord.name}.{what}" for cord in self.cords if cord.drive for what in DRIVE_STATES]
        return (*seen, *(state for beam in self.beams for state in beam.states))

    @cached_property
    def recorded(self) -> tuple[str, ...]:
        """Of each bond the largest gap at the end of the step, and the mean force on its first body; of all contacts
        together their number, depth, slip, normal force, sweeps (of exact solvers pivots or iterations), whether the
        guard acted, and joules; of each body the mean force of its contacts, and their torque about its centre of mass
        in its own axes; of tendons the mean tension, the stretch at the end of the step and the share of it in
        which they hung slack; of the stops of a joint their mean moment."""
        bonds = tuple(name for bond in self.bonds for name in (f"{bond}.gap", *(self.vectors[f"{bond}.force"])))
        strung = tuple(dict.fromkeys(f"{cord.name}.{what}" for cord in self.cords for what in records_of(cord)))
        if not self.touches:
            return (*bonds, *strung)
        wrenches = tuple(
            part for body in self.bodies for what in BODY_RECORDS for part in self.vectors[f"{body}.{what}"]
        )
        return (*bonds, *(f"contacts.{name}" for name in CONTACT_RECORDS), *wrenches, *strung)

    def unit(self, name: str) -> str:
        if name in STEPS[:2]:
            return "s"
        if name == "tank":
            return UNITS[name]
        for beam in self.beams:
            name = beam.groups.get(name, (name,))[0]
            if name.startswith(f"{beam.name}.") and name.split(".")[1] in beam.unit.units:
                return str(beam.unit.units[name.split(".")[1]])
        if name.endswith(".stop"):
            slides = any("way" in joint.coordinates for joint in self.joints if joint.name == name[: -len(".stop")])
            return "N" if slides else "N m"
        words = [part.partition("_")[2] if part.startswith(EARLIER) else part for part in name.split(".")[:0:-1]]
        return next((UNITS[part] for part in words if part in UNITS), "")


def records_of(cord: Cord) -> tuple[str, ...]:
    """What a run records of a tendon, or of the stops of a joint."""
    return STOP_RECORDS if cord.stop else TENDON_RECORDS


def vectors_of(joint: Joint) -> dict[str, str]:
    """The states of a joint, in their order, and the axes of each; "" for a single number."""
    rates = joint.rates or {"velocity": "xyz", "angular_velocity": "xyz"}  # of a free one those of the link
    kept = {f"{when}_{what}": axes for when in EARLIER for what, axes in rates.items()}
    return {**joint.coordinates, **joint.rates, **kept}
