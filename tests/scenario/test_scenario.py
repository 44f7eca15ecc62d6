"""Scenarios: built-in ones run; mistakes are told with file, line, what is wrong and the nearest valid choice."""

import json
from pathlib import Path

import pytest

import passivo as pv
from passivo.errors import ScenarioError
from passivo.scenario import schema
from passivo.scenario.scenario import DEFAULT, LIBRARY, Scenario, built_in, template

SHORT = [(("run", "until"), 0.001, "test")]


def scenario(tmp_path, text, changes=()):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return Scenario.load(str(file), changes)


def mistake(tmp_path, text, changes=()):
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, text, changes)
    return str(caught.value).replace(str(tmp_path) + "/", "")


def test_every_library_system_has_a_scenario():
    assert {*schema.LIBRARY, DEFAULT} == set(built_in())


@pytest.mark.parametrize("name", built_in())
def test_built_in_scenarios_run_and_are_passive(name):
    chosen = Scenario.load(name)
    assert chosen.name == name and 0 < len(chosen.about) <= 58
    run = Scenario.load(name, [(("run", "until"), 40 * chosen.step, "test")]).simulate(engine="python")
    assert run.verdict.passive and run.steps == 40


def test_the_shipped_schema_is_the_one_of_the_models():
    shipped = (Path(schema.__file__).parent / "scenario.schema.json").read_text(encoding="utf-8")
    assert json.loads(shipped) == schema.schema(), "run: python -m passivo.scenario.schema > that file"


def test_the_schema_knows_systems_methods_and_their_options():
    text = json.dumps(schema.schema())
    for name in (*schema.LIBRARY, "SymplecticEuler", "variant", "record_every"):
        assert f'"{name}"' in text


def test_templates_are_the_built_in_files():
    assert template("pendulum") == (LIBRARY / "pendulum.yaml").read_text()
    with pytest.raises(ScenarioError, match="did you mean 'pendulum'"):
        template("pendulm")


def test_formulas_make_a_system(tmp_path):
    text = """
system:
  states: [q, p]
  energy: k*q**2/2 + p**2/(2*m)
  structure: [[0, 1], [-1, 0]]
  loss: [[0, 0], [0, b]]
  ports: {force: {effort: [0, 1]}}
  params: {k: 5e3, m: 0.2, b: 0.0}
method: {name: SymplecticEuler, variant: q}
start: {q: 0.2}
run: {step: 1e-3, until: 0.05}
"""
    with pytest.raises(ScenarioError, match="positions"):
        scenario(tmp_path, text)
    found = scenario(tmp_path, text.replace("method: {name: SymplecticEuler, variant: q}", "method: AVF"))
    run = found.simulate(engine="python")
    same = pv.simulate(pv.library.oscillator(), pv.AVF(), 1e-3, 0.05, start={"q": 0.2}, engine="python")
    assert run.arrays["states"] == pytest.approx(same.arrays["states"], rel=1e-12)
    assert run.model.name == "mine"


def test_mechanics_and_parts(tmp_path):
    text = """
system:
  parts:
    arm: {coordinates: [q], mass: m*l**2, potential: m*g*l*(1 - cos(q)), params: {m: 1, l: 0.5, g: 9.81},
          ports: {torque: {effort: [1]}}}
    brake: {library: damper, b: 0.1}
  connections: [[arm.torque, brake.end, axle]]
params: {arm.m: 2.0}
start: {arm.q: 1.0}
run: {step: 1e-2, until: 1.0}
"""
    found = scenario(tmp_path, text)
    assert found.model.params["arm.m"] == 2.0
    run = found.simulate(engine="python")
    assert run.verdict.kind == "exact" and run.parts == ["arm", "brake", "axle"]


def test_inputs(tmp_path):
    text = """
system: {library: mass, ports: [a, b, c, d]}
inputs:
  a: 2*sin(3*t)
  b: {feedback: -0.5*y}
  c: {noise: 0.1}
  d: {relation: y + 2*u}
run: {step: 0.1, until: 1.0, seed: 3}
"""
    found = scenario(tmp_path, text)
    assert found.random
    first, again = found.simulate(engine="python"), scenario(tmp_path, text).simulate(engine="python")
    other = scenario(tmp_path, text, [(("run", "seed"), 4, "--seed")]).simulate(engine="python")
    assert (first.arrays["states"] == again.arrays["states"]).all()
    assert (first.arrays["states"][-1] != other.arrays["states"][-1]).all()
    given = first.arrays["inputs"][1:]
    output = given[:, 3] * -2
    assert given[:, 1] == pytest.approx(-0.5 * output)


def test_a_wide_port_takes_a_list(tmp_path):
    text = "system: kepler\nstart: {x: 1, py: 1}\ninputs: {thrust: [0.1*sin(t), 0]}\nrun: {step: 0.1, until: 1}\n"
    given = scenario(tmp_path, text).simulate(engine="python").arrays["inputs"][1:]
    assert (given[:, 1] == 0).all() and given[0, 0] == pytest.approx(0.1 * 0.04997916927)


