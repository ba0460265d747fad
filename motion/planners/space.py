"""The space a planner searches: a joint group's box, a metric, and how edges in it are checked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from galley.domain.frames import Array, frozen
from galley.motion.path import Path
from galley.robots.model import RobotModel
from galley.worlds.collision_world import metric

Free = Callable[[Array], bool]
"""Whether a configuration (k,) of the group is free of collision."""


@dataclass(frozen=True)
class Space:
    """A box of configurations.

    Attributes:
        group: the joint group's name.
        lower, upper: limits (k,).
        resolution: the most each joint moves between two checked states of an edge (k,).
        weights: (k,) scale joints in the metric |weights * (a - b)|.
    """

    group: str
    lower: Array
    upper: Array
    resolution: Array
    weights: Array

    def sample(self, rng: np.random.Generator) -> Array:
        """A configuration (k,), uniform in the box."""
        return rng.uniform(self.lower, self.upper)

    def distance(self, a: Array, b: Array) -> Array:
        """Weighted Euclidean distance; a and b broadcast over leading axes."""
        return np.asarray(np.linalg.norm((np.asarray(a) - b) * self.weights, axis=-1))

    def contains(self, q: Array, tolerance: float = 1e-9) -> bool:
        """Whether q (k,) lies in the box."""
        return bool((q >= self.lower - tolerance).all() and (q <= self.upper + tolerance).all())

    def finer(self, factor: float) -> Space:
        """The same space with its edges checked at ``factor`` times the resolution."""
        return self if factor == 1.0 else replace(self, resolution=self.resolution * factor)

    def edge(self, a: Array, b: Array) -> Array:
        """States (n, k) along the straight edge from a to b, b included and a not.

        Consecutive ones (a counted) differ by at most ``resolution`` in each joint.
        """
        steps = float((np.abs(b - a) / self.resolution).max())
        n = max(1, int(np.ceil(steps - 1e-9)))
        s = np.linspace(0.0, 1.0, n + 1)[1:, None]
        return np.asarray((1.0 - s) * a + s * b)  # exactly b at s = 1


def joint_space(robot: RobotModel, group: str) -> Space:
    """The space of ``arm``, ``base`` or ``base+arm``, as the kernel's views have it."""
    rows = np.array([row for name in group.split("+") for row in metric(robot, name)])
    lower, upper, weights, resolution = map(frozen, rows.T)
    return Space(group, lower, upper, resolution, weights)


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
