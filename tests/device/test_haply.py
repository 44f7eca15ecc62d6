"""The Haply driver against a service of our own, which can misbehave in every way we could think of."""

from __future__ import annotations

import builtins
import json
import threading
import time
from math import inf, isfinite, nan

import numpy as np
import pytest

import passivo as pv
from device import haply_server as service
from device.haply_server import DEVICE, Server
from passivo.device import haply, haply_wire
from passivo.device.state import Answer, Flags, Life

PATIENT = 20.0  # seconds: no test may fail because the machine is busy
ASKED = {"inverse3": [{"device_id": DEVICE, "commands": {"probe_position": {}}}]}


def pushed(z, key="vector"):
    force = {"set_cursor_force": {key: {"x": 0.0, "y": 0.0, "z": z}}}
    return {"inverse3": [{"device_id": DEVICE, "commands": force}]}


@pytest.fixture
def server():
    with Server(hand=(0.0, 0.0, 0.0)) as running:
        yield running


def opened(server, **options):
    given = {"url": server.url, "events": False, "timeout": PATIENT, **options}
    return pv.devices.Haply(**given)


def until(true):
    """Wait for what another thread does."""
    end = time.monotonic() + PATIENT
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


# -- the protocol ------------------------------------------------------------------------------------------------------


def test_one_message_one_reply(server):
    with opened(server) as device:
        assert server.messages == []
        for count in range(1, 6):
            state = device.read()
            assert (len(server.messages), server.replies, state.sequence) == (count, count, count)
        assert server.messages == [ASKED] * 5
        np.testing.assert_array_equal(state.position, service.START)
        assert state.orientation == (1.0, 0.0, 0.0, 0.0)
        assert (state.velocity, state.applied) == ((0.0,) * 3, (0.0,) * 3)
    assert server.forces == []


@pytest.mark.parametrize("key", ["vector", "values"])
def test_forces_as_they_are_documented(server, key):
    with opened(server, force_key=key) as device:
        device.read()
        assert server.messages == [ASKED if key == "vector" else pushed(0.0, key)]
        device.enable_forces()
        device._write((0.0, 0.0, 1.5))
        assert len(server.messages) == 1  # it waits for the next question
        device.read()
        device.read()
        assert server.messages[1:] == [pushed(1.5, key)] * 2
        assert server.replies == 3
        device.stop()
        assert device.status.life is Life.STOPPED
        until(lambda: server.messages[-1] == pushed(0.0, key))
        device.read()  # and the reply to that is not taken for the newest
        assert server.messages[-1] == (ASKED if key == "vector" else pushed(0.0, key))
        until(lambda: server.replies == len(server.messages))
        assert device._owed == 0
        assert device.unasked == 0


def test_what_is_known_of_it(server):
    with opened(server) as device:
        info = device.info
        assert (info.model, info.driver, info.axes) == ("Haply Inverse3", "haply", ("x", "y", "z"))
        assert (info.rate, info.skew, info.serial, info.buttons) == (1000.0, 1e-3, DEVICE, 3)
        assert info.has_orientation
        assert not info.owns_clock
        assert device.guard(pv.LedgerClamp).skew == info.skew
    with opened(server, info={"rate": 4000.0, "mass": 0.2}) as device:
        assert (device.info.skew, device.info.mass) == (0.25e-3, 0.2)
    with opened(server, info={"skew": 0.0}) as device:
        assert device.guard(pv.LedgerClamp).skew == 0.0
    with pytest.raises(pv.InputError, match="seconds >= 0"):
        opened(server, info={"skew": -1.0})


def test_without_a_grip():
    with Server(grips=False) as server, opened(server) as device:
        assert (device.info.buttons, device.info.has_orientation) == (0, False)
        assert device.read().orientation == ()


def test_buttons_in_order(server):
    with opened(server) as device:
        server.buttons = {"c": True, "a": True, "b": False}
        assert device.read().buttons == 0b101


