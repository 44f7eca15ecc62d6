"""Compiling ahead in a second process: it makes what this process would make, and nothing depends on it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import passivo as pv
from passivo.method.generate import _key, traced
from passivo.model.describe import model_from
from passivo.run import ahead
from passivo.run.ahead import Ahead

COMPOSED = pv.Monolithic(
    {"spring": pv.library.spring(), "mass": pv.library.mass(ports=("a", "b"))}, [("spring.end", "mass.a", "link")]
)
BEAD = pv.Mechanical(["q"], mass="1 + q**2", potential="q**2/2", ports={"force": pv.effort([1])}, name="bead")


@pytest.mark.parametrize("model", [pv.library.pendulum(), pv.library.kepler(), BEAD, COMPOSED], ids=lambda m: m.name)
def test_a_described_model_has_the_same_place_in_the_cache(model):
    again = model_from(json.loads(json.dumps(model.describe())))
    port, width = next((name, port.width) for name, port in model.ports.items())
    law = pv.Feedback([f"-y{i}" for i in range(width)])
    texts = json.loads(json.dumps(traced(model, {port: law})))
    for method in (pv.RK4(), pv.AVF()):
        mine, theirs = (_key(m, method, t, "numba") for m, t in ((model, traced(model, {port: law})), (again, texts)))
        assert json.dumps(mine) == json.dumps(theirs) and not mine[-1]


class Own(pv.RK4):
    """A method that no other process knows."""


def test_only_what_is_missing_and_can_be_told_is_compiled_ahead(monkeypatch):
    monkeypatch.setattr(ahead.cache, "known", lambda key: False)
    monkeypatch.setattr(Ahead, "_started", lambda *_: None)
    system = pv.System(["q", "p"], "q**2/2 + p**2/2 + q*p/9", [[0, 1], [-1, 0]])  # no positions for SymplecticEuler
    methods = [pv.AVF(), pv.SymplecticEuler(), Own(), pv.Heun(), pv.RK4()]
    assert Ahead(system, methods, {}, {}).later == [pv.RK4()]
    assert Ahead(system, [pv.AVF()], {}, {}).later == []
    monkeypatch.setattr(ahead.cache, "known", lambda key: True)
    assert Ahead(system, methods, {}, {}).later == []


@pytest.mark.parametrize("executable", ["absent", "failing", "other"])
def test_a_process_that_does_not_start_or_dies_does_no_harm(monkeypatch, tmp_path, executable):
    script = tmp_path / ("python" if executable != "other" else "application")
    if executable != "absent":
        script.write_text("#!/bin/sh\nexit 1\n")
        script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(ahead.cache, "known", lambda key: False)
    with Ahead(pv.library.pendulum(), [pv.AVF(), pv.RK4()], {}, {}) as context:
        assert (context.process is None) == (executable != "failing")
        context.wait(pv.RK4())


SCRIPT = """
import passivo as pv
print("begun")
given = pv.compare(pv.library.mass(), [pv.ExplicitEuler(), pv.RK4()], 0.1, 1.0, start={"p": 1.0})
print("ended", [entry.run.steps for entry in given.entries])
"""


def test_a_script_that_compares_at_its_top_level_is_run_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    paths = os.pathsep.join([str(Path(pv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PASSIVO_CACHE": str(tmp_path / "cache"), "PYTHONPATH": paths}
    result = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == ["begun", "ended [10, 10]"] and not result.stderr
    assert len(list((tmp_path / "cache").glob("passivo_generated_*.py"))) == 2
