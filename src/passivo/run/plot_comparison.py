"""The picture of a comparison: how the methods move, what they create, and error against cost."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from math import ceil, floor, isfinite, isnan, log10
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.run.draw import (
    COLOURS,
    GREY,
    LONGEST_LABEL,
    ROOM,
    STYLE,
    Line,
    bounds,
    by_rows,
    columns_of,
    decades,
    figure,
    finite,
    legend,
    logarithmic,
    power_of,
    short,
    size_of,
    spread,
    ten,
    thin,
    times,
    trace,
    write,
)
from passivo.run.run import COLUMNS

if TYPE_CHECKING:
    from passivo.run.compare import Comparison

DASHES: tuple[Any, ...] = (
    "-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)),
    (0, (2.5, 1.2)), (0, (9, 3)), (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 3)),
)  # fmt: skip
MARKS = {"exact": "o", "passive": "v", "booked": "s", "active, bounded": "D", "active": "^", "no verdict": "X"}
WIDE, HIGH = 12.8, 7.2  # inches: the shape of a slide
HEAD = 0.85
LARGER = {**STYLE, "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold"}
REFERENCE = "reference"
PERIODS = 3
UNSEEN = 0.01  # of the range: about the width of a line
MOST_TURNS = 40
DOUBT = 40.0  # printer's points at the foot: two lines, and half of a mark
FAR = 10.0  # an error of ten times the largest value; beyond, a method is only wrong
Strokes = Mapping[str, dict[str, Any]]


def plot_comparison(comparison: Comparison, path: str | PathLike | None = None) -> Any:
    """Draw a `Comparison` of methods; write it to `path` if given, and return the figure.

    The first position near the end, the energy that each method created, and error against cost. A method keeps its
    colour and its dashes throughout.
    """
    strokes = {entry.title: _stroke(i) for i, entry in enumerate(comparison.entries)}
    ran = [entry for entry in comparison.entries if entry.run is not None]
    notes = textwrap.wrap(" · ".join(_notes(comparison)), 215)
    below = 0.1 + 0.15 * len(notes)  # inches of small print, then of names
    columns = columns_of([REFERENCE, *(f"{entry.title}   " for entry in ran)], 150)
    foot = below + 0.65 + 0.21 * -(-(len(ran) + 1) // columns)
    middle = (foot + HIGH - HEAD) / 2
    with figure(WIDE, HIGH, layout=None, style=LARGER) as picture:
        room = lambda x, y, right, top: (x / WIDE, y / HIGH, (right - x) / WIDE, (top - y) / HIGH)  # noqa: E731
        motion = picture.add_axes(room(0.95, middle + 0.4, 7.5, HIGH - HEAD))
        created = picture.add_axes(room(0.95, foot, 7.5, middle - 0.4))
        cost = picture.add_axes(room(8.5, foot, 12.6, HIGH - HEAD - 0.2))
        _motion(motion, comparison, strokes)
        _created(created, ran, strokes)
        _cost(cost, comparison, strokes)
        title = f"{short(comparison.model.name, 60)}: steps of {comparison.step:g} s until {comparison.until:g} s"
        picture.text(0.015, 1 - 0.12 / HIGH, title, fontsize=15, fontweight="bold", va="top")
        picture.text(0.015, 0.08 / HIGH, "\n".join(notes), fontsize=8, color="#444444", va="bottom")
        picture.legend(
            *(by_rows([*first, *rest], columns) for first, rest in zip(_keys(motion, REFERENCE), _keys(created))),
            loc="lower center", bbox_to_anchor=(0.5, below / HIGH), ncols=columns, fontsize=10, handlelength=3.2,
            borderaxespad=0.0, labelspacing=0.3,
        )  # fmt: skip
    write(picture, path)
    return picture


def _keys(axis: Any, begins: str = "") -> tuple[list[Any], list[str]]:
    """Handles and labels of what is drawn, where the label begins so."""
    pairs = [pair for pair in zip(*axis.get_legend_handles_labels()) if pair[1].startswith(begins)]
    return [handle for handle, _ in pairs], [label for _, label in pairs]


def _stroke(i: int) -> dict[str, Any]:
    """How the i-th method is drawn: told apart by colour, and without colour by dashes (and dots beyond eight)."""
    dots = {"marker": ".", "markersize": 7, "markevery": 0.09} if i >= len(DASHES) else {"marker": ""}
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.6, **dots}


def _motion(axis: Any, comparison: Comparison, strokes: Strokes) -> None:
    """The first position of each run in the last few periods; how far they are off where that cannot be seen."""
    model, name = comparison.model, _position(comparison)
    low, high, lines = _near_the_end(comparison, strokes)
    begin, end = min(line.time[0] for line in lines), max(line.time[-1] for line in lines)
    when, unit = " near the end" if begin > 0 else "", model.unit(name) or "SI"
    if apart := _deviations(lines, comparison.reference.accuracy * size_of(lines[0].values)):
        _apart(axis, *apart, unit)
        axis.set_title(f"deviation of {short(name)} from the reference{when}")
    else:
        power = power_of(max(abs(low), abs(high)))
        reach = high - low  # a line may leave the axis, but 1e300 cannot be drawn
        trace(axis, [replace(line, values=np.clip(line.values, low - reach, high + reach)) for line in lines], power)
        axis.set_title(short(name) + when)
        axis.set_ylabel(f"{short(name, LONGEST_LABEL)} [{times(power)}{unit}]")
        axis.set_ylim(low * 10.0**-power, high * 10.0**-power)
    axis.set_xlabel(f"time [{times(power_of(end))}s]")
    if end > begin:
        axis.set_xlim(begin * 10.0 ** -power_of(end), end * 10.0 ** -power_of(end))


def _deviations(lines: list[Line], known: float) -> tuple[list[Line], float] | None:
    """Deviations from the reference, and the least of them that tells methods apart; None where eyes can tell them."""
    truth, *rest = lines
    if truth.name != REFERENCE or not rest:
        return None
    apart = [replace(line, **_off(line, truth)) for line in rest]
    sizes = [float(np.abs(line.values).max(initial=0.0)) for line in apart]
    if not 0 < max(sizes) < UNSEEN * np.ptp(truth.values):
        return None
    least = max(min(filter(None, sizes)), known, 1e-6 * max(sizes))
    return [replace(truth, values=np.zeros_like(truth.values)), *apart], least


def _off(line: Line, truth: Line) -> dict[str, np.ndarray]:
    """Times and deviations of a line at the times of the reference; a run that stopped may have one more of its own."""
    rows = min(len(line.time), len(truth.time))
    same = line.time[:rows] == truth.time[:rows]
    return {"time": line.time[:rows][same], "values": (line.values[:rows] - truth.values[:rows])[same]}


def _apart(axis: Any, lines: list[Line], least: float, unit: str) -> None:
    """Deviations that differ by decades are drawn logarithmically."""
    largest = max(size_of(line.values) for line in lines)
    lines = [line for line in lines if len(line.time)]
    if largest > 100 * least:
        trace(axis, lines)
        logarithmic(axis, [line.values for line in lines], 10.0 ** floor(log10(least)))
        axis.set_ylabel(f"deviation [{unit}]\n(logarithmic)")
    else:
        power = power_of(largest)
        trace(axis, lines, power)
        axis.set_ylim(-1.2 * largest * 10.0**-power, 1.2 * largest * 10.0**-power)
        axis.set_ylabel(f"deviation [{times(power)}{unit}]")


def _position(comparison: Comparison) -> str:
    return (comparison.model.positions or comparison.model.states)[0]


def _near_the_end(comparison: Comparison, strokes: Strokes) -> tuple[float, float, list[Line]]:
    """The lines of the last few periods, the reference first, and limits by it; without it, by a run in their middle:
    one that explodes would hide the others."""
    column = comparison.model.states.index(_position(comparison))
    reference = comparison.reference
    trusted = np.isfinite(reference.states[:, column])  # it may end early, or not be there at all
    title = REFERENCE if reference.found else f"{REFERENCE} (not settled)"
    known = Line(
        title, reference.time[trusted], reference.states[trusted, column], {"color": "black", "linewidth": 3.4}
    )
    runs = [
        Line(entry.title, entry.run.time, entry.run.arrays["states"][:, column], strokes[entry.title])
        for entry in comparison.entries
        if entry.run is not None
    ]
    guide = known if trusted.any() else sorted(runs, key=lambda line: size_of(line.values))[(len(runs) - 1) // 2]
    begin = _window(guide.time, guide.values)
    shown = {
        line.name: replace(line, time=line.time[line.time >= begin], values=line.values[line.time >= begin])
        for line in (known, *runs)
    }
    return *_limits(shown[guide.name].values), [line for line in shown.values() if len(line.time)]


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Some room around the values that are finite."""
    values = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
    values = np.clip(values, -1e300, 1e300)  # their difference is finite, too
    middle, half = values.max() / 2 + values.min() / 2, max(0.7 * np.ptp(values), 0.01 * np.abs(values).max()) or 1.0
    return middle - half, middle + half


