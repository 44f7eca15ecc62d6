"""What a passive sample and hold owes, over stiffness, mass and slow step (spec 1.9), and where it diverges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passivo.method.energy_consistent import EnergyConsistent
from passivo.model import library
from passivo.network.network import Network
from passivo.network.sample_hold import PassiveSampleHold
from passivo.reproduce.figure import Advance, Figure, Outcome, Statement
from passivo.run.draw import figure
from passivo.sweep.keep import Reduce
from passivo.sweep.sweep import sweep

PARAMS = {
    "alpha": 0.2, "small_alpha": 0.005, "beta": 0.9, "fast": 1e-3, "until": 60.0, "q0": 0.2, "k": 400.0, "m": 0.2,
    "k_least": 10.0, "k_most": 1000.0, "m_least": 0.1, "m_most": 8.0, "points": 20.0, "ratio_least": 2.0,
    "ratio_most": 12.0,
}  # fmt: skip
DIVERGED = 10.0  # H/H(0) at any time of the second half


def network(p: Mapping[str, float], alpha: float) -> Network:
    """A fast spring and a slow mass."""
    net, method = Network(), EnergyConsistent(alpha=alpha, beta=p["beta"])
    spring = net.add("spring", library.spring(k=p["k"]), method, step=p["fast"])
    mass = net.add("mass", library.mass(m=p["m"]), method, step=p["fast"] * p["ratio_least"])
    net.connect(spring["end"], mass["force"], through=PassiveSampleHold(), name="link")
    return net


def index(p: Mapping[str, float], alpha: float, name: str, values: np.ndarray, advance: Advance) -> tuple[Any, Any]:
    """Hnorm = |mean HE|/H(0) of the second half, and the largest H/H(0) in it: each by value and slow step."""
    slow = p["fast"] * np.arange(int(p["ratio_least"]), int(p["ratio_most"]) + 1)
    half = p["until"] / 2
    kept = [Reduce("link.error", "mean", half, "error"), Reduce("stored", "max", half, "most")]
    found = sweep(
        network(p, alpha),
        until=p["until"],
        over={name: values, "mass.step": slow},
        keep=kept,
        start={"spring.q": p["q0"]},
        progress=lambda done, total: advance(f"{name}, alpha = {alpha:g}", done, total),
    )
    stiffness = values if name == "spring.k" else np.full(len(values), p["k"])
    first = (stiffness * p["q0"] ** 2 / 2)[:, None]
    return np.abs(found["error"].values) / first, found["most"].values / first


def make(p: Mapping[str, float], advance: Advance) -> Outcome:
    count = int(p["points"])
    stiffnesses, masses = np.linspace(p["k_least"], p["k_most"], count), np.linspace(p["m_least"], p["m_most"], count)
    slow = p["fast"] * np.arange(int(p["ratio_least"]), int(p["ratio_most"]) + 1)
    panels = {
        alpha: {name: index(p, alpha, name, v, advance) for name, v in (("spring.k", stiffnesses), ("mass.m", masses))}
        for alpha in (p["alpha"], p["small_alpha"])
    }
    with figure(11.0, 7.2, layout=None) as picture:
        for row, (alpha, found) in enumerate(panels.items()):
            for column, (name, values) in enumerate((("spring.k", stiffnesses), ("mass.m", masses))):
                axis: Any = picture.add_subplot(2, 2, 2 * row + column + 1, projection="3d")
                _surface(axis, values, slow, *found[name])
                _labels(axis, name, p, alpha)
        picture.subplots_adjust(left=0.02, right=0.95, bottom=0.05, top=0.9, wspace=0.1, hspace=0.16)
        title = "What a passive sample and hold owes: Hnorm = |mean HE| / H(0) of the second half; dots: diverged"
        picture.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return Outcome(picture, _columns(panels, stiffnesses, masses, slow), _statements(p, panels), _note(p, panels, slow))


def _surface(axis: Any, values: np.ndarray, slow: np.ndarray, norm: np.ndarray, most: np.ndarray) -> None:
    """Hnorm up to 1; what diverged stands at the top as dots."""
    x, y = np.meshgrid(values, slow * 1e3, indexing="ij")
    lost = ~(most < DIVERGED)
    height = np.where(lost, 1.0, np.minimum(norm, 1.0))
    axis.plot_surface(x, y, height, cmap="viridis", vmin=0.0, vmax=1.0, linewidth=0.2, edgecolor="white", alpha=0.9)
    axis.plot(x[lost], y[lost], height[lost] + 0.02, ".", color="#C04A00", markersize=5)
    axis.set_zlim(0.0, 1.05)


def _labels(axis: Any, name: str, p: Mapping[str, float], alpha: float) -> None:
    if name == "spring.k":
        axis.set_xlabel("k [N/m]")
        fixed = f"m = {p['m']:g} kg"
    else:
        axis.set_xlabel("m [kg]")
        axis.invert_xaxis()  # as in the paper: less mass acts as more stiffness does
        fixed = f"k = {p['k']:g} N/m"
    axis.set_ylabel("Ts [ms]")
    axis.set_zlabel("Hnorm [1]")
    axis.set_title(f"{fixed}, alpha = {alpha:g}", fontsize=9)
    axis.view_init(elev=28, azim=-128)
    axis.tick_params(labelsize=7)


def _columns(panels: Any, stiffnesses: np.ndarray, masses: np.ndarray, slow: np.ndarray) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for name, values, unit in (("spring.k", stiffnesses, "N/m"), ("mass.m", masses, "kg")):
        x, y = np.meshgrid(values, slow, indexing="ij")
        columns |= {f"{name} [{unit}]": x.ravel(), f"{name}: Ts [s]": y.ravel()}
        for alpha, found in panels.items():
            norm, most = found[name]
            columns[f"{name}: Hnorm, alpha {alpha:g}"] = norm.ravel()
            columns[f"{name}: largest H/H(0), alpha {alpha:g}"] = most.ravel()
    return columns


def _statements(p: Mapping[str, float], panels: Any) -> tuple[Statement, ...]:
    usual = panels[p["alpha"]]
    runs = {alpha: sum(norm.size for norm, _ in found.values()) for alpha, found in panels.items()}
    gone = {
        alpha: sum(int((~(most < DIVERGED)).sum()) for _, most in found.values()) for alpha, found in panels.items()
    }
    statements = [
        Statement(f"runs that diverge at alpha {alpha:g}, of {runs[alpha]}", float(gone[alpha])) for alpha in panels
    ]
    if all(p[name] == PARAMS[name] for name in PARAMS):
        norm, most = usual["spring.k"]
        more, least = gone[p["small_alpha"]] - gone[p["alpha"]], norm[0, 0]
        statements += [
            Statement("largest Hnorm of the runs over k that do not diverge", float(norm[most < DIVERGED].max())),
            Statement("runs that diverge only at the small alpha", float(more), "> 0", more > 0),
            Statement("Hnorm at the least k and the shortest Ts", float(least), "< 0.01", bool(least < 0.01)),
        ]
    return tuple(statements)


def _note(p: Mapping[str, float], panels: Any, slow: np.ndarray) -> str:
    """Where it diverges: the least ωTs, and whether it is always so beyond."""
    lines = [
        "The paper calls the scheme always stable and never says its alpha; dots mark runs whose energy passed "
        f"{DIVERGED:g} times that of the start."
    ]
    for alpha, found in panels.items():
        speeds, lost = [], []
        for name, (_, most) in found.items():
            count = int(p["points"])
            if name == "spring.k":
                speed = np.sqrt(np.linspace(p["k_least"], p["k_most"], count) / p["m"])
            else:
                speed = np.sqrt(p["k"] / np.linspace(p["m_least"], p["m_most"], count))
            speeds.append((speed[:, None] * slow).ravel())
            lost.append((~(most < DIVERGED)).ravel())
        phase, gone = np.concatenate(speeds), np.concatenate(lost)
        if gone.any():
            lines.append(
                f"With alpha = {alpha:g} {int(gone.sum())} of {gone.size} runs diverge, the first at ωTs = "
                f"{phase[gone].min():.2f}; the highest ωTs without is {phase[~gone].max(initial=0.0):.2f}."
            )
        else:
            lines.append(f"With alpha = {alpha:g} none of {gone.size} runs diverges, up to ωTs = {phase.max():.2f}.")
    return " ".join(lines)


FIGURE = Figure(
    name="borghesan-fig11",
    title="What a passive sample and hold owes over stiffness, mass and slow step, and where it diverges",
    source="Borghesan, energy-consistent simulation of haptic systems, Fig. 11",
    make=make,
    params=PARAMS,
)
