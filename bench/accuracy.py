"""The damped pendulum to given final errors: each rival at the cheapest setting that reaches them.

A setting counts only if every finer one tried reaches the error too: a lucky zero is no accuracy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np

import passivo as pv
from bench import native
from bench.measure import Row, fastest
from bench.models import pendulum
from bench.stages import header

DAMPING, START, UNTIL = 0.1, (2.0, 0.0), 100.0
ERRORS = (1e-6, 1e-8)
COUNTS = np.unique(np.geomspace(50, 1_000_000, 200).astype(int))  # steps, coarse to fine
TOLERANCES = np.geomspace(1e-3, 1e-12, 73)
REPEATS = 15
SLOW = 0.5  # seconds, beyond which a run is repeated SLOW_REPEATS times only
SLOW_REPEATS = 3
TARGETS = {(1e-8, "Passivo Collocation(3)", "SciPy DOP853"): 1 / 20}


@dataclass
class Contender:
    """`run(setting)` gives the final state and the number of steps; settings go from coarse to fine."""

    name: str
    run: Callable[[float], tuple[np.ndarray, int]]
    settings: Sequence[float]
    known: dict[float, tuple[float, int]] = field(default_factory=dict)

    def cheapest(self, reference: np.ndarray, wanted: float) -> tuple[float, int, float] | None:
        """(setting, steps, error), or None where no setting reaches the error."""
        found = None
        for setting in reversed(self.settings):
            if setting not in self.known:
                state, steps = self.run(setting)
                self.known[setting] = float(np.abs(state - reference).max()), steps
            error, steps = self.known[setting]
            if not error <= wanted:
                break
            found = setting, steps, error
        return found


def measure() -> list[Row]:
    reference = scipy_run("DOP853", 1e-13, 1e-15)[0]
    contenders = [
        Contender("Passivo AVF", fixed(pv.AVF()), COUNTS),
        Contender("Passivo RK4", fixed(pv.RK4()), COUNTS[COUNTS < 50_000]),
        Contender("Passivo Collocation(2)", fixed(pv.Collocation(2)), COUNTS[COUNTS < 50_000]),
        Contender("Passivo Collocation(3)", fixed(pv.Collocation(3)), COUNTS[COUNTS < 10_000]),
        Contender("SciPy DOP853", lambda tolerance: scipy_run("DOP853", tolerance, tolerance), TOLERANCES[:60:4]),
        Contender("SciPy Radau", lambda tolerance: scipy_run("Radau", tolerance, tolerance), TOLERANCES[8:56:8]),
    ]
    missing = []
    for pair in ("RK45", "DOP853"):
        try:
            contenders.append(Contender(f"C {pair}, adaptive", adaptive(pair), TOLERANCES))
        except native.Missing as reason:
            missing.append(Row(f"C {pair}, adaptive", None, note=f"not measured: {reason}"))
    try:
        contenders.append(Contender("Diffrax Dopri8, jitted", diffrax_run(), TOLERANCES[:68:4]))
    except ImportError as reason:
        missing.append(Row("Diffrax Dopri8, jitted", None, note=f"not measured: {reason}"))
    return [row for error in ERRORS for row in race(contenders, reference, error)] + missing


def race(contenders: Sequence[Contender], reference: np.ndarray, wanted: float) -> list[Row]:
    """Ours, and the best of them against each rival, all to the same error."""
    found = {c.name: c.cheapest(reference, wanted) for c in contenders}
    tasks = {c.name: lambda c=c, f=f: c.run(f[0]) for c in contenders if (f := found[c.name]) is not None}
    slow = {name for name, task in tasks.items() if not fastest(task, repeats=1, clock=process_time)[0] < SLOW}
    seconds: dict[str, float] = {}
    for names, repeats in ((tasks.keys() - slow, REPEATS), (slow, SLOW_REPEATS)):
        taken = fastest(*(tasks[name] for name in names), repeats=repeats, clock=process_time)  # of all threads
        seconds.update(zip(names, taken))
    ours = {name: seconds[name] for name in tasks if name.startswith("Passivo")}
    best = min(ours, key=ours.get)
    rows = []
    for name, result in found.items():
        if result is None:
            rows.append(Row(f"{wanted:g}: {name}", None, note=f"does not reach {wanted:g}"))
            continue
        note = f"{result[1]} steps, error {result[2]:.1e}"
        if name in ours:
            rows.append(Row(f"{wanted:g}: {name}", seconds[name], note=note))
        else:
            target = TARGETS.get((wanted, best, name))
            what = f"{wanted:g}: {best} against {name}"
            rows.append(Row(what, ours[best], seconds[name], target=target, note=f"{note}; keeps no ledger"))
    for (error, name, rival), target in TARGETS.items():
        if error == wanted and name != best and name in seconds and rival in seconds:
            rows.append(Row(f"{wanted:g}: {name} against {rival}", seconds[name], seconds[rival], target=target))
    return rows


def fixed(method: Any) -> Callable[[float], tuple[np.ndarray, int]]:
    """A Passivo method with a given number of steps."""
    part = pv.compile(pendulum(), method, 1e-2, start=dict(zip("qp", START)))
    begin, module = part.memory.copy(), part.module
    table = np.zeros((1, module.STAGES * (module.WIDTH + module.SIGNALS)))
    out = np.zeros((1, module.REPORT_SIZE))

    def run(count):
        part.memory[:] = begin
        assert module.run(part.memory, UNTIL / count, table, out, int(count), 1 << 40) == count
        return part.state.copy(), int(count)

    return run


def scipy_run(name: str, rtol: float, atol: float) -> tuple[np.ndarray, int]:
    from math import sin

    from scipy.integrate import solve_ivp

    def field(t, x):
        return (x[1], -sin(x[0]) - DAMPING * x[1])

    result = solve_ivp(field, (0.0, UNTIL), START, method=name, rtol=rtol, atol=atol)
    return result.y[:, -1], len(result.t) - 1


def diffrax_run() -> Callable[[float], tuple[np.ndarray, int]]:
    """Diffrax with a given tolerance, the whole integration one compiled function. In doubles, as everything here."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import diffrax
    import jax.numpy as jnp

    def field(t, x, _):
        return jnp.stack([x[1], -jnp.sin(x[0]) - DAMPING * x[1]])

    @jax.jit
    def integrate(tolerance):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri8(), 0.0, UNTIL, 0.1, jnp.array(START),
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance), max_steps=None,
        )  # fmt: skip
        return found.ys[-1], found.stats["num_accepted_steps"]

    def run(tolerance):
        state, steps = integrate(tolerance)
        return np.asarray(state), int(steps)

    return run


def adaptive(pair: str) -> Callable[[float], tuple[np.ndarray, int]]:
    """The C integrator with a given tolerance."""
    native.BUILD.mkdir(parents=True, exist_ok=True)
    (native.BUILD / "stages.h").write_text(header(pair))
    library = native.build("adaptive.c", f"-DPAIR={pair}")
    function = library.integrate
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_void_p, *[ctypes.c_double] * 4, ctypes.c_void_p]
    state, tried = np.zeros(2), np.zeros(1, np.int64)

    def run(tolerance):
        state[:] = START
        function(state.ctypes.data, DAMPING, UNTIL, tolerance, 0.1, tried.ctypes.data)
        return state.copy(), int(tried[0])

    return run
