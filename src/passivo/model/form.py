"""The derived form of a model: SymPy matrices and energies, the one thing that code is generated from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One row of the ledger: a part or a connection.

    With the gradient symbols g and the inputs u of a form, `lost` is the power the row dissipates and
    `received` the powers that reach it through connections inside the model, one for each end (outside ports come on
    top). They are kept apart because the rounding of their sum goes by their sizes. Nothing is known of the
    energy of an `opaque` row: it has none in the ledger, and what its ports take in is judged at the other end.
    """

    name: str
    states: tuple[int, ...]
    energy: Any
    lost: Any
    received: tuple[Any, ...]
    opaque: bool = False


@dataclass(frozen=True)
class Form:
    """x' = (J − R) g + G u + d,  y = Y g + D u + s,  g = ∇H, H the sum of the rows' energies.

    s and d are the `source` and `drift` of a rendering law, formulas of states, inputs and signals, else empty.
    Y = G' for a single system; in a composition with feedthrough at its connected ports it may differ. `minimum` is the
    state of least energy, one formula of the parameters per state, or None where none is stated. `constraints` are
    formulas g of the positions by name: 0 = g holds beside, and −λ ∂g/∂r is added to the momenta's x' (spec 3.1).
    Of many states a run records those that are `kept`, by default all.
    """

    states: tuple[Any, ...]
    gradient: tuple[Any, ...]
    inputs: tuple[Any, ...]
    signals: tuple[Any, ...]
    params: tuple[Any, ...]
    structure: Any
    loss: Any
    ports: Any
    readout: Any
    feedthrough: Any
    rows: tuple[Row, ...]
    input_rows: tuple[int, ...]
    domain: Any
    minimum: tuple[Any, ...] | None
    source: tuple[Any, ...] = ()
    drift: tuple[Any, ...] = ()
    constraints: Mapping[str, Any] = field(default_factory=dict)
    kept: tuple[int, ...] | None = None

    @property
    def energy(self) -> Any:
        import sympy as sp

        return sp.Add(*(row.energy for row in self.rows))

    @property
    def flow(self) -> list[Any]:
        """x' as formulas in states, gradient symbols and inputs."""
        import sympy as sp

        if not self.states:
            return []
        g = sp.Matrix(self.gradient)
        value = (self.structure - self.loss) * g
        if self.inputs:
            value += self.ports * sp.Matrix(self.inputs)
        if self.drift:
            value += sp.Matrix(self.drift)
        return list(value)

    @property
    def answered(self) -> frozenset[Any]:
        """Symbols that the output depends on at once, inputs among them."""
        return frozenset().union(*(y.free_symbols for y in self.output))

    @property
    def output(self) -> list[Any]:
        """y as formulas in states, gradient symbols and inputs."""
        import sympy as sp

        if not self.inputs:
            return []
        value = self.feedthrough * sp.Matrix(self.inputs)
        if self.states:
            value += self.readout * sp.Matrix(self.gradient)
        if self.source:
            value += sp.Matrix(self.source)
        return list(value)