RUN = "run: {step: 1e-3, until: 1.0}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("system: oscilator\n" + RUN, ["mine.yaml:1: system: ", "did you mean 'oscillator'?"]),
        ("\nsystem: {library: oscillator,\n  kk: 3}\n" + RUN, ["mine.yaml:3: system.kk: ", "did you mean 'k'?"]),
        ("system: oscillator\nrun:\n  step: -1\n  until: 1", ["mine.yaml:3: run.step: must be > 0, not -1"]),
        ("system: oscillator\nrun:\n  stpe: 1\n  until: 1", ["mine.yaml:3: run.stpe: ", "did you mean 'step'?"]),
        ("system: oscillator\nrun: {until: 1}", ["mine.yaml:2: run.step: is missing"]),
        ("system: oscillator\n", ["mine.yaml:1: run: is missing"]),
        ("sytem: oscillator\n" + RUN, ["mine.yaml:1: sytem: ", "did you mean 'system'?"]),
        ("system: oscillator\nmethod: avf\n" + RUN, ["mine.yaml:2: method: ", "did you mean 'AVF'?"]),
        ("system: oscillator\nmethod: {name: RK4, h: 1}\n" + RUN, ["mine.yaml:2: method: RK4 has no option 'h'"]),
        ("system: oscillator\nstart:\n  Q: 1\n" + RUN, ["mine.yaml:3: start.Q: there is no such state"]),
        ("system: oscillator\nparams:\n  mm: 1\n" + RUN, ["mine.yaml:3: params.mm: ", "did you mean 'm'?"]),
        ("system: oscillator\nparams:\n  m: -1\n" + RUN, ["mine.yaml:3: params.m: "]),
        ("system: oscillator\ninputs:\n  forze: 1\n" + RUN, ["mine.yaml:3: inputs.forze: ", "did you mean 'force'?"]),
        ("system: oscillator\ninputs:\n  force: sin(x)\n" + RUN, ["mine.yaml:3: inputs.force: ", "knows only t"]),
        ("system: oscillator\ninputs:\n  force: {feedbak: 1}\n" + RUN, ["mine.yaml:3: inputs.force.feedbak: "]),
        ("system: oscillator\ninputs:\n  force: __import__('os')\n" + RUN, ["mine.yaml:3: inputs.force: "]),
        ("system: oscillator\ninputs: {force: [1, 2]}\n" + RUN, ["mine.yaml:2: inputs.force: ", "2"]),
        ("system: {states: [q], energy: q**}\n" + RUN, ["mine.yaml:1: system.energy: ", "not a formula"]),
        ("system:\n  states: [q]\n  energy: z*q\n" + RUN, ["mine.yaml:3: system.energy: the energy uses 'z'"]),
        ("system:\n  states: [q]\n  energy: q\n  structure: [[1]]\n" + RUN, ["mine.yaml:4: system.structure: "]),
        ("system: {mass: 1}\n" + RUN, ["mine.yaml:1: system: a system needs one of the keys library, "]),
        ("system: 5\n" + RUN, ["mine.yaml:1: system: must be the name of a library system"]),
        ("system: {library: [1]}\n" + RUN, ["mine.yaml:1: system.library: "]),
        ("system: {parts: {a: spring, b: spring}, connections: [[a.end, b.end]]}\n" + RUN, ["system.connections: "]),
        ("system: {parts: {a: sprig}}\n" + RUN, ["system.parts.a: ", "did you mean 'spring'?"]),
        ("system: oscillator\nrun: {step: 1e-30, until: 1e30}", ["run.step: ", "steps"]),
        ("system: oscillator\nrun: {step: 1, until: 0.1}", ["run.until: 0.1 s is shorter than one step"]),
        ("system: oscillator\nrun: {step: true, until: 1}", ["run.step: must be a number"]),
        ("system: oscillator\nrun: {step: 1e999, until: 1}", ["run.step: must be a finite number"]),
        ("system: oscillator\nrun: {step: 0.1, until: 1, seed: 1.5}", ["run.seed: must be a whole number"]),
        ("system: oscillator\noutputs: {formats: [gif]}\n" + RUN, ["mine.yaml:2: outputs.formats.0: "]),
        ("system: oscillator\noutputs: {folder: ../up}\n" + RUN, ["outputs.folder: "]),
        ("system: oscillator\noutputs: {folder: /tmp}\n" + RUN, ["outputs.folder: "]),
        ("system: oscillator\nname: ../x\n" + RUN, ["name: "]),
        ("system: {library: toda_chain, n: 1000000}\n" + RUN, ["system.n: must be <= 200"]),
        ("", ["mine.yaml: must hold keys such as system and run, not nothing"]),
        ("- 1", ["mine.yaml: must hold keys"]),
    ],
)
def test_mistakes_name_line_and_mend(tmp_path, text, expected):
    message = mistake(tmp_path, text)
    assert message.startswith("mine.yaml"), message
    for part in expected:
        assert part in message
    assert "pydantic" not in message and "function-before" not in message


def test_several_mistakes_are_told_at_once(tmp_path):
    message = mistake(tmp_path, "system: oscilator\nmethod: avf\nrun:\n  step: x\n  until: 1\n")
    assert message.count("\n") == 2 and message.count("mine.yaml:") == 3


def test_a_changed_value_names_its_option(tmp_path):
    changes = [(("run", "step"), -1, "--step -1")]
    assert mistake(tmp_path, "system: oscillator\n" + RUN, changes) == "--step -1: run.step: must be > 0, not -1"


def test_no_such_file(tmp_path):
    for source in ("nowhere.yaml", str(tmp_path), "oscilator"):
        with pytest.raises(ScenarioError):
            Scenario.load(source)
    with pytest.raises(ScenarioError, match="did you mean 'oscillator'"):
        Scenario.load("oscilator")
