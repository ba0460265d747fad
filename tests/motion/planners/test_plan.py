"""plan(): paths that another engine finds free, goals of every kind, and reasons for refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import inverse, rotation_about, transform
from galley.motion import CollisionWorld, Path, SearchOptions, box, cylinder, plan, sphere
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import BulletOracle, bullet, dense, random_world, within

# Turned half round the table's middle, beside a post that stands in the straight way.
START = np.array([0.9, 0.3, 0.0, -1.8, 0.0, 2.2, 0.8])
GOAL = START * [-1, 1, 1, 1, 1, 1, 1]
TABLE = {
    "table": box((0.6, 1.2, 0.04), at=(0.6, 0.0, 0.2)),
    "post": cylinder(0.05, 0.8, at=(0.5, 0.0, 0.6)),
    "ball": sphere(0.08, at=(0.3, 0.4, 0.8)),
}
ROBOTS = {
    "panda_arm": (panda_arm, "arm"),
    "iiwa": (iiwa, "arm"),
    "mobile arm": (mobile_panda, "arm"),
    "base": (mobile_panda, "base"),
    "base+arm": (mobile_panda, "base+arm"),
}
RAW = SearchOptions(shortcuts=0)
BULLETS_MARGIN = 0.0025  # m that Bullet may add around meshes


@pytest.fixture(scope="module")
def panda():
    return CollisionWorld(panda_arm(), TABLE)


def length(path: Path, weights) -> float:
    return float(np.linalg.norm(np.diff(path.waypoints, axis=0) * weights, axis=1).sum())


def free_in_bullet(engine: BulletOracle, world, view, path: Path) -> bool:
    """At every 0.02 rad or m; what does not move is none of the path's business."""
    q = np.array(view.arrays.tree.q[: world.robot.size])
    model = world.model
    moving = {
        link
        for link in world.robot.links
        if model.carries[model.tree.link(link)[0]][view.moving].any()
    }
    for state in dense(path.waypoints, 0.02):
        q[view.moving] = state
        for names, d in engine.distances(q, 0.0).items():
            if d < -BULLETS_MARGIN and moving & set(names):
                return False
    return True


def free_pair(world, group, rng):
    """Two free configurations of a group that are far apart."""
    low, high = within(world.robot, group)
    low, high = np.maximum(low, -2.8), np.minimum(high, 2.8)
    view = world.view(group)
    rows = rng.uniform(low, high, (400, len(low)))
    rows = rows[view.free_many(rows)]
    return rows[0], rows[int(np.argmax(np.linalg.norm(rows - rows[0], axis=1)))]


def cluttered(name, seed):
    make, group = ROBOTS[name]
    robot = make()
    reach = 1.6 if "base" in name else 0.9
    corner = np.array([reach, reach, 1.3])
    obstacles = random_world(seed, 9, corner * [-1, -1, 0.1], corner, 0.45)
    q = np.zeros(robot.size)
    q[robot.slice("arm")] = [0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.7]
    return CollisionWorld(robot, obstacles, q=q), group, obstacles


@pytest.mark.parametrize("planner", ["rrt-connect", "rrt"])
@pytest.mark.parametrize("name", ROBOTS)
def test_paths_lead_from_start_to_goal_within_limits_and_are_free_in_pybullet(name, planner):
    solved = 0
    for seed in range(2):
        world, group, obstacles = cluttered(name, seed)
        view = world.view(group)
        start, goal = free_pair(world, group, np.random.default_rng(seed))
        path = plan(world, start, goal, seed=seed, planner=planner, group=group)
        if isinstance(path, Failure):
            assert path.kind is FailureKind.BUDGET
            continue
        solved += 1
        assert path.group == group
        np.testing.assert_array_equal(path.start, start)
        np.testing.assert_array_equal(path.end, goal)
        low, high = within(world.robot, group)
        assert (path.waypoints >= low).all()
        assert (path.waypoints <= high).all()
        assert view.unproven(path.waypoints, 0.002) is None
        with bullet(world.robot, obstacles) as engine:
            assert free_in_bullet(engine, world, view, path)
    assert solved >= (1 if planner == "rrt" else 2)


@pytest.mark.parametrize("planner", ["rrt-connect", "rrt"])
def test_the_same_seed_gives_the_same_answer_bit_for_bit(planner):
    """A path, or where the budget was spent how large the trees had grown by then."""

    def ask(seed):
        world, group, _ = cluttered("mobile arm", 1)  # made anew: nothing may be left over
        start, goal = free_pair(world, group, np.random.default_rng(1))
        found = plan(world, start, goal, seed=seed, planner=planner)
        if isinstance(found, Failure):
            return np.array(list(found.numbers.values()))
        return found.waypoints

    first = [ask(seed) for seed in range(5)]
    for seed, points in enumerate(first):
        np.testing.assert_array_equal(points, ask(seed))
    paths = [points for points in first if points.ndim == 2]
    assert len(paths) >= 2
    assert any(not np.array_equal(paths[0], other) for other in paths[1:])


