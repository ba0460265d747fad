"""Inverse kinematics of any arm, by damped Newton steps from many starts at once.

For residual e = (p_T - p, log of R R_T^T) and Jacobian J of the tool frame, a step solves
(J^T J + mu I) dq = J^T e (Levenberg and Marquardt), within the joint limits: joints on a limit that
the step would cross are held. mu falls with the residual, so that the last steps are Newton's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.robots.model import RobotModel
from galley.robots.tree import read_tree

_STEPS = 60
_ALIKE = 1e-3  # rad or m: solutions that differ by less in every joint are one


class NumericIK:
    """Solves for one joint group of a robot; knows no obstacles.

    Args:
        robot: with a tool frame.
        group: name of the joints to solve for; the others keep their place.

    Raises:
        KeyError: no such group.
        ValueError: the group does not move the tool.
    """

    def __init__(self, robot: RobotModel, group: str = "arm") -> None:
        self.group = robot.group(group)
        self._at = robot.slice(group)
        tree = read_tree(robot.urdf, robot.joints)
        frame, X_FL = tree.link(robot.tool_link)
        self._X_FT = X_FL @ robot.X_LT
        self._chain: list[int] = []
        while frame > 0:
            self._chain.insert(0, frame - 1)
            frame = int(tree.parent[frame - 1])
        self._tree = tree
        self._rest = np.clip(0.0, tree.lower, tree.upper)
        if not any(self._at.start <= j < self._at.stop for j in self._chain):
            raise ValueError(f"group '{group}' does not move '{robot.tool_link}'")

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
            X_WT: wanted pose in the world (4, 4).
            seeds: starts (m, n), or how many to draw uniformly within the limits.
            rng: for the draw; needed with a number of seeds.
            tolerance: largest error accepted, m and rad.
            q: the whole robot's configuration, for the joints outside the group; where omitted
                they are at zero, or at the limit nearest to it.

        Returns:
            (k, n), within the limits, in the order of their starts; empty where none was found,
            which proves nothing.

        Raises:
            ValueError: a number of seeds without ``rng``, or seeds of another width.
        """
        lower, upper = self.group.lower, self.group.upper
        if isinstance(seeds, (int, np.integer)):
            if rng is None:
                raise ValueError("a number of seeds needs rng; or give the seeds themselves")
            x = rng.uniform(lower, upper, (int(seeds), self.group.size))
        else:
            x = np.atleast_2d(np.asarray(seeds, dtype=np.float64))
            if x.shape[1] != self.group.size:
                raise ValueError(f"seeds need {self.group.size} columns, not {x.shape[1]}")
            x = np.clip(x, lower, upper)
        whole = self._rest if q is None else np.asarray(q, dtype=np.float64)
        x = self._descend(np.asarray(X_WT, dtype=np.float64), x, whole, tolerance)
        found: list[Array] = []
        for each in x:
            if all(np.abs(each - other).max() > _ALIKE for other in found):
                found.append(each)
        return np.array(found).reshape(-1, self.group.size)

    def _descend(self, X_WT: Array, x: Array, whole: Array, tolerance: float) -> Array:
        """The starts x (m, n) that arrive, after the descent."""
        lower, upper = self.group.lower, self.group.upper
        e, J = self._residual(X_WT, x, whole)
        cost = (e**2).sum(axis=1)
        damping = np.full(len(x), 1e-2)
        for _ in range(_STEPS):
            # A start whose steps have become tiny sits in a local minimum: it is given up.
            active = (cost > (0.01 * tolerance) ** 2) & (damping < 1e2)
            if not active.any():
                break
            step = _step(e[active], J[active], x[active], damping[active], lower, upper)
            tried = np.clip(x[active] + step, lower, upper)
            e_tried, J_tried = self._residual(X_WT, tried, whole)
            cost_tried = (e_tried**2).sum(axis=1)
            better = cost_tried < cost[active]
            at = np.flatnonzero(active)
            x[at[better]], cost[at[better]] = tried[better], cost_tried[better]
            e[at[better]], J[at[better]] = e_tried[better], J_tried[better]
            damping[at] = np.clip(np.where(better, 0.2, 4.0) * damping[at], 1e-12, 1e3)
        arrived = (np.linalg.norm(e[:, :3], axis=1) <= tolerance) & (
            np.linalg.norm(e[:, 3:], axis=1) <= tolerance
        )
        return np.asarray(x[arrived])

    def _residual(self, X_WT: Array, x: Array, whole: Array) -> tuple[Array, Array]:
        """e (m, 6): what is missing, m and rad in the world; J (m, 6, n): the tool's Jacobian."""
        tree, at = self._tree, self._at
        count = len(x)
        X = np.broadcast_to(np.eye(4), (count, 4, 4))
        axes: list[tuple[int, Array, Array]] = []
        for j in self._chain:
            own = at.start <= j < at.stop
            value = x[:, j - at.start] if own else np.full(count, whole[j])
            X = X @ tree.X_PJ[j]
            if own:
                axes.append((j, X[:, :3, 2], X[:, :3, 3]))
            X = X @ _joint(value, bool(tree.prismatic[j]))
        X = X @ self._X_FT
        J = np.zeros((count, 6, x.shape[1]))
        for j, z, p in axes:
            if tree.prismatic[j]:
                J[:, :3, j - at.start] = z
            else:
                J[:, :3, j - at.start] = np.cross(z, X[:, :3, 3] - p)
                J[:, 3:, j - at.start] = z
        R = X_WT[:3, :3] @ np.swapaxes(X[:, :3, :3], 1, 2)
        return np.hstack([X_WT[:3, 3] - X[:, :3, 3], _log(R)]), J


def _joint(value: Array, prismatic: bool) -> Array:
    """(m, 4, 4): a slide along z, or a turn about it."""
    X = np.tile(np.eye(4), (len(value), 1, 1))
    if prismatic:
        X[:, 2, 3] = value
        return X
    c, s = np.cos(value), np.sin(value)
    X[:, 0, 0], X[:, 0, 1], X[:, 1, 0], X[:, 1, 1] = c, -s, s, c
    return X


def _log(R: Array) -> Array:
    """Rotation vectors (m, 3) of R (m, 3, 3), rad; near half a turn only roughly."""
    skew = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    sine = np.linalg.norm(skew, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0))
    factor = np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 1.0)
    # At half a turn the axis can't be told from this; any push will do, the next step sees more.
    lost = (sine <= 1e-12) & (angle > 1.0)
    return np.where(lost[:, None], [0.0, 0.0, np.pi], factor[:, None] * skew)


def _step(e: Array, J: Array, x: Array, damping: Array, lower: Array, upper: Array) -> Array:
    """Damped steps (m, n) that hold the joints which would cross a limit they are on."""
    held: NDArray[np.bool_] = np.zeros(x.shape, dtype=bool)
    for _ in range(2):
        free = np.where(held[:, None, :], 0.0, J)
        A = np.swapaxes(free, 1, 2) @ free + damping[:, None, None] * np.eye(x.shape[1])
        b = np.einsum("mij,mi->mj", free, e)
        step = np.linalg.solve(A, b[:, :, None])[:, :, 0]
        held = ((x <= lower) & (step < 0.0)) | ((x >= upper) & (step > 0.0))
        if not held.any():
            break
    return np.where(held, 0.0, step)
