"""How far a drawer or door can be moved before something stops it, the robot left out.

Shapes are convex polyhedra. Two are apart exactly where a face's normal, or the cross product of an
edge of each, has their projections apart (the separating axis theorem; Gottschalk, Lin and Manocha,
OBBTree, 1996). Boxes and meshes are what they are; cylinders and spheres are polyhedra within them,
at most 1 % of the radius smaller. So a contact that is found is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from galley.domain.frames import Array, transform
from galley.domain.meshes import Hull, hull
from galley.domain.scene.model import HAND, Joint, Scene, Shape
from galley.domain.state import State, item_pose
from galley.skills.solving.workbench import Workbench
from galley.worlds.kernel.arrays import BOX, CYLINDER, SPHERE
from galley.worlds.solids import Solid, of_shape

_SLACK = 0.001  # m, overlaps of furniture in its slot that are passed by
_DEEPER = 0.005  # m, pieces that overlap at the start are pushed this far to see which way is out
_STOP = 1e-5  # m, a turning door nearer than this to something has reached it
_SIDES = 24  # of the prism within a cylinder
_POINTS = 200  # of the polyhedron within a sphere
_PARALLEL = 1e-9  # a cross product this short has no direction


def free_travel(
    bench: Workbench, state: State, joint: str, include_items: bool, to: float
) -> tuple[float, str | None]:
    """The joint's value (m or rad) at which what it moves first meets something on its way.

    Pieces that touch as ``state`` has them (a drawer in its slot) count only if the way leads
    further into each other. Exact for drawers; a door is advanced by no more than its distance
    (conservative advancement; Mirtich 1996), so that nothing thin is passed.

    Args:
        joint: the name of the joint.
        include_items: whether items that stand about, and what lies in the drawer, count, and other
            drawers and doors as they stand; else only bodies that never move.
        to: the value to move to.

    Returns:
        ``to`` and None if the way is free; else the value at first contact, and the name of the
        body or item met, or of the item in the drawer that meets it.
    """
    scene = bench.scene
    moving_joint = scene.joint(joint)
    start = float(state.scene_q[scene.joint_index[joint]])
    moving, still = _parts(scene, state, joint, include_items)
    if abs(to - start) < 1e-12 or not moving or not still:
        return to, None
    meets = _slides if moving_joint.kind == "prismatic" else _turns
    way, blocker = meets(moving, still, moving_joint, to - start)
    if blocker is None:
        return to, None
    return start + way, blocker


@dataclass(frozen=True, eq=False)
class _Part:
    """A shape of a body or item in the world; its polyhedron is made when it is asked for."""

    name: str
    shape: Shape
    X: Array
    rider: str = ""  # its name too, if it is an item in the drawer: it could be taken out

    @cached_property
    def solid(self) -> Polyhedron:
        return polyhedron(self.shape).moved(self.X)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner (3,) of a box around it."""
        return self.shape.bounds(self.X)


def _parts(
    scene: Scene, state: State, joint: str, include_items: bool
) -> tuple[list[_Part], list[_Part]]:
    """What moves with the joint and what stands still."""
    moved = frozenset(scene.moved_by(joint))
    moving: list[_Part] = []
    still: list[_Part] = []
    for body in scene.bodies:
        own = body.name in moved
        if own or include_items or not scene.carried(body.name):
            X = scene.body_pose(body.name, state.scene_q)
            (moving if own else still).extend(_solid(body.name, body.shapes, X))
    if include_items:
        for k, item in enumerate(scene.items):
            placed = state.items[k]
            if placed.parent != HAND:
                X = item_pose(scene, state, k, np.eye(4))
                rides = placed.parent in moved
                parts = _solid(item.name, item.shapes, X)
                if rides:
                    moving += [replace(part, rider=item.name) for part in parts]
                else:
                    still += parts
    return moving, still


