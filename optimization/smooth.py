"""smooth: a short, fast spline within all limits that keeps its distance at all times.

Sequential convex programming (J. Schulman et al., "Motion planning with sequential convex
optimization and convex collision checking", 2014) on a cubic B-spline. Each round asks the kernel
which bodies are near at sampled states, how near, and how that changes with the joints; solves the
quadratic program made of it (``build``); and has the result proven, between the samples as
well. Where the proof fails a sample is added. The best that was proven is returned; where nothing
could be, the path is driven as it is (``time_optimal``).

The program of a round, around the spline at hand:

Variables: the inner control points P, the duration as a multiple tau of the one at hand T, and for
every checked state a slack s >= 0, in metres.

minimise    tau + w_L (length of the control polygon) / (its length at hand) + w_s sum s
subject to  |D_p P| <= limit_p T^p (p tau - (p - 1))     velocity, acceleration, jerk: p = 1, 2, 3
            d + g (q(P) - q) + s >= required + buffer    for every pair of bodies that is near
            the joints' ranges, and no control point further than ``trust`` from where it is

Since tau^p is convex, p tau - (p - 1) is at most tau^p: what satisfies the program keeps the limits
exactly, however far tau goes. The length is bounded from above by a quadratic that touches it at
hand (iteratively reweighted least squares). Drake's Clarabel solves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydrake.solvers import ClarabelSolver, MathematicalProgram
from scipy import sparse

from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.timing import corners
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios, slowed
from galley.optimization.spline import FIXED, SplineSpace, spline_space
from galley.optimization.time_optimal import Optimized, time_optimal
from galley.optimization.verdict import judge, planned_clearance
from galley.robots.model import JointGroup
from galley.worlds.view import Nearby, View

METHOD = "smooth"
_NEGLIGIBLE = 0.0005  # m that the proof may find less than the margin
_TOO_LONG = 10.0  # what a path's length too much costs, in logarithms of the duration
_PATIENCE = 5  # rounds after which something proven is good enough
_APART = 1e-4  # of the parameter, between two samples
_RISE = 0.25  # share of a motion that the first guess spends on getting under way
_TAU = (0.5, 3.0)  # how far the duration may change in one round
_SHORT = 0.3  # steps of the control polygon shorter than this share of the mean weigh no more


@dataclass(frozen=True)
class Weights:
    """What the program trades, against one duration at hand.

    Attributes:
        length: weight of the length at hand.
        slack: weight of a metre by which a state comes too near.
        buffer: metres that sampled states keep on top of what is required.
    """

    length: float = 0.3
    slack: float = 100.0
    buffer: float = 0.0015


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
    margin = float(view.arrays.checks.margins[0])
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
        solved = solve(program, x, at)
        if solved is None:
            reason, trust = "the program has no solution", 0.5 * trust
            continue
        at = solved
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


# -- the program of one round ----------------------------------------------------------------------


def build(
    space: SplineSpace,
    points: Array,
    duration: float,
    group: JointGroup,
    scale: float,
    samples: Array,
    near: Nearby,
    trust: float,
    weights: Weights,
) -> tuple[MathematicalProgram, Any]:
    """The program and its variables: inner control points row by row, tau, slacks.

    Args:
        points: control points at hand (m, k). duration: seconds at hand.
        group: its limits. scale: share of the velocity, acceleration and jerk limits to use.
        samples: (s, m) from control points to the checked states.
        near: what is near in those states.
        trust: how far a control point may move, in the joints' units.
    """
    m, k = points.shape
    inner = slice(FIXED, m - FIXED)
    n = (m - 2 * FIXED) * k
    rows, slack = np.unique(near.row, return_inverse=True)
    slack = slack.astype(np.int64)
    size = n + 1 + len(rows)
    limits = _limits(space, points, duration, group, scale)
    clear = _clearance(points[inner], samples[:, inner], near, slack, weights)
    rows_of, columns, values, upper = (
        np.concatenate(both) for both in zip(limits, clear, strict=True)
    )
    rows_of[len(limits.rows) :] += len(limits.upper)
    program: Any = MathematicalProgram()  # whose types mistake the shapes of arrays
    x = program.NewContinuousVariables(size, "x")
    A = sparse.csc_matrix((values, (rows_of, columns)), shape=(len(upper), size))
    program.AddLinearConstraint(A, np.full(len(upper), -np.inf), upper, x)
    low = np.maximum(points[inner] - trust, group.lower).ravel()
    high = np.minimum(points[inner] + trust, group.upper).ravel()
    program.AddBoundingBoxConstraint(
        np.concatenate([low, [_TAU[0]], np.zeros(len(rows))]),
        np.concatenate([high, [_TAU[1]], np.full(len(rows), np.inf)]),
        x,
    )
    Q, c = _length_cost(space, points)
    program.AddQuadraticCost(
        weights.length * np.kron(Q, np.eye(k)), weights.length * c.ravel(), x[:n], is_convex=True
    )
    program.AddLinearCost(np.concatenate([[1.0], np.full(len(rows), weights.slack)]), 0.0, x[n:])
    return program, x


def solve(program: MathematicalProgram, x: Any, points: Array) -> Array | None:
    """The control points (m, k) that the program's solution has; None where there is none."""
    result: Any = ClarabelSolver().Solve(program, None, None)
    if not result.is_success():
        return None
    m, k = points.shape
    found = points.copy()
    inner = (m - 2 * FIXED) * k
    found[FIXED : m - FIXED] = result.GetSolution(x)[:inner].reshape(-1, k)
    return found


