"""The leaves every method needs of a model: energy, its difference over a step, output, domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from passivo.kernel.slopes import Ends, difference
from passivo.kernel.source import Layout, Source
from passivo.ledger import accounts
from passivo.model.form import Form


def lay_out(form: Form, stages: int, base: int = 0, recorded: int = 0) -> Layout:
    """The sections of the memory that do not depend on the method; the memory of the part begins at `base`."""
    n, w, s, rows = len(form.states), len(form.inputs), len(form.signals), len(form.rows)
    sizes = constants(form, stages, recorded)
    layout = Layout(base)
    for name, size in (
        ("TIME", 2), ("COUNT", 1), ("STATUS", 1),
        ("ITERATION", 1), ("ITERATIONS_ALL", 1), ("CUTS", 1), ("LEVEL", 1), ("GAP", 1), ("DEFECT", 1),
        ("STATE", n), ("PARAM", len(form.params)), ("INPUT", stages * (w + s)), ("USED", w + s),
        ("RECORDED", recorded), ("RECORDED_NOISE", recorded), ("RECORDED_SUM", recorded), ("RECORDED_SHOWN", recorded),
        ("RECORDED_TIME", 1),
        ("OUTPUT", w), ("MEAN", w), ("WORK", w), ("PORT_WORK", 2 * w),
        ("START", n), ("NEXT", n), ("STEP", n), ("GRADIENT", n), ("END_GRADIENT", n),
        ("LOST", rows), ("RECEIVED", rows), ("CHANGE", rows), ("DIFFERENCE", rows), ("SCALE", rows), ("BOOKED", rows),
        ("FAULTS", sizes["ACCOUNTS_COUNT"]), ("ENERGY", rows), ("HEIGHT", rows), ("PROOF", 3),
        ("ACCOUNTS", sizes["ACCOUNTS_COUNT"] * accounts.ACCOUNT_SIZE), ("REPORT", sizes["REPORT_SIZE"]),
    ):  # fmt: skip
        layout.take(name, size)
    return layout


def constants(form: Form, stages: int, recorded: int = 0) -> dict[str, Any]:
    """Sizes and tables of the generated module that follow from the model."""
    n, w, s, rows = len(form.states), len(form.inputs), len(form.signals), len(form.rows)
    count = rows + 1 if rows > 1 else 1
    kept = range(n) if form.kept is None else form.kept
    row_of_state = {i: r for r, row in enumerate(form.rows) for i in row.states}
    return {
        "STATES": n,
        "WIDTH": w,
        "SIGNALS": s,
        "STAGES": stages,
        "RECORDED_COUNT": recorded,
        "ROWS": rows,
        "ROW_NAMES": tuple(row.name for row in form.rows) + (("total",) if rows > 1 else ()),
        "ACCOUNTS_COUNT": count,
        "ROW_OF_STATE": tuple(row_of_state[i] for i in range(n)) or (0,),
        "ROW_OF_INPUT": tuple(-1 if form.rows[r].opaque else r for r in form.input_rows) or (0,),
        "IS_OPAQUE": any(row.opaque for row in form.rows),
        "KEEPS_ALL": form.kept is None,
        "KEPT": form.kept or (0,),
        "KEPT_COUNT": len(kept),
        "REPORT_SIZE": 1 + len(kept) + (w + s) + 2 * w + accounts.LEDGER_COLUMNS * count + recorded,
        "HAS_DOMAIN": form.domain is not None,
        "EPSILON": 2.0**-52,
    }


def input_slots(form: Form, layout: Layout) -> dict[Any, str]:
    return layout.slots("USED", form.inputs + form.signals)


def lowest_ends(form: Form, ends: Ends) -> dict[Any, Any]:
    """Definitions of an increment that begins in the minimum."""
    return {**ends.definitions, **dict(zip(ends.a, form.minimum or ()))}


def from_minimum(form: Form, energies: Sequence[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """Energies above their values at the minimum, as formulas of the states and of definitions."""
    ends = Ends.of(form.states)
    offsets = {d: x - lowest for d, x, lowest in zip(ends.d, form.states, form.minimum or ())}
    return [difference(energy, ends) for energy in energies], {**lowest_ends(form, ends), **offsets}


def gradient_at(form: Form, where: tuple[Any, ...]) -> dict[Any, Any]:
    """Gradient symbol -> ∂H/∂x_i at `where`."""
    here = dict(zip(form.states, where))
    return {g: sp.diff(form.energy, x).xreplace(here) for g, x in zip(form.gradient, form.states)}


def write_model(source: Source, layout: Layout, form: Form, laws: Mapping[Any, Any]) -> None:
    """`energy`, `heights`, `difference`, `end_gradient`, `output`, `inside`; `laws` are inputs that follow outputs."""
    state, ends, rows = layout.slots("STATE", form.states), Ends.of(form.states), [row.energy for row in form.rows]
    at = layout.sections
    source.leaf("energy", "m", state, [(f"m[{at['ENERGY'] + r}]", energy) for r, energy in enumerate(rows)])

    note, (levels, defined) = "HEIGHT of every row: no minimum is stated, so all it stores.", (rows, {})
    if form.minimum is not None:
        note, (levels, defined) = "HEIGHT of every row at STATE.", from_minimum(form, rows)
    heights = [(f"m[{at['HEIGHT'] + r}]", level) for r, level in enumerate(levels)]
    source.leaf("heights", "m", state, heights, defined, note=note)

    pairs = {**layout.slots("STATE", ends.a), **layout.slots("NEXT", ends.b), **layout.slots("STEP", ends.d)}
    changes = [(f"m[{at['DIFFERENCE'] + r}]", difference(energy, ends)) for r, energy in enumerate(rows)]
    source.leaf("difference", "m", pairs, changes, {m: ends.definitions[m] for m in ends.m})
    slopes = [(f"m[{at['END_GRADIENT'] + i}]", g) for i, g in enumerate(gradient_at(form, ends.b).values())]
    source.leaf("end_gradient", "m", pairs, slopes)

    gradient = gradient_at(form, form.states)
    present = {**state, **input_slots(form, layout)}
    outputs = [(f"m[{at['OUTPUT'] + k}]", y.xreplace(dict(laws)).xreplace(gradient)) for k, y in enumerate(form.output)]
    source.leaf("output", "m", present, outputs)
    if form.domain is not None:
        source.leaf("inside", "m", layout.slots("NEXT", form.states), [], returns=form.domain)
    else:
        source.functions.append("def inside(m):\n    return True")
