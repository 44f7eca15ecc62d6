"""`passivo run` with scene files: what is run, what is listed, what is told of mistakes."""

import json
from pathlib import Path

import pytest

from passivo.cli.app import execute
from passivo.errors import ScenarioError
from passivo.run.painter import Painter
from passivo.scenario.scenario import Scenario

SCENES = Path(__file__).parents[2] / "examples" / "scenes"
DROP = """<mujoco model="drop"><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="0 0 1"/>
<body name="ball" pos="0 0 .14"><freejoint/><geom size=".1" mass="2"/><site name="s"/></body></worldbody>
<sensor><velocimeter name="felt" site="s"/></sensor></mujoco>"""


@pytest.fixture(autouse=True)
def plain(tmp_path, monkeypatch):
    """An empty folder, no compiler."""
    monkeypatch.chdir(tmp_path)
    simulate = Scenario.simulate
    monkeypatch.setattr(Scenario, "simulate", lambda self, *a: simulate(self, *a, engine="python"))
    monkeypatch.setattr(Painter, "_started", lambda self: None)
    Path("drop.xml").write_text(DROP)


def call(capsys, *arguments):
    code = execute(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_scene_runs_and_lists_what_is_left_out(capsys):
    code, out, err = call(capsys, "run", "drop.xml", "--until", "0.2", "--out", "made")
    assert code == 0 and "20 steps of 0.01 s by PassiveMidpoint (0.2 s)" in out and "\nexact: energy" in out
    assert err.startswith("warning: not simulated as the scene file says:\n  sensor: felt (left out)\n")
    assert {path.name for path in Path("made").iterdir()} == {"drop.png", "drop.zarr"}
    assert "passivo compare" not in out and "passivo audit made/drop.zarr" in out


def test_a_scene_as_json(capsys):
    code, out, err = call(
        capsys, "run", "drop.xml", "--until", "0.05", "--step", "5e-3", "--set", "ball.mass=3", "--json"
    )
    found = json.loads(out)
    assert code == 0 and err == "" and found["steps"] == 10 and found["params"]["ball.mass"] == 3
    assert found["unsupported"] == [{"kind": "sensor", "names": ["felt"], "instead": "left out"}]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("drop.xml", "--coordinates", "reduced"), "--coordinates reduced: system.coordinates: 'reduced' is not known"),
        (("drop.xml", "--coordinates", "{ball: reduced}"), "system.coordinates: 'reduced' is not known"),
        (("drop.xml", "--coordinates", "{bal: maximal}"), "'bal' is not the root of one; did you mean 'ball'?"),
        (("oscillator", "--no-contact"), "there is no key 'contact' here"),
        (("drop.xml", "--set", "bal.mass=3"), "did you mean 'ball.mass'"),
        (("none.urdf",), "there is no file 'none.urdf'"),
        (("bad.xml",), "bad.xml:2: not XML"),
        (("bad.yaml",), "bad.yaml:2: bodies.a.mass: must be >= 0"),
        (("oscillator", "--coordinates", "maximal"), "there is no key 'coordinates' here"),
    ],
)
def test_mistakes(words, what, capsys):
    Path("bad.xml").write_text("<mujoco>\n</worldbody>")
    Path("bad.yaml").write_text("bodies:\n  a: {mass: -1, shapes: [{sphere: 1}]}\n")
    code, _, err = call(capsys, "run", *words)
    assert code == 2 and what in err and err.count("\n") == 1


ARM = """<mujoco model="arm"><option timestep="0.002"/><worldbody>
<body name="a"><joint name="j" axis="0 1 0" range="{range}"/><geom size=".1" pos=".3 0 0"/></body>
</worldbody></mujoco>"""


def test_trees_move_by_their_joints_unless_told_otherwise(capsys):
    """As bodies an arm lets energy in and out, and the options that do not are named."""
    Path("arm.xml").write_text(ARM.format(range="-180 180"))
    code, out, _ = call(capsys, "run", "arm.xml", "--until", "0.1", "--out", "made")
    assert code == 0 and "\nexact: energy" in out and "resolve" not in out
    for chosen in ("maximal", "{a: maximal}"):
        code, out, _ = call(capsys, "run", "arm.xml", "--until", "0.1", "--coordinates", chosen, "--out", "made")
        assert code == 1 and "in part joints" in out
        assert "passivo run arm.xml --coordinates generalised\n" in out
        assert "passivo run arm.xml --method '{name: PassiveMidpoint, resolve: 2}'\n" in out
        assert "passivo run arm.xml --step 0.001\n" in out


@pytest.mark.parametrize(("given", "touches"), [("--no-contact", False), ("--contact", True)])
def test_contact_is_switched(given, touches, capsys):
    words = ("--until", "0.05", "--step", "1e-3", given, "--out", "made")
    _, out, _ = call(capsys, "run", "drop.xml", *words)
    assert ("repair" in out) == touches


def test_a_start_in_a_stop_is_told(capsys):
    Path("arm.xml").write_text(ARM.format(range="30 90"))
    code, _, err = call(capsys, "run", "arm.xml", "--until", "0.01", "--out", "made")
    assert code == 0 and "warning: joint 'j' starts at 0 rad, outside its range" in err
    code, out, err = call(capsys, "run", "arm.xml", "--until", "0.01", "--json", "--out", "made")
    (sentence,) = json.loads(out)["warnings"]
    assert code == 0 and err == "" and "its stop holds 137 J" in sentence


def test_a_scenario_names_a_scene():
    Path("deep").mkdir()
    Path("deep/drop.xml").write_text(DROP)
    Path("deep/mine.yaml").write_text(
        "system: {scene: drop.xml, contact: false}\nstart: {ball.velocity.x: 0.5}\nrun: {step: 1e-2, until: 0.1}\n"
    )
    chosen = Scenario.load("deep/mine.yaml")
    run = chosen.simulate()
    assert run["ball.position"].values[-1, 0] == pytest.approx(0.05) and not run.model.touches
    assert [one.names for one in chosen.unsupported] == [("felt",)]
    Path("deep/mine.yaml").write_text("system: {scene: lost.xml}\nrun: {step: 1e-2, until: 0.1}\n")
    with pytest.raises(ScenarioError, match=r"there is no file 'deep/lost.xml'"):
        Scenario.load("deep/mine.yaml")


@pytest.mark.parametrize("name", ["arm.urdf", "pendulum.yaml"])
def test_scenes_of_the_examples_load(name):
    chosen = Scenario.load(str(SCENES / name))
    assert chosen.until == 2.0 and chosen.step == 1e-3 and len(chosen.model.bodies) in (3, 7)
