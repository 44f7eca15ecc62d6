"""The command line. `passivo run` simulates the default scenario and shows what the ledger says of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from passivo.errors import PassivoError

if TYPE_CHECKING:
    from passivo.model.system import Model
    from passivo.run.run import Run

app = typer.Typer(
    help="Simulate physical systems so that no energy is ever created unnoticed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
STEP, UNTIL = 1e-5, 4.0


@app.callback()
def commands() -> None:
    """Simulate physical systems so that no energy is ever created unnoticed."""


@app.command()
def run(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the data.")] = Path("out"),
) -> None:
    """Run the default scenario: a hand pushes a mass that hangs between a spring and a damper.

    The exit code is 0 if the run is passive, 1 if it is active, 2 for a mistake.
    """
    from rich.console import Console

    console = Console(highlight=False)
    try:
        result = simulate_with_progress(console, default_scenario())
        show(console, result)
        out.mkdir(parents=True, exist_ok=True)
        result.plot(out / "run.png")
        result.save(out / "run.zarr")
    except (PassivoError, OSError) as error:
        console.print(f"[bold red]mistake:[/] {error}")
        raise typer.Exit(2) from None
    console.print(f"picture  {out / 'run.png'}\ndata     {out / 'run.zarr'}")
    python = os.path.relpath(sys.executable)
    console.print(
        f"\nTry next: [bold]{python} -c \"import passivo as pv; print(pv.audit('{out / 'run.zarr'}'))\"[/], "
        "which repeats the run and compares it bit for bit.",
        soft_wrap=True,
    )
    raise typer.Exit(0 if result.verdict.passive else 1)


def default_scenario() -> Model:
    from passivo.model import library
    from passivo.model.monolithic import Monolithic

    parts = {
        "spring": library.spring(k=400.0),
        "mass": library.mass(m=0.2, ports=("spring", "damper", "hand")),
        "damper": library.damper(b=0.2),
    }
    return Monolithic(
        parts,
        [("spring.end", "mass.spring", "spring_mass"), ("damper.end", "mass.damper", "damper_mass")],
        name="mass_on_spring",
    )


def simulate_with_progress(console, model: Model) -> Run:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from passivo.method.one_stage import AVF
    from passivo.model.symbols import functions
    from passivo.run.simulate import simulate

    console.print(f"[bold]{model.name}[/]: {UNTIL:g} s by AVF in steps of {STEP:g} s")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, description="stepping", completed=done, total=total)

        return simulate(
            model,
            AVF(),
            step=STEP,
            until=UNTIL,
            start={"spring.q": 0.02},
            inputs={"mass.hand": lambda t: 0.5 * functions["sin"](41 * t)},
            record_every=100,
            progress=advance,
        )


def show(console, result: Run) -> None:
    """The verdict in one sentence, and a small table per part."""
    from rich.table import Table

    colour = {"exact": "green", "passive": "green", "booked": "yellow", "active": "red"}.get(
        result.verdict.kind, "magenta"
    )
    console.print(f"[bold {colour}]{result.verdict}[/]\n", soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("joules", "stored at 0", "at the end", "received", "lost", "created", "verdict"):
        table.add_column(heading, justify="left" if heading in ("joules", "verdict") else "right")
    first, last = result.ledger.isel(time=0), result.ledger.isel(time=-1)
    for name in [*result.parts, "total"]:
        verdict = result.verdict if name == "total" else result.part(name).verdict
        before, after = first.sel(part=name), last.sel(part=name)
        numbers = (before.stored, after.stored, after.work, after.lost, after.created)
        table.add_row(
            name,
            *(f"{float(value):.3g}" for value in numbers),
            verdict.kind,
            style="bold" if name == "total" else "",
        )
    console.print(table)
    console.print()


def main() -> None:
    app()
