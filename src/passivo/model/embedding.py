"""Between a model with constraints and the same model in coordinates of its own: r = i(q) (spec 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from passivo.errors import InputError, ModelError, nearest, quoted
from passivo.model.constrained import DEPENDENT, Constrained
from passivo.model.expression import evaluate, names, symbolic, to_text
from passivo.model.mechanical import Mechanical, canonical, momentum_name
from passivo.model.ports import Port
from passivo.model.system import System, check_names, name_list

STARTS = 32  # of the search for coordinates
SEARCH = 60
LOST = 1e-9  # |i(q) − r| against |r|: no coordinates belong to these positions


class Embedding:
    """`r = i(q)` into the positions of a `Constrained` model, so that every constraint is 0 for all q.

        ṙ = i* q̇,   M̂ = i*'M i*,   p̂ = i*'p,   p = M i* M̂⁻¹ p̂,   Û = i*'U(i(q)),   Ĥ = H(i, p)

    with i* = ∂i/∂q and M the inverse of ∂²H/∂p². Where the kinetic energy is no quadratic form, p̂ and p belong together
    by the fibre derivative: ∂H/∂p = i* q̇ and i*'p = p̂, solved by Newton's method.

    model        a Constrained
    coordinates  names or symbols, as many as positions less constraints
    positions    position -> formula of coordinates and the model's parameters
    momenta      names of p̂; default: q -> p, q1 -> p1, angle -> p_angle

    `explicit` is the model in these coordinates; `lift` and `project` take a state there and back.
    """

    def __init__(
        self,
        model: Constrained,
        coordinates: Sequence[Any],
        positions: Mapping[Any, Any],
        momenta: Sequence[Any] | None = None,
    ):
        if not isinstance(model, Constrained):
            raise ModelError(f"an Embedding leads into a pv.Constrained, not {quoted(model)}")
        self.model = model
        self.coordinates = name_list(coordinates, "the coordinates")
        freedom = len(model.positions) - len(model.constraints)
        if len(self.coordinates) != freedom:
            raise ModelError(
                f"{model.name!r} has {len(model.positions)} positions and {len(model.constraints)} constraints, "
                f"so {freedom} coordinates, not {len(self.coordinates)}"
            )
        given = [momentum_name(q) for q in self.coordinates] if momenta is None else name_list(momenta, "momenta")
        self.momenta = tuple(given)
        if len(self.momenta) != freedom:
            raise ModelError(f"{freedom} coordinates need {freedom} momenta, got {len(self.momenta)}")
        check_names(coordinates=self.coordinates, momenta=self.momenta, parameters=model.params)
        self.positions = self._formulas(positions)
        self._check_constraints()

    def _formulas(self, given: Any) -> dict[str, str]:
        if not isinstance(given, Mapping):
            raise ModelError(f"positions must map positions to formulas of the coordinates, not {quoted(given)}")
        found = {str(key): to_text(value) for key, value in given.items()}
        for name in found:
            if name not in self.model.positions:
                hint = nearest(name, self.model.positions)
                raise ModelError(f"{self.model.name!r} has no position {quoted(name)}; {hint}")
        if missing := [name for name in self.model.positions if name not in found]:
            raise ModelError(f"there is no formula for {', '.join(missing)}; give one for every position")
        known = {*self.coordinates, *self.model.params}
        for name, text in found.items():
            if unknown := sorted(names(text) - known):
                hint = nearest(unknown[0], sorted(known))
                raise ModelError(f"the formula of {name} uses {quoted(unknown[0])}, no coordinate or parameter; {hint}")
        return {name: found[name] for name in self.model.positions}

    def _check_constraints(self) -> None:
        """g(i(q)) = 0 for all q: proved where SymPy can, else at sampled coordinates; and i* has full rank."""
        import sympy as sp

        samples = np.random.default_rng(0).uniform(-1.0, 1.0, (STARTS, len(self.coordinates)))
        place = np.array([self._place(q) for q in samples])
        if not np.isfinite(place).all():
            raise ModelError("the positions are not finite at some coordinates between -1 and 1")
        size = np.abs(self.model.slopes(place, self.model.params)).sum(axis=-1) * np.abs(place).max(axis=-1)[:, None]
        gaps = np.abs(self.model.gaps(place, self.model.params)) / np.where(size > 0, size, 1.0)
        for j, (name, row) in enumerate(self._form.constraints.items()):
            if gaps[:, j].max() > 1e-9:
                inside = sp.simplify(row.xreplace(self._map))
                raise ModelError(
                    f"the embedding does not keep the constraint {name!r}: for these formulas it is "
                    f"{quoted(to_text(inside))}, which is not 0"
                )
        if (np.linalg.svd(np.array([self._slopes(q) for q in samples]), compute_uv=False)[:, -1] < DEPENDENT).all():
            raise ModelError("the positions do not move with all coordinates: ∂r/∂q has dependent columns")

    # -- symbolic ---------------------------------------------------------------------------------------------------

    @cached_property
    def _form(self) -> Any:
        return self.model.form

    @cached_property
    def _scope(self) -> dict[str, Any]:
        import sympy as sp

        return {name: sp.Symbol(name, real=True) for name in (*self.coordinates, *self.momenta, *self.model.params)}

    @cached_property
    def _map(self) -> dict[Any, Any]:
        """Position symbol -> its formula."""
        import sympy as sp

        texts = zip(self._form.states, self.positions.values())
        return {r: sp.sympify(evaluate(text, self._scope, symbolic())) for r, text in texts}

    @cached_property
    def tangent(self) -> Any:
        """i* as a SymPy matrix."""
        import sympy as sp

        q = [self._scope[name] for name in self.coordinates]
        return sp.Matrix([[sp.diff(row, x) for x in q] for row in self._map.values()])

    @cached_property
    def _inertia(self) -> Any:
        """M = (∂²H/∂p²)⁻¹ at p = 0, on the constraints."""
        import sympy as sp

        _, p = self._halves
        still = dict.fromkeys(p, sp.Integer(0))
        W = sp.Matrix([[sp.diff(self._form.energy, a, b).subs(still).xreplace(self._map) for b in p] for a in p])
        return (sp.diag(*(1 / w for w in W.diagonal())) if W.is_diagonal() else W.inv()).applyfunc(sp.simplify)

    @property
    def _halves(self) -> tuple[Any, Any]:
        half = len(self.model.positions)
        return self._form.states[:half], self._form.states[half:]

    @cached_property
    def mass(self) -> Any:
        """M̂ = i*'M i* as a SymPy matrix."""
        import sympy as sp

        return (self.tangent.T * self._inertia * self.tangent).applyfunc(sp.trigsimp)

    @cached_property
    def ports(self) -> dict[str, Port]:
        """Û = i*'U for each port."""
        import sympy as sp

        half, found, at = len(self.model.positions), {}, 0
        for name, port in self.model.ports.items():
            block = self._form.ports[half:, at : at + port.width].xreplace(self._map)
            pulled = (self.tangent.T * block).applyfunc(sp.simplify)
            found[name] = Port("effort", port.width, tuple(tuple(map(to_text, row)) for row in pulled.tolist()))
            at += port.width
        return found

    @cached_property
    def explicit(self) -> System:
        """The model in its own coordinates: states q and p̂, Ĥ = H(i, p), ports Û, loss i*'B i*."""
        import sympy as sp

        half, (r, p) = len(self.model.positions), self._halves
        loss = self._form.loss[half:, half:].xreplace(self._map)
        damping = (self.tangent.T * loss * self.tangent).applyfunc(sp.simplify)
        rows = [list(map(to_text, row)) for row in damping.tolist()]
        options: dict[str, Any] = {
            "params": self.model.params,
            "limits": self.model.limits,
            "name": f"{self.model.name}_explicit",
            "units": {name: unit for name, unit in self.model.units.items() if name in self.model.params}
            | {name: self.model.units[name] for name in self.model.ports if name in self.model.units},
        }
        energy = self._form.energy
        still = dict.fromkeys(p, sp.Integer(0))
        quadratic = energy.is_polynomial(*p) and sp.Poly(energy, *p).total_degree() == 2
        if quadratic and all(sp.diff(energy, x).subs(still) == 0 for x in p):
            potential = sp.trigsimp(energy.subs(still).xreplace(self._map))
            mass = [list(map(to_text, row)) for row in self.mass.tolist()]
            return Mechanical(
                self.coordinates, mass, to_text(potential), rows, self.ports, momenta=self.momenta, **options
            )
        momenta = [self._scope[name] for name in self.momenta]
        lifted = list(self._inertia * self.tangent * self.mass.inv() * sp.Matrix(momenta))
        here = {**self._map, **dict(zip(p, lifted))}
        speed = sp.Matrix([sp.diff(energy, x) for x in p])
        slopes = sp.Matrix([[sp.diff(g, x) for x in r] for g in self._form.constraints.values()])
        if any(sp.simplify(rate.xreplace(here)) != 0 for rate in slopes * speed):
            raise ModelError(
                f"the kinetic energy of {self.model.name!r} is not quadratic, and no formula is known for p of p̂: "
                "there is no explicit model; lift and project still take states there and back"
            )
        k = len(self.coordinates)
        zero = ["0"] * k
        return System(
            [*self.coordinates, *self.momenta],
            to_text(sp.simplify(energy.xreplace(here))),
            canonical(k),
            [[*zero, *zero]] * k + [[*zero, *row] for row in rows],
            {
                name: Port("effort", port.width, ((("0",) * port.width,) * k + port.matrix))
                for name, port in self.ports.items()
            },
            positions=self.coordinates,
            **options,
        )

    # -- states -----------------------------------------------------------------------------------------------------

    def lift(self, state: Mapping[str, float]) -> dict[str, float]:
        """(r, p) of a state (q, p̂) whose names may be left out where they are 0: a consistent start of the model."""
        given = self._given(state, (*self.coordinates, *self.momenta))
        q, wanted = np.array([given[n] for n in self.coordinates]), np.array([given[n] for n in self.momenta])
        place, down = self._place(q), self._slopes(q)
        p, k = np.zeros(len(place)), len(q)
        rates = np.zeros(k)
        last = np.inf
        for _ in range(SEARCH):  # [∂H/∂p − i* q̇, i*'p − p̂] = 0: one step where the kinetic energy is quadratic
            speed, bend = self._speed(place, p)
            gap = np.concatenate([speed - down @ rates, down.T @ p - wanted])
            size = float(np.abs(gap).max())
            if not size < last and size <= 1e-9 * (1 + np.abs(p).max()):
                break
            last = size
            matrix = np.block([[bend, -down], [down.T, np.zeros((k, k))]])
            change = np.linalg.solve(matrix, gap)
            p, rates = p - change[: len(p)], rates - change[len(p) :]
        else:
            raise InputError(f"no momenta were found for {dict(given)}: is the kinetic energy convex there?")
        return dict(zip(self.model.states, [*place.tolist(), *p.tolist()]))

    def project(self, state: Mapping[str, float], near: Mapping[str, float] | None = None) -> dict[str, float]:
        """(q, p̂) of a state of the model; of several q the one that a search from `near` finds first."""
        given = self._given(state, self.model.states)
        place = np.array([given[name] for name in self.model.positions])
        p = np.array([given[name] for name in self.model.momenta])
        known = self._given(near or {}, (*self.coordinates, *self.momenta))
        first = {name: known[name] for name in self.coordinates}
        rng = np.random.default_rng(0)
        starts = [np.array(list(first.values())), *rng.uniform(-np.pi, np.pi, (STARTS, len(first)))]
        found = [self._search(start, place) for start in starts[:1]]
        size = np.abs(place).max()
        if not np.abs(self._place(found[0]) - place).max() <= LOST * size:
            found = [self._search(start, place) for start in starts]
        gaps = [np.abs(self._place(q) - place).max() for q in found]
        best = int(np.argmin(np.where(np.isfinite(gaps), gaps, np.inf)))
        if not gaps[best] <= LOST * size:
            raise InputError(
                f"no coordinates {', '.join(self.coordinates)} were found for {dict(given)}; give near=..."
            )
        q = found[best]
        values = [*q.tolist(), *(self._slopes(q).T @ p).tolist()]
        return dict(zip((*self.coordinates, *self.momenta), values))

    def _search(self, q: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Gauss–Newton on i(q) = r, steps halved while they lead away."""
        gap = self._place(q) - place
        for _ in range(SEARCH):
            step, *_rest = np.linalg.lstsq(self._slopes(q), gap, rcond=None)
            for _ in range(20):
                new = self._place(q - step) - place
                if np.linalg.norm(new) < np.linalg.norm(gap):
                    break
                step = step / 2
            else:
                return q
            q, gap = q - step, new
        return q

    def _given(self, state: Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
        values = dict.fromkeys(known, 0.0)
        for key, value in state.items():
            if str(key) not in values:
                raise InputError(f"there is no {quoted(str(key))} here; {nearest(str(key), known)}")
            values[str(key)] = float(value)
        return values

    def _place(self, q: np.ndarray) -> np.ndarray:
        values = {**self.model.params, **dict(zip(self.coordinates, q))}
        return np.array([float(evaluate(text, values)) for text in self.positions.values()])

    def _slopes(self, q: np.ndarray) -> np.ndarray:
        return self._values(self._tangent_texts, {**self.model.params, **dict(zip(self.coordinates, q))})

    def _speed(self, place: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂H/∂p and ∂²H/∂p²."""
        values = {**self.model.params, **dict(zip(self.model.states, [*place, *p]))}
        table = self._values(self._speed_texts, values)
        return table[:, 0], table[:, 1:]

    @cached_property
    def _tangent_texts(self) -> list[list[str]]:
        return [list(map(to_text, row)) for row in self.tangent.tolist()]

    @cached_property
    def _speed_texts(self) -> list[list[str]]:
        import sympy as sp

        _, p = self._halves
        speed = [sp.diff(self._form.energy, x) for x in p]
        return [[to_text(v), *(to_text(sp.diff(v, x)) for x in p)] for v in speed]

    @staticmethod
    def _values(texts: list[list[str]], values: Mapping[str, Any]) -> np.ndarray:
        return np.array([[float(evaluate(text, values)) for text in row] for row in texts])
