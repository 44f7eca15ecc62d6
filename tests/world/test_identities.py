"""The exact identities of spec 4.1 to 4.4, step by step, on random worlds, in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.ledger import accounts as A
from passivo.world import table as T
from passivo.world.rotation import matrix_of, product
from world.scenes import drive, random_bodies, random_inertia, random_turn, random_world

EPSILON = 2.0**-52
SEEDS = range(6)


def compiled(world, method=None, step=2e-3, **options):
    return pv.compile(world, method or pv.PassiveMidpoint(), step, engine="python", **options)


def created(part):
    """Joules that the last step created in each row, and what rounding in each may be worth."""
    rows = part.module.ROWS
    received = part._section("RECEIVED", rows).copy()
    received[0] += part.work.sum()
    lost = part._section("LOST", rows)
    scale = part._section("SCALE", rows) + np.abs(lost)
    scale[0] += np.abs(part.work).sum()
    return part._section("CHANGE", rows) - received + lost, 16 * EPSILON * scale


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_balances_in_every_step(seed, order):
    """Bodies, gravity, drags, springs and dampers of every kind, wrenches, ports, moving anchors, joints of every kind
    (with the turn that really comes), at varying steps and random inputs."""
    part = compiled(random_world(seed), pv.PassiveMidpoint(order=order, resolve=2))
    rng = np.random.default_rng(seed)
    for k in range(25):
        part.step(drive(rng, part), dt=2e-3 * (1 + 0.5 * np.sin(k)))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all()
        assert abs(gain.sum()) <= 1e-13 * (part.stored + 500)
    assert part.verdict.kind == "exact"
    assert part.lost > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_only_joints_leak_and_the_rest_balances_whatever_their_jacobian(seed):
    """With the turn of the last step a joint stores a little else than it took in: in its own row, and nowhere else."""
    part = compiled(random_world(seed))
    rng = np.random.default_rng(seed)
    leaks = []
    for _ in range(20):
        part.step(drive(rng, part))
        gain, rounding = created(part)
        names = part.module.ROW_NAMES[:-1]
        for name, value, limit in zip(names, gain, rounding):
            if name == "joints":
                leaks.append(abs(value) / limit)
            else:
                assert abs(value) <= limit
    assert max(leaks) > 10  # the ledger sees it


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ledger_stores_what_numpy_says(seed):
    world = random_world(seed)
    part = compiled(world)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        part.step(drive(rng, part))
    part._look()
    found = world.row_energies(part.params, part.state[None, :].astype(np.longdouble))[0]
    stored = part._section("ENERGY", part.module.ROWS)
    assert np.abs(found - stored).max() < 1e-12 * np.abs(found).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_gives_the_exact_way_of_every_tie(seed):
    """ΔΨ = h J V̂ to 1e-15 m (spec 4.10), for points, directions and slides, where J is made for the turn that comes."""
    part = compiled(random_world(seed), pv.PassiveMidpoint(resolve=2))
    table, m, h = part.module.TABLE, part.memory, 2e-3
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(5):
        part.step(drive(rng, part), dt=h)
        for k in range(table[T.TIES]):
            tie, at = table[T.TIE_TABLE] + k * T.T_SIZE, table[T.AT_ROWS] + k * T.R_SIZE
            if table[tie + T.T_KIND] == T.SPIN:
                continue
            way = np.zeros(3)
            for side in range(2):
                if (carrier := table[tie + T.T_A + side]) >= 0:
                    hat = table[T.AT_FRAMES] + carrier * T.F_SIZE + T.F_HAT
                    jacobian = m[at + T.R_A + 18 * side :][:18].reshape(3, 6)
                    way += h * jacobian @ m[hat : hat + 6]
            real = m[at + T.R_NEW : at + T.R_NEW + 3] - m[at + T.R_PSI : at + T.R_PSI + 3]
            worst = max(worst, np.abs(way - real).max())
    places = [part.model.states.index(f"{name}.position.{axis}") for name in ("b0", "b1", "b2") for axis in "xyz"]
    assert worst < 2e-15 * (1 + np.abs(part.state[places]).max())  # differences of places metres from the origin


def test_a_point_near_the_origin_moves_by_its_jacobian_to_1e_15_m():
    rng = np.random.default_rng(3)
    world = pv.World(gravity=(0, 0, 0))
    body = world.add_body("a", pv.Box(0.2, 0.1, 0.1), 1.0, orientation=random_turn(rng), angular_velocity=(20, 30, -10))
    world.add_spring("s", body.point(0.1, 0.05, 0.05), world.point(0.1, 0, 0), 10.0)
    part = compiled(world, step=1e-2)
    table, m = part.module.TABLE, part.memory
    at = table[T.AT_ROWS]
    for _ in range(50):
        part.step()
        hat = m[table[T.AT_FRAMES] + T.F_HAT :][:6]
        way = 1e-2 * m[at + T.R_A :][:18].reshape(3, 6) @ hat
        assert np.abs(way - (m[at + T.R_NEW :][:3] - m[at + T.R_PSI :][:3])).max() < 1e-15 * 0.6


# -- free bodies (spec 4.2) -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_free_body_keeps_its_kinetic_energy(seed, order):
    """1e-12 in 1000 steps, at steps that vary by a factor of three."""
    rng = np.random.default_rng(seed)
    world = pv.World(gravity=(0, 0, 0))
    random_bodies(world, rng, 1)
    part = compiled(world, pv.PassiveMidpoint(order=order))
    before = part.stored
    for _ in range(1000):
        part.step(dt=float(rng.uniform(0.5e-3, 1.5e-3)))
    assert abs(part.stored - before) < 1e-12 * before
    assert part.verdict.kind == "exact"


def free_motion(inertia, rate, until):
    """Orientation of a free body by SciPy to 1e-13: Euler's equations and the quaternion."""
    from scipy.integrate import solve_ivp

    def slope(_, y):
        w, (a, b, c, d) = y[:3], y[3:]
        turn = 0.5 * np.array([-b * w[0] - c * w[1] - d * w[2], a * w[0] + c * w[2] - d * w[1],
                               a * w[1] + d * w[0] - b * w[2], a * w[2] + b * w[1] - c * w[0]])  # fmt: skip
        return np.concatenate([np.linalg.solve(inertia, np.cross(inertia @ w, w)), turn])

    found = solve_ivp(slope, (0, until), [*rate, 1, 0, 0, 0], method="DOP853", rtol=1e-13, atol=1e-14)
    return found.y[3:, -1]


