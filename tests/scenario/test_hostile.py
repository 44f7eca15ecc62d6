"""Files that mean harm: each gives an error with exit code 2, or a run; never a traceback, a hang or executed code."""

import copy
import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passivo.cli.app import execute
from passivo.run.painter import Painter
from passivo.scenario import scenario as module
from passivo.scenario.scenario import LIBRARY, Scenario

VALID = [yaml.safe_load(path.read_text()) for path in sorted(LIBRARY.glob("*.yaml"))] + [
    {
        "system": "pendulum",
        "method": {"name": "Composition", "base": {"name": "Collocation", "stages": 1}, "scheme": "suzuki4"},
        "start": {"q": 1.0},
        "run": {"step": 0.1, "until": 1},
    },
    {
        "system": "pendulum",
        "method": {"name": "Collocation", "stages": 3},
        "start": {"q": 1.0},
        "run": {"step": {"tolerance": 1e-3, "first": 0.1, "least": 1e-3, "most": 0.5, "sizes": {"q": 1}}, "until": 1},
    },
    {
        "system": {
            "states": ["q", "p"],
            "energy": "k*q**2/2 + p**2/2 + exp(-q)",
            "structure": [[0, 1], [-1, 0]],
            "loss": [[0, 0], [0, "b"]],
            "ports": {"force": {"effort": [0, 1]}},
            "params": {"k": 2.0, "b": 0.1},
            "domain": "q > -100",
            "minimum": {"q": 0},
        },
        "method": {"name": "SymplecticEuler", "positions": ["q"]},
        "inputs": {"force": {"feedback": "-y0"}},
        "run": {"step": 0.1, "until": 1},
    },
]
for document in VALID:
    step = document["run"].get("step", 2e-3)
    document["run"]["until"] = 1.0 if isinstance(step, dict) else 10 * float(step)
