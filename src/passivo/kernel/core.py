"""Cores: kernels that many generated modules share, compiled once for the machine and called by address.

Called as functions of Numba they would be linked into every entry of every module, and optimised again there. Memory
and table are bare pointers: of an array Numba hands seven numbers on from kernel to kernel, and asks at every access
whether the index is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from passivo.kernel import cache

KINDS = {"h": "float64", "place": "int64", "way": "int64", "width": "int64"}
HEADER = """
from llvmlite.binding import add_symbol
from numba import cfunc
"""
Called = Mapping[str, tuple[str, str]]  # entry -> arguments after the memory and the table, and what it returns


def load(key: tuple[str, ...], engine: str, called: Called, text: Callable[[], str]) -> ModuleType:
    """The core of a key for an engine; `text` has its kernels, those that are `called` as entries."""
    tail = "".join(_by_address(name, key, called) for name in called) if engine == "numba" else ""
    return cache.load([key[0], engine, *key[1:]], lambda: text() + tail)


def imports(key: tuple[str, ...], engine: str, called: Called, home: str) -> str:
    """What a generated module has to say to have a core, which `core(engine, *key[1:])` of the module `home` loads."""
    arguments = ", ".join(map(repr, (engine, *key[1:])))
    if engine != "numba":
        names = [f"{name} = core({arguments}).{name}" for name in called]
        return "\n".join([f"from {home} import core", *names])
    lines = [f"from {home} import core", "from numba import types", f"core({arguments})"]
    for name in called:
        returned, given, kinds = _signature(name, called)
        pointers = [
            "types.CPointer(types.float64)",
            "types.CPointer(types.int64)",
            *(f"types.{kind}" for kind in kinds),
        ]
        signature = f"types.{returned}({', '.join(pointers)})"
        lines += [
            f"{name}_at = types.ExternalFunction({_symbol(name, key)!r}, {signature})",
            f"\n@leaf\ndef {name}({', '.join(['m', 't', *given])}):",
            f"    return {name}_at({', '.join(['m.ctypes', 't.ctypes', *given])})\n",
        ]
    return "\n".join(lines)


def _symbol(name: str, key: tuple[str, ...]) -> str:
    """By what name machine code finds an entry of this core."""
    return f"passivo_{cache.digest(list(key))}_{name}"


def _signature(name: str, called: Called) -> tuple[str, list[str], list[str]]:
    """What an entry returns, its arguments after memory and table, and their kinds."""
    given, returned = called[name]
    arguments = given.split(", ") if given else []
    return returned, arguments, [KINDS[argument] for argument in arguments]


def _by_address(name: str, key: tuple[str, ...], called: Called) -> str:
    """An entry by address, with a name for the linker."""
    returned, arguments, kinds = _signature(name, called)
    types = ", ".join(["CPointer(float64)", "CPointer(int64)", *kinds])
    call = f"{name}({', '.join(['m', 't', *arguments])})"
    return f'''

@cfunc("{returned}({types})", cache=True, error_model="numpy")
def {name}_by_address({", ".join(["m", "t", *arguments])}):
    {"" if returned == "void" else "return "}{call}

add_symbol("{_symbol(name, key)}", {name}_by_address.address)
'''
