"""Motion about a centre of attraction."""

from __future__ import annotations

from passivo.model.ports import effort
from passivo.model.system import System


def kepler(mu: float = 1.0) -> System:
    """A planar orbit of 1 kg: `x' = px`, `px' = −μ x/r³ + fx`, likewise y; `r² = x² + y²`.

    H = (px² + py²)/2 − μ/r

    mu  gravitational parameter in m³/s², > 0; default 1

    States: position x, y in m, momentum px, py in kg m/s. The centre r = 0 lies outside the domain and H has
    no minimum: a start must be given, such as {"x": 1, "py": 1} for a circle of period 2π where mu = 1.
    Port "thrust" (effort, 2 wide): takes the force (fx, fy) in N, gives the velocity in m/s.
    """
    return System(
        states=["x", "y", "px", "py"],
        energy="(px**2 + py**2)/2 - mu/sqrt(x**2 + y**2)",
        structure=[[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]],
        ports={"thrust": effort([[0, 0], [0, 0], [1, 0], [0, 1]])},
        params={"mu": mu},
        domain="x**2 + y**2 > 0",
        positions=["x", "y"],
        limits=["mu > 0"],
        units={"x": "m", "y": "m", "px": "kg m/s", "py": "kg m/s", "mu": "m³/s²", "thrust": ("N", "m/s")},
        name="kepler",
    )