def _window(time: np.ndarray, values: np.ndarray) -> float:
    """Where the last few periods begin, by crossings of the middle; the whole time where there are too few."""
    if not len(values):
        return 0.0
    above = values > (values.max() + values.min()) / 2
    rises = np.flatnonzero(above[1:] & ~above[:-1])
    if len(rises) <= PERIODS:
        return float(time[0])
    return float(time[-1] - PERIODS * np.diff(time[rises]).mean())


def _created(axis: Any, ran: list[Any], strokes: Strokes) -> None:
    """What the numerics created: exact methods stay on 0, others leave it; cut off at 1000 times the stored energy."""
    created, threshold, most = _books(ran)
    end = max((entry.run.time[-1] for entry in ran), default=1.0)
    for entry in ran:
        _lend(axis, Line(entry.title, entry.run.time, created[entry.title], strokes[entry.title]), end, threshold)
    logarithmic(axis, list(created.values()), threshold, most)
    axis.set_title("energy created by the numerics")
    axis.set_ylabel("created [J]\n(logarithmic)")
    axis.set_xlabel(f"time [{times(power_of(end))}s]")
    if end > 0:
        axis.set_xlim(0.0, end * 10.0 ** -power_of(end))


def _books(ran: list[Any]) -> tuple[dict[str, np.ndarray], float, float]:
    """Title -> energy created, cut off where it cannot be drawn; what counts as 0, and where the axis ends."""
    totals = {entry.title: entry.run.arrays["ledger"][:, -1] for entry in ran}
    typical = min((size_of(rows[:, COLUMNS.index("stored")]) for rows in totals.values()), default=0.0) or 1.0
    exact = [entry.title for entry in ran if entry.run.verdict.kind == "exact"]
    created = {title: finite(rows[:, COLUMNS.index("created")]) for title, rows in totals.items()}
    threshold = 10.0 ** ceil(log10(max([1e-8 * typical, *(10 * size_of(created[title]) for title in exact)])))
    most = 1e3 * typical
    return {title: np.clip(values, -10 * most, 10 * most) for title, values in created.items()}, threshold, most


