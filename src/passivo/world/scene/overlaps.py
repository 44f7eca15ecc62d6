"""Shapes that overlap where a scene starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passivo.world.bridge import Bridge

if TYPE_CHECKING:
    from passivo.world.world import World

LEAST = 1e-6  # metres: what is less is the rounding of a mesh


class _Look(Bridge):
    """The shapes of a world as MuJoCo sees them, whatever overlaps."""

    def _check_start(self, world: World) -> None:
        self.mujoco.mj_kinematics(self.model, self.data)
        self.mujoco.mj_collision(self.model, self.data)


def overlapping(world: World) -> list[tuple[str, str]]:
    """Pairs of bodies, or of a body and something fixed, that overlap at the start and would touch."""
    if not world.touches:
        return []
    contacts, owners = _Look(world).data.contact, [geom.owner for geom in world.geoms]
    own = {*world.bodies, *world.fixed}
    deep = contacts.geom[contacts.dist < -LEAST].tolist()
    pairs = ((owners[first], owners[second]) for first, second in deep)
    return sorted({(min(pair), max(pair)) for pair in pairs if own.issuperset(pair)})
