"""`passivo`: the commands, their exit codes, and what happens to mistakes and to Ctrl-C.

A command is a function that returns its exit code: 0 passive, 1 active, 2 a mistake, 130 stopped by Ctrl-C; a fault
of Passivo itself gives 70.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from passivo import __version__
from passivo.cli.show import print_json, printable
from passivo.errors import PassivoError

PASSIVE, ACTIVE, MISTAKE, FAULT, INTERRUPTED = 0, 1, 2, 70, 130
ABOUT = "Simulate physical systems so that no energy is ever created unnoticed."
CODES = "Exit codes: 0 passive, 1 active, 2 a mistake, 130 stopped by Ctrl-C."

app = typer.Typer(
    help=ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\n{CODES}\nStart with: passivo run oscillator",
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables, for scripts.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"passivo {__version__}")
        raise typer.Exit()


@app.callback(help=ABOUT)
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def command(examples: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as a command; its help ends with `examples`, one command a line, which the tests run."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def guarded(*args: Any, **options: Any) -> int:
            try:
                return function(*args, **options)
            except PassivoError as error:
                return mistake(str(error), bool(options.get("json")))
            except OSError as error:
                what = f"{error.filename or 'the output'}: {error.strerror or error}"
                return mistake(what, bool(options.get("json")) and error.filename is not None)
            except MemoryError:
                what = "there is not enough memory for this; keep fewer rows (record_every), or make the run shorter"
                return mistake(what, bool(options.get("json")))
            except KeyboardInterrupt:
                return mistake("by Ctrl-C", bool(options.get("json")), INTERRUPTED)

        lines = [line.strip() for line in examples.strip().splitlines()]
        EXAMPLES[function.__name__] = lines
        app.command(epilog="\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)]))(guarded)
        return guarded

    return register


EXAMPLES: dict[str, list[str]] = {}


def mistake(what: str, json: bool, code: int = MISTAKE) -> int:
    """Tell what went wrong, and give the exit code."""
    if json:
        print_json({"error": what})
        return code
    label = "mistake" if code == MISTAKE else "stopped"
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    with contextlib.suppress(OSError):
        sys.stderr.write(
            f"\x1b[1;31m{label}:\x1b[0m {printable(what)}\n" if colour else f"{label}: {printable(what)}\n"
        )
    return code


def execute(arguments: list[str] | None = None) -> int:
    """Run a command line; gives its exit code."""
    from passivo.cli import commands  # noqa: F401 - registers all commands

    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = typer.main.get_command(app)(args=given, prog_name="passivo", standalone_mode=False)
    except Exception as error:
        show = getattr(error, "show", None)  # a command line that cannot be read; anything else is a fault of ours
        if show is None:
            raise
        if "--json" in given:
            return mistake(error.format_message(), True)  # type: ignore[attr-defined]
        show()
        return MISTAKE
    return code if isinstance(code, int) else PASSIVE


def main() -> None:
    """The command `passivo`."""
    # a stream that was closed is nowhere, not an error
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    try:
        code = execute()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception:  # not 1: a script would read that as "active"
        traceback.print_exc()
        code = FAULT
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away, as `head` does
        pass
    except OSError as error:
        code = code if code == MISTAKE else mistake(f"the output: {error.strerror}", False)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)  # all is written; to take LLVM apart would cost a third of a second
