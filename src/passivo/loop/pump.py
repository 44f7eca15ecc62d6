"""`Pump`: the thread that carries readings and forces between a driver in Python and the box of a compiled loop."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from numba import njit

from passivo.device.boxed import BOX_ANSWERED, BOX_HEAD, BOX_PUBLISHED, NAP
from passivo.device.device import Device
from passivo.device.driver import (
    R_BUTTONS,
    R_FLAGS,
    R_GRIPPER,
    R_HOST,
    R_ORIENTATION,
    R_POSITION,
    R_SEQUENCE,
    R_TIME,
    read_size,
)  # fmt: skip
from passivo.device.state import DeviceState, Flags
from passivo.kernel.atomics import load_acquire, store_release
from passivo.kernel.clock import monotonic, wait_until

PATIENCE = 0.02  # seconds without an answer of the loop, after which the handle is damped
LINGER = 0.1  # seconds of damping before no force acts any more
DRAG_SHARE = 0.1  # of mass × rate
SILENCE = 0.05  # seconds without a reading after which a device is lost


@njit(nogil=True, cache=True)
def publish(box: Any, at: int, reading: Any) -> None:
    """A new reading, for the loop to find."""
    count = load_acquire(box, at + BOX_PUBLISHED) + 1.0
    slot = at + BOX_HEAD + (int(count) % 2) * reading.shape[0]
    for k in range(reading.shape[0]):
        box[slot + k] = reading[k]
    store_release(box, at + BOX_PUBLISHED, count)


@njit(nogil=True, cache=True)
def answer(box: Any, at: int, size: int, force: Any, patience: float, spec: Any) -> bool:
    """Wait for the force that answers the newest reading; whether it came in time."""
    count = load_acquire(box, at + BOX_PUBLISHED)
    now = monotonic(spec)
    last = now + patience
    while load_acquire(box, at + BOX_ANSWERED) < count:
        if now > last:
            return False
        now = wait_until(now + NAP, 0.0, spec)
    slot = at + BOX_HEAD + 2 * size + (int(count) % 2) * force.shape[0]
    for k in range(force.shape[0]):
        force[k] = box[slot + k]
    return True


class Pump(threading.Thread):
    """Reads, publishes, waits for the loop's answer, writes; where the device fails, says so to the loop and ends.

    Where the loop does not answer, the handle is damped for a while, and then no force acts.
    """

    def __init__(self, device: Device, box: np.ndarray, at: int, most: float):
        super().__init__(name=f"passivo {device.name}", daemon=True)
        self.device, self.box, self.at, self.most = device, box, at, most  # N
        axes = device.info.degrees_of_freedom
        self.reading, self.force = np.full(read_size(axes), np.nan), np.zeros(axes)
        self.spec = np.zeros(2, dtype=np.int64)
        self.over = threading.Event()
        self.failure = ""
        self.seen: Any = ()  # place and host time of the last two readings
        answer(box, at, len(self.reading), self.force, 0.0, self.spec)  # compiled before it is needed

    def start(self) -> None:
        """The first reading is there when this returns."""
        self._publish(self._next())
        super().start()

    def run(self) -> None:
        silent = 0.0
        try:
            while not self.over.is_set():
                if answer(self.box, self.at, len(self.reading), self.force, PATIENCE, self.spec):
                    silent = 0.0
                    self.device._write(tuple(self.force.tolist()))
                elif not self.over.is_set():
                    silent = silent or time.monotonic()
                    self._calm(time.monotonic() - silent)
                self._publish(self._next())
        except Exception as error:
            self.failure = str(error) or type(error).__name__
            self.device.stop(self.failure)
            self._unplugged()

    def _calm(self, silence: float) -> None:
        """The loop is silent: damp the handle by what the last two readings say, then let go."""
        (x0, t0), (x1, t1) = self.seen
        drag = DRAG_SHARE * self.device.info.mass * self.device.info.rate if silence < LINGER else 0.0
        push = -drag * (x1 - x0) / max(t1 - t0, 0.5 / self.device.info.rate)
        size = float(np.linalg.norm(push))
        if not np.isfinite(size):
            push = np.zeros_like(push)
        elif size > self.most:
            push *= self.most / size
        self.device._write(tuple(push.tolist()))

    def _next(self) -> DeviceState:
        """The next reading; a device that is silent for long is lost, and its force must not stay for longer."""
        return self.device.wait_tick(max(SILENCE, 5.0 / self.device.info.rate))

    def _publish(self, state: DeviceState) -> None:
        here = (np.array(state.position, dtype=float), state.host_time)
        self.seen = (self.seen[1] if self.seen else here, here)
        r, n = self.reading, len(self.force)
        r[R_TIME], r[R_HOST], r[R_SEQUENCE] = state.device_time, state.host_time, state.sequence
        r[R_FLAGS], r[R_BUTTONS], r[R_GRIPPER] = int(state.flags), state.buttons, state.gripper
        r[R_ORIENTATION : R_ORIENTATION + 4] = state.orientation if len(state.orientation) == 4 else np.nan
        r[R_POSITION : R_POSITION + n] = state.position
        r[R_POSITION + n : R_POSITION + 2 * n] = state.velocity if len(state.velocity) == n else np.nan
        publish(self.box, self.at, r)

    def _unplugged(self) -> None:
        self.reading[R_FLAGS] = int(Flags.UNPLUGGED)
        self.reading[R_SEQUENCE] += 1.0
        publish(self.box, self.at, self.reading)

    def finish(self) -> None:
        """The loop is over: no further reading, and no further force."""
        self.over.set()
        if self.is_alive():
            self.join(2.0)
