"""Start-up in a new process: the import, a known model, and the command line from nothing. Raw wall time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import Row, fastest
from bench.native import BUILD

REPEATS, COLD = 7, 2
SYMBOLS = """
import passivo as pv
q, p, m, b, alpha, beta = pv.symbols("q p m b alpha beta")
states, energy, damping = [q, p], p**2/(2*m) + alpha*q**2/2 + beta*q**4/4, b
"""
TEXT = """
import passivo as pv
states, energy, damping = ["q", "p"], "p**2/(2*m) + alpha*q**2/2 + beta*q**4/4", "b"
"""
REST = """
system = pv.System(
    states=states,
    energy=energy,
    structure=[[0, 1], [-1, 0]],
    loss=[[0, 0], [0, damping]],
    ports={"force": pv.effort([0, 1])},
    params={"m": 1.0, "b": 0.1, "alpha": 1.0, "beta": 1.0},
)
part = pv.compile(system, pv.AVF(), 1e-2, start={"q": 1.0})
part.step([0.3])
"""


def measure() -> list[Row]:
    environment = {**os.environ, "PASSIVO_CACHE": str((BUILD / "cache").resolve())}

    def process(text):
        subprocess.run([sys.executable, "-c", text], env=environment, check=True)

    texts = ("pass", "import passivo", SYMBOLS + REST, TEXT + REST)
    for text in texts:  # fills the cache
        process(text)
    nothing, imported, symbols, text = fastest(*(lambda text=text: process(text) for text in texts), repeats=REPEATS)
    cold, warm = command(environment)
    note = f"of which {nothing * 1e3:.0f} ms are python itself"
    return [
        Row("import passivo", imported, target=0.6, note=note),
        Row(
            "known model in symbols: import, compile, first step",
            symbols,
            target=1.0,
            note="no SymPy is needed",
        ),
        Row("known model in text: import, compile, first step", text, target=1.0, note="the same"),
        Row("passivo run oscillator, cold", cold, target=10.0, note="derives, compiles, runs, draws, saves"),
        Row("passivo run oscillator, warm", warm, target=1.5, note="runs, draws, saves"),
    ]


def command(environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of `passivo run oscillator` with an empty cache, and with what that left behind."""
    with tempfile.TemporaryDirectory() as folder:

        def run(cache: str) -> float:
            """Its fastest of several runs."""
            line = [sys.executable, "-m", "passivo", "run", "oscillator"]
            there = {**environment, "PASSIVO_CACHE": str(Path(folder) / cache)}
            call = lambda: subprocess.run(line, cwd=folder, env=there, check=True, stdout=subprocess.DEVNULL)  # noqa: E731
            return fastest(call, repeats=1)[0]

        return min(run(f"cold{i}") for i in range(COLD)), min(run("cold0") for _ in range(REPEATS))
