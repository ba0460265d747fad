"""Bases that roll along their heading, lifts, and bases that a URDF has: from file to verdict."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.metadata import distributions

import numpy as np
import pybullet_data
import pytest

import galley
from galley.domain.errors import BadInput
from galley.domain.failure import Failure
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import ROBOTS
from galley.motion import CollisionWorld, Path, box, cylinder, plan
from galley.robots.catalog import robot_of

OWN = (ROBOTS / "iiwa.yaml").read_text()
SHIPPED = "package://pybullet_data/kuka_iiwa/model.urdf"
HAS_TIAGO = any(each.name == "example-robot-data" for each in distributions())
IIWA = f"{pybullet_data.getDataPath()}/kuka_iiwa/model.urdf"


def robot_file(folder, base, text=OWN):
    file = folder / "mine.yaml"
    file.write_text(text.replace("fixed: {}", base))
    return file


def lifted(folder):
    """KUKA's arm on a lift of 0.4 m, which leans forward."""
    whole = ET.parse(IIWA).getroot()
    for mesh in whole.iter("mesh"):
        mesh.set("filename", f"package://pybullet_data/kuka_iiwa/{mesh.get('filename')}")
    whole.append(ET.Element("link", name="pole"))
    lift = ET.SubElement(whole, "joint", name="lift", type="prismatic")
    ET.SubElement(lift, "origin", xyz="0.05 0 0.3", rpy="0 0.2 0")
    ET.SubElement(lift, "parent", link="pole")
    ET.SubElement(lift, "child", link="lbr_iiwa_link_0")
    ET.SubElement(lift, "axis", xyz="0 0 1")
    ET.SubElement(lift, "limit", lower="0", upper="0.4", effort="2000", velocity="0.1")
    ET.ElementTree(whole).write(folder / "lifted.urdf")
    text = OWN.replace(SHIPPED, "lifted.urdf")
    text = text.replace("arm: [", "arm: [lift, ").replace("folded: [", "folded: [0.1, ")
    return text.replace("velocity: [", "velocity: [0.1, ")


def sideways(motion):
    way = motion.path.resampled(0.01).waypoints
    step, heading = np.diff(way, axis=0), way[:-1, 2]
    return np.abs(step[:, 1] * np.cos(heading) - step[:, 0] * np.sin(heading)).max(initial=0.0)


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """A run in the kitchen whose robot drives along its heading only."""
    file = robot_file(tmp_path_factory.mktemp("robot"), "differential: {velocity: [0.5, 1.0]}")
    found = galley.solve(galley.load(problem="sugar_only.pddl", robot=file), seed=1)
    return galley.execute(found, executor="kinematic")


def test_it_never_moves_sideways_and_the_task_is_done(driven):
    assert driven.success, driven.failure
    assert not galley.judge(driven).violations
    drives = [each for each in driven.solution.motions if each.group == "base"]
    assert sum(each.path.length for each in drives) > 1.0
    assert max(map(sideways, drives)) < 1e-9
    assert {each.group for each in driven.solution.motions} == {"base", "arm", "fingers"}
    speed = np.hypot(*driven.log.velocity[:, :2].T)
    assert 0.1 < speed.max() <= 0.5 + 1e-6


def test_a_log_in_which_it_slips_sideways_is_refused(driven):
    q = driven.log.q.copy()
    k = int(np.abs(np.diff(q[:, :3], axis=0)).max(axis=1).argmax())
    slip = np.linspace(0.0, 0.05 * 20 * driven.log.period, 20)
    q[k : k + 20, 0] -= slip * np.sin(q[k, 2])
    q[k : k + 20, 1] += slip * np.cos(q[k, 2])
    found = galley.judge(replace(driven, log=replace(driven.log, q=q))).violations
    assert any(each.kind == "velocity" and "sideways" in each.what for each in found)


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("differential: {velocity: [0.5, 0.5, 1.0]}", "does not drive sideways"),
        ("differential: {velocity: [0.5]}", "velocity"),
        ("differential: {in_urdf: true, size: [0.5, 0.5, 0.3]}", "leave out size"),
        ("{differential: {}, holonomic: {}}", "differential"),
        ("tracked: {}", "tracked"),
    ],
)
def test_a_base_that_can_not_be_is_refused_in_one_line(tmp_path, base, words):
    file = robot_file(tmp_path, base)
    with pytest.raises(BadInput) as refused:
        load_scene("kitchen.yaml", robot=file)
    assert words in str(refused.value)
    assert all(each.line for each in refused.value.errors)


