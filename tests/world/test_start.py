"""What is looked at where a world starts: masses of joints, held against MuJoCo's, and stops."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from passivo.world.start import StartWarning, masses_of
from world.mechanisms import Oracle, random_start, random_tree
from world.test_identities import compiled


def row(joints, **options):
    """One link that moves by these joints."""
    world = pv.World()
    world.add_link("bob", None, joints, pv.Box(0.02, 0.04, 0.06), 0.2, position=(0.1, 0, -0.3), **options)
    return world


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_masses_are_those_of_mujoco(seed, free):
    world = random_tree(seed, links=6, free=free, inertia=0.02)
    part, oracle = compiled(world, start=random_start(world, seed)), Oracle(world)
    oracle.put(part)
    (limbs,) = world.mechanisms
    found, expected = masses_of(world, limbs, dict(zip(world.states, part.state))), oracle.masses()
    if free:  # the turns of MuJoCo's are in the axes of the link
        found, expected = np.linalg.eigvalsh(found), np.linalg.eigvalsh(expected)
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("joints", "told"),
    [
        ([pv.Hinge("one", axis=(0, 1, 0), at=(0, 0, 0)), pv.Hinge("two", axis=(0, 2, 0), at=(0, 0, 0))],
         "'one', 'two'"),
        ([pv.Slider("one", axis=(1, 0, 0)), pv.Slider("two", axis=(1, 0, 0))], "'one', 'two'"),
        (
            [pv.Hinge("x", axis=(1, 0, 0)), pv.Hinge("y", axis=(0, 1, 0)), pv.Hinge("z", axis=(1, 0, 0))],
            "'x', 'z'",
        ),
        ([pv.Ball("ball", at=(0, 0, 0)), pv.Hinge("more", at=(0, 0, 0))], "'ball', 'more'"),
    ],
)  # fmt: skip
def test_joints_that_move_no_mass_against_each_other_are_named(joints, told):
    with pytest.raises(pv.ModelError, match=f"the joints {told} can move against each other at the start"):
        compiled(row(joints))


def test_a_rotor_or_another_start_parts_joints():
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (1, 0, 0)}
    compiled(row([pv.Hinge(name, axis=axis) for name, axis in axes.items()]), start={"y.angle": 0.3}).step()
    compiled(row([pv.Hinge(name, axis=axis, inertia=1e-4) for name, axis in axes.items()])).step()


def test_long_chains_of_light_links_are_no_mistake():
    world, parent = pv.World(), None
    for i in range(60):
        parent = world.add_link(f"l{i}", parent, pv.Hinge(f"j{i}", axis=(0, 1, 0), at=(0.1 * i, 0, 0)),
                                pv.Capsule(0.001, 0.08), 1e-5 if i < 59 else 10.0,
                                position=(0.1 * i + 0.05, 0, 0))  # fmt: skip
    world.placed({})


def test_a_start_outside_a_range_is_told_with_its_joules():
    world = row(pv.Hinge("swing", axis=(0, 1, 0), at=(0, 0, 0), range=(1.0, 2.0)))
    told = r"'swing' starts at 0 rad, outside its range from 1 to 2: its stop holds 500 J.*start={'swing.angle': 1.5}"
    with pytest.warns(StartWarning, match=told) as caught:
        part = compiled(world)
    assert caught[0].message.joules == {"swing": 500.0}
    assert part.stored == pytest.approx(500.0 - 0.2 * 9.81 * 0.3, rel=1e-6)
    compiled(world, start={"swing.angle": 2.0})
    part.place(dict(zip(part.model.states, part.state)))  # in the midst of a run stops are pressed


def test_a_warning_names_the_line_of_its_user():
    world = row(pv.Slider("rail", axis=(1, 0, 0), range=(0.1, 0.2)))
    with pytest.warns(StartWarning, match="'rail' starts at 0 m") as caught:
        pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=2e-3, engine="python")
    assert caught[0].filename == __file__
