"""MJCF: MuJoCo reads the file and works out defaults, meshes and inertias; a scene is made of its compiled model."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from passivo.document.xml import Element, read_xml
from passivo.errors import ModelError, ScenarioError
from passivo.world.links import Closure, Joint, Link, Scene, Surface, Unsupported, matrix, vector
from passivo.world.parts import Plane
from passivo.world.rotation import matrix_of
from passivo.world.scene.dropped import dropped
from passivo.world.scene.names import Names, plain
from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, HeightField, Shape, Sphere

MOST_FILES = 100  # that include each other
JOINTS = ("free", "ball", "slide", "hinge")  # in the order of mjtJoint


def read_mjcf(file: Path, top: Element) -> Scene:
    """The scene of an MJCF file whose outermost element was read already."""
    mujoco: Any
    try:
        import mujoco
    except ImportError:
        raise ModelError("MJCF is read by the package mujoco: pip install 'passivo[world]'") from None
    lines = Lines(file, top)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            spec = mujoco.MjSpec.from_file(str(file))
            _check_meshes(spec, lines)
            model = spec.compile()
        except ScenarioError:
            raise
        except ValueError as error:
            raise ScenarioError(lines.told(str(error))) from None
    reader = _Reader(mujoco, model, lines, plain(top.attributes.get("model", "") or file.stem))
    told = (" ".join(str(one.message).split()).removesuffix(" Time = 0.0000.") for one in warned)
    reader.unsupported += [Unsupported("MuJoCo warns", (one,)) for one in told]
    return reader.scene(str(file))


class Lines:
    """Where elements of a file, and of those it includes, stand."""

    def __init__(self, file: Path, top: Element):
        self.source, self.top, self.places = str(file), top, {}
        self.listed: dict[str, list[str]] = {"body": [], "joint": []}
        self._take(top, file.parent, [file], False)

    def _take(self, element: Element, folder: Path, files: list[Path], inside: bool) -> None:
        """Elements in the order in which MuJoCo meets them; `inside` the world body."""
        tag = "joint" if element.tag == "freejoint" else element.tag
        self.places.setdefault((tag, element.attributes.get("name", "")), element.place)
        if inside and tag in self.listed:
            self.listed[tag].append(element.place)
        inner = folder / element.attributes.get("file", "")
        if tag == "include" and len(files) < MOST_FILES and inner.is_file() and inner not in files:
            files.append(inner)
            self._take(read_xml(inner), folder, files, inside)
        for child in element.children:
            self._take(child, folder, files, inside or tag == "worldbody")

    def of(self, tag: str, name: str, number: int = 0, count: int = -1) -> str:
        """File and line of the element of a name, or of one by its number where no element stands for several; of the
        file where neither is known."""
        if name and (tag, name) in self.places:
            return self.places[tag, name]
        listed = self.listed.get(tag, ())
        return listed[number] if len(listed) == count else self.source

    def told(self, message: str) -> str:
        """An error of MuJoCo with file and line first, and with the mend where it is known."""
        what = re.sub(r"^((XML )?(parse )?error:? )+", "", message.strip(), flags=re.IGNORECASE)
        line = re.search(r"[Ll]ine(?: number=| )(\d+)", what)
        name = re.search(r"Element name '([^']*)'", what)
        place = f"{self.source}:{line[1]}" if line else self.source
        about = f"{name[1]!r}: " if name and name[1] else ""
        sentence = re.sub(r"\s*Element (name )?'[^']*'(, id \d+)?(, line \d+)?\s*", "", what).strip()
        if "mass and inertia of moving bodies" in sentence:
            mend = "give it a <geom> or an <inertial> with a mass > 0, or take its joint out"
            return f"{place}: {about}a body that moves has no mass; {mend}"
        return f"{place}: {about}{' '.join(sentence.split())}"


def _check_meshes(spec: Any, lines: Lines) -> None:
    """Raise for the first mesh whose file is not there."""
    folder = Path(spec.modelfiledir or ".")
    for mesh in spec.meshes:
        if not mesh.file:
            continue
        name = Path(mesh.file).name if spec.strippath else mesh.file
        place = folder / spec.meshdir / name
        if not place.is_file():
            where = lines.of("mesh", mesh.name)
            found = (e for e in lines.top.walk() if e.tag == "mesh" and e.attributes.get("file") == mesh.file)
            where = where if where != lines.source else next((e.place for e in found), where)
            raise ScenarioError(f"{where}: there is no mesh {str(place)!r}; put it there, or mend file= or meshdir=")


class _Reader:
    """A scene from a compiled model in the pose it has at the start."""

    def __init__(self, mujoco: Any, model: Any, lines: Lines, name: str):
        self.mujoco, self.model, self.lines, self.title = mujoco, model, lines, name
        self.data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, self.data)
        self.kinds = mujoco.mjtGeom
        names = Names()
        self.names = [names.new(model.body(i).name, f"body{i}") for i in range(1, model.nbody)]
        self.joint_names = [names.new(model.joint(j).name, self._joint_name(j)) for j in range(model.njnt)]
        self.plane_names = names
        self.unsupported: list[Unsupported] = []

    def _joint_name(self, j: int) -> str:
        return f"{self.names[self.model.jnt_bodyid[j] - 1]}_{JOINTS[self.model.jnt_type[j]]}"

    def scene(self, source: str) -> Scene:
        model = self.model
        flags = self.mujoco.mjtDisableBit
        off = model.opt.disableflags
        gravity = (0.0, 0.0, 0.0) if off & flags.mjDSBL_GRAVITY else vector(model.opt.gravity)
        links = tuple(self.link(i) for i in range(1, model.nbody))
        fixed = tuple(s for g in self.geoms(0) if (s := self.surface(g, 0)) is not None)
        excluded = [
            (self.names[(pair >> 16) - 1], self.names[(pair & 0xFFFF) - 1])
            for pair in model.exclude_signature.tolist()
            if pair >> 16 and pair & 0xFFFF
        ]
        planes, closures = self.planes(), self.closures()
        return Scene(
            self.title,
            source,
            links,
            gravity,
            planes,
            fixed,
            tuple(dict.fromkeys([*excluded, *self.masked()])),
            closures,
            (*self.unsupported, *self.plane_names.changed, *dropped(self.mujoco, model)),
            contact=not off & (flags.mjDSBL_CONTACT | flags.mjDSBL_CONSTRAINT),
            step=float(model.opt.timestep),
        )

    def link(self, i: int) -> Link:
        model, name = self.model, self.names[i - 1]
        parent = model.body_parentid[i]
        frame = matrix_of(model.body_iquat[i])
        joints = range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])
        surfaces = (self.surface(g, i) for g in self.geoms(i))
        return Link(
            name,
            self.names[parent - 1] if parent else None,
            vector(model.body_pos[i]),
            tuple(model.body_quat[i].tolist()),
            tuple(self.joint(j) for j in joints),
            float(model.body_mass[i]),
            vector(model.body_ipos[i]),
            matrix(frame @ np.diag(model.body_inertia[i]) @ frame.T),
            tuple(s for s in surfaces if s is not None),
            place=self.lines.of("body", model.body(i).name, i - 1, model.nbody - 1),
        )

    def joint(self, j: int) -> Joint:
        model, kind, dof = self.model, JOINTS[self.model.jnt_type[j]], self.model.jnt_dofadr[j]
        at = model.jnt_qposadr[j]
        single = kind in ("slide", "hinge")
        zero = float(model.qpos0[at]) if single else 0.0
        low, high = (float(x) - zero for x in model.jnt_range[j])
        return Joint(
            self.joint_names[j],
            kind,
            vector(model.jnt_axis[j]),
            vector(model.jnt_pos[j]),
            (low, high) if model.jnt_limited[j] else None,
            float(model.jnt_stiffness[j]),
            float(model.dof_damping[dof]),
            float(model.dof_armature[dof]),
            float(model.dof_frictionloss[dof]),
            float(model.qpos_spring[at]) - zero if single else 0.0,
            self.lines.of("joint", model.joint(j).name, j, model.njnt),
        )

    # -- shapes -------------------------------------------------------------------------------------------------------

    def geoms(self, i: int) -> list[int]:
        """The geoms of a body that may touch something."""
        first, model = self.model.body_geomadr[i], self.model
        found = range(first, first + model.body_geomnum[i])
        return [g for g in found if model.geom_contype[g] or model.geom_conaffinity[g]]

    def surface(self, g: int, i: int) -> Surface | None:
        """What a geom is to touch, in the axes of its body; None for planes and what a world has not."""
        model = self.model
        static = model.body_weldid[i] == 0
        shape = self.field(g) if static and model.geom_type[g] == self.kinds.mjGEOM_HFIELD else self.shape(g)
        if shape is None:
            if model.geom_type[g] != self.kinds.mjGEOM_PLANE or not static:
                kind = self.kinds(model.geom_type[g]).name.removeprefix("mjGEOM_").lower()
                where = "that moves" if kind == "plane" else "for contacts"
                self.unsupported.append(Unsupported(f"{kind} {where}", (self.geom_name(g),), "left out"))
            return None
        return Surface(shape, self.friction(g))

    def shape(self, g: int) -> Shape | None:
        model, size = self.model, self.model.geom_size[g].tolist()
        where: dict[str, Any] = {
            "position": vector(model.geom_pos[g]), "orientation": tuple(model.geom_quat[g].tolist())
        }  # fmt: skip
        match self.kinds(model.geom_type[g]):
            case self.kinds.mjGEOM_SPHERE:
                return Sphere(size[0], **where)
            case self.kinds.mjGEOM_BOX:
                return Box(*(2.0 * x for x in size), **where)
            case self.kinds.mjGEOM_CAPSULE:
                return Capsule(size[0], 2.0 * size[1], **where)
            case self.kinds.mjGEOM_CYLINDER:
                return Cylinder(size[0], 2.0 * size[1], **where)
            case self.kinds.mjGEOM_MESH:
                mesh = model.geom_dataid[g]
                first = model.mesh_vertadr[mesh]
                points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)
                return ConvexMesh(points, hull=True, **where)
        return None

    def field(self, g: int) -> HeightField:
        """Ground that stands still; MuJoCo has its lowest height at 0."""
        model, number = self.model, self.model.geom_dataid[g]
        x, y, top, base = model.hfield_size[number].tolist()
        rows, columns, first = (int(a[number]) for a in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
        heights = top * model.hfield_data[first : first + rows * columns].astype(float).reshape(rows, columns)
        where: dict[str, Any] = {
            "position": vector(model.geom_pos[g]), "orientation": tuple(model.geom_quat[g].tolist())
        }  # fmt: skip
        return HeightField(heights, 2.0 * x, 2.0 * y, base, **where)

    def friction(self, g: int) -> float:
        return float(self.model.geom_friction[g, 0]) if self.model.geom_condim[g] > 1 else 0.0

    def geom_name(self, g: int) -> str:
        return self.model.geom(g).name or f"geom{g}"

    def planes(self) -> tuple[Plane, ...]:
        """Planes that stand still."""
        found, model = [], self.model
        for i in np.flatnonzero(model.body_weldid == 0).tolist():
            for g in self.geoms(i):
                if model.geom_type[g] == self.kinds.mjGEOM_PLANE:
                    normal, at = self.data.geom_xmat[g].reshape(3, 3)[:, 2], self.data.geom_xpos[g]
                    name = self.plane_names.new(model.geom(g).name, "plane")
                    found.append(Plane(name, vector(normal), vector(at), self.friction(g), 0.0))
        return tuple(found)

    # -- who touches, who holds ---------------------------------------------------------------------------------------

    def masked(self) -> list[tuple[str, str]]:
        """Pairs of bodies whose bits say that they never touch; lists those of which only some shapes do."""
        model, found = self.model, []
        bits = [(model.geom_contype[self.geoms(i)], model.geom_conaffinity[self.geoms(i)]) for i in range(model.nbody)]
        some = []
        for i in range(1, model.nbody):
            for j in range(i):
                (a, b), (c, d) = bits[i], bits[j]
                meets = (a[:, None] & d[None]) | (c[None] & b[:, None])
                if not meets.size or meets.all():
                    continue
                if meets.any() or j == 0:
                    some.append(f"{self.names[i - 1]} and {self.names[j - 1] if j else 'the world'}")
                else:
                    found.append((self.names[i - 1], self.names[j - 1]))
        if some:
            self.unsupported.append(Unsupported("contype and conaffinity", tuple(some), "all their shapes touch"))
        return found

    def closures(self) -> tuple[Closure, ...]:
        """Equality constraints that hold two bodies together where they are."""
        found, model, kinds = [], self.model, self.mujoco.mjtEq
        for e in range(model.neq):
            name = model.equality(e).name or f"equality{e}"
            kind = kinds(model.eq_type[e])
            if model.eq_objtype[e] != self.mujoco.mjtObj.mjOBJ_BODY or not model.eq_active0[e]:
                kind = None
            if kind not in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
                told = kinds(model.eq_type[e]).name.removeprefix("mjEQ_").lower()
                self.unsupported.append(Unsupported(f"equality {told}", (name,), "left out"))
                continue
            a, b = model.eq_obj1id[e], model.eq_obj2id[e]
            ball = kind == kinds.mjEQ_CONNECT
            at = self.place(a, model.eq_data[e, :3]) if ball else self.place(b, model.eq_data[e, :3])
            apart = float(np.linalg.norm(at - self.place(b, model.eq_data[e, 3:6]))) if ball else self.turned(e)
            if apart > 1e-6:
                self.unsupported.append(Unsupported("equality that does not hold at the start", (name,), "left out"))
                continue
            one, other = (self.names[i - 1] if i else None for i in (a, b))
            found.append(Closure(plain(name), "ball" if ball else "weld", one, other, vector(at)))
        return tuple(found)

    def place(self, i: int, at: Any) -> np.ndarray:
        """A point of a body in the world."""
        return self.data.xpos[i] + self.data.xmat[i].reshape(3, 3) @ np.array(at)

    def turned(self, e: int) -> float:
        """How far a weld is from what it wants at the start: metres and radians."""
        model, a, b = self.model, self.model.eq_obj1id[e], self.model.eq_obj2id[e]
        gap = self.place(b, model.eq_data[e, :3]) - self.place(a, model.eq_data[e, 3:6])
        wanted = self.data.xmat[a].reshape(3, 3) @ matrix_of(model.eq_data[e, 6:10])
        return float(np.linalg.norm(gap) + np.linalg.norm(wanted - self.data.xmat[b].reshape(3, 3)))
