"""`passivo replay` and `passivo audit` of a recording."""

from __future__ import annotations

import json

import pytest

import passivo as pv
from passivo.cli import commands  # noqa: F401 - registers all commands
from passivo.cli.app import ACTIVE, MISTAKE, PASSIVE, execute
from passivo.loop.touch import StandIn, Touch


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "touch.mcap"
    chosen = pv.Scenario.load("wall")
    with StandIn.of(chosen).sim(engine="python") as device:
        Touch(chosen, device, clock="simulated", engine="python").run(0.3, path)
    return path


def test_a_replay_tells_what_was_felt(recorded, capsys, tmp_path):
    assert execute(["replay", str(recorded), "--out", str(tmp_path)]) == PASSIVE
    text = capsys.readouterr().out
    assert "port of device: " in text and "mean force" in text and "passivo audit" in text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["touch-replay.png", "touch-replay.svg"]


def test_a_softer_wall_is_felt_less(recorded, capsys):
    felt = []
    for change in ([], ["--set", "wall.k=1e3"]):
        execute(["replay", str(recorded), "--json", *change])
        felt.append(json.loads(capsys.readouterr().out)["felt"]["device"]["mean_force"])
    assert abs(felt[1]) < 0.2 * abs(felt[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "wall.kk=3"], "did you mean 'wall.k'"),
        (["--set", "wall.k=stiff"], "takes a number, not 'stiff'"),
        (["--set", "wall.k"], "takes NAME=VALUE"),
    ],
)
def test_mistakes_are_told(recorded, words, message, capsys):
    assert execute(["replay", str(recorded), *words]) == MISTAKE
    assert message in capsys.readouterr().err


def test_files_that_are_none_are_told(tmp_path, capsys):
    for name, message in (("none.mcap", "does not exist"), ("none.txt", "ends in .mcap or .zarr")):
        assert execute(["replay", str(tmp_path / name)]) == MISTAKE
        assert message in capsys.readouterr().err
    (tmp_path / "text.mcap").write_text("no recording")
    assert execute(["audit", str(tmp_path / "text.mcap")]) == MISTAKE
    assert "Traceback" not in capsys.readouterr().err


def test_a_recording_without_the_clamp_says_so_wherever_it_is_shown(tmp_path, capsys):
    path, chosen = tmp_path / "off.zarr", pv.Scenario.load("wall")
    with StandIn.of(chosen).sim(engine="python") as device:
        Touch(chosen, device, pv.Safety(clamp=False), clock="simulated", engine="python").run(0.3, path)
    for words in ("replay", "audit"):
        assert execute([words, str(path)]) == ACTIVE
        assert "clamp was switched off" in " ".join(capsys.readouterr().out.lower().split())


def test_an_audit_takes_recordings(recorded, capsys):
    assert execute(["audit", str(recorded)]) == PASSIVE
    assert "every tick repeated" in capsys.readouterr().out
