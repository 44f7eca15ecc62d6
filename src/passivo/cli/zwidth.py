"""`passivo zwidth`: how stiff a wall a device renders, by which scheme, in which hand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from passivo.cli.app import INTERRUPTED, PASSIVE, Json, command, mistake
from passivo.cli.options import assignments, writable
from passivo.cli.progress import Progress, shielded
from passivo.cli.show import compact, console, print_json, say, table
from passivo.errors import InputError, nearest

if TYPE_CHECKING:
    from rich.table import Table

    from passivo.run.identify import Identified
    from passivo.run.operators import Operator
    from passivo.run.zwidth import DeviceModel, Reach, ZWidth

DEVICE = "mass=0.15,damping=2"
IDENTIFIED = "identified"
FORCE = 5.0  # newtons an operator pushes with
FAULTS = {"vibrates": "~", "sinks": "↓", "repels": "↑", "explodes": "!"}
MEANINGS = {"~": "it vibrates", "↓": "it sinks in", "↑": "it pushes out", "!": "it explodes"}


def complete_scheme(incomplete: str) -> list[str]:
    from passivo.run.zwidth import SCHEMES

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in SCHEMES if name.startswith(last)]


@command("""
    passivo zwidth --scheme plain,clamp
    passivo zwidth --scheme clamp --operator push:10,hand:damping=2 --json
    passivo zwidth --scheme plain --operator push:5 --adversary 0 --map --out z
    passivo run device --out recorded
    passivo zwidth --identify recorded/device.zarr
