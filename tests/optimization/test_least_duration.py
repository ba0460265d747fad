"""The bound that ends a ``smooth``: against Ruckig, which solves one joint exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galley.optimization.smooth import least_duration
from galley.robots.iiwa import iiwa
from galley.tests.optimization.curves import fastest

ARM = iiwa().group("arm")


@given(
    way=st.lists(st.floats(-5.0, 5.0), min_size=7, max_size=7),
    limits=st.tuples(*(st.floats(-2.0, 2.0) for _ in range(3))),
    scale=st.sampled_from([0.3, 1.0]),
)
def test_no_motion_from_rest_to_rest_is_quicker_and_one_joint_alone_is_as_quick(way, limits, scale):
    way = np.where(np.abs(way) < 1e-3, 0.1, way)
    velocity, acceleration, jerk = (10.0**power * np.ones(7) for power in limits)
    group = replace(ARM, velocity=velocity, acceleration=acceleration, jerk=jerk)
    found = least_duration(np.array([np.zeros(7), way]), group, scale)
    expected = fastest(0.0 * way, way, scale * velocity, scale * acceleration, scale * jerk)
    assert found == pytest.approx(expected, rel=1e-6)
