"""Pictures: written in every format, a unit on every axis, nothing lost by thinning, one ledger everywhere."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import passivo as pv
from passivo.run import draw, plot

L = pv.library


def simulate(model, method=None, **options):
    """A short run in plain Python; a run that stops is kept as far as it came."""
    settings = {"step": 0.01, "until": 0.5, "engine": "python", **options}
    try:
        return pv.simulate(model, method or pv.AVF(), **settings)
    except pv.StepError as error:
        return error.run


def cart(prefix=""):
    parts = {
        f"{prefix}spring": L.spring(k=400.0),
        f"{prefix}mass": L.mass(m=0.2, ports=("left", "right", "hand")),
        f"{prefix}damper": L.damper(b=0.2),
    }
    ends = [(f"{prefix}{a}.end", f"{prefix}mass.{b}") for a, b in (("spring", "left"), ("damper", "right"))]
    return pv.Monolithic(parts, ends)


def bare(states=2):
    n = states // 2
    half = [[0] * n + [int(i == j) for j in range(n)] for i in range(n)]
    other = [[-int(i == j) for j in range(n)] + [0] * n for i in range(n)]
    names = [f"{letter}{i}" for letter in "qp" for i in range(n)]
    return pv.System(names, " + ".join(f"{name}**2/2" for name in names), half + other)


CASES = {
    "oscillator": lambda: simulate(L.oscillator(), start={"q": 0.2}),
    "driven": lambda: simulate(L.oscillator(), inputs={"force": 100.0}),
    "pendulum": lambda: simulate(L.pendulum(), pv.RK4(), start={"q": 2.0}),
    "chain": lambda: simulate(L.toda_chain(8), start={"q1": 1.0}, until=0.1),
    "body": lambda: simulate(L.rigid_body(), start={"w1": 1.0}, inputs={"torque": np.ones((50, 3))}),
    "composed": lambda: simulate(cart(), start={"spring.q": 0.1}, inputs={"mass.hand": 1.0}),
    "long names": lambda: simulate(cart("the_front_left_and_rather_long_"), start={}),
    "damper": lambda: simulate(L.damper(), inputs={"end": 1.0}),
    "damper at rest": lambda: simulate(L.damper()),
    "no units": lambda: simulate(bare(), start={"q0": 1.0}),
    "no units, many": lambda: simulate(bare(20), start={"q0": 1.0}, until=0.1),
    "stopped at once": lambda: simulate(L.oscillator(), start={"q": 1.0}, inputs={"force": np.full(50, np.nan)}),
    "exploded": lambda: simulate(L.oscillator(), pv.ExplicitEuler(), start={"q": 0.2}, step=0.1, until=30.0),
    "exploding": lambda: simulate(L.oscillator(), pv.ExplicitEuler(), start={"q": 0.2}, step=0.1, until=0.5),
    "tiny": lambda: simulate(L.oscillator(), start={"q": 1e-12}),
    "many units": lambda: simulate(
        pv.Monolithic({"a": L.dc_motor(), "b": L.lc_circuit(), "c": L.oscillator()}),
        until=0.05,
        inputs={"a.voltage": 1.0, "a.torque": 1.0, "b.voltage": 1.0, "c.force": 1.0},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_axis_names_a_unit(case, tmp_path):
    figure = CASES[case]().plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 5000
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert all(label.split("[")[-1].split("]")[0] for label in labels), labels
    assert sum(axis.get_xlabel().startswith("time [") for axis in figure.axes) == (1 if len(labels) == 2 else 2)
    assert labels[-2].startswith("energy [") and labels[-1].startswith("created [")


def labels(case):
    return [axis.get_ylabel() for axis in CASES[case]().plot().axes[:-2]]


def test_one_axis_per_unit():
    assert labels("oscillator") == ["q [m]", "p [kg m/s]"], "a port at rest needs no axis"
    assert labels("driven") == ["q [m]", "p [kg m/s]", "force in [N]", "force port,\nflow [m/s]"]
    assert labels("body") == ["w1, w2, w3 [rad/s]", "torque in [N m]"], "an output that is a state is drawn once"
    assert labels("chain") == ["states [m]", "states [kg m/s]"]
    assert labels("no units") == ["q0 [SI]", "p0 [SI]"]
    assert labels("no units, many") == ["states [SI]", "states [SI]"]
    assert labels("damper at rest") == []
    assert labels("tiny")[0] == "q [10⁻¹² m]"
    assert labels("exploded")[0] == "q [m]\n(logarithmic)"
    assert len(labels("many units")) == plot.MOST_AXES and "share of its largest [1]" in labels("many units")[-1]


def test_the_title_is_the_verdict_in_its_colour():
    run = CASES["exploding"]()
    title = run.plot()._suptitle
    assert title.get_text() == str(run.verdict) and title.get_color() == draw.VERDICTS["active"]


@pytest.mark.parametrize("name", ["run.png", "run.svg", "run.pdf", "deep/er/run.png"])
def test_formats(name, tmp_path):
    CASES["oscillator"]().plot(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 5000
    if name.endswith("svg"):
        assert "exact: energy was neither" in (tmp_path / name).read_text(), "text stays text"


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(pv.InputError, match=r"'run.docx'; use .png, .svg or .pdf"):
        CASES["oscillator"]().plot(tmp_path / "run.docx")


@pytest.mark.parametrize("rows", [5, 4000, 4001, 99_999, 100_000])
def test_thinning_keeps_extremes(rows):
    values = np.random.default_rng(0).standard_normal(rows)
    values[rows // 3], values[2 * rows // 3] = 50.0, -50.0
    pick = draw.thin(values)
    assert len(pick) <= draw.MOST_POINTS + 2 and (np.diff(pick) > 0).all()
    assert pick[0] == 0 and pick[-1] == rows - 1
    assert {50.0, -50.0} <= set(values[pick])
    gaps = np.where(np.arange(rows) < rows // 2, np.nan, values)
    assert -50.0 in gaps[draw.thin(gaps)]


def test_a_spike_of_one_step_is_seen():
    force = np.zeros(20_000)
    force[7777] = 1e4
    run = simulate(L.mass(), step=1e-3, until=20.0, inputs={"force": force})
    (line,) = next(axis for axis in run.plot().axes if "10³ N" in axis.get_ylabel()).lines
    assert line.get_ydata()[~np.isnan(line.get_ydata())].max() == 10.0


def test_one_function_draws_every_ledger(monkeypatch):
    seen = []
    monkeypatch.setattr(plot, "draw_ledger", lambda axes, time, ledger, verdict, step: seen.append(list(ledger)))
    CASES["composed"]().plot()
    assert seen == [["spring", "mass", "damper", "spring.end-mass.left", "damper.end-mass.right", "total"]]


def test_a_picture_loads_little(tmp_path):
    """No pyplot, and nothing for labelled arrays: a picture should come at once."""
    code = """
