"""Recordings as MCAP: ROS 2 messages that Foxglove and other tools open.

A file is a row of records. First the facts (metadata "passivo": columns and header as JSON), schemas and channels;
then at each flush whole chunks with a checksum, their index behind them; at the end a summary. Nothing is ever changed
behind the end: wherever the file is cut, the chunks before the cut are whole. Messages of "/passivo/rows" are CDR,
little-endian, one `float64` field or array for each column; "/passivo/status" tells in JSON how many rows were dropped
so far. The log time is the row's time in nanoseconds.

Rows are laid out by NumPy, whole chunks at once; the small records are those of the package `mcap`.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from dataclasses import dataclass, field
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from passivo.errors import FileError
from passivo.loop.columns import Columns
from passivo.loop.facts import LARGEST, LARGEST_HEADER, Contents, facts_from

MAGIC = b"\x89MCAP0\r\n"
METADATA = "passivo"
ROWS, STATUS = "/passivo/rows", "/passivo/status"
IDS = {ROWS: 1, STATUS: 2}  # of channels and of their schemas
CDR = 0x0100  # the four bytes 0, 1, 0, 0 before a message: little-endian
HEAD = struct.Struct("<BQ")  # of a record: kind, length
CHUNK_HEAD = struct.Struct("<QQQII")  # first and last time, size, checksum, length of the name of the compression
CHUNK_BYTES = 2**20  # of rows in a chunk
LARGEST_CHUNK = 2**26
MOST_RECORDS = 2**22
FEW = 64
INDEX_BYTES = 16  # of a row, behind its chunk: a file holds no more rows than that allows, and one chunk
LEVEL = 1  # of compression
STATUS_SCHEMA = {"type": "object", "properties": {"dropped": {"type": "integer"}, "complete": {"type": "boolean"}}}


def packages() -> tuple[Any, Any, Any]:
    """(mcap.records, mcap.data_stream, zstandard)"""
    try:
        import zstandard
        from mcap import data_stream, records
    except ImportError as error:
        raise FileError(
            "recordings in MCAP need the package mcap: pip install passivo[record]; or name the file .zarr"
        ) from error
    return records, data_stream, zstandard


def message_type(width: int) -> np.dtype:
    """A whole message record with a row in it."""
    kinds = [("kind", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4"), ("log", "<u8")]
    return np.dtype([*kinds, ("publish", "<u8"), ("cdr", "<u4"), ("row", "<f8", (width,))])


def schema_text(columns: Columns) -> str:
    """The definition of the message, as ROS 2 writes it."""
    lines = []
    for field_name, name, width, unit in zip(columns.fields, columns.names, columns.widths, columns.units):
        kind = "float64" if width == 1 else f"float64[{width}]"
        lines.append(f"{kind} {field_name}  # {name}, {unit}")
    return "\n".join(lines) + "\n"


class McapWriter:
    """Rows into a new file. `rows` counts those that are safely in it."""

    def __init__(self, path: Path, columns: Columns, facts: dict[str, Any]):
        self.records, self.stream, zstandard = packages()
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.columns, self.rows, self.dropped = columns, 0, 0
        self.time = 0  # ns of the last row
        self.chunks: list[Any] = []
        self.counts = dict.fromkeys(IDS.values(), 0)
        self.first: int | None = None
        self.at = 0  # length of the file, up to the last whole record
        self.file = open_new(path)
        try:
            self._begin(facts)
        except BaseException:
            self.file.close()
            path.unlink()
            raise

    def _begin(self, facts: dict[str, Any]) -> None:
        records = self.records
        text = schema_text(self.columns)
        self.definitions = [
            records.Schema(IDS[ROWS], text.encode(), "ros2msg", "passivo_msgs/msg/Row"),
            records.Schema(IDS[STATUS], json.dumps(STATUS_SCHEMA).encode(), "jsonschema", "passivo.Status"),
            records.Channel(IDS[ROWS], ROWS, "cdr", {}, IDS[ROWS]),
            records.Channel(IDS[STATUS], STATUS, "json", {}, IDS[STATUS]),
        ]
        start = MAGIC + self._bytes(records.Header("", f"passivo {version('passivo')}"))
        metadata = self._bytes(records.Metadata(METADATA, {name: json.dumps(value) for name, value in facts.items()}))
        self.metadata = records.MetadataIndex(len(start), len(metadata), METADATA)
        self._write(start + metadata + self._bytes(*self.definitions))

    def append(self, rows: np.ndarray, dropped: int) -> None:
        """Write rows so that they are safe once this returns."""
        most = max(1, CHUNK_BYTES // message_type(self.columns.width).itemsize)
        for at in range(0, len(rows), most):
            block = rows[at : at + most]
            messages = self._messages(block)
            self._chunk({IDS[ROWS]: messages["log"]}, messages.tobytes(), messages.dtype.itemsize)
            self.rows += len(block)
        if dropped != self.dropped:
            self._status(dropped, complete=False)

    def finish(self, dropped: int, complete: bool = True) -> None:
        """The summary, and close."""
        self._status(dropped, complete)
        records, summary_at = self.records, self.at + len(self._bytes(self.records.DataEnd(0)))
        statistics = records.Statistics(
            attachment_count=0,
            channel_count=len(IDS),
            channel_message_counts=self.counts,
            chunk_count=len(self.chunks),
            message_count=sum(self.counts.values()),
            message_start_time=self.first or 0,
            message_end_time=max(chunk.message_end_time for chunk in self.chunks),
            metadata_count=1,
            schema_count=len(IDS),
        )
        groups = [self.definitions[:2], self.definitions[2:], [statistics], self.chunks, [self.metadata]]
        summary, offsets = b"", b""
        for group in groups:
            text = self._bytes(*group)
            offsets += self._bytes(records.SummaryOffset(text[0], summary_at + len(summary), len(text)))
            summary += text
        places = (summary_at, summary_at + len(summary))
        checked = summary + offsets + self._bytes(records.Footer(*places, 0))[:-4]
        footer = self._bytes(records.Footer(*places, zlib.crc32(checked)))
        self._write(self._bytes(records.DataEnd(0)) + summary + offsets + footer + MAGIC)
        self.file.close()

    def abandon(self) -> None:
        """Close after a failure; what was written stays, without half a record at its end."""
        try:
            self.file.truncate(self.at)
        except OSError:
            pass
        finally:
            self.file.close()

    def _messages(self, rows: np.ndarray) -> np.ndarray:
        kind = message_type(self.columns.width)
        messages = np.empty(len(rows), kind)
        messages["kind"], messages["length"], messages["channel"] = 5, kind.itemsize - HEAD.size, IDS[ROWS]
        messages["sequence"] = (self.rows + np.arange(len(rows))) % 2**32
        messages["log"] = messages["publish"] = self._times(rows[:, self.columns.time])
        messages["cdr"], messages["row"] = CDR, rows
        return messages

    def _times(self, seconds: np.ndarray) -> np.ndarray:
        """Nanoseconds; where a time is none, that of the row before."""
        good = (seconds >= 0.0) & (seconds < 2.0**33)  # false where it is NaN
        last = np.maximum.accumulate(np.where(good, np.arange(len(seconds)), -1))
        times = np.rint(np.where(good, seconds, 0.0) * 1e9).astype(np.uint64)
        return np.where(last < 0, np.uint64(self.time), times[last])

    def _status(self, dropped: int, complete: bool) -> None:
        text = json.dumps({"dropped": dropped, "complete": complete}).encode()
        message = self.records.Message(IDS[STATUS], self.time, text, self.time, self.counts[IDS[STATUS]])
        self._chunk({IDS[STATUS]: np.array([self.time], dtype=np.uint64)}, self._bytes(message), 0)
        self.dropped = dropped

    def _chunk(self, times: dict[int, np.ndarray], data: bytes, size: int) -> None:
        """A chunk of messages of one channel, each `size` bytes, and its index."""
        ((channel, log),) = times.items()
        first, last, squeezed = int(log.min()), int(log.max()), self.compressor.compress(data)
        chunk = self._bytes(self.records.Chunk("zstd", squeezed, last, first, zlib.crc32(data), len(data)))
        entries = np.empty((len(log), 2), dtype="<u8")
        entries[:, 0], entries[:, 1] = log, np.arange(len(log)) * size
        index = HEAD.pack(7, 6 + entries.nbytes) + struct.pack("<HI", channel, entries.nbytes) + entries.tobytes()
        start = self.at
        self._write(chunk + index)
        self.chunks.append(
            self.records.ChunkIndex(
                chunk_length=len(chunk),
                chunk_start_offset=start,
                compression="zstd",
                compressed_size=len(squeezed),
                message_end_time=last,
                message_index_length=len(index),
                message_index_offsets={channel: start + len(chunk)},
                message_start_time=first,
                uncompressed_size=len(data),
            )
        )
        self.counts[channel] += len(log)
        self.first = first if self.first is None else min(self.first, first)
        self.time = int(log[-1])

    def _bytes(self, *records: Any) -> bytes:
        builder = self.stream.RecordBuilder()
        for record in records:
            record.write(builder)
        return builder.end()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.file.write(view) :]  # a full disk may take a part of it
        self.at += len(data)


def open_new(path: Path) -> BinaryIO:
    return open(path, "xb", buffering=0)  # closed by the writer


# -- reading --------------------------------------------------------------------------------------------------------


class _Torn(Exception):
    """What follows cannot be read."""


@dataclass
class _Found:
    """What the records told so far."""

    width: int
    rows: np.ndarray
    count: int = 0
    dropped: int = 0
    complete: bool = False
    topics: dict[int, str] = field(default_factory=dict)


def read_mcap(path: Path) -> Contents:
    """A recording up to the first record that is cut or damaged."""
    packages()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if file.read(len(MAGIC)) != MAGIC:
            raise FileError(f"{path} is not an MCAP file")
        places, closed = _survey(file, size)
        facts = _facts(path, file, places)
        columns = facts["columns"]
        total, kind = 0, message_type(columns.width)
        for opcode, at, length in places:
            total += max(0, _chunk_size(file, at, length)) if opcode == 6 else 0
        if total > LARGEST:
            raise FileError(f"{path} is damaged: its chunks say they hold {total / 2**30:.3g} GiB")
        most = min(total // kind.itemsize, size // INDEX_BYTES + CHUNK_BYTES // kind.itemsize + 1)
        found = _Found(columns.width, np.empty((most, columns.width)))
        damage = "" if closed else "it ends before it was closed"
        for opcode, at, length in places:
            try:
                _take(found, file, opcode, at, length)
            except _Torn as torn:
                damage = f"it is damaged from byte {at - HEAD.size} on: {torn}"
                break
        complete = not damage and found.complete
        return Contents(columns, facts, found.rows[: found.count], found.dropped, complete, damage)


def _survey(file: BinaryIO, size: int) -> tuple[list[tuple[int, int, int]], bool]:
    """(kind, place, length) of the whole records outside of chunks that matter; whether the file was closed."""
    places, at = [], len(MAGIC)
    while True:
        file.seek(at)
        head = file.read(HEAD.size)
        if len(head) < HEAD.size:
            return places, False
        opcode, length = HEAD.unpack(head)
        if opcode == 0 or length > size - at - HEAD.size:
            return places, False
        if opcode in (4, 6, 12) and len(places) < MOST_RECORDS:  # channel, chunk, metadata
            places.append((opcode, at + HEAD.size, length))
        at += HEAD.size + length
        if opcode in (2, 15):  # the end of the data; the summary repeats what is known
            file.seek(max(size - len(MAGIC), at))
            return places, file.read() == MAGIC


def _facts(path: Path, file: BinaryIO, places: list[tuple[int, int, int]]) -> dict[str, Any]:
    records, _, _ = packages()
    for opcode, at, length in places:
        if opcode == 12 and length <= LARGEST_HEADER:
            try:
                metadata = _record(records.Metadata, _bytes(file, at, length))
            except _Torn:
                continue
            if metadata.name == METADATA:
                return facts_from(path, {name: _parsed(path, text) for name, text in metadata.metadata.items()})
    raise FileError(f"{path} holds no recording of Passivo, or was cut before its header was written")


def _parsed(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is damaged: its header cannot be read ({error})") from error


def _bytes(file: BinaryIO, at: int, length: int) -> bytes:
    file.seek(at)
    return file.read(length)


def _record(kind: Any, data: bytes, *more: Any) -> Any:
    """A small record of the package mcap."""
    _, stream, _ = packages()
    try:
        return kind.read(stream.ReadDataStream(BytesIO(data)), *more)
    except Exception as error:  # of struct, of UTF-8, of mcap
        raise _Torn("a record is not one") from error


def _chunk_size(file: BinaryIO, at: int, length: int) -> int:
    """Bytes that a chunk says it holds; -1 where that cannot be."""
    if length < CHUNK_HEAD.size:
        return -1
    size = CHUNK_HEAD.unpack(_bytes(file, at, CHUNK_HEAD.size))[2]
    return size if size <= LARGEST_CHUNK else -1


def _take(found: _Found, file: BinaryIO, opcode: int, at: int, length: int) -> None:
    if opcode == 4 and length <= LARGEST_HEADER:
        _channel(found, _bytes(file, at, length))
    elif opcode == 6:
        _chunk(found, _unpacked(file, at, length))


def _channel(found: _Found, data: bytes) -> None:
    records, _, _ = packages()
    channel = _record(records.Channel, data)
    found.topics[channel.id] = channel.topic


def _unpacked(file: BinaryIO, at: int, length: int) -> bytes:
    """What is in a chunk; nothing is allocated that it does not own up to."""
    size = _chunk_size(file, at, length)
    if size < 0 or length > 2 * LARGEST_CHUNK:
        raise _Torn("a chunk has an impossible size")
    data = _bytes(file, at, length)
    _, _, _, checksum, name_length = CHUNK_HEAD.unpack_from(data)
    start = CHUNK_HEAD.size + name_length + 8
    if start > length or struct.unpack_from("<Q", data, start - 8)[0] != length - start:
        raise _Torn("a chunk has an impossible size")
    name, packed = data[CHUNK_HEAD.size : start - 8], data[start:]
    plain = _decompressed(name, packed, size)
    if len(plain) != size or (checksum and zlib.crc32(plain) != checksum):
        raise _Torn("the checksum of a chunk is wrong")
    return plain


def _decompressed(name: bytes, packed: bytes, size: int) -> bytes:
    _, _, zstandard = packages()
    try:
        if name == b"zstd":
            if zstandard.frame_content_size(packed) not in (-1, size):
                raise _Torn("a chunk has an impossible size")
            return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
        if name == b"lz4":
            import lz4.frame

            return lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=size)
    except (RuntimeError, zstandard.ZstdError, ImportError) as error:
        raise _Torn("a chunk cannot be decompressed") from error
    if name:
        raise _Torn("a chunk is compressed in an unknown way")
    return packed


def _chunk(found: _Found, data: bytes) -> None:
    """Messages in bulk where they are rows, one by one where they are not."""
    at, most = 0, FEW
    while at < len(data):
        count = _rows(found, data, at, most)
        if count:
            at += count * message_type(found.width).itemsize
            most = 2 * most if count == most else FEW  # so that no mixture makes us look at a message many times
            continue
        if at + HEAD.size > len(data):
            raise _Torn("a message is cut")
        opcode, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        if opcode == 0 or length > len(data) - at:
            raise _Torn("a message is cut")
        if opcode == 4:
            _channel(found, data[at : at + length])
        elif opcode == 5:
            _message(found, data[at : at + length])
        at += length


def _rows(found: _Found, data: bytes, at: int, most: int) -> int:
    """How many rows, up to `most`, stand at `at` without anything between; they are taken."""
    kind = message_type(found.width)
    messages = np.frombuffer(data, kind, min(most, (len(data) - at) // kind.itemsize), at)
    ids = [channel for channel, topic in found.topics.items() if topic == ROWS]
    fits = (messages["kind"] == 5) & (messages["length"] == kind.itemsize - HEAD.size)
    fits &= np.isin(messages["channel"], ids) & (messages["cdr"] == CDR)
    count = len(fits) if fits.all() else int(fits.argmin())
    if found.count + count > len(found.rows):
        raise _Torn("it holds more rows than it could index")
    found.rows[found.count : found.count + count] = messages["row"][:count]
    found.count += count
    return count


def _message(found: _Found, data: bytes) -> None:
    records, _, _ = packages()
    message = _record(records.Message, data, len(data))
    topic = found.topics.get(message.channel_id)
    if topic == ROWS:
        raise _Torn("a row has another width than its columns")
    if topic == STATUS:
        try:
            status = json.loads(message.data)
            found.dropped, found.complete = int(status["dropped"]), status["complete"] is True
        except (ValueError, KeyError, TypeError) as error:
            raise _Torn("a status is not one") from error
