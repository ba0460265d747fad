"""How a Motion changes the State: the kinematic model that planning and execution share.

A held item stays rigid in the hand. A scene joint whose handle is held follows the hand: a drawer
moves by the distance that the hand moved along the drawer's axis, a door turns by the angle that
the hand turned about the door's pivot. A pushed item moves as its slide predicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from galley.domain.frames import Array, frozen, inverse, plane_poses, to_pose7
from galley.domain.scene.model import HAND, Joint, Scene
from galley.domain.state import Placement, State, base_pose, item_pose, placement_at, resting_hand
from galley.motion.motion import Attachment, Motion, Slide
from galley.robots.model import RobotModel


class StateRows(NamedTuple):
    """Several States as rows of a log, with the items' poses in the world.

    Attributes:
        q: robot configurations (m, n).
        scene_q: values of the scene's joints (m, nj).
        items: the items' poses in the world (m, ni, 7): x, y, z, qx, qy, qz, qw.
    """

    q: Array
    scene_q: Array
    items: Array


@dataclass(frozen=True)
class Effects:
    """The States that a Motion leads through, from one start.

    Attributes:
        scene: the scene.
        robot: the robot, with the hand that acts.
        state: the State at the motion's start, with its attachments made and others released.
        group: the moving joint group's part of the robot's configuration.
        X_WH0: the hand's pose (4, 4) in the world at the start.
        driven: index of the scene joint that the hand moves, or None.
        slide: how the item slides that the hand pushes, or None.
    """

    scene: Scene
    robot: RobotModel
    state: State
    group: slice
    X_WH0: Array
    driven: int | None
    slide: Slide | None = None

    def at(self, q_group: Array) -> State:
        """The State with the motion's joint group at q_group (k,)."""
        q = self.state.q.copy()
        q[self.group] = q_group
        state = self.state.with_robot(q)
        if self.slide is not None:
            X_WI = frozen(self._pushed(self.robot.kinematics.hand_pose(q)))
            index = self.scene.item_index[self.slide.item]
            return state.with_item(index, placement_at(self.scene, X_WI, state.scene_q))
        if self.driven is None:
            return state
        scene_q = self.state.scene_q.copy()
        scene_q[self.driven] = self._driven_value(self.robot.kinematics.hand_pose(q))
        return state.with_scene(scene_q)

    def along(self, Q_group: Array) -> StateRows:
        """The States for many configurations (m, k) of the joint group, as rows of a log.

        The same as ``at`` for each of them, computed for all at once.
        """
        scene, state, m = self.scene, self.state, len(Q_group)
        q, scene_q = np.tile(state.q, (m, 1)), np.tile(state.scene_q, (m, 1))
        q[:, self.group] = Q_group
        held, resting = state.held, state.resting
        X_WH = np.zeros((m, 4, 4))
        if held is not None or self.driven is not None or self.slide is not None:
            X_WH = self.robot.kinematics.hand_poses(q)
        carried: tuple[str, ...] = ()
        if self.driven is not None:
            scene_q[:, self.driven] = self._driven_value(X_WH)
            carried = scene.moved_by(scene.joints[self.driven].name)
        items = np.empty((m, len(state.items), 7))
        # Each item keeps its pose in its parent's frame; only the parents move.
        for k, placement in enumerate(state.items):
            if placement.parent in carried:
                bodies = [scene.body_pose(placement.parent, row) for row in scene_q]
                X_WP = np.array(bodies).reshape(-1, 4, 4)
            elif k == held:
                X_WP = X_WH
            elif k in resting:
                X_WP = plane_poses(q[:, :3])
            else:
                X_WP = scene.body_pose(placement.parent, state.scene_q)
            items[:, k] = to_pose7(X_WP @ placement.X_PI)
        if self.slide is not None:
            items[:, scene.item_index[self.slide.item]] = to_pose7(self._pushed(X_WH))
        return StateRows(q, scene_q, items)

    def _pushed(self, X_WH: Array) -> Array:
        """The pushed item's pose (..., 4, 4) in the world with the hand at X_WH (..., 4, 4)."""
        assert self.slide is not None
        index = self.scene.item_index[self.slide.item]
        X_WI0 = item_pose(self.scene, self.state, index, self.X_WH0)
        return self.slide.moved(X_WI0, X_WH[..., :3, 3] - self.X_WH0[:3, 3])

    def _driven_value(self, X_WH: Array) -> Array:
        """The value (...) of the driven joint with the hand at X_WH (..., 4, 4)."""
        assert self.driven is not None
        joint = self.scene.joints[self.driven]
        value = self.state.scene_q[self.driven] + displacement(joint, self.X_WH0, X_WH)
        return np.asarray(np.clip(value, joint.lower, joint.upper))


