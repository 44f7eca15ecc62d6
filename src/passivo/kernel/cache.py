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
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from passivo.errors import FileError

LOOKERS = (
    "document",
    "run",
    "scenario",
    "sweep",
    "record",
    "device",
    "loop",
    "studio",
    "reproduce",
    "cli",
)  # rooms that shape no generated code
_LOCK = threading.RLock()


def load(key: Any, build: Callable[[], str]) -> ModuleType:
    """The module of `key` (plain data), from this process, from disk, or built by `build()`."""
    with _LOCK:  # a module stands in sys.modules before it is complete
        name = _name(key)
        if name in sys.modules:
            return sys.modules[name]
        path = folder() / f"{name}.py"
        if not path.exists():
            text = build()
            if _sources() != _surroundings()[0]:  # Passivo was edited under this process: keep the mixture private
                path = Path(tempfile.mkdtemp(prefix="passivo-")) / path.name
            _write_once(path, text)
        return _execute(name, path)


def known(key: Any) -> bool:
    """Whether the module of `key` is in this process or on disk."""
    return _name(key) in sys.modules or (folder() / f"{_name(key)}.py").exists()


def _name(key: Any) -> str:
    return "passivo_generated_" + digest(key)


def _execute(name: str, path: Path) -> ModuleType:
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
    text = json.dumps([key, _surroundings()], separators=(",", ":"))  # not sorted: the order of ports is the layout
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _surroundings() -> list[str]:
    """Sources, versions and CPU that shape generated code."""
    return [_sources(), sys.version, *(version(p) for p in ("numba", "numpy", "sympy", "llvmlite")), *_cpu()]


def _sources() -> str:
    root, total = Path(__file__).parent.parent, hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        if inside.parts[0] not in LOOKERS:
            total.update(inside.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()


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
        if not _usable(Path(chosen)):
            raise FileError(f"PASSIVO_CACHE names {chosen}, which cannot be written; name another folder, or none")
        return Path(chosen)
    with contextlib.suppress(RuntimeError):  # there may be no home
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "passivo"
        if _usable(home) and _private(home):
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
            file.flush()
            os.fsync(file.fileno())
        try:
            # a link fails if another process was first; replacing would change the time stamp Numba's cache goes by
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # no links on this file system
            shutil.copyfile(temporary, path.with_suffix(".new"))
            os.replace(path.with_suffix(".new"), path)
    finally:
        os.unlink(temporary)
