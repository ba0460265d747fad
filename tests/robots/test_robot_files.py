"""Robots from files through the pipeline: plans, physics, refusals; and the fixed base."""

import re

import numpy as np
import pytest

import galley
from galley.collision.checker import unchecked_pairs
from galley.domain.errors import BadInput
from galley.domain.scene.model import Spot
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import ROBOTS
from galley.robots.catalog import robot_of
from galley.skills.base_placement.stances import sample_stances
from galley.skills.infeasibility.refusals import region_out_of_reach
from galley.skills.manipulation.context import PlanningContext

TABLE = {"scene": "table.yaml", "domain": "drawers.pddl", "problem": "table.pddl"}
KUKA = {"scene": "kuka.yaml", "domain": "drawers.pddl", "problem": "kuka.pddl"}
ROOM = (ROBOTS / "table.yaml").read_text()
GOALS = {
    "out of reach": ("(on box far)", "unreachable"),
    "too wide": ("(on slab front)", "does-not-fit"),
    "too heavy": ("(on anvil front)", "unstable"),
    "too tall": ("(in pole drawer)", "does-not-fit"),
    "contradiction": ("(and (on box left) (in box drawer))", "contradiction"),
}


@pytest.mark.parametrize("robot", ["panda_fixed.yaml", "gen3.yaml", "ur5_fixed.yaml"])
@pytest.mark.slow
def test_a_table_is_cleared_under_physics(robot):
    run = galley.execute(galley.solve(galley.load(**TABLE, robot=robot), seed=1))
    assert run.success, run.failure
    assert not galley.judge(run).violations


def test_an_arm_with_a_gripper_of_another_file_cooks():
    run = galley.execute(galley.solve(galley.load(**KUKA), seed=1), executor="kinematic")
    assert run.success, run.failure
    assert not galley.judge(run).violations


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """The table with things that can't be done on it."""
    folder = tmp_path_factory.mktemp("room")
    shelf = "  shelf: {shapes: [{extents: [[1.6, 1.9], [-0.3, 0.3], [0.0, 0.9]]}]}\n"
    far = "  far: {body: shelf, surface: [{x: [1.62, 1.88], y: [-0.28, 0.28], z: 0.9}]}\n"
    things = """
  slab:
    mass: 0.2
    shapes: [{box: [0.13, 0.13, 0.13]}]
    pose: {on: left, xy: [0.55, -0.3], yaw: 0.0}
  anvil:
    mass: 60
    shapes: [{box: [0.05, 0.05, 0.05]}]
    pose: {on: left, xy: [0.36, -0.22], yaw: 0.0}
  pole:
    mass: 0.2
    shapes: [{box: [0.04, 0.3, 0.3]}]
    pose: {on: left, xy: [0.36, -0.40], yaw: 0.0}
"""
    text = ROOM.replace("bodies:\n", f"bodies:\n{shelf}").replace("regions:\n", f"regions:\n{far}")
    text = text.replace("\nitems:\n", f"\nitems:{things}").replace(
        "file: panda", f"file: {ROBOTS}/panda"
    )
    names = "".join(f"  {name}: {{item: {name}}}\n" for name in ("slab", "anvil", "pole"))
    text += f"  far: {{stance: here, region: far}}\n{names}"
    (folder / "room.yaml").write_text(text)
    problem = (ROBOTS / "table.pddl").read_text().replace("left front mark", "left front mark far")
    problem = problem.replace("box tin block -", "box tin block slab anvil pole -")
    problem = problem.replace(
        "(near left)", "(near far) (on slab left) (on anvil left) (on pole left) (near left)"
    )
    (folder / "room.pddl").write_text(problem)
    return folder


@pytest.mark.parametrize("why", GOALS)
@pytest.mark.parametrize("robot", ["panda_fixed.yaml", "gen3.yaml", "ur5_fixed.yaml", "iiwa.yaml"])
@pytest.mark.slow
def test_what_a_robot_cannot_do_is_refused_for_the_right_reason(why, robot, room):
    """By construction: 1.6 m away, 13 cm thick, 60 kg, 30 cm high, two places at once."""
    goal, kind = GOALS[why]
    if robot == "iiwa.yaml":  # lifted onto the pedestal
        text = (ROBOTS / robot).read_text().replace("fixed: {}", "fixed: {xyz: [0, 0, 0.72]}")
        robot = room / robot
        robot.write_text(text)
    text = (room / "room.pddl").read_text()
    (room / "goal.pddl").write_text(text.replace("(and (on box mark) (in tin drawer))", goal))
    task = galley.load(room / "room.yaml", "drawers.pddl", room / "goal.pddl", robot=robot)
    failure = galley.solve(task)
    assert not hasattr(failure, "motions")
    assert failure.kind.value == kind, str(failure)


