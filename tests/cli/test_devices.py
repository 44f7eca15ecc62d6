"""`passivo devices`: quick, never a crash, and a sentence for whatever is missing."""

import json
import sys

import pytest

from passivo.cli.app import EXAMPLES, execute
from passivo.device import catalogue


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """A wide screen, and none of the vendors' packages."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("forcedimension_core", "pyOpenHaptics"):
        monkeypatch.setitem(sys.modules, name, None)


def call(capsys, *arguments):
    code = execute(["devices", *arguments])
    said = capsys.readouterr()
    assert code == 0
    assert said.err == ""
    return said.out


def test_a_row_for_every_driver(capsys):
    rows = {line.split()[0]: line.split()[1] for line in call(capsys).splitlines()[1 : len(catalogue.DRIVERS) + 1]}
    assert list(rows) == list(catalogue.DRIVERS)
    assert (rows["Sim"], rows["Mouse"], rows["Replay"]) == ("yes", "yes", "yes")
    assert (rows["DHD"], rows["OpenHaptics"]) == ("no", "no")


def test_what_is_missing_is_told_with_the_command_that_gets_it(capsys):
    said = call(capsys)
    assert "pip install 'passivo[dhd]'" in said
    assert "pip install 'passivo[openhaptics]'" in said


def test_json(capsys):
    found = json.loads(call(capsys, "--json"))
    assert list(found) == list(catalogue.DRIVERS)
    assert found["Sim"] == {"usable": True, "sentence": "always there"}
    assert found["DHD"]["usable"] is False


@pytest.mark.parametrize("trouble", [ImportError("a symbol is missing"), RuntimeError(""), OSError("libusb")])
def test_a_driver_that_breaks_is_a_line(capsys, monkeypatch, trouble):
    def probe():
        raise trouble

    monkeypatch.setattr(catalogue.Sim, "probe", probe)
    found = json.loads(call(capsys, "--json"))
    assert found["Sim"]["usable"] is False
    assert (str(trouble) or "RuntimeError") in found["Sim"]["sentence"]
    assert found["Mouse"]["usable"] is True


def test_a_driver_that_is_not_there(capsys, monkeypatch):
    monkeypatch.setitem(catalogue.DRIVERS, "Glove", "passivo.device.glove")
    found = json.loads(call(capsys, "--json"))
    assert "cannot be loaded" in found["Glove"]["sentence"]


def test_the_examples_of_the_help_run(capsys):
    execute(["devices", "--help"])
    shown = capsys.readouterr().out
    for line in EXAMPLES["devices"]:
        assert line in shown
        call(capsys, *line.split()[2:])
