"""What optimisation returns."""

from __future__ import annotations

from dataclasses import dataclass

from galley.motion.trajectory import Trajectory


@dataclass(frozen=True)
class Optimized:
    """A trajectory that has passed the check, and how it came about.

    Attributes:
        trajectory: within the limits, proven to keep its distance at all times.
        method: which method made it: ``smooth`` or ``time-optimal``.
        note: why it isn't the method that was asked for; empty if it is.
        rounds: how many programs were solved.
        milliseconds: wall time it took.
    """

    trajectory: Trajectory
    method: str
    note: str = ""
    rounds: int = 0
    milliseconds: float = 0.0
