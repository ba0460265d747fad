"""Implicit time steps: each is one root of a residual in newtons, differentiable.

Backward differentiation and its start are steps of one form. With the step's scale eta, the
velocity and acceleration at the end of a step are

    v = (q - A) / eta,   a = (v - B) / eta,   A = alpha q_1 + beta q_2,   B = alpha v_1 + beta v_2

from the two states before, and q is the root of M a - f(q, v, t). The coefficients:

    scheme         alpha         beta      eta / h
    BDF1           1             0         1
    BDF2           4/3           -1/3      2/3
    SDIRK2, 1st    1             0         gamma        gamma = 1 - 1/sqrt(2)
    SDIRK2, 2nd    1 + sqrt(2)   -sqrt(2)  gamma

(Hairer and Wanner, Solving Ordinary Differential Equations II, 1996, III.1 and IV.6.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from galley.domain.frames import Array as NumPyArray
from galley.planar.contact.bodies import World
from galley.planar.contact.forces import total_forces

_DECREASE = 1e-4  # of the merit, per length of the step (Armijo)
_SHORTEST = 2.0**-24  # share of a Newton step
_ROUNDING = 2.0**-50  # of x times the Jacobian: what rounding x alone makes of a residual of 0

Residual = Callable[[Array, Array], tuple[Array, Array]]


class Scheme(StrEnum):
    """BDF1 is of first order, BDF2 of second; both damp what a step can't resolve.

    With BDF1 a damped contact never gains energy; BDF2 may gain some at an impact that lasts only
    a few steps.
    """

    BDF1 = "bdf1"
    BDF2 = "bdf2"


class Outcome(NamedTuple):
    """How Newton's method ended.

    Attributes:
        residual: N or N m, the largest component.
        iterations: residuals and Jacobians computed.
        stalled: no share of the step made it smaller.
        converged: the residual is within the tolerance, or within rounding where that is more.
        starts: p_W (pairs, 2), the virtual contacts.
    """

    residual: Array
    iterations: Array
    stalled: Array
    converged: Array
    starts: Array


def coefficients(scheme: Scheme, n: int) -> NumPyArray:
    """A row for each solution that ``n`` steps take: alpha, beta, eta / h, end / h, keep.

    The end is of the solution's time, after the start. ``keep`` is 1 where the state before the
    last is kept as such: the first stage of SDIRK2 is no state of the trajectory.
    """
    ends = np.arange(1.0, n + 1)
    if scheme is Scheme.BDF1:
        return np.stack([np.ones(n), np.zeros(n), np.ones(n), ends, np.zeros(n)], axis=1)
    gamma, root = 1.0 - math.sqrt(0.5), math.sqrt(2.0)
    rows = [[1.0, 0.0, gamma, gamma, 0.0], [1.0 + root, -root, gamma, 1.0, 1.0]]
    rows += [[4.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0, end, 0.0] for end in ends[1:]]
    return np.asarray(rows)


def implicit_step(
    world: World,
    A: Array,
    B: Array,
    eta: Array,
    time: Array,
    control: Array,
    starts: Array,
    tolerance: Array,
    iterations: Array,
) -> tuple[Array, Outcome]:
    """The poses (m, 3) of the free bodies at the end of a step.

    Differentiable in all but ``starts``: the last Newton step, with the Jacobian J held fixed,
    differs from the root by nothing, and has the derivative -J^-1 dr of the implicit function
    theorem. So a gradient backward solves with the transposed J once a step.

    Args:
        world: masses and forces.
        A, B: (m, 3), what the states before make of pose and velocity.
        eta: s, the scale of the step.
        time: s, at its end.
        control: (m, 3), N and N m.
        starts: p_W (pairs, 2), where to begin to look for virtual contacts.
        tolerance: N and N m, of the residual.
        iterations: at most.
    """

    def residual(inputs: Any, flat: Array, starts: Array, search: bool) -> tuple[Array, Array]:
        world, A, B, eta, time, control = inputs
        q = flat.reshape(A.shape)
        v = (q - A) / eta
        force, nexts = total_forces(world, q, v, time, control, starts, search)
        return (world.masses() * (v - B) / eta - force).ravel(), nexts

    inputs = (world, A, B, eta, time, control)
    arrays, rest = eqx.partition(inputs, eqx.is_array)
    still = eqx.combine(lax.stop_gradient(arrays), rest)

    def searched(flat: Array, starts: Array) -> tuple[Array, Array]:
        return residual(still, flat, starts, True)

    guess = (still[1] + still[3] * still[2]).ravel()
    scale = 1.0 / still[0].masses().ravel()
    root, jacobian, outcome = _newton(searched, guess, starts, scale, tolerance, iterations)
    left, _ = residual(inputs, root, outcome.starts, False)
    return (root - jnp.linalg.solve(jacobian, left)).reshape(A.shape), outcome


def _newton(
    function: Residual,
    guess: Array,
    starts: Array,
    scale: Array,
    tolerance: Array,
    iterations: Array,
) -> tuple[Array, Array, Outcome]:
    """Newton's method with a line search on the squared residual, each component scaled.

    Returns:
        The root, the Jacobian there, and how it was found.
    """

    def merit(value: Array) -> Array:
        return jnp.sum(scale * value**2)

    def solved(state: _Search) -> Array:
        rounding = _ROUNDING * jnp.max(jnp.abs(state.jacobian) @ jnp.abs(state.x))
        return jnp.max(jnp.abs(state.value)) <= jnp.maximum(tolerance, rounding)

    def going(state: _Search) -> Array:
        return ~solved(state) & (state.share > _SHORTEST) & (state.tried < iterations)

    def step(state: _Search) -> _Search:
        tried = state.x + state.share * state.direction
        value, tangent, starts = jax.linearize(
            lambda x: function(x, state.starts), tried, has_aux=True
        )
        jacobian = jax.vmap(tangent)(jnp.eye(tried.size)).T
        direction = -jnp.linalg.solve(jacobian, value)
        better = merit(value) <= (1.0 - _DECREASE * state.share) * merit(state.value)
        one, count = jnp.asarray(1.0), state.tried + 1
        new = _Search(tried, value, jacobian, direction, one, starts, count)
        same = state._replace(share=0.5 * state.share, tried=count)
        return _Search(*(jnp.where(better, a, b) for a, b in zip(new, same, strict=True)))

    far = jnp.full_like(guess, jnp.inf)  # the guess is better than nothing
    square = jnp.eye(guess.size)
    zero = jnp.asarray(0)
    begin = _Search(guess, far, square, 0.0 * guess, jnp.asarray(1.0), starts, zero)
    end = lax.while_loop(going, step, begin)
    stalled = end.share <= _SHORTEST
    left = jnp.max(jnp.abs(end.value))
    return end.x, end.jacobian, Outcome(left, end.tried, stalled, solved(end), end.starts)


class _Search(NamedTuple):
    """Newton's method: the best point yet, and the share of the step from it to try next."""

    x: Array
    value: Array
    jacobian: Array
    direction: Array
    share: Array
    starts: Array
    tried: Array
