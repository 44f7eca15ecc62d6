"""The equation of one step, torn and differentiated: from `d = φ(d)` to residual, Jacobian and expansion leaves.

The unknowns are the increments of a path: one for each state on the straight line, s of them for s stages.
Tearing: an unknown whose row gives it explicitly (q' = p/m needs only p) is computed from the others and leaves the
Newton system; a mechanical system of k coordinates is solved in its k momenta, an explicit method in no unknown at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from passivo.kernel.path import Path, ways
from passivo.kernel.slopes import gauss
from passivo.kernel.source import Layout, Source

LEVELS = (1, 2, 4, 8, 16)  # Gauss nodes tried in turn where no closed form exists, by the number of stages and 1


@dataclass(frozen=True)
class Equation:
    """`d_i = increments[i]` in the symbols of `path`, the step size `h`, inputs, parameters and the symbols below.

    Whatever there is for every stage comes stage after stage.

    through    symbol -> formula: intermediate results (the mean gradient), differentiated by the chain rule
    relations  extra equations ρ = 0 for the unknown inputs (spec 2.6)
    averages   symbol -> (stage, integrand in the states): its mean along the path for that stage, by Gauss nodes
    nodes      fixed number of nodes, or None: as many as the energy gap of the step asks for
    """

    path: Path
    h: Any
    increments: Sequence[Any]
    through: Mapping[Any, Any]
    unknown_inputs: Sequence[Any] = ()
    relations: Sequence[Any] = ()
    averages: Mapping[Any, tuple[int, Any]] = field(default_factory=dict)
    nodes: int | None = None

    def symbols(self, row: Any) -> set[Any]:
        """Everything a formula contains, intermediate results opened."""
        found = set(row.free_symbols)
        for symbol in found & self.through.keys():
            found |= self.through[symbol].free_symbols
        return found

    def depends(self, row: Any) -> set[int]:
        """The increments a formula contains."""
        found, path = self.symbols(row), self.path
        direct = {j for j, d in enumerate(path.d) if d in found}
        for place in found & path.places.keys():
            direct |= path.reach(place).keys()
        for symbol, (_, integrand) in self.averages.items():
            if symbol in found:
                direct |= set(path.moved_with(integrand))
        return direct

    def tear(self) -> tuple[list[int], list[int]]:
        """(solved, explicit): increments that stay in the Newton system; the others in the order of evaluation."""
        n = len(self.path.d)
        needs = {i: self.depends(row) for i, row in enumerate(self.increments)}
        blocked = {*self.averages, *self.unknown_inputs}
        able = [i for i in range(n) if i not in needs[i] and not self.symbols(self.increments[i]) & blocked]
        able.sort(key=lambda i: (not self._affine(i), len(needs[i]), i))
        chosen: set[int] = set()
        for i in able:
            if not _cyclic(chosen | {i}, needs):
                chosen.add(i)
        explicit = _ordered(chosen, needs)
        return [i for i in range(n) if i not in chosen], explicit

    def _affine(self, i: int) -> bool:
        row = self.increments[i].xreplace(dict(self.through))
        moving = row.free_symbols & self.path.moving
        return not any(sp.diff(row, symbol).free_symbols & moving for symbol in moving)


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
    path, h = equation.path, equation.h
    solved, explicit = equation.tear()
    k = len(solved) + len(equation.unknown_inputs)
    for name in ("UNKNOWN", "RESIDUAL", "CORRECTION", "TRIAL", "DIRECTION", "PIVOT", "MAGNITUDE"):
        layout.take(name, max(k, 1))
    matrix = layout.take("MATRIX", max(k * k, 1))
    at = layout.sections
    here = {**bindings, h: "h"}
    here.update({s: f"m[{at['UNKNOWN'] + len(solved) + i}]" for i, s in enumerate(equation.unknown_inputs)})
    averages = _write_averages(source, layout, equation, here)
    here.update(averages.bindings)
    defined = {**path.definitions, **equation.through}

    # z -> d: the solved increments are the unknowns themselves, the explicit ones follow from them
    unknowns = {**here, **{path.d[i]: f"m[{at['UNKNOWN'] + z}]" for z, i in enumerate(solved)}}
    rows = {path.d[i]: equation.increments[i] for i in explicit}
    increments = [(bindings[path.d[i]], path.d[i]) for i in (*solved, *explicit)]
    source.leaf("expand", "m, h", unknowns, increments, {**defined, **rows}, note="All increments d from the unknowns.")

    # rows are derived for the first stage: in those of another, its symbols are exchanged with the first one's
    rows = [path.d[i] - equation.increments[i] for i in solved] + list(equation.relations)
    columns = [*(path.d[i] for i in solved), *equation.unknown_inputs]
    own = _by_stage(len(solved), len(equation.relations), path.stages)
    exchanged = lambda slots, j: {symbol: slots[path.exchanged(symbol, j)] for symbol in slots}  # noqa: E731

    def write(name: str, section: str, values: Sequence[Any], **options: Any) -> None:
        targets = [[f"m[{at[section] + r}]" for r in rows_of] for rows_of in own]
        copies = [(exchanged(here, j), targets[j]) for j in range(1, path.stages)]
        source.leaf(name, "m, h", here, list(zip(targets[0], values)), defined, copies=copies, **options)

    write("residual", "RESIDUAL", [rows[r] for r in own[0]])
    write("magnitude", "MAGNITUDE", sizes_of(equation, [rows[r] for r in own[0]]), guarded=True)

    chain = _Chain(equation, averages.slopes)
    for i in explicit:
        chain.follow(path.d[i], i, equation.increments[i], columns)
    slots = {**here, **averages.slope_bindings}
    place = {column: c for c, column in enumerate(columns)}
    targets = [
        [f"m[{matrix + r * k + place[path.exchanged(column, j)]}]" for r in rows_of for column in columns]
        for j, rows_of in enumerate(own)
    ]
    entries = [chain.along(rows[r], column) for r in own[0] for column in columns]
    source.leaf(
        "jacobian",
        "m, h",
        slots,
        list(zip(targets[0], entries)),
        {**defined, **chain.definitions},
        guarded=True,
        copies=[(exchanged(slots, j), targets[j]) for j in range(1, path.stages)],
    )
    return {
        "UNKNOWNS": k,
        "SOLVED": tuple(i % len(path.states) for i in solved) or (0,),
        "SOLVED_COUNT": len(solved),
        "AVERAGES": len(averages.bindings),
        "ADAPTIVE": bool(averages.bindings) and equation.nodes is None,
        **averages.constants,
    }


def _by_stage(solved: int, relations: int, stages: int) -> list[list[int]]:
    """The rows of every stage, of `solved` increments and then of relations."""
    a, b = solved // stages, relations // stages
    return [[*range(j * a, (j + 1) * a), *range(solved + j * b, solved + (j + 1) * b)] for j in range(stages)]


def sizes_of(equation: Equation, rows: Sequence[Any]) -> list[Any]:
    """The scale at which each row rounds: its terms without signs, and |f'| times the scale of what f is taken of.

    A force that is the small difference of large ones rounds at their size, a spring's mid at |old| + |step|/2.
    """
    path = equation.path
    known = {
        place: sp.Abs(path.a[i]) + sp.Add(*(sp.Abs(share * path.d[j]) for j, share in path.reach(place).items()))
        for place, (i, _) in path.places.items()
    }

    def size(f: Any) -> Any:
        if f not in known:
            known[f] = new(f)
        return known[f]

    def new(f: Any) -> Any:
        if f in equation.through:
            return size(equation.through[f])
        if f in equation.averages:
            stage, integrand = equation.averages[f]
            return size(path.at(integrand, path.nodes[stage]))
        if f.is_Atom or not f.free_symbols:
            return sp.Abs(f)
        if f.is_Add or f.is_Mul:
            return f.func(*map(size, f.args))
        if f.is_Pow and not f.exp.free_symbols:
            power = f.exp.is_Integer and f.exp > 0
            return size(f.base) ** f.exp if power else sp.Abs(f) + sp.Abs(f.exp * f / f.base) * size(f.base)
        if f.is_Pow:
            return sp.Abs(f) * (1 + sp.Abs(f.exp / f.base) * size(f.base) + sp.Abs(sp.log(f.base)) * size(f.exp))
        if isinstance(f, sp.sign | sp.Heaviside):
            return sp.Abs(f)
        moving = [(i, arg) for i, arg in enumerate(f.args, 1) if arg.free_symbols]
        return sp.Abs(f) + sp.Add(*(sp.Abs(f.fdiff(i)) * size(arg) for i, arg in moving))

    return [size(row) for row in rows]


class _Chain:
    """Total derivatives: through intermediate results, averages and explicit rows, each with a symbol of its own."""

    def __init__(self, equation: Equation, slopes: Mapping[tuple[Any, int], Any]):
        self.equation, self.slopes = equation, slopes
        self.definitions: dict[Any, Any] = {}
        self.partials: dict[tuple[Any, Any], Any] = {}
        self.explicit: dict[tuple[int, Any], Any] = {}
        self.inner: dict[Any, dict[int, Any]] = {}

    def _name(self, name: str, value: Any) -> Any:
        """A symbol for `value`, unless it is simple enough to stand for itself."""
        if value.is_Atom:
            return value
        symbol = sp.Symbol(name, real=True)
        self.definitions[symbol] = value
        return symbol

    def _partial(self, row: Any, symbol: Any) -> Any:
        """∂row/∂symbol; in a path of several stages every increment needs it, and it gets a name."""
        if (row, symbol) not in self.partials:
            value = sp.diff(row, symbol)
            several = self.equation.path.stages > 1 and not value.is_Atom
            self.partials[row, symbol] = self._name(f"partial#{len(self.partials)}", value) if several else value
        return self.partials[row, symbol]

    def _plain(self, row: Any, j: int) -> Any:
        """∂row/∂d_j with intermediate results held, averages followed."""
        path = self.equation.path
        value = sp.diff(row, path.d[j])
        for place in path.through(j):
            if place in row.free_symbols:
                value += path.reach(place)[j] * self._partial(row, place)
        for (symbol, column), slope in self.slopes.items():
            if column == j and symbol in row.free_symbols:
                value += self._partial(row, symbol) * slope
        return value

    def _inside(self, symbol: Any) -> dict[int, Any]:
        """The slopes of an intermediate result by the increments that move it."""
        if symbol not in self.inner:
            formula = self.equation.through[symbol]
            moved = sorted(self.equation.depends(formula))
            self.inner[symbol] = {j: self._name(f"{symbol.name}#by{j}", self._plain(formula, j)) for j in moved}
        return self.inner[symbol]

    def _by_state(self, row: Any, j: int) -> Any:
        value = self._plain(row, j)
        for symbol in self.equation.through:
            if symbol in row.free_symbols and j in self._inside(symbol):
                value += self._partial(row, symbol) * self._inside(symbol)[j]
        return value

    def along(self, row: Any, unknown: Any) -> Any:
        """d row / d unknown, the explicit rows following."""
        d = self.equation.path.d
        value = self._by_state(row, d.index(unknown)) if unknown in d else sp.diff(row, unknown)
        for (i, column), slope in self.explicit.items():
            if column == unknown:
                value += self._by_state(row, i) * slope
        return value

    def follow(self, symbol: Any, i: int, row: Any, unknowns: Sequence[Any]) -> None:
        """Take up an explicit row: d_i moves with the unknowns."""
        for column, unknown in enumerate(unknowns):
            value = self.along(row, unknown)
            if value != 0:
                self.explicit[i, unknown] = self._name(f"{symbol.name}#along{column}", value)


@dataclass(frozen=True)
class _Averages:
    bindings: dict[Any, str]  # average -> slot
    slopes: dict[tuple[Any, int], Any]  # (average, increment) -> symbol of its derivative by it
    slope_bindings: dict[Any, str]
    constants: dict[str, Any]


def _write_averages(source: Source, layout: Layout, equation: Equation, here: Mapping[Any, str]) -> _Averages:
    """The leaves `sample` and `sample_slopes`, which add a Gauss node to every average and to its slopes by d."""
    path, averages, n = equation.path, equation.averages, len(equation.path.states)
    pairs = [(s, j) for s, (_, f) in averages.items() for j in path.moved_with(f)]
    layout.take("AVERAGE", max(len(averages), 1))
    layout.take("AVERAGE_SLOPE", max(len(pairs), 1))
    bindings = layout.slots("AVERAGE", averages)
    stage_of = lambda j: "" if path.stages == 1 else f"@{j // n}"  # noqa: E731
    slopes = {(s, j): sp.Symbol(f"{s.name}#by{j % n}{stage_of(j)}", real=True) for s, j in pairs}
    slope_bindings = layout.slots("AVERAGE_SLOPE", slopes.values())
    tau, weight = (
        [sp.Symbol(f"{name}#{k or ''}", real=True) for k in range(path.stages)] for name in ("tau", "weight")
    )
    tables = {t: f"NODES[{_entry(k, path.stages)}]" for k, t in enumerate(tau)}
    tables.update({w: f"WEIGHTS[{_entry(k, path.stages)}]" for k, w in enumerate(weight)})
    point = {
        x: a + sp.Add(*(t * d for t, d in zip(tau, path.d[i::n]))) for i, (x, a) in enumerate(zip(path.states, path.a))
    }
    means = [(f"{bindings[s]} +=", weight[stage] * f) for s, (stage, f) in averages.items()]
    rates = []
    for s, j in pairs:
        stage, f = averages[s]
        rate = weight[stage] * tau[j // n] * sp.diff(f, path.states[j % n])
        rates.append((f"{slope_bindings[slopes[s, j]]} +=", rate))
    for name, outputs, others in (("sample", means, rates), ("sample_slopes", rates, means)):
        beside = [formula for _, formula in others]
        source.leaf(name, "m, q", {**here, **tables}, outputs, point, guarded=True, beside=beside)
    levels = [k * (path.stages + 1) for k in LEVELS] if equation.nodes is None else [equation.nodes]
    rules = [gauss(count) for count in (levels if averages else [1])]
    reached = [ways(path.stages, nodes) for nodes, _ in rules]
    return _Averages(
        bindings,
        slopes,
        slope_bindings,
        {
            "LEVELS": len(rules),
            "LEVEL_START": tuple(sum(len(w) for _, w in rules[:i]) for i in range(len(rules) + 1)),
            "NODES": tuple(float(t) for way, _ in reached for row in way for t in row),
            "WEIGHTS": tuple(
                float(w * t) for (_, rate), (_, ws) in zip(reached, rules) for w, row in zip(ws, rate) for t in row
            ),
            "AVERAGE_SLOPES": len(pairs),
            "PATH_STAGES": path.stages,
            "PATH_WEIGHTS": tuple(path.numbers.get(b, 1.0) for b in path.weights),
        },
    )


def _entry(k: int, stages: int) -> str:
    """Where a table of `stages` numbers for each node keeps the k-th."""
    return "q" if stages == 1 else f"{stages}*q + {k}"
