"""`audit`: recompute a run without the compiled kernels, and say whether the ledger in it is true.

Where every step is stored, each one is taken anew as plain Python in extended precision, from the stored state before
it: the stored state after it, inputs, outputs, work, loss and every column of the ledger must agree, and the verdict is
formed again from the stored states. What a method keeps beside the state (its own book, its counts) is not stored: the
audit's memory carries it from step to step as the run's did. A run that is thinned, or lacks states, is replayed from
its start and must agree bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from passivo.errors import StepError
from passivo.ledger import accounts as A
from passivo.ledger.verdict import Verdict
from passivo.method.part import CompiledPart
from passivo.model.expression import EXTENDED, evaluate, to_text
from passivo.network.compiled import CompiledNetwork, compile_network
from passivo.network.network import Network
from passivo.run.adaptive import AdaptiveRecorder
from passivo.run.certificate import created, repeated
from passivo.run.inputs import Inputs, network_inputs, rebuild
from passivo.run.network_run import NetworkRecorder, NetworkRun
from passivo.run.run import COLUMNS, FIELDS, UNITS, Run
from passivo.run.save import NETWORK_FIELDS, content_hash, load, read
from passivo.run.simulate import Recorder

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


def audit(run: Run | NetworkRun | str | os.PathLike, progress: Callable[[int, int], None] | None = None) -> Audit:
    """Audit a run, or the file it was saved to."""
    findings: list[str] = []
    if not isinstance(run, Run | NetworkRun):
        facts, arrays, recorded = read(run)
        if content_hash(facts, arrays) != recorded:
            findings.append("the file's contents do not match the hash it was saved with: something in it was altered")
        run = load(run)
    if run.steps == 0:
        return Audit("nothing to repeat: the run stopped in its first step", 0, run.verdict, findings)
    runs = run.runs if isinstance(run, NetworkRun) else {"": run}
    given: dict[str, Any] = {key: rebuild(part.drive, part.tables) for key, part in runs.items()}
    if None in given.values():
        findings.append("an input was a Python function too long to be kept: the run cannot be repeated")
        return Audit("not repeated", 0, run.verdict, findings)
    if isinstance(run, NetworkRun):
        drives = network_inputs(run.net, given, {key: part.steps for key, part in runs.items()})
        return _network(run, drives, findings, progress)
    drive = Inputs(run.model, given[""], run.steps)
    if run.record_every > 1 or run.model.kept != run.model.states:
        return _replay(run, drive, findings, progress)
    nodes = np.array(run.method.nodes)
    times = lambda k: (k + nodes) * run.step if run.pace is None else run.began(k) + nodes * run.size_of(k)  # noqa: E731
    verdict = _recompute(run, drive, lambda k: drive.rows(k, times(k)[None])[0], findings, progress)
    return Audit("recomputed in extended precision", run.steps, verdict, findings)


def _replay(run: Run, drive: Inputs, findings: list[str], progress: Callable | None) -> Audit:
    part = repeated(run, drive, run.engine)
    if run.pace is not None:
        again = _paced_again(run, AdaptiveRecorder(part, drive, run.pace, run.until, run.record_every, progress))
    else:
        again = Recorder(part, drive, run.steps, run.record_every, progress).go()
    _equal(run, again, FIELDS, "", findings)
    compare_faults(run, again.faults, findings)
    verdict = run.judged(again.arrays["accounts"])
    return Audit("replayed bit for bit", run.steps, verdict, findings)


def _paced_again(run: Run, recorder: AdaptiveRecorder) -> Run:
    """The run once more; one that stopped early up to the same failure."""
    try:
        return recorder.go()
    except StepError as error:
        return error.run


def _equal(run: Any, again: Any, fields: Iterable[str], whose: str, findings: list[str]) -> None:
    """Bit for bit: the arrays of a run and of its repetition."""
    for name in fields:
        mine, theirs = again.arrays[name], run.arrays[name]
        if mine.shape != theirs.shape:
            findings.append(f"{whose}{name} has shape {theirs.shape} in the file, {mine.shape} when repeated")
        elif (different := mine.view(np.int64) != theirs.view(np.int64)).any():
            row = int(np.nonzero(different)[0][0])
            where = "" if name == "accounts" else f", first at t = {run.time[row]:.6g} s"
            findings.append(f"{whose}{name} differs from the repeated run{where}")


def _network(run: NetworkRun, drives: Mapping[str, Inputs], findings: list[str], progress: Callable | None) -> Audit:
    """Each part step by step in extended precision, where all steps are stored; then the whole bit for bit."""
    how = "replayed bit for bit"
    if run.record_every == 1:
        how = "every part recomputed in extended precision, the whole replayed bit for bit"
        for key, part in run.runs.items():
            if part.model.couplings or part.model.kept != part.model.states:
                continue  # a spring is moved between two steps, states are missing: only the whole can be repeated
            found: list[str] = []
            _recompute(part, drives[key], _held_rows(run.net, key, part, drives[key]), found, progress)
            findings += [f"part {key}: {finding}" for finding in found]
    laws = {f"{key}.{port}": law for key, drive in drives.items() for port, law in drive.laws.items()}
    start = {f"{key}.{name}": value for key, part in run.runs.items() for name, value in part.start.items()}
    network = compile_network(run.net, start, laws, cast(Any, run.engine), run.allowance)
    network.half_at(run.planned // 2)
    again = _again(run, network, drives, progress)
    _equal(run, again, NETWORK_FIELDS, "", findings)
    for key, part in run.runs.items():
        _equal(part, again.runs[key], FIELDS, f"part {key}: ", findings)
        compare_faults(part, again.runs[key].faults, findings)
    for name, link in run.links.items():
        _equal(link, again.links[name], link.arrays, f"junction {name}: ", findings)
    verdict = run.judged(again.arrays["accounts"])
    return Audit(how, run.ticks, verdict, findings)


def _again(run: NetworkRun, network: CompiledNetwork, drives: Mapping[str, Inputs], progress: Callable | None) -> Any:
    """The run once more; one that was cut by a failing part up to the same failure: others may have stepped before."""
    ahead = any(part.steps > run.ticks // run.net.periods[key] for key, part in run.runs.items())
    try:
        ticks = run.ticks + 1 if ahead else run.ticks
        return NetworkRecorder(network, drives, ticks, run.record_every, progress).go()
    except StepError as error:
        return error.run


def _held_rows(net: Network, key: str, run: Run, drive: Inputs) -> Callable[[int], np.ndarray]:
    """The inputs of each step of a part: outside ones as given, those that junctions set as recorded."""
    nodes = np.array(run.method.nodes)
    free = [f"{key}.{port}" in net.ports for port, p in run.model.ports.items() for _ in range(p.width)]
    set_ = ~np.array(free + [f"{key}.{signal}" in net.signals for signal in run.model.signals], dtype=bool)

    def rows(k: int) -> np.ndarray:
        each = drive.rows(k, (k + nodes)[None] * run.step)[0].reshape(len(nodes), -1).copy()
        each[:, set_] = run.arrays["inputs"][k + 1, set_]
        return each.reshape(-1)

    return rows


def compare_faults(run: Run, found: dict[str, int], findings: list[str]) -> None:
    for name in {**run.faults, **found}:
        stored, counted = run.faults.get(name, 0), found.get(name, 0)
        if stored != counted:
            findings.append(f"faults of the kind {name!r}: {stored} in the file, {counted} when repeated")


def _recompute(
    run: Run, drive: Inputs, rows: Callable[[int], np.ndarray], findings: list[str], progress: Callable | None
) -> Verdict:
    """Every step anew from the stored state before it, with the inputs `rows(k)`; the verdict on books of its own."""
    steps = _Steps(run, repeated(run, drive, "python"), findings)
    steps.compare_energies()
    with np.errstate(all="ignore"):
        for k in range(run.steps):
            steps.take(k, rows(k))
            if progress is not None and k % 256 == 255:
                progress(k + 1, run.steps)
        return steps.verdict()


class _Steps:
    """Steps taken one by one from the stored states, and a second set of books kept from them."""

    def __init__(self, run: Run, part: CompiledPart, findings: list[str]):
        self.run, self.part, self.module, self.findings = run, part, part.module, findings
        self.memory = part.memory.astype(np.longdouble)
        self.part_of(self.memory, "PROOF", 1)[:] = 1.0
        self.books = self.memory.copy()
        self.states = run.arrays["states"].astype(np.longdouble)
        self.ledger = run.arrays["ledger"].astype(np.longdouble)
        self.reach = _reach(run, self.states)
        self.rough: Any = 0.0
        if run.model.steps_apart:
            roughness: Any = run.model.roughness  # type: ignore[attr-defined]
            self.rough = 64 * EPSILON * roughness(run.params, run.arrays["states"], run.step)
        self.sizes = {
            name: np.abs(np.nan_to_num(run.arrays[name])).max(axis=0, initial=0.0)
            for name in ("inputs", "outputs", "recorded")
        }
        if run.model.steps_apart:
            _by_vectors(run, self.sizes["outputs"])

    def part_of(self, memory: np.ndarray, name: str, size: int) -> np.ndarray:
        start = getattr(self.module, name)
        return memory[start : start + size]

    def say(self, k: int, what: str) -> None:
        self.findings.append(f"step {k + 1} (t = {self.run.time[k + 1]:.6g} s): {what}")

    def compare_energies(self) -> None:
        """Stored energies against the formulas of the model, walked without any generated code."""
        run = self.run
        terms = _energies(run, self.states)
        stored = np.stack([row.sum(axis=0) for row in terms], axis=1)
        columns = np.column_stack([stored, stored.sum(axis=1)]) if stored.shape[1] > 1 else stored
        gap = np.abs(columns - run.arrays["ledger"][:, :, 0])
        # a sum may be next to nothing where its terms are large, as of a fall from the zero of height
        size = np.abs(np.concatenate(terms)).sum(axis=0)[:, None] + np.abs(columns).max(initial=0.0)
        for k, r in zip(*np.nonzero(~(gap <= 1e-11 * size))):
            self.findings.append(
                f"t = {run.time[k]:.6g} s: stored energy of {run.rows[r]} is off by {float(gap[k, r]):.3g} J"
            )
        if run.pace is None and not np.array_equal(run.time, np.arange(run.steps + 1) * run.step):
            self.findings.append("the times are not whole multiples of the step")
        if run.pace is not None and not np.allclose(np.diff(run.time), run.sizes, rtol=0, atol=4 * EPSILON * run.until):
            self.findings.append("the times are not the sums of the steps")

    def take(self, k: int, inputs: np.ndarray) -> None:
        """Take step k from the stored state before it and compare what is stored after it."""
        module, run, n = self.module, self.run, self.module.STATES
        self.part_of(self.memory, "STATE", n)[:] = self.states[k]
        self.part_of(self.memory, "INPUT", len(inputs))[:] = inputs
        status = module.tick(self.memory, np.longdouble(run.size_of(k)))
        if status:
            self.say(k, f"the step from the stored state cannot be repeated (status {status})")
            return
        gap = np.abs(self.part_of(self.memory, "STATE", n) - self.states[k + 1])
        size = np.abs(self.states[k]) + np.abs(self.states[k + 1])
        allowed = STATE_TOLERANCE * size + RANGE_TOLERANCE * self.reach + self.rough
        for i in np.nonzero(~(gap <= allowed))[0]:
            if not self.worthless(k, int(i)):
                self.say(k, f"state {run.model.states[i]} is off by {float(gap[i]):.3g}")
        self.certify(k)
        self.book(k)
        self.compare_signals(k)

    def certify(self, k: int) -> None:
        """The energy a step created is what its residual and the gap of its gradient say (spec 2.1)."""
        model = self.run.model  # of a law no energy is known; a world is stepped by forces, not by a gradient
        if not self.run.method.certifies or model.opaque or model.steps_apart:
            return
        _, residual, gap = self.part_of(self.memory, "PROOF", 3)
        left = created(self.module, self.memory) - residual - gap
        if not abs(left) <= EPSILON * self.part_of(self.memory, "SCALE", self.module.ROWS).sum():
            self.say(k, f"the energy created is not what its certificate says, by {float(left):.3g} J")

    def worthless(self, k: int, i: int) -> bool:
        """Whether state i in the file differs from the recomputed one by rounding of the energy alone. A method that
        finds a state by its energy knows it no better, and near a minimum that is a rough measure of the state. And
        constraints hold to rounding of the positions: momenta that differ by so much over a step are the same."""
        if self.run.model.constraints:
            return self.moves(k, i) <= 64 * EPSILON * self.reach[: self.module.STATES // 2].max()
        if not self.module.KEEPS_BOOK:
            return False
        scratch, n = self.memory.copy(), self.module.STATES
        step = self.part_of(scratch, "STEP", n)
        step[:] = 0.0
        step[i] = self.states[k + 1, i] - self.part_of(scratch, "STATE", n)[i]
        self.part_of(scratch, "NEXT", n)[:] = self.part_of(scratch, "STATE", n) + step
        self.module.difference(scratch)
        worth, scale = (self.part_of(scratch, name, self.module.ROWS) for name in ("DIFFERENCE", "SCALE"))
        return bool(np.abs(worth).sum() <= 64 * EPSILON * scale.sum())

    def moves(self, k: int, i: int) -> float:
        """How far state i in the file is from the recomputed one; for momenta, what they move in a step."""
        scratch, n = self.memory.copy(), self.module.STATES
        if i < n // 2:
            return float(abs(self.part_of(self.memory, "STATE", n)[i] - self.states[k + 1, i]))
        speeds = []
        for state in (self.part_of(self.memory, "STATE", n), self.states[k + 1]):
            self.part_of(scratch, "NEXT", n)[:] = state
            self.module.end_gradient(scratch)
            speeds.append(self.part_of(scratch, "END_GRADIENT", n)[n // 2 :].copy())
        return float(np.abs(speeds[0] - speeds[1]).max() * self.run.step)

    def book(self, k: int) -> None:
        """Book the step with the energy change between the stored states, and compare every column of every row."""
        module, n = self.module, self.module.STATES
        for name, values in (
            ("STATE", self.states[k]),
            ("NEXT", self.states[k + 1]),
            ("STEP", self.states[k + 1] - self.states[k]),
        ):
            self.part_of(self.memory, name, n)[:] = values
        module.difference(self.memory)
        accounts = self.part_of(self.books, "ACCOUNTS", module.ACCOUNTS_COUNT * A.ACCOUNT_SIZE)
        before = _columns(accounts)
        for name, size in (
            ("WORK", module.WIDTH),
            *((name, module.ROWS) for name in ("LOST", "RECEIVED", "SCALE", "BOOKED")),
            ("FAULTS", module.ACCOUNTS_COUNT),
        ):
            self.part_of(self.books, name, size)[:] = self.part_of(self.memory, name, size)
        self.part_of(self.books, "CHANGE", module.ROWS)[:] = self.part_of(self.memory, "DIFFERENCE", module.ROWS)
        module.book(self.books, np.longdouble(self.run.size_of(k)))
        found, stored = _columns(accounts) - before, self.ledger[k + 1, :, 1:] - self.ledger[k, :, 1:]
        scale = (
            self.part_of(self.books, "SCALE", module.ROWS)
            + np.abs(self.part_of(self.books, "WORK", module.WIDTH)).sum()
        )
        sums = np.abs(self.ledger[k + 1, :, 1 : 1 + A.SUMS])  # in joules, which faults are not
        width = 64 * EPSILON * (scale.sum() + sums.max(axis=1, initial=0.0))
        for r, c in zip(*np.nonzero(~(np.abs(found - stored) <= width[:, None]))):
            what = f"{COLUMNS[c + 1]} of {self.run.rows[r]}"
            here, again = (
                f"{float(rows[r, c]):.6g} {UNITS[COLUMNS[c + 1]]}".removesuffix(" 1") for rows in (stored, found)
            )
            self.say(k, f"{what} is {here} in the file, recomputed {again}")

    def compare_signals(self, k: int) -> None:
        """Inputs, outputs, the work of each port component, and what the method recorded."""
        module, run = self.module, self.run
        self.part_of(self.memory, "STATE", module.STATES)[:] = self.states[k + 1]
        module.output(self.memory)
        work = run.arrays["work"][k + 1] - run.arrays["work"][k]
        width = (
            64 * EPSILON * (np.abs(run.arrays["work"][k + 1]) + self.part_of(self.books, "SCALE", module.ROWS).sum())
        )
        names = self.part.input_names
        noise = EPSILON * self.part_of(self.memory, "RECORDED_NOISE", module.RECORDED_COUNT)
        own = 1e-11 * self.sizes["recorded"] + 1000 * noise
        pairs = (
            ("input", run.arrays["inputs"][k + 1], "USED", 1e-11 * self.sizes["inputs"]),
            ("output", run.arrays["outputs"][k + 1], "OUTPUT", 1e-11 * self.sizes["outputs"]),
            ("work", work, "WORK", width + 64 * EPSILON * np.abs(work)),
            ("recorded", run.arrays["recorded"][k + 1], "RECORDED", own),
        )
        for name, stored, section, allowed in pairs:
            found = self.part_of(self.memory, section, len(stored))
            for i in np.nonzero(~(np.abs(found - stored) <= allowed))[0]:
                what = f"{name} {(run.recorded if section == 'RECORDED' else names)[i]}"
                self.say(k, f"{what} is {stored[i]:.9g} in the file, recomputed {float(found[i]):.9g}")

    def verdict(self) -> Verdict:
        """The verdict on the second books, compared with the stored accounts."""
        run, count = self.run, self.module.ACCOUNTS_COUNT * A.ACCOUNT_SIZE
        verdict = run.judged(self.part_of(self.books, "ACCOUNTS", count).astype(float))
        counts = self.part_of(self.memory, "COUNTERS", len(run.method.counters))
        compare_faults(run, {name: int(count) for name, count in zip(run.method.counters, counts)}, self.findings)
        if verdict.kind != run.verdict.kind:
            self.findings.append(f"the recomputed verdict is {verdict.kind!r}, the stored one {run.verdict.kind!r}")
        noise = verdict.roundoff * max(10.0, run.steps**0.5)
        for name in ("bias", "removed", "roundoff", "allowance"):
            mine, theirs = getattr(verdict, name), getattr(run.verdict, name)
            if not abs(mine - theirs) <= 1e-9 * abs(mine) + noise:
                self.findings.append(f"the recomputed {name} is {mine:.6g} J, the stored one {theirs:.6g} J")
        if not np.array_equal(_columns(run.arrays["accounts"]), run.arrays["ledger"][-1, :, 1:]):
            self.findings.append("the accounts do not end where the ledger ends")
        return verdict


def _reach(run: Run, states: np.ndarray) -> np.ndarray:
    """The largest |x| of every state; of a vector that of its largest component, by whose rounding the others move."""
    reach = np.abs(states).max(axis=0, initial=0.0)
    columns = {name: i for i, name in enumerate(run.model.states)}
    for parts in run.model.vectors.values():
        if own := [columns[part] for part in parts if part in columns]:
            reach[own] = reach[own].max()
    return reach


def _by_vectors(run: Run, sizes: np.ndarray) -> None:
    """At ports in space the largest of three components counts for all of them: by its rounding the others move."""
    at = 0
    for port in run.model.ports.values():
        if port.width % 3 == 0:
            vectors = sizes[at : at + port.width].reshape(-1, 3)
            vectors[:] = vectors.max(axis=1, keepdims=True)
        at += port.width


def _columns(accounts: np.ndarray) -> np.ndarray:
    """The cumulative columns of every account."""
    rows = accounts.reshape(-1, A.ACCOUNT_SIZE)
    pairs = rows[:, : 2 * A.SUMS]
    return np.column_stack([pairs[:, 0::2] + pairs[:, 1::2], rows[:, A.A_FAULTS]])


def _energies(run: Run, states: np.ndarray) -> list[np.ndarray]:
    """The energy of each ledger row, a row of numbers for each of its terms, at each of the states; symbols are
    numbered, their names may hold dots."""
    if run.model.steps_apart:
        return [row[None] for row in run.model.row_energies(run.params, states).T]  # type: ignore[attr-defined]
    import sympy as sp

    form = run.model.form
    plain = {s: sp.Symbol(f"s{i}", real=True) for i, s in enumerate(form.states + form.params)}
    values: dict[str, Any] = {plain[s].name: np.longdouble(run.params[s.name]) for s in form.params}
    values |= {plain[s].name: states[:, i] for i, s in enumerate(form.states)}
    terms = [sp.Add.make_args(row.energy.xreplace(plain)) for row in form.rows]
    at = lambda term: np.broadcast_to(evaluate(to_text(term), values, EXTENDED), len(states))  # noqa: E731
    return [np.stack([at(term) for term in row]) for row in terms]
