"""Tendons, commands, anchors and stops in scene files."""

from __future__ import annotations

import warnings

import pytest

import passivo as pv
from passivo.world.read import scene_of, world_from
from passivo.world.scene.plain import text_of

FINGER = """
bodies:
  upper:
    parent: world
    joint: {name: base, kind: hinge, axis: [0, 1, 0], range: [-0.5, 1.2], stop_stiffness: 20}
    mass: 0.05
    shapes: [{capsule: [0.01, 0.1], position: [0, 0, -0.05]}]
  lower:
    parent: upper
    position: [0, 0, -0.1]
    joint: {name: tip, kind: hinge, axis: [0, 1, 0]}
    mass: 0.03
    shapes: [{capsule: [0.01, 0.08], position: [0, 0, -0.04]}]
  palm:
    position: [1, 0, 0]
    mass: 0.4
    shapes: [{sphere: 0.05}]
commands: [grip]
tendons:
  flexor: {arms: {base: 0.01, tip: 0.008}, stiffness: 1e5, slack: 1e-3, command: grip, gain: 0.5,
           drive: {mass: 0.05, stiffness: 3500, damping: 1}}
  extensor: {arms: {base: -0.006, tip: "-0.004*cos(tip)"}, stiffness: 200, pretension: 6}
  muscle: {arms: {tip: 0.01}, force: true}
anchors:
  lead: {body: palm, stiffness: 1000, damping: 3, turn_stiffness: 2, turn_damping: 0.01}
"""


@pytest.fixture
def finger(tmp_path):
    file = tmp_path / "finger.yaml"
    file.write_text(FINGER)
    return file


def test_a_scene_file_has_tendons_commands_stops_and_anchors(finger):
    world = pv.World.from_file(finger, coordinates="generalised")
    assert list(world.tendons) == ["flexor", "extensor", "muscle"]
    kinds = {name: port.kind for name, port in world.ports.items()}
    assert kinds == {"lead": "flow", "grip": "flow", "muscle": "effort"}
    assert world.params["extensor.slack"] == pytest.approx(-0.03)
    assert (world.params["base.high"], world.params["base.stop_stiffness"]) == (1.2, 20.0)
    run = pv.simulate(world, pv.PassiveMidpoint(), 1e-3, 0.05, inputs={"grip": 0.2, "muscle": 1.0}, engine="python")
    assert run.verdict.kind == "exact"
    assert float(run["grip.length"][-1]) == pytest.approx(0.01)


def test_a_scene_with_tendons_is_written_as_it_was_read(finger, tmp_path):
    scene = scene_of(finger)
    file = tmp_path / "again.yaml"
    file.write_text(text_of(scene))
    again = scene_of(file)
    strip = lambda one: {**vars(one), "place": ""}  # noqa: E731
    for group in ("strands", "leads"):
        assert [strip(one) for one in getattr(again, group)] == [strip(one) for one in getattr(scene, group)]
    assert again.commands == scene.commands


def test_between_bodies_tendons_are_left_out_by_name(finger):
    world = world_from(finger, "maximal")
    told = {one.kind: one.names for one in world.unsupported}
    assert told["tendon"] == ("flexor", "extensor", "muscle")
    assert not world.tendons


@pytest.mark.parametrize(
    "old, new, told",
    [
        ("tip: 0.008}, stiffness", "tipp: 0.008}, stiffness", "finger.yaml:20.*no such joint"),
        ("command: grip", "command: grap", "no command 'grap'; did you mean 'grip'"),
        ("stiffness: 200", "stiffness: -200", "extensor.*stiffness"),
        ("mass: 0.05, stiffness: 3500", "mass: 0, stiffness: 3500", "mass"),
        ("body: palm", "body: plam", "no body 'plam'; did you mean 'palm'"),
        ("arms: {tip: 0.01}", "arms: {tip: 0.01*q}", "depends on 'q'"),
        ("range: [-0.5, 1.2]", "range: [0.5, -1.2]", "is empty"),
    ],
)
def test_mistakes_are_told_with_their_line(finger, old, new, told):
    assert old in FINGER
    finger.write_text(FINGER.replace(old, new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(pv.ScenarioError, match=told):
            pv.World.from_file(finger, coordinates="generalised")
