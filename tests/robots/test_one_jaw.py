"""An arm of five joints whose gripper has one jaw that moves, from its file to a verdict."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import galley
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.errors import BadInput
from galley.domain.failure import FailureKind
from galley.domain.frames import rotation_about, rotation_z, transform
from galley.domain.shipped import ROBOTS
from galley.domain.state import HAND, Placement
from galley.robots.catalog import robot_of
from galley.skills.manipulation.grasps import grasps_of, hand_in_item, item_in_hand

DESK = {"scene": "desk.yaml", "domain": "drawers.pddl", "problem": "desk.pddl"}
OWN = (ROBOTS / "so101.yaml").read_text()
DOWN = np.diag([1.0, -1.0, -1.0])


@pytest.fixture(scope="module")
def task():
    return galley.load(**DESK)


@pytest.fixture(scope="module")
def robot(task):
    return robot_of(task.scene.robot)


@pytest.fixture(scope="module")
def world(task, robot):
    with PyBulletWorld(task.scene, robot) as made:
        yield made


@pytest.fixture(scope="module")
def run(task):
    return galley.execute(galley.solve(task, seed=1), executor="kinematic")


def above(robot, xy, yaw, tilt=0.0):
    """X_WH with the grasp centre 20 mm above the desk."""
    R = rotation_about(np.array([1.0, 0.0, 0.0]), tilt) @ rotation_z(yaw) @ DOWN
    return transform(R, (*xy, 0.74)) @ transform(None, -robot.p_HT)


def test_both_jaws_touch_a_cube_that_is_held(task, robot, world):
    """By PyBullet's distances, at widths from closed to open."""
    red, start = task.scene.items[0], task.start
    base = start.q[robot.slice("base")]
    X_WH = robot.kinematics.nearest(above(robot, (0.2, 0.05), 0.4), base)
    arm = robot.kinematics.configurations(X_WH, base, np.zeros(1))[0]
    grasp = next(each for each in grasps_of(red, robot.gripper) if each.name.startswith("top/"))
    held = start.with_item(0, Placement(HAND, item_in_hand(grasp, robot.p_HT)))
    for half, apart in ((grasp.width / 2.0, 0.0), (grasp.width / 2.0 + 0.004, 0.008)):
        q = robot.with_groups(start.q, arm=arm, fingers=robot.fingers_at(half))[0]
        world.set_state(held.with_robot(q))
        near = world.near_pairs(0.02)
        still, jaw = (near[tuple(sorted((f, "red")))] for f in robot.fingers)
        assert still == pytest.approx(0.0, abs=1e-3)  # it does not move
        assert jaw == pytest.approx(apart, abs=2.5e-3)  # the cube is higher than the pad


def test_a_grasp_is_on_the_pad_of_the_jaw_that_stands_still(task, robot):
    """The grasp frame is half the width beside the item's middle, and y points to the middle."""
    grasps = grasps_of(task.scene.items[0], robot.gripper)
    assert robot.gripper.one_jaw
    for grasp in grasps:
        beside = grasp.X_IT[:3, 3] + 0.5 * grasp.width * grasp.X_IT[:3, 1]
        assert np.abs(grasp.X_IT[:3, 1] @ beside) < 1e-9
        np.testing.assert_allclose(hand_in_item(grasp, robot.p_HT)[:3, :3], grasp.X_IT[:3, :3])


