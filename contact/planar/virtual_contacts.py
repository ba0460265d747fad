"""Contact points of a pair of bodies, as differentiable functions of their poses.

A virtual contact is the point x of the world that minimises

    L(x) = psi_1(x) + psi_2(x) + (psi_1(x) - psi_2(x))^2

(metres; the square has the factor 1/m), psi the signed distances of the two bodies: the middle of
the gap, or of the overlap. Its derivatives by poses and sizes come from the implicit function
theorem, so they include how the point moves along the surfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from galley.contact.planar.bodies import Contact, Points
from galley.contact.planar.shapes import (
    Shape,
    length,
    perpendicular,
    rotate,
    to_body,
    to_world,
)

_NEWTON_STEPS = 30
_GRADIENT = 1e-12  # of L, a ratio: there Newton's method ends
_SHARES = 0.5 ** np.arange(8.0)  # of a Newton step, the best is taken
_WIDEST = 2.0  # standard deviations of exp(-L / tau) on either side of the virtual contact
_STEIN_STEPS = 40
_STEIN_STEP = 0.06  # m, times tau: half of 1 / L'' across the gap, where L = 4 y^2
_ROUNDING = 1e-15  # m, of L
_STEIN_START = 0.2  # of the spread of Newton's points

Loss = Callable[[Array], Array]


class Geometry(NamedTuple):
    """The contact points of one pair; k of them.

    Attributes:
        virtual: the points x (k, 2) that they come from, in W.
        first, second: p_W (k, 2), the nearest points of either body's surface.
        normal: n (k, 2), outward of the second body.
        depth: d (k,), m: how far the first is inside the second along n; negative: a gap.
        weight: (k,), sum 1.
    """

    virtual: Array
    first: Array
    second: Array
    normal: Array
    depth: Array
    weight: Array


def chosen(contact: Contact, first: Shape, second: Shape) -> Points:
    """What ``auto`` is for two shapes."""
    if contact.points is not Points.AUTO:
        return contact.points
    unique = first.smooth and second.smooth and not (first.flat and second.flat)
    return Points.NEWTON if unique else Points.PERIMETER


def starting_point(shapes: tuple[Shape, Shape], poses: tuple[Array, Array]) -> Array:
    """Where to begin to look for a virtual contact: p_W (2,), near the surface of one body."""
    # From the centre of a body that has one to the other's surface.
    inner, outer = (0, 1) if len(shapes[0].perimeter(3)) else (1, 0)
    centre = poses[inner][:2]
    p = to_body(poses[outer], centre)
    return to_world(poses[outer], p - shapes[outer].normal(p) * shapes[outer].distance(p))


def contact_points(
    contact: Contact,
    shapes: tuple[Shape, Shape],
    poses: tuple[Array, Array],
    start: Array,
    search: bool = True,
) -> tuple[Geometry, Array]:
    """The contact points of two bodies.

    Args:
        contact: how many, where, and how far spread.
        shapes: of the first and the second body.
        poses: X_WB (3,) of either.
        start: p_W (2,), where to begin to look for the virtual contact (the last one).
        search: False: ``start`` is the virtual contact already, only derivatives are missing.

    Returns:
        The points, and the virtual contact (2,) to begin with next time.
    """
    where = chosen(contact, *shapes)
    if where is Points.PERIMETER:
        return _perimeter_points(contact.count, shapes, poses), start
    gap = _Gap(*shapes, *poses)
    x = virtual_contact(gap, start, search)
    if contact.count == 1:
        points, weight = x[None], jnp.ones(1)
    else:
        points, weight = _spread_points(contact, gap, x)
        if where is Points.STEIN:
            points = stein_points(gap.loss, x + _STEIN_START * (points - x), contact.spread)
            weight = jnp.full(contact.count, 1.0 / contact.count)
    psi, slopes = jax.vmap(lambda y: (gap.distances(y), gap.normals(y)))(points)
    first = points - slopes[:, 0] * psi[:, :1]
    second = points - slopes[:, 1] * psi[:, 1:]
    normal = slopes[:, 1]
    depth = -jnp.sum(normal * (first - second), axis=1)
    return Geometry(points, first, second, normal, depth, weight), x


class _Gap(eqx.Module):
    """Two shapes at their poses: distances to both, and L, at points of the world."""

    first: Shape
    second: Shape
    X_first: Array
    X_second: Array

    def distances(self, x: Array) -> Array:
        """psi_1 and psi_2 (2,), m."""
        one = self.first.distance(to_body(self.X_first, x))
        return jnp.stack([one, self.second.distance(to_body(self.X_second, x))])

    def normals(self, x: Array) -> Array:
        """Their gradients, one a row (2, 2)."""
        return jnp.stack([jax.grad(lambda y, k=k: self.distances(y)[k])(x) for k in range(2)])

    def loss(self, x: Array) -> Array:
        """L, m."""
        psi = self.distances(x)
        return psi[0] + psi[1] + (psi[0] - psi[1]) ** 2


def virtual_contact(gap: _Gap, start: Array, search: bool = True) -> Array:
    """The minimum (2,) of L by damped Newton, with its first derivatives.

    They are those of grad L = 0: the last Newton step, with the Hessian held fixed, differs from
    the minimum by nothing, and has the derivative -H^-1 d(grad L) of the implicit function theorem.
    """
    still = lax.stop_gradient(gap)
    gradient = jax.grad(still.loss)

    def going(state: tuple[Array, Array, Array]) -> Array:
        _, slope, count = state
        return (jnp.max(jnp.abs(slope)) > _GRADIENT) & (count < _NEWTON_STEPS)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, slope, count = state
        direction = -_solve2(_definite(jax.jacfwd(gradient)(x)), slope)
        tries = x + _SHARES[:, None] * direction
        values = jax.vmap(still.loss)(tries)
        # Where rounding hides what L gains, the whole step is as good as any.
        best = jnp.where(values[0] <= jnp.min(values) + _ROUNDING, 0, jnp.argmin(values))
        x = tries[best]
        return x, gradient(x), count + 1

    x = lax.stop_gradient(start)
    if search:
        x = lax.while_loop(going, step, (x, gradient(x), jnp.asarray(0)))[0]
    return x - _solve2(jax.jacfwd(gradient)(x), jax.grad(gap.loss)(x))


def _definite(H: Array) -> Array:
    """A symmetric 2 x 2 matrix, shifted so that it is positive definite."""
    middle = (H[0, 0] + H[1, 1]) / 2.0
    least = middle - length(jnp.stack([(H[0, 0] - H[1, 1]) / 2.0, H[0, 1]]))
    return H + jnp.maximum(1e-6 - least, 0.0) * jnp.eye(2)


def _solve2(H: Array, y: Array) -> Array:
    """H^-1 y, 2 x 2; zero where H is singular: along a flat the point isn't unique, it stays."""
    det = H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]
    good = jnp.abs(det) > 1e-14
    solved = jnp.stack([H[1, 1] * y[0] - H[0, 1] * y[1], H[0, 0] * y[1] - H[1, 0] * y[0]])
    return jnp.where(good, solved / jnp.where(good, det, 1.0), 0.0)


