"""Arguments and options that several commands share, and what they mean."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from passivo.cli.progress import Progress
from passivo.document import reader
from passivo.errors import FileError, InputError
from passivo.scenario.scenario import Scenario, built_in

PICTURES = ("png", "svg", "pdf")
Change = tuple[list[str], Any, str]


def complete_scenario(incomplete: str) -> list[str]:
    files = sorted(str(path) for kind in ("*.y*ml", "*.xml", "*.urdf") for path in Path().glob(kind))
    return [name for name in (*built_in(), *files) if name.startswith(incomplete)]


def complete_saved(incomplete: str) -> list[str]:
    """Saved runs and recordings, here and in folders below."""
    found = (path for kind in ("zarr", "mcap") for path in (*Path().glob(f"*.{kind}"), *Path().glob(f"*/*.{kind}")))
    return [name for name in sorted(map(str, found)) if name.startswith(incomplete)]


def complete_template(incomplete: str) -> list[str]:
    return [name for name in built_in() if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    from passivo.method.catalogue import METHODS

    return [name for name in METHODS if name.lower().startswith(incomplete.lower())]


def complete_methods(incomplete: str) -> list[str]:
    """A list with commas: its last name is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete_method(last)] + ["all"] * (
        not comma and "all".startswith(last)
    )


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A built-in scenario (passivo run --list), a scenario file, or a scene (.xml, .urdf, .yaml).",
        autocompletion=complete_scenario,
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
Step = Annotated[str | None, typer.Option(metavar="SECONDS", help='Length of a step; or "{tolerance: 1e-6}".')]
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
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write to; default: the scenario's, or out.")]


def changes(
    settings: Iterable[str] | None = None, inputs: Iterable[str] | None = None, *, group: str = "run", **options: Any
) -> list[Change]:
    """What the options change in a scenario, as `Scenario.load` takes it; `options` are method and those of a `group`
    of its keys."""
    found: list[Change] = []
    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            parsed = reader.value(value, option) if isinstance(value, str) else value
            found.append(([name] if name == "method" else [group, name], parsed, f"{option} {value}"))
    for name, text in assignments("--set", settings, "k=1e4"):
        start = name.startswith("start.")
        path = ["start", name.removeprefix("start.")] if start else ["params", name]
        found.append((path, reader.value(text, f"--set {name}={text}"), f"--set {name}={text}"))
    for name, text in assignments("--input", inputs, "force=0.5*sin(3*t)"):
        found.append((["inputs", name], reader.value(text, f"--input {name}={text}"), f"--input {name}={text}"))
    return found


def assignments(option: str, given: Iterable[str] | None, example: str) -> list[tuple[str, str]]:
    """NAME=VALUE, taken apart."""
    found = []
    for text in given or ():
        name, equals, value = text.partition("=")
        if not name.strip() or not equals:
            raise InputError(f"{option} takes NAME=VALUE, as in {option} {example}, not {text!r}")
        found.append((name.strip(), value))
    return found


def load(source: str, found: list[Change]) -> Scenario:
    """A scenario with its changes; models are checked here, and a hostile one must not take for ever."""
    with Progress("checking the scenario"):
        return Scenario.load(source, found)


def writable(folder: Path, *names: str) -> list[Path]:
    """The files of these names in a folder, which is made if need be: before any work is done that would be lost."""
    from passivo.run.save import is_run

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"nothing can be written to {folder}: {why}; choose another --out") from None
    files = [folder / name for name in names]
    for file in files:
        if (file.suffix == ".zarr" and file.exists() and not is_run(file)) or (
            file.suffix != ".zarr" and file.is_dir()
        ):
            raise FileError(f"{file} exists and was not written by Passivo; choose another --out")
    return files
