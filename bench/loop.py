"""Lateness of the compiled loop beside a loop in plain Python, every core busy; and what a tick costs."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np

import passivo as pv
from bench.measure import Row
from passivo.device.device import Device
from passivo.device.sim import Sim
from passivo.loop.kernels import B_TICKS
from passivo.loop.latency import busy, cores
from passivo.loop.loop import Loop
from passivo.loop.machine import on_time
from passivo.loop.report import LoopReport

RATES = (1000, 4000, 10_000)
SECONDS = 2.5
TURNS = 2  # each loop runs so often at each rate, in turn: a busy moment of the machine hits both alike
COUNTED = 100_000  # ticks without waiting, for what a tick costs
HEAD, HELD = 0.5, 2.0  # s before and after somebody takes Python's lock, and how long it is kept
SPIN = 60e-6  # s before a deadline in which the Python loop watches the clock, as the compiled one does
STIFFNESS, MASS, DAMPING, PUSH = 1e3, 0.15, 2.0, 1.0


def before_a_wall(rate: int) -> tuple[pv.Network, Device]:
    """A simulated device, the clamp and a wall; the device is open."""
    net = pv.Network()
    wall = net.add("wall", pv.library.wall(k=STIFFNESS), step=1.0 / rate)
    push = pv.operators.push(PUSH)
    device = Sim(mass=MASS, damping=DAMPING, operator=push, start=-5e-3, rate=float(rate)).open()
    net.connect(device["handle"], wall["end"], pv.LedgerClamp(), "touch")
    net.observe(device["position"], wall["depth"])
    return net, device


def compiled(rate: int, seconds: float) -> LoopReport:
    net, device = before_a_wall(rate)
    with device:
        return Loop(net).run(seconds)


def plain(rate: float, seconds: float) -> tuple[np.ndarray, int]:
    """Lateness of each tick of a loop in Python, and the deadlines it missed; a device before a wall, no ledger."""
    period, late, missed = 1.0 / rate, [], 0
    q, v = -5e-3, 0.0
    deadline = last = time.perf_counter()
    end = deadline + seconds
    while deadline < end:
        deadline += period
        rest = deadline - time.perf_counter() - SPIN
        if rest > 0.0:
            time.sleep(rest)
        while (now := time.perf_counter()) < deadline:
            pass
        late.append(now - deadline)
        elapsed, last = now - last, now
        force = STIFFNESS * max(q, 0.0)
        v += elapsed * (PUSH - DAMPING * v - force) / MASS
        q += elapsed * v
        if (done := time.perf_counter()) > deadline + period:
            skipped = int((done - deadline) / period)
            missed += skipped
            deadline += skipped * period
    return np.array(late), missed


def cost(rate: int) -> float:
    """Seconds that a tick takes where nothing waits: the least of five runs."""
    net, device = before_a_wall(rate)
    with device:
        loop, best = Loop(net, clock="simulated"), float("inf")
        loop.run(0.1)
        for _ in range(5):
            begin = time.perf_counter()
            ticks = loop.run(COUNTED / rate).ticks
            best = min(best, (time.perf_counter() - begin) / ticks)
    return best


def held(rate: int, seconds: float) -> int:
    """Ticks of a loop, for `seconds` of which another thread keeps Python's lock to itself."""
    net, device = before_a_wall(rate)
    with device:
        loop = Loop(net)

        def keep() -> None:
            while loop.book[B_TICKS] < HEAD * rate:
                time.sleep(1e-3)
            ctypes.PyDLL(None).usleep(int(1e6 * seconds))  # PyDLL: the lock is kept

        keeper = threading.Thread(target=keep)
        keeper.start()
        ticks = loop.run(2.0 * HEAD + seconds).ticks
        keeper.join()
    return ticks


def measure() -> list[Row]:
    """Rivals: Python as it is, and Python with the priority, memory and timers that the compiled loop asks for."""
    rows = []
    setup = compiled(1000, 0.1).setup  # compiled before anything is busy
    with busy(cores()):
        ticks = held(1000, HELD), compiled(1000, 2.0 * HEAD + HELD).ticks
        what = f"1 kHz, ticks in {2.0 * HEAD + HELD:g} s, Python's lock held for {HELD:g} s"
        rows.append(Row(what, *ticks, "", note="rival: nobody holds it"))
        for rate in RATES:
            reports, bare, favoured = [], [], []
            for _ in range(TURNS):
                reports.append(compiled(rate, SECONDS))
                bare.append(plain(rate, SECONDS))
                with on_time([]):
                    favoured.append(plain(rate, SECONDS))
            rows += compared(rate, "plain Python", reports, bare)
            rows += compared(rate, "Python, same priority" if not setup else "Python", reports, favoured)
            mean = sum(r.busy * r.ticks for r in reports) / sum(r.ticks for r in reports)
            rows.append(Row(f"{rate / 1e3:g} kHz, computing in a tick, mean", mean, note="all cores busy"))
    for rate, steps in ((1000, 10), (10_000, 1)):
        note = f"least of 5 runs without waiting; {steps} of the tick's steps are the simulated handle's own"
        rows.append(Row(f"{rate / 1e3:g} kHz, device + clamp + wall, one tick", cost(rate), note=note))
    rows += [Row(f"refused: {sentence}", None) for sentence in setup]
    return rows


def compared(rate: int, rival: str, reports: list[LoopReport], others: list[tuple[np.ndarray, int]]) -> list[Row]:
    whole = reports[0].lateness
    for report in reports[1:]:
        whole = type(whole)(whole.counts + report.lateness.counts, max(whole.largest, report.lateness.largest))
    late, title = np.concatenate([late for late, _ in others]), f"{rate / 1e3:g} kHz, lateness"
    note = f"rival: {rival}"
    rows = [
        Row(f"{title} {name}", whole.quantile(share), float(np.quantile(late, share)), note=note)
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
    ]
    rows.append(Row(f"{title} max", whole.largest, float(late.max()), note=note))
    ours = sum(r.missed for r in reports) / sum(r.missed + r.ticks for r in reports)
    missed = sum(count for _, count in others)
    theirs = missed / (missed + len(late))
    rows.append(Row(f"{rate / 1e3:g} kHz, deadlines missed", 100.0 * ours, 100.0 * theirs, "%", note=note))
    return rows
