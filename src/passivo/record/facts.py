"""What both formats of a recording say of it besides its rows, and how much a reader believes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from passivo.errors import FileError, InputError
from passivo.record.columns import Columns

FORMAT = 1
LARGEST = 2**35  # bytes of all rows; an hour of 20 numbers at 10 kHz is 5.8 GB
LARGEST_HEADER = 2**26


@dataclass(frozen=True)
class Contents:
    """What was read from a file: as much of it as is whole.

    facts     format, columns, header, clocks
    complete  it was closed, and nothing is missing
    damage    what is the matter with its end, else empty
    """

    columns: Columns
    facts: dict[str, Any]
    rows: np.ndarray
    dropped: int
    complete: bool
    damage: str


def facts_of(columns: Columns, header: Any) -> dict[str, Any]:
    """Plain data for the start of a recording, with both clocks, so that times can be told as dates."""
    try:
        text = json.dumps(header)
        plain = json.loads(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"the header of a recording must be plain data that JSON can hold: {error}") from error
    if len(text) > LARGEST_HEADER // 2:
        raise InputError(
            f"the header of a recording would take {len(text) / 2**20:.0f} MiB, more than {LARGEST_HEADER >> 21}: "
            "record a shorter run, or give inputs as formulas of t instead of tables"
        )
    clocks = {"unix": time.time(), "monotonic": time.monotonic()}
    return {"format": FORMAT, "columns": columns.describe(), "header": plain, "clocks": clocks}


def facts_from(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts out of a file, checked; `columns` are `Columns`."""
    try:
        if facts["format"] != FORMAT:
            raise FileError(f"{path} has format {facts['format']}, this version of Passivo reads {FORMAT}")
        return {**facts, "columns": Columns.from_description(facts["columns"]), "header": facts["header"]}
    except FileError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is damaged: its header cannot be read ({error})") from error
