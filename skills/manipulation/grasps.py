"""Grasps from an item's geometry: where two parallel fingers can hold its box.

All of them are in ``fans``, the family that refusals speak of: continuous in how the hand leans, in
where it holds and, of round items, in which way it closes. Two lists are drawn from it to plan
with: the usual ones (``grasps_of``, ``grasps_at``) and, for where those don't get, ``leaning``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from galley.domain.frames import Array, frozen, inverse, rotation_about, rotation_z, transform
from galley.domain.scene.model import Grasp, Item, Scene
from galley.domain.state import State, item_pose
from galley.robots.model import Gripper

CLEARANCE = 0.006  # m left between each finger and the item where there is room for so much
DEPTHS = (0.03, 0.018)  # m that the grasp centre lies behind the face that the hand comes from
ROUND_TURNS = (np.pi / 6, np.pi / 3)  # rad, about the upright axis of a round item
TILTS = (0.0, np.pi / 4)  # rad that the hand leans from the face's normal, about the closing axis
_LYING = float(np.cos(np.pi / 4))  # of the angle at which another face is the lowest
_HIGH = 0.045  # m above the grasp centre that an item may reach where the hand comes from a side
_END = 0.03  # m from its ends that a lying item is taken, or in the middle
LEANS = np.radians(5.0)  # between the directions from which ``leaning`` grasps come
_TURNS = np.radians(30.0)  # likewise between those in which they close on a round item


def grasps_of(item: Item, gripper: Gripper) -> tuple[Grasp, ...]:
    """The item's own list, or grasps for its box: from the top and from each side.

    For each face but the bottom and each of its two directions that is narrow enough to close on:
    the hand points at the face (or leans over its edge), at one of two depths, both ways round.
    A round item can be taken from any side: the same, turned by 30 and 60 degrees.
    """
    return item.grasps or _generated(tuple(float(side) for side in item.size), item.round, gripper)


def grasps_at(scene: Scene, state: State, index: int, gripper: Gripper) -> tuple[Grasp, ...]:
    """The grasps of an item as ``state`` has it, which is not in the hand.

    Of one that stands, ``grasps_of``. One that has fallen over lies on another face than its
    bottom. Then that one is the face that the hand can't come from, and the fingers close
    sideways; or above and below where it sticks out over an edge, so that a finger has room there.
    A list of the item's own counts however it lies.
    """
    item = scene.items[index]
    X_WI = item_pose(scene, state, index, np.eye(4))
    if item.grasps or stands(X_WI):
        return grasps_of(item, gripper)
    down = -X_WI[2, :3]  # in the item's frame
    sides = tuple(float(side) for side in item.size)
    if item.round and abs(down[2]) < _LYING:
        found = _rolled(sides, float(np.arctan2(down[1], down[0])), gripper)
    else:
        axis = int(np.argmax(np.abs(down)))
        found = _lying(sides, axis, float(np.sign(down[axis])), gripper)
    return tuple(g for g in found if _room_below(scene, state, X_WI @ g.X_IT, g.width, gripper))


def _rolled(sides: tuple[float, ...], angle: float, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps of a round item that lies and has rolled until its direction at ``angle`` is below.

    As if its +x side were the one below, turned about its axis. Through the axis: beside it the
    fingers would slide off.
    """
    found: dict[bytes, Grasp] = {}
    turn = transform(rotation_z(angle), np.zeros(3))
    for grasp in _lying(sides, 0, 1.0, gripper):
        X = turn @ grasp.X_IT
        X[:2, 3] = 0.0
        found.setdefault(X.tobytes(), Grasp(grasp.name, frozen(X), grasp.width))
    return tuple(found.values())


def stands(X_WI: Array) -> bool:
    """Whether an item at X_WI (4, 4) has its bottom below, more or less."""
    return bool(X_WI[2, 2] > _LYING)


def _room_below(scene: Scene, state: State, X_WT: Array, width: float, gripper: Gripper) -> bool:
    """Whether no furniture is where the lower of two fingers goes; True if they close sideways."""
    if abs(X_WT[2, 1]) < _LYING:
        return True
    beside = -np.sign(X_WT[2, 1]) * (width / 2.0 + gripper.to_finger) * X_WT[:3, 1]
    points = X_WT[:3, 3] + beside - np.array([[0.0], [_END]]) * X_WT[:3, 2]
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, state.scene_q)
        for shape in body.shapes:
            if shape.collision and shape.kind != "mesh":
                X_SW = inverse(X_WB @ shape.X_BS)
                p_S = points @ X_SW[:3, :3].T + X_SW[:3, 3]
                if (np.abs(p_S) <= shape.half_extents).all(axis=1).any():
                    return False
    return True


