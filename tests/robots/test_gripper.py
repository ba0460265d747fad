"""Grasp frame and measures from a gripper's meshes, and the joints that move its fingers."""

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import ROBOTS
from galley.domain.state import initial_state
from galley.robots import panda_arm
from galley.robots.catalog import description_of
from galley.robots.gripper import find_gripper
from galley.robots.panda.description import PANDA_GRIPPER
from galley.robots.urdf_reader import link_shapes, read_tree
from galley.skills.manipulation.context import PlanningContext
from galley.skills.pick import pick_manipulations

FINGERS = {"panda_finger_joint1": (0.0, 0.04), "panda_finger_joint2": (0.0, 0.04)}


@pytest.fixture(scope="module")
def robotiq():
    """The Gen3 with the 2F-85, whose knuckles and tips turn by one angle."""
    return description_of(load_scene("table.yaml", robot="gen3.yaml").robot)


def test_the_hand_of_the_panda_is_found_as_franka_publishes_it():
    arm = panda_arm()
    found = find_gripper(arm.urdf, FINGERS, arm.palm, arm.fingers)
    assert found.X_RT[:3, :3] == pytest.approx(np.eye(3), abs=1e-9)
    assert found.X_RT[:3, 3] == pytest.approx(arm.p_HT, abs=3e-4)
    assert found.gripper.opening == pytest.approx(PANDA_GRIPPER.opening, abs=5e-4)
    assert found.gripper.to_palm == pytest.approx(PANDA_GRIPPER.to_palm, abs=1e-3)
    assert found.gripper.to_finger == pytest.approx(PANDA_GRIPPER.to_finger, abs=1e-3)


def test_fingers_stand_as_far_apart_as_they_are_told(robotiq):
    tree, q = read_tree(robotiq.urdf, robotiq.joints), np.zeros(robotiq.size)

    def apart(half):
        """Between the tips' origins, along the closing direction."""
        q[robotiq.slice("fingers")] = robotiq.fingers_at(half)
        X_WH, left, right = (tree.link_pose(n, q) for n in (robotiq.palm, *robotiq.fingers))
        return abs((X_WH[:3, :3].T @ (left - right)[:3, 3])[1])

    halves = np.linspace(0.002, robotiq.gripper.open, 17)
    # Tips that don't turn: the pads come as near as their origins do.
    moved = [apart(half) - apart(halves[0]) for half in halves]
    assert moved == pytest.approx(2.0 * (halves - halves[0]), abs=2e-4)
    back = robotiq.half_width(robotiq.fingers_at(halves))
    assert back == pytest.approx(halves, abs=1e-12)


def test_finger_rates_are_the_slope_of_the_table(robotiq):
    for half in (0.011, 0.03):
        step = 1e-7
        slope = (robotiq.fingers_at(half + step) - robotiq.fingers_at(half - step)) / (2.0 * step)
        assert robotiq.finger_rates(half) == pytest.approx(slope, rel=1e-5)


def test_a_gripper_of_one_moving_jaw_is_refused_by_name():
    arm = panda_arm()
    still = {"panda_finger_joint1": (0.0, 0.0), "panda_finger_joint2": (0.0, 0.0)}
    with pytest.raises(ValueError, match="panda_leftfinger and panda_rightfinger don't part"):
        find_gripper(arm.urdf, still, arm.palm, arm.fingers)


def corners(robot, q):
    """Of all its collision shapes in the world, sorted."""
    tree, found = read_tree(robot.urdf, robot.joints), []
    for shape in link_shapes(robot.urdf):
        X = tree.link_pose(shape.link, q) @ shape.X_LS
        half = np.array(np.meshgrid(*[[-s, s] for s in shape.size])).T.reshape(-1, 3)
        found += (half @ X[:3, :3].T + X[:3, 3]).round(9).tolist() if shape.kind == "box" else []
    return sorted(found)


def test_a_pad_that_is_fixed_to_a_finger_is_part_of_it_whichever_of_them_is_named(tmp_path):
    """The same gripper with its pads in the fingers' links, and in links of their own."""
    text, robot = ((ROBOTS / n).read_text() for n in ("parallel_gripper.urdf", "iiwa.yaml"))
    pad = '<collision><origin xyz="0 {y} 0.06"/><geometry><box size="0.02 0.004 0.03"/>'
    models = []
    for name in ("together", "apart"):
        urdf = text
        for side, y in (("left", -0.001), ("right", 0.001)):
            box = pad.replace("{y}", str(y)) + "</geometry></collision>"
            end = f'<link name="{side}_finger">'
            if name == "together":
                urdf = urdf.replace(end, end + box)
                continue
            turned = pad.replace("{y} 0.06", "0 0") + "</geometry></collision>"
            turned = turned.replace('size="0.02 0.004 0.03"', 'size="0.004 0.02 0.03"')
            urdf = urdf.replace(
                "</robot>",
                f'''<link name="{side}_pad">{turned}</link>
                <joint name="{side}_pad_mount" type="fixed"><parent link="{side}_finger"/>
                <child link="{side}_pad"/><origin xyz="0 {y} 0.06" rpy="0 0 {np.pi / 2}"/></joint>
                </robot>''',
            )
        (tmp_path / f"{name}.urdf").write_text(urdf)
        for part in ("finger",) if name == "together" else ("finger", "pad"):
            own = robot.replace("parallel_gripper", name).replace(
                "fingers: [left_finger, right_finger]", f"fingers: [left_{part}, right_{part}]"
            )
            (tmp_path / "robot.yaml").write_text(own)
            models.append(description_of(load_scene("kuka.yaml", tmp_path / "robot.yaml").robot))
    first, *others = models
    q = np.random.default_rng(0).uniform(0.0, 0.05, first.size)
    for other in others:
        assert np.allclose(other.gripper.table, first.gripper.table)
        for measure in ("opening", "widest", "pad", "to_palm", "to_finger"):
            mine, its = (getattr(each.gripper, measure) for each in (first, other))
            assert its == pytest.approx(mine, abs=1e-9)
        assert np.allclose(corners(other, q), corners(first, q), atol=1e-8)
        shaped = {shape.link for shape in link_shapes(other.urdf)}
        assert len(shaped & {"left_finger", "left_pad", "right_finger", "right_pad"}) == 2


@pytest.mark.parametrize("opens_fully", [False, True])
def test_a_gripper_that_opens_fully_only_comes_to_no_item_half_open(opens_fully, tmp_path):
    own = (ROBOTS / "iiwa.yaml").read_text() + f"  opens_fully: {str(opens_fully).lower()}\n"
    (tmp_path / "robot.yaml").write_text(own)
    scene = load_scene("kuka.yaml", tmp_path / "robot.yaml")
    robot = description_of(scene.robot)
    with PyBulletWorld(scene, robot) as world:
        context, rng = PlanningContext(scene, robot, world), np.random.default_rng(0)
        found = pick_manipulations(context, initial_state(scene), 0, rng)
        openings = {round(next(found).opening, 6) for _ in range(8)}
    assert (openings == {round(robot.gripper.open, 6)}) == opens_fully
