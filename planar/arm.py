"""An arm of N revolute links in the plane, on a base with pose (x, y, psi).

Joint angles are relative: theta_1 from the base's heading, theta_i from link i - 1. In the world,
link i points along alpha_i = psi + theta_1 + ... + theta_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array

Limits = tuple[tuple[float, float], ...]

_EDGE = 1e-12  # rad: an angle up to this beyond a limit is a rounding error, and put on it


@dataclass(frozen=True)
class PlanarChain:
    """A chain of N links; each method takes any number of configurations at once.

    Attributes:
        lengths: of the links, m, all positive.
        limits: (lower, upper) of each joint, rad; None: all turn freely. A range needn't lie in
            [-pi, pi], because angles that differ by whole turns are the same: see ``in_limits``.

    Raises:
        ValueError: a length isn't positive, or limits are empty or of the wrong number.
    """

    lengths: tuple[float, ...]
    limits: Limits | None = None

    def __post_init__(self) -> None:
        lengths = tuple(float(length) for length in self.lengths)
        if not lengths:
            raise ValueError("an arm needs at least one link, got lengths ()")
        for i, length in enumerate(lengths):
            if not (isfinite(length) and length > 0.0):
                raise ValueError(f"link {i + 1} must have a positive length, got {length:g}")
        object.__setattr__(self, "lengths", lengths)
        if self.limits is not None:
            object.__setattr__(self, "limits", _checked(self.limits, len(lengths)))

    def points(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """Positions of the joints and, last, the tip (..., N + 1, 2), m; the first is the base.

        Args:
            base: (..., 3), x, y, psi, m and rad.
            theta: (..., N), joint angles, rad.
        """
        base, alpha = np.asarray(base, dtype=np.float64), self._directions(base, theta)
        steps = np.stack([np.cos(alpha), np.sin(alpha)], axis=-1) * np.array(self.lengths)[:, None]
        points = np.empty((*alpha.shape[:-1], len(self.lengths) + 1, 2))
        points[..., 0, :] = base[..., :2]
        points[..., 1:, :] = base[..., None, :2] + np.cumsum(steps, axis=-2)
        return points

    def fk(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """Position of the tip (..., 2), m, for base poses (..., 3) and joint angles (..., N)."""
        base, alpha = np.asarray(base, dtype=np.float64), self._directions(base, theta)
        lengths = np.array(self.lengths)
        return np.stack(
            [base[..., 0] + np.cos(alpha) @ lengths, base[..., 1] + np.sin(alpha) @ lengths],
            axis=-1,
        )

    def in_limits(self, theta: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Angles (..., N) turned by whole turns into the limits, and whether that worked (...,).

        The turn is the one that comes nearest to the middle of the limits. An angle beyond them by
        rounding is put on the limit. Rows that can't be within limits have no meaning.
        """
        if self.limits is None:
            return theta, np.ones(theta.shape[:-1], dtype=bool)
        low, high = np.array(self.limits).T
        middle = 0.5 * (low + high)
        turned = theta - 2.0 * pi * np.rint((theta - middle) / (2.0 * pi))
        inside = np.abs(turned - middle) <= 0.5 * (high - low) + _EDGE
        return np.minimum(np.maximum(turned, low), high), inside.all(axis=-1)

    def _directions(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """Headings of the links in the world (..., N), rad; raises ValueError for a wrong shape."""
        angles = np.asarray(theta, dtype=np.float64)
        if angles.shape[-1:] != (len(self.lengths),):
            raise ValueError(f"theta must be (..., {len(self.lengths)}), got {angles.shape}")
        base = np.asarray(base, dtype=np.float64)
        if base.shape[-1:] != (3,):
            raise ValueError(f"base must be (..., 3): x, y, psi; got {base.shape}")
        return base[..., 2:] + np.cumsum(angles, axis=-1)


def _checked(limits: Sequence[Sequence[float]], joints: int) -> Limits:
    """Limits as floats; raises ValueError if their number is wrong or one is empty or infinite."""
    if np.shape(limits) != (joints, 2):
        raise ValueError(f"limits must be {joints} pairs (lower, upper), got {limits}")
    pairs = tuple((float(low), float(high)) for low, high in limits)
    for i, (low, high) in enumerate(pairs):
        if not (isfinite(low) and isfinite(high)):
            raise ValueError(f"limits of joint {i + 1} must be finite, got ({low:g}, {high:g})")
        if low >= high:
            raise ValueError(f"limits of joint {i + 1} are empty: {low:g} >= {high:g}")
    return pairs
