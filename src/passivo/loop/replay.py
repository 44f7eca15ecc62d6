"""Recorded loops once more: the same readings at the same times, through the same network or a changed one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np

from passivo.device.replay import Replay
from passivo.errors import FileError, PassivoError
from passivo.loop.loop import Loop
from passivo.loop.report import LoopReport
from passivo.loop.safety import Safety
from passivo.loop.session import Session
from passivo.method.generate import Engine
from passivo.network.catalogue import junction_from
from passivo.network.network import Network
from passivo.record.recording import Recording, is_recording, read_recording
from passivo.run.audit import Audit
from passivo.run.audit import audit as audit_run
from passivo.run.inputs import rebuild

SLACK = 1e-12  # of the energy that went back and forth: two ways of adding up the same work
TINY = 1e-6  # J
Progress = Callable[[int, int], None] | None


def replay(
    path: str | os.PathLike | Recording,
    params: Mapping[str, float] | None = None,
    progress: Progress = None,
    engine: Engine = "python",
) -> LoopReport:
    """Let a recorded hand move through the network once more, or through one with other parameters ("part.name").

    The hand moves as it did, whatever it feels, so a changed network may draw energy from it that no real hand would
    give. With the parameters as they were everything comes out as recorded. Plain Python does some 3000 ticks a second;
    with engine="numba" it is a compilation, and then a million.
    """
    recording = path if isinstance(path, Recording) else read_recording(path)
    return _relived(recording, params or {}, engine, progress)[0]


def audit(what: Any, progress: Progress = None) -> Audit:
    """Audit a run, the file it was saved to, or the recording of a loop."""
    if isinstance(what, Recording):
        return _audited(what, progress)
    if isinstance(what, str | os.PathLike) and is_recording(what):
        return _audited(read_recording(what), progress)
    return audit_run(what, progress)


def _audited(recording: Recording, progress: Progress) -> Audit:
    """Every tick again from its readings, in plain Python; and what can be told from positions and forces alone."""
    findings = [] if recording.complete else [f"the recording is not whole: {recording.damage or 'rows are missing'}"]
    rows = _whole(recording)
    if recording.dropped:
        findings.append(f"{recording.dropped} rows are missing: the disk was too slow")
    if len(rows) < len(recording):
        findings.append(
            f"rows are missing after tick {int(rows[-1, 0])}: the {len(recording) - len(rows)} rows behind the gap "
            "cannot be repeated"
        )
    report, again = _relived(recording, {}, "python", progress)
    for name, place in recording.columns.places.items():
        mine, theirs = (np.ascontiguousarray(values[:, place]).view(np.int64) for values in (again, rows))
        if (different := (mine != theirs).any(axis=1)).any():
            tick = int(rows[int(np.argmax(different)), 0])
            findings.append(f"{name} differs from the repeated loop, first at tick {tick}")
    for device in recording.header["axes"]:
        findings += _port(recording, rows, device)
    how = "every tick repeated from its readings, bit for bit"
    if not report.safety.clamp:
        how += ", of a loop whose energy clamp was switched off"
    return Audit(how, len(rows), report.leading, findings)


def _port(recording: Recording, rows: np.ndarray, device: str) -> list[str]:
    """The work at a handle and the limits of its force, from recorded positions and forces, in extended precision."""
    header, findings = recording.header, []
    column = lambda name: rows[:, recording.columns.place(name)].astype(np.longdouble)  # noqa: E731
    axes = [header["devices"][device]["axes"].index(axis) for axis in header["axes"][device]]
    position, force = column(f"{device}.position")[:, axes], column(f"{device}.force")
    most = header["safety"]["max_force"] or header["devices"][device]["max_force"]
    if not np.isfinite(force).all() or np.sqrt((force**2).sum(axis=1)).max() > most:
        findings.append(f"the force at {device} is beyond {most:g} N, or no number")
    heard = column(f"{device}.missing")[:, 0] == 0.0
    last = np.maximum.accumulate(np.where(heard, np.arange(len(rows)), 0))  # the reading that counts at each tick
    work = (force[:-1] * np.diff(position[last], axis=0)).sum(axis=1)
    booked = np.diff(column(f"ledger.{device}.work")[:, 0])
    known = column(f"{device}.dropped")[1:, 0] == 0.0  # where the device dropped the force, the worst is booked
    wrong = known & ~(np.abs(work - booked) <= SLACK * (np.abs(work[known]).sum() + TINY))
    if wrong.any():
        tick = int(rows[1 + int(np.argmax(wrong)), 0])
        findings.append(f"the work booked at {device} is not force times motion, first at tick {tick}")
    return findings


def _whole(recording: Recording) -> np.ndarray:
    """The rows up to the first that is missing, with flags, buttons and times as a loop writes them."""
    if "tick" not in recording:
        raise FileError(f"{recording.path} does not say what loop it was; a recording of pv.Loop does")
    ticks = recording["tick"]
    gaps = np.nonzero(ticks != np.arange(len(ticks)))[0]
    rows = recording.rows[: gaps[0]] if len(gaps) else recording.rows
    if not len(rows):
        raise FileError(f"{recording.path} holds no tick to repeat")
    for name in recording:
        kind = name.rpartition(".")[2]
        values = rows[:, recording.columns.place(name)]
        whole = kind in ("flags", "buttons", "stop", "postponed")
        if (whole and not ((values >= 0.0) & (values < 2**31)).all()) or (
            name == "elapsed" and not ((values >= 0.0) & (values < 1e6)).all()
        ):
            raise FileError(f"{recording.path} is damaged: its column {name!r} holds what no loop writes")
    return rows


def _relived(
    recording: Recording, params: Mapping[str, float], engine: Engine, progress: Progress
) -> tuple[LoopReport, np.ndarray]:
    rows = _whole(recording)
    try:
        loop = _loop(recording, params, engine)
        try:
            session = Session(loop, recording.header["ticks"] or inf, float(rows[-1, 1] - rows[0, 1]))
            if rows.shape[1] != session.module.ROW_WIDTH:
                raise FileError(f"{recording.path} is damaged: its rows are not those of the network in its header")
            return session.relived(rows, recording.header["beside"], progress)
        finally:
            for seat in loop.places:
                seat.device.close()
    except PassivoError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileError(f"{recording.path} is damaged: its header does not describe a loop ({error})") from error


def _loop(recording: Recording, params: Mapping[str, float], engine: Engine) -> Loop:
    """The loop that was recorded, with the recording in place of its devices."""
    header = recording.header
    if not isinstance(header, dict) or "network" not in header:
        raise FileError(f"{recording.path} does not say what loop it was; a recording of pv.Loop does")
    net = Network.from_description(header["network"]).with_params(**params)
    for name, axes in header["axes"].items():
        clamp = junction_from(header["clamps"][name])
        device = Replay(recording.path, device=name, name=name, axes=axes, clamp=clamp).open()
        device.keeps_force = bool(header["keeps"][name])
        net.members[name].device = device
    given = {key: rebuild(drive, _arrays(header["tables"][key])) for key, drive in header["inputs"].items()}
    told = {f"{name}.{signal}" for name in header["axes"] for signal in net.members[name].model.signals}
    inputs = {f"{key}.{port}": value for key, ports in given.items() for port, value in (ports or {}).items()}
    inputs = {name: value for name, value in inputs.items() if name in (*net.ports, *net.signals) and name not in told}
    return Loop(net, safety=Safety(**header["safety"]), start=header["start"], inputs=inputs, engine=engine)


def _arrays(tables: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=float) for name, values in tables.items()}
