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
from passivo.network.guard import Guard

FIRST = 1.0  # seconds until the first answer at least; no force acts before
LOOK = 0.02  # seconds between two looks whether it is over
SILENCE = 0.05  # seconds without a reading after which a device is lost, unless safety is more patient


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

    It is the watchdog of a driver in Python: where no tick of the loop comes for `guard.patience`, the handle is damped
    for `guard.linger`, and then no force acts. The loop is told that it has no device any more: what it believes of its
    force is no longer true, and no ledger could be kept of it.

    A reading is never overwritten while the loop may copy it: each is answered before the next one is published, but
    for the last of all, and that stands in the other place.
    """

    def __init__(self, device: Device, box: np.ndarray, at: int, guard: Guard):
        super().__init__(name=f"passivo {device.name}", daemon=True)
        self.device, self.box, self.at, self.guard = device, box, at, guard
        axes = device.info.degrees_of_freedom
        self.reading, self.force = np.full(read_size(axes), np.nan), np.zeros(axes)
        self.spec = np.zeros(2, dtype=np.int64)
        self.over = threading.Event()
        self.failure = ""
        self.patience = max(FIRST, guard.patience)
        self.seen: Any = ()  # place and host time of the last two readings
        answer(box, at, len(self.reading), self.force, 0.0, self.spec)  # compiled before it is needed

    def greet(self) -> None:
        """Before the start: the first reading, for the loop to find."""
        self._publish(self._next())

    def run(self) -> None:
        try:
            while self._answered():
                self.patience = self.guard.patience
                self.device._write(tuple(self.force.tolist()))
                self._publish(self._next())
            if not self.over.is_set():
                self._unplug(f"no tick came for {self.patience:g} s: the handle was damped, and let go")
                self._calm()
        except Exception as error:
            self._unplug(str(error) or type(error).__name__)
        if self.failure:
            self.device.stop(self.failure)

    def _answered(self) -> bool:
        """Wait for the loop's answer; False where it is over, or none came in time."""
        last = time.monotonic() + self.patience
        while not self.over.is_set():
            left = last - time.monotonic()
            if answer(self.box, self.at, len(self.reading), self.force, max(min(left, LOOK), 0.0), self.spec):
                return True
            if left <= 0.0:
                return False
        return False

    def _calm(self) -> None:
        """The loop is silent: damp the handle by what the last two readings say, for as long as safety wants."""
        end, used = time.monotonic() + self.guard.linger, list(self.device.indices)
        while time.monotonic() < end and not self.over.is_set():
            (x0, t0), (x1, t1) = self.seen
            push = -self.guard.drag * (x1 - x0)[used] / max(t1 - t0, 0.5 / self.device.info.rate)
            size = float(np.linalg.norm(push))
            if not np.isfinite(size):
                push = np.zeros_like(push)
            elif size > self.guard.most:
                push *= self.guard.most / size
            self.device._write(self.device.spread(push))
            self._note(self._next())

    def _next(self) -> DeviceState:
        """The next reading; a device that is silent for long is lost, and its force must not stay for longer."""
        return self.device.wait_tick(max(SILENCE, 5.0 / self.device.info.rate, self.guard.patience))

    def _note(self, state: DeviceState) -> None:
        here = (np.array(state.position, dtype=float), state.host_time)
        self.seen = (self.seen[1] if self.seen else here, here)

    def _publish(self, state: DeviceState) -> None:
        self._note(state)
        r, n = self.reading, len(self.force)
        r[R_TIME], r[R_HOST], r[R_SEQUENCE] = state.device_time, state.host_time, state.sequence
        r[R_FLAGS], r[R_BUTTONS], r[R_GRIPPER] = int(state.flags), state.buttons, state.gripper
        r[R_ORIENTATION : R_ORIENTATION + 4] = state.orientation if len(state.orientation) == 4 else np.nan
        r[R_POSITION : R_POSITION + n] = state.position
        r[R_POSITION + n : R_POSITION + 2 * n] = state.velocity if len(state.velocity) == n else np.nan
        publish(self.box, self.at, r)

    def _unplug(self, why: str) -> None:
        """The last of all readings: there is no device any more. The first reason is the one that is told."""
        if self.failure:
            return
        self.failure = why
        self.reading[R_FLAGS] = int(Flags.UNPLUGGED)
        self.reading[R_SEQUENCE] += 1.0
        publish(self.box, self.at, self.reading)

    def finish(self) -> None:
        """The loop is over: no further reading, and no further force."""
        self.over.set()
        if self.is_alive():
            self.join(2.0)