def test_a_base_in_the_urdf_stands_on_the_floor_on_its_lowest_links(tmp_path):
    """KUKA's foot, whose mesh ends at its frame, on a root that is lower, or higher by 0.1 m."""
    lifted(tmp_path)
    urdf = (tmp_path / "lifted.urdf").read_text().replace('"prismatic"', '"fixed"')

    def at(z):
        (tmp_path / f"at{z}.urdf").write_text(urdf.replace('0.05 0 0.3" rpy="0 0.2 0', f"0 0 {z}"))
        own = robot_file(
            tmp_path, "holonomic: {in_urdf: true}", OWN.replace(SHIPPED, f"at{z}.urdf")
        )
        return robot_of(load_scene("kitchen.yaml", robot=own).robot)

    assert at(0.0).wheels == ("lbr_iiwa_link_0",)
    assert at(0.1).wheels == ()
    with pytest.raises(BadInput, match=r"ends 0\.100 m below the URDF's root"):
        at(-0.1)


def test_a_lift_is_solved_beside_the_arms_branches(tmp_path):
    """Every configuration has the hand where it is asked for, with the lift low and high."""
    file = robot_file(tmp_path, "fixed: {}", lifted(tmp_path))
    robot = robot_of(load_scene("kuka.yaml", robot=file).robot)
    high, group = robot.kinematics, robot.group("arm")
    assert high.solver == "EAIK's branches"
    assert group.joints[0] == "lift"
    low, up = group.lower, group.upper
    rng, solved, lifts = np.random.default_rng(3), 0, []
    for q in rng.uniform(low, up, (60, 8)):
        X = high.hand_pose(np.append(np.zeros(3), q))
        found = high.configurations(X, np.zeros(3), high.redundant_values(8, rng))
        solved += len(found) > 0
        lifts += found[:, 0].tolist()
        assert ((found >= low) & (found <= up)).all()
        poses = high.hand_poses(np.column_stack([np.zeros((len(found), 3)), found]))
        assert np.abs(poses - X).max(initial=0.0) < 1e-6
    assert solved > 50
    assert min(lifts) < 0.1
    assert max(lifts) > 0.3


def test_a_robot_on_a_lift_carries_things_to_the_stove(tmp_path):
    text = lifted(tmp_path)
    file = robot_file(tmp_path, "fixed: {xyz: [0, 0, -0.3]}", text)
    task = galley.load(scene="kuka.yaml", domain="drawers.pddl", problem="kuka.pddl", robot=file)
    run = galley.execute(galley.solve(task, seed=1), executor="kinematic")
    assert run.success, run.failure
    assert not galley.judge(run).violations


def test_the_library_plans_turns_and_drives_for_it(tmp_path):
    scene = load_scene("kitchen.yaml", robot=robot_file(tmp_path, "differential: {}"))
    robot = robot_of(scene.robot)
    posts = {"post": cylinder(0.05, 1.0, at=[0.5, 0.0, 0.5])}
    world = CollisionWorld(robot, posts, q=scene.robot.q)
    path = plan(world, [2.0, 0.0, 3.1], [-0.3, 0.2, 0.0], group="base")
    assert isinstance(path, Path)
    steps = np.diff(path.resampled(0.01).waypoints, axis=0)
    heading = path.resampled(0.01).waypoints[:-1, 2]
    across = steps[:, 1] * np.cos(heading) - steps[:, 0] * np.sin(heading)
    assert np.abs(across).max() < 1e-9
    assert world.view("base").unproven(path.waypoints, 0.0025) is None
    # As wide as the chassis is long, but for 7 mm on either side.
    slot = [box([0.1, 3.0, 1.0], at=[2.0 + side * 0.4645, 0.0, 0.5]) for side in (-1.0, 1.0)]
    between = CollisionWorld(robot, {"slot": slot}, q=scene.robot.q)
    refused = plan(between, [2.0, -0.8, 0.0], [2.0, 0.8, 0.0], group="base")
    assert isinstance(refused, Failure)
    assert "no room to turn" in refused.message
    with pytest.raises(ValueError, match="moves by itself"):
        plan(world, scene.robot.q[:10], scene.robot.q[:10], group="base+arm")


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TIAGO, reason="needs pip install 'galley-tamp[robots]' (131 MB)")
def test_tiago_tidies_the_kitchen():
    task = galley.load(robot="tiago.yaml")
    run = galley.execute(galley.solve(task, seed=1), executor="kinematic")
    assert run.success, run.failure
    assert not galley.judge(run).violations
    assert max(sideways(each) for each in run.solution.motions if each.group == "base") < 1e-9
