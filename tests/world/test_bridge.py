"""The scene in which MuJoCo finds contacts: one for each memory."""

import threading

import numpy as np
import pytest

import passivo as pv
from passivo.network.compiled import compile_network
from passivo.sweep.sweep import Sweep
from passivo.world import table as T


def pile(count=3, **options):
    world = pv.World(**options)
    world.add_plane(friction=0.5)
    for i in range(count):
        world.add_body(f"b{i}", pv.Box(0.1, 0.1, 0.1), 1.0, position=(0, 0, 0.06 + 0.12 * i), friction=0.5)
    return world


def compiled(world, **options):
    return pv.compile(world, pv.PassiveMidpoint(), 1e-3, **{"engine": "python", **options})


def addresses(part):
    at = int(part.module.TABLE[T.AT_BRIDGE])
    return part.memory[at + T.B_MODEL], part.memory[at + T.B_DATA], part.memory[at + T.B_BUFFER]


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_copies_step_beside_each_other(engine):
    """With one scene for both the process died, or bodies of one were seen where those of the other are."""
    part, steps = compiled(pile(), engine=engine), 20 if engine == "python" else 3000
    for _ in range(5):
        part.step()
    twins = [part, part.copy(), part.copy()]
    for of_two in zip(*(addresses(twin) for twin in twins)):
        assert len(set(of_two)) == 3

    def go(twin):
        for _ in range(steps):
            twin.step()

    threads = [threading.Thread(target=go, args=(twin,)) for twin in twins[:2]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    go(twins[2])
    assert all(np.array_equal(twin.state, twins[2].state) for twin in twins[:2])


def test_networks_of_one_description_have_scenes_of_their_own():
    net = pv.Network()
    for name in ("left", "right"):
        net.add(name, pile(1), pv.PassiveMidpoint(), step=1e-3)
    network = compile_network(net, engine="python")
    parts = [
        *network.parts.values(),
        *network.copy().parts.values(),
        *compile_network(net, engine="python").parts.values(),
    ]
    assert len({addresses(part) for part in parts}) == 6


def test_runs_of_a_sweep_with_contacts_go_beside_each_other():
    over = {"b0.mass": [1.0, 2.0, 3.0], "start.b0.velocity.x": [0.1, 0.2]}
    keep = ["b0.position.x", "b0.position.z"]
    whole = Sweep.of(pile(1), pv.PassiveMidpoint(), 1e-3, 0.1, over, keep, None, None, "numba")
    beside, alone = (whole.go(threads, None) for threads in (3, 1))
    assert not any(one.alone for one in whole.prepared.values()) and beside.equals(alone)
