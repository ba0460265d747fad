"""The compiled planners over a make-believe world, against grids, closed forms and plain numpy."""

from collections import deque

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.motion.path import Path
from galley.motion.planners import compiled_search as search
from galley.motion.planners.compiled_search import SearchOptions
from galley.tests.motion.planners import kernel_stub as stub
from galley.tests.motion.planners.kernel_stub import CLOSED, WALL, ask, least_clearance

START, GOAL = np.array([0.1, 0.5]), np.array([0.9, 0.5])


@pytest.fixture(autouse=True)
def stub_world():
    """``compiled_search`` finds the planners that were built over the stub."""
    with stub.instead():
        yield


def plan(view, seed=0, start=START, goals=GOAL, **options):
    options = SearchOptions(**{"radius": 0.2, **options})
    return search.plan_rrt_connect(view, start, goals, seed, options)


def length(path, weights=1.0):
    return float(np.linalg.norm(np.diff(path, axis=0) * weights, axis=1).sum())


# -- RRT-Connect -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_a_path_leads_through_the_gap_from_start_to_goal(seed):
    path = plan(ask(), seed)
    assert isinstance(path, Path)
    np.testing.assert_array_equal(path.start, START)
    np.testing.assert_array_equal(path.end, GOAL)
    assert least_clearance(path.waypoints, WALL) > -0.01  # may graze a corner within one step
    assert ((path.waypoints >= 0) & (path.waypoints <= 1)).all()


def cells(seed, n=6):
    """A random map of n x n cells, some walled up; the first and the last are free."""
    blocked = np.random.default_rng(seed).uniform(size=(n, n)) < 0.36
    blocked[0, 0] = blocked[-1, -1] = False
    low, rim = np.argwhere(blocked) / n, 1e-3  # corners that touch overlap
    fence = ([[-1, -1], [1, -1], [-1, -1], [-1, 1]], [[0, 2], [2, 2], [2, 0], [2, 2]])
    return blocked, (np.vstack([low - rim, fence[0]]), np.vstack([low + 1 / n + rim, fence[1]]))


def joined(blocked):
    """Whether cells that share a side lead from the first to the last: breadth-first search."""
    n, seen, queue = len(blocked), {(0, 0)}, deque([(0, 0)])
    while queue:
        i, j = queue.popleft()
        for cell in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if min(cell) >= 0 and max(cell) < n and not blocked[cell] and cell not in seen:
                seen.add(cell)
                queue.append(cell)
    return (n - 1, n - 1) in seen


def test_mazes_are_solved_if_and_only_if_a_grid_search_solves_them():
    """Proven edges, so that no path slips through where two cells touch in a corner."""
    solved = 0
    for seed in range(40):
        blocked, boxes = cells(seed)
        found = plan(ask(boxes), seed, np.full(2, 1 / 12), np.full(2, 11 / 12), required=0.0)
        assert isinstance(found, Path) == joined(blocked), seed
        if isinstance(found, Path):
            solved += 1
            assert least_clearance(found.waypoints, boxes) > 0.0
    assert 5 <= solved <= 35  # the maps are of both sorts


def test_a_wall_without_a_gap_is_a_budget_failure_that_says_how_often():
    failure = plan(ask(CLOSED), iterations=300)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["iterations"] == 300
    assert failure.numbers["searches"] == 1, "a second one is for paths that can't be proven"
    assert failure.certificate is None, "running out of tries proves nothing"
    assert "300" in str(failure)


def test_trees_outgrow_their_first_room():
    """More than a thousand nodes behind a closed wall: both trees are copied several times."""
    failure = plan(ask(CLOSED, step=0.05), iterations=6000)
    assert failure.numbers["tree_sizes"] > 1500


def test_a_free_straight_line_is_taken_at_once_and_to_the_nearest_goal():
    goals = np.array([[0.2, 0.99], [0.3, 0.6]])
    path = plan(ask(), goals=goals)
    np.testing.assert_array_equal(path.waypoints, [START, goals[1]])


