"""`passivo touch`: a scenario against the clock, with a device in your hand."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from passivo.cli.app import ACTIVE, MISTAKE, PASSIVE, Json, command, mistake
from passivo.cli.options import Input, ScenarioArgument, Seed, Set, changes, load, writable
from passivo.cli.progress import Progress, shielded
from passivo.cli.show import coloured, console, counted, headline, print_json, printable, say, verdict_data
from passivo.errors import FileError, InputError

if TYPE_CHECKING:
    from passivo.device.device import Device
    from passivo.loop.loop import Loop
    from passivo.loop.report import LoopReport
    from passivo.loop.touch import StandIn, Touch, Touched

PER_SECOND = 5  # how often the status is written
RECORDINGS = (".mcap", ".zarr")
UNCLAMPED = (
    "THE ENERGY CLAMP WAS SWITCHED OFF: nothing kept the program from pushing energy into the hand. "
    "What was felt here was not safe, whatever the verdict says."
)
WARNING = (
    "WARNING: the energy clamp is OFF (--no-clamp). The device may kick or oscillate. Keep clear of it, hold the "
    "emergency stop, and be ready to let go."
)
COMPILING = "compiling the loop (up to a minute, once)"


def complete_device(incomplete: str) -> list[str]:
    from passivo.device.catalogue import DRIVERS

    return [name for name in (key.lower() for key in DRIVERS) if name.startswith(incomplete)]


@command("""
    passivo touch wall --seconds 2
    passivo touch wall --device sim --seconds 2 --set wall.k=1e4 --out pics
    passivo touch wall --seconds 2 --input "device.hand=3 + sin(6*t)" --json
