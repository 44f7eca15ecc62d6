"""What overlaps where the bodies of a world are put: refused where it is deep. Less is parted by the repair of
contacts, and what that costs is put into the tank with the state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from passivo.errors import InputError
from passivo.kernel.foreign_plain import call_pair
from passivo.world import table as T
from passivo.world.bridge import Bridge, function_of, geom_of, key_of, pre_layout
from passivo.world.names import GRAVITY
from passivo.world.parts import Link
from passivo.world.rotation import matrix_of
from passivo.world.shapes import HeightField

if TYPE_CHECKING:
    from passivo.world.parts import Fixed
    from passivo.world.world import World

DEEP = 0.2  # of half the thickness of the thinner of two shapes: how far they may overlap
FLUSH = 1e-7  # metres that are no overlap
LEVEL = 0.2  # along the vertical: normals that rise less carry nothing


class Overlap(NamedTuple):
    """Two geoms, how far they are apart (below 0 how deep), and the way from the first to the second."""

    first: int
    second: int
    gap: float
    normal: np.ndarray


def find_overlaps(world: World, bridge: Bridge, state: np.ndarray, where: str) -> list[Overlap]:
    """All that overlaps in a state; raises where bodies overlap too far to be parted gently."""
    for c in range(len(world.bodies)):
        at = T.BODIES_FROM + T.BODY_STATES * c
        bridge.data.qpos[7 * c : 7 * c + 7] = state[at : at + 7]
    found, geoms = near(bridge, 0.0), world.geoms
    for thing, field in world.fields:
        for k, geom in enumerate(geoms):
            if geom.body and key_of(thing.name, geom.body) not in world.apart:
                depth = _depth(bridge, world, thing, field, k)
                up = matrix_of(thing.orientation) @ matrix_of(field.orientation)[:, 2]
                found += [Overlap(geom_of(world, thing, field), k, -depth, up)] if depth > 0.0 else []
    found = [one for one in found if one.gap < -FLUSH]
    thin = _half_thicknesses(world) if found else []
    for one in found:
        most = DEEP * min(thin[one.first], thin[one.second])
        if -one.gap > most:
            first, second = geoms[one.first].owner, geoms[one.second].owner
            raise InputError(
                f"{first!r} and {second!r} overlap by {-one.gap:.3g} m {where}, more than the {most:.3g} m that would "
                "be mended (a tenth of the thinner one where it is thinnest); move them apart"
            )
    return found


def cost_of_parting(world: World, bridge: Bridge, found: list[Overlap], params: Mapping[str, float]) -> float:
    """Joules that lift everything as far as the repair of these overlaps will: each body as far as what carries it, and
    by how deep it lies in that. What springs and joints take in is not known, and not counted."""
    gravity = np.array([params[name] for name in GRAVITY])
    weight = float(np.linalg.norm(gravity))
    if not found or weight == 0.0:
        return 0.0
    geoms, lifts = world.geoms, dict.fromkeys(world.bodies, 0.0)
    deepest = max(-one.gap for one in found)
    carried = []
    for one in [*near(bridge, deepest), *(one for one in found if one.first in _field_geoms(world))]:
        rise = -float(one.normal @ gravity) / weight
        lower, upper = (one.first, one.second) if rise > 0.0 else (one.second, one.first)
        if abs(rise) > LEVEL and geoms[upper].body:
            carried.append((geoms[lower].body, geoms[upper].body, -one.gap / abs(rise)))
    joined = _joined(world)
    for _ in lifts:
        before = dict(lifts)
        for lower, upper, way in carried:
            lifts[upper] = max(lifts[upper], lifts.get(lower, 0.0) + way)
        for a, b in joined:
            lifts[a] = lifts[b] = max(lifts[a], lifts[b])
        if lifts == before:
            break
    joules = sum(params[f"{name}.mass"] * lifts[name] for name, body in world.bodies.items() if body.massive)
    for name, beam in world.beams.items():
        lift = max((lifts[point.name] for point in beam.points(world)), default=0.0)
        joules += params[f"{name}.mass"] * lift
    return weight * joules


def near(bridge: Bridge, margin: float) -> list[Overlap]:
    """What MuJoCo finds up to a distance; steps set margins anew."""
    bridge.model.geom_margin[:] = margin
    bridge.model.body_margin[:] = margin
    bridge.mujoco.mj_kinematics(bridge.model, bridge.data)
    bridge.mujoco.mj_collision(bridge.model, bridge.data)
    contact = bridge.data.contact
    return [
        Overlap(first, second, gap, normal)
        for (first, second), gap, normal in zip(
            contact.geom.tolist(), contact.dist.tolist(), contact.frame[:, :3].copy()
        )
    ]


def _half_thicknesses(world: World) -> list[float]:
    """Of all geoms; nothing is thin about planes and fields."""
    result = [inf] * len(world.planes)
    for thing in world.fixed.values():
        for shape in thing.shapes:
            result += [inf, inf] if isinstance(shape, HeightField) else [shape.half_thickness]
    return [*result, *(shape.half_thickness for body in world.bodies.values() for shape in body.shapes)]


def _field_geoms(world: World) -> list[int]:
    return [geom_of(world, thing, field) for thing, field in world.fields]


def _joined(world: World) -> list[tuple[str, str]]:
    """Bodies that joints or a beam hold together."""
    ties = [tie for bond in world.bonds.values() if bond.row == "joints" for tie in bond.ties]
    pairs = [(tie.a, tie.b) for tie in ties if tie.a in world.bodies and tie.b in world.bodies]
    links = [body for body in world.bodies.values() if isinstance(body, Link)]
    pairs += [(link.name, link.parent) for link in links if link.parent is not None]
    for beam in world.beams.values():
        pairs += pairwise(point.name for point in beam.points(world))
    return [(str(a), str(b)) for a, b in pairs]


def _depth(bridge: Bridge, world: World, thing: Fixed, field: HeightField, k: int) -> float:
    """How deep a geom lies in the triangle of a height field above or below its middle."""
    turn = matrix_of(thing.orientation)
    axes, place = turn @ matrix_of(field.orientation), np.array(thing.position) + turn @ np.array(field.position)
    x, y, z = ((bridge.data.geom_xpos[k] - place) @ axes).tolist()
    height = float(field.height(x, y))
    if not z > field.floor or np.isnan(height):
        return 0.0
    helper, normal = geom_of(world, thing, field), axes @ field.normal(x, y)
    side = np.cross(normal, axes[:, 0])
    side /= np.linalg.norm(side)
    bridge.data.geom_xpos[helper] = place + axes @ (x, y, height)
    bridge.data.geom_xmat[helper] = np.column_stack([np.cross(side, normal), side, normal]).ravel()
    call = function_of(int(bridge.model.geom_type[helper]), int(bridge.model.geom_type[k]))
    count = call_pair(call, bridge.model._address, bridge.data._address, bridge.buffer.ctypes.data, helper, k, 0.0)
    stride, pos, way = (int(number) for number in pre_layout())
    depth = 0.0
    for found in bridge.buffer.reshape(-1, stride)[:count]:
        point = (found[pos : pos + 3] + 0.5 * found[0] * found[way : way + 3] - place) @ axes
        below = float(field.height(point[0], point[1]) - point[2])  # NaN beyond its edge
        depth = max(depth, min(-float(found[0]), below)) if below > 0.0 else depth
    return depth
