"""Progress on the screen, an end to what never ends, and Ctrl-C that is always heard."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from passivo.cli.show import console
from passivo.errors import PassivoError

SHOW_AFTER = 1.0  # seconds; what is done sooner shows no bar
PATIENCE = 300.0  # seconds without any progress; formulas of a page may take SymPy for ever
IMPATIENT = 3.0  # seconds between two interruptions that are one
COMPILING = "deriving and compiling (once)"
COMPILES = 8.0  # seconds, about, for a system and a method


class Progress:
    """A context that tells on stderr what is being done, how far it is and the time that remains; `guess` is that
    time in seconds until more is known.

    Where nothing goes on for minutes it ends with an error, unless it is `endless`. An interruption that was swallowed,
    as happens inside the compiler, comes again with the next sign of progress.
    """

    def __init__(self, first: str = COMPILING, guess: float = 0.0, endless: bool = False):
        self.endless = endless
        self.bar, self.task = _bar(first, guess)
        self.screen = _late(self.bar)
        self.begun = 0.0
        self.interrupted = 0.0  # when
        self.handlers: dict[int, Any] = {}

    def __enter__(self) -> Progress:
        if threading.current_thread() is threading.main_thread():
            self.handlers[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
            if hasattr(signal, "SIGALRM"):
                self.handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, _too_long)
        self._wait()
        self.screen.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch(0.0)
        self.screen.__exit__(None, None, None)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def steps(self, done: float, total: float) -> None:
        """For `simulate` and `audit`."""
        self.update("stepping", done, total)

    def update(self, what: str, done: float, total: float) -> None:
        """`done` of `total` are done; now comes `what`."""
        if self.interrupted:
            raise KeyboardInterrupt
        self._wait()
        now = time.monotonic()
        self.begun = self.begun or now
        known = {"end": now + (now - self.begun) * (total - done) / done, "guessed": done < total} if done else {}
        total = total or 1
        self.bar.update(self.task, description=what, completed=done, total=total, share=f"{done / total:.0%}", **known)

    def _interrupt(self, *_: object) -> None:
        """Once; a second Ctrl-C in a hurry must not lose what the first one saves."""
        now = time.monotonic()
        if now - self.interrupted < IMPATIENT:
            return
        if not self.interrupted:
            self.bar.update(self.task, description="stopping")
        self.interrupted = now
        raise KeyboardInterrupt

    def _wait(self) -> None:
        self._watch(0.0 if self.endless else PATIENCE)

    def _watch(self, seconds: float) -> None:
        """Wait so long for the next sign of progress; with 0 no longer."""
        if signal.SIGINT in self.handlers and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, seconds, 5.0 if seconds else 0.0)  # again, if it is swallowed


def _too_long(*_: object) -> None:
    raise PassivoError(
        f"nothing went on for {PATIENCE:.0f} s; simplify the formulas or split the system into parts. "
        "From Python, pv.simulate has no such limit"
    )


def _bar(first: str, guess: float) -> tuple[Any, Any]:
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """Counts down between two signs of progress, and says so where they come later than they should."""

        def render(self, task: Any) -> Text:
            left = task.fields["end"] - time.monotonic()
            return Text(f"{_duration(left)} left" if left >= 0.5 else "overdue" if task.fields["guessed"] else "")

    columns = [TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[share]}"), Left()]
    screen = console(stderr=True)
    bar = Progress(
        SpinnerColumn(), *columns, TimeElapsedColumn(), console=screen, transient=True, disable=not screen.is_terminal
    )
    return bar, bar.add_task(first, total=None, share="", end=time.monotonic() + guess, guessed=guess > 0)


@contextmanager
def _late(bar: Any) -> Iterator[None]:
    """The bar, once what is inside lasts."""
    timer = threading.Timer(SHOW_AFTER, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def telling(what: str) -> Iterator[None]:
    """`what` goes on: work that tells nothing of its progress and is not to be stopped."""
    with _late(_bar(what, 0.0)[0]):
        yield


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 100 else f"{hours:.0f} h" if hours < 100 else f"{hours / 24:.0f} days"


@contextmanager
def shielded() -> Iterator[None]:
    """Ctrl-C has to wait: what was computed is being written."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
