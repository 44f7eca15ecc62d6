"""The bridge to MuJoCo: the shapes of a world as a MuJoCo model, and where its C functions and contacts lie.

Addresses are taken from MuJoCo's own Python views; the two counts that have none from the layout of `mjData` that it
describes. A scene whose contacts are known proves them before the first use.
"""

from __future__ import annotations

import copy
import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError
from passivo.world import table as T
from passivo.world.fields import THIN
from passivo.world.rotation import matrix_of
from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, HeightField, Shape, Sphere

if TYPE_CHECKING:
    from passivo.world.parts import Fixed
    from passivo.world.world import World

CROWD_WARNING = 1  # of MuJoCo: no room for contacts
CONTACT_BYTES = 1024
PRE_ROOM = 64  # contacts that a function of MuJoCo's finds between two geoms; its own limit is 50
ROOM = 1 << 25  # bytes for the work of collisions, and for each geom more


class Bridge:
    """MuJoCo's model and data of a world. `figures` hold addresses: the bridge must live as long as they are used."""

    def __init__(self, world: World):
        self.mujoco = _mujoco()
        geoms = world.geoms
        spec = self.mujoco.MjSpec()
        spec.memory = ROOM + (1 << 15) * len(geoms) + CONTACT_BYTES * world.most_contacts
        numbers = {name: i for i, name in enumerate([*world.planes, *world.fixed, *world.bodies])}
        self.still = len(world.planes) + len(world.fixed)
        for name, plane in world.planes.items():  # a body each, so that pairs can be kept apart by their bodies
            spec.worldbody.add_body(name=f"b{numbers[name]}").add_geom(
                type=self.mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=plane.at, quat=upwards(plane.normal)
            )
        for name, thing in world.fixed.items():
            made = spec.worldbody.add_body(name=f"b{numbers[name]}", pos=thing.position, quat=thing.orientation)
            for shape in thing.shapes:
                for geom in self._helpers() if isinstance(shape, HeightField) else [self._geom(spec, shape)]:
                    made.add_geom(pos=shape.position, quat=shape.orientation, mass=0.0, **geom)
        for name, body in world.bodies.items():
            made = spec.worldbody.add_body(
                name=f"b{numbers[name]}", pos=body.position, quat=body.orientation, mass=1.0, inertia=[1, 1, 1]
            )
            made.explicitinertial = True
            made.add_freejoint()
            for shape in body.shapes:
                made.add_geom(pos=shape.position, quat=shape.orientation, mass=0.0, **self._geom(spec, shape))
        for a, b in world.apart:
            spec.add_exclude(bodyname1=f"b{numbers[a]}", bodyname2=f"b{numbers[b]}")
        try:
            self.model = spec.compile()
        except ValueError as error:
            raise ModelError(f"MuJoCo cannot find contacts of the shapes of {world.name!r}: {error}") from None
        self.data = self.mujoco.MjData(self.model)
        self.buffer = np.zeros(PRE_ROOM * int(pre_layout()[0]))

    def copy(self) -> Bridge:
        """The same shapes in a model and data of their own: steps write margins into the one, poses into the other."""
        twin = copy.copy(self)
        twin.model = copy.copy(self.model)
        twin.data, twin.buffer = self.mujoco.MjData(twin.model), np.zeros_like(self.buffer)
        return twin

    def _helpers(self) -> list[dict[str, Any]]:
        """The plane and the capsule that go around a height field; by themselves they touch nothing."""
        kinds, alone = self.mujoco.mjtGeom, {"contype": 0, "conaffinity": 0}
        return [
            {"type": kinds.mjGEOM_PLANE, "size": [0, 0, 1], **alone},
            {"type": kinds.mjGEOM_CAPSULE, "size": [THIN, 1.0, 0], **alone},
        ]

    def field_figures(self, world: World) -> list[float]:
        """How contacts of fields and geoms are found, then place, axes, grid and heights of each field; `fields.py`."""
        kinds, geoms, result = self.mujoco.mjtGeom, world.geoms, []
        plane, capsule = int(kinds.mjGEOM_PLANE), int(kinds.mjGEOM_CAPSULE)
        for thing, _ in world.fields:
            for geom, kind in zip(geoms, self.model.geom_type.tolist()):
                if not geom.body or key_of(thing.name, geom.body) in world.apart:
                    result += [0.0] * T.C_CALLS
                    continue
                low, high = sorted((capsule, kind))
                general = function_of(capsule, int(kinds.mjGEOM_MESH)) if kind == kinds.mjGEOM_BOX else 0
                calls = function_of(plane, kind), function_of(low, high), general, 1 if low == capsule else -1
                result += [float(number) for number in calls]
        for thing, field in world.fields:
            turn = matrix_of(thing.orientation)
            grid, axes = field.grid, turn @ matrix_of(field.orientation)
            figures = [0.0] * T.H_HEIGHTS
            figures[0:3] = (np.array(thing.position) + turn @ np.array(field.position)).tolist()
            figures[T.H_TURN : T.H_TURN + 9] = axes.ravel().tolist()
            figures[T.H_ROWS], figures[T.H_COLUMNS] = map(float, grid.shape)
            figures[T.H_DX], figures[T.H_DY] = field.cell
            figures[T.H_FLOOR], figures[T.H_GEOM] = field.floor, float(geom_of(world, thing, field))
            result += [*figures, *grid.ravel().tolist()]
        return result

    def _geom(self, spec: Any, shape: Shape) -> dict[str, Any]:
        """What MuJoCo is told of a shape."""
        kinds = self.mujoco.mjtGeom
        match shape:
            case Sphere():
                return {"type": kinds.mjGEOM_SPHERE, "size": [shape.radius, 0, 0]}
            case Box():
                return {"type": kinds.mjGEOM_BOX, "size": [shape.x / 2, shape.y / 2, shape.z / 2]}
            case Capsule():
                return {"type": kinds.mjGEOM_CAPSULE, "size": [shape.radius, shape.length / 2, 0]}
            case Cylinder():
                return {"type": kinds.mjGEOM_CYLINDER, "size": [shape.radius, shape.length / 2, 0]}
            case ConvexMesh():
                mesh = spec.add_mesh(name=f"m{len(spec.meshes)}")
                mesh.uservert = shape.polyhedron.corners.ravel()
                mesh.userface = shape.polyhedron.faces.ravel()
                mesh.inertia = self.mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # not used, and never refused
                return {"type": kinds.mjGEOM_MESH, "meshname": mesh.name}
        raise ModelError(f"there are no contacts of a {type(shape).__name__}")

    @property
    def figures(self) -> list[float]:
        """As `table.py` lists them under B_."""
        library, layout, data, model = _library(), _layout(), self.data, self.model
        result = [0.0] * T.B_SIZE
        result[T.B_KINEMATICS] = _address(library.mj_kinematics)
        result[T.B_COLLISION] = _address(library.mj_collision)
        result[T.B_MODEL], result[T.B_DATA] = model._address, data._address
        result[T.B_QPOS] = data.qpos.ctypes.data
        result[T.B_MARGINS] = model.geom_margin.ctypes.data
        result[T.B_BODY_MARGINS] = model.body_margin.ctypes.data + 8 * self.still
        result[T.B_GEOM_PLACES], result[T.B_GEOM_TURNS] = data.geom_xpos.ctypes.data, data.geom_xmat.ctypes.data
        result[T.B_BOUNDS], result[T.B_SIZES] = model.geom_rbound.ctypes.data, model.geom_size.ctypes.data
        result[T.B_BUFFER] = self.buffer.ctypes.data
        result[T.B_PRE_STRIDE], result[T.B_PRE_POS], result[T.B_PRE_NORMAL] = pre_layout()
        result[T.B_COUNT] = data._address + layout["count"]
        result[T.B_DROPPED] = data._address + layout["dropped"]
        result[T.B_CONTACTS] = _pointer(data, layout)
        for name in ("STRIDE", "DIST", "POS", "FRAME", "PAIR", "SHARE"):
            result[getattr(T, f"B_{name}")] = layout[name]
        return [float(value) for value in result]


