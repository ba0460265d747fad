"""The check that every optimized trajectory must pass: limits, rest, continuity, clearance.

It does not depend on how the trajectory was made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from galley.collision.view import View
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios
from galley.robots.model import JointGroup, onto_limits

_EXCESS = 1e-6  # share of a limit allowed for rounding
_POSITION = 1e-9  # m or rad beyond a position limit, for rounding
_JUMP = 1e-6  # m or rad, or share of a limit, allowed between two pieces
_REST = 1e-6  # share of the limits of velocity and acceleration that counts as rest


@dataclass(frozen=True)
class TrajectoryVerdict:
    """The result of checking a trajectory.

    Attributes:
        reason: why the trajectory was rejected, in a sentence; empty if it passed.
        unproven: time (s) of a state whose clearance could not be proven, or None.
    """

    reason: str
    unproven: float | None

    @property
    def passed(self) -> bool:
        """Whether the trajectory passed the check."""
        return not self.reason


def check_arguments(path: Path, group: JointGroup, scale: float) -> Path:
    """The path, with joint values that float32 has rounded beyond a limit moved onto the limit.

    Raises:
        ValueError: the path is not over the group, or the scale not in (0, 1].
    """
    if path.waypoints.shape[1] != group.size:
        raise ValueError(
            f"the path has {path.waypoints.shape[1]} joints, group '{group.name}' {group.size}"
        )
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], got {scale}")
    return replace(path, waypoints=onto_limits(path.waypoints, group.lower, group.upper))


def planned_clearance(view: View) -> float:
    """Clearance in metres that the planners prove: half the margin of checked states."""
    return 0.5 * float(view.arrays.checks.margins[0])


def check_trajectory(
    view: View | None,
    trajectory: Trajectory,
    group: JointGroup,
    scale: float = 1.0,
    required: float | None = None,
) -> TrajectoryVerdict:
    """Check a trajectory: exact peaks, rest, continuity, and a proof of its clearance at all times.

    Args:
        view: collision view of the group; with None clearance is not checked.
        group: gives the limits of position, velocity, acceleration and jerk.
        scale: share of the limits of velocity, acceleration and jerk that may be used.
        required: metres of clearance; ``planned_clearance`` by default.
    """
    ratios = [ratio / scale for ratio in limit_ratios(trajectory, group)]
    reason = _out_of_limits(trajectory, group, ratios) or _not_smooth(trajectory, group)
    unproven = None
    if view is not None and not reason:
        clearance = planned_clearance(view) if required is None else required
        unproven = view.curve_unproven(trajectory.breaks, trajectory.coefficients, clearance)
        if unproven is not None:
            reason = f"after {unproven:.3f} s it can't be proven to keep {1e3 * clearance:.1f} mm"
    return TrajectoryVerdict(reason, unproven)


def _out_of_limits(trajectory: Trajectory, group: JointGroup, ratios: list[float]) -> str:
    """Why a trajectory is rejected that exceeds a limit; else empty.

    ``ratios`` are the peaks of velocity, acceleration and jerk as shares of the limits to use.
    """
    for name, ratio in zip(("velocity", "acceleration", "jerk"), ratios, strict=True):
        if not ratio <= 1.0 + _EXCESS:
            return f"the {name} is {ratio:.4f} of its limit"
    low, high = trajectory.extremes()
    beyond = np.maximum(group.lower - low, high - group.upper)
    worst = int(beyond.argmax())
    if beyond[worst] > _POSITION:
        return f"{group.joints[worst]} is {beyond[worst]:.2g} {group.units[worst]} out of its range"
    return ""


def _not_smooth(trajectory: Trajectory, group: JointGroup) -> str:
    """Why a trajectory is rejected that moves at its ends or jumps between pieces; else empty."""
    spans = np.diff(trajectory.breaks)
    rows = trajectory.coefficients
    units = (np.ones(group.size), group.velocity, group.acceleration)
    jump = ""
    for name, unit in zip(("position", "velocity", "acceleration"), units, strict=True):
        powers = spans[:, None] ** np.arange(rows.shape[1])
        after = np.einsum("nd,ndk->nk", powers, rows)
        if not jump and (np.abs(after[:-1] - rows[1:, 0]) / unit).max(initial=0.0) > _JUMP:
            jump = f"the {name} jumps"
        ends = np.stack([rows[0, 0], after[-1]])
        if name != "position" and (np.abs(ends) / unit).max() > _REST:
            return "it is not at rest at both ends"
        if rows.shape[1] == 1:
            break
        rows = rows[:, 1:] * np.arange(1, rows.shape[1])[None, :, None]
    return jump