def test_several_devices():
    with Server(devices=("049D", "04BA")) as server:
        device = opened(server)
        with pytest.raises(pv.DeviceError, match="several Inverse3: 049D, 04BA; say which: device='049D'"):
            device.open()
        assert device.status.life is Life.CLOSED
        with opened(server, device="04BA") as device:
            device.read()
            assert server.messages[-1]["inverse3"][0]["device_id"] == "04BA"
        with pytest.raises(pv.DeviceError, match="no Inverse3 '04BB'; did you mean '04BA'"):
            opened(server, device="04BB").open()
        with pytest.raises(pv.DeviceError, match="no grip 'pen'"):
            opened(server, device="04BA", grip="pen").open()


def test_no_device():
    with Server(devices=()) as server, pytest.raises(pv.DeviceError, match="knows no Inverse3; plug it in"):
        opened(server).open()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"force_key": "vectors"}, "did you mean 'vector'"),
        ({"timeout": 0.0}, "timeout must be seconds > 0"),
        ({"timeout": nan}, "timeout must be seconds > 0"),
        ({"timeout": "long"}, "timeout must be seconds > 0"),
        ({"port": 0}, "port must be a port number"),
        ({"port": "10001"}, "port must be a port number"),
        ({"events": 70000}, "events must be a port number"),
        ({"url": "http://localhost:10001"}, "url is that of a WebSocket"),
    ],
)
def test_options_that_cannot_be(options, why):
    with pytest.raises(pv.InputError, match=why):
        pv.devices.Haply(**options)


