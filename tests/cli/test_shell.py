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


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "compare"])  # that one in test_commands.py
def test_every_example_in_the_help_runs(name, tmp_path, capsys):
    execute([name, "--help"])
    text = capsys.readouterr().out
    assert len(EXAMPLES[name]) >= 2
    for line in EXAMPLES[name]:
        assert f"\n    {line}\n" in text + "\n"  # as written, in one line
        done = shell(line, tmp_path)
        assert done.stderr == ""
        late = name == "touch" and "held too long" in done.stdout  # so a busy machine may make it active
        assert done.returncode in ((0, 1) if name == "run" or late else (0,)), f"{line}\n{done.stdout}"
        if "--json" in line:
            json.loads(done.stdout)


def test_python_m_passivo(tmp_path):
    done = shell(f"{shlex.quote(sys.executable)} -m passivo --version", tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("passivo ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "passivo ",
            {
                *("run", "touch", "compare", "zwidth", "methods", "devices", "replay", "audit", "latency"),
                *("reproduce", "bench"),
            },
        ),
        ("passivo run osc", {"oscillator"}),
        ("passivo run oscillator --method Imp", {"ImplicitEuler", "ImplicitMidpoint"}),
        ("passivo reproduce borghesan-fig1", {f"borghesan-fig{n}" for n in (10, 11, 12, 13, 15, 16)}),
        ("passivo run --write-template pen", {"pendulum", "pendulum_chain"}),
        ("passivo compare oscillator --methods AVF,Colloc", {"AVF,Collocation"}),
    ],
)
def test_completion(words, expected, tmp_path):
    count = len(shlex.split(words)) - (not words.endswith(" "))
    completion = {"_PASSIVO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = shell("passivo", tmp_path, **completion)
    assert set(done.stdout.split()) == expected


def computed(pid):
    """CPU seconds of a process: on a busy machine the clock tells nothing."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_leaves_a_run_that_can_be_loaded(tmp_path):
    """A run of hours, stopped while it steps; pressed twice in a hurry, nothing more is lost."""
    text = "system: oscillator\nstart: {q: 0.2}\nrun: {step: 1e-6, until: UNTIL, record_every: 1000000}\n"
    (tmp_path / "short.yaml").write_text(text.replace("UNTIL", "1e-5"))
    (tmp_path / "long.yaml").write_text(text.replace("UNTIL", "1e4"))
    assert shell("passivo run short.yaml", tmp_path).returncode == 0  # compiles
    options = {"cwd": tmp_path, "env": ENVIRONMENT, "text": True, "start_new_session": True}
    process = subprocess.Popen(
        [BIN / "passivo", "run", "long.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )
    while computed(process.pid) < 4.0:  # it has begun to step: there is nothing to compile
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130 and "Traceback" not in out + err
    assert err.startswith("stopped: by Ctrl-C at t = ") and "what was computed is kept" in err
    run = load(tmp_path / "out" / "long.zarr")
    assert 0 < run.steps < run.planned and run.verdict.kind == "none"
    assert (tmp_path / "out" / "long.png").exists()


@pytest.mark.parametrize("where", ["| true", "| head -1", ">&-", "--json | true"])
def test_a_reader_that_goes_away_costs_nothing(where, tmp_path):
    done = shell(f"set -o pipefail; passivo run oscillator --until 0.01 {where}", tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert load(tmp_path / "out" / "oscillator.zarr").steps == 10 and (tmp_path / "out" / "oscillator.png").exists()


@pytest.mark.parametrize("option", ["", "--json"])
def test_a_full_disk_is_told(option, tmp_path):
    done = shell(f"passivo methods {option} > /dev/full", tmp_path)
    assert done.returncode == 2 and done.stderr == "mistake: the output: No space left on device\n"
