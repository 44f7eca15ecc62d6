"""`passivo compare`: one scenario by many methods, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from passivo.cli.app import ACTIVE, INTERRUPTED, PASSIVE, Json, command, mistake
from passivo.cli.progress import Progress
from passivo.cli.run import (
    PICTURES,
    Input,
    Out,
    ScenarioArgument,
    Seed,
    Set,
    Step,
    Until,
    changes,
    complete_method,
    writable,
)
from passivo.cli.show import coloured, compact, console, print_json, table
from passivo.errors import InputError, nearest
from passivo.run.painter import Painter
from passivo.scenario.scenario import Scenario

if TYPE_CHECKING:
    from rich.table import Table

    from passivo.method.base import Method
    from passivo.run.compare import Comparison, Entry


@command("""
    passivo compare oscillator --methods all
    passivo compare pendulum --methods AVF,ImplicitMidpoint,RK4 --step 0.2
    passivo compare oscillator --methods AVF,RK4 --set b=2 --input "force=5*sin(50*t)"
""")
def compare(
    scenario: ScenarioArgument,
    methods: Annotated[
        str, typer.Option(metavar="all|NAME,...", help="Methods by name.", autocompletion=complete_method)
    ] = "all",
    step: Step = None,
    until: Until = None,
    set_: Set = None,
    input_: Input = None,
    seed: Seed = None,
    out: Out = None,
    json: Json = False,
) -> int:
    """Run a scenario by several methods, side by side.

    Shown are the error against a reference solution, the energy that the numerics created and removed, the verdict
    and the cost of a step. The exit code is 0 if every method is passive, 1 if one is active.
    """
    chosen = Scenario.load(scenario, changes(None, step, until, set_, input_, seed))
    listed = parse_methods(methods)
    folder = writable(out if out is not None else Path(chosen.folder))
    files = [folder / f"{chosen.name}-compare.{kind}" for kind in chosen.formats if kind in PICTURES]
    with Painter(bool(files)) as painter:
        found, code = measure(chosen, listed)
        if found.interrupted:  # without a reference there is nothing to draw against
            files = []
        painter.begin(found, files)
        if not json:
            show(chosen, found)
        painter.finish()
    if json:
        print_json({"scenario": chosen.name, **found.data(), "files": files})
    else:
        typer.echo("\n".join(f"written  {file}" for file in files))
    return code


def parse_methods(text: str) -> list[Method]:
    from passivo.method.catalogue import METHODS

    if text.strip() == "all":
        return [kind() for kind in METHODS.values()]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("--methods takes all, or names such as AVF,RK4")
    for name in names:
        if name not in METHODS:
            raise InputError(f"--methods: there is no method {name!r}; {nearest(name, METHODS)}")
    return [METHODS[name]() for name in dict.fromkeys(names)]


def measure(chosen: Scenario, methods: list[Method]) -> tuple[Comparison, int]:
    """The comparison, whole or as far as it came, and the exit code."""
    try:
        with Progress() as progress:
            found = chosen.compare(methods, progress.update)
        return found, PASSIVE if found.passive else ACTIVE
    except KeyboardInterrupt as error:
        found = getattr(error, "comparison", None)
        if found is None or not found.entries:
            raise
        mistake("by Ctrl-C; the methods that were finished are shown", False, INTERRUPTED)
        return found, INTERRUPTED


def show(chosen: Scenario, found: Comparison) -> None:
    out = console()
    steps = round(found.until / found.step)
    out.print(f"{chosen.name}: {chosen.about}" if chosen.about else chosen.name, style="bold", soft_wrap=True)
    out.print(f"{steps} steps of {found.step:g} s ({found.until:g} s)\n")
    out.print(comparison_table(found))
    out.print()
    for entry in found.entries:
        if entry.reason:
            out.print(f"{entry.title}: {entry.reason}", style="dim", soft_wrap=False)
    out.print(meanings(found))
    out.print()


def meanings(found: Comparison) -> Table:
    """What the columns say, in small print."""
    known = share(found.reference.accuracy)
    grid = table("", "", left=("",))
    grid.show_header, grid.row_styles = False, ["dim"]
    grid.add_row(
        "error", f"largest deviation from a reference (known to {known}), as a share of a state's largest value"
    )
    grid.add_row("created", "most energy the numerics made in any stretch of time, in joules")
    grid.add_row("removed", "most energy they took away")
    grid.add_row("per step", "on this machine, ledger included")
    return grid


def comparison_table(found: Comparison) -> Table:
    names = ("method", "order", "error", "created", "removed", "per step", "verdict")
    grid = table(*names, left=("method", "verdict"))
    for entry in found.entries:
        if entry.run is None:
            grid.add_row(entry.title, str(entry.method.order), "", "", "", "", "does not apply", style="dim")
            continue
        verdict = entry.run.verdict
        grid.add_row(
            entry.title,
            str(entry.method.order),
            share(entry.error),
            *(energy(value, verdict.roundoff, entry.run.steps) for value in (verdict.bias, verdict.removed)),
            per_step(entry.cost),
            coloured(kind(entry), verdict.kind),
        )
    return grid


def kind(entry: Entry) -> str:
    verdict: Any = entry.run and entry.run.verdict
    if verdict.kind == "none":
        return "stopped"
    return "active, bounded" if verdict.kind == "active" and verdict.bounded else verdict.kind


def share(value: float | None) -> str:
    return "" if value is None else compact(value, 2)


def energy(value: float, roundoff: float, steps: int) -> str:
    """Joules, or the word where a sum of roundings is all there is."""
    return "roundoff" if value <= roundoff * steps**0.5 else compact(value, 3)


def per_step(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-6 else f"{seconds * 1e6:.3g} µs"
