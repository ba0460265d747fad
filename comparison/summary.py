"""What many queries say together: for each method medians, 95th percentiles, success rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from galley.comparison.measures import Measured
from galley.comparison.methods import METHODS, Attempt
from galley.comparison.query import Query

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
class Result:
    """One query, all methods.

    Attributes:
        rows: for each method its attempt and what was measured of it, None without a trajectory.
    """

    query: Query
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


def summarize(results: Sequence[Result]) -> tuple[MethodSummary, ...]:
    """For each of METHODS."""
    return tuple(_summary(method, results) for method in METHODS)


def _summary(method: str, results: Sequence[Result]) -> MethodSummary:
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
