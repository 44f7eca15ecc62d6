"""The picture of a comparison: how the methods move, what they create, and a row of figures for each.

Methods whose lines lie on one another are one line: with twenty of them most do, and no eye could tell more.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, floor, log10
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.run.draw import (
    COLOURS,
    LONGEST_LABEL,
    STYLE,
    Line,
    bounds,
    figure,
    finite,
    logarithmic,
    power_of,
    short,
    size_of,
    thin,
    times,
    trace,
    write,
)
from passivo.run.plot_methods import REFERENCE, digits, draw_methods, most_of
from passivo.run.run import COLUMNS

if TYPE_CHECKING:
    from passivo.run.compare import Comparison, Entry

DASHES: tuple[Any, ...] = (
    "-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)),
    (0, (2.5, 1.2)), (0, (9, 3)), (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 3)),
)  # fmt: skip
WIDE, HIGH = 12.8, 7.2  # inches: the shape of a slide
HEAD = 0.85  # inches above the pictures
ROW, HIGHEST_ROW = 0.25, 0.4  # inches of a row where they are many, or few
LARGER = {**STYLE, "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold"}
KNOWN = {"color": "black", "linewidth": 3.4}
PERIODS = 3
UNSEEN = 0.01  # of the range: about the width of a line
MOST_TURNS = 40
Strokes = Mapping[str, dict[str, Any]]


def plot_comparison(comparison: Comparison, path: str | PathLike | None = None) -> Any:
    """Draw a `Comparison` of methods; write it to `path` if given, and return the figure.

    The first position near the end, the energy that each method created; and for each method its error, the energy it
    created and removed, and its cost.
    """
    ran = [entry for entry in comparison.entries if entry.run is not None]
    motion, books = _Motion(comparison), _Books(ran)
    strokes = _strokes(ran, motion, books)
    notes = textwrap.wrap(" · ".join(_notes(comparison, motion, books, strokes)), 200)
    foot = 0.75 + 0.15 * len(notes)  # inches of small print, and of labels
    rows = 1 + len(comparison.entries)
    high = max(HIGH, foot + HEAD + 0.4 + ROW * rows)
    middle = (foot + high - HEAD) / 2
    with figure(WIDE, high, layout=None, style=LARGER) as picture:
        room = lambda x, y, right, top: (x / WIDE, y / high, (right - x) / WIDE, (top - y) / high)  # noqa: E731
        top = high - HEAD - 0.15
        axes = [picture.add_axes(room(0.95, middle + 0.4, 5.6, high - HEAD))]
        axes += [picture.add_axes(room(0.95, foot, 5.6, middle - 0.4))]
        low = max(foot, top - HIGHEST_ROW * rows)
        axes += [picture.add_axes(room(left, low, right, top)) for left, right in COLUMNS_AT]
        motion.draw(axes[0], strokes)
        books.draw(axes[1], strokes)
        draw_methods(axes[2:], comparison, {REFERENCE: KNOWN, **strokes})
        title = f"{short(comparison.model.name, 60)}: steps of {comparison.step:g} s until {comparison.until:g} s"
        picture.text(0.015, 1 - 0.12 / high, title, fontsize=15, fontweight="bold", va="top")
        picture.text(0.015, 0.08 / high, "\n".join(notes), fontsize=8, color="#444444", va="bottom")
    write(picture, path)
    return picture


COLUMNS_AT = ((8.4, 9.8), (10.0, 11.35), (11.55, 12.6))  # inches from the left


def _stroke(i: int) -> dict[str, Any]:
    """How the i-th line is drawn: told apart by colour, and without colour by dashes (and dots beyond eight)."""
    dots = {"marker": ".", "markersize": 7, "markevery": 0.09} if i >= len(DASHES) else {"marker": ""}
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.6, **dots}


def _strokes(ran: Sequence[Entry], *pictures: Any) -> dict[str, dict[str, Any]]:
    """Title -> how it is drawn. Methods that lie on one another in all `pictures` share their line."""
    heights = {entry.title: [picture.heights(entry.title) for picture in pictures] for entry in ran}
    kinds: list[list[np.ndarray]] = []
    strokes = {}
    for title, own in heights.items():
        alike = (i for i, other in enumerate(kinds) if all(map(_together, own, other)))
        i = next(alike, len(kinds))
        if i == len(kinds):
            kinds.append(own)
        strokes[title] = _stroke(i)
    return strokes


def _together(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two lines, in shares of the height of their axis, lie on one another."""
    return len(one) == len(other) and bool((np.abs(one - other) <= UNSEEN).all())


