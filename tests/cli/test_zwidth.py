"""`passivo zwidth` in one process: what it prints, what it writes, and its exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest

import passivo as pv
from passivo.cli.app import execute
from passivo.cli.zwidth import parse_device, parse_operators
from passivo.run import zwidth as measure

SHORT = [
    "--seconds",
    "0.4",
    "--softest",
    "2000",
    "--stiffest",
    "20000",
    "--adversary",
    "0",
    "--operator",
    "hand:damping=30",
]


@pytest.fixture(autouse=True)
def plain(tmp_path, monkeypatch):
    """An empty folder, no compiler, 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    function = measure.zwidth
    monkeypatch.setattr(measure, "zwidth", lambda *a, **o: function(*a, **o, rounds=1, engine="python"))


def call(capsys, *arguments):
    code = execute(["zwidth", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_table_the_picture_and_the_data(capsys):
    code, out, err = call(capsys, "--scheme", "plain,pcdc", *SHORT[:-4], *SHORT[-2:], "--adversary", "10")
    assert code == 0 and err == "" and max(map(len, out.splitlines())) <= 80
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.split()}
    assert rows["kN/m"] and rows["plain"][1:3] == ["≥", "20"] and rows["pcdc"][2] == "↓"
    assert float(rows["plain"][-2]) < 0 and rows["plain"][-1] == "J"
    assert rows["2b/T"][1] == "of" or rows["2b/T"][1] == "64"
    assert "↓ it sinks in" in out and "zwidth: 0.15 kg, 2 N s/m, encoder 1 µm, 1000 Hz" in out
    assert {path.name for path in Path("out").iterdir()} == {"zwidth.png", "zwidth.csv"}
    lines = Path("out/zwidth.csv").read_text().splitlines()
    assert lines[0].startswith("scheme,operator,stiffness [N/m],rms speed [m/s]") and lines[-1].endswith(",sinks")


def test_json_says_everything(capsys):
    options = ["--device", "mass=0.2,damping=3,encoder=0,delay=1", "--rate", "2000", "--map", "--out", "here", "--json"]
    code, out, err = call(capsys, "--scheme", "plain", *SHORT, *options)
    found = json.loads(out)
    assert code == 0 and err == ""
    assert found["device"] == {
        "mass": 0.2, "damping": 3.0, "friction": 0.0, "encoder": 0.0, "delay": 1, "jitter": 0.0, "dropped": 0.0
    }  # fmt: skip
    assert found["limits"]["None"]["2b/T"] == 12000.0 and found["limits"]["hand 30"]["2b/3T"] == 44000.0
    assert [reach["scheme"] for reach in found["reaches"]] == ["plain"] and found["adversary"]["energy"] == {}
    assert found["criterion"] == {"speed": 5e-3, "ripple": 0.05, "depth": [0.5, 2.0]}
    assert set(found["files"]) == {f"here/zwidth{kind}" for kind in (".png", ".csv", "-map.png", "-map.csv")}
    assert all(Path(file).exists() for file in found["files"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "mass=0"], "a device needs a mass > 0 (kg), not 0.0"),
        (["--device", "mass=-1,damping=2"], "a device needs a mass > 0"),
        (["--device", "damping=2"], "--device needs a mass"),
        (["--device", "mas=1"], "--device: there is no 'mas'; did you mean 'mass'?"),
        (["--device", "mass"], "--device takes NAME=VALUE"),
        (["--device", "mass=heavy"], "--device mass=heavy: must be a number"),
        (["--device", "mass=1,delay=0.5"], "delay is a whole number of samples"),
        (["--device", "identified"], "with --identify FILE"),
        (["--scheme", "plane"], "there is no scheme 'plane'; did you mean 'plain'?"),
        (["--scheme", ","], "at least one scheme"),
        (["--operator", "psh:5"], "there is no operator 'psh'; did you mean 'push'?"),
        (["--operator", "hand:dampin=5"], "there is no 'dampin'; did you mean 'damping'?"),
        (["--operator", "push:-5"], "does not press on the wall"),
        (["--rate", "0"], "the rate must be > 0"),
        (["--rate", "-1"], "the rate must be > 0"),
        (["--softest", "1e6"], "0 < softest < stiffest"),
        (["--seconds", "0"], "100 samples or more"),
        (["--identify", "nowhere.zarr"], "nowhere.zarr is not a saved run"),
        (["--out", "/proc/none"], "nothing can be written to /proc/none"),
    ],
)
def test_mistakes(capsys, arguments, said):
    code, out, err = call(capsys, *arguments)
    assert code == 2 and out == "" and said in err and err.startswith("mistake: ") and err.count("\n") == 1
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 2 and said in json.loads(out)["error"] and err == ""


