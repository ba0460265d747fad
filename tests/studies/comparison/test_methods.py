"""The six methods on one query; summaries of many."""

from dataclasses import replace

import numpy as np
import pytest

from galley.studies.comparison.methods import METHODS, Attempt, run_methods
from galley.studies.comparison.queries import ArmQuery, hand_poses, random_queries
from galley.studies.comparison.summary import (
    QueryResult,
    default_method_fault,
    is_success,
    summarize,
)


def test_all_methods_go_from_the_same_start_to_the_same_goal(kernel, query, solved):
    start, ends = query.start(kernel.robot), {}
    assert tuple(a.method for a, _ in solved.rows) == METHODS
    for attempt, measured in solved.rows:
        assert measured is not None, attempt.reason
        trajectory = attempt.trajectory
        assert np.allclose(trajectory(0.0), start, atol=1e-9)
        assert np.allclose(trajectory(np.array([0.0, trajectory.duration]), 1), 0.0, atol=1e-6)
        ends[attempt.method] = trajectory(trajectory.duration)
    # The RRT in PyBullet is a search of its own; the others go on from the compiled one's path.
    found = np.array([ends["rrt"], ends.pop("rrt-pybullet")])
    for X_WH in hand_poses(kernel.robot, query.state.q, found):
        p = X_WH[:3, :3] @ kernel.robot.p_HT + X_WH[:3, 3]
        assert np.abs(p - query.region.target[:3, 3]).max() <= query.region.radius + 1e-6
    assert np.allclose(list(ends.values()), ends["rrt"], atol=1e-8)


def test_the_qp_is_the_straight_line_and_no_path_is_shorter(solved):
    lengths = {a.method: m.joint_length for a, m in solved.rows}
    attempt, _ = solved.row("shortest")
    straight = np.linalg.norm(attempt.waypoints[-1] - attempt.waypoints[0])
    assert lengths["shortest"] == pytest.approx(straight, rel=1e-6)
    assert all(length >= straight - 1e-6 for length in lengths.values())
    assert lengths["shortcut"] <= lengths["rrt"] + 1e-9
    steps = np.abs(np.diff(attempt.waypoints, axis=0)).max()
    assert steps <= 0.3 + 1e-6  # the QP's epsilon


def test_same_seed_same_trajectories(kernel, shared_world, query, solved):
    again = run_methods(kernel, shared_world, query)
    for attempt, (other, _) in zip(again, solved.rows, strict=True):
        assert np.array_equal(attempt.trajectory.coefficients, other.trajectory.coefficients)
    raw_path = run_methods(kernel, shared_world, query, seed=1, in_pybullet=0)[0].waypoints
    assert raw_path.shape != solved.rows[0][0].waypoints.shape or not np.array_equal(
        raw_path, solved.rows[0][0].waypoints
    )


def test_without_an_rrt_path_the_others_start_from_rrt_connects(kernel, shared_world):
    hard = next(random_queries(kernel, 1, seed=0))
    attempts = run_methods(kernel, shared_world, hard, iterations=1, in_pybullet=1)
    by = {a.method: a for a in attempts}
    assert by["rrt"].trajectory is None
    assert "RRT found no path in 1 iterations" in by["rrt"].reason
    assert "RRT found no path in 1 iterations" in by["rrt-pybullet"].reason
    assert by["shortcut"].trajectory is None
    assert by["smooth"].trajectory is not None
    assert "RRT-Connect" in by["smooth"].note


def test_a_goal_that_is_cut_off_is_a_row_of_reasons(kernel, shared_world, query):
    state = query.state.with_robot([0.75, 0.3, np.pi, 0, -0.3, 0, -2.2, 0, 2.0, 0.7, 0.04, 0.04])
    inside = ArmQuery("sunk", state, np.array([[0.0, 0.9, 0.0, -1.6, 0.0, 2.2, 0.7]]))
    attempts = run_methods(kernel, shared_world, inside, iterations=50, in_pybullet=50)
    assert all(a.trajectory is None for a in attempts)
    assert all(a.reason for a in attempts)


def test_a_default_method_that_collides_or_is_missing_is_a_fault(solved):
    smooth, measured = solved.row("smooth")
    others = tuple(row for row in solved.rows if row[0].method != "smooth")
    gone = QueryResult(solved.query, (*others, (Attempt("smooth", reason="no luck"), None)))
    assert default_method_fault(gone) == "seed: smooth has no trajectory: no luck"
    fast = replace(measured, peaks=(1.0, 1.2, 0.5))
    assert "factor of 1.2000" in default_method_fault(
        QueryResult(solved.query, (*others, (smooth, fast)))
    )


def test_a_summary_counts_only_what_is_free_and_within_limits(solved):
    rrt, measured = solved.row("rrt")
    slow = replace(measured, duration=2 * measured.duration)
    fast = replace(measured, peaks=(1.5, 1.0, 1.0), duration=0.1)
    none = (Attempt("rrt", reason="none"), None)
    rest = tuple(row for row in solved.rows if row[0].method != "rrt")
    results = [QueryResult(solved.query, ((rrt, m), *rest)) for m in (measured, slow, fast)]
    results.append(QueryResult(solved.query, (none, *rest)))
    told = summarize(results)[0]
    counts = [told[key] for key in ("queries", "found", "within_limits", "good")]
    assert counts == [4, 3, 2, 2]
    durations = np.array([told["duration_s"]["median"], told["duration_s"]["p95"]])
    assert durations == pytest.approx(measured.duration * np.array([1.5, 1.95]))
    assert not is_success(fast)
    assert not is_success(None)
