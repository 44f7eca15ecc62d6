"""Mechanisms in joint coordinates (spec 4.6): the identities of a step on random trees, in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.world import table as T
from passivo.world.rotation import matrix_of
from world.mechanisms import Oracle, busy_tree, momentum, random_start, random_tree
from world.scenes import drive, random_inertia, random_turn
from world.test_identities import compiled, created

SEEDS = range(6)


def vector(part, name):
    """What the state has under a name."""
    places = {state: i for i, state in enumerate(part.model.states)}
    return np.array([part.state[places[each]] for each in part.model.vectors.get(name, (name,))])


def assembly(part, k=0):
    """The table entry of a mechanism, and its matrices in the memory: L below the diagonal, L Q L', n."""
    table, m = part.module.TABLE, part.memory
    a = table[T.ASSEMBLY_TABLE] + k * T.A_SIZE
    n, room = table[a + T.A_WIDTH], table[a + T.A_ROOM]
    matrices = m[room : room + 3 * n * n].reshape(3, n, n)
    return a, n, np.tril(matrices[0]), matrices[1]


# -- inertia alone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_keeps_its_kinetic_energy_at_any_step(seed, free):
    """Steps from 1 to 100 ms, each of another size: nothing is created, in one solution after the first two steps."""
    world = random_tree(seed, free=free)
    part = compiled(world, start=random_start(world, seed))
    rng, before = np.random.default_rng(seed), part.stored
    for _ in range(40):
        part.step(dt=float(10.0 ** rng.uniform(-3, -1)))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all()
    assert abs(part.stored - before) < 1e-12 * before
    assert part.verdict.kind == "exact"
    assert part.memory[part.module.ITERATION] == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_masses_and_what_turns_the_motion_are_those_of_mujoco(seed):
    """L L' = M, Q = −Q', and Q ν = b = L⁻¹ c − L̇'u, c the bias, L̇ by a central difference of MuJoCo's M."""
    world = random_tree(seed, free=bool(seed % 2), inertia=0.05)
    oracle = Oracle(world)
    part = compiled(world, pv.PassiveMidpoint(order=1), start=random_start(world, seed))  # inertia of the start
    rates = oracle.put(part)
    bias, masses = oracle.bias(), oracle.masses()
    L = np.linalg.cholesky(masses)
    part.step(dt=1e-9)
    found, turning = assembly(part)[2:]
    # the factor of the step's end stands there: 1 ns later
    assert np.abs(found @ found.T - masses).max() < 1e-7 * np.abs(masses).max()
    Q = np.linalg.solve(L, np.linalg.solve(L, turning).T).T
    assert np.abs(turning + turning.T).max() == 0.0
    inverse = np.linalg.inv(L)
    phi = inverse @ (oracle.masses(1e-5) - oracle.masses(-1e-5)) / 2e-5 @ inverse.T
    change = L @ (np.tril(phi) - np.diag(np.diag(phi)) / 2)
    b = inverse @ bias - change.T @ rates
    assert np.abs(Q @ L.T @ rates - b).max() < 1e-7 * np.abs(b).max()
    assert abs(rates @ L @ Q @ L.T @ rates) < 1e-12 * np.abs(b).max() * np.abs(rates).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rates_at_the_end_of_a_step_hold_the_kinetic_energy_of_mujocos_masses(seed):
    world = random_tree(seed, free=bool(seed % 2), inertia=0.05)
    oracle = Oracle(world)
    part = compiled(world, start=random_start(world, seed))
    for _ in range(3):
        part.step(dt=2e-2)
    rates = oracle.put(part)
    assert part.stored == pytest.approx(rates @ oracle.masses() @ rates / 2, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_give_the_exact_displacement_of_every_link(seed):
    """x⁺ = x + h v̂ and R⁺ = R exp(h ŵ) to rounding, with V̂ = Σ columns · û, however far a step goes."""
    world = random_tree(seed, free=bool(seed % 2))
    part = compiled(world, start=random_start(world, seed))
    table, m = part.module.TABLE, part.memory
    for h in (1e-3, 0.1, 0.3):
        places = {name: vector(part, f"{name}.position") for name in world.bodies}
        turns = {name: matrix_of(vector(part, f"{name}.orientation")) for name in world.bodies}
        part.step(dt=h)
        a = assembly(part)[0]
        rates = m[table[a + T.A_RATE] :][: table[a + T.A_WIDTH]]
        for k in range(table[a + T.A_COUNT]):
            member = table[a + T.A_MEMBERS] + k * T.G_SIZE
            count = table[member + T.G_COUNT]
            columns = m[table[member + T.G_COLUMNS] :][: 6 * count].reshape(count, 6)
            unknowns = table[table[member + T.G_UNKNOWNS] :][:count]
            hat = rates[unknowns] @ columns
            name = list(world.bodies)[table[member + T.G_BODY]]
            far = 1 + np.abs(places[name]).max() + np.abs(h * hat).max()
            assert np.abs(places[name] + h * hat[:3] - vector(part, f"{name}.position")).max() < 2e-15 * far
            turn = turns[name] @ exponential(h * hat[3:])
            assert np.abs(turn - matrix_of(vector(part, f"{name}.orientation"))).max() < 1e-14


def exponential(theta):
    angle = np.linalg.norm(theta)
    return matrix_of((np.cos(angle / 2), *(np.sinc(angle / 2 / np.pi) / 2 * theta)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_that_floats_keeps_its_momentum(seed):
    """The linear one to rounding, whatever the joints do; the angular one as exact as the motion is."""
    world = random_tree(seed, free=True, inertia=0.0)
    drifts = []
    for h in (4e-3, 2e-3):
        part = compiled(world, start=random_start(world, seed))
        before, whirl = momentum(world, part)
        for _ in range(round(0.04 / h)):
            part.step(dt=h)
        after, spin = momentum(world, part)
        assert np.abs(after - before).max() < 1e-12 * (1 + np.abs(before).max())
        drifts.append(np.abs(spin - whirl).max())
    assert drifts[1] < drifts[0] / 2.5 or drifts[1] < 1e-9


def test_a_free_link_moves_as_a_body_does():
    """To the last digits: one free link is one free body."""
    rng = np.random.default_rng(1)
    inertia, turn = random_inertia(rng, 2.0), random_turn(rng)
    motion = {"velocity": (1, 2, 3), "angular_velocity": (3, -2, 1)}
    ends = []
    for free in (True, False):
        world = pv.World()
        options = {"mass": 2.0, "inertia": inertia, "orientation": turn, **motion}
        box = world.add_link("box", None, pv.Free("floating"), **options) if free else world.add_body("box", **options)
        world.add_port("tip", box, at=(0.1, 0, 0))
        part = compiled(world, pv.PassiveMidpoint(order=1, resolve=2))
        for _ in range(50):
            part.step([0.3, -0.2, 0.1])
        ends.append(np.concatenate([vector(part, f"box.{what}") for what in ("position", "orientation", "velocity")]))
    assert np.abs(ends[0] - ends[1]).max() < 1e-12


# -- what acts on links -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_balances_in_every_step(seed, order):
    """Gravity, springs, dampers and inertia in the joints, drags, ties of links to the world, to a free body, an anchor
    and to each other, a loop that a stiff joint closes, ports and wrenches, at varying steps and random inputs."""
    part = compiled(busy_tree(seed, free=bool(seed % 2)), pv.PassiveMidpoint(order=order))
    rng = np.random.default_rng(seed)
    for k in range(15):
        part.step(drive(rng, part), dt=2e-3 * (1 + 0.5 * np.sin(k)))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all(), (gain, rounding)
    assert part.verdict.kind == "exact"
    assert part.lost > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ledger_stores_what_numpy_says(seed):
    world = busy_tree(seed, free=bool(seed % 2))
    part = compiled(world, start=random_start(world, seed))
    rng = np.random.default_rng(seed)
    for _ in range(3):
        part.step(drive(rng, part))
    part._look()
    found = world.row_energies(part.params, part.state[None, :].astype(np.longdouble))[0]
    stored = part._section("ENERGY", part.module.ROWS)
    assert np.abs(found - stored).max() < 1e-12 * np.abs(found).max()


@pytest.mark.parametrize("kind", ["symplectic", "implicit"])
def test_other_schemes_balance_where_they_claim_to(kind):
    """Euler's methods, with what they create or lose in the ledger: of first order, beside passive midpoint."""
    world = random_tree(3, links=3, gravity=(0, 0, -9.81), damping=0.1, kinds=("hinge",))
    method = {"symplectic": pv.SymplecticEuler(), "implicit": pv.ImplicitEuler()}[kind]
    gaps = []
    for h in (2e-3, 1e-3):
        ends = []
        for each in (method, pv.PassiveMidpoint()):
            part = compiled(world, each, step=h)
            for _ in range(round(0.06 / h)):
                part.step()
            ends.append([vector(part, f"{name}.angle")[0] for name in world.joints])
        gaps.append(np.abs(np.subtract(*ends)).max())
    assert 1.8 < gaps[0] / gaps[1] < 2.2


def test_the_motion_is_of_order_2():
    """Against steps four times as fine."""
    world = random_tree(1, links=3, gravity=(0, 0, -9.81))
    start = random_start(world, 1)

    def end(h):
        part = compiled(world, start=start, step=h)
        for _ in range(round(0.016 / h)):
            part.step()
        return np.concatenate(
            [vector(part, f"{name}.{what}") for name, j in world.joints.items() for what in j.coordinates]
        )

    fine = end(5e-4)
    errors = [np.abs(end(h) - fine).max() for h in (4e-3, 2e-3)]
    assert np.log2(errors[0] / errors[1]) > 1.8, errors
