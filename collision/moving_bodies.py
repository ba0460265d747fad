"""The kernel's tables of all moving bodies: the robot's parts and the bodies attached to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from galley.collision.kernel.arrays import BODY, HULL, OWNER, Floats, Ints, Moving
from galley.collision.solids import Solid, check_finite, extent, of_link_shape, row12, table
from galley.domain.frames import Array, as_numbers, as_pose
from galley.robots.collision_model import CollisionModel


@dataclass(frozen=True, eq=False)
class AttachedBody:
    """Solids that move with the robot: a held item, or a drawer that the hand pulls.

    Attributes:
        name: the body's name.
        frame: frame of the robot's tree that carries it; -1 for the scene joint.
        solids: its shapes; their poses X are in that frame.
        ignores: names of links and attached bodies that it may touch: the fingers that hold it.
        passes: names of fixed bodies that it may touch: those that a drawer slides in.
    """

    name: str
    frame: int
    solids: tuple[Solid, ...]
    ignores: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class SceneJoint:
    """A joint of a drawer or door that moves with the robot: one more number in q.

    Attributes:
        X_WJ: its frame at zero in the world (4, 4); z is the axis.
        prismatic: whether it slides along z; else it turns about z.
        lower, upper: its limits, metres or radians.
    """

    X_WJ: Array
    prismatic: bool
    lower: float
    upper: float

    def __post_init__(self) -> None:
        as_pose(self.X_WJ, "X_WJ")
        as_numbers((self.lower, self.upper), "lower and upper limit", (2,))


@dataclass(frozen=True, eq=False)
class MovingBodies:
    """The kernel's tables of what can move. Parts: the robot's, then one for each attached body.

    Attributes:
        names: names of the parts (P,); a link of several hulls has several.
        own: how many of the parts are the robot's own.
        parent: frame that each joint stands on (n,): see ``KinematicTree``.
        fixed: pose of each joint's frame in its parent's at zero (n, 12).
        prismatic: whether a joint slides (n,).
        all_joints: 0 .. n - 1 (n,).
        span: how far each sliding joint can slide, metres (n,).
        carries: (n + 1, n) whether a joint moves a frame.
        checked: (P, P) whether two parts may not touch.
        owner: the owner of each part (P,): see ``Moving``.
        solids: the kernel's rows; which of them stand still in a view is not known yet.
    """

    names: tuple[str, ...]
    own: int
    parent: Ints
    fixed: Floats
    prismatic: Ints
    all_joints: Ints
    span: Array
    carries: NDArray[np.uint8]
    checked: NDArray[np.uint8]
    owner: Ints
    solids: Moving

    def __post_init__(self) -> None:
        check_finite(self.names, self.solids.part, self.solids.ball)

    @property
    def pairs(self) -> int:
        """Upper bound on the pairs of rows that a view lists."""
        rows = len(self.solids.part)
        return rows * (rows - 1) // 2


@lru_cache(maxsize=64)
def moving_bodies(
    model: CollisionModel, attached_bodies: tuple[AttachedBody, ...], joint: SceneJoint | None
) -> MovingBodies:
    """The tables for a robot with attached bodies; cached for the same objects."""
    tree = model.tree
    parent, X_PJ = list(tree.parent), list(tree.X_PJ)
    prismatic = list(tree.prismatic)
    span = [
        float(u - lo) if s else 0.0
        for lo, u, s in zip(tree.lower, tree.upper, prismatic, strict=True)
    ]
    n = len(parent)
    carries = np.zeros((n + 1, n), dtype=np.uint8)
    carries[:] = model.carries
    if joint is not None:
        parent.append(0)
        X_PJ.append(joint.X_WJ)
        prismatic.append(joint.prismatic)
        span.append(joint.upper - joint.lower if joint.prismatic else 0.0)
        carries = np.pad(carries, ((0, 1), (0, 1)))
        carries[n + 1, n] = 1  # the scene joint stands in the world, and moves its own frame only
        n += 1
    names = (*model.names, *(body.name for body in attached_bodies))
    owner = _owners(model, attached_bodies)
    return MovingBodies(
        names,
        len(model.names),
        np.array(parent, dtype=np.int64),
        row12(np.array(X_PJ)).astype(np.float32),
        np.array(prismatic, dtype=np.int64),
        np.arange(n, dtype=np.int64),
        np.array(span, dtype=np.float64),
        carries,
        _checked(model, names, attached_bodies),
        owner,
        _rows(model, attached_bodies, n, owner),
    )


def _owners(model: CollisionModel, attached_bodies: tuple[AttachedBody, ...]) -> Ints:
    """The owner of each part (P,): see ``Moving``."""
    frame = dict(enumerate(model.part_frame.tolist())) | {s.part: s.frame for s in model.solids}
    owners = [
        next((k for k, (a, b) in enumerate(model.arm_frames, 1) if a <= frame[part] < b), 0)
        for part in range(len(model.names))
    ]
    return np.array([*owners, *(BODY + k for k in range(len(attached_bodies)))], dtype=np.int64)


def _rows(
    model: CollisionModel, attached_bodies: tuple[AttachedBody, ...], scene_joint: int, owner: Ints
) -> Moving:
    """The kernel's rows: hulls of links with spheres, the robot's other shapes, attached solids."""
    rows = [
        (p, int(frame), Solid(HULL, np.zeros(3), np.eye(4), hull))
        for p, (frame, hull) in enumerate(zip(model.part_frame, model.hulls, strict=True))
    ]
    rows += [(s.part, s.frame, of_link_shape(s.shape, s.X_FS)) for s in model.solids]
    for k, body in enumerate(attached_bodies):
        frame = scene_joint if body.frame < 0 else body.frame
        rows += [(len(model.names) + k, frame, solid) for solid in body.solids]
    balls = list(model.part_ball)
    for _, _, solid in rows[len(balls) :]:
        centre, radius = extent(solid)
        balls.append(np.array([*(solid.X[:3, :3] @ centre + solid.X[:3, 3]), radius]))
    part = np.array([p for p, _, _ in rows], dtype=np.int64)
    still = np.zeros((len(rows), 20), dtype=np.float32)
    still[:, OWNER] = owner[part]
    return Moving(
        table([solid for _, _, solid in rows]),
        part,
        np.array([frame for _, frame, _ in rows], dtype=np.int64),
        row12(np.array([s.X for _, _, s in rows]).reshape(-1, 4, 4)).astype(np.float32),
        np.array(balls, dtype=np.float32).reshape(-1, 4),
        still,
        model.part_cluster,
        model.cluster_ball.astype(np.float32),
        model.cluster_sphere,
        model.spheres.astype(np.float32),
        model.part_excess.astype(np.float32),
    )


def _checked(
    model: CollisionModel, names: tuple[str, ...], attached_bodies: tuple[AttachedBody, ...]
) -> NDArray[np.uint8]:
    """(P, P) whether two parts may not touch.

    Attached bodies are checked against all parts except those they ignore and those on their frame.
    """
    known = len(model.names)
    checked = np.zeros((len(names), len(names)), dtype=np.uint8)
    checked[:known, :known] = model.checked
    solid_frame = {s.part: s.frame for s in model.solids}
    frames = [*model.part_frame.tolist(), *(solid_frame[p] for p in sorted(solid_frame))]
    frames += [body.frame for body in attached_bodies]
    for k, body in enumerate(attached_bodies):
        i = known + k
        for j, name in enumerate(names):
            other = attached_bodies[j - known].ignores if j >= known else frozenset()
            apart = frames[j] != body.frame and name not in body.ignores
            checked[i, j] = checked[j, i] = apart and body.name not in other
    return checked
