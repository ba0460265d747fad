"""Continuous families of grasps with one closing direction.

Most of this file makes the families of composite items, for which the bounding box is no guide:
there the fingers close on surfaces of the parts that face away from each other. The parts are
convex; each is approximated by a polyhedron within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, transform
from galley.domain.meshes import hull
from galley.domain.scene.model import Item, Shape
from galley.domain.scene.robot_file import Spacing
from galley.robots.model import Gripper
from galley.skills.manipulation.hand import ConvexPart, convex_part, overlaps
from galley.skills.manipulation.polyhedra import Polyhedron, of_hull, polyhedron

_WAY = Spacing().retreat  # m, length of the path on which fingers that come to an item need room
CLEARANCE = 0.006  # m between each finger and the item when it opens narrowly
_FLAT = 0.001  # m, a pad rests on all points this near to the first that it meets
_STEEPEST = np.radians(20.0)  # between a pad and the surface below it; far within friction
_ALIKE = float(np.cos(np.radians(10.0)))  # closing directions of a mesh nearer than this are one
TOUCHING = 0.0005  # m that a finger may overlap parts other than the one that it touches


@dataclass(frozen=True)
class GraspFamily:
    """All grasps of an item with one closing direction, turned about z if the item is round.

    The hand points in a range of directions across the closing direction; the grasp centre lies
    anywhere in the item's box in that plane, deep enough for the pads.

    Attributes:
        R_IF: the family's frame in the item's (3, 3): y is the closing direction; the hand points
            along -z at lean 0 and along x at lean 90 degrees.
        half: largest offset (m) of the grasp centre from the item's centre, along x and z.
        lean: range of the lean, rad.
        turn: range of the turn about the item's z axis, from 0 to this, rad.
        width: width of the item between the fingers, metres.
        X_IO: the frame O (4, 4) that takes the place of the item's frame above; the item's own,
            except for a part of a composite item.
        parts: for a composite item, indices of the solid shapes that the fingers touch.
    """

    R_IF: Array
    half: tuple[float, float]
    lean: tuple[float, float]
    turn: float
    width: float
    X_IO: Array = field(default_factory=lambda: np.eye(4))
    parts: tuple[int, int] = (-1, -1)

    def poses(self, cells: Array) -> Array:
        """Grasp poses X_OT (n, 4, 4) for rows (n, 4) of turn, lean (rad), x and z (m).

        x and z are the offsets of the grasp centre in the family's frame.
        """
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


@lru_cache(maxsize=256)
def _polyhedra(item: Item) -> tuple[Polyhedron, ...]:
    """A polyhedron for each solid shape of an item, in the item's frame; cached."""
    return tuple(polyhedron(shape) for shape in item.solid)


@lru_cache(maxsize=256)
def _convex_parts(item: Item) -> tuple[ConvexPart, ...]:
    """The same as convex parts, for the hand's overlap check."""
    return tuple(convex_part("", solid) for solid in _polyhedra(item))


@lru_cache(maxsize=256)
def composite_families(
    item: Item, up: tuple[float, float, float], gripper: Gripper
) -> tuple[GraspFamily, ...]:
    """The families of a composite item: on all pairs of surfaces that face away from each other.

    Surfaces that another part covers are left out, and so is the underside of an upright item. The
    families nearest to the item's middle come first.

    Args:
        item: the item.
        up: the vertical in the item's frame.
        gripper: the fingers.
    """
    families = [
        family for y in _directions(item) for family in _across(item, y, np.array(up), gripper)
    ]
    # A cylinder or sphere can also be held across its curved side, at any turn.
    for k, shape in enumerate(item.solid):
        if shape.kind in ("cylinder", "sphere") and 2.0 * shape.size[0] <= gripper.widest:
            X_IO = shape.X_BS if shape.kind == "cylinder" else transform(None, shape.X_BS[:3, 3])
            lean = np.pi / 2.0 if np.dot(up, X_IO[:3, 2]) > 1.0 - 1e-6 else np.pi
            families += _both_ways(X_IO, 2.0 * shape.half_extents, lean, np.pi, (k, k), gripper)
    return tuple(sorted(families, key=lambda family: float(np.linalg.norm(family.X_IO[:3, 3]))))


