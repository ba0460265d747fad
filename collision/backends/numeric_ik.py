"""NumericIK: inverse kinematics of any arm by Newton's method, damped, from many starts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from galley.compiled.build import CHAIN, module_of
from galley.domain.frames import Array, as_pose, inverse
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import read_tree

_ALIKE = 1e-3  # rad or m: solutions that differ by less in every joint are the same
_ANYWHERE = 1e300  # m and rad: how far from the pose a start may be


class NumericIK:
    """Inverse kinematics of the group ``arm`` of a robot, without regard to obstacles."""

    def __init__(self, robot: RobotModel) -> None:
        self.group, self._own = robot.group("arm"), robot.slice("arm")
        self._tree = read_tree(robot.urdf, robot.joints)
        frame, X_FL = self._tree.link(robot.tool_link)
        self._tool, self._X_FT = frame, X_FL @ robot.X_LT
        self._rest = np.concatenate([np.clip(0.0, g.lower, g.upper) for g in robot.groups])

    def solve(
        self,
        X_WT: Array,
        seeds: int | Array = 32,
        rng: np.random.Generator | None = None,
        tolerance: float = 1e-6,
        q: ArrayLike | None = None,
    ) -> Array:
        """Distinct configurations that put the tool frame at X_WT.

        Args:
            X_WT: target pose of the tool (4, 4).
            seeds: starts (m, n), or how many to draw uniformly within the limits.
            rng: generator for the draw.
            tolerance: largest error accepted in the pose's numbers; they are within 1e-9 m and rad.
            q: values of all the robot's joints, for those outside the group; if omitted, as near to
                zero as their limits allow.

        Returns:
            (k, n), within the limits (``JointGroup.turn``), in the order of their starts. An empty
            result proves nothing.

        Raises:
            ValueError: seeds of another width, or a number without ``rng``; no pose; seeds or q
                not finite.
        """
        size, (lower, upper) = self.group.size, self.group.turn
        if isinstance(seeds, (int, np.integer)):
            if rng is None:
                raise ValueError("a number of seeds needs rng; or give the seeds themselves")
            seeds = rng.uniform(lower, upper, (int(seeds), size))
        starts: Any = np.atleast_2d(np.asarray_chkfinite(seeds, np.float64))
        if starts.shape[1] != size:
            raise ValueError(f"seeds need {size} columns, not {starts.shape[1]}")
        target = np.array(as_pose(X_WT, "X_WT"))
        X = self._chain(np.asarray_chkfinite(self._rest if q is None else q, np.float64))
        slides, arms = self._tree.prismatic[self._own], list[Array]()
        for start in np.clip(starts, lower, upper):
            table = np.column_stack([lower, upper, slides, start])
            search = 0.0, -1, _ANYWHERE, 1
            out, count = module_of(CHAIN).settle(start[None], target, X, table, *search)
            off = np.abs(module_of(CHAIN).hand_poses(out, X, table) - target).max()
            if count and off <= tolerance and all(np.abs(out - x).max() > _ALIKE for x in arms):
                arms.append(out[0])
        return np.array(arms).reshape(-1, size)

    def _chain(self, q: Array) -> Array:
        """Poses (n + 1, 4, 4) of the arm's joints and the tool at zero, each in the one before."""
        q = q.copy()
        q[self._own] = 0.0
        poses = self._tree.poses(q)
        at = [np.eye(4), *poses[1:][self._own], poses[self._tool] @ self._X_FT]
        return np.array([inverse(a) @ b for a, b in pairwise(at)])
