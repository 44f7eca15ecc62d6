"""MCAP recordings read back, up to the first record that is cut or damaged.

Two passes: the heads of all records first, so that nothing is allocated that the file could not hold, then the chunks.
Rows are taken in bulk; the package `mcap` reads the small records. Files that other tools wrote anew are read as well.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from passivo.errors import FileError
from passivo.record.facts import LARGEST, LARGEST_HEADER, Contents, facts_from
from passivo.record.mcap_file import (
    CDR,
    CHANNEL,
    CHUNK,
    CHUNK_BYTES,
    DATA_END,
    FACTS,
    FOOTER,
    HEAD,
    MAGIC,
    MESSAGE,
    METADATA,
    ROWS,
    STATUS,
    message_type,
    packages,
)

CHUNK_HEAD = struct.Struct("<QQQII")  # first and last time, size, checksum, length of the name of the compression
LARGEST_CHUNK = 2**26
MOST_RECORDS = 2**22
FEW = 64  # rows that are looked at together at first
INDEX_BYTES = 16  # of a row, behind its chunk: a file holds no more rows than that allows, and one chunk


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
            total += max(0, _chunk_size(file, at, length)) if opcode == CHUNK else 0
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
        if opcode == 0 or length > size - at - HEAD.size or len(places) > MOST_RECORDS:
            return places, False
        if opcode in (CHANNEL, CHUNK, METADATA):
            places.append((opcode, at + HEAD.size, length))
        at += HEAD.size + length
        if opcode in (FOOTER, DATA_END):  # the end of the data; the summary repeats what is known
            file.seek(max(size - len(MAGIC), at))
            return places, file.read() == MAGIC


def _facts(path: Path, file: BinaryIO, places: list[tuple[int, int, int]]) -> dict[str, Any]:
    records, _, _ = packages()
    for opcode, at, length in places:
        if opcode == METADATA and length <= LARGEST_HEADER:
            try:
                metadata = _record(records.Metadata, _bytes(file, at, length))
            except _Torn:
                continue
            if metadata.name == FACTS:
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
    if opcode == CHANNEL and length <= LARGEST_HEADER:
        _channel(found, _bytes(file, at, length))
    elif opcode == CHUNK:
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
        if opcode == CHANNEL:
            _channel(found, data[at : at + length])
        elif opcode == MESSAGE:
            _message(found, data[at : at + length])
        at += length


def _rows(found: _Found, data: bytes, at: int, most: int) -> int:
    """How many rows, up to `most`, stand at `at` without anything between; they are taken."""
    kind = message_type(found.width)
    messages = np.frombuffer(data, kind, min(most, (len(data) - at) // kind.itemsize), at)
    ids = [channel for channel, topic in found.topics.items() if topic == ROWS]
    fits = (messages["kind"] == MESSAGE) & (messages["length"] == kind.itemsize - HEAD.size)
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
