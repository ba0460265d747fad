"""The compiled planners on a map: a point that slides over a plane among boxes.

Its configuration is its place, so that grids, closed forms and plain numpy can tell what is right.
"""

import itertools
from collections import deque

import numpy as np
import pytest

from galley.collision.collision_world import CollisionWorld
from galley.collision.solids import box
from galley.domain.failure import Failure, FailureKind
from galley.motion.kernel import sampling, tree
from galley.motion.path import Path
from galley.motion.planners.compiled_search import SearchOptions, plan_rrt_connect, shorten
from galley.robots.urdf_arm import arm_from_urdf

SIDE, RADIUS = 5.0, 0.001  # m, of the plane and of the ball that slides
SLIDER = """<robot name="slider"><link name="rails"/><link name="carriage"/><link name="ball">
<collision><geometry><sphere radius="0.001"/></geometry></collision></link>
<joint name="x" type="prismatic"><parent link="rails"/><child link="carriage"/><axis xyz="1 0 0"/>
<limit lower="0" upper="5" velocity="1" effort="1"/></joint>
<joint name="y" type="prismatic"><parent link="carriage"/><child link="ball"/><axis xyz="0 1 0"/>
<limit lower="0" upper="5" velocity="1" effort="1"/></joint></robot>"""
START, GOAL = np.array([0.5, 2.5]), np.array([4.5, 2.5])
WALL = [((2.25, 0.0), (2.75, 4.0)), ((2.25, 4.5), (2.75, 5.0))]  # a gap between y = 4 and 4.5
CLOSED = [((2.25, -5.0), (2.75, 10.0))]
THIN = [((2.499, -1.0), (2.501, 4.5))]  # thinner than a step; one way round, above
SHEET = [((2.499, -5.0), (2.501, 10.0))]


@pytest.fixture(scope="module")
def slider(tmp_path_factory):
    path = tmp_path_factory.mktemp("slider") / "slider.urdf"
    path.write_text(SLIDER)
    return arm_from_urdf(path)


@pytest.fixture
def view(slider):
    """``view(boxes)``: of the plane with boxes from one corner to another."""

    def among(boxes):
        solids = {
            f"{k}": box((*np.subtract(high, low), 0.2), at=(*np.add(low, high) / 2.0, 0.0))
            for k, (low, high) in enumerate(boxes)
        }
        return CollisionWorld(slider, solids, margin=0.0).view("arm")

    return among


def plan(view, seed=0, start=START, goals=GOAL, **options):
    return plan_rrt_connect(view, start, goals, seed, SearchOptions(radius=1.0, **options))


def least_clearance(path, boxes):
    """The ball's, over 1000 points an edge, by numpy."""
    low, high = np.array(boxes, dtype=float).transpose(1, 0, 2)
    s = np.linspace(0.0, 1.0, 1000)[:, None]
    points = np.concatenate([a + s * (b - a) for a, b in itertools.pairwise(path)])[:, None]
    off = np.maximum(low - points, points - high)
    outside = np.linalg.norm(np.maximum(off, 0.0), axis=2)
    return float(np.where(off.max(axis=2) > 0.0, outside, off.max(axis=2)).min()) - RADIUS


# -- RRT-Connect -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_path_leads_through_the_gap_from_start_to_goal_and_shortcuts_keep_it(view, seed):
    path = plan(view(WALL), seed, shortcuts=0)
    short = shorten(path, view(WALL), seed, SearchOptions())
    for each in (path, short):
        np.testing.assert_array_equal(each.start, START)
        np.testing.assert_array_equal(each.end, GOAL)
        assert least_clearance(each.waypoints, WALL) > -0.05  # may graze a corner within one step
        assert ((each.waypoints >= 0) & (each.waypoints <= SIDE)).all()
    assert short.length <= path.length + 1e-12


def cells(seed, n=6):
    """A random map of n x n cells, some walled up; the first and the last are free."""
    blocked = np.random.default_rng(seed).uniform(size=(n, n)) < 0.36
    blocked[0, 0] = blocked[-1, -1] = False
    size, rim = SIDE / n, 5e-3  # corners that touch overlap
    return blocked, [(low * size - rim, (low + 1) * size + rim) for low in np.argwhere(blocked)]


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


def test_mazes_are_solved_if_and_only_if_a_grid_search_solves_them(view):
    """Proven edges, so that no path slips through where two cells touch in a corner."""
    solved, corner = 0, np.full(2, SIDE / 12)
    for seed in range(40):
        blocked, boxes = cells(seed)
        found = plan(view(boxes), seed, corner, SIDE - corner, required=0.0)
        assert isinstance(found, Path) == joined(blocked), seed
        if isinstance(found, Path):
            solved += 1
            assert least_clearance(found.waypoints, boxes) > 0.0
    assert 5 <= solved <= 35  # the maps are of both sorts


