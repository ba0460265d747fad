"""Which arm configurations put the hand at a pose, and along a line of poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import Array, inverse
from galley.robots.kinematics import link0_pose
from galley.robots.panda import LIMITS, X_FH
from galley.robots.panda_ik import inverse_batch

_X_HF = inverse(X_FH)
_JUMP = 0.15  # rad, the most a joint may move between two poses of a line
# Configurations stay this far (rad) from the limits, so that a spline through them stays within.
_INSET = 0.01
_INNER = replace(LIMITS, lower=LIMITS.lower + _INSET, upper=LIMITS.upper - _INSET)
_DRIFT = np.array([0.03, -0.03, 0.08, -0.08])  # rad, how joint 7 may drift between poses


def flange_pose(X_WH: Array, base: Array, spec: MobileBaseSpec) -> Array:
    """X_AF (..., 4, 4): the flange in ``panda_link0`` for hand poses X_WH and a base (3,)."""
    return np.asarray(inverse(link0_pose(base, spec)) @ X_WH @ _X_HF)


def configurations(X_WH: Array, base: Array, spec: MobileBaseSpec, q7: Array) -> Array:
    """Arm configurations (k, 7) that put the hand at X_WH (4, 4) from a base pose (3,).

    Args:
        q7: values of joint 7 to solve for (m,), rad.
    """
    return inverse_batch(flange_pose(X_WH, base, spec), q7, _INNER).q


def joint7_values(n: int, rng: np.random.Generator) -> Array:
    """n values of joint 7 (n,), evenly spread over its range with a random offset."""
    low, high = _INNER.lower[6], _INNER.upper[6]
    return np.asarray(low + (high - low) * (np.arange(n) + rng.random()) / n)


def follow(start: Array, poses: Array, base: Array, spec: MobileBaseSpec) -> Array | None:
    """Arm configurations (n, 7) along hand poses X_WH (n, 4, 4), continuous from ``start`` (7,).

    ``start`` must reach the first pose. Joint 7 keeps its value where it can and drifts where it
    must; None where the line leaves the arm's reach or limits, or the arm would have to jump.
    """
    flange = flange_pose(poses, base, spec)
    q = np.asarray(start)
    found = [q]
    while len(found) < len(flange):
        # All poses that are left at once, with joint 7 as it is: one call instead of one for each.
        ahead = flange[len(found) :]
        kept = float(np.clip(q[6], _INNER.lower[6], _INNER.upper[6]))
        solved = inverse_batch(ahead, np.array([kept]), _INNER)
        for k, X in enumerate(ahead):
            step = _nearest(solved.q[solved.pose == k], q)
            if step is None:
                drifted = np.clip(q[6] + _DRIFT, _INNER.lower[6], _INNER.upper[6])
                step = _nearest(inverse_batch(X, drifted, _INNER).q, q)
                if step is None:
                    return None
                q = step
                found.append(q)
                break  # joint 7 has another value now: the rest must be solved anew
            q = step
            found.append(q)
    return np.array(found)


def _nearest(options: Array, q: Array) -> Array | None:
    """The configuration of options (k, 7) that is nearest to q (7,), if no joint has to jump."""
    if not len(options):
        return None
    jumps = np.abs(options - q).max(axis=1)
    best = int(np.argmin(jumps))
    return options[best] if jumps[best] <= _JUMP else None
