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

_EDGE = 1e-12  # rad beyond a limit that is rounding: such an angle is put on the limit


@dataclass(frozen=True)
class PlanarChain:
    """N links; every method takes any number of configurations at once.

    Attributes:
        lengths: of the links (m), all positive.
        limits: (lower, upper) of each joint (rad), or None where all turn freely. A range need not
            lie in [-pi, pi]: angles that differ by whole turns are the same, see ``in_limits``.

    Raises:
        ValueError: a length that is not positive, or limits that are empty or too many or few.
    """

    lengths: tuple[float, ...]
    limits: Limits | None = None

    def __post_init__(self) -> None:
        lengths = tuple(float(each) for each in self.lengths)
        if not lengths:
            raise ValueError("an arm needs at least one link, got lengths ()")
        for i, length in enumerate(lengths):
            if not (isfinite(length) and length > 0.0):
                raise ValueError(f"link {i + 1} must have a positive length, got {length:g}")
        object.__setattr__(self, "lengths", lengths)
        if self.limits is not None:
            object.__setattr__(self, "limits", _checked(self.limits, len(lengths)))

    def points(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """The joints and, last, the tip in the world (..., N + 1, 2); the first is the base.

        Args:
            base: (..., 3) x, y, psi. theta: (..., N) (rad).
        """
        base, alpha = np.asarray(base, dtype=np.float64), self._directions(base, theta)
        steps = np.stack([np.cos(alpha), np.sin(alpha)], axis=-1) * np.array(self.lengths)[:, None]
        points = np.empty((*alpha.shape[:-1], len(self.lengths) + 1, 2))
        points[..., 0, :] = base[..., :2]
        points[..., 1:, :] = base[..., None, :2] + np.cumsum(steps, axis=-2)
        return points

    def fk(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """The tip in the world (..., 2) for base poses (..., 3) and joint angles (..., N)."""
        base, alpha = np.asarray(base, dtype=np.float64), self._directions(base, theta)
        lengths = np.array(self.lengths)
        return np.stack(
            [base[..., 0] + np.cos(alpha) @ lengths, base[..., 1] + np.sin(alpha) @ lengths],
            axis=-1,
        )

    def in_limits(self, theta: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Angles (..., N) taken into the limits by whole turns, and which rows could be (...,).

        Of the turns that do, the one nearest the middle of the limits. An angle that is out by
        rounding is put on the limit; rows that could not be are of no use.
        """
        if self.limits is None:
            return theta, np.ones(theta.shape[:-1], dtype=bool)
        low, high = np.array(self.limits).T
        middle = 0.5 * (low + high)
        turned = theta - 2.0 * pi * np.rint((theta - middle) / (2.0 * pi))
        inside = np.abs(turned - middle) <= 0.5 * (high - low) + _EDGE
        return np.minimum(np.maximum(turned, low), high), inside.all(axis=-1)

    def _directions(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """Headings of the links in the world (..., N) (rad)."""
        angles = np.asarray(theta, dtype=np.float64)
        if angles.shape[-1:] != (len(self.lengths),):
            raise ValueError(f"theta must be (..., {len(self.lengths)}), got {angles.shape}")
        base = np.asarray(base, dtype=np.float64)
        if base.shape[-1:] != (3,):
            raise ValueError(f"base must be (..., 3): x, y, psi; got {base.shape}")
        return base[..., 2:] + np.cumsum(angles, axis=-1)


def _checked(limits: Sequence[Sequence[float]], joints: int) -> Limits:
    """Limits as floats, once they are known to make sense."""
    if np.shape(limits) != (joints, 2):
        raise ValueError(f"limits must be {joints} pairs (lower, upper), got {limits}")
    pairs = tuple((float(low), float(high)) for low, high in limits)
    for i, (low, high) in enumerate(pairs):
        if not (isfinite(low) and isfinite(high)):
            raise ValueError(f"limits of joint {i + 1} must be finite, got ({low:g}, {high:g})")
        if low >= high:
            raise ValueError(f"limits of joint {i + 1} are empty: {low:g} >= {high:g}")
    return pairs