def attitude_error(step, order, until=1.0):
    inertia = np.diag([(0.16 + 0.36) / 12, (0.04 + 0.36) / 12, (0.04 + 0.16) / 12])
    world = pv.World(gravity=(0, 0, 0))
    world.add_body("box", pv.Box(0.2, 0.4, 0.6), 1.0, angular_velocity=(1, 2, 3))
    part = compiled(world, pv.PassiveMidpoint(order=order), step)
    for _ in range(round(until / step)):
        part.step()
    true = matrix_of(free_motion(inertia, (1, 2, 3), until))
    found = matrix_of(part.state[6:10])
    return float(np.linalg.norm(true - found))


def test_a_tumbling_box_is_of_order_2_and_of_order_1_as_in_the_paper():
    for order, least in ((2, 1.9), (1, 0.9)):
        errors = [attitude_error(step, order) for step in (8e-3, 4e-3, 2e-3)]
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        assert (orders > least).all(), (order, errors)
    assert attitude_error(4e-3, 2) < attitude_error(4e-3, 1) / 50


# -- SO(3) springs (spec 4.3) -----------------------------------------------------------------------------------------


def spring_world(seed=2):
    rng = np.random.default_rng(seed)
    world = pv.World(gravity=(0, 0, 0))
    body = world.add_body("a", inertia=(0.02, 0.03, 0.04), mass=1.0, angular_velocity=(2, -1, 3))
    world.add_turn_spring("s", body, world, (1.0, 1.5, 2.0), rest=random_turn(rng))
    return world


@pytest.mark.parametrize("rest", [None, (0.5, -0.5, 0.5, 0.5)])
@pytest.mark.parametrize("other", ["body", "anchor", "world"])
def test_stiffnesses_of_an_so3_spring_are_about_the_axes_of_its_second_end(other, rest):
    """Also where the first one is no body, so that the tie begins at the second."""
    turned, kappa, angle = (0.5**0.5, 0, 0, 0.5**0.5), np.array([1.0, 1.5, 2.0]), 1e-3
    for j in range(3):
        world = pv.World(gravity=(0, 0, 0))
        b = world.add_body("b", inertia=(1, 1, 1), mass=1.0, orientation=turned)
        a = world
        if other != "world":
            a = world.add_anchor("a") if other == "anchor" else world.add_body("a", inertia=(1, 1, 1), mass=1.0)
        world.add_turn_spring("s", a, b, kappa, rest=rest)
        # where it is slack a = b · rest; then b is turned about its own axis j
        slack = turned if rest is None else product((1, 0, 0, 0), inverse(rest))
        about = (np.cos(angle / 2), *(np.sin(angle / 2) * np.eye(3)[j]))
        part = compiled(world, start={"b.orientation": product(slack, about)})
        assert part.stored == pytest.approx(kappa[j] * angle**2 / 2, rel=1e-6)


def inverse(quaternion):
    w, x, y, z = quaternion
    return w, -x, -y, -z


