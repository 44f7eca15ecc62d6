"""One picture of a run: states, ports, energy, and what the numerics created. Made for print and screen."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import InputError
from passivo.run.run import Run

# Okabe and Ito's colours, told apart by every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
VERDICTS = {"exact": "#009E73", "passive": "#0072B2", "booked": "#E69F00", "active": "#D55E00", "none": "#666666"}
MOST_POINTS = 4000
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def plot(run: Run, path: str | PathLike | None = None) -> Any:
    """Draw `run`; write it to `path` if given, and return the figure."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        ports = bool(run.model.ports)
        rows = 3 + ports if run.model.states else 2 + ports
        figure = Figure(figsize=(7.2, 1.55 * rows + 0.7), layout="constrained")
        axes = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
        figure.suptitle(
            _title(run), x=0.01, ha="left", fontsize=9, color=VERDICTS[run.verdict.kind], fontweight="bold", wrap=True
        )
        if run.model.states:
            _states(axes.pop(0), run)
        if ports:
            _ports(axes.pop(0), run)
        _energy(axes[0], run)
        _created(axes[1], run)
        axes[-1].set_xlabel("time [s]")
        axes[-1].set_xlim(run.time[0], run.time[-1] if len(run.time) > 1 else run.time[0] + 1)
        if path is not None:
            known = figure.canvas.get_supported_filetypes()
            if Path(path).suffix.lstrip(".").lower() not in known:
                raise InputError(f"a picture cannot be written as {Path(path).name!r}; use .png, .svg or .pdf")
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=160)
        return figure


def _title(run: Run) -> str:
    return f"{run.model.name}, {type(run.method).__name__}, step {run.step:g} s\n{run.verdict}"


def _thin(run: Run) -> slice:
    """Rows to draw: all of them, or an even choice where there are far more than pixels."""
    return slice(None, None, max(1, len(run.time) // MOST_POINTS))


def _lines(axis: Any, run: Run, series: dict[str, np.ndarray], first: int = 0, **style: Any) -> None:
    pick = _thin(run)
    for i, (name, values) in enumerate(series.items(), start=first):
        axis.plot(run.time[pick], values[pick], label=name, color=COLOURS[i % len(COLOURS)], **style)


def _legend(axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        axis.legend(handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _scaled(name: str, values: np.ndarray) -> tuple[str, np.ndarray]:
    """Quantities of different units share an axis as shares of their own largest value."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return (f"{name} / {largest:.3g}", values / largest) if largest > 0 else (name, values)


def _states(axis: Any, run: Run) -> None:
    values = run.arrays["states"]
    _lines(axis, run, dict(_scaled(name, values[:, i]) for i, name in enumerate(run.model.states[: len(COLOURS)])))
    hidden = len(run.model.states) - len(COLOURS)
    axis.set_ylabel("states\n[SI, scaled]")
    axis.set_title(f"{len(COLOURS)} of {len(run.model.states)} states" if hidden > 0 else "")
    _legend(axis)


def _ports(axis: Any, run: Run) -> None:
    """What goes in (solid) and what comes out (dashed) at each port component."""
    given, found = {}, {}
    for name, port in list(run.model.ports.items())[: len(COLOURS)]:
        inputs, outputs = (group[name].values.reshape(len(run.time), -1) for group in (run.inputs, run.outputs))
        for i in range(port.width):
            label = name if port.width == 1 else f"{name}[{i}]"
            given.update([_scaled(f"{label} in", inputs[:, i])])
            found.update([_scaled(f"{label} out", outputs[:, i])])
    _lines(axis, run, given)
    _lines(axis, run, found, first=len(given), linestyle=(0, (4, 2)))
    axis.set_ylabel("ports\n[SI, scaled]")
    _legend(axis)


def _energy(axis: Any, run: Run) -> None:
    total = run.ledger.sel(part="total")
    parts = run.parts if len(run.parts) > 1 else []
    stored = {f"stored, {name}": run.ledger.stored.sel(part=name).values for name in parts}
    stored = {name: values for name, values in stored.items() if np.abs(values).max() > 0}
    _lines(
        axis, run, {"stored": total.stored.values, "supplied": total.work.values, "lost": total.lost.values}, zorder=3
    )
    _lines(axis, run, stored, first=3, linewidth=0.7, alpha=0.7)
    axis.set_ylabel("energy [J]")
    _legend(axis)


def _created(axis: Any, run: Run) -> None:
    created = run.ledger.created.sel(part="total").values
    pick = _thin(run)
    roundoff = run.verdict.roundoff
    axis.axhspan(-roundoff, roundoff, color="#888888", alpha=0.25, linewidth=0, label="roundoff\nof a step")
    axis.plot(run.time[pick], created[pick], color=VERDICTS[run.verdict.kind], label="created")
    axis.set_ylabel("created by\nnumerics [J]")
    _legend(axis)