def effects(scene: Scene, robot: RobotModel, motion: Motion, state: State) -> Effects:
    """The effects of ``motion`` when it starts in ``state``, whichever hand acted before."""
    robot = robot.acting(motion.hand)
    state = with_acting_hand(robot, state)
    X_WH = robot.kinematics.hand_pose(state.q)
    state = with_attachments(scene, state, motion.attachments, X_WH)
    driven = [scene.joint_index[a.name] for a in motion.attachments if a.kind == "joint"]
    group = robot.slice(motion.group)
    return Effects(scene, robot, state, group, X_WH, driven[0] if driven else None, motion.slide)


def state_after(scene: Scene, robot: RobotModel, motion: Motion, state: State) -> State:
    """The State at the end of ``motion``, when it starts in ``state``."""
    return effects(scene, robot, motion, state).at(motion.path.end)


def state_after_grasp(scene: Scene, robot: RobotModel, motion: Motion, state: State) -> State:
    """The State after ``motion``, with the items that the fingers have grasped in the hand.

    ``state_after`` leaves them where they are: a grasp is an attachment of the next motion. A
    guarded motion of the fingers grasps the items that they may touch.
    """
    state, robot = state_after(scene, robot, motion, state), robot.acting(motion.hand)
    if motion.group != "fingers" or motion.guard is None:
        return state
    touched = {name for pair in motion.allowed if set(pair) & set(robot.fingers) for name in pair}
    held = tuple(Attachment("item", item.name) for item in scene.items if item.name in touched)
    return with_attachments(scene, state, held, robot.kinematics.hand_pose(state.q))


def with_attachments(
    scene: Scene, state: State, attachments: tuple[Attachment, ...], X_WH: Array
) -> State:
    """The State with exactly the items of ``attachments`` in the hand, which is at X_WH (4, 4).

    An item that is newly attached or released keeps its pose in the world. From then on a released
    item moves with the drawer in which it lies, if any, or with the other hand if its attachment
    names one.
    """
    names = {a.name for a in attachments if a.kind == "item" and not a.hand}
    taken = {a.name: resting_hand(a.hand) for a in attachments if a.hand}
    for index, item in enumerate(scene.items):
        held = state.items[index].parent == HAND
        if held == (item.name in names):
            continue
        X_WI = item_pose(scene, state, index, X_WH)
        if held and item.name in taken:
            X_BI = inverse(base_pose(state.q)) @ X_WI
            placement = Placement(taken[item.name], frozen(X_BI))
        elif held:
            placement = placement_at(scene, X_WI, state.scene_q)
        else:
            placement = Placement(HAND, inverse(X_WH) @ X_WI)
        state = state.with_item(index, placement)
    return state


def with_acting_hand(robot: RobotModel, state: State) -> State:
    """The State with the hand of ``robot`` as the acting one; the same State if it is already.

    The item in the hand that acted before goes on at rest in the base's frame.
    """
    if state.hand == robot.hand:
        return state
    X_WB, seen = base_pose(state.q), replace(state, hand=robot.hand)
    for index, placed in enumerate(state.items):
        if placed.parent == HAND:
            X_WH = robot.acting(state.hand).kinematics.hand_pose(state.q)
            X_BI = frozen(inverse(X_WB) @ X_WH @ placed.X_PI)
            seen = seen.with_item(index, Placement(resting_hand(state.hand), X_BI))
        elif placed.parent == resting_hand(robot.hand):
            X_HW = inverse(robot.kinematics.hand_pose(state.q))
            seen = seen.with_item(index, Placement(HAND, frozen(X_HW @ X_WB @ placed.X_PI)))
    return seen


def displacement(joint: Joint, X_WH0: Array, X_WH: Array) -> Array:
    """How far (m or rad) a joint moved with a hand that went from X_WH0 to X_WH on its handle.

    Args:
        joint: the scene joint, sliding or turning.
        X_WH0: the hand's pose (4, 4) in the world at the start.
        X_WH: the hand's poses (..., 4, 4) in the world afterwards.

    Returns:
        The joint's displacements (...).
    """
    if joint.kind == "prismatic":
        return np.asarray((X_WH[..., :3, 3] - X_WH0[:3, 3]) @ joint.axis)
    a, b = X_WH0[:3, 3] - joint.pivot, X_WH[..., :3, 3] - joint.pivot
    # The angle between the hand's two positions, projected on the plane normal to the axis.
    a, b = a - joint.axis * (joint.axis @ a), b - joint.axis * (b @ joint.axis)[..., None]
    return np.asarray(np.arctan2(np.cross(a, b) @ joint.axis, b @ a))
