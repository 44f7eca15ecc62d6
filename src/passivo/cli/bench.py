"""`passivo bench`: run the benchmarks of a source checkout and print what they measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from passivo.cli.app import PASSIVE, Json, command
from passivo.cli.show import print_json
from passivo.errors import FileError, InputError, nearest


def checkout() -> Path:
    """The folder that holds bench/."""
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / "bench" / "measure.py").is_file() and (folder / "src" / "passivo").is_dir():
            return folder
    raise FileError("the benchmarks are not part of the installed package; run this in a checkout of the sources")


def names() -> list[str]:
    """What can be measured: the modules of bench/ with a function `measure`."""
    found = sorted((checkout() / "bench").glob("*.py"))
    return [path.stem for path in found if "\ndef measure()" in path.read_text(encoding="utf-8")]


def complete_name(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


@command("""
    passivo bench --list
    passivo bench call
""")
def bench(
    name: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Which; default all.", autocompletion=complete_name)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the benchmarks.")] = False,
    json: Json = False,
) -> int:
    """Measure speed against hand-written C and SciPy.

    A target that is missed is marked. Numbers are the least of many repeats, ratios are taken within one run.
    """
    if list_:
        print_json(names()) if json else typer.echo("\n".join(names()))
        return PASSIVE
    for item in name or ():
        if item not in names():
            raise InputError(f"there is no benchmark {item!r}; {nearest(item, names())}")
    line = [sys.executable, "-m", "bench", *(name or ()), *(["--json"] if json else [])]
    process = subprocess.Popen(line, cwd=checkout())
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # it was told as well, and writes what it has measured
            continue
