"""A recording holds every row bit by bit, survives kill -9, cuts and full disks, and never troubles the loop."""

import errno
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
import zlib

import numpy as np
import pytest

import passivo as pv
from passivo.errors import FileError, InputError
from passivo.record import mcap_file, mcap_reading, recorder
from passivo.record.mcap_file import MAGIC, McapWriter, message_type
from passivo.record.recorder import Columns, Recorder
from passivo.record.recording import read_recording
from passivo.record.ring import Ring, push

FORMATS = (".mcap", ".zarr")
COLUMNS = Columns(("tick", "time", "lateness", "device.position"), (1, 1, 1, 3), ("1", "s", "s", "m"))
HEADER = {"network": {"parts": ["wall", "Kraft µ"]}, "rate": 1000.0, "options": [1, None, True]}

formats = pytest.mark.parametrize("suffix", FORMATS)


def rows_of(count, columns=COLUMNS, seed=0):
    """Any bits there are, among them NaN with a payload, infinities, −0 and the smallest numbers; a sane time."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 2**64, size=(count, columns.width), dtype=np.uint64).view(np.float64)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    rows[::7, -1] = odd[np.arange(len(rows[::7])) % 5]
    rows[:, 0], rows[:, 1] = np.arange(count), 100.0 + 1e-3 * np.arange(count)
    return rows


def same(a, b):
    return a.shape == b.shape and np.array_equal(a.view(np.uint64), b.view(np.uint64))


def prefix(a, b):
    return len(a) <= len(b) and same(a, b[: len(a)])


def record(path, rows, columns=COLUMNS, header=HEADER, flushes=1):
    """A recording with a given number of flushes, whatever the time."""
    ring = Ring(columns.width, max(1, len(rows)))
    with Recorder(path, columns, header, ring, flush_every=1e-3) as made:
        for block in np.array_split(rows, flushes):
            for row in block:
                push(ring.data, ring.marks, row, ring.width)
            wait_for(lambda: made.rows == ring.marks[0] or made.failure)
    return made


def wait_for(condition):
    while not condition():
        time.sleep(1e-3)


@formats
@pytest.mark.parametrize("count, flushes", [(0, 1), (1, 1), (500, 1), (700, 9)])
def test_rows_come_back_bit_by_bit(tmp_path, suffix, count, flushes):
    path, rows = tmp_path / f"a{suffix}", rows_of(count)
    made = record(path, rows, flushes=flushes)
    assert made.rows == count and made.dropped == 0 and made.failure == "" and made.status == "closed"
    recording = read_recording(path)
    assert same(recording.rows, rows) and recording.complete and recording.damage == "" and recording.dropped == 0
    assert recording.header == HEADER and recording.columns == COLUMNS
    assert same(np.ascontiguousarray(recording["device.position"]), np.ascontiguousarray(rows[:, 3:]))
    assert recording["tick"].tolist() == list(range(count)) and len(recording) == count


@formats
def test_more_rows_than_a_chunk_holds(tmp_path, suffix):
    rows = rows_of(20_000)
    record(tmp_path / f"a{suffix}", rows, flushes=3)
    recording = read_recording(tmp_path / f"a{suffix}")
    assert same(recording.rows, rows) and recording.complete


@formats
@pytest.mark.parametrize("width", [1, 2000])
def test_narrow_and_wide_rows(tmp_path, suffix, width):
    columns = Columns(("time", "x") if width > 1 else ("time",), (1, width - 1)[: min(width, 2)], ("s", "1")[:width])
    rows = np.random.default_rng(1).normal(size=(300, columns.width))
    record(tmp_path / f"a{suffix}", rows, columns=columns)
    assert same(read_recording(tmp_path / f"a{suffix}").rows, rows)


@formats
def test_what_waits_in_the_ring_at_the_start_and_at_the_end_is_recorded(tmp_path, suffix):
    ring, rows = Ring(COLUMNS.width, 64), rows_of(40)
    for row in rows[:20]:
        push(ring.data, ring.marks, row, ring.width)
    with Recorder(tmp_path / f"a{suffix}", COLUMNS, HEADER, ring, flush_every=1e3):
        for row in rows[20:]:
            push(ring.data, ring.marks, row, ring.width)
    assert same(read_recording(tmp_path / f"a{suffix}").rows, rows)


@formats
def test_a_dataset_has_units_and_time(tmp_path, suffix):
    rows = rows_of(50)
    record(tmp_path / f"a{suffix}", rows)
    data = read_recording(tmp_path / f"a{suffix}").dataset
    assert data["device.position"].dims[0] == "time" and data["device.position"].attrs["units"] == "m"
    assert data["time"].attrs["units"] == "s" and np.array_equal(data["time"], rows[:, 1])
    assert data["lateness"].shape == (50,)


@pytest.mark.parametrize("there, back", [(".mcap", ".zarr"), (".zarr", ".mcap"), (".mcap", ".mcap")])
@pytest.mark.parametrize("cut", [False, True])
def test_a_recording_is_converted_with_all_it_knows(tmp_path, there, back, cut):
    path, rows = tmp_path / f"a{there}", rows_of(300)
    record(path, rows, flushes=3)
    if cut and there == ".mcap":
        os.truncate(path, path.stat().st_size - 20)
    elif cut:
        file = path / "rows" / "zarr.json"
        file.write_text(file.read_text().replace('"complete": true', '"complete": false'))
    first = read_recording(path)
    assert first.complete != cut
    first.dropped = 7
    first.save(tmp_path / f"b{back}")
    second = read_recording(tmp_path / f"b{back}")
    assert same(second.rows, rows) and second.header == HEADER and second.columns == COLUMNS
    assert second.complete == first.complete and second.dropped == 7 and second.clocks == first.clocks


# -- other readers --------------------------------------------------------------------------------------------------


def test_the_mcap_reader_finds_every_message(tmp_path):
    from mcap.reader import NonSeekingReader, SeekingReader
    from mcap.stream_reader import StreamReader

    path, rows = tmp_path / "a.mcap", rows_of(400)
    record(path, rows, flushes=4)
    for kind in (SeekingReader, NonSeekingReader):
        with path.open("rb") as file:
            messages = [m for _, channel, m in kind(file, validate_crcs=True).iter_messages(topics=[mcap_file.ROWS])]
        assert [m.sequence for m in messages] == list(range(400))
        assert [m.log_time for m in messages] == [100_000_000_000 + 1_000_000 * k for k in range(400)]
        found = np.frombuffer(b"".join(m.data[4:] for m in messages)).reshape(400, -1)
        assert same(found, rows)
    with path.open("rb") as file:
        reader = SeekingReader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        assert summary.statistics.channel_message_counts == {1: 400, 2: 1} and len(summary.chunk_indexes) >= 5
        (metadata,) = reader.iter_metadata()
        assert json.loads(metadata.metadata["header"]) == HEADER
        for index in summary.chunk_indexes:  # what Foxglove goes by
            for channel, place in index.message_index_offsets.items():
                file.seek(place)
                kind, length, found, size = struct.unpack("<BQHI", file.read(15))
                assert (kind, found, length) == (7, channel, 6 + size) and size % 16 == 0
        file.seek(0)
        assert sum(1 for _ in StreamReader(file, validate_crcs=True).records) > 400


@pytest.mark.parametrize("compression", ["NONE", "LZ4", "ZSTD"])
def test_a_file_that_other_tools_wrote_anew_is_read(tmp_path, compression):
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    path, rows = tmp_path / "a.mcap", rows_of(400)
    record(path, rows, flushes=4)
    with path.open("rb") as file, (tmp_path / "b.mcap").open("wb") as target:
        reader = make_reader(file)
        writer = Writer(target, chunk_size=5000, compression=CompressionType[compression])
        writer.start()
        ids = {1: writer.register_channel("/other", "json", 0)}  # other numbers than ours
        for schema, channel, message in reader.iter_messages():
            if ids.setdefault(schema.name) is None:
                number = writer.register_schema(schema.name, schema.encoding, schema.data)
                ids[schema.name] = writer.register_channel(channel.topic, channel.message_encoding, number)
            writer.add_message(ids[schema.name], message.log_time, message.data, message.publish_time)
            writer.add_message(ids[1], message.log_time, b"{}", message.publish_time)
        for metadata in reader.iter_metadata():
            writer.add_metadata(metadata.name, metadata.metadata)
        writer.finish()
    recording = read_recording(tmp_path / "b.mcap")
    assert same(recording.rows, rows) and recording.header == HEADER and recording.complete


def test_ros_decodes_the_messages(tmp_path):
    decoder = pytest.importorskip("mcap_ros2.decoder")
    from mcap.reader import make_reader

    columns = Columns(("time", "Wall.K", "wall.k", "3d pose", "µ"), (1, 1, 1, 3, 2), ("s", "N/m", "N/m", "m", "1"))
    assert columns.fields == ("time", "wall_k", "wall_k_2", "column_3d_pose", "column")
    rows = np.random.default_rng(0).normal(size=(20, columns.width)) ** 2
    record(tmp_path / "a.mcap", rows, columns=columns)
    with (tmp_path / "a.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        decoded = [m.decoded_message for m in reader.iter_decoded_messages([mcap_file.ROWS], log_time_order=False)]
    for message, row in zip(decoded, rows, strict=True):
        assert [message.time, message.wall_k, message.wall_k_2] == row[:3].tolist()
        assert list(message.column_3d_pose) == row[3:6].tolist() and list(message.column) == row[6:].tolist()


def test_zarr_alone_reads_the_rows(tmp_path):
    import zarr

    rows = rows_of(300)
    record(tmp_path / "a.zarr", rows)
    group = zarr.open_group(tmp_path / "a.zarr", mode="r")
    assert same(np.asarray(group["rows"][...]), rows)
    assert group["rows"].attrs["columns"] == COLUMNS.describe()


def test_times_that_are_none_take_the_last_one(tmp_path):
    from mcap.reader import make_reader

    rows = rows_of(6)
    rows[:, 1] = [np.nan, 1.0, np.inf, -1.0, 2.0, 1e300]
    record(tmp_path / "a.mcap", rows)
    with (tmp_path / "a.mcap").open("rb") as file:
        messages = make_reader(file).iter_messages([mcap_file.ROWS], log_time_order=False)
        assert [m.log_time for _, _, m in messages] == [0, 10**9, 10**9, 10**9, 2 * 10**9, 2 * 10**9]
    assert same(read_recording(tmp_path / "a.mcap").rows, rows)


# -- cut and damaged files ------------------------------------------------------------------------------------------


def test_cut_anywhere_a_prefix_is_read(tmp_path):
    path, rows = tmp_path / "whole.mcap", rows_of(600)
    record(path, rows, flushes=12)
    data, cut, lengths = path.read_bytes(), tmp_path / "cut.mcap", []
    with path.open("rb") as file:
        places, closed = mcap_reading._survey(file, len(data))
    chunks = [at + length for kind, at, length in places if kind == 6]
    header = next(at + length for kind, at, length in places if kind == 12)
    assert closed and len(chunks) >= 13
    for size in [*range(0, len(data), 97), len(data) - 1]:
        cut.write_bytes(data[:size])
        if size < header:
            with pytest.raises(FileError, match=r"not an MCAP file|cut before its header"):
                read_recording(cut)
            continue
        recording = read_recording(cut)
        assert prefix(recording.rows, rows) and not recording.complete and recording.damage
        assert recording.header == HEADER
        lengths.append(len(recording))
        assert (lengths[-1] == 0) == (size < chunks[0])  # complete up to the last chunk before the cut
    assert lengths == sorted(lengths) and lengths[-1] == 600 and len(set(lengths)) >= 12


def test_a_cut_behind_a_chunk_that_was_squeezed_to_nothing_loses_no_row(tmp_path):
    path, rows = tmp_path / "a.mcap", np.zeros((5000, 2000))
    columns = Columns(("time", "x"), (1, 1999), ("s", "1"))
    record(path, rows, columns=columns)
    with path.open("rb") as file:
        places, _ = mcap_reading._survey(file, path.stat().st_size)
    _, at, length = [place for place in places if place[0] == 6][-2]  # the last one is the status
    os.truncate(path, at + length)
    assert same(read_recording(path).rows, rows)


def test_a_flipped_bit_ends_the_recording_before_its_chunk(tmp_path):
    path, rows, random = tmp_path / "whole.mcap", rows_of(300), np.random.default_rng(0)
    record(path, rows, flushes=6)
    data = path.read_bytes()
    with path.open("rb") as file:
        places, _ = mcap_reading._survey(file, len(data))
    chunks = [(at, length) for kind, at, length in places if kind == 6]
    for at, length in chunks[1:-1]:
        place = at + 60 + int(random.integers(length - 60))
        (tmp_path / "b.mcap").write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        recording = read_recording(tmp_path / "b.mcap")
        assert prefix(recording.rows, rows) and 0 < len(recording) < 300
        assert not recording.complete and "damaged from byte" in recording.damage


def test_bytes_at_random_never_crash_the_reader(tmp_path):
    path, rows, random = tmp_path / "whole.mcap", rows_of(60), np.random.default_rng(0)
    record(path, rows, flushes=3)
    data, read = np.frombuffer(path.read_bytes(), np.uint8), 0
    for _ in range(300):
        hurt = data.copy()
        places = random.integers(8, len(data), size=int(random.integers(1, 6)))
        hurt[places] = random.integers(0, 256, size=len(places))
        (tmp_path / "b.mcap").write_bytes(hurt.tobytes())
        try:
            found = read_recording(tmp_path / "b.mcap")
        except FileError:
            continue
        read += prefix(found.rows, rows)
    assert read > 100


def test_a_torn_chunk_spoils_none_before_it(tmp_path):
    rows = rows_of(20_000)
    record(tmp_path / "a.zarr", rows, flushes=4)
    chunk = rows_of_a_chunk(tmp_path / "a.zarr")
    for what in ("cut", "flipped", "missing"):
        shutil.copytree(tmp_path / "a.zarr", tmp_path / what / "b.zarr")
        file = tmp_path / what / "b.zarr" / "rows" / "c" / "2" / "0"
        if what == "cut":
            os.truncate(file, file.stat().st_size // 2)
        elif what == "flipped":
            data = bytearray(file.read_bytes())
            data[1000] ^= 1
            file.write_bytes(data)
        else:
            file.unlink()
        recording = read_recording(tmp_path / what / "b.zarr")
        assert same(recording.rows, rows[: 2 * chunk]) and not recording.complete
        assert "missing or not whole" in recording.damage


def rows_of_a_chunk(path):
    return json.loads((path / "rows" / "zarr.json").read_text())["chunk_grid"]["configuration"]["chunk_shape"][0]


def test_rows_that_were_not_flushed_are_not_made_up(tmp_path):
    """Killed between the growth of the array and the rows: the array is longer than what was written."""
    import zarr

    rows = rows_of(100)
    record(tmp_path / "a.zarr", rows)
    array = zarr.open_array(tmp_path / "a.zarr" / "rows", mode="r+")
    array.resize((150, COLUMNS.width))
    array.update_attributes({"complete": False})
    recording = read_recording(tmp_path / "a.zarr")
    assert same(recording.rows, rows) and not recording.complete


def test_what_is_no_recording_is_told_apart(tmp_path):
    run = pv.simulate(pv.library.pendulum(), pv.AVF(), step=0.1, until=1.0, start={"q": 1.0}, engine="python")
    run.save(tmp_path / "run.zarr")
    (tmp_path / "text.mcap").write_text("hello, this is not one")
    (tmp_path / "empty.mcap").write_bytes(b"")
    (tmp_path / "folder.mcap").mkdir()
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "file.zarr").write_text("{}")
    (tmp_path / "other.mcap").write_bytes(MAGIC + struct.pack("<BQ", 1, 8) + bytes(8) + MAGIC)
    for name, told in {
        "run.zarr": "not a recording",
        "text.mcap": "not an MCAP file",
        "empty.mcap": "not an MCAP file",
        "folder.mcap": "cannot be read",
        "folder.zarr": "not a recording",
        "file.zarr": "not a recording",
        "other.mcap": "holds no recording",
        "missing.mcap": "does not exist",
        "missing.zarr": "does not exist",
        "rows.csv": r"ends in \.mcap or \.zarr",
    }.items():
        with pytest.raises(FileError, match=told):
            read_recording(tmp_path / name)


def chunk_record(name, packed, size, checksum=0):
    body = struct.pack("<QQQII", 0, 0, size, checksum, len(name)) + name + struct.pack("<Q", len(packed)) + packed
    return struct.pack("<BQ", 6, len(body)) + body


def test_a_file_that_claims_much_costs_little(tmp_path):
    import zstandard

    path, rows = tmp_path / "a.mcap", rows_of(10)
    record(path, rows)
    with path.open("rb") as file:
        start = next(at for kind, at, _ in mcap_reading._survey(file, path.stat().st_size)[0] if kind == 6) - 9
    head, bomb = path.read_bytes()[:start], bytes(2**25)
    message = np.zeros(2**18, message_type(COLUMNS.width))
    message["kind"], message["length"], message["channel"], message["cdr"] = 5, message.itemsize - 9, 1, mcap_file.CDR
    many = message.tobytes()
    hostile = {
        "a chunk of 2^60 bytes": chunk_record(b"", b"", 2**60),
        "another size inside": chunk_record(b"zstd", zstandard.compress(bomb), 100),
        "zeros": chunk_record(b"zstd", zstandard.compress(bomb), len(bomb), zlib.crc32(bomb)),
        "many rows": chunk_record(b"zstd", zstandard.compress(many), len(many), zlib.crc32(many)),
        "a record of 2^62 bytes": struct.pack("<BQ", 6, 2**62),
        "a name of 2^31 bytes": chunk_record(b"", b"", 10)[:37] + struct.pack("<I", 2**31) + bytes(100),
    }
    for what, data in hostile.items():
        path.write_bytes(head + data)
        tracemalloc.start()
        recording = read_recording(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not recording.complete and recording.damage, what
        assert len(recording) == 0 or (what == "many rows" and len(recording) < 2**14), what
        assert peak < 2**27, what


def test_a_folder_that_claims_much_costs_little(tmp_path):
    record(tmp_path / "a.zarr", rows_of(10))
    file = tmp_path / "a.zarr" / "rows" / "zarr.json"
    told = json.loads(file.read_text())
    for change in (
        {"shape": [10**15, 6], "attributes": {**told["attributes"], "flushed": 10**15}},
        {"attributes": {**told["attributes"], "flushed": 11}},
        {"attributes": {**told["attributes"], "flushed": -1}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10**15, 6]}}},
        {"codecs": [told["codecs"][0], {"name": "zstd", "configuration": {"level": 1, "checksum": False}}]},
        {"data_type": "float32"},
        {"shape": [10, 7]},
        {"shape": "long"},
    ):
        file.write_text(json.dumps({**told, **change}))
        tracemalloc.start()
        with pytest.raises(FileError, match=r"damaged|not laid out"):
            read_recording(tmp_path / "a.zarr")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**27


# -- faults while recording -----------------------------------------------------------------------------------------

KILLED = """
    import sys, time
    import numpy as np
    from passivo.record.recorder import Columns, Recorder
    from passivo.record.ring import Ring, push

    columns = Columns(("tick", "time", "double"), (1, 1, 1), ("1", "s", "1"))
    ring = Ring(3, 100_000)
    with Recorder(sys.argv[1], columns, {"who": "killed"}, ring, flush_every=0.01) as recorder:
        k = told = 0
        while True:
            for _ in range(20):
                push(ring.data, ring.marks, (k, 1e-3 * k, 2.0 * k), 3)
                k += 1
            if recorder.rows > told:
                told = recorder.rows
                print(told, flush=True)
            time.sleep(1e-3)
