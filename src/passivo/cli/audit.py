"""`passivo audit`: recompute a saved run without the compiled kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from passivo.cli.app import ACTIVE, MISTAKE, PASSIVE, Json, command
from passivo.cli.options import complete_saved
from passivo.cli.progress import Progress
from passivo.cli.show import coloured, console, print_json, verdict_data


@command("""
    passivo run pendulum
    passivo audit out/pendulum.zarr
    passivo audit out/pendulum.zarr --json
""")
def audit(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A run saved by `passivo run` or run.save(...), or the recording of a touch.",
            autocompletion=complete_saved,
        ),
    ],
    json: Json = False,
) -> int:
    """Recompute a saved run, and say whether its ledger is true.

    Where every step was recorded, each is taken anew in extended precision; a thinned run is replayed bit for bit. Of
    the recording of a touch the ticks are repeated from the device's readings, and the work at the handle is added up
    anew. The exit code is 0 if all agrees and the run is passive, 1 if it is active, 2 if something does not agree. A
    run that stopped early is judged by the steps it took.
    """
    from passivo.loop.replay import audit as check

    with Progress("reading and deriving") as progress:
        found = check(file, progress.steps)
    if json:
        facts = {"ok": found.ok, "how": found.how, "checked": found.checked, "findings": found.findings}
        print_json({**facts, "verdict": verdict_data(found.verdict)})
    else:
        console().print(coloured(str(found), found.verdict.kind if found.ok else "active"), soft_wrap=True)
    if not found.ok:
        return MISTAKE
    return {"active": ACTIVE, "none": MISTAKE}.get(found.verdict.so_far, PASSIVE)
