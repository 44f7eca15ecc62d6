"""A stand-in for Haply's Inverse service: the documented messages, a handle that really moves, and faults on demand.

`python haply_server.py` serves alone, for the benchmark, and prints its port.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from math import exp, nan

import orjson
from websockets.sync.server import serve

DEVICE, GRIP = "049D", "61548"
HAND = (0.0, 0.0, 5.0)  # N
MASS, DAMPING = 0.2, 2.0
START = (0.01, -0.12, -0.004)
STATUS = {"calibrated": True, "in_use": False, "power_supply": True, "ready": True, "started": True}


def xyz(values):
    return dict(zip("xyz", values))


class Handle:
    """A damped mass in each direction, moved exactly under held forces; it knows what its port really absorbed.

    The hand waits until it is `awake`: the server wakes it with the first force command.
    """

    def __init__(self, hand=HAND):
        self.hand, self.position, self.velocity = list(hand), list(START), [0.0, 0.0, 0.0]
        self.force, self.absorbed, self.least = (0.0, 0.0, 0.0), 0.0, 0.0
        self.now, self.awake = time.monotonic(), False

    def move(self):
        now = time.monotonic()
        left, self.now = now - self.now if self.awake else 0.0, now
        while left > 0.0:
            step = min(left, 2e-4)
            left -= step
            self._step(step)

    def _step(self, step):
        fade = exp(-DAMPING / MASS * step)
        for i in range(3):
            final = (self.hand[i] + self.force[i]) / DAMPING
            moved = final * step + (self.velocity[i] - final) * (1.0 - fade) * MASS / DAMPING
            self.velocity[i] = final + (self.velocity[i] - final) * fade
            self.position[i] += moved
            self.absorbed -= self.force[i] * moved
        self.least = min(self.least, self.absorbed)


class Server:
    """`with Server() as server:` serves on a free port of this machine.

    fault    what is done instead of the reply to each message, as long as it is set: a function of the server, the
             connection and the right reply (bytes), which gives what to send, or None for nothing
    forces   every force that was received; `messages` every message, `replies` the number of states sent
    """

    def __init__(self, devices=(DEVICE,), grips=True, hand=HAND, events=True):
        self.devices, self.grips, self.status = list(devices), grips, dict(STATUS)
        self.handle = Handle(hand)
        self.messages, self.forces, self.replies, self.connections = [], [], 0, []
        self.buttons, self.fault, self.first = {"a": False, "b": False, "c": False}, None, None
        self.lock, self.extra, self.events_wanted = threading.Lock(), {}, events
        self.listeners, self.listened = [], threading.Event()

    def __enter__(self):
        self.servers = []
        self.port = self._serve(self._talk)
        self.events_port = self._serve(self._tell) if self.events_wanted else unused_port()
        return self

    def __exit__(self, *_):
        self.die()

    def _serve(self, handler):
        server = serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None, close_timeout=0.2)
        self.servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.socket.getsockname()[1]

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    def die(self):
        """Gone, as if the power went: no farewell."""
        for server in self.servers:
            with contextlib.suppress(OSError):
                server.shutdown()
        self.cut()

    def cut(self):
        """All connections end, in the middle of whatever they did."""
        for connection in [*self.connections, *self.listeners]:
            with contextlib.suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)
        self.connections.clear()

    # -- what is said -------------------------------------------------------------------------------------------------

    def state(self, full=False):
        """A state of all devices, as the service writes it."""
        handle = self.handle
        entry = {
            "state": {
                "cursor_position": xyz(handle.position),
                "cursor_velocity": xyz(handle.velocity),
                "current_cursor_force": xyz(handle.force),
                "control_mode": "idle",
                **self.extra,
            },
            "status": self.status,
        }
        config = {"config": {"type": "inverse3", "handedness": "right", "preset": "defaults"}} if full else {}
        message = {"inverse3": [{"device_id": key, **config, **entry} for key in self.devices]}
        if full:
            message["session_id"] = 7
        if self.grips:
            turned = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}
            state = {"orientation": turned, "buttons": self.buttons, "battery_level": 0.9, "hall": 0}
            message["wireless_verse_grip"] = [{"device_id": GRIP, **config, "state": state}]
        return orjson.dumps(message)

    def _talk(self, connection):
        self.connections.append(connection)
        with contextlib.suppress(Exception):
            with self.lock:
                self.handle.move()
                first = self.state(full=True) if self.first is None else self.first
            connection.send(first, text=True)
            for raw in connection:
                reply = self._reply(raw)
                fault = self.fault
                if fault is not None:
                    reply = fault(self, connection, reply)
                if reply is not None:
                    self.replies += 1
                    connection.send(reply, text=True)
        with self.lock:  # the client has gone: no force any more
            self.handle.move()
            self.handle.force = (0.0, 0.0, 0.0)

    def _reply(self, raw):
        """The state at the instant at which the force of the message comes in, before it acts."""
        message = json.loads(raw)
        with self.lock:
            self.messages.append(message)
            self.handle.move()
            reply = self.state()
            for entry in message.get("inverse3", ()):
                told = entry["commands"].get("set_cursor_force")
                told = None if told is None else told.get("vector", told.get("values"))
                force = (0.0, 0.0, 0.0) if told is None else tuple(float(told[axis]) for axis in "xyz")
                if told is not None:
                    self.forces.append(force)
                    self.handle.awake = True
                if entry["device_id"] == DEVICE:
                    self.handle.force = force
        return reply

    # -- the event channel --------------------------------------------------------------------------------------------

    def _tell(self, connection):
        self.listeners.append(connection)
        self.listened.set()
        with contextlib.suppress(Exception):
            for _ in connection:
                pass

    def event(self, name, level="warning", message="", **data):
        """Tell all who listen."""
        content = {"name": name, "category": "device", "level": level, "data": data, "message": message}
        self.raw_event(orjson.dumps(content))

    def raw_event(self, raw):
        assert self.listened.wait(10.0)
        for connection in self.listeners:
            connection.send(raw, text=True)


def unused_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


# -- faults ------------------------------------------------------------------------------------------------------------


def silent(server, connection, reply):
    return None


def late(seconds):
    def fault(server, connection, reply):
        time.sleep(seconds)
        return reply

    return fault


def says(raw):
    return lambda server, connection, reply: raw


def twice(server, connection, reply):
    connection.send(reply, text=True)
    return reply


def binary(server, connection, reply):
    server.replies += 1
    connection.send(reply, text=False)


def drops(server, connection, reply):
    connection.socket.shutdown(socket.SHUT_RDWR)


def leaves(server, connection, reply):
    connection.close(1001, "going away")


def halved(server, connection, reply):
    """A frame that announces more than it brings, and then nothing more."""
    connection.socket.sendall(bytes([0x81, 126, len(reply) >> 8, len(reply) & 255]) + reply[: len(reply) // 2])
    connection.socket.shutdown(socket.SHUT_RDWR)


def stuck(server, connection, reply):
    """The same, and the connection stays."""
    connection.socket.sendall(bytes([0x81, 126, len(reply) >> 8, len(reply) & 255]) + reply[: len(reply) // 2])


def fragments(server, connection, reply):
    server.replies += 1
    connection.send([reply[:20].decode(), reply[20:].decode()])


def with_position(position):
    """The right reply, but for the position."""

    def fault(server, connection, reply):
        message = json.loads(reply)
        message["inverse3"][0]["state"]["cursor_position"] = position
        return json.dumps(message).encode()

    return fault


NOT_A_NUMBER = with_position({"x": nan, "y": 0.0, "z": 0.0})


if __name__ == "__main__":
    with Server(events=False) as alone:
        print(alone.port, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
