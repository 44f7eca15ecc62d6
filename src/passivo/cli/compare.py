"""`passivo compare`: one scenario by many methods, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from passivo.cli.app import ACTIVE, INTERRUPTED, MISTAKE, PASSIVE, Json, command, mistake
from passivo.cli.options import (
    PICTURES,
    Input,
    Out,
    ScenarioArgument,
    Seed,
    Set,
    Step,
    Until,
    changes,
    complete_methods,
    load,
    writable,
)
from passivo.cli.progress import COMPILES, Progress, shielded, telling
from passivo.cli.show import coloured, compact, console, counted, headline, print_json, say, table
from passivo.run.painter import Painter

if TYPE_CHECKING:
    from rich.table import Table

    from passivo.method.base import Method
    from passivo.run.compare import Comparison, Entry
    from passivo.scenario.scenario import Scenario

OVERFLOW = 1e300  # joules; what came so far would have gone on
ROUNDOFF = "≈ 0"


@command("""
    passivo compare oscillator --methods all
    passivo compare pendulum --methods AVF,ImplicitMidpoint,RK4 --step 0.2
    passivo compare oscillator --methods AVF,RK4 --input "force=5*sin(50*t)"
    passivo compare pendulum --methods "AVF, {name: Collocation, stages: 3}"
""")
def compare(
    scenario: ScenarioArgument,
    methods: Annotated[
        str,
        typer.Option(
            metavar="all|NAME,...",
            help="Methods by name, or with options: 'AVF, {name: Collocation, stages: 3}'.",
            autocompletion=complete_methods,
        ),
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
    and the cost of a step. The exit code is the largest that `passivo run` gives for one of them: 0 if every method is
    passive, 1 if one is active, 2 if one could not come to the end or none applies.
    """
    listed = parse_methods(methods)
    chosen = load(scenario, changes(set_, input_, step=step, until=until, seed=seed))
    pictures = [kind for kind in chosen.formats if kind in PICTURES]
    files = writable(out or Path(chosen.folder), *(f"{chosen.name}-compare.{kind}" for kind in pictures))
    with Painter(bool(files)) as painter:
        found, code = measure(chosen, listed)
        if not any(entry.run for entry in found.entries):
            files = []
        with shielded():
            painter.begin(found, files)
            if not json:
                show(chosen, found, "" if listed else others(found))
            with telling("drawing"):
                painter.finish()
    if json:
        print_json({"scenario": chosen.name, **found.data(), "files": files})
    else:
        say(*(f"written  {file}" for file in files))
    return code


def parse_methods(text: str) -> list[Method] | None:
    """The methods named, with their options; None for all that suit the model."""
    from passivo.document.reader import value
    from passivo.scenario.choices import methods_of

    if text.strip() == "all":
        return None
    return methods_of(value(f"[{text}]", f"--methods {text}"), "--methods")


def others(found: Comparison) -> str:
    """The methods that are for other kinds of models, and for which."""
    from passivo.method.catalogue import METHODS, suited

    if found.model.constraints:
        return "all methods that know nothing of constraints"
    shown = {type(method) for method in suited(found.model)}
    kinds: dict[str, list[str]] = {}
    for name, kind in METHODS.items():
        if kind not in shown:
            kinds.setdefault(kind.applies, []).append(name)
    return "; ".join(f"{', '.join(names)} (for {what})" for what, names in kinds.items())


def measure(chosen: Scenario, methods: list[Method] | None) -> tuple[Comparison, int]:
    """The comparison, whole or as far as it came, and the exit code."""
    from passivo.method.catalogue import suited

    try:
        count = len(methods or suited(chosen.model))
        with Progress(guess=COMPILES * (1 + count) / 3) as progress:  # two at a time, if there is anything to do
            found = chosen.compare(methods, progress.update)
        kinds = {entry.run.verdict.kind for entry in found.entries if entry.run}
        if not kinds or "none" in kinds:
            return found, MISTAKE
        return found, ACTIVE if "active" in kinds else PASSIVE
    except KeyboardInterrupt as error:
        found = getattr(error, "comparison", None)
        if found is None or not found.entries:
            raise
        mistake("by Ctrl-C; the methods that were finished are shown", False, INTERRUPTED)
        return found, INTERRUPTED


def show(chosen: Scenario, found: Comparison, left_out: str) -> None:
    out = console()
    headline(out, chosen)
    out.print(f"{counted(found.steps, 'step')} of {found.step:g} s ({found.until:g} s)\n")
    out.print(comparison_table(found))
    out.print()
    for entry in found.entries:
        if entry.reason:
            named = entry.reason.startswith(f"{entry.title} ")
            out.print(entry.reason if named else f"{entry.title}: {entry.reason}", style="dim")
    if left_out:
        out.print(f"left out: {left_out}", style="dim")
    if left_out or any(entry.reason for entry in found.entries):
        out.print()
    if any(entry.run for entry in found.entries):
        out.print(meanings(found))
        out.print()


def meanings(found: Comparison) -> Table:
    """What the columns say, in small print."""
    grid = table("", "", left=("",))
    grid.show_header, grid.row_styles = False, ["dim"]
    if found.reference.found:
        known = f"largest deviation from a reference known to {compact(found.reference.accuracy, 2)}"
        grid.add_row("error", f"{known}, as a share of a state's largest value")
    if any(entry.error is not None and not found.told(entry) for entry in found.entries):
        grid.add_row("~", "not to be trusted, the reference itself is no better; a shorter --until may help")
    grid.add_row("created", "most energy the numerics made in any stretch of time, in joules")
    grid.add_row("removed", "most energy they took away")
    ran = [entry for entry in found.entries if entry.run]
    if not all(entry.created and entry.removed for entry in ran):
        grid.add_row(ROUNDOFF, "nothing but roundoff")
    grid.add_row("cost", "of a step on this machine, ledger included")
    return grid


def comparison_table(found: Comparison) -> Table:
    names = ("method", "order", "error", "created", "removed", "cost", "verdict")
    grid = table(*names, left=("method", "verdict"))
    for entry in found.entries:
        cells: list[Any] = ["", "", "", "", entry.kind]
        if entry.run is not None:
            cells = [error(entry, found), energy(entry.created, entry), energy(entry.removed, entry), cost(entry)]
            cells.append(coloured(entry.kind, entry.run.verdict.kind))
        grid.add_row(entry.title, str(entry.method.order), *cells, style="" if entry.run else "dim")
    return grid


def error(entry: Entry, found: Comparison) -> str:
    if entry.error is None:
        return ""
    return compact(entry.error, 2) if found.told(entry) else f"~{compact(entry.error, 1)}"


def energy(value: float, entry: Entry) -> Any:
    """Joules, or the word where there is more than can be summed; where there is nothing no figure draws the eye."""
    from rich.text import Text

    run: Any = entry.run
    if run.stopped and value > OVERFLOW:
        return "overflow"
    return compact(value) if value else Text(ROUNDOFF, style="dim")


def cost(entry: Entry) -> str:
    if entry.cost is None:
        return ""
    return f"{entry.cost * 1e9:.0f} ns" if entry.cost < 1e-6 else f"{entry.cost * 1e6:.3g} µs"
