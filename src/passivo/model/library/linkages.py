"""Planar linkages of point masses and massless bars, each bar a constraint `|a − b|² − l²` with a name of its own.

The tension of a bar is 2 l λ, λ its recorded multiplier: `2 * l * run["upper"]`. Gravity acts along −y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from passivo.errors import ModelError
from passivo.model.constrained import Constrained
from passivo.model.ports import effort


def double_pendulum(la: float = 0.6, lb: float = 0.3, ma: float = 0.2, mb: float = 0.6, g: float = 9.81) -> Constrained:
    """A planar double pendulum: mass a on a bar from the origin, mass b on a bar from a; torques at both joints.

    la, lb  lengths of the upper and the lower bar in m, > 0; default 0.6 and 0.3
    ma, mb  masses in kg, > 0; default 0.2 and 0.6
    g       gravity in m/s², >= 0; default 9.81

    States: positions ax, ay, bx, by in m, momenta pax, pay, pbx, pby in kg m/s; at first it hangs at rest.
    Port "joints" (effort, 2 wide): takes the torques at the origin and at a in N m, gives the rates of the upper bar's
    angle and of the angle between the bars in rad/s. Recorded: multipliers "upper" and "lower" in N/m.
    """
    dx, dy = "(bx - ax)", "(by - ay)"
    return Constrained(
        positions=["ax", "ay", "bx", "by"],
        momenta=["pax", "pay", "pbx", "pby"],
        energy="(pax**2 + pay**2)/(2*ma) + (pbx**2 + pby**2)/(2*mb) + g*(ma*ay + mb*by)",
        constraints={"upper": "ax**2 + ay**2 - la**2", "lower": f"{dx}**2 + {dy}**2 - lb**2"},
        ports={
            "joints": effort(
                [
                    ["-ay/la**2", f"{dy}/lb**2 + ay/la**2"],
                    ["ax/la**2", f"-{dx}/lb**2 - ax/la**2"],
                    [0, f"-{dy}/lb**2"],
                    [0, f"{dx}/lb**2"],
                ]
            )
        },
        params={"la": la, "lb": lb, "ma": ma, "mb": mb, "g": g},
        minimum={"ay": "-la", "by": "-la - lb"},
        limits=["la > 0", "lb > 0", "ma > 0", "mb > 0", "g >= 0"],
        units=_units(("a", "b"), ("la", "lb"), ("ma", "mb"), ("upper", "lower"), {"joints": ("N m", "rad/s")}),
        name="double_pendulum",
    )


def pendulum_chain(n: int = 3, l: float = 0.2, m: float = 0.1, g: float = 9.81) -> Constrained:  # noqa: E741
    """A chain of n equal pendulums: n masses, each on a bar from the one above, the first on a bar from the origin.

    n  masses, >= 1; default 3
    l  length of a bar in m, > 0; default 0.2
    m  each mass in kg, > 0; default 0.1
    g  gravity in m/s², >= 0; default 9.81

    States: positions x1, y1 ... in m, momenta px1, py1 ... in kg m/s; at first it hangs at rest. Port "end" (effort, 2
    wide): takes a force on the last mass in N, gives its velocity in m/s. Recorded: multipliers "bar1" ... in N/m.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ModelError(f"a chain needs n >= 1 pendulums, a whole number, not {n!r}")
    each = range(1, n + 1)
    bars = {f"bar{i}": f"{_square(_node(i), _node(i - 1))} - l**2" for i in each}
    last = [[int(j == 2 * n - 2 + c) for c in range(2)] for j in range(2 * n)]
    return Constrained(
        positions=[f"{c}{i}" for i in each for c in "xy"],
        momenta=[f"p{c}{i}" for i in each for c in "xy"],
        energy=" + ".join([*(f"(px{i}**2 + py{i}**2)/(2*m)" for i in each), *(f"m*g*y{i}" for i in each)]),
        constraints=bars,
        ports={"end": effort(last)},
        params={"l": l, "m": m, "g": g},
        minimum={f"y{i}": f"-{i}*l" for i in each},
        limits=["l > 0", "m > 0", "g >= 0"],
        units=_units(each, ("l",), ("m",), bars, {"end": ("N", "m/s")}),
        name="pendulum_chain",
    )


