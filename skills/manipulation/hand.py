"""Collision check of the hand alone: how deep it overlaps obstacles, for many poses at once.

Fingers, palm, the arm's last link and obstacles are approximated by convex polyhedra within them.
So every overlap found is real and at least that deep; some overlaps are not found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from galley.collision.solids import of_link_shape
from galley.compiled.build import REACH, ensure
from galley.domain.frames import Array, inverse, transform
from galley.domain.meshes import hull
from galley.domain.state import State, item_pose
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import link_shapes, read_tree
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.polyhedra import Polyhedron, of_hull, polyhedron, unposed

_CORNERS = 40  # a part with more corners is replaced by a simpler polyhedron within it
_DIRECTIONS = np.array([way for way in product((-1, 0, 1), repeat=3) if any(way)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ConvexPart:
    """A convex part of the hand or of an obstacle.

    Attributes:
        name: name of the link, body or item.
        solid: its polyhedron: in the grasp frame T for the hand, in the world for an obstacle.
        centre: centre of a ball around it (3,).
        radius: radius of that ball, metres.
        far: largest distances (m) of its points from the origin and from the y axis.
    """

    name: str
    solid: Polyhedron
    centre: Array
    radius: float
    far: tuple[float, float]


def convex_part(name: str, solid: Polyhedron) -> ConvexPart:
    """The part with this polyhedron, or with a simpler one within it if it has many corners."""
    if len(solid.vertices) > _CORNERS and len(solid.normals) > _CORNERS:
        # Keep the corners that are farthest in 26 directions.
        v = solid.vertices
        solid = of_hull(hull(v[np.unique((v @ _DIRECTIONS.T).argmax(axis=0))]))
    v = solid.vertices
    centre = 0.5 * (v.min(axis=0) + v.max(axis=0))
    radius = float(np.linalg.norm(v - centre, axis=1).max())
    farthest = float(np.linalg.norm(v, axis=1).max()), float(np.hypot(v[:, 0], v[:, 2]).max())
    return ConvexPart(name, solid, centre, radius, farthest)


@lru_cache(maxsize=64)
def hand_parts(robot: RobotModel, opening: float) -> tuple[ConvexPart, ...]:
    """The parts of the hand, in the grasp frame T.

    These are the fingers, the palm, and the links that are rigid with it or move with the fingers.

    Args:
        opening: distance of each finger from the middle, metres.
    """
    q = np.zeros(robot.size)
    q[robot.slice("fingers")] = robot.fingers_at(opening)
    tree = read_tree(robot.urdf, robot.joints)
    X_TW = inverse(tree.link_pose(robot.palm, q) @ transform(None, robot.p_HT))
    parts = []
    for shape in link_shapes(robot.urdf):
        if shape.link in robot.hand_links:
            solid = of_link_shape(shape, X_TW @ tree.link_pose(shape.link, q) @ shape.X_LS)
            parts.append(convex_part(shape.link, unposed(solid).moved(solid.X)))
    return tuple(parts)


def obstacles(
    context: PlanningContext, state: State, but: Collection[str] = (), about: Array | None = None
) -> list[ConvexPart]:
    """The parts of furniture and items in the world; items in hands are left out.

    Args:
        but: names of bodies and items to leave out.
        about: lowest and highest corner of a box (2, 3); shapes outside it are left out.
    """
    scene, in_hands, parts = context.scene, state.in_hands, []
    things = [(b.name, b.shapes, scene.body_pose(b.name, state.scene_q)) for b in scene.bodies]
    for k, item in enumerate(scene.items):
        if k not in in_hands:
            things.append((item.name, item.shapes, item_pose(scene, state, k, np.eye(4))))
    for name, shapes, X_WB in things:
        for shape in shapes:
            if name in but or not shape.collision:
                continue
            if about is not None and shape.kind != "mesh":
                low, high = shape.bounds(X_WB)
                if (low > about[1]).any() or (high < about[0]).any():
                    continue
            parts.append(convex_part(name, polyhedron(shape).moved(X_WB)))
    return parts


def overlaps(part: ConvexPart, X_WT: Array, other: ConvexPart) -> Array:
    """How deep (m) a part of the hand at poses X_WT (n, 4, 4) penetrates an obstacle: (n,).

    0 where they are apart.
    """
    depth = np.zeros(len(X_WT))
    # Only where the ball around the part meets the obstacle's bounding box.
    low, high = other.solid.box
    at = X_WT[:, :3, :3] @ part.centre + X_WT[:, :3, 3]
    near = np.flatnonzero(np.linalg.norm(at - np.clip(at, low, high), axis=1) < part.radius)
    if len(near):
        ensure(REACH)
        from galley.skills.manipulation.hand_kernel import depths

        deep = np.empty(len(near))
        depths(*part.solid.arrays, np.ascontiguousarray(X_WT[near]), *other.solid.arrays, deep)
        depth[near] = deep
    return depth


def overlapping(
    robot: RobotModel, others: Sequence[ConvexPart], touched: str, X_WT: Array, opening: float
) -> NDArray[np.bool_]:
    """Whether the hand overlaps an obstacle at each pose X_WT (n, 4, 4): (n,).

    Args:
        others: the obstacles, from ``obstacles``.
        touched: name of the body or item that the fingers may touch.
        opening: distance of each finger from the middle, metres.
    """
    hit = np.zeros(len(X_WT), dtype=bool)
    if not others:
        return hit
    low, high = np.array([other.solid.box for other in others]).transpose(1, 0, 2)
    for part in hand_parts(robot, opening):
        at = (X_WT[:, :3, :3] @ part.centre + X_WT[:, :3, 3])[:, None]
        near = ((at - np.clip(at, low, high)) ** 2).sum(axis=2) < part.radius**2
        for k in np.flatnonzero(near.any(axis=0)).tolist():
            if others[k].name != touched or part.name not in robot.fingers:
                rows = np.flatnonzero(near[:, k] & ~hit)
                hit[rows] = overlaps(part, X_WT[rows], others[k]) > 0.0
    return hit


def hand_bounds(robot: RobotModel, p_WT: Array) -> Array:
    """A box (2, 3) that holds the hand with its grasp centre at any of the points p_WT (n, 3)."""
    reach = max(part.far[0] for part in hand_parts(robot, robot.gripper.open))
    return np.array([p_WT.min(axis=0) - reach, p_WT.max(axis=0) + reach])
