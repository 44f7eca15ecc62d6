"""Mechanical systems: coordinates, a mass matrix, a potential; the Legendre form is derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from passivo.errors import ModelError, nearest, quoted
from passivo.model.banded import is_sparse
from passivo.model.expression import evaluate, is_condition, names, symbolic, to_text
from passivo.model.ports import Port, formulas
from passivo.model.sparse import SparseLinear
from passivo.model.system import Formulas, System, check_symmetry, name_list

NO_INERTIA = "the mass matrix is not positive definite; every motion needs a positive inertia"


class Mechanical(System):
    """`d/dt(M q') − ½ ∂(q'M q')/∂q + ∂V/∂q + B q' = P f`, velocity output `P'q'`.

    q          k coordinates, names or symbols
    mass       M(q), k × k, symmetric and positive definite (a number or formula for k = 1)
    potential  V(q)
    loss       B(q), k × k, symmetric and >= 0, acts on velocities; default 0
    ports      name -> pv.effort(P), P k × w: generalised forces in, velocities out
    momenta    names of p = M q'; default: q -> p, q1 -> p1, angle -> p_angle

    Legendre form: states (q, p), H = ½ p'M⁻¹p + V, J canonical.
    """

    def __init__(
        self,
        q: Sequence[Any],
        mass: Any,
        potential: Any = 0,
        loss: Any = None,
        ports: Mapping[str, Port] | None = None,
        params: Mapping[Any, float] | None = None,
        *,
        momenta: Sequence[Any] | None = None,
        minimum: Mapping[Any, Any] | None = None,
        domain: Any = None,
        limits: Sequence[Any] = (),
        units: Mapping[Any, Any] | None = None,
        name: str = "mechanical",
    ):
        coordinates = list(name_list(q, "the coordinates"))
        k = len(coordinates)
        p = [momentum_name(c) for c in coordinates] if momenta is None else list(name_list(momenta, "momenta"))
        if len(p) != k or k == 0:
            raise ModelError(f"{k} coordinates need {k} momenta (and at least one of each), got {len(p)}")
        self.mass = square(mass, k, "mass matrix")
        self.potential = to_text(potential)
        self.friction = square(loss, k, "loss") if loss is not None else tuple(("0",) * k for _ in range(k))
        known = [*coordinates, *map(str, params if isinstance(params, Mapping) else ())]
        for what, matrix in (("mass matrix", self.mass), ("potential", ((self.potential,),)), ("loss", self.friction)):
            _check_scope(what, matrix, known, p)
        zero = ["0"] * k
        super().__init__(
            states=coordinates + p,
            energy=_energy(self.mass, self.potential, p),
            structure=canonical(k),
            loss=[[*zero, *zero]] * k + [[*zero, *row] for row in self.friction],
            ports={name: lift_port(name, port, k) for name, port in (ports or {}).items()},
            params=params,
            minimum=minimum,
            domain=domain,
            positions=coordinates,
            limits=limits,
            units=units,
            name=name,
        )

    def check(self, params: Mapping[str, float]) -> None:
        samples = self.samples(params)
        check_symmetry(self.mass, +1, "mass matrix", samples)
        k = len(self.mass)
        dense = np.zeros((len(samples[self.states[0]]), k, k))
        for i, row in enumerate(self.mass):
            for j, text in enumerate(row):
                dense[:, i, j] = evaluate(text, samples)
        if not np.isfinite(dense).all() or np.linalg.eigvalsh(dense / 2 + dense.transpose(0, 2, 1) / 2).min() <= 0:
            raise ModelError(NO_INERTIA)
        super().check(params)


class Linear(Mechanical):
    """`M x'' + B x' + K x = P f` with matrices of numbers; states x1.. and p1.. (or the `coordinates` named).

    Of SciPy's sparse matrices it makes a `SparseLinear`, for many coordinates: states x1.. and their rates v1..,
    stepped by PassiveMidpoint with matrices as data. There K may be a pair (D, E) for D'ED: stresses E of strains D x.
    """

    def __new__(cls, *given: Any, **named: Any) -> Any:
        if any(is_sparse(matrix) for matrix in (*given[:3], *(named.get(key) for key in "MKB"))):
            return SparseLinear(*given, **named)
        return super().__new__(cls)

    def __init__(
        self,
        M: Any,
        K: Any,
        B: Any = None,
        ports: Mapping[str, Port] | None = None,
        *,
        coordinates: Sequence[str] | None = None,
        units: Mapping[Any, Any] | None = None,
        name: str = "linear",
    ):
        mass, stiffness = _numbers(M, "M"), _numbers(K, "K")
        if stiffness.shape != mass.shape:
            raise ModelError(f"K is {stiffness.shape}, M is {mass.shape}; they must be equal")
        if not np.allclose(stiffness, stiffness.T, rtol=1e-12, atol=0):
            raise ModelError("the stiffness K is not symmetric; only a symmetric K has an energy")
        k = len(mass)
        numbered = [f"x{i + 1}" for i in range(k)]
        x = numbered if coordinates is None else list(name_list(coordinates, "coordinates"))
        if len(x) != k:
            raise ModelError(f"{len(x)} coordinates are named, but M is {k} × {k}; name one per row")
        super().__init__(
            x,
            mass,
            _quadratic_text(stiffness, x),
            None if B is None else _numbers(B, "B"),
            ports,
            momenta=None if coordinates is not None else [f"p{i + 1}" for i in range(k)],
            minimum=dict.fromkeys(x, 0.0) if np.linalg.eigvalsh(stiffness).min() >= 0 else None,
            units=units,
            name=name,
        )


def _check_scope(what: str, matrix: Formulas, known: Sequence[str], momenta: Sequence[str]) -> None:
    """Each formula is judged as it was given, before it becomes a part of the energy."""
    for text in (text for row in matrix for text in row):
        if is_condition(text):
            raise ModelError(f"the {what} must be a number, not the condition {quoted(text)}; put it into domain")
        for name in sorted(names(text).difference(known)):
            if name in momenta and what == "loss":
                continue
            if name in momenta:
                raise ModelError(
                    f"the {what} depends on the momentum {name!r}; only positions may stand in it, "
                    "otherwise describe the system by states and an energy (pv.System)"
                )
            raise ModelError(
                f"the {what} uses {quoted(name)}, which is neither a coordinate nor a parameter with a value: "
                f"add it to params, or {nearest(name, known)}"
            )


def momentum_name(coordinate: str) -> str:
    rest = coordinate[1:]
    return "p" + rest if coordinate[0] == "q" and (not rest or rest.isdigit()) else f"p_{coordinate}"


def canonical(k: int) -> list[list[str]]:
    """J = [[0, 1], [−1, 0]] of k positions and k momenta."""
    unit = lambda i, value: [value if j == i else "0" for j in range(2 * k)]  # noqa: E731
    return [unit(k + i, "1") for i in range(k)] + [unit(i, "-1") for i in range(k)]


def square(matrix: Any, k: int, what: str) -> Formulas:
    """A k × k matrix of formulas; for k = 1 a number or formula will do."""
    if k == 1 and not isinstance(matrix, list | tuple) and getattr(matrix, "shape", ()) in ((), None):
        matrix = [[matrix]]
    rows = formulas(matrix, f"the {what}")
    if len(rows) != k or len(rows[0]) != k:
        raise ModelError(f"the {what} is {len(rows)} × {len(rows[0])}, expected {k} × {k}")
    return rows


def lift_port(name: str, port: Port, k: int) -> Port:
    """A port that pushes k coordinates, as one of the 2 k states."""
    if not isinstance(port, Port) or port.kind != "effort":
        raise ModelError(f"port {name!r} of a mechanical system must be a pv.effort(...): it takes a generalised force")
    if len(port.matrix) != k:
        raise ModelError(
            f"port {name!r} has {len(port.matrix)} rows for {k} coordinates; give one entry per coordinate"
        )
    return Port("effort", port.width, (("0",) * port.width,) * k + port.matrix)


def _energy(mass: Formulas, potential: str, p: list[str]) -> str:
    """½ p'M⁻¹p + V as a formula; SymPy only inverts where M is neither diagonal nor made of numbers."""
    k = len(mass)
    if all(mass[i][j] == "0" for i in range(k) for j in range(k) if i != j):
        kinetic = " + ".join(f"{p[i]}**2/(2*({mass[i][i]}))" for i in range(k))
    elif not any(names(text) for row in mass for text in row):
        dense = np.array([[evaluate(text, {}) for text in row] for row in mass], dtype=float)
        try:
            kinetic = _quadratic_text(np.linalg.inv(dense), p)
        except np.linalg.LinAlgError:
            raise ModelError(NO_INERTIA) from None
    else:
        import sympy as sp

        scope = {name: sp.Symbol(name, real=True) for row in mass for text in row for name in names(text)}
        dense: Any = sp.Matrix(k, k, [evaluate(text, scope, symbolic()) for row in mass for text in row])
        momenta = sp.Matrix(sp.symbols(p, real=True))
        # adjugate over determinant keeps the inverse symmetric and free of nested pivots
        kinetic = to_text((momenta.T * dense.adjugate().applyfunc(sp.factor_terms) * momenta)[0] / (2 * dense.det()))
    return kinetic if potential == "0" else f"{kinetic} + {potential}"


def _quadratic_text(matrix: np.ndarray, x: list[str]) -> str:
    """½ x'Ax; each pair of different coordinates once."""
    terms = []
    for i in range(len(x)):
        for j in range(i, len(x)):
            value = matrix[i, i] / 2 if i == j else (matrix[i, j] + matrix[j, i]) / 2
            if value != 0:
                terms.append(f"({float(value)!r})*{x[i]}**2" if i == j else f"({float(value)!r})*{x[i]}*{x[j]}")
    return " + ".join(terms) or "0"


def _numbers(matrix: Any, what: str) -> np.ndarray:
    try:
        dense = np.atleast_2d(np.asarray(matrix, dtype=float))
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a matrix of numbers, not {quoted(matrix)}") from None
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not np.isfinite(dense).all():
        raise ModelError(f"{what} must be a square matrix of finite numbers, got shape {dense.shape}")
    return dense
