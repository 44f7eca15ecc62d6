"""Sparse matrices as the kernels of a linear system take them: bands, lists of rows, the order of coordinates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.model.ports import Port

Row = tuple[tuple[int, ...], tuple[float, ...]]  # places of coordinates, and a number for each
SYMMETRIC = 1e-12  # of the largest entry
DEFINITE = 1e-10  # ... an eigenvalue below −this is negative


@dataclass(frozen=True)
class Matrices:
    """M, K, B in the order of the band; diagonals from the main one up, each as long as the matrix is large.

    order    the coordinate at each place
    mass     M
    elastic  E: stresses of strains; K itself where there is no D
    stiff    D'ED, or K again
    damping  B, or nothing
    stretch  D row by row: columns, then numbers, both rows × the longest row, filled up with 0; or empty
    """

    order: tuple[int, ...]
    mass: np.ndarray
    elastic: np.ndarray
    stiff: np.ndarray
    damping: np.ndarray
    columns: np.ndarray
    stretch: np.ndarray

    FIELDS: ClassVar = ("order", "mass", "elastic", "stiff", "damping", "columns", "stretch")

    @classmethod
    def of(cls, M: Any, K: Any, B: Any) -> Matrices:
        """Checked: square, finite, symmetric, M positive definite, K and B without negative eigenvalues."""
        import scipy.sparse as sp

        mass = _square(M, "the mass matrix M")
        n = mass.shape[0]
        stretch = None
        if isinstance(K, tuple) and len(K) == 2 and any(hasattr(part, "shape") for part in K):
            stretch, elastic = matrix_of(K[0], "the strains D"), _square(K[1], "the stresses E")
            if stretch.shape != (elastic.shape[0], n):
                raise ModelError(
                    f"K = (D, E) stands for D'ED: D is {_size(stretch)}, E is {_size(elastic)}, but M is "
                    f"{_size(mass)}; D has a row for each strain and a column for each coordinate"
                )
            stiff = sp.csr_array(stretch.T @ elastic @ stretch)
            stiff = (stiff + stiff.T) / 2
        else:
            stiff = elastic = _square(K, "the stiffness K")
        damping = None if B is None else _square(B, "the damping B")
        for what, matrix in (("the stiffness K", stiff), ("the damping B", damping)):
            if matrix is not None and matrix.shape != mass.shape:
                raise ModelError(f"{what} is {_size(matrix)}, M is {_size(mass)}; they must be equal")
        pattern = abs(mass) + abs(stiff) + (abs(damping) if damping is not None else 0 * abs(mass))
        order = _narrow(sp.csr_array(pattern))
        turned = lambda matrix: _diagonals(matrix[order][:, order])  # noqa: E731
        result = cls(
            tuple(order.tolist()),
            turned(mass),
            turned(stiff) if stretch is None else _diagonals(elastic),
            turned(stiff),
            np.zeros((0, n)) if damping is None else turned(damping),
            *_lists(stretch, order),
        )
        names = result.order
        _definite(result.mass, names, "the mass matrix M", "every motion needs a positive inertia", least=0.0)
        rows = names if stretch is None else tuple(range(elastic.shape[0]))
        what, why = (
            "the stiffness K" if stretch is None else "the stress matrix E",
            "a negative stiffness has no least energy",
        )
        _definite(result.elastic, rows, what, why)
        if damping is not None:
            _definite(result.damping, names, "the damping B", "a negative damping would create energy")
        return result

    @property
    def size(self) -> int:
        return len(self.order)

    @property
    def band(self) -> int:
        """Diagonals below the main one of what is factorised; the kernels count on three at least."""
        return max(3, len(self.mass) - 1, len(self.stiff) - 1, len(self.damping) - 1)

    @property
    def shape(self) -> list[int]:
        return [len(self.mass), len(self.elastic), len(self.stiff), len(self.damping), self.elastic.shape[1]]

    @cached_property
    def pulls(self) -> tuple[np.ndarray, np.ndarray]:
        """D' as lists of rows, as D."""
        return _transposed(self.columns, self.stretch, self.size)

    def lists(self, taps: Sequence[Row], sights: Sequence[Row]) -> dict[str, np.ndarray]:
        """The tables of places, under their names in `method/banded_table.py`."""
        return {
            "STRETCH_TABLE": self.columns,
            "PULL_TABLE": self.pulls[0],
            "TAP_TABLE": self.placed(taps)[0],
            "SIGHT_TABLE": self.placed(sights)[0],
        }

    def figures(self, taps: Sequence[Row], sights: Sequence[Row]) -> list[tuple[str, np.ndarray]]:
        """The numbers that the kernels find in the memory, in order, under the same names."""
        return [
            ("AT_MASS", self.mass),
            ("AT_ELASTIC", self.elastic),
            ("AT_STIFF", self.stiff),
            ("AT_DAMPING", self.damping),
            ("AT_STRETCH", self.stretch),
            ("AT_ROUNDS", np.where(np.isin(self.stretch, (-1.0, 0.0, 1.0)), 0.0, 1.0)),
            ("AT_PULL", self.pulls[1]),
            ("AT_TAPS", self.placed(taps)[1]),
            ("AT_SIGHTS", self.placed(sights)[1]),
        ]

    def placed(self, rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
        """Rows over the coordinates as lists over their places in the band."""
        places = np.argsort(self.order)
        return _filled([(tuple(places[list(columns)].tolist()), values) for columns, values in rows])

    def dense(self, name: str) -> np.ndarray:
        """A matrix over the coordinates in the order they were given in; E over the strains."""
        matrix, places = _dense(getattr(self, name)), np.argsort(self.order)
        return matrix if name == "elastic" else matrix[np.ix_(places, places)]

    # -- what an audit asks -------------------------------------------------------------------------------------------

    def energies(self, states: np.ndarray) -> np.ndarray:
        """½ v'Mv and ½ x'Kx of each of the states."""
        n = self.size
        x, v = states[:, :n], states[:, n:]
        s = _rows(self.columns, self.stretch, x) if len(self.columns) else x
        return np.column_stack([_quadratic(self.mass, v) / 2, _quadratic(self.elastic, s) / 2])

    def roughness(self, states: np.ndarray, step: float, heavy: float = 1.0, firm: float = 1.0) -> np.ndarray:
        """How far what rounding makes of the forces, in units of rounding, moves each state in a step of this size;
        M and K times `heavy` and `firm`."""
        n = self.size
        x, v = (np.abs(part).max(axis=0, initial=0.0).astype(float) for part in (states[:, :n], states[:, n:]))
        mass, stiff = heavy * _dense(self.mass), firm * _dense(self.stiff)
        forces = 2 / step * abs(mass) @ v + firm * self._pulled(x + step * v)
        rates = np.abs(np.linalg.inv(2 / step * mass + step / 2 * stiff)) @ forces
        return np.concatenate([step * rates, rates])

    def _pulled(self, x: np.ndarray) -> np.ndarray:
        """|D'| |E| |D| x."""
        if not len(self.columns):
            return abs(_dense(self.elastic)) @ x
        s = abs(_dense(self.elastic)) @ _rows(self.columns, abs(self.stretch), x)
        return _rows(self.pulls[0], abs(self.pulls[1]), s)

    def describe(self) -> dict[str, Any]:
        return {name: np.asarray(getattr(self, name)).tolist() for name in self.FIELDS}

    @classmethod
    def from_description(cls, data: Mapping[str, Any]) -> Matrices:
        n = len(data["order"])
        bands = {name: np.array(data[name], dtype=float) for name in ("mass", "elastic", "stiff")}
        bands["damping"] = np.array(data["damping"], dtype=float).reshape(-1, n)
        columns, stretch = data["columns"] or np.zeros((0, 0)), data["stretch"] or np.zeros((0, 0))
        lists = {"columns": np.array(columns, dtype=np.int64), "stretch": np.array(stretch, dtype=float)}
        return cls(tuple(data["order"]), **bands, **lists)


def is_sparse(matrix: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices, which is not loaded to find that out."""
    parts = matrix if isinstance(matrix, tuple) else (matrix,)
    return any(type(part).__module__.startswith("scipy.sparse") for part in parts)


def matrix_of(matrix: Any, what: str) -> Any:
    """A sparse matrix of finite numbers."""
    import scipy.sparse as sp

    try:
        result = sp.csr_array(matrix if is_sparse(matrix) else np.atleast_2d(np.asarray(matrix, dtype=float)))
        result = result.astype(float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a matrix of numbers, not {quoted(matrix)}") from None
    if not np.isfinite(result.data).all():
        raise ModelError(f"{what} has entries that are not finite")
    return result


def triplets(port: Port, name: str) -> tuple[int, list[Row]]:
    """How many rows the matrix of a port has, and its columns without zeros."""
    if port.entries is not None:
        rows, entries = port.entries
        columns: list[list[tuple[int, float]]] = [[] for _ in range(port.width)]
        for i, j, value in entries:
            columns[j].append((i, value))
    else:
        rows = len(port.matrix)
        try:
            numbers = [[float(text) for text in row] for row in port.matrix]
        except ValueError:
            raise ModelError(f"port {name!r} of a linear system takes a matrix of numbers") from None
        columns = [[(i, row[j]) for i, row in enumerate(numbers) if row[j]] for j in range(port.width)]
    return rows, [(tuple(i for i, _ in column), tuple(value for _, value in column)) for column in columns]


def digest(tables: Mapping[str, np.ndarray], shape: Sequence[int]) -> str:
    """A name for all whole numbers that code is generated from."""
    total = hashlib.sha256(repr([list(shape), *(table.shape for table in tables.values())]).encode())
    for table in tables.values():
        total.update(np.ascontiguousarray(table, dtype=np.int64).tobytes())
    return total.hexdigest()


def _square(matrix: Any, what: str) -> Any:
    result = matrix_of(matrix, what)
    if result.shape[0] != result.shape[1] or not result.shape[0]:
        raise ModelError(f"{what} must be square, not {_size(result)}")
    if abs(result - result.T).max() > SYMMETRIC * abs(result).max():
        raise ModelError(f"{what} is not symmetric")
    return result


def _size(matrix: Any) -> str:
    return f"{matrix.shape[0]} × {matrix.shape[1]}"


def _narrow(pattern: Any) -> np.ndarray:
    """The order of coordinates: as given, or by reverse Cuthill and McKee where that makes the band narrower."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    given = np.arange(pattern.shape[0])
    other = np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True), dtype=np.int64)
    return min((given, other), key=lambda order: _band(pattern[order][:, order]))


