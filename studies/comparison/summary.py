"""Results of a comparison: the ones to show, faults, statistics, and ``compare.json``.

The schema of ``compare.json`` is in docs/comparison.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.studies.comparison.measures import CollisionVerdict, Measurements
from galley.studies.comparison.methods import DEFAULT, METHODS, Attempt
from galley.studies.comparison.queries import ArmQuery

SCHEMA_VERSION = 3
_DIGITS = 7  # significant digits in the file
_SUBSTITUTES = ("time-optimal", "shortcut")  # shown if the default method fails
FIGURES = (
    "joint_length_rad",
    "hand_length_m",
    "duration_s",
    "velocity_ratio",
    "acceleration_ratio",
    "jerk_ratio",
    "min_clearance_m",
    "solve_ms",
)


@dataclass(frozen=True)
class QueryResult:
    """The results of all methods on one query.

    Attributes:
        rows: each method's attempt and its measurements, None without a trajectory.
    """

    query: ArmQuery
    rows: tuple[tuple[Attempt, Measurements | None], ...]

    def row(self, method: str) -> tuple[Attempt, Measurements | None]:
        """A method's attempt and measurements."""
        return next(row for row in self.rows if row[0].method == method)

    def solution(self, method: str) -> Attempt | None:
        """A method's attempt if it has a trajectory."""
        attempt, measured = self.row(method)
        return None if measured is None else attempt


@dataclass(frozen=True)
class Spread:
    """Median and tail of a sample.

    Attributes:
        tail: the 95th percentile; of clearances the 5th, since less is worse.
    """

    median: float
    tail: float


@dataclass(frozen=True)
class MethodSummary:
    """Statistics of one method over all queries.

    Attributes:
        queries: number of queries. found: of those with a trajectory.
        free: trajectories without a collision. within: trajectories within the limits.
        good: successes: free and within. itself: successes without a fallback method.
        spreads: for each of FIGURES, over the successes; empty without any.
        against_shortcut: median ratio of the duration to the shortcut path's, over queries in
            which both succeed; None without any.
    """

    method: str
    queries: int
    found: int
    free: int
    within: int
    good: int
    itself: int
    spreads: dict[str, Spread]
    against_shortcut: float | None


def figures(attempt: Attempt, measured: Measurements) -> dict[str, float]:
    """The values of FIGURES for one attempt."""
    values = (
        measured.joint_length,
        measured.hand_length,
        measured.duration,
        measured.velocity,
        measured.acceleration,
        measured.jerk,
        measured.clearance,
        1e3 * attempt.seconds,
    )
    return dict(zip(FIGURES, values, strict=True))


def is_success(measured: Measurements | None) -> bool:
    """Whether there is a collision-free trajectory within the limits."""
    return measured is not None and measured.verdict.free and measured.within_limits


def summarize(results: Sequence[QueryResult]) -> tuple[MethodSummary, ...]:
    """Statistics of each of METHODS."""
    return tuple(_summary(method, results) for method in METHODS)


def _summary(method: str, results: Sequence[QueryResult]) -> MethodSummary:
    rows = [result.row(method) for result in results]
    found = [(a, m) for a, m in rows if m is not None]
    good = [(a, m) for a, m in found if is_success(m)]
    table = [figures(a, m) for a, m in good]
    spreads = {name: spread_of(name, [row[name] for row in table]) for name in FIGURES if table}
    ratios = []
    for result in results:
        _, own = result.row(method)
        _, other = result.row("shortcut")
        if own is not None and other is not None and is_success(own) and is_success(other):
            ratios.append(own.duration / other.duration)
    return MethodSummary(
        method=method,
        queries=len(rows),
        found=len(found),
        free=sum(m.verdict.free for _, m in found),
        within=sum(m.within_limits for _, m in found),
        good=len(good),
        itself=sum(a.by == method for a, _ in good),
        spreads=spreads,
        against_shortcut=float(np.median(ratios)) if ratios else None,
    )


