"""The compiled core of all worlds (`kernel/core.py`): one module for the whole machine, whatever the world is made
of; and one more for each exact solver of contacts, in which that stands in place of the sweeps, once a method asks for
it. Linked in as a function it cost 4 s of compiling for each new make of world; bare pointers save half of a step.
"""

from __future__ import annotations

from types import ModuleType

from passivo.kernel import core as cores
from passivo.kernel import tick
from passivo.world import (
    advance,
    assemblies,
    blocks,
    books,
    collide,
    contacts,
    cord_table,
    cords,
    debit,
    exact,
    fields,
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
    poses, ties, trees, taut, routes, cords, assemblies, blocks, inertias, surfaces, collide, fields, contacts,
    joint_books, books, debit, repair, advance,
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
HEADER = "from passivo.kernel.foreign import call_pair, call_two, doubles_at, integers_at"
PLAIN_HEADER = "from passivo.kernel.foreign_plain import call_pair, call_two, doubles_at, integers_at"


def core(engine: str, solver: str) -> ModuleType:
    """The core for an engine and a solver of contacts."""
    return cores.load(("world", solver), engine, CALLED, lambda: core_text(engine, solver))


def imports(engine: str, solver: str) -> str:
    """What a generated module has to say to have the core."""
    return cores.imports(("world", solver), engine, CALLED, __name__)


def core_text(engine: str, solver: str) -> str:
    """All kernels, those of the solver in place of the sweeps."""
    from passivo.kernel.module import Piece, assemble, numbers_of

    files = (*FILES, *SOLVERS[solver])
    inner = Piece(numbers_of(table, cord_table, tick, *files), (), [kernel for file in files for kernel in file.INLINE])
    kernels = [kernel for file in files for kernel in (*file.KERNELS, *getattr(file, "ENTRIES", ()))]
    kernels = {kernel.__name__: kernel for kernel in kernels}.values()
    return assemble(
        "The step of worlds", engine, [inner], kernels, cores.HEADER + HEADER if engine == "numba" else PLAIN_HEADER
    )
