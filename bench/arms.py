"""One step of mechanisms in joint coordinates, with the whole ledger: an arm of seven hinges from a URDF file, beside
MuJoCo, which loads the same file; and chains."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

import passivo as pv
from bench.measure import Row, fastest

URDF = Path(__file__).parents[1] / "examples" / "scenes" / "arm.urdf"
STEP = 1e-3
STEPS = 3000
REPEATS = 7
NEVER = 1 << 40
TARGET = 30e-6


def measure() -> list[Row]:
    arm, start = _arm(), {f"turn{i + 1}.rate": 0.5 * (-1.0) ** i for i in range(7)}
    rows = [_row("arm of 7 joints", arm, None, start, TARGET)]
    rows.append(_row("beside MuJoCo", arm, _mujoco(arm, start), start))
    free = arm.with_params(gravity_z=0.0)
    rows.append(_row("without gravity", free, _mujoco(free, start), start))
    rows += [_row(f"chain of {count} hinges", _chain(count), None, {}) for count in (2, 20, 50)]
    return rows


def _row(what: str, world: pv.World, rival: Any, start: dict[str, float], target: float | None = None) -> Row:
    part = pv.compile(world, pv.PassiveMidpoint(), STEP, start=start)
    table, out = np.zeros((1, part.inputs.size)), np.zeros((1, part.module.REPORT_SIZE))

    def run() -> None:
        assert part.module.run(part.memory, STEP, table, out, STEPS, NEVER) == STEPS

    tasks = [run, *([rival] if rival else [])]
    for task in tasks:
        task()
    taken = [seconds / STEPS for seconds in fastest(*tasks, repeats=REPEATS, clock=thread_time)]
    note = f"{part.iterations:.1f} solutions per step, {part.verdict.kind}"
    return Row(what, taken[0], taken[1] if len(taken) > 1 else None, target=target, note=note)


def _arm() -> pv.World:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits of motors and joints
        return pv.World.from_file(URDF, coordinates="generalised", contact=False)


def _chain(links: int) -> pv.World:
    world, last = pv.World(), None
    for i in range(links):
        hinge = pv.Hinge(f"j{i}", axis=(0, 1, 0) if i % 2 else (0, 0, 1), at=(0.1 * i, 0, 0))
        last = world.add_link(f"b{i}", last, hinge, pv.Box(0.1, 0.02, 0.03), 0.1, position=(0.1 * i + 0.05, 0, 0))
    return world


def _mujoco(world: pv.World, start: dict[str, float]) -> Any:
    """MuJoCo on the same file and the same start, its fastest integrator, without contacts and limits."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_path(str(URDF))
    model.opt.timestep, model.opt.gravity[2] = STEP, world.params["gravity_z"]
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    data = mujoco.MjData(model)
    for name, value in start.items():
        data.joint(name.split(".")[0]).qvel[0] = value

    def run() -> None:
        mujoco.mj_step(model, data, STEPS)

    return run
