"""Run the benchmarks named on the command line, or all; print the table, write build/bench.json."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

NAMES = ("step", "call", "start", "accuracy")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--json", default="build/bench.json", metavar="FILE", help="where the results are written")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; take {', '.join(NAMES)}")
    console = Console(width=160)
    results = {}
    for name in options.names or NAMES:
        rows = importlib.import_module(f"bench.{name}").measure()
        results[name] = [row.data() for row in rows]
        table = Table(title=name, title_justify="left")
        for column in ("what", "passivo", "rival", "ratio", "target", "met?", "note"):
            table.add_column(column, justify="left" if column in ("what", "note") else "right")
        for row in rows:
            table.add_row(*row.cells(), style="red" if row.met is False else "")
        console.print(table)
    target = Path(options.json)
    target.parent.mkdir(parents=True, exist_ok=True)
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    target.write_text(json.dumps({"machine": machine, "results": results}, indent=1, ensure_ascii=False) + "\n")
    console.print(f"written to {target}")


if __name__ == "__main__":
    main()