def four_bar(
    crank: float = 0.1, coupler: float = 0.5, rocker: float = 0.4, base: float = 0.4, m: float = 0.1, g: float = 9.81
) -> Constrained:
    """A four-bar linkage: a crank from the origin to mass a, a coupler to mass b, a rocker from there to (base, 0).

    crank, coupler, rocker, base  lengths in m, > 0; default 0.1, 0.5, 0.4 and 0.4, with which the crank turns fully
    m                             both masses in kg, > 0; default 0.1
    g                             gravity in m/s², >= 0; default 9.81

    States: positions ax, ay, bx, by in m, momenta pax, pay, pbx, pby in kg m/s; it can start from
    {"ay": 0.1, "bx": 0.4, "by": 0.4}, and `pv.consistent` finds other starts. Port "crank" (effort): takes a torque in
    N m, gives the crank's rate in rad/s. Recorded: multipliers "crank_bar", "coupler_bar" and "rocker_bar" in N/m.
    """
    bars = {
        "crank_bar": "ax**2 + ay**2 - crank_length**2",
        "coupler_bar": "(bx - ax)**2 + (by - ay)**2 - coupler_length**2",
        "rocker_bar": "(bx - base)**2 + by**2 - rocker_length**2",
    }
    lengths = ("crank_length", "coupler_length", "rocker_length", "base")
    return Constrained(
        positions=["ax", "ay", "bx", "by"],
        momenta=["pax", "pay", "pbx", "pby"],
        energy="(pax**2 + pay**2 + pbx**2 + pby**2)/(2*m) + m*g*(ay + by)",
        constraints=bars,
        ports={"crank": effort(["-ay/crank_length**2", "ax/crank_length**2", 0, 0])},
        params={**dict(zip(lengths, (crank, coupler, rocker, base))), "m": m, "g": g},
        limits=[*(f"{name} > 0" for name in lengths), "m > 0", "g >= 0"],
        units=_units(("a", "b"), lengths, ("m",), bars, {"crank": ("N m", "rad/s")}),
        name="four_bar",
    )


def squeezer(k: float = 500.0, rest: float = 0.7, m: float = 0.1, b: float = 0.0) -> Constrained:
    """Two closed loops on one crank, after the squeezing mechanism of Andrews: a crank of 0.1 m from the origin to mass
    a, couplers of 0.5 m to masses b and c, rockers of 0.4 m from these to (0.4, 0) and (−0.4, 0), and between b and c a
    spring. In the plane of a table, without gravity.

    k     stiffness of the spring in N/m, >= 0; default 500
    rest  its length at rest in m, > 0; default 0.7
    m     each mass in kg, > 0; default 0.1
    b     friction of b and c on the table in N s/m, >= 0; default 0

    States: positions ax, ay, bx, by, cx, cy in m, momenta pax ... pcy in kg m/s; it can start from
    {"ay": 0.1, "bx": 0.4, "by": 0.4, "cx": -0.4, "cy": 0.4}. Port "crank" (effort): takes a torque in N m, gives the
    crank's rate in rad/s. Recorded: multipliers "crank_bar", "coupler_b", "rocker_b", "coupler_c", "rocker_c" in N/m.
    """
    places = [f"{point}{c}" for point in "abc" for c in "xy"]
    kinetic = " + ".join(f"p{place}**2" for place in places)
    bars = {
        "crank_bar": "ax**2 + ay**2 - 0.1**2",
        "coupler_b": f"{_square(('bx', 'by'), ('ax', 'ay'))} - 0.5**2",
        "rocker_b": f"{_square(('bx', 'by'), ('0.4', ''))} - 0.4**2",
        "coupler_c": f"{_square(('cx', 'cy'), ('ax', 'ay'))} - 0.5**2",
        "rocker_c": f"{_square(('cx', 'cy'), ('(-0.4)', ''))} - 0.4**2",
    }
    rows = [["b" if i == j and i > 1 else 0 for j in range(6)] for i in range(6)]
    return Constrained(
        positions=places,
        momenta=[f"p{place}" for place in places],
        energy=f"({kinetic})/(2*m) + k/2*(sqrt({_square(('bx', 'by'), ('cx', 'cy'))}) - rest)**2",
        constraints=bars,
        ports={"crank": effort(["-100*ay", "100*ax", 0, 0, 0, 0])},
        loss=rows if b else None,
        params={"k": k, "rest": rest, "m": m, **({"b": b} if b else {})},
        limits=["k >= 0", "rest > 0", "m > 0"] + ["b >= 0"] * bool(b),
        units={
            **_units("abc", ("rest",), ("m",), bars, {"crank": ("N m", "rad/s")}, gravity=False),
            "k": "N/m",
            **({"b": "N s/m"} if b else {}),
        },
        name="squeezer",
    )


def _node(i: int) -> tuple[str, str]:
    return (f"x{i}", f"y{i}") if i else ("", "")


def _square(to: tuple[str, str], start: tuple[str, str]) -> str:
    """The square of a distance; an empty name is 0."""
    return " + ".join(f"({a} - {b})**2" if b else f"{a}**2" for a, b in zip(to, start))


def _units(
    points: Sequence[str | int],
    lengths: Sequence[str],
    masses: Sequence[str],
    bars: Sequence[str] | Mapping[str, str],
    ports: Mapping[str, tuple[str, str]],
    gravity: bool = True,
) -> dict[str, str | tuple[str, str]]:
    place = [f"{c}{point}" if isinstance(point, int) else f"{point}{c}" for point in points for c in "xy"]
    return {
        **dict.fromkeys([*place, *lengths], "m"),
        **dict.fromkeys([f"p{name}" for name in place], "kg m/s"),
        **dict.fromkeys(masses, "kg"),
        **dict.fromkeys(bars, "N/m"),
        **ports,
        **({"g": "m/s²"} if gravity else {}),
    }
