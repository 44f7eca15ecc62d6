"""What stands in a row of a recording: names, widths and units, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from passivo.errors import InputError, nearest, quoted

TIME = "time"  # every row has one: seconds of the host's clock
WIDEST = 2**16  # numbers in a row; a loop records some tens


@dataclass(frozen=True)
class Columns:
    """The columns of a row: `Columns(("time", "device.position"), (1, 3), ("s", "m"))`.

    names   one for each column; "time" (1 wide, s) must be among them
    widths  numbers in each column
    units   unit of each column, "1" where it has none
    """

    names: Sequence[str]
    widths: Sequence[int]
    units: Sequence[str]

    def __post_init__(self) -> None:
        for field in ("names", "widths", "units"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if not len(self.names) == len(self.widths) == len(self.units):
            raise InputError(
                f"columns need a width and a unit for each name, not {len(self.names)} names, "
                f"{len(self.widths)} widths and {len(self.units)} units"
            )
        for text in (*self.names, *self.units):
            if not (isinstance(text, str) and text.isprintable() and text.strip()):
                raise InputError(f"a column's name and unit must be printable text, not {quoted(text)}")
        for width in self.widths:
            if not isinstance(width, int) or isinstance(width, bool) or width < 1:
                raise InputError(f"a column's width must be a whole number from 1, not {quoted(width)}")
        if len(set(self.names)) < len(self.names):
            raise InputError(f"columns must have different names, not {', '.join(self.names)}")
        if self.width > WIDEST:
            raise InputError(f"a row may hold {WIDEST} numbers, not {self.width}")
        if TIME not in self.names or self.widths[self.names.index(TIME)] != 1:
            raise InputError('a row needs a column "time", 1 wide: seconds of the host\'s clock')

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return sum(self.widths)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where each column stands in a row."""
        ends = [sum(self.widths[: i + 1]) for i in range(len(self.widths))]
        return {name: slice(end - width, end) for name, width, end in zip(self.names, self.widths, ends)}

    def place(self, name: str) -> slice:
        if name not in self.places:
            raise InputError(f"there is no column {name!r}; {nearest(name, self.names)}")
        return self.places[name]

    @property
    def time(self) -> int:
        """The place of the time in a row."""
        return self.places[TIME].start

    @property
    def fields(self) -> tuple[str, ...]:
        """The names as fields of a ROS message: small letters, digits and single underscores, each different."""
        fields: list[str] = []
        for name in self.names:
            plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
            field = wanted = plain if plain[:1].isalpha() else f"column_{plain}".strip("_")
            count = 1
            while field in fields:
                count += 1
                field = f"{wanted}_{count}"
            fields.append(field)
        return tuple(fields)

    def describe(self) -> list[list[Any]]:
        """As plain data: a list [name, width, unit] for each column."""
        return [list(column) for column in zip(self.names, self.widths, self.units)]

    @classmethod
    def from_description(cls, description: Any) -> Columns:
        if not isinstance(description, list) or not all(isinstance(c, list) and len(c) == 3 for c in description):
            raise InputError(f"columns must be lists [name, width, unit], not {quoted(description)}")
        return cls(*([column[i] for column in description] for i in range(3)))
