"""Grasps from an item's geometry: two parallel fingers close across its bounding box.

On a composite item they close on opposed surfaces of its parts.

``grasp_families`` has all grasps as continuous families; refusals are proven about it. Planning
tries two finite lists from them: the standard grasps (``grasps_of``, ``grasps_at``) and, if these
fail, ``leaning_grasps``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import product

import numpy as np

from galley.collision.backends.urdf import inertial
from galley.domain.frames import Array, frozen, inverse, rotation_about, rotation_z, transform
from galley.domain.scene.model import Grasp, Item, Scene
from galley.domain.state import State, item_pose
from galley.robots.model import Gripper
from galley.skills.manipulation.grasp_families import (
    CLEARANCE,
    GraspFamily,
    closed_on,
    composite_families,
    fingers_clear,
)

DEPTHS = (0.03, 0.018)  # m from the face that the hand approaches to the grasp centre, at most
_SHALLOW = 0.012  # m likewise, where one finger is below: pads hold with their whole length
_PALM_ROOM = 0.003  # m between that face and the palm
ROUND_TURNS = (np.pi / 6, np.pi / 3)  # rad, about the upright axis of a round item
_LEANS = (0.0, np.pi / 4, -np.pi / 4)  # rad between hand and face normal, about the closing axis
_LYING = float(np.cos(np.pi / 4))  # cosine of the tilt at which another face is the lowest
_HIGH = 0.045  # m from the grasp centre to the item's top in a grasp from the side, at most
_END = 0.03  # m from the end of a lying item to a grasp near that end
_FINE_LEANS = np.radians(5.0)  # between the approach directions of ``leaning_grasps``
_TURNS = np.radians(30.0)  # between the closing directions of these on a round item
_PARTS_LEANS = np.pi / 4  # between the approach directions of a composite's standard grasps
_LEVER = 0.015  # m, horizontally, that these may be farther from its centre of mass than the best
_PAIRS = 48  # pairs of a composite's surfaces that grasps are made for, at most


def grasps_of(item: Item, gripper: Gripper) -> tuple[Grasp, ...]:
    """The grasps of an upright item: its own list, or grasps from the top and the sides.

    For a box there are grasps at each face except the bottom, along each of the face's two
    directions that fits between the fingers. The hand points at the face (or leans over its edge),
    at one of two depths, both ways round. For a round item they are also turned by 30 and 60
    degrees. For a composite item see ``_well_balanced``.
    """
    if item.grasps or not item.composite:
        sides = tuple(float(side) for side in item.size)
        return _fitting(item.grasps or _generated(sides, item.round, gripper), gripper)
    return _fitting(_well_balanced(item, np.eye(4), gripper), gripper)


def grasps_at(
    scene: Scene, state: State, index: int, gripper: Gripper, turning: bool = True
) -> tuple[Grasp, ...]:
    """The grasps of an item as it stands or lies in ``state``; it must not be held.

    If it is upright or has a list of its own, these are ``grasps_of``. If it has fallen over, the
    hand comes from any face except the one below. The fingers close sideways; or above and below,
    where the item sticks out over an edge and leaves room for a finger.

    Args:
        turning: an item that ``may_turn`` in the air is grasped only near its centre of mass.
    """
    item = scene.items[index]
    X_WI = item_pose(scene, state, index, np.eye(4))
    balanced = item.composite or (turning and may_turn(item) and not item.round)
    if item.grasps or (is_upright(X_WI) and not balanced):
        return grasps_of(item, gripper)
    down = -X_WI[2, :3]  # in the item's frame
    sides = tuple(float(side) for side in item.size)
    if balanced:
        grasps = _well_balanced(item, X_WI, gripper)
    elif item.round and abs(down[2]) < _LYING:
        # A cylinder on its side rests on a line, at any angle about its axis.
        grasps = _rolled(sides, float(np.arctan2(down[1], down[0])), gripper)
    else:
        axis = int(np.argmax(np.abs(down)))
        grasps = _of_box(sides, gripper, axis, float(np.sign(down[axis])))
    return _fitting(_with_room_below(scene, state, grasps, X_WI, gripper), gripper)


def _fitting(grasps: tuple[Grasp, ...], gripper: Gripper) -> tuple[Grasp, ...]:
    """The grasps at which the item is thick enough, with the grasp frame of this gripper.

    Until here the frame is in the middle between the fingers. A gripper of which one jaw moves has
    it elsewhere.
    """
    held = tuple(grasp for grasp in grasps if grasp.width > gripper.narrowest - 1e-9)
    if not gripper.one_jaw:
        return held
    return tuple(replace(g, X_IT=gripper.centred(g.X_IT, g.width)) for g in held)


def _rolled(sides: tuple[float, ...], angle: float, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps of a round item that lies, rolled so that its direction at ``angle`` (rad) is below.

    They are the grasps for the +x side below, turned about the axis. All of them close through the
    axis, for beside it the fingers would slip off.
    """
    grasps: dict[bytes, Grasp] = {}
    turn = transform(rotation_z(angle), np.zeros(3))
    for grasp in _of_box(sides, gripper, 0, 1.0):
        X = turn @ grasp.X_IT
        X[:2, 3] = 0.0
        grasps.setdefault(X.tobytes(), Grasp(grasp.name, frozen(X), grasp.width))
    return tuple(grasps.values())


