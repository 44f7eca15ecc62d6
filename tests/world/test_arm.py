"""An arm of seven hinges from a URDF file in joint coordinates, beside Pinocchio (spec 4.6)."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import passivo as pv
from passivo.cli.app import execute
from passivo.world.links import SceneWarning

URDF = Path(__file__).parents[2] / "examples" / "scenes" / "arm.urdf"
JOINTS = [f"turn{i + 1}" for i in range(7)]
ANGLES = np.array([0.3, -0.6, 0.4, 1.1, -0.5, 0.8, 0.2])
RATES = np.array([0.8, -1.2, 1.5, -0.9, 2.0, -1.4, 1.1])
START = {f"{name}.angle": q for name, q in zip(JOINTS, ANGLES)} | {f"{n}.rate": u for n, u in zip(JOINTS, RATES)}


def arm(**changes):
    """The arm without contact; parameters of all joints, or of the world, changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)
        world = pv.World.from_file(URDF, coordinates="generalised", contact=False)
    for name, value in changes.items():
        names = [name] if name in world.params else [f"{joint}.{name}" for joint in JOINTS]
        world.params |= dict.fromkeys(names, value)
    return world


class Pinocchio:
    """Forward dynamics of the same file."""

    def __init__(self, damping, gravity):
        import pinocchio as pin

        self.pin, self.damping = pin, damping
        self.model = pin.buildModelFromUrdf(str(URDF))
        self.model.gravity.linear = np.array([0, 0, gravity])
        self.data = self.model.createData()
        assert list(self.model.names)[1:] == JOINTS

    def accelerations(self, q, u):
        return self.pin.aba(self.model, self.data, q, u, -self.damping * u)

    def after(self, until, steps):
        """Angles and rates by RK4."""
        h, y = until / steps, np.concatenate([ANGLES, RATES])
        slope = lambda y: np.concatenate([y[7:], self.accelerations(y[:7], y[7:])])  # noqa: E731
        for _ in range(steps):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
        return y


def read(part, what):
    places = {name: i for i, name in enumerate(part.model.states)}
    return np.array([part.state[places[f"{name}.{what}"]] for name in JOINTS])


def test_without_gravity_and_damping_it_is_exact_after_10_s():
    world = arm(damping=0.0, gravity_z=0.0, stop_stiffness=0.0, stop_damping=0.0)  # the links turn right around
    run = pv.simulate(world, pv.PassiveMidpoint(), step=1e-3, until=10.0, start=START, record_every=100)
    assert run.verdict.kind == "exact" and run.steps == 10000
    stored = run.ledger.sel(part="total").stored.values
    assert abs(stored[-1] - stored[0]) < 1e-11 * stored[0]  # spec 4.10
    assert np.ptp(run["turn1.angle"].values) > 1.0


def test_accelerations_are_those_of_pinocchio_to_order_2():
    """(u⁺ − u)/h against forward dynamics in the middle of the step, with gravity and damping."""
    oracle, errors = Pinocchio(0.5, -9.81), []
    for h in (2e-3, 1e-3, 5e-4):
        part = pv.compile(arm(damping=0.5), pv.PassiveMidpoint(), step=h, start=START, engine="python")
        part.step()
        middle = (ANGLES + read(part, "angle")) / 2
        found = (read(part, "rate") - RATES) / h
        true = oracle.accelerations(middle, (RATES + read(part, "rate")) / 2)
        errors.append(np.abs(found - true).max() / np.abs(true).max())
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.9).all(), errors
    assert errors[1] < 1e-5  # at 1 ms


def test_the_motion_is_that_of_pinocchio_to_order_2():
    """Without damping: that of the file is stiff for the light hand, whose rates settle within 1 ms."""
    true, errors = Pinocchio(0.0, -9.81).after(0.05, 400), []
    for h in (1.25e-3, 6.25e-4):
        part = pv.compile(arm(damping=0.0), pv.PassiveMidpoint(), step=h, start=START, engine="python")
        for _ in range(round(0.05 / h)):
            part.step()
        errors.append(np.abs(np.concatenate([read(part, "angle"), read(part, "rate")]) - true).max())
        assert part.verdict.kind == "exact"
    assert np.log2(errors[0] / errors[1]) > 1.9, errors


def test_passivo_runs_the_file(tmp_path, monkeypatch, capsys):
    from passivo.run.painter import Painter
    from passivo.scenario.scenario import Scenario

    simulate = Scenario.simulate
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Scenario, "simulate", lambda self, *a: simulate(self, *a, engine="python"))
    monkeypatch.setattr(Painter, "_started", lambda self: None)
    code = execute(["run", str(URDF), "--coordinates", "generalised", "--until", "0.05"])
    said = capsys.readouterr()
    assert code == 0 and "\nexact: energy" in said.out
    assert "effort limit: turn1, turn2" in said.err and "joint range" not in said.err


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('<mass value="1.6"/>', '<mass value="0"/>', "link 'link6' moves and has a mass of 0 kg; give it"),
        ('<parent link="link3"/>', '<parent link="link9"/>', "link9"),
        ('<parent link="plate"/>', '<parent link="link5"/>', "closed loop of parents"),
        ('<link name="link2">', '<link name="link1">', "link1"),
    ],
)
def test_what_no_machine_can_have_is_told_with_the_fix(tmp_path, old, new, match):
    text = URDF.read_text()
    assert text.count(old) == 1
    file = tmp_path / "arm.urdf"
    file.write_text(text.replace(old, new))
    with pytest.raises(pv.ScenarioError, match=match):
        pv.World.from_file(file, coordinates="generalised")
