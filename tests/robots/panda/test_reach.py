"""How far the arm's wrist centre gets from its shoulder."""

import numpy as np
import pytest

from galley.robots.panda.ik import FORE, LIMITS, UPPER
from galley.robots.panda.kinematics import link_frames, stretch

SHOULDER = np.array([0.0, 0.0, 0.333])


def test_stretch_is_the_range_of_the_wrist_centre():
    q = np.zeros((2001, 7))
    q[:, 3] = np.linspace(LIMITS.lower[3], LIMITS.upper[3], 2001)
    distances = np.linalg.norm(link_frames(q)[:, 5, :3, 3] - SHOULDER, axis=1)
    least, greatest = stretch()
    assert least == pytest.approx(distances.min(), abs=1e-12)
    assert greatest == pytest.approx(distances.max(), abs=1e-6)
    assert greatest == pytest.approx(UPPER + FORE, abs=1e-12)
