"""Opposed surfaces of an item of several parts, between which two fingers may close.

A bounding box says nothing of such an item's grasps. Its parts are convex; each is approximated by
a polyhedron within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, transform
from galley.domain.meshes import hull
from galley.domain.scene.model import Item, Shape
from galley.robots.model import Gripper
from galley.skills.manipulation.hand import convex_part, overlaps
from galley.skills.manipulation.manipulation import RETREAT
from galley.skills.solving.polyhedra import Polyhedron, of_hull, polyhedron

CLEARANCE = 0.006  # m between each finger and the item when it opens narrowly
_FLAT = 0.001  # m, a pad rests on what lies this near to the first point that it meets
_STEEPEST = np.radians(20.0)  # between a pad and the surface below its middle; far within friction
_ALIKE = float(np.cos(np.radians(10.0)))  # closing directions of a mesh nearer than this are one
TOUCHING = 0.0005  # m that a finger may overlap a part beside the surface that it touches


@dataclass(frozen=True)
class OpposedSurfaces:
    """Two surfaces that face away from each other.

    Attributes:
        X_IO: a frame in the item's (4, 4): y is the closing direction, and the origin the middle.
        sides: extent of their overlap along x and z, and their distance along y, metres (3,).
        turned: whether any direction across z will do as y: the sides of a round part.
        parts: which of the item's solid shapes has the surface at the end of y, and which the
            other.
    """

    X_IO: Array
    sides: Array
    turned: bool
    parts: tuple[int, int]


def composite(item: Item) -> bool:
    """Whether an item is more than one box, cylinder or sphere that its bounding box describes."""
    solid = _solid(item)
    return len(solid) > 1 or any(
        np.abs(s.X_BS[:3, 3]).max() > 1e-6 or not _along_axes(s) for s in solid if s.kind != "mesh"
    )


def _solid(item: Item) -> list[Shape]:
    return [shape for shape in item.shapes if shape.collision]


def _along_axes(shape: Shape) -> bool:
    """Whether the bounding box touches the shape with its whole sides."""
    axes = np.abs(shape.X_BS[:3, :3]).max(axis=0) > 1.0 - 1e-9
    return bool(shape.kind == "sphere" or (axes[2] and (shape.kind == "cylinder" or axes.all())))


@lru_cache(maxsize=256)
def _polyhedra(item: Item) -> tuple[Polyhedron, ...]:
    return tuple(polyhedron(shape) for shape in _solid(item))


@lru_cache(maxsize=256)
def opposed_surfaces(
    item: Item, up: tuple[float, float, float], gripper: Gripper
) -> tuple[OpposedSurfaces, ...]:
    """All pairs of surfaces that fit between the fingers, the nearest to the item's middle first.

    Not those that another part covers, nor an upright item's underside.

    Args:
        item: the item.
        up: the vertical in the item's frame.
        gripper: the fingers.
    """
    found = [each for way in _directions(item) for each in _across(item, way, up, gripper)]
    for k, shape in enumerate(_solid(item)):
        if shape.kind in ("cylinder", "sphere") and 2.0 * shape.size[0] <= gripper.widest:
            X = shape.X_BS if shape.kind == "cylinder" else transform(None, shape.X_BS[:3, 3])
            sides = 2.0 * shape.half_extents
            found.append(OpposedSurfaces(frozen(X), sides, True, (k, k)))
    return tuple(sorted(found, key=lambda o: float(np.linalg.norm(o.X_IO[:3, 3]))))


def _directions(item: Item) -> list[Array]:
    """Normals (3,) of the parts' flat faces, one of each parallel pair."""
    found: list[Array] = []
    for shape, solid in zip(_solid(item), _polyhedra(item), strict=True):
        axes, nearest = shape.X_BS[:3, :3].T, 1.0 - 1e-9
        if shape.kind == "mesh":
            axes, nearest = np.concatenate([axes, solid.normals]), _ALIKE
        for n in axes[{"cylinder": slice(2, 3), "sphere": slice(0)}.get(shape.kind, slice(None))]:
            if all(abs(n @ other) < nearest for other in found):
                found.append(n)
    return found


def _across(
    item: Item, y: Array, up: tuple[float, float, float], gripper: Gripper
) -> list[OpposedSurfaces]:
    """Those that face along the unit vector y (3,) and against it."""
    solids = _polyhedra(item)
    z = np.array(up) - y * (y @ up)
    lies_flat = float(np.linalg.norm(z)) < 1e-6  # between the fingers, one is below
    z = np.eye(3)[np.argmin(np.abs(y))] if lies_flat else z
    z = z - y * (y @ z)
    R = np.stack([np.cross(y, z), y, z], axis=1) / [np.linalg.norm(z), 1.0, np.linalg.norm(z)]
    shapes = zip(_solid(item), solids, strict=True)
    ends = [[_facing(*each, way * y) @ R for way in (1.0, -1.0)] for each in shapes]
    top = [float((solid.vertices @ y).max()) for solid in solids]
    bottom = [float((solid.vertices @ y).min()) for solid in solids]
    boxes = [[(p[:, ::2].min(axis=0), p[:, ::2].max(axis=0)) for p in each] for each in ends]
    under = -float(item.size[2]) / 2.0 + gripper.to_finger
    found = []
    for a, b in np.ndindex(len(solids), len(solids)):
        width = top[a] - bottom[b]
        if not _FLAT < width <= gripper.widest:
            continue
        if lies_flat and up[2] > 1.0 - 1e-6 and min(bottom[b] * y[2], top[a] * y[2]) < under:
            continue
        (low_a, high_a), (low_b, high_b) = boxes[a][0], boxes[b][1]
        low, high = np.maximum(low_a, low_b), np.minimum(high_a, high_b)
        if (high - low < np.minimum(_FLAT, np.minimum(high_a - low_a, high_b - low_b))).any():
            continue
        corners = (
            np.array([[x, 0.0, z] for x in (low[0], high[0]) for z in (low[1], high[1])]) @ R.T
        )
        if any(_within(s, corners + (top[a] + _FLAT) * y) for s in solids) or any(
            _within(s, corners + (bottom[b] - _FLAT) * y) for s in solids
        ):
            continue
        middle = 0.5 * np.array([low[0] + high[0], top[a] + bottom[b], low[1] + high[1]])
        sides = np.array([high[0] - low[0], width, high[1] - low[1]])
        found.append(OpposedSurfaces(frozen(transform(R, R @ middle)), sides, False, (a, b)))
    return found


