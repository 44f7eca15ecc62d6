"""A free box beside MuJoCo's integrators on the same box: the table that `examples/tumbling_box.py` prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import passivo as pv

SOURCE = Path(__file__).parents[2] / "examples" / "tumbling_box.py"


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("tumbling_box", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_passive_midpoint_keeps_the_energy_that_the_others_change(table):
    """500 steps of 10 ms; the README quotes these figures."""
    ratio, turn, verdict = table.ours(pv.PassiveMidpoint(), engine="python")
    assert verdict == "exact" and abs(ratio - 1) < 1e-12
    explicit, implicit = (table.ours(method, engine="python") for method in (pv.SymplecticEuler(), pv.ImplicitEuler()))
    assert explicit[0] == pytest.approx(1.087, abs=5e-4) and explicit[2] == "active"
    assert implicit[0] == pytest.approx(0.932, abs=5e-4) and implicit[2] == "passive"
    pytest.importorskip("mujoco")
    theirs = {name: table.mujocos(name) for name in table.INTEGRATORS}
    assert theirs["Euler"][0] == pytest.approx(explicit[0], abs=5e-4)
    assert theirs["implicit"][0] == pytest.approx(0.926, abs=5e-4)
    assert abs(theirs["RK4"][0] - 1) < 1e-9  # of order 4: nearer than ours, and its energy is no identity
    # orientation: of order 2 against order 4, and against what MuJoCo takes by default
    assert table.apart(turn, theirs["RK4"][1]) < 1e-3 < 0.1 < table.apart(theirs["Euler"][1], theirs["RK4"][1])
