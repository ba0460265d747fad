"""smooth: optimizes a path into a short, fast spline within all limits, proven free at all times.

The method is sequential convex programming (J. Schulman et al., "Motion planning with sequential
convex optimization and convex collision checking", 2014) on a cubic B-spline. Each round
(``_optimize``)

1. finds the near pairs of bodies at sampled states, with distances and gradients,
2. solves the quadratic program that is linearized there (``program``),
3. gives the solution its shortest duration, and checks and proves the trajectory, between the
   samples too,
4. if it passes, keeps the best; if not, trusts the linearisation less, and adds a sample at the
   state that could not be proven.

``smooth`` returns the best proven spline; or the path with rounded corners (``time_optimal``), if
there is no proven spline or if that path is clearly faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from galley.collision.view import View
from galley.domain.failure import Failure
from galley.domain.frames import Array, as_numbers
from galley.motion.path import Path, polygon_length
from galley.motion.trajectory.timing import corners
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios, slowed
from galley.optimization.backward_travel import backward_travel
from galley.optimization.program import Iterate, Weights, counted_joints, solve_program
from galley.optimization.spline import DEGREE, FIXED, SplineSpace, sampled_basis, spline_space
from galley.optimization.time_optimal import OptimizedTrajectory, time_optimal
from galley.optimization.verdict import check_arguments, check_trajectory, planned_clearance
from galley.robots.model import JointGroup

METHOD = "smooth"
_NEGLIGIBLE = 0.0005  # m by which the proven clearance may fall short of the margin
_TOO_LONG = 10.0  # cost of excess length, against the logarithm of the duration
_SLOWER = 1.05  # a spline that takes longer than ``time_optimal`` by this factor is not returned
_PATIENCE = 5  # rounds after which any proven spline is good enough
_APART = 1e-4  # least distance of two samples in the parameter
_SAME = 1e-6  # rad or m, ends nearer than this are the same place
_RISE = 0.25  # share of the motion in which the initial guess accelerates
_ENOUGH = 0.045  # a spline that takes at most this share longer than any motion must is good enough
_LENGTH_RATIO = 1.01  # target length in joint space, as a multiple of the path's
_PIECES, _PIECES_PER_CORNER = 14, 3  # of the spline for a straight path, added for each corner
_MAX_PIECES = 40
_SAMPLES = 3  # checked states per piece
_NEAR = 0.06  # m beyond the required clearance within which bodies enter the program
_TRUST = 0.5  # rad or m, initial trust region of the control points


@dataclass(frozen=True)
class SmoothOptions:
    """Parameters of the optimization.

    Attributes:
        rounds: most programs to solve from one initial spline.
        tolerance: relative improvement of the cost below which a round is the last.
        weights: of the program's cost.
    """

    rounds: int = 12
    tolerance: float = 0.01
    weights: Weights = field(default_factory=Weights)

    def __post_init__(self) -> None:
        as_numbers(self.rounds, "rounds", least=0.0)
        as_numbers(self.tolerance, "tolerance", least=0.0)


def smooth(
    view: View,
    path: Path,
    group: JointGroup,
    scale: float = 1.0,
    required: float | None = None,
    options: SmoothOptions | None = None,
) -> OptimizedTrajectory | Failure:
    """Optimize a trajectory along a proven path, at rest at both ends.

    Args:
        view: collision view of the group, with what it holds.
        path: over ``group``, proven free; it decides on which side of obstacles to pass.
        group: gives the limits of position, velocity, acceleration and jerk.
        scale: share of the velocity, acceleration and jerk limits to use, in (0, 1].
        required: metres of clearance to prove at all times; by default the view's margin less half
            a millimetre, or the clearance of the ends if that is smaller.
        options: of the optimization.

    Returns:
        A checked trajectory. Its ``method`` is ``time-optimal``, with the reason in ``note``, if no
        spline passed the check, the best took over 5 % longer than ``time_optimal``'s, or the path
        ends where it begins. A Failure if not even the path itself passes.

    Raises:
        ValueError: the path is not over the group, or the scale is out of range.
    """
    options = options or SmoothOptions()
    path = check_arguments(path, group, scale)
    points = corners(path.waypoints)
    if len(points) == 1:  # standing still
        still = time_optimal(view, path, group, scale, required)
        return still if isinstance(still, Failure) else replace(still, method=METHOD)
    # A path that comes back to its start: the cost would shrink the spline to a point.
    if np.abs(points[-1] - points[0]).max() <= _SAME:
        other = time_optimal(view, path, group, scale, required)
        note = "the path ends where it begins, so the shortest spline would stand still"
        return other if isinstance(other, Failure) else replace(other, note=note)
    clearance = _provable_clearance(view, points) if required is None else required
    pieces = _PIECES + _PIECES_PER_CORNER * (len(points) - 2)
    space = spline_space(min(_MAX_PIECES, pieces))
    first = initial_control_points(space, points, group)
    best, rounds, reason = _optimize(view, points, first, group, scale, clearance, options)
    # No motion is much faster, so there is no need to compute the alternative.
    if best is not None and best.duration <= _SLOWER * least_duration(points, group, scale):
        return OptimizedTrajectory(best, METHOD, "", rounds)
    other = time_optimal(view, path, group, scale, required)
    if isinstance(other, Failure):
        return other if best is None else OptimizedTrajectory(best, METHOD, "", rounds)
    slow = _SLOWER * other.trajectory.duration
    # The rounds ended in a poor local optimum or without a proof: try again from the other
    # trajectory, which is free and fast, with more pieces to follow it.
    if best is None or best.duration > slow:
        finer = spline_space(min(_MAX_PIECES, 2 * pieces))
        first = other.trajectory(finer.abscissae * other.trajectory.duration)
        first[:FIXED], first[-FIXED:] = points[0], points[-1]
        again, more, reason = _optimize(view, points, first, group, scale, clearance, options)
        rounds += more
        if again is not None and (best is None or again.duration < best.duration):
            best = again
    if best is not None and best.duration <= slow:
        return OptimizedTrajectory(best, METHOD, "", rounds)
    note = f"no spline passed in {rounds} rounds: {reason}"
    if best is not None:
        note = f"the best spline takes {best.duration:.3g} s"
    note = f"{note}; {other.note}" if other.note else note
    return replace(other, note=note, rounds=rounds + other.rounds)


def least_duration(points: Array, group: JointGroup, scale: float) -> float:
    """Seconds that no motion between the ends of a path (m, k), from rest to rest, can undercut.

    The longest time that any joint needs alone, at its limits of velocity, acceleration and jerk:
    the double S of L. Biagiotti and C. Melchiorri, "Trajectory Planning for Automatic Machines and
    Robots" (2008), 3.4.
    """
    way = np.abs(points[-1] - points[0])
    v, a, j = (scale * limit for limit in (group.velocity, group.acceleration, group.jerk))
    rise = np.where(v * j >= a * a, v / a + a / j, 2.0 * np.sqrt(v / j))  # to full speed
    # Joints that never get to full speed: with a stretch of full acceleration, or without.
    below = np.where(
        way >= 2.0 * a**3 / j**2,
        a / j + np.sqrt((a / j) ** 2 + 4.0 * way / a),
        4.0 * np.cbrt(way / (2.0 * j)),
    )
    return float(np.where(way >= v * rise, way / v + rise, below).max())


def _provable_clearance(view: View, points: Array) -> float:
    """Clearance (m) to prove: the margin, or the ends' clearance if smaller, less a little.

    It is never less than the clearance that the planners prove.
    """
    margin = float(view.arrays.checks.margins[0])
    ends = view.nearby(points[[0, -1]], 0.0)  # pairs within their margin
    full = ends.required > 0.99 * margin  # pairs of the robot's own links have a smaller margin
    short = float((ends.distance - ends.required)[full].min(initial=0.0))
    return max(margin + short - _NEGLIGIBLE, planned_clearance(view))


def _optimize(
    view: View,
    points: Array,
    controls: Array,
    group: JointGroup,
    scale: float,
    required: float,
    options: SmoothOptions,
) -> tuple[Trajectory | None, int, str]:
    """The rounds of the optimization.

    Args:
        view: collision view of the group.
        points: the path's corners (n, k).
        controls: control points (m, k) of the spline to begin with.
        group: gives the limits.
        scale: share of the velocity, acceleration and jerk limits to use, in (0, 1].
        required: metres of clearance to prove.
        options: of the optimization.

    Returns:
        The best proven spline or None, the number of rounds, and the last reason for rejection.
    """
    space = spline_space(len(controls) - DEGREE)
    u, basis = sampled_basis(space, _SAMPLES)
    weights, trust = options.weights, _TRUST
    counted = counted_joints(points.shape[1], weights)
    target = _LENGTH_RATIO * polygon_length(points * counted)
    # The bound on the duration ignores headings: with ``astern`` it doesn't end the loop early.
    enough = (1.0 + _ENOUGH) * least_duration(points, group, scale)
    enough = 0.0 if weights.astern > 0.0 else enough
    best, lowest, reason, rounds = None, np.inf, "none was allowed", 0
    duration = minimum_duration(space, controls, group, scale)
    while rounds < options.rounds:
        rounds += 1
        # Linearize: distances and gradients of the near pairs in the sampled states.
        near = view.nearby(basis @ controls, _NEAR)
        iterate = Iterate(controls, duration, trust)
        solved = solve_program(space, iterate, group, scale, basis, near, weights)
        # Solve again from the same iterate, with smaller steps.
        if solved is None:
            reason, trust = "the program has no solution", 0.5 * trust
            continue
        # The solution is the next iterate, whether or not it passes the check: one in collision
        # tells the next program which pairs to push apart.
        controls = solved
        duration = minimum_duration(space, controls, group, scale)
        # The control points' bounds are cautious between knots: the exact peaks allow more speed.
        trajectory = _at_limits(space.trajectory(group.name, controls, duration), group, scale)
        verdict = check_trajectory(view, trajectory, group, scale, required)
        if verdict.passed:
            # The value that rounds are compared by: duration and length as in the program's cost,
            # but independent of the iterate.
            excess = polygon_length(basis @ controls * counted) / target
            value = float(np.log(trajectory.duration) + options.weights.length * np.log(excess))
            if weights.astern > 0.0:
                value += weights.astern * backward_travel(basis @ controls) / trajectory.duration
            if excess > 1.0:  # too long: another round with more weight on length
                value += _TOO_LONG * (excess - 1.0)
                weights = replace(weights, length=2.0 * weights.length)
            gain = lowest - value
            if gain > 0.0:
                best, lowest = trajectory, value
            # Converged; but while the spline is too long, the weight of length goes on growing.
            if gain < options.tolerance and (excess <= 1.0 or rounds > _PATIENCE):
                break
            # No motion is much faster, so further rounds could gain next to nothing.
            if excess <= 1.0 and trajectory.duration <= enough:
                break
        else:
            # The step was too long for the linearisation: trust it less in the next round.
            reason, trust = verdict.reason, 0.7 * trust
            if best is not None and rounds > _PATIENCE:
                break
            # The proof failed between the samples, where the program has no constraint yet.
            if verdict.unproven is not None:
                sample = verdict.unproven / trajectory.duration
                if np.abs(u - sample).min() > _APART:
                    u = np.sort(np.append(u, sample))
                    basis = space.basis(u)
    return best, rounds, reason


def initial_control_points(space: SplineSpace, points: Array, group: JointGroup) -> Array:
    """Control points (m, k) of a spline along a path's corners (n, k), at rest at both ends.

    The speed is trapezoidal, and corners are passed without a stop, so the spline may exceed
    limits and cut corners: it is only the initial guess.
    """
    spans = (np.abs(np.diff(points, axis=0)) / group.velocity).max(axis=1)
    along = np.concatenate([[0.0], np.cumsum(spans)]) / spans.sum()
    u = space.abscissae
    top = 1.0 / (1.0 - _RISE)
    s = np.where(
        u < _RISE,
        0.5 * top * u**2 / _RISE,
        np.where(u > 1.0 - _RISE, 1.0 - 0.5 * top * (1.0 - u) ** 2 / _RISE, top * (u - _RISE / 2)),
    )
    controls = np.stack([np.interp(s, along, column) for column in points.T], axis=1)
    controls[:FIXED], controls[-FIXED:] = points[0], points[-1]
    return controls


def minimum_duration(space: SplineSpace, points: Array, group: JointGroup, scale: float) -> float:
    """Shortest duration (s) at which the control points' bounds are within the limits."""
    limits = (group.velocity, group.acceleration, group.jerk)
    worst = [
        float((np.abs(space.derivatives[p] @ points) / (scale * limit)).max()) ** (1.0 / p)
        for p, limit in enumerate(limits, start=1)
    ]
    return float(max(*worst, 1e-3))


def _at_limits(trajectory: Trajectory, group: JointGroup, scale: float) -> Trajectory:
    """The same curve at the highest speed that its exact peaks allow."""
    ratios = limit_ratios(trajectory, group)
    worst = max((ratio / scale) ** (1.0 / p) for p, ratio in enumerate(ratios, start=1))
    return slowed(trajectory, worst * (1.0 + 1e-9))
