"""Whether a non-negative combination of columns comes near enough to a vector.

It replaces ``scipy.optimize.nnls``, whose import takes longer than all its calls in a validation,
and stops as soon as the answer is known.
"""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array


def is_reached(columns: Array, target: Array, within: float) -> bool:
    """Whether some x >= 0 has ``|columns @ x - target| <= within``.

    First along the steepest descent from zero, which is enough for most supports; then by active
    sets (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23).

    Args:
        columns: (m, n). target: (m,).
    """
    steepest = columns @ np.maximum(target @ columns, 0.0)
    size = float(steepest @ steepest)
    # The best multiple is not negative: steepest @ target is the sum of squares of x.
    if size > 0.0 and np.linalg.norm(target - steepest @ target / size * steepest) <= within:
        return True
    x = np.zeros(columns.shape[1])
    passive = np.zeros(len(x), dtype=bool)  # those that may be positive
    tolerance = 10.0 * max(columns.shape) * np.finfo(float).eps * np.abs(columns).sum(axis=0).max()
    rest = target
    for _ in range(3 * len(x)):
        if np.linalg.norm(rest) <= within:
            return True
        slope = np.where(passive, -np.inf, rest @ columns)
        if slope.max() <= tolerance:
            return False
        passive[np.argmax(slope)] = True
        while True:
            at = np.flatnonzero(passive)
            best = np.linalg.lstsq(columns[:, at], target, rcond=None)[0]
            low = best <= 0.0
            if not low.any():
                break
            # As far towards the best as none gets negative; those that become zero leave the set.
            shares = np.where(low, x[at] / np.where(low, x[at] - best, 1.0), np.inf)
            x[at] += shares.min() * (best - x[at])
            passive[at[(x[at] <= 0.0) | (shares == shares.min())]] = False
        x[:] = 0.0
        x[at] = best
        rest = target - columns @ x
    return bool(np.linalg.norm(rest) <= within)
