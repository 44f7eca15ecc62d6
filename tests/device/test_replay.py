"""A recording as a device: the same readings at the same times, in a loop and alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import passivo as pv
from passivo.device import replay
from passivo.device.driver import R_SEQUENCE, read_size
from passivo.device.state import Answer, DeviceInfo, Flags
from passivo.errors import FileError, InputError
from passivo.kernel import cache
from passivo.kernel.module import Piece, assemble
from passivo.kernel.source import Layout
from passivo.method.generate import shared_piece
from passivo.record.columns import Columns
from passivo.record.facts import facts_of
from passivo.record.recorder import new_writer

INFO = DeviceInfo(
    model="Stand",
    driver="stand",
    axes=("x", "y"),
    max_force=5.0,
    mass=0.2,
    rate=1000.0,
    workspace=((-0.1, 0.1), (0.0, 0.2)),
    owns_clock=True,
    buttons=2,
)
WIDTHS = {
    "tick": 1, "time": 1, "pen.device_time": 1, "pen.host_time": 1, "pen.sequence": 1, "pen.flags": 1, "pen.buttons": 1,
    "pen.gripper": 1, "pen.orientation": 4, "pen.position": 2, "pen.velocity": 2,
}  # fmt: skip
COUNT = 200


def readings(count=COUNT, late=2e-5, seed=3):
    """A stroke of a pen: rows as a loop on a real clock would have written them, each up to `late` after its tick."""
    ticks = np.arange(count)
    time = 5000.0 + 1e-3 * ticks + late * np.random.default_rng(seed).random(count)
    rows = {name: np.full((count, width), np.nan) for name, width in WIDTHS.items()}
    rows["tick"][:, 0], rows["time"][:, 0] = ticks, time
    rows["pen.host_time"][:, 0] = time - 1e-5
    rows["pen.sequence"][:, 0] = 100 + ticks
    rows["pen.flags"][:] = 0.0
    rows["pen.buttons"][:, 0] = ticks % 3
    rows["pen.orientation"][:] = [1.0, 0.0, 0.0, 0.0]
    rows["pen.position"][:] = np.column_stack([0.01 * np.sin(0.05 * ticks), 1e-5 * ticks])
    return rows


def written(path, rows, header=None):
    columns = Columns(tuple(rows), tuple(r.shape[1] for r in rows.values()), ("1",) * len(rows))
    writer = new_writer(Path(path), columns, facts_of(columns, header if header is not None else known()))
    writer.append(np.hstack(list(rows.values())), 0)
    writer.finish(0)
    return path


def known(**changes):
    return {"devices": {"pen": replace(INFO, **changes).describe()}}


def network(device):
    net = pv.Network()
    wall = net.add("wall", pv.library.wall(k=500.0), step=1e-3)
    net.connect(device["handle"], wall["end"], through=pv.LedgerClamp(), name="touch")
    net.observe(device["position"], wall["depth"])
    return net


class Times:
    """In place of `time`: a clock that tests set."""

    now = 700.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(replay, "time", Times())
    return replay.time


# -- what is known of the device ---------------------------------------------------------------------------------------


def test_a_device_describes_itself_in_plain_data():
    plain = json.loads(json.dumps(INFO.describe()))
    assert DeviceInfo.from_description(plain) == INFO
    full = replace(INFO, watchdog=0.01, has_gripper=True, serial="7")
    assert DeviceInfo.from_description(json.loads(json.dumps(full.describe()))) == full


@pytest.mark.parametrize(
    "change",
    [{"mass": "heavy"}, {"axes": 3}, {"colour": "red"}, {"workspace": [[0.0]]}, {"owns_clock": 1}, {"buttons": True}],
)
def test_a_description_that_is_none(change):
    with pytest.raises(InputError, match="describe"):
        DeviceInfo.from_description({**INFO.describe(), **change})
    for nothing in (None, [], {}, "pen"):
        with pytest.raises(InputError, match="describe"):
            DeviceInfo.from_description(nothing)


@pytest.mark.parametrize("suffix", [".mcap", ".zarr"])
def test_facts_come_from_the_recording(tmp_path, suffix):
    path = written(tmp_path / f"touch{suffix}", readings())
    with pv.devices.Replay(path) as device:
        told = replace(INFO, model="Stand, recorded", driver="replay", owns_clock=False, gives_force=False)
        assert device.info == told
        assert device.seconds == pytest.approx(0.199, abs=2e-5)
        with pytest.raises(pv.DeviceError, match="cannot push"):
            device.enable_forces()
        assert device.write([1.0, 0.0]) is Answer.DISABLED
    with pv.devices.Replay(path, info={"mass": 0.3}) as device:
        assert device.info.mass == 0.3


def test_facts_that_the_recording_does_not_tell(tmp_path):
    path = written(tmp_path / "touch.mcap", readings(), header={"rate": 5.0})
    with pytest.raises(InputError, match=r"with the mass and max_force of the handle"):
        pv.devices.Replay(path).open()
    with pv.devices.Replay(path, info={"mass": 0.1, "max_force": 3.0}) as device:
        assert (device.info.axes, device.info.rate, device.info.max_force) == (("x", "y"), 1000.0, 3.0)


def test_which_device(tmp_path):
    rows = readings()
    rows |= {name.replace("pen", "knob"): 2.0 * values for name, values in rows.items() if "pen" in name}
    header = {"devices": {**known()["devices"], "knob": INFO.describe()}}
    path = written(tmp_path / "two.mcap", rows, header)
    with pytest.raises(InputError, match=r"holds pen, knob; say which one: Replay\(..., device='pen'\)"):
        pv.devices.Replay(path).open()
    with pytest.raises(InputError, match="did you mean 'knob'"):
        pv.devices.Replay(path, device="knop").open()
    with pv.devices.Replay(path, device="knob") as device:
        assert device.read().sequence == 200
    empty = written(tmp_path / "none.mcap", {name: rows[name] for name in ("tick", "time")}, {})
    with pytest.raises(FileError, match="holds no device"):
        pv.devices.Replay(empty).open()


def test_files_that_cannot_be_played(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        pv.devices.Replay(tmp_path / "gone.mcap").open()
    with pytest.raises(FileError, match="no rows"):
        pv.devices.Replay(written(tmp_path / "empty.zarr", readings(0))).open()
    rows = readings()
    rows["time"][7] = np.nan
    with pytest.raises(FileError, match="times that are no numbers"):
        pv.devices.Replay(written(tmp_path / "times.zarr", rows)).open()
    with pytest.raises(FileError, match="3 axes and 2 positions"):
        pv.devices.Replay(written(tmp_path / "axes.zarr", readings(), known(axes=("x", "y", "z")))).open()
    header = {"devices": {"pen": {"mass": None}}}
    with pytest.raises(FileError, match="damaged"):
        pv.devices.Replay(written(tmp_path / "header.zarr", readings(), header)).open()


# -- alone ----------------------------------------------------------------------------------------------------------


def test_the_newest_reading_of_the_time(tmp_path, clock):
    rows = readings()
    with pv.devices.Replay(written(tmp_path / "touch.zarr", rows)) as device:
        first = device.read()
        assert (first.sequence, first.position) == (100, (0.0, 0.0))
        clock.now += 0.1
        state = device.read()
        assert state.sequence == 200
        assert state.position == tuple(rows["pen.position"][100])
        assert state.orientation == (1.0, 0.0, 0.0, 0.0)
        assert state.velocity == ()
        assert state.buttons == 100 % 3
        assert state.host_time == pytest.approx(clock.now, abs=5e-5)
        clock.now += 2e-4
        assert device.read().sequence == 200  # the same reading again


def test_the_last_reading_stands_and_is_marked(tmp_path, clock):
    with pv.devices.Replay(written(tmp_path / "touch.zarr", readings())) as device:
        device.read()
        clock.now += 0.199
        assert device.read().flags == Flags.FINE
        clock.now += 10.0
        state = device.read()
        assert (state.sequence, state.flags) == (299, Flags.OVER)
    with device.open():  # from the start again
        assert device.read().sequence == 100


def test_flags_and_losses_are_those_of_the_recording(tmp_path, clock):
    rows = readings()
    rows["pen.flags"][50] = int(Flags.NO_HAND)
    rows["pen.sequence"][60:64] = rows["pen.sequence"][60]
    rows["pen.flags"][150:] = int(Flags.UNPLUGGED)
    rows["pen.flags"][70] = np.nan
    rows["pen.buttons"][70] = np.inf
    with pv.devices.Replay(written(tmp_path / "touch.zarr", rows)) as device:
        began = clock.now
        states = []
        for k in range(150):
            clock.now = began + 1e-3 * k
            states.append(device.read())
        assert states[50].flags == Flags.NO_HAND
        assert [state.sequence for state in states[59:66]] == [159, 160, 160, 160, 160, 164, 165]
        assert (states[70].flags, states[70].buttons) == (Flags.ERROR, 0)
        clock.now = began + 0.15
        with pytest.raises(pv.DeviceError, match="unplugged"):
            device.read()


def test_a_gap_holds_the_reading_before_it(tmp_path, clock):
    rows = readings()
    rows = {name: np.delete(values, slice(20, 60), axis=0) for name, values in rows.items()}
    with pv.devices.Replay(written(tmp_path / "touch.zarr", rows)) as device:
        device.read()
        clock.now += 0.05
        assert device.read().sequence == 119
        clock.now += 0.02
        assert device.read().sequence == 170


# -- in a loop ------------------------------------------------------------------------------------------------------


def test_in_a_loop_every_tick_finds_its_reading(tmp_path):
    rows = readings(300)  # 0.15 s, 0.1 s of damping at the end, and some more
    with pv.devices.Replay(written(tmp_path / "touch.zarr", rows), axes="x") as device:
        report = pv.Loop(network(device), clock="simulated", engine="python").run(seconds=0.15)
        assert report.stopped == ""
        assert report.interventions["device"]["reading is old"] == 0
        np.testing.assert_array_equal(report.rows["device.position"][:151], rows["pen.position"][:151])
        assert np.abs(report.rows["device.force"]).max() > 0.1


def test_machine_code_hears_the_same(tmp_path):
    """The driver's piece alone: a whole loop takes a minute to compile."""
    with pv.devices.Replay(written(tmp_path / "touch.zarr", readings(50))) as device:
        piece, heard = device.driver_piece(), []
        for engine in ("python", "numba"):
            layout = Layout()
            numbers = {"READ": layout.take("READ", read_size(2)), "SAY": layout.take("SAY", 2)}
            body = piece.piece(layout, numbers)
            whole = Piece({**body.numbers, "SIZE": layout.size}, body.leaves, body.kernels)
            entry = "def listen(m, box, tape, now):\n    return hear(m, box, tape, now)"
            text = assemble("a player", engine, [shared_piece(), whole], [entry])
            module = cache.load(["player alone", text], lambda text=text: text)
            memory, box = np.zeros(module.SIZE), np.zeros(1)
            tape = piece.fill(memory, lambda name, module=module: getattr(module, name), 0, 1.0)
            rows = []
            for now in 700.0 + np.arange(0.0, 0.06, 0.4e-3):
                module.listen(memory, box, tape, now)
                rows.append(memory.copy())
            heard.append(np.array(rows))
    np.testing.assert_array_equal(*heard)
    assert len(np.unique(heard[0][:, numbers["READ"] + R_SEQUENCE])) == 50


def test_a_loop_ends_with_the_recording(tmp_path):
    with pv.devices.Replay(written(tmp_path / "touch.zarr", readings()), axes="x") as device:
        report = pv.Loop(network(device), clock="simulated", engine="python").run(seconds=5.0)
        assert report.stopped == ""
        assert COUNT < report.ticks < COUNT + 150  # the recording, and the damping at the end
        assert report.rows["device.force"][-1, 0] == 0.0


def test_a_recorded_fault_ends_the_loop_as_it_did(tmp_path):
    rows = readings()
    rows["pen.flags"][100:] = int(Flags.OVERHEATED)
    with pv.devices.Replay(written(tmp_path / "touch.zarr", rows), axes="x") as device:
        report = pv.Loop(network(device), clock="simulated", engine="python").run(seconds=0.19)
        assert report.stopped == "device: the device reported a fault"
