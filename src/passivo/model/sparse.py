"""`SparseLinear`: `M x'' + B x' + K x = P f` with matrices of numbers that are mostly 0. Description, checked."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from passivo.errors import ModelError, nearest, quoted
from passivo.model.banded import Matrices, Row, digest, triplets
from passivo.model.form import Form
from passivo.model.form import Row as LedgerRow
from passivo.model.ports import Port
from passivo.model.system import Model, check_names, checked_name, name_list, number
from passivo.model.units import checked_units

PARAMETERS = ("mass", "stiffness", "damping", "mass_damping", "stiffness_damping")
ROWS = ("kinetic", "elastic")


class SparseLinear(Model):
    """`M x'' + (B + a M + b K) x' + K x = P f` by matrices as data: `pv.Linear(...)` of SciPy's sparse matrices.

    States are the coordinates x and their rates, in the order that makes the band of the matrices narrow; a run finds
    them by name, all together as "x" and "v". Factors of M, K and B and the Rayleigh dampings a (1/s) and b (s) are the
    parameters "mass", "stiffness", "damping", "mass_damping" and "stiffness_damping". PassiveMidpoint steps it, and to
    compare with SymplecticEuler and ImplicitEuler; the matrices are factorised once for a step size.
    """

    steps_apart: ClassVar = True
    signals: ClassVar = ()

    def __init__(
        self,
        M: Any,
        K: Any,
        B: Any = None,
        ports: Mapping[str, Port] | None = None,
        *,
        coordinates: Sequence[str] | None = None,
        rayleigh: tuple[float, float] = (0.0, 0.0),
        keep: Sequence[str] | None = None,
        units: Mapping[Any, Any] | None = None,
        name: str = "linear",
    ):
        """K        the stiffness, or (D, E) for D'ED: stresses E of strains D x; finer in rounding where D x is small
        rayleigh  (a, b)
        keep      the coordinates and rates that runs record; default all
        """
        self.name = checked_name(name, "the system's name")
        self.matrices = Matrices.of(M, K, B)
        n = self.matrices.size
        if coordinates is None:
            self.coordinates = tuple(f"x{i + 1}" for i in range(n))
            self.rates = tuple(f"v{i + 1}" for i in range(n))
        else:
            self.coordinates = name_list(coordinates, "coordinates")
            self.rates = tuple(f"{name}_rate" for name in self.coordinates)
        if len(self.coordinates) != n:
            raise ModelError(f"{len(self.coordinates)} coordinates are named, but M is {n} × {n}; name one per row")
        a, b = (number(value, "a Rayleigh damping") for value in rayleigh)
        self.params = dict(zip(PARAMETERS, (1.0, 1.0, 1.0, a, b)))
        check_names(coordinates=self.coordinates, rates=self.rates, parameters=self.params, ports=ports or {})
        self.groups = {"x": self.coordinates, "v": self.rates}
        self.ports: dict[str, Port] = {}
        self.taps: list[Row] = []
        self.sights: dict[str, Row] = {}
        for key, port in (ports or {}).items():
            self._attach(str(key), port)
        self._keep = None if keep is None else name_list(keep, "keep")
        for state in self._keep or ():
            if state not in (*self.coordinates, *self.rates):
                raise ModelError(f"keep names {quoted(state)}, which is no state; {nearest(state, self.states)}")
        plain = {**dict.fromkeys((*self.coordinates, *self.rates)), **self.params}
        self.units = checked_units(units, plain, self.ports)
        self.check(self.params)

    def _attach(self, name: str, port: Any) -> None:
        """Add a port by its matrix."""
        if not isinstance(port, Port) or port.kind != "effort":
            raise ModelError(f"port {name!r} of a linear system must be a pv.effort(...): it takes generalised forces")
        rows, columns = triplets(port, name)
        if rows != self.matrices.size:
            raise ModelError(f"port {name!r} has {rows} rows for {self.matrices.size} coordinates; one for each")
        self._add_port(name, columns)

    def _add_port(self, name: str, columns: Sequence[Row]) -> None:
        """Add a port, of each component the coordinates it acts on and how strongly."""
        self.ports[name] = Port("effort", len(columns), ())
        self.taps += columns

    def _new_name(self, name: str) -> str:
        name = checked_name(name, "the name of a port")
        if name in {*self.ports, *self.sights, *self.states, *self.params, *self.vectors, *ROWS}:
            raise ModelError(f"{self.name!r} already has a {name!r}; choose another name")
        return name

    # -- what every model says ----------------------------------------------------------------------------------------

    @cached_property
    def states(self) -> tuple[str, ...]:  # type: ignore[override]
        order = self.matrices.order
        return (*(self.coordinates[i] for i in order), *(self.rates[i] for i in order))

    @property
    def positions(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.states[: self.matrices.size]

    @property
    def kept(self) -> tuple[str, ...]:
        if self._keep is None:
            return self.states
        chosen = set(self._keep)
        return tuple(state for state in self.states if state in chosen)

    @property
    def shown(self) -> tuple[str, ...]:
        return self.kept[:2]

    @property
    def vectors(self) -> Mapping[str, tuple[str, ...]]:  # type: ignore[override]
        chosen = set(self.kept)
        left = {name: tuple(state for state in states if state in chosen) for name, states in self.groups.items()}
        return {name: states for name, states in left.items() if states and name not in self.states}

    @property
    def recorded(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.sights)

    @property
    def minimum(self) -> dict[str, float]:
        return dict.fromkeys(self.states, 0.0)

    @property
    def lossy(self) -> bool:
        damped = self.params["mass_damping"] > 0 or self.params["stiffness_damping"] > 0
        return damped or (self.params["damping"] > 0 and len(self.matrices.damping) > 0)

    @property
    def figures(self) -> np.ndarray:  # type: ignore[override]
        return np.concatenate([values.ravel() for _, values in self.matrices.figures(self.taps, self.sight_rows)])

    @property
    def sight_rows(self) -> list[Row]:
        return list(self.sights.values())

    def coupled(self, port: str, name: str, k: float, turning: float) -> Model:
        raise ModelError(
            f"a VirtualCoupling hangs its spring on a body of a world or on a system of formulas, not on "
            f"{self.name!r}; put a body between, joined by a spring to an anchor, and connect the anchor to the port"
        )

    def snapshot(self) -> SparseLinear:
        twin = copy.copy(self)
        twin.ports, twin.taps, twin.sights = dict(self.ports), list(self.taps), dict(self.sights)
        twin.params, twin.units = dict(self.params), dict(self.units)
        return twin

    def check(self, params: Mapping[str, float]) -> None:
        for name, value in params.items():
            least = "> 0" if name == "mass" else ">= 0"
            if not (value > 0 if name == "mass" else value >= 0):
                raise ModelError(f"the parameter {name!r} of {self.name!r} must be {least}, not {value:g}")

    def with_params(self, **params: float) -> SparseLinear:
        twin = self.snapshot()
        twin.params = self.changed(params)
        return twin

    @property
    def form(self) -> Form:  # type: ignore[override]
        return self._derive()

    def _derive(self) -> Form:
        everything = tuple(range(len(self.states)))
        inputs = tuple(f"{name}[{i}]" for name, port in self.ports.items() for i in range(port.width))
        places = {state: i for i, state in enumerate(self.states)}
        n = self.matrices.size
        return BandedForm(
            states=self.states,
            gradient=(),
            inputs=inputs,
            signals=(),
            params=tuple(self.params),
            structure=None,
            loss=None,
            ports=None,
            readout=None,
            feedthrough=None,
            rows=(
                LedgerRow("kinetic", everything[n:], None, None, ()),
                LedgerRow("elastic", everything[:n], None, None, ()),
            ),
            input_rows=(0,) * len(inputs),
            domain=None,
            minimum=None,
            kept=None if self._keep is None else tuple(places[state] for state in self.kept),
        )

    # -- what an audit asks -------------------------------------------------------------------------------------------

    def row_energies(self, params: Mapping[str, float], states: np.ndarray) -> np.ndarray:
        """Stored joules of every ledger row at each of the states, by NumPy alone."""
        return self.matrices.energies(states) * [params["mass"], params["stiffness"]]

    def roughness(self, params: Mapping[str, float], states: np.ndarray, step: float) -> np.ndarray:
        """How far rounding of the terms of its equation moves each state in a step, in units of rounding."""
        return self.matrices.roughness(states, step, params["mass"], params["stiffness"])

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "SparseLinear",
            "name": self.name,
            "states": list(self.states),
            "kept": None if self._keep is None else list(self._keep),
            "inputs": [[name, port.width] for name, port in self.ports.items()],
            "recorded": list(self.sights),
            "table": digest(self.matrices.lists(self.taps, self.sight_rows), self.matrices.shape),
            "params": dict(self.params),
            "units": {k: unit if isinstance(unit, str) else list(unit) for k, unit in self.units.items()},
            "start": {
                "coordinates": list(self.coordinates),
                "rates": list(self.rates),
                "groups": {name: list(states) for name, states in self.groups.items()},
                "matrices": self.matrices.describe(),
                "taps": [[list(places), list(values)] for places, values in self.taps],
                "sights": {k: [list(places), list(values)] for k, (places, values) in self.sights.items()},
            },
        }

    @staticmethod
    def from_description(data: Mapping[str, Any]) -> SparseLinear:
        start, model = data["start"], SparseLinear.__new__(SparseLinear)
        model.name, model.coordinates, model.rates = data["name"], tuple(start["coordinates"]), tuple(start["rates"])
        model.matrices = Matrices.from_description(start["matrices"])
        model.groups = {name: tuple(states) for name, states in start["groups"].items()}
        model.params = dict(data["params"])
        model.ports = {name: Port("effort", width, ()) for name, width in data["inputs"]}
        model.taps = [(tuple(places), tuple(values)) for places, values in start["taps"]]
        model.sights = {k: (tuple(places), tuple(values)) for k, (places, values) in start["sights"].items()}
        model._keep = None if data["kept"] is None else tuple(data["kept"])
        model.units = {k: u if isinstance(u, str) else (u[0], u[1]) for k, u in data["units"].items()}
        model.check(model.params)
        return model

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.matrices.size} coordinates, ports={list(self.ports)[:8]})"


class BandedForm(Form):
    """A form without formulas: matrices are data."""

    @property
    def answered(self) -> frozenset[Any]:
        return frozenset()
