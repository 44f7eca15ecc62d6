"""`passivo run`: one scenario, its verdict, its ledger, a picture and the data."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from passivo.cli.app import ACTIVE, INTERRUPTED, MISTAKE, PASSIVE, Json, command, mistake
from passivo.cli.options import (
    PICTURES,
    Input,
    MethodOption,
    Out,
    ScenarioArgument,
    Seed,
    Set,
    Step,
    Until,
    changes,
    complete_template,
    load,
    writable,
)
from passivo.cli.progress import COMPILES, Progress, shielded, telling
from passivo.cli.show import (
    coloured,
    console,
    counted,
    headline,
    ledger_table,
    print_json,
    printable,
    run_data,
    say,
    table,
)
from passivo.errors import FileError, StepError
from passivo.run.painter import Painter
from passivo.scenario.scenario import DEFAULT, SCENES, Scenario, built_in, template

if TYPE_CHECKING:
    from passivo.run.network_run import NetworkRun
    from passivo.run.run import Run


@command("""
    passivo run
    passivo run oscillator --method ExplicitEuler --until 0.1
    passivo run oscillator --set k=1e4 --set start.q=0.1 --input "force=sin(t)"
    passivo run pendulum --input "torque={feedback: -0.05*atan(y)}" --out brake
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
    record_every: Annotated[int | None, typer.Option(metavar="N", min=1, help="Keep every N-th row.")] = None,
    coordinates: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Of a scene: generalised (default) or maximal; or of trees by their roots: '{torso: maximal}'.",
        ),
    ] = None,
    contact: Annotated[
        bool | None,
        typer.Option("--contact/--no-contact", help="Of a scene: whether shapes touch; default: as it says."),
    ] = None,
    out: Out = None,
    write_template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a built-in scenario to NAME.yaml, to change.",
            autocompletion=complete_template,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the built-in scenarios.")] = False,
    json: Json = False,
) -> int:
    """Run a scenario or a scene: verdict, ledger, picture, data.

    A scene is an MJCF (.xml), a URDF or a YAML file with bodies. It starts as the file has it, falls and touches; what
    is not simulated is listed by name. Its parameters are the masses and stiffnesses: --set box.mass=2.

    The exit code is 0 if the run is passive, 1 if it is active, 2 for a mistake.
    """
    if list_:
        return list_scenarios(json)
    if write_template is not None:
        return write(write_template, out or Path(), json)
    options = {"method": method, "step": step, "until": until, "seed": seed, "record_every": record_every}
    system = changes(coordinates=coordinates, contact=contact, group="system")
    chosen = load(scenario, [*changes(set_, input_, **options), *system])
    if not json:
        warn(chosen)
    files = writable(out or Path(chosen.folder), *(f"{chosen.name}.{kind}" for kind in chosen.formats))
    pictures = [file for file in files if file.suffix[1:] in PICTURES]
    with Painter(bool(pictures)) as painter:
        result, code, warned = simulate(chosen, json)
        with shielded():
            with telling("saving"):
                painter.begin(result, pictures)
                for file in files:
                    if file.suffix == ".zarr":
                        result.save(file)
                    elif file.suffix == ".csv":
                        result.write_csv(file)
            if not json:
                show(chosen, result)
            with telling("drawing"):
                painter.finish()
    if json:
        told = {"unsupported": [vars(one) for one in chosen.unsupported], "warnings": warned}
        print_json({"scenario": chosen.name, **told, **run_data(result), "files": files})
    else:
        say(*(f"written  {file}" for file in files))
        suggest(chosen, files, scenario)
        if code == ACTIVE:
            suggest_options(chosen, scenario)
        if seed is not None and not chosen.random:
            say("", "nothing in this scenario is random: --seed changed nothing")
    return code


