"""The log of the default task: continuous, rigid, and what moved was moved by the hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.frames import inverse
from galley.domain.state import initial_state
from galley.execution.executor import LOG_PERIOD
from galley.execution.kinematic import KinematicExecutor
from galley.robots.panda.mobile import hand_pose
from galley.validation import validate_run


@pytest.fixture(scope="module")
def log(default_run):
    return default_run.log


@pytest.fixture(scope="module")
def hands(kitchen, log):
    """X_WH (T, 4, 4) by the robot's own kinematics."""
    return np.array([hand_pose(q, kitchen.robot.base) for q in log.q])


def poses_of(log, k):
    X = np.tile(np.eye(4), (len(log.time), 1, 1))
    X[:, :3, :3] = Rotation.from_quat(log.items[:, k, 3:]).as_matrix()
    X[:, :3, 3] = log.items[:, k, :3]
    return X


def test_the_log_is_continuous_and_dense(robot, log):
    np.testing.assert_allclose(log.time, np.arange(len(log.time)) * LOG_PERIOD, atol=1e-9)
    assert log.period == LOG_PERIOD
    assert log.duration == log.time[-1]
    speed = np.abs(np.diff(log.q, axis=0)) / log.period
    limits = np.concatenate([g.velocity for g in robot.groups])
    assert (speed <= limits * 1.001).all()
    assert np.linalg.norm(np.diff(log.items[:, :, :3], axis=0), axis=2).max() < 0.02
    assert (np.diff(log.motion) >= 0).all()
    assert set(log.motion) == set(range(len(log.motions)))


def test_a_held_item_is_rigid_in_the_hand(log, hands):
    """Its pose in the hand never changes while it is held, and it is held four times or so."""
    spells = 0
    for k in range(log.items.shape[1]):
        held = log.held == k
        edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(int), [0]])))
        poses = poses_of(log, k)
        for begin, end in edges.reshape(-1, 2):
            X_HI = np.array([inverse(X) for X in hands[begin:end]]) @ poses[begin:end]
            np.testing.assert_allclose(X_HI, np.broadcast_to(X_HI[0], X_HI.shape), atol=1e-6)
            spells += 1
    assert spells == 3  # the sugar once, the can for the burner and again for the drawer


def test_what_is_not_held_stays_or_moves_with_the_drawer(kitchen, log):
    slide = log.scene_q[:, kitchen.joint_index["indigo_drawer_top_joint"]]
    for k in range(log.items.shape[1]):
        loose = (log.held[1:] != k) & (log.held[:-1] != k)
        moved = np.diff(log.items[:, k, :3], axis=0)
        along = np.stack([np.diff(slide), 0 * slide[1:], 0 * slide[1:]], axis=1)
        still = np.abs(moved).max(axis=1) < 1e-9
        carried = np.abs(moved - along).max(axis=1) < 1e-9
        assert (still | carried)[loose].all()


def test_the_drawer_moves_only_with_a_hand_that_moves_as_far(kitchen, log, hands):
    k = kitchen.joint_index["indigo_drawer_top_joint"]
    moved = np.diff(log.scene_q[:, k])
    hand = np.diff(hands[:, 0, 3])  # along x, the drawer's axis
    moving = np.abs(moved) > 1e-9
    assert moving.sum() > 100
    shut = log.scene_q[1:, k] <= kitchen.joints[k].lower  # the hand may push on by micrometres
    np.testing.assert_allclose(moved[moving & ~shut], hand[moving & ~shut], atol=1e-6)
    assert (np.abs(moved[shut]) <= np.abs(hand[shut]) + 1e-6).all()
    assert (moving & shut).sum() <= 1
    assert log.scene_q[:, k].max() == pytest.approx(0.30, abs=1e-3)
    others = np.delete(log.scene_q, k, axis=1)
    np.testing.assert_array_equal(others, 0.0)
    # A step between two samples may begin in one motion and end in the next.
    leads = np.array(["pull" in str(name) or "push" in str(name) for name in log.motions])
    assert (leads[log.motion[1:]] | leads[log.motion[:-1]])[moving].all()


def test_nothing_to_do_is_a_log_of_one_sample(kitchen, world):
    """A goal that holds already: no motions, yet the log shows where everything is."""
    start = initial_state(kitchen)
    executor = KinematicExecutor(world, start)
    log = executor.log()
    assert executor.observe() == start
    assert len(log.time) == 1
    assert validate_run(kitchen, log).passed
    np.testing.assert_allclose(log.q[-1], start.q)
