"""The picture of a run, for print and screen: what happened, the ledger, and what the numerics created."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from passivo.network.network import Network
from passivo.run.draw import (
    COLOURS,
    DASHED,
    GREY,
    LONGEST_LABEL,
    VERDICTS,
    Line,
    draw,
    draw_ledger,
    figure,
    label,
    ledger_of,
    legend,
    power_of,
    ramp,
    short,
    size_of,
    time_label,
    write,
)
from passivo.run.network_run import NetworkRun
from passivo.run.run import Run

MOST_AXES = 8
MOST_NAMES = 6  # lines in an axis that are told apart by name; beyond, they go from dark to light


@dataclass(frozen=True)
class Series:
    """One quantity of a run: `kind` is "state", "input", "output" or "signal"."""

    name: str
    kind: str
    unit: str
    time: np.ndarray
    values: np.ndarray

    @property
    def group(self) -> str:
        """What may share an axis: the same unit, or where none is stated the same name up to a number."""
        return f"[{self.unit}]" if self.unit else f"{self.kind} {re.sub(r'[0-9]+$', '', self.name)}"

    def repeats(self, other: Series) -> bool:
        """Whether both are the same line, as the output of a rotating body is its angular velocity."""
        return self.unit == other.unit and np.array_equal(self.values, other.values)


def plot(run: Run | NetworkRun, path: str | PathLike | None = None) -> Any:
    """Draw `run`; write it to `path` if given, and return the figure.

    On the left states and driven ports, one axis per unit; on the right the ledger; the verdict is the title.
    """
    groups = _groups(run)
    columns = 2 if groups else 1
    with figure(4.9 * columns, max(4.4, 1.2 * len(groups) + 1.0)) as picture:
        # columns of their own, so that the rows of one do not push those of the other
        *beside, ledger = picture.subfigures(1, columns, squeeze=False)[0]
        left = [axis for side in beside for axis in side.subplots(len(groups), squeeze=False)[:, 0]]
        right = list(ledger.subplots(2))
        for axis, group in zip(left, groups):
            _group(axis, group)
        draw_ledger(right, run.time, ledger_of(run), run.verdict, run.step)
        for column in filter(None, (left, right)):
            _clock(column, run)
            column[0].figure.align_ylabels(column)
        _title(picture, run)
    write(picture, path)
    return picture


def _groups(run: Run | NetworkRun) -> list[list[Series]]:
    """Series that share an axis, in order; the last group takes what is left over."""
    groups: dict[str, list[Series]] = {}
    for series in _series(run):
        groups.setdefault(series.group, []).append(series)
    found = list(groups.values())
    if len(found) <= MOST_AXES:
        return found
    return [*found[: MOST_AXES - 1], [series for group in found[MOST_AXES - 1 :] for series in group]]


def _series(run: Run | NetworkRun) -> list[Series]:
    """All states, and the entries of ports and the signals that something came in through."""
    if isinstance(run, NetworkRun):
        parts = [_named(series, key) for key, part in run.runs.items() for series in _of_part(part, run.net, key)]
        shown = [(name, link["error"]) for name, link in run.links.items() if "error" in link.widths]
        errors = [Series(f"{name} error", "state", "J", link.time.values, link.values) for name, link in shown]
        return parts + errors
    return _of_part(run)


def _named(series: Series, part: str) -> Series:
    return replace(series, name=f"{part}.{series.name}")


def _of_part(run: Run, net: Network | None = None, key: str = "") -> list[Series]:
    """The series of one part; in a network, of its ports only those that are driven from outside."""
    model, inputs, outputs, time = run.model, run.arrays["inputs"], run.arrays["outputs"], run.time
    make = lambda name, kind, unit, values: Series(name, kind, unit, time, values)  # noqa: E731
    shown = set(model.shown)
    states = [
        make(s, "state", model.unit(s), run.arrays["states"][:, i]) for i, s in enumerate(model.kept) if s in shown
    ]
    taken, given, at = [], [], 0
    for name, port in model.ports.items():
        free = net is None or f"{key}.{name}" in net.ports
        for i in range(port.width):
            if free and np.nan_to_num(inputs[:, at + i]).any():
                entry = name if port.width == 1 else f"{name}[{i}]"
                gives = f"{entry} port, {'flow' if port.kind == 'effort' else 'effort'}"
                taken.append(make(f"{entry} in", "input", model.unit(name), inputs[:, at + i]))
                given.append(make(gives, "output", model.unit(name, gives=True), outputs[:, at + i]))
        at += port.width
    signals = [make(s, "signal", model.unit(s), inputs[:, at + i]) for i, s in enumerate(model.signals)]
    given = [series for series in given if not any(series.repeats(state) for state in states)]
    return states + taken + given + [series for series in signals if np.nan_to_num(series.values).any()]


def _group(axis: Any, group: list[Series]) -> None:
    if len({series.group for series in group}) > 1:
        group, what, unit = [_share(series) for series in group], "the others, each as a\nshare of its largest", "1"
    else:
        what, unit = _names(group), group[0].unit or "SI"
    many, mixed = len(group) > MOST_NAMES, len({series.kind for series in group}) > 1
    colours = ramp(len(group)) if many else COLOURS
    lines = [
        Line(series.name, series.time, series.values, {"color": colour, **_strokes(series, many, mixed)})
        for series, colour in zip(group, colours)
    ]
    draw(axis, lines, what, unit)
    if many:
        axis.set_title(f"{short(group[0].name)} (dark) to {short(group[-1].name)} (light)", fontsize=8)
    elif what not in [series.name for series in group]:
        legend(axis)


def _strokes(series: Series, many: bool, mixed: bool) -> dict[str, Any]:
    """Many lines are thin; outputs are dashed where they share an axis with something else."""
    style: dict[str, Any] = {"linewidth": 0.8} if many else {}
    return {**style, "linestyle": DASHED} if mixed and series.kind == "output" else style


def _names(group: list[Series]) -> str:
    """The names on an axis where they fit, else what kind of things they are."""
    # the entries of one port share its name
    names = ", ".join(dict.fromkeys(re.sub(r"\[[0-9]+\] ", " ", series.name) for series in group))
    if max(map(len, label(names, group[0].unit).split("\n"))) <= LONGEST_LABEL:
        return names
    kinds = dict.fromkeys("port" if series.kind in ("input", "output") else series.kind for series in group)
    return ", ".join(kind + "s" * (len(group) > 1) for kind in kinds)


def _share(series: Series) -> Series:
    largest = size_of(series.values) or 1.0
    name = f"{short(series.name, 14)} / {largest:.3g} {series.unit}".rstrip()
    return replace(series, name=name, unit="1", values=series.values / largest)


def _clock(column: list[Any], run: Run | NetworkRun) -> None:
    """The time axis of a column of axes, written once at its foot."""
    for axis in column[:-1]:
        axis.tick_params(labelbottom=False)
    column[-1].set_xlabel(time_label(run.time))
    for axis in column:
        if len(run.time) > 1:
            axis.set_xlim(run.time[0], run.time[-1] * 10.0 ** -power_of(run.time[-1]))
        else:  # nothing was stepped: the start stands alone
            axis.set_xticks([0.0])


def _title(picture: Any, run: Run | NetworkRun) -> None:
    width = 120 if picture.get_figwidth() > 6 else 58
    colour, verdict = VERDICTS[run.verdict.kind], textwrap.fill(str(run.verdict), width)
    picture.suptitle(verdict, x=0.01, ha="left", fontsize=10, color=colour, fontweight="bold")
    picture.supxlabel(run.headline, x=0.99, ha="right", fontsize=8, color=GREY)
