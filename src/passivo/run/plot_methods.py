"""The right half of a comparison's picture: a row for each method, with its error, its energy and its cost.

The rows are the legend of the left half as well: before each name stands the line that it has there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from passivo.run.draw import GREY, VERDICTS, by_rows, columns_of, decades, short, ten

if TYPE_CHECKING:
    from passivo.run.compare import Comparison, Entry

MARKS = {"exact": "o", "passive": "v", "booked": "s", "active, bounded": "D", "active": "^", "stopped": "X"}
REFERENCE = "reference"
FAR = 10.0  # an error of ten times the largest value; beyond, a method is only wrong
LONGEST_NAME = 24
KEY = 34  # printer's points of a line before a name's axis
HEAD = 40  # letters of a legend above the rows
TO_THE_RIGHT = 5  # Matplotlib's number for an arrow's head
FIGURE = {"va": "center", "fontsize": 8, "color": "#444444", "zorder": 5}


def draw_methods(axes: Sequence[Any], comparison: Comparison, strokes: Mapping[str, Mapping[str, Any]]) -> None:
    """On three axes side by side: errors, energies created and removed, costs of a step."""
    names = [REFERENCE, *(entry.title for entry in comparison.entries)]
    for axis in axes:
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.set_yticks(range(len(names)), [])
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
    _names(axes[0], names, comparison, strokes)
    _errors(axes[0], comparison)
    _energies(axes[1], comparison)
    _costs(axes[2], comparison)


def _names(axis: Any, names: Sequence[str], comparison: Comparison, strokes: Mapping[str, Mapping[str, Any]]) -> None:
    axis.set_yticklabels([short(name, LONGEST_NAME) for name in names])
    axis.tick_params(axis="y", pad=KEY + 8)
    left = axis.transAxes.inverted().transform(axis.transAxes.transform((0, 0)) - (KEY + 4, 0))[0]
    for row, (name, text) in enumerate(zip(names, axis.get_yticklabels())):
        if name in strokes:
            style = {**strokes[name], "marker": "." if strokes[name].get("marker") else "", "markevery": [1]}
            at = [left, left / 2 - 0.02, -0.04]
            axis.plot(at, [row] * 3, transform=axis.get_yaxis_transform(), clip_on=False, gid=name, **style)
        else:
            text.set_color(GREY)
    kinds = [kind for kind in MARKS if any(entry.kind == kind for entry in comparison.entries)]
    marks = [
        axis.plot([], [], linestyle="", marker=MARKS[kind], color=_colour(kind), markersize=6, label=kind)[0]
        for kind in kinds
    ]
    columns = columns_of(kinds, HEAD)
    axis.legend(
        by_rows(marks, columns), by_rows(kinds, columns), loc="lower left", bbox_to_anchor=(-0.06, 1.06), ncols=columns,
        borderpad=0.0, borderaxespad=0.0, handlelength=1.0, handletextpad=0.4, columnspacing=1.2, fontsize=9,
    )  # fmt: skip


def _errors(axis: Any, comparison: Comparison) -> None:
    axis.set_title("error")
    axis.set_xlabel("share of the\nlargest value [1]")
    for row, entry in enumerate(comparison.entries, 1):
        if entry.run is None:
            axis.text(0.02, row, entry.kind, transform=axis.get_yaxis_transform(), **{**FIGURE, "color": GREY})
    shown = {row: entry for row, entry in enumerate(comparison.entries, 1) if entry.error is not None and entry.cost}
    if not shown:
        axis.set_xticks([])
        axis.text(0.5, 0.5, "errors cannot be told:\n" + _why(comparison), ha="center", transform=axis.transAxes,
                  fontsize=9, va="center")  # fmt: skip
        return
    known = max(comparison.reference.accuracy, 1e-16) if comparison.reference.found else 1e-16
    sizes = {row: max(_far(entry.error), known) for row, entry in shown.items()}
    low, high = min(*sizes.values(), 1.0) / 5, max(*sizes.values(), 0.1) * 5
    _scale(axis, low, min(high, 2 * FAR), FAR)
    if any(not comparison.told(entry) for entry in shown.values()):
        axis.axvspan(low, 3 * known, color=GREY, alpha=0.25, linewidth=0)
    for row, entry in shown.items():
        _mark(axis, sizes[row], row, entry, FAR, entry.error)


def _energies(axis: Any, comparison: Comparison) -> None:
    """Created as a full mark, removed as an empty one; what is roundoff at the left edge."""
    axis.set_title("energy")
    axis.set_xlabel("full: created,\nempty: removed [J]")
    ran = {row: entry for row, entry in enumerate(comparison.entries, 1) if entry.run is not None}
    most = most_of([entry.run for entry in ran.values()])
    values = [value for entry in ran.values() for value in (entry.created, entry.removed) if value > 0]
    inside = [value for value in values if value < most]
    low, high = min(inside, default=most / 1e3), max(inside, default=most / 1e2)
    end = 3 * (most if len(inside) < len(values) else high)
    edge = low / max((end / low) ** 0.4, 5.0)  # where 0 is drawn
    _scale(axis, edge * (edge / end) ** 0.1, end, end, first=low, zero=edge)
    if not values:  # no figures but that one
        axis.set_xticks([edge], labels=["≈ 0"])
    for row, entry in ran.items():
        if not entry.created and not entry.removed:
            axis.plot([edge], [row], marker="o", markersize=4, color=_colour(entry.kind), clip_on=False, zorder=4)
        if entry.created:
            _mark(axis, min(entry.created, most), row, entry, most, entry.created)
        if entry.removed:
            _mark(axis, min(entry.removed, most), row, entry, most, entry.removed, full=False)


def _costs(axis: Any, comparison: Comparison) -> None:
    axis.set_title("cost")
    costs = {row: entry for row, entry in enumerate(comparison.entries, 1) if entry.cost}
    values: list[float] = [entry.cost or 0.0 for entry in costs.values()]
    unit, size = ("ns", 1e-9) if min(values, default=0.0) < 1e-6 else ("µs", 1e-6)
    axis.set_xlabel(f"per step [{unit}]")
    if not values:
        axis.set_xticks([])
        return
    low, high = min(values) / size / 1.5, max(values) / size * 1.5
    _scale(axis, low, high, high)
    axis.set_xticks(axis.get_xticks(), labels=[f"{tick:g}" for tick in axis.get_xticks()])
    for row, entry in costs.items():
        _mark(axis, (entry.cost or 0.0) / size, row, entry)


def _scale(axis: Any, low: float, high: float, last: float, first: float = 0.0, zero: float = 0.0) -> None:
    """A logarithmic axis with ticks from `first` to `last`, and perhaps a place for what is nothing but roundoff."""
    axis.set(xscale="log", xlim=(low, high))
    decades(axis.xaxis, max(low, first), last, most=2)
    if zero:
        ticks, labels = list(axis.get_xticks()), [text.get_text() for text in axis.get_xticklabels()]
        axis.set_xticks([zero, *ticks], labels=["≈ 0", *labels])
        axis.set_xticks([], minor=True)


def _mark(
    axis: Any, x: float, row: int, entry: Entry, most: float = float("inf"), told: Any = None, full: bool = True
) -> None:
    """A method's mark; beside what lies beyond the axis stand an arrow and the figure."""
    colour = _colour(entry.kind)
    face = {"markerfacecolor": colour} if full else {"markerfacecolor": "none", "markeredgewidth": 1.2}
    size = 6 if full else 9  # both are seen where they lie on one another
    axis.plot([x], [row], marker=MARKS[entry.kind], markeredgecolor=colour, markersize=size, clip_on=False, zorder=4,
              linestyle="", **face)  # fmt: skip
    if x >= most:
        axis.plot([x], [row], marker=TO_THE_RIGHT, markersize=5, color=colour, clip_on=False,
                  transform=_shifted(axis, 8))  # fmt: skip
        axis.text(x, row, digits(told) + " ", ha="right", transform=_shifted(axis, -6), **FIGURE)


