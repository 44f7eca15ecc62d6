"""One step of worlds whose bodies touch, beside MuJoCo, both from the same MJCF files: a box, a stack of 10, boxes that
fall, two hands that hold something. Beside the time stand sweeps, and of both engines the largest energy that a step
gained (nothing drives these scenes: none may) and how far the bodies moved that should rest.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import thread_time

import numpy as np

import passivo as pv
from bench import scenes
from bench.measure import Row, fastest
from passivo.world.links import SceneWarning

STEP = 1e-3
REPEATS = 5
NEVER = 1 << 40
COUNTS = (1, 10, 50, 200)  # of boxes that fall


@dataclass(frozen=True)
class Case:
    """A scene, how long it is stepped, and the bodies that should rest from a share of that time on."""

    what: str
    text: str
    steps: int
    bodies: int
    resting: tuple[str, ...] = ()
    rests_from: float = 0.0


def cases() -> list[Case]:
    stack = tuple(f"b{i}" for i in range(10))
    found = [
        Case("box on a plane", _boxes(scenes.stack(1)), 2000, 1, ("b0",)),
        Case("stack of 10 boxes, 40 contacts", _boxes(scenes.stack(10)), 1000, 10, stack),
    ]
    for count in COUNTS:
        what = f"{count} falling {'boxes' if count > 1 else 'box'}"
        found.append(Case(what, _boxes(scenes.heap(count)), 400, count))
    text = scenes.mjcf(scenes.hands(), STEP, friction=0.8, floor=False)
    return [*found, Case("two hands of 22 bodies that hold a cylinder", text, 1000, 23, ("held",), 0.5)]


def measure() -> list[Row]:
    rows = {case.what: _row(case) for case in cases()}
    few, many = (rows[f"{count} falling boxes"].passivo or 0.0 for count in (10, 200))
    growth = Row("a box of 200, of 10 = 1", many / 200 / (few / 10), unit="", note="at 1 the time grows linearly")
    return [*rows.values(), growth]


def _boxes(places: np.ndarray) -> str:
    return scenes.mjcf(scenes.boxes(places), STEP)


def _row(case: Case) -> Row:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)
        file = Path(folder) / "scene.xml"
        file.write_text(case.text)
        world = pv.World.from_file(file)
        tasks, told = [_ours(world, case)], [_told_of_ours(world, case)]
        if rival := _rival(file, case):
            tasks.append(rival)
            told.append(_told_of_rival(file, case))
    for task in tasks:
        task()
    taken = [seconds / case.steps for seconds in fastest(*tasks, repeats=REPEATS, clock=thread_time)]
    note = f"{1e6 * taken[0] / case.bodies:.2f} µs per body, {'; MuJoCo '.join(told)}"
    return Row(case.what, taken[0], taken[1] if len(taken) > 1 else None, note=note)


def _ours(world: pv.World, case: Case) -> Callable[[], object]:
    part = pv.compile(world, pv.PassiveMidpoint(), STEP)
    table, out = np.zeros((1, part.inputs.size)), np.zeros((1, part.module.REPORT_SIZE))
    start = part.memory.copy()

    def run() -> None:
        part.memory[:] = start
        assert part.module.run(part.memory, STEP, table, out, case.steps, NEVER) == case.steps

    return run


def _told_of_ours(world: pv.World, case: Case) -> str:
    run = pv.simulate(world, pv.PassiveMidpoint(), step=STEP, until=case.steps * STEP)
    gained = float(np.diff(run.ledger.sel(part="total").stored.values).max())
    places = np.array([run[f"{name}.position"].values for name in case.resting])
    sweeps = float(run["contacts.sweeps"].mean())
    return f"{sweeps:.1f} sweeps, {run.verdict.kind}, {_told(gained, places, case)}"


def _rival(file: Path, case: Case) -> Callable[[], object] | None:
    """MuJoCo on the same file, its usual solver and integrator."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_path(str(file))
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)  # for time it need not know its energy
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, case.steps)

    return run


def _told_of_rival(file: Path, case: Case) -> str:
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    energy, places = [], []
    resting = [model.body(name).id for name in case.resting]
    for _ in range(case.steps + 1):
        mujoco.mj_step(model, data)  # the energy is that of the state before it
        energy.append(float(data.energy.sum()))
        places.append(data.xipos[resting].copy())
    return _told(float(np.diff(energy).max()), np.array(places).swapaxes(0, 1), case)


def _told(gained: float, places: np.ndarray, case: Case) -> str:
    """The largest gain of a step, and how far what rests moved."""
    text = f"at most {max(gained, 0.0):.2g} J gained in a step"
    if not case.resting:
        return text
    late = places[:, int(case.rests_from * (places.shape[1] - 1)) :]
    moved = float(np.linalg.norm(late - late[:, :1], axis=2).max())
    return f"{text}, moved {1e3 * moved:.2g} mm"
