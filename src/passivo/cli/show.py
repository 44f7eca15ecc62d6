"""What a person sees in a terminal: verdicts, ledgers, progress; and the same as JSON for scripts."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from passivo.errors import PassivoError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from passivo.ledger.verdict import Verdict
    from passivo.run.run import Run

# readable on white and on black; the words say the same, so nothing hangs on a colour
COLOURS = {"exact": "#009e73", "passive": "#0080c8", "booked": "#b37a00", "active": "#d55e00", "none": "#808080"}
SHOW_AFTER = 1.0  # seconds; what is done sooner shows no bar
PATIENCE = 300.0  # seconds for deriving and compiling; formulas of a page may take SymPy for ever


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(highlight=False, stderr=stderr, emoji=False, markup=False)


def table(*columns: str, left: tuple[str, ...] = ()) -> Table:
    """An empty table without lines; columns are right-aligned unless named in `left`."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        grid.add_column(name, justify="left" if name in left else "right", no_wrap=name not in left)
    return grid


def coloured(text: str, kind: str) -> Any:
    from rich.text import Text

    return Text(text, style=f"bold {COLOURS[kind]}")


def compact(value: float, digits: int = 3) -> str:
    """A number in few digits: 0.41, 1.3e-5, 2.8e23."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def ledger_table(run: Run) -> Table:
    """One row per part and connection, and the total."""
    grid = table(
        "joules", "stored at 0", "at the end", "received", "lost", "created", "verdict", left=("joules", "verdict")
    )
    for name, (before, after) in ends(run).items():
        verdict = verdict_of(run, name)
        numbers = [before["stored"], *(after[key] for key in ("stored", "work", "lost", "created"))]
        style = "bold" if name == "total" else ""
        grid.add_row(name, *map(compact, numbers), coloured(verdict.kind, verdict.kind), style=style)
    return grid


def verdict_of(run: Run, name: str) -> Verdict:
    return run.verdict if name == "total" else run.part(name).verdict


def ends(run: Run) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
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


def run_data(run: Run) -> dict[str, Any]:
    """A run in plain data: what was computed, how it ended, what the ledger says."""
    return {
        "system": run.model.name,
        "method": run.method.describe(),
        "step": run.step,
        "steps": run.steps,
        "until": float(run.time[-1]),
        "params": run.params,
        "start": run.start,
        "end": dict(zip(run.model.states, run.arrays["states"][-1].tolist())),
        "iterations": run.iterations,
        "cut_steps": run.cut_steps,
        "stopped": run.stopped,
        "ledger": {name: {**after, "stored at 0": before["stored"]} for name, (before, after) in ends(run).items()},
        "verdict": verdict_data(run.verdict),
    }


# -- progress ---------------------------------------------------------------------------------------------------------


class Progress:
    """A bar on stderr with what is being done, how far it is and the time that remains; shown after a second."""

    def __init__(self, first: str):
        from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.text import Text

        class Remaining(ProgressColumn):
            """Time left, once there is a rate to tell it from."""

            def render(self, task: Any) -> Text:
                if not task.total or not task.completed:
                    return Text("")
                left = (time.monotonic() - begun[0]) * (task.total - task.completed) / task.completed
                return Text(f"{_duration(left)} left")

        begun = self.begun = [time.monotonic()]
        screen = console(stderr=True)
        self.bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[share]}"),
            Remaining(),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self.task = self.bar.add_task(first, total=None, share="")
        self.timer = threading.Timer(SHOW_AFTER, self.bar.start)
        self.timer.daemon = True
        self.stepping = False

    def __enter__(self) -> Progress:
        self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.timer.join()
        self.bar.stop()

    def steps(self, done: int, total: int) -> None:
        """For `simulate` and `audit`."""
        self.update("stepping", done, total)

    def update(self, what: str, done: int, total: int) -> None:
        if not self.stepping:
            self.stepping, self.begun[0] = True, time.monotonic()
            be_patient(0.0)
        self.bar.update(self.task, description=what, completed=done, total=total, share=f"{done / total:.0%}")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 100 else f"{hours:.0f} h" if hours < 100 else f"{hours / 24:.0f} days"


def be_patient(seconds: float) -> None:
    """Set (or with 0 take back) the alarm that ends a derivation without end."""
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, seconds, 5.0 if seconds else 0.0)


@contextmanager
def preparing(what: str) -> Iterator[Progress]:
    """Progress over something that first derives and compiles; ends with an error where that takes for ever."""

    def too_long(*_: object) -> None:
        raise PassivoError(
            f"deriving and compiling took more than {PATIENCE:.0f} s; simplify the formulas or split the system into "
            "parts. From Python, pv.simulate has no such limit"
        )

    before = signal.signal(signal.SIGALRM, too_long) if hasattr(signal, "SIGALRM") else None
    be_patient(PATIENCE)
    try:
        with Progress(what) as progress:
            yield progress
    finally:
        be_patient(0.0)
        if before is not None:
            signal.signal(signal.SIGALRM, before)
