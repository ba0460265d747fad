"""Inverse kinematics of any arm by Drake: SNOPT from many starts, refined by Newton's method.

From each start SNOPT minimises |p_T - p|^2 + (1 - cos theta) within the joint limits, theta being
the angle between the tool's orientation and the target's. Costs converge more often than equality
constraints: with theta = 0 as a constraint, the gradient vanishes where the constraint holds.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.inverse_kinematics import InverseKinematics
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import FixedOffsetFrame, JacobianWrtVariable
from pydrake.solvers import SnoptSolver

from galley.domain.frames import Array, as_pose
from galley.robots.model import RobotModel

_ALIKE = 1e-3  # rad or m: solutions that differ by less in every joint are the same
_NEAR = 0.02  # m and rad: a start that ends farther off is in a local minimum
_QDOT = JacobianWrtVariable.kQDot


class NumericIK:
    """Solves for the group ``arm`` of a robot, without obstacles. For one thread at a time."""

    def __init__(self, robot: RobotModel) -> None:
        self.group = robot.group("arm")
        self._lower, self._upper = self.group.turn
        self._plant = plant = _plant(robot)
        link = plant.GetFrameByName(robot.tool_link)
        self._tool = plant.AddFrame(FixedOffsetFrame("galley_tool", link, _rigid(robot.X_LT)))
        plant.Finalize()
        self._context = plant.CreateDefaultContext()
        joints = [plant.GetJointByName(name) for name in robot.joints]
        at = np.array([joint.position_start() for joint in joints])
        self._order, self._own = np.argsort(at), at[robot.slice("arm")]  # in Drake's positions
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
            rng: for the draw.
            tolerance: largest error accepted, m and rad.
            q: the whole robot's, for the joints outside the group; if omitted, nearest to zero.

        Returns:
            (k, n), within the limits (``JointGroup.turn``), in the order of their starts. An empty
            result proves nothing.

        Raises:
            ValueError: seeds of another width, or a number without ``rng``; no pose; seeds or q
                not finite.
        """
        size = self.group.size
        if isinstance(seeds, (int, np.integer)):
            if rng is None:
                raise ValueError("a number of seeds needs rng; or give the seeds themselves")
            seeds = rng.uniform(self._lower, self._upper, (int(seeds), size))
        starts: Any = np.atleast_2d(np.asarray_chkfinite(seeds, np.float64))
        if starts.shape[1] != size:
            raise ValueError(f"seeds need {size} columns, not {starts.shape[1]}")
        target = _rigid(np.asarray(X_WT, dtype=np.float64))
        # Bounds or targets that are not finite would make Drake end the process.
        whole: Any = np.asarray_chkfinite(self._rest if q is None else q, np.float64)[self._order]
        program, found = self._problem(target, whole), list[Array]()
        for start in starts:
            whole[self._own] = np.clip(start, self._lower, self._upper)
            whole[self._own] = SnoptSolver().Solve(program, whole, None).get_x_val()[self._own]
            x = self._polish(target, whole, tolerance)
            if x is not None and all(np.abs(x - other).max() > _ALIKE for other in found):
                found.append(x)
        return np.array(found).reshape(-1, size)

    def _problem(self, target: RigidTransform, whole: Array) -> Any:
        """The costs and the limits; joints outside the group stay at ``whole``'s values."""
        ik: Any = InverseKinematics(self._plant, self._context, with_joint_limits=False)
        lower, upper = whole.copy(), whole.copy()
        lower[self._own], upper[self._own] = self._lower, self._upper
        ik.prog().AddBoundingBoxConstraint(lower, upper, ik.q())
        W, T = self._plant.world_frame(), self._tool
        ik.AddPositionCost(W, target.translation(), T, np.zeros(3), np.eye(3))
        ik.AddOrientationCost(W, target.rotation(), T, RotationMatrix(), 1.0)
        return ik.prog()

    def _polish(self, target: RigidTransform, q: Array, tolerance: float) -> Array | None:
        """The group's part of q after Newton steps within the limits; None if they diverge."""
        plant, context, T, own = self._plant, self._context, self._tool, self._own
        lower, upper, W = self._lower, self._upper, plant.world_frame()
        for _ in range(10):
            q[own] = x = np.clip(q[own], lower, upper)
            plant.SetPositions(context, q)
            X = T.CalcPoseInWorld(context)
            turn = (target.rotation() @ X.rotation().inverse()).ToAngleAxis()
            e = np.hstack([turn.angle() * turn.axis(), target.translation() - X.translation()])
            error = max(np.linalg.norm(e[:3]), np.linalg.norm(e[3:]))
            if error <= 0.01 * tolerance or error > _NEAR:
                break
            J = plant.CalcJacobianSpatialVelocity(context, _QDOT, T, np.zeros(3), W, W)[:, own]
            dx = np.linalg.lstsq(J, e)[0]
            held = ((x <= lower) & (dx < 0.0)) | ((x >= upper) & (dx > 0.0))  # would cross a limit
            q[own] += np.linalg.lstsq(np.where(held, 0.0, J), e)[0] if held.any() else dx
        return x if error <= tolerance else None


def _plant(robot: RobotModel) -> Any:
    """The robot without shapes and masses, which Drake might reject; joints not in q are fixed."""
    root = ET.fromstring(robot.urdf)
    root[:] = [part for part in root if part.tag in ("link", "joint")]
    for part in root:
        part[:] = [e for e in part if e.tag in ("origin", "parent", "child", "axis", "limit")]
        if part.tag == "joint" and part.get("name") not in robot.joints:
            part.set("type", "fixed")
    plant: Any = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModelsFromString(ET.tostring(root, encoding="unicode"), "urdf")
    links = {link.get("name") for link in root.iter("link")}
    for base in links - {child.get("link") for child in root.iter("child")} - {"world"}:
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(base))
    return plant


def _rigid(X: Any) -> RigidTransform:
    """Drake's type for X (4, 4), whose rotation may be rounded."""
    X = as_pose(X, "X_WT or X_LT")
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(X[:3, :3]), X[:3, 3])
