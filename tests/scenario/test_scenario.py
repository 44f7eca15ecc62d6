"""Scenarios: built-in ones run; mistakes are told with file, line, what is wrong and the nearest valid choice."""

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import passivo as pv
from passivo.document import reader
from passivo.errors import ScenarioError
from passivo.method.catalogue import METHODS
from passivo.network.catalogue import JUNCTIONS
from passivo.scenario import choices, schema, systems
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
    assert {*systems.LIBRARY, DEFAULT, "multirate", "object", "hand"} == set(built_in())


@pytest.mark.parametrize("name", built_in())
def test_built_in_scenarios_run_and_are_passive(name):
    chosen = Scenario.load(name)
    assert chosen.name == name and 0 < len(chosen.about) <= 58
    step = chosen.step if chosen.step is not None else float(chosen.model.tick * chosen.model.common)
    run = Scenario.load(name, [(("run", "until"), 40 * step, "test")]).simulate(engine="python")
    assert run.verdict.passive and run.steps == 40


def test_a_system_with_constraints_in_a_file(tmp_path):
    text = """
system:
  positions: [x, y]
  momenta: [px, py]
  energy: (px**2 + py**2)/(2*m) + m*g*y
  constraints: {rod: x**2 + y**2 - l**2}
  ports: {push: {effort: [1, 0]}}
  params: {m: 0.5, g: 9.81, l: 0.5}
  units: {rod: N/m}
method: ConstrainedSplitting
start: {x: 0.3, y: -0.4}
run: {step: 0.01, until: 0.1}
"""
    run = scenario(tmp_path, text).simulate(engine="python")
    assert run["rod"].attrs["units"] == "N/m" and run.steps == 10
    assert "the constraint 'rod' uses 'k'" in mistake(tmp_path, text.replace("- l**2", "- k**2"))
    with pytest.raises(ScenarioError, match=r"mine.yaml:10: method: AVF .* take ConstrainedSplitting or"):
        scenario(tmp_path, text.replace("ConstrainedSplitting", "AVF")).simulate(engine="python")
    message = mistake(tmp_path, text.replace("x: 0.3", "x: 0.31"))
    assert message.startswith("mine.yaml:") and "does not keep the constraint rod" in message
    assert "the nearest state that does is {x: 0.30" in message


def test_the_shipped_schema_is_the_one_of_the_models():
    shipped = (Path(schema.__file__).parent / "scenario.schema.json").read_text(encoding="utf-8")
    assert json.loads(shipped) == schema.schema(), "run: python -m passivo.scenario.schema > that file"


def test_the_schema_knows_systems_methods_and_their_options():
    text = json.dumps(schema.schema())
    for name in (*systems.LIBRARY, "SymplecticEuler", "variant", "record_every"):
        assert f'"{name}"' in text