class _Motion:
    """The first position of each run in the last few periods; how far they are off where that cannot be seen."""

    def __init__(self, comparison: Comparison):
        model = comparison.model
        self.name = (model.positions or model.states)[0]
        self.unit = model.unit(self.name) or "SI"
        self.low, self.high, self.lines = _near_the_end(comparison, model.states.index(self.name))
        self.least = 0.0  # of the deviations, where they are what is drawn
        if apart := _deviations(self.lines, comparison.reference.accuracy * size_of(self.lines[0].values)):
            self.lines, self.least = apart
        self.largest = max(size_of(line.values) for line in self.lines)

    @property
    def leaving(self) -> list[str]:
        """Those whose lines leave the axis."""
        if self.least:
            return []
        return [line.name for line in self.lines if not ((line.values >= self.low) & (line.values <= self.high)).all()]

    @property
    def decades(self) -> bool:
        """Deviations that differ by decades are drawn logarithmically."""
        return self.largest > 100 * self.least > 0

    def heights(self, title: str) -> np.ndarray:
        """The line of a method in shares of the height of the axis; none where it ended before."""
        values = next((line.values for line in self.lines if line.name == title), np.empty(0))
        if self.decades:
            return _log_heights(values, 10.0 ** floor(log10(self.least)), self.largest)
        return self.clipped(values) / (2.4 * self.largest if self.least else self.high - self.low)

    def clipped(self, values: np.ndarray) -> np.ndarray:
        """A line may leave the axis, but 1e300 cannot be drawn."""
        reach = self.high - self.low
        return values if self.least else np.clip(finite(values), self.low - reach, self.high + reach)

    def draw(self, axis: Any, strokes: Strokes) -> None:
        begin, end = min(line.time[0] for line in self.lines), max(line.time[-1] for line in self.lines)
        styles = {**{line.name: KNOWN for line in self.lines if line.name.startswith(REFERENCE)}, **_first(strokes)}
        lines = [
            replace(line, values=self.clipped(line.values), style=styles[line.name])
            for line in self.lines
            if line.name in styles
        ]
        power = 0 if self.decades else power_of(self.largest if self.least else max(abs(self.low), abs(self.high)))
        trace(axis, lines, power)
        when, name = " near the end" if begin > 0 else "", short(self.name)
        axis.set_title(f"deviation of {name} from the reference{when}" if self.least else name + when)
        what = "deviation" if self.least else short(self.name, LONGEST_LABEL)
        axis.set_ylabel(f"{what} [{times(power)}{self.unit}]" + "\n(logarithmic)" * self.decades)
        if self.decades:
            logarithmic(axis, [line.values for line in lines], 10.0 ** floor(log10(self.least)))
        else:
            low, high = (-1.2 * self.largest, 1.2 * self.largest) if self.least else (self.low, self.high)
            axis.set_ylim(low * 10.0**-power, high * 10.0**-power)
        axis.set_xlabel(f"time [{times(power_of(end))}s]")
        if end > begin:
            axis.set_xlim(begin * 10.0 ** -power_of(end), end * 10.0 ** -power_of(end))


def _first(strokes: Strokes) -> dict[str, dict[str, Any]]:
    """Of methods that share a line the first one, which is drawn."""
    seen: list[dict[str, Any]] = []
    return {title: stroke for title, stroke in strokes.items() if stroke not in seen and not seen.append(stroke)}


def _log_heights(values: np.ndarray, threshold: float, most: float) -> np.ndarray:
    """About the heights of a logarithmic axis with both signs."""
    return np.sign(values) * np.log1p(np.abs(values) / threshold) / (2 * np.log1p(most / threshold))


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
    apart = [line for line in apart if len(line.time)]
    return [replace(truth, values=np.zeros_like(truth.values)), *apart], least


