"""Numeric inverse kinematics: poses are reached, limits hold, closed forms agree."""

import dataclasses

import numpy as np
import pytest

from galley.collision.backends.numeric_ik import NumericIK
from galley.domain.frames import rotation_rpy, rotation_z, transform
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.kinematics import forward
from galley.robots.panda.models import mobile_panda
from galley.robots.urdf_arm import arm_from_urdf
from galley.tests.collision.kernel.support import bullet

PLANAR = """<robot name="planar"><link name="a"/><link name="b"/><link name="c">
<collision><geometry><sphere radius="0.01"/></geometry></collision></link><link name="d"/>
<joint name="q1" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3"/></joint>
<joint name="q2" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
<origin xyz="0.5 0 0"/><limit lower="-3" upper="3"/></joint>
<joint name="q3" type="revolute"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/>
<origin xyz="0.4 0 0"/><limit lower="-3" upper="3"/></joint></robot>"""


@pytest.fixture
def planar(tmp_path):
    path = tmp_path / "planar.urdf"
    path.write_text(PLANAR)
    return arm_from_urdf(path, X_LT=transform(translation=(0.2, 0.0, 0.0)))


@pytest.mark.parametrize("make", [iiwa, panda_arm], ids=["iiwa", "panda"])
def test_poses_that_are_reachable_are_reached_within_the_limits(make):
    robot = make()
    arm, ik, rng = robot.group("arm"), NumericIK(robot), np.random.default_rng(0)
    rest = np.zeros(robot.size - arm.size)
    with bullet(robot, {}) as engine:
        for _ in range(20):
            q = np.concatenate([rng.uniform(arm.lower, arm.upper), rest])
            X_WT = engine.link_pose(robot.tool_link, q) @ robot.X_LT
            found = ik.solve(X_WT, 12, rng)
            assert len(found)
            assert (found >= arm.lower).all()
            assert (found <= arm.upper).all()
            for each in found:  # Bullet's own rounding included
                X = engine.link_pose(robot.tool_link, np.concatenate([each, rest])) @ robot.X_LT
                assert np.abs(X - X_WT).max() < 3e-6


def test_both_elbows_of_a_planar_arm_are_found(planar):
    rng = np.random.default_rng(1)
    ik = NumericIK(planar)
    for q1, q2, q3 in rng.uniform([-1, 0.3, -0.5], [1, 2, 0.5], (10, 3)):
        p1 = np.array([0.5 * np.cos(q1), 0.5 * np.sin(q1)])
        p2 = p1 + 0.4 * np.array([np.cos(q1 + q2), np.sin(q1 + q2)])
        total = q1 + q2 + q3
        tip = p2 + 0.2 * np.array([np.cos(total), np.sin(total)])
        X_WT = transform(rotation_z(total), (*tip, 0.0))
        found = ik.solve(X_WT, 30, rng)
        # The mirror image in the line from the shoulder to the wrist.
        mirrored = 2.0 * np.arctan2(p2[1], p2[0]) - q1
        wanted = np.array([[q1, q2, q3], [mirrored, -q2, total - mirrored + q2]])
        assert len(found) == 2
        for each in wanted:
            assert np.abs(found - each).max(axis=1).min() < 1e-5


def test_joints_outside_the_arm_keep_their_place():
    robot = mobile_panda()
    q = np.zeros(robot.size)
    q[:3] = 0.4, -0.3, 1.1
    q_arm = np.array([0.2, -0.4, 0.3, -2.0, 0.1, 1.8, 0.5])
    X_WA = transform(rotation_z(q[2]), (q[0], q[1], 0.0)) @ transform(
        translation=(-0.035, 0.0, 0.769)
    )
    X_FT = transform(rotation_z(-np.pi / 4)) @ transform(translation=robot.p_HT)
    X_WT, seeds = X_WA @ forward(q_arm) @ X_FT, q_arm[None] + 0.05
    found = NumericIK(robot).solve(X_WT, seeds, tolerance=1e-8, q=q)
    assert len(found) == 1
    for others in (q + 0.01 * np.eye(robot.size)[1], None):  # elsewhere, and at zero
        assert not np.isin(found, NumericIK(robot).solve(X_WT, seeds, q=others)).all()
    assert np.abs(forward(found[0]) - forward(q_arm)).max() < 1e-7


