"""Beams in worlds: identities against dense solutions and against the beam by itself, joules, contact, bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import passivo as pv
from passivo.errors import InputError, ModelError
from passivo.reproduce.kim_touch import PARAMS, touched
from passivo.run.render import Canvas
from passivo.run.scene import Scene
from passivo.world.describe import model_from
from world.scenes import random_turn
from world.test_identities import created

ALUMINIUM = {"young": 70e9, "density": 2700.0, "section": (0.02, 0.003)}
STILL = (0.0, 0.0, 0.0)


def compiled(world, method=None, step=1e-3, **options):
    return pv.compile(world, method or pv.PassiveMidpoint(), step, engine="python", **options)


def tilted(rng):
    """Two unit vectors at right angles."""
    first, second = np.linalg.qr(rng.standard_normal((3, 2)))[0].T
    return first, second


def random_beam_world(seed, contact=False):
    """A beam that is tied to two bodies and to itself, at nodes and between, by springs and joints; a port."""
    rng = np.random.default_rng(seed)
    along, up = tilted(rng)
    world = pv.World(gravity=5 * rng.standard_normal(3), contact=contact)
    ends = [("clamped", "free"), ("pinned", "pinned"), ("free", "free"), ("clamped", "pinned")][seed % 4]
    beam = pv.Beam(
        0.5, 8, **ALUMINIUM, ends=ends, rayleigh=(0.3, 1e-4), origin=rng.standard_normal(3), along=along, up=up
    )
    bar = world.add_beam("bar", beam)
    middle = np.array(bar.position) + 0.25 * np.array(bar.along)
    bodies = [
        world.add_body(
            f"b{k}", pv.Box(0.1, 0.08, 0.06), 0.3, position=middle + 0.2 * rng.standard_normal(3),
            orientation=random_turn(rng), velocity=0.3 * rng.standard_normal(3),
            angular_velocity=2 * rng.standard_normal(3),
        )
        for k in range(2)
    ]  # fmt: skip
    end = bar.node(8)
    world.add_spring("pull", bodies[0], end.point(0, 0.01, 0.02), 400.0, 0.3)
    world.add_spring(
        "line", bar.at(0.21, "grip").point(0, 0, 0.01), bodies[0].point(0.03, 0, 0), 200.0, 0.2, length=0.2
    )
    world.add_turn_spring("twist", bodies[1], end, (2.0, 3.0, 4.0), 0.01)
    world.add_ball("hang", bodies[1], bar.node(3), at=middle + 0.1 * rng.standard_normal(3), stiffness=1e5, damping=1.0)
    world.add_spring("self", bar.node(6), bar.node(3), 50.0, 0.1, length=0.1)
    world.add_port("tip", end, at=(0, 0.01, 0.02), wrench=True)
    start = {f"bar.w{node}": 0.002 * value for node, value in zip(range(1, 8), rng.standard_normal(7))}
    return world, start


# -- the step ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [pv.PassiveMidpoint(), pv.ImplicitEuler(), pv.SymplecticEuler()], ids=repr)
def test_a_beam_in_a_world_moves_as_it_does_alone(method):
    """With damping and at steps that change, to 1e-10; loss and energies too."""
    beam = pv.Beam(0.5, 6, **ALUMINIUM, rayleigh=(0.4, 1e-4))
    world = pv.World(gravity=STILL)
    bar = world.add_beam("bar", beam)
    bar.node(6)
    small = 2e-5 if isinstance(method, pv.SymplecticEuler) else 1e-3
    one = compiled(world, method, small, start=bar.bent({6: 2.0}))
    other = compiled(beam, method, small, start=beam.bent({6: 2.0}))
    columns = [world.states.index(f"bar.{state}") for state in beam.states]
    for k in range(60):
        for part in (one, other):
            part.step(dt=small * (1 + 0.4 * np.sin(k)))
        size = np.abs(other.state).max()
        assert np.abs(one.state[columns] - other.state).max() < 1e-10 * size
        assert one.lost == pytest.approx(other.lost, rel=1e-10)
    assert one.stored == pytest.approx(other.stored, rel=1e-10)
    assert list(one.module.ROW_NAMES) == ["kinetic", "gravity", "beams", "total"]
    tip = [one.state[world.states.index(f"bar_6.position.{axis}")] for axis in "xyz"]
    assert tip == pytest.approx([0.5, 0.0, one.state[world.states.index("bar.w6")]], abs=1e-15)


def test_the_small_matrix_of_the_points_gives_the_solution_of_the_whole():
    """A beam, three bodies on springs at its points and between them: V̂ is that of one dense system with everything in
    it, to 1e-11, at steps and with parameters that change."""
    rng = np.random.default_rng(4)
    world = pv.World(gravity=(0.3, -0.2, -9.81))
    beam = pv.Beam(0.5, 7, **ALUMINIUM, ends=("clamped", "free"), rayleigh=(0.5, 2e-4))
    bar = world.add_beam("bar", beam)
    places, masses, stiff, damp = [0.5, 0.26, 3 * 0.5 / 7], [0.2, 0.3, 0.1], [500.0, 2e4, 80.0], [0.3, 4.0, 0.0]
    for k, place in enumerate(places):
        body = world.add_body(f"b{k}", pv.Sphere(0.02), masses[k], position=(place, 0, 0.0))
        world.add_spring(f"s{k}", body, bar.at(place, f"p{k}"), stiff[k], damp[k])
    part = compiled(world)
    n, free = len(beam.coordinates), len(beam.coordinates) + 3
    M, K, B = np.zeros((free, free)), np.zeros((free, free)), np.zeros((free, free))
    M[:n, :n], K[:n, :n] = beam.mass_matrix, beam.stiffness_matrix
    load = np.zeros(free)
    load[:n] = -9.81 * 2700 * 6e-5 * 0.5 * beam.evenly
    for k, place in enumerate(places):
        row = np.zeros(free)
        row[:n], row[n + k] = beam.shape(place), -1.0
        M[n + k, n + k], load[n + k] = masses[k], -9.81 * masses[k]
        K += stiff[k] * np.outer(row, row)
        B += damp[k] * np.outer(row, row)
    B[:n, :n] += beam.damping_matrix
    columns = [world.states.index(f"bar.{state}") for state in beam.coordinates]
    rates = [world.states.index(f"bar.{state}_rate") for state in beam.coordinates]
    columns += [world.states.index(f"b{k}.position.z") for k in range(3)]
    rates += [world.states.index(f"b{k}.velocity.z") for k in range(3)]
    x, v, h = np.zeros(free), np.zeros(free), 1e-3
    for k in range(12):
        h = float(rng.uniform(2e-4, 3e-3)) if k % 3 == 0 else h
        if k == 7:
            part.set(**{"bar.bending": 2 * beam.young * beam.moment})
            K[:n, :n] += beam.stiffness_matrix
            B[:n, :n] += 2e-4 * beam.stiffness_matrix
        hat = np.linalg.solve(2 * M / h + B + h / 2 * K, 2 * M @ v / h - K @ x + load)
        x, v = x + h * hat, 2 * hat - v
        part.step(dt=h)
        assert np.abs(part.state[columns] - x).max() < 1e-11 * np.abs(x).max()
        assert np.abs(part.state[rates] - v).max() < 1e-11 * np.abs(v).max() + 1e-15
        x, v = part.state[columns].copy(), part.state[rates].copy()
    assert part.verdict.kind == "exact"


def test_factors_are_made_when_the_step_or_a_parameter_changes(monkeypatch):
    from passivo.world.core import core

    world = pv.World(gravity=STILL)
    bar = world.add_beam("bar", pv.Beam(0.5, 4, **ALUMINIUM))
    bar.node(4)
    part, count = compiled(world, start=bar.bent({4: 1.0})), []
    module = core("python", "sweeps")
    make = module.beam_make_factors
    monkeypatch.setattr(module, "beam_make_factors", lambda *given: count.append(1) or make(*given))
    for size, made in ((1e-3, 1), (1e-3, 1), (2e-3, 2), (2e-3, 2), (1e-3, 3)):
        part.step(dt=size)
        assert len(count) == made
    part.set(**{"bar.mass_damping": 1.0})
    part.step(dt=1e-3)
    assert len(count) == 4


@pytest.mark.parametrize("seed", range(6))
def test_every_row_balances_in_every_step(seed):
    """Springs, joints and dampers between a beam, bodies and itself, a wrench, gravity, at steps that change; stiffness
    and damping are changed while it runs."""
    world, start = random_beam_world(seed)
    part = compiled(world, step=2e-3, start=start)
    rng = np.random.default_rng(seed)
    for k in range(14):
        if k == 7:
            part.set(**{"bar.bending": 5.0, "bar.mass_damping": 2.0, "bar.mass": 0.2})
        part.step(rng.standard_normal(6), dt=2e-3 * (1 + 0.5 * np.sin(k)))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all()
        assert abs(gain.sum()) <= 1e-12 * (part.stored + 100)
    assert part.verdict.kind == "exact" and part.lost > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_ledger_stores_what_numpy_says_and_points_are_where_the_beam_is(seed):
    world, start = random_beam_world(seed)
    part = compiled(world, step=2e-3, start=start)
    for _ in range(4):
        part.step(np.ones(6))
    part._look()
    found = world.row_energies(part.params, part.state[None, :].astype(np.longdouble))[0]
    stored = part._section("ENERGY", part.module.ROWS)
    assert np.abs(found - stored).max() < 1e-12 * np.abs(found).max()
    state = dict(zip(world.states, part.state))
    bar = world.beams["bar"]
    w = np.array([state[f"bar.{name}"] for name in bar.unit.coordinates])
    for point in bar.points(world):
        place = bar.line(w, np.array([point.place]))[0]
        assert np.abs(place - [state[f"{point.name}.position.{axis}"] for axis in "xyz"]).max() < 1e-14
        angle = bar.unit.slope(point.place) @ w
        q = np.array([state[f"{point.name}.orientation.{axis}"] for axis in "wxyz"])
        assert 2 * np.arccos(min(1.0, abs(q @ np.array(bar.orientation)))) == pytest.approx(abs(angle), abs=3e-8)


def test_a_load_bends_it_as_theory_says():
    """Its weight, and a body that hangs on it by a joint, damped until it rests."""
    world = pv.World()
    beam = pv.Beam(0.5, 6, **ALUMINIUM, rayleigh=(20.0, 0.0))
    bar = world.add_beam("bar", beam)
    load = world.add_body("load", pv.Sphere(0.02), 0.1, position=(0.5, 0, -0.1), drag=0.7)
    world.add_ball("joint", bar.node(6).point(0, 0, 0), load.point(0, 0, 0.1), stiffness=1e6)
    run = pv.simulate(world, pv.PassiveMidpoint(), 5e-3, 4.0, engine="python", record_every=100)
    stiff, weight = beam.young * beam.moment, 9.81 * 2700 * 6e-5
    down = weight * 0.5**4 / (8 * stiff) + 9.81 * 0.1 * 0.5**3 / (3 * stiff)
    assert run["bar.w6"].values[-1] == pytest.approx(-down, rel=1e-3)
    assert run.verdict.kind == "exact" and run["bar.deflection"].shape == (9, 6)


def test_a_copy_of_a_world_bends_with_its_own_stiffness():
    world = pv.World()
    bar = world.add_beam("bar", pv.Beam(0.5, 4, **ALUMINIUM))
    twin = world.with_params(**{"bar.bending": 2 * world.params["bar.bending"]})
    softer, stiffer = (beam.bent({4: 1.0})["bar.w4"] for beam in (bar, twin.beams["bar"]))
    assert softer == pytest.approx(2 * stiffer, rel=1e-12)
    twin.beams["bar"].node(2)
    assert (list(world.bodies), list(twin.bodies)) == ([], ["bar_2"])


def test_a_free_beam_falls():
    world = pv.World()
    bar = world.add_beam("bar", pv.Beam(0.5, 3, **ALUMINIUM, ends=("free", "free")))
    part = compiled(world, step=1e-2)
    for _ in range(50):
        part.step()
    state = dict(zip(world.states, part.state))
    assert [state[f"bar.w{node}"] for node in range(4)] == pytest.approx([-0.5 * 9.81 * 0.25] * 4, rel=1e-9)
    with pytest.raises(ModelError, match="this beam does not rest under a force: nothing holds it"):
        bar.bent({3: 1.0})


# -- contact ----------------------------------------------------------------------------------------------------------


def on_a_beam(falls, **given):
    """Plates on the nodes of a beam, and a body above its middle."""
    world = pv.World(contact=True)
    beam = pv.Beam(0.5, 4, **ALUMINIUM, ends=("pinned", "pinned"), origin=(0, 0, 0.3), **given)
    bar = world.add_beam("bar", beam)
    for node in range(1, 4):
        bar.node(node, shape=pv.Box(0.12, 0.06, 0.003), friction=0.5)
    world.add_body("load", falls, 0.2, position=(0.25, 0.0, 0.33), friction=0.5, velocity=(0.2, 0, 0))
    return world


def test_a_ball_falls_on_a_beam_and_nothing_is_created():
    """By the sweeps and by an exact solver of contacts, which agree."""
    parts = [
        compiled(on_a_beam(pv.Sphere(0.025)), pv.PassiveMidpoint(contact=solver)) for solver in ("sweeps", "interior")
    ]
    met = 0
    for k in range(50):
        for part in parts:
            part.step(dt=1e-3 * (1 + 0.3 * np.sin(k)))
            gain, rounding = created(part)
            assert (np.abs(gain) <= rounding).all()
        met += parts[0].memory[parts[0].module.TALLY + 10] > 0
    one, other = (dict(zip(part.model.states, part.state)) for part in parts)
    assert met > 15 and one["tank"] > 0 and all(part.verdict.passive for part in parts)
    assert one["bar.w2"] < -1e-3 and one["load.position.z"] > 0.31
    for name in ("bar.w2", "bar.turn1", "load.position.x", "load.position.z"):
        assert one[name] == pytest.approx(other[name], abs=1e-6)


def test_what_lies_on_a_beam_comes_to_rest_and_stays():
    world = on_a_beam(pv.Box(0.1, 0.05, 0.05), rayleigh=(0.0, 3e-3))
    run = pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 4.0)
    late = run["load.position"].values[-1000:]
    assert np.ptp(late, axis=0).max() < 1e-6 and run.verdict.passive
    assert np.nanmax(run["contacts.depth"].values[-1000:]) < 1e-5
    down = sum(run[f"bar_{node}.contact_force"].values[-1000:, 2].mean() for node in (1, 2, 3))
    assert down == pytest.approx(-0.2 * 9.81, rel=1e-6)
    bent = 0.2 * 9.81 * 0.5**3 / (48 * 3.15) + 5 * 9.81 * 2700 * 6e-5 * 0.5**4 / (384 * 3.15)
    assert run["bar.w2"].values[-1] == pytest.approx(-bent, rel=0.15)  # the box is wide, and its load spread


def test_a_beam_a_link_and_a_body_in_one_world():
    """Nodes of a beam, joint coordinates and poses in one system, tied to each other and in contact."""
    world = pv.World(contact=True)
    bar = world.add_beam("bar", pv.Beam(0.5, 4, **ALUMINIUM, origin=(0, 0, 0.3)))
    end = bar.node(4, shape=pv.Box(0.1, 0.06, 0.003), friction=0.5)
    hinge = pv.Hinge("hinge", axis=(0, 1, 0), at=(0.8, 0, 0.42), damping=0.01)
    link = world.add_link("link", None, hinge, pv.Capsule(0.01, 0.3), 0.2, position=(0.65, 0, 0.42),
                          orientation=(np.sqrt(0.5), 0, np.sqrt(0.5), 0), friction=0.5)  # fmt: skip
    box = world.add_body("box", pv.Box(0.04, 0.04, 0.04), 0.1, position=(0.3, 0, 0.2))
    world.add_spring("one", box, bar.node(2), 100.0, 0.1, length=0.1)
    world.add_spring("two", box, link.point(0, 0, 0.1), 30.0, 0.05)
    world.add_ball("hang", box.point(0, 0, 0.02), bar.at(0.2).here(0.3, 0, 0.22), stiffness=1e4, damping=0.5)
    part, met = compiled(world), 0
    for k in range(90):
        part.step(dt=1e-3 * (1.5 + 0.3 * np.sin(k)))
        gain, rounding = created(part)
        assert (np.abs(gain) <= rounding).all(), k
        met += part.memory[part.module.TALLY + 10] > 0
    assert met > 3 and part.verdict.passive
    assert model_from(world.describe()).describe() == world.describe()
    assert end.beam == "bar"


# -- in a network -----------------------------------------------------------------------------------------------------


def test_beam_box_coupling_and_a_device_of_another_rate_are_passive():
    """World at 1 kHz, device at 4 kHz: the coupling knows what it creates, and the device's damping takes more."""
    net = touched({**PARAMS, "elements": 5.0})
    run = pv.simulate(
        net, until=0.12, inputs={"device.fingers": lambda t: (0, 0, -0.4 * np.sin(25 * t))}, engine="python"
    )
    assert run.verdict.kind == "booked" and run.verdict.passive
    assert run.verdict.parts["beam"].kind == run.verdict.parts["device"].kind == "exact"
    assert abs(run.verdict.unnoticed) < 1e-13
    total = run.ledger.sel(part="total")
    assert (total.stored - total.stored[0] - total.work).max() <= 1e-13
    assert float(abs(run["beam.bar.deflection"]).max()) > 0.002
    assert run.runs["device"].steps == 4 * run.runs["beam"].steps


