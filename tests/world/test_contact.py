"""Frictional contact: the identities of spec 4.5 and 4.10, cases with known answers, and bad input."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import passivo as pv
from passivo.errors import InputError, ModelError, NonFiniteError, StepError
from passivo.world import table as T
from passivo.world.describe import model_from

pytest.importorskip("mujoco", reason="the extra `world` is not installed")

G = 9.81


def turned(*q):
    return tuple(np.array(q) / np.linalg.norm(q))


def on_plane(shape, friction=0.0, restitution=0.0, tilt=0.0, **body):
    """A body over a plane; instead of the plane gravity is tilted, towards x."""
    world = pv.World(gravity=(G * np.sin(tilt), 0, -G * np.cos(tilt)))
    world.add_plane(friction=friction)
    world.add_body("body", shape, 1.0, friction=friction, restitution=restitution, **body)
    return world


def run_of(world, step=1e-3, until=0.1, method=None, **more):
    return pv.simulate(world, method or pv.PassiveMidpoint(), step=step, until=until, engine="python", **more)


def crowd(seed, count=3, friction=0.5, restitution=0.4):
    """Bodies of all shapes that fall onto a plane and each other."""
    rng = np.random.default_rng(seed)
    shapes = [pv.Box(0.2, 0.15, 0.1), pv.Capsule(0.05, 0.15), pv.Sphere(0.08), pv.Cylinder(0.07, 0.12)]
    world = pv.World()
    world.add_plane(friction=friction)
    for i in range(count):
        world.add_body(
            f"b{i}",
            shapes[(i + seed) % 4],
            float(10 ** rng.uniform(-0.5, 0.5)),
            position=(0.04 * rng.standard_normal(), 0.04 * rng.standard_normal(), 0.12 + 0.25 * i),
            orientation=turned(*rng.standard_normal(4)),
            velocity=(rng.uniform(-1, 1), rng.uniform(-1, 1), -2.0),
            angular_velocity=5 * rng.standard_normal(3),
            friction=friction,
            restitution=restitution,
        )
    return world


def table_of(part):
    return part.module.TABLE


def contacts_of(part):
    """The contacts of the last step as dicts of NumPy arrays."""
    t, m = table_of(part), part.memory
    size = T.K_COLUMNS + 2 * T.COLUMN * t[T.SPAN]
    found = []
    for k in range(int(m[t[T.AT_TALLY] + T.N_TOUCHES])):
        at = t[T.AT_TOUCHES] + k * size
        row = m[at : at + size]
        found.append(
            {
                "bodies": (int(row[T.K_A]), int(row[T.K_B])),
                "p": row[T.K_P : T.K_P + 3].copy(),
                "u": row[T.K_U : T.K_U + 3].copy(),
                "mu": row[T.K_MU],
                "c": row[T.K_BOUNCE],
                "J": (row[T.K_JA : T.K_JA + 18].reshape(3, 6).copy(), row[T.K_JB : T.K_JB + 18].reshape(3, 6).copy()),
                "sticks": row[T.K_STICKS] > 0,
                "D": row[T.K_D : T.K_D + 9].reshape(3, 3).copy(),
            }
        )
    return found


def settled(part):
    """Whether the sweeps of the last step came to rest."""
    return part.memory[table_of(part)[T.AT_TALLY] + T.N_SETTLED] > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_law_of_contact_holds_and_its_work_is_the_formula(seed):
    """p in its cone, no pulling, friction against the slip; the work is −Σ (mu p_n |u_t| + p_n c) (spec 4.5)."""
    part = pv.compile(crowd(seed), pv.PassiveMidpoint(), 2e-3, engine="python")
    seen = 0
    for _ in range(300):
        part.step()
        if not settled(part):
            continue
        work, formula = 0.0, 0.0
        for contact in contacts_of(part):
            p, u, mu = contact["p"], contact["u"], contact["mu"]
            if p[0] <= 0:
                assert not p.any()
                continue
            seen += 1
            push, slip = np.hypot(*p[1:]), np.hypot(*u[1:])
            assert push <= mu * p[0] * (1 + 1e-9) + 1e-14
            assert abs(u[0] + contact["c"]) < 1e-7
            if contact["sticks"]:
                assert slip < 1e-7
            else:
                assert push == pytest.approx(mu * p[0], rel=1e-9)
                assert p[1:] @ u[1:] <= -(1 - 1e-3) * push * slip + 1e-9
            work += p @ u
            formula -= mu * p[0] * slip + p[0] * contact["c"]
        scale = 1.0 + sum(float(np.linalg.norm(c["p"])) for c in contacts_of(part))
        assert abs(work - formula) < 1e-6 * scale
        assert work <= 1e-7 * (scale - 1.0)  # as much slip as the sweeps leave
    assert seen > 20


@pytest.mark.parametrize("seed", range(4))
def test_every_step_balances_at_any_size_and_the_impulses_change_the_momentum(seed):
    """Each step, of any size: nothing is created beyond rounding, and 2M (V̂ − V) = h F + Σ C'p for each body."""
    rng = np.random.default_rng(seed)
    world = crowd(seed + 10, restitution=rng.uniform(0, 1), friction=rng.uniform(0, 1))
    part = pv.compile(world, pv.PassiveMidpoint(order=1), 1e-3, engine="python")
    t = table_of(part)
    for _ in range(120):
        h, before, stored = float(rng.uniform(5e-4, 5e-3)), part.state.copy(), part.stored
        part.step(dt=h)
        contacts = contacts_of(part)
        for i in range(len(world.bodies)):
            s, frame = T.BODIES_FROM + T.BODY_STATES * i, t[T.AT_FRAMES] + i * T.F_SIZE
            hat = part.memory[frame + T.F_HAT : frame + T.F_HAT + 6]
            mass, *J = (world.params[f"b{i}.{n}"] for n in ("mass", "inertia_xx", "inertia_yy", "inertia_zz"))
            J = np.array(J)
            push = sum(
                (c["J"][side].T @ c["p"] for c in contacts for side in (0, 1) if c["bodies"][side] == i), np.zeros(6)
            )
            gained = 2 * mass * (hat[:3] - before[s + T.V : s + T.V + 3])
            assert np.allclose(gained, h * mass * np.array([0, 0, -G]) + push[:3], atol=1e-11)
            w, hat_w = before[s + T.W : s + T.W + 3], hat[3:]
            spun = 2 * J * (hat_w - w) - h * np.cross(J * w, hat_w)
            assert np.allclose(spun, push[3:], atol=1e-11)
        assert part.stored - stored <= 1e-12
    assert part.verdict.kind == "exact"