"""


@formats
@pytest.mark.parametrize("lines", [1, 6, 15])
def test_after_a_kill_what_was_flushed_is_there(tmp_path, suffix, lines):
    path = tmp_path / f"a{suffix}"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(lines):
            told = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    recording = read_recording(path)
    count = len(recording)
    assert count >= told > 0 and not recording.complete and recording.header == {"who": "killed"}
    assert np.array_equal(recording.rows, np.arange(count)[:, None] * [1.0, 1e-3, 2.0])


class Disk:
    """A file that is slow, or full after some bytes."""

    def __init__(self, file, room=2**62, gate=None):
        self.file, self.room, self.gate = file, room, gate

    def write(self, data):
        if self.gate is not None:
            self.gate.wait()
        taken = min(len(data), self.room)
        if data and not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= taken
        return self.file.write(data[:taken])

    def __getattr__(self, name):
        return getattr(self.file, name)


def use_disk(monkeypatch, **options):
    real = mcap_file.open_new
    monkeypatch.setattr(mcap_file, "open_new", lambda path: Disk(real(path), **options))


def test_a_slow_disk_costs_rows_that_are_counted(tmp_path, monkeypatch):
    gate = threading.Event()
    gate.set()
    use_disk(monkeypatch, gate=gate)
    ring, rows = Ring(COLUMNS.width, 16), rows_of(1000)
    with Recorder(tmp_path / "a.mcap", COLUMNS, HEADER, ring, flush_every=1e-3) as made:
        gate.clear()
        for row in rows:  # the disk does not answer until all are through
            push(ring.data, ring.marks, row, ring.width)
        assert made.dropped >= 1000 - 3 * 16 and made.status == "recording"
        gate.set()
    recording = read_recording(tmp_path / "a.mcap")
    assert recording.complete and recording.dropped == made.dropped == 1000 - len(recording)
    assert same(recording.rows, rows[recording["tick"].astype(int)])
    assert f"{made.dropped} dropped because the disk was too slow" in made.sentence and made.failure == ""
    assert "dropped" in recording.sentence


def test_dropped_rows_are_told_also_where_the_file_is_cut(tmp_path):
    writer = McapWriter(tmp_path / "a.mcap", COLUMNS, recorder.facts_of(COLUMNS, HEADER))
    rows = rows_of(30)
    writer.append(rows[:10], 0)
    writer.append(rows[15:], 5)
    writer.file.close()
    recording = read_recording(tmp_path / "a.mcap")
    assert recording.dropped == 5 and len(recording) == 25 and not recording.complete


@pytest.mark.parametrize("room", [2500, 5000, 10_000, 20_000])
def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path, monkeypatch, room):
    use_disk(monkeypatch, room=room)
    ring, rows = Ring(COLUMNS.width, 32), rows_of(2000)
    with Recorder(tmp_path / "a.mcap", COLUMNS, HEADER, ring, flush_every=1e-3) as made:
        for k in range(0, 2000, 20):
            wait_for(lambda: len(ring) == 0)  # it is drained on
            for row in rows[k : k + 20]:
                push(ring.data, ring.marks, row, ring.width)
    assert "No space left" in made.failure and made.failure in made.sentence and made.status == "failed"
    assert made.dropped == 0 and made.unrecorded > 0
    recording = read_recording(tmp_path / "a.mcap")
    assert len(recording) == made.rows and prefix(recording.rows, rows) and not recording.complete
    made.close()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_limit_on_the_file_is_met_the_same_way(tmp_path, suffix):
    script = textwrap.dedent("""
        import resource, sys, time
        from passivo.record.recorder import Columns, Recorder
        from passivo.record.ring import Ring, push

        columns, ring = Columns(("time", "noise"), (1, 9), ("s", "1")), Ring(10, 4096)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with Recorder(sys.argv[1], columns, {}, ring, flush_every=1e-3) as recorder:
            for k in range(200_000):
                push(ring.data, ring.marks, [k, *(hash((k, i)) * 1.0 for i in range(9))], 10)
                if recorder.failure:
                    break
        assert "File too large" in recorder.failure, recorder.sentence
        print(recorder.rows)
    """)
    path = tmp_path / f"a{suffix}"
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    recording = read_recording(path)
    assert len(recording) == int(done.stdout) and not recording.complete and done.stderr == ""
    assert np.array_equal(recording["time"], np.arange(len(recording)))


@formats
def test_any_fault_of_the_writer_is_told_and_not_raised(tmp_path, monkeypatch, suffix):
    def fail(self, rows, dropped):
        raise MemoryError

    monkeypatch.setattr(recorder.WRITERS[suffix], "append", fail)
    ring = Ring(COLUMNS.width, 8)
    with Recorder(tmp_path / f"a{suffix}", COLUMNS, HEADER, ring) as made:
        push(ring.data, ring.marks, rows_of(1)[0], ring.width)
    assert made.failure == "recording stopped after 0 rows: MemoryError"
    assert len(read_recording(tmp_path / f"a{suffix}")) == 0


@formats
def test_an_interrupt_closes_the_recording(tmp_path, suffix):
    ring, rows = Ring(COLUMNS.width, 8), rows_of(5)
    with pytest.raises(KeyboardInterrupt), Recorder(tmp_path / f"a{suffix}", COLUMNS, HEADER, ring) as made:
        for row in rows:
            push(ring.data, ring.marks, row, ring.width)
        raise KeyboardInterrupt
    made.close()
    made.close()
    recording = read_recording(tmp_path / f"a{suffix}")
    assert same(recording.rows, rows) and recording.complete


@formats
def test_what_cannot_be_started_says_so(tmp_path, suffix):
    ring, path = Ring(COLUMNS.width, 8), tmp_path / f"a{suffix}"
    make = lambda path=path, header=HEADER, ring=ring, **more: Recorder(path, COLUMNS, header, ring, **more)  # noqa: E731
    unused = make()
    assert unused.status == "waiting" and unused.rows == 0
    unused.close()
    with make() as first:
        pass
    with pytest.raises(InputError, match="records once"):
        first.open()
    with pytest.raises(FileError, match="exists already"):
        make().open()
    with pytest.raises(FileError, match="cannot be written"):
        (tmp_path / "file").write_text("")
        make(tmp_path / "file" / f"a{suffix}").open()
    with pytest.raises(FileError, match=r"ends in \.mcap or \.zarr"):
        make(tmp_path / "a.txt").open()
    with pytest.raises(InputError, match="plain data"):
        make(tmp_path / f"b{suffix}", header={"a": object()})
    with pytest.raises(InputError, match="flush_every"):
        make(flush_every=0.0)
    with pytest.raises(InputError, match="the ring is 7 wide"):
        make(ring=Ring(7, 8))


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcap", None)
    ring = Ring(COLUMNS.width, 8)
    with pytest.raises(FileError, match=r"pip install passivo\[record\]"):
        Recorder(tmp_path / "a.mcap", COLUMNS, HEADER, ring).open()
    assert not (tmp_path / "a.mcap").exists()
    (tmp_path / "a.mcap").write_bytes(MAGIC)
    with pytest.raises(FileError, match=r"pip install passivo\[record\]"):
        read_recording(tmp_path / "a.mcap")
    with Recorder(tmp_path / "a.zarr", COLUMNS, HEADER, ring):
        pass


# -- columns --------------------------------------------------------------------------------------------------------


def test_columns_know_their_places():
    assert COLUMNS.width == 6 and COLUMNS.place("device.position") == slice(3, 6) and COLUMNS.time == 1
    assert Columns.from_description(json.loads(json.dumps(COLUMNS.describe()))) == COLUMNS
    with pytest.raises(InputError, match=r"did you mean 'device\.position'"):
        COLUMNS.place("device.positon")


@pytest.mark.parametrize(
    "names, widths, units, told",
    [
        (("time", "a"), (1,), ("s", "m"), "a width and a unit for each"),
        (("a",), (1,), ("m",), 'a column "time"'),
        (("time",), (2,), ("s",), 'a column "time"'),
        (("time", "a", "a"), (1, 1, 1), ("s", "m", "m"), "different names"),
        (("time", "a"), (1, 0), ("s", "m"), "whole number"),
        (("time", "a"), (1, 10**9), ("s", "m"), "may hold"),
        (("time", "a\nfloat64 b"), (1, 1), ("s", "m"), "printable"),
        (("time", "a"), (1, 1), ("s", ""), "printable"),
    ],
)
def test_columns_that_make_no_row_are_refused(names, widths, units, told):
    with pytest.raises(InputError, match=told):
        Columns(names, widths, units)
