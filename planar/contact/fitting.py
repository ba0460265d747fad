"""Parameters of a world from an observed trajectory, by the derivatives of the simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from galley.domain.frames import Array as NumPyArray
from galley.planar.contact.bodies import World
from galley.planar.contact.simulation import simulate
from galley.planar.contact.steps import Scheme

_UNTOLD = 1e-14  # of the greatest eigenvalue of J^T J: along that axis residuals tell nothing
_SHARE = 1e-8  # of such an axis that makes a parameter unknown

Build = Callable[[dict[str, Array]], World]


@dataclass(frozen=True)
class Fit:
    """What was found.

    Attributes:
        parameters: by name.
        errors: their standard errors, from the residuals that are left and the Jacobian; inf
            where the observation doesn't depend on a parameter.
        residual: root mean square of the differences, each divided by its scale.
        converged: whether the optimiser says so.
        message: what it says.
    """

    parameters: dict[str, float]
    errors: dict[str, float]
    residual: float
    converged: bool
    message: str


def fit(
    build: Build,
    guess: Mapping[str, float],
    observed: Any,
    controls: Any = None,
    h: float = 1.0 / 60.0,
    *,
    scheme: Scheme | str = Scheme.BDF2,
    scale: Any = (1.0, 1.0, 1.0),
) -> Fit:
    """Find positive parameters with which a world moves as observed.

    Least squares in the logarithms of the parameters by a trust-region method (SciPy), its
    Jacobian through the simulation.

    Args:
        build: makes the world of named parameters; it may use any as mass, friction, size, ...
        guess: where to begin; all positive.
        observed: poses (n + 1, m, 3) of the free bodies, the first at time 0 (it isn't compared),
            or (n + 1, 3) for one body. NaN: not observed.
        controls: as of ``simulate``.
        h: s, between two observations.
        scheme: as of ``simulate``.
        scale: (3,), what is a large difference of x, y (m) and the angle (rad).

    Raises:
        ValueError: a guess isn't positive, ``observed`` has the wrong shape, there are fewer
            numbers observed than parameters, or the guess can't be simulated.
    """
    from scipy.optimize import least_squares

    names = tuple(guess)
    start = np.array([guess[name] for name in names], dtype=float)
    for name, value in zip(names, start, strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"guess {name} = {value:g}: must be a number greater than 0")
    free = build(dict(zip(names, start, strict=True))).free
    poses = np.asarray(observed, dtype=float)
    if poses.ndim == 2 and len(free) == 1:
        poses = poses[:, None]
    if poses.ndim != 3 or poses.shape[1:] != (len(free), 3) or len(poses) < 2:
        raise ValueError(f"observed: must be (n + 1, {len(free)}, 3), is {poses.shape}")
    seen = np.isfinite(poses[1:])
    if np.count_nonzero(seen) < len(names):
        raise ValueError(f"observed: {np.count_nonzero(seen)} numbers for {len(names)} parameters")
    wanted = np.where(seen, poses[1:], 0.0)
    weight = np.where(seen, 1.0 / np.asarray(scale, dtype=float), 0.0)
    n = len(wanted)

    def differences(logs: Array) -> Array:
        world = build(dict(zip(names, jnp.exp(logs), strict=True)))
        run = simulate(world, controls, h, n, scheme=scheme)
        return ((run.pose[1:, jnp.array(free)] - wanted) * weight).ravel()

    def both(logs: Array) -> tuple[Array, Array]:
        value, tangent = jax.linearize(differences, logs)
        return value, jax.vmap(tangent)(jnp.eye(len(names))).T

    compiled = jax.jit(both)
    known: dict[bytes, tuple[NumPyArray, NumPyArray]] = {}

    def evaluated(logs: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
        key = logs.tobytes()
        if key not in known:
            known.clear()
            with jax.enable_x64(True):
                value, jacobian = compiled(jnp.asarray(logs))
            # A world that can't be simulated is far from what was observed.
            known[key] = np.nan_to_num(np.asarray(value), nan=1e6), np.asarray(jacobian)
        return known[key]

    if not np.all(np.isfinite(evaluated(np.log(start))[1])):
        raise ValueError(f"guess {dict(guess)}: the simulation fails; see Trajectory.failure")
    found = least_squares(
        lambda logs: evaluated(logs)[0],
        np.log(start),
        jac=lambda logs: evaluated(logs)[1],
        x_scale="jac",
        xtol=1e-12,
        ftol=1e-14,
        gtol=1e-14,
    )
    values, (left, jacobian) = np.exp(found.x), evaluated(found.x)
    spare = max(int(np.count_nonzero(seen)) - len(names), 1)
    variance = float(left @ left) / spare
    errors = standard_errors(jacobian, variance) * values
    return Fit(
        dict(zip(names, values.tolist(), strict=True)),
        dict(zip(names, errors.tolist(), strict=True)),
        float(np.sqrt(float(left @ left) / int(np.count_nonzero(seen)))),
        bool(found.success),
        str(found.message),
    )


def standard_errors(jacobian: NumPyArray, variance: float) -> NumPyArray:
    """Of parameters (n,): inf for what the residuals (m,) with this Jacobian (m, n) don't tell.

    Args:
        variance: of a residual.
    """
    eigenvalues, axes = np.linalg.eigh(jacobian.T @ jacobian)
    told = eigenvalues > _UNTOLD * max(float(eigenvalues.max()), 0.0)
    square = variance * (axes[:, told] ** 2 / eigenvalues[told]).sum(axis=1)
    untold = (axes[:, ~told] ** 2).sum(axis=1) > _SHARE
    return np.where(untold, np.inf, np.sqrt(square))
