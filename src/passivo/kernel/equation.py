"""The equation of one step, torn and differentiated: from `d = φ(d)` to residual, Jacobian and expansion leaves.

Tearing: an unknown whose row gives it explicitly (q' = p/m needs only p) is computed from the others and leaves the
Newton system; a mechanical system of k coordinates is solved in its k momenta, an explicit method in no unknown at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from passivo.kernel.slopes import Ends, gauss
from passivo.kernel.source import Layout, Source

LEVELS = (2, 4, 8, 16, 32)  # Gauss nodes tried in turn where no closed form exists


@dataclass(frozen=True)
class Equation:
    """`d_i = increments[i]` in the symbols of `ends`, the step size `h`, inputs, parameters and averages.

    relations  extra equations ρ = 0 for the unknown inputs (spec 2.6)
    averages   symbol -> integrand in the states: its mean over the straight line from a to b, by Gauss nodes
    nodes      fixed number of nodes, or None: as many as the energy gap of the step asks for
    """

    ends: Ends
    h: Any
    increments: Sequence[Any]
    unknown_inputs: Sequence[Any] = ()
    relations: Sequence[Any] = ()
    averages: Mapping[Any, Any] = ()  # pyright: ignore[reportAssignmentType]
    nodes: int | None = None

    def depends(self, i: int) -> set[int]:
        """States whose increment row i contains."""
        found = self.increments[i].free_symbols
        direct = {j for j in range(len(self.ends.d)) if found & {self.ends.d[j], self.ends.b[j], self.ends.m[j]}}
        for symbol, integrand in dict(self.averages).items():
            if symbol in found:
                direct |= {j for j, s in enumerate(self.ends.states) if s in integrand.free_symbols}
        return direct

    def tear(self) -> tuple[list[int], list[int]]:
        """(solved, explicit): states that stay in the Newton system; the others in the order of their evaluation."""
        n = len(self.ends.d)
        needs = {i: self.depends(i) for i in range(n)}
        blocked = {*dict(self.averages), *self.unknown_inputs}
        able = [i for i in range(n) if i not in needs[i] and not self.increments[i].free_symbols & blocked]
        able.sort(key=lambda i: (not self._affine(i), len(needs[i]), i))
        chosen: set[int] = set()
        for i in able:
            if not _cyclic(chosen | {i}, needs):
                chosen.add(i)
        explicit = _ordered(chosen, needs)
        return [i for i in range(n) if i not in chosen], explicit

    def _affine(self, i: int) -> bool:
        moving = {*self.ends.d, *self.ends.b, *self.ends.m}
        row = self.increments[i]
        return not any(self.ends.derivative(row, j).free_symbols & moving for j in self.depends(i))


def _cyclic(nodes: set[int], needs: Mapping[int, set[int]]) -> bool:
    return len(_ordered(nodes, needs)) < len(nodes)


def _ordered(nodes: set[int], needs: Mapping[int, set[int]]) -> list[int]:
    """Topological order of `nodes` (shorter if they depend on each other in a circle)."""
    order: list[int] = []
    left = set(nodes)
    while ready := sorted(i for i in left if not needs[i] & left):
        order += ready
        left -= set(ready)
    return order


def write_equation(source: Source, layout: Layout, equation: Equation, bindings: Mapping[Any, str]) -> dict[str, Any]:
    """Write the leaves `expand`, `residual`, `jacobian`, `magnitude` (and `sample`); return the module's constants."""
    ends, h = equation.ends, equation.h
    solved, explicit = equation.tear()
    k = len(solved) + len(equation.unknown_inputs)
    unknown = layout.take("UNKNOWN", max(k, 1))
    residual = layout.take("RESIDUAL", max(k, 1))
    matrix = layout.take("MATRIX", max(k * k, 1))
    layout.take("CORRECTION", max(k, 1))
    layout.take("TRIAL", max(k, 1))
    layout.take("DIRECTION", max(k, 1))
    layout.take("PIVOT", max(k, 1))
    step = layout.sections["STEP"]
    averages = dict(equation.averages)
    here = {**bindings, h: "h"}
    here.update({s: f"m[{unknown + len(solved) + i}]" for i, s in enumerate(equation.unknown_inputs)})
    defined = {b: a + d for a, b, d in zip(ends.a, ends.b, ends.d)} | {m: a + d / 2 for a, m, d in zip(ends.a, ends.m, ends.d)}
    slopes = _write_averages(source, layout, equation, here)
    here.update(slopes.pop("bindings"))

    # z -> d: the solved increments are the unknowns themselves, the explicit ones follow in order
    unknowns = {i: sp.Symbol(f"z#{i}", real=True) for i in solved}
    loads = {s: f"m[{unknown + position}]" for position, s in enumerate(unknowns.values())}
    source.leaf("expand_solved", "m", loads, [(f"m[{step + i}]", s) for i, s in unknowns.items()], note="d of the solved states.")
    calls = ["    expand_solved(m)"]
    for i in explicit:
        source.leaf(f"expand_{i}", "m, h", here, [(f"m[{step + i}]", equation.increments[i])], defined)
        calls.append(f"    expand_{i}(m, h)")
    source.functions.append("\n".join(['def expand(m, h):\n    """All increments d from the unknowns."""', *calls]))

    rows = [ends.d[i] - equation.increments[i] for i in solved] + list(equation.relations)
    source.leaf("residual", "m, h", here, [(f"m[{residual + r}]", row) for r, row in enumerate(rows)], defined)
    sizes = [sp.Add(*(sp.Abs(term) for term in sp.Add.make_args(row))) for row in rows]
    magnitude = layout.take("MAGNITUDE", max(k, 1))
    source.leaf("magnitude", "m, h", here, [(f"m[{magnitude + r}]", s) for r, s in enumerate(sizes)], defined)

    # total derivatives along the explicit rows: dd_i/dz_j for explicit i, built in their order of evaluation
    total: dict[tuple[int, int], Any] = {}
    known: dict[Any, Any] = {}
    slot = {**here, **slopes["bindings_slope"]}

    def along(row: Any, column: int) -> Any:
        symbol = equation.unknown_inputs[column - len(solved)] if column >= len(solved) else None
        if symbol is not None:
            value = sp.diff(row, symbol)
        else:
            value = _through(row, solved[column], ends, averages, slopes["symbols"])
        for i in explicit:
            if (i, column) in total:
                value += _through(row, i, ends, averages, slopes["symbols"]) * total[i, column]
        return value

    for i in explicit:
        for column in range(k):
            value = along(equation.increments[i], column)
            if value != 0:
                total[i, column] = sp.Symbol(f"e#{i}#{column}", real=True)
                known[total[i, column]] = value.xreplace(known)
    entries = [(f"m[{matrix + r * k + c}]", along(row, c).xreplace(known)) for r, row in enumerate(rows) for c in range(k)]
    source.leaf("jacobian", "m, h", slot, entries, defined)
    return {
        "UNKNOWNS": k,
        "SOLVED": tuple(solved) or (0,),
        "SOLVED_COUNT": len(solved),
        "AVERAGES": len(averages),
        "ADAPTIVE": bool(averages) and equation.nodes is None,
        "LINEAR": not any(v.free_symbols & {*ends.d, *ends.b, *ends.m, *averages, *equation.unknown_inputs} for _, v in entries),
        **slopes["constants"],
    }