def test_a_wall_without_a_gap_is_a_budget_failure_that_says_how_often(view):
    failure = plan(view(CLOSED), iterations=300)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["iterations"] == 300
    assert failure.numbers["searches"] == 1, "a second one is for paths that can't be proven"
    assert failure.certificate is None, "running out of tries proves nothing"
    assert "300" in str(failure)
    many = plan(view(CLOSED), iterations=6000)
    assert many.numbers["tree_sizes"] > 1500, "trees outgrow their first room"


def test_a_free_straight_line_is_taken_at_once_and_to_the_nearest_goal(view):
    goals = np.array([[1.0, 4.95], [1.5, 3.0]])
    path = plan(view(WALL), goals=goals)
    np.testing.assert_array_equal(path.waypoints, [START, goals[1]])


# -- proofs ----------------------------------------------------------------------------------------


def test_shortcuts_keep_the_clearance_that_is_asked_for(view):
    raw = Path("arm", np.array([[0.5, 0.5], [0.5, 3.5], [4.5, 3.5], [4.5, 0.5]]))
    boxes = [((1.5, 0.0), (3.5, 2.5))]
    near = shorten(raw, view(boxes), 0, SearchOptions())
    far = shorten(raw, view(boxes), 0, SearchOptions(required=0.25))
    assert near.length < far.length < raw.length
    assert least_clearance(near.waypoints, boxes) < 0.2
    assert least_clearance(far.waypoints, boxes) >= 0.25 - 1e-4


def test_a_sampled_path_jumps_a_thin_wall_and_a_proven_one_goes_round_it(view):
    thin, start, goal = view(THIN), np.array([0.5, 1.5]), np.array([4.5, 2.0])
    sampled = plan(thin, 0, start, goal)
    assert least_clearance(sampled.waypoints, THIN) < 0.0
    assert thin.unproven(sampled.waypoints, 0.0) is not None
    for seed in range(6):
        path = plan(thin, seed, start, goal, required=0.02)
        assert least_clearance(path.waypoints, THIN) >= 0.02 - 1e-4
        assert thin.unproven(path.waypoints, 0.02) is None


def test_paths_that_cannot_be_proven_are_a_budget_failure_that_says_so(view):
    failure = plan(view(SHEET), iterations=200, required=0.01)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["searches"] == 2
    assert "10.0 mm" in str(failure)


def test_ends_that_are_too_near_are_blocked(view):
    near = np.array([2.24, 2.5])
    for start, goals, word in ((near, GOAL, "start"), (START, near, "goal")):
        failure = plan(view(WALL), start=start, goals=goals, required=0.02)
        assert failure.kind is FailureKind.BLOCKED
        assert word in str(failure)
    assert isinstance(plan(view(WALL), goals=np.array([near, GOAL]), required=0.02), Path)


# -- random numbers and trees ----------------------------------------------------------------------


def xoshiro(seed, stream, n):
    """xoshiro256+ with whole numbers of Python, filled by splitmix64."""
    mask, state = 2**64 - 1, []
    z = (seed + stream * 0xD1342543DE82EF95) & mask
    for _ in range(4):
        z = (z + 0x9E3779B97F4A7C15) & mask
        x = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        state.append(x ^ (x >> 31))
    found = []
    for _ in range(n):
        found.append(((state[0] + state[3]) & mask) >> 11)
        t = (state[1] << 17) & mask
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= t
        state[3] = ((state[3] << 45) | (state[3] >> 19)) & mask
    return np.array(found) * 2.0**-53


@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (0, 1), (2**62 + 5, 7)])
def test_random_numbers_are_those_of_xoshiro256_plus(seed, stream):
    state = sampling.seeded(seed, stream)
    found = np.array([sampling.uniform(state) for _ in range(200)])
    np.testing.assert_array_equal(found, xoshiro(seed, stream, 200))
    assert found.min() >= 0.0
    assert found.max() < 1.0


@pytest.mark.parametrize("k", [1, 2, 7, 12])
def test_the_nearest_node_is_that_of_a_full_search_while_the_tree_grows(k):
    rng = np.random.default_rng(k)
    weights = rng.uniform(0.5, 2.0, k)
    nodes = rng.uniform(-3, 3, (700, k))
    grown = tree.empty_tree(k, 5)
    for n in range(700):
        grown = tree.with_room(grown, 1)
        assert tree.add(grown, nodes[n], n - 1) == n
        if n not in (0, 1, 100, 699):
            continue
        for _ in range(20):
            q = rng.uniform(-3, 3, k)
            off = np.linalg.norm((nodes[: n + 1] - q) * weights, axis=1)
            assert off[tree.nearest(grown, q, weights)] <= off.min() + 1e-12
    path = np.empty((700, k))
    tree.write_branch(grown, 699, path, 0, 1)
    np.testing.assert_array_equal(path, nodes)