def _both_ways(
    X_IO: Array, sides: Array, lean: float, turn: float, parts: tuple[int, int], gripper: Gripper
) -> list[GraspFamily]:
    """Two families, both ways round, that close along y of X_IO (4, 4).

    Args:
        sides: sides (3,) of the box between the two surfaces, in the frame O.
    """
    half = np.maximum(0.0, sides / 2.0 - gripper.pad)
    within, leans, width = (float(half[0]), float(half[2])), (-lean, lean), float(sides[1])
    ways = ((1.0, parts), (-1.0, (parts[1], parts[0])))
    return [
        GraspFamily(np.diag([w, w, 1.0]), within, leans, turn, width, frozen(X_IO), touched)
        for w, touched in ways
    ]


def _directions(item: Item) -> list[Array]:
    """Normals (3,) of the parts' flat faces, one of each parallel pair: closing directions."""
    normals: list[Array] = []
    for shape, solid in zip(item.solid, _polyhedra(item), strict=True):
        axes, alike = shape.X_BS[:3, :3].T, 1.0 - 1e-9
        if shape.kind == "mesh":
            axes, alike = np.concatenate([axes, solid.normals]), _ALIKE
        for n in axes[{"cylinder": 2, "sphere": 3}.get(shape.kind, 0) :]:
            if all(abs(n @ other) < alike for other in normals):
                normals.append(n)
    return normals


def _across(item: Item, y: Array, up: Array, gripper: Gripper) -> Iterator[GraspFamily]:
    """The families that close along the unit vector y (3,).

    For each pair of parts, one on each side, the overlap of their faces seen along y is where the
    pads can rest. The pair is used if the faces are at most as far apart as the fingers open, and
    if no other part covers them.
    """
    flat = bool(abs(y @ up) > 1.0 - 1e-6)  # one finger is below
    z = np.eye(3)[np.abs(y).argmin()] if flat else up
    z = z - y * (y @ z)
    z = z / np.linalg.norm(z)
    R = np.stack([np.cross(y, z), y, z], axis=1)
    solids = _polyhedra(item)
    shapes = list(zip(item.solid, solids, strict=True))
    tops, bottoms = ([_facing(*some, way * y) @ R for some in shapes] for way in (1.0, -1.0))
    P, Q = (np.array([(p.min(axis=0), p.max(axis=0)) for p in some]) for some in (tops, bottoms))
    # Boxes (a, b) where face a of ``tops`` is opposite face b of ``bottoms``; y runs between them.
    low = np.maximum(P[:, None, 0], Q[:, 0])
    high = np.minimum(P[:, None, 1], Q[:, 1])
    low[..., 1], high[..., 1] = Q[:, 0, 1], P[:, None, 1, 1]
    sides, least = high - low, np.minimum(np.ptp(P, axis=1)[:, None], np.ptp(Q, axis=1))
    overlap = (sides >= np.minimum(_FLAT, least))[..., ::2].all(axis=2)
    fits = overlap & (sides[..., 1] > _FLAT) & (sides[..., 1] <= gripper.widest)
    for a, b in np.argwhere(fits).tolist():
        box = np.stack([low[a, b], high[a, b]])
        under = float((box[:, 1] * y[2]).min() + item.size[2] / 2.0)
        if flat and up[2] > 1.0 - 1e-6 and under < gripper.to_finger:
            continue  # there is no room for a finger under a standing item
        # A part that holds the whole pad area just beyond a face covers it.
        beyond = [np.meshgrid(box[:, 0], v, box[:, 2]) for v in box[:, 1] + (-_FLAT, _FLAT)]
        points = [np.reshape(mesh, (3, 4)).T @ R.T for mesh in beyond]
        if not any(_within(solid, some) for solid in solids for some in points):
            X_IO, lean = transform(R, R @ box.mean(axis=0)), np.pi if flat else np.pi / 2.0
            yield from _both_ways(X_IO, box[1] - box[0], lean, 0.0, (a, b), gripper)


def _facing(shape: Shape, solid: Polyhedron, y: Array) -> Array:
    """Vertices (n, 3) of the surface on which a pad that moves along -y (3,) may rest."""
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
    """Whether a composite item surely has no grasps besides those of its families.

    False if a mesh or a sphere might be held across in a direction that the families don't cover.
    That is excluded only if a ball wider than ``widest`` (m) fits into it.
    """
    each = zip(item.solid, _polyhedra(item), strict=True)
    some = [(p.vertices, p.normals) for s, p in each if s.kind in ("mesh", "sphere")]
    return all(((v - v.mean(axis=0)) @ n.T).max(axis=0).min() > widest / 2.0 for v, n in some)


