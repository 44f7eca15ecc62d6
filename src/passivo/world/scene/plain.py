"""Scenes in YAML: bodies by name, each with its parent, joints and shapes; checked, with the line of every mistake.

gravity: [0, 0, -9.81]
planes:
  floor: {friction: 0.5}
bodies:
  arm:
    position: [0, 0, 1]
    joint: {kind: hinge, axis: [0, 1, 0]}
    mass: 1
    shapes:
      - {capsule: [0.02, 0.4], position: [0, 0, -0.2]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from passivo.document.checked import checked
from passivo.document.reader import Document, read_file, shortened
from passivo.document.values import MOST_NAMES, Formula, Name, Number, Positive, Section
from passivo.errors import PassivoError, ScenarioError, nearest
from passivo.world.links import KINDS, Closure, Joint, Lead, Link, Scene, Strand, Surface, matrix, vector
from passivo.world.parts import Plane
from passivo.world.rotation import checked_quaternion, numbers_of
from passivo.world.scene.names import plain
from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere, mass_of_shapes

Three = Annotated[list[Number], Field(min_length=3, max_length=3)]
Two = Annotated[list[Number], Field(min_length=2, max_length=2)]
Four = Annotated[list[Number], Field(min_length=4, max_length=4)]
Amount = Annotated[Number, Field(ge=0)]
WORLD = "world"
SHAPES = ("sphere", "box", "capsule", "cylinder", "mesh", "points")
STILL = [0.0, 0.0, 0.0]
UP = [1.0, 0.0, 0.0, 0.0]


class PlaneSpec(Section):
    """A plane that never moves; bodies touch it from the side of its normal."""

    normal: Three = Field([0.0, 0.0, 1.0], description="its direction")
    at: Three = Field(STILL, description="a place on it")
    friction: Amount = 0.0
    restitution: Annotated[Number, Field(ge=0, le=1)] = 0.0


class JointSpec(Section):
    """How a body moves against its parent."""

    name: Name | None = Field(None, description="by default the body's name and _joint")
    kind: Literal[KINDS]  # pyright: ignore[reportInvalidTypeForm]
    axis: Three = Field([0.0, 0.0, 1.0], description="in the axes of the body")
    at: Three = Field(STILL, description="where it is, in the axes of the body")
    range: Two | None = Field(None, description="rad or m")
    stiffness: Amount = Field(0.0, description="N m/rad or N/m")
    damping: Amount = Field(0.0, description="N m s or N s/m")
    armature: Amount = Field(0.0, description="kg m² or kg of the rotor behind the gear")
    friction: Amount = Field(0.0, description="N m or N, dry")
    reference: Number = Field(0.0, description="where the spring is slack")
    stop_stiffness: Amount | None = Field(None, description="N m/rad or N/m at the ends of the range")
    stop_damping: Amount | None = Field(None, description="N m s or N s/m there")


class ShapeSpec(Section):
    """One shape: {sphere: radius}, {box: [x, y, z]}, {capsule: [radius, length]}, {cylinder: [radius, length]},
    {mesh: file.stl, scale: 1e-3} or {points: [[x, y, z], ...]}; meshes and points are made convex."""

    sphere: Positive | None = None
    box: Three | None = None
    capsule: Two | None = None
    cylinder: Two | None = None
    mesh: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    points: Annotated[list[Three], Field(min_length=4)] | None = None
    scale: Positive = Field(1.0, description="makes metres of a mesh")
    position: Three = Field(STILL, description="in the axes of the body")
    orientation: Four = Field(UP, description="w x y z")
    friction: Amount | None = Field(None, description="by default that of the body")
    restitution: Annotated[Number, Field(ge=0, le=1)] | None = Field(None, description="by default that of the body")

    @model_validator(mode="before")
    @classmethod
    def _one(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and not set(data) - cls.model_fields.keys():
            found = [key for key in SHAPES if data.get(key) is not None]
            if len(found) != 1:
                raise ValueError(f"must have exactly one of the keys {', '.join(SHAPES)}, not {shortened(dict(data))}")
        return data


class BodySpec(Section):
    """A body: free without parent and joint, fixed with a parent alone."""

    parent: Name | None = Field(None, description="another body, or world")
    joint: JointSpec | None = Field(None, description="how it moves against its parent")
    joints: Annotated[list[JointSpec], Field(min_length=1, max_length=6)] | None = Field(
        None, description="several, the first one nearest to the parent"
    )
    position: Three = Field(STILL, description="of its axes, in those of its parent")
    orientation: Four = Field(UP, description="w x y z, in the axes of its parent")
    mass: Amount | None = Field(None, description="kg")
    centre: Three | None = Field(None, description="of mass; by default that of its shapes")
    inertia: Three | list[Three] | None = Field(None, description="about the centre of mass; by default of its shapes")
    shapes: list[ShapeSpec] = Field([], description="what it looks like and touches with")
    friction: Amount = 0.0
    restitution: Annotated[Number, Field(ge=0, le=1)] = 0.0
    velocity: Three = Field(STILL, description="of a free body at the start, m/s")
    angular_velocity: Three = Field(STILL, description="rad/s in its own axes")

    @model_validator(mode="before")
    @classmethod
    def _one(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            if "joint" in data and "joints" in data:
                what = "a body has a joint or a list of joints, not both"
                raise PydanticCustomError("unknown", "{what}", {"what": what, "key": "joint"})
            held = [key for key in ("parent", "joint", "joints") if data.get(key) is not None]
            moving = next((key for key in ("velocity", "angular_velocity") if key in data), None)
            if held and moving and not _free(data):
                what = f"a body with a {held[0]} starts at rest; only free bodies have a velocity"
                raise PydanticCustomError("unknown", "{what}", {"what": what, "key": moving})
        return data


def _free(data: Mapping[str, Any]) -> bool:
    joint = data.get("joint")
    return isinstance(joint, Mapping) and joint.get("kind") == "free"


class LoopSpec(Section):
    """What holds two bodies together besides parents and joints."""

    kind: Literal["ball", "weld"] = "ball"
    between: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="two bodies, or one and world"
    )
    at: Three = Field(description="where, in the axes of the world at the start")


class DriveSpec(Section):
    """What winds up a tendon."""

    mass: Positive = Field(description="kg")
    stiffness: Amount = Field(description="N/m, between it and the command")
    damping: Amount = Field(0.0, description="N s/m that brakes it")


class TendonSpec(Section):
    """A tendon over hinges or slides; it pulls where it is stretched."""

    arms: dict[Name, Formula] = Field(description="joint: m, or a formula of the joints", min_length=1)
    stiffness: Positive | None = Field(None, description="N/m")
    damping: Amount = Field(0.0, description="N s/m")
    slack: Amount = Field(0.0, description="m, where all joints are at 0")
    pretension: Amount = Field(0.0, description="N there")
    command: Name | None = Field(None, description="what pulls at it")
    gain: Number = Field(1.0, description="how far, for each metre of the command")
    drive: DriveSpec | None = Field(None, description="between the two")
    force: bool = Field(False, description="whether a port of its name takes its tension")


class AnchorSpec(Section):
    """An anchor where a body is at the start, which leads it by an SE(3) spring; its port takes velocity and rate."""

    body: Name
    stiffness: Amount = Field(description="N/m")
    damping: Amount = Field(0.0, description="N s/m")
    turn_stiffness: Amount = Field(description="N m/rad")
    turn_damping: Amount = Field(0.0, description="N m s")


class SceneFile(Section):
    """A scene."""

    name: Name | None = Field(None, description="by default the file's name")
    about: Annotated[str, Field(max_length=2000)] = Field("", description="one line for people")
    gravity: Three = Field([0.0, 0.0, -9.81], description="m/s²")
    contact: bool | None = Field(None, description="whether shapes touch; by default where there is a plane")
    step: Positive | None = Field(None, description="seconds; the step that runs take unless told otherwise")
    planes: dict[Name, PlaneSpec] = Field({}, description="name: a plane")
    bodies: dict[Name, BodySpec] = Field(description="name: a body", min_length=1, max_length=10 * MOST_NAMES)
    loops: dict[Name, LoopSpec] = Field({}, description="name: what closes a loop")
    commands: list[Name] = Field([], description="lengths given from outside, by the port of each name")
    tendons: dict[Name, TendonSpec] = Field({}, description="name: a tendon")
    anchors: dict[Name, AnchorSpec] = Field({}, description="name: what leads a body")
    exclude: list[Annotated[list[Name], Field(min_length=2, max_length=2)]] = Field(
        [], description="pairs of bodies that never touch"
    )


def read_plain(file: Path) -> Scene:
    """The scene of a YAML file."""
    document = read_file(file)
    if not isinstance(document.data, dict):
        raise ScenarioError(f"{document.source}: must hold keys such as bodies, not {shortened(document.data)}")
    return _Reader(document, checked(document, SceneFile), file).scene()


class _Reader:
    def __init__(self, document: Document, given: SceneFile, file: Path):
        self.document, self.given, self.file = document, given, file

    def scene(self) -> Scene:
        given = self.given
        for group in ("planes", "bodies", "loops", "tendons", "anchors"):
            for name in getattr(given, group):
                self.check_name(name, group)
        links = tuple(self.link(name, body) for name, body in given.bodies.items())
        planes = tuple(
            Plane(name, vector(one.normal), vector(one.at), one.friction, one.restitution)
            for name, one in given.planes.items()
        )
        loops = []
        for name, one in given.loops.items():
            for end in one.between:
                self.check_end(end, ("loops", name, "between"))
            if one.between[0] == one.between[1]:
                what = f"holds {one.between[0]!r} together with itself; name two bodies, or one and world"
                raise ScenarioError(self.document.place(("loops", name, "between"), what))
            a, b = (None if end == WORLD else end for end in one.between)
            loops.append(Closure(name, one.kind, a, b, vector(one.at), self.document.where(("loops", name))))
        for number, pair in enumerate(given.exclude):
            for name in pair:
                self.check_end(name, ("exclude", number))
        for name, one in given.anchors.items():
            self.check_end(one.body, ("anchors", name, "body"))
        leads = tuple(
            Lead(name, one.body, one.stiffness, one.damping, one.turn_stiffness, one.turn_damping,
                 self.document.where(("anchors", name)))
            for name, one in given.anchors.items()
        )  # fmt: skip
        return Scene(
            plain(given.name or self.file.stem),
            str(self.file),
            links,
            vector(given.gravity),
            planes,
            excluded=tuple((a, b) for a, b in given.exclude),
            closures=tuple(loops),
            strands=tuple(self.strand(name, one) for name, one in given.tendons.items()),
            commands=tuple(given.commands),
            leads=leads,
            contact=given.contact,
            step=given.step,
            about=given.about,
        )

    def check_name(self, name: str, group: str) -> None:
        if plain(name) != name or name == WORLD:
            what = f"{name!r} is no name for it; say {plain(name) if name != WORLD else 'ground'}"
            raise ScenarioError(self.document.place((group, name), what))

    def check_end(self, name: str, path: tuple[Any, ...]) -> None:
        if name not in self.given.bodies and not (name == WORLD and path[0] == "loops"):
            what = f"there is no body {name!r}; {nearest(name, self.given.bodies)}"
            raise ScenarioError(self.document.place(path, what))

    def link(self, name: str, body: BodySpec) -> Link:
        path = ("bodies", name)
        place = self.document.where(path)
        specs = [body.joint] if body.joint else body.joints or []
        joints = tuple(self.joint(f"{name}_joint" + str(i + 1) * (len(specs) > 1), spec, path, i)
                       for i, spec in enumerate(specs))  # fmt: skip
        if not specs and body.parent is None:
            joints = (Joint(f"{name}_free", "free", place=place),)
        if body.parent not in (None, WORLD):
            self.check_end(str(body.parent), (*path, "parent"))
        surfaces = tuple(self.surface(spec, body, (*path, "shapes", i)) for i, spec in enumerate(body.shapes))
        try:
            orientation = checked_quaternion(body.orientation, "the orientation")
        except PassivoError as error:
            raise ScenarioError(self.document.place((*path, "orientation"), str(error))) from None
        mass, centre, inertia = self.mass(body, [surface.shape for surface in surfaces], path)
        return Link(
            name,
            None if body.parent == WORLD else body.parent,
            vector(body.position),
            orientation,
            joints,
            mass,
            vector(centre),
            matrix(inertia),
            surfaces,
            vector(body.velocity),
            vector(body.angular_velocity),
            place,
        )

    def joint(self, name: str, spec: JointSpec, path: tuple[Any, ...], i: int) -> Joint:
        where = (*path, "joint") if "joint" in self.document.data["bodies"][path[1]] else (*path, "joints", i)
        return Joint(
            spec.name or name,
            spec.kind,
            vector(spec.axis),
            vector(spec.at),
            None if spec.range is None else (spec.range[0], spec.range[1]),
            spec.stiffness,
            spec.damping,
            spec.armature,
            spec.friction,
            spec.reference,
            self.document.where(where),
            spec.stop_stiffness,
            spec.stop_damping,
        )

    def strand(self, name: str, spec: TendonSpec) -> Strand:
        told = dict(spec)
        drive = None if spec.drive is None else (spec.drive.mass, spec.drive.stiffness, spec.drive.damping)
        if spec.command is not None and spec.command not in self.given.commands:
            what = f"there is no command {spec.command!r}; {nearest(spec.command, self.given.commands)}"
            raise ScenarioError(self.document.place(("tendons", name, "command"), what))
        return Strand(name, place=self.document.where(("tendons", name)), **{**told, "drive": drive})

    def mass(self, body: BodySpec, shapes: list[Shape], path: tuple[Any, ...]) -> tuple[float, Any, Any]:
        """Mass, centre of mass and inertia about it: as given, the rest from the shapes."""
        mass = body.mass or 0.0
        centre, inertia = np.zeros(3), np.zeros((3, 3))
        if shapes and mass > 0.0:
            centre, inertia = mass_of_shapes(shapes, mass)
        if body.inertia is not None:
            inertia = numbers_of(body.inertia)
            if inertia.shape not in ((3,), (3, 3)):
                what = "must be three moments, or three rows of three"
                raise ScenarioError(self.document.place((*path, "inertia"), what))
            inertia = np.diag(inertia) if inertia.shape == (3,) else inertia
            if not np.array_equal(inertia, inertia.T):
                raise ScenarioError(self.document.place((*path, "inertia"), "must be symmetric"))
        elif body.centre is not None and not np.allclose(body.centre, centre, rtol=0.0, atol=1e-12):
            what = "a centre of mass beside that of the shapes needs an inertia about it; give both or neither"
            raise ScenarioError(self.document.place((*path, "centre"), what))
        elif mass > 0.0 and not shapes:
            raise ScenarioError(self.document.place(path, "needs shapes or an inertia besides its mass"))
        return mass, centre if body.centre is None else np.array(body.centre), inertia

    def surface(self, spec: ShapeSpec, body: BodySpec, path: tuple[Any, ...]) -> Surface:
        try:
            shape = self.shape(spec)
        except PassivoError as error:
            raise ScenarioError(self.document.place(path, str(error))) from None
        friction = body.friction if spec.friction is None else spec.friction
        return Surface(shape, friction, body.restitution if spec.restitution is None else spec.restitution)

    def shape(self, spec: ShapeSpec) -> Shape:
        where: dict[str, Any] = {"position": vector(spec.position), "orientation": tuple(spec.orientation)}
        if spec.mesh is not None:
            return ConvexMesh.from_file(self.file.parent / spec.mesh, scale=spec.scale, hull=True, **where)
        if spec.points is not None:
            return ConvexMesh(spec.points, **where)
        if spec.sphere is not None:
            return Sphere(spec.sphere, **where)
        kinds: tuple[tuple[type[Shape], Any], ...] = (
            (Box, spec.box), (Capsule, spec.capsule), (Cylinder, spec.cylinder)
        )  # fmt: skip
        kind, sizes = next((kind, sizes) for kind, sizes in kinds if sizes is not None)
        return kind(*sizes, **where)


# -- the way back -----------------------------------------------------------------------------------------------------


def text_of(scene: Scene) -> str:
    """A scene as YAML, from which `read_plain` reads the same."""
    import yaml

    bodies = {link.name: _body(link) for link in scene.links}
    loops = {
        one.name: {"kind": one.kind, "between": [one.a or WORLD, one.b or WORLD], "at": list(one.at)}
        for one in scene.closures
    }
    planes = {
        p.name: {"normal": list(p.normal), "at": list(p.at), "friction": p.friction, "restitution": p.restitution}
        for p in scene.planes
    }
    data: dict[str, Any] = {
        "name": scene.name,
        "about": scene.about,
        "gravity": list(scene.gravity),
        "contact": scene.contact,
        "step": scene.step,
        "planes": planes,
        "bodies": bodies,
        "loops": loops,
        "commands": list(scene.commands),
        "tendons": {one.name: _strand(one) for one in scene.strands},
        "anchors": {
            one.name: {
                "body": one.link,
                "stiffness": one.stiffness,
                "damping": one.damping,
                "turn_stiffness": one.turn_stiffness,
                "turn_damping": one.turn_damping,
            }
            for one in scene.leads
        },
        "exclude": [list(pair) for pair in scene.excluded],
    }
    kept = {key: value for key, value in data.items() if value not in (None, "", {}, [])}
    return yaml.safe_dump(kept, sort_keys=False, width=120, default_flow_style=None)


def _body(link: Link) -> dict[str, Any]:
    joints = [
        {"name": j.name, "kind": j.kind, "axis": list(j.axis), "at": list(j.anchor), "stiffness": j.stiffness,
         "damping": j.damping, "armature": j.armature, "friction": j.friction, "reference": j.reference,
         **({} if j.range is None else {"range": list(j.range)}),
         **{key: getattr(j, key) for key in ("stop_stiffness", "stop_damping") if getattr(j, key) is not None}}
        for j in link.joints
    ]  # fmt: skip
    free = any(joint.kind == "free" for joint in link.joints)
    return {
        "parent": link.parent or WORLD,
        **({"joints": joints} if len(joints) > 1 else {"joint": joints[0]} if joints else {}),
        "position": list(link.position),
        "orientation": list(link.orientation),
        "mass": link.mass,
        "centre": list(link.centre),
        "inertia": [list(row) for row in link.inertia],
        "shapes": [_shape(surface) for surface in link.surfaces],
        **({"velocity": list(link.velocity), "angular_velocity": list(link.angular_velocity)} if free else {}),
    }


def _strand(one: Strand) -> dict[str, Any]:
    told = {field.name: getattr(one, field.name) for field in fields(one) if field.name not in ("name", "place")}
    told["arms"] = dict(one.arms)
    told["drive"] = one.drive and dict(zip(("mass", "stiffness", "damping"), one.drive))
    return {key: value for key, value in told.items() if value is not None}


def _shape(surface: Surface) -> dict[str, Any]:
    told = surface.shape.describe()
    kind = told.pop("shape")
    where = {key: told.pop(key) for key in ("position", "orientation")}
    key = "points" if kind == "ConvexMesh" else str(kind).lower()
    value = [list(p) for p in told["points"]] if key == "points" else list(told.values())
    value = value[0] if key == "sphere" else value
    return {key: value, **where, "friction": surface.friction, "restitution": surface.restitution}