def key_of(a: str, b: str) -> tuple[str, str]:
    return min(a, b), max(a, b)


def upwards(normal: Any) -> Any:
    """A quaternion that turns z into the normal."""
    x, y, z = np.array(normal) / np.linalg.norm(normal)
    turn = np.array([1.0 + z, -y, x, 0.0]) if z > -0.999999 else np.array([0.0, 1.0, 0.0, 0.0])
    return turn / np.linalg.norm(turn)


def reaches(world: World) -> list[float]:
    """How far each body reaches from its centre of mass."""
    return [
        max((float(np.linalg.norm(s.position)) + s.reach for s in body.shapes), default=0.0)
        for body in world.bodies.values()
    ]


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise ModelError("contacts need the package mujoco: pip install 'passivo[world]'") from None
    return mujoco


@lru_cache(maxsize=1)
def _library() -> Any:
    """MuJoCo's shared library, which its Python package has loaded."""
    from pathlib import Path

    folder = Path(_mujoco().__file__).parent
    names = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")
    return ctypes.CDLL(str(next(path for name in names for path in sorted(folder.glob(name)))))


def function_of(first: int, second: int) -> int:
    """The address of MuJoCo's function for a pair of kinds of geoms, the smaller kind first."""
    kinds = int(_mujoco().mjtGeom.mjGEOM_SDF) + 1
    table = (ctypes.c_void_p * kinds**2).in_dll(_library(), "mjCOLLISIONFUNC")
    return table[first * kinds + second] or 0