def test_an_so3_spring_stores_tr_g_1_minus_re_and_pulls_with_its_gradient():
    """φ = tr(G (1 − Re)), G_j = tr(κ)/2 − κ_j; e = vee(G Re − Re' G) is its moment."""
    world = spring_world()
    tie = world.bonds["s"].ties
    kappa = np.array([1.0, 1.5, 2.0])
    G = np.diag(kappa.sum() / 2 - kappa)
    rest = np.array([t.at_a for t in tie[:3]])  # rows: where the axes of the world lie in the body at rest
    for seed in range(5):
        turn = random_turn(np.random.default_rng(seed))
        part = compiled(world, start={"a.orientation": turn, "a.angular_velocity": (0, 0, 0)})
        Re = matrix_of(turn) @ rest.T
        assert part.stored == pytest.approx(np.trace(G @ (np.eye(3) - Re)), rel=1e-12)
        part.step(dt=1e-7)
        # dφ = −tr(G R S(θ) rest') for a turn θ in the axes of the body
        B = rest.T @ G @ matrix_of(turn)
        moment = -np.array([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]])
        found = np.array([0.02, 0.03, 0.04]) * part.state[13:16] / 1e-7
        assert np.abs(found - moment).max() < 1e-6


def test_an_so3_spring_is_exact_in_every_step_and_does_not_drift():
    part = compiled(spring_world(), step=1e-2)
    before = part.stored
    for _ in range(2000):  # 20 s
        part.step()
        assert abs(created(part)[0].sum()) < 1e-13
    assert abs(part.stored - before) < 1e-10 * before


def papers_spring(step, until, seed=2):
    """The paper's moment −(e + (T/2) Hs ŵ) instead: the relative drift of the energy, worst so far."""
    G = np.diag(np.array([1.0, 1.5, 2.0]).sum() / 2 - np.array([1.0, 1.5, 2.0]))
    J, w, R = np.diag([0.02, 0.03, 0.04]), np.array([2.0, -1.0, 3.0]), np.eye(3)
    Rd = np.array([t.at_a for t in spring_world(seed).bonds["s"].ties[:3]]).T
    hat = lambda v: np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])  # noqa: E731
    energy = lambda: w @ J @ w / 2 + np.trace(G @ (np.eye(3) - (R @ Rd.T).T))  # noqa: E731
    first, worst = energy(), 0.0
    for _ in range(round(until / step)):
        B = Rd @ G @ R  # φ = tr G − tr(B)
        e = -np.array([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]])
        Hs = np.trace(B) * np.eye(3) - (B + B.T) / 2
        mean = np.linalg.solve(2 * J / step - hat(J @ w) + step / 2 * Hs, 2 * J @ w / step + e)
        t = np.linalg.norm(step * mean)
        S = hat(step * mean)
        R = R @ (np.eye(3) + np.sin(t) / t * S + (1 - np.cos(t)) / t**2 * S @ S)
        w = 2 * mean - w
        worst = max(worst, abs(energy() - first) / first)
    return worst


def test_the_papers_so3_spring_drifts():
    """Negative: its energy drifts by about the square of the step, ours does not."""
    fine, coarse = papers_spring(1e-3, 5.0), papers_spring(5e-3, 5.0)
    assert 1e-4 < fine < coarse and coarse > 0.01


# -- places far away, heavy on light ----------------------------------------------------------------------------------


def test_a_body_one_kilometre_away_balances():
    rng = np.random.default_rng(0)
    world = pv.World()
    place = (800.0, -600.0, 100.0)
    body = world.add_body("far", pv.Box(0.2, 0.4, 0.6), 1.0, position=place, angular_velocity=(1, 2, 3))
    world.add_spring("s", body.point(0.1, 0, 0.3), world.point(800.0, -600.0, 101.0), 500.0, length=0.5)
    world.add_port("tip", body, at=(0.1, 0.2, 0.3))
    part = compiled(world)
    for _ in range(300):
        part.step(drive(rng, part))
    assert part.verdict.kind == "exact"
    assert part.verdict.roundoff < 1e-6


def test_a_thousand_kilos_on_one():
    world = pv.World()
    light = world.add_body("light", pv.Sphere(0.1), 1.0, position=(0, 0, -1), velocity=(1, 0, 0))
    heavy = world.add_body("heavy", pv.Sphere(0.5), 1000.0, position=(0, 0, -3), angular_velocity=(0, 1, 0))
    world.add_spring("upper", light, world, 1e5, length=1.0)
    world.add_spring("lower", light.point(0, 0, -0.1), heavy.point(0, 0, 0.5), 1e5, length=1.4)
    part = compiled(world, step=1e-3)
    for _ in range(300):
        part.step()
    assert part.verdict.kind == "exact"


def test_accounts_of_ports_are_the_work_of_wrench_and_anchor():
    """h u·y with the mean outputs: nothing is left over for the method to hide."""
    part = compiled(random_world(1))
    rng = np.random.default_rng(4)
    for _ in range(10):
        u = drive(rng, part)
        part.step(u)
        assert np.allclose(part.work, 2e-3 * u * part.mean_output, rtol=1e-13, atol=0)
    assert part._account(0)[A.A_WORK] != 0


def test_inertia_of_random_clouds_is_accepted():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        pv.World().add_body("a", mass=2.0, inertia=random_inertia(rng, 2.0))
