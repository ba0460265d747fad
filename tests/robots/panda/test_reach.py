"""The reach bound: sound (never positive where the arm gets), and not empty."""

import numpy as np
import pytest

from galley.domain.frames import rotation_rpy, transform
from galley.robots.panda.ik import FORE, LIMITS, UPPER
from galley.robots.panda.kinematics import (
    forward,
    reach_shortfall,
    stretch,
)

SHOULDER = np.array([0.0, 0.0, 0.333])


def test_never_positive_for_a_reachable_pose():
    rng = np.random.default_rng(0)
    q = rng.uniform(LIMITS.lower, LIMITS.upper, (5000, 7))
    # Half of them at the extremes of joint 4, where the bound is tight.
    q[:1000, 3], q[1000:2000, 3] = LIMITS.lower[3], -0.4672
    assert max(reach_shortfall(X) for X in forward(q)) == 0.0


def test_bounds_the_shift_from_below():
    # Pull a reachable pose away without turning it: the bound may not exceed the distance pulled.
    rng = np.random.default_rng(1)
    positive = 0
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (1000, 7)):
        X = forward(q)
        shift = rng.normal(size=3)
        X[:3, 3] += shift
        shortfall = reach_shortfall(X)
        assert shortfall <= np.linalg.norm(shift) + 1e-9
        positive += shortfall > 0.0
    assert positive > 500


def test_known_distance():
    # Flange level, pointing away along x, at shoulder height: C is 107 mm behind it, the circle
    # stands across the x axis, so the wrist centre is 88 mm off it.
    R = rotation_rpy(0.0, np.pi / 2, 0.0)
    X = transform(R, SHOULDER + np.array([1.5, 0.0, 0.0]))
    expected = np.hypot(1.5 - 0.107, 0.088) - (UPPER + FORE)
    assert reach_shortfall(X) == pytest.approx(expected, abs=1e-12)


def test_too_close_counts_as_well():
    # Wrist centre at most 88 mm from the shoulder, but the elbow folds no further than 0.2 m.
    X = transform(translation=SHOULDER + np.array([0.0, 0.0, 0.107]))
    assert reach_shortfall(X) == pytest.approx(stretch()[0] - 0.088, abs=1e-12)
