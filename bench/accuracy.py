"""The damped pendulum to a given final error: each rival at the cheapest setting that reaches it.

A setting counts only if every finer one tried reaches the error too: a lucky zero is no accuracy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import passivo as pv
from bench import native
from bench.measure import Row, fastest
from bench.models import pendulum
from bench.stages import header

DAMPING, START, UNTIL, ERROR = 0.1, (2.0, 0.0), 100.0, 1e-6
COUNTS = np.unique(np.geomspace(500, 1_000_000, 150).astype(int))  # steps, coarse to fine
TOLERANCES = np.geomspace(1e-3, 1e-12, 73)
REPEATS = 15


@dataclass
class Contender:
    """`run(setting)` gives the final state and the number of steps; settings go from coarse to fine."""

    name: str
    run: Callable[[float], tuple[np.ndarray, int]]
    settings: Sequence[float]

    def cheapest(self, reference: np.ndarray) -> tuple[float, int, float] | None:
        """(setting, steps, error), or None where no setting reaches the error."""
        found = None
        for setting in reversed(self.settings):
            state, steps = self.run(setting)
            error = float(np.abs(state - reference).max())
            if not error <= ERROR:
                break
            found = setting, steps, error
        return found


def measure() -> list[Row]:
    reference = scipy_run("DOP853", 1e-13, 1e-15)[0]
    contenders = [
        Contender("Passivo AVF", fixed(pv.AVF()), COUNTS),
        Contender("Passivo RK4", fixed(pv.RK4()), COUNTS[COUNTS < 50_000]),
        Contender("SciPy DOP853", lambda tolerance: scipy_run("DOP853", tolerance, tolerance), TOLERANCES[:60:4]),
    ]
    rows, missing = [], []
    for pair in ("RK45", "DOP853"):
        try:
            contenders.append(Contender(f"C {pair}, adaptive", adaptive(pair), TOLERANCES))
        except native.Missing as reason:
            missing.append(Row(f"C {pair}, adaptive", None, note=f"not measured: {reason}"))
    found = [(c, c.cheapest(reference)) for c in contenders]
    reached = [(c, f) for c, f in found if f is not None]
    seconds = fastest(*(lambda c=c, f=f: c.run(f[0]) for c, f in reached), repeats=REPEATS)
    ours = {c.name: s for (c, _), s in zip(reached, seconds) if c.name.startswith("Passivo")}
    best = min(ours, key=ours.get)
    for (c, (_, steps, error)), took in zip(reached, seconds):
        note = f"{steps} steps, error {error:.1e}"
        if c.name in ours:
            rows.append(Row(c.name, took, note=note))
        else:
            rows.append(Row(f"{best} against {c.name}", ours[best], took, note=f"{note}; keeps no ledger"))
    rows += [Row(c.name, None, note=f"does not reach {ERROR:g}") for c, f in found if f is None]
    return rows + missing


def fixed(method: pv.AVF | pv.RK4) -> Callable[[float], tuple[np.ndarray, int]]:
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
