"""shortest: the baseline, a quadratic program for the shortest sequence of waypoints.

minimize    sum_i |x_i - x_{i-1}|^2
subject to  x_0 and x_{N-1} fixed,  |x_i - x_{i-1}|_j <= epsilon for every joint j

It ignores obstacles: its optimum is the straight joint-space line, which the caller must check.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.solvers import ClarabelSolver, MathematicalProgram

from galley.domain.failure import Failure, FailureKind
from galley.motion.path import Path

EPSILON = 0.3  # rad, bound on a step, as in the original project


def shortest(path: Path, epsilon: float = EPSILON) -> Path | Failure:
    """The QP's solution for a path's ends and (resampled) number of waypoints.

    Args:
        path: resampled first, so that its own steps keep the bound and the program is feasible.
        epsilon: largest step of a joint between two waypoints, in the group's units.

    Returns:
        A path with exactly the same ends; a Failure if the solver gives up.
    """
    start = path.resampled(epsilon).waypoints
    if len(start) < 3:
        return Path(path.group, start)
    n, k = start.shape
    program = MathematicalProgram()
    x = program.NewContinuousVariables(n - 2, k, "x")
    # The steps are D x + e, with D (n - 1, n - 2) and e from the fixed ends; the joints are
    # independent of each other.
    D: Any = np.eye(n - 1, n - 2) - np.eye(n - 1, n - 2, -1)
    e: Any = np.zeros((n - 1, k))
    e[0], e[-1] = -start[0], e[-1] + start[-1]
    for j in range(k):
        program.AddQuadraticCost(
            2.0 * D.T @ D, 2.0 * D.T @ e[:, j], float(e[:, j] @ e[:, j]), x[:, j], is_convex=True
        )
        program.AddLinearConstraint(D, -epsilon - e[:, j], epsilon - e[:, j], x[:, j])
    result = ClarabelSolver().Solve(program, None, None)
    if not result.is_success():
        return Failure(
            FailureKind.BUDGET,
            f"the QP's solver stopped without a solution ({result.get_solution_result().name})",
        )
    points = np.vstack([start[:1], np.atleast_2d(result.GetSolution(x)), start[-1:]])
    return Path(path.group, points)
