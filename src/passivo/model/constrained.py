"""Mechanical systems with constraints, described by more positions than they have freedoms (spec 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.model.expression import evaluate, names, symbolic
from passivo.model.form import Form
from passivo.model.mechanical import canonical, lift_port, square
from passivo.model.ports import Port
from passivo.model.system import System, check_names, name_list, number

SEARCH = 40  # Gauss–Newton steps from a random place onto the constraints
REACHED = 1e-9  # |g| against |∂g/∂r| |r|: a sampled place counts as consistent
FLAT = 1e-4  # |∂g/∂r| against what it is elsewhere
DEPENDENT = 1e-6  # least singular value of the normalised G: below it, rows are dependent


class Constrained(System):
    """`r' = ∂H/∂p`, `p' = −∂H/∂r − G'λ − B ∂H/∂p + U u`, `0 = g(r)`, `y = U'∂H/∂p`, with G = ∂g/∂r.

    positions    r, names or symbols
    momenta      p, as many
    energy       H(r, p), a scalar formula
    constraints  name -> g, a formula of the positions that is 0 wherever the system may be; the name is that of its
                 multiplier λ, too, which a run records: `run["bar"]`
    ports        name -> pv.effort(U), one row per position: forces in, velocities out
    loss         B(r), symmetric and >= 0, acts on the velocities ∂H/∂p; default 0
    params       name or symbol -> value

    minimum, domain, limits and units as of a `System`. The force of a constraint is −λ ∂g/∂r: a bar
    `x**2 + y**2 − l**2` is under the tension 2 l λ. Along a motion `∂H/∂p·∂g/∂r = 0` holds as well: a start must keep
    both, and `pv.consistent` finds the nearest that does. Constraints that follow from each other are an error.
    """

    def __init__(
        self,
        positions: Sequence[Any],
        momenta: Sequence[Any],
        energy: Any,
        constraints: Mapping[Any, Any],
        ports: Mapping[str, Port] | None = None,
        loss: Any = None,
        params: Mapping[Any, float] | None = None,
        *,
        minimum: Mapping[Any, Any] | None = None,
        domain: Any = None,
        limits: Sequence[Any] = (),
        units: Mapping[Any, Any] | None = None,
        name: str = "constrained",
    ):
        r, p = list(name_list(positions, "positions")), list(name_list(momenta, "momenta"))
        k = len(r)
        if len(p) != k or k == 0:
            raise ModelError(f"{k} positions need {k} momenta (and at least one of each), got {len(p)}")
        if not isinstance(constraints, Mapping) or not constraints:
            raise ModelError(
                "constraints must map names to formulas of the positions, as in {'bar': x**2 + y**2 - l**2}, "
                f"at least one, not {quoted(constraints)}; without any, take pv.System or pv.Mechanical"
            )
        if len(constraints) >= k:
            raise ModelError(
                f"{len(constraints)} constraints leave {k} positions no freedom to move; give fewer than positions"
            )
        values = params if isinstance(params, Mapping) else {}
        known = [*r, *map(str, values)]
        given = {str(key): formula for key, formula in constraints.items()}
        check_names(positions=r, momenta=p, parameters=known[k:], ports=ports or {}, constraints=given)
        self.params = {str(key): number(v, f"parameter {str(key)!r}") for key, v in values.items()}
        self.states, self.signals = (*r, *p), ()
        self.constraints = {key: self._constraint(key, formula, known, p) for key, formula in given.items()}
        friction = square(loss, k, "loss") if loss is not None else tuple(("0",) * k for _ in range(k))
        self.friction = friction
        zero = ["0"] * k
        super().__init__(
            states=r + p,
            energy=energy,
            structure=canonical(k),
            loss=[[*zero, *zero]] * k + [[*zero, *row] for row in friction],
            ports={key: lift_port(key, port, k) for key, port in (ports or {}).items()},
            params=params,
            minimum=minimum,
            domain=domain,
            positions=r,
            limits=limits,
            units=units,
            name=name,
        )

    def _constraint(self, key: str, formula: Any, known: Sequence[str], momenta: Sequence[str]) -> str:
        text = self._formula(formula, f"the constraint {key!r}", {*known, *momenta})
        if moving := sorted(names(text) & set(momenta)):
            raise ModelError(
                f"the constraint {key!r} depends on the momentum {moving[0]!r}; "
                "only positions may stand in it (and parameters)"
            )
        if not names(text) & set(self.states):
            raise ModelError(f"the constraint {key!r} ({text}) depends on no position; it holds nothing")
        return text

    @property
    def momenta(self) -> tuple[str, ...]:
        return self.states[len(self.positions) :]

    def describe(self) -> dict[str, Any]:
        k, data = len(self.positions), super().describe()
        data["kind"] = "Constrained"
        data["momenta"] = list(self.momenta)
        data["constraints"] = dict(self.constraints)
        data["loss"] = [list(row) for row in self.friction]
        data["ports"] = {key: [kind, width, rows[k:]] for key, (kind, width, rows) in data["ports"].items()}
        for key in ("states", "structure", "feedthrough", "signals"):
            del data[key]
        return data

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> Constrained:
        ports = {
            key: Port(kind, width, tuple(tuple(row) for row in matrix))
            for key, (kind, width, matrix) in data["ports"].items()
        }
        return cls(**{k: v for k, v in data.items() if k not in ("kind", "ports")}, ports=ports)

    def check(self, params: Mapping[str, float]) -> None:
        """What a system must be; and some states keep the constraints, which are independent there."""
        super().check(params)
        places = self._places(params)
        if not len(places):
            raise ModelError(
                f"no state was found that keeps the constraints ({', '.join(self.constraints)}); "
                "do they contradict each other, with these parameters?"
            )
        slopes = self.slopes(places, params)
        self._check_steepness(slopes, params)
        if dependent(slopes).all():
            raise ModelError(redundant(tuple(self.constraints), slopes[0], "wherever they hold"))

    def _check_steepness(self, slopes: np.ndarray, params: Mapping[str, float]) -> None:
        """A constraint that touches 0, as a square does, holds by no force."""
        everywhere = self.slopes(self._starts(params), params)
        usual = np.nanmedian(np.linalg.norm(everywhere, axis=-1), axis=0)
        flat = (np.linalg.norm(slopes, axis=-1) <= FLAT * usual).all(axis=0)
        for name, still in zip(self.constraints, flat):
            if still:
                raise ModelError(
                    f"the constraint {name!r} ({self.constraints[name]}) has no slope wherever it holds, as a square "
                    "has none; write it so that it changes its sign"
                )

    def _starts(self, params: Mapping[str, float]) -> np.ndarray:
        samples = self.samples(params)
        return np.stack([samples[name] for name in self.positions], axis=1)

    def _places(self, params: Mapping[str, float]) -> np.ndarray:
        """Random positions that keep the constraints, one row each: Gauss–Newton from the samples of `check`."""
        start = self._starts(params)
        if self._minimum is not None:
            lowest = [float(evaluate(self._minimum[name], params)) for name in self.positions]
            start = np.concatenate([[lowest], start])
        place = start
        with np.errstate(all="ignore"):
            for _ in range(SEARCH):
                gap, slopes = self.gaps(place, params), self.slopes(place, params)
                usable = np.isfinite(gap).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
                place, gap, slopes = place[usable], gap[usable], slopes[usable]
                if (reached := consistent(gap, slopes, place)).sum() >= min(8, len(place)):
                    return place[reached]
                place = place - np.einsum("...ij,...j->...i", np.linalg.pinv(slopes, rcond=1e-9), gap)
            usable = np.isfinite(place).all(axis=1)
            gap, slopes = self.gaps(place[usable], params), self.slopes(place[usable], params)
        return place[usable][consistent(gap, slopes, place[usable])]

    def gaps(self, place: np.ndarray, params: Mapping[str, float]) -> np.ndarray:
        """g at positions (..., k)."""
        values = {**params, **dict(zip(self.positions, np.moveaxis(place, -1, 0)))}
        rows = [np.broadcast_to(evaluate(text, values), place.shape[:-1]) for text in self.constraints.values()]
        return np.stack(rows, axis=-1)

    def slopes(self, place: np.ndarray, params: Mapping[str, float]) -> np.ndarray:
        """G at positions, by central differences: for the checks alone, so that building a model needs no SymPy."""
        size = 1e-5 * (1e-3 + np.abs(place).max(axis=-1, initial=0.0))
        columns = []
        for j in range(place.shape[-1]):
            shift = np.zeros_like(place)
            shift[..., j] = size
            columns.append(
                (self.gaps(place + shift, params) - self.gaps(place - shift, params)) / (2 * size[..., None])
            )
        return np.stack(columns, axis=-1)

    def check_start(self, state: Mapping[str, float], params: Mapping[str, float], what: str) -> None:
        """Raise where the constraints are dependent at a state, as in a linkage that is stretched out."""
        place = np.array([state[name] for name in self.positions])
        slopes = self.slopes(place, params)
        if np.isfinite(slopes).all() and dependent(slopes):
            raise ModelError(redundant(tuple(self.constraints), slopes, f"at {what}"))

    def _derive(self) -> Form:
        import sympy as sp

        form = super()._derive()
        scope = {symbol.name: symbol for symbol in (*form.states, *form.params)}
        rows = {name: sp.sympify(evaluate(text, scope, symbolic())) for name, text in self.constraints.items()}
        return replace(form, constraints=rows)

    def __repr__(self) -> str:
        return (
            f"Constrained({self.name!r}, positions={list(self.positions)}, constraints={dict(self.constraints)}, "
            f"ports={list(self.ports)})"
        )


def consistent(gap: np.ndarray, slopes: np.ndarray, place: np.ndarray) -> np.ndarray:
    size = np.abs(slopes).sum(axis=-1) * np.abs(place).max(axis=-1, initial=0.0)[..., None]
    return (np.abs(gap) <= REACHED * size + 1e-300).all(axis=-1)


def normalised(slopes: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(slopes, axis=-1, keepdims=True)
    return slopes / np.where(length > 0, length, 1.0)


def dependent(slopes: np.ndarray) -> Any:
    """Whether G has fewer independent rows than constraints."""
    return np.linalg.svd(normalised(slopes), compute_uv=False)[..., -1] < DEPENDENT


def redundant(titles: tuple[str, ...], slopes: np.ndarray, where: str) -> str:
    """Which constraints follow from each other: those that take part in the combination that vanishes."""
    shares = np.abs(np.linalg.svd(normalised(slopes).T)[2][-1])
    involved = [title for title, share in zip(titles, shares) if share > 1e-3]
    if len(involved) == 1:
        return f"the constraint {involved[0]!r} has no slope {where}: its force is not determined"
    return (
        f"the constraints {', '.join(involved)} are not independent {where}: their forces are not determined; "
        "leave out one that follows from the others"
    )
