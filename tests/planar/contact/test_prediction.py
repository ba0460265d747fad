"""Quasi-static pushing against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from galley.planar.contact.prediction import Mode, predict_push
from galley.planar.geometry.polygon import Polygon, mass_properties
from galley.planar.geometry.support import characteristic_length

SQUARE = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]
C = characteristic_length(Polygon(SQUARE))
heights = st.floats(-0.49, 0.49)
sideways = st.floats(-3, 3)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_push_through_the_centre_translates(friction):
    found = predict_push(SQUARE, friction, (-0.5, 0.0), (0.2, 0.0))
    assert found.mode is Mode.STICK
    assert_allclose(found.twist, [0.2, 0.0, 0.0], atol=1e-15)
    assert_allclose(found.force, [1.0, 0.0])


@pytest.mark.parametrize("high", [0.3, -0.3])
def test_an_off_centre_push_turns_the_body(high):
    # Without friction the force is (f, 0), w = -y f / c^2, and under the contact v_x - w y = push.
    found = predict_push(SQUARE, 0.0, (-0.5, high), (0.1, 0.0))
    f = 0.1 / (1.0 + high**2 / C**2)
    assert_allclose(found.twist, [f, 0.0, -high * f / C**2])
    # Where the face turns away it slides outwards, so the pusher slips towards the centre.
    assert found.slip == pytest.approx(-0.5 * high * f / C**2)
    assert found.mode is (Mode.SLIP_RIGHT if high > 0.0 else Mode.SLIP_LEFT)


@given(heights, sideways, st.floats(0.0, 1.5))
def test_the_motion_obeys_support_and_contact_friction(high, across, mu):
    push = np.array([1.0, across])
    found = predict_push(SQUARE, mu, (-0.5, high), push)
    vx, vy, omega = found.twist
    r = np.array([-0.5, high])
    fx, fy = found.force
    # On the limit surface's normal: v along f, and w = (r x f) / c^2 in proportion.
    size = np.hypot(vx, vy)
    assert_allclose([vx, vy], size * found.force, atol=1e-9)
    assert omega == pytest.approx(size * (r[0] * fy - r[1] * fx) / C**2, abs=1e-9)
    # The contact is kept, the force is in the cone, and on its edge where it slips.
    under = np.array([vx - omega * r[1], vy + omega * r[0]])
    assert under[0] == pytest.approx(1.0)
    assert push[1] - under[1] == pytest.approx(found.slip, abs=1e-9)
    assert abs(fy) <= mu * fx + 1e-9
    if found.mode is not Mode.STICK:
        assert abs(fy) == pytest.approx(mu * fx)
        assert found.slip * fy >= 0.0


def test_the_pusher_slips_where_the_push_leaves_the_motion_cone():
    mu, r = 0.4, np.array([-0.5, 0.1])
    lever = np.array([-r[1], r[0]])
    A = np.eye(2) + np.outer(lever, lever) / C**2
    for side in (1.0, -1.0):
        edge = A @ [1.0, side * mu]
        for turn in (1e-3, -1e-3):
            c, s = np.cos(side * turn), np.sin(side * turn)
            push = np.array([[c, -s], [s, c]]) @ edge
            slips = predict_push(SQUARE, mu, r, push).mode is not Mode.STICK
            assert slips == (turn > 0.0)


def test_a_push_away_moves_nothing():
    found = predict_push(SQUARE, 0.5, (-0.5, 0.2), (-0.1, 0.3))
    assert found.mode is Mode.PART
    assert_allclose(found.twist, 0.0)


@given(heights, sideways, st.floats(-3, 3))
def test_the_frame_does_not_matter(high, across, theta):
    here = predict_push(SQUARE, 0.3, (-0.5, high), (1.0, across))
    c, s = np.cos(theta), np.sin(theta)
    R, p = np.array([[c, -s], [s, c]]), np.array([2.0, -1.0])
    there = predict_push(
        (R @ np.transpose(SQUARE)).T + p, 0.3, R @ [-0.5, high] + p, R @ [1.0, across]
    )
    assert_allclose(there.twist[:2], R @ here.twist[:2], atol=1e-9)
    assert_allclose(there.twist[2], here.twist[2], atol=1e-9)


def test_at_a_corner_the_given_normal_counts():
    corner = predict_push(SQUARE, 0.0, (-0.5, -0.5), (1.0, 1.0), normal=(1.0, 1.0))
    assert_allclose(corner.twist, [1.0, 1.0, 0.0], atol=1e-12)


def test_a_concave_outline_is_pushed_about_its_centroid():
    ell = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)]
    centre = mass_properties(ell, 1.0).centroid
    found = predict_push(ell, 0.5, (0.0, centre[1]), (0.3, 0.0))
    assert_allclose(found.twist, [0.3, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"friction": -0.1}, "friction = -0.1"),
        ({"push": (1.0, np.inf)}, "push = "),
        ({"normal": (0.0, 0.0)}, "normal = "),
        ({"outline": [(0, 0), (1, 1), (1, 0), (0, 1)]}, "crosses"),
    ],
    ids=["friction", "push", "normal", "outline"],
)
def test_bad_input_is_named(change, named):
    good = {"outline": SQUARE, "friction": 0.1, "contact": (-0.5, 0.0), "push": (1.0, 0.0)}
    with pytest.raises(ValueError, match=named):
        predict_push(**good | change)
