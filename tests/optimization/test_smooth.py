"""Smooth trajectories: free in Drake at dense states, within limits, nearly as fast as can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from galley.collision.collision_world import CollisionWorld
from galley.collision.solids import box
from galley.domain.failure import Failure
from galley.motion.path import Path
from galley.motion.planners.planning import plan
from galley.optimization import smooth as module
from galley.optimization.smooth import SmoothOptions, smooth
from galley.optimization.time_optimal import OptimizedTrajectory, time_optimal
from galley.optimization.verdict import check_trajectory
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import SLACK, DrakeOracle, random_world, within
from galley.tests.optimization.curves import GOAL, SHAPES, START, assert_runs, fastest

REST = (1e-6, 1e-6)


@pytest.fixture(scope="module")
def post():
    return CollisionWorld(panda_arm(), SHAPES)


def deepest(oracle, robot, q, moving, states, held=()):
    """The least of Drake's distances beyond what the pair has to keep: 4.5 mm, links 0."""
    worst = np.inf
    q = np.array(q)
    for state in states:
        q[moving] = state
        for pair, distance in oracle.distances(q).items():
            if set(pair) & set(held) and set(pair) & {*robot.fingers}:
                continue
            own = all(name in robot.links for name in pair)
            worst = min(worst, distance - (0.0 if own else 0.0045))
    return worst


@pytest.mark.parametrize("scale", [1.0, 0.48])
def test_round_a_post_it_is_smooth_free_within_limits_and_nearly_the_fastest(post, scale):
    group = post.robot.group("arm")
    path = plan(post, START, GOAL)
    found = smooth(post.view("arm"), path, group, scale)
    assert found.method == "smooth"
    trajectory = found.trajectory
    assert_runs(trajectory, group, scale, START, GOAL, REST)
    oracle = DrakeOracle(post.robot, SHAPES)
    _, states = trajectory.resampled(0.01)
    assert deepest(oracle, post.robot, np.zeros(9), slice(0, 7), states) > -SLACK
    assert trajectory.length() <= 1.02 * path.length
    # Faster than with a stop at each corner, and no faster than if nothing were there.
    limits = (group.velocity, group.acceleration, group.jerk)
    assert trajectory.duration > fastest(START, GOAL, *limits)


@pytest.mark.parametrize("reach", [0.01, 0.1, 0.4, 1.0])
def test_where_nothing_is_in_the_way_it_takes_at_most_a_few_percent_more_than_the_minimum(reach):
    robot = panda_arm()
    world = CollisionWorld(robot, {})
    view, group = world.view("arm"), robot.group("arm")
    rng = np.random.default_rng(int(100 * reach))
    tried = 0
    while tried < 6:
        a = rng.uniform(group.lower, group.upper)
        b = np.clip(a + reach * rng.uniform(-2.0, 2.0, 7), group.lower, group.upper)
        if view.unproven(np.array([a, b]), 0.005) is not None:
            continue
        found = smooth(view, Path("arm", np.array([a, b])), group)
        assert found.method == "smooth"
        assert_runs(found.trajectory, group, 1.0, a, b, REST)
        limits = (group.velocity, group.acceleration, group.jerk)
        ratio = found.trajectory.duration / fastest(a, b, *limits)
        assert 1.0 - 1e-6 <= ratio < 1.08
        assert found.trajectory.length() < 1.01 * np.linalg.norm(b - a)
        tried += 1


@pytest.mark.parametrize(
    ("make", "group"),
    [
        (panda_arm, "arm"),
        pytest.param(iiwa, "arm", marks=pytest.mark.slow),
        pytest.param(mobile_panda, "base", marks=pytest.mark.slow),
        (mobile_panda, "base+arm"),
    ],
)
def test_in_clutter_for_any_joint_group_and_any_arm(make, group):
    robot = make()
    low, high = np.array([-1.2, -1.2, 0.05]), np.array([1.2, 1.2, 1.3])
    obstacles = random_world(31, 14, low, high, apart=0.55 if make is not iiwa else 0.4)
    world = CollisionWorld(robot, obstacles)
    rest = np.clip(np.zeros(robot.size), *within(robot))
    if make is mobile_panda:
        rest[3:10] = START
    view, own, oracle = world.view(group, rest), robot.group(group), DrakeOracle(robot, obstacles)
    rng = np.random.default_rng(3)
    free = rng.uniform(*within(robot, group), (4000, own.size))
    free = free[view.free_many(free)][:60]
    done = by_spline = 0
    for a, b in zip(free[::2], free[1::2], strict=True):
        path = plan(replace(world, q=rest), a, b, group=group)
        if isinstance(path, Failure):
            continue
        found = smooth(view, path, own)
        assert isinstance(found, OptimizedTrajectory), found
        by_spline += found.method == "smooth"
        assert_runs(found.trajectory, own, 1.0, a, b, REST)
        if done < 4:
            _, states = found.trajectory.resampled(0.02)
            allowed = -SLACK if found.method == "smooth" else -0.002 - SLACK
            assert deepest(oracle, robot, rest, view.moving, states) > allowed
        done += 1
        if done == 12:
            break
    assert done >= 8
    assert by_spline >= 0.9 * done


