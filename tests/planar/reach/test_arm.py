"""Closed-form inverse kinematics: forward and back, rims, limits."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from galley.planar.reach import PlanarArm

LENGTH = st.floats(0.1, 3.0)
ANGLE = st.floats(-np.pi, np.pi)


def ik(arm, base, target):
    """Solutions (k, 2) of one target."""
    theta, valid = arm.ik_batch([base], target)
    return theta[0][valid[0]]


BASE = st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), ANGLE).map(np.array)


@given(LENGTH, LENGTH, BASE, st.floats(0.0, 1.0), ANGLE)
def test_the_hand_is_put_at_the_target(l1, l2, base, share, phi):
    arm = PlanarArm(l1, l2)
    r = arm.inner + share * (arm.outer - arm.inner)
    target = base[:2] + r * np.array([np.cos(phi), np.sin(phi)])
    theta = ik(arm, base, target)
    assert 1 <= len(theta) <= 2
    assert np.abs(arm.fk(base, theta) - target).max() <= 1e-12 * max(1.0, arm.outer)
    if len(theta) == 2:
        assert theta[0, 1] > 0.0 > theta[1, 1]


@given(LENGTH, LENGTH, BASE, ANGLE, st.floats(-3.1, 3.1))
def test_each_configuration_is_found_again(l1, l2, base, theta1, theta2):
    arm = PlanarArm(l1, l2)
    assume(abs(np.sin(theta2)) > 1e-2 and min(l1, l2) > 0.1 * max(l1, l2))
    found = ik(arm, base, arm.fk(base, [theta1, theta2]))
    away = (found - [theta1, theta2] + np.pi) % (2 * np.pi) - np.pi
    assert np.abs(away).max(axis=1).min() < 1e-10


@given(
    st.tuples(ANGLE, st.floats(0.2, 7.0), ANGLE, st.floats(0.2, 7.0)), BASE, ANGLE, st.floats(0, 1)
)
def test_limits_keep_exactly_what_some_turn_takes_inside(ranges, base, phi, share):
    low1, width1, low2, width2 = ranges
    limits = ((low1, low1 + width1), (low2, low2 + width2))
    arm, free = PlanarArm(1.0, 0.7, limits), PlanarArm(1.0, 0.7)
    target = base[:2] + (0.35 + 1.3 * share) * np.array([np.cos(phi), np.sin(phi)])
    expected = []
    for theta in ik(free, base, target):
        turned = theta[:, None] + 2 * np.pi * np.arange(-3, 4)
        inside = [(a >= lo) & (a <= hi) for a, (lo, hi) in zip(turned, limits, strict=True)]
        edges = [
            np.abs(a - np.array(pair)[:, None]) for a, pair in zip(turned, limits, strict=True)
        ]
        assume(np.min(edges) > 1e-9)
        if inside[0].any() and inside[1].any():
            expected.append(theta)
    found = ik(arm, base, target)
    assert len(found) == len(expected)
    if len(found):
        assert ((found >= np.array(limits)[:, 0]) & (found <= np.array(limits)[:, 1])).all()
        np.testing.assert_allclose(np.sin(found - expected), 0.0, atol=1e-12)
        np.testing.assert_allclose(
            arm.fk(base, found), np.tile(target, (len(found), 1)), atol=1e-12
        )


@pytest.mark.parametrize(("l1", "l2"), [(1.0, 0.8), (0.8, 1.0), (1.0, 1e-3)])
@pytest.mark.parametrize("phi", [0.0, 0.7, np.pi, -2.0])
def test_elbows_coincide_at_both_rims(l1, l2, phi):
    arm, base = PlanarArm(l1, l2), np.array([0.4, -0.3, 0.5])
    for r, gamma in ((arm.outer, 0.0), (arm.inner, np.pi)):
        target = base[:2] + r * np.array([np.cos(phi), np.sin(phi)])
        theta = ik(arm, base, target)
        assert theta.shape == (1, 2)
        assert theta[0, 1] == gamma
        assert np.abs(arm.fk(base, theta[0]) - target).max() < 1e-12


@pytest.mark.parametrize("inward", [1e-4, 1e-8, 1e-11])
def test_theta2_keeps_its_digits_beside_a_rim(inward):
    """r = L1 + L2 - d: theta2^2 = 2 d (L1 + L2) / (L1 L2) to first order."""
    arm = PlanarArm(1.0, 0.8)
    theta = ik(arm, [0, 0, 0], [arm.outer - inward, 0.0])
    expected = np.sqrt(2 * inward * arm.outer / (arm.l1 * arm.l2))
    assert theta[0, 1] == pytest.approx(expected, rel=max(1e-4, 1e-15 / inward) + inward)


def test_out_of_reach_there_is_nothing():
    arm = PlanarArm(1.0, 0.6)
    for r in (0.0, 0.1, 0.4 - 1e-9, 1.6 + 1e-9, 5.0):
        assert ik(arm, [0, 0, 1.0], [r, 0.0]).shape == (0, 2)
    theta, valid = arm.ik_batch(np.zeros((3, 3)), np.array([[1.0, 0], [9.0, 0], [0.0, 0]]))
    assert valid.tolist() == [[True, True], [False, False], [False, False]]
    assert np.isfinite(theta).all()


def test_equal_links_with_the_target_at_the_base():
    assert ik(PlanarArm(1, 1), [1, 2, 0.3], [1, 2]).tolist() == [[0.0, np.pi]]
    limited = ik(PlanarArm(1, 1, ((0.5, 1.0), (-4.0, -3.0))), [1, 2, 0.3], [1, 2])
    assert limited.tolist() == [[0.5, -np.pi]]
    assert ik(PlanarArm(1, 1, ((0.5, 1.0), (-3.0, 3.0))), [1, 2, 0.3], [1, 2]).shape == (0, 2)


def test_manipulability_is_the_determinant_of_the_jacobian():
    arm, rng = PlanarArm(1.0, 0.8), np.random.default_rng(0)
    base, theta = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    steps = 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    ends = [arm.fk(base, theta + step) for step in steps]
    jacobian = np.stack([ends[0] - ends[1], ends[2] - ends[3]], axis=-1) / 2e-6
    np.testing.assert_allclose(
        arm.manipulability(theta), np.abs(np.linalg.det(jacobian)), atol=1e-9
    )


def test_bad_input_names_the_value():
    for l1, l2, limits, named in (
        (-1.0, 1.0, None, "-1"),
        (1.0, 0.0, None, "link 2.* 0"),
        (1.0, 1.0, (), r"\(\)"),
        (1.0, 1.0, ((0.0, 1.0), (2.0, 1.5)), "2 >= 1.5"),
    ):
        with pytest.raises(ValueError, match=named):
            PlanarArm(l1, l2, limits)
    with pytest.raises(ValueError, match="finite"):
        ik(PlanarArm(1.0, 1.0), [0, 0, 0], [np.nan, 0.0])
