"""A robot with two hands: its file, its views, and what one hand leaves to the other."""

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_kernel import SceneKernel
from galley.domain.errors import BadInput
from galley.domain.frames import inverse, transform
from galley.domain.scene.model import HAND
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import ROBOTS
from galley.domain.state import Placement, initial_state, item_poses
from galley.motion.effects import with_acting_hand
from galley.robots.catalog import robot_of

OWN = (ROBOTS / "dual_fr3.yaml").read_text()
URDF = OWN.partition("urdf: ")[2].partition("\n")[0]
J1, J2 = "right_fr3_joint1", "right_fr3_joint2"


@pytest.fixture(scope="module")
def scene():
    return load_scene(ROBOTS / "two_arms.yaml")


@pytest.fixture(scope="module")
def robot(scene):
    return robot_of(scene.robot)


@pytest.fixture(scope="module")
def world(scene, robot):
    with PyBulletWorld(scene, robot) as made:
        yield made


def holding(scene, robot, hand):
    """The start, with the carton between the fingers of a hand."""
    state = with_acting_hand(robot.acting(hand), initial_state(scene))
    own = robot.acting(hand)
    width = own.fingers_at(0.025)
    q = own.with_groups(state.q, fingers=width)[0]
    X_HI = transform(None, (0.0, 0.0, own.p_HT[2] + 0.05))
    return state.with_robot(q).with_item(0, Placement(HAND, X_HI))


def anywhere(robot, rng, count):
    """Random configurations (count, n), the base where it stands."""
    low, high = robot.limits
    return rng.uniform(low, high, (count, robot.size))


def test_each_view_has_the_joints_of_its_own_hand_and_the_hand_where_bullet_has_it(robot, world):
    for hand, view in robot.views.items():
        assert view.hand == hand
        assert all(name.startswith(hand) for name in view.group("arm").joints)
        assert all(name.startswith(hand) for name in (*view.fingers, *view.group("fingers").joints))
        assert view.joints == robot.joints
        for q in anywhere(robot, np.random.default_rng(1), 10):
            world.set_robot(q)
            np.testing.assert_allclose(
                view.kinematics.hand_pose(q), world.link_pose(view.palm), atol=1e-5
            )
            short = np.concatenate([q[:3], q[view.slice("arm")]])
            np.testing.assert_array_equal(
                view.kinematics.hand_pose(short), view.kinematics.hand_pose(q)
            )


def test_what_a_hand_holds_stays_where_it_is_when_the_other_acts(scene, robot):
    """There and back, and with the base moved meanwhile it goes along."""
    held = holding(scene, robot, "left")
    seen = with_acting_hand(robot.acting("right"), held)
    assert seen.held is None
    assert seen.resting == {0: "left"}
    assert seen.holds(tuple(robot.views)) == held.holds(tuple(robot.views)) == (0, None)
    X_WH = robot.acting("left").kinematics.hand_pose(held.q)
    before = item_poses(scene, held, X_WH)
    np.testing.assert_allclose(item_poses(scene, seen, np.eye(4)), before, atol=1e-12)
    q = seen.q.copy()
    q[:3] = 0.3, -0.2, 0.7
    back = with_acting_hand(robot.acting("left"), seen.with_robot(q))
    assert back.held == 0
    np.testing.assert_allclose(back.items[0].X_PI, held.items[0].X_PI, atol=1e-12)


def test_the_other_arm_sees_what_a_hand_holds_as_bullet_does(scene, robot, world):
    """The kernel's arm of one hand, past the carton that rests in the other."""
    own = robot.acting("right")
    seen = with_acting_hand(own, holding(scene, robot, "left"))
    X_WH = robot.acting("left").kinematics.hand_pose(seen.q)
    X_WI = item_poses(scene, seen, np.eye(4))[0]
    grip = frozenset(tuple(sorted(("carton", link))) for link in robot.acting("left").hand_links)
    view = SceneKernel(scene, own).view(seen, "arm", grip, 0.0)
    checker, rng, hits = world.checker(seen, grip, 0.0), np.random.default_rng(2), 0
    for X in (X_WI, X_WH):
        for _ in range(40):
            X_near = X @ transform(None, rng.uniform(-0.12, 0.12, 3) - own.p_HT)
            for arm in own.kinematics.configurations(X_near, seen.q[:3], np.zeros(1))[:4]:
                q = own.with_groups(seen.q, arm=arm)[0]
                near = checker.contacts(q, within=0.002)
                if all(abs(each.distance) > 0.002 for each in near):  # the two round differently
                    assert view.free(arm) == (not near), near
                    hits += any("carton" in (each.a, each.b) for each in near)
    assert hits > 5


