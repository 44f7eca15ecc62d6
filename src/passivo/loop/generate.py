"""What a loop adds to the module of a network: for each device a piece, and the texts that call all of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Any

from passivo.device import driver, state
from passivo.device.device import Device
from passivo.device.driver import Driver, read_size, sources
from passivo.device.state import Flags
from passivo.errors import InputError
from passivo.loop import kernels
from passivo.network import clamp, guard
from passivo.network.generate import Live, placed
from passivo.network.network import Connection, Network
from passivo.network.schedule import Plan, clocks, starts
from passivo.record import ring
from passivo.record.columns import Columns
from passivo.run.run import COLUMNS, UNITS

if TYPE_CHECKING:
    from passivo.kernel.module import Piece

HEADER = """
from passivo.kernel.atomics import load_acquire, store_release
from passivo.kernel.clock import monotonic, wait_until
"""
LEADING = ("tick", "time", "elapsed", "lateness", "missed", "postponed")  # of a row
RESULTS = ("mode", "reason", "missing", "dropped", "limited")  # of a row, for each device
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
    "AT_WORST",
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
        links = [c for c in net.connections if member in (c.effort.member, c.flow.member)]
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
    owning = [seat for seat in places if seat.device.info.owns_clock]
    if len(owning) > 1:
        raise InputError(
            f"{' and '.join(seat.part for seat in owning)} both own the clock; only one device of a loop may"
        )
    return next(iter(owning or boxed), None)


def columns(places: Sequence[Seat], rows: Sequence[str]) -> Columns:
    """What a row holds: what a tick was given, then what came of it."""
    found = [(name, 1, "1" if name in ("tick", "missed", "postponed") else "s") for name in LEADING]
    for seat in places:
        n, name = seat.axes, seat.part
        single = {"device_time": "s", "host_time": "s", "sequence": "1", "flags": "1", "buttons": "1", "gripper": "m"}
        found += [(f"{name}.{what}", 1, unit) for what, unit in single.items()]
        found += [(f"{name}.orientation", 4, "1"), (f"{name}.position", n, "m"), (f"{name}.velocity", n, "m/s")]
        found += [(f"{name}.stop", 1, "1")]
    for seat in places:
        w, name = seat.width, seat.part
        found += [(f"{name}.wanted", w, "N"), (f"{name}.force", w, "N")]
        found += [(f"{name}.{what}", 1, "1") for what in RESULTS]
    for row in rows:
        found += [(f"ledger.{row}.{what}", 1, UNITS[what]) for what in COLUMNS]
    return Columns(*zip(*found))


def live_of(net: Network, places: Sequence[Seat]) -> Live:
    """What the loop adds to the module of a network."""
    plan = Plan.of(net)
    shape = [
        [seat.part, seat.connection.name, seat.device.indices, seat.axes, seat.device.info.owns_clock, seat.driver.key]
        for seat in places
    ]
    texts = _texts(net, plan, places)
    key = ["loop", shape, HEADER, sources(kernels, driver, ring, state, sys.modules[__name__]), texts]
    entries = [*kernels.ENTRIES, _arrange(places)]
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
    whole: dict[str, Any] = {**numbers_of(kernels, guard)}
    kept = len(LEADING) + sum(read_size(seat.axes) + 1 for seat in places)
    size = kept + sum(2 * seat.width + len(RESULTS) for seat in places)
    whole.update(ROW_ELAPSED=LEADING.index("elapsed"), ROW_LATE=LEADING.index("postponed"))
    whole.update(LEADING_COUNT=len(LEADING), ROW_LEDGER=size)
    ledger = sum(p.numbers["ACCOUNTS_COUNT"] for p in parts.values()) + sum(
        p.numbers["LINK_ROWS"] for p in links.values()
    )
    count = (ledger + 1) * len(COLUMNS)
    whole.update(ROW_WIDTH=size + count, LEDGER_COUNT=count)
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
        "FLAG_OVER": int(Flags.OVER),
        "FLAGS_FAULTY": int(FAULTY),
    }
    return Piece(numbers, own.leaves, (*own.kernels, *kernels.DEVICE_KERNELS)).prefixed(seat.prefix)


def _texts(net: Network, plan: Plan, places: Sequence[Seat]) -> list[str]:
    """Everything that is done for each device in turn."""
    greet, listen, speak, hush = ["def greet(m, box, tape, now):"], [], [], ["def hush(m, box, now):"]
    place, reckon = ["def place_all(m):", "    good = True"], ["def reckon_all(m, elapsed):"]
    alarm, latched = ["def alarm_all(m, reason):"], ["def all_latched(m):"]
    recall = ["def recall(m, rows, i):"]
    note = ["def note(m, book, row):", "    row[0] = book[B_TICKS]", "    row[1] = book[B_NOW]"]
    note += ["    row[2] = book[B_ELAPSED]", "    row[3] = book[B_LATENESS]", "    row[4] = book[B_MISSED]"]
    note += ["    row[5] = book[B_LATE]"]
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
        told = (f"{d}GUARD_MODE", f"{d}GUARD_REASON", f"{d}GUARD_GONE", f"{d}AT_WORST", f"{j}LIMITED")
        for i, what in enumerate(told):
            note += [f"    row[{last + i}] = m[{what}]"]
        at, result = at + size + 1, last + len(RESULTS)
    note += ["    total_report(m)", "    for k in range(LEDGER_COUNT):"]
    note += ["        row[ROW_LEDGER + k] = m[TOTAL_REPORT + 1 + k]"]
    listen = ["def listen(m, box, tape, now):", *listen, "    return now"]
    speak = ["def speak(m, box, now):", *speak]
    bodies = [greet, [*place, "    return good"], listen, reckon, speak, alarm, [*latched, "    return True"]]
    bodies += [hush, recall, note, _paced(places), _await(places), _made(places), *_beside(net, plan)]
    return ["\n".join(lines) for lines in bodies]


def may_step_beside(net: Network) -> list[str]:
    """The parts that may step beside the loop: slower than all devices, and stepping at the end of their period."""
    periods, late = net.periods, Plan.of(net).late
    slowest = max((periods[key] for key, member in net.members.items() if member.device is not None), default=1)
    return [key for key in late if periods[key] > slowest and not net.members[key].model.couplings]


def _beside(net: Network, plan: Plan) -> list[list[str]]:
    """What is done for each part that may step beside the loop. `orders`: whether it is over; ordered, done of each."""
    postpone = ["def postpone_all(m, period):", "    ticks = 0.0"]
    unready = ["def unready(m, orders):", "    late = 0.0"]
    lend, order = ["def lend_all(m, w):", "    return"], ["def order_all(m, orders):", "    return"]
    regain, toil = ["def regain_all(m, w):", "    return"], ["def toil_all(m, w):", "    return"]
    one = ["def toil_part(w, i):", "    return"]
    keys = may_step_beside(net)
    for lines in (lend, order, regain, toil, one) if keys else ():
        lines.pop()
    for i, key in enumerate(keys):
        p = plan.parts[key]
        given, done = 2 * i + 1, 2 * i + 2
        due, begins = f"m[{p}PHASE] + 1.0 >= m[{p}PHASE + 1]", f"m[{p}PHASE] == 0.0"
        here = f"m[{p}BESIDE] == 1.0"
        smaller = [period for period in net.periods.values() if period < net.periods[key]]
        postpone += [f"    if m[{p}PHASE + 1] == period:", f"        ticks = {float(lcm(*smaller))!r}"]
        unready += [
            f"    if {here} and {due} and load_acquire(orders, {done}) < load_acquire(orders, {given}):",
            f"        late = m[{p}PHASE + 1] if late == 0.0 else min(late, m[{p}PHASE + 1])",
        ]
        lend += [f"    if {here} and {begins}:", f"        {p}lend(m, w)"]
        order += [f"    if {here} and {begins}:"]
        order += [f"        store_release(orders, {given}, load_acquire(orders, {given}) + 1.0)"]
        regain += [f"    if {here} and {due}:", f"        {p}regain(m, w)"]
        toil += [f"    if {here} and {begins}:", f"        {p}toil(w)"]
        one += [f"    if i == {i}:", f"        {p}toil(w)"]
    postpone += [f"    postpone(m, {prefix}PHASE, period, ticks)" for prefix in clocks(plan)]
    return [postpone, [*unready, "    return late"], lend, order, regain, toil, one]


def _await(places: Sequence[Seat]) -> list[str]:
    """`await_tick`: until the deadline; or where a device tells the time, until it has a reading."""
    seat, head = pacing(places), ["def await_tick(m, box, book, deadline, spec):"]
    wait = "    return wait_until(deadline, book[B_SPIN], spec)"
    if seat is None:
        return [*head, wait]
    ask = f"        return {seat.prefix}await_reading(m, box, book[B_PATIENCE], deadline, spec)"
    return [*head, "    if paced(m):", ask, wait]


def _paced(places: Sequence[Seat]) -> list[str]:
    """`paced`: whether a device tells the time; one that is off does not."""
    seat, head = pacing(places), ["def paced(m):"]
    if seat is None:
        return [*head, "    return False"]
    return [*head, f"    return m[{seat.prefix}GUARD_MODE] != {guard.LATCHED}.0"]


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