def _facing(shape: Shape, solid: Polyhedron, y: Array) -> Array:
    """Vertices (n, 3) of the surface on which a pad that comes against y (3,) may rest."""
    level = solid.vertices @ y
    rests = level > level.max() - _FLAT
    if shape.kind == "mesh":  # it may taper
        on = solid.vertices @ solid.normals[solid.normals @ y > np.cos(_STEEPEST)].T
        rests |= (on > on.max(axis=0) - 1e-7).any(axis=1)
    return np.asarray(solid.vertices[rests])


def _within(solid: Polyhedron, points: Array) -> bool:
    """Whether all points (n, 3) lie in a polyhedron."""
    own, on = solid.vertices @ solid.normals.T, points @ solid.normals.T
    return bool(((on >= own.min(axis=0)) & (on <= own.max(axis=0))).all())


def all_found(item: Item, widest: float) -> bool:
    """Whether a composite surely has no more surfaces, at most so far apart (m), than were found.

    A mesh or a sphere may: only some of the ways that it faces are looked at.
    """
    solid = [s for s in _solid(item) if s.kind in ("mesh", "sphere")]
    hulls = [hull(s.points) if s.points is not None else None for s in solid]
    balls = [
        float(s.size[0]) if h is None else -float(h.distance(h.centre))
        for s, h in zip(solid, hulls, strict=True)
    ]
    return all(2.0 * radius > widest for radius in balls)


def closed_on(
    item: Item, X_IT: Array, width: float, parts: tuple[int, int]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Grasps (n, 4, 4) put in the middle of the surfaces behind the pads, and their widths (n,).

    And which of them have a surface behind the middle of both pads that is not too steep.
    """
    y = X_IT[:, :3, 1]
    ends = [
        _end(_polyhedra(item)[k], X_IT[:, :3, 3], s * y)
        for k, s in zip(parts, (1, -1), strict=True)
    ]
    flat = [(np.abs(t - width / 2.0) < _FLAT) for t, _ in ends]
    good = np.all(
        [f | (up > np.cos(_STEEPEST)) for f, (_, up) in zip(flat, ends, strict=True)], axis=0
    )
    top, bottom = (np.where(f, width / 2.0, t) for f, (t, _) in zip(flat, ends, strict=True))
    X_IT = X_IT.copy()
    with np.errstate(invalid="ignore"):
        X_IT[:, :3, 3] += 0.5 * (top - bottom)[:, None] * y
    return X_IT, top + bottom, good & (top + bottom > _FLAT)


def _end(solid: Polyhedron, p: Array, y: Array) -> tuple[Array, Array]:
    """How far (n,) lines from points p (n, 3) along y (n, 3) stay in a solid; -inf: not at all.

    And the cosine of the angle between the line and the surface's normal there.
    """
    own, at, rate = (v @ solid.normals.T for v in (solid.vertices, p, y))
    speed = np.where(np.abs(rate) < 1e-9, 1e-9, rate)
    t = np.stack([(own.min(axis=0) - at) / speed, (own.max(axis=0) - at) / speed])
    leaves, enters = t.max(axis=0), t.min(axis=0).max(axis=1)
    last = leaves.argmin(axis=1)
    row = np.arange(len(p))
    end = np.where(enters < leaves[row, last], leaves[row, last], -np.inf)
    return end, np.abs(rate[row, last])


def fingers_clear(
    item: Item,
    X_IT: Array,
    closed: float,
    opened: float,
    gripper: Gripper,
    parts: tuple[int, int] = (-1, -1),
) -> NDArray[np.bool_]:
    """Which grasps (n, 4, 4) leave the fingers room beside the item on their way and as they close.

    Args:
        item, X_IT: the grasps. gripper: the fingers.
        closed, opened: between the fingers, metres.
        parts: the solid shapes not to look at: at the end of y, and opposite.
    """
    clear = np.ones(len(X_IT), dtype=bool)
    x, z = (-gripper.pad, gripper.pad), (-gripper.to_palm - RETREAT, gripper.pad)
    for part, way in zip(parts, (0.5, -0.5), strict=True):
        y = way * np.array([closed, opened + 4.0 * gripper.to_finger])
        finger = convex_part("", of_hull(hull(np.stack(np.meshgrid(x, y, z), -1).reshape(8, 3))))
        for k, solid in enumerate(_polyhedra(item)):
            if k != part:
                clear &= overlaps(finger, X_IT, convex_part("", solid)) <= TOUCHING
    return clear


def widest_opening(item: Item, X_IT: Array, width: float, gripper: Gripper) -> float:
    """How far apart (m) the fingers may be at a grasp (4, 4) as they come or go."""
    narrow = min(gripper.opening, width + 2.0 * CLEARANCE)
    if not composite(item) or fingers_clear(item, X_IT[None], narrow, gripper.opening, gripper)[0]:
        return gripper.opening
    return narrow
