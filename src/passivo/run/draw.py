"""What all pictures share: one style, lines thinned to their extremes, axes with readable numbers and a unit.

Matplotlib is loaded when the first figure is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, floor, log10
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import InputError
from passivo.ledger.verdict import Verdict
from passivo.run.network_run import NetworkRun
from passivo.run.run import COLUMNS, Run

# Okabe and Ito's colours, told apart by every kind of colour vision; their yellow is too pale for lines, and a dark
# brown and a grey are told from the others by how dark they are
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5A3414", "#8A8A8A")
VERDICTS = {"exact": "#00795A", "passive": "#0072B2", "booked": "#A86F00", "active": "#C04A00", "none": "#666666"}
GREY = "#777777"
RAMP = ((0.0, 0.16, 0.36), (0.0, 0.62, 0.55), (0.93, 0.82, 0.25))  # dark to light, also in print without colour
MOST_POINTS = 4000
FEW_POINTS = 40
LONGEST = 40
LONGEST_LABEL = 18  # letters beside a low axis
ROOM = 64  # letters above an axis of a run's picture
LETTERS = 16  # above an inch of the place that Matplotlib first gives an axis
MOST_PARTS = 4
DASHED, DOTTED = (0, (4, 2)), (0, (1, 1.5))
STYLE: Any = {
    "font.size": 9,
    "text.parse_math": False,  # a $ in a name or unit is a dollar
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.formatter.useoffset": False,
    "axes.xmargin": 0.0,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "lines.linewidth": 1.3,
    "lines.markersize": 3,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Line:
    """One line of a picture: values over time, and how it is drawn."""

    name: str
    time: np.ndarray
    values: np.ndarray
    style: dict[str, Any] = field(default_factory=dict)


def draw(axis: Any, lines: Sequence[Line], what: str, unit: str, *, band: Line | None = None) -> None:
    """Draw `lines` and label the axis "what [unit]"; `band` is a half width about 0 over time, to be shaded.

    Large and small numbers are counted in powers of ten of the unit. A run that explodes is drawn logarithmically.
    """
    values = [finite(line.values) for line in lines]
    threshold = max((_start(v) for v in values if _explodes(v)), default=0.0)
    band = None if threshold else band  # a roundoff that grew by decades is no band
    largest = max(map(size_of, [*values, band.values] if band else values))
    power = 0 if threshold else power_of(largest)
    trace(axis, lines, power)
    if band:
        _shade(axis, band, power)
    if threshold:
        logarithmic(axis, values, threshold)
    else:
        _keep_wide(axis, largest * 10.0**-power)
    axis.set_ylabel(label(what, f"{times(power)}{unit}") + ("\n(logarithmic)" if threshold else ""))


def _shade(axis: Any, band: Line, power: int) -> None:
    pick = np.unique(np.linspace(0, len(band.time) - 1, MOST_POINTS).astype(int))
    time, half = band.time[pick] * 10.0 ** -power_of(band.time[-1]), band.values[pick] * 10.0**-power
    axis.fill_between(time, -half, half, color=GREY, alpha=0.25, linewidth=0, label=band.name, zorder=1)


def label(what: str, unit: str) -> str:
    """The label of an axis, broken after its last comma, or before the unit, where a low axis is shorter."""
    line = f"{what} [{unit}]"
    if len(line) <= LONGEST_LABEL or "\n" in what:
        return line
    head, comma, tail = what.rpartition(", ")
    return f"{head},\n{tail} [{unit}]" if comma else f"{what}\n[{unit}]"


def trace(axis: Any, lines: Sequence[Line], power: int = 0) -> None:
    """Lines over a common time, their values in units of ten to the `power`; few points are marked."""
    clock = power_of(max(line.time[-1] for line in lines))
    for line in lines:
        values = finite(line.values)
        pick = thin(values)
        dots = {"marker": "o"} if np.isfinite(values).sum() <= FEW_POINTS else {}
        time, height = line.time[pick] * 10.0**-clock, values[pick] * 10.0**-power
        axis.plot(time, height, label=short(line.name), **{**dots, **line.style})


def ledger_of(run: Run | NetworkRun) -> dict[str, np.ndarray]:
    """Part -> (time, column) of the ledger in joules, as `draw_ledger` takes it; the last one is the total."""
    return {name: run.arrays["ledger"][:, i] for i, name in enumerate(run.rows)}


def draw_ledger(
    axes: Any,
    time: np.ndarray,
    ledger: Mapping[str, np.ndarray],
    verdict: Verdict,
    step: float,
    room: int = ROOM,
) -> None:
    """The ledger on a pair of axes: energy, and the energy created by the numerics in the verdict's colour.

    `ledger` holds part -> (time, column) in joules with the columns of `Run.ledger`; the last part is the total.
    `step` is the length of a step: roundoff adds up with their number. `room` is the width of the axes in letters.
    """
    above, below = axes
    *parts, total = ({name: rows[:, i] for i, name in enumerate(COLUMNS)} for rows in ledger.values())
    lines = [
        Line("stored", time, total["stored"], {"color": COLOURS[0], "linewidth": 1.8, "zorder": 4}),
        Line(
            "supplied", time, total["work"], {"color": COLOURS[1], "linestyle": DASHED, "linewidth": 1.0, "zorder": 6}
        ),
        Line("lost", time, total["lost"], {"color": COLOURS[2], "linestyle": DOTTED, "linewidth": 1.8, "zorder": 5}),
    ]
    if total["edited"].any():
        lines.append(Line("edited", time, total["edited"], {"color": COLOURS[3], "linestyle": (0, (6, 1, 1, 1))}))
    stored = {name: part["stored"] for name, part in zip(ledger, parts) if part["stored"].any()}
    draw(above, lines + _parts(time, stored), "energy", "J")
    legend(above, room)

    colour = VERDICTS[verdict.kind]
    lines = [Line("created by the numerics", time, total["created"], {"color": colour, "zorder": 3})]
    if total["booked"].any():
        lines.append(
            Line(
                "booked", time, total["booked"], {"color": "black", "linestyle": DASHED, "linewidth": 0.8, "zorder": 4}
            )
        )
    draw(below, lines, "created", "J", band=_roundoff(time, verdict, step))
    legend(below, room)


def _roundoff(time: np.ndarray, verdict: Verdict, step: float) -> Line | None:
    """What the roundoff of single steps adds up to: a random walk, that grows with the root of their number.

    Only beside what is nothing but roundoff: any other verdict rests on single steps, not on this sum.
    """
    if verdict.kind != "exact" or not 0 < verdict.roundoff < np.inf:
        return None
    return Line("roundoff, summed up", time, verdict.roundoff * np.sqrt(time / step))


def _parts(time: np.ndarray, stored: Mapping[str, np.ndarray]) -> list[Line]:
    """Thin lines for what each part stores: by name, or all alike where they are many."""
    many = len(stored) > MOST_PARTS
    lines = []
    for i, (name, values) in enumerate(stored.items()):
        label = ("_" if i else "in each part") if many else f"in {name}"
        style = {"color": GREY if many else COLOURS[(3 + i) % len(COLOURS)], "linewidth": 0.8, "alpha": 0.7}
        lines.append(Line(label, time, values, style))
    return lines


def thin(values: np.ndarray, most: int = MOST_POINTS) -> np.ndarray:
    """Rows to draw: all, or the first, the last, and the smallest and largest of each of `most`/2 bins."""
    rows = len(values)
    if rows <= most:
        return np.arange(rows)
    size = ceil(rows / (most // 2))
    starts = np.arange(0, rows, size)
    bins = np.full((len(starts), size), np.nan)
    bins.flat[:rows] = values
    gaps = np.isnan(bins)
    low, high = np.where(gaps, np.inf, bins).argmin(axis=1), np.where(gaps, -np.inf, bins).argmax(axis=1)
    # a bin of gaps gives its first row twice, and the line stays broken there
    return np.unique(np.concatenate([[0], starts + low, starts + high, [rows - 1]]))


def bounds(values: np.ndarray, width: int, points: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, least, largest) within `width` rows about each, for a series that swings too often to be followed."""
    rows = np.unique(np.linspace(0, len(values) - 1, points).astype(int))
    pieces = [values[max(row - width // 2, 0) : row + width // 2 + 1] for row in rows]
    return rows, np.array([piece.min() for piece in pieces]), np.array([piece.max() for piece in pieces])


def time_label(time: np.ndarray) -> str:
    return f"time [{times(power_of(time[-1]))}s]"


def power_of(largest: float) -> int:
    """The power of ten, a multiple of three, in which numbers up to `largest` are readable."""
    if not 0 < largest < np.inf or 0.01 <= largest < 1e4:
        return 0
    return max(3 * floor((log10(largest) + 1) / 3), -300)


def times(power: int) -> str:
    return f"{ten(power)} " if power else ""


def ten(power: int) -> str:
    return "10" + str(power).translate(SUPERSCRIPTS)


def short(name: str, most: int = LONGEST) -> str:
    """A long name without its middle."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most - most // 2) :]}"


def ramp(count: int) -> list[tuple[float, float, float]]:
    """`count` colours from dark to light, for series in an order."""
    at = np.linspace(0, len(RAMP) - 1, count)
    red, green, blue = (np.interp(at, range(len(RAMP)), [colour[k] for colour in RAMP]) for k in range(3))
    return list(zip(red.tolist(), green.tolist(), blue.tolist()))


def legend(axis: Any, room: int | None = None) -> None:
    """Names above the axis, where no line can run through them, in rows that are no wider than the axis."""
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        inches = axis.bbox.width / axis.figure.dpi
        columns = columns_of(labels, room or int(LETTERS * inches))
        axis.legend(
            by_rows(handles, columns), by_rows(labels, columns),
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns,
            borderpad=0.1, borderaxespad=0.2, handlelength=1.8, columnspacing=1.2, labelspacing=0.2,
        )  # fmt: skip


def columns_of(labels: Sequence[str], most: int) -> int:
    """How many columns of a legend fit into a width of `most` letters; rows are about equally full."""
    widths = [len(label) + 7 for label in labels]
    fits = lambda count: sum(max(widths[k::count]) for k in range(count)) <= most  # noqa: E731
    widest = next((count for count in range(len(widths), 1, -1) if fits(count)), 1)
    even = ceil(len(widths) / ceil(len(widths) / widest))
    return even if fits(even) else widest


def by_rows(entries: Sequence[Any], columns: int) -> list[Any]:
    """Entries in the order in which Matplotlib, which fills columns, sets them row by row."""
    return [entry for k in range(columns) for entry in entries[k::columns]]


def logarithmic(axis: Any, values: Sequence[np.ndarray], threshold: float, most: float = np.inf) -> None:
    """Both signs on a logarithmic axis that is linear within ±`threshold`, cut off beyond ±`most`."""
    low = min((float(np.nanmin(v, initial=0.0)) for v in values), default=0.0)
    high = max((float(np.nanmax(v, initial=0.0)) for v in values), default=0.0)
    low, high = max(low, -most), min(high, most)
    powers = _powers(10 * threshold, max(-low, high, 10 * threshold), most=3 if low < 0 < high else 6)
    above = {10.0**k: ten(k) for k in powers if 10.0**k <= 3 * high}
    marks = {0.0: "0", **above, **{-(10.0**k): "−" + ten(k) for k in powers if 10.0**k <= -3 * low}}
    if len(marks) < 2:  # all of it lies in the linear part
        end, sign = (high, "") if high >= -low else (low, "−")
        size = threshold if abs(end) > threshold / 3 else threshold / 10
        marks[size if end == high else -size] = sign + ten(round(log10(size)))
    with np.errstate(over="ignore"):  # Matplotlib looks beyond the end, and the end may be 1e308
        axis.set_yscale("symlog", linthresh=threshold)
        axis.set_yticks(list(marks), list(marks.values()))
        axis.set_yticks([], minor=True)
        axis.set_ylim(_beyond(low, -threshold / 2), _beyond(high, threshold / 2))


def _powers(low: float, high: float, most: int) -> range:
    """Powers of ten within the limits, `most` or one more at a regular stride."""
    first, last = ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9)
    stride = next((s for s in (1, 2, 3, 5, 10, 20, 30, 50, 100) if (last - first) / s <= most), 200)
    return range(-(-first // stride) * stride, last + 1, stride)


def _beyond(end: float, least: float) -> float:
    """Half a decade beyond the end of an axis."""
    return max(min(3.0 * end, 1e308), -1e308) if abs(end) > abs(least) else least


def decades(axis: Any, low: float, high: float, most: int = 6) -> None:
    """Ticks of a logarithmic axis (`Axes.xaxis` or `yaxis`): powers of ten, or 1, 2, 5 times them where few fit."""
    powers = _powers(low, high, most)
    marks = {10.0**k: ten(k) for k in powers}
    if len(powers) < 2:
        every = [(f, k) for k in range(floor(log10(low)), ceil(log10(high)) + 1) for f in (1, 2, 5)]
        marks = {f * 10.0**k: ten(k) if f == 1 else f"{f}·{ten(k)}" for f, k in every if low <= f * 10.0**k <= high}
    axis.set_ticks(list(marks), labels=list(marks.values()))
    axis.set_ticks([], minor=True)


@contextmanager
def figure(width: float, height: float, layout: Any = "constrained", style: Any = STYLE) -> Iterator[Any]:
    """An empty picture in the common style, its sizes in inches; all that is drawn inside the block has that style."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style):
        yield Figure(figsize=(width, height), layout=layout)


def write(figure: Any, path: str | PathLike | None) -> None:
    """Write the picture in the format that the name of the file asks for."""
    if path is None:
        return
    import matplotlib as mpl

    known = figure.canvas.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in known:
        raise InputError(f"a picture cannot be written as {Path(path).name!r}; use .png, .svg or .pdf")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        figure.savefig(path, dpi=160)


def finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def size_of(values: np.ndarray) -> float:
    return float(np.nanmax(np.abs(finite(values)), initial=0.0))


def _explodes(values: np.ndarray) -> bool:
    """Small for most of the time, and millions of times larger at the end."""
    sizes = np.abs(values[np.isfinite(values)])
    if len(sizes) < 10:
        return False
    late = sizes[-(len(sizes) // 10) :].max()
    return bool(late == sizes.max() and 0 < np.median(sizes) < 1e-6 * late)


def _start(values: np.ndarray) -> float:
    """The size at the start of an exploding series, as a power of ten."""
    sizes = np.abs(values[np.isfinite(values)])
    size = float(sizes[: len(sizes) // 10].max()) or float(np.median(sizes))
    return 10.0 ** floor(log10(size))


def _keep_wide(axis: Any, largest: float) -> None:
    """No zooming into the last digits of a constant."""
    low, high = axis.get_ylim()
    least = 0.01 * largest
    if high - low < least:
        middle = (low + high) / 2
        axis.set_ylim(middle - least / 2, middle + least / 2)