""")
def zwidth(
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME=VALUE,...",
            help="mass (kg), damping (N s/m), friction (N), encoder (m), delay (samples), jitter and dropped (shares); "
            "the word identified takes what --identify finds.",
        ),
    ] = DEVICE,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Samples per second.")] = 1000.0,
    scheme: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="plain, pcdc, popc, popc-exact, popc-capped, clamp.",
            autocompletion=complete_scheme,
        ),
    ] = "plain,pcdc,popc,clamp",
    operator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:VALUE,...",
            help="push:FORCE or hand:damping=2,stiffness=400,mass=0.2,force=5; again, or with commas, for more. "
            "Default: push:5 and hands with damping 2, 10 and 30.",
        ),
    ] = None,
    softest: Annotated[float, typer.Option(metavar="N/M", help="Softest wall of the grid.")] = 100.0,
    stiffest: Annotated[float, typer.Option(metavar="N/M", help="Stiffest wall of the grid.")] = 2e5,
    approach: Annotated[float, typer.Option(metavar="METRES", help="How far before the wall it starts.")] = 5e-3,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a touch.")] = 5.0,
    adversary: Annotated[
        float, typer.Option(metavar="NEWTONS", help="Bound of the force that draws energy out; 0 for none.")
    ] = 20.0,
    wall: Annotated[float, typer.Option(metavar="N/M", help="Wall that the adversary attacks.")] = 2e4,
    map_: Annotated[bool, typer.Option("--map", help="Also walls with damping, and a map of them.")] = False,
    identify: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tell the device from a saved run, and measure nothing else.")
    ] = None,
    ports: Annotated[
        str, typer.Option(metavar="NAME,...", help="Ports of that run whose forces are known; default: all.")
    ] = "",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of everything random.")] = 0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for picture and data.")] = Path("out"),
    json: Json = False,
) -> int:
    """Measure the stiffest wall that is rendered (Z-width).

    A device starts at rest before a wall, and an operator presses it against the wall. The wall is rendered if, in
    the last quarter of the touch, the rms speed is at most 5 mm/s, the rms of the force about its mean at most 5 % of
    the static force, and the mean depth 0.5 to 2 times the static one. Told is the stiffest wall up to which every
    wall of the grid is rendered, beside the limits 2b/T and (one sample late) 2b/(3T), and the most energy that an
    adversary draws out of the port. With --approach 0 the clamp must sink in for the energy to hold a force.

    The exit code is 0 once it is measured. With --device identified the identified device is measured.
    """
    from passivo.run.zwidth import SCHEMES
    from passivo.run.zwidth import zwidth as measured

    words = [word.strip() for word in device.split(",") if word.strip()]
    if identify is not None:
        found = identified(identify, ports)
        if IDENTIFIED not in words:
            return tell(identify, found, json)
        if not json:
            show_identified(identify, found)
    else:
        found = None
    model = parse_device(words, found)
    schemes = [name.strip() for name in scheme.split(",") if name.strip()]
    for name in schemes:
        if name not in SCHEMES:
            raise InputError(f"--scheme: there is no scheme {name!r}; {nearest(name, SCHEMES)}")
    options: dict[str, Any] = {"operators": parse_operators(operator), "stiffness": (softest, stiffest)}
    options |= {"approach": approach, "seconds": seconds, "bound": adversary, "wall": wall, "map": map_, "seed": seed}
    names = ["zwidth.png", "zwidth.csv", *(["zwidth-map.png", "zwidth-map.csv"] if map_ else [])]
    files = writable(out, *names)
    code = PASSIVE
    try:
        with Progress() as progress:
            result = measured(model, rate, schemes, progress=progress.update, **options)
    except KeyboardInterrupt as error:
        result, code = getattr(error, "found", None), INTERRUPTED
        if result is None or not result.reaches:
            raise
        if not json:
            mistake("by Ctrl-C; what was measured is kept", False, INTERRUPTED)
    with shielded():
        files = write(result, files)
        if not json:
            show(result, approach, seconds)
    if json:
        print_json({**result.data(), "identified": found and data(found), "files": files})
    else:
        say(*(f"written  {file}" for file in files))
    return code


# -- what the options say ---------------------------------------------------------------------------------------------


def parse_device(words: list[str], found: Identified | None) -> DeviceModel:
    from passivo.run.zwidth import DeviceModel

    if IDENTIFIED in words and found is None:
        raise InputError("--device identified: say which run tells the device, with --identify FILE")
    known = tuple(DeviceModel.__dataclass_fields__)
    values = numbers("--device", [word for word in words if word != IDENTIFIED], known, "mass=0.15")
    if "delay" in values:
        if values["delay"] != int(values["delay"]):
            raise InputError(f"--device: delay is a whole number of samples, not {values['delay']:g}")
        values["delay"] = int(values["delay"])
    if found is not None:
        return found.device(**values)
    if "mass" not in values:
        raise InputError("--device needs a mass, as in --device mass=0.15,damping=2")
    return DeviceModel(**values)


def numbers(option: str, texts: Iterable[str], known: Iterable[str], example: str) -> dict[str, Any]:
    """NAME=VALUE with known names and numbers."""
    from passivo.document.reader import value

    found: dict[str, Any] = {}
    for name, text in assignments(option, texts, example):
        if name not in known:
            raise InputError(f"{option}: there is no {name!r}; {nearest(name, known)}")
        number = value(text, f"{option} {name}")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"{option} {name}={text}: must be a number")
        found[name] = float(number)
    return found


def parse_operators(texts: list[str] | None) -> dict[str, Operator] | None:
    """`push:5,hand:damping=2,mass=0.3`: a word with a colon, or without an equals sign, begins an operator."""
    if not texts:
        return None
    found: dict[str, Operator] = {}
    for text in texts:
        for piece in re.split(r",(?=\s*[\w-]+\s*(?::|,|$))", text):
            name, operator = parse_operator(piece.strip())
            found[name] = operator
    return found


def parse_operator(text: str) -> tuple[str, Operator]:
    from passivo.run.operators import hand, push

    kind, _, rest = text.partition(":")
    words = [word.strip() for word in rest.split(",") if word.strip()]
    if kind == "push":
        words = [word if "=" in word else f"force={word}" for word in words]
        force = numbers("--operator push", words, ("force",), "force=5").get("force", FORCE)
        return f"push {force:g} N", push(force)
    if kind == "hand":
        known = ("stiffness", "damping", "mass", "target", "force")
        values = {"force": FORCE, **numbers("--operator hand", words, known, "damping=2")}
        more = [f"{name} {values[name]:g}" for name in known if name in values and name not in ("damping", "force")]
        more += [f"{values['force']:g} N"] * (values["force"] != FORCE)
        return " ".join(["hand", f"{values.get('damping', 10.0):g}", *more]), hand(**values)
    raise InputError(f"--operator: there is no operator {kind!r}; {nearest(kind, ('push', 'hand'))}")


# -- what is shown ----------------------------------------------------------------------------------------------------


def write(found: ZWidth, files: list[Path]) -> list[Path]:
    """Pictures and tables; a map only where one was measured."""
    from passivo.run.save import write_columns

    things = [found, found, found.map, found.map]
    written = []
    for thing, file in zip(things, files):
        if thing is None:
            continue
        if file.suffix == ".csv":
            write_columns(file, thing.columns())
        else:
            thing.plot(file)
        written.append(file)
    return written


def show(found: ZWidth, approach: float, seconds: float) -> None:
    from passivo.run.plot_zwidth import headline

    out = console()
    out.print(f"zwidth: {headline(found)}", style="bold", soft_wrap=True)
    soft, stiff = found.range
    start = f"touches of {seconds:g} s that start {1e3 * approach:g} mm before the wall"
    out.print(f"{start}; walls from {soft:g} to {stiff:g} N/m\n", soft_wrap=True)
    out.print(reach_table(found))
    out.print()
    out.print(meanings(found))
    out.print()


def reach_table(found: ZWidth) -> Table:
    lost = ("worst energy",) if found.attacks else ()
    grid = table("kN/m", *found.operators, *lost, left=("kN/m",))
    for scheme in found.schemes:
        cells = [cell(found.reaches.get((scheme, operator)), found.range[0]) for operator in found.operators]
        attack = found.attacks.get(scheme)
        energy = [f"{compact(attack.energy + 0.0)} J" if attack else ""] if lost else []
        grid.add_row(scheme, *cells, *energy)
    for title, delay in (("2b/T", 0), ("2b/(3T)", 1)):
        limits = [f"{compact(found.limit(operator, delay) / 1e3)}  " for operator in found.operators]
        grid.add_row(title, *limits, *("" for _ in lost), style="dim")
    return grid


def cell(reach: Reach | None, softest: float) -> str:
    if reach is None:
        return ""
    if reach.beyond is None:
        return f"≥ {compact(reach.stiffness / 1e3)}  "
    value = compact(reach.stiffness / 1e3) if reach.stiffness else f"< {compact(softest / 1e3)}"
    return f"{value} {FAULTS[reach.beyond.fault]}"


def meanings(found: ZWidth) -> Table:
    """What the columns say, in small print."""
    grid = table("", "", left=("",))
    grid.show_header, grid.row_styles = False, ["dim"]
    grid.add_row("kN/m", "stiffest wall rendered, quiet and in place, with all softer ones")
    met = {FAULTS[reach.beyond.fault] for reach in found.reaches.values() if reach.beyond is not None}
    faults = ", ".join(f"{mark} {meaning}" for mark, meaning in MEANINGS.items() if mark in met)
    if faults:
        grid.add_row("beyond", faults)
    if any(reach.beyond is None for reach in found.reaches.values()):
        grid.add_row("≥", "all walls of the grid")
    grid.add_row("2b/T", "of theory, b of device and hand; b of the device alone: in any hand")
    grid.add_row("2b/(3T)", "the same one sample late")
    if found.attacks:
        grid.add_row("energy", f"the least at the port, wall {found.wall:g} N/m, any force up to {found.bound:g} N")
    return grid


# -- identification ---------------------------------------------------------------------------------------------------


def identified(file: Path, ports: str) -> Identified:
    from passivo.run.identify import identify

    return identify(file, ports=[name.strip() for name in ports.split(",") if name.strip()])


def tell(file: Path, found: Identified, json: bool) -> int:
    if json:
        print_json({"identified": data(found)})
    else:
        show_identified(file, found)
        say(f"Try next: passivo zwidth --device identified --identify {shlex.quote(str(file))}")
    return PASSIVE


def data(found: Identified) -> dict[str, Any]:
    estimates = {name: vars(getattr(found, name)) for name in ("mass", "damping", "friction")}
    return {**vars(found), **estimates}


def show_identified(file: Path, found: Identified) -> None:
    out = console()
    out.print(f"the device in {file}", style="bold", soft_wrap=True)
    grid = table("", "", "", left=("",))
    grid.show_header = False
    for name, unit in (("mass", "kg"), ("damping", "N s/m"), ("friction", "N")):
        grid.add_row(name, str(getattr(found, name)), unit)
    grid.add_row("encoder", compact(found.encoder, 4) if found.encoder else "no steps seen", "m" * bool(found.encoder))
    out.print(grid)
    length = f"{found.windows} windows of {found.length:g} s explain {100 * found.explained:.4g} % of the force"
    out.print(f"{length}; ± one standard error\n", style="dim", soft_wrap=True)
    if found.explained < 0.99:
        out.print(
            "less than 99 %: something else acts on the device, such as the spring of a hand; "
            "record it free, or name the known forces with --ports\n",
            soft_wrap=True,
        )
