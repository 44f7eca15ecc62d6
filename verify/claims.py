"""Which claims the measurements bear out. A claim that fails, or that no problem tests, fails the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from passivo.method.base import Method
from verify.measure import BALANCE_STEPS, Balance, Drift, Result
from verify.problems import Problem

ORDER_TOLERANCE = 0.15  # measured >= claimed - this: a method may be better on a special problem, never worse
BETTER = 0.5  # ... and it is pointed out where it is better by more than this
SYMPLECTIC = 1e-7  # what finite differences resolve
ROUNDED = 64.0  # |g| and |G v| against the rounding of their terms
CLEARLY_NOT = 1e-4  # what a method that is not symplectic shows, or the measurement would be blind


@dataclass(frozen=True)
class Finding:
    """A claim that was not borne out, in words."""

    method: str
    problem: str
    claim: str
    measured: str

    def __str__(self) -> str:
        where = f" on {self.problem}" if self.problem else ""
        return f"{self.method} claims {self.claim}{where}: {self.measured}"


@dataclass(frozen=True)
class Property:
    """What `preserves` may hold: which problems it speaks of, and whether a result there has it."""

    speaks_of: Callable[[Problem], bool]
    holds: Callable[[Result], bool]
    show: Callable[[Result], str]


def _runs(result: Result) -> list[tuple[str, Balance | Drift]]:
    """The runs whose ledger is judged, and what they are called."""
    closed = [(f"in {result.drift.steps:,} closed steps", result.drift)] if result.drift else []
    return [*((f"at step {b.step:g} s", b) for b in result.balances), *closed]


def _kinds(result: Result) -> str:
    return ", ".join(f"{r.kind} {name}" + (f" ({r.stopped})" if r.stopped else "") for name, r in _runs(result))


def _within(*kinds: str) -> Callable[[Result], bool]:
    return lambda result: bool(result.balances) and all(run.kind in kinds for _, run in _runs(result))


def _booked(result: Result) -> bool:
    """Whether no run has created more, beyond what the method knew, than the rounding of all its steps."""
    steps = lambda run: run.steps if isinstance(run, Drift) else BALANCE_STEPS  # noqa: E731
    return bool(result.balances) and all(r.unnoticed <= steps(r) and not r.stopped for _, r in _runs(result))


def _tight(which: int) -> tuple[Callable[[Result], bool], Callable[[Result], str]]:
    return (
        lambda result: result.slack is not None and result.slack[which] <= ROUNDED,
        lambda result: f"{result.slack[which]:.2g} roundings" if result.slack is not None else "not measured",
    )


PROPERTIES: dict[str, Property] = {
    "energy": Property(lambda p: True, _within("exact"), _kinds),
    "quadratic energy": Property(lambda p: p.quadratic, _within("exact"), _kinds),
    "convex passivity": Property(lambda p: p.convex, _within("exact", "passive"), _kinds),
    "booked energy": Property(
        lambda p: True,
        _booked,
        lambda r: ", ".join(f"{run.unnoticed:.2g} roundoffs unnoticed {name}" for name, run in _runs(r)),
    ),
    "symplectic": Property(
        lambda p: p.canonical,
        lambda r: r.symplectic is not None and r.symplectic <= SYMPLECTIC,
        lambda r: f"|A'ΩA − Ω| = {r.symplectic:.2g}" if r.symplectic is not None else "not measured",
    ),
    "constraints": Property(lambda p: p.constrained, *_tight(0)),
    "rates": Property(lambda p: p.constrained, *_tight(1)),
}


def check_pair(title: str, method: Method, problem: Problem, result: Result) -> list[Finding]:
    """The claims of one method on one problem that do not hold."""
    found = []
    if result.order is not None and not order_holds(method, result):
        slopes = ", ".join(f"{slope:.2f}" for slope in result.order.slopes) or "could not be measured"
        found.append(Finding(title, problem.name, f"order {method.order}", f"slopes {slopes}"))
    for claim in method.preserves:
        known = PROPERTIES.get(claim)
        if known is not None and known.speaks_of(problem) and not known.holds(result):
            found.append(Finding(title, problem.name, repr(claim), known.show(result)))
    return found


def order_holds(method: Method, result: Result) -> bool:
    return result.order is not None and result.order.measured >= method.order - ORDER_TOLERANCE


def tally(claim: str, problems: Mapping[str, Problem], results: Mapping[str, Result]) -> tuple[int, int]:
    """(on how many problems a property was found, on how many it was looked for); `results` of one method."""
    known = PROPERTIES[claim]
    asked = [name for name in results if known.speaks_of(problems[name])]
    return sum(known.holds(results[name]) for name in asked), len(asked)


def check_method(
    title: str, method: Method, problems: Mapping[str, Problem], results: Mapping[str, Result]
) -> list[Finding]:
    """All claims of one method over its problems, and claims that nothing tests."""
    found = [f for name, result in results.items() for f in check_pair(title, method, problems[name], result)]
    if not any(result.order is not None for result in results.values()):
        found.append(Finding(title, "", f"order {method.order}", "no problem tests it"))
    for claim in method.preserves:
        if claim not in PROPERTIES:
            found.append(Finding(title, "", repr(claim), "nothing here measures such a property"))
        elif tally(claim, problems, results)[1] == 0:
            found.append(Finding(title, "", repr(claim), "no problem tests it"))
    return found


def check_power(problems: Mapping[str, Problem], results: Mapping[str, Mapping[str, Result]]) -> list[Finding]:
    """The harness has to see what is known to be wrong: explicit Euler is neither symplectic nor passive."""
    found = []
    for name, result in results.get("ExplicitEuler", {}).items():
        if result.symplectic is not None and not result.symplectic > CLEARLY_NOT:
            found.append(
                Finding(
                    "the harness",
                    name,
                    "to see that ExplicitEuler is not symplectic",
                    f"{result.symplectic:.2g}",
                )
            )
        convex = problems[name].convex and problems[name].model.states
        if convex and all(b.kind in ("exact", "passive") for b in result.balances):
            found.append(Finding("the harness", name, "to see that ExplicitEuler creates energy", _kinds(result)))
    return found
