"""Shapes as signed distance functions psi(p): metres, negative inside, gradient outward.

A point ``p`` is (x, y) in the shape's own frame. Sizes are leaves of a pytree, so distances,
points of the perimeter and moments can be differentiated with respect to them. Every derivative
is finite; at a kink (the centre of a circle, the diagonals of a box) it is one side's, or zero.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from galley.domain.parameters import LENGTH, Quantity
from galley.planar.geometry import polygon

_NUMBER = Quantity("m")


def is_traced(*trees: Any) -> bool:
    """Whether any leaf is a tracer of JAX: its value is unknown and can't be checked."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(trees))


def numbers(value: Any) -> Any:
    """A leaf in float64 as a NumPy array; tracers as they are."""
    return value if is_traced(value) else np.asarray(value, dtype=np.float64)


def checked(name: str, value: Any, quantity: Quantity, shape: tuple[int, ...] = ()) -> Any:
    """``value`` as a leaf, if its shape fits and its numbers are in bounds.

    Of a tracer only the shape is checked.

    Raises:
        ValueError: a number is out of bounds, or the shape differs; the message gives ``name``.
    """
    traced = is_traced(value)
    try:
        leaf = jnp.asarray(value) if traced else np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        leaf = np.asarray(quantity.checked(name, value))
    if leaf.shape != shape:
        raise ValueError(f"{name} = {value}: must be {shape or 'one number'}, is {leaf.shape}")
    for number in () if traced else leaf.ravel():
        quantity.checked(name, number)
    return leaf


def length(v: Array) -> Array:
    """|v| over the last axis, with gradient zero where v is zero."""
    square = jnp.sum(v * v, axis=-1)
    # The inner choice keeps the square root's gradient finite in the branch that isn't taken.
    return jnp.where(square > 0.0, jnp.sqrt(jnp.where(square > 0.0, square, 1.0)), 0.0)


def perpendicular(v: Array) -> Array:
    """``v`` (..., 2) turned by +90 degrees."""
    return jnp.stack([-v[..., 1], v[..., 0]], axis=-1)


