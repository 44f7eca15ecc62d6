"""Reference problems: a model, a start, inputs that vary in time, and the same equations written once more.

Parameters are such that things happen within seconds. A loss acts where a model has one; ports are driven.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import passivo as pv
from passivo.model.system import Model
from verify import linkages
from verify.linkages import Bars

library = pv.library


@dataclass(frozen=True)
class Problem:
    """One reference problem.

    field    (x, u) -> x', written out by hand; u holds one number per port component
    convex   whether the energy is convex wherever a run may go
    step     seconds; balances are measured with it and with four times it
    horizon  seconds of the runs that measure the order
    size     of the inputs `size · sin(1.3 t + 0.7 k)`, k the port component
    laws     port -> Feedback or Relation, in place of such an input; `closed` gives their u from x
    drift    (closed lossless version, step, steps) of the long run; None where there is none worth a long run
    bars     what a model with constraints is made of
    places   coordinates and formulas that embed them, where symplecticity is measured in these
    """

    name: str
    model: Model
    start: Mapping[str, float]
    field: Callable[[np.ndarray, np.ndarray], Any]
    convex: bool
    step: float = 0.1
    horizon: float = 2.0
    size: float = 0.3
    laws: Mapping[str, Any] = field(default_factory=dict)
    closed: Callable[[np.ndarray, np.ndarray], Any] | None = None
    drift: tuple[Model, float, int] | None = None
    bars: Bars | None = None
    places: tuple[tuple[str, ...], Mapping[str, str]] | None = None

    @property
    def constrained(self) -> bool:
        return bool(self.model.constraints)

    @cached_property
    def chart(self) -> pv.Embedding | None:
        """The closed version in coordinates of its own."""
        return pv.Embedding(self.quiet, *self.places) if self.places else None  # type: ignore[arg-type]

    @cached_property
    def quadratic(self) -> bool:
        """Whether the energy is a polynomial of degree 2 at most, and no constraint bends it."""
        import sympy as sp

        form = self.model.form
        if self.constrained:
            return False
        energy = form.energy
        if not form.states:
            return True
        return bool(energy.is_polynomial(*form.states)) and sp.Poly(energy, *form.states).total_degree() <= 2

    @cached_property
    def lossless(self) -> bool:
        """Whether the closed version loses nothing with the parameters it has."""
        form = self.quiet.form
        return form.loss.subs(dict(zip(form.params, self.quiet.params.values()))).is_zero_matrix is True

    @property
    def quiet(self) -> Model:
        """The closed version without loss, where there is one; else the model itself."""
        return self.drift[0] if self.drift else self.model

    @cached_property
    def canonical(self) -> bool:
        """Whether the closed version is lossless and its J is [[0, 1], [-1, 0]] in blocks."""
        import sympy as sp

        half, odd = divmod(len(self.model.states), 2)
        if odd or not half or not self.lossless or self.laws or (self.constrained and not self.places):
            return False
        return self.quiet.form.structure == sp.Matrix(canonical_matrix(half).astype(int))

    def inputs(self) -> dict[str, Any]:
        """The `inputs=` of a run: waves at the free ports, the laws at the others."""
        result: dict[str, Any] = dict(self.laws)
        at = 0
        for name, port in self.model.ports.items():
            if name not in self.laws:
                result[name] = self._waves(at, port.width)
            at += port.width
        return result

    def _waves(self, at: int, width: int) -> Callable:
        if width == 1:
            return lambda t: self.size * pv.sin(1.3 * t + 0.7 * at)
        return lambda t: [self.size * pv.sin(1.3 * t + 0.7 * (at + j)) for j in range(width)]

    def slope(self, t: float, x: np.ndarray) -> np.ndarray:
        """x' by the hand-written equations, inputs put in."""
        u = self.size * np.sin(1.3 * t + 0.7 * np.arange(self.model.width))
        if self.closed is not None:
            u = np.asarray(self.closed(x, u), dtype=float)
        return np.asarray(self.field(x, u), dtype=float)


def canonical_matrix(half: int) -> np.ndarray:
    one, none = np.eye(half), np.zeros((half, half))
    return np.block([[none, one], [-one, none]])


