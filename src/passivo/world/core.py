"""The compiled core of all worlds: one module for the whole machine, whatever the world is made of."""

from __future__ import annotations

from types import ModuleType

from passivo.kernel import cache, tick
from passivo.world import advance, blocks, books, poses, table, ties

FILES = (poses, ties, blocks, advance, books)
CALLED = (*advance.ENTRIES, *books.ENTRIES)
EXPORTED = tuple(kernel.__name__ for kernel in CALLED)


def core(engine: str) -> ModuleType:
    """The core for an engine: a generated module steps its world by the functions EXPORTED."""
    return cache.load(["world", engine], lambda: _text(engine))


def _text(engine: str) -> str:
    from passivo.kernel.module import Piece, assemble, numbers_of

    inner = Piece(numbers_of(table, tick, *FILES), (), [kernel for file in FILES for kernel in file.INLINE])
    return assemble("The step of worlds", engine, [inner], [*(k for file in FILES for k in file.KERNELS), *CALLED])


def imports(engine: str) -> str:
    """What a generated module has to say to have the core."""
    names = [f"{name} = core({engine!r}).{name}" for name in EXPORTED]
    return "\n".join(["from passivo.world.core import core", *names])
