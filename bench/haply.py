"""One round trip to a Haply service: a force goes out, the next state comes back. The service is our stand-in."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import passivo as pv
from bench.measure import Row

SERVER = Path(__file__).parents[1] / "tests" / "device" / "haply_server.py"
TRIPS = 5000
WARM = 500


def trips(url: str) -> np.ndarray:
    """Seconds of each write with its reply."""
    times = np.zeros(WARM + TRIPS)
    with pv.devices.Haply(url=url, events=False, timeout=5.0) as device:
        device.enable_forces()
        for i in range(len(times)):
            begin = time.perf_counter()
            device._write((0.0, 0.0, 1e-3 * (i % 2)))
            device.read()
            times[i] = time.perf_counter() - begin
    return times[WARM:]


def measure() -> list[Row]:
    # in a process of its own, as the real service: in ours, both would wait for one interpreter lock
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            times = trips(f"ws://127.0.0.1:{int(server.stdout.readline())}")
        finally:
            server.terminate()
    note = "stand-in in Python, same machine; the real service adds its way to the device"
    return [
        Row("Haply: force out, state back, p50", float(np.quantile(times, 0.5)), note=note),
        Row("Haply: force out, state back, p99", float(np.quantile(times, 0.99))),
        Row("Haply: force out, state back, least", float(times.min())),
    ]