def geom_of(world: World, thing: Fixed, field: HeightField) -> int:
    """The number of the first geom of a height field."""
    at = len(world.planes)
    for other in world.fixed.values():
        for shape in other.shapes:
            if other is thing and shape is field:
                return at
            at += 2 if isinstance(shape, HeightField) else 1
    raise KeyError(thing.name)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@lru_cache(maxsize=1)
def _layout() -> dict[str, Any]:
    """Where counts and fields of contacts lie, proved with two balls on a plane."""
    mujoco = _mujoco()
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], margin=0.01)
    for i in range(2):
        body = spec.worldbody.add_body(pos=[i, 0, 1.0])
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.25, 0, 0], margin=0.01)
    model = spec.compile()
    data = mujoco.MjData(model)
    places = {
        "count": _offset("ncon"),
        "dropped": _offset("warning") + 8 * CROWD_WARNING + 4,
        "arena": _offset("arena"),  # contacts are the first thing there
    }
    seen = []
    for heights in ((1.0, 1.0), (0.2, 1.0), (0.2, 0.24)):
        data.qpos[2], data.qpos[9] = heights
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        seen.append((data.ncon, ctypes.c_int32.from_address(data._address + places["count"]).value))
        dropped = ctypes.c_int32.from_address(data._address + places["dropped"]).value
    contact = data.contact
    base = contact.dist.ctypes.data
    stride = contact.dist.strides[0]
    fields = {"DIST": contact.dist, "POS": contact.pos, "FRAME": contact.frame, "PAIR": contact.geom}
    start = min(field.ctypes.data for field in fields.values())
    sizes = {name: (field.ctypes.data - start) // (4 if name == "PAIR" else 8) for name, field in fields.items()}
    right = seen == [(0, 0), (1, 1), (2, 2)] and dropped == 0 and stride % 8 == 0
    right &= base == start == _pointer(data, places)
    right &= contact.geom.dtype == np.int32 and contact.geom.tolist() == [[0, 1], [0, 2]]
    right &= data.warning[CROWD_WARNING].number == 0 and bool(np.allclose(contact.dist, [-0.05, -0.01]))
    if not right:
        raise ModelError(
            f"contacts of mujoco {mujoco.__version__} do not lie where it says; install mujoco 4.0: "
            "pip install 'mujoco==4.0.0'"
        )
    share = 0.01 / (float(contact.includemargin[0]) / 2)
    return {**places, **sizes, "STRIDE": stride // 8, "SHARE": share}


@lru_cache(maxsize=1)
def pre_layout() -> tuple[float, float, float]:
    """Of what functions of pairs find, in doubles: how long it is, where its place and its normal stand."""
    from mujoco.introspect import structs

    struct = structs.STRUCTS["mjPreContact"]
    sizes = [_place(struct, name)[0] // 8 for name in ("", "pos", "normal")]
    return float(sizes[0]), float(sizes[1]), float(sizes[2])


def _pointer(data: Any, places: dict[str, Any]) -> int:
    """Where the contacts of `mjData` begin."""
    return ctypes.c_size_t.from_address(data._address + places["arena"]).value


def _offset(field: str) -> int:
    """Offset of a field within `mjData`, from what MuJoCo says of its structs."""
    from mujoco.introspect import structs

    return _place(structs.STRUCTS["mjData"], field)[0]


PLAIN = {
    "mjtSize": (8, 8), "size_t": (8, 8), "uintptr_t": (8, 8), "int": (4, 4), "mjtNum": (8, 8), "mjtBool": (1, 1),
    "mjtByte": (1, 1), "float": (4, 4), "uint64_t": (8, 8), "int64_t": (8, 8),
}  # fmt: skip


def _place(struct: Any, field: str) -> tuple[int, int]:
    """Offset of a field in a C struct (of "" its size), and the alignment of the struct."""
    at, widest = 0, 1
    for each in struct.fields:
        size, alignment = _size(str(each.type))
        at = -(-at // alignment) * alignment
        widest = max(widest, alignment)
        if each.name == field:
            return at, widest
        at += size
    return -(-at // widest) * widest, widest


def _size(kind: str) -> tuple[int, int]:
    from mujoco.introspect import structs

    name, _, count = kind.partition("[")
    name = name.strip()
    times = int(np.prod([int(part.strip(" ]")) for part in count.split("[")])) if count else 1
    if name.endswith("*"):
        return 8 * times, 8
    size, alignment = PLAIN[name] if name in PLAIN else _place(structs.STRUCTS[name.rstrip("_")], "")
    return size * times, alignment
