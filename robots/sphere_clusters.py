"""Groups of neighbouring spheres, each with one sphere around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array

_LARGEST = 8  # spheres in a cluster
_STEPS = 2000


def clusters(
    centres: Array, radii: Array
) -> tuple[NDArray[np.intp], NDArray[np.int64], Array, Array]:
    """Spheres (k, 3), (k,) in groups of at most eight, by repeated halving across the long axis.

    Returns:
        The order (k,) that makes clusters contiguous, each sphere's cluster in that order (k,),
        and a sphere around each cluster, (c, 3) and (c,).
    """
    groups = _halved(np.arange(len(centres)), centres, radii)
    order = np.concatenate(groups)
    cluster = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    around = [enclosing(centres[group], radii[group]) for group in groups]
    about = np.array([centre for centre, _ in around])
    return order, cluster.astype(np.int64), about, np.array([radius for _, radius in around])


def enclosing(centres: Array, radii: Array) -> tuple[Array, float]:
    """A small sphere, centre (3,) and radius, that contains the spheres (k, 3), (k,).

    Steps of 1/i towards the farthest one converge to the smallest (Badoiu and Clarkson, 2003).
    """
    x = centres[np.argmax(radii)].copy()
    best, at = np.inf, x.copy()
    for step in range(1, _STEPS):
        reach = np.linalg.norm(centres - x, axis=1) + radii
        far = int(reach.argmax())
        if reach[far] < best:
            best, at = float(reach[far]), x.copy()
        x += (centres[far] - x) / (step + 1)
    return at, float((np.linalg.norm(centres - at, axis=1) + radii).max()) + 1e-9


def _halved(members: NDArray[np.intp], centres: Array, radii: Array) -> list[NDArray[np.intp]]:
    if len(members) <= _LARGEST:
        return [members]
    x = centres[members]
    axis = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])  # the sign of a singular vector is free
    ranked = members[np.argsort(x @ axis, kind="stable")]
    # Not always in the middle: halves that fill clusters of eight make fewer clusters.
    parts = -(-len(members) // _LARGEST)
    cut = round(len(members) * (parts // 2) / parts)
    return _halved(ranked[:cut], centres, radii) + _halved(ranked[cut:], centres, radii)