def _turns(values: np.ndarray, threshold: float) -> np.ndarray:
    """Rows about which the sign changes; what counts as 0 has none. None at all where the eye can follow."""
    rows = np.flatnonzero(np.abs(finite(values)) > threshold)
    turns = rows[1:][np.diff(np.signbit(values[rows]))]
    return turns if len(turns) > MOST_TURNS else turns[:0]


def _lend(axis: Any, line: Line, end: float, threshold: float) -> None:
    """A line, or a band where energy is lent and taken back too often to be followed by eye."""
    known = np.isfinite(line.values)
    at, values = line.time[known] * 10.0 ** -power_of(end), line.values[known]
    turns = _turns(values, threshold)
    if not len(turns):
        pick = thin(values)
        axis.plot(at[pick], values[pick], label=line.name, **line.style)
        return
    once = (turns[-1] - turns[0]) / len(turns)
    rows, least, largest = bounds(values, max(ceil(4 * once), len(values) // 100))  # two turns there and two back
    at = at[rows]
    axis.fill_between(at, least, largest, color=line.style["color"], alpha=0.12, linewidth=0)
    axis.plot(at, largest, label=line.name, **line.style)
    axis.plot(at, least, **line.style)


def _cost(axis: Any, comparison: Comparison, strokes: Strokes) -> None:
    """Error against cost, the mark by verdict; what is far off stands at the upper edge."""
    shown: list[Any] = [
        entry for entry in comparison.entries if entry.run is not None and entry.error is not None and entry.cost
    ]
    kinds = [kind for kind in MARKS if any(_kind(entry) == kind for entry in shown)]
    rows = -(-len(kinds) // columns_of(kinds, ROOM))
    axis.set_title("error against cost", pad=12 * (1 + rows))
    axis.set_xlabel("cost per step [s]")
    axis.set_ylabel("largest error, as a share of the largest value [1]")
    if not shown:
        found, tried = comparison.reference.found, not isnan(comparison.reference.accuracy)
        why = "no method took a step" if found else f"no reference was {'found' if tried else 'computed'}"
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, f"errors cannot be told:\n{why}", ha="center", va="center", transform=axis.transAxes)
        return
    known = max(comparison.reference.accuracy, 1e-16) if comparison.reference.found else 1e-16
    doubt = _doubt(known, [entry.error for entry in shown])
    foot = DOUBT if doubt else 0.0
    costs, heights = [entry.cost for entry in shown], [_height(entry.error, known) for entry in shown]
    _scales(axis, costs, heights, known, foot)
    if known > axis.get_ylim()[0]:
        axis.axhspan(axis.get_ylim()[0], known, color=GREY, alpha=0.25, linewidth=0)
    if doubt:
        axis.text(0.5, 0.015, doubt, ha="center", va="bottom", fontsize=9, transform=axis.transAxes)
    for kind in kinds:
        axis.plot([], [], linestyle="", marker=MARKS[kind], color=GREY, markersize=6, label=kind)
    legend(axis)
    colours = [strokes[entry.title]["color"] for entry in shown]
    _marks(axis, costs, heights, [MARKS[_kind(entry)] for entry in shown], colours)
    names = [entry.title if y < FAR else f"{entry.title} {_digits(entry.error)}" for entry, y in zip(shown, heights)]
    places = spread(axis, costs, heights, names, fontsize=9, foot=foot)
    for x, y, name, place in zip(costs, heights, names, places):
        axis.annotate(name, (x, y), place, textcoords="offset points", fontsize=9, ha="center", va="center",
                      arrowprops=LEADER, zorder=5)  # fmt: skip


def _height(error: float, known: float) -> float:
    return min(max(error, known), FAR) if isfinite(error) else FAR


def _doubt(known: float, errors: list[float]) -> str:
    """What is to be said where the reference is not much better than what is measured by it."""
    if known <= min(0.1, min(errors) / 3):
        return ""
    which = "errors" if known > min(0.1, max(errors) / 3) else "errors in the grey"
    return f"{which} cannot be told:\nthe reference itself is known only to {_digits(known)}"


def _scales(axis: Any, costs: list[float], heights: list[float], known: float, foot: float) -> None:
    """Limits and ticks; no tick is beside what lies beyond the axis, and no point in the `foot`, printer's points."""
    wide, top = (min(costs) / 4, max(costs) * 4), max(heights) * (2 if max(heights) >= FAR else 6)
    low = max(min(heights) / 10, known / 3)
    if foot:
        share = foot / (72 * axis.figure.get_figheight() * axis.get_position().height)
        low = min(low, known * (known / top) ** (share / (1 - share)))
    high = (low, top)
    axis.set(xscale="log", yscale="log", xlim=wide, ylim=high)
    decades(axis.xaxis, *wide)
    decades(axis.yaxis, high[0], min(high[1], FAR / 2))


def _marks(axis: Any, x: list[float], y: list[float], marks: list[str], colours: list[str]) -> None:
    """One mark per method; around one that was there before, a ring. An arrow leads to what lies beyond the axis."""
    points = axis.transData.transform(np.column_stack([x, y])) * 72 / axis.figure.dpi
    top = axis.get_ylim()[1]
    for i, (mark, colour) in enumerate(zip(marks, colours)):
        before = int(np.count_nonzero(np.hypot(*(points[:i] - points[i]).T) < 4.0))
        ring = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.8}
        full = {"markerfacecolor": colour, "markeredgecolor": "black", "markeredgewidth": 0.6}
        axis.plot([x[i]], [y[i]], marker=mark, markersize=7 + 6 * before, clip_on=False, zorder=4,
                  **(ring if before else full))  # fmt: skip
        if y[i] >= FAR:
            axis.plot([x[i]] * 2, [y[i], top], color=colour, marker=CARET, markersize=6, markevery=[1], clip_on=False)


CARET = 6  # Matplotlib's number for an arrow's head that points up
LEADER = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}


