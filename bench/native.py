"""The hand-written C rivals: built into build/bench with gcc, called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).parent / "c"
BUILD = Path("build") / "bench"
FLAGS = ("-O3", "-std=c11", "-Wall", "-fPIC", "-shared")
# where things lie among the doubles of `Part`, see c/ledger.h
STATE, WORK, LOST, MARK, ITERATIONS, PART_SIZE = slice(0, 2), slice(4, 6), slice(6, 8), 25, 29, 34


class Missing(Exception):
    """A tool of this machine is not there; the text says which."""


def build(source: str, *options: str, cpu: str = "native") -> ctypes.CDLL:
    """Compile `bench/c/source` into a library of its own for every set of options."""
    if not shutil.which("gcc"):
        raise Missing("gcc is not installed")
    BUILD.mkdir(parents=True, exist_ok=True)
    name = "-".join([Path(source).stem, cpu, *(option.lstrip("-") for option in options)]).replace("/", "_")
    target = BUILD / f"{name}.so"
    command = [
        "gcc",
        *FLAGS,
        f"-march={cpu}",
        *options,
        f"-I{BUILD}",
        str(SOURCES / source),
        "-o",
        str(target),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"gcc could not build {source}: {done.stderr.strip().splitlines()[0]}")
    return ctypes.CDLL(str(target.resolve()))


class Part:
    """One rival: its memory, and `run(input)` that steps it once per input value."""

    def __init__(
        self,
        model: str,
        params: dict[str, float],
        start: dict[str, float],
        *options: str,
        cpu: str = "native",
    ):
        self.library = build(f"{model}.c", *options, cpu=cpu)
        self.library.run.restype = ctypes.c_int64
        self.library.run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_double,
            ctypes.c_void_p,
            ctypes.c_int64,
        ]
        self.memory = np.zeros(PART_SIZE)
        self.params = np.array(list(params.values()))
        self.memory[STATE] = start.get("q", 0.0), start.get("p", 0.0)
        self.memory[MARK] = 1.0

    def run(self, step: float, given: np.ndarray) -> int:
        memory, params, values = self.memory.ctypes.data, self.params.ctypes.data, given.ctypes.data
        return self.library.run(memory, params, step, values, len(given))

    @property
    def found(self) -> np.ndarray:
        """State, work and loss so far, Newton iterations."""
        work, lost = self.memory[WORK].sum(), self.memory[LOST].sum()
        return np.array([*self.memory[STATE], work, lost, self.memory[ITERATIONS]])
