"""`Haply`: the Inverse3 through Haply's Inverse service, a WebSocket on this or another machine.

    with pv.devices.Haply(axes="z") as device:
        ...

The service answers each message with exactly one state, so a force and the question for the next position are one
message, and there is one round trip to a tick. `_write` only lays the force ready; the next `_read` sends it. The
position in its reply was sampled when the force of the same message came in, just before it acts: every force is held
between the positions of two replies that follow each other. That is assumption A1 of the ledger clamp (spec 1.7).

The price is a lag: the force that answers a position goes out with the next message, one period later. `info.skew` says
so, and the clamp counts with it. The lag falls with the period, what the clamp must set aside for it with the square:
raise the rate as far as the service follows, info={"rate": 3000}. Where it does not follow, the loop's report counts
"held too long", and the promise of the clamp is off. The way through service and USB inside a round trip comes on top
and cannot be seen from here; where you know it, add it: info={"skew": ...}.

When the connection is lost, force zero is sent if that still goes. Haply documents that a command counts once and that
a device which gets none goes idle; after what time is not said, so `info.watchdog` is None.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from math import inf, isfinite, nan
from typing import Any, ClassVar, Literal, get_args

from passivo.device import haply_wire as wire
from passivo.device.device import Device
from passivo.device.state import DeviceInfo, DeviceState, Flags, Life, Status
from passivo.errors import DeviceError, InputError, nearest, quoted

ForceKey = Literal["vector", "values"]
PORT = 10001
EVENT_PORT = 10020
LARGEST = 1 << 20  # bytes of a message; real ones have some thousand
MOST_BAD = 20  # replies of no use in a row
MOST_DRAINED = 100  # messages nobody asked for between two ticks
FAREWELL = 0.2  # seconds for taking leave
BRIEF = 0.2  # seconds for each of the two steps of a probe
RATE = 1000.0

# Haply's service documents state none of these; they are assumed with care, and info= takes better ones.
FORCE = 10.0  # N, for a short time
MASS = 0.1  # kg felt at the cursor at least
ENCODER = 1e-5  # m
REACH = {"minverse": 0.04}  # m around the centre: what the tutorial "06. Combined" stays within; 0.1 for the others
CENTRE = (0.0, -0.12, 0.15)  # m: the rest position in the documented first message, preset "defaults"


class Haply(Device):
    """A Haply Inverse3, with its grip where there is one.

    host, port  of the service; or `url` as a whole, "ws://localhost:10001"
    device      id of the Inverse3, where several are plugged in
    grip        id of the grip, where several are there (default: the first)
    force_key   "vector" as since service 3.5, or "values" as before. Older services have no probe either: with
                "values" a force of zero asks for the state while forces are off
    timeout     seconds without a reply, after which the device is lost
    events      listen to the service's events: True, or the port. What they report becomes flags and part of `status`;
                where they cannot be heard, `status` says so

    `skipped` counts replies of no use (the last reading stands then), `unasked` messages that answered nothing. The
    service numbers nothing: `sequence` counts replies. Where a reply carries a timestamp, the same again is the same
    reading; without one a handle at rest and a frozen service look alike.
    """

    driver: ClassVar = "haply"

    def __init__(
        self,
        *,
        host: str = "localhost",
        port: int = PORT,
        url: str | None = None,
        device: str | None = None,
        grip: str | None = None,
        force_key: ForceKey = "vector",
        timeout: float = 0.5,
        events: bool | int = True,
        **options: Any,
    ):
        super().__init__(**options)
        if force_key not in get_args(ForceKey):
            raise InputError(
                f"force_key: there is no {quoted(force_key)}; {nearest(str(force_key), get_args(ForceKey))}"
            )
        if not isinstance(timeout, int | float) or not 0.0 < timeout < inf:
            raise InputError(f"timeout must be seconds > 0, not {quoted(timeout)}")
        self.url = f"ws://{host}:{_port('port', port)}" if url is None else url
        if not isinstance(self.url, str) or not self.url.startswith(("ws://", "wss://")):
            raise InputError(f"url is that of a WebSocket, as 'ws://localhost:{PORT}', not {quoted(self.url)}")
        self.events_url = ""
        if events is not False:
            place = self.url.split("://", 1)[1].split("/")[0]
            at = place.rsplit(":", 1)[0] if ":" in place.rsplit("]", 1)[-1] else place
            self.events_url = f"ws://{at}:{EVENT_PORT if events is True else _port('events', events)}"
        self.device, self.grip, self.force_key, self.timeout = device, grip, force_key, float(timeout)
        self._link: Any = None
        self._begin()

    def _begin(self) -> None:
        self._stack, self._events = ExitStack(), None
        self._force, self._on, self._touched = (0.0, 0.0, 0.0), False, False
        self._owed = self._bad = self._count = self.skipped = self.unasked = 0
        self._state: DeviceState | None = None
        self._stamp: Any = None

    # -- life ---------------------------------------------------------------------------------------------------------

    def _open(self) -> DeviceInfo:
        self._begin()
        connect, self._loads, self._dumps = libraries()
        try:
            self._link = self._stack.enter_context(_connection(connect, self.url, self.timeout))
            first = self._loads(self._link.recv(self.timeout, decode=False))
            return self._found(first, connect)
        except DeviceError:
            self._close()
            raise
        except TimeoutError:
            self._close()
            raise DeviceError(
                f"{self.url} did not answer within {self.timeout:g} s; start the Haply Inverse service, or say where "
                "it runs: host=, port="
            ) from None
        except Exception as error:
            self._close()
            raise DeviceError(
                f"no Haply Inverse service at {self.url} ({_words(error)}); start it, or say where it runs: "
                "host=, port="
            ) from error

    def _found(self, first: Any, connect: Callable[..., Any]) -> DeviceInfo:
        """The device out of the first message, which lists all of them."""
        try:
            listed, grips = wire.devices(first, "inverse3"), wire.grips(first)
        except wire.Garbled as error:
            raise DeviceError(
                f"{self.url} is no Haply Inverse service: its first message is of no use, {error}"
            ) from None
        if not listed:
            raise DeviceError(f"the service at {self.url} knows no Inverse3; plug it in, and look into Haply Hub")
        if self.device is None and len(listed) > 1:
            raise DeviceError(
                f"there are several Inverse3: {', '.join(listed)}; say which: device={next(iter(listed))!r}"
            )
        self._id = next(iter(listed)) if self.device is None else str(self.device)
        if self._id not in listed:
            raise DeviceError(f"there is no Inverse3 {self._id!r}; {nearest(self._id, listed)}")
        if self.grip is not None and self.grip not in grips:
            raise DeviceError(f"there is no grip {self.grip!r}; {nearest(str(self.grip), grips)}")
        self._grip = next(iter(grips), "") if self.grip is None else str(self.grip)
        grip = grips.get(self._grip, {})
        self._buttons = tuple(sorted(map(str, wire.pressed(grip)))) if grip else ()
        if self.events_url:
            self._events = Events(self.events_url, self._id, connect, self._loads)
            self._events.start()
        return self._described(wire.section(listed[self._id], "config"))

    def _described(self, config: Mapping[str, Any]) -> DeviceInfo:
        kind = str(config.get("type", "inverse3"))
        reach = REACH.get(kind, 0.1)
        usual = config.get("preset", "defaults") == "defaults"
        return DeviceInfo(
            model=f"Haply {kind.capitalize()}",
            driver=self.driver,
            axes=("x", "y", "z"),
            max_force=FORCE,
            mass=MASS,
            rate=RATE,
            workspace=tuple((c - reach, c + reach) for c in CENTRE) if usual else (),
            encoder=ENCODER,
            skew=1.0 / float(self.facts.get("rate", RATE)),
            buttons=len(self._buttons),
            has_orientation=bool(self._grip),
            serial=self._id,
        )

    def _close(self) -> None:
        self._link = None
        if self._events is not None:
            self._events.finish()
        with suppress(Exception):
            self._stack.close()

    def _enable(self, on: bool) -> None:
        self._on, self._force = on, (0.0, 0.0, 0.0)
        if on:
            self._touched = True
        elif self._touched and self._link is not None:  # at once, and without waiting for the reply
            try:
                self._link.send(self._dumps(wire.push(self._id, self._force, self.force_key)), text=True)
                self._owed += 1
            except Exception as error:
                raise DeviceError(self._lost(error)) from error

    @property
    def status(self) -> Status:
        plain = super().status
        told = "" if self._events is None or plain.life is Life.CLOSED else self._events.note
        return Status(plain.life, "; ".join(part for part in (plain.sentence, told) if part))

    # -- one tick -----------------------------------------------------------------------------------------------------

    def _write(self, force: tuple[float, ...]) -> None:
        if not all(map(isfinite, force)):
            self._force = (0.0, 0.0, 0.0)
            raise DeviceError(f"the force {force} holds what is no number; none is sent")
        self._force = force

    def _read(self) -> DeviceState:
        if self._on or self.force_key == "values":
            message = wire.push(self._id, self._force if self._on else (0.0, 0.0, 0.0), self.force_key)
        else:
            message = wire.ask(self._id)
        sent = time.monotonic()
        raw = self._exchange(self._dumps(message))
        now = (sent + time.monotonic()) / 2.0  # at most half a round trip from when it was sampled
        told = Flags.FINE if self._events is None else self._events.flags
        try:
            report = wire.report(self._parsed(raw), self._id, self._grip, self._buttons)
        except wire.Garbled as error:
            return self._again(error, now, told)
        if report.flags & Flags.UNPLUGGED:
            raise DeviceError(f"the service no longer lists the Inverse3 {self._id}: it was unplugged")
        self._bad = 0
        if self._state is None or report.stamp is None or report.stamp != self._stamp:
            self._count += 1
        self._stamp = report.stamp
        self._state = DeviceState(
            device_time=nan,
            host_time=now,
            sequence=self._count,
            position=report.position,
            velocity=report.velocity,
            orientation=report.orientation,
            buttons=report.buttons,
            applied=report.applied,
            flags=report.flags | told,
        )
        return self._state

    def _again(self, error: wire.Garbled, now: float, told: Flags) -> DeviceState:
        """A reply of no use: the last reading stands, under its old number."""
        self.skipped += 1
        self._bad += 1
        if self._state is None or self._bad >= MOST_BAD:
            count = "the reply" if self._bad == 1 else f"the last {self._bad} replies"
            raise DeviceError(f"{count} of the service at {self.url} could not be used: {error}") from None
        return replace(self._state, host_time=now, flags=self._state.flags | told)

    def _parsed(self, raw: bytes) -> Any:
        try:
            return self._loads(raw)
        except ValueError:
            raise wire.Garbled(f"it is no JSON: {quoted(bytes(raw[:40]))}") from None

    def _exchange(self, message: bytes) -> bytes:
        """Send one message and wait for its reply."""
        if self._link is None:
            raise DeviceError(f"{self.name} is not connected; close it and open it again")
        try:
            self._drain()
            self._link.send(message, text=True)
            self._owed += 1
            deadline = time.monotonic() + self.timeout
            while True:
                raw = self._link.recv(deadline - time.monotonic(), decode=False)
                self._owed -= 1
                if self._owed <= 0:
                    return raw
        except DeviceError:
            raise
        except TimeoutError:
            raise DeviceError(f"the service at {self.url} did not reply within {self.timeout:g} s") from None
        except Exception as error:
            raise DeviceError(self._lost(error)) from error

    def _drain(self) -> None:
        """Take what came meanwhile: replies to what was sent without waiting, and what nobody asked for."""
        for _ in range(MOST_DRAINED):
            try:
                self._link.recv(0.0, decode=False)
            except TimeoutError:
                return
            self.unasked += self._owed <= 0
            self._owed = max(self._owed - 1, 0)
        raise DeviceError(f"{self.url} sends without being asked; it is no Haply Inverse service")

    def _lost(self, error: Exception) -> str:
        return f"the connection to the Haply service at {self.url} was lost ({_words(error)})"

    # -- without a device ---------------------------------------------------------------------------------------------

    @classmethod
    def probe(cls, url: str = f"ws://localhost:{PORT}") -> tuple[bool, str]:
        """Whether a service answers, and which devices it knows."""
        try:
            connect, loads, _ = libraries()
            with _connection(connect, url, BRIEF) as link:
                listed = wire.devices(loads(link.recv(BRIEF, decode=False)), "inverse3")
        except DeviceError as error:
            return False, str(error)
        except Exception as error:
            return False, f"no Haply Inverse service at {url} ({_words(error)}); start it"
        if not listed:
            return False, f"the Haply service at {url} knows no Inverse3; plug it in"
        return True, f"Inverse3 {', '.join(listed)} at {url}"


class Events(threading.Thread):
    """Listens to what the service tells of its own accord, for as long as the device is open."""

    def __init__(self, url: str, device: str, connect: Callable[..., Any], loads: Callable[[bytes], Any]):
        super().__init__(name="passivo haply events", daemon=True)
        self.url, self.device, self.connect, self.loads = url, device, connect, loads
        self.flags, self.note = Flags.FINE, ""
        self.over, self.link = threading.Event(), None

    def run(self) -> None:
        try:
            with _connection(self.connect, self.url, 1.0) as link:
                self.link = link
                while not self.over.is_set():
                    with suppress(TimeoutError):
                        self.take(link.recv(0.5, decode=False))
        except Exception as error:
            if not self.over.is_set():
                self.note = f"its events cannot be heard at {self.url} ({_words(error)})"

    def take(self, raw: bytes) -> None:
        with suppress(ValueError):  # what is no event is none
            more, less, note = wire.news(self.loads(raw), self.device)
            self.flags = (self.flags | more) & ~less
            self.note = note or self.note

    def finish(self) -> None:
        self.over.set()
        if self.link is not None:
            with suppress(Exception):
                self.link.close()


def libraries() -> tuple[Callable[..., Any], Callable[[bytes], Any], Callable[[Any], bytes]]:
    """What the extra brings: how to connect, to read JSON and to write it."""
    try:
        client, orjson = import_module("websockets.sync.client"), import_module("orjson")
    except ImportError as error:
        missing = (error.name or "a library").split(".")[0]
        raise DeviceError(f"the Haply driver needs {missing}, which is not here: pip install passivo[haply]") from None
    return client.connect, orjson.loads, orjson.dumps


def _connection(connect: Callable[..., Any], url: str, timeout: float) -> Any:
    """A connection that neither compresses nor pings nor takes a proxy: each would only come late."""
    return connect(
        url,
        open_timeout=timeout,
        close_timeout=FAREWELL,
        ping_interval=None,
        compression=None,
        proxy=None,
        max_size=LARGEST,
    )


def _port(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 65536:
        raise InputError(f"{name} must be a port number from 1 to 65535, not {quoted(value)}")
    return value


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