def cross(a: Array, b: Array) -> Array:
    """The z component of a x b, (..., 2) each."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


class Shape2D(eqx.Module):
    """A region of the plane.

    Attributes:
        flat: whether it has straight edges. Between two flat shapes a virtual contact isn't unique.
    """

    flat: ClassVar[bool] = True

    @abstractmethod
    def distance(self, p: Array) -> Array:
        """Signed distance psi (m) of ``p`` (2,)."""

    def normal(self, p: Array) -> Array:
        """The gradient of psi at ``p`` (2,): the outward unit normal of the nearest edge."""
        slope: Array = jax.grad(self.distance)(p)
        return slope

    def perimeter(self, count: int) -> Array:
        """At least ``count`` points (n, 2) on the edge, with all corners; none if it is infinite.

        Their number depends only on ``count`` and the kind of shape.
        """
        return jnp.zeros((0, 2))

    def moments(self) -> tuple[Array, Array, Array]:
        """Area (m^2), centroid (2,) (m), and polar second moment about it per area (m^2).

        Raises:
            ValueError: there is no closed form for this kind of shape.
        """
        raise ValueError(
            f"{type(self).__name__}: its inertia isn't computed; give Body2D mass and inertia"
        )


class Circle(Shape2D):
    """A disc about the origin.

    Attributes:
        radius: m.
    """

    flat: ClassVar[bool] = False
    radius: Array

    def __init__(self, radius: Any) -> None:
        """A radius in m.

        Raises:
            ValueError: it isn't positive.
        """
        self.radius = checked("radius", radius, LENGTH)

    def distance(self, p: Array) -> Array:
        """Signed distance |p| - r (m) of ``p`` (2,)."""
        return length(p) - self.radius

    def perimeter(self, count: int) -> Array:
        """``count`` evenly spaced points (count, 2), m, the first at angle 0."""
        angle = 2.0 * np.pi * np.arange(count) / count
        return self.radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)

    def moments(self) -> tuple[Array, Array, Array]:
        """Area pi r^2, the origin, and r^2 / 2: see ``Shape2D.moments``."""
        return jnp.pi * self.radius**2, jnp.zeros(2), self.radius**2 / 2.0


class HalfPlane(Shape2D):
    """All points with n . p <= offset: ground, wall or ramp.

    Attributes:
        direction: outward normal n (2,), of any length.
        offset: m, of the edge from the origin along n.
    """

    direction: Array
    offset: Array

    def __init__(self, direction: Any = (0.0, 1.0), offset: Any = 0.0) -> None:
        """A direction (2,) and an offset in m.

        Raises:
            ValueError: the direction is zero, or a value isn't finite.
        """
        self.direction = checked("direction", direction, _NUMBER, (2,))
        self.offset = checked("offset", offset, _NUMBER)
        if not is_traced(direction) and not np.any(self.direction):
            raise ValueError("direction = (0, 0): must not be zero")

    def distance(self, p: Array) -> Array:
        """Signed distance n . p - offset (m) of ``p`` (2,), with the unit normal n."""
        return jnp.dot(p, self.direction) / length(jnp.asarray(self.direction)) - self.offset


def _along_edges(vertices: Array, count: int) -> Array:
    """At least ``count`` points on the edges (edges, k, 2), evenly from each vertex on."""
    per_edge = max(1, -(-count // len(vertices)))
    share = (jnp.arange(per_edge) / per_edge)[:, None]
    a, b = vertices[:, None], jnp.roll(vertices, -1, axis=0)[:, None]
    return a + share * (b - a)


def edges(vertices: Array) -> tuple[Array, Array]:
    """Edge vectors (n, 2) and outward unit normals (n, 2) of a polygon of either orientation."""
    edge = jnp.roll(vertices, -1, axis=0) - vertices
    turn = jnp.sign(jnp.sum(cross(vertices, vertices + edge)))  # +1: counter-clockwise
    return edge, -turn * perpendicular(edge) / length(edge)[:, None]


def _polygon_moments(vertices: Array) -> tuple[Array, Array, Array]:
    """Area, centroid and polar second moment per area of a polygon of either orientation.

    They are sums over triangles with the first vertex (Bourke, 1988).
    """
    a = vertices - vertices[0]
    b = jnp.roll(a, -1, axis=0)
    twice = cross(a, b)
    area = jnp.sum(twice) / 2.0
    centroid = jnp.sum(twice[:, None] * (a + b), axis=0) / (6.0 * area)
    second = jnp.sum(twice * jnp.sum(a * a + a * b + b * b, axis=1)) / (12.0 * area)
    return jnp.abs(area), centroid + vertices[0], second - jnp.sum(centroid**2)


class Box(Shape2D):
    """A rectangle about the origin, sides along the axes.

    Attributes:
        half_size: half of width and height (2,), m.
    """

    half_size: Array

    def __init__(self, half_size: Any) -> None:
        """Half of width and height in m.

        Raises:
            ValueError: one isn't positive.
        """
        self.half_size = checked("half_size", half_size, LENGTH, (2,))

    @property
    def vertices(self) -> Array:
        """The corners (4, 2), counter-clockwise."""
        return jnp.asarray([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]) * self.half_size

    def distance(self, p: Array) -> Array:
        """Signed distance (m) of ``p`` (2,), from the nearest side or corner."""
        # Comparisons instead of abs and max, which average the gradients of two equally near sides.
        beyond = jnp.where(p < 0.0, -p, p) - self.half_size
        inside = jnp.where(beyond[0] >= beyond[1], beyond[0], beyond[1])
        return jnp.where(inside > 0.0, length(jnp.maximum(beyond, 0.0)), inside)

    def perimeter(self, count: int) -> Array:
        """Corners, and points between them."""
        return _along_edges(self.vertices, count).reshape(-1, 2)

    def moments(self) -> tuple[Array, Array, Array]:
        """Area 4 a b, the origin, and (a^2 + b^2) / 3, with half sizes a and b."""
        h = jnp.asarray(self.half_size)
        return 4.0 * h[0] * h[1], jnp.zeros(2), jnp.sum(h**2) / 3.0


class Polygon(Shape2D):
    """A simple polygon, convex or concave.

    Attributes:
        vertices: (n, 2), m, of either orientation.
    """

    vertices: Array

    def __init__(self, vertices: Any) -> None:
        """Vertices (n, 2) in m.

        Raises:
            ValueError: fewer than three vertices, no area, or edges that cross or touch.
        """
        vertices = jnp.asarray(vertices) if is_traced(vertices) else vertices
        count = np.shape(vertices)[0] if np.ndim(vertices) == 2 else 0
        if count < 3:
            raise ValueError(f"vertices: must be (n, 2) with n >= 3, is {np.shape(vertices)}")
        self.vertices = checked("vertices", vertices, _NUMBER, (count, 2))
        if not is_traced(vertices):
            polygon.SimplePolygon(np.asarray(self.vertices))  # refuses what isn't simple

    def distance(self, p: Array) -> Array:
        """Signed distance (m) of ``p`` (2,) to the nearest edge.

        The sign of a corner is that of the sum of its edges' normals (Baerentzen and Aanaes,
        Signed Distance Computation Using the Angle Weighted Pseudonormal, 2005).
        """
        a = jnp.asarray(self.vertices)
        edge, normal = edges(a)
        share = jnp.sum((p - a) * edge, axis=1) / jnp.sum(edge * edge, axis=1)
        gap = p - a - jnp.clip(share, 0.0, 1.0)[:, None] * edge
        k = jnp.argmin(jnp.sum(gap * gap, axis=1))
        start = share[k] <= 0.0
        other = jnp.where(start, k - 1, (k + 1) % len(a))
        corner = gap[k]
        sign = jnp.where(jnp.dot(corner, normal[k] + normal[other]) < 0.0, -1.0, 1.0)
        on_edge = (share[k] > 0.0) & (share[k] < 1.0)
        straight = jnp.dot(p - a[k], normal[k])
        # At a corner itself the edge's own distance has the better gradient.
        at_corner = jnp.sum(corner * corner) == 0.0
        return jnp.where(on_edge | at_corner, straight, sign * length(corner))

    def perimeter(self, count: int) -> Array:
        """Corners, and points between them."""
        return _along_edges(jnp.asarray(self.vertices), count).reshape(-1, 2)

    def moments(self) -> tuple[Array, Array, Array]:
        """Moments of the region inside: see ``Shape2D.moments``."""
        return _polygon_moments(jnp.asarray(self.vertices))


def regular_polygon(sides: int, radius: float) -> Polygon:
    """A regular polygon with corners at ``radius`` (m), an edge facing down.

    Raises:
        ValueError: fewer than three sides, or the radius isn't positive.
    """
    LENGTH.checked("radius", radius)
    angle = -np.pi / 2.0 + (2.0 * np.arange(sides) + 1.0) * np.pi / max(sides, 1)
    return Polygon(radius * np.stack([np.cos(angle), np.sin(angle)], axis=1))


class Rounded(Shape2D):
    """A box or polygon grown by a radius, so that its corners are arcs.

    To the depth of the radius psi has no kink, so that virtual contacts can be found.

    Attributes:
        core: the box or polygon inside.
        radius: m.
    """

    core: Box | Polygon
    radius: Array

    def __init__(self, core: Box | Polygon, radius: Any) -> None:
        """A core and a radius in m.

        Raises:
            ValueError: the radius isn't positive.
        """
        self.core = core
        self.radius = checked("radius", radius, LENGTH)

    def distance(self, p: Array) -> Array:
        """Signed distance (m) of ``p`` (2,): psi of the core, minus the radius."""
        return self.core.distance(p) - self.radius

    def perimeter(self, count: int) -> Array:
        """Points of the edges, with their ends, and the middle of each arc.

        At a reflex corner the edges of the core end inside of the rounded shape.
        """
        vertices = jnp.asarray(self.core.vertices)
        edge, normal = edges(vertices)
        bisector = normal + jnp.roll(normal, 1, axis=0)
        bisector = bisector / length(bisector)[:, None]
        per_edge = max(2, -(-count // len(vertices)) - 1)
        share = jnp.linspace(0.0, 1.0, per_edge)[:, None]
        straight = vertices[:, None] + share * edge[:, None] + self.radius * normal[:, None]
        arcs = vertices + self.radius * bisector
        return jnp.concatenate([straight.reshape(-1, 2), arcs])


class Placed(eqx.Module):
    """A shape in the world.

    Attributes:
        shape: in its own frame B.
        position: p_W (2,) of the origin of B, m.
        rotation: R_WB (2, 2).
    """

    shape: Shape2D
    position: Array
    rotation: Array

    @classmethod
    def at(cls, shape: Shape2D, X_WB: Array) -> Placed:
        """A shape at a pose (x, y, angle)."""
        c, s = jnp.cos(X_WB[2]), jnp.sin(X_WB[2])
        # Without the barrier XLA computes them again at every use.
        c, s = lax.optimization_barrier((c, s))  # type: ignore[no-untyped-call]
        return cls(shape, X_WB[:2], jnp.stack([jnp.stack([c, -s]), jnp.stack([s, c])]))

    def to_world(self, p_B: Array) -> Array:
        """Points (..., 2) from B to W."""
        return self.position + p_B @ self.rotation.T

    def to_body(self, p_W: Array) -> Array:
        """Points (..., 2) from W to B."""
        return (p_W - self.position) @ self.rotation

    def distance(self, p_W: Array) -> Array:
        """Signed distance (m) of a point (2,)."""
        return self.shape.distance(self.to_body(p_W))

    def surface(self, p_W: Array) -> tuple[Array, Array]:
        """Signed distance (m) of a point p_W (2,), and its gradient (2,) in W."""
        psi, slope = jax.value_and_grad(self.shape.distance)(self.to_body(p_W))
        return psi, self.rotation @ slope

    def hessian(self, p_W: Array) -> Array:
        """The second derivative (2, 2) of the signed distance, 1/m, in W."""
        own: Array = jax.jacfwd(jax.grad(self.shape.distance))(self.to_body(p_W))
        return self.rotation @ own @ self.rotation.T

    def perimeter(self, count: int) -> Array:
        """Points of the shape's perimeter, p_W (n, 2), m."""
        return self.to_world(self.shape.perimeter(count))


