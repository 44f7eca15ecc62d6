"""`audit`: recompute a run without the compiled kernels, and say whether the ledger in it is true.

Where every step is stored, each one is taken anew as plain Python in extended precision, from the stored state before
it: the stored state after it, the energy change, work and loss must agree, and the verdict is formed again from the
energies of the stored states. A thinned run is replayed from its start and must agree bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict, judge
from passivo.method.part import CompiledPart, compile
from passivo.model.expression import EXTENDED, evaluate, to_text
from passivo.run.inputs import Inputs, rebuild
from passivo.run.run import Run
from passivo.run.save import content_hash, load, read
from passivo.run.simulate import simulate

STATE_TOLERANCE = 1e-12  # of |x| before and after a step
RANGE_TOLERANCE = 1e-14  # of the largest |x| in the run
EPSILON = 2.0**-52
SHOWN = 10


@dataclass(frozen=True)
class Audit:
    """What an audit found. `findings` is empty where everything agrees; `verdict` is the recomputed one."""

    how: str
    checked: int
    verdict: Verdict
    findings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        head = f"{self.how}: {self.checked} steps checked; {self.verdict}"
        if self.ok:
            return f"audit passed. {head}"
        rest = [f"... and {len(self.findings) - SHOWN} more"] if len(self.findings) > SHOWN else []
        return "\n".join([f"audit FAILED. {head}", *(f"  - {finding}" for finding in self.findings[:SHOWN]), *rest])


def audit(run: Run | str | os.PathLike, progress: Callable[[int, int], None] | None = None) -> Audit:
    """Audit a run, or the file it was saved to."""
    findings: list[str] = []
    if not isinstance(run, Run):
        facts, arrays, recorded = read(run)
        if content_hash(facts, arrays) != recorded:
            findings.append("the file's contents do not match the hash it was saved with: something in it was altered")
        run = load(run)
    given = rebuild(run.drive, run.tables)
    if run.record_every == 1 and given is not None and run.steps > 0:
        return _recompute(run, given, findings, progress)
    if given is None:
        findings.append("an input was a Python function too long to be kept: the run cannot be repeated")
        return Audit("not repeated", 0, run.verdict, findings)
    return _replay(run, given, findings, progress)


def _recompute(run: Run, given: dict[str, Any], findings: list[str], progress: Callable | None) -> Audit:
    drive = Inputs(run.model, given, run.steps)
    part = compile(run.model, run.method, run.step, start=run.start, laws=drive.laws, engine="python")
    module = part.module
    memory = part.memory.astype(np.longdouble)
    start = module.PARAM
    memory[start : start + len(run.params)] = list(run.params.values())
    energies = [_energy(run, text) for text in _row_energies(part)]
    states, ledger = run.arrays["states"].astype(np.longdouble), run.arrays["ledger"].astype(np.longdouble)
    reach = np.abs(states).max(axis=0) if states.size else np.zeros(0)
    stored = np.stack([energy(states) for energy in energies], axis=1)
    _compare_stored(run, stored, findings)
    book = np.zeros(module.ACCOUNTS_COUNT * A.ACCOUNT_SIZE, dtype=np.longdouble)
    book[A.A_MARK :: A.ACCOUNT_SIZE] = max(run.steps // 2, 1)
    nodes = np.array(run.method.nodes)
    with np.errstate(all="ignore"):
        module.prepare(memory)
        for k in range(run.steps):
            memory[module.STATE : module.STATE + module.STATES] = states[k]
            inputs = drive.rows(k, (np.array([[k]]) + nodes) * run.step)
            memory[module.INPUT : module.INPUT + inputs.shape[1]] = inputs[0]
            status = module.tick(memory, np.longdouble(run.step))
            when = f"step {k + 1} (t = {run.time[k + 1]:.6g} s)"
            if status:
                findings.append(f"{when}: the step from the stored state cannot be repeated (status {status})")
                continue
            _compare_step(run, module, memory, k, states, reach, ledger, stored, when, findings)
            _book(module, memory, book, stored[k + 1] - stored[k], np.longdouble((k + 1) * run.step), k + 1)
            if progress is not None and k % 256 == 255:
                progress(k + 1, run.steps)
    verdict = judge(book.astype(float), 0, run.rows, stopped=run.stopped)
    if verdict.kind != run.verdict.kind:
        findings.append(f"the recomputed verdict is {verdict.kind!r}, the stored one {run.verdict.kind!r}")
    return Audit("recomputed in extended precision", run.steps, verdict, findings)


def _row_energies(part: CompiledPart) -> list[str]:
    """The energy of each ledger row as a formula of its own, with dots in names replaced."""
    import sympy as sp

    form = part.model.form
    plain = {s: sp.Symbol(_plain(s.name), real=True) for s in form.states + form.params}
    return [to_text(row.energy.xreplace(plain)) for row in form.rows]


def _plain(name: str) -> str:
    return name.replace(".", "__")


def _energy(run: Run, text: str) -> Callable[[np.ndarray], np.ndarray]:
    params = {_plain(name): np.longdouble(value) for name, value in run.params.items()}

    def energy(states: np.ndarray) -> np.ndarray:
        values = {_plain(name): states[:, i] for i, name in enumerate(run.model.states)}
        return np.broadcast_to(evaluate(text, {**params, **values}, EXTENDED), len(states))

    return energy


def _compare_stored(run: Run, stored: np.ndarray, findings: list[str]) -> None:
    total = stored.sum(axis=1)
    columns = np.column_stack([stored, total]) if stored.shape[1] > 1 else stored
    gap = np.abs(columns - run.arrays["ledger"][:, :, 0])
    size = np.abs(stored).sum(axis=1)[:, None] + np.abs(columns).max(initial=0.0)
    for k, r in zip(*np.nonzero(gap > 1e-11 * size)):
        findings.append(f"t = {run.time[k]:.6g} s: stored energy of {run.rows[r]} is off by {float(gap[k, r]):.3g} J")


def _compare_step(
    run: Run, module: Any, memory: np.ndarray, k: int, states: np.ndarray, reach: np.ndarray,
    ledger: np.ndarray, stored: np.ndarray, when: str, findings: list[str],
) -> None:  # fmt: skip
    after = memory[module.STATE : module.STATE + module.STATES]
    gap = np.abs(after - states[k + 1])
    allowed = STATE_TOLERANCE * (np.abs(states[k]) + np.abs(states[k + 1])) + RANGE_TOLERANCE * reach
    for i in np.nonzero(~(gap <= allowed))[0]:
        findings.append(f"{when}: state {run.model.states[i]} is off by {float(gap[i]):.3g}")
    booked = ledger[k + 1] - ledger[k]
    for r in range(module.ROWS):
        work, lost, scale = _row(module, memory, r)
        created = stored[k + 1, r] - stored[k, r] - work + max(lost, 0)
        # cumulative columns round at their own size
        width = 64 * EPSILON * (scale + np.abs(ledger[k + 1, r, 1:]).max())
        for name, value, at in (("work", work, 1), ("loss", lost, 2), ("created energy", created, 4)):
            if not abs(value - booked[r, at]) <= width:
                findings.append(
                    f"{when}: {name} of {run.rows[r]} is {float(booked[r, at]):.6g} J in the file, "
                    f"recomputed {float(value):.6g} J"
                )


def _row(module: Any, memory: np.ndarray, r: int) -> tuple[Any, Any, Any]:
    """(work, lost, scale of rounding) of ledger row r in the step just taken, as `accounts.book` adds them up."""
    works = [memory[module.RECEIVED + r]] + [
        memory[module.WORK + i] for i in range(module.WIDTH) if module.ROW_OF_INPUT[i] == r
    ]  # fmt: skip
    lost = memory[module.LOST + r]
    return sum(works), lost, memory[module.SCALE + r] + sum(abs(value) for value in works) + abs(lost)


def _book(module: Any, memory: np.ndarray, book: np.ndarray, changes: np.ndarray, time: Any, count: int) -> None:
    total = np.zeros(4, dtype=np.longdouble)
    for r in range(module.ROWS):
        work, lost, scale = _row(module, memory, r)
        module.enter(book, r * A.ACCOUNT_SIZE, changes[r], work, lost, 0.0, scale, time)
        module.remember(book, r * A.ACCOUNT_SIZE, count)
        total += (changes[r], work, max(lost, 0), scale)
    if module.ROWS > 1:
        at = module.ROWS * A.ACCOUNT_SIZE
        module.enter(book, at, total[0], total[1], total[2], 0.0, total[3], time)
        module.remember(book, at, count)


def _replay(run: Run, given: dict[str, Any], findings: list[str], progress: Callable | None) -> Audit:
    until = (run.steps + 0.5) * run.step
    again = simulate(
        run.model.with_params(**run.params), run.method, run.step, until,
        start=run.start, inputs=given, record_every=run.record_every, engine=run.engine, progress=progress,  # pyright: ignore
    )  # fmt: skip
    for name in ("states", "ledger", "outputs", "work"):
        mine, theirs = again.arrays[name], run.arrays[name]
        if mine.shape != theirs.shape:
            findings.append(f"{name} has shape {theirs.shape} in the file, {mine.shape} when repeated")
        elif (different := mine.view(np.int64) != theirs.view(np.int64)).any():
            row = int(np.nonzero(different)[0][0])
            findings.append(f"{name} differs from the repeated run, first at t = {run.time[row]:.6g} s")
    return Audit("replayed bit for bit", run.steps, again.verdict, findings)
