"""The Panda's forward kinematics, limits and finger geometry, against the URDF and its meshes."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from ssik.prebuilt.franka import panda_ik as ssik_panda

from galley.domain.frames import frozen, rotation_z
from galley.domain.meshes import mesh_points
from galley.robots.panda.ik import D1, FORE, LIMITS, UPPER
from galley.robots.panda.kinematics import (
    FINGER_HEIGHT,
    FINGER_STROKE,
    X_FH,
    forward,
    link_frames,
    p_HT,
    stretch,
)
from galley.robots.panda.urdf import panda_folder


@pytest.fixture(scope="module")
def urdf():
    return ET.parse(panda_folder() / "panda.urdf").getroot()


def joint(urdf, name):
    return next(element for element in urdf.iter("joint") if element.get("name") == name)


def test_forward_agrees_with_ssik():
    rng = np.random.default_rng(0)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (500, 7)):
        assert forward(q) == pytest.approx(ssik_panda.fk(q), abs=1e-12)


def test_batches_and_single_configurations_agree():
    q = np.random.default_rng(1).uniform(LIMITS.lower, LIMITS.upper, (3, 4, 7))
    assert forward(q).shape == (3, 4, 4, 4)
    assert link_frames(q).shape == (3, 4, 9, 4, 4)
    assert np.array_equal(link_frames(q)[1, 2], link_frames(q[1, 2]))
    assert np.array_equal(link_frames(q)[..., 8, :, :], forward(q))


def test_input_that_is_read_only_or_strided_is_taken():
    q = np.random.default_rng(4).uniform(LIMITS.lower, LIMITS.upper, (5, 7))
    assert np.array_equal(forward(q[::-1]), forward(q)[::-1])
    assert np.array_equal(forward(frozen(q)), forward(q))
    assert np.array_equal(forward(q[0].tolist()), forward(q[0]))
    assert forward(np.empty((0, 7))).shape == (0, 4, 4)


def test_limits_are_the_real_arms(urdf):
    for k in range(7):
        element = joint(urdf, f"panda_joint{k + 1}")
        safety, hard = element.find("safety_controller"), element.find("limit")
        assert LIMITS.lower[k] == float(safety.get("soft_lower_limit"))
        assert LIMITS.upper[k] == float(safety.get("soft_upper_limit"))
        assert LIMITS.velocity[k] == float(hard.get("velocity"))
        # The trap: the file's hard limits are wider.
        assert (
            float(hard.get("lower")) < LIMITS.lower[k] < LIMITS.upper[k] < float(hard.get("upper"))
        )


def test_hand_and_finger_frames_are_the_urdfs(urdf):
    yaw = float(joint(urdf, "panda_hand_joint").find("origin").get("rpy").split()[2])
    assert X_FH[:3, :3] == pytest.approx(rotation_z(yaw), abs=1e-9)
    assert X_FH[:3, 3] == pytest.approx(np.zeros(3))
    finger = joint(urdf, "panda_finger_joint1")
    assert [float(v) for v in finger.find("origin").get("xyz").split()] == [0, 0, FINGER_HEIGHT]
    assert float(finger.find("limit").get("upper")) == FINGER_STROKE


def test_grasp_centre_is_the_middle_of_the_pads():
    # The pads are the part of the mesh that comes within half a millimetre of the middle plane y =
    # 0.
    finger = mesh_points(panda_folder() / "meshes" / "collision" / "finger.obj")
    pad = finger[np.abs(finger[:, 1]) < 5e-4]
    assert finger[:, 1].min() > -5e-4  # nothing of a finger reaches beyond the middle plane
    middle = FINGER_HEIGHT + 0.5 * (pad[:, 2].min() + pad[:, 2].max())
    assert p_HT[2] == pytest.approx(middle, abs=5e-4)
    assert p_HT[:2] == pytest.approx([0.0, 0.0])
    assert p_HT[2] < FINGER_HEIGHT + finger[:, 2].max()  # between the pads, not beyond the tips


def test_stretch_is_the_range_of_the_wrist_centre():
    q = np.zeros((2001, 7))
    q[:, 3] = np.linspace(LIMITS.lower[3], LIMITS.upper[3], 2001)
    distances = np.linalg.norm(link_frames(q)[:, 5, :3, 3] - [0.0, 0.0, D1], axis=1)
    least, greatest = stretch()
    assert least == pytest.approx(distances.min(), abs=1e-12)
    assert greatest == pytest.approx(distances.max(), abs=1e-6)
    assert greatest == pytest.approx(UPPER + FORE, abs=1e-12)
