"""MobilePandaKinematics: inverse kinematics of the mobile Panda, and bounds on its reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from galley.compiled.build import REACH, module_of
from galley.domain.frames import Array, as_input, frozen, inverse
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.kinematics import Kinematics, ReachBounds
from galley.robots.panda.ik import A7, D1, DF, LIMITS
from galley.robots.panda.kinematics import X_FH, limit_table, stretch
from galley.robots.panda.mobile import hand_pose, travel_bound

_JUMP = 0.15  # rad, the most a joint may move between two poses of a line
# Configurations stay this far (rad) from the limits, so that a spline through them stays within.
_INSET = 0.01
_INNER = replace(LIMITS, lower=LIMITS.lower + _INSET, upper=LIMITS.upper - _INSET)
_DRIFT = np.array([0.03, -0.03, 0.08, -0.08])  # rad, by which joint 7 may drift between poses
_TOO_NEAR = 0.2  # m, horizontally from the arm's axis to the wrist: nearer, it is in its own way
# rad, added to joints 1, 7 and 4 of a folded arm.
_SWINGS = (0.0, 0.7, -0.7, 1.4, -1.4)
_TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi, -np.pi)
_LIFTS = (0.0, 0.35)
_MOST_MANIPULABLE = 0.1307  # sqrt(det(J J^T)), the greatest in a million random configurations


@dataclass(frozen=True)
class MobilePandaKinematics(Kinematics):
    """Closed-form kinematics of the Panda on a base. Joint 7 is the redundant joint.

    Attributes:
        spec: the base's measures.
    """

    spec: MobileBaseSpec

    @cached_property
    def reach(self) -> ReachBounds:
        """Bounds by link lengths: the wrist centre is on a circle of radius A7 about C.

        C is DF behind the flange.
        """
        longest = stretch()[1]
        return ReachBounds(
            p_BS=frozen([*self.spec.p_BA[:2], self.spec.p_BA[2] + D1]),
            p_HC=frozen([0.0, 0.0, -DF]),
            to_C=longest + A7,
            to_hand=longest + float(np.hypot(A7, DF)),
            too_near=_TOO_NEAR,
        )

    @property
    def redundant_range(self) -> tuple[float, float]:
        """The limits of joint 7, less 0.01 rad."""
        return float(_INNER.lower[6]), float(_INNER.upper[6])

    def hand_pose(self, q: Array) -> Array:
        """X_WH (4, 4) by the values of base and arm in q (n,)."""
        return hand_pose(q, self.spec)

    def hand_poses(self, Q: Array) -> Array:
        """X_WH (m, 4, 4) by the values of base and arm in Q (m, n)."""
        return hand_pose(Q, self.spec)

    def configurations(self, X_WH: Array, base: Array, redundant: Array) -> Array:
        """All arm configurations, ordered by the value of joint 7, then by branch."""
        solutions, count = module_of(REACH).solve_pose(
            as_input(X_WH), as_input(base), *self._constants, as_input(redundant)
        )
        return np.array(solutions[:count])

    def heading_gaps(self, hands: Array, feet: Array, redundant: Array) -> Array:
        """Gaps by turning joint 1, whose axis is the foot's vertical."""
        _, X_HF, table = self._constants
        free = table.copy()
        # The row of ``limit_table`` for joint 1, of a whole circle.
        free[0] = -np.pi, np.pi, 0.0, 1.0, 0.0, -1.0
        poses = as_input(hands).reshape(-1, 4, 4), as_input(feet), float(self.spec.p_BA[2])
        limits = free, table[0, :2].copy()
        gaps: Array = module_of(REACH).heading_gaps(*poses, X_HF, *limits, as_input(redundant))
        return gaps

    def best_configurations(
        self, X_WH: Array, bases: Array, redundant: Array
    ) -> tuple[Array, Array]:
        """The best; manipulability as a share of the greatest in a million samples."""
        arms, scores = module_of(REACH).best_configurations(
            as_input(X_WH), as_input(bases), *self._constants, as_input(redundant)
        )
        scores[:, 0] = np.minimum(1.0, scores[:, 0] / _MOST_MANIPULABLE)
        return arms, scores

    def follow(self, start: Array, poses: Array, base: Array) -> Array | None:
        """A path on which joint 7 keeps its value, or drifts evenly, or drifts where it must.

        The first of these that is possible.
        """
        path = self._followed(start, poses, base)
        if path is None or np.ptp(path[:, 6]) == 0.0:
            return path
        # At each step in which joint 7 drifts, the hand would almost stop. So try to spread its
        # drift over the whole path.
        even = path.copy()
        even[:, 6] = np.linspace(path[0, 6], path[-1, 6], len(path))
        for k in range(1, len(path)):
            before = np.append(even[k - 1, :6], even[k, 6])
            step = self._followed(before, poses[k - 1 : k + 1], base)
            if step is None or step[1, 6] != even[k, 6]:
                return path
            even[k] = step[1]
        return even

    def _followed(self, start: Array, poses: Array, base: Array) -> Array | None:
        """The compiled ``follow_line``; None if it breaks off."""
        path: Array
        path, count = module_of(REACH).follow_line(
            as_input(start), as_input(poses), as_input(base), *self._constants, _DRIFT, _JUMP
        )
        return path if count == len(path) else None

    def folded(self, arm: Array) -> tuple[Array, ...]:
        """Sets with joint 1 swung and joint 7 turned; in the second, the forearm is lifted too."""
        turns = np.array([[s, 0.0, 0.0, 0.0, 0.0, 0.0, t] for s in _SWINGS for t in _TURNS])
        lifted = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0])
        return tuple(arm + (turns + lift * lifted) for lift in _LIFTS)

    def travel_bound(self, group: str, a: Array, b: Array, held_reach: float) -> float:
        """A bound from link lengths laid end to end: see ``mobile.travel_bound``."""
        return travel_bound(group, self.spec, a, b, held_reach)

    @cached_property
    def _constants(self) -> tuple[Array, Array, Array]:
        """The arm's foot in the base (3,), the flange in the hand (4, 4), the table of limits."""
        return as_input(self.spec.p_BA), as_input(inverse(X_FH)), _limits()


@cache
def _limits() -> Array:
    """The table of the limits, less ``_INSET``, for the compiled functions."""
    return limit_table(_INNER)
