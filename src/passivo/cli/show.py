"""What a person sees in a terminal: verdicts and ledgers; and the same as JSON for scripts."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from passivo.ledger.verdict import Verdict
    from passivo.run.network_run import NetworkRun
    from passivo.run.run import Run
    from passivo.scenario.scenario import Scenario

# readable on white and on black; the words say the same, so nothing hangs on a colour
COLOURS = {"exact": "#009e73", "passive": "#0080c8", "booked": "#b37a00", "active": "#d55e00", "none": "#808080"}


NARROWEST = 72  # columns; in a narrower window the terminal breaks lines, which loses less than cut-off numbers


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True  # the reader went away; what there is to save is saved all the same

        def print(self, *things: Any, soft_wrap: bool | None = None, **how: Any) -> None:
            """In a terminal sentences are broken between words; in a file each stays one line."""
            super().print(*things, soft_wrap=soft_wrap and not self.is_terminal, **how)

    screen = Screen(highlight=False, stderr=stderr, emoji=False, markup=False)
    screen.width = max(screen.width, NARROWEST)
    return screen


def say(*lines: str) -> None:
    """Print lines as they are."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def printable(text: str) -> str:
    """Text out of a file without what might steer a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)


def table(*columns: str, left: tuple[str, ...] = ()) -> Table:
    """An empty table without lines; columns are right-aligned unless named in `left`."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        grid.add_column(name, justify="left" if name in left else "right", no_wrap=name not in left)
    return grid


def coloured(text: str, kind: str) -> Any:
    from rich.text import Text

    return Text(printable(text), style=f"bold {COLOURS[kind]}")


def headline(out: Console, chosen: Scenario) -> None:
    title = f"{chosen.name}: {chosen.about}" if chosen.about else chosen.name
    out.print(printable(title), style="bold", soft_wrap=True)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def compact(value: float, digits: int = 3) -> str:
    """A number in few digits: 0.41, 1.3e-5, 2.8e23."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def ledger_table(run: Run | NetworkRun) -> Table:
    """One row per part and connection, and the total."""
    grid = table(
        "joules", "stored at 0", "at the end", "supplied", "lost", "created", "verdict", left=("joules", "verdict")
    )
    for name, (before, after) in ends(run).items():
        verdict = verdict_of(run, name)
        numbers = [before["stored"], *(after[key] for key in ("stored", "work", "lost", "created"))]
        style = "bold" if name == "total" else ""
        grid.add_row(name, *map(compact, numbers), coloured(verdict.title, verdict.kind), style=style)
    return grid


def verdict_of(run: Run | NetworkRun, name: str) -> Verdict:
    return run.verdict if name == "total" else run.verdict.parts.get(name, run.verdict)


def ends(run: Run | NetworkRun) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """First and last row of the ledger, by part."""
    from passivo.run.run import COLUMNS

    rows = run.arrays["ledger"]
    names = [*run.parts, "total"] if len(run.parts) > 1 else ["total"]
    return {
        name: (dict(zip(COLUMNS, rows[0, i].tolist())), dict(zip(COLUMNS, rows[-1, i].tolist())))
        for i, name in enumerate(names)
    }


# -- JSON -------------------------------------------------------------------------------------------------------------


def print_json(data: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(_plain(data), ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """What JSON can say: NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    facts = {key: value for key, value in vars(verdict).items() if key != "parts"}
    parts = {name: verdict_data(part) for name, part in verdict.parts.items()}
    return {**facts, "passive": verdict.passive, "sentence": verdict.sentence, **({"parts": parts} if parts else {})}


def run_data(run: Run | NetworkRun) -> dict[str, Any]:
    """A run in plain data: what was computed, how it ended, what the ledger says."""
    from passivo.run.network_run import NetworkRun

    return {**(_network_facts(run) if isinstance(run, NetworkRun) else _facts(run)), **_outcome(run)}


def _network_facts(run: NetworkRun) -> dict[str, Any]:
    junctions = [[c.name, *c.named, c.through.describe()] for c in run.net.connections]
    return {"network": run.net.name, "parts": {k: _facts(part) for k, part in run.runs.items()}, "junctions": junctions}


def _facts(run: Run) -> dict[str, Any]:
    return {
        "system": run.model.name,
        "method": run.method.describe(),
        "step": run.step,
        "steps": run.steps,
        "until": float(run.time[-1]),
        "params": run.params,
        "start": run.start,
        "end": dict(zip(run.model.kept, run.arrays["states"][-1].tolist())),
        "iterations": run.iterations,
        "cut_steps": run.cut_steps,
    }


def _outcome(run: Run | NetworkRun) -> dict[str, Any]:
    return {
        "faults": run.faults,
        "stopped": run.stopped,
        "ledger": {name: {**after, "stored at 0": before["stored"]} for name, (before, after) in ends(run).items()},
        "verdict": verdict_data(run.verdict),
    }
