"""One tick of a whole haptic network: device, wall and the clamp between them, ledger included."""

from __future__ import annotations

import numpy as np

import passivo as pv
from bench.measure import Row, fastest
from passivo.network.compiled import CompiledNetwork, compile_network

TICKS = 200_000
REPEATS = 5
NEVER = 1e18


def wall(through: pv.Direct | pv.LedgerClamp, wide: bool = False) -> pv.Network:
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.15, b=2.0), pv.ExactHold(port="true"), step=1e-3)
    law = net.add("wall", pv.library.wall(k=20e3), step=1e-3)
    net.connect(device["handle"], law["end"], through, "touch")
    net.observe(device["q"], law["depth"])
    return net


def rates() -> pv.Network:
    net = pv.Network()
    spring = net.add("spring", pv.library.spring(k=400.0), pv.EnergyConsistent(), step=1e-3)
    mass = net.add("mass", pv.library.mass(m=0.2), pv.EnergyConsistent(), step=11e-3)
    net.connect(spring["end"], mass["force"], pv.PassiveSampleHold(), "link")
    return net


def ticks(network: CompiledNetwork, inputs: float) -> float:
    """Seconds per tick; nothing is recorded, everything is booked."""
    memory, module = network.memory, network.module
    table = np.full(8, inputs)
    for part in network.parts.values():
        memory[part.module.WAIT] = NEVER
    for link in network.links.values():
        memory[link.number("LINK_WAIT")] = NEVER
    memory[module.TOTAL_WAIT] = NEVER
    start, out = memory.copy(), np.zeros(1)

    def go() -> None:
        memory[:] = start
        network.run(TICKS, table, out)

    go()
    return fastest(go, repeats=REPEATS)[0] / TICKS


def measure() -> list[Row]:
    clamped = ticks(compile_network(wall(pv.LedgerClamp(encoder=1e-6)), {"device.q": -1e-3}), 5.0)
    plain = ticks(compile_network(wall(pv.Direct()), {"device.q": -1e-3}), 0.5)
    multi = ticks(compile_network(rates(), {"spring.q": 0.2}), 0.0)
    return [
        Row("device + wall + clamp, one tick with ledger", clamped, target=1e-6),
        Row("device + wall, held directly", plain),
        Row("spring at 1 ms and mass at 11 ms through PassiveSampleHold, one tick of 1 ms", multi),
    ]