def is_upright(X_WI: Array) -> bool:
    """Whether an item at X_WI (4, 4) stands upright, give or take 45 degrees."""
    return bool(X_WI[2, 2] > _LYING)


def may_turn(item: Item) -> bool:
    """Whether an item may be put down otherwise than it was taken.

    It may if the scene allows it to lie, or if the scene has it lying.
    """
    return not (item.upright and is_upright(item.X_WI))


def _with_room_below(
    scene: Scene, state: State, grasps: Sequence[Grasp], X_WI: Array, gripper: Gripper
) -> tuple[Grasp, ...]:
    """The grasps whose fingers close sideways, or whose lower finger is clear of furniture."""
    if not grasps:
        return ()
    X_WT = X_WI @ np.array([grasp.X_IT for grasp in grasps])
    p, y, z = X_WT[:, :3, 3], X_WT[:, :3, 1], X_WT[:, :3, 2]
    widths = np.array([grasp.width for grasp in grasps])
    # Two points of the lower finger: at its tip, and ``_END`` back along it.
    beside = -np.sign(y[:, 2:]) * (widths / 2.0 + gripper.to_finger)[:, None] * y
    points = (p + beside)[:, None] - np.array([[0.0], [_END]]) * z[:, None]  # (n, 2, 3)
    hit = np.zeros(len(grasps), dtype=bool)
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, state.scene_q)
        for shape in body.shapes:
            if shape.collision and shape.kind != "mesh":
                X_SW = inverse(X_WB @ shape.X_BS)
                p_S = points @ X_SW[:3, :3].T + X_SW[:3, 3]
                hit |= (np.abs(p_S) <= shape.half_extents).all(axis=-1).any(axis=-1)
    free = ~hit | (np.abs(y[:, 2]) < _LYING)
    return tuple(grasp for grasp, good in zip(grasps, free, strict=True) if good)


def grasp_families(item: Item, X_WI: Array, gripper: Gripper) -> tuple[GraspFamily, ...]:
    """All grasps of an item at X_WI (4, 4), as continuous families.

    There are two families, both ways round, for each side that fits between the fingers. If the
    item is upright, the fingers close sideways and the hand never points up. If it lies, the hand
    may come from all around. Empty for an item with a list of its own.
    """
    if item.grasps:
        return ()
    if item.composite:
        return composite_families(item, _up(X_WI), gripper)
    standing = is_upright(X_WI)
    lean = (-np.pi / 2, np.pi / 2) if standing else (-np.pi, np.pi)
    families = []
    for closing in (0, 1) if standing else (0, 1, 2):
        width = float(item.size[closing])
        # The second side of a round item is the first one turned.
        if not gripper.narrowest <= width <= gripper.widest or (item.round and closing == 1):
            continue
        up = 2 if closing != 2 else 0
        half = [
            max(0.0, float(item.size[axis]) / 2.0 - gripper.pad) for axis in (3 - closing - up, up)
        ]
        turn = np.pi if item.round and closing == 0 else 0.0
        for way in (1.0, -1.0):
            y, z = way * np.eye(3)[closing], np.eye(3)[up]
            R_IF = frozen(np.stack([np.cross(y, z), y, z], axis=1))
            families.append(GraspFamily(R_IF, (half[0], half[1]), lean, turn, width))
    return tuple(families)


