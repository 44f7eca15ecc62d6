"""`Beam`: a straight beam that bends in a plane, of Hermite elements after Euler and Bernoulli (spec 4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passivo.errors import ModelError, quoted
from passivo.model.banded import Row
from passivo.model.sparse import SparseLinear
from passivo.model.system import number

ENDS = {"clamped": (True, True), "pinned": (True, False), "free": (False, False)}  # deflection held, turn held


class Beam(SparseLinear):
    """A beam of `length` m in equal elements: at each node a deflection w across it, in m, and a turn dw/dx, in rad.

        beam = pv.Beam(0.5, 20, young=70e9, density=2700.0, section=(0.02, 0.003), ends=("clamped", "free"))
        beam.add_port("tip", node=20)
        beam.observe("tip_place", node=20)
        run = pv.simulate(beam, pv.PassiveMidpoint(), step=1e-3, until=5.0, start=beam.bent({20: 10.0}))
        run["deflection"];  run["tip_place"]

    young, density   Pa and kg/m³
    section          width and height of a full rectangle in m, the height in the plane of bending; or say `area` in m²
                     and `moment`, the second moment of area, in m⁴
    ends             of the first and the last node: "clamped", "pinned" or "free"
    rayleigh         dampings a in 1/s and b in s: B = a M + b K
    keep             what runs record of the states: names such as "w20" and "w20_rate"; default all
    along, up        the axis of the beam and the way that w counts, in the axes of a world, with the first node at
                     `origin`: for ports in space

    With bodies, joints and contacts: `world.add_beam("bar", beam)`.

    States: w0, turn0, w1 ... and their rates w0_rate ... without those that the ends hold; "deflection", "turn",
    "deflection_rate" and "turn_rate" are all nodes together. Strains are how far the ends of an element turn against
    its chord, so that energies keep their digits where many short elements bend little.
    """

    def __init__(
        self,
        length: float,
        elements: int,
        *,
        young: float,
        density: float,
        section: tuple[float, float] | None = None,
        area: float | None = None,
        moment: float | None = None,
        ends: tuple[str, str] = ("clamped", "free"),
        rayleigh: tuple[float, float] = (0.0, 0.0),
        keep: Any = None,
        along: Any = (1.0, 0.0, 0.0),
        up: Any = (0.0, 0.0, 1.0),
        origin: Any = (0.0, 0.0, 0.0),
        name: str = "beam",
    ):
        import scipy.sparse as sp

        self.length = _positive(length, "the length")
        if isinstance(elements, bool) or not isinstance(elements, int) or elements < 1:
            raise ModelError(f"the elements of a beam are a whole number >= 1, not {quoted(elements)}")
        self.elements = elements
        self.young, self.density = _positive(young, "young, the modulus"), _positive(density, "the density")
        self.area, self.moment = _section(section, area, moment)
        if not isinstance(ends, tuple | list) or len(ends) != 2 or any(end not in ENDS for end in ends):
            raise ModelError(f"the ends of a beam are two of {', '.join(map(repr, ENDS))}, not {quoted(ends)}")
        self.ends = (ends[0], ends[1])
        self.along, self.up, self.origin = _frame(along, up, origin)
        held = [*ENDS[ends[0]], *[False] * (2 * (elements - 1)), *ENDS[ends[1]]]
        self.free = [place for place, fixed in enumerate(held) if not fixed]
        if not self.free:
            raise ModelError("one element that is clamped at both ends cannot move; take two elements or more")

        part = self.length / elements
        mass, strain, stress = _element(part, self.density * self.area, self.young * self.moment)
        each, size = 2 * np.arange(elements)[:, None, None], 2 * (elements + 1)
        spread = lambda block, down: sp.coo_array((  # noqa: E731
            np.broadcast_to(block, (elements, *block.shape)).ravel(),
            [(each + places + 0 * block).astype(int).ravel() for places in (np.arange(down)[:, None], np.arange(4))],
        ), shape=(size if down == 4 else 2 * elements, size))  # fmt: skip
        names = [name for node in range(elements + 1) for name in (f"w{node}", f"turn{node}")]
        super().__init__(
            sp.csr_array(spread(mass, 4))[self.free][:, self.free],
            (_without_zeros(spread(strain, 2))[:, self.free], sp.csr_array(sp.kron(sp.eye_array(elements), stress))),
            coordinates=[names[place] for place in self.free],
            rayleigh=rayleigh,
            keep=keep,
            name=name,
        )
        of = lambda names, first: tuple(name for name in names if name.startswith(first))  # noqa: E731
        for first, group, unit in (("w", "deflection", "m"), ("turn", "turn", "rad")):
            places, rates = of(self.coordinates, first), of(self.rates, first)
            self.groups |= {group: places, f"{group}_rate": rates}
            self.units = {**self.units, **dict.fromkeys(places, unit), **dict.fromkeys(rates, f"{unit}/s")}

    # -- ports and what is looked at ----------------------------------------------------------------------------------

    def add_port(
        self, name: str, node: int | None = None, *, at: float | None = None, wrench: bool = False, space: bool = False
    ) -> None:
        """A port at a node, or `at` metres from the first: takes a force across the beam and gives the velocity there;
        as a `wrench` a moment too, and gives the rate of turning.

        In `space` it is 3 wide, in the axes of the world, and of the force the part along `up` acts; as a wrench 6
        wide, and of the torque the part about `along` × `up` acts.
        """
        place = self.place(node, at)
        across, turned = self._row(self.shape(place)), self._row(self.slope(place))
        columns = [across] if not space else [_scaled(across, share) for share in self.up]
        if wrench:
            axis = np.cross(self.along, self.up)
            columns += [turned] if not space else [_scaled(turned, share) for share in axis]
        self._add_port(self._new_name(name), columns)
        if not wrench:
            self.units = {**self.units, name: ("N", "m/s")}

    def observe(self, name: str, node: int | None = None, *, at: float | None = None) -> None:
        """Record the deflection at a node, or `at` metres from the first, at the end of each step."""
        self.sights[self._new_name(name)] = self._row(self.shape(self.place(node, at)))
        self.units = {**self.units, name: "m"}

    def place(self, node: int | None, at: float | None) -> float:
        """Metres from the first node."""
        if (node is None) == (at is None):
            raise ModelError(f"a place on a beam is a node from 0 to {self.elements}, or at=metres from the first one")
        if at is not None:
            place = number(at, "a place on a beam")
            if not 0.0 <= place <= self.length:
                raise ModelError(f"a place on this beam is from 0 to {self.length:g} m, not {place:g}")
            return place
        if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node <= self.elements:
            raise ModelError(f"the nodes of this beam are 0 to {self.elements}, not {quoted(node)}")
        return self.nodes[node]

    @property
    def nodes(self) -> list[float]:
        """Where the nodes are, in metres from the first."""
        return [self.length * node / self.elements for node in range(self.elements + 1)]

    def shape(self, place: float) -> np.ndarray:
        """What each coordinate adds to the deflection at a place: cubic shape functions, one number per coordinate."""
        return self._shapes(place, lambda s, part: (
            1 - 3 * s**2 + 2 * s**3, part * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, part * (s**3 - s**2)
        ))  # fmt: skip

    def slope(self, place: float) -> np.ndarray:
        """What each coordinate adds to the turn dw/dx at a place."""
        return self._shapes(place, lambda s, part: (
            6 * (s**2 - s) / part, 1 - 4 * s + 3 * s**2, 6 * (s - s**2) / part, 3 * s**2 - 2 * s
        ))  # fmt: skip

    @property
    def evenly(self) -> np.ndarray:
        """What each coordinate adds to the mean deflection: how a load that is spread evenly acts on them."""
        part, everywhere = self.length / self.elements, np.zeros(2 * (self.elements + 1))
        for element in range(self.elements):
            everywhere[2 * element : 2 * element + 4] += (0.5, part / 12, 0.5, -part / 12)
        return everywhere[self.free] / self.elements

    def _shapes(self, place: float, functions: Any) -> np.ndarray:
        part = self.length / self.elements
        element = min(int(place / part + 1e-9), self.elements - 1)
        s = min(max(place / part - element, 0.0), 1.0)
        s = round(s) if abs(s - round(s)) < 1e-9 else s  # a node is hit exactly
        everywhere = np.zeros(2 * (self.elements + 1))
        everywhere[2 * element : 2 * element + 4] = functions(s, part)
        return everywhere[self.free]

    def _row(self, shares: np.ndarray) -> Row:
        places = np.flatnonzero(shares)
        return tuple(places.tolist()), tuple(shares[places].tolist())

    # -- what is known of it ------------------------------------------------------------------------------------------

    @property
    def mass_matrix(self) -> np.ndarray:
        """M over the coordinates, dense."""
        return self.matrices.dense("mass")

    @property
    def stiffness_matrix(self) -> np.ndarray:
        """K over the coordinates, dense."""
        return self.matrices.dense("stiff")

    @property
    def damping_matrix(self) -> np.ndarray:
        """B over the coordinates, dense: a M + b K."""
        a, b = self.params["mass_damping"], self.params["stiffness_damping"]
        return a * self.mass_matrix + b * self.stiffness_matrix

    def modes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The lowest natural frequencies in rad/s, and the shape of each over the coordinates, of modal mass 1 kg.

        They are singular values of strains, not roots of eigenvalues of K, which keep half of the digits.
        """
        from scipy.linalg import solve_triangular, svd

        root = np.linalg.cholesky(self.mass_matrix)
        _, values, shapes = svd(solve_triangular(root, self._strained.T, lower=True).T, full_matrices=True)
        every = np.concatenate([values, np.zeros(len(shapes) - len(values))])
        chosen = np.argsort(every, kind="stable")[:count]
        return every[chosen], solve_triangular(root.T, shapes[chosen].T).T

    @property
    def _strained(self) -> np.ndarray:
        """A matrix S with K = S'S: the root of the stresses times the strains."""
        strain = np.zeros((self.matrices.elastic.shape[1], self.matrices.size))
        for columns, values in zip(self.matrices.columns, self.matrices.stretch):
            strain[np.arange(len(columns)), columns] += values
        return np.linalg.cholesky(self.matrices.dense("elastic")).T @ strain[:, np.argsort(self.matrices.order)]

    def bent(self, forces: Mapping[int, float]) -> dict[str, float]:
        """The state at rest under forces across it, in N by node: a start for runs."""
        if "free" in self.ends and "clamped" not in self.ends:
            raise ModelError("this beam does not rest under a force: nothing holds it; clamp an end, or pin both")
        load = sum(force * self.shape(self.place(node, None)) for node, force in forces.items())
        root: Any = np.linalg.qr(self._strained, mode="r")
        return dict(zip(self.coordinates, np.linalg.solve(root, np.linalg.solve(root.T, load)).tolist()))


