"""Whatever goes wrong: forces stay finite and within limits, energy is accounted for, and it ends in damping or off."""

from __future__ import annotations

import errno
import time

import numpy as np
import pytest

import passivo as pv
from loop.scenes import port_energy, wall
from passivo.network.guard import LATCHED
from passivo.record import recorder

CREDIT = 1e-4  # J, the clamp's
LIMIT = 8.0  # N
LASTING = ("frozen", "nan", "infinite", "backwards", "unplug", "jump")


def sim(**options):
    given = {"engine": "python", "operator": pv.operators.push(5.0), "start": -5e-3, "max_force": LIMIT}
    return pv.devices.Sim(**{**given, **options})


def run(device, seconds=0.4, **options):
    return pv.Loop(wall(device), clock="simulated", engine="python", **options).run(seconds=seconds)


def check(report, name="device"):
    """What must hold whatever happened."""
    force = report.rows[f"{name}.force"]
    assert np.isfinite(force).all()
    assert np.sqrt((force**2).sum(axis=1)).max() <= LIMIT
    assert (force[-1] == 0.0).all() and report.rows[f"{name}.mode"][-1, 0] == LATCHED
    given_out = -port_energy(report, name).min()
    assert given_out <= max(report.ports[name].bias, CREDIT) + 1e-12


def cases(kinds, seconds):
    """(kind, begin, end, seed) of faults at random times."""
    rng, found = np.random.default_rng(20260), []
    for kind in kinds:
        for seed in range(4):
            begin = float(rng.uniform(0.002, 0.3))
            found.append(pytest.param(kind, begin, begin + seconds, seed, id=f"{kind}-{seed}"))
    return found


@pytest.mark.parametrize(("kind", "begin", "end", "seed"), cases(LASTING, np.inf))
def test_a_fault_that_lasts_ends_the_loop(kind, begin, end, seed):
    with sim(faults=[(kind, begin, end)], seed=seed, jitter=0.1) as device:
        report = run(device)
    check(report)
    assert report.stopped, "it must say why it ended"
    assert report.seconds < begin + 0.35
    if kind != "unplug":
        assert device.least_energy >= -CREDIT


@pytest.mark.parametrize(
    ("kind", "begin", "end", "seed"), cases(("nan", "infinite", "frozen", "backwards", "jump"), 0.005)
)
def test_a_fault_that_passes_is_survived(kind, begin, end, seed):
    with sim(faults=[(kind, begin, end)], seed=seed) as device:
        report = run(device)
    check(report)
    assert not report.stopped
    assert sum(report.interventions["device"].values()) > 0
    assert report.ticks >= 400


@pytest.mark.parametrize("watchdog", [None, 3e-3])
@pytest.mark.parametrize(("kind", "begin", "end", "seed"), cases(("stall",), 0.2))
def test_a_stall_of_200_ms_is_told_and_booked(kind, begin, end, seed, watchdog):
    """While nobody can be told anything the force stays, unless the device drops it: then nothing comes out at all."""
    with sim(faults=[(kind, begin, end)], seed=seed, watchdog=watchdog) as device:
        report = run(device, seconds=0.6)
        true = device.least_energy
    check(report)
    assert report.missed >= 199 and report.lateness.largest >= 0.0
    counts = report.interventions["device"]
    assert counts["held too long"] + counts["watchdog"] >= 1
    if watchdog is None:
        assert true >= -max(report.ports["device"].bias, CREDIT) - 1e-9
    else:
        assert true >= -CREDIT


def test_a_handle_that_is_thrown_is_damped():
    with sim(operator=pv.operators.push(20.0), start=-2.0, max_force=LIMIT) as device:
        report = run(device, seconds=2.0, safety=pv.Safety(max_speed=1.0))
    check(report)
    assert "faster than allowed" in report.stopped


# -- drivers in Python ----------------------------------------------------------------------------------------------


class Bare(pv.Device):
    """A mass that leaves the wall slowly, behind a driver in Python that goes wrong on purpose. It costs no time."""

    driver = "bare"
    MASS = 0.15

    def __init__(self, fails_after, how, **options):
        super().__init__(**options)
        self.fails_after, self.how = fails_after, how
        self.written, self.reads = [], 0
        self.place, self.speed, self.force, self.then = 1e-4, 0.0, 0.0, time.monotonic()
        self.pushed = []  # each force, and how far the handle went between the two readings before it
        self.moved = 0.0

    def _open(self):
        return pv.DeviceInfo(model="Bare", driver="bare", axes=("x",), max_force=LIMIT, mass=self.MASS, rate=200.0)

    def _read(self):
        self.reads += 1
        if self.how == "read" and self.reads > self.fails_after:
            raise pv.DeviceError("the cable came off")
        if self.how == "stall" and self.reads == self.fails_after:
            time.sleep(1.5)
        now = time.monotonic()
        self.speed += (now - self.then) * (self.force - 2.0 * self.speed) / self.MASS
        self.moved, self.then = (now - self.then) * self.speed, now
        self.place += self.moved
        return pv.DeviceState(np.nan, now, self.reads, (self.place,))

    def _write(self, force):
        self.written.append(force)
        if self.how == "write" and len(self.written) > self.fails_after:
            raise OSError("the bus is gone")
        (self.force,) = force
        self.pushed.append((self.force, self.moved))


