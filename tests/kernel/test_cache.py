"""Generated modules on disk: found again without SymPy or compiling, never stale, safe to race for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import passivo as pv
from passivo.kernel import cache
from passivo.method.generate import generate

SCRIPT = """
import json, sys
import passivo as pv
from passivo.kernel import cache
model = pv.System(["q", "p"], "k*q**4/4 + p**2/2", [[0, 1], [-1, 0]], params={"k": float(sys.argv[2])})
part = pv.compile(model, pv.AVF(), 0.1, start={"q": 1.0}, engine=sys.argv[1])
for _ in range(3):
    part.step()
stats = getattr(part.module.step, "stats", None)
print(json.dumps({
    "module": part.module.__name__, "state": part.state.tolist(), "sympy": "sympy" in sys.modules,
    "hits": sum(stats.cache_hits.values()) if stats else None,
    "misses": sum(stats.cache_misses.values()) if stats else None,
    "folder": str(cache.folder()), "source": pv.__file__, "kind": part.verdict.kind,
}))
"""


def start(engine="python", k=2.0, **environment):
    """A new process that compiles and steps a model defined by text."""
    env = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    for name in [name for name, value in environment.items() if value is None]:
        del env[name]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, engine, str(k)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, error = process.communicate()
    assert process.returncode == 0, error
    return json.loads(out)


def modules(folder):
    return sorted(path.name for path in Path(folder).glob("passivo_generated_*.py"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """Two processes started at once on an empty cache."""
    folder = tmp_path_factory.mktemp("raced")
    first, second = (start("numba", PASSIVO_CACHE=folder) for _ in range(2))
    return folder, finish(first), finish(second)


def test_two_processes_share_one_module(raced):
    folder, first, second = raced
    assert first["module"] == second["module"] and first["state"] == second["state"]
    assert modules(folder) == [f"{first['module']}.py"]
    assert not list(folder.glob(".writing-*")), "temporary files are left"
    assert first["kind"] == "exact" and first["folder"] == str(folder)


def test_a_new_process_neither_derives_nor_compiles(raced):
    folder, first, _ = raced
    before = {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.py")}
    again = finish(start("numba", PASSIVO_CACHE=folder))
    assert again["module"] == first["module"] and again["state"] == first["state"]
    assert again["hits"] == 1 and again["misses"] == 0
    assert not again["sympy"]
    assert {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.py")} == before


def test_another_parameter_value_needs_no_new_module(raced):
    folder, first, _ = raced
    other = finish(start("numba", k=3.0, PASSIVO_CACHE=folder))
    assert other["module"] == first["module"] and other["misses"] == 0 and other["state"] != first["state"]


def test_an_edit_of_a_kernel_is_never_stale(tmp_path):
    """A changed comment gives another module; a changed line another result."""
    source, folder = tmp_path / "src", tmp_path / "cache"
    shutil.copytree(Path(pv.__file__).parent, source / "passivo", ignore=shutil.ignore_patterns("__pycache__"))
    options = {"PYTHONPATH": source, "PASSIVO_CACHE": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    plain = finish(start(**options))
    assert Path(plain["source"]).is_relative_to(source)
    file = source / "passivo" / "kernel" / "tick.py"
    text = file.read_text()
    file.write_text(text + "# a remark\n")
    remarked = finish(start(**options))
    assert remarked["module"] != plain["module"] and remarked["state"] == plain["state"]
    edited = text.replace("new = old + m[STEP + i]\n", "new = old + m[STEP + i] + 1.0\n")
    assert edited != text
    file.write_text(edited)
    changed = finish(start(**options))
    assert changed["module"] not in (plain["module"], remarked["module"])
    assert changed["state"] != plain["state"]
    assert len(modules(folder)) == 3
    file.write_text(text)
    assert finish(start(**options)) == {**plain, "sympy": False}


def test_a_read_only_home_still_works(tmp_path):
    """The home lies below a regular file: nothing can be made there, whoever asks."""
    (tmp_path / "file").write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    nowhere = tmp_path / "file" / "home"
    options = {
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere / "cache",
        "TMPDIR": temporary,
        "PASSIVO_CACHE": None,
    }
    first, second = finish(start(**options)), finish(start(**options))
    assert Path(first["folder"]).is_relative_to(temporary)
    assert first["state"] == second["state"] and first["folder"] == second["folder"] and not second["sympy"]
    assert Path(first["folder"]).stat().st_mode & 0o077 == 0


@pytest.fixture
def fresh(monkeypatch):
    """`folder()` forgets its choice before and after the test."""
    cache.folder.cache_clear()
    yield monkeypatch
    cache.folder.cache_clear()


def test_folder_is_the_one_asked_for(fresh, tmp_path):
    fresh.setenv("PASSIVO_CACHE", str(tmp_path / "deep" / "here"))
    assert cache.folder() == tmp_path / "deep" / "here" and cache.folder().is_dir()


def test_folder_of_the_user(fresh, tmp_path):
    fresh.delenv("PASSIVO_CACHE", raising=False)
    fresh.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "passivo"


def test_a_folder_that_others_may_write_to_is_not_trusted(fresh, tmp_path):
    """Code is loaded from the cache: a shared folder open to others is passed over."""
    fresh.delenv("PASSIVO_CACHE", raising=False)
    fresh.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fresh.setattr(cache.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "cache").write_text("")
    shared = tmp_path / f"passivo-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    chosen = cache.folder()
    assert chosen != shared and chosen.parent == tmp_path and chosen.stat().st_mode & 0o077 == 0


def generated(model, method=None, laws=None):
    return generate(model, method or pv.AVF(), laws or {}, "python").__name__


def test_what_gives_another_module():
    duffing = pv.library.duffing()
    name = generated(duffing)
    assert generated(pv.library.duffing(alpha=3.0, beta=2.0)) == name
    others = [
        generated(pv.library.oscillator()),
        generated(duffing, pv.ImplicitMidpoint()),
        generated(duffing, pv.SymplecticEuler("p", ("q",))),
        generated(duffing, pv.SymplecticEuler("q", ("q",))),
        generated(duffing, laws={"force": pv.Feedback("-y0")}),
        generated(duffing, laws={"force": pv.Feedback("-2*y0")}),
        generated(duffing, laws={"force": pv.Relation("-2*y0")}),
    ]
    assert len({name, *others}) == len(others) + 1


def test_a_changed_formula_gives_another_module():
    make = lambda energy: pv.System(["x"], energy, loss=[[1]])  # noqa: E731
    assert generated(make("x**2/2")) != generated(make("x**2/3"))
    assert generated(make("x**2/2")) == generated(make("x**2/2"))


def test_a_module_that_cannot_be_built_leaves_nothing(fresh, tmp_path):
    fresh.setenv("PASSIVO_CACHE", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        cache.load("broken", lambda: "1/0\n")
    assert not [name for name in sys.modules if name == "passivo_generated_" + cache.digest("broken")]

    def fails():
        raise RuntimeError("no text")

    with pytest.raises(RuntimeError, match="no text"):
        cache.load("other", fails)
    assert len(modules(tmp_path)) == 1


def test_a_writer_that_comes_second_changes_nothing(tmp_path):
    path = tmp_path / "module.py"
    cache._write_once(path, "first")
    stamp = path.stat().st_mtime_ns
    cache._write_once(path, "second")
    assert path.read_text() == "first" and path.stat().st_mtime_ns == stamp
    assert [file.name for file in tmp_path.iterdir()] == ["module.py"]


def test_the_order_of_ports_and_parts_is_part_of_the_key():
    """Order is the layout of the memory: another order needs another module."""
    ports = {"a": pv.effort([1, 0]), "b": pv.effort([0, 1])}
    moved = {}
    for order in (("a", "b"), ("b", "a")):
        system = pv.System(["x", "y"], "x**2/2 + y**2/2", ports={name: ports[name] for name in order})
        run = pv.simulate(system, pv.AVF(), step=0.1, until=1.0, inputs={"a": 1.0}, engine="python")
        moved[order] = (float(run["x"][-1]), float(run["y"][-1]))
    assert moved["a", "b"] == moved["b", "a"] and moved["a", "b"][0] > 0 and moved["a", "b"][1] == 0
    parts = {"light": pv.library.mass(m=1.0), "heavy": pv.library.mass(m=2.0)}
    for order in (("light", "heavy"), ("heavy", "light")):
        model = pv.Monolithic({name: parts[name] for name in order})
        run = pv.simulate(model, pv.AVF(), step=0.1, until=1.0, start={"light.p": 1.0}, engine="python")
        assert float(run.ledger.stored.sel(part="light")[-1]) == 0.5


def test_threads_may_compile_at_once():
    from concurrent.futures import ThreadPoolExecutor

    def compiled(k):
        system = pv.System(["q", "p"], f"{k % 3 + 1}*q**2/2 + p**2/2", [[0, 1], [-1, 0]])
        part = pv.compile(system, pv.RK4(), 0.1, start={"q": 1.0}, engine="python")
        part.step()
        return k % 3, part.state.tolist()

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(compiled, range(24)))
    assert len({(kind, tuple(state)) for kind, state in results}) == 3
