"""What a MuJoCo model asks for and a world does not do, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from passivo.world.links import Unsupported

LEFT_OUT = "left out"
GROUPS = {  # of MuJoCo: how many, how each is found by number
    "tendon": ("ntendon", "tendon"),
    "actuator": ("nu", "actuator"),
    "sensor": ("nsensor", "sensor"),
    "flex": ("nflex", "flex"),
    "contact pair": ("npair", "pair"),
    "plugin": ("nplugin", "plugin"),
    "skin": ("nskin", "skin"),
    "keyframe": ("nkey", "key"),
    "camera": ("ncam", "cam"),
    "light": ("nlight", "light"),
    "material": ("nmat", "mat"),
    "texture": ("ntex", "tex"),
}
PICTURES = ("skin", "camera", "light", "material", "texture")
OPTIONS = ("density", "viscosity", "wind", "impratio", "cone")  # of <option>, where not as usual
GEOMS = ("solref", "solimp", "solmix", "margin", "gap", "priority", "fluid", "adhesion", "surfacevel")
JOINTS = ("actgravcomp", "actfrclimited", "springyield", "stiffnesspoly")
DOFS = ("dampingpoly",)


def dropped(mujoco: Any, model: Any) -> list[Unsupported]:
    """All that is not simulated, each kind with the names of those who ask for it."""
    usual = mujoco.MjSpec.from_string(_PLAIN).compile()
    found = [
        Unsupported(kind, _names(model, get, range(getattr(model, count))),
                    "pictures only" if kind in PICTURES else LEFT_OUT)
        for kind, (count, get) in GROUPS.items() if getattr(model, count)
    ]  # fmt: skip
    options = [name for name in OPTIONS if not np.array_equal(getattr(model.opt, name), getattr(usual.opt, name))]
    if options:
        found.append(Unsupported("option", tuple(options), LEFT_OUT))
    found += [
        Unsupported("disable flag", (flag.name.removeprefix("mjDSBL_").lower(),), LEFT_OUT)
        for flag in _flags(mujoco.mjtDisableBit, model.opt.disableflags)
        if flag.name not in _KEPT
    ]
    found += [
        Unsupported("enable flag", (flag.name.removeprefix("mjENBL_").lower(),), LEFT_OUT)
        for flag in _flags(mujoco.mjtEnableBit, model.opt.enableflags)
        if flag.name not in _TOLD
    ]
    touching = np.flatnonzero(model.geom_contype | model.geom_conaffinity)
    for field in GEOMS:
        found += _unlike(model, usual, f"geom_{field}", f"geom {field}", "geom", touching)
    for field in JOINTS:
        found += _unlike(model, usual, f"jnt_{field}", f"joint {field}", "joint", range(model.njnt))
    for field in DOFS:
        found += _unlike(model, usual, f"dof_{field}", f"joint {field}", "dof", range(model.nv))
    found += _friction(model, touching)
    for kind, who in (
        ("gravcomp", np.flatnonzero(model.body_gravcomp)),
        ("mocap", np.flatnonzero(model.body_mocapid >= 0)),
    ):
        if len(who):
            found.append(Unsupported(kind, _names(model, "body", who), LEFT_OUT))
    return found


def _unlike(model: Any, usual: Any, field: str, kind: str, get: str, who: Iterable[int]) -> list[Unsupported]:
    """Those whose field is not the usual one."""
    if not hasattr(model, field):
        return []
    values, plain = getattr(model, field), getattr(usual, field)[0]
    odd = [i for i in who if not np.array_equal(values[i], plain)]
    joints = [int(model.dof_jntid[i]) for i in odd] if get == "dof" else odd
    names = _names(model, "joint" if get == "dof" else get, joints)
    return [Unsupported(kind, names, LEFT_OUT)] if names else []


def _friction(model: Any, touching: np.ndarray) -> list[Unsupported]:
    """Rolling and spinning friction; and a rule of pairs that matters where frictions differ."""
    found = []
    rolling = [g for g in touching if model.geom_condim[g] > 3]
    if rolling:
        found.append(Unsupported("rolling and spinning friction", _names(model, "geom", rolling), LEFT_OUT))
    sliding = np.where(model.geom_condim[touching] > 1, model.geom_friction[touching, 0], 0.0)
    if len(np.unique(sliding)) > 1:
        instead = "of two surfaces the root of the product, where MuJoCo takes the larger"
        found.append(Unsupported("friction of pairs", _names(model, "geom", touching), instead))
    return found


def _names(model: Any, get: str, who: Iterable[int]) -> tuple[str, ...]:
    find = getattr(model, get, None)
    names = ((find(int(i)).name if find else "") or f"{get}{i}" for i in who)
    return tuple(dict.fromkeys(names))


def _flags(kinds: Any, bits: int) -> list[Any]:
    members = (getattr(kinds, name) for name in dir(kinds) if name.startswith(("mjDSBL_", "mjENBL_")))
    return [flag for flag in members if bits & flag.value]


_KEPT = ("mjDSBL_CONTACT", "mjDSBL_GRAVITY", "mjDSBL_CONSTRAINT")
_TOLD = ("mjENBL_ENERGY", "mjENBL_FWDINV")  # which only tell more
_PLAIN = '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