def test_an_elastic_ball_conserves_and_a_plastic_one_stops():
    run = run_of(on_plane(pv.Sphere(0.1), restitution=1.0, position=(0, 0, 0.15)), until=1.5)
    total = run.ledger.stored.sel(part="total").values
    assert np.ptp(total) < 1e-12 and run.verdict.kind == "exact"
    assert run["body.position"].values[400:, 2].max() == pytest.approx(0.15, abs=2e-4)
    run = run_of(on_plane(pv.Sphere(0.1), position=(0, 0, 0.15)), until=0.4)
    assert abs(run["body.velocity"].values[-1]).max() < 1e-12
    assert abs(run["body.position"].values[-1, 2] - 0.1) < 2e-6
    loss = run.ledger.lost.sel(part="impact").values[-1] + run.ledger.stored.sel(part="repair").values[-1]
    assert loss == pytest.approx(G * 0.05, rel=1e-2)


@pytest.mark.parametrize("e", [1.0, 0.7, 0.3, 0.0])
@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_restitution_is_the_ratio_of_speeds(e, step):
    world = pv.World(gravity=(0, 0, 0))
    world.add_plane()
    world.add_body("body", pv.Sphere(0.1), 1.0, position=(0, 0, 0.12), velocity=(0, 0, -1.0), restitution=e)
    run = run_of(world, step=step, until=0.05)
    assert run["body.velocity"].values[-1, 2] == pytest.approx(e, abs=1e-12)


def test_a_small_stack_stands_and_a_heavy_box_on_a_light_one():
    for masses in ((1.0, 1.0, 1.0), (1.0, 100.0)):
        world = pv.World()
        world.add_plane(friction=0.5)
        for i, mass in enumerate(masses):
            world.add_body(f"b{i}", pv.Box(0.2, 0.2, 0.2), mass, position=(0, 0, 0.1 + 0.2 * i), friction=0.5)
        run = run_of(world, until=0.1)
        for i in range(len(masses)):
            assert abs(run[f"b{i}.position"].values[-1] - run[f"b{i}.position"].values[0]).max() < 1e-4