def _euler(w: np.ndarray, torque: np.ndarray) -> np.ndarray:
    inertia = np.array([1.0, 2.0, 3.0])
    return (np.cross(inertia * w, w) + torque) / inertia


def _spin(w: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Half the quaternion product q ∘ (0, ω), scalar first."""
    return 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])


def _top(x: np.ndarray, torque: np.ndarray) -> list[float]:
    w = x[:3] / [1.0, 1.0, 0.5]
    weight = np.cross(x[3:], [0.0, 0.0, 2.0])
    return [*(np.cross(x[:3], w) + weight + torque), *np.cross(x[3:], w)]


def _toda(x: np.ndarray, u: np.ndarray) -> list[float]:
    bond = np.exp(x[:3] - np.roll(x[:3], -1))
    force = np.roll(bond, 1) - bond
    return [*x[3:], force[0] + u[0], force[1], force[2]]


def _bead() -> Model:
    """A bead on the wire y = q²/2 in gravity: the mass depends on q, so the energy does not separate."""
    return pv.Mechanical(
        ["q"],
        mass="1 + q**2",
        potential="q**2/2",
        loss="b",
        ports={"force": pv.effort([1])},
        params={"b": 0.2},
        name="bead",
    )


def _bead_field(x: np.ndarray, u: np.ndarray) -> list[float]:
    q, p = x
    v = p / (1 + q**2)
    return [v, q * v**2 - q - 0.2 * v + u[0]]


def _varying() -> Model:
    """A quadratic energy over J, R and G that all depend on the state."""
    return pv.System(
        states=["a", "b", "c"],
        energy="a**2/2 + b**2 + c**2/2 + a*b/2",
        structure=[[0, "1 + c", "-b"], ["-1 - c", 0, "a**2"], ["b", "-a**2", 0]],
        loss=[["a**2/5", 0, 0], [0, "1/5", 0], [0, 0, "(1 + b**2)/10"]],
        ports={"push": pv.effort([1, "a", 0])},
        name="varying",
    )


def _varying_field(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    a, b, c = x
    g = np.array([a + b / 2, 2 * b + a / 2, c])
    structure = np.array([[0, 1 + c, -b], [-1 - c, 0, a**2], [b, -(a**2), 0]])
    loss = np.diag([a**2 / 5, 0.2, (1 + b**2) / 10])
    return (structure - loss) @ g + np.array([1, a, 0]) * u[0]


def _composed() -> Model:
    """Spring, mass and damper as parts of one system: the ledger has a row for each."""
    return pv.Monolithic(
        {
            "spring": library.spring(k=3.0),
            "mass": library.mass(m=2.0, ports=("first", "second", "outside")),
            "damper": library.damper(b=0.7),
        },
        [("spring.end", "mass.first", "link"), ("damper.end", "mass.second", "brake")],
        name="composed",
    )


# Closed runs. SHORT ones in plain Python (seconds, nothing to compile) show whether energy grows or swings, and meet
# every phase of a motion that repeats itself. What only LONG ones find, in machine code: a leak of less than some 1e-4
# of the swing, a growth of less than 1e-4 per step, rounding that adds up, a step that fails once in 1e5. Code for one
# takes 4 to 15 s, so they are kept to problems on which methods differ in this: a linear one (rounding alone, and
# methods for linear models), a Lie-Poisson one, and motions in several dimensions that never repeat themselves: with
# exponentials, with a singularity, with constraints.
SHORT, LONG = 10_000, 1_000_000
SWUNG = {"ax": 0.6, "ay": 0.0, "bx": 0.6, "by": -0.3}  # the upper bar level, the lower one hanging
JOINTS = pv.Feedback(lambda y: [-0.3 * y[0], -0.2 * pv.atan(y[1])])


def _linkage(name: str, model: Model, start: Mapping[str, float], bars: Bars, **more: Any) -> Problem:
    options: dict[str, Any] = {"step": 0.005, "horizon": 0.25, "drift": (model, 0.005, SHORT), **more}
    return Problem(name, model, start, bars.field, convex=False, bars=bars, **options)


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("mass", library.mass(m=0.5), {"p": 0.4}, lambda x, u: [u[0]], convex=True),
        Problem("spring", library.spring(k=3.0), {"q": 0.4}, lambda x, u: [u[0]], convex=True),
        Problem("unilateral_spring", library.unilateral_spring(k=3.0), {"q": 0.4}, lambda x, u: [u[0]], convex=True),
        Problem("damper", library.damper(b=0.7), {}, lambda x, u: [], convex=True),
        Problem(
            "oscillator",
            library.oscillator(k=2.0, m=0.5, b=0.2),
            {"q": 1.0},
            lambda x, u: [x[1] / 0.5, -2.0 * x[0] - 0.2 * x[1] / 0.5 + u[0]],
            convex=True,
            drift=(library.oscillator(k=2.0, m=0.5), 0.1, LONG),
        ),
        Problem(
            "device",
            library.device(m=0.5, b=0.2),
            {"q": 1.0, "p": 0.3},
            lambda x, u: [x[1] / 0.5, -0.2 * x[1] / 0.5 + u[0] + u[1]],
            convex=True,
        ),
        Problem(
            "pendulum",
            library.pendulum(b=0.1),
            {"q": 2.0, "p": 0.3},
            lambda x, u: [x[1], -np.sin(x[0]) - 0.1 * x[1] + u[0]],
            convex=False,
            drift=(library.pendulum(), 0.1, SHORT),
        ),
        Problem(
            "pendulum, feedback",
            library.pendulum(),
            {"q": 2.0, "p": 0.3},
            lambda x, u: [x[1], -np.sin(x[0]) + u[0]],
            convex=False,
            laws={"torque": pv.Feedback(lambda y: -0.4 * pv.atan(2.0 * y))},
            closed=lambda x, u: [-0.4 * np.arctan(2.0 * x[1])],
        ),
        Problem(
            "pendulum, relation",
            library.pendulum(),
            {"q": 2.0, "p": 0.3},
            lambda x, u: [x[1], -np.sin(x[0]) + u[0]],
            convex=False,
            laws={"torque": pv.Relation(lambda y, u: u + u**3 + 0.4 * y)},
            closed=lambda x, u: [_cubic(-0.4 * x[1])],
        ),
        Problem(
            "duffing",
            library.duffing(b=0.1),
            {"q": 1.2, "p": 0.3},
            lambda x, u: [x[1], -x[0] - x[0] ** 3 - 0.1 * x[1] + u[0]],
            convex=True,
            drift=(library.duffing(), 0.1, SHORT),
        ),
        Problem(
            "bead",
            _bead(),
            {"q": 0.8, "p": 0.5},
            _bead_field,
            convex=False,
            drift=(_bead().with_params(b=0.0), 0.1, SHORT),
        ),
        Problem(
            "rigid_body",
            library.rigid_body(),
            {"w1": 1.0, "w2": 0.5, "w3": -0.8},
            _euler,
            convex=True,
            drift=(library.rigid_body(), 0.1, LONG),
        ),
        Problem(
            "controlled_rigid_body",
            library.controlled_rigid_body(),
            {"w1": 1.0, "w2": 0.5, "w3": -0.8, "q0": 1.0},
            lambda x, u: [*_euler(x[:3], u[:3] + u[3:6]), *(_spin(x[:3], x[3:]) + u[6:])],
            convex=True,
            size=0.2,
        ),
        Problem(
            "heavy_top",
            library.heavy_top(g=2.0),
            {"L1": 0.4, "L3": 1.0, "n2": 0.6, "n3": 0.8},
            _top,
            convex=True,
            step=0.05,  # a splitting does not keep |n|, and H has no lower bound in n: at 0.4 s one ran away, H exact
            drift=(library.heavy_top(g=2.0), 0.1, SHORT),
        ),
        Problem(
            "microphone",
            library.microphone(R=2.0),
            {"q": 2.0, "p": 1.0, "Q": 1.5},
            lambda x, u: [
                x[1] / 4.0,
                -(x[0] - 3.0) - x[2] ** 2 / 2 - 0.1 * x[1] / 4.0 + u[0],
                -x[0] * x[2] / 2.0 + u[0] / 2.0,
            ],
            convex=False,
        ),
        Problem(
            "lc_circuit",
            library.lc_circuit(L=0.5, C=0.2, R=0.1),
            {"Q": 0.3},
            lambda x, u: [x[1] / 0.5, -x[0] / 0.2 - 0.1 * x[1] / 0.5 + u[0]],
            convex=True,
        ),
        Problem(
            "dc_motor",
            library.dc_motor(L=0.5, R=0.9, I=0.4, b=0.2, K=0.6),
            {"phi": 0.3, "p": 0.5},
            lambda x, u: [
                -0.9 * x[0] / 0.5 - 0.6 * x[1] / 0.4 + u[0],
                0.6 * x[0] / 0.5 - 0.2 * x[1] / 0.4 + u[1],
            ],
            convex=True,
        ),
        Problem(
            "toda_chain",
            library.toda_chain(),
            {"q1": 0.5, "q2": -0.3, "p1": 0.4, "p3": -0.6},
            _toda,
            convex=True,
            drift=(library.toda_chain(), 0.1, LONG),
        ),
        Problem(
            "kepler",
            library.kepler(),
            {"x": 1.0, "py": 1.1},
            lambda x, u: [*x[2:], *(-x[:2] / np.hypot(x[0], x[1]) ** 3 + u)],
            convex=False,
            step=0.05,
            size=0.1,
            drift=(library.kepler(), 0.05, LONG),
        ),
        Problem("varying", _varying(), {"a": 0.8, "b": -0.3, "c": 0.5}, _varying_field, convex=True, step=0.05),
        Problem(
            "composed",
            _composed(),
            {"spring.q": 0.5, "mass.p": 0.2},
            lambda x, u: [x[1] / 2.0, -3.0 * x[0] - 0.7 * x[1] / 2.0 + u[0]],
            convex=True,
        ),
        _linkage(
            "double_pendulum",
            library.double_pendulum(),
            SWUNG,
            linkages.double_pendulum(),
            drift=(library.double_pendulum(), 0.005, LONG),
            places=(
                ("q1", "q2"),
                {
                    "ax": "la*cos(q1)",
                    "ay": "la*sin(q1)",
                    "bx": "la*cos(q1) + lb*cos(q1 + q2)",
                    "by": "la*sin(q1) + lb*sin(q1 + q2)",
                },
            ),
        ),
        _linkage(
            "double_pendulum, feedback",
            library.double_pendulum(),
            SWUNG,
            linkages.double_pendulum(),
            laws={"joints": JOINTS},
            closed=lambda x, u: _joints(linkages.double_pendulum_rates(x)),
            drift=None,
        ),
        _linkage(
            "pendulum_chain",
            library.pendulum_chain(3),
            {"x1": 0.2, "y1": 0.0, "x2": 0.2, "y2": -0.2, "x3": 0.4, "y3": -0.2},
            linkages.chain(3),
            places=(
                ("q1", "q2", "q3"),
                {
                    f"{axis}{i}": " + ".join(f"{turn}(q{j})*l" for j in range(1, i + 1))
                    for i in (1, 2, 3)
                    for axis, turn in (("x", "sin"), ("y", "-cos"))
                },
            ),
        ),
        _linkage(
            "four_bar",
            library.four_bar(),
            {"ay": 0.1, "bx": 0.4, "by": 0.4},
            linkages.four_bar(),
            size=0.01,
        ),
        _linkage(
            "squeezer",
            library.squeezer(),
            {"ay": 0.1, "bx": 0.4, "by": 0.4, "cx": -0.4, "cy": 0.4},
            linkages.squeezer(),
            step=0.002,
            horizon=0.05,
            drift=(library.squeezer(), 0.002, SHORT),
        ),
        _linkage(
            "squeezer, friction",
            library.squeezer(b=2.0),
            {"ay": 0.1, "bx": 0.4, "by": 0.4, "cx": -0.4, "cy": 0.4},
            linkages.squeezer(b=2.0),
            step=0.002,
            horizon=0.05,
            drift=None,
        ),
    )
}


def _joints(y: np.ndarray) -> list[float]:
    return [-0.3 * y[0], -0.2 * np.arctan(y[1])]


def _cubic(right: float) -> float:
    """The real u with u + u³ = right."""
    root = np.sqrt(right**2 / 4 + 1 / 27)
    return np.cbrt(right / 2 + root) + np.cbrt(right / 2 - root)
