"""Contact points of a pair of bodies, differentiable with respect to poses and sizes.

A virtual contact is the point x of the world that minimises

    L(x) = psi_1(x) + psi_2(x) + (psi_1(x) - psi_2(x))^2

(metres; the square has the factor 1/m), where psi are the signed distances of the two bodies. It
is in the middle of the gap or overlap. Its derivatives come from the implicit function theorem, so
they include how the point moves along the surfaces.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from galley.planar.contact.bodies import Contact, Points
from galley.planar.contact.shapes import (
    Placed,
    Polygon,
    Shape2D,
    cross,
    edges,
    length,
    perpendicular,
    rounded_corners,
)

_NEWTON_STEPS = 30
_GRADIENT = 1e-12  # of L, a ratio, at which Newton's method ends
SLOPE = 1e-6  # gradient of L, a ratio; with more a point isn't a minimum
_WIDEST = 2.0  # standard deviations of exp(-L / tau) on either side of the virtual contact
_STEIN_STEPS = 40
_STEIN_STEP = 0.06  # m, times tau: half of 1 / L'' across the gap, where L = 4 y^2
_ROUNDING = 1e-15  # m, of L
_STEIN_START = 0.2  # share of the spread of Newton's points at which Stein's begin


class Geometry(NamedTuple):
    """The k contact points of one pair.

    Attributes:
        virtual: p_W (k, 2), the virtual points x, m.
        first, second: p_W (k, 2), the nearest points on the surfaces of the two bodies, m.
        normal: n (k, 2), outward normal of the second body.
        depth: d (k,), penetration along n, m; negative for a gap.
        weight: (k,), with the sum 1; for the edges of a polygon 1 for each that the disc sees.
        slope: largest component of L's gradient at the virtual contact: 0 at the minimum, and for
            points on edges or perimeters, which have no virtual contact.
    """

    virtual: Array
    first: Array
    second: Array
    normal: Array
    depth: Array
    weight: Array
    slope: Array


def chosen(contact: Contact, first: Shape2D, second: Shape2D) -> Points:
    """The kind of points for two shapes. ``auto`` remains for a disc on a polygon: its edges."""
    own = map(rounded_corners, (first, second))
    corners = sorted(len(pair[0]) for pair in own if pair)
    if contact.points is not Points.AUTO or (len(corners) == 2 and corners[0] == 1 < corners[1]):
        return contact.points
    return Points.PERIMETER if first.flat and second.flat else Points.NEWTON


def first_contact(contact: Contact, first: Placed, second: Placed) -> Array:
    """The virtual contact (2,) without a guess: the search begins below the centre of one body."""
    # A half plane has no centre.
    inner, outer = (first, second) if len(first.shape.perimeter(3)) else (second, first)
    psi, normal = outer.surface(inner.position)
    start = inner.position - psi * normal
    if chosen(contact, first.shape, second.shape) in (Points.PERIMETER, Points.AUTO):
        return start
    return lax.stop_gradient(virtual_contact(Gap(first, second), start))


def contact_points(
    contact: Contact, first: Placed, second: Placed, start: Array, search: bool = True
) -> tuple[Geometry, Array]:
    """The contact points of two bodies.

    Args:
        contact: number, kind and spread of the points.
        first, second: the bodies.
        start: p_W (2,), where to begin to look for the virtual contact: the one of the last step.
        search: False: ``start`` is the virtual contact already, and only derivatives are missing.

    Returns:
        The points, and the virtual contact (2,) to begin with next time.
    """
    kind = chosen(contact, first.shape, second.shape)
    if kind is Points.PERIMETER:
        return _perimeter_points(contact.count, first, second), start
    if kind is Points.AUTO:
        return _edge_points(first, second), start
    gap = Gap(first, second)
    x = virtual_contact(gap, start, search)
    if contact.count == 1:
        points, weight = x[None], jnp.ones(1)
    else:
        points, weight = _spread_points(contact, gap, x)
        if kind is Points.STEIN:
            points = stein_points(gap, x + _STEIN_START * (points - x), contact.spread)
            weight = jnp.full(contact.count, 1.0 / contact.count)
    psi, normals = jax.vmap(gap.surfaces)(points)
    c = [points - normals[:, k] * psi[:, k : k + 1] for k in range(2)]
    depth = -jnp.sum(normals[:, 1] * (c[0] - c[1]), axis=1)
    slope = jnp.max(jnp.abs(gap.slope(x)[1]))
    return Geometry(points, c[0], c[1], normals[:, 1], depth, weight, slope), x


class Gap(eqx.Module):
    """A pair of bodies: the function L of points p_W (2,), and its derivatives."""

    first: Placed
    second: Placed

    def loss(self, x: Array) -> Array:
        """L of a point p_W (2,), m."""
        psi = [self.first.distance(x), self.second.distance(x)]
        return psi[0] + psi[1] + (psi[0] - psi[1]) ** 2

    def surfaces(self, x: Array) -> tuple[Array, Array]:
        """Signed distances (2,), m, and their gradients, one a row (2, 2)."""
        (psi_1, n_1), (psi_2, n_2) = self.first.surface(x), self.second.surface(x)
        return jnp.stack([psi_1, psi_2]), jnp.stack([n_1, n_2])

    def slope(self, x: Array) -> tuple[Array, Array]:
        """L (m) and its gradient (2,) at a point p_W (2,)."""
        psi, n = self.surfaces(x)
        apart = psi[0] - psi[1]
        return psi[0] + psi[1] + apart**2, n[0] + n[1] + 2.0 * apart * (n[0] - n[1])

    def hessian(self, x: Array) -> Array:
        """The second derivative (2, 2) of L, 1/m."""
        psi, n = self.surfaces(x)
        across = n[0] - n[1]
        skew = 2.0 * (psi[0] - psi[1])
        own = (1.0 + skew) * self.first.hessian(x) + (1.0 - skew) * self.second.hessian(x)
        return own + 2.0 * across[:, None] * across[None]


def virtual_contact(gap: Gap, start: Array, search: bool = True) -> Array:
    """The minimum (2,) of L by damped Newton, with its first derivatives.

    The search itself isn't differentiated. The result is one more Newton step from the minimum,
    with the Hessian H held fixed: it doesn't move the point, and has the derivative
    -H^-1 d(grad L) of the implicit function theorem. If no minimum was found, as at a corner, the
    result is the best point, with no derivative.

    Args:
        gap: the two bodies.
        start: p_W (2,), where to begin.
        search: False: it is the minimum already.
    """
    held = lax.stop_gradient(gap)
    start = lax.stop_gradient(start)

    def going(state: _Descent) -> Array:
        unsolved = ~(jnp.max(jnp.abs(state.slope)) <= _GRADIENT)
        return unsolved & (state.tried < _NEWTON_STEPS)

    def step(state: _Descent) -> _Descent:
        tried = state.x + state.share * state.direction
        value, slope = held.slope(tried)
        direction = -_solve2(_definite(held.hessian(tried)), slope)
        # The last steps lower L by less than rounding: accept those too.
        better = value <= state.value + _ROUNDING
        new = _Descent(tried, value, slope, direction, jnp.asarray(1.0), state.tried + 1)
        same = state._replace(share=0.5 * state.share, tried=state.tried + 1)
        return _Descent(*(jnp.where(better, a, b) for a, b in zip(new, same, strict=True)))

    x = start
    if search:
        worst = jnp.full(2, jnp.inf)  # so that the start is accepted as the first point
        begin = _Descent(start, worst[0], worst, 0.0 * start, jnp.asarray(1.0), jnp.asarray(0))
        x = lax.while_loop(going, step, begin).x
    slope = gap.slope(x)[1]
    is_minimum = jnp.max(jnp.abs(slope)) <= SLOPE
    return x - jnp.where(is_minimum, _solve2(held.hessian(x), slope), 0.0)


class _Descent(NamedTuple):
    """State of Newton's method: the best point so far, and the step to try next.

    Attributes:
        x: the point (2,), m.
        value: L there, m.
        slope: gradient of L there (2,).
        direction: Newton step from there (2,), m.
        share: of the step to try next, 1 at first.
        tried: number of points tried.
    """

    x: Array
    value: Array
    slope: Array
    direction: Array
    share: Array
    tried: Array


def _definite(H: Array) -> Array:
    """A symmetric 2 x 2 matrix, shifted so that it is positive definite."""
    middle = (H[0, 0] + H[1, 1]) / 2.0
    least = middle - length(jnp.stack([(H[0, 0] - H[1, 1]) / 2.0, H[0, 1]]))
    return H + jnp.maximum(1e-6 - least, 0.0) * jnp.eye(2)


def _solve2(H: Array, y: Array) -> Array:
    """H^-1 y of a 2 x 2 matrix; 0 if it is singular: along a flat face the point stays."""
    det = H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]
    good = jnp.abs(det) > 1e-14
    solved = jnp.stack([H[1, 1] * y[0] - H[0, 1] * y[1], H[0, 0] * y[1] - H[1, 0] * y[0]])
    return jnp.where(good, solved / jnp.where(good, det, 1.0), 0.0)


def _spread_points(contact: Contact, gap: Gap, x: Array) -> tuple[Array, Array]:
    """Points on the tangent through ``x``, evenly over two sigma, with the weights exp(-L / tau).

    sigma^2 = tau / L'' along the tangent, and no more than the square of the smaller body's size;
    L'' is the secant's over sqrt(tau size): on a plane a circle of that size has this sigma.
    """
    tau = contact.spread
    tangent = perpendicular(gap.second.surface(x)[1])
    edges = [body.shape.perimeter(4) for body in (gap.first, gap.second)]
    size = jnp.min(jnp.stack([jnp.max(length(edge)) for edge in edges if len(edge)]))
    step = jnp.sqrt(tau * size)
    losses = jax.vmap(lambda s: gap.loss(x + s * step * tangent))(jnp.arange(-1.0, 2.0))
    curvature = jnp.maximum(losses[0] + losses[2] - 2.0 * losses[1], 0.0) / step**2
    sigma = jnp.sqrt(tau / (curvature + tau / size**2))
    points = x + sigma * jnp.linspace(-_WIDEST, _WIDEST, contact.count)[:, None] * tangent
    return points, jax.nn.softmax(-jax.vmap(gap.loss)(points) / tau)


def stein_points(gap: Gap, start: Array, spread: Array) -> Array:
    """Points (n, 2) of the density exp(-L / tau), by Stein variational gradient descent.

    Each step adds eps phi_i, with

        phi_i = 1/n sum_j (-k_ij grad L(x_j) / tau + (2 / h) k_ij (x_i - x_j)),

    k = exp(-r^2 / h), h = median(r^2) / log(n + 1) (Liu and Wang, 2016): the first term moves
    points downhill, the second moves them apart.

    Args:
        gap: the two bodies.
        start: (n, 2), m, all different.
        spread: tau, m.
    """
    count = len(start)
    eps = _STEIN_STEP * spread

    def step(x: Array, _: None) -> tuple[Array, None]:
        apart = x[:, None] - x[None]
        square = jnp.sum(apart**2, axis=2)
        h = jnp.median(square) / jnp.log(count + 1.0)
        kernel = jnp.exp(-square / h)
        slopes = jax.vmap(gap.slope)(x)[1]
        phi = -kernel @ slopes / spread + 2.0 / h * jnp.sum(kernel[:, :, None] * apart, axis=1)
        return x + eps / count * phi, None

    return lax.scan(step, start, None, _STEIN_STEPS)[0]


def _perimeter_points(count: int, first: Placed, second: Placed) -> Geometry:
    """Points fixed to the perimeters of both bodies, each with its projection onto the other."""

    def side(mine: Placed, other: Placed) -> tuple[Array, Array, Array, Array]:
        p = mine.perimeter(count)
        psi, normal = jax.vmap(other.surface)(p)
        return p, p - normal * psi[:, None], normal, -psi

    own, others = side(first, second), side(second, first)
    c_1, c_2 = jnp.concatenate([own[0], others[1]]), jnp.concatenate([own[1], others[0]])
    normal = jnp.concatenate([own[2], -others[2]])
    depth = jnp.concatenate([own[3], others[3]])
    weight = jnp.full(len(depth), 1.0 / max(len(depth), 1))
    return Geometry((c_1 + c_2) / 2.0, c_1, c_2, normal, depth, weight, jnp.zeros(()))


def _edge_points(first: Placed, second: Placed) -> Geometry:
    """The nearest point of each edge of a polygon to a disc.

    All edges have a point, but only those that the disc's centre sees have a weight. A convex
    corner belongs to one of its edges, so that on a convex polygon one point counts at a time, with
    the depth and the normal of the exact distance. In a notch several may count. If the centre is
    inside the polygon, only the nearest edge counts.
    """
    own = [corners for body in (first, second) if (corners := rounded_corners(body.shape))]
    if len(own[0][0]) > 1:  # the first is the polygon: swap
        g = _edge_points(second, first)
        return g._replace(first=g.second, second=g.first, normal=-g.normal)
    centre, radius = first.to_world(own[0][0][0]), own[0][1]
    a, grown = second.to_world(own[1][0]), own[1][1]
    edge, normal = edges(a)
    share = jnp.sum((centre - a) * edge, axis=1) / jnp.sum(edge * edge, axis=1)
    beside = (share > 0.0) & (share < 1.0)  # the nearest point is within the edge, not an end
    convex = jnp.sum(jnp.roll(edge, 1, axis=0) * normal, axis=1) >= 0.0  # where the edge begins
    begins = (share <= 0.0) & (~convex | (jnp.roll(share, 1) >= 1.0))
    ends = (share >= 1.0) & ~jnp.roll(convex, -1)
    ray = a + jnp.clip(share, 0.0, 1.0)[:, None] * edge - centre
    # Where each ray (a row) crosses the line of each edge (a column), as shares of both.
    base = cross(ray[:, None], edge)
    base = jnp.where(base == 0.0, jnp.inf, base)  # parallel: at 0
    on_ray, on_edge = cross(a - centre, edge) / base, cross(a - centre, ray[:, None]) / base
    hidden = (on_ray > 0.0) & (on_ray < 1.0 - 1e-9) & (on_edge >= 0.0) & (on_edge <= 1.0)
    seen = (beside | begins | ends) & ~jnp.any(hidden, axis=1)
    gap = length(ray)
    inside = Polygon(a).distance(centre) < 0.0
    seen = jnp.where(inside, jnp.arange(len(a)) == jnp.argmin(gap), seen)
    side = jnp.where(inside, -1.0, 1.0)
    psi = jnp.where(beside, -jnp.sum(ray * normal, axis=1), side * gap)[:, None]
    n = jnp.where(beside[:, None], normal, -side * ray / jnp.where(gap > 0.0, gap, 1.0)[:, None])
    depth = radius + grown - psi[:, 0]
    c_1, c_2 = centre - radius * n, centre - (psi - grown) * n
    weight = jnp.where(seen, 1.0, 0.0)
    return Geometry((c_1 + c_2) / 2.0, c_1, c_2, n, depth, weight, jnp.zeros(()))
