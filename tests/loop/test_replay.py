"""Recorded loops: repeated bit for bit, audited, changed, cut, altered."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import passivo as pv
from loop.scenes import spring_and_mass, wall
from passivo.record.recorder import new_writer


def sim(**options):
    return pv.devices.Sim(**{"engine": "python", "operator": pv.operators.push(5.0), "start": -5e-3, **options})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A touch with everything in it: jitter, losses, late ticks, an input that changes."""
    path = tmp_path_factory.mktemp("recorded") / "touch.zarr"
    with sim(seed=2, jitter=0.2, dropped=0.03, delay=1) as device:
        loop = pv.Loop(wall(device), clock="simulated", engine="python", lates=[0.0, 2e-4, 0.0, 2.5e-3])
        report = loop.run(seconds=0.3, record=path)
    return path, report


@pytest.mark.parametrize("ending", [".mcap", ".zarr"])
def test_a_recording_is_audited(recorded, tmp_path, ending):
    path, report = recorded
    copy = tmp_path / f"copy{ending}"
    pv.read_recording(path).save(copy)
    found = pv.audit(copy)
    assert found.ok, found.findings
    assert found.checked == report.ticks + 1
    assert found.verdict.kind == report.ports["device"].kind


def test_a_replay_gives_the_same_report(recorded):
    path, report = recorded
    again = pv.replay(path)
    assert again.ticks == report.ticks and again.missed == report.missed
    assert str(again.verdict) == str(report.verdict)
    assert again.interventions == report.interventions
    for name, values in report.rows.items():
        np.testing.assert_array_equal(again.rows[name], values, err_msg=name)


def test_another_stiffness_gives_other_forces_at_the_same_places(recorded):
    path, report = recorded
    softer = pv.replay(path, {"wall.k": 1e3})
    np.testing.assert_array_equal(softer.rows["device.position"], report.rows["device.position"])
    heard = report.rows["device.mode"][:, 0] == 0.0
    assert np.abs(softer.rows["device.force"][heard]).sum() < 0.5 * np.abs(report.rows["device.force"][heard]).sum()
    with pytest.raises(pv.PassivoError, match=r"no parameter 'wall.q'"):
        pv.replay(path, {"wall.q": 1e3})


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("device.force", "device.force differs"),
        ("device.position", "differs from the repeated loop"),
        ("ledger.device.work", "is not force times motion"),
        ("elapsed", "differs from the repeated loop"),
    ],
)
def test_one_altered_number_is_found(recorded, tmp_path, column, sentence):
    whole = pv.read_recording(recorded[0])
    rows = whole.rows.copy()
    rows[100, whole.columns.place(column).start] += 1e-5
    path = tmp_path / "altered.zarr"
    writer = new_writer(path, whole.columns, {**whole._facts})
    writer.append(rows, 0)
    writer.finish(0)
    found = pv.audit(path)
    assert not found.ok and any(sentence in finding for finding in found.findings), found.findings


def test_a_recording_that_was_cut_is_audited_as_far_as_it_goes(recorded, tmp_path):
    whole = pv.read_recording(recorded[0])
    path = tmp_path / "cut.mcap"
    writer = new_writer(path, whole.columns, {**whole._facts})
    writer.append(whole.rows[:150], 0)
    writer.abandon()
    found = pv.audit(path)
    assert found.checked == 150
    assert [f for f in found.findings if "not whole" in f] and len(found.findings) == 1


KILLED = """
    import sys
    import passivo as pv
    from loop.scenes import wall

    with pv.devices.Sim(engine="python", operator=pv.operators.push(5.0), start=-5e-3) as device:
        pv.Loop(wall(device), clock="simulated", engine="python").run(seconds=1e4, record=sys.argv[1])
"""


@pytest.mark.parametrize("ending", [".mcap", ".zarr"])
def test_a_loop_that_was_killed_left_every_tick_of_its_last_flush(tmp_path, ending):
    path = tmp_path / f"killed{ending}"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment) as process:
        told = 0
        while told < 300 and process.poll() is None:
            time.sleep(0.05)
            with contextlib.suppress(pv.PassivoError):
                told = len(pv.read_recording(path))
        process.send_signal(signal.SIGKILL)
    found = pv.audit(path)
    assert process.returncode == -signal.SIGKILL and found.checked >= told
    assert len(found.findings) == 1 and "it ends before it was closed" in found.findings[0], found.findings


def test_inputs_and_starts_are_in_the_recording(tmp_path):
    path = tmp_path / "moved.mcap"
    with sim() as device:
        net = spring_and_mass(device)
        net.add("idle", pv.library.spring(k=2.0), pv.AVF(), step=2e-3)
        options = {"start": {"mass.p": 0.01}, "inputs": {"idle.end": lambda t: np.cos(7 * t)}}
        loop = pv.Loop(net, clock="simulated", engine="python", beside=["mass"], lates=[0.0, 3e-3], **options)
        loop.run(seconds=0.2, record=path)
    found = pv.audit(path)
    assert found.ok, found.findings


def test_headers_that_describe_no_loop_are_an_error(recorded, tmp_path):
    copy = tmp_path / "bad.zarr"
    shutil.copytree(recorded[0], copy)
    file = copy / "zarr.json"
    data = json.loads(file.read_text())
    header = next(value for value in data["attributes"].values() if isinstance(value, dict))["header"]
    for key, value in (("network", {"kind": "Network"}), ("devices", {}), ("axes", {"device": ["w"]}), ("safety", 3)):
        kept, header[key] = header[key], value
        file.write_text(json.dumps(data))
        with pytest.raises(pv.PassivoError):
            pv.audit(copy)
        header[key] = kept


def test_a_saved_run_is_still_audited_as_a_run(tmp_path):
    run = pv.simulate(pv.library.mass(), pv.AVF(), step=0.1, until=1.0, engine="python")
    run.save(tmp_path / "run.zarr")
    assert pv.audit(tmp_path / "run.zarr").ok
    assert pv.audit(run).ok
