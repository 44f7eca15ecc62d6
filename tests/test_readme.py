"""The code of the README runs as written, in order, in one namespace."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.filterwarnings("error")
def test_readme_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 5
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert "audit passed" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"run.png", "run.zarr", "cart.zarr", "arm.png", "arm.mp4"}


def test_readme_commands_run(tmp_path, monkeypatch, capsys):
    """Line by line in an empty folder, beside the scenario the README shows."""
    from passivo.cli import commands  # noqa: F401 - registers all commands
    from passivo.cli.app import execute
    from passivo.scenario.scenario import Scenario

    text = (ROOT / "README.md").read_text()
    (scenario,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "shown.yaml").write_text(scenario)
    assert Scenario.load(str(tmp_path / "shown.yaml")).simulate(engine="python").verdict.kind == "exact"
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (compared,) = (line for line in block.splitlines() if "compare" in line)
    for line in block.splitlines():
        if line == compared:
            continue  # below
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True)
        late = "touch" in line and b"held too long" in done.stdout  # a tick came late on a busy machine
        assert done.returncode == int("active" in line) or late, (line, done.stderr)
        assert done.stderr == b""
    # all methods in plain Python: it would take minutes to compile them
    compare = Scenario.compare
    monkeypatch.setattr(Scenario, "compare", lambda self, *a: compare(self, *a, engine="python"))
    monkeypatch.chdir(tmp_path)
    assert execute(shlex.split(compared, comments=True)[1:]) == 1
    said = capsys.readouterr()
    assert said.err == "" and all(f"\n{name} " in said.out for name in ("AVF", "Gonzalez", "EnergyConsistent"))


def test_readme_names_both_commands():
    text = (ROOT / "README.md").read_text()
    assert "make run" in text and "make test" in text and "make test" in (ROOT / ".ci" / "run").read_text()


def test_readme_quotes_true_verdicts():
    """The sentences the README quotes are those the program says."""
    import passivo as pv

    text = " ".join((ROOT / "README.md").read_text().split())
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    namespace: dict = {}
    exec(blocks[0].split("run = ")[0], namespace)
    oscillator = namespace["oscillator"]
    for method, until in (
        (pv.AVF(), 2.0),
        (pv.ExplicitEuler(), 0.1),
        (pv.SymplecticEuler(positions=("q",)), 2.0),
    ):
        run = pv.simulate(oscillator, method, step=1e-3, until=until, start={"q": 0.2})
        assert f"*{run.verdict}*" in text
