"""The pictures of a Z-width: what each scheme reaches and loses, and the map over stiffness and damping of the wall."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.run.draw import COLOURS, DASHED, DOTTED, GREY, decades, figure, legend, write

if TYPE_CHECKING:
    from passivo.run.zwidth import ZMap, ZWidth

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LEAST = 1e-5  # joules: what is less is drawn as this
MOST = 1e4
RENDERED, NONE, FOREIGN = "#0072B2", "#f4e3d7", "#cccccc"


def plot(found: ZWidth, path: str | PathLike | None = None) -> Any:
    """The stiffest wall of every scheme and operator beside the limits of theory, and the energy drawn out."""
    schemes = found.schemes
    with figure(9.6, 1.9 + 0.45 * len(schemes)) as picture:
        if found.attacks:
            reached, lost = picture.subplots(1, 2, width_ratios=(3, 2), sharey=True)
            _lost(lost, found)
        else:
            reached = picture.subplots()
        _reached(reached, found)
        reached.set_yticks(range(len(schemes)), schemes)
        reached.set_ylim(len(schemes) - 0.5, -0.5)
        legend(reached)
        title = f"Stiffest wall rendered: {headline(found)}"
        picture.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    write(picture, path)
    return picture


def headline(found: ZWidth) -> str:
    """Device and rate in one line."""
    device = found.device
    more = [f"friction {device.friction:g} N"] * (device.friction > 0)
    more += [f"encoder {1e6 * device.encoder:g} µm"] * (device.encoder > 0)
    more += [f"{name} {getattr(device, name):g}" for name in ("delay", "jitter", "dropped") if getattr(device, name)]
    return ", ".join([f"{device.mass:g} kg", f"{device.damping:g} N s/m", *more, f"{found.rate:g} Hz"])


def _reached(axis: Any, found: ZWidth) -> None:
    soft, stiff = found.range
    axis.set_xscale("log")
    for i, operator in enumerate(found.operators):
        style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKS[i % len(MARKS)], "linestyle": "none"}
        place = 0.16 * (i - (len(found.operators) - 1) / 2)
        rows = [
            (found.reaches[scheme, operator], row)
            for row, scheme in enumerate(found.schemes)
            if (scheme, operator) in found.reaches
        ]
        stiffness = [max(reach.stiffness, soft) for reach, _ in rows]
        height = [row + place for _, row in rows]
        axis.plot(stiffness, height, label=operator, markersize=6, **style)
        for (reach, _), k, y in zip(rows, stiffness, height):
            if reach.beyond is None:  # beyond the end of the grid
                axis.annotate("", (k * 1.5, y), (k, y), arrowprops={"arrowstyle": "->", "color": style["color"]})
    limit = found.limit()
    if limit:
        axis.axvline(limit, color=GREY, linestyle=DASHED, linewidth=1.0, label="2b/T of the device alone")
        axis.axvline(limit / 3.0, color=GREY, linestyle=DOTTED, linewidth=1.4, label="2b/(3T)")
    axis.set_xlim(soft / 1.3, stiff * 1.8)
    decades(axis.xaxis, soft, stiff)
    axis.set_xlabel("stiffness of the wall [N/m]; all softer ones are rendered too")
    axis.grid(axis="y", visible=False)


def _lost(axis: Any, found: ZWidth) -> None:
    energies = {scheme: max(-attack.energy, 0.0) for scheme, attack in found.attacks.items()}
    axis.set_xscale("log")
    for row, scheme in enumerate(found.schemes):
        if scheme in energies:
            energy = energies[scheme]
            shown = min(max(energy, LEAST), MOST)
            axis.barh(row, shown - LEAST / 3, 0.5, LEAST / 3, color=COLOURS[1], alpha=0.85)
            text = f"> {MOST:g} J" if energy > MOST else f"{1e3 * energy:.3g} mJ" if energy < 1 else f"{energy:.3g} J"
            axis.text(shown * 1.5, row, text, va="center", fontsize=8)
    largest = min(max([LEAST, *energies.values()]), MOST)
    axis.set_xlim(LEAST / 3, 1e3 * largest)
    decades(axis.xaxis, LEAST, 10 * largest)
    axis.tick_params(labelleft=False)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel(f"energy drawn out by ±{found.bound:g} N [J], wall {found.wall:g} N/m")


def plot_map(found: ZMap, path: str | PathLike | None = None) -> Any:
    """For each scheme, the walls that all, some or no operators find rendered."""
    count = len(found.rendered)
    columns = min(count, 2)
    rows = -(-count // columns)
    with figure(4.9 * columns, 0.9 + 2.5 * rows) as picture:
        axes = picture.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axis, (scheme, counts) in zip(axes, found.rendered.items()):
            _panel(axis, found, counts)
            axis.set_title(scheme, fontweight="bold")
        for axis in axes[count:]:
            axis.set_visible(False)
        for axis in axes[max(count - columns, 0) : count]:
            axis.set_xlabel("stiffness [N/m]")
            axis.tick_params(labelbottom=True)
        for axis in axes[::columns]:
            axis.set_ylabel("damping [N s/m]")
        _key(picture, found)
        title = "Walls that are rendered, by stiffness and damping"
        picture.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    write(picture, path)
    return picture


def _panel(axis: Any, found: ZMap, counts: np.ndarray) -> None:
    from matplotlib.colors import to_rgb

    full, none = np.array(to_rgb(RENDERED)), np.array(to_rgb(NONE))
    share = np.clip(counts / len(found.operators), 0.0, 1.0)[:, :, None]
    colours = np.where(counts[:, :, None] < 0, np.array(to_rgb(FOREIGN)), none + share * (full - none))
    walls = found.stiffnesses
    ratio = np.sqrt(walls[1] / walls[0])
    edges = np.concatenate([walls / ratio, [walls[-1] * ratio]])
    axis.pcolormesh(edges, np.arange(len(found.dampings) + 1) - 0.5, colours, edgecolors="white", linewidth=0.4)
    axis.set_xscale("log")
    decades(axis.xaxis, walls[0], walls[-1])
    axis.set_yticks(range(len(found.dampings)), [f"{b:g}" for b in found.dampings])
    axis.grid(visible=False)
    inside = [i for i, limit in enumerate(found.limit) if limit >= edges[0]]
    for i in inside:
        axis.plot([found.limit[i]] * 2, [i - 0.5, i + 0.5], color="black", linewidth=1.6, solid_capstyle="butt")
    axis.set_xlim(edges[0], edges[-1])


def _key(picture: Any, found: ZMap) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    one = len(found.operators) == 1
    names: list[Any] = [Patch(color=RENDERED, label="rendered" if one else f"all {len(found.operators)} operators")]
    if not one:
        names.append(Patch(color="#8fb0bf", label="some"))
    names.append(Patch(color=NONE, label="not" if one else "none"))
    if any((counts < 0).any() for counts in found.rendered.values()):
        names.append(Patch(color=FOREIGN, label="has no damping"))
    names.append(Line2D([], [], color="black", linewidth=1.6, label="Colgate: 2(b − B)/T"))
    picture.legend(handles=names, loc="outside lower left", ncols=len(names), fontsize=8)
