"""A gripper's grasp frame and measures, found from its URDF: the table of ``Gripper`` too.

The fingers close along the line on which their middles part as they open; the hand points from its
root to them. A pad is the innermost part of a finger. All of it in the root's frame, with the
finger joints moved from closed to open in equal steps.

Where only one finger moves, the grasp frame must be given, and stands on the pad of the other one.
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

_STEPS = 25  # of the finger joints, between which a table is linear
_FACE = 1e-3  # m, how far behind the foremost point a pad goes on
_SNAP = 0.03  # sine of the angle within which an axis of the root's frame is meant
_ASIDE = 6e-3  # m beside the pads, what is nearer there counts as the palm
_PALM_GAP = 4e-3  # m, by which ``to_palm`` is rounded down
_BESIDE = 0.002  # m of the opening that is left free at the widest item
_MOST_PAD = 0.02  # m
_PAD, _PROUD = 4e-3, 5e-4  # m, thickness of the boxes on the pads, and how far they stand out
_JAW_PAD = 0.01  # m, ``pad`` where one jaw moves and none is given
_OPPOSITE = 1e-3  # m before a jaw, what stands out further is not the jaw


@dataclass(frozen=True)
class FoundGripper:
    """What a gripper's meshes say.

    Attributes:
        X_RT: the grasp frame in the root's (4, 4).
        gripper: its measures.
        pads: for each finger the pose in its link (4, 4), and the size (3,), of a box on its pad.
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
) -> FoundGripper:
    """The grasp frame of a gripper and its measures.

    Args:
        urdf: text, with meshes by absolute path.
        joints: of the fingers: closed, open.
        root: link that carries the fingers.
        fingers: the links that touch.
        X_RT: the grasp frame in the root's, if it is known.
        pad: m that the pads reach from the grasp centre, if it is known; where one finger moves,
            the width is measured within.

    Raises:
        ValueError: a finger has no shape, the fingers don't part, or they are not in order.
    """
    tree, ends = read_tree(urdf, tuple(joints)), np.array(list(joints.values())).T
    Q = ends[0] + np.linspace(0.0, 1.0, _STEPS)[:, None] * (ends[1] - ends[0])
    shapes = _shapes(urdf, tree, root, fingers)
    missing = [f for f in fingers if f not in shapes]
    if missing:
        raise ValueError(f"finger '{missing[0]}' has no collision shape, or does not move")
    parts = [_in_root(shapes, tree, root, q) for q in Q]
    moved = [{link: np.concatenate(each) for link, each in step.items()} for step in parts]
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
    return FoundGripper(
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
) -> FoundGripper:
    """A gripper of which one finger stands still, its parts (corners, in the root) at each of Q.

    How wide it is open is measured within ``reach`` (m) of the grasp centre, along x and z.
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
    return FoundGripper(
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
    """How far (m) convex parts, given by their corners (n, 3), reach along a unit vector in a box.

    Args:
        box: lowest and highest corner (2, 3); -inf if none of them enters it.
    """
    from scipy.optimize import linprog

    found = [-np.inf]
    for corners in parts:
        # Over the weights of the corners, of which few matter.
        low, high = np.isfinite(box)
        planes = np.vstack([corners.T[high], -corners.T[low]])
        room = np.concatenate([box[1, high], -box[0, low]])
        most = linprog(-corners @ way, planes, room, np.ones((1, len(corners))), [1.0])
        found += [-most.fun] if most.success else []
    return float(max(found))


def _slant(parts: Sequence[Array], y: Array, pad: Array) -> float:
    """By how much (m) convex parts are nearer at one end (z) of the pad (2, 3) than the other."""
    far, near = pad.copy(), pad.copy()
    far[0, 2], near[1, 2] = 0.5 * pad[1, 2], 0.5 * pad[0, 2]
    return abs(_most(parts, -y, far) - _most(parts, -y, near))


def _foremost(points: Array, half: float) -> float:
    """The greatest z of a convex body, given by its corners (n, 3), within ``half`` of y = 0."""
    found = [float(points[np.abs(points[:, 1]) <= half][:, 2].max(initial=-np.inf))]
    for y in (half, -half):
        low, high = points[points[:, 1] < y], points[points[:, 1] > y]
        if len(low) and len(high):
            share = (y - low[:, None, 1]) / (high[:, 1] - low[:, None, 1])
            found.append(float((low[:, None, 2] + share * (high[:, 2] - low[:, None, 2])).max()))
    return max(found)


def _table(rows: Array) -> tuple[tuple[float, ...], ...]:
    """Rows of half the width and joints, from where the pads meet on; two if it is linear."""
    if np.ptp(np.diff(rows[:, 0])) < 1e-9:
        rows = rows[[0, -1]]
    meet = max(0.0, float(rows[0, 0]))
    first = [np.interp(meet, rows[:, 0], column) for column in rows.T]
    return tuple(tuple(map(float, row)) for row in (first, *rows[rows[:, 0] > meet + 1e-6]))


def _shapes(
    urdf: str, tree: JointTree, root: str, fingers: tuple[str, str]
) -> dict[str, list[Array]]:
    """Corners (n, 3) of each shape of the root, the fingers, and each link that moves in it.

    In the link's frame.
    """
    found: dict[str, list[Array]] = {}
    for shape in link_shapes(urdf):
        if shape.link in (root, *fingers) or tree.link(shape.link)[0] != tree.link(root)[0]:
            X, corners = shape.X_LS, hull_of(shape).vertices
            found.setdefault(shape.link, []).append(corners @ X[:3, :3].T + X[:3, 3])
    return found


def _in_root(
    shapes: Mapping[str, list[Array]], tree: JointTree, root: str, q: Array
) -> dict[str, list[Array]]:
    """The same corners in the root's frame, for the finger joints at q (k,)."""
    X_RW, found = inverse(tree.link_pose(root, q)), {}
    for link, parts in shapes.items():
        X = X_RW @ tree.link_pose(link, q)
        found[link] = [part @ X[:3, :3].T + X[:3, 3] for part in parts]
    return found


def _faces(points: Mapping[str, Array], fingers: tuple[str, str]) -> tuple[float, Array]:
    """Half the width between the pads, and lowest and highest corner (2, 3) of what they share.

    For y, the corners are in the middle between them.
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
    size = float(np.linalg.norm(vector))
    if size < 1e-6:
        raise ValueError("the hand points nowhere: give the grasp frame in the robot file")
    return vector / size


def _snapped(axis: Array) -> Array:
    """An axis, or the coordinate axis that is meant: meshes are not exact."""
    k = int(np.abs(axis).argmax())
    exact = np.sign(axis[k]) * np.eye(3)[k]
    return exact if np.linalg.norm(axis - exact) < _SNAP else axis