def test_the_hands_of_a_model_are_those_that_hold_rigidly(robot):
    own = robot.acting("right")
    assert set(own.fingers) < own.hand_links
    assert own.hand_links.isdisjoint(robot.acting("left").hand_links)
    ends = np.concatenate([robot.every("arm"), robot.every("fingers")])
    assert sorted(ends) == list(range(3, robot.size))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("hand: left\n", "", "hand is needed beside other_arms"),
        ("  right:\n", "  left:\n", "'left' is the first arm's hand already"),
        ("[right_fr3_joint1,", "[left_fr3_joint1,", "joints that are named twice: left_fr3_joint1"),
        ("right_fr3_joint7]", "right_fr3_joint9]", "no joint 'right_fr3_joint9'"),
        (
            "right_fr3_joint1, right_fr3_joint2",
            "right_fr3_joint2, right_fr3_joint1",
            "stands before",
        ),
        ("[10, 10, 10, 10, 10, 10, 10]\n    jerk", "[10]\n    jerk", "acceleration needs 7 values"),
        ("hand: left\n", "hand: left\nheld: {left_fr3_joint1: 0}\n", "is no joint outside q"),
        ("    gripper:\n", "    gripper:\n      force: -1\n", "must be greater than 0"),
    ],
)
def test_what_is_wrong_with_a_second_arm_is_said_at_its_line(tmp_path, old, new, said):
    assert old in OWN
    at = OWN.rindex(old)
    path = tmp_path / "own.yaml"
    path.write_text(OWN[:at] + new + OWN[at + len(old) :])
    with pytest.raises(BadInput) as refused:
        robot_of(load_scene(ROBOTS / "two_arms.yaml", path).robot)
    assert said in str(refused.value)
    assert "own.yaml" in str(refused.value)


def test_arms_that_stand_in_one_place_are_refused(tmp_path):
    """Both at the same pose in the URDF's world."""
    from galley.robots.files import find_package_file

    made = find_package_file(URDF, tmp_path / "x")
    text = made.read_text().replace('xyz="0 -0.3 0"', 'xyz="0 0.3 0"')
    (tmp_path / "two.urdf").write_text(text)
    (tmp_path / "fr3.xacro").write_text((made.parent / "fr3.xacro").read_text())
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace(URDF, "two.urdf"))
    with pytest.raises(BadInput, match="the arms of 'left' and 'right' stand in one place"):
        robot_of(load_scene(ROBOTS / "two_arms.yaml", path).robot)


@pytest.mark.parametrize(
    ("name", "said"),
    [("rihgt", "hands are called left and right, got rihgt"), ("left", "is bound already")],
)
def test_an_object_is_one_of_the_hands(tmp_path, name, said):
    text = (
        (ROBOTS / "two_arms.yaml").read_text().replace("h2: {hand: right}", f"h2: {{hand: {name}}}")
    )
    (tmp_path / "scene.yaml").write_text(
        text.replace("dual_fr3.yaml", str(ROBOTS / "dual_fr3.yaml"))
    )
    with pytest.raises(BadInput, match=said):
        load_scene(tmp_path / "scene.yaml")


def test_xacro_that_is_wrong_is_told_by_name(tmp_path):
    path = tmp_path / "own.urdf"
    path.write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="x"><xacro:none/></robot>'
    )
    (tmp_path / "own.yaml").write_text(OWN.replace(URDF, "own.urdf"))
    with pytest.raises(BadInput, match=r"own.urdf: xacro: .*none"):
        robot_of(load_scene(ROBOTS / "two_arms.yaml", tmp_path / "own.yaml").robot)


def test_the_poses_of_both_arms_are_apart_by_what_the_urdf_says(robot):
    """Mirrored arms, 0.6 m from each other."""
    q = robot.with_groups(
        np.zeros(robot.size), arm=np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])
    )[0]
    q[robot.acting("right").slice("arm")] = q[robot.acting("left").slice("arm")]
    left, right = (view.kinematics.hand_pose(q) for view in robot.hands)
    np.testing.assert_allclose(inverse(left)[:3, :3] @ right[:3, :3], np.eye(3), atol=1e-9)
    np.testing.assert_allclose(left[:3, 3] - right[:3, 3], [0.0, 0.6, 0.0], atol=1e-9)
