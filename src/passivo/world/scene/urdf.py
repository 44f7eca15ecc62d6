"""URDF: links and joints as elements, without what MuJoCo would make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from passivo.document.xml import Element
from passivo.errors import ModelError, ScenarioError, nearest, quoted
from passivo.world.links import UPRIGHT, Joint, Link, Matrix, Scene, Surface, Unsupported, matrix, vector, within
from passivo.world.mesh_file import read_mesh
from passivo.world.parts import ORIGIN
from passivo.world.rotation import matrix_of, product, quaternion_of
from passivo.world.scene.names import Names, plain
from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, Quaternion, Shape, Sphere, Vector

FRICTION = 1.0  # of surfaces: a URDF says nothing of it
KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "floating": "free", "fixed": "",
         "planar": "planar"}  # fmt: skip
KNOWN = ("link", "joint", "material")
SIDES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_urdf(file: Path, top: Element) -> Scene:
    """The scene of a URDF file whose outermost element was read already; its root link stands still."""
    return _Reader(file, top).scene()


class _Reader:
    def __init__(self, file: Path, top: Element):
        self.file, self.top = file, top
        self.unsupported: list[Unsupported] = []
        names = Names()
        self.links: dict[str, Element] = {}
        self.names: dict[str, str] = {}
        for element in top.all("link"):
            name = self.name(element)
            if name in self.links:
                first = self.links[name].place
                raise ScenarioError(f"{element.place}: there is another link {name!r} at {first}; rename one of them")
            self.links[name], self.names[name] = element, names.new(name, "link")
        self.joints: dict[str, Element] = {}  # by the name of the link that it moves
        known: dict[str, Element] = {}
        for element in top.all("joint"):
            first = known.setdefault(self.name(element), element)
            if first is not element:
                raise ScenarioError(
                    f"{element.place}: there is another joint {self.name(element)!r} at {first.place}; rename one of "
                    "them"
                )
            self.take_joint(element)
        self.joint_names = {child: names.new(self.name(e), "joint") for child, e in self.joints.items()}
        self.unsupported += names.changed

    def scene(self) -> Scene:
        if not self.links:
            raise ScenarioError(f"{self.top.place}: there is no <link> in it")
        roots = [name for name in self.links if name not in self.joints]
        if len(roots) > 1:
            places = ", ".join(f"{name!r} ({self.links[name].place})" for name in roots)
            raise ScenarioError(f"{self.top.place}: the links {places} have no parent; join all but one by a <joint>")
        links = tuple(self.link(name) for name in self.links)
        for element in self.top.children:
            if element.tag.startswith("xacro:"):
                raise ScenarioError(f"{element.place}: this is xacro; make a URDF of it first: xacro FILE > arm.urdf")
            if element.tag not in KNOWN:
                name = element.attributes.get("name") or element.attributes.get("reference") or element.tag
                self.drop(f"<{element.tag}>", name)
        title = plain(self.top.attributes.get("name", "") or self.file.stem)
        return Scene(title, str(self.file), links, unsupported=tuple(self.unsupported), contact=True, apart=True)

    def drop(self, kind: str, name: str, instead: str = "left out") -> None:
        self.unsupported.append(Unsupported(kind, (name,), instead))

    # -- joints -------------------------------------------------------------------------------------------------------

    def take_joint(self, element: Element) -> None:
        """Check what a joint joins, and keep it under the link that it moves."""
        name = self.name(element)
        ends = []
        for tag in ("parent", "child"):
            inner = element.get(tag)
            link = inner.attributes.get("link", "") if inner else ""
            if link not in self.links:
                place = inner.place if inner else element.place
                raise ScenarioError(
                    f"{place}: joint {name!r}: its <{tag} link=...> is {link!r}, which is not there; "
                    f"{nearest(link, self.links)}"
                )
            ends.append(link)
        parent, child = ends
        if parent == child:
            raise ScenarioError(f"{element.place}: joint {name!r} joins {child!r} with itself; name two links")
        if child in self.joints:
            first = self.joints[child]
            raise ScenarioError(
                f"{element.place}: link {child!r} is already moved by joint {self.name(first)!r} ({first.place}): a "
                "closed loop. Take one of the two joints out, and hold the loop together with a ball in the world: "
                "world.add_ball(...)"
            )
        self.joints[child] = element

    def joint(self, child: str, element: Element) -> tuple[Joint, ...]:
        name, kind = self.name(element), element.attributes.get("type", "")
        where = f"{element.place}: joint {name!r}"
        if kind not in KINDS:
            raise ScenarioError(f"{where} is of type {kind!r}; {nearest(kind, KINDS)}")
        if not KINDS[kind]:
            return ()
        axis = self.numbers(element.get("axis"), "xyz", (1.0, 0.0, 0.0))
        size = float(np.linalg.norm(axis))
        if size == 0.0:
            raise ScenarioError(f'{where}: its <axis> must have a length; say xyz="0 0 1"')
        axis = vector(np.array(axis) / size)
        dynamics, limit = element.get("dynamics"), element.get("limit")
        damping, friction = (self.number(dynamics, key, 0.0) for key in ("damping", "friction"))
        reach = self.range(where, kind, limit)
        for tag in ("mimic", "safety_controller", "calibration"):
            if element.get(tag):
                self.drop(f"<{tag}>", name)
        for key in ("effort", "velocity"):
            if limit and self.number(limit, key, 0.0) > 0.0:
                self.drop(f"{key} limit", name, "of a motor, and there is none")
        own: dict[str, Any] = {"damping": damping, "friction": friction, "place": element.place}
        if kind == "planar":
            return self.plane(self.joint_names[child], axis, own)
        return (Joint(self.joint_names[child], KINDS[kind], axis, ORIGIN, reach, **own),)

    def plane(self, name: str, normal: Vector, own: dict[str, Any]) -> tuple[Joint, ...]:
        """Ways along two axes of a plane, and a turn about its normal: three joints of one link."""
        side = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
        side /= np.linalg.norm(side)
        ways = {"x": side, "y": np.cross(normal, side)}
        slides = (Joint(f"{name}_{end}", "slide", vector(axis), **own) for end, axis in ways.items())
        return (*slides, Joint(name, "hinge", normal, **own))

    def range(self, where: str, kind: str, limit: Element | None) -> tuple[float, float] | None:
        if kind not in ("revolute", "prismatic"):
            return None
        if limit is None:
            free = ', or type="continuous"' if kind == "revolute" else ""
            raise ScenarioError(f"{where} is {kind} and has no <limit>; give it lower= and upper={free}")
        return self.number(limit, "lower", 0.0), self.number(limit, "upper", 0.0)

    # -- links --------------------------------------------------------------------------------------------------------

    def link(self, name: str) -> Link:
        element, moved_by = self.links[name], self.joints.get(name)
        parent, position, orientation, joints = None, ORIGIN, UPRIGHT, ()
        if moved_by is not None:
            inner = moved_by.get("parent")
            assert inner is not None
            parent = self.names[inner.attributes["link"]]
            position, orientation = self.pose(moved_by)
            joints = self.joint(name, moved_by)
        mass, centre, inertia = self.inertial(element)
        if element.get("visual"):
            self.drop("<visual>", name, "pictures show what touches")
        surfaces = tuple(Surface(self.shape(each, name), FRICTION) for each in element.all("collision"))
        return Link(self.names[name], parent, position, orientation, joints, mass, centre, inertia, surfaces,
                    place=element.place)  # fmt: skip

    def inertial(self, link: Element) -> tuple[float, Vector, Matrix]:
        """Mass, centre of mass, and inertia about it in the axes of the link."""
        element = link.get("inertial")
        if element is None:
            return 0.0, ORIGIN, matrix(np.zeros((3, 3)))
        mass = self.number(element.get("mass"), "value", 0.0)
        if mass < 0.0:
            raise ScenarioError(f"{element.place}: the mass of link {self.name(link)!r} must be >= 0 kg, not {mass:g}")
        position, orientation = self.pose(element)
        xx, xy, xz, yy, yz, zz = (self.number(element.get("inertia"), side, 0.0) for side in SIDES)
        turn = matrix_of(orientation)
        inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
        return mass, position, matrix(inertia)

    def shape(self, collision: Element, link: str) -> Shape:
        geometry = collision.get("geometry")
        element = geometry.children[0] if geometry and geometry.children else None
        if element is None:
            raise ScenarioError(
                f"{collision.place}: a <collision> of link {link!r} has no <geometry> with a shape in it"
            )
        position, orientation = self.pose(collision)
        where: dict[str, Any] = {"position": position, "orientation": orientation}
        try:
            match element.tag:
                case "box":
                    return Box(*self.numbers(element, "size"), **where)
                case "sphere":
                    return Sphere(self.number(element, "radius"), **where)
                case "cylinder" | "capsule":
                    kind = Cylinder if element.tag == "cylinder" else Capsule
                    return kind(self.number(element, "radius"), self.number(element, "length"), **where)
                case "mesh":
                    points = read_mesh(self.mesh(element, link))[0] * self.numbers(element, "scale", (1.0, 1.0, 1.0))
                    return ConvexMesh(points, hull=True, **where)
        except ModelError as error:
            raise ScenarioError(f"{element.place}: {error}") from None
        shapes = ("box", "sphere", "cylinder", "capsule", "mesh")
        raise ScenarioError(f"{element.place}: there is no shape <{element.tag}>; {nearest(element.tag, shapes)}")

    def mesh(self, element: Element, link: str) -> Path:
        """The file of a mesh; of package://NAME/... in a folder NAME around the URDF."""
        given = element.attributes.get("filename", "")
        tail = given.removeprefix("file://")
        folder = self.file.resolve().parent
        tried = [folder / tail]
        if given.startswith("package://"):
            tail = given.removeprefix("package://")
            package, _, rest = tail.partition("/")
            above = [folder, *folder.parents]
            tried = [place / tail for place in above] + [place / rest for place in above if place.name == package]
        found = next((path for path in tried if path.is_file()), None)
        if found is None:
            raise ScenarioError(
                f"{element.place}: link {link!r}: there is no mesh {str(tried[0])!r}; put the file there, or mend "
                f"filename={quoted(given)}"
            )
        return found

    # -- what stands in attributes ------------------------------------------------------------------------------------

    def name(self, element: Element) -> str:
        name = element.attributes.get("name", "")
        if not name:
            raise ScenarioError(f'{element.place}: this <{element.tag}> has no name; give it name="..."')
        return name

    def pose(self, element: Element) -> tuple[Vector, Quaternion]:
        """What <origin> says: a place, and turns about x, y and z of the outer axes in this order."""
        origin = element.get("origin")
        still = (0.0, 0.0, 0.0)
        roll, pitch, yaw = self.numbers(origin, "rpy", still)
        x, y, z = (quaternion_of(axis, turn) for axis, turn in zip(np.eye(3), (roll, pitch, yaw)))
        place = within((np.zeros(3), UPRIGHT), self.numbers(origin, "xyz", still), UPRIGHT)[0]
        return vector(place), product(z, product(y, x))

    def number(self, element: Element | None, key: str, otherwise: float | None = None) -> float:
        return self.read(element, key, 1, None if otherwise is None else (otherwise,))[0]

    def numbers(self, element: Element | None, key: str, otherwise: Vector | None = None) -> Vector:
        return vector(self.read(element, key, 3, otherwise))

    def read(self, element: Element | None, key: str, count: int, otherwise: Any) -> tuple[float, ...]:
        text = None if element is None else element.attributes.get(key)
        if text is None and otherwise is not None:
            return otherwise
        assert element is not None
        try:
            values = tuple(float(word) for word in (text or "").split())
        except ValueError:
            values = ()
        if len(values) != count or not np.isfinite(values).all():
            many = "a number" if count == 1 else f"{count} numbers"
            raise ScenarioError(f"{element.place}: <{element.tag} {key}=...> must be {many}, not {quoted(text or '')}")
        return values
