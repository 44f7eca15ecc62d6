"""`World.from_file`: a world from an MJCF, URDF or YAML file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passivo.errors import ScenarioError
from passivo.world.bonds import SPAN, STIFF
from passivo.world.touching import checked_room

if TYPE_CHECKING:
    from passivo.world.links import Scene, Unsupported
    from passivo.world.world import World

SUFFIXES = (".xml", ".mjcf", ".urdf", ".yaml", ".yml")


class Read:
    """What a world knows of the file that it came from."""

    unsupported: tuple[Unsupported, ...] = ()

    @classmethod
    def from_file(
        cls,
        path: Any,
        coordinates: str | Mapping[str, str] = "generalised",
        *,
        contact: bool | None = None,
        most_contacts: int | None = None,
        stiffness: float = STIFF,
        span: float = SPAN,
    ) -> World:
        """A world from a scene file: MJCF (.xml), URDF (.urdf) or YAML (.yaml).

            world = pv.World.from_file("arm.xml")
            world.unsupported     # what is not simulated as the file says; also given as a warning

        coordinates  "generalised": mechanisms in the coordinates of their joints, which are exact and keep ranges;
                     "maximal": a body for each link, held by stiff joints that let a little energy in and out; or
                     {root link: one of these}, the others are generalised
        contact      whether shapes touch; by default as the file says
        most_contacts  at a time, as of `World`
        stiffness, span  of the joints between bodies, as in `add_hinge`
        """
        world = world_from(path, coordinates, contact, stiffness, span)
        world.room = checked_room(most_contacts)
        if world.unsupported:
            from passivo.world.links import SceneWarning

            warnings.warn(SceneWarning(str(path), world.unsupported), stacklevel=2)
        return world


def world_from(
    path: Any,
    coordinates: str | Mapping[str, str] = "generalised",
    contact: bool | None = None,
    stiffness: float = STIFF,
    span: float = SPAN,
) -> World:
    """As `World.from_file`, for those who show `unsupported` themselves."""
    from passivo.world.scene.build import world_of

    return world_of(scene_of(path), coordinates, contact, stiffness, span)


def scene_of(path: Any) -> Scene:
    """What a scene file describes, checked, before a world is made of it."""
    from passivo.document.xml import read_xml
    from passivo.world import links

    file = Path(path)
    if not file.is_file():
        raise ScenarioError(f"there is no file {str(file)!r}; a scene is read from {', '.join(SUFFIXES)}")
    match file.suffix.lower():
        case ".yaml" | ".yml":
            from passivo.world.scene.plain import read_plain

            return links.checked(read_plain(file))
        case suffix if suffix in SUFFIXES:
            top = read_xml(file)
            if top.tag == "mujoco":
                from passivo.world.scene.mjcf import read_mjcf

                return links.checked(read_mjcf(file, top))
            if top.tag == "robot":
                from passivo.world.scene.urdf import read_urdf

                return links.checked(read_urdf(file, top))
            raise ScenarioError(f"{top.place}: begins with <{top.tag}>; a scene is <mujoco ...> or <robot ...>")
    raise ScenarioError(f"{file} is no scene file; Passivo reads {', '.join(SUFFIXES)}")
