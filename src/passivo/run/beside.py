"""A second Python process that works beside this one on something of ours; it runs nothing of the user's script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def start(module: str, environment: dict[str, str] | None = None, **options: Any) -> subprocess.Popen | None:
    """`python -m module` with a pipe to its input; None where there is no second core or no such process."""
    if (os.cpu_count() or 1) < 2 or "python" not in Path(sys.executable or "").name.lower():
        return None
    root = str(Path(__file__).parents[2])
    known = [] if "site-packages" in root else [root]  # a checkout that is not installed
    paths = os.pathsep.join(filter(None, (*known, os.environ.get("PYTHONPATH"))))
    try:
        return subprocess.Popen(
            [sys.executable, "-I" if sys.flags.isolated else "-P", "-m", module],
            env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **options,
        )
    except OSError:
        return None
