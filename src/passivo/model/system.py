"""What a system is: states, an energy, a structure, a loss, ports. Pure description, checked when built."""

from __future__ import annotations

import copy
import keyword
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from passivo.errors import ModelError, nearest, quoted
from passivo.model.expression import (
    FLOAT,
    RESERVED,
    evaluate,
    is_condition,
    is_sum,
    names,
    symbolic,
    terms,
    to_text,
)
from passivo.model.form import Form, Row
from passivo.model.formula import Formula
from passivo.model.ports import Port, formulas
from passivo.model.units import Unit, checked_units

Formulas = tuple[tuple[str, ...], ...]
SAMPLES = 64
MOST_TERMS = 100_000  # of a formula that is multiplied out for a proof; SymPy takes seconds for as many


class Model(ABC):
    """Base of everything that can be compiled: names, parameters, ports, and a derived `Form`.

    Models do not change; `with_params` gives a changed copy.
    """

    name: str
    states: tuple[str, ...]
    positions: tuple[str, ...]
    params: dict[str, float]
    ports: dict[str, Port]
    signals: tuple[str, ...]
    units: Mapping[str, Unit] = MappingProxyType({})
    constraints: Mapping[str, str] = MappingProxyType({})  # name -> formula that stays 0: see Constrained
    opaque: bool = False  # nothing is known of its energy
    steps_apart: bool = False  # it brings kernels of its own instead of formulas: see `piece`
    vectors: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # names for several states or records together
    couplings: tuple[str, ...] = ()  # springs whose far ends are moved between two steps
    figures: Sequence[float] = ()  # numbers that its kernels find in FIGURES
    recorded: tuple[str, ...] = ()  # what it records besides, each a mean over the step

    @property
    @abstractmethod
    def minimum(self) -> dict[str, float] | None:
        """The state of least energy at the present parameters, where the model states one."""

    @property
    def kept(self) -> tuple[str, ...]:
        """The states that a run records."""
        return self.states

    @property
    def shown(self) -> tuple[str, ...]:
        """The states that a picture shows."""
        return self.kept

    @property
    def initial(self) -> dict[str, float] | None:
        """The state it starts in unless told otherwise; None: 0."""
        return self.minimum

    def placed(self, values: Mapping[str, float]) -> dict[str, float]:
        """States that are put by hand, with what follows from them."""
        return dict(values)

    def hint(self, state: Mapping[str, float], step: float) -> str:
        """What of the model may be why no step could be taken from a state, as a sentence."""
        return ""

    def coupled(self, port: str, name: str, k: float, turning: float) -> Model:
        """The model with a spring at an effort port, whose far end is the flow port `name` (spec 4.8)."""
        from passivo.model.coupled import Coupled

        return Coupled(self, port, k, name)

    def coupling(self, name: str) -> tuple[str, list[str], str]:
        """Of such a spring: the first state that moves with its far end, its stiffness for each component of the port,
        and its row in the ledger."""
        raise ModelError(f"{self.name!r} has no coupling {name!r}")

    def snapshot(self) -> Model:
        """The model as it is now."""
        return self

    def piece(self, method: Any, formulas: Mapping[str, Any], base: int, engine: Any) -> Any:
        """The piece of a generated module of a model that `steps_apart`, its memory from `base` to SIZE."""
        raise ModelError(f"{self.name!r} is stepped by its formulas")

    def house(self, memory: np.ndarray, module: Any) -> Any:
        """Put into a memory what it must not share with any other, such as addresses of what is written to in a step;
        what is returned lives as long as the memory."""
        return None

    def settled(self, house: Any, state: np.ndarray, params: Mapping[str, float], where: str) -> dict[str, float]:
        """Further states that follow from a state that is put by hand; raises where that cannot be."""
        return {}

    def told_crowd(self, house: Any) -> str:
        """How to make room, where a step had more contacts than there is room for."""
        return "more contacts than there is room for"

    @property
    def width(self) -> int:
        """Number of port components."""
        return sum(port.width for port in self.ports.values())

    def unit(self, name: str, gives: bool = False) -> str:
        """The unit of a state, signal or parameter, or of what a port takes (or gives); "" where none is stated."""
        unit = self.units.get(name, "")
        return unit if isinstance(unit, str) else unit[gives]

    @property
    def lossy(self) -> bool:
        """Whether it may lose power inside with the present parameters; True where that is not known."""
        parts: Mapping[str, Model] = getattr(self, "parts", {})
        return any(part.lossy for part in parts.values()) if parts else True

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Everything the model is, as plain data (parameter values included)."""

    @abstractmethod
    def check(self, params: Mapping[str, float]) -> None:
        """Raise unless the model is passive with these parameter values."""

    @abstractmethod
    def with_params(self, **params: float) -> Model:
        """The same model with other parameter values, checked."""

    @cached_property
    def form(self) -> Form:
        """The derived form, from which code is generated."""
        return self._derive()

    @abstractmethod
    def _derive(self) -> Form: ...

    def changed(self, changes: Mapping[str, float]) -> dict[str, float]:
        """All parameter values after `changes`, checked."""
        values = dict(self.params)
        for key, value in changes.items():
            if key not in values:
                raise ModelError(f"{self.name!r} has no parameter {quoted(key)}; {nearest(key, values)}")
            values[key] = number(value, f"parameter {key!r}")
        self.check(values)
        return values


class System(Model):
    """A port-Hamiltonian system `x' = (J − R) ∇H + G u`, `y = G'∇H + D u`.

    states       names or symbols
    energy       H, a scalar formula in states and parameters, in joules
    structure    J, skew, n × n; may depend on states, parameters and signals; default 0
    loss         R, symmetric and >= 0; default 0
    ports        name -> `effort(...)` or `flow(...)`
    params       name or symbol -> value
    signals      names of inputs that carry no power (they may stand in J, R, G and D)
    feedthrough  D over all port components in order; its symmetric part must be >= 0; default 0
    minimum      state -> value or formula of parameters: the state of least energy, for methods that need it;
                 also the default start
    domain       a condition such as "q > 0" outside which the model means nothing
    positions    the states that are positions, for `SymplecticEuler`
    limits       conditions on parameters such as "m > 0", held when built and at every change
    units        state, signal or parameter -> unit such as "m"; port -> (unit it takes, unit it gives); for readers
    """

    def __init__(
        self,
        states: Sequence[Any],
        energy: Any,
        structure: Any = None,
        loss: Any = None,
        ports: Mapping[str, Port] | None = None,
        params: Mapping[Any, float] | None = None,
        *,
        signals: Sequence[Any] = (),
        feedthrough: Any = None,
        minimum: Mapping[Any, Any] | None = None,
        domain: Any = None,
        positions: Sequence[Any] = (),
        limits: Sequence[Any] = (),
        units: Mapping[Any, Any] | None = None,
        name: str = "system",
    ):
        self.name = checked_name(name, "the system's name")
        self.states = name_list(states, "states")
        self.signals = name_list(signals, "signals")
        self.positions = name_list(positions, "positions")
        for what, given in (("params", params), ("ports", ports), ("minimum", minimum)):
            if given is not None and not isinstance(given, Mapping):
                raise ModelError(f"{what} must map names to values, as in {{'name': ...}}, not {quoted(given)}")
        self.params = {str(k): number(v, f"parameter {str(k)!r}") for k, v in (params or {}).items()}
        self.ports = {str(k): port for k, port in (ports or {}).items()}
        check_names(states=self.states, parameters=self.params, ports=self.ports, signals=self.signals)
        plain = {**dict.fromkeys(self.states + self.signals), **self.params, **self.constraints}
        self.units = checked_units(units, plain, self.ports)
        for state in self.positions:
            if state not in self.states:
                raise ModelError(f"positions name {quoted(state)}, which is no state; {nearest(state, self.states)}")

        n, w = len(self.states), self._check_ports()
        self.energy = self._formula(energy, "the energy", {*self.states, *self.params})
        self.structure = self._matrix(structure, n, "structure")
        self.loss = self._matrix(loss, n, "loss")
        self.feedthrough = self._matrix(feedthrough, w, "feedthrough")
        self.domain = None if domain is None else self._condition(domain, "the domain", {*self.states, *self.params})
        self.limits = tuple(self._condition(limit, "a limit", set(self.params)) for limit in limits)
        self._minimum = None if minimum is None else self._state(minimum)
        if n == 0 and not self.ports:
            raise ModelError("a system needs at least one state or one port")
        self.check(self.params)

    def _check_ports(self) -> int:
        for name, port in self.ports.items():
            if not isinstance(port, Port):
                raise ModelError(f"port {name!r} must be made by pv.effort(...) or pv.flow(...), not {port!r}")
            if len(port.matrix) != len(self.states):
                raise ModelError(
                    f"port {name!r} has {len(port.matrix)} rows for {len(self.states)} states "
                    f"({', '.join(self.states)}); give one entry per state"
                )
            for row in port.matrix:
                for entry in row:
                    self._formula(entry, f"port {name!r}", self._scope)
        return self.width

    @property
    def _scope(self) -> set[str]:
        return {*self.states, *self.params, *self.signals}

    def _formula(self, value: Any, what: str, scope: set[str]) -> str:
        text = self._read(value, what, scope)
        if is_condition(text):
            raise ModelError(f"{what} must be a number, not the condition {quoted(text)}; put it into domain")
        return text

    def _condition(self, value: Any, what: str, scope: set[str]) -> str:
        text = self._read(value, what, scope)
        if not is_condition(text):
            raise ModelError(f"{what} must be a condition such as 'q > 0', not {quoted(text)}")
        return text

    def _read(self, value: Any, what: str, scope: set[str]) -> str:
        if isinstance(value, list | tuple) or (hasattr(value, "shape") and getattr(value, "shape", ()) != ()):
            raise ModelError(f"{what} must be one scalar formula, not {quoted(value)}")
        text = to_text(value)
        for name in sorted(names(text) - scope):
            if name in self._scope:
                raise ModelError(f"{what} must not depend on the signal {name!r}: a signal carries no power")
            raise ModelError(
                f"{what} uses {quoted(name)}, which is neither a state nor a parameter with a value: "
                f"add it to params, or {nearest(name, sorted(scope))}"
            )
        return text

    def _matrix(self, matrix: Any, size: int, what: str) -> Formulas:
        if matrix is None:
            return tuple(("0",) * size for _ in range(size))
        if size == 0:
            if np.size(matrix) == 0:
                return ()
            missing = "ports" if what == "feedthrough" else "states"
            raise ModelError(f"a {what} is given, but there are no {missing}; leave it out or add {missing}")
        rows = formulas(matrix, f"the {what}")
        if len(rows) != size or len(rows[0]) != size:
            raise ModelError(f"the {what} is {len(rows)} × {len(rows[0])}, expected {size} × {size}")
        return tuple(tuple(self._formula(entry, f"the {what}", self._scope) for entry in row) for row in rows)

    def _state(self, values: Mapping[Any, Any]) -> dict[str, str]:
        result = dict.fromkeys(self.states, "0")
        for key, value in values.items():
            name = str(key)
            if name not in result:
                raise ModelError(f"the minimum names {quoted(name)}, which is no state; {nearest(name, self.states)}")
            if isinstance(value, float | int):
                number(value, f"the minimum of {name!r}")
            result[name] = self._formula(value, f"the minimum of {name!r}", set(self.params))
        return result

    @property
    def minimum(self) -> dict[str, float] | None:
        if self._minimum is None:
            return None
        return {name: float(evaluate(text, self.params)) for name, text in self._minimum.items()}

    @property
    def lossy(self) -> bool:
        D = self.feedthrough  # the skew part of it loses nothing
        pairs = [(D[i][j], D[j][i]) for i in range(len(D)) for j in range(i + 1)]
        entries = {text for row in self.loss for text in row} | {
            f"({a}) + ({b})" for a, b in pairs if a != "0" or b != "0"
        }
        samples = self.samples(self.params) if entries - {"0"} else {}
        return any(bool(np.any(evaluate(text, samples) != 0)) for text in entries - {"0"})

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "System",
            "name": self.name,
            "states": list(self.states),
            "energy": self.energy,
            "structure": [list(row) for row in self.structure],
            "loss": [list(row) for row in self.loss],
            "ports": {k: [p.kind, p.width, [list(row) for row in p.matrix]] for k, p in self.ports.items()},
            "params": dict(self.params),
            "signals": list(self.signals),
            "feedthrough": [list(row) for row in self.feedthrough],
            "minimum": self._minimum,
            "domain": self.domain,
            "positions": list(self.positions),
            "limits": list(self.limits),
            "units": {k: unit if isinstance(unit, str) else list(unit) for k, unit in self.units.items()},
        }

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> System:
        ports = {
            k: Port(kind, width, tuple(tuple(row) for row in matrix))
            for k, (kind, width, matrix) in data["ports"].items()
        }
        rest = {k: v for k, v in data.items() if k not in ("kind", "ports")}
        if not data["states"]:
            rest["structure"] = rest["loss"] = None
        if not ports:
            rest["feedthrough"] = None
        return cls(**rest, ports=ports)

    def with_params(self, **params: float) -> System:
        twin = copy.copy(self)  # formulas are shared; only the values differ
        twin.params = self.changed(params)
        return twin

    def check(self, params: Mapping[str, float]) -> None:
        """J skew, R symmetric and >= 0, D + D' >= 0, H finite: proved where possible, else at sampled states."""
        for limit in self.limits:
            if not evaluate(limit, params):
                given = ", ".join(f"{name} = {params[name]:g}" for name in sorted(names(limit)))
                raise ModelError(f"{self.name} needs {limit}, but {given}")
        samples = self.samples(params)
        check_finite(self.structure, "structure", samples)
        for name, port in self.ports.items():
            check_finite(port.matrix, f"port {name!r}", samples)
        check_symmetry(self.structure, -1, "structure", samples)
        check_symmetry(self.loss, +1, "loss", samples)
        check_nonnegative(self.loss, "loss", samples, params)
        check_nonnegative(self.feedthrough, "feedthrough", samples, params)
        energy = np.asarray(evaluate(self.energy, samples, FLOAT), dtype=float)
        if not np.isfinite(energy).any():
            raise ModelError(
                f"the energy {quoted(self.energy)} is not finite at any of {SAMPLES} sampled states; state a domain"
            )

    def samples(self, params: Mapping[str, float]) -> dict[str, Any]:
        """Random states inside the domain, parameters at their values, random signals; seeded."""
        rng = np.random.default_rng(0)
        scale = np.array([0.01, 0.1, 1.0, 10.0]).repeat(SAMPLES // 4)
        values: dict[str, Any] = {name: rng.standard_normal(SAMPLES) * scale for name in self.states + self.signals}
        values.update(params)
        if self.domain is not None:
            flipped = {name: -values[name] for name in self.states}
            inside = np.broadcast_to(evaluate(self.domain, values), SAMPLES)
            for name in self.states:
                values[name] = np.where(inside, values[name], flipped[name])
            inside = np.broadcast_to(evaluate(self.domain, values), SAMPLES)
            if not inside.any():
                raise ModelError(f"no sampled state lies inside the domain {quoted(self.domain)}; is it contradictory?")
            for name in self.states + self.signals:
                values[name] = values[name][inside]
        return values

    def _derive(self) -> Form:
        import sympy as sp

        scope = {name: sp.Symbol(name, real=True) for name in (*self.states, *self.params, *self.signals)}
        read = lambda text: evaluate(text, scope, symbolic())  # noqa: E731
        n, w = len(self.states), self.width
        matrix = lambda rows, shape: sp.Matrix(*shape, [read(e) for row in rows for e in row])  # noqa: E731
        g = tuple(sp.Symbol(f"∇{name}", real=True) for name in self.states)
        u = tuple(sp.Symbol(f"{name}[{i}]", real=True) for name, port in self.ports.items() for i in range(port.width))
        loss, feedthrough = matrix(self.loss, (n, n)), matrix(self.feedthrough, (w, w))
        blocks = [matrix(port.matrix, (n, port.width)) for port in self.ports.values()]
        G = sp.Matrix.hstack(*blocks) if blocks else sp.zeros(n, 0)
        lost = quadratic(loss, g) + quadratic(feedthrough, u)
        lowest = self._minimum if self.states else {}
        return Form(
            states=tuple(scope[name] for name in self.states),
            gradient=g,
            inputs=u,
            signals=tuple(scope[name] for name in self.signals),
            params=tuple(scope[name] for name in self.params),
            structure=matrix(self.structure, (n, n)),
            loss=loss,
            ports=G,
            readout=G.T,
            feedthrough=feedthrough,
            rows=(Row(self.name, tuple(range(n)), read(self.energy), lost, ()),),
            input_rows=(0,) * w,
            domain=None if self.domain is None else read(self.domain),
            minimum=None if lowest is None else tuple(read(lowest[name]) for name in self.states),
        )

    def __repr__(self) -> str:
        return f"System({self.name!r}, states={list(self.states)}, energy={self.energy!r}, ports={list(self.ports)})"


def quadratic(matrix: Any, vector: Sequence[Any]) -> Any:
    """v' M v, term by term, zero entries left out."""
    import sympy as sp

    n = len(vector)
    return sp.Add(*(matrix[i, j] * vector[i] * vector[j] for i in range(n) for j in range(n) if matrix[i, j] != 0))


def number(value: Any, what: str) -> float:
    """A finite number; text is none, however much it looks like one."""
    try:
        result = float(value if not isinstance(value, str) else None)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a number, not {quoted(value)}") from None
    if not math.isfinite(result):
        raise ModelError(f"{what} must be finite, not {result}")
    return result


def checked_name(name: Any, what: str) -> str:
    name = str(name)
    if not name.isidentifier() or name.startswith("__"):
        raise ModelError(f"{what} {quoted(name)} is not a plain name; use letters, digits and _")
    if name in RESERVED or keyword.iskeyword(name):
        raise ModelError(f"{what} {name!r} is reserved; choose another, such as {name + '1'!r}")
    return name


def check_names(**groups: Any) -> None:
    """A name is a state, a parameter, a port or a signal, never two of them."""
    seen: dict[str, str] = {}
    for group, members in groups.items():
        for name in members:
            checked_name(name, f"the name in {group}")
            if name in seen:
                raise ModelError(f"the name {quoted(name)} stands in {seen[name]} and in {group}; rename one of them")
            seen[name] = group


def name_list(given: Any, what: str) -> tuple[str, ...]:
    """Names from names or symbols; a single one may stand without brackets."""
    if isinstance(given, str | Formula) or hasattr(given, "free_symbols"):
        given = (given,)
    if not isinstance(given, Iterable):
        raise ModelError(f"{what} must be a list of names or symbols, not {quoted(given)}")
    return tuple(str(name) for name in given)


def check_finite(matrix: Formulas, what: str, samples: Mapping[str, Any]) -> None:
    for row in matrix:
        for text in row:
            if text != "0" and not np.any(np.isfinite(evaluate(text, samples))):
                raise ModelError(f"the entry {quoted(text)} of the {what} is not finite at any sampled state")


def check_symmetry(matrix: Formulas, sign: int, what: str, samples: Mapping[str, Any]) -> None:
    """M' = sign · M: by comparing formulas, by SymPy, or at the sampled states."""
    for i, row in enumerate(matrix):
        for j in range(i + 1):
            upper, lower = matrix[j][i], row[j]
            if _plainly(upper, lower, sign) or _proved(upper, lower, sign):
                continue
            a, b = evaluate(upper, samples), evaluate(lower, samples)
            with np.errstate(all="ignore"):  # inf - inf is NaN, and refused
                gap = np.abs(a - sign * b)
                unequal = np.any(gap > 1e-12 * (np.abs(a) + np.abs(b))) or not np.all(np.isfinite(gap))
            if unequal:
                kind = "skew" if sign < 0 else "symmetric"
                if i == j:
                    raise ModelError(
                        f"the {what} is not {kind}: entry ({i + 1}, {i + 1}) is {lower[:80]}, expected 0; "
                        "a term that takes energy away belongs into loss"
                    )
                raise ModelError(
                    f"the {what} is not {kind}: entry ({j + 1}, {i + 1}) is {upper[:80]} "
                    f"and entry ({i + 1}, {j + 1}) is {lower[:80]}; "
                    f"expected the second to be {'minus ' if sign < 0 else ''}the first"
                )


def _plainly(upper: str, lower: str, sign: int) -> bool:
    if sign > 0:
        return upper == lower
    if upper == lower == "0":
        return True
    # a minus sign in front negates a product, not a sum: -1 + q is not -(1 + q)
    return (upper == f"-{lower}" and not is_sum(lower)) or (lower == f"-{upper}" and not is_sum(upper))


@lru_cache(maxsize=4096)  # of the formulas alone: another value of a parameter needs no SymPy
def _proved(upper: str, lower: str, sign: int) -> bool:
    import sympy as sp

    if max(terms(upper), terms(lower)) > MOST_TERMS:
        return False
    scope = {name: sp.Symbol(name, real=True) for name in names(upper) | names(lower)}
    gap = evaluate(upper, scope, symbolic()) - sign * evaluate(lower, scope, symbolic())
    return bool(gap == 0 or sp.expand(gap) == 0)


def check_nonnegative(matrix: Formulas, what: str, samples: Mapping[str, Any], params: Mapping[str, float]) -> None:
    """Least eigenvalue of the symmetric part >= 0, at the sampled states where the matrix depends on them."""
    n = len(matrix)
    entries = [(i, j, matrix[i][j]) for i in range(n) for j in range(n) if matrix[i][j] != "0"]
    if not entries:
        return
    used = set().union(*(names(text) for _, _, text in entries))
    values: Mapping[str, Any] = params if used <= set(params) else samples
    count = 1 if values is params else len(next(v for k, v in samples.items() if k not in params))
    dense = np.zeros((count, n, n))
    for i, j, text in entries:
        dense[:, i, j] = evaluate(text, values)
    if not np.isfinite(dense).all():
        raise ModelError(f"the {what} is not finite at some states; state a domain")
    least = np.linalg.eigvalsh(dense / 2 + dense.transpose(0, 2, 1) / 2)[:, 0]
    size = np.abs(dense).max(axis=(1, 2))
    worst = int(np.argmin(least / np.where(size > 0, size, 1)))
    if least[worst] < -1e-12 * size[worst]:
        where = "" if values is params else " at " + ", ".join(
            f"{k} = {samples[k][worst]:.3g}" for k in samples if k not in params
        )  # fmt: skip
        raise ModelError(
            f"the {what} is negative: its least eigenvalue is {least[worst]:.6g}{where}. "
            "A negative loss creates energy; turn its sign, or describe the source as a port"
        )
