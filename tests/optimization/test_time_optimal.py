"""Time-optimal trajectories: limits, proofs, ruckig's bound, and what happens without room."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.collision.collision_world import CollisionWorld
from galley.domain.failure import Failure, FailureKind
from galley.motion.path import Path
from galley.motion.planners.planning import plan
from galley.motion.trajectory.timing import rest_to_rest
from galley.optimization import time_optimal as module
from galley.optimization.time_optimal import OptimizedTrajectory, time_optimal
from galley.optimization.verdict import check_trajectory
from galley.robots.model import join_groups
from galley.robots.panda.description import panda_arm
from galley.robots.panda.ik import LIMITS
from galley.tests.optimization.curves import GOAL, SHAPES, START, assert_runs, fastest

few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def arm():
    return panda_arm().group("arm")


@pytest.fixture(scope="module")
def world():
    return CollisionWorld(panda_arm(), SHAPES)


@pytest.fixture(scope="module")
def around(world):
    path = plan(world, START, GOAL, seed=0)
    assert isinstance(path, Path)
    assert len(path) > 2
    return path


def polygon(seed, n, group, size=1.0):
    rng = np.random.default_rng(seed)
    middle = 0.5 * (group.lower + group.upper)
    reach = np.minimum(size, 0.5 * (group.upper - group.lower))
    return Path(group.name, middle + rng.uniform(-1, 1, (n, group.size)) * reach)


# -- without a world -------------------------------------------------------------------------------


@few
@given(seeds, st.integers(2, 8), st.sampled_from([0.05, 0.4, 1.0]), st.sampled_from([0.1, 1.0]))
def test_limits_hold_and_resting_at_the_corners_is_slower(arm, seed, n, size, scale):
    path = polygon(seed, n, arm, size)
    result = time_optimal(None, path, arm, scale)
    assert isinstance(result, OptimizedTrajectory)
    assert result.method == "time-optimal"
    assert_runs(result.trajectory, arm, scale, path.start, path.end)
    assert result.trajectory.duration < rest_to_rest(path, arm, scale).duration


@few
@given(seeds, st.integers(2, 6), st.sampled_from(["base", "base+arm"]))
def test_a_base_too_with_its_low_jerk(robot, seed, n, name):
    groups = [robot.group(each) for each in name.split("+")]
    group = groups[0] if len(groups) == 1 else join_groups(name, groups)
    path = polygon(seed, n, group, 0.8)
    result = time_optimal(None, path, group)
    assert_runs(result.trajectory, group, 1.0, path.start, path.end)
    assert result.trajectory.group == name


@pytest.mark.parametrize("distance", [0.02, 0.1, 0.5, 2.0])
def test_a_straight_line_of_the_base_is_as_fast_as_ruckig(robot, distance):
    """Speed and acceleration are reached, or not: nothing is lost to averaging."""
    base = robot.group("base")
    path = Path("base", np.array([[0.0, 0.0, 0.0], [distance, 0.0, 0.0]]))
    least = fastest(path.start, path.end, base.velocity, base.acceleration, base.jerk)
    assert time_optimal(None, path, base).trajectory.duration <= 1.005 * least


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12])
def test_very_short_segments_do_no_harm(arm, tiny):
    points = polygon(3, 3, arm).waypoints
    path = Path("arm", np.vstack([points[:2], points[1] + tiny * np.arange(7), points[2]]))
    result = time_optimal(None, path, arm)
    assert_runs(result.trajectory, arm, 1.0, path.start, path.end)
    straight = time_optimal(None, Path("arm", points), arm)
    assert result.trajectory.duration < 1.3 * straight.trajectory.duration


# -- in a world ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_what_is_returned_is_proven_and_near_the_planned_path(world, around, arm, scale):
    view = world.view("arm")
    result = time_optimal(view, around, arm, scale)
    assert isinstance(result, OptimizedTrajectory), str(result)
    assert_runs(result.trajectory, arm, scale, around.start, around.end)
    assert check_trajectory(view, result.trajectory, arm, scale).passed
    q = result.trajectory(np.linspace(0, result.trajectory.duration, 3000))
    assert view.clearances(q).min() >= 0.0025 - 1e-4
    assert np.linalg.norm(np.diff(q, axis=0), axis=1).sum() <= around.length * (1 + 1e-9)


def test_corners_without_room_are_stops_and_the_path_is_kept(world, around, arm, monkeypatch):
    """With a proof that refuses every parabola the trajectory is the polygon itself."""
    view = world.view("arm")
    monkeypatch.setattr(
        module, "proven_cuts", lambda view, points, *rest: np.zeros(len(points) - 2)
    )
    result = time_optimal(view, around, arm)
    assert "stops at" in result.note
    assert_runs(result.trajectory, arm, 1.0, around.start, around.end)
    d = np.diff(around.waypoints, axis=0)
    for q in result.trajectory(np.linspace(0, result.trajectory.duration, 300)):
        share = np.clip(
            ((q - around.waypoints[:-1]) * d).sum(axis=1) / (d * d).sum(axis=1), 0.0, 1.0
        )
        nearest = around.waypoints[:-1] + share[:, None] * d
        assert np.linalg.norm(q - nearest, axis=1).min() < 1e-9
    assert result.trajectory.duration < rest_to_rest(around, arm).duration


@dataclass
class Refusal:
    """A judge that finds one corner unproven as long as it is rounded by more than a share."""

    corner: np.ndarray
    least: float
    asked: int = 0

    def __call__(self, view, trajectory, group, scale, required):
        self.asked += 1
        t = np.append(np.linspace(0, trajectory.duration, 4000), trajectory.breaks)
        distance = np.linalg.norm(trajectory(t) - self.corner, axis=1)
        verdict = check_trajectory(None, trajectory, group, scale)
        if verdict.passed and distance.min() > self.least:
            at = float(t[distance.argmin()])
            return type(verdict)("refused", at)
        return verdict


@pytest.mark.parametrize("least", [0.05, 1e-9])
def test_a_corner_found_unproven_afterwards_is_cut_less_and_only_that_one(arm, monkeypatch, least):
    path = polygon(8, 5, arm)
    monkeypatch.setattr(module, "limited_cuts", lambda points, group, cuts, deviation: cuts)
    plain = time_optimal(None, path, arm)
    refusal = Refusal(path.waypoints[2], least)
    monkeypatch.setattr(module, "check_trajectory", refusal)
    result = time_optimal(None, path, arm)
    assert result.rounds == refusal.asked > 1
    assert ("stops at 1 of 3" in result.note) == (least < 1e-6)
    assert plain.trajectory.duration < result.trajectory.duration
    t = np.linspace(0, 1, 4000)
    for corner, same in ((1, True), (2, False), (3, True)):
        near = [
            np.linalg.norm(r.trajectory(t * r.trajectory.duration) - path.waypoints[corner], axis=1)
            for r in (plain, result)
        ]
        assert (near[0].min() == pytest.approx(near[1].min(), rel=0.02, abs=2e-3)) == same


def test_a_path_in_collision_is_a_failure(world, arm):
    through_the_post = Path("arm", np.array([START, GOAL]))
    view = world.view("arm")
    assert view.unproven(through_the_post.waypoints, 0.0025) is not None
    result = time_optimal(view, through_the_post, arm)
    assert isinstance(result, Failure)
    assert result.kind is FailureKind.BUDGET
    assert "can't be proven" in str(result)


@pytest.mark.parametrize("scale", [1e-2, 1.1e-3, 1e-3, 1e-4, 1e-6])
def test_at_a_crawl_the_duration_is_the_distance_over_the_speed(scale):
    group = LIMITS
    goal = START + np.array([0.5, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = time_optimal(None, Path("arm", np.array([START, goal])), group, scale)
    assert check_trajectory(None, found.trajectory, group, scale).passed
    # Closed form: D / v + v / a, with both limits scaled, and the average's milliseconds.
    crawl = 0.5 / (scale * group.velocity[0]) + group.velocity[0] / group.acceleration[0]
    assert found.trajectory.duration == pytest.approx(crawl, rel=1e-2)
