"""How the base drives: mostly forward, turning the short way, and no slower for it.

Measured on the trajectories' samples: the direction of travel in the base's own frame.
"""

from __future__ import annotations

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN
from galley.domain.frames import nearest_turn
from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.engine import load
from galley.motion.effects import state_after
from galley.optimization.smooth import smooth
from galley.robots.catalog import robot_of
from galley.skills.manipulation.context import PlanningContext, Settings
from galley.skills.manipulation.motion_builder import MotionBuilder
from galley.skills.manipulation.optimize import optimize_trajectories
from galley.skills.manipulation.proof import free_view
from galley.tamp.search import Search

SEEDS = range(2)
SAMPLES = 1000


def ways(trajectory):
    """Metres driven in all, forward and backwards: within 45 degrees of +x and -x of the base."""
    q = trajectory(np.linspace(0.0, trajectory.duration, SAMPLES))
    steps, heading = np.diff(q[:, :2], axis=0), 0.5 * (q[1:, 2] + q[:-1, 2])
    ahead = np.cos(heading) * steps[:, 0] + np.sin(heading) * steps[:, 1]
    way = np.hypot(steps[:, 0], steps[:, 1])
    forward, back = ahead > np.sqrt(0.5) * way, -ahead > np.sqrt(0.5) * way
    return np.array([way.sum(), way[forward].sum(), way[back].sum()])


def drives(task, seed, world):
    """The task's drives with the context and the States in which they begin."""
    context = PlanningContext(task.scene, world.robot, world, Settings(seed))
    found, state = Search(context, task, task.start).solve(), task.start
    for motion in found.refined.motions:
        if motion.group == "base":
            yield context, state, optimize_trajectories(context, (motion,), state)[0]
        state = state_after(task.scene, world.robot, motion, state)


@pytest.fixture(scope="module")
def driven():
    """All drives of the default task and of one that has to go to two ends of the kitchen."""
    two_ends = [SCENARIOS / f"two_ends{end}" for end in ("_scene.yaml", ".pddl")]
    tasks = {
        "default": load(),
        "two_ends": load(scene=two_ends[0], domain=KITCHEN / "drawers.pddl", problem=two_ends[1]),
    }
    found = {}
    for name, task in tasks.items():
        with PyBulletWorld(task.scene, robot_of(task.scene.robot)) as world:
            found[name] = [each for seed in SEEDS for each in drives(task, seed, world)]
    return found


@pytest.mark.parametrize("name", ["default", "two_ends"])
def test_most_of_the_way_is_driven_forward_and_little_backwards(driven, name):
    way, forward, back = sum(ways(motion.trajectory) for _, _, motion in driven[name])
    assert forward > 0.55 * way
    assert back < 0.2 * way


def test_facing_where_it_goes_takes_a_drive_no_longer_and_drives_more_of_it_forward(driven):
    """Against the shortest curve through x, y and heading, on the same paths."""
    facing, plain = np.zeros(4), np.zeros(4)
    for context, state, motion in (each for some in driven.values() for each in some):
        group = context.robot.group("base")
        view = free_view(context, state, "base", motion.allowed, MARGIN)
        other = smooth(view, motion.path, group, context.speed(state, "base")).trajectory
        facing += [motion.trajectory.duration, *ways(motion.trajectory)]
        plain += [other.duration, *ways(other)]
    assert facing[0] < 1.02 * plain[0]
    assert facing[2] / facing[1] > plain[2] / plain[1] + 0.02


def test_each_drive_turns_the_short_way_where_the_heading_stays_within_its_limits(driven):
    for context, _, motion in (each for some in driven.values() for each in some):
        base, end = context.robot.group("base"), motion.path.end[2]
        turned = end - motion.path.start[2]
        other = end - np.sign(turned) * 2.0 * np.pi
        assert abs(turned) <= np.pi or not base.lower[2] <= other <= base.upper[2]


def test_a_drive_past_the_heading_pi_turns_a_little_not_nearly_all_around(kitchen, world):
    """The kitchen's robot starts at the heading pi."""
    context, state = PlanningContext(kitchen, world.robot, world), load().start
    builder = MotionBuilder(context, state, 0, np.random.default_rng(0))
    assert builder.move_base(np.array([1.6, 0.2, -3.0]), "") is None
    turned = builder.state.q[2] - state.q[2]
    assert turned == pytest.approx(np.pi - 3.0)


def test_where_the_short_way_round_leaves_the_limits_the_base_turns_the_other_way(robot):
    base = robot.group("base")
    low, high = base.lower[2], base.upper[2]
    assert nearest_turn(0.2, high - 0.1, low, high) == pytest.approx(0.2)  # not 2 pi + 0.2
