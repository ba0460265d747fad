"""smooth: a short, fast spline within all limits that keeps its distance at all times.

Sequential convex programming (J. Schulman et al., "Motion planning with sequential convex
optimization and convex collision checking", 2014) on a cubic B-spline. Each round asks the kernel
which bodies are near at sampled states, how near, and how that changes with the joints; solves the
quadratic program made of it (``program``); and has the result proven, between the samples as
well. Where the proof fails a sample is added. The best that was proven is returned; where nothing
could be, the path is driven as it is (``time_optimal``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.timing import corners
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios, slowed
from galley.optimization.program import Weights, build, solve
from galley.optimization.spline import FIXED, SplineSpace, spline_space
from galley.optimization.time_optimal import Optimized, time_optimal
from galley.optimization.verdict import judge, planned_clearance
from galley.robots.model import JointGroup
from galley.worlds.view import View

METHOD = "smooth"
_NEGLIGIBLE = 0.0005  # m that the proof may find less than the margin
_TOO_LONG = 10.0  # what a path's length too much costs, in logarithms of the duration
_PATIENCE = 5  # rounds after which something proven is good enough
_APART = 1e-4  # of the parameter, between two samples
_RISE = 0.25  # share of a motion that the first guess spends on getting under way


@dataclass(frozen=True)
class SmoothOptions:
    """How hard to try.

    Attributes:
        rounds: programs solved, at most.
        enough: a round that improves time and length by less than this share is the last.
        longest: joint length that is wanted, as a multiple of the path's.
        pieces: of the spline for a straight path. for_corner: more of them for each corner.
        most: pieces, at most.
        samples: checked states in each piece.
        within: metres beyond what is required up to which bodies count as near.
        trust: how far a control point may move in the first round, rad or m.
        weights: of the program.
    """

    rounds: int = 12
    enough: float = 0.01
    longest: float = 1.01
    pieces: int = 14
    for_corner: int = 3
    most: int = 40
    samples: int = 3
    within: float = 0.06
    trust: float = 0.5
    weights: Weights = field(default_factory=Weights)

    def __post_init__(self) -> None:
        """Refuses what makes no sense."""
        least = {"rounds": 0, "pieces": 4, "for_corner": 0, "most": 4, "samples": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, got {getattr(self, name)}")
        for name in ("enough", "longest", "within", "trust"):
            if not (isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ValueError(f"{name} must be greater than 0, got {getattr(self, name)}")


def smooth(
    view: View,
    path: Path,
    group: JointGroup,
    scale: float = 1.0,
    required: float | None = None,
    options: SmoothOptions | None = None,
) -> Optimized | Failure:
    """A smooth trajectory from a proven path's start to its end, at rest at both.

    Args:
        view: of the group, in its world, with what it holds.
        path: over ``group``, proven free. It says on which side of things to pass.
        group: whose position, velocity, acceleration and jerk limits hold.
        scale: share of the velocity, acceleration and jerk limits to use, in (0, 1].
        required: metres proven at all times; where omitted the view's margin less half a
            millimetre, or what is left of it at the ends.
        options: how hard to try.

    Returns:
        What has passed the check. ``method`` is ``time-optimal`` where no spline did, with the
        reason in ``note``. A Failure where not even the path itself passes.

    Raises:
        ValueError: a path that isn't the group's, or a scale out of range.
    """
    options = options or SmoothOptions()
    if path.waypoints.shape[1] != group.size:
        raise ValueError(
            f"the path has {path.waypoints.shape[1]} joints, group '{group.name}' {group.size}"
        )
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], got {scale}")
    points = corners(path.waypoints)
    if len(points) == 1:  # standing still
        still = time_optimal(view, path, group, scale, required)
        return still if isinstance(still, Failure) else replace(still, method=METHOD)
    kept = _kept(view, points) if required is None else required
    found, rounds, reason = _search(view, points, group, scale, kept, options)
    if found is not None:
        return Optimized(found, METHOD, "", rounds)
    driven = time_optimal(view, path, group, scale, required)
    if isinstance(driven, Failure):
        return driven
    note = f"no spline passed in {rounds} rounds: {reason}"
    note = f"{note}; {driven.note}" if driven.note else note
    return replace(driven, note=note, rounds=rounds + driven.rounds)


def _kept(view: View, points: Array) -> float:
    """What can be proven everywhere: the margin, or what the ends have, less a little."""
    margin = float(view.query.margins[0])
    ends = view.nearby(points[[0, -1]], 0.0)  # pairs nearer than they should be
    full = ends.required > 0.99 * margin  # the robot's links have a margin, and proof, of their own
    short = float((ends.distance - ends.required)[full].min(initial=0.0))
    return max(margin + short - _NEGLIGIBLE, planned_clearance(view))


def _search(
    view: View,
    points: Array,
    group: JointGroup,
    scale: float,
    required: float,
    options: SmoothOptions,
) -> tuple[Trajectory | None, int, str]:
    """The best proven spline, the rounds it took, and why the last one was no good."""
    space = spline_space(min(options.most, options.pieces + options.for_corner * (len(points) - 2)))
    u = space.samples(options.samples)
    basis = space.basis(u)
    weights, trust = options.weights, options.trust
    wanted = options.longest * _length(points)
    at = first_guess(space, points, group)
    best, least, reason, rounds = None, np.inf, "none was allowed", 0
    while rounds < options.rounds:
        rounds += 1
        near = view.nearby(basis @ at, options.within)
        duration = shortest_time(space, at, group, scale)
        program, x = build(space, at, duration, group, scale, basis, near, trust, weights)
        step = solve(program, x, at)
        if not step.solved:
            reason, trust = "the program has no solution", 0.5 * trust
            continue
        at = step.points
        duration = shortest_time(space, at, group, scale)
        trajectory = _tightened(space.trajectory(group.name, at, duration), group, scale)
        verdict = judge(view, trajectory, group, scale, required)
        if verdict.passed:
            excess = _length(basis @ at) / wanted
            value = float(np.log(trajectory.duration) + options.weights.length * np.log(excess))
            if excess > 1.0:  # too long: another round that minds length more
                value += _TOO_LONG * (excess - 1.0)
                weights = replace(weights, length=2.0 * weights.length)
            gain = least - value
            if gain > 0.0:
                best, least = trajectory, value
            if gain < options.enough and (excess <= 1.0 or rounds > _PATIENCE):
                break
        else:
            reason, trust = verdict.reason, 0.7 * trust
            if best is not None and rounds > _PATIENCE:
                break
            if verdict.unproven is not None:
                where = verdict.unproven / trajectory.duration
                if np.abs(u - where).min() > _APART:
                    u = np.sort(np.append(u, where))
                    basis = space.basis(u)
    return best, rounds, reason


def _length(points: Array) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def first_guess(space: SplineSpace, points: Array, group: JointGroup) -> Array:
    """Control points (m, k) along a polygon, with a trapezoidal speed, at rest at both ends."""
    spans = (np.abs(np.diff(points, axis=0)) / group.velocity).max(axis=1)
    along = np.concatenate([[0.0], np.cumsum(spans)]) / spans.sum()
    u = space.abscissae
    top = 1.0 / (1.0 - _RISE)
    s = np.where(
        u < _RISE,
        0.5 * top * u**2 / _RISE,
        np.where(u > 1.0 - _RISE, 1.0 - 0.5 * top * (1.0 - u) ** 2 / _RISE, top * (u - _RISE / 2)),
    )
    found = np.stack([np.interp(s, along, column) for column in points.T], axis=1)
    found[:FIXED], found[-FIXED:] = points[0], points[-1]
    return found


def shortest_time(space: SplineSpace, points: Array, group: JointGroup, scale: float) -> float:
    """Seconds in which the control points' bounds keep the limits."""
    limits = (group.velocity, group.acceleration, group.jerk)
    worst = [
        float((np.abs(space.derivatives[p] @ points) / (scale * limit)).max()) ** (1.0 / p)
        for p, limit in enumerate(limits, start=1)
    ]
    return float(max(*worst, 1e-3))


def _tightened(trajectory: Trajectory, group: JointGroup, scale: float) -> Trajectory:
    """The same curve as fast as the exact peaks allow."""
    ratios = limit_ratios(trajectory, group)
    worst = max((ratio / scale) ** (1.0 / p) for p, ratio in enumerate(ratios, start=1))
    return slowed(trajectory, worst * (1.0 + 1e-9))
