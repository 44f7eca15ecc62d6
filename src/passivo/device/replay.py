"""`Replay`: a recording played back as a device; the handle goes where it went then, whatever force it is given now."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.device import driver
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
    Driver,
    read_size,
    sources,
)
from passivo.device.state import DeviceInfo, DeviceState, Flags
from passivo.errors import DeviceError, FileError, InputError, nearest
from passivo.record import columns
from passivo.record.recording import Recording, read_recording

if TYPE_CHECKING:
    from passivo.kernel.module import Piece
    from passivo.provided import *

# the memory of the player
PLAY_BEGAN = 0  # when the first reading was asked for
PLAY_STARTED = 1
PLAY_ROW = 2  # the reading that was heard last
PLAY_TAPE = 3  # where the readings begin on the tape, and how many there are
PLAY_COUNT = 4
PLAY_EARLY = 5  # half the time between two readings: each is heard at the tick that is nearest to it
PLAY_SIZE = 6

SINGLES = {
    "device_time": R_TIME,
    "host_time": R_HOST,
    "sequence": R_SEQUENCE,
    "flags": R_FLAGS,
    "buttons": R_BUTTONS,
    "gripper": R_GRIPPER,
}
MOST_BITS = 2**32


def hear(m, box, tape, now):
    """The newest reading of this time; after the last one it stands, and is marked as the end."""
    if m[PLAY + PLAY_STARTED] == 0.0:
        m[PLAY + PLAY_STARTED] = 1.0
        m[PLAY + PLAY_BEGAN] = now
    place, last, row = int(m[PLAY + PLAY_TAPE]), int(m[PLAY + PLAY_COUNT]) - 1, int(m[PLAY + PLAY_ROW])
    at = now - m[PLAY + PLAY_BEGAN] + m[PLAY + PLAY_EARLY]
    while row < last and tape[place + (row + 1) * STRIDE] <= at:
        row += 1
    m[PLAY + PLAY_ROW] = float(row)
    for k in range(STRIDE - 1):
        m[READ + k] = tape[place + row * STRIDE + 1 + k]
    m[READ + R_HOST] += m[PLAY + PLAY_BEGAN]
    if at >= tape[place + last * STRIDE] + 2.0 * m[PLAY + PLAY_EARLY]:
        m[READ + R_FLAGS] = float(int(m[READ + R_FLAGS]) | FLAG_OVER)
    return now


def say(m, box, now):
    """A recorded hand feels nothing."""


def arrange(m):
    """From the first reading."""
    m[PLAY + PLAY_ROW] = 0.0


class Replay(Device):
    """A recording as a device without motors: the same readings at the same times after the first one.

        with pv.devices.Replay("touch.mcap") as device:
            net.connect(device["handle"], wall["end"], through=pv.LedgerClamp())
            report = pv.Loop(net, clock="simulated").run(seconds=10)

    Gaps, lost and repeated readings, flags, buttons and sequence numbers are those of the recording. One reading after
    the last the flag OVER is set, and a loop ends as if it had been told to stop. Nothing is pushed: forces are
    computed, booked and recorded against a hand that does not yield, so energies are not those of the recorded hand.

    path    a recording, .mcap or .zarr
    device  which device of it, where there are several
    info    facts about the device where the recording does not tell them: at least mass and max_force
    """

    driver = "replay"
    keeps_force = False

    def __init__(self, path: str | PathLike, *, device: str | None = None, **options: Any):
        super().__init__(**options)
        self.path, self.device = path, device
        self._times, self._readings = np.zeros(0), np.zeros((0, 0))
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """From the first reading to the last."""
        return float(self._times[-1]) if len(self._times) else 0.0

    def _open(self) -> DeviceInfo:
        recording = read_recording(self.path)
        device = self._chosen(recording)
        self._times, self._readings = _readings(recording, device)
        self._began = None
        return self._described(recording, device)

    def _chosen(self, recording: Recording) -> str:
        found = [name.removesuffix(".position") for name in recording if name.endswith(".position")]
        if self.device is None and len(found) == 1:
            return found[0]
        if self.device in found:
            return str(self.device)
        if not found:
            raise FileError(f"{self.path} holds no device: it has no column such as 'device.position'")
        if self.device is None:
            raise InputError(f"{self.path} holds {', '.join(found)}; say which one: Replay(..., device={found[0]!r})")
        raise InputError(f"{self.path} holds no device {self.device!r}; {nearest(str(self.device), found)}")

    def _described(self, recording: Recording, device: str) -> DeviceInfo:
        """What the header says of the device; where it says nothing, what `info` says."""
        header = recording.header if isinstance(recording.header, Mapping) else {}
        devices = header.get("devices", {})
        width = _axes(self._readings)
        if isinstance(devices, Mapping) and device in devices:
            try:
                info = DeviceInfo.from_description(devices[device])
            except InputError as error:
                raise FileError(f"{self.path} is damaged: {error}") from error
            if info.degrees_of_freedom != width:
                raise FileError(
                    f"{self.path} is damaged: {device} has {info.degrees_of_freedom} axes and {width} positions"
                )
            return replace(
                info, model=f"{info.model}, recorded", driver=self.driver, owns_clock=False, gives_force=False
            )
        missing = [name for name in ("mass", "max_force") if name not in self.facts]
        if missing:
            raise InputError(
                f"{self.path} does not say what {device} is; add info={{'mass': 0.1, 'max_force': 10.0}} to Replay, "
                f"with the {' and '.join(missing)} of the handle"
            )
        return DeviceInfo(
            model=f"{device}, recorded",
            driver=self.driver,
            axes=tuple("xyz"[:width]) if width <= 3 else tuple(f"q{k}" for k in range(width)),
            max_force=self.facts["max_force"],
            mass=self.facts["mass"],
            rate=self.facts.get("rate") or _rate(self._times),
            gives_force=False,
        )

    # -- in a loop ----------------------------------------------------------------------------------------------------

    def driver_piece(self) -> Driver:
        axes = self.info.degrees_of_freedom

        def piece(layout: Any, numbers: Mapping[str, Any]) -> Piece:
            from passivo.kernel.module import Piece, numbers_of

            own = {**numbers_of(sys.modules[__name__], driver), "PLAY": layout.size, "STRIDE": read_size(axes) + 1}
            layout.size += PLAY_SIZE
            return Piece({**own, "FLAG_OVER": int(Flags.OVER), **numbers}, (), (hear, say, arrange))

        return Driver(["replay", axes, sources(sys.modules[__name__], driver)], piece, self._fill)

    def _fill(self, memory: np.ndarray, number: Callable[[str], int], tape_at: int, seconds: float) -> np.ndarray:
        play = number("PLAY")
        memory[play : play + PLAY_SIZE] = [0.0, 0.0, 0.0, tape_at, len(self._times), self._early]
        return np.column_stack([self._times, self._readings]).ravel()

    @property
    def _early(self) -> float:
        return 0.5 / self.info.rate

    # -- alone --------------------------------------------------------------------------------------------------------

    def _read(self) -> DeviceState:
        now = time.monotonic()
        began = self._began = now if self._began is None else self._began
        at = now - began + self._early
        row = max(int(np.searchsorted(self._times, at, side="right")) - 1, 0)
        reading, n = self._readings[row].tolist(), self.info.degrees_of_freedom
        over = Flags.OVER if at >= self.seconds + 2.0 * self._early else Flags.FINE
        known = lambda values: tuple(values) if np.isfinite(values).all() else ()  # noqa: E731
        return DeviceState(
            device_time=reading[R_TIME],
            host_time=began + reading[R_HOST],
            sequence=int(reading[R_SEQUENCE]),
            position=tuple(reading[R_POSITION : R_POSITION + n]),
            velocity=known(reading[R_POSITION + n : R_POSITION + 2 * n]),
            orientation=known(reading[R_ORIENTATION : R_ORIENTATION + 4]),
            gripper=reading[R_GRIPPER],
            buttons=int(reading[R_BUTTONS]),
            flags=Flags(int(reading[R_FLAGS])) | over,
        )

    def _write(self, force: tuple[float, ...]) -> None:
        """A recorded hand feels nothing."""

    @classmethod
    def probe(cls) -> tuple[bool, str]:
        return True, 'plays recordings: pv.devices.Replay("touch.mcap")'


def _axes(readings: np.ndarray) -> int:
    return (readings.shape[1] - R_POSITION) // 2


def _rate(times: np.ndarray) -> float:
    """Readings per second, to two digits: they were written when they came, give or take some microseconds."""
    gaps = np.diff(times)
    if not (gaps > 0.0).any():
        raise DeviceError("the recording is too short to tell its rate; add info={'rate': 1000.0} to Replay")
    return float(f"{1.0 / np.median(gaps[gaps > 0.0]):.2g}")


def _readings(recording: Recording, device: str) -> tuple[np.ndarray, np.ndarray]:
    """Times after the first reading, and the readings as a driver gives them, host times from the same zero."""
    rows = len(recording)
    times = recording[columns.TIME]
    if not rows or not np.isfinite(times).all():
        raise FileError(
            f"{recording.path} has {'no rows' if not rows else 'times that are no numbers'}: nothing to play"
        )
    column = lambda what: recording.rows[:, recording.columns.place(f"{device}.{what}")]  # noqa: E731
    has = lambda what, width: f"{device}.{what}" in recording and column(what).shape[1] == width  # noqa: E731
    position = column("position")
    n = position.shape[1]
    result = np.full((rows, read_size(n)), np.nan)
    result[:, R_SEQUENCE] = np.arange(1, rows + 1)
    result[:, [R_FLAGS, R_BUTTONS]] = 0.0
    for what, place in SINGLES.items():
        if has(what, 1):
            result[:, place] = column(what)[:, 0]
    if has("orientation", 4):
        result[:, R_ORIENTATION : R_ORIENTATION + 4] = column("orientation")
    result[:, R_POSITION : R_POSITION + n] = position
    if has("velocity", n):
        result[:, R_POSITION + n :] = column("velocity")
    host = result[:, R_HOST] - times[0]
    result[:, R_HOST] = np.where(np.isfinite(host), host, times - times[0])
    result[:, R_FLAGS] = _bits(result[:, R_FLAGS], float(Flags.ERROR))
    result[:, R_BUTTONS] = _bits(result[:, R_BUTTONS], 0.0)
    result[:, R_SEQUENCE] = np.nan_to_num(result[:, R_SEQUENCE], nan=-1.0, posinf=-1.0, neginf=-1.0)
    return np.maximum.accumulate(times - times[0]), result


def _bits(values: np.ndarray, otherwise: float) -> np.ndarray:
    """Whole numbers of a file, in bounds; what is none becomes `otherwise`."""
    with np.errstate(invalid="ignore"):
        return np.where((values >= 0.0) & (values < MOST_BITS), np.floor(values), otherwise)
