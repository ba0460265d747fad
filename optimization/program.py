"""The convex step of ``smooth``: one quadratic program, linearized at the current iterate.

The iterate is a spline's control points and its duration T. The variables are the inner control
points P, the new duration as a multiple tau of T, and for every sampled state a slack s >= 0 in
metres: the clearance that the state may lack, at a high cost, so that the program has a solution
even if the iterate is in collision.

minimize    tau + w_L (length of the control polygon) / (its current length) + w_s sum s
            for a base also + w_a (metres driven backwards, see ``backward_travel``) / T
subject to  |D_p P| <= limit_p T^p (p tau - (p - 1))     velocity, acceleration, jerk: p = 1, 2, 3
            d + g (q(P) - q) + s >= margin + buffer      for every near pair of bodies
            the joints' ranges, and the trust region around the control points

D_p takes the control points to those of the p-th derivative. d is a pair's distance in a sampled
state q, and g the distance's gradient there.

Three things make the problem convex. The limits grow with tau^p, which is convex, so its tangent
p tau - (p - 1) <= tau^p: any solution keeps the limits exactly, however far tau moves. The
distances are linear in q, which holds only near the iterate: hence the trust region. The length is
bounded from above by a quadratic that is tight at the iterate (iteratively reweighted least
squares). Drake's Clarabel solves the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from pydrake.common import Parallelism
from pydrake.solvers import ClarabelSolver, MathematicalProgram, SolveInParallel, SolverOptions
from scipy import sparse

from galley.collision.view import Nearby
from galley.domain.frames import Array, as_numbers
from galley.optimization.backward_travel import backward_travel_cost
from galley.optimization.spline import FIXED, SplineSpace
from galley.robots.model import JointGroup

_SLACK = 100.0  # cost of a metre of missing clearance at a state
_BUFFER = 0.0015  # m of clearance at sampled states beyond the required one
_TAU = (0.5, 3.0)  # bounds of the change of duration in one round
# A round's program only gives the next iterate, which is timed and proven by itself: so the solver
# may stop early.
_GAP = 1e-3  # relative
_INFEASIBLE = 1e-5  # per radian or metre of the motion, up to one
_SHORT = 0.3  # share of the mean step below which weights of steps stop growing


@dataclass(frozen=True)
class Weights:
    """Weights of the program's cost; the relative duration has weight 1.

    Attributes:
        length: weight of the relative length. With more, paths become shorter and take longer.
        astern: extra seconds that a metre driven backwards costs. More than 0 only for
            the joints x, y and heading of a base that drives some way; the length then counts x and
            y alone.
    """

    length: float = 0.3
    astern: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            as_numbers(value, name, least=0.0)


@dataclass(frozen=True)
class Iterate:
    """The current point of the optimization.

    Attributes:
        points: control points (m, k).
        duration: seconds.
        trust: how far a control point may move in this round, in the joints' units.
    """

    points: Array
    duration: float
    trust: float


def counted_joints(k: int, weights: Weights) -> Array:
    """1 (k,) for each joint that counts in the length, 0 for the heading if ``astern`` is set."""
    return np.array([1.0, 1.0, 0.0]) if weights.astern > 0.0 else np.ones(k)


def solve_program(
    space: SplineSpace,
    iterate: Iterate,
    group: JointGroup,
    scale: float,
    basis: Array,
    near: Nearby,
    weights: Weights,
) -> Array | None:
    """The control points (m, k) of the program's solution; None if the solver finds none.

    The solution's duration is not returned: ``smooth.minimum_duration`` gives the least one for
    these control points.

    Args:
        space: the splines to which the control points belong.
        iterate: the point at which to linearize.
        group: gives the limits.
        scale: share of the velocity, acceleration and jerk limits to use, in (0, 1].
        basis: the matrix (s, m) from control points to the sampled states.
        near: the near pairs of bodies in those states.
        weights: of the cost.
    """
    points = iterate.points
    program, x = build_program(space, iterate, group, scale, basis, near, weights)
    clarabel, options = ClarabelSolver.id(), SolverOptions()
    infeasible = _INFEASIBLE * min(1.0, float(np.ptp(points, axis=0).max()))
    for name, value in (("tol_gap_abs", _GAP), ("tol_gap_rel", _GAP), ("tol_feas", infeasible)):
        options.SetOption(clarabel, name, value)
    # Unlike a solver's own ``Solve`` this releases the interpreter's lock.
    result: Any = SolveInParallel([program], None, [options], [clarabel], Parallelism(1))[0]
    if not result.is_success():
        return None
    # The control points at both ends are not variables: they hold the ends at rest.
    solution = points.copy()
    inner = solution[FIXED:-FIXED]
    inner[:] = result.GetSolution(x)[: inner.size].reshape(inner.shape)
    return solution


def build_program(
    space: SplineSpace,
    iterate: Iterate,
    group: JointGroup,
    scale: float,
    basis: Array,
    near: Nearby,
    weights: Weights,
) -> tuple[MathematicalProgram, Any]:
    """The program and its variables: inner control points row by row, tau, slacks of the states.

    The arguments are those of ``solve_program``.
    """
    points, trust = iterate.points, iterate.trust
    inner = points[FIXED:-FIXED]
    k, n, slacks = points.shape[1], inner.size, len(basis)
    program: Any = MathematicalProgram()  # its type stubs get array shapes wrong
    x = program.NewContinuousVariables(n + 1 + slacks, "x")
    # Limits constrain control points and tau, but no slacks: x[: n + 1].
    limits, upper = _limits(space, iterate, group, scale)
    program.AddLinearConstraint(limits, np.full(len(upper), -np.inf), upper, x[: n + 1])
    # Clearances constrain control points and slacks, but not tau: x without its element n.
    if len(near.row):
        clear, room = _clearance(inner, basis, near)
        program.AddLinearConstraint(clear, room, np.full(len(room), np.inf), np.delete(x, n))
    # The trust region and the joints' ranges. A spline stays within the hull of its control points,
    # so ranges that hold for these hold at all times.
    low = np.maximum(inner - trust, group.lower).ravel()
    high = np.minimum(inner + trust, group.upper).ravel()
    program.AddBoundingBoxConstraint(
        np.concatenate([low, [_TAU[0]], np.zeros(slacks)]),
        np.concatenate([high, [_TAU[1]], np.full(slacks, np.inf)]),
        x,
    )
    # One quadratic form serves every joint: joint j's control points are every k-th variable.
    Q, c = _length_cost(points)
    for j in np.nonzero(counted_joints(k, weights))[0]:
        program.AddQuadraticCost(
            weights.length * Q, weights.length * c[:, j], x[j:n:k], is_convex=True
        )
    if weights.astern > 0.0:
        H, g = backward_travel_cost(basis, points)
        share = weights.astern / iterate.duration
        program.AddQuadraticCost(share * H, share * g, x[k - 1 : n : k], is_convex=True)
    program.AddLinearCost(np.concatenate([[1.0], np.full(slacks, _SLACK)]), 0.0, x[n:])
    return program, x


def _limits(
    space: SplineSpace, iterate: Iterate, group: JointGroup, scale: float
) -> tuple[Any, Array]:
    """Limits of velocity, acceleration and jerk, each scaled to 1: A (l, n + 1), A x <= upper (l,).

    x is the n inner control points' coordinates and tau.
    """
    # The fixed control points contribute a constant, which moves to the right-hand side.
    ends = iterate.points.copy()
    ends[FIXED:-FIXED] = 0.0
    rows, upper = [], []
    for p, limit in enumerate((group.velocity, group.acceleration, group.jerk), start=1):
        share = 1.0 / (scale * limit * iterate.duration**p)
        for sign in (1.0, -1.0):
            of_tau = np.full((space.derivatives[p].shape[0] * len(limit), 1), -float(p))
            own = _of_joints(space, p, len(limit)).multiply(
                sign * np.tile(share, len(space.derivatives[p]))[:, None]
            )
            rows.append(sparse.hstack([own, of_tau]))
            upper.append(-sign * (space.derivatives[p] @ ends * share).ravel() - (p - 1.0))
    return sparse.csc_matrix(sparse.vstack(rows)), np.concatenate(upper)


@lru_cache(maxsize=64)
def _of_joints(space: SplineSpace, order: int, k: int) -> Any:
    """The matrix from the inner control points of k joints to a derivative's control points."""
    return sparse.csr_matrix(sparse.kron(space.derivatives[order][:, FIXED:-FIXED], np.eye(k)))


