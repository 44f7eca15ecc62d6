"""Chains of particles."""

from __future__ import annotations

from typing import Literal

from passivo.errors import ModelError
from passivo.model.ports import effort
from passivo.model.system import System


def toda_chain(n: int = 3, ends: Literal["periodic", "free"] = "periodic") -> System:
    """The Toda lattice: `H = Σ p_i²/2 + Σ exp(q_i − q_(i+1))`, masses of 1 kg, bonds of 1 J and 1 m.

        q_i' = p_i,   p_i' = exp(q_(i−1) − q_i) − exp(q_i − q_(i+1)),   and + f for i = 1

    n     particles, >= 2; default 3
    ends  "periodic" (default): the last particle is followed by the first, relative motion is bounded, and
          H is least, n, where all q are equal and all p are 0. "free": the sum of exponentials
          ends at n − 1, the particles drift apart and H has no minimum.

    States: positions q1 ... qn in m, momenta p1 ... pn in kg m/s.
    Port "force" (effort): takes the force f on the first particle in N, gives its velocity p1 in m/s.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 2:
        raise ModelError(f"a chain needs n >= 2 particles, a whole number, not {n!r}")
    if ends not in ("periodic", "free"):
        raise ModelError(f"ends is 'periodic' or 'free', not {ends!r}")
    pairs = [(i, i + 1) for i in range(1, n)] + ([(n, 1)] if ends == "periodic" else [])
    kinetic = [f"p{i}**2/2" for i in range(1, n + 1)]
    bonds = [f"exp(q{i} - q{j})" for i, j in pairs]
    unit = lambda i, value: [value if j == i else 0 for j in range(2 * n)]  # noqa: E731
    q, p = [f"q{i}" for i in range(1, n + 1)], [f"p{i}" for i in range(1, n + 1)]
    return System(
        states=q + p,
        energy=" + ".join(kinetic + bonds),
        structure=[unit(n + i, 1) for i in range(n)] + [unit(i, -1) for i in range(n)],
        ports={"force": effort(unit(n, 1))},
        minimum=dict.fromkeys(q + p, 0.0) if ends == "periodic" else None,
        positions=q,
        units={**dict.fromkeys(q, "m"), **dict.fromkeys(p, "kg m/s"), "force": ("N", "m/s")},
        name="toda_chain",
    )