def _off(line: Line, truth: Line) -> dict[str, np.ndarray]:
    """Times and deviations of a line at the times of the reference; a run that stopped may have one more of its own."""
    rows = min(len(line.time), len(truth.time))
    same = line.time[:rows] == truth.time[:rows]
    return {"time": line.time[:rows][same], "values": (line.values[:rows] - truth.values[:rows])[same]}


def _near_the_end(comparison: Comparison, column: int) -> tuple[float, float, list[Line]]:
    """The lines of the last few periods, the reference first, and limits by it; without it, by a run in their middle:
    one that explodes would hide the others."""
    reference = comparison.reference
    trusted = np.isfinite(reference.states[:, column])  # it may end early, or not be there at all
    title = REFERENCE if reference.found else f"{REFERENCE} (not settled)"
    known = Line(title, reference.time[trusted], reference.states[trusted, column])
    runs = [
        Line(entry.title, entry.run.time, entry.run.arrays["states"][:, column])
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


class _Books:
    """What the numerics created: exact methods stay on 0, others leave it; cut off at 1000 times the stored energy."""

    def __init__(self, ran: Sequence[Entry]):
        self.runs: dict[str, Any] = {entry.title: entry.run for entry in ran}
        created = {title: run.arrays["ledger"][:, -1, COLUMNS.index("created")] for title, run in self.runs.items()}
        self.most = most_of(list(self.runs.values()))
        exact = [10 * size_of(created[title]) for title, run in self.runs.items() if run.verdict.kind == "exact"]
        self.threshold = 10.0 ** ceil(log10(max([1e-11 * self.most, *exact])))  # what counts as 0
        self.created = {
            title: np.clip(finite(values), -10 * self.most, 10 * self.most) for title, values in created.items()
        }

    @property
    def shaded(self) -> bool:
        return any(len(_turns(values, self.threshold)) for values in self.created.values())

    def heights(self, title: str) -> np.ndarray:
        """The line of a method in shares of the height of the axis."""
        largest = min(max(map(size_of, self.created.values())), self.most)
        return _log_heights(finite(self.created[title]), self.threshold, max(largest, self.threshold))

    def draw(self, axis: Any, strokes: Strokes) -> None:
        end = max((run.time[-1] for run in self.runs.values()), default=1.0)
        for title, stroke in _first(strokes).items():
            _lend(axis, Line(title, self.runs[title].time, self.created[title], stroke), end, self.threshold)
        logarithmic(axis, list(self.created.values()), self.threshold, self.most)
        axis.set_title("energy created by the numerics")
        axis.set_ylabel("created [J]\n(logarithmic)")
        axis.set_xlabel(f"time [{times(power_of(end))}s]")
        if end > 0:
            axis.set_xlim(0.0, end * 10.0 ** -power_of(end))


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


def _notes(comparison: Comparison, motion: _Motion, books: _Books, strokes: Strokes) -> list[str]:
    """The small print: what was left out or cut off, and why."""
    notes = [f"Leaving the first picture: {', '.join(motion.leaving)}"] if motion.leaving else []
    if len(_first(strokes)) < len(strokes):
        notes.append("Methods with the same line lie on one another")
    if books.shaded:
        notes.append("Shaded: between the least and the most of what is lent and taken back")
    for entry in comparison.entries:
        why = textwrap.shorten(entry.reason.partition(";")[0], 110, placeholder=" …").rstrip(".")
        if why.startswith(f"{entry.title} "):
            notes.append(why)
        elif entry.run is None:
            notes.append(f"{entry.title} does not apply: {why or 'no reason given'}")
        elif why:
            notes.append(f"{entry.title} stopped: {why}")
    if comparison.reference.found and any(e.error is not None and not comparison.told(e) for e in comparison.entries):
        notes.append("Errors in the grey cannot be told")
    return [*notes, _trust(comparison.reference)]


def _trust(reference: Any) -> str:
    if reference.found:
        return f"The reference itself is known to {digits(reference.accuracy)}"
    if np.isnan(reference.accuracy):
        return "No reference was computed"
    return "No reference was found: finer and finer steps do not settle"
