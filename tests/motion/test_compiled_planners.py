"""The compiled planners over a make-believe world, against grids, closed forms and plain numpy."""

import itertools
import sys
from collections import deque

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import rotation_about, transform
from galley.motion import compiled_search as search
from galley.motion.compiled_search import Question, SearchOptions
from galley.motion.path import Path
from galley.motion.rrt import EndRegion
from galley.tests.motion import kernel_stub as stub

START, GOAL = np.array([0.1, 0.5]), np.array([0.9, 0.5])
WALL = ([[0.45, 0.0], [0.45, 0.9]], [[0.55, 0.8], [0.55, 1.0]])  # a gap between y = 0.8 and 0.9
CLOSED = ([[0.45, -1.0]], [[0.55, 2.0]])
OPEN = ([], [])


@pytest.fixture(autouse=True)
def stub_world(monkeypatch):
    """``compiled_search`` finds the planners that were built over the stub."""
    for name, module in stub.modules().items():
        monkeypatch.setitem(sys.modules, name, module)


def ask(boxes=WALL, k=2, step=0.01, finer=None, weights=None):
    table = stub.table(*boxes, k, step)
    other = table if finer is None else stub.table(*boxes, k, finer)
    return Question(
        table, other, np.zeros(k), np.ones(k), np.ones(k) if weights is None else weights
    )


def plan(question, seed=0, start=START, goals=GOAL, history=None, **options):
    options = SearchOptions(**{"radius": 0.2, **options})
    return search.plan("arm", question, start, goals, seed, options, history)


def least_clearance(path, boxes):
    """Over 1000 points an edge, by numpy."""
    low, high = (np.array(c, dtype=float).reshape(-1, path.shape[1]) for c in boxes)
    s = np.linspace(0.0, 1.0, 1000)[:, None]
    points = np.concatenate([path[:1], *(a + s * (b - a) for a, b in itertools.pairwise(path))])[
        :, None
    ]
    if len(low) == 0:
        return np.inf
    off = np.maximum(low - points, points - high)
    outside = np.linalg.norm(np.maximum(off, 0.0), axis=2)
    return float(np.where(off.max(axis=2) > 0.0, outside, off.max(axis=2)).min())


def length(path, weights=1.0):
    return float(np.linalg.norm(np.diff(path, axis=0) * weights, axis=1).sum())


# -- random numbers, trees -------------------------------------------------------------------------


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


@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (1, 0), (0, 1), (2**62 + 5, 7)])
def test_random_numbers_are_those_of_xoshiro256_plus(seed, stream):
    generator = stub.planners().generator
    state = generator.seeded(seed, stream)
    found = np.array([generator.uniform(state) for _ in range(200)])
    np.testing.assert_array_equal(found, xoshiro(seed, stream, 200))
    assert found.min() >= 0.0
    assert found.max() < 1.0


def test_the_ball_and_the_ellipsoid_are_sampled_uniformly():
    """Radii of a uniform ball have the distribution r^k; an ellipsoid's means are its centre."""
    P = stub.planners()
    state = P.generator.seeded(3, 0)
    k, n = 3, 4000
    out, radii = np.empty(k), []
    for _ in range(n):
        P.generator.sample_ball(state, out)
        radii.append(np.linalg.norm(out))
    share = np.sort(np.array(radii) ** k)  # uniform in [0, 1]: Kolmogorov-Smirnov
    assert np.abs(share - (np.arange(n) + 0.5) / n).max() < 1.63 / np.sqrt(n)
    a, b, weights = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.2, 0.4]), np.array([1.0, 0.5, 2.0])
    bound = 1.1
    points = []
    for _ in range(n):
        assert P.sampling.sample_ellipsoid(a, b, bound, weights, state, out)
        points.append(out.copy())
    points = np.array(points)
    sums = np.linalg.norm((points - a) * weights, axis=1)
    sums += np.linalg.norm((points - b) * weights, axis=1)
    assert sums.max() <= bound + 1e-12
    # The ball of an ellipsoid's own axes: x = R diag(axes) u with Cov(u) = I / (k + 2).
    gap = np.linalg.norm((b - a) * weights)
    d = (b - a) * weights / gap
    thin = 0.25 * (bound**2 - gap**2)
    covariance = (thin * np.eye(k) + (0.25 * bound**2 - thin) * np.outer(d, d)) / (k + 2)
    np.testing.assert_allclose(np.cov((points * weights).T), covariance, atol=0.004)
    np.testing.assert_allclose(points.mean(axis=0), 0.5 * (a + b), atol=0.02)
    assert not P.sampling.sample_ellipsoid(a, b, 0.99 * gap, weights, state, out)


