"""Checking edges and paths against a predicate on single configurations."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.space import Space

Free = Callable[[Array], bool]
"""Whether a configuration (k,) of the group is free of collision."""


def bisection_order(n: int) -> list[int]:
    """0..n-1 with the last first, then middles of ever smaller gaps: collisions show early."""
    if n == 0:
        return []
    order, seen = [n - 1], {n - 1}
    stride = n
    while len(order) < n:
        stride = max(1, stride // 2)
        for k in range(stride - 1, n, stride):
            if k not in seen:
                seen.add(k)
                order.append(k)
    return order


def edge_free(space: Space, free: Free, a: Array, b: Array) -> bool:
    """Whether all checked states on the edge from a to b are free; a counts as checked already."""
    states = space.edge(a, b)
    return all(free(states[k]) for k in bisection_order(len(states)))


def path_free(space: Space, free: Free, path: Path) -> bool:
    """Whether the whole path, ends included, is free at the space's resolution."""
    points = path.waypoints
    if not free(points[0]):
        return False
    return all(edge_free(space, free, a, b) for a, b in itertools.pairwise(points))


def first_hit(space: Space, free: Free, path: Path) -> Array | None:
    """The first checked state (k,) of the path that isn't free, or None."""
    points = path.waypoints
    if not free(points[0]):
        return np.asarray(points[0])
    for a, b in itertools.pairwise(points):
        for q in space.edge(a, b):
            if not free(q):
                return np.asarray(q)
    return None
