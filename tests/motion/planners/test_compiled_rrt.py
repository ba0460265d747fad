"""The seed's RRT in compiled code, over a make-believe world."""

import numpy as np
import pytest

from galley.domain.failure import FailureKind
from galley.domain.frames import rotation_about, transform
from galley.motion.planners import compiled_search as search
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.rrt import EndRegion
from galley.tests.motion.planners import kernel_stub as stub
from galley.tests.motion.planners.kernel_stub import CLOSED, WALL, ask, least_clearance

START, GOAL = np.array([0.1, 0.5]), np.array([0.9, 0.5])


@pytest.fixture(autouse=True)
def stub_world():
    """``compiled_search`` finds the planners that were built over the stub."""
    with stub.instead():
        yield


def rrt(view, goals=GOAL, seed=0, region=None, **options):
    goals = np.atleast_2d(goals) if len(goals) else np.empty((0, 2))
    options = SearchOptions(**{"radius": 0.1, "iterations": 5000, **options})
    return search.plan_rrt(view, START, goals, region, seed, options)


@pytest.mark.parametrize("seed", range(4))
def test_the_rrt_grows_through_the_gap_by_edges_of_its_radius(seed):
    path = rrt(ask(), seed=seed)
    np.testing.assert_array_equal(path.start, START)
    np.testing.assert_array_equal(path.end, GOAL)
    assert least_clearance(path.waypoints, WALL) > -0.01
    assert np.linalg.norm(np.diff(path.waypoints, axis=0), axis=1).max() <= 0.1 + 1e-12


def hand(q):
    """The stub's hand: at (x, y, 0), turned about z by x + y."""
    return transform(rotation_about((0, 0, 1), q[0] + q[1]), (q[0], q[1], 0.0))


@pytest.mark.parametrize("l1", [False, True])
def test_the_rrt_arrives_in_the_region_without_any_goal_configuration(l1):
    region = EndRegion(hand, hand(GOAL), radius=0.05, angle=0.08, l1=l1)
    for seed in range(5):
        path = rrt(ask(), [], seed, region, iterations=20000)
        off = np.abs(path.end - GOAL)
        assert (off.sum() if l1 else off.max()) <= 0.05
        assert abs((path.end - GOAL).sum()) <= 0.08 + 1e-9
        assert region.contains(path.end)
        assert not region.contains(path.waypoints[-2])


@pytest.mark.parametrize("radius", [0.02, 0.2])
@pytest.mark.parametrize("angle", [None, 0.05, 3.0])
@pytest.mark.parametrize("l1", [False, True])
def test_the_region_holds_what_the_region_in_python_holds(radius, angle, l1):
    P = stub.planners()
    region = EndRegion(hand, hand(GOAL), radius=radius, angle=angle, l1=l1)
    target = np.concatenate([region.target[:3, :3].ravel(), region.target[:3, 3]])
    where = P.rrt.GoalRegion(True, target, radius, -1.0 if angle is None else angle, l1)
    rng = np.random.default_rng(0)
    pose, seen = np.empty(12), set()
    for _ in range(300):
        q = GOAL + rng.uniform(-1.5 * radius, 1.5 * radius, 2)
        inside = P.rrt.arrive(ask().table, np.empty((0, 2)), where, q, pose)
        assert inside == region.contains(q)
        seen.add(inside)
    assert seen == {True, False}


def test_an_rrt_that_cannot_arrive_is_a_budget_failure():
    failure = rrt(ask(CLOSED), iterations=700)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["iterations"] == 700
    assert failure.numbers["tree_size"] > 1
