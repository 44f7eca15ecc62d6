"""Run the benchmarks named on the command line, or all; print what they measure, write it to build/bench.json."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.measure import Row
from passivo.cli.progress import Progress

NAMES = (
    "step",
    "cost",
    "constrained",
    "worlds",
    "arms",
    "contacts",
    "grasp",
    "beams",
    "call",
    "touch",
    "loop",
    "haply",
    "start",
    "accuracy",
    "sweep",
)
TARGET = Path("build") / "bench.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; take {', '.join(NAMES)}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    report = {**last(), "machine": machine}
    done = []
    names = options.names or NAMES
    expected = {name: report["seconds"].get(name, 20.0) for name in names}
    with (
        contextlib.suppress(KeyboardInterrupt),
        Progress(f"measuring {names[0]}", sum(expected.values()), endless=True) as progress,
    ):
        for i, name in enumerate(names):
            # told in seconds of the last time, so that the rest can be told as well
            progress.update(f"measuring {name}", sum(list(expected.values())[:i]), sum(expected.values()))
            begin = time.perf_counter()
            rows = importlib.import_module(f"bench.{name}").measure()
            report["seconds"][name] = round(time.perf_counter() - begin, 1)
            report["results"][name] = [row.data() for row in rows]
            done.append(name)
            if not options.json:
                console.print(table(name, rows))
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    print(text if options.json else f"written  {TARGET}", end="" if options.json else "\n")
    sys.exit(0 if len(done) == len(names) else 130)  # stopped by Ctrl-C: what was measured is kept


def last() -> dict[str, Any]:
    """What was measured here before, and how long it took."""
    try:
        known = json.loads(TARGET.read_text(encoding="utf-8"))
        return {"results": known["results"], "seconds": known["seconds"]}
    except (OSError, ValueError, KeyError):
        return {"results": {}, "seconds": {}}


def table(name: str, rows: list[Row]) -> Table:
    grid = Table(title=name, title_justify="left")
    for column in ("what", "passivo", "rival", "ratio", "target", "met?", "note"):
        grid.add_column(column, justify="left" if column in ("what", "note") else "right")
    for row in rows:
        grid.add_row(*row.cells(), style="red" if row.met is False else "")
    return grid


if __name__ == "__main__":
    main()
