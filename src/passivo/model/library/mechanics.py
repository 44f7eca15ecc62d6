"""One degree of freedom: mass, spring, damper, and the oscillators made of them."""

from __future__ import annotations

from collections.abc import Sequence

from passivo.errors import ModelError
from passivo.model.mechanical import Mechanical
from passivo.model.ports import effort, flow
from passivo.model.rendering import Rendering
from passivo.model.system import System, name_list, number


def mass(m: float = 1.0, ports: Sequence[str] = ("force",)) -> System:
    """A mass without a position: `p' = Σ f`, `H = p²/(2 m)`.

    m      mass in kg, > 0; default 1
    ports  one effort port per name: takes a force in N, gives the velocity p/m in m/s; default "force"

    State: momentum p in kg m/s. Give several port names to join several springs or dampers to the same mass.
    """
    names = name_list(ports, "ports")
    if len(set(names)) < len(names):
        raise ModelError(f"the ports of a mass must have different names, not {names}")
    return System(
        states=["p"],
        energy="p**2/(2*m)",
        ports={name: effort([1]) for name in names},
        params={"m": m},
        minimum={"p": 0.0},
        limits=["m > 0"],
        units={"p": "kg m/s", "m": "kg", **dict.fromkeys(names, ("N", "m/s"))},
        name="mass",
    )


def spring(k: float = 1.0, ports: Sequence[str] = ("end",)) -> System:
    """A linear spring: `q' = v`, `H = k q²/2`; with two ends `q' = v − w`.

    k      stiffness in N/m, >= 0; default 1
    ports  one or two names: the moving end, and the other one, which stands still if it is not named

    State: extension q in m. Ports (flow): "end" takes the velocity v in m/s and gives the force k q in N; a second one
    takes w and gives −k q.
    """
    ends = name_list(ports, "ports")
    if not 1 <= len(ends) <= 2:
        raise ModelError(f"a spring has one or two ends, not {len(ends)}")
    return System(
        states=["q"],
        energy="k*q**2/2",
        ports={name: flow([sign]) for name, sign in zip(ends, (1, -1))},
        params={"k": k},
        minimum={"q": 0.0},
        positions=["q"],
        limits=["k >= 0"],
        units={"q": "m", "k": "N/m", **dict.fromkeys(ends, ("m/s", "N"))},
        name="spring",
    )


def unilateral_spring(k: float = 1.0, side: int = 1) -> System:
    """A spring that only pushes, for `EnergyConsistent(release="depth")`: `q' = side·v`, `H = k q²/2`.

    k     stiffness in N/m, >= 0; default 1
    side  1: what moves forwards presses it, as a wall ahead; -1: what moves backwards, as a floor below. Default 1

    State: compression q in m. Port "end" (flow): takes the velocity v in m/s, gives the force side·k q in N.
    Signal "depth" in m: how deep the other side really is. Where it is <= 0 a method that is told so sets q to 0, which
    also ends the drift of a compression integrated from velocities. To any other method it is a spring.
    """
    if side not in (1, -1):
        raise ModelError(f"the side of a unilateral spring is 1 or -1, not {side!r}")
    return System(
        states=["q"],
        energy="k*q**2/2",
        ports={"end": flow([side])},
        params={"k": k},
        signals=["depth"],
        minimum={"q": 0.0},
        positions=["q"],
        limits=["k >= 0"],
        units={"q": "m", "k": "N/m", "depth": "m", "end": ("m/s", "N")},
        name="unilateral_spring",
    )


def damper(b: float = 1.0) -> System:
    """A linear damper, without a state: `f = b v`, loss `b v²`.

    b  damping in N s/m, >= 0; default 1

    Port "end" (flow): takes the velocity v in m/s, gives the force b v in N.
    """
    return System(
        states=[],
        energy=0,
        ports={"end": flow()},
        feedthrough=[["b"]],
        params={"b": b},
        units={"b": "N s/m", "end": ("m/s", "N")},
        name="damper",
    )


def oscillator(k: float = 5000.0, m: float = 0.2, b: float = 0.0) -> Mechanical:
    """Mass, spring and damper: `q' = p/m`, `p' = −k q − b p/m + f`, `H = p²/(2 m) + k q²/2`.

    k  stiffness in N/m, >= 0; default 5000
    m  mass in kg, > 0; default 0.2
    b  damping in N s/m, >= 0; default 0

    States: position q in m, momentum p in kg m/s.
    Port "force" (effort): takes f in N, gives the velocity in m/s.
    """
    return Mechanical(
        ["q"],
        mass="m",
        potential="k*q**2/2",
        loss="b",
        ports={"force": effort([1])},
        params={"k": k, "m": m, "b": b},
        minimum={"q": 0.0, "p": 0.0},
        limits=["k >= 0"],
        units={"q": "m", "p": "kg m/s", "k": "N/m", "m": "kg", "b": "N s/m", "force": ("N", "m/s")},
        name="oscillator",
    )


