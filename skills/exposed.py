"""The part of a drawer's inside that an open drawer sticks out with: what is open to above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from galley.domain.frames import Array, frozen, inverse
from galley.domain.scene import Region, Scene, Shape
from galley.domain.state import State

HEADROOM = 0.20  # m above a volume that the hand needs
_LEAST = 0.02  # m, a narrower strip holds nothing


def exposed(scene: Scene, state: State, region: Region) -> Region | None:
    """The rectangles of a volume above which no furniture stands within HEADROOM.

    The largest rectangles that the boxes around what hangs over the volume leave: they may
    overlap each other. None if nothing does (all of it is exposed), if nothing is left, or if the
    region is a surface.
    """
    if region.kind != "volume":
        return None
    lower, upper = region.boxes[0]
    X_BW = inverse(scene.body_pose(region.body, state.scene_q))
    own = _moving_with(scene, region.body)
    rectangles = [(lower[:2], upper[:2])]
    covered = False
    for body in scene.bodies:
        if body.name in own:
            continue
        X_BS = X_BW @ scene.body_pose(body.name, state.scene_q)
        for shape in body.shapes:
            if not shape.collision or shape.kind == "mesh":
                continue
            low, high = _box(shape, X_BS)
            if low[2] < lower[2] + 1e-6 or low[2] > upper[2] + HEADROOM:
                continue
            if any((high[:2] > a).all() and (low[:2] < b).all() for a, b in rectangles):
                covered = True
                rectangles = [r for old in rectangles for r in _without(old, low[:2], high[:2])]
    if not covered or not rectangles:
        return None
    boxes = [[[*low, float(lower[2])], [*high, float(upper[2])]] for low, high in rectangles]
    return replace(region, boxes=frozen(np.array(boxes)))


def _moving_with(scene: Scene, body: str) -> frozenset[str]:
    """The bodies that the joint nearest to a body carries along with it; itself if none does."""
    joints = (scene.body(name).joint for name in scene.chain(body))
    joint = next((name for name in joints if name is not None), None)
    return frozenset((body,) if joint is None else scene.moved_by(joint))


def _box(shape: Shape, X: Array) -> tuple[Array, Array]:
    """Corners (3,), (3,) of the box around a shape whose body is at X (4, 4)."""
    X_S = X @ shape.X_BS
    half = np.abs(X_S[:3, :3]) @ shape.half_extents
    return X_S[:3, 3] - half, X_S[:3, 3] + half


def _without(rectangle: tuple[Array, Array], low: Array, high: Array) -> list[tuple[Array, Array]]:
    """The largest rectangles that one from low to high leaves of a rectangle (low, high)."""
    mine_low, mine_high = rectangle
    if (high <= mine_low).any() or (low >= mine_high).any():
        return [rectangle]
    left = []
    for axis in range(2):
        for below in (True, False):
            part_low, part_high = mine_low.copy(), mine_high.copy()
            if below:
                part_high[axis] = min(part_high[axis], low[axis])
            else:
                part_low[axis] = max(part_low[axis], high[axis])
            if part_high[axis] - part_low[axis] >= _LEAST:
                left.append((part_low, part_high))
    return left
