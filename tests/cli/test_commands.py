"""The commands in one process: what they print, what they write, and their exit codes."""

import contextlib
import importlib
import json
import re
import shlex
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

import passivo as pv
from passivo.cli import commands  # noqa: F401 - registers all commands
from passivo.cli.app import EXAMPLES, execute
from passivo.cli.options import complete_saved
from passivo.reproduce import figure as figure_module
from passivo.reproduce.figure import figures
from passivo.run.painter import Painter
from passivo.scenario.scenario import Scenario


@pytest.fixture(autouse=True)
def plain(tmp_path, monkeypatch):
    """An empty folder, no compiler, 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("simulate", "compare"):
        function = getattr(Scenario, name)
        monkeypatch.setattr(Scenario, name, lambda self, *a, _f=function: _f(self, *a, engine="python"))
    monkeypatch.setattr(Painter, "_started", lambda self: None)


def call(capsys, *arguments):
    code = execute(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_run(capsys):
    code, out, err = call(capsys, "run", "oscillator", "--until", "0.05")
    assert code == 0 and err == ""
    assert "50 steps of 0.001 s by AVF (0.05 s)" in out and "\nexact: energy was neither" in out
    assert {path.name for path in Path("out").iterdir()} == {"oscillator.png", "oscillator.zarr"}
    assert pv.load("out/oscillator.zarr").steps == 50


def test_options_change_the_scenario(capsys):
    options = ["--method", "{name: SymplecticEuler, variant: q}", "--step", "1e-3", "--until", "10*1e-3"]
    options += ["--set", "k=1e4", "--set", "start.q=0.1", "--input", "force=2*sin(3*t)", "--out", "here/there"]
    code, _, err = call(capsys, "run", "oscillator", *options)
    assert code == 1 and err == ""
    run = pv.load("here/there/oscillator.zarr")
    assert run.steps == 10 and run.params["k"] == 1e4 and run.start["q"] == 0.1
    assert run.method == pv.SymplecticEuler("q", ("q",)) and run.drive["force"]["texts"] == ["2 * sin(3 * t)"]


def test_json_says_everything(capsys):
    code, out, err = call(capsys, "run", "pendulum", "--method", "ExplicitEuler", "--until", "2", "--json")
    found = json.loads(out)
    assert code == 1 and err == ""
    assert found["verdict"]["kind"] == "active" and not found["verdict"]["passive"] and found["steps"] == 20
    assert found["ledger"]["total"]["created"] == pytest.approx(found["verdict"]["bias"], rel=1e-6)
    assert set(found["files"]) == {"out/pendulum.png", "out/pendulum.zarr"}
    assert set(found["end"]) == {"q", "p"}


def test_formats(capsys):
    Path("mine.yaml").write_text(
        "system: pendulum\nstart: {q: 1}\nrun: {step: 0.1, until: 1}\n"
        "outputs: {folder: a/b, formats: [svg, pdf, csv]}\n"
    )
    assert call(capsys, "run", "mine.yaml")[0] == 0
    assert {path.name for path in Path("a/b").iterdir()} == {"mine.svg", "mine.pdf", "mine.csv"}
    lines = Path("a/b/mine.csv").read_text().splitlines()
    assert lines[0].split(",")[:4] == ["t [s]", "q [rad]", "p [kg m²/s]", "inputs torque [N m]"]
    assert len(lines) == 12 and lines[-1].startswith("1.0,")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "oscilator"], "did you mean 'oscillator'?"),
        (["run", "oscillator", "--method", "avf"], "--method avf: method: there is no method 'avf'; did you mean"),
        (["run", "oscillator", "--set", "k"], "--set takes NAME=VALUE"),
        (["run", "oscillator", "--set", "kk=1"], "--set kk=1: params.kk: there is no such parameter; did you"),
        (["run", "oscillator", "--input", "force={a: b"], "--input force={a: b: not YAML"),
        (["run", "oscillator", "--step", "0"], "--step 0: run.step: must be > 0, not 0"),
        (["run", "oscillator", "--until", "soon"], "--until soon: run.until: must be a number"),
        (["run", "oscillator", "--seed", "-1"], "greater than or equal to 0"),
        (["run", "oscillator", "--out", "/proc/none"], "nothing can be written to /proc/none"),
        (["run", "--write-template", "pendulm"], "did you mean 'pendulum'?"),
        (["compare", "oscillator", "--methods", "AVFF"], "did you mean 'AVF'?"),
        (["compare", "oscillator", "--methods", ""], "--methods takes all"),
        (["compare", "oscillator", "--methods", "Collocation(3)"], "options stand beside the name, as in AVF, or {"),
        (["compare", "oscillator", "--methods", "AVF,{name: Collocation, stage: 3}"], "did you mean 'stages'?"),
        (["compare", "oscillator", "--methods", "{AVF"], "--methods {AVF: not YAML"),
        (["compare", "damper"], "has no states"),
        (["compare", "bouncing_mass"], "a floor that only its method ExactBounce knows of"),
        (["run", "pendulum", "--method", "Kahan"], "--method Kahan: method: Kahan steps quadratic fields"),
        (["methods", "avf"], "did you mean 'AVF'?"),
        (["audit", "nowhere"], "nowhere is not a saved run"),
        (["audit", "nowhere.zarr"], "nowhere.zarr is not a saved run"),
        (["reproduce", "borghesan-fg3"], "did you mean 'borghesan-fig3'?"),
        (["reproduce", "borghesan-fig3", "--set", "stepp=1"], "did you mean 'step'?"),
        (["reproduce", "borghesan-fig3", "--set", "step"], "--set takes NAME=VALUE"),
        (["rnu"], "No such command 'rnu'"),
        (["run", "oscillator", "--stpe", "1"], "No such option: --stpe"),
        (["run", "oscillator", "twice"], "unexpected extra argument"),
        (["compare"], "Missing argument 'NAME|FILE'"),
    ],
)
def test_mistakes(capsys, arguments, said):
    code, out, err = call(capsys, *arguments)
    assert code == 2 and out == "" and said in err
    if "usage" not in err.lower():
        assert err.startswith("mistake: ") and err.count("\n") == 1
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 2 and said in json.loads(out)["error"] and err == ""


def test_too_many_rows_are_refused_where_they_were_asked_for(capsys):
    Path("big.yaml").write_text("system: oscillator\nrun:\n  step: 0.01\n  until: 1.0e8\n")
    advice = r"would take [\d.]+ GiB; set run\.record_every \(--record-every\) to \d+ or more"
    for arguments, place in (
        (["big.yaml"], "big.yaml:4"),
        (["oscillator", "--until", "1e7"], "--until 1e7"),
        (["oscillator", "--step", "1e-10"], "--step 1e-10"),
        (["multirate", "--until", "1e8"], "--until 1e8"),
    ):
        code, _, err = call(capsys, "run", *arguments)
        assert code == 2 and re.match(
            rf"mistake: {re.escape(place)}: with record_every=1 the recorded rows {advice}", err
        )
    with pytest.raises(pv.InputError, match=r"would take .* GiB; say record_every=\d+ or more"):
        pv.simulate(pv.library.mass(), pv.AVF(), 1e-9, 1.0, engine="python")


def test_memory_that_runs_out_is_told(capsys, monkeypatch):
    monkeypatch.setattr(Scenario, "simulate", lambda self, progress: bytearray(1 << 62))
    code, out, err = call(capsys, "run", "oscillator")
    assert code == 2 and out == "" and "not enough memory" in err and "record_every" in err


def test_a_failing_step_keeps_what_was_computed(capsys):
    """The plates of the microphone must not touch."""
    code, out, err = call(capsys, "run", "microphone", "--input", "voltage=-2.0")
    assert code == 2 and "what was computed is kept" in err and "no verdict" in out
    run = pv.load("out/microphone.zarr")
    assert 0 < run.steps < run.planned and Path("out/microphone.png").exists()
    code, out, _ = call(capsys, "audit", "out/microphone.zarr")  # 1 is for active runs
    assert code == 0 and out.startswith("audit passed. ") and "no verdict" in out and "Until then exact" in out
    options = ["--method", "ExplicitEuler", "--out", "active"]
    assert call(capsys, "run", "microphone", "--input", "voltage=-2.0", *options)[0] == 2
    code, out, _ = call(capsys, "audit", "active/microphone.zarr")
    assert code == 1 and out.startswith("audit passed. ") and "Until then active: created " in out


def test_ctrl_c_keeps_what_was_computed(capsys, monkeypatch):
    from passivo.run import simulate

    monkeypatch.setattr(simulate, "CHUNK", 10)
    monkeypatch.setattr("passivo.cli.progress.Progress.steps", stop_after(30))
    code, out, err = call(capsys, "run", "oscillator")
    assert code == 130 and "stopped: by Ctrl-C at t = 0.03 s of 2 s; what was computed is kept" in err
    assert pv.load("out/oscillator.zarr").steps == 30 and "no verdict" in out


def stop_after(count):
    def steps(self, done, total):
        if done >= count:
            raise KeyboardInterrupt

    return steps


def test_ctrl_c_while_compiling(capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Scenario, "simulate", stop)
    assert call(capsys, "run", "oscillator")[::2] == (130, "stopped: by Ctrl-C\n")


def test_ctrl_c_in_a_comparison_keeps_finished_methods(capsys, monkeypatch):
    def update(self, what, done, total):
        if what == "compiling RK4":
            raise KeyboardInterrupt

    monkeypatch.setattr("passivo.cli.progress.Progress.update", update)
    code, out, err = call(capsys, "compare", "pendulum", "--methods", "AVF,RK4", "--until", "5")
    assert code == 130 and "AVF" in out and "RK4" not in out and err.startswith("stopped: ")
    assert "written  out/pendulum-compare.png" in out and Path("out/pendulum-compare.png").stat().st_size > 5000


def test_ctrl_c_before_any_method_is_finished_writes_nothing(capsys, monkeypatch):
    def update(self, what, done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr("passivo.cli.progress.Progress.update", update)
    assert call(capsys, "compare", "pendulum", "--methods", "AVF,RK4")[::2] == (130, "stopped: by Ctrl-C\n")
    assert not list(Path("out").iterdir())


def test_a_swallowed_ctrl_c_comes_again():
    """As happens inside a callback of the compiler."""
    from passivo.cli.progress import Progress

    with Progress() as progress:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress.steps(1, 10)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_time_that_remains_is_guessed_and_counts_down(monkeypatch):
    from passivo.cli import progress

    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    shown = progress.Progress(guess=20.0)
    left = lambda: str(shown.bar.columns[-2](shown.bar.tasks[0]))  # noqa: E731
    said = [left()]
    for later, done in ((5, None), (0, 0), (1, None), (9, 25), (3, None), (30, None)):
        now[0] += later
        if done is not None:
            shown.update("stepping", done, 100)
        said.append(left())
    assert said == ["20 s left", "15 s left", "15 s left", "14 s left", "30 s left", "27 s left", "overdue"]
    shown.update("stepping", 100, 100)
    assert left() == ""  # at the end nothing is overdue
    shown = progress.Progress()
    assert left() == ""  # nothing is known yet


@pytest.mark.parametrize("command", ["run", "compare", "reproduce"])
def test_saving_and_drawing_are_told_and_cannot_be_stopped(capsys, monkeypatch, command):
    from passivo.cli import progress

    told = []

    @contextlib.contextmanager
    def late(bar):
        (task,) = bar.tasks
        told.append((task.description, signal.getsignal(signal.SIGINT) is signal.SIG_IGN))
        yield

    monkeypatch.setattr(progress, "_late", late)
    options = ["--methods", "AVF"] if command == "compare" else []
    arguments = ["borghesan-fig3"] if command == "reproduce" else ["pendulum", "--until", "1", *options]
    assert call(capsys, command, *arguments)[0] == 0
    saved = [("saving", True)] if command == "run" else []
    assert told[-1 - len(saved) :] == [*saved, ("drawing", True)]


def test_endless_derivations_end(capsys, monkeypatch):
    import time

    monkeypatch.setattr("passivo.cli.progress.PATIENCE", 0.2)
    monkeypatch.setattr(Scenario, "simulate", lambda self, progress: time.sleep(60))
    code, _, err = call(capsys, "run", "oscillator")
    assert code == 2 and "nothing went on for" in err


def test_compare(capsys):
    code, out, _ = call(capsys, "compare", "pendulum", "--methods", "AVF,RK4,ExplicitEuler", "--until", "5")
    assert code == 1 and Path("out/pendulum-compare.png").exists()
    rows = {line.split()[0]: line.split() for line in out.splitlines() if re.match(r"(AVF|RK4|ExplicitEuler) ", line)}
    assert rows["AVF"][-1] == "exact" and rows["AVF"][3:7] == ["≈", "0", "≈", "0"]
    assert rows["ExplicitEuler"][-1] == "active" and float(rows["RK4"][2]) < float(rows["AVF"][2])
    assert max(map(len, out.splitlines())) <= 80


def test_every_name_is_whole_in_80_columns(capsys):
    """Those of methods, with the widest figures there are."""
    from passivo.method.catalogue import GENERAL

    code, out, _ = call(capsys, "compare", "oscillator", "--step", "0.02", "--until", "1")
    lines = out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("method "))
    assert code == 1 and [line.split()[0] for line in lines[begin + 1 : begin + 1 + len(GENERAL)]] == list(GENERAL)
    assert "…" not in out and max(map(len, lines)) <= 80
    assert "left out: ExactBounce (for a mass over a floor)" in out


def test_methods_are_named_with_their_options(capsys):
    chosen = "AVF, {name: Collocation, stages: 3}, {name: Collocation, stages: 1}"
    code, out, _ = call(capsys, "compare", "pendulum", "--until", "5", "--methods", chosen, "--json")
    titles = [entry["title"] for entry in json.loads(out)["methods"]]
    assert code == 0 and titles == ["AVF", "Collocation(stages=3)", "Collocation(stages=1)"]


def test_compare_names_what_does_not_apply(capsys):
    arguments = ["compare", "rigid_body", "--methods", "AVF,SymplecticEuler", "--until", "1"]
    code, out, _ = call(capsys, *arguments)
    assert code == 0 and "does not apply" in out and "must know which states" in out
    found = json.loads(call(capsys, *arguments, "--json")[1])
    assert [entry["title"] for entry in found["methods"]] == ["AVF", "SymplecticEuler"]
    assert found["methods"][1]["verdict"] is None and found["methods"][1]["reason"]


def test_compare_where_nothing_applies_is_a_mistake(capsys):
    assert call(capsys, "compare", "rigid_body", "--methods", "SymplecticEuler")[0] == 2
    assert not list(Path("out").iterdir())


def test_an_explosion_is_no_rounding(capsys):
    code, out, _ = call(capsys, "compare", "oscillator", "--methods", "ExplicitEuler", "--step", "0.1", "--until", "20")
    (row,) = (line for line in out.splitlines() if line.startswith("ExplicitEuler "))
    assert code == 2 and row.split()[3] == "overflow" and row.endswith("stopped")  # as `run` of the same
    assert call(capsys, "run", "oscillator", "--method", "ExplicitEuler", "--step", "0.1", "--until", "20")[0] == 2


def test_the_end_of_a_run_is_told(capsys):
    """It ends with the last whole step."""
    assert (
        "(0.9 s; the last whole step before 1 s)" in call(capsys, "run", "pendulum", "--step", "0.3", "--until", "1")[1]
    )
    assert (
        "3 steps of 0.3 s (0.9 s)"
        in call(capsys, "compare", "pendulum", "--methods", "AVF", "--step", "0.3", "--until", "1")[1]
    )


def test_targets_are_checked_before_anything_is_computed(capsys, monkeypatch):
    Path("out/pendulum.zarr").mkdir(parents=True)
    monkeypatch.setattr(Scenario, "simulate", None)
    code, _, err = call(capsys, "run", "pendulum")
    assert code == 2 and "was not written by Passivo; choose another --out" in err


def test_a_file_cannot_steer_the_terminal(capsys):
    Path("mine.yaml").write_text(
        'about: "\\e[2J\\e]0;title\\a"\nsystem: pendulum\nstart: {q: 1}\nrun: {step: 0.1, until: 1}\n', encoding="utf-8"
    )
    _, out, err = call(capsys, "run", "mine.yaml")
    assert "\x1b" not in out + err and "\a" not in out + err
    Path("tag.yaml").write_text("a: !foo%1b%5b31m x")
    assert "\x1b" not in call(capsys, "run", "tag.yaml")[2]


def test_methods(capsys):
    code, out, _ = call(capsys, "methods")
    lines = out.splitlines()
    from passivo.method.catalogue import METHODS

    assert code == 0 and [line.split()[0] for line in lines[1 : len(METHODS) + 1]] == list(METHODS)
    assert any(line.startswith("symplectic ") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "variant" in call(capsys, "methods", "SymplecticEuler")[1]
    found = json.loads(call(capsys, "methods", "--json")[1])
    assert found["AVF"]["order"] == 2 and "energy" in found["AVF"]["preserves"] and found["AVF"]["applies"]


def test_audit(capsys):
    call(capsys, "run", "pendulum", "--until", "1")
    assert "out is not a saved run; choose from out/pendulum.zarr" in call(capsys, "audit", "out")[2]
    assert complete_saved("out/p") == ["out/pendulum.zarr"]
    code, out, _ = call(capsys, "audit", "out/pendulum.zarr")
    assert code == 0 and out.startswith("audit passed. recomputed in extended precision: 10 steps checked; exact")
    call(capsys, "run", "pendulum", "--until", "1", "--method", "ExplicitEuler", "--out", "active")
    code, out, _ = call(capsys, "audit", "active/pendulum.zarr", "--json")
    assert code == 1 and json.loads(out)["ok"]
    import zarr

    group = zarr.open_group("out/pendulum.zarr", mode="r+")
    group["states"][3, 0] += 1e-6
    code, out, _ = call(capsys, "audit", "out/pendulum.zarr")
    assert code == 2 and "audit FAILED" in out
    next(path for path in Path("active/pendulum.zarr/states/c").rglob("*") if path.is_file()).write_bytes(b"broken")
    code, _, err = call(capsys, "audit", "active/pendulum.zarr")
    assert code == 2 and "damaged" in err


def test_templates(capsys):
    code, out, _ = call(capsys, "run", "--write-template", "pendulum")
    assert code == 0 and "pendulum.yaml" in out
    text = Path("pendulum.yaml").read_text()
    schema = re.match(r"# yaml-language-server: \$schema=file://(\S+)\n", text)
    assert schema and json.loads(Path(schema[1]).read_text())["title"] == "Passivo scenario"
    assert call(capsys, "run", "pendulum.yaml", "--until", "1")[0] == 0
    code, _, err = call(capsys, "run", "--write-template", "pendulum")
    assert code == 2 and "exists already" in err and Path("pendulum.yaml").read_text() == text


def test_list(capsys):
    code, out, _ = call(capsys, "run", "--list")
    assert code == 0 and "\noscillator " in out and max(map(len, out.splitlines())) <= 80
    assert "pendulum" in json.loads(call(capsys, "run", "--list", "--json")[1])


def test_a_seed_that_changes_nothing_is_told(capsys):
    assert "--seed changed nothing" in call(capsys, "run", "pendulum", "--until", "1", "--seed", "3")[1]


def test_reproduce(capsys):
    code, out, _ = call(capsys, "reproduce", "borghesan-fig3")
    assert code == 0 and "holds: H(100) / H(0) = 11.813" in out
    names = {path.name for path in Path("out").iterdir()}
    assert names == {f"borghesan-fig3.{kind}" for kind in ("png", "svg", "csv", "txt")}
    code, out, _ = call(capsys, "reproduce", "borghesan-fig3", "--set", "step=2e-3", "--json")
    assert code == 0 and json.loads(out)[0]["holds"] and len(json.loads(out)[0]["statements"]) == 1
    assert "borghesan-fig3" in call(capsys, "reproduce", "--list")[1]


def test_all_figures_are_made_at_one_word(capsys, monkeypatch):
    """Of two: each of them all has a test of its own."""
    two = {name: figures()[name] for name in ("borghesan-fig3", "kim-fig2")}
    monkeypatch.setattr(figure_module, "figures", lambda: two)
    code, out, _ = call(capsys, "reproduce", "all", "--json")
    assert code == 0 and [found["name"] for found in json.loads(out)] == [*two]
    assert {path.stem for path in Path("out").iterdir()} == set(two)


@pytest.mark.parametrize("line", EXAMPLES["compare"])
def test_every_example_of_compare_runs(line, capsys):
    """The others are run by a shell; here all methods take seconds, and not the minutes it takes to compile them."""
    code, out, err = call(capsys, *shlex.split(line)[1:])
    assert code in (0, 1) and err == "" and out
    assert f"\n    {line}\n" in call(capsys, "compare", "--help")[1] + "\n"


def test_version(capsys):
    assert call(capsys, "--version")[:2] == (0, f"passivo {pv.__version__}\n")


def test_the_help_fits_80_columns_and_breaks_off_nowhere(capsys):
    text = call(capsys, "--help")[1]
    assert all(f"  {name} " in text for name in EXAMPLES) and "..." not in text.replace("[ARGS]...", "")
    for name in EXAMPLES:
        lines = call(capsys, name, "--help")[1].splitlines()
        assert max(map(len, lines)) <= 80, name


def test_a_terminal_breaks_sentences_between_words(capsys, monkeypatch):
    arguments = ["reproduce", "borghesan-fig9", "--set", "until=0.5"]
    whole = call(capsys, *arguments)[1]
    assert max(map(len, whole.splitlines())) > 80  # in a file or a pipe a sentence is one line
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    broken = re.sub(r"\x1b\[[\d;]*m", "", call(capsys, *arguments)[1])
    assert max(map(len, broken.splitlines())) <= 80
    assert broken.split() == whole.split()


def test_options_of_a_method_are_a_table_in_any_width(capsys):
    lines = call(capsys, "methods", "EnergyConsistent")[1].splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("projection "))
    end = next(i for i, line in enumerate(lines) if line.startswith("predictor "))
    indent = len(lines[begin]) - len(lines[begin].removeprefix("projection").lstrip())
    assert end > begin + 1 and all(line.startswith(" " * indent) for line in lines[begin + 1 : end])
    assert max(map(len, lines[begin:end])) <= 80
    options = lines[next(i for i, line in enumerate(lines) if line.startswith("option ")) + 1 :]
    assert options[0].split() == ["projection", "'radial'"] and "" not in options


def test_a_reason_names_its_method_once(capsys):
    out = call(capsys, "compare", "pendulum", "--methods", "AVF,ExactHold", "--until", "1")[1]
    assert "\nExactHold steps linear systems" in out


def test_benchmarks_tell_the_time_that_remains_from_the_start(monkeypatch):
    benches = importlib.import_module("bench.__main__")
    from passivo.cli.bench import names

    assert sorted(benches.NAMES) == names()
    guesses = []

    class Told:
        def __init__(self, first, guess, endless):
            guesses.append(guess)
            raise KeyboardInterrupt

    monkeypatch.setattr(benches, "Progress", Told)
    monkeypatch.setattr(benches, "last", lambda: {"results": {}, "seconds": {"call": 7.0}})
    monkeypatch.setattr("sys.argv", ["bench", "call", "step"])
    with pytest.raises(SystemExit):
        benches.main()
    assert guesses == [27.0]
