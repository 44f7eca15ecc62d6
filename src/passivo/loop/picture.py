"""Pictures of a loop: what was felt, and how late its ticks were."""

from __future__ import annotations

import textwrap
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.loop.report import LoopReport
from passivo.run.draw import (
    COLOURS,
    DASHED,
    GREY,
    VERDICTS,
    Line,
    decades,
    draw,
    figure,
    label,
    legend,
    power_of,
    time_label,
    write,
)

if TYPE_CHECKING:
    from passivo.loop.felt import Felt
    from passivo.loop.latency import Latency

WIDEST = 40  # bins of a histogram
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def plot_felt(felt: Felt, path: str | PathLike | None = None) -> Any:
    """Position, force and port energy over time, and how late ticks were; the verdict of the port is the title."""
    report, name, verdict = felt.report, felt.name, felt.report.ports[felt.name]
    shown = slice(felt.ended)  # the damping at the end would dwarf the rest
    time = felt.time[shown]
    with figure(9.8, 5.6) as picture:
        left, right = picture.subfigures(1, 2, width_ratios=(1.25, 1.0))
        axes = list(left.subplots(3))
        draw(axes[0], [Line("position", time, 1e3 * felt.position[shown], {"color": COLOURS[0]})], "position", "mm")
        forces = [Line("felt", time, felt.force[shown], {"color": COLOURS[1]})]
        wanted = report.rows[f"{name}.wanted"][shown, 0]
        style = {"color": GREY, "linestyle": DASHED, "linewidth": 0.9, "zorder": 1.5}
        draw(axes[1], [*forces, Line("wanted by the program", time, wanted, style)], "force", "N")
        legend(axes[1])
        colour = VERDICTS[verdict.kind]
        draw(
            axes[2], [Line("energy", time, felt.energy[shown], {"color": colour})], "energy taken\nfrom the handle", "J"
        )
        axes[2].axhline(0.0, color=GREY, linewidth=0.7, zorder=1)
        if felt.surface is not None:
            _surface(axes[0], 1e3 * felt.surface)
        for axis in axes:
            axis.tick_params(labelbottom=axis is axes[-1])
            axis.set_xlim(0.0, time[-1] * 10.0 ** -power_of(time[-1]))
        axes[-1].set_xlabel(time_label(time))
        left.align_ylabels(axes)
        axis = right.subplots()
        _histogram(axis, report)
        _title(picture, f"Port of {name}: {verdict}", colour)
        unclamped = "" if report.safety.clamp else " · LEDGER CLAMP SWITCHED OFF"
        told = f"{felt.caption} · {report.ticks} ticks of {report.period:g} s{unclamped}"
        picture.supxlabel(told, x=0.99, ha="right", fontsize=8, color=GREY)
    write(picture, path)
    return picture


def plot_latency(found: Latency, path: str | PathLike | None = None) -> Any:
    """The histogram of lateness."""
    report = found.report
    with figure(6.4, 4.2) as picture:
        _histogram(picture.subplots(), report)
        beside = f"beside {found.busy} busy processes" if found.busy else "without further load"
        _title(picture, f"Lateness at {found.rate:g} Hz, {beside}", "#222222")
        told = f"{report.ticks} ticks, {report.missed} deadlines missed, computing {1e6 * report.busy:.1f} µs per tick"
        picture.supxlabel(told, x=0.99, ha="right", fontsize=8, color=GREY)
    write(picture, path)
    return picture


def _histogram(axis: Any, report: LoopReport) -> None:
    """Ticks by lateness, both logarithmic; what was not late at all stands in the first bar."""
    late = report.lateness
    edges = np.concatenate([[late.edges[0] / (late.edges[1] / late.edges[0])], late.edges]) * 1e6
    filled = np.flatnonzero(late.counts)
    last = max(int(filled[-1]) + 1 if len(filled) else 1, int(np.searchsorted(edges, 10.0)))
    step = max(-(-last // WIDEST), 1)
    starts = np.arange(0, last, step)
    counts = np.add.reduceat(late.counts[:last], starts)
    low, high = edges[starts], edges[np.minimum(starts + step, last)]
    axis.bar(low, counts, high - low, align="edge", color=COLOURS[0], edgecolor="white", linewidth=0.3)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(low[0], high[-1] * 1.6)
    axis.set_ylim(0.7, max(counts.max(), 10) * 2.0)
    decades(axis.xaxis, low[0], high[-1] * 1.6)
    decades(axis.yaxis, 1.0, max(counts.max(), 10) * 2.0)
    styles = (DASHED, (0, (1, 1.5)), (0, (6, 1, 1, 1)))
    marks = [(f"{name}", late.quantile(share), style) for (name, share), style in zip(QUANTILES.items(), styles)]
    for name, value, style in [*marks, ("max", late.largest, "solid")]:
        colour = COLOURS[1] if name == "max" else "black"
        told = f"{name} {1e6 * value:.3g} µs" if value < 1e-3 else f"{name} {1e3 * value:.3g} ms"
        axis.axvline(max(1e6 * value, low[0]), color=colour, linewidth=0.9, linestyle=style, label=told)
    axis.set_xlabel("lateness [µs]")
    axis.set_ylabel(label("ticks", "1"))
    legend(axis)


def _surface(axis: Any, place: float) -> None:
    """Where the wall begins."""
    axis.axhline(place, color=GREY, linewidth=0.9, linestyle=DASHED, zorder=1)
    where = {"xycoords": ("axes fraction", "data"), "xytext": (-3, -2), "textcoords": "offset points"}
    axis.annotate("wall", (1.0, place), ha="right", va="top", fontsize=8, color=GREY, **where)


def _title(picture: Any, text: str, colour: str) -> None:
    width = 110 if picture.get_figwidth() > 7 else 70
    picture.suptitle(textwrap.fill(text, width), x=0.01, ha="left", fontsize=10, color=colour, fontweight="bold")
