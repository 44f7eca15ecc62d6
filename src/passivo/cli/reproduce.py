"""`passivo reproduce`: figures of the papers, with numbers that say which statements hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from passivo.cli.app import ACTIVE, PASSIVE, Json, command
from passivo.cli.options import assignments, writable
from passivo.cli.progress import Progress, shielded, telling
from passivo.cli.show import coloured, console, print_json, say, table
from passivo.errors import InputError

if TYPE_CHECKING:
    from passivo.reproduce.figure import Figure, Outcome

FORMATS = ("png", "svg", "csv", "txt")


def complete_figure(incomplete: str) -> list[str]:
    from passivo.reproduce.figure import figures

    return [name for name in (*figures(), "all") if name.startswith(incomplete)]


@command("""
    passivo reproduce --list
    passivo reproduce borghesan-fig3
    passivo reproduce borghesan-fig3 --set step=2e-3 --out figures
    passivo reproduce kim-fig1 --json
""")
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|all", help="A figure by name, or all of them.", autocompletion=complete_figure),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the figures and what can be set.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the figure; see --list.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write to.")] = Path("out"),
    json: Json = False,
) -> int:
    """Make figures of the papers anew.

    Each gives a picture, its data, and a text that says which statements of the paper hold, with numbers. The exit
    code is 0 if every statement holds, 1 if one does not.
    """
    from passivo.reproduce.figure import figure, figures

    if list_ or name is None:
        return list_figures(json)
    chosen = list(figures().values()) if name == "all" else [figure(name)]
    changes = settings(set_)
    targets = [writable(out, *(f"{item.name}.{kind}" for kind in FORMATS)) for item in chosen]
    answers = []
    for item, files in zip(chosen, targets):
        with Progress(item.name) as progress:
            outcome = item.reproduce(changes, progress.update)
        with shielded(), telling("drawing"):
            write_files(item, outcome, files)
        answers.append((item, outcome, files))
        if not json:
            show(*answers[-1])
    if json:
        print_json([facts(*answer) for answer in answers])
    return PASSIVE if all(outcome.holds for _, outcome, _ in answers) else ACTIVE


def settings(given: list[str] | None) -> dict[str, float]:
    from passivo.document.reader import value

    found = {}
    for name, text in assignments("--set", given, "step=2e-3"):
        number: Any = value(text, f"--set {name}")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"--set {name}={text}: must be a number, as in --set step=2e-3")
        found[name] = float(number)
    return found


def write_files(item: Figure, outcome: Outcome, files: list[Path]) -> None:
    from passivo.run.draw import write
    from passivo.run.save import write_columns

    *pictures, columns, text = files
    for target in pictures:
        write(outcome.picture, target)
    write_columns(columns, outcome.data)
    text.write_text("\n".join([f"{item.title} ({item.source})", "", *report(outcome)]) + "\n", encoding="utf-8")


def report(outcome: Outcome) -> list[str]:
    lines = []
    for statement in outcome.statements:
        mark = {True: "holds", False: "DOES NOT HOLD", None: "found"}[statement.holds]
        expected = f" (expected {statement.expected})" if statement.expected else ""
        lines.append(f"{mark}: {statement.text} = {statement.found:.8g}{expected}")
    return [*lines, *([outcome.note] if outcome.note else [])]


def show(item: Figure, outcome: Outcome, files: list[Path]) -> None:
    out = console()
    out.print(f"{item.name}: {item.title}", style="bold", soft_wrap=True)
    out.print(item.source, soft_wrap=True)
    for line in report(outcome):
        out.print(coloured(line, "active") if line.startswith("DOES NOT") else line, soft_wrap=True)
    say(*(f"written  {file}" for file in files), "")


def facts(item: Figure, outcome: Outcome, files: list[Path]) -> dict[str, Any]:
    statements = [vars(statement) for statement in outcome.statements]
    return {"name": item.name, "holds": outcome.holds, "statements": statements, "note": outcome.note, "files": files}


def list_figures(json: bool) -> int:
    from passivo.reproduce.figure import figures

    if json:
        found = figures().items()
        print_json({k: {"title": f.title, "source": f.source, "params": dict(f.params)} for k, f in found})
        return PASSIVE
    grid = table("figure", "shows, and what can be set", left=("figure", "shows, and what can be set"))
    for name, item in figures().items():
        grid.add_row(name, item.title)
        grid.add_row("", ", ".join(f"{key}={value:g}" for key, value in item.params.items()), style="dim")
    console().print(grid)
    return PASSIVE
