"""Which attempts of a query are kept in files, and what is expected of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from galley.comparison.methods import DEFAULT, Attempt
from galley.comparison.summary import Result, is_good
from galley.domain.files import written_whole
from galley.domain.frames import Array

_FINE = 0.01  # s between the waypoints of a smooth curve
_SUBSTITUTES = ("time-optimal", "shortcut")  # where the default method has nothing


def raw(result: Result) -> Attempt | None:
    """The RRT's attempt, if it has a trajectory."""
    attempt, measured = result.row("rrt")
    return None if measured is None else attempt


def best(result: Result) -> Attempt | None:
    """The default method's attempt, or that of the next best method that has one."""
    for method in (DEFAULT, *_SUBSTITUTES):
        attempt, measured = result.row(method)
        if measured is not None:
            return attempt
    return None


def to_show(results: Sequence[Result]) -> Result:
    """The result that is drawn and filmed: the first that has both, or else the first."""
    both = (r for r in results if raw(r) is not None and best(r) is not None)
    return next(both, results[0])


def fault(result: Result) -> str:
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


def save_waypoints(path: Path, attempt: Attempt) -> None:
    """Write an attempt's waypoints (n, 7), rad; of a smooth curve, one every 10 ms.

    Raises:
        BadInput: ``path`` can't be written.
    """
    points = attempt.waypoints
    if points is None:
        assert attempt.trajectory is not None
        points = sampled(attempt, _FINE)
    with written_whole(path) as partial, open(partial, "wb") as stream:
        np.save(stream, points, allow_pickle=False)


def sampled(attempt: Attempt, step: float) -> Array:
    """Configurations (n, 7) along an attempt's trajectory at most ``step`` (s) apart, ends too."""
    trajectory = attempt.trajectory
    assert trajectory is not None
    count = max(1, int(np.ceil(trajectory.duration / step - 1e-9)))
    return trajectory(np.linspace(0.0, trajectory.duration, count + 1))
