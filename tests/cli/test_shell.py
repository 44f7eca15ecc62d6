"""The command as a shell runs it: every example of every help text, completion, and Ctrl-C while it computes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from passivo.cli import commands  # noqa: F401 - registers all commands
from passivo.cli.app import EXAMPLES, execute
from passivo.run.save import load

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}


def shell(line, folder, **environment):
    options = {"cwd": folder, "env": {**ENVIRONMENT, **environment}, "timeout": 600}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_in_the_help_runs(name, tmp_path, capsys):
    execute([name, "--help"])
    text = capsys.readouterr().out
    assert len(EXAMPLES[name]) >= 2
    for line in EXAMPLES[name]:
        assert f"\n    {line}\n" in text + "\n"  # as written, in one line
        done = shell(line, tmp_path)
        assert done.stderr == ""
        assert done.returncode in ((0, 1) if name in ("run", "compare") else (0,)), f"{line}\n{done.stdout}"
        if "--json" in line:
            json.loads(done.stdout)


def test_python_m_passivo(tmp_path):
    done = shell(f"{shlex.quote(sys.executable)} -m passivo --version", tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("passivo ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("passivo ", {"run", "compare", "methods", "audit", "reproduce", "bench"}),
        ("passivo run osc", {"oscillator"}),
        ("passivo run oscillator --method Imp", {"ImplicitEuler", "ImplicitMidpoint"}),
        ("passivo reproduce b", {"borghesan-fig3"}),
        ("passivo run --write-template pen", {"pendulum"}),
    ],
)
def test_completion(words, expected, tmp_path):
    count = len(shlex.split(words)) - (not words.endswith(" "))
    completion = {"_PASSIVO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = shell("passivo", tmp_path, **completion)
    assert set(done.stdout.split()) == expected


def test_ctrl_c_leaves_a_run_that_can_be_loaded(tmp_path):
    """A run of hours; it is stopped after its first second of stepping."""
    (tmp_path / "long.yaml").write_text(
        "system: oscillator\nstart: {q: 0.2}\nrun: {step: 1e-6, until: 1e4, record_every: 1000000}\n"
    )
    process = subprocess.Popen(
        [BIN / "passivo", "run", "long.yaml"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(15)  # it may have to compile first; wherever it is then, it must end cleanly
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err.startswith("stopped: by Ctrl-C") and "Traceback" not in out + err
    if "what was computed is kept" in err:
        run = load(tmp_path / "out" / "long.zarr")
        assert 0 < run.steps < run.planned and run.verdict.kind == "none"
        assert (tmp_path / "out" / "long.png").exists()
