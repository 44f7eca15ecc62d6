"""The JSON schema, by which editors mark mistakes, agrees with the program."""

import pytest
import yaml
from jsonschema import Draft202012Validator

from passivo.document import reader
from passivo.errors import ScenarioError
from passivo.scenario import schema
from passivo.scenario.scenario import LIBRARY, Scenario, built_in

VALIDATOR = Draft202012Validator(schema.schema())
ARM = {"coordinates": ["q"], "mass": 1, "potential": "q**2", "ports": {"torque": {"effort": [1]}}}
FORMULAS = {"states": ["q"], "energy": "q**2"}


def changed(**changes):
    """A scenario of an arm on a spring, with other values; None takes a key away."""
    data = {"system": ARM, "run": {"step": 0.1, "until": 1}} | changes
    return {key: value for key, value in data.items() if value is not None}


def load(tmp_path, data):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.dump(data))
    return Scenario.load(str(file))


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(schema.schema())


@pytest.mark.parametrize("name", built_in())
def test_built_in_scenarios_are_valid(name):
    VALIDATOR.validate(reader.read_file(LIBRARY / f"{name}.yaml").data)


@pytest.mark.parametrize(
    "data",
    [
        changed(),
        changed(method={"name": "SymplecticEuler", "variant": "q"}, name="arm-1", about="an arm"),
        changed(inputs={"torque": "sin(t)"}, outputs={"formats": ["csv"], "folder": "out/today"}),
        changed(
            inputs={"torque": {"noise": [0.5]}}, run={"step": "1/10", "until": "2*pi", "seed": 3, "record_every": 2}
        ),
        changed(inputs={"torque": {"feedback": "-y"}}, start={"q": "pi/2"}),
        changed(system=FORMULAS | {"units": {"q": "m"}, "loss": [["1"]], "params": {"k": 1}, "limits": ["k > 0"]}),
        changed(system={"parts": {"a": "spring", "m": {"library": "mass"}}, "connections": [["a.end", "m.force"]]}),
        changed(system={"states": [], "energy": 0, "ports": {"a": {"flow": 1}}, "feedthrough": [[1]]}),
        changed(system=ARM | {"units": {"torque": ["N m", "rad/s"]}, "mass": [["2"]], "loss": 0.1}),
    ],
)
def test_what_loads_is_valid(tmp_path, data):
    VALIDATOR.validate(data)
    load(tmp_path, data)


@pytest.mark.parametrize(
    "data",
    [
        [],
        changed(run=None),
        changed(system=None),
        changed(system="oscilator"),
        changed(system={"library": "oscilator"}),
        changed(system={"library": "toda_chain", "n": 1000}),
        changed(system={"library": "oscillator", "kk": 1}),
        changed(system={"mass": 1}),
        changed(system=5),
        changed(sytem=1),
        changed(name="2fast"),
        changed(outputs={"folder": "/tmp"}),
        changed(outputs={"formats": ["gif"]}),
        changed(method="avf"),
        changed(method={"name": "RK4", "h": 1}),
        changed(method={"name": "SymplecticEuler", "positions": "q"}),
        changed(params=[1]),
        changed(start={"q": [1]}),
        changed(start={"q": True}),
        *(changed(run={"step": step, "until": 1}) for step in (0, -1, True, None, [1])),
        *(changed(run={"step": 1, "until": until}) for until in (0, -1)),
        *(changed(run={"step": 1, "until": 1, "record_every": every}) for every in (0, 1.5, "2")),
        changed(run={"step": 1, "until": 1, "seed": -1}),
        *(
            changed(inputs={"torque": value})
            for value in (
                {"noise": -1},
                {"noise": 1e101},
                {"noise": []},
                {"noise": 1, "seed": 1},
                {"nois": 1},
                [],
                None,
            )
        ),
        changed(inputs={"torque": {"feedback": "y", "noise": 1}}),
        changed(inputs={"torque": {"feedback": []}}),
        *(changed(system=ARM | {"ports": {"torque": port}}) for port in ({"effort": []}, {"effort": 0}, {}, 1)),
        *(changed(system=ARM | {"units": {"q": unit}}) for unit in (1, ["m"], "", "m" * 41, [["m", "s"]])),
        changed(system=ARM | {"mass": []}),
        changed(system=ARM | {"mass": [[]]}),
        changed(system=ARM | {"coordinates": []}),
        changed(system={"parts": {}}),
        changed(system={"parts": {"a": "spring"}, "connections": [["a.end"]]}),
    ],
)
def test_what_the_schema_refuses_does_not_load(tmp_path, data):
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(ScenarioError):
        load(tmp_path, data)
