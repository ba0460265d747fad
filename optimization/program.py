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

import numpy as np
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
) -> tuple[MathematicalProgram, object]:
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
    size = n + 1 + len(rows)
    blocks, upper = _limits(space, points, duration, group, scale, len(rows))
    if len(rows):
        clear, bound = _clearance(points[inner], samples[:, inner], near, slack, len(rows), weights)
        blocks, upper = sparse.vstack([blocks, clear]), np.concatenate([upper, bound])
    program = MathematicalProgram()
    x = program.NewContinuousVariables(size, "x")
    program.AddLinearConstraint(sparse.csc_matrix(blocks), np.full(len(upper), -np.inf), upper, x)
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


def solve(program: MathematicalProgram, x: object, points: Array) -> Step:
    """The control points that the program's solution has; those at hand where there is none."""
    result = ClarabelSolver().Solve(program, None, None)
    if not result.is_success():
        return Step(points, False)
    m, k = points.shape
    found = points.copy()
    inner = (m - 2 * FIXED) * k
    found[FIXED : m - FIXED] = result.GetSolution(x)[:inner].reshape(-1, k)
    return Step(found, True)


@lru_cache(maxsize=32)
def _derivatives(space: SplineSpace, k: int) -> tuple[tuple[sparse.csr_matrix, Array], ...]:
    """For velocity, acceleration, jerk: the matrix over inner control points of all joints."""
    m = space.size
    found = []
    for D in space.derivatives[1:]:
        wide = sparse.csr_matrix(sparse.kron(D[:, FIXED : m - FIXED], sparse.eye(k)))
        found.append((wide, np.asarray(D)))
    return tuple(found)


def _limits(
    space: SplineSpace, points: Array, T: float, group: JointGroup, scale: float, slacks: int
) -> tuple[sparse.csr_matrix, Array]:
    """Rows A x <= b of the limits, each in shares of its limit."""
    m, k = points.shape
    blocks, upper = [], []
    ends = points.copy()
    ends[FIXED : m - FIXED] = 0.0
    limits = (group.velocity, group.acceleration, group.jerk)
    for p, ((wide, D), limit) in enumerate(
        zip(_derivatives(space, k), limits, strict=True), start=1
    ):
        share = np.tile(1.0 / (scale * limit * T**p), D.shape[0])
        fixed = (D @ ends).ravel() * share
        chosen = np.arange(len(share))
        if p == 3:  # the jerk is a difference of accelerations: in most arms' splines never large
            briefest = T * float(np.diff(space.breaks).min())
            binds = 2.0 * group.acceleration > group.jerk * briefest
            chosen = np.nonzero(np.tile(binds, D.shape[0]))[0]
            if len(chosen) == 0:
                continue
        rows = sparse.diags(share[chosen]) @ wide[chosen]
        tau = sparse.csr_matrix(np.full((len(chosen), 1), -float(p)))
        none = sparse.csr_matrix((len(chosen), slacks))
        for sign in (1.0, -1.0):
            blocks.append(sparse.hstack([sign * rows, tau, none]))
            upper.append(-sign * fixed[chosen] - (p - 1.0))
    return sparse.csr_matrix(sparse.vstack(blocks)), np.concatenate(upper)


def _clearance(
    inner: Array, basis: Array, near: Nearby, slack: Array, slacks: int, weights: Weights
) -> tuple[sparse.csr_matrix, Array]:
    """Rows A x <= b that keep near pairs apart, to first order."""
    count = len(near.row)
    n = inner.size
    steepness = (basis[near.row][:, :, None] * near.gradient[:, None, :]).reshape(count, n)
    room = near.distance - near.required - weights.buffer
    loose = sparse.csr_matrix((-np.ones(count), (np.arange(count), slack)), shape=(count, slacks))
    rows = sparse.hstack([sparse.csr_matrix(-steepness), sparse.csr_matrix((count, 1)), loose])
    return sparse.csr_matrix(rows), room - steepness @ inner.ravel()


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
