"""Seeded random drops onto a plane (spec 4.5): nothing is created, nothing falls through, what must rests; exit 1 else.

python -m verify.drops --count 200
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import passivo as pv
from passivo.errors import StepError

BODIES = 3  # in every drop, so that all share one compiled module


def drop(seed):
    """Boxes, capsules or a stack that falls; friction and restitution from 0 to 1, steps from 0.5 to 5 ms."""
    rng = np.random.default_rng(seed)
    friction, restitution = rng.uniform(0, 1, 2)
    step = float(10 ** rng.uniform(np.log10(5e-4), np.log10(5e-3)))
    world = pv.World()
    world.add_plane(friction=friction)
    for i in range(BODIES):
        turn = rng.standard_normal(4)
        pose = {
            "position": (*rng.uniform(-0.2, 0.2, 2), 0.35 + 0.5 * i),
            "orientation": tuple(turn / np.linalg.norm(turn)),
            "velocity": rng.uniform(-1, 1, 3),
            "angular_velocity": rng.uniform(-5, 5, 3),
        }
        shape = pv.Box(*rng.uniform(0.1, 0.3, 3))
        if seed % 3 == 1:
            shape = pv.Capsule(rng.uniform(0.04, 0.1), rng.uniform(0.1, 0.3))
        elif seed % 3 == 2:
            shape, pose = pv.Box(0.2, 0.2, 0.2), {"position": (0, 0, 0.11 + 0.21 * i)}
        world.add_body(f"b{i}", shape, float(rng.uniform(0.2, 5)), friction=friction, restitution=restitution, **pose)
    return world, step, friction, restitution


def faults_of(seed, until=10.0):
    """What went wrong in a drop, in words."""
    world, step, friction, restitution = drop(seed)
    try:
        run = pv.simulate(world, pv.PassiveMidpoint(), step=step, until=until, record_every=5)
    except StepError as error:
        return [str(error)]
    start = float(run.ledger.stored.sel(part=["kinetic", "gravity"])[0].sum())
    created = float(run.ledger.created.sel(part="total").max()) / start
    kinetic = float(run.ledger.stored.sel(part="kinetic")[-1]) / start
    lowest = min(float(run[f"b{i}.position.z"].min()) for i in range(BODIES))
    touching, guarded = (int((run.contacts[name].values > 0).sum()) for name in ("number", "guard"))
    # a capsule may roll on for ever
    rests = restitution <= 0.5 and friction >= 0.3 and seed % 3 != 1
    found = {
        f"verdict {run.verdict}": run.verdict.kind != "exact",
        f"created {created:.2g} of the start": created > 1e-12,
        f"a body sank to {lowest:.3g} m": lowest < 0.03,
        f"the guard acted in {guarded} of {touching} steps": guarded >= 0.01 * max(1, touching),
        f"kinetic energy {kinetic:.2g} of the start after {until:g} s": rests and kinetic >= 1e-6,
    }
    return [f"drop {seed}: {what}" for what, wrong in found.items() if wrong]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verify.drops", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    faults = [fault for seed in range(options.count) for fault in faults_of(seed)]
    print("\n".join([*faults, f"{options.count} drops, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
