"""The quadratic program that a round of ``smooth`` solves, around the spline at hand.

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

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydrake.solvers import ClarabelSolver, MathematicalProgram
from scipy import sparse

from galley.domain.frames import Array
from galley.optimization.spline import FIXED, SplineSpace
from galley.robots.model import JointGroup
from galley.worlds.view import Nearby

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
class Step:
    """What a program gave: control points (m, k), and whether it was solved."""

    points: Array
    solved: bool


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
    Q, c = _length(space, points)
    program.AddQuadraticCost(
        weights.length * np.kron(Q, np.eye(k)), weights.length * c.ravel(), x[:n], is_convex=True
    )
    program.AddLinearCost(np.concatenate([[1.0], np.full(len(rows), weights.slack)]), 0.0, x[n:])
    return program, x


def solve(program: MathematicalProgram, x: Any, points: Array) -> Step:
    """The control points that the program's solution has; those at hand where there is none."""
    result: Any = ClarabelSolver().Solve(program, None, None)
    if not result.is_success():
        return Step(points, False)
    m, k = points.shape
    found = points.copy()
    inner = (m - 2 * FIXED) * k
    found[FIXED : m - FIXED] = result.GetSolution(x)[:inner].reshape(-1, k)
    return Step(found, True)


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


def _length(space: SplineSpace, points: Array) -> tuple[Array, Array]:
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