def _solid(name: str, shapes: Iterable[Shape], X: Array) -> list[_Part]:
    return [_Part(name, shape, X) for shape in shapes if shape.collision]


def _in_box(parts: list[_Part], low: Array, high: Array) -> list[_Part]:
    """The parts whose boxes overlap one."""
    return [p for p in parts if (p.box[0] <= high).all() and (p.box[1] >= low).all()]


def _slides(
    moving: list[_Part], still: list[_Part], joint: Joint, way: float
) -> tuple[float, str | None]:
    """How far (m, signed) the moving parts slide before the first contact, and with what."""
    u = joint.axis * np.sign(way)
    nearest, blocker = abs(way), None
    for part in moving:
        low, high = part.box
        reached = u * nearest
        for other in _in_box(still, low + np.minimum(reached, 0), high + np.maximum(reached, 0)):
            met = first_contact(part.solid, other.solid, u, _SLACK)
            if met == 0.0 and not _deeper(part.solid, other.solid, u):
                continue
            if met < nearest:
                nearest, blocker = met, part.rider or other.name
    return nearest * float(np.sign(way)), blocker


def _deeper(part: Polyhedron, other: Polyhedron, u: Array) -> bool:
    """Whether two that touch get further into each other on the way."""
    pushed = part.moved(transform(None, _DEEPER * u))
    return separation(pushed, other) < separation(part, other) - _SLACK


def _turns(
    moving: list[_Part], still: list[_Part], joint: Joint, way: float
) -> tuple[float, str | None]:
    """How far (rad, signed) the moving parts turn before the first contact, and with what."""
    sign = float(np.sign(way))
    nearest, blocker = abs(way), None
    for part in moving:
        along = (part.solid.vertices - joint.pivot) @ joint.axis
        arms = part.solid.vertices - joint.pivot - np.outer(along, joint.axis)
        radius = max(float(np.linalg.norm(arms, axis=1).max()), 1e-6)
        middles = joint.pivot + np.outer([along.min(), along.max()], joint.axis)
        low, high = middles.min(axis=0) - radius, middles.max(axis=0) + radius
        for other in _in_box(still, low, high):
            # What overlaps already may stay as deep as it is.
            passes = max(_SLACK, _SLACK - separation(part.solid, other.solid))
            turned = 0.0
            while turned < nearest:
                at = part.solid.moved(joint.motion(sign * turned))
                gap = separation(at, other.solid) + passes
                if gap < _STOP:
                    nearest, blocker = turned, part.rider or other.name
                    break
                turned += gap / radius
    return nearest * sign, blocker


@dataclass(frozen=True)
class Polyhedron:
    """A convex polyhedron.

    Attributes:
        vertices: (v, 3), metres. normals: of its faces (f, 3), one of each opposite pair is enough.
        edges: directions of its edges (e, 3), likewise.
    """

    vertices: Array
    normals: Array
    edges: Array

    def moved(self, X: Array) -> Polyhedron:
        """The same one with its frame at X (4, 4)."""
        R = X[:3, :3].T
        return Polyhedron(self.vertices @ R + X[:3, 3], self.normals @ R, self.edges @ R)

    @property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner (3,) of the box around it."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)


def polyhedron(shape: Shape) -> Polyhedron:
    """A scene's shape, in the frame of its body."""
    solid = of_shape(shape)
    return _unposed(solid).moved(solid.X)


def separation(a: Polyhedron, b: Polyhedron) -> float:
    """The widest gap (m) along any axis: at most their distance; below 0 minus their depth."""
    low_a, high_a, low_b, high_b = _projections(a, b, _axes(a, b))
    return float(np.maximum(low_b - high_a, low_a - high_b).max())


