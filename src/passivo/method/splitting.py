"""`StructureSplitting`: J = ΣJ_i, and a step is a sequence of strokes, each by one J_i and the whole energy (spec 2.5).

Every part is skew, so a stroke `x' = J_i ∇H` keeps H; the last part takes the loss and the ports with it. By the mean
gradient ḡ a stroke is `d = h J_i(m) ḡ`, and the balance of a step is exact however it is split:

    two parts    S2(h/2) S1(h) S2(h/2)                          (Strang)
    more         S3(h/2) S2(h/2) S1(h) S2(h/2) S3(h/2)
    in stages    S2(a1 h) S1(b1 h) S2(a2 h) ... S1(b1 h) S2(a1 h), all shares >= 0

Each part reads its inputs by a clock of its own: at the middle of its strokes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from passivo.errors import MethodError, ModelError, nearest, quoted
from passivo.kernel import newton
from passivo.method.base import Laws, Method
from passivo.method.one_stage import AVF
from passivo.method.strokes import MOST_STROKES, Stroke, advance, finish, tables
from passivo.method.strokes import stroke as solved
from passivo.model.expression import evaluate, names, symbolic
from passivo.model.ports import formulas
from passivo.model.system import System, check_symmetry

if TYPE_CHECKING:
    from passivo.kernel.slopes import Ends
    from passivo.kernel.source import Layout, Source
    from passivo.model.form import Form
    from passivo.model.system import Model
    from passivo.provided import *

NAME = "StructureSplitting"
SUBSTEPS = ("gradient", "exact")
MOST_PARTS = 100  # each has leaves of its own
ROUNDING = 1e-13
AGREEMENT = 1e-12  # of the entries of J with the sums of the parts'
Part = tuple[str | float | tuple[str | float, ...], ...]  # states, or rows of formulas


def stroke(m, kind, h):
    """The stroke of a part whose flow is known."""
    revolve(m, h)
    return commit(m)


@dataclass(frozen=True)
class _Part(AVF):
    """The mean gradient step of a part: only the states `moving` move."""

    moving: tuple[int, ...] = ()

    def place(self, form: Form, ends: Ends) -> tuple[Any, ...]:
        return tuple(ends.m[i] if i in self.moving else a for i, a in enumerate(ends.a))

    def gradient(self, form: Form, ends: Ends) -> tuple[list[Any], dict[Any, Any], int | None]:
        mean, averages, nodes = super().gradient(form, ends)
        fixed: dict[Any, Any] = {}
        for i in set(range(len(ends.a))) - set(self.moving):
            fixed.update({ends.b[i]: ends.a[i], ends.m[i]: ends.a[i], ends.d[i]: 0, ends.states[i]: ends.a[i]})
        mean = [g.xreplace(fixed) if i in self.moving else g * 0 for i, g in enumerate(mean)]
        used = set().union(*(g.free_symbols for g in mean))
        return mean, {s: (j, f.xreplace(fixed)) for s, (j, f) in averages.items() if s in used}, nodes


@dataclass(frozen=True)
class StructureSplitting(Method):
    """Strokes by parts of the structure, each with the whole energy: exact balance, and parts that are cheap to step.

    parts         what J is split into: matrices of formulas, as the structure of a System, or lists of states, each the
                  block of J between them ([] is a part of zeros). The last part takes the loss and the ports. Default:
                  one plane for each entry of J above the diagonal
    coefficients  shares of the step, >= 0 and symmetric, stroke by stroke: from the last part to the first and back to
                  the last, any number of times; default 1/2 ... 1/2, 1, 1/2 ... 1/2
    substep       "gradient": the mean gradient of AVF; "exact": a rotation, without equation to solve, where the
                  energy is quadratic in the plane of a part. A last part with loss or ports keeps the mean gradient;
                  by default it is then one of zeros
    """

    parts: tuple[Part, ...] = ()
    coefficients: tuple[float, ...] = ()
    substep: str = "gradient"

    order: ClassVar = 2
    preserves: ClassVar = ("energy", "quadratic energy", "convex passivity")
    symmetric: ClassVar = True
    kernels: ClassVar = (advance,)

    def __post_init__(self) -> None:
        for option in ("parts", "coefficients"):
            if not isinstance(getattr(self, option), list | tuple):
                raise MethodError(f"{NAME}'s {option} are a list, not {quoted(getattr(self, option))}")
        object.__setattr__(self, "parts", tuple(_read(part, k) for k, part in enumerate(self.parts)))
        object.__setattr__(self, "coefficients", tuple(self.coefficients))
        if self.substep not in SUBSTEPS:
            raise MethodError(f"{NAME}'s substep cannot be {self.substep!r}; {nearest(str(self.substep), SUBSTEPS)}")

    @property
    def certifies(self) -> bool:  # type: ignore[override]
        return self.substep == "gradient"

    @property
    def strokes(self) -> tuple[Stroke, ...]:  # type: ignore[override]
        count = max(len(self.parts), 1)
        shares = self.coefficients or (0.5,) * (count - 1) + (1.0,) + (0.5,) * (count - 1)
        return tuple((share, kind) for share, kind in zip(shares, visits(count, len(shares))) if share > 0.0)

    @property
    def nodes(self) -> tuple[float, ...]:  # type: ignore[override]
        clocks: dict[int, float] = {}
        result = []
        for share, kind in self.strokes:
            clocks[kind] = clocks.get(kind, 0.0) + share
            result.append(clocks[kind] - share / 2)
        return tuple(result)

    def for_model(self, model: Model) -> Method:
        parts = self.parts
        if not parts:
            parts = tuple((model.states[i], model.states[j]) for i, j in couplings(model))
            if not parts or (self.substep == "exact" and (model.ports or model.lossy)):
                parts = (*parts, ())
        check_parts(parts, model)
        if self.coefficients:
            check_coefficients(self.coefficients, len(parts))
        return replace(self, parts=parts)

    def form_of(self, model: Model) -> Form:
        if self.substep == "exact":
            for k, part in enumerate(split(model.form, self.parts)):
                if turns(part):
                    plane_of(part, k).check(model)
        return model.form

    def write(self, source: Source, layout: Layout, form: Form, laws: Laws) -> dict[str, Any]:
        from passivo.kernel import module

        parts, silent = split(form, self.parts), Laws({}, (), (), lambda output: [])
        numbers: dict[str, Any] = {**module.numbers_of(newton), **tables(self.strokes)}
        choice = ["def stroke(m, kind, h):", '    """The stroke of a part."""']
        for k, part in enumerate(parts):
            last = k == len(parts) - 1
            if self.substep == "exact" and turns(part):
                write, kernels = partial(write_turn, plane=plane_of(part, k)), (stroke,)
            else:
                moving = tuple(i for i, rate in enumerate(part.flow) if rate != 0)
                write = partial(_Part(moving).write, laws=laws if last else silent)
                kernels = (*newton.KERNELS, finish, solved)
            add = partial(write, source, layout, part)
            numbers.update(write_apart(source, layout, f"S{k}_", add, kernels))
            choice += [f"    if kind == {k}:"] * (not last)
            choice += [f"    {'' if last else '    '}return S{k}_stroke(m, kind, h)"]
        source.functions.append("\n".join(choice))
        return numbers


# -- parts -------------------------------------------------------------------------------------------------------------


def visits(count: int, strokes: int) -> Iterable[int]:
    """The parts in the order of the strokes: from the last to the first, back to the last, and so on."""
    around = [*range(count - 1, 0, -1), *range(count - 1)]
    return (around[k % len(around)] if around else 0 for k in range(strokes))


def _read(part: Any, k: int) -> Part:
    """A part as rows of formulas, or as names of states."""
    if hasattr(part, "tolist"):
        part = part.tolist()
    if not isinstance(part, list | tuple):
        raise MethodError(f"part {k + 1} of {NAME} is a matrix or a list of states, not {quoted(part)}")
    if any(isinstance(row, list | tuple) or hasattr(row, "tolist") for row in part):
        return formulas(part, f"part {k + 1} of {NAME}")
    return tuple(map(str, part))


def _is_block(part: Part) -> bool:
    return all(isinstance(entry, str) for entry in part)


def couplings(model: Model) -> list[tuple[int, int]]:
    """The entries of J above the diagonal that are not 0."""
    rows = model.structure if isinstance(model, System) else model.form.structure.tolist()
    pairs = [(i, j) for i in range(len(model.states)) for j in range(i + 1, len(model.states))]
    return [(i, j) for i, j in pairs if str(rows[i][j]) not in ("0", "0.0", "-0.0")]


def check_parts(parts: Sequence[Part], model: Model) -> None:
    """Every part skew, the sum of them J."""
    if len(parts) > MOST_PARTS:
        raise MethodError(f"{NAME} takes at most {MOST_PARTS} parts, not {len(parts)}; give parts= that are larger")
    blocks = [part for part in parts if _is_block(part)]
    for k, part in enumerate(parts):
        for name in part if _is_block(part) else ():
            if name not in model.states:
                known = nearest(str(name), model.states)
                raise MethodError(f"part {k + 1} of {NAME} names {quoted(name)}, no state of {model.name!r}; {known}")
    if len(blocks) == len(parts):
        for i, j in couplings(model):
            a, b = model.states[i], model.states[j]
            if not any(a in part and b in part for part in blocks):
                raise MethodError(
                    f"the parts of {NAME} do not add up to the structure of {model.name!r}: none of them holds its "
                    f"entry ({i + 1}, {j + 1}); add a part [{a!r}, {b!r}]"
                )
        return
    if not isinstance(model, System):
        raise MethodError(f"{NAME} takes the parts of a {type(model).__name__} as lists of states, not as matrices")
    _check_matrices(parts, model)


def _check_matrices(parts: Sequence[Part], model: System) -> None:
    n, scope, samples = len(model.states), {*model.states, *model.params, *model.signals}, model.samples(model.params)
    matrices = _texts(parts, model.states, model.structure, "0")
    for k, matrix in enumerate(matrices):
        if len(matrix) != n or len(matrix[0]) != n:
            raise MethodError(f"part {k + 1} of {NAME} is {len(matrix)} × {len(matrix[0])}, expected {n} × {n}")
        for name in sorted(set().union(*(names(text) for row in matrix for text in row)) - scope):
            raise MethodError(
                f"part {k + 1} of {NAME} uses {quoted(name)}, which {model.name!r} does not have; "
                f"{nearest(name, sorted(scope))}"
            )
        try:
            check_symmetry(matrix, -1, f"part {k + 1}", samples)
        except ModelError as error:
            raise MethodError(f"{NAME}: {error}") from None
    for i in range(n):
        for j in range(n):
            texts = [matrix[i][j] for matrix in matrices if matrix[i][j] != "0"]
            whole = model.structure[i][j]
            if texts == [whole] or (not texts and whole == "0"):
                continue
            with np.errstate(all="ignore"):
                values = [np.asarray(evaluate(text, samples), dtype=float) for text in texts]
                whole_values = np.asarray(evaluate(whole, samples), dtype=float)
                gap = np.abs(sum(values, -whole_values))
                equal = gap <= AGREEMENT * sum(map(np.abs, values), np.abs(whole_values))
            if not np.all(equal):
                raise MethodError(
                    f"the parts of {NAME} do not add up to the structure of {model.name!r}: their entries "
                    f"({i + 1}, {j + 1}) give {quoted(' + '.join(texts) or '0')}, the structure has {quoted(whole)}"
                )


def _texts(parts: Sequence[Part], states: Sequence[str], structure: Any, zero: Any) -> list[Any]:
    """The matrix of every part; an entry of J belongs to the first list of states that holds both."""
    n, free, result = len(states), {(i, j) for i in range(len(states)) for j in range(len(states))}, []
    for part in parts:
        if not _is_block(part):
            result.append(part)
            continue
        own = {(i, j) for i, j in free if states[i] in part and states[j] in part}
        free -= own
        result.append([[structure[i][j] if (i, j) in own else zero for j in range(n)] for i in range(n)])
    return result


def check_coefficients(shares: Sequence[Any], parts: int) -> None:
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share < math.inf:
            raise MethodError(
                f"{NAME}'s coefficients are numbers >= 0, not {share!r}; for a higher order compose it: "
                "Composition(StructureSplitting(...), 'suzuki4')"
            )
    around = max(2 * (parts - 1), 1)
    if len(shares) > MOST_STROKES or (len(shares) - 1) % around or (len(shares) < around + 1 and parts > 1):
        raise MethodError(
            f"{NAME} goes from the last of its {parts} parts to the first and back: {around + 1} coefficients, or "
            f"{around} more for each further time, not {len(shares)}"
        )
    if any(abs(a - b) > ROUNDING for a, b in zip(shares, reversed(shares))):
        raise MethodError(f"{NAME}'s coefficients must be the same forwards and backwards; otherwise order 2 is lost")
    for part in range(parts):
        total = math.fsum(share for share, kind in zip(shares, visits(parts, len(shares))) if kind == part)
        if abs(total - 1.0) > ROUNDING:
            raise MethodError(f"{NAME}'s coefficients of part {part + 1} add up to {total:.15g}, not to 1")


def split(form: Form, parts: Sequence[Part]) -> list[Form]:
    """The form of every part: the last one with all that loses and supplies, and what parts of the model exchange."""
    import sympy as sp

    scope = {s.name: s for s in (*form.states, *form.params, *form.signals)}
    read = lambda entry: evaluate(entry, scope, symbolic()) if isinstance(entry, str) else entry  # noqa: E731
    n, names_ = len(form.states), [s.name for s in form.states]
    texts = _texts(parts, names_, form.structure.tolist(), sp.Integer(0))
    *inner, last = [sp.Matrix(n, n, [read(entry) for row in matrix for entry in row]) for matrix in texts]
    none = lambda matrix: sp.zeros(*matrix.shape)  # noqa: E731
    result, rows = [], list(form.rows)
    for J in inner:
        crossing = [_received(form, J, row.states) for row in form.rows]
        silent = [
            replace(row, lost=sp.Integer(0), received=(power,) if power != 0 else ())
            for row, power in zip(form.rows, crossing)
        ]
        rows = [
            replace(row, received=(*row.received, -power)) if power != 0 else row for row, power in zip(rows, crossing)
        ]
        quiet = {name: none(getattr(form, name)) for name in ("loss", "ports", "readout", "feedthrough")}
        result.append(replace(form, structure=J, rows=tuple(silent), source=(), drift=(), **quiet))
    return [*result, replace(form, structure=last, rows=tuple(rows))]


def _received(form: Form, J: Any, own: Sequence[int]) -> Any:
    """The power that a row of the ledger takes from the others through J."""
    import sympy as sp

    g, others = form.gradient, [j for j in range(len(form.states)) if j not in own]
    return sp.Add(*(g[i] * J[i, j] * g[j] for i in own for j in others))


def write_apart(source: Source, layout: Layout, prefix: str, write: Callable, kernels: Sequence[Callable]) -> dict:
    """Let `write` add its leaves, sections and numbers under names of their own; the numbers of all that."""
    from passivo.kernel.module import Piece

    count, before = len(source.functions), dict(layout.sections)
    numbers = {name: value for name, value in write().items() if name not in tables(())}
    fresh = {name: at for name, at in layout.sections.items() if before.get(name) != at}
    hoisted = {name: at for name, at in fresh.items() if name.startswith("CONSTANT_")}
    own = {name: at for name, at in fresh.items() if name not in hoisted}
    piece = Piece({**numbers, **own}, source.functions[count:], kernels).prefixed(prefix)
    source.functions[count:] = piece.leaves
    layout.sections.clear()
    layout.sections.update({**before, **hoisted})
    return dict(piece.numbers)


# -- turns -------------------------------------------------------------------------------------------------------------


def turns(part: Form) -> bool:
    """Whether a part is nothing but a structure."""
    matrices = (part.loss, part.ports, part.feedthrough)
    moves = any(entry != 0 for entry in part.structure)
    return moves and all(matrix.is_zero_matrix for matrix in matrices) and not part.drift


@dataclass(frozen=True)
class Plane:
    """`x_i' = a ∂H/∂x_j`, `x_j' = −a ∂H/∂x_i`, with H = A x_i²/2 + C x_i x_j + B x_j²/2 + linear terms."""

    i: int
    j: int
    a: Any
    A: Any
    B: Any
    C: Any

    def check(self, model: Model) -> None:
        """The energy must curve upwards in the plane, as far as that can be told."""
        from passivo.model.expression import to_text

        bowl, form = self.A * self.B - self.C**2, model.form
        bowl = bowl.xreplace({s: model.params[s.name] for s in form.params})
        if bowl.free_symbols:
            lowest = np.min(evaluate(to_text(bowl), model.samples(model.params))) if isinstance(model, System) else 0.0
        else:
            lowest = bowl
        if lowest < 0:
            x, y = (form.states[k].name for k in (self.i, self.j))
            raise MethodError(
                f"{NAME} turns by substep='exact' where the energy is a bowl, and over {x} and {y} it is a saddle; "
                "take substep='gradient'"
            )


def plane_of(part: Form, k: int) -> Plane:
    """The plane of a part; raises where its flow is no turn."""
    import sympy as sp

    states, pairs = (
        part.states,
        [(i, j) for j in range(len(part.states)) for i in range(j) if part.structure[i, j] != 0],
    )
    what, remedy = f"{NAME} turns by substep='exact' in one plane", "take substep='gradient'"
    if len(pairs) != 1:
        raise MethodError(f"{what}, and part {k + 1} has {len(pairs)} of them; split it further, or {remedy}")
    ((i, j),) = pairs
    x, y, energy = states[i], states[j], part.energy
    a = part.structure[i, j]
    A, B, C = (sp.expand(sp.diff(energy, *pair)) for pair in ((x, x), (y, y), (x, y)))
    if a.free_symbols & {x, y}:
        raise MethodError(
            f"{what} and at a pace that does not change, but in part {k + 1} that depends on it; {remedy}"
        )
    if (A.free_symbols | B.free_symbols | C.free_symbols) & {x, y}:
        raise MethodError(f"{what} where the energy is quadratic, and over {x.name} and {y.name} it is not; {remedy}")
    return Plane(i, j, a, A, B, C)


def write_turn(source: Source, layout: Layout, part: Form, plane: Plane) -> dict[str, Any]:
    """`revolve`: STEP = (exp(h M) − 1) M⁻¹ f = h sinc(θ) f + h² sinc²(θ/2)/2 M f, θ = h a √(AB − C²), f the field.

    GRADIENT is that of the middle of the chord; where the plane joins two rows of the ledger, the energy that passes is
    `∫ a g_i g_j dt = (ḡ_i d_i − ḡ_j d_j)/2`.
    """
    import sympy as sp

    from passivo.kernel.leaves import gradient_at, input_slots
    from passivo.kernel.slopes import sinc

    symbols = lambda text: (sp.Symbol(name, real=True) for name in text.split())  # noqa: E731
    h, half, whole, angle, d, e, mean, mean_e, passed = symbols("h# half# whole# angle# d# e# mean# mean_e# passed#")
    i, j, at, n = plane.i, plane.j, layout.sections, len(part.states)
    f, g = plane.a * part.gradient[j], -plane.a * part.gradient[i]
    defined = {
        **gradient_at(part, part.states),
        angle: h * plane.a * sp.sqrt(plane.A * plane.B - plane.C**2),
        whole: h * sinc(angle),
        half: h**2 * sinc(angle / 2) ** 2 / 2 * plane.a,
        d: whole * f + half * (plane.C * f + plane.B * g),
        e: whole * g - half * (plane.A * f + plane.C * g),
        mean: part.gradient[i] + (plane.A * d + plane.C * e) / 2,
        mean_e: part.gradient[j] + (plane.C * d + plane.B * e) / 2,
        passed: (mean * d - mean_e * e) / 2,
    }
    steps, means = ({i: one, j: other} for one, other in ((d, e), (mean, mean_e)))
    outputs: list[tuple[str, Any]] = [(f"m[{at['STEP'] + k}]", steps.get(k, sp.Integer(0))) for k in range(n)]
    outputs += [(f"m[{at['GRADIENT'] + k}]", means.get(k, sp.Integer(0))) for k in range(n)]
    for r, row in enumerate(part.rows):
        if row.received:
            outputs.append((f"m[{at['RECEIVED'] + r}] +=", passed if i in row.states else -passed))
            outputs.append((f"m[{at['SCALE'] + r}] +=", sp.Abs(passed)))
    slots = {**layout.slots("STATE", part.states), **input_slots(part, layout), h: "h"}
    source.leaf("revolve", "m, h", slots, outputs, defined, note="The exact flow of a part for the time h.")
    return {}
