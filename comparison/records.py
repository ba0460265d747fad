"""Results as plain data, for ``compare.json`` (schema in docs/comparison.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from galley.comparison.collisions import Collisions
from galley.comparison.measures import Measured
from galley.comparison.methods import Attempt
from galley.comparison.summary import MethodSummary, Result, figures, is_good, tail_percent
from galley.domain.scene import Scene
from galley.robots.model import RobotModel

SCHEMA_VERSION = 2
_DIGITS = 7  # significant; more would be noise


def result_record(result: Result, scene: Scene, robot: RobotModel) -> dict[str, Any]:
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