def closed_on(item: Item, X_IT: Array, parts: tuple[int, int]) -> tuple[Array, Array]:
    """Grasps (n, 4, 4) centred between the surfaces that the pads meet, and their widths (n,).

    The width is -inf if the middle of a pad meets no surface, or a steep one.
    """
    y, (a, b) = X_IT[:, :3, 1], (_polyhedra(item)[k] for k in parts)
    top, bottom = _end(a, X_IT[:, :3, 3], y), _end(b, X_IT[:, :3, 3], -y)
    X_IT, width = X_IT.copy(), top + bottom
    aside = np.subtract(top, bottom, out=np.zeros(len(y)), where=width > 0.0)
    X_IT[:, :3, 3] += 0.5 * aside[:, None] * y
    return X_IT, width


def _end(solid: Polyhedron, p: Array, y: Array) -> Array:
    """How far (n,) lines from points p (n, 3) along y (n, 3) stay in a solid.

    -inf if a line misses the solid, or leaves it through a steep surface.
    """
    # Clip each line by the slab between each pair of parallel faces.
    own, at, rate = (v @ solid.normals.T for v in (solid.vertices, p, y))
    speed = np.where(np.abs(rate) < 1e-9, 1e-9, rate)
    t = np.stack([(own.min(axis=0) - at) / speed, (own.max(axis=0) - at) / speed])
    end, enters = t.max(axis=0).min(axis=1), t.min(axis=0).max(axis=1)
    flat = np.where(t.max(axis=0) < end[:, None] + 1e-9, np.abs(rate), 0.0).max(axis=1)
    return np.where((enters < end) & (flat > np.cos(_STEEPEST)), end, -np.inf)


def fingers_clear(
    item: Item,
    X_IT: Array,
    closed: float,
    opened: float,
    gripper: Gripper,
    parts: tuple[int, int] = (-1, -1),
) -> NDArray[np.bool_]:
    """Which grasps leave the fingers room beside the item, on their way and as they close: (n,).

    Args:
        item: the item.
        X_IT: the grasps (n, 4, 4).
        closed: distance between the fingers at the grasp, metres.
        opened: distance between them on the way, metres.
        gripper: the fingers.
        parts: indices of the solid shapes that the fingers may touch: the one at the end of y, and
            the one opposite.
    """
    clear = np.ones(len(X_IT), dtype=bool)
    x, z = (-gripper.pad, gripper.pad), (-gripper.to_palm - _WAY, gripper.pad)
    for part, way in zip(parts, (0.5, -0.5), strict=True):
        # The box that one finger sweeps, from where it comes from to where it closes.
        y = sorted((way * closed, way * (opened + 4.0 * gripper.to_finger)))
        finger = convex_part("", of_hull(hull(np.stack(np.meshgrid(x, y, z), -1).reshape(8, 3))))
        low, high = finger.solid.box
        for k, (shape, solid) in enumerate(zip(item.solid, _convex_parts(item), strict=True)):
            if k != part and shape.kind == "sphere":  # a polyhedron would be too small
                p_T = np.einsum("nij,ni->nj", X_IT[:, :3, :3], shape.X_BS[:3, 3] - X_IT[:, :3, 3])
                gap = np.linalg.norm(p_T - np.clip(p_T, low, high), axis=1)
                clear &= gap > shape.size[0] - TOUCHING
            elif k != part:
                clear &= overlaps(finger, X_IT, solid) <= TOUCHING
    return clear


def widest_opening(item: Item, X_IT: Array, width: float, gripper: Gripper) -> float:
    """How far apart (m) the fingers may be as they come to a grasp (4, 4), or leave it.

    Fully open if the item's other parts leave room for that, else just wider than the item.
    """
    narrow = min(gripper.opening, width + 2.0 * CLEARANCE)
    X_IT = gripper.centred(X_IT, width, -1.0)
    if gripper.opens_fully or not item.composite:
        return gripper.opening
    free = fingers_clear(item, X_IT[None], narrow, gripper.opening, gripper)[0]
    return gripper.opening if free else narrow
