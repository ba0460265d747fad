"""Candidate bases on a grid, and every elbow within the limits at each: p(Q | H) without chance."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array
from galley.planar.reach.donut import DonutSampler, Samples
from galley.planar.reach.heading import HeadingError


def enumerate_bases(
    sampler: DonutSampler, target: ArrayLike, pitch: float, headings: int = 9
) -> tuple[Samples, Array]:
    """Every configuration on a grid of bases, and the share (m,) of p(Q | H) that each stands for.

    The shares sum to 1. As the grid gets finer, the weighted rows have the sampler's distribution:
    with the law uniform in area and ``branches="both"`` all weigh the same, with the linear law
    1 / r, and with ``branches="one"`` the rows of a base share its weight.

    Args:
        target: (2,). pitch: of the square grid (m), a cell of which has the target at its corner.
        headings: errors of the heading at each place, quantiles of its distribution; without any
            heading error one is enough.

    Raises:
        ValueError: a pitch that is not positive, or no heading.
    """
    target = np.asarray(target, dtype=np.float64)
    if target.shape != (2,):
        raise ValueError(f"target must be (2,), got {target.shape}")
    if not (isfinite(pitch) and pitch > 0.0):
        raise ValueError(f"pitch must be positive, got {pitch:g}")
    if headings < 1:
        raise ValueError(f"headings must be at least 1, got {headings}")
    half = int(np.ceil(sampler.r_max / pitch))
    steps = pitch * (np.arange(-half, half) + 0.5)
    x, y = (axis.ravel() for axis in np.meshgrid(steps, steps, indexing="ij"))
    r, phi = np.hypot(x, y), np.arctan2(y, x)
    inside = (r >= sampler.r_min) & (r <= sampler.r_max)
    count = headings if sampler.columns == 5 else 1
    delta = HeadingError(sampler.sigma).quantile((np.arange(count) + 0.5) / count)
    r, phi = np.repeat(r[inside], count), np.repeat(phi[inside], count)
    q, valid = sampler.candidates(target, r, phi, np.tile(delta, int(inside.sum())))
    share = np.where(valid, sampler.row_weights(valid), 0.0)
    if sampler.radial == "linear":
        share /= r[:, None]
    source, side = np.nonzero(valid)
    rows = Samples(
        q[source, side],
        np.tile(target, (len(source), 1)),
        (1 - 2 * side).astype(np.int8),
        source,
    )
    shares = share[source, side]
    return rows, shares / shares.sum() if len(shares) else shares