def pendulum(m: float = 1.0, l: float = 1.0, g: float = 1.0, b: float = 0.0) -> Mechanical:  # noqa: E741
    """A planar pendulum: `q' = p/(m l²)`, `p' = −m g l sin q − b p/(m l²) + τ`.

    H = p²/(2 m l²) + m g l (1 − cos q)

    m  mass in kg, > 0; default 1
    l  length in m, > 0; default 1
    g  gravity in m/s², >= 0; default 1, so that H = p²/2 + 1 − cos q as in the literature
    b  damping in N m s, >= 0; default 0

    States: angle q in rad, 0 hanging down, and angular momentum p in kg m²/s.
    Port "torque" (effort): takes τ in N m, gives the angular velocity in rad/s.
    """
    return Mechanical(
        ["q"],
        mass="m*l**2",
        potential="m*g*l*(1 - cos(q))",
        loss="b",
        ports={"torque": effort([1])},
        params={"m": m, "l": l, "g": g, "b": b},
        minimum={"q": 0.0, "p": 0.0},
        limits=["l > 0", "g >= 0"],
        units={"q": "rad", "p": "kg m²/s", "m": "kg", "l": "m", "g": "m/s²", "b": "N m s", "torque": ("N m", "rad/s")},
        name="pendulum",
    )


def duffing(alpha: float = 1.0, beta: float = 1.0, m: float = 1.0, b: float = 0.0) -> Mechanical:
    """A Duffing oscillator: `q' = p/m`, `p' = −α q − β q³ − b p/m + f`, `H = p²/(2 m) + α q²/2 + β q⁴/4`.

    alpha  stiffness in N/m; negative makes a double well; default 1
    beta   cubic stiffness in N/m³; default 1
    m      mass in kg, > 0; default 1
    b      damping in N s/m, >= 0; default 0

    States: position q in m, momentum p in kg m/s.
    Port "force" (effort): takes f in N, gives the velocity in m/s.
    The rest position is stated as the minimum of H unless alpha or beta is negative.
    """
    settled = min(number(alpha, "alpha"), number(beta, "beta")) >= 0
    return Mechanical(
        ["q"],
        mass="m",
        potential="alpha*q**2/2 + beta*q**4/4",
        loss="b",
        ports={"force": effort([1])},
        params={"alpha": alpha, "beta": beta, "m": m, "b": b},
        minimum={"q": 0.0, "p": 0.0} if settled else None,
        units={
            "q": "m",
            "p": "kg m/s",
            "alpha": "N/m",
            "beta": "N/m³",
            "m": "kg",
            "b": "N s/m",
            "force": ("N", "m/s"),
        },
        name="duffing",
    )


def device(m: float = 0.15, b: float = 2.0) -> System:
    """A haptic device of one degree of freedom: `q' = p/m`, `p' = −b p/m + Σ f`, `H = p²/(2 m)`.

    m  mass in kg, > 0; default 0.15
    b  physical damping in N s/m, >= 0; default 2

    States: q in m (no spring holds it), p in kg m/s. Ports (effort): "handle", where a program pushes, and "hand",
    where a person does; both take a force in N and give the velocity in m/s.
    """
    return System(
        states=["q", "p"],
        energy="p**2/(2*m)",
        structure=[[0, 1], [-1, 0]],
        loss=[[0, 0], [0, "b"]],
        ports={"handle": effort([0, 1]), "hand": effort([0, 1])},
        params={"m": m, "b": b},
        minimum={"q": 0.0, "p": 0.0},
        positions=["q"],
        limits=["m > 0", "b >= 0"],
        units={"q": "m", "p": "kg m/s", "m": "kg", "b": "N s/m", "handle": ("N", "m/s"), "hand": ("N", "m/s")},
        name="device",
    )


def bouncing_mass(m: float = 0.2, g: float = 9.81) -> System:
    """A mass that falls: `q' = p/m`, `p' = −m g + f`, `H = p²/(2 m) + m g q`.

    m  mass in kg, > 0; default 0.2
    g  acceleration of gravity in m/s², >= 0; default 9.81

    States: q, the height in m, and p in kg m/s. Port "force" (effort): takes a force upwards in N, gives the velocity
    in m/s. `ExactBounce` steps it over a rigid floor at q = 0; `ExactHold(port="true")` in free flight.
    """
    return System(
        states=["q", "p"],
        energy="p**2/(2*m) + m*g*q",
        structure=[[0, 1], [-1, 0]],
        ports={"force": effort([0, 1])},
        params={"m": m, "g": g},
        positions=["q"],
        limits=["m > 0", "g >= 0"],
        units={"q": "m", "p": "kg m/s", "m": "kg", "g": "m/s²", "force": ("N", "m/s")},
        name="bouncing_mass",
    )


def wall(k: float = 1e3, b: float = 0.0) -> Rendering:
    """A virtual wall as programs render it: `f = max(k x + b v, 0)` inside, 0 outside; x is what is observed as depth.

    k  stiffness in N/m, >= 0; default 1000
    b  damping in N s/m, >= 0; default 0

    No states. Port "end" (flow): takes the velocity into the wall in m/s, gives the force in N. Signal: depth in m.
    It is a law, not a spring: sampled, it creates energy, and the ledger shows how much at its ports.
    """
    return Rendering(
        {"end": flow()},
        {"end": "Max(k*depth + b*end, 0)*(1 + sign(depth))/2" if b else "k*Max(depth, 0)"},
        {"k": k, **({"b": b} if b else {})},
        signals=["depth"],
        limits=["k >= 0"] + ["b >= 0"] * bool(b),
        units={"k": "N/m", "depth": "m", "end": ("m/s", "N"), **({"b": "N s/m"} if b else {})},
        name="wall",
    )