@pytest.mark.parametrize("k", [1, 2, 7, 12])
def test_the_nearest_node_is_that_of_a_full_search_while_the_tree_grows(k):
    P = stub.planners()
    rng = np.random.default_rng(k)
    weights = rng.uniform(0.5, 2.0, k)
    nodes, costs = rng.uniform(-3, 3, (700, k)), rng.uniform(0, 3, 700)
    tree = P.tree.empty_tree(k, 5)
    for n in range(700):
        tree = P.tree.with_room(tree, 1)
        assert P.tree.add(tree, nodes[n], weights, n - 1, costs[n]) == n
        if n not in (0, 1, 14, 15, 16, 17, 100, 699):
            continue
        for _ in range(20):
            q = rng.uniform(-3, 3, k)
            off = np.linalg.norm((nodes[: n + 1] - q) * weights, axis=1)
            assert off[P.nearest.nearest(tree, q, weights)] <= off.min() + 1e-5
            limit = rng.uniform(0, 6)
            allowed = np.where(off + costs[: n + 1] < limit, off, np.inf)
            found = P.nearest.nearest_within(tree, q, weights, limit)
            if found < 0:
                assert (off + costs[: n + 1] > limit - 1e-5).all()
            else:
                assert off[found] + costs[found] < limit + 1e-5
                assert off[found] <= allowed.min() + 1e-5
    np.testing.assert_array_equal(P.tree.branch(tree, 699), nodes)
    np.testing.assert_array_equal(tree.costs[:700], costs)


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
        found = plan(
            ask(boxes), seed, np.full(2, 1 / 12), np.full(2, 11 / 12), required=0.0, rounds=2
        )
        assert isinstance(found, Path) == joined(blocked), seed
        if isinstance(found, Path):
            solved += 1
            assert least_clearance(found.waypoints, boxes) > 0.0
    assert 5 <= solved <= 35  # the maps are of both sorts