def test_templates_are_the_built_in_files(tmp_path):
    assert template("pendulum") == (LIBRARY / "pendulum.yaml").read_text()
    scene = "system: {scene: scenes/hand.yaml, coordinates: generalised}"
    assert scene in template("hand") and scenario(tmp_path, f"{scene}\nrun: {{step: 1e-3, until: 1}}").model.tendons
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
TORQUE = "system: pendulum\ninputs:\n  torque: "
ARM = "system:\n  coordinates: [q]\n  mass: 1\n  potential: "
FORMULAS = "system:\n  states: [q, s]\n  energy: q**2\n"
JOINED = "system:\n  parts: {a: spring, m: mass}\n  connections:\n    - [a.end, m.force]\n    - "


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
        ("system: {parts: {a: spring, b: spring}, connections: [[a.end, b.end]]}\n" + RUN, ["system.connections.0: "]),
        ("system: {parts: {a: sprig}}\n" + RUN, ["system.parts.a: ", "did you mean 'spring'?"]),
        ("system: oscillator\nrun: {step: 1e-30, until: 1e30}", ["run.step: ", "steps"]),
        ("system: oscillator\nrun: {step: 1, until: 0.1}", ["run.until: until = 0.1 s is shorter than one step"]),
        ("system: oscillator\nrun: {step: true, until: 1}", ["run.step: must be a number"]),
        ("system: oscillator\nrun: {step: 1e999, until: 1}", ["run.step: must be a finite number"]),
        ("system: oscillator\nrun: {step: 0.1, until: 1, seed: 1.5}", ["run.seed: must be a whole number"]),
        ("system: oscillator\noutputs: {formats: [gif]}\n" + RUN, ["mine.yaml:2: outputs.formats.0: "]),
        ("system: oscillator\noutputs: {folder: ../up}\n" + RUN, ["outputs.folder: "]),
        ("system: oscillator\noutputs: {folder: /tmp}\n" + RUN, ["outputs.folder: "]),
        ("system: oscillator\nname: ../x\n" + RUN, ["name: "]),
        ("system: {library: toda_chain, n: 1000000}\n" + RUN, ["system.n: must be <= 100"]),
        (TORQUE + "{noise: 1, seed: 3}\n" + RUN, ["mine.yaml:3: inputs.torque.seed: ", "the seed is run.seed"]),
        (TORQUE + "{nois: 1}\n" + RUN, ["mine.yaml:3: inputs.torque.nois: ", "did you mean 'noise'?"]),
        (TORQUE + "{relatoin: 1}\n" + RUN, ["mine.yaml:3: inputs.torque.relatoin: ", "did you mean 'relation'?"]),
        (
            TORQUE + "{feedback: y, noise: 1}\n" + RUN,
            ["inputs.torque: ", "exactly one of the keys feedback, relation,"],
        ),
        (TORQUE + "{other: 1}\n" + RUN, ["inputs.torque: ", "exactly one of the keys feedback, relation, noise"]),
        (TORQUE + "{noise: 1e308}\n" + RUN, ["mine.yaml:3: inputs.torque.noise: must be <= 1e+100"]),
        (TORQUE + "{noise: []}\n" + RUN, ["inputs.torque.noise: must have at least 1"]),
        (TORQUE + "{noise: [1, 2]}\n" + RUN, ["inputs.torque: ", "2 values for a width of 1"]),
        (TORQUE + "{feedback: " + "-" * 900 + "y}\n" + RUN, ["inputs.torque.feedback: ", "nested too deeply"]),
        (TORQUE + "9,81\n" + RUN, ["mine.yaml:3: inputs.torque: ", "write a decimal point"]),
        ("system:\n  coordinats: [q]\n  mass: 1\n" + RUN, ["mine.yaml:2: system.coordinats: ", "'coordinates'?"]),
        (ARM + "q > 0\n" + RUN, ["mine.yaml:4: system.potential: ", "number, not the condition 'q > 0'"]),
        (ARM + "z*q\n" + RUN, ["mine.yaml:4: system.potential: the potential uses 'z'", "add it to params, or "]),
        (ARM + "((q+1)**1000+(q+2)**1000)**1000\n" + RUN, ["system.potential: ", "degree 1e+06", "smaller exponents"]),
        (ARM + "+".join(["q"] * 1100) + "\n" + RUN, ["system.potential: ", "at most 2000 are allowed"]),
        (ARM + "0\n  loss: -1\n" + RUN, ["mine.yaml:5: system.loss: the loss is negative"]),
        (ARM + "0\n  loss: c\n" + RUN, ["mine.yaml:5: system.loss: the loss uses 'c'"]),
        (ARM + "0\n  ports: {f: {effort: 1}}\n" + RUN, ["system.ports.f: ", "give one entry per coordinate"]),
        (ARM + "0\n  units: {q: 1}\n" + RUN, ["mine.yaml:5: system.units.q: must be text such as m/s"]),
        (ARM + "0\n  units: {q: [[[a]]]}\n" + RUN, ["mine.yaml:5: system.units.q: must be text such as m/s"]),
        (FORMULAS + "  ports: {f: {effort: 1}}\n" + RUN, ["system.ports.f: ", "give one entry per state"]),
        (FORMULAS + "  params: {s: 1}\n" + RUN, ["mine.yaml:2: system.states: the name 's' stands in states and in"]),
        (FORMULAS + "  limits: [m > 0]\n  params:\n    m: -1\n" + RUN, ["mine.yaml:6: system.params.m: "]),
        (FORMULAS + "  domain: q > 0\nstart:\n  q: -1\n" + RUN, ["mine.yaml:6: start.q: q = -1 is outside the domain"]),
        (FORMULAS + "  domain: q > 0\n" + RUN, ["mine.yaml:1: start: q = 0 is outside the domain"]),
        (
            FORMULAS.replace("q**2", "1/q") + "start: {q: 0}\n" + RUN,
            ["mine.yaml:4: start.q: the energy is inf at q = 0"],
        ),
        (JOINED + "[a.end, m.force]\n" + RUN, ["mine.yaml:5: system.connections.1: ", "connected twice"]),
        (JOINED + "[a.end, m.forze]\n" + RUN, ["mine.yaml:5: system.connections.1: ", "did you mean 'm.force'?"]),
        ("system: oscillator\nname: 2fast\n" + RUN, ["mine.yaml:2: name: must begin with a letter"]),
        ("system: oscillator\noutputs: {folder: /tmp/x}\n" + RUN, ["outputs.folder: ", "such as out/today", "--out"]),
        ("system: oscillator\nmethod: {name: SymplecticEuler, positions: q}\n" + RUN, ["must be a list of names, not"]),
        ("system: oscillator\nparams: {q: 1}\n" + RUN, ["mine.yaml:2: params.q: q is a state: move it "]),
        ("system: oscillator\nparams: {m: 1kg}\n" + RUN, ["mine.yaml:2: params.m: ", "numbers carry no unit here"]),
        (
            "system: oscillator\nparams: {m: 2 > 1}\n" + RUN,
            ["mine.yaml:2: params.m: must be a number, not the condition"],
        ),
        (
            "system: oscillator\nrun:\n  step: .inf\n  until: 1\n",
            ["mine.yaml:3: run.step: must be a finite number, not '.inf'"],
        ),
        ("system: oscillator\nstart: {q: -.NaN}\n" + RUN, ["mine.yaml:2: start.q: must be a finite number"]),
        ("", ["mine.yaml: must hold keys such as system and run, not nothing"]),
        ("- 1", ["mine.yaml: must hold keys"]),
    ],
)
def test_mistakes_name_line_and_mend(tmp_path, text, expected):
    message = mistake(tmp_path, text)
    assert message.startswith("mine.yaml"), message
    for part in expected:
        assert part in message
    assert len(message) < 500
    assert "pydantic" not in message and "function-before" not in message


