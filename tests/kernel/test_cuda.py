"""The cuda engine under Numba's simulator: one thread per trajectory, the same numbers as plain Python."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import json, sys
import numpy as np
from numba import cuda
import passivo as pv
from passivo.method.generate import generate

def compare(model, method, h, steps, starts, inputs, laws):
    module = generate(model, method, laws, "cuda")
    parts = [pv.compile(model, method, h, start=start, engine="python", laws=laws) for start in starts]
    for part, u in zip(parts, inputs):
        part.step(u)  # a first step on the host: accounts and inputs are filled
    memory = np.array([part.memory for part in parts])
    device = cuda.to_device(memory)
    threads = 2
    module.launch[-(-len(parts) // threads), threads](device, h, steps)
    memory = device.copy_to_host()
    gap = 0.0
    result = []
    for part, row in zip(parts, memory):
        status = 0
        try:
            for _ in range(steps):
                part.step()
        except pv.StepError:
            status = 1
        same = [slice(module.STATE, module.STATE + module.STATES), slice(module.TIME, module.TIME + 3),
                slice(module.ACCOUNTS, module.ACCOUNTS + module.ACCOUNTS_COUNT * module.ACCOUNT_SIZE)]
        mine, theirs = (np.concatenate([m[s] for s in same]) for m in (part.memory, row))
        change = np.abs(mine - theirs) / (1e-300 + np.abs(mine))
        gap = max(gap, float(np.max(change, initial=0.0, where=mine != theirs)))
        result.append([row[module.STATUS], status, part.memory[module.COUNT], row[module.COUNT]])
    return {"gap": gap, "ends": result}

pendulum, duffing, microphone = pv.library.pendulum(b=0.1), pv.library.duffing(b=0.1), pv.library.microphone()
starts = [{"q": 0.3 * i, "p": 0.5} for i in range(1, 6)]
inputs = [[0.1 * i] for i in range(5)]
near = [{"q": 2.0, "p": 1.0, "Q": 1.5}, {"q": 0.3, "p": -8.0, "Q": 1.5}]
print(json.dumps({
    "AVF": compare(pendulum, pv.AVF(), 0.1, 20, starts, inputs, {}),
    "RK4": compare(duffing, pv.RK4(), 0.05, 20, starts, inputs, {}),
    "Relation": compare(pendulum, pv.ImplicitMidpoint(), 0.1, 10, starts, inputs,
                        {"torque": pv.Relation(lambda y, u: y + 8 * u**3 + u)}),
    "averages": compare(microphone, pv.AVF(), 0.02, 40, near, [[0.1], [0.0]], {}),
    "ClosedLoopAVF": compare(pendulum, pv.ClosedLoopAVF(), 0.1, 5, starts[:2], inputs[:2], {}),
}))
"""


@pytest.fixture(scope="module")
def results():
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["AVF", "RK4", "Relation", "averages", "ClosedLoopAVF"])
def test_trajectories_and_accounts_agree(results, name):
    """`math` and numpy may differ in the last bit of a function; nothing else does."""
    assert results[name]["gap"] <= (0.0 if name == "RK4" else 1e-12)


@pytest.mark.parametrize("name", ["AVF", "RK4", "Relation", "ClosedLoopAVF"])
def test_all_threads_take_all_steps(results, name):
    assert all(end[:2] == [0.0, 0] and end[2] == end[3] for end in results[name]["ends"])


def test_a_trajectory_that_fails_stops_alone(results):
    """The second microphone leaves its domain: its thread reports it and keeps the last good state."""
    good, bad = results["averages"]["ends"]
    assert good[:2] == [0.0, 0] and good[2] == good[3] == 41
    assert bad[0] == 2.0 and bad[1] == 1 and bad[2] == bad[3] < 41
    assert np.isfinite(results["averages"]["gap"])
