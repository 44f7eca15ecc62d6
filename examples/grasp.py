"""How loosely may a hand hold a ball? Three fingers, wound up by tendons, close on it, lift it and are shaken at 2 g.

The command says how far the fingers are wound up. For each of a few, this prints how hard the tendons pull, how far the
ball has moved in the hand at the end, and that nothing was created, however stiff the tendons are.
"""

import numpy as np

import passivo as pv

STEP, UNTIL, SHAKE = 1e-3, 4.0, 2.0 * 9.81  # s, s, m/s²
PACE = 2.0 * np.pi * 4.0  # rad/s of shaking
WOUND = (0.0, 0.004, 0.008, 0.012, 0.03)  # m


def ease(time: np.ndarray, start: float, lasts: float) -> np.ndarray:
    s = np.clip((time - start) / lasts, 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


def motion(wound: float, open_: float = -0.02) -> dict[str, np.ndarray]:
    """Velocities of the command and of the anchor that leads the wrist, in each step."""
    time = STEP * np.arange(round(UNTIL / STEP) + 1)
    grip = open_ + (wound - open_) * ease(time, 0.3, 1.0)
    place = np.zeros((len(time), 3))
    place[:, 2] = 0.15 * ease(time, 1.4, 0.8)
    place[:, 0] = SHAKE / PACE**2 * ease(time, 2.4, 0.25) * np.sin(PACE * np.maximum(time - 2.4, 0.0))
    lead = np.hstack([np.diff(place, axis=0), np.zeros((len(time) - 1, 3))])
    return {"grip": np.diff(grip) / STEP, "wrist_lead": lead / STEP}


def main() -> None:
    hand = pv.Scenario.load("hand")
    for wound in WOUND:
        run = pv.simulate(hand.model, pv.PassiveMidpoint(), STEP, UNTIL, start=hand.start, inputs=motion(wound))
        gap = run["palm.position"].values - run["ball.position"].values
        height, size = float(run["ball.position"].values[-1, 2]), np.linalg.norm(gap, axis=1)
        at = round(1.4 / STEP)
        pull, moved = float(run["one_flexor.tension"][at]), abs(size[-1] - size[at])
        print(
            f"wound up by {1e3 * wound:.0f} mm: a tendon pulls by {pull:.0f} N, the ball ends {1e3 * height:.0f} mm "
            f"high and has moved by {1e3 * moved:.2f} mm in the hand; {run.verdict.kind}"
        )


if __name__ == "__main__":
    main()
