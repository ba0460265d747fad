"""Finds a gripper's grasp frame and measures (``Gripper``) from its URDF.

The fingers close along the line on which their middles move apart as they open. The hand points
from its root, the link that carries the fingers, to them. A pad is the innermost part of a finger.
Positions are in the root's frame; the finger joints move from closed to open in equal steps.

If only one finger moves, the grasp frame must be given, and is on the pad of the other one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, frozen, inverse, transform
from galley.robots.model import Gripper
from galley.robots.urdf_arm import hull_of
from galley.robots.urdf_reader import JointTree, link_shapes, read_tree

_STEPS = 25  # positions of the finger joints, between which a table is linear
_FACE = 1e-3  # m: points this far behind the foremost one still belong to a pad
_SNAP = 0.03  # sine of the angle within which an axis of the root's frame is taken for a found one
_ASIDE = 6e-3  # m: shapes this far beside the pads still count for the palm
_PALM_GAP = 4e-3  # m, by which ``to_palm`` is rounded down
_BESIDE = 0.002  # m of the opening that is left free at the widest item
_MOST_PAD = 0.02  # m, the greatest ``pad``
_PAD, _PROUD = 4e-3, 5e-4  # m, thickness of the boxes on the pads, and how far they stand out
_JAW_PAD = 0.01  # m, ``pad`` if one jaw moves and none is given
_OPPOSITE = 1e-3  # m before the still jaw's face: nearer shapes are the jaw's own, not the palm


@dataclass(frozen=True)
class MeasuredGripper:
    """The grasp frame and measures of a gripper, found from its shapes.

    Attributes:
        X_RT: pose of the grasp frame in the root's frame (4, 4).
        gripper: the measures.
        pads: for each finger a box on its pad: the pose in its link (4, 4), and the size (3,), m.
    """

    X_RT: Array
    gripper: Gripper
    pads: tuple[tuple[Array, Array], ...]


def find_gripper(
    urdf: str,
    joints: Mapping[str, tuple[float, float]],
    root: str,
    fingers: tuple[str, str],
    X_RT: Array | None = None,
    pad: float | None = None,
) -> MeasuredGripper:
    """The grasp frame of a gripper and its measures.

    1. Place the shapes of root and fingers at each position of the finger joints.
    2. Find y, along which the fingers move apart, and z, from the root to the fingers.
    3. At each position, find the pads and the width between them.
    4. The grasp centre is in the middle of the pads; measure from there.

    Args:
        urdf: text, with meshes by absolute path.
        joints: values (m or rad) of each finger joint: closed, open.
        root: link that carries the fingers.
        fingers: the two links that touch items.
        X_RT: pose of the grasp frame in the root's (4, 4), if it is known.
        pad: m that the pads reach from the grasp centre, if it is known. If only one finger moves,
            the width is measured within this distance.

    Raises:
        ValueError: a finger has no shape, or the fingers don't move apart steadily from closed to
            open.
    """
    tree, ends = read_tree(urdf, tuple(joints)), np.array(list(joints.values())).T
    Q = ends[0] + np.linspace(0.0, 1.0, _STEPS)[:, None] * (ends[1] - ends[0])
    shapes = _shapes(urdf, tree, root, fingers)
    missing = [f for f in fingers if f not in shapes]
    if missing:
        raise ValueError(f"finger '{missing[0]}' has no collision shape, or does not move")
    parts = [_in_root(shapes, tree, root, q) for q in Q]
    moved = [{link: np.concatenate(own) for link, own in step.items()} for step in parts]
    shut, wide = moved[0], moved[-1]
    if any(tree.link(f)[0] == tree.link(root)[0] for f in fingers):
        return _one_jaw(tree, Q, parts, root, fingers, X_RT, pad or _JAW_PAD)
    if X_RT is None:
        first, second = (wide[f].mean(axis=0) - shut[f].mean(axis=0) for f in fingers)
        size = float(np.linalg.norm(second - first))
        if size < 1e-3:
            raise ValueError(f"the fingers {fingers[0]} and {fingers[1]} don't part as they open")
        y = _snapped((second - first) / size)
        y = y * np.sign(y[np.abs(y).argmax()])
        ahead = sum(wide[f].mean(axis=0) for f in fingers) / 2.0
        z = _snapped(_unit(ahead - y * (y @ ahead)))
        R_RT = np.stack([np.cross(y, z), y, z], axis=1)
    else:
        R_RT = X_RT[:3, :3]
    faces = [_faces({link: p @ R_RT for link, p in step.items()}, fingers) for step in moved]
    halves = np.array([half for half, _ in faces])
    if (np.diff(halves) <= 0.0).any():
        raise ValueError("the pads don't part steadily from closed to open: are these the joints?")
    pads = np.array([box for _, box in faces])  # (steps, 2, 3): corners of both pads
    middle = 0.5 * (pads[:, 0] + pads[:, 1])[len(pads) // 2]
    middle[np.abs(middle) < 5e-4] = 0.0
    if X_RT is None:
        X_RT = transform(R_RT, R_RT @ middle)
    # From here on corners are relative to the grasp centre, along its axes.
    p_T = R_RT.T @ X_RT[:3, 3]
    size = (pads[:, 1] - pads[:, 0]).min(axis=0) / 2.0
    reach = max(
        _foremost(part @ R_RT - p_T, half + _ASIDE)
        for step, half in zip(parts, halves, strict=True)
        for link in step.keys() - {*fingers}
        for part in step[link]
    )
    to_palm = max(_FACE, -reach - _PALM_GAP)
    opened = {link: p @ R_RT - p_T for link, p in wide.items()}
    carried = np.concatenate([p for link, p in opened.items() if link != root])
    beside = carried[carried[:, 2] > -to_palm]
    opening = float(2.0 * halves[-1])
    box = pads[-1] - p_T
    flat = np.maximum(box[1] - box[0], _FACE) * (1, 0, 1) + (0, _PAD, 0)
    boxes = []
    for finger in fingers:
        at = box.mean(axis=0)
        at[1] = np.sign(opened[finger][:, 1].mean()) * (halves[-1] - _PROUD + _PAD / 2.0)
        X_LR = inverse(tree.link_pose(finger, Q[-1])) @ tree.link_pose(root, Q[-1])
        boxes.append((X_LR @ X_RT @ transform(translation=at), flat))
    return MeasuredGripper(
        frozen(X_RT),
        Gripper(
            opening=opening,
            widest=opening - _BESIDE,
            pad=float(np.clip(min(size[0], size[2]), _FACE, _MOST_PAD)),
            to_palm=to_palm,
            to_finger=0.5 * float(np.abs(beside[:, 1]).max() - halves[-1]),
            table=_table(np.column_stack([halves, Q])),
        ),
        tuple(boxes),
    )


def _one_jaw(
    tree: JointTree,
    Q: Array,
    parts: list[dict[str, list[Array]]],
    root: str,
    fingers: tuple[str, str],
    X_RT: Array | None,
    reach: float,
) -> MeasuredGripper:
    """``find_gripper`` for a gripper of which one finger stands still.

    Args:
        tree: joints of the gripper.
        Q: positions of the finger joints from closed to open (m, k).
        parts: at each position, by link, the corners (n, 3) of its shapes in the root's frame.
        root: link that carries the fingers.
        fingers: the two links that touch items.
        X_RT: pose of the grasp frame in the root's (4, 4).
        reach: m; the width is measured within this distance of the grasp centre along x and z.

    Raises:
        ValueError: there is no grasp frame, or it is not on the still finger's pad; or the other
            finger is not opposite it, or doesn't move away steadily.
    """
    still, jaw = sorted(fingers, key=lambda f: tree.link(f)[0] != tree.link(root)[0])
    if X_RT is None or tree.link(jaw)[0] == tree.link(root)[0]:
        raise ValueError(
            f"'{still}' stands still as the gripper opens: give the grasp frame, gripper.grasp, on "
            "its pad, z out of the hand and y towards the finger that moves"
        )
    R_RT, p_R = X_RT[:3, :3], X_RT[:3, 3]
    steps = [{link: [(p - p_R) @ R_RT for p in step[link]] for link in step} for step in parts]
    x, y, z = np.eye(3)
    pad = np.array([[-reach, -np.inf, -reach], [reach, np.inf, reach]])
    face = _most(steps[0][still], y, pad)
    ends = [-_most(step[jaw], -y, pad) - face for step in steps]
    if not np.isfinite(face):
        raise ValueError(f"the grasp frame (gripper.grasp) is not on '{still}'")
    if not np.isfinite(ends).all():
        raise ValueError(
            f"'{jaw}' is not opposite the pad of '{still}' from closed to open: open it less far, "
            "or turn the grasp frame"
        )
    if (np.diff(ends) <= 0.0).any():
        raise ValueError(f"'{jaw}' does not part steadily from '{still}' from closed to open")
    for step in steps:
        for p in itertools.chain(*step.values()):
            p[:, 1] -= face
    palm = np.array([[-np.inf, _OPPOSITE, -np.inf], [np.inf, ends[-1], -reach]])
    others = itertools.chain(*(each for link, each in steps[0].items() if link != jaw))
    to_palm = max(_FACE, -_most(others, z, palm) - _PALM_GAP)
    # The box on a jaw that turns is square to it: it stands where the two are nearest to parallel.
    level = int(np.argmin([_slant(step[jaw], y, pad) for step in steps]))
    thick, boxes = [], {}
    for link, k, way, at in ((still, 0, -1.0, 0.0), (jaw, level, 1.0, ends[level])):
        own = steps[k][link]
        front = pad.copy()
        front[:, 1] = sorted((at + way * _FACE, at))
        low, high = (np.array([w * _most(own, w * e, front) for e in (x, z)]) for w in (-1.0, 1.0))
        middle, sides = 0.5 * (low + high), np.maximum(high - low, _FACE)
        p_T = [middle[0], face + at + way * (_PAD / 2.0 - _PROUD), middle[1]]
        X_LR = inverse(tree.link_pose(link, Q[k])) @ tree.link_pose(root, Q[k])
        size = np.array([sides[0], _PAD, sides[1]])
        boxes[link] = X_LR @ X_RT @ transform(translation=p_T), size
        thick.append(_most(own, way * y, pad) - way * at)
    return MeasuredGripper(
        frozen(X_RT @ transform(translation=[0.0, face, 0.0])),
        Gripper(
            opening=float(ends[-1]),
            widest=float(ends[-1]) - _BESIDE,
            pad=reach,
            to_palm=float(to_palm),
            to_finger=0.5 * float(max(thick)),
            table=_table(np.column_stack([0.5 * np.array(ends), Q])),
            one_jaw=True,
        ),
        (boxes[fingers[0]], boxes[fingers[1]]),
    )


def _most(parts: Iterable[Array], way: Array, box: Array) -> float:
    """How far (m) convex parts reach along a unit vector within a box; -inf if none enters it.

    Args:
        parts: corners (n, 3) of each part.
        way: the unit vector (3,).
        box: lowest and highest corner (2, 3), which may be infinite.
    """
    from scipy.optimize import linprog

    reached = [-np.inf]
    for corners in parts:
        # A linear program: points of a part are weighted means of its corners.
        low, high = np.isfinite(box)
        planes = np.vstack([corners.T[high], -corners.T[low]])
        room = np.concatenate([box[1, high], -box[0, low]])
        most = linprog(-corners @ way, planes, room, np.ones((1, len(corners))), [1.0])
        reached += [-most.fun] if most.success else []
    return float(max(reached))


def _slant(parts: Sequence[Array], y: Array, pad: Array) -> float:
    """How much (m) nearer convex parts are at one end (in z) of the pad (2, 3) than the other."""
    far, near = pad.copy(), pad.copy()
    far[0, 2], near[1, 2] = 0.5 * pad[1, 2], 0.5 * pad[0, 2]
    return abs(_most(parts, -y, far) - _most(parts, -y, near))


def _foremost(points: Array, half: float) -> float:
    """The greatest z of a convex body, given by its corners (n, 3), within ``half`` of y = 0."""
    # At a corner within, or where an edge between two corners passes y = half or -half.
    greatest = [float(points[np.abs(points[:, 1]) <= half][:, 2].max(initial=-np.inf))]
    for y in (half, -half):
        low, high = points[points[:, 1] < y], points[points[:, 1] > y]
        if len(low) and len(high):
            share = (y - low[:, None, 1]) / (high[:, 1] - low[:, None, 1])
            greatest.append(float((low[:, None, 2] + share * (high[:, 2] - low[:, None, 2])).max()))
    return max(greatest)


def _table(rows: Array) -> tuple[tuple[float, ...], ...]:
    """``Gripper.table`` of rows of half the width and finger joints, from closed to open.

    It begins where the pads meet, and has two rows if it is linear.
    """
    if np.ptp(np.diff(rows[:, 0])) < 1e-9:
        rows = rows[[0, -1]]
    meet = max(0.0, float(rows[0, 0]))
    first = [np.interp(meet, rows[:, 0], column) for column in rows.T]
    return tuple(tuple(map(float, row)) for row in (first, *rows[rows[:, 0] > meet + 1e-6]))


def _shapes(
    urdf: str, tree: JointTree, root: str, fingers: tuple[str, str]
) -> dict[str, list[Array]]:
    """By link, the corners (n, 3) of each shape in the link's frame.

    Of the root, the fingers, and all links that move relative to the root.
    """
    corners_of: dict[str, list[Array]] = {}
    for shape in link_shapes(urdf):
        if shape.link in (root, *fingers) or tree.link(shape.link)[0] != tree.link(root)[0]:
            X, corners = shape.X_LS, hull_of(shape).vertices
            corners_of.setdefault(shape.link, []).append(corners @ X[:3, :3].T + X[:3, 3])
    return corners_of


def _in_root(
    shapes: Mapping[str, list[Array]], tree: JointTree, root: str, q: Array
) -> dict[str, list[Array]]:
    """The same corners in the root's frame, for the finger joints at q (k,)."""
    X_RW, placed = inverse(tree.link_pose(root, q)), {}
    for link, parts in shapes.items():
        X = X_RW @ tree.link_pose(link, q)
        placed[link] = [part @ X[:3, :3].T + X[:3, 3] for part in parts]
    return placed