def _spread_points(contact: Contact, gap: _Gap, x: Array) -> tuple[Array, Array]:
    """Points on the tangent through ``x``, evenly over two sigma, with the weights exp(-L / tau).

    sigma^2 = tau / L'' along the tangent, and no more than the square of the smaller body's size;
    L'' is the secant's over sqrt(tau size): on a plane a circle of that size has this sigma.
    """
    tau = contact.spread
    tangent = perpendicular(gap.normals(x)[1])
    edges = [shape.perimeter(4) for shape in (gap.first, gap.second)]
    size = jnp.min(jnp.stack([jnp.max(length(edge)) for edge in edges if len(edge)]))
    step = jnp.sqrt(tau * size)
    losses = jax.vmap(lambda s: gap.loss(x + s * step * tangent))(jnp.arange(-1.0, 2.0))
    curvature = jnp.maximum(losses[0] + losses[2] - 2.0 * losses[1], 0.0) / step**2
    sigma = jnp.sqrt(tau / (curvature + tau / size**2))
    points = x + sigma * jnp.linspace(-_WIDEST, _WIDEST, contact.count)[:, None] * tangent
    return points, jax.nn.softmax(-jax.vmap(gap.loss)(points) / tau)


def stein_points(loss: Loss, start: Array, spread: Array) -> Array:
    """Points (n, 2) of the density exp(-L / tau), by Stein variational gradient descent.

    Each step adds eps phi_i, with

        phi_i = 1/n sum_j (-k_ij grad L(x_j) / tau + (2 / h) k_ij (x_i - x_j)),

    k = exp(-r^2 / h), h = median(r^2) / log(n + 1) (Liu and Wang, 2016): the first term goes
    downhill, the second apart.

    Args:
        loss: L.
        start: (n, 2), m, no two the same.
        spread: tau, m.
    """
    count = len(start)
    eps = _STEIN_STEP * spread

    def step(x: Array, _: None) -> tuple[Array, None]:
        apart = x[:, None] - x[None]
        square = jnp.sum(apart**2, axis=2)
        h = jnp.median(square) / jnp.log(count + 1.0)
        kernel = jnp.exp(-square / h)
        slope = jax.vmap(jax.grad(loss))(x)
        phi = -kernel @ slope / spread + 2.0 / h * jnp.sum(kernel[:, :, None] * apart, axis=1)
        return x + eps / count * phi, None

    return lax.scan(step, start, None, _STEIN_STEPS)[0]


def _perimeter_points(
    count: int, shapes: tuple[Shape, Shape], poses: tuple[Array, Array]
) -> Geometry:
    """Points fixed to either body's edge, and their projections onto the other."""

    def side(mine: int, other: int) -> tuple[Array, Array, Array, Array]:
        p = to_world(poses[mine], shapes[mine].perimeter(count))
        local = to_body(poses[other], p)
        psi, slope = jax.vmap(jax.value_and_grad(shapes[other].distance))(local)
        normal = rotate(poses[other][2], slope)
        return p, p - normal * psi[:, None], normal, -psi

    own, others = side(0, 1), side(1, 0)
    first, second = jnp.concatenate([own[0], others[1]]), jnp.concatenate([own[1], others[0]])
    normal = jnp.concatenate([own[2], -others[2]])
    depth = jnp.concatenate([own[3], others[3]])
    weight = jnp.full(len(depth), 1.0 / max(len(depth), 1))
    return Geometry((first + second) / 2.0, first, second, normal, depth, weight)