def spread_of(name: str, values: Sequence[float]) -> Spread:
    """Median and tail of values of the figure ``name``."""
    return Spread(float(np.median(values)), float(np.percentile(values, tail_percent(name))))


def tail_percent(name: str) -> int:
    """The percentile at the bad end of the figure ``name``."""
    return 5 if name == "min_clearance_m" else 95


def best_attempt(result: QueryResult) -> Attempt | None:
    """The default method's attempt, or a substitute's if it has no trajectory."""
    attempts = (result.solution(method) for method in (DEFAULT, *_SUBSTITUTES))
    return next((attempt for attempt in attempts if attempt is not None), None)


def result_to_show(results: Sequence[QueryResult]) -> QueryResult:
    """The result to draw and film: the first with an RRT path and another, else the first."""
    both = (r for r in results if r.solution("rrt") is not None and best_attempt(r) is not None)
    return next(both, results[0])


def default_method_fault(result: QueryResult) -> str:
    """Why the default method did not succeed on a query; empty if it did."""
    attempt, measured = result.row(DEFAULT)
    if is_success(measured):
        return ""
    what = f"{result.query.name}: {DEFAULT}"
    if measured is None:
        return f"{what} has no trajectory: {attempt.reason}"
    hit = measured.verdict.first
    if hit is not None:
        return f"{what} collides: {hit.pair[0]} and {hit.pair[1]} after {hit.time:.2f} s"
    return f"{what} exceeds the limits, by a factor of {measured.peak:.4f}"


def result_record(result: QueryResult, scene: Scene, robot: RobotModel) -> dict[str, Any]:
    """A query and its results as plain data."""
    state = result.query.state
    return {
        "query": result.query.name,
        "about": result.query.about,
        "base": state.q[robot.slice("base")].tolist(),
        "start": result.query.start(robot).tolist(),
        "joints": {j.name: float(v) for j, v in zip(scene.joints, state.scene_q, strict=True)},
        "held": None if state.held is None else scene.items[state.held].name,
        "solutions": [_row(attempt, measured) for attempt, measured in result.rows],
    }


def summary_record(summaries: Sequence[MethodSummary]) -> list[dict[str, Any]]:
    """The statistics of each method as plain data."""
    return [
        {
            "method": s.method,
            "queries": s.queries,
            "found": s.found,
            "free": s.free,
            "within_limits": s.within,
            "good": s.good,
            "by_itself": s.itself,
            "success_rate": s.good / s.queries if s.queries else None,
            "duration_over_shortcut": s.against_shortcut,
            **{
                name: {
                    "median": _short(spread.median),
                    f"p{tail_percent(name):02d}": _short(spread.tail),
                }
                for name, spread in s.spreads.items()
            },
        }
        for s in summaries
    ]


def _row(attempt: Attempt, measured: Measurements | None) -> dict[str, Any]:
    record: dict[str, Any] = {"method": attempt.method, "found": measured is not None}
    if measured is None:
        return record | {"reason": attempt.reason, "solve_ms": _short(1e3 * attempt.seconds)}
    record |= {"made_by": attempt.by, "note": attempt.note or None}
    record |= {name: _short(value) for name, value in figures(attempt, measured).items()}
    if attempt.waypoints is not None:
        record["waypoints"] = len(attempt.waypoints)
    record["within_limits"] = measured.within_limits
    return record | _verdict(measured.verdict) | {"good": is_success(measured)}


def _verdict(verdict: CollisionVerdict) -> dict[str, Any]:
    return {
        "free": verdict.free,
        "proven": verdict.proven,
        "pybullet_states": verdict.states,
        "collisions": [
            {
                "engine": hit.engine,
                "time_s": _short(hit.time),
                "pair": list(hit.pair),
                "depth_m": _short(hit.depth),
            }
            for hit in verdict.hits
        ],
    }


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