@dataclass(frozen=True)
class Fan:
    """All grasps of an item with one closing direction; of a round one, with all that it turns to.

    The hand points anywhere in the plane across the closing direction, from a stated range; the
    grasp centre lies anywhere in the item's box in that plane, so deep that the pads are on it.

    Attributes:
        R_IF: the fan's frame (3, 3) in the item's: y is the closing direction, -z where the hand
            points that leans by 0, x where one points that leans by 90 degrees.
        half: how far (m) the grasp centre may lie from the item's, along x and z.
        lean: rad, from and to. turn: rad, from 0 to this about the item's z axis.
        width: of the item between the fingers, metres.
    """

    R_IF: Array
    half: tuple[float, float]
    lean: tuple[float, float]
    turn: float
    width: float

    def poses(self, cells: Array) -> Array:
        """X_IT (n, 4, 4) for rows (n, 4) of turn and lean (rad), and x and z (m) in its frame."""
        turn, lean, x, z = cells.T
        zero, one = np.zeros(len(cells)), np.ones(len(cells))
        c, s = np.cos(lean), np.sin(lean)
        R_FT = np.array([[-c, zero, s], [zero, one, zero], [-s, zero, -c]]).transpose(2, 0, 1)
        p_F = np.stack([x, zero, z], axis=1)
        c, s = np.cos(turn), np.sin(turn)
        R = np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]).transpose(2, 0, 1)
        X = np.zeros((len(cells), 4, 4))
        X[:, :3, :3] = R @ self.R_IF @ R_FT
        X[:, :3, 3] = np.einsum("nij,nj->ni", R @ self.R_IF, p_F)
        X[:, 3, 3] = 1.0
        return X


def fans(item: Item, X_WI: Array, gripper: Gripper) -> tuple[Fan, ...]:
    """The family of an item's grasps as it stands or lies at X_WI (4, 4), both ways round.

    Across each side that fits into the hand. Of an item that stands the fingers close sideways and
    the hand points down or to a side, never up. One that lies may be held from all around. A list
    of the item's own is a family by itself: then there are none.
    """
    if item.grasps:
        return ()
    standing = stands(X_WI)
    lean = (-np.pi / 2, np.pi / 2) if standing else (-np.pi, np.pi)
    found = []
    for closing in (0, 1) if standing else (0, 1, 2):
        width = float(item.size[closing])
        if width > gripper.widest or (item.round and closing == 1):
            continue
        up = 2 if closing != 2 else 0
        half = [
            max(0.0, float(item.size[axis]) / 2.0 - gripper.pad) for axis in (3 - closing - up, up)
        ]
        turn = np.pi if item.round and closing == 0 else 0.0
        for way in (1.0, -1.0):
            y, z = way * np.eye(3)[closing], np.eye(3)[up]
            R_IF = frozen(np.stack([np.cross(y, z), y, z], axis=1))
            found.append(Fan(R_IF, (half[0], half[1]), lean, turn, width))
    return tuple(found)


