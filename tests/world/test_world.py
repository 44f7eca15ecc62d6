"""`World` as a model: names, runs, ledger rows, edits, saving, audits, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import passivo as pv
from passivo.errors import ConvergenceError, InputError, MethodError, ModelError
from passivo.world import table as T
from passivo.world.describe import model_from
from passivo.world.rotation import matrix_of
from world.scenes import chain, drive, random_world

BOX = pv.Box(0.2, 0.2, 0.2)


def falling():
    world = pv.World(gravity=(0, 0, -9.81))
    box = world.add_body("box", shape=BOX, mass=1.0, position=(0, 0, 1.0), friction=0.3, restitution=1.0)
    world.add_port("tip", box, at=(0, 0, 0.1))
    return world


def test_a_box_falls_as_in_the_manual():
    run = pv.simulate(falling(), pv.PassiveMidpoint(), step=1e-2, until=0.5, engine="python")
    place = run["box.position"]
    assert place.dims == ("time", "component") and list(place.component.values) == ["x", "y", "z"]
    assert place.attrs["units"] == "m"
    assert np.allclose(place.sel(component="z"), 1 - 9.81 / 2 * run.time**2, atol=1e-12)
    assert list(run["box.orientation"].component.values) == ["w", "x", "y", "z"]
    assert np.allclose(run["box.velocity"].values[-1], (0, 0, -9.81 * 0.5))
    assert run["box.angular_velocity"].attrs["units"] == "rad/s"
    assert run["box.position.z"].equals(place.sel(component="z").drop_vars("component"))
    assert list(run.ledger.part.values) == ["kinetic", "gravity", "total"]
    assert run.verdict.kind == "exact"
    total = run.ledger.sel(part="total")
    assert np.allclose(total.work, 0) and np.ptp(total.stored.values) < 1e-12


def test_solved_until_nothing_moves_a_port_off_centre_goes_the_way_of_its_point():
    """The integral of its mean output is the way of the point, which a device or a coupling takes for its place."""
    world = pv.World(gravity=(0, 0, 0))
    world.add_body("box", pv.Box(0.1, 0.2, 0.3), 1.0, angular_velocity=(3, 20, 5))
    world.add_port("tip", world.bodies["box"], at=(0.2, 0, 0.1))
    part = pv.compile(world, pv.PassiveMidpoint(resolve=2), 1e-2, engine="python")

    def place():
        state = dict(zip(world.states, part.state))
        vectors = [[state[name] for name in world.vectors[f"box.{what}"]] for what in ("position", "orientation")]
        return np.array(vectors[0]) + matrix_of(vectors[1]) @ (0.2, 0, 0.1)

    for force in ((0, 0, 0), (3, 0, -2), (0, 5, 1)):
        before = place()
        part.step(force)
        assert np.allclose(place() - before, 1e-2 * part.mean_output, rtol=0, atol=1e-15)


def test_rows_of_the_ledger_and_records_of_joints():
    run = pv.simulate(random_world(0), pv.PassiveMidpoint(), step=1e-3, until=0.02, engine="python")
    assert list(run.ledger.part.values) == ["kinetic", "gravity", "springs", "joints", "total"]
    total, rows = run.ledger.stored.sel(part="total"), run.ledger.stored.isel(part=slice(0, 4)).sum("part")
    assert np.allclose(total, rows)
    assert run["hinge.force"].attrs["units"] == "N" and run["hinge.force"].shape == (21, 3)
    assert np.isnan(run["hinge.gap"][0]) and run["hinge.gap"][-1] < 0.05
    assert set(run.work) == {"hand", "rail", "tip", "grip"}


def test_a_force_at_a_point_does_the_work_of_the_point():
    run = pv.simulate(
        falling(), pv.PassiveMidpoint(), step=1e-2, until=0.2, engine="python", inputs={"tip": (1.0, 0.0, 9.81)}
    )
    assert run["box.velocity"].values[-1, 0] == pytest.approx(0.2)
    assert abs(run["box.velocity"].values[-1, 2]) < 1e-12
    total = run.ledger.sel(part="total")
    assert float(total.work[-1]) == pytest.approx(float(total.stored[-1] - total.stored[0]), rel=1e-12)
    assert run.outputs["tip"].shape == (21, 3)


def test_an_anchor_moves_and_its_work_is_booked():
    world = pv.World(gravity=(0, 0, 0))
    ball = world.add_body("ball", pv.Sphere(0.1), 1.0)
    hand = world.add_anchor("hand", turns=True)
    world.add_pose_spring("hold", ball, hand, 400.0, 4.0, 10.0, 0.1)
    inputs = {"hand": lambda t: [0.1, 0, 0, 0, 0, 1.0]}
    run = pv.simulate(world, pv.PassiveMidpoint(), step=5e-3, until=2.0, engine="python", inputs=inputs)
    assert run.verdict.kind == "exact"
    assert np.allclose(run["hand.position"].values[-1], (0.2, 0, 0))
    assert run["ball.position"].values[-1, 0] == pytest.approx(0.2, abs=1e-2)
    assert 2 * np.arctan2(*run["ball.orientation"].values[-1, [3, 0]]) == pytest.approx(2.0, abs=0.05)
    assert float(run.work["hand"].isel(time=-1).sum()) > 0


@pytest.mark.parametrize("method", [pv.SymplecticEuler(), pv.ImplicitEuler()])
def test_the_other_methods_show_what_they_do(method):
    """On a spring: symplectic Euler lends energy and takes it back, implicit Euler removes it."""
    world = pv.World(gravity=(0, 0, 0))
    ball = world.add_body("ball", pv.Sphere(0.1), 1.0, position=(0.1, 0, 0))
    world.add_spring("s", ball, world, 100.0)
    run = pv.simulate(world, method, step=1e-2, until=5.0, engine="python")
    if isinstance(method, pv.SymplecticEuler):
        assert run.verdict.kind == "active" and run.verdict.bounded
    else:
        assert run.verdict.kind == "passive"
        assert float(run.ledger.stored.sel(part="total")[-1]) < 0.01 * 0.5


@pytest.mark.parametrize("method", [pv.SymplecticEuler(), pv.ImplicitEuler()])
def test_comparison_methods_follow_the_same_motion(method):
    """Their error halves with the step: they are of order 1, with springs and dampers of every kind."""
    world, ends = random_world(1, joints=False), []
    for m, step in ((pv.PassiveMidpoint(), 2e-4), (method, 4e-4), (method, 2e-4)):
        run = pv.simulate(world, m, step=step, until=0.02, engine="python")
        ends.append(
            np.concatenate([run[f"b{i}.{what}"].values[-1] for i in range(3) for what in ("position", "orientation")])
        )
    errors = [np.linalg.norm(end - ends[0]) for end in ends[1:]]
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_stiffness_and_mass_change_while_it_runs():
    part = pv.compile(random_world(2), pv.PassiveMidpoint(resolve=2), 1e-3, engine="python")
    rng = np.random.default_rng(0)
    for changes in ({"line.stiffness": 80.0}, {"hinge.damping": 3.0}, {"b0.mass": 2.0}, {"gravity_z": -1.0}):
        before = part.stored
        part.set(**changes)
        edited = part._account(part.module.ROWS)[4]
        assert edited == pytest.approx(part.stored - before, rel=1e-9, abs=1e-12) or len(changes) == 0
        part._account(part.module.ROWS)[4:6] = 0
        for _ in range(5):
            part.step(drive(rng, part))
    assert part.verdict.kind == "exact"
    with pytest.raises(ModelError, match="mass of body 'b0' must be > 0"):
        part.set(**{"b0.mass": 0.0})
    with pytest.raises(ModelError, match="sum of the other"):
        part.set(**{"b0.inertia_xx": 1e3})
    with pytest.raises(ModelError, match=r"no parameter 'b0.mas'"):
        part.set(**{"b0.mas": 1.0})


def test_bodies_are_placed_by_hand():
    part = pv.compile(falling(), pv.PassiveMidpoint(), 1e-3, engine="python")
    part.step()
    part.place({"box.position": (0, 0, 3.0), "box.velocity": (1, 0, 0)})
    assert part.state[3:6].tolist() == [0, 0, 3.0]
    part.step()
    assert part.verdict.kind == "exact"
    with pytest.raises(InputError, match=r"'box.position' must be 3 numbers"):
        part.place({"box.position": (0, 0)})
    with pytest.raises(InputError, match=r"no state 'box.place'"):
        part.place({"box.place": 0})
    with pytest.raises(ModelError, match="unit quaternion"):
        part.place({"box.orientation": (1, 1, 0, 0)})
    with pytest.raises(ModelError, match="all four components"):
        part.place({"box.orientation.w": 1.0})


def test_a_start_is_given_by_vectors():
    run = pv.simulate(
        falling(), pv.PassiveMidpoint(), step=1e-2, until=0.1, engine="python", start={"box.velocity": (1, 2, 0)}
    )
    assert run["box.velocity"].values[0].tolist() == [1, 2, 0]


def test_what_is_kept_of_the_last_steps_is_not_put_by_itself():
    """It was ignored: the next step begins anew from poses and velocities."""
    for start in ({"b0.mean_velocity": (1, 0, 0)}, {"last_step": 1e-3}, {"b1.smooth_angular_velocity.x": 1.0}):
        name = next(iter(start))
        with pytest.raises(InputError, match=f"'{name}.* is what the world keeps of its last steps"):
            pv.compile(random_world(3), pv.PassiveMidpoint(), 1e-3, start=start, engine="python")
    part = pv.compile(random_world(3), pv.PassiveMidpoint(), 1e-3, engine="python")
    with pytest.raises(InputError, match="put poses and velocities"):
        part.place({"known_steps": 3.0})


def test_all_states_of_a_run_go_on_with_it():
    whole = pv.simulate(random_world(3), pv.PassiveMidpoint(), step=1e-3, until=0.02, engine="python")
    states = whole.arrays["states"]
    rest = pv.simulate(
        random_world(3), pv.PassiveMidpoint(), step=1e-3, until=0.01, engine="python",
        start=dict(zip(whole.model.states, states[10])),
    )  # fmt: skip
    assert np.array_equal(rest.arrays["states"], states[10:])


def test_varying_steps_stay_exact():
    part = pv.compile(random_world(3), pv.PassiveMidpoint(resolve=2), 1e-3, engine="python")
    rng = np.random.default_rng(3)
    for _ in range(20):
        part.step(drive(rng, part), dt=float(rng.uniform(2e-4, 4e-3)))
    assert part.verdict.kind == "exact"


def test_a_copy_goes_its_own_way_and_the_same_way():
    part = pv.compile(random_world(4), pv.PassiveMidpoint(), 1e-3, engine="python")
    rng = np.random.default_rng(4)
    inputs = [drive(rng, part) for _ in range(10)]
    for u in inputs[:5]:
        part.step(u)
    twin = part.copy()
    for u in inputs[5:]:
        part.step(u)
    for u in inputs[5:]:
        twin.step(u)
    assert np.array_equal(part.memory, twin.memory)


def test_what_is_added_later_changes_no_compiled_world():
    world = falling()
    part = pv.compile(world, pv.PassiveMidpoint(), 1e-3, engine="python")
    world.add_body("late", BOX, 1.0)
    part.step()
    assert "late.position.x" not in part.model.states


def test_saved_loaded_and_audited(tmp_path):
    run = pv.simulate(random_world(5), pv.PassiveMidpoint(), step=1e-3, until=0.02, engine="python",
                      inputs={"tip": lambda t: [pv.sin(30 * t), 0, 1], "hand": (0.1, 0, 0, 0, 0, 1)})  # fmt: skip
    run.save(tmp_path / "run.zarr")
    again = pv.load(tmp_path / "run.zarr")
    assert again["hinge.force"].equals(run["hinge.force"])
    assert again.verdict == run.verdict
    audit = again.audit()
    assert audit.ok, audit
    assert "extended precision" in audit.how
    again.arrays["ledger"][7, 3, 0] += 1e-6
    assert not again.audit().ok
    thin = pv.simulate(random_world(5), pv.PassiveMidpoint(), step=1e-3, until=0.02, engine="python", record_every=7)
    assert thin.audit().ok
    run.write_csv(tmp_path / "run.csv")
    assert "b0.position.x [m]" in (tmp_path / "run.csv").read_text().splitlines()[0]


def test_a_false_state_is_found_by_the_audit():
    run = pv.simulate(random_world(5), pv.PassiveMidpoint(), step=1e-3, until=0.02, engine="python")
    run.arrays["states"][10, 3] += 1e-9
    assert any("b0.position.z" in finding for finding in run.audit().findings)


def hanging(stiffness=1e6, at=(0.0, 0.0, 0.0)):
    """The arm of the manual, which moves in a plane: some of its rates are nothing but rounding."""
    world, place = pv.World(), np.array(at)
    arm = world.add_body("arm", pv.Box(0.4, 0.05, 0.05), 1.0, position=np.add(place, (0.2, 0, 0)))
    tip = world.add_body(
        "tip", pv.Sphere(0.05), 0.5, position=np.add(place, (0.4, 0, -0.3)), angular_velocity=(0, 0, 3)
    )
    world.add_hinge("shoulder", arm, world, (0, 1, 0), at=place, stiffness=stiffness)
    world.add_spring("cord", arm.point(0.2, 0, 0), tip, 500.0, 0.2, length=0.25)
    return world


def spinning():
    world = pv.World(gravity=(0, 0, 0))
    world.add_body("box", pv.Box(0.2, 0.4, 0.6), 1.0, angular_velocity=(0, 0, 3))
    return world


@pytest.mark.parametrize(
    "world",
    [hanging(), hanging(1e8), hanging(at=(1000.0, 0.0, 0.0)), chain(1), spinning()],
    ids=["plain", "stiff", "far", "chain", "spin"],
)
@pytest.mark.parametrize("resolve", [0, 2])
def test_joints_and_motion_in_a_plane_pass_their_audit(world, resolve):
    """What rounding of places makes of velocities, through joints, is no fault; a false velocity still is."""
    run = pv.simulate(world, pv.PassiveMidpoint(resolve=resolve), step=1e-3, until=0.04, engine="python")
    audit = run.audit()
    assert audit.ok, audit
    name = next(iter(world.bodies))
    column = world.states.index(f"{name}.velocity.x")
    run.arrays["states"][30, column] += 1e-6
    assert any(f"{name}.velocity.x" in finding for finding in run.audit().findings)


def test_a_description_gives_the_same_world():
    world = random_world(3)
    twin = model_from(world.describe())
    assert twin.describe() == world.describe()
    parts = [pv.compile(w, pv.PassiveMidpoint(), 1e-3, engine="python") for w in (world, twin)]
    for part in parts:
        part.step()
    assert np.array_equal(parts[0].state, parts[1].state)


def test_worlds_of_one_make_share_their_code():
    """Another place, mass or lever is another number in the memory, not another module."""
    modules = {pv.compile(random_world(seed), pv.PassiveMidpoint(), 1e-3, engine="python").module for seed in range(3)}
    assert len(modules) == 1


def test_a_port_in_the_centre_shares_no_code_with_one_off_centre():
    """`resolve=2` follows the turn for the second alone; which of the two was compiled first must not matter."""
    follows = []
    for at in ((0, 0, 0), (0.1, 0, 0), (0, 0, 0)):
        world = pv.World()
        world.add_port("p", world.add_body("b", pv.Sphere(0.1), 1.0), at=at)
        part = pv.compile(world, pv.PassiveMidpoint(resolve=2), 1e-3, engine="python")
        follows.append(int(part.module.TABLE[T.ITERATES]))
    assert follows == [0, 1, 0]


def test_machine_code_steps_as_plain_python_does():
    parts = [pv.compile(random_world(0), pv.PassiveMidpoint(), 1e-3, engine=engine) for engine in ("numba", "python")]
    rng = np.random.default_rng(0)
    for _ in range(10):
        u = drive(rng, parts[0])
        for part in parts:
            part.step(u)
    assert np.allclose(parts[0].state, parts[1].state, rtol=0, atol=1e-12)
    assert np.allclose(parts[0].work, parts[1].work, rtol=1e-9, atol=1e-15)


# -- what is refused ----------------------------------------------------------------------------------------------


def refused(build, sentence):
    world = pv.World()
    with pytest.raises(ModelError, match=sentence):
        build(world)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"mass": 0.0}, "must be > 0 kg, not 0; what never moves is an anchor"),
        ({"mass": -1.0}, "must be > 0 kg, not -1"),
        ({"mass": "heavy"}, "must be a number, not 'heavy'"),
        ({"mass": "1"}, "must be a number, not '1'"),
        ({"mass": float("nan")}, "must be finite"),
        ({"mass": None}, "needs a mass: say mass=1.0"),
        ({"shape": None}, "needs a shape or an inertia"),
        ({"shape": None, "inertia": (1, 1, 3)}, "largest exceeds the sum of the other two"),
        ({"shape": None, "inertia": (1, 1, -1)}, "must be positive"),
        ({"shape": None, "inertia": (1, 1)}, "must be three moments"),
        ({"shape": None, "inertia": "1 1 1"}, "must be three moments"),
        ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "is not symmetric"),
        ({"orientation": (1, 1, 0, 0)}, r"must be a unit quaternion .* has length 1.41421; give \(0.707"),
        ({"orientation": (0, 0, 0, 0)}, "must be a unit quaternion"),
        ({"position": (0, 0)}, "must be three numbers"),
        ({"position": ("0", "0", "1")}, "must be three numbers"),
        ({"friction": "0.3"}, "must be a number, not '0.3'"),
        ({"velocity": (0, 0, float("inf"))}, "must be three numbers"),
        ({"drag": -1}, "the drag of 'a' must be >= 0"),
        ({"restitution": 2}, "must lie between 0 and 1"),
        ({"shape": 3}, "must be one such as pv.Box"),
        ({"shape": [pv.Sphere(0.1, position=(1, 0, 0))]}, "the centre of mass of the shapes is at"),
    ],
)
def test_bodies_that_cannot_be(options, sentence):
    refused(lambda world: world.add_body("a", **{"shape": BOX, "mass": 1.0, **options}), sentence)


def test_shapes_that_cannot_be():
    with pytest.raises(ModelError, match="Box's y must be a length > 0"):
        pv.Box(1, 0, 1)
    with pytest.raises(ModelError, match="Box's z must be a length > 0 in metres, not '1'"):
        pv.Box(1, 1, "1")
    with pytest.raises(ModelError, match=r"a Box takes x, y, z, and by name .* as in pv.Box\(x, y, z\): missing"):
        pv.Box(0.1, 0.1)
    with pytest.raises(ModelError, match=r"a Sphere takes radius, and by name .* too many"):
        pv.Sphere(0.1, (0, 0, 1))
    with pytest.raises(ModelError, match=r"a Capsule takes radius, length, .* 'lenght'"):
        pv.Capsule(0.1, length=0.2, lenght=0.2)
    box = pv.Box(0.1, 0.2, 0.3, position=(0, 0, 1))
    assert copy.deepcopy(box) == pickle.loads(pickle.dumps(box)) == replace(box) == box


def two():
    world = pv.World()
    return world, world.add_body("a", BOX, 1.0), world.add_body("b", BOX, 1.0, position=(1, 0, 0))


def test_joints_that_cannot_be():
    world, a, b = two()
    with pytest.raises(ModelError, match=r"do not meet at the start: that on 'b' is \(1, 0, 0\) m away"):
        world.add_ball("j", a, b)
    with pytest.raises(ModelError, match="must not be 0; give a direction"):
        world.add_hinge("j", a, b, (0, 0, 0), at=(0.5, 0, 0))
    with pytest.raises(ModelError, match="two different things"):
        world.add_ball("j", a, a, at=(0, 0, 0))
    with pytest.raises(ModelError, match="at least one of them must be a body"):
        world.add_ball("j", world.add_anchor("hand"), world, at=(0, 0, 0))
    with pytest.raises(ModelError, match="must be >= 0, not -1"):
        world.add_ball("j", a, b, at=(0, 0, 0), stiffness=-1)
    with pytest.raises(ModelError, match="needs two points or more"):
        world.add_ball("j", a, at=(0, 0, 0))
    with pytest.raises(ModelError, match="at right angles"):
        world.add_elliptic("j", a, b, ((1, 0, 0), (1, 1, 0)), (0.1, 0.1), at=(0, 0, 0))
    with pytest.raises(ModelError, match="not 'b'"):
        world.add_ball("j", a, "b", at=(0, 0, 0))
    with pytest.raises(ModelError, match="belongs to another world"):
        world.add_ball("j", a, two()[2], at=(0, 0, 0))
    with pytest.raises(ModelError, match="exceeds the sum about the two others"):
        world.add_turn_spring("s", a, b, (1, 1, 3))
    with pytest.raises(ModelError, match="already has a 'a'"):
        world.add_anchor("a")
    with pytest.raises(ModelError, match="sits on a body that this world"):
        world.add_port("p", world.add_anchor("other"))
    with pytest.raises(ModelError, match=r"its length of 0\.2 m has no direction"):
        world.add_spring("s", a, world.point(0, 0, 0), 10.0, length=0.2)
    assert list(world.bonds) == []


def test_methods_that_step_no_worlds():
    for method in (pv.AVF(), pv.RK4(), pv.EnergyConsistent(), pv.Collocation(2)):
        with pytest.raises(MethodError, match=r"steps systems of formulas, not worlds; take pv.PassiveMidpoint\(\)"):
            pv.compile(falling(), method, 1e-3)
    with pytest.raises(MethodError, match="SymplecticEuler"):
        pv.compile(falling(), pv.SymplecticEuler("q"), 1e-3)
    for options in ({"order": 3}, {"resolve": -1}, {"order": True}):
        with pytest.raises(MethodError, match=r"PassiveMidpoint's (order|resolve) is"):
            pv.PassiveMidpoint(**options)
    with pytest.raises(ModelError, match="no bodies"):
        pv.compile(pv.World(), pv.PassiveMidpoint(), 1e-3)
    with pytest.raises(ModelError, match="takes no Feedback or Relation"):
        pv.simulate(falling(), pv.PassiveMidpoint(), step=1e-3, inputs={"tip": pv.Feedback(lambda y: [-a for a in y])})
    with pytest.raises(InputError, match="steps of one size"):
        pv.simulate(falling(), pv.PassiveMidpoint(), step=pv.Adaptive(1e-6), until=0.1)
    with pytest.raises(ModelError, match="cannot be part of a Monolithic"):
        pv.Monolithic({"world": falling()}, [])


def test_a_step_without_a_solution_says_so():
    world = pv.World(gravity=(0, 0, 0))
    body = world.add_body("a", pv.Sphere(0.1), 1.0, position=(0.1, 0, 0))
    world.add_spring("s", body, world, 1e9, length=1.0)
    with pytest.raises(ConvergenceError, match="smaller step, or softer springs"):
        pv.simulate(world, pv.PassiveMidpoint(), step=1.0, until=10.0, engine="python")


def test_a_sweep_over_a_world_and_a_picture_of_a_run(tmp_path):
    result = pv.sweep(
        falling(), pv.PassiveMidpoint(), step=1e-2, until=0.1, keep=["box.position.z", "verdict"],
        over={"box.mass": [1.0, 2.0], "start.box.velocity.z": [0.0, 1.0]},
    )  # fmt: skip
    assert (result["verdict"] == "exact").all()
    assert np.allclose(result["box.position.z"][0], [1 - 0.04905, 1 - 0.04905 + 0.1])
    run = pv.simulate(falling(), pv.PassiveMidpoint(), step=1e-2, until=0.1, engine="python")
    run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    with pytest.raises(MethodError, match="have no certificate"):
        _ = run.certificate
