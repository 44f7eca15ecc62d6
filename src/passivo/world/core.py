"""The compiled core of all worlds (`kernel/core.py`): one module for the whole machine, whatever the world is made
of; and one more for each exact solver of contacts, in which that stands in place of the sweeps, once a method asks for
it. Linked in as a function it cost 4 s of compiling for each new make of world; bare pointers save half of a step.
"""

from __future__ import annotations

from types import ModuleType

from passivo.kernel import core as cores
from passivo.kernel import tick
from passivo.kernel.module import Piece, assemble, numbers_of
from passivo.method import banded, banded_step, banded_table
from passivo.world import (
    advance,
    assemblies,
    bending,
    blocks,
    books,
    collide,
    contacts,
    cord_table,
    cords,
    debit,
    exact,
    fields,
    firm,
    hold,
    inertias,
    interior,
    joint_books,
    lemke,
    poses,
    repair,
    routes,
    surfaces,
    table,
    taut,
    ties,
    trees,
)

FILES = (
    poses, ties, trees, taut, routes, cords, assemblies, bending, blocks, inertias, surfaces, collide, fields, contacts,
    joint_books, books, debit, repair, firm, hold, advance,
)  # fmt: skip
SOLVERS = {"sweeps": (), "lemke": (exact, lemke), "interior": (exact, interior)}
CALLED = {  # entry -> arguments after the memory and the table, and what it returns
    "world_ready": ("", "void"),
    "world_advance": ("h", "int64"),
    "world_difference": ("", "void"),
    "world_shift": ("place, way, width", "float64"),
    "world_energy": ("", "void"),
    "world_heights": ("", "void"),
    "world_output": ("", "void"),
}
HEADER = "from passivo.kernel.foreign import after, call_pair, call_two, doubles_at, integers_at"
PLAIN_HEADER = "from passivo.kernel.foreign_plain import after, call_pair, call_two, doubles_at, integers_at"


def core(engine: str, solver: str) -> ModuleType:
    """The core for an engine and a solver of contacts."""
    return cores.load(("world", solver), engine, CALLED, lambda: core_text(engine, solver))


def imports(engine: str, solver: str) -> str:
    """What a generated module has to say to have the core."""
    return cores.imports(("world", solver), engine, CALLED, __name__)


def core_text(engine: str, solver: str) -> str:
    """All kernels, those of the solver in place of the sweeps."""
    files = (*FILES, *SOLVERS[solver])
    inner = Piece(numbers_of(table, cord_table, tick, *files), (), [kernel for file in files for kernel in file.INLINE])
    kernels = [kernel for file in files for kernel in (*file.KERNELS, *getattr(file, "ENTRIES", ()))]
    beams, rest = beam_pieces()
    named = {kernel.__name__: kernel for kernel in kernels}
    assert len(kernels) - len(named) == len(SOLVERS[solver][:1]), "two kernels of one name"  # but for `impulses`
    return assemble(
        "The step of worlds",
        engine,
        [inner, beams],
        [*rest, *named.values()],
        cores.HEADER + HEADER if engine == "numba" else PLAIN_HEADER,
    )


def beam_pieces() -> tuple[Piece, list[str]]:
    """The kernels of sparse linear systems, all their names with a prefix: what is inlined, and the others."""
    inlined = (*banded_step.INLINE,)
    others = (*banded.KERNELS, *banded_step.KERNELS, *banded_step.ENTRIES)
    numbers = numbers_of(banded_table, tick, banded_step)
    piece = Piece(numbers, (), (*inlined, *others)).prefixed("beam_")
    return Piece(piece.numbers, piece.leaves[: len(inlined)], ()), list(piece.leaves[len(inlined) :])
