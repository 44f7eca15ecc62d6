"""The compiled core of all worlds: one module for the whole machine, whatever the world is made of; and one more for
each exact solver of contacts, in which that stands in place of the sweeps, once a method asks for it.

Machine code calls it by address. Called as a function of Numba it would be linked into every entry of every module, and
optimised again there: 4 s of compiling for each new make of world. Memory and table are bare pointers: of an array
Numba hands seven numbers on from kernel to kernel, and asks at every access whether the index is negative. That was
half of the time of a step.
"""

from __future__ import annotations

from types import ModuleType

from passivo.kernel import cache, tick
from passivo.world import (
    advance,
    blocks,
    books,
    collide,
    contacts,
    debit,
    exact,
    interior,
    lemke,
    poses,
    repair,
    table,
    ties,
)

FILES = (poses, ties, blocks, collide, contacts, books, debit, repair, advance)
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
KINDS = {"h": "float64", "place": "int64", "way": "int64", "width": "int64"}
HEADER = """
from llvmlite.binding import add_symbol
from numba import cfunc
from passivo.kernel.foreign import call_two, doubles_at, integers_at
"""
PLAIN_HEADER = "from passivo.kernel.foreign_plain import call_two, doubles_at, integers_at"


def core(engine: str, solver: str) -> ModuleType:
    """The core for an engine and a solver of contacts."""
    return cache.load(["world", engine, solver], lambda: core_text(engine, solver) + _called_by_address(engine, solver))


def symbol(name: str, solver: str) -> str:
    """By what name machine code finds an entry of this core."""
    return f"passivo_{cache.digest(['world', solver])}_{name}"


def core_text(engine: str, solver: str) -> str:
    """All kernels, those of the solver in place of the sweeps."""
    from passivo.kernel.module import Piece, assemble, numbers_of

    files = (*FILES, *SOLVERS[solver])
    inner = Piece(numbers_of(table, tick, *files), (), [kernel for file in files for kernel in file.INLINE])
    kernels = [kernel for file in files for kernel in (*file.KERNELS, *getattr(file, "ENTRIES", ()))]
    kernels = {kernel.__name__: kernel for kernel in kernels}.values()
    return assemble("The step of worlds", engine, [inner], kernels, HEADER if engine == "numba" else PLAIN_HEADER)


def _signature(name: str) -> tuple[str, list[str], list[str]]:
    """What an entry returns, its arguments after memory and table, and their kinds."""
    given, returned = CALLED[name]
    arguments = given.split(", ") if given else []
    return returned, arguments, [KINDS[argument] for argument in arguments]


def _called_by_address(engine: str, solver: str) -> str:
    return "".join(_called(name, solver) for name in CALLED) if engine == "numba" else ""


def _called(name: str, solver: str) -> str:
    """An entry by address, with a name for the linker."""
    returned, arguments, kinds = _signature(name)
    types = ", ".join(["CPointer(float64)", "CPointer(int64)", *kinds])
    call = f"{name}({', '.join(['m', 't', *arguments])})"
    return f'''

@cfunc("{returned}({types})", cache=True, error_model="numpy")
def {name}_by_address({", ".join(["m", "t", *arguments])}):
    {"" if returned == "void" else "return "}{call}

add_symbol("{symbol(name, solver)}", {name}_by_address.address)
'''


def imports(engine: str, solver: str) -> str:
    """What a generated module has to say to have the core."""
    if engine != "numba":
        names = [f"{name} = core({engine!r}, {solver!r}).{name}" for name in CALLED]
        return "\n".join(["from passivo.world.core import core", *names])
    lines = ["from passivo.world.core import core", "from numba import types", f"core('numba', {solver!r})"]
    for name in CALLED:
        returned, arguments, kinds = _signature(name)
        pointers = [
            "types.CPointer(types.float64)",
            "types.CPointer(types.int64)",
            *(f"types.{kind}" for kind in kinds),
        ]
        signature = f"types.{returned}({', '.join(pointers)})"
        lines += [
            f"{name}_at = types.ExternalFunction({symbol(name, solver)!r}, {signature})",
            f"\n@leaf\ndef {name}({', '.join(['m', 't', *arguments])}):",
            f"    return {name}_at({', '.join(['m.ctypes', 't.ctypes', *arguments])})\n",
        ]
    return "\n".join(lines)
