"""Instructions per step, by callgrind: the difference of two runs in one process over their extra steps.

Both sides are built for x86-64-v3, the newest level valgrind knows. `python -m bench.count MODEL` is the
process that is counted; it has run once without valgrind before, so that nothing is compiled under it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import native
from bench.models import STEP, drive

LEVEL = "x86-64-v3"
FEATURES = "sse sse2 sse3 ssse3 sse4.1 sse4.2 cx16 sahf popcnt avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
SHORT, LONG = 200, 1200


def per_step(model: str, parts: int) -> list[float]:
    """Instructions per step of each of `bench.step.rivals(model)`, of which there are `parts`."""
    if not shutil.which("valgrind"):
        raise native.Missing("valgrind is not installed")
    native.build("counter.c")
    features = ",".join(f"+{name}" for name in FEATURES.split())
    child = [sys.executable, "-m", "bench.count", model]
    environment = {**os.environ, "NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": features}
    subprocess.run(child, env=environment, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run(["valgrind", *options, *child], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise native.Missing(f"the run under valgrind failed: {done.stderr.strip().splitlines()[-1]}")
        totals = dict(_total(file) for file in Path(folder).glob("out.*"))
    return [(totals[f"{i} {LONG}"] - totals[f"{i} {SHORT}"]) / (LONG - SHORT) for i in range(parts)]


def _total(file: Path) -> tuple[str, int]:
    """Label and instruction count of one dump."""
    text = file.read_text()
    label = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
    total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    return label.group(1) if label else "", int(total.group(1)) if total else 0


def main(model: str) -> None:
    from bench.step import rivals

    counter = native.build("counter.c")
    for i, part in enumerate(rivals(model, LEVEL)):
        start = part.memory.copy()
        for label, steps in (("warming up", SHORT), (f"{i} {SHORT}", SHORT), (f"{i} {LONG}", LONG)):
            part.memory[:] = start
            given = drive(steps)
            counter.begin()
            part.run(STEP, given)
            counter.end(label.encode())


if __name__ == "__main__":
    main(sys.argv[1])
