"""One step of beams at 1 kHz, with the whole ledger, beside a bare step in C, one of SciPy's banded solver, and MuJoCo.

C and SciPy take the same step with the same matrices, factorised before, but book nothing and solve once. MuJoCo has no
Hermite beam: beside the beam of 20 stands its nearest, a chain of as many rigid links on hinges with springs of EI/l.
Its springs act with the positions of the start of the step, so that the chain bursts at 1 ms; it is timed at a step it
stands. A chain of 200 bursts at every step tried, one of 500 is nested too deep for its reader.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

import passivo as pv
from bench import native
from bench.measure import Row, fastest
from bench.mjcf import mjcf

STEP = 1e-3
REPEATS = 9
NEVER = 1 << 40
TARGET = 50e-6  # for 200 elements
MOST_LINKS = 20  # that MuJoCo stands
LENGTH, SECTION, YOUNG, DENSITY = 0.5, (0.02, 0.003), 70e9, 2700.0


def measure() -> list[Row]:
    rows = []
    for elements in (20, 200, 500):
        beam = pv.Beam(LENGTH, elements, young=YOUNG, density=DENSITY, section=SECTION)
        steps = 40_000 // elements
        rivals = {"C": in_c(beam, steps), "SciPy": in_scipy(beam, steps), "MuJoCo": in_mujoco(beam, steps)}
        tasks = {name: task for name, task in rivals.items() if task is not None}
        part, mine = stepped(beam, steps)
        for task in (mine, *tasks.values()):
            task()
        part.place(beam.bent({elements: 2.0}))
        taken, *others = (
            seconds / steps for seconds in fastest(mine, *tasks.values(), repeats=REPEATS, clock=time.thread_time)
        )
        note = f"{1e9 * taken / (2 * elements):.0f} ns per coordinate, {part.verdict.kind}"
        target = TARGET if elements == 200 else None
        rows.append(Row(f"{elements} elements", taken, target=target, note=note))
        for name, seconds in zip(tasks, others):
            rows.append(Row(f"{elements} elements beside {name}", taken, seconds, note=NOTES[name]))
    return [*rows, *in_worlds(), wide(), *refactored()]


NOTES = {
    "C": "the same step without ledger, solved once",
    "SciPy": "the same, cho_solve_banded and NumPy",
    "MuJoCo": "rigid links on hinge springs, at a step it stands",
}


def stepped(model: pv.Model, steps: int) -> tuple[pv.Part, Callable[[], object]]:
    part = pv.compile(model, pv.PassiveMidpoint(), STEP)
    table, out = np.zeros((1, part.inputs.size)), np.zeros((1, part.module.REPORT_SIZE))

    def run() -> None:
        assert part.module.run(part.memory, STEP, table, out, steps, NEVER) == steps

    return part, run


def in_worlds() -> list[Row]:
    """The same beams in a world, a rigid box on a spring at the end; and beside the beam by itself."""
    rows = []
    for elements in (20, 200, 500):
        beam = pv.Beam(LENGTH, elements, young=YOUNG, density=DENSITY, section=SECTION)
        world = pv.World()
        bar = world.add_beam("bar", beam)
        box = world.add_body("box", pv.Box(0.05, 0.05, 0.05), 0.1, position=(LENGTH, 0, -0.1))
        world.add_spring("spring", box, bar.node(elements), 300.0, length=0.1)
        steps = 40_000 // elements
        (part, mine), (alone, other) = stepped(world, steps), stepped(beam, steps)
        for task in (mine, other):
            task()
        part.place(bar.bent({elements: 2.0}))
        alone.place(beam.bent({elements: 2.0}))
        taken, bare = (seconds / steps for seconds in fastest(mine, other, repeats=REPEATS, clock=time.thread_time))
        note = f"{1e9 * taken / (2 * elements):.0f} ns per coordinate, {part.verdict.kind}; alone {1e6 * bare:.1f} µs"
        target = TARGET if elements == 200 else None
        rows.append(Row(f"{elements} elements in a world, with a box", taken, target=target, note=note))
    return rows


def wide() -> Row:
    """A membrane of 32 × 32 masses: 1000 coordinates and a band that is wide."""
    import scipy.sparse as sp

    side = 32
    line = sp.diags_array([2.0 * np.ones(side), -np.ones(side - 1), -np.ones(side - 1)], offsets=[0, 1, -1])
    K = 1e4 * (sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line))
    model = pv.Linear(sp.csr_array(1e-3 * sp.eye_array(side**2)), sp.csr_array(K))
    part, run = stepped(model, 100)
    run()
    part.place(dict.fromkeys(model.coordinates[:40], 0.001))
    (taken,) = (seconds / 100 for seconds in fastest(run, repeats=REPEATS, clock=time.thread_time))
    note = f"{model.matrices.size} coordinates, band {model.matrices.band}; a step of 1 kHz has 1 ms"
    return Row("a membrane of 32 × 32 masses", taken, target=STEP, note=note)


def refactored() -> list[Row]:
    """A step whose size is another than that of the last one."""
    beam = pv.Beam(LENGTH, 200, young=YOUNG, density=DENSITY, section=SECTION)
    part, _ = stepped(beam, 1)

    def run() -> None:
        for k in range(100):
            part.module.step(part.memory, STEP * (1 + 0.1 * (k % 2)))

    run()
    (taken,) = (seconds / 100 for seconds in fastest(run, repeats=REPEATS, clock=time.thread_time))
    return [Row("200 elements, another step size each time", taken, note="factorised anew, called from Python")]


def bands(beam: pv.Beam) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, K and 2M/h + (h/2) K, diagonal by diagonal."""
    mass, stiff = np.zeros((4, beam.matrices.size)), np.zeros((4, beam.matrices.size))
    mass[: len(beam.matrices.mass)], stiff[: len(beam.matrices.stiff)] = beam.matrices.mass, beam.matrices.stiff
    return mass, stiff, 2 / STEP * mass + STEP / 2 * stiff


