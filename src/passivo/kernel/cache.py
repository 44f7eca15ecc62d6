"""Generated modules on disk, named by a hash of everything they depend on.

A file is written once, atomically, and never changed: two processes may race for it, an edit of Passivo or another
CPU gives another name. The module is in `sys.modules` before the first compilation; otherwise Numba's own cache
(kept beside the file) would be lost in the next process.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

ROOMS = ("ledger", "model", "kernel", "method")


def load(key: Any, build: Callable[[], str]) -> ModuleType:
    """The module of `key` (plain data), from this process, from disk, or built by `build()`."""
    name = "passivo_generated_" + digest(key)
    if name in sys.modules:
        return sys.modules[name]
    path = folder() / f"{name}.py"
    if not path.exists():
        _write_once(path, build())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def digest(key: Any) -> str:
    text = json.dumps([key, _surroundings()], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _surroundings() -> list[str]:
    """Sources of the rooms that shape generated code, versions, CPU."""
    root = Path(__file__).parent.parent
    sources = hashlib.sha256()
    for file in sorted(file for room in ROOMS for file in (root / room).rglob("*.py")):
        sources.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return [sources.hexdigest(), sys.version, *(version(p) for p in ("numba", "numpy", "sympy", "llvmlite")), *_cpu()]


def _cpu() -> tuple[str, str]:
    from llvmlite import binding

    name = os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or binding.get_host_cpu_features().flatten()
    return name, features


@lru_cache(maxsize=1)
def folder() -> Path:
    """PASSIVO_CACHE, else the user's cache folder, else (read-only home) a private folder among temporary files."""
    chosen = os.environ.get("PASSIVO_CACHE")
    if chosen:
        path = Path(chosen)
        path.mkdir(parents=True, exist_ok=True)
        return path
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "passivo"
    if _usable(home):
        return home
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"passivo-{user}"
    if _usable(shared) and _private(shared):
        return shared
    return Path(tempfile.mkdtemp(prefix="passivo-"))


def _usable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


def _private(path: Path) -> bool:
    """Ours alone: code is loaded from here."""
    status = path.stat()
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _write_once(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-", suffix=".py")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # a link fails if another process was first; replacing would change the time stamp Numba's cache goes by
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    except OSError:
        os.replace(temporary, path)
        return
    os.unlink(temporary)
