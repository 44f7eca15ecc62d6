"""Electrical and electromechanical systems."""

from __future__ import annotations

from passivo.model.ports import effort
from passivo.model.system import System


def lc_circuit(L: float = 1e-3, C: float = 1e-6, R: float = 0.0) -> System:
    """Coil, capacitor and resistor in series: `Q' = φ/L`, `φ' = −Q/C − R φ/L + v`, `H = Q²/(2 C) + φ²/(2 L)`.

    L  inductance in H, > 0; default 1e-3
    C  capacitance in F, > 0; default 1e-6
    R  resistance in ohm, >= 0; default 0

    States: charge Q in C, flux phi in Wb. Port "voltage" (effort): takes v in V, gives the current φ/L in A.
    """
    return System(
        states=["Q", "phi"],
        energy="Q**2/(2*C) + phi**2/(2*L)",
        structure=[[0, 1], [-1, 0]],
        loss=[[0, 0], [0, "R"]],
        ports={"voltage": effort([0, 1])},
        params={"L": L, "C": C, "R": R},
        minimum={"Q": 0.0, "phi": 0.0},
        positions=["Q"],
        limits=["L > 0", "C > 0"],
        units={"Q": "C", "phi": "Wb", "L": "H", "C": "F", "R": "Ω", "voltage": ("V", "A")},
        name="lc_circuit",
    )


def dc_motor(L: float = 1e-3, R: float = 1.0, I: float = 1e-4, b: float = 1e-4, K: float = 0.05) -> System:  # noqa: E741
    """A direct-current motor: `φ' = −R i − K ω + v`, `p' = K i − b ω + τ`, with `i = φ/L`, `ω = p/I`.

    L  inductance in H, > 0; default 1e-3
    R  resistance in ohm, >= 0; default 1
    I  inertia of the rotor in kg m², > 0; default 1e-4
    b  friction of the bearings in N m s, >= 0; default 1e-4
    K  motor constant in N m/A, the same number in V s; default 0.05

    States: flux phi in Wb, angular momentum p in kg m²/s; `H = φ²/(2 L) + p²/(2 I)`. K stands in J:
    it converts energy and loses none. Ports (effort): "voltage" takes v in V and gives the current in A;
    "torque" takes τ in N m and gives the angular velocity in rad/s.
    """
    return System(
        states=["phi", "p"],
        energy="phi**2/(2*L) + p**2/(2*I)",
        structure=[[0, "-K"], ["K", 0]],
        loss=[["R", 0], [0, "b"]],
        ports={"voltage": effort([1, 0]), "torque": effort([0, 1])},
        params={"L": L, "R": R, "I": I, "b": b, "K": K},
        minimum={"phi": 0.0, "p": 0.0},
        limits=["L > 0", "I > 0"],
        units={
            "phi": "Wb",
            "p": "kg m²/s",
            "L": "H",
            "R": "Ω",
            "I": "kg m²",
            "b": "N m s",
            "K": "N m/A",
            "voltage": ("V", "A"),
            "torque": ("N m", "rad/s"),
        },
        name="dc_motor",
    )


def microphone(m: float = 4.0, c: float = 0.1, R: float = 100.0, qbar: float = 3.0) -> System:
    """A capacitor microphone (spec 2.8): `H = p²/(2 m) + (q − q̄)²/2 + q Q²/2`.

        q' = p/m,   p' = −(q − q̄) − Q²/2 − c p/m + u,   Q' = −q Q/R + u/R

    m     mass of the moving plate in kg, > 0; default 4
    c     damping of its spring in N s/m, >= 0; default 0.1
    R     resistance in ohm, > 0; default 100
    qbar  distance of the plates where the spring rests in m, > 0; default 3

    The source counts without units; as SI its ones are a spring of 1 N/m, a capacitance of 1 F m/q and 1 N/V.
    States: distance q of the plates in m, momentum p in kg m/s, charge Q in C; q must stay positive (H is
    unbounded below for q < 0).
    Port "voltage" (effort): the one input u in V drives plate and circuit, as in the source; output p/m + q Q/R in A.
    """
    return System(
        states=["q", "p", "Q"],
        energy="p**2/(2*m) + (q - qbar)**2/2 + q*Q**2/2",
        structure=[[0, 1, 0], [-1, 0, 0], [0, 0, 0]],
        loss=[[0, 0, 0], [0, "c", 0], [0, 0, "1/R"]],
        ports={"voltage": effort([0, 1, "1/R"])},
        params={"m": m, "c": c, "R": R, "qbar": qbar},
        minimum={"q": "qbar", "p": 0.0, "Q": 0.0},
        domain="q > 0",
        positions=["q"],
        limits=["m > 0", "R > 0", "qbar > 0"],
        units={
            "q": "m",
            "p": "kg m/s",
            "Q": "C",
            "m": "kg",
            "c": "N s/m",
            "R": "Ω",
            "qbar": "m",
            "voltage": ("V", "A"),
        },
        name="microphone",
    )
