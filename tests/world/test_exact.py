"""Exact solvers of contacts: what they find fulfils the law of contact or is refused, and the sweeps find the same."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.errors import ConvergenceError
from passivo.world import exact, interior, lemke
from passivo.world import table as T
from passivo.world.core import core

H = 1e-3
EXACT = ("lemke", "interior")


def compiled(world, solver="sweeps", **options):
    return pv.compile(world, pv.PassiveMidpoint(contact=solver, **options), H, engine="python")


def boxes(count, seed, height=0.1, speed=0.0, turning=0.0, friction=0.5, restitution=0.0):
    """Boxes above a plane, the lowest `height` above it, turned where they turn."""
    rng, world = np.random.default_rng(seed), pv.World()
    world.add_plane(friction=friction, restitution=restitution)
    for i in range(count):
        turn = np.array([1.0, 0, 0, 0]) + (0.3 * rng.standard_normal(4) if turning else 0.0)
        world.add_body(
            f"b{i}", pv.Box(0.2, 0.15, 0.1), 1.0,
            position=(0.02 * i, 0.01 * i, height + (0.2 if turning else 0.11) * i),
            orientation=turn / np.linalg.norm(turn),
            velocity=(speed, 0.5 * speed, 0), angular_velocity=turning * rng.standard_normal(3),
            friction=friction, restitution=restitution,
        )  # fmt: skip
    return world


SCENES = {
    "dropped flat": (lambda: boxes(1, 0, 0.1), 130, 12),
    "sliding to rest": (lambda: boxes(1, 1, 0.05, speed=0.15, friction=0.3), 80, 20),
    "tumbling": (lambda: boxes(1, 2, 0.13, speed=0.7, turning=3.0, restitution=0.3), 400, 6),
    "three": (lambda: boxes(3, 3, 0.05), 40, 6),
    "three askew": (lambda: boxes(3, 4, 0.15, speed=0.1, turning=0.5), 170, 12),
}


# -- the problem of a step by itself ----------------------------------------------------------------------------------


class Problem:
    """Contacts in units in which D_nn is 1, given to a solver in a memory of its own."""

    def __init__(self, G, q, mu, solver="interior", directions=0):
        self.n, self.core = len(mu), core("python", solver)
        file = {"interior": interior, "lemke": lemke}[solver]
        self.t = [0] * T.HEADER
        self.t[T.DIRECTIONS] = directions
        self.m = np.zeros(exact.exact_size(self.n) + file.solver_size(self.n, directions))
        self.part(exact.E_MU, 1)[:], self.part(exact.E_UNIT, 1)[:] = mu, 1.0
        self.part(exact.E_Q, 3)[:] = np.ravel(q)
        self.m[self.n * exact.E_GRAM :][: 9 * self.n**2] = np.ravel(G)

    def part(self, what, size):
        return self.m[self.n * what : self.n * (what + size)]

    @property
    def p(self):
        return self.part(exact.E_P, 3).reshape(-1, 3)

    @property
    def u(self):
        return self.part(exact.E_U, 3).reshape(-1, 3)

    def residual(self):
        return self.core.residual(self.m, self.t, self.n)

    def solve(self):
        self.core.solve_exact(self.m, self.t, self.n, exact.SOLVED)
        return self.residual()


def face(rng, twisted=0.0):
    """Four corners under a box that moves down and along: G and q; where `twisted`, no motion fits all corners."""
    places = [(x, y, -0.5) for x in (-1.0, 1.0) for y in (-0.7, 0.7)]
    rows = []
    for place in places:
        x, y, z = place
        cross = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])  # w × place
        rows += [np.hstack([np.eye(3), cross])[k] for k in (2, 0, 1)]
    J = np.array(rows)
    v = np.concatenate([0.3 * rng.standard_normal(2), [-1.0], 0.1 * rng.standard_normal(3)])
    q = J @ v
    q[0::3] += twisted * np.array([1.0, -1.0, -1.0, 1.0])
    G = J @ np.diag([1, 1, 1, 2, 2, 2]) @ J.T
    unit = 1 / np.sqrt(np.repeat(G.diagonal()[0::3], 3))
    return unit[:, None] * G * unit, unit * q / np.abs(unit * q).max()


@pytest.mark.parametrize(("solver", "directions"), [("interior", 0), ("lemke", 8)])
@pytest.mark.parametrize("twisted", [0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1])
def test_four_corners_under_a_box_are_solved(twisted, solver, directions):
    """They are redundant; and where the law of impact is another one at each corner, no motion fits all of them: one of
    them bears nothing then, however little that is."""
    for seed in range(8):
        G, q = face(np.random.default_rng(seed), twisted)
        problem = Problem(G, q, 4 * [0.4], solver, directions)
        assert problem.solve() <= exact.SOLVED
        work = (problem.p * problem.u).sum()
        if solver == "interior":
            slid = -(0.4 * problem.p[:, 0] * np.linalg.norm(problem.u[:, 1:], axis=1)).sum()
            assert work == pytest.approx(slid, abs=1e-8)
        assert work < exact.SOLVED


def test_cone_complementarity_lets_friction_lose_nothing():
    """Why the law is Coulomb's on the velocity of the step and no projection onto the cone (spec 4.5)."""
    mu, q = 0.5, np.array([-1.0, 3.0, 0.0])  # what comes down at 1 m/s and slides at 3
    problem = Problem(np.eye(3), q, [mu])
    assert problem.solve() < 1e-12
    assert problem.p[0] == pytest.approx([1.0, -0.5, 0.0]) and problem.u[0] == pytest.approx([0.0, 2.5, 0.0], abs=1e-12)
    assert (problem.p * problem.u).sum() == pytest.approx(-mu * 1.0 * 2.5)
    edge = np.array([1.0, -mu, 0.0])
    p = edge * (edge @ -q) / (edge @ edge)  # of all impulses in the cone the one next to −q
    u = q + p
    assert p[0] * mu == pytest.approx(-p[1]) and u[0] == pytest.approx(mu * np.linalg.norm(u[1:]))
    assert p @ u == pytest.approx(0.0, abs=1e-15)  # it slides, and loses nothing
    assert u[0] > 0.9  # as it climbs by mu times the way that it slides
    problem.p[:] = p
    assert problem.residual() > 0.5


