"""`passivo latency`: what is shown. The help's examples run it as it is."""

from __future__ import annotations

import numpy as np
import pytest

from passivo.cli import latency as cli
from passivo.cli.app import MISTAKE, PASSIVE, execute
from passivo.loop.latency import Latency, latency


@pytest.fixture
def found():
    plain = latency(1000.0, 0.1, clock="simulated", engine="python").report
    counts = np.zeros_like(plain.lateness.counts)
    counts[[0, 60, 110, 200]] = [29000, 800, 30, 1]
    late = type(plain.lateness)(counts, 1.8e-3)
    return Latency(1000.0, 2, type(plain)(**{**vars(plain), "lateness": late, "setup": ("Refused.",)}))


def test_the_histogram_fits_a_terminal(found, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    cli.show(found)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for word in ("beside 2 busy processes", "below 1 µs", "1 ms – 2 ms", "p99.9", "missed", "computing", "Refused."):
        assert word in text
    assert "█" * cli.BAR in text and "█" * (cli.BAR + 1) not in text


@pytest.mark.parametrize(("long", "shown"), [(0.0, ""), (0.5, "▌"), (1.0, "█"), (2.25, "██▎")])
def test_bars_are_drawn_to_an_eighth(long, shown):
    assert cli.bar(long) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(1e-6, "1 µs"), (1.05e-7, "0.105 µs"), (1e-3, "1 ms"), (0.0123, "12.3 ms"), (2.0, "2 s")]
)
def test_lengths(seconds, shown):
    assert cli.length(seconds) == shown


def test_it_is_drawn_as_well(found, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("passivo.loop.latency.latency", lambda *given, watch: found)
    assert execute(["latency"]) == PASSIVE
    assert "written  out/latency.png" in capsys.readouterr().out
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"latency.png", "latency.svg"}


def test_a_rate_that_cannot_be(capsys):
    assert execute(["latency", "--rate", "0"]) == MISTAKE
    assert "from 1 to 50000" in capsys.readouterr().err
