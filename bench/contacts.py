"""One step of worlds whose bodies touch, beside MuJoCo on the same scenes: a box, a stack of 10, 50 that fall."""

from __future__ import annotations

from time import thread_time

import numpy as np

import passivo as pv
from bench.measure import Row, fastest

STEP = 1e-3
REPEATS = 5
NEVER = 1 << 40
FRICTION = 0.5


def measure() -> list[Row]:
    rows = [_row("box on a plane", _stack(1), 2000), _row("stack of 10 boxes, 40 contacts", _stack(10), 500)]
    rows += [_row(f"{count} falling boxes", _heap(count), 400) for count in (1, 10, 50, 200)]
    return rows


def _row(what: str, places: np.ndarray, steps: int) -> Row:
    part = pv.compile(_world(places), pv.PassiveMidpoint(), STEP)
    table, out = np.zeros((1, part.inputs.size)), np.zeros((1, part.module.REPORT_SIZE))
    start = part.memory.copy()

    def run() -> None:
        part.memory[:] = start
        assert part.module.run(part.memory, STEP, table, out, steps, NEVER) == steps

    tasks = [run, *_rival(places, steps)]
    for task in tasks:
        task()
    taken = [seconds / steps for seconds in fastest(*tasks, repeats=REPEATS, clock=thread_time)]
    drift = float(np.abs(part.state[1 : 1 + 19 * len(places)].reshape(-1, 19)[:, :3] - places).max())
    note = f"{1e6 * taken[0] / len(places):.2f} µs per body, moved {1e3 * drift:.3g} mm, verdict {part.verdict.kind}"
    return Row(what, taken[0], taken[1] if len(taken) > 1 else None, note=note)


def _stack(count: int) -> np.ndarray:
    return np.array([(0, 0, 0.1 + 0.2 * i) for i in range(count)])


def _heap(count: int) -> np.ndarray:
    """Boxes in layers of 5 × 5, shifted against each other."""
    rng = np.random.default_rng(0)
    grid = np.array([(i % 5, i // 5 % 5, i // 25) for i in range(count)], dtype=float)
    return grid * (0.25, 0.25, 0.3) + (0, 0, 0.2) + 0.03 * rng.uniform(-1, 1, (count, 3))


def _world(places: np.ndarray) -> pv.World:
    world = pv.World()
    world.add_plane(friction=FRICTION)
    for i, place in enumerate(places):
        world.add_body(f"b{i}", pv.Box(0.2, 0.2, 0.2), 1.0, position=place, friction=FRICTION)
    return world


def _rival(places: np.ndarray, steps: int) -> list:
    """MuJoCo on the same boxes, its usual solver."""
    try:
        import mujoco
    except ImportError:
        return []
    boxes = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" size=".1 .1 .1" mass="1" friction="{FRICTION}"/></body>'
        for x, y, z in places
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}"/><size memory="64M"/><worldbody>'
        f'<geom type="plane" size="0 0 1" friction="{FRICTION}"/>{boxes}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    return [run]
