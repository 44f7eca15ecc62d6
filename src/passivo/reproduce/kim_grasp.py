"""Grasping with a hand of three fingers that tendons wind up: the scene, its motions, and what comes out (spec 4.7).

The hand is the built-in scenario `hand`: `scenario/library/scenes/hand.yaml` has its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from passivo.method.passive_midpoint import PassiveMidpoint
from passivo.reproduce.common import progress_of
from passivo.reproduce.figure import Advance
from passivo.reproduce.kim_hands import ease, seen_from
from passivo.run.run import Run
from passivo.run.simulate import simulate
from passivo.scenario.scenario import Scenario
from passivo.world.world import World

FINGERS = ("one", "two", "three")
JOINTS = ("base", "knuckle", "end")
ACTIVE = ("flexor", "lever")
PASSIVE = ("link", "back_link", "extensor", "tip_extensor")
STIFF = (*ACTIVE, "link", "back_link")  # tendons of the stiffness that is asked for; the others are springs
PARAMS = {
    "tendon": 1e6, "open": -0.02, "shut": 0.06, "lift": 0.15, "shake": 2.0, "frequency": 4.0, "shakes": 5.0,
    "step": 1e-3, "until": 8.5,
}  # fmt: skip
CLOSE, CLOSING = 0.3, 1.2  # s when the fingers begin to close, and how long that takes; the same for the lift
LIFT, LIFTING = 1.8, 1.0
SHAKE, FADE = 3.0, 0.25  # s when the hand begins to shake; in what time that swells and fades
WAY = np.array([0.6, 0.0, 0.8])  # of shaking
G = 9.81


def hand(p: Mapping[str, float]) -> World:
    """The built-in hand over its ball, with tendons of this stiffness."""
    model = Scenario.load("hand").model
    assert isinstance(model, World)
    return model.with_params(**{f"{finger}_{name}.stiffness": p["tendon"] for finger in FINGERS for name in STIFF})


def start() -> dict[str, float]:
    return dict(Scenario.load("hand").start)


def times(p: Mapping[str, float]) -> np.ndarray:
    return p["step"] * np.arange(round(p["until"] / p["step"]) + 1)


def motion(p: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Velocities of the command and of the anchor that leads the wrist, in each step: close, lift, shake."""
    time, h = times(p), p["step"]
    grip = p["open"] + (p["shut"] - p["open"]) * ease(time, CLOSE, CLOSING)
    pace = 2.0 * np.pi * p["frequency"]
    after = np.clip(time - SHAKE, 0.0, p["shakes"])
    swell = ease(after, 0.0, FADE) * (1.0 - ease(after, p["shakes"] - FADE, FADE))
    shake = p["shake"] * G / pace**2 * swell * np.sin(pace * after)
    place = np.outer(ease(time, LIFT, LIFTING), (0.0, 0.0, p["lift"])) + np.outer(shake, WAY)
    lead = np.hstack([np.diff(place, axis=0) / h, np.zeros((len(time) - 1, 3))])
    return {"grip": np.diff(grip) / h, "wrist_lead": lead}


def grasp(p: Mapping[str, float], advance: Advance) -> Run:
    """The whole of it by passive midpoint."""
    told = progress_of(advance, "grasp")
    return simulate(hand(p), PassiveMidpoint(), p["step"], p["until"], start=start(), inputs=motion(p), progress=told)


def slip(run: Run, first: float, last: float) -> float:
    """How far the ball moves against the palm between two times, m at most."""
    place = seen_from(run, "palm", "ball")
    held = place[min(round(first / run.step), run.steps) : round(last / run.step) + 1]
    return float(np.linalg.norm(held - held[0], axis=1).max())


OURS = (
    "The paper gives neither dimensions nor stiffnesses of its hand. Ours: links of 50, 35 and 22 mm, 16 mm thick, of "
    "30, 20 and 10 g; a palm of 0.4 kg on which they sit at 41 mm from its axis; moment arms of 6.5, 7.5, 7 and 13, 0, "
    "0 mm of the active tendons, ±(0, 7, −7) mm of two that couple the outer joints, and springs of 200 and 150 N/m "
    "that open the fingers. Each active tendon is wound up by a drive of 50 g that follows the command through 3500 "
    "N/m. The ball has 76 mm and 0.15 kg; friction 0.8. "
)
