"""Ports: where a system meets the rest of the world. Power counts into the system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from passivo.errors import ModelError
from passivo.model.expression import to_text


@dataclass(frozen=True)
class Port:
    """An `effort` port takes an effort and gives the flow, a `flow` port takes a flow and gives the effort.

    `matrix` is the n × width input matrix G of the port, as formulas; the port's output is G'∇H.
    Of a sparse matrix it has the number of rows and the `entries` (row, column, value) instead.
    """

    kind: Literal["effort", "flow"]
    width: int
    matrix: tuple[tuple[str, ...], ...]
    entries: tuple[int, tuple[tuple[int, int, float], ...]] | None = None


def effort(matrix: Any = None, *, width: int = 1) -> Port:
    """A port that takes an effort (force, torque, voltage) and gives the flow (velocity, current).

    `matrix` is a column of n entries, or an n × w matrix for a port w wide; a system without states needs only `width`.
    One of SciPy's sparse matrices goes with `pv.Linear` of such matrices.
    """
    return _port("effort", matrix, width)


def flow(matrix: Any = None, *, width: int = 1) -> Port:
    """A port that takes a flow (velocity, current) and gives the effort (force, voltage); see `effort`."""
    return _port("flow", matrix, width)


def _port(kind: Literal["effort", "flow"], matrix: Any, width: int) -> Port:
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ModelError(f"the width of a port must be a whole number >= 1, not {width!r}")
    if matrix is None:
        return Port(kind, width, ())
    if type(matrix).__module__.startswith("scipy.sparse"):
        found = matrix.tocoo()
        places = zip(found.row.tolist(), found.col.tolist(), found.data.tolist())
        return Port(kind, found.shape[1], (), (found.shape[0], tuple((i, j, float(value)) for i, j, value in places)))
    rows = formulas(matrix, f"the matrix of an {kind} port", columns=True)
    return Port(kind, len(rows[0]), rows)


def formulas(matrix: Any, what: str, columns: bool = False) -> tuple[tuple[str, ...], ...]:
    """A matrix of formulas from nested lists, an array or a SymPy matrix; a plain list is a column if `columns`."""
    if hasattr(matrix, "tolist"):
        matrix = matrix.tolist()
    if not isinstance(matrix, list | tuple) or not len(matrix):
        raise ModelError(f"{what} must be a list of rows, not {matrix!r}")
    if not any(isinstance(row, list | tuple | np.ndarray) for row in matrix):
        if not columns:
            raise ModelError(f"{what} must be a list of rows, as in [[0, 1], [-1, 0]], not {matrix!r}")
        matrix = [[entry] for entry in matrix]
    if not all(isinstance(row, list | tuple | np.ndarray) for row in matrix):
        raise ModelError(f"{what} mixes rows and single entries: {matrix!r}; give rows of equal length")
    rows = tuple(tuple(to_text(entry) for entry in row) for row in matrix)
    if not rows[0]:
        raise ModelError(f"the rows of {what} are empty; give one entry per column")
    if len({len(row) for row in rows}) != 1:
        raise ModelError(f"the rows of {what} have different lengths: {[len(row) for row in rows]}")
    return rows