def _through(row: Any, j: int, ends: Ends, averages: Mapping[Any, Any], slopes: Mapping[tuple[Any, int], Any]) -> Any:
    value = ends.derivative(row, j)
    for symbol in averages:
        if (symbol, j) in slopes:
            value += sp.diff(row, symbol) * slopes[symbol, j]
    return value


def _write_averages(source: Source, layout: Layout, equation: Equation, here: Mapping[Any, str]) -> dict[str, Any]:
    """The leaf `sample`, which adds one Gauss node to every average and to its slopes by d."""
    ends, averages = equation.ends, dict(equation.averages)
    mean = layout.take("AVERAGE", max(len(averages), 1))
    tau, weight = sp.Symbol("tau#", real=True), sp.Symbol("weight#", real=True)
    point = dict(zip(ends.states, (a + tau * d for a, d in zip(ends.a, ends.d))))
    locals_ = {**here, tau: "tau", weight: "weight"}
    outputs, symbols, bindings = [], {}, {s: f"m[{mean + i}]" for i, s in enumerate(averages)}
    pairs = [(s, j) for s, f in averages.items() for j, x in enumerate(ends.states) if x in f.free_symbols]
    start = layout.take("AVERAGE_SLOPE", max(len(pairs), 1))
    for s, f in averages.items():
        outputs.append((f"{bindings[s]} +=", weight * f))
    slope_bindings = {}
    for position, (s, j) in enumerate(pairs):
        symbols[s, j] = sp.Symbol(f"{s.name}#by{j}", real=True)
        slope_bindings[symbols[s, j]] = f"m[{start + position}]"
        outputs.append((f"m[{start + position}] +=", weight * tau * sp.diff(averages[s], ends.states[j])))
    # the states at the node are locals of their own, so that the integrand keeps its shape
    source.leaf("sample", "m, tau, weight", locals_, outputs, point)
    levels = LEVELS if equation.nodes is None else (equation.nodes,)
    rules = [gauss(count) for count in levels] if averages else []
    starts = [sum(levels[:i]) for i in range(len(levels) + 1)]
    constants = {
        "LEVELS": len(levels),
        "LEVEL_START": tuple(starts),
        "NODES": tuple(float(t) for nodes, _ in rules for t in nodes) or (0.5,),
        "WEIGHTS": tuple(float(w) for _, weights in rules for w in weights) or (1.0,),
        "AVERAGE_COUNT": len(averages) + len(pairs),
    }
    return {"bindings": bindings, "bindings_slope": slope_bindings, "symbols": symbols, "constants": constants}