@pytest.mark.parametrize("yaw", [0.0, 0.7, 1.2])
@pytest.mark.parametrize("tilt", [0.0, 0.03])
def test_the_nearest_pose_keeps_the_grasp_centre_and_turns_least(robot, yaw, tilt):
    """Against least squares from many starts."""
    wanted, base = above(robot, (0.18, 0.06), yaw, tilt), np.zeros(3)
    found = robot.kinematics.nearest(wanted, base)
    p_T = np.append(robot.p_HT, 1.0)
    np.testing.assert_allclose(found @ p_T, wanted @ p_T, atol=2e-5)
    assert len(robot.kinematics.configurations(found, base, np.zeros(1)))

    def turned(X):
        cosine = 0.5 * (np.trace(wanted[:3, :3].T @ X[:3, :3]) - 1.0)
        return float(np.arccos(np.clip(cosine, -1.0, 1.0)))

    def left(arm):
        X = robot.kinematics.hand_pose(np.append(base, arm))
        return np.append(1e3 * (X @ p_T - wanted @ p_T)[:3], (X - wanted)[:3, :3])

    group, rng = robot.group("arm"), np.random.default_rng(0)
    inside = group.lower + 0.02, group.upper - 0.02
    best = min(
        (least_squares(left, rng.uniform(*inside), bounds=inside) for _ in range(12)),
        key=lambda each: each.cost,
    )
    at_best = robot.kinematics.hand_pose(np.append(base, best.x))
    assert turned(found) <= turned(at_best) + 1e-3
    assert turned(found) <= 0.05


def test_no_pose_is_near_where_the_direction_is_out_of_reach(robot):
    sideways = transform(rotation_about(np.array([1.0, 0, 0]), np.pi / 2) @ DOWN, (0.2, 0.0, 0.8))
    assert robot.kinematics.nearest(sideways, np.zeros(3)) is sideways


def test_the_cubes_get_where_they_are_to_go(run):
    assert run.success, run.failure
    assert not galley.judge(run).violations


def test_the_jaw_that_stands_still_comes_beside_the_cube_and_then_up_to_it(run, task, robot):
    """It is moved against it along y of the hand, with the other one still open."""
    lines = [m for m in run.solution.motions if m.action_index == 0]
    beside, against = (m for m in lines if m.phase.endswith("approach"))
    moves = []
    for motion in (beside, against):
        ends = [robot.with_groups(task.start.q, arm=q)[0] for q in motion.path.waypoints[[0, -1]]]
        before, after = map(robot.kinematics.hand_pose, ends)
        moves.append(after[:3, :3].T @ (after - before)[:3, 3])
    assert moves[0] == pytest.approx([0.0, 0.0, robot.spacing.retreat], abs=3e-3)
    assert moves[1] == pytest.approx([0.0, 0.006, 0.0], abs=1e-3)
    free = [m.record.margin_m for m in run.solution.motions if m.record.margin_m is not None]
    assert set(free) <= {robot.spacing.margin, robot.spacing.narrow}
    assert robot.spacing.margin == 0.004


@pytest.mark.slow
def test_the_cubes_get_there_under_physics(task):
    found = galley.execute(galley.solve(task, seed=2), executor="physics")
    assert found.success, found.failure


def test_a_cube_thinner_than_the_jaws_close_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_text(OWN.replace("[-0.17, 0.7]", "[0.3, 0.7]"))
    found = galley.solve(galley.load(**DESK, robot=tmp_path / "mine.yaml"))
    assert found.kind is FailureKind.DOES_NOT_FIT
    assert "is too thin for the hand: its fingers close to 0.0" in found.message
    assert found.certificate["narrowest_m"] > 0.025


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  grasp:", "  # grasp:", "'gripper_link' stands still as the gripper opens: give the gr"),
        ("-0.009, 0, -0.097", "-0.009, 0.3, -0.097", "the grasp frame (gripper.grasp) is not on"),
        ("[-0.17, 0.7]", "[0.7, -0.17]", "does not part steadily from 'gripper_link'"),
        ("[-0.17, 0.7]", "[-0.17, 1.6]", "is not opposite the pad of 'gripper_link' from closed"),
        ("margin: 0.004", "margin: -1", "spacing.margin: "),
        ("step: 0.005", "steps: 0.005", "spacing.steps: "),
    ],
)
def test_what_is_wrong_with_a_jaw_is_said(old, new, message, tmp_path):
    assert old in OWN
    (tmp_path / "mine.yaml").write_text(OWN.replace(old, new))
    with pytest.raises(BadInput) as bad:
        robot_of(galley.load(**DESK, robot=tmp_path / "mine.yaml").scene.robot)
    assert message in str(bad.value)
