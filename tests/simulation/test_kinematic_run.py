"""The log of the default task: continuous, rigid, and what moved was moved by the hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.frames import inverse
from galley.domain.log import Log
from galley.domain.predicates import fact_holds
from galley.domain.state import initial_state, item_pose
from galley.robots.kinematics import hand_pose
from galley.simulation.kinematic import execute
from galley.simulation.validation import final_state, validate_log


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
    steps = np.diff(log.time)
    assert (steps > 0).all()
    assert steps.max() <= 1 / 120 + 1e-9
    speed = np.abs(np.diff(log.q, axis=0)) / steps[:, None]
    limits = np.concatenate([g.velocity for g in robot.groups])
    assert (speed <= limits * 1.001).all()
    assert np.linalg.norm(np.diff(log.items[:, :, :3], axis=0), axis=2).max() < 0.02
    assert (np.diff(log.motion) >= 0).all()
    assert set(log.motion) == set(range(len(log.motions)))


def test_the_log_begins_at_the_start_and_ends_at_the_end(kitchen, default_run, log):
    np.testing.assert_allclose(log.q[0], kitchen.robot.q)
    np.testing.assert_allclose(log.q[-1], default_run.end.q, atol=1e-9)
    np.testing.assert_allclose(log.scene_q[-1], default_run.end.scene_q, atol=1e-9)
    end = final_state(kitchen, log)
    for k in range(len(kitchen.items)):
        X = item_pose(kitchen, default_run.end, k, np.eye(4))
        np.testing.assert_allclose(item_pose(kitchen, end, k, np.eye(4)), X, atol=1e-6)


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
    np.testing.assert_allclose(moved[moving], hand[moving], atol=1e-6)
    assert log.scene_q[:, k].max() == pytest.approx(0.30, abs=1e-3)
    others = np.delete(log.scene_q, k, axis=1)
    np.testing.assert_array_equal(others, 0.0)
    names = {log.motions[m] for m in set(log.motion[1:][moving])}
    assert all("pull" in n or "push" in n for n in names), names


def test_contacts_are_found_where_things_touch(log):
    pairs = {tuple(sorted(p)) for p in log.contact_pair}
    assert ("range", "sugar_box") in pairs
    assert ("hitman", "sugar_box") in pairs
    assert ("indigo_drawer_top", "potted_meat_can") in pairs
    assert any("indigo_drawer_handle_top" in p for p in pairs)
    assert (log.contact_distance > -0.002).all()
    assert np.isnan(log.contact_force).all(), "a kinematic run has no forces"


def test_the_goal_holds_in_the_log_and_did_not_at_the_start(kitchen, log):
    binding = {b.object: b for b in kitchen.bindings}

    def holds(state, name, *args):
        X_WH = hand_pose(state.q, kitchen.robot.base)
        return fact_holds(kitchen, state, name, tuple(binding[a] for a in args), X_WH).holds

    end, start = final_state(kitchen, log), initial_state(kitchen)
    for fact in (("on", "sugar", "countertop"), ("inside", "spam", "drawer"), ("near", "drawer")):
        assert holds(end, *fact), fact
        assert not holds(start, *fact), fact
    assert not holds(end, "grasp", "spam")


def test_the_real_run_passes_validation_after_a_trip_to_disk(shared_world, log, tmp_path):
    log.save(tmp_path / "states.npz")
    found = validate_log(shared_world, Log.load(tmp_path / "states.npz"))
    assert found.passed, found.violations
    assert found.limit_violations == 0
    assert found.max_penetration_m < 0.002
    assert found.states_checked > 1000


def test_nothing_to_do_is_a_log_of_one_sample(kitchen, world):
    """A goal that holds already: no motions, yet the log shows where everything is."""
    start = initial_state(kitchen)
    state, log = execute(world, (), (), start)
    assert state == start
    assert len(log.time) == 1
    assert validate_log(world, log).passed
    np.testing.assert_allclose(final_state(kitchen, log).q, start.q)