@pytest.mark.parametrize(
    ("check", "kinds"), [(choices.method_of, METHODS), (choices.junction_of, JUNCTIONS)], ids=["methods", "junctions"]
)
def test_only_what_a_method_or_junction_can_be_given_is_an_option(check, kinds):
    """Facts of the class (order, nodes, kernels) stand beside its options; they are neither taken nor offered."""
    for name, kind in kinds.items():
        options = {option.name for option in dataclasses.fields(kind) if option.init}
        for fact in {"order", "nodes", "kernels", *kind.__dataclass_fields__} - options:
            with pytest.raises(ValueError, match=f"{name} has no option '{fact}'; ") as caught:
                check({"name": name, fact: -1})
            offered = {word.strip("'?") for word in str(caught.value).split("; ")[1].replace(",", " ").split()}
            assert not offered & (kind.__dataclass_fields__.keys() - options)


def test_several_mistakes_are_told_at_once(tmp_path):
    message = mistake(tmp_path, "system: oscilator\nmethod: avf\nrun:\n  step: x\n  until: 1\n")
    assert message.count("\n") == 2 and message.count("mine.yaml:") == 3


def test_a_changed_value_names_its_option(tmp_path):
    changes = [(("run", "step"), -1, "--step -1")]
    assert mistake(tmp_path, "system: oscillator\n" + RUN, changes) == "--step -1: run.step: must be > 0, not -1"


