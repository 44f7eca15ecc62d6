"""The tables of what was measured: the same ones in the terminal and in docs/verification.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from passivo.method.base import Method
from verify.claims import BETTER, ORDER_TOLERANCE, PROPERTIES, ROUNDED, SYMPLECTIC, Finding, order_holds, tally
from verify.measure import BALANCE_STEPS, LARGE, Balance, Drift, Result
from verify.problems import Problem

NO_TREND = 0.01  # of the largest excursion: what averaging over a fifth of the run leaves of an oscillation

HEAD = """\
# Verification

Made by `make verify`, which writes this page and fails where a method claims what the measurement does not
bear out. Every method of the catalogue runs on every reference problem it applies to. Inputs vary in time as
`a sin(1.3 t + 0.7 k)` at port component k, and losses act, except in the closed problems of the last two
tables.
"""


@dataclass(frozen=True)
class Table:
    """A title, a sentence or two on how to read it, and cells; the first row is the head."""

    title: str
    note: str
    rows: Sequence[Sequence[str]]


Results = Mapping[str, Mapping[str, Result]]  # method -> problem -> result


def tables(methods: Mapping[str, Method], problems: Mapping[str, Problem], results: Results) -> Iterator[Table]:
    """All tables; problems with constraints, which have methods of their own, by themselves."""
    for constrained in (False, True):
        some = {title: method for title, method in methods.items() if method.keeps_constraints == constrained}
        asked = {name: problem for name, problem in problems.items() if problem.constrained == constrained}
        for table in _tables(some, asked, results) if some and asked else ():
            yield replace(table, title=f"{table.title}, with constraints") if constrained else table


def _tables(methods: Mapping[str, Method], problems: Mapping[str, Problem], results: Results) -> Iterator[Table]:
    spoken = [name for name, known in PROPERTIES.items() if any(map(known.speaks_of, problems.values()))]

    def grid(cell: Callable[[Method, Result], str]) -> list[list[str]]:
        """Problems downwards, methods across; rows without any entry are left out."""
        rows = []
        for name in problems:
            cells = [cell(m, results[t][name]) if name in results[t] else "" for t, m in methods.items()]
            if any(cells):
                rows.append([name, *(text or "–" for text in cells)])
        return [["problem", *methods], *rows]

    yield Table(
        "Claims",
        "On how many of the problems that a property speaks of it was found. A tick marks a claim; what "
        "stands without one is not claimed, only measured. The order is the least and the largest measured.",
        [
            ["method", "order", "measured", *spoken],
            *(_claims(t, m, spoken, problems, results[t]) for t, m in methods.items()),
        ],
    )
    yield Table(
        "Problems",
        "What the properties go by. *canonical*: the closed lossless version has J = [[0, 1], [−1, 0]].",
        [["problem", "states", "energy", "closed version"], *(_problem(p) for p in problems.values())],
    )
    yield Table(
        "Order",
        "The slope between the last two errors at the end of the run, against DOP853 at 1e-13 on equations "
        "written independently; the step was halved three times or more. A claim passes where the slope is "
        f"at least the claimed order less {ORDER_TOLERANCE}. ↑: better than claimed by more than {BETTER}.",
        grid(_order),
    )
    for index, words in enumerate(("the problem's step", f"{LARGE} times that step")):
        yield Table(
            f"Energy created in the worst step, {words}",
            f"The worst verdict over {BALANCE_STEPS} steps, and the created energy of the step where it was "
            "largest in size, as a share of the energy that moved (range of stored energy + work + loss).",
            grid(lambda m, r, i=index: _worst(r.balances[i])),
        )
    yield Table(
        "The same in units of roundoff",
        "The larger of both runs, against the largest roundoff of a step, `16 ε (Σ (|x| + |Δx|) |ḡ| + |work| + lost)`.",
        grid(lambda m, r: _roundoffs(r.balances)),
    )
    yield Table(
        "Bias and removed energy, the problem's step",
        "The most energy created / removed in any window of time, as shares of the energy that moved.",
        grid(lambda m, r: _windows(r.balances[0])),
    )
    yield Table(
        "Newton iterations per step, the problem's step",
        "0: the step's equation is solved without iterating.",
        grid(lambda m, r: f"{r.balances[0].iterations:.1f}"),
    )
    yield Table(
        "Long-time drift",
        f"Closed and lossless, {_lengths(problems)}: the most energy created or removed in any window, "
        "then the trend: the mean energy of the last fifth less that of the first; both as shares of the "
        "energy above the minimum at the start. Claims on energy are judged by these runs as well.",
        grid(lambda m, r: _drift(r.drift)),
    )
    yield Table(
        "Symplecticity",
        f"The largest entry of A'ΩA − Ω for the Jacobian A of one step ({LARGE} times the problem's) of the "
        f"closed lossless problem, by finite differences; *yes*: below {SYMPLECTIC:g}.",
        grid(lambda m, r: _symplectic(r.symplectic)),
    )
    if any(problem.constrained for problem in problems.values()):
        yield Table(
            "What the constraints leave",
            f"The largest |g| / |∂g/∂r·v| over a driven run of {BALANCE_STEPS} steps ({LARGE} times the problem's), in "
            f"units of the rounding of its terms; up to {ROUNDED:g} they count as kept.",
            grid(lambda m, r: _slack(r.slack)),
        )


def _slack(slack: tuple[float, float] | None) -> str:
    return "" if slack is None else " / ".join(f"{part:.2g}" if part <= ROUNDED else f"{part:.1e}" for part in slack)


def _claims(
    title: str,
    method: Method,
    spoken: Sequence[str],
    problems: Mapping[str, Problem],
    results: Mapping[str, Result],
) -> list[str]:
    orders = [r.order.measured for r in results.values() if r.order is not None]
    cells = [title, str(method.order), f"{min(orders):.2f} to {max(orders):.2f}" if orders else "–"]
    for name in spoken:
        held, asked = tally(name, problems, results)
        mark = ("✓ " if held == asked else "FAILS ") if name in method.preserves else ""
        cells.append(f"{mark}{held} of {asked}")
    return cells


def _problem(problem: Problem) -> list[str]:
    energy = "quadratic" if problem.quadratic else "convex" if problem.convex else "neither"
    closed = "canonical" if problem.canonical else "lossless" if problem.drift else "–"
    return [problem.name, str(len(problem.model.states)), energy, closed]


def _order(method: Method, result: Result) -> str:
    if result.order is None:
        return ""
    measured = result.order.measured
    mark = " FAILS" if not order_holds(method, result) else " ↑" if measured > method.order + BETTER else ""
    return f"{measured:.2f}{mark}"


def _worst(balance: Balance) -> str:
    if balance.stopped or balance.kind == "none":
        return "stopped"
    return "exact" if balance.kind == "exact" else f"{balance.kind} {balance.worst:+.1e}"


def _roundoffs(balances: Sequence[Balance]) -> str:
    if any(b.kind == "none" for b in balances):
        return "stopped"
    worst = max(b.roundoffs for b in balances)
    return "< 1" if worst < 1 else f"{worst:.1e}"


def _windows(balance: Balance) -> str:
    if balance.kind in ("exact", "none"):
        return "exact" if balance.kind == "exact" else "stopped"
    return " / ".join("0" if value < 1e-12 else f"{value:.1e}" for value in (balance.bias, balance.removed))


def _drift(drift: Drift | None) -> str:
    if drift is None:
        return ""
    if drift.stopped:
        return f"stopped after {drift.steps}"
    if drift.kind == "exact":
        return "exact"
    if drift.kind == "passive":
        return f"passive {drift.largest:.1e}"
    trend = f"{drift.trend:+.0e}" if abs(drift.trend) > NO_TREND * drift.largest else "no trend"
    return f"{drift.kind} {drift.largest:.1e}, {trend}"


def _symplectic(defect: float | None) -> str:
    if defect is None:
        return ""
    return "yes" if defect <= SYMPLECTIC else f"{defect:.1e}"


def _lengths(problems: Mapping[str, Problem]) -> str:
    """How many steps of which problems."""
    named: dict[int, list[str]] = {}
    for name, problem in problems.items():
        if problem.drift:
            named.setdefault(problem.drift[2], []).append(name)
    return ", ".join(f"{count:,} steps of {', '.join(names)}" for count, names in sorted(named.items(), reverse=True))


def markdown(found: Sequence[Table], findings: Sequence[Finding]) -> str:
    text = [HEAD]
    if findings:
        text.append("\n".join(["**Not borne out:**", "", *(f"- {finding}" for finding in findings)]) + "\n")
    for table in found:
        head, *rows = table.rows
        lines = [
            f"## {table.title}",
            "",
            table.note,
            "",
            _line(head),
            _line(["---"] * len(head)),
            *map(_line, rows),
        ]
        text.append("\n".join(lines) + "\n")
    return "\n".join(text)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
