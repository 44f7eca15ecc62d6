"""What is kept of every run: last values, the verdict, and reductions of series, taken as the run goes on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from passivo.errors import InputError, nearest, quoted
from passivo.ledger.verdict import Verdict
from passivo.sweep.streams import Column, Stream

JUDGED = ("verdict", "passive", "bounded", "bias", "removed", "unnoticed", "roundoff", "reason")
HOWS = ("mean", "abs mean", "rms", "min", "max", "last")


@dataclass(frozen=True)
class Reduce:
    """One number made of a series over a run, for `pv.sweep(..., keep=[pv.Reduce("link.error", "mean", since=30.0)])`.

    series  a state or input ("q", "spring.q"; components of wide ports "force[0]"), what a junction shows
            ("link.error"), or a ledger column of the whole ("stored") or of a part or connection ("mass.stored");
            each at its own ticks, the start included
    how     "mean", "abs mean" (of absolute values), "rms" (root of the mean square), "min", "max", "last"
    since   seconds; only values at this time or later count
    name    of the variable in the result; default "mean(link.error)"
    """

    series: str
    how: str = "mean"
    since: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise InputError(f"Reduce has no how {quoted(self.how)}; {nearest(str(self.how), HOWS)}")
        try:
            fine = 0.0 <= float(self.since) < math.inf
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise InputError(f"Reduce's since must be a number of seconds >= 0, not {quoted(self.since)}")

    @property
    def title(self) -> str:
        return self.name or f"{self.how}({self.series})"


@dataclass(frozen=True)
class Last:
    """The value of a series at the end of the run."""

    name: str
    stream: Stream
    column: Column

    @property
    def unit(self) -> str:
        return self.column.unit


@dataclass(frozen=True)
class Judged:
    """A field of the verdict on the whole (`row` empty) or on a row of the ledger."""

    name: str
    row: str
    field: str

    @property
    def unit(self) -> str:
        return "J" if self.field in ("bias", "removed", "unnoticed", "roundoff") else ""

    def read(self, verdict: Verdict) -> Any:
        own = verdict.parts.get(self.row, verdict)
        return own.kind if self.field == "verdict" else getattr(own, self.field)


@dataclass(frozen=True)
class Reduced:
    """A reduction of a series from row `skip` of its stream on."""

    name: str
    stream: Stream
    column: Column
    how: str
    skip: int

    @property
    def unit(self) -> str:
        return self.column.unit


Kept = Last | Judged | Reduced


def read_keep(keep: Any, streams: Sequence[Stream], rows: Sequence[str], ticks: int) -> list[Kept]:
    """What `keep` names, found in the streams of a run of `ticks` ticks whose ledger has these rows."""
    if not isinstance(keep, list | tuple):
        raise InputError(f"keep takes a list of names, as in ['q', 'verdict'], not {quoted(keep)}")
    found = {name: (stream, column) for stream in streams for name, column in stream.columns.items()}
    result = [_kept(entry, found, rows, ticks) for entry in keep]
    if not result:
        raise InputError("keep is empty; name what is to be kept of each run, as in ['q', 'verdict']")
    names = [kept.name for kept in result]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"keep has {name!r} twice; give one of them a name=, or leave it out")
    return result


def _kept(entry: Any, found: Mapping[str, tuple[Stream, Column]], rows: Sequence[str], ticks: int) -> Kept:
    if isinstance(entry, Reduce):
        if entry.series not in found:
            raise InputError(f"there is no series {quoted(entry.series)} to reduce; {nearest(entry.series, found)}")
        stream, column = found[entry.series]
        if entry.how == "last":
            return Last(entry.title, stream, column)
        first = math.ceil(Fraction(repr(float(entry.since))) / stream.seconds)
        if first > ticks // stream.period:
            end = float(ticks // stream.period * stream.seconds)
            raise InputError(f"{entry.title}: since = {entry.since:g} s lies after the end of the run at {end:g} s")
        return Reduced(entry.title, stream, column, entry.how, max(first, column.first))
    if not isinstance(entry, str):
        raise InputError(f"keep takes names and pv.Reduce(...), not {quoted(entry)}")
    if entry in found:
        return Last(entry, *found[entry])
    row, _, field = entry.rpartition(".")
    if field in JUDGED and (not row or row in rows):
        return Judged(entry, row, field)
    known = [*found, *JUDGED, *(f"{name}.{field}" for name in rows for field in JUDGED)]
    raise InputError(f"a run has no {quoted(entry)} to keep; {nearest(entry, known)}")


class Tally:
    """A reduction on its way: rows are taken block by block."""

    def __init__(self, kept: Reduced):
        self.kept, self.skip, self.count = kept, kept.skip, 0
        self.sums: list[float] = []
        self.extreme = math.nan

    @np.errstate(all="ignore")  # a run that grows without bound may overflow its sums: they are infinite
    def take(self, rows: np.ndarray) -> None:
        """The next rows of the stream."""
        values = np.ascontiguousarray(rows[self.skip :, self.kept.column.at])
        self.skip = max(self.skip - len(rows), 0)
        if not len(values):
            return
        match self.kept.how:
            case "min":
                self.extreme = float(values.min()) if not self.count else float(np.minimum(self.extreme, values.min()))
            case "max":
                self.extreme = float(values.max()) if not self.count else float(np.maximum(self.extreme, values.max()))
            case "mean":
                self.sums.append(float(values.sum()))
            case "abs mean":
                self.sums.append(float(np.abs(values).sum()))
            case "rms":
                self.sums.append(float((values * values).sum()))
        self.count += len(values)

    @property
    def value(self) -> float:
        if self.kept.how in ("min", "max"):
            return self.extreme
        with np.errstate(all="ignore"):
            mean = float(np.sum(self.sums)) / self.count
        return math.sqrt(mean) if self.kept.how == "rms" else mean