@pytest.mark.parametrize(
    ("how", "sentence"), [("write", "the bus is gone"), ("read", "the cable came off"), ("stall", "no good reading")]
)
def test_a_driver_that_fails_ends_the_loop_with_its_own_words(how, sentence):
    with Bare(fails_after=60, how=how) as device:
        patience = 0.5 if how == "stall" else 1.0
        report = pv.Loop(wall(device), engine="python", safety=pv.Safety(patience=patience)).run(seconds=60.0)
    assert np.isfinite(device.written).all() and np.abs(device.written).max() <= LIMIT
    assert device.written[-1] == (0.0,)
    assert np.isfinite(report.rows["device.force"]).all()
    assert sentence in report.stopped
    assert report.ticks <= 200 and report.seconds < 60.0


def test_where_no_tick_comes_the_driver_damps_and_lets_go(monkeypatch):
    """The loop's own thread does not come back: whoever still runs must take the force away."""
    with Bare(fails_after=0, how="silent loop") as device:
        loop = pv.Loop(wall(device), engine="python", safety=pv.Safety(patience=0.3, linger=0.2))
        pulse, held = loop.module.pulse, []

        def silent(m, *rest):
            pulse(m, *rest)
            if device.reads >= 60 and not held:
                held.append(len(device.pushed))
                end = time.monotonic() + 60.0
                while device.status.life == "enabled" and time.monotonic() < end:
                    time.sleep(0.01)

        monkeypatch.setattr(loop.module, "pulse", silent)
        report = loop.run(seconds=60.0)
    assert report.stopped == "device: no tick came for 0.3 s: the handle was damped, and let go"
    damped = [(force, moved) for force, moved in device.pushed[held[0] :] if force != 0.0]
    assert len(damped) > 2 and all(force * moved < 0.0 for force, moved in damped)
    assert np.isfinite(device.written).all() and np.abs(device.written).max() <= LIMIT
    assert device.written[-1] == (0.0,) and report.seconds < 60.0
    assert report.ports["device"].kind == "none" or (report.rows["device.force"][-1] == 0.0).all()


# -- the recorder's disk --------------------------------------------------------------------------------------------


class Disk:
    """A writer in front of a real one."""

    def __init__(self, writer, slow=0.0, flushes=10**9):
        self.writer, self.slow, self.flushes = writer, slow, flushes

    rows = property(lambda self: self.writer.rows)

    def append(self, rows, dropped):
        time.sleep(self.slow)
        self.flushes -= 1
        if self.flushes < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.writer.append(rows, dropped)

    def finish(self, dropped, complete=True):
        self.writer.finish(dropped, complete)

    def abandon(self):
        self.writer.abandon()


@pytest.mark.parametrize("ending", [".mcap", ".zarr"])
def test_a_full_disk_ends_the_recording_and_not_the_loop(ending, tmp_path, monkeypatch):
    make = recorder.WRITERS[ending]
    monkeypatch.setitem(recorder.WRITERS, ending, lambda *given: Disk(make(*given), flushes=1))
    path = tmp_path / f"touch{ending}"
    with sim() as device:
        report = pv.Loop(wall(device), clock="simulated", engine="python").run(seconds=2.0, record=path)
    check(report)
    assert not report.stopped and report.ticks >= 2000
    assert "No space left" in report.recording
    kept = pv.read_recording(path)
    assert not kept.complete and 0 < len(kept) < report.ticks
    np.testing.assert_array_equal(kept["tick"], np.arange(len(kept)))


@pytest.mark.parametrize("ending", [".mcap", ".zarr"])
def test_a_slow_disk_drops_rows_and_says_how_many(ending, tmp_path, monkeypatch):
    from passivo.loop import session

    make = recorder.WRITERS[ending]
    monkeypatch.setattr(session, "WAITING", 64)
    monkeypatch.setitem(recorder.WRITERS, ending, lambda *given: Disk(make(*given), slow=0.3))
    path = tmp_path / f"touch{ending}"
    with sim(engine="numba") as device:  # plain Python would not keep up with the clock on a busy machine
        report = pv.Loop(wall(device)).run(seconds=1.0, record=path)
    kept = pv.read_recording(path)
    assert kept.dropped > 0 and len(kept) + kept.dropped == report.ticks + 1
    assert "dropped because the disk was too slow" in report.recording
    found = pv.audit(path)
    assert not found.ok and any("rows are missing" in finding for finding in found.findings)


def test_a_recording_that_cannot_begin_is_told_before_any_force(tmp_path):
    (tmp_path / "there.mcap").write_text("mine")
    with sim() as device:
        loop = pv.Loop(wall(device), clock="simulated", engine="python")
        with pytest.raises(pv.FileError, match="exists already"):
            loop.run(seconds=0.1, record=tmp_path / "there.mcap")
        assert device.status.life != "enabled"


def test_a_useless_first_reading_is_an_error():
    with sim(faults=[("nan", 0.0)]) as device, pytest.raises(pv.DeviceError, match="first reading could not be used"):
        run(device)
