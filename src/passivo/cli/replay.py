"""`passivo replay`: a recorded hand once more, through the same network or a changed one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from passivo.cli.app import ACTIVE, PASSIVE, Json, command
from passivo.cli.options import Set, assignments, complete_saved, writable
from passivo.cli.progress import Progress, shielded
from passivo.cli.show import coloured, console, print_json, printable, say
from passivo.cli.touch import UNCLAMPED, facts, report_data
from passivo.errors import InputError


@command("""
    passivo touch wall --seconds 2 --record touch.mcap
    passivo replay touch.mcap
    passivo replay touch.mcap --set wall.k=2e3 --out pictures
""")
def replay(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A recording: FILE.mcap or FILE.zarr.", autocompletion=complete_saved),
    ],
    set_: Set = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for a picture; default: none.")] = None,
    json: Json = False,
) -> int:
    """Let a recorded hand move once more, and say what it felt.

    The readings and the times between them are those of the recording. Without --set everything comes out as it was,
    to the last bit (`passivo audit` compares). With --set parameters of the network are changed, and what is said is
    what the hand would have felt; it still moves as it did then, as if nothing could stop it, so a changed network
    may look worse than it would have been.

    The exit code is 0 if the device's port is passive, 1 if it is active, 2 for a mistake.
    """
    from passivo.loop.felt import Felt
    from passivo.loop.replay import replay as again
    from passivo.record.recording import read_recording

    given = {name: number(name, value) for name, value in assignments("--set", set_, "wall.k=1e4")}
    recording = read_recording(file)
    names = [f"{file.stem}-replay.{kind}" for kind in ("png", "svg")]
    files = writable(out, *names) if out is not None else []
    with Progress("reading and deriving") as progress:
        report = again(recording, given, progress.steps)
    felt = [Felt(report, name, recording.header["devices"][name]["axes"].index(axes[0]))
            for name, axes in recording.header["axes"].items()]  # fmt: skip
    with shielded():
        for path in files:
            felt[0].plot(path)
    code = PASSIVE if report.passive else ACTIVE
    if json:
        told = {"recording": file, "set": given, "complete": recording.complete, "damage": recording.damage}
        print_json({**told, **report_data(report), "felt": {one.name: one.data() for one in felt}, "files": files})
        return code
    screen = console()
    screen.print(f"{printable(recording.sentence)}\n", soft_wrap=True)
    if not report.safety.clamp:
        screen.print(f"{UNCLAMPED}\n", style="bold red")
    for one in felt:
        screen.print(coloured(f"port of {one.name}: {report.ports[one.name]}", report.ports[one.name].kind))
        for line in one.lines:
            screen.print(line)
    screen.print()
    screen.print(facts(report))
    say(*(f"written  {path}" for path in files))
    say(f"\nTry next: passivo audit {shlex.quote(str(file))}")
    return code


def number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"--set {name} takes a number, not {value!r}") from None
