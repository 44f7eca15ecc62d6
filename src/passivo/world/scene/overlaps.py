"""Shapes that overlap where a scene starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passivo.world.bridge import Bridge
from passivo.world.overlaps import near

if TYPE_CHECKING:
    from passivo.world.world import World

LEAST = 1e-6  # metres: what is less is the rounding of a mesh


def overlapping(world: World) -> list[tuple[str, str]]:
    """Pairs of bodies, or of a body and something fixed, that overlap at the start and would touch."""
    if not world.touches:
        return []
    owners, own = [geom.owner for geom in world.geoms], {*world.bodies, *world.fixed}
    pairs = ((owners[one.first], owners[one.second]) for one in near(Bridge(world), 0.0) if one.gap < -LEAST)
    return sorted({(min(pair), max(pair)) for pair in pairs if own.issuperset(pair)})