def in_c(beam: pv.Beam, steps: int) -> Callable[[], object] | None:
    try:
        run = native.build("beam.c").run
    except native.Missing:
        return None
    mass, stiff, whole = bands(beam)
    n = beam.matrices.size
    factors = np.zeros((n + 3, 4))
    factors[:n] = whole.T
    for i in range(n):
        pivot, below = factors[i, 0], factors[i, 1:].copy()
        for k in range(3):
            factors[i + 1 + k, : 3 - k] -= below[k] / pivot * below[k:]
        factors[i] = 1 / pivot, *(below / pivot)
    start = beam.bent({beam.elements: 2.0})
    x, v, b = np.array(list(start.values())), np.zeros(n), np.zeros(n + 3)
    kept = (mass, stiff, factors, x, v, b)
    pointers = [array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for array in kept]
    size = ctypes.c_int64

    def task() -> tuple:
        run(size(n), size(steps), ctypes.c_double(STEP), *pointers)
        assert np.isfinite(x).all()
        return kept

    return task


def in_scipy(beam: pv.Beam, steps: int) -> Callable[[], object]:
    from scipy.linalg import cho_solve_banded, cholesky_banded

    mass, stiff, whole = bands(beam)
    factor = cholesky_banded(whole, lower=True)
    state = [np.array(list(beam.bent({beam.elements: 2.0}).values())), np.zeros(beam.matrices.size)]

    def times(band: np.ndarray, x: np.ndarray) -> np.ndarray:
        y = band[0] * x
        for k in range(1, 4):
            y[:-k] += band[k, :-k] * x[k:]
            y[k:] += band[k, :-k] * x[:-k]
        return y

    def task() -> None:
        x, v = state
        for _ in range(steps):
            hat = cho_solve_banded((factor, True), 2 / STEP * times(mass, v) - times(stiff, x), check_finite=False)
            x = x + STEP * hat
            v = 2 * hat - v
        state[:] = x, v

    return task


def in_mujoco(beam: pv.Beam, steps: int) -> Callable[[], object] | None:
    try:
        import mujoco
    except ImportError:
        return None
    if beam.elements > MOST_LINKS:
        return None
    part, spring = LENGTH / beam.elements, YOUNG * beam.moment / (LENGTH / beam.elements)
    half = " ".join(f"{edge / 2:g}" for edge in (part, *SECTION))
    link = (
        f'<joint type="hinge" axis="0 1 0" stiffness="{spring!r}"/>'
        f'<geom type="box" size="{half}" pos="{part / 2!r} 0 0" density="{DENSITY}"/>'
    )
    places = [0.0, *[part] * (beam.elements - 1)]
    opened = "".join(f'<body pos="{place!r} 0 0">{link}' for place in places)
    fastest_mode = 4 * np.sqrt(YOUNG * beam.moment / (DENSITY * beam.area)) / part**2
    model = mujoco.MjModel.from_xml_string(mjcf(opened + "</body>" * beam.elements, 0.2 / fastest_mode, gravity=0.0))
    data = mujoco.MjData(model)

    def task() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[0] = 0.01
        mujoco.mj_step(model, data, steps)
        assert not data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number

    return task
