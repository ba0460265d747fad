"""time_optimal: along a proven path, its corners rounded, as fast as the limits allow.

1. Corners become parabolas inside the free space (``rounding``).
2. The fastest time law within velocity and acceleration limits (``path_timing``, TOPP-RA).
3. The moving average over a few milliseconds, which bounds the jerk (``motion.trajectory.timing``).
4. The check of what came out. The average moves the curve where it isn't straight, by at most
   a w^2 / 24: micrometres for an arm. A corner where it can't be proven any more is cut less, and
   in the end not at all; there the motion stops. Straight pieces between stops are kept exactly.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.timing import jerk_limited, rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, slowed
from galley.optimization.path_timing import TimeLaw, along, fastest
from galley.optimization.rounding import (
    DEVIATION,
    RoundedPath,
    cut,
    polygon,
    proven_cuts,
    useful_cuts,
    within,
)
from galley.optimization.verdict import judge, planned_clearance
from galley.robots.model import JointGroup
from galley.worlds.view import View

METHOD = "time-optimal"
_LONG = 0.02  # share of the duration that the average may add before gentler laws are tried
_GENTLER, _GENTLEST = 0.8, 16
_BESIDE = 1e-6  # s
_SLOW = 1e-3  # share of the limits below which speeding up takes no time to speak of
_LEAST = 1 / 128  # share of a useful cut; below it the motion stops at the corner instead


@dataclass(frozen=True)
class Optimized:
    """A trajectory that has passed the check, and how it came about.

    Attributes:
        trajectory: within the limits, proven to keep its distance at all times.
        method: which method made it: ``smooth`` or ``time-optimal``.
        note: why it isn't the method that was asked for; empty if it is.
        rounds: how many programs were solved.
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
) -> Optimized | Failure:
    """A trajectory along a path that is proven free, at rest at both ends.

    Args:
        view: of the group, in its world. With None nothing is proven and no joint passes a corner
            by more than ``rounding.DEVIATION``.
        path: over ``group``.
        group: whose limits hold.
        scale: share of the velocity, acceleration and jerk limits to use, in (0, 1].
        required: metres to keep to everything; ``planned_clearance`` where omitted.

    Returns:
        What has passed the check; ``note`` says at how many corners it stops. A Failure where not
        even the path itself passes.

    Raises:
        ValueError: a path that isn't the group's, or a scale out of range.
    """
    if path.waypoints.shape[1] != group.size:
        raise ValueError(
            f"the path has {path.waypoints.shape[1]} joints, group '{group.name}' {group.size}"
        )
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], got {scale}")
    if required is None and view is not None:
        required = planned_clearance(view)
    points = polygon(path, group)
    rounds = 0
    if len(points) > 1:
        useful = useful_cuts(points, group)
        if view is None:
            cuts = within(points, group, useful, DEVIATION)
        else:
            cuts = proven_cuts(view, points, group, useful, required)
        for rounds in itertools.count(1):  # each makes a cut smaller: it ends
            trajectory, spans = _timed(path.group, points, cuts, group, scale)
            verdict = judge(view, trajectory, group, scale, required)
            if verdict.passed:
                stops = int((cuts == 0.0).sum())
                note = f"stops at {stops} of {len(cuts)} corners" if stops else ""
                return Optimized(trajectory, METHOD, note, rounds)
            smaller = _shrunk(cuts, useful, spans, verdict.unproven)
            if smaller is None:
                break
            cuts = smaller
    trajectory = rest_to_rest(path, group, scale)
    verdict = judge(view, trajectory, group, scale, required)
    if not verdict.passed:
        return Failure(FailureKind.BUDGET, f"the path itself doesn't pass: {verdict.reason}")
    note = "stops at every corner" if len(points) > 2 else ""
    return Optimized(trajectory, METHOD, note, rounds + 1)


def _timed(
    name: str, points: Array, cuts: Array, group: JointGroup, scale: float
) -> tuple[Trajectory, Array]:
    """The trajectory, and from when to when (c, 2) it rounds each corner of the polygon."""
    if scale < _SLOW:  # the same, slowed: numbers of very different size would not add up
        trajectory, spans = _timed(name, points, cuts, group, _SLOW)
        return slowed(trajectory, _SLOW / scale), spans * (_SLOW / scale)
    path = cut(name, points, cuts, group)
    parts, now = [], 0.0
    spans = np.full((len(cuts), 2), np.nan)
    for part in path.parts():
        law, smooth = _driven(part, group, scale)
        times, corner = law.times, part.corner[law.piece]
        window = smooth.duration - times[-1]
        for i in np.unique(corner[corner >= 0]):
            on = np.nonzero(corner == i)[0]
            spans[i] = now + times[on[0]], now + times[on[-1] + 1] + window
        parts.append(smooth)
        now += smooth.duration
    return parts[0].joined(*parts[1:]), spans


def _driven(part: RoundedPath, group: JointGroup, scale: float) -> tuple[TimeLaw, Trajectory]:
    """The time law without and the trajectory with the jerk limits, from rest to rest."""
    jerk = scale * group.jerk
    law = fastest(part, group, scale)
    exact = along(part, law)
    best = jerk_limited(exact, jerk)
    added = best.duration - exact.duration
    if added <= _LONG * best.duration:
        return law, best
    # The average takes long beside the motion: one over half the time will do where acceleration
    # never turns round at once, and one over less still with less acceleration.
    rise = float((exact.peaks(2) / jerk).max())
    before = np.inf
    for share in _GENTLER ** np.arange(_GENTLEST):
        gentle = replace(group, acceleration=share * group.acceleration)
        other = fastest(part, gentle, scale, share * rise)
        smooth = jerk_limited(along(part, other), jerk)
        if smooth.duration < best.duration:
            law, best = other, smooth
        if smooth.duration > before:
            break
        before = smooth.duration
    return law, best


def _shrunk(cuts: Array, useful: Array, spans: Array, where: float | None) -> Array | None:
    """The cuts, halved at the corner at which ``where`` (s) lies; None if it is at no corner."""
    if where is None:
        return None
    if not (cuts > 0.0).any():
        return None
    # Pieces of less than a nanosecond are merged: where two meet ``where`` may lie beside a span.
    away = np.maximum(spans[:, 0] - where, where - spans[:, 1])  # NaN: no cut
    if np.nanmin(away) > _BESIDE:
        return None
    smaller = np.where(away <= _BESIDE, 0.5 * cuts, cuts)
    return np.where(smaller < _LEAST * useful, 0.0, smaller)
