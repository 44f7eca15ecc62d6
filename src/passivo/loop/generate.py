"""What a loop adds to the module of a network: for each device a piece, and the texts that call all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passivo.device import driver
from passivo.device.device import Device
from passivo.device.driver import Driver, read_size, sources
from passivo.device.state import Flags
from passivo.errors import InputError
from passivo.loop import kernels, ring
from passivo.network import clamp, guard
from passivo.network.generate import Live, placed
from passivo.network.network import Connection, Network
from passivo.network.schedule import Plan, starts

if TYPE_CHECKING:
    from passivo.kernel.module import Piece

HEADER = """
from passivo.kernel.atomics import load_acquire, store_release
from passivo.kernel.clock import monotonic, wait_until
"""
LEADING = ("tick", "time", "elapsed", "lateness")  # of a row
FAULTY = Flags.OVERHEATED | Flags.FORCES_OFF | Flags.ERROR
SINGLES = (
    "LAST_SEQUENCE",
    "LAST_TIME",
    "REFUSED_OLD",
    "REFUSED_TIME",
    "REFUSED_VALUE",
    "REFUSED_PLACE",
    "LAST_HOST",
    "DEAD_MAN",
    "STOP_ALARM",
    "BOX",
)
GUARDED = ("SAFETY", "GONE", "ALARM", "MEASURED", "ELAPSED", "CLAMP", "OWED", "HELD", "MODE", "REASON", "WANTED")


@dataclass(frozen=True)
class Seat:
    """A device in a network: its part, its connection, and the prefix of its names in the module."""

    device: Device
    part: str
    connection: Connection
    prefix: str
    driver: Driver

    @property
    def axes(self) -> int:
        return self.device.info.degrees_of_freedom

    @property
    def width(self) -> int:
        return len(self.device.axes)


def seats(net: Network) -> list[Seat]:
    """All devices of a network, each with the one connection that guards it."""
    found = []
    for key, member in net.members.items():
        if member.device is None:
            continue
        links = [c for c in net.connections if c.effort.member is member]
        if not links:
            raise InputError(
                f"the device {key!r} is connected to nothing: net.connect({key}['handle'], part['port'], "
                "through=pv.LedgerClamp())"
            )
        found.append(Seat(member.device, key, links[0], f"d{len(found)}_", member.device.driver_piece()))
    return found


def pacing(places: Sequence[Seat]) -> Seat | None:
    """The device whose readings are the ticks. One that is driven from Python waits for its next state itself: beside
    a clock of the loop's own, readings would lie for up to a period before they are answered.
    """
    boxed = [seat for seat in places if seat.driver.boxed]
    owning = [seat for seat in boxed if seat.device.info.owns_clock]
    if len(owning) > 1:
        raise InputError(
            f"{' and '.join(seat.part for seat in owning)} both own the clock; only one device of a loop may"
        )
    return next(iter(owning or boxed), None)


def columns(net: Network, places: Sequence[Seat], rows: Sequence[str]) -> dict[str, tuple[int, str]]:
    """What a row holds: name -> width and unit. The first are what a tick was given, the others what came of it."""
    result: dict[str, tuple[int, str]] = {name: (1, "s" if name != "tick" else "") for name in LEADING}
    for seat in places:
        n, name = seat.axes, seat.part
        single = {"device_time": "s", "host_time": "s", "sequence": "", "flags": "", "buttons": "", "gripper": "m"}
        result |= {f"{name}.{what}": (1, unit) for what, unit in single.items()}
        result |= {f"{name}.orientation": (4, ""), f"{name}.position": (n, "m"), f"{name}.velocity": (n, "m/s")}
        result |= {f"{name}.stop": (1, "")}
    for seat in places:
        w, name = seat.width, seat.part
        result |= {f"{name}.wanted": (w, "N"), f"{name}.force": (w, "N")}
        result |= {f"{name}.{what}": (1, "") for what in ("mode", "reason", "missing", "limited")}
    names = ("stored", "work", "lost", "edited", "created", "booked", "faults")
    for row in rows:
        result |= {f"ledger.{row}.{what}": (1, "J" if what != "faults" else "") for what in names}
    return result


def live_of(net: Network, places: Sequence[Seat]) -> Live:
    """What the loop adds to the module of a network."""
    plan = Plan.of(net)
    shape = [
        [seat.part, seat.connection.name, seat.device.indices, seat.axes, seat.device.info.owns_clock, seat.driver.key]
        for seat in places
    ]
    texts = _texts(net, plan, places)
    key = ["loop", shape, HEADER, sources(kernels, driver, ring), texts]
    entries = [*kernels.ENTRIES, kernels.relive, _arrange(places)]
    return Live(
        HEADER, lambda layout, parts, links: _pieces(net, plan, places, texts, layout, parts, links), entries, key
    )


def _pieces(
    net: Network,
    plan: Plan,
    places: Sequence[Seat],
    texts: Sequence[str],
    layout: Any,
    parts: Mapping[str, Piece],
    links: Mapping[str, Piece],
) -> list[Piece]:
    from passivo.kernel.module import Piece, numbers_of

    pieces = [_device(seat, layout, parts[seat.part], links[seat.connection.name]) for seat in places]
    whole: dict[str, Any] = {**numbers_of(kernels, guard), **placed(layout, {"LOOP_FAILED": 1})}
    kept = len(LEADING) + sum(read_size(seat.axes) + 1 for seat in places)
    size = kept + sum(2 * seat.width + 4 for seat in places)
    whole.update(ROW_ELAPSED=2, ROW_KEPT=kept, ROW_LEDGER=size)
    ledger = sum(p.numbers["ACCOUNTS_COUNT"] for p in parts.values()) + sum(
        p.numbers["LINK_ROWS"] for p in links.values()
    )
    columns = (ledger + 1) * 7
    whole.update(ROW_WIDTH=size + columns, LEDGER_COUNT=columns)
    return [*pieces, Piece(whole, texts, (ring.push, *kernels.KERNELS))]


def _device(seat: Seat, layout: Any, handle: Piece, link: Piece) -> Piece:
    """The piece of one device: its driver, and what the loop does with its readings."""
    from passivo.kernel.module import Piece, numbers_of

    common = placed(layout, {"READ": read_size(seat.axes), "SAY": seat.axes, **dict.fromkeys(SINGLES, 1)})
    own = seat.driver.piece(layout, common)
    numbers: dict[str, Any] = {
        **numbers_of(clamp, guard, driver, kernels),
        **own.numbers,
        **common,
        **{f"GUARD_{name}": link.numbers[name] for name in GUARDED},
        "TOLD": handle.numbers["INPUT"] + handle.numbers["WIDTH"],
        "HANDLE_STATE": handle.numbers["STATE"],
        "HAS_WATCHDOG": link.numbers["WATCHDOG"],
        "CHOSEN": seat.device.indices,
        "CHOSEN_COUNT": seat.width,
        "AXES_COUNT": seat.axes,
        "FLAG_UNPLUGGED": int(Flags.UNPLUGGED),
        "FLAG_NO_HAND": int(Flags.NO_HAND),
        "FLAGS_FAULTY": int(FAULTY),
    }
    return Piece(numbers, own.leaves, (*own.kernels, *kernels.DEVICE_KERNELS)).prefixed(seat.prefix)


def _texts(net: Network, plan: Plan, places: Sequence[Seat]) -> list[str]:
    """Everything that is done for each device in turn."""
    greet, listen, speak, hush = ["def greet(m, box, tape, now):"], [], [], ["def hush(m, box, now):"]
    place, reckon = ["def place_all(m):", "    good = True"], ["def reckon_all(m, elapsed):"]
    alarm, latched = ["def alarm_all(m, reason):"], ["def all_latched(m):"]
    retreat, recall = ["def retreat(m, elapsed):"], ["def recall(m, rows, i):"]
    note = ["def note(m, book, row):", "    row[0] = book[B_TICKS]", "    row[1] = book[B_NOW]"]
    note += ["    row[2] = book[B_ELAPSED]", "    row[3] = book[B_LATENESS]"]
    at, result = len(LEADING), sum(read_size(seat.axes) + 1 for seat in places) + len(LEADING)
    for seat in places:
        d, p, j = seat.prefix, plan.parts[seat.part], plan.links[seat.connection.name]
        size = read_size(seat.axes)
        due = f"    if m[{p}PHASE] + 1.0 >= m[{p}PHASE + 1]:"
        greet += [f"    {d}hear(m, box, tape, now)", f"    {d}accept(m)"]
        place += [f"    good = {d}place_handle(m) and good"]
        listen += [due, f"        now = {d}hear(m, box, tape, now)", f"        {d}accept(m)"]
        reckon += [due, f"        {d}reckon(m, m[{p}SPAN] + elapsed)"]
        speak += [f"    if {starts(p)}:", f"        {d}order(m)", f"        {d}say(m, box, now)"]
        alarm += [
            f"    m[{d}STOP_ALARM] = max(m[{d}STOP_ALARM], reason)",
            f"    m[{j}ALARM] = max(m[{j}ALARM], reason)",
        ]
        latched += [
            f"    if m[{j}MODE] != {guard.LATCHED}.0 or m[{j}REASON] == {guard.NO_HAND}.0:",
            "        return False",
        ]
        hush += [f"    for k in range({d}AXES_COUNT):", f"        m[{d}SAY + k] = 0.0", f"    {d}say(m, box, now)"]
        retreat += [
            f"    m[{p}DT] = elapsed",
            f"    m[{j}LINK_PERIOD] = elapsed",
            f"    {p}tick(m, elapsed)",
            f"    {p}share(m)",
            f"    {j}settle(m)",
            f"    {j}exchange(m)",
            f"    {j}opened(m)",
        ]
        note += [f"    for k in range({size}):", f"        row[{at} + k] = m[{d}READ + k]"]
        note += [f"    row[{at + size}] = m[{d}STOP_ALARM]"]
        recall += [
            f"    m[{d}STOP_ALARM] = rows[i, {at + size}]",
            f"    m[{j}ALARM] = max(m[{j}ALARM], m[{d}STOP_ALARM])",
        ]
        recall += [f"    for k in range({size}):", f"        m[{d}READ + k] = rows[i, {at} + k]"]
        recall += [f"    if i == 0 or m[{p}PHASE] + 1.0 >= m[{p}PHASE + 1]:", f"        {d}accept(m)"]
        note += [f"    for k in range({seat.width}):", f"        row[{result} + k] = -m[{d}GUARD_WANTED + k]"]
        note += [f"        row[{result + seat.width} + k] = -m[{d}GUARD_HELD + k]"]
        last = result + 2 * seat.width
        for i, what in enumerate((f"{d}GUARD_MODE", f"{d}GUARD_REASON", f"{d}GUARD_GONE", f"{j}LIMITED")):
            note += [f"    row[{last + i}] = m[{what}]"]
        at, result = at + size + 1, last + 4
    note += ["    total_report(m)", "    for k in range(LEDGER_COUNT):"]
    note += ["        row[ROW_LEDGER + k] = m[TOTAL_REPORT + 1 + k]"]
    listen = ["def listen(m, box, tape, now):", *listen, "    return now"]
    speak = ["def speak(m, box, now):", *speak]
    bodies = [greet, [*place, "    return good"], listen, reckon, speak, alarm, [*latched, "    return True"]]
    bodies += [hush, retreat, recall, note, _await(places), _made(places)]
    return ["\n".join(lines) for lines in bodies]


def _await(places: Sequence[Seat]) -> list[str]:
    """`await_tick`: until the deadline; or where a device tells the time, until it has a reading."""
    seat, head = pacing(places), ["def await_tick(m, box, book, deadline, spec):"]
    if seat is None:
        return [*head, "    return wait_until(deadline, book[B_SPIN], spec)"]
    return [*head, f"    return {seat.prefix}await_reading(m, box, book[B_PATIENCE], deadline, spec)"]


def _made(places: Sequence[Seat]) -> list[str]:
    """`made`: the time of a tick; where a device tells the time, that of its reading, not of when it was noticed."""
    seat, head = pacing(places), ["def made(m, last, now):"]
    if seat is None:
        return [*head, "    return now"]
    when = f"m[{seat.prefix}READ + {driver.R_HOST}]"
    return [*head, f"    return {when} if last < {when} and {when} <= now else now"]


def _arrange(places: Sequence[Seat]) -> str:
    """`arrange`: called once, after the memory was set up."""
    return "\n".join(["def arrange_all(m):", *(f"    {seat.prefix}arrange(m)" for seat in places)])
