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
import struct
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from passivo.errors import FileError
from passivo.record.columns import Columns

MAGIC = b"\x89MCAP0\r\n"
FACTS = "passivo"  # name of the metadata
ROWS, STATUS = "/passivo/rows", "/passivo/status"
IDS = {ROWS: 1, STATUS: 2}  # of channels and of their schemas
CDR = 0x0100  # the four bytes 0, 1, 0, 0 before a message: little-endian
FOOTER, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, METADATA, DATA_END = 2, 4, 5, 6, 7, 12, 15  # kinds of records
HEAD = struct.Struct("<BQ")  # of a record: kind, length
CHUNK_BYTES = 2**20  # of rows in a chunk
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
        metadata = self._bytes(records.Metadata(FACTS, {name: json.dumps(value) for name, value in facts.items()}))
        self.metadata = records.MetadataIndex(len(start), len(metadata), FACTS)
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
        messages["kind"], messages["length"], messages["channel"] = MESSAGE, kind.itemsize - HEAD.size, IDS[ROWS]
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
        index = (
            HEAD.pack(MESSAGE_INDEX, 6 + entries.nbytes)
            + struct.pack("<HI", channel, entries.nbytes)
            + entries.tobytes()
        )
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
