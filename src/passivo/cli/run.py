"""`passivo run`: one scenario, its verdict, its ledger, a picture and the data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from passivo.cli.app import ACTIVE, INTERRUPTED, MISTAKE, PASSIVE, Json, command, mistake
from passivo.cli.progress import Progress
from passivo.cli.show import coloured, console, ledger_table, print_json, run_data, table
from passivo.errors import FileError, InputError, StepError
from passivo.run.painter import Painter
from passivo.scenario.scenario import DEFAULT, Scenario, built_in, template

if TYPE_CHECKING:
    from passivo.run.run import Run


PICTURES = ("png", "svg", "pdf")


def complete_scenario(incomplete: str) -> list[str]:
    files = sorted(str(path) for path in Path().glob("*.y*ml"))
    return [name for name in (*built_in(), *files) if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    from passivo.method.catalogue import METHODS

    return [name for name in METHODS if name.lower().startswith(incomplete.lower())]


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.yaml", help="A built-in scenario (see --list) or a file.", autocompletion=complete_scenario
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A method by name, or with options: '{name: SymplecticEuler, variant: q}'.",
        autocompletion=complete_method,
    ),
]
Step = Annotated[str | None, typer.Option(metavar="SECONDS", help="Length of a step.")]
Until = Annotated[str | None, typer.Option(metavar="SECONDS", help="Length of the run.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter (k=1e4, spring.k=1e4) or a start (start.q=0.1)."),
]
Input = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="PORT=VALUE", help="A number, a formula of t, or as in a scenario file."),
]
Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Of everything random in the scenario.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where to write; default: the scenario's folder, or out.")
]


@command("""
    passivo run
    passivo run oscillator --method ExplicitEuler --until 0.1
    passivo run oscillator --set k=1e4 --set start.q=0.1 --input "force=10*sin(100*t)"
    passivo run pendulum --input "torque={feedback: -0.05*atan(y)}" --step 0.5 --out pictures
    passivo run mass --input "force={noise: 2.0}" --seed 7 --json
    passivo run --write-template pendulum
    passivo run pendulum.yaml
    passivo run --list
""")
def run(
    scenario: ScenarioArgument = DEFAULT,
    method: MethodOption = None,
    step: Step = None,
    until: Until = None,
    set_: Set = None,
    input_: Input = None,
    seed: Seed = None,
    out: Out = None,
    write_template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a built-in scenario to NAME.yaml, to change.",
            autocompletion=complete_scenario,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the built-in scenarios.")] = False,
    json: Json = False,
) -> int:
    """Run a scenario: verdict, ledger, picture, data.

    The exit code is 0 if the run is passive, 1 if it is active, 2 for a mistake.
    """
    if list_:
        return list_scenarios(json)
    if write_template is not None:
        return write(write_template, json)
    chosen = Scenario.load(scenario, changes(method, step, until, set_, input_, seed))
    folder = writable(out if out is not None else Path(chosen.folder))
    files = {kind: folder / f"{chosen.name}.{kind}" for kind in chosen.formats}
    pictures = [files[kind] for kind in files if kind in PICTURES]
    with Painter(bool(pictures)) as painter:
        result, code = simulate(chosen, json)
        painter.begin(result, pictures)
        if not json:
            show(chosen, result)
        if "zarr" in files:
            result.save(files["zarr"])
        if "csv" in files:
            result.write_csv(files["csv"])
        painter.finish()
    if json:
        print_json({"scenario": chosen.name, **run_data(result), "files": [str(file) for file in files.values()]})
        return code
    for file in files.values():
        typer.echo(f"written  {file}")
    if "zarr" in files:
        typer.echo(f"\nTry next: passivo audit {files['zarr']}\n          passivo compare {scenario}")
    if seed is not None and not chosen.random:
        typer.echo("\nnothing in this scenario is random: --seed changed nothing")
    return code


def changes(
    method: str | None,
    step: str | None,
    until: str | None,
    set_: list[str] | None,
    input_: list[str] | None,
    seed: int | None,
) -> list[tuple[list[str], Any, str]]:
    """What the options change in a scenario, as `Scenario.load` takes it."""
    from passivo.scenario.reader import value

    found = []
    given = ((["method"], "--method", method), (["run", "step"], "--step", step), (["run", "until"], "--until", until))
    for path, option, text in given:
        if text is not None:
            found.append((path, value(text, option), f"{option} {text}"))
    for option, texts in (("--set", set_), ("--input", input_)):
        for text in texts or ():
            name, equals, right = text.partition("=")
            if not name.strip() or not equals:
                example = "k=1e4" if option == "--set" else "force=0.5*sin(3*t)"
                raise InputError(f"{option} takes NAME=VALUE, as in {option} {example}, not {text!r}")
            path = ["inputs", name.strip()] if option == "--input" else _setting(name.strip())
            found.append((path, value(right, f"{option} {text}"), f"{option} {text}"))
    if seed is not None:
        found.append((["run", "seed"], seed, "--seed"))
    return found


def _setting(name: str) -> list[str]:
    return ["start", name.removeprefix("start.")] if name.startswith("start.") else ["params", name]


def writable(folder: Path) -> Path:
    """The folder, made if need be, before any work is done that could not be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise FileError(
            f"nothing can be written to {folder}: {error.strerror or error}; choose another --out"
        ) from None


def simulate(chosen: Scenario, json: bool) -> tuple[Run, int]:
    """The run, whole or as far as it came, and the exit code."""
    try:
        with Progress() as progress:
            result = chosen.simulate(progress.steps)
        return result, PASSIVE if result.verdict.passive else ACTIVE
    except StepError as error:
        result, code, what = error.run, MISTAKE, str(error)
    except KeyboardInterrupt as error:
        result, code = getattr(error, "run", None), INTERRUPTED
        if result is None or result.steps == 0:
            raise
        what = f"by Ctrl-C at t = {result.time[-1]:.6g} s of {chosen.until:g} s"
    if not json:
        mistake(f"{what}; what was computed is kept", False, code)
    return result, code


def show(chosen: Scenario, result: Run) -> None:
    out = console()
    name = type(result.method).__name__
    out.print(f"{chosen.name}: {chosen.about}" if chosen.about else chosen.name, style="bold", soft_wrap=True)
    out.print(f"{result.steps} steps of {result.step:g} s ({result.time[-1]:.6g} s) by {name}\n", soft_wrap=True)
    out.print(coloured(str(result.verdict), result.verdict.kind), soft_wrap=True)
    out.print()
    out.print(ledger_table(result))
    out.print()


def write(name: str, json: bool) -> int:
    """Write a template, with a first line by which editors find the schema."""
    text = template(name)
    target = Path(f"{name}.yaml")
    if target.exists():
        raise FileError(f"{target} exists already; rename it, or run it: passivo run {target}")
    schema = Path(__file__).parent.parent / "scenario" / "scenario.schema.json"
    target.write_text(f"# yaml-language-server: $schema={schema.as_uri()}\n{text}", encoding="utf-8")
    if json:
        print_json({"files": [str(target)]})
    else:
        typer.echo(f"written  {target}\n\nTry next: passivo run {target}")
    return PASSIVE


def list_scenarios(json: bool) -> int:
    found = {name: Scenario.load(name).about for name in built_in()}
    if json:
        print_json(found)
        return PASSIVE
    grid = table("scenario", "", left=("scenario", ""))
    for name, about in found.items():
        grid.add_row(name, about)
    console().print(grid)
    return PASSIVE
