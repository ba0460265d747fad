"""A conditional spline flow on the unit cube, with a categorical for the elbow. Needs ``learn``.

    q(s, phi, u, v | c) = P(s | c) q(phi | s, c) q(u | phi, s, c) q(v | u, phi, s, c)

Each one-dimensional factor is the slope of a monotone rational-quadratic spline from [0, 1] to
[0, 1] (Durkan et al., Neural Spline Flows, 2019, equations 4 to 8). The spline is the conditional
distribution function; a small network gives its knots. So the flow is autoregressive with the
uniform density as its base, it has no tails outside the cube, and a sample costs as much as a
density: three networks in turn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax.bijections import RationalQuadraticSpline

if TYPE_CHECKING:
    from jax import Array

_NARROWEST = 1e-3  # least width of a bin
_LOWEST = 1e-6  # least height of a bin: without rows the density falls nearly to 0
_FLATTEST = 1e-4  # least slope at a knot
_HARMONICS = 6  # harmonics of the angle, as inputs of the networks


def spline(raw: Array, bins: int) -> RationalQuadraticSpline:
    """An increasing spline of [0, 1] onto itself, from a network's outputs.

    Args:
        raw: widths, heights and slopes, (3 bins + 1,); (3 bins,) if both ends have the same slope.
        bins: number of pieces.
    """
    x = _cumulative(raw[:bins], _NARROWEST)
    y = _cumulative(raw[bins : 2 * bins], _LOWEST)
    slope = _FLATTEST + jax.nn.softplus(raw[2 * bins :] + math.log(math.e - 1.0))
    if len(slope) == bins:
        slope = jnp.concatenate([slope, slope[:1]])
    return eqx.tree_at(
        lambda s: (s.x_pos, s.y_pos, s.derivatives),
        RationalQuadraticSpline(knots=bins - 1, interval=(0, 1)),
        (x, y, slope),
    )


def _cumulative(raw: Array, smallest: float) -> Array:
    share = smallest + (1.0 - smallest * len(raw)) * jax.nn.softmax(raw)
    return jnp.concatenate([jnp.zeros(1), jnp.cumsum(share)[:-1], jnp.ones(1)])


class SplineFlow(eqx.Module):
    """The flow for one row; use ``jax.vmap`` for many.

    Rows are a context (n,), an elbow +1 or -1, and a point (phi, u, v) of the unit cube; the
    density is periodic in phi.
    """

    elbow: eqx.nn.MLP
    phi: eqx.nn.MLP
    u: eqx.nn.MLP
    v: eqx.nn.MLP
    bins: int = eqx.field(static=True)

    def __init__(self, context: int, bins: int, width: int, depth: int) -> None:
        """Make networks for contexts (context,) with ``depth`` hidden layers of ``width``."""
        keys = jax.random.split(jax.random.key(0), 4)

        def network(inputs: int, outputs: int, key: Array) -> eqx.nn.MLP:
            return eqx.nn.MLP(inputs, outputs, width, depth, jax.nn.silu, key=key)

        n, k, angle = context + 1, bins, 2 * (_HARMONICS + context)
        self.elbow = network(context, 1, keys[0])
        self.phi = network(n, 3 * k, keys[1])
        self.u = network(n + angle, 3 * k + 1, keys[2])
        self.v = network(n + angle + 1, 3 * k + 1, keys[3])
        self.bins = bins

    def positive(self, context: Array) -> Array:
        """The log odds of the elbow + in a context (n,)."""
        return self.elbow(context)[0]

    def log_density(self, context: Array, elbow: Array, point: Array) -> Array:
        """The log density (nats) of a point of the cube (3,), given context and elbow."""
        phi, u, v = point
        known = jnp.append(context, elbow)
        _, slope_phi = spline(self.phi(known), self.bins).transform_and_log_det(phi)
        known = jnp.concatenate([known, _angle(phi, context)])
        _, slope_u = spline(self.u(known), self.bins).transform_and_log_det(u)
        _, slope_v = spline(self.v(jnp.append(known, u)), self.bins).transform_and_log_det(v)
        return jnp.asarray(slope_phi + slope_u + slope_v)

    def point(self, context: Array, elbow: Array, uniform: Array) -> Array:
        """The point of the cube (3,) at which the distribution functions are ``uniform`` (3,)."""
        known = jnp.append(context, elbow)
        phi = spline(self.phi(known), self.bins).inverse(uniform[0])
        known = jnp.concatenate([known, _angle(phi, context)])
        u = spline(self.u(known), self.bins).inverse(uniform[1])
        v = spline(self.v(jnp.append(known, u)), self.bins).inverse(uniform[2])
        return jnp.stack([phi, u, v])

    def loss(self, context: Array, elbow: Array, point: Array) -> Array:
        """Minus the log density of elbow and point together, nats."""
        return -jax.nn.log_sigmoid(elbow * self.positive(context)) - self.log_density(
            context, elbow, point
        )


def _angle(phi: Array, context: Array) -> Array:
    """Inputs for an angle: its harmonics, and the context times the first, as in a turned frame."""
    angle = 2.0 * jnp.pi * phi * jnp.arange(1, _HARMONICS + 1)
    wave = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
    return jnp.concatenate([wave.ravel(), jnp.outer(wave[:, 0], context).ravel()])
