"""From a pose of the tool to configurations of the arm that reach it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import lru_cache

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, inverse
from galley.worlds.collision_world import CollisionWorld
from galley.worlds.view import View

_FREE_VALUES = 72  # of the joint that a closed form leaves free
_SEEDS = 32  # starts of a numeric solution


def reaching(world: CollisionWorld, view: View, X_WT: Array) -> Array | Failure:
    """All configurations found (m, k) of the view's arm that bring the tool to X_WT (4, 4).

    By the robot's closed form, or numerically from seeded starts. Collisions are not looked at.

    Raises:
        ValueError: the group is not the arm, or X_WT is no pose.
    """
    if view.group != "arm":
        raise ValueError(f"a pose as goal is for the arm; give '{view.group}' configurations")
    R = X_WT[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.abs(X_WT[3] - (0, 0, 0, 1)).max() > 1e-9:
        raise ValueError("the goal pose needs a rotation matrix and a last row of 0, 0, 0, 1")
    robot = world.robot
    group = robot.group("arm")
    if robot.ik is not None:
        tree = world.model.tree
        X_WA = tree.link_pose(_foot(robot.urdf, group.joints[0]), view.query.q[: robot.size])
        free = np.linspace(group.lower[-1], group.upper[-1], _FREE_VALUES)
        found = robot.ik(inverse(X_WA) @ X_WT, free)
        tried = f"in closed form, at {_FREE_VALUES} values of the last joint"
    else:
        from galley.worlds.numeric_ik import NumericIK

        solver = NumericIK(robot)
        rng = np.random.default_rng(0)
        found = solver.solve(X_WT, _SEEDS, rng, q=view.query.q[: robot.size])
        tried = f"numerically, from {_SEEDS} starts"
    if len(found):
        return np.asarray(found)
    p = ", ".join(f"{v:.3f}" for v in X_WT[:3, 3])
    short = _shortfall(world, view, X_WT)
    if short > 0.0:
        return Failure(
            FailureKind.UNREACHABLE,
            f"({p}) m is at least {short:.3f} m out of reach of '{robot.tool_link}'",
            numbers={"shortfall_m": short},
            certificate={"kind": "distance-bound", "point_m": X_WT[:3, 3].tolist()},
        )
    return Failure(
        FailureKind.BUDGET,
        f"no configuration of the arm found that brings '{robot.tool_link}' to ({p}) m, {tried}",
        numbers={"tried": float(_FREE_VALUES if robot.ik is not None else _SEEDS)},
    )


def _shortfall(world: CollisionWorld, view: View, X_WT: Array) -> float:
    """Lower bound (m) on how far the tool stays away from X_WT: its links laid end to end."""
    tree, first = world.model.tree, int(view.moving[0])
    frame, X_FL = tree.link(world.robot.tool_link)
    length = float(np.linalg.norm((X_FL @ world.robot.X_LT)[:3, 3]))
    while frame - 1 > first:
        joint = frame - 1
        length += float(np.linalg.norm(tree.X_PJ[joint, :3, 3]))
        if tree.prismatic[joint]:
            length += float(np.abs([tree.lower[joint], tree.upper[joint]]).max())
        frame = int(tree.parent[joint])
    foot = tree.poses(view.query.q[: world.robot.size])[first + 1, :3, 3]
    return max(0.0, float(np.linalg.norm(X_WT[:3, 3] - foot)) - length)


@lru_cache(maxsize=16)
def _foot(urdf: str, joint: str) -> str:
    """The link that a joint stands on: in it the closed forms take poses."""
    for element in ET.fromstring(urdf).findall("joint"):
        if element.get("name") == joint:
            parent = element.find("parent")
            assert parent is not None
            return str(parent.get("link"))
    raise KeyError(f"no joint '{joint}'")