@pytest.mark.parametrize("at_limit", [0, 3, 6])
def test_a_pose_that_needs_a_joint_at_its_limit_is_reached(at_limit):
    robot = panda_arm()
    arm = robot.group("arm")
    ik = NumericIK(robot)
    q = np.array([0.2, -0.4, 0.3, -2.0, 0.1, 1.8, 0.5])
    q[at_limit] = arm.upper[at_limit]
    X_FT = transform(rotation_z(-np.pi / 4)) @ transform(translation=robot.p_HT)
    found = ik.solve(forward(q) @ X_FT, q[None])
    assert len(found) == 1
    assert (found <= arm.upper).all()
    assert np.abs(forward(found[0]) - forward(q)).max() < 2e-6


def test_shapes_masses_and_unknown_elements_of_the_urdf_are_not_read(planar):
    # Drake refuses the mesh and the transmission; neither they nor masses bear on kinematics.
    clutter = """<link name="d"><inertial><mass value="-1"/></inertial><collision><geometry>
    <mesh filename="file:///nowhere.stl"/></geometry></collision></link>
    <transmission name="t"><joint name="nothing"/></transmission>"""
    assert '<link name="d" />' in planar.urdf
    cluttered = dataclasses.replace(planar, urdf=planar.urdf.replace('<link name="d" />', clutter))
    X_WT = transform(rotation_z(0.9), (0.7, 0.4, 0.0))
    plain = NumericIK(planar).solve(X_WT, 10, np.random.default_rng(0))
    assert len(plain) == 2
    assert np.array_equal(NumericIK(cluttered).solve(X_WT, 10, np.random.default_rng(0)), plain)


def test_poses_out_of_reach_have_no_solution(planar):
    rng = np.random.default_rng(0)
    far = transform(translation=(2.0, 0.0, 0.5))
    assert NumericIK(iiwa()).solve(far, 8, rng).shape == (0, 7)
    # Straight back: q1 = pi, outside its limits of 3 rad, and stretched, so that no other will do.
    back = transform(rotation_z(np.pi), (-1.1, 0.0, 0.0))
    assert len(NumericIK(planar).solve(back, 30, rng)) == 0


def test_a_pose_rounded_as_in_a_file_is_reached_the_same_way_from_the_same_seeds():
    """Seeds beyond the limits start from the limits."""
    ik = NumericIK(iiwa())
    X_WT = np.round(transform(rotation_rpy(0.1, 2.0, 0.3), (0.4, 0.2, 0.5)), 7)
    first, second = (ik.solve(X_WT, 8, np.random.default_rng(5)) for _ in range(2))
    assert len(first) > 0
    assert np.array_equal(first, second)
    seeds = np.random.default_rng(2).uniform(-4.0, 4.0, (10, 7))
    found = ik.solve(X_WT, seeds)
    assert len(found) > 0
    assert np.array_equal(found, ik.solve(X_WT, np.clip(seeds, ik.group.lower, ik.group.upper)))


def test_misuse_is_refused():
    robot = panda_arm()
    ik = NumericIK(robot)
    with pytest.raises(ValueError, match="rng"):
        ik.solve(np.eye(4), 5)
    with pytest.raises(ValueError, match="7 columns"):
        ik.solve(np.eye(4), np.zeros((2, 6)))
    for X_WT in (np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan), np.zeros((4, 4))):
        with pytest.raises(ValueError, match="not a pose"):
            ik.solve(X_WT, np.zeros((1, 7)))
    with pytest.raises(ValueError, match="NaNs"):
        ik.solve(np.eye(4), np.zeros((1, 7)), q=np.full(robot.size, np.nan))