def test_the_guard_lets_no_work_pass_that_the_tank_cannot_pay():
    """Where sweeps are cut short by a wild start, contacts still never do more work than the tank holds."""
    part = pv.compile(crowd(3, count=4, friction=1.0), pv.PassiveMidpoint(), 5e-3, engine="python")
    t = table_of(part)
    rng = np.random.default_rng(0)
    for _ in range(60):
        past = t[T.AT_PAST]
        for k in range(int(part.memory[t[T.AT_TALLY] + T.N_PAST])):  # impulses of the last step, spoilt
            at = past + k * T.PAST_SIZE + 5
            part.memory[at : at + 3] *= rng.uniform(-3, 3, 3)
        tank, before = part.state[-1], part.stored
        part.step()
        work = sum(float(c["p"] @ c["u"]) for c in contacts_of(part))
        assert work <= tank + 1e-12 and part.stored <= before + 1e-12
    assert part.verdict.passive


def test_joined_bodies_touch_the_ground_and_an_anchor_drives_a_body_along_it():
    world = pv.World()
    world.add_plane(friction=0.4)
    a = world.add_body("a", pv.Box(0.2, 0.1, 0.1), 1.0, position=(0, 0, 0.06), friction=0.4)
    b = world.add_body("b", pv.Box(0.2, 0.1, 0.1), 1.0, position=(0.2, 0, 0.06), friction=0.4)
    world.add_hinge("joint", a, b, (0, 1, 0), at=(0.1, 0, 0.06), stiffness=1e6)
    hand = world.add_anchor("hand", position=(0.2, 0, 0.06))
    world.add_spring("pull", b, hand, 500.0, 5.0)
    inputs = {"hand": (0.5, 0.0, 0.0)}
    run = run_of(world, until=0.2, inputs=inputs, method=pv.PassiveMidpoint(resolve=2))
    assert run.verdict.kind == "exact"
    assert run["b.position"].values[-1, 0] > 0.21 and run["a.position"].values[-1, 2] > 0.0499
    assert np.nanmax(run["joint.gap"].values) < 1e-4  # 100 N
    quick = run_of(world, until=0.2, inputs=inputs)
    assert quick.verdict.kind == "exact" and float(abs(quick.ledger.created).max()) < 1e-12
    assert np.abs(quick["b.position"].values - run["b.position"].values).max() < 1e-5


def test_repair_is_paid_out_of_the_tank():
    """A body inside the floor stays there while the tank is empty, and rises when friction filled it."""
    world = on_plane(pv.Box(0.2, 0.2, 0.2), 0.3, position=(0, 0, 0.0999))
    still = run_of(world, until=0.02, start={"tank": 0.0})
    assert still["body.position"].values[-1, 2] == pytest.approx(0.0999, abs=1e-9)
    world = on_plane(pv.Box(0.2, 0.2, 0.2), 0.3, position=(0, 0, 0.0999), velocity=(0.5, 0, 0))
    moved = run_of(world, until=0.1, start={"tank": 0.0})
    assert moved["body.position"].values[-1, 2] == pytest.approx(0.1, abs=1e-6)
    assert moved.verdict.passive and float(moved["contacts.repair"].sum()) > 0.5 * G * 1e-4
    assert moved.ledger.stored.sel(part="repair").values.max() <= world.snapshot().params["contact_tank"] + 1e-15


def test_rows_records_and_a_copy():
    world = crowd(0)
    run = run_of(world, until=0.1)
    assert list(run.ledger.part.values) == ["kinetic", "gravity", "impact", "friction", "repair", "total"]
    assert run["contacts.depth"].attrs["units"] == "m" and run["tank"].attrs["units"] == "J"
    assert set(run.contacts) >= {"number", "depth", "slip", "force", "sweeps", "guard", "repair"}
    assert run.audit().ok
    again = model_from(world.snapshot().describe())
    assert again.describe() == world.snapshot().describe()
    twin = run_of(again, until=0.1)
    assert np.array_equal(run["b0.position"].values, twin["b0.position"].values)


def test_shapes_do_not_touch_without_a_plane_unless_asked():
    world = pv.World()
    for i in range(2):
        world.add_body(f"b{i}", pv.Sphere(0.1), 1.0, position=(0, 0, 0.05 * i))
    assert not world.touches and list(run_of(world, until=0.01).ledger.part.values) == ["kinetic", "gravity", "total"]