def first_contact(a: Polyhedron, b: Polyhedron, u: Array, slack: float) -> float:
    """How far ``a`` slides along the unit vector u (3,) until it meets ``b``; inf if it doesn't.

    0 if they touch at the start and ``a`` goes on into ``b``.

    Args:
        slack: m, overlaps up to this depth count as passing by, not as meeting.
    """
    axes = _axes(a, b)
    low_a, high_a, low_b, high_b = _projections(a, b, axes)
    rate = axes @ u
    if not _meets(low_a + slack, high_a - slack, low_b, high_b, rate)[0] < np.inf:
        return np.inf
    start, end = _meets(low_a, high_a, low_b, high_b, rate)
    return max(0.0, start) if start < end else np.inf


def _meets(
    low_a: Array, high_a: Array, low_b: Array, high_b: Array, rate: Array
) -> tuple[float, float]:
    """From where to where moving intervals overlap on all axes; (inf, inf) if never ahead."""
    still = np.abs(rate) < _PARALLEL
    if (still & ((high_a <= low_b) | (low_a >= high_b))).any():
        return np.inf, np.inf
    speed = np.where(still, 1.0, rate)
    ends = np.stack([(low_b - high_a) / speed, (high_b - low_a) / speed])
    start = np.where(still, -np.inf, ends.min(axis=0)).max()
    end = np.where(still, np.inf, ends.max(axis=0)).min()
    if start >= end or end <= 0.0:
        return np.inf, np.inf
    return float(start), float(end)


def _axes(a: Polyhedron, b: Polyhedron) -> Array:
    crossed = np.cross(a.edges[:, None], b.edges[None]).reshape(-1, 3)
    length = np.linalg.norm(crossed, axis=1)
    crossed = crossed[length > 1e-6] / length[length > 1e-6, None]
    return np.concatenate([a.normals, b.normals, crossed])


def _projections(a: Polyhedron, b: Polyhedron, axes: Array) -> tuple[Array, Array, Array, Array]:
    on_a, on_b = axes @ a.vertices.T, axes @ b.vertices.T
    return on_a.min(axis=1), on_a.max(axis=1), on_b.min(axis=1), on_b.max(axis=1)


def _unposed(solid: Solid) -> Polyhedron:
    if solid.kind == BOX:
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
        return Polyhedron(signs * solid.size, np.eye(3), np.eye(3))
    if solid.kind == CYLINDER:
        angle = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
        ring = solid.size[0] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        half = np.full(_SIDES, solid.size[1])
        vertices = np.concatenate([np.column_stack([ring, -half]), np.column_stack([ring, half])])
        sides = np.roll(ring, -1, axis=0) - ring
        sides = sides[: _SIDES // 2] / np.linalg.norm(sides[0])
        flat = np.zeros(len(sides))
        up = np.array([[0.0, 0.0, 1.0]])
        normals = np.concatenate([up, np.column_stack([sides[:, 1], -sides[:, 0], flat])])
        return Polyhedron(vertices, normals, np.concatenate([up, np.column_stack([sides, flat])]))
    if solid.kind == SPHERE:
        # A Fibonacci lattice: points spread evenly over the sphere.
        k = np.arange(_POINTS) + 0.5
        z, angle = 1.0 - 2.0 * k / _POINTS, np.pi * (1.0 + 5.0**0.5) * k
        r = np.sqrt(1.0 - z * z)
        ball = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
        return _of_hull(hull(solid.size[0] * ball))
    assert solid.hull is not None
    return _of_hull(solid.hull)


def _of_hull(shape: Hull) -> Polyhedron:
    """Its edges are where two faces share two corners."""
    touching = np.abs(shape.vertices @ shape.normals.T - shape.offsets) < 1e-7
    shared = touching.T.astype(np.int64) @ touching.astype(np.int64)
    i, j = np.nonzero(np.triu(shared >= 2, k=1))
    edges = np.cross(shape.normals[i], shape.normals[j])
    length = np.linalg.norm(edges, axis=1)
    keep = length > 1e-6
    return Polyhedron(shape.vertices, shape.normals, edges[keep] / length[keep, None])
