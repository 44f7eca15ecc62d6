"""`World`: rigid bodies, springs, joints, ports and anchors under gravity. Description, checked as it grows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from passivo.errors import InputError, ModelError, quoted
from passivo.model.beam import Beam
from passivo.model.ports import Port
from passivo.model.system import Model, checked_name
from passivo.world import bonds, energies
from passivo.world.beams import BEAM_PARAMETERS, BeamPoint, WorldBeam, beam_of
from passivo.world.bound import Bound
from passivo.world.form import WorldForm, form_of
from passivo.world.hung import Hung
from passivo.world.lay_cords import figures_of
from passivo.world.names import BODY_PARAMETERS, GRAVITY, STEPS, TANK, Names
from passivo.world.parts import (
    ORIGIN,
    UP,
    Anchor,
    Body,
    Bond,
    Fixed,
    Link,
    Pair,
    Plane,
    Point,
    Tap,
    check_moments,
)
from passivo.world.read import Read
from passivo.world.rotation import checked_quaternion, checked_vector
from passivo.world.shapes import Shape
from passivo.world.start import look_at_start
from passivo.world.table import AT_BRIDGE, B_SIZE
from passivo.world.tendons import Command, Cord, Strung
from passivo.world.touching import Touching, checked_room

SHOWN = 2  # bodies in a picture of a run
SHOWN_JOINTS = 8


class World(Read, Bound, Hung, Strung, Touching, Model):
    """Rigid bodies under gravity (m/s²), tied by springs and joints, moved through ports and anchors.

        world = pv.World(gravity=(0, 0, -9.81))
        box = world.add_body("box", shape=pv.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 1.0))
        world.add_hinge("door", box, world, at=(0.1, 0, 1.0), axis=(0, 1, 0))
        run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=5.0)
        run["box.position"]

    Positions, velocities and forces are in the axes of the world; rates, inertias and points of a body in its own,
    which have their origin in its centre of mass. Quaternions are w x y z. Joints are stiff springs between points that
    meet (spec 4.4). Masses, stiffnesses and dampings are parameters such as "box.mass" or "door.stiffness".

    Shapes touch where the world has a plane or something fixed, or `contact=True` (spec 4.5); those of bodies that a
    joint joins do not. Of two surfaces friction is the root of the product of both, restitution the larger one.
    `set_pair` says otherwise of two things. `most_contacts` at a time.
    Joules that contacts lose fill a tank up to the parameter "contact_tank"; it pays where bodies that overlap are
    lifted off each other. Where they are put into each other (up to a tenth of the thinner one), it starts with what
    that will cost.
    """

    steps_apart: ClassVar = True
    signals: ClassVar = ()
    positions: ClassVar = ()
    units: Mapping[str, Any] = MappingProxyType({})
    _bridge: Any = None

    def __init__(
        self,
        gravity: Any = (0.0, 0.0, -9.81),
        name: str = "world",
        *,
        contact: bool | None = None,
        most_contacts: int | None = None,
    ):
        self.name = checked_name(name, "the world's name")
        if contact is not None and not isinstance(contact, bool):
            raise ModelError(f"contact must be True or False, or left out, not {quoted(contact)}")
        self.contact, self.room = contact, checked_room(most_contacts)
        self.planes: dict[str, Plane] = {}
        self.fixed: dict[str, Fixed] = {}
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.bodies: dict[str, Body] = {}
        self.anchors: dict[str, Anchor] = {}
        self.beams: dict[str, WorldBeam] = {}
        self.taps: dict[str, Tap] = {}
        self.bonds: dict[str, Bond] = {}
        self.tendons: dict[str, Cord] = {}
        self.commands: dict[str, Command] = {}
        self.ports: dict[str, Port] = {}
        self.params = dict(zip(GRAVITY, checked_vector(gravity, "gravity")))

    # -- bodies and what moves them -----------------------------------------------------------------------------------

    def add_body(
        self,
        name: str,
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
    ) -> Body:
        """A rigid body of `mass` kg; without an `inertia` that of its shapes, at equal density everywhere.

        inertia           kg m², (xx, yy, zz) or 3 × 3, about the centre of mass in the axes of the body
        velocity          m/s at the start; `angular_velocity` rad/s, in the axes of the body
        drag, spin_drag   N s/m and N m s that brake it against the world
        friction, restitution  of its surface
        """
        name = self._new_name(name)
        shapes, amounts, surface = self._weighed(
            name, "body", shape, mass, inertia, (drag, spin_drag), friction, restitution
        )
        body = Body(
            name,
            checked_vector(position, f"the position of body {name!r}"),
            checked_quaternion(orientation, f"the orientation of body {name!r}"),
            checked_vector(velocity, f"the velocity of body {name!r}"),
            checked_vector(angular_velocity, f"the angular velocity of body {name!r}"),
            shapes,
            *surface,
        )
        self.bodies[name] = body
        self.params |= amounts
        return body

    def add_beam(self, name: str, beam: Beam) -> WorldBeam:
        """A beam that bends in a plane, placed by its `origin`, `along` and `up`; stiff along its line and against
        turning about it.

            bar = world.add_beam("bar", pv.Beam(0.5, 20, young=70e9, density=2700.0, section=(0.02, 0.003)))
            world.add_spring("s", box, bar.node(20), 500.0)
            run["bar.deflection"]

        Springs, joints, ports and shapes belong to points of it: `bar.node(20)`, `bar.at(0.3, shape=pv.Sphere(0.01))`.
        """
        name = self._new_name(name)
        self.beams[name], params = beam_of(self, name, beam)
        self.params |= params
        return self.beams[name]

    def add_anchor(self, name: str, position: Any = ORIGIN, orientation: Any = UP, *, turns: bool = False) -> Anchor:
        """A place that springs and joints can hang on and that is moved from outside: its port of the same name takes
        its velocity (and where it `turns` its rate, in the axes of the world) and gives the force it is moved with."""
        name = self._new_name(name)
        place = checked_vector(position, f"the position of anchor {name!r}")
        turn = checked_quaternion(orientation, f"the orientation of anchor {name!r}")
        self.anchors[name] = anchor = Anchor(name, place, turn, bool(turns))
        self.ports[name] = Port("flow", anchor.width, ())
        return anchor

    def add_port(self, name: str, body: Body, at: Any = ORIGIN, *, wrench: bool = False) -> Tap:
        """A port at the point `at` of a body (in its own axes): takes a force in the axes of the world and gives the
        velocity of the point; as a `wrench` 6 wide, takes a torque too and gives the rate."""
        name = self._new_name(name)
        if not isinstance(body, Body) or self.bodies.get(body.name) is not body:
            raise ModelError(
                f"port {name!r} sits on a body that this world's add_body(...) returned, not {quoted(body)}"
            )
        self.taps[name] = tap = Tap(name, body.name, checked_vector(at, f"the place of port {name!r}"), bool(wrench))
        self.ports[name] = Port("effort", tap.width, ())
        return tap

    def point(self, x: float, y: float, z: float) -> Point:
        """A place of the world itself, which never moves."""
        return Point(None, checked_vector((x, y, z), "a point of the world"))

    # -- checks -------------------------------------------------------------------------------------------------------

    def _new_name(self, name: str) -> str:
        name = checked_name(name, "the name in a world")
        if name in self.members or name in ("gravity", "total", "tank", "contacts", TANK, *STEPS):
            raise ModelError(f"the world already has a {name!r}; choose another name")
        return name

    @property
    def members(self) -> list[str]:
        """The names of everything in it."""
        found = [*self.bodies, *self.anchors, *self.taps, *self.bonds, *self.planes, *self.fixed, *self.joints]
        return [*found, *self.beams, *self.tendons, *self.commands]

    # -- what every model says ----------------------------------------------------------------------------------------

    @property
    def names(self) -> Names:
        joints, beams = tuple(self.joints.values()), tuple(self.beams.values())
        points = tuple(name for name, body in self.bodies.items() if not body.massive)
        told = tuple(self.bodies), tuple(self.anchors), tuple(self.bonds), self.touches
        return Names(*told, joints, (*self.hung, *points), tuple(self.commands), tuple(self.cords), beams)

    @property
    def states(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names.states

    @property
    def vectors(self) -> Mapping[str, tuple[str, ...]]:  # type: ignore[override]
        return self.names.vectors

    @property
    def recorded(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names.recorded

    def unit(self, name: str, gives: bool = False) -> str:
        if name in self.ports:
            force = (self.ports[name].kind == "effort") != gives
            return ("N" if force else "m/s") if self.ports[name].width < 6 else ""
        return self.names.unit(name)

    @property
    def minimum(self) -> None:
        """None: it falls for ever."""
        return None

    @property
    def shown(self) -> tuple[str, ...]:
        """Where the first few bodies are and how they move; of links the coordinates and rates of their joints."""
        joints = [joint for joint in self.joints.values() if joint.rates][:SHOWN_JOINTS]
        groups = [f"{joint.name}.{what}" for joint in joints for what in (*joint.coordinates, *joint.rates)]
        free = [body for body in self.bodies if body not in self.hung][: 1 if groups else SHOWN]
        vectors = ("position", "orientation", "velocity", "angular_velocity")
        groups += [f"{body}.{vector}" for body in free for vector in vectors]
        return tuple(part for group in groups for part in self.vectors.get(group, (group,)))

    @property
    def initial(self) -> dict[str, float]:
        """The state at the start: poses and velocities as they were given."""
        values = [0.0] * len(STEPS)
        for body in self.bodies.values():
            values += [*body.position, *body.orientation, *body.velocity, *body.angular_velocity]
            values += [*body.velocity, *body.angular_velocity, *body.angular_velocity, *ORIGIN]
        for anchor in self.anchors.values():
            values += [*anchor.position, *anchor.orientation]
        for joint in self.joints.values():
            values += self._start_of(joint)
        return dict.fromkeys(self.states, 0.0) | dict(zip(self.states, values))

    def placed(self, values: Mapping[str, float]) -> dict[str, float]:
        """States put by hand: a quaternion has length 1, and what was known of the last step is forgotten, unless all
        states are put, as a run has them."""
        if values and len(values) < len(self.states):
            for name in values:
                body = name.split(".")[0]
                if isinstance(point := self.bodies.get(body), BeamPoint):
                    raise InputError(
                        f"{name!r} follows a beam: put its deflections and turns, such as '{point.beam}.w1', or all "
                        "states of a run to go on with it"
                    )
                if body in self.hung:
                    joint = self.links[body].joints[-1]
                    first, rate = next(iter(joint.coordinates)), next(iter(joint.rates))
                    raise InputError(
                        f"{name!r} follows from joints; put their coordinates, such as "
                        f"'{joint.name}.{first}', and rates, such as '{joint.name}.{rate}'"
                    )
                if name not in (*self.names.seen, "tank"):
                    raise InputError(
                        f"{name!r} is what the world keeps of its last steps, and cannot be put by itself; put poses "
                        "and velocities, from which it begins anew, or all states of a run to go on with it"
                    )
            values = {**dict.fromkeys(STEPS, 0.0), **values}
        if values.get("tank", 0.0) < 0.0:
            raise InputError(f"the 'tank' of contacts holds joules >= 0, not {values['tank']:g}")
        result = dict(values)
        turns = [f"{name}.orientation" for name in (*self.bodies, *self.anchors)]
        turns += [f"{name}.turn" for name, joint in self.joints.items() if "turn" in joint.coordinates]
        for name in turns:
            parts = self.vectors[name]
            given = [part for part in parts if part in values]
            if given:
                if len(given) < 4:
                    raise ModelError(f"give all four components of {name!r}, w x y z, or none")
                turn = checked_quaternion([values[part] for part in parts], f"the quaternion {name!r}")
                result |= dict(zip(parts, turn))
        if len(values) < len(self.states):  # in the midst of a run stops are pressed
            look_at_start(self, {**self.initial, **result})
        return result

    def snapshot(self) -> World:
        """The world as it is now, checked: a run is not changed by what is added later."""
        self.check(self.params)
        twin = copy.copy(self)
        groups = ("bodies", "anchors", "taps", "bonds", "ports", "params", "planes", "fixed", "pairs")
        for group in (*groups, "tendons", "commands"):
            setattr(twin, group, dict(getattr(self, group)))
        twin.beams = {name: beam.within(twin) for name, beam in self.beams.items()}
        twin._bridge = None
        if twin.touches:
            twin.params.setdefault(TANK, twin.usual_tank)
        return twin

    def coupled(self, port: str, name: str, k: float, turning: float) -> World:
        """The world with an anchor `name` in place of a port, and a spring between the two."""
        twin, tap = self.snapshot(), self.taps[port]
        body = twin.bodies[tap.body]
        place, at = body.outside(tap.at), Point(body, tap.at)
        x, y, z = (float(value) for value in place)
        anchor = Anchor(name, (x, y, z), UP, tap.wrench)
        bond = bonds.coupling(name, at, Point(anchor, ORIGIN), k, turning if tap.wrench else None)
        del twin.taps[port], twin.ports[port]
        twin.anchors[name], twin.bonds[name], twin.ports[name] = anchor, bond, Port("flow", anchor.width, ())
        twin.params |= bond.params
        twin.couplings = (*self.couplings, name)
        return twin

    def coupling(self, name: str) -> tuple[str, list[str], str]:
        turns = [f"{name}.turning"] * 3 if self.anchors[name].turns else []
        return f"{name}.position.x", [f"{name}.k"] * 3 + turns, "springs"

    @property
    def form(self) -> WorldForm:  # type: ignore[override]
        return self._derive()

    def _derive(self) -> WorldForm:
        return form_of(self)

    def row_energies(self, params: Mapping[str, float], states: np.ndarray) -> np.ndarray:
        """Stored joules of every ledger row at each of the states, by NumPy alone."""
        return energies.row_energies(self, params, states)

    def roughness(self, params: Mapping[str, float], states: np.ndarray, step: float) -> np.ndarray:
        """How far rounding of places moves each state in a step, in units of rounding."""
        return energies.roughness(self, params, states, step)

    def piece(self, method: Any, formulas: Mapping[str, Any], base: int, engine: Any) -> Any:
        from passivo.world.lay import piece_of

        for port in formulas:
            raise ModelError(
                f"the port {port!r} of a world takes no Feedback or Relation yet; use a spring, a damper, or a part "
                "of a Network"
            )
        return piece_of(self, method, base, engine)

    def check(self, params: Mapping[str, float]) -> None:
        if not self.bodies and not self.beams:
            raise ModelError(f"{self.name!r} has no bodies; add one with world.add_body(...)")
        for beam in self.beams.values():
            beam.check(self)
            for what in BEAM_PARAMETERS:
                bonds.amount(params[f"{beam.name}.{what}"], f"the {what.replace('_', ' ')} of beam {beam.name!r}")
            if not params[f"{beam.name}.mass"] > 0.0:
                raise ModelError(f"the mass of beam {beam.name!r} must be > 0 kg, not {params[f'{beam.name}.mass']:g}")
        for name in (name for name, body in self.bodies.items() if body.massive):
            values = [params[f"{name}.{what}"] for what in BODY_PARAMETERS]
            if not values[0] > 0.0:
                raise ModelError(f"the mass of body {name!r} must be > 0 kg, not {values[0]:g}")
            check_moments(tuple(values[1:7]), f"the inertia of body {name!r}")
            for what, value in zip(BODY_PARAMETERS[7:], values[7:]):
                bonds.amount(value, f"the {what.replace('_', ' ')} of {name!r}")
        for joint in self.joints.values():
            for name in joint.params:
                if not name.endswith((".reference", ".low", ".high")):
                    bonds.amount(params[name], f"the parameter {name!r}")
        if TANK in params:
            bonds.amount(params[TANK], "the contact_tank")
        for bond in self.bonds.values():
            for name in bond.params:
                bonds.amount(params[name], f"the parameter {name!r}")
        self._check_cords(params)

    def with_params(self, **params: float) -> World:
        twin = self.snapshot()
        twin.params = self.changed(params)
        return twin

    @property
    def figures(self) -> list[float]:
        """Points, directions, lengths and shares of ties, and points of ports, in the order of `lay.py`."""
        ties = [(tie.share, *tie.at_a, *tie.at_b, *tie.more) for bond in self.bonds.values() for tie in bond.ties]
        limbs = [limb.figures for limbs in self.mechanisms for limb in limbs]
        numbers = [number for group in (*ties, *(tap.at for tap in self.taps.values()), *limbs) for number in group]
        numbers += [number for beam in self.beams.values() for number in beam.figures(self)]
        numbers += [number for cord in self.cords for number in figures_of(cord)]
        return numbers + self._figures_of_contacts() if self.touches else numbers

    def _figures_of_contacts(self) -> list[float]:
        """Addresses of what MuJoCo finds contacts with, instead of which `house` puts others; surfaces; reaches."""
        from passivo.world.bridge import Bridge, reaches

        if self._bridge is None:
            self._bridge = Bridge(self)
        surfaces = [number for geom in self.geoms for number in (geom.friction, geom.restitution)]
        pairs = [number for _, _, *law in self.told_pairs for number in law]
        return [*self._bridge.figures, *surfaces, *reaches(self), *pairs, *self._bridge.field_figures(self)]

    def house(self, memory: np.ndarray, module: Any) -> Any:
        """A bridge of its own where bodies touch: a step writes into it, while other threads take theirs."""
        if not self.touches:
            return None
        bridge, at = self._bridge.copy(), int(module.TABLE[AT_BRIDGE])
        memory[at : at + B_SIZE] = bridge.figures
        return bridge

    def settled(self, house: Any, state: np.ndarray, params: Mapping[str, float], where: str) -> dict[str, float]:
        """Raises where bodies overlap deeply. Less than that is mended: the tank holds what that costs."""
        from passivo.world.overlaps import cost_of_parting, find_overlaps

        if house is None:
            return {}
        found = find_overlaps(self, house, state, where)
        return {"tank": cost} if (cost := cost_of_parting(self, house, found, params)) > 0.0 else {}

    def told_crowd(self, house: Any) -> str:
        room, found = self.most_contacts, int(house.data.ncon)
        need, told = (
            (found + found // 4, f"{found}, and there is room for {room}") if found > room else (2 * room, room)
        )
        return (
            f"more contacts than there is room for ({told}). Make room for {need} or more, "
            f"pv.World(most_contacts={need}) or World.from_file(..., most_contacts={need}), or give bodies fewer shapes"
        )

    def describe(self) -> dict[str, Any]:
        form = self.form
        return {
            "kind": "World",
            "name": self.name,
            "states": list(form.states),
            "inputs": list(form.inputs),
            "answers": sorted(form.at_once),
            "ties": [[bond.name, bond.row, *tie.skeleton] for bond in self.bonds.values() for tie in bond.ties],
            "taps": [[tap.body, tap.width, any(tap.at)] for tap in self.taps.values()],
            "links": [
                [link.name, link.parent, [type(joint).__name__ for joint in link.joints]]
                for link in self.links.values()
            ],
            "beams": [[beam.name, beam.skeleton(self)] for beam in self.beams.values()],
            "cords": [cord.skeleton for cord in self.cords],
            "touching": self._touching() if self.touches else [],
            "params": dict(self.params),
            "start": {
                "contact": self.contact,
                "room": self.room,
                "planes": [plane.describe() for plane in self.planes.values()],
                "fixed": [thing.describe() for thing in self.fixed.values()],
                "pairs": [pair.describe() for pair in self.pairs.values()],
                "bodies": [body.describe() for body in self.bodies.values()],
                "beams": [beam.describe() for beam in self.beams.values()],
                "anchors": [anchor.describe() for anchor in self.anchors.values()],
                "taps": [tap.describe() for tap in self.taps.values()],
                "bonds": [bond.describe() for bond in self.bonds.values()],
                "tendons": [tendon.describe() for tendon in self.tendons.values()],
                "commands": list(self.commands),
                "ports": list(self.ports),
                "couplings": list(self.couplings),
            },
        }

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> World:
        start = data["start"]
        world = cls(name=data["name"], contact=start["contact"], most_contacts=start["room"])
        world.planes = {plane["name"]: Plane.from_description(plane) for plane in start["planes"]}
        world.fixed = {thing["name"]: Fixed.from_description(thing) for thing in start.get("fixed", ())}
        world.pairs = {(pair["a"], pair["b"]): Pair(**pair) for pair in start.get("pairs", ())}
        world.couplings = tuple(start["couplings"])
        world.params = dict(data["params"])
        kind = lambda body: BeamPoint if "beam" in body else Link if "joints" in body else Body  # noqa: E731
        world.bodies = {body["name"]: kind(body).from_description(body) for body in start["bodies"]}
        world.beams = {beam["name"]: WorldBeam.from_description(beam, world) for beam in start.get("beams", ())}
        world.anchors = {anchor["name"]: Anchor.from_description(anchor) for anchor in start["anchors"]}
        world.taps = {tap["name"]: Tap.from_description(tap) for tap in start["taps"]}
        world.bonds = {bond["name"]: Bond.from_description(bond, world.params) for bond in start["bonds"]}
        world.tendons = {cord["name"]: Cord.from_description(cord) for cord in start.get("tendons", ())}
        world.commands = {name: Command(name) for name in start.get("commands", ())}
        for name in start["ports"]:
            kind = "flow" if name in world.anchors or name in world.commands else "effort"
            carrier = world.anchors.get(name) or world.taps.get(name)
            world.ports[name] = Port(kind, carrier.width if carrier else 1, ())
        return world

    def __repr__(self) -> str:
        return f"World({self.name!r}, bodies={list(self.bodies)[:8]}, joints and springs={list(self.bonds)[:8]})"