def option(text):
    name, _, value = text.partition("=")
    return ((*name.rpartition(".")[::2],) if "." in name else ("params", name), reader.value(value, text), text)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["m=-1", "k=3"], "m=-1: params.m: the mass matrix"),
        (["k=3", "m=-1"], "m=-1: params.m: the mass matrix"),
        (["q=1"], "q=1: params.q: q is a state: write start.q=1"),
        (["run.until=1e300"], "run.until=1e300: run.until: 1e+300 steps"),
        (["run.step=1e-300"], "run.step=1e-300: run.step: 1e+300 steps"),
        (["run.step=3"], "run.step=3: run.step: until = 1.0 s is shorter"),
        (["start.q=1e308"], "start.q=1e308: start.q: the energy is inf"),
        (["x" * 90_000 + "=1"], "x" * 97 + "...: params.'x"),
    ],
)
def test_the_guilty_option_is_named(tmp_path, options, expected):
    message = mistake(tmp_path, "system: oscillator\n" + RUN, [option(text) for text in options])
    assert message.startswith(expected) and len(message) < 500


def test_parameters_that_are_wrong_only_together_are_all_named(tmp_path):
    text = FORMULAS + "  limits: [a + b < 3]\n  params: {a: 1, b: 1, c: 1}\n" + RUN
    message = mistake(tmp_path, text, [option("a=1.9"), option("b=1.9"), option("c=0")])
    assert message.startswith("a=1.9, b=1.9: params.a, params.b: mine needs a + b < 3")


def test_an_option_does_not_replace_what_is_no_mapping(tmp_path):
    text = "system: oscillator\ninputs: 5\n" + RUN
    alone = mistake(tmp_path, text)
    assert alone == "mine.yaml:2: inputs: must be keys with values, not 5"
    assert mistake(tmp_path, text, [(("inputs", "force"), 1, "--input force=1")]) == alone


def test_steps_are_counted_as_the_run_counts_them(tmp_path):
    changes = [(("run", "step"), "3*0.1", "--step"), (("run", "until"), 0.3, "--until")]
    assert scenario(tmp_path, "system: oscillator\n" + RUN, changes).simulate(engine="python").steps == 1


@pytest.mark.parametrize("name", built_in())
def test_what_every_scenario_saves_passes_its_audit(name, tmp_path):
    chosen = Scenario.load(name)
    step = chosen.step if isinstance(chosen.step, float) else float(chosen.model.tick * chosen.model.common)  # type: ignore
    run = Scenario.load(name, [(("run", "until"), 30 * step, "--until")]).simulate(engine="python")
    run.save(tmp_path / "saved.zarr")
    found = pv.audit(tmp_path / "saved.zarr")
    assert found.ok, str(found)


def test_a_method_that_is_refused_late_has_its_place(tmp_path):
    """Some methods know only when code is made for them."""
    text = "system: pendulum\nmethod: Kahan\nrun: {step: 0.1, until: 1}\n"
    with pytest.raises(ScenarioError, match=r"mine.yaml:2: method: Kahan steps quadratic fields"):
        scenario(tmp_path, text).simulate(engine="python")
    parts = (
        "    swing: {system: pendulum, method: AVF, step: 0.1}\n    other: {system: pendulum, method: Kahan, step: 0.1}"
    )
    text = f"network:\n  parts:\n{parts}\nrun: {{until: 1}}\n"
    with pytest.raises(ScenarioError, match=r"mine.yaml:4: network.parts.other.method: Kahan steps quadratic fields"):
        scenario(tmp_path, text).simulate(engine="python")
    net = pv.Network()
    net.add("swing", pv.library.pendulum(), pv.Kahan(), step=0.1)
    with pytest.raises(pv.MethodError, match="part 'swing': Kahan steps quadratic fields"):
        pv.simulate(net, until=1.0, engine="python")