def _kind(entry: Any) -> str:
    verdict = entry.run.verdict
    return {"none": "no verdict"}.get(verdict.kind, verdict.kind) + ", bounded" * verdict.lends


def _digits(value: float) -> str:
    """The figure of the table: in two digits."""
    mantissa, _, exponent = f"{value:.2g}".partition("e")
    return f"{mantissa}·{ten(int(exponent))}" if exponent else mantissa if isfinite(value) else "∞"


def _notes(comparison: Comparison) -> list[str]:
    """The small print: what was left out or cut off, and why."""
    low, high, lines = _near_the_end(comparison, {entry.title: {} for entry in comparison.entries})
    left = [line.name for line in lines if not ((line.values >= low) & (line.values <= high)).all()]
    notes = [f"Leaving the first picture: {', '.join(left)}"] if left else []
    for entry in comparison.entries:
        why = textwrap.shorten(entry.reason, 90, placeholder=" …").rstrip(".")
        if entry.run is None:
            notes.append(f"{entry.title} does not apply: {why or 'no reason given'}")
        elif why:
            notes.append(f"{entry.title} stopped: {why}")
    created, threshold, _ = _books([entry for entry in comparison.entries if entry.run is not None])
    if any(len(_turns(values, threshold)) for values in created.values()):
        notes.append("Shaded: between the least and the most of what is lent and taken back")
    return [*notes, _trust(comparison.reference)]


def _trust(reference: Any) -> str:
    if reference.found:
        return f"The reference itself is known to {_digits(reference.accuracy)}"
    if np.isnan(reference.accuracy):
        return "No reference was computed"
    return "No reference was found: finer and finer steps do not settle"