# -- what is refused --------------------------------------------------------------------------------------------------


WRONG = {
    "nothing": lambda p: np.zeros_like(p),
    "a hundredth too much": lambda p: 1.01 * p,
    "a hundredthousandth too much": lambda p: (1 + 1e-5) * p,
    "friction turned around": lambda p: p * (1, -1, -1),
    "no number": lambda p: np.full_like(p, np.nan),
}


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_false_success_is_caught(monkeypatch, solver, wrong):
    """A library's Lemke once reported success with a residual of 0.66: nothing is taken at its word."""
    part = compiled(boxes(1, 0, 0.0499, speed=1.0), solver)
    module = core("python", solver)
    right = module.solve_exact

    def claims(m, t, n, enough):
        pivots = right(m, t, n, enough)
        at = int(module.exact_part(t, n, exact.E_P))
        p = np.array(m[at : at + 3 * n]).reshape(-1, 3)
        m[at : at + 3 * n] = WRONG[wrong](p).ravel()
        return pivots

    twin = part.copy()
    assert twin.step() == 0
    monkeypatch.setattr(module, "solve_exact", claims)
    before = part.state.copy()
    with pytest.raises(ConvergenceError, match="found no impulses that fulfil the law of contact") as error:
        part.step()
    assert np.array_equal(part.state, before)
    assert error.value.residual is not None and not error.value.residual <= exact.SOLVED


# -- all solvers agree ------------------------------------------------------------------------------------------------


def follow(part, lead):
    """The same state, and the same contacts known from the step before."""
    part.state[:] = lead.state
    for name, size in (("PAST", lead.model.most_contacts * T.PAST_SIZE), ("TALLY", T.N_SIZE)):
        part._section(name, size)[:] = lead._section(name, size)


def tally(part, what):
    return part._section("TALLY", T.N_SIZE)[what]


def counting(part):
    """Which of the contacts that were found counted in the step: where one is closed by the impulse of another, it
    hangs on the order in which they are solved whether it does."""
    size = T.K_COLUMNS + 2 * T.COLUMN * int(part.module.TABLE[T.SPAN])
    touches = part._section("TOUCHES", int(tally(part, T.N_TOUCHES)) * size)
    return (touches[T.K_ARMED :: size] > 0).tolist()


@pytest.mark.parametrize("scene", SCENES)
def test_sweeps_and_exact_solvers_take_the_same_step(scene):
    """Each step from where the sweeps are, which stop after 20 pairs. The pyramid of Lemke's method turns friction by
    up to π/8: less than half of what the step does."""
    make, steps, most = SCENES[scene]
    world = make()
    lead, parts = compiled(world), {solver: compiled(world, solver) for solver in EXACT}
    moving = [i for i, name in enumerate(world.states) if ".velocity." in name or ".angular_velocity." in name]
    compared = dict.fromkeys(EXACT, 0)
    for _ in range(steps):
        for part in parts.values():
            follow(part, lead)
        before, rates = lead.stored, lead.state[moving].copy()
        lead.step()
        if not tally(lead, T.N_LIVE):
            continue
        change, loss = np.abs(lead.state[moving] - rates).max(), before - lead.stored
        for solver, part in parts.items():
            part.step()
            assert part.stored <= before + 1e-12
            if counting(part) != counting(lead):
                continue
            compared[solver] += 1
            share = 0.5 if solver == "lemke" else 0.0
            assert np.abs(part.state[moving] - lead.state[moving]).max() < share * change + 1e-6
            assert abs(part.stored - lead.stored) < share * loss + 1e-8
        if min(compared.values()) >= most:
            break
    assert min(compared.values()) >= min(most, 6)