def leaning_grasps(scene: Scene, state: State, index: int, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps at every 5 degrees of lean, in addition to the standard ones.

    They are in the middle of the item or at the edge over which the hand comes, near the top or
    lower.
    """
    X_WI = item_pose(scene, state, index, np.eye(4))
    leaning = _of_families(scene.items[index], _up(X_WI), gripper, _FINE_LEANS, "leaning ")
    return _fitting(_with_room_below(scene, state, leaning, X_WI, gripper), gripper)


def _well_balanced(item: Item, X_WI: Array, gripper: Gripper) -> tuple[Grasp, ...]:
    """Standard grasps of a composite item, or of one that may lie.

    These are the grasps in which its weight turns it least, within ``_LEVER``. The lever is the
    distance of the grasp centre from the centre of mass: horizontally, or for an item that may lie,
    and so is turned in the air, from the closing axis. The palm must also stay out of the latter.
    """
    grasps = _of_families(item, _up(X_WI), gripper, _PARTS_LEANS, "")
    centre, _ = inertial(item.shapes, np.eye(4), item.mass)
    if may_turn(item) and not item.composite:
        room = gripper.to_palm - _PALM_ROOM
        grasps = tuple(grasp for grasp in grasps if _depth(item, grasp) < room) or grasps
    levers = []
    for grasp in grasps:
        p = grasp.X_IT[:3, 3] - centre
        lever = np.cross(grasp.X_IT[:3, 1], p) if may_turn(item) else X_WI[:2, :3] @ p
        levers.append(float(np.linalg.norm(lever)))
    most = min(levers, default=0.0) + _LEVER
    return tuple(grasp for grasp, lever in zip(grasps, levers, strict=True) if lever < most)


def _depth(item: Item, grasp: Grasp) -> float:
    """How far (m) an item's box reaches from the grasp centre towards the palm."""
    z, p = grasp.X_IT[:3, 2], grasp.X_IT[:3, 3]
    return float(z @ p + np.abs(z) @ item.size / 2.0)


def _up(X_WI: Array) -> tuple[float, float, float]:
    """The vertical (3,) in the frame of an item at X_WI (4, 4), as numbers that can be cached."""
    x, y, z = X_WI[2, :3].tolist()
    return x, y, z


@lru_cache(maxsize=256)
def _of_families(
    item: Item, up: tuple[float, float, float], gripper: Gripper, leans: float, kind: str
) -> tuple[Grasp, ...]:
    """Grasps of the item's families at regular leans, none of them from below.

    Args:
        up: the vertical in the item's frame.
        leans: step of the lean, rad.
        kind: prefix of the grasps' names.
    """
    grasps: list[Grasp] = []
    X_WI = np.eye(4)
    X_WI[2, :3] = up  # the rest of the pose is never used
    for k, family in enumerate(grasp_families(item, X_WI, gripper)[: 2 * _PAIRS]):
        cells = np.array(list(_cells(family, X_WI @ family.X_IO, gripper, leans)))
        X_IT, widths = family.X_IO @ family.poses(cells), np.full(len(cells), family.width)
        # Never from below: the hand must not point up.
        taken = X_IT[:, :3, 2] @ X_WI[2, :3] <= 1e-6
        if item.composite:
            # The fingers close on the parts' real surfaces, and need room beside the others.
            X_IT, widths = closed_on(item, X_IT, family.parts)
            opened = family.width + 2.0 * CLEARANCE
            taken &= (widths > 0.0) & (widths <= gripper.widest)
            taken[taken] = fingers_clear(
                item, X_IT[taken], family.width, opened, gripper, family.parts
            )
        for row in np.flatnonzero(taken):
            turn, lean, x, z = cells[row]
            name = f"{kind}{k}/{np.degrees(turn):.0f}/{np.degrees(lean):+.0f}deg"
            name += f"/{1e3 * x:.0f}/{1e3 * z:.0f}mm"
            grasps.append(Grasp(name, frozen(X_IT[row]), float(widths[row])))
    return tuple(grasps)


def _cells(
    family: GraspFamily, X_WI: Array, gripper: Gripper, step: float
) -> Iterator[tuple[float, float, float, float]]:
    """Yield grasps of a family to try, leans ``step`` (rad) apart, for ``GraspFamily.poses``."""
    # A round item that lies is turned so that its first direction is below.
    first = (
        float(np.arctan2(-X_WI[2, 1], -X_WI[2, 0])) if family.turn and not is_upright(X_WI) else 0.0
    )
    turns = np.arange(first, first + max(family.turn, 1e-9), _TURNS)
    leans = np.linspace(*family.lean, round((family.lean[1] - family.lean[0]) / step) + 1)
    shallow = _depths(gripper)[-1] - gripper.pad
    for turn in turns:
        for lean in leans:
            # The hand comes from -x at leans above 0, and from -z beyond 90 degrees.
            way = (-np.sign(np.sin(lean)), np.sign(np.cos(lean)))
            edge = [w * max(0.0, h - shallow) for w, h in zip(way, family.half, strict=True)]
            across, along = [0.0, edge[0]], [0.0, edge[1]]
            if family.parts[0] >= 0:  # other parts may be in the way in the middle, or at one end
                across, along = ([0.0, h, -h] for h in (max(0.0, h - shallow) for h in family.half))
            # Off the axis of a round item the fingers slip: only as far as the palm needs.
            if family.turn:
                across = [way[0] * max(0.0, family.width / 2.0 - gripper.to_palm)]
            share = np.abs((np.sin(lean), np.cos(lean)))
            for x in dict.fromkeys(across):
                for z in dict.fromkeys(along):
                    if family.parts[0] >= 0:
                        out = np.array(family.half) + gripper.pad - np.multiply(way, (x, z))
                        if (out > share * gripper.to_palm).all():
                            continue  # the palm would be in the part
                    yield float(turn), float(lean), float(x), float(z)


@cache
def _generated(sides: tuple[float, ...], turned: bool, gripper: Gripper) -> tuple[Grasp, ...]:
    """Grasps for an upright box of these sides (m); if ``turned``, also about the upright axis."""
    grasps = list(_of_box(sides, gripper))
    for angle in ROUND_TURNS if turned else ():
        X = transform(rotation_z(angle), np.zeros(3))
        grasps += (
            Grasp(f"{g.name}/{np.degrees(angle):.0f}", frozen(X @ g.X_IT), g.width)
            for g in _of_box(sides, gripper)
        )
    return tuple(grasps)


@cache
def _of_box(
    sides: tuple[float, ...], gripper: Gripper, down: int = 2, sign: float = -1.0
) -> tuple[Grasp, ...]:
    """Grasps of a box of these sides (m) that stands or lies on the face ``sign`` of axis ``down``.

    From the face above the fingers close sideways; on an item that stands the hand may also lean
    over an edge. From the sides the hand grasps high up. On an item that lies the fingers close
    sideways, or one of them below, in the middle and near both ends.
    """
    size = np.array(sides)
    half, standing, depths = size / 2.0, (down, sign) == (2, -1.0), _depths(gripper)
    grasps = []
    faces = [(axis, way) for axis in range(3) for way in (1.0, -1.0) if (axis, way) != (down, sign)]
    if standing:
        faces = [faces[-1], *faces[:-1]]  # the top first
    for axis, way in faces:
        normal = way * np.eye(3)[axis]
        for closing in range(3):
            if closing == axis or size[closing] > gripper.widest:
                continue
            if standing and closing == down:
                continue  # there is no room for a finger under a standing item
            along = np.eye(3)[3 - axis - closing]
            room = 0.0 if standing else max(0.0, float(along @ half) - _END)
            shifts = [along * s for s in dict.fromkeys((0.0, room, -room))]
            if down not in (axis, closing):  # high up: the hand stays clear of the worktop
                shifts = [-sign * np.eye(3)[down] * max(0.0, half[down] - _HIGH)]
            for depth in (*depths, _SHALLOW) if closing == down else depths:
                # Deeper than the middle makes no difference: keep one such depth.
                if depth > half[axis] + 1e-9 and depth != depths[-1]:
                    continue
                over = standing and axis == down and depth == depths[-1]
                ways = product(enumerate(shifts), _LEANS if over else (0.0,), (1.0, -1.0))
                for (k, shift), lean, turn in ways:
                    y = turn * np.eye(3)[closing]
                    frame = np.stack([np.cross(y, -normal), y, -normal], axis=1)
                    R = rotation_about(y, lean) @ frame
                    p = normal * (half[axis] - min(depth, half[axis])) + shift
                    if lean:  # near the edge that the hand leans over, for the palm
                        p = p - along * np.sign(along @ R[:, 2]) * max(0.0, along @ half - depth)
                    name = f"{'-+'[way > 0]}{'xyz'[axis]}"
                    name = "top" if standing and axis == down else name
                    name += f"/{'xyz'[closing]}{'-+'[turn > 0]}/{1e3 * depth:.0f}mm"
                    name += f"/{np.degrees(lean):+.0f}deg" if lean else ""
                    name = name if standing else f"lying {name}/{k}"
                    grasps.append(Grasp(name, frozen(transform(R, p)), float(size[closing])))
    return tuple(grasps)


def _depths(gripper: Gripper) -> tuple[float, ...]:
    """The ``DEPTHS``, made smaller where the palm would touch the item."""
    return tuple(dict.fromkeys(min(d, gripper.to_palm - _PALM_ROOM) for d in DEPTHS))


def hand_in_item(grasp: Grasp, p_HT: Array) -> Array:
    """X_IH (4, 4): the hand's pose in the item's frame for a grasp."""
    return grasp.X_IT @ transform(None, -p_HT)


def item_in_hand(grasp: Grasp, p_HT: Array) -> Array:
    """X_HI (4, 4): the item's pose in the hand for a grasp."""
    return inverse(hand_in_item(grasp, p_HT))