def _clearance(inner: Array, basis: Array, near: Nearby) -> tuple[Any, Array]:
    """Clearance of the p near pairs, linearized: A (p, n + s), A x >= room (p,).

    x is the n inner control points' coordinates and the slacks of the s sampled states.
    """
    count = len(near.row)
    # Chain rule: the gradient by a control point is its weight in the state's basis times the
    # gradient by the state.
    own = basis[near.row][:, FIXED:-FIXED, None] * near.gradient[:, None, :]
    steepness = own.reshape(count, inner.size)
    # The pairs of one state share its slack.
    slack = sparse.csr_matrix(
        (np.ones(count), (np.arange(count), near.row)), shape=(count, len(basis))
    )
    room = near.required + _BUFFER - near.distance + steepness @ inner.ravel()
    return sparse.csc_matrix(sparse.hstack([sparse.csr_matrix(steepness), slack])), room


def _length_cost(points: Array) -> tuple[Array, Array]:
    """Hessian (f, f) and gradient (f, k), at zero, of the upper bound of the relative length.

    From |d| <= (|d|^2 / |d_0| + |d_0|) / 2 for every step d of the control polygon, of which d_0 is
    the current value; f is the number of inner control points.
    """
    m = len(points)
    sizes = np.linalg.norm(np.diff(points, axis=0), axis=1)
    total = max(float(sizes.sum()), 1e-9)
    # A step of almost no length would weigh so much that it could never grow again.
    weight = 1.0 / (np.maximum(sizes, _SHORT * total / m) * total)
    steps = np.diff(np.eye(m), axis=0)
    ends = points.copy()
    ends[FIXED:-FIXED] = 0.0
    own = steps[:, FIXED:-FIXED]
    return own.T @ (weight[:, None] * own), own.T @ (weight[:, None] * (steps @ ends))
