"""Lines of sight: is there anything between a camera and what it should show?

Furniture counts as its boxes (a cylinder or sphere as the box round it), the robot as capsules
along its links. Simple shapes, and whole arrays of rays at a time: no engine is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from galley.domain.frames import Array, inverse
from galley.domain.scene.model import Scene

LINK_RADIUS = 0.09  # m, about that of the arm's links
_FAR = 1e9


@dataclass(frozen=True)
class Boxes:
    """Oriented boxes: X_BW (k, 4, 4) takes the world into each box's frame; halves (k, 3)."""

    X_BW: Array
    halves: Array

    def hit(self, starts: Array, ends: Array) -> Array:
        """Whether each segment (r, 3)-(r, 3) passes through any box: (r,) of 0.0 or 1.0."""
        blocked = np.zeros(len(starts))
        for X, half in zip(self.X_BW, self.halves, strict=True):
            a = starts @ X[:3, :3].T + X[:3, 3]
            d = ends @ X[:3, :3].T + X[:3, 3] - a
            # The slab test: where the segment enters and leaves each pair of faces.
            with np.errstate(divide="ignore", invalid="ignore"):
                t0, t1 = (-half - a) / d, (half - a) / d
            inside = np.abs(a) <= half
            parallel = np.abs(d) < 1e-12
            low = np.where(parallel, np.where(inside, -_FAR, _FAR), np.minimum(t0, t1)).max(axis=1)
            high = np.where(parallel, np.where(inside, _FAR, -_FAR), np.maximum(t0, t1)).min(axis=1)
            blocked[(low <= high) & (high >= 0.0) & (low <= 1.0)] = 1.0
        return blocked

    def distance(self, points: Array) -> Array:
        """Distance (r,) from points (r, 3) to the nearest box, 0 inside, metres."""
        nearest = np.full(len(points), _FAR)
        for X, half in zip(self.X_BW, self.halves, strict=True):
            p = points @ X[:3, :3].T + X[:3, 3]
            gap = np.linalg.norm(np.maximum(np.abs(p) - half, 0.0), axis=1)
            nearest = np.minimum(nearest, gap)
        return nearest


def furniture_boxes(scene: Scene, scene_q: Array) -> Boxes:
    """The furniture's shapes as boxes, with drawers and doors at scene_q (nj,)."""
    poses, halves = [], []
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, scene_q)
        for shape in body.shapes:
            if shape.collision and shape.kind != "mesh":
                poses.append(inverse(X_WB @ shape.X_BS))
                halves.append(shape.half_extents)
    return Boxes(np.array(poses).reshape(-1, 4, 4), np.array(halves).reshape(-1, 3))


def segment_distance(starts: Array, ends: Array, a: Array, b: Array) -> Array:
    """Distance (r,) of each segment starts-ends (r, 3) from the segment a-b (3,), metres.

    By clamping, after V. Lumelsky, On fast computation of distance between line segments, 1985.
    """
    d1, d2 = ends - starts, b - a
    r = starts - a
    A = np.maximum((d1 * d1).sum(axis=1), 1e-12)
    E = max(float(d2 @ d2), 1e-12)
    B, C, F = d1 @ d2, (d1 * r).sum(axis=1), r @ d2
    denominator = A * E - B * B
    safe = np.where(denominator > 1e-12, denominator, 1.0)
    s = np.where(denominator > 1e-12, np.clip((B * F - C * E) / safe, 0.0, 1.0), 0.0)
    t = np.clip((B * s + F) / E, 0.0, 1.0)
    s = np.clip((B * t - C) / A, 0.0, 1.0)
    gap = (starts + s[:, None] * d1) - (a + t[:, None] * d2)
    return np.asarray(np.linalg.norm(gap, axis=1))


def sight(eyes: Array, target: Array, furniture: Boxes, links: Array) -> Array:
    """Which eyes (r, 3) see the target (3,): (r,) of 0.0 or 1.0.

    Args:
        eyes: points to look from, metres.
        target: what should be seen.
        furniture: what may stand in between.
        links: origins (m, 3) of the robot's links, from the base up; a capsule joins each two
            neighbours. Those within a hand's breadth of the target don't count: they are part of
            what is looked at.
    """
    # Stop short of the target, which may lie on a surface or in a hand.
    ends = eyes + 0.93 * (target - eyes)
    blocked = furniture.hit(eyes, ends)
    for a, b in pairwise(links):
        if min(np.linalg.norm(a - target), np.linalg.norm(b - target)) > 0.20:
            blocked[segment_distance(eyes, ends, a, b) < LINK_RADIUS] = 1.0
    return 1.0 - blocked