def test_operators_are_read_one_by_one_or_in_a_list():
    one = parse_operators(["push:5", "hand:damping=2,stiffness=300", "hand"])
    assert one == parse_operators(["push:5, hand:damping=2, stiffness=300,hand"])
    assert one == {
        "push 5 N": pv.operators.push(5.0),
        "hand 2 stiffness 300": pv.operators.hand(damping=2.0, stiffness=300.0, force=5.0),
        "hand 10": pv.operators.hand(force=5.0),
    }
    assert parse_operators(["push:force=3,push"]) == {f"push {f:g} N": pv.operators.push(f) for f in (3.0, 5.0)}
    assert parse_operators(None) is None


def recorded(name: str, **inputs) -> str:
    t = np.arange(2000) * 1e-3
    force = {"handle": 3 * np.sin(5 * t) + 2 * np.sin(31 * t), **inputs}
    run = pv.simulate(pv.library.device(m=0.25, b=1.5), pv.AVF(), 1e-3, 2.0, inputs=force, engine="python")
    run.save(name)
    return name


def test_a_device_is_identified(capsys):
    file = recorded("run.zarr", hand=pv.Feedback("-0.2*tanh(y/1e-3)"))
    code, out, err = call(capsys, "--identify", file)
    assert code == 0 and err == "" and not Path("out").exists() and "no steps seen" in out
    values = {line.split()[0]: line.split()[1:] for line in out.splitlines() if "±" in line and line.split()[2] == "±"}
    assert {name: values[name][0] for name in values} == {"mass": "0.25", "damping": "1.5", "friction": "0.2"}
    assert f"passivo zwidth --device identified --identify {file}" in out
    found = json.loads(call(capsys, "--identify", file, "--json")[1])["identified"]
    assert found["friction"]["value"] == pytest.approx(0.2, rel=1e-6) and found["encoder"] == 0.0
    given = parse_device(["identified", "encoder=1e-6"], pv.identify(file))
    assert given.mass == pytest.approx(0.25) and given.encoder == 1e-6


def test_an_identified_device_is_measured(capsys):
    file = recorded("run.zarr")
    options = ["--device", "identified,friction=0,encoder=1e-6", "--identify", file, "--scheme", "plain", *SHORT]
    code, out, _ = call(capsys, *options)
    assert code == 0 and "the device in run.zarr" in out and "zwidth: 0.25 kg, 1.5 N s/m, encoder 1 µm, 1000 Hz" in out
    found = json.loads(call(capsys, *options, "--json")[1])
    assert found["identified"]["mass"]["value"] == found["device"]["mass"] == pytest.approx(0.25)


def test_what_else_acts_on_a_device_is_told(capsys):
    t = np.arange(2000) * 1e-3
    inputs = {"force": 3 * np.sin(5 * t) + 2 * np.sin(31 * t)}
    pv.simulate(pv.library.oscillator(k=20.0), pv.AVF(), 1e-3, 2.0, inputs=inputs, engine="python").save("spring.zarr")
    code, out, _ = call(capsys, "--identify", "spring.zarr")
    assert code == 0 and "something else acts on the device" in out
    pv.simulate(pv.library.mass(), pv.AVF(), 1e-3, 0.1, engine="python").save("mass.zarr")
    code, _, err = call(capsys, "--identify", "mass.zarr")
    assert code == 2 and "the run of 'mass' has no positions" in err


def test_ctrl_c_keeps_what_was_measured(capsys, monkeypatch):
    def update(self, what, done, total):
        if what == "compiling pcdc":
            raise KeyboardInterrupt

    monkeypatch.setattr("passivo.cli.progress.Progress.update", update)
    code, out, err = call(capsys, "--scheme", "plain,pcdc", *SHORT, "--map")
    assert code == 130 and err == "stopped: by Ctrl-C; what was measured is kept\n"
    assert "\nplain " in out and "\npcdc " not in out and Path("out/zwidth.png").exists()
    code, _, err = call(capsys, "--scheme", "pcdc", *SHORT)
    assert code == 130 and err == "stopped: by Ctrl-C\n"
    found = json.loads(call(capsys, "--scheme", "plain,pcdc", *SHORT, "--json")[1])
    assert found["interrupted"] and len(found["reaches"]) == 1


def test_the_help_states_the_criterion(capsys):
    text = " ".join(call(capsys, "--help")[1].split())
    assert "rms speed is at most 5 mm/s" in text and "at most 5 % of the static force" in text
    assert "0.5 to 2 times the static one" in text
    assert (measure.SPEED, measure.RIPPLE, measure.SHALLOW, measure.DEEP) == (5e-3, 0.05, 0.5, 2.0)