def test_the_same_seed_gives_the_same_path_and_another_seed_another():
    a, b, c = (plan(ask(), seed).waypoints for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert a.shape != c.shape or (a != c).any()


def test_a_wall_without_a_gap_is_a_budget_failure_that_says_how_often():
    failure = plan(ask(CLOSED), iterations=300, rounds=2)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["iterations"] == 600
    assert failure.numbers["rounds"] == 2
    assert failure.certificate is None, "running out of tries proves nothing"
    assert "600" in str(failure)


def test_trees_outgrow_their_first_room():
    """More than a thousand nodes behind a closed wall: both trees are copied several times."""
    failure = plan(ask(CLOSED, step=0.05), iterations=6000, rounds=1)
    assert failure.numbers["tree_sizes"] > 1500


def test_a_free_straight_line_is_taken_at_once_and_to_the_nearest_goal():
    goals = np.array([[0.2, 0.99], [0.3, 0.6]])
    path = plan(ask(), goals=goals)
    np.testing.assert_array_equal(path.waypoints, [START, goals[1]])


def test_any_of_many_goals_ends_the_path():
    rng = np.random.default_rng(0)
    goals = np.column_stack([rng.uniform(0.6, 1.0, 300), rng.uniform(0, 1, 300)])
    path = plan(ask(), goals=goals)
    assert (path.end == goals).all(axis=1).any()


def test_without_goals_it_is_blocked():
    failure = plan(ask(), goals=np.empty((0, 2)))
    assert failure.kind is FailureKind.BLOCKED


def test_ends_outside_the_box_do_no_harm():
    found = plan(ask(OPEN), start=np.array([-50.0, 0.5]), goals=np.array([60.0, 0.5]))
    assert isinstance(found, Path)
    wall = ([[0.45, -9.0]], [[0.55, 9.0]])
    failure = plan(
        ask(wall), start=np.array([-50.0, 0.5]), goals=np.array([60.0, 0.5]), iterations=50
    )
    assert failure.kind is FailureKind.BUDGET


def test_seven_joints_and_other_sizes_need_no_new_compilation():
    P = stub.planners()
    plan(ask())
    before = len(P.plan.plan.signatures)
    k = 7
    boxes = ([[0.4] + [0.0] * 5 + [-1.0]], [[0.6] + [1.0] * 5 + [0.8]])
    start, goal = np.full(k, 0.1), np.full(k, 0.9)
    start.flags.writeable = False
    path = plan(ask(boxes, k), 1, start, np.array([goal, goal])[:, ::1], searches=2)
    assert least_clearance(path.waypoints, boxes) > -0.01 * np.sqrt(k)
    assert len(P.plan.plan.signatures) == before == 1


# -- shorter paths ---------------------------------------------------------------------------------


def shorten(path, boxes=WALL, seed=0, weights=None, **options):
    question = ask(boxes, weights=weights)
    return search.shorten(Path("arm", np.array(path)), question, seed, SearchOptions(**options))


@pytest.mark.parametrize("weights", [np.ones(2), np.array([1.0, 0.2])])
@pytest.mark.parametrize("seed", range(6))
def test_a_shortened_path_is_never_longer_keeps_its_ends_and_stays_free(seed, weights):
    raw = plan(ask(), seed, shortcuts=0).waypoints
    short = shorten(raw, seed=seed, weights=weights).waypoints
    assert length(short, weights) <= length(raw, weights) + 1e-12
    np.testing.assert_array_equal(short[0], raw[0])
    np.testing.assert_array_equal(short[-1], raw[-1])
    assert least_clearance(short, WALL) > -0.01


def test_a_detour_in_the_open_becomes_the_straight_line():
    zigzag = [[0.1, 0.1], [0.3, 0.6], [0.3, 0.6], [0.2, 0.7], [0.1, 0.9]]
    np.testing.assert_array_equal(shorten(zigzag).waypoints, [[0.1, 0.1], [0.1, 0.9]])


SHORTEST = 2 * np.hypot(0.35, 0.3) + 0.1  # about the lower corners of the gap


def test_shortened_paths_come_near_the_shortest():
    found = [plan(ask(), seed, shortcuts=200).length for seed in range(10)]
    assert min(found) >= SHORTEST - 0.02
    assert np.median(found) <= 1.03 * SHORTEST
    assert max(found) <= 1.15 * SHORTEST


@pytest.mark.parametrize(
    "points", [[[0.2, 0.2]], [[0.2, 0.2], [0.2, 0.2]], [[0.2, 0.2], [0.3, 0.3]]]
)
def test_paths_with_nothing_to_shorten_come_back(points):
    short = shorten(points)
    np.testing.assert_array_equal(short.start, points[0])
    np.testing.assert_array_equal(short.end, points[-1])


def test_shortcuts_keep_the_clearance_that_is_asked_for():
    raw = np.array([[0.1, 0.1], [0.1, 0.7], [0.9, 0.7], [0.9, 0.1]])
    box = ([[0.3, 0.0]], [[0.7, 0.5]])
    near, far = shorten(raw, box), shorten(raw, box, required=0.05)
    assert near.length < far.length < length(raw)
    assert least_clearance(near.waypoints, box) < 0.04
    assert least_clearance(far.waypoints, box) >= 0.05 - 1e-9


# -- many searches ---------------------------------------------------------------------------------


def test_more_searches_find_shorter_paths():
    """A bar whose one end is nearer: later searches find shorter paths than the first."""
    bar = ([[0.45, 0.05]], [[0.55, 0.7]])
    first, best = [], []
    for seed in range(12):
        history = np.full((30, 2), np.nan)
        path = plan(ask(bar), seed, searches=30, history=history)
        took_place = history[~np.isnan(history[:, 1])]
        assert (np.diff(took_place[:, 1]) <= 0.0).all()
        assert (np.diff(took_place[:, 0]) >= 0.0).all()
        assert took_place[-1, 1] == pytest.approx(path.length)
        first.append(took_place[0, 1])
        best.append(path.length)
    shortest = 2 * np.hypot(0.35, 0.2) + 0.1
    assert max(best) <= 1.02 * shortest
    assert np.mean(first) > 1.01 * np.mean(best)


def test_searching_ends_where_no_path_can_be_shorter():
    history = np.full((50, 2), np.nan)
    plan(ask(), goals=np.array([0.3, 0.9]), searches=50, history=history)
    assert np.isnan(history[1:]).all()


# -- proofs ----------------------------------------------------------------------------------------

THIN = ([[0.499, 0.0]], [[0.501, 0.9]])  # thinner than a coarse step; one way round, above
SHEET = ([[0.499, -1.0]], [[0.501, 2.0]])


def test_a_sampled_path_jumps_a_thin_wall_and_a_proven_one_goes_round_it():
    coarse = ask(THIN, step=0.15)
    start, goal = np.array([0.1, 0.3]), np.array([0.9, 0.4])
    sampled = plan(coarse, 0, start, goal)
    assert least_clearance(sampled.waypoints, THIN) < 0.0
    assert search.prove(sampled, coarse).hit is not None
    for seed in range(6):
        path = plan(ask(THIN, step=0.15, finer=0.01), seed, start, goal, required=0.02)
        assert least_clearance(path.waypoints, THIN) >= 0.02 - 1e-9
        proof = search.prove(path, coarse, 0.02)
        assert proof.hit is None
        assert proof.states >= len(path) - 1


def test_paths_that_cannot_be_proven_are_a_budget_failure_that_says_so():
    failure = plan(ask(SHEET, step=0.15), iterations=200, rounds=2, required=0.01)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.numbers["unproven_paths"] >= 1
    assert "10.0 mm" in str(failure)


def test_ends_that_are_too_near_are_blocked():
    near = np.array([0.44, 0.5])
    for start, goals, word in ((near, GOAL, "start"), (START, near, "goal")):
        failure = plan(ask(), start=start, goals=goals, required=0.02)
        assert failure.kind is FailureKind.BLOCKED
        assert word in str(failure)
    assert isinstance(plan(ask(), goals=np.array([near, GOAL]), required=0.02), Path)


def test_a_proof_says_where_the_first_doubt_is():
    path = Path("arm", np.array([[0.1, 0.5], [0.1, 0.1], [0.9, 0.1]]))
    found = search.prove(path, ask(), 0.05)
    assert found.hit == pytest.approx(1.0 + (0.40 - 0.1) / 0.8, abs=1e-3)
    single = Path("arm", np.array([[0.44, 0.5]]))
    assert search.prove(single, ask(), 0.009).hit is None
    assert search.prove(single, ask(), 0.011).hit == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_a_path_is_mended_where_it_is_not_proven(seed):
    """The second edge crosses the wall, the second vertex stands in it."""
    P = stub.planners()
    raw = np.array([[0.1, 0.2], [0.2, 0.6], [0.5, 0.6], [0.8, 0.6], [0.9, 0.2]])
    question = ask()
    box = P.rules.Box(question.low, question.high, question.weights)
    rules = P.rules.Rules(0.2, P.rules.UNBOUNDED, True, 0.01)
    state = P.generator.seeded(seed, 0)
    mended, used = P.plan.mend(question.table, box, rules, raw, 3000, state)
    assert used > 0
    assert least_clearance(mended, WALL) >= 0.01 - 1e-9
    np.testing.assert_array_equal(mended[[0, 1]], raw[[0, 1]])
    np.testing.assert_array_equal(mended[[-2, -1]], raw[[-2, -1]])


# -- the seed's RRT --------------------------------------------------------------------------------


def rrt(question, goals=GOAL, seed=0, region=None, **options):
    goals = np.atleast_2d(goals) if len(goals) else np.empty((0, 2))
    options = SearchOptions(**{"radius": 0.1, "iterations": 5000, **options})
    return search.plan_rrt("arm", question, START, goals, region, seed, options)


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
    where = P.rrt.Region(True, target, radius, -1.0 if angle is None else angle, l1)
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


def test_the_real_kernel_is_not_touched_by_the_stub():
    assert sys.modules.get(stub.EDGES) is not stub
    assert not hasattr(sys.modules.get(stub.EDGES), "Table")
