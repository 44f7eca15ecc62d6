"""Networks to touch, and what the port of a device gave and took, for the tests of the loop."""

from __future__ import annotations

from typing import Any

import numpy as np

import passivo as pv


def wall(device: pv.Device, k: float = 20e3, **clamp: Any) -> pv.Network:
    """A stiff wall behind the clamp; the same code as in the README and of `passivo touch wall`."""
    return _rendered(device, pv.library.wall(k=k), **clamp)


def law(device: pv.Device, formula: str, **clamp: Any) -> pv.Network:
    """Any law of the position `depth`, in newtons that oppose the motion."""
    return _rendered(device, pv.Rendering({"end": pv.flow()}, {"end": formula}, signals=["depth"]), **clamp)


def _rendered(device: pv.Device, model: pv.Rendering, **clamp: Any) -> pv.Network:
    net = pv.Network()
    part = net.add("wall", model, step=float(device.step))
    net.connect(device["handle"], part["end"], through=pv.LedgerClamp(**clamp), name="touch")
    net.observe(device["position"], part["depth"])
    return net


def spring_and_mass(device: pv.Device, times: int = 5, order: str = "published") -> pv.Network:
    """A spring at the device's rate, and behind it a mass that steps `times` slower."""
    net, step = pv.Network(), float(device.step)
    method = pv.EnergyConsistent(alpha=0.2)
    spring = net.add("spring", pv.library.spring(k=400.0, ports=("near", "far")), method, step=step)
    mass = net.add("mass", pv.library.mass(m=1.0), method, step=times * step)
    net.connect(device["handle"], spring["near"], through=pv.LedgerClamp(), name="touch")
    net.connect(spring["far"], mass["force"], through=pv.PassiveSampleHold(order=order), name="link")
    return net


def balance(report: pv.LoopReport) -> np.ndarray:
    """Joules by which the books of the whole do not add up, at the ticks at which they were closed."""
    column = lambda name: report.rows[f"ledger.total.{name}"][:, 0]  # noqa: E731
    gap = column("stored") - column("stored")[0] - column("work") + column("lost") - column("created")
    closed = np.flatnonzero(np.diff(column("created"))) + 1
    assert len(closed) > 10
    return gap[closed]


def port_energy(report: pv.LoopReport, name: str = "device") -> np.ndarray:
    """Joules that the port absorbed up to each tick, from the force the handle felt and the readings that counted."""
    heard = report.rows[f"{name}.missing"][:, 0] == 0.0
    last = np.maximum.accumulate(np.where(heard, np.arange(len(heard)), 0))
    moves = np.diff(report.rows[f"{name}.position"][last], axis=0)
    return np.concatenate([[0.0], -np.cumsum((report.rows[f"{name}.force"][:-1] * moves).sum(axis=1))])
