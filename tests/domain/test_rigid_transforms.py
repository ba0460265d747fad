"""Rigid transforms: group laws, and scipy's rotations as the independent oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from galley.domain.frames import (
    angle_between,
    from_pose7,
    inverse,
    quaternion,
    rotation_about,
    rotation_from_quaternion,
    rotation_rpy,
    rotation_z,
    rpy,
    to_pose7,
    transform,
    wrap,
)
from galley.tests.effort import examples

ANGLES = st.floats(-10.0, 10.0)
LENGTHS = st.floats(-5.0, 5.0)
quick = settings(max_examples=examples(60), deadline=None)


@st.composite
def rotations(draw):
    """Any rotation, with half turns and identities not rare."""
    axis = np.array(draw(st.tuples(LENGTHS, LENGTHS, LENGTHS)))
    length = np.linalg.norm(axis)
    axis = axis / length if length > 1e-3 else np.array([0.0, 0.0, 1.0])
    special = st.sampled_from([0.0, np.pi, -np.pi, np.pi / 2, 1e-9, np.pi - 1e-9, np.pi - 1e-5])
    angle = draw(st.one_of(ANGLES, special))
    return Rotation.from_rotvec(axis * angle).as_matrix()


@st.composite
def poses(draw):
    return transform(draw(rotations()), draw(st.tuples(LENGTHS, LENGTHS, LENGTHS)))


@quick
@given(poses(), poses(), poses())
def test_poses_form_a_group(A, B, C):
    np.testing.assert_allclose((A @ B) @ C, A @ (B @ C), atol=1e-12)
    np.testing.assert_allclose(A @ inverse(A), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(inverse(A) @ A, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(inverse(A @ B), inverse(B) @ inverse(A), atol=1e-11)
    np.testing.assert_allclose(inverse(A), np.linalg.inv(A), atol=1e-11)


@quick
@given(st.tuples(LENGTHS, LENGTHS, LENGTHS).filter(lambda a: np.linalg.norm(a) > 1e-3), ANGLES)
def test_rotation_about_an_axis_is_scipys(axis, angle):
    axis = np.array(axis) / np.linalg.norm(axis)
    oracle = Rotation.from_rotvec(axis * angle).as_matrix()
    np.testing.assert_allclose(rotation_about(axis, angle), oracle, atol=1e-12)
    about_z = Rotation.from_euler("z", angle).as_matrix()
    np.testing.assert_allclose(rotation_z(angle), about_z, atol=1e-15)


@quick
@given(ANGLES, ANGLES, ANGLES)
def test_rpy_is_urdfs_convention_of_fixed_axes(roll, pitch, yaw):
    oracle = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    np.testing.assert_allclose(rotation_rpy(roll, pitch, yaw), oracle, atol=1e-12)


@quick
@given(rotations())
def test_rpy_is_the_inverse_of_rotation_rpy(R):
    angles = rpy(R)
    np.testing.assert_allclose(rotation_rpy(*angles), R, atol=1e-6)
    assert -np.pi / 2 - 1e-12 <= angles[1] <= np.pi / 2 + 1e-12


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
@pytest.mark.parametrize("off", [0.0, 1e-12, -1e-10, 1e-8, 1e-6])
@pytest.mark.parametrize("roll", [0.0, 0.3, -2.0, np.pi])
def test_rpy_survives_gimbal_lock(pitch, off, roll):
    R = Rotation.from_euler("xyz", [roll, pitch + off, 1.1]).as_matrix()
    np.testing.assert_allclose(rotation_rpy(*rpy(R)), R, atol=1e-6)


@quick
@given(rotations())
def test_quaternions_are_scipys_and_come_back(R):
    q = quaternion(R)
    oracle = Rotation.from_matrix(R).as_quat()
    assert q[3] >= 0.0
    np.testing.assert_allclose(np.linalg.norm(q), 1.0, atol=1e-12)
    assert abs(q @ oracle) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(rotation_from_quaternion(q), R, atol=1e-9)
    np.testing.assert_allclose(rotation_from_quaternion(-3.0 * q), R, atol=1e-9)


def test_many_quaternions_are_those_of_each_rotation():
    turns = Rotation.random(500, random_state=1).as_matrix()
    half = Rotation.from_rotvec(np.pi * np.eye(3)).as_matrix()  # w = 0, one component each
    R = np.concatenate([turns, half, np.eye(3)[None]]).reshape(4, -1, 3, 3)
    each = [quaternion(one) for one in R.reshape(-1, 3, 3)]
    np.testing.assert_allclose(quaternion(R).reshape(-1, 4), each, atol=1e-15)
    assert quaternion(np.zeros((0, 3, 3))).shape == (0, 4)


@pytest.mark.parametrize("axis", [*np.eye(3), [1, 1, 0], [0, -1, 1], [1, -2, 3], [-1, -1, -1]])
def test_half_turns_keep_all_their_digits(axis):
    R = Rotation.from_rotvec(np.pi * np.array(axis) / np.linalg.norm(axis)).as_matrix()
    np.testing.assert_allclose(rotation_from_quaternion(quaternion(R)), R, atol=1e-14)


@quick
@given(poses())
def test_logged_poses_come_back(X):
    np.testing.assert_allclose(from_pose7(to_pose7(X)), X, atol=1e-9)


@quick
@given(rotations(), rotations())
def test_the_angle_between_is_symmetric_and_scipys(A, B):
    oracle = (Rotation.from_matrix(A).inv() * Rotation.from_matrix(B)).magnitude()
    assert angle_between(A, B) == pytest.approx(oracle, abs=1e-7)
    assert angle_between(A, B) == pytest.approx(angle_between(B, A), abs=1e-7)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-6, np.pi - 1e-6, np.pi - 1e-9, np.pi])
def test_small_angles_and_near_half_turns_are_exact(angle):
    """arccos of the trace would lose them: its error near 0 and pi is 1e-8."""
    A = Rotation.from_euler("xyz", [0.4, -1.0, 2.0]).as_matrix()
    B = A @ rotation_about((0.6, 0.0, 0.8), angle)
    assert angle_between(A, B) == pytest.approx(angle, abs=2e-15 + 1e-9 * angle * 1e-6)


@quick
@given(st.floats(-1e3, 1e3))
def test_wrap_changes_by_whole_turns_into_one_turn(angle):
    wrapped = float(wrap(angle))
    assert -np.pi <= wrapped < np.pi
    turns = (angle - wrapped) / (2.0 * np.pi)
    assert turns == pytest.approx(round(turns), abs=1e-9)
