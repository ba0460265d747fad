"""Implicit time steps: each solves a residual in newtons for zero, and can be differentiated.

Backward differentiation and its first step have one form. With the step's scale eta, the
velocity and acceleration at the end of a step are

    v = (q - A) / eta,   a = (v - B) / eta,   A = alpha q_1 + beta q_2,   B = alpha v_1 + beta v_2

from the two states before, and q is the root of the residual M a - f(q, v, t). The coefficients:

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

_DECREASE = 1e-4  # share of the merit that a full step must take off (Armijo's rule)
_SHORTEST = 2.0**-24  # share of a Newton step below which the line search gives up
_ROUNDING = 2.0**-50  # share of x times the Jacobian: the residual that rounding of x makes

Residual = Callable[[Array, Array], tuple[Array, Array]]


class Scheme(StrEnum):
    """Integration scheme: BDF1 is of first order, BDF2 of second; both damp fast vibrations.

    With BDF1 a damped contact never gains energy; BDF2 may gain some at an impact that lasts only
    a few steps.
    """

    BDF1 = "bdf1"
    BDF2 = "bdf2"


class StepOutcome(NamedTuple):
    """How Newton's method ended.

    Attributes:
        residual: largest component, N or N m.
        iterations: how often residual and Jacobian were computed.
        stalled: whether no share of a Newton step made the residual smaller.
        converged: whether the residual is within the tolerance, or within rounding if that is more.
        starts: p_W (pairs, 2), the virtual contacts, where the next search begins.
    """

    residual: Array
    iterations: Array
    stalled: Array
    converged: Array
    starts: Array


def coefficients(scheme: Scheme, n: int) -> NumPyArray:
    """A row for each solution in ``n`` steps: alpha, beta, eta / h, time / h, keep.

    The time is that of the solution, from the start. ``keep`` is 1 for the second stage of SDIRK2:
    its result replaces the first stage, which isn't a state of the trajectory, and the older
    state stays.
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
) -> tuple[Array, StepOutcome]:
    """The poses (m, 3) of the free bodies at the end of a step.

    Differentiable in all arguments except ``starts``. The search itself isn't differentiated; the
    result is one more Newton step from the root, with the Jacobian J held fixed. It doesn't change
    the root, and has the derivative -J^-1 dr of the implicit function theorem. So the backward pass
    solves with the transposed J once a step.

    Args:
        world: masses and forces.
        A, B: (m, 3), the combinations of the two states before; see the module.
        eta: scale of the step, s.
        time: at the end of the step, s.
        control: (m, 3), on the free bodies, N and N m.
        starts: p_W (pairs, 2), where to begin to look for virtual contacts.
        tolerance: of the residual, N and N m.
        iterations: most iterations of Newton's method.
    """

    def residual(inputs: Any, flat: Array, starts: Array, search: bool) -> tuple[Array, Array]:
        world, A, B, eta, time, control = inputs
        q = flat.reshape(A.shape)
        v = (q - A) / eta
        force, nexts = total_forces(world, q, v, time, control, starts, search)
        return (world.masses() * (v - B) / eta - force).ravel(), nexts

    inputs = (world, A, B, eta, time, control)
    arrays, rest = eqx.partition(inputs, eqx.is_array)
    still = eqx.combine(lax.stop_gradient(arrays), rest)  # for the search, which has no gradient

    def searched(flat: Array, starts: Array) -> tuple[Array, Array]:
        return residual(still, flat, starts, True)

    guess = (still[1] + still[3] * still[2]).ravel()  # A + eta B: as without forces
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
) -> tuple[Array, Array, StepOutcome]:
    """Newton's method with a line search on the squared residual, each component scaled.

    Each pass of the loop tries one point: the best so far plus a share of its Newton step. If the
    merit falls enough (Armijo's rule), the point becomes the best, with a new Newton step.
    Otherwise the share is halved.

    Args:
        function: residual (k,) at x (k,) and the virtual contacts; also the next virtual contacts.
        guess: x (k,) to begin at.
        starts: p_W (pairs, 2), the first virtual contacts.
        scale: (k,), weights of the squared components.
        tolerance: of the residual, N and N m.
        iterations: most passes.

    Returns:
        The root, the Jacobian (k, k) there, and how the search ended.
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
        # Compiled code computes both outcomes and selects one, array by array.
        new = _Search(tried, value, jacobian, direction, one, starts, count)
        same = state._replace(share=0.5 * state.share, tried=count)
        return _Search(*(jnp.where(better, a, b) for a, b in zip(new, same, strict=True)))

    infinite = jnp.full_like(guess, jnp.inf)  # so that the guess is accepted as the first point
    square = jnp.eye(guess.size)
    zero = jnp.asarray(0)
    begin = _Search(guess, infinite, square, 0.0 * guess, jnp.asarray(1.0), starts, zero)
    end = lax.while_loop(going, step, begin)
    stalled = end.share <= _SHORTEST
    left = jnp.max(jnp.abs(end.value))
    return end.x, end.jacobian, StepOutcome(left, end.tried, stalled, solved(end), end.starts)


class _Search(NamedTuple):
    """State of Newton's method: the best point so far, and the step to try next.

    Attributes:
        x: the point (k,).
        value: residual there (k,).
        jacobian: of the residual there (k, k).
        direction: Newton step from there (k,).
        share: of the step to try next, 1 at first.
        starts: p_W (pairs, 2), virtual contacts there.
        tried: number of points tried.
    """

    x: Array
    value: Array
    jacobian: Array
    direction: Array
    share: Array
    starts: Array
    tried: Array
