"""Other planners, other problems and other scenes, all by options."""

import json

import numpy as np
import pytest

from galley.domain.log import Log
from galley.domain.shipped import KITCHEN
from galley.tests.effort import quick_first

ERRAND = KITCHEN / "sugar_only.pddl"


@pytest.fixture
def achieved(cli, tmp_path):
    """Run a task that must succeed: its report and its log."""

    def run(*arguments):
        out = tmp_path / "run"
        done = cli("run", "--no-video", "--execute", "kinematic", "--out", out, *arguments)
        assert done.status == 0, done.err
        report = json.loads((out / "report.json").read_text())
        assert (report["status"], report["goal_reached"]) == ("success", True)
        assert report["validation"]["violations"] == []
        return report, Log.load(out / "states.npz")

    return run


def arm_planners(report):
    free = [m for m in report["motions"] if m["planner"] not in ("straight", "direct")]
    return {m["planner"] for m in free if m["group"] == "arm"}


@pytest.mark.parametrize("arrival", quick_first(1, ["l1", "box"]))
@pytest.mark.slow
def test_the_seeds_rrt(achieved, arrival):
    report, _ = achieved("--problem", ERRAND, "--planner", "rrt", "--arrival", arrival)
    assert arm_planners(report) == {"rrt"}
    assert report["options"]["planner"] == "rrt"
    assert report["options"]["arrival"] == arrival


@pytest.mark.parametrize("method", quick_first(1, ["time-optimal", "smooth"]))
@pytest.mark.slow
def test_with_optimization_free_motions_of_arm_and_base_get_faster(achieved, method):
    plain, _ = achieved("--problem", ERRAND, "--optimize", "none")
    report, _ = achieved("--problem", ERRAND, "--optimize", method)
    assert report["options"]["optimize"] == method
    pairs = zip(report["motions"], plain["motions"], strict=True)
    free = [(m, p) for m, p in pairs if m["planner"] == "rrt-connect"]
    assert {m["group"] for m, _ in free} == {"arm", "base"}
    for motion, before in free:
        assert motion["optimizer"] == method
        # ``smooth`` turns a base early: x and y, then the heading, instead of all at once.
        early = method == "smooth" and motion["group"] == "base"
        longer = 1.02 * (np.sqrt(2.0) if early else 1.0)
        assert motion["length"]["optimized"] <= longer * motion["length"]["shortcut"]
        assert motion["duration_s"] < before["duration_s"]
    assert report["timing_s"]["optimization"] > 0


@pytest.mark.slow
def test_with_the_seeds_program_on_the_arms_paths(achieved):
    report, _ = achieved("--problem", ERRAND, "--optimize", "shortest")
    free = [m for m in report["motions"] if m["planner"] == "rrt-connect" and m["group"] == "arm"]
    assert free
    for motion in free:
        kept = motion["optimizer"].startswith("kept the planned path: ")
        assert kept == (motion["length"]["optimized"] is None)
        assert kept or motion["optimizer"] == "shortest"


@pytest.mark.slow
def test_another_problem_in_the_same_kitchen(achieved, problem):
    report, log = achieved("--problem", problem("(and (grasp spam) (near countertop))"))
    assert report["plan"][-1] == "(navigate burner countertop)"
    assert log.held[-1] == 1


SCENE = """\
galley_scene: 1
name: workshop

robot:
  model: mobile_panda
  start:
    base: [1.8, 0.0, 3.141592653589793]
    arm: [0.0, -0.570, 0.0, -2.811, 0.0, 3.036, 0.741]

bodies:
  floor:
    shapes:
      - {extents: [[-1.0, 3.0], [-2.0, 2.0], [-0.05, 0.0]]}
  table:
    shapes:
      - {extents: [[-0.3, 0.3], [-0.8, 0.8], [0.70, 0.75]]}
      - {extents: [[-0.25, -0.20], [-0.75, -0.70], [0.0, 0.70]]}
      - {extents: [[-0.25, -0.20], [0.70, 0.75], [0.0, 0.70]]}

regions:
  left:
    body: table
    surface: [{x: [-0.15, 0.25], y: [0.15, 0.70], z: 0.75}]
  right:
    body: table
    surface: [{x: [-0.15, 0.25], y: [-0.70, -0.15], z: 0.75}]

items:
  red_box:
    mass: 0.2
    shapes: [{box: [0.06, 0.05, 0.12], color: [0.8, 0.1, 0.1]}]
    pose: {on: left, xy: [0.12, 0.35]}
  blue_box:
    mass: 0.2
    shapes: [{box: [0.05, 0.05, 0.10], color: [0.1, 0.1, 0.8]}]
    pose: {on: left, xy: [0.10, 0.55], yaw: 0.5}

stances:
  away: {x: [1.4, 2.2], y: [-0.5, 0.5]}
  port: {x: [0.7, 1.3], y: [0.0, 0.9]}
  starboard: {x: [0.7, 1.3], y: [-0.9, 0.0]}

objects:
  dock: {stance: away}
  shelf_a: {stance: port, region: left}
  shelf_b: {stance: starboard, region: right}
  red: {item: red_box}
  blue: {item: blue_box}
  gripper: {hand: panda_hand}
"""

PROBLEM = """\
(define (problem carry) (:domain kitchen)
  (:objects dock shelf_a shelf_b - furniture red blue - objective gripper - hand)
  (:init (near dock) (on red shelf_a) (on blue shelf_a) (empty gripper))
  (:goal (and (on red shelf_b) (on blue shelf_b))))
"""


@pytest.mark.slow
def test_another_scene(achieved, tmp_path):
    scene, problem = tmp_path / "workshop.yaml", tmp_path / "carry.pddl"
    scene.write_text(SCENE)
    problem.write_text(PROBLEM)
    report, log = achieved("--scene", scene, "--problem", problem)
    assert len(report["plan"]) == 8
    assert report["scene"] == str(scene)
    for height, pose in zip((0.12, 0.10), log.items[-1], strict=True):
        assert pose[2] == pytest.approx(0.75 + height / 2, abs=0.005)
        assert -0.70 <= pose[1] <= -0.15
        tilt = np.hypot(pose[3], pose[4])  # qx, qy of an upright box
        assert tilt < 0.01
