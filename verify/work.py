"""All measurements, in several processes, with a line of progress for each."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from rich.console import Console

import passivo as pv
from verify.claims import Finding
from verify.measure import Drift, Result, drift, measure
from verify.methods import all_methods, reason_against
from verify.problems import PROBLEMS

TASKS_EACH = 60  # of a process, before all are started anew: what was compiled stays, some 50 MB each time


def task(kind: str, title: str, name: str) -> Result | Drift | str:
    """One measurement, in a process of its own; a text says what went wrong."""
    method, problem = all_methods()[title], PROBLEMS[name]
    refused = reason_against(method, problem)
    try:
        if refused:
            pv.compile(problem.model, method, problem.step, start=problem.start, laws=problem.laws, engine="python")
            return f"accepted, although it should be refused: {refused}"
        return drift(method, problem) if kind == "drift" else measure(method, problem)
    except pv.MethodError as error:
        return "" if refused else f"refused: {error}"
    except Exception as error:  # told with the others at the end, not in their place
        return f"{type(error).__name__}: {error}"


def timed(kind: str, title: str, name: str) -> tuple[Result | Drift | str, float]:
    """A measurement, and the processor time it took in seconds."""
    begin = time.process_time()
    return task(kind, title, name), time.process_time() - begin


def tasks(methods: list[str], problems: list[str]) -> list[tuple[str, str, str]]:
    """What there is to do, the long runs first: short ones then keep all processes busy to the end."""
    known = all_methods()
    steps = {name: PROBLEMS[name].drift[2] for name in problems if PROBLEMS[name].drift}  # type: ignore[index]
    long = [
        ("drift", title, name)
        for name in sorted(steps, key=lambda name: -steps[name])
        for title in methods
        if not reason_against(known[title], PROBLEMS[name])
    ]
    return long + [("short", title, name) for name in problems for title in methods]


def measure_all(
    methods: list[str], problems: list[str], jobs: int, console: Console
) -> tuple[dict[str, dict[str, Result]], list[Finding]]:
    """Results by method and problem, in the order given; and what could not be measured."""
    work = tasks(methods, problems)
    answers: dict[tuple[str, str, str], Result | Drift | str] = {}
    context = multiprocessing.get_context("spawn")
    for first in range(0, len(work), TASKS_EACH * jobs):  # in Python 3.11 `max_tasks_per_child` may stop them all
        with ProcessPoolExecutor(jobs, context) as pool:
            waiting = {pool.submit(timed, *item): item for item in work[first : first + TASKS_EACH * jobs]}
            for future in as_completed(waiting):
                item = waiting[future]
                answers[item], seconds = future.result()
                what = "the closed run" if item[0] == "drift" else "order and balance"
                line = f"[{len(answers)}/{len(work)}] {item[1]} on {item[2]}: {what}, {seconds:.1f} s"
                console.print(line, markup=False, highlight=False)
    results: dict[str, dict[str, Result]] = {title: {} for title in methods}
    troubles = []
    for (_, title, name), answer in ((item, answers[item]) for item in reversed(work)):
        if isinstance(answer, str):
            if answer:
                troubles.append(Finding(title, name, "to apply where it should", answer))
        elif isinstance(answer, Drift):
            if name in results[title]:
                results[title][name] = replace(results[title][name], drift=answer)
        else:
            results[title][name] = answer
    return {t: {n: found[n] for n in problems if n in found} for t, found in results.items()}, troubles
