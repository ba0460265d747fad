"""What joint limits leave of the ring: shares and entropies, by quadrature over the distance r.

Over delta the shares are closed: theta1 = -delta - s beta is within [lo, hi] where delta is in the
arc [-hi - s beta, -lo - s beta]. Over r they are piecewise Gauss-Legendre in gamma = |theta2|, in
which p(r) dr is smooth at the rims, with pieces that end wherever a limit begins to bite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import acos, pi

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.heading import HeadingError

_NODES, _WEIGHTS = leggauss(12)
# Ends of pieces, in sigma from where a limit's edge meets the mean: the share changes between.
_SIGMAS = (-8.0, -5.0, -3.5, -2.5, -1.5, -0.75, 0.0, 0.75, 1.5, 2.5, 3.5, 5.0, 8.0)


@dataclass(frozen=True)
class Shares:
    """Shares of candidate bases whose elbow + is within the limits, whose -, whose both, any.

    ``log_*`` is the integral, over the same set, of p log p, p = g(r) WN per dx dy dpsi (nats).
    """

    positive: float
    negative: float
    both: float
    any: float
    log_positive: float
    log_negative: float
    log_any: float


def shares_within(
    arm: PlanarArm,
    ring: tuple[float, float],
    heading: HeadingError,
    log_g: Callable[[Array], Array],
) -> Shares:
    """Shares and entropies for bases in ``ring`` (m), with log density log_g(r) per m^2."""
    gamma, weight = _rule(arm, ring, heading.sigma)
    r = distance(arm, gamma)
    _, beta = arm.triangle(r)
    log_base = log_g(r)
    # r dr = L1 L2 sin(gamma) dgamma, and 2 pi r g(r) dr is the share of bases.
    weight = weight * 2.0 * pi * np.exp(log_base) * arm.l1 * arm.l2 * np.sin(gamma)
    weight /= weight.sum()
    low, high = arm.limits[0] if arm.limits is not None else (-pi, pi)
    fits = [_within(arm, sign * gamma) for sign in (1.0, -1.0)]
    if high - low >= 2.0 * pi:  # one arc, a full turn
        arcs = [[(np.full_like(beta, -pi), np.full_like(beta, pi))]] * 3
    else:
        start, end = -high - beta, -low - beta  # elbow +; that of - is turned on by 2 beta
        arcs = [
            [(start, end)],
            [(start + 2.0 * beta, end + 2.0 * beta)],
            [(start + 2.0 * beta, end), (start, end + 2.0 * beta - 2.0 * pi)],
        ]
    masses, logs = [], []
    for fit, pieces in zip([*fits, fits[0] & fits[1]], arcs, strict=True):
        mass = sum((heading.mass(a, b) for a, b in pieces), np.zeros_like(beta)) * fit
        log_heading = sum((heading.mass_log(a, b) for a, b in pieces), np.zeros_like(beta)) * fit
        masses.append(float(weight @ mass))
        logs.append(float(weight @ (mass * log_base + log_heading)))
    positive, negative, both = masses
    union = [values[0] + values[1] - values[2] for values in (masses, logs)]
    return Shares(positive, negative, both, union[0], logs[0], logs[1], union[1])


def distance(arm: PlanarArm, gamma: Array) -> Array:
    """r (m) for the angle gamma = |theta2|, without cancellation near either rim."""
    c, s = np.cos(0.5 * gamma), np.sin(0.5 * gamma)
    return np.asarray(np.hypot(arm.outer * c, arm.inner * s))


def _rule(arm: PlanarArm, ring: tuple[float, float], sigma: float) -> tuple[Array, Array]:
    """Nodes and weights of a quadrature over gamma."""
    (last, first), _ = arm.triangle(np.array(ring))
    grades = np.concatenate([np.linspace(0.0, 1.0, 17), 2.0 ** -np.arange(5.0, 41.0)])
    ends = first + (last - first) * np.concatenate([grades, 1.0 - grades[17:]])
    edges = np.array(list(_edges(arm, sigma)))
    ends = np.unique(np.concatenate([ends, edges[(edges > first) & (edges < last)]]))
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.ravel(), (half[:, None] * _WEIGHTS).ravel()


def _edges(arm: PlanarArm, sigma: float) -> Iterable[float]:
    """Values of gamma at which the share within the limits may jump, bend or fall."""
    if arm.limits is None:
        return
    (low, high), second = arm.limits
    for edge in second:
        yield abs((edge + pi) % (2.0 * pi) - pi)
    near = _SIGMAS if 0.0 < sigma < 1.0 else (0.0,)
    # Where the mean meets an edge, and where both elbows' arcs begin to overlap or cease to.
    betas = [edge + c * sigma for edge in (low, high) for c in near if np.isfinite(sigma)]
    for beta in (*betas, 0.5 * (high - low), pi - 0.5 * (high - low)):
        turned = abs((beta + pi) % (2.0 * pi) - pi)
        for r in _distances(arm, turned):
            cosine = (r * r - arm.l1**2 - arm.l2**2) / (2.0 * arm.l1 * arm.l2)
            yield acos(min(1.0, max(-1.0, cosine)))


def _distances(arm: PlanarArm, beta: float) -> list[float]:
    """Distances r at which the angle at the base is beta: none, one or two."""
    square = arm.l2**2 - (arm.l1 * np.sin(beta)) ** 2
    if square < 0.0:
        return []
    middle, half = arm.l1 * np.cos(beta), float(np.sqrt(square))
    return [r for r in (middle - half, middle + half) if r > 0.0]


def _within(arm: PlanarArm, theta2: Array) -> NDArray[np.bool_]:
    """Whether angles theta2 (m,) are within their limits."""
    if arm.limits is None:
        return np.ones(len(theta2), dtype=bool)
    low, high = arm.limits[1]
    return np.asarray(
        np.ceil((low - theta2) / (2.0 * pi)) <= np.floor((high - theta2) / (2.0 * pi))
    )
