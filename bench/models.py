"""The systems that are timed, their start, and the input they are driven by."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import passivo as pv

STEP = 1e-2


def canonical(energy, params, port):
    """A system in q and p with damping b and one effort port."""
    q, p, b = pv.symbols("q p b")
    return pv.System(
        states=[q, p],
        energy=energy,
        structure=[[0, 1], [-1, 0]],
        loss=[[0, 0], [0, b]],
        ports={port: pv.effort([0, 1])},
        params=params,
    )


def duffing():
    q, p, m, alpha, beta = pv.symbols("q p m alpha beta")
    energy = p**2 / (2 * m) + alpha * q**2 / 2 + beta * q**4 / 4
    return canonical(energy, {"m": 1.0, "b": 0.1, "alpha": 1.0, "beta": 1.0}, "force")


def pendulum():
    from sympy import cos

    q, p, m, g, length = pv.symbols("q p m g l")
    energy = p**2 / (2 * m * length**2) + m * g * length * (1 - cos(q))
    return canonical(energy, {"m": 1.0, "b": 0.1, "g": 1.0, "l": 1.0}, "torque")


def chain(masses, bent=True, b=0.1):
    """Masses of 1 kg in a row on springs d + d³ (or d) from a wall, the last one pushed; two states for each."""
    q, p = ([f"{name}{i}" for i in range(1, masses + 1)] for name in "qp")
    ahead = [q[0], *(f"({x} - {before})" for before, x in pairwise(q))]
    unit = lambda i, value: [value if j == i else 0 for j in range(2 * masses)]  # noqa: E731
    return pv.System(
        states=[*q, *p],
        energy=" + ".join([*(f"{x}**2/2" for x in p), *(f"{d}**2/2" + f" + {d}**4/4" * bent for d in ahead)]),
        structure=[unit(masses + i, 1) for i in range(masses)] + [unit(i, -1) for i in range(masses)],
        loss=[[0] * (2 * masses)] * masses + [unit(masses + i, "b") for i in range(masses)],
        ports={"force": pv.effort(unit(2 * masses - 1, 1))},
        params={"b": b},
        minimum=dict.fromkeys([*q, *p], 0.0),
        positions=q,
        name=f"chain_of_{masses}",
    )


MODELS = {"duffing": duffing, "pendulum": pendulum}
STARTS = {"duffing": {"q": 1.0}, "pendulum": {"q": 2.0}}


def drive(steps: int) -> np.ndarray:
    """A periodic input that keeps the system moving on a regular orbit: rounding is not amplified."""
    return 0.5 * np.cos(1.7 * STEP * np.arange(steps))
