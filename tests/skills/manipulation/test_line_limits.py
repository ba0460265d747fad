"""Lines stay within the joint limits between their knots too, not only at them."""

import numpy as np
import pytest

from galley.motion.path import Path
from galley.motion.trajectory.timing import spline_through
from galley.robots.panda.models import mobile_panda
from galley.skills.manipulation.lines import keeps_limits


@pytest.fixture(scope="module")
def arm():
    return mobile_panda().group("arm")


def wave(arm, rng, gap):
    """A bent line in joint space that comes within ``gap`` (rad) of one joint's limit at a knot."""
    n = int(rng.integers(4, 9))
    joint = int(rng.integers(7))
    knots = 0.5 * (arm.lower + arm.upper) + np.zeros((n, 7))
    side = 1.0 if rng.random() < 0.5 else -1.0
    edge = arm.upper[joint] if side > 0 else arm.lower[joint]
    bend = rng.uniform(0.0, 0.12, n)
    bend[int(rng.integers(n))] = 0.0
    knots[:, joint] = edge - side * (gap + bend)
    return Path("arm", knots)


def test_the_verdict_is_that_of_dense_samples(arm):
    rng = np.random.default_rng(4)
    verdicts = []
    for k in range(120):
        gap = float(rng.uniform(0.0, 0.03)) if k % 2 else float(rng.uniform(0.1, 0.5))
        trajectory = spline_through(wave(arm, rng, gap), arm, 0.6, 0.8)
        dense = trajectory(np.linspace(0.0, trajectory.duration, 4000))
        over = max(float((arm.lower - dense).max()), float((dense - arm.upper).max()))
        verdict = keeps_limits(trajectory, arm)
        if abs(over) > 1e-6:
            assert verdict == (over < 0.0), (k, over)
        verdicts.append(verdict)
    assert 20 < sum(verdicts) < 115, "both kinds of line are among them"


def test_knots_and_middles_within_the_limits_are_not_enough(arm):
    """A line that an earlier check of knots and middles let pass goes beyond in between."""
    rng = np.random.default_rng(4)
    slipped = 0
    for _ in range(400):
        trajectory = spline_through(wave(arm, rng, float(rng.uniform(0.0, 0.01))), arm, 0.6, 0.8)
        breaks = trajectory.breaks
        looked = trajectory(np.concatenate([breaks, 0.5 * (breaks[:-1] + breaks[1:])]))
        inside = bool((looked >= arm.lower).all() and (looked <= arm.upper).all())
        slipped += inside and not keeps_limits(trajectory, arm)
    assert slipped > 0
