"""What the balance of each step rests on (spec 2.1): `run.certificate`.

However exactly the equation of a step was solved, the energy the step created is

    ΔH − h ỹ'u + h ḡ'R ḡ = ḡ'F + (ΔH − ḡ·d),        F the residual of the equation, d the increment

so that two small numbers prove the balance: the power of the residual, and the gap of ḡ as a discrete gradient. With
several stages or strokes both are sums over them. The run is repeated bit for bit while they are worked out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from passivo.errors import InputError, MethodError
from passivo.method.part import CompiledPart, compile
from passivo.run.inputs import Inputs, rebuild

if TYPE_CHECKING:
    import xarray as xr

    from passivo.run.run import Run

CHUNK = 4096  # steps whose inputs are read at once


def repeated(run: Run, drive: Inputs, engine: Any) -> CompiledPart:
    """The part of a run at its start."""
    model = run.model.with_params(**run.params)
    part = compile(model, run.method, run.step, start=run.start, laws=drive.laws, engine=engine)
    part.half_at(run.planned // 2)
    return part


def certificate(run: Run) -> xr.Dataset:
    """Joules per step: `defect`, the energy created; `residual`, ḡ'F; `gap`, ΔH − ḡ·d. The first is the sum of the
    others, but for rounding, whatever the method and however well its equation was solved."""
    import xarray as xr

    if run.model.opaque:
        raise MethodError(
            f"nothing is known of the energy of the law {run.model.name!r}, so its steps have no certificate; "
            "what passes its ports stands in run.ledger"
        )
    if not run.method.certifies:
        raise MethodError(
            f"{type(run.method).__name__} solves no equation with a mean gradient, so its steps have no certificate; "
            "what they create stands in run.ledger"
        )
    if run.model.steps_apart:
        raise MethodError(
            f"{run.model.name!r} is a world, whose steps have no certificate; see run.ledger and run.audit()"
        )
    if run.pace is not None and run.record_every > 1:
        raise InputError("the sizes of the steps were not kept; simulate with record_every=1 for a certificate")
    given = rebuild(run.drive, run.tables)
    if given is None:
        raise InputError("an input was a Python function too long to be kept: the run cannot be repeated")
    drive = Inputs(run.model, given, run.steps)
    part = repeated(run, drive, run.engine)
    values = np.array(list(_steps(run, drive, part))).reshape(-1, 3)
    if not np.array_equal(part.state, run.arrays["states"][-1]):
        raise InputError("the run cannot be repeated bit for bit here: it was made by another version or processor")
    ends = np.arange(1, run.steps + 1) * run.step if run.pace is None else run.time[1:]
    names = ("defect", "residual", "gap")
    return xr.Dataset(
        {name: ("time", values[:, i], {"units": "J"}) for i, name in enumerate(names)},
        coords={"time": ("time", ends, {"units": "s"})},
    )


def _steps(run: Run, drive: Inputs, part: CompiledPart) -> Any:
    """Take the steps of a run again: (defect, residual, gap) of each."""
    memory, proof, nodes = part.memory, part._section("PROOF", 3), np.array(run.method.nodes)
    proof[0] = 1.0
    for first in range(0, run.steps, CHUNK):
        count = min(CHUNK, run.steps - first)
        sizes = np.array([run.size_of(k) for k in range(first, first + count)])
        begins = np.array([run.began(k) for k in range(first, first + count)])
        times = begins[:, None] + nodes * sizes[:, None]
        if run.pace is None:  # as the run itself reads them
            times = (np.arange(first, first + count)[:, None] + nodes) * run.step
        table = np.broadcast_to(drive.rows(first, times), (count, part.inputs.size))
        for k in range(count):
            part.inputs[:] = table[k]
            if status := part.module.step(memory, sizes[k]):
                raise part.failure(status)
            yield created(part.module, memory), proof[1], proof[2]


def created(module: Any, memory: np.ndarray) -> Any:
    """Joules that the last step created, over all rows of the ledger."""
    of = lambda name, size: memory[getattr(module, name) : getattr(module, name) + size].sum()  # noqa: E731
    return of("CHANGE", module.ROWS) - of("WORK", module.WIDTH) + of("LOST", module.ROWS)
