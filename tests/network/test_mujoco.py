"""The clamp in front of a simulator that is not ours: the example with MuJoCo, as a user would run it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "mujoco_clamp.py"


def test_mujoco_gives_energy_and_not_behind_the_clamp():
    pytest.importorskip("mujoco", reason="the extra `world` is not installed")
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    without, guarded = re.findall(r"least port energy +(\S+) mJ, mean force +(\S+) N", done.stdout)
    assert float(without[0]) < -100.0
    assert float(guarded[0]) >= -0.1 and float(guarded[1]) == pytest.approx(5.0, rel=0.02)
    assert "beyond the bound" not in done.stdout and "overdrawn" not in done.stdout
