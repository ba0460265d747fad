"""Hand-written motions without a planner: straight lines of the hand, strokes of the fingers.

They lead through the small scene of ``tests/conftest.py``, whose figures are round.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from galley.collision.checker import pair
from galley.domain.frames import frozen, inverse, rotation_z, transform
from galley.domain.state import initial_state
from galley.motion.motion import Guard, Motion
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest, spline_through
from galley.robots.panda.mobile import hand_pose, link0_pose

TOP = 0.84  # m, on which the block stands
BLOCK = (0.1, -0.2)  # m, its x and y
BESIDE = (0.72, -0.2, np.pi / 2)  # the base, to reach what stands on top
BEFORE = (1.0, 0.0, np.pi)  # the base, to reach the knob
KNOB = (0.30, 0.0, 0.66)  # m, in the middle of the bar
FINGERS = ("panda_leftfinger", "panda_rightfinger")


def down(x, y, z, yaw=0.0):
    """X_WT of the grasp centre with the hand pointing down; ``yaw`` 0: fingers close along x."""
    R = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    return transform(rotation_z(yaw) @ R, (x, y, z))


def ahead(x, y, z):
    """X_WT with the hand pointing along -x, the fingers above and below."""
    R = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return transform(R, (x, y, z))


def shifted(X_WT, x=0.0, y=0.0, z=0.0):
    """X_WT moved in the world."""
    return transform(X_WT[:3, :3], X_WT[:3, 3] + np.array([x, y, z]))


def standing(scene, robot, base, X_WT, opening=0.04):
    """The scene's start with the hand at X_WT, in the configuration farthest from all limits."""
    found = robot.ik(inverse(link0_pose(base, scene.robot.base)) @ X_WT, np.linspace(-2.6, 2.6, 53))
    arm = robot.group("arm")
    room = np.minimum(found - arm.lower, arm.upper - found).min(axis=1)
    q = np.concatenate([base, found[np.argmax(room)], [opening] * 2])
    return replace(initial_state(scene), q=frozen(q))


def line(scene, robot, q, X_WT, speed=0.15, guard=None, allowed=(), name="line"):
    """The hand straight from where q has it to X_WT, turned alike, at ``speed`` at the most."""
    X_WA = link0_pose(q[:3], scene.robot.base)
    X_WH = hand_pose(q, scene.robot.base)
    p_WT = X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3]
    way = X_WT[:3, 3] - p_WT
    length = float(np.linalg.norm(way))
    points = [np.array(q[3:10])]
    for share in np.linspace(0.0, 1.0, max(2, round(length / 0.005)))[1:]:
        X = transform(X_WT[:3, :3], p_WT + share * way)
        found = robot.ik(inverse(X_WA) @ X, points[0][6:])
        near = found[np.argmin(np.abs(found - points[-1]).max(axis=1))]
        assert np.abs(near - points[-1]).max() < 0.1, "the arm would have to jump"
        points.append(near)
    path = Path("arm", np.array(points))
    trajectory = spline_through(path, robot.group("arm"), 1.875 * length / speed)
    return Motion(0, name, "arm", path, trajectory, (), frozenset(allowed), guard)


def stroke(robot, opening, to, guard=None, allowed=(), name="fingers"):
    """Both fingers from an opening to another (m each), or closing until they press."""
    path = Path("fingers", np.array([[opening] * 2, [to] * 2]))
    trajectory = rest_to_rest(path, robot.group("fingers"))
    return Motion(0, name, "fingers", path, trajectory, (), frozenset(allowed), guard)


def close(robot, opening, to, force, item):
    """The fingers close on an item until both press with ``force`` (N)."""
    guard = Guard(np.array([0.0, 1.0, 0.0]), force, 0.1)
    return stroke(robot, opening, to, guard, grip(item), "close fingers")


def grip(item):
    """The pairs of fingers and item."""
    return frozenset(pair(finger, item) for finger in FINGERS)


def seek(direction, force, speed=0.15, beyond=0.0):
    """A guard."""
    return Guard(np.asarray(direction, dtype=float), force, speed, beyond)


def after(q, motion, robot):
    """Where a motion that begins at q is to end (n,)."""
    q = np.array(q)
    q[robot.slice(motion.group)] = motion.path.end
    return q


def with_item(scene, **changes):
    """The scene with its first item changed."""
    return replace(scene, items=(replace(scene.items[0], **changes), *scene.items[1:]))


def height(executor, index=0):
    """m, of an item's middle in a physics run."""
    return float(executor.world.item_pose(index)[2, 3])