def _band(matrix: Any) -> int:
    i, j = matrix.nonzero()
    return int(np.abs(i - j).max(initial=0))


def _diagonals(matrix: Any) -> np.ndarray:
    """The main diagonal and those above it, up to the last that is not 0; entry i of diagonal k is (i, i + k)."""
    n = matrix.shape[0]
    result = np.zeros((_band(matrix) + 1, n))
    for k, row in enumerate(result):
        row[: n - k] = (matrix.diagonal(k) + matrix.diagonal(-k)) / 2
    return result


def _lists(stretch: Any, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of D over places in the band, in each row the entries ±1 first: a difference of neighbours is exact."""
    if stretch is None:
        return np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0))
    places, rows = np.argsort(order), []
    for k in range(stretch.shape[0]):
        span = slice(stretch.indptr[k], stretch.indptr[k + 1])
        entries = sorted(zip(places[stretch.indices[span]], stretch.data[span]), key=lambda entry: abs(entry[1]) != 1.0)
        rows.append((tuple(int(column) for column, _ in entries), tuple(float(value) for _, value in entries)))
    return _filled(rows)


def _filled(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Columns and numbers of rows of unequal length: entry j of all rows, then entry j + 1."""
    longest = max((len(columns) for columns, _ in rows), default=0)
    columns, values = np.zeros((longest, len(rows)), dtype=np.int64), np.zeros((longest, len(rows)))
    for k, (places, numbers) in enumerate(rows):
        columns[: len(places), k], values[: len(numbers), k] = places, numbers
    return columns, values


def _transposed(columns: np.ndarray, values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    rows: list[tuple[list[int], list[float]]] = [([], []) for _ in range(size)]
    for places, numbers in zip(columns, values):
        for k, (i, value) in enumerate(zip(places.tolist(), numbers.tolist())):
            if value != 0.0:
                rows[i][0].append(k)
                rows[i][1].append(value)
    if not len(columns):
        return columns, values
    return _filled([(tuple(places), tuple(numbers)) for places, numbers in rows])


def _definite(band: np.ndarray, names: Sequence[int], what: str, why: str, least: float = DEFINITE) -> None:
    """Raise where a symmetric matrix has a negative eigenvalue; with `least` 0 where it is not positive definite."""
    from scipy.linalg import LinAlgError, cholesky_banded

    diagonal = band[0]
    bad = diagonal < 0.0 if least else diagonal <= 0.0
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise ModelError(f"{what} has {diagonal[place]:g} on its diagonal in row {names[place] + 1}: {why}")
    lower = band.copy()
    lower[0] += least * max(float(diagonal.max(initial=0.0)), 1e-300)
    try:
        cholesky_banded(lower, lower=True)
    except LinAlgError:
        kind = "has a negative eigenvalue" if least else "is not positive definite"
        raise ModelError(f"{what} {kind}: {why}") from None


def _rows(columns: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """D x of each x."""
    result = np.zeros((*x.shape[:-1], columns.shape[1]), x.dtype)
    for places, numbers in zip(columns, values):
        result += numbers * x[..., places]
    return result


def _quadratic(band: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x'Ax of each row x."""
    n = x.shape[1]
    whole = (x * x * band[0]).sum(axis=1)
    for k in range(1, len(band)):
        whole = whole + 2 * (x[:, : n - k] * x[:, k:] * band[k, : n - k]).sum(axis=1)
    return whole


def _dense(band: np.ndarray) -> np.ndarray:
    n = band.shape[1]
    result = np.diag(band[0])
    for k in range(1, len(band)):
        result += np.diag(band[k, : n - k], k) + np.diag(band[k, : n - k], -k)
    return result