# -- goals -----------------------------------------------------------------------------------------


def test_of_several_goals_one_that_is_free_is_reached(panda):
    inside = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.2, 0.8])  # in the post
    beyond = GOAL.copy()
    beyond[1] += 3.0
    near = START + 0.05
    path = plan(panda, START, np.array([inside, beyond, GOAL, near]), seed=1)
    assert any(np.array_equal(path.end, goal) for goal in (GOAL, near))
    assert plan(panda, START, np.array([inside, beyond, GOAL])).end.tolist() == GOAL.tolist()
    none = plan(panda, START, np.array([inside, beyond]))
    assert none.kind is FailureKind.BLOCKED
    assert "none of 2 goals" in none.message


@pytest.mark.parametrize("name", ["panda_arm", "mobile arm", "iiwa"])
def test_a_pose_as_goal_is_reached_to_a_micrometre(name):
    make, group = ROBOTS[name]
    robot = make()
    q = np.zeros(robot.size)
    if "mobile" in name:
        q[:3] = 0.4, -0.3, 0.7
    q[robot.slice("arm")] = [0.3, -0.6, 0.0, -1.8, 0.0, 1.3, 0.7]
    world = CollisionWorld(robot, {"post": cylinder(0.05, 0.5, at=(3.0, 0.0, 0.3))}, q=q)
    tree = world.model.tree
    target = q.copy()
    target[robot.slice("arm")] += [0.5, 0.3, -0.2, 0.3, 0.2, 0.1, -0.3]
    assert world.free(target)
    X_WT = tree.link_pose(robot.tool_link, target) @ robot.X_LT
    path = plan(world, q[robot.slice("arm")], X_WT, group=group)
    assert isinstance(path, Path), path
    end = q.copy()
    end[robot.slice("arm")] = path.end
    reached = tree.link_pose(robot.tool_link, end) @ robot.X_LT
    assert np.abs(inverse(reached) @ X_WT - np.eye(4)).max() < 1e-6
    with bullet(robot, {}) as engine:
        found = engine.link_pose(robot.tool_link, end) @ robot.X_LT
    np.testing.assert_allclose(found, X_WT, atol=3e-6)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["start", "goal"])
def test_an_end_in_collision_is_refused_with_the_pair_and_the_depth(what):
    """The fingers 30 mm in a slab, by the heights of their meshes' corners."""
    robot = panda_arm()
    low = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.2, 0.8])
    high = low.copy()
    high[1] -= 0.7
    slab = box((3.0, 3.0, 0.4), at=(1.9, 0.0, fingertips(robot, low) + 0.030 - 0.2))
    world = CollisionWorld(robot, {"slab": slab}, margin=0.0)
    ends = (low, high) if what == "start" else (high, low)
    assert world.view("arm").free(high)
    failure = plan(world, *ends)
    assert failure.kind is FailureKind.BLOCKED
    assert f"the {what} is in collision" in failure.message
    assert "slab" in failure.objects
    assert set(failure.objects) & {"panda_leftfinger", "panda_rightfinger"}
    assert failure.numbers["depth_m"] == pytest.approx(0.030, abs=0.008)
    assert f"{1e3 * failure.numbers['depth_m']:.1f} mm" in failure.message
    assert failure.certificate["kind"] == "contact"
    np.testing.assert_array_equal(failure.certificate["q"], low)


def fingertips(robot, q):
    """Height of the lowest point of the fingers' meshes."""
    from galley.robots.urdf_reader import link_shapes

    tree = CollisionWorld(robot, {}).model.tree
    whole = np.append(q, [0.0, 0.0])
    heights = []
    for shape in link_shapes(robot.urdf):
        if shape.link in robot.fingers:
            X = tree.link_pose(shape.link, whole) @ shape.X_LS
            heights.append((shape.hull.vertices @ X[:3, :3].T + X[:3, 3])[:, 2].min())
    return min(heights)


def test_a_goal_within_the_margin_is_refused_with_its_distance():
    robot = mobile_panda()
    q = np.array([0.0, 0.0, 0.0, 0.0, -0.6, 0.0, -2.5, 0.0, 2.0, 0.7, 0.0, 0.0])
    world = CollisionWorld(robot, {"wall": box((0.2, 4.0, 1.0), at=(1.1, 0.0, 0.5))}, q=q)
    touching = 1.0 - 0.815 / 2
    goal = np.array([touching - 0.003, 0.0, 0.0])
    failure = plan(world, q[:3], goal, group="base")
    assert failure.kind is FailureKind.BLOCKED
    assert set(failure.objects) == {"chassis", "wall"}
    assert failure.numbers["depth_m"] == pytest.approx(-0.003, abs=2e-5)
    assert isinstance(plan(replace(world, margin=0.002), q[:3], goal, group="base"), Path)
    pair = frozenset({("chassis", "wall")})
    assert isinstance(plan(replace(world, allowed=pair), q[:3], goal, group="base"), Path)


