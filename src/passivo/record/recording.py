"""Recordings read back: whole, or as far as they go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import FileError, nearest
from passivo.record.columns import TIME, Columns
from passivo.record.facts import Contents
from passivo.record.mcap_reading import read_mcap
from passivo.record.recorder import new_writer
from passivo.record.zarr_file import is_zarr_recording, read_zarr

if TYPE_CHECKING:
    import xarray as xr

READERS = {".mcap": read_mcap, ".zarr": read_zarr}
AT_ONCE = 2**22  # numbers


class Recording:
    """`recording["device.position"]` is a column: (rows,) where it is 1 wide, else (rows, width).

    header    what the loop told before the first row
    rows      (rows, columns.width), all of it
    complete  it was closed properly and nothing is damaged; `damage` says what is
    dropped   rows that the loop made but the recorder could not take
    clocks    the same instant by `time.time` ("unix") and by `time.monotonic`, which the rows tell
    """

    def __init__(self, path: Path, contents: Contents):
        self.path = path
        self.columns: Columns = contents.columns
        self.header: Any = contents.facts["header"]
        self.clocks: dict[str, float] = contents.facts.get("clocks", {})
        self.rows: np.ndarray = contents.rows
        self.dropped: int = contents.dropped
        self.complete: bool = contents.complete
        self.damage: str = contents.damage
        self._facts = {**contents.facts, "columns": contents.columns.describe()}

    def __getitem__(self, name: str) -> np.ndarray:
        column = self.rows[:, self.columns.place(name)]
        return column[:, 0] if column.shape[1] == 1 else column

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns.names)

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The columns over time, with units."""
        import xarray as xr

        units = dict(zip(self.columns.names, self.columns.units))
        of = lambda name: ((TIME,) if self[name].ndim == 1 else (TIME, f"{name}.axis"), self[name], _units(units[name]))  # noqa: E731
        variables: dict[str, Any] = {name: of(name) for name in self if name != TIME}
        return xr.Dataset(variables, coords={TIME: of(TIME)}, attrs={"dropped": self.dropped})

    def save(self, path: str | os.PathLike) -> None:
        """The same recording in another file, .zarr or .mcap; what is missing here is missing there."""
        writer = new_writer(Path(path), self.columns, self._facts)
        most = max(1, AT_ONCE // self.columns.width)
        try:
            for at in range(0, len(self.rows), most):
                writer.append(self.rows[at : at + most], 0)
            writer.finish(self.dropped, self.complete)
        except OSError as error:
            writer.abandon()
            raise FileError(f"{path} cannot be written: {error.strerror or error}") from error

    @property
    def sentence(self) -> str:
        parts = [f"{len(self)} rows in {self.path}"]
        if self.dropped:
            parts.append(f"{self.dropped} dropped because the disk was too slow")
        if self.damage:
            parts.append(self.damage)
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"<Recording: {self.sentence}>"


def _units(unit: str) -> dict[str, str]:
    return {"units": unit}


def is_recording(path: str | os.PathLike) -> bool:
    """Whether there is a recording under this name, whole or not; a saved run is none."""
    file = Path(path)
    return file.suffix == ".mcap" or (file.suffix == ".zarr" and is_zarr_recording(file))


def read_recording(path: str | os.PathLike) -> Recording:
    """Read a recording, also one that was cut off: all rows up to where it is not whole."""
    file = Path(path)
    if file.suffix not in READERS:
        raise FileError(f"a recording ends in .mcap or .zarr, not {file.name!r}; {nearest(file.suffix, READERS)}")
    if not file.exists():
        raise FileError(f"{file} does not exist")
    try:
        return Recording(file, READERS[file.suffix](file))
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}") from error