import sys
import passivo as pv
run = pv.simulate(pv.library.oscillator(), pv.AVF(), step=0.01, until=0.1, start={"q": 1.0}, engine="python")
assert "matplotlib" not in sys.modules
import passivo.run.plot
assert "matplotlib" not in sys.modules
run.plot(sys.argv[1])
assert not {"matplotlib.pyplot", "xarray", "pandas"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.png")], check=True)


def test_legends_are_read_row_by_row():
    assert draw.by_rows("abcde", 2) == ["a", "c", "e", "b", "d"], "three rows: a b, c d, e"
    assert draw.columns_of(["abc", "abcdefgh", "abc"], 25) == 2 and draw.columns_of(["a" * 50], 20) == 1
    assert draw.columns_of(["abc"] * 4, 30) == 2, "two and two, not three and one"


def test_what_a_port_gives_is_named_by_its_kind():
    run = simulate(L.spring(), inputs={"end": 0.1})
    assert [axis.get_ylabel() for axis in run.plot().axes[:-2]] == ["q [m]", "end in [m/s]", "end port,\neffort [N]"]


def test_roundoff_is_shaded_as_it_adds_up():
    run = CASES["oscillator"]()
    below = run.plot().axes[-1]
    (band,) = below.collections
    corners = band.get_paths()[0].vertices
    assert band.get_label() == "roundoff, summed up"
    widest = run.verdict.roundoff * run.steps**0.5
    assert corners[:, 1].max() == pytest.approx(widest * 10.0 ** -draw.power_of(widest)), "wide as a random walk"
    assert not CASES["exploding"]().plot().axes[-1].collections, "more than roundoff was created"
    axes = run.plot().axes[-2:]
    for axis in axes:
        axis.clear()
    broken = replace(run.verdict, roundoff=np.nan)
    draw.draw_ledger(axes, run.time, draw.ledger_of(run), broken, run.step)
    assert not axes[1].collections