FUZZ = settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
NUMBERS = [0, -1, 1e308, -1e308, 1e-320, 2**70, 10**400, float("nan"), float("inf"), True, 1.5, 7]
TEXTS = [
    "",
    "q",
    "__import__('os').system('touch executed')",
    "(lambda: open('executed', 'w'))()",
    "q.__class__.__mro__",
    "[].append(1)",
    "9**9**9**9",
    "10**Abs(10**9)",
    "sin(" * 50 + "q" + ")" * 50,
    "q + " * 3000 + "q",
    "1/0",
    "log(-1)*q",
    "x" * 5000,
    "é🙂",
    "\u202e",
    "a\nb",
    "q**2 if q else 0",
    "[q for q in p]",
    "f'{q}'",
    "total",
    "library",
    "../../etc/passwd",
    "nan",
    "∇q",
    "q'old",
]
JUNK = st.recursive(
    st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(TEXTS) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(TEXTS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
PIECES = [
    "a: ", "&x ", "*x", "- ", "[", "]", "{", "}", "\n", "  ", "!!python/name:os.system ", "<<: ", "? ", ": ", "|", ">",
    "---\n", "...\n", "%YAML 9.9\n", "system: ", "run: ", "oscillator", "'", '"', "#", "\t", "1e999", "\ufeff",
]  # fmt: skip
FORMULAS = st.recursive(
    st.sampled_from(["q", "p", "q1", "k", "b", "m", "t", "y", "y0", "u", "w1", "x", "1", "0.5", "2", "3", "0"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(" ".join).map("({})".format)
        | st.tuples(st.sampled_from(["sin", "exp", "sqrt", "cbrt", "Abs", "log", "tanh", "sign"]), inner).map(
            "{0[0]}({0[1]})".format
        )
        | st.tuples(inner, inner).map("Max({0[0]}, {0[1]})".format)
    ),
    max_leaves=12,
)


def places(value, path=()):
    """All paths in nested data."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def put(data, path, value):
    if not path:
        return value
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@st.composite
def documents(draw):
    """A valid scenario with a few values replaced, taken away, added or moved."""
    data = copy.deepcopy(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(places(data), key=len, reverse=True)))  # hypothesis prefers the first
        match draw(st.sampled_from(["replace", "formula", "swap", "add", "drop"])):
            case "replace":
                data = put(data, path, draw(JUNK))
            case "formula":
                data = put(data, path, draw(FORMULAS))
            case "add":
                data = (
                    put(data, (*path[:-1], draw(st.sampled_from(TEXTS))), draw(JUNK)) if _mapping(data, path) else data
                )
            case "swap":
                other = draw(st.sampled_from(list(places(data))))
                data = put(data, path, copy.deepcopy(_get(data, other)))
            case "drop" if path and _mapping(data, path):
                del _get(data, path[:-1])[path[-1]]
        if not isinstance(data, dict | list):
            break
    return data


def _get(data, path):
    for key in path:
        data = data[key]
    return data


def _mapping(data, path):
    return bool(path) and isinstance(_get(data, path[:-1]), dict)


@pytest.fixture
def attack(tmp_path, monkeypatch, capsys):
    """Run a file as the command would, in plain Python and for a few steps; gives exit code and what was said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "MOST_STEPS", 50)
    simulate = Scenario.simulate
    monkeypatch.setattr(Scenario, "simulate", lambda self, progress=None: simulate(self, progress, engine="python"))
    monkeypatch.setattr(Painter, "_started", lambda self: None)
    monkeypatch.setattr(Painter, "finish", lambda self: None)  # half a second each; test_plot.py draws wild runs

    def go(content):
        file = Path("hostile.yaml")
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        code = execute(["run", str(file)])
        said = capsys.readouterr()
        assert code in (0, 1, 2)
        assert code != 2 or said.err.startswith(("mistake: ", "Usage"))
        assert "Traceback" not in said.err + said.out and "\x1b" not in said.err
        assert not Path("executed").exists()
        return code, said.err

    return go


@FUZZ
@given(data=documents())
def test_changed_scenarios(attack, data):
    attack(yaml.dump(data, allow_unicode=True))


@settings(FUZZ, max_examples=60)
@given(data=st.data())
def test_changed_formulas(attack, data):
    """Here most files are valid: what SymPy, the solver and the ledger make of a formula is under attack."""
    document = copy.deepcopy(VALID[-1])
    formulas = FORMULAS.map(lambda text: re.sub(r"\b(q1|m|t|u|w1|x)\b", "q", text))
    system = document["system"]
    match data.draw(st.sampled_from(["energy", "loss", "structure", "port", "feedback", "input", "params"])):
        case "energy":
            system["energy"] = "p**2/2 + " + data.draw(formulas).replace("y0", "q").replace("y", "q")
        case "loss":
            system["loss"][1][1] = data.draw(formulas).replace("y0", "q").replace("y", "q") + "**2"
        case "structure":
            text = data.draw(formulas).replace("y0", "q").replace("y", "p")
            system["structure"] = [[0, text], [f"-({text})", 0]]
        case "port":
            system["ports"]["force"] = {"effort": [0, data.draw(formulas).replace("y0", "q").replace("y", "q")]}
        case "feedback":
            kind = data.draw(st.sampled_from(["feedback", "relation"]))
            document["method"] = "AVF"
            document["inputs"]["force"] = {kind: re.sub(r"\b[qpkb]\b", "y0", data.draw(formulas))}
        case "input":
            document["inputs"]["force"] = re.sub(r"\b(q|p|k|b|y|y0)\b", "t", data.draw(formulas))
        case "params":
            system["params"] = {"k": data.draw(st.sampled_from(NUMBERS)), "b": data.draw(st.sampled_from(NUMBERS))}
    document["start"] = {"q": data.draw(st.sampled_from([0.0, 1.0, -3.0, 1e-300, 1e150]))}
    attack(yaml.dump(document, allow_unicode=True))


@FUZZ
@given(data=JUNK)
def test_any_data(attack, data):
    attack(yaml.dump(data, allow_unicode=True))


@FUZZ
@given(content=st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes(attack, content):
    assert attack(content)[0] == 2


@FUZZ
@given(
    content=st.lists(
        st.sampled_from(PIECES),
        max_size=40,
    ).map("".join)
)
def test_pieces_of_yaml(attack, content):
    assert attack(content)[0] == 2


def test_named_attacks(attack):
    run = "run: {step: 0.1, until: 1}\n"
    bombs = "a: &a [x, x, x, x]\n" + "".join(
        f"{c}: &{c} [*{p}, *{p}, *{p}, *{p}]\n" for p, c in zip("abcdefghij", "bcdefghijk")
    )
    for content in (
        "!!python/object/apply:os.system ['touch executed']",
        "system: !!python/object/new:os.system ['touch executed']\n" + run,
        "system: oscillator\ninputs: {force: \"__import__('os').system('touch executed')\"}\n" + run,
        bombs,
        "system: &s {parts: {a: *s}}\n" + run,
        "[" * 1_000_00,
        "a: " * 10_000,
        b"\x00\x01\x02" * 1000,
        b"\xff\xfea\x00:\x00",
        "x" * 10_000_000,
        "system: " + "{parts: {a: " * 20 + "spring" + "}}" * 20 + "\n" + run,
        "system: {states: [" + ", ".join(f"q{i}" for i in range(5000)) + "], energy: 0}\n" + run,
        "system: {states: [q], energy: " + "+".join(["q"] * 40_000) + "}\n" + run,
        "system: {coordinates: [q], mass: 1, potential: ((q+1)**1000+(q+2)**1000)**1000}\n" + run,
        "system: pendulum\ninputs: {torque: {feedback: " + "-" * 900 + "y}}\n" + run,
        "system: pendulum\ninputs: {torque: {noise: 1e308}}\n" + run,
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 900)) + f"system: *a899\n{run}",
        "system: {states: [q], energy: q, units: {q: " + "[" * 15 + "x" * 9000 + "]" * 15 + "}}\n" + run,
        "system: {states: [], energy: 0, ports: {a: {flow: 1000000000}}}\n" + run,
    ):
        assert attack(content)[0] == 2
    assert attack("system: &s {library: oscillator}\nparams: &p {k: 3}\n" + run)[0] == 0


def test_a_scenario_cannot_read_or_write_elsewhere(attack):
    run = "run: {step: 0.1, until: 1}\n"
    for line in ("outputs: {folder: /etc}", "outputs: {folder: ../..}", "name: ../../x", "outputs: {folder: 'a/../b'}"):
        assert attack(f"system: oscillator\n{line}\n{run}")[0] == 2
    for special in ("/dev/null", "/proc/self/mem", "."):
        if os.path.exists(special):
            assert execute(["run", special]) == 2