""")
def touch(
    scenario: ScenarioArgument,
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="sim, haply, dhd, openhaptics, mouse or replay:FILE.",
            autocompletion=complete_device,
        ),
    ] = "sim",
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="How long; Ctrl-C ends it sooner.")] = 10.0,
    axis: Annotated[str | None, typer.Option(metavar="AXIS", help="The device's axis to use; default z.")] = None,
    set_: Set = None,
    input_: Input = None,
    seed: Seed = None,
    max_force: Annotated[
        float | None, typer.Option(metavar="NEWTONS", help="Largest force; default and most: the device's.")
    ] = None,
    dead_man: Annotated[
        int | None, typer.Option(metavar="BUTTON", min=0, help="Forces act only while this button (from 0) is held.")
    ] = None,
    no_clamp: Annotated[
        bool, typer.Option("--no-clamp", help="DANGEROUS: leave out the energy clamp; the device may kick.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record every tick, to FILE.mcap or FILE.zarr.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for a picture; default: none.")] = None,
    json: Json = False,
) -> int:
    """Touch a scenario with a device, in real time.

    The scenario is one that `passivo run` simulates: the device takes the place of its part `library: device`. A
    simulated device (sim) has that part's mass, damping, encoder and hand; with a real one the hand is yours, and
    its position counts from where it is held at the start.

    The exit code is 0 if the device's port was passive, 1 if it was active, 2 for a mistake or a device that failed.
    Ctrl-C ends a touch early, with its report.
    """
    from passivo.loop.safety import Safety
    from passivo.loop.touch import StandIn, Touch

    chosen = load(scenario, changes(set_, input_, seed=seed))
    check_record(record)
    stand_in = StandIn.of(chosen)
    names = [f"{chosen.name}-touch.{kind}" for kind in ("png", "svg")]
    files = writable(out, *names) if out is not None else []
    safety = Safety(max_force=max_force, dead_man=dead_man, clamp=not no_clamp)
    with made(device, stand_in, axis, seed or 0) as handle:
        with Progress("preparing the loop"):
            prepared = Touch(chosen, handle, safety)
        if no_clamp and not json:
            warn()
        with status(prepared.loop, lambda: state(prepared), json):
            felt = prepared.run(seconds, record)
    with shielded():
        for file in files:
            felt.plot(file)
    return tell(felt, files, record, scenario, json)


def check_record(record: Path | None) -> None:
    if record is not None and record.suffix not in RECORDINGS:
        raise InputError(f"--record writes {' or '.join(RECORDINGS)}, not {record.name!r}; say touch.mcap, for example")
    if record is not None and record.exists():
        raise FileError(f"{record} exists already; what a hand did cannot be repeated: choose another --record")


def made(device: str, stand_in: StandIn, axis: str | None, seed: int) -> Device:
    """The device of a name; not open yet."""
    from passivo.device.catalogue import by_name

    kind, _, argument = device.partition(":")
    driver = by_name(kind)
    if argument and kind != "replay":
        raise InputError(f"--device {kind} takes nothing after a colon, but {argument!r} was given")
    if kind == "replay" and not argument:
        raise InputError("--device replay needs a recording: --device replay:touch.mcap")
    if kind == "sim":
        made = stand_in.sim(seed)
        made.wanted_axes = axis
        return made
    options: dict[str, Any] = {"axes": axis, "name": stand_in.name}
    return driver(argument, **options) if argument else driver(**options)  # type: ignore[call-arg]


def warn() -> None:
    console(stderr=True).print(WARNING, style="bold red")


# -- while it runs ----------------------------------------------------------------------------------------------------


@contextmanager
def status(loop: Loop, line: Any, json: bool) -> Iterator[None]:
    """One line on a terminal that is written anew a few times a second by a thread of its own; it only reads."""
    from rich.live import Live
    from rich.text import Text

    screen = console(stderr=True)
    if json or not screen.is_terminal:
        yield
        return
    begun = time.monotonic()

    def text() -> Text:
        waits = f"{COMPILING}, {time.monotonic() - begun:.0f} s"
        return Text(line() if ticks(loop) else waits, no_wrap=True, overflow="ellipsis")

    with Live(get_renderable=text, console=screen, refresh_per_second=PER_SECOND, transient=True):
        yield


def ticks(loop: Loop) -> int:
    from passivo.loop import kernels

    return int(loop.book[kernels.B_TICKS])


def state(prepared: Touch) -> str:
    """Time, position, force, port energy and late ticks, from the last row that the loop wrote."""
    from passivo.loop import kernels as K

    loop, name = prepared.loop, prepared.stand_in.name
    row, book, places = loop.row.copy(), loop.book, loop.columns.places
    position = row[places[f"{name}.position"]][prepared.device.indices[0]] + prepared.offset
    force, energy = row[places[f"{name}.force"]][0], -row[places[f"ledger.{name}.work"]][0]
    late = f"{book[K.B_MISSED]:.0f} missed, latest {1e6 * book[K.B_LATEST]:.0f} µs"
    told = f"{book[K.B_NOW] - book[K.B_BEGAN]:6.1f} s  {1e3 * position:+8.2f} mm  {force:+7.2f} N"
    return f"{told}  {1e3 * energy:+8.2f} mJ  {late}"


# -- at the end -------------------------------------------------------------------------------------------------------


def failed(report: LoopReport) -> bool:
    """Whether it ended early by a fault, not by Ctrl-C."""
    return bool(report.stopped) and not report.stopped.endswith("told to stop")


def tell(felt: Touched, files: list[Path], record: Path | None, source: str, json: bool) -> int:
    report, device = felt.report, felt.touch.device
    code = MISTAKE if failed(report) else PASSIVE if report.passive else ACTIVE
    if json:
        facts = {"model": device.info.model, "driver": device.driver, "axis": device.axes[0]}
        print_json(
            {"scenario": felt.touch.scenario.name, "device": facts, **report_data(report), "felt": felt.data(),
             "recording": report.recording, "files": files}
        )  # fmt: skip
        return code
    show(felt)
    say(*(f"written  {file}" for file in files))
    if failed(report):
        return mistake(f"stopped early: {report.stopped}", False, code)
    after = f"run {shlex.quote(source)}" if record is None else f"audit {shlex.quote(str(record))}"
    say(f"\nTry next: passivo {after}")
    return code


def show(felt: Touched) -> None:
    """The verdict on the port first, then what happened."""
    report, out, device = felt.report, console(), felt.touch.device
    headline(out, felt.touch.scenario)
    out.print(f"with {printable(device.info.model)}, axis {device.axes[0]}\n", soft_wrap=True)
    port = report.ports[felt.name]
    out.print(coloured(f"device port: {port}", port.kind))
    if not report.safety.clamp:
        out.print(UNCLAMPED, style="bold red")
    out.print()
    for line in felt.lines:
        out.print(line)
    out.print()
    missed = f"{counted(report.missed, 'deadline')} missed"
    out.print(f"{report.ticks} ticks of {report.period:g} s in {report.seconds:.2f} s, {missed}")
    out.print(facts(report))
    if report.setup:
        out.print()
    for sentence in report.setup:
        out.print(sentence)
    out.print()


def facts(report: LoopReport) -> Any:
    """What happened, a line each."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row("lateness", str(report.lateness))
    if isfinite(report.busy):
        grid.add_row("computing", f"{1e6 * report.busy:.1f} µs per tick, at most {1e6 * report.busiest:.0f} µs")
    if report.stolen > 0.0:
        grid.add_row("stolen", f"{report.stolen:.2f} s of CPU time, by the host of this machine")
    grid.add_row("safety", interventions(report))
    grid.add_row("network", coloured(str(report.verdict), report.verdict.kind))
    if report.recording:
        grid.add_row("recording", printable(report.recording))
    if report.stopped:
        grid.add_row("ended", f"early, {printable(report.stopped)}")
    return grid


def interventions(report: LoopReport) -> str:
    """How often safety stepped in; with the device's name where there are several."""
    several = len(report.interventions) > 1
    told = [
        f"{kind} {count}" + (f" ({device})" if several else "")
        for device, kinds in report.interventions.items()
        for kind, count in kinds.items()
        if count
    ]
    return ", ".join(told) or "never stepped in"


def report_data(report: LoopReport) -> dict[str, Any]:
    """A report in plain data."""
    late = report.lateness
    return {
        "ports": {name: verdict_data(verdict) for name, verdict in report.ports.items()},
        "verdict": verdict_data(report.verdict),
        "ticks": report.ticks,
        "seconds": report.seconds,
        "missed": report.missed,
        "lateness": {"p50": late.p50, "p99": late.p99, "p99.9": late.p999, "max": late.largest},
        "computing": {"mean": report.busy, "max": report.busiest},
        "stolen": report.stolen,
        "interventions": report.interventions,
        "safety": report.safety.describe(),
        "stopped": report.stopped,
        "setup": list(report.setup),
    }