def test_a_robot_file_of_the_users_takes_the_shipped_gripper_by_its_name(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text((ROBOTS / "iiwa.yaml").read_text())
    mine, shipped = (robot_of(load_scene("kuka.yaml", each).robot) for each in (own, None))
    assert mine.gripper.opening == shipped.gripper.opening
    (tmp_path / "parallel_gripper.urdf").write_text("<robot/>")  # but a file of theirs wins
    with pytest.raises(BadInput, match=re.escape(str(tmp_path / "parallel_gripper.urdf"))):
        robot_of(load_scene("kuka.yaml", own).robot)


@pytest.mark.parametrize("name", ["panda_fixed.yaml", "gen3.yaml", "ur5_fixed.yaml", "iiwa.yaml"])
def test_a_refused_spot_is_out_of_reach_of_a_million_configurations(name):
    scene = load_scene("table.yaml", robot=ROBOTS / name)
    robot, rng = robot_of(scene.robot), np.random.default_rng(0)
    context = PlanningContext(scene, robot, None)
    arm, item, region = robot.group("arm"), scene.item("box"), scene.region("left")
    held = []
    for _ in range(10):
        low, high = np.maximum(arm.lower, -np.pi), np.minimum(arm.upper, np.pi)
        Q = rng.uniform(low, high, (100_000, arm.size))
        X = robot.kinematics.hand_poses(np.column_stack([np.zeros((len(Q), 3)), Q]))
        held.append(X[:, :3, 3] + X[:, :3, :3] @ robot.p_HT)
    grasps, refused = np.concatenate(held), []
    heights = region.boxes[0, 0, 2], region.boxes[0, 0, 2] + item.size[2]
    for x in np.linspace(0.4, 1.4, 11):
        spot = Spot(np.array([x, -0.4]))
        nearest = np.column_stack([np.tile(spot.xy, (len(grasps), 1)), grasps[:, 2]])
        nearest[:, 2] = np.clip(nearest[:, 2], *heights)
        away = np.linalg.norm(grasps - nearest, axis=1).min()
        failure = region_out_of_reach(context, item, region, scene.stance("here"), None, spot)
        refused.append(failure is not None)
        assert away > 0.02 if refused[-1] else away < 0.3, (x, away)
    assert refused == sorted(refused)  # from some distance on
    assert refused[-1]
    assert not refused[0]


def test_a_base_that_may_not_move_has_one_place_to_stand():
    scene = load_scene("table.yaml")
    robot, rng = robot_of(scene.robot), np.random.default_rng(0)
    X_WH = robot.kinematics.hand_pose(scene.robot.q)
    found = sample_stances(X_WH, scene.stance("here"), robot, 50, rng)
    assert found.tolist() == [[0.0, 0.0, 0.0]]
    assert ("panda_link0", "pedestal") in unchecked_pairs(scene, robot)
    assert not unchecked_pairs(
        load_scene("kitchen.yaml"), robot_of(load_scene("kitchen.yaml").robot)
    )


def test_another_robot_takes_the_place_of_a_scenes_own():
    scene = load_scene("kitchen.yaml", robot=ROBOTS / "iiwa.yaml")
    own = load_scene("kitchen.yaml")
    assert scene.robot.q[:3] == pytest.approx(own.robot.q[:3])
    assert scene.robot.name == "iiwa"
    assert scene.binding("h1").target == "hand_frame"
    assert scene.robot.base.lower == scene.robot.base.upper  # it is fixed


def test_places_that_another_robot_cannot_reach_are_named_and_the_rest_goes_on(caplog):
    galley.load(**TABLE)
    assert not caplog.messages
    galley.load(robot="gen3.yaml")
    said = [line.partition("kitchen.yaml:")[2] for line in caplog.messages if "objects." in line]
    wanted = (
        "objects.countertop: all of hitman_top is at least",
        "objects.burner: all of burners is at least",
        "objects.drawer: all of indigo_drawer_top_inside is at least",
    )
    assert all(each in line for each, line in zip(wanted, said, strict=True))


def test_faults_of_a_robot_file_come_with_its_own_lines(tmp_path):
    text = (
        (ROBOTS / "iiwa.yaml").read_text().replace("[left_finger, right_finger]", "[left_finger]")
    )
    (tmp_path / "bad.yaml").write_text(text.replace("folded: [0.0, 0.2,", "folded: [0.2,"))
    with pytest.raises(BadInput) as caught:
        load_scene("kitchen.yaml", robot=tmp_path / "bad.yaml")
    said, lines = str(caught.value), (tmp_path / "bad.yaml").read_text().splitlines()
    at = next(k for k, line in enumerate(lines, 1) if "fingers:" in line)
    assert f"{tmp_path}/bad.yaml:{at}:" in said
    assert "fingers: expected 2 entries, got 1" in said


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("may_touch: [[left_finger, lbr_iiwa_link_9]]", "may_touch: the URDF has no link 'lbr_"),
        ("  grasp: {link: palm}", "gripper.grasp: the URDF has no link 'palm'"),
    ],
)
def test_links_that_the_urdf_does_not_have_are_named_with_their_key(entry, said, tmp_path):
    text = (ROBOTS / "iiwa.yaml").read_text().replace("urdf: parallel", f"urdf: {ROBOTS}/parallel")
    (tmp_path / "bad.yaml").write_text(f"{text}{entry}\n")
    with pytest.raises(BadInput, match=said):
        robot_of(load_scene("kuka.yaml", robot=tmp_path / "bad.yaml").robot)
