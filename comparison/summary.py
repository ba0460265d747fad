"""Results: which are shown, what is expected, medians over many, and all as plain data.

The plain data is what ``compare.json`` holds (schema in docs/comparison.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.comparison.measures import Collisions, Measured
from galley.comparison.methods import DEFAULT, METHODS, Attempt
from galley.comparison.queries import ArmQuery
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel

SCHEMA_VERSION = 2
_DIGITS = 7  # significant; more would be noise
_SUBSTITUTES = ("time-optimal", "shortcut")  # where the default method has nothing
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
class MethodResult:
    """One query, all methods.

    Attributes:
        rows: for each method its attempt and what was measured of it, None without a trajectory.
    """

    query: ArmQuery
    rows: tuple[tuple[Attempt, Measured | None], ...]

    def row(self, method: str) -> tuple[Attempt, Measured | None]:
        """A method's attempt, and what was measured of it."""
        return next(row for row in self.rows if row[0].method == method)


@dataclass(frozen=True)
class Spread:
    """Some numbers in two.

    Attributes:
        median: of them. tail: 95th percentile; the 5th of clearances, where less is worse.
    """

    median: float
    tail: float


@dataclass(frozen=True)
class MethodSummary:
    """One method over all queries.

    Attributes:
        queries: how many it was asked. found: for how many it has a trajectory.
        free: of those, how many collide nowhere. within: how many keep the limits.
        good: free and within. itself: good, and made by this method, not by one that stood in.
        spreads: for each of FIGURES, over the good ones; empty without any.
        against_shortcut: median of duration over that of the shortcut path's, over queries for
            which both are good; None without any.
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


def figures(attempt: Attempt, measured: Measured) -> dict[str, float]:
    """The numbers of FIGURES for one attempt."""
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


def is_good(measured: Measured | None) -> bool:
    """Whether there is a trajectory that collides nowhere and keeps the limits."""
    return measured is not None and measured.verdict.free and measured.within_limits


def summarize(results: Sequence[MethodResult]) -> tuple[MethodSummary, ...]:
    """For each of METHODS."""
    return tuple(_summary(method, results) for method in METHODS)


def _summary(method: str, results: Sequence[MethodResult]) -> MethodSummary:
    rows = [result.row(method) for result in results]
    found = [(a, m) for a, m in rows if m is not None]
    good = [(a, m) for a, m in found if is_good(m)]
    table = [figures(a, m) for a, m in good]
    spreads = {name: spread_of(name, [row[name] for row in table]) for name in FIGURES if table}
    quotients = []
    for result in results:
        _, own = result.row(method)
        _, other = result.row("shortcut")
        if own is not None and other is not None and is_good(own) and is_good(other):
            quotients.append(own.duration / other.duration)
    return MethodSummary(
        method=method,
        queries=len(rows),
        found=len(found),
        free=sum(m.verdict.free for _, m in found),
        within=sum(m.within_limits for _, m in found),
        good=len(good),
        itself=sum(a.by == method for a, _ in good),
        spreads=spreads,
        against_shortcut=float(np.median(quotients)) if quotients else None,
    )


def spread_of(name: str, values: Sequence[float]) -> Spread:
    """Median and tail of some numbers of one of FIGURES."""
    return Spread(float(np.median(values)), float(np.percentile(values, tail_percent(name))))


def tail_percent(name: str) -> int:
    """Which percentile is the bad end of one of FIGURES."""
    return 5 if name == "min_clearance_m" else 95


def raw(result: MethodResult) -> Attempt | None:
    """The RRT's attempt, if it has a trajectory."""
    attempt, measured = result.row("rrt")
    return None if measured is None else attempt


def qp(result: MethodResult) -> Attempt | None:
    """The attempt of the seed's quadratic program, if it has a trajectory."""
    attempt, measured = result.row("shortest")
    return None if measured is None else attempt


def best(result: MethodResult) -> Attempt | None:
    """The default method's attempt, or that of the next best method that has one."""
    for method in (DEFAULT, *_SUBSTITUTES):
        attempt, measured = result.row(method)
        if measured is not None:
            return attempt
    return None


def to_show(results: Sequence[MethodResult]) -> MethodResult:
    """The result that is drawn and filmed: the first that has both, or else the first."""
    both = (r for r in results if raw(r) is not None and best(r) is not None)
    return next(both, results[0])


def fault(result: MethodResult) -> str:
    """What is not as expected: the default method must be free and within the limits."""
    attempt, measured = result.row(DEFAULT)
    if is_good(measured):
        return ""
    what = f"{result.query.name}: {DEFAULT}"
    if measured is None:
        return f"{what} has no trajectory: {attempt.reason}"
    hit = measured.verdict.first
    if hit is not None:
        return f"{what} collides: {hit.pair[0]} and {hit.pair[1]} after {hit.time:.2f} s"
    return f"{what} exceeds the limits, by a factor of {max(measured.peaks):.4f}"


def result_record(result: MethodResult, scene: Scene, robot: RobotModel) -> dict[str, Any]:
    """One query with all its rows."""
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
    """Medians, 95th percentiles and counts for each method."""
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


def _row(attempt: Attempt, measured: Measured | None) -> dict[str, Any]:
    told: dict[str, Any] = {"method": attempt.method, "found": measured is not None}
    if measured is None:
        return told | {"reason": attempt.reason, "solve_ms": _short(1e3 * attempt.seconds)}
    told |= {"made_by": attempt.by, "note": attempt.note or None}
    told |= {name: _short(value) for name, value in figures(attempt, measured).items()}
    if attempt.waypoints is not None:
        told["waypoints"] = len(attempt.waypoints)
    told["exact_peaks"] = [_short(peak) for peak in measured.peaks]
    told["within_limits"] = measured.within_limits
    return told | _verdict(measured.verdict) | {"good": is_good(measured)}


def _verdict(verdict: Collisions) -> dict[str, Any]:
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
