"""Random passive systems with bounded conditioning: n = 1..8, J, R, G depending on x, ports of several widths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st

import passivo as pv
from passivo.model.expression import EXTENDED, evaluate


@dataclass
class Case:
    """A system, a state, inputs and a step."""

    system: pv.System
    x: np.ndarray
    u: np.ndarray
    h: float
    rng: np.random.Generator


def _term(rng: np.random.Generator, x: list[str]) -> str:
    """One random summand of an energy: convex in the large or bounded, so that starts of size 1 stay tame."""
    a, b = (x[i] for i in rng.integers(len(x), size=2))
    c = f"{rng.uniform(0.1, 1.0):.6f}"
    s = f"({rng.uniform(-1, 1):.6f}*{a} + {rng.uniform(0.2, 1):.6f}*{b})"
    return str(
        rng.choice(
            [
                f"{c}*{a}**4/4",
                f"{c}*(1 - cos({a}))",
                f"{c}*cosh({s})",
                f"{c}*{a}**2*{b}**2/2",
                f"{c}*sqrt(1 + {a}**2)",
                f"{c}*sqrt(1 + {a}**2 + {b}**2)",
                f"{c}*log(2 + {s}**2)",
                f"{c}*sin({a})*{b}",
                f"{c}*exp(-{a}**2)",
                f"{c}*atan({s})*{a}",
            ]
        )
    )


def _matrix(rows: np.ndarray, factor: str = "1") -> list[list[str]]:
    return [[f"({value:.6f})*{factor}" if value else "0" for value in row] for row in rows]


def _add(a: list[list[str]], b: list[list[str]]) -> list[list[str]]:
    return [[f"{p} + {q}" for p, q in zip(r, s)] for r, s in zip(a, b)]


@cache
def system(seed: int, n: int, quadratic: bool) -> pv.System:
    rng = np.random.default_rng(seed)
    x = [f"x{i}" for i in range(n)]
    root = rng.uniform(-1, 1, (n, n))
    Q = np.round(root @ root.T / n + 0.5 * np.eye(n), 6)
    energy = " + ".join(f"({Q[i, j] / 2:.7f})*{x[i]}*{x[j]}" for i in range(n) for j in range(n))
    if not quadratic:
        energy = " + ".join([energy, *(_term(rng, x) for _ in range(rng.integers(1, 4)))])
    skew = lambda: np.triu(np.round(rng.uniform(-1, 1, (n, n)), 6), 1)  # noqa: E731
    J0, J1 = skew(), skew()
    J = _add(_matrix(J0 - J0.T), _matrix(J1 - J1.T, f"sin({x[int(rng.integers(n))]})"))
    v = np.round(rng.uniform(-0.7, 0.7, n), 3)
    R = _add(_matrix(np.outer(v, v), f"(1 + {x[0]}**2)"), _matrix(np.diag(np.round(rng.uniform(0, 0.3, n), 3))))
    ports = {}
    for i in range(int(rng.integers(0, 3))):
        width = int(rng.integers(1, 3))
        G = _add(_matrix(rng.uniform(-1, 1, (n, width))), _matrix(rng.uniform(-0.5, 0.5, (n, width)), f"cos({x[-1]})"))
        ports[f"port{i}"] = (pv.effort if rng.random() < 0.5 else pv.flow)(G)
    return pv.System(x, energy, J, R, ports)


def build(seed: int, n: int, quadratic: bool = False, run: int = 0) -> Case:
    model, rng = system(seed, n, quadratic), np.random.default_rng([seed, n, run])
    return Case(model, rng.uniform(-1, 1, n), rng.uniform(-1, 1, model.width), float(10 ** rng.uniform(-3, -0.5)), rng)


def cases(quadratic: bool = False, largest: int = 8) -> st.SearchStrategy[Case]:
    """A pool of 6 systems of each size up to 4, of 2 above (deriving one takes seconds), with any number of states,
    inputs and steps."""
    return st.builds(
        lambda seed, n, run: build(seed % (6 if n <= 4 else 2), n, quadratic, run),
        st.integers(0, 5),
        st.integers(1, largest),
        st.integers(0, 2**20),
    )


@cache
def linear(seed, n, separable=False, lossless=False):
    """A random linear system with two ports; Q, J, R, G as numbers too."""
    rng = np.random.default_rng([seed, n])
    x = [f"x{i}" for i in range(n)]
    root = rng.uniform(-1, 1, (n, n))
    Q = root @ root.T / n + 0.3 * np.eye(n) if not separable else np.diag(rng.uniform(0.3, 3.0, n))
    J = rng.uniform(-1, 1, (n, n))
    v = rng.uniform(-0.6, 0.6, (n, 2))
    R = np.zeros((n, n)) if lossless else v @ v.T
    G = rng.uniform(-1, 1, (n, 2))
    J = J - J.T
    energy = " + ".join(f"({float(Q[i, j])!r})*{x[i]}*{x[j]}/2" for i in range(n) for j in range(n) if Q[i, j])
    ports = {"a": pv.effort(G[:, :1]), "b": pv.flow(G[:, 1:])}
    return pv.System(x, energy, J, R, ports, minimum={"x0": 0.0}), Q, J, R, G


def stored(model: pv.System, x) -> np.longdouble:
    """H at x in extended precision, by the walked formula."""
    values = {name: np.longdouble(value) for name, value in zip(model.states, x)}
    params = {name: np.longdouble(value) for name, value in model.params.items()}
    return evaluate(model.energy, {**params, **values}, EXTENDED)


def without_loss(model: pv.System) -> pv.System:
    """The same system with R = 0."""
    return pv.System(model.states, model.energy, model.structure, None, model.ports)


def skew_parts(model: pv.System, count: int, seed: int) -> list[list[list[str]]]:
    """J as a sum of `count` skew matrices; constants and functions of the state times J, and what is left of it."""
    rng, n, J = np.random.default_rng(seed), len(model.states), model.structure
    parts = [[["0"] * n for _ in range(n)] for _ in range(count)]
    for i in range(n):
        for j in range(i + 1, n):
            shares = [f"{rng.uniform(-1, 1):.6f}*cos({rng.choice(model.states)})" for _ in range(count - 1)]
            shares = [share if rng.random() < 0.7 else "0" for share in shares]
            entries = [f"({share})*({J[i][j]})" for share in shares]
            for part, entry in zip(parts, [*entries, " - ".join([f"({J[i][j]})", *entries])]):
                part[i][j], part[j][i] = entry, f"-({entry})"
    return parts