def leaning(scene: Scene, state: State, index: int, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps of an item between and beyond the usual ones: the hand leans by every 5 degrees.

    Held in the middle or at the edge over which the hand comes, near the top or further down.
    """
    item = scene.items[index]
    X_WI = item_pose(scene, state, index, np.eye(4))
    found = []
    for k, fan in enumerate(fans(item, X_WI, gripper)):
        cells = np.array(list(_cells(fan, X_WI, gripper)))
        for cell, X_IT in zip(cells, fan.poses(cells), strict=True):
            if X_WI[2, :3] @ X_IT[:3, 2] > 1e-6:
                continue  # never from below
            if not _room_below(scene, state, X_WI @ X_IT, fan.width, gripper):
                continue
            turn, lean = np.degrees(cell[:2])
            name = f"leaning {k}/{turn:.0f}/{lean:+.0f}deg"
            name += f"/{1e3 * cell[2]:.0f}/{1e3 * cell[3]:.0f}mm"
            found.append(Grasp(name, frozen(X_IT), fan.width))
    return tuple(found)


def _cells(fan: Fan, X_WI: Array, gripper: Gripper) -> Iterator[tuple[float, float, float, float]]:
    """The grasps of a fan that are tried: rows for ``Fan.poses``."""
    first = float(np.arctan2(-X_WI[2, 1], -X_WI[2, 0])) if fan.turn and not stands(X_WI) else 0.0
    turns = np.arange(first, first + max(fan.turn, 1e-9), _TURNS)
    leans = np.linspace(*fan.lean, round((fan.lean[1] - fan.lean[0]) / LEANS) + 1)
    shallow = DEPTHS[-1] - gripper.pad
    for turn in turns:
        for lean in leans:
            # The hand comes from -x at leans above 0, and from -z beyond 90 degrees.
            way = (-np.sign(np.sin(lean)), np.sign(np.cos(lean)))
            edge = [w * max(0.0, h - shallow) for w, h in zip(way, fan.half, strict=True)]
            # Beside the axis of a round item fingers slide off: no farther than the palm asks for.
            across = [0.0, edge[0]]
            if fan.turn:
                across = [way[0] * max(0.0, fan.width / 2.0 - gripper.to_palm)]
            for x in dict.fromkeys(across):
                for z in dict.fromkeys((0.0, edge[1])):
                    yield float(turn), float(lean), float(x), float(z)


@cache
def _generated(sides: tuple[float, ...], turned: bool, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps for a box of these sides, metres; ``turned`` about the upright axis too, if round."""
    found = _of_box(sides, gripper)
    if turned:
        for angle in ROUND_TURNS:
            X = transform(rotation_z(angle), np.zeros(3))
            found += tuple(
                Grasp(f"{g.name}/{np.degrees(angle):.0f}", frozen(X @ g.X_IT), g.width)
                for g in _of_box(sides, gripper)
            )
    return found


def _of_box(sides: tuple[float, ...], gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps for a box of these sides, metres."""
    size = np.array(sides)
    half = size / 2.0
    found = []
    faces = ((2, 1.0, "top"), (0, 1.0, "+x"), (0, -1.0, "-x"), (1, 1.0, "+y"), (1, -1.0, "-y"))
    for axis, sign, face in faces:
        normal = sign * np.eye(3)[axis]
        for closing in range(3):
            if closing == axis or size[closing] > gripper.widest:
                continue
            if face != "top" and closing == 2:
                continue  # a finger below a thing that stands has no room
            for depth in DEPTHS:
                if depth > size[axis] / 2.0 + 1e-9 and depth != DEPTHS[-1]:
                    continue
                p = normal * (half[axis] - min(depth, half[axis]))
                if face != "top":  # hold high: the hand stays clear of the worktop
                    p = p + np.array([0.0, 0.0, max(0.0, half[2] - _HIGH)])
                for tilt in TILTS if face == "top" and depth == DEPTHS[-1] else (0.0,):
                    for lean in (tilt, -tilt) if tilt else (0.0,):
                        for way in (1.0, -1.0):
                            y = way * np.eye(3)[closing]
                            R = rotation_about(y, lean) @ _frame(-normal, y)
                            if tilt:  # about the edge over which the hand leans, or the palm hits
                                side = 3 - axis - closing
                                edge = max(0.0, half[side] - depth)
                                p[side] = -np.sign(R[side, 2]) * edge
                            name = f"{face}/{'xyz'[closing]}{'+' if way > 0 else '-'}"
                            name += f"/{1e3 * depth:.0f}mm"
                            name += f"/{np.degrees(lean):+.0f}deg" if lean else ""
                            found.append(Grasp(name, frozen(transform(R, p)), float(size[closing])))
    return tuple(found)


@cache
def _lying(sides: tuple[float, ...], down: int, sign: float, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps for a box that lies on the face across axis ``down``, on its positive side or not.

    From above, the fingers closing sideways; from the sides, high and with the fingers closing
    sideways, or with one of them below. At the middle and near both ends.
    """
    size = np.array(sides)
    half = size / 2.0
    found = []
    faces = [(axis, way) for axis in range(3) for way in (1.0, -1.0) if (axis, way) != (down, sign)]
    for axis, way in faces:
        normal = way * np.eye(3)[axis]
        for closing in range(3):
            if closing == axis or size[closing] > gripper.widest:
                continue
            along = np.eye(3)[3 - axis - closing]
            room = max(0.0, float(along @ half) - _END)
            shifts = [along * s for s in dict.fromkeys((0.0, room, -room))]
            if down not in (axis, closing):
                shifts = [-sign * np.eye(3)[down] * max(0.0, half[down] - _HIGH)]
            for depth in DEPTHS:
                if depth > half[axis] + 1e-9 and depth != DEPTHS[-1]:
                    continue
                middle = normal * (half[axis] - min(depth, half[axis]))
                for k, shift in enumerate(shifts):
                    for turn in (1.0, -1.0):
                        y = turn * np.eye(3)[closing]
                        X = frozen(transform(_frame(-normal, y), middle + shift))
                        name = f"lying {'-+'[way > 0]}{'xyz'[axis]}/{'xyz'[closing]}"
                        name += f"{'-+'[turn > 0]}/{1e3 * depth:.0f}mm/{k}"
                        found.append(Grasp(name, X, float(size[closing])))
    return tuple(found)


def hand_in_item(grasp: Grasp, p_HT: Array) -> Array:
    """X_IH (4, 4): the hand's pose in the item's frame for a grasp."""
    return grasp.X_IT @ transform(None, -p_HT)


def item_in_hand(grasp: Grasp, p_HT: Array) -> Array:
    """X_HI (4, 4)."""
    return inverse(hand_in_item(grasp, p_HT))


def _frame(z: Array, y: Array) -> Array:
    """R (3, 3) with the given z and y axes."""
    return np.stack([np.cross(y, z), y, z], axis=1)
