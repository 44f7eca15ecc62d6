"""The bridge to MuJoCo: the shapes of a world as a MuJoCo model, and where its C functions and contacts lie.

Addresses are taken from MuJoCo's own Python views; the two counts that have none from the layout of `mjData` that it
describes. A scene whose contacts are known proves them before the first use.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError
from passivo.world import table as T
from passivo.world.shapes import Box, Capsule, ConvexMesh, Cylinder, Shape, Sphere

if TYPE_CHECKING:
    from passivo.world.world import World

DEEP = 0.2  # of the reach of the smaller of two bodies: how far they may overlap at the start
CROWD_WARNING = 1  # of MuJoCo: no room for contacts
CONTACT_BYTES = 1024
ROOM = 1 << 25  # bytes for the work of collisions, and for each geom more


class Bridge:
    """MuJoCo's model and data of a world. `figures` hold addresses: the bridge must live as long as they are used."""

    def __init__(self, world: World):
        self.mujoco = _mujoco()
        geoms = world.geoms
        spec = self.mujoco.MjSpec()
        spec.memory = ROOM + (1 << 15) * len(geoms) + CONTACT_BYTES * world.most_contacts
        for plane in world.planes.values():
            spec.worldbody.add_geom(
                type=self.mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=plane.at, quat=upwards(plane.normal)
            )
        numbers = {name: i for i, name in enumerate(world.bodies)}
        for name, body in world.bodies.items():
            made = spec.worldbody.add_body(
                name=f"b{numbers[name]}", pos=body.position, quat=body.orientation, mass=1.0, inertia=[1, 1, 1]
            )
            made.explicitinertial = True
            made.add_freejoint()
            for shape in body.shapes:
                made.add_geom(pos=shape.position, quat=shape.orientation, mass=0.0, **self._geom(spec, shape))
        for a, b in world.joined:
            spec.add_exclude(bodyname1=f"b{numbers[a]}", bodyname2=f"b{numbers[b]}")
        try:
            self.model = spec.compile()
        except ValueError as error:
            raise ModelError(f"MuJoCo cannot find contacts of the shapes of {world.name!r}: {error}") from None
        self.data = self.mujoco.MjData(self.model)
        self._check_start(world)

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

    def _check_start(self, world: World) -> None:
        """Raise where bodies overlap so far at the start that no repair could part them gently."""
        self.mujoco.mj_kinematics(self.model, self.data)
        self.mujoco.mj_collision(self.model, self.data)
        names = [carrier or "the plane" for carrier, _, _ in world.geoms]
        reach = dict(zip(world.bodies, reaches(world)))
        for (first, second), gap in zip(self.data.contact.geom.tolist(), self.data.contact.dist.tolist()):
            sizes = [reach[name] for name in (names[first], names[second]) if name in reach]
            if -gap > DEEP * min(sizes):
                raise ModelError(
                    f"{names[first]!r} and {names[second]!r} overlap by {-gap:.3g} m at the start; move them apart"
                )

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
        result[T.B_BODY_MARGINS] = model.body_margin.ctypes.data
        result[T.B_COUNT] = data._address + layout["count"]
        result[T.B_DROPPED] = data._address + layout["dropped"]
        result[T.B_CONTACTS] = _pointer(data, layout)
        for name in ("STRIDE", "DIST", "POS", "FRAME", "PAIR", "SHARE"):
            result[getattr(T, f"B_{name}")] = layout[name]
        return [float(value) for value in result]


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