def test_with_something_in_the_hand_that_keeps_its_distance_too(post):
    rod = box((0.4, 0.03, 0.03), at=(0.0, 0.0, 0.11))
    world = post.holding("rod", rod)
    path = plan(world, START, GOAL)
    found = smooth(world.view("arm"), path, post.robot.group("arm"))
    assert found.method == "smooth"
    oracle = DrakeOracle(post.robot, SHAPES, {"rod": rod})
    _, states = found.trajectory.resampled(0.01)
    assert deepest(oracle, post.robot, np.zeros(9), slice(0, 7), states, ("rod",)) > -SLACK
    bare = smooth(post.view("arm"), plan(post, START, GOAL), post.robot.group("arm"))
    _, states = bare.trajectory.resampled(0.01)
    assert deepest(oracle, post.robot, np.zeros(9), slice(0, 7), states, ("rod",)) < -0.01


def test_no_plate_between_two_samples_is_passed_through(monkeypatch):
    """A fin that a spline through few samples would cut: the proof sends it round."""
    robot = panda_arm()
    fin = box((0.4, 0.002, 0.5), at=(0.55, 0.0, 0.25))
    world = CollisionWorld(robot, {"fin": fin})
    path = plan(world, START, GOAL)
    assert isinstance(path, Path)
    monkeypatch.setattr(module, "_SAMPLES", 1)
    monkeypatch.setattr(module, "_PIECES", 6)
    found = smooth(world.view("arm"), path, robot.group("arm"))
    _, states = found.trajectory.resampled(0.004)
    oracle = DrakeOracle(robot, {"fin": fin})
    assert deepest(oracle, robot, np.zeros(9), slice(0, 7), states) > -0.0025


def test_where_no_round_may_be_had_the_planned_path_is_driven_and_the_note_says_so(post):
    group = post.robot.group("arm")
    path = plan(post, START, GOAL)
    found = smooth(post.view("arm"), path, group, options=SmoothOptions(rounds=0))
    assert found.method == "time-optimal"
    assert "no spline passed" in found.note
    assert_runs(found.trajectory, group, 1.0, START, GOAL, REST)
    assert check_trajectory(post.view("arm"), found.trajectory, group).passed


def test_a_path_through_something_is_refused_whatever_is_tried(post):
    path = Path("arm", np.array([START, GOAL]))  # through the post
    blocked = CollisionWorld(panda_arm(), {**SHAPES, "wall": box((2.0, 0.02, 4.0))})
    found = smooth(blocked.view("arm"), path, post.robot.group("arm"))
    assert isinstance(found, Failure)
    assert "proven" in found.message


@pytest.mark.parametrize("trust", [0.02, 0.05])
def test_where_the_path_with_rounded_corners_is_clearly_faster_it_goes_on_from_there(
    post, trust, monkeypatch
):
    # Too few rounds and steps too small to get anywhere: splines 6 to 22 % slower.
    options = SmoothOptions(rounds=2 if trust < 0.05 else 1)
    monkeypatch.setattr(module, "_TRUST", trust)
    path, group = plan(post, START, GOAL, seed=1), post.robot.group("arm")
    found = smooth(post.view("arm"), path, group, options=options)
    peer = time_optimal(post.view("arm"), path, group)
    assert found.trajectory.duration <= 1.05 * peer.trajectory.duration
    assert found.rounds > options.rounds
    assert_runs(found.trajectory, group, 1.0, START, GOAL, REST)


@pytest.mark.parametrize("size", [0.1, 1e-3, 1e-6, 1e-9, 1e-15])
@pytest.mark.parametrize("way", [(0, 1), (0, 1, 0), (0, 0, 1, 1, 0, 0)])
@pytest.mark.parametrize("method", [smooth, time_optimal])
def test_paths_of_any_size_are_run_to_their_end_even_if_it_is_their_start(post, method, way, size):
    group = post.robot.group("arm")
    path = Path("arm", START + size * np.outer(way, np.linspace(-1.0, 1.0, 7)))
    trajectory = method(post.view("arm"), path, group).trajectory
    assert_runs(trajectory, group, 1.0, path.start, path.end, (1e-5, 1e-5))
    away = np.abs(trajectory(np.linspace(0.0, trajectory.duration, 501)) - START).max()
    assert size < 1e-3 or away > 0.4 * size  # it goes there, but for rounding the corner


@pytest.mark.parametrize("which", ["velocity", "acceleration", "jerk"])
@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize("method", [smooth, time_optimal])
def test_limits_however_far_apart_are_kept(post, method, which, factor):
    group = post.robot.group("arm")
    group = replace(group, **{which: factor * getattr(group, which)})
    trajectory = method(post.view("arm"), plan(post, START, GOAL), group).trajectory
    assert_runs(trajectory, group, 1.0, START, GOAL, REST)


@pytest.mark.parametrize(("joints", "scale"), [(6, 1.0), (7, 0.0), (7, 1.5), (7, float("nan"))])
@pytest.mark.parametrize("method", [smooth, time_optimal])
def test_misuse_is_refused(post, method, joints, scale):
    path = Path("arm", np.zeros((2, joints)))
    with pytest.raises(ValueError, match=r"joints|scale"):
        method(post.view("arm"), path, post.robot.group("arm"), scale)
