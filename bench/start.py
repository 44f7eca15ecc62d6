"""Start-up in a new process: the import, and the second start of a known model. Raw wall time."""

from __future__ import annotations

import os
import subprocess
import sys

from bench.measure import Row, fastest
from bench.native import BUILD

REPEATS = 7
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
    ]
