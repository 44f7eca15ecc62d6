"""The recorder: a thread that carries rows from the loop's ring to disk, and never makes the loop wait.

What goes wrong is told, not raised: a slow disk lets the ring overflow, and the rows that were dropped are counted in
the recording; a full one stops the recording, what was written stays readable, and the ring is drained on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from passivo.errors import FileError, InputError, nearest
from passivo.record.columns import Columns
from passivo.record.facts import facts_of
from passivo.record.mcap_file import McapWriter
from passivo.record.ring import Ring
from passivo.record.zarr_file import ZarrWriter

POLL = 0.05  # s between two looks at the ring
MOST = 2**22  # bytes that are kept back for the next flush


class Writer(Protocol):
    """One format: rows that were appended are safe; `rows` counts them."""

    rows: int

    def append(self, rows: np.ndarray, dropped: int) -> None: ...
    def finish(self, dropped: int, complete: bool = True) -> None: ...
    def abandon(self) -> None: ...


WRITERS: dict[str, Callable[[Path, Columns, dict[str, Any]], Writer]] = {".mcap": McapWriter, ".zarr": ZarrWriter}


def new_writer(path: Path, columns: Columns, facts: dict[str, Any]) -> Writer:
    """A new recording, by the ending of its name."""
    if path.suffix not in WRITERS:
        raise FileError(f"a recording ends in .mcap or .zarr, not {path.name!r}; {nearest(path.suffix, WRITERS)}")
    if path.exists():
        raise FileError(f"{path} exists already; choose another name, or delete it first")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return WRITERS[path.suffix](path, columns, facts)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error


class Recorder:
    """Records what comes through `ring`, from `with` (or `open`) until `close`.

    path         ends in .mcap or .zarr and must not exist
    columns      what stands in a row
    header       plain data, written before any row: network, device, options
    flush_every  seconds after which rows are on disk, whatever happens to the process
    watch        is shown all rows that come, on the recorder's thread
    """

    def __init__(
        self,
        path: str | os.PathLike,
        columns: Columns,
        header: Any,
        ring: Ring,
        flush_every: float = 0.25,
        watch: Callable[[np.ndarray], None] | None = None,
    ) -> None:
        if ring.width != columns.width:
            raise InputError(f"the ring is {ring.width} wide, its columns are {columns.width}")
        if not 0.0 < flush_every < float("inf"):
            raise InputError(f"flush_every must be a positive number of seconds, not {flush_every!r}")
        self.path, self.columns, self.ring, self.flush_every = Path(path), columns, ring, flush_every
        self.facts = facts_of(columns, header)
        self.watch = watch
        self.failure = ""
        self.unrecorded = 0  # rows that came after the failure
        self._waiting: list[np.ndarray] = []
        self._writer: Writer | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="passivo recorder", daemon=True)

    def open(self) -> Self:
        """Write the header and start with what waits in the ring; here alone a file that cannot be written raises."""
        if self._writer is not None:
            raise InputError("a recorder records once; make another one")
        self._writer = new_writer(self.path, self.columns, self.facts)
        self._thread.start()
        return self

    def close(self) -> None:
        """Record what is left and finish the file; may be called again."""
        self._end.set()
        if self._writer is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def rows(self) -> int:
        """Rows on disk."""
        return 0 if self._writer is None else self._writer.rows

    @property
    def dropped(self) -> int:
        """Rows that found no place in the ring, because the disk was too slow."""
        return self.ring.dropped

    @property
    def status(self) -> str:
        """ "waiting", "recording", "failed" or "closed"."""
        if self.failure:
            return "failed"
        if self._writer is None:
            return "waiting"
        return "recording" if self._thread.is_alive() else "closed"

    @property
    def sentence(self) -> str:
        """What was recorded, and what was not."""
        parts = [f"{self.rows} rows in {self.path}"]
        if self.dropped:
            parts.append(f"{self.dropped} dropped because the disk was too slow")
        if self.failure:
            parts.append(self.failure)
        return "; ".join(parts)

    # -- the thread -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._carry()
        except Exception as error:  # whoever watches, or no memory: the ring must be emptied all the same
            self.failure = self.failure or f"recording stopped after {self.rows} rows: {error or type(error).__name__}"
            while not self._end.wait(POLL):
                self.unrecorded += len(self.ring.take())

    def _carry(self) -> None:
        assert self._writer is not None
        flushed = time.monotonic()
        while not self._end.wait(min(POLL, self.flush_every)):
            self._collect()
            if time.monotonic() - flushed >= self.flush_every or sum(r.nbytes for r in self._waiting) > MOST:
                self._flush()
                flushed = time.monotonic()
        self._collect()
        self._flush()
        if not self.failure:
            self._try(lambda writer: writer.finish(self.dropped))

    def _collect(self) -> None:
        rows = self.ring.take()
        if self.watch is not None:
            self.watch(rows)
        if self.failure:
            self.unrecorded += len(rows)
        elif len(rows):
            self._waiting.append(rows)

    def _flush(self) -> None:
        if self._waiting:
            rows, self._waiting = np.concatenate(self._waiting), []
            self._try(lambda writer: writer.append(rows, self.dropped))

    def _try(self, what: Callable[[Writer], None]) -> None:
        """Whatever is wrong with the disk ends the recording, never the loop."""
        writer = self._writer
        assert writer is not None
        try:
            what(writer)
        except Exception as error:
            told = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.failure = f"recording stopped after {writer.rows} rows: {told}"
            writer.abandon()
