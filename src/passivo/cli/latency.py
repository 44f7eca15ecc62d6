"""`passivo latency`: how late the ticks of the loop begin on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from passivo.cli.app import PASSIVE, Json, command
from passivo.cli.options import writable
from passivo.cli.progress import shielded
from passivo.cli.show import console, print_json, say
from passivo.cli.touch import status, ticks

if TYPE_CHECKING:
    from passivo.loop.latency import Latency
    from passivo.loop.loop import Loop

BAR = 40  # letters of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉█"


@command("""
    passivo latency --seconds 2
    passivo latency --rate 4000 --seconds 2 --load --out pictures
    passivo latency --seconds 1 --json
""")
def latency(
    rate: Annotated[float, typer.Option(metavar="HZ", help="Ticks per second.")] = 1000.0,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="How long; Ctrl-C ends it sooner.")] = 30.0,
    load: Annotated[bool, typer.Option("--load", help="Beside one busy process for each core.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the picture.")] = Path("out"),
    json: Json = False,
) -> int:
    """Measure how late ticks begin on this machine.

    A compiled loop runs with a simulated device before a wall: what it computes in a tick, and how long after its
    deadline each tick began. The exit code is 0 once it is measured.
    """
    from passivo.loop.latency import latency as measured

    files = writable(out, "latency.png", "latency.svg")

    @contextmanager
    def watch(loop: Loop) -> Iterator[None]:
        whole = max(round(seconds * rate), 1)
        with status(loop, lambda: f"measuring: {min(ticks(loop) / whole, 1.0):.0%} of {seconds:g} s", json):
            yield

    found = measured(rate, seconds, load, watch=watch)
    with shielded():
        for file in files:
            found.plot(file)
    if json:
        print_json({**found.data(), "files": files})
        return PASSIVE
    show(found)
    say(*(f"written  {file}" for file in files))
    return PASSIVE


def show(found: Latency) -> None:
    report, late, out = found.report, found.report.lateness, console()
    beside = f"beside {found.busy} busy processes" if found.busy else "without further load"
    out.print(f"Lateness of ticks at {found.rate:g} Hz, {beside}", style="bold")
    out.print(f"{report.ticks} ticks in {report.seconds:.1f} s\n")
    total = sum(count for *_, count in found.bars) or 1
    longest = log10(1 + max(count for *_, count in found.bars)) or 1.0
    out.print(f"{'lateness':>16}  {'ticks':>8}  {'share':>8}  (bars: logarithmic)", style="bold")
    for low, high, count in found.bars:
        long = BAR * log10(1 + count) / longest
        out.print(f"{span(low, high):>16}  {count:>8}  {share(count / total):>8}  {bar(long)}", soft_wrap=True)
    out.print()
    named = {"p50": late.p50, "p99": late.p99, "p99.9": late.p999, "max": late.largest}
    out.print("  ".join(f"{name} {length(value)}" for name, value in named.items()), style="bold")
    missed = report.missed / max(report.ticks + report.missed, 1)
    out.print(f"missed     {report.missed} deadlines ({share(missed)})")
    out.print(f"computing  {length(report.busy)} per tick, at most {length(report.busiest)}")
    if isfinite(report.stolen):
        out.print(f"stolen     {report.stolen:.2f} s of CPU time, by the host of this machine")
    if report.stopped:
        out.print("ended      early, by Ctrl-C" if "told to stop" in report.stopped else f"ended      {report.stopped}")
    if report.setup:
        out.print()
    for sentence in report.setup:
        out.print(sentence)


def bar(long: float) -> str:
    """A bar of so many letters, to an eighth of one."""
    whole, eighth = divmod(round(8 * long), 8)
    return "█" * whole + (EIGHTHS[eighth] if eighth else "")


def span(low: float, high: float) -> str:
    if low == 0.0:
        return f"below {length(high)}"
    return f"above {length(low)}" if not isfinite(high) else f"{length(low)} – {length(high)}"


def length(seconds: float) -> str:
    """A short time in three digits."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size * (1 - 1e-9):
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def share(value: float) -> str:
    return "0 %" if value == 0.0 else f"{100 * value:.3g} %" if value >= 1e-4 else f"{100 * value:.1g} %"