def test_symplectic_euler_solves_the_same_contacts_and_collides_plastically():
    """Flight lends and takes back the energy of gravity; with contact it never rises, whatever the restitution."""
    world = on_plane(pv.Box(0.2, 0.2, 0.2), 0.3, 1.0, position=(0, 0, 0.12), velocity=(0.5, 0, 0))
    run = run_of(world, until=0.4, method=pv.SymplecticEuler())
    assert abs(run["body.velocity"].values[-1]).max() < 1e-9
    assert abs(run["body.position"].values[-1, 2] - 0.1) < 1e-9
    mechanical = run.ledger.stored.sel(part=["kinetic", "gravity"]).sum("part").values
    touching = run["contacts.number"].values > 0
    assert touching[1:].any() and np.diff(mechanical)[touching[1:]].max() < 1e-12


def test_runs_of_a_sweep_with_contacts_go_one_after_another():
    world = on_plane(pv.Sphere(0.1), 0.2, position=(0, 0, 0.1), velocity=(0.5, 0, 0))
    over = {"start.body.velocity.x": [0.2, 0.4, 0.6]}
    found = pv.sweep(
        world, pv.PassiveMidpoint(), step=1e-3, until=0.2, over=over, keep=["body.velocity.x"], engine="python"
    )
    ends = found["body.velocity.x"].values
    assert np.allclose(ends, np.array([0.2, 0.4, 0.6]) * 5 / 7, rtol=2e-3)


def test_bad_input(monkeypatch):
    world = pv.World()
    with pytest.raises(ModelError, match="friction of 'plane' must be >= 0"):
        world.add_plane(friction=-0.1)
    with pytest.raises(ModelError, match="between 0 and 1"):
        world.add_plane(restitution=1.5)
    with pytest.raises(ModelError, match="normal of 'floor'"):
        world.add_plane("floor", normal=(0, 0, 0))
    with pytest.raises(ModelError, match="most_contacts"):
        pv.World(most_contacts=0)
    with pytest.raises(InputError, match=r"'body' overlap by 0\.05 m at the start"):
        run_of(on_plane(pv.Box(0.2, 0.2, 0.2), position=(0, 0, 0.05)))
    with pytest.raises(ModelError, match="friction of 'plane' must be at most 1e\\+06, not 1e\\+200"):
        world.add_plane(friction=1e200)
    with pytest.raises(ModelError, match="friction of 'plane' must be a number"):
        world.add_plane(friction=True)
    with pytest.raises(ModelError, match="contact must be True or False, or left out, not 'yes'"):
        pv.World(contact="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'tank' of contacts holds joules >= 0, not -5"):
        run_of(on_plane(pv.Sphere(0.1), position=(0, 0, 0.3)), start={"tank": -5.0})
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ModelError, match=r"pip install 'passivo\[world\]'"):
        run_of(on_plane(pv.Sphere(0.1), position=(0, 0, 0.3)))


def test_a_crowd_is_told_how_much_room_it_needs():
    crowded = pv.World(most_contacts=2)
    crowded.add_plane()
    crowded.add_body("body", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0, 0, 0.1))
    with pytest.raises(
        StepError, match=r"^more contacts than there is room for \(4, and .* 2\).*most_contacts=5\)"
    ) as error:
        run_of(crowded)
    assert not isinstance(error.value, NonFiniteError) and str(error.value).index("=5") < str(error.value).index(
        "t = 0"
    )
    rough = pv.World(most_contacts=3)
    rough.add_fixed("ground", pv.HeightField(np.zeros((5, 5)), x=1, y=1))
    rough.add_body("body", pv.Box(0.2, 0.2, 0.2), 1.0, position=(0, 0, 0.1))
    with pytest.raises(StepError, match=r"\(3\)\. Make room for 6 or more"):
        run_of(rough)


def test_there_is_room_for_a_close_packing_and_for_a_large_box_on_fine_ground():
    packed = pv.World()
    packed.add_plane(friction=0.5)
    for place in np.ndindex(6, 6, 3):
        x, y, z = 0.1 * np.array(place)
        packed.add_body(
            "b" + "".join(map(str, place)), pv.Box(0.1, 0.1, 0.1), 1.0, position=(x, y, z + 0.05), friction=0.5
        )
    assert pv.simulate(packed, pv.PassiveMidpoint(), 1e-3, 0.02).verdict.kind == "exact"
    ground, height = pv.World(), 1e-3
    heights = np.random.default_rng(0).uniform(0, height, (101, 101))
    ground.add_fixed("ground", pv.HeightField(heights, x=1.0, y=1.0), friction=0.5)
    ground.add_body("body", pv.Box(0.8, 0.8, 0.1), 5.0, position=(0, 0, 0.05 + 1.02 * height), friction=0.5)
    assert pv.simulate(ground, pv.PassiveMidpoint(), 1e-3, 0.02).verdict.kind == "exact"
