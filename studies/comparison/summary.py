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
from galley.studies.comparison.measures import Measurements
from galley.studies.comparison.methods import DEFAULT, METHODS, Attempt
from galley.studies.comparison.queries import ArmQuery

SCHEMA_VERSION = 4
_DIGITS = 7  # significant digits in the file
FIGURES = {
    "joint_length_rad": ("joint length, rad", 1.0, 2),
    "hand_length_m": ("hand path, m", 1.0, 2),
    "duration_s": ("duration, s", 1.0, 2),
    "velocity_ratio": ("velocity / limit", 1.0, 2),
    "acceleration_ratio": ("accel. / limit", 1.0, 2),
    "jerk_ratio": ("jerk / limit", 1.0, 2),
    "min_clearance_m": ("clearance, mm", 1e3, 0),
    "solve_ms": ("solve time, ms", 1.0, 1),
}
"""For each figure its title in a table, a factor, and decimals."""


@dataclass(frozen=True)
class QueryResult:
    """The results of all methods on one query.

    Attributes:
        query: the query that the methods solved.
        rows: for each method its attempt, and its measurements or None without a trajectory.
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


def figures(attempt: Attempt, measured: Measurements) -> dict[str, float]:
    """The values of FIGURES for one attempt."""
    values = (
        measured.joint_length,
        measured.hand_length,
        measured.duration,
        *measured.peaks,
        measured.clearance,
        1e3 * attempt.seconds,
    )
    return dict(zip(FIGURES, values, strict=True))


def is_success(measured: Measurements | None) -> bool:
    """Whether there is a collision-free trajectory within the limits."""
    return measured is not None and measured.verdict.free and measured.within_limits


def summarize(results: Sequence[QueryResult]) -> list[dict[str, Any]]:
    """Statistics of each of METHODS over all queries, as ``compare.json`` has them.

    ``good`` are successes, trajectories free of collision and within the limits; each of FIGURES
    has the median over them and the percentile at its bad end (``tail``).
    """
    return [_summary(method, results) for method in METHODS]


def _summary(method: str, results: Sequence[QueryResult]) -> dict[str, Any]:
    """The statistics of one method over all queries."""
    rows = [result.row(method) for result in results]
    solved = [(a, m) for a, m in rows if m is not None]
    good = [(a, m) for a, m in solved if is_success(m)]
    table = [figures(a, m) for a, m in good]
    record: dict[str, Any] = {
        "method": method,
        "queries": len(rows),
        "found": len(solved),
        "free": sum(m.verdict.free for _, m in solved),
        "within_limits": sum(m.within_limits for _, m in solved),
        "good": len(good),
        "by_itself": sum(a.by == method for a, _ in good),
    }
    for name in FIGURES if table else ():
        values, end = [row[name] for row in table], tail(name)
        bad = np.percentile(values, int(end[1:]))
        record[name] = {"median": _short(float(np.median(values))), end: _short(float(bad))}
    return record


def tail(name: str) -> str:
    """The percentile at the bad end of a figure: ``p95``, of clearances ``p05``."""
    return "p05" if name == "min_clearance_m" else "p95"


def result_to_show(results: Sequence[QueryResult]) -> QueryResult:
    """The result to draw and film: the first with the RRT and the default method, or the first."""
    both = (r for r in results if all(r.solution(method) for method in ("rrt", DEFAULT)))
    return next(both, results[0])


def default_method_fault(result: QueryResult) -> str:
    """Why the default method did not succeed on a query; empty if it did."""
    attempt, measured = result.row(DEFAULT)
    if is_success(measured):
        return ""
    subject = f"{result.query.name}: {DEFAULT}"
    if measured is None:
        return f"{subject} has no trajectory: {attempt.reason}"
    hit = measured.verdict.first
    if hit is not None:
        return f"{subject} collides: {hit.pair[0]} and {hit.pair[1]} after {hit.time:.2f} s"
    return f"{subject} exceeds the limits, by a factor of {max(measured.peaks):.4f}"


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


def _row(attempt: Attempt, measured: Measurements | None) -> dict[str, Any]:
    """An attempt and its measurements as plain data."""
    record: dict[str, Any] = {"method": attempt.method, "found": measured is not None}
    if measured is None:
        return record | {"reason": attempt.reason, "solve_ms": _short(1e3 * attempt.seconds)}
    record |= {"made_by": attempt.by, "note": attempt.note or None}
    record |= {name: _short(value) for name, value in figures(attempt, measured).items()}
    if attempt.waypoints is not None:
        record["waypoints"] = len(attempt.waypoints)
    verdict = measured.verdict
    return record | {
        "within_limits": measured.within_limits,
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
        "good": is_success(measured),
    }


def _short(value: float) -> float:
    """The value rounded to the digits that the file keeps."""
    return float(f"{value:.{_DIGITS}g}")