def _shifted(axis: Any, points: float) -> Any:
    from matplotlib.transforms import ScaledTranslation

    return axis.transData + ScaledTranslation(points / 72, 0, axis.figure.dpi_scale_trans)


def most_of(runs: Sequence[Any]) -> float:
    """Joules beyond which energies are cut off: 1000 times what is stored."""
    from passivo.run.draw import size_of
    from passivo.run.run import COLUMNS

    stored = (size_of(run.arrays["ledger"][:, -1, COLUMNS.index("stored")]) for run in runs)
    return min(1e3 * (min(stored, default=0.0) or 1.0), 1e300)


def _colour(kind: str) -> str:
    return VERDICTS.get(kind.partition(",")[0], GREY)


def _far(error: Any) -> float:
    return min(error, FAR) if isfinite(error) else FAR


def _why(comparison: Comparison) -> str:
    if comparison.reference.found:
        return "no method\ntook a step"
    return f"no reference\nwas {'computed' if isnan(comparison.reference.accuracy) else 'found'}"


def digits(value: float) -> str:
    """The figure of the table: in two digits."""
    mantissa, _, exponent = f"{value:.2g}".partition("e")
    return f"{mantissa}·{ten(int(exponent))}" if exponent else mantissa if isfinite(value) else "∞"
