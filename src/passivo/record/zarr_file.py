"""Recordings as Zarr: a group with the facts in its attributes and one growing array `rows`.

A chunk is a file of its own with a checksum. It is written whole and put in place by renaming, also where it grows
until it is full, so a chunk on disk is never half of one. The array's attributes tell how many rows are flushed; they
are written after the rows. Chunks are not compressed: their size is known before they are read.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import FileError
from passivo.record.columns import Columns
from passivo.record.facts import LARGEST, LARGEST_HEADER, Contents, facts_from

KEY = "passivo_recording"
CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
CHECKSUM = 4  # bytes behind a chunk
CHUNK_BYTES = 2**18
LARGEST_CHUNK = 2**28
AT_ONCE = 64  # chunks


class ZarrWriter:
    """Rows into a new folder. `rows` counts those that are safely in it."""

    def __init__(self, path: Path, columns: Columns, facts: dict[str, Any]):
        import zarr
        from zarr.codecs import BytesCodec, Crc32cCodec

        path.mkdir()
        self.rows, self.width = 0, columns.width
        try:
            group = zarr.open_group(path, mode="w-", attributes={KEY: facts})
            self.array = group.create_array(
                "rows",
                shape=(0, self.width),
                chunks=(max(1, CHUNK_BYTES // (8 * self.width)), self.width),
                dtype="<f8",
                serializer=BytesCodec(endian="little"),
                compressors=[Crc32cCodec()],
                fill_value=float("nan"),
                dimension_names=("row", "number"),
                attributes={"columns": columns.describe(), "flushed": 0, "dropped": 0, "complete": False},
                config={"write_empty_chunks": True},
            )
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    def append(self, rows: np.ndarray, dropped: int) -> None:
        """Write rows so that they are safe once this returns."""
        total = self.rows + len(rows)
        if len(rows):
            self.array.resize((total, self.width))
            self.array[self.rows :] = rows
        self._tell(flushed=total, dropped=dropped)
        self.rows = total

    def finish(self, dropped: int, complete: bool = True) -> None:
        self._tell(flushed=self.rows, dropped=dropped, complete=complete)

    def abandon(self) -> None:
        """After a failure: what was flushed stays."""

    def _tell(self, **facts: Any) -> None:
        self.array.update_attributes(facts)


# -- reading --------------------------------------------------------------------------------------------------------


def is_zarr_recording(path: Path) -> bool:
    try:
        return KEY in _attributes(path, path / "zarr.json", KEY)
    except FileError:
        return False


def read_zarr(path: Path) -> Contents:
    """A recording up to the first chunk that is missing or damaged."""
    import zarr

    facts = facts_from(path, _attributes(path, path / "zarr.json", KEY)[KEY])
    columns = facts["columns"]
    try:
        _attributes(path, path / "rows" / "zarr.json", "flushed")
        array = zarr.open_array(path / "rows", mode="r")
        told: Any = array.attrs.asdict()
        flushed, dropped, complete = int(told["flushed"]), int(told["dropped"]), told["complete"] is True
        chunk = _chunk(path, array, columns.width)
    except FileError:
        raise
    except Exception as error:  # zarr has many
        raise FileError(f"{path} is damaged: its rows cannot be read ({error})") from error
    if not 0 <= flushed <= array.shape[0] or flushed * 8 * columns.width > LARGEST:
        raise FileError(f"{path} is damaged: it says it holds {flushed} rows")
    rows = _rows(path, array, flushed, chunk)
    damage = "" if complete else "it ends before it was closed"
    if len(rows) < flushed:
        damage = f"it is damaged from row {len(rows)} of {flushed} on: a chunk is missing or not whole"
    return Contents(columns, facts, rows, dropped, complete and not damage, damage)


def _attributes(path: Path, file: Path, key: str) -> dict[str, Any]:
    """Attributes of a `zarr.json` of sane size, `key` among them."""
    where = file.relative_to(path)
    try:
        sane = file.stat().st_size <= LARGEST_HEADER
        attributes = json.loads(file.read_text(encoding="utf-8"))["attributes"] if sane else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(f"{path} is not a recording of Passivo: {where} is missing or not readable") from error
    if not isinstance(attributes, dict) or key not in attributes:
        raise FileError(f"{path} is not a recording of Passivo: {where} tells nothing of one")
    return attributes


def _chunk(path: Path, array: Any, width: int) -> int:
    """Rows of a chunk; the array must be laid out as we write it, so that its size is known beforehand."""
    described = array.metadata.to_dict()
    codecs = [{name: value for name, value in codec.items() if value} for codec in described["codecs"]]
    plain = described["data_type"] == "float64" and described["chunk_key_encoding"]["name"] == "default"
    if array.ndim != 2 or array.shape[1] != width or not plain or codecs != CODECS:
        raise FileError(f"{path} is not laid out as Passivo writes recordings")
    rows, across = array.chunks
    if across != width or not 1 <= rows <= LARGEST_CHUNK // (8 * width):
        raise FileError(f"{path} is damaged: its chunks say they are {rows} rows of {across}")
    return rows


def _rows(path: Path, array: Any, flushed: int, chunk: int) -> np.ndarray:
    width = array.shape[1]
    there = 0
    size = chunk * width * 8 + CHECKSUM
    while there * chunk < flushed:
        file = path / "rows" / array.metadata.encode_chunk_key((there, 0))
        if not file.is_file() or file.stat().st_size != size:
            break
        there += 1
    flushed = min(flushed, there * chunk)
    rows = np.empty((flushed, width))
    for at in range(0, flushed, AT_ONCE * chunk):
        end = min(at + AT_ONCE * chunk, flushed)
        try:
            rows[at:end] = array[at:end]
        except Exception:  # a checksum: find out which
            return rows[: _up_to_the_damage(rows, array, at, end, chunk)]
    return rows


def _up_to_the_damage(rows: np.ndarray, array: Any, at: int, end: int, chunk: int) -> int:
    for start in range(at, end, chunk):
        stop = min(start + chunk, end)
        try:
            rows[start:stop] = array[start:stop]
        except Exception:
            return start
    return end
