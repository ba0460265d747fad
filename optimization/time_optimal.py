"""time_optimal: follows a proven path with rounded corners, as fast as the limits allow.

1. Parabolas inside the free space replace the corners (``rounding``).
2. The path gets the fastest time law within velocity and acceleration limits (``path_timing``,
   TOPP-RA).
3. A moving average over a few milliseconds bounds the jerk (``motion.trajectory.timing``).
4. The result is checked and proven. An average over w seconds shifts curved parts by at most
   a w^2 / 24, with a the acceleration: micrometres for an arm. Where the proof fails, the corner is
   cut less and in the end not at all: there the motion stops. Straight pieces between stops are
   kept exactly.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from galley.collision.view import View
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.timing import jerk_limited, rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, slowed
from galley.optimization.path_timing import TimeLaw, fastest_time_law, timed_trajectory
from galley.optimization.rounding import (
    DEVIATION,
    RoundedPath,
    limited_cuts,
    polygon_corners,
    proven_cuts,
    round_corners,
    useful_cuts,
)
from galley.optimization.verdict import check_arguments, check_trajectory, planned_clearance
from galley.robots.model import JointGroup

METHOD = "time-optimal"
_LONG = 0.02  # share of the duration added by the average above which gentler laws are tried
_GENTLER, _GENTLEST = 0.8, 16  # factor of the acceleration per try, number of tries
_BESIDE = 1e-6  # s, tolerance in finding the corner at a time
_SLOW = 1e-3  # share of the limits below which a faster trajectory is slowed instead
_LEAST = 1 / 128  # share of a useful cut below which the motion stops at the corner


@dataclass(frozen=True)
class OptimizedTrajectory:
    """A trajectory that has passed the check, and how it was made.

    Attributes:
        trajectory: within the limits, proven free at all times.
        method: ``smooth`` or ``time-optimal``.
        note: reason for a fallback, or at how many corners it stops; else empty.
        rounds: rounds of the optimization, in each of which a trajectory was made and checked.
    """

    trajectory: Trajectory
    method: str
    note: str = ""
    rounds: int = 0


def time_optimal(
    view: View | None,
    path: Path,
    group: JointGroup,
    scale: float = 1.0,
    required: float | None = None,
) -> OptimizedTrajectory | Failure:
    """Time a proven path with rounded corners, at rest at both ends.

    Args:
        view: collision view of the group. With None nothing is proven, and no joint deviates by
            more than ``rounding.DEVIATION`` at a corner.
        path: over ``group``.
        group: gives the limits.
        scale: share of the velocity, acceleration and jerk limits to use, in (0, 1].
        required: metres of clearance to prove; ``planned_clearance`` by default.

    Returns:
        A checked trajectory; ``note`` says at how many corners it stops. A Failure if not even the
        path itself passes.

    Raises:
        ValueError: the path is not over the group, or the scale is out of range.
    """
    path = check_arguments(path, group, scale)
    if required is None and view is not None:
        required = planned_clearance(view)
    points = polygon_corners(path, group)
    rounds = 0
    if len(points) > 1:
        useful = useful_cuts(points, group)
        if view is None:
            cuts = limited_cuts(points, group, useful, DEVIATION)
        else:
            cuts = proven_cuts(view, points, group, useful, required)
        for rounds in itertools.count(1):  # ends: each round shrinks a cut
            # A cut that is proven free can still fail here: the moving average shifts the curve.
            try:
                trajectory, spans = _round_and_time(path.group, points, cuts, group, scale)
            except ValueError:  # limits so far apart that times are lost to rounding
                break
            verdict = check_trajectory(view, trajectory, group, scale, required)
            if verdict.passed:
                stops = int((cuts == 0.0).sum())
                note = f"stops at {stops} of {len(cuts)} corners" if stops else ""
                return OptimizedTrajectory(trajectory, METHOD, note, rounds)
            smaller = _shrink_cuts(cuts, useful, spans, verdict.unproven)
            # The failure is not at a rounded corner, so smaller cuts would not help.
            if smaller is None:
                break
            cuts = smaller
    # The last resort: the path itself, with a stop at every corner.
    trajectory = rest_to_rest(path, group, scale)
    verdict = check_trajectory(view, trajectory, group, scale, required)
    if not verdict.passed:
        return Failure(FailureKind.BUDGET, f"the path itself doesn't pass: {verdict.reason}")
    note = "stops at every corner" if len(points) > 2 else ""
    return OptimizedTrajectory(trajectory, METHOD, note, rounds + 1)


def _round_and_time(
    name: str, points: Array, cuts: Array, group: JointGroup, scale: float
) -> tuple[Trajectory, Array]:
    """The trajectory, and the time span (s) in which it rounds each corner (c, 2); NaN if sharp.

    Args:
        name: of the joint group.
        points: corners of the path with both ends (c + 2, k).
        cuts: size of the cut at each corner (c,), in s.
        group: gives the limits.
        scale: share of the limits to use, in (0, 1].
    """
    if scale < _SLOW:  # slow a faster one, for numerical accuracy
        trajectory, spans = _round_and_time(name, points, cuts, group, _SLOW)
        return slowed(trajectory, _SLOW / scale), spans * (_SLOW / scale)
    path = round_corners(name, points, cuts, group)
    parts, begin = [], 0.0
    spans = np.full((len(cuts), 2), np.nan)
    for part in path.parts():
        law, smooth = _jerk_limited_law(part, group, scale)
        times, corner = law.times, part.corner[law.piece]
        window = smooth.duration - times[-1]
        for i in np.unique(corner[corner >= 0]):
            on = np.nonzero(corner == i)[0]
            spans[i] = begin + times[on[0]], begin + times[on[-1] + 1] + window
        parts.append(smooth)
        begin += smooth.duration
    return parts[0].joined(*parts[1:]), spans


def _jerk_limited_law(
    part: RoundedPath, group: JointGroup, scale: float
) -> tuple[TimeLaw, Trajectory]:
    """The time law without jerk limits, and the trajectory with them, from rest to rest."""
    jerk = scale * group.jerk
    law = fastest_time_law(part, group, scale)
    exact = timed_trajectory(part, law)
    best = jerk_limited(exact, jerk)
    added = best.duration - exact.duration
    if added <= _LONG * best.duration:
        return law, best
    # The average is long compared to the motion. Half of it suffices if the acceleration never
    # changes sign at once, and less with less acceleration.
    rise = float((exact.peaks(2) / jerk).max())
    before = np.inf
    for share in _GENTLER ** np.arange(_GENTLEST):
        gentle = replace(group, acceleration=share * group.acceleration)
        other = fastest_time_law(part, gentle, scale, share * rise)
        smooth = jerk_limited(timed_trajectory(part, other), jerk)
        if smooth.duration < best.duration:
            law, best = other, smooth
        # From here on, less acceleration costs more time than the shorter average saves.
        if smooth.duration > before:
            break
        before = smooth.duration
    return law, best


def _shrink_cuts(cuts: Array, useful: Array, spans: Array, time: float | None) -> Array | None:
    """The cuts (c,), halved at the corner that is rounded at ``time`` (s); None if there is none.

    ``spans`` (c, 2) are the corners' time spans, ``useful`` (c,) their largest useful cuts.
    """
    if time is None:
        return None
    if not (cuts > 0.0).any():
        return None
    # Pieces of less than a nanosecond are merged, so ``time`` may lie slightly beside a span.
    away = np.maximum(spans[:, 0] - time, time - spans[:, 1])  # NaN: no cut
    if np.nanmin(away) > _BESIDE:
        return None
    smaller = np.where(away <= _BESIDE, 0.5 * cuts, cuts)
    return np.where(smaller < _LEAST * useful, 0.0, smaller)