def test_steps_may_follow_their_error(tmp_path):
    text = "system: pendulum\nstart: {q: 2.0}\nrun: {step: {tolerance: 1.0e-4, sizes: {p: 2}}, until: 1}\n"
    chosen = scenario(tmp_path, text)
    assert chosen.step == pv.Adaptive(1e-4, sizes={"p": 2.0})
    run = chosen.simulate(engine="python")
    assert run.pace == chosen.step and run.time[-1] == pytest.approx(1.0)
    with pytest.raises(ScenarioError, match="--step 1e-3"):
        chosen.compare()
    for given, expected in (
        ("{tolerance: 2}", "mine.yaml:2: run.step.tolerance: the tolerance of Adaptive lies between 0 and 1, not 2"),
        ("{tolerence: 1e-4}", "there is no key 'tolerence' here; did you mean 'tolerance'?"),
        ("{first: 1e-3}", "run.step.tolerance: is missing"),
        (
            "{tolerance: 1e-4, sizes: {r: 1}}",
            "mine.yaml:2: run.step.sizes.r: sizes of Adaptive name 'r', which is no state",
        ),
        ("{tolerance: 1e-4, least: 1e-300}", "mine.yaml:2: run.step.least: must be at least 1e-12 of the run"),
    ):
        told = f"system: pendulum\nrun: {{step: {given}, until: 1}}\n"
        assert expected in mistake(tmp_path, told)


def test_noise_may_differ_by_component(tmp_path):
    text = "system: kepler\nstart: {x: 1, py: 1}\ninputs: {thrust: {noise: [0.1, 0]}}\nrun: {step: 0.1, until: 1}\n"
    given = scenario(tmp_path, text).simulate(engine="python").arrays["inputs"][1:]
    assert (given[:, 1] == 0).all() and (given[:, 0] != 0).all()


def test_a_recursion_is_told_as_a_mistake(tmp_path, monkeypatch):
    monkeypatch.setattr("passivo.scenario.scenario._Build.scenario", lambda self, stem: self.scenario(stem))
    assert "nested too deeply" in mistake(tmp_path, "system: oscillator\n" + RUN)


def test_only_ordinary_files_are_read(tmp_path):
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(ScenarioError, match="is not an ordinary file"):
        Scenario.load(str(pipe))
    with pytest.raises(ScenarioError, match="there is no scenario or file 'xxx"):
        Scenario.load("x" * 90_000)


def test_no_such_file(tmp_path):
    for source in ("nowhere.yaml", str(tmp_path), "oscilator"):
        with pytest.raises(ScenarioError):
            Scenario.load(source)
    with pytest.raises(ScenarioError, match="did you mean 'oscillator'"):
        Scenario.load("oscilator")


# -- networks ---------------------------------------------------------------------------------------------------------

NETWORK = """
network:
  parts:
    spring: {system: {library: spring, k: 400}, method: AVF, step: 1e-3}
    mass: {system: mass, method: {name: ImplicitMidpoint}, step: 3e-3}
    wall: {system: wall, step: 1e-3}
  connections:
    - {between: [mass.force, spring.end], through: {name: PassiveSampleHold, order: published}, name: link}
  observe: {wall.depth: spring.q}
params: {mass.m: 0.5}
start: {spring.q: 0.1}
inputs: {wall.end: 0.1*t}
run: {until: 0.3}
"""


