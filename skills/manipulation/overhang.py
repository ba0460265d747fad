"""Poses in which a flat item sticks out over an edge of its support, with room for a finger below.

An item that lies too flat to be held sideways is pushed there, and then held from above and below.
Its centre of mass stays well inside the edge.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from galley.domain.frames import Array, frozen, rotation_z
from galley.domain.predicates import corners
from galley.domain.scene.model import Region, Scene
from galley.domain.state import State, item_pose
from galley.skills.manipulation.contacts import with_room
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasps import grasps_at, is_upright
from galley.skills.manipulation.pushes import INSIDE, PushedItem

_OUT = (0.05, 0.04, 0.031)  # m that the item sticks out, the first choice first
_SHARE = 1.0 / 3.0  # of the part between centre of mass and rim, so much stays inside at least
_STEP = 0.04  # m between poses along an edge
_LEVEL = 0.003  # m between an item's underside and the top on which it lies, at most


def is_flat(context: PlanningContext, state: State, index: int, rng: np.random.Generator) -> bool:
    """Whether an item lies so flat that it must stick out over an edge to be grasped.

    The hand has room for none of its grasps, and it is thin enough to be held from above and below.
    """
    item, gripper = context.scene.items[index], context.robot.gripper
    X_WI = item_pose(context.scene, state, index, np.eye(4))
    if is_upright(X_WI) or np.ptp(corners(item) @ X_WI[2, :3]) > gripper.widest:
        return False
    grasps = grasps_at(context.scene, state, index, gripper)
    return not any(with_room(context, state, index, grasps, rng))


def top_below(scene: Scene, state: State, index: int) -> Region | None:
    """The whole top on which an item lies, up to its edges, as a region.

    The scene's own regions may be smaller, or missing. The top consists of the upright boxes of one
    body. None if the item lies on something else.
    """
    X_WI = item_pose(scene, state, index, np.eye(4))
    low = X_WI[2, 3] + float((corners(scene.items[index]) @ X_WI[2, :3]).min())
    for body in scene.bodies:
        X_WB, boxes = scene.body_pose(body.name, state.scene_q), list[Array]()
        for shape in body.shapes:
            if shape.collision and shape.kind == "box":
                box = np.array(shape.bounds(np.eye(4)))
                # A box fills its bounding box only if it is not tilted.
                upright = np.allclose(np.prod(np.ptp(box, axis=0)), np.prod(shape.size))
                box[0, 2] = box[1, 2]
                if upright and abs(X_WB[2, 3] + box[0, 2] - low) <= _LEVEL:
                    boxes.append(box)
        p_B = (X_WI[:2, 3] - X_WB[:2, 3]) @ X_WB[:2, :2]
        if any((box[0, :2] <= p_B).all() and (p_B <= box[1, :2]).all() for box in boxes):
            return Region(f"{body.name} top", body.name, "surface", frozen(np.array(boxes)))
    return None


def overhanging(pushed: PushedItem) -> Array:
    """Poses in which an item sticks out over an edge of its surface.

    Returns:
        x, y, yaw in the world, and the length (m) that sticks out: (n, 4).
    """
    poses = list[Array]()
    for box, axis, sign, quarter in product(pushed.surface.boxes, (0, 1), (1, -1), range(4)):
        # The rim and the centre of mass of the item, turned by quarters, about its middle.
        R = rotation_z(quarter * np.pi / 2.0)[:2, :2]
        rim, middle, other = pushed.outline @ R.T, R @ pushed.slider.middle, 1 - axis
        edge = float((sign * rim[:, axis]).max())
        inside = edge - sign * middle[axis]
        begin, last = box[0, other] - rim[:, other].min(), box[1, other] - rim[:, other].max()
        for out in _OUT:
            if inside - out >= max(INSIDE, _SHARE * inside):
                along = np.arange(begin, last, _STEP)
                row = np.tile([0.0, 0.0, quarter * np.pi / 2.0, out], (len(along), 1))
                row[:, axis], row[:, other] = box[int(sign > 0), axis] + sign * (out - edge), along
                poses.append(row)
    rows = np.concatenate([np.empty((0, 4)), *poses])
    rows[:, :3] = pushed.in_world(rows[:, :3])
    return np.asarray(rows[pushed.clear(rows[:, :3], max(_OUT))])
