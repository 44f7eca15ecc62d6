"""Seeded random drops onto a plane (spec 4.5): nothing is created, nothing falls through, the impulses are what changes
the momentum of each body, what must rests; exit 1 else.

python -m verify.drops --count 200
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import passivo as pv
from passivo.errors import StepError
from passivo.world import table as T
from passivo.world.rotation import matrix_of

BODIES = 3  # in every drop, so that all share one compiled module
G = 9.81
KINDS = ("boxes", "capsules", "stack")
LEAST, MOST = 5e-4, 5e-3  # seconds of a step
CREATED = 1e-12  # of the energy at the start
RESTS = 1e-6  # of it, kinetic
LIES = 2e-4  # metres that the lowest point may be under the floor at the end; the centre of a body never is
ROUNDING = 1e-12  # of the sizes of momenta and impulses
GUARDED = 0.01  # of the steps with contact
SLIPS = 1e-5  # m/s of what rolls on


@dataclass
class Drop:
    """A world that falls, and how it is stepped: `step` is None where steps are random ones."""

    world: pv.World
    kind: str
    friction: float
    restitution: float
    step: float | None

    @property
    def rests(self) -> bool:
        """Whether friction and impacts must bring it to rest."""
        return self.restitution <= 0.5 and self.friction >= 0.3


@dataclass
class Fall:
    """What was measured; energies as shares of that at the start."""

    verdict: str = ""
    created: float = 0.0
    kinetic: float = 0.0
    deepest: float = 0.0
    lowest: float = np.inf  # place of a centre
    lies: float = 0.0  # under the floor at the end
    unbalanced: float = 0.0  # largest momentum, linear or angular, that no impulse explains, as a share
    touching: int = 0
    guarded: int = 0
    slip: float = 0.0  # at the end
    failed: str = ""


def drop(seed: int) -> Drop:
    """Boxes, capsules or a stack that falls; friction and restitution from 0 to 1, steps from 0.5 to 5 ms, every fourth
    time new ones all along."""
    rng = np.random.default_rng(seed)
    friction, restitution = rng.uniform(0, 1, 2)
    step = some_step(rng)
    kind = KINDS[seed % 3]
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
        if kind == "capsules":
            shape = pv.Capsule(rng.uniform(0.04, 0.1), rng.uniform(0.1, 0.3))
        elif kind == "stack":
            shape, pose = pv.Box(0.2, 0.2, 0.2), {"position": (0, 0, 0.11 + 0.21 * i)}
        world.add_body(f"b{i}", shape, float(rng.uniform(0.2, 5)), friction=friction, restitution=restitution, **pose)
    return Drop(world, kind, friction, restitution, None if seed % 4 == 3 else step)


def some_step(rng) -> float:
    return float(10 ** rng.uniform(np.log10(LEAST), np.log10(MOST)))


def fall(seed: int, until: float = 10.0) -> Fall:
    it, rng = drop(seed), np.random.default_rng(1000 + seed)
    part = pv.compile(it.world, pv.PassiveMidpoint(), it.step or 1e-3)
    watch, found, start = Watch(it.world, part), Fall(), part.stored
    time = 0.0
    while time < until:
        h = it.step or some_step(rng)
        watch.before()
        try:
            part.step(dt=h)
        except StepError as error:
            found.failed = str(error)
            return found
        time += h
        watch.after(h, found)
    found.verdict = part.verdict.kind
    total = part.verdict
    found.created = (total.bias + abs(total.unnoticed)) / start
    found.kinetic = watch.kinetic() / start
    found.lies, found.slip = watch.depth(), watch.slip
    return found


class Watch:
    """Looks at each step of a part: momenta, the floor, the guard."""

    def __init__(self, world: pv.World, part):
        self.part, self.t = part, part.module.TABLE
        params = world.params
        names = list(world.bodies)
        self.shapes = [world.bodies[name].shapes[0] for name in names]
        self.mass = np.array([params[f"{name}.mass"] for name in names])
        moments = ("inertia_xx", "inertia_yy", "inertia_zz")
        self.inertia = np.array([[params[f"{name}.{what}"] for what in moments] for name in names])
        self.old = self.spin = np.empty(0)
        self.slip = 0.0

    @property
    def states(self) -> np.ndarray:
        return self.part.state[T.BODIES_FROM : T.BODIES_FROM + BODIES * T.BODY_STATES].reshape(BODIES, -1)

    def tally(self, what: int) -> float:
        return float(self.part.memory[self.t[T.AT_TALLY] + what])

    def before(self) -> None:
        self.old = self.states.copy()

    def after(self, h: float, found: Fall) -> None:
        frames = self.t[T.AT_FRAMES]
        moved = self.part.memory[frames : frames + BODIES * T.F_SIZE].reshape(BODIES, -1)
        at = self.part.module.RECORDED + self.t[T.TOLD_WRENCHES]
        push = h * self.part.memory[at : at + 6 * BODIES].reshape(BODIES, 6)
        new, old, mass = self.states, self.old, self.mass[:, None]
        gained = mass * (new[:, T.V : T.V + 3] - old[:, T.V : T.V + 3])
        left = gained - h * mass * (0, 0, -G) - push[:, :3]
        size = mass * (np.abs(new[:, T.V : T.V + 3]) + np.abs(old[:, T.V : T.V + 3]) + h * G).max()
        size = size + np.abs(push[:, :3]).max()
        # J (w⁺ − w) = h (J w*) × ŵ + moments of the impulses
        w, spun = old[:, T.W : T.W + 3], new[:, T.W : T.W + 3]
        turned = h * np.cross(moved[:, T.F_SPIN : T.F_SPIN + 3], moved[:, T.F_HAT + 3 : T.F_HAT + 6])
        rest = self.inertia * (spun - w) - turned - push[:, 3:]
        about = self.inertia * (np.abs(spun) + np.abs(w)).max() + np.abs(turned).max() + np.abs(push[:, 3:]).max()
        about = about + 0.5 * np.abs(push[:, :3]).max()  # arms of less than half a metre
        shares = np.array([np.abs(left) / size, np.abs(rest) / (about + np.finfo(float).tiny)])
        found.unbalanced = float(np.maximum(found.unbalanced, shares.max()))
        found.deepest = max(found.deepest, self.depth())
        found.lowest = min(found.lowest, float(new[:, T.X + 2].min()))
        touching = self.tally(T.N_LIVE) > 0
        found.touching += touching
        found.guarded += touching and self.tally(T.N_GUARDED) > 0
        self.slip = self.tally(T.N_SLIP)

    def depth(self) -> float:
        """How far the lowest point of all bodies is under the floor."""
        lowest = np.inf
        for shape, state in zip(self.shapes, self.states):
            down = matrix_of(state[T.Q : T.Q + 4])[2]
            if isinstance(shape, pv.Box):
                reach = 0.5 * float(np.abs(down) @ (shape.x, shape.y, shape.z))
            else:
                reach = shape.radius + 0.5 * shape.length * abs(float(down[2]))
            lowest = min(lowest, state[T.X + 2] - reach)
        return max(0.0, -lowest)

    def kinetic(self) -> float:
        v, w = self.states[:, T.V : T.V + 3], self.states[:, T.W : T.W + 3]
        return 0.5 * float((self.mass * (v**2).sum(axis=1)).sum() + (self.inertia * w**2).sum())


def faults_of(seed: int, until: float = 10.0, found: Fall | None = None) -> list[str]:
    """What went wrong in a drop, in words."""
    it, found = drop(seed), found or fall(seed, until)
    if found.failed:
        return [f"drop {seed}: {found.failed}"]
    rests = it.rests and it.kind != "capsules"
    rolls = it.rests and it.kind == "capsules" and found.kinetic >= RESTS  # without rolling friction, for ever
    wrong = {
        f"verdict {found.verdict}": found.verdict != "exact",
        f"created {found.created:.2g} of the start": found.created > CREATED,
        f"the centre of a body sank to {found.lowest:.3g} m": found.lowest <= 0.0,
        f"a body lies {1e3 * found.lies:.3g} mm under the floor": found.lies > LIES,
        f"impulses leave {found.unbalanced:.2g} of the momentum": found.unbalanced > ROUNDING,
        f"the guard acted in {found.guarded} of {found.touching} steps": found.guarded
        >= GUARDED * max(1, found.touching),
        f"kinetic energy {found.kinetic:.2g} of the start after {until:g} s": rests and found.kinetic >= RESTS,
        f"it slips at {found.slip:.2g} m/s after {until:g} s": rolls and found.slip > SLIPS,
    }
    return [f"drop {seed} ({it.kind}): {what}" for what, so in wrong.items() if so]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verify.drops", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    count = parser.parse_args().count
    falls = [fall(seed) for seed in range(count)]
    faults = [fault for seed in range(count) for fault in faults_of(seed, found=falls[seed])]
    told = [it for it in falls if not it.failed]
    rolling = [seed for seed in range(count) if drop(seed).rests and drop(seed).kind == "capsules"]
    still = sum(falls[seed].kinetic < RESTS for seed in rolling)
    guarded, touching = sum(it.guarded for it in told), sum(it.touching for it in told)
    print("\n".join(faults))
    print(
        f"created at most {max(it.created for it in told):.2g} of the start, "
        f"impulses leave at most {max(it.unbalanced for it in told):.2g} of the momentum,\n"
        f"deepest {1e3 * max(it.deepest for it in told):.2g} mm, "
        f"at the end {1e3 * max(it.lies for it in told):.2g} mm; guard in {guarded} of {touching} steps with contact;\n"
        f"of {len(rolling)} drops of capsules that must lose their bounce and slip {still} stand still, "
        f"{len(rolling) - still} roll on without slip\n{count} drops, {len(faults)} faults"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
