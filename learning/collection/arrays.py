"""Observations and actions of the kitchen's episodes and environment, as arrays by name.

docs/demonstrations.md lists them with units and frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, continuous, transform
from galley.domain.scene.model import Scene
from galley.execution.executor import Sample
from galley.learning.collection.recording import SYMBOLIC_ACTION, Recording
from galley.robots.model import RobotModel

Arrays = dict[str, NDArray[Any]]
ITEM = "item_"
_GROUPS = {"base": "base", "joints": "arm", "gripper": "fingers"}  # observation: robot's group


def observed(scene: Scene, robot: RobotModel, samples: Sample, held: NDArray[np.int64]) -> Arrays:
    """Observations (T, ...) of T samples of a log, without pictures.

    Args:
        scene: the scene of the log.
        robot: its robot.
        samples: columns (T, ...) of the log.
        held: (T,), index of the item in the hand, -1 for none.
    """
    own = by_group(robot, samples.q)
    items = samples.items[..., :3], continuous(samples.items[..., 3:])
    poses = np.concatenate(items, axis=-1)
    arrays: Arrays = {
        "state": np.concatenate(list(own.values()), axis=1),
        **own,
        "hand_pose": hand_poses(robot, samples.q),
        **{f"{name}_velocity": rate for name, rate in _rates(robot, samples).items()},
        **{ITEM + item.name: poses[:, k] for k, item in enumerate(scene.items)},
        "held": held[:, None],
    }
    return arrays | ({"scene_joints": samples.scene_q} if scene.joints else {})


def _groups(robot: RobotModel) -> dict[str, str]:
    """The robot's groups by observation; a fixed base isn't one."""
    return dict(list(_GROUPS.items())[bool(robot.standing_links) :])


def by_group(robot: RobotModel, values: Array) -> dict[str, Array]:
    """The columns of configurations (T, n) by group; for the fingers their opening (T, 1), m."""
    arrays = {name: values[:, robot.slice(group)] for name, group in _groups(robot).items()}
    return arrays | {"gripper": 2.0 * robot.half_width(arrays["gripper"])[:, None]}


def hand_poses(robot: RobotModel, Q: Array) -> Array:
    """Poses of the grasp frame in the base (T, 7): position (m), continuous quaternion."""
    from scipy.spatial.transform import Rotation

    standing = robot.with_groups(Q[0], base=np.zeros(3), arm=Q[:, robot.slice("arm")])
    X = robot.kinematics.hand_poses(standing) @ transform(None, robot.p_HT)
    turned = Rotation.from_matrix(X[:, :3, :3]).as_quat()
    return np.concatenate([X[:, :3, 3], continuous(turned)], axis=1)


def _rates(robot: RobotModel, samples: Sample) -> dict[str, Array]:
    """Velocities of the samples by group; for the fingers the rate of their opening (T, 1), m/s."""
    groups = _groups(robot).items()
    speeds = {name: samples.velocity[:, robot.slice(group)] for name, group in groups}
    rates = robot.finger_rates(robot.half_width(samples.q[:, robot.slice("fingers")]))
    return speeds | {"gripper": 2.0 * (speeds["gripper"] / rates).mean(axis=1, keepdims=True)}


def meanings(scene: Scene, robot: RobotModel, recording: Recording) -> dict[str, str]:
    """The meaning of each array as text, which begins with the names of its components."""
    base, joints = (", ".join(robot.group(name).joints) for name in ("base", "arm"))
    parts = [base, joints, "gripper"][bool(robot.standing_links) :]
    state, ahead, pose = ", ".join(parts), parts.copy(), "x, y, z, qx, qy, qz, qw"
    if recording.actions == "hand":
        ahead[-2] = pose
    return {
        "action": f"{', '.join(ahead)} (m, rad, quaternion): commanded one step later; of the "
        "gripper its opening, 0 while it closes and grips by force",
        "state": f"{state} (m, rad): as measured",
        "hand_pose": f"{pose} (m, quaternion): of the grasp frame in the base, qw >= 0 first, then "
        "without jumps",
        "base": f"{base} (m, rad): in the world",
        "base_velocity": f"{base} (m/s, rad/s)",
        "joints": f"{joints} (rad)",
        "joints_velocity": f"{joints} (rad/s)",
        "gripper": "opening between the fingers (m)",
        "gripper_velocity": "of gripper (m/s)",
        **{
            ITEM + item.name: "x, y, z, qx, qy, qz, qw (m, quaternion): true pose in the world, "
            "qw >= 0 first, then without jumps"
            for item in scene.items
        },
        "held": "index into metadata 'items' of what the hand holds, -1: nothing",
        SYMBOLIC_ACTION: f"index into metadata '{SYMBOLIC_ACTION}' of the action under way",
        "scene_joints": f"{', '.join(joint.name for joint in scene.joints) or 'none'} (m or rad)",
        **{name: f"camera '{name}'" for name in recording.cameras},
    }