def test_a_coupling_sits_on_a_point_of_a_beam():
    world, hand = (pv.World(gravity=STILL, name=name) for name in ("beam", "hand"))
    world.add_port("grip", world.add_beam("bar", pv.Beam(0.5, 4, **ALUMINIUM)).node(4))
    ball = hand.add_body("ball", pv.Sphere(0.02), 0.15, position=(0.5, 0, 0), drag=1.0, velocity=(0, 0, 0.5))
    hand.add_port("grip", ball)
    net = pv.Network()
    inner = net.add("beam", world, pv.PassiveMidpoint(), step=1e-3)
    outer = net.add("hand", hand, pv.PassiveMidpoint(), step=2.5e-4)
    net.connect(outer["grip"], inner["grip"], through=pv.VirtualCoupling(k=500.0), name="coupling")
    run = pv.simulate(net, until=0.06, engine="python")
    assert run.verdict.kind == "booked" and run.verdict.parts["beam"].kind == "exact"
    assert abs(run.verdict.unnoticed) < 1e-14 and float(run["beam.bar.w4"].max()) > 0.005


# -- drift, runs, descriptions ----------------------------------------------------------------------------------------


def test_an_undamped_beam_with_a_body_keeps_its_energy_for_5_s_at_1_khz():
    world = pv.World(gravity=STILL)
    bar = world.add_beam("bar", pv.Beam(0.5, 20, **ALUMINIUM))
    body = world.add_body("body", pv.Box(0.04, 0.04, 0.04), 0.05, position=(0.5, 0, 0.1))
    world.add_spring("s", body, bar.node(20), 300.0, length=0.1)
    run = pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 5.0, start=bar.bent({20: 2.0}))
    stored = run.ledger.stored.sel(part="total").values
    assert np.abs(stored / stored[0] - 1).max() < 1e-9
    assert run.verdict.kind == "exact"