def test_seven_joints_and_other_sizes_need_no_new_compilation():
    P = stub.planners()
    plan(ask())
    before = len(P.plan.plan.signatures)
    k = 7
    boxes = ([[0.4] + [0.0] * 5 + [-1.0]], [[0.6] + [1.0] * 5 + [0.8]])
    start, goal = np.full(k, 0.1), np.full(k, 0.9)
    start.flags.writeable = False
    path = plan(ask(boxes, k), 1, start, np.array([goal, goal])[:, ::1])
    assert least_clearance(path.waypoints, boxes) > -0.01 * np.sqrt(k)
    assert len(P.plan.plan.signatures) == before == 1


# -- shorter paths ---------------------------------------------------------------------------------


def shorten(path, boxes=WALL, seed=0, weights=None, **options):
    view = ask(boxes, weights=weights)
    return search.shorten(Path("arm", np.array(path)), view, seed, SearchOptions(**options))


@pytest.mark.parametrize("weights", [np.ones(2), np.array([1.0, 0.2])])
@pytest.mark.parametrize("seed", range(6))
def test_a_shortened_path_is_never_longer_keeps_its_ends_and_stays_free(seed, weights):
    raw = plan(ask(), seed, shortcuts=0).waypoints
    short = shorten(raw, seed=seed, weights=weights).waypoints
    assert length(short, weights) <= length(raw, weights) + 1e-12
    np.testing.assert_array_equal(short[0], raw[0])
    np.testing.assert_array_equal(short[-1], raw[-1])
    assert least_clearance(short, WALL) > -0.01


def test_shortcuts_keep_the_clearance_that_is_asked_for():
    raw = np.array([[0.1, 0.1], [0.1, 0.7], [0.9, 0.7], [0.9, 0.1]])
    box = ([[0.3, 0.0]], [[0.7, 0.5]])
    near, far = shorten(raw, box), shorten(raw, box, required=0.05)
    assert near.length < far.length < length(raw)
    assert least_clearance(near.waypoints, box) < 0.04
    assert least_clearance(far.waypoints, box) >= 0.05 - 1e-9


# -- proofs ----------------------------------------------------------------------------------------

THIN = ([[0.499, 0.0]], [[0.501, 0.9]])  # thinner than a coarse step; one way round, above
SHEET = ([[0.499, -1.0]], [[0.501, 2.0]])


def test_a_sampled_path_jumps_a_thin_wall_and_a_proven_one_goes_round_it():
    coarse = ask(THIN, step=0.15)
    start, goal = np.array([0.1, 0.3]), np.array([0.9, 0.4])
    sampled = plan(coarse, 0, start, goal)
    assert least_clearance(sampled.waypoints, THIN) < 0.0
    assert stub.path_proven(coarse.table, sampled.waypoints.copy(), 0.0)[0] >= 0
    for seed in range(6):
        path = plan(ask(THIN, step=0.15, finer=0.01), seed, start, goal, required=0.02)
        assert least_clearance(path.waypoints, THIN) >= 0.02 - 1e-9
        edge, _, states = stub.path_proven(coarse.table, path.waypoints.copy(), 0.02)
        assert edge == -1
        assert states >= len(path) - 1


def test_paths_that_cannot_be_proven_are_a_budget_failure_that_says_so():
    failure = plan(ask(SHEET, step=0.15), iterations=200, required=0.01)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["searches"] == 2
    assert "10.0 mm" in str(failure)


def test_ends_that_are_too_near_are_blocked():
    near = np.array([0.44, 0.5])
    for start, goals, word in ((near, GOAL, "start"), (START, near, "goal")):
        failure = plan(ask(), start=start, goals=goals, required=0.02)
        assert failure.kind is FailureKind.BLOCKED
        assert word in str(failure)
    assert isinstance(plan(ask(), goals=np.array([near, GOAL]), required=0.02), Path)
