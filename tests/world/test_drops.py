"""Random drops onto a plane, a handful of those that `python -m verify.drops` takes."""

from __future__ import annotations

import numpy as np
import pytest

import passivo as pv
from verify.drops import drop, faults_of

pytest.importorskip("mujoco", reason="the extra `world` is not installed")


@pytest.mark.parametrize("seed", [2, 6, 9, 10, 21])
def test_a_drop_creates_nothing_and_comes_to_rest(seed):
    assert faults_of(seed) == []


def test_a_drop_by_steps_of_varying_size_creates_nothing():
    world, *_ = drop(9)
    part = pv.compile(world, pv.PassiveMidpoint(), 1e-3)
    rng, start = np.random.default_rng(0), part.stored
    for h in 10 ** rng.uniform(np.log10(5e-4), np.log10(5e-3), 1500):
        part.step(dt=float(h))
    assert part.verdict.kind == "exact" and part.stored <= start