def _faces(points: Mapping[str, Array], fingers: tuple[str, str]) -> tuple[float, Array]:
    """Half the width between the pads, and the rectangle that the two pads share.

    Its lowest and highest corner (2, 3) are in the middle between the pads, in y.
    """
    boxes, inner = [], []
    middle = 0.5 * sum(points[f][:, 1].mean() for f in fingers)
    for finger in fingers:
        p = points[finger]
        inward = 1.0 if p[:, 1].mean() < middle else -1.0
        level = inward * p[:, 1]
        face = p[level > level.max() - _FACE]
        boxes.append((face.min(axis=0), face.max(axis=0)))
        inner.append(inward * level.max())
    low = np.maximum(boxes[0][0], boxes[1][0])
    high = np.maximum(low, np.minimum(boxes[0][1], boxes[1][1]))
    low[1] = high[1] = 0.5 * sum(inner)
    return 0.5 * inward * (inner[0] - inner[1]), np.array([low, high])


def _unit(vector: Array) -> Array:
    """The unit vector of the hand's direction; ValueError if it has none."""
    size = float(np.linalg.norm(vector))
    if size < 1e-6:
        raise ValueError("the hand has no direction: give the grasp frame in the robot file")
    return vector / size


def _snapped(axis: Array) -> Array:
    """A unit vector, or the coordinate axis that it nearly is: meshes are not exact."""
    k = int(np.abs(axis).argmax())
    exact = np.sign(axis[k]) * np.eye(3)[k]
    return exact if np.linalg.norm(axis - exact) < _SNAP else axis
