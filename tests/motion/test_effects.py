"""What a motion does to the world: calculated by hand and by PyBullet's kinematics."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.frames import from_pose7, inverse, transform
from galley.domain.scene.model import HAND, Joint
from galley.domain.state import Placement, initial_state, item_pose
from galley.motion.effects import displacement, effects, state_after, with_attachments
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.robots.panda.mobile import hand_pose

DRAWER, DOOR = "indigo_drawer_top_joint", "dagger_door_right_joint"


def motion(robot, group, start, end, attachments=()):
    path = Path(group, np.array([start, end]))
    return Motion(0, "test", group, path, rest_to_rest(path, robot.group(group)), attachments)


def drive(robot, state, dx, dy, turn, attachments):
    start = state.q[:3]
    return motion(robot, "base", start, start + np.array([dx, dy, turn]), attachments)


def world_pose(kitchen, state, index):
    return item_pose(kitchen, state, index, hand_pose(state.q, kitchen.robot.base))


def test_an_item_keeps_its_place_when_taken_and_when_let_go(kitchen):
    start = initial_state(kitchen)
    X_WH = hand_pose(start.q, kitchen.robot.base)
    before = world_pose(kitchen, start, 0)
    taken = with_attachments(kitchen, start, (Attachment("item", "sugar_box"),), X_WH)
    assert taken.held == 0
    np.testing.assert_allclose(world_pose(kitchen, taken, 0), before, atol=1e-12)
    again = with_attachments(kitchen, taken, (Attachment("item", "sugar_box"),), X_WH)
    assert again.items[0] is taken.items[0], "what is held stays as it was grasped"
    released = with_attachments(kitchen, again, (), X_WH)
    assert released.held is None
    np.testing.assert_allclose(world_pose(kitchen, released, 0), before, atol=1e-12)
    assert released.items[1] == start.items[1]


def test_an_item_let_go_over_an_open_drawer_belongs_to_the_drawer(kitchen):
    start = initial_state(kitchen)
    scene_q = np.zeros(6)
    scene_q[kitchen.joint_index[DRAWER]] = 0.3
    X_WH = hand_pose(start.q, kitchen.robot.base)
    X_WI = transform(None, (0.40, 1.2, 0.82))
    held = start.with_scene(scene_q).with_item(1, Placement(HAND, inverse(X_WH) @ X_WI))
    released = with_attachments(kitchen, held, (), X_WH)
    assert released.items[1].parent == "indigo_drawer_top"
    np.testing.assert_allclose(released.items[1].X_PI[:3, 3], [0.10, 1.2, 0.82], atol=1e-9)
    closed = released.with_scene(np.zeros(6))
    np.testing.assert_allclose(world_pose(kitchen, closed, 1)[:3, 3], [0.10, 1.2, 0.82], atol=1e-9)


@pytest.mark.parametrize("pull", [0.1, 0.3, 0.37])
def test_a_drawer_follows_the_hand_along_its_axis_only(kitchen, robot, pull):
    start = initial_state(kitchen)
    hold = (Attachment("joint", DRAWER),)
    there = drive(robot, start, pull, 0.05, 0.0, hold)  # the drawer runs along x: y is lost
    model = effects(kitchen, robot, there, start)
    k = kitchen.joint_index[DRAWER]
    for share in (0.0, 0.25, 1.0):
        at = model.at(there.path.start + share * (there.path.end - there.path.start))
        assert at.scene_q[k] == pytest.approx(share * pull, abs=1e-12)
        assert np.delete(at.scene_q, k).tolist() == [0.0] * 5


def test_a_drawer_stops_at_its_ends(kitchen, robot):
    start = initial_state(kitchen)
    k = kitchen.joint_index[DRAWER]
    hold = (Attachment("joint", DRAWER),)
    pulled = state_after(
        kitchen,
        robot,
        drive(robot, start, 0.4 + 0.2, 0, 0, hold),
        start.with_robot(np.r_[1.0, start.q[1:]]),
    )
    assert pulled.scene_q[k] == pytest.approx(0.4)
    pushed = state_after(kitchen, robot, drive(robot, start, -0.2, 0, 0, hold), start)
    assert pushed.scene_q[k] == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_a_door_turns_by_the_angle_that_the_hand_turned_about_its_hinge(seed):
    """The oracle is scipy's rotation about a random axis through a random pivot."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    pivot = rng.normal(size=3)
    door = Joint("hinge", "revolute", axis, pivot, -3.0, 3.0, 0.0, 0.0, 0.0)
    angle = rng.uniform(-3.0, 3.0)
    R = Rotation.from_rotvec(angle * axis).as_matrix()
    before = transform(Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3))
    after_turn = transform(R, pivot - R @ pivot) @ before
    assert displacement(door, before, after_turn) == pytest.approx(angle)
    slipped = transform(None, 0.3 * axis) @ after_turn  # along the hinge: no turn
    assert displacement(door, before, slipped) == pytest.approx(angle)
    np.testing.assert_allclose(door.motion(angle), transform(R, pivot - R @ pivot), atol=1e-12)


@pytest.mark.parametrize(
    ("group", "hold"),
    [
        ("base", ("item", "sugar_box")),
        ("arm", ("joint", DRAWER)),
        ("base", ("joint", DOOR)),
        ("fingers", None),
    ],
)
def test_many_states_of_a_motion_are_those_of_each_configuration(kitchen, robot, group, hold):
    """Rows of ``along`` against ``at``, one by one, with an item in the drawer that moves."""
    start = initial_state(kitchen)
    inside = Placement("indigo_drawer_top", transform(None, (0.10, 1.2, 0.82)))
    start = start.with_item(1, inside)
    attachments = () if hold is None else (Attachment(*hold),)
    q = start.q[robot.slice(group)]
    Q = q + np.random.default_rng(0).normal(scale=0.2, size=(20, len(q)))
    model = effects(kitchen, robot, motion(robot, group, q, Q[0], attachments), start)
    rows = model.along(Q)
    for k, row in enumerate(Q):
        state = model.at(row)
        np.testing.assert_allclose(rows.q[k], state.q, atol=1e-12)
        np.testing.assert_allclose(rows.scene_q[k], state.scene_q, atol=1e-12)
        for index in range(2):
            X_WI = from_pose7(rows.items[k, index])
            np.testing.assert_allclose(X_WI, world_pose(kitchen, state, index), atol=1e-9)
    if hold is not None:
        moved = rows.items if hold[0] == "item" else rows.scene_q
        assert np.ptp(moved, axis=0).max() > 0.1
    assert model.along(Q[:0]).items.shape == (0, 2, 7)
