"""``simulate``: the motion and contact forces of a world under controls, differentiable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from galley.domain.parameters import DURATION, Quantity
from galley.planar.contact.bodies import World
from galley.planar.contact.forces import Contacts, contact_forces, first_points
from galley.planar.contact.shapes import checked, is_traced
from galley.planar.contact.steps import Scheme, StepOutcome, coefficients, implicit_step
from galley.planar.contact.virtual_contacts import SLOPE

_TOLERANCE = 1e-8  # N, N m, of a step's residual
_ITERATIONS = 60
_GAIN = 0.05  # share of the most energy so far: contacts may release so much unstored energy
_WINDOW = 20  # steps; longer than an impact, in which BDF2 loses energy at first
_CONTROL = Quantity("N")


class StepFailure(NamedTuple):
    """The first step that failed; from there on the states are NaN.

    Attributes:
        step: index of the step, from 0.
        time: at the end of the step, s.
        residual: largest component left, N or N m; the tolerance is 1e-8.
        pose, velocity: (b, 3), of all bodies before the step.
        remedy: the cause, and what to try.
        what: the failure in short: ``did not converge: 0.02 N left``.
    """

    step: int
    time: float
    residual: float
    pose: Any
    velocity: Any
    remedy: str
    what: str


class PlanarTrajectory(eqx.Module):
    """The result of ``simulate`` at n + 1 times, with b bodies and k contact points.

    Attributes:
        time: (n + 1,), s.
        pose: X_WB (n + 1, b, 3), of all bodies, m and rad.
        velocity: (n + 1, b, 3), m/s and rad/s.
        contacts: contact points and forces; each array has a first axis of n + 1.
        converged: (n,), whether the step converged, found its virtual contacts and gained no
            energy; False for all steps after the first that failed.
        residual: (n,), largest component left, N or N m.
        iterations: (n,), iterations of Newton's method.
        stalled: (n,), whether Newton's method found no smaller residual.
        located: (n,), whether all virtual contacts in reach are minima.
        gained: (n,), energy that contacts have released but never stored, J; 0 if it is within the
            errors of the scheme.
    """

    time: Array
    pose: Array
    velocity: Array
    contacts: Contacts
    converged: Array
    residual: Array
    iterations: Array
    stalled: Array
    located: Array
    gained: Array

    def failure(self) -> StepFailure | None:
        """The first step that failed, or None. Not for a batch of runs, nor under ``jit``."""
        failed = np.flatnonzero(~np.asarray(self.converged))
        if not len(failed):
            return None
        k = int(failed[0])
        residual, gained = float(self.residual[k]), float(self.gained[k])
        what = f"did not converge: {residual:.3g} N left"
        if not self.located[k]:
            what = "found no virtual contact"
            why = "a point is not a minimum: newton and stein need bodies without corners or "
            why += "touching faces; use points: auto or perimeter"
        elif gained > 0.0:
            what = f"gained {gained:.3g} J from nothing"
            why = "contacts released energy that they had never stored: try a smaller h, less "
            why += "stiffness, more points on the perimeter, or the scheme bdf1, which only takes"
            why += " energy away"
        elif not np.isfinite(residual):
            why = "the forces are not finite: look at controls, motions and parameters"
        elif self.stalled[k]:
            why = "Newton's method found no smaller residual: a smaller h, more softness or "
            why += "still make the forces smoother; at corners use points: auto"
        else:
            why = "Newton's method needs more iterations: raise iterations, or take a smaller h; "
            why += "faces that lie on each other need points: perimeter"
        time = float(self.time[k + 1])
        return StepFailure(k, time, residual, self.pose[k], self.velocity[k], why, what)


def simulate(
    world: World,
    controls: Any = None,
    h: Any = 1.0 / 60.0,
    n: int | None = None,
    *,
    scheme: Scheme | str = Scheme.BDF2,
    iterations: int = _ITERATIONS,
) -> PlanarTrajectory:
    """Simulate a world from the initial poses and velocities of its bodies.

    The result can be differentiated (``jax.grad``, ``jax.jacfwd``) with respect to controls, h
    and each number in the world, and batched by ``jax.vmap``. All is in float64: inside a
    transformation of JAX, call it under ``with jax.enable_x64(True):``, as ``value_and_gradient``
    does.

    Args:
        world: bodies, contact laws, gravity.
        controls: force (N, in W, at the centre of mass) and torque (N m) on each free body,
            (n, m, 3), or (n, 3) for one; constant during a step. None: no forces.
        h: time of a step, s. Smaller is more exact, and lets more steps converge.
        n: number of steps; None: as many as the controls have.
        scheme: ``bdf1`` or ``bdf2``.
        iterations: most iterations of Newton's method in a step.

    Returns:
        The trajectory. A step fails if its residual stays above 1e-8 N and N m (or above rounding,
        which is more for heavy bodies); from there on the states are NaN: see
        ``PlanarTrajectory.failure``.

    Raises:
        ValueError: malformed controls, h or n; the message names the value.
        TypeError: called inside a transformation of JAX without float64.
    """
    h = checked("h", h, DURATION)
    free = len(world.free)
    if controls is None:
        if n is None:
            raise ValueError("n: give the number of steps, there are no controls to count")
        controls = np.zeros((n, free, 3))
    elif np.ndim(controls) == 2 and free == 1:
        controls = (jnp if is_traced(controls) else np).asarray(controls)[:, None]
    steps = np.shape(controls)[0] if np.ndim(controls) == 3 else -1
    if np.shape(controls) != (steps, free, 3) or n not in (None, steps) or steps < 1:
        wanted = f"({n if n is not None else 'n'}, {free}, 3) with n >= 1"
        raise ValueError(f"controls: must be {wanted}, is {np.shape(controls)}")
    controls = checked("controls", controls, _CONTROL, (steps, free, 3))
    inputs: tuple[Any, ...] = (world, controls, h)
    limits = np.asarray(_TOLERANCE), np.asarray(int(iterations))
    options: tuple[Any, ...] = (Scheme(scheme), *limits)
    if is_traced(inputs):
        if not jnp.zeros(()).dtype == jnp.float64:
            raise TypeError(
                "simulate is being transformed without float64: "
                "put `with jax.enable_x64(True):` around jax.grad, jax.jit or jax.vmap"
            )
        traced: PlanarTrajectory = _simulate(*inputs, *options)
        return traced
    with jax.enable_x64(True):
        computed: PlanarTrajectory = _to_numpy(_simulate(*inputs, *options))
        return computed


def value_and_gradient(cost: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """A function that returns ``cost`` and its gradient, compiled, in float64.

    Args:
        cost: function of one pytree (controls, a ``World``, a dictionary of parameters, ...) and
            any further arguments; it calls ``simulate`` and returns a scalar.

    Returns:
        A function of the same arguments: the value, and the gradient by the first argument, as
        NumPy arrays.
    """
    compiled = eqx.filter_jit(eqx.filter_value_and_grad(cost))

    def evaluate(*arguments: Any) -> tuple[Any, Any]:
        with jax.enable_x64(True):
            floats = jax.tree.map(_float64, arguments)
            value, gradient = _to_numpy(compiled(*floats))
            return value, gradient

    return evaluate


def _float64(leaf: Any) -> Any:
    """A float as a NumPy number, which JAX traces; other leaves as they are."""
    return np.asarray(leaf, dtype=np.float64) if isinstance(leaf, float) else leaf


def _to_numpy(tree: Any) -> Any:
    """A tree with NumPy arrays: outside ``enable_x64`` JAX would round its own to float32."""
    return jax.tree.map(lambda leaf: np.asarray(leaf) if eqx.is_array(leaf) else leaf, tree)


@eqx.filter_jit
def _simulate(
    world: World, controls: Array, h: Array, scheme: Scheme, tolerance: Array, iterations: Array
) -> PlanarTrajectory:
    """The compiled part of ``simulate``.

    1. ``coefficients`` gives a row for each solution of the scheme: one a step, and one more for
       BDF2, whose first step has two stages (SDIRK2).
    2. ``lax.scan`` solves them in order. Its carry is the last two states (q1, v1), (q2, v2), the
       virtual contacts, and whether all steps have converged. After a failure it is NaN.
    3. Contacts, forces and energies are computed again at all states at once.
    4. Steps that failed by a virtual contact or by a gain of energy become NaN, too.

    Args:
        world: bodies, contact laws, gravity.
        controls: (n, m, 3), N and N m.
        h: time of a step, s.
        scheme: the integration scheme.
        tolerance: of the residual, N and N m.
        iterations: most iterations of Newton's method in a step.
    """
    world, controls, h = jax.tree.map(
        lambda x: jnp.asarray(x) if eqx.is_array(x) else x, (world, controls, h)
    )
    n = len(controls)
    table = coefficients(scheme, n)
    extra = len(table) - n  # stages at the start that aren't states of the trajectory
    rows = (jnp.asarray(table), controls[jnp.maximum(jnp.arange(len(table)) - extra, 0)])
    q, v = world.start()
    zero = jnp.zeros(())
    starts = first_points(world, q, v, zero)

    def step(carry: Any, row: tuple[Array, Array]) -> tuple[Any, Any]:
        q1, v1, q2, v2, starts, good = carry
        (alpha, beta, share, end, keep), control = row
        A, B, eta = alpha * q1 + beta * q2, alpha * v1 + beta * v2, share * h
        time = end * h
        q, outcome = implicit_step(world, A, B, eta, time, control, starts, tolerance, iterations)
        good = good & outcome.converged
        q = jnp.where(good, q, jnp.nan)
        v = (q - A) / eta
        # The second stage of SDIRK2 replaces the first in the carry; the older state stays.
        keeps = keep > 0.0
        before = jnp.where(keeps, q2, q1), jnp.where(keeps, v2, v1)
        return (q, v, *before, outcome.starts, good), (q, v, good, outcome)

    begin = (q, v, q, v, lax.stop_gradient(starts), jnp.asarray(True))
    _, stages = lax.scan(step, begin, rows)
    qs, vs, good, outcome = jax.tree.map(lambda x: x[extra:], stages)
    # If the first stage failed, the first step did: report the stage's outcome.
    stage = jax.tree.map(lambda x: x[0], stages[3])
    outcome = jax.tree.map(
        lambda x, y: x.at[0].set(jnp.where(stages[2][0], x[0], y)), outcome, stage
    )
    qs, vs, points = (
        jnp.concatenate([first[None], rest])
        for first, rest in ((q, qs), (v, vs), (begin[4], outcome.starts))
    )
    times = h * jnp.arange(n + 1)
    poses, velocities = jax.vmap(world.complete)(qs, vs, times)

    # Forces at the solutions: the virtual contacts are known, so there is no search.
    def touching(q: Array, v: Array, time: Array, starts: Array) -> tuple[Array, Contacts]:
        return contact_forces(world, q, v, time, starts, search=False)[:2]

    wrenches, contacts = jax.vmap(touching)(qs, vs, times, points)
    located = ~jnp.any(contacts.slope[1:] > SLOPE, axis=1)
    lag = 0.5 if scheme is Scheme.BDF2 else 0.0  # steps; see ``_gained``
    gained = _gained(world, lag, controls, poses, velocities, wrenches, contacts.stored)
    good = good & (jnp.cumsum(~located | (gained > 0.0)) == 0)  # no failure up to this step
    known = jnp.concatenate([jnp.ones(1), jnp.where(good, 1.0, jnp.nan)])
    poses, velocities, contacts = jax.tree.map(
        lambda x: x * known.reshape(-1, *[1] * (x.ndim - 1)), (poses, velocities, contacts)
    )
    return PlanarTrajectory(
        times,
        poses,
        velocities,
        contacts,
        good,
        outcome.residual,
        outcome.iterations,
        outcome.stalled,
        located,
        gained,
    )


def _gained(
    world: World,
    lag: float,
    controls: Array,
    poses: Array,
    velocities: Array,
    wrenches: Array,
    stored: Array,
) -> Array:
    """Energy (n,), J, that contacts have released but never stored; 0 where it is within ``_GAIN``.

    Two balances can only fall in truth: the energy stored in contacts plus their work on all
    bodies; and the energy of free bodies and contacts minus the work of controls and of prescribed
    bodies. Each has its own numerical errors, so only a rise of both counts, the smaller one.

    Args:
        world: masses, gravity.
        lag: steps by which a velocity follows a force in the scheme.
        controls: (n, m, 3), N and N m.
        poses, velocities: (n + 1, b, 3), of all bodies.
        wrenches: (n + 1, b, 3), of contacts on each body, N and N m.
        stored: (n + 1, p), energy in the contacts of each pair, J.
    """
    masses, gravity, controls, poses, velocities, wrenches, stored = lax.stop_gradient(
        (world.masses(), world.gravity, controls, poses, velocities, wrenches, stored)
    )
    free = list(world.free)
    fixed = [i for i in range(len(world.bodies)) if i not in free]
    moved = jnp.diff(poses, axis=0)
    worked = jnp.sum(((1.0 - lag) * wrenches[1:] + lag * wrenches[:-1]) * moved, axis=2)
    before = jnp.concatenate([controls[:1], controls[:-1]])
    driven = jnp.sum(((1.0 - lag) * controls + lag * before) * moved[:, free], axis=(1, 2))
    held = jnp.sum(stored, axis=1)
    kinetic = jnp.sum(masses * velocities[:, free] ** 2, axis=(1, 2)) / 2.0
    falling = jnp.sum(masses[:, 0] * (poses[:, free, :2] @ gravity), axis=1)

    def risen(energy: Array, work: Array) -> Array:
        """Rise (n,), J, of a balance above its least value so far, ignoring dips of some steps."""
        balance = energy.at[1:].add(jnp.cumsum(work))
        pad = [(_WINDOW - 1, 0)]
        top = lax.reduce_window(balance, -jnp.inf, lax.max, (_WINDOW,), (1,), pad)
        return jnp.asarray(top - lax.cummin(top))[1:]

    gain = jnp.minimum(
        risen(held, jnp.sum(worked, axis=1)),
        risen(kinetic - falling + held, jnp.sum(worked[:, fixed], axis=1) - driven),
    )
    most = lax.cummax(kinetic + held)[1:]
    # A stiff spring that is let go at the start gives BDF2 up to as much again as it holds.
    return jnp.where(gain > _GAIN * most + held[0], gain, 0.0)


__all__ = ["PlanarTrajectory", "StepFailure", "StepOutcome", "simulate", "value_and_gradient"]