@pytest.mark.parametrize("joint", range(7))
def test_values_beyond_a_limit_are_refused_by_number_and_amount(joint):
    world = CollisionWorld(panda_arm(), {})
    _, high = within(world.robot, "arm")
    q = START.copy()
    q[joint] = high[joint] + 0.01
    for ends, what in (((q, START), "the start"), ((START, q), "the goal")):
        failure = plan(world, *ends)
        assert failure.kind is FailureKind.UNREACHABLE
        assert what in failure.message
        assert failure.numbers["beyond"] == pytest.approx(0.01)
        assert failure.numbers["joint"] == joint
        assert failure.certificate["kind"] == "joint-limits"


def test_joints_may_be_named_and_the_others_stay(panda):
    world = replace(panda, q=[*START, 0.0, 0.0])
    path = plan(world, {"panda_joint4": -1.7}, {"panda_joint1": 1.2})
    np.testing.assert_array_equal(path.start, [*START[:3], -1.7, *START[4:]])
    np.testing.assert_array_equal(path.end, [1.2, *START[1:]])
    with pytest.raises(ValueError, match="no joint 'joint1'; did you mean 'panda_joint1'"):
        plan(world, START, {"joint1": 0.6})


def test_a_pose_out_of_reach_is_unreachable(panda):
    far = transform(rotation_about((1.0, 0.0, 0.0), np.pi), (1.5, 0.0, 0.4))
    failure = plan(panda, START, far)
    assert failure.kind is FailureKind.UNREACHABLE
    assert "panda_hand" in failure.message


@pytest.mark.parametrize(
    ("start", "goal", "keywords", "message"),
    [
        (START[:6], GOAL, {}, "start must be 7"),
        (START, GOAL[:6], {}, "goal must be"),
        (START, np.zeros((0, 7)), {}, "goal must be"),
        (START, np.zeros((2, 6)), {}, "goal must be"),
        (START * np.nan, GOAL, {}, "finite"),
        (START, GOAL * np.inf, {}, "finite"),
        (START, GOAL, {"planner": "prm"}, "no planner 'prm'"),
        (START, 2.0 * np.eye(4), {}, "rotation matrix"),
        ([0.02, 0.02], np.eye(4), {"group": "fingers"}, "pose as goal is for the arm"),
    ],
)
def test_questions_that_make_no_sense_are_refused(panda, start, goal, keywords, message):
    with pytest.raises(ValueError, match=message):
        plan(panda, start, goal, **keywords)


# -- effort ----------------------------------------------------------------------------------------


def test_more_effort_never_gives_a_longer_path(panda):
    """Shortcuts against none, seed by seed."""
    gains = []
    for seed in range(8):
        raw = plan(panda, START, GOAL, seed=seed, prove=False, options=RAW)
        short = plan(panda, START, GOAL, seed=seed, prove=False)
        assert short.length <= raw.length + 1e-9
        gains.append(raw.length - short.length)
    assert max(gains) > 0.05
    assert short.length >= np.linalg.norm(GOAL - START) - 1e-9


def test_paths_that_are_not_proven_are_free_at_sampled_states(panda):
    view = panda.view("arm")
    for seed in range(5):
        path = plan(panda, START, GOAL, seed=seed, prove=False, options=RAW)
        pairs = list(itertools.pairwise(path.waypoints))
        A, B = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
        assert view.edges_free(A, B).all()
        proven = plan(panda, START, GOAL, seed=seed)
        assert view.unproven(proven.waypoints, 0.5 * 0.005) is None


def test_a_held_body_keeps_clear_as_well():
    """A rod in the hand and the post, a cylinder: points on the rod's edges, in closed form."""
    rod = box((0.02, 0.02, 0.3), at=(0.0, 0.0, 0.22))
    world = CollisionWorld(panda_arm(), {"post": TABLE["post"]})
    edges = np.array(
        list(itertools.product((-0.01, 0.01), (-0.01, 0.01), np.arange(-15, 16) / 100))
    )

    def deepest(path):
        states = [np.append(q, [0.0, 0.0]) for q in dense(path.waypoints, 0.02)]
        poses = [world.model.tree.link_pose(world.robot.palm, q) @ rod.X for q in states]
        x, y, z = np.concatenate([edges @ X[:3, :3].T + X[:3, 3] for X in poses]).T
        return np.maximum(np.hypot(x - 0.5, y) - 0.05, np.abs(z - 0.6) - 0.4).min()

    bare = [deepest(plan(world, START, GOAL, seed=seed)) for seed in range(4)]
    assert min(bare) < -0.005, "the rod would hit the post were it not looked at"
    for seed in range(4):
        path = plan(world.holding("rod", rod), START, GOAL, seed=seed)
        assert isinstance(path, Path), path
        assert deepest(path) > 0.0
