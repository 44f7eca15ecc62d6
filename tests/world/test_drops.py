"""Random drops onto a plane, a handful of those that `python -m verify.drops` takes."""

from __future__ import annotations

import pytest

from verify.drops import drop, faults_of

pytest.importorskip("mujoco", reason="the extra `world` is not installed")


@pytest.mark.parametrize("seed", [2, 6, 7, 9, 10, 15])
def test_a_drop_creates_nothing_and_comes_to_rest(seed):
    """Boxes, capsules and stacks; seeds 7 and 15 by steps of varying size."""
    assert (drop(seed).step is None) == (seed in (7, 15))
    assert faults_of(seed) == []
