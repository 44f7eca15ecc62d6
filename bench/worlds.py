"""One step of worlds, with the whole ledger: free bodies, chains, a hand of 10 bodies and 16 points; beside MuJoCo.

Its models have the same masses, lengths and starts. Their joints are its own hinges and balls, which leave no way to
part; the hand stands beside free bodies that 16 `connect` constraints hold together, too, as a world is made.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import numpy as np

import passivo as pv
from bench import hand
from bench.measure import Row, fastest
from bench.mjcf import mjcf

STEP = 1e-3
REPEATS = 9
NEVER = 1 << 40
LINEAR = 1.25  # of the time per link of the shortest chain: what still counts as growing with their number


def measure() -> list[Row]:
    rows = [
        _row(f"{count} free {'bodies' if count > 1 else 'body'}", _free(count), _free_mjcf(count), count)
        for count in (1, 10, 100)
    ]
    for resolve in (0, 2):
        note = "until nothing moves" if resolve == 2 else "predicted turn"
        chains = {n: _row(f"chain of {n} links, {note}", _chain(n), _chain_mjcf(n), n, resolve) for n in (10, 50, 200)}
        rows += chains.values()
        short, long = ((chains[n].passivo or 0.0) / n for n in (10, 200))
        what = f"a link of 200, of 10 = 1, {note}"
        rows.append(Row(what, long / short, unit="", target=LINEAR, note="at 1 the time grows linearly"))
    for resolve in (0, 2):
        note = "until nothing moves" if resolve == 2 else "predicted turn"
        rows.append(_row(f"hand of 10 bodies and 16 points, {note}", hand.world(), hand.tree(STEP), 10, resolve))
    rows.append(_row("hand beside 16 connect constraints", hand.world(), hand.points(STEP), 10))
    return rows


def _row(what: str, world: pv.World, rival: str, bodies: int, resolve: int = 0) -> Row:
    part = pv.compile(world, pv.PassiveMidpoint(resolve=resolve), STEP)
    table, out = np.zeros((1, part.inputs.size)), np.zeros((1, part.module.REPORT_SIZE))
    steps = max(20, 20000 // bodies)

    def run() -> None:
        assert part.module.run(part.memory, STEP, table, out, steps, NEVER) == steps

    tasks = [run, *_rival(rival, steps)]
    for task in tasks:
        task()
    taken = [seconds / steps for seconds in fastest(*tasks, repeats=REPEATS, clock=thread_time)]
    note = f"{1e6 * taken[0] / bodies:.2f} µs per body, {part.iterations:.1f} solutions per step"
    return Row(what, taken[0], taken[1] if len(taken) > 1 else None, note=note)


def _rival(text: str, steps: int) -> list[Callable[[], object]]:
    """MuJoCo on the same bodies, its fastest integrator, nothing else switched on."""
    try:
        import mujoco
    except ImportError:
        return []
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetDataKeyframe(model, data, 0)  # a long chain does not stay stable for long at this step
        mujoco.mj_step(model, data, steps)

    return [run]


def _free(count: int) -> pv.World:
    world = pv.World(gravity=(0, 0, 0))
    for i in range(count):
        world.add_body(f"b{i}", pv.Box(0.2, 0.4, 0.6), 1.0, position=(i, 0, 0), angular_velocity=(1, 2, 3))
    return world


def _free_mjcf(count: int) -> str:
    box = '<geom type="box" size="0.1 0.2 0.3" mass="1"/>'
    bodies = "".join(f'<body pos="{i} 0 0"><freejoint/>{box}</body>' for i in range(count))
    return mjcf(bodies, STEP, (0, 0, 0, 1, 2, 3) * count, gravity=0.0)


def _chain(links: int) -> pv.World:
    world = pv.World()
    last = None
    for i in range(links):
        body = world.add_body(f"b{i}", pv.Box(0.1, 0.02, 0.03), 0.1, position=(0.1 * i + 0.05, 0, 0))
        world.add_ball(f"j{i}", body, last or world, at=(0.1 * i, 0, 0), stiffness=1e6)
        last = body
    return world


def _chain_mjcf(links: int) -> str:
    one = '<body pos="{x} 0 0"><joint type="ball"/><geom type="box" size="0.05 0.01 0.015" pos="0.05 0 0" mass="0.1"/>'
    return mjcf("".join(one.format(x=0 if i == 0 else 0.1) for i in range(links)) + "</body>" * links, STEP)
