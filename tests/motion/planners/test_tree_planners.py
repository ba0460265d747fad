"""The baseline RRT in a plane with a wall and a gap, against an independent fine check."""

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import rotation_about, transform
from galley.motion.path import Path
from galley.motion.planners.rrt import RRT, EndRegion, Space

START, GOAL = np.array([0.1, 0.5]), np.array([0.9, 0.5])
NO_GOALS = np.empty((0, 2))


def space():
    ones = np.ones(2)
    return Space("arm", np.zeros(2), ones, np.full(2, 0.01), ones)


def wall(q):
    """A wall from 0.45 to 0.55 with a gap between y = 0.8 and 0.9."""
    return not (0.45 <= q[0] <= 0.55) or 0.8 <= q[1] <= 0.9


def closed(q):
    return not 0.45 <= q[0] <= 0.55


def touches_wall(path):
    """1000 points a segment, without the planner's edges: allowed to graze by one check's step."""
    for a, b in zip(path.waypoints[:-1], path.waypoints[1:], strict=True):
        for q in a + np.linspace(0, 1, 1000)[:, None] * (b - a):
            inner = 0.46 < q[0] < 0.54 and not 0.79 < q[1] < 0.91
            if inner:
                return True
    return False


def rrt(free, goals=GOAL, seed=0, iterations=5000, region=None, start=START):
    planner = RRT(radius=0.1, iterations=iterations)
    goals = np.atleast_2d(goals) if len(goals) else NO_GOALS
    return planner.plan(space(), free, start, region, goals, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(6))
def test_a_path_leads_through_the_gap_from_start_to_goal(seed):
    path = rrt(wall, seed=seed)
    assert isinstance(path, Path)
    np.testing.assert_array_equal(path.start, START)
    np.testing.assert_array_equal(path.end, GOAL)
    assert not touches_wall(path)
    assert np.linalg.norm(np.diff(path.waypoints, axis=0), axis=1).max() <= 0.1 + 1e-12
    assert ((path.waypoints >= 0) & (path.waypoints <= 1)).all()


def test_a_wall_without_a_gap_is_a_budget_failure_that_says_how_often():
    failure = rrt(closed, iterations=300)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["iterations"] == 300
    assert failure.certificate is None, "running out of tries proves nothing"


def test_the_nearest_or_any_of_several_goals_ends_the_path():
    goals = np.array([[0.2, 0.2], [0.9, 0.9]])
    path = rrt(wall, goals=goals)
    assert any((path.end == goal).all() for goal in goals)


# -- the RRT's end region --------------------------------------------------------------------------


def hand(q):
    """A make-believe hand: at (x, y, 0), turned about z by x + y."""
    return transform(rotation_about((0, 0, 1), q[0] + q[1]), (q[0], q[1], 0.0))


def around(goal, **options):
    return EndRegion(hand, hand(goal), **options)


def test_the_region_is_a_box_or_an_l1_ball_and_an_angle():
    box = around(GOAL, radius=0.02, angle=None)
    ball = around(GOAL, radius=0.02, angle=None, l1=True)
    for off, in_box, in_ball in (
        ((0.0, 0.0), True, True),
        ((0.019, -0.019), True, False),
        ((0.009, 0.009), True, True),
        ((0.021, 0.0), False, False),
        ((0.0, -0.019), True, True),
    ):
        assert box.contains(GOAL + off) is in_box, off
        assert ball.contains(GOAL + off) is in_ball, off
    turned = around(GOAL, radius=0.2, angle=0.05)
    assert turned.contains(GOAL + np.array([0.1, -0.1]))  # moved, not turned
    assert turned.contains(GOAL + np.array([0.02, 0.02]))  # turned by 0.04
    assert not turned.contains(GOAL + np.array([0.03, 0.03]))  # turned by 0.06


@pytest.mark.parametrize("l1", [False, True])
def test_the_rrt_arrives_in_the_region_without_any_goal_configuration(l1):
    region = around(GOAL, radius=0.05, angle=0.08, l1=l1)
    path = rrt(wall, goals=NO_GOALS, region=region, iterations=20000)
    assert isinstance(path, Path)
    off = np.abs(path.end - GOAL)
    assert (off.sum() if l1 else off.max()) <= 0.05
    assert abs((path.end - GOAL).sum()) <= 0.08 + 1e-9
    assert not touches_wall(path)
