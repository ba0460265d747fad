"""Non-negative least squares: against SciPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from galley.tests.effort import examples
from galley.validation.mechanics.support import is_reached


@settings(max_examples=examples(500), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 6),
    count=st.integers(1, 60),
    kind=st.sampled_from(["any", "cone", "twice", "flat"]),
)
def test_what_is_reached_is_what_scipy_reaches(seed, rows, count, kind):
    rng = np.random.default_rng(seed)
    columns, target = rng.normal(size=(rows, count)), 10.0 * rng.normal(size=rows)
    if kind == "cone":  # all to one side, as contact forces are
        columns[0] = np.abs(columns[0]) + 0.5
    elif kind == "twice":
        columns[:, count // 2 :] = columns[:, : count - count // 2]
    elif kind == "flat":  # as moments that don't count
        columns[rows // 2 :] = target[rows // 2 :] = 0.0
    least = nnls(columns, target)[1]
    assert is_reached(columns, target, least * (1.0 + 1e-9) + 1e-9)
    if least > 1e-6:
        assert not is_reached(columns, target, least * (1.0 - 1e-6))


def test_a_weight_on_a_slope_is_held_up_to_the_angle_of_friction():
    """A cone of four edges, one of them uphill: tan(angle) <= friction."""
    friction = 0.5
    edges = np.array([[friction, 0, 1], [-friction, 0, 1], [0, friction, 1], [0, -friction, 1]]).T
    for angle, holds in ((0.0, True), (0.46, True), (0.47, False)):
        weight = np.array([np.sin(angle), 0.0, np.cos(angle)])
        assert is_reached(edges, weight, 1e-9) is holds
    assert not is_reached(edges, np.array([0.0, 0.0, -1.0]), 0.999), "contacts don't pull"
    assert is_reached(edges, np.array([0.0, 0.0, -1.0]), 1.0), "no force at all"
    assert np.arctan(friction) == pytest.approx(0.4636, abs=1e-4)
