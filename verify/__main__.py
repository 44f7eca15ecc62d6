"""Measure all methods on all reference problems, show the tables, write the page; exit 1 if a claim fails."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from verify.claims import check_method, check_power
from verify.methods import all_methods
from verify.page import Table, markdown, tables
from verify.problems import PROBLEMS
from verify.work import measure_all


def show(table: Table, console: Console) -> None:
    head, *rows = table.rows
    drawn = RichTable(title=table.title, title_justify="left", caption=table.note, caption_justify="left")
    for column in head:
        drawn.add_column(column)
    for row in rows:
        drawn.add_row(*row, style="red" if any("FAILS" in cell for cell in row) else "")
    console.print(drawn)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verify", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--method", action="append", choices=[*all_methods()], help="only this one; may be repeated")
    parser.add_argument("--problem", action="append", choices=[*PROBLEMS], help="only this one; may be repeated")
    parser.add_argument("--page", default="docs/verification.md", metavar="FILE", help="where the page is written")
    options = parser.parse_args()
    console = Console(width=230 if not sys.stdout.isatty() else None)
    methods = {t: m for t, m in all_methods().items() if t in (options.method or all_methods())}
    problems = {n: p for n, p in PROBLEMS.items() if n in (options.problem or PROBLEMS)}
    results, findings = measure_all([*methods], [*problems], max(1, options.jobs), console)
    for title, method in methods.items():
        findings += check_method(title, method, problems, results[title])
    findings += check_power(problems, results)
    found = list(tables(methods, problems, results))
    for table in found:
        show(table, console)
    if options.method or options.problem:
        console.print("a part of the whole: no page is written")
    else:
        Path(options.page).parent.mkdir(parents=True, exist_ok=True)
        Path(options.page).write_text(markdown(found, findings), encoding="utf-8")
        console.print(f"written to {options.page}")
    for finding in findings:
        console.print(f"NOT BORNE OUT: {finding}", style="red", markup=False)
    console.print("every claim is borne out" if not findings else f"{len(findings)} claims are not borne out")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
