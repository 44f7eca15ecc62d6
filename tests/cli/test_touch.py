"""`passivo touch`: mistakes before anything moves, and what is told at the end. The help's examples run it as it is."""

from __future__ import annotations

import json

import pytest

import passivo as pv
from passivo.cli import commands, touch  # noqa: F401 - registers all commands
from passivo.cli.app import ACTIVE, MISTAKE, PASSIVE, execute
from passivo.device.sim import Fault
from passivo.loop.touch import StandIn, Touch


def touched(scenario="wall", seconds=0.5, safety=None, faults=()):
    chosen = pv.Scenario.load(scenario)
    device = StandIn.of(chosen).sim(engine="python")
    device.faults = faults
    with device:
        return Touch(chosen, device, safety, clock="simulated", engine="python").run(seconds)


@pytest.fixture(scope="module")
def wall():
    return touched()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("touch oscillator", "nothing in it stands for a device"),
        ("touch multirate", "no part of multirate stands for the device"),
        ("touch wall --device simm", "there is no device 'simm'; did you mean 'sim'?"),
        ("touch wall --device sim:3", "takes nothing after a colon"),
        ("touch wall --axis y", "simulated handle has no axis 'y'"),
        ("touch wall --record touch.txt", "--record writes .mcap or .zarr, not 'touch.txt'"),
        ("touch wall --max-force 1000", "max_force 1000 N is above what simulated handle can hold (30 N)"),
        ("touch wall --dead-man 0", "has 0 buttons"),
        ("touch wall --set wall.kk=3", "no such parameter"),
    ],
)
def test_mistakes_are_told(line, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert execute(line.split()) == MISTAKE
    assert message in capsys.readouterr().err


def test_a_recording_is_never_overwritten(tmp_path, capsys):
    (tmp_path / "old.mcap").touch()
    assert execute(["touch", "wall", "--record", str(tmp_path / "old.mcap")]) == MISTAKE
    assert "exists already" in capsys.readouterr().err


def test_the_verdict_of_the_port_comes_first(wall, capsys):
    assert touch.tell(wall, [], None, "wall", False) == PASSIVE
    text = capsys.readouterr().out
    assert text.index("device port: ") < text.index("Mean penetration") < text.index("lateness") < text.index("network")
    assert "Try next: passivo run wall" in text and "recording" not in text


def test_json_says_the_same(wall, capsys):
    touch.tell(wall, [], None, "wall", True)
    told = json.loads(capsys.readouterr().out)
    assert told["ports"]["device"]["passive"] and told["device"]["axis"] == "x"
    assert told["felt"]["mean_penetration"] == pytest.approx(wall.penetration)
    assert told["safety"]["clamp"] is True and told["ticks"] == wall.report.ticks


def test_a_clamp_that_is_off_is_told_in_the_strongest_words(capsys):
    felt = touched(safety=pv.Safety(clamp=False))
    assert touch.tell(felt, [], None, "wall", False) == ACTIVE
    assert "THE ENERGY CLAMP WAS SWITCHED OFF" in capsys.readouterr().out


def test_a_device_that_fails_ends_it_with_the_reason(capsys):
    felt = touched(faults=(Fault("unplug", 0.2),))
    assert touch.tell(felt, [], None, "wall", False) == MISTAKE
    both = capsys.readouterr()
    assert "unplugged" in both.out and "stopped early: device: the device was unplugged" in both.err


def test_what_was_not_recorded_is_said(wall, capsys, tmp_path, monkeypatch):
    sentence = "0 rows in touch.mcap; recording stopped: No space left"
    monkeypatch.setitem(vars(wall.report), "recording", sentence)
    touch.tell(wall, [], tmp_path / "touch.mcap", "wall", False)
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_the_status_reads_the_last_row():
    chosen = pv.Scenario.load("wall")
    with StandIn.of(chosen).sim(engine="python") as device:
        prepared = Touch(chosen, device, clock="simulated", engine="python")
        prepared.run(0.05)
        line = touch.state(prepared)
    assert " mm " in line and " N " in line and " mJ " in line and "missed" in line and len(line) <= 80
