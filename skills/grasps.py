"""Grasps from an item's geometry: where two parallel fingers can hold its box."""

from __future__ import annotations

from functools import cache

import numpy as np

from galley.domain.frames import Array, frozen, inverse, rotation_about, rotation_z, transform
from galley.domain.scene import Grasp, Item

CLEARANCE = 0.006  # m left between each open finger and the item
OPENING = 0.08  # m between the fingers, fully open
DEPTHS = (0.03, 0.018)  # m that the grasp centre lies behind the face that the hand comes from
ROUND_TURNS = (np.pi / 6, np.pi / 3)  # rad, about the upright axis of a round item
TILTS = (0.0, np.pi / 4)  # rad that the hand leans from the face's normal, about the closing axis
_UPRIGHT = 1.0 - 1e-9  # cosine of the angle to the vertical that counts as none
_CENTRED = 1e-6  # m


def grasps_of(item: Item) -> tuple[Grasp, ...]:
    """The item's own list, or grasps for its box: from the top and from each side.

    For each face but the bottom and each of its two directions that is narrow enough to close on:
    the hand points at the face (or leans over its edge), at one of two depths, both ways round.
    A round item can be taken from any side: the same, turned by 30 and 60 degrees.
    """
    return item.grasps or _generated(tuple(float(side) for side in item.size), _round(item))


def _round(item: Item) -> bool:
    """Whether an upright item looks the same from all sides: cylinders and balls on one axis."""
    return all(
        np.hypot(*shape.X_BS[:2, 3]) < _CENTRED
        and (
            shape.kind == "sphere"
            or (shape.kind == "cylinder" and abs(shape.X_BS[2, 2]) > _UPRIGHT)
        )
        for shape in item.shapes
        if shape.collision
    )


@cache
def _generated(sides: tuple[float, ...], turned: bool) -> tuple[Grasp, ...]:
    """Grasps for a box of these sides, metres; ``turned`` about the upright axis too, if round."""
    found = _of_box(sides)
    if turned:
        for angle in ROUND_TURNS:
            X = transform(rotation_z(angle), np.zeros(3))
            found += tuple(
                Grasp(f"{g.name}/{np.degrees(angle):.0f}", frozen(X @ g.X_IT), g.width)
                for g in _of_box(sides)
            )
    return found


def _of_box(sides: tuple[float, ...]) -> tuple[Grasp, ...]:
    """Grasps for a box of these sides, metres."""
    size = np.array(sides)
    half = size / 2.0
    found = []
    faces = ((2, 1.0, "top"), (0, 1.0, "+x"), (0, -1.0, "-x"), (1, 1.0, "+y"), (1, -1.0, "-y"))
    for axis, sign, face in faces:
        normal = sign * np.eye(3)[axis]
        for closing in range(3):
            if closing == axis or size[closing] > OPENING - 2 * CLEARANCE:
                continue
            if face != "top" and closing == 2:
                continue  # a finger below a thing that stands has no room
            for depth in DEPTHS:
                if depth > size[axis] / 2.0 + 1e-9 and depth != DEPTHS[-1]:
                    continue
                p = normal * (half[axis] - min(depth, half[axis]))
                if face != "top":  # hold high: the hand stays clear of the worktop
                    p = p + np.array([0.0, 0.0, max(0.0, half[2] - 0.045)])
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


def hand_in_item(grasp: Grasp, p_HT: Array) -> Array:
    """X_IH (4, 4): the hand's pose in the item's frame for a grasp."""
    return grasp.X_IT @ transform(None, -p_HT)


def item_in_hand(grasp: Grasp, p_HT: Array) -> Array:
    """X_HI (4, 4)."""
    return inverse(hand_in_item(grasp, p_HT))


def _frame(z: Array, y: Array) -> Array:
    """R (3, 3) with the given z and y axes."""
    return np.stack([np.cross(y, z), y, z], axis=1)
