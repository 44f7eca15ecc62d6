"""The picture of a comparison: every method told apart, and what was left out or cut off said."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import passivo as pv
from passivo.run.compare import Entry
from passivo.run.plot_comparison import _stroke
from passivo.run.plot_methods import MARKS, most_of

L = pv.library


@cache
def comparison(step=0.01, until=4.0, k=100.0, m=1.0):
    """Some methods in plain Python; one that does not apply."""
    methods = [pv.AVF(), pv.ImplicitEuler(), pv.SymplecticEuler(), pv.ExplicitEuler(), pv.RK4()]
    model, start = L.oscillator(k=k, m=m), {"q": 0.2}
    found = pv.compare(model, methods, step=step, until=until, start=start, engine="python")
    left_out = replace(found.entries[0], title="Heun", run=None, error=None, cost=None, reason="it was left out")
    return replace(found, entries=(*found.entries, left_out))


def texts(figure):
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def names(figure):
    return [text.get_text() for text in figure.axes[2].get_yticklabels()]


def keys(figure):
    """Name -> the line before it."""
    return {line.get_gid(): line for line in figure.axes[2].lines if line.get_gid()}


def marks(axis):
    """Row -> the full marks of methods."""
    return {round(line.get_ydata()[0]): line for line in axis.lines if line.get_marker() in MARKS.values()
            and len(line.get_xdata()) == 1 and line.get_markerfacecolor() != "none"}  # fmt: skip


@pytest.mark.parametrize("name", ["methods.png", "methods.svg", "methods.pdf"])
def test_a_comparison_is_one_picture(name, tmp_path):
    figure = comparison().plot(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 5000
    motion, created, *rows = figure.axes
    assert [axis.get_ylabel().split("[")[1].split("]")[0] for axis in (motion, created)] == ["m", "J"]
    assert [axis.get_xlabel().split("[")[1].split("]")[0] for axis in rows] == ["1", "J", "µs"]
    assert "oscillator: steps of 0.01 s until 4 s" in texts(figure)
    assert "Heun does not apply: it was left out" in texts(figure)
    assert "Leaving the first picture: ExplicitEuler" in texts(figure)
    assert names(figure) == ["reference", *(entry.title for entry in comparison().entries)]


def test_the_window_is_a_few_periods_near_the_end():
    motion = comparison().plot().axes[0]
    assert motion.get_xlim() == pytest.approx((4.0 - 3 * 2 * np.pi / 10, 4.0), abs=0.02)
    low, high = motion.get_ylim()
    assert -0.3 < low < -0.2 and 0.2 < high < 0.3, "limits are set by the reference"


def test_exact_methods_lie_on_zero():
    created = comparison().plot().axes[1]
    lines = {line.get_label(): line.get_ydata() for line in created.lines}
    to_axis = lambda value: created.transAxes.inverted().transform(created.transData.transform((0.0, value)))[1]  # noqa: E731
    assert max(abs(to_axis(value) - to_axis(0.0)) for value in lines["AVF"]) < 0.01
    assert to_axis(lines["ExplicitEuler"][-1]) - to_axis(0.0) > 0.2
    assert to_axis(lines["ImplicitEuler"][-1]) - to_axis(0.0) < -0.2


def test_stopped_and_exploded_methods_are_told():
    """Everything explicit explodes at once with ωh = 16."""
    figure = comparison(step=0.1, until=14.0, k=5000.0, m=0.2).plot()
    assert "ExplicitEuler stopped: the next state or its energy is NaN" in texts(figure)
    assert any(re.match(r"\d\.\d·10¹⁵", text.get_text()) for text in figure.axes[2].texts)


@pytest.mark.parametrize(("error", "figure"), [(36.2, "36"), (1e10, "1·10¹⁰"), (4.87e10, "4.9·10¹⁰"), (np.inf, "∞")])
def test_what_is_far_off_has_the_figure_of_the_table(error, figure):
    few = comparison()
    entries = (*few.entries[:3], replace(few.entries[3], error=error))
    assert f"{figure} " in [text.get_text() for text in replace(few, entries=entries).plot().axes[2].texts]


@pytest.mark.parametrize(("removed", "word"), [(1.0, "active, bounded"), (0.1, "active")])
def test_what_is_bounded_but_never_given_back_is_plainly_active(removed, word):
    verdict = pv.Verdict("active", bias=1.0, removed=removed, bounded=True)
    run: Any = SimpleNamespace(verdict=verdict)
    assert Entry("x", pv.AVF(), run, None, None).kind == word and word in MARKS


def test_the_reference_has_the_figure_of_the_table():
    few = comparison()
    known = replace(few, reference=replace(few.reference, accuracy=3.84e-13))
    assert "The reference itself is known to 3.8·10⁻¹³" in texts(known.plot())


def test_sixteen_methods_are_told_apart_without_colour():
    strokes = [_stroke(i) for i in range(16)]
    assert len({(str(stroke["linestyle"]), stroke["marker"]) for stroke in strokes}) == 16


def test_twenty_methods_have_a_row_each_and_nothing_overlaps():
    few = comparison()
    entries = [replace(few.entries[i % 6], title=f"method_of_a_long_name_{i}") for i in range(24)]
    figure = replace(few, entries=tuple(entries)).plot()
    labels = figure.axes[2].get_yticklabels()
    boxes = [Text.get_window_extent(text) for text in (*labels, *figure.texts, *figure.axes[2].texts)]
    assert len(labels) == 25 and not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    picture = figure.bbox
    assert all(box.x0 >= picture.x0 and box.x1 <= picture.x1 and box.y0 >= picture.y0 for box in boxes)
    assert min(box.x0 for box in boxes[:25]) > figure.axes[0].get_window_extent().x1


def test_methods_that_lie_on_one_another_share_a_line():
    """AVF and the implicit midpoint are the same where the energy is quadratic."""
    model, start = L.oscillator(k=100.0, m=1.0), {"q": 0.2}
    methods = [pv.AVF(), pv.RK4(), pv.ImplicitMidpoint(), pv.ExplicitEuler()]
    found = pv.compare(model, methods, step=0.01, until=4.0, start=start, engine="python")
    figure = found.plot()
    key = {name: (line.get_color(), line.get_linestyle()) for name, line in keys(figure).items()}
    assert key["AVF"] == key["ImplicitMidpoint"] and len(set(key.values())) == 4
    for axis in figure.axes[:2]:
        drawn = [line.get_label() for line in axis.lines]
        assert {"AVF", "RK4", "ExplicitEuler"} <= set(drawn) and "ImplicitMidpoint" not in drawn
    assert "Methods with the same line lie on one another" in texts(figure)
    assert "same line" not in texts(comparison().plot())


def test_rows_show_error_energy_and_cost():
    figure = comparison().plot()
    error, energy, cost = figure.axes[2:]
    for row, entry in enumerate(comparison().entries[:5], 1):
        if entry.error < 10:
            assert marks(error)[row].get_xdata()[0] == pytest.approx(entry.error)
        assert marks(cost)[row].get_xdata()[0] == pytest.approx(1e6 * entry.cost)
        assert marks(cost)[row].get_marker() == MARKS[entry.kind]
    explosion = comparison().entries[3]
    most = most_of([entry.run for entry in comparison().entries[:5]])
    assert marks(energy)[4].get_xdata()[0] == pytest.approx(min(explosion.created, most))
    assert marks(energy)[1].get_xdata()[0] < 1e-3 * min(
        entry.created for entry in comparison().entries[:5] if entry.created
    ), "an exact method stands at the left edge"
    assert energy.get_xticklabels()[0].get_text() == "≈ 0"
    assert 6 not in marks(error) and "does not apply" in [text.get_text() for text in error.texts]


def test_a_reference_that_ends_early_is_drawn_as_far_as_it_goes(tmp_path):
    force = np.where(np.arange(20) == 10, np.nan, 0.0)
    given = pv.compare(L.mass(), [pv.AVF()], 0.1, 2.0, start={"p": 1.0}, inputs={"force": force}, engine="python")
    figure = given.plot(tmp_path / "methods.png")
    assert np.isfinite(figure.axes[0].get_ylim()).all()
    assert "AVF stopped" in texts(figure)


@pytest.mark.parametrize(("accuracy", "note"), [(np.inf, "No reference was found"), (np.nan, "No reference was comp")])
@pytest.mark.parametrize("states", [np.nan, np.inf, 0.0])
def test_without_a_reference_the_runs_are_drawn(accuracy, note, states, tmp_path):
    few = comparison()
    reference = replace(few.reference, states=np.full_like(few.reference.states, states), accuracy=accuracy)
    entries = tuple(replace(entry, error=None) for entry in few.entries)
    figure = replace(few, reference=reference, entries=entries).plot(tmp_path / "methods.png")
    assert note in texts(figure)
    (said,) = (" ".join(text.get_text().split()) for text in figure.axes[2].texts if "told" in text.get_text())
    assert said == "errors cannot be told: " + ("no reference was " + note.split()[-1]).replace("comp", "computed")
    drawn = [line for line in figure.axes[0].lines if line.get_label().startswith("reference")]
    assert bool(drawn) == (states == 0.0) and {entry.title for entry in few.entries[:5]} <= set(keys(figure))
    if not drawn:
        assert figure.axes[0].get_ylim()[1] < 0.5, "one that explodes must not hide the others"
    replace(few, reference=reference).plot(tmp_path / "methods.png")  # errors that were found before


def test_eight_methods_have_colours_of_their_own():
    assert len({_stroke(i)["color"] for i in range(8)}) == 8


def test_where_eyes_cannot_tell_deviations_are_drawn():
    methods, start = [pv.AVF(), pv.RK4()], {"q": 0.2}
    near = pv.compare(L.oscillator(k=1.0, m=1.0), methods, step=0.01, until=1.0, start=start, engine="python")
    motion = near.plot().axes[0]
    assert motion.get_title("left") == "deviation of q from the reference" and motion.get_ylabel().startswith(
        "deviation ["
    )
    largest = {line.get_label(): np.abs(line.get_ydata()).max() for line in motion.lines}
    assert largest["reference"] == 0 and 0 < largest["RK4"] < 1e-3 * largest["AVF"]


def test_the_whole_run_is_not_near_the_end():
    assert comparison(until=0.5).plot().axes[0].get_title("left") == "q"
    assert comparison().plot().axes[0].get_title("left") == "q near the end"


def test_a_poor_reference_is_told_below_the_errors():
    """Errors that the table marks with ~ lie in the grey."""
    few = comparison()
    smallest = min(entry.error for entry in few.entries if entry.error)
    for accuracy, doubt in ((0.4, True), (smallest / 2, True), (smallest / 4, False)):
        figure = replace(few, reference=replace(few.reference, accuracy=accuracy)).plot()
        assert ("Errors in the grey cannot be told" in texts(figure)) == doubt == bool(figure.axes[2].patches)


def test_a_band_is_explained_where_there_is_one():
    assert "Shaded: between the least and the most" in texts(comparison(until=40.0).plot())
    assert "Shaded" not in texts(comparison().plot())
