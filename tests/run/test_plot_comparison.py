"""The picture of a comparison: every method told apart, and what was left out or cut off said."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

import passivo as pv
from passivo.cli.compare import kind
from passivo.run.plot_comparison import MARKS, _kind, _stroke

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


@pytest.mark.parametrize("name", ["methods.png", "methods.svg", "methods.pdf"])
def test_a_comparison_is_one_picture(name, tmp_path):
    figure = comparison().plot(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 5000
    assert [axis.get_ylabel().split("[")[1].split("]")[0] for axis in figure.axes] == ["m", "J", "1"]
    assert "oscillator: steps of 0.01 s until 4 s" in texts(figure)
    assert "Heun does not apply: it was left out" in texts(figure)
    assert "Leaving the first picture: ExplicitEuler" in texts(figure)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["reference", "AVF", "ImplicitEuler", "SymplecticEuler", "ExplicitEuler", "RK4"]


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
    assert any(re.search(r"ExplicitEuler \d\.\d·10¹⁵", text.get_text()) for text in figure.axes[2].texts)


@pytest.mark.parametrize(("error", "figure"), [(36.2, "36"), (1e10, "1·10¹⁰"), (4.87e10, "4.9·10¹⁰"), (np.inf, "∞")])
def test_what_is_far_off_has_the_figure_of_the_table(error, figure):
    few = comparison()
    entries = (*few.entries[:3], replace(few.entries[3], error=error))
    names = [text.get_text() for text in replace(few, entries=entries).plot().axes[2].texts]
    assert f"ExplicitEuler {figure}" in names


@pytest.mark.parametrize(("removed", "word"), [(1.0, "active, bounded"), (0.1, "active")])
def test_picture_and_table_call_a_verdict_the_same(removed, word):
    """What is bounded but never given back is plainly active."""
    verdict = pv.Verdict("active", bias=1.0, removed=removed, bounded=True)
    entry = SimpleNamespace(run=SimpleNamespace(verdict=verdict))
    assert _kind(entry) == kind(entry) == word and word in MARKS


def test_the_reference_has_the_figure_of_the_table():
    few = comparison()
    known = replace(few, reference=replace(few.reference, accuracy=3.84e-13))
    assert "The reference itself is known to 3.8·10⁻¹³" in texts(known.plot())


def test_sixteen_methods_are_told_apart_without_colour():
    strokes = [_stroke(i) for i in range(16)]
    assert len({(str(stroke["linestyle"]), stroke["marker"]) for stroke in strokes}) == 16


def test_names_do_not_overlap(tmp_path):
    few = comparison()
    entries = [replace(few.entries[i % 5], title=f"method_number_{i}", cost=1e-7 * (1 + i / 50)) for i in range(16)]
    figure = replace(few, entries=tuple(entries)).plot(tmp_path / "methods.png")
    boxes = [Text.get_window_extent(text) for text in figure.axes[2].texts]  # without the line to the point
    assert len(boxes) == 16
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


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
    (said,) = (text.get_text() for text in figure.axes[2].texts)
    assert said == "errors cannot be told:\n" + ("no reference was " + note.split()[-1]).replace("comp", "computed")
    drawn = [line for line in figure.axes[0].lines if line.get_label().startswith("reference")]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(names) == 5 + len(drawn) and len(set(names)) == len(names) and bool(drawn) == (states == 0.0)
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


def test_a_poor_reference_is_told_beside_the_errors():
    few = comparison()
    said = lambda accuracy: " ".join(  # noqa: E731
        text.get_text()
        for text in replace(few, reference=replace(few.reference, accuracy=accuracy)).plot().axes[2].texts
    )
    assert "errors cannot be told:\nthe reference itself is known only to 0.4" in said(0.4)
    smallest = min(entry.error for entry in few.entries if entry.error)
    assert "errors in the grey cannot be told" in said(smallest / 2)
    assert "cannot be told" not in said(smallest / 4)


def test_no_mark_lies_on_the_words_about_the_reference(tmp_path):
    """However many decades the errors span."""
    few = comparison()
    for least in (1e-13, 1e-6, 1e-2):
        errors = (1.1 * least, 1.0, 0.5, 30.0, 0.9 * least)
        entries = tuple(replace(entry, error=error) for entry, error in zip(few.entries, errors))
        reference = replace(few.reference, accuracy=least)
        figure = replace(few, entries=entries, reference=reference).plot(tmp_path / "methods.png")
        cost = figure.axes[2]
        (words,) = (text for text in cost.texts if "cannot be told" in text.get_text())
        box = words.get_window_extent()
        marks = [line for line in cost.lines if len(line.get_xdata()) == 1]
        assert len(marks) == 5
        for line in marks:
            y = cost.transData.transform((line.get_xdata()[0], line.get_ydata()[0]))[1]
            assert y - line.get_markersize() / 2 * figure.dpi / 72 >= box.y1


def test_marks_on_one_another_are_both_seen():
    few = comparison()
    twin = replace(few.entries[0], title="Twin")
    cost = replace(few, entries=(few.entries[0], twin)).plot().axes[2]
    first, second = [line for line in cost.lines if len(line.get_xdata()) == 1]
    assert second.get_markersize() > first.get_markersize() and second.get_markerfacecolor() == "none"


def test_a_band_is_explained_where_there_is_one():
    assert "Shaded: between the least and the most" in texts(comparison(until=40.0).plot())
    assert "Shaded" not in texts(comparison().plot())