def simulate(chosen: Scenario, json: bool) -> tuple[Run | NetworkRun, int, list[str]]:
    """The run, whole or as far as it came, the exit code, and warnings, which are told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result, code = _simulated(chosen, json)
        finally:
            warned = [str(one.message) for one in caught]
            for sentence in () if json else warned:
                console(stderr=True).print(printable(f"warning: {sentence}\n"), style="#b37a00", soft_wrap=True)
    return result, code, warned


def _simulated(chosen: Scenario, json: bool) -> tuple[Run | NetworkRun, int]:
    try:
        with Progress(guess=COMPILES) as progress:
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


def show(chosen: Scenario, result: Run | NetworkRun) -> None:
    from passivo.run.network_run import NetworkRun

    out = console()
    headline(out, chosen)
    end = float(result.time[-1])
    short = f"; the last whole step before {chosen.until:g} s" if end < chosen.until * (1 - 1e-9) else ""
    short = "" if result.stopped else short
    if isinstance(result, NetworkRun):
        for key, part in result.runs.items():
            by = f" by {type(part.method).__name__}" if part.model.states else ""
            out.print(f"{key}: {counted(part.steps, 'step')} of {part.step:g} s{by}")
        out.print(f"met {counted(result.steps, 'time')}, every {result.step:g} s ({end:.6g} s{short})\n")
    else:
        name = type(result.method).__name__
        many = counted(result.steps, "step")
        out.print(f"{many} of {result.stride} by {name} ({end:.6g} s{short})\n", soft_wrap=True)
    out.print(coloured(str(result.verdict), result.verdict.kind), soft_wrap=True)
    if met := [f"{name} {count}" for name, count in result.faults.items() if count]:
        out.print(f"faults: {', '.join(met)}", soft_wrap=True)
    out.print()
    out.print(ledger_table(result))
    out.print()


def warn(chosen: Scenario) -> None:
    """List what stands in scene files and is not simulated as they say."""
    if chosen.unsupported:
        out = console(stderr=True)
        out.print("warning: not simulated as the scene file says:", style="bold #b37a00")
        for one in chosen.unsupported:
            out.print(printable(f"  {one}"), soft_wrap=True)
        out.print()


def suggest(chosen: Scenario, files: list[Path], source: str) -> None:
    saved = [f"passivo audit {shlex.quote(str(file))}" for file in files if file.suffix == ".zarr"]
    method = chosen.method
    alike = (
        chosen.model.states
        and not getattr(chosen.model, "steps_apart", False)
        and method is not None
        and not method.adds
        and isinstance(chosen.step, float)
    )
    other = [f"passivo compare {shlex.quote(source)} --methods all"] if alike else []
    for i, line in enumerate(saved + other):
        say(f"          {line}" if i else f"\nTry next: {line}")


def suggest_options(chosen: Scenario, source: str) -> None:
    """What makes a world that was active passive."""
    model = chosen.model
    if not getattr(model, "steps_apart", False):
        return
    tied = any(bond.row == "joints" for bond in getattr(model, "bonds", {}).values())
    smaller = [f"--step {chosen.step / 2:g}"] if isinstance(chosen.step, float) else []
    kept = ["--coordinates generalised"] if tied and Path(source).suffix.lower() in SCENES else []
    for option in [*kept, *(["--method '{name: PassiveMidpoint, resolve: 2}'"] if tied else []), *smaller]:
        say(f"          passivo run {shlex.quote(source)} {option}")


def write(name: str, folder: Path, json: bool) -> int:
    """Write a template, with a first line by which editors find the schema."""
    text = template(name)
    (target,) = writable(folder, f"{name}.yaml")
    if target.exists():
        raise FileError(f"{target} exists already; rename it, or run it: passivo run {target}")
    schema = Path(__file__).parent.parent / "scenario" / "scenario.schema.json"
    target.write_text(f"# yaml-language-server: $schema={schema.as_uri()}\n{text}", encoding="utf-8")
    if json:
        print_json({"files": [target]})
    else:
        say(f"written  {target}", "", f"Try next: passivo run {shlex.quote(str(target))}")
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
