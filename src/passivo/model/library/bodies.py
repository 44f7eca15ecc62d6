"""Bodies that rotate about their centre of mass. `v^` is the matrix of the cross product: `v^ a = v × a`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from passivo.errors import ModelError
from passivo.model.feedback import Feedback
from passivo.model.ports import effort
from passivo.model.system import System

# I⁻¹ (Iω)^ I⁻¹: skew, and the same field as the −I⁻¹ ω^ that is often printed, which is not (spec 2.8)
GYROSCOPIC = [
    ["0", "-I3*w3/(I1*I2)", "I2*w2/(I1*I3)"],
    ["I3*w3/(I1*I2)", "0", "-I1*w1/(I2*I3)"],
    ["-I2*w2/(I1*I3)", "I1*w1/(I2*I3)", "0"],
]
# attitude: q' = K(ω) q, q = (q0, q1, q2, q3), scalar first; both are skew
KINEMATICS = {
    "true": [
        ["0", "-w1/2", "-w2/2", "-w3/2"],
        ["w1/2", "0", "w3/2", "-w2/2"],
        ["w2/2", "-w3/2", "0", "w1/2"],
        ["w3/2", "w2/2", "-w1/2", "0"],
    ],
    "printed": [
        ["0", "0", "0", "0"],
        ["0", "0", "-w3", "w2"],
        ["0", "w3", "0", "-w1"],
        ["0", "-w2", "w1", "0"],
    ],
}
TORQUE = [["1/I1", "0", "0"], ["0", "1/I2", "0"], ["0", "0", "1/I3"]]
RATES = {**dict.fromkeys(["w1", "w2", "w3"], "rad/s"), **dict.fromkeys(["I1", "I2", "I3"], "kg m²")}


def rigid_body(I1: float = 1.0, I2: float = 2.0, I3: float = 3.0) -> System:
    """A free rigid body, Euler's equations `I ω' = (I ω) × ω + τ` (spec 2.8), `H = ω'I ω/2`.

    I1, I2, I3  principal moments of inertia in kg m², > 0; default 1, 2, 3

    States: w1, w2, w3, the angular velocity in body axes in rad/s; `J = I⁻¹ (I ω)^ I⁻¹`, `G = I⁻¹`.
    Port "torque" (effort, 3 wide, body axes): takes τ in N m, gives ω in rad/s. |I ω| is kept where τ = 0.
    """
    return System(
        states=["w1", "w2", "w3"],
        energy="(I1*w1**2 + I2*w2**2 + I3*w3**2)/2",
        structure=GYROSCOPIC,
        ports={"torque": effort(TORQUE)},
        params={"I1": I1, "I2": I2, "I3": I3},
        minimum={"w1": 0.0, "w2": 0.0, "w3": 0.0},
        limits=["I1 > 0", "I2 > 0", "I3 > 0"],
        units={**RATES, "torque": ("N m", "rad/s")},
        name="rigid_body",
    )


def controlled_rigid_body(
    kinematics: Literal["true", "printed"] = "true", I1: float = 1.0, I2: float = 2.0, I3: float = 3.0
) -> System:
    """A rigid body with its attitude as a quaternion (spec 2.8): `H = ω'I ω/2 + q'q/2`.

        I ω' = (I ω) × ω + τ
        q' = ½ [[0, −ω'], [ω, −ω^]] q     kinematics="true", the motion of a unit quaternion
        q' = [[0, 0], [0, ω^]] q          kinematics="printed", as in the source of this test problem

    I1, I2, I3  principal moments of inertia in kg m², > 0; default 1, 2, 3

    States: w1, w2, w3, the angular velocity in body axes in rad/s; q0 ... q3, the quaternion, scalar first.
    |q| is kept and must not be 0: start with {"q0": 1} for the attitude of the reference axes.
    Ports (effort): "torque" (3 wide, body axes) takes τ in N m and gives ω in rad/s. "control" (7 wide) takes
    τ and a rate of q in 1/s, and gives ω and ∂H/∂q = q, so that one law may use both; see `rigid_body_control`.
    """
    if kinematics not in KINEMATICS:
        raise ModelError(f"kinematics is {' or '.join(map(repr, KINEMATICS))}, not {kinematics!r}")
    attitude = KINEMATICS[kinematics]
    none = ["0"] * 4
    identity = [["1" if i == j else "0" for j in range(4)] for i in range(4)]
    return System(
        states=["w1", "w2", "w3", "q0", "q1", "q2", "q3"],
        energy="(I1*w1**2 + I2*w2**2 + I3*w3**2)/2 + (q0**2 + q1**2 + q2**2 + q3**2)/2",
        structure=[row + none for row in GYROSCOPIC] + [["0"] * 3 + row for row in attitude],
        ports={
            "torque": effort(TORQUE + [["0"] * 3] * 4),
            "control": effort([row + none for row in TORQUE] + [["0"] * 3 + row for row in identity]),
        },
        params={"I1": I1, "I2": I2, "I3": I3},
        domain="q0**2 + q1**2 + q2**2 + q3**2 > 0",
        positions=["q0", "q1", "q2", "q3"],
        limits=["I1 > 0", "I2 > 0", "I3 > 0"],
        units={
            **RATES,
            **dict.fromkeys(["q0", "q1", "q2", "q3"], "1"),
            "torque": ("N m", "rad/s"),
            "control": ("N m; 1/s", "rad/s; J"),
        },
        name="controlled_rigid_body",
    )


def rigid_body_control(
    Kd: Sequence[float] = (3.0, 4.0, 5.0),
    Kp: Any = ((3.0, 0.0, 0.0, 1.0), (0.0, 5.0, 0.0, 1.0), (0.0, 0.0, 6.0, 1.0)),
    inertia: Sequence[float] = (1.0, 2.0, 3.0),
) -> Feedback:
    """The law `τ = −Kd ∂H/∂ω − Kp ∂H/∂q` for the port "control" of `controlled_rigid_body`; no rate of q.

    Kd       diagonal of the 3 × 3 gain in 1/s; default (3, 4, 5)
    Kp       3 × 4 gain; default [diag(3, 5, 6), 1]
    inertia  (I1, I2, I3) of the body, since `∂H/∂ω = I ω` and the port gives ω; default (1, 2, 3)

    The Kp term is not passive: with it the energy may rise, and the port's work shows by how much (spec 2.8).
    """
    given = {"Kd": (Kd, (3,)), "Kp": (Kp, (3, 4)), "inertia": (inertia, (3,))}
    d, p, moments = (_gain(value, shape, name) for name, (value, shape) in given.items())
    torque = [
        " ".join([f"-({d[i] * moments[i]!r})*y{i}", *(f"- ({p[i][j]!r})*y{3 + j}" for j in range(4))]) for i in range(3)
    ]
    return Feedback([*torque, "0", "0", "0", "0"])


def heavy_top(
    I1: float = 1.0,
    I2: float = 1.0,
    I3: float = 0.5,
    m: float = 1.0,
    l: float = 1.0,  # noqa: E741
    g: float = 9.81,
    attitude: bool = False,
) -> System:
    """A top that turns about a fixed point in gravity (spec 2.10), `H = Σ L_i²/(2 I_i) + m g l n3`.

        L' = L × ω + m g l n × e3 + τ,   n' = n × ω,   ω = I⁻¹ L       all in body axes

    I1, I2, I3  moments of inertia about the fixed point in kg m², > 0; default 1, 1, 0.5
    m           mass in kg, > 0; default 1
    l           distance of the centre of mass from the fixed point, along the third axis, in m, >= 0; default 1
    g           gravity in m/s²; default 9.81
    attitude    true: with the other two rows of the attitude matrix, a and b, besides n

    States: L1 ... L3, the angular momentum; n1 ... n3, the direction upwards: start with |n| = 1, such as {"n3": 1}.
    J holds L^ and n^ at the middle of a step, so that each step of AVF turns n by a Cayley transform: |n|, n·L (where
    no torque acts) and a matrix of rows a, b, n stay what they are, the energy too, to rounding and for any step.
    Port "torque" (effort, 3 wide, body axes): takes τ in N m, gives ω in rad/s.
    """
    rows = ["a", "b", "n"] if attitude else ["n"]
    hats = [_hat(name) for name in ("L", *rows)]
    zero, count = [["0"] * 3] * 3, len(rows)
    first = [[entry for hat in hats for entry in hat[i]] for i in range(3)]
    rest = [[*hat[i], *(entry for _ in rows for entry in zero[i])] for hat in hats[1:] for i in range(3)]
    identity = [["1" if i == j else "0" for j in range(3)] for i in range(3)]
    states = [f"{name}{i}" for name in ("L", *rows) for i in (1, 2, 3)]
    return System(
        states=states,
        energy="L1**2/(2*I1) + L2**2/(2*I2) + L3**2/(2*I3) + m*g*l*n3",
        structure=first + rest,
        ports={"torque": effort(identity + zero * count)},
        params={"I1": I1, "I2": I2, "I3": I3, "m": m, "l": l, "g": g},
        domain="n1**2 + n2**2 + n3**2 > 0",
        limits=["I1 > 0", "I2 > 0", "I3 > 0", "m > 0", "l >= 0"],
        units={
            **dict.fromkeys(["L1", "L2", "L3"], "kg m²/s"),
            **dict.fromkeys(states[3:], "1"),
            **dict.fromkeys(["I1", "I2", "I3"], "kg m²"),
            "m": "kg",
            "l": "m",
            "g": "m/s²",
            "torque": ("N m", "rad/s"),
        },
        name="heavy_top",
    )


def _hat(name: str) -> list[list[str]]:
    """The matrix of `v ×`."""
    x, y, z = (f"{name}{i}" for i in (1, 2, 3))
    return [["0", f"-{z}", y], [z, "0", f"-{x}"], [f"-{y}", x, "0"]]


def _gain(value: Any, shape: tuple[int, ...], name: str) -> Any:
    try:
        dense = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{name} must hold numbers in the shape {shape}, not {value!r}") from None
    if dense.shape != shape or not np.isfinite(dense).all():
        raise ModelError(f"{name} must hold finite numbers in the shape {shape}, got shape {dense.shape}: {value!r}")
    return dense.tolist()