@pytest.mark.parametrize("missing", ["websockets", "orjson"])
def test_a_missing_library(server, missing, monkeypatch):
    real = haply.import_module

    def without(name):
        if name.split(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return real(name)

    monkeypatch.setattr(haply, "import_module", without)
    with pytest.raises(pv.DeviceError, match=rf"needs {missing}, which is not here: pip install passivo\[haply\]"):
        opened(server).open()
    assert pv.devices.Haply.probe(server.url)[0] is False


def test_libraries_load_only_on_use(monkeypatch):
    real = builtins.__import__
    asked = []
    monkeypatch.setattr(builtins, "__import__", lambda name, *rest: asked.append(name) or real(name, *rest))
    pv.devices.Haply()
    assert not [name for name in asked if name.split(".")[0] in ("websockets", "orjson")]


# -- forces ------------------------------------------------------------------------------------------------------------


def test_opening_and_reading_never_energise(server):
    with opened(server) as device:
        for _ in range(3):
            device.wait_tick()
            assert device.write([1.0, 0.0, 0.0]) is Answer.DISABLED
    assert server.forces == []
    assert server.messages == [ASKED] * 3


def test_write_answers(server):
    with opened(server, axes="z", info={"skew": 0.0}) as device:
        device.enable_forces()
        for _ in range(60):  # the hand pushes in against 1 N
            server.handle.position[2] += 2e-4
            device.read()
            answer = device.write(-1.0)
        assert answer is Answer.OK
        device.read()
        assert server.messages[-1] == pushed(-1.0)
        assert device.write(nan) is Answer.CLAMPED
        device.read()
        assert server.messages[-1] == pushed(0.0)
    until(lambda: not server.connections or server.forces[-1] == (0.0, 0.0, 0.0))
    assert all(isfinite(value) for force in server.forces for value in force)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_what_is_no_number_is_never_sent(server, bad):
    with opened(server) as device:
        device.enable_forces()
        device._write((0.0, 0.0, 1.0))
        with pytest.raises(pv.DeviceError, match="no number; none is sent"):
            device._write((0.0, bad, 0.0))
        device.read()
        assert server.forces == [(0.0, 0.0, 0.0)]


def handle_in_time(skew, ticks=4000, period=1e-3, mass=0.15, wall=2000.0):
    """The least energy of a port whose forces act one period after their positions, as they do here."""
    guard = pv.LedgerClamp(mass=mass, limit=10.0, skew=skew).alone(period=period)
    x, v, held, energy, least = -0.002, 0.0, 0.0, 0.0, 0.0
    for k in range(ticks):
        wanted = wall * max(x, 0.0)
        force = guard.tick(x, wanted)  # goes out with the next message
        a = (3.0 * np.sin(2e-3 * np.pi * 3.0 * k) + 2.0 - held - 0.5 * v) / mass
        moved = v * period + a * period**2 / 2
        energy += held * moved
        least = min(least, energy)
        x, v, held = x + moved, v + a * period, force
    return least


def test_the_clamp_must_know_of_the_lag():
    assert handle_in_time(skew=0.0) < -1e-2
    assert handle_in_time(skew=1e-3) >= -1e-4


# -- faults of the service ---------------------------------------------------------------------------------------------

BROKEN = {
    "drops": (service.drops, PATIENT, "connection to the Haply service .* was lost"),
    "leaves": (service.leaves, PATIENT, "connection .* was lost .*going away"),
    "half a message": (service.halved, PATIENT, "connection .* was lost"),
    "half a message, then nothing": (service.stuck, 0.3, "did not reply within 0.3 s"),
    "silent": (service.silent, 0.3, "did not reply within 0.3 s"),
    "too late": (service.late(1.0), 0.3, "did not reply within 0.3 s"),
    "huge": (service.says(b"[" + b"1," * 600_000 + b"1]"), PATIENT, "connection .* was lost"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_ends_the_connection(server, name):
    fault, timeout, why = BROKEN[name]
    device = opened(server, timeout=timeout).open()
    device.enable_forces()
    device.read()
    server.fault = fault
    with pytest.raises(pv.DeviceError, match=why):
        device.read()
    assert device.status.life is Life.LOST
    with pytest.raises(pv.DeviceError, match="is lost"):
        device.read()
    server.fault = None
    device.close()
    device.timeout = PATIENT
    with device:  # the same device again
        assert device.read().sequence == 1
        assert device.status.life is Life.OPEN
    assert set(server.forces) == {(0.0, 0.0, 0.0)}


GARBAGE = {
    "no JSON": b"good morning",
    "cut JSON": b'{"inverse3": [{"device_id": "049D", "sta',
    "empty": b"",
    "a number": b"7",
    "a list": b"[]",
    "nothing": b"{}",
    "null": b"null",
    "wrong types": b'{"inverse3": 5}',
    "entries that are none": b'{"inverse3": [1, null, "049D", {"id": 3}]}',
    "no state": b'{"inverse3": [{"device_id": "049D"}]}',
    "a state that is none": b'{"inverse3": [{"device_id": "049D", "state": [1, 2, 3]}]}',
    "deep": b"[" * 100_000,
}
PLACES = [{"x": 1.0}, {"x": "0", "y": "0", "z": "0"}, {"x": True, "y": 0, "z": 0}, [0, 0, 0], None, {"x": None}]


@pytest.mark.parametrize(
    "fault",
    [*map(service.says, GARBAGE.values()), *map(service.with_position, PLACES), service.NOT_A_NUMBER],
    ids=[*GARBAGE, *map(str, PLACES), "NaN"],
)
def test_garbage_is_skipped_and_counted(server, fault):
    with opened(server) as device:
        good = device.read()
        server.fault = fault
        again = device.read()
        assert (again.sequence, again.position, again.flags) == (good.sequence, good.position, Flags.FINE)
        assert device.skipped == 1
        server.fault = None
        assert device.read().sequence == good.sequence + 1
        assert device.skipped == 1


def test_garbage_without_end(server):
    with opened(server) as device:
        device.enable_forces()
        device.read()
        server.fault = service.says(b"?")
        with pytest.raises(pv.DeviceError, match=r"the last 20 replies .* could not be used: it is no JSON: b'\?'"):
            for _ in range(100):
                device.read()
        assert device.status.life is Life.LOST
    with opened(server) as device, pytest.raises(pv.DeviceError, match="the reply of the service"):
        device.read()


@pytest.mark.parametrize("name", [name for name in GARBAGE if "state" not in name])
def test_a_first_message_of_no_use(server, name):
    server.first = GARBAGE[name]
    device = opened(server)
    with pytest.raises(pv.DeviceError, match=r"Haply|knows no Inverse3"):
        device.open()
    assert device.status.life is Life.CLOSED
    assert pv.devices.Haply.probe(server.url)[0] is False


@pytest.mark.parametrize("fault", [service.binary, service.fragments], ids=["binary", "in fragments"])
def test_other_frames_are_as_good(server, fault):
    server.fault = fault
    with opened(server) as device:
        assert [device.read().sequence for _ in range(3)] == [1, 2, 3]
        assert device.skipped == 0


def test_more_replies_than_messages(server):
    with opened(server) as device:
        server.fault = service.twice
        for k in range(10):
            server.handle.position[0] = 1e-3 * k
            place = device.read().position[0]
            assert place in (1e-3 * k, 1e-3 * (k - 1), service.START[0])
        server.fault = None
        for _ in range(3):
            device.read()
        server.handle.position[0] = 1.0
        until(lambda: device.read().position[0] == 1.0)
        assert device.unasked >= 1


def test_a_service_that_floods(server):
    with opened(server) as device:
        for _ in range(3):
            device.read()
        flood = threading.Event()

        def pour():
            while not flood.is_set():
                server.connections[0].send(b"{}", text=True)

        thread = threading.Thread(target=pour, daemon=True)
        thread.start()
        with pytest.raises(pv.DeviceError):
            for _ in range(10_000):
                device.read()
        flood.set()
        assert device.status.life is Life.LOST


def test_the_device_is_no_longer_listed(server):
    with opened(server) as device:
        device.read()
        server.devices = ["04BA"]
        with pytest.raises(pv.DeviceError, match="no longer lists the Inverse3 049D"):
            device.read()
        assert device.status.life is Life.LOST


def test_the_same_timestamp_is_the_same_reading(server):
    with opened(server) as device:
        server.extra = {"timestamp": 12}
        assert [device.read().sequence for _ in range(3)] == [1, 1, 1]
        server.extra = {"timestamp": 13}
        assert device.read().sequence == 2


@pytest.mark.parametrize(
    ("status", "flags"),
    [
        ({"calibrated": False}, Flags.UNCALIBRATED),
        ({"power_supply": False}, Flags.FORCES_OFF),
        ({"ready": False}, Flags.FORCES_OFF),
        ({"error": 3}, Flags.ERROR),
        ({"error": 0, "in_use": True}, Flags.FINE),
    ],
)
def test_status_becomes_flags(server, status, flags):
    with opened(server) as device:
        server.status.update(status)
        assert device.read().flags == flags


# -- events ------------------------------------------------------------------------------------------------------------


def test_events_become_flags(server):
    with opened(server, events=server.events_port) as device:
        assert str(device.status) == "open: no force acts yet"
        for raw in (*GARBAGE.values(), b"\xff\xfe"):
            server.raw_event(raw)
        server.event("device-disconnected", device_id="04BA")
        server.event("device-safety-triggered", device_id=DEVICE, safety_type="ebrake_triggered", message="locked")
        until(lambda: device.read().flags == Flags.FORCES_OFF)
        assert str(device.status) == "open: no force acts yet; device-safety-triggered: locked"
        server.event("device-safety-triggered", "notice", device_id=DEVICE, safety_type="ebrake_released")
        until(lambda: device.read().flags == Flags.FINE)
        server.event("device-temperature-high", device_id=DEVICE)
        until(lambda: device.read().flags == Flags.OVERHEATED)
        server.event("service-failed", "panic")
        until(lambda: device.read().flags == Flags.OVERHEATED | Flags.ERROR)


def test_an_event_unplugs(server):
    with opened(server, events=server.events_port) as device:
        device.enable_forces()
        device.read()
        server.event("device-disconnected", device_id=DEVICE)
        with pytest.raises(pv.DeviceError, match="was unplugged"):
            until(lambda: device.read() is None)
        assert device.status.life is Life.LOST


def test_without_events_all_else_works():
    with Server(events=False) as server, opened(server, events=server.events_port) as device:
        until(lambda: "its events cannot be heard" in str(device.status))
        assert device.read().flags == Flags.FINE


def test_events_that_end(server):
    with opened(server, events=server.events_port) as device:
        assert server.listened.wait(PATIENT)
        server.listeners[0].close()
        until(lambda: "its events cannot be heard" in str(device.status))
        device.read()


def test_news_of_no_concern():
    for raw in ("7", "[]", '{"name": 3}', '{"name": "device-connected", "level": "info"}'):
        assert haply_wire.news(json.loads(raw), DEVICE) == (Flags.FINE, Flags.FINE, "")


# -- probing -----------------------------------------------------------------------------------------------------------


def test_probe(server):
    assert pv.devices.Haply.probe(server.url) == (True, f"Inverse3 {DEVICE} at {server.url}")
    assert server.messages == []
    found, why = pv.devices.Haply.probe(f"ws://127.0.0.1:{service.unused_port()}")
    assert not found
    assert "no Haply Inverse service" in why
    server.devices.clear()
    assert pv.devices.Haply.probe(server.url) == (
        False,
        f"the Haply service at {server.url} knows no Inverse3; plug it in",
    )


def test_nobody_there():
    with pytest.raises(pv.DeviceError, match=r"no Haply Inverse service at .*; start it, or say where it runs"):
        pv.devices.Haply(host="127.0.0.1", port=service.unused_port(), events=False).open()


# -- in a loop ---------------------------------------------------------------------------------------------------------


HASTY = {"max_speed": 1000.0}  # m/s: a busy machine sees readings in bunches


def touched(device):
    net = pv.Network()
    wall = net.add("wall", pv.library.wall(k=1000.0), step=device.step)
    net.connect(device["handle"], wall["end"], through=pv.LedgerClamp(), name="touch")
    net.observe(device["position"], wall["depth"])
    return pv.Loop(net, safety=pv.Safety(max_force=6.0, patience=2.0))


def test_a_wall_is_touched():
    with Server() as server, opened(server, axes="z", info=HASTY) as device:
        loop = touched(device)
        assert server.forces == []
        report = loop.run(seconds=1.0)
        assert report.stopped == ""
        assert report.ports["device"].passive or report.interventions["device"]["held too long"]  # on a busy machine
        assert report.ticks >= 50
        assert len(server.messages) <= report.ticks + 20  # one round trip to a tick, some more around them
        assert device.status.life is Life.STOPPED
        until(lambda: server.forces[-1] == (0.0, 0.0, 0.0))  # the last message is not waited for
        forces = np.array(server.forces)
        assert np.isfinite(forces).all()
        assert np.abs(forces).max() <= 6.0
        assert (forces[:, 2] < 0.0).any()
        assert not forces[:, :2].any()


def test_the_service_dies_while_a_wall_is_touched():
    def dies(server, connection, reply):
        return reply if len(server.messages) < 200 else service.drops(server, connection, reply)

    with Server() as server, opened(server, axes="z", info=HASTY) as device:
        server.fault = dies
        report = touched(device).run(seconds=60.0)
        assert "connection to the Haply service" in report.stopped
        assert report.ticks < 50_000
        assert device.status.life is Life.LOST
        forces = np.array(server.forces)
        assert np.isfinite(forces).all()
        assert np.abs(forces).max() <= 6.0
        assert server.handle.force == (0.0, 0.0, 0.0)
