"""`passivo methods`: what there is to step with, what each keeps, and where it applies."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Annotated, Any

import typer

from passivo.cli.app import PASSIVE, Json, command
from passivo.cli.options import complete_method
from passivo.cli.show import console, print_json, say, table
from passivo.errors import MethodError, nearest


@command("""
    passivo methods
    passivo methods AVF
    passivo methods --json
""")
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One method in full.", autocompletion=complete_method)
    ] = None,
    json: Json = False,
) -> int:
    """List the methods: order, what they keep, where they apply."""
    from passivo.method.catalogue import METHODS

    if name is not None and name not in METHODS:
        raise MethodError(f"there is no method {name!r}; {nearest(name, METHODS)}")
    chosen = {key: kind for key, kind in METHODS.items() if name in (None, key)}
    if json:
        print_json({key: facts(kind) for key, kind in chosen.items()})
        return PASSIVE
    out = console()
    if name is None:
        grid = table("method", "order", "keeps", "applies to", left=("method", "keeps", "applies to"))
        for key, kind in METHODS.items():
            grid.add_row(key, str(kind().order), keeps(kind), kind.applies)
        out.print(grid)
        out.print()
        grid = table("", "", left=("",))
        grid.show_header, grid.row_styles = False, ["dim"]
        for what, meaning in MEANINGS.items():
            grid.add_row(what, meaning)
        out.print(grid)
        say("", "Try next: passivo methods AVF", "          passivo compare oscillator --methods all")
        return PASSIVE
    for key, kind in chosen.items():
        out.print(key, style="bold")
        out.print(f"order {kind().order}; keeps {keeps(kind)}; applies to {kind.applies}\n", soft_wrap=True)
        for block in about(kind).split("\n\n"):
            out.print(flowing(block), soft_wrap=True)
            out.print()
        grid = table("option", "default", left=("option", "default"))
        for option, default in facts(kind)["options"].items():
            grid.add_row(option, repr(default))
        if grid.rows:
            out.print(grid)
    return PASSIVE


def flowing(block: str) -> Any:
    """A paragraph of a docstring for any width: a list of names and meanings becomes a table, the rest one line."""
    items = re.split(r"\n(?! )", block)  # an indented line goes on with the one above
    if "  " not in items[0]:
        return " ".join(block.split())
    grid = table("", "", left=("",))
    grid.show_header = False
    for item in items:
        name, meaning = re.split(" {2,}", item, maxsplit=1)
        grid.add_row(name, " ".join(meaning.split()))
    return grid


MEANINGS = {
    "energy": "the balance of energy is exact in every step, for every system and input",
    "quadratic energy": "the same where the energy is quadratic, as of masses and linear springs",
    "convex passivity": "no energy is created where the energy is convex",
    "symplectic": "volumes of phase space are kept; energy swings, but does not drift for long",
    "constraints": "they hold to rounding after every step",
    "rates": "those of the constraints, too: no speed across them is left",
    "booked energy": "whatever is created stands in a book of the method's own, to be given back",
    "every system": "each one without constraints",
    "Relation": "a law between a port's input and output that is solved inside the step",
}


def about(kind: Any) -> str:
    """The method's own words, without the sections they cite."""
    return re.sub(r" \(spec [^)]*\)", "", inspect.getdoc(kind) or "")


def keeps(kind: Any) -> str:
    """What a method preserves as it comes, without what follows from the rest."""
    preserves = kind().preserves
    implied = ("quadratic energy", "convex passivity") if "energy" in preserves else ()
    return ", ".join(what for what in preserves if what not in implied) or "nothing"


def facts(kind: Any) -> dict[str, Any]:
    method = kind()
    told = method.describe()
    return {
        "order": method.order,
        "preserves": list(method.preserves),
        "applies": kind.applies,
        "about": about(kind),
        "options": {option.name: told[option.name] for option in fields(kind)},
    }
