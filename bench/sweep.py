"""The sweep of (J) Fig 11 (spec 1.9): 440 runs of 60 s of two parts that step at rates of their own, on all cores."""

from __future__ import annotations

import time

import numpy as np

import passivo as pv
from bench.measure import Row
from passivo.sweep.workers import cores

FAST, SLOW = 1e-3, [1e-3 * n for n in range(2, 13)]
UNTIL, PLACE = 60.0, 0.2
STIFFNESSES, MASSES = np.geomspace(10.0, 1000.0, 20), np.geomspace(0.1, 8.0, 20)
TARGET = 15.0  # seconds, on two cores
REPEATS = 3
METHOD = pv.EnergyConsistent(alpha=0.2) if hasattr(pv, "EnergyConsistent") else pv.AVF()


def network() -> pv.Network:
    net = pv.Network()
    spring = net.add("spring", pv.library.spring(k=400.0), METHOD, step=FAST)
    mass = net.add("mass", pv.library.mass(m=0.2), METHOD, step=SLOW[0])
    net.connect(spring["end"], mass["force"], through=pv.PassiveSampleHold(), name="link")
    return net


def indices(until: float = UNTIL) -> tuple[np.ndarray, np.ndarray]:
    """Hnorm = |mean HE| / H(0) over the second half of the runs: by stiffness and slow step, by mass and slow step."""
    error = pv.Reduce("link.error", "mean", since=until / 2, name="error")
    found = []
    for name, values in (("spring.k", STIFFNESSES), ("mass.m", MASSES)):
        over = {name: values, "mass.step": SLOW}
        result = pv.sweep(network(), until=until, over=over, keep=[error, "verdict"], start={"spring.q": PLACE})
        stiffness = values if name == "spring.k" else np.full(len(values), 400.0)
        found.append(np.abs(result["error"].values) / (stiffness * PLACE**2 / 2)[:, None])
    return found[0], found[1]


def measure() -> list[Row]:
    indices(0.1)  # compiled
    runs = (len(STIFFNESSES) + len(MASSES)) * len(SLOW)
    overhead = min(_seconds(0.012) for _ in range(REPEATS)) / runs
    spent = min(_seconds(UNTIL) for _ in range(REPEATS))
    ticks = runs * UNTIL / FAST
    each = spent * cores() / ticks * 1e9
    note = f"{type(METHOD).__name__}, {runs} runs, {cores()} cores, {each:.0f} ns per tick and core"
    return [
        Row("Fig 11, runs of 60 s", spent, target=TARGET, note=note),
        Row(
            "Fig 11, what a run costs besides its steps",
            overhead,
            note="runs of 12 ms, checks and preparation included",
        ),
    ]


def _seconds(until: float) -> float:
    begin = time.perf_counter()
    indices(until)
    return time.perf_counter() - begin
