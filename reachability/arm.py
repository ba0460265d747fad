"""Which arm configurations put the hand at a pose, and along a line of poses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from galley.compiled.build import REACH, ensure
from galley.domain.frames import Array, inverse
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import X_FH, as_input, limit_table

_X_HF = inverse(X_FH)
_JUMP = 0.15  # rad, the most a joint may move between two poses of a line
# Configurations stay this far (rad) from the limits, so that a spline through them stays within.
_INSET = 0.01
_INNER = replace(LIMITS, lower=LIMITS.lower + _INSET, upper=LIMITS.upper - _INSET)
_DRIFT = np.array([0.03, -0.03, 0.08, -0.08])  # rad, how joint 7 may drift between poses


def configurations(X_WH: Array, base: Array, spec: MobileBaseSpec, q7: Array) -> Array:
    """Arm configurations (k, 7) that put the hand at X_WH (4, 4) from a base pose (3,).

    Args:
        q7: values of joint 7 to solve for (m,), rad.
    """
    found: Array = _compiled().solve_pose(
        as_input(X_WH), as_input(base), _mount(spec.p_BA), *_constants(), as_input(q7)
    )
    return found


def reachable_bases(
    X_WH: Array, bases: Array, spec: MobileBaseSpec, q7: Array
) -> NDArray[np.bool_]:
    """Of each base pose (m, 3): whether the hand gets to X_WH (4, 4) from it; (m,).

    Args:
        q7: values of joint 7 to solve for, rad (k,); each base stops at the first that does.
    """
    found: NDArray[np.bool_] = _compiled().any_solution(
        as_input(X_WH), as_input(bases), _mount(spec.p_BA), *_constants(), as_input(q7)
    )
    return found


def joint7_values(n: int, rng: np.random.Generator) -> Array:
    """n values of joint 7 (n,), evenly spread over its range with a random offset."""
    low, high = _INNER.lower[6], _INNER.upper[6]
    return np.asarray(low + (high - low) * (np.arange(n) + rng.random()) / n)


def follow(start: Array, poses: Array, base: Array, spec: MobileBaseSpec) -> Array | None:
    """Arm configurations (n, 7) along hand poses X_WH (n, 4, 4), continuous from ``start`` (7,).

    ``start`` must reach the first pose. Joint 7 keeps its value where it can and drifts where it
    must; None where the line leaves the arm's reach or limits, or the arm would have to jump.
    """
    path: Array
    path, found = _compiled().follow_line(
        as_input(start),
        as_input(poses),
        as_input(base),
        _mount(spec.p_BA),
        *_constants(),
        _DRIFT,
        _JUMP,
    )
    return path if found == len(path) else None


@cache
def _constants() -> tuple[Array, Array]:
    """The flange in the hand (4, 4) and the table of the limits kept here."""
    return as_input(_X_HF), limit_table(_INNER)


@cache
def _mount(p_BA: tuple[float, float, float]) -> Array:
    """Where the arm stands on the base (3,)."""
    return as_input(p_BA)


@cache
def _compiled() -> ModuleType:
    """The compiled functions, compiled."""
    ensure(REACH)
    from galley.reachability import arm_kernel

    return arm_kernel