class Moved(Shape2D):
    """A shape that is moved in the body's frame.

    Attributes:
        shape: the shape in its own frame.
        pose: (x, y, angle) of that frame in the body's frame, m and rad.
    """

    shape: Shape2D
    pose: Array

    def __init__(self, shape: Shape2D, pose: Any) -> None:
        """A shape and its pose (3,).

        Raises:
            ValueError: the pose isn't finite.
        """
        self.shape = shape
        self.pose = checked("pose", pose, _NUMBER, (3,))

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Whether the moved shape has straight edges."""
        return self.shape.flat

    def distance(self, p: Array) -> Array:
        """Signed distance (m) of ``p`` (2,) in the body's frame."""
        return Placed.at(self.shape, jnp.asarray(self.pose)).distance(p)

    def perimeter(self, count: int) -> Array:
        """The shape's points of the perimeter (n, 2), in the body's frame."""
        return Placed.at(self.shape, jnp.asarray(self.pose)).perimeter(count)

    def moments(self) -> tuple[Array, Array, Array]:
        """The shape's moments, its centroid moved."""
        area, centroid, second = self.shape.moments()
        return area, Placed.at(self.shape, jnp.asarray(self.pose)).to_world(centroid), second


def rounded_corners(shape: Shape2D) -> tuple[Array, Array] | None:
    """A shape as corners (n, 2) grown by a radius, m: of a disc its centre (1, 2).

    Returns:
        The corners and the radius, 0 for sharp corners; None for a half plane.
    """
    match shape:
        case Circle():
            return jnp.zeros((1, 2)), jnp.asarray(shape.radius)
        case Box() | Polygon():
            return jnp.asarray(shape.vertices), jnp.zeros(())
        case Rounded():
            return jnp.asarray(shape.core.vertices), jnp.asarray(shape.radius)
        case Moved():
            placed = Placed.at(shape.shape, jnp.asarray(shape.pose))
            own = rounded_corners(shape.shape)
            return own and (placed.to_world(own[0]), own[1])
    return None
