"""The proof of concept in ``examples/``: virtual contacts with NumPy alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

EXAMPLES = st.tuples(st.floats(0.3, 2.0), st.floats(0.3, 2.0), st.floats(0.3, 3.5))


@given(EXAMPLES)
def test_two_discs_meet_halfway_between_their_surfaces(example, case):
    r1, r2, far = case
    if abs(r1 - r2) > far - 0.1:  # one in the other
        return
    bodies, poses = (example.Disc(r1), example.Disc(r2)), (np.zeros(3), np.array([far, 0, 0]))
    x, _ = example.virtual_contact(bodies, poses, (0.3 * far, 0.2))
    # On the line of centres psi_1 = psi_2, so x - r1 = far - x - r2.
    assert_allclose(x, [(far + r1 - r2) / 2.0, 0.0], atol=1e-6)


def test_points_spread_with_temperature_and_weigh_one(example):
    bodies, poses = (example.Disc(0.2), example.Ground()), (np.array([0, 0.2, 0]), np.zeros(3))
    wide = {}
    for tau in (1e-3, 1e-4, 0.0):
        points, weights = example.contact_points(bodies, poses, (0.0, 0.1), 11, tau)
        assert weights.sum() == pytest.approx(1.0)
        assert_allclose(weights @ points, [0.0, 0.0], atol=1e-9)
        wide[tau] = np.ptp(points[:, 0])
    assert wide[1e-3] > wide[1e-4] > wide[0.0] == 0.0


def test_a_disc_at_rest_sinks_until_its_spring_bears_it(example):
    contact = example.Contact(softness=1e-4)
    q, v, _ = example.simulate(
        contact, (example.Disc(0.2), example.Ground()), example.disc_mass(0.1, 0.2),
        [0.0, 0.2, 0.0], np.zeros(3), np.zeros((100, 3)), 0.02,
    )  # fmt: skip
    assert 0.2 - q[-1, 1] == pytest.approx(0.1 * 9.81 / 1e3 - 1e-4, rel=1e-6)
    assert_allclose(v[-1], 0.0, atol=1e-6)


def test_a_sliding_disc_ends_rolling_at_two_thirds_of_its_speed(example):
    _, v, _ = example.simulate(
        example.Contact(), (example.Disc(0.2), example.Ground()), example.disc_mass(0.1, 0.2),
        [0.0, 0.2 - 0.981e-3, 0.0], [1.0, 0.0, 0.0], np.zeros((60, 3)), 0.01,
    )  # fmt: skip
    assert v[-1, 0] == pytest.approx(2.0 / 3.0, rel=0.01)
    assert v[-1, 2] == pytest.approx(-v[-1, 0] / 0.2, rel=0.01)


def test_the_lift_is_free_flight_once_the_force_exceeds_the_weight(example):
    q, v, _ = example.lift(steps=40)
    force = np.linspace(0.0, 15.0, 40)
    after = 20  # the ground's exponential tail is gone
    gained = np.diff(v[after:, 1])
    assert_allclose(gained, (force[after:] / 0.1 - 9.81) / 60.0, rtol=1e-6)
    assert (np.diff(q[:, 1]) >= -1e-3).all()
    assert_allclose(q[:, 0], 0.0, atol=1e-9)