def network(tmp_path, text: str = NETWORK, **changes: str) -> Path:
    for old, new in changes.items():
        assert CHANGED[old] in text
        text = text.replace(CHANGED[old], new)
    path = tmp_path / "net.yaml"
    path.write_text(text, encoding="utf-8")
    return path


CHANGED = {
    "end": "spring.end",
    "order": "published",
    "junction": "PassiveSampleHold",
    "step": "step: 3e-3",
    "signal": "wall.depth: spring.q",
    "start": "spring.q: 0.1",
    "input": "wall.end: 0.1*t",
    "param": "mass.m: 0.5",
    "run": "until: 0.3",
    "top": "params:",
}


def test_a_network_from_a_file_is_the_one_from_python(tmp_path):
    run = Scenario.load(str(network(tmp_path))).simulate(engine="python")
    net = pv.Network()
    spring = net.add("spring", pv.library.spring(k=400.0), pv.AVF(), step=1e-3)
    mass = net.add("mass", pv.library.mass(m=0.5), pv.ImplicitMidpoint(), step=3e-3)
    net.connect(spring["end"], mass["force"], pv.PassiveSampleHold("published"), "link")
    same = pv.simulate(net, until=0.3, start={"spring.q": 0.1}, engine="python")
    assert np.array_equal(run["spring.q"], same["spring.q"]) and np.array_equal(run["mass.p"], same["mass.p"])
    assert run.runs["wall"]["depth"].values[-1] == run["spring.q"].values[-2]
    moved = network(tmp_path, signal="wall.depth: {of: spring.q, scale: -2, offset: 2*pi}")
    run = Scenario.load(str(moved)).simulate(engine="python")
    assert run.runs["wall"]["depth"].values[-1] == -2.0 * run["spring.q"].values[-2] + 2 * np.pi


@pytest.mark.parametrize(
    ("change", "line", "sentence"),
    [
        ({"end": "spring.ed"}, 8, "no port, signal or state 'spring.ed'|has no port, signal or state 'ed'.*'end'"),
        ({"end": "sprin.end"}, 8, "the network has no part 'sprin'; did you mean 'spring'"),
        ({"order": "publish"}, 8, "did you mean 'published'"),
        ({"junction": "PassiveSampleHol"}, 8, "there is no junction 'PassiveSampleHol'; did you mean"),
        ({"step": "step: 0"}, 5, "must be > 0"),
        ({"step": "stp: 1"}, 5, "no key 'stp' here; did you mean 'step'"),
        ({"signal": "wall.deth: spring.q"}, 9, "did you mean 'depth'"),
        ({"signal": "wall.depth: {of: spring.q, scal: 2}"}, 9, "did you mean 'scale'"),
        ({"signal": "wall.depth: {of: spring.q, through: lnk}"}, 9, "no connection 'lnk' to see through"),
        ({"start": "spring.p: 1"}, 11, "there is no such state; did you mean 'spring.q'"),
        ({"input": "spring.end: 1"}, 12, "no free port or signal 'spring.end'"),
        ({"param": "mass.m: -1"}, 10, "mass needs m > 0"),
        ({"run": "until: 1e-3"}, 13, "shorter than the time after which all parts have met"),
        ({"run": "until: 1, step: 1e-3"}, 13, "parts have systems, methods and steps of their own"),
        ({"top": "method: AVF\nparams:"}, 10, "parts have systems, methods and steps of their own"),
    ],
)
def test_mistakes_in_a_network_have_their_line(tmp_path, change, line, sentence):
    with pytest.raises(pv.ScenarioError) as caught:
        Scenario.load(str(network(tmp_path, **change)))
    assert re.search(sentence, str(caught.value)), caught.value
    assert f"net.yaml:{line}:" in str(caught.value), caught.value


def test_a_network_is_not_compared():
    with pytest.raises(pv.ScenarioError, match="compare takes one system"):
        Scenario.load("multirate").compare()