def test_runs_are_saved_loaded_audited_and_copied(tmp_path):
    world, start = random_beam_world(1)
    inputs = {"tip": (1, 0, 2, 0, 0, 0.1)}
    run = pv.simulate(world, pv.PassiveMidpoint(), 2e-3, 0.04, start=start, inputs=inputs, engine="python")
    run.save(tmp_path / "run.zarr")
    loaded = pv.load(tmp_path / "run.zarr")
    audit = loaded.audit()
    assert audit.ok, audit
    assert loaded["bar.deflection"].attrs["units"] == "m" and loaded["bar.turn"].attrs["units"] == "rad"
    assert (
        loaded["bar.turn_rate"].attrs["units"] == "rad/s"
        and loaded["bar.w3"].attrs["units"] == "m"
        and loaded["bar.w3_rate"].attrs["units"] == "m/s"
    )
    loaded.arrays["states"][5, world.states.index("bar.w3")] += 1e-6
    assert not loaded.audit().ok
    for twin in (model_from(world.describe()), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert twin.describe() == world.describe() and twin.figures == world.figures


def test_machine_code_steps_as_plain_python_does():
    world, start = random_beam_world(2)
    runs = [
        pv.simulate(world, pv.PassiveMidpoint(), 2e-3, 0.03, start=start, inputs={"tip": np.ones(6)}, engine=engine)
        for engine in ("python", "numba")
    ]
    one, other = (run.arrays["states"] for run in runs)
    assert np.abs(one - other).max() < 1e-9 * np.abs(one).max()
    assert runs[1].verdict.kind == "exact"


def test_pictures_show_the_bent_line():
    world, start = random_beam_world(0)
    scene = Scene(pv.simulate(world, pv.PassiveMidpoint(), 2e-3, 0.01, start=start, engine="python"))
    bar = world.beams["bar"]
    boxes = [solid for solid in scene.solids(0.0) if isinstance(solid.shape, pv.Box) and solid.shape.z < 0.004]
    w = np.array([start.get(f"bar.{name}", 0.0) for name in bar.unit.coordinates])
    line = bar.line(w, scene.moving[0].beams[0].places)
    assert np.allclose([box.place for box in boxes], 0.5 * (line[1:] + line[:-1]), atol=1e-12)
    assert len(list(scene.fixed())) == 1 and [name for name, _ in scene.legend] == ["b0", "b1", "bar"]
    assert Canvas(scene, 120, 90).picture(0.0).shape == (90, 120, 3)


# -- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input():
    world = pv.World()
    with pytest.raises(ModelError, match=r"the beam 'bar' is described by a pv.Beam, as in"):
        world.add_beam("bar", 0.5)
    with pytest.raises(ModelError, match="elements of a beam are a whole number >= 1, not 0"):
        world.add_beam("bar", pv.Beam(0.5, 0, **ALUMINIUM))
    with pytest.raises(ModelError, match=r"young, the modulus of a beam must be > 0, not -1"):
        world.add_beam("bar", pv.Beam(0.5, 4, **{**ALUMINIUM, "young": -1.0}))
    with pytest.raises(ModelError, match=r"the density of a beam must be > 0, not 0"):
        world.add_beam("bar", pv.Beam(0.5, 4, **{**ALUMINIUM, "density": 0.0}))
    tapped = pv.Beam(0.5, 4, **ALUMINIUM)
    tapped.add_port("tip", node=4)
    with pytest.raises(ModelError, match=r"brings 'tip'; in a world ports sit on points of it"):
        world.add_beam("bar", tapped)
    bar = world.add_beam("bar", pv.Beam(0.5, 4, **ALUMINIUM))
    with pytest.raises(ModelError, match="the nodes of this beam are 0 to 4, not 5"):
        bar.node(5)
    with pytest.raises(ModelError, match=r"a place on this beam is from 0 to 0.5 m, not 0.7"):
        bar.at(0.7)
    with pytest.raises(ModelError, match="already has a 'bar'"):
        world.add_body("bar", pv.Sphere(0.1), 1.0)
    tip = bar.node(4)
    assert bar.at(0.5) is tip and bar.node(4) is tip and bar.node(4, "bar_4") is tip
    with pytest.raises(ModelError, match=r"has the point 'bar_4' at 0.5 m already; give its shape and its name"):
        bar.node(4, "tip")
    with pytest.raises(ModelError, match=r"has the point 'bar_4' at 0.5 m already"):
        bar.node(4, shape=pv.Sphere(0.01))
    with pytest.raises(InputError, match=r"'bar_4.position.z' follows a beam: put its deflections"):
        compiled(world, start={"bar_4.position.z": 0.1})
    part = compiled(world)
    for name, value, what in (("bending", -1.0, ">= 0"), ("mass", 0.0, "> 0 kg"), ("stiffness_damping", -1.0, ">= 0")):
        with pytest.raises(ModelError, match=rf"the {name.replace('_', ' ')} of beam 'bar' must be {what}"):
            part.set(**{f"bar.{name}": value})
    for k in range(3):
        bar.at(0.01 + 0.03 * k)
    with pytest.raises(ModelError, match="too many or too near each other for its 4 elements"):
        compiled(world)