def _element(part: float, mass: float, bending: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of an element of length `part`: its mass matrix over (w, turn, w, turn), strains and stresses.

    A strain is `part` times the turn of an end against the chord. mass in kg/m, bending E I in N m².
    """
    l = part  # noqa: E741
    shares = np.array([
        [156, 22 * l, 54, -13 * l], [22 * l, 4 * l**2, 13 * l, -3 * l**2],
        [54, 13 * l, 156, -22 * l], [-13 * l, -3 * l**2, -22 * l, 4 * l**2],
    ])  # fmt: skip
    strain = np.array([[1.0, l, -1.0, 0.0], [1.0, 0.0, -1.0, l]])
    return mass * l / 420 * shares, strain, bending / l**3 * np.array([[4.0, 2.0], [2.0, 4.0]])


def _without_zeros(matrix: Any) -> Any:
    result = matrix.tocsr()
    result.eliminate_zeros()
    return result


def _positive(value: Any, what: str) -> float:
    result = number(value, f"{what} of a beam")
    if not result > 0.0:
        raise ModelError(f"{what} of a beam must be > 0, not {result:g}")
    return result


def _section(section: Any, area: Any, moment: Any) -> tuple[float, float]:
    if (section is None) == (area is None) or (area is None) != (moment is None):
        raise ModelError("a beam needs its section=(width, height), or both its area and its moment")
    if section is None:
        return _positive(area, "the area"), _positive(moment, "the second moment of area")
    if not isinstance(section, tuple | list) or len(section) != 2:
        raise ModelError(f"the section of a beam is (width, height) in m, not {quoted(section)}")
    width, height = _positive(section[0], "the width"), _positive(section[1], "the height")
    return width * height, width * height**3 / 12


def _frame(along: Any, up: Any, origin: Any) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Two unit vectors at right angles, and a place."""
    vectors = []
    for what, value in (("along", along), ("up", up), ("origin", origin)):
        try:
            vector = np.array(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise ModelError(f"{what} of a beam is three numbers, not {quoted(value)}")
        vectors.append(vector)
    lengths = [float(np.linalg.norm(vector)) for vector in vectors[:2]]
    if not min(lengths) > 0.0 or abs(vectors[0] @ vectors[1]) > 1e-9 * lengths[0] * lengths[1]:
        raise ModelError(f"along and up of a beam are at right angles to each other, not {along} and {up}")
    axes = [tuple((vector / size).tolist()) for vector, size in zip(vectors, lengths)]
    return axes[0], axes[1], tuple(vectors[2].tolist())


def _scaled(row: Row, share: float) -> Row:
    return row[0], tuple(share * value for value in row[1])