class _Rows(NamedTuple):
    """Inequalities A x <= upper: entries of A by row, column and value."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Array
    upper: Array


@lru_cache(maxsize=32)
def _differences(space: SplineSpace, k: int) -> tuple[_Rows, ...]:
    """For velocity, acceleration, jerk: both signs of the derivative's control points, and tau.

    The values in the column of tau are minus the order; ``upper`` is not used.
    """
    m = space.size
    found = []
    for order, D in enumerate(space.derivatives[1:], start=1):
        inner = D[:, FIXED : m - FIXED]
        row, column = np.nonzero(inner)
        joint = np.arange(k)
        rows = (row[:, None] * k + joint).ravel()
        columns = (column[:, None] * k + joint).ravel()
        values = np.repeat(inner[row, column], k)
        count = len(D) * k
        found.append(
            _Rows(
                np.concatenate([rows, rows + count, np.arange(2 * count)]),
                np.concatenate([columns, columns, np.full(2 * count, inner.shape[1] * k)]),
                np.concatenate([values, -values, np.full(2 * count, -float(order))]),
                np.zeros(0),
            )
        )
    return tuple(found)


def _limits(space: SplineSpace, points: Array, T: float, group: JointGroup, scale: float) -> _Rows:
    """The limits of velocity, acceleration and, where it can bind, jerk; in shares of each."""
    m, k = points.shape
    ends = points.copy()
    ends[FIXED : m - FIXED] = 0.0
    limits = (group.velocity, group.acceleration, group.jerk)
    parts: list[_Rows] = []
    above = 0
    for p, (own, limit) in enumerate(zip(_differences(space, k), limits, strict=True), start=1):
        # The jerk is a difference of accelerations: in most arms' splines it can't be large.
        briefest = _TAU[0] * T * float(np.diff(space.breaks).min())
        if p == 3 and (2.0 * group.acceleration <= group.jerk * briefest).all():
            break
        D = space.derivatives[p]
        share = np.tile(1.0 / (scale * limit * T**p), 2 * len(D))
        fixed = (D @ ends).ravel()
        fixed = np.concatenate([fixed, -fixed]) * share
        tau = own.columns == (m - 2 * FIXED) * k
        values = np.where(tau, own.values, own.values * share[own.rows])
        parts.append(_Rows(own.rows + above, own.columns, values, -fixed - (p - 1.0)))
        above += len(share)
    return _Rows(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _clearance(
    inner: Array, basis: Array, near: Nearby, slack: NDArray[np.int64], weights: Weights
) -> _Rows:
    """Keeps near pairs apart, to first order."""
    count, n = len(near.row), inner.size
    steepness = (basis[near.row][:, :, None] * near.gradient[:, None, :]).reshape(count, n)
    room = near.distance - near.required - weights.buffer
    row, column = np.nonzero(steepness)
    every = np.arange(count)
    return _Rows(
        np.concatenate([row, every]),
        np.concatenate([column, n + 1 + slack]),
        np.concatenate([-steepness[row, column], -np.ones(count)]),
        room - steepness @ inner.ravel(),
    )


def _length_cost(space: SplineSpace, points: Array) -> tuple[Array, Array]:
    """Hessian (f, f) and gradient (f, k) at zero of the bound on the relative length.

    From |d| <= (|d|^2 / |d_0| + |d_0|) / 2 for every step d of the control polygon.
    """
    m = space.size
    steps = np.diff(points, axis=0)
    sizes = np.linalg.norm(steps, axis=1)
    total = max(float(sizes.sum()), 1e-9)
    weight = 1.0 / (np.maximum(sizes, _SHORT * total / m) * total)
    E = np.diff(np.eye(m), axis=0)
    ends = points.copy()
    ends[FIXED : m - FIXED] = 0.0
    own = E[:, FIXED : m - FIXED]
    return own.T @ (weight[:, None] * own), own.T @ (weight[:, None] * (E @ ends))
