"""From a sparse linear system and a method to a piece of a generated module: its table, and places in the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import ModelError
from passivo.kernel import core as cores
from passivo.kernel import tick
from passivo.ledger import accounts as A
from passivo.method import banded, banded_step
from passivo.method import banded_table as T

if TYPE_CHECKING:
    from passivo.kernel.module import Piece
    from passivo.method.base import Method
    from passivo.model.banded import Matrices, Row
    from passivo.model.sparse import SparseLinear

SECTIONS = {  # of the header of the table, and of the memory
    "AT_STATE": "STATE", "AT_NEXT": "NEXT", "AT_STEP": "STEP", "AT_PARAM": "PARAM", "AT_INPUT": "INPUT",
    "AT_USED": "USED", "AT_OUTPUT": "OUTPUT", "AT_MEAN": "MEAN", "AT_WORK": "WORK", "AT_LOST": "LOST",
    "AT_RECEIVED": "RECEIVED", "AT_CHANGE": "CHANGE", "AT_DIFFERENCE": "DIFFERENCE", "AT_SCALE": "SCALE",
    "AT_ENERGY": "ENERGY", "AT_HEIGHT": "HEIGHT", "AT_RECORDED": "RECORDED", "AT_NOISE": "RECORDED_NOISE",
    "AT_FACTORS": "FACTORS", "AT_MADE": "MADE_FOR", "AT_SOLVED": "VECTORS_OF_THE_STEP",
}  # fmt: skip
CALLED = {
    "banded_advance": ("h", "int64"),
    "banded_difference": ("", "void"),
    "banded_energy": ("", "void"),
    "banded_heights": ("", "void"),
    "banded_output": ("", "void"),
}
LEAVES = (
    "def advance(m, h):\n    return banded_advance(m, TABLE, h)",
    "def difference(m):\n    banded_difference(m, TABLE)",
    "def energy(m):\n    banded_energy(m, TABLE)",
    "def heights(m):\n    banded_heights(m, TABLE)",
    "def output(m):\n    banded_output(m, TABLE)",
    "def prepare(m):\n    pass",
    "def ready(m):\n    pass",
    "def prove(m, h):\n    pass",
    "def inside(m):\n    return True",
    "def end_gradient(m):\n    pass",
)


def core(engine: str) -> ModuleType:
    """The core of all sparse linear systems."""
    return cores.load(("banded",), engine, CALLED, lambda: core_text(engine))


def core_text(engine: str) -> str:
    from passivo.kernel.module import Piece, assemble, numbers_of

    inner = Piece(numbers_of(T, tick, banded_step), (), banded_step.INLINE)
    kernels = (*banded.KERNELS, *banded_step.KERNELS, *banded_step.ENTRIES)
    header = cores.HEADER if engine == "numba" else ""
    return assemble("The step of sparse linear systems", engine, [inner], kernels, header)


def piece_of(model: SparseLinear, method: Method, formulas: Mapping[str, Any], base: int, engine: str) -> Piece:
    """The piece of a system, its memory from `base` to SIZE."""
    from passivo.kernel.leaves import constants, lay_out
    from passivo.kernel.module import Piece

    for port in formulas:
        raise ModelError(
            f"the port {port!r} of {model.name!r} takes no Feedback or Relation; put springs and dampers into K and B, "
            "or use a part of a Network"
        )
    form, recorded, data = model.form, len(model.recorded), model.matrices
    layout = lay_out(form, 1, base, recorded)
    n = data.size
    layout.take("COUNTERS", len(method.counters))
    layout.take("FACTORS", (n + data.band) * (data.band + 1))
    layout.take("MADE_FOR", banded_step.MADE)
    layout.take("VECTORS_OF_THE_STEP", T.VECTORS * room_of(data))
    at = layout.take("FIGURES", len(model.figures))
    places = {name: layout.sections[section] for name, section in SECTIONS.items()}
    table = table_of(data, model.taps, model.sight_rows, places, at, method.world_options()["SCHEME"])

    numbers: dict[str, Any] = {"TITLE": f"{model.name} by {type(method).__name__}"}
    numbers |= constants(form, 1, recorded)
    numbers |= layout.sections
    numbers.update(SIZE=layout.size, KEEPS_BOOK=method.keeps_book)
    numbers["TABLE"] = np.array(table, dtype=np.int64)
    header = cores.imports(("banded",), engine, CALLED, __name__)
    return Piece(numbers, LEAVES, (A.enter, A.book, *tick.KERNELS), header)


def room_of(data: Matrices) -> int:
    """Numbers in each of the vectors of a step."""
    return max(data.size + data.band, len(data.elastic[0])) + 8


def table_of(
    data: Matrices, taps: Sequence[Row], sights: Sequence[Row], places: Mapping[str, int], figures: int, scheme: int
) -> list[int]:
    """The table of a system whose sections lie at `places` and whose figures begin at `figures` in the memory."""
    places, lists, table = dict(places), data.lists(taps, sights), [0] * T.HEADER
    for name, values in data.figures(taps, sights):
        places[name], figures = figures, figures + values.size
    for name, columns in lists.items():
        places[name] = len(table)
        table += columns.ravel().tolist()
    places |= {
        "COORDINATES": data.size, "STRAINS": len(data.elastic[0]), "BAND": data.band, "MASS_BAND": len(data.mass) - 1,
        "ELASTIC_BAND": len(data.elastic) - 1, "STIFF_BAND": len(data.stiff) - 1, "DAMPING_BAND": len(data.damping) - 1,
        "STRETCHED": len(lists["STRETCH_TABLE"]), "PULLED": len(lists["PULL_TABLE"]),
        "INPUTS": len(taps), "TAPPED": len(lists["TAP_TABLE"]),
        "SIGHTS": len(sights), "SEEN": len(lists["SIGHT_TABLE"]),
        "SCHEME": scheme, "ROOM": room_of(data),
    }  # fmt: skip
    assert len(places) == T.HEADER
    for name, value in places.items():
        table[getattr(T, name)] = int(value)
    return table
