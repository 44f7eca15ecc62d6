"""One step of worlds, with the whole ledger: free bodies, a hand of 10 bodies and 16 points, chains; beside MuJoCo."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import passivo as pv
from bench.measure import Row, fastest

STEP = 1e-3
REPEATS = 9
NEVER = 1 << 40


def measure() -> list[Row]:
    rows = []
    for count in (1, 10, 100):
        rows.append(_row(f"{count} free bodies", _free(count), _free_mjcf(count), count))
    for links in (10, 50, 200):
        for resolve in (0, 2):
            world, note = _chain(links), "until nothing moves" if resolve == 2 else "predicted turn"
            rows.append(_row(f"chain of {links} links, {note}", world, _chain_mjcf(links), links, resolve))
    rows.append(_row("hand of 10 bodies and 16 points", _hand(), None, 10))
    return rows


def _row(what: str, world: pv.World, mjcf: str | None, bodies: int, resolve: int = 0) -> Row:
    part = pv.compile(world, pv.PassiveMidpoint(resolve=resolve), STEP)
    table, out = np.zeros((1, part.inputs.size)), np.zeros((1, part.module.REPORT_SIZE))
    steps = max(20, 20000 // bodies)

    def run() -> None:
        assert part.module.run(part.memory, STEP, table, out, steps, NEVER) == steps

    tasks = [run, *([] if mjcf is None else _rival(mjcf, steps))]
    for task in tasks:
        task()
    taken = [seconds / steps for seconds in fastest(*tasks, repeats=REPEATS)]
    note = f"{1e6 * taken[0] / bodies:.2f} µs per body, {part.iterations:.1f} solutions per step"
    return Row(what, taken[0], taken[1] if len(taken) > 1 else None, note=note)


def _rival(mjcf: str, steps: int) -> list[Callable[[], object]]:
    """MuJoCo on the same bodies, its fastest integrator, nothing else switched on."""
    try:
        import mujoco
    except ImportError:
        return []
    model = mujoco.MjModel.from_xml_string(mjcf)
    data = mujoco.MjData(model)

    def run() -> None:
        mujoco.mj_resetData(model, data)  # a long chain does not stay stable for long at this step
        mujoco.mj_step(model, data, steps)

    return [run]


def _free(count: int) -> pv.World:
    world = pv.World(gravity=(0, 0, 0))
    for i in range(count):
        world.add_body(f"b{i}", pv.Box(0.2, 0.4, 0.6), 1.0, position=(i, 0, 0), angular_velocity=(1, 2, 3))
    return world


def _mjcf(bodies: str) -> str:
    return f"""<mujoco><option timestep="{STEP}" integrator="Euler"><flag contact="disable"/></option>
    <worldbody>{bodies}</worldbody></mujoco>"""


def _free_mjcf(count: int) -> str:
    box = '<geom type="box" size="0.1 0.2 0.3" mass="1"/>'
    return _mjcf("".join(f'<body pos="{i} 0 0"><freejoint/>{box}</body>' for i in range(count)))


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
    return _mjcf("".join(one.format(x=0 if i == 0 else 0.1) for i in range(links)) + "</body>" * links)


def _hand() -> pv.World:
    """A palm and three fingers of three links: knuckles and joints of two points each but two, which have one."""
    world = pv.World()
    palm = world.add_body("palm", pv.Cylinder(0.045, 0.02), 0.4, position=(0, 0, 0.3), angular_velocity=(0, 0, 2))
    for finger in range(3):
        angle = np.radians(90 + 120 * finger)
        way, axis = np.array([np.cos(angle), np.sin(angle), 0]), (-np.sin(angle), np.cos(angle), 0)
        last, place = palm, np.array([0, 0, 0.3]) + 0.041 * way
        for link, (length, mass) in enumerate(((0.05, 0.03), (0.035, 0.02), (0.028, 0.012))):
            middle = place + length / 2 * way
            body = world.add_body(
                f"f{finger}l{link}",
                pv.Capsule(0.008, length),
                mass,
                position=middle,
                orientation=(np.cos(np.pi / 4), *(np.sin(np.pi / 4) * np.array(axis))),
                velocity=np.cross((0, 0, 2), middle),
                angular_velocity=(0, 0, 0),
            )
            if link == 2 and finger < 2:
                world.add_ball(f"j{finger}{link}", body, last, at=place, stiffness=1e6)
            else:
                world.add_hinge(f"j{finger}{link}", body, last, axis, at=place, span=0.02, stiffness=1e6)
            last, place = body, place + length * way
    return world
